//! Arguments of any shape: taken, or refused with a bounded error that names a next step (R3.0, R5.2).
#![no_main]

use libfuzzer_sys::fuzz_target;
use pdpp::mcp::tools::arguments::Arguments;
use pdpp::mcp::tool_error::ToolError;
use serde_json::{Map, Value};

const TOOLS: [&str; 6] = ["schema", "query_records", "aggregate", "search", "fetch", "read_record_field"];
const NAMES: [&str; 12] = [
    "stream", "limit", "filter", "fields", "expand", "expand_limit", "q", "streams", "id", "mode", "cursor", "metric",
];

fn check(error: &ToolError) {
    assert!(!error.code().is_empty() && !error.next().is_empty());
    let text = error.to_text();
    assert!(!text.chars().any(|c| pdpp::text::is_hidden(c) && c != '\n'), "{text:?}");
    assert!(text.len() <= 4_000, "{} bytes: {text}", text.len());
}

fuzz_target!(|data: &[u8]| {
    let Some((&tool, data)) = data.split_first() else { return };
    let Ok(given) = serde_json::from_slice::<Map<String, Value>>(data) else { return };
    let arguments = match Arguments::new(TOOLS[usize::from(tool) % TOOLS.len()], given) {
        Ok(arguments) => arguments,
        Err(error) => return check(&error),
    };
    for name in NAMES {
        arguments.required_text(name, "x").err().iter().for_each(check);
        assert!(arguments.text(name).is_none_or(|text| !text.is_empty()));
        assert!(arguments.texts(name).is_none_or(|texts| texts.iter().all(|text| !text.is_empty())));
    }
    assert!(arguments.integer("limit").is_none_or(|number| number >= 1));
    for (name, _) in &arguments.filter() {
        let inner = name.strip_prefix("filter[").and_then(|rest| rest.strip_suffix(']')).expect("filter[…]");
        let (field, op) = inner.split_once("][").unwrap_or((inner, "eq"));
        assert!(!field.is_empty() && !field.contains(['[', ']']), "{name:?}");
        assert!(["eq", "gte", "gt", "lte", "lt"].contains(&op), "{name:?}");
    }
    match arguments.expand_limit() {
        Ok(pairs) => {
            for (name, value) in &pairs {
                assert!(name.starts_with("expand_limit[") && name.ends_with(']'));
                assert!(value.parse::<u64>().is_ok(), "{value:?}");
            }
        }
        Err(error) => check(&error),
    }
});
