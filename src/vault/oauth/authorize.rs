//! `GET /oauth/authorize`: the owner's browser, sent by a program (RFC 6749 §4.1, RFC 7636, RFC 9207).

use axum::http::StatusCode;
use serde_json::{Map, Value};

use super::authorization_details::Purpose;
use super::client::{Client, is_redirect};
use super::flows::{Asked, Noted, Redirect, Way};
use super::{authorization_details, clients, connect, consent, pairing, token_endpoint};
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
    let sent = match Sent::read(vault, request, request.params()) {
        Ok(sent) => sent,
        Err(error) if error.status.is_server_error() => return Err(error),
        Err(error) => return page(error.message()),
    };
    // Nobody knows who that is, so nothing is kept of it until the owner lets it in.
    if vault.is_public(request) {
        return Ok(pairing::page(vault, &sent, None));
    }
    let client = match sent.client(vault, request) {
        Ok(client) => client,
        Err(error) if error.status.is_server_error() => return Err(error),
        Err(error) => return page(error.message()),
    };
    let redirect = sent.redirect(request);
    let made = (|| {
        let asked = sent.asked(request)?;
        let way = Way::Redirect(Box::new(redirect.clone()));
        let id = consent::ask_owner(vault, request, client, asked, way)?;
        let back =
            if vault.config.auto_approve { consent::approve_unasked(vault, &request.base, &id)? } else { None };
        Ok::<_, ApiError>((id, back))
    })();
    // Whatever is wrong is shown: nobody is sent anywhere before an owner decided.
    match made {
        Ok((_, Some(back))) => Ok(Reply::see_other(&back)),
        Ok((id, None)) => Ok(Reply::see_other(&consent::page_url(&request.base, &id))),
        Err(error) if error.status.is_server_error() => Err(error),
        // With --auto-approve nobody is asked, so that a program is told of a fault as it is of an approval.
        Err(error) if vault.config.auto_approve => {
            let code = if error.code == "invalid_request" { DETAILS_FAULT } else { error.code };
            Ok(Reply::see_other(&redirect.back(&[("error", code), ("error_description", error.message())])))
        }
        Err(error) => page(error.message()),
    }
}

/// Notes the request `sent` of a stranger whom the owner let in; gives what its client calls itself.
///
/// # Errors
/// What is wrong with it, for the owner; where the database fails.
pub(super) fn begin(vault: &Vault, request: &Request, sent: Sent) -> Result<(String, Noted), ApiError> {
    let client = sent.client(vault, request)?;
    let asked = sent.asked(request)?;
    let name = client.name.clone();
    let noted = vault.flows.add(client, asked, Way::Redirect(Box::new(sent.redirect(request))))?;
    Ok((name, noted))
}

/// A request as it was sent, as far as that is in order.
pub struct Sent {
    params: Map<String, Value>,
    /// Who asks, if nobody else has to be asked for that.
    client: Option<Client>,
    /// Where the answer is to go. It may be the client's or not.
    pub(super) redirect_uri: String,
}

impl Sent {
    /// Reads the parameters of a request. Asks nobody about its client where anybody may send it.
    ///
    /// # Errors
    /// What is wrong with it, for the browser that brings it; where the database fails.
    pub fn read(vault: &Vault, request: &Request, params: Vec<(String, String)>) -> Result<Self, ApiError> {
        let params = token_endpoint::parameters(params)?;
        let text = |name: &str| params.get(name).and_then(Value::as_str);
        let required = |name: &str| text(name).ok_or_else(|| ApiError::invalid(format!("{name} is required")));
        let client_id = required("client_id")?;
        let is_asked_later = vault.is_public(request) && clients::is_address(client_id);
        let client = if is_asked_later { None } else { Some(clients::find(vault, request, client_id)?) };
        let redirect_uri = required("redirect_uri")?.to_owned();
        let is_fine = match &client {
            Some(client) => client.may_redirect_to(&redirect_uri),
            None => is_redirect(&redirect_uri),
        };
        if !is_fine {
            return Err(ApiError::invalid("redirect_uri is not one that this client registered"));
        }
        check(vault, request, &params)?;
        Ok(Self { client, redirect_uri, params })
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.params.get(name).and_then(Value::as_str)
    }

    /// The same as a query.
    pub(super) fn as_query(&self) -> String {
        let pairs = self.params.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }

    /// Who asks: a program whose id is an address is looked up there now.
    fn client(&self, vault: &Vault, request: &Request) -> Result<Client, ApiError> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let client = clients::find(vault, request, self.text("client_id").unwrap_or_default())?;
        if client.may_redirect_to(&self.redirect_uri) {
            return Ok(client);
        }
        Err(ApiError::invalid("redirect_uri is not one that this client registered"))
    }

    fn redirect(&self, request: &Request) -> Redirect {
        Redirect {
            issuer: request.base.clone(),
            uri: self.redirect_uri.clone(),
            state: self.text("state").map(str::to_owned),
            challenge: self.text("code_challenge").unwrap_or_default().to_owned(),
            resource: self.text("resource").map(str::to_owned),
        }
    }

    fn asked(&self, request: &Request) -> Result<Asked, ApiError> {
        Ok(match self.text("authorization_details") {
            // Without them the owner picks out of everything (the reference's own way).
            None => {
                Asked::Everything(Purpose::read(self.text("purpose_code"), self.text("purpose_description"))?)
            }
            Some(details) => Asked::Details(Box::new(authorization_details::read(
                &request.base,
                &connect::with_details(details)?,
            )?)),
        })
    }
}

fn check(vault: &Vault, request: &Request, params: &Map<String, Value>) -> Result<(), ApiError> {
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
    // Some hosts ask for scopes of their own wherever they go: what is granted is said beside the token (RFC 6749 §3.3).
    if !vault.is_public(request) && text("scope").is_some_and(|scope| scope != "pdpp:read") {
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "invalid_scope", "scope has to be pdpp:read"));
    }
    match text("resource") {
        Some(resource) => token_endpoint::check_resource(request, resource),
        None => Ok(()),
    }
}
