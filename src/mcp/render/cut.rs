//! A record that alone exceeds its limit: its longest values are cut until the rest fits, each with the call that
//! continues it (R4.8).

use serde_json::{Map, Value, json};

use super::ladder::{EXPANDED, Field, RecordRef, read_expanded, read_field, read_json};
use crate::mcp::size::json_len;

/// Lengths, in characters, to which texts are cut, tried in this order.
const TEXT_CHARS: [usize; 8] = [4000, 2000, 1000, 500, 250, 120, 60, 20];

/// Bytes of small fields that are kept if there are too many fields to cut one by one.
const WHOLE_BYTES: [usize; 9] = [32_000, 16_000, 8_000, 4_000, 2_000, 1_000, 500, 200, 0];

/// Names the whole of a record's data in a continuation, if it has too many fields to name.
pub const WHOLE: &str = "$";

/// Whether the data and the continuation calls fit.
pub type Fits<'a> = &'a dyn Fn(&Map<String, Value>, &[Field]) -> bool;

/// Cuts the top-level values of `data` until `fits` accepts it together with the continuation calls. Texts keep their
/// beginning; a list or object becomes a descriptor of its size, and is continued as JSON text. If not even that
/// fits, the data is replaced by one call that reads all of it.
pub fn to_fit(data: &mut Map<String, Value>, record: RecordRef<'_>, fits: Fits<'_>) -> Vec<Field> {
    let original = std::mem::take(data);
    for chars in TEXT_CHARS {
        let (cut, fields) = cut_values(&original, chars, record);
        if fits(&cut, &fields) {
            *data = cut;
            return fields;
        }
    }
    // Too many fields even for their beginnings: small ones stay while they fit.
    let costs = original.iter().map(|(name, value)| json_len(name) + json_len(value)).collect::<Vec<_>>();
    for budget in WHOLE_BYTES {
        let mut left = budget;
        let kept = original.iter().zip(&costs).filter(|(_, cost)| {
            let stays = **cost < 200 && **cost <= left;
            left -= if stays { **cost } else { 0 };
            stays
        });
        let kept = kept.map(|((name, value), _)| (name.clone(), value.clone())).collect::<Map<_, _>>();
        let omitted = original.len() - kept.len();
        let fields = vec![Field {
            path: WHOLE.to_owned(),
            preview: Some(format!("{omitted} of {} fields are not shown", original.len())),
            complete: false,
            read: read_json(&record, WHOLE, 0),
        }];
        if fits(&kept, &fields) || budget == 0 {
            *data = kept;
            return fields;
        }
    }
    Vec::new()
}

/// The maximum number of relations of a record that are named, and the longest name of one, in bytes.
const MOST_RELATIONS: usize = 8;
const RELATION_BYTES: usize = 120;

/// Cuts the expanded relations of a record if they take more than `most` bytes: a large relation becomes a descriptor
/// of its size, and is continued as JSON text. `limit` returns the limit that a relation was expanded with. A
/// resource server expands what was requested; anything else it sends there is only counted.
pub fn expanded(
    value: &mut Value,
    record: RecordRef<'_>,
    limit: &dyn Fn(&str) -> Option<u64>,
    most: usize,
) -> Vec<Field> {
    if json_len(value) <= most {
        return Vec::new();
    }
    let Value::Object(relations) = value else {
        *value = json!({"object": "cut", "size_bytes": json_len(value)});
        return Vec::new();
    };
    let total = relations.len();
    let mut kept = 0;
    relations.retain(|name, _| {
        kept += 1;
        kept <= MOST_RELATIONS && json_len(name) <= RELATION_BYTES
    });
    let mut fields = Vec::new();
    for (name, value) in relations.iter_mut() {
        let size = json_len(value);
        if size <= 120 {
            continue;
        }
        *value = json!({"object": "cut", "size_bytes": size});
        fields.push(Field {
            path: format!("{EXPANDED}{name}"),
            preview: None,
            complete: false,
            read: read_expanded(&record, name, limit(name)),
        });
    }
    if relations.len() < total {
        relations.insert("relations_not_shown".into(), json!(total - relations.len()));
    }
    fields
}

fn cut_values(
    original: &Map<String, Value>,
    chars: usize,
    record: RecordRef<'_>,
) -> (Map<String, Value>, Vec<Field>) {
    let mut fields = Vec::new();
    let mut cut_field = |name: &str, read| {
        fields.push(Field { path: name.to_owned(), preview: None, complete: false, read });
    };
    let mut data = Map::new();
    for (name, value) in original {
        let cut = match value {
            Value::String(text) if text.len() > chars => text.char_indices().nth(chars).map(|(at, _)| {
                cut_field(name, read_field(&record, name, chars));
                json!(text[..at])
            }),
            Value::Array(_) | Value::Object(_) => {
                let size = json_len(value);
                (size > chars * 2 + 200).then(|| {
                    cut_field(name, read_json(&record, name, 0));
                    let kind = if value.is_array() { "array" } else { "object" };
                    json!({"object": "cut", "type": kind, "size_bytes": size})
                })
            }
            _ => None,
        };
        data.insert(name.clone(), cut.unwrap_or_else(|| value.clone()));
    }
    (data, fields)
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
        let fields = to_fit(&mut data, RecordRef::Handle("c/s:r"), &|data, _| json_len(data) <= 9000);
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
            let fits = |data: &Map<String, Value>, fields: &[Field]| {
                json_len(data) + fields.iter().map(|field| json_len(&field.read.to_json())).sum::<usize>() <= max
            };
            let fields = to_fit(&mut data, RecordRef::Handle("c/s:r"), &fits);
            prop_assert!(fits(&data, &fields));
            let cut = before.iter().filter(|(name, value)| data.get(*name) != Some(value)).count();
            prop_assert!(cut == 0 || !fields.is_empty());
        }
    }
}
