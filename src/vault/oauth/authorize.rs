//! `GET /oauth/authorize`: the owner's browser, sent by a program (RFC 6749 §4.1, RFC 7636, RFC 9207).

use axum::http::StatusCode;
use serde_json::Value;

use super::client::Client;
use super::flows::{Decision, Outcome, Pending, Redirect, Way};
use super::{authorization_details, clients, connect, consent, token_endpoint};
use crate::vault::Vault;
use crate::vault::wire::{ApiError, Reply, Request};

/// `GET /oauth/authorize`
///
/// # Errors
/// Where the database fails; all else is a page, or told to the client by way of its address.
pub fn answer(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    // Until it is known to be the client's, nothing is sent to an address (RFC 6749 §4.1.2.1).
    let page = |what: &str| Ok(consent::refused_page(&vault.config.profile, what));
    let params = match token_endpoint::parameters(request.params()) {
        Ok(params) => params,
        Err(error) => return page(error.message()),
    };
    let text = |name: &str| params.get(name).and_then(Value::as_str);
    let Some(client_id) = text("client_id") else { return page("client_id is required") };
    let client = match clients::find(vault, client_id) {
        Ok(client) => client,
        Err(error) if error.status.is_server_error() => return Err(error),
        Err(error) => return page(error.message()),
    };
    let Some(uri) = text("redirect_uri") else { return page("redirect_uri is required") };
    if !client.may_redirect_to(uri) {
        return page("redirect_uri is not one that this client registered");
    }
    let redirect = Redirect {
        uri: uri.to_owned(),
        state: text("state").map(str::to_owned),
        challenge: text("code_challenge").unwrap_or_default().to_owned(),
        resource: text("resource").map(str::to_owned),
    };
    let made = check(request, &params).and_then(|()| {
        let id = pending(vault, request, &client, &params, &redirect)?;
        if vault.config.auto_approve {
            consent::approve_unasked(vault, &request.base, &id)?;
        }
        Ok(id)
    });
    let id = match made {
        Ok(id) => id,
        Err(error) => {
            let code = match (error.status.is_server_error(), error.code) {
                (true, _) => "server_error",
                // A client learns of its own address, and only that, by way of it.
                (_, "rate_limit_exceeded") => "temporarily_unavailable",
                (_, code) => code,
            };
            let back =
                redirect.back(&request.base, &[("error", code), ("error_description", error.message())]);
            return Ok(Reply::see_other(&back));
        }
    };
    if vault.config.auto_approve
        && let Some(Decision::Approved(Outcome::Redirect(back))) =
            vault.flows.get(&id).map(|pending| pending.decision)
    {
        return Ok(Reply::see_other(&back));
    }
    Ok(Reply::see_other(&consent::page_url(&request.base, &id)))
}

fn check(request: &Request, params: &serde_json::Map<String, Value>) -> Result<(), ApiError> {
    let text = |name: &str| params.get(name).and_then(Value::as_str);
    let invalid = |what: &str| Err(ApiError::invalid(what));
    match text("response_type") {
        Some("code") => {}
        Some(_) => {
            let what = "response_type has to be code";
            return Err(ApiError::new(StatusCode::BAD_REQUEST, "unsupported_response_type", what));
        }
        None => return invalid("response_type is required"),
    }
    if text("code_challenge_method") != Some("S256") {
        return invalid("code_challenge_method has to be S256");
    }
    let is_challenge = |text: &str| {
        text.len() == 43 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    if !text("code_challenge").is_some_and(is_challenge) {
        return invalid("code_challenge has to be a SHA-256 in base64url");
    }
    if text("scope").is_some_and(|scope| scope != "pdpp:read") {
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "invalid_scope", "scope has to be pdpp:read"));
    }
    match text("resource") {
        Some(resource) => token_endpoint::check_resource(request, resource),
        None => Err(ApiError::new(StatusCode::BAD_REQUEST, "invalid_target", "resource is required")),
    }
}

fn pending(
    vault: &Vault,
    request: &Request,
    client: &Client,
    params: &serde_json::Map<String, Value>,
    redirect: &Redirect,
) -> Result<String, ApiError> {
    let way = Way::Redirect(Box::new(redirect.clone()));
    let details = params.get("authorization_details").and_then(Value::as_str);
    let pending = match details {
        // Without them the owner picks out of everything (the reference's own way).
        None => {
            let offer = vault.store.read(|_, catalog| {
                Ok::<_, ApiError>(authorization_details::everything(catalog, &request.base))
            })?;
            Pending::of_picked(client.clone(), offer, way)
        }
        Some(details) => {
            let body = connect::with_details(details)?;
            let asked = vault
                .store
                .read(|_, catalog| authorization_details::read(catalog, &request.base, &body))
                .map_err(|error| {
                    // RFC 9396 §5.
                    if error.status == StatusCode::BAD_REQUEST {
                        let (status, what) = (error.status, error.message().to_owned());
                        return ApiError::new(status, "invalid_authorization_details", what);
                    }
                    error
                })?;
            Pending::new(client.clone(), asked, way)
        }
    };
    vault.flows.add(pending)
}
