//! Every way to end the process, and how soon it is gone (R1.8).

use std::time::Duration;

use serde_json::json;

use super::peer::{Ending, Peer, Signal};

/// R1.8's 1.5 s plus time for a busy machine. The compiler adds up the times that lead to them.
pub(super) const SOON: Duration = Duration::from_secs(5);
const FOR_EVER: u64 = 600_000;

/// The fastest of a few runs: the server's own time, without what a busy machine adds.
fn fastest(mut run: impl FnMut() -> Ending) -> Ending {
    let runs: Vec<_> = (0..5).map(|_| run()).collect();
    assert!(runs.iter().all(|ending| ending.code == Some(0)), "{runs:?}");
    runs.into_iter().min_by_key(|ending| ending.after).unwrap()
}

#[test]
fn r1_8_an_idle_server_ends_within_50_ms_of_its_input() {
    let idle = fastest(|| Peer::initialized().end());
    assert!(idle.after <= Duration::from_millis(50), "{idle:?}");
    let never_used = fastest(|| Peer::new().end());
    // This includes its start.
    assert!(never_used.after <= Duration::from_millis(200), "{never_used:?}");
    assert!(never_used.stderr.contains("EndOfInput"), "{never_used:?}");
}

#[test]
fn r1_8_calls_in_flight_are_answered_after_the_end_of_input() {
    let mut peer = Peer::initialized();
    peer.call(1, &json!({"delay_ms": 300}));
    peer.call(2, &json!({"delay_ms": 0}));
    let ending = peer.end();
    assert_eq!(ending.code, Some(0));
    let ids: Vec<_> = ending.answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [2, 1]);
    assert!(ending.answers.iter().all(|answer| answer["result"].is_object()), "{ending:?}");
}

#[test]
fn r1_8_calls_that_take_longer_are_aborted() {
    let mut peer = Peer::initialized();
    peer.call(1, &json!({"delay_ms": FOR_EVER}));
    let ending = peer.end();
    assert_eq!(ending.code, Some(0));
    assert!(ending.after >= Duration::from_millis(950) && ending.after < SOON, "{ending:?}");
    assert_eq!(ending.answers.len(), 1, "and told so");
    assert_eq!(ending.answers[0]["error"]["code"], -32000);
}

#[test]
fn r1_8_signals_end_an_idle_and_a_busy_server() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        for busy in [false, true] {
            let mut peer = Peer::initialized();
            if busy {
                peer.call(1, &json!({"delay_ms": FOR_EVER}));
                peer.is_quiet();
            }
            peer.kill(signal);
            let ending = peer.ending();
            assert_eq!(ending.code, Some(0), "{signal:?} {busy}: {ending:?}");
            assert!(ending.after < SOON, "{signal:?} {busy}: {ending:?}");
            assert!(ending.stderr.contains("Signal"), "{ending:?}");
        }
    }
}

#[test]
fn r1_8_not_even_a_call_that_blocks_everything_keeps_the_process() {
    let endings: [fn(&mut Peer); 2] = [Peer::close_input, |peer| peer.kill(Signal::TERM)];
    for end in endings {
        let mut peer = Peer::initialized();
        peer.call(1, &json!({"block": true, "delay_ms": 20_000}));
        peer.stderr_has("blocking");
        end(&mut peer);
        let ending = peer.ending();
        assert!(ending.after < SOON, "{ending:?}");
    }
}

/// On Windows only the failed write shows it.
#[cfg(unix)]
#[test]
fn r1_8_a_closed_stdout_ends_the_server_without_a_word_being_written() {
    let mut peer = Peer::unread();
    peer.close_output();
    let ending = peer.ending();
    assert_eq!(ending.code, Some(0), "{ending:?}");
    assert!(ending.after < SOON, "{ending:?}");
    assert!(ending.stderr.contains("OutputClosed"), "{ending:?}");
}

#[cfg(unix)]
#[test]
fn r1_8_a_vanished_parent_ends_the_server() {
    let mut peer = Peer::below_a_shell();
    peer.initialize("2025-11-25");
    peer.call(1, &json!({"delay_ms": FOR_EVER}));
    peer.is_quiet();
    peer.kill(Signal::KILL);
    // stdin is still open in this process: only the missing parent shows it.
    let gone = peer.everything_is_gone();
    assert!(gone < SOON, "{gone:?}");
    peer.stderr_has("ParentGone");
}
