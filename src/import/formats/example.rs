//! Reading lists: `# Reading list of ana`, then a book on each line, `2026-01-31 | Title | Author`.

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use serde::Serialize;

use crate::import::declare::{Registry, StreamLine, connector};
use crate::import::digest;
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit, Whose,
};

/// Reading lists.
pub struct ReadingList;

const HEADING: &[u8] = b"# Reading list of ";
const LONGEST_LINE: u64 = 64 * 1024;

const STREAMS: [StreamLine; 1] = [StreamLine {
    name: "books",
    key: "id",
    time: "read_on",
    fields: "id:k! title:h author:n read_on:d!",
    relations: "",
}];

/// A record, its fields in the declared order.
#[derive(Serialize)]
struct Book<'a> {
    id: &'a str,
    title: &'a str,
    author: &'a str,
    read_on: String,
}

impl Format for ReadingList {
    fn name(&self) -> &'static str {
        "reading-list"
    }

    fn title(&self) -> &'static str {
        "a reading list"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        peek.head.starts_with(HEADING).then_some(Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Local, "reading-list", "Reading list", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let mut plans: Vec<Plan> = Vec::new();
        for (at, member) in members.iter().enumerate() {
            let Some(heading) = member.head.strip_prefix(HEADING) else {
                return Err(Refused::Unfit {
                    why: "It has no `# Reading list of` in its first line".to_owned(),
                });
            };
            let name = heading.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let account =
                ask.account.clone().unwrap_or_else(|| String::from_utf8_lossy(name).trim().to_owned());
            match plans.iter_mut().find(|plan| plan.account == account) {
                Some(plan) => plan.units.push(at),
                None => plans.push(Plan {
                    connector: Arc::clone(&connector),
                    account,
                    units: vec![at],
                    notes: Vec::new(),
                    whose: Whose::default(),
                    zone: ask.zone.clone(),
                    state: Arc::new(()),
                }),
            }
        }
        Ok(plans)
    }

    fn split(&self, _plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        unit.bytes.skip_to(from)?;
        let mut at = from;
        loop {
            let mut bytes = Vec::new();
            let length = unit.bytes.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)? as u64;
            // A last line without its end may still be written: the next import begins with it.
            if !bytes.ends_with(b"\n") && length < LONGEST_LINE {
                return Ok(End { at });
            }
            let (offset, next) = (at, at + length);
            at = next;
            if bytes.starts_with(b"#") {
                continue;
            }
            let raw = Raw { offset, next, line: None, bytes, facts: String::new(), copy: 0 };
            if out(raw).is_break() {
                return Ok(End { at });
            }
        }
    }

    fn parse(&self, _plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        let line = String::from_utf8_lossy(&raw.bytes);
        if line.trim().is_empty() {
            return Ok(Parsed::Skipped("an empty line"));
        }
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [read_on, title, author] = parts[..] else {
            return Err(Bad("not a date, a title and an author"));
        };
        let day: jiff::civil::Date = read_on.parse().map_err(|_| Bad("no date"))?;
        let id = digest::name([read_on.as_bytes(), title.as_bytes(), author.as_bytes()]);
        let book = Book { id: &id, title, author, read_on: day.to_string() };
        let data = serde_json::to_string(&book).map_err(|_| Bad("no record"))?;
        Ok(Parsed::Records(vec![Draft::new("books", id.clone(), data)]))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::import::harness::{self, Kept};

    const LIST: &[u8] = b"# Reading list of ana\n2026-01-31 | Solaris | Lem\n\n2026-02-14 | Emma\n2026-03-01 | Dune | Herbert\n";

    #[test]
    fn the_guide_quotes_this_file() {
        let source = include_str!("example.rs");
        let code = source.split("\n#[cfg(test)]").next().unwrap();
        let page = include_str!("../../../docs/formats.md");
        for (number, line) in code.lines().enumerate() {
            assert!(page.contains(line), "docs/formats.md has another line {}: {line}", number + 1);
        }
        assert!(page.contains(code), "docs/formats.md does not quote src/import/formats/example.rs");
    }

    #[test]
    fn the_example_of_the_guide_works() {
        assert_eq!(harness::sniff(&ReadingList, "books.txt", LIST), Some(Sure::Certain));
        assert_eq!(harness::sniff(&ReadingList, "books.txt", b"# Shopping list\n"), None);
        let mut kept = Kept::default();
        let counts = kept.import(&ReadingList, &[("books.txt", LIST)]);
        assert_eq!((counts.read, counts.new), (4, 2));
        assert_eq!(counts.bad, BTreeMap::from([("not a date, a title and an author", 1)]));
        assert_eq!(counts.skipped, BTreeMap::from([("an empty line", 1)]));
        assert!(kept.records.keys().all(|(account, stream, _)| account == "ana" && stream == "books"));
        // Twice is once, and cut anywhere and finished is whole.
        let whole = kept.records.clone();
        assert_eq!(kept.import(&ReadingList, &[("books.txt", LIST)]).new, 0);
        for cut in 0..5 {
            let mut pieces = Kept::default();
            pieces.import_some(&ReadingList, &[("books.txt", LIST)], harness::ask(), cut);
            pieces.import_some(&ReadingList, &[("books.txt", LIST)], harness::ask(), usize::MAX);
            assert_eq!(pieces.records, whole);
        }
    }
}
