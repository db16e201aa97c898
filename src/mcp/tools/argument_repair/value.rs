//! Checks one argument's value against the input schema: a text, one of a list, a number, a list.

use serde_json::{Map, Value, json};

use super::fault::{Fault, MAX_ENTRIES, MAX_READ_BYTES, Meant};
use super::filter::{filter, plain_name};
use crate::mcp::call::Tool;

/// The maximum size of a text argument in bytes; a URL must carry it.
const MAX_TEXT_BYTES: usize = 8 << 10;

pub(super) fn choices(spec: &Map<String, Value>) -> Option<Vec<&str>> {
    Some(spec.get("enum")?.as_array()?.iter().filter_map(Value::as_str).collect())
}

#[allow(clippy::single_match_else, reason = "a text is one of a list or free")]
pub(super) fn fault_of(
    tool: Tool,
    name: &str,
    spec: &Map<String, Value>,
    value: &Value,
    is_required: bool,
) -> Option<(Fault, Meant)> {
    let fault = |expected: &str, hint: Option<&str>| Fault {
        code: "invalid_argument",
        param: name.to_owned(),
        message: format!("`{name}` of {tool} must be {expected}"),
        hint: hint.map(str::to_owned),
    };
    match spec.get("type").and_then(Value::as_str) {
        Some("string") => match choices(spec) {
            Some(choices) => {
                let meant = choice(name, &choices, value)?;
                let expected = format!("one of {}", choices.join(", "));
                let hint = about_choice(name, value).filter(|_| meant == Meant::Unknown);
                Some((fault(&expected, hint), meant))
            }
            None => {
                let (expected, meant) = text(name, value, is_required)?;
                let hint = about_text(name, value).filter(|_| meant == Meant::Unknown);
                Some((fault(expected, hint), meant))
            }
        },
        Some("integer") => {
            let least = spec.get("minimum").and_then(Value::as_u64).unwrap_or(0);
            let most = spec.get("maximum").and_then(Value::as_u64);
            let meant = integer(value, least, most)?;
            let expected = match most {
                Some(most) => format!("a whole number from {least} to {most}"),
                None => format!("a whole number from {least}"),
            };
            let hint = about_integer(tool, name, &meant, most);
            Some((fault(&expected, hint), meant))
        }
        Some("array") => {
            let (expected, meant) = list(value)?;
            let hint = (*value == json!([])).then_some("name at least one, or leave it out for all");
            Some((fault(expected, hint), meant))
        }
        _ if name == "filter" => filter(value),
        _ if name == "expand_limit" => expand_limit(value),
        _ => None,
    }
}

/// Checks a text: what it must be, and the corrected value.
fn text(name: &str, value: &Value, is_required: bool) -> Option<(&'static str, Meant)> {
    const TEXT: &str = "a string";
    match value {
        Value::String(text) if text.is_empty() => {
            let meant = if is_required { Meant::Unknown } else { Meant::Nothing };
            Some(("a string that is not empty", meant))
        }
        Value::String(text) if text.len() > MAX_TEXT_BYTES => {
            Some(("a string of at most 8192 bytes", Meant::Unknown))
        }
        Value::String(text) if name == "sort" => {
            sort(text).map(|meant| ("field, or -field for descending", meant))
        }
        Value::String(_) => None,
        Value::Number(number) => Some((TEXT, Meant::So(json!(number.to_string())))),
        Value::Bool(flag) => Some((TEXT, Meant::So(json!(flag.to_string())))),
        Value::Array(items) => match items.as_slice() {
            [only @ (Value::String(_) | Value::Number(_) | Value::Object(_))] => {
                let meant = match self::text(name, only, is_required) {
                    None => Meant::So(only.clone()),
                    Some((_, Meant::So(value))) => Meant::So(value),
                    Some(_) => Meant::Unknown,
                };
                Some((TEXT, meant))
            }
            _ => Some((TEXT, Meant::Unknown)),
        },
        Value::Object(object) if name == "sort" => Some((TEXT, sort_object(object))),
        _ => Some((TEXT, Meant::Unknown)),
    }
}

