//! Whether an answer of the adapter contains what the provider sent: pure functions from a recorded body and an
//! answer to a list of differences. Neither view may lack anything that the provider sent, and the structured view
//! may contain nothing else.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pdpp::text;
use serde_json::{Map, Value};

use super::classify::self_contained;

/// A tool's answer as a host sees it.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// The text of the one item of `content[]`.
    pub text: String,
    /// `structuredContent`, or null.
    pub structured: Value,
    pub is_error: bool,
}

impl Answer {
    /// The call that reads on from here: the same in both views.
    pub fn next(&self) -> Option<&Value> {
        Some(&self.structured["next"]).filter(|next| next.is_object())
    }

    /// The number of rows, hits or buckets in the structured view.
    pub fn rows(&self) -> usize {
        let data = &self.structured["data"];
        let mut lists = [&self.structured["results"], &data["data"], &data["groups"]].into_iter();
        lists.find_map(Value::as_array).map_or(0, Vec::len)
    }
}

/// The differences; empty if the answer is right.
#[derive(Debug, Default)]
pub struct Differences(pub Vec<String>);

impl Differences {
    pub fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.0.push(what());
        }
    }

    /// `needle` must be in the text view.
    fn shown(&mut self, answer: &Answer, what: &str, needle: &str) {
        self.check(shows(&answer.text, needle), || format!("text: no {what} {needle:?}"));
    }

    fn equal(&mut self, what: &str, got: &Value, sent: &Value) {
        self.check(same(got, sent), || format!("{what}: {} instead of {}", brief(got), brief(sent)));
    }

    /// A page must lead where the provider's page leads: with its cursor, or with one of ours that contains that
    /// cursor and the number of rows that fit.
    fn leads_on(&mut self, got: &Value, sent: &Value) {
        let holds = |got: &str, sent: &str| {
            let room = got.rsplit_once(".r").filter(|(_, room)| room.parse::<usize>().is_ok());
            let held = room.and_then(|(held, _)| held.strip_prefix("pdpp1.")?.split_once("~p"));
            held.is_some_and(|(_, held)| {
                held == format!(".c{sent}") || held == format!(".C{}", URL_SAFE_NO_PAD.encode(sent))
            })
        };
        if !got.as_str().zip(sent.as_str()).is_some_and(|(got, sent)| holds(got, sent)) {
            self.equal("next_cursor", got, sent);
        }
    }
}

/// Whether `text` shows `needle` in a form that a reader can use: unchanged, with its hidden characters escaped, or
/// as the inside of a JSON string.
fn shows(text: &str, needle: &str) -> bool {
    if text.contains(needle) || text.contains(&*text::one_line(needle)) {
        return true;
    }
    let json = Value::from(needle).to_string();
    let json = pdpp::ui::json_ascii_controls(&json);
    text.contains(json.trim_matches('"'))
}

fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// JSON equality with numbers compared by their digits; an exponent may be written differently.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => spelled(left) == spelled(right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|right| same(value, right)))
        }
        _ => left == right,
    }
}

fn spelled(number: &serde_json::Number) -> String {
    number.to_string().to_ascii_lowercase().replace("e+", "e")
}

/// The fields of a record that are only partly present, with a call that reads the rest:
/// `content_ladder.records[]{id, fields[]{field_path, complete, read}}` (R4.3).
fn cut_fields(answer: &Answer) -> BTreeMap<String, Vec<String>> {
    let mut cut: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for record in answer.structured["content_ladder"]["records"].as_array().into_iter().flatten() {
        let Some(id) = record["id"].as_str() else { continue };
        for field in record["fields"].as_array().into_iter().flatten() {
            if field["complete"] == false
                && field["read"].is_object()
                && let Some(path) = field["field_path"].as_str()
            {
                cut.entry(id.to_owned()).or_default().push(path.to_owned());
            }
        }
    }
    cut
}

