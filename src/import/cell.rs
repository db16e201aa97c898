//! Reads a cell of a table: numbers and times as people and their programs write them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::format::DateOrder;

/// The mark before a number's decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decimal {
    /// 1,234.56
    Point,
    /// 1.234,56
    Comma,
}

/// A sign or a code of a currency next to an amount; empty if there is none.
pub type Currency = &'static str;

/// Signs come before their own prefixes: `US$` must not match as `$`.
const CURRENCIES: [Currency; 54] = [
    "US$", "R$", "$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₪", "฿", "₫", "zł", "kr.", "kr", "Kč", "Ft", "lei",
    "Fr.", "EUR", "USD", "GBP", "CHF", "JPY", "SEK", "NOK", "DKK", "ISK", "PLN", "CZK", "HUF", "RON", "BGN",
    "TRY", "RUB", "UAH", "INR", "CNY", "AUD", "CAD", "NZD", "BRL", "MXN", "ZAR", "SGD", "HKD", "KRW", "ILS",
    "THB", "AED", "SAR", "CLP", "COP",
];

/// The name of a currency at the end of a field's name: its code, or a name for a sign that several
/// currencies share.
pub fn currency_name(currency: Currency) -> String {
    match currency {
        "US$" => "usd",
        "R$" => "brl",
        "$" => "dollar",
        "€" => "eur",
        "£" => "pound",
        "¥" => "yen",
        "₹" => "inr",
        "₽" => "rub",
        "₩" => "krw",
        "₺" => "try",
        "₪" => "ils",
        "฿" => "thb",
        "₫" => "vnd",
        "zł" => "pln",
        "kr." | "kr" => "kr",
        "Kč" => "czk",
        "Ft" => "huf",
        "lei" => "ron",
        "Fr." => "chf",
        code => return code.to_ascii_lowercase(),
    }
    .to_owned()
}

/// Whether `name` is a result of [`currency_name`].
pub fn is_currency_name(name: &str) -> bool {
    CURRENCIES.iter().any(|currency| currency_name(currency) == name)
}

/// An amount without its currency, and the currency.
fn amount(text: &str) -> (&str, Currency) {
    let ends_plainly = |c: Option<char>| c.is_none_or(|c| c.is_ascii_digit());
    let is_begun =
        text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '\u{2212}' | '.' | ','));
    if is_begun && ends_plainly(text.chars().next_back()) {
        return (text, "");
    }
    let blank = [' ', '\u{a0}', '\u{202f}'];
    for currency in CURRENCIES {
        if let Some(rest) = text.strip_suffix(currency) {
            return (rest.trim_end_matches(blank), currency);
        }
        if !is_begun && let Some(rest) = text.strip_prefix(currency) {
            return (rest.trim_start_matches(blank), currency);
        }
    }
    (text, "")
}

/// Like [`number`], for a text that may name a currency.
pub fn money(text: &str, decimal: Decimal) -> Option<(String, Currency)> {
    if text.len() > 400 {
        return None;
    }
    // The sign may precede the currency: `-$5.00`.
    let (minus, rest) = match text.strip_prefix(['-', '\u{2212}']) {
        Some(rest) if !rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',')) => {
            ("-", rest)
        }
        _ => ("", text),
    };
    let (body, currency) = amount(rest);
    if minus.is_empty() {
        return Some((number(body, decimal)?, currency));
    }
    let plain = body.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    let number = number(body, decimal).filter(|number| plain && !number.starts_with('-'))?;
    (!currency.is_empty()).then(|| (format!("-{number}"), currency))
}

