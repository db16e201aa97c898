//! The authorization server: metadata, registration, requests, the owner's decision, tokens.

pub mod approval;
pub mod authorization_details;
pub mod authorize;
pub mod child_bearers;
pub mod client;
pub mod client_document;
pub mod clients;
pub mod connect;
pub mod consent;
pub mod device;
pub mod flows;
pub mod introspection;
pub mod metadata;
pub mod selection;
pub mod token_endpoint;
pub mod tokens;

use axum::http::{Method, StatusCode};

use super::Vault;
use super::wire::{ApiError, Reply, Request};

/// Answers what belongs to the authorization server; `None` for anything else.
///
/// # Errors
/// Every refusal.
pub fn answer(vault: &Vault, request: &Request, path: &[&str]) -> Result<Option<Reply>, ApiError> {
    let only = |method: Method| {
        if request.method == method || (method == Method::GET && request.method == Method::HEAD) {
            return Ok(());
        }
        Err(ApiError::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            format!("Only {method} is answered here"),
        ))
    };
    let get = || only(Method::GET);
    let post = || only(Method::POST);
    Ok(Some(match path {
        [".well-known", "oauth-protected-resource"] => {
            get()?;
            Reply::ok(&metadata::protected_resource(vault, request))
        }
        [".well-known", "oauth-protected-resource", "mcp"] => {
            get()?;
            Reply::ok(&metadata::mcp_resource(vault, request)?)
        }
        [".well-known", "oauth-authorization-server"] => {
            get()?;
            Reply::ok(&metadata::authorization_server(request))
        }
        ["oauth", "register"] => {
            post()?;
            clients::register(vault, request)?
        }
        ["oauth", "par"] => {
            post()?;
            connect::pushed_request(vault, request)?
        }
        ["oauth", "authorize"] => {
            get()?;
            authorize::answer(vault, request)?
        }
        ["oauth", "token"] => {
            post()?;
            token_endpoint::answer(vault, request)
        }
        ["oauth", "device_authorization"] => {
            post()?;
            device::authorize(vault, request)
        }
        ["agent-connect"] => {
            post()?;
            connect::begin(vault, request)?
        }
        ["agent-connect", attempt, "token"] => {
            post()?;
            connect::poll(vault, request, attempt)?
        }
        ["consent"] => {
            get()?;
            consent::show(vault, request)?
        }
        ["consent.css"] => {
            get()?;
            consent::stylesheet()
        }
        ["consent", "device"] if request.method == Method::POST => device::enter(vault, request)?,
        ["consent", "device"] => {
            get()?;
            device::page(vault, request)?
        }
        ["consent", "sources"] => {
            post()?;
            consent::pick(vault, request)?
        }
        ["consent", "approve"] => {
            post()?;
            consent::approve(vault, request)?
        }
        ["consent", "deny"] => {
            post()?;
            consent::deny(vault, request)?
        }
        ["introspect"] => {
            post()?;
            introspection::introspect(vault, request)?
        }
        ["grants", grant_id, "revoke"] => {
            post()?;
            tokens::revoke(vault, request, grant_id)?
        }
        _ => return Ok(None),
    }))
}
