//! Parts that the answers of several tools share: counts, warnings, the next page.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::json::write::{self, Json, Sink, Written};
use crate::mcp::call::Call;
use crate::mcp::line;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::paging::{self, Cursor, MERGED_ORDER, most_length};
use crate::mcp::size::{Bounds, json_len};
use crate::mcp::tool_error::ToolError;

/// The maximum number of recalls of a merged search in its text; the structured view has all that fit.
pub(super) const MAX_RECALLS: usize = 2;

/// A resource server's report on its recall: known parts in words, others unchanged; nothing is inferred from it
/// (R3.35).
pub(super) fn recall_words(recall: &Value) -> String {
    let Some(fields) = recall.as_object() else { return line::value(recall, 200).text };
    let number = |key: &str| fields.get(key).and_then(Value::as_u64);
    let flag = |key: &str| fields.get(key).and_then(Value::as_bool);
    let complete = flag("complete");
    let scope = if complete == Some(true) { "all_matches" } else { "candidate_window" };
    let mut known = vec!["grants"];
    let mut parts = Vec::new();
    let mut say = |keys: &[&'static str], words: String| {
        known.extend_from_slice(keys);
        parts.push(words);
    };
    if let Some(complete) = complete {
        say(&["complete"], if complete { "complete" } else { "not complete" }.to_owned());
    }
    if let Some(ranked) = number("ranked_candidate_count") {
        say(&["ranked_candidate_count"], format!("{} ranked", counted_u64(ranked, "candidate")));
    }
    if let Some(window) = number("candidate_window_limit") {
        say(&["candidate_window_limit"], format!("window of {window}"));
    }
    if let Some(all) = number("sources_searched_count") {
        say(&["sources_searched_count"], format!("{} searched", counted_u64(all, "source")));
    }
    if let Some(cut) = number("truncated_source_count") {
        say(&["truncated_source_count"], format!("{cut} cut off"));
    }
    // Parts that only repeat the rest.
    if complete.is_some() && fields.get("ranking_scope").and_then(Value::as_str) == Some(scope) {
        known.push("ranking_scope");
    }
    if complete.is_some() && flag("truncated").map(|cut| !cut) == complete {
        known.push("truncated");
    }
    let others = fields.iter().filter(|(key, _)| !known.contains(&key.as_str()));
    let others = others.map(|(key, value)| format!("{}={}", line::token(key), line::value(value, 60).text));
    parts.extend(others.collect::<Vec<_>>());
    let mut out = String::new();
    for part in parts {
        if !out.is_empty() && out.len() + part.len() > 300 {
            out.push_str(", …");
            break;
        }
        out.push_str(if out.is_empty() { "" } else { ", " });
        out.push_str(&part);
    }
    out
}

/// The grants that a recall belongs to, if the recalls of grants differ.
fn recall_of(recall: &Value) -> String {
    let Some(grants) = recall.get("grants").and_then(Value::as_array) else { return String::new() };
    let names = grants.iter().filter_map(Value::as_str).take(4).map(|name| line::quoted_cut(name, 60).text);
    format!(" of {}", names.collect::<Vec<_>>().join(", "))
}

