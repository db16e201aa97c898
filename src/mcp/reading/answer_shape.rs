//! What an answer must contain: a missing list is not an empty list (R5.5). Anything else may be in it too.

use serde_json::{Map, Value};

use crate::mcp::tool_error::ToolError;

/// The error for an answer whose part `name` (our name, not the provider's) does not have the expected shape.
pub fn broken(name: &str, came: Option<&Value>, expected: &str) -> ToolError {
    let came = match came {
        None => "is missing",
        Some(Value::Null) => "is null",
        Some(Value::Bool(_)) => "is true or false",
        Some(Value::Number(_)) => "is a number",
        Some(Value::String(_)) => "is a string",
        Some(Value::Array(_)) => "is a list",
        Some(Value::Object(_)) => "is an object",
    };
    ToolError::new(
        "provider_answer_broken",
        format!("`{name}` of the provider's answer {came}; expected {expected}"),
        "try again once; if it persists, the provider is not working: tell the user",
    )
}

/// The object `key` of a body.
///
/// # Errors
/// Returns `provider_answer_broken` if it is not an object.
pub fn object<'a>(body: &'a Map<String, Value>, key: &str) -> Result<&'a Map<String, Value>, ToolError> {
    match body.get(key) {
        Some(Value::Object(object)) => Ok(object),
        other => Err(broken(key, other, "an object")),
    }
}

/// A list of objects, called `name` in the error.
///
/// # Errors
/// Returns `provider_answer_broken` if it is not one.
pub fn objects<'a>(list: Option<&'a Value>, name: &str) -> Result<&'a [Value], ToolError> {
    let Some(Value::Array(items)) = list else { return Err(broken(name, list, "a list")) };
    match items.iter().find(|item| !item.is_object()) {
        Some(other) => Err(broken(&format!("{name}[]"), Some(other), "an object")),
        None => Ok(items),
    }
}

/// Checks the data of a record; a deleted record has none.
///
/// # Errors
/// Returns `provider_answer_broken` if the data is not an object.
pub fn record(body: &Map<String, Value>) -> Result<(), ToolError> {
    if body.get("deleted") == Some(&Value::Bool(true)) {
        return Ok(());
    }
    object(body, "data").map(drop)
}

/// The window of a field; it must contain a text.
///
/// # Errors
/// Returns `provider_answer_broken` if it does not.
pub fn window(body: &Map<String, Value>) -> Result<&Map<String, Value>, ToolError> {
    let window = object(body, "window")?;
    match window.get("text") {
        Some(Value::String(_)) => Ok(window),
        other => Err(broken("window.text", other, "a string")),
    }
}
