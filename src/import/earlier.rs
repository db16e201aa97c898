//! Earlier imports, for a format whose files have nothing that identifies their chats.

use std::any::Any;
use std::sync::Arc;

use rusqlite::{Connection as Sqlite, OptionalExtension as _, params};

use super::survey::Job;
use crate::vault::store::{Catalog, Store};

/// The most records of a stream that are examined.
const MOST_RECORDS: i64 = 20_000;

/// What was imported already.
pub trait Earlier {
    /// The accounts of the connector `connector`.
    fn accounts(&self, connector: &str) -> Vec<String>;

    /// The records of one of an account's streams; some of them if there are very many.
    fn records(&self, connector: &str, account: &str, stream: &str) -> Vec<String>;

    /// Which of these keys one of an account's streams has.
    fn has(&self, connector: &str, account: &str, stream: &str, keys: &[String]) -> Vec<bool>;

    /// What one of an account's streams has under each of these keys.
    fn stored(&self, connector: &str, account: &str, stream: &str, keys: &[&str]) -> Vec<Option<String>> {
        let _ = (connector, account, stream);
        vec![None; keys.len()]
    }

    /// The accounts and states of the plans that `format` made for earlier files in the same import.
    fn states(&self, format: &str) -> Vec<(String, Arc<dyn Any + Send + Sync>)> {
        let _ = format;
        Vec::new()
    }
}

/// The answers if nothing was imported before.
pub struct Nothing;

impl Earlier for Nothing {
    fn accounts(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn records(&self, _: &str, _: &str, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn has(&self, _: &str, _: &str, _: &str, keys: &[String]) -> Vec<bool> {
        vec![false; keys.len()]
    }
}

/// What a store has, and the plans for what a person named earlier in the same import.
pub struct Before<'a> {
    /// The store, if there is one.
    pub store: Option<&'a Store>,
    /// The plans.
    pub jobs: &'a [Job],
}

impl Before<'_> {
    /// The result of `work`, if there is a store that can be read.
    fn ask<T: Default>(&self, work: impl FnOnce(&Sqlite, &Catalog) -> rusqlite::Result<T>) -> T {
        let found = self.store.map(|store| store.read(|db, catalog| work(db, catalog)));
        found.and_then(Result::ok).unwrap_or_default()
    }
}

fn slot(catalog: &Catalog, connector: &str, account: &str, stream: &str) -> Option<i64> {
    let mut of = catalog.connections_of(connector);
    let connection = of.find(|connection| connection.display_name == account)?;
    catalog.slot(&connection.id, stream)
}

impl Earlier for Before<'_> {
    fn accounts(&self, connector: &str) -> Vec<String> {
        self.ask(|_, catalog| {
            Ok(catalog.connections_of(connector).map(|connection| connection.display_name.clone()).collect())
        })
    }

    fn records(&self, connector: &str, account: &str, stream: &str) -> Vec<String> {
        self.ask(|db, catalog| {
            let Some(slot) = slot(catalog, connector, account, stream) else { return Ok(Vec::new()) };
            let mut found = db.prepare(
                "SELECT whole(data, packed) FROM record WHERE slot = ?1 AND live = 1 ORDER BY key LIMIT ?2",
            )?;
            let rows = found.query_map(params![slot, MOST_RECORDS], |row| row.get(0))?;
            rows.collect()
        })
    }

    fn has(&self, connector: &str, account: &str, stream: &str, keys: &[String]) -> Vec<bool> {
        let found = self.ask(|db, catalog| {
            let Some(slot) = slot(catalog, connector, account, stream) else { return Ok(Vec::new()) };
            let mut found =
                db.prepare("SELECT 1 FROM record WHERE slot = ?1 AND key = ?2 AND data IS NOT NULL")?;
            keys.iter().map(|key| found.exists(params![slot, key])).collect()
        });
        if found.is_empty() { vec![false; keys.len()] } else { found }
    }

    fn stored(&self, connector: &str, account: &str, stream: &str, keys: &[&str]) -> Vec<Option<String>> {
        let found = self.ask(|db, catalog| {
            let Some(slot) = slot(catalog, connector, account, stream) else { return Ok(Vec::new()) };
            let mut found = db.prepare(
                "SELECT whole(data, packed) FROM record WHERE slot = ?1 AND key = ?2 AND data IS NOT NULL",
            )?;
            keys.iter().map(|key| found.query_row(params![slot, key], |row| row.get(0)).optional()).collect()
        });
        if found.is_empty() { vec![None; keys.len()] } else { found }
    }

    fn states(&self, format: &str) -> Vec<(String, Arc<dyn Any + Send + Sync>)> {
        let of = self.jobs.iter().filter(|job| job.format.name() == format);
        of.map(|job| (job.plan.account.clone(), Arc::clone(&job.plan.state))).collect()
    }
}