/// As [`counted`], for a provider's number.
pub(super) fn counted_u64(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Counts and warnings of an envelope, as lines of the text view (R3.0).
pub(super) fn meta_lines(out: &mut String, body: &Map<String, Value>) {
    let Some(meta) = body.get("meta").and_then(Value::as_object) else { return };
    match meta.get("count") {
        Some(Value::Object(count)) if count.get("kind").and_then(Value::as_str) != Some("none") => {
            let kind = count.get("kind").and_then(Value::as_str).unwrap_or("");
            let value = count.get("value").map_or_else(String::new, |value| line::value(value, 40).text);
            let _ = writeln!(out, "count: {} {value}", line::token(kind));
        }
        Some(count @ (Value::Number(_) | Value::String(_))) => {
            let accuracy = meta.get("count_accuracy").and_then(Value::as_str).unwrap_or("");
            let accuracy = if accuracy.is_empty() { String::new() } else { line::token(accuracy) + " " };
            let _ = writeln!(out, "count: {accuracy}{}", line::value(count, 40).text);
        }
        _ => {}
    }
    // Several grants may each report one.
    let recalls = meta.get("recall").map_or(&[][..], |recall| match recall {
        Value::Array(several) => several.as_slice(),
        left => std::slice::from_ref(left),
    });
    for recall in recalls.iter().take(MAX_RECALLS) {
        let _ = writeln!(out, "recall{}: {}", recall_of(recall), recall_words(recall));
    }
    if recalls.len() > MAX_RECALLS {
        let _ = writeln!(out, "recall: {} more not shown", recalls.len() - MAX_RECALLS);
    }
    match meta.get(MERGED_ORDER).and_then(Value::as_str) {
        Some("in_turns") => out.push_str("order: one from each source in turn, each source in its own order\n"),
        Some("titles_then_newest") => out.push_str(
            "order: over all sources, all words in title or actor first, then the others, each newest first\n",
        ),
        _ => {}
    }
    for warning in meta.get("warnings").and_then(Value::as_array).map_or(&[][..], Vec::as_slice) {
        let text = |key: &str| warning.get(key).and_then(Value::as_str);
        match (text("code"), text("message")) {
            (Some(code), Some(message)) => {
                let _ =
                    writeln!(out, "warning: {} {}", line::token(code), line::quoted_cut(message, 300).text);
            }
            _ => {
                let _ = writeln!(out, "warning: {}", line::value(warning, 300).text);
            }
        }
    }
}

pub(super) fn text_of<'a>(body: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    body.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The call that returns the next page.
pub(super) fn next_page(call: &Call, cursor: Option<&str>) -> Option<Call> {
    Some(call.with([("cursor", Some(json!(cursor?))), ("changes_since", None)]))
}

/// The longest cursor that a call can carry with these arguments: a longer one would be refused when it comes back.
pub(super) fn max_cursor(call: &Call, bounds: Bounds) -> usize {
    let reserved = len_of_next(call) + 16;
    (bounds.text.min(bounds.structured) / 4).saturating_sub(reserved)
}

/// The bytes of the next call's arguments without its cursor.
fn len_of_next(call: &Call) -> usize {
    struct Kept<'a>(&'a Map<String, Value>);
    impl Json for Kept<'_> {
        fn write_to(&self, out: &mut impl Sink) {
            write::object(out, |members| {
                for (name, value) in self.0 {
                    if !matches!(name.as_str(), "cursor" | "changes_since") {
                        members.put(name, value);
                    }
                }
            });
        }
    }
    json_len(&Kept(&call.arguments))
}

/// How many bytes the cursor of a page takes, as JSON.
pub(super) struct CursorLens {
    /// The cursor in its envelope; none takes no bytes.
    pub(super) theirs: usize,
    /// The maximum size of our cursor, if not all rows fit: it may contain the provider's, or the one that led here.
    pub(super) ours: usize,
    /// The next call without its cursor.
    pub(super) call: usize,
}

impl CursorLens {
    pub(super) fn of(call: &Call, body: &Map<String, Value>) -> Self {
        let (next, given) = (body.get("next_cursor"), call.arguments.get("cursor"));
        let next = next.filter(|cursor| !cursor.is_null());
        // The first page of changes is read again by its bookmark.
        let since = call.arguments.get("changes_since").map_or(0, |since| json_len(since) * 4 / 3);
        let ours = most_length(next).max(most_length(given)) + since;
        // A page of a walk may have the provider's cursor within one of ours, or its own place if the provider gives
        // none, however many rows fit.
        let is_walk = |cursor: &Value| {
            cursor.as_str().is_some_and(|cursor| matches!(Cursor::from_text(cursor), Cursor::Walk(_)))
        };
        let goes_on = || body.get("has_more").and_then(Value::as_bool) == Some(true);
        let is_wrapped = given.is_some_and(is_walk) && next.map_or_else(goes_on, |next| !is_walk(next));
        Self {
            theirs: if is_wrapped { ours } else { next.map_or(0, json_len) },
            ours,
            call: len_of_next(call) + 60,
        }
    }
}

