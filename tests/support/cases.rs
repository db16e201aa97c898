//! How much is left to chance.

/// How many random cases a test tries, or how many rounds of a race it plays: `few` in a run that somebody waits for;
/// `PROPTEST_CASES` asks for another number, and `.ci/run` for many.
pub fn cases(few: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(few)
}
