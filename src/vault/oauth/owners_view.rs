//! What owners see of their vault on their pages: the requests that wait for them, what a grant shows, and what
//! exists.

use super::{clients, consent, tokens};
use crate::vault::Vault;
use crate::vault::grant::{Client, Declaration, Grant, GrantStream, Source, Subject};
use crate::vault::rs::Answer;
use crate::vault::rs::read::Read;
use crate::vault::store::Catalog;
use crate::vault::time;
use crate::vault::wire::{ApiError, Reply};

/// A request that waits for its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingRequest {
    /// Its id. It opens nothing.
    pub id: String,
    /// The name that the program gave itself.
    pub client: String,
    /// The code that the program shows too.
    pub code: String,
    /// When it arrived, in milliseconds.
    pub since_ms: i64,
}

impl Vault {
    /// The waiting requests, oldest first.
    pub fn waiting_requests(&self) -> Vec<WaitingRequest> {
        let open = self.flows.open_requests().into_iter();
        open.map(|(id, pending)| WaitingRequest {
            id,
            since_ms: pending.created_ms(),
            code: pending.code,
            client: pending.client.name,
        })
        .collect()
    }

    /// Sends the owner's browser to the page of the request `id`; `None` if it no longer waits.
    ///
    /// # Errors
    /// Returns an error if the system supplies no random numbers.
    pub fn open_request(&self, base: &str, id: &str) -> Result<Option<Reply>, ApiError> {
        consent::open_for_owner(self, base, id)
    }

    /// The name that the client with this id gave itself.
    pub fn client_name(&self, client_id: &str) -> String {
        clients::name(self, client_id)
    }

    /// Answers a read exactly as the holder of the grant `grant_id` would get it, for an owner who checks what the
    /// grant allows. It does not count as a read by the holder.
    ///
    /// # Errors
    /// Returns every refusal; `not_found` for a grant that does not exist or is over.
    pub fn preview(&self, grant_id: &str, read: &Read) -> Result<Answer, ApiError> {
        let grant = tokens::live(self, grant_id)?
            .ok_or_else(|| ApiError::not_found("This grant does not exist or has ended"))?;
        self.read_within(&grant, read)
    }

    /// Answers the owner's own read of everything. The grant for it is made for this read only and stored nowhere,
    /// and it has no token.
    ///
    /// # Errors
    /// Returns every refusal.
    pub fn read_as_owner(&self, read: &Read) -> Result<Answer, ApiError> {
        let grant = self.store.read::<_, ApiError>(|_, catalog| Ok(everything(self, catalog)))?;
        self.read_within(&grant, read)
    }
}

/// A grant that covers everything.
fn everything(vault: &Vault, catalog: &Catalog) -> Grant {
    let mut streams = Vec::new();
    for connector in &catalog.connectors {
        let instance_ids: Vec<String> =
            catalog.connections_of(&connector.key).map(|connection| connection.id.clone()).collect();
        for stream in connector.streams.iter().filter(|_| !instance_ids.is_empty()) {
            streams.push(GrantStream {
                name: stream.name.clone(),
                instance_ids: instance_ids.clone(),
                fields: stream.fields.iter().map(|field| field.name.clone()).collect(),
                time_constraint: None,
                resources: None,
                source: Some(Source { kind: "connector".to_owned(), id: connector.id.clone() }),
            });
        }
    }
    let profile = &vault.config.profile;
    Grant {
        version: "0.1.0".to_owned(),
        // Cursors are bound to this id, which is the same for each page.
        grant_id: "owner".to_owned(),
        issued_at: time::format_ms(time::now_ms()),
        expires_at: None,
        subject: Subject { id: profile.subject_id.to_owned() },
        client: Client { client_id: "owner".to_owned() },
        source: Source { kind: "provider_native".to_owned(), id: profile.name.to_owned() },
        source_declaration: Declaration { version: profile.declaration_version.to_owned() },
        purpose_code: String::new(),
        purpose_description: None,
        access_mode: "continuous".to_owned(),
        streams,
    }
}
