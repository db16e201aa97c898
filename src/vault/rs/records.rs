//! Records: pages, single records and changes.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use rusqlite::Connection as Sqlite;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::context::{
    Context, ambiguous, envelope, envelope_without_data, meta_with, stale, stream_accesses,
};
use super::params::{self, Params};
use crate::vault::declaration::Relation;
use crate::vault::enforcement::{
    self, Access, Change, ChangePosition, Filter, Order, Position, Row, Selector, SortedPosition,
};
use crate::vault::pace::Pace;
use crate::vault::store::{self, Catalog};
use crate::vault::time;
use crate::vault::wire::ApiError;

const LIST_PARAMS: &[&str] = &[
    "limit",
    "cursor",
    "order",
    "sort",
    "count",
    "filter[",
    "fields",
    "fields[]",
    "view",
    "expand",
    "expand[]",
    "expand_limit[",
    "changes_since",
    "connection_id",
    "connector_id",
];
const SINGLE_PARAMS: &[&str] =
    &["fields", "fields[]", "view", "expand", "expand[]", "expand_limit[", "connection_id", "connector_id"];

/// The content of a page's cursor.
#[derive(Debug, Serialize, Deserialize)]
enum Cursor {
    Page(Position),
    /// In the order of a field other than the stream's own.
    Sorted(SortedPosition),
    Changes {
        since: i64,
        horizon: i64,
        after: Option<ChangePosition>,
    },
}

/// `GET /v1/streams/{stream}/records`
///
/// # Errors
/// Returns every refusal.
pub fn list(context: &Context<'_>, stream: &str) -> Result<Value, ApiError> {
    let params = Params::read(context.read, LIST_PARAMS)?;
    refuse_beyond_core(context, &params)?;
    let (limit, warnings) = params.limit()?;
    let conditions = params.conditions()?;
    context.paced(|db, catalog, pace| {
        let accesses = stream_accesses(context, catalog, stream, &params)?;
        let sort = sort(&params, &accesses, context.vault.config.core)?;
        let count = match params.single("count")? {
            None | Some("none") => false,
            Some("exact" | "estimated") => true,
            Some(_) => return Err(ApiError::invalid("count must be none, exact or estimated").param("count")),
        };
        let wanted = params.projection(&accesses)?;
        let expansions = expansions(context, catalog, &accesses, &params)?;
        let sources: Vec<(&Access, Filter)> = accesses
            .iter()
            .map(|access| Ok((access, params::filter(access, &conditions)?)))
            .collect::<Result<_, ApiError>>()?;

        let ids: Vec<&str> = accesses.iter().map(|access| access.connection().id.as_str()).collect();
        let filters = serde_json::to_string(
            &conditions
                .iter()
                .map(|(name, compare, value)| (name, format!("{compare:?}"), value))
                .collect::<Vec<_>>(),
        )
        .unwrap_or_default();
        let bound = context.cursor_context(&["records", stream, &ids.join(","), &sort.bound(), &filters]);
        let session = context.cursor_context(&["changes", stream, &ids.join(",")]);

        let cursor = match params.single("cursor")? {
            // A cursor carries its session, so `changes_since` next to it has no effect.
            Some(cursor) => match context.open(&bound, cursor) {
                Ok(cursor) => Some(cursor),
                Err(error) => Some(context.vault.seal.open(&session, cursor).ok_or(error)?),
            },
            None => match params.single("changes_since")? {
                Some(since) => Some(begin_changes(context, db, &session, since)?),
                None => None,
            },
        };
        if matches!(cursor, Some(Cursor::Changes { .. })) && !conditions.is_empty() {
            return Err(ApiError::invalid("filter cannot be combined with changes_since"));
        }

        let mut answer = Map::new();
        answer.insert("object".to_owned(), "list".into());
        answer.insert("url".to_owned(), context.read.path().into());
        let (data, next) = match cursor {
            Some(Cursor::Changes { since, horizon, after }) => {
                let (data, next) =
                    changes(db, &accesses, wanted.as_ref(), (since, horizon, after), limit, pace)?;
                let ended = Cursor::Changes { since: horizon, horizon, after: None };
                answer.insert("next_changes_since".to_owned(), context.seal(&session, &ended)?.into());
                (data, next.map(|next| context.seal(&session, &next)).transpose()?)
            }
            after => {
                let (rows, next) = match sort {
                    Sort::Cursor(order) => page(db, &sources, order, after.as_ref(), limit)?,
                    Sort::Field(field, order) => sorted(db, &sources, (field, order), after.as_ref(), limit)?,
                };
                let mut data = Vec::with_capacity(rows.len());
                for (access, row) in rows {
                    let mut record = envelope(access, &row, wanted.as_ref());
                    expand(db, &expansions, access, &row, &mut record, pace)?;
                    data.push(Value::Object(record));
                }
                (data, next.map(|next| context.seal(&bound, &next)).transpose()?)
            }
        };
        answer.insert("data".to_owned(), data.into());
        answer.insert("has_more".to_owned(), next.is_some().into());
        let links = json!({ "self": context.read.target(), "next": context.next_link(next.as_deref()) });
        answer.insert("links".to_owned(), links);
        if let Some(next) = next {
            answer.insert("next_cursor".to_owned(), next.into());
        }
        let counted = if count {
            let mut total = 0;
            for (access, filter) in &sources {
                total += access.count(db, filter)?;
            }
            json!({ "kind": "exact", "value": total })
        } else {
            json!({ "kind": "none" })
        };
        let mut warnings = warnings.clone();
        warnings.extend(stale(db, &accesses)?);
        answer.insert("meta".to_owned(), json!({ "count": counted, "warnings": warnings }));
        Ok(Value::Object(answer))
    })
}

