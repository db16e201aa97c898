//! A request as an owner's browser brings it to the authorization endpoint: its parameters, and the checks on them.

use axum::http::StatusCode;
use serde_json::{Map, Value};

use super::authorization_details::Purpose;
use super::client::{Client, is_redirect};
use super::flows::{Asked, Redirect};
use super::{authorization_details, clients, connect, token_endpoint};
use crate::vault::Vault;
use crate::vault::wire::{ApiError, Request};

/// A request as it was sent, with the parts that passed the checks.
pub struct Sent {
    params: Map<String, Value>,
    /// The client, if it is known without fetching anything.
    client: Option<Client>,
    /// Where the answer should go. It may or may not be the client's address.
    pub redirect_uri: String,
}

impl Sent {
    /// Reads the parameters of a request. If anyone may send it, does not fetch the client's document.
    ///
    /// # Errors
    /// Returns what is wrong with it, for the browser that brings it, or the errors of the database.
    pub fn read(vault: &Vault, request: &Request, params: Vec<(String, String)>) -> Result<Self, ApiError> {
        let params = token_endpoint::parameters(params)?;
        let text = |name: &str| params.get(name).and_then(Value::as_str);
        let required =
            |name: &str| text(name).ok_or_else(|| ApiError::invalid(format!("{name} is required")));
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
        Ok(Self { params, client, redirect_uri })
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.params.get(name).and_then(Value::as_str)
    }

    /// The same request as a query.
    pub fn as_query(&self) -> String {
        let pairs = self.params.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }

    /// The client. If its id is an address, its document is fetched now.
    ///
    /// # Errors
    /// Returns `invalid_client`, or what else is wrong with it.
    pub fn client(&self, vault: &Vault, request: &Request) -> Result<Client, ApiError> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let client = clients::find(vault, request, self.text("client_id").unwrap_or_default())?;
        if client.may_redirect_to(&self.redirect_uri) {
            return Ok(client);
        }
        Err(ApiError::invalid("redirect_uri is not one that this client registered"))
    }

    /// Where the answer goes.
    pub fn redirect(&self, request: &Request) -> Redirect {
        Redirect {
            issuer: request.base.clone(),
            uri: self.redirect_uri.clone(),
            state: self.text("state").map(str::to_owned),
            challenge: self.text("code_challenge").unwrap_or_default().to_owned(),
            resource: self.text("resource").map(str::to_owned),
        }
    }

    /// What the request asks for. Looks nothing up.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub fn asked(&self, request: &Request) -> Result<Asked, ApiError> {
        Ok(match self.text("authorization_details") {
            // Without them, the owner selects out of everything (as the reference does).
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
            let what = "response_type must be code";
            return Err(ApiError::new(StatusCode::BAD_REQUEST, "unsupported_response_type", what));
        }
        None => return invalid("response_type is required"),
    }
    if text("code_challenge_method") != Some("S256") {
        return invalid("code_challenge_method must be S256");
    }
    let is_challenge = |text: &str| {
        text.len() == 43 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    if !text("code_challenge").is_some_and(is_challenge) {
        return invalid("code_challenge must be a SHA-256 hash in base64url");
    }
    // Some hosts always ask for their own scopes. The answer states what is granted next to the token (RFC 6749
    // §3.3).
    if !vault.is_public(request) && text("scope").is_some_and(|scope| scope != "pdpp:read") {
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "invalid_scope", "scope must be pdpp:read"));
    }
    match text("resource") {
        Some(resource) => token_endpoint::check_resource(request, resource),
        None => Ok(()),
    }
}
