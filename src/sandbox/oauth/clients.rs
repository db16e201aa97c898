//! Clients: registered on request (RFC 7591), all of them public and none of them verified.

use axum::http::StatusCode;
use rusqlite::{Connection as Sqlite, OptionalExtension, params};
use serde_json::{Map, Value, json};

use crate::sandbox::App;
use crate::sandbox::store::random_id;
use crate::sandbox::time;
use crate::sandbox::wire::{ApiError, Reply, Request};

/// Clients that need no registration.
pub const PRE_REGISTERED: [(&str, &str); 1] = [("pdpp_cli", "PDPP CLI")];

/// Characters of a client's name at most: it is shown to the owner.
const MAX_NAME: usize = 120;
/// Registrations at most: anybody may register.
const MAX_CLIENTS: i64 = 10_000;

/// `POST /oauth/register`
///
/// # Errors
/// Where the database fails; a bad request is answered in RFC 7591's own form.
pub fn register(app: &App, request: &Request) -> Result<Reply, ApiError> {
    let invalid = |what: &str| {
        Ok(Reply::json(
            StatusCode::BAD_REQUEST,
            &json!({ "error": "invalid_client_metadata", "error_description": what }),
        ))
    };
    let Ok(asked) = request.json() else { return invalid("The body has to be a JSON object") };
    let Some(name) = asked.get("client_name").and_then(Value::as_str).filter(|name| is_name(name)) else {
        return invalid("client_name has to be a string of 1 to 120 characters");
    };
    match asked.get("token_endpoint_auth_method") {
        None => {}
        Some(method) if method == "none" => {}
        Some(_) => return invalid("token_endpoint_auth_method has to be none: clients here are public"),
    }
    let mut metadata = Map::new();
    metadata.insert("client_name".to_owned(), name.into());
    metadata.insert("token_endpoint_auth_method".to_owned(), "none".into());
    for echoed in ["grant_types", "redirect_uris", "client_uri", "policy_uri", "tos_uri"] {
        if let Some(value) = asked.get(echoed) {
            metadata.insert(echoed.to_owned(), value.clone());
        }
    }
    let client_id = add(app, &metadata)?;
    metadata.insert("client_id".to_owned(), client_id.into());
    metadata.insert("client_id_issued_at".to_owned(), (time::now_ms() / 1000).into());
    Ok(Reply::json(StatusCode::CREATED, &Value::Object(metadata)).no_store())
}

/// Registers a client.
///
/// # Errors
/// `too_many_clients`; where the database fails.
pub fn add(app: &App, metadata: &Map<String, Value>) -> Result<String, ApiError> {
    let client_id = random_id("cli_")?;
    app.store.write(|tx, _| {
        let count: i64 = tx.query_row("SELECT count(*) FROM client", [], |row| row.get(0))?;
        if count >= MAX_CLIENTS {
            return Err(ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too_many_clients",
                "Too many clients are registered",
            ));
        }
        tx.execute(
            "INSERT INTO client (client_id, metadata, issued_ms) VALUES (?1, ?2, ?3)",
            params![client_id, Value::Object(metadata.clone()).to_string(), time::now_ms()],
        )?;
        Ok(client_id.clone())
    })
}

/// The name that a client registered with.
///
/// # Errors
/// `invalid_client` for an unknown one.
pub fn name_of(db: &Sqlite, client_id: &str) -> Result<String, ApiError> {
    if let Some((_, name)) = PRE_REGISTERED.iter().find(|(known, _)| *known == client_id) {
        return Ok((*name).to_owned());
    }
    let metadata: Option<String> = db
        .query_row("SELECT metadata FROM client WHERE client_id = ?1", [client_id], |row| row.get(0))
        .optional()?;
    let metadata: Map<String, Value> =
        metadata.and_then(|metadata| serde_json::from_str(&metadata).ok()).ok_or_else(|| {
            ApiError::new(
                StatusCode::BAD_REQUEST,
                "invalid_client",
                format!("Unknown client_id: {client_id}"),
            )
        })?;
    Ok(metadata.get("client_name").and_then(Value::as_str).unwrap_or(client_id).to_owned())
}

/// Whether `name` can be a client's.
pub fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().count() <= MAX_NAME
}
