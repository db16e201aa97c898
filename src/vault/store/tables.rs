//! The tables, and how those of an older format become them.

/// Changes when the tables do: a data directory of another version is refused.
pub const FORMAT: i64 = 4;

/// The tables of format 1.
pub const TABLES: &str = "
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE connector (key TEXT PRIMARY KEY, place INTEGER NOT NULL, declaration TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE connection (id TEXT PRIMARY KEY, place INTEGER NOT NULL, connector TEXT NOT NULL, display_name TEXT NOT NULL) WITHOUT ROWID;
-- A slot is one stream of one connection.
CREATE TABLE slot (slot INTEGER PRIMARY KEY, connection TEXT NOT NULL, stream TEXT NOT NULL, UNIQUE (connection, stream));
-- The present state. Deleted records stay, without data, so that a reader can learn of it.
CREATE TABLE record (
  rid INTEGER PRIMARY KEY, slot INTEGER NOT NULL, key TEXT NOT NULL,
  seq INTEGER NOT NULL,          -- when it last changed, in the order of all changes
  sort INTEGER NOT NULL,         -- the cursor field in ms, or the least integer where it is null
  consent_ms INTEGER,            -- the consent time field in ms
  emitted_ms INTEGER NOT NULL,
  live INTEGER NOT NULL AS (data IS NOT NULL) STORED,
  data TEXT,                     -- verbatim, or null when deleted; last, because it can be long
  UNIQUE (slot, key));
-- With the columns that counts and grants need, so that they never read the data.
CREATE INDEX record_sort ON record (slot, live, sort, key, consent_ms, emitted_ms);
-- The same for what a search found: looked up in a small index, not among long records.
CREATE INDEX record_found ON record (rid, slot, live, sort, key, consent_ms);
CREATE INDEX record_seq ON record (slot, seq);
-- Former states: valid from one change up to, not including, another.
CREATE TABLE history (slot INTEGER NOT NULL, key TEXT NOT NULL, from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL,
  consent_ms INTEGER, data TEXT, PRIMARY KEY (slot, key, from_seq)) WITHOUT ROWID;
-- The foreign keys that relations go along.
CREATE TABLE foreign_key (slot INTEGER NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, rid INTEGER NOT NULL,
  PRIMARY KEY (slot, field, value, rid)) WITHOUT ROWID;
CREATE TABLE blob (id TEXT PRIMARY KEY, media_type TEXT NOT NULL, bytes BLOB NOT NULL);
CREATE TABLE blob_reference (blob_id TEXT NOT NULL, slot INTEGER NOT NULL, key TEXT NOT NULL, field TEXT NOT NULL,
  PRIMARY KEY (blob_id, slot, key, field)) WITHOUT ROWID;
CREATE TABLE client (client_id TEXT PRIMARY KEY, metadata TEXT NOT NULL, issued_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE grants (grant_id TEXT PRIMARY KEY, body TEXT NOT NULL, expires_ms INTEGER, revoked_ms INTEGER) WITHOUT ROWID;
-- Only a token's SHA-256 is kept.
CREATE TABLE token (hash TEXT PRIMARY KEY, kind TEXT NOT NULL, grant_id TEXT) WITHOUT ROWID;
";

/// What format 2 has beside format 1: packages of grants, tokens that end by themselves, refresh families.
pub const TABLES_2: &str = "
ALTER TABLE token ADD COLUMN package_id TEXT;
ALTER TABLE token ADD COLUMN family_id TEXT;
ALTER TABLE token ADD COLUMN expires_ms INTEGER;
-- Grants (a JSON list of their ids) that one token stands for.
CREATE TABLE package (package_id TEXT PRIMARY KEY, client_id TEXT NOT NULL, grants TEXT NOT NULL) WITHOUT ROWID;
-- All tokens that descend from one approval: revoked together.
CREATE TABLE family (family_id TEXT PRIMARY KEY, client_id TEXT NOT NULL, grant_id TEXT, package_id TEXT,
  resource TEXT, revoked_ms INTEGER) WITHOUT ROWID;
-- Only a refresh token's SHA-256 is kept; a used one stays, so that its second use is noticed.
CREATE TABLE refresh (hash TEXT PRIMARY KEY, family_id TEXT NOT NULL, used_ms INTEGER) WITHOUT ROWID;
";

/// What format 4 has beside format 3.
pub const TABLES_4: &str = "
-- A number for each field of a slot that full-text search covers: its terms in the index are tagged with it. It stays, whatever
-- fields are declared later.
CREATE TABLE text_field (slot INTEGER NOT NULL, field TEXT NOT NULL, number INTEGER NOT NULL,
  PRIMARY KEY (slot, field)) WITHOUT ROWID;
-- What a grant that is limited in time covers: found without the rest being looked at.
CREATE INDEX record_consent ON record (slot, live, consent_ms, key, sort, emitted_ms);
";
