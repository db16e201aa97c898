//! Calendars: iCalendar files (RFC 5545), as all kinds of calendar programs export them.
//!
//! An event is a record, and so is each of its occurrences. Some facts are outside the event's own lines: the calendar's name,
//! the zones that the file defines, and which occurrences are replaced by separate events. The whole file is searched for these
//! first, so a file that changed is read from the beginning.

mod event;
mod rule;
mod windows;
mod zone;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead};
use std::ops::ControlFlow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::import::chat_export::beginning;
use crate::import::content_line::{self, Property};
use crate::import::declare::{Declared, Registry, StreamLine, connector};
use crate::import::format::{
    Ask, Bad, End, Format, Member, Out, Parsed, Parts, Peek, Plan, Raw, Refused, Sure, Unit, zone_in_words,
};
use crate::import::lines::Lines;
use crate::import::table;

/// Calendars.
pub struct Ical;

const KEY: &str = "ical";
/// The account's name unless the owner gives another one: no calendar names its owner.
const ACCOUNT: &str = "calendar";
const EVENTS: &str = "events";
const OCCURRENCES: &str = "occurrences";
/// The longest event that is read, in bytes. It may contain files.
const LONGEST: usize = 16 << 20;
/// The longest line of the calendar itself, and the longest definition of a zone, in bytes.
const LONGEST_LINE: usize = 64 << 10;
/// The most zones that a calendar defines, and the most calendars in a file.
const MOST_ZONES: usize = 500;
const MOST_CALENDARS: usize = 10_000;
/// The most events that are remembered while a file is searched.
const MOST_EVENTS: usize = 1_800_000;

const STREAMS: [StreamLine; 2] = [
    StreamLine {
        name: EVENTS,
        key: "id",
        time: "start",
        fields: "id:k! uid:k! calendar_name:g summary:h description:b location:s start:T! end:t all_day:f time_zone:g \
                 organizer_email:s attendees:a attendee_text:x status:g rrule:k* recurrence_id:k occurrences_until:t*",
        relations: "occurrences occurrences event_id many",
    },
    StreamLine {
        name: OCCURRENCES,
        key: "id",
        time: "start",
        fields: "id:k! event_id:k! summary:h location:s start:T! end:t all_day:f",
        relations: "",
    },
];
const DECLARED: &[Declared] = &[Declared { registry: Registry::Upstream, key: KEY, streams: &STREAMS }];

/// What is known about an item in addition to its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Facts {
    /// The kind of component, such as `VEVENT`. Empty for text outside of a calendar.
    kind: String,
    /// The calendar's name.
    calendar: Option<String>,
    /// The file's name, if the calendar has no name.
    file: Option<String>,
    /// The zone that the calendar names for times without a zone.
    zone: Option<String>,
    /// The zones that the event names and the file defines.
    zones: BTreeMap<String, String>,
    /// The occurrences that are replaced by separate events: `TZID`, and the time as the file has it.
    replaced: Vec<(Option<String>, String)>,
    /// The last year into which an endless rule is followed.
    until: Option<i16>,
    /// Whether other events have the same `UID`.
    is_shared: bool,
    /// Whether the item is too long.
    is_cut: bool,
    /// Whether the file ends within the item.
    is_half: bool,
}

/// What one calendar in a file says about all its events.
#[derive(Debug, Default)]
struct Calendar {
    name: Option<String>,
    zone: Option<String>,
    zones: Vec<(String, String)>,
}

/// What the search of a file found.
#[derive(Debug, Default)]
struct Looked {
    calendars: Vec<Calendar>,
    /// By calendar and `UID`: the occurrences that are replaced by separate events.
    replaced: HashMap<u64, Vec<(Option<String>, String)>>,
    /// By `UID`: a digest of the start, and whether other events have the same `UID`.
    starts: HashMap<u64, (u64, bool)>,
    /// The newest year in the file.
    newest: Option<i16>,
}

struct State {
    /// The results by label.
    looked: HashMap<String, Looked>,
}

