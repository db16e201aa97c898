//! The zone that a `TZID` in a calendar names: an IANA zone, a Windows name, a mangled form of either, or a zone that the file
//! defines.

use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use super::rule::{Bounds, Rule};
use super::windows;
use crate::import::content_line::{self, Property};

/// The most clock changes that are read from a definition.
const MOST_SHIFTS: usize = 400;

/// The zone of a local time.
#[derive(Debug, Clone, PartialEq)]
pub enum Zone {
    /// A well-known zone.
    Known(TimeZone),
    /// A zone that the file defines: its name, and its clock changes in order.
    Own(String, Vec<Shift>),
}

/// A clock change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shift {
    at: DateTime,
    /// Seconds east of Greenwich.
    before: i32,
    after: i32,
}

impl Zone {
    /// Finds the zone that `id` names. `definition` is the file's definition of it.
    pub fn find(id: &str, definition: Option<&str>) -> Option<Self> {
        let id = id.trim();
        if let Some(known) = by_name(id) {
            return Some(Self::Known(known));
        }
        let definition = content_line::properties(definition?.as_bytes());
        let of_the_world = definition.iter().find(|property| property.name == "X-LIC-LOCATION");
        if let Some(known) = of_the_world.and_then(|property| by_name(property.value.trim())) {
            return Some(Self::Known(known));
        }
        let shifts = shifts(&definition);
        (!shifts.is_empty()).then(|| Self::Own(id.to_owned(), shifts))
    }

    /// The zone's name.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Known(zone) => zone.iana_name(),
            Self::Own(name, _) => Some(name),
        }
    }

    /// The instant of a local time. If the time occurs twice, this is the first one; a skipped time is moved forward by the
    /// length of the gap.
    pub fn instant(&self, at: DateTime) -> Option<Timestamp> {
        match self {
            Self::Known(zone) => zone.to_ambiguous_timestamp(at).compatible().ok(),
            Self::Own(_, shifts) => {
                let behind = shifts.partition_point(|shift| shift.at <= at);
                let offset = match behind.checked_sub(1).and_then(|last| shifts.get(last)) {
                    Some(last) => last.after,
                    None => shifts.first()?.before,
                };
                let utc = TimeZone::UTC.to_timestamp(at).ok()?;
                utc.checked_sub(jiff::SignedDuration::from_secs(i64::from(offset))).ok()
            }
        }
    }

    /// The local time at an instant.
    pub fn local(&self, at: Timestamp) -> DateTime {
        match self {
            Self::Known(zone) => zone.to_datetime(at),
            Self::Own(_, shifts) => {
                let utc = TimeZone::UTC.to_datetime(at);
                let shown =
                    |offset: i32| utc.saturating_add(jiff::SignedDuration::from_secs(i64::from(offset)));
                let before = shifts.first().map_or(0, |first| first.before);
                let last = shifts.iter().rfind(|shift| shown(shift.before) >= shift.at);
                shown(last.map_or(before, |last| last.after))
            }
        }
    }
}

/// Finds a zone by name, without a definition.
pub fn by_name(id: &str) -> Option<TimeZone> {
    let id = id.trim().trim_matches('"');
    if id.is_empty() || id.len() > 200 {
        return None;
    }
    let of_the_world = |name: &str| {
        // A zone name must not lead to another file, as `../x` would.
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '+'));
        if is_name { TimeZone::get(name).ok() } else { None }
    };
    if let Some(zone) = of_the_world(id).or_else(|| windows::zone(id).and_then(of_the_world)) {
        return Some(zone);
    }
    // `/mozilla.org/20070129_1/Europe/Berlin`, `tzone://Microsoft/Utc`
    let parts: Vec<&str> = id.split('/').collect();
    for from in parts.len().saturating_sub(3)..parts.len() {
        if from > 0
            && let Some(zone) = of_the_world(&parts[from..].join("/"))
        {
            return Some(zone);
        }
    }
    // `(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna`
    let shown = match id.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((_, shown)) => shown.trim(),
        None => id,
    };
    if let Some(zone) = windows::zone(shown).and_then(of_the_world) {
        return Some(zone);
    }
    shown.split([',', ';', '&']).map(str::trim).filter(|city| !city.is_empty()).find_map(by_city).or_else(
        || {
            offset_of(id)
                .and_then(|seconds| jiff::tz::Offset::from_seconds(seconds).ok())
                .map(TimeZone::fixed)
        },
    )
}

