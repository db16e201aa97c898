//! Writing records: what is new, what changed, and the indexes that follow.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{OptionalExtension, Transaction, params};

use super::catalog::{Catalog, Connection, last_seq};
use crate::vault::declaration::{Connector, Kind, Stream};
use crate::vault::fields::Fields;
use crate::vault::{time, words};

/// Makes the full-text index of every stream anew, after a change of what a word is.
///
/// # Errors
/// Whatever SQLite says.
pub fn reindex(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    let slots: Vec<i64> = tx
        .prepare("SELECT slot FROM slot")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for slot in slots {
        tx.execute_batch(&format!("DROP TABLE IF EXISTS text_{slot}"))?;
    }
    let catalog = Catalog::load(tx, 0)?;
    for connection in &catalog.connections {
        let mut ingest = Ingest::new(tx)?;
        ingest.connection(connection)?;
        for place in ingest.slots.values().filter(|place| !place.lexical.is_empty()) {
            let mut records =
                tx.prepare("SELECT rid, data FROM record WHERE slot = ?1 AND data IS NOT NULL")?;
            let mut records = records.query([place.number])?;
            while let Some(record) = records.next()? {
                let data = record.get_ref(1)?.as_str()?;
                ingest.index_words(place, record.get(0)?, &Fields::parse(data))?;
            }
        }
    }
    Ok(())
}

/// Writes records into the store, inside somebody's transaction.
pub struct Ingest<'a> {
    tx: &'a Transaction<'a>,
    seq: i64,
    slots: HashMap<String, Slot>,
}

#[derive(Clone)]
struct Slot {
    number: i64,
    stream: Arc<Stream>,
    foreign_keys: Arc<[String]>,
    /// The fields that full-text search covers, with the tags of their terms.
    lexical: Arc<[(String, words::Tag)]>,
}

impl<'a> Ingest<'a> {
    /// Begins where the last one ended.
    ///
    /// # Errors
    /// Whatever SQLite says.
    pub fn new(tx: &'a Transaction<'a>) -> rusqlite::Result<Self> {
        Ok(Self { tx, seq: last_seq(tx)?, slots: HashMap::new() })
    }

    /// Declares a connector, or replaces its declaration.
    ///
    /// # Errors
    /// Whatever SQLite says.
    pub fn connector(&mut self, connector: &Connector) -> rusqlite::Result<()> {
        let declaration = serde_json::to_string(connector)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        self.tx.execute(
            "INSERT INTO connector (key, place, declaration) VALUES (?1, (SELECT count(*) FROM connector), ?2)
             ON CONFLICT (key) DO UPDATE SET declaration = excluded.declaration",
            params![connector.key, declaration],
        )?;
        Ok(())
    }

    /// Opens a connection, creating it if it is new; what follows goes to it.
    ///
    /// # Errors
    /// Whatever SQLite says; if the connector is not declared.
    pub fn connection(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.tx.execute(
            "INSERT INTO connection (id, place, connector, display_name)
             VALUES (?1, (SELECT count(*) FROM connection), ?2, ?3) ON CONFLICT (id) DO NOTHING",
            params![connection.id, connection.connector, connection.display_name],
        )?;
        let declaration: String = self.tx.query_row(
            "SELECT declaration FROM connector WHERE key = ?1",
            [&connection.connector],
            |row| row.get(0),
        )?;
        let connector: Connector = serde_json::from_str(&declaration)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        self.slots.clear();
        for stream in &connector.streams {
            self.slot(connection, &connector, stream)?;
        }
        Ok(())
    }

    fn slot(
        &mut self,
        connection: &Connection,
        connector: &Connector,
        stream: &Arc<Stream>,
    ) -> rusqlite::Result<()> {
        self.tx.execute(
            "INSERT INTO slot (connection, stream) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            params![connection.id, stream.name],
        )?;
        let slot: i64 = self.tx.query_row(
            "SELECT slot FROM slot WHERE connection = ?1 AND stream = ?2",
            params![connection.id, stream.name],
            |row| row.get(0),
        )?;
        let mut lexical = Vec::new();
        for field in stream.lexical_fields() {
            self.tx.execute(
                "INSERT INTO text_field (slot, field, number)
                 VALUES (?1, ?2, (SELECT count(*) FROM text_field WHERE slot = ?1)) ON CONFLICT DO NOTHING",
                params![slot, field.name],
            )?;
            let tag = super::catalog::tag(self.tx, slot, &field.name)?;
            lexical.extend(tag.map(|tag| (field.name.clone(), tag)));
        }
        if !lexical.is_empty() {
            // The words come folded, so the tokeniser has nothing left to decide. The text itself is
            // in the record; only the index is kept here.
            self.tx.execute_batch(&format!(
                "CREATE VIRTUAL TABLE IF NOT EXISTS text_{slot} USING fts5 \
                 (terms, content='', contentless_delete=1, tokenize='ascii')"
            ))?;
        }
        let foreign_keys = connector
            .streams
            .iter()
            .flat_map(|from| &from.relations)
            .filter(|relation| relation.stream == stream.name)
            .map(|relation| relation.foreign_key.clone())
            .collect::<std::collections::BTreeSet<_>>();
        self.slots.insert(
            stream.name.clone(),
            Slot {
                number: slot,
                stream: Arc::clone(stream),
                foreign_keys: foreign_keys.into_iter().collect(),
                lexical: lexical.into(),
            },
        );
        Ok(())
    }

