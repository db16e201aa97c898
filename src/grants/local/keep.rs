//! Tests the approved grants of the person's own store with one read each, and keeps them.

use std::path::Path;

use jiff::{Timestamp, Unit};
use serde_json::Value;

use crate::cache::credential::{Credential, Renewal, Secrets};
use crate::cache::select::Selection;
use crate::cache::store::StoreKind;
use crate::cache::store::choice::StoreChoice;
use crate::cache::{Cache, Stored, new_credential_id};
use crate::error::{Error, Kind, Result};
use crate::grants::dialog::{Dialog, Event, Than};
use crate::grants::difference::Difference;
use crate::grants::end::NotEnded;
use crate::grants::keep::{AtProvider, Connected, Old, label};
use crate::grants::own_store::{end, refused};
use crate::grants::renewal;
use crate::own;
use crate::provider::approve::proof::schema_sources;
use crate::provider::approve::token::{GivenStream, UnreadEnds};
use crate::provider::approve::wanted::Wanted;
use crate::provider::grant::{GrantId, GrantedSource, TokenKind};
use crate::provider::url::ProviderUrl;
use crate::secret::AccessToken;
use crate::vault::Vault;
use crate::vault::grant::Grant;
use crate::vault::oauth::approval::Approved;
use crate::vault::rs::Answer;
use crate::vault::rs::read::{Read, Resource};

/// The grants of one approval that are now on this computer.
#[derive(Debug)]
pub struct ConnectedHere {
    /// One grant per source.
    pub grants: Vec<Connected>,
}

/// Where they are kept.
pub(super) struct Keeping<'a> {
    pub(super) vault: &'a Vault,
    pub(super) cache: &'a Cache,
    pub(super) provider: &'a ProviderUrl,
    pub(super) data_dir: &'a Path,
    pub(super) store: StoreKind,
    pub(super) now: Timestamp,
}

/// What was requested, and for whom.
pub(super) struct What {
    pub(super) wanted: Wanted,
    pub(super) old: Option<Credential>,
    pub(super) host: Option<String>,
    pub(super) name: Option<String>,
    pub(super) choice: Option<StoreChoice>,
    pub(super) store_id: String,
}

