//! agent-connect, native or after a pushed request: begin, let the owner approve, poll.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use url::Url;

use super::flow::FlowError;
use super::token::TokenResponse;
use super::wait::{Pace, Polled, wait};
use super::wanted::Wanted;
use super::{ApproveError, Choice, par};
use crate::json;
use crate::provider::discovery::{Discovery, on_issuers_origin};
use crate::provider::http::{Answer, Http, HttpError};
use crate::provider::oauth_error::OAuthError;
use crate::provider::register::{CLIENT_NAME, Client};
use crate::text;

/// The most bytes of a user code, which a person must compare.
pub(super) const MAX_USER_CODE: usize = 64;

/// A request that waits for its owner.
#[derive(Debug)]
pub struct Attempt {
    /// The address that the owner opens; on the issuer's origin.
    pub approval_url: Url,
    /// A code that the owner's page also shows, so that the owner can tell this request from another.
    pub user_code: Option<String>,
    /// How often to poll, and for how long.
    pub pace: Pace,
    poll_url: Url,
    polling_code: SecretString,
}

/// Begins an attempt: for `wanted`, which is pushed first (`is_pushed`), or otherwise for everything that the
/// provider has.
///
/// # Errors
/// [`ApproveError`]; [`ApproveError::SourceRequired`] if the provider has several sources and none is named.
pub async fn begin(
    http: &Http,
    discovery: &Discovery,
    client: &Client,
    wanted: &Wanted,
    is_pushed: bool,
) -> Result<Attempt, ApproveError> {
    let server = &discovery.authorization_server;
    let endpoint = server.agent_connect_endpoint.clone().ok_or(FlowError::NoneOffered)?;
    let request_uri = if is_pushed {
        let par_endpoint = server.par_endpoint.clone().ok_or(FlowError::SourceUnsupported)?;
        let client_id = client.id().ok_or(ApproveError::ClientRequired)?;
        Some(par::push(http, par_endpoint, client_id, &discovery.resource, wanted).await?)
    } else {
        None
    };

    let mut request = json!({
        "resource": discovery.resource,
        "scope": "pdpp:read",
        "client_name": CLIENT_NAME,
    });
    if let Some(client_id) = client.id() {
        request["client_id"] = json!(client_id);
    }
    if let Some(request_uri) = &request_uri {
        request["request_uri"] = json!(request_uri);
    } else {
        for (name, value) in wanted.parameters(server.takes_purpose) {
            request[name] = json!(value);
        }
    }
    let answer = http.post_json(endpoint, &request).await?;
    if !answer.is_success() {
        let error = OAuthError::of(&answer);
        // The only sign of a provider with several sources: it requires a pushed request, which we did not
        // send.
        if request_uri.is_none() && error.status == 400 && error.says("request_uri") {
            return Err(ApproveError::SourceRequired { choices: Choice::of(&answer) });
        }
        return Err(if is_pushed {
            ApproveError::of_details(&answer, wanted)
        } else {
            ApproveError::refused(error, Choice::of(&answer))
        });
    }
    let begun = answer.object().map_err(ApproveError::Malformed)?;
    let required = |name: &str| {
        let missing = || ApproveError::Malformed(format!("it has no `{name}`"));
        begun.get(name).and_then(Value::as_str).ok_or_else(missing)
    };
    Ok(Attempt {
        approval_url: on_issuers_origin(&server.issuer, "approval_url", required("approval_url")?)?,
        poll_url: on_issuers_origin(&server.issuer, "poll_url", required("poll_url")?)?,
        polling_code: SecretString::from(required("polling_code")?),
        user_code: begun
            .get("user_code")
            .and_then(Value::as_str)
            .filter(|code| (1..=MAX_USER_CODE).contains(&code.len()))
            .map(|code| text::one_line(code).into_owned()),
        pace: Pace::new(seconds(&begun, "interval"), seconds(&begun, "expires_in")),
    })
}

/// A number of seconds; `None` for a negative or absurd one.
pub(super) fn seconds(begun: &Map<String, Value>, name: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(json::number(begun.get(name)?)?).ok()
}

