//! An authorized read in progress, and what several kinds of answers have in common.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::StatusCode;
use rusqlite::Connection as Sqlite;
use serde_json::{Map, Value, json};

use super::params::Params;
use super::read::Read;
use crate::vault::enforcement::{self, Access, Selector};
use crate::vault::grant::Grant;
use crate::vault::pace::Pace;
use crate::vault::store::{Catalog, imported_ms};
use crate::vault::wire::ApiError;
use crate::vault::{Vault, time};

/// One authorized read.
pub struct Context<'a> {
    /// The vault to read from.
    pub vault: &'a Vault,
    /// What the request asks for.
    pub read: &'a Read,
    /// What the caller may see.
    pub grant: &'a Grant,
}

impl Context<'_> {
    /// Runs `work` on one state of the database, at a pace that reveals nothing about what the grant hides.
    ///
    /// It waits before the database is free for the next read, because another request could wait for that and
    /// measure the time.
    pub fn paced<T>(
        &self,
        work: impl FnOnce(&Sqlite, &Catalog, &Pace<'_>) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        self.vault.store.read(|db, catalog| {
            let pace = Pace::begin(self.vault.clock.as_ref());
            let done = work(db, catalog, &pace);
            pace.end();
            done
        })
    }

    /// What a cursor of this read is bound to.
    pub fn cursor_context(&self, parts: &[&str]) -> String {
        let mut context = self.grant.grant_id.clone();
        for part in parts {
            context.push('\u{1f}');
            context.push_str(part);
        }
        context
    }

    pub fn seal<T: serde::Serialize>(&self, context: &str, value: &T) -> Result<String, ApiError> {
        self.vault.seal.close(context, value).ok_or_else(|| {
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", "Internal server error")
        })
    }

    pub fn open<T: serde::de::DeserializeOwned>(&self, context: &str, cursor: &str) -> Result<T, ApiError> {
        self.vault.seal.open(context, cursor).ok_or_else(|| {
            ApiError::new(
                StatusCode::BAD_REQUEST,
                "invalid_cursor",
                "Cursor is malformed, or belongs to another query or grant; start again without it",
            )
        })
    }

    /// `links.next`: this request again, with `cursor`.
    pub fn next_link(&self, cursor: Option<&str>) -> Value {
        let Some(cursor) = cursor else { return Value::Null };
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in self.read.params() {
            // A cursor continues a session of changes without them.
            if name != "cursor" && name != "changes_since" {
                query.append_pair(name, value);
            }
        }
        query.append_pair("cursor", cursor);
        format!("{}?{}", self.read.path(), query.finish()).into()
    }
}

/// The accesses to one stream of one connector. Several of its connections are read as one.
///
/// # Errors
/// Returns `ambiguous_connection` if several connectors have a stream of this name, because their records have
/// different fields.
pub fn stream_accesses(
    context: &Context<'_>,
    catalog: &Catalog,
    stream: &str,
    params: &Params,
) -> Result<Vec<Access>, ApiError> {
    let selector = Selector {
        stream: Some(stream),
        connection: params.single("connection_id")?,
        connector: params.single("connector_id")?,
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

/// 409 `ambiguous_connection`, with the candidates.
pub fn ambiguous(message: String, candidates: &[Access]) -> ApiError {
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
pub fn envelope(
    access: &Access,
    row: &enforcement::Row,
    wanted: Option<&BTreeSet<String>>,
) -> Map<String, Value> {
    let mut record = envelope_without_data(access, &row.key, row.emitted_ms);
    record.insert("data".to_owned(), Value::Object(access.project(row, wanted)));
    record
}

/// A record's envelope without data.
pub fn envelope_without_data(access: &Access, key: &str, emitted_ms: i64) -> Map<String, Value> {
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

/// Data older than this counts as stale, in milliseconds: one week.
const STALE_MS: i64 = 7 * 24 * 3600 * 1000;

/// `freshness`, computed from when the newest record was collected.
pub fn freshness(last: Option<i64>) -> Value {
    match last {
        None => json!({ "status": "unknown" }),
        Some(last) => {
            let status = if time::now_ms() - last > STALE_MS { "stale" } else { "current" };
            json!({ "status": status, "captured_at": time::format_ms(last) })
        }
    }
}

/// The `meta` of an answer without a count.
pub fn plain_meta() -> Value {
    meta_with(&[])
}

/// The same with these warnings.
pub fn meta_with(warnings: &[Value]) -> Value {
    json!({ "count": { "kind": "none" }, "warnings": warnings })
}

/// Warns of data that is older than a week, by the oldest import of what is read. Says nothing about data that no
/// import keeps up to date.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn stale(db: &Sqlite, accesses: &[Access]) -> rusqlite::Result<Vec<Value>> {
    let oldest = Age::of_all(db, accesses)?.into_values().min_by_key(|age| age.imported);
    let is_stale = |age: &Age| time::now_ms() - age.imported > STALE_MS;
    let warning = |age: Age| json!({ "code": "stale_data", "message": age.in_words() });
    Ok(oldest.filter(is_stale).map(warning).into_iter().collect())
}

/// How old the data of a connection is that an import keeps up to date.
#[derive(Debug, Clone, Copy)]
pub struct Age {
    /// The end of its last import, in milliseconds.
    pub imported: i64,
    /// The time of the newest covered record that existed then, in milliseconds.
    pub newest: Option<i64>,
}

impl Age {
    /// The ages of all connections that `accesses` reach, by id.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn of_all(db: &Sqlite, accesses: &[Access]) -> rusqlite::Result<BTreeMap<String, Self>> {
        let mut all: BTreeMap<String, Self> = BTreeMap::new();
        for access in accesses {
            let id = &access.connection().id;
            let Some(imported) = imported_ms(db, id)? else { continue };
            let newest = access.newest(db, imported)?;
            let age = all.entry(id.clone()).or_insert(Self { imported, newest });
            age.newest = age.newest.max(newest);
        }
        Ok(all)
    }

    fn in_words(self) -> String {
        let day = |ms: i64| {
            let text = time::format_ms(ms);
            text.get(..10).unwrap_or(&text).to_owned()
        };
        let newest = self.newest.map(|newest| format!(", newest record {}", day(newest)));
        format!("data as of {}{}", day(self.imported), newest.unwrap_or_default())
    }
}

/// Warnings that state how old the data of each connection is that an import keeps up to date.
pub fn ages(accesses: &[Access], ages: &BTreeMap<String, Age>) -> Vec<Value> {
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let mut warnings = Vec::new();
    for connection in accesses.iter().map(Access::connection) {
        if let (true, Some(age)) = (told.insert(&connection.id), ages.get(&connection.id)) {
            let message = format!("{}: {}", connection.display_name, age.in_words());
            warnings.push(json!({ "code": "data_as_of", "message": message }));
        }
    }
    warnings
}

/// Warnings that name the fields that the grant leaves out because they reveal later days than the record's own.
pub fn beyond(accesses: &[Access]) -> Vec<Value> {
    let mut names: Vec<String> = Vec::new();
    for access in accesses {
        for field in access.beyond() {
            let name = format!("{}.{}", access.stream().name, field.name);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let message =
        format!("not shown, because it reveals days after the grant's last one: {}", names.join(", "));
    let warning = json!({ "code": "fields_of_later_days", "message": message });
    if names.is_empty() { Vec::new() } else { vec![warning] }
}
