//! The last item of a unit that is still being written. What there is of it is read, and read again when there is more: then
//! it may have another key, and the records that the half made are taken back.
//!
//! A format says of an item that it may grow where [`Raw::next`] is where it begins.

use super::format::Raw;
use crate::vault::store::ledger::{Half, Ledger};
use crate::vault::store::Ingest;

/// Whether more of an item may come.
pub const fn may_grow(raw: &Raw) -> bool {
    raw.next <= raw.offset
}

/// The halves of a unit's earlier runs that are not found again yet.
#[derive(Debug, Default)]
pub struct Halves(Option<Vec<Half>>);

impl Halves {
    /// Those of a unit that was never read.
    pub const fn none() -> Self {
        Self(Some(Vec::new()))
    }

    /// The records that were made of a half of this item.
    pub fn made_of(
        &mut self,
        ledger: Ledger<'_>,
        account: i64,
        unit: i64,
        raw: &Raw,
    ) -> rusqlite::Result<Vec<i64>> {
        let halves = match &mut self.0 {
            Some(known) => known,
            unknown => unknown.insert(ledger.halves(account, unit)?),
        };
        let Some(at) = halves.iter().position(|half| half.begins(&raw.bytes)) else { return Ok(Vec::new()) };
        if halves[at].length == raw.bytes.len() {
            // It is what it was: whole, if it grows no more.
            if !may_grow(raw) {
                halves.clear();
                ledger.forget_halves(account, unit)?;
            }
            return Ok(Vec::new());
        }
        let half = halves.swap_remove(at);
        halves.clear();
        ledger.forget_halves(account, unit)?;
        Ok(half.records)
    }
}

/// Takes back the records that a half made, but for those that the whole item gives or another unit speaks of. `gives`: whether
/// the whole gives a record, by its stream and key.
pub fn take_back(
    ingest: &mut Ingest<'_>,
    ledger: Ledger<'_>,
    unit: i64,
    now_ms: i64,
    records: &[i64],
    gives: &dyn Fn(&str, &str) -> bool,
) -> rusqlite::Result<bool> {
    let mut was_any = false;
    for rid in records {
        let Some((shape, key, Some(_))) = ingest.record(*rid)? else { continue };
        let others = ledger.sightings(*rid)?.into_iter().filter(|(other, _)| *other != unit).count();
        // What the whole says of it counts alone.
        ledger.remove_sighting(*rid, unit)?;
        if others == 0 && !gives(&shape.stream().name, &key) {
            ingest.write(&shape, &key, now_ms, None)?;
            ledger.forget_items_of(*rid)?;
            was_any = true;
        }
    }
    Ok(was_any)
}
