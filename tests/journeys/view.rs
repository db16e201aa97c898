//! What one view of a result shows a reader: the text alone, or the structured output alone.
//!
//! The text side reads lines like a model: `id=…` tokens, `name=value`, `label: tool {json}`. It never looks at the
//! structured side.

use serde_json::{Map, Value, json};

use super::stage::Answer;

const TOOLS: [&str; 6] = ["schema", "query_records", "aggregate", "search", "fetch", "read_record_field"];

/// A tool and its arguments.
type Call = (String, Map<String, Value>);

/// The view that a host shows its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    Text,
    Structured,
}

/// A tool call that an answer offers.
#[derive(Debug, Clone)]
pub struct Offer {
    /// `next`, `next match`, `previous`, `more`, `continues`.
    pub label: String,
    pub tool: String,
    pub arguments: Map<String, Value>,
    /// The field that it reads on in.
    pub field: Option<String>,
}

/// What an answer names: a record, a hit, a stream, a field or a connection.
#[derive(Debug, Clone, Default)]
pub struct Item {
    /// What it shows of it; a record's handle is `handle`.
    pub values: Map<String, Value>,
    /// The fields whose values are incomplete.
    pub cut: Vec<String>,
    /// Connection, stream and the record's own id, only for the judge.
    pub identity: Value,
}

impl Item {
    fn of(pairs: &[(&str, Value)]) -> Self {
        let mut item = Self::default();
        for (name, value) in pairs {
            item.values.insert((*name).to_owned(), value.clone());
        }
        item
    }

    fn handle(&mut self, handle: Value) {
        self.identity = handle.as_str().map_or(Value::Null, identity_of);
        // `fetch` describes the parts of a handle this way.
        if let Some(record) = self.identity.get(2) {
            self.values.insert("record".into(), record.clone());
        }
        self.values.insert("handle".into(), handle);
    }
}

/// The parts of a handle: the record id is the rest, with its `%XX` decoded.
fn identity_of(handle: &str) -> Value {
    let Some((connection, rest)) = handle.split_once('/') else { return Value::Null };
    let Some((stream, record)) = rest.split_once(':') else { return Value::Null };
    let record = percent_encoding::percent_decode_str(record).decode_utf8_lossy();
    json!([connection, stream, record])
}

/// What a reader of one view sees.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The code of a typed error.
    pub error: Option<String>,
    pub items: Vec<Item>,
    pub offers: Vec<Offer>,
    /// Everything that the answer states as a whole.
    pub facts: Map<String, Value>,
    /// The window of a field.
    pub window: Option<String>,
    /// Buckets with their counts.
    pub groups: Option<Vec<Value>>,
}

impl Seen {
    pub fn read(view: View, answer: &Answer) -> Self {
        match view {
            View::Text => of_text(&answer.text),
            View::Structured => of_structured(&answer.structured),
        }
    }

    pub fn offer(&self, label: &str, field: Option<&str>) -> Option<&Offer> {
        self.offers.iter().find(|offer| {
            offer.label == label && field.is_none_or(|field| offer.field.as_deref() == Some(field))
        })
    }

    fn add_offer(&mut self, label: &str, call: Option<Call>) {
        let Some((tool, arguments)) = call else { return };
        let field = arguments.get("field_path").and_then(Value::as_str).map(str::to_owned);
        self.offers.push(Offer { label: label.to_owned(), tool, arguments, field });
    }
}

/// A call as a text writes it: the name of a tool and its arguments as JSON.
fn call_in(text: &str) -> Option<Call> {
    TOOLS.iter().find_map(|tool| {
        let at = text.find(&format!("{tool} {{"))?;
        let boundary =
            at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric() && text.as_bytes()[at - 1] != b'_';
        let (arguments, _) = json_at(&text[at + tool.len() + 1..]).filter(|_| boundary)?;
        Some(((*tool).to_owned(), arguments.as_object()?.clone()))
    })
}

