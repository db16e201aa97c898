//! Works out what a wrong argument was supposed to be: a correction is offered only if it keeps the meaning of the
//! call; otherwise a sentence says what to do. Pure functions over one call's arguments.
//!
//! This file handles a call and the names in it; `value` handles the values of its arguments, `filter` that of
//! `filter`.

mod fault;
mod filter;
mod value;

use serde_json::{Map, Value, json};

use super::surface;
use crate::mcp::call::{Call, Tool};
use crate::mcp::id::RecordId;

pub use fault::{Fault, Meant};
use value::{choices, fault_of};
pub use value::{take, whole};

/// The faults of a call, and the call that means the same and has none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Checked {
    /// In the order in which to report them.
    pub faults: Vec<Fault>,
    /// The corrected call.
    pub corrected: Option<Call>,
}

/// Checks the arguments of a call against the tool's input schema; a `null` counts as not given.
pub fn check(tool: Tool, schema: &Map<String, Value>, given: &Map<String, Value>) -> Checked {
    // Most calls are right: no second call is built for them.
    if is_right(tool, schema, given) {
        return Checked::default();
    }
    let checked = faults_and_correction(tool, schema, given);
    // A correction that would itself be refused is not offered.
    let is_sound = |call: &Call| {
        let schema = if call.tool == tool { schema } else { surface::input_schema(call.tool) };
        is_right(call.tool, schema, &call.arguments)
    };
    Checked { corrected: checked.corrected.filter(is_sound), faults: checked.faults }
}

/// Whether the arguments have no fault.
fn is_right(tool: Tool, schema: &Map<String, Value>, given: &Map<String, Value>) -> bool {
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_given = |name: &str| given.get(name).is_some_and(|value| !value.is_null());
    let fits = |name: &str, value: &Value| {
        let spec = schema.get("properties").and_then(|properties| properties.get(name));
        let is_required = || required.iter().any(|one| one == name);
        let of = |spec: &Map<String, Value>| fault_of(tool, name, spec, value, is_required()).is_none();
        spec.is_some_and(|spec| spec.as_object().is_none_or(of))
    };
    given.iter().all(|(name, value)| value.is_null() || fits(name, value))
        && required.iter().filter_map(Value::as_str).all(is_given)
}

fn faults_and_correction(tool: Tool, schema: &Map<String, Value>, given: &Map<String, Value>) -> Checked {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let required = required.iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let mut faults = Vec::new();
    let mut corrected = Some(Map::new());
    let mut renamed = Map::new();
    let is_given = |name: &str| given.get(name).is_some_and(|value| !value.is_null());
    let unknown = |name: &str| !properties.contains_key(name);

    for (name, value) in given.iter().filter(|(name, value)| unknown(name) && !value.is_null()) {
        let names = properties.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let meant = other_name(tool, name, value, given)
            .filter(|(target, _)| properties.contains_key(*target))
            .filter(|(target, _)| !is_given(target) && !renamed.contains_key(*target));
        let hint = match &meant {
            Some((target, _)) => Some(format!("`{name}` is called `{target}` here")),
            None => about_unknown(tool, name).map(str::to_owned),
        };
        faults.push(Fault {
            code: "unknown_argument",
            param: name.clone(),
            message: format!("{tool} has no argument `{name}`; it takes {names}"),
            hint,
        });
        match meant {
            Some((target, value)) => {
                renamed.insert(target.to_owned(), value);
            }
            None if says_nothing(name, value) => {}
            None => corrected = None,
        }
    }
    let all = given.iter().filter(|(name, value)| !unknown(name) && !value.is_null());
    for (name, value) in all.chain(&renamed) {
        let Some(spec) = properties.get(name).and_then(Value::as_object) else { continue };
        let is_renamed = renamed.contains_key(name);
        let Some((fault, meant)) = fault_of(tool, name, spec, value, required.contains(&name.as_str()))
        else {
            if let Some(corrected) = &mut corrected {
                corrected.insert(name.clone(), value.clone());
            }
            continue;
        };
        if !is_renamed || meant == Meant::Unknown {
            faults.push(fault);
        }
        match (meant, &mut corrected) {
            (Meant::So(value), Some(corrected)) => {
                corrected.insert(name.clone(), value);
            }
            (Meant::Nothing, _) | (_, None) => {}
            (Meant::Unknown, _) => corrected = None,
        }
    }
    for name in required.iter().filter(|name| !is_given(name) && !renamed.contains_key(**name)) {
        let spec = properties.get(*name).and_then(Value::as_object).unwrap_or(&empty);
        let one_of = choices(spec).map(|choices| format!("one of {}", choices.join(", ")));
        faults.push(Fault {
            code: "missing_argument",
            param: (*name).to_owned(),
            message: format!("{tool} needs `{name}`"),
            hint: one_of.or_else(|| about_missing(name).map(str::to_owned)),
        });
        corrected = None;
    }
    // A record named by its parts becomes one id, which contains its connection.
    if let (Some(corrected), Some(Value::String(id))) = (&mut corrected, renamed.get("id"))
        && given.contains_key("record_id")
        && id.contains('/')
    {
        corrected.remove("connection_id");
    }
    let corrected = if faults.is_empty() {
        None
    } else {
        let search = as_search(tool, given).map(|arguments| Call { tool: Tool::Search, arguments });
        search.or_else(|| corrected.map(|arguments| Call { tool, arguments }))
    };
    Checked { faults, corrected }
}