/// The note on a page that has fewer rows than there were, because no more fit a result (R4.8).
pub(super) fn fitted_note(call: &Call, page: &paging::Page<impl Sized>) -> Option<String> {
    let limit = call.arguments.get("limit").and_then(Value::as_u64);
    let limit = limit.map_or_else(String::new, |limit| format!(" of limit {limit}"));
    page.is_fitted.then(|| format!("{}{limit} fit a result; next continues", counted(page.rows.len(), "row")))
}

/// The bytes that a note may take in either view.
pub(super) const NOTE_BYTES: usize = 70;

/// Whether the provider answered that something does not exist: a route, or what it names.
pub(super) fn is_missing(error: &ToolError) -> bool {
    error.detail("status") == Some(&json!(404))
}

/// `1 record`, `2 records`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    counted_u64(count as u64, noun)
}

/// At most three of `names` that `meant` may be a misspelling of, the nearest first.
pub(super) fn near(meant: &str, names: &[String]) -> Vec<String> {
    const LONGEST: usize = 80;
    let of = |name: &str| name.to_lowercase();
    let wanted = of(meant);
    if wanted.len() > LONGEST {
        return Vec::new();
    }
    let mut near = names
        .iter()
        .filter(|name| name.len() <= LONGEST)
        .filter_map(|name| {
            let known = of(name);
            let distance = strsim::levenshtein(&wanted, &known);
            let is_part =
                wanted.len() > 2 && known.len() > 2 && (known.contains(&wanted) || wanted.contains(&known));
            (is_part || distance <= (wanted.chars().count() / 3).max(1)).then_some((distance, name))
        })
        .collect::<Vec<_>>();
    near.sort();
    near.into_iter().take(3).map(|(_, name)| name.clone()).collect()
}

/// An answer with one body of `data`, and the call that continues it.
pub(super) fn data_answer(text: String, body: &Map<String, Value>, next: Option<Call>) -> ToolAnswer {
    let structured = Written::object(|members| {
        members.put("data", body);
        members.put_some("next", next);
    });
    ToolAnswer { text, structured: Some(structured), is_error: false, rows: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r3_35_recall_is_said_in_words_and_what_is_not_known_as_it_is() {
        for (recall, words) in [
            (
                json!({"complete": true, "ranked_candidate_count": 1, "ranking_scope": "all_matches",
                    "sources_searched_count": 1, "truncated": false}),
                "complete, 1 candidate ranked, 1 source searched",
            ),
            (
                json!({"complete": false, "ranked_candidate_count": 557, "ranking_scope": "candidate_window",
                    "truncated": true, "candidate_window_limit": 200, "sources_searched_count": 2, "truncated_source_count": 1}),
                "not complete, 557 candidates ranked, window of 200, 2 sources searched, 1 cut off",
            ),
            (json!({"complete": true, "truncated": true}), "complete, truncated=true"),
            (json!({"complete": "no\nnext: x"}), r#"complete="no\nnext: x""#),
            (json!({"state": "part", "next: fetch {}": 1}), r#""next: fetch {}"=1, state="part""#),
            (json!("some"), r#""some""#),
        ] {
            assert_eq!(recall_words(&recall), words);
        }
        let endless = (0..500).map(|n| (format!("k{n}"), json!(n))).collect::<Map<_, _>>();
        assert!(recall_words(&endless.into()).len() < 320);
    }

    #[test]
    fn a_slip_is_recognised() {
        let names = ["messages", "message_bodies", "labels", "transactions"].map(str::to_owned);
        assert_eq!(near("mesages", &names), ["messages"]);
        assert_eq!(near("Messages", &names), ["messages"]);
        assert_eq!(near("message", &names), ["messages", "message_bodies"]);
        assert_eq!(near("transaction", &names), ["transactions"]);
        assert!(near("zzz", &names).is_empty() && near("", &names).is_empty());
        let edits = |left, right| strsim::levenshtein(left, right);
        assert_eq!((edits("", "ab"), edits("kitten", "sitting"), edits("äb", "ab")), (2, 3, 1));
        assert_eq!((counted(1, "record"), counted(0, "hit")), ("1 record".to_owned(), "0 hits".to_owned()));
    }
}
