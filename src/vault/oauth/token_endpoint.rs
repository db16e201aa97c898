//! `POST /oauth/token`: exchanges a code, a refresh token or a device code for tokens (RFC 6749, 7636, 8628).

use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use super::approval::Granted;
use super::clients;
use super::flows::{DevicePoll, Presented};
use super::tokens::{self, Refreshed};
use crate::vault::Vault;
use crate::vault::grant::Grant;
use crate::vault::id::token_hash;
use crate::vault::wire::{ApiError, Reply, Request};

/// The grant type of a device code (RFC 8628 §3.4).
pub const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// A refusal in OAuth's own form (RFC 6749 §5.2), which this endpoint uses instead of `/v1`'s.
struct Refused(StatusCode, &'static str, String);

impl Refused {
    fn bad(code: &'static str, what: impl Into<String>) -> Self {
        Self(StatusCode::BAD_REQUEST, code, what.into())
    }
}

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        let code = if error.status.is_server_error() { "server_error" } else { error.code };
        Self(error.status, code, error.message().to_owned())
    }
}

/// A refusal of an OAuth endpoint, with the additional members of `more`.
pub fn refusal(
    request: &Request,
    status: StatusCode,
    code: &str,
    what: &str,
    more: &Map<String, Value>,
) -> Reply {
    let mut body = more.clone();
    body.insert("error".to_owned(), code.into());
    body.insert("error_description".to_owned(), what.into());
    body.insert("request_id".to_owned(), request.request_id.clone().into());
    Reply::json(status, &body.into()).no_store()
}

/// The parameters of a form, each at most once (RFC 6749 §3.2). Leaves out parameters without a value.
pub fn parameters(pairs: Vec<(String, String)>) -> Result<Map<String, Value>, ApiError> {
    let mut all = Map::new();
    for (name, value) in pairs {
        if value.is_empty() {
            continue;
        }
        if all.insert(name.clone(), Value::String(value)).is_some() {
            return Err(ApiError::invalid(format!("{name} appears more than once")).param(name));
        }
    }
    Ok(all)
}

/// `POST /oauth/token`
pub fn answer(vault: &Vault, request: &Request) -> Reply {
    match exchange(vault, request) {
        Ok(body) => Reply::ok(&body).no_store(),
        Err(Refused(status, code, what)) => refusal(request, status, code, &what, &Map::new()),
    }
}