/// Finds a zone by its city: `Amsterdam`.
fn by_city(city: &str) -> Option<TimeZone> {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let mut names: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
        names.retain(|name| {
            ["Africa/", "America/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/"]
                .iter()
                .any(|part| name.starts_with(part))
        });
        names.sort();
        names
    });
    let wanted = city.replace(' ', "_");
    let is_it =
        |name: &&String| name.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(&wanted));
    names.iter().find(is_it).and_then(|name| TimeZone::get(name).ok())
}

/// Parses `UTC+2`, `GMT-0330` or `+01:00` to seconds.
fn offset_of(id: &str) -> Option<i32> {
    let inner = id.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(id, |(inner, _)| inner);
    let upper = inner.trim().to_ascii_uppercase();
    let number = upper.strip_prefix("UTC").or_else(|| upper.strip_prefix("GMT")).unwrap_or(&upper).trim();
    let (sign, digits) = match (number.strip_prefix('+'), number.strip_prefix('-')) {
        (Some(digits), _) => (1, digits),
        (_, Some(digits)) => (-1, digits),
        _ => return None,
    };
    let digits: String = digits.chars().filter(|c| !matches!(c, ':' | '.')).collect();
    let (hours, minutes) = match digits.len() {
        1 | 2 => (digits.as_str(), "0"),
        4 => digits.split_at_checked(2)?,
        _ => return None,
    };
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours <= 14 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// The clock changes that a `VTIMEZONE` defines.
fn shifts(definition: &[Property]) -> Vec<Shift> {
    let mut shifts: Vec<Shift> = Vec::new();
    let mut of_one: Option<Vec<&Property>> = None;
    for property in definition {
        let is_part = ["STANDARD", "DAYLIGHT"].contains(&property.value.trim().to_ascii_uppercase().as_str());
        match property.name.as_str() {
            "BEGIN" if is_part => of_one = Some(Vec::new()),
            "END" if is_part => shifts.extend(of_one.take().map(|of| shifts_of(&of)).unwrap_or_default()),
            _ => {
                if let Some(of_one) = &mut of_one {
                    of_one.push(property);
                }
            }
        }
        if shifts.len() > MOST_SHIFTS * 4 {
            break;
        }
    }
    shifts.sort_by_key(|shift| shift.at);
    shifts
}

fn shifts_of(properties: &[&Property]) -> Vec<Shift> {
    let value = |name: &str| {
        properties.iter().find(|property| property.name == name).map(|property| property.value.trim())
    };
    let (Some(after), Some(start)) =
        (value("TZOFFSETTO").and_then(seconds), value("DTSTART").and_then(local))
    else {
        return Vec::new();
    };
    let before = value("TZOFFSETFROM").and_then(seconds).unwrap_or(after);
    let mut times = vec![start];
    for property in properties {
        match property.name.as_str() {
            "RDATE" => times.extend(property.value.split(',').filter_map(|at| local(at.trim()))),
            "RRULE" => {
                let Some(rule) = Rule::parse(&property.value) else { continue };
                let bounds = Bounds {
                    from: DateTime::MIN,
                    to: DateTime::constant(2100, 1, 1, 0, 0, 0, 0),
                    most: MOST_SHIFTS,
                };
                let is_over = |at: DateTime, until: Timestamp| {
                    let zone = jiff::tz::Offset::from_seconds(before).map(TimeZone::fixed);
                    zone.and_then(|zone| zone.to_timestamp(at)).is_ok_and(|at| at > until)
                };
                times.extend(rule.times(start, bounds, &is_over).all);
            }
            _ => {}
        }
    }
    times.truncate(MOST_SHIFTS * 2);
    times.sort_unstable();
    times.dedup();
    times.into_iter().map(|at| Shift { at, before, after }).collect()
}

/// Parses `+0100` or `-033000` to seconds.
fn seconds(text: &str) -> Option<i32> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let number = |at: usize| digits.get(at..at + 2)?.parse::<i32>().ok();
    let all = number(0)? * 3600 + number(2)? * 60 + number(4).unwrap_or(0);
    (all < 26 * 3600).then_some(sign * all)
}

