//! Contacts: vCard 2.1, 3.0 and 4.0, as address books export them, with one card after another in a file.
//!
//! Old phones write 2.1, with quoted-printable values that continue on the next line, a charset for each value, and parameters
//! without a name. Apple groups properties (`item1.EMAIL`). Photos are left out, because they would make up most of the file.

use std::io;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::import::agent_session::name;
use crate::import::chat_export::beginning;
use crate::import::content_line::{self, Property};
use crate::import::declare::{Registry, StreamLine, connector};
use crate::import::digest;
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};
use crate::import::lines::Lines;
use crate::vault::time;

/// Contacts.
pub struct VCard;

/// The account's name unless the owner gives another one: no card says whose address book it is in.
const KEY: &str = "contacts";
const CONTACTS: &str = "contacts";
/// The longest card that is read, in bytes. It may contain a large photo.
const LONGEST: usize = 16 << 20;

const STREAMS: [StreamLine; 1] = [StreamLine {
    name: CONTACTS,
    key: "id",
    time: "updated_at/-",
    fields: "id:k! display_name:h given_name:s family_name:s org:s title:s note:b birthday:k emails:a phones:a addresses:a \
             reach:x has_photo:f updated_at:t",
    relations: "",
}];

/// A record, with its fields in the declared order.
#[derive(Serialize)]
struct Contact<'a> {
    id: &'a str,
    display_name: Option<&'a str>,
    given_name: Option<&'a str>,
    family_name: Option<&'a str>,
    org: Option<String>,
    title: Option<&'a str>,
    note: Option<String>,
    birthday: Option<String>,
    emails: Vec<&'a str>,
    phones: Vec<&'a str>,
    addresses: Vec<&'a str>,
    reach: Option<String>,
    has_photo: bool,
    updated_at: Option<String>,
}

