//! Which test proves which requirement: a test's name begins with the requirement's number (`r3_4_…`), and
//! docs/requirements.md is the table of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Requirements that have no test yet: the table marks them, and their first test removes them from this list.
const NOT_YET: [&str; 0] = [];

#[test]
fn every_requirement_is_held_by_a_test_and_the_generated_table_says_which() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tests = tests_by_requirement(root);
    let statements = std::fs::read_to_string(root.join("docs/requirements.tsv")).unwrap();
    let mut table = "# What is required, and which test proves it\n\nFor auditors and contributors. Generated from \
        `docs/requirements.tsv` and the names of the tests; `UPDATE_GENERATED=1 cargo test generated` writes this page.\n\n\
        | Number | Requirement | Tests |\n| --- | --- | --- |\n"
        .to_owned();
    let mut without = Vec::new();
    for line in statements.lines() {
        let (id, statement) = line.split_once('\t').unwrap();
        let held = tests.get(id).map(|names| names.join(", ")).unwrap_or_default();
        if held.is_empty() {
            without.push(id);
        }
        let held = if held.is_empty() { "not yet".to_owned() } else { held };
        table.push_str(&format!("| {id} | {statement} | {held} |\n"));
    }
    assert_eq!(without, NOT_YET, "requirements without a test");
    let unknown =
        tests.keys().filter(|id| !statements.lines().any(|line| line.starts_with(&format!("{id}\t"))));
    assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&String>::new(), "tests that name no requirement");

    let path = root.join("docs/requirements.md");
    if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| !value.is_empty()) {
        std::fs::write(&path, &table).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == table,
        "docs/requirements.md is out of date: UPDATE_GENERATED=1 cargo test generated"
    );
}

/// Maps a requirement, such as `R3.4`, to the tests whose names begin with it.
fn tests_by_requirement(root: &Path) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in rust_files(&root.join("src")).into_iter().chain(rust_files(&root.join("tests"))) {
        let text = std::fs::read_to_string(&file).unwrap();
        // Attributes come before their function. A test that does not run proves nothing.
        let (mut is_test, mut is_ignored) = (false, false);
        for line in text.lines() {
            let line = line.trim_start();
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            is_ignored |= line.starts_with("#[ignore");
            let function = line.trim_start_matches("pub ").trim_start_matches("async ").strip_prefix("fn ");
            let Some(function) = function else { continue };
            let runs = std::mem::take(&mut is_test) && !std::mem::take(&mut is_ignored);
            let name = function.split('(').next().unwrap_or_default();
            for chapters in ['r', 'o'] {
                let Some(numbers) = name.strip_prefix(chapters).filter(|_| runs) else { continue };
                for id in ids(chapters, numbers) {
                    found.entry(id).or_default().push(format!("`{name}`"));
                }
            }
        }
    }
    for names in found.values_mut() {
        names.sort();
        names.dedup();
    }
    found
}

/// The requirements at the start of a name without its first letter: `3_40_r3_41_a_document` → R3.40, R3.41.
fn ids(chapters: char, name: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut parts = name.split('_').peekable();
    while let Some(chapter) = parts.next() {
        let chapter = chapter.strip_prefix(chapters).unwrap_or(chapter);
        let (Ok(chapter), Some(Ok(number))) =
            (chapter.parse::<u8>(), parts.peek().map(|part| part.parse::<u8>()))
        else {
            break;
        };
        ids.push(format!("{}{chapter}.{number}", chapters.to_ascii_uppercase()));
        parts.next();
    }
    ids
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn names_are_read_as_numbers() {
    assert_eq!(ids('r', "3_40_r3_41_a_document"), ["R3.40", "R3.41"]);
    assert_eq!(ids('r', "1_8_an_idle_server"), ["R1.8"]);
    assert_eq!(ids('o', "7_11_a_link"), ["O7.11"]);
    assert_eq!(ids('r', "ows_come_in_order"), Vec::<String>::new());
}
