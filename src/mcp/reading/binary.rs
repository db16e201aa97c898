//! Replaces binary values with descriptors: a megabyte of base64 is useless to a model (R4.6).

use serde_json::{Map, Value, json};

/// Shorter texts are left unchanged: an id or a hash may look like base64 too.
const LEAST_CHARS: usize = 512;

/// Replaces every base64-like text in a record's data with a descriptor, also inside lists and objects. A `blob_ref`
/// is already a descriptor.
pub fn describe(data: &mut Value) {
    let blob_id = data.pointer("/blob_ref/blob_id").and_then(Value::as_str).map(str::to_owned);
    describe_value(data, blob_id.as_deref());
}

fn describe_value(value: &mut Value, blob_id: Option<&str>) {
    match value {
        Value::String(text) => {
            if let Some(descriptor) = descriptor(text, blob_id) {
                *value = descriptor;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| describe_value(item, blob_id)),
        Value::Object(fields) => fields.values_mut().for_each(|field| describe_value(field, blob_id)),
        _ => {}
    }
}

fn descriptor(text: &str, blob_id: Option<&str>) -> Option<Value> {
    if text.len() < LEAST_CHARS {
        return None;
    }
    let (media_type, payload) = match text.strip_prefix("data:") {
        Some(rest) => {
            let (media_type, payload) = rest.split_once(";base64,")?;
            (Some(media_type), payload)
        }
        None => (None, text),
    };
    if !is_base64(payload) {
        return None;
    }
    let symbols = payload.bytes().filter(|b| !b.is_ascii_whitespace() && *b != b'=').count();
    let mut descriptor = Map::new();
    descriptor.insert("object".into(), json!("binary"));
    descriptor.insert("encoding".into(), json!("base64"));
    descriptor.insert("size_bytes".into(), json!(symbols * 3 / 4));
    if let Some(media_type) = media_type {
        descriptor.insert("mime_type".into(), json!(crate::text::prefix(media_type, 100)));
    }
    if let Some(blob_id) = blob_id {
        descriptor.insert("read".into(), json!(format!("GET /v1/blobs/{blob_id}")));
    }
    Some(Value::Object(descriptor))
}

/// Whether a text looks like base64. Prose has spaces; a run of one letter or a long word lacks the mix of
/// cases and digits.
fn is_base64(text: &str) -> bool {
    let mut seen = [false; 3];
    for byte in text.trim_end().bytes() {
        match byte {
            b'A'..=b'Z' => seen[0] = true,
            b'a'..=b'z' => seen[1] = true,
            b'0'..=b'9' => seen[2] = true,
            // MIME wraps its lines.
            b'+' | b'/' | b'-' | b'_' | b'=' | b'\r' | b'\n' => {}
            _ => return false,
        }
    }
    seen == [true; 3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r4_6_base64_is_described_and_prose_is_not() {
        let base64 = "iVBORw0KGgoAAAANSUhEUgAA".repeat(40);
        let mut data = json!({"body": base64, "url": format!("data:image/png;base64,{base64}"),
            "text": "word ".repeat(300), "dashes": "-".repeat(600), "deep": [{"x": base64}],
            "blob_ref": {"blob_id": "b1"}});
        describe(&mut data);
        assert_eq!(
            data["body"],
            json!({"object": "binary", "encoding": "base64", "size_bytes": 720, "read": "GET /v1/blobs/b1"})
        );
        assert_eq!(data["url"]["mime_type"], "image/png");
        assert_eq!(data["deep"][0]["x"]["object"], "binary");
        assert!(data["text"].is_string() && data["dashes"].is_string());
        assert_eq!(data["blob_ref"], json!({"blob_id": "b1"}));
    }

    #[test]
    fn short_hashes_and_ids_stay() {
        let mut data = json!({"sha": "c050274ff512ba42e562009118d9266e006ef11c70ea310a9619582831085ce5"});
        let before = data.clone();
        describe(&mut data);
        assert_eq!(data, before);
    }
}
