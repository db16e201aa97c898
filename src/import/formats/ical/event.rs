//! An event: its record, and one record for each of its occurrences.

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;

use super::rule::{Bounds, Rule};
use super::zone::{self, Zone};
use super::{EVENTS, Facts, OCCURRENCES, Said};
use crate::import::content_line::Property;
use crate::import::digest;
use crate::import::format::{Bad, Draft};
use crate::vault::time;

/// The most occurrences of an event. If there are more, the latest ones are kept.
const MOST: usize = 5000;
/// The year in which the occurrences of an endless rule begin, so that birthdays do not begin at birth.
const FIRST_YEAR: i16 = 2000;
/// Rules of events before this year are not followed, because real calendars have no such events.
const OLDEST: i16 = 1500;
/// The most times that an event adds to its rule or removes from it.
const MOST_DATES: usize = 20_000;
/// The most attendees.
const MOST_ATTENDEES: usize = 2000;

const ENDLESS: &str =
    "repeating without an end: occurrences are kept up to two years after the newest year in the file";
const MANY: &str = "with more than 5,000 occurrences: the latest ones are kept";
const UNKNOWN_RULE: &str = "with an unknown rule: only the first occurrence is kept";
const UNKNOWN_ZONE: &str = "in an unknown time zone: its times are read in the account's zone";
const AND_FUTURE: &str =
    "changing all later occurrences (THISANDFUTURE): only the named occurrence is changed";

/// A record, with its fields in the declared order.
#[derive(Serialize)]
struct Event<'a> {
    id: &'a str,
    uid: &'a str,
    calendar_name: Option<&'a str>,
    summary: Option<&'a str>,
    description: Option<&'a str>,
    location: Option<&'a str>,
    start: String,
    end: Option<String>,
    all_day: bool,
    time_zone: Option<String>,
    organizer_email: Option<String>,
    attendees: Vec<Attendee>,
    attendee_text: Option<String>,
    status: Option<String>,
    rrule: Option<String>,
    recurrence_id: Option<String>,
    occurrences_until: Option<String>,
}

#[derive(Serialize)]
struct Occurrence<'a> {
    id: &'a str,
    event_id: &'a str,
    summary: Option<&'a str>,
    location: Option<&'a str>,
    start: String,
    end: Option<String>,
    all_day: bool,
}

/// A person who is invited.
#[derive(Serialize)]
struct Attendee {
    name: Option<String>,
    email: Option<String>,
    status: String,
}

/// A time as the file has it.
#[derive(Debug, Clone)]
struct When {
    at: DateTime,
    is_day: bool,
    zone: Place,
}

/// The zone of a time.
#[derive(Debug, Clone, PartialEq)]
enum Place {
    Utc,
    Floating,
    In(Zone),
}

/// The duration of an event.
#[derive(Debug, Clone, Copy)]
enum Length {
    /// In local clock time.
    Local(SignedDuration),
    Exact(SignedDuration),
}

/// What is needed to read the times of an event.
struct Reader<'a> {
    facts: &'a Facts,
    /// The zone of times that name none.
    floating: Zone,
}

