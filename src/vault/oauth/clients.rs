//! Clients: registered on request (RFC 7591), by a document at their own address, or known beforehand;
//! all of them public.

use axum::http::StatusCode;
use rusqlite::{OptionalExtension, params};
use serde_json::{Map, Value, json};
use url::Url;

use super::client_document;
use crate::vault::Vault;
use crate::vault::id::random_id;
use crate::vault::time;
use crate::vault::wire::{ApiError, Reply, Request};

/// Clients that need no registration.
pub const PRE_REGISTERED: [(&str, &str); 1] = [("pdpp_cli", "PDPP CLI")];

/// Characters of a client's name at most: it is shown to the owner.
const MAX_NAME: usize = 120;
/// Registrations at most: anybody may register.
const MAX_CLIENTS: i64 = 10_000;
/// Redirect URIs of a client at most, and bytes of one.
const MAX_REDIRECTS: usize = 10;
const MAX_REDIRECT: usize = 2_000;

/// A client, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Its id.
    pub id: String,
    /// What it calls itself.
    pub name: String,
    /// Where an authorization code may be sent; empty for one that named none.
    pub redirect_uris: Vec<String>,
    /// The domain that it was shown to control, by a document there.
    pub domain: Option<String>,
}

/// `POST /oauth/register`
///
/// # Errors
/// Where the database fails; a bad request is answered in RFC 7591's own form.
pub fn register(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    let refused = |code: &str, what: &str| {
        Ok(Reply::json(StatusCode::BAD_REQUEST, &json!({ "error": code, "error_description": what })))
    };
    let invalid = |what: &str| refused("invalid_client_metadata", what);
    let Ok(asked) = request.json() else { return invalid("The body has to be a JSON object") };
    let Some(name) = asked.get("client_name").and_then(Value::as_str).filter(|name| is_name(name)) else {
        return invalid("client_name has to be a string of 1 to 120 characters");
    };
    match asked.get("token_endpoint_auth_method") {
        None => {}
        Some(method) if method == "none" => {}
        Some(_) => return invalid("token_endpoint_auth_method has to be none: clients here are public"),
    }
    if redirect_uris(&asked).is_none() {
        return refused(
            "invalid_redirect_uri",
            "redirect_uris have to be https, loopback, or of the app's own scheme",
        );
    }
    let mut metadata = Map::new();
    metadata.insert("client_name".to_owned(), name.into());
    metadata.insert("token_endpoint_auth_method".to_owned(), "none".into());
    for echoed in ["grant_types", "response_types", "redirect_uris", "client_uri", "policy_uri", "tos_uri"] {
        if let Some(value) = asked.get(echoed) {
            metadata.insert(echoed.to_owned(), value.clone());
        }
    }
    let client_id = add(vault, &metadata)?;
    metadata.insert("client_id".to_owned(), client_id.into());
    metadata.insert("client_id_issued_at".to_owned(), (time::now_ms() / 1000).into());
    Ok(Reply::json(StatusCode::CREATED, &Value::Object(metadata)).no_store())
}

