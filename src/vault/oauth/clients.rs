//! Clients: registered on request (RFC 7591), described by a document at their own address, or known beforehand.
//! All of them are public clients.

use axum::http::StatusCode;
use rusqlite::{OptionalExtension, params};
use serde_json::{Map, Value, json};

use super::client::{Client, is_name, redirect_uris};
use crate::vault::Vault;
use crate::vault::id::random_id;
use crate::vault::time;
use crate::vault::wire::{ApiError, Reply, Request};

/// Clients that need no registration.
pub const PRE_REGISTERED: [(&str, &str); 1] = [("pdpp_cli", "PDPP CLI")];

/// The maximum total size of the redirect URIs of a client whose id contains them, because the id becomes part of
/// an address.
const MAX_SEALED: usize = 1_500;
/// The maximum size of one field of a client's metadata, in bytes.
const MAX_FIELD: usize = 2_048;
/// How long a client without a grant is kept, in milliseconds.
const UNUSED_MS: i64 = 3_600_000;
/// The maximum number of clients without a grant. Anyone may register and nobody is refused; the oldest are
/// removed.
const MAX_UNUSED: i64 = 1_000;

/// `POST /oauth/register`
///
/// # Errors
/// Returns the errors of the database. A bad request gets an answer in the form of RFC 7591.
pub fn register(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    let is_public = vault.is_public(request);
    let refused = |code: &str, what: &str| {
        Ok(Reply::json(StatusCode::BAD_REQUEST, &json!({ "error": code, "error_description": what })))
    };
    let invalid = |what: &str| refused("invalid_client_metadata", what);
    let Ok(asked) = request.json() else { return invalid("The body must be a JSON object") };
    let name = match asked.get("client_name") {
        // RFC 7591 §2 makes this optional, so a host without it is not refused. The page shows where its code goes
        // anyway.
        None if is_public => "An app without a name",
        name => match name.and_then(Value::as_str).filter(|name| is_name(name)) {
            Some(name) => name,
            None => return invalid("client_name must be a string of 1 to 120 characters"),
        },
    };
    match asked.get("token_endpoint_auth_method") {
        None => {}
        Some(method) if method == "none" => {}
        // The answer says `none` instead (RFC 7591 §3.2.1), because some hosts always ask for a secret.
        Some(_) if is_public => {}
        Some(_) => {
            return invalid(
                "token_endpoint_auth_method must be none, because this server supports only public clients",
            );
        }
    }
    let Some(redirects) = redirect_uris(&asked).filter(|uris| !is_public || !uris.is_empty()) else {
        return refused(
            "invalid_redirect_uri",
            "redirect_uris must use https, http on loopback, or the app's own scheme, which must contain a dot",
        );
    };
    let too_long = asked.iter().find(|(_, value)| value.to_string().len() > MAX_FIELD);
    if let Some((field, _)) = too_long {
        return invalid(&format!(
            "{} is longer than {MAX_FIELD} bytes",
            field.chars().take(40).collect::<String>()
        ));
    }
    let mut metadata = Map::new();
    metadata.insert("client_name".to_owned(), name.into());
    metadata.insert("token_endpoint_auth_method".to_owned(), "none".into());
    for echoed in ["grant_types", "response_types", "redirect_uris", "client_uri", "policy_uri", "tos_uri"] {
        if let Some(value) = asked.get(echoed) {
            metadata.insert(echoed.to_owned(), value.clone());
        }
    }
    let client_id = if is_public {
        let Some(sealed) = Sealed { name: name.to_owned(), redirect_uris: redirects }.id(vault) else {
            return invalid(&format!("redirect_uris are longer than {MAX_SEALED} bytes in total"));
        };
        sealed
    } else {
        add(vault, &metadata)?
    };
    metadata.insert("client_id".to_owned(), client_id.into());
    metadata.insert("client_id_issued_at".to_owned(), (time::now_ms() / 1000).into());
    Ok(Reply::json(StatusCode::CREATED, &Value::Object(metadata)).no_store())
}

/// A client that registered at the public name. Nothing about it is stored: its id is its sealed metadata.
/// However many strangers register, nobody's registration is lost and nothing grows (RFC 7591, appendix A.5.2).
#[derive(serde::Serialize, serde::Deserialize)]
struct Sealed {
    #[serde(rename = "n")]
    name: String,
    #[serde(rename = "r")]
    redirect_uris: Vec<String>,
}

impl Sealed {
    const PREFIX: &'static str = "pub_";
    const CONTEXT: &'static str = "client";

