//! Converts a tool's result into the answer that a resource server would give.

use serde_json::{Map, Value, json};

use crate::mcp::call::{Call, Tool};
use crate::mcp::id::RecordId;
use crate::mcp::reading::backend::ReadError;
use crate::provider::rs::Refusal;

/// Marks a record of which only a text is known; it is not one of the record's fields.
pub(in crate::mcp) const TEXT_ONLY: &str = "\u{0}text_only";

/// The structured output of a result.
///
/// # Errors
/// Returns the tool's own error, or an error if there is no structured output.
pub(super) fn structured(
    mut result: Map<String, Value>,
    tool: Tool,
) -> Result<Map<String, Value>, ReadError> {
    let structured = match result.remove("structuredContent") {
        Some(Value::Object(structured)) => Some(structured),
        _ => None,
    };
    if result.get("isError") == Some(&json!(true)) {
        let message_text = result.get("content").and_then(|content| content.get(0)?.get("text")?.as_str());
        return Err(refused(structured.unwrap_or_default(), message_text.unwrap_or_default()));
    }
    structured.ok_or_else(|| ReadError::Unsupported {
        what: format!("the provider's {tool} gives no structured output"),
        next: "tell the user; use the other tools".to_owned(),
        param: None,
    })
}

/// A tool's own error as the refusal of a resource server; `message_text` is its text.
fn refused(mut structured: Map<String, Value>, message_text: &str) -> ReadError {
    let Some(Value::Object(error)) = structured.remove("error") else {
        let message =
            if message_text.is_empty() { "the provider's own tools refused the call" } else { message_text };
        return ReadError::CallRefused { message: message.to_owned(), code: Value::Null };
    };
    let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |value: Option<&Value>| value.and_then(Value::as_u64);
    // Our tools put the status into the error, the reference puts it next to the error. A tool may refuse without
    // asking a resource server.
    let status = number(error.get("status")).or_else(|| number(structured.get("http_status")));
    Refusal {
        status: status.and_then(|status| u16::try_from(status).ok()).unwrap_or(400),
        code: text("code").unwrap_or_else(|| "provider_refused_call".to_owned()),
        message: text("message").unwrap_or_else(|| "the provider's own tools refused the call".to_owned()),
        param: text("param"),
        request_id: text("request_id"),
        retry_after: number(error.get("retry_after_seconds")),
        error,
    }
    .into()
}

/// A resource server's one answer, assembled from the pages of a tool.
#[derive(Debug, Default)]
pub(super) struct Whole {
    body: Option<Map<String, Value>>,
    /// The one field that was requested of a document: its text is that field.
    field: Option<String>,
}

impl Whole {
    /// An empty answer to `call`.
    pub(super) fn of(call: &Call) -> Self {
        let field = match call.texts("fields").as_deref() {
            Some([only]) => Some((*only).to_owned()),
            _ => None,
        };
        Self { body: None, field }
    }

    /// Adds one result. Returns the arguments of the next call if there is more of what a resource server would have
    /// returned at once.
    ///
    /// # Errors
    /// Returns what is missing in the result.
    pub(super) fn take(
        &mut self,
        tool: Tool,
        mut structured: Map<String, Value>,
    ) -> Result<Option<Map<String, Value>>, String> {
        let next = structured.get_mut("next").and_then(|next| next.get_mut("arguments")).map(Value::take);
        let body = body(tool, structured, self.field.as_deref())
            .ok_or_else(|| format!("a {tool} without its data"))?;
        // The rows of a list continue with the provider's own cursor.
        let is_part = ["fields_not_shown", "streams_not_shown", "groups_not_shown"]
            .iter()
            .any(|key| body.get(*key).and_then(Value::as_u64).is_some_and(|left| left > 0));
        match &mut self.body {
            None => self.body = Some(body),
            Some(whole) => add(whole, body),
        }
        Ok(next.filter(|_| is_part).and_then(|next| match next {
            Value::Object(arguments) => Some(arguments),
            _ => None,
        }))
    }

    /// The assembled body.
    pub(super) fn into_body(self) -> Map<String, Value> {
        let mut body = self.body.unwrap_or_default();
        body.retain(|key, _| {
            !matches!(key.as_str(), "fields_not_shown" | "streams_not_shown" | "groups_not_shown")
        });
        body
    }
}