/// `got` must equal `sent`, except for what the Resolutions remove: the deprecated alias, URL-shaped connector keys
/// (replaced by a short one) and, if `is_cut` reports it, the rest of a long value.
fn verbatim(found: &mut Differences, at: &str, got: &Value, sent: &Value, is_cut: &dyn Fn(&str) -> bool) {
    match (got, sent) {
        (Value::Object(got), Value::Object(sent)) => {
            for (key, value) in got {
                let at = format!("{at}.{key}");
                match sent.get(key) {
                    Some(sent) if key == "connector_key" && is_url(sent) => {
                        found.check(value.is_string() && !is_url(value), || format!("{at}: still a URL"));
                    }
                    Some(sent) => verbatim(found, &at, value, sent, is_cut),
                    None => found.0.push(format!("{at}: more than the provider sent")),
                }
            }
            for key in sent.keys().filter(|key| !got.contains_key(*key)) {
                let may = key == "connector_instance_id"
                    || (key == "connector_key" && sent.get(key).is_some_and(is_url))
                    || is_cut(&format!("{at}.{key}"));
                found.check(may, || format!("{at}.{key}: lost"));
            }
            found.check(!got.contains_key("connector_instance_id"), || {
                format!("{at}: the alias is still there")
            });
        }
        (Value::Array(got), Value::Array(sent)) => {
            found.check(got.len() == sent.len() || is_cut(at), || {
                format!("{at}: {} items instead of {}", got.len(), sent.len())
            });
            for (index, (got, sent)) in got.iter().zip(sent).enumerate() {
                verbatim(found, &format!("{at}[{index}]"), got, sent, is_cut);
            }
        }
        _ => {
            let may = same(got, sent) || is_cut(at);
            found.check(may, || format!("{at}: {} instead of {}", brief(got), brief(sent)));
        }
    }
}

fn is_url(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains("://"))
}

fn complete(_: &str) -> bool {
    false
}

/// What every envelope's text states (R3.0): counts and warnings. Cursors are compared with the pages.
fn envelope_in_text(found: &mut Differences, answer: &Answer, envelope: &Value) {
    for warning in envelope["meta"]["warnings"].as_array().into_iter().flatten() {
        for part in ["code", "message"] {
            if let Some(part) = warning[part].as_str() {
                found.shown(answer, "warning", part);
            }
        }
    }
    let count = match &envelope["meta"]["count"] {
        Value::Number(count) => Some(count),
        count => count["value"].as_number(),
    };
    if let Some(count) = count {
        found.shown(answer, "count", &count.to_string());
    }
}

/// A reader of the text alone can read on: it has every cursor, and the same call that the structured view names.
fn cursors_in_text(found: &mut Differences, answer: &Answer, envelope: &Value) {
    if let Some(next) = answer.next() {
        found.shown(answer, "next call", next["tool"].as_str().unwrap_or_default());
        let arguments = next["arguments"].to_string();
        found.check(answer.text.contains(&*pdpp::ui::json_ascii_controls(&arguments)), || {
            format!("text: no next arguments {arguments}")
        });
    }
    for key in ["next_cursor", "next_changes_since"] {
        if let Some(cursor) = envelope[key].as_str() {
            found.shown(answer, key, cursor);
        }
    }
}

/// A success must be reported as one.
fn succeeded(found: &mut Differences, answer: &Answer) -> bool {
    found.check(!answer.is_error, || format!("an error: {}", text::prefix(&answer.text, 400)));
    !answer.is_error
}