/// Parses `20260301` or `2026-03-01`.
pub fn date(text: &str) -> Option<Date> {
    let digits: String = text.chars().filter(|c| *c != '-').take(9).collect();
    if digits.len() != 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Date::new(digits[..4].parse().ok()?, digits[4..6].parse().ok()?, digits[6..].parse().ok()?).ok()
}

/// Parses `20260301T100000`, without `Z`.
pub fn local(text: &str) -> Option<DateTime> {
    let (day, time) = text.split_once(['T', 't'])?;
    let digits: String = time.chars().filter(|c| *c != ':').take(7).collect();
    if !matches!(digits.len(), 4 | 6) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |at: usize| digits.get(at..at + 2).map_or(Some(0), |part| part.parse::<i8>().ok());
    let time = jiff::civil::Time::new(part(0)?, part(2)?, part(4)?.min(59), 0).ok()?;
    Some(date(day)?.to_datetime(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "BEGIN:VTIMEZONE\nTZID:Head office\nBEGIN:DAYLIGHT\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nTZNAME:CEST\n\
        DTSTART:19700329T020000\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\nEND:DAYLIGHT\nBEGIN:STANDARD\nTZOFFSETFROM:+0200\n\
        TZOFFSETTO:+0100\nDTSTART:19701025T030000\nRRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10\nEND:STANDARD\nEND:VTIMEZONE\n";

    #[test]
    fn o5_zones_are_found_by_whatever_they_are_called() {
        for (id, expected) in [
            ("Europe/Berlin", "Europe/Berlin"),
            ("W. Europe Standard Time", "Europe/Berlin"),
            ("/mozilla.org/20070129_1/Europe/Berlin", "Europe/Berlin"),
            (
                "/freeassociation.sourceforge.net/Tzfile/America/Argentina/Buenos_Aires",
                "America/Argentina/Buenos_Aires",
            ),
            ("/softwarestudio.org/Olson_20011030_5/America/New_York", "America/New_York"),
            ("(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna", "Europe/Amsterdam"),
            ("(GMT-05.00) Eastern Time (US & Canada)", "America/New_York"),
            ("Amsterdam, Berlin, Bern, Rom, Stockholm, Wien", "Europe/Amsterdam"),
            ("tzone://Microsoft/Utc", "UTC"),
            ("\"Europe/Paris\"", "Europe/Paris"),
        ] {
            let found = Zone::find(id, None).unwrap_or_else(|| panic!("{id}"));
            assert!(found.name().is_some_and(|name| name.eq_ignore_ascii_case(expected)), "{id}: {found:?}");
        }
        for unknown in [
            "",
            "Head office",
            "Customized Time Zone",
            "../../etc/passwd",
            "tzone://Microsoft/Custom",
            "X/Y/Z",
        ] {
            assert_eq!(Zone::find(unknown, None), None, "{unknown}");
        }
        let at: DateTime = "2026-07-01T12:00:00".parse().unwrap();
        assert_eq!(
            Zone::find("GMT-0330", None).unwrap().instant(at).unwrap().to_string(),
            "2026-07-01T15:30:00Z"
        );
    }

    #[test]
    fn o5_a_zone_that_the_file_defines_has_its_clocks_changed() {
        let own = Zone::find("Head office", Some(OWN)).unwrap();
        let berlin = Zone::find("Europe/Berlin", None).unwrap();
        for text in [
            "2026-01-15T09:00:00",
            "2026-03-29T01:59:00",
            "2026-03-29T03:00:00",
            "2026-07-15T09:00:00",
            "2026-10-25T02:30:00",
            "2026-10-25T03:00:00",
            "1990-07-01T00:00:00",
        ] {
            let at: DateTime = text.parse().unwrap();
            assert_eq!(own.instant(at), berlin.instant(at), "{text}");
            assert_eq!(own.local(own.instant(at).unwrap()), at, "{text}");
        }
        let known = OWN.replace("TZID:", "X-LIC-LOCATION:Asia/Tokyo\nTZID:");
        assert_eq!(Zone::find("Head office", Some(&known)).unwrap().name(), Some("Asia/Tokyo"));
        assert_eq!(Zone::find("x", Some("BEGIN:VTIMEZONE\nEND:VTIMEZONE")), None);
    }
}
