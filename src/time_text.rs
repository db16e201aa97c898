//! Times and ends, in words.

use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// The longest time before its end when a grant is worth a warning.
const SOON: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Whether `end` is ahead of `now` and close enough for a warning: in the last week, and for a grant that was
/// `issued` for less than four weeks, in the last quarter of its time. A grant for one day must not be about to
/// end when it begins.
pub fn is_soon(end: Timestamp, issued: Option<Timestamp>, now: Timestamp) -> bool {
    let quarter = issued.map(|issued| end.duration_since(issued) / 4);
    end > now && end.duration_since(now) <= quarter.unwrap_or(SOON).min(SOON)
}

/// The time left until `end`: `in 6 days`, `in 3 hours`; `None` once it is over.
pub fn left(end: Timestamp, now: Timestamp) -> Option<String> {
    let left = end.duration_since(now);
    if left <= SignedDuration::ZERO {
        return None;
    }
    let (count, unit) = match left.as_secs() {
        seconds @ 0..7_200 => (seconds / 60 + 1, "minute"),
        seconds @ 7_200..172_800 => (seconds / 3_600, "hour"),
        seconds => (seconds / 86_400, "day"),
    };
    Some(format!("in {count} {unit}{}", if count == 1 { "" } else { "s" }))
}

/// The time since `time`: `3 days ago`, `5 hours ago`, `just now`.
pub fn ago(time: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(time).as_secs();
    let (count, unit) = match seconds {
        ..60 => return "just now".to_owned(),
        60..120 => return "1 minute ago".to_owned(),
        120..7_200 => (seconds / 60, "minutes"),
        7_200..172_800 => (seconds / 3_600, "hours"),
        172_800..5_184_000 => (seconds / 86_400, "days"),
        5_184_000..63_072_000 => (seconds / 2_592_000, "months"),
        _ => (seconds / 31_536_000, "years"),
    };
    format!("{count} {unit} ago")
}

/// `2026-11-28 10:00 UTC`: rounded down to the minute, so that nothing ends earlier than shown.
pub fn day_and_time(time: Timestamp) -> String {
    let time = utc(time);
    format!("{} {:02}:{:02} UTC", time.date(), time.hour(), time.minute())
}

/// The day of an `end`; if it is less than two days away, with the time to the minute.
pub fn end(end: Timestamp, now: Timestamp) -> String {
    let is_near = end.duration_since(now).abs() < SignedDuration::from_hours(48);
    if is_near { day_and_time(end) } else { utc(end).date().to_string() }
}

/// Formats a span as `5:00 min`.
pub fn minutes(span: Duration) -> String {
    let seconds = span.as_secs();
    format!("{}:{:02} min", seconds / 60, seconds % 60)
}

/// `time` on a UTC clock.
pub fn utc(time: Timestamp) -> DateTime {
    TimeZone::UTC.to_datetime(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn time_left_is_said_in_one_unit() {
        let left_after = |seconds| left(at(seconds), at(0));
        assert_eq!(left_after(0), None);
        assert_eq!(left_after(1).as_deref(), Some("in 1 minute"));
        assert_eq!(left_after(7_199).as_deref(), Some("in 120 minutes"));
        assert_eq!(left_after(7_200).as_deref(), Some("in 2 hours"));
        assert_eq!(left_after(6 * 86_400 + 80_000).as_deref(), Some("in 6 days"));
        assert_eq!(day_and_time(at(59)), "1970-01-01 00:00 UTC");
    }

    #[test]
    fn an_age_is_said_in_one_unit() {
        let age = |seconds| ago(at(0), at(seconds));
        assert_eq!(
            [age(-5), age(59), age(60), age(119)],
            ["just now", "just now", "1 minute ago", "1 minute ago"]
        );
        assert_eq!([age(120), age(7_199)], ["2 minutes ago", "119 minutes ago"]);
        assert_eq!([age(7_200), age(172_799)], ["2 hours ago", "47 hours ago"]);
        assert_eq!([age(172_800), age(5_183_999)], ["2 days ago", "59 days ago"]);
        assert_eq!([age(5_184_000), age(63_071_999)], ["2 months ago", "24 months ago"]);
        assert_eq!(age(63_072_000), "2 years ago");
    }

    #[test]
    fn an_end_that_is_near_has_a_time() {
        let near = 2 * 86_400 - 1;
        assert_eq!(end(at(3_600), at(0)), "1970-01-01 01:00 UTC");
        assert_eq!(end(at(near), at(0)), "1970-01-02 23:59 UTC");
        assert_eq!(end(at(near + 1), at(0)), "1970-01-03");
        assert_eq!(end(at(0), at(near)), "1970-01-01 00:00 UTC", "an end that has just passed");
        assert_eq!(end(at(0), at(near + 1)), "1970-01-01");
    }

    #[test]
    fn countdowns_are_minutes_and_seconds() {
        assert_eq!(minutes(Duration::from_mins(5)), "5:00 min");
        assert_eq!(minutes(Duration::from_millis(61_999)), "1:01 min");
    }

    #[test]
    fn soon_is_the_last_week_or_quarter() {
        let end = at(28 * 86_400);
        for issued in [None, Some(at(0)), Some(at(-400 * 86_400))] {
            assert!(is_soon(end, issued, at(21 * 86_400)) && !is_soon(end, issued, at(21 * 86_400 - 1)));
            assert!(!is_soon(end, issued, end), "over is not soon");
        }
        for days in [1, 7] {
            let (issued, end) = (Some(at(0)), at(days * 86_400));
            assert!(!is_soon(end, issued, at(0)), "{days}");
            assert!(!is_soon(end, issued, at(days * 64_800 - 1)) && is_soon(end, issued, at(days * 64_800)));
        }
    }
}
