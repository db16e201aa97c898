//! The ends of access that the owner can pick.

/// A day in milliseconds.
pub const DAY_MS: i64 = 86_400_000;
/// The value, label and milliseconds of each end that the owner can pick.
pub const ENDS: [(&str, &str, i64); 5] = [
    ("1h", "1 hour", 3_600_000),
    ("1d", "1 day", DAY_MS),
    ("7d", "7 days", 7 * DAY_MS),
    ("30d", "30 days", 30 * DAY_MS),
    ("365d", "1 year", MAX_MS),
];
/// The latest end that can be picked, including the app's own wish.
pub const MAX_MS: i64 = 365 * DAY_MS;
/// The usual end: its value and milliseconds.
const USUAL: (&str, i64) = ("30d", 30 * DAY_MS);
/// The usual end for one-time access.
const USUAL_ONCE: (&str, i64) = ("1d", DAY_MS);
/// The value for the end that the app wishes.
pub const ASKED: &str = "asked";

/// The end that the app wishes, if it can be picked.
pub fn wished(wish_ms: Option<i64>, now_ms: i64) -> Option<i64> {
    wish_ms.filter(|wished| *wished <= now_ms + MAX_MS)
}

/// The end that is picked at first: the usual end, or the app's wish if that is sooner. A wish never makes it later
/// (O7.8).
pub fn beforehand(wish_ms: Option<i64>, single_use: bool, now_ms: i64) -> &'static str {
    let (usual, lasts) = if single_use { USUAL_ONCE } else { USUAL };
    if wished(wish_ms, now_ms).is_some_and(|wished| wished < now_ms + lasts) { ASKED } else { usual }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o7_8_a_wish_is_picked_beforehand_only_where_it_is_sooner() {
        for (wish, single_use, picked) in [
            (None, false, "30d"),
            (None, true, "1d"),
            (Some(DAY_MS / 2), false, ASKED),
            (Some(2 * DAY_MS), true, "1d"),
            (Some(31 * DAY_MS), false, "30d"),
            (Some(400 * DAY_MS), false, "30d"),
        ] {
            assert_eq!(beforehand(wish, single_use, 0), picked, "{wish:?}");
        }
    }
}
