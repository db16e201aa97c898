//! JSON as it goes over the wire: compact, with every hidden character escaped (R4.9).
//!
//! The code that measures a value is the code that writes it, with another [`Sink`], so a length cannot differ
//! from the output. A [`Written`] value is measured and passed on unchanged.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::text::{belongs, is_hidden, leading};

/// The destination of JSON.
pub trait Sink {
    /// Receives the next part.
    fn put(&mut self, part: &str);

    /// Receives a mark between two parts.
    fn mark(&mut self, mark: char);
}

impl Sink for String {
    fn put(&mut self, part: &str) {
        self.push_str(part);
    }

    fn mark(&mut self, mark: char) {
        self.push(mark);
    }
}

/// Counts bytes instead of keeping them.
struct Count(usize);

impl Sink for Count {
    fn put(&mut self, part: &str) {
        self.0 += part.len();
    }

    fn mark(&mut self, mark: char) {
        self.0 += mark.len_utf8();
    }
}

/// A value that can be written as JSON.
pub trait Json {
    /// Writes the whole value.
    fn write_to(&self, out: &mut impl Sink);
}

/// The number of bytes of `value`.
pub fn len(value: &(impl Json + ?Sized)) -> usize {
    let mut count = Count(0);
    value.write_to(&mut count);
    count.0
}

/// `value` as JSON text.
pub fn text(value: &(impl Json + ?Sized)) -> String {
    let mut text = String::with_capacity(64);
    value.write_to(&mut text);
    text
}

/// JSON that is already written: nothing measures or escapes it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written(String);

/// A size that most rows and hits do not exceed.
const LIKELY: usize = 512;

impl Written {
    /// Writes `value`.
    pub fn of(value: &(impl Json + ?Sized)) -> Self {
        let mut text = String::with_capacity(LIKELY);
        value.write_to(&mut text);
        Self(text)
    }

    /// An object with the members that `write` adds.
    pub fn object(write: impl FnOnce(&mut Members<'_, String>)) -> Self {
        let mut text = String::with_capacity(LIKELY);
        object(&mut text, write);
        Self(text)
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The JSON text.
    pub fn into_string(self) -> String {
        self.0
    }

    /// The number of its bytes.
    #[allow(clippy::len_without_is_empty, reason = "JSON is never empty")]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// The value that it represents.
    pub fn read(&self) -> Value {
        super::parse(self.0.as_bytes()).unwrap_or_default()
    }
}

impl From<Map<String, Value>> for Written {
    fn from(map: Map<String, Value>) -> Self {
        Self::of(&map)
    }
}

impl Json for Written {
    fn write_to(&self, out: &mut impl Sink) {
        out.put(&self.0);
    }
}

/// The members of an object that is being written. The caller keeps their order if it matters.
pub struct Members<'a, S: Sink> {
    out: &'a mut S,
    has_some: bool,
}

impl<S: Sink> Members<'_, S> {
    /// Writes a member.
    pub fn put(&mut self, name: &str, value: &(impl Json + ?Sized)) {
        self.name(name);
        value.write_to(self.out);
    }

    /// Writes a member that is a list of `items`.
    pub fn put_list<T: Json>(&mut self, name: &str, items: impl IntoIterator<Item = T>) {
        self.name(name);
        list(self.out, items);
    }

    /// Writes a member if it has a value.
    pub fn put_some(&mut self, name: &str, value: Option<impl Json>) {
        if let Some(value) = value {
            self.put(name, &value);
        }
    }

    /// Writes a member that is an object.
    pub fn put_object(&mut self, name: &str, write: impl FnOnce(&mut Members<'_, S>)) {
        self.name(name);
        object(self.out, write);
    }

    fn name(&mut self, name: &str) {
        if std::mem::replace(&mut self.has_some, true) {
            self.out.mark(',');
        }
        string(self.out, name);
        self.out.mark(':');
    }
}

/// Writes an object with the members that `write` adds.
pub fn object<S: Sink>(out: &mut S, write: impl FnOnce(&mut Members<'_, S>)) {
    out.mark('{');
    write(&mut Members { out, has_some: false });
    out.mark('}');
}

fn list<T: Json>(out: &mut impl Sink, items: impl IntoIterator<Item = T>) {
    out.mark('[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.mark(',');
        }
        item.write_to(out);
    }
    out.mark(']');
}

impl Json for Value {
    fn write_to(&self, out: &mut impl Sink) {
        match self {
            Self::Null => out.put("null"),
            Self::Bool(value) => value.write_to(out),
            // Digit for digit, as it was read.
            Self::Number(number) => out.put(number.as_str()),
            Self::String(text) => string(out, text),
            Self::Array(items) => list(out, items),
            Self::Object(members) => members.write_to(out),
        }
    }
}

impl Json for Map<String, Value> {
    fn write_to(&self, out: &mut impl Sink) {
        object(out, |members| {
            for (name, value) in self {
                members.put(name, value);
            }
        });
    }
}

impl Json for bool {
    fn write_to(&self, out: &mut impl Sink) {
        out.put(if *self { "true" } else { "false" });
    }
}

impl Json for str {
    fn write_to(&self, out: &mut impl Sink) {
        string(out, self);
    }
}

impl Json for String {
    fn write_to(&self, out: &mut impl Sink) {
        string(out, self);
    }
}

impl Json for Cow<'_, str> {
    fn write_to(&self, out: &mut impl Sink) {
        string(out, self);
    }
}