impl Format for VCard {
    fn name(&self) -> &'static str {
        "vcard"
    }

    fn title(&self) -> &'static str {
        "contacts in a vCard file"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        is_mark(beginning(peek.head).lines().next().unwrap_or_default().as_bytes(), b"BEGIN")
            .then_some(Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Local, KEY, "Contacts", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let mut notes = vec!["Photos of contacts are not imported.".to_owned()];
        if ask.account.is_none() {
            notes.push(format!(
                "A vCard file does not name the owner of its contacts, so the account is called {KEY}. --account gives it another \
                 name."
            ));
        }
        Ok(vec![Plan::of_all(connector, KEY, members, ask, notes)])
    }

    fn split(&self, _: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        // Reads from the start even when resuming, because lines are numbered from the first one.
        let mut lines = Lines::new(&mut unit.bytes);
        let mut card: Option<Card> = None;
        let mut end = from;
        while let Some(line) = lines.read()? {
            if line.offset < from {
                continue;
            }
            let (begins, ends) = (is_mark(line.bytes, b"BEGIN"), is_mark(line.bytes, b"END"));
            let Some(open) = &mut card else {
                if begins {
                    card = Some(Card::at(line.offset, line.number));
                    continue;
                }
                // An incomplete last line may be the beginning of a new card.
                end = if line.has_end { line.next } else { line.offset };
                if !line.bytes.trim_ascii().is_empty() {
                    let mut stray = Card::at(line.offset, line.number);
                    stray.facts = "outside";
                    stray.bytes = line.bytes.to_vec();
                    if out(stray.raw(end)).is_break() {
                        return Ok(End { at: end });
                    }
                }
                continue;
            };
            match (begins, ends) {
                (true, _) if open.inner > 0 || open.has_agent => open.inner += 1,
                // The end mark is missing.
                (true, _) => {
                    let whole = std::mem::replace(open, Card::at(line.offset, line.number)).raw(line.offset);
                    end = line.offset;
                    if out(whole).is_break() {
                        return Ok(End { at: end });
                    }
                    continue;
                }
                (_, true) if open.inner > 0 => open.inner -= 1,
                (_, true) => {
                    end = line.next;
                    let whole = card.take().map(|card| card.raw(line.next));
                    if whole.is_some_and(|raw| out(raw).is_break()) {
                        return Ok(End { at: end });
                    }
                    continue;
                }
                _ => {}
            }
            open.add(line.bytes);
        }
        if let Some(half) = card {
            // The incomplete card is read as it is, and read again if the file grows.
            end = half.offset;
            let _ = out(half.raw(end));
        }
        Ok(End { at: end })
    }

    fn parse(&self, _: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        match raw.facts.as_str() {
            "" => {}
            "cut" => return Err(Bad("a card of more than 16 MiB")),
            _ => return Err(Bad("text outside of a card")),
        }
        let properties = properties(&raw.bytes);
        let of = |name: &'static str| properties.iter().filter(move |property| property.name == name);
        let first = |name| of(name).map(|property| property.value.trim()).find(|value| !value.is_empty());
        let is_group = ["KIND", "X-ADDRESSBOOKSERVER-KIND"]
            .into_iter()
            .any(|name| first(name).is_some_and(|kind| kind.eq_ignore_ascii_case("group")));
        if is_group {
            return Ok(Parsed::Skipped("a group of contacts"));
        }
        let names = of("N").next().map(Property::parts).unwrap_or_default();
        let part = |at: usize| names.get(at).map(|part| part.trim()).filter(|part| !part.is_empty());
        let (family_name, given_name) = (part(0), part(1));
        let org =
            of("ORG").next().map(|property| joined(&property.parts(), ", ")).filter(|org| !org.is_empty());
        let addresses: Vec<String> =
            of("ADR").map(Property::address).filter(|line| !line.is_empty()).collect();
        let values = |name| of(name).map(|property| bare(&property.value)).filter(|value| !value.is_empty());
        let (emails, phones): (Vec<&str>, Vec<&str>) = (values("EMAIL").collect(), values("TEL").collect());
        let full = [given_name, family_name].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let display_name = first("FN")
            .or_else(|| Some(full.as_str()).filter(|name| !name.is_empty()))
            .or(org.as_deref())
            .or_else(|| emails.first().copied())
            .or_else(|| phones.first().copied());
        if display_name.is_none() && addresses.is_empty() {
            return Err(Bad("a card without a name, an address or a number"));
        }
        let notes: Vec<&str> =
            of("NOTE").map(|note| note.value.trim()).filter(|note| !note.is_empty()).collect();
        let id = match first("UID").map(|uid| strip_prefix_ignoring_case(uid, "urn:uuid:")).and_then(name) {
            Some(uid) => uid.to_owned(),
            None => digest::name(
                [first("FN").unwrap_or(&full), emails.first().unwrap_or(&""), phones.first().unwrap_or(&"")]
                    .map(str::as_bytes),
            ),
        };
        let contact = Contact {
            id: &id,
            display_name,
            given_name,
            family_name,
            org: org.clone(),
            title: first("TITLE").or_else(|| first("ROLE")),
            note: Some(notes.join("\n\n")).filter(|note| !note.is_empty()),
            birthday: of("BDAY").next().and_then(birthday),
            reach: Some(reach(&properties, &addresses)).filter(|reach| !reach.is_empty()),
            emails,
            phones,
            addresses: addresses.iter().map(String::as_str).collect(),
            has_photo: of("PHOTO").next().is_some(),
            updated_at: first("REV").and_then(instant).map(time::format_ms),
        };
        let data = serde_json::to_string(&contact).map_err(|_| Bad("cannot be written as a record"))?;
        let sighting = Some(data.clone());
        Ok(Parsed::Records(vec![Draft { sighting, ..Draft::new(CONTACTS, id.clone(), data) }]))
    }

    /// The version that was changed last counts. Without a time of change, the most complete one counts.
    fn join(&self, _: &str, data: &str, sightings: &[&str]) -> String {
        let age = |said: &&str| {
            let record = serde_json::from_str::<serde_json::Value>(said).unwrap_or_default();
            (record["updated_at"].as_str().map(str::to_owned), said.len(), (*said).to_owned())
        };
        sightings.iter().max_by_key(|said| age(said)).map_or(data, |said| said).to_owned()
    }

    fn is_whole_alone(&self) -> bool {
        true
    }

    fn add_sighting(&self, stream: &str, first: &str, second: &str) -> String {
        self.join(stream, first, &[first, second])
    }
}

