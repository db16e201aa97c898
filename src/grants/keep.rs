//! What becomes of an approved grant: pdpp keeps it, and it replaces the grant that it renews; or pdpp ends it.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use jiff::{Timestamp, Unit};

use super::dialog::{Dialog, Event, Than};
use super::difference::Difference;
use super::end::{NotEnded, end};
use super::plan::{Plan, Request};
use super::renewal;
use crate::cache::credential::{Credential, MAX_LABEL, Renewal, Secrets};
use crate::cache::index::RegisteredClient;
use crate::cache::select::Selection;
use crate::cache::store::StoreKind;
use crate::cache::{Cache, Stored, new_credential_id};
use crate::error::{Error, Result};
use crate::provider::approve::flow::Flow;
use crate::provider::approve::proof::Proof;
use crate::provider::approve::revoke::{self, Revoked};
use crate::provider::approve::token::{GivenStream, TokenResponse};
use crate::provider::approve::wanted::Wanted;
use crate::provider::discovery::Discovery;
use crate::provider::grant::{GrantedSource, TokenKind};
use crate::provider::http::Http;
use crate::provider::register::Client;
use crate::runtime;
use crate::text;

/// The longest wait for ending a grant at its provider that is not kept.
const ENDING: Duration = Duration::from_secs(10);

/// A grant that is not kept yet.
pub(super) struct Granted {
    pub(super) discovery: Discovery,
    pub(super) client: Client,
    pub(super) response: TokenResponse,
    pub(super) wanted: Wanted,
    pub(super) flow: Flow,
    pub(super) proof: Proof,
    pub(super) kind: TokenKind,
    pub(super) difference: Difference,
}

/// A grant that the owner approved and that is not kept: only this can end it from here.
pub(super) struct Unkept {
    discovery: Discovery,
    tokens: revoke::Tokens,
}

impl Unkept {
    pub(super) fn of(discovery: &Discovery, client: &Client, response: &TokenResponse) -> Self {
        let tokens = revoke::Tokens {
            client_id: client.id().map(str::to_owned),
            grant_id: response.grant_id.clone().or_else(|| response.package_id.clone()),
            access_token: response.access_token.clone(),
            refresh_token: response.refresh_token.clone(),
        };
        Self { discovery: discovery.clone(), tokens }
    }

    /// Ends it at its provider if that takes no longer than [`ENDING`]; returns `error`.
    pub(super) async fn end(&self, http: &Http, error: Error, dialog: &dyn Dialog) -> Error {
        let ended = tokio::time::timeout(ENDING, revoke::end(http, &self.discovery, &self.tokens)).await;
        let is_ended = ended.is_ok_and(|ended| ended.is_ok());
        dialog.on(if is_ended { Event::UnkeptEnded } else { Event::UnkeptStands });
        error
    }
}

/// A grant that is now on this computer.
#[derive(Debug)]
pub struct Connected {
    /// The grant.
    pub credential: Credential,
    /// Whether it is new here.
    pub stored: Stored,
    /// The time when it was kept.
    pub now: Timestamp,
    /// The grant that it replaces, if that is another one.
    pub replaces: Option<Old>,
    /// How it differs from what was asked for.
    pub difference: Difference,
    /// How it differs from the grant that it renews.
    pub since_before: Option<Difference>,
    /// The directory of the cache that holds it.
    pub cache_dir: PathBuf,
    /// Whether `mcp serve` serves other grants too.
    pub has_others: bool,
}

/// A grant that was replaced.
#[derive(Debug)]
pub struct Old {
    /// The grant.
    pub credential: Credential,
    /// What became of it at its provider.
    pub at_provider: AtProvider,
}

/// What became of a grant at its provider.
#[derive(Debug)]
pub enum AtProvider {
    /// It was ended.
    Ended,
    /// It was over before.
    Over,
    /// Its token cannot be read now: it is kept until it can be ended.
    Waits(NotEnded),
    /// It is still valid there, and is forgotten here.
    Stands(NotEnded),
}