impl Reader<'_> {
    /// The time of a property, and whether its zone is unknown.
    fn when(&self, property: &Property, value: &str) -> Option<(When, bool)> {
        self.read(property.parameter("TZID"), value)
    }

    fn read(&self, id: Option<&str>, value: &str) -> Option<(When, bool)> {
        let value = value.trim();
        if let Some(day) = zone::date(value) {
            let at = day.to_datetime(Time::midnight());
            return Some((When { at, is_day: true, zone: Place::Utc }, false));
        }
        if let Some(utc) = value.strip_suffix(['Z', 'z']) {
            return Some((When { at: zone::local(utc)?, is_day: false, zone: Place::Utc }, false));
        }
        let at = zone::local(value)?;
        let (zone, is_unknown) = match id.map(str::trim).filter(|id| !id.is_empty()) {
            None => (Place::Floating, false),
            Some(id) => match Zone::find(id, self.facts.zones.get(id).map(String::as_str)) {
                Some(zone) => (Place::In(zone), false),
                None => (Place::Floating, true),
            },
        };
        Some((When { at, is_day: false, zone }, is_unknown))
    }

    fn instant(&self, zone: &Place, at: DateTime) -> Option<Timestamp> {
        match zone {
            Place::Utc => TimeZone::UTC.to_timestamp(at).ok(),
            Place::Floating => self.floating.instant(at),
            Place::In(zone) => zone.instant(at),
        }
    }

    /// The local time in a zone.
    fn local(&self, zone: &Place, at: Timestamp) -> DateTime {
        match zone {
            Place::Utc => TimeZone::UTC.to_datetime(at),
            Place::Floating => self.floating.local(at),
            Place::In(zone) => zone.local(at),
        }
    }

    /// The same instant in local time at the zone of `start`.
    fn as_of(&self, start: &When, when: &When) -> Option<DateTime> {
        if when.zone == start.zone || when.is_day || start.is_day {
            return Some(when.at);
        }
        Some(self.local(&start.zone, self.instant(&when.zone, when.at)?))
    }

    fn end(&self, start: &When, at: DateTime, length: Option<Length>) -> Option<Timestamp> {
        match length? {
            Length::Local(length) => self.instant(&start.zone, at.checked_add(length).ok()?),
            Length::Exact(length) => self.instant(&start.zone, at)?.checked_add(length).ok(),
        }
    }
}

fn shown(at: Timestamp) -> String {
    time::format_ms(at.as_millisecond())
}

/// The records of an event.
pub fn parse(facts: &Facts, lines: &[Property], account_zone: &TimeZone) -> Result<Vec<Draft>, Bad> {
    let properties = own(lines);
    let all = |name: &'static str| properties.iter().copied().filter(move |property| property.name == name);
    let text = |name| all(name).map(|property| property.value.trim()).find(|value| !value.is_empty());
    let floating = facts.zone.as_deref().and_then(zone::by_name).unwrap_or_else(|| account_zone.clone());
    let reader = Reader { facts, floating: Zone::Known(floating) };
    let started = all("DTSTART").find_map(|property| reader.when(property, &property.value));
    let Some((start, is_unknown)) = started else { return Err(Bad("an event without a start")) };
    let begin = reader.instant(&start.zone, start.at).ok_or(Bad("an event without a start"))?;
    let mut told = is_unknown.then_some(UNKNOWN_ZONE);
    let length = length(&reader, &start, begin, &properties);

    let recurrence = all("RECURRENCE-ID").find_map(|property| {
        let written = property.value.trim();
        let (when, _) = reader.when(property, written)?;
        let at = reader.instant(&when.zone, when.at)?;
        let is_and_future =
            property.parameter("RANGE").is_some_and(|range| range.eq_ignore_ascii_case("THISANDFUTURE"));
        Some((at, written, is_and_future))
    });
    if recurrence.is_some_and(|(.., is_and_future)| is_and_future) {
        told = told.or(Some(AND_FUTURE));
    }
    let recurrence_id = recurrence.map(|(at, ..)| shown(at));
    let summary = text("SUMMARY");
    let location = text("LOCATION");
    let written_uid = text("UID");
    let (begin_text, calendar) = (shown(begin), facts.calendar.as_deref());
    // The time as written, because the zone may be defined later in the file.
    let id = {
        let replaced = recurrence.map_or("", |(_, written, _)| written);
        let mut parts = vec![calendar.unwrap_or_default(), written_uid.unwrap_or_default(), replaced];
        // Added if the UID alone does not identify the event.
        if written_uid.is_none() || facts.is_shared {
            parts.extend([text("DTSTART").unwrap_or_default(), summary.unwrap_or_default()]);
        }
        digest::name(parts.into_iter().map(str::as_bytes))
    };
    let status = text("STATUS").map(str::to_lowercase);
    let is_cancelled = status.as_deref() == Some("cancelled");
    let rules: Vec<&str> =
        all("RRULE").map(|rule| rule.value.trim()).filter(|rule| !rule.is_empty()).collect();

    let mut until = None;
    let mut starts = vec![start.at];
    if !is_cancelled && recurrence.is_none() {
        match recurring(&reader, &start, &properties, &rules) {
            Some(found) => {
                starts = found.starts;
                until = found.until;
                told = told.or(found.told);
            }
            None => told = told.or(Some(UNKNOWN_RULE)),
        }
    } else if is_cancelled {
        starts.clear();
    }

    let (attendees, attendee_text) = people(&properties);
    let event = Event {
        id: &id,
        uid: written_uid.unwrap_or(&id),
        calendar_name: calendar.or(facts.file.as_deref()),
        summary,
        description: text("DESCRIPTION"),
        location,
        start: begin_text.clone(),
        end: reader.end(&start, start.at, length).map(shown),
        all_day: start.is_day,
        time_zone: match &start.zone {
            Place::Utc if start.is_day => None,
            Place::Utc => Some("UTC".to_owned()),
            Place::Floating => None,
            Place::In(zone) => zone.name().map(str::to_owned),
        },
        organizer_email: all("ORGANIZER").find_map(|property| email(&property.value)),
        attendees,
        attendee_text,
        status,
        rrule: (!rules.is_empty()).then(|| rules.join("\n")),
        recurrence_id,
        occurrences_until: until.map(shown),
    };
    let data = serde_json::to_string(&event).map_err(|_| Bad("cannot be written as a record"))?;
    let age = age(&reader, &properties, until.and(facts.until));
    let sighting = {
        let raw = RawValue::from_string(data.clone()).map_err(|_| Bad("cannot be written as a record"))?;
        serde_json::to_string(&Said { age, data: &raw }).map_err(|_| Bad("cannot be written as a record"))?
    };
    let mut drafts = vec![Draft { sighting: Some(sighting), told, ..Draft::new(EVENTS, id.clone(), data) }];
    let what = Occurrence {
        id: "",
        event_id: &id,
        summary,
        location,
        start: String::new(),
        end: None,
        all_day: start.is_day,
    };
    occurrences(&reader, &start, &starts, length, &what, &mut drafts)?;
    Ok(drafts)
}

