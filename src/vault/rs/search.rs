//! Full-text search over the granted fields, with the evidence for each hit.

use std::cell::OnceCell;

use axum::http::StatusCode;
use rusqlite::Connection as Sqlite;
use serde_json::{Value, json};

use super::context::{Context, stale};
use super::params::{self, Params};
use super::read::segment;
use super::records;
use crate::vault::declaration::Relation;
use crate::vault::enforcement::{self, Access, Hit, HitPosition, Row, Selector};
use crate::vault::pace::Pace;
use crate::vault::wire::ApiError;
use crate::vault::words::Query;
use crate::vault::{excerpts, time};

const PARAMS: &[&str] =
    &["q", "limit", "cursor", "streams", "streams[]", "filter[", "connection_id", "connector_id"];

/// The order of hits: first those with all words in their titles and actors, then the others; newest first in each
/// part.
pub const ORDER: &str = "titles_then_newest";

/// How many matches are looked for in a field that is shown. An excerpt holds fewer.
const SHOWN: usize = 32;

/// `GET /v1/search`
///
/// # Errors
/// Returns every refusal.
pub fn lexical(context: &Context<'_>) -> Result<Value, ApiError> {
    let params = Params::read(context.read, PARAMS)?;
    let q = params.single("q")?.ok_or_else(|| ApiError::invalid("q is required").param("q"))?;
    let (limit, warnings) = params.limit()?;
    let query = Query::parse(q);
    if query.is_empty() {
        return Err(ApiError::invalid(
            "q has no word to look for. A word consists of letters or digits, or is an emoji. To list records without \
             q, use /v1/streams/{stream}/records",
        )
        .param("q"));
    }
    let streams = params.many("streams");
    let conditions = params.conditions()?;
    if !conditions.is_empty() && streams.len() != 1 {
        return Err(ApiError::invalid(
            "filter[...] requires exactly one streams[] value (e.g. \
             ?streams[]=messages&filter[received_at][gte]=2026-01-01T00:00:00Z)",
        )
        .param("streams"));
    }
    context.paced(|db, catalog, pace| {
        let selector = Selector {
            stream: None,
            connection: params.single("connection_id")?,
            connector: params.single("connector_id")?,
        };
        let mut accesses = enforcement::reach(context.grant, catalog, selector)?;
        for stream in &streams {
            if !accesses.iter().any(|access| access.stream().name == *stream) {
                return Err(ApiError::new(
                    StatusCode::FORBIDDEN,
                    "grant_stream_not_allowed",
                    format!("Stream '{stream}' not in grant"),
                )
                .param("streams"));
            }
        }
        if !streams.is_empty() {
            accesses.retain(|access| streams.contains(&access.stream().name.as_str()));
        }
        let mut sources = Vec::new();
        for access in &accesses {
            sources.push((access, params::filter(access, &conditions)?));
        }
        let ids: Vec<String> = accesses
            .iter()
            .map(|access| format!("{}/{}", access.connection().id, access.stream().name))
            .collect();
        let filters: Vec<String> =
            conditions.iter().map(|(name, compare, value)| format!("{name} {compare:?} {value}")).collect();
        let bound = context.cursor_context(&["search", q, &ids.join(","), &filters.join("\u{1e}")]);
        let after: Option<HitPosition> =
            params.single("cursor")?.map(|cursor| context.open(&bound, cursor)).transpose()?;

        let (mut count, mut titled, mut page) = (0, 0, Vec::new());
        for (source, (access, filter)) in sources.iter().enumerate() {
            let matches = access.search(db, &query, filter, pace)?;
            count += matches.count();
            titled += matches.titled();
            let hits = access.hits(db, &matches, after.as_ref(), limit + 1)?;
            page.extend(hits.into_iter().map(|hit| (source, hit)));
        }
        page.sort_by(|(_, left), (_, right)| left.at.cmp(&right.at));
        let has_more = page.len() > limit;
        page.truncate(limit);
        let next = match page.last().filter(|_| has_more) {
            Some((_, last)) => Some(context.seal(&bound, &last.at)?),
            None => None,
        };
        let mut warnings = warnings.clone();
        warnings.extend(stale(db, &accesses)?);
        let mut data = Vec::with_capacity(page.len());
        // Once for each source, and only if a hit needs it.
        let parents: Vec<OnceCell<Vec<(Relation, Access)>>> =
            sources.iter().map(|_| OnceCell::new()).collect();
        for (source, found) in &page {
            let access = sources[*source].0;
            let mut hit = hit(&query, access, found);
            if access.stream().is_extended {
                let parents = || {
                    parents[*source].get_or_init(|| records::relations(context, catalog, access)).as_slice()
                };
                name(db, access, &found.row, parents, pace, &mut hit)?;
            }
            data.push(hit);
        }
        let mut answer = json!({
            "object": "list",
            "url": context.read.path(),
            "data": data,
            "has_more": has_more,
            "links": { "self": context.read.target(), "next": context.next_link(next.as_deref()) },
            "meta": meta(count, titled, &accesses, &warnings),
        });
        if let Some(next) = next {
            answer["next_cursor"] = next.into();
        }
        Ok(answer)
    })
}

