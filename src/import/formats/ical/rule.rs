//! Recurrence rules (RFC 5545 §3.3.10): which local times they produce.
//!
//! A rule is followed period by period in local time, without a zone. The caller converts local times between zones. Every step
//! is bounded, whatever the rule says.

use std::collections::VecDeque;

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::{Span, Timestamp};

/// The most periods that are followed: four hundred years of days.
const MOST_PERIODS: u32 = 150_000;
/// The most times in one day.
const MOST_A_DAY: usize = 48;
/// The most values of one part of a rule.
const MOST_VALUES: usize = 100;
/// The most weekdays that a rule names: each may be the first, the last and so on.
const MOST_DAYS: usize = 32;

/// How often the event recurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frequency {
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

/// When a rule ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// An instant.
    Instant(Timestamp),
    /// A local time.
    Local(DateTime),
    /// A day, including that day.
    Day(Date),
}

/// A recurrence rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    frequency: Frequency,
    interval: i32,
    count: Option<u32>,
    until: Option<Until>,
    months: Vec<i8>,
    weeks: Vec<i16>,
    year_days: Vec<i16>,
    month_days: Vec<i16>,
    /// Each weekday with its position in the month or year; 0 means all of them.
    days: Vec<(i16, Weekday)>,
    hours: Vec<i8>,
    minutes: Vec<i8>,
    seconds: Vec<i8>,
    positions: Vec<i16>,
    week_start: Weekday,
}

/// The times that a rule produces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times {
    /// The times in order. If there are too many, the latest ones.
    pub all: Vec<DateTime>,
    /// Whether there are more.
    pub is_cut: bool,
}

/// How far a rule is followed.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// For an endless rule, earlier times are left out.
    pub from: DateTime,
    /// For an endless rule, or one with too many times, later times are left out.
    pub to: DateTime,
    /// The most times.
    pub most: usize,
}

impl Rule {
    /// Parses a rule such as `FREQ=WEEKLY;BYDAY=MO`. Returns `None` if any part of it is unknown.
    pub fn parse(text: &str) -> Option<Self> {
        let mut rule = Self {
            frequency: Frequency::Daily,
            interval: 1,
            count: None,
            until: None,
            months: Vec::new(),
            weeks: Vec::new(),
            year_days: Vec::new(),
            month_days: Vec::new(),
            days: Vec::new(),
            hours: Vec::new(),
            minutes: Vec::new(),
            seconds: Vec::new(),
            positions: Vec::new(),
            week_start: Weekday::Monday,
        };
        let mut frequency = None;
        for part in text.trim().split(';').filter(|part| !part.trim().is_empty()) {
            let (name, value) = part.split_once('=')?;
            let value = value.trim().to_ascii_uppercase();
            match name.trim().to_ascii_uppercase().as_str() {
                "FREQ" => {
                    frequency = Some(match value.as_str() {
                        "DAILY" => Frequency::Daily,
                        "WEEKLY" => Frequency::Weekly,
                        "MONTHLY" => Frequency::Monthly,
                        "YEARLY" => Frequency::Yearly,
                        // Personal calendars have no hourly events.
                        _ => return None,
                    });
                }
                "INTERVAL" => rule.interval = value.parse().ok().filter(|interval| *interval > 0)?,
                "COUNT" => rule.count = Some(value.parse().ok()?),
                "UNTIL" => rule.until = Some(until(&value)?),
                "BYMONTH" => rule.months = numbers(&value, 1, 12, false)?,
                "BYWEEKNO" => rule.weeks = numbers(&value, 1, 53, true)?,
                "BYYEARDAY" => rule.year_days = numbers(&value, 1, 366, true)?,
                "BYMONTHDAY" => rule.month_days = numbers(&value, 1, 31, true)?,
                "BYHOUR" => rule.hours = numbers(&value, 0, 23, false)?,
                "BYMINUTE" => rule.minutes = numbers(&value, 0, 59, false)?,
                "BYSECOND" => rule.seconds = numbers(&value, 0, 59, false)?,
                "BYSETPOS" => rule.positions = numbers(&value, 1, 366, true)?,
                "BYDAY" => rule.days = days(&value)?,
                "WKST" => rule.week_start = weekday(&value)?,
                "RSCALE" if value == "GREGORIAN" => {}
                "SKIP" if value == "OMIT" => {}
                name if name.starts_with("X-") => {}
                _ => return None,
            }
        }
        rule.frequency = frequency?;
        let or_one = |list: &Vec<i8>| list.len().max(1);
        let a_day = or_one(&rule.hours) * or_one(&rule.minutes) * or_one(&rule.seconds);
        (a_day <= MOST_A_DAY).then_some(rule)
    }

