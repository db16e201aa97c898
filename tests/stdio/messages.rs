//! Every readable message is answered as JSON-RPC and its protocol version require, and none ends the process (R1.4,
//! R1.7).

use serde_json::{Value, json};

use super::peer::{MODERN_META, Peer, modern_meta};

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}

#[test]
fn r1_7_what_is_no_message_is_answered_and_the_server_goes_on() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":"schema","arguments":{{"a":{}{}}}}}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let rows: &[(&[u8], i64, &str)] = &[
        (b"{not json", -32700, "null"),
        (br#"{"jsonrpc":"2.0","id":5,"method":"ping""#, -32700, "null"),
        (b"\0\0", -32700, "null"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"x\",\"params\":{\"a\":\"\xff\xfe\"}}", -32700, "5"),
        (br#"{"jsonrpc":"2.0","id":5,"method":"x","params":{"a":"\ud800"}}"#, -32601, "5"),
        (deep.as_bytes(), -32700, "5"),
        (br#"[{"jsonrpc":"2.0","id":5,"method":"ping"}]"#, -32600, "null"),
        (b"[]", -32600, "null"),
        (b"42", -32600, "null"),
        (br#"{"id":5,"method":"ping"}"#, -32600, "5"),
        (br#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, -32600, "5"),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, "null"),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, "1.5"),
        (br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, "null"),
        (br#"{"jsonrpc":"2.0","id":5,"method":"no/such","params":{}}"#, -32601, "5"),
        (br#"{"jsonrpc":"2.0","id":5,"method":"prompts/list"}"#, -32601, "5"),
        (br#"{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"info"}}"#, -32601, "5"),
        (br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":null}"#, -32602, "5"),
        (br#"{"jsonrpc":"2.0","id":5,"method":"tools/call"}"#, -32602, "5"),
        (br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"arguments":{}}}"#, -32602, "5"),
        (
            br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"schema","arguments":[]}}"#,
            -32602,
            "5",
        ),
        (br#"{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"other://x"}}"#, -32602, "5"),
        (br#"{"jsonrpc":"2.0","id":5,"method":"resources/read"}"#, -32602, "5"),
        (br#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":"made-up"}}"#, -32602, "5"),
        (
            br#"{"jsonrpc":"2.0","id":5,"method":"resources/templates/list","params":{"cursor":"x"}}"#,
            -32602,
            "5",
        ),
    ];
    let mut peer = Peer::initialized();
    for (line, expected, id) in rows {
        let shown = String::from_utf8_lossy(line);
        peer.raw(line);
        peer.raw(b"\n");
        let answer = peer.answer();
        assert_eq!(code(&answer), *expected, "{shown}: {answer}");
        assert_eq!(answer["id"].to_string(), *id, "{shown}: {answer}");
        peer.is_quiet();
    }
    assert_eq!(peer.end().code, Some(0));
}

#[test]
fn r1_7_what_wants_no_answer_gets_none() {
    let mut peer = Peer::initialized();
    for line in [
        "",
        "   \t ",
        r#"{"jsonrpc":"2.0","method":"notifications/nope"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}"#,
    ] {
        peer.line(line);
        peer.is_quiet();
    }
    peer.raw(b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\r\n");
    assert_eq!(peer.answer(), json!({"jsonrpc": "2.0", "id": 5, "result": {}}));
}

#[test]
fn r1_7_no_message_before_initialize_ends_the_process() {
    let mut peer = Peer::new();
    peer.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    peer.is_quiet();
    for (method, params, expected) in [
        ("tools/list", json!({}), -32602),
        ("tools/call", json!({"name": "schema"}), -32602),
        ("initialize", Value::Null, -32602),
        ("initialize", json!({"protocolVersion": 1}), -32602),
        ("server/discover", Value::Null, -32602),
        ("no/such", json!({}), -32601),
    ] {
        peer.request(1, method, &params);
        assert_eq!(code(&peer.answer()), expected, "{method}");
    }
    peer.line("xxx");
    assert_eq!(code(&peer.answer()), -32700);
    peer.cancel(1);
    assert_eq!(peer.initialize("2025-06-18")["result"]["protocolVersion"], "2025-06-18");
    peer.call(2, &json!({}));
    assert_eq!(peer.answer()["id"], 2);
    assert_eq!(
        peer.initialize("2024-11-05")["result"]["protocolVersion"],
        "2024-11-05",
        "again is answered too"
    );
    assert_eq!(peer.end().code, Some(0));
}

#[test]
fn r1_7_every_era_is_answered() {
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let mut peer = Peer::new();
        let answer = peer.initialize(asked);
        assert_eq!(answer["result"]["protocolVersion"], agreed, "{asked}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "pdpp");
        assert_eq!(answer["result"]["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(answer["result"]["instructions"], pdpp::mcp::tools::surface::INSTRUCTIONS);
        assert_eq!(answer["result"]["capabilities"], json!({"tools": {}, "resources": {}}));
        peer.call(1, &json!({}));
        // The shape belongs to the agreed version, not to the requested one.
        assert_eq!(peer.answer()["result"].get("resultType"), None, "{asked}");
    }
}

#[test]
fn r1_7_the_era_without_initialize_is_answered_discovered_or_not() {
    let mut peer = Peer::new();
    peer.request(1, "tools/list", &json!({"_meta": modern_meta()}));
    let listed = peer.answer();
    assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 6);
    peer.request(2, "server/discover", &json!({"_meta": modern_meta()}));
    let found = peer.answer();
    assert!(
        found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{found}"
    );
    assert_eq!(found["result"]["instructions"], pdpp::mcp::tools::surface::INSTRUCTIONS);
    peer.request(3, "resources/read", &json!({"uri": "pdpp://gone", "_meta": modern_meta()}));
    assert_eq!(code(&peer.answer()), -32602);
    let mut unknown = modern_meta();
    unknown["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    peer.request(4, "tools/list", &json!({"_meta": unknown}));
    assert_eq!(peer.answer()["error"]["data"]["requested"], "2099-01-01");
    // One process supports both lifecycles.
    peer.initialize("2025-11-25");
    peer.request(5, "resources/read", &json!({"uri": "pdpp://gone"}));
    assert_eq!(code(&peer.answer()), -32002);
}

#[test]
fn r2_9_the_tools_are_the_same_bytes_in_every_era_and_call() {
    let mut seen = Vec::new();
    for version in ["2024-11-05", "2025-11-25"] {
        let mut peer = Peer::new();
        peer.initialize(version);
        for _ in 0..2 {
            peer.line(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
            seen.push(peer.answer_line());
        }
    }
    let mut peer = Peer::new();
    peer.line(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{}}}}}"#,
        MODERN_META.replace('\n', "")
    ));
    seen.push(peer.answer_line());
    let tools = serde_json::to_string(&*pdpp::mcp::tools::surface::tools()).unwrap();
    for line in seen {
        assert!(line.contains(&format!("\"tools\":{tools}")), "{line}");
    }
}

#[test]
fn r2_1_an_unknown_tool_is_refused_by_naming_the_six() {
    let mut peer = Peer::initialized();
    peer.request(1, "tools/call", &json!({"name": "list_streams"}));
    let answer = peer.answer();
    assert_eq!(code(&answer), -32602);
    let message = answer["error"]["message"].as_str().unwrap();
    for tool in ["schema", "query_records", "aggregate", "search", "fetch", "read_record_field"] {
        assert!(message.contains(tool), "{message}");
    }
}

#[test]
fn ids_arguments_and_answers_keep_every_digit() {
    let mut peer = Peer::initialized();
    let numbers = r#"{"big":12345678901234567890123,"deep":[{"f":1.10}],"small":1.50,"zero":-0.0}"#;
    for id in [
        "0",
        "-3",
        "9007199254740993",
        "9223372036854775808",
        "12345678901234567890123",
        r#""1""#,
        r#""a\n""#,
    ] {
        peer.line(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"fetch","arguments":{numbers},"_meta":{{"progressToken":1.10,"x":12345678901234567890123,"z":-0.0}}}}}}"#
        ));
        let line = peer.answer_line();
        assert!(line.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)), "{line}");
        assert!(line.contains(&format!(r#""structuredContent":{numbers}"#)), "{line}");
    }
}

#[test]
fn an_answer_has_its_text_once_and_is_an_error_only_when_it_is_one() {
    let mut peer = Peer::initialized();
    peer.call(1, &json!({"pad": 3}));
    let content = json!([{"type": "text", "text": "xxx"}]);
    assert_eq!(peer.answer()["result"], json!({"content": content, "structuredContent": {"pad": 3}}));
    peer.call(2, &json!({"pad": 3, "is_error": 1}));
    assert_eq!(peer.answer()["result"]["isError"], true);
    peer.line(
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"schema","arguments":null}}"#,
    );
    assert_eq!(peer.answer()["result"]["structuredContent"], json!({}), "no arguments are none");
}

#[test]
fn resources_are_read_or_refused_with_a_code() {
    let mut peer = Peer::initialized();
    for (method, key) in [("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")]
    {
        peer.request(1, method, &json!({}));
        assert!(peer.answer()["result"][key].is_array(), "{method}");
    }
    let mut read = |uri: &str| {
        peer.request(1, "resources/read", &json!({"uri": uri}));
        peer.answer()
    };
    let text = json!([{"uri": "pdpp://text", "mimeType": "text/plain", "text": "a\u{1b}\u{2028}"}]);
    assert_eq!(read("pdpp://text")["result"]["contents"], text);
    assert_eq!(read("pdpp://blob")["result"]["contents"], json!([{"uri": "pdpp://blob", "blob": "AP8H"}]));
    assert_eq!(code(&read("pdpp://gone")), -32002);
    assert_eq!(code(&read("http://x")), -32602);
    let failed = read("pdpp://down");
    assert_eq!((code(&failed), &failed["error"]["data"]["code"]), (-32603, &json!("provider_unavailable")));
}

#[test]
fn lines_are_bounded() {
    let mut peer = Peer::initialized();
    let long = "a".repeat(10 << 20);
    peer.call(5, &json!({ "a": long }));
    let answer = peer.answer();
    assert_eq!((code(&answer), &answer["id"]), (-32600, &Value::Null));
    peer.is_quiet();
    for _ in 0..6 {
        peer.raw(long.as_bytes());
    }
    peer.raw(b"\n");
    assert_eq!(code(&peer.answer()), -32600);
    peer.call(6, &json!({"a": "b".repeat(3 << 20), "pad": 1}));
    assert_eq!(peer.answer()["id"], 6, "what is within the bound is served");
    for _ in 0..6 {
        peer.raw(long.as_bytes());
    }
    if let Some(peak) = peer.peak_memory() {
        assert!(peak < 64 << 10, "{peak} kB");
    }
    assert_eq!(peer.end().code, Some(0), "a line without its end is no message");
}
