//! Reads JSON values of exports, leniently and within limits.

use serde_json::Value;

use super::format::Bad;
use crate::json;

/// The most values in one: each takes many times the bytes of its text (O4.14).
const MOST_VALUES: usize = 2_000_000;

/// The value in `bytes`. Bytes that are not text become U+FFFD, and so do lone surrogates.
///
/// # Errors
/// If it is not JSON, is nested too deeply, or has too many values.
pub fn read(bytes: &[u8]) -> Result<Value, Bad> {
    if !is_bounded(bytes) {
        return Err(Bad("too many values"));
    }
    json::parse(String::from_utf8_lossy(bytes).as_bytes()).map_err(|_| Bad("not JSON"))
}

/// Whether `bytes` have no more values than the limit.
pub fn is_bounded(bytes: &[u8]) -> bool {
    // Each value except the first takes at least two bytes.
    if bytes.len() / 2 < MOST_VALUES {
        return true;
    }
    let (mut values, mut in_string, mut is_escaped) = (1, false, false);
    for byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    values <= MOST_VALUES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o4_14_many_values_are_refused_and_long_texts_are_not() {
        let values = |count: usize| format!("[0{}]", ",0".repeat(count));
        assert_eq!(read(values(3_000_000).as_bytes()), Err(Bad("too many values")));
        assert!(is_bounded(values(1_000).as_bytes()));
        let text = format!("\"{}\\\"{}\"", ",[".repeat(3_000_000), ",".repeat(10));
        assert!(matches!(read(text.as_bytes()), Ok(Value::String(_))));
        let text = format!("[\"\\\\\"{}]", ",{}".repeat(3_000_000));
        assert!(!is_bounded(text.as_bytes()));
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        assert_eq!(read(b"[\"a\xff\\ud800\"]").unwrap(), serde_json::json!(["a\u{fffd}\u{fffd}"]));
        assert_eq!(read(b"[").unwrap_err(), Bad("not JSON"));
    }
}
