//! Reading lists: `# Reading list of ana`, then one book per line, `2026-01-31 | Title | Author`.

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use serde::Serialize;

use crate::import::declare::{Registry, StreamLine, connector};
use crate::import::digest;
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit, Whose,
};
use crate::import::lines::Lines;

/// Reading lists.
pub struct ReadingList;

const KEY: &str = "reading-list";
const HEADING: &[u8] = b"# Reading list of ";
const LONGEST_HEADING: u64 = 1024;

const STREAMS: [StreamLine; 1] = [StreamLine {
    name: "books",
    key: "id",
    time: "read_on",
    fields: "id:k! title:h author:n read_on:d!",
    relations: "",
}];

/// A record, with its fields in the declared order.
#[derive(Serialize)]
struct Book<'a> {
    id: &'a str,
    title: &'a str,
    author: Option<&'a str>,
    read_on: String,
}

/// The name of the list's owner, if the heading gives one.
fn name(member: &Member<'_>) -> io::Result<String> {
    let (mut head, mut line) = (member.head, Vec::new());
    head.read_until(b'\n', &mut line)?;
    // When an import has very many members, the head may be short or empty.
    if !line.ends_with(b"\n") {
        line.clear();
        (member.open)()?.take(LONGEST_HEADING).read_until(b'\n', &mut line)?;
    }
    let name = line.strip_prefix(HEADING).unwrap_or_default();
    Ok(String::from_utf8_lossy(name).trim().to_owned())
}

impl Format for ReadingList {
    fn name(&self) -> &'static str {
        KEY
    }

    fn title(&self) -> &'static str {
        "a reading list"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        peek.head.starts_with(HEADING).then_some(Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Local, KEY, "Reading list", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let mut plans: Vec<Plan> = Vec::new();
        for (at, member) in members.iter().enumerate() {
            let mut notes = Vec::new();
            let account = match &ask.account {
                Some(account) => account.clone(),
                None => name(member).map_err(|error| {
                    Refused::Unreadable(format!("{} could not be read: {error}", member.label))
                })?,
            };
            let account = if account.is_empty() {
                notes.push(format!(
                    "The list names no owner, so the account is called {KEY}. --account gives it another name."
                ));
                KEY.to_owned()
            } else {
                account
            };
            match plans.iter_mut().find(|plan| plan.account == account) {
                Some(plan) => plan.units.push(at),
                None => plans.push(Plan {
                    connector: Arc::clone(&connector),
                    account,
                    units: vec![at],
                    notes,
                    whose: Whose::default(),
                    zone: ask.zone.clone(),
                    state: Arc::new(()),
                }),
            }
        }
        Ok(plans)
    }

    fn split(&self, _plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        // Reads from the start even when resuming, because lines are numbered from the first one.
        let mut lines = Lines::new(&mut unit.bytes);
        let mut end = from;
        while let Some(line) = lines.read()? {
            if line.offset < from {
                continue;
            }
            // A last line without a line end may be complete or may still grow. It is passed on now, and the next import reads it
            // again.
            end = if line.has_end { line.next } else { line.offset };
            if line.bytes.starts_with(b"#") {
                continue;
            }
            let raw = Raw {
                offset: line.offset,
                next: end,
                line: Some(line.number),
                bytes: line.bytes.to_vec(),
                facts: if line.is_long { "cut" } else { "" }.to_owned(),
                copy: 0,
            };
            if out(raw).is_break() {
                break;
            }
        }
        Ok(End { at: end })
    }

    fn parse(&self, _plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        if raw.facts == "cut" {
            return Err(Bad("longer than 64 MiB"));
        }
        let line = String::from_utf8_lossy(&raw.bytes);
        if line.trim().is_empty() {
            return Ok(Parsed::Skipped("an empty line"));
        }
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [read_on, title, author] = parts[..] else {
            return Err(Bad("not a date, a title and an author"));
        };
        let day: jiff::civil::Date = read_on.parse().map_err(|_| Bad("no date"))?;
        // The author is not part of the id, because it may be incomplete in the last line of a growing file.
        let id = digest::name([read_on.as_bytes(), title.as_bytes()]);
        let author = Some(author).filter(|author| !author.is_empty());
        let book = Book { id: &id, title, author, read_on: day.to_string() };
        let data = serde_json::to_string(&book).map_err(|_| Bad("cannot be written as a record"))?;
        Ok(Parsed::Records(vec![Draft::new("books", id.clone(), data)]))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::import::format::ReadFrom;
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
        // Importing twice changes nothing, and an import that stopped anywhere and then resumed is complete.
        let whole = kept.records.clone();
        assert_eq!(kept.import(&ReadingList, &[("books.txt", LIST)]).new, 0);
        for cut in 0..5 {
            let mut pieces = Kept::default();
            pieces.import_some(&ReadingList, &[("books.txt", LIST)], harness::ask(), cut);
            pieces.import_some(&ReadingList, &[("books.txt", LIST)], harness::ask(), usize::MAX);
            assert_eq!(pieces.records, whole);
        }
    }

    #[test]
    fn a_last_line_without_its_end_is_read_and_read_again_where_it_grew() {
        let start = "# Reading list of ana\n2026-01-31 | Solaris | Lem\n2026-03-01 | Dune | Herb";
        let grown = format!("{start}ert\n2026-04-01 | Emma | Austen");
        let mut whole = Kept::default();
        assert_eq!(whole.import(&ReadingList, &[("books.txt", grown.as_bytes())]).new, 3);
        // This also holds if the first import stopped after any one of its items.
        for cut in [1, 2, usize::MAX] {
            let mut kept = Kept::default();
            let counts =
                kept.import_some(&ReadingList, &[("books.txt", start.as_bytes())], harness::ask(), cut);
            assert_eq!(counts.new, cut.min(2) as u64);
            kept.import_some(&ReadingList, &[("books.txt", grown.as_bytes())], harness::ask(), usize::MAX);
            assert_eq!(kept.records, whole.records);
        }
    }

    #[test]
    fn a_list_that_names_nobody_and_one_without_its_head_are_planned() {
        let nobody =
            &harness::plan(&ReadingList, &[("a", b"# Reading list of \n")], harness::ask()).unwrap()[0];
        assert_eq!((nobody.account.as_str(), nobody.notes.len()), (KEY, 1));
        for length in [0, 20] {
            let open = || Ok(Box::new(io::Cursor::new(LIST)) as Box<dyn ReadFrom + Send>);
            let member =
                Member { label: "a", head: &LIST[..length], size: None, modified_ms: None, open: &open };
            assert_eq!(ReadingList.plan(&[member], &mut harness::ask()).unwrap()[0].account, "ana");
        }
    }
}
