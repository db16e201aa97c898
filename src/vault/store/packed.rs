//! Records with long texts. The whole record is stored deflated, next to the part that the database looks at.

use std::cell::RefCell;

use flate2::{Decompress, FlushDecompress};
use libdeflater::{CompressionLvl, Compressor};

use crate::vault::declaration::{Field, Kind, Stream};
use crate::vault::fields::Fields;

/// Records of at least this length are deflated, in bytes.
const LONG: usize = 1024;
/// How much memory is kept for the next record, in bytes.
const ROOM: usize = 1 << 20;
/// The size limit that protects against a damaged store, in bytes: a record with its texts.
const MOST: usize = 256 << 20;

/// A deflated record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// The record without its long texts.
    pub short: String,
    /// The whole record.
    pub whole: Vec<u8>,
}

/// Whether the database never looks at the field, because it is text that nothing filters, groups or sorts by.
fn is_prose(field: &Field) -> bool {
    field.kind == Kind::Text && !(field.exact || field.range || field.sort) && field.aggregations.is_empty()
}

/// Deflates `data` if it is long because of texts that the database does not need to see.
pub fn pack(stream: &Stream, data: &str, fields: &Fields<'_>) -> Option<Packed> {
    if data.len() < LONG {
        return None;
    }
    let is_kept = |name: &str| !stream.field(name).is_some_and(is_prose);
    let mut short = String::from("{");
    for (name, value) in fields.iter().filter(|(name, _)| is_kept(name)) {
        if short.len() > 1 {
            short.push(',');
        }
        short.push_str(&serde_json::Value::from(name).to_string());
        short.push(':');
        short.push_str(value);
    }
    short.push('}');
    if short.len() > data.len() / 2 {
        return None;
    }
    thread_local! {
        // Made once, because making it takes longer than deflating a mail.
        static DEFLATE: RefCell<(Compressor, Vec<u8>)> =
            RefCell::new((Compressor::new(CompressionLvl::new(1).unwrap_or_default()), Vec::new()));
    }
    let whole = DEFLATE.with_borrow_mut(|(deflate, room)| {
        room.resize(deflate.deflate_compress_bound(data.len()), 0);
        let length = deflate.deflate_compress(data.as_bytes(), room).ok()?;
        let whole = room.get(..length).map(<[u8]>::to_vec);
        if room.len() > ROOM {
            *room = Vec::new();
        }
        whole
    })?;
    Some(Packed { short, whole })
}

/// The record that [`pack`] deflated; `None` for any other bytes.
pub fn unpack(whole: &[u8]) -> Option<String> {
    let mut inflate = Decompress::new(false);
    let mut data = Vec::with_capacity(whole.len().saturating_mul(4));
    let mut at = 0;
    loop {
        data.reserve(whole.len() + 64);
        let before = (data.len(), at);
        let status = inflate.decompress_vec(whole.get(at..)?, &mut data, FlushDecompress::None);
        at = usize::try_from(inflate.total_in()).ok()?;
        match status {
            Ok(flate2::Status::StreamEnd) => return String::from_utf8(data).ok(),
            Ok(_) if (data.len(), at) != before && data.len() < MOST => {}
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vault::declaration::StreamSpec;

    fn stream() -> Stream {
        let spec = StreamSpec {
            name: "notes",
            key: "id",
            time: None,
            fields: "id string! eq\n body text? lex\n tag text? eq",
            views: &[],
            relations: &[],
        };
        spec.parse().unwrap()
    }

    proptest! {
        #[test]
        fn a_packed_record_comes_back_as_it_was(body in "(word |é|\\PC{0,9}){0,900}", tag in "[a-z]{0,9}") {
            let data = serde_json::json!({ "id": "k", "body": body, "tag": tag }).to_string();
            match pack(&stream(), &data, &Fields::parse(&data)) {
                None => prop_assert!(data.len() < LONG),
                Some(packed) => {
                    let short = serde_json::json!({ "id": "k", "tag": tag });
                    prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&packed.short).unwrap(), short);
                    prop_assert_eq!(unpack(&packed.whole), Some(data));
                    prop_assert_eq!(unpack(&packed.whole[..packed.whole.len() - 1]), None);
                }
            }
        }
    }

    #[test]
    fn a_very_long_record_comes_back_too() {
        let words: Vec<String> = (0..60_000).map(|n| format!("word{}", n % 97)).collect();
        for body in [words.join(" "), "x".repeat(3 << 20)] {
            let data = serde_json::json!({ "id": "k", "body": body }).to_string();
            let packed = pack(&stream(), &data, &Fields::parse(&data)).unwrap();
            assert!(packed.whole.len() < data.len() / 3);
            assert_eq!(unpack(&packed.whole), Some(data));
        }
    }

    #[test]
    fn what_the_database_looks_at_is_not_packed() {
        let data = serde_json::json!({ "id": "k", "tag": "x".repeat(9_000) }).to_string();
        assert_eq!(pack(&stream(), &data, &Fields::parse(&data)), None);
        assert_eq!(unpack(b"nothing"), None);
        assert_eq!(unpack(b""), None);
    }
}
