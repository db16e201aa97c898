//! A call's arguments, checked: rmcp validates nothing, so every wrong one is found here and answered
//! with what it must be, and with a corrected call where that means the same.

use serde_json::{Map, Value};

use super::evidence::ladder::Call;
use super::meant::{self, whole};
use super::surface;
use super::tool_error::ToolError;

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
        let checked = meant::check(tool, &surface::input_schema(tool), &given);
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
    ///
    /// # Errors
    /// `invalid_argument`.
    pub fn text(&self, name: &str) -> Result<Option<&str>, ToolError> {
        match self.given.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
            Some(_) => Err(self.invalid(name, "a text", None)),
        }
    }

    /// A text that has to be there; `form` is what it looks like.
    ///
    /// # Errors
    /// `missing_argument`, `invalid_argument`.
    pub fn required_text(&self, name: &str, form: &str) -> Result<&str, ToolError> {
        self.text(name)?.ok_or_else(|| {
            let next = format!("add `{name}`, written as {form}");
            ToolError::new("missing_argument", format!("{} needs `{name}`", self.tool), next)
                .with("param", name)
        })
    }

    /// A whole number within bounds, both inclusive.
    ///
    /// # Errors
    /// `invalid_argument`: a number outside is refused, never clamped (R3.11).
    pub fn integer(&self, name: &str, least: u64, most: u64) -> Result<Option<u64>, ToolError> {
        let Some(value) = self.given.get(name) else { return Ok(None) };
        match whole(value) {
            Some(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ if most == u64::MAX => Err(self.invalid(name, &format!("a whole number from {least}"), None)),
            _ => Err(self.invalid(name, &format!("a whole number from {least} to {most}"), None)),
        }
    }

    /// A list of texts, none empty.
    ///
    /// # Errors
    /// `invalid_argument`; for an empty list too, which a provider would take for everything.
    pub fn texts(&self, name: &str) -> Result<Option<Vec<&str>>, ToolError> {
        let Some(value) = self.given.get(name) else { return Ok(None) };
        let texts = value.as_array().and_then(|items| items.iter().map(Value::as_str).collect());
        texts.map_or_else(|| Err(self.invalid(name, "a list of texts", None)), |texts| Ok(Some(texts)))
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
    ///
    /// # Errors
    /// `invalid_filter`.
    pub fn filter(&self) -> Result<Pairs, ToolError> {
        let mut pairs = Pairs::new();
        for (field, value) in self.given.get("filter").and_then(Value::as_object).into_iter().flatten() {
            let bounds = match value {
                Value::Object(range) => {
                    range.iter().map(|(name, bound)| (format!("][{name}"), bound)).collect()
                }
                value => vec![(String::new(), value)],
            };
            for (name, bound) in bounds {
                let bound =
                    scalar(bound).ok_or_else(|| self.invalid("filter", "an object of values", None))?;
                pairs.push((format!("filter[{field}{name}]"), bound));
            }
        }
        Ok(pairs)
    }

    /// `expand_limit`, as `expand_limit[rel]=n` (R3.61).
    ///
    /// # Errors
    /// `invalid_expand_limit`, `missing_argument` without the `expand` that it limits.
    pub fn expand_limit(&self) -> Result<Pairs, ToolError> {
        let Some(relations) = self.given.get("expand_limit").and_then(Value::as_object) else {
            return Ok(Pairs::new());
        };
        let Some(expanded) = self.texts("expand")? else {
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

    /// The typed error for an argument of the wrong type or outside its range; `meant` is the value that
    /// means the same, where there is one.
    pub fn invalid(&self, name: &str, expected: &str, meant: Option<Value>) -> ToolError {
        let message = format!("`{name}` of {} must be {expected}", self.tool);
        let next = meant.map(|meant| call(self.tool, &self.with([(name, Some(meant))])));
        let error = match next {
            Some(next) => ToolError::new("invalid_argument", message, next),
            None => ToolError::new("invalid_argument", message, "correct the call as the message says"),
        };
        error.with("param", name)
    }
}

impl Arguments {
    /// The typed error for a cursor that is none of this tool's, with the call that starts again.
    pub fn foreign_cursor(&self) -> ToolError {
        let error = self.invalid("cursor", "one that this tool gave with this very call", None);
        error.hint("start again without cursor").offer(Some(call(self.tool, &self.with([("cursor", None)]))))
    }
}

/// A call that a model can make as it stands.
pub fn call(tool: &'static str, arguments: &Map<String, Value>) -> Call {
    Call { tool, arguments: arguments.clone() }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
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
        assert_eq!(arguments.integer("limit", 1, 100), Ok(Some(5)));
    }

    #[test]
    fn r3_60_filters_become_bracket_parameters() {
        let given = json!({"stream": "s", "filter": {
            "user_id": "U1", "seen": true, "amount": {"gte": 1.10, "lt": 12_345_678_901_234_567_890_u64}}});
        let pairs = arguments("query_records", given).unwrap().filter().unwrap();
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
        let pairs = arguments("query_records", given).unwrap().filter().unwrap();
        assert_eq!(pairs[0].1, "-0.0");
        assert_eq!(pairs[1].1, "1.10");
    }

    #[test]
    fn r3_60_what_an_rs_would_ignore_is_refused() {
        let null = Value::Null;
        for (bad, meant) in [
            (json!("filter[user_id]=U1"), json!({"user_id": "U1"})),
            (json!("category=food"), json!({"category": "food"})),
            (json!("amount<-1000&is_seen=true"), json!({"amount": {"lt": -1000}, "is_seen": true})),
            (
                json!("at>=2026-08-01 and at<2026-09-01"),
                json!({"at": {"gte": "2026-08-01", "lt": "2026-09-01"}}),
            ),
            (json!("amount > 5 or amount < 2"), null.clone()),
            (json!("a!=1"), null.clone()),
            (json!(""), null.clone()),
            (json!("{\"a\":1}"), json!({"a": 1})),
            (json!("{\"a\":{\"$lt\":1}}"), json!({"a": {"lt": 1}})),
            (
                json!([{"field": "a", "op": "<=", "value": 3}, {"field": "b", "value": "x"}]),
                json!({"a": {"lte": 3}, "b": "x"}),
            ),
            (json!([{"field": "a", "op": "contains", "value": 3}]), null.clone()),
            (json!({"filter[a]": 1}), json!({"a": 1})),
            (json!({"a[gte]": 1, "a[lt]": 5}), json!({"a": {"gte": 1, "lt": 5}})),
            (json!({"": 1}), null.clone()),
            (json!({"a": {}}), null.clone()),
            (json!({"a": {"eq": 1}}), json!({"a": 1})),
            (json!({"a": {"$lt": -1000}}), json!({"a": {"lt": -1000}})),
            (json!({"a": {"$gt": 1, "lte": [4]}}), json!({"a": {"gt": 1, "lte": 4}})),
            (
                json!({"a": {"between": ["2026-08-01", "2026-08-31"]}}),
                json!({"a": {"gte": "2026-08-01", "lt": "2026-09-01"}}),
            ),
            (json!({"a": {"between": [1, 5]}}), json!({"a": {"gte": 1, "lte": 5}})),
            (json!({"a": {"between": ["a", "m"]}}), json!({"a": {"gte": "a", "lte": "m"}})),
            (
                json!({"a": {"between": ["2026-08-01T00:00:00Z", "2026-08-31T12:00:00Z"]}}),
                json!({"a": {"gte": "2026-08-01T00:00:00Z", "lte": "2026-08-31T12:00:00Z"}}),
            ),
            (json!({"a": {"in": ["x"]}}), json!({"a": "x"})),
            (json!({"a": {"in": ["x", "y"]}}), null.clone()),
            (json!({"a": {"contains": "x"}}), null.clone()),
            (json!({"a": {"ne": "x"}}), null.clone()),
            (json!({"a": [1]}), json!({"a": 1})),
            (json!({"a": [1, 2]}), null.clone()),
            (json!({"a": null}), null.clone()),
            (json!({"a": {"gte": {}}}), null.clone()),
            (json!([1]), null.clone()),
            (json!(7), null),
        ] {
            let error = arguments("search", json!({"q": "x", "filter": bad})).unwrap_err();
            assert_eq!(error.code(), "invalid_filter", "{bad}");
            let offered = error.next_call().map_or(Value::Null, |call| call.arguments["filter"].clone());
            assert_eq!(offered, meant, "{bad}");
        }
        let error = arguments("search", json!({"q": "x", "filter": {}})).unwrap_err();
        assert_eq!(error.next(), r#"search {"q":"x"}"#);
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

    /// What readers of one view guessed: the call, the code, a part of the error, the arguments offered.
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
                "one connection a call",
                none.clone(),
            ),
            (
                "query_records",
                json!({"stream": "s", "limit": "5", "fields": "x"}),
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
                "one stream a call",
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
                json!({"stream": "s", "fields": "[\"a\"]"}),
                "invalid_argument",
                "a list",
                json!({"stream": "s", "fields": ["a"]}),
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
                "one field a call",
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
                "reads on",
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
            let error = arguments(tool, given.clone()).unwrap_err();
            assert_eq!(error.code(), code, "{given}");
            assert!(error.to_text().contains(part), "{given}: {}", error.to_text());
            let next = error.next_call().map_or(Value::Null, |call| {
                assert_eq!(call.tool, tool);
                Value::Object(call.arguments.clone())
            });
            assert_eq!(next, offered, "{given}");
        }
        let error = arguments("query_records", json!({"stream": "tx", "q": "rent", "limit": 5})).unwrap_err();
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

    fn any_call() -> impl Strategy<Value = (&'static str, Map<String, Value>)> {
        let tools = ["schema", "query_records", "aggregate", "search", "fetch", "read_record_field"];
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
        prop::sample::select(tools.to_vec()).prop_flat_map(move |tool| {
            let schema = surface::input_schema(tool);
            let mut names = schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            names.extend(others.map(str::to_owned));
            let given = prop::collection::hash_map(prop::sample::select(names), any_json(), 0..5);
            // Often enough, what has to be there is.
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

    /// Which way each field is bounded, and by what, however it is written.
    fn directions(filter: &Value) -> Vec<(String, bool, String)> {
        let mut all = Vec::new();
        for (field, value) in filter.as_object().into_iter().flatten() {
            let field = field.trim_start_matches("filter[").trim_end_matches(']').trim_end_matches("[gte");
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
        /// An offered call is never refused in its turn, and drops nothing that it was given unless that
        /// said nothing.
        #[test]
        fn r5_2_an_offered_call_is_accepted((tool, given) in any_call()) {
            if let Err(error) = Arguments::new(tool, given.clone())
                && let Some(next) = error.next_call()
            {
                let again = Arguments::new(next.tool, next.arguments.clone());
                prop_assert!(again.is_ok(), "{given:?}: {error:?}");
                let again = again.unwrap();
                prop_assert!(again.filter().is_ok());
            }
        }

        #[test]
        fn r5_2_a_corrected_filter_compares_in_the_same_direction(filter in any_json()) {
            let given = Map::from_iter([("q".into(), json!("x")), ("filter".into(), filter.clone())]);
            if let Err(error) = Arguments::new("search", given)
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
