//! A server that cannot serve says so once, in the protocol and on stderr, and ends (R1.2, R1.3).

use rustix::process::Signal;
use serde_json::{Value, json};

use super::peer::{Peer, modern_meta};

#[test]
fn r1_2_the_first_request_of_any_kind_is_answered_with_the_guidance() {
    let client = json!({"name": "t", "version": "0"});
    for (method, params) in [
        ("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})),
        ("server/discover", json!({"_meta": modern_meta()})),
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
        // stdin stays open: the answer ends the process, not its input.
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