/// A card that is being read.
struct Card {
    offset: u64,
    line: u64,
    bytes: Vec<u8>,
    facts: &'static str,
    /// How many cards within it are still open.
    inner: u32,
    /// Whether its last line announces an embedded card, its agent (2.1).
    has_agent: bool,
}

impl Card {
    const fn at(offset: u64, line: u64) -> Self {
        Self { offset, line, bytes: Vec::new(), facts: "", inner: 0, has_agent: false }
    }

    fn add(&mut self, line: &[u8]) {
        self.has_agent = line.get(..5).is_some_and(|name| name.eq_ignore_ascii_case(b"AGENT"));
        if self.bytes.len() + line.len() > LONGEST {
            self.facts = "cut";
        } else {
            // The separator goes between lines, so that a card that is still being written is a prefix of the complete one.
            if !self.bytes.is_empty() {
                self.bytes.push(b'\n');
            }
            self.bytes.extend_from_slice(line);
        }
    }

    fn raw(self, next: u64) -> Raw {
        Raw {
            offset: self.offset,
            next,
            line: Some(self.line),
            bytes: self.bytes,
            facts: self.facts.to_owned(),
            copy: 0,
        }
    }
}

/// Whether a line is `BEGIN:VCARD` or `END:VCARD`.
fn is_mark(line: &[u8], mark: &[u8]) -> bool {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let Some((found, card)) = line.split_at_checked(mark.len()) else { return false };
    found.eq_ignore_ascii_case(mark)
        && card.strip_prefix(b":").is_some_and(|card| card.trim_ascii().eq_ignore_ascii_case(b"VCARD"))
}

/// Reads properties of a card.
trait OfCard {
    /// An address on one line: street and number, postcode and town, country.
    fn address(&self) -> String;
    /// The kind of address or number, as people read it: `home`.
    fn kind(&self) -> Option<String>;
}

impl OfCard for Property {
    fn address(&self) -> String {
        let parts = self.parts();
        let lines = |part: &String| joined(&part.lines().map(str::to_owned).collect::<Vec<_>>(), ", ");
        let part = |at: usize| parts.get(at).map(lines).unwrap_or_default();
        let place = joined(&[part(5), part(3)], " ");
        joined(&[part(0), part(1), part(2), place, part(4), part(6)], ", ")
    }

    fn kind(&self) -> Option<String> {
        let types =
            self.parameters.iter().filter(|(name, _)| name == "TYPE").flat_map(|(_, value)| value.split(','));
        let kinds: Vec<String> = types
            .map(|kind| kind.trim().to_lowercase())
            .filter(|kind| !matches!(kind.as_str(), "" | "pref" | "internet" | "voice"))
            .collect();
        (!kinds.is_empty()).then(|| kinds.join(" "))
    }
}

/// The properties of a card, without those of embedded cards.
fn properties(card: &[u8]) -> Vec<Property> {
    let mut inner = 0_u32;
    let mut properties = content_line::properties(card);
    properties.retain(|property| {
        let is_card = property.value.trim().eq_ignore_ascii_case("VCARD");
        match property.name.as_str() {
            "BEGIN" if is_card => inner += 1,
            "END" if is_card => inner = inner.saturating_sub(1),
            _ => return inner == 0,
        }
        false
    });
    properties
}

fn joined(parts: &[String], between: &str) -> String {
    parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(between)
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> &'a str {
    match text.split_at_checked(prefix.len()) {
        Some((start, rest)) if start.eq_ignore_ascii_case(prefix) => rest,
        _ => text,
    }
}

/// An address or a number without its scheme: version 4.0 writes `tel:+47…`.
fn bare(value: &str) -> &str {
    let value = value.trim();
    ["tel:", "mailto:"].into_iter().fold(value, |value, scheme| strip_prefix_ignoring_case(value, scheme))
}

