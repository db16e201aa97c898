//! What a wrong argument was meant to be: a correction is offered only where it keeps the meaning of the
//! call, else a sentence says what to do. Pure functions over one call's arguments.

use serde_json::{Map, Value, json};

/// Most entries of a list argument, and most keys of an object argument.
const MAX_ENTRIES: usize = 200;
/// Longest text argument, in bytes; a URL has to carry it.
const MAX_TEXT_BYTES: usize = 8 << 10;
/// Longest text that is read as something else than a text (JSON, a condition).
const MAX_READ_BYTES: usize = 2_000;

/// What is wrong with one argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// `unknown_argument`, `missing_argument`, `invalid_argument`, `invalid_filter`, `invalid_expand_limit`.
    pub code: &'static str,
    /// The argument.
    pub param: String,
    /// What it must be.
    pub message: String,
    /// What helps, where that is more than the message.
    pub hint: Option<String>,
}

/// What to do with a wrong value.
#[derive(Debug, Clone, PartialEq)]
pub enum Meant {
    /// Say it so: the same call.
    So(Value),
    /// Leave the argument out: it said nothing.
    Nothing,
    /// Only the caller knows.
    Unknown,
}

/// The faults of a call, and the call that means the same and has none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Checked {
    /// In the order in which they should be told.
    pub faults: Vec<Fault>,
    /// The tool and the arguments of the corrected call.
    pub corrected: Option<(&'static str, Map<String, Value>)>,
}

/// Checks the arguments of a call against the tool's input schema; a `null` counts as not given.
pub fn check(tool: &'static str, schema: &Map<String, Value>, given: &Map<String, Value>) -> Checked {
    let checked = check_once(tool, schema, given);
    // A correction that is refused in turn is none.
    let is_sound = |(target, arguments): &(&'static str, Map<String, Value>)| {
        let other = (*target != tool).then(|| super::surface::input_schema(target));
        check_once(target, other.as_ref().unwrap_or(schema), arguments).faults.is_empty()
    };
    Checked { corrected: checked.corrected.filter(is_sound), faults: checked.faults }
}

fn check_once(tool: &'static str, schema: &Map<String, Value>, given: &Map<String, Value>) -> Checked {
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
    // A record named by its parts is one id, which says its connection.
    if let (Some(corrected), Some(Value::String(id))) = (&mut corrected, renamed.get("id"))
        && given.contains_key("record_id")
        && id.contains('/')
    {
        corrected.remove("connection_id");
    }
    let elsewhere = Some(()).filter(|()| !faults.is_empty()).and_then(|()| as_search(tool, given));
    let corrected = elsewhere
        .map(|arguments| ("search", arguments))
        .or_else(|| corrected.map(|arguments| (tool, arguments)))
        .filter(|_| !faults.is_empty());
    Checked { faults, corrected }
}

