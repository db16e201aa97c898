//! QIF, which Quicken and other programs wrote before OFX: each line is a letter and a value, and `^` ends a record.
//!
//! The format defines neither the order of a date's numbers nor the decimal mark. All dates and amounts of the files together
//! decide, or the owner does.

use std::collections::HashMap;
use std::io::{self, BufRead};
use std::sync::Arc;

use encoding_rs::WINDOWS_1252;
use serde::{Deserialize, Serialize};

use super::{Account, Booked, Marks, amount, join, plan, words};
use crate::import::cell::{self, Decimal, Moment};
use crate::import::format::{
    Ask, Bad, DateOrder, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};
use crate::import::lines::Lines;
use crate::import::table::{self, Columns, Copies, Value};

/// QIF.
pub struct Qif;

/// The longest record that is read, in bytes.
const LONGEST: usize = 1 << 20;

/// The kind of section that a record is in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Section {
    #[default]
    None,
    Account,
    Booked,
    Investment,
    Other,
}

/// What is known about an item in addition to its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Facts {
    section: Section,
    account: Account,
    /// The account's own name: the opening balance is booked to it.
    own_name: Option<String>,
    /// How the item's dates and amounts are read.
    is_month_first: bool,
    has_comma: bool,
    is_cut: bool,
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    order: DateOrder,
    decimal: Decimal,
}

struct State {
    /// The readings by label.
    readings: HashMap<String, Reading>,
}

impl Format for Qif {
    fn name(&self) -> &'static str {
        "qif"
    }

    fn title(&self) -> &'static str {
        "accounts in a QIF file"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let head = peek.head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(peek.head);
        let first =
            head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty())?;
        let first = first.to_ascii_lowercase();
        ["!type:", "!account", "!option:", "!clear:"]
            .iter()
            .any(|mark| first.starts_with(mark.as_bytes()))
            .then_some(Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let mut columns = Columns::default();
        let mut marks = Vec::with_capacity(members.len());
        for member in members {
            columns.next_file();
            let seen = (member.open)().and_then(|bytes| look(bytes, &mut columns));
            marks.push(seen.map_err(|error| table::unreadable(member, &error))?);
        }
        let order = columns.order(ask, None)?;
        let mut notes = vec![
            "QIF files do not name a currency: do not add up accounts in different currencies.".to_owned(),
        ];
        if let Some(order) = order {
            let words =
                if order == DateOrder::MonthDayYear { "month, day, year" } else { "day, month, year" };
            notes.push(format!("Dates are read as {words}"));
        }
        notes.extend(super::order_changed(ask));
        let all = marks.iter().fold(Marks::default(), |all, of| Marks {
            points: all.points + of.points,
            commas: all.commas + of.commas,
        });
        let order = order.unwrap_or(DateOrder::MonthDayYear);
        let readings = members
            .iter()
            .zip(marks)
            .map(|(member, of)| {
                let decimal = of.decimal(all.decimal(Decimal::Point));
                (member.label.to_owned(), Reading { order, decimal })
            })
            .collect();
        Ok(vec![plan(members, ask, notes, Arc::new(State { readings }))?])
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let reading =
            plan.state.downcast_ref::<State>().and_then(|state| state.readings.get(unit.label).copied());
        let Some(reading) = reading else {
            return Err(io::Error::other("this file did not exist when the import was planned"));
        };
        // The date is removed from the name, because a later file of the same account has another date.
        let label = table::table_name(unit.label);
        let mut copies = Copies::default();
        let mut end = 0;
        let mut is_stopped = false;
        records(&mut unit.bytes, &label, &mut |record| {
            let Record { offset, next, line, bytes, facts, is_whole } = record;
            let facts = Facts {
                is_month_first: reading.order == DateOrder::MonthDayYear,
                has_comma: reading.decimal == Decimal::Comma,
                ..facts
            };
            let booked = if facts.section == Section::Booked { booked(&facts, &bytes).ok() } else { None };
            let copy = match booked {
                Some(Ok(booked)) => {
                    copies.before(table::hash([booked.identity(&facts.account.id).as_bytes()]))
                }
                _ => copies.before(table::hash([&bytes[..]])),
            };
            end = if is_whole { next } else { offset };
            if offset < from {
                return true;
            }
            let facts = serde_json::to_string(&facts).unwrap_or_default();
            is_stopped = out(Raw { offset, next: end, line: Some(line), bytes, facts, copy }).is_break();
            !is_stopped
        })?;
        Ok(End { at: if is_stopped { end } else { end.max(from) } })
    }

    fn parse(&self, _: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        let facts: Facts = serde_json::from_str(&raw.facts).map_err(|_| Bad("changed while it was read"))?;
        if facts.is_cut {
            return Err(Bad("a record of more than 1 MiB"));
        }
        match facts.section {
            Section::Account => Ok(Parsed::Records(vec![facts.account.draft()?])),
            Section::Booked => match booked(&facts, &raw.bytes)? {
                Ok(booked) => booked.drafts(&facts.account, raw.copy).map(Parsed::Records),
                Err(why) => Ok(Parsed::Skipped(why)),
            },
            Section::Investment => Ok(Parsed::Skipped("a securities trade")),
            Section::Other => Ok(Parsed::Skipped("a category, a security or another list")),
            Section::None => Err(Bad("a record without an account")),
        }
    }

    fn join(&self, _: &str, data: &str, sightings: &[&str]) -> String {
        join(data, sightings)
    }

    fn is_whole_alone(&self) -> bool {
        true
    }

    fn shares(&self, stream: &str) -> bool {
        stream == super::ACCOUNTS
    }

    fn add_sighting(&self, _: &str, first: &str, second: &str) -> String {
        join(second, &[first, second])
    }
}

