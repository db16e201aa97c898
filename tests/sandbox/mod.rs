//! The embedded provider behaves like any provider, and enforces grants.

mod connect;
mod diff;
mod isolation;
mod mcp;
mod oauth;
mod process;
mod reads;
mod remote;

use pdpp::sandbox::Config;
use pdpp::vault::grant::{Client, Declaration, Grant, GrantStream, Source, Subject};
use pdpp::vault::id::random_id;
use pdpp::vault::wire::{Reply, Request};
use pdpp::vault::{Vault, time};
use serde_json::Value;

use crate::support::filled::{self, Filled};

/// The address that the in-process requests use for the provider.
pub const BASE: &str = "http://127.0.0.1:7377";

/// An answer, taken apart.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// `error.code`.
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { status: reply.status.as_u16(), headers: reply.headers, body: reply.body }
    }
}

/// Makes a request to the provider, without a socket.
pub fn ask(app: &Vault, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut map = axum::http::HeaderMap::new();
    for (name, value) in headers {
        map.append(
            axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap(),
            axum::http::HeaderValue::from_str(value).unwrap(),
        );
    }
    app.answer(&Request {
        method: method.parse().unwrap(),
        base: BASE.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: map,
        body: body.to_vec(),
        request_id: "req_test".to_owned(),
    })
    .into()
}

pub fn get(app: &Vault, token: &str, target: &str) -> Answer {
    ask(app, "GET", target, &[("authorization", &format!("Bearer {token}"))], b"")
}

pub fn post(app: &Vault, target: &str, body: &Value) -> Answer {
    ask(app, "POST", target, &[("content-type", "application/json")], body.to_string().as_bytes())
}

/// The made-up data of seed 1.
pub fn life() -> Filled<Vault> {
    filled::open(Config::default())
}

/// One provider with the made-up data, for all tests that only read.
pub fn shared() -> &'static Vault {
    static APP: std::sync::LazyLock<Filled<Vault>> = std::sync::LazyLock::new(life);
    &APP
}

/// A grant over these streams, each from its own source.
pub fn grant(streams: Vec<GrantStream>) -> Grant {
    Grant {
        version: "0.1.0".to_owned(),
        grant_id: random_id("grt_").unwrap(),
        issued_at: time::format_ms(time::now_ms()),
        expires_at: None,
        subject: Subject { id: "owner_sandbox".to_owned() },
        client: Client { client_id: "pdpp_cli".to_owned() },
        source: Source { kind: "provider_native".to_owned(), id: BASE.to_owned() },
        source_declaration: Declaration { version: "sandbox.v1".to_owned() },
        purpose_code: "https://pdpp.dev/purpose/personal_assistant".to_owned(),
        purpose_description: None,
        access_mode: "continuous".to_owned(),
        streams,
    }
}

/// All fields of a stream of a connector, from these connections.
pub fn whole(app: &Vault, connector: &str, stream: &str, connections: &[&str]) -> GrantStream {
    app.store()
        .read::<_, rusqlite::Error>(|_, catalog| {
            let connector = catalog.connector(connector).unwrap();
            let declared = connector.stream(stream).unwrap();
            Ok(GrantStream {
                name: stream.to_owned(),
                instance_ids: connections.iter().map(|id| (*id).to_owned()).collect(),
                fields: declared.fields.iter().map(|field| field.name.clone()).collect(),
                time_constraint: None,
                resources: None,
                source: Some(Source { kind: "connector".to_owned(), id: connector.id.clone() }),
            })
        })
        .unwrap()
}

/// A token for these streams.
pub fn token(app: &Vault, streams: Vec<GrantStream>) -> String {
    app.issue(grant(streams)).unwrap().token
}

/// A token for everything.
pub fn everything(app: &Vault) -> String {
    let all: Vec<(String, String, Vec<String>)> = app
        .store()
        .read::<_, rusqlite::Error>(|_, catalog| {
            Ok(catalog
                .connectors
                .iter()
                .flat_map(|connector| {
                    let ids: Vec<String> =
                        catalog.connections_of(&connector.key).map(|at| at.id.clone()).collect();
                    connector
                        .streams
                        .iter()
                        .map(move |stream| (connector.key.clone(), stream.name.clone(), ids.clone()))
                        .collect::<Vec<_>>()
                })
                .collect())
        })
        .unwrap();
    let streams = all
        .iter()
        .map(|(connector, stream, ids)| {
            whole(app, connector, stream, &ids.iter().map(String::as_str).collect::<Vec<_>>())
        })
        .collect();
    token(app, streams)
}

/// Every row of a list, page by page: the rows and the number of pages.
pub fn walk(app: &Vault, token: &str, target: &str) -> (Vec<Value>, usize) {
    let (mut rows, mut pages) = (Vec::new(), 0);
    let mut next = target.to_owned();
    loop {
        let answer = get(app, token, &next);
        assert_eq!(answer.status, 200, "{next}: {}", answer.text());
        let body = answer.json();
        rows.extend(body["data"].as_array().unwrap().iter().cloned());
        pages += 1;
        assert!(pages < 1000, "{target} does not end");
        let link = body["links"]["next"].as_str();
        assert_eq!(body["has_more"], link.is_some());
        match link {
            Some(link) => link.clone_into(&mut next),
            None => return (rows, pages),
        }
    }
}
