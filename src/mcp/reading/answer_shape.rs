//! What an answer must hold to be one: a list that is missing is no empty list (R5.5). What is beside it may be
//! anything.

use serde_json::{Map, Value};

use crate::mcp::tool_error::ToolError;

/// The error for an answer whose part `name` (ours, not the provider's) is not as it should be.
pub fn broken(name: &str, came: Option<&Value>, expected: &str) -> ToolError {
    let came = match came {
        None => "is missing",
        Some(Value::Null) => "is null",
        Some(Value::Bool(_)) => "is true or false",
        Some(Value::Number(_)) => "is a number",
        Some(Value::String(_)) => "is a text",
        Some(Value::Array(_)) => "is a list",
        Some(Value::Object(_)) => "is an object",
    };
    ToolError::new(
        "provider_answer_broken",
        format!("`{name}` of the provider's answer {came}; expected was {expected}"),
        "try again once; if it stays so, the provider is not working: tell the user",
    )
}

/// The object `key` of a body.
///
/// # Errors
/// `provider_answer_broken`.
pub fn object<'a>(body: &'a Map<String, Value>, key: &str) -> Result<&'a Map<String, Value>, ToolError> {
    match body.get(key) {
        Some(Value::Object(object)) => Ok(object),
        other => Err(broken(key, other, "an object")),
    }
}

/// A list of objects, `name` in what is said of it.
///
/// # Errors
/// `provider_answer_broken`.
pub fn objects<'a>(list: Option<&'a Value>, name: &str) -> Result<&'a [Value], ToolError> {
    let Some(Value::Array(items)) = list else { return Err(broken(name, list, "a list")) };
    match items.iter().find(|item| !item.is_object()) {
        Some(other) => Err(broken(&format!("{name}[]"), Some(other), "an object")),
        None => Ok(items),
    }
}

/// Checks the data of a record; one that is deleted has none.
///
/// # Errors
/// `provider_answer_broken`.
pub fn record(body: &Map<String, Value>) -> Result<(), ToolError> {
    if body.get("deleted") == Some(&Value::Bool(true)) {
        return Ok(());
    }
    object(body, "data").map(drop)
}

/// The window of a field, which has a text.
///
/// # Errors
/// `provider_answer_broken`.
pub fn window(body: &Map<String, Value>) -> Result<&Map<String, Value>, ToolError> {
    let window = object(body, "window")?;
    match window.get("text") {
        Some(Value::String(_)) => Ok(window),
        other => Err(broken("window.text", other, "a text")),
    }
}
