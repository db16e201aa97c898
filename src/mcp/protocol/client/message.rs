//! The messages that a client sends, and what it reads of an answer.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::json as lenient;

/// The newest version that begins with `initialize`.
pub(super) const NEWEST_LEGACY: &str = "2025-11-25";

/// Most pages of a list of tools that are read.
const MAX_PAGES: usize = 100;

/// Places in a line where a message may begin, behind other text.
const MAX_BEGINNINGS: usize = 16;

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

/// A line as a message, and what is odd about it: a host may well not read that line. `None` for what is no message: a
/// program's log, which is common enough to be read past.
pub(super) fn read(line: &[u8]) -> Option<(Map<String, Value>, Option<&'static str>)> {
    let parsed = |line: &[u8]| match lenient::parse(line) {
        Ok(Value::Object(message)) => Some(message),
        _ => None,
    };
    if let Some(message) = parsed(line) {
        let is_marked = line.starts_with(lenient::BYTE_ORDER_MARK);
        return Some((message, is_marked.then_some("a byte order mark before its answer")));
    }
    // Only what can hold an answer is looked at again.
    let text = String::from_utf8_lossy(line);
    let begins =
        text.match_indices('{').take(MAX_BEGINNINGS).filter(|(at, _)| text[*at..].contains("\"jsonrpc\""));
    let (at, message) = begins.map(|(at, _)| at).find_map(|at| Some((at, parsed(text[at..].as_bytes())?)))?;
    message.contains_key("jsonrpc").then_some(())?;
    let odd =
        if at > 0 { "other text before its answer on the same line" } else { "bytes that are not UTF-8" };
    Some((message, Some(odd)))
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
