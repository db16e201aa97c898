//! Ending one grant at its provider.

use std::time::Duration;

use jiff::Timestamp;

use super::own_store;
use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::cache::store::{bound, remedy};
use crate::provider::approve::revoke::{Revoked, Tokens, revoke};
use crate::provider::grant::TokenKind;
use crate::provider::http::Http;

/// The longest time to spend on ending one grant at its provider, after its keyring has answered.
const WITHIN: Duration = Duration::from_secs(20);

/// Why a grant was not ended at its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotEnded {
    /// The stable error code.
    pub code: String,
    /// The reason.
    pub why: String,
    /// What must happen first, if its token cannot be read now or its provider cannot be reached, and later
    /// attempts may succeed. The grant is then kept until it can be ended.
    pub remedy: Option<&'static str>,
}

impl NotEnded {
    pub(super) fn new(code: &str, why: impl Into<String>) -> Self {
        Self { code: code.to_owned(), why: why.into(), remedy: remedy(code).or_else(|| reachable(code)) }
    }
}

/// The remedy if a failure of `code` means that the provider could not be reached or had no time.
fn reachable(code: &str) -> Option<&'static str> {
    let is_away = matches!(
        code,
        "provider_unreachable"
            | "provider_host_unknown"
            | "provider_timeout"
            | "provider_answer_broken"
            | "provider_tls_failed"
            | "proxy_failed"
            | "provider_metadata_failed"
            | "authorization_server_metadata_failed"
            | "provider_metadata_not_json"
            | "authorization_server_metadata_not_json"
            | "revocation_failed"
            | "refresh_busy"
    );
    is_away.then_some("Once its provider can be reached")
}

/// Ends the grant of `credential` at its provider, in bounded time.
///
/// # Errors
/// [`NotEnded`], with the reason.
pub(super) async fn end(cache: &Cache, http: &Http, credential: &Credential) -> Result<Revoked, NotEnded> {
    tokio::time::timeout(WITHIN + bound(), try_end(cache, http, credential)).await.unwrap_or_else(|_| {
        Err(NotEnded::new(
            "provider_timeout",
            format!("the provider did not answer within {} s", WITHIN.as_secs()),
        ))
    })
}

async fn try_end(cache: &Cache, http: &Http, credential: &Credential) -> Result<Revoked, NotEnded> {
    if credential.token_kind == TokenKind::Owner {
        let why = "pdpp never uses an owner's credential; it only deletes it";
        return Err(NotEnded::new("owner_credential_in_cache", why));
    }
    if credential.grant_expires_at.is_some_and(|end| end <= Timestamp::now()) {
        return Ok(Revoked::Already);
    }
    if credential.provider.is_local() {
        // No token is needed: the store belongs to the person, and its database has the grant.
        let credential = credential.clone();
        let ended = tokio::task::spawn_blocking(move || own_store::end(&credential)).await;
        let ended = ended.map_err(|error| NotEnded::new("own_store", error.to_string()))?;
        return match ended {
            Ok(()) => Ok(Revoked::Grant),
            // Neither store gives out anything for this grant any more.
            Err(error) if matches!(error.code(), "own_damaged" | "own_store_other") => Ok(Revoked::Already),
            Err(error) => Err(NotEnded::new(error.code(), error.in_full())),
        };
    }
    let bearer = cache.bearer(credential).await;
    let bearer = bearer.map_err(|error| NotEnded::new(error.code(), error.in_full()))?;
    // Comes after the bearer, because asking for the bearer may have replaced it. Without it, the access token
    // still names the grant.
    let (cache, current) = (cache.clone(), credential.clone());
    let refresh_token = tokio::task::spawn_blocking(move || cache.refresh_token(&current)).await;
    let refresh_token = refresh_token.ok().and_then(Result::ok).flatten();
    let tokens = Tokens {
        client_id: credential.client_id.clone(),
        grant_id: Some(credential.grant_id.clone()),
        access_token: bearer,
        refresh_token,
    };
    let ended = revoke(http, &credential.provider, &credential.issuer, &tokens).await;
    ended.map_err(|error| NotEnded::new(error.code(), error.to_string()))
}
