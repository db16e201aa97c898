//! A part of a long text field.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::context::{Context, plain_meta};
use super::params::{self, Params};
use super::read::segment;
use super::records;
use crate::vault::excerpts;
use crate::vault::wire::ApiError;

const PARAMS: &[&str] = &[
    "field",
    "offset_chars",
    "limit_chars",
    "q",
    "before_chars",
    "after_chars",
    "connection_id",
    "connector_id",
];
const DEFAULT_CHARS: usize = 4096;
const MAX_CHARS: usize = 16_384;
const DEFAULT_AROUND: usize = 1024;
const MAX_AROUND: usize = 8192;

/// `GET /v1/streams/{stream}/records/{id}/field-window`
///
/// # Errors
/// Returns every refusal.
pub fn get(context: &Context<'_>, stream: &str, id: &str) -> Result<Value, ApiError> {
    let params = Params::read(context.read, PARAMS)?;
    let name =
        params.single("field")?.ok_or_else(|| ApiError::invalid("field is required").param("field"))?;
    let offset = params.number("offset_chars")?;
    let limit = params.number("limit_chars")?.unwrap_or(DEFAULT_CHARS);
    if limit == 0 {
        return Err(ApiError::invalid("limit_chars must be at least 1").param("limit_chars"));
    }
    let limit = limit.min(MAX_CHARS);
    let q = params.single("q")?;
    if q.is_some() && offset.is_some() {
        return Err(ApiError::invalid("q and offset_chars cannot be combined").param("q"));
    }
    let around = |name| params.number(name).map(|chars| chars.unwrap_or(DEFAULT_AROUND).min(MAX_AROUND));
    let (before, after) = (around("before_chars")?, around("after_chars")?);

    context.paced(|db, catalog, pace| {
        let (access, row) = records::find(context, db, catalog, stream, id, &params, pace)?;
        if access.field(name).is_none() {
            return Err(params::not_granted(name).param("field"));
        }
        let Some(whole) = access.text(&row, name) else {
            let found = match access.project(&row, None).get(name) {
                None | Some(Value::Null) => "null",
                Some(Value::Bool(_)) => "boolean",
                Some(Value::Number(_)) => "number",
                Some(Value::Array(_)) => "array",
                Some(_) => "object",
            };
            return Err(ApiError::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "field_not_text",
                format!("field '{name}' is {found}, not a readable text field"),
            )
            .param("field"));
        };
        let total = whole.chars().count();
        let found = match q {
            None => None,
            Some(q) => Some(excerpts::find(&whole, q).ok_or_else(|| {
                ApiError::new(
                    StatusCode::NOT_FOUND,
                    "match_not_found",
                    format!("'{name}' does not contain the text of q"),
                )
                .param("q")
            })?),
        };
        let (start, end) = if let Some(found) = &found {
            (found.start.saturating_sub(before), (found.end + after).min(total))
        } else {
            let start = offset.unwrap_or(0).min(total);
            (start, start.saturating_add(limit).min(total))
        };
        let size = if found.is_some() { end - start } else { limit };
        let window = &whole[excerpts::byte_of(&whole, start)..excerpts::byte_of(&whole, end)];
        let url = format!("/v1/streams/{}/records/{}/field-window", segment(stream), segment(id));
        Ok(json!({
            "object": "field_window",
            "stream": stream,
            "record_id": id,
            "url": url,
            "field": { "path": name, "type": "string" },
            "window": {
                "text": window,
                "start_chars": start,
                "end_chars": end,
                "total_chars": total,
                "limit_chars": size,
                "complete": start == 0 && end == total,
                "has_more": end < total,
                "next_offset_chars": (end < total).then_some(end),
                "previous_offset_chars": (start > 0).then(|| start.saturating_sub(size)),
                "match_start_chars": found.as_ref().map(|found| found.start),
                "match_end_chars": found.as_ref().map(|found| found.end),
            },
            "links": { "self": context.read.target() },
            "meta": plain_meta(),
        }))
    })
}
