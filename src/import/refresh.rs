//! Looks again at what was imported before (O2.2): what is gone, what is unchanged, and what must be
//! read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection as Sqlite;

use super::format::{DateOrder, Format};
use super::formats;
use super::resume::is_same_file;
use super::survey::{Named, date_order};
use super::tally::{Counts, Outcome};
use crate::archive::Stamp;
use crate::vault::store::Catalog;
use crate::vault::store::ledger::{Ledger, SourceRow, UnitRow};

/// What is known about a source that is read again without being named: the person decides about anything
/// new in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Which format read which member.
    members: HashMap<String, &'static str>,
    formats: BTreeSet<&'static str>,
    /// The order of dates in members, as the person named it.
    orders: HashMap<String, DateOrder>,
    /// The folders that contain members.
    folders: BTreeSet<String>,
    connections: BTreeSet<String>,
    /// Items before this time were left out of each member.
    pub since_ms: Option<i64>,
}

impl Seen {
    /// The format that read a member.
    pub fn reader_of(&self, label: &str) -> Option<&'static str> {
        self.members.get(label).copied()
    }

    /// The order of dates that the person named for these members, if it is the same for all that have one.
    pub fn order_of<'a>(&self, labels: impl Iterator<Item = &'a str>) -> Option<DateOrder> {
        let mut orders = labels.filter_map(|label| self.orders.get(label).copied());
        let first = orders.next()?;
        orders.all(|order| order == first).then_some(first)
    }

    /// Whether something that was read is in the same folder as a member.
    pub fn has_folder_of(&self, label: &str) -> bool {
        self.folders.contains(folder_of(label))
    }

    /// Whether a format read anything from it.
    pub fn has_format(&self, name: &str) -> bool {
        self.formats.contains(name)
    }

    /// Whether it was read into this connection.
    pub fn has_connection(&self, id: &str) -> bool {
        self.connections.contains(id)
    }
}

/// The folder of a member; the two folders of a Maildir count as one.
pub fn folder_of(label: &str) -> &str {
    let folder = label.rsplit_once('/').map_or("", |(folder, _)| folder);
    match folder.rsplit_once('/').map_or(("", folder), |parts| parts) {
        (above, "cur" | "new") => above,
        _ => folder,
    }
}

/// The sources that were imported before, in their current state.
#[derive(Default)]
pub struct Refresh {
    /// Sources to read.
    pub named: Vec<Named>,
    /// The results for unchanged sources, which are not opened.
    pub same: Vec<Outcome>,
    /// Sources that no longer exist.
    pub gone: Vec<PathBuf>,
    /// Sources that cannot be accessed.
    pub unseen: Vec<(PathBuf, io::Error)>,
}

impl Refresh {
    /// Checks each source only by its name, size and time. With `is_again`, all existing sources are
    /// read.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn of(db: &Sqlite, catalog: &Catalog, is_again: bool) -> rusqlite::Result<Self> {
        let ledger = Ledger(db);
        let mut by_path: BTreeMap<PathBuf, Vec<SourceRow>> = BTreeMap::new();
        for row in ledger.sources()? {
            let path = PathBuf::from(&row.path);
            // Files that came in through a page have no place.
            if path.is_absolute() {
                by_path.entry(path).or_default().push(row);
            }
        }
        // In the order of their first import.
        let mut all: Vec<(PathBuf, Vec<SourceRow>)> = by_path.into_iter().collect();
        all.sort_by_key(|(_, rows)| rows.iter().map(|row| row.source).min());
        let mut found = Self::default();
        for (path, rows) in all {
            match fs::metadata(&path) {
                Err(error) if is_gone(&error) => found.gone.push(path),
                Err(error) => found.unseen.push((path, error)),
                Ok(now) => {
                    let readings = readings(ledger, catalog, rows)?;
                    let stamp = (now.is_file() && !has_log(&path)).then(|| Stamp::of(&now));
                    if !is_again && readings.iter().all(|one| one.is_same(stamp)) {
                        found.same.extend(readings.iter().map(|one| one.outcome(&path)));
                    } else {
                        found.named.push(named(path, &readings));
                    }
                }
            }
        }
        Ok(found)
    }

    /// Whether no source was imported before that could still exist.
    pub const fn is_empty(&self) -> bool {
        self.named.is_empty() && self.same.is_empty() && self.gone.is_empty() && self.unseen.is_empty()
    }

    /// Where the sources are or were.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let named = self.named.iter().map(|named| named.path.as_path());
        let same = self.same.iter().map(|one| one.path.as_path());
        let unseen = self.unseen.iter().map(|(path, _)| path.as_path());
        named.chain(same).chain(self.gone.iter().map(PathBuf::as_path)).chain(unseen)
    }
}

