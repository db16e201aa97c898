//! The rows of a list, in the shapes in which providers send them.

use serde_json::{Map, Value, json};

use super::answer_shape;
use crate::mcp::tool_error::ToolError;

/// A row of a list: a record or a hit.
pub type Row = Map<String, Value>;

/// Removes the rows from an envelope, in any of the shapes that providers send: `data[]`, `data.results[]`,
/// `data.data[]` (R6.2).
///
/// # Errors
/// Returns `provider_answer_broken` if there is no list.
pub fn take_rows(body: &mut Map<String, Value>) -> Result<Vec<Row>, ToolError> {
    let list = match body.get_mut("data") {
        Some(Value::Array(_)) => body.remove("data"),
        Some(Value::Object(inner)) => {
            let key =
                ["results", "data"].into_iter().find(|key| inner.get(*key).is_some_and(Value::is_array));
            let list = key.and_then(|key| inner.remove(key));
            if inner.is_empty() {
                body.remove("data");
            }
            list
        }
        _ => None,
    };
    let Some(Value::Array(list)) = list else {
        return Err(answer_shape::broken("data", body.get("data"), "a list"));
    };
    let rows = list.into_iter().map(|row| match row {
        Value::Object(row) => row,
        // Not a row at all; still shown, so that nothing disappears.
        other => Map::from_iter([("data".to_owned(), json!({ "value": other }))]),
    });
    Ok(rows.collect())
}
