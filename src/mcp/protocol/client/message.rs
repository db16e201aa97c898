//! The messages that a client sends, and what it reads of an answer.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

/// The newest version that begins with `initialize`.
pub(super) const NEWEST_LEGACY: &str = "2025-11-25";

/// Most pages of a list of tools that are read.
const MAX_PAGES: usize = 100;

/// Most tools that are read.
const MAX_TOOLS: usize = 5000;

pub(super) fn request(id: u64, method: &str, params: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params.into()})
}

pub(super) fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

pub(super) fn initialize_params() -> Map<String, Value> {
    let mut params = Map::new();
    params.insert("protocolVersion".into(), NEWEST_LEGACY.into());
    params.insert("capabilities".into(), json!({}));
    params.insert("clientInfo".into(), client_info());
    params
}

pub(super) fn client_info() -> Value {
    json!({"name": "pdpp", "version": env!("CARGO_PKG_VERSION")})
}

/// What the answer to the request `id` holds: its result or its error. `None` for any other message.
pub(super) fn outcome(message: &mut Map<String, Value>, id: u64) -> Option<Outcome> {
    if message.get("id") != Some(&Value::from(id)) || message.contains_key("method") {
        return None;
    }
    Some(match (message.remove("result"), message.remove("error")) {
        (Some(result), None) => Outcome::Result(result),
        (_, Some(error)) => Outcome::Error(error),
        (None, None) => Outcome::Neither,
    })
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// `result`.
    Result(Value),
    /// `error`.
    Error(Value),
    /// It has neither, which no answer may.
    Neither,
}

/// The tools of a server, page by page.
#[derive(Debug, Default)]
pub(super) struct ToolPages {
    tools: Vec<Value>,
    seen: HashSet<String>,
}

impl ToolPages {
    /// Takes up one page; what to ask for next, or `None` where that was the last.
    ///
    /// # Errors
    /// What is wrong with the list.
    pub(super) fn take(&mut self, mut page: Value) -> Result<Option<Map<String, Value>>, &'static str> {
        let Some(Value::Array(more)) = page.get_mut("tools").map(Value::take) else {
            return Err("its tools/list answer has no tools");
        };
        self.tools.extend(more);
        let Some(cursor) = page.get("nextCursor").and_then(Value::as_str) else { return Ok(None) };
        let is_new = self.seen.insert(cursor.to_owned());
        if !is_new || self.seen.len() >= MAX_PAGES || self.tools.len() > MAX_TOOLS {
            return Err("its tools/list has no end");
        }
        Ok(Some(Map::from_iter([("cursor".to_owned(), Value::from(cursor))])))
    }

    /// All of them.
    pub(super) fn into_tools(self) -> Vec<Value> {
        self.tools
    }
}