/// The JSON value at the start of `text`, and its length.
fn json_at(text: &str) -> Option<(Value, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some((value, values.byte_offset()))
}

// ---- structured ----

fn of_structured(root: &Value) -> Seen {
    let mut seen = Seen::default();
    if let Some(error) = root.get("error").and_then(Value::as_object) {
        seen.error = error.get("code").and_then(Value::as_str).map(str::to_owned);
        seen.facts.clone_from(error);
        seen.add_offer("next", error.get("next").and_then(call_of));
        for candidate in list(error.get("available_connections")) {
            let mut item =
                Item { values: candidate.as_object().cloned().unwrap_or_default(), ..Item::default() };
            if let Some(label) = item.values.get("display_name").cloned() {
                item.values.insert("label".into(), label);
            }
            seen.items.push(item);
        }
        return seen;
    }
    for (key, label) in [("next", "next"), ("next_match", "next match"), ("previous", "previous")] {
        seen.add_offer(label, root.get(key).and_then(call_of));
    }
    for record in list(root.pointer("/content_ladder/records")) {
        for field in list(record.get("fields")) {
            let label = if field.get("preview").is_some() { "more" } else { "continues" };
            if field.get("complete") == Some(&json!(false)) {
                seen.add_offer(label, field.get("read").and_then(call_of));
            }
        }
    }
    if root.get("metadata").is_some() {
        document(&mut seen, root);
    } else if let Some(results) = root.get("results").and_then(Value::as_array) {
        seen.items.extend(results.iter().map(hit));
        envelope(&mut seen, &root["data"]);
    } else if let Some(data) = root.get("data") {
        match (data.get("window"), data.get("connectors"), data.get("metric"), data.get("data")) {
            (Some(window), ..) => {
                seen.window = window.get("text").and_then(Value::as_str).map(str::to_owned);
                seen.facts = window.as_object().cloned().unwrap_or_default();
            }
            (_, Some(connectors), ..) => schema(&mut seen, connectors),
            (_, _, Some(_), _) => {
                if let Some(groups) = data.get("groups").and_then(Value::as_array) {
                    seen.groups = Some(groups.iter().map(group_of).collect());
                }
                seen.facts = data.as_object().cloned().unwrap_or_default();
            }
            (_, _, _, Some(rows)) => {
                let handles = root.get("ids").and_then(Value::as_array);
                for (at, row) in list(Some(rows)).iter().enumerate() {
                    seen.items.push(record(row, handles.and_then(|handles| handles.get(at))));
                }
                envelope(&mut seen, data);
            }
            _ => {}
        }
    }
    seen
}

