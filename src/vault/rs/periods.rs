//! Periods of time in a zone, and what belongs to each.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::vault::wire::ApiError;

/// The content of each period: the number of instants, or more.
pub struct Periods<T> {
    granularity: Granularity,
    zone: jiff::tz::TimeZone,
    /// The known offsets from UTC, by the milliseconds from which they hold, each with its end.
    offsets: BTreeMap<i64, (i64, i64)>,
    /// The parts of periods, by minutes, hours or days of local time: each with one of its instants, and its
    /// content.
    parts: BTreeMap<i64, (i64, T)>,
}

impl<T: Default> Periods<T> {
    /// No periods yet.
    pub const fn new(granularity: Granularity, zone: jiff::tz::TimeZone) -> Self {
        Self { granularity, zone, offsets: BTreeMap::new(), parts: BTreeMap::new() }
    }

    /// The content of the part of a period that contains an instant.
    pub fn at(&mut self, ms: i64) -> Option<&mut T> {
        let offset = self.offset(ms)?;
        let unit = match self.granularity {
            Granularity::Minute => 60_000,
            Granularity::Hour => 3_600_000,
            _ => 86_400_000,
        };
        let (_, part) =
            self.parts.entry((ms + offset).div_euclid(unit)).or_insert_with(|| (ms, T::default()));
        Some(part)
    }

    fn offset(&mut self, ms: i64) -> Option<i64> {
        let known = self.offsets.range(..=ms).next_back().map(|(_, known)| *known);
        if let Some((_, offset)) = known.filter(|(until, _)| ms < *until) {
            return Some(offset);
        }
        let at = jiff::Timestamp::from_millisecond(ms).ok()?;
        let ms_of = |transition: jiff::tz::TimeZoneTransition<'_>| transition.timestamp().as_millisecond();
        // A transition at this very moment counts.
        let after = at.checked_add(jiff::SignedDuration::from_millis(1)).unwrap_or(at);
        let from = self.zone.preceding(after).next().map_or(i64::MIN, ms_of);
        let until = self.zone.following(at).next().map_or(i64::MAX, ms_of);
        let offset = i64::from(self.zone.to_offset(at).seconds()) * 1000;
        self.offsets.insert(from, (until, offset));
        Some(offset)
    }

    /// The groups, earliest first. `join` combines the parts of one period.
    pub fn groups(self, join: impl Fn(&mut T, T)) -> Vec<(Value, T)> {
        let mut groups: BTreeMap<String, T> = BTreeMap::new();
        for (ms, part) in self.parts.into_values() {
            if let Some(period) = self.granularity.period(ms, &self.zone) {
                join(groups.entry(period).or_default(), part);
            }
        }
        groups.into_iter().map(|(key, of)| (key.into(), of)).collect()
    }
}

/// The length of a period.
#[derive(Debug, Clone, Copy)]
pub enum Granularity {
    /// `minute`
    Minute,
    /// `hour`
    Hour,
    /// `day`
    Day,
    /// `week`
    Week,
    /// `month`
    Month,
    /// `quarter`
    Quarter,
    /// `year`
    Year,
}

impl Granularity {
    const ALL: [Self; 7] =
        [Self::Minute, Self::Hour, Self::Day, Self::Week, Self::Month, Self::Quarter, Self::Year];

    /// Parses a granularity's name.
    ///
    /// # Errors
    /// Returns `invalid_request` for any other text.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        Self::ALL.into_iter().find(|granularity| granularity.name() == text).ok_or_else(|| {
            ApiError::invalid("granularity must be minute, hour, day, week, month, quarter or year")
                .param("granularity")
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Quarter => "quarter",
            Self::Year => "year",
        }
    }

    /// The period that contains `ms`, as its first day, or as its first minute or hour.
    fn period(self, ms: i64, zone: &jiff::tz::TimeZone) -> Option<String> {
        let at = jiff::Timestamp::from_millisecond(ms).ok()?.to_zoned(zone.clone());
        let (date, hour, minute) = (at.date(), at.hour(), at.minute());
        Some(match self {
            Self::Minute => format!("{date}T{hour:02}:{minute:02}"),
            Self::Hour => format!("{date}T{hour:02}:00"),
            Self::Day => date.to_string(),
            Self::Week => {
                let since_monday = i64::from(date.weekday().to_monday_zero_offset());
                date.checked_sub(jiff::Span::new().days(since_monday)).ok()?.to_string()
            }
            Self::Month => format!("{:04}-{:02}-01", date.year(), date.month()),
            Self::Quarter => format!("{:04}-{:02}-01", date.year(), (date.month() - 1) / 3 * 3 + 1),
            Self::Year => format!("{:04}-01-01", date.year()),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vault::time;

    #[test]
    fn periods_begin_where_they_should() {
        let ms = time::parse_ms("2026-11-01T23:30:00Z").unwrap();
        let period = |granularity: Granularity, zone: &str| {
            granularity.period(ms, &jiff::tz::TimeZone::get(zone).unwrap()).unwrap()
        };
        assert_eq!(period(Granularity::Day, "UTC"), "2026-11-01");
        assert_eq!(period(Granularity::Day, "Europe/Oslo"), "2026-11-02");
        assert_eq!(period(Granularity::Week, "UTC"), "2026-10-26");
        assert_eq!(period(Granularity::Quarter, "UTC"), "2026-10-01");
        assert_eq!(period(Granularity::Minute, "UTC"), "2026-11-01T23:30");
    }

    proptest! {
        /// Covers zones with half and odd hours, a day that was left out, and offsets of odd seconds.
        #[test]
        fn periods_of_many_are_those_of_each(
            zone in prop::sample::select(vec![
                "UTC", "Europe/Oslo", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia", "Europe/Amsterdam",
            ]),
            granularity in prop::sample::select(Granularity::ALL.to_vec()),
            begin in -5_000_000_000_000_i64..5_000_000_000_000,
            steps in prop::collection::vec(prop_oneof![-1000..1000_i64, -9_000_000..9_000_000_i64, 0..40_000_000_000_i64], 0..50),
        ) {
            let zone = jiff::tz::TimeZone::get(zone).unwrap();
            let mut periods = Periods::<u64>::new(granularity, zone.clone());
            let mut each: BTreeMap<String, u64> = BTreeMap::new();
            let mut ms = begin;
            for step in steps {
                ms += step;
                *periods.at(ms).unwrap() += 2;
                *each.entry(granularity.period(ms, &zone).unwrap()).or_insert(0) += 2;
            }
            let each: Vec<(Value, u64)> = each.into_iter().map(|(key, count)| (key.into(), count)).collect();
            prop_assert_eq!(periods.groups(|known, new| *known += new), each);
        }
    }
}