/// Pages of `query_records` compared with one recorded list. `merged`: rows of several connections, whose order is
/// only kept within each, and whose cursors and warnings are the adapter's own.
pub fn records(pages: &[Answer], sent: &Value, merged: bool) -> Differences {
    let mut found = Differences::default();
    let mut rows = Vec::new();
    for page in pages {
        if !succeeded(&mut found, page) {
            return found;
        }
        let cut = cut_fields(page);
        for row in page.structured["data"]["data"].as_array().into_iter().flatten() {
            let handle = row_handle(row);
            found.shown(page, "row", &handle);
            rows.push((handle, row.clone(), cut.clone()));
        }
        cursors_in_text(&mut found, page, &page.structured["data"]);
    }
    let sent_rows: Vec<(String, &Value)> =
        sent["data"].as_array().into_iter().flatten().map(|row| (row_handle(row), row)).collect();
    order(
        &mut found,
        &rows.iter().map(|(handle, ..)| handle.as_str()).collect::<Vec<_>>(),
        &sent_rows,
        merged,
    );
    for (handle, row, cut) in &rows {
        let Some((_, sent)) = sent_rows.iter().find(|(sent, _)| sent == handle) else { continue };
        let fields = cut.get(handle);
        let is_cut = |at: &str| {
            let path = at.strip_prefix("data.").or(at.strip_prefix(".data.")).unwrap_or(at);
            fields.is_some_and(|fields| {
                fields.iter().any(|field| path == field || path.starts_with(&format!("{field}.")))
            })
        };
        let mut differences = Differences::default();
        verbatim(&mut differences, "", row, sent, &is_cut);
        found.0.extend(differences.0.into_iter().map(|difference| format!("{handle}: {difference}")));
    }
    let Some(last) = pages.last() else {
        found.0.push("no page at all".into());
        return found;
    };
    let envelope = &last.structured["data"];
    if merged {
        found.check(envelope.get("next_cursor").is_none_or(Value::is_null), || {
            "a cursor after the last row".into()
        });
    } else {
        for key in ["has_more", "next_changes_since", "object"] {
            found.equal(key, &envelope[key], &sent[key]);
        }
        found.leads_on(&envelope["next_cursor"], &sent["next_cursor"]);
        found.equal("warnings", &envelope["meta"]["warnings"], &sent["meta"]["warnings"]);
        envelope_in_text(&mut found, last, sent);
        more_than_sent(&mut found, envelope, sent);
    }
    found.equal("count", &pages[0].structured["data"]["meta"]["count"], &sent["meta"]["count"]);
    found
}

/// Every row once, none invented, in the provider's order (within each connection if merged).
fn order(found: &mut Differences, got: &[&str], sent: &[(String, &Value)], merged: bool) {
    let connection = |handle: &str| handle.split('/').next().unwrap_or_default().to_owned();
    let by_connection = |handles: Vec<&str>| {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for handle in handles {
            let key = if merged { connection(handle) } else { String::new() };
            all.entry(key).or_default().push(handle.to_owned());
        }
        all
    };
    let got = by_connection(got.to_vec());
    let sent = by_connection(sent.iter().map(|(handle, _)| handle.as_str()).collect());
    found.check(got == sent, || format!("rows: {got:?} instead of {sent:?}"));
}

fn more_than_sent(found: &mut Differences, envelope: &Value, sent: &Value) {
    for key in envelope.as_object().into_iter().flat_map(Map::keys) {
        found.check(sent.get(key).is_some(), || format!("data.{key}: more than the provider sent"));
    }
}

fn row_handle(row: &Value) -> String {
    let text = |key: &str| row[key].as_str().unwrap_or_default();
    self_contained(text("connection_id"), text("stream"), text("id"))
}

