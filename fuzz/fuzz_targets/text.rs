//! The text renderer: whatever a provider sends stays on its line and in its quotes (R4.9), and marks are balanced or removed
//! (R3.34).
#![no_main]

use libfuzzer_sys::fuzz_target;
use pdpp::mcp::line;
use pdpp::mcp::render::marks;
use pdpp::mcp::size::prefix_on_wire;
use pdpp::text;
use serde_json::Value;

fn balanced(snippet: &str) -> bool {
    let mut open = false;
    let mut rest = snippet;
    while let Some(at) = rest.find("<mark>").into_iter().chain(rest.find("</mark>")).min() {
        let opens = rest[at..].starts_with("<mark>");
        if opens == open {
            return false;
        }
        open = opens;
        rest = &rest[at + 6..];
    }
    !open
}

fuzz_target!(|data: &[u8]| {
    let Some((&max, data)) = data.split_first() else { return };
    let max = usize::from(max);
    // JSON text can contain lone surrogates only as escapes, which serde_json refuses.
    let from = String::from_utf8_lossy(data);
    for written in [line::token(&from), line::rest_of_line(&from), line::quoted(&from)] {
        assert!(text::exposed(&written).next().is_none(), "{written:?}");
        if written.starts_with('"') {
            assert_eq!(serde_json::from_str::<String>(&written).expect("a JSON string"), from);
        } else {
            assert_eq!(written, from);
            assert!(!written.contains([' ', '"', '\n']));
        }
    }
    let cut = line::quoted_cut(&from, max);
    assert!(text::exposed(&cut.text).next().is_none());
    let read: String = serde_json::from_str(&cut.text).expect("a JSON string");
    match read.strip_suffix('…').filter(|_| !cut.complete) {
        Some(begin) => assert!(from.starts_with(begin) && begin.len() <= max),
        None => assert_eq!(read, from),
    }
    if let Ok(value) = serde_json::from_slice::<Value>(data) {
        let shown = line::value(&value, max);
        assert!(text::exposed(&shown.text).next().is_none());
        if shown.complete {
            assert_eq!(serde_json::from_str::<Value>(&shown.text).expect("whole JSON"), value);
        }
    }
    assert!(balanced(&marks::balanced(&from)), "{from:?}");
    let (excerpt, complete) = marks::excerpt(&from, max);
    assert!(balanced(&excerpt), "{from:?} to {excerpt:?}");
    // A tag that was cut off is closed again.
    assert!(complete || excerpt.len() <= max + 32, "{} of {max}", excerpt.len());
    let prefix = prefix_on_wire(&from, max);
    assert!(from.starts_with(prefix));
    assert!(pdpp::ui::json_ascii_controls(&Value::from(prefix).to_string()).len() <= max + 2);
    assert!(text::exposed(&text::one_line(&from)).next().is_none());
    assert!(text::exposed(&text::lines(&from)).all(|(_, c)| matches!(c, '\n' | '\t')));
    assert!(text::prefix(&from, max).len() <= max);
});