    /// Whether the rule has no end.
    pub const fn is_endless(&self) -> bool {
        self.count.is_none() && self.until.is_none()
    }

    /// The local times that the rule of an event produces if the event first takes place at `start`. `is_over` says whether a
    /// local time is after an instant.
    pub fn times(
        &self,
        start: DateTime,
        bounds: Bounds,
        is_over: &dyn Fn(DateTime, Timestamp) -> bool,
    ) -> Times {
        if self.is_endless() {
            return self.walk(start, bounds, is_over);
        }
        // A rule with an end is followed to its end unless it produces too many times.
        let all = Bounds { from: DateTime::MIN, to: DateTime::MAX, most: bounds.most + 1 };
        let times = self.first(start, all, is_over);
        if times.all.len() <= bounds.most && !times.is_cut {
            times
        } else {
            self.walk(start, bounds, is_over)
        }
    }

    /// The first times, up to one more than the limit.
    fn first(&self, start: DateTime, bounds: Bounds, is_over: &dyn Fn(DateTime, Timestamp) -> bool) -> Times {
        let mut times = Times::default();
        times.is_cut = self.each(start, bounds, is_over, &mut |at| {
            times.all.push(at);
            times.all.len() < bounds.most
        });
        times
    }

    /// The latest times within the bounds.
    fn walk(&self, start: DateTime, bounds: Bounds, is_over: &dyn Fn(DateTime, Timestamp) -> bool) -> Times {
        let mut latest = VecDeque::new();
        let mut is_cut = false;
        is_cut |= self.each(start, bounds, is_over, &mut |at| {
            if at >= bounds.from || at == start {
                if latest.len() == bounds.most {
                    latest.pop_front();
                }
                latest.push_back(at);
            }
            true
        });
        is_cut |= latest.len() == bounds.most;
        Times { all: latest.into(), is_cut }
    }

    /// Passes each time within the bounds, and some before them, to `out` in order until it returns false. Returns whether there
    /// would be more.
    fn each(
        &self,
        start: DateTime,
        bounds: Bounds,
        is_over: &dyn Fn(DateTime, Timestamp) -> bool,
        out: &mut dyn FnMut(DateTime) -> bool,
    ) -> bool {
        let is_behind = |at: DateTime| match self.until {
            None => false,
            Some(Until::Instant(until)) => is_over(at, until),
            Some(Until::Local(until)) => at > until,
            Some(Until::Day(until)) => at.date() > until,
        };
        let most = self.count.unwrap_or(u32::MAX);
        if most == 0 || is_behind(start) {
            return false;
        }
        // An event's own start is its first time, whatever the rule says.
        if !out(start) {
            return most > 1;
        }
        let mut given = 1_u32;
        let skipped = self.skipped(start.date(), bounds.from.date());
        for number in skipped..skipped.saturating_add(MOST_PERIODS) {
            let Some((first, dates)) = self.period(start.date(), number) else { return false };
            if first > bounds.to.date() {
                return true;
            }
            for at in self.positioned(self.times_of(&dates, start.time())) {
                if at <= start {
                    continue;
                }
                if given >= most || is_behind(at) {
                    return false;
                }
                if at > bounds.to {
                    return true;
                }
                given += 1;
                if !out(at) {
                    return given < most;
                }
            }
            if is_behind(first.to_datetime(Time::midnight())) {
                return false;
            }
        }
        true
    }

    /// How many periods before the bounds can be skipped. A rule with a count needs all of them.
    fn skipped(&self, start: Date, from: Date) -> u32 {
        if self.count.is_some() || from <= start {
            return 0;
        }
        let years = i32::from(from.year()) - i32::from(start.year());
        let periods = match self.frequency {
            Frequency::Daily => years.saturating_sub(1) * 365,
            Frequency::Weekly => years.saturating_sub(1) * 52,
            Frequency::Monthly => years.saturating_sub(1) * 12,
            Frequency::Yearly => years.saturating_sub(1),
        };
        u32::try_from(periods / self.interval).unwrap_or(0)
    }

