//! Getting a new token with a refresh token (RFC 6749 §6, with `resource` as RFC 8707 requires).
//!
//! A refresh token works only once, and presenting it a second time revokes its family. So every kind of
//! failure states whether the token may have been spent.

use jiff::Timestamp;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::token::{TokenError, TokenResponse};
use crate::provider::discovery::{DiscoveryError, discover_with, on_issuers_origin};
use crate::provider::http::{Http, HttpError};
use crate::provider::oauth_error::OAuthError;
use crate::provider::url::ProviderUrl;

/// A refresh request.
#[derive(Debug, Clone)]
pub struct RefreshRequest<'a> {
    /// The authorization server's `token_endpoint`.
    pub token_endpoint: Url,
    /// The public client that the token was issued to.
    pub client_id: Option<&'a str>,
    /// The resource of the grant.
    pub resource: &'a str,
    /// The token.
    pub refresh_token: &'a SecretString,
}

/// Why there is no new token.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    /// The request did not arrive: the refresh token still works.
    #[error(transparent)]
    NotSent(HttpError),
    /// The authorization server is busy (429, 503): the refresh token still works.
    #[error("the authorization server is busy (HTTP {0})")]
    Busy(u16),
    /// The token was sent, and it is unknown what became of it.
    #[error("the answer was lost: {0}")]
    Lost(String),
    /// The authorization server does not accept the refresh token, or no longer, or not from this client.
    #[error("the authorization server refused the refresh token: {0}")]
    Refused(OAuthError),
    /// It refused the request; the refresh token still works.
    #[error("the authorization server refused the request: {0}")]
    BadRequest(OAuthError),
    /// It answered with an unusable token, and has spent the old one.
    #[error(transparent)]
    Token(#[from] TokenError),
}

/// Asks for a new token, once; a second time without `resource` if that alone was refused, because the refresh
/// token was not processed then.
///
/// # Errors
/// [`RefreshError`]. No message contains a token.
pub async fn refresh(http: &Http, request: &RefreshRequest<'_>) -> Result<TokenResponse, RefreshError> {
    match ask(http, request, true).await {
        Err(RefreshError::BadRequest(error)) if error.is_of_resource() => ask(http, request, false).await,
        answer => answer,
    }
}

async fn ask(
    http: &Http,
    request: &RefreshRequest<'_>,
    with_resource: bool,
) -> Result<TokenResponse, RefreshError> {
    let form = form(request, with_resource);
    let sent = http
        .request(reqwest::Method::POST, request.token_endpoint.clone())
        .map_err(RefreshError::NotSent)?
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(form.expose_secret().to_owned());
    let answer = http.send(sent).await.map_err(|error| {
        if is_before_the_request(&error, http) {
            RefreshError::NotSent(error)
        } else {
            RefreshError::Lost(error.to_string())
        }
    })?;
    match answer.status {
        200..=299 => {
            let body = answer.object().map_err(|what| RefreshError::Lost(format!("it was {what}")))?;
            Ok(TokenResponse::read(&body, Timestamp::now())?)
        }
        status @ (429 | 503) => Err(RefreshError::Busy(status)),
        400..=499 => {
            let error = OAuthError::of(&answer);
            let is_final = ["invalid_grant", "unauthorized_client"].iter().any(|code| error.is(code))
                || error.is_unknown_client();
            Err(if is_final { RefreshError::Refused(error) } else { RefreshError::BadRequest(error) })
        }
        status => Err(RefreshError::Lost(format!("it was HTTP {status}"))),
    }
}

/// The token endpoint of `issuer`: `known`, if it is on the issuer's origin, or otherwise discovered again at
/// `provider`, which must still name the same issuer: a refresh token goes only to the server that issued it.
///
/// # Errors
/// [`DiscoveryError`]. The result is `None` if there is no token endpoint, or if another issuer is named.
pub async fn token_endpoint(
    http: &Http,
    provider: &ProviderUrl,
    issuer: &str,
    known: Option<&str>,
) -> Result<Option<Url>, DiscoveryError> {
    let Ok(issuer) = issuer.parse::<ProviderUrl>() else { return Ok(None) };
    if let Some(known) = known {
        return on_issuers_origin(&issuer, "token_endpoint", known).map(Some);
    }
    let found = discover_with(http, provider, issuer.as_str()).await?.authorization_server;
    Ok(found.token_endpoint.filter(|_| found.issuer == issuer))
}

fn form(request: &RefreshRequest<'_>, with_resource: bool) -> SecretString {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "refresh_token")
        .append_pair("refresh_token", request.refresh_token.expose_secret());
    if with_resource {
        form.append_pair("resource", request.resource);
    }
    if let Some(client_id) = request.client_id {
        form.append_pair("client_id", client_id);
    }
    SecretString::from(form.finish())
}

/// Whether the request cannot have reached the server. A request that got a redirect did reach it, but not at a
/// token endpoint.
fn is_before_the_request(error: &HttpError, http: &Http) -> bool {
    let limits = http.limits();
    match error {
        HttpError::Unreachable { .. }
        | HttpError::UnknownHost { .. }
        | HttpError::Proxy { .. }
        | HttpError::Tls { .. }
        | HttpError::Network(_)
        | HttpError::Setup(_)
        | HttpError::Redirected { .. } => true,
        HttpError::TimedOut { after, .. } => *after == limits.connect && limits.connect < limits.total,
        HttpError::TooLarge { .. } | HttpError::Broken { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::http::Limits;
    use std::time::Duration;

    #[test]
    fn the_form_is_what_the_rfcs_ask_for() {
        let token = SecretString::from("r&t=1");
        let request = RefreshRequest {
            token_endpoint: "https://as.example/token".parse().unwrap(),
            client_id: Some("c 1"),
            resource: "https://a.example/mcp",
            refresh_token: &token,
        };
        assert_eq!(
            form(&request, true).expose_secret(),
            "grant_type=refresh_token&refresh_token=r%26t%3D1&resource=https%3A%2F%2Fa.example%2Fmcp&client_id=c+1"
        );
        assert!(!format!("{request:?}").contains("r&t=1"));
    }

    #[test]
    fn a_token_that_may_have_been_spent_is_told_apart() {
        let http =
            Http::new(Limits { connect: Duration::from_secs(5), total: Duration::from_secs(15), body: 1 });
        let origin = || "https://as.example".to_owned();
        let before = |error| is_before_the_request(&error, &http);
        assert!(before(HttpError::Unreachable { origin: origin(), why: String::new() }));
        assert!(before(HttpError::TimedOut { origin: origin(), after: Duration::from_secs(5) }));
        assert!(!before(HttpError::TimedOut { origin: origin(), after: Duration::from_secs(15) }));
        assert!(!before(HttpError::Broken { origin: origin(), why: String::new() }));
        assert!(!before(HttpError::TooLarge { origin: origin(), limit: 1 }));
    }

    #[tokio::test]
    async fn a_known_endpoint_elsewhere_gets_nothing() {
        let http = Http::new(Limits::default());
        let provider = "https://a.example".parse().unwrap();
        let endpoint = |known| token_endpoint(&http, &provider, "https://as.example", Some(known));
        assert!(endpoint("https://as.example/token").await.unwrap().is_some());
        for foreign in
            ["https://evil.example/token", "http://as.example/token", "https://u:p@as.example/token"]
        {
            assert_eq!(endpoint(foreign).await.unwrap_err().code(), "endpoint_foreign", "{foreign}");
        }
    }
}
