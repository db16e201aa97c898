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
pub mod here;
pub mod introspection;
pub mod metadata;
pub mod owner;
pub mod owners_view;
pub mod pairing;
pub mod pairing_code;
pub mod passphrase;
pub mod selection;
pub mod sent;
pub mod token_endpoint;
pub mod tokens;
pub mod wish;

use axum::http::{Method, StatusCode};

use super::Vault;
use super::wire::{ApiError, Reply, Request};

/// Answers the paths of the authorization server; `None` for any other path.
///
/// # Errors
/// Returns every refusal.
pub fn answer(vault: &Vault, request: &Request, path: &[&str]) -> Result<Option<Reply>, ApiError> {
    let only = |method: Method| {
        if request.method == method || (method == Method::GET && request.method == Method::HEAD) {
            return Ok(());
        }
        Err(ApiError::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            format!("This path accepts only {method}"),
        ))
    };
    let get = || only(Method::GET);
    let post = || only(Method::POST).and_then(|()| from_here(request));
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
            Reply::ok(&metadata::authorization_server(vault, request))
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
        ["oauth", "pair"] if vault.is_public(request) => {
            // A request from another site gets a page as its answer.
            only(Method::POST)?;
            pairing::pair(vault, request)?.closing()
        }
        ["oauth", "token"] => {
            post()?;
            token_endpoint::answer(vault, request).closing()
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
        ["consent"] | ["consent", "device"] => {
            get()?;
            consent::stranger_page(vault)
        }
        ["consent.css"] => {
            get()?;
            consent::stylesheet()
        }
        // Not for HEAD, because this uses up the link.
        ["consent", "owner", secret] if request.method == Method::GET => {
            consent::open_link(vault, request, secret)?.closing()
        }
        ["consent", page] => {
            get()?;
            consent::show(vault, request, page)?
        }
        ["consent", page, "summary"] => {
            get()?;
            consent::show_summary(vault, request, page)?
        }
        ["consent", page, action] => {
            // A request from another site gets a page as its answer.
            only(Method::POST)?;
            match *action {
                "sets" => consent::tick_set(vault, request, page)?,
                "review" => consent::review(vault, request, page)?,
                "approve" => consent::approve(vault, request, page)?.closing(),
                "deny" => consent::deny(vault, request, page)?,
                "end" => consent::end(vault, request, page)?,
                _ => return Ok(None),
            }
        }
        ["introspect"] => {
            post()?;
            introspection::introspect(vault, request)?
        }
        ["grants", grant_id, "revoke"] => {
            // The grant's token proves the right to do this; the body does not matter.
            only(Method::POST)?;
            tokens::revoke(vault, request, grant_id)?
        }
        _ => return Ok(None),
    }))
}

/// Refuses what a page of another site can send without its browser asking first: a form of another type, and any
/// request marked as coming from elsewhere.
fn from_here(request: &Request) -> Result<(), ApiError> {
    let kind = request.header("content-type").map(|kind| kind.split(';').next().unwrap_or_default().trim());
    let is_read = |kind: &str| {
        ["application/json", "application/x-www-form-urlencoded"]
            .iter()
            .any(|known| kind.eq_ignore_ascii_case(known))
    };
    if !kind.is_some_and(is_read) {
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "The body must be application/json or application/x-www-form-urlencoded",
        ));
    }
    if request.is_foreign() {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "origin_not_allowed",
            "Requests from pages of other sites are refused",
        ));
    }
    Ok(())
}