impl Keeping<'_> {
    /// Tests and keeps what was approved, all of it or nothing. A grant that cannot be kept is ended.
    pub(super) fn keep(
        &self,
        approved: &[Approved],
        what: &What,
        dialog: &dyn Dialog,
    ) -> Result<ConnectedHere> {
        let mut kept: Vec<Connected> = Vec::new();
        let is_old = |grant: &Grant| what.old.as_ref().is_some_and(|old| is_of_source(old, grant));
        let in_place = approved.iter().position(|approved| is_old(&approved.grant)).unwrap_or(0);
        if let Some(choice) = what.choice {
            self.cache.remember_store(choice)?;
        }
        for (at, one) in approved.iter().enumerate() {
            let old = what.old.as_ref().filter(|_| at == in_place);
            match self.keep_one(one, what, old) {
                Ok(connected) => kept.push(connected),
                Err(error) => {
                    let ids = approved.iter().map(|approved| approved.grant.grant_id.as_str());
                    let is_ended = self.vault.end_grants(ids).is_ok();
                    dialog.on(if is_ended { Event::UnkeptEnded } else { Event::UnkeptStands });
                    for connected in &kept {
                        let _ = self.cache.remove(&connected.credential);
                    }
                    return Err(error);
                }
            }
        }
        for connected in &kept {
            let label = connected.credential.label.as_str();
            dialog.on(Event::Kept { provider: self.provider, label });
        }
        for connected in &mut kept {
            self.end_old(connected, dialog);
        }
        let credentials = self.cache.credentials().unwrap_or_default();
        let all = Selection::default().all(&credentials, self.now);
        let has_others = all.is_ok_and(|all| all.len() > kept.len());
        for connected in &mut kept {
            connected.has_others = has_others;
        }
        Ok(ConnectedHere { grants: kept })
    }

    fn keep_one(&self, approved: &Approved, what: &What, old: Option<&Credential>) -> Result<Connected> {
        let Approved { grant, token } = approved;
        let sources = self.prove(grant, token)?;
        let time = |text: &str| text.parse::<Timestamp>().ok();
        let grant_id = GrantId::try_from(grant.grant_id.clone());
        let grant_id = grant_id.map_err(|error| {
            Error::failed("own_store", "The store made a grant with an id that cannot be used").because(error)
        })?;
        let issued = time(&grant.issued_at).or(Some(self.now)).and_then(|at| at.round(Unit::Second).ok());
        let query_base = format!("{}/v1", self.provider.as_str()).parse();
        let query_base =
            query_base.map_err(|error: url::ParseError| Error::failed("own_store", error.to_string()))?;
        let name = what.name.clone().or_else(|| old.map(|old| old.label.clone()));
        let mut credential = Credential {
            id: new_credential_id()?,
            store: self.store,
            parts: 1,
            provider: self.provider.clone(),
            grant_id,
            query_base,
            issuer: own::issuer(&what.store_id),
            client_id: Some(grant.client.client_id.clone()),
            token_kind: TokenKind::Client,
            label: name.unwrap_or_else(|| label(&sources, None)),
            sources,
            access_mode: Some(grant.access_mode.clone()),
            issued_at: issued,
            grant_expires_at: grant.expires_at.as_deref().and_then(time),
            token_expires_at: None,
            unread_ends: UnreadEnds::default(),
            refreshable: false,
            asked: Some(old.map_or_else(|| what.wanted.clone(), |old| renewal::asked(old, &what.wanted))),
            given: GivenStream::kept(given(grant)).into(),
            renewal: Renewal::default(),
            ending: false,
            data_dir: Some(self.data_dir.to_owned()),
            host: what.host.clone(),
        };
        let token = AccessToken::new(token.clone()).map_err(|error| {
            Error::failed("own_store", "The store made a token that cannot be kept").because(error)
        })?;
        let secrets = Secrets::new(token, None);
        let stored = self.cache.store_in_place_of(&mut credential, &secrets, None, old)?;
        Ok(Connected {
            since_before: old.map(|old| renewal::compare(old, &credential)),
            stored: if old.is_some() { Stored::Replaced } else { stored },
            credential,
            now: self.now,
            replaces: old.cloned().map(|credential| Old { credential, at_provider: AtProvider::Over }),
            difference: Difference::default(),
            cache_dir: self.cache.dir().to_owned(),
            has_others: false,
        })
    }

    /// Makes one read with the new token (P10).
    fn prove(&self, grant: &Grant, token: &str) -> Result<Vec<GrantedSource>> {
        let compact = Read::new(Resource::Schema, vec![("view".to_owned(), "compact".to_owned())]);
        let malformed = || {
            Error::new(
                Kind::Unavailable,
                "token_proof_malformed",
                "The first read with the new token returned nothing",
            )
            .hint("Report this: it is a fault of pdpp")
        };
        let answer = self.vault.read(Some(token), &compact).map_err(|error| refused(&error))?;
        let Answer::Json(Value::Object(body)) = answer else { return Err(malformed()) };
        let said = body.get("bearer").and_then(|bearer| bearer.get("grant_id"));
        if said.and_then(Value::as_str) != Some(grant.grant_id.as_str()) {
            return Err(malformed());
        }
        schema_sources(&body).map_err(|_| malformed())
    }

    /// Ends the grant that `connected` replaces, and removes it from this computer.
    fn end_old(&self, connected: &mut Connected, dialog: &dyn Dialog) {
        if let Some(difference) = &connected.since_before {
            dialog.on(Event::Differs(difference, Than::Before));
        }
        let Some(old) = &mut connected.replaces else { return };
        if !old.credential.is_expired(self.now) {
            old.at_provider = match end(&old.credential) {
                Ok(()) => AtProvider::Ended,
                Err(error) => AtProvider::Stands(NotEnded::new(error.code(), error.in_full())),
            };
        }
        let left = match self.cache.remove(&old.credential) {
            Ok(removed) => removed.left.map(|error| error.to_string()),
            Err(error) => Some(error.in_full()),
        };
        if let Some(why) = left {
            dialog.on(Event::OldTokenLeft { old: &old.credential, why });
        }
    }
}

fn is_of_source(old: &Credential, grant: &Grant) -> bool {
    old.sources.iter().any(|source| source.id.as_deref() == Some(grant.source.id.as_str()))
}

/// What a grant gives, in the form that any provider's token response has.
fn given(grant: &Grant) -> Vec<GivenStream> {
    let time = |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok());
    let stream = |stream: &crate::vault::grant::GrantStream| GivenStream {
        name: stream.name.clone(),
        source: Some(grant.source_of(stream).id.clone()),
        instance_ids: stream.instance_ids.clone(),
        fields: Some(stream.fields.clone()),
        since: stream.time_constraint.as_ref().and_then(|limit| time(&limit.since)),
        until: stream.time_constraint.as_ref().and_then(|limit| time(&limit.until)),
    };
    grant.streams.iter().map(stream).collect()
}