/// `GET /v1/streams/{stream}/records/{id}`
///
/// # Errors
/// Returns every refusal.
pub fn single(context: &Context<'_>, stream: &str, id: &str) -> Result<Value, ApiError> {
    let params = Params::read(context.read, SINGLE_PARAMS)?;
    refuse_beyond_core(context, &params)?;
    context.paced(|db, catalog, pace| {
        let (access, row) = find(context, db, catalog, stream, id, &params, pace)?;
        let accesses = std::slice::from_ref(&access);
        let wanted = params.projection(accesses)?;
        let expansions = expansions(context, catalog, accesses, &params)?;
        let mut record = envelope(&access, &row, wanted.as_ref());
        // The size of what is granted. The holder of the grant must not learn the size of the rest.
        let whole = Value::Object(access.project(&row, None)).to_string().len();
        record.insert("record_json_bytes".to_owned(), whole.into());
        record.insert("connector_key".to_owned(), access.connector().key.clone().into());
        record.insert("links".to_owned(), json!({ "self": context.read.target() }));
        record.insert("meta".to_owned(), meta_with(&stale(db, accesses)?));
        expand(db, &expansions, &access, &row, &mut record, pace)?;
        Ok(Value::Object(record))
    })
}

/// The one record that `stream` and `id` name, in any connection.
///
/// # Errors
/// Returns `not_found`, `ambiguous_connection`, or the errors of [`enforcement::reach`].
pub fn find(
    context: &Context<'_>,
    db: &Sqlite,
    catalog: &Catalog,
    stream: &str,
    id: &str,
    params: &Params,
    pace: &Pace<'_>,
) -> Result<(Access, Row), ApiError> {
    let selector = Selector {
        stream: Some(stream),
        connection: params.single("connection_id")?,
        connector: params.single("connector_id")?,
    };
    let mut found = Vec::new();
    for access in enforcement::reach(context.grant, catalog, selector)? {
        if let Some(row) = access.get(db, id, pace)? {
            found.push((access, row));
        }
    }
    match found.len() {
        1 => found.pop().ok_or_else(|| ApiError::not_found("Record not found")),
        0 => Err(ApiError::not_found("Record not found")),
        _ => {
            let accesses: Vec<Access> = found.into_iter().map(|(access, _)| access).collect();
            Err(ambiguous(
                format!(
                    "Record '{id}' is present under more than one connection. Retry with `connection_id`."
                ),
                &accesses,
            ))
        }
    }
}

