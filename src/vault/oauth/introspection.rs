//! Token introspection (RFC 7662).

use axum::http::StatusCode;
use base64::Engine as _;
use serde_json::json;

use super::authorization_details::DETAILS_TYPE;
use super::tokens::{Known, look_up};
use crate::vault::id::token_hash;
use crate::vault::wire::{ApiError, Reply, Request};
use crate::vault::{Vault, time};

/// `POST /introspect` (RFC 7662), for the provider's own resource server.
///
/// # Errors
/// Returns 401 without its credentials.
pub fn introspect(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    if !is_resource_server(vault, request) {
        let refused = ApiError::new(
            StatusCode::UNAUTHORIZED,
            "context.authentication_failed",
            "Introspection client authentication failed",
        );
        return Ok(refused.reply(request).with("www-authenticate", "Basic realm=\"introspection\""));
    }
    let form = request.form();
    let token = form.iter().find(|(name, _)| name == "token").map(|(_, token)| token.as_str());
    let token = token.ok_or_else(|| ApiError::invalid("token is required").param("token"))?;
    let answer = match look_up(vault, token)? {
        Some(Known::Owner) => json!({
            "active": true,
            "pdpp_token_kind": "owner",
            "subject_id": vault.config.profile.subject_id,
            "iss": request.base,
        }),
        Some(Known::Package { package_id, client_id, grants, expires_ms, resource })
            if !grants.is_empty() =>
        {
            let mut answer = json!({
                "active": true,
                "pdpp_token_kind": "mcp_package",
                "subject_id": vault.config.profile.subject_id,
                "client_id": client_id,
                "grant_package_id": package_id,
                "aud": resource.unwrap_or_else(|| format!("{}/mcp", request.base)),
                "iss": request.base,
            });
            if let Some(expires) = expires_ms {
                answer["exp"] = (expires / 1000).into();
            }
            answer
        }
        Some(Known::Client { kept, expires_ms, resource })
            if !kept.is_revoked && !kept.grant.is_expired(time::now_ms()) =>
        {
            let grant = kept.grant;
            let mut details = json!({
                "type": DETAILS_TYPE,
                "source": grant.source,
                "purpose_code": grant.purpose_code,
                "access_mode": grant.access_mode,
                "streams": grant.streams,
            });
            if let Some(description) = &grant.purpose_description {
                details["purpose_description"] = description.clone().into();
            }
            let mut answer = json!({
                "active": true,
                "pdpp_token_kind": "client",
                "subject_id": grant.subject.id,
                "client_id": grant.client.client_id,
                "grant_id": grant.grant_id,
                "iss": request.base,
                "authorization_details": [details],
            });
            if let Some(resource) = resource {
                answer["aud"] = resource.into();
            }
            let of_grant = grant.expires_at.as_deref().and_then(time::parse_ms);
            if let Some(expires) = expires_ms.into_iter().chain(of_grant).min() {
                answer["exp"] = (expires / 1000).into();
            }
            answer
        }
        _ => json!({ "active": false }),
    };
    Ok(Reply::ok(&answer).no_store())
}

fn is_resource_server(vault: &Vault, request: &Request) -> bool {
    let credentials = || {
        let (scheme, encoded) = request.header("authorization")?.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let decoded = base64::engine::general_purpose::STANDARD.decode(encoded.trim()).ok()?;
        let decoded = String::from_utf8(decoded).ok()?;
        let (id, secret) = decoded.split_once(':')?;
        // RFC 6749 §2.3.1: both are form-encoded inside the header.
        let plain = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        Some((plain(id), plain(secret)))
    };
    credentials().is_some_and(|(id, secret)| {
        id == vault.introspection.client_id
            && token_hash(&secret) == token_hash(&vault.introspection.client_secret)
    })
}
