//! Tokens: issued once for a grant, known by their hash, refused when the grant is over.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use base64::Engine as _;
use rusqlite::{Connection as Sqlite, OptionalExtension, params};
use serde_json::{Map, Value, json};

use super::flows::Approved;
use super::wish::Wish;
use crate::sandbox::App;
use crate::sandbox::grant::{
    Client, Declaration, Grant, GrantStream, SUBJECT, Source, Subject, TimeConstraint,
};
use crate::sandbox::seed::sha256_hex;
use crate::sandbox::store::{Catalog, random_id};
use crate::sandbox::time;
use crate::sandbox::wire::{ApiError, Reply, Request};

/// What the owner left of a request.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Of each choice that is kept, by its number, the fields.
    pub kept: Vec<(usize, BTreeSet<String>)>,
    /// Records from here on only, in milliseconds, where they have a time.
    pub since: Option<i64>,
    /// When the grant ends, in milliseconds.
    pub expires_ms: Option<i64>,
}

/// The hash under which a token is known.
pub fn hash(token: &str) -> String {
    sha256_hex(token.as_bytes())
}

/// Makes the grant that `wish` narrowed by `selection` is.
///
/// # Errors
/// `invalid_request` where nothing is left, or a choice is not one of the wish's.
pub fn resolve(
    catalog: &Catalog,
    client_id: &str,
    wish: &Wish,
    selection: &Selection,
) -> Result<Grant, ApiError> {
    let native = wish.source.kind == "provider_native";
    let mut streams: Vec<GrantStream> = Vec::new();
    for (number, kept) in &selection.kept {
        let gone = || ApiError::invalid("A choice is not one of this request's; load the page again");
        let choice = wish.choices.get(*number).ok_or_else(gone)?;
        let connector = catalog.connector(&choice.connector).ok_or_else(gone)?;
        let stream = connector.stream(&choice.stream).ok_or_else(gone)?;
        let required = |name: &String| stream.field(name).is_some_and(|field| field.required);
        let fields: Vec<String> =
            choice.fields.iter().filter(|name| required(name) || kept.contains(*name)).cloned().collect();
        let since = match &stream.consent_time_field {
            Some(_) => choice.since.max(selection.since),
            None => None,
        };
        let time_constraint =
            stream.consent_time_field.as_ref().filter(|_| since.is_some() || choice.until.is_some());
        let granted = GrantStream {
            name: stream.name.clone(),
            instance_ids: vec![choice.connection.clone()],
            fields,
            time_constraint: time_constraint.map(|field| TimeConstraint {
                field: field.clone(),
                since: since.map(time::format_ms),
                until: choice.until.map(time::format_ms),
            }),
            resources: choice.resources.clone(),
            source: native.then(|| Source { kind: "connector".to_owned(), id: connector.id.clone() }),
        };
        // Connections that are granted alike are one entry with several instances.
        let alike = streams.iter_mut().find(|known| {
            GrantStream { instance_ids: Vec::new(), ..(*known).clone() }
                == GrantStream { instance_ids: Vec::new(), ..granted.clone() }
        });
        match alike {
            Some(known) => known.instance_ids.extend(granted.instance_ids),
            None => streams.push(granted),
        }
    }
    if streams.is_empty() {
        return Err(ApiError::invalid("Nothing is ticked: approve at least one stream, or deny"));
    }
    Ok(Grant {
        version: "0.1.0".to_owned(),
        grant_id: random_id("grt_")?,
        issued_at: time::format_ms(time::now_ms()),
        expires_at: selection.expires_ms.map(time::format_ms),
        subject: Subject { id: SUBJECT.to_owned() },
        client: Client { client_id: client_id.to_owned() },
        source: wish.source.clone(),
        source_declaration: Declaration { version: "sandbox.v1".to_owned() },
        purpose_code: wish.purpose_code.clone(),
        purpose_description: wish.purpose_description.clone(),
        access_mode: if wish.single_use { "single_use" } else { "continuous" }.to_owned(),
        streams,
    })
}

