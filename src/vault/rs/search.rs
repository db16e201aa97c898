//! Full-text search over the granted fields, with the evidence for each hit.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::context::{Context, stale};
use super::params::{self, Params};
use super::read::segment;
use crate::vault::enforcement::{self, Access, Filter, Row, Selector};
use crate::vault::pace::Pace;
use crate::vault::wire::ApiError;
use crate::vault::words::Query;
use crate::vault::{excerpts, time};

const PARAMS: &[&str] =
    &["q", "limit", "cursor", "streams", "streams[]", "filter[", "connection_id", "connector_id"];

/// Matches that are ranked, over all streams searched: the newest of each in equal parts. More cost more
/// on every search, and who needs more can name the stream.
const RANKED: usize = 300;
/// Of which a stream of a connection has at least these.
const RANKED_EACH: usize = 16;

/// Where a page ended: the last hit's place in the ranking. The score is kept as its bits, so that it
/// compares as it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct HitPosition {
    score: u64,
    connection: String,
    stream: String,
    key: String,
}

/// Matches looked for in a field that is shown: an excerpt holds fewer.
const SHOWN: usize = 32;

struct Found<'a> {
    access: &'a Access,
    row: Row,
    score: f64,
}

impl Found<'_> {
    fn place(&self) -> HitPosition {
        HitPosition {
            score: self.score.to_bits(),
            connection: self.access.connection().id.clone(),
            stream: self.access.stream().name.clone(),
            key: self.row.key.clone(),
        }
    }

    /// The best first; of equals, the one whose names come first.
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        self.score.total_cmp(&other.score).then_with(|| self.names().cmp(&other.names()))
    }

    fn is_after(&self, place: &HitPosition) -> bool {
        let names = (place.connection.as_str(), place.stream.as_str(), place.key.as_str());
        let order = self.score.total_cmp(&f64::from_bits(place.score)).then_with(|| self.names().cmp(&names));
        order == std::cmp::Ordering::Greater
    }

    fn names(&self) -> (&str, &str, &str) {
        (&self.access.connection().id, &self.access.stream().name, &self.row.key)
    }
}

/// `GET /v1/search`
///
/// # Errors
/// Every refusal.
pub fn lexical(context: &Context<'_>) -> Result<Value, ApiError> {
    let params = Params::read(context.read, PARAMS)?;
    let q = params.single("q")?.ok_or_else(|| ApiError::invalid("q is required").param("q"))?;
    let (limit, warnings) = params.limit()?;
    let query = Query::parse(q);
    if query.is_empty() {
        return Err(ApiError::invalid(
            "q has no word to look for: a word is made of letters or digits, or is an emoji. Records are listed without q \
             by /v1/streams/{stream}/records",
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

        let ranking = rank(db, &sources, &query, pace)?;
        let mut rest =
            ranking.found.iter().filter(|found| after.as_ref().is_none_or(|after| found.is_after(after)));
        let page: Vec<&Found<'_>> = rest.by_ref().take(limit).collect();
        let has_more = rest.next().is_some();
        let next = match page.last().filter(|_| has_more) {
            Some(last) => Some(context.seal(&bound, &last.place())?),
            None => None,
        };
        let mut warnings = warnings.clone();
        warnings.extend(stale(db, &accesses)?);
        let mut answer = json!({
            "object": "list",
            "url": context.read.path(),
            "data": page.iter().map(|found| hit(&query, found)).collect::<Vec<_>>(),
            "has_more": has_more,
            "links": { "self": context.read.target(), "next": context.next_link(next.as_deref()) },
            "meta": meta(&ranking, &accesses, &warnings),
        });
        if let Some(next) = next {
            answer["next_cursor"] = next.into();
        }
        Ok(answer)
    })
}

struct Ranking<'a> {
    found: Vec<Found<'a>>,
    truncated_sources: usize,
    window: usize,
}

fn rank<'a>(
    db: &rusqlite::Connection,
    sources: &[(&'a Access, Filter)],
    query: &Query,
    pace: &Pace<'_>,
) -> rusqlite::Result<Ranking<'a>> {
    let searched = sources.iter().filter(|(access, _)| !access.lexical().is_empty()).count();
    let window = (RANKED / searched.max(1)).max(RANKED_EACH);
    let mut ranking = Ranking { found: Vec::new(), truncated_sources: 0, window };
    for (access, filter) in sources {
        let hits = access.search(db, query, filter, window, pace)?;
        ranking.truncated_sources += usize::from(hits.truncated);
        ranking.found.extend(hits.ranked.into_iter().map(|hit| Found {
            access,
            row: hit.row,
            score: hit.score,
        }));
    }
    ranking.found.sort_by(Found::compare);
    Ok(ranking)
}

fn meta(ranking: &Ranking<'_>, accesses: &[Access], warnings: &[Value]) -> Value {
    let connections: std::collections::BTreeSet<&str> =
        accesses.iter().map(|access| access.connection().id.as_str()).collect();
    let complete = ranking.truncated_sources == 0;
    let mut recall = json!({
        "complete": complete,
        "ranked_candidate_count": ranking.found.len(),
        "ranking_scope": if complete { "all_matches" } else { "candidate_window" },
        "sources_searched_count": connections.len(),
        "truncated": !complete,
    });
    if !complete {
        recall["candidate_window_limit"] = ranking.window.into();
        recall["truncated_source_count"] = ranking.truncated_sources.into();
    }
    json!({
        "count": ranking.found.len(),
        "count_accuracy": if complete { "exact" } else { "lower_bound" },
        "recall": recall,
        "warnings": warnings,
    })
}

fn hit(query: &Query, found: &Found<'_>) -> Value {
    let (access, row) = (found.access, &found.row);
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
    // A title says what a hit is, a body why it is one: the body's excerpt is the better snippet.
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
        "score": { "kind": "bm25_tf", "order": "lower_is_better", "value": found.score },
    });
    // The record's own time, as far as it is granted (R3.36); `emitted_at` is when it was stored.
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
