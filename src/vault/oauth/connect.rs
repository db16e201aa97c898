//! The requests of programs: a pushed request, and agent-connect with its polling.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::authorization_details::Purpose;
use super::flows::{Asked, EXPIRES_IN, INTERVAL, Poll, URI_PREFIX, Way};
use super::{authorization_details, client, clients, consent};
use crate::vault::Vault;
use crate::vault::wire::{ApiError, Reply, Request};

/// `POST /oauth/par`
///
/// # Errors
/// Returns every refusal.
pub fn pushed_request(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    let body = read_body(request)?;
    let client_id = body
        .get("client_id")
        .and_then(Value::as_str)
        .ok_or_else(|| ApiError::invalid("client_id is required").param("client_id"))?;
    let client = clients::find(vault, request, client_id)?;
    let asked = authorization_details::read(&request.base, &body)?;
    let asked = Asked::Details(Box::new(asked));
    let id = consent::ask_owner(vault, request, client, asked, Way::AgentConnect)?;
    Ok(Reply::json(
        StatusCode::CREATED,
        &json!({
            "request_uri": format!("{URI_PREFIX}{id}"),
            "authorization_url": consent::page_url(&request.base, &id),
            "expires_in": EXPIRES_IN,
        }),
    )
    .no_store())
}

/// `POST /agent-connect`
///
/// # Errors
/// Returns every refusal.
pub fn begin(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    let body = read_body(request)?;
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    if let Some(resource) = text("resource")
        && resource.trim_end_matches('/') != request.base
    {
        return Err(ApiError::invalid("resource is not this provider").param("resource"));
    }
    if text("scope").is_some_and(|scope| scope != "pdpp:read") {
        return Err(ApiError::invalid("scope must be pdpp:read").param("scope"));
    }
    let (pending, client_id) = match text("request_uri") {
        Some(uri) => {
            let client_id = text("client_id")
                .ok_or_else(|| ApiError::invalid("client_id is required").param("client_id"))?;
            (uri.strip_prefix(URI_PREFIX).unwrap_or_default().to_owned(), client_id.to_owned())
        }
        // Otherwise everything would be granted, whatever the details narrow it to.
        None if body.contains_key("authorization_details") => {
            let belongs =
                "Send authorization_details in a pushed request (POST /oauth/par), and its request_uri here";
            return Err(ApiError::invalid(belongs).param("authorization_details"));
        }
        None => whole_provider(vault, request, &body)?,
    };
    // One attempt per request, so a request_uri that someone saw elsewhere is worth nothing.
    let Some((id, polling_code)) = vault.flows.attempt(&pending, &client_id)? else {
        return Err(ApiError::invalid("Unknown request_uri").param("request_uri"));
    };
    if vault.config.auto_approve {
        consent::approve_unasked(vault, &request.base, &pending)?;
    }
    let code = vault.flows.get(&pending).map(|pending| pending.code);
    let token_url = format!("{}/agent-connect/{id}/token", request.base);
    Ok(Reply::json(
        StatusCode::CREATED,
        &json!({
            "object": "agent_connect_attempt",
            "id": id,
            "status": "pending",
            "approval_url": consent::page_url(&request.base, &pending),
            "poll_url": token_url,
            "token_url": token_url,
            "polling_code": polling_code,
            // The owner's page also shows it.
            "user_code": code,
            "interval": INTERVAL,
            "expires_in": EXPIRES_IN,
        }),
    )
    .no_store())
}

/// A request without a source: the owner sees all sources and selects. Returns its id and its client's id.
fn whole_provider(
    vault: &Vault,
    request: &Request,
    body: &Map<String, Value>,
) -> Result<(String, String), ApiError> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let client_id = if let Some(client_id) = text("client_id") {
        client_id.to_owned()
    } else {
        let name = text("client_name")
            .filter(|name| client::is_name(name))
            .ok_or_else(|| ApiError::invalid("client_id or client_name is required").param("client_id"))?;
        let mut metadata = Map::new();
        metadata.insert("client_name".to_owned(), name.into());
        clients::add(vault, &metadata)?
    };
    let client = clients::find(vault, request, &client_id)?;
    let purpose = Purpose::read(text("purpose_code"), text("purpose_description"))?;
    let id = consent::ask_owner(vault, request, client, Asked::Everything(purpose), Way::AgentConnect)?;
    Ok((id, client_id))
}

/// `POST /agent-connect/{attempt}/token`
///
/// # Errors
/// Returns `access_denied`, `expired_token` or `invalid_grant`.
pub fn poll(vault: &Vault, request: &Request, attempt: &str) -> Result<Reply, ApiError> {
    let body = read_body(request)?;
    let code = body.get("polling_code").and_then(Value::as_str).unwrap_or_default();
    match vault.flows.poll(attempt, code) {
        Poll::Waiting => Ok(Reply::json(
            StatusCode::ACCEPTED,
            &json!({
                "status": "pending",
                "error": "authorization_pending",
                "error_description": "The owner's approval is still pending",
                "interval": INTERVAL,
            }),
        )
        .no_store()),
        Poll::Approved(grant, token) => Ok(Reply::ok(&json!({
            "access_token": token,
            "token_type": "Bearer",
            "grant_id": grant.grant_id,
            "grant": grant,
        }))
        .no_store()),
        Poll::Denied => {
            Err(ApiError::new(StatusCode::FORBIDDEN, "access_denied", "The owner denied the request"))
        }
        Poll::Expired => {
            Err(ApiError::new(StatusCode::BAD_REQUEST, "expired_token", "The request expired; start again"))
        }
        Poll::Unknown => Err(ApiError::new(
            StatusCode::UNAUTHORIZED,
            "invalid_grant",
            "Unknown agent-connect polling handle",
        )),
    }
}

/// Reads `authorization_details` from a form or a query into the shape of a JSON body.
///
/// # Errors
/// Returns `invalid_request` if they are not JSON.
pub fn with_details(details: &str) -> Result<Map<String, Value>, ApiError> {
    let name = "authorization_details";
    let details: Value = serde_json::from_str(details)
        .map_err(|_| ApiError::invalid(format!("{name} must be JSON")).param(name))?;
    Ok(Map::from_iter([(name.to_owned(), details)]))
}

/// Reads a body in JSON, or in RFC 9126's form encoding with JSON in `authorization_details`.
fn read_body(request: &Request) -> Result<Map<String, Value>, ApiError> {
    let is_form = request
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    if !is_form {
        return request.json();
    }
    let mut body = Map::new();
    for (name, value) in request.form() {
        let value = match name.as_str() {
            "authorization_details" | "client_display" => serde_json::from_str(&value)
                .map_err(|_| ApiError::invalid(format!("{name} must be JSON")).param(name.clone()))?,
            _ => Value::String(value),
        };
        body.insert(name, value);
    }
    Ok(body)
}
