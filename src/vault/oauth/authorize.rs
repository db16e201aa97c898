//! `GET /oauth/authorize`: the owner's browser, sent by a program (RFC 6749 §4.1, RFC 7636, RFC 9207).

use axum::http::StatusCode;
use serde_json::Value;

use super::authorization_details::Purpose;
use super::flows::{Asked, Decision, Outcome, Redirect, Way};
use super::{authorization_details, clients, connect, consent, token_endpoint};
use crate::vault::Vault;
use crate::vault::wire::{ApiError, Reply, Request};

/// RFC 9396 §5.
const DETAILS_FAULT: &str = "invalid_authorization_details";

/// `GET /oauth/authorize`
///
/// # Errors
/// Where the database fails; all else is a page.
pub fn answer(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    let page = |what: &str| Ok(consent::refused_page(&vault.config.profile, what));
    // What another site's page loads by itself, as a picture or a frame, is no person who goes somewhere.
    if request.header("sec-fetch-dest").is_some_and(|goes_to| goes_to != "document") {
        return page("it did not send a person here");
    }
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
    if let Err(error) = check(request, &params) {
        return page(error.message());
    }
    let made = (|| {
        let asked = match text("authorization_details") {
            // Without them the owner picks out of everything (the reference's own way).
            None => Asked::Everything(Purpose::read(text("purpose_code"), text("purpose_description"))?),
            Some(details) => Asked::Details(Box::new(authorization_details::read(
                &request.base,
                &connect::with_details(details)?,
            )?)),
        };
        let way = Way::Redirect(Box::new(redirect.clone()));
        let id = consent::ask_owner(vault, request, client, asked, way)?;
        if vault.config.auto_approve {
            consent::approve_unasked(vault, &request.base, &id)?;
        }
        Ok::<_, ApiError>(id)
    })();
    // Whatever is wrong is shown: nobody is sent anywhere before an owner decided.
    let id = match made {
        Ok(id) => id,
        Err(error) if error.status.is_server_error() => return Err(error),
        // With --auto-approve nobody is asked, so that a program is told of a fault as it is of an approval.
        Err(error) if vault.config.auto_approve => {
            let code = if error.code == "invalid_request" { DETAILS_FAULT } else { error.code };
            let fault = [("error", code), ("error_description", error.message())];
            return Ok(Reply::see_other(&redirect.back(&request.base, &fault)));
        }
        Err(error) => return page(error.message()),
    };
    if vault.config.auto_approve
        && let Some(Decision::Approved(approval)) = vault.flows.get(&id).map(|pending| pending.decision)
        && let Outcome::Redirect(back) = approval.outcome
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
        None => Ok(()),
    }
}