fn about_text(name: &str, value: &Value) -> Option<&'static str> {
    Some(match name {
        "connection_id" if value.is_array() => {
            "one connection per call; without connection_id all connections of a connector are read"
        }
        "stream" if value.is_array() => "one stream per call; search takes several",
        "group_by" | "group_by_time" | "field" if value.is_array() => "one field per call",
        "sort" => "records sort by one field",
        "id" if value.is_array() => "one record per call",
        "q" if *value == json!("") => "the words to find",
        _ => return None,
    })
}

/// `-field` for the ways in which other systems write a direction; `None` if it is already right.
fn sort(text: &str) -> Option<Meant> {
    let text = text.trim();
    if let Some(field) = text.strip_prefix('+') {
        return Some(Meant::So(json!(field)));
    }
    let at = text.rfind([' ', ':', '.', ','])?;
    let (field, direction) = (text[..at].trim(), &text[at + 1..]);
    let is_name = !field.is_empty() && !field.contains([' ', ',', ':']);
    match (direction_of(direction), is_name) {
        (Some(is_descending), true) => Some(Meant::So(sorted(field, is_descending))),
        _ if text.contains([' ', ',']) => Some(Meant::Unknown),
        _ => None,
    }
}

fn sort_object(object: &Map<String, Value>) -> Meant {
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    let pair = match (text("field").or_else(|| text("by")), text("order").or_else(|| text("direction"))) {
        (Some(field), Some(direction)) if object.len() == 2 => Some((field, direction)),
        _ if object.len() == 1 => {
            object.iter().next().and_then(|(field, direction)| Some((field.as_str(), direction.as_str()?)))
        }
        _ => None,
    };
    match pair.and_then(|(field, direction)| Some((field, direction_of(direction)?))) {
        Some((field, is_descending)) if !field.contains([' ', ',', '-']) => {
            Meant::So(sorted(field, is_descending))
        }
        _ => Meant::Unknown,
    }
}

fn sorted(field: &str, is_descending: bool) -> Value {
    let field = field.trim_start_matches('-');
    if is_descending { json!(format!("-{field}")) } else { json!(field) }
}

fn direction_of(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "desc" | "descending" => Some(true),
        "asc" | "ascending" => Some(false),
        _ => None,
    }
}

fn choice(name: &str, choices: &[&str], value: &Value) -> Option<Meant> {
    let of = |word: &str| choices.iter().find(|choice| **choice == word).map(|choice| json!(choice));
    let meant = match value {
        Value::String(text) if of(text).is_some() => return None,
        Value::String(text) if text.trim().is_empty() => return Some(Meant::Nothing),
        Value::String(text) => {
            let word = text.trim().to_ascii_lowercase().replace(['-', ' '], "_");
            of(&word).or_else(|| of(synonym(name, &word)?))
        }
        Value::Bool(flag) if name == "count" => of(if *flag { "exact" } else { "none" }),
        Value::Array(items) => match items.as_slice() {
            [only] => match choice(name, choices, only) {
                None => Some(only.clone()),
                Some(Meant::So(value)) => Some(value),
                Some(_) => None,
            },
            _ => None,
        },
        _ => None,
    };
    Some(meant.map_or(Meant::Unknown, Meant::So))
}

