//! What is gone from a folder that is still in use (a Maildir, the sessions of an agent): its records
//! stay, and state since when it has been gone (O4.7).

use super::pipeline::Import;
use crate::vault::store::ledger::Ledger;
use crate::vault::store::{Ingest, Shapes};
use crate::vault::time;

/// The field that marks such a record, the last one of the streams that have it. A format never sets it, so
/// that it disappears when the record is imported again.
const FIELD: &str = "gone_at";
/// Records in a transaction.
const AT_ONCE: usize = 1000;

/// Marks the records of a source that no member mentions any more.
pub fn mark(import: &Import<'_>, shapes: &Shapes, source: i64) -> rusqlite::Result<()> {
    let lost = import.store.read(|db, _| Ledger(db).gone_records(source))?;
    for some in lost.chunks(AT_ONCE) {
        import.store.write(|tx, _| {
            let mut ingest = Ingest::with_shapes(tx, shapes.clone())?;
            for (rid, gone_ms) in some {
                let Some((shape, key, Some(data))) = ingest.record(*rid)? else { continue };
                if shape.stream().field(FIELD).is_some()
                    && let Some(marked) = marked(&data, *gone_ms)
                {
                    ingest.write(&shape, &key, import.terms.now_ms, Some(shape.prepare(marked)))?;
                    Ledger(tx).forget_items_of(*rid)?;
                }
            }
            ingest.end()
        })?;
    }
    Ok(())
}

/// A record with the field; `None` if it has the field already.
fn marked(data: &str, gone_ms: i64) -> Option<String> {
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(data).ok()?;
    if fields.contains_key(FIELD) {
        return None;
    }
    let rest = data.trim_end().strip_suffix('}')?;
    let comma = if fields.is_empty() { "" } else { "," };
    Some(format!("{rest}{comma}\"{FIELD}\":\"{}\"}}", time::format_ms(gone_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o4_7_a_record_is_marked_once() {
        let marked = |data| marked(data, 0);
        assert_eq!(marked("{}").as_deref(), Some(r#"{"gone_at":"1970-01-01T00:00:00.000Z"}"#));
        let once = marked(r#"{"id":"1"}"#).unwrap();
        assert_eq!(once, r#"{"id":"1","gone_at":"1970-01-01T00:00:00.000Z"}"#);
        assert_eq!(super::marked(&once, 9), None);
    }
}
