//! Browser history: Firefox's `places.sqlite`, the `History` of Chrome and other Chromium browsers, Safari's `History.db`, and
//! the `History.json` of Google Takeout. The tables of a database show which browser it belongs to.

use std::io::{self, BufRead};
use std::sync::Arc;

use memchr::memmem;
use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::import::declare::{Registry, StreamLine, connector};
use crate::import::digest;
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};
use crate::import::json_elements;
use crate::import::others_database::{MAGIC, OthersDatabase};
use crate::vault::time::format_ms;

/// Browser history.
pub struct Browser;

const KEY: &str = "browser";

const STREAMS: [StreamLine; 1] = [StreamLine {
    name: "visits",
    key: "id",
    time: "visited_at",
    fields: "id:k! visited_at:T! title:h url:u host:g transition:g profile:g",
    relations: "",
}];

/// The longest address or title that is read, in bytes.
const LONGEST: usize = 64 * 1024;
/// The longest visit in a Takeout file, in bytes.
const LONGEST_ELEMENT: usize = 1024 * 1024;
/// The array of a Takeout file that holds the visits.
const TAKEOUT_ARRAY: &[u8] = b"\"Browser History\"";
/// Times outside this range are not accepted: 1990 to 2100, in microseconds since 1970.
const SANE_US: std::ops::Range<i64> = 631_152_000_000_000..4_102_444_800_000_000;
/// From 1601 to 1970, in microseconds.
const FROM_1601: i64 = 11_644_473_600_000_000;
/// From 1970 to 2001, in seconds.
const TO_2001: f64 = 978_307_200.0;

/// The browser family that wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Family {
    Firefox,
    Chromium,
    Safari,
    Takeout,
}

/// A visit as the file has it. This is an item's content, as JSON.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Seen {
    family: Family,
    /// `None` if the page was deleted, or the address is too long.
    url: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_too_long: bool,
    title: Option<String>,
    /// The time as the file has it.
    time: String,
    transition: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_hidden: bool,
}

/// A record of `visits`.
#[derive(Serialize)]
struct Visit<'a> {
    id: &'a str,
    visited_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transition: Option<&'a str>,
    profile: &'a str,
}

/// Where the files are.
struct Place {
    path: String,
    is_file: bool,
}

impl Format for Browser {
    fn name(&self) -> &'static str {
        KEY
    }

    fn title(&self) -> &'static str {
        "a browser's history (Firefox, Chrome, Edge, Brave, Safari, or Chrome's in a Takeout export)"
    }

    fn counts_items(&self) -> bool {
        true
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let has = |text: &str| memmem::find(peek.head, text.as_bytes()).is_some();
        if !peek.head.starts_with(MAGIC) {
            let text = peek.head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(peek.head).trim_ascii_start();
            let is_takeout = text.starts_with(b"{")
                && memmem::find(text, TAKEOUT_ARRAY).is_some()
                && (peek.is_whole || has("\"time_usec\""));
            return is_takeout.then_some(Sure::Certain);
        }
        let tables = [
            &["moz_places", "moz_historyvisits"][..],
            &["visits", "last_visit_time", "typed_count"],
            &["history_items", "history_visits"],
        ];
        if tables.iter().any(|words| words.iter().all(|word| has(word))) {
            return Some(Sure::Certain);
        }
        // In a large database, the list of tables may continue anywhere in the file, and only `split` reads it.
        let name = peek.label.rsplit('/').next().unwrap_or_default();
        let known = ["places.sqlite", "History", "History.db"];
        known.iter().any(|known| name.eq_ignore_ascii_case(known)).then_some(Sure::Likely)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Local, KEY, "Browser history", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let mut notes = Vec::new();
        if ask.account.is_none() {
            notes.push(format!(
                "Browser history does not name its owner, so the account is called {KEY}, and each record names its browser \
                 and profile. --account gives it another name."
            ));
        }
        Ok(vec![Plan {
            state: Arc::new(Place {
                path: ask.source_path.to_string_lossy().into_owned(),
                is_file: ask.is_file,
            }),
            ..Plan::of_all(connector, KEY, members, ask, notes)
        }])
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let path = plan.state.downcast_ref::<Place>().map_or_else(
            || unit.label.to_owned(),
            |place| if place.is_file { place.path.clone() } else { format!("{}/{}", place.path, unit.label) },
        );
        if !unit.bytes.fill_buf()?.starts_with(&MAGIC[..1]) {
            return takeout(unit, from, &path, out);
        }
        let mut database = OthersDatabase::open(&*unit.bytes)?;
        visits(&mut database, from, &path, out)
    }

    fn parse(&self, _plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        let seen = if raw.facts.starts_with(TAKEOUT_FACT) { of_takeout(raw)? } else { of_database(raw)? };
        let Some(url) = seen.url.filter(|url| !url.is_empty()) else {
            return if seen.is_too_long {
                Err(Bad("an address of more than 64 KiB"))
            } else {
                Ok(Parsed::Skipped("a visit whose page was deleted"))
            };
        };
        if seen.is_hidden {
            return Ok(Parsed::Skipped(
                "hidden by the browser: a frame, or a page that only redirected to another one",
            ));
        }
        let transition = transition(seen.family, seen.transition.as_deref());
        if transition == Some("embed") {
            return Ok(Parsed::Skipped("a part of another page"));
        }
        let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
        match scheme.as_str() {
            "http" | "https" | "ftp" => {}
            "file" => return Ok(Parsed::Skipped("a file on the computer")),
            _ => return Ok(Parsed::Skipped("a page of the browser itself, not of the web")),
        }
        let at_us = at_us(seen.family, &seen.time).filter(|at| SANE_US.contains(at)).ok_or(Bad("no time"))?;
        let parsed = Url::parse(&url).ok();
        let profile = raw.facts.strip_prefix(TAKEOUT_FACT).unwrap_or(&raw.facts);
        let id = digest::name([profile.as_bytes(), url.as_bytes(), at_us.to_string().as_bytes()]);
        let title = seen.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
        let visit = Visit {
            id: &id,
            visited_at: format_ms(at_us.div_euclid(1000)),
            title,
            url: &url,
            host: parsed.as_ref().and_then(Url::host_str),
            transition,
            profile,
        };
        let data = serde_json::to_string(&visit).map_err(|_| Bad("cannot be written as a record"))?;
        Ok(Parsed::Records(vec![Draft::new("visits", id.clone(), data)]))
    }
}