fn synonym(name: &str, word: &str) -> Option<&'static str> {
    Some(match (name, word) {
        ("order", "newest" | "newest_first" | "latest" | "latest_first" | "descending" | "descend") => "desc",
        ("order", "oldest" | "oldest_first" | "earliest" | "ascending" | "ascend" | "chronological") => "asc",
        ("metric", "total") => "sum",
        ("metric", "minimum") => "min",
        ("metric", "maximum") => "max",
        ("metric", "distinct" | "unique" | "distinct_count" | "count_unique" | "countdistinct") => {
            "count_distinct"
        }
        ("granularity", "minutes" | "minutely") => "minute",
        ("granularity", "hours" | "hourly") => "hour",
        ("granularity", "days" | "daily") => "day",
        ("granularity", "weeks" | "weekly") => "week",
        ("granularity", "months" | "monthly") => "month",
        ("granularity", "quarters" | "quarterly") => "quarter",
        ("granularity", "years" | "yearly" | "annual" | "annually") => "year",
        ("count", "true" | "total") => "exact",
        ("count", "false" | "no") => "none",
        ("count", "estimate") => "estimated",
        ("mode", "keyword" | "keywords" | "text" | "full_text" | "fulltext") => "lexical",
        ("mode", "vector" | "embedding") => "semantic",
        _ => return None,
    })
}

fn about_choice(name: &str, value: &Value) -> Option<&'static str> {
    let word = value.as_str().unwrap_or("").to_ascii_lowercase();
    match name {
        "metric" if matches!(word.as_str(), "avg" | "average" | "mean") => {
            Some("an average is two calls: metric sum with the field, divided by metric count without it")
        }
        "metric" if matches!(word.as_str(), "median" | "percentile" | "stddev") => {
            Some("not computed here: read the values with query_records, fields and limit")
        }
        "granularity" => Some("use the next shorter one and add up its groups"),
        _ => None,
    }
}

fn integer(value: &Value, least: u64, most: Option<u64>) -> Option<Meant> {
    let within = |number: u64| number >= least && most.is_none_or(|most| number <= most);
    if whole(value).is_some_and(within) {
        return None;
    }
    let number = match value {
        Value::Array(items) => match items.as_slice() {
            [only] if !only.is_array() => {
                return Some(match integer(only, least, most) {
                    None => Meant::So(only.clone()),
                    Some(meant) => meant,
                });
            }
            _ => None,
        },
        Value::String(text) if text.trim().is_empty() => return Some(Meant::Nothing),
        Value::String(text) => text.trim().parse().ok(),
        value => whole(value),
    };
    Some(match (number, most) {
        (Some(number), Some(most)) if number > most => Meant::So(json!(most)),
        (Some(number), _) if number >= least => Meant::So(json!(number)),
        _ => Meant::Unknown,
    })
}

fn about_integer(tool: Tool, name: &str, meant: &Meant, most: Option<u64>) -> Option<&'static str> {
    let is_most = most.is_some_and(|most| *meant == Meant::So(json!(most)));
    match (tool, name) {
        (Tool::QueryRecords | Tool::Search, "limit") if is_most => {
            Some("further pages come with the next call of an answer")
        }
        (Tool::QueryRecords, "limit") if *meant == Meant::Unknown => {
            Some("for just a number: aggregate, metric count")
        }
        (Tool::ReadRecordField, "limit_chars") if is_most => Some("the next call of an answer continues"),
        _ => None,
    }
}

/// Converts a value to the form in the input schema if nothing is lost: a list or a whole number written as JSON
/// text, as some hosts send them. Treats an empty value that has no meaning as absent.
pub fn take(properties: &Map<String, Value>, arguments: &mut Map<String, Value>) {
    arguments.retain(|name, value| !(*value == json!("") && MEANS_ABSENT.contains(&name.as_str())));
    for (name, value) in arguments.iter_mut() {
        let kind = properties.get(name).and_then(|spec| spec.get("type")?.as_str());
        let Some(text) = value.as_str().filter(|text| text.len() <= MAX_READ_BYTES) else { continue };
        match (kind, serde_json::from_str::<Value>(text)) {
            (Some("array"), Ok(list @ Value::Array(_))) => *value = list,
            (Some("integer"), Ok(number)) if whole(&number).is_some() => *value = number,
            _ => {}
        }
    }
}

/// Arguments that an empty text omits.
const MEANS_ABSENT: [&str; 5] = ["cursor", "sort", "view", "order", "connection_id"];

