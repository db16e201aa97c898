//! Lines on stdin: each is a message, or is answered with a JSON-RPC error (R1.4, R1.7).
#![no_main]

use libfuzzer_sys::fuzz_target;
use pdpp::mcp::protocol::jsonrpc;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    for line in data.split(|byte| *byte == b'\n') {
        match jsonrpc::envelope(line) {
            Ok(_) => {}
            Err(rejected) => {
                let line = rejected.to_line();
                assert!(!line.contains(&b'\n'), "one line");
                let answer: Value = serde_json::from_slice(&line).expect("an answer is JSON");
                assert_eq!(answer["jsonrpc"], "2.0");
                assert!(answer["error"]["code"].is_i64(), "{answer}");
            }
        }
        if let Ok(params) = serde_json::from_slice::<Value>(line) {
            for method in ["initialize", "tools/call", "tools/list", "resources/read", "server/discover", "x"] {
                let _ = jsonrpc::client_request(method, Some(params.clone()));
            }
            let _ = jsonrpc::names_its_era(Some(&params));
        }
    }
});