    /// The first day of the period with this number, and the days of the period. `None` after the calendar's last year.
    fn period(&self, start: Date, number: u32) -> Option<(Date, Vec<Date>)> {
        let step = i64::from(number).checked_mul(i64::from(self.interval))?;
        match self.frequency {
            Frequency::Daily => {
                let day = start.checked_add(Span::new().try_days(step).ok()?).ok()?;
                Some((day, self.limited(vec![day])))
            }
            Frequency::Weekly => {
                let back = i64::from(start.weekday().since(self.week_start));
                let monday = start.checked_sub(Span::new().days(back)).ok()?;
                let first = monday.checked_add(Span::new().try_weeks(step).ok()?).ok()?;
                let week = (0..7).filter_map(|day| first.checked_add(Span::new().days(day)).ok());
                let is_day = |day: &Date| {
                    if self.days.is_empty() {
                        day.weekday() == start.weekday()
                    } else {
                        self.days.iter().any(|(_, known)| *known == day.weekday())
                    }
                };
                let dates: Vec<Date> = week.filter(|day| self.is_month(day.month()) && is_day(day)).collect();
                Some((first, dates))
            }
            Frequency::Monthly => {
                let month = i64::from(start.year()) * 12 + i64::from(start.month()) - 1 + step;
                let year = i16::try_from(month.div_euclid(12)).ok()?;
                let month = i8::try_from(month.rem_euclid(12)).ok()? + 1;
                let first = Date::new(year, month, 1).ok()?;
                let dates = if self.is_month(month) { self.of_month(first, start.day()) } else { Vec::new() };
                Some((first, dates))
            }
            Frequency::Yearly => {
                let year = i16::try_from(i64::from(start.year()) + step).ok()?;
                let first = Date::new(year, 1, 1).ok()?;
                Some((first, self.of_year(first, start)))
            }
        }
    }

    fn is_month(&self, month: i8) -> bool {
        self.months.is_empty() || self.months.contains(&month)
    }

    /// Keeps the days that all parts of the rule allow.
    fn limited(&self, mut dates: Vec<Date>) -> Vec<Date> {
        dates.retain(|day| {
            self.is_month(day.month())
                && (self.month_days.is_empty() || self.is_month_day(*day))
                && (self.days.is_empty() || self.days.iter().any(|(_, known)| *known == day.weekday()))
        });
        dates
    }

    fn is_month_day(&self, day: Date) -> bool {
        let (from_start, length) = (i16::from(day.day()), i16::from(day.days_in_month()));
        self.month_days.iter().any(|wanted| {
            if *wanted > 0 { *wanted == from_start } else { *wanted == from_start - length - 1 }
        })
    }

    /// The days of the month that begins with `first`.
    fn of_month(&self, first: Date, start_day: i8) -> Vec<Date> {
        let all = || days_from(first, i64::from(first.days_in_month()));
        let days: Vec<Date> = if self.month_days.is_empty() {
            if self.days.is_empty() {
                return Date::new(first.year(), first.month(), start_day).into_iter().collect();
            }
            all()
        } else {
            all().into_iter().filter(|day| self.is_month_day(*day)).collect()
        };
        let last = first.last_of_month();
        self.on_days(days, first, last)
    }

    /// The days of the year that begins with `first`.
    fn of_year(&self, first: Date, start: Date) -> Vec<Date> {
        let year = first.year();
        let length = i64::from(first.days_in_year());
        let months = || (1..=12).filter(|month| self.is_month(*month));
        if !self.weeks.is_empty() {
            // Week 1 has at least four days in the year. A week may contain days of the year before or after.
            let mut dates = Vec::new();
            let around = first.checked_sub(Span::new().days(7)).unwrap_or(first);
            for day in days_from(around, length + 14) {
                let Some((week, of)) = self.week_of(day, year) else { continue };
                let is_week = self
                    .weeks
                    .iter()
                    .any(|wanted| if *wanted > 0 { *wanted == week } else { *wanted == week - of - 1 });
                let is_day = if self.days.is_empty() {
                    day.weekday() == start.weekday()
                } else {
                    self.days.iter().any(|(_, known)| *known == day.weekday())
                };
                if is_week && is_day && self.is_month(day.month()) {
                    dates.push(day);
                }
            }
            return dates;
        }
        if !self.year_days.is_empty() {
            let mut dates = days_from(first, length);
            dates.retain(|day| {
                let (from_start, length) = (day.day_of_year(), day.days_in_year());
                self.year_days.iter().any(|wanted| {
                    if *wanted > 0 { *wanted == from_start } else { *wanted == from_start - length - 1 }
                })
            });
            return self.limited(dates);
        }
        if self.days.is_empty() && self.month_days.is_empty() {
            if self.months.is_empty() {
                return Date::new(year, start.month(), start.day()).into_iter().collect();
            }
            return months().filter_map(|month| Date::new(year, month, start.day()).ok()).collect();
        }
        if self.months.is_empty() && self.month_days.is_empty() {
            let last = first.last_of_year();
            return self.on_days(days_from(first, length), first, last);
        }
        months()
            .filter_map(|month| Date::new(year, month, 1).ok())
            .flat_map(|first| self.of_month(first, start.day()))
            .collect()
    }

