//! `pdpp import` through the binary: its messages, its results, and that nothing is lost, whatever happens to it.

mod archives;
mod interrupted;
mod read;
mod refreshed;
mod refused;

use std::path::{Path, PathBuf};

use pdpp::vault::store::word_index;
use pdpp::vault::words::{Query, Tag};
use serde_json::Value;

use crate::support::env::{Ran, TestEnv};

/// A HOME, and a separate folder of exports.
struct Desk {
    env: TestEnv,
    exports: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Self { env: TestEnv::new(), exports: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.exports.path().join(name)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn own(&self) -> PathBuf {
        self.env.cache_dir().join("own")
    }

    fn run(&self, path: &Path, more: &[&str]) -> Ran {
        let mut arguments = vec!["import", path.to_str().unwrap()];
        arguments.extend(more);
        self.env.run(&arguments)
    }

    /// Imports, and returns the counts of the only source: read, new, changed, same.
    fn import(&self, path: &Path) -> [u64; 4] {
        let ran = self.run(path, &["--yes", "--json"]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        counts(&json(&ran)["sources"][0])
    }

    /// All records with their places, and the results of a search.
    fn content(&self) -> Vec<String> {
        let store = pdpp::own::open_store(&self.own()).unwrap();
        store
            .read::<_, rusqlite::Error>(|db, _| {
                let mut all = db.prepare(
                    "SELECT s.connection || ' ' || s.stream || ' ' || r.key || ' ' || whole(r.data, r.packed) FROM record r
                     JOIN slot s ON s.slot = r.slot WHERE r.data IS NOT NULL ORDER BY 1",
                )?;
                let mut content: Vec<String> =
                    all.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
                let mut slots = db.prepare("SELECT DISTINCT slot FROM text_field ORDER BY slot")?;
                for slot in slots.query_map([], |row| row.get::<_, i64>(0))? {
                    let slot = slot?;
                    let mut key = db.prepare("SELECT key FROM record WHERE rid = ?1")?;
                    // The word in the slot's first field, and in its second.
                    for tag in [0, 1].map(|number| Tag::new(number).unwrap()) {
                        let hits = word_index::find(db, slot, &Query::parse("needle"), &[(tag, false)])?.all;
                        let keys = hits.iter().map(|row| key.query_row([row], |row| row.get::<_, String>(0)));
                        let mut keys = keys.collect::<Result<Vec<_>, _>>()?;
                        keys.sort();
                        content.push(keys.join(" "));
                    }
                }
                content.push(db.query_row("PRAGMA integrity_check", [], |row| row.get(0))?);
                Ok(content)
            })
            .unwrap()
    }
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr))
}

fn counts(source: &Value) -> [u64; 4] {
    ["read", "new", "changed", "same"].map(|name| source[name].as_u64().unwrap())
}

/// A table with this many rows; every hundredth has a needle in it.
fn table(rows: usize) -> String {
    let mut text = String::from("id,date,text\n");
    for row in 0..rows {
        let word = if row % 100 == 0 { "needle" } else { "hay" };
        text += &format!("{row},2026-01-{:02},number {row} with {word} and more words\n", row % 28 + 1);
    }
    text
}