/// Keeps a grant and issues its one token.
///
/// # Errors
/// Where the database fails.
pub fn issue(app: &App, grant: Grant) -> Result<Approved, ApiError> {
    // 256 bits; the prefix is for people and secret scanners, no server reads it.
    let token = format!("{}{}", random_id("pdpp_ct_")?, random_id("")?);
    let body = serde_json::to_string(&grant).map_err(|_| ApiError::invalid("The grant does not write"))?;
    let expires_ms = grant.expires_at.as_deref().and_then(time::parse_ms);
    app.store.write(|tx, _| {
        tx.execute(
            "INSERT INTO grants (grant_id, body, expires_ms) VALUES (?1, ?2, ?3)",
            params![grant.grant_id, body, expires_ms],
        )?;
        tx.execute(
            "INSERT INTO token (hash, kind, grant_id) VALUES (?1, 'client', ?2)",
            params![hash(&token), grant.grant_id],
        )?;
        Ok::<_, ApiError>(())
    })?;
    Ok(Approved { grant, token })
}

/// A token as the store knows it.
enum Known {
    Owner,
    Client { grant: Box<Grant>, revoked: bool },
}

fn look_up(app: &App, token: &str) -> Result<Option<Known>, ApiError> {
    if hash(token) == app.owner_token_hash {
        return Ok(Some(Known::Owner));
    }
    app.store.read(|db, _| {
        let found: Option<(String, Option<i64>)> = db
            .prepare_cached(
                "SELECT g.body, g.revoked_ms FROM token t JOIN grants g ON g.grant_id = t.grant_id
                 WHERE t.hash = ?1 AND t.kind = 'client'",
            )?
            .query_row([hash(token)], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((body, revoked_ms)) = found else { return Ok(None) };
        // A grant that does not read grants nothing.
        let grant = serde_json::from_str(&body).ok();
        Ok(grant.map(|grant| Known::Client { grant: Box::new(grant), revoked: revoked_ms.is_some() }))
    })
}

fn bearer(request: &Request) -> Option<&str> {
    let (scheme, token) = request.header("authorization")?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}

/// The grant that a request comes with.
///
/// # Errors
/// 401 without a token or with an unknown one; 403 `grant_revoked`, `grant_expired`, and for an owner's.
pub fn authorize(app: &App, request: &Request) -> Result<Grant, ApiError> {
    let token =
        bearer(request).ok_or_else(|| ApiError::challenge("authentication_error", "Missing Bearer token"))?;
    match look_up(app, token)? {
        None => Err(ApiError::challenge("context.active_false", "The token is not active")),
        Some(Known::Owner) => Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "owner_token_not_accepted",
            "Owner tokens are not accepted here; ask the owner for a grant with `pdpp connect`",
        )),
        Some(Known::Client { revoked: true, .. }) => {
            Err(ApiError::new(StatusCode::FORBIDDEN, "grant_revoked", "Grant has been revoked"))
        }
        Some(Known::Client { grant, .. }) if grant.is_expired(time::now_ms()) => {
            Err(ApiError::new(StatusCode::FORBIDDEN, "grant_expired", "Grant has expired"))
        }
        Some(Known::Client { grant, .. }) => Ok(*grant),
    }
}

