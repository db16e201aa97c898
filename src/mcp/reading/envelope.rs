//! What is passed on of an envelope: everything, unchanged, except the deprecated alias `connector_instance_id`,
//! URL-shaped `connector_key`s, and binary values (spec Resolutions, "Verbatim").

use serde_json::{Map, Value, json};

use super::{binary, decimal};
use crate::mcp::size::{json_len, prefix_on_wire};

/// Prepares the body of any `/v1` answer in place. A record's own `data` belongs to the person: only its binary
/// values are replaced, and its keys never change.
pub fn prepare(body: &mut Map<String, Value>) {
    let is_record = body.get("object").and_then(Value::as_str) == Some("record")
        || (body.contains_key("emitted_at") && body.contains_key("stream") && body.contains_key("id"));
    prepare_node(body, is_record);
}

fn prepare_node(node: &mut Map<String, Value>, is_record: bool) {
    node.remove("connector_instance_id");
    shorten_connector_key(node);
    for (key, value) in node.iter_mut() {
        match (key.as_str(), value) {
            ("data", data) if is_record => binary::describe(data),
            // A field's own JSON Schema may describe properties of any name.
            ("schema", _) => {}
            (_, value) => descend(value),
        }
    }
}

fn descend(value: &mut Value) {
    match value {
        Value::Object(node) => prepare(node),
        Value::Array(items) => items.iter_mut().for_each(descend),
        _ => {}
    }
}

/// Replaces a URL in `connector_key` with the short key, which is in `connector_id` if the provider sends both.
/// Otherwise the URL is removed, because it belongs in `source.id`.
fn shorten_connector_key(node: &mut Map<String, Value>) {
    let is_url = |value: Option<&Value>| value.and_then(Value::as_str).is_some_and(|key| key.contains("://"));
    if is_url(node.get("connector_key")) {
        match node.get("connector_id").filter(|id| !is_url(Some(id))).cloned() {
            Some(short) => node.insert("connector_key".into(), short),
            None => node.remove("connector_key"),
        };
    }
    if is_url(node.get("connector_id")) {
        node.remove("connector_id");
    }
}

/// The maximum size of a list's envelope without its rows and cursors, in bytes.
const ENVELOPE_BYTES: usize = 1_400;

/// The maximum number of warnings that are passed on from an envelope that is too long.
const MAX_WARNINGS: usize = 3;

/// Limits the envelope of a list, without its rows. What every provider sends stays unchanged. A much longer envelope
/// keeps its documented parts, and a warning states what is omitted.
pub fn shorten(body: &mut Map<String, Value>) {
    let cursors = ["next_cursor", "next_changes_since"].map(|key| body.get(key).map_or(0, json_len));
    if json_len(body) <= ENVELOPE_BYTES + cursors.iter().sum::<usize>() {
        return;
    }
    let mut meta = match body.remove("meta") {
        Some(Value::Object(meta)) => meta,
        _ => Map::new(),
    };
    let warnings = match meta.remove("warnings") {
        Some(Value::Array(warnings)) => warnings,
        _ => Vec::new(),
    };
    let parts = body.len() + meta.len();
    let is_short = |value: &Value| json_len(value) <= 120;
    body.retain(|key, value| match key.as_str() {
        "next_cursor" | "next_changes_since" => true,
        "object" | "has_more" => is_short(value),
        _ => false,
    });
    meta.retain(|key, value| {
        matches!(key.as_str(), "count" | "count_accuracy" | "recall") && is_short(value)
    });
    let parts = parts - body.len() - meta.len();
    let mut warnings = warnings;
    shorten_warnings(&mut warnings);
    if parts > 0 {
        warnings.push(json!({"code": "envelope_cut",
            "message": format!("{parts} other parts of the envelope are too long to show")}));
    }
    meta.insert("warnings".into(), warnings.into());
    body.insert("meta".into(), Value::Object(meta));
}

/// Removes a bookmark of changes that no call could carry: one that is not a text, or is longer than `most`.
pub fn check_bookmark(body: &mut Map<String, Value>, most: usize) {
    let is_usable = match body.get("next_changes_since") {
        None | Some(Value::Null) => true,
        Some(Value::String(bookmark)) => bookmark.len() <= most,
        Some(_) => false,
    };
    if !is_usable {
        body.remove("next_changes_since");
        let message = "the provider's next_changes_since is not a string, or is too long for a call: later changes cannot be read";
        warn(body, "changes_bookmark_unusable", message);
    }
}