/// How the facts of a Takeout visit begin, before the profile.
const TAKEOUT_FACT: &str = "takeout ";

/// How to query a database: `{}` stands for columns that older versions lack.
struct Query {
    family: Family,
    /// The table of visits and the table of pages, with the columns that each must have.
    tables: [(&'static str, &'static [&'static str]); 2],
    /// The columns for the page's address, the title, the time, the transition, and whether the page is hidden.
    values: [&'static str; 5],
    page_of: &'static str,
}

const QUERIES: [Query; 3] = [
    Query {
        family: Family::Firefox,
        tables: [("moz_historyvisits", &["place_id", "visit_date"]), ("moz_places", &["id", "url"])],
        values: ["p.url", "p.title", "v.visit_date", "v.visit_type", "p.hidden"],
        page_of: "place_id",
    },
    Query {
        family: Family::Chromium,
        tables: [("visits", &["url", "visit_time"]), ("urls", &["id", "url"])],
        values: ["p.url", "p.title", "v.visit_time", "v.transition", "p.hidden"],
        page_of: "url",
    },
    Query {
        family: Family::Safari,
        tables: [("history_visits", &["history_item", "visit_time"]), ("history_items", &["id", "url"])],
        // A visit that another one redirected to has that one's number here.
        values: ["p.url", "v.title", "v.visit_time", "v.redirect_source", "p.hidden"],
        page_of: "history_item",
    },
];

impl Query {
    /// The columns of both tables, if the database has them.
    fn fits(&self, database: &mut OthersDatabase) -> io::Result<Option<[Vec<String>; 2]>> {
        let mut found = [Vec::new(), Vec::new()];
        for ((table, needed), columns) in self.tables.iter().zip(&mut found) {
            *columns = database.columns(table)?;
            if !needed.iter().all(|needed| columns.iter().any(|column| column == needed)) {
                return Ok(None);
            }
        }
        Ok(Some(found))
    }

    fn sql(&self, [visits, pages]: &[Vec<String>; 2]) -> String {
        let value = |column: &'static str| {
            let (of, name) = column.split_once('.').unwrap_or(("", column));
            let columns = if of == "v" { visits } else { pages };
            columns.iter().any(|known| known == name).then_some(column)
        };
        let [url, title, time, how, hidden] = self.values.map(value).map(|column| column.unwrap_or("NULL"));
        let text = |column| format!("CASE WHEN octet_length({column}) <= {LONGEST} THEN {column} END");
        let [(of_visits, _), (of_pages, _)] = self.tables;
        format!(
            "SELECT v.rowid, {}, octet_length({url}) > {LONGEST}, {}, {time}, {how}, {hidden} \
             FROM main.{of_visits} AS v LEFT JOIN main.{of_pages} AS p ON p.rowid = v.{} \
             WHERE v.rowid >= ?1 ORDER BY v.rowid",
            text(url),
            text(title),
            self.page_of
        )
    }
}

/// Passes on the visits of a database.
fn visits(database: &mut OthersDatabase, from: u64, path: &str, out: &mut Out<'_>) -> io::Result<End> {
    let mut found = None;
    for query in &QUERIES {
        if let Some(columns) = query.fits(database)? {
            found = Some((query.family, query.sql(&columns)));
            break;
        }
    }
    let Some((family, sql)) = found else {
        let why = "it has no tables of browser history";
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    };
    let facts = profile(family, path);
    let mut end = from;
    // No browser uses negative ids, but a negative one is still counted.
    let first = if from == 0 { i64::MIN } else { i64::try_from(from).unwrap_or(i64::MAX) };
    database.rows(&sql, [first], &mut |row| {
        let number: i64 = row.get(0)?;
        let offset = u64::try_from(number).unwrap_or_default();
        end = offset.saturating_add(1);
        let seen = seen(family, row)?;
        let bytes = serde_json::to_vec(&seen).unwrap_or_default();
        Ok(out(Raw { offset, next: end, line: None, bytes, facts: facts.clone(), copy: 0 }))
    })?;
    Ok(End { at: end })
}

fn seen(family: Family, row: &Row<'_>) -> rusqlite::Result<Seen> {
    Ok(Seen {
        family,
        url: text(row.get_ref(1)?),
        is_too_long: text(row.get_ref(2)?).as_deref() == Some("1"),
        title: text(row.get_ref(3)?),
        time: text(row.get_ref(4)?).unwrap_or_default(),
        transition: text(row.get_ref(5)?),
        is_hidden: text(row.get_ref(6)?).as_deref() == Some("1"),
    })
}

/// A value of any type, as text.
fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            let bytes = &bytes[..bytes.len().min(LONGEST)];
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

fn of_database(raw: &Raw) -> Result<Seen, Bad> {
    serde_json::from_slice(&raw.bytes).map_err(|_| Bad("not a visit"))
}

/// Passes on the visits of a Takeout file.
fn takeout(unit: &mut Unit<'_>, from: u64, path: &str, out: &mut Out<'_>) -> io::Result<End> {
    let begin = if from == 0 {
        find_array(&mut unit.bytes)?
    } else {
        unit.bytes.skip_to(from)?;
        from
    };
    let facts = format!("{TAKEOUT_FACT}{}", profile(Family::Takeout, path));
    let end = json_elements::scan(&mut unit.bytes, begin, LONGEST_ELEMENT, &mut |element| {
        let bytes = element.bytes.unwrap_or_default();
        let json_elements::Element { offset, next, .. } = element;
        out(Raw { offset, next, line: None, bytes, facts: facts.clone(), copy: 0 })
    })?;
    Ok(End { at: end })
}

/// Reads up to the array of visits and returns where it begins.
fn find_array(bytes: &mut dyn BufRead) -> io::Result<u64> {
    // How much of the name was matched, then of what follows it.
    let (mut at, mut matched) = (0_u64, 0);
    let all = TAKEOUT_ARRAY.len();
    loop {
        let chunk = bytes.fill_buf()?;
        if chunk.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has no array \"Browser History\""));
        }
        for (index, byte) in chunk.iter().enumerate() {
            matched = match *byte {
                b if matched < all && b == TAKEOUT_ARRAY[matched] => matched + 1,
                b' ' | b'\t' | b'\r' | b'\n' if matched >= all => matched,
                b':' if matched == all => all + 1,
                b'[' if matched == all + 1 => {
                    bytes.consume(index + 1);
                    return Ok(at + index as u64 + 1);
                }
                b'"' => 1,
                _ => 0,
            };
        }
        let read = chunk.len();
        at += read as u64;
        bytes.consume(read);
    }
}