    /// Keeps the days between `first` and `last` that are one of the rule's weekdays, at the position that the rule gives, if
    /// any.
    fn on_days(&self, mut dates: Vec<Date>, first: Date, last: Date) -> Vec<Date> {
        if self.days.is_empty() {
            return dates;
        }
        dates.retain(|day| {
            self.days.iter().any(|(number, weekday)| {
                let from_start = (day.day_of_year() - first.day_of_year()) / 7 + 1;
                let from_end = -((last.day_of_year() - day.day_of_year()) / 7) - 1;
                *weekday == day.weekday() && (*number == 0 || *number == from_start || *number == from_end)
            })
        });
        dates
    }

    /// The week of `year` that a day is in, and how many weeks that year has. `None` if the day is in no week of that year.
    fn week_of(&self, day: Date, year: i16) -> Option<(i16, i16)> {
        let first_week = |year: i16| {
            let fourth = Date::new(year, 1, 4).ok()?;
            fourth.checked_sub(Span::new().days(i64::from(fourth.weekday().since(self.week_start)))).ok()
        };
        let (first, next) = (first_week(year)?, first_week(year.checked_add(1)?)?);
        if day < first || day >= next {
            return None;
        }
        let days = |from: Date, to: Date| from.until(to).ok().map(|span| span.get_days());
        let week = i16::try_from(days(first, day)? / 7).ok()? + 1;
        Some((week, i16::try_from(days(first, next)? / 7).ok()?))
    }

    /// The times on some days.
    fn times_of(&self, dates: &[Date], start: Time) -> Vec<DateTime> {
        let or = |list: &[i8], own: i8| if list.is_empty() { vec![own] } else { list.to_vec() };
        let (hours, minutes, seconds) = (
            or(&self.hours, start.hour()),
            or(&self.minutes, start.minute()),
            or(&self.seconds, start.second()),
        );
        let mut times = Vec::new();
        for date in dates {
            for hour in &hours {
                for minute in &minutes {
                    for second in &seconds {
                        times
                            .extend(Time::new(*hour, *minute, *second, 0).map(|time| date.to_datetime(time)));
                    }
                }
            }
        }
        times.sort_unstable();
        times.dedup();
        times
    }

