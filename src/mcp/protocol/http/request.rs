//! What is read from a request before its message: its bearer, the media types that it sends and accepts, its body,
//! and the headers that repeat what the body says.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use futures_util::StreamExt as _;
use rmcp::ErrorData;
use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};

use super::endpoint::Limits;
use super::refusal::Refusal;
use super::response::{EVENTS, JSON};
use crate::mcp::protocol::jsonrpc;
use crate::secret::AccessToken;

pub(super) const PROTOCOL_VERSION: &str = "mcp-protocol-version";
pub(super) const METHOD: &str = "mcp-method";
pub(super) const NAME: &str = "mcp-name";

/// The one bearer of a request (RFC 6750 §2.1: only in the header).
pub(super) fn bearer(headers: &HeaderMap) -> Result<AccessToken, Refusal> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let missing = || Refusal::new(StatusCode::UNAUTHORIZED, "authentication_error", "Missing Bearer token");
    let first = given.next().ok_or_else(missing)?;
    let (scheme, token) = first.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(missing)?;
    if !scheme.eq_ignore_ascii_case("bearer") || given.next().is_some() {
        return Err(missing());
    }
    AccessToken::new(token.trim().to_owned())
        .map_err(|_| Refusal::invalid_token("invalid_token", "The bearer is not a token"))
}

/// The form in which an answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    /// One event: for a client that accepts nothing else.
    Events,
}

impl Form {
    /// The form that a request accepts; checks that its body can be read.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Refusal> {
        let essence = |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let content = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(essence);
        if content.as_deref() != Some(JSON) {
            return Err(Refusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "Send JSON, with Content-Type: application/json",
            ));
        }
        let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let accepted = accepted.flat_map(|list| list.split(',')).filter(|range| !is_excluded(range));
        let accepted = accepted.map(essence).collect::<Vec<_>>();
        let takes = |kinds: &[&str]| accepted.iter().any(|range| kinds.contains(&range.as_str()));
        if !headers.contains_key(header::ACCEPT) || takes(&[JSON, "application/*", "*/*"]) {
            Ok(Self::Json)
        } else if takes(&[EVENTS, "text/*"]) {
            Ok(Self::Events)
        } else {
            Err(Refusal::new(
                StatusCode::NOT_ACCEPTABLE,
                "not_acceptable",
                "Answers are application/json or text/event-stream, and Accept names neither",
            ))
        }
    }
}

/// `;q=0` (RFC 9110 §12.4.2).
fn is_excluded(range: &str) -> bool {
    range.split(';').skip(1).any(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        name.trim().eq_ignore_ascii_case("q") && value.trim().parse::<f32>().is_ok_and(|q| q <= 0.0)
    })
}

pub(super) async fn read(body: Body, limits: Limits) -> Result<Vec<u8>, Refusal> {
    let too_large = || {
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "payload_too_large",
            format!("A message has at most {} bytes", limits.body),
        )
    };
    let reading = async {
        let (mut chunks, mut read) = (body.into_data_stream(), Vec::new());
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| {
                Refusal::new(StatusCode::BAD_REQUEST, "body_incomplete", "The body could not be read")
            })?;
            if read.len() + chunk.len() > limits.body {
                return Err(too_large());
            }
            read.extend_from_slice(&chunk);
        }
        Ok(read)
    };
    tokio::time::timeout(limits.body_time, reading).await.unwrap_or_else(|_| {
        Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", "The body took too long to arrive"))
    })
}

/// Checks that the headers by which a router may read a message without its body agree with the body, and that the
/// version exists (Streamable HTTP; from 2026-07-28 `Mcp-Method` and `Mcp-Name` too).
pub(super) fn check_headers(
    headers: &HeaderMap,
    method: &str,
    params: Option<&Value>,
) -> Result<(), ErrorData> {
    let mismatch = |what: String| ErrorData::header_mismatch(what, None);
    let header = |name: &'static str| {
        let mut values = headers.get_all(name).iter();
        let Some(value) = values.next() else { return Ok(None) };
        let text = value.to_str().ok().filter(|_| values.next().is_none());
        text.map(Some).ok_or_else(|| mismatch(format!("{name} must appear exactly once, as plain text")))
    };
    let version = header(PROTOCOL_VERSION)?;
    let asked = params.and_then(|params| params.get("_meta")?.get(jsonrpc::META_PROTOCOL_VERSION)?.as_str());
    if method == "initialize" {
        let asked = params.and_then(|params| params.get("protocolVersion")?.as_str());
        return match (version, asked) {
            (Some(version), Some(asked)) if version != asked => Err(ErrorData::invalid_request(
                "Invalid Request: MCP-Protocol-Version differs from params.protocolVersion",
                None,
            )),
            _ => Ok(()),
        };
    }
    match (version, asked) {
        (Some(version), Some(asked)) if version != asked => {
            return Err(mismatch("MCP-Protocol-Version differs from the version in _meta".to_owned()));
        }
        (None, Some(_)) => {
            return Err(mismatch("a version in _meta needs the header MCP-Protocol-Version".to_owned()));
        }
        (Some(version), None)
            if !ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == version) =>
        {
            return Err(ErrorData::invalid_request(
                "Unsupported MCP-Protocol-Version",
                Some(json!({
                    "supported": ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect::<Vec<_>>(),
                })),
            ));
        }
        _ => {}
    }
    if !headers.get(PROTOCOL_VERSION).is_some_and(is_modern) {
        return Ok(());
    }
    if asked.is_none() && !method.starts_with("notifications/") {
        return Err(jsonrpc::invalid_params(
            method,
            "_meta must name protocolVersion and the client (2026-07-28)",
        ));
    }
    if header(METHOD)? != Some(method) {
        return Err(mismatch("Mcp-Method must be present and match the body's method".to_owned()));
    }
    let name = match method {
        "tools/call" | "prompts/get" => params.and_then(|params| params.get("name")?.as_str()),
        "resources/read" => params.and_then(|params| params.get("uri")?.as_str()),
        _ => None,
    };
    if let Some(name) = name
        && header(NAME)?.and_then(decoded).as_deref() != Some(name)
    {
        return Err(mismatch("Mcp-Name must be present and match the body's name or uri".to_owned()));
    }
    Ok(())
}

/// Whether a version belongs to the era without `initialize`. Versions are dates, so a later one is greater.
pub(super) fn is_modern(version: &HeaderValue) -> bool {
    version.to_str().is_ok_and(|version| version >= ProtocolVersion::STANDARD_HEADERS.as_str())
}

/// A header's text: plain, or `=?base64?…?=` if it cannot be sent as plain text.
fn decoded(value: &str) -> Option<String> {
    use base64::Engine as _;
    let Some(inner) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(inner).ok()?).ok()
}
