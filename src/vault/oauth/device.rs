//! Device authorization (RFC 8628), for a program without a browser. The owner compares its code on the page that
//! the owner's link opens. Nobody types the code anywhere, so nobody can guess codes.

use serde_json::{Map, Value, json};

use super::flows::{Asked, EXPIRES_IN, INTERVAL, Way};
use super::{authorization_details, clients, connect, consent, token_endpoint};
use crate::vault::Vault;
use crate::vault::wire::{ApiError, Reply, Request};

/// The page that a program tells its user to open. It says where to find the owner's link.
const PATH: &str = "/consent/device";

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
    let client = clients::find(vault, request, required("client_id")?)?;
    token_endpoint::check_resource(request, required("resource")?)?;
    let details = connect::with_details(required("authorization_details")?)?;
    let asked = Asked::Details(Box::new(authorization_details::read(&request.base, &details)?));
    let client_id = client.id.clone();
    let id = consent::ask_owner(vault, request, client, asked, Way::Device)?;
    let user_code = vault.flows.get(&id).map(|pending| pending.code).unwrap_or_default();
    let device_code = vault.flows.device(&client_id, &id)?;
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