fn refuse_beyond_core(context: &Context<'_>, params: &Params) -> Result<(), ApiError> {
    if !context.vault.config.core {
        return Ok(());
    }
    let refused = |name: &str, what: &str| {
        ApiError::invalid(format!("{what} is not supported for client-token reads in PDPP v0.1")).param(name)
    };
    if params.has("filter[") {
        return Err(refused("filter", "filter[...]"));
    }
    if params.has("expand") || params.has("expand[]") || params.has("expand_limit[") {
        return Err(refused("expand", "expand[]"));
    }
    if params.has("view") {
        return Err(ApiError::invalid(
            "Client record reads must use explicit fields; views are resolved when the grant is issued",
        ));
    }
    Ok(())
}

/// The order of a page.
enum Sort<'a> {
    /// By the stream's own field.
    Cursor(Order),
    /// By another field.
    Field(&'a str, Order),
}

impl Sort<'_> {
    /// What a cursor is bound to: field and direction.
    fn bound(&self) -> String {
        match self {
            Self::Cursor(order) => format!("{order:?}"),
            Self::Field(field, order) => format!("{order:?} {field}"),
        }
    }
}

/// The order that a request asks for. The Core has only one, by the stream's own field.
fn sort<'a>(params: &'a Params<'_>, accesses: &[Access], is_core: bool) -> Result<Sort<'a>, ApiError> {
    let order = match params.single("order")? {
        None => None,
        Some("asc") => Some(Order::Ascending),
        Some("desc") => Some(Order::Descending),
        Some(_) => return Err(ApiError::invalid("order must be asc or desc").param("order")),
    };
    let Some(sort) = params.single("sort")? else {
        return Ok(Sort::Cursor(order.unwrap_or(Order::Descending)));
    };
    let invalid =
        |message: String| ApiError::new(StatusCode::BAD_REQUEST, "invalid_sort", message).param("sort");
    let (field, sorted) = match sort.strip_prefix('-') {
        Some(field) => (field, Order::Descending),
        None => (sort, Order::Ascending),
    };
    let is_cursor = accesses.iter().all(|access| access.cursor_field() == Some(field));
    let sorts = |access: &Access| !is_core && access.sort_fields().iter().any(|known| known.name == field);
    if !is_cursor && !accesses.iter().all(sorts) {
        let known = accesses.first().filter(|_| !is_core).map(Access::sort_fields).unwrap_or_default();
        let mut names: Vec<&str> = known.iter().map(|field| field.name.as_str()).collect();
        // A field that one of several accounts lacks cannot sort all of them.
        names.retain(|name| {
            accesses.iter().all(|access| access.sort_fields().iter().any(|known| known.name == *name))
        });
        let has_cursor = accesses.iter().all(|access| access.cursor_field().is_some());
        return Err(invalid(if !names.is_empty() {
            format!("Sort field '{field}' is not sortable here; use one of: {}", names.join(", "))
        } else if has_cursor {
            format!("Sort field '{field}' is not sortable here; use the schema's cursor_field")
        } else {
            format!("Sort field '{field}' is not sortable here")
        }));
    }
    match order {
        Some(order) if order != sorted => {
            Err(invalid("sort and order disagree. Send only one of them.".to_owned()))
        }
        _ if is_cursor => Ok(Sort::Cursor(sorted)),
        _ => Ok(Sort::Field(field, sorted)),
    }
}

/// The rows of a page, and where the next page begins, if there is one.
type Paged<'a> = (Vec<(&'a Access, Row)>, Option<Cursor>);

