//! What an import remembers: which files it read, how far, and which items still match their records.

use std::collections::BTreeMap;

use rusqlite::{Connection as Sqlite, OptionalExtension as _, params};

use crate::vault::transfer::Encoding;

/// How much of an item's hash is stored: 16 bytes of SHA-256.
pub type Digest = [u8; 16];

/// How long former states are kept, in milliseconds: 90 days.
const HISTORY_MS: i64 = 90 * 24 * 60 * 60 * 1000;

/// What was settled about an account's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The zone for times that name none.
    pub zone: Option<String>,
    /// The order of the numbers in a date.
    pub date_order: Option<String>,
}

impl Settings {
    /// All settings in one text, as a source stores them.
    pub fn joined(&self) -> String {
        [self.zone.as_deref(), self.date_order.as_deref()].map(Option::unwrap_or_default).join(" ")
    }
}

/// An imported file, folder or archive, as one format read it for one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRow {
    /// Its number.
    pub source: i64,
    /// The account.
    pub account: i64,
    /// Where it was last found.
    pub path: String,
    /// The format's name.
    pub format: String,
    /// The format's version at the last import.
    pub version: u32,
    /// The other settings that its records depend on: the zone and the order of dates.
    pub settings: String,
    /// For an archive: its state when it was read.
    pub mark: Mark,
}

/// The state of a file, to recognise whether it is unchanged or has only grown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mark {
    /// The device that it is on.
    pub device: i64,
    /// Its number on that device.
    pub inode: i64,
    /// Its size in bytes.
    pub size: i64,
    /// When it was last changed.
    pub modified_ms: i64,
    /// For an archive, the hash of its first 64 KiB.
    pub first: Option<Vec<u8>>,
    /// The hash of its last 64 KiB. For a unit, of the 64 KiB before the point up to which it was read.
    pub last: Option<Vec<u8>>,
}

/// A member of a source, as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitRow {
    /// Its number.
    pub unit: i64,
    /// Its path in the source.
    pub label: String,
    /// How to open it.
    pub place: String,
    /// Up to where it was read.
    pub at: u64,
    /// Whether it was read to its end.
    pub has_ended: bool,
    /// Items before this time were left out.
    pub since_ms: Option<i64>,
    /// How many items were read.
    pub items: u64,
    /// How many of them begin where the next reading begins, and are then read again.
    pub again: u64,
    /// How many of them were bad.
    pub bad: u64,
    /// The state of the file at that time.
    pub mark: Mark,
    /// When it was found to be missing.
    pub gone_ms: Option<i64>,
}

/// What an import remembers, in a transaction of the store.
#[derive(Clone, Copy)]
pub struct Ledger<'a>(pub &'a Sqlite);

