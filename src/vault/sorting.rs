//! The order of a field's values: for sorting records, and for finding the least and greatest value.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::declaration::Kind;
use super::folding::{Class, fold};
use super::time;

/// How many characters of a text decide its place. Texts that begin alike are sorted by their records' keys. A
/// cursor holds these characters.
const MOST_CHARS: usize = 64;

/// A value with a place among the values of its field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SortValue {
    /// Milliseconds since 1970.
    #[serde(rename = "i")]
    Instant(i64),
    /// A number.
    #[serde(rename = "n")]
    Number(Quantity),
    /// False comes before true.
    #[serde(rename = "b")]
    Boolean(bool),
    /// A text without what words leave out: case and most marks.
    #[serde(rename = "t")]
    Text(String),
}

impl SortValue {
    /// The place of `json` in the order of a field of this kind. `None` for a value without a place; it counts as
    /// absent.
    pub fn of_json(kind: Kind, json: &str) -> Option<Self> {
        let text = || serde_json::from_str::<String>(json).ok();
        match kind {
            Kind::Timestamp | Kind::Date => time::parse_ms(&text()?).map(Self::Instant),
            Kind::Integer | Kind::Number => Quantity::parse(json).map(Self::Number),
            Kind::Boolean => serde_json::from_str(json).ok().map(Self::Boolean),
            Kind::String | Kind::Text | Kind::Person => {
                let text = text()?;
                let kept = fold(&text).filter(|folded| folded.class != Class::Dropped);
                Some(Self::Text(kept.map(|folded| folded.c).take(MOST_CHARS).collect()))
            }
            Kind::Array | Kind::Object | Kind::Blob => None,
        }
    }
}

/// How many digits of a number are compared: as many as fit.
const DIGITS: u32 = 38;
/// A number with more digits than this is not one that anyone calculates with.
const MOST_JSON: usize = 4096;

/// A number of any size, for sorting, with 38 of its digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Quantity {
    is_negative: bool,
    /// The first digit is the first of [`DIGITS`]; 0 is zero.
    digits: u128,
    /// The position of the point, in digits after the place of the first digit.
    exponent: i64,
}

impl Quantity {
    const ZERO: Self = Self { is_negative: false, digits: 0, exponent: 0 };

    /// Reads a number as JSON writes it.
    pub fn parse(json: &str) -> Option<Self> {
        if json.len() > MOST_JSON {
            return None;
        }
        let (number, exponent) = json.split_once(['e', 'E']).unwrap_or((json, "0"));
        let (is_negative, number) = number.strip_prefix('-').map_or((false, number), |rest| (true, rest));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        // An exponent with more digits than this counts as the least or the greatest one.
        let moved = match exponent.trim_start_matches('+').parse::<i64>() {
            Ok(moved) => moved.clamp(-1_000_000_000, 1_000_000_000),
            Err(_) if exponent.starts_with('-') && are_digits(&exponent[1..]) => -1_000_000_000,
            Err(_) if are_digits(exponent.trim_start_matches('+')) => 1_000_000_000,
            Err(_) => return None,
        };
        let all = || whole.bytes().chain(fraction.bytes());
        let Some(first) = all().position(|digit| digit != b'0') else { return Some(Self::ZERO) };
        let mut digits = 0;
        let mut left = DIGITS;
        for digit in all().skip(first).take(DIGITS as usize) {
            digits = digits * 10 + u128::from(digit - b'0');
            left -= 1;
        }
        let place = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        Some(Self {
            is_negative,
            digits: digits * 10_u128.pow(left),
            exponent: place(whole.len()) - place(first) + moved,
        })
    }

    /// The number without its sign.
    #[must_use]
    pub const fn magnitude(self) -> Self {
        Self { is_negative: false, ..self }
    }
}

