//! Client ID Metadata Documents: a client id that is an address, at which the client describes itself.
//!
//! A document is the only thing that the vault fetches, and anyone can name the address. So it fetches only over
//! https or from loopback, never from this computer's own network, without redirects or a proxy, and within tight
//! limits of size and time.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Map, Value};
use url::Url;

use super::client::{self, Client, is_loopback};
use crate::net;
use crate::vault::time;
use crate::vault::wire::ApiError;

/// The time limit for fetching the whole document.
const PATIENCE: Duration = Duration::from_secs(3);
/// The maximum size of a document in bytes (the draft recommends 5 KB).
const MAX_BYTES: usize = 10 * 1024;
/// The maximum size of a client id in bytes.
const MAX_ID: usize = 500;
/// How long a document stays valid, in milliseconds.
const FRESH_MS: i64 = 300_000;
/// The maximum number of documents that are kept.
const MAX_KEPT: usize = 100;

/// The maximum number of documents that are fetched at once, and of requests that wait for one of them. Anyone can
/// name an address that answers slowly, and that must not delay others.
const WORKERS: usize = 2;
const WAITING: usize = 6;

/// The fetched documents, and the permits to fetch.
#[derive(Default)]
pub struct Documents {
    kept: Mutex<HashMap<String, (i64, Client)>>,
    line: Mutex<Line>,
    one_is_done: Condvar,
}

#[derive(Default)]
struct Line {
    fetching: usize,
    waiting: usize,
}

/// A permit to fetch a document, until it is dropped.
struct Turn<'a>(&'a Documents);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.line.lock().unwrap_or_else(PoisonError::into_inner).fetching -= 1;
        self.0.one_is_done.notify_one();
    }
}

impl Documents {
    /// The client whose id is this address.
    ///
    /// # Errors
    /// Returns `invalid_client` with what is wrong with the address or the document.
    pub fn client(&self, id: &str) -> Result<Client, ApiError> {
        let url = address(id).map_err(refused)?;
        let now = time::now_ms();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, (fetched, _)| now - *fetched < FRESH_MS && *fetched <= now);
        if let Some((_, client)) = kept.get(id) {
            return Ok(client.clone());
        }
        drop(kept);
        let turn = self.turn()?;
        let document = fetch(&url).map_err(refused)?;
        drop(turn);
        let client = read(id, &url, &document).map_err(refused)?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MAX_KEPT {
            kept.insert(id.to_owned(), (now, client.clone()));
        }
        Ok(client)
    }

    /// Waits a short time for a permit to fetch.
    fn turn(&self) -> Result<Turn<'_>, ApiError> {
        let busy = || {
            ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "temporarily_unavailable",
                "The server is fetching too many client documents; try again",
            )
        };
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if line.fetching >= WORKERS {
            if line.waiting >= WAITING {
                return Err(busy());
            }
            line.waiting += 1;
            (line, _) = self
                .one_is_done
                .wait_timeout_while(line, PATIENCE, |line| line.fetching >= WORKERS)
                .unwrap_or_else(PoisonError::into_inner);
            line.waiting -= 1;
            if line.fetching >= WORKERS {
                return Err(busy());
            }
        }
        line.fetching += 1;
        Ok(Turn(self))
    }
}

fn refused(why: impl std::fmt::Display) -> ApiError {
    ApiError::new(
        StatusCode::BAD_REQUEST,
        "invalid_client",
        format!("Could not use the client's document: {why}"),
    )
}

/// `id` as the address of a document.
fn address(id: &str) -> Result<Url, String> {
    let url = Url::parse(id).map_err(|error| format!("its address is not a URL: {error}"))?;
    let is_secure = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
    let is_plain = url.username().is_empty()
        && url.password().is_none()
        && url.fragment().is_none()
        && url.path().len() > 1
        // What was typed and what is fetched must be the same address.
        && url.as_str() == id;
    if !is_secure {
        return Err("its address is neither https nor on loopback".to_owned());
    }
    if !is_plain || id.len() > MAX_ID {
        return Err(
            "its address must have a path, and no user, fragment, dot segment or unusual spelling".to_owned()
        );
    }
    Ok(url)
}

fn fetch(url: &Url) -> Result<Map<String, Value>, String> {
    let runtime =
        crate::runtime::of_this_thread().map_err(|error| format!("it could not be fetched: {error}"))?;
    let fetched = runtime.block_on(async { tokio::time::timeout(PATIENCE, fetch_within(url)).await });
    fetched.unwrap_or_else(|_| Err(format!("it did not arrive within {} s", PATIENCE.as_secs())))
}

