//! The authorization server: metadata, registration, requests, the owner's decision, tokens.

pub mod authorization_details;
pub mod authorize;
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

use super::App;
use super::wire::{ApiError, Reply, Request};

/// Answers what belongs to the authorization server; `None` for anything else.
///
/// # Errors
/// Every refusal.
pub fn answer(app: &App, request: &Request, path: &[&str]) -> Result<Option<Reply>, ApiError> {
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
            Reply::ok(&metadata::protected_resource(app, request))
        }
        [".well-known", "oauth-protected-resource", "mcp"] => {
            get()?;
            Reply::ok(&metadata::mcp_resource(request)?)
        }
        [".well-known", "oauth-authorization-server"] => {
            get()?;
            Reply::ok(&metadata::authorization_server(request))
        }
        ["oauth", "register"] => {
            post()?;
            clients::register(app, request)?
        }
        ["oauth", "par"] => {
            post()?;
            connect::pushed_request(app, request)?
        }
        ["oauth", "authorize"] => {
            get()?;
            authorize::answer(app, request)?
        }
        ["oauth", "token"] => {
            post()?;
            token_endpoint::answer(app, request)
        }
        ["oauth", "device_authorization"] => {
            post()?;
            device::authorize(app, request)
        }
        ["agent-connect"] => {
            post()?;
            connect::begin(app, request)?
        }
        ["agent-connect", attempt, "token"] => {
            post()?;
            connect::poll(app, request, attempt)?
        }
        ["consent"] => {
            get()?;
            consent::show(app, request)?
        }
        ["consent.css"] => {
            get()?;
            consent::stylesheet()
        }
        ["consent", "device"] if request.method == Method::POST => device::enter(app, request)?,
        ["consent", "device"] => {
            get()?;
            device::page(app, request)?
        }
        ["consent", "sources"] => {
            post()?;
            consent::pick(app, request)?
        }
        ["consent", "approve"] => {
            post()?;
            consent::approve(app, request)?
        }
        ["consent", "deny"] => {
            post()?;
            consent::deny(app, request)?
        }
        ["introspect"] => {
            post()?;
            introspection::introspect(app, request)?
        }
        ["grants", grant_id, "revoke"] => {
            post()?;
            tokens::revoke(app, request, grant_id)?
        }
        _ => return Ok(None),
    }))
}