/// Whether a database has its latest changes in a log next to this file.
fn has_log(path: &Path) -> bool {
    let beside = |suffix: &str| {
        let mut path = path.as_os_str().to_owned();
        path.push(suffix);
        PathBuf::from(path)
    };
    ["-wal", "-journal"].iter().any(|suffix| beside(suffix).symlink_metadata().is_ok())
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A source as one format read it into one account.
struct Reading {
    row: SourceRow,
    units: Vec<UnitRow>,
    format: Option<&'static dyn Format>,
    connection: String,
    connector: String,
    account: String,
    /// The account's current settings.
    settings: String,
    date_order: Option<DateOrder>,
}

fn readings(ledger: Ledger<'_>, catalog: &Catalog, rows: Vec<SourceRow>) -> rusqlite::Result<Vec<Reading>> {
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        // Nothing is known about an account that was deleted meanwhile.
        let Some(id) = ledger.connection(row.account)? else { continue };
        let Some(connection) = catalog.connections.iter().find(|known| known.id == id) else { continue };
        let settled = ledger.account(&id)?.map(|(_, settings)| settings).unwrap_or_default();
        all.push(Reading {
            units: ledger.units(row.source)?,
            format: formats::ALL.iter().copied().find(|format| format.name() == row.format),
            connector: connection.connector.clone(),
            account: connection.display_name.clone(),
            connection: id,
            settings: settled.joined(),
            date_order: settled.date_order.as_deref().and_then(date_order),
            row,
        });
    }
    Ok(all)
}

impl Reading {
    /// Whether a file that has not changed was read completely, as it would be read now.
    fn is_same(&self, stamp: Option<Stamp>) -> bool {
        let is_archive = self.row.mark.size > 0;
        let is_whole = |unit: &UnitRow| {
            unit.has_ended && unit.gone_ms.is_none() && (is_archive || is_same_file(&unit.mark, stamp))
        };
        self.format.is_some_and(|format| format.version() == self.row.version)
            && self.settings == self.row.settings
            && (!is_archive || is_same_file(&self.row.mark, stamp))
            && !self.units.is_empty()
            && self.units.iter().all(is_whole)
    }

    fn outcome(&self, path: &Path) -> Outcome {
        let items = self.units.iter().map(|unit| unit.items).sum();
        Outcome {
            format: self.row.format.clone().into(),
            connector: self.connector.clone(),
            account: self.account.clone(),
            path: path.to_owned(),
            counts: Counts { read: items, same: items, ..Counts::default() },
            known_bad: self.units.iter().map(|unit| unit.bad).sum(),
            ..Outcome::default()
        }
    }
}

fn named(path: PathBuf, readings: &[Reading]) -> Named {
    let mut before = Seen::default();
    let units = || readings.iter().flat_map(|one| &one.units);
    if units().all(|unit| unit.since_ms.is_some()) {
        before.since_ms = units().filter_map(|unit| unit.since_ms).max();
    }
    for one in readings {
        before.connections.insert(one.connection.clone());
        let Some(format) = one.format else { continue };
        before.formats.insert(format.name());
        let labels = one.units.iter().map(|unit| (unit.label.clone(), format.name()));
        before.members.extend(labels);
        if let Some(order) = one.date_order {
            before.orders.extend(one.units.iter().map(|unit| (unit.label.clone(), order)));
        }
        before.folders.extend(one.units.iter().map(|unit| folder_of(&unit.label).to_owned()));
    }
    Named {
        path,
        formats: formats::ALL.to_vec(),
        is_as: false,
        account: None,
        received: None,
        before: Some(Arc::new(before)),
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the files belong to the test")]
mod tests {
    use super::*;

    #[test]
    fn the_two_folders_of_a_maildir_are_one() {
        for (label, wanted) in [
            ("a.mbox", ""),
            ("x/a.eml", "x"),
            ("cur/1:2,S", ""),
            ("new/2", ""),
            ("mail/.Work/cur/1:2,S", "mail/.Work"),
            ("mail/.Work/new/1", "mail/.Work"),
            ("current/1", "current"),
        ] {
            assert_eq!(folder_of(label), wanted, "{label}");
        }
    }

    #[test]
    fn a_log_beside_a_database_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("History");
        fs::write(&path, "x").unwrap();
        assert!(!has_log(&path));
        fs::write(folder.path().join("History-wal"), "").unwrap();
        assert!(has_log(&path));
    }
}