async fn fetch_within(url: &Url) -> Result<Map<String, Value>, String> {
    let failed = |what: &dyn std::fmt::Display| format!("it could not be fetched: {what}");
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
    let port = url.port_or_known_default().unwrap_or(443);
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), port))
        .await
        .map_err(|error| failed(&error))?
        .filter(
            |address| {
                if is_loopback(url) { address.ip().is_loopback() } else { net::is_public(address.ip()) }
            },
        )
        .collect();
    if addresses.is_empty() {
        return Err("its address is in a private network".to_owned());
    }
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        // Connect only to the addresses that were checked, because the name can change what it resolves to.
        .resolve_to_addrs(&host, &addresses)
        .build()
        .map_err(|error| failed(&error))?;
    let mut answer = client
        .get(url.clone())
        .header("accept", "application/json")
        .send()
        .await
        .map_err(|error| failed(&error.without_url()))?;
    if answer.status() != reqwest::StatusCode::OK {
        return Err(format!("its address returned HTTP {}", answer.status().as_u16()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| failed(&error.without_url()))? {
        if body.len() + chunk.len() > MAX_BYTES {
            return Err(format!("it is larger than {MAX_BYTES} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&body).map_err(|_| "it is not a JSON object".to_owned())
}

fn read(id: &str, url: &Url, document: &Map<String, Value>) -> Result<Client, String> {
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    if text("client_id") != Some(id) {
        return Err("its client_id is not its own address".to_owned());
    }
    if document.contains_key("client_secret")
        || text("token_endpoint_auth_method").is_some_and(|method| method != "none")
    {
        return Err(
            "it describes a client with a secret, and this server supports only public clients".to_owned()
        );
    }
    let redirect_uris = client::redirect_uris(document)
        .filter(|uris| !uris.is_empty())
        .ok_or("it names no redirect_uris that this server can send a code to")?;
    let name = text("client_name").filter(|name| client::is_name(name));
    Ok(Client {
        id: id.to_owned(),
        name: name.unwrap_or(id).chars().take(120).collect(),
        redirect_uris,
        domain: url.domain().filter(|_| url.scheme() == "https").map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_public_https_or_loopback_is_fetched() {
        for good in [
            "https://app.example/client.json",
            "http://127.0.0.1:8/c",
            "http://localhost/c",
            "http://[::1]/c",
        ] {
            assert!(address(good).is_ok(), "{good}");
        }
        for bad in [
            "http://app.example/c",
            "https://app.example",
            "https://app.example/",
            "https://u@app.example/c",
            "https://app.example/c#f",
            "https://app.example/a/../c",
            "https://APP.example/c",
            "ftp://127.0.0.1/c",
            "file:///etc/passwd",
            &format!("https://app.example/{}", "x".repeat(600)),
        ] {
            assert!(address(bad).is_err(), "{bad}");
        }
        for private in [
            "10.0.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "::1",
            "fd00::1",
            "::ffff:10.0.0.1",
            "0.0.0.0",
        ] {
            assert!(!net::is_public(private.parse().unwrap()), "{private}");
        }
        assert!(net::is_public("93.184.216.34".parse().unwrap()));
        // Refused because of its address, without a look-up.
        let error = fetch(&"https://169.254.169.254/latest".parse().unwrap()).unwrap_err();
        assert!(error.contains("private network"), "{error}");
    }

    #[test]
    fn o7_13_two_documents_are_fetched_at_once() {
        let documents = Documents::default();
        let first = documents.turn().unwrap();
        let _second = documents.turn().unwrap();
        documents.line.lock().unwrap().waiting = WAITING;
        let refused = documents.turn().err().unwrap();
        assert_eq!(
            (refused.status, refused.code),
            (StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable")
        );
        documents.line.lock().unwrap().waiting = 0;
        std::thread::scope(|scope| {
            let third = scope.spawn(|| documents.turn().is_ok());
            drop(first);
            assert!(third.join().unwrap(), "the waiting request is next");
        });
    }

    #[test]
    fn a_document_speaks_for_its_own_address_only() {
        let id = "https://app.example/client.json";
        let url = Url::parse(id).unwrap();
        let of = |edit: fn(&mut Value)| {
            let mut document =
                json!({"client_id": id, "client_name": "App", "redirect_uris": ["http://127.0.0.1/cb"]});
            edit(&mut document);
            read(id, &url, document.as_object().unwrap())
        };
        let client = of(|_| ()).unwrap();
        assert_eq!((client.name.as_str(), client.domain.as_deref()), ("App", Some("app.example")));
        assert!(of(|document| document["client_id"] = json!("https://app.example/other")).is_err());
        assert!(of(|document| document["client_secret"] = json!("x")).is_err());
        assert!(
            of(|document| document["token_endpoint_auth_method"] = json!("client_secret_basic")).is_err()
        );
        assert!(of(|document| document["redirect_uris"] = json!([])).is_err());
        assert!(of(|document| document["redirect_uris"] = json!(["javascript:alert(1)"])).is_err());
    }
}
