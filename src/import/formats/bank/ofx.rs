//! OFX and QFX, which banks write for finance programs: SGML without end tags (1.x), XML (2.x), and the variations that banks
//! make of them.
//!
//! The reader goes through a statement tag by tag and remembers which account it belongs to. Each transaction is an item.

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::sync::Arc;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::{Account, Booked, amount, decimal_of, join, plan, words};
use crate::import::cell::Decimal;
use crate::import::format::{
    Ask, Bad, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};
use crate::import::table::{self, Copies};

/// OFX.
pub struct Ofx;

/// The longest transaction that is read, in bytes.
const LONGEST: usize = 1 << 20;
/// The longest text that is kept before a tag, in bytes.
const LONGEST_TEXT: usize = 64 << 10;

/// What is known about an item in addition to its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Facts {
    account: Account,
    /// Why the item is skipped, if it is.
    skipped: Option<Skipped>,
    /// The charset that the file names.
    charset: Option<String>,
    is_cut: bool,
    /// Set if the file ends before its statement does. Then this is not a transaction.
    is_unended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Skipped {
    Pending,
    Investment,
    Position,
}

impl Format for Ofx {
    fn name(&self) -> &'static str {
        "ofx"
    }

    fn title(&self) -> &'static str {
        "bank statements in an OFX or QFX file"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let head = &peek.head[..peek.head.len().min(4096)];
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start().to_ascii_uppercase();
        let has = |mark: &[u8]| text.windows(mark.len()).any(|window| window == mark);
        let is_headed =
            text.starts_with(b"OFXHEADER") || text.starts_with(b"<?XML") || text.starts_with(b"<?OFX");
        (text.starts_with(b"<OFX>") || is_headed && has(b"<OFX>")).then_some(Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        Ok(vec![plan(members, ask, Vec::new(), Arc::new(()))?])
    }

    fn split(&self, _: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        // Reads from the start even when resuming, because the account is named before the transactions that were already read.
        let mut tags = Tags::new(&mut unit.bytes);
        let mut context = Context::default();
        let mut copies = Copies::default();
        let mut end = 0;
        let mut give = |item: Item, is_whole: bool, context: &Context, end: &mut u64| {
            let facts = context.facts(&item);
            let copy = match read(&facts, &item.bytes) {
                Ok(booked) if facts.skipped.is_none() => {
                    let identity = table::hash([booked.identity(&facts.account.id).as_bytes()]);
                    if booked.fitid.is_some() {
                        let text =
                            [&booked.name, &booked.memo].map(|text| text.as_deref().unwrap_or_default());
                        copies.of(identity, table::hash(text.map(str::as_bytes)))
                    } else {
                        copies.before(identity)
                    }
                }
                _ => copies.before(table::hash([&item.bytes[..]])),
            };
            let next = if is_whole { item.offset + item.length } else { item.offset };
            *end = next;
            if item.offset < from {
                return false;
            }
            let facts = serde_json::to_string(&facts).unwrap_or_default();
            out(Raw { offset: item.offset, next, line: None, bytes: item.bytes, facts, copy }).is_break()
        };
        let mut open: Option<Item> = None;
        let mut is_ended = true;
        while let Some(tag) = tags.read()? {
            if tag.name == "OFX" {
                is_ended = tag.is_end;
            }
            let begins_item = !tag.is_end && Item::begins(&tag.name);
            if let Some(item) = &mut open {
                let ends = tag.is_end && tag.name == item.name;
                // The end tag of the enclosing element, or the next transaction: the transaction's own end tag is missing.
                let is_lost = begins_item && tag.name == item.name
                    || tag.is_end
                        && (tag.name.ends_with("TRANLIST")
                            || tag.name.ends_with("STMTRS")
                            || tag.name == "OFX")
                    || !tag.is_end && tag.name.ends_with("STMTRS");
                if ends || !is_lost {
                    item.add(&tag, ends);
                }
                if ends || is_lost {
                    if let Some(item) = open.take()
                        && give(item, true, &context, &mut end)
                    {
                        return Ok(End { at: end });
                    }
                    if ends {
                        continue;
                    }
                } else {
                    continue;
                }
            }
            if begins_item {
                open = Some(Item::new(&tag));
            } else {
                context.take(&tag, tags.head());
            }
        }
        if let Some(half) = open
            && give(half, false, &context, &mut end)
        {
            return Ok(End { at: end });
        }
        if !is_ended {
            let facts = serde_json::to_string(&Facts { is_unended: true, ..Facts::default() });
            let facts = facts.unwrap_or_default();
            // A later run resumes after the last complete transaction.
            let raw = Raw { offset: tags.at, next: end, line: None, bytes: Vec::new(), facts, copy: 0 };
            if out(raw).is_break() {
                return Ok(End { at: end });
            }
        }
        Ok(End { at: end.max(from) })
    }

    fn parse(&self, _: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        let facts: Facts = serde_json::from_str(&raw.facts).map_err(|_| Bad("changed while it was read"))?;
        if facts.is_unended {
            return Err(Bad("the file ends before its statement does"));
        }
        match facts.skipped {
            Some(Skipped::Pending) => return Ok(Parsed::Skipped("pending")),
            Some(Skipped::Investment) => return Ok(Parsed::Skipped("a securities trade")),
            Some(Skipped::Position) => return Ok(Parsed::Skipped("a securities holding")),
            None => {}
        }
        read(&facts, &raw.bytes)?.drafts(&facts.account, raw.copy).map(Parsed::Records)
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

/// A tag and the text after it.
struct Tag {
    offset: u64,
    /// The bytes as the file has them.
    bytes: Vec<u8>,
    /// The length of the tag without the text.
    head: usize,
    /// The name in upper case.
    name: String,
    is_end: bool,
    /// The length in the file, including bytes that were not kept.
    length: u64,
}

impl Tag {
    fn text(&self) -> String {
        let text = self.bytes.get(self.head..).unwrap_or_default();
        unescaped(String::from_utf8_lossy(text).trim()).into_owned()
    }
}

/// Iterates over the tags of a file.
struct Tags<R> {
    reader: R,
    at: u64,
    /// The text before the first tag.
    head: Vec<u8>,
    has_head: bool,
}

impl<R: BufRead> Tags<R> {
    const fn new(reader: R) -> Self {
        Self { reader, at: 0, head: Vec::new(), has_head: false }
    }

    fn head(&self) -> &[u8] {
        &self.head
    }

    fn read(&mut self) -> io::Result<Option<Tag>> {
        if !self.has_head {
            self.head = self.before_next()?.0;
            self.has_head = true;
        }
        let offset = self.at;
        let Some(mark) = self.byte()? else { return Ok(None) };
        let mut bytes = vec![mark];
        let mut length = 1;
        loop {
            let (more, all) = self.before_next()?;
            bytes.extend_from_slice(&more);
            length += all;
            // `<3` is text: a `<` begins a tag only before a letter, `/`, `?` or `!`.
            let is_text = match self.reader.fill_buf()? {
                [b'<', next, ..] => !(next.is_ascii_alphabetic() || matches!(next, b'/' | b'?' | b'!')),
                _ => false,
            };
            if !is_text || bytes.len() > LONGEST_TEXT {
                break;
            }
            bytes.extend(self.byte()?);
            length += 1;
        }
        bytes.truncate(LONGEST_TEXT);
        let inner = &bytes[1..];
        if let Some(data) = inner.strip_prefix(b"![CDATA[") {
            // The content of a CDATA section is text of the tag before it.
            let head = bytes.len() - data.len();
            return Ok(Some(Tag { offset, head, name: "![CDATA[".to_owned(), is_end: false, length, bytes }));
        }
        let close = inner.iter().position(|byte| *byte == b'>');
        let name = &inner[..close.unwrap_or(inner.len()).min(100)];
        let is_end = name.first() == Some(&b'/');
        let name = if is_end { &name[1..] } else { name };
        let name = name.split(|byte| byte.is_ascii_whitespace() || *byte == b'/').next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).to_ascii_uppercase();
        let head = close.map_or(bytes.len(), |close| close + 2);
        // A tag that is cut off has no name.
        let name = if close.is_none() { String::new() } else { name };
        Ok(Some(Tag { offset, bytes, head, name, is_end, length }))
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.reader.fill_buf()?.first().copied();
        if byte.is_some() {
            self.reader.consume(1);
            self.at += 1;
        }
        Ok(byte)
    }

    /// Reads the text before the next `<`. Returns as much of it as is kept, and its full length.
    fn before_next(&mut self) -> io::Result<(Vec<u8>, u64)> {
        let (mut kept, mut all) = (Vec::new(), 0);
        loop {
            let chunk = self.reader.fill_buf()?;
            if chunk.is_empty() {
                return Ok((kept, all));
            }
            let end = memchr::memchr(b'<', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let room = LONGEST_TEXT.saturating_sub(kept.len());
            kept.extend_from_slice(&part[..part.len().min(room)]);
            let read = part.len();
            self.reader.consume(read);
            self.at += read as u64;
            all += read as u64;
            if end.is_some() {
                return Ok((kept, all));
            }
        }
    }
}

/// A transaction that is being read.
struct Item {
    name: String,
    offset: u64,
    length: u64,
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Item {
    fn begins(name: &str) -> bool {
        matches!(name, "STMTTRN" | "STMTTRNP" | "INVTRAN" | "INVPOS")
    }

    fn new(tag: &Tag) -> Self {
        let mut item =
            Self { name: tag.name.clone(), offset: tag.offset, length: 0, bytes: Vec::new(), is_cut: false };
        item.add(tag, false);
        item
    }

    /// Adds a tag. With `is_last`, the text after it is left out.
    fn add(&mut self, tag: &Tag, is_last: bool) {
        let bytes = if is_last { &tag.bytes[..tag.head.min(tag.bytes.len())] } else { &tag.bytes[..] };
        if self.bytes.len() + bytes.len() > LONGEST {
            self.is_cut = true;
        } else {
            self.bytes.extend_from_slice(bytes);
        }
        self.length += if is_last { bytes.len() as u64 } else { tag.length };
    }
}

/// What the statement has stated before an item.
#[derive(Debug, Default)]
struct Context {
    org: Option<String>,
    charset: Option<String>,
    currency: Option<String>,
    /// The kind of the account that is being named.
    kind: Option<&'static str>,
    bank: String,
    number: String,
    is_pending: bool,
}

impl Context {
    fn take(&mut self, tag: &Tag, head: &[u8]) {
        match (tag.name.as_str(), tag.is_end) {
            ("OFX", false) => self.charset = charset_of(head),
            ("ORG", false) if self.org.is_none() => {
                self.org = words(&tag.text()).filter(|org| org.len() < 100);
            }
            ("STMTRS" | "CCSTMTRS" | "INVSTMTRS", false) => {
                *self = Self { org: self.org.take(), charset: self.charset.take(), ..Self::default() };
            }
            ("CURDEF", false) => {
                self.currency =
                    words(&tag.text()).map(|code| code.to_uppercase()).filter(|code| code.len() == 3);
            }
            ("BANKACCTFROM", false) => self.begin(None),
            ("CCACCTFROM", false) => self.begin(Some("credit_card")),
            ("INVACCTFROM", false) => self.begin(Some("investment")),
            ("BANKID" | "BROKERID", false) => self.bank = tag.text(),
            ("ACCTID", false) => self.number = tag.text(),
            ("ACCTTYPE", false) => {
                self.kind = match tag.text().to_ascii_uppercase().as_str() {
                    "CHECKING" => Some("checking"),
                    "SAVINGS" => Some("savings"),
                    "MONEYMRKT" => Some("money_market"),
                    "CREDITLINE" => Some("credit_line"),
                    "CD" => Some("certificate_of_deposit"),
                    _ => self.kind,
                };
            }
            ("BANKTRANLISTP", is_end) => self.is_pending = !is_end,
            _ => {}
        }
    }

    fn begin(&mut self, kind: Option<&'static str>) {
        (self.kind, self.bank, self.number) = (kind, String::new(), String::new());
    }

    fn facts(&self, item: &Item) -> Facts {
        let skipped = match item.name.as_str() {
            "STMTTRNP" => Some(Skipped::Pending),
            "INVTRAN" => Some(Skipped::Investment),
            "INVPOS" => Some(Skipped::Position),
            _ if self.is_pending => Some(Skipped::Pending),
            _ => None,
        };
        let account = Account::new(
            &["ofx", &self.bank],
            &self.number,
            self.org.as_deref(),
            self.kind,
            self.currency.as_deref(),
        );
        Facts { account, skipped, charset: self.charset.clone(), is_cut: item.is_cut, is_unended: false }
    }
}

/// The charset that the header names: `CHARSET:1252`.
fn charset_of(head: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(&head[..head.len().min(4096)]).to_ascii_uppercase();
    let value = head.split(|c: char| c.is_whitespace()).find_map(|field| field.strip_prefix("CHARSET:"))?;
    let label = if value.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("windows-{value}")
    } else {
        value.to_lowercase()
    };
    Encoding::for_label(label.as_bytes()).map(|known| known.name().to_owned())
}

/// Reads a transaction. The charset that the bank names applies only if the bytes are not UTF-8.
fn read(facts: &Facts, bytes: &[u8]) -> Result<Booked, Bad> {
    if facts.is_cut {
        return Err(Bad("a transaction of more than 1 MiB"));
    }
    let named = facts.charset.as_deref().and_then(|label| Encoding::for_label(label.as_bytes()));
    let charset = if std::str::from_utf8(bytes).is_ok() {
        UTF_8
    } else {
        named.filter(|it| *it != UTF_8).unwrap_or(WINDOWS_1252)
    };
    let text = charset.decode_without_bom_handling(bytes).0;
    let mut booked = Booked::default();
    let (mut date, mut user_date, mut check, mut payee) = (None, None, None, None);
    let (mut value, mut symbol, mut is_other_account) = (None, None, false);
    let mut within = "";
    for (name, is_end, text) in leaves(&text) {
        let here = || words(&text);
        match (name.as_str(), is_end) {
            ("BANKACCTTO" | "CCACCTTO", is_end) => is_other_account = !is_end,
            _ if is_other_account => {}
            ("CURRENCY", false) => within = "CURRENCY",
            ("ORIGCURRENCY", false) => within = "ORIGCURRENCY",
            ("PAYEE", false) => within = "PAYEE",
            ("CURRENCY" | "ORIGCURRENCY" | "PAYEE", true) => within = "",
            (_, true) => {}
            ("TRNTYPE", _) if booked.kind.is_none() => booked.kind = here().map(|kind| kind.to_lowercase()),
            ("DTPOSTED", _) => date = date.or_else(|| day(&text)),
            ("DTUSER", _) => user_date = user_date.or_else(|| day(&text)),
            ("TRNAMT", _) if value.is_none() => {
                value = amount(&text, decimal_of(&text).unwrap_or(Decimal::Point));
            }
            ("CURSYM", _) if within == "CURRENCY" => {
                symbol = here().map(|code| code.to_uppercase()).filter(|code| code.len() == 3);
            }
            ("FITID", _) if booked.fitid.is_none() => booked.fitid = here().filter(|id| is_name(id)),
            ("NAME", _) if within == "PAYEE" => payee = payee.or_else(here),
            ("NAME", _) if booked.name.is_none() => booked.name = here(),
            ("EXTDNAME", _) => payee = payee.or_else(here),
            ("MEMO", _) if booked.memo.is_none() => booked.memo = here(),
            ("CATEGORY", _) if booked.category.is_none() => booked.category = here(),
            ("CHECKNUM", _) => check = check.or_else(here),
            _ => {}
        }
    }
    booked.date = date.or(user_date).ok_or(Bad("no date"))?.to_string();
    booked.amount = value.ok_or(Bad("no amount"))?;
    booked.name = booked.name.or(payee).or_else(|| check.map(|number| format!("Check {number}")));
    booked.currency = symbol;
    Ok(booked)
}

/// Whether an id identifies a transaction. Some banks give every transaction the same id, or restart the count in each file.
fn is_name(id: &str) -> bool {
    let is_count = id.len() < 6 && id.bytes().all(|byte| byte.is_ascii_digit());
    let first = id.chars().next();
    !is_count && !id.chars().all(|c| Some(c) == first)
}

/// The local day of a time at the bank: `20260301120000.000[-3:GMT]`.
fn day(text: &str) -> Option<Date> {
    let digits: String = text.trim().chars().filter(|c| *c != '-').take(8).collect();
    if digits.len() != 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Date::new(digits[..4].parse().ok()?, digits[4..6].parse().ok()?, digits[6..].parse().ok()?).ok()
}

/// The tags of an item, whether each is an end tag, and the text after each.
fn leaves(text: &str) -> Vec<(String, bool, String)> {
    let mut all: Vec<(String, bool, String)> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let inner = &rest[at + 1..];
        if let Some(data) = inner.strip_prefix("![CDATA[") {
            let (data, behind) = data.split_once("]]>").unwrap_or((data, ""));
            if let Some((_, _, text)) = all.last_mut() {
                text.push_str(data);
            }
            rest = behind;
            continue;
        }
        let begins = |c: char| c.is_ascii_alphabetic() || c == '/';
        let Some((name, behind)) = inner.split_once('>').filter(|_| inner.starts_with(begins)) else {
            if let Some((_, _, text)) = all.last_mut() {
                text.push('<');
            }
            rest = inner;
            continue;
        };
        let is_end = name.starts_with('/');
        let name = name.trim_matches('/').split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        // The text runs up to the next tag. A `<` that does not begin a tag is text.
        let mut end = 0;
        loop {
            match behind[end..].find('<') {
                None => end = behind.len(),
                Some(more) => {
                    end += more;
                    let next = behind[end + 1..].chars().next();
                    if !next.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) {
                        end += 1;
                        continue;
                    }
                }
            }
            break;
        }
        all.push((name, is_end, unescaped(&behind[..end]).into_owned()));
        rest = &behind[end..];
    }
    all
}

/// Decodes the entities in a text and leaves unknown ones unchanged.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let inner = &rest[at + 1..];
        let entity = inner.find(';').filter(|end| *end < 12).map(|end| &inner[..end]);
        let c = entity.and_then(|entity| match entity.to_ascii_lowercase().as_str() {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            "nbsp" => Some(' '),
            number => {
                let number = number.strip_prefix('#')?;
                let code = match number.strip_prefix('x') {
                    Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                    None => number.parse().ok()?,
                };
                char::from_u32(code).filter(|c| !c.is_control())
            }
        });
        if let (Some(c), Some(entity)) = (c, entity) {
            out.push(c);
            rest = &inner[entity.len() + 1..];
        } else {
            out.push('&');
            rest = inner;
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
#[path = "ofx_tests.rs"]
mod tests;
