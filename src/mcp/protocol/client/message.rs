//! The messages that a client sends, and what it reads from an answer.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::json as lenient;

/// The newest version that starts with `initialize`.
pub(super) const NEWEST_LEGACY: &str = "2025-11-25";

/// The maximum number of pages to read from a list of tools.
const MAX_PAGES: usize = 100;

/// The maximum number of places in a line where a message may begin after other text.
const MAX_BEGINNINGS: usize = 16;

/// The maximum number of tools to read.
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

/// Reads a line as a message, and reports what is odd about it: a host may not be able to read that line. `None` for
/// anything that is not a message: programs often log there, so such lines are skipped.
pub(super) fn read(line: &[u8]) -> Option<(Map<String, Value>, Option<&'static str>)> {
    let parsed = |line: &[u8]| match lenient::parse(line) {
        Ok(Value::Object(message)) => Some(message),
        _ => None,
    };
    if let Some(message) = parsed(line) {
        let is_marked = line.starts_with(lenient::BYTE_ORDER_MARK);
        return Some((message, is_marked.then_some("a byte order mark before its answer")));
    }
    // Only a line that can hold an answer is searched.
    let text = String::from_utf8_lossy(line);
    let begins =
        text.match_indices('{').take(MAX_BEGINNINGS).filter(|(at, _)| text[*at..].contains("\"jsonrpc\""));
    let (at, message) = begins.map(|(at, _)| at).find_map(|at| Some((at, parsed(text[at..].as_bytes())?)))?;
    message.contains_key("jsonrpc").then_some(())?;
    let odd =
        if at > 0 { "other text before its answer on the same line" } else { "bytes that are not UTF-8" };
    Some((message, Some(odd)))
}

/// The result or error in the answer to request `id`. `None` for any other message.
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
    /// It has neither, which is not allowed.
    Neither,
}

/// The tools of a server, page by page.
#[derive(Debug, Default)]
pub(super) struct ToolPages {
    tools: Vec<Value>,
    seen: HashSet<String>,
}

impl ToolPages {
    /// Adds one page; returns what to ask for next, or `None` if that was the last page.
    ///
    /// # Errors
    /// Returns what is wrong with the list.
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

    /// All tools.
    pub(super) fn into_tools(self) -> Vec<Value> {
        self.tools
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_through_what_is_odd_about_it() {
        let message = r#"{"jsonrpc":"2.0","id":1,"result":{"a":"b"}}"#;
        let not_utf8 = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"caf\xe9\"}}".to_vec();
        for (line, odd) in [
            (message.to_owned().into_bytes(), None),
            (br#"{"jsonrpc":"2.0","id":1,"result":{"a":"\ud800"}}"#.to_vec(), None),
            (format!("\u{feff}{message}").into_bytes(), Some("a byte order mark before its answer")),
            (not_utf8, Some("bytes that are not UTF-8")),
            (
                format!("\u{1b}[2K[{{1/2}}] fetching\r{message}").into_bytes(),
                Some("other text before its answer on the same line"),
            ),
        ] {
            let (read, found) = read(&line).unwrap();
            assert_eq!((read["id"].as_u64(), found), (Some(1), odd), "{}", String::from_utf8_lossy(&line));
        }
        for line in
            ["", "ready", "[1]", "{}x", "{\"level\": \"info\"", "see {\"a\": 1}", &"{".repeat(1 << 20)]
        {
            assert!(read(line.as_bytes()).is_none(), "{}", &line[..line.len().min(40)]);
        }
    }
}
