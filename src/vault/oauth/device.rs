//! Device authorization (RFC 8628): a program without a browser, and the owner's page for its code.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::flows::{self, EXPIRES_IN, INTERVAL, Pending, Way};
use super::{authorization_details, clients, connect, consent, token_endpoint};
use crate::vault::Vault;
use crate::vault::wire::{ApiError, Reply, Request};

/// Where the owner types a code, below the cookie's path.
pub const PATH: &str = "/consent/device";

/// `POST /oauth/device_authorization`
pub fn authorize(vault: &Vault, request: &Request) -> Reply {
    match begin(vault, request) {
        Ok(body) => Reply::ok(&body).no_store(),
        Err(error) => {
            let code = if error.status.is_server_error() { "server_error" } else { error.code };
            token_endpoint::refusal(request, error.status, code, error.message(), error.more())
        }
    }
}

fn begin(vault: &Vault, request: &Request) -> Result<Value, ApiError> {
    let form: Map<String, Value> = token_endpoint::parameters(request.form())?;
    let required = |name: &str| {
        let missing = || ApiError::invalid(format!("{name} is required")).param(name);
        form.get(name).and_then(Value::as_str).ok_or_else(missing)
    };
    let client = clients::find(vault, required("client_id")?)?;
    token_endpoint::check_resource(request, required("resource")?)?;
    let details = connect::with_details(required("authorization_details")?)?;
    let asked =
        vault.store.read(|_, catalog| authorization_details::read(catalog, &request.base, &details))?;
    let user_code = flows::user_code()?;
    let client_id = client.id.clone();
    let pending = Pending::new(client, asked, Way::Device { user_code: user_code.clone() });
    let id = vault.flows.add(pending)?;
    let device_code = vault.flows.device(&client_id, &user_code, &id)?;
    if vault.config.auto_approve {
        consent::approve_unasked(vault, &request.base, &id)?;
    }
    let page = format!("{}{PATH}", request.base);
    Ok(json!({
        "device_code": device_code,
        "user_code": user_code,
        "verification_uri": page,
        "verification_uri_complete": format!("{page}?user_code={user_code}"),
        "expires_in": EXPIRES_IN,
        "interval": INTERVAL,
    }))
}

/// `GET /consent/device`: where the code is typed. One that came with the address is shown, and still has
/// to be compared (RFC 8628 §5.4).
///
/// # Errors
/// Without randomness.
pub fn page(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    let given = request.params().into_iter().find(|(name, _)| name == "user_code").map(|(_, code)| code);
    consent::code_page(vault, request, StatusCode::OK, given.as_deref().unwrap_or_default(), None)
}

/// `POST /consent/device`: leads to the request that the code stands for.
///
/// # Errors
/// Without randomness.
pub fn enter(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    let posted = request.form();
    if !consent::is_own_form(vault, request, &posted, consent::CODE_FORM) {
        return Ok(consent::foreign_page(&vault.config.profile));
    }
    let typed = posted.iter().find(|(name, _)| name == "user_code").map_or("", |(_, code)| code.as_str());
    let again = |status, problem: &str| consent::code_page(vault, request, status, typed, Some(problem));
    match vault.flows.by_user_code(typed) {
        Ok(Some(id)) => Ok(Reply::see_other(&consent::page_url(&request.base, &id))),
        Ok(None) => {
            again(StatusCode::BAD_REQUEST, "No device waits with that code; look at its screen again")
        }
        Err(error) => again(error.status, error.message()),
    }
}