impl Granted {
    /// Keeps the grant in `cache`.
    ///
    /// # Errors
    /// The errors of the cache.
    pub(super) fn keep(
        self,
        cache: &Cache,
        plan: &Plan,
        store: StoreKind,
        request: &Request,
    ) -> Result<Connected> {
        let Self { discovery, client, response, wanted, flow, proof, kind, difference } = self;
        let of_before = plan.replaces.as_ref().map(|old| old.label.clone());
        let label = request
            .name
            .clone()
            .or(of_before)
            .unwrap_or_else(|| label(&proof.sources, discovery.name.as_deref()));
        let issuer = discovery.authorization_server.issuer.as_str().to_owned();
        // The resource from the request: a refresh that names another one is refused (RFC 8707 §2.2).
        let resource = match flow {
            Flow::AuthorizationCode | Flow::DeviceCode => discovery.mcp_resource(),
            Flow::AgentConnect | Flow::Par => discovery.resource,
        };
        let mut credential = Credential {
            id: new_credential_id()?,
            store,
            parts: 1,
            provider: discovery.provider,
            grant_id: proof.grant_id,
            query_base: discovery.query_base,
            issuer: issuer.clone(),
            client_id: client.id().map(str::to_owned),
            token_kind: kind,
            label,
            sources: proof.sources,
            access_mode: response.access_mode,
            issued_at: response.issued_at.or_else(|| Timestamp::now().round(Unit::Second).ok()),
            grant_expires_at: response.grant_expires_at,
            token_expires_at: response.token_expires_at,
            unread_ends: response.unread_ends,
            refreshable: response.refresh_token.is_some(),
            asked: Some(
                plan.replaces.as_ref().map_or_else(|| wanted.clone(), |old| renewal::asked(old, &wanted)),
            ),
            given: GivenStream::kept(response.streams).into(),
            renewal: Renewal {
                token_endpoint: discovery.authorization_server.token_endpoint.map(String::from),
                resource: Some(resource),
                ..Renewal::default()
            },
            ending: false,
            data_dir: None,
            host: None,
        };
        let secrets = Secrets::new(response.access_token, response.refresh_token);
        let client = match client {
            Client::Registered(client_id) => Some(RegisteredClient { issuer, client_id }),
            _ => None,
        };
        if let Some(choice) = request.store {
            cache.remember_store(choice)?;
        }
        let mut stored =
            cache.store_in_place_of(&mut credential, &secrets, client, plan.replaces.as_ref())?;
        let since_before = plan.replaces.as_ref().map(|old| renewal::compare(old, &credential));
        let old = plan.replaces.clone().filter(|old| !old.is_same_grant(&credential));
        let replaces = old.map(|credential| Old { credential, at_provider: AtProvider::Over });
        if replaces.is_some() {
            stored = Stored::Replaced;
        }
        Ok(Connected {
            credential,
            stored,
            now: Timestamp::now(),
            replaces,
            difference,
            since_before,
            cache_dir: cache.dir().to_owned(),
            has_others: false,
        })
    }
}

impl Connected {
    /// Ends the grant that this one replaces, and removes it from this computer. The new grant is already
    /// stored: whatever happens in between, one of them remains. It is not a failure if the old grant cannot be
    /// ended; Ctrl-C stops the attempt.
    pub(super) async fn end_old(&mut self, cache: &Cache, http: &Http, dialog: &dyn Dialog) {
        if let Some(difference) = &self.since_before {
            dialog.on(Event::Differs(difference, Than::Before));
        }
        if let Some(old) = &mut self.replaces {
            if !old.credential.is_expired(self.now) {
                let mut stop = runtime::StopSignals::listen();
                old.at_provider = tokio::select! {
                    ended = end(cache, http, &old.credential) => match ended {
                        Ok(Revoked::Grant | Revoked::Tokens) => AtProvider::Ended,
                        Ok(Revoked::Already) => AtProvider::Over,
                        Err(not) if not.remedy.is_some() => AtProvider::Waits(not),
                        Err(not) => AtProvider::Stands(not),
                    },
                    () = stop.next() => {
                        AtProvider::Stands(NotEnded::new("interrupted", "Ctrl-C stopped it"))
                    }
                };
            }
            let left = match &old.at_provider {
                AtProvider::Waits(_) => {
                    let kept = cache.keep_to_end(std::slice::from_ref(&old.credential));
                    kept.err().map(|error| error.in_full())
                }
                _ => match cache.remove(&old.credential) {
                    Ok(removed) => removed.left.map(|error| error.to_string()),
                    Err(error) => Some(error.in_full()),
                },
            };
            if let Some(why) = left {
                dialog.on(Event::OldTokenLeft { old: &old.credential, why });
            }
        }
        let credentials = cache.credentials().unwrap_or_default();
        self.has_others = Selection::default().all(&credentials, self.now).is_ok_and(|all| all.len() > 1);
    }
}

/// The most bytes of a label that is made of several sources' names.
const MAX_NAMES: usize = 60;

/// The name for a credential: its sources' names, as many as fit into a short label, or otherwise the
/// provider's name. At most 200 bytes, and cut between words.
pub(super) fn label(sources: &[GrantedSource], provider: Option<&str>) -> String {
    let names: Vec<String> = sources.iter().flat_map(GrantedSource::names).collect();
    let Some((first, rest)) = names.split_first() else {
        return words(provider.unwrap_or("unnamed"), MAX_LABEL - 8);
    };
    let mut label = words(first, MAX_LABEL - 8);
    let mut left = rest.iter();
    for name in left.by_ref() {
        if label.len() + name.len() > MAX_NAMES {
            return format!("{label} (+{})", left.len() + 1);
        }
        let _ = write!(label, ", {}", text::one_line(name));
    }
    label
}

/// The beginning of `text` on one line, at most `max` bytes, cut between words if it has any.
fn words(text: &str, max: usize) -> String {
    let text = text::one_line(text);
    let cut = text::prefix(&text, max);
    if cut.len() == text.len() {
        return text.into_owned();
    }
    let end = cut.rfind(char::is_whitespace).filter(|end| *end > 0).unwrap_or(cut.len());
    format!("{}…", cut[..end].trim_end())
}