/// Pages of `aggregate` compared with a recorded one: the value or every bucket, and the remainder, in both views. If
/// one result cannot hold all buckets, the calls that it names return the others.
pub fn aggregate(pages: &[Answer], sent: &Value) -> Differences {
    let mut found = Differences::default();
    let mut groups = Vec::new();
    for page in pages {
        if !succeeded(&mut found, page) {
            return found;
        }
        let got = page.structured["data"]["groups"].as_array().cloned().unwrap_or_default();
        for group in &got {
            let (key, count) = (plain(&group["key"]), plain(&group["count"]));
            let line =
                page.text.lines().any(|line| line.contains(&key) && words(line).any(|word| word == count));
            found.check(line, || format!("text: no line with bucket {key} and its count {count}"));
        }
        groups.extend(got);
        cursors_in_text(&mut found, page, &page.structured["data"]);
    }
    if let Some(sent) = sent.get("groups") {
        found.equal("buckets", &groups.into(), sent);
    }
    let answer = &pages[0];
    let whole = pages.len() > 1;
    verbatim(&mut found, "data", &answer.structured["data"], sent, &|at| {
        whole && at.starts_with("data.groups")
    });
    for key in ["metric", "stream"] {
        found.shown(answer, key, sent[key].as_str().unwrap_or_default());
    }
    if let Some(value) = sent.get("value") {
        found.shown(answer, "value", &plain(value));
    }
    if sent["other_count"].as_u64().is_some_and(|others| others > 0) {
        found.shown(answer, "other_count", &plain(&sent["other_count"]));
    }
    envelope_in_text(&mut found, answer, sent);
    found
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| text::one_line(text).into_owned())
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '.' || c == '-')).filter(|word| !word.is_empty())
}

/// Pages of `search` compared with one recorded list of hits.
pub fn search(pages: &[Answer], sent: &Value) -> Differences {
    let mut found = Differences::default();
    let mut handles = Vec::new();
    let sent_hits: Vec<(String, &Value)> =
        sent["data"].as_array().into_iter().flatten().map(|hit| (hit_handle(hit), hit)).collect();
    for page in pages {
        if !succeeded(&mut found, page) {
            return found;
        }
        for result in page.structured["results"].as_array().into_iter().flatten() {
            let id = result["id"].as_str().unwrap_or_default().to_owned();
            found.shown(page, "hit", &id);
            if let Some((_, hit)) = sent_hits.iter().find(|(handle, _)| *handle == id) {
                hit_is_sent(&mut found, &id, result, hit);
            }
            handles.push(id);
        }
        let hits = page.structured["data"].get("data");
        found.check(hits.is_none_or(|hits| hits.as_array().is_some_and(Vec::is_empty)), || {
            "hits are there twice".into()
        });
        cursors_in_text(&mut found, page, &page.structured["data"]);
    }
    order(&mut found, &handles.iter().map(String::as_str).collect::<Vec<_>>(), &sent_hits, false);
    let Some(last) = pages.last() else {
        found.0.push("no page at all".into());
        return found;
    };
    let envelope = &last.structured["data"];
    for key in ["has_more", "object"] {
        found.equal(key, &envelope[key], &sent[key]);
    }
    found.leads_on(&envelope["next_cursor"], &sent["next_cursor"]);
    for key in ["count", "warnings", "recall"] {
        found.equal(key, &envelope["meta"][key], &sent["meta"][key]);
    }
    if sent["meta"]["recall"].is_object() {
        found.shown(last, "recall", "recall");
    }
    more_than_sent(&mut found, envelope, sent);
    envelope_in_text(&mut found, last, sent);
    found
}

/// A flattened hit: what R3.31 requires, all of it from the hit, and nothing else.
fn hit_is_sent(found: &mut Differences, id: &str, result: &Value, hit: &Value) {
    let Some(fields) = result.as_object() else { return };
    for (key, from) in [("stream", "stream"), ("connection_id", "connection_id"), ("record_id", "record_key")]
    {
        found.equal(&format!("{id}: {key}"), &result[key], &hit[from]);
    }
    for key in ["title", "url", "connector_key"] {
        let is_there = result[key].as_str().is_some_and(|text| !text.is_empty());
        found.check(is_there, || format!("{id}: no {key}"));
    }
    found.check(result["url"].as_str().is_some_and(|url| url.contains("://")), || {
        format!("{id}: url is not absolute")
    });
    found.check(!is_url(&result["connector_key"]), || format!("{id}: connector_key is a URL"));
    for (key, value) in fields {
        match key.as_str() {
            "id" | "title" | "url" | "connector_key" | "record_id" | "stream" | "connection_id" => {}
            _ => match hit.get(key) {
                Some(sent) => {
                    // Excerpts are bounded again here; the remaining text must be the provider's.
                    let mut differences = Differences::default();
                    verbatim(&mut differences, key, value, sent, &|at| at.ends_with("text"));
                    found.0.extend(differences.0.into_iter().map(|difference| format!("{id}: {difference}")));
                }
                None => found.0.push(format!("{id}: {key}: more than the provider sent")),
            },
        }
    }
}