/// A group's key, its count, and its value if it has one.
fn group_of(group: &Value) -> Value {
    let value = group.get("value").filter(|_| group.get("count").is_some());
    let mut all = vec![group["key"].clone(), group["count"].clone()];
    all.extend(value.cloned());
    all.into()
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn call_of(call: &Value) -> Option<Call> {
    Some((call.get("tool")?.as_str()?.to_owned(), call.get("arguments")?.as_object()?.clone()))
}

fn envelope(seen: &mut Seen, body: &Value) {
    for name in ["next_cursor", "next_changes_since", "has_more"] {
        if let Some(value) = body.get(name) {
            seen.facts.insert(name.to_owned(), value.clone());
        }
    }
    if let Some(count) = body.pointer("/meta/count/value").or_else(|| body.pointer("/meta/count")) {
        seen.facts.insert("count".into(), count.clone());
    }
}

/// A record of a list. If its handle is missing, it is composed as `fetch` describes it.
fn record(row: &Value, handle: Option<&Value>) -> Item {
    let mut item = Item { values: row["data"].as_object().cloned().unwrap_or_default(), ..Item::default() };
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or("");
    let own = format!("{}/{}:{}", text("connection_id"), text("stream"), text("id"));
    item.handle(handle.cloned().unwrap_or_else(|| own.into()));
    item.identity = json!([text("connection_id"), text("stream"), text("id")]);
    item.values.insert("connection_id".into(), text("connection_id").into());
    if row.get("deleted") == Some(&json!(true)) {
        item.values.insert("deleted".into(), json!(true));
    }
    if let Some(expanded) = row.get("expanded") {
        item.values.insert("expanded".into(), expanded.clone());
    }
    item
}

fn hit(result: &Value) -> Item {
    let mut item = Item::of(&[
        ("title", result["title"].clone()),
        ("connection_id", result["connection_id"].clone()),
        ("stream", result["stream"].clone()),
    ]);
    item.handle(result["id"].clone());
    if let Some(label) = result.get("display_name") {
        item.values.insert("source".into(), label.clone());
    }
    if let Some(excerpt) = result.pointer("/snippet/text") {
        item.values.insert("excerpt".into(), excerpt.clone());
    }
    item
}

fn schema(seen: &mut Seen, connectors: &Value) {
    for connector in list(Some(connectors)) {
        let key = connector.get("connector_key").cloned().unwrap_or_default();
        let named =
            list(connector.get("stream_names")).iter().map(|name| json!({"name": name})).collect::<Vec<_>>();
        for row in list(connector.get("streams")).iter().chain(&named) {
            let granted = row.get("granted_connections").filter(|list| **list != json!([]));
            for connection in list(granted.or_else(|| connector.get("granted_connections"))) {
                seen.items.push(Item::of(&[
                    ("stream", row["name"].clone()),
                    ("connector", key.clone()),
                    ("connection_id", connection["connection_id"].clone()),
                    ("label", connection.get("display_name").cloned().unwrap_or_default()),
                ]));
            }
            for (field, flags) in
                row.get("field_capabilities").and_then(Value::as_object).into_iter().flatten()
            {
                seen.items.push(Item::of(&[
                    ("field", field.clone().into()),
                    ("flags", flags.clone()),
                    ("connector", key.clone()),
                ]));
            }
            for relation in list(row.get("expand_capabilities")) {
                seen.items
                    .push(Item::of(&[("relation", relation["name"].clone()), ("connector", key.clone())]));
            }
            if let Some(sort) = row.get("cursor_field") {
                seen.facts.insert("sort".into(), sort.clone());
            }
        }
    }
}

/// `fetch`: the same object in both views.
fn document(seen: &mut Seen, root: &Value) {
    let mut item = Item::default();
    let text = root["text"].as_str().unwrap_or("");
    match serde_json::from_str(text) {
        Ok(Value::Object(data)) => item.values = data,
        _ => {
            item.values.insert("text".into(), text.into());
        }
    }
    item.handle(root["id"].clone());
    item.values.insert("title".into(), root["title"].clone());
    for name in ["connection_id", "deleted"] {
        if let Some(value) = root["metadata"].get(name) {
            item.values.insert(name.into(), value.clone());
        }
    }
    for call in list(root["metadata"].get("read_more")) {
        seen.add_offer("continues", call_of(call));
        item.cut.extend(call.pointer("/arguments/field_path").and_then(Value::as_str).map(str::to_owned));
    }
    seen.items.push(item);
}

// ---- text ----

fn of_text(text: &str) -> Seen {
    let mut seen = Seen::default();
    if let Ok(root @ Value::Object(_)) = serde_json::from_str(text) {
        if root.get("metadata").is_some() {
            document(&mut seen, &root);
        }
        return seen;
    }
    let lines = text.lines().collect::<Vec<_>>();
    let is_window = lines.get(1).is_some_and(|line| line.contains(": characters "));
    let mut connector = Value::Null;
    let mut grouped = false;
    for (at, line) in lines.iter().enumerate() {
        if at == 0
            && let Some((code, _)) = line.strip_prefix("error ").and_then(|rest| rest.split_once(": "))
        {
            seen.error = Some(code.to_owned());
        } else if at == 0 && is_window {
            seen.window = json_at(line).and_then(|(value, _)| value.as_str().map(str::to_owned));
        } else if let Some((label, call)) = offer_line(line) {
            seen.add_offer(label, Some(call));
        } else if let Some(next) = line.strip_prefix("next: ") {
            seen.facts.insert("next".into(), next.into());
        } else if is_window && (at == 1 || line.starts_with("match: ")) {
            window_facts(&mut seen, line);
        } else if let Some((relation, of_list, related)) = related_line(line) {
            if let Some(item) = seen.items.last_mut() {
                relate(item, &relation, of_list, &related);
            }
        } else if let Some(item) = record_line(line) {
            match seen.items.last_mut() {
                // The line below a hit's evidence names the hit.
                Some(hit) if line.starts_with("  ") && !hit.values.contains_key("handle") => {
                    hit.values.extend(item.values);
                    hit.identity = item.identity;
                }
                _ => seen.items.push(item),
            }
        } else if let Some(item) = hit_line(line) {
            seen.items.push(item);
        } else if is_more_of_a_hit(line, seen.items.last()) {
            // The contents of further fields of the same hit.
        } else if let Some(head) = aggregate_head(line).filter(|_| at == 0) {
            grouped = head.is_none();
            if let Some(value) = head {
                seen.facts.insert("value".into(), value);
            } else {
                seen.groups = Some(Vec::new());
            }
        } else if let Some(group) = grouped.then(|| group_line(line)).flatten() {
            seen.groups.get_or_insert_default().push(group);
        } else if schema_line(&mut seen, line, &mut connector) {
        } else if let Some((name, value)) = fact_line(line) {
            seen.facts.insert(name, value);
        }
    }
    seen
}

/// `next: tool {…}`, `  more: tool {…}`, `FIELD continues: tool {…}`.
fn offer_line(line: &str) -> Option<(&'static str, Call)> {
    let (label, rest) = line.trim_start().split_once(": ")?;
    let label = match label {
        "next" => "next",
        "next match" => "next match",
        "previous" => "previous",
        "more" => "more",
        "fields" => "fields",
        _ if label.ends_with(" continues") => "continues",
        _ => return None,
    };
    Some((label, call_in(rest)?))
}

/// `body of id: characters 0 to 10 of 20, complete=false`, `match: characters 3 to 5`.
fn window_facts(seen: &mut Seen, line: &str) {
    let Some((_, rest)) = line.rsplit_once(": characters ") else { return };
    let words = rest.split([' ', ',']).collect::<Vec<_>>();
    let is_match = line.starts_with("match: ");
    let names =
        if is_match { ["match_start_chars", "match_end_chars"] } else { ["start_chars", "end_chars"] };
    if let [start, "to", end, rest @ ..] = words.as_slice() {
        seen.facts.extend(names.into_iter().zip([start, end]).map(|(name, word)| (name.into(), bare(word))));
        if let ["of", total, ..] = rest {
            seen.facts.insert("total_chars".into(), bare(total));
        }
    }
}

/// A line of `name=value` pairs that names a record or a connection.
fn record_line(line: &str) -> Option<Item> {
    let line = line.trim_start();
    if !line.starts_with("id=") && !line.starts_with("connection_id=") {
        return None;
    }
    let mut item = Item::default();
    let mut pairs = pairs(line);
    let first = pairs.remove(0);
    if first.0 == "id" {
        item.handle(first.1);
    } else {
        item.values.insert(first.0, first.1);
    }
    for (name, value, complete) in pairs {
        match (name.as_str(), value.as_str()) {
            ("null", Some(names)) => {
                item.values.extend(names.split(',').map(|name| (name.to_owned(), Value::Null)));
            }
            ("cut", Some(names)) => item.cut.extend(names.split(',').map(str::to_owned)),
            _ => {
                if !complete {
                    item.cut.push(name.clone());
                }
                item.values.insert(name, value);
            }
        }
    }
    Some(item)
}

/// `   expanded attendees 2: id=… name=…`: the second of a list, `   expanded body: id=…`: the only one.
fn related_line(line: &str) -> Option<(String, bool, Item)> {
    let (heading, rest) = line.strip_prefix("   expanded ")?.split_once(": ")?;
    let (relation, number) =
        heading.split_once(' ').map_or((heading, None), |(name, number)| (name, Some(number)));
    Some((relation.to_owned(), number.is_some(), record_line(rest)?))
}

fn relate(item: &mut Item, relation: &str, of_list: bool, related: &Item) {
    if !related.cut.is_empty() {
        item.cut.push("expanded".to_owned());
    }
    let expanded = item.values.entry("expanded").or_insert_with(|| json!({}));
    let record = json!({"data": &related.values});
    if of_list {
        let list =
            expanded.as_object_mut().map(|map| map.entry(relation).or_insert_with(|| json!({"data": []})));
        if let Some(rows) = list.and_then(|list| list["data"].as_array_mut()) {
            rows.push(record);
        }
    } else {
        expanded[relation] = record;
    }
}

/// Splits `a=1 b="x y" c=[1,2] d={"e":"f…` into names, values, and whether the value is JSON to its end.
fn pairs(line: &str) -> Vec<(String, Value, bool)> {
    let mut found = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start();
        let (name, after) = if let Some((name, length)) = json_at(rest).filter(|_| rest.starts_with('"')) {
            let Some(after) = rest[length..].strip_prefix('=') else { return found };
            (name.as_str().unwrap_or("").to_owned(), after)
        } else {
            let Some((name, after)) = rest.split_once('=') else { return found };
            (name.to_owned(), after)
        };
        let is_json = after.starts_with(['"', '[', '{']);
        let (value, length, complete) = match json_at(after).filter(|_| is_json) {
            Some((value, length)) => (value, length, true),
            None if is_json => {
                let length = after.find("… ").map_or(after.len(), |at| at + "…".len());
                (after[..length].into(), length, false)
            }
            None => {
                let length = after.find(' ').unwrap_or(after.len());
                (bare(&after[..length]), length, true)
            }
        };
        // A name that is a token stays a text: an id may look like a number.
        let value = match (name.as_str(), value) {
            ("id" | "connection_id" | "stream" | "record_id" | "null" | "cut", Value::Number(number)) => {
                number.to_string().into()
            }
            (_, value) => value,
        };
        found.push((name, value, complete));
        rest = &after[length..];
    }
}