/// Adds the groups, or the connectors with their streams and fields, of a further page.
fn add(whole: &mut Map<String, Value>, page: Map<String, Value>) {
    for (key, value) in page {
        match (key.as_str(), value, whole.get_mut(&key)) {
            ("groups", Value::Array(more), Some(Value::Array(groups))) => groups.extend(more),
            ("connectors", Value::Array(more), Some(Value::Array(connectors))) => {
                for connector in more {
                    add_named(
                        connectors,
                        connector,
                        &["connector_key", "granted_connections", "grant_id", "provider"],
                    );
                }
            }
            // Only the number of what is left is replaced.
            (key, value, Some(known)) if key.ends_with("_not_shown") => *known = value,
            _ => {}
        }
    }
}

/// Merges `row` into the row with the same values of `names`, part by part, or adds it as a further row.
fn add_named(rows: &mut Vec<Value>, row: Value, names: &[&str]) {
    let is_alike = |known: &&mut Value| names.iter().all(|name| known.get(*name) == row.get(*name));
    let Some(Value::Object(known)) = rows.iter_mut().find(is_alike) else {
        rows.push(row);
        return;
    };
    let Value::Object(row) = row else { return };
    for (key, value) in row {
        match (key.as_str(), value, known.get_mut(&key)) {
            ("stream_names", Value::Array(more), Some(Value::Array(names))) => names.extend(more),
            ("streams", Value::Array(more), Some(Value::Array(streams))) => {
                for stream in more {
                    add_named(streams, stream, &["name", "granted_connections"]);
                }
            }
            ("field_capabilities", Value::Object(more), Some(Value::Object(fields))) => fields.extend(more),
            (_, value, None) => {
                known.insert(key, value);
            }
            _ => {}
        }
    }
}

/// The body that a resource server would have returned; `None` if its data is missing.
fn body(tool: Tool, mut structured: Map<String, Value>, field: Option<&str>) -> Option<Map<String, Value>> {
    let ladder = structured.remove("content_ladder");
    let groups_left = structured.remove("groups_not_shown");
    let data = match structured.remove("data") {
        Some(Value::Object(data)) => Some(data),
        _ => None,
    };
    match tool {
        Tool::Fetch => record(structured, ladder.as_ref(), field),
        Tool::ReadRecordField => data.or_else(|| window(structured)),
        Tool::Search => {
            let Some(Value::Array(results)) = structured.remove("results") else { return None };
            let mut body = data.unwrap_or_default();
            // Parts in which the tool describes its own answer.
            body.retain(|key, _| !matches!(key.as_str(), "result_count" | "results_ref"));
            if let Some(Value::Object(meta)) = body.get_mut("meta") {
                meta.remove("package");
            }
            let hits = results.into_iter().map(|hit| as_hit(hit, ladder.as_ref())).collect();
            body.insert("data".to_owned(), hits);
            Some(body)
        }
        Tool::QueryRecords => {
            let mut body = data?;
            mark_cut_rows(&mut body, ladder.as_ref());
            Some(body)
        }
        Tool::Aggregate => {
            let mut body = data?;
            body.extend(groups_left.map(|left| ("groups_not_shown".to_owned(), left)));
            Some(body)
        }
        Tool::Schema => data,
    }
}

/// A window without `data` around it (the reference's), with the record named as by a resource server.
fn window(mut structured: Map<String, Value>) -> Option<Map<String, Value>> {
    let mut body = Map::new();
    for key in ["field", "window"] {
        body.extend(structured.remove_entry(key));
    }
    // These are offsets as texts; a call that continues needs them as numbers.
    if let Some(Value::Object(window)) = body.get_mut("window") {
        window.retain(|key, _| !matches!(key.as_str(), "next_cursor" | "previous_cursor"));
    }
    if let Some(Value::Object(record)) = structured.remove("record") {
        let named = record.into_iter();
        body.extend(
            named.filter(|(key, _)| matches!(key.as_str(), "connection_id" | "stream" | "record_id")),
        );
    }
    body.contains_key("window").then_some(body)
}

/// The maximum number of fields of a document that are named for further reading.
const MAX_FURTHER: usize = 6;

/// The calls that read the fields that a document names but does not contain.
fn further(ladder: Option<&Value>) -> Vec<Value> {
    let windows = ladder.and_then(|ladder| ladder.get("field_windows")?.as_array()).into_iter().flatten();
    let call = |window: &Value| {
        let path = window.get("field_path")?.as_str()?;
        let id = window.get("read")?.get("args")?.get("id")?.as_str()?;
        let is_short = path.len() + id.len() <= 120;
        let arguments = json!({"id": id, "field_path": path});
        is_short.then(|| Call::new(Tool::ReadRecordField, arguments).to_json())
    };
    windows.filter_map(call).take(MAX_FURTHER).collect()
}

