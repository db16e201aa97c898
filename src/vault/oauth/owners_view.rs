//! What an owner sees of their own vault on a page of theirs: what waits for them, what a grant shows, what there is.

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
    /// Its id, which opens nothing.
    pub id: String,
    /// What the program calls itself.
    pub client: String,
    /// What the program shows too.
    pub code: String,
    /// When it came, in milliseconds.
    pub since_ms: i64,
}

impl Vault {
    /// The requests that wait, the oldest first.
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

    /// Leads a browser of the owner's to the page of the request `id`; `None` where it does not wait any more.
    ///
    /// # Errors
    /// Without randomness.
    pub fn open_request(&self, base: &str, id: &str) -> Result<Option<Reply>, ApiError> {
        consent::open_for_owner(self, base, id)
    }

    /// What the client of this id calls itself.
    pub fn client_name(&self, client_id: &str) -> String {
        clients::name(self, client_id)
    }

    /// Answers a read as the holder of the grant `grant_id` gets it, by the way that theirs take; for the owner, who looks what it
    /// gives. It is nobody's read.
    ///
    /// # Errors
    /// Every refusal; `not_found` for a grant that is none, or over.
    pub fn preview(&self, grant_id: &str, read: &Read) -> Result<Answer, ApiError> {
        let grant =
            tokens::live(self, grant_id)?.ok_or_else(|| ApiError::not_found("No such grant is live"))?;
        self.read_within(&grant, read)
    }

    /// Answers a read of the owner's own, of all that there is. The grant for it is made for this read, kept nowhere, and there is
    /// no token of it.
    ///
    /// # Errors
    /// Every refusal.
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
        // What cursors are bound to: the same for each page.
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
