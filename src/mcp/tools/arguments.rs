//! A call's arguments, checked: rmcp validates nothing, so every wrong one is found here and answered
//! with what it must be, and with a corrected call where that means the same.

use serde_json::{Map, Value};

use crate::mcp::render::ladder::Call;
use crate::mcp::tool_error::ToolError;
use crate::mcp::tools::argument_repair::{self, whole};
use crate::mcp::tools::surface;

/// The arguments of one call of one tool; every value fits the tool's input schema.
#[derive(Debug, Clone)]
pub struct Arguments {
    tool: &'static str,
    given: Map<String, Value>,
}

/// A typed filter or expand limit, as query parameters: `filter[f]=v`, `filter[f][gte]=v`.
pub type Pairs = Vec<(String, String)>;

impl Arguments {
    /// Takes the arguments of a call of `tool`; a `null` counts as not given.
    ///
    /// # Errors
    /// All faults at once, with the code of the first: `unknown_argument` naming the known ones (R3.0),
    /// `missing_argument`, `invalid_argument` (never clamped, R3.11), `invalid_filter` and
    /// `invalid_expand_limit` for everything that a resource server would silently ignore (R3.60, R3.61).
    pub fn new(tool: &'static str, mut given: Map<String, Value>) -> Result<Self, ToolError> {
        given.retain(|_, value| !value.is_null());
        let checked = argument_repair::check(tool, &surface::input_schema(tool), &given);
        let Some(first) = checked.faults.first() else { return Ok(Self { tool, given }) };
        let messages = checked.faults.iter().map(|fault| fault.message.as_str()).collect::<Vec<_>>();
        let hints = checked.faults.iter().filter_map(|fault| fault.hint.as_deref()).collect::<Vec<_>>();
        let next = checked.corrected.map(|(tool, arguments)| Call { tool, arguments });
        let error = ToolError::new(first.code, messages.join("; "), "correct the call as the message says");
        let error = match (hints.is_empty(), &next) {
            (false, _) => error.hint(hints.join("; ")),
            (true, Some(next)) => ToolError::new(first.code, error.message().to_owned(), next.clone()),
            (true, None) => error,
        };
        Err(error.offer(next).with("param", first.param.clone()))
    }

    /// The tool.
    pub const fn tool(&self) -> &'static str {
        self.tool
    }

    /// Everything that was given.
    pub const fn given(&self) -> &Map<String, Value> {
        &self.given
    }

    /// Whether `name` was given.
    pub fn has(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// The same call with other arguments: `None` takes one out.
    pub fn with<const N: usize>(&self, changes: [(&str, Option<Value>); N]) -> Map<String, Value> {
        let mut arguments = self.given.clone();
        for (name, value) in changes {
            match value {
                Some(value) => arguments.insert(name.to_owned(), value),
                None => arguments.remove(name),
            };
        }
        arguments
    }

    /// A text, not empty; one of those that the input schema lists, where it lists any.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name)?.as_str()
    }

    /// A text that has to be there; `form` is what it looks like.
    ///
    /// # Errors
    /// `missing_argument`.
    pub fn required_text(&self, name: &str, form: &str) -> Result<&str, ToolError> {
        self.text(name).ok_or_else(|| {
            let next = format!("add `{name}`, written as {form}");
            ToolError::new("missing_argument", format!("{} needs `{name}`", self.tool), next)
                .with("param", name)
        })
    }

    /// A whole number, within the bounds of the input schema.
    pub fn integer(&self, name: &str) -> Option<u64> {
        self.given.get(name).and_then(whole)
    }

    /// A list of texts, none empty.
    pub fn texts(&self, name: &str) -> Option<Vec<&str>> {
        self.given.get(name)?.as_array()?.iter().map(Value::as_str).collect()
    }

    /// The typed error for an argument that means something only beside another one; `corrected` is the
    /// whole call as it could have been meant.
    pub fn lacks(&self, name: &str, other: &str, why: &str, corrected: &Map<String, Value>) -> ToolError {
        ToolError::new(
            "missing_argument",
            format!("`{name}` of {} goes with `{other}`: {why}", self.tool),
            call(self.tool, corrected),
        )
        .with("param", other)
    }

    /// A typed filter, as `filter[f]=v` and `filter[f][op]=v` (R3.60).
    pub fn filter(&self) -> Pairs {
        let mut pairs = Pairs::new();
        for (field, value) in self.given.get("filter").and_then(Value::as_object).into_iter().flatten() {
            match value {
                Value::Object(range) => pairs.extend(
                    range.iter().map(|(name, bound)| (format!("filter[{field}][{name}]"), scalar(bound))),
                ),
                value => pairs.push((format!("filter[{field}]"), scalar(value))),
            }
        }
        pairs
    }

    /// `expand_limit`, as `expand_limit[rel]=n` (R3.61).
    ///
    /// # Errors
    /// `invalid_expand_limit`, `missing_argument` without the `expand` that it limits.
    pub fn expand_limit(&self) -> Result<Pairs, ToolError> {
        let Some(relations) = self.given.get("expand_limit").and_then(Value::as_object) else {
            return Ok(Pairs::new());
        };
        let Some(expanded) = self.texts("expand") else {
            let all = relations.keys().cloned().collect::<Value>();
            let corrected = self.with([("expand", Some(all))]);
            return Err(self.lacks("expand_limit", "expand", "nothing is expanded without it", &corrected));
        };
        if let Some(other) = relations.keys().find(|relation| !expanded.contains(&relation.as_str())) {
            return Err(ToolError::new(
                "invalid_expand_limit",
                format!("expand_limit names `{other}`, which is not in expand ({})", expanded.join(", ")),
                "name the same relations in both",
            )
            .with("param", "expand_limit"));
        }
        let number = |limit: &Value| whole(limit).unwrap_or(1).to_string();
        Ok(relations.iter().map(|(name, limit)| (format!("expand_limit[{name}]"), number(limit))).collect())
    }

    /// The typed error for a cursor that is none of this tool's, with the call that starts again.
    pub fn foreign_cursor(&self) -> ToolError {
        ToolError::new(
            "invalid_argument",
            format!("`cursor` of {} must be one that this tool gave with this very call", self.tool),
            "start again without cursor",
        )
        .with("param", "cursor")
        .offer(Some(call(self.tool, &self.with([("cursor", None)]))))
    }
}

