//! Numbers as written: whether a double, which most readers of JSON use, keeps their digits.

/// Whether a double holds the exact value of the JSON number `text`, and is written with the same digits again.
pub fn is_held_by_a_double(text: &str) -> bool {
    // A double holds every number of 15 digits.
    if text.len() <= 15 && !text.contains(['e', 'E']) {
        return true;
    }
    // Of whole numbers of 16 digits, a double holds those that fit in 53 bits.
    if let Ok(whole) = text.parse::<i64>().map(i64::unsigned_abs)
        && whole < 10_u64.pow(16)
    {
        return whole.leading_zeros() + whole.trailing_zeros() >= 11;
    }
    let Ok(double) = text.parse::<f64>() else { return false };
    double.is_finite() && parts(text) == parts(&format!("{double:e}"))
}

/// A number's sign, its digits without zeros around them, and the power of ten of the first one.
fn parts(text: &str) -> Option<(bool, String, i64)> {
    let (text, is_negative) = text.strip_prefix('-').map_or((text, false), |rest| (rest, true));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent = exponent.strip_prefix('+').unwrap_or(exponent).parse::<i64>().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Some((is_negative, String::new(), 0));
    }
    let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
    let power = exponent.checked_add(i64::try_from(whole.len()).ok()?)?.checked_sub(zeros)?;
    Some((is_negative, significant.trim_end_matches('0').to_owned(), power))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_double_holds_and_what_it_rounds() {
        for held in [
            "0",
            "-0.0",
            "1.10",
            "0.1",
            "9007199254740991",
            "1e20",
            "100000000000000000000",
            "-2.5E-7",
            "0.30000000000000004",
        ] {
            assert!(is_held_by_a_double(held), "{held}");
        }
        for rounded in [
            "9007199254740993",
            "10440000000000000391",
            "1152921504606846976",
            "0.12345678901234567891",
            "1e400",
            "-1E-400",
            "1e99999999999999999999",
        ] {
            assert!(!is_held_by_a_double(rounded), "{rounded}");
        }
    }

    proptest! {
        #[test]
        fn every_double_and_every_safe_integer_is_held(double in any::<f64>(), integer in -(1i64 << 53) + 1..(1i64 << 53)) {
            prop_assume!(double.is_finite());
            // Written by the same rule: if a double has two shortest spellings, the other one counts as rounded.
            let written = format!("{double:e}");
            prop_assert!(is_held_by_a_double(&written));
            prop_assert!(is_held_by_a_double(&integer.to_string()));
        }

        #[test]
        fn a_whole_number_is_held_where_its_digits_come_back(whole in -(10i64.pow(17))..10i64.pow(17), zeros in 0u32..17) {
            let text = (whole / 10i64.pow(zeros) * 10i64.pow(zeros)).to_string();
            let double = text.parse::<f64>().unwrap();
            prop_assert_eq!(is_held_by_a_double(&text), parts(&text) == parts(&format!("{double:e}")));
        }

        #[test]
        fn a_number_of_fifteen_digits_is_held(text in "-?(0|[1-9][0-9]{0,7})(\\.[0-9]{1,7})?") {
            let double = text.parse::<f64>().unwrap();
            prop_assume!(text.len() <= 15);
            prop_assert!(is_held_by_a_double(&text));
            prop_assert_eq!(parts(&text), parts(&format!("{double:e}")));
        }
    }
}
