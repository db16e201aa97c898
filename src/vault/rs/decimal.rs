//! Decimal numbers of up to 38 digits, added and compared exactly, because money is not a double.

use std::cmp::Ordering;

/// A decimal number as JSON writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    /// The digits, as a whole number.
    digits: i128,
    /// How many of them are after the point.
    scale: u32,
}

/// A number of at most this many bytes fits 64 bits, and its places fit a [`Decimal`].
const PLAIN: usize = 17;
/// The maximum number of digits after the point. A number with more is not a [`Decimal`].
const MAX_SCALE: u32 = 18;

impl Decimal {
    /// Zero.
    pub const ZERO: Self = Self { digits: 0, scale: 0 };

    /// A whole number.
    pub const fn whole(digits: i128) -> Self {
        Self { digits, scale: 0 }
    }

    /// Reads a JSON number; `None` for one that does not fit.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() <= PLAIN
            && let Some(plain) = Self::parse_plain(text)
        {
            return Some(plain);
        }
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.trim_start_matches('-').is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mut digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let mut scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent.parse().ok()?)?;
        // `1.50e1` is 15, and `1500e-20` has no more than 18 places.
        while scale > 0 && exponent != "0" && digits % 10 == 0 {
            (digits, scale) = if digits == 0 { (0, 0) } else { (digits / 10, scale - 1) };
        }
        if scale < 0 {
            digits = if digits == 0 {
                0
            } else {
                digits.checked_mul(10_i128.checked_pow(scale.unsigned_abs())?)?
            };
            scale = 0;
        }
        let scale = u32::try_from(scale).ok().filter(|scale| *scale <= MAX_SCALE)?;
        // Leaves room for a sum of many numbers, at the largest scale.
        (digits.unsigned_abs() < 10_u128.pow(28)).then_some(Self { digits, scale })
    }

    /// Does the same for the form that most numbers have: few digits and no exponent.
    fn parse_plain(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let (mut number, mut scale, mut is_fraction) = (0_i64, 0, false);
        for byte in digits.bytes() {
            match byte {
                b'0'..=b'9' => {
                    number = number * 10 + i64::from(byte - b'0');
                    scale += u32::from(is_fraction);
                }
                b'.' if !is_fraction => is_fraction = true,
                _ => return None,
            }
        }
        let is_number = digits.starts_with(|first: char| first.is_ascii_digit());
        let digits = i128::from(if digits.len() < text.len() { -number } else { number });
        is_number.then_some(Self { digits, scale })
    }

    /// The sum; `None` if it does not fit.
    pub fn plus(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let digits = self.at(scale)?.checked_add(other.at(scale)?)?;
        Some(Self { digits, scale })
    }

    /// This number `count` times; `None` if it does not fit.
    pub fn times(self, count: u64) -> Option<Self> {
        Some(Self { digits: self.digits.checked_mul(i128::from(count))?, scale: self.scale })
    }

    fn at(self, scale: u32) -> Option<i128> {
        self.digits.checked_mul(10_i128.checked_pow(scale - self.scale)?)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let scale = self.scale.max(other.scale);
        match (self.at(scale), other.at(scale)) {
            (Some(left), Some(right)) => left.cmp(&right),
            // 28 digits at 18 places always fit. This case makes the order total for the type's sake.
            _ => self.digits.signum().cmp(&other.digits.signum()),
        }
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.scale == 0 {
            return write!(f, "{}", self.digits);
        }
        let unit = 10_u128.pow(self.scale);
        let digits = self.digits.unsigned_abs();
        let sign = if self.digits < 0 { "-" } else { "" };
        write!(f, "{sign}{}.{:0width$}", digits / unit, digits % unit, width = self.scale as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::sorting::Quantity;
    use proptest::prelude::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn cents_add_up() {
        assert_eq!(decimal("1.10").plus(decimal("2.2")).unwrap().to_string(), "3.30");
        assert_eq!(decimal("-0.05").plus(decimal("0.01")).unwrap().to_string(), "-0.04");
        assert_eq!(decimal("9007199254740993").times(2).unwrap().to_string(), "18014398509481986");
        assert!(decimal("1.10") == Decimal { digits: 110, scale: 2 } && decimal("-2") < decimal("-1.99"));
        for (text, value) in [
            ("1e5", "100000"),
            ("1.50e1", "15"),
            ("-2.5E-3", "-0.0025"),
            ("1500e-20", "0.000000000000000015"),
            ("0e99", "0"),
            ("12e+1", "120"),
        ] {
            assert_eq!(decimal(text).to_string(), value, "{text}");
        }
        for bad in [
            "1e",
            "1e28",
            "1e-19",
            "1e99999999999",
            "1e-99999999999",
            "",
            "-",
            ".5x",
            "1.0000000000000000000",
            "99999999999999999999999999999",
        ] {
            assert_eq!(Decimal::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn an_exponent_moves_the_point(digits in -99_999_i64..99_999, exponent in -10_i32..10) {
            let moved = decimal(&format!("{digits}e{exponent}"));
            let back = decimal(&format!("1e{}", -exponent));
            let whole = moved.to_string().parse::<f64>().unwrap() * back.to_string().parse::<f64>().unwrap();
            #[allow(clippy::cast_precision_loss, reason = "five digits")]
            let digits = digits as f64;
            prop_assert!((whole - digits).abs() < 1e-6);
        }

        #[test]
        fn a_number_reads_alike_whether_it_is_short_or_not(text in "-?[0-9]{0,9}\\.?[0-9]{0,9}") {
            // A text that is longer than the short form is parsed the long way.
            let long = Decimal::parse(&format!("{text}e{:010}", 0));
            let same = |of: Option<Decimal>| of.map(|of| (of.digits.signum(), of.to_string().parse::<f64>().unwrap().to_bits()));
            prop_assert_eq!(same(Decimal::parse(&text)), same(long), "{}", text);
        }

        #[test]
        fn quantities_compare_as_decimals_do(numbers in prop::collection::vec((any::<i64>(), 0_u32..9), 2)) {
            let text = |(digits, scale): &(i64, u32)| {
                let sign = if *digits < 0 { "-" } else { "" };
                let (unit, digits) = (10_u64.pow(*scale), digits.unsigned_abs());
                format!("{sign}{}.{:0width$}", digits / unit, digits % unit, width = *scale as usize + 1)
            };
            let (left, right) = (text(&numbers[0]), text(&numbers[1]));
            let decimals = Decimal::parse(&left).unwrap().cmp(&Decimal::parse(&right).unwrap());
            prop_assert_eq!(Quantity::parse(&left).cmp(&Quantity::parse(&right)), decimals);
            let whole = numbers[0].0;
            prop_assert_eq!(Quantity::from(whole), Quantity::parse(&whole.to_string()).unwrap());
        }

        #[test]
        fn what_is_read_is_written(whole in -1_000_000_i64..1_000_000, cents in 0_u32..100) {
            let text = format!("{whole}.{cents:02}");
            prop_assert_eq!(Decimal::parse(&text).unwrap().to_string(), text);
        }
    }
}