/// A call that a model can make as it stands.
pub fn call(tool: &'static str, arguments: &Map<String, Value>) -> Call {
    Call { tool, arguments: arguments.clone() }
}

fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(tool: &'static str, given: Value) -> Result<Arguments, ToolError> {
        let Value::Object(given) = given else { panic!("an object") };
        Arguments::new(tool, given)
    }

    #[test]
    fn r3_0_an_unknown_argument_is_named_with_the_known_ones() {
        let error = arguments("fetch", json!({"id": "a", "connector_instance_id": "x"})).unwrap_err();
        assert_eq!(error.code(), "unknown_argument");
        let text = error.to_text();
        assert!(text.contains("`connector_instance_id`") && text.contains("connection_id, "), "{text}");
        assert!(text.ends_with(r#"next: fetch {"connection_id":"x","id":"a"}"#), "{text}");
        let error = arguments("fetch", json!({"id": "a", "colour": "x"})).unwrap_err();
        assert_eq!(error.next_call(), None, "what is not known is not dropped");
    }

    #[test]
    fn r3_11_limits_are_refused_never_clamped() {
        for bad in [json!(0), json!(101), json!(-1), json!("5"), json!(1.5), json!(true)] {
            let error = arguments("query_records", json!({"stream": "s", "limit": bad})).unwrap_err();
            assert_eq!(error.code(), "invalid_argument");
            assert!(error.to_text().contains("from 1 to 100"));
        }
        let arguments = arguments("query_records", json!({"stream": "s", "limit": 5.0})).unwrap();
        assert_eq!(arguments.integer("limit"), Some(5));
    }

    #[test]
    fn r3_60_filters_become_bracket_parameters() {
        let given = json!({"stream": "s", "filter": {
            "user_id": "U1", "seen": true, "amount": {"gte": 1.10, "lt": 12_345_678_901_234_567_890_u64}}});
        let pairs = arguments("query_records", given).unwrap().filter();
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
        let pairs = arguments("query_records", given).unwrap().filter();
        assert_eq!(pairs[0].1, "-0.0");
        assert_eq!(pairs[1].1, "1.10");
    }

    #[test]
    fn r3_61_expand_limits_become_bracket_parameters() {
        let given = json!({"id": "s:r", "expand": ["messages"], "expand_limit": {"messages": 3}});
        let pairs = arguments("fetch", given).unwrap().expand_limit().unwrap();
        assert_eq!(pairs, [("expand_limit[messages]".to_owned(), "3".to_owned())]);
        for bad in [json!({}), json!({"expand_limit[messages]": 3}), json!(3), json!({"messages": 0})] {
            let error = arguments("fetch", json!({"id": "s:r", "expand_limit": bad})).unwrap_err();
            assert_eq!(error.code(), "invalid_expand_limit");
        }
        let given = json!({"id": "s:r", "expand": ["a"], "expand_limit": {"b": 1}});
        let error = arguments("fetch", given).unwrap().expand_limit().unwrap_err();
        assert_eq!((error.code(), error.next_call()), ("invalid_expand_limit", None));
    }

    #[test]
    fn r3_61_an_expand_limit_without_expand_says_so() {
        let given = json!({"id": "s:r", "expand_limit": {"messages": 3}});
        let error = arguments("fetch", given).unwrap().expand_limit().unwrap_err();
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
