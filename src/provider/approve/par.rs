//! Pushed authorization requests (RFC 9126): which source, for what, before the owner is asked.

use serde_json::{Value, json};

use super::oauth_error::OAuthError;
use super::{ApproveError, CLIENT_NAME, SourceRequest};
use crate::provider::http::Http;
use url::Url;

/// PDPP's authorization details type (RFC 9396).
const DATA_ACCESS: &str = "https://pdpp.dev/data-access";

/// What the data is for; the owner reads it on the approval page.
const PURPOSE_CODE: &str = "https://pdpp.dev/purpose/personal_ai_assistant";
const PURPOSE: &str =
    "An AI agent on the owner's own computer reads this data through the pdpp command line.";

/// The request for all streams of `source`, now and later.
pub fn authorization_details(source: &SourceRequest) -> Value {
    let mut streams = json!({"name": "*"});
    if !source.instance_ids.is_empty() {
        streams["instance_ids"] = json!(source.instance_ids);
    }
    json!([{
        "type": DATA_ACCESS,
        "source": {"kind": "connector", "id": source.id},
        "purpose_code": PURPOSE_CODE,
        "purpose_description": PURPOSE,
        "access_mode": "continuous",
        "streams": [streams],
    }])
}

/// Pushes the request for `source` and gives its `request_uri`.
///
/// # Errors
/// [`ApproveError`].
pub async fn push(
    http: &Http,
    endpoint: Url,
    client_id: &str,
    source: &SourceRequest,
) -> Result<String, ApproveError> {
    let request = json!({
        "client_id": client_id,
        "client_display": {"name": CLIENT_NAME},
        "authorization_details": authorization_details(source),
    });
    let answer = http.post_json(endpoint, &request).await?;
    if !answer.is_success() {
        let error = OAuthError::of(&answer);
        return Err(ApproveError::refused(error));
    }
    let pushed = answer.object().map_err(ApproveError::Malformed)?;
    pushed
        .get("request_uri")
        .and_then(Value::as_str)
        .filter(|uri| (1..=2048).contains(&uri.len()))
        .map(str::to_owned)
        .ok_or_else(|| ApproveError::Malformed("it has no `request_uri`".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_asked_for_only_when_named() {
        let mut source =
            SourceRequest { id: "https://registry.example/diary".to_owned(), instance_ids: Vec::new() };
        let asked = authorization_details(&source);
        assert_eq!(asked[0]["streams"], json!([{"name": "*"}]));
        assert_eq!(asked[0]["source"], json!({"kind": "connector", "id": "https://registry.example/diary"}));
        assert_eq!(asked[0]["access_mode"], "continuous");
        source.instance_ids = vec!["i1".to_owned(), "i2".to_owned()];
        let asked = authorization_details(&source);
        assert_eq!(asked[0]["streams"], json!([{"name": "*", "instance_ids": ["i1", "i2"]}]));
    }
}
