//! Reads a `filter` written as other systems write it, and converts it to the accepted form.

use serde_json::{Map, Value, json};

use super::fault::{Fault, MAX_ENTRIES, MAX_READ_BYTES, Meant};
use crate::mcp::reading::filter::Operator;
use crate::mcp::tools::filter_value;

/// A comparison, however it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    /// Equal to the value.
    Equals,
    /// Satisfies the operator.
    Bound(Operator),
    /// Equal to one value of a list.
    In,
    /// Between two values, or equal to either of them.
    Between,
}

/// How other systems write an operator.
const fn spellings(operator: Operator) -> &'static [&'static str] {
    match operator {
        Operator::Gte => &[">=", "ge", "since", "from", "greater_than_or_equal"],
        Operator::Gt => &[">", "after", "greater_than"],
        Operator::Lte => &["<=", "le", "until", "less_than_or_equal"],
        Operator::Lt => &["<", "before", "less_than"],
    }
}

/// The meaning of a comparison that is written as in other systems. Never the opposite direction.
fn comparison(written: &str) -> Option<Comparison> {
    let word = written.trim().trim_start_matches('$').to_ascii_lowercase();
    let is_meant =
        |operator: &Operator| operator.name() == word || spellings(*operator).contains(&word.as_str());
    if let Some(operator) = Operator::ALL.into_iter().find(is_meant) {
        return Some(Comparison::Bound(operator));
    }
    Some(match word.as_str() {
        "eq" | "=" | "==" | "equals" | "is" => Comparison::Equals,
        "in" => Comparison::In,
        "between" | "range" => Comparison::Between,
        _ => return None,
    })
}

/// The form of a filter, for its errors.
const FILTER: &str = "filter must be an object of field: value, or field: {gte|gt|lte|lt: value}";

pub(super) fn filter(value: &Value) -> Option<(Fault, Meant)> {
    let mut faults: Vec<(String, Option<String>)> = Vec::new();
    let wrong = |why: &str, hint: Option<&str>| (why.to_owned(), hint.map(str::to_owned));
    let meant = match value {
        Value::Object(fields) if fields.is_empty() => {
            faults.push(wrong("it is empty", Some("leave filter out to read without one")));
            Meant::Nothing
        }
        Value::Object(fields) if fields.len() > MAX_ENTRIES => {
            faults.push(wrong("it has more than 200 fields", None));
            Meant::Unknown
        }
        Value::Object(fields) => conditions(fields, &mut faults),
        Value::String(text) => {
            faults.push(wrong("a string is not accepted", None));
            text_filter(text).map_or(Meant::Unknown, |fields| again(&fields))
        }
        Value::Array(items) => {
            faults.push(wrong("a list is not accepted", None));
            listed_filter(items).map_or(Meant::Unknown, |fields| again(&fields))
        }
        _ => {
            faults.push(wrong("only an object is accepted", None));
            Meant::Unknown
        }
    };
    if faults.is_empty() {
        return None;
    }
    let why = faults.iter().map(|(why, _)| why.as_str()).collect::<Vec<_>>().join("; ");
    let mut hints = faults.iter().filter_map(|(_, hint)| hint.as_deref()).collect::<Vec<_>>();
    hints.dedup();
    let hint = Some(hints.join("; ")).filter(|hint| !hint.is_empty());
    let message = format!("{FILTER}; {why}");
    Some((Fault { code: "invalid_filter", param: "filter".to_owned(), message, hint }, meant))
}

/// Corrects a filter that was converted from another form.
fn again(fields: &Map<String, Value>) -> Meant {
    if fields.is_empty() { Meant::Unknown } else { conditions(fields, &mut Vec::new()) }
}

/// Checks the conditions of a filter and collects their faults; the corrected value is the whole filter.
fn conditions(fields: &Map<String, Value>, faults: &mut Vec<(String, Option<String>)>) -> Meant {
    let mut meant = Some(Map::new());
    for (written, value) in fields {
        let condition = plain_name(written).and_then(|(field, compare)| {
            let value = match compare {
                Some(_) if value.is_object() || value.is_array() => return None,
                Some(Comparison::Bound(operator)) => json!({operator.name(): value}),
                _ => value.clone(),
            };
            if field != *written {
                faults.push((
                    format!("`{written}` is not a plain field name"),
                    Some(format!("the field is `{field}`")),
                ));
            }
            Some((field.clone(), condition(&field, &value, faults)))
        });
        match condition {
            Some((field, Some(value))) => {
                meant =
                    meant.and_then(|mut fields| add_condition(&mut fields, field, value).map(|()| fields));
            }
            Some((_, None)) => meant = None,
            None => {
                faults.push((format!("`{written}` is not a plain field name"), None));
                meant = None;
            }
        }
    }
    meant.map_or(Meant::Unknown, |fields| Meant::So(Value::Object(fields)))
}