fn bare(word: &str) -> Value {
    serde_json::from_str(word).unwrap_or_else(|_| word.into())
}

/// `- field: "excerpt"`, `- snippet: "excerpt"`, or `- id=…`.
fn hit_line(line: &str) -> Option<Item> {
    let rest = line.strip_prefix("- ")?;
    if rest.starts_with("id=") {
        return record_line(rest);
    }
    let (_, excerpt) = rest.split_once(": ")?;
    Some(Item::of(&[("excerpt", json_at(excerpt)?.0)]))
}

/// `  from_name: "excerpt"` between the first evidence of a hit and the line that names it.
fn is_more_of_a_hit(line: &str, last: Option<&Item>) -> bool {
    let is_open = |hit: &Item| hit.values.contains_key("excerpt") && !hit.values.contains_key("handle");
    let evidence = line.strip_prefix("  ").and_then(|line| line.split_once(": ")).map(|(_, rest)| rest);
    last.is_some_and(is_open) && evidence.and_then(json_at).is_some_and(|(value, _)| value.is_string())
}

/// `count in messages = 5`, or `count in messages by label` whose groups follow.
#[allow(clippy::option_option, reason = "no aggregate at all, groups, or a value")]
fn aggregate_head(line: &str) -> Option<Option<Value>> {
    let metric = line.split(' ').next()?;
    if !["count", "sum", "min", "max", "count_distinct"].contains(&metric) || !line.contains(" in ") {
        return None;
    }
    Some(line.split_once(" = ").map(|(_, value)| bare(value)))
}