    /// Writes or deletes a record of the open connection. A record that is written as it was does
    /// not change.
    ///
    /// # Errors
    /// Whatever SQLite says; if the stream is not declared.
    pub fn put(
        &mut self,
        stream: &str,
        key: &str,
        emitted_ms: i64,
        data: Option<&str>,
    ) -> rusqlite::Result<()> {
        let Some(place) = self.slots.get(stream).cloned() else {
            return Err(rusqlite::Error::InvalidParameterName(format!(
                "{stream} is not a stream of this source"
            )));
        };
        let slot = place.number;
        let before = self
            .tx
            .prepare_cached("SELECT rid, seq, consent_ms, data FROM record WHERE slot = ?1 AND key = ?2")?
            .query_row(params![slot, key], |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, i64>(1)?,
                    row.get::<_, Option<i64>>(2)?,
                    row.get::<_, Option<String>>(3)?,
                ))
            })
            .optional()?;
        if before.as_ref().is_none_or(|(.., old)| old.is_none()) && data.is_none() {
            return Ok(());
        }
        if before.as_ref().is_some_and(|(.., old)| old.as_deref() == data) {
            return Ok(());
        }
        self.seq += 1;
        let fields = data.map(Fields::parse).unwrap_or_default();
        let ms = |field: Option<&String>| {
            field.and_then(|name| fields.text(name)).and_then(|text| time::parse_ms(&text))
        };
        let sort = ms(place.stream.cursor_field.as_ref()).unwrap_or(i64::MIN);
        let consent = ms(place.stream.consent_time_field.as_ref());
        let rid = if let Some((rid, from, old_consent, old)) = before {
            self.tx
                .prepare_cached("INSERT INTO history (slot, key, from_seq, to_seq, consent_ms, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
                .execute(params![slot, key, from, self.seq, old_consent, old])?;
            if !place.lexical.is_empty() {
                self.tx
                    .prepare_cached(&format!("DELETE FROM text_{slot} WHERE rowid = ?1"))?
                    .execute([rid])?;
            }
            for field in place.foreign_keys.iter() {
                if let Some(value) = old.as_deref().and_then(|old| Fields::parse(old).text(field)) {
                    self.tx
                        .prepare_cached("DELETE FROM foreign_key WHERE slot = ?1 AND field = ?2 AND value = ?3 AND rid = ?4")?
                        .execute(params![slot, field, value, rid])?;
                }
            }
            self.tx
                .prepare_cached("UPDATE record SET seq = ?2, sort = ?3, consent_ms = ?4, emitted_ms = ?5, data = ?6 WHERE rid = ?1")?
                .execute(params![rid, self.seq, sort, consent, emitted_ms, data])?;
            rid
        } else {
            self.tx
                .prepare_cached("INSERT INTO record (slot, key, seq, sort, consent_ms, emitted_ms, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
                .execute(params![slot, key, self.seq, sort, consent, emitted_ms, data])?;
            self.tx.last_insert_rowid()
        };
        if data.is_some() {
            self.index(&place, rid, key, &fields)?;
        }
        Ok(())
    }

    fn index(&self, place: &Slot, rid: i64, key: &str, fields: &Fields<'_>) -> rusqlite::Result<()> {
        self.index_words(place, rid, fields)?;
        for field in place.foreign_keys.iter() {
            if let Some(value) = fields.text(field) {
                self.tx
                    .prepare_cached(
                        "INSERT OR IGNORE INTO foreign_key (slot, field, value, rid) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![place.number, field, value, rid])?;
            }
        }
        for field in place.stream.fields.iter().filter(|field| field.kind == Kind::Blob) {
            if let Some(blob) = fields.blob_id(&field.name) {
                self.tx
                    .prepare_cached("INSERT OR IGNORE INTO blob_reference (blob_id, slot, key, field) VALUES (?1, ?2, ?3, ?4)")?
                    .execute(params![blob, place.number, key, field.name])?;
            }
        }
        Ok(())
    }

    fn index_words(&self, place: &Slot, rid: i64, fields: &Fields<'_>) -> rusqlite::Result<()> {
        if place.lexical.is_empty() {
            return Ok(());
        }
        let mut terms = String::new();
        for (field, tag) in place.lexical.iter() {
            if let Some(text) = fields.text(field) {
                words::add_terms(&mut terms, *tag, &text);
            }
        }
        self.tx
            .prepare_cached(&format!("INSERT INTO text_{} (rowid, terms) VALUES (?1, ?2)", place.number))?
            .execute(params![rid, terms])?;
        Ok(())
    }

    /// Keeps a blob.
    ///
    /// # Errors
    /// Whatever SQLite says.
    pub fn blob(&mut self, id: &str, media_type: &str, bytes: &[u8]) -> rusqlite::Result<()> {
        self.tx
            .prepare_cached(
                "INSERT OR IGNORE INTO blob (id, media_type, size, bytes) VALUES (?1, ?2, length(?3), ?3)",
            )?
            .execute(params![id, media_type, bytes])?;
        Ok(())
    }

    /// Notes where the changes end, and that the catalog may have changed.
    ///
    /// # Errors
    /// Whatever SQLite says.
    pub fn finish(self) -> rusqlite::Result<()> {
        self.tx.execute("UPDATE meta SET value = ?1 WHERE name = 'seq'", [self.seq])?;
        self.tx.execute("UPDATE meta SET value = value + 1 WHERE name = 'catalog'", [])?;
        Ok(())
    }
}