/// Words given to a tool that reads one stream: `search` finds them. Only where nothing else is asked.
fn as_search(tool: &str, given: &Map<String, Value>) -> Option<Map<String, Value>> {
    if !matches!(tool, "query_records") {
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
    tool: &str,
    name: &str,
    value: &Value,
    given: &Map<String, Value>,
) -> Option<(&'static str, Value)> {
    if tool == "fetch" && name == "record_id" {
        return record_handle(value, given).map(|id| ("id", id));
    }
    let target = match name.to_ascii_lowercase().as_str() {
        "query" | "text" | "search" | "search_query" | "keywords" | "terms" => "q",
        "streams" | "stream_name" => "stream",
        "stream" => "streams",
        "connection" | "connection_ids" | "connectionid" | "connector_instance_id" => "connection_id",
        "page_size" | "per_page" | "max_results" | "top_k" | "top" | "size"
            if tool != "read_record_field" =>
        {
            "limit"
        }
        "limit" | "max_chars" | "length" => "limit_chars",
        "offset" | "start" => "offset_chars",
        "before" => "before_chars",
        "after" if tool == "read_record_field" => "after_chars",
        "field" | "fields" if tool == "read_record_field" => "field_path",
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
    if super::id::RecordId::parse(record).is_ok() {
        return Some(json!(record));
    }
    let id = super::id::RecordId::from_parts(text("connection_id")?, text("stream")?, record).ok()?;
    id.handle().filter(|_| id.is_self_contained()).map(Value::from)
}

/// Whether an unknown argument asks for what is done without it.
fn says_nothing(name: &str, value: &Value) -> bool {
    match name {
        "offset" | "skip" => *value == json!(0),
        "page" => *value == json!(1),
        // Part of the id that `record_id` becomes.
        "stream" => true,
        _ => false,
    }
}

fn about_unknown(tool: &str, name: &str) -> Option<&'static str> {
    Some(match (tool, name) {
        (_, "offset" | "skip" | "page") => {
            "there is no offset: go on with the next call that an answer gives"
        }
        ("query_records", "q" | "query" | "search") => "search finds words; filter compares whole values",
        ("aggregate", "q" | "query" | "search") => "aggregate counts what filter selects; search finds words",
        ("aggregate", "having") => "groups cannot be filtered: filter the records",
        ("search", "sort" | "order") => "hits come in the provider's own order: narrow with filter",
        ("search" | "query_records" | "aggregate", "connector_key" | "connector" | "source") => {
            "connection_id picks the source: schema {} lists them"
        }
        ("search", "fields") => "search shows excerpts; fetch takes fields",
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

fn choices(spec: &Map<String, Value>) -> Option<Vec<&str>> {
    Some(spec.get("enum")?.as_array()?.iter().filter_map(Value::as_str).collect())
}

#[allow(clippy::single_match_else, reason = "a text is one of a list or free")]
fn fault_of(
    tool: &str,
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

/// A text: what it must be, and what was meant.
fn text(name: &str, value: &Value, is_required: bool) -> Option<(&'static str, Meant)> {
    const TEXT: &str = "a text";
    match value {
        Value::String(text) if text.is_empty() => {
            let meant = if is_required { Meant::Unknown } else { Meant::Nothing };
            Some(("a text that is not empty", meant))
        }
        Value::String(text) if text.len() > MAX_TEXT_BYTES => {
            Some(("a text of at most 8192 bytes", Meant::Unknown))
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
            "one connection a call; without connection_id all connections of a connector are read"
        }
        "stream" if value.is_array() => "one stream a call; search takes several",
        "group_by" | "group_by_time" | "field" if value.is_array() => "one field a call",
        "sort" => "records sort by one field",
        "id" if value.is_array() => "one record a call",
        "q" if *value == json!("") => "the words to find",
        _ => return None,
    })
}

/// `-field` for the ways in which a direction is written elsewhere; nothing where it is right already.
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
        "granularity" => Some("take the next shorter one and add its groups up"),
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

fn about_integer(tool: &str, name: &str, meant: &Meant, most: Option<u64>) -> Option<&'static str> {
    let is_most = most.is_some_and(|most| *meant == Meant::So(json!(most)));
    match (tool, name) {
        ("query_records" | "search", "limit") if is_most => {
            Some("further pages come with the next call of an answer")
        }
        ("query_records", "limit") if *meant == Meant::Unknown => {
            Some("for a number alone: aggregate, metric count")
        }
        ("read_record_field", "limit_chars") if is_most => Some("the next call of an answer reads on"),
        _ => None,
    }
}

/// A whole number: `5.0` is one too, because JSON has one number type.
pub fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_number()?.to_string().strip_suffix(".0")?.parse().ok())
}

fn list(value: &Value) -> Option<(&'static str, Meant)> {
    const LIST: &str = "a list of texts";
    let read = |text: &str| {
        // JSON written as a text is what models send by mistake.
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
        return Some(("a list of at most 200 texts", Meant::Unknown));
    }
    if items.is_empty() {
        return Some(("a list of at least one text", Meant::Unknown));
    }
    // A comma separates names on the wire, so a name cannot hold one.
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

// ---- filter ----

const OPERATORS: [&str; 4] = ["gte", "gt", "lte", "lt"];

/// An operator as the wire has it, for the ways in which it is written elsewhere. Never another direction.
fn operator(written: &str) -> Option<&'static str> {
    let word = written.trim().trim_start_matches('$').to_ascii_lowercase();
    Some(match word.as_str() {
        "gte" | ">=" | "ge" | "since" | "from" | "greater_than_or_equal" => "gte",
        "gt" | ">" | "after" | "greater_than" => "gt",
        "lte" | "<=" | "le" | "until" | "less_than_or_equal" => "lte",
        "lt" | "<" | "before" | "less_than" => "lt",
        "eq" | "=" | "==" | "equals" | "is" => "eq",
        "in" => "in",
        "between" | "range" => "between",
        _ => return None,
    })
}

/// What a filter is, as said in its errors.
const FILTER: &str = "filter must be an object of field: value, or field: {gte|gt|lte|lt: value}";

fn filter(value: &Value) -> Option<(Fault, Meant)> {
    let mut faults: Vec<(String, Option<String>)> = Vec::new();
    let wrong = |why: &str, hint: Option<&str>| (why.to_owned(), hint.map(str::to_owned));
    let meant = match value {
        Value::Object(fields) if fields.is_empty() => {
            faults.push(wrong("it is empty", Some("leave it out for no filter")));
            Meant::Nothing
        }
        Value::Object(fields) if fields.len() > MAX_ENTRIES => {
            faults.push(wrong("it has more than 200 fields", None));
            Meant::Unknown
        }
        Value::Object(fields) => conditions(fields, &mut faults),
        Value::String(text) => {
            faults.push(wrong("a text is not accepted", None));
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

/// A filter that was read from another form, corrected in its turn.
fn again(fields: &Map<String, Value>) -> Meant {
    match conditions(fields, &mut Vec::new()) {
        _ if fields.is_empty() => Meant::Unknown,
        Meant::So(value) => Meant::So(value),
        _ => Meant::Unknown,
    }
}

/// The conditions of a filter with their faults; what was meant is the whole filter.
fn conditions(fields: &Map<String, Value>, faults: &mut Vec<(String, Option<String>)>) -> Meant {
    let mut meant = Some(Map::new());
    for (written, value) in fields {
        let condition = plain_name(written).and_then(|(field, compare)| {
            let value = match compare {
                Some(_) if value.is_object() || value.is_array() => return None,
                Some("eq") | None => value.clone(),
                Some(operator) => json!({operator: value}),
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
                let is_twice = meant.as_ref().is_some_and(|meant| meant.contains_key(&field));
                match &mut meant {
                    Some(fields) if !is_twice => {
                        fields.insert(field, value);
                    }
                    // Two bounds of one field, written apart.
                    Some(fields) => match (fields.get_mut(&field), value) {
                        (Some(Value::Object(range)), Value::Object(more))
                            if more.keys().all(|key| !range.contains_key(key)) =>
                        {
                            range.extend(more);
                        }
                        _ => meant = None,
                    },
                    None => {}
                }
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

/// The field that a key names, and the operator where the wire's form was taken for a name:
/// `filter[a]`, `a[gte]`, `filter[a][gte]`.
fn plain_name(written: &str) -> Option<(String, Option<&'static str>)> {
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
            let compare =
                operator(compare).filter(|compare| *compare == "eq" || OPERATORS.contains(compare))?;
            Some(((*field).to_owned(), Some(compare)))
        }
        _ => None,
    }
}

/// The value or range that a field is compared with; `None` where only the caller knows.
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
                match operator(written) {
                    Some(name) if OPERATORS.contains(&name) && name == written => {}
                    Some(_) => {
                        wrong(format!("`{written}` is not one of gte, gt, lte, lt"), about_operator(written));
                    }
                    None => {
                        wrong(format!("`{written}` is not one of gte, gt, lte, lt"), about_operator(written));
                        is_known = false;
                        continue;
                    }
                }
                let one = match bound {
                    Value::Array(items) if items.len() == 1 => {
                        wrong(format!("the bound `{written}` of `{field}` is a list"), None);
                        items[0].clone()
                    }
                    bound => bound.clone(),
                };
                match (operator(written), one) {
                    (Some("between"), Value::Array(ends)) => match ends.as_slice() {
                        [least, most] if is_scalar(least) && is_scalar(most) => {
                            bounds.insert("gte".into(), least.clone());
                            let (name, most) = end(most);
                            bounds.insert(name.into(), most);
                        }
                        _ => is_known = false,
                    },
                    (Some("between"), _) => is_known = false,
                    (Some("eq" | "in"), value) if is_scalar(&value) => equal = Some(value),
                    (Some(name), value) if is_scalar(&value) && !matches!(name, "eq" | "in") => {
                        is_known &= bounds.insert(name.to_owned(), value).is_none();
                    }
                    (_, Value::Null) => {
                        wrong(format!("the bound `{written}` of `{field}` is null"), Some(NULL));
                        is_known &= range.len() > 1;
                    }
                    (Some("in"), _) => is_known = false,
                    _ => {
                        wrong(
                            format!("the bound `{written}` of `{field}` is not a text, number or true/false"),
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
                    Some("one value a call: make a call for each, or a range"),
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

const NULL: &str = "null cannot be filtered: take the count of all less the counts of the values";

/// The upper end of a `between`, which is part of it: of a date the whole day.
fn end(most: &Value) -> (&'static str, Value) {
    let day = most.as_str().and_then(super::filter_value::date);
    match day.and_then(|day| day.tomorrow().ok()) {
        Some(next) => ("lt", json!(next.to_string())),
        None => ("lte", most.clone()),
    }
}

fn about_operator(written: &str) -> Option<&'static str> {
    match written.trim_start_matches('$').to_ascii_lowercase().as_str() {
        "in" => Some("one value a call: make a call for each, or a range"),
        "contains" | "like" | "ilike" | "regex" | "match" | "startswith" | "starts_with" | "icontains" => {
            Some("filter compares whole values; search finds words inside them")
        }
        "ne" | "not" | "!=" | "neq" | "nin" | "not_in" => {
            Some("there is no `not`: take the count of all less that of the value")
        }
        "or" | "and" => Some("all fields of a filter must hold; for `or` make a call for each"),
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
            (":" | "=" | "==", inner) => inner.unwrap_or("eq"),
            (_, Some(_)) => return None,
            (written, None) => operator(written)?,
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

/// A value, or a range with one bound.
fn compared(compare: &str, value: Value) -> Value {
    if compare == "eq" { value } else { json!({compare: value}) }
}

/// Adds a condition; `None` where the field has one already that a further bound does not complete.
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
        let text = |keys: [&str; 3]| keys.iter().find_map(|key| item.get(*key)?.as_str());
        let named = item.contains_key("field") && item.contains_key("value");
        let more = if named {
            let written = text(["op", "operator", "comparator"]);
            if item.len() != 2 + usize::from(written.is_some()) {
                return None;
            }
            let field = text(["field", "field", "field"])?.to_owned();
            let value = item.get("value")?.clone();
            let compare = written.map_or(Some("eq"), operator)?;
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

// ---- expand_limit ----

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
                wrong.push(format!("the limit of `{relation}` is something else"));
                Some(number)
            }
            Some(_) => {
                wrong.push(format!("the limit of `{relation}` is something else"));
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
