//! How many random cases to run.

/// How many random cases a test tries, or how many rounds of a race it runs: `few` in a run that a person waits for;
/// `PROPTEST_CASES` sets another number, and `.ci/run` sets a large one.
pub fn cases(few: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(few)
}
