//! A host's side of `pdpp mcp serve`: the real binary, JSON-RPC on its pipes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::compare::Answer;
use crate::support::env::TestEnv;

/// Longer than any limit of the binary; reached only when it hangs.
const PATIENCE: Duration = Duration::from_mins(1);

/// One running server.
pub struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
    /// `outputSchema.properties` by tool.
    outputs: Map<String, Value>,
}

impl Session {
    /// Starts `pdpp mcp serve` with these further arguments, and initializes it.
    pub fn start(env: &TestEnv, arguments: &[&str]) -> Self {
        let mut command = env.pdpp(&["mcp", "serve"]);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (line, lines) = channel();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut text = String::new();
            while stdout.read_line(&mut text).is_ok_and(|read| read > 0) {
                if line.send(std::mem::take(&mut text)).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take();
        let mut session = Self { child, stdin, lines, next_id: 0, outputs: Map::new() };
        session.request(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "replay", "version": "1"}}),
        );
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let tools = session.request("tools/list", &json!({}));
        for tool in tools["result"]["tools"].as_array().unwrap() {
            let properties = tool["outputSchema"]["properties"].clone();
            session.outputs.insert(tool["name"].as_str().unwrap().to_owned(), properties);
        }
        session
    }

    /// Calls a tool. Its structured answer must match the tool's output schema (R2.8).
    pub fn call(&mut self, tool: &str, arguments: &Map<String, Value>) -> Answer {
        let response = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &response["result"];
        let content = result["content"].as_array().unwrap_or_else(|| panic!("no result: {response}"));
        assert_eq!(content.len(), 1, "one text item: {response}");
        let answer = Answer {
            text: content[0]["text"].as_str().unwrap().to_owned(),
            structured: result["structuredContent"].clone(),
            is_error: result["isError"] == true,
        };
        for (key, value) in answer.structured.as_object().into_iter().flatten() {
            let kind = match value {
                Value::Object(_) => "object",
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Number(number) if number.is_u64() => "integer",
                _ => "another",
            };
            assert_eq!(self.outputs[tool][key]["type"], kind, "{tool}: the output schema of {key}");
        }
        answer
    }

    /// Reads a resource: its one item, or the JSON-RPC error as an error answer.
    pub fn read_resource(&mut self, uri: &str) -> Result<Value, Answer> {
        let response = self.request("resources/read", &json!({"uri": uri}));
        match response.get("error") {
            Some(error) => Err(Answer {
                text: error.to_string(),
                structured: json!({"error": error["data"]}),
                is_error: true,
            }),
            None => Ok(response["result"]["contents"][0].clone()),
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let Ok(line) = self.lines.recv_timeout(PATIENCE) else {
                let _ = self.child.kill();
                let mut stderr = String::new();
                let _ = self.child.stderr.take().unwrap().read_to_string(&mut stderr);
                panic!("no answer to {method} {params}\nstderr: {stderr}");
            };
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if message["id"] == id {
                return message;
            }
        }
    }

    fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        // A missing answer shows that the server went away; the failure includes its stderr.
        let _ = writeln!(stdin, "{message}");
        let _ = stdin.flush();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}
