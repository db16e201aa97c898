//! Which of our calls produces a recorded request.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::support::provider::Exchange;

/// What a host would call.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    Tool { name: &'static str, arguments: Map<String, Value> },
    Resource { uri: String },
}

/// What a recorded exchange is to the adapter: exactly one of these.
#[derive(Debug, Clone, PartialEq)]
pub enum Class {
    /// The call that the adapter answers by sending this request, with the recording as the answer.
    Reached(Call),
    /// A whole schema: the answer of a provider that does not know `view=compact` (R3.2).
    Projected(Call),
    /// A page that two connections gave together, without a cursor: the adapter reads each separately and walks both
    /// (R3.15).
    Merged(Call),
    /// The call that would send this request is refused before anything except a schema is read. With the reason.
    Refused(Call, &'static str),
    /// No argument of any tool leads here. With the reason.
    Unreachable(&'static str),
    /// Not a read with a grant's bearer.
    Outside(&'static str),
}

const NO_LISTING: &str = "streams and connectors are read through schema; there is no tool for this route";
const NO_VIEW: &str = "schema has no argument for another view than compact and full";
const NO_PART: &str = "a blob is read whole; resources/read has no range and no HEAD";

/// Classifies one exchange from its request alone, and whether its rows belong to one connection.
pub fn classify(exchange: &Exchange) -> Class {
    if !exchange.is_grant_read() {
        return Class::Outside(match &exchange.bearer {
            Some(bearer) if bearer.starts_with("OWNER") => "an owner's bearer, which is never used",
            Some(_) => "another route than /v1",
            None if exchange.segments.first().is_some_and(|first| first == "v1") => "a read without a bearer",
            None => "discovery, or a step of a connect flow",
        });
    }
    if exchange.method != "GET" || exchange.ranged {
        return Class::Unreachable(NO_PART);
    }
    let path: Vec<&str> = exchange.segments.iter().skip(1).map(String::as_str).collect();
    match path.as_slice() {
        ["schema"] => schema(exchange),
        ["streams" | "connectors"] | ["streams", _] => Class::Unreachable(NO_LISTING),
        ["streams", stream, "records"] => records(exchange, stream),
        ["streams", stream, "records", id] => record(exchange, stream, id),
        ["streams", stream, "records", id, "field-window"] => window(exchange, stream, id),
        ["streams", stream, "aggregate"] => aggregate(exchange, stream),
        ["search"] => search(exchange, "lexical"),
        ["search", "semantic"] => search(exchange, "semantic"),
        ["search", "hybrid"] => search(exchange, "hybrid"),
        ["blobs", blob] => Class::Reached(Call::Resource { uri: format!("pdpp://blob/{blob}") }),
        _ => panic!("{}: no rule for {}", exchange.name, exchange.line()),
    }
}

fn schema(exchange: &Exchange) -> Class {
    let mut arguments = Arguments::default();
    for (key, value) in &exchange.query {
        match (key.as_str(), value.as_str()) {
            ("view", "compact") => {}
            ("view", _) => return Class::Unreachable(NO_VIEW),
            ("detail" | "stream" | "connection_id", _) => arguments.text(key, value),
            _ => arguments.scalar(key, value),
        }
    }
    let full = exchange.parameter("detail") == Some("full");
    let call = arguments.call("schema");
    if full && exchange.parameter("stream").is_none() {
        return Class::Refused(call, "R3.6: full detail needs a stream");
    }
    if full && exchange.status == 409 {
        return Class::Refused(call, "R3.7: the compact schema already shows several sources");
    }
    if exchange.parameter("stream").is_some() && exchange.body["connectors"] == json!([]) {
        return Class::Refused(call, "R5.5: an empty schema is a stream that is not granted");
    }
    if exchange.query.is_empty() && exchange.status == 200 {
        return Class::Projected(call);
    }
    Class::Reached(call)
}

fn records(exchange: &Exchange, stream: &str) -> Class {
    let mut arguments = Arguments::default();
    arguments.text("stream", stream);
    for (key, value) in &exchange.query {
        match key.as_str() {
            "cursor" | "order" | "sort" | "count" | "view" | "changes_since" | "connection_id" => {
                arguments.text(key, value);
            }
            "limit" => arguments.scalar(key, value),
            "fields" => arguments.list(key, value),
            _ => arguments.relation_or_filter(key, value),
        }
    }
    let call = arguments.call("query_records");
    let refused = |why| Class::Refused(call.clone(), why);
    if !limit_is_within(exchange, "limit", 100) {
        return refused("R3.11: a limit is 1 to 100, never clamped");
    }
    if let Some(why) = wrong_shape(exchange) {
        return refused(why);
    }
    if exchange.parameter("order").is_some_and(|order| order != "asc" && order != "desc") {
        return refused("an order is asc or desc");
    }
    if exchange.parameter("expand").is_some()
        && exchange.parameter_error().is_some_and(|code| code == "invalid_request")
    {
        return refused("R3.62: the schema advertises nothing to expand");
    }
    if exchange.parameter("changes_since").is_some() && exchange.parameter("cursor").is_some() {
        return refused("a cursor goes on alone: beside changes_since it repeats page 1 for ever");
    }
    if exchange.connections().len() > 1 && exchange.body.get("next_cursor").is_none() {
        return Class::Merged(call);
    }
    Class::Reached(call)
}

fn record(exchange: &Exchange, stream: &str, id: &str) -> Class {
    let mut arguments = Arguments::default();
    let connection = exchange.parameter("connection_id");
    arguments.text("id", &handle(connection, stream, id));
    for (key, value) in exchange.query.iter().filter(|(key, _)| key != "connection_id") {
        match key.as_str() {
            "fields" => arguments.list(key, value),
            _ => arguments.relation_or_filter(key, value),
        }
    }
    let call = arguments.call("fetch");
    if exchange.parameter("expand").is_some() && exchange.status == 400 {
        return Class::Refused(call, "R3.62: the schema advertises nothing to expand");
    }
    Class::Reached(call)
}

fn window(exchange: &Exchange, stream: &str, id: &str) -> Class {
    let mut arguments = Arguments::default();
    arguments.text("id", &handle(exchange.parameter("connection_id"), stream, id));
    for (key, value) in &exchange.query {
        match key.as_str() {
            "field" => arguments.text("field_path", value),
            "connection_id" => {}
            "q" => arguments.text(key, value),
            _ => arguments.scalar(key, value),
        }
    }
    let call = arguments.call("read_record_field");
    if !limit_is_within(exchange, "limit_chars", 16384) {
        return Class::Refused(call, "a window is at most 16384 characters");
    }
    Class::Reached(call)
}

fn aggregate(exchange: &Exchange, stream: &str) -> Class {
    let mut arguments = Arguments::default();
    arguments.text("stream", stream);
    for (key, value) in &exchange.query {
        match key.as_str() {
            "limit" => arguments.scalar(key, value),
            _ if key.starts_with("filter") => arguments.relation_or_filter(key, value),
            _ => arguments.text(key, value),
        }
    }
    let call = arguments.call("aggregate");
    let metrics = ["count", "sum", "min", "max", "count_distinct"];
    if !exchange.parameter("metric").is_some_and(|metric| metrics.contains(&metric)) {
        return Class::Refused(call, "a metric is one of the five");
    }
    if let Some(why) = wrong_shape(exchange) {
        return Class::Refused(call, why);
    }
    let has = |name| exchange.parameter(name).is_some();
    if (has("group_by_time") && has("group_by")) || has("group_by_time") != has("granularity") {
        return Class::Refused(call, "groups are of values, or of periods with their length");
    }
    Class::Reached(call)
}

fn search(exchange: &Exchange, mode: &'static str) -> Class {
    let mut arguments = Arguments::default();
    if mode != "lexical" {
        arguments.text("mode", mode);
    }
    for (key, value) in &exchange.query {
        match key.as_str() {
            "limit" => arguments.scalar(key, value),
            "streams" | "streams[]" => arguments.list("streams", value),
            _ if key.starts_with("filter") => arguments.relation_or_filter(key, value),
            _ => arguments.text(key, value),
        }
    }
    let call = arguments.call("search");
    if !limit_is_within(exchange, "limit", 100) {
        return Class::Refused(call, "R3.11: a limit is 1 to 100, never clamped");
    }
    if let Some(why) = wrong_shape(exchange) {
        return Class::Refused(call, why);
    }
    Class::Reached(call)
}

/// Parameters that none of our arguments stands for, or only in a form that is refused.
fn wrong_shape(exchange: &Exchange) -> Option<&'static str> {
    const KNOWN: [&str; 21] = [
        "limit",
        "cursor",
        "order",
        "sort",
        "count",
        "fields",
        "view",
        "expand",
        "changes_since",
        "connection_id",
        "metric",
        "field",
        "group_by",
        "group_by_time",
        "granularity",
        "time_zone",
        "q",
        "streams",
        "streams[]",
        "filter",
        "mode",
    ];
    if exchange.parameter("filter").is_some() {
        return Some("R3.60: a filter is an object, a bare one is never sent");
    }
    let is_known =
        |key: &str| KNOWN.contains(&key) || key.starts_with("filter[") || key.starts_with("expand_limit[");
    if exchange.query.iter().any(|(key, _)| !is_known(key)) {
        return Some("R3.0: an unknown argument is named and refused");
    }
    None
}

fn limit_is_within(exchange: &Exchange, name: &str, most: u32) -> bool {
    exchange
        .parameter(name)
        .is_none_or(|limit| limit.parse().is_ok_and(|limit: u32| (1..=most).contains(&limit)))
}

impl Exchange {
    fn parameter_error(&self) -> Option<&str> {
        self.body["error"]["code"].as_str()
    }
}

/// The record handle that a host passes: self-contained if there is a connection, else the legacy form.
pub fn handle(connection: Option<&str>, stream: &str, id: &str) -> String {
    match connection {
        Some(connection) => self_contained(connection, stream, id),
        None => format!("{stream}:{id}"),
    }
}

/// R3.70, R3.73, written independently of the code under test: `{connection_id}/{stream}:{record_id}` with exactly
/// the reserved and neutralised characters of the record id (and the second dot of two) percent-encoded, in upper
/// case.
pub fn self_contained(connection: &str, stream: &str, id: &str) -> String {
    let mut out = format!("{connection}/{stream}:");
    let mut after_dot = false;
    for c in id.chars() {
        let second_dot = c == '.' && after_dot;
        after_dot = c == '.' && !second_dot;
        if second_dot || matches!(c, '/' | '\\' | '%') || pdpp::text::is_hidden(c) {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[derive(Default)]
struct Arguments(Map<String, Value>);

impl Arguments {
    fn text(&mut self, key: &str, value: &str) {
        self.0.insert(key.to_owned(), value.into());
    }

    /// A boolean or a number if it can be read as one, else text.
    fn scalar(&mut self, key: &str, value: &str) {
        self.0.insert(key.to_owned(), scalar(value));
    }

    fn list(&mut self, key: &str, value: &str) {
        let list = self.0.entry(key).or_insert_with(|| json!([]));
        list.as_array_mut().unwrap().extend(value.split(',').map(Value::from));
    }

    /// `filter[f]`, `filter[f][op]`, `expand`, `expand_limit[rel]`; anything else unchanged, to be refused.
    fn relation_or_filter(&mut self, key: &str, value: &str) {
        let parts: Vec<&str> = key.split(['[', ']']).filter(|part| !part.is_empty()).collect();
        match parts.as_slice() {
            ["expand"] => self.list("expand", value),
            ["filter"] => self.text("filter", value),
            [outer @ ("filter" | "expand_limit"), field] => {
                self.object(outer).insert((*field).to_owned(), scalar(value));
            }
            ["filter", field, operator] => {
                let range = self.object("filter").entry(*field).or_insert_with(|| json!({}));
                range.as_object_mut().unwrap().insert((*operator).to_owned(), scalar(value));
            }
            _ => self.scalar(key, value),
        }
    }

    fn object(&mut self, key: &str) -> &mut Map<String, Value> {
        self.0.entry(key).or_insert_with(|| json!({})).as_object_mut().unwrap()
    }

    fn call(self, name: &'static str) -> Call {
        Call::Tool { name, arguments: self.0 }
    }
}

fn scalar(value: &str) -> Value {
    match serde_json::from_str(value) {
        Ok(scalar @ (Value::Bool(_) | Value::Number(_))) => scalar,
        _ => value.into(),
    }
}

#[test]
fn handles_encode_what_is_reserved_and_nothing_else() {
    assert_eq!(handle(None, "m", "C1:2.0"), "m:C1:2.0");
    assert_eq!(handle(Some("c"), "m", "C1:2.0"), "c/m:C1:2.0");
    assert_eq!(self_contained("c", "p", "a/b%c..d"), "c/p:a%2Fb%25c.%2Ed");
    assert_eq!(self_contained("c", "p", "[\"x\",1]"), "c/p:[\"x\",1]");
    assert_eq!(self_contained("c", "p", "l\u{202e}r"), "c/p:l%E2%80%AEr");
}
