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

/// What an earlier run read of a unit's last item.
#[derive(Debug)]
pub struct Halves {
    /// Where the earlier run ended: where the item begins, or behind the only one of its file.
    at: u64,
    known: Option<Vec<Half>>,
}

impl Halves {
    /// Of a unit that was read up to `at`, if it was.
    pub fn new(at: Option<u64>) -> Self {
        Self { at: at.unwrap_or_default(), known: at.is_none().then(Vec::new) }
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
        // Elsewhere an item that begins alike is another one.
        let is_there =
            |half: &Half| raw.offset == self.at || raw.offset == 0 && half.length as u64 == self.at;
        let Some(at) = halves.iter().position(|half| is_there(half) && half.begins(&raw.bytes)) else {
            return Ok(Vec::new());
        };
        let half = halves.swap_remove(at);
        if half.length == raw.bytes.len() && may_grow(raw) {
            return Ok(Vec::new());
        }
        ledger.forget_halves(account, unit)?;
        // Where it is what it was, its records are too.
        Ok(if half.length < raw.bytes.len() { half.records } else { Vec::new() })
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
