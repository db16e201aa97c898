//! Exports through every format: recognised or not, planned or refused, split into consecutive items, and parsed into records
//! that are declared. An interrupted import resumes with the same items (O4.5, O4.14, O8.5).
//!
//! Input: a byte for the format, one for where the import is interrupted, then the file. `PDPP_FUZZ_FORMAT`, a format's name,
//! replaces the first byte, so that each format can be given its own time.
#![no_main]

use std::io::{self, BufRead, Cursor, Read};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::LazyLock;

use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;
use pdpp::import::format::{
    Apart, Ask, DateOrder, Format, Member, PEEK, Parsed, Peek, Plan, Raw, ReadFrom, Unit,
};
use pdpp::import::formats;
use serde_json::Value;

static ONLY: LazyLock<Option<&dyn Format>> = LazyLock::new(|| {
    let name = std::env::var("PDPP_FUZZ_FORMAT").ok()?;
    Some(*formats::ALL.iter().find(|format| format.name() == name).expect("a format's name"))
});
const LABEL: &str = "export/table 2026.csv";
const MODIFIED_MS: Option<i64> = Some(1_700_000_000_000);

fn ask(date_order: Option<DateOrder>) -> Ask {
    Ask {
        account: None,
        zone: TimeZone::UTC,
        date_order,
        is_order_typed: date_order.is_some(),
        order_before: None,
        source_name: "export".to_owned(),
        source_path: "/home/ana/export".into(),
        is_file: false,
        known: Vec::new(),
    }
}

/// A file, for formats that also read at arbitrary positions.
struct InFolder(Cursor<Vec<u8>>);

impl Read for InFolder {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to)
    }
}

impl BufRead for InFolder {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.0.consume(amount);
    }
}

impl ReadFrom for InFolder {
    fn skip_to(&mut self, offset: u64) -> io::Result<()> {
        self.0.skip_to(offset)
    }

    fn apart(&self) -> Option<&dyn Apart> {
        Some(self)
    }
}

impl Apart for InFolder {
    fn database(&self) -> io::Result<PathBuf> {
        let path = std::env::temp_dir().join(format!("pdpp-fuzz-{}", std::process::id()));
        std::fs::write(&path, self.0.get_ref())?;
        Ok(path)
    }

    fn hide(&self) {}

    fn anywhere(&self) -> io::Result<Box<dyn ReadFrom + Send>> {
        Ok(Box::new(Cursor::new(self.0.get_ref().clone())))
    }
}

fn split(format: &dyn Format, plan: &Plan, file: &[u8], from: u64, most: usize) -> (Vec<Raw>, u64) {
    let mut items = Vec::new();
    let bytes = Box::new(InFolder(Cursor::new(file.to_vec())));
    let mut unit = Unit { label: LABEL, modified_ms: MODIFIED_MS, bytes };
    let mut out = |raw| {
        items.push(raw);
        if items.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let end = format.split(plan, &mut unit, from, &mut out).map_or(from, |end| end.at);
    (items, end)
}

fn check(format: &dyn Format, plan: &Plan, raw: &Raw) {
    let parsed = format.parse(plan, raw);
    assert_eq!(format.parse(plan, raw), parsed, "the same item is the same records");
    let drafts = match parsed {
        Ok(Parsed::Records(drafts)) => drafts,
        Ok(Parsed::Skipped(why)) => return assert!(!why.is_empty()),
        Err(bad) => return assert!(!bad.0.is_empty()),
    };
    for draft in drafts {
        let stream = plan.connector.stream(&draft.stream).expect("a declared stream");
        let Some(data) = &draft.data else { continue };
        let Ok(Value::Object(data)) = serde_json::from_str(data) else { panic!("no object: {data}") };
        for name in data.keys() {
            assert!(stream.field(name).is_some(), "{name} is not declared");
        }
        if let Some(sighting) = &draft.sighting {
            let text = draft.data.as_deref().unwrap_or_default();
            let joined = format.join(&draft.stream, text, &[sighting]);
            assert_eq!(format.join(&draft.stream, text, &[sighting, sighting]), joined);
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [which, cut, file @ ..] = data else { return };
    let format = ONLY.unwrap_or(formats::ALL[usize::from(*which) % formats::ALL.len()]);
    let head = &file[..file.len().min(PEEK)];
    let peek = Peek { label: LABEL, head, is_whole: head.len() == file.len() };
    // Only a recognised file is planned. In any other file, tables cannot be found again.
    let is_recognised = format.sniff(&peek).is_some();
    assert!(format.why_not(&peek).is_none_or(|why| why.len() < 200));
    let open = || -> io::Result<Box<dyn ReadFrom + Send>> { Ok(Box::new(Cursor::new(file.to_vec()))) };
    let size = Some(file.len() as u64);
    let member = Member { label: LABEL, head, size, modified_ms: MODIFIED_MS, open: &open };
    let planned = format
        .plan(std::slice::from_ref(&member), &mut ask(None))
        .or_else(|_| {
            format.plan(std::slice::from_ref(&member), &mut ask(Some(DateOrder::DayMonthYear)))
        });
    let plans = match planned {
        Ok(plans) => plans,
        Err(refused) => return assert!(!refused.to_string().is_empty()),
    };
    // In the second plan, the streams are known, and what is declared stays.
    let mut again = ask(Some(DateOrder::MonthDayYear));
    again.known = plans.iter().map(|plan| plan.connector.clone()).collect();
    let later = format.plan(std::slice::from_ref(&member), &mut again).expect("planned again");
    for (before, plan) in plans.iter().zip(&later).filter(|_| is_recognised) {
        for stream in &before.connector.streams {
            let now = plan.connector.stream(&stream.name).expect("the stream is still there");
            assert_eq!((&now.primary_key, &now.cursor_field), (&stream.primary_key, &stream.cursor_field));
            for field in &stream.fields {
                let kind = now.field(&field.name).expect("the field is still there").kind;
                assert!(kind == field.kind || field.kind.is_numeric() && kind.is_numeric(), "{}", field.name);
            }
        }
    }
    for plan in plans.iter().filter(|plan| !plan.units.is_empty()) {
        let (items, end) = split(format, plan, file, 0, usize::MAX);
        // The offsets of these formats are numbers of items, not positions in the file.
        let most = if format.counts_items() { u64::MAX } else { file.len() as u64 };
        assert!(end <= most);
        let mut at = 0;
        for raw in &items {
            // An item whose `next` is its own offset is read again, and so is one whose `next` is the offset of the item before
            // it.
            assert!(raw.offset >= at && raw.next >= at && raw.next <= most, "in order");
            at = raw.next;
            check(format, plan, raw);
        }
        // An import that is interrupted after an item resumes with the next one.
        let first = usize::from(*cut);
        if (1..items.len()).contains(&first) {
            let (begun, at) = split(format, plan, file, 0, first);
            assert_eq!(begun, items[..first]);
            let next = begun.last().map_or(0, |raw| raw.next);
            assert!(at <= next);
            let (rest, _) = split(format, plan, file, next, usize::MAX);
            assert_eq!(rest, items[items.partition_point(|raw| raw.offset < next)..]);
        }
    }
});