/// A record as the file has it.
struct Record {
    offset: u64,
    next: u64,
    line: u64,
    bytes: Vec<u8>,
    facts: Facts,
    is_whole: bool,
}

/// Goes through the records of a file. `label` names the account if nothing else does.
fn records(bytes: impl BufRead, label: &str, out: &mut dyn FnMut(Record) -> bool) -> io::Result<()> {
    let mut lines = Lines::new(bytes);
    let mut section = Section::None;
    let mut account = account_of(&[], label, None);
    // Set if a list named the account. Then the section does not name it again.
    let mut is_named = false;
    let mut own_name = None;
    let mut record: Option<Record> = None;
    while let Some(line) = lines.read()? {
        let text = if line.offset == 0 {
            line.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line.bytes)
        } else {
            line.bytes
        };
        let text = text.trim_ascii_end();
        if text.first() == Some(&b'!') && record.is_none() {
            let mark = decoded(text).to_lowercase();
            let mark = mark.trim();
            if mark == "!account" {
                section = Section::Account;
            } else if let Some(kind) = mark.strip_prefix("!type:") {
                let kind = kind.trim();
                section = match kind {
                    "invst" | "port" => Section::Investment,
                    "bank" | "ccard" | "cash" | "oth a" | "oth l" => Section::Booked,
                    _ => Section::Other,
                };
                if section == Section::Booked && !is_named {
                    account = account_of(&[], label, kind_of(kind));
                }
            }
            continue;
        }
        let is_end = text == b"^";
        if record.is_none() && (text.is_empty() || is_end && line.has_end) {
            continue;
        }
        let open = record.get_or_insert_with(|| Record {
            offset: line.offset,
            next: line.next,
            line: line.number,
            bytes: Vec::new(),
            facts: Facts {
                section,
                account: account.clone(),
                own_name: own_name.clone(),
                ..Facts::default()
            },
            is_whole: false,
        });
        open.next = line.next;
        if is_end {
            let Some(mut whole) = record.take() else { continue };
            whole.is_whole = true;
            if section == Section::Account {
                let text = decoded(&whole.bytes).into_owned();
                let fields: Vec<&str> = text.lines().collect();
                account = account_of(&fields, label, None);
                own_name = field(&fields, 'N').map(str::to_owned);
                is_named = own_name.is_some();
                whole.facts.account = account.clone();
            }
            if !out(whole) {
                return Ok(());
            }
            continue;
        }
        if open.bytes.len() + text.len() > LONGEST || line.is_long {
            open.facts.is_cut = true;
            continue;
        }
        if !open.bytes.is_empty() {
            open.bytes.push(b'\n');
        }
        open.bytes.extend_from_slice(text);
    }
    if let Some(half) = record {
        // The last record may lack its end mark.
        out(half);
    }
    Ok(())
}

fn decoded(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}

/// The value of a line that begins with this letter.
fn field<'a>(lines: &[&'a str], letter: char) -> Option<&'a str> {
    lines.iter().find_map(|line| line.strip_prefix(letter)).map(str::trim).filter(|value| !value.is_empty())
}

fn kind_of(kind: &str) -> Option<&'static str> {
    match kind.trim().to_lowercase().as_str() {
        "bank" | "chequing" | "checking" => Some("checking"),
        "savings" => Some("savings"),
        "ccard" | "creditcard" | "credit card" => Some("credit_card"),
        "cash" => Some("cash"),
        "oth a" => Some("asset"),
        "oth l" => Some("liability"),
        "invst" | "port" | "mutual" | "401(k)/403(b)" => Some("investment"),
        _ => None,
    }
}

/// The account that an `!Account` record describes. Its name is kept, except that long numbers in it are shortened.
fn account_of(lines: &[&str], label: &str, kind: Option<&'static str>) -> Account {
    let name = field(lines, 'N').unwrap_or(label);
    let kind = field(lines, 'T').and_then(kind_of).or(kind);
    let mut account = Account::new(&["qif"], name, None, kind, None);
    account.name = Some(without_number(name));
    account
}