/// `"key": 5`, or `"key": -12.50 (5 records)`.
fn group_line(line: &str) -> Option<Value> {
    let (key, length) = json_at(line)?;
    let (first, rest) =
        line[length..].strip_prefix(": ")?.split_once(' ').unwrap_or((&line[length + 2..], ""));
    match rest.strip_prefix('(').and_then(|rest| rest.split_once(" record")) {
        Some((count, _)) => Some(json!([key, bare(count), bare(first)])),
        None => Some(json!([key, bare(first)])),
    }
}

/// The lines of a schema. `connector` is the one that the following lines belong to.
fn schema_line(seen: &mut Seen, line: &str, connector: &mut Value) -> bool {
    if let Some((field, flags)) = line.strip_prefix("  ").and_then(|line| line.split_once(": ")) {
        let item =
            Item::of(&[("field", field.into()), ("flags", flags.into()), ("connector", connector.clone())]);
        seen.items.push(item);
        return true;
    }
    if let Some(rest) = line.strip_prefix("stream ") {
        let Some((stream, heading)) = rest.split_once(" of ") else { return false };
        let (key, connections) = heading_of(heading);
        *connector = key.clone();
        push_streams(seen, &[stream], &key, &connections);
        return true;
    }
    if let Some(relations) = line.strip_prefix("expand: ") {
        for relation in relations.split(", ").filter(|relation| *relation != "none") {
            let name = relation.split(' ').next().unwrap_or("");
            seen.items.push(Item::of(&[("relation", name.into()), ("connector", connector.clone())]));
        }
        return true;
    }
    if let Some(sort) = line.strip_prefix("sort: ") {
        seen.facts.insert("sort".into(), sort.split(' ').next().unwrap_or("").into());
        return true;
    }
    if let Some((heading, streams)) = line.split_once("): ").filter(|_| line.contains(" (connection_id ")) {
        let (key, connections) = heading_of(heading);
        push_streams(seen, &streams.split(", ").collect::<Vec<_>>(), &key, &connections);
        return true;
    }
    false
}