impl Format for Ical {
    fn name(&self) -> &'static str {
        KEY
    }

    fn title(&self) -> &'static str {
        "a calendar in an iCalendar file (ICS)"
    }

    fn declares(&self) -> &'static [Declared] {
        DECLARED
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        mark(beginning(peek.head).lines().next().unwrap_or_default().as_bytes(), b"BEGIN")
            .is_some_and(|name| name == "VCALENDAR")
            .then_some(Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Upstream, KEY, "Calendar", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let mut looked = HashMap::new();
        for member in members {
            let found = (member.open)().and_then(look).map_err(|error| table::unreadable(member, &error))?;
            looked.insert(member.label.to_owned(), found);
        }
        let zone = zone_in_words(&ask.zone);
        let mut notes = vec![format!(
            "Times without a time zone are read in their calendar's zone or, if it has none, in {zone}."
        )];
        if ask.account.is_none() {
            notes.push(format!(
                "A calendar does not name its owner, so the account is called {ACCOUNT}. --account gives it another name."
            ));
        }
        Ok(vec![Plan {
            state: Arc::new(State { looked }),
            ..Plan::of_all(connector, ACCOUNT, members, ask, notes)
        }])
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let looked = plan.state.downcast_ref::<State>().and_then(|state| state.looked.get(unit.label));
        let Some(looked) = looked else {
            return Err(io::Error::other("this file did not exist when the import was planned"));
        };
        let file = table::file_stem(unit.label);
        let mut calendar = 0;
        walk(&mut unit.bytes, &mut |found| {
            let component = match found {
                Found::Calendar => {
                    calendar += 1;
                    return ControlFlow::Continue(());
                }
                Found::Property(_) => return ControlFlow::Continue(()),
                Found::Component(component) => component,
            };
            if component.name == "VTIMEZONE" || component.offset < from {
                return ControlFlow::Continue(());
            }
            let facts = looked.facts(calendar, &component, file);
            let facts = serde_json::to_string(&facts).unwrap_or_default();
            let Component { offset, next, line, bytes, .. } = component;
            out(Raw { offset, next, line: Some(line), bytes, facts, copy: 0 })
        })?;
        // A line anywhere in the file may affect all of it, so nothing can be skipped next time.
        Ok(End { at: 0 })
    }

    fn parse(&self, plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        let facts: Facts = serde_json::from_str(&raw.facts).map_err(|_| Bad("changed while it was read"))?;
        if facts.is_cut {
            return Err(Bad("an event of more than 16 MiB"));
        }
        // The missing lines may give it another identity.
        if facts.is_half {
            return Err(Bad("an event without its end"));
        }
        match facts.kind.as_str() {
            "VEVENT" => {
                event::parse(&facts, &content_line::properties(&raw.bytes), &plan.zone).map(Parsed::Records)
            }
            "VTODO" => Ok(Parsed::Skipped("a task (VTODO)")),
            "VJOURNAL" => Ok(Parsed::Skipped("a journal entry (VJOURNAL)")),
            "VFREEBUSY" => Ok(Parsed::Skipped("times that are free or busy (VFREEBUSY)")),
            "VALARM" => Ok(Parsed::Skipped("a reminder (VALARM)")),
            "" => Err(Bad("text outside of a calendar")),
            _ => Ok(Parsed::Skipped("an item that is not an event")),
        }
    }

    /// Keeps the newest version of an event.
    fn join(&self, _: &str, data: &str, sightings: &[&str]) -> String {
        sightings.iter().max_by_key(|said| Said::age(said)).map_or_else(
            || data.to_owned(),
            |said| serde_json::from_str::<Said<'_>>(said).map_or(data, |said| said.data.get()).to_owned(),
        )
    }

    fn is_whole_alone(&self) -> bool {
        true
    }

    fn add_sighting(&self, _: &str, first: &str, second: &str) -> String {
        // Of two equally old versions, the one that was read last counts: it may be the same version with more details.
        if Said::age(first).0 > Said::age(second).0 { first.to_owned() } else { second.to_owned() }
    }

    fn parts(&self) -> Option<Parts> {
        Some(Parts { whole: EVENTS, stream: OCCURRENCES, field: "event_id" })
    }
}