/// A whole number: `5.0` is one too, because JSON has only one number type.
pub fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_number()?.to_string().strip_suffix(".0")?.parse().ok())
}

fn list(value: &Value) -> Option<(&'static str, Meant)> {
    const LIST: &str = "a list of strings";
    let read = |text: &str| {
        // Models send JSON written as a text by mistake.
        let json =
            Some(text).filter(|text| text.len() <= MAX_READ_BYTES && text.trim_start().starts_with('['));
        json.and_then(|text| serde_json::from_str::<Value>(text).ok())
    };
    let items = match value {
        Value::Array(items) => items.clone(),
        Value::String(text) => match read(text) {
            Some(Value::Array(items)) => items,
            _ => vec![json!(text)],
        },
        Value::Number(number) => vec![json!(number.to_string())],
        _ => return Some((LIST, Meant::Unknown)),
    };
    if items.len() > MAX_ENTRIES {
        return Some(("a list of at most 200 strings", Meant::Unknown));
    }
    if items.is_empty() {
        return Some(("a list of at least one string", Meant::Unknown));
    }
    // A comma separates names on the wire, so a name cannot contain one.
    let is_right = |item: &Value| {
        item.as_str().is_some_and(|name| !name.is_empty() && !name.contains(',') && name != "*")
    };
    if value.is_array() && items.iter().all(is_right) {
        return None;
    }
    let mut names = Vec::new();
    for item in &items {
        match item {
            Value::String(text) => {
                names.extend(
                    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned),
                );
            }
            Value::Number(number) => names.push(number.to_string()),
            _ => return Some((LIST, Meant::Unknown)),
        }
    }
    let meant = match names.as_slice() {
        [] => Meant::Nothing,
        [all] if all == "*" => Meant::Nothing,
        names if names.len() > MAX_ENTRIES || names.iter().any(|name| name == "*") => Meant::Unknown,
        names => Meant::So(json!(names)),
    };
    Some((LIST, meant))
}

fn expand_limit(value: &Value) -> Option<(Fault, Meant)> {
    let fault = |why: String| Fault {
        code: "invalid_expand_limit",
        param: "expand_limit".to_owned(),
        message: format!("expand_limit must be an object of relation: whole number from 1 to 1000; {why}"),
        hint: None,
    };
    let Value::Object(relations) = value else {
        return Some((fault("only an object is accepted".into()), Meant::Unknown));
    };
    if relations.is_empty() {
        return Some((fault("it is empty; leave it out for the default".into()), Meant::Nothing));
    }
    let mut meant = Some(Map::new());
    let mut wrong = Vec::new();
    for (relation, limit) in relations {
        let name = plain_name(relation).filter(|(_, compare)| compare.is_none()).map(|(name, _)| name);
        let name = name.map(|name| name.trim_start_matches("expand_limit").to_owned());
        let bare = relation.strip_prefix("expand_limit[").and_then(|rest| rest.strip_suffix(']'));
        let name =
            bare.map(str::to_owned).or(name).filter(|name| !name.is_empty() && !name.contains(['[', ']']));
        if name.as_deref() != Some(relation.as_str()) {
            wrong.push(format!("`{relation}` is not a plain relation name"));
        }
        let number = match integer(limit, 1, Some(1000)) {
            None => Some(limit.clone()),
            Some(Meant::So(number)) if whole(&number).is_some_and(|number| number < 1000) => {
                wrong.push(format!("the limit of `{relation}` is not one"));
                Some(number)
            }
            Some(_) => {
                wrong.push(format!("the limit of `{relation}` is not one"));
                None
            }
        };
        match (name, number, &mut meant) {
            (Some(name), Some(number), Some(meant)) if !meant.contains_key(&name) => {
                meant.insert(name, number);
            }
            _ => meant = None,
        }
    }
    if wrong.is_empty() {
        return None;
    }
    Some((fault(wrong.join("; ")), meant.map_or(Meant::Unknown, |meant| Meant::So(Value::Object(meant)))))
}
