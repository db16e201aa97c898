//! Deletes an account that its owner wants to forget, so that no row, word or copy of it remains in any file.

use std::collections::BTreeSet;

use rusqlite::{Connection as Sqlite, OptionalExtension as _, Transaction, params};

use super::database::Store;
use super::{blobs, values, word_index};

/// The prefix in `meta` for an account that is being deleted; its id follows.
const PENDING: &str = "forget:";
/// The prefix in `meta` for an account that was deleted; a hash of its id or its name follows.
const GONE: &str = "forgotten:";
/// How many records are deleted in one transaction.
const BATCH: i64 = 2_000;
/// How often to try to truncate the log. An active reader prevents it.
const TRIES: u32 = 100;
const WAIT: std::time::Duration = std::time::Duration::from_millis(50);

/// The parts of an account that must still be deleted.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
struct Pending {
    slots: Vec<i64>,
    account: Option<i64>,
}

/// What was deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Erased {
    /// Records.
    pub records: usize,
    /// Whether deleted pages are still in the log, because another process is reading.
    pub is_log_left: bool,
}

impl Store {
    /// Removes the account `connection` from the catalog, so that no read finds it from then on. [`Store::erase`]
    /// deletes the rest of it.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn hide(&self, connection: &str) -> rusqlite::Result<()> {
        self.write(|tx, catalog| {
            let slots = numbers(tx, "SELECT slot FROM slot WHERE connection = ?1", connection)?;
            let account = tx
                .query_row("SELECT account FROM account WHERE connection = ?1", [connection], |row| {
                    row.get(0)
                })
                .optional()?;
            let name = catalog.connection(connection).map(|known| known.display_name.as_str());
            let pending = serde_json::to_string(&Pending { slots, account }).unwrap_or_default();
            tx.execute(
                "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)",
                params![format!("{PENDING}{connection}"), pending],
            )?;
            tx.execute("DELETE FROM connection WHERE id = ?1", [connection])?;
            // It counts as forgotten from now on. A repeated request finishes what was begun.
            for called in name.into_iter().chain([connection]).map(hash) {
                tx.execute("INSERT OR REPLACE INTO meta VALUES (?1, 1)", [format!("{GONE}{called}")])?;
            }
            changed(tx)
        })
    }

    /// Whether an account was hidden and not yet erased. An import must not begin before that is done.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn is_erasing(&self) -> rusqlite::Result<bool> {
        self.read(|db, _| Ok(!pending(db)?.is_empty()))
    }

    /// Whether an account with this id or name was forgotten.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn was_forgotten(&self, name: &str) -> rusqlite::Result<bool> {
        self.read(|db, _| {
            db.query_row("SELECT 1 FROM meta WHERE name = ?1", [format!("{GONE}{}", hash(name))], |_| Ok(()))
                .optional()
                .map(|found| found.is_some())
        })
    }

    /// Deletes the rest of hidden accounts in small transactions, and frees the space. The work is complete once
    /// [`Store::end_erasing`] is called; copies next to the store are deleted in between.
    ///
    /// # Errors
    /// Returns the errors of SQLite. A repeated call resumes where this one stopped.
    pub fn erase(&self) -> rusqlite::Result<Erased> {
        let mut erased = Erased::default();
        self.with_writer(|db| {
            db.pragma_update(None, "secure_delete", true)?;
            db.pragma_update(None, "temp_store", "MEMORY")
        })?;
        for (_, pending) in self.read(|db, _| pending(db))? {
            for slot in &pending.slots {
                while let gone @ 1.. = self.write(|tx, _| records(tx, *slot))? {
                    erased.records += gone;
                }
                while self.write(|tx, _| history(tx, *slot))? > 0 {}
                self.write(|tx, _| {
                    word_index::forget(tx, *slot)?;
                    values::drop_slot(tx, *slot)?;
                    for table in ["foreign_key", "blob_reference", "text_field"] {
                        tx.execute(&format!("DELETE FROM {table} WHERE slot = ?1"), [slot])?;
                    }
                    Ok::<_, rusqlite::Error>(())
                })?;
            }
            self.write(|tx, _| {
                pending.account.map_or(Ok(()), |account| ledger(tx, account))?;
                unused_blobs(tx)?;
                for slot in &pending.slots {
                    tx.execute("DELETE FROM slot WHERE slot = ?1", [slot])?;
                }
                tx.execute_batch(
                    "DELETE FROM connector WHERE key NOT IN (SELECT connector FROM connection)",
                )?;
                changed(tx)?;
                Ok::<_, rusqlite::Error>(())
            })?;
        }
        self.with_writer(|db| db.execute_batch("VACUUM"))?;
        for _ in 0..TRIES {
            erased.is_log_left = !self.write_back()?;
            if !erased.is_log_left {
                break;
            }
            std::thread::sleep(WAIT);
        }
        Ok(erased)
    }

    /// The copies of attachments that are in use, by their names next to the store.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn copies(&self) -> rusqlite::Result<BTreeSet<String>> {
        self.read(|db, _| blobs::copies(db))
    }

    /// Records that nothing is left of accounts that were hidden.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn end_erasing(&self) -> rusqlite::Result<()> {
        self.write(|tx, _| {
            tx.execute("DELETE FROM meta WHERE name LIKE ?1", [format!("{PENDING}%")]).map(drop)
        })
    }
}