/// All addresses and numbers of the contact, one per line with its kind, so that they can be searched.
fn reach(properties: &[Property], addresses: &[String]) -> String {
    let mut lines = Vec::new();
    let mut addresses = addresses.iter();
    for property in properties {
        let value = match property.name.as_str() {
            "EMAIL" | "TEL" | "URL" | "IMPP" | "X-SOCIALPROFILE" => bare(&property.value).to_owned(),
            "ADR" if !property.address().is_empty() => addresses.next().cloned().unwrap_or_default(),
            _ => continue,
        };
        if value.is_empty() {
            continue;
        }
        lines.push(match property.kind() {
            Some(kind) => format!("{value} ({kind})"),
            None => value,
        });
    }
    lines.join("\n")
}

/// A birthday as `1980-01-31`, or `--01-31` if the year is unknown. Any other form is kept as written.
fn birthday(property: &Property) -> Option<String> {
    let text = property.value.trim();
    let day = text.split_once('T').map_or(text, |(day, _)| day);
    let omitted = property.parameter("X-APPLE-OMIT-YEAR");
    let written = match day.strip_prefix("--") {
        Some(day) => {
            let digits: String = day.chars().filter(char::is_ascii_digit).collect();
            let (month, day) = digits.split_at_checked(2).filter(|(_, day)| day.len() == 2)?;
            return Some(format!("--{month}-{day}"));
        }
        None => date(day),
    };
    match written {
        Some(date) if omitted.is_some_and(|year| year == date.year().to_string()) => {
            Some(format!("--{:02}-{:02}", date.month(), date.day()))
        }
        Some(date) => Some(date.to_string()),
        None => Some(text.to_owned()).filter(|text| !text.is_empty()),
    }
}

fn date(text: &str) -> Option<Date> {
    text.parse().ok().or_else(|| Date::strptime("%Y%m%d", text).ok())
}