/// The values that decide which of two versions of an event is newer. `until` is the last year into which an endless rule was
/// followed.
fn age(reader: &Reader<'_>, properties: &[&Property], until: Option<i16>) -> [i64; 4] {
    let first = |name: &str| properties.iter().copied().find(|property| property.name == name);
    let stamp = |name| {
        let (when, _) = first(name).and_then(|property| reader.when(property, &property.value))?;
        Some(reader.instant(&when.zone, when.at)?.as_millisecond())
    };
    [
        first("SEQUENCE").and_then(|number| number.value.trim().parse().ok()).unwrap_or(0),
        stamp("LAST-MODIFIED").unwrap_or(i64::MIN),
        i64::from(until.unwrap_or(0)),
        stamp("DTSTAMP").unwrap_or(i64::MIN),
    ]
}

/// Adds a record for each occurrence. `what` holds the fields that they share.
fn occurrences(
    reader: &Reader<'_>,
    start: &When,
    starts: &[DateTime],
    length: Option<Length>,
    what: &Occurrence<'_>,
    drafts: &mut Vec<Draft>,
) -> Result<(), Bad> {
    for at in starts {
        let Some(begin) = reader.instant(&start.zone, *at).map(shown) else { continue };
        let plain = begin.strip_suffix(".000Z").map_or_else(|| begin.clone(), |plain| format!("{plain}Z"));
        let key = format!("{}:{plain}", what.event_id);
        let end = reader.end(start, *at, length).map(shown);
        let occurrence = Occurrence { id: &key, start: begin, end, ..*what };
        let data = serde_json::to_string(&occurrence).map_err(|_| Bad("cannot be written as a record"))?;
        drafts.push(Draft::new(OCCURRENCES, key.clone(), data));
    }
    Ok(())
}