/// A visit as Takeout writes it.
#[derive(Deserialize)]
struct TakeoutVisit {
    #[serde(default)]
    title: serde_json::Value,
    #[serde(default)]
    url: serde_json::Value,
    #[serde(default)]
    time_usec: serde_json::Value,
    #[serde(default)]
    page_transition: serde_json::Value,
}

fn of_takeout(raw: &Raw) -> Result<Seen, Bad> {
    if raw.bytes.is_empty() {
        return Err(Bad("a visit of more than 1 MiB"));
    }
    // Otherwise, a list of four values would pass as a visit.
    let object = Some(&raw.bytes[..]).filter(|bytes| bytes.starts_with(b"{")).ok_or(Bad("not a visit"))?;
    let visit: TakeoutVisit = serde_json::from_slice(object).map_err(|_| Bad("not a visit"))?;
    let text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => Some(text),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let url = text(visit.url);
    let is_too_long = url.as_ref().is_some_and(|url| url.len() > LONGEST);
    Ok(Seen {
        family: Family::Takeout,
        url: url.filter(|_| !is_too_long),
        is_too_long,
        title: text(visit.title).filter(|title| title.len() <= LONGEST),
        time: text(visit.time_usec).unwrap_or_default(),
        transition: text(visit.page_transition),
        is_hidden: false,
    })
}