/// The field that a key names, and the operator if the wire's form was used as a name: `filter[a]`, `a[gte]`,
/// `filter[a][gte]`.
pub(super) fn plain_name(written: &str) -> Option<(String, Option<Comparison>)> {
    if !written.contains(['[', ']']) {
        return (!written.is_empty()).then(|| (written.to_owned(), None));
    }
    let mut parts = written.split(['[', ']']).filter(|part| !part.is_empty()).collect::<Vec<_>>();
    if parts.len() > 1 && parts[0] == "filter" {
        parts.remove(0);
    }
    match parts.as_slice() {
        [field] => Some(((*field).to_owned(), None)),
        [field, compare] => {
            let compare = comparison(compare)
                .filter(|compare| matches!(compare, Comparison::Equals | Comparison::Bound(_)))?;
            Some(((*field).to_owned(), Some(compare)))
        }
        _ => None,
    }
}

/// The value or range that a field is compared with; `None` if only the caller knows it.
fn condition(field: &str, value: &Value, faults: &mut Vec<(String, Option<String>)>) -> Option<Value> {
    let mut wrong = |why: String, hint: Option<&str>| faults.push((why, hint.map(str::to_owned)));
    match value {
        Value::Object(range) if range.is_empty() => {
            wrong(format!("the range for `{field}` is empty"), None);
            None
        }
        Value::Object(range) => {
            let mut bounds = Map::new();
            let mut equal = None;
            let mut is_known = true;
            for (written, bound) in range {
                let compare = comparison(written);
                if !matches!(compare, Some(Comparison::Bound(operator)) if operator.name() == written) {
                    let names = Operator::ALL.map(Operator::name).join(", ");
                    wrong(format!("`{written}` is not one of {names}"), about_operator(written));
                }
                let Some(compare) = compare else {
                    is_known = false;
                    continue;
                };
                let bound = match bound {
                    Value::Array(items) if items.len() == 1 => {
                        wrong(format!("the bound `{written}` of `{field}` is a list"), None);
                        items[0].clone()
                    }
                    bound => bound.clone(),
                };
                match (compare, bound) {
                    (Comparison::Between, Value::Array(ends)) => match ends.as_slice() {
                        [least, most] if is_scalar(least) && is_scalar(most) => {
                            bounds.insert(Operator::Gte.name().into(), least.clone());
                            let (operator, most) = end(most);
                            bounds.insert(operator.name().into(), most);
                        }
                        _ => is_known = false,
                    },
                    (Comparison::Between, _) => is_known = false,
                    (Comparison::Equals | Comparison::In, value) if is_scalar(&value) => equal = Some(value),
                    (Comparison::Bound(operator), value) if is_scalar(&value) => {
                        is_known &= bounds.insert(operator.name().to_owned(), value).is_none();
                    }
                    (_, Value::Null) => {
                        wrong(format!("the bound `{written}` of `{field}` is null"), Some(NULL));
                        is_known &= range.len() > 1;
                    }
                    (Comparison::In, _) => is_known = false,
                    _ => {
                        wrong(
                            format!(
                                "the bound `{written}` of `{field}` is not a string, number or true/false"
                            ),
                            None,
                        );
                        is_known = false;
                    }
                }
            }
            match (equal, bounds.is_empty()) {
                _ if !is_known => None,
                (Some(value), true) => Some(value),
                (None, false) => Some(Value::Object(bounds)),
                _ => None,
            }
        }
        Value::Array(items) => match items.as_slice() {
            [only] if is_scalar(only) => {
                wrong(format!("the value for `{field}` is a list"), None);
                Some(only.clone())
            }
            _ => {
                wrong(
                    format!("the value for `{field}` is a list"),
                    Some("one value per call: make a call for each, or use a range"),
                );
                None
            }
        },
        Value::Null => {
            wrong(format!("the value for `{field}` is null"), Some(NULL));
            None
        }
        scalar => Some(scalar.clone()),
    }
}

const NULL: &str = "null cannot be filtered: subtract the counts of the values from the count of all";

/// The upper end of a `between`, which is inclusive: for a date, the whole day.
fn end(most: &Value) -> (Operator, Value) {
    let day = most.as_str().and_then(filter_value::date);
    match day.and_then(|day| day.tomorrow().ok()) {
        Some(next) => (Operator::Lt, json!(next.to_string())),
        None => (Operator::Lte, most.clone()),
    }
}