fn hit_handle(hit: &Value) -> String {
    let text = |key: &str| hit[key].as_str().unwrap_or_default();
    self_contained(text("connection_id"), text("stream"), text("record_key"))
}

/// `fetch` compared with a recorded record: the five keys, the same object in the text, every value of the record in
/// the document, digit for digit, or with a call that reads it. `has_schema`: whether the connector's short key can
/// be known if the record has a URL.
pub fn fetch(answer: &Answer, sent: &Value, has_schema: bool) -> Differences {
    let mut found = Differences::default();
    if !succeeded(&mut found, answer) {
        return found;
    }
    let keys: Vec<&str> =
        answer.structured.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
    found.check(keys == ["id", "metadata", "text", "title", "url"], || format!("keys: {keys:?}"));
    match serde_json::from_str::<Value>(&answer.text) {
        Ok(text) => found.equal("the text's object", &text, &answer.structured),
        Err(error) => found.0.push(format!("the text is not the object: {error}")),
    }
    found.equal("id", &answer.structured["id"], &row_handle(sent).into());
    for key in ["title", "url"] {
        found.check(answer.structured[key].as_str().is_some_and(|text| !text.is_empty()), || {
            format!("no {key}")
        });
    }
    metadata(&mut found, &answer.structured["metadata"], sent, has_schema);

    let mut whole = sent["data"].clone();
    if let (Some(expanded), Some(whole)) = (sent.get("expanded"), whole.as_object_mut()) {
        whole.insert("expanded".into(), expanded.clone());
    }
    let text = answer.structured["text"].as_str().unwrap_or_default();
    let reads = &answer.structured["metadata"]["read_more"];
    let is_cut = |at: &str| {
        let field = at.trim_start_matches('.').split(['.', '[']).next().unwrap_or_default();
        reads.as_array().into_iter().flatten().any(|read| {
            let arguments = &read["arguments"];
            read["tool"].is_string() && (arguments["field_path"] == field || arguments["fields"][0] == field)
        })
    };
    match whole.as_object().map(|fields| fields.iter().collect::<Vec<_>>()).as_deref() {
        // The document of a record with one text is that text.
        Some([(name, Value::String(value))]) => {
            let may = text == value || (value.starts_with(text) && is_cut(name));
            found.check(may, || {
                format!("text: {:?} instead of {:?}", text::prefix(text, 100), text::prefix(value, 100))
            });
        }
        _ => match serde_json::from_str::<Value>(text) {
            Ok(document) => verbatim(&mut found, "", &document, &whole, &is_cut),
            Err(error) => found.0.push(format!("the document is not the record's JSON: {error}")),
        },
    }
    found
}

fn metadata(found: &mut Differences, metadata: &Value, sent: &Value, has_schema: bool) {
    for (key, from) in [("stream", "stream"), ("record_id", "id"), ("connection_id", "connection_id")] {
        found.equal(&format!("metadata.{key}"), &metadata[key], &sent[from]);
    }
    let key = &metadata["connector_key"];
    found
        .check((key.is_string() || !has_schema) && !is_url(key), || format!("metadata.connector_key: {key}"));
    for (key, value) in metadata.as_object().into_iter().flatten() {
        match key.as_str() {
            "stream" | "record_id" | "connection_id" | "connector_key" | "truncated" | "read_more" => {}
            "blob" => {
                let blob = sent["data"]["blob_ref"]["blob_id"].as_str().unwrap_or("");
                let read = format!("resources/read pdpp://blob/{blob}");
                found.check(*value == read.as_str(), || format!("metadata.blob: {value}"));
            }
            "warnings" => found.equal("metadata.warnings", value, &sent["meta"]["warnings"]),
            _ => found.equal(&format!("metadata.{key}"), value, &sent[key]),
        }
    }
}