/// `POST /grants/{grant_id}/revoke`, with the grant's own token.
///
/// # Errors
/// As [`authorize`]; `permission_error` for another grant's token.
pub fn revoke(app: &App, request: &Request, grant_id: &str) -> Result<Reply, ApiError> {
    let token =
        bearer(request).ok_or_else(|| ApiError::challenge("authentication_error", "Missing Bearer token"))?;
    let own = match look_up(app, token)? {
        None => return Err(ApiError::challenge("context.active_false", "The token is not active")),
        Some(Known::Owner) => false,
        Some(Known::Client { grant, .. }) => grant.grant_id == grant_id,
    };
    if !own {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "permission_error",
            "A grant is revoked with its own token",
        ));
    }
    // Again is fine: who revokes wants it gone. An expired grant can be revoked too.
    app.store
        .write(|tx, _| {
            tx.execute(
                "UPDATE grants SET revoked_ms = ?2 WHERE grant_id = ?1 AND revoked_ms IS NULL",
                params![grant_id, time::now_ms()],
            )
        })
        .map_err(|error: rusqlite::Error| ApiError::from(error))?;
    Ok(Reply::ok(&json!({ "revoked": true })))
}

/// `POST /introspect` (RFC 7662), for the resource server of the provider's own.
///
/// # Errors
/// 401 without its credentials.
pub fn introspect(app: &App, request: &Request) -> Result<Reply, ApiError> {
    if !is_resource_server(app, request) {
        let refused = ApiError::new(
            StatusCode::UNAUTHORIZED,
            "context.authentication_failed",
            "Introspection client authentication failed",
        );
        return Ok(refused.reply(request).with("www-authenticate", "Basic realm=\"introspection\""));
    }
    let form = request.form();
    let token = form.iter().find(|(name, _)| name == "token").map(|(_, token)| token.as_str());
    let token = token.ok_or_else(|| ApiError::invalid("token is required").param("token"))?;
    let answer = match look_up(app, token)? {
        Some(Known::Owner) => json!({
            "active": true,
            "pdpp_token_kind": "owner",
            "subject_id": SUBJECT,
            "iss": request.base,
        }),
        Some(Known::Client { grant, revoked: false }) if !grant.is_expired(time::now_ms()) => {
            let mut details = json!({
                "type": super::metadata::DETAILS_TYPE,
                "source": grant.source,
                "purpose_code": grant.purpose_code,
                "access_mode": grant.access_mode,
                "streams": grant.streams,
            });
            if let Some(description) = &grant.purpose_description {
                details["purpose_description"] = description.clone().into();
            }
            let mut answer = json!({
                "active": true,
                "pdpp_token_kind": "client",
                "subject_id": grant.subject.id,
                "client_id": grant.client.client_id,
                "grant_id": grant.grant_id,
                "iss": request.base,
                "authorization_details": [details],
            });
            if let Some(expires) = grant.expires_at.as_deref().and_then(time::parse_ms) {
                answer["exp"] = (expires / 1000).into();
            }
            answer
        }
        _ => json!({ "active": false }),
    };
    Ok(Reply::ok(&answer).no_store())
}

fn is_resource_server(app: &App, request: &Request) -> bool {
    let credentials = || {
        let (scheme, encoded) = request.header("authorization")?.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let decoded = base64::engine::general_purpose::STANDARD.decode(encoded.trim()).ok()?;
        let decoded = String::from_utf8(decoded).ok()?;
        let (id, secret) = decoded.split_once(':')?;
        // RFC 6749 §2.3.1: both are form-encoded inside.
        let plain = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        Some((plain(id), plain(secret)))
    };
    credentials().is_some_and(|(id, secret)| {
        id == app.introspection.client_id && hash(&secret) == hash(&app.introspection.client_secret)
    })
}

/// How many records each slot has, for the owner's page.
///
/// # Errors
/// Whatever SQLite says.
pub fn record_counts(db: &Sqlite) -> rusqlite::Result<Map<String, Value>> {
    let mut counts = Map::new();
    let mut rows = db.prepare_cached(
        "SELECT s.connection, s.stream, count(r.rid) FROM slot s
         LEFT JOIN record r INDEXED BY record_sort ON r.slot = s.slot AND r.live = 1 GROUP BY s.slot",
    )?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let (connection, stream, count): (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        counts.insert(format!("{connection}/{stream}"), count.into());
    }
    Ok(counts)
}
