//! Limits the length of a record: a text that is too long is cut, and the record is marked.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::vault::declaration::Stream;

/// The most bytes of a record without its long texts.
const MAX_DATA: usize = 1 << 20;
/// The most bytes of a text.
const MAX_TEXT: usize = 16 << 20;
/// The field that states that a text was cut, if a stream declares it.
const MARK: &str = "text_truncated";

/// `data` within the limits; `None` if it cannot be shortened enough.
pub fn fit<'a>(stream: &Stream, data: &'a str) -> Option<Cow<'a, str>> {
    if data.len() <= MAX_DATA {
        return Some(Cow::Borrowed(data));
    }
    let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(data) else { return None };
    let mut was_cut = false;
    for value in fields.values_mut() {
        if let Value::String(text) = value
            && text.len() > MAX_TEXT
        {
            text.truncate(text.floor_char_boundary(MAX_TEXT));
            was_cut = true;
        }
    }
    if rest(stream, &fields) > MAX_DATA {
        return None;
    }
    if !was_cut {
        return Some(Cow::Borrowed(data));
    }
    // In declared order, like every record; undeclared fields are not shown.
    let mut out = String::from("{");
    for field in &stream.fields {
        let value = match field.name.as_str() {
            MARK => Some(Value::Bool(true)),
            name => fields.remove(name),
        };
        if let Some(value) = value {
            if out.len() > 1 {
                out.push(',');
            }
            out.push_str(&Value::from(field.name.as_str()).to_string());
            out.push(':');
            out.push_str(&value.to_string());
        }
    }
    out.push('}');
    Some(Cow::Owned(out))
}

/// The length of a record without its prose.
fn rest(stream: &Stream, fields: &Map<String, Value>) -> usize {
    let is_long =
        |name: &str| stream.field(name).is_some_and(|field| field.role.as_deref() == Some("secondary"));
    fields.iter().filter(|(name, _)| !is_long(name)).map(|(_, value)| value.to_string().len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::declare::field;

    #[test]
    fn o3_8_a_long_text_is_cut_and_marked_and_a_long_record_is_refused() {
        let stream = Stream {
            name: "messages".to_owned(),
            primary_key: vec!["id".to_owned()],
            cursor_field: None,
            consent_time_field: None,
            fields: ["id:k!", "body:b", "note:k", "text_truncated:f"].map(|line| field(line).unwrap()).into(),
            views: Vec::new(),
            relations: Vec::new(),
            is_extended: false,
        };
        let record = |name: &str, length: usize| {
            serde_json::json!({ "id": "1", name: "é".repeat(length / 2) }).to_string()
        };
        let short = record("body", MAX_TEXT);
        assert_eq!(fit(&stream, &short).unwrap(), short);
        let long = record("body", MAX_TEXT + 2);
        let cut: Value = serde_json::from_str(&fit(&stream, &long).unwrap()).unwrap();
        assert_eq!(cut["body"].as_str().unwrap().len(), MAX_TEXT);
        assert_eq!((&cut["id"], &cut["text_truncated"]), (&Value::from("1"), &Value::from(true)));
        assert_eq!(fit(&stream, &record("note", MAX_DATA + 2)), None);
        assert_eq!(fit(&stream, &"x".repeat(MAX_DATA + 1)), None);
    }
}