/// What one file says about an event.
#[derive(Serialize, Deserialize)]
struct Said<'a> {
    /// Decides which version is newer: `SEQUENCE`, `LAST-MODIFIED`, how far the rule was followed, `DTSTAMP`.
    age: [i64; 4],
    #[serde(borrow)]
    data: &'a RawValue,
}

impl Said<'_> {
    /// What decides which version is newer: the one with the greater value. The text breaks ties the same way
    /// in every import.
    fn age(said: &str) -> ([i64; 4], String) {
        serde_json::from_str::<Said<'_>>(said)
            .map_or_else(|_| ([i64::MIN; 4], String::new()), |found| (found.age, found.data.get().to_owned()))
    }
}

impl Looked {
    fn facts(&self, calendar: usize, component: &Component, file: &str) -> Facts {
        let kind = component.name.clone();
        let (is_cut, is_half) = (component.is_cut, component.is_half());
        let mut facts = Facts { kind, is_cut, is_half, ..Facts::default() };
        let of = calendar.checked_sub(1).and_then(|at| self.calendars.get(at));
        let (Some(of), "VEVENT", false) = (of, component.name.as_str(), component.is_cut) else {
            return facts;
        };
        facts.calendar.clone_from(&of.name);
        facts.file = of.name.is_none().then(|| file.to_owned());
        facts.zone.clone_from(&of.zone);
        let glance = Glance::of(&component.bytes);
        facts.zones = of.zones.iter().filter(|(id, _)| glance.zones.contains(id)).cloned().collect();
        let name = glance.name(of.name.as_deref());
        if glance.recurrence.is_none() {
            facts.replaced = self.replaced.get(&name).cloned().unwrap_or_default();
            facts.is_shared = self.starts.get(&name).is_some_and(|(_, is_shared)| *is_shared);
        }
        if glance.has_rule {
            facts.until = self.newest.map(|year| year.saturating_add(2));
        }
        facts
    }
}

/// The facts of an event that affect other items.
#[derive(Debug, Default)]
struct Glance {
    uid: String,
    start: String,
    recurrence: Option<(Option<String>, String)>,
    has_rule: bool,
    zones: Vec<String>,
    newest: Option<i16>,
}

impl Glance {
    fn of(bytes: &[u8]) -> Self {
        let mut glance = Self::default();
        let mut depth = 0_u32;
        for Property { name, parameters, value, .. } in content_line::properties(bytes) {
            match name.as_str() {
                "BEGIN" => depth += 1,
                "END" => depth = depth.saturating_sub(1),
                _ if depth != 1 => continue,
                _ => {}
            }
            let zone = || parameters.iter().find(|(name, _)| name == "TZID").map(|(_, zone)| zone.clone());
            let value = value.trim();
            match name.as_str() {
                "UID" if glance.uid.is_empty() => value.clone_into(&mut glance.uid),
                "DTSTART" if glance.start.is_empty() => value.clone_into(&mut glance.start),
                "RECURRENCE-ID" => glance.recurrence = Some((zone(), value.to_owned())),
                "RRULE" => glance.has_rule = true,
                _ => {}
            }
            if matches!(name.as_str(), "DTSTAMP" | "LAST-MODIFIED" | "CREATED" | "DTSTART") {
                let year = value.get(..4).and_then(|year| year.parse().ok());
                // A date far in the future, or from a wrong clock, does not show when the file was exported.
                glance.newest = glance.newest.max(year.filter(|year| (1970..2100).contains(year)));
            }
            glance.zones.extend(zone().filter(|_| glance.zones.len() < 20));
        }
        glance
    }