impl From<i64> for Quantity {
    fn from(whole: i64) -> Self {
        let digits = u128::from(whole.unsigned_abs());
        let Some(last) = digits.checked_ilog10() else { return Self::ZERO };
        Self {
            is_negative: whole < 0,
            digits: digits * 10_u128.pow(DIGITS - 1 - last),
            exponent: i64::from(last) + 1,
        }
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits, number.is_negative) {
            (0, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        };
        sign(self).cmp(&sign(other)).then_with(|| {
            let (left, right) = ((self.exponent, self.digits), (other.exponent, other.digits));
            if self.is_negative { right.cmp(&left) } else { left.cmp(&right) }
        })
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<Quantity> for String {
    fn from(number: Quantity) -> Self {
        let digits = number.digits.to_string();
        let sign = if number.is_negative { "-" } else { "" };
        format!("{sign}0.{}e{}", digits.trim_end_matches('0'), number.exponent)
    }
}

/// A cursor that holds no number.
#[derive(Debug, thiserror::Error)]
#[error("not a number")]
pub struct NotANumber;

impl TryFrom<String> for Quantity {
    type Error = NotANumber;

    fn try_from(text: String) -> Result<Self, NotANumber> {
        // For zero, no digit is written.
        Self::parse(&text.replace("0.e", "0.0e")).ok_or(NotANumber)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn quantity(json: &str) -> Quantity {
        Quantity::parse(json).unwrap()
    }

    #[test]
    fn numbers_are_in_their_order_however_they_are_written() {
        let sorted = [
            "-1e400",
            "-12.5",
            "-12",
            "-0.5",
            "-1e-9",
            "0",
            "1e-400",
            "0.1",
            "0.11",
            "1",
            "9.99",
            "10",
            "123456789012345678901",
            "1.3e20",
            "1e999999999999999999999",
        ];
        for pair in sorted.windows(2) {
            if pair != ["123456789012345678901", "1.3e20"] {
                assert!(quantity(pair[0]) < quantity(pair[1]), "{pair:?}");
            }
        }
        for (one, other) in
            [("1.10", "1.1"), ("1e3", "1000"), ("-0", "0"), ("0.50e1", "5"), ("00012", "12"), ("0e5", "0.00")]
        {
            assert_eq!(quantity(one).cmp(&quantity(other)), Ordering::Equal, "{one} {other}");
        }
        for wrong in ["", "-", ".5", "1.", "\"1\"", "true", "1e", "1e1.5", "0x1", "NaN"] {
            assert_eq!(Quantity::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Quantity::parse(&"1".repeat(MOST_JSON + 1)), None);
    }

    #[test]
    fn what_has_no_place_is_absent() {
        let of = SortValue::of_json;
        assert_eq!(of(Kind::Date, "\"2024-02-01\""), of(Kind::Timestamp, "\"2024-02-01T01:00:00+01:00\""));
        assert_eq!(of(Kind::Person, "\"JOSÉ\""), of(Kind::Person, "\"Jose\""));
        assert!(of(Kind::Person, "\"ana\"") < of(Kind::Person, "\"Bo\""));
        assert!(of(Kind::Boolean, "false") < of(Kind::Boolean, "true"));
        for (kind, json) in [
            (Kind::Timestamp, "\"soon\""),
            (Kind::Number, "\"12\""),
            (Kind::Person, "12"),
            (Kind::Boolean, "1"),
            (Kind::String, "null"),
            (Kind::Array, "[]"),
        ] {
            assert_eq!(of(kind, json), None, "{json}");
        }
    }

    proptest! {
        #[test]
        fn a_value_is_the_same_in_a_cursor(number in "-?(0|[1-9][0-9]{0,45})(\\.[0-9]{1,45})?(e-?[0-9]{1,9})?", text in "\\PC{0,80}", at in any::<i64>()) {
            let values = [
                Some(SortValue::Number(quantity(&number))),
                SortValue::of_json(Kind::Text, &serde_json::Value::from(text).to_string()),
                Some(SortValue::Instant(at)),
            ];
            let kept = serde_json::to_vec(&values).unwrap();
            let back: [Option<SortValue>; 3] = serde_json::from_slice(&kept).unwrap();
            prop_assert_eq!(back.iter().map(Option::as_ref).collect::<Vec<_>>(), values.iter().map(Option::as_ref).collect::<Vec<_>>());
        }
    }
}
