//! When access can end, as the owner picks it.

/// A day in milliseconds.
pub const DAY_MS: i64 = 86_400_000;
/// Value, label and milliseconds of the ends that the owner can pick.
pub const ENDS: [(&str, &str, i64); 5] = [
    ("1h", "1 hour", 3_600_000),
    ("1d", "1 day", DAY_MS),
    ("7d", "7 days", 7 * DAY_MS),
    ("30d", "30 days", 30 * DAY_MS),
    ("365d", "1 year", MAX_MS),
];
/// The furthest that can be picked, the app's own wish included.
pub const MAX_MS: i64 = 365 * DAY_MS;
/// The usual one's value.
pub const USUAL: &str = "30d";
/// The end that the app wishes; never picked beforehand.
pub const ASKED: &str = "asked";