impl Ledger<'_> {
    /// The account of a connection, and what was settled for it.
    ///
    /// # Errors
    /// Returns the errors of SQLite, here and below.
    pub fn account(self, connection: &str) -> rusqlite::Result<Option<(i64, Settings)>> {
        self.0
            .prepare_cached("SELECT account, zone, date_order FROM account WHERE connection = ?1")?
            .query_row([connection], |row| {
                Ok((row.get(0)?, Settings { zone: row.get(1)?, date_order: row.get(2)? }))
            })
            .optional()
    }

    /// Whose data the files of an account are said to hold, and whether that was certain.
    pub fn owners(self, account: i64) -> rusqlite::Result<BTreeMap<String, bool>> {
        let known: Option<String> = self
            .0
            .prepare_cached("SELECT owner_names FROM account WHERE account = ?1")?
            .query_row([account], |row| row.get(0))?;
        Ok(known.and_then(|known| serde_json::from_str(&known).ok()).unwrap_or_default())
    }

    /// Records whose data a file of an account is said to hold.
    pub fn add_owner(self, account: i64, name: &str, is_sure: bool) -> rusqlite::Result<()> {
        let mut owners = self.owners(account)?;
        let known = owners.get(name).copied();
        if known.is_some_and(|known| known || !is_sure) {
            return Ok(());
        }
        owners.insert(name.to_owned(), is_sure);
        let owners = serde_json::to_string(&owners).unwrap_or_default();
        self.0
            .execute("UPDATE account SET owner_names = ?2 WHERE account = ?1", params![account, owners])
            .map(drop)
    }

    /// The connection of an account.
    pub fn connection(self, account: i64) -> rusqlite::Result<Option<String>> {
        self.0
            .prepare_cached("SELECT connection FROM account WHERE account = ?1")?
            .query_row([account], |row| row.get(0))
            .optional()
    }

    /// Records what was settled for a connection, and returns its account.
    pub fn put_account(self, connection: &str, settings: &Settings) -> rusqlite::Result<i64> {
        self.0
            .prepare_cached(
                "INSERT INTO account (connection, zone, date_order) VALUES (?1, ?2, ?3)
                 ON CONFLICT (connection) DO UPDATE SET zone = excluded.zone, date_order = excluded.date_order
                 RETURNING account",
            )?
            .query_row(params![connection, settings.zone, settings.date_order], |row| row.get(0))
    }

    /// Records when an account was last read to the end of its sources, and deletes former states that are too old.
    pub fn end_account(self, account: i64, now_ms: i64) -> rusqlite::Result<()> {
        self.0.execute("UPDATE account SET imported_ms = ?2 WHERE account = ?1", [account, now_ms])?;
        self.0.execute(
            "INSERT OR IGNORE INTO change_time (seq, at_ms) VALUES ((SELECT value FROM meta WHERE name = 'seq'), ?1)",
            [now_ms],
        )?;
        let old: Option<i64> = self.0.query_row(
            "SELECT max(to_seq) FROM history WHERE to_seq <= (SELECT max(seq) FROM change_time WHERE at_ms < ?1)",
            [now_ms.saturating_sub(HISTORY_MS)],
            |row| row.get(0),
        )?;
        if let Some(old) = old {
            self.0.execute("DELETE FROM history WHERE to_seq <= ?1", [old])?;
            self.0.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('history_from', ?1)", [old])?;
        }
        Ok(())
    }

    /// All sources, oldest first.
    pub fn sources(self) -> rusqlite::Result<Vec<SourceRow>> {
        let mut all = self.0.prepare(
            "SELECT source, account, path, format, version, settings, device, inode, size, modified_ms, first, last
             FROM source ORDER BY source",
        )?;
        let rows = all.query_map([], |row| {
            Ok(SourceRow {
                source: row.get(0)?,
                account: row.get(1)?,
                path: row.get(2)?,
                format: row.get(3)?,
                version: row.get(4)?,
                settings: row.get(5)?,
                mark: mark(row, 6, Some(10), 11)?,
            })
        })?;
        rows.collect()
    }

    /// Records a source, and returns its number.
    pub fn put_source(self, row: &SourceRow, now_ms: i64) -> rusqlite::Result<i64> {
        let Mark { device, inode, size, modified_ms, first, last } = &row.mark;
        let id = (row.source != 0).then_some(row.source);
        self.0
            .prepare_cached(
                "INSERT INTO source (source, account, path, format, version, settings, device, inode, size, modified_ms,
                   first, last, imported_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
                 ON CONFLICT DO UPDATE SET path = excluded.path, version = excluded.version, settings = excluded.settings,
                   device = excluded.device, inode = excluded.inode, size = excluded.size,
                   modified_ms = excluded.modified_ms, first = excluded.first, last = excluded.last,
                   imported_ms = excluded.imported_ms
                 RETURNING source",
            )?
            .query_row(
                params![
                    id, row.account, row.path, row.format, row.version, row.settings, device, inode, size,
                    modified_ms, first, last, now_ms
                ],
                |row| row.get(0),
            )
    }

    /// The members of a source.
    pub fn units(self, source: i64) -> rusqlite::Result<Vec<UnitRow>> {
        let mut all = self.0.prepare(&format!("{UNITS} ORDER BY unit"))?;
        all.query_map([source], unit_row)?.collect()
    }

    /// A member of a source, by its label.
    pub fn unit(self, source: i64, label: &str) -> rusqlite::Result<Option<UnitRow>> {
        let mut one = self.0.prepare_cached(&format!("{UNITS} AND label = ?2"))?;
        one.query_row(params![source, label], unit_row).optional()
    }

    /// Records a member of a source and how far it was read, and returns its number.
    pub fn put_unit(self, source: i64, row: &UnitRow) -> rusqlite::Result<i64> {
        let Mark { device, inode, size, modified_ms, last, .. } = &row.mark;
        self.0
            .prepare_cached(
                "INSERT INTO checkpoint (source, label, place, at, has_ended, since_ms, items, bad, device, inode, size,
                   modified_ms, tail, gone_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
                 ON CONFLICT (source, label) DO UPDATE SET place = excluded.place, at = excluded.at,
                   has_ended = excluded.has_ended, since_ms = excluded.since_ms, items = excluded.items,
                   bad = excluded.bad, device = excluded.device, inode = excluded.inode, size = excluded.size,
                   modified_ms = excluded.modified_ms, tail = excluded.tail, gone_ms = excluded.gone_ms
                 RETURNING unit",
            )?
            .query_row(
                params![
                    source,
                    row.label,
                    row.place,
                    row.at.cast_signed(),
                    i64::from(row.has_ended) | row.again.cast_signed() << 1,
                    row.since_ms,
                    row.items.cast_signed(),
                    row.bad.cast_signed(),
                    device,
                    inode,
                    size,
                    modified_ms,
                    last,
                    row.gone_ms
                ],
                |row| row.get(0),
            )
    }

    /// Whether the records of an item still match it, if it is read in `unit`.
    pub fn is_known(self, account: i64, raw: &Digest, unit: i64) -> rusqlite::Result<bool> {
        self.0
            .prepare_cached(
                "SELECT 1 FROM item WHERE account = ?1 AND raw = ?2 AND (is_shared = 1 OR unit = ?3) LIMIT 1",
            )?
            .exists(params![account, raw, unit])
    }

    /// Records an item whose first record is `rid`. A `shared` item counts in any unit in which it is read again.
    pub fn put_item(
        self,
        account: i64,
        raw: &Digest,
        unit: i64,
        is_shared: bool,
        rid: Option<i64>,
    ) -> rusqlite::Result<()> {
        self.0
            .prepare_cached(
                "INSERT OR REPLACE INTO item (account, raw, unit, is_shared, rid) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![account, raw, unit, is_shared, rid])
            .map(drop)
    }

    /// Forgets the items that made a changed record, so that they are parsed when they are read again.
    pub fn forget_items(self, rid: i64, unit: i64) -> rusqlite::Result<()> {
        self.0
            .prepare_cached("DELETE FROM item WHERE rid = ?1 AND (is_shared = 1 OR unit = ?2)")?
            .execute([rid, unit])
            .map(drop)
    }

    /// Does the same as [`Ledger::forget_items`], but keeps the items that other units may refer to.
    pub fn forget_own_items(self, rid: i64, unit: i64) -> rusqlite::Result<()> {
        self.0
            .prepare_cached("DELETE FROM item WHERE rid = ?1 AND is_shared = 0 AND unit = ?2")?
            .execute([rid, unit])
            .map(drop)
    }

    /// Forgets the items whose first record is `rid`, so that they are parsed when they are read again, in any
    /// unit.
    pub fn forget_items_of(self, rid: i64) -> rusqlite::Result<()> {
        self.0.prepare_cached("DELETE FROM item WHERE rid = ?1")?.execute([rid]).map(drop)
    }

    /// Records the last item of a unit that may grow, with the records that it made. It is forgotten if one of them
    /// changes.
    pub fn put_half(
        self,
        account: i64,
        unit: i64,
        offset: u64,
        bytes: &[u8],
        records: &[i64],
    ) -> rusqlite::Result<()> {
        let half = Half { length: bytes.len(), sum: half_sum(offset, bytes), records: Vec::new() };
        self.forget_half(account, unit, &half)?;
        let Some((mut raw, _)) = half.bounds(unit) else { return Ok(()) };
        for (number, rid) in (0_u16..).zip(records) {
            raw[14..].copy_from_slice(&number.to_be_bytes());
            self.put_item(account, &raw, unit, true, Some(*rid))?;
        }
        Ok(())
    }

    /// The recorded last items of a unit that may grow.
    pub fn halves(self, account: i64, unit: i64) -> rusqlite::Result<Vec<Half>> {
        let Ok(unit_part) = u32::try_from(unit) else { return Ok(Vec::new()) };
        let (first, last) = half_bounds(unit_part);
        let mut all = self.0.prepare_cached(
            "SELECT raw, rid FROM item WHERE account = ?1 AND raw BETWEEN ?2 AND ?3 AND unit = ?4 AND rid IS NOT NULL",
        )?;
        let rows = all.query_map(params![account, first, last, unit], |row| {
            Ok((row.get::<_, Digest>(0)?, row.get::<_, i64>(1)?))
        })?;
        let mut halves: Vec<Half> = Vec::new();
        for row in rows {
            let (raw, rid) = row?;
            let (mut length, mut sum) = ([0; 4], [0; 4]);
            length.copy_from_slice(&raw[6..10]);
            sum.copy_from_slice(&raw[10..14]);
            let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
            match halves.iter_mut().find(|half| half.length == length && half.sum == sum) {
                Some(half) => half.records.push(rid),
                None => halves.push(Half { length, sum, records: vec![rid] }),
            }
        }
        Ok(halves)
    }

    /// How many items have `rid` as their first record, not counting the recorded last items of `unit`.
    pub fn items_of(self, rid: i64, unit: i64) -> rusqlite::Result<u64> {
        let (first, last) = half_bounds(u32::try_from(unit).unwrap_or_default());
        self.0
            .prepare_cached("SELECT count(*) FROM item WHERE rid = ?1 AND raw NOT BETWEEN ?2 AND ?3")?
            .query_row(params![rid, first, last], |row| row.get::<_, i64>(0))
            .map(i64::cast_unsigned)
    }

    /// Forgets one recorded last item of a unit that may grow.
    pub fn forget_half(self, account: i64, unit: i64, half: &Half) -> rusqlite::Result<()> {
        let Some((first, last)) = half.bounds(unit) else { return Ok(()) };
        self.0
            .prepare_cached("DELETE FROM item WHERE account = ?1 AND raw BETWEEN ?2 AND ?3 AND unit = ?4")?
            .execute(params![account, first, last, unit])
            .map(drop)
    }

    /// The records that only missing members mentioned, and when the last of those members was missed.
    pub fn gone_records(self, source: i64) -> rusqlite::Result<Vec<(i64, i64)>> {
        let mut all = self.0.prepare(
            "SELECT s.rid, max(c.gone_ms) FROM checkpoint c JOIN sighting s ON s.unit = c.unit
             WHERE c.source = ?1 AND c.gone_ms IS NOT NULL AND NOT EXISTS (
               SELECT 1 FROM sighting o JOIN checkpoint k ON k.unit = o.unit WHERE o.rid = s.rid AND k.gone_ms IS NULL)
             GROUP BY s.rid",
        )?;
        all.query_map([source], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// What the units say about a record.
    pub fn sightings(self, rid: i64) -> rusqlite::Result<Vec<(i64, String)>> {
        let mut all =
            self.0.prepare_cached("SELECT unit, said FROM sighting WHERE rid = ?1 ORDER BY unit")?;
        all.query_map([rid], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// Records what a unit says about a record.
    pub fn put_sighting(self, rid: i64, unit: i64, said: &str) -> rusqlite::Result<()> {
        self.0
            .prepare_cached("INSERT OR REPLACE INTO sighting (rid, unit, said) VALUES (?1, ?2, ?3)")?
            .execute(params![rid, unit, said])
            .map(drop)
    }

    /// Removes what a unit says about a record.
    pub fn remove_sighting(self, rid: i64, unit: i64) -> rusqlite::Result<()> {
        self.0
            .prepare_cached("DELETE FROM sighting WHERE rid = ?1 AND unit = ?2")?
            .execute([rid, unit])
            .map(drop)
    }

    /// Records a blob that stays where it is.
    pub fn put_blob(self, id: &str, media_type: &str, size: u64) -> rusqlite::Result<()> {
        self.0
            .prepare_cached("INSERT OR IGNORE INTO blob (id, media_type, size) VALUES (?1, ?2, ?3)")?
            .execute(params![id, media_type, size.cast_signed()])
            .map(drop)
    }

    /// Records where a blob is.
    pub fn put_blob_place(self, id: &str, unit: i64, place: &BlobPlace) -> rusqlite::Result<()> {
        self.0
            .prepare_cached(
                "INSERT OR REPLACE INTO blob_place (blob_id, unit, offset, length, encoding) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                id,
                unit,
                place.offset.cast_signed(),
                place.length.cast_signed(),
                place.encoding.name()
            ])
            .map(drop)
    }

    /// Whether a blob has a copy in the store's directory.
    pub fn is_copied(self, id: &str) -> rusqlite::Result<bool> {
        self.0.prepare_cached("SELECT 1 FROM blob WHERE id = ?1 AND is_copied = 1")?.exists([id])
    }

    /// Whether an attachment is in a unit and has no copy in the store's directory.
    pub fn has_uncopied(self, unit: i64) -> rusqlite::Result<bool> {
        self.0
            .prepare_cached(
                "SELECT 1 FROM blob_place p JOIN blob b ON b.id = p.blob_id
                 WHERE p.unit = ?1 AND b.is_copied = 0 AND b.bytes IS NULL LIMIT 1",
            )?
            .exists([unit])
    }

    /// Records that a blob has a copy in the store's directory.
    pub fn mark_copied(self, id: &str) -> rusqlite::Result<()> {
        self.0.prepare_cached("UPDATE blob SET is_copied = 1 WHERE id = ?1")?.execute([id]).map(drop)
    }
}

/// What was read of an item that may grow. It is stored among the items, under a name that equals a hash only with
/// a chance of 1 in 2^48.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Half {
    /// How many bytes of it there were.
    pub length: usize,
    sum: [u8; 4],
    /// The records that were made from it.
    pub records: Vec<i64>,
}

impl Half {
    /// The least and the greatest name of its records in `unit`; `None` if a value is too large to be part of a
    /// name.
    fn bounds(&self, unit: i64) -> Option<(Digest, Digest)> {
        let mut first = half_of(u32::try_from(unit).ok()?);
        first[6..10].copy_from_slice(&u32::try_from(self.length).ok()?.to_be_bytes());
        first[10..14].copy_from_slice(&self.sum);
        let mut last = first;
        last[14..].fill(0xff);
        Some((first, last))
    }

    /// Whether the item at `offset` begins with it. At another offset, an item that begins alike is a different
    /// one.
    pub fn begins(&self, offset: u64, bytes: &[u8]) -> bool {
        bytes.get(..self.length).is_some_and(|half| half_sum(offset, half) == self.sum)
    }
}

fn half_of(unit: u32) -> Digest {
    let mut raw = Digest::default();
    raw[..2].copy_from_slice(b"ha");
    raw[2..6].copy_from_slice(&unit.to_be_bytes());
    raw
}

fn half_bounds(unit: u32) -> (Digest, Digest) {
    let (first, mut last) = (half_of(unit), half_of(unit));
    last[6..].fill(0xff);
    (first, last)
}

fn half_sum(offset: u64, bytes: &[u8]) -> [u8; 4] {
    let mut hash = ring::digest::Context::new(&ring::digest::SHA256);
    hash.update(&offset.to_be_bytes());
    hash.update(bytes);
    let hash = hash.finish();
    let mut sum = [0; 4];
    sum.copy_from_slice(&hash.as_ref()[..4]);
    sum
}

const UNITS: &str = "SELECT unit, label, place, at, has_ended, since_ms, items, bad, gone_ms, device, inode, size, modified_ms,
  tail FROM checkpoint WHERE source = ?1";

fn unit_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<UnitRow> {
    Ok(UnitRow {
        unit: row.get(0)?,
        label: row.get(1)?,
        place: row.get(2)?,
        at: row.get::<_, i64>(3)?.cast_unsigned(),
        has_ended: row.get::<_, i64>(4)? & 1 == 1,
        again: (row.get::<_, i64>(4)? >> 1).cast_unsigned(),
        since_ms: row.get(5)?,
        items: row.get::<_, i64>(6)?.cast_unsigned(),
        bad: row.get::<_, i64>(7)?.cast_unsigned(),
        gone_ms: row.get(8)?,
        mark: mark(row, 9, None, 13)?,
    })
}

/// Where a blob is in a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobPlace {
    /// Where its encoded bytes begin.
    pub offset: u64,
    /// How many encoded bytes there are.
    pub length: u64,
    /// How they are encoded.
    pub encoding: Encoding,
}

fn mark(row: &rusqlite::Row<'_>, at: usize, first: Option<usize>, last: usize) -> rusqlite::Result<Mark> {
    let number = |at: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at)?.unwrap_or_default());
    Ok(Mark {
        device: number(at)?,
        inode: number(at + 1)?,
        size: number(at + 2)?,
        modified_ms: number(at + 3)?,
        first: first.map(|first| row.get(first)).transpose()?.flatten(),
        last: row.get(last)?,
    })
}