/// The properties of the event itself, without those of its reminders.
fn own(lines: &[Property]) -> Vec<&Property> {
    let mut depth = 0_u32;
    let mut own = Vec::new();
    for property in lines {
        match property.name.as_str() {
            "BEGIN" => depth += 1,
            "END" => depth = depth.saturating_sub(1),
            _ if depth == 1 => own.push(property),
            _ => {}
        }
    }
    own
}

fn length(reader: &Reader<'_>, start: &When, begin: Timestamp, properties: &[&Property]) -> Option<Length> {
    let first = |name: &str| properties.iter().copied().find(|property| property.name == name);
    if let Some((end, _)) = first("DTEND").and_then(|end| reader.when(end, &end.value)) {
        let local = end.at.duration_since(start.at);
        let length = if end.zone == start.zone || start.is_day {
            Length::Local(local)
        } else {
            Length::Exact(reader.instant(&end.zone, end.at)?.duration_since(begin))
        };
        let (Length::Local(time) | Length::Exact(time)) = length;
        return (!time.is_negative()).then_some(length);
    }
    if let Some(length) = first("DURATION").and_then(|length| duration(&length.value)) {
        return Some(length);
    }
    // RFC 5545 §3.6.1: an all-day event without an end lasts one day.
    start.is_day.then_some(Length::Local(SignedDuration::from_hours(24)))
}

/// Parses `P1DT2H`. Whole days are counted in local clock time.
fn duration(text: &str) -> Option<Length> {
    let text = text.trim().to_ascii_uppercase();
    let mut rest = text.strip_prefix('+').unwrap_or(&text).strip_prefix('P')?;
    let (mut days, mut seconds, mut is_time) = (0_i64, 0_i64, false);
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix('T') {
            (rest, is_time) = (time, true);
            continue;
        }
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = rest.get(..end)?.parse().ok().filter(|number| *number < 100_000_000)?;
        match (rest.get(end..=end)?, is_time) {
            ("W", false) => days += number * 7,
            ("D", false) => days += number,
            ("H", true) => seconds += number * 3600,
            ("M", true) => seconds += number * 60,
            ("S", true) => seconds += number,
            _ => return None,
        }
        rest = rest.get(end + 1..)?;
    }
    Some(if seconds == 0 {
        Length::Local(SignedDuration::from_secs(days * 86_400))
    } else {
        Length::Exact(SignedDuration::from_secs(days * 86_400 + seconds))
    })
}

/// When an event takes place.
struct Recurring {
    starts: Vec<DateTime>,
    /// How far an endless rule was followed.
    until: Option<Timestamp>,
    told: Option<&'static str>,
}

/// Returns `None` if a rule is unknown.
fn recurring(
    reader: &Reader<'_>,
    start: &When,
    properties: &[&Property],
    rules: &[&str],
) -> Option<Recurring> {
    let last_year = reader.facts.until.unwrap_or(FIRST_YEAR).max(start.at.year().saturating_add(2)).min(2102);
    let bounds = Bounds {
        from: DateTime::constant(FIRST_YEAR, 1, 1, 0, 0, 0, 0),
        to: DateTime::new(last_year, 12, 31, 23, 59, 59, 0).ok()?,
        most: MOST,
    };
    let is_over =
        |at: DateTime, until: Timestamp| reader.instant(&start.zone, at).is_some_and(|at| at > until);
    let times = |text: &str| {
        let rule = Rule::parse(text).filter(|_| start.at.year() >= OLDEST)?;
        let is_endless = rule.is_endless();
        Some((rule.times(start.at, bounds, &is_over), is_endless))
    };
    let mut found = Recurring { starts: vec![start.at], until: None, told: None };
    for rule in rules {
        let (times, is_endless) = times(rule)?;
        if is_endless {
            found.until = reader.instant(&start.zone, bounds.to);
            found.told = Some(ENDLESS);
        } else if times.is_cut {
            found.told = found.told.or(Some(MANY));
        }
        found.starts.extend(times.all);
    }
    found.starts.extend(listed(reader, start, properties, "RDATE").into_iter().map(|(at, _)| at));
    let mut left_out = listed(reader, start, properties, "EXDATE");
    for rule in properties.iter().filter(|property| property.name == "EXRULE") {
        left_out.extend(times(&rule.value)?.0.all.into_iter().map(|at| (at, false)));
    }
    for (id, value) in reader.facts.replaced.iter().take(MOST_DATES) {
        let when = reader.read(id.as_deref(), value);
        left_out.extend(when.and_then(|(when, _)| Some((reader.as_of(start, &when)?, when.is_day))));
    }
    left_out.sort_unstable();
    let is_left_out = |at: &DateTime| {
        let day = at.date().to_datetime(Time::midnight());
        left_out.binary_search(&(*at, false)).is_ok() || left_out.binary_search(&(day, true)).is_ok()
    };
    found.starts.retain(|at| !is_left_out(at));
    found.starts.sort_unstable();
    found.starts.dedup();
    if found.starts.len() > MOST {
        found.starts.drain(..found.starts.len() - MOST);
        found.told = found.told.or(Some(MANY));
    }
    Some(found)
}

