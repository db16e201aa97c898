//! A record that alone exceeds its bound: its longest values are cut until the rest fits, each with the
//! call that reads on (R4.8).

use serde_json::{Map, Value, json};

use super::ladder::{Field, RecordRef, read_field, read_json};

/// Lengths, in characters, that texts are cut to, tried in this order.
const TEXT_CHARS: [usize; 8] = [4000, 2000, 1000, 500, 250, 120, 60, 20];

/// Names the whole of a record's data in a continuation, where its fields are too many to name.
pub const WHOLE: &str = "$";

/// Cuts the top-level values of `data` so that, with the returned fields' own calls counted in, at most
/// `max_bytes` of compact JSON are left. Texts keep their beginning; a list or object becomes a
/// descriptor of its size, and reads on as JSON text.
pub fn to_fit(data: &mut Map<String, Value>, max_bytes: usize, record: RecordRef<'_>) -> Vec<Field> {
    let original = data.clone();
    for chars in TEXT_CHARS {
        let fields = cut_values(data, &original, chars, record);
        let ladder =
            fields.iter().map(|field| 120 + field.path.len() * 2 + field.read.to_text().len()).sum::<usize>();
        if Value::Object(data.clone()).to_string().len() + ladder <= max_bytes {
            return fields;
        }
    }
    // Too many fields for even their beginnings: name them, keep what fits.
    let mut fields = Vec::new();
    let names = original.keys().cloned().collect::<Vec<_>>();
    let mut left = max_bytes.saturating_sub(400);
    data.clear();
    let mut omitted = Vec::new();
    for (name, value) in original {
        let cost = name.len() + value.to_string().len() + 4;
        if cost <= left && cost < 200 {
            left -= cost;
            data.insert(name, value);
        } else {
            omitted.push(name);
        }
    }
    if !omitted.is_empty() {
        fields.push(Field {
            path: WHOLE.to_owned(),
            preview: Some(format!("{} of {} fields are not shown", omitted.len(), names.len())),
            complete: false,
            read: read_json(&record, WHOLE, 0),
        });
    }
    fields
}

fn cut_values(
    data: &mut Map<String, Value>,
    original: &Map<String, Value>,
    chars: usize,
    record: RecordRef<'_>,
) -> Vec<Field> {
    let mut fields = Vec::new();
    data.clone_from(original);
    for (name, value) in data.iter_mut() {
        match value {
            Value::String(text) if text.len() > chars => {
                let total = text.chars().count();
                if total > chars {
                    *text = text.chars().take(chars).collect();
                    fields.push(Field {
                        path: name.clone(),
                        preview: None,
                        complete: false,
                        read: read_field(&record, name, chars),
                    });
                }
            }
            Value::Array(_) | Value::Object(_) => {
                let size = value.to_string().len();
                if size > chars * 2 + 200 {
                    let kind = if value.is_array() { "array" } else { "object" };
                    *value = json!({"object": "cut", "type": kind, "size_bytes": size});
                    fields.push(Field {
                        path: name.clone(),
                        preview: None,
                        complete: false,
                        read: read_json(&record, name, 0),
                    });
                }
            }
            _ => {}
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_reads_on() {
        let Value::Object(mut data) = json!({"id": "r", "body": "é".repeat(240_000), "n": 1}) else {
            panic!()
        };
        let fields = to_fit(&mut data, 9000, RecordRef::Handle("c/s:r"));
        assert_eq!(data["body"].as_str().unwrap().chars().count(), 4000);
        assert_eq!(data["n"], 1);
        assert_eq!(fields.len(), 1);
        assert_eq!(
            Value::Object(fields[0].read.arguments.clone()),
            json!({"id": "c/s:r", "field_path": "body", "offset_chars": 4000})
        );
    }

    proptest! {
        #[test]
        fn it_always_fits(
            texts in prop::collection::btree_map("[a-z]{1,12}", ("[ -~é\u{1f600}\n]{0,12}", 0usize..400), 0..60),
            max in 2000usize..9000,
        ) {
            let mut data = texts.into_iter().map(|(k, v)| (k, Value::from(v.0.repeat(v.1)))).collect::<Map<_, _>>();
            let before = data.clone();
            let fields = to_fit(&mut data, max, RecordRef::Handle("c/s:r"));
            prop_assert!(Value::Object(data.clone()).to_string().len() <= max);
            let cut = before.iter().filter(|(name, value)| data.get(*name) != Some(value)).count();
            prop_assert_eq!(cut > 0, !fields.is_empty());
        }
    }
}
