//! Numbers in the form of an answer.

use pdpp::mcp::reading::decimal::is_held_by_a_double;
use serde_json::{Value, json};

/// `value`, with the numbers that a double would round as texts (R5.6).
pub fn as_texts(value: &Value) -> Value {
    match value {
        Value::Number(number) if !is_held_by_a_double(number.as_str()) => json!(number.to_string()),
        Value::Array(items) => items.iter().map(as_texts).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), as_texts(value))).collect(),
        other => other.clone(),
    }
}