    /// Its id; `None` if it would be too long for an address.
    fn id(&self, vault: &Vault) -> Option<String> {
        if self.redirect_uris.iter().map(String::len).sum::<usize>() > MAX_SEALED {
            return None;
        }
        vault.seal.close(Self::CONTEXT, self).map(|sealed| Self::PREFIX.to_owned() + &sealed)
    }

    fn open(vault: &Vault, client_id: &str) -> Option<Client> {
        let Self { name, redirect_uris } =
            vault.seal.open(Self::CONTEXT, client_id.strip_prefix(Self::PREFIX)?)?;
        Some(Client { id: client_id.to_owned(), name, redirect_uris, domain: None })
    }
}

/// Registers a client, and removes unused clients.
///
/// # Errors
/// Returns the errors of the database.
pub fn add(vault: &Vault, metadata: &Map<String, Value>) -> Result<String, ApiError> {
    let client_id = random_id("cli_")?;
    let busy = json!(vault.flows.clients()).to_string();
    vault.grants.write(|tx, _| {
        tx.execute(
            "DELETE FROM client WHERE client_id NOT IN (SELECT json_extract(body, '$.client.client_id') FROM grants)
             AND client_id NOT IN (SELECT value FROM json_each(?1))
             AND (issued_ms < ?2 OR client_id NOT IN (
               SELECT client_id FROM client WHERE client_id NOT IN (SELECT json_extract(body, '$.client.client_id') FROM grants)
               ORDER BY issued_ms DESC LIMIT ?3))",
            params![busy, time::now_ms() - UNUSED_MS, MAX_UNUSED - 1],
        )?;
        tx.execute(
            "INSERT INTO client (client_id, metadata, issued_ms) VALUES (?1, ?2, ?3)",
            params![client_id, Value::Object(metadata.clone()).to_string(), time::now_ms()],
        )?;
        Ok(client_id.clone())
    })
}

/// Whether a client id is an address at which the client describes itself.
pub fn is_address(client_id: &str) -> bool {
    client_id.contains("://")
}

/// The client with this id, for the side that `request` came in by. If the id is an address, fetches the document
/// there.
///
/// # Errors
/// Returns `invalid_client` for an unknown client.
pub fn find(vault: &Vault, request: &Request, client_id: &str) -> Result<Client, ApiError> {
    if let Some((id, name)) = PRE_REGISTERED.iter().find(|(known, _)| *known == client_id) {
        let (id, name) = ((*id).to_owned(), (*name).to_owned());
        return Ok(Client { id, name, redirect_uris: Vec::new(), domain: None });
    }
    if is_address(client_id) {
        return vault.client_documents.client(client_id);
    }
    let unknown = || {
        ApiError::new(
            StatusCode::BAD_REQUEST,
            "invalid_client",
            format!("Unknown client_id: {}", client_id.chars().take(100).collect::<String>()),
        )
    };
    if vault.is_public(request) {
        return Sealed::open(vault, client_id).ok_or_else(unknown);
    }
    let metadata = metadata(vault, client_id)?;
    let metadata: Map<String, Value> =
        metadata.and_then(|metadata| serde_json::from_str(&metadata).ok()).ok_or_else(unknown)?;
    Ok(Client {
        id: client_id.to_owned(),
        name: metadata.get("client_name").and_then(Value::as_str).unwrap_or(client_id).to_owned(),
        redirect_uris: redirect_uris(&metadata).unwrap_or_default(),
        domain: None,
    })
}

fn metadata(vault: &Vault, client_id: &str) -> Result<Option<String>, ApiError> {
    vault.grants.read(|db, _| {
        db.prepare_cached("SELECT metadata FROM client WHERE client_id = ?1")?
            .query_row([client_id], |row| row.get(0))
            .optional()
            .map_err(ApiError::from)
    })
}

/// The name of the client with this id, as far as it is known here. Fetches nothing: if the id is an address, the
/// address is the name.
pub fn name(vault: &Vault, client_id: &str) -> String {
    if let Some((_, name)) = PRE_REGISTERED.iter().find(|(known, _)| *known == client_id) {
        return (*name).to_owned();
    }
    let known = metadata(vault, client_id).ok().flatten();
    let known: Option<Map<String, Value>> = known.and_then(|known| serde_json::from_str(&known).ok());
    let name = known.and_then(|known| known.get("client_name")?.as_str().map(str::to_owned));
    name.unwrap_or_else(|| client_id.to_owned())
}