/// The time in a title that consists only of source, stream and a time. It does not state whether that is the
/// record's own time or when the record was stored.
fn made_up_title<'a>(row: &Map<String, Value>, title: &'a str) -> Option<&'a str> {
    let text = |key: &str| row.get(key).and_then(Value::as_str);
    let rest = title.strip_prefix(text("display_name")?)?.strip_prefix(" / ")?;
    rest.strip_prefix(text("stream")?)?.strip_prefix(" / ")
}

/// Removes a title that only repeats what the row itself contains.
fn without_made_up_title(row: &mut Map<String, Value>) {
    let Some(Value::String(title)) = row.get("title").cloned() else { return };
    if let Some(time) = made_up_title(row, &title) {
        row.entry("emitted_at").or_insert_with(|| json!(time));
        row.remove("title");
    }
}

/// A document as the record that it was made from. If the document does not contain the record as JSON, only its text
/// is known: it becomes `field`, if one was requested, and `ladder` names other fields.
fn record(
    mut document: Map<String, Value>,
    ladder: Option<&Value>,
    field: Option<&str>,
) -> Option<Map<String, Value>> {
    let Some(Value::String(text)) = document.remove("text") else { return None };
    let mut record = match document.remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    let id = document.get("id").and_then(Value::as_str).and_then(|id| RecordId::parse(id).ok());
    if let Some(id) = record.remove("record_id").or_else(|| id.map(|id| json!(id.record))) {
        record.insert("id".to_owned(), id);
    }
    if let Some(warnings) = record.remove("warnings") {
        record.insert("meta".to_owned(), json!({ "warnings": warnings }));
    }
    record.remove("blob");
    for (key, name) in [("title", "title"), ("url", "source_url")] {
        if let Some(value) = document.remove(key) {
            record.insert(name.to_owned(), value);
        }
    }
    without_made_up_title(&mut record);
    let mut data = if let Ok(Value::Object(data)) = crate::json::parse(text.as_bytes()) {
        data
    } else {
        record.insert(TEXT_ONLY.to_owned(), json!(true));
        let further = further(ladder);
        if !further.is_empty() && field.is_none() {
            record.insert("truncated".to_owned(), json!(true));
            record.insert("read_more".to_owned(), further.into());
        }
        Map::from_iter([(field.unwrap_or("text").to_owned(), Value::String(text))])
    };
    if let Some(expanded) = data.remove("expanded").filter(Value::is_object) {
        record.insert("expanded".to_owned(), expanded);
    }
    record.insert("object".to_owned(), json!("record"));
    record.insert("data".to_owned(), Value::Object(data));
    Some(record)
}

/// Marks each record that was cut to fit, because its ladder is not passed on.
fn mark_cut_rows(body: &mut Map<String, Value>, ladder: Option<&Value>) {
    let records = ladder.and_then(|ladder| ladder.get("records")?.as_array()).into_iter().flatten();
    let is_cut = |record: &&Value| {
        let fields = record.get("fields").and_then(Value::as_array).into_iter().flatten();
        fields.into_iter().any(|field| field.get("complete") == Some(&json!(false)))
    };
    let handles = records.filter(is_cut).filter_map(|record| record.get("id")?.as_str()).collect::<Vec<_>>();
    let rows = body.get_mut("data").and_then(Value::as_array_mut).into_iter().flatten();
    for row in rows.filter_map(Value::as_object_mut) {
        let handle = RecordId::of_row(row, "").and_then(|id| id.handle());
        if handle.is_some_and(|handle| handles.contains(&handle.as_str())) {
            row.insert("cut".to_owned(), json!(true));
        }
    }
}