/// `mail (connection_id cin_a "Label", cin_b "Other")`.
fn heading_of(heading: &str) -> (Value, Vec<(Value, Value)>) {
    let Some((key, rest)) = heading.split_once(" (connection_id ") else {
        return (heading.into(), Vec::new());
    };
    let mut rest = rest.trim_end_matches(')');
    let mut connections = Vec::new();
    while !rest.is_empty() {
        let end = rest.find([' ', ',']).unwrap_or(rest.len());
        let id = rest[..end].to_owned();
        rest = rest[end..].trim_start();
        let mut label = Value::Null;
        if let Some((value, length)) = json_at(rest).filter(|_| rest.starts_with('"')) {
            label = value;
            rest = &rest[length..];
        }
        rest = rest.trim_start_matches([',', ' ']);
        connections.push((id.into(), label));
    }
    (key.into(), connections)
}

fn push_streams(seen: &mut Seen, streams: &[&str], connector: &Value, connections: &[(Value, Value)]) {
    for stream in streams {
        for (id, label) in connections {
            seen.items.push(Item::of(&[
                ("stream", (*stream).into()),
                ("connector", connector.clone()),
                ("connection_id", id.clone()),
                ("label", label.clone()),
            ]));
        }
    }
}

/// `other_count=5 …`, `count: exact 45`.
fn fact_line(line: &str) -> Option<(String, Value)> {
    if let Some(count) = line.strip_prefix("count: ") {
        return count.split(' ').map(bare).find(Value::is_number).map(|count| ("count".to_owned(), count));
    }
    let (name, rest) = line.split_once('=')?;
    if name.contains(' ') {
        return None;
    }
    let value = json_at(rest).filter(|_| rest.starts_with('"')).map(|(value, _)| value);
    Some((name.to_owned(), value.unwrap_or_else(|| bare(rest.split(' ').next().unwrap_or("")))))
}