/// When a card was changed. A time without a zone is read as UTC; a day means its beginning.
fn instant(text: &str) -> Option<i64> {
    if let Some(ms) = time::parse_ms(text) {
        return Some(ms);
    }
    let utc = |at: DateTime| at.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp());
    let at = text.parse::<Timestamp>().ok().or_else(|| {
        let plain = text.trim_end_matches(['Z', 'z']);
        plain.parse::<DateTime>().ok().or_else(|| date(plain).map(|date| date.at(0, 0, 0, 0))).and_then(utc)
    })?;
    Some(at.as_millisecond())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::import::harness::{
        Kept, assert_cut_and_finished_is_whole, assert_twice_is_once_in_any_order, imported, sniff,
    };

    const NEW: &str = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:urn:uuid:4fbe8971-0bc3-424c-9c26-36c3e1eff6b1\r\nFN:Ana Hansen\r\n\
        N:Hansen;Ana;Maria;Dr.;\r\nORG:Kestrel\\, Ltd;Kitchen\r\nTITLE:Cook\r\nBDAY:--0131\r\nitem1.EMAIL;TYPE=\"home\":ana@exam\r\n \
        ple.org\r\nEMAIL;TYPE=work;PREF=1:mailto:ana@kestrel.example\r\nTEL;VALUE=uri;TYPE=\"cell,voice\":tel:+47-900-00-000\r\n\
        ADR;TYPE=home:;;Storgata 1\\nFlat 2;Oslo;;0155;Norway\r\nURL:https://ana.example\r\nNOTE:Likes tea\\; no milk.\\nAsk.\r\n\
        PHOTO:data:image/png;base64,AAAA\r\nREV:20260301T100000Z\r\nEND:VCARD\r\n";
    const OLD: &str = "BEGIN:VCARD\r\nVERSION:2.1\r\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=C3=98deg=C3=A5rd;J=C3=B8r=\r\ngen;;;\r\n\
        TEL;CELL;PREF:12345678\r\nBDAY:19800131\r\nNOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=ISO-8859-1:caf=E9=0D=0Aat eight\r\n\
        AGENT:\r\nBEGIN:VCARD\r\nFN:Inner\r\nEND:VCARD\r\nPHOTO;ENCODING=BASE64;JPEG:\r\n /9j/4AAQSkZJRg\r\n ABAQ==\r\n\r\nEND:VCARD\r\n";

    fn contacts(kept: &Kept) -> Vec<Value> {
        kept.records.values().map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    fn one(card: &str) -> Value {
        contacts(&imported(&VCard, &[("a.vcf", card.as_bytes())]).0).remove(0)
    }

    #[test]
    fn o5_1_a_card_of_4_0_becomes_a_contact() {
        assert_eq!(sniff(&VCard, "a.vcf", NEW.as_bytes()), Some(Sure::Certain));
        assert_eq!(sniff(&VCard, "a", b"\xef\xbb\xbfbegin:vcard\n"), Some(Sure::Certain));
        for other in ["BEGIN:VCALENDAR\r\n", "BEGIN:VCARDS\n", "A BEGIN:VCARD", ""] {
            assert_eq!(sniff(&VCard, "a.vcf", other.as_bytes()), None, "{other}");
        }
        assert_eq!(
            one(NEW),
            json!({"id": "4fbe8971-0bc3-424c-9c26-36c3e1eff6b1", "display_name": "Ana Hansen", "given_name": "Ana",
                "family_name": "Hansen", "org": "Kestrel, Ltd, Kitchen", "title": "Cook", "note": "Likes tea; no milk.\nAsk.",
                "birthday": "--01-31", "emails": ["ana@example.org", "ana@kestrel.example"], "phones": ["+47-900-00-000"],
                "addresses": ["Storgata 1, Flat 2, 0155 Oslo, Norway"],
                "reach": "ana@example.org (home)\nana@kestrel.example (work)\n+47-900-00-000 (cell)\n\
                    Storgata 1, Flat 2, 0155 Oslo, Norway (home)\nhttps://ana.example",
                "has_photo": true, "updated_at": "2026-03-01T10:00:00.000Z"})
        );
    }

    #[test]
    fn a_card_of_2_1_is_read_with_its_breaks_charsets_and_inner_cards() {
        let contact = one(OLD);
        assert_eq!(contact["display_name"], "Jørgen Ødegård");
        assert_eq!(contact["note"], "café\nat eight");
        assert_eq!(contact["birthday"], "1980-01-31");
        assert_eq!(
            (&contact["phones"], &contact["reach"]),
            (&json!(["12345678"]), &json!("12345678 (cell)"))
        );
        assert_eq!((&contact["has_photo"], &contact["emails"]), (&json!(true), &json!([])));
        // Bytes that are not UTF-8, without any declared charset.
        let mut latin = b"BEGIN:VCARD\nFN:Jos".to_vec();
        latin.extend_from_slice(b"\xe9\nEND:VCARD\n");
        assert_eq!(contacts(&imported(&VCard, &[("a", &latin)]).0)[0]["display_name"], "José");
    }

    #[test]
    fn what_has_no_name_is_called_by_what_it_has_and_a_card_of_nothing_is_bad() {
        let card = |lines: &str| format!("BEGIN:VCARD\n{lines}\nEND:VCARD\n");
        for (lines, called) in [
            ("N:;;;;\nORG:Kestrel;\nTEL:1", "Kestrel"),
            ("FN:\nN:Hansen;;;;", "Hansen"),
            ("EMAIL:a@example.org", "a@example.org"),
            ("TEL:tel:1", "1"),
        ] {
            assert_eq!(one(&card(lines))["display_name"], called, "{lines}");
        }
        let text = [
            card("NOTE:x"),
            "stray\n".to_owned(),
            card("X-ADDRESSBOOKSERVER-KIND:group\nFN:Choir"),
            card("FN:Ana"),
        ]
        .concat();
        let (kept, counts) = imported(&VCard, &[("a", text.as_bytes())]);
        assert_eq!((counts.read, counts.new), (4, 1));
        assert_eq!(
            counts.bad.keys().collect::<Vec<_>>(),
            [&"a card without a name, an address or a number", &"text outside of a card"]
        );
        assert_eq!(counts.skipped["a group of contacts"], 1);
        assert_eq!(contacts(&kept)[0]["display_name"], "Ana");
    }

    #[test]
    fn birthdays_and_changes_are_read_as_they_are_written() {
        let of = |line: &str| one(&format!("BEGIN:VCARD\nFN:A\n{line}\nEND:VCARD\n"));
        for (line, birthday) in [
            ("BDAY:1980-01-31", json!("1980-01-31")),
            ("BDAY:1980-01-31T00:00:00Z", json!("1980-01-31")),
            ("BDAY;X-APPLE-OMIT-YEAR=1604:1604-02-29", json!("--02-29")),
            ("BDAY:--02-29", json!("--02-29")),
            ("BDAY:circa 1800", json!("circa 1800")),
            ("BDAY:", json!(null)),
        ] {
            assert_eq!(of(line)["birthday"], birthday, "{line}");
        }
        for (line, changed) in [
            ("REV:2026-03-01T10:00:00Z", json!("2026-03-01T10:00:00.000Z")),
            ("REV:20260301T110000+0100", json!("2026-03-01T10:00:00.000Z")),
            ("REV:20260301", json!("2026-03-01T00:00:00.000Z")),
            ("REV:soon", json!(null)),
        ] {
            assert_eq!(of(line)["updated_at"], changed, "{line}");
        }
    }

    #[test]
    fn one_contact_of_two_exports_is_what_was_changed_last() {
        let card = |title: &str, rev: &str| {
            format!("BEGIN:VCARD\nUID:1\nFN:Ana\nTITLE:{title}\nREV:{rev}\nEND:VCARD\n")
        };
        let (old, new) = (card("Cook", "20250101T000000Z"), card("Chef", "20260101T000000Z"));
        let files: [(&str, &[u8]); 2] = [("a.vcf", old.as_bytes()), ("b.vcf", new.as_bytes())];
        assert_twice_is_once_in_any_order(&VCard, &files);
        let found = contacts(&imported(&VCard, &files).0);
        assert_eq!((found.len(), &found[0]["title"]), (1, &json!("Chef")));
    }

    #[test]
    fn a_card_whose_end_was_forgotten_takes_none_of_the_next() {
        let text = "BEGIN:VCARD\nFN:Ana\nBEGIN:VCARD\nFN:Bo\nEND:VCARD\n";
        let (kept, counts) = imported(&VCard, &[("a", text.as_bytes())]);
        let mut names: Vec<Value> =
            contacts(&kept).iter().map(|contact| contact["display_name"].clone()).collect();
        names.sort_by_key(ToString::to_string);
        assert_eq!((counts.read, names), (2, vec![json!("Ana"), json!("Bo")]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_bad(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let card = [b"BEGIN:VCARD\n", bytes.as_slice(), b"\nEND:VCARD\n"].concat();
            imported(&VCard, &[("a", &card)]);
            imported(&VCard, &[("a", &bytes)]);
        }

        #[test]
        fn a_value_comes_back_whatever_is_in_it(text in "[^\\r\\n\\x00]{1,40}") {
            let escaped = text.replace('\\', "\\\\").replace(';', "\\;").replace(',', "\\,");
            let card = format!("BEGIN:VCARD\nFN:A\nORG:{escaped}\nEND:VCARD\n");
            let org = one(&card)["org"].clone();
            let plain = text.trim();
            prop_assert_eq!(org, if plain.is_empty() { Value::Null } else { plain.into() });
        }

        #[test]
        fn cut_anywhere_and_finished_is_whole(cut in 0..1_500_usize, limit in 1..4_usize) {
            let file = [NEW, OLD, "BEGIN:VCARD\nFN:Last\nEND:VCARD\n"].concat();
            assert_cut_and_finished_is_whole(&VCard, file.as_bytes(), cut, limit);
        }
    }
}
