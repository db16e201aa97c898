//! The last item of a unit that is still being written. The existing part is read, and read again when
//! there is more: then it may have another key, and the records of the first part are taken back.
//!
//! A format marks an item that may grow by setting [`Raw::next`] to the item's beginning.

use super::format::Raw;
use crate::vault::store::Ingest;
use crate::vault::store::ledger::{Half, Ledger};

/// Whether more of an item may come.
pub const fn may_grow(raw: &Raw) -> bool {
    raw.next <= raw.offset
}

/// What earlier runs read from a unit's last items.
#[derive(Debug)]
pub struct Halves {
    known: Option<Vec<Half>>,
}

impl Halves {
    /// The halves of a unit, given whether it was read before.
    pub fn new(was_read: bool) -> Self {
        Self { known: (!was_read).then(Vec::new) }
    }

    /// The records that were made from the first part of this item.
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
        // There are several if the file became shorter meanwhile.
        for half in halves.extract_if(.., |half| half.begins(raw.offset, &raw.bytes)) {
            if half.length == raw.bytes.len() && may_grow(raw) {
                continue;
            }
            ledger.forget_half(account, unit, &half)?;
            // If the item is unchanged, so are its records.
            if half.length < raw.bytes.len() {
                records.extend(half.records);
            }
        }
        Ok(records)
    }
}

/// Takes back the records of the first part, except for those that the whole item gives; all of them stay
/// if another item or another unit mentions one. `given` has the streams and keys of the whole item's
/// records. Returns whether any record was taken back.
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
        // Only what the whole item says counts.
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