fn hash(name: &str) -> String {
    crate::hex::sha256(name.as_bytes())
}

fn numbers(db: &Sqlite, sql: &str, of: &str) -> rusqlite::Result<Vec<i64>> {
    db.prepare(sql)?.query_map([of], |row| row.get(0))?.collect()
}

fn pending(db: &Sqlite) -> rusqlite::Result<Vec<(String, Pending)>> {
    let mut all = db.prepare("SELECT name, value FROM meta WHERE name LIKE ?1")?;
    let all = all.query_map([format!("{PENDING}%")], |row| {
        let (name, pending): (String, String) = (row.get(0)?, row.get(1)?);
        Ok((name, serde_json::from_str(&pending).unwrap_or_default()))
    })?;
    all.collect()
}

/// Deletes some records of a slot, with everything that depends on them. Returns how many.
fn records(tx: &Transaction<'_>, slot: i64) -> rusqlite::Result<usize> {
    let of = "IN (SELECT rid FROM record WHERE slot = ?1 ORDER BY rid LIMIT ?2)";
    for table in ["sighting", "item"] {
        tx.execute(&format!("DELETE FROM {table} WHERE rid {of}"), [slot, BATCH])?;
    }
    tx.execute(&format!("DELETE FROM record WHERE rid {of}"), [slot, BATCH])
}

fn history(tx: &Transaction<'_>, slot: i64) -> rusqlite::Result<usize> {
    tx.execute(
        "DELETE FROM history WHERE slot = ?1 AND key IN (SELECT key FROM history WHERE slot = ?1 LIMIT ?2)",
        [slot, BATCH],
    )
}

/// Deletes what imports remember of an account.
fn ledger(tx: &Transaction<'_>, account: i64) -> rusqlite::Result<()> {
    const UNITS: &str =
        "SELECT unit FROM checkpoint WHERE source IN (SELECT source FROM source WHERE account = ?1)";
    for table in ["blob_place", "sighting"] {
        tx.execute(&format!("DELETE FROM {table} WHERE unit IN ({UNITS})"), [account])?;
    }
    tx.execute(
        "DELETE FROM checkpoint WHERE source IN (SELECT source FROM source WHERE account = ?1)",
        [account],
    )?;
    for table in ["item", "source", "account"] {
        tx.execute(&format!("DELETE FROM {table} WHERE account = ?1"), [account])?;
    }
    Ok(())
}

/// Deletes the blobs that are no longer in use.
fn unused_blobs(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    tx.execute("DELETE FROM blob WHERE id NOT IN (SELECT blob_id FROM blob_reference)", []).map(drop)
}

fn changed(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    tx.execute("UPDATE meta SET value = value + 1 WHERE name = 'catalog'", []).map(drop)
}
