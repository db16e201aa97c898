//! Many calls at once: each is answered once, cancelled ones are not answered, and memory is bounded.

use std::collections::HashSet;
use std::io::Read as _;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::json;

use super::ends::SOON;
use super::peer::{Peer, Signal};

/// Longer than any test waits: a call that only ends from outside.
const FOR_EVER: u64 = 600_000;

#[test]
fn two_hundred_calls_run_at_once() {
    let mut peer = Peer::initialized();
    let started = Instant::now();
    for id in 0..200 {
        peer.call(id, &json!({"delay_ms": 200}));
    }
    let answered: HashSet<_> = (0..200).map(|_| peer.answer()["id"].as_u64().unwrap()).collect();
    assert_eq!(answered.len(), 200);
    // One after the other they would take 40 s.
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    peer.is_quiet();
}

#[test]
fn five_thousand_pipelined_calls_are_each_answered_once() {
    let mut peer = Peer::initialized();
    let mut bytes = Vec::new();
    for id in 0..5000 {
        let params = json!({"name": "query_records", "arguments": {"limit": 5}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        bytes.extend_from_slice(format!("{call}\n").as_bytes());
    }
    peer.raw(&bytes);
    let answered: HashSet<_> = (0..5000).map(|_| peer.answer()["id"].as_u64().unwrap()).collect();
    assert_eq!(answered.len(), 5000);
    peer.is_quiet();
}

#[test]
fn an_id_in_use_is_answered_once() {
    let mut peer = Peer::initialized();
    peer.call(1, &json!({"delay_ms": 300, "n": 1}));
    peer.call(1, &json!({"n": 2}));
    peer.call("1", &json!({"n": 3}));
    assert_eq!(peer.answer()["id"], "1", "a string is another id than a number");
    assert_eq!(peer.answer()["result"]["structuredContent"]["n"], 1);
    peer.is_quiet();
}

#[test]
fn a_cancelled_call_is_not_answered_and_its_id_is_free_again() {
    let mut peer = Peer::initialized();
    for round in 0..20 {
        // Half of them are finished at about the time of the cancellation.
        peer.call(7, &json!({"delay_ms": if round % 2 == 0 { FOR_EVER } else { 0 }, "n": "old"}));
        peer.cancel(7);
        peer.call(7, &json!({"n": "new"}));
        let mut answer = peer.answer();
        if answer["result"]["structuredContent"]["n"] == "old" {
            answer = peer.answer();
        }
        assert_eq!(answer["result"]["structuredContent"]["n"], "new", "{answer}");
        peer.is_quiet();
    }
    let ending = peer.end();
    assert_eq!((ending.code, ending.answers), (Some(0), vec![]));
    assert!(ending.after < Duration::from_millis(900), "nothing was left in flight: {:?}", ending.after);
}

#[test]
fn cancelling_reaches_calls_beyond_the_limit() {
    let mut peer = Peer::initialized();
    for id in 0..300 {
        peer.call(id, &json!({"delay_ms": FOR_EVER}));
    }
    // The 300th waits for a place, the first one has one.
    peer.cancel(299);
    for id in 0..256 {
        peer.cancel(id);
    }
    peer.call(1000, &json!({}));
    assert_eq!(peer.answer()["id"], 1000);
    let ending = peer.end();
    let aborted: HashSet<_> = ending.answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!(aborted, (256..299).collect(), "each of the others is told that it was aborted");
}

/// A provider that accepts a request and never answers; returns the time from `then` to the end of its connection.
fn hanging_upstream(peer: &mut Peer, then: impl FnOnce(&mut Peer)) -> Duration {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    peer.call(7, &json!({"upstream": format!("http://{}/", listener.local_addr().unwrap())}));
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut request = [0; 18];
    stream.read_exact(&mut request).unwrap();
    let started = Instant::now();
    then(peer);
    assert_eq!(stream.read(&mut request).unwrap_or(0), 0);
    started.elapsed()
}

#[test]
fn r1_8_cancelling_drops_the_upstream_request() {
    let mut peer = Peer::initialized();
    let dropped = hanging_upstream(&mut peer, |peer| peer.cancel(7));
    assert!(dropped < Duration::from_secs(1), "{dropped:?}");
    peer.is_quiet();
}

#[test]
fn r1_8_every_ending_drops_the_upstream_request() {
    let endings: [fn(&mut Peer); 2] = [Peer::close_input, |peer| peer.kill(Signal::TERM)];
    for end in endings {
        let mut peer = Peer::initialized();
        let dropped = hanging_upstream(&mut peer, end);
        assert!(dropped < SOON, "{dropped:?}");
    }
}

#[test]
fn r1_4_a_panic_is_answered_and_keeps_its_data_to_itself() {
    let mut peer = Peer::initialized();
    peer.call(1, &json!({"panic": "the secret"}));
    let answer = peer.answer();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32603)));
    peer.is_quiet();
    let stderr = peer.stderr_has("internal error");
    assert!(!stderr.contains("secret") && !answer.to_string().contains("secret"), "{stderr}");
    assert!(stderr.contains("scripted.rs"), "where it happened is told: {stderr}");
}

#[cfg(unix)]
fn calls(count: u32, pad: u32) -> Vec<u8> {
    let params = json!({"name": "query_records", "arguments": {"pad": pad}});
    let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    (0..count).flat_map(|id| format!("{}\n", call(id)).into_bytes()).collect()
}

#[cfg(unix)]
fn unread_peer() -> Peer {
    let mut peer = Peer::unread();
    peer.request("init", "initialize", &json!({"protocolVersion": "2025-11-25"}));
    // Reading here shows that the server has started.
    assert_eq!(peer.only_answer()["id"], "init");
    peer
}

#[cfg(unix)]
#[test]
fn a_client_that_reads_nothing_costs_bounded_memory_and_gets_everything_later() {
    let mut peer = unread_peer();
    // 200 MB of answers, if they were all made at once.
    let calls = calls(20_000, 10_000);
    let taken = peer.flood(&calls);
    assert!(taken < calls.len(), "reading stops");
    if let Some(peak) = peer.peak_memory() {
        assert!(peak < 64 << 10, "{peak} kB");
    }
    peer.read();
    // The last line may be incomplete.
    let rest = calls[taken..].iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    peer.raw(&calls[taken..taken + rest]);
    let sent = calls[..taken + rest].split(|byte| *byte == b'\n').count() - 1;
    let answered: HashSet<_> = (0..sent).map(|_| peer.answer()["id"].as_u64().unwrap()).collect();
    assert_eq!(answered.len(), sent);
    peer.is_quiet();
}

#[cfg(unix)]
#[test]
fn r1_8_a_client_that_reads_nothing_keeps_no_process() {
    let endings: [fn(&mut Peer); 3] = [Peer::close_input, Peer::close_output, |peer| peer.kill(Signal::TERM)];
    for count in [60, 20_000] {
        let calls = calls(count, 10_000);
        for (nth, end) in endings.into_iter().enumerate() {
            let mut peer = unread_peer();
            peer.flood(&calls);
            end(&mut peer);
            let ending = peer.ending();
            assert!(ending.after < SOON, "{count} {nth}: {ending:?}");
            assert_eq!(ending.code, Some(0), "{count} {nth}: {ending:?}");
        }
    }
}