/// A page over all connections at once.
fn page<'a>(
    db: &Sqlite,
    sources: &[(&'a Access, Filter)],
    order: Order,
    after: Option<&Cursor>,
    limit: usize,
) -> rusqlite::Result<Paged<'a>> {
    let after = match after {
        Some(Cursor::Page(position)) => Some(position),
        _ => None,
    };
    let mut rows = Vec::new();
    for (access, filter) in sources {
        for row in access.page(db, filter, order, after, limit + 1)? {
            rows.push((access.position(&row), *access, row));
        }
    }
    rows.sort_by(|(left, ..), (right, ..)| order.compare(left, right));
    Ok(cut(rows, limit, Cursor::Page))
}

/// Does the same in the order of a field.
fn sorted<'a>(
    db: &Sqlite,
    sources: &[(&'a Access, Filter)],
    (field, order): (&str, Order),
    after: Option<&Cursor>,
    limit: usize,
) -> rusqlite::Result<Paged<'a>> {
    let after = match after {
        Some(Cursor::Sorted(position)) => Some(position),
        _ => None,
    };
    let mut rows = Vec::new();
    for (access, filter) in sources {
        let Some(field) = access.field(field) else { continue };
        for (at, row) in access.sorted(db, filter, (field, order), after, limit + 1)? {
            rows.push((at, *access, row));
        }
    }
    rows.sort_by(|(left, ..), (right, ..)| order.compare_values(left, right));
    Ok(cut(rows, limit, Cursor::Sorted))
}

/// The first rows, and the place of the last of them if there are more.
fn cut<P>(mut rows: Vec<(P, &Access, Row)>, limit: usize, cursor: impl Fn(P) -> Cursor) -> Paged<'_> {
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let mut last = None;
    let rows = rows
        .into_iter()
        .map(|(at, access, row)| {
            last = Some(at);
            (access, row)
        })
        .collect();
    (rows, last.filter(|_| has_more).map(cursor))
}

fn begin_changes(context: &Context<'_>, db: &Sqlite, session: &str, since: &str) -> Result<Cursor, ApiError> {
    let horizon = store::last_seq(db)?;
    if since == "beginning" {
        return Ok(Cursor::Changes { since: 0, horizon, after: None });
    }
    match context.vault.seal.open(session, since) {
        Some(Cursor::Changes { since, .. }) if since < store::history_from(db)? => Err(ApiError::new(
            StatusCode::GONE,
            "cursor_expired",
            "changes_since is older than the stored changes; pass `beginning` to start again",
        )),
        Some(Cursor::Changes { since, .. }) => Ok(Cursor::Changes { since, horizon, after: None }),
        _ => Err(ApiError::new(
            StatusCode::BAD_REQUEST,
            "invalid_cursor",
            "Malformed changes_since cursor; pass `beginning` to bootstrap or the `next_changes_since` value returned \
             by a prior read of the same stream and connections",
        )),
    }
}

fn changes(
    db: &Sqlite,
    accesses: &[Access],
    wanted: Option<&BTreeSet<String>>,
    (since, horizon, after): (i64, i64, Option<ChangePosition>),
    limit: usize,
    pace: &Pace<'_>,
) -> rusqlite::Result<(Vec<Value>, Option<Cursor>)> {
    let mut found = Vec::new();
    for access in accesses {
        for (place, change) in access.changes(db, since, horizon, after.as_ref(), limit + 1, pace)? {
            found.push((place, access, change));
        }
    }
    found.sort_by(|left, right| left.0.cmp(&right.0));
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|(place, ..)| Cursor::Changes {
        since,
        horizon,
        after: Some(place.clone()),
    });
    let data = found
        .into_iter()
        .map(|(_, access, change)| {
            Value::Object(match change {
                Change::Present(row) => envelope(access, &row, wanted),
                Change::Gone { key, emitted_ms } => {
                    let mut gone = envelope_without_data(access, &key, emitted_ms);
                    gone.insert("deleted".to_owned(), true.into());
                    gone.insert("deleted_at".to_owned(), time::format_ms(emitted_ms).into());
                    gone
                }
            })
        })
        .collect();
    Ok((data, next))
}