impl Attempt {
    /// Polls until the owner has decided or the attempt has expired. Dropping the future stops it.
    ///
    /// # Errors
    /// [`ApproveError`].
    pub async fn wait(&self, http: &Http) -> Result<TokenResponse, ApproveError> {
        let request = json!({"polling_code": self.polling_code.expose_secret()});
        wait(self.pace, async || match http.post_json(self.poll_url.clone(), &request).await {
            Ok(answer) => polled(&answer),
            Err(error) => unanswered(error),
        })
        .await
    }
}

/// An approved poll can be repeated, so pdpp asks again if an answer is lost.
pub(super) fn unanswered(error: HttpError) -> Result<Polled<TokenResponse>, ApproveError> {
    match error {
        HttpError::Unreachable { .. }
        | HttpError::UnknownHost { .. }
        | HttpError::Proxy { .. }
        | HttpError::TimedOut { .. }
        | HttpError::Broken { .. } => Ok(Polled::Unheard(error)),
        error => Err(error.into()),
    }
}

pub(super) fn polled(answer: &Answer) -> Result<Polled<TokenResponse>, ApproveError> {
    let error = OAuthError::of(answer);
    match (error.code.as_deref(), answer.status) {
        (Some("slow_down"), _) | (_, 429) => Ok(Polled::SlowDown),
        (Some("authorization_pending"), _) | (_, 202) => Ok(Polled::Pending),
        (Some("access_denied"), _) => Err(ApproveError::Denied),
        (Some("expired_token"), _) => Err(ApproveError::Expired { last: None }),
        (Some("invalid_grant"), _) | (_, 401) => Err(ApproveError::InvalidGrant(error)),
        (None, 200..300) => {
            let body = answer.object().map_err(ApproveError::Malformed)?;
            Ok(Polled::Done(TokenResponse::read(&body, jiff::Timestamp::now())?))
        }
        // A temporary failure of the server: the attempt's own end limits the wait.
        (_, 500..) => Ok(Polled::Pending),
        _ => Err(ApproveError::PollRefused(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderMap;

    fn poll(status: u16, body: &str) -> &'static str {
        let answer = Answer { status, headers: HeaderMap::new(), body: body.as_bytes().to_vec() };
        match polled(&answer) {
            Ok(Polled::Pending) => "pending",
            Ok(Polled::SlowDown) => "slow_down",
            Ok(Polled::Unheard(_)) => "unheard",
            Ok(Polled::Done(_)) => "done",
            Err(error) => error.code(),
        }
    }

    #[test]
    fn each_answer_to_a_poll_is_told_apart() {
        assert_eq!(poll(202, r#"{"error":"authorization_pending","interval":2}"#), "pending");
        assert_eq!(poll(202, ""), "pending");
        assert_eq!(poll(400, r#"{"error":"authorization_pending"}"#), "pending");
        assert_eq!(poll(400, r#"{"error":"slow_down"}"#), "slow_down");
        assert_eq!(poll(429, "busy"), "slow_down");
        assert_eq!(poll(403, r#"{"error":{"code":"access_denied"}}"#), "access_denied");
        assert_eq!(poll(400, r#"{"error":"expired_token"}"#), "expired_token");
        assert_eq!(poll(401, r#"{"error":{"code":"invalid_grant"}}"#), "invalid_grant");
        assert_eq!(poll(401, ""), "invalid_grant");
        assert_eq!(poll(403, "<html>firewall</html>"), "approval_failed");
        assert_eq!(poll(404, ""), "approval_failed");
        assert_eq!(poll(503, "<html>"), "pending");
        assert_eq!(poll(200, "<html>"), "authorization_answer_malformed");
        assert_eq!(poll(200, "{}"), "token_response_invalid");
        assert_eq!(poll(200, r#"{"access_token":"t","token_type":"Bearer","grant_id":"g"}"#), "done");
    }

    #[test]
    fn seconds_are_numbers_of_seconds() {
        let of = |json: Value| seconds(json.as_object().unwrap(), "interval");
        assert_eq!(of(json!({"interval": 2})), Some(Duration::from_secs(2)));
        assert_eq!(of(json!({"interval": 1.5})), Some(Duration::from_millis(1500)));
        assert_eq!(of(json!({"interval": "2"})), Some(Duration::from_secs(2)));
        for none in [json!({}), json!({"interval": -1}), json!({"interval": "x"}), json!({"interval": 1e300})]
        {
            assert_eq!(of(none), None);
        }
    }
}
