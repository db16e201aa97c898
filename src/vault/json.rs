//! JSON that is the same bytes each time: compound keys and a made-up life are compared as text.

use std::fmt::Write as _;

/// `values` as a JSON list of strings.
pub fn list<S: AsRef<str>>(values: &[S]) -> String {
    let mut out = String::from("[");
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        quote_into(&mut out, value.as_ref());
    }
    out.push(']');
    out
}

/// Adds `value` to `out` as a JSON string.
pub fn quote_into(out: &mut String, value: &str) {
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if u32::from(c) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
