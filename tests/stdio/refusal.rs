//! A server that cannot serve reports it once, in the protocol and on stderr, and ends (R1.2, R1.3).

use serde_json::{Value, json};

use super::peer::{Peer, Signal, modern_meta};

#[test]
fn r1_2_the_first_request_of_any_kind_is_answered_with_the_guidance() {
    let client = json!({"name": "t", "version": "0"});
    for (method, params) in [
        ("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})),
        ("tools/list", json!({"_meta": modern_meta()})),
        ("ping", json!({})),
        ("tools/call", Value::Null),
        ("no/such", json!({})),
    ] {
        let mut peer = Peer::refusing();
        peer.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        peer.line("xxx");
        assert_eq!(peer.answer()["error"]["code"], -32700);
        peer.request(7, method, &params);
        // stdin stays open: the answer ends the process, not the end of its input.
        let ending = peer.ending();
        assert_eq!(ending.code, Some(78), "{method}: {ending:?}");
        assert!(ending.stderr.contains("next: pdpp connect <provider-url>"), "{ending:?}");
        let [answer] = &ending.answers[..] else { panic!("{method}: {ending:?}") };
        assert_eq!(answer["id"], 7);
        assert_eq!(answer["error"]["code"], -32000);
        let message = answer["error"]["message"].as_str().unwrap();
        assert_eq!(message, "No provider is connected. Next: pdpp connect <provider-url>");
        let data = json!({"code": "not_connected", "next": "pdpp connect <provider-url>", "exit_code": 78});
        assert_eq!(answer["error"]["data"], data);
    }
}

/// Claude Code probes with it before `initialize`, and shows no reason if the server ends at the probe.
#[test]
fn r1_2_a_probe_is_answered_with_the_guidance_and_the_next_request_ends_it() {
    let mut peer = Peer::refusing();
    peer.request(1, "server/discover", &json!({"_meta": modern_meta()}));
    let probed = peer.answer();
    assert_eq!((&probed["id"], &probed["error"]["code"]), (&json!(1), &json!(-32601)));
    let message = "No provider is connected. Next: pdpp connect <provider-url>";
    assert_eq!(probed["error"]["message"], message);
    let client = json!({"name": "t", "version": "0"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    peer.request(2, "initialize", &params);
    let ending = peer.ending();
    assert_eq!(ending.code, Some(78), "{ending:?}");
    assert_eq!(ending.answers[0]["error"]["message"], message);
    assert_eq!((&ending.answers[0]["id"], &ending.answers[0]["error"]["code"]), (&json!(2), &json!(-32000)));

    // A second probe is a request like any other, and a client that goes away ends it too.
    let mut peer = Peer::refusing();
    peer.request(1, "server/discover", &json!({}));
    peer.request(2, "server/discover", &json!({}));
    assert_eq!(peer.ending().code, Some(78));
    let mut peer = Peer::refusing();
    peer.request(1, "server/discover", &json!({}));
    assert_eq!(peer.end().code, Some(78));
}

#[test]
fn r1_2_without_a_request_the_exit_code_is_the_same() {
    let ending = Peer::refusing().end();
    assert_eq!((ending.code, ending.answers.len()), (Some(78), 0), "{ending:?}");
    let peer = Peer::refusing();
    peer.stderr_has("not_connected");
    peer.kill(Signal::TERM);
    let ending = peer.ending();
    assert!(ending.code == Some(78) || ending.code.is_none(), "before or after the handler: {ending:?}");
}