/// `read_record_field` compared with a recorded window: the text inline in both views, and the call to read on.
pub fn window(answer: &Answer, sent: &Value) -> Differences {
    let mut found = Differences::default();
    if !succeeded(&mut found, answer) {
        return found;
    }
    let (got, sent_window) = (&answer.structured["data"]["window"], &sent["window"]);
    let whole = sent_window["text"].as_str().unwrap_or_default();
    let part = got["text"].as_str().unwrap_or_default();
    // A window larger than one result is cut; it then states where it ends, and continues from there.
    let is_cut = part != whole;
    if is_cut {
        found
            .check(!part.is_empty() && whole.starts_with(part), || "the window is not the provider's".into());
        let start = sent_window["start_chars"].as_u64().unwrap_or_default();
        let end = start + part.chars().count() as u64;
        found.equal("end_chars", &got["end_chars"], &end.into());
        found.equal("next_offset_chars", &got["next_offset_chars"], &end.into());
        found.equal("complete", &got["complete"], &false.into());
    }
    let may_differ = |at: &str| {
        is_cut
            && ["text", "end_chars", "next_offset_chars", "complete", "has_more", "limit_chars"]
                .iter()
                .any(|key| at.ends_with(key))
    };
    verbatim(&mut found, "data", &answer.structured["data"], sent, &may_differ);
    found.check(shows(&answer.text, part), || "text: the window is not inline".into());
    if let Some(next) = got["next_offset_chars"].as_u64() {
        found.shown(answer, "next offset", &next.to_string());
    }
    found
}

/// `schema` compared with a recorded compact or full body: verbatim if it is small enough, else with the name of
/// every stream, connection and (in a scoped answer) field.
pub fn schema(answer: &Answer, sent: &Value, scoped: bool) -> Differences {
    let mut found = Differences::default();
    if !succeeded(&mut found, answer) {
        return found;
    }
    found.check(answer.structured["data"].get("data").is_none(), || "data.data".into());
    for connector in sent["connectors"].as_array().into_iter().flatten() {
        let connections = connector["granted_connections"].as_array().into_iter().flatten();
        for connection in connections {
            found.shown(answer, "connection", connection["connection_id"].as_str().unwrap_or_default());
            if let Some(label) = connection["display_name"].as_str() {
                found.shown(answer, "label", label);
            }
        }
        if let Some(key) = connector["connector_key"].as_str().filter(|key| !key.contains("://")) {
            found.shown(answer, "connector", key);
        }
        for stream in connector["streams"].as_array().into_iter().flatten() {
            found.shown(answer, "stream", stream["name"].as_str().unwrap_or_default());
            if scoped {
                for field in stream["field_capabilities"].as_object().into_iter().flat_map(Map::keys) {
                    found.shown(answer, "field", field);
                }
            }
        }
    }
    found
}

/// A structured schema that is the provider's own, complete.
pub fn schema_is_verbatim(answer: &Answer, sent: &Value) -> Differences {
    let mut found = Differences::default();
    verbatim(&mut found, "data", &answer.structured["data"], sent, &complete);
    found
}

/// Whether the structured schema is the provider's own, except for the capabilities that a field does not have, and
/// states this.
pub fn schema_is_whole_but_for_noes(answer: &Answer, sent: &Value) -> bool {
    fn without_noes(value: &Value) -> Value {
        match value {
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| (key.clone(), without_noes(value)))
                .filter(|(key, value)| {
                    let is_no = value["declared"] == false && value["usable"] == false;
                    let is_empty =
                        ["aggregation", "schema"].contains(&key.as_str()) && *value == serde_json::json!({});
                    !is_no && !is_empty
                })
                .collect(),
            Value::Array(list) => list.iter().map(without_noes).collect(),
            other => other.clone(),
        }
    }
    let mut found = Differences::default();
    let (ours, theirs) = (without_noes(&answer.structured["data"]), without_noes(sent));
    verbatim(&mut found, "data", &ours, &theirs, &complete);
    found.0.is_empty() && answer.text.contains("are omitted")
}