/// The times in a list, as local times at the zone of `start`, and whether each is a whole day.
fn listed(reader: &Reader<'_>, start: &When, properties: &[&Property], name: &str) -> Vec<(DateTime, bool)> {
    let mut all = Vec::new();
    for property in properties.iter().filter(|property| property.name == name) {
        for value in property.value.split([',', ';']) {
            // Of a period, the beginning counts.
            let value = value.split('/').next().unwrap_or_default();
            let when = reader.when(property, value).map(|(when, _)| when);
            all.extend(when.and_then(|when| Some((reader.as_of(start, &when)?, when.is_day))));
            if all.len() == MOST_DATES {
                return all;
            }
        }
    }
    all
}

fn email(value: &str) -> Option<String> {
    let value = value.trim();
    let address = match value.split_at_checked("mailto:".len()) {
        Some((scheme, address)) if scheme.eq_ignore_ascii_case("mailto:") => address,
        _ => value,
    };
    (address.contains('@') && address.len() < 400).then(|| address.trim().to_owned())
}

/// The attendees, and a text with one line for each: name, address and answer.
fn people(properties: &[&Property]) -> (Vec<Attendee>, Option<String>) {
    let mut attendees = Vec::new();
    let mut lines = Vec::new();
    let name = |property: &Property| {
        let name = property.parameter("CN").map(|name| name.trim().trim_matches('\'').to_owned());
        name.filter(|name| !name.is_empty() && name.len() < 400)
    };
    let called = |name: Option<&str>, email: Option<&str>| match (name, email) {
        (Some(name), Some(email)) if name.eq_ignore_ascii_case(email) => email.to_owned(),
        (Some(name), Some(email)) => format!("{name} <{email}>"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => String::new(),
    };
    let of = |kind: &'static str| properties.iter().copied().filter(move |property| property.name == kind);
    if let Some(organizer) = of("ORGANIZER").next() {
        let (name, email) = (name(organizer), email(&organizer.value));
        let called = called(name.as_deref(), email.as_deref());
        if !called.is_empty() {
            lines.push(format!("{called}: organizer"));
        }
    }
    for property in of("ATTENDEE").take(MOST_ATTENDEES) {
        let (name, email) = (name(property), email(&property.value));
        if name.is_none() && email.is_none() {
            continue;
        }
        let written = property.parameter("PARTSTAT").unwrap_or_default().trim().to_lowercase();
        // RFC 5545 §3.2.12: an attendee without a status has not answered.
        let status =
            if written.is_empty() { "needs-action".to_owned() } else { written.chars().take(40).collect() };
        let in_words = if status == "needs-action" { "needs-action (no answer yet)" } else { &status };
        lines.push(format!("{}: {in_words}", called(name.as_deref(), email.as_deref())));
        attendees.push(Attendee { name, email, status });
    }
    (attendees, (!lines.is_empty()).then(|| lines.join("\n")))
}
