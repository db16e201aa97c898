//! The tables, and how those of an older format are converted.

/// Changes when the tables do. A data directory of another version is refused.
pub const FORMAT: i64 = 7;

/// The tables of format 1.
pub const TABLES: &str = "
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE connector (key TEXT PRIMARY KEY, place INTEGER NOT NULL, declaration TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE connection (id TEXT PRIMARY KEY, place INTEGER NOT NULL, connector TEXT NOT NULL, display_name TEXT NOT NULL) WITHOUT ROWID;
-- A slot is one stream of one connection.
CREATE TABLE slot (slot INTEGER PRIMARY KEY, connection TEXT NOT NULL, stream TEXT NOT NULL, UNIQUE (connection, stream));
-- The current state. Deleted records stay, without data, so that readers learn of the deletion.
CREATE TABLE record (
  rid INTEGER PRIMARY KEY, slot INTEGER NOT NULL, key TEXT NOT NULL,
  seq INTEGER NOT NULL,          -- when it last changed, in the order of all changes
  sort INTEGER NOT NULL,         -- the cursor field in ms, or the least integer where it is null
  consent_ms INTEGER,            -- the consent time field in ms
  emitted_ms INTEGER NOT NULL,
  live INTEGER NOT NULL AS (data IS NOT NULL) STORED,
  data TEXT,                     -- verbatim, or null when deleted; last, because it can be long
  UNIQUE (slot, key));
-- It has the columns that counts and grants need, so that they never read the data.
CREATE INDEX record_sort ON record (slot, live, sort, key, consent_ms, emitted_ms);
-- The same for the results of a search, which are looked up in a small index, not among long records.
CREATE INDEX record_found ON record (rid, slot, live, sort, key, consent_ms);
CREATE INDEX record_seq ON record (slot, seq);
-- Former states: valid from one change up to, not including, another.
CREATE TABLE history (slot INTEGER NOT NULL, key TEXT NOT NULL, from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL,
  consent_ms INTEGER, data TEXT, PRIMARY KEY (slot, key, from_seq)) WITHOUT ROWID;
-- The foreign keys that relations use.
CREATE TABLE foreign_key (slot INTEGER NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, rid INTEGER NOT NULL,
  PRIMARY KEY (slot, field, value, rid)) WITHOUT ROWID;
CREATE TABLE blob (id TEXT PRIMARY KEY, media_type TEXT NOT NULL, bytes BLOB NOT NULL);
CREATE TABLE blob_reference (blob_id TEXT NOT NULL, slot INTEGER NOT NULL, key TEXT NOT NULL, field TEXT NOT NULL,
  PRIMARY KEY (blob_id, slot, key, field)) WITHOUT ROWID;
CREATE TABLE client (client_id TEXT PRIMARY KEY, metadata TEXT NOT NULL, issued_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE grants (grant_id TEXT PRIMARY KEY, body TEXT NOT NULL, expires_ms INTEGER, revoked_ms INTEGER) WITHOUT ROWID;
-- Only the SHA-256 of a token is stored.
CREATE TABLE token (hash TEXT PRIMARY KEY, kind TEXT NOT NULL, grant_id TEXT) WITHOUT ROWID;
";

/// What format 2 adds to format 1: packages of grants, tokens that expire on their own, refresh families.
pub const TABLES_2: &str = "
ALTER TABLE token ADD COLUMN package_id TEXT;
ALTER TABLE token ADD COLUMN family_id TEXT;
ALTER TABLE token ADD COLUMN expires_ms INTEGER;
-- The grants (a JSON list of their ids) that one token covers.
CREATE TABLE package (package_id TEXT PRIMARY KEY, client_id TEXT NOT NULL, grants TEXT NOT NULL) WITHOUT ROWID;
-- All tokens that descend from one approval. They are revoked together.
CREATE TABLE family (family_id TEXT PRIMARY KEY, client_id TEXT NOT NULL, grant_id TEXT, package_id TEXT,
  resource TEXT, revoked_ms INTEGER) WITHOUT ROWID;
-- Only the SHA-256 of a refresh token is stored. A used one stays, so that a second use is noticed.
CREATE TABLE refresh (hash TEXT PRIMARY KEY, family_id TEXT NOT NULL, used_ms INTEGER) WITHOUT ROWID;
";

/// What format 4 adds to format 3.
pub const TABLES_4: &str = "
-- A number for each field of a slot that full-text search covers, with which its terms in the index are tagged. It stays, whatever
-- fields are declared later.
CREATE TABLE text_field (slot INTEGER NOT NULL, field TEXT NOT NULL, number INTEGER NOT NULL,
  PRIMARY KEY (slot, field)) WITHOUT ROWID;
-- Finds what a grant with limits in time covers, without looking at the rest.
CREATE INDEX record_consent ON record (slot, live, consent_ms, key, sort, emitted_ms);
";

/// What format 5 adds to format 4: where imported records came from, and blobs that stay where they are.
pub const TABLES_5: &str = "
-- An account that an import fills, with what was settled about its files and when it was last read.
CREATE TABLE account (account INTEGER PRIMARY KEY, connection TEXT NOT NULL UNIQUE, zone TEXT, date_order TEXT,
  owner_names TEXT, imported_ms INTEGER);
-- A file, folder or archive that a person named, as one format reads it for one account.
CREATE TABLE source (source INTEGER PRIMARY KEY, account INTEGER NOT NULL, path TEXT NOT NULL, format TEXT NOT NULL,
  version INTEGER NOT NULL, settings TEXT NOT NULL,
  device INTEGER, inode INTEGER, size INTEGER, modified_ms INTEGER, first BLOB, last BLOB,
  imported_ms INTEGER NOT NULL, UNIQUE (account, path, format));
CREATE INDEX source_content ON source (size, last);
-- A member of a source: how far it was read, and its state at that time. Its place says how to open it in the source.
CREATE TABLE checkpoint (unit INTEGER PRIMARY KEY, source INTEGER NOT NULL, label TEXT NOT NULL, place TEXT NOT NULL,
  at INTEGER NOT NULL DEFAULT 0, has_ended INTEGER NOT NULL DEFAULT 0, since_ms INTEGER,
  items INTEGER NOT NULL DEFAULT 0, bad INTEGER NOT NULL DEFAULT 0,
  device INTEGER, inode INTEGER, size INTEGER, modified_ms INTEGER,
  tail BLOB,                     -- of the last 64 KiB before `at`
  gone_ms INTEGER, UNIQUE (source, label));
-- Items that still match their records, so that they need not be parsed again. An item with a sighting counts for its
-- own unit only.
CREATE TABLE item (account INTEGER NOT NULL, raw BLOB NOT NULL, unit INTEGER NOT NULL, is_shared INTEGER NOT NULL,
  rid INTEGER, PRIMARY KEY (account, raw, unit)) WITHOUT ROWID;
CREATE INDEX item_record ON item (rid);
-- What only one unit says about a record.
CREATE TABLE sighting (rid INTEGER NOT NULL, unit INTEGER NOT NULL, said TEXT NOT NULL, PRIMARY KEY (rid, unit)) WITHOUT ROWID;
CREATE INDEX sighting_unit ON sighting (unit);
-- The last change when an import ended. Former states are kept only for a while.
CREATE TABLE change_time (seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL);
-- A blob has bytes, or a copy in the directory `blobs`, or is still in its unit.
CREATE TABLE blob_5 (id TEXT PRIMARY KEY, media_type TEXT NOT NULL, size INTEGER NOT NULL, is_copied INTEGER NOT NULL DEFAULT 0,
  bytes BLOB);
INSERT INTO blob_5 (id, media_type, size, bytes) SELECT id, media_type, length(bytes), bytes FROM blob;
DROP TABLE blob;
ALTER TABLE blob_5 RENAME TO blob;
CREATE TABLE blob_place (blob_id TEXT NOT NULL, unit INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
  encoding TEXT NOT NULL, PRIMARY KEY (blob_id, unit, offset)) WITHOUT ROWID;
CREATE INDEX blob_place_unit ON blob_place (unit);
";

/// What format 6 adds to format 5 for filters and groups. In addition, each slot has a table `value_SLOT`.
pub const TABLES_6_VALUES: &str = "
-- Where the values of a field are stored, and in which form.
CREATE TABLE value_column (slot INTEGER NOT NULL, field TEXT NOT NULL, encoding TEXT NOT NULL, number INTEGER NOT NULL,
  PRIMARY KEY (slot, field)) WITHOUT ROWID;
-- A value that many records share, and how many records have it. `number` is the number of its column.
CREATE TABLE value_text (id INTEGER PRIMARY KEY, slot INTEGER NOT NULL, number INTEGER NOT NULL, json TEXT NOT NULL,
  records INTEGER NOT NULL, UNIQUE (slot, number, json));
";

/// What format 6 adds to format 5: a separate index of words.
pub const TABLES_6_WORDS: &str = "
-- A part of the index of words of a slot. A later one (a greater place) lists the rows that it replaces or that are gone: what earlier
-- ones say of them does not hold.
CREATE TABLE word_segment (segment INTEGER PRIMARY KEY, slot INTEGER NOT NULL, place INTEGER NOT NULL, bytes INTEGER NOT NULL,
  gone BLOB NOT NULL);
CREATE INDEX word_segment_slot ON word_segment (slot, place);
-- Its terms in order, several per block: their rows, and separately the places of the words.
CREATE TABLE word (block INTEGER PRIMARY KEY, segment INTEGER NOT NULL, first BLOB NOT NULL, terms BLOB NOT NULL, places BLOB NOT NULL,
  UNIQUE (segment, first));
-- No search uses this index any more.
DROP INDEX IF EXISTS record_found;
";

/// What format 6 adds for records: one with long texts is stored deflated, and `data` has what is filtered, grouped
/// and sorted by.
pub const TABLES_6_PACKED: &str = "
ALTER TABLE record ADD COLUMN packed BLOB;
ALTER TABLE history ADD COLUMN packed BLOB;
";

/// What format 7 adds to format 6 if records exist: how far they were searched for words that are now split
/// differently ([`super::ingest::reword`]). It is removed when all are done.
pub const WORDS_7: &str = "INSERT OR REPLACE INTO meta VALUES ('reworded', 0)";

/// The statements that make the tables of a store of `format`, one after the other.
pub fn of_format(format: i64) -> impl Iterator<Item = &'static str> {
    let steps = [
        (1, TABLES),
        (2, TABLES_2),
        (4, TABLES_4),
        (5, TABLES_5),
        (6, TABLES_6_VALUES),
        (6, TABLES_6_WORDS),
        (6, TABLES_6_PACKED),
    ];
    steps.into_iter().filter(move |(first, _)| *first <= format).map(|(_, tables)| tables)
}