/// Registers a client.
///
/// # Errors
/// `too_many_clients`; where the database fails.
pub fn add(vault: &Vault, metadata: &Map<String, Value>) -> Result<String, ApiError> {
    let client_id = random_id("cli_")?;
    vault.store.write(|tx, _| {
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

/// The client of this id. One whose id is an address is asked for its document there.
///
/// # Errors
/// `invalid_client` for an unknown one.
pub fn find(vault: &Vault, client_id: &str) -> Result<Client, ApiError> {
    if let Some((id, name)) = PRE_REGISTERED.iter().find(|(known, _)| *known == client_id) {
        let (id, name) = ((*id).to_owned(), (*name).to_owned());
        return Ok(Client { id, name, redirect_uris: Vec::new(), domain: None });
    }
    if client_id.contains("://") {
        return vault.client_documents.client(client_id);
    }
    let metadata: Option<String> = vault.store.read(|db, _| {
        db.query_row("SELECT metadata FROM client WHERE client_id = ?1", [client_id], |row| row.get(0))
            .optional()
            .map_err(ApiError::from)
    })?;
    let metadata: Map<String, Value> =
        metadata.and_then(|metadata| serde_json::from_str(&metadata).ok()).ok_or_else(|| {
            ApiError::new(
                StatusCode::BAD_REQUEST,
                "invalid_client",
                format!("Unknown client_id: {client_id}"),
            )
        })?;
    Ok(Client {
        id: client_id.to_owned(),
        name: metadata.get("client_name").and_then(Value::as_str).unwrap_or(client_id).to_owned(),
        redirect_uris: redirect_uris(&metadata).unwrap_or_default(),
        domain: None,
    })
}

/// Whether `name` can be a client's.
pub fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().count() <= MAX_NAME
}

/// `redirect_uris` of a client's metadata; `None` if there is one that no code may be sent to.
pub fn redirect_uris(metadata: &Map<String, Value>) -> Option<Vec<String>> {
    let uris: &[Value] = match metadata.get("redirect_uris") {
        None | Some(Value::Null) => &[],
        Some(uris) => uris.as_array().filter(|uris| uris.len() <= MAX_REDIRECTS)?,
    };
    uris.iter().map(|uri| uri.as_str().filter(|uri| is_redirect(uri)).map(str::to_owned)).collect()
}

/// https, http on loopback, or an app's own scheme (RFC 8252 §7); never one that a browser would run.
fn is_redirect(uri: &str) -> bool {
    let Ok(url) = Url::parse(uri) else { return false };
    let is_fine = match url.scheme() {
        "https" => url.username().is_empty() && url.password().is_none(),
        "http" => client_document::is_loopback(&url),
        "javascript" | "data" | "file" | "blob" | "about" | "ftp" | "ws" | "wss" => false,
        _ => true,
    };
    is_fine && url.fragment().is_none() && uri.len() <= MAX_REDIRECT && uri.is_ascii()
}

impl Client {
    /// Whether a code for this client may be sent to `uri`: one that it named, character by character;
    /// on loopback the port is the app's to pick (RFC 8252 §7.3). One that named none gets loopback only.
    pub fn may_redirect_to(&self, uri: &str) -> bool {
        if !is_redirect(uri) {
            return false;
        }
        let Ok(asked) = Url::parse(uri) else { return false };
        let on_loopback = asked.scheme() == "http";
        if self.redirect_uris.is_empty() {
            return on_loopback;
        }
        self.redirect_uris.iter().any(|known| {
            let without_port = || {
                let (mut known, mut asked) = (Url::parse(known).ok()?, asked.clone());
                known.set_port(None).ok()?;
                asked.set_port(None).ok()?;
                Some(known == asked)
            };
            known == uri || (on_loopback && without_port() == Some(true))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(uris: &[&str]) -> Client {
        let redirect_uris = uris.iter().map(ToString::to_string).collect();
        Client { id: "c".to_owned(), name: "C".to_owned(), redirect_uris, domain: None }
    }

    #[test]
    fn a_code_goes_to_a_registered_address_only() {
        let web = client(&["https://app.example/cb"]);
        assert!(web.may_redirect_to("https://app.example/cb"));
        for other in ["https://app.example/cb/", "https://app.example/cb?x", "https://evil.example/cb"] {
            assert!(!web.may_redirect_to(other), "{other}");
        }
        let native = client(&["http://127.0.0.1/callback"]);
        assert!(native.may_redirect_to("http://127.0.0.1:49152/callback"));
        for other in [
            "http://127.0.0.1:49152/other",
            "http://localhost:49152/callback",
            "http://127.0.0.1.evil.example:49152/callback",
            "http://evil.example/callback",
            "http://127.0.0.1:1/callback#x",
        ] {
            assert!(!native.may_redirect_to(other), "{other}");
        }
        let silent = client(&[]);
        assert!(silent.may_redirect_to("http://127.0.0.1:7/x") && silent.may_redirect_to("http://[::1]:7/x"));
        assert!(!silent.may_redirect_to("https://app.example/cb"));
        assert!(!silent.may_redirect_to("javascript:alert(1)"));
    }
}
