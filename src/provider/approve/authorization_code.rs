//! The authorization code grant with PKCE (RFC 6749 §4.1, RFC 7636) in the system's browser, with the answer on
//! loopback (RFC 8252) and a check of who answers (RFC 9207).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, sleep_until};
use url::Url;

use super::ApproveError;
use super::flow::FlowError;
use super::loopback::{Expected, Listener, Port, random};
use super::token::TokenResponse;
use super::wait::Patience;
use super::wanted::Wanted;
use crate::provider::discovery::Discovery;
use crate::provider::http::{Answer, Http, HttpError};
use crate::provider::oauth_error::OAuthError;
use crate::provider::register::Client;
use crate::provider::rs::retry_after;

/// A request that waits for the owner's browser to return.
#[derive(Debug)]
pub struct Attempt {
    /// How long to wait for the answer. Nothing in this flow tells how long the page lasts.
    pub patience: Patience,
    /// Where the owner's browser comes in, and where it returns.
    pub listener: Listener,
    expected: Expected,
    verifier: SecretString,
    redirect_uri: String,
    client_id: String,
    resource: String,
    token_endpoint: Url,
}

/// Begins an attempt. If `wanted` is more than a plain request, it goes into `authorization_details`; for a
/// plain one, the owner picks.
///
/// # Errors
/// [`ApproveError`].
pub async fn begin(
    http: &Http,
    discovery: &Discovery,
    client: &Client,
    wanted: &Wanted,
) -> Result<Attempt, ApproveError> {
    let server = &discovery.authorization_server;
    let (Some(endpoint), Some(token_endpoint)) =
        (server.authorization_endpoint.clone(), server.token_endpoint.clone())
    else {
        return Err(FlowError::NoneOffered.into());
    };
    let client_id = client.id().ok_or(ApproveError::ClientRequired)?;
    // The server's page would show an unknown client to the owner, who can do nothing about it, and not to this
    // program, which can.
    if matches!(client, Client::Remembered(_)) {
        known(http, token_endpoint.clone(), client_id).await?;
    }
    let port = Port::open().await.map_err(ApproveError::Loopback)?;
    let redirect_uri = port.redirect_uri();
    let (verifier, state) = (random()?, random()?);
    let challenge = challenge(&verifier);
    let resource = discovery.mcp_resource();

    let mut url = endpoint;
    {
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", client_id)
            .append_pair("redirect_uri", &redirect_uri)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("state", state.expose_secret())
            .append_pair("resource", &resource)
            .append_pair("scope", "pdpp:read");
        if wanted.is_plain() {
            query.extend_pairs(wanted.parameters(server.takes_purpose));
        } else {
            query.append_pair("authorization_details", &wanted.details(&discovery.resource).to_string());
        }
    }
    Ok(Attempt {
        patience: Patience::new(None),
        listener: port.leading_to(url)?,
        expected: Expected {
            state,
            issuer: server.issuer.clone(),
            issuer_required: server.answers_with_issuer,
        },
        verifier,
        redirect_uri,
        client_id: client_id.to_owned(),
        resource,
        token_endpoint,
    })
}

/// Checks that the authorization server still knows the client, by sending a code that nobody issued: a known
/// client is refused with `invalid_grant`, an unknown one with `invalid_client` (RFC 6749 §5.2).
async fn known(http: &Http, token_endpoint: Url, client_id: &str) -> Result<(), ApproveError> {
    let nothing = random()?;
    let fields = [
        ("grant_type", "authorization_code"),
        ("client_id", client_id),
        ("code", "not-a-code"),
        ("redirect_uri", "http://127.0.0.1/callback"),
        ("code_verifier", nothing.expose_secret()),
    ];
    let answer = http.post_form(token_endpoint, &fields).await?;
    let error = OAuthError::of(&answer);
    if !answer.is_success() && error.is_unknown_client() {
        return Err(ApproveError::UnknownClient(error));
    }
    Ok(())
}

impl Attempt {
    /// Exchanges the code, and tries again if the answer was lost or the server was busy. If the code has been
    /// spent meanwhile, it is refused, and nothing more is lost.
    async fn exchange(
        &self,
        http: &Http,
        code: &SecretString,
        with_resource: bool,
    ) -> Result<Answer, HttpError> {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code.expose_secret()),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("client_id", self.client_id.as_str()),
            ("code_verifier", self.verifier.expose_secret()),
        ];
        if with_resource {
            fields.push(("resource", self.resource.as_str()));
        }
        let end = Instant::now() + EXCHANGE;
        loop {
            let answer = http.post_form(self.token_endpoint.clone(), &fields).await;
            match wait_before_again(&answer).map(|wait| Instant::now() + wait) {
                Some(next) if next < end => sleep_until(next).await,
                _ => return answer,
            }
        }
    }

    /// Waits for the browser to return, once, and exchanges its code. Dropping the future stops it.
    ///
    /// # Errors
    /// [`ApproveError`].
    pub async fn wait(&self, http: &Http) -> Result<TokenResponse, ApproveError> {
        let answered = tokio::time::timeout(self.patience.waits, self.listener.answer(&self.expected)).await;
        let nothing = || {
            let has_turned_back = self.listener.has_turned_back();
            if has_turned_back { ApproveError::StateMismatch } else { self.patience.over(None) }
        };
        let code = answered.map_err(|_| nothing())??;
        let mut answer = self.exchange(http, &code, true).await?;
        if !answer.is_success() && OAuthError::of(&answer).is_of_resource() {
            answer = self.exchange(http, &code, false).await?;
        }
        if !answer.is_success() {
            let error = OAuthError::of(&answer);
            return Err(match error.code.as_deref() {
                Some("invalid_grant") => ApproveError::InvalidGrant(error),
                Some("access_denied") => ApproveError::Denied,
                _ if error.is_unknown_client() => ApproveError::UnknownClient(error),
                _ => ApproveError::PollRefused(error),
            });
        }
        let body = answer.object().map_err(ApproveError::Malformed)?;
        Ok(TokenResponse::read(&body, jiff::Timestamp::now())?)
    }
}

/// How long an exchange is tried again.
const EXCHANGE: Duration = Duration::from_secs(20);

/// How long to wait before the request that got `answer` is sent again; `None` if the answer is final.
fn wait_before_again(answer: &Result<Answer, HttpError>) -> Option<Duration> {
    let usual = Duration::from_secs(2);
    match answer {
        Ok(answer) if matches!(answer.status, 429 | 502 | 503 | 504) => {
            Some(retry_after(&answer.headers).map_or(usual, Duration::from_secs))
        }
        Err(
            HttpError::Unreachable { .. }
            | HttpError::UnknownHost { .. }
            | HttpError::Proxy { .. }
            | HttpError::TimedOut { .. }
            | HttpError::Broken { .. },
        ) => Some(usual),
        _ => None,
    }
}

/// The challenge for `verifier` (RFC 7636 §4.2).
fn challenge(verifier: &SecretString) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, verifier.expose_secret().as_bytes());
    URL_SAFE_NO_PAD.encode(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_the_rfcs_own() {
        // RFC 7636, appendix B.
        let verifier = SecretString::from("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let (one, other) = (random().unwrap(), random().unwrap());
        assert_eq!(one.expose_secret().len(), 43);
        assert_ne!(one.expose_secret(), other.expose_secret());
    }
}
