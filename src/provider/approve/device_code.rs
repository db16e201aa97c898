//! Device authorization (RFC 8628): the owner decides in any browser, on any machine.

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use url::Url;

use super::ApproveError;
use super::agent_connect::{MAX_USER_CODE, polled, seconds, unanswered};
use super::flow::FlowError;
use super::token::TokenResponse;
use super::wait::{Pace, wait};
use super::wanted::Wanted;
use crate::provider::discovery::{Discovery, on_issuers_origin};
use crate::provider::http::Http;
use crate::provider::register::Client;
use crate::text;

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// A device code that waits for its owner.
#[derive(Debug)]
pub struct Attempt {
    /// The address that the owner opens, with the code in it if the provider supports that. On the issuer's
    /// origin.
    pub url: Url,
    /// Where to type the code, if the address above already contains it.
    pub typed_at: Url,
    /// The code that the owner types or compares; the provider's text.
    pub user_code: String,
    /// How often to poll, and for how long.
    pub pace: Pace,
    device_code: SecretString,
    client_id: String,
    token_endpoint: Url,
}

/// Begins an attempt for `wanted`.
///
/// # Errors
/// [`ApproveError`]; [`ApproveError::SourceRequired`] if the provider has several sources and none is named.
pub async fn begin(
    http: &Http,
    discovery: &Discovery,
    client: &Client,
    wanted: &Wanted,
) -> Result<Attempt, ApproveError> {
    let server = &discovery.authorization_server;
    let (Some(endpoint), Some(token_endpoint)) =
        (server.device_authorization_endpoint.clone(), server.token_endpoint.clone())
    else {
        return Err(FlowError::NoneOffered.into());
    };
    let client_id = client.id().ok_or(ApproveError::ClientRequired)?;
    let details = wanted.details(&discovery.resource).to_string();
    let resource = discovery.mcp_resource();
    let fields = [
        ("client_id", client_id),
        ("resource", resource.as_str()),
        ("authorization_details", details.as_str()),
    ];
    let answer = http.post_form(endpoint, &fields).await?;
    if !answer.is_success() {
        return Err(ApproveError::of_details(&answer, wanted));
    }
    let begun = answer.object().map_err(ApproveError::Malformed)?;
    let text_of = |name: &str| begun.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let required =
        |name: &str| text_of(name).ok_or_else(|| ApproveError::Malformed(format!("it has no `{name}`")));
    let user_code = required("user_code")?;
    if user_code.len() > MAX_USER_CODE {
        return Err(ApproveError::Malformed("its `user_code` is too long to compare".to_owned()));
    }
    let typed_at = on_issuers_origin(&server.issuer, "verification_uri", required("verification_uri")?)?;
    let url = match text_of("verification_uri_complete") {
        Some(url) => on_issuers_origin(&server.issuer, "verification_uri_complete", url)?,
        None => typed_at.clone(),
    };
    Ok(Attempt {
        url,
        typed_at,
        user_code: text::one_line(user_code).into_owned(),
        pace: Pace::new(seconds(&begun, "interval"), seconds(&begun, "expires_in")),
        device_code: SecretString::from(required("device_code")?),
        client_id: client_id.to_owned(),
        token_endpoint,
    })
}

impl Attempt {
    /// Polls until the owner has decided or the attempt has expired. Dropping the future stops it.
    ///
    /// # Errors
    /// [`ApproveError`].
    pub async fn wait(&self, http: &Http) -> Result<TokenResponse, ApproveError> {
        let fields = [
            ("grant_type", GRANT_TYPE),
            ("device_code", self.device_code.expose_secret()),
            ("client_id", self.client_id.as_str()),
        ];
        wait(self.pace, async || match http.post_form(self.token_endpoint.clone(), &fields).await {
            Ok(answer) => polled(&answer),
            Err(error) => unanswered(error),
        })
        .await
    }
}