/// Words given to a tool that reads one stream: `search` finds them. Only if the call asks for nothing else.
fn as_search(tool: Tool, given: &Map<String, Value>) -> Option<Map<String, Value>> {
    if tool != Tool::QueryRecords {
        return None;
    }
    let mut search = Map::new();
    for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
        match name.as_str() {
            "q" | "query" | "search" if value.is_string() => search.insert("q".into(), value.clone()),
            "stream" => search.insert("streams".into(), json!([value.as_str()?])),
            "limit" | "connection_id" | "filter" => search.insert(name.clone(), value.clone()),
            _ => return None,
        };
    }
    search.contains_key("q").then_some(search)
}

/// The known argument that an unknown one stands for, with its value.
fn other_name(
    tool: Tool,
    name: &str,
    value: &Value,
    given: &Map<String, Value>,
) -> Option<(&'static str, Value)> {
    if tool == Tool::Fetch && name == "record_id" {
        return record_handle(value, given).map(|id| ("id", id));
    }
    let target = match name.to_ascii_lowercase().as_str() {
        "query" | "text" | "search" | "search_query" | "keywords" | "terms" => "q",
        "streams" | "stream_name" => "stream",
        "stream" => "streams",
        "connection" | "connection_ids" | "connectionid" | "connector_instance_id" => "connection_id",
        "page_size" | "per_page" | "max_results" | "top_k" | "top" | "size"
            if tool != Tool::ReadRecordField =>
        {
            "limit"
        }
        "limit" | "max_chars" | "length" => "limit_chars",
        "offset" | "start" => "offset_chars",
        "before" => "before_chars",
        "after" if tool == Tool::ReadRecordField => "after_chars",
        "field" | "fields" if tool == Tool::ReadRecordField => "field_path",
        "path" | "field_name" => "field_path",
        "field" | "select" | "columns" => "fields",
        "fields" | "column" => "field",
        "ids" | "handle" | "record" | "uri" => "id",
        "filters" | "where" => "filter",
        "sort_by" | "order_by" | "orderby" | "sort_field" => "sort",
        "sort_order" | "direction" => "order",
        "page_token" | "next_cursor" | "next_page" => "cursor",
        "next_changes_since" => "changes_since",
        "aggregation" | "function" | "agg" => "metric",
        "interval" | "bucket" | "period" => "granularity",
        "timezone" | "tz" => "time_zone",
        "relations" | "include" | "embed" => "expand",
        _ => return None,
    };
    Some((target, value.clone()))
}

/// A record named by its parts, as one handle.
fn record_handle(record: &Value, given: &Map<String, Value>) -> Option<Value> {
    let text = |name: &str| given.get(name).and_then(Value::as_str);
    let record = record.as_str()?;
    if RecordId::parse(record).is_ok() {
        return Some(json!(record));
    }
    let id = RecordId::from_parts(text("connection_id")?, text("stream")?, record).ok()?;
    id.handle().filter(|_| id.is_self_contained()).map(Value::from)
}