/// When a visit was, in microseconds since 1970.
fn at_us(family: Family, time: &str) -> Option<i64> {
    match family {
        Family::Firefox => {
            let at: i64 = time.parse().ok()?;
            // Firefox on a phone writes milliseconds.
            if at < SANE_US.start / 100 { at.checked_mul(1000) } else { Some(at) }
        }
        Family::Takeout => time.parse().ok(),
        Family::Chromium => time.parse::<i64>().ok()?.checked_sub(FROM_1601),
        Family::Safari => {
            let seconds = time.parse::<f64>().ok().filter(|seconds| seconds.is_finite())? + TO_2001;
            #[allow(
                clippy::cast_possible_truncation,
                reason = "a time out of bounds is rejected by its caller"
            )]
            let at = (seconds * 1e6).round() as i64;
            Some(at)
        }
    }
}

/// How the user came to a page, in the same words for all browsers.
fn transition(family: Family, value: Option<&str>) -> Option<&'static str> {
    const FIREFOX: [&str; 9] = [
        "link",
        "typed",
        "bookmark",
        "embed",
        "redirect_permanent",
        "redirect_temporary",
        "download",
        "frame",
        "reload",
    ];
    const CHROMIUM: [(&str, &str); 11] = [
        ("LINK", "link"),
        ("TYPED", "typed"),
        ("AUTO_BOOKMARK", "bookmark"),
        ("AUTO_SUBFRAME", "embed"),
        ("MANUAL_SUBFRAME", "frame"),
        ("GENERATED", "search"),
        ("AUTO_TOPLEVEL", "start_page"),
        ("FORM_SUBMIT", "form_submit"),
        ("RELOAD", "reload"),
        ("KEYWORD", "keyword"),
        ("KEYWORD_GENERATED", "keyword_search"),
    ];
    let value = value?;
    let number = || value.parse::<i64>().ok();
    match family {
        Family::Firefox => FIREFOX.get(usize::try_from(number()?.checked_sub(1)?).ok()?).copied(),
        // The low byte is the transition; the other bits qualify it, for example as a redirect or a use of "back".
        Family::Chromium => CHROMIUM.get(usize::try_from(number()? & 0xff).ok()?).map(|(_, word)| *word),
        Family::Safari => Some("redirect"),
        Family::Takeout => {
            let known = CHROMIUM.iter().find(|(name, _)| *name == value);
            known.or_else(|| CHROMIUM.get(usize::try_from(number()? & 0xff).ok()?)).map(|(_, word)| *word)
        }
    }
}

/// The folders in which browsers keep their profiles, in lower case, and the names that people use for the browsers.
const BROWSERS: [(&str, &str); 26] = [
    ("firefox", "Firefox"),
    ("org.mozilla.firefox", "Firefox"),
    ("librewolf", "LibreWolf"),
    (".librewolf", "LibreWolf"),
    ("waterfox", "Waterfox"),
    (".waterfox", "Waterfox"),
    ("floorp", "Floorp"),
    (".floorp", "Floorp"),
    ("zen", "Zen"),
    (".zen", "Zen"),
    ("google-chrome", "Chrome"),
    ("google-chrome-beta", "Chrome Beta"),
    ("google-chrome-unstable", "Chrome Dev"),
    ("chrome", "Chrome"),
    ("chrome beta", "Chrome Beta"),
    ("chromium", "Chromium"),
    ("brave-browser", "Brave"),
    ("microsoft-edge", "Edge"),
    ("microsoft edge", "Edge"),
    ("edge", "Edge"),
    ("vivaldi", "Vivaldi"),
    ("opera", "Opera"),
    ("opera stable", "Opera"),
    ("com.operasoftware.opera", "Opera"),
    ("arc", "Arc"),
    ("safari", "Safari"),
];