/// `text` as a JSON number, digit for digit, without the marks between thousands. A minus may follow the
/// number; a plus counts as a sign only if there are decimals.
///
/// Codes are not numbers: `007`, `+49 30`, `1E5`.
pub fn number(text: &str, decimal: Decimal) -> Option<String> {
    let (minus, body) = match text.strip_prefix('-').or_else(|| text.strip_prefix('\u{2212}')) {
        Some(body) => ("-", body),
        None => match text.strip_suffix('-').or_else(|| text.strip_suffix('\u{2212}')) {
            Some(body) => ("-", body),
            None => ("", text),
        },
    };
    let (plus, body) = match body.strip_prefix('+') {
        Some(body) if minus.is_empty() => (true, body),
        Some(_) => return None,
        None => (false, body),
    };
    // This comes before any allocation, because most cells are not numbers.
    if body.len() > 400 || !body.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',')) {
        return None;
    }
    let (mark, group) = match decimal {
        Decimal::Point => ('.', ','),
        Decimal::Comma => (',', '.'),
    };
    let (whole, rest) = match body.split_once(mark) {
        Some((whole, rest)) => (whole, Some(rest)),
        None => (body, None),
    };
    let (fraction, exponent) = match rest {
        Some(rest) => match rest.split_once(['e', 'E']) {
            Some((fraction, exponent)) => (Some(fraction), Some(exponent)),
            None => (Some(rest), None),
        },
        None => (None, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if fraction.is_some_and(|fraction| !digits(fraction)) || plus && fraction.is_none() {
        return None;
    }
    let exponent_digits = exponent.map(|exponent| exponent.trim_start_matches(['+', '-']));
    if exponent_digits.is_some_and(|exponent| !digits(exponent) || exponent.len() > 3) {
        return None;
    }
    let whole = if digits(whole) {
        if whole.len() > 1 && whole.starts_with('0') {
            return None;
        }
        whole.to_owned()
    } else if whole.is_empty() {
        "0".to_owned()
    } else {
        grouped(whole, group)?
    };
    let mut out = format!("{minus}{whole}");
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    if let Some(exponent) = exponent {
        // Not 1.5e+-3.
        if exponent.len() > exponent_digits.map_or(0, str::len) + 1 {
            return None;
        }
        out.push('e');
        out.push_str(exponent);
    }
    Some(out)
}

/// The digits of `1,234,567`.
fn grouped(text: &str, mark: char) -> Option<String> {
    let marks = [mark, ' ', '\u{a0}', '\u{202f}', '\'', '\u{2019}'];
    let used = text.chars().find(|c| marks.contains(c))?;
    let mut groups = text.split(used);
    let first = groups.next()?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !(1..=3).contains(&first.len()) || !digits(first) || first.starts_with('0') {
        return None;
    }
    let mut out = first.to_owned();
    for group in groups {
        if group.len() != 3 || !digits(group) {
            return None;
        }
        out.push_str(group);
    }
    Some(out)
}

/// A time, as precise as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub enum Moment {
    /// A day.
    Day(Date),
    /// A day and a time of day, without a zone.
    Local(DateTime),
    /// A point in time.
    Instant(Timestamp),
}

impl Moment {
    /// The value that orders moments that are written in the same way.
    pub fn order(self) -> DateTime {
        match self {
            Self::Day(day) => day.to_datetime(Time::midnight()),
            Self::Local(at) => at,
            Self::Instant(at) => TimeZone::UTC.to_datetime(at),
        }
    }

    /// Its local time, if it is in the hour that occurred twice when the clocks were put back.
    pub fn twice(self, zone: &TimeZone) -> Option<DateTime> {
        let Self::Local(at) = self else { return None };
        matches!(zone.to_ambiguous_timestamp(at).offset(), AmbiguousOffset::Fold { .. }).then_some(at)
    }

    /// The point in time as RFC 3339, in `zone` if it names none. In an hour that occurred twice it is
    /// the first one, unless it `is_late`.
    pub fn instant(self, zone: &TimeZone, is_late: bool) -> Option<String> {
        let at = match self {
            Self::Instant(at) => at,
            other => {
                let at = zone.to_ambiguous_timestamp(other.order());
                if is_late { at.later() } else { at.compatible() }.ok()?
            }
        };
        Some(at.to_string())
    }
}

/// The time in `text`, with its numbers in this order unless the year comes first.
pub fn moment(text: &str, order: DateOrder) -> Option<Moment> {
    let first = text.as_bytes().first()?;
    if !first.is_ascii_digit() || text.len() > 40 || text.len() < 6 || !text.is_ascii() {
        return moment_in_other_spaces(text, order);
    }
    let at = text.find([' ', 'T', ',']);
    let Some(at) = at else { return date(text, order).map(Moment::Day) };
    let day = date(&text[..at], order)?;
    let rest = text[at..].trim_start_matches([' ', 'T', ',']);
    if rest.is_empty() {
        return None;
    }
    if let Some(time) = time(rest) {
        return Some(Moment::Local(day.to_datetime(time)));
    }
    // A zone: `Z`, `+02:00`, ` UTC`.
    let zone_at = rest.rfind(['Z', '+', '-']).filter(|at| *at > 0);
    let (clock, offset) = match (rest.strip_suffix(" UTC").or_else(|| rest.strip_suffix(" GMT")), zone_at) {
        (Some(clock), _) => (clock, "Z"),
        (None, Some(at)) => rest.split_at(at),
        (None, None) => return None,
    };
    let offset = match (offset.strip_prefix(['+', '-']), offset.len()) {
        (Some(digits), 5) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{}:{}", &offset[..3], &offset[3..])
        }
        _ => offset.to_owned(),
    };
    let local = day.to_datetime(time(clock.trim_end())?);
    format!("{local}{offset}").parse().ok().map(Moment::Instant)
}