/// A name in which only the last four digits of a long number are shown.
pub(super) fn without_number(name: &str) -> String {
    let mut out = String::new();
    let mut rest = name;
    while let Some(from) = rest.find(|c: char| c.is_ascii_digit()) {
        out.push_str(&rest[..from]);
        let number = &rest[from..];
        let length = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        if length > 6 {
            out.push('…');
            out.push_str(&number[length - 4..length]);
        } else {
            out.push_str(&number[..length]);
        }
        rest = &number[length..];
    }
    out.push_str(rest);
    out
}

/// Collects what the dates and amounts of a file prove.
fn look(bytes: impl BufRead, columns: &mut Columns) -> io::Result<Marks> {
    let mut marks = Marks::default();
    records(bytes, "", &mut |record| {
        if record.facts.section == Section::Booked {
            let text = decoded(&record.bytes);
            let lines: Vec<&str> = text.lines().collect();
            if let (Some(date), Some(column)) =
                (field(&lines, 'D').and_then(plain_date), columns.column("date"))
            {
                column.learn(Value::Cell(&date), record.line);
            }
            for value in ['T', 'U', '$'].into_iter().filter_map(|letter| field(&lines, letter)) {
                marks.learn(value);
            }
        }
        true
    })?;
    Ok(marks)
}

/// A date with a four-digit year where Quicken's apostrophe gives it: `1/ 5'26`, `12/31/99`.
fn plain_date(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).take(20).collect();
    let text = match text.split_once('\'') {
        Some((day, year)) if !year.is_empty() && year.len() <= 2 => {
            format!("{day}/{:0>4}", format!("20{year:0>2}"))
        }
        Some((day, year)) => format!("{day}/{year}"),
        None => text,
    };
    Some(text.replace(['-', '.'], "/")).filter(|text| !text.is_empty())
}

/// Reads a transaction from a record, or returns why it is skipped.
fn booked(facts: &Facts, bytes: &[u8]) -> Result<Result<Booked, &'static str>, Bad> {
    let text = decoded(bytes);
    let lines: Vec<&str> = text.lines().collect();
    let decimal = if facts.has_comma { Decimal::Comma } else { Decimal::Point };
    let order = if facts.is_month_first { DateOrder::MonthDayYear } else { DateOrder::DayMonthYear };
    // The lines before the splits are about the whole transaction.
    let first_split = lines.iter().position(|line| line.starts_with('S')).unwrap_or(lines.len());
    let (whole, splits) = lines.split_at(first_split);
    let of = |letter| field(whole, letter).or_else(|| field(splits, letter));
    let date = of('D').and_then(plain_date).and_then(|date| cell::moment(&date, order));
    let Some(Moment::Day(date)) = date else { return Err(Bad("no date")) };
    let value = of('T').or_else(|| of('U')).and_then(|value| amount(value, decimal));
    let category = field(whole, 'L').filter(|category| !category.eq_ignore_ascii_case("--split--"));
    let transfer =
        category.and_then(|category| category.strip_prefix('[')).and_then(|rest| rest.split_once(']'));
    // The opening balance of an account, booked to the account itself.
    if transfer.is_some_and(|(to, _)| facts.own_name.as_deref() == Some(to)) {
        return Ok(Err("the opening balance of an account"));
    }
    let number = of('N');
    let is_check = number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    let kind = match (transfer, number) {
        (Some(_), _) => Some("transfer".to_owned()),
        (None, Some(_)) if is_check => Some("check".to_owned()),
        (None, Some(number)) if number.len() < 20 => Some(number.to_lowercase()),
        _ => None,
    };
    let mut memo: Vec<String> = of('M').and_then(words).into_iter().collect();
    memo.extend(parts(splits, decimal));
    Ok(Ok(Booked {
        date: date.to_string(),
        amount: value.ok_or(Bad("no amount"))?,
        currency: None,
        name: of('P')
            .and_then(words)
            .or_else(|| number.filter(|_| is_check).map(|number| format!("Check {number}"))),
        memo: (!memo.is_empty()).then(|| memo.join("\n")),
        kind,
        category: category.map(str::to_owned),
        fitid: None,
    }))
}

/// One line for each part of a split transaction: `Groceries: -10.00 (for Ana)`.
fn parts(lines: &[&str], decimal: Decimal) -> Vec<String> {
    let mut parts: Vec<(String, Option<String>, Option<String>)> = Vec::new();
    for line in lines {
        let mut chars = line.chars();
        let (letter, value) = (chars.next(), chars.as_str().trim());
        let has_room = parts.len() < 1000;
        match (letter, parts.last_mut()) {
            (Some('S'), _) if has_room => parts.push((value.to_owned(), None, None)),
            (Some('E'), Some(part)) => part.1 = words(value),
            (Some('$'), Some(part)) => part.2 = amount(value, decimal),
            _ => {}
        }
    }
    parts
        .into_iter()
        .map(|(category, memo, value)| {
            let category = if category.is_empty() { "no category" } else { &category };
            let memo = memo.map_or_else(String::new, |memo| format!(" ({memo})"));
            value.map_or_else(|| format!("{category}{memo}"), |value| format!("{category}: {value}{memo}"))
        })
        .collect()
}

#[cfg(test)]
#[path = "qif_tests.rs"]
mod tests;