/// A relation that a request follows: where it leads in the same grant, and how far.
struct Expansion {
    relation: Relation,
    limit: usize,
    /// The targets, by connection.
    targets: Vec<Access>,
}

/// The relations that `access` can follow: into streams of the same connection that are granted with the field that
/// points back, or whose key is in a granted field here.
pub fn relations(context: &Context<'_>, catalog: &Catalog, access: &Access) -> Vec<(Relation, Access)> {
    let follow = |relation: &Relation| {
        if let Some(local_key) = &relation.local_key {
            access.field(local_key)?;
        }
        let selector = Selector {
            stream: Some(&relation.stream),
            connection: Some(&access.connection().id),
            connector: None,
        };
        let target = enforcement::reach(context.grant, catalog, selector).ok()?.pop()?;
        if relation.local_key.is_none() {
            target.field(&relation.foreign_key)?;
        }
        Some((relation.clone(), target))
    };
    access.stream().relations.iter().filter_map(follow).collect()
}

fn expansions(
    context: &Context<'_>,
    catalog: &Catalog,
    accesses: &[Access],
    params: &Params,
) -> Result<Vec<Expansion>, ApiError> {
    let invalid =
        |message: String| ApiError::new(StatusCode::BAD_REQUEST, "invalid_expand", message).param("expand");
    let names: BTreeSet<&str> = params.many("expand").into_iter().collect();
    let mut expansions = Vec::new();
    for name in names {
        let mut found: Option<Expansion> = None;
        for access in accesses {
            for (relation, target) in relations(context, catalog, access) {
                if relation.name != name {
                    continue;
                }
                let limit = params.number(&format!("expand_limit[{name}]"))?;
                let limit = match limit {
                    Some(0) => return Err(invalid(format!("expand_limit[{name}] must be at least 1"))),
                    Some(_) if !relation.many => {
                        return Err(invalid(format!(
                            "expand_limit[{name}]: the relation has at most one record"
                        )));
                    }
                    Some(limit) => limit.min(Relation::MAX_LIMIT),
                    None => Relation::DEFAULT_LIMIT,
                };
                found
                    .get_or_insert_with(|| Expansion { relation, limit, targets: Vec::new() })
                    .targets
                    .push(target);
            }
        }
        let stream = accesses.first().map(|access| access.stream().name.clone()).unwrap_or_default();
        expansions.push(
            found.ok_or_else(|| invalid(format!("Unsupported expand relation '{name}' on '{stream}'")))?,
        );
    }
    Ok(expansions)
}

fn expand(
    db: &Sqlite,
    expansions: &[Expansion],
    access: &Access,
    row: &Row,
    record: &mut Map<String, Value>,
    pace: &Pace<'_>,
) -> rusqlite::Result<()> {
    if expansions.is_empty() {
        return Ok(());
    }
    let mut expanded = Map::new();
    for expansion in expansions {
        let target = expansion.targets.iter().find(|target| target.connection().id == access.connection().id);
        let Some(target) = target else { continue };
        let key = match &expansion.relation.local_key {
            Some(local_key) => access.text(row, local_key),
            None => Some(row.key.clone()),
        };
        let rows = match key {
            Some(key) => target.related(db, &expansion.relation, &key, expansion.limit + 1, pace)?,
            None => Vec::new(),
        };
        let has_more = rows.len() > expansion.limit;
        let mut records =
            rows.iter().take(expansion.limit).map(|row| Value::Object(envelope(target, row, None)));
        let value = if expansion.relation.many {
            json!({ "object": "list", "data": records.collect::<Vec<_>>(), "has_more": has_more })
        } else {
            records.next().unwrap_or(Value::Null)
        };
        expanded.insert(expansion.relation.name.clone(), value);
    }
    record.insert("expanded".to_owned(), Value::Object(expanded));
    Ok(())
}