fn exchange(vault: &Vault, request: &Request) -> Result<Value, Refused> {
    let form = parameters(request.form())?;
    let text = |name: &str| form.get(name).and_then(Value::as_str);
    let required =
        |name: &str| text(name).ok_or_else(|| Refused::bad("invalid_request", format!("{name} is required")));
    let grant_type = required("grant_type")?;
    let client_id = required("client_id")?;
    // A code or a token belongs to its client. A caller with neither cannot make this server fetch an address.
    if !(vault.is_public(request) && clients::is_address(client_id)) {
        clients::find(vault, request, client_id)?;
    }
    if let Some(resource) = text("resource") {
        check_resource(request, resource)?;
    }
    match grant_type {
        "authorization_code" => {
            let code = required("code")?;
            let (redirect_uri, verifier) = (required("redirect_uri")?, required("code_verifier")?);
            let invalid = |what: &str| Refused::bad("invalid_grant", what);
            let code_state = match vault.flows.present(code) {
                Presented::Fresh(state) => state,
                Presented::Unknown => return Err(invalid("The code is unknown or has expired")),
                Presented::Again(family) => {
                    // Someone else has the code too, so its tokens are revoked (RFC 6749 §4.1.2).
                    if let Some(family) = family {
                        tokens::revoke_family(vault, &family)?;
                    }
                    return Err(invalid("The code was already used; its tokens are revoked"));
                }
            };
            let redirect = &code_state.redirect;
            if code_state.granted.client_id != client_id {
                return Err(invalid("The code belongs to another client"));
            }
            if vault.is_public_base(&redirect.issuer) != vault.is_public(request) {
                return Err(invalid("The code was issued under another name of this provider"));
            }
            if redirect.uri != redirect_uri {
                return Err(invalid("redirect_uri differs from the one that the code was sent to"));
            }
            if !verifies(verifier, &redirect.challenge) {
                return Err(invalid("code_verifier does not match the code"));
            }
            let resource = match (redirect.resource.as_deref(), text("resource")) {
                (Some(resource), Some(asked)) if asked != resource => {
                    return Err(Refused::bad("invalid_target", "The code is for a different resource"));
                }
                // This server has one resource, so a request that names none means that one.
                (resource, asked) => {
                    resource.or(asked).map_or_else(|| format!("{}/mcp", request.base), str::to_owned)
                }
            };
            let issued = tokens::begin_family(vault, &code_state.granted, Some(&resource))?;
            vault.flows.code_got(code, &issued.family_id);
            Ok(token_response(&issued, &code_state.granted))
        }
        "refresh_token" => {
            match tokens::refresh(vault, request, required("refresh_token")?, client_id, text("resource"))? {
                Refreshed::Issued(issued, granted) => Ok(token_response(&issued, &granted)),
                Refreshed::Unknown => {
                    Err(Refused::bad("invalid_grant", "The refresh token is no longer valid"))
                }
                Refreshed::Reused => Err(Refused::bad(
                    "invalid_grant",
                    "The refresh token was already used; all tokens of its family are revoked",
                )),
                Refreshed::OtherResource => {
                    Err(Refused::bad("invalid_target", "The refresh token is for a different resource"))
                }
            }
        }
        DEVICE_GRANT if !vault.is_public(request) => {
            let issue = |grant: &Grant| tokens::issue_kept(vault, grant);
            match vault.flows.poll_device(required("device_code")?, client_id, issue)? {
                DevicePoll::Waiting => {
                    Err(Refused::bad("authorization_pending", "Authorization is still pending"))
                }
                DevicePoll::SlowDown => Err(Refused::bad("slow_down", "Polling too quickly")),
                DevicePoll::Denied => Err(Refused::bad("access_denied", "The owner denied the request")),
                DevicePoll::Expired => Err(Refused::bad("expired_token", "The request expired; start again")),
                DevicePoll::Unknown => Err(Refused::bad("invalid_grant", "Unknown device_code")),
                DevicePoll::Approved(grant, token) => Ok(json!({
                    "access_token": token,
                    "token_type": "Bearer",
                    "grant_id": grant.grant_id,
                    "grant": grant,
                })),
            }
        }
        other => {
            Err(Refused::bad("unsupported_grant_type", format!("The grant type {other} is not supported")))
        }
    }
}

/// Checks that `resource` (RFC 8707) is this provider or its `/mcp`.
///
/// # Errors
/// Returns `invalid_target` if it is not.
pub fn check_resource(request: &Request, resource: &str) -> Result<(), ApiError> {
    let of_base = resource.strip_prefix(request.base.as_str());
    if matches!(of_base, Some("" | "/" | "/mcp")) {
        return Ok(());
    }
    Err(ApiError::new(StatusCode::BAD_REQUEST, "invalid_target", "resource is not this provider"))
}

/// Checks the verifier (RFC 7636 §4.6, with S256).
fn verifies(verifier: &str, challenge: &str) -> bool {
    let fits = (43..=128).contains(&verifier.len());
    let digest = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
    // Both sides are hashed once more, so that the time taken reveals nothing.
    fits && token_hash(&URL_SAFE_NO_PAD.encode(digest)) == token_hash(challenge)
}

fn token_response(issued: &tokens::Issued, granted: &Granted) -> Value {
    let mut body = json!({
        "access_token": issued.access_token,
        "token_type": "Bearer",
        "expires_in": issued.expires_in,
        "scope": "pdpp:read",
    });
    if let Some(refresh_token) = &issued.refresh_token {
        body["refresh_token"] = refresh_token.as_str().into();
    }
    match (&granted.package_id, granted.grants.as_slice()) {
        (None, [grant]) => {
            body["grant_id"] = grant.grant_id.as_str().into();
            body["grant"] = json!(grant);
        }
        (package_id, grants) => {
            body["pdpp_token_kind"] = "mcp_package".into();
            body["grant_package_id"] = json!(package_id);
            body["grants"] = json!(grants);
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rfcs_own_example_verifies() {
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        assert!(verifies(verifier, challenge));
        assert!(!verifies(verifier, verifier) && !verifies("short", challenge));
    }

    #[test]
    fn a_parameter_is_there_once() {
        let pairs = |list: &[(&str, &str)]| {
            parameters(list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        };
        assert!(pairs(&[("a", "1"), ("a", "2")]).is_err());
        assert_eq!(pairs(&[("a", ""), ("a", "2")]).unwrap().len(), 1);
    }
}