/// The browser and its profile, from the path of the file: `Firefox ab12cd34.default-release`, `Chrome Profile 1`.
fn profile(family: Family, path: &str) -> String {
    let name = match family {
        Family::Firefox => "Firefox",
        Family::Chromium => "Chromium",
        Family::Safari => "Safari",
        Family::Takeout => return "Takeout".to_owned(),
    };
    let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    let Some((_, above)) = parts.split_last() else { return name.to_owned() };
    let known = |part: &&str| BROWSERS.iter().find(|(folder, _)| part.eq_ignore_ascii_case(folder));
    let found = above.iter().enumerate().rev().find_map(|(at, part)| Some((at, known(part)?.1)));
    let folder = above.last().copied().unwrap_or_default();
    match found {
        Some((at, browser)) if at + 1 < above.len() => format!("{browser} {folder}"),
        Some((_, browser)) => browser.to_owned(),
        // A profile that was copied to another folder.
        None if folder == "Default" || folder.starts_with("Profile ") || folder.contains(".default") => {
            format!("{name} {folder}")
        }
        None => name.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test opens databases that it made itself")]
mod tests {
    use proptest::prelude::*;
    use rusqlite::Connection;
    use serde_json::{Value, json};

    use super::*;
    use crate::import::harness::{self, Counts, Kept};

    /// 2026-01-31T18:30:05.123Z, in microseconds.
    const AT: i64 = 1_769_884_205_123_456;

    const FIREFOX: &str = "
        CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, rev_host LONGVARCHAR,
            visit_count INTEGER DEFAULT 0, hidden INTEGER DEFAULT 0 NOT NULL, typed INTEGER DEFAULT 0 NOT NULL);
        CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER, visit_date INTEGER,
            visit_type INTEGER, session INTEGER);";
    const CHROMIUM: &str = "
        CREATE TABLE meta(key LONGVARCHAR NOT NULL UNIQUE PRIMARY KEY, value LONGVARCHAR);
        CREATE TABLE urls(id INTEGER PRIMARY KEY AUTOINCREMENT, url LONGVARCHAR, title LONGVARCHAR,
            visit_count INTEGER DEFAULT 0 NOT NULL, typed_count INTEGER DEFAULT 0 NOT NULL,
            last_visit_time INTEGER NOT NULL DEFAULT 0, hidden INTEGER DEFAULT 0 NOT NULL);
        CREATE TABLE visits(id INTEGER PRIMARY KEY AUTOINCREMENT, url INTEGER NOT NULL, visit_time INTEGER NOT NULL,
            from_visit INTEGER, transition INTEGER DEFAULT 0 NOT NULL, segment_id INTEGER, visit_duration INTEGER DEFAULT 0);";
    const SAFARI: &str = "
        CREATE TABLE history_items (id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL UNIQUE,
            domain_expansion TEXT NULL, visit_count INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE history_visits (id INTEGER PRIMARY KEY AUTOINCREMENT,
            history_item INTEGER NOT NULL REFERENCES history_items(id) ON DELETE CASCADE, visit_time REAL NOT NULL,
            title TEXT NULL, load_successful BOOLEAN NOT NULL DEFAULT 1, redirect_source INTEGER NULL UNIQUE);";

    /// The bytes of a database that these statements create.
    fn database(sql: &str) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("database");
        let db = Connection::open(&path).unwrap();
        db.execute_batch("PRAGMA foreign_keys = off").unwrap();
        db.execute_batch(sql).unwrap();
        drop(db);
        std::fs::read(path).unwrap()
    }

    fn firefox() -> Vec<u8> {
        database(&format!(
            "{FIREFOX}
             INSERT INTO moz_places (id, url, title, hidden) VALUES
                (1, 'https://Example.org/a?token=s3cret', ' Solaris ', 0), (2, 'about:config', 'x', 0),
                (3, 'https://ads.example/f', NULL, 1), (4, 'file:///home/ana/tax.pdf', NULL, 0),
                (5, 'https://xn--bcher-kva.example/', '', 0);
             INSERT INTO moz_historyvisits VALUES (1, 0, 1, {AT}, 2, 0), (2, 0, 2, {AT}, 1, 0), (3, 0, 3, {AT}, 1, 0),
                (4, 0, 4, {AT}, 1, 0), (5, 0, 99, {AT}, 1, 0), (6, 1, 5, {AT} + 1, 6, 0), (7, 1, 5, {AT}, 4, 0),
                (8, 1, 5, 'never', 1, 0), (9, 1, 5, {}, 77, 0);",
            AT / 1000 + 60_000
        ))
    }

    fn chromium() -> Vec<u8> {
        database(&format!(
            "{CHROMIUM}
             INSERT INTO urls (id, url, title) VALUES (1, 'https://example.org/', 'Example'), (2, 'chrome://settings/', 's');
             INSERT INTO visits (id, url, visit_time, transition) VALUES (1, 1, {0}, 805306369), (2, 2, {0}, 0),
                (3, 7, {0}, 0), (4, 1, {0} + 1000000, 536870915), (5, 1, {0} + 2000000, 0x30000007), (6, 1, 0, 0);",
            AT + FROM_1601
        ))
    }

    fn safari() -> Vec<u8> {
        database(&format!(
            "{SAFARI}
             INSERT INTO history_items (id, url) VALUES (1, 'https://example.org/');
             INSERT INTO history_visits (id, history_item, visit_time, title, redirect_source) VALUES
                (1, 1, 791577005.123456, 'Example', NULL), (2, 1, 791577006, NULL, 1), (3, 8, {}, NULL, NULL);",
            1.0
        ))
    }

    const TAKEOUT: &str = r#"{ "Typed Url": [{"title": "Browser History", "time_usec": 1}],
        "Browser History": [
        {"favicon_url": "x", "page_transition": "LINK", "title": "A \"Browser History\": [ page", "url": "https://example.org/",
         "client_id": "x", "time_usec": 1769884205123456},
        {"page_transition": "TYPED", "title": "", "url": "chrome://newtab/", "time_usec": 1769884205123456},
        {"page_transition": "FORM_SUBMIT", "url": "https://example.org/b", "time_usec": "1769884205123456"},
        {"page_transition": "RELOAD", "url": "https://example.org/c"},
        [1]
        ], "Session": [] }"#;

    fn records(kept: &Kept) -> Vec<Value> {
        let mut all: Vec<Value> =
            kept.records.values().map(|data| serde_json::from_str(data).unwrap()).collect();
        all.sort_by_key(|record| {
            record["visited_at"].as_str().unwrap().to_owned() + record["url"].as_str().unwrap()
        });
        for record in &mut all {
            record.as_object_mut().unwrap().remove("id");
        }
        all
    }

    fn of(bytes: &[u8]) -> (Vec<Value>, Counts) {
        let (kept, counts) = harness::imported(&Browser, &[("file", bytes)]);
        (records(&kept), counts)
    }

    #[test]
    fn o5_each_is_known_by_its_tables_whatever_it_is_called() {
        for (bytes, columns) in [(firefox(), 5), (chromium(), 5), (safari(), 5), (TAKEOUT.into(), 0)] {
            assert_eq!(harness::sniff(&Browser, "x", &bytes), Some(Sure::Certain), "{columns}");
        }
        let other = database("CREATE TABLE visits (id INTEGER PRIMARY KEY, url TEXT)");
        assert_eq!(harness::sniff(&Browser, "x.db", &other), None);
        assert_eq!(harness::sniff(&Browser, "Default/History", &other), Some(Sure::Likely));
        for text in ["", "{}", "History", r#"{"Browser History": 1, "other": "#] {
            assert_eq!(harness::sniff(&Browser, "History", text.repeat(9000).as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn o5_firefox_counts_microseconds_since_1970_and_leaves_its_own_pages_out() {
        let (records, counts) = of(&firefox());
        assert_eq!(
            records,
            [
                json!({"visited_at": "2026-01-31T18:30:05.123Z", "title": "Solaris", "url": "https://Example.org/a?token=s3cret",
                       "host": "example.org", "transition": "typed", "profile": "Firefox"}),
                json!({"visited_at": "2026-01-31T18:30:05.123Z", "url": "https://xn--bcher-kva.example/",
                       "host": "xn--bcher-kva.example", "transition": "redirect_temporary", "profile": "Firefox"}),
                // Milliseconds, as on a phone, and an unknown transition.
                json!({"visited_at": "2026-01-31T18:31:05.123Z", "url": "https://xn--bcher-kva.example/",
                       "host": "xn--bcher-kva.example", "profile": "Firefox"}),
            ]
        );
        let skipped: Vec<u64> = counts.skipped.values().copied().collect();
        assert_eq!(
            (counts.read, counts.new, skipped, counts.bad),
            (9, 3, vec![1; 5], [("no time", 1)].into())
        );
    }

    #[test]
    fn o5_chromium_counts_since_1601_and_how_is_in_the_last_byte() {
        let (records, counts) = of(&chromium());
        assert_eq!(
            records,
            [
                json!({"visited_at": "2026-01-31T18:30:05.123Z", "title": "Example", "url": "https://example.org/",
                       "host": "example.org", "transition": "typed", "profile": "Chromium"}),
                json!({"visited_at": "2026-01-31T18:30:07.123Z", "title": "Example", "url": "https://example.org/",
                       "host": "example.org", "transition": "form_submit", "profile": "Chromium"}),
            ]
        );
        assert_eq!(counts.skipped["a visit whose page was deleted"], 1);
        assert_eq!(counts.skipped["a part of another page"], 1);
        assert_eq!((counts.read, counts.bad), (6, [("no time", 1)].into()));
    }

    #[test]
    fn o5_safari_counts_seconds_since_2001() {
        let (records, counts) = of(&safari());
        assert_eq!(
            records,
            [
                json!({"visited_at": "2026-01-31T18:30:05.123Z", "title": "Example", "url": "https://example.org/",
                       "host": "example.org", "profile": "Safari"}),
                json!({"visited_at": "2026-01-31T18:30:06.000Z", "url": "https://example.org/", "host": "example.org",
                       "transition": "redirect", "profile": "Safari"}),
            ]
        );
        assert_eq!((counts.read, counts.skipped.len()), (3, 1));
    }

    #[test]
    fn o5_a_takeout_is_found_behind_what_else_it_has() {
        let (records, counts) = of(TAKEOUT.as_bytes());
        assert_eq!(
            records,
            [
                json!({"visited_at": "2026-01-31T18:30:05.123Z", "title": "A \"Browser History\": [ page",
                       "url": "https://example.org/", "host": "example.org", "transition": "link", "profile": "Takeout"}),
                json!({"visited_at": "2026-01-31T18:30:05.123Z", "url": "https://example.org/b", "host": "example.org",
                       "transition": "form_submit", "profile": "Takeout"}),
            ]
        );
        assert_eq!((counts.read, counts.skipped.len()), (5, 1));
        assert_eq!(counts.bad, [("no time", 1), ("not a visit", 1)].into());
    }

    #[test]
    fn o5_profiles_are_told_apart_wherever_one_begins_to_read() {
        for (family, path, wanted) in [
            (
                Family::Firefox,
                "/home/ana/.mozilla/firefox/ab12cd34.default-release/places.sqlite",
                "Firefox ab12cd34.default-release",
            ),
            (
                Family::Firefox,
                "C:\\Users\\ana\\AppData\\Roaming\\Mozilla\\Firefox\\Profiles\\x.work\\places.sqlite",
                "Firefox x.work",
            ),
            (Family::Firefox, "/backup/ab12cd34.default/places.sqlite", "Firefox ab12cd34.default"),
            (Family::Chromium, "/home/ana/.config/google-chrome/Profile 1/History", "Chrome Profile 1"),
            (
                Family::Chromium,
                "/Users/ana/Library/Application Support/Google/Chrome/Default/History",
                "Chrome Default",
            ),
            (
                Family::Chromium,
                "C:\\Users\\ana\\AppData\\Local\\Microsoft\\Edge\\User Data\\Default\\History",
                "Edge Default",
            ),
            (
                Family::Chromium,
                "/home/ana/.config/BraveSoftware/Brave-Browser/Default/History",
                "Brave Default",
            ),
            (Family::Chromium, "/home/ana/Downloads/History", "Chromium"),
            (Family::Safari, "/Users/ana/Library/Safari/History.db", "Safari"),
            (Family::Takeout, "/home/ana/Takeout/Chrome/History.json", "Takeout"),
        ] {
            assert_eq!(profile(family, path), wanted, "{path}");
        }
        // The folder, the profile or the file: each gives the same visit.
        let bytes = chromium();
        let keys = |path: &str, is_file, label: &str| {
            let ask = Ask { source_path: path.into(), is_file, ..harness::ask() };
            let mut kept = Kept::default();
            kept.import_some(&Browser, &[(label, &bytes)], ask, usize::MAX);
            kept.records.into_keys().collect::<Vec<_>>()
        };
        let whole = keys("/home/ana/.config/google-chrome", false, "Default/History");
        assert_eq!(whole, keys("/home/ana/.config/google-chrome/Default", false, "History"));
        assert_eq!(whole, keys("/home/ana/.config/google-chrome/Default/History", true, "History"));
        assert_ne!(whole, keys("/home/ana/.config/google-chrome/Profile 1/History", true, "History"));
    }

    #[test]
    fn o5_twice_is_once_and_what_the_browser_forgot_stays() {
        let (whole, less) = (firefox(), {
            let sql = format!(
                "{FIREFOX} INSERT INTO moz_places (id, url, title) VALUES (5, 'https://xn--bcher-kva.example/', 'Books');
                 INSERT INTO moz_historyvisits VALUES (6, 1, 5, {AT} + 1, 6, 0), (7, 1, 5, {AT} + 2, 1, 0)"
            );
            database(&sql)
        });
        harness::assert_twice_is_once_in_any_order(&Browser, &[("file", &whole)]);
        harness::assert_twice_is_once_in_any_order(&Browser, &[("History.json", TAKEOUT.as_bytes())]);
        let mut kept = Kept::default();
        kept.import(&Browser, &[("file", &whole)]);
        let counts = kept.import(&Browser, &[("file", &less)]);
        assert_eq!((counts.read, counts.new, counts.changed), (2, 1, 1));
        assert_eq!(kept.records.len(), 4);
    }

    #[test]
    fn o4_14_a_database_that_is_none_or_another_is_refused_in_words() {
        let plan = harness::plan(&Browser, &[("History", b"")], harness::ask()).unwrap().remove(0);
        let split = |bytes: &[u8]| {
            let mut unit =
                Unit { label: "History", modified_ms: None, bytes: Box::new(harness::InFolder::of(bytes)) };
            let mut count = 0;
            let ended = Browser.split(&plan, &mut unit, 0, &mut |_| {
                count += 1;
                std::ops::ControlFlow::Continue(())
            });
            (count, ended.map_err(|error| error.to_string()))
        };
        let other = database("CREATE TABLE visits (id INTEGER PRIMARY KEY, url TEXT)");
        assert_eq!(split(&other), (0, Err("it has no tables of browser history".to_owned())));
        // Nothing in the file may run: a view or a module replaces a table.
        let view = database(&format!(
            "{FIREFOX} DROP TABLE moz_historyvisits; CREATE VIEW moz_historyvisits AS
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i AS id, i AS place_id, i AS visit_date FROM n"
        ));
        assert_eq!(split(&view).1, Err("it has no tables of browser history".to_owned()));
        // A column's check or default that would compute for days runs within one step, so no timer could stop it.
        let slow = database(&format!(
            "{FIREFOX} PRAGMA ignore_check_constraints = on;
             CREATE TABLE slow (a, CHECK (instr(zeroblob(3000000), zeroblob(1500000) || x'01') = 0));
             INSERT INTO slow VALUES (1)"
        ));
        assert!(split(&slow).1.is_err());
        assert!(split(b"SQLite format 3\0 and nothing else").1.is_err());
        assert!(split(b"").1.is_err());
        let mut damaged = chromium();
        let length = damaged.len();
        damaged[4096..length].fill(0x5a);
        assert_eq!(split(&damaged).1, Err("the database is damaged".to_owned()));
    }

    #[test]
    fn o4_14_an_address_that_is_too_long_is_bad_and_costs_no_memory() {
        let sql = format!(
            "{CHROMIUM} INSERT INTO urls (id, url, title) VALUES (1, 'https://example.org/' || hex(zeroblob(40000)), 'x'),
                (2, 'https://example.org/b', hex(zeroblob(40000)));
             INSERT INTO visits (id, url, visit_time) VALUES (1, 1, {0}), (2, 2, {0})",
            AT + FROM_1601
        );
        let (records, counts) = of(&database(&sql));
        assert_eq!(counts.bad, [("an address of more than 64 KiB", 1)].into());
        assert_eq!((records.len(), records[0].get("title")), (1, None));
    }

    #[test]
    fn o4_4_a_visit_with_any_number_is_counted() {
        let sql = format!(
            "{CHROMIUM} INSERT INTO urls (id, url, title) VALUES (1, 'https://example.org/', 'x');
             INSERT INTO visits (id, url, visit_time) VALUES (-5, 1, {0}), (0, 1, {0} + 9), (7, 1, {0} + 18)",
            AT + FROM_1601
        );
        assert_eq!(of(&database(&sql)).1.read, 3);
    }

    #[test]
    fn an_import_that_is_cut_off_goes_on() {
        for bytes in [firefox(), chromium(), safari(), TAKEOUT.into()] {
            for limit in 1..10 {
                harness::assert_cut_and_finished_is_whole(&Browser, &bytes, usize::MAX, limit);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn no_bytes_cause_a_panic(at in 0_usize..30_000, noise in proptest::collection::vec(any::<u8>(), 1..200)) {
            let plan = harness::plan(&Browser, &[("History", b"")], harness::ask()).unwrap().remove(0);
            for mut bytes in [firefox(), TAKEOUT.into()] {
                let at = at % bytes.len();
                let end = (at + noise.len()).min(bytes.len());
                bytes[at..end].copy_from_slice(&noise[..end - at]);
                let mut unit = Unit { label: "x", modified_ms: None, bytes: Box::new(harness::InFolder::of(&bytes)) };
                let mut all = Vec::new();
                let _ = Browser.split(&plan, &mut unit, 0, &mut |raw| {
                    all.push(raw);
                    std::ops::ControlFlow::Continue(())
                });
                for raw in all {
                    prop_assert_eq!(Browser.parse(&plan, &raw), Browser.parse(&plan, &raw));
                }
            }
        }
    }
}