impl<T: Json + ?Sized> Json for &T {
    fn write_to(&self, out: &mut impl Sink) {
        (**self).write_to(out);
    }
}

impl<T: Json + ?Sized> Json for &mut T {
    fn write_to(&self, out: &mut impl Sink) {
        (**self).write_to(out);
    }
}

impl<T: Json> Json for Vec<T> {
    fn write_to(&self, out: &mut impl Sink) {
        list(out, self);
    }
}

impl<T: Json> Json for Option<T> {
    fn write_to(&self, out: &mut impl Sink) {
        match self {
            Some(value) => value.write_to(out),
            None => out.put("null"),
        }
    }
}

/// Whether a string can hold the byte unescaped.
const fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'
}

fn string(out: &mut impl Sink, text: &str) {
    out.mark('"');
    let (mut at, mut copied) = (0, 0);
    loop {
        at += leading(&text.as_bytes()[at..], is_plain);
        let Some(c) = text[at..].chars().next() else { break };
        let end = at + c.len_utf8();
        // A joiner cannot belong to a character that was escaped.
        let before = || text[copied..at].chars().next_back();
        let is_exposed = is_hidden(c) && !before().is_some_and(|before| belongs(before, c, &text[end..]));
        if is_exposed || matches!(c, '"' | '\\') {
            out.put(&text[copied..at]);
            escape(out, c);
            copied = end;
        }
        at = end;
    }
    out.put(&text[copied..]);
    out.mark('"');
}

fn escape(out: &mut impl Sink, c: char) {
    out.put(match c {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        c => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.put(&format!("\\u{unit:04x}"));
            }
            return;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::json_ascii_controls;
    use proptest::prelude::*;
    use serde_json::json;

    fn texts() -> impl Strategy<Value = String> {
        let odd = "\"\\\n\t\u{8}\u{1}\u{7f}\u{85}\u{202e}\u{200d}\u{200c}\u{fe0f}\u{e0041}\u{1f469}\u{2764}یم1é日\u{20e3}";
        let odd = odd.chars().collect::<Vec<_>>();
        let c = prop_oneof![any::<char>(), prop::sample::select(odd), (b' '..=b'~').prop_map(char::from)];
        prop::collection::vec(c, 0..40).prop_map(String::from_iter)
    }

    fn values() -> impl Strategy<Value = Value> {
        let number = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "-?[1-9][0-9]{0,30}(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?".prop_map(move |text| number(&text)),
            texts().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(texts(), inner, 0..6)
                    .prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_the_json_of_serde_with_what_is_hidden_escaped(value in values()) {
            let written = text(&value);
            let json = value.to_string();
            prop_assert_eq!(&json_ascii_controls(&json), &written);
            prop_assert_eq!(len(&value), written.len());
            prop_assert_eq!(Written::of(&value).read().to_string(), value.to_string());
        }
    }

    /// In JSON an escaped character ends with a digit, and a keycap begins with one.
    #[test]
    fn the_last_digit_of_an_escape_begins_no_keycap() {
        for (value, wanted) in [
            ("\u{1}\u{fe0f}\u{20e3}", "\"\\u0001\\ufe0f\u{20e3}\""),
            ("1\u{fe0f}\u{20e3}", "\"1\u{fe0f}\u{20e3}\""),
            ("\\u0001\u{fe0f}\u{20e3}", "\"\\\\u0001\u{fe0f}\u{20e3}\""),
        ] {
            let value = Value::from(value);
            assert_eq!(text(&value), wanted);
            assert_eq!(json_ascii_controls(&value.to_string()), wanted);
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        let json = "[12345678901234567890123,1.10,-0.0,1e+5,0]";
        assert_eq!(text(&serde_json::from_str::<Value>(json).unwrap()), json);
    }

    #[test]
    fn an_object_is_written_member_by_member() {
        let inner = Written::of(&json!({"a\u{202e}": [1]}));
        let whole = Written::object(|members| {
            members.put("a", &inner);
            members.put_list("b", ["x", "\n"]);
            members.put("c", &None::<bool>);
        });
        assert_eq!(whole.as_str(), r#"{"a":{"a\u202e":[1]},"b":["x","\n"],"c":null}"#);
        assert_eq!(whole.read(), json!({"a": {"a\u{202e}": [1]}, "b": ["x", "\n"], "c": null}));
    }
}