#[test]
fn o4_4_the_summary_adds_up_and_a_second_import_changes_nothing() {
    let desk = Desk::new();
    let path = desk.file("a.csv", table(2500));
    let ran = desk.run(&path, &["--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("2,500 read = 2,500 new + 0 changed + 0 same + 0 skipped + 0 bad"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.ends_with("Next: pdpp connect local\n"), "{}", ran.stdout);
    let content = desk.content();
    assert_eq!(desk.import(&path), [2500, 0, 0, 2500]);
    // A touched file is read again, and its records are unchanged.
    std::fs::write(&path, table(2500)).unwrap();
    assert_eq!(desk.import(&path), [2500, 0, 0, 2500]);
    assert_eq!(desk.content(), content);
    std::fs::write(&path, table(2600)).unwrap();
    assert_eq!(desk.import(&path), [2600, 100, 0, 2500]);
    // Without a path, it is found again.
    let ran = desk.env.run(&["import", "--yes", "--json"]);
    assert_eq!(counts(&json(&ran)["sources"][0]), [2600, 0, 0, 2600], "{}", ran.stderr);
}

#[test]
fn o4_4_the_size_of_the_store_is_what_stays_on_the_disk() {
    let desk = Desk::new();
    let path = desk.file("a.csv", table(9_000));
    let told = json(&desk.run(&path, &["--yes", "--json"]));
    let files = std::fs::read_dir(desk.own()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    assert_eq!(told["store_bytes"], files.sum::<u64>(), "{told}");
}

#[test]
fn o2_1_a_source_keeps_its_account_when_it_is_read_again() {
    let desk = Desk::new();
    let path = desk.file("a.csv", table(5));
    desk.run(&path, &["--yes", "--account", "mine"]);
    let content = desk.content();
    let ran = desk.env.run(&["import", "--yes", "--json"]);
    assert_eq!(json(&ran)["sources"][0]["account"], "mine", "{}", ran.stderr);
    assert_eq!(desk.content(), content);
}

/// A mailbox of mails that were delivered to `owner`.
fn mailbox(owner: &str, mails: usize) -> String {
    let mail = |at: usize| {
        format!(
            "From eva@example.org Tue Jan  2 03:04:05 2024\nFrom: eva@example.org\nDelivered-To: {owner}\n\
             Subject: mail {at} to {owner}\nDate: Tue, 2 Jan 2024 03:04:{:02} +0000\n\nHello.\n\n",
            at % 60
        )
    };
    (0..mails).map(mail).collect()
}

#[test]
fn o4_13_a_mailbox_finds_its_account_and_two_people_never_share_one() {
    let desk = Desk::new();
    let import = |path: &Path, more: &[&str]| {
        let ran = desk.run(path, &[&["--yes", "--json"], more].concat());
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        let source = json(&ran)["sources"][0].clone();
        (source["account"].as_str().unwrap().to_owned(), counts(&source))
    };
    let path = desk.file("all.mbox", mailbox("ana@example.org", 3));
    assert_eq!(import(&path, &["--account", "Work"]), ("Work".to_owned(), [3, 3, 0, 0]));
    assert_eq!(import(&path, &[]), ("Work".to_owned(), [3, 0, 0, 3]));
    // A later export of the same person, in another place.
    let later = desk.file("later/all.mbox", mailbox("ana@example.org", 4));
    assert_eq!(import(&later, &[]), ("Work".to_owned(), [4, 1, 0, 3]));
    let ran = desk.run(&later, &["--dry-run"]);
    assert!(
        ran.stdout.contains("The account is Work: this source was imported into it before"),
        "{}",
        ran.stdout
    );
    // Another person's mailbox, in another place and where hers was.
    let other = desk.file("bob.mbox", mailbox("bob@example.org", 2));
    assert_eq!(import(&other, &[]), ("bob@example.org".to_owned(), [2, 2, 0, 0]));
    desk.file("all.mbox", mailbox("cleo@example.org", 2));
    assert_eq!(import(&path, &[]).0, "cleo@example.org");
    // The file does not name its owner, and nobody guesses.
    let unsure = mailbox("dora@example.org", 2).replace("Delivered-To", "To");
    desk.file("later/all.mbox", unsure);
    let ran = desk.run(&later, &["--yes"]);
    assert_eq!((ran.code, ran.stderr.contains("code: import_question")), (Some(77), true), "{}", ran.stderr);
    assert!(ran.stderr.contains("--account Work|dora@example.org"), "{}", ran.stderr);
    assert_eq!(import(&later, &["--account", "Dora"]).0, "Dora");
    assert_eq!(import(&later, &[]).0, "Dora");
}

#[test]
fn o5_6_what_is_kept_apart_is_told() {
    let desk = Desk::new();
    let path = desk
        .file("a.mbox", mailbox("ana@example.org", 3).replace("Hello.", "Your verification code is 482913."));
    let told = "3 emails look like sign-in codes or password resets; they are kept apart in security_messages, which no quick selection includes";
    let ran = desk.run(&path, &["--yes"]);
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
    assert_eq!(json(&desk.run(&path, &["--yes", "--json"]))["kept_apart"], 3);
    let ran = desk.env.run(&["provider", "status"]);
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
    let other = desk.file("b.mbox", mailbox("bob@example.org", 1));
    let ran = desk.run(&other, &["--yes"]);
    assert!(!ran.stdout.contains("kept apart"), "{}", ran.stdout);
}

#[test]
fn o2_2_without_a_path_places_are_named_and_not_looked_into() {
    let desk = Desk::new();
    let ran = desk.env.run(&["import"]);
    assert_eq!((ran.code, ran.stderr.contains("code: import_nothing")), (Some(2), true), "{}", ran.stderr);
    assert_eq!(desk.env.files(), Vec::<String>::new());
}

#[test]
fn o4_9_what_is_left_out_by_date_is_counted_and_comes_later() {
    let desk = Desk::new();
    let path = desk.file("a.csv", table(28));
    let ran = desk.run(&path, &["--yes", "--json", "--since", "2026-01-15", "--timezone", "UTC"]);
    let source = json(&ran)["sources"][0].clone();
    assert_eq!(counts(&source), [28, 14, 0, 0], "{}", ran.stderr);
    assert_eq!(source["skipped"]["before --since"], 14);
    let ran = desk.run(&path, &["--yes", "--json", "--timezone", "UTC"]);
    assert_eq!(counts(&json(&ran)["sources"][0]), [28, 14, 0, 14]);
}

#[test]
fn o2_1_mail_with_labels_is_left_out_by_its_date_too() {
    let desk = Desk::new();
    let labelled = mailbox("ana@example.org", 3)
        .replace("\nSubject:", "\nX-GM-THRID: 1\nX-Gmail-Labels: Inbox,Bills\nSubject:");
    assert_eq!(labelled.matches("X-Gmail-Labels").count(), 3);
    let path = desk.file("a.mbox", labelled);
    let ran = desk.run(&path, &["--yes", "--json", "--since", "2030-01-01", "--timezone", "UTC"]);
    let source = json(&ran)["sources"][0].clone();
    assert_eq!(
        (counts(&source), &source["skipped"]["before --since"]),
        ([3, 0, 0, 0], &3.into()),
        "{}",
        ran.stderr
    );
    let ran = desk.run(&path, &["--yes", "--account", ""]);
    assert_eq!(ran.code, Some(2), "an account has a name: {}", ran.stderr);
}

#[test]
fn o4_13_another_persons_mail_later_in_a_mailbox_is_named_before_and_after_an_import() {
    let desk = Desk::new();
    let mails = mailbox("ana@example.org", 250) + &mailbox("carl@example.org", 1250);
    let path = desk.file("all.mbox", &mails);
    let ran = desk.run(&path, &["--dry-run"]);
    assert!(ran.stdout.contains("Mail of ana@example.org (all.mbox: "), "{}", ran.stdout);
    // Nobody sees the plan with --json.
    let ran = desk.run(&path, &["--yes", "--json"]);
    let notes = json(&ran)["sources"][0]["notes"].to_string();
    assert!(notes.contains("Mail of ana@example.org (all.mbox: "), "{notes}");
    // The plan sees only the beginning of what is compressed. The import counts all of it.
    let mails = mailbox("ana@example.org", 500) + &mailbox("carl@example.org", 1250);
    let zip = archives::zip(&[("all.mbox", mails.as_bytes())], zip::CompressionMethod::Deflated);
    let desk = Desk::new();
    let path = desk.file("all.zip", zip);
    let ran = desk.run(&path, &["--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let said = "all.mbox: 1,250 of the 1,750 messages that say whom they were delivered to were delivered to carl@example.org; \
                this is the account of ana@example.org. If carl@example.org is another person: run pdpp provider forget \
                ana@example.org, put each person's messages into separate files, and import each with pdpp import <export> \
                --account <name>.";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
    assert!(!ran.stderr.contains("carl@example.org"), "{}", ran.stderr);
    // Few are a mistake.
    let few = mailbox("ana@example.org", 500) + &mailbox("carl@example.org", 25);
    let zip = archives::zip(&[("few.mbox", few.as_bytes())], zip::CompressionMethod::Deflated);
    let desk = Desk::new();
    let ran = desk.run(&desk.file("few.zip", zip), &["--yes", "--json"]);
    assert!(!json(&ran)["sources"][0]["notes"].to_string().contains("carl@example.org"), "{}", ran.stdout);
}
