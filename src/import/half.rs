//! The last item of a unit that is still being written. What there is of it is read, and read again when there is more: then
//! it may have another key, and the records that the half made are taken back.
//!
//! A format says of an item that it may grow where [`Raw::next`] is where it begins.

use super::format::Raw;
use crate::vault::store::Ingest;
use crate::vault::store::ledger::{Half, Ledger};

/// Whether more of an item may come.
pub const fn may_grow(raw: &Raw) -> bool {
    raw.next <= raw.offset
}

/// What earlier runs read of a unit's last items.
#[derive(Debug)]
pub struct Halves {
    known: Option<Vec<Half>>,
}

impl Halves {
    /// Of a unit that was read before, or was not.
    pub fn new(was_read: bool) -> Self {
        Self { known: (!was_read).then(Vec::new) }
    }

    /// The records that were made of a half of this item.
    pub fn made_of(
        &mut self,
        ledger: Ledger<'_>,
        account: i64,
        unit: i64,
        raw: &Raw,
    ) -> rusqlite::Result<Vec<i64>> {
        let halves = match &mut self.known {
            Some(known) => known,
            unknown => unknown.insert(ledger.halves(account, unit)?),
        };
        let mut records = Vec::new();
        // Several, where the file was shorter meanwhile.
        for half in halves.extract_if(.., |half| half.begins(raw.offset, &raw.bytes)) {
            if half.length == raw.bytes.len() && may_grow(raw) {
                continue;
            }
            ledger.forget_half(account, unit, &half)?;
            // Where it is what it was, its records are too.
            if half.length < raw.bytes.len() {
                records.extend(half.records);
            }
        }
        Ok(records)
    }
}

/// Takes back the records that a half made, but for those that the whole item gives; all of them stay where another item or another
/// unit speaks of one. `given` are the streams and keys of what the whole gives. Says whether any was taken back.
pub fn take_back(
    ingest: &mut Ingest<'_>,
    ledger: Ledger<'_>,
    unit: i64,
    now_ms: i64,
    records: &[i64],
    given: &[(String, String)],
) -> rusqlite::Result<bool> {
    let mut is_claimed = false;
    for rid in records {
        is_claimed |= ledger.sightings(*rid)?.iter().any(|(other, _)| *other != unit);
        is_claimed |= ledger.items_of(*rid, unit)? > 1;
        // What the whole says of it counts alone.
        ledger.remove_sighting(*rid, unit)?;
    }
    let mut was_any = false;
    for rid in records.iter().filter(|_| !is_claimed) {
        let Some((shape, key, Some(_))) = ingest.record(*rid)? else { continue };
        if !given.iter().any(|(stream, given)| *stream == shape.stream().name && *given == key) {
            ingest.write(&shape, &key, now_ms, None)?;
            ledger.forget_items_of(*rid)?;
            was_any = true;
        }
    }
    Ok(was_any)
}