    /// Keeps the times of a period at the positions that the rule names.
    fn positioned(&self, times: Vec<DateTime>) -> Vec<DateTime> {
        if self.positions.is_empty() {
            return times;
        }
        let length = times.len();
        let mut found: Vec<DateTime> = self
            .positions
            .iter()
            .filter_map(|position| {
                let at = usize::from(position.unsigned_abs());
                let at = if *position > 0 { at.checked_sub(1)? } else { length.checked_sub(at)? };
                times.get(at).copied()
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn days_from(first: Date, length: i64) -> Vec<Date> {
    (0..length).filter_map(|day| first.checked_add(Span::new().days(day)).ok()).collect()
}

fn numbers<N>(text: &str, least: i16, most: i16, is_signed: bool) -> Option<Vec<N>>
where
    N: TryFrom<i16>,
{
    let mut all = Vec::new();
    for number in text.split(',') {
        let number: i16 = number.trim().trim_start_matches('+').parse().ok()?;
        let size = if is_signed { number.abs() } else { number };
        if !(least..=most).contains(&size) || all.len() == MOST_VALUES {
            return None;
        }
        all.push(N::try_from(number).ok()?);
    }
    Some(all)
}

fn days(text: &str) -> Option<Vec<(i16, Weekday)>> {
    let mut all = Vec::new();
    for day in text.split(',') {
        let day = day.trim();
        let (number, name) = day.split_at_checked(day.len().checked_sub(2)?)?;
        let number = match number.trim_start_matches('+') {
            "" => 0,
            number => number.parse().ok().filter(|number: &i16| (1..=53).contains(&number.abs()))?,
        };
        if all.len() == MOST_DAYS {
            return None;
        }
        all.push((number, weekday(name)?));
    }
    Some(all)
}

fn weekday(name: &str) -> Option<Weekday> {
    Some(match name {
        "MO" => Weekday::Monday,
        "TU" => Weekday::Tuesday,
        "WE" => Weekday::Wednesday,
        "TH" => Weekday::Thursday,
        "FR" => Weekday::Friday,
        "SA" => Weekday::Saturday,
        "SU" => Weekday::Sunday,
        _ => return None,
    })
}

fn until(text: &str) -> Option<Until> {
    if let Some(local) = text.strip_suffix('Z') {
        let at = super::zone::local(local)?;
        return Some(Until::Instant(jiff::tz::TimeZone::UTC.to_timestamp(at).ok()?));
    }
    match text.len() {
        8 => super::zone::date(text).map(Until::Day),
        _ => super::zone::local(text).map(Until::Local),
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use proptest::prelude::*;

    use super::*;

    const BOUNDS: Bounds = Bounds {
        from: DateTime::constant(2000, 1, 1, 0, 0, 0, 0),
        to: DateTime::constant(2028, 12, 31, 23, 59, 59, 0),
        most: 5000,
    };

    fn times(rule: &str, start: &str) -> Vec<String> {
        let zone = TimeZone::get("America/New_York").unwrap();
        let is_over = |at: DateTime, until: Timestamp| zone.to_timestamp(at).unwrap() > until;
        let start: DateTime = start.parse().unwrap();
        let found = Rule::parse(rule).unwrap().times(start, BOUNDS, &is_over);
        found.all.iter().map(|at| at.to_string()[..16].to_owned()).collect()
    }

    fn days_of(rule: &str, start: &str) -> String {
        let all = times(rule, start);
        all.iter().map(|at| at[2..10].replace('-', "")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn o5_rules_name_the_days_that_the_standard_says() {
        let start = "1997-09-02T09:00:00";
        for (rule, expected) in [
            ("FREQ=DAILY;COUNT=3", "970902 970903 970904"),
            ("FREQ=DAILY;INTERVAL=10;COUNT=3", "970902 970912 970922"),
            ("FREQ=WEEKLY;UNTIL=19970917T000000Z", "970902 970909 970916"),
            ("FREQ=WEEKLY;INTERVAL=2;WKST=SU;COUNT=3", "970902 970916 970930"),
            ("FREQ=WEEKLY;COUNT=5;WKST=SU;BYDAY=TU,TH", "970902 970904 970909 970911 970916"),
            ("FREQ=MONTHLY;COUNT=4;BYMONTHDAY=2,15", "970902 970915 971002 971015"),
            ("FREQ=MONTHLY;COUNT=3;BYMONTHDAY=-1", "970902 970930 971031"),
            ("FREQ=MONTHLY;COUNT=3;BYDAY=TU;BYSETPOS=1", "970902 971007 971104"),
            ("FREQ=MONTHLY;COUNT=3;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "970902 970929 971030"),
            ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13;COUNT=3", "970902 980213 980313"),
            ("FREQ=YEARLY;COUNT=3;BYMONTH=6,7", "970902 980602 980702"),
            ("FREQ=YEARLY;INTERVAL=3;COUNT=4;BYYEARDAY=1,100", "970902 000101 000409 030101"),
            ("FREQ=YEARLY;COUNT=3;BYDAY=20MO", "970902 980518 990517"),
            ("FREQ=YEARLY;COUNT=3;BYWEEKNO=20;BYDAY=MO", "970902 980511 990517"),
            ("FREQ=YEARLY;COUNT=3;BYMONTH=3;BYDAY=TH", "970902 980305 980312"),
            ("FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10;COUNT=2", "970902 971026"),
            ("FREQ=DAILY;BYMONTH=1;COUNT=3", "970902 980101 980102"),
        ] {
            assert_eq!(days_of(rule, start), expected, "{rule}");
        }
        assert_eq!(
            days_of("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-08-05T09:00:00"),
            "970805 970810 970819 970824"
        );
        assert_eq!(
            days_of("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-08-05T09:00:00"),
            "970805 970817 970819 970831"
        );
        assert_eq!(days_of("FREQ=MONTHLY;COUNT=3", "2026-01-31T09:00:00"), "260131 260331 260531");
        assert_eq!(days_of("FREQ=YEARLY;COUNT=3", "2020-02-29T09:00:00"), "200229 240229 280229");
        assert_eq!(days_of("FREQ=MONTHLY;BYDAY=1FR;COUNT=3", "1997-09-05T09:00:00"), "970905 971003 971107");
        assert_eq!(
            times("FREQ=DAILY;BYHOUR=9,17;COUNT=3", "2026-03-01T09:00:00"),
            ["2026-03-01T09:00", "2026-03-01T17:00", "2026-03-02T09:00"]
        );
    }

    #[test]
    fn until_is_an_instant_a_local_time_or_a_day() {
        // In summer, 13:00 UTC is 9:00 in New York.
        for (until, count) in [
            ("20260703T130000Z", 3),
            ("20260703T125959Z", 2),
            ("20260703T090000", 3),
            ("20260703", 3),
            ("20260702", 2),
            ("20260630", 0),
        ] {
            let rule = format!("FREQ=DAILY;UNTIL={until}");
            assert_eq!(times(&rule, "2026-07-01T09:00:00").len(), count, "{until}");
        }
    }

    #[test]
    fn o5_an_endless_rule_ends_at_its_bounds_and_a_hostile_one_soon() {
        let of = |rule: &str, start: &str| {
            let found = Rule::parse(rule).unwrap().times(start.parse().unwrap(), BOUNDS, &|_, _| false);
            (found.all.len(), found.is_cut)
        };
        assert_eq!(
            of("FREQ=YEARLY", "1604-03-01T00:00:00"),
            (30, true),
            "its own start, and 29 years since 2000"
        );
        assert_eq!(of("FREQ=DAILY", "2026-12-30T00:00:00"), (733, true));
        assert_eq!(of("FREQ=DAILY;COUNT=4294967295", "2001-01-01T00:00:00").0, 5000, "the latest ones");
        assert_eq!(of("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "2026-01-01T00:00:00"), (1, true));
        assert_eq!(of("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31;COUNT=2", "-009999-01-01T00:00:00"), (1, true));
        assert_eq!(of("FREQ=MONTHLY;INTERVAL=2147483647", "2026-01-01T00:00:00").0, 1);
        for unknown in [
            "FREQ=SECONDLY",
            "FREQ=HOURLY",
            "W1 MO #10",
            "FREQ=WEEKLY;BYDAY=XX",
            "FREQ=WEEKLY;INTERVAL=0",
            "BYDAY=MO",
            "",
            "FREQ=DAILY;BYHOUR=1,2,3,4,5,6,7;BYMINUTE=1,2,3,4,5,6,7",
            "RSCALE=CHINESE;FREQ=YEARLY",
            "FREQ=YEARLY;BYMONTH=13",
            "FREQ=DAILY;UNTIL=soon",
        ] {
            assert_eq!(Rule::parse(unknown), None, "{unknown}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_rule_ends_in_order_and_within_its_bounds(
            rule in "FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)(;INTERVAL=[1-9]{1,9})?(;COUNT=[0-9]{1,9})?(;BYMONTH=(2|2,11))?(;BYDAY=(-1|[1-5])?(MO|SU))?\
                (;BYMONTHDAY=-?(3[01]|[1-9]))?(;BYSETPOS=-?[1-9])?(;BYWEEKNO=(1|-1|53))?(;BYYEARDAY=(-366|366|60))?",
            year in 1500..2200_i16, day in 1..29_i8,
        ) {
            let rule = Rule::parse(&rule).unwrap();
            let start = DateTime::new(year, 3, day, 1, 2, 3, 0).unwrap();
            let found = rule.times(start, Bounds { most: 50, ..BOUNDS }, &|_, _| false);
            prop_assert!(found.all.len() <= 51 && found.all.is_sorted_by(|one, other| one < other));
        }

        #[test]
        fn any_text_is_a_rule_or_none(text in "[A-Z0-9=;,+ -]{0,60}") {
            let _ = Rule::parse(&text);
        }
    }
}
