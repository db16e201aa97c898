//! A read of a resource server, as the call of a tool that gives the same, and its answer as what that server says.

use serde_json::{Map, Value, json};

use crate::mcp::id::RecordId;
use crate::provider::rs::Read;

/// The call that gives what `read` reads, where there is one. A filter's values have lost their types in a
/// query, so that one with a filter is none.
pub(super) fn as_call(read: &Read) -> Option<(&'static str, Map<String, Value>)> {
    let mut arguments = Map::new();
    let tool = match read.segments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["schema"] => "schema",
        ["search"] => "search",
        ["search", mode] => {
            arguments.insert("mode".to_owned(), json!(mode));
            "search"
        }
        _ => return None,
    };
    let mut streams = Vec::new();
    for (name, value) in &read.query {
        match name.as_str() {
            "view" if tool == "schema" => {}
            "stream" | "connection_id" | "q" | "cursor" => {
                arguments.insert(name.clone(), json!(value));
            }
            "limit" => {
                arguments.insert(name.clone(), json!(value.parse::<u64>().ok()?));
            }
            "streams[]" => streams.push(json!(value)),
            _ => return None,
        }
    }
    if !streams.is_empty() {
        arguments.insert("streams".to_owned(), streams.into());
    }
    Some((tool, arguments))
}

/// A result of `search`, as the hit of a resource server that it was made of; its proven windows come from the
/// ladder beside it.
pub(super) fn as_hit(hit: Value, ladder: Option<&Value>) -> Value {
    let Value::Object(mut hit) = hit else { return hit };
    let id = hit.remove("id");
    if let Some(record) = hit.remove("record_id") {
        hit.insert("record_key".to_owned(), record);
    } else if let Some(parsed) = id.as_ref().and_then(Value::as_str).and_then(|id| RecordId::parse(id).ok()) {
        hit.insert("record_key".to_owned(), json!(parsed.record));
        hit.entry("stream").or_insert_with(|| json!(parsed.stream));
        if let Some(connection) = parsed.connection {
            hit.entry("connection_id").or_insert_with(|| json!(connection));
        }
    } else if let Some(id) = id.clone() {
        hit.insert("id".to_owned(), id);
    }
    let records = ladder.and_then(|ladder| ladder.get("records")?.as_array()).into_iter().flatten();
    let fields = records
        .filter(|record| record.get("id") == id.as_ref())
        .filter_map(|record| record.get("fields")?.as_array());
    let excerpts = fields.flatten().filter_map(|field| {
        let is_complete = field.get("complete") == Some(&json!(true));
        Some(json!({"field_path": field.get("field_path")?, "preview_text": field.get("preview")?, "truncated": !is_complete}))
    });
    let excerpts = excerpts.collect::<Vec<_>>();
    if !excerpts.is_empty() {
        hit.insert("evidence_excerpts".to_owned(), excerpts.into());
    }
    Value::Object(hit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r6_2_a_result_is_a_hit_again() {
        let ladder = json!({"records": [
            {"id": "other", "fields": [{"field_path": "x", "preview": "no", "complete": true, "read": {}}]},
            {"id": "c/s:1", "fields": [{"field_path": "body", "preview": "a <mark>b</mark>", "complete": false, "read": {}}]},
        ]});
        let excerpt = json!([{"field_path": "body", "preview_text": "a <mark>b</mark>", "truncated": true}]);
        let whole =
            json!({"id": "c/s:1", "connection_id": "c", "stream": "s", "record_id": "1", "title": "t"});
        let hit = as_hit(whole, Some(&ladder));
        assert_eq!(
            (&hit["record_key"], &hit["title"], &hit["evidence_excerpts"]),
            (&json!("1"), &json!("t"), &excerpt)
        );
        let bare = as_hit(json!({"id": "c/s:2024%2F1"}), None);
        assert_eq!(bare, json!({"record_key": "2024/1", "stream": "s", "connection_id": "c"}));
        assert_eq!(as_hit(json!({"id": "https://x.example"}), None)["id"], "https://x.example");
        let read = Read::of(["search", "hybrid"]).with("q", "a b").with("limit", "7").with("streams[]", "s");
        let arguments = json!({"mode": "hybrid", "q": "a b", "limit": 7, "streams": ["s"]});
        assert_eq!(as_call(&read), Some(("search", arguments.as_object().cloned().unwrap())));
        assert_eq!(as_call(&read.with("filter[a]", "1")), None);
        assert_eq!(as_call(&Read::of(["streams"])), None);
    }
}
