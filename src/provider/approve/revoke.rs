//! Ending a grant at its provider: token revocation (RFC 7009) if the provider offers it, or otherwise the
//! client's own `POST /grants/{id}/revoke`.

use reqwest::Method;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use crate::provider::discovery::{Discovery, DiscoveryError, discover_with};
use crate::provider::grant::GrantId;
use crate::provider::http::{Answer, Http, HttpError};
use crate::provider::oauth_error::OAuthError;
use crate::provider::rs;
use crate::provider::url::ProviderUrl;
use crate::secret::AccessToken;

/// What the provider has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revoked {
    /// The grant is ended.
    Grant,
    /// Its tokens are revoked (RFC 7009); most providers end the grant with them.
    Tokens,
    /// It was already over: the provider no longer accepts the token.
    Already,
}

/// Why the provider did not end it.
#[derive(Debug, thiserror::Error)]
pub enum RevokeError {
    /// No metadata, or none that can be trusted.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// No answer.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The provider now has another authorization server, which must not see a token of the first.
    #[error("the provider has changed its authorization server")]
    OtherIssuer,
    /// It offers neither of the two ways.
    #[error("the provider offers no way to end a grant from here")]
    Unsupported,
    /// The provider refused.
    #[error("the provider refused to end the grant (HTTP {status}): {error}")]
    Refused {
        /// The HTTP status code.
        status: u16,
        /// The provider's error.
        error: OAuthError,
    },
}

impl RevokeError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Discovery(error) => error.code(),
            Self::Http(error) => error.code(),
            Self::OtherIssuer => "issuer_mismatch",
            Self::Unsupported => "revocation_unsupported",
            // The request was not processed.
            Self::Refused { status: 429 | 500.., .. } => "revocation_failed",
            Self::Refused { .. } => "revocation_refused",
        }
    }
}

/// The tokens that end a grant.
#[derive(Debug, Clone)]
pub struct Tokens {
    /// The client that it was issued to.
    pub client_id: Option<String>,
    /// The grant, if it is known.
    pub grant_id: Option<GrantId>,
    /// The token.
    pub access_token: AccessToken,
    /// The token that could get another access token.
    pub refresh_token: Option<SecretString>,
}

/// Ends the grant of `tokens` at `provider`. The tokens go only to `issuer`, the authorization server that
/// issued them.
///
/// # Errors
/// [`RevokeError`]; the grant may then still be valid.
pub async fn revoke(
    http: &Http,
    provider: &ProviderUrl,
    issuer: &str,
    tokens: &Tokens,
) -> Result<Revoked, RevokeError> {
    let discovery = discover_with(http, provider, issuer).await?;
    if !discovery.authorization_server.issuer.is_same_as(issuer) {
        return Err(RevokeError::OtherIssuer);
    }
    end(http, &discovery, tokens).await
}

/// Ends the grant of `tokens` at the authorization server that has just issued them.
///
/// # Errors
/// [`RevokeError`]; the grant may then still be valid.
pub async fn end(http: &Http, discovery: &Discovery, tokens: &Tokens) -> Result<Revoked, RevokeError> {
    let Some(endpoint) = &discovery.authorization_server.revocation_endpoint else {
        return revoke_grant(http, discovery, tokens).await;
    };
    let client = tokens.client_id.as_deref();
    // The refresh token first, because it could get another access token.
    if let Some(token) = &tokens.refresh_token {
        revoke_token(http, endpoint, client, token.expose_secret(), "refresh_token").await?;
    }
    revoke_token(http, endpoint, client, tokens.access_token.expose_bearer(), "access_token").await?;
    Ok(Revoked::Tokens)
}

/// Revokes a token as a public client (RFC 7009 §2.1).
async fn revoke_token(
    http: &Http,
    endpoint: &Url,
    client_id: Option<&str>,
    token: &str,
    hint: &str,
) -> Result<(), RevokeError> {
    let mut form = vec![("token", token), ("token_type_hint", hint)];
    form.extend(client_id.map(|client_id| ("client_id", client_id)));
    let answer = http.post_form(endpoint.clone(), &form).await?;
    // Revoking an unknown token is a success too (RFC 7009 §2.2).
    if answer.is_success() { Ok(()) } else { Err(refused(&answer)) }
}

async fn revoke_grant(http: &Http, discovery: &Discovery, tokens: &Tokens) -> Result<Revoked, RevokeError> {
    let grant_id = tokens.grant_id.as_ref().ok_or(RevokeError::Unsupported)?;
    let mut url = discovery.authorization_server.issuer.url().clone();
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&format!("{path}/grants/{}/revoke", rs::segment(grant_id.as_str())));
    let authorization = rs::authorization(&tokens.access_token)?;
    let request = http
        .request(Method::POST, url)?
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/json")
        .header(AUTHORIZATION, authorization)
        .body("{}");
    let answer = http.send(request).await?;
    match answer.status {
        200..300 => Ok(Revoked::Grant),
        401 | 410 => Ok(Revoked::Already),
        403 if is_over(&answer) => Ok(Revoked::Already),
        404 | 405 => Err(RevokeError::Unsupported),
        _ => Err(refused(&answer)),
    }
}

fn is_over(answer: &Answer) -> bool {
    let code =
        answer.object().ok().and_then(|body| body.get("error")?.get("code")?.as_str().map(str::to_owned));
    code.is_some_and(|code| matches!(code.as_str(), "grant_revoked" | "grant_expired"))
}

fn refused(answer: &Answer) -> RevokeError {
    RevokeError::Refused { status: answer.status, error: OAuthError::of(answer) }
}