    fn name(&self, calendar: Option<&str>) -> u64 {
        table::hash([calendar.unwrap_or_default().as_bytes(), self.uid.as_bytes()])
    }
}

/// Searches a file for facts that affect its events.
fn look(bytes: impl BufRead) -> io::Result<Looked> {
    let mut looked = Looked::default();
    let mut glances: Vec<(usize, Glance)> = Vec::new();
    walk(bytes, &mut |found| {
        match found {
            Found::Calendar if looked.calendars.len() < MOST_CALENDARS => {
                looked.calendars.push(Calendar::default());
            }
            Found::Calendar => {}
            Found::Property(line) => {
                if let (Some(calendar), Some(property)) =
                    (looked.calendars.last_mut(), content_line::properties(&line).pop())
                {
                    calendar.take(&property);
                }
            }
            Found::Component(component) if component.name == "VTIMEZONE" => {
                if let Some(calendar) = looked.calendars.last_mut() {
                    calendar.define(&component);
                }
            }
            Found::Component(component) => {
                if component.name == "VEVENT"
                    && !component.is_cut
                    && !component.is_half()
                    && glances.len() < MOST_EVENTS
                {
                    let mut glance = Glance::of(&component.bytes);
                    looked.newest = looked.newest.max(glance.newest);
                    glance.zones = Vec::new();
                    glances.push((looked.calendars.len(), glance));
                }
            }
        }
        ControlFlow::Continue(())
    })?;
    for (calendar, glance) in glances {
        let calendar = calendar.checked_sub(1).and_then(|at| looked.calendars.get(at));
        let name = glance.name(calendar.and_then(|calendar| calendar.name.as_deref()));
        if glance.uid.is_empty() {
            continue;
        }
        if let Some(recurrence) = glance.recurrence {
            let all = looked.replaced.entry(name).or_default();
            if !all.contains(&recurrence) {
                all.push(recurrence);
                all.sort_unstable();
            }
        } else {
            let start = table::hash([glance.start.as_bytes()]);
            let known = looked.starts.entry(name).or_insert((start, false));
            known.1 |= known.0 != start;
        }
    }
    Ok(looked)
}

impl Calendar {
    fn take(&mut self, property: &Property) {
        let value = property.value.trim();
        match property.name.as_str() {
            "X-WR-CALNAME" | "NAME" if self.name.is_none() && !value.is_empty() => {
                self.name = Some(value.chars().take(200).collect());
            }
            "X-WR-TIMEZONE" | "TIMEZONE-ID" if self.zone.is_none() && zone::by_name(value).is_some() => {
                self.zone = Some(value.to_owned());
            }
            _ => {}
        }
    }

    fn define(&mut self, component: &Component) {
        let definition = content_line::properties(&component.bytes);
        let id = definition.iter().find(|property| property.name == "TZID").map(|id| id.value.trim());
        let Some(id) = id.filter(|id| !id.is_empty() && component.bytes.len() < LONGEST_LINE) else { return };
        // A well-known zone name keeps its meaning, whatever the file defines.
        if self.zones.len() < MOST_ZONES && zone::by_name(id).is_none() {
            self.zones.push((id.to_owned(), String::from_utf8_lossy(&component.bytes).into_owned()));
        }
    }
}

/// A part of a file.
enum Found {
    /// A calendar begins.
    Calendar,
    /// A line of the calendar itself.
    Property(Vec<u8>),
    /// An event or another component of a calendar, or a line outside of a calendar, which has no kind.
    Component(Component),
}

/// An event or a similar component.
struct Component {
    name: String,
    offset: u64,
    next: u64,
    line: u64,
    bytes: Vec<u8>,
    depth: u32,
    is_cut: bool,
}

impl Component {
    /// Whether the file ends within the component.
    const fn is_half(&self) -> bool {
        self.next == self.offset
    }

    fn add(&mut self, line: &[u8]) {
        if self.bytes.len() + line.len() > LONGEST {
            self.is_cut = true;
            return;
        }
        // The separator goes between lines, so that an event that is still being written is a prefix of the complete one.
        if !self.bytes.is_empty() {
            self.bytes.push(b'\n');
        }
        self.bytes.extend_from_slice(line);
    }
}