/// Limits a list of warnings: the first ones stay, and the others are counted.
pub fn shorten_warnings(warnings: &mut Vec<Value>) {
    if json_len(warnings) <= 1_000 {
        return;
    }
    let further = warnings.len().saturating_sub(MAX_WARNINGS);
    warnings.truncate(MAX_WARNINGS);
    for warning in warnings.iter_mut() {
        *warning = short_warning(warning);
    }
    if further > 0 {
        warnings.push(
            json!({"code": "warnings_cut", "message": format!("{further} further warnings are not shown")}),
        );
    }
}

/// Adds one of our warnings to an envelope, before the provider's, unless one with its code exists.
pub fn warn(body: &mut Map<String, Value>, code: &str, message: impl Into<String>) {
    let meta = body.entry("meta").or_insert_with(|| json!({}));
    let Some(meta) = meta.as_object_mut() else { return };
    let warning = json!({"code": code, "message": message.into()});
    match meta.entry("warnings").or_insert_with(|| json!([])) {
        Value::Array(warnings) => {
            if !warnings.iter().any(|known| known.get("code") == warning.get("code")) {
                warnings.insert(0, warning);
            }
        }
        other => *other = json!([warning]),
    }
}

/// The maximum number of fields that are named for having numbers written as texts.
const MAX_NAMED: usize = 3;

/// Writes numbers that a double cannot hold as texts, and warns about it: most hosts read JSON into doubles, and
/// would show other digits (R5.6).
pub fn keep_digits(body: &mut Map<String, Value>) {
    let mut found = Vec::new();
    for (name, value) in body.iter_mut() {
        digits_as_text(value, name, &mut found);
    }
    if found.is_empty() {
        return;
    }
    let more = if found.len() > MAX_NAMED { " and others" } else { "" };
    let names =
        found.iter().take(MAX_NAMED).map(|name| prefix_on_wire(name, 30)).collect::<Vec<_>>().join(", ");
    let message = format!(
        "{names}{more}: a number with more digits than a double holds is a string here and in filter"
    );
    warn(body, "numbers_as_text", message);
}

/// As [`keep_digits`], for one value, which the member `name` holds.
fn digits_as_text(value: &mut Value, name: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(number) if !decimal::is_held_by_a_double(number.as_str()) => {
            *value = json!(number.to_string());
            if !found.iter().any(|known| known == name) {
                found.push(name.to_owned());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| digits_as_text(item, name, found)),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, value)| digits_as_text(value, name, found));
        }
        _ => {}
    }
}

fn short_warning(warning: &Value) -> Value {
    if json_len(warning) <= 250 {
        return warning.clone();
    }
    let part = |key: &str, bytes: usize| {
        let text = warning.get(key).and_then(Value::as_str).unwrap_or("");
        let cut = prefix_on_wire(text, bytes);
        if cut.len() < text.len() { format!("{cut}…") } else { text.to_owned() }
    };
    json!({"code": part("code", 40), "message": part("message", 160)})
}

