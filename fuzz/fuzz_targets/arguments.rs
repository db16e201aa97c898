//! Arguments of any shape are accepted, or refused with a bounded error that names a next step (R3.0, R5.2).
#![no_main]

use libfuzzer_sys::fuzz_target;
use pdpp::mcp::call::Tool;
use pdpp::mcp::reading::filter::Operator;
use pdpp::mcp::size::Bounds;
use pdpp::mcp::tool_error::ToolError;
use pdpp::mcp::tools::arguments::{Given, checked};
use pdpp::mcp::tools::tool_call::ToolCall;
use serde_json::{Map, Value};

const NAMES: [&str; 12] = [
    "stream", "limit", "filter", "fields", "expand", "expand_limit", "q", "streams", "id", "mode", "cursor", "metric",
];

fn check(error: &ToolError) {
    assert!(!error.code().is_empty() && !error.next().is_empty());
    let text = error.to_text();
    assert!(pdpp::text::exposed(&text).all(|(_, c)| c == '\n'), "{text:?}");
    assert!(text.len() <= 4_000, "{} bytes: {text}", text.len());
}

fuzz_target!(|data: &[u8]| {
    let Some((&tool, data)) = data.split_first() else { return };
    let Ok(given) = serde_json::from_slice::<Map<String, Value>>(data) else { return };
    let tool = Tool::ALL[usize::from(tool) % Tool::ALL.len()];
    // The arguments are also parsed into the tool's own type.
    if let Err(error) = ToolCall::parse(tool.name(), given.clone(), Bounds::default()) {
        check(&error);
    }
    let call = match checked(tool, given) {
        Ok(call) => call,
        Err(error) => return check(&error),
    };
    let given = Given(&call);
    for name in NAMES {
        given.required_text(name, "x").err().iter().for_each(check);
        assert!(given.text(name).is_none_or(|text| !text.is_empty()));
        assert!(given.texts(name).iter().all(|text| !text.is_empty()));
    }
    assert!(given.integer("limit").is_none_or(|number| number >= 1));
    for (name, _) in &given.filter().expect("a checked filter").to_query() {
        let inner = name.strip_prefix("filter[").and_then(|rest| rest.strip_suffix(']')).expect("filter[…]");
        let (field, op) = inner.split_once("][").unwrap_or((inner, "eq"));
        assert!(!field.is_empty() && !field.contains(['[', ']']), "{name:?}");
        assert!(op == "eq" || Operator::from_name(op).is_some(), "{name:?}");
    }
    match given.expansions() {
        Ok(expansions) => assert!(expansions.iter().all(|expansion| expansion.limit.is_none_or(|limit| limit >= 1))),
        Err(error) => check(&error),
    }
});