fn about_operator(written: &str) -> Option<&'static str> {
    match written.trim_start_matches('$').to_ascii_lowercase().as_str() {
        "in" => Some("one value per call: make a call for each, or use a range"),
        "contains" | "like" | "ilike" | "regex" | "match" | "startswith" | "starts_with" | "icontains" => {
            Some("filter compares whole values; search finds words inside them")
        }
        "ne" | "not" | "!=" | "neq" | "nin" | "not_in" => {
            Some("there is no `not`: subtract the value's count from the count of all")
        }
        "or" | "and" => Some("all conditions of a filter must hold; for `or` make a call for each"),
        _ => None,
    }
}

const fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
}

/// A filter written as a text: JSON, or conditions joined by `&` or `and`.
fn text_filter(text: &str) -> Option<Map<String, Value>> {
    if text.len() > MAX_READ_BYTES {
        return None;
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(fields)) => return Some(fields),
        Ok(Value::Array(items)) => return listed_filter(&items),
        _ => {}
    }
    let mut fields = Map::new();
    for part in text.split('&').flat_map(|part| part.split(" and ")).flat_map(|part| part.split(" AND ")) {
        let (at, written) = [">=", "<=", "==", "!=", ">", "<", "=", ":"]
            .iter()
            .filter_map(|written| part.find(written).map(|at| (at, *written)))
            .min_by_key(|(at, written)| (*at, std::cmp::Reverse(written.len())))?;
        let (field, value) = (part[..at].trim(), part[at + written.len()..].trim());
        let (field, inner) = plain_name(field)?;
        let compare = match (written, inner) {
            (":" | "=" | "==", inner) => inner.unwrap_or(Comparison::Equals),
            (_, Some(_)) => return None,
            (written, None) => comparison(written)?,
        };
        if field.contains([' ', '(', ')', '"', '\''])
            || value.is_empty()
            || value.contains([' ', '(', ')', '=', '<', '>']) && !is_quoted(value)
        {
            return None;
        }
        add_condition(&mut fields, field, compared(compare, scalar_of(value)))?;
    }
    Some(fields)
}

/// A value with its comparison, as a filter writes it.
fn compared(compare: Comparison, value: Value) -> Value {
    match compare {
        Comparison::Equals => value,
        Comparison::Bound(operator) => json!({operator.name(): value}),
        Comparison::In => json!({"in": value}),
        Comparison::Between => json!({"between": value}),
    }
}

/// Adds a condition; `None` if the field already has one that a further bound does not complete.
fn add_condition(fields: &mut Map<String, Value>, field: String, value: Value) -> Option<()> {
    match (fields.get_mut(&field), value) {
        (None, value) => {
            fields.insert(field, value);
        }
        (Some(Value::Object(range)), Value::Object(more))
            if more.keys().all(|key| !range.contains_key(key)) =>
        {
            range.extend(more);
        }
        _ => return None,
    }
    Some(())
}

fn is_quoted(text: &str) -> bool {
    text.len() > 1
        && ['"', '\''].iter().any(|quote| {
            text.starts_with(*quote) && text.ends_with(*quote) && text.matches(*quote).count() == 2
        })
}

fn scalar_of(text: &str) -> Value {
    if is_quoted(text) {
        return json!(&text[1..text.len() - 1]);
    }
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => json!(text),
    }
}

/// A filter written as a list of conditions: `[{"field": …, "op": …, "value": …}]`, or of filters.
fn listed_filter(items: &[Value]) -> Option<Map<String, Value>> {
    let mut fields = Map::new();
    for item in items {
        let item = item.as_object()?;
        let named = item.contains_key("field") && item.contains_key("value");
        let more = if named {
            let written = ["op", "operator", "comparator"].iter().find_map(|key| item.get(*key)?.as_str());
            if item.len() != 2 + usize::from(written.is_some()) {
                return None;
            }
            let field = item.get("field")?.as_str()?.to_owned();
            let value = item.get("value")?.clone();
            let compare = written.map_or(Some(Comparison::Equals), comparison)?;
            Map::from_iter([(field, compared(compare, value))])
        } else {
            item.clone()
        };
        for (field, value) in more {
            add_condition(&mut fields, field, value)?;
        }
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::super::tests::refused;
    use super::*;

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
            let error = refused("search", &json!({"q": "x", "filter": bad}));
            assert_eq!(error.code(), "invalid_filter", "{bad}");
            let offered = error.next_call().map_or(Value::Null, |call| call.arguments["filter"].clone());
            assert_eq!(offered, meant, "{bad}");
        }
        let error = refused("search", &json!({"q": "x", "filter": {}}));
        assert_eq!(error.next(), r#"search {"q":"x"}"#);
    }
}