/// A refusal by the resource server: code, message, param and request id in the text; the same in the structured view
/// if there is one (R5.1, R5.2).
pub fn refusal(answer: &Answer, sent: &Value) -> Differences {
    let mut found = Differences::default();
    found.check(answer.is_error, || "not an error".into());
    let error = &sent["error"];
    let structured = &answer.structured["error"];
    for key in ["code", "message", "param", "request_id"] {
        let Some(value) = error[key].as_str() else { continue };
        found.shown(answer, key, value);
        if structured.is_object() {
            found.equal(key, &structured[key], &error[key]);
        }
    }
    for candidate in error["available_connections"].as_array().into_iter().flatten() {
        found.shown(answer, "candidate", candidate["connection_id"].as_str().unwrap_or_default());
    }
    if let Some(retry) = error["retry_with"].as_str() {
        found.shown(answer, "retry_with", retry);
    }
    found
}

/// A refusal by the adapter: typed, and complete in the text (R5.2).
pub fn own_refusal(answer: &Answer) -> Differences {
    let mut found = Differences::default();
    found.check(answer.is_error, || format!("not refused: {}", text::prefix(&answer.text, 200)));
    if let Some(code) = answer.structured["error"]["code"].as_str() {
        found.shown(answer, "code", code);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn list() -> Value {
        json!({"object": "list", "has_more": true, "next_cursor": "CUR", "url": "/x",
            "data": [{"object": "record", "id": "r1", "stream": "s", "connection_id": "c", "connector_instance_id": "c",
                "connector_key": "https://x.example/k", "data": {"n": 1, "long": "abc"}}],
            "meta": {"count": {"kind": "exact", "value": 41}, "warnings": [{"code": "stale", "message": "An hour old"}]}})
    }

    fn page() -> Answer {
        let mut data = list();
        let row = data["data"][0].as_object_mut().unwrap();
        row.remove("connector_instance_id");
        row.insert("connector_key".into(), "k".into());
        Answer {
            text: "c/s:r1 n=1 long=abc\nnext_cursor=CUR count=41 warning stale: An hour old".into(),
            structured: json!({"data": data}),
            is_error: false,
        }
    }

    fn differs(change: impl FnOnce(&mut Answer)) -> String {
        let mut page = page();
        change(&mut page);
        records(&[page], &list(), false).0.join("; ")
    }

    #[test]
    fn a_faithful_page_has_no_differences() {
        assert_eq!(differs(|_| {}), "");
    }

    #[test]
    fn every_kind_of_unfaithful_page_is_found() {
        let row = |page: &mut Answer| page.structured["data"]["data"][0].take();
        assert!(differs(|page| page.structured["data"]["data"] = json!([])).contains("rows"));
        assert!(differs(|page| page.structured["data"]["data"][0]["id"] = json!("r2")).contains("rows"));
        assert!(differs(|page| page.structured["data"]["data"][0]["guess"] = json!(1)).contains("more than"));
        assert!(
            differs(|page| page.structured["data"]["data"][0]["connector_instance_id"] = json!("c"))
                .contains("alias")
        );
        assert!(
            differs(|page| page.structured["data"]["data"][0]["data"]["n"] = json!(1.0))
                .contains("instead of 1")
        );
        assert!(
            differs(|page| page.structured["data"]["data"][0]["data"]["long"] = json!("ab")).contains("long")
        );
        assert!(differs(|page| page.structured["data"]["next_cursor"] = Value::Null).contains("next_cursor"));
        assert!(differs(|page| page.structured["data"]["extra"] = json!(1)).contains("data.extra"));
        assert!(differs(|page| page.structured["data"]["meta"]["warnings"] = json!([])).contains("warnings"));
        assert!(
            differs(|page| page.structured["data"]["meta"]["count"]["value"] = json!(40)).contains("count")
        );
        for lost in ["c/s:r1", "CUR", "41", "stale", "An hour old"] {
            assert!(differs(|page| page.text = page.text.replace(lost, "")).contains("text: no"), "{lost}");
        }
        assert!(differs(|page| page.is_error = true).contains("an error"));
        assert!(differs(|page| drop(row(page))).contains("rows"));
    }

    #[test]
    fn a_cut_value_needs_a_call_that_goes_on() {
        let cut = |read: Value| {
            differs(|page| {
                page.structured["data"]["data"][0]["data"]["long"] = json!("ab");
                page.structured["content_ladder"] = json!({"records": [{"id": "c/s:r1",
                    "fields": [{"field_path": "long", "complete": false, "read": read}]}]});
            })
        };
        assert_eq!(cut(json!({"field_path": "long"})), "");
        assert!(cut(Value::Null).contains("long"));
    }

    #[test]
    fn numbers_are_compared_by_their_digits() {
        let number = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert!(same(&number("1e+400"), &number("1E400")));
        for (left, right) in
            [("1.10", "1.1"), ("-0.0", "0.0"), ("12345678901234567890123", "12345678901234567890124")]
        {
            assert!(!same(&number(left), &number(right)), "{left} {right}");
        }
    }

    #[test]
    fn merged_rows_keep_their_order_within_a_connection() {
        let row = |connection: &str, id: &str| json!({"id": id, "stream": "s", "connection_id": connection});
        let sent = json!({"data": [row("a", "1"), row("a", "2"), row("b", "1")]});
        let page = |rows: Value| Answer {
            text: "a/s:1 a/s:2 b/s:1".into(),
            structured: json!({"data": {"data": rows}}),
            is_error: false,
        };
        let right = json!([row("a", "1"), row("b", "1"), row("a", "2")]);
        assert_eq!(records(&[page(right)], &sent, true).0, Vec::<String>::new());
        let swapped = json!([row("a", "2"), row("b", "1"), row("a", "1")]);
        assert!(!records(&[page(swapped)], &sent, true).0.is_empty());
    }

    #[test]
    fn an_error_is_complete_in_the_text() {
        let sent =
            json!({"error": {"code": "no", "message": "Not now", "param": "limit", "request_id": "q1"}});
        let answer = |text: &str| Answer { text: text.into(), structured: Value::Null, is_error: true };
        assert_eq!(refusal(&answer("no: Not now (limit) q1"), &sent).0, Vec::<String>::new());
        for lost in ["no: Not now (limit)", "no: Not now q1", "no: (limit) q1"] {
            assert_eq!(refusal(&answer(lost), &sent).0.len(), 1, "{lost}");
        }
        let wrong =
            Answer { structured: json!({"error": {"code": "other"}}), ..answer("no: Not now (limit) q1") };
        assert!(!refusal(&wrong, &sent).0.is_empty());
    }

    #[test]
    fn buckets_stand_with_their_counts_on_a_line() {
        let sent = json!({"metric": "count", "stream": "s", "groups": [{"key": "a", "count": 12}, {"key": false, "count": 3}], "other_count": 7});
        let answer = |text: &str| Answer {
            text: text.into(),
            structured: json!({"data": sent.clone()}),
            is_error: false,
        };
        assert_eq!(
            aggregate(&[answer("count s\na: 12\nfalse: 3\nother_count=7")], &sent).0,
            Vec::<String>::new()
        );
        assert!(!aggregate(&[answer("count s\na: 3\nfalse: 12\nother_count=7")], &sent).0.is_empty());
        assert!(!aggregate(&[answer("count s\na: 12\nfalse: 3")], &sent).0.is_empty());
    }
}