/// The same for a text with other spaces than the ordinary one: some programs put a narrow space before AM and
/// PM.
fn moment_in_other_spaces(text: &str, order: DateOrder) -> Option<Moment> {
    if text.len() > 60 || !text.contains(['\u{a0}', '\u{202f}']) {
        return None;
    }
    let plain = text.replace(['\u{a0}', '\u{202f}'], " ");
    plain.is_ascii().then(|| moment(&plain, order)).flatten()
}

fn date(text: &str, order: DateOrder) -> Option<Date> {
    let mark = text.chars().find(|c| !c.is_ascii_digit()).filter(|c| matches!(c, '-' | '/' | '.'))?;
    let mut parts = text.split(mark);
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next()?);
    // `31.12.2026.` and the like.
    if parts.next().is_some_and(|rest| !rest.is_empty()) || parts.next().is_some() {
        return None;
    }
    let number = |text: &str, most: usize| -> Option<i16> {
        (!text.is_empty() && text.len() <= most && text.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| text.parse().ok())
            .flatten()
    };
    let year = |text: &str| -> Option<i16> {
        match text.len() {
            4 => number(text, 4),
            2 => number(text, 2).map(|year| if year < 70 { 2000 + year } else { 1900 + year }),
            _ => None,
        }
    };
    let (year, month, day) = if first.len() == 4 || order == DateOrder::YearMonthDay {
        (year(first)?, number(second, 2)?, number(third, 2)?)
    } else {
        let (one, two) = (number(first, 2)?, number(second, 2)?);
        let (day, month) = if order == DateOrder::DayMonthYear { (one, two) } else { (two, one) };
        (year(third)?, month, day)
    };
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// `9:05`, `09:05:30.25`, `9:05 PM`.
fn time(text: &str) -> Option<Time> {
    let upper = text.to_ascii_uppercase();
    let (clock, half) = if let Some(clock) = upper.strip_suffix("AM").or_else(|| upper.strip_suffix("A.M.")) {
        (clock.trim_end(), Some(0))
    } else if let Some(clock) = upper.strip_suffix("PM").or_else(|| upper.strip_suffix("P.M.")) {
        (clock.trim_end(), Some(12))
    } else {
        (upper.as_str(), None)
    };
    let mut parts = clock.splitn(3, ':');
    let number = |text: &str| -> Option<i8> {
        (matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| text.parse().ok())
            .flatten()
    };
    let mut hour = number(parts.next()?)?;
    let minute = number(parts.next()?)?;
    let (second, nanos) = match parts.next() {
        None => (0, 0),
        Some(second) => match second.split_once(['.', ',']) {
            None => (number(second)?, 0),
            Some((second, fraction)) => {
                if fraction.is_empty()
                    || fraction.len() > 9
                    || !fraction.bytes().all(|byte| byte.is_ascii_digit())
                {
                    return None;
                }
                (number(second)?, format!("{fraction:0<9}").parse().ok()?)
            }
        },
    };
    if let Some(half) = half {
        if !(1..=12).contains(&hour) {
            return None;
        }
        hour = hour % 12 + half;
    }
    Time::new(hour, minute, second.min(59), nanos).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_digit_for_digit() {
        let point = |text| number(text, Decimal::Point);
        let comma = |text| number(text, Decimal::Comma);
        for (text, expected) in [
            ("0", Some("0")),
            ("-12.50", Some("-12.50")),
            ("\u{2212}3", Some("-3")),
            ("1,234,567.890", Some("1234567.890")),
            ("1 234.5", Some("1234.5")),
            ("1\u{202f}234", Some("1234")),
            (".5", Some("0.5")),
            ("1.5e+10", Some("1.5e+10")),
            ("123456789012345678901234567890", Some("123456789012345678901234567890")),
            ("007", None),
            ("+49", None),
            ("1E5", None),
            ("1.5e+-3", None),
            ("1,23", None),
            ("0,123", None),
            ("1,2345", None),
            ("5.", None),
            ("1.2.3", None),
            ("", None),
            ("-", None),
            ("12 EUR", None),
            ("NaN", None),
        ] {
            assert_eq!(point(text).as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("1,234.50-", Some("-1234.50")),
            ("12\u{2212}", Some("-12")),
            ("+1,234.50", Some("1234.50")),
            ("1'234.50", Some("1234.50")),
            ("1’234’567.50", Some("1234567.50")),
            ("+5", None),
            ("-5-", None),
            ("-+5.0", None),
            ("+-5.0", None),
            ("5--", None),
        ] {
            assert_eq!(point(text).as_deref(), expected, "{text}");
        }
        assert_eq!(comma("1 234,50-").as_deref(), Some("-1234.50"));
        assert_eq!(comma("1.234,56").as_deref(), Some("1234.56"));
        assert_eq!(comma("-0,5").as_deref(), Some("-0.5"));
        assert_eq!(comma("1.234").as_deref(), Some("1234"));
        assert_eq!(comma("12.5"), None);
    }

    #[test]
    fn amounts_may_name_a_currency() {
        for (text, decimal, expected) in [
            ("1.234,50 €", Decimal::Comma, Some(("1234.50", "€"))),
            ("€ 1.234,50", Decimal::Comma, Some(("1234.50", "€"))),
            ("-€1.234,50", Decimal::Comma, Some(("-1234.50", "€"))),
            ("1.234,50- EUR", Decimal::Comma, Some(("-1234.50", "EUR"))),
            ("-1.234,50 EUR", Decimal::Comma, Some(("-1234.50", "EUR"))),
            ("CHF 1'234.50", Decimal::Point, Some(("1234.50", "CHF"))),
            ("$1,234.50", Decimal::Point, Some(("1234.50", "$"))),
            ("US$ 1,234.50", Decimal::Point, Some(("1234.50", "US$"))),
            ("$-5.00", Decimal::Point, Some(("-5.00", "$"))),
            ("1 234,50\u{a0}zł", Decimal::Comma, Some(("1234.50", "zł"))),
            ("kr 12,00", Decimal::Comma, Some(("12.00", "kr"))),
            ("12", Decimal::Point, Some(("12", ""))),
            ("EUR", Decimal::Point, None),
            ("$", Decimal::Point, None),
            ("--5", Decimal::Point, None),
            ("-$-5", Decimal::Point, None),
            ("12 apples", Decimal::Point, None),
            ("Order 12", Decimal::Point, None),
        ] {
            let found = money(text, decimal);
            let found = found.as_ref().map(|(number, currency)| (number.as_str(), *currency));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn times_are_read_in_each_order() {
        use DateOrder::{DayMonthYear, MonthDayYear, YearMonthDay};
        let of = |text: &str, order| moment(text, order).and_then(|at| at.instant(&TimeZone::UTC, false));
        for (text, order, expected) in [
            ("2026-12-31", MonthDayYear, Some("2026-12-31T00:00:00Z")),
            ("2026/1/2", MonthDayYear, Some("2026-01-02T00:00:00Z")),
            ("31.12.2026", DayMonthYear, Some("2026-12-31T00:00:00Z")),
            ("31.12.2026", MonthDayYear, None),
            ("1/2/26", MonthDayYear, Some("2026-01-02T00:00:00Z")),
            ("26/12/31", YearMonthDay, Some("2026-12-31T00:00:00Z")),
            ("31/12/1999 23:59", DayMonthYear, Some("1999-12-31T23:59:00Z")),
            ("12/31/2026, 12:05:06 AM", MonthDayYear, Some("2026-12-31T00:05:06Z")),
            ("12/31/2026 12:05\u{202f}PM", MonthDayYear, Some("2026-12-31T12:05:00Z")),
            ("2026-01-02T10:00:00.25+02:00", DayMonthYear, Some("2026-01-02T08:00:00.25Z")),
            ("2026-01-02 10:00:00 +0200", DayMonthYear, Some("2026-01-02T08:00:00Z")),
            ("2026-01-02 10:00:00 UTC", DayMonthYear, Some("2026-01-02T10:00:00Z")),
            ("20260102", DayMonthYear, None),
            ("1.2.3", DayMonthYear, None),
            ("192.168.1.1", DayMonthYear, None),
            ("30/02/2026", DayMonthYear, None),
            ("2026-01-02 ", DayMonthYear, None),
            ("2026-01-02 25:00", DayMonthYear, None),
        ] {
            assert_eq!(of(text, order).as_deref(), expected, "{text}");
        }
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let summer = moment("2026-07-01 10:00", DayMonthYear).unwrap();
        assert_eq!(summer.instant(&berlin, false).as_deref(), Some("2026-07-01T08:00:00Z"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_not(text in "\\PC*|[0-9TZ:+/., -]{0,30}") {
            for order in [DateOrder::DayMonthYear, DateOrder::MonthDayYear, DateOrder::YearMonthDay] {
                moment(&text, order);
            }
            for decimal in [Decimal::Point, Decimal::Comma] {
                if let Some((number, _)) = money(&text, decimal) {
                    prop_assert!(serde_json::from_str::<serde_json::Number>(&number).is_ok(), "{number}");
                }
            }
        }
    }
}