/// The title and time of a hit, from its own granted fields or from its granted parent, such as a chat's title with
/// the speaker (O6.6).
fn name<'a>(
    db: &Sqlite,
    access: &Access,
    row: &Row,
    relations: impl FnOnce() -> &'a [(Relation, Access)],
    pace: &Pace<'_>,
    hit: &mut Value,
) -> rusqlite::Result<()> {
    let of = |access: &Access, row: &Row, role: &str| {
        let field = access.fields().find(|field| field.role.as_deref() == Some(role))?;
        access.text(row, &field.name).filter(|text| !text.trim().is_empty())
    };
    let mut title = of(access, row, "primary-title");
    let mut time = hit.get("sent_at").and_then(Value::as_str).map(str::to_owned);
    if title.is_none() || time.is_none() {
        let parent = relations().iter().find_map(|(relation, parent)| {
            let key = access.text(row, relation.local_key.as_deref()?)?;
            Some((relation, parent, key))
        });
        if let Some((relation, parent, key)) = parent
            && let Some(found) = parent.related(db, relation, &key, 1, pace)?.pop()
        {
            let actor = of(access, row, "actor");
            let of_parent = of(parent, &found, "primary-title");
            let parts: Vec<String> = of_parent.into_iter().chain(actor).collect();
            title = title.or_else(|| (!parts.is_empty()).then(|| parts.join(" · ")));
            time = time.or_else(|| of(parent, &found, "event-time"));
        }
    }
    if let Some(title) = title {
        hit["title"] = crate::text::prefix(&title, MOST_TITLE).into();
    }
    if let Some(time) = time {
        hit["sent_at"] = time.into();
    }
    Ok(())
}

/// The maximum size of a hit's title, in bytes.
const MOST_TITLE: usize = 200;

fn meta(count: usize, titled: usize, accesses: &[Access], warnings: &[Value]) -> Value {
    let connections: std::collections::BTreeSet<&str> =
        accesses.iter().map(|access| access.connection().id.as_str()).collect();
    json!({
        "count": count,
        "count_accuracy": "exact",
        "recall": {
            "complete": true,
            "order": ORDER,
            "ranked_candidate_count": count,
            "ranking_scope": "all_matches",
            "sources_searched_count": connections.len(),
            "titled_count": titled,
            "truncated": false,
        },
        "warnings": warnings,
    })
}

fn hit(query: &Query, access: &Access, found: &Hit) -> Value {
    let row = &found.row;
    let connection = access.connection();
    let stream = &access.stream().name;
    let route = format!("/v1/streams/{}/records/{}", segment(stream), segment(&row.key));
    let mut matched = Vec::new();
    for field in access.lexical() {
        let Some(whole) = access.text(row, &field.name) else { continue };
        let places = query.matches(&whole, SHOWN);
        if !places.is_empty() {
            matched.push((field, excerpts::excerpt(&whole, &places)));
        }
    }
    // A title says what a hit is, and a body says why it matches, so the body's excerpt is the better snippet.
    let best = matched.iter().rev().max_by_key(|(_, excerpt)| excerpt.marks).or(matched.first());
    let excerpts: Vec<Value> = matched
        .iter()
        .map(|(field, excerpt)| {
            json!({
                "object": "evidence_excerpt",
                "field_path": field.name,
                "preview_text": excerpt.marked,
                "provenance": "lexical_match",
                "truncated": excerpt.truncated,
                "read": {
                    "object": "field_window_read",
                    "method": "GET",
                    "route": format!("{route}/field-window"),
                    "stream": stream,
                    "record_id": row.key,
                    "field": field.name,
                    "connection_id": connection.id,
                },
            })
        })
        .collect();
    let mut hit = json!({
        "object": "search_result",
        "stream": stream,
        "record_key": row.key,
        "record_url": format!("{route}?connection_id={}", segment(&connection.id)),
        "emitted_at": time::format_ms(row.emitted_ms),
        "connector_id": access.connector().key,
        "connection_id": connection.id,
        "connector_instance_id": connection.id,
        "display_name": connection.display_name,
        "matched_fields": matched.iter().map(|(field, _)| field.name.clone()).collect::<Vec<_>>(),
        "evidence_excerpts": excerpts,
        // Says no more than the order does. The holder of the grant must not learn how rare a word is in other
        // records.
        "score": { "kind": ORDER, "order": "lower_is_better", "value": u8::from(!found.at.is_titled()) },
    });
    // A caller that merges this list with others uses the time that it is sorted by, if that is granted.
    if let Some(at) = found.at.time_ms() {
        hit["score"]["at"] = time::format_ms(at).into();
    }
    // The record's own time, if it is granted (R3.36). `emitted_at` is when it was stored.
    let dated_by = access.fields().find(|field| field.role.as_deref() == Some("event-time"));
    let dated_by = dated_by.map(|field| field.name.as_str()).or_else(|| access.cursor_field());
    if let Some(time) = dated_by.and_then(|field| access.text(row, field)) {
        hit["sent_at"] = time.into();
    }
    if let Some((field, excerpt)) = best {
        hit["snippet"] = json!({ "field": field.name, "text": excerpt.marked });
    }
    hit
}