/// Whether an unknown argument asks for what happens anyway.
fn says_nothing(name: &str, value: &Value) -> bool {
    match name {
        "offset" | "skip" => *value == json!(0),
        "page" => *value == json!(1),
        // Part of the id that `record_id` becomes.
        "stream" => true,
        _ => false,
    }
}

fn about_unknown(tool: Tool, name: &str) -> Option<&'static str> {
    Some(match (tool, name) {
        (_, "offset" | "skip" | "page") => {
            "there is no offset: continue with the next call that an answer gives"
        }
        (Tool::QueryRecords, "q" | "query" | "search") => "search finds words; filter compares whole values",
        (Tool::Aggregate, "q" | "query" | "search") => {
            "aggregate counts what filter selects; search finds words"
        }
        (Tool::Aggregate, "having") => "groups cannot be filtered: filter the records",
        (Tool::Search, "sort" | "order") => "hits come in the provider's own order: narrow with filter",
        (Tool::Search | Tool::QueryRecords | Tool::Aggregate, "connector_key" | "connector" | "source") => {
            "connection_id picks the source: schema {} lists them"
        }
        (Tool::Search, "fields") => "search shows excerpts; fetch takes fields",
        _ => return None,
    })
}

fn about_missing(name: &str) -> Option<&'static str> {
    Some(match name {
        "stream" => "schema {} lists the streams",
        "q" => "the words to find",
        "id" => "as search or query_records gives it: connection_id/stream:record_id",
        "field_path" => "the name of a text field of the record",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mcp::tool_error::ToolError;
    use crate::mcp::tools::arguments::checked;

    pub(super) fn refused(tool: &str, given: &Value) -> ToolError {
        checked(Tool::from_name(tool).unwrap(), given.as_object().cloned().unwrap()).unwrap_err()
    }

    /// Guesses by readers of one view: the call, the code, a part of the error, and the offered arguments.
    #[test]
    #[allow(clippy::too_many_lines, reason = "a table")]
    fn r5_2_a_corrected_call_means_the_same_or_is_not_offered() {
        let none = Value::Null;
        for (tool, given, code, part, offered) in [
            (
                "query_records",
                json!({"stream": "s", "order": "newest"}),
                "invalid_argument",
                "asc, desc",
                json!({"stream": "s", "order": "desc"}),
            ),
            (
                "query_records",
                json!({"stream": "s", "order": "random"}),
                "invalid_argument",
                "asc, desc",
                none.clone(),
            ),
            (
                "query_records",
                json!({"stream": "s", "sort": ["-at"]}),
                "invalid_argument",
                "`sort`",
                json!({"stream": "s", "sort": "-at"}),
            ),
            (
                "query_records",
                json!({"stream": "s", "sort": "at desc"}),
                "invalid_argument",
                "-field",
                json!({"stream": "s", "sort": "-at"}),
            ),
            (
                "query_records",
                json!({"stream": "s", "sort": {"at": "desc"}}),
                "invalid_argument",
                "`sort`",
                json!({"stream": "s", "sort": "-at"}),
            ),
            (
                "query_records",
                json!({"stream": "s", "sort": "a, b"}),
                "invalid_argument",
                "one field",
                none.clone(),
            ),
            (
                "query_records",
                json!({"stream": "s", "connection_id": ["w"]}),
                "invalid_argument",
                "`connection_id`",
                json!({"stream": "s", "connection_id": "w"}),
            ),
            (
                "query_records",
                json!({"stream": "s", "connection_id": ["w", "p"]}),
                "invalid_argument",
                "one connection per call",
                none.clone(),
            ),
            (
                "query_records",
                json!({"stream": "s", "limit": [5], "fields": "x"}),
                "invalid_argument",
                "`limit`",
                json!({"stream": "s", "limit": 5, "fields": ["x"]}),
            ),
            (
                "query_records",
                json!({"stream": "s", "limit": 500}),
                "invalid_argument",
                "further pages",
                json!({"stream": "s", "limit": 100}),
            ),
            (
                "query_records",
                json!({"stream": "s", "limit": 0}),
                "invalid_argument",
                "aggregate",
                none.clone(),
            ),
            (
                "query_records",
                json!({"stream": "s", "offset": 100}),
                "unknown_argument",
                "no offset",
                none.clone(),
            ),
            (
                "query_records",
                json!({"streams": ["s"]}),
                "unknown_argument",
                "`stream` here",
                json!({"stream": "s"}),
            ),
            (
                "query_records",
                json!({"streams": ["s", "t"]}),
                "unknown_argument",
                "one stream per call",
                none.clone(),
            ),
            (
                "query_records",
                json!({"stream": "s", "page_size": 2, "fields": "a,b"}),
                "unknown_argument",
                "`limit` here",
                json!({"stream": "s", "limit": 2, "fields": ["a", "b"]}),
            ),
            (
                "query_records",
                json!({"stream": "s", "fields": ["*"]}),
                "invalid_argument",
                "a list",
                json!({"stream": "s"}),
            ),
            (
                "query_records",
                json!({"stream": "s", "count": true}),
                "invalid_argument",
                "exact",
                json!({"stream": "s", "count": "exact"}),
            ),
            ("query_records", json!({"filter": {"a": 1}}), "missing_argument", "schema {}", none.clone()),
            (
                "aggregate",
                json!({"stream": "s", "metric": "avg", "field": "a"}),
                "invalid_argument",
                "sum with the field, divided",
                none.clone(),
            ),
            (
                "aggregate",
                json!({"stream": "s", "metric": "total", "field": ["a"]}),
                "invalid_argument",
                "count_distinct",
                json!({"stream": "s", "metric": "sum", "field": "a"}),
            ),
            (
                "aggregate",
                json!({"stream": "s", "metric": "count", "group_by_time": "at", "granularity": "monthly"}),
                "invalid_argument",
                "month",
                json!({"stream": "s", "metric": "count", "group_by_time": "at", "granularity": "month"}),
            ),
            (
                "aggregate",
                json!({"stream": "s", "metric": "count", "group_by_time": "at", "granularity": "fortnight"}),
                "invalid_argument",
                "shorter",
                none.clone(),
            ),
            (
                "aggregate",
                json!({"stream": "s", "metric": "count", "group_by": ["a"]}),
                "invalid_argument",
                "`group_by`",
                json!({"stream": "s", "metric": "count", "group_by": "a"}),
            ),
            (
                "aggregate",
                json!({"stream": "s", "metric": "count", "group_by": ["a", "b"]}),
                "invalid_argument",
                "one field per call",
                none.clone(),
            ),
            ("search", json!({"query": "ferry"}), "unknown_argument", "`q` here", json!({"q": "ferry"})),
            (
                "search",
                json!({"query": "ferry", "stream": "s", "limit": "3"}),
                "unknown_argument",
                "`streams` here",
                json!({"q": "ferry", "streams": ["s"], "limit": 3}),
            ),
            ("search", json!({"q": ""}), "invalid_argument", "not empty", none.clone()),
            ("search", json!({}), "missing_argument", "the words to find", none.clone()),
            (
                "fetch",
                json!({"record_id": "r/1", "stream": "s", "connection_id": "c"}),
                "unknown_argument",
                "`id` here",
                json!({"id": "c/s:r%2F1"}),
            ),
            (
                "fetch",
                json!({"record_id": "r", "stream": "s"}),
                "unknown_argument",
                "connection_id/stream:record_id",
                none.clone(),
            ),
            (
                "read_record_field",
                json!({"id": "c/s:r", "field": "body", "offset": 5}),
                "unknown_argument",
                "`field_path` here",
                json!({"id": "c/s:r", "field_path": "body", "offset_chars": 5}),
            ),
            (
                "read_record_field",
                json!({"id": "c/s:r", "field_path": "body", "limit_chars": 50_000}),
                "invalid_argument",
                "of an answer continues",
                json!({"id": "c/s:r", "field_path": "body", "limit_chars": 16_384}),
            ),
            (
                "schema",
                json!({"streams": ["s"]}),
                "unknown_argument",
                "`stream` here",
                json!({"stream": "s"}),
            ),
        ] {
            let error = refused(tool, &given);
            assert_eq!(error.code(), code, "{given}");
            assert!(error.to_text().contains(part), "{given}: {}", error.to_text());
            let next = error.next_call().map_or(Value::Null, |call| {
                assert_eq!(call.tool.name(), tool);
                Value::Object(call.arguments.clone())
            });
            assert_eq!(next, offered, "{given}");
        }
        let error = refused("query_records", &json!({"stream": "tx", "q": "rent", "limit": 5}));
        assert_eq!(error.next(), r#"search {"limit":5,"q":"rent","streams":["tx"]}"#);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let words = [
            "",
            "a",
            "-at",
            "at desc",
            "5",
            "newest",
            "monthly",
            "a,b",
            "*",
            "2026-08-01",
            "a=1&b<2",
            "{\"a\":{\"$lt\":1}}",
            "[\"a\"]",
            "beginning",
            "count",
            "avg",
            "c/s:r",
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-2i64..600).prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            prop::sample::select(words.to_vec()).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 3, |inner| {
            let key = prop_oneof![
                prop::sample::select(vec![
                    "a",
                    "b",
                    "lt",
                    "$lt",
                    "lte",
                    "<",
                    ">=",
                    "gt",
                    "gte",
                    "$gte",
                    "eq",
                    "in",
                    "between",
                    "a[gte]",
                    "filter[a]",
                    "field",
                    "op",
                    "value",
                    "before",
                    "after",
                ])
                .prop_map(str::to_owned),
                any::<String>(),
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::hash_map(key, inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn any_call() -> impl Strategy<Value = (Tool, Map<String, Value>)> {
        let others = [
            "query",
            "q",
            "streams",
            "stream",
            "page_size",
            "offset",
            "where",
            "order_by",
            "record_id",
            "field",
            "fields",
            "connection",
            "limit",
            "id",
            "colour",
        ];
        prop::sample::select(Tool::ALL.to_vec()).prop_flat_map(move |tool| {
            let schema = surface::input_schema(tool);
            let mut names = schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            names.extend(others.map(str::to_owned));
            let given = prop::collection::hash_map(prop::sample::select(names), any_json(), 0..5);
            // In many of the cases, the required arguments are included.
            (given, any::<bool>()).prop_map(move |(given, is_complete)| {
                let mut given = given.into_iter().collect::<Map<_, _>>();
                let schema = surface::input_schema(tool);
                let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
                for name in required.iter().filter(|_| is_complete) {
                    let name = name.as_str().unwrap();
                    given.insert(name.to_owned(), json!(if name == "metric" { "count" } else { "a" }));
                }
                (tool, given)
            })
        })
    }

    /// The direction and the value of each bound of a field, however it is written.
    fn directions(filter: &Value) -> Vec<(String, bool, String)> {
        let mut all = Vec::new();
        for (field, value) in filter.as_object().into_iter().flatten() {
            // An extra bracket is dropped too.
            let field = field.trim_start_matches("filter[").trim_start_matches('[');
            let field = field.trim_end_matches(']').trim_end_matches("[gte");
            for (name, bound) in value.as_object().into_iter().flatten() {
                let bound = bound.as_array().and_then(|items| items.first()).unwrap_or(bound).to_string();
                match name.trim_start_matches('$') {
                    "lt" | "lte" | "<" | "before" => all.push((field.to_owned(), false, bound)),
                    "gt" | "gte" | ">=" | "after" => all.push((field.to_owned(), true, bound)),
                    _ => {}
                }
            }
        }
        all
    }

    proptest! {
        /// An offered call is never refused itself, and drops no argument unless that argument had no effect.
        #[test]
        fn r5_2_an_offered_call_is_accepted((tool, given) in any_call()) {
            if let Err(error) = checked(tool, given.clone())
                && let Some(next) = error.next_call()
            {
                let again = checked(next.tool, next.arguments.clone());
                prop_assert!(again.is_ok(), "{given:?}: {error:?}");
            }
        }

        #[test]
        fn r5_2_a_corrected_filter_compares_in_the_same_direction(filter in any_json()) {
            let given = Map::from_iter([("q".into(), json!("x")), ("filter".into(), filter.clone())]);
            if let Err(error) = checked(Tool::Search, given)
                && let Some(corrected) = error.next_call().and_then(|next| next.arguments.get("filter"))
            {
                let offered = directions(corrected);
                for (field, is_lower, bound) in directions(&filter) {
                    let opposite = (field.clone(), !is_lower, bound.clone());
                    let same = (field, is_lower, bound);
                    prop_assert!(offered.contains(&same) || same.2 == "null", "{filter}: {corrected}");
                    prop_assert!(
                        !offered.contains(&opposite) || directions(&filter).contains(&opposite),
                        "{filter}: {corrected}"
                    );
                }
            }
        }
    }
}
