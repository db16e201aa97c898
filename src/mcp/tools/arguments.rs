//! A call's arguments, checked: rmcp validates nothing, so every wrong argument is found here and answered with what
//! it must be, and with a corrected call if that means the same. The valid arguments are then read into the tool's
//! own type.

use serde_json::{Map, Value, json};

use super::argument_repair::{self, whole};
use super::surface;
use crate::mcp::call::{Call, Tool};
use crate::mcp::id::{IdError, RecordId, check_segment};
use crate::mcp::reading::filter::{Filter, Operator};
use crate::mcp::reading::request::Expansion;
use crate::mcp::tool_error::ToolError;

/// Checks the arguments of a call of `tool`; a `null` counts as not given.
///
/// # Errors
/// Returns all faults at once, with the code of the first: `unknown_argument` with the known ones (R3.0),
/// `missing_argument`, `invalid_argument` (never clamped, R3.11), and `invalid_filter` or `invalid_expand_limit` for
/// everything that a resource server would silently ignore (R3.60, R3.61).
pub fn checked(tool: Tool, mut arguments: Map<String, Value>) -> Result<Call, ToolError> {
    arguments.retain(|_, value| !value.is_null());
    let schema = surface::input_schema(tool);
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        argument_repair::take(properties, &mut arguments);
    }
    let checked = argument_repair::check(tool, schema, &arguments);
    let Some(first) = checked.faults.first() else { return Ok(Call { tool, arguments }) };
    let messages = checked.faults.iter().map(|fault| fault.message.as_str()).collect::<Vec<_>>();
    let hints = checked.faults.iter().filter_map(|fault| fault.hint.as_deref()).collect::<Vec<_>>();
    let next = checked.corrected;
    let error = ToolError::new(first.code, messages.join("; "), "correct the call as the message says");
    let error = match (hints.is_empty(), &next) {
        (false, _) => error.hint(hints.join("; ")),
        (true, Some(next)) => ToolError::new(first.code, error.message().to_owned(), next.clone()),
        (true, None) => error,
    };
    Err(error.offer(next).with("param", first.param.clone()))
}

/// Reads a checked call into the tool's own arguments.
pub struct Given<'a>(pub &'a Call);

impl Given<'_> {
    /// A text that is not empty, and one of those in the input schema if it lists any.
    pub fn text(&self, name: &str) -> Option<String> {
        self.0.text(name).map(str::to_owned)
    }

    /// A required text; `form` shows how to write it.
    ///
    /// # Errors
    /// Returns `missing_argument` if it is missing.
    pub fn required_text(&self, name: &str, form: &str) -> Result<String, ToolError> {
        self.text(name).ok_or_else(|| {
            let next = format!("add `{name}`, written as {form}");
            ToolError::new("missing_argument", format!("{} needs `{name}`", self.0.tool), next)
                .with("param", name)
        })
    }

    /// The stream, checked to be one path segment.
    ///
    /// # Errors
    /// Returns `missing_argument` or `invalid_argument` if it is not.
    pub fn stream(&self) -> Result<String, ToolError> {
        let stream = self.required_text("stream", "STREAM")?;
        check_segment("stream", &stream).map_err(|error| bad_name("stream", &error))?;
        Ok(stream)
    }

    /// A whole number within the limits of the input schema.
    pub fn integer(&self, name: &str) -> Option<u64> {
        self.0.arguments.get(name).and_then(whole)
    }

    /// A list of texts, none of them empty; an empty list if it was not given.
    pub fn texts(&self, name: &str) -> Vec<String> {
        self.0.texts(name).unwrap_or_default().into_iter().map(str::to_owned).collect()
    }

    /// The typed error for an argument that has a meaning only with another one; `corrected` is the whole call as it
    /// could have been intended.
    pub fn lacks(&self, name: &str, other: &str, why: &str, corrected: Call) -> ToolError {
        ToolError::new(
            "missing_argument",
            format!("`{name}` of {} needs `{other}`: {why}", self.0.tool),
            corrected,
        )
        .with("param", other)
    }

    /// The typed filter; an empty one if none was given.
    ///
    /// # Errors
    /// Returns `invalid_filter` for an unknown condition.
    pub fn filter(&self) -> Result<Filter, ToolError> {
        let Some(fields) = self.0.arguments.get("filter").and_then(Value::as_object) else {
            return Ok(Filter::default());
        };
        Filter::from_json(fields).ok_or_else(|| {
            let operators = Operator::ALL.map(Operator::name).join("|");
            let next = format!("write {{\"FIELD\": value}} or {{\"FIELD\": {{{operators}: value}}}}");
            ToolError::new("invalid_filter", "filter has a condition that is not known here", next)
                .with("param", "filter")
        })
    }

    /// The relations to expand, each with its limit (R3.61).
    ///
    /// # Errors
    /// Returns `invalid_expand_limit`, or `missing_argument` without the `expand` that it limits.
    pub fn expansions(&self) -> Result<Vec<Expansion>, ToolError> {
        let expanded = self.0.texts("expand");
        let limits = self.0.arguments.get("expand_limit").and_then(Value::as_object);
        match (&expanded, limits) {
            (None, Some(limits)) => {
                let all = limits.keys().cloned().collect::<Value>();
                let corrected = self.0.with([("expand", Some(all))]);
                return Err(self.lacks(
                    "expand_limit",
                    "expand",
                    "nothing is expanded without it",
                    corrected,
                ));
            }
            (Some(expanded), Some(limits)) => {
                if let Some(other) = limits.keys().find(|relation| !expanded.contains(&relation.as_str())) {
                    let expanded = expanded.join(", ");
                    return Err(ToolError::new(
                        "invalid_expand_limit",
                        format!("expand_limit names `{other}`, which is not in expand ({expanded})"),
                        "name the same relations in both",
                    )
                    .with("param", "expand_limit"));
                }
            }
            _ => {}
        }
        let limit = |relation: &str| limits?.get(relation).map(|limit| whole(limit).unwrap_or(1));
        let expansion = |relation: &str| Expansion { relation: relation.to_owned(), limit: limit(relation) };
        Ok(expanded.unwrap_or_default().into_iter().map(expansion).collect())
    }

    /// The record that `id` names, with `connection_id` taken into account (R3.71).
    ///
    /// # Errors
    /// Returns `missing_argument`, `invalid_id` or `conflicting_connection`.
    pub fn record(&self) -> Result<RecordId, ToolError> {
        let text = self.required_text("id", "CONNECTION_ID/STREAM:RECORD_ID")?;
        let mut id = RecordId::parse(&text).map_err(|error| {
            ToolError::new(
                "invalid_id",
                format!("`id` names no record: {error}"),
                format!(
                    "{} takes an id as search or query_records gives it: connection_id/stream:record_id, with each / of \
                     the record id written %2F",
                    self.0.tool
                ),
            )
            .with("param", "id")
        })?;
        match (self.text("connection_id"), &id.connection) {
            (Some(given), Some(embedded)) if given != *embedded => Err(ToolError::new(
                "conflicting_connection",
                format!("the id is for connection `{embedded}`, but connection_id is `{given}`"),
                self.0.with([("connection_id", None)]),
            )
            .with("param", "connection_id")),
            (given @ Some(_), None) => {
                id.connection = given;
                Ok(id)
            }
            _ => Ok(id),
        }
    }
}

