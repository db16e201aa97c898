//! The resource server: `/v1`. Each read takes a grant, never a token, and reads through
//! [`super::enforcement`].

pub mod aggregate;
pub mod blobs;
pub mod decimal;
pub mod field_window;
pub mod params;
pub mod records;
pub mod schema;
pub mod search;
pub mod streams;

use axum::http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::enforcement::{self, Access, Selector};
use super::grant::Grant;
use super::wire::{ApiError, Reply, Request, VERSION};
use super::{Vault, oauth, time};

/// Answers what is below `/v1`; `path` is what follows it.
///
/// # Errors
/// Every refusal.
pub fn answer(vault: &Vault, request: &Request, path: &[&str]) -> Result<Reply, ApiError> {
    if let Some(wanted) = request.header("pdpp-version")
        && wanted != VERSION
    {
        return Err(ApiError::new(
            StatusCode::BAD_REQUEST,
            "unsupported_version",
            format!("PDPP-Version {wanted} is not supported; this server speaks {VERSION}"),
        ));
    }
    let grant = oauth::tokens::authorize(vault, request)?;
    let context = Context { vault, request, grant: &grant };
    let core = vault.config.core;
    let answer = match path {
        ["streams"] => context.get(streams::list),
        ["streams", stream] => context.get(|at| streams::detail(at, stream)),
        ["streams", stream, "records"] => context.get(|at| records::list(at, stream)),
        ["streams", stream, "records", id] => context.get(|at| records::single(at, stream, id)),
        ["blobs", id] => return context.only_get().and_then(|()| blobs::get(&context, id)),
        ["schema"] if !core => context.get(schema::get),
        ["connectors"] if !core => context.get(streams::connectors),
        ["streams", stream, "aggregate"] if !core => context.get(|at| aggregate::get(at, stream)),
        ["streams", stream, "records", id, "field-window"] if !core => {
            context.get(|at| field_window::get(at, stream, id))
        }
        ["search"] if !core => context.get(search::lexical),
        ["search", mode @ ("semantic" | "hybrid")] if !core => Err(ApiError::new(
            StatusCode::NOT_FOUND,
            "retrieval_mode_not_supported",
            format!("This provider has no {mode} search; use /v1/search"),
        )),
        _ => Err(ApiError::not_found(format!("There is nothing at {}", request.path))),
    };
    answer.map(|body| Reply::ok(&body))
}

/// One authorized read.
pub struct Context<'a> {
    /// The server.
    pub vault: &'a Vault,
    /// What was asked.
    pub request: &'a Request,
    /// What its caller may see.
    pub grant: &'a Grant,
}

impl Context<'_> {
    fn only_get(&self) -> Result<(), ApiError> {
        if matches!(self.request.method, Method::GET | Method::HEAD) {
            return Ok(());
        }
        Err(ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "Only GET is answered here"))
    }

    fn get(&self, read: impl FnOnce(&Self) -> Result<Value, ApiError>) -> Result<Value, ApiError> {
        self.only_get().and_then(|()| read(self))
    }

    /// What a cursor of this read is bound to.
    fn cursor_context(&self, parts: &[&str]) -> String {
        let mut context = self.grant.grant_id.clone();
        for part in parts {
            context.push('\u{1f}');
            context.push_str(part);
        }
        context
    }

    fn seal<T: serde::Serialize>(&self, context: &str, value: &T) -> Result<String, ApiError> {
        self.vault.seal.close(context, value).ok_or_else(|| {
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", "Internal server error")
        })
    }

    fn open<T: serde::de::DeserializeOwned>(&self, context: &str, cursor: &str) -> Result<T, ApiError> {
        self.vault.seal.open(context, cursor).ok_or_else(|| {
            ApiError::new(
                StatusCode::BAD_REQUEST,
                "invalid_cursor",
                "Cursor is malformed, or belongs to another query or grant; start again without it",
            )
        })
    }

    /// `links.next`: this request again, with `cursor`.
    fn next_link(&self, cursor: Option<&str>) -> Value {
        let Some(cursor) = cursor else { return Value::Null };
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in self.request.params() {
            // A cursor continues a session of changes on its own.
            if name != "cursor" && name != "changes_since" {
                query.append_pair(&name, &value);
            }
        }
        query.append_pair("cursor", cursor);
        format!("{}?{}", self.request.path, query.finish()).into()
    }
}

/// Accesses to one stream of one connector; several connections of it are read as one.
///
/// # Errors
/// `ambiguous_connection` where several connectors have a stream of this name: their records have
/// different fields.
fn one_stream(
    context: &Context<'_>,
    catalog: &super::store::Catalog,
    stream: &str,
    params: &params::Params,
) -> Result<Vec<Access>, ApiError> {
    let selector = Selector {
        stream: Some(stream),
        connection: params.one("connection_id")?,
        connector: params.one("connector_id")?,
    };
    let reached = enforcement::reach(context.grant, catalog, selector)?;
    let several = reached.windows(2).any(|pair| pair[0].connector().key != pair[1].connector().key);
    if several {
        return Err(ambiguous(
            format!("Stream '{stream}' exists in more than one source. Retry with `connection_id`."),
            &reached,
        ));
    }
    Ok(reached)
}

fn ambiguous(message: String, candidates: &[Access]) -> ApiError {
    let available: Vec<Value> = candidates
        .iter()
        .map(|access| {
            json!({
                "connection_id": access.connection().id,
                "connector_key": access.connector().key,
                "display_name": access.connection().display_name,
            })
        })
        .collect();
    ApiError::new(StatusCode::CONFLICT, "ambiguous_connection", message)
        .with("available_connections", available)
        .with("retry_with", "connection_id")
}

/// A record's envelope.
fn envelope(
    access: &Access,
    row: &enforcement::Row,
    wanted: Option<&std::collections::BTreeSet<String>>,
) -> Map<String, Value> {
    let mut record = named(access, &row.key, row.emitted_ms);
    record.insert("data".to_owned(), Value::Object(access.project(row, wanted)));
    record
}

/// A record's envelope without data.
fn named(access: &Access, key: &str, emitted_ms: i64) -> Map<String, Value> {
    let connection = access.connection();
    let Value::Object(record) = json!({
        "object": "record",
        "id": key,
        "stream": access.stream().name,
        "emitted_at": time::format_ms(emitted_ms),
        "connection_id": connection.id,
        "connector_instance_id": connection.id,
        "display_name": connection.display_name,
    }) else {
        return Map::new();
    };
    record
}

/// Percent-encodes one path segment.
fn segment(text: &str) -> String {
    // RFC 3986's unreserved characters stay.
    const ENCODED: &percent_encoding::AsciiSet =
        &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    percent_encoding::utf8_percent_encode(text, ENCODED).to_string()
}

/// `meta` of an answer that counts nothing.
fn plain_meta() -> Value {
    json!({ "count": { "kind": "none" }, "warnings": [] })
}