/// Keeps the requested fields and the declared identity fields of a record's `data` (R3.13).
pub fn project(record: &mut Map<String, Value>, fields: &[&str], identity: &[String]) {
    let Some(Value::Object(data)) = record.get_mut("data") else { return };
    data.retain(|name, _| {
        identity.iter().any(|key| key == name)
            || fields.iter().any(|field| {
                *field == name.as_str()
                    || field.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'))
            })
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(body: Value) -> Value {
        let Value::Object(mut body) = body else { panic!("an object") };
        prepare(&mut body);
        Value::Object(body)
    }

    #[test]
    fn r2_6_aliases_and_url_keys_are_replaced_in_envelopes_only() {
        let body = prepared(json!({"object": "list", "data": [{
            "object": "record", "id": "1", "connector_instance_id": "x", "connection_id": "c",
            "connector_key": "https://r.example/mail", "connector_id": "mail",
            "data": {"connector_instance_id": "mine", "connector_key": "https://mine.example"},
            "expanded": {"a": {"data": [{"object": "record", "connector_instance_id": "x", "data": {"k": 1}}]}}
        }]}));
        assert_eq!(
            body,
            json!({"object": "list", "data": [{
                "object": "record", "id": "1", "connection_id": "c", "connector_key": "mail", "connector_id": "mail",
                "data": {"connector_instance_id": "mine", "connector_key": "https://mine.example"},
                "expanded": {"a": {"data": [{"object": "record", "data": {"k": 1}}]}}
            }]})
        );
    }

    #[test]
    fn r4_8_an_endless_envelope_is_cut_and_says_so() {
        // With a thousand copies of its warning, as much as can be read from an answer.
        let long = "\u{e0041}".repeat(4_000);
        let warnings =
            (0..1_000).map(|n| json!({"code": format!("w{n}"), "message": long})).collect::<Vec<_>>();
        let Value::Object(mut body) = json!({"object": "list", "has_more": true, "next_cursor": "c", "links": {"a": long},
            "meta": {"count": {"kind": "exact", "value": 5}, "warnings": warnings}})
        else {
            panic!()
        };
        shorten(&mut body);
        assert!(json_len(&body) <= ENVELOPE_BYTES, "{}", json_len(&body));
        assert_eq!(body["next_cursor"], "c");
        assert_eq!(body["meta"]["count"]["value"], 5);
        let last = body["meta"]["warnings"].as_array().unwrap().last().unwrap().clone();
        assert!(last["message"].as_str().unwrap().contains("1 other parts"), "{last}");
        assert!(json!(body).to_string().contains("997 further warnings"));
        let Value::Object(mut small) =
            json!({"object": "list", "links": {}, "meta": {"warnings": [{"code": "x"}]}})
        else {
            panic!()
        };
        let before = small.clone();
        shorten(&mut small);
        assert_eq!(small, before);
    }

    #[test]
    fn r4_8_a_bookmark_that_no_call_can_carry_is_left_out_and_told() {
        for bookmark in [json!(vec!["x"; 2_000]), json!({"a": 1}), json!(7), json!("x".repeat(301))] {
            let Value::Object(mut body) = json!({"object": "list", "next_changes_since": bookmark}) else {
                panic!()
            };
            check_bookmark(&mut body, 300);
            assert!(!body.contains_key("next_changes_since"), "{bookmark}");
            assert_eq!(body["meta"]["warnings"][0]["code"], "changes_bookmark_unusable");
        }
        for bookmark in [json!(null), json!("x".repeat(300))] {
            let Value::Object(mut body) = json!({"object": "list", "next_changes_since": bookmark}) else {
                panic!()
            };
            let before = body.clone();
            check_bookmark(&mut body, 300);
            assert_eq!(body, before);
        }
    }

    #[test]
    fn r5_6_numbers_that_a_double_would_round_are_texts_and_told() {
        let body = r#"{"object":"list","data":[{"id":"1","data":{"ref":10440000000000000391,"n":1.10,"deep":[0.12345678901234567891]}}]}"#;
        let mut body: Map<String, Value> = serde_json::from_str(body).unwrap();
        keep_digits(&mut body);
        let data = r#"{"deep":["0.12345678901234567891"],"n":1.10,"ref":"10440000000000000391"}"#;
        assert_eq!(body["data"][0]["data"].to_string(), data);
        let warning = &body["meta"]["warnings"][0];
        assert_eq!(warning["code"], "numbers_as_text");
        assert!(warning["message"].as_str().unwrap().starts_with("deep, ref: "), "{warning}");
        let Value::Object(mut plain) = json!({"value": 9_007_199_254_740_991_u64}) else { panic!() };
        keep_digits(&mut plain);
        assert_eq!(Value::Object(plain), json!({"value": 9_007_199_254_740_991_u64}));
    }

    #[test]
    fn a_url_key_without_a_short_one_is_left_out() {
        let body =
            prepared(json!({"object": "record", "connector_key": "https://r.example/mail", "data": {}}));
        assert_eq!(body, json!({"object": "record", "data": {}}));
    }

    #[test]
    fn r3_13_projection_keeps_requested_and_identity_fields() {
        let Value::Object(mut record) =
            json!({"id": "1", "data": {"id": "1", "a": 1, "b": 2, "c": {"d": 1}}})
        else {
            panic!()
        };
        project(&mut record, &["a", "c.d"], &["id".into()]);
        assert_eq!(record["data"], json!({"id": "1", "a": 1, "c": {"d": 1}}));
    }
}