/// Goes through a file.
fn walk(bytes: impl BufRead, out: &mut dyn FnMut(Found) -> ControlFlow<()>) -> io::Result<()> {
    let mut lines = Lines::new(bytes);
    let mut is_in_calendar = false;
    let mut open: Option<Component> = None;
    let mut property: Vec<u8> = Vec::new();
    while let Some(line) = lines.read()? {
        let text = if line.offset == 0 {
            line.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line.bytes)
        } else {
            line.bytes
        };
        let (begins, ends) = (mark(text, b"BEGIN"), mark(text, b"END"));
        if let Some(component) = &mut open {
            let is_lost = begins.as_ref().is_some_and(|name| *name == component.name || name == "VCALENDAR")
                || ends.as_ref().is_some_and(|name| name == "VCALENDAR");
            if !is_lost {
                component.add(text);
                match (&begins, &ends) {
                    (Some(_), _) => component.depth = component.depth.saturating_add(1),
                    (_, Some(name)) if *name == component.name || component.depth == 0 => {
                        component.next = line.next;
                        if let Some(whole) = open.take()
                            && out(Found::Component(whole)).is_break()
                        {
                            return Ok(());
                        }
                    }
                    (_, Some(_)) => component.depth -= 1,
                    _ => {}
                }
                continue;
            }
            // The end mark is missing.
            component.next = line.offset;
            if let Some(whole) = open.take()
                && out(Found::Component(whole)).is_break()
            {
                return Ok(());
            }
        }
        if matches!(text.first(), Some(b' ' | b'\t')) && !property.is_empty() {
            if property.len() + text.len() < LONGEST_LINE {
                property.extend_from_slice(&text[1..]);
            }
            continue;
        }
        if !property.is_empty() && out(Found::Property(std::mem::take(&mut property))).is_break() {
            return Ok(());
        }
        match (begins, ends) {
            (Some(name), _) if name == "VCALENDAR" => {
                is_in_calendar = true;
                if out(Found::Calendar).is_break() {
                    return Ok(());
                }
            }
            (_, Some(name)) if name == "VCALENDAR" => is_in_calendar = false,
            (Some(name), _) if is_in_calendar => {
                let mut component = Component {
                    name,
                    offset: line.offset,
                    next: line.offset,
                    line: line.number,
                    bytes: Vec::new(),
                    depth: 0,
                    is_cut: false,
                };
                component.add(text);
                open = Some(component);
            }
            _ if is_in_calendar => property.extend_from_slice(&text[..text.len().min(LONGEST_LINE)]),
            // Blank lines at the beginning or end of a file.
            _ if text.trim_ascii().is_empty() => {}
            _ => {
                let stray = Component {
                    name: String::new(),
                    offset: line.offset,
                    next: if line.has_end { line.next } else { line.offset },
                    line: line.number,
                    bytes: text.to_vec(),
                    depth: 0,
                    is_cut: false,
                };
                if out(Found::Component(stray)).is_break() {
                    return Ok(());
                }
            }
        }
    }
    if !property.is_empty() && out(Found::Property(property)).is_break() {
        return Ok(());
    }
    if let Some(half) = open {
        let _ = out(Found::Component(half));
    }
    Ok(())
}

/// The component that a line such as `BEGIN:VEVENT` or `END:VEVENT` names, in upper case.
fn mark(line: &[u8], mark: &[u8]) -> Option<String> {
    let (found, name) = line.split_at_checked(mark.len())?;
    let name = name.strip_prefix(b":")?.trim_ascii();
    let is_name = !name.is_empty()
        && name.len() < 60
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    (found.eq_ignore_ascii_case(mark) && is_name).then(|| String::from_utf8_lossy(name).to_ascii_uppercase())
}

#[cfg(test)]
mod tests;
