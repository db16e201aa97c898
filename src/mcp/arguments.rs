//! A call's arguments, checked: rmcp validates nothing, so every wrong one is found here and answered
//! with what it must be and a corrected call.

use serde_json::{Map, Value, json};

use super::surface;
use super::tool_error::ToolError;

/// Most entries of a list argument, and most keys of an object argument.
const MAX_ENTRIES: usize = 200;
/// Longest text argument, in bytes; a URL has to carry it.
const MAX_TEXT_BYTES: usize = 8 << 10;

/// The arguments of one call of one tool.
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
    /// `unknown_argument`, naming it and the known ones (R3.0).
    pub fn new(tool: &'static str, mut given: Map<String, Value>) -> Result<Self, ToolError> {
        given.retain(|_, value| !value.is_null());
        let known = surface::argument_names(tool);
        if let Some(unknown) = given.keys().find(|name| !known.contains(name)) {
            let mut corrected = given.clone();
            corrected.retain(|name, _| known.contains(name));
            return Err(ToolError::new(
                "unknown_argument",
                format!("{tool} has no argument `{unknown}`; it takes {}", known.join(", ")),
                call(tool, &corrected),
            )
            .with("param", unknown.clone()));
        }
        Ok(Self { tool, given })
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

    /// A text, not empty.
    ///
    /// # Errors
    /// `invalid_argument`.
    pub fn text(&self, name: &str) -> Result<Option<&str>, ToolError> {
        match self.given.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => {
                Err(self.invalid(name, "a text that is not empty", Some(json!(name.to_uppercase()))))
            }
            Some(Value::String(text)) if text.len() > MAX_TEXT_BYTES => {
                Err(self.invalid(name, "a text of at most 8192 bytes", None))
            }
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => {
                let text = match other {
                    Value::Number(number) => Some(json!(number.to_string())),
                    Value::Bool(flag) => Some(json!(flag.to_string())),
                    _ => None,
                };
                Err(self.invalid(name, "a text", text))
            }
        }
    }

    /// A text that has to be there.
    ///
    /// # Errors
    /// `missing_argument`, `invalid_argument`.
    pub fn required_text(&self, name: &str, example: &str) -> Result<&str, ToolError> {
        self.text(name)?.ok_or_else(|| {
            ToolError::new(
                "missing_argument",
                format!("{} needs `{name}`", self.tool),
                call(self.tool, &self.with([(name, Some(json!(example)))])),
            )
            .with("param", name)
        })
    }

    /// One of the texts that the input schema lists for it.
    ///
    /// # Errors
    /// `invalid_argument`.
    pub fn choice(&self, name: &str, allowed: &[&str]) -> Result<Option<&str>, ToolError> {
        match self.given.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if allowed.contains(&text.as_str()) => Ok(Some(text)),
            Some(_) => {
                let expected = format!("one of {}", allowed.join(", "));
                Err(self.invalid(name, &expected, allowed.first().map(|first| json!(first))))
            }
        }
    }

    /// A whole number within bounds, both inclusive.
    ///
    /// # Errors
    /// `invalid_argument`: a number outside is refused, never clamped (R3.11).
    pub fn integer(&self, name: &str, least: u64, most: u64) -> Result<Option<u64>, ToolError> {
        let Some(value) = self.given.get(name) else { return Ok(None) };
        let number = value.as_u64().or_else(|| whole(value));
        match number {
            Some(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => {
                let expected = if most == u64::MAX {
                    format!("a whole number from {least}")
                } else {
                    format!("a whole number from {least} to {most}")
                };
                let meant = number
                    .or_else(|| value.as_str()?.trim().parse().ok())
                    .map_or(least, |number: u64| number.clamp(least, most));
                Err(self.invalid(name, &expected, Some(json!(meant))))
            }
        }
    }

    /// A list of texts, none empty.
    ///
    /// # Errors
    /// `invalid_argument`; for an empty list too, which a provider would take for everything.
    pub fn texts(&self, name: &str) -> Result<Option<Vec<&str>>, ToolError> {
        let Some(value) = self.given.get(name) else { return Ok(None) };
        let wrong = |meant: Option<Value>| self.invalid(name, "a list of texts", meant);
        let Value::Array(items) = value else {
            return Err(wrong(value.as_str().map(|text| json!(split_list(text)))));
        };
        if items.is_empty() {
            let example = json!([name.trim_end_matches('s').to_uppercase()]);
            return Err(self.invalid(
                name,
                "a list of at least one text, or be left out: an empty list says nothing",
                Some(example),
            ));
        }
        if items.len() > MAX_ENTRIES {
            return Err(self.invalid(name, "a list of at most 200 texts", None));
        }
        let texts = items.iter().map(|item| item.as_str().filter(|text| !text.is_empty()));
        let texts = texts.collect::<Option<Vec<_>>>().ok_or_else(|| wrong(None))?;
        // A comma separates names on the wire, so a name cannot hold one.
        if texts.iter().any(|text| text.contains(',')) {
            return Err(wrong(Some(json!(
                texts.iter().flat_map(|text| split_list(text)).collect::<Vec<_>>()
            ))));
        }
        Ok(Some(texts))
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
    /// `invalid_filter`, for everything that a resource server would silently ignore.
    pub fn filter(&self) -> Result<Pairs, ToolError> {
        const EXPECTED: &str = "filter must be an object of field: value, or field: {gte|gt|lte|lt: value}";
        let wrong = |why: String, meant: Option<Value>| {
            let meant = meant.unwrap_or_else(|| json!({"FIELD": "VALUE"}));
            ToolError::new(
                "invalid_filter",
                format!("{EXPECTED}; {why}"),
                call(self.tool, &self.with([("filter", Some(meant))])),
            )
            .with("param", "filter")
        };
        let fields = match self.given.get("filter") {
            None => return Ok(Pairs::new()),
            Some(Value::Object(fields)) => fields,
            Some(Value::String(text)) => {
                // JSON written as a text is what models send by mistake.
                let meant = serde_json::from_str::<Value>(text).ok().filter(Value::is_object);
                return Err(wrong("a text is not accepted".into(), meant));
            }
            Some(_) => return Err(wrong("only an object is accepted".into(), None)),
        };
        if fields.is_empty() {
            return Err(wrong("it is empty; leave it out for no filter".into(), None));
        }
        if fields.len() > MAX_ENTRIES {
            return Err(wrong("it has more than 200 fields".into(), None));
        }
        let mut pairs = Pairs::new();
        for (field, value) in fields {
            if field.is_empty() || field.contains(['[', ']']) {
                let bare = field.split(['[', ']']).find(|part| !part.is_empty() && *part != "filter");
                let meant = bare.map(|bare| json!({bare: value}));
                return Err(wrong(format!("`{field}` is not a plain field name"), meant));
            }
            match value {
                Value::Object(range) if range.is_empty() => {
                    return Err(wrong(
                        format!("the range for `{field}` is empty"),
                        Some(json!({field: {"gte": "VALUE"}})),
                    ));
                }
                Value::Object(range) => {
                    for (operator, bound) in range {
                        if !matches!(operator.as_str(), "gte" | "gt" | "lte" | "lt") {
                            return Err(wrong(
                                format!("`{operator}` is not one of gte, gt, lte, lt"),
                                Some(json!({field: {"gte": bound}})),
                            ));
                        }
                        let bound = scalar(bound).ok_or_else(|| {
                            wrong(
                                format!(
                                    "the bound `{operator}` of `{field}` is not a text, number or true/false"
                                ),
                                None,
                            )
                        })?;
                        pairs.push((format!("filter[{field}][{operator}]"), bound));
                    }
                }
                value => {
                    let value = scalar(value).ok_or_else(|| {
                        wrong(
                            format!("the value for `{field}` is not a text, number, true/false or range"),
                            None,
                        )
                    })?;
                    pairs.push((format!("filter[{field}]"), value));
                }
            }
        }
        Ok(pairs)
    }

    /// `expand_limit`, as `expand_limit[rel]=n` (R3.61).
    ///
    /// # Errors
    /// `invalid_expand_limit`, `missing_argument` without the `expand` that it limits.
    pub fn expand_limit(&self) -> Result<Pairs, ToolError> {
        let expanded = self.texts("expand").ok().flatten();
        let wrong = |why: String| {
            let relation = expanded.as_ref().and_then(|relations| relations.first().copied());
            let meant = json!({relation.unwrap_or("RELATION"): 10});
            ToolError::new(
                "invalid_expand_limit",
                format!("expand_limit must be an object of relation: whole number from 1 to 1000; {why}"),
                call(self.tool, &self.with([("expand_limit", Some(meant))])),
            )
            .with("param", "expand_limit")
        };
        let relations = match self.given.get("expand_limit") {
            None => return Ok(Pairs::new()),
            Some(Value::Object(relations)) => relations,
            Some(_) => return Err(wrong("only an object is accepted".into())),
        };
        if relations.is_empty() {
            return Err(wrong("it is empty; leave it out for the default".into()));
        }
        let mut pairs = Pairs::new();
        for (relation, limit) in relations {
            if relation.is_empty() || relation.contains(['[', ']']) {
                return Err(wrong(format!("`{relation}` is not a plain relation name")));
            }
            let limit = limit.as_u64().or_else(|| whole(limit)).filter(|limit| (1..=1000).contains(limit));
            let limit = limit.ok_or_else(|| wrong(format!("the limit of `{relation}` is something else")))?;
            if expanded.as_ref().is_some_and(|expanded| !expanded.contains(&relation.as_str())) {
                return Err(wrong(format!("`{relation}` is not in expand")));
            }
            pairs.push((format!("expand_limit[{relation}]"), limit.to_string()));
        }
        if !self.has("expand") {
            let relations = relations.keys().cloned().collect::<Value>();
            let corrected = self.with([("expand", Some(relations))]);
            return Err(self.lacks("expand_limit", "expand", "nothing is expanded without it", &corrected));
        }
        Ok(pairs)
    }

    /// The typed error for an argument of the wrong type or outside its range, with a corrected call.
    pub fn invalid(&self, name: &str, expected: &str, meant: Option<Value>) -> ToolError {
        ToolError::new(
            "invalid_argument",
            format!("`{name}` of {} must be {expected}", self.tool),
            call(self.tool, &self.with([(name, meant)])),
        )
        .with("param", name)
    }
}

/// A call, as a text that a model can copy.
pub fn call(tool: &str, arguments: &Map<String, Value>) -> String {
    let arguments = Value::Object(arguments.clone()).to_string();
    format!("{tool} {}", crate::ui::json_ascii_controls(&arguments))
}

fn split_list(text: &str) -> Vec<&str> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// `5.0` is a whole number too: JSON has one number type.
fn whole(value: &Value) -> Option<u64> {
    let text = value.as_number()?.to_string();
    text.strip_suffix(".0")?.parse().ok()
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
        assert!(text.ends_with(r#"next: fetch {"id":"a"}"#), "{text}");
    }

    #[test]
    fn r3_11_limits_are_refused_never_clamped() {
        for bad in [json!(0), json!(101), json!(-1), json!("5"), json!(1.5), json!(true)] {
            let arguments = arguments("query_records", json!({"stream": "s", "limit": bad})).unwrap();
            let error = arguments.integer("limit", 1, 100).unwrap_err();
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
        for bad in [
            json!("filter[user_id]=U1"),
            json!(""),
            json!("{\"a\":1}"),
            json!({}),
            json!({"filter[a]": 1}),
            json!({"a[gte]": 1}),
            json!({"": 1}),
            json!({"a": {}}),
            json!({"a": {"eq": 1}}),
            json!({"a": [1]}),
            json!({"a": null}),
            json!({"a": {"gte": {}}}),
            json!([1]),
            json!(7),
        ] {
            let arguments = arguments("search", json!({"q": "x", "filter": bad})).unwrap();
            let error = arguments.filter().unwrap_err();
            assert_eq!(error.code(), "invalid_filter", "{bad}");
            assert!(error.next().starts_with("search {"), "{}", error.next());
        }
    }

    #[test]
    fn r3_61_expand_limits_become_bracket_parameters() {
        let given = json!({"id": "s:r", "expand": ["messages"], "expand_limit": {"messages": 3}});
        let pairs = arguments("fetch", given).unwrap().expand_limit().unwrap();
        assert_eq!(pairs, [("expand_limit[messages]".to_owned(), "3".to_owned())]);
        for bad in [json!({}), json!({"expand_limit[messages]": 3}), json!(3), json!({"messages": 0})] {
            let arguments = arguments("fetch", json!({"id": "s:r", "expand_limit": bad})).unwrap();
            assert_eq!(arguments.expand_limit().unwrap_err().code(), "invalid_expand_limit");
        }
        let given = json!({"id": "s:r", "expand": ["a"], "expand_limit": {"b": 1}});
        let error = arguments("fetch", given).unwrap().expand_limit().unwrap_err();
        assert_eq!(error.next(), r#"fetch {"expand":["a"],"expand_limit":{"a":10},"id":"s:r"}"#);
    }

    #[test]
    fn r3_61_an_expand_limit_without_expand_says_so() {
        let given = json!({"id": "s:r", "expand_limit": {"messages": 3}});
        let error = arguments("fetch", given).unwrap().expand_limit().unwrap_err();
        assert_eq!((error.code(), error.detail("param")), ("missing_argument", Some(&json!("expand"))));
        assert_eq!(error.next(), r#"fetch {"expand":["messages"],"expand_limit":{"messages":3},"id":"s:r"}"#);
    }

    #[test]
    fn lists_are_lists() {
        let error = arguments("query_records", json!({"stream": "s", "fields": "a, b"})).unwrap();
        let error = error.texts("fields").unwrap_err();
        assert_eq!(error.next(), r#"query_records {"fields":["a","b"],"stream":"s"}"#);
        let given = arguments("query_records", json!({"stream": "s", "fields": ["a,b"]})).unwrap();
        assert!(given.texts("fields").is_err());
    }

    #[test]
    fn r3_13_an_empty_list_does_not_widen() {
        for (tool, given) in [
            ("query_records", json!({"stream": "s", "fields": []})),
            ("fetch", json!({"id": "s:r", "fields": []})),
        ] {
            let error = arguments(tool, given).unwrap();
            let error = error.texts("fields").unwrap_err();
            assert_eq!((error.code(), error.detail("param")), ("invalid_argument", Some(&json!("fields"))));
            assert!(error.next().contains(r#""fields":["FIELD"]"#), "{}", error.next());
        }
    }
}
