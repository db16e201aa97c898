//! Instants as milliseconds since 1970, the only form in which timestamps are compared.

use jiff::Timestamp;

/// `text` (RFC 3339, or a plain date at midnight UTC) in milliseconds since 1970.
pub fn parse_ms(text: &str) -> Option<i64> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at.as_millisecond());
    }
    let date: jiff::civil::Date = text.parse().ok()?;
    if text.len() != 10 {
        return None;
    }
    Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

/// `ms` as RFC 3339 with milliseconds, in UTC.
pub fn format_ms(ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(at) => format!("{at:.3}"),
        Err(_) => String::new(),
    }
}

/// The day of `ms`, in UTC.
pub fn day(ms: i64) -> String {
    let mut text = format_ms(ms);
    text.truncate(10);
    text
}

/// The day of a time in RFC 3339 if it is the start of a day, otherwise with its minute, because a bound within a
/// day is not that day.
pub fn day_or_minute(text: &str) -> String {
    let Some(ms) = parse_ms(text) else { return text.to_owned() };
    let day = day(ms);
    if parse_ms(&day) == Some(ms) {
        return day;
    }
    format_ms(ms).get(11..16).map_or_else(|| text.to_owned(), |minute| format!("{day} {minute} UTC"))
}

/// Now, in milliseconds since 1970.
pub fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_instant_are_equal() {
        let at = parse_ms("2024-02-02T00:00:00Z").unwrap();
        assert_eq!(parse_ms("2024-02-02T00:00:00.000Z"), Some(at));
        assert_eq!(parse_ms("2024-02-02T01:00:00+01:00"), Some(at));
        assert_eq!(parse_ms("2024-02-02"), Some(at));
        assert_eq!(format_ms(at), "2024-02-02T00:00:00.000Z");
        assert_eq!(parse_ms("yesterday"), None);
        assert_eq!(parse_ms("20240202"), None);
        assert_eq!(day_or_minute("2024-02-02T01:00:00+01:00"), "2024-02-02");
        assert_eq!(day_or_minute("2024-02-02T01:00:00Z"), "2024-02-02 01:00 UTC");
    }
}
