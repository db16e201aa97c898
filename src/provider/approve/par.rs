//! Pushed authorization requests (RFC 9126): they state the source and the purpose before the owner is asked.

use serde_json::{Value, json};
use url::Url;

use super::ApproveError;
use super::wanted::Wanted;
use crate::provider::http::Http;
use crate::provider::register::CLIENT_NAME;

/// Pushes the request for `wanted` of `resource`, and returns its `request_uri`.
///
/// # Errors
/// [`ApproveError`].
pub async fn push(
    http: &Http,
    endpoint: Url,
    client_id: &str,
    resource: &str,
    wanted: &Wanted,
) -> Result<String, ApproveError> {
    let request = json!({
        "client_id": client_id,
        "client_display": {"name": CLIENT_NAME},
        "authorization_details": wanted.details(resource),
    });
    let answer = http.post_json(endpoint, &request).await?;
    if !answer.is_success() {
        return Err(ApproveError::of_details(&answer, wanted));
    }
    let pushed = answer.object().map_err(ApproveError::Malformed)?;
    pushed
        .get("request_uri")
        .and_then(Value::as_str)
        .filter(|uri| (1..=2048).contains(&uri.len()))
        .map(str::to_owned)
        .ok_or_else(|| ApproveError::Malformed("it has no `request_uri`".to_owned()))
}
