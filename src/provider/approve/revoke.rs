//! The end of a grant, told to its provider: token revocation (RFC 7009) where it is offered, else the
//! client's own `POST /grants/{id}/revoke`.

use reqwest::Method;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::oauth_error::OAuthError;
use crate::cache::credential::Credential;
use crate::provider::discovery::{Discovery, DiscoveryError, discover};
use crate::provider::http::{Answer, Http, HttpError};
use crate::provider::rs;
use crate::secret::AccessToken;

/// What the provider has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revoked {
    /// The grant is over.
    Grant,
    /// Its tokens are over (RFC 7009); most providers end the grant with them.
    Tokens,
    /// It was over before: the provider does not take the token any more.
    Already,
}

/// Why the provider did not end it.
#[derive(Debug, thiserror::Error)]
pub enum RevokeError {
    /// No metadata, or none to trust.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// No answer.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The provider has another authorization server now, which is not to see a token of the first.
    #[error("the provider's authorization server is another one now")]
    OtherIssuer,
    /// It has neither of the two ways.
    #[error("the provider offers no way to end a grant from here")]
    Unsupported,
    /// It said no.
    #[error("the provider refused to end the grant (HTTP {status}): {error}")]
    Refused {
        /// The HTTP status code.
        status: u16,
        /// What it said.
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
            Self::Refused { .. } => "revocation_refused",
        }
    }
}

/// Ends the grant of `credential` at its provider. The tokens go to the authorization server that issued
/// them, and to nobody else.
///
/// # Errors
/// [`RevokeError`]; the grant may then still be there.
pub async fn revoke(
    http: &Http,
    credential: &Credential,
    access_token: &AccessToken,
    refresh_token: Option<&SecretString>,
) -> Result<Revoked, RevokeError> {
    let discovery = discover(http, &credential.provider).await?;
    if !discovery.authorization_server.issuer.is_same_as(&credential.issuer) {
        return Err(RevokeError::OtherIssuer);
    }
    match &discovery.authorization_server.revocation_endpoint {
        Some(endpoint) => {
            // The refresh token first: it is what could get another access token.
            if let Some(token) = refresh_token {
                revoke_token(http, endpoint, credential, token.expose_secret(), "refresh_token").await?;
            }
            revoke_token(http, endpoint, credential, access_token.expose_bearer(), "access_token").await?;
            Ok(Revoked::Tokens)
        }
        None => revoke_grant(http, &discovery, credential, access_token).await,
    }
}

/// RFC 7009 §2.1, as a public client.
async fn revoke_token(
    http: &Http,
    endpoint: &Url,
    credential: &Credential,
    token: &str,
    hint: &str,
) -> Result<(), RevokeError> {
    let mut form = vec![("token", token), ("token_type_hint", hint)];
    if let Some(client_id) = &credential.client_id {
        form.push(("client_id", client_id));
    }
    let answer = http.post_form(endpoint.clone(), &form).await?;
    // An unknown token is a success too (RFC 7009 §2.2).
    if answer.is_success() { Ok(()) } else { Err(refused(&answer)) }
}

async fn revoke_grant(
    http: &Http,
    discovery: &Discovery,
    credential: &Credential,
    access_token: &AccessToken,
) -> Result<Revoked, RevokeError> {
    let mut url = discovery.authorization_server.issuer.url().clone();
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&format!("{path}/grants/{}/revoke", rs::segment(credential.grant_id.as_str())));
    let authorization = rs::authorization(access_token)?;
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