/// The typed error for a name that no request can carry.
pub fn bad_name(argument: &str, error: &IdError) -> ToolError {
    let next = Call::new(Tool::Schema, json!({}));
    ToolError::new("invalid_argument", format!("`{argument}` cannot be requested: {error}"), next)
        .with("param", argument)
}

/// The typed error for a cursor that the tool did not give, with the call that starts again.
pub fn foreign_cursor(call: &Call) -> ToolError {
    ToolError::new(
        "invalid_argument",
        format!("`cursor` of {} must be one that this tool gave for this same call", call.tool),
        "start again without cursor",
    )
    .with("param", "cursor")
    .offer(Some(call.with([("cursor", None)])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(tool: &str, given: Value) -> Result<Call, ToolError> {
        let Value::Object(given) = given else { panic!("an object") };
        checked(Tool::from_name(tool).unwrap(), given)
    }

    #[test]
    fn r3_0_an_unknown_argument_is_named_with_the_known_ones() {
        let error = arguments("fetch", json!({"id": "a", "connector_instance_id": "x"})).unwrap_err();
        assert_eq!(error.code(), "unknown_argument");
        let text = error.to_text();
        assert!(text.contains("`connector_instance_id`") && text.contains("connection_id, "), "{text}");
        assert!(text.ends_with(r#"next: fetch {"connection_id":"x","id":"a"}"#), "{text}");
        let error = arguments("fetch", json!({"id": "a", "colour": "x"})).unwrap_err();
        assert_eq!(error.next_call(), None, "an unknown condition is not dropped");
    }

    #[test]
    fn r3_11_limits_are_refused_never_clamped() {
        for bad in [json!(0), json!(101), json!(-1), json!("500"), json!("five"), json!(1.5), json!(true)] {
            let error = arguments("query_records", json!({"stream": "s", "limit": bad})).unwrap_err();
            assert_eq!(error.code(), "invalid_argument");
            assert!(error.to_text().contains("from 1 to 100"));
        }
        let arguments = arguments("query_records", json!({"stream": "s", "limit": 5.0})).unwrap();
        assert_eq!(Given(&arguments).integer("limit"), Some(5));
    }

    #[test]
    fn r5_6_lists_and_numbers_as_json_text_are_taken_and_objects_are_not() {
        let given = json!({"stream": "s", "limit": "5", "fields": "[\"a\", \"b\"]", "expand": " [\"x\"] "});
        let call = arguments("query_records", given).unwrap();
        let expected = json!({"stream": "s", "limit": 5, "fields": ["a", "b"], "expand": ["x"]});
        assert_eq!(Value::Object(call.arguments), expected);
        let call = arguments("search", json!({"q": "5", "streams": "[\"s\"]", "limit": "100"})).unwrap();
        assert_eq!(Value::Object(call.arguments), json!({"q": "5", "streams": ["s"], "limit": 100}));
        for (name, text, code) in [
            ("filter", "{\"a\":1}", "invalid_filter"),
            ("expand_limit", "{\"a\":1}", "invalid_expand_limit"),
            ("fields", "[]", "invalid_argument"),
            ("fields", "[1, {}]", "invalid_argument"),
            ("fields", "a, b", "invalid_argument"),
            ("limit", "101", "invalid_argument"),
            ("limit", "-1", "invalid_argument"),
        ] {
            let error = arguments("query_records", json!({"stream": "s", name: text})).unwrap_err();
            assert_eq!(error.code(), code, "{name} {text}");
        }
    }

    #[test]
    fn r5_6_what_is_empty_and_says_nothing_is_absent() {
        let empty =
            json!({"stream": "s", "cursor": "", "sort": "", "view": "", "order": "", "connection_id": ""});
        assert_eq!(
            Value::Object(arguments("query_records", empty).unwrap().arguments),
            json!({"stream": "s"})
        );
        for (name, value) in [("filter", json!({})), ("expand_limit", json!({})), ("fields", json!([]))] {
            assert!(arguments("query_records", json!({"stream": "s", name: value})).is_err(), "{name}");
        }
        assert!(arguments("query_records", json!({"stream": ""})).is_err());
    }

    #[test]
    fn r3_60_filters_become_bracket_parameters() {
        let given = json!({"stream": "s", "filter": {
            "user_id": "U1", "seen": true, "amount": {"gte": 1.10, "lt": 12_345_678_901_234_567_890_u64}}});
        let pairs = Given(&arguments("query_records", given).unwrap()).filter().unwrap().to_query();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            pairs,
            [
                pair("filter[amount][gte]", "1.1"),
                pair("filter[amount][lt]", "12345678901234567890"),
                pair("filter[seen]", "true"),
                pair("filter[user_id]", "U1"),
            ]
        );
    }

    #[test]
    fn r3_60_digits_of_a_filter_value_are_kept() {
        let given: Value = serde_json::from_str(r#"{"stream":"s","filter":{"n":1.10,"m":-0.0}}"#).unwrap();
        let pairs = Given(&arguments("query_records", given).unwrap()).filter().unwrap().to_query();
        assert_eq!(pairs[0].1, "-0.0");
        assert_eq!(pairs[1].1, "1.10");
    }

    #[test]
    fn r3_61_expand_limits_go_with_their_relations() {
        let given = json!({"id": "s:r", "expand": ["messages"], "expand_limit": {"messages": 3}});
        let expanded = Given(&arguments("fetch", given).unwrap()).expansions().unwrap();
        assert_eq!(expanded, [Expansion { relation: "messages".to_owned(), limit: Some(3) }]);
        for bad in [json!({}), json!({"expand_limit[messages]": 3}), json!(3), json!({"messages": 0})] {
            let error = arguments("fetch", json!({"id": "s:r", "expand_limit": bad})).unwrap_err();
            assert_eq!(error.code(), "invalid_expand_limit");
        }
        let given = json!({"id": "s:r", "expand": ["a"], "expand_limit": {"b": 1}});
        let error = Given(&arguments("fetch", given).unwrap()).expansions().unwrap_err();
        assert_eq!((error.code(), error.next_call()), ("invalid_expand_limit", None));
    }

    #[test]
    fn r3_61_an_expand_limit_without_expand_says_so() {
        let given = json!({"id": "s:r", "expand_limit": {"messages": 3}});
        let error = Given(&arguments("fetch", given).unwrap()).expansions().unwrap_err();
        assert_eq!((error.code(), error.detail("param")), ("missing_argument", Some(&json!("expand"))));
        assert_eq!(error.next(), r#"fetch {"expand":["messages"],"expand_limit":{"messages":3},"id":"s:r"}"#);
    }

    #[test]
    fn r3_13_an_empty_list_does_not_widen() {
        for (tool, given) in [
            ("query_records", json!({"stream": "s", "fields": []})),
            ("fetch", json!({"id": "s:r", "fields": []})),
        ] {
            let error = arguments(tool, given).unwrap_err();
            assert_eq!((error.code(), error.detail("param")), ("invalid_argument", Some(&json!("fields"))));
            assert_eq!(error.next_call(), None);
            assert!(error.next().contains("leave it out for all"), "{}", error.next());
        }
    }
}