/// A result of `search` as the resource server's hit that it was made from; its proven windows come from the answer's
/// ladder.
fn as_hit(hit: Value, ladder: Option<&Value>) -> Value {
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
    without_made_up_title(&mut hit);
    // The same as the excerpts, in another form.
    hit.remove("match_windows");
    let theirs = hit.get_mut("evidence_excerpts").and_then(Value::as_array_mut).into_iter().flatten();
    for excerpt in theirs.filter_map(Value::as_object_mut) {
        if let Some(status) = excerpt.remove("preview_status") {
            excerpt.insert("truncated".to_owned(), json!(status != "complete"));
        }
    }
    let records = ladder.and_then(|ladder| ladder.get("records")?.as_array()).into_iter().flatten();
    let fields = records
        .filter(|record| record.get("id") == id.as_ref())
        .filter_map(|record| record.get("fields")?.as_array());
    // The ladder has only the beginning of what is in the hit itself.
    let shown = hit.get("snippet").and_then(|snippet| Some((snippet.get("field")?, snippet.get("text")?)));
    let excerpts = fields.flatten().enumerate().filter_map(|(at, field)| {
        let is_complete = field.get("complete") == Some(&json!(true));
        let path = field.get("field_path")?;
        let shown = shown.filter(|(field, _)| at == 0 && *field == path).map(|(_, text)| text);
        let preview = shown.or_else(|| field.get("preview"))?;
        Some(json!({"field_path": path, "preview_text": preview, "truncated": !is_complete}))
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

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(object) => object,
            other => panic!("not an object: {other}"),
        }
    }

    #[test]
    fn r6_2_a_hit_of_a_package_has_as_much_of_its_text_as_one_of_a_grant() {
        let hit =
            json!({"id": "c/s:1", "snippet": {"field": "body", "text": "all of a <mark>b</mark> and more"}});
        let field = |path: &str, preview: &str| json!({"field_path": path, "preview": preview, "complete": false, "read": {}});
        let ladder = |fields: Value| json!({"records": [{"id": "c/s:1", "fields": fields}]});
        let both = ladder(json!([field("body", "…a <mark>b</mark>…"), field("title", "a <mark>b</mark>")]));
        let excerpts = &as_hit(hit.clone(), Some(&both))["evidence_excerpts"];
        assert_eq!(excerpts[0]["preview_text"], "all of a <mark>b</mark> and more");
        assert_eq!(excerpts[1]["preview_text"], "a <mark>b</mark>");
        let other = ladder(json!([field("title", "a <mark>b</mark>")]));
        assert_eq!(as_hit(hit, Some(&other))["evidence_excerpts"][0]["preview_text"], "a <mark>b</mark>");
    }

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
    }

    #[test]
    fn a_document_is_its_record_again() {
        let document = json!({"id": "c/s:1", "title": "T", "url": "https://x.example/1", "text": r#"{"a":1.10,"b":"x"}"#,
            "metadata": {"stream": "s", "record_id": "1", "connection_id": "c", "warnings": [{"code": "w"}]}});
        let found = record(object(document), None, None).unwrap();
        assert_eq!(found["data"].to_string(), r#"{"a":1.10,"b":"x"}"#);
        assert_eq!((&found["id"], &found["title"]), (&json!("1"), &json!("T")));
        assert_eq!(found["meta"], json!({"warnings": [{"code": "w"}]}));
        // The reference names the record in `metadata.id`, and returns one text unchanged.
        let document =
            json!({"id": "c/s:1", "title": "T", "text": "words", "metadata": {"id": "1", "stream": "s"}});
        let found = |field: Option<&str>| record(object(document.clone()), None, field).unwrap();
        assert_eq!((&found(None)["data"], &found(None)["id"]), (&json!({"text": "words"}), &json!("1")));
        assert_eq!(found(Some("body"))["data"], json!({"body": "words"}));
    }

    #[test]
    fn a_window_without_data_round_it_is_a_window() {
        let given = json!({
            "record": {"id": "c/s:1", "connection_id": "c", "stream": "s", "record_id": "1"},
            "field": {"path": "body", "type": "string", "text_like": true},
            "window": {"text": "abc", "start_chars": 2, "next_offset_chars": 5, "next_cursor": "5", "previous_cursor": null},
            "provider_url": "https://p.example", "request_id": null
        });
        let found = body(Tool::ReadRecordField, object(given), None).unwrap();
        let field = json!({"path": "body", "type": "string", "text_like": true});
        let window = json!({"text": "abc", "start_chars": 2, "next_offset_chars": 5});
        let expected =
            json!({"connection_id": "c", "stream": "s", "record_id": "1", "field": field, "window": window});
        assert_eq!(Value::Object(found), expected);
        assert_eq!(body(Tool::ReadRecordField, object(json!({"record": {}})), None), None);
    }

    #[test]
    fn a_hit_of_other_words_is_the_same_hit() {
        let read = json!({"tool": "read_record_field", "args": {"id": "c/s:1", "field_path": "body"}});
        let hit = as_hit(
            json!({"id": "c/s:1", "title": "Mine / s / 2024-05-06T07:08:09Z", "stream": "s", "record_key": "1", "connection_id": "c",
                "display_name": "Mine", "snippet": "a <mark>b</mark>", "match_windows": [{"field_path": "body"}],
                "evidence_excerpts": [{"field_path": "body", "preview_text": "a <mark>b</mark>", "preview_status": "truncated", "read": read}]}),
            Some(&json!({"records": [{"id": "c/s:1", "field_windows": []}]})),
        );
        assert_eq!(
            (&hit["record_key"], &hit["evidence_excerpts"][0]["truncated"]),
            (&json!("1"), &json!(true))
        );
        // The time of storage becomes neither the time of the event nor a title.
        assert_eq!((&hit["title"], &hit["emitted_at"]), (&Value::Null, &json!("2024-05-06T07:08:09Z")));
        assert!(hit.get("match_windows").is_none());
    }

    #[test]
    fn a_document_of_one_text_says_what_else_there_is() {
        let read = json!({"tool": "read_record_field", "args": {"id": "c/s:1", "field_path": "body", "limit_chars": 4096}});
        let ladder = json!({"field_windows": [{"field_path": "body", "size_chars": 8000, "read": read}]});
        let document =
            json!({"id": "c/s:1", "title": "T", "text": "T", "metadata": {"id": "1", "stream": "s"}});
        let found = record(object(document.clone()), Some(&ladder), None).unwrap();
        let call = json!({"tool": "read_record_field", "arguments": {"id": "c/s:1", "field_path": "body"}});
        assert_eq!((&found["truncated"], &found["read_more"]), (&json!(true), &json!([call])));
        let asked = record(object(document), Some(&ladder), Some("title")).unwrap();
        assert_eq!((asked.get("truncated"), &asked["data"]), (None, &json!({"title": "T"})));
    }

    #[test]
    fn what_a_tool_gives_in_pages_is_whole_again() {
        let page = |field: &str, left: u64| {
            let streams = json!([{"name": "s", "field_capabilities": {field: "eq"}}]);
            let connectors = json!([{"connector_key": "k", "streams": streams}]);
            let data = json!({"connectors": connectors, "fields_not_shown": left});
            object(json!({"data": data, "next": {"tool": "schema", "arguments": {"cursor": field}}}))
        };
        let mut whole = Whole::default();
        assert_eq!(whole.take(Tool::Schema, page("a", 1)).unwrap(), Some(object(json!({"cursor": "a"}))));
        assert_eq!(whole.take(Tool::Schema, page("b", 0)).unwrap(), None);
        let body = whole.into_body();
        let fields = &body["connectors"][0]["streams"][0]["field_capabilities"];
        assert_eq!((fields, body.len()), (&json!({"a": "eq", "b": "eq"}), 1));

        let groups = |key: &str, left: Value| {
            object(json!({"data": {"metric": "count", "groups": [{"key": key}]}, "groups_not_shown": left,
                "next": {"arguments": {"cursor": "groups:1"}}}))
        };
        let mut whole = Whole::default();
        assert!(whole.take(Tool::Aggregate, groups("a", json!(1))).unwrap().is_some());
        assert!(whole.take(Tool::Aggregate, groups("b", Value::Null)).unwrap().is_none());
        assert_eq!(whole.into_body()["groups"], json!([{"key": "a"}, {"key": "b"}]));
        assert!(Whole::default().take(Tool::Schema, Map::new()).is_err());
    }

    #[test]
    fn a_tools_error_is_a_refusal_with_its_status() {
        let refused = |structured: Value| {
            let result =
                json!({"isError": true, "content": [{"text": "why"}], "structuredContent": structured});
            super::structured(object(result), Tool::Fetch).unwrap_err()
        };
        let status = |error: &ReadError| error.refusal().map(|refusal| refusal.status);
        let ours = json!({"error": {"code": "rate_limited", "message": "m", "status": 429, "retry_after_seconds": 9}});
        let error = refused(ours);
        assert_eq!(
            error.refusal().map(|refusal| (refusal.status, refusal.retry_after)),
            Some((429, Some(9)))
        );
        let theirs = json!({"error": {"code": "not_found", "message": "m"}, "http_status": 404});
        assert_eq!(status(&refused(theirs)), Some(404));
        assert_eq!(status(&refused(json!({"error": {"code": "x", "message": "m"}}))), Some(400));
        assert_eq!(refused(json!({})).to_string(), "why");
    }
}
