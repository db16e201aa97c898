//! Sessions with a coding assistant: ids are paths, and tool output can be very long.

use super::prose::{TOPICS, long_text, moment, prose};
use super::records::{Object, Records, instant};
use super::rng::Rng;
use crate::vault::declaration::StreamSpec;

/// What the coding assistant's history declares.
pub const STREAMS: &[StreamSpec] = &[
    StreamSpec {
        name: "sessions",
        key: "id",
        time: Some("started_at"),
        fields: "id string! eq
            title text? role=primary-title eq lex
            project string? eq group distinct
            started_at timestamp! role=event-time eq range time min max
            message_count integer eq range sum max
            cost_usd number eq range sum min max
            model string? eq group",
        views: &[],
        relations: &[("messages", "messages", "session_id", true)],
    },
    StreamSpec {
        name: "messages",
        key: "id",
        time: Some("created_at"),
        fields: "id string! eq
            session_id string! eq group
            role string! role=actor eq group
            content text? role=body lex
            created_at timestamp! role=event-time eq range time min max
            token_count integer eq range sum min max",
        views: &[],
        relations: &[("tool_calls", "tool_calls", "message_id", true)],
    },
    StreamSpec {
        name: "tool_calls",
        key: "id",
        time: Some("created_at"),
        fields: "id string! eq
            session_id string! eq group
            message_id string! eq
            tool string! role=primary-title eq group distinct
            input object?
            output text? role=body lex
            exit_code integer? eq group
            created_at timestamp! role=event-time eq range time",
        views: &[],
        relations: &[],
    },
    StreamSpec {
        name: "artifacts",
        key: "id",
        time: None,
        fields: "id string! eq
            session_id string! eq group
            path string! role=primary-title eq lex
            language string? eq group
            content text? role=body lex",
        views: &[],
        relations: &[],
    },
];

const TOOLS: [&str; 5] = ["bash", "read_file", "edit", "search", "run_tests"];
const FILES: [&str; 8] = [
    "src/main.rs",
    "src/tiles/cache.rs",
    "docs/README.md",
    "notes/50% done.md",
    "web/index.html",
    "sql/01 init.sql",
    "données/été.csv",
    "a:b/c?d=e#f.txt",
];

/// The records of the coding assistant.
pub fn fill(rng: &mut Rng, records: &mut Records<'_>) {
    for session in 0..60_usize {
        let id = format!("s{session:02}");
        let start = moment(rng, session, 60);
        records.put(
            "sessions",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("title", TOPICS[session % TOPICS.len()])
                .text("project", if session % 3 == 0 { "~/kestrel/tiles" } else { "~/side/choir-site" })
                .text("started_at", &instant(start))
                .raw("message_count", 26)
                .raw(
                    "cost_usd",
                    if session == 0 { "1.10".to_owned() } else { format!("0.{:02}0", rng.below(100)) },
                )
                .text("model", if session % 2 == 0 { "large" } else { "small" }),
        );
        for nth in 0..26_usize {
            let message = format!("{id}-m{nth:02}");
            let at = start + i64::try_from(nth).unwrap_or(0) * 45;
            let sentences = 1 + rng.below(4);
            let content = prose(rng, usize::try_from(sentences).unwrap_or(1));
            records.put(
                "messages",
                message.clone(),
                Object::new()
                    .text("id", &message)
                    .text("session_id", &id)
                    .text("role", if nth % 2 == 0 { "user" } else { "assistant" })
                    .text("content", &content)
                    .text("created_at", &instant(at))
                    .raw("token_count", content.len() / 4),
            );
            if nth % 2 == 1 {
                tool_call(rng, records, session, nth, &id, &message, at);
            }
        }
        for file in FILES.iter().skip(session % 4).step_by(4) {
            let key = format!("{id}/{file}");
            let content = prose(rng, 6);
            records.put(
                "artifacts",
                key.clone(),
                Object::new()
                    .text("id", &key)
                    .text("session_id", &id)
                    .text("path", file)
                    .maybe("language", file.rsplit_once('.').map(|(_, extension)| extension))
                    .text("content", &content),
            );
        }
    }
}

fn tool_call(
    rng: &mut Rng,
    records: &mut Records<'_>,
    session: usize,
    nth: usize,
    id: &str,
    message: &str,
    at: i64,
) {
    let tool = rng.pick(&TOOLS);
    let key = format!("{message}#{tool}");
    let output = match (session, nth) {
        (12, 19) => long_text(rng, "NEEDLE-build-log"),
        (31, 5) => long_text(rng, "NEEDLE-日本語-log"),
        _ => prose(rng, 2),
    };
    let input = Object::new().text("path", rng.pick(&FILES)).finish();
    records.put(
        "tool_calls",
        key.clone(),
        Object::new()
            .text("id", &key)
            .text("session_id", id)
            .text("message_id", message)
            .text("tool", tool)
            .raw("input", if nth.is_multiple_of(3) { "null" } else { input.as_str() })
            .text("output", &output)
            .raw("exit_code", if tool == "bash" { (nth % 2).to_string() } else { "null".to_owned() })
            .text("created_at", &instant(at + 10)),
    );
}
