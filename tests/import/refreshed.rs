//! `pdpp import` without a PATH checks what was imported before.

use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use serde_json::Value;

use super::{Desk, counts, json, mailbox, table};
use crate::support::env::Ran;

fn refresh(desk: &Desk, more: &[&str]) -> Ran {
    desk.env.run(&[&["import", "--yes"], more].concat())
}

fn import(desk: &Desk, path: &Path, more: &[&str]) {
    let ran = desk.run(path, &[&["--yes"], more].concat());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

/// Overwrites a file with `bytes` without a trace: with the same size and time.
fn unseen(path: &Path, bytes: &[u8]) {
    let before = path.metadata().unwrap();
    assert_eq!(before.len(), bytes.len() as u64);
    std::fs::write(path, bytes).unwrap();
    set_time(path, before.modified().unwrap());
}

fn set_time(path: &Path, at: SystemTime) {
    File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
}

fn source<'a>(result: &'a Value, path: &Path) -> &'a Value {
    let all = result["sources"].as_array().unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    all.iter().find(|one| one["path"].as_str().unwrap().ends_with(name)).unwrap_or_else(|| panic!("{result}"))
}

#[test]
fn o2_2_what_grew_is_taken_up_and_what_did_not_change_is_not_opened() {
    let desk = Desk::new();
    let (mail, rows) = (desk.file("all.mbox", mailbox("ana@example.org", 3)), desk.file("a.csv", table(5)));
    import(&desk, &mail, &[]);
    import(&desk, &rows, &[]);
    let ran = refresh(&desk, &[]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "Nothing new in 2 sources.\n", "")
    );
    // Opening it would show that it is another file.
    unseen(&rows, table(5).replace("hay", "hey").as_bytes());
    std::fs::write(&mail, mailbox("ana@example.org", 5)).unwrap();
    let ran = refresh(&desk, &[]);
    let all = "mail  ana@example.org  all.mbox  5 read = 2 new + 0 changed + 3 same + 0 skipped + 0 bad\n";
    assert_eq!(
        (ran.code, ran.stdout, ran.stderr.as_str()),
        (Some(0), format!("{all}Nothing else is new in 1 source.\n"), "")
    );
    assert!(!desk.content().join(" ").contains("hey"));
    let ran = refresh(&desk, &["--json"]);
    let result = json(&ran);
    assert_eq!(
        (counts(source(&result, &mail)), counts(source(&result, &rows))),
        ([5, 0, 0, 5], [5, 0, 0, 5])
    );
    // A file that must be read differently is read.
    let report = desk.path("report").display().to_string();
    let ran = refresh(&desk, &["--json", "--report", &report]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    set_time(&rows, SystemTime::now());
    refresh(&desk, &[]);
    assert!(desk.content().join(" ").contains("hey"), "its time is another");
}

#[test]
fn o2_2_what_is_gone_or_broken_is_told_and_keeps_nothing_else_back() {
    let desk = Desk::new();
    let gone = desk.file("gone.csv", table(3));
    let (mail, rows) = (desk.file("all.mbox", mailbox("ana@example.org", 3)), desk.file("a.csv", table(5)));
    let folder = desk.file("box/cur/1:2,S", "From: a@example.org\nSubject: x\n\nHi.\n");
    let folder = folder.parent().unwrap().parent().unwrap().to_owned();
    std::fs::create_dir(folder.join("new")).unwrap();
    for path in [&gone, &mail, &rows, &folder] {
        import(&desk, path, &["--account", path.file_name().unwrap().to_str().unwrap()]);
    }
    let content = desk.content();
    std::fs::remove_file(&gone).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    let ran = refresh(&desk, &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    let said = format!("No longer there; the imported records stay: {}\n", gone.display());
    assert!(ran.stdout.contains(&said), "{}", ran.stdout);
    let said = format!(
        "Empty, perhaps because a disk is not mounted; the imported records stay: {}\n",
        folder.display()
    );
    assert!(ran.stdout.contains(&said), "{}", ran.stdout);
    assert_eq!(desk.content(), content);
    // A file that has become something else fails alone.
    std::fs::write(&rows, [0xff; 100]).unwrap();
    std::fs::write(&mail, mailbox("ana@example.org", 4)).unwrap();
    let ran = refresh(&desk, &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stderr.contains("code: import_unrecognised"), "{}", ran.stderr);
    assert!(ran.stdout.contains("4 read = 1 new + 0 changed + 3 same"), "{}", ran.stdout);
    let result = json(&refresh(&desk, &["--json"]));
    assert_eq!(result["failed"][0]["error"]["code"], "import_unrecognised", "{result}");
    assert_eq!(result["gone"][0], gone.to_str().unwrap(), "{result}");
    assert_eq!(result["empty"][0], folder.to_str().unwrap(), "{result}");
    // If all of it is gone, that is neither a failure nor a new start.
    for path in [&mail, &rows] {
        std::fs::remove_file(path).unwrap();
    }
    let ran = refresh(&desk, &[]);
    assert_eq!((ran.code, ran.stdout.contains("(4 in all)")), (Some(0), false), "{}", ran.stdout);
    assert!(ran.stdout.contains("… (3 in all)") || ran.stdout.contains("a.csv"), "{}", ran.stdout);
}

#[test]
fn o1_9_a_new_account_in_a_known_folder_is_left_out_until_somebody_names_it() {
    let desk = Desk::new();
    let first = desk.file("mails/one.mbox", mailbox("ana@example.org", 3));
    let folder = first.parent().unwrap().to_owned();
    import(&desk, &folder, &[]);
    let content = desk.content();
    desk.file("mails/bob.mbox", mailbox("bob@example.org", 2));
    desk.file("mails/table.csv", table(4));
    let ran = refresh(&desk, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let command = format!("pdpp import {}", folder.display());
    assert_eq!(ran.stderr.matches(&command).count(), 1, "{}", ran.stderr);
    let said =
        "1 file left out (bob.mbox), because no data of the account bob@example.org was imported from there";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert_eq!(desk.content(), content);
    let ran = desk.env.run(&["import", "--dry-run"]);
    assert!(!ran.stdout.contains("bob@example.org:") && ran.stderr.contains("bob@example.org"), "{ran:?}");
    let result = json(&refresh(&desk, &["--json"]));
    assert_eq!(result["left_out"].as_array().unwrap().len(), 2, "{result}");
    // A new file of a known account is imported automatically.
    desk.file("mails/two.mbox", mailbox("ana@example.org", 6));
    let ran = refresh(&desk, &[]);
    assert!(ran.stdout.contains("9 read = 3 new + 0 changed + 6 same"), "{}{}", ran.stdout, ran.stderr);
    // Neither is another person's Maildir, but a mail to another address in a known one is.
    let to =
        |owner: &str| format!("Delivered-To: {owner}\nFrom: eva@example.org\nSubject: to {owner}\n\nHi.\n");
    desk.file("mails/ana/cur/1:2,S", to("ana@example.org"));
    std::fs::create_dir(desk.path("mails/ana/new")).unwrap();
    let ran = desk.run(&folder, &["--yes", "--json", "--as", "maildir"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    desk.file("mails/ana/new/2", to("ana+shop@example.org"));
    desk.file("mails/bob/cur/1:2,S", to("bob@example.org"));
    std::fs::create_dir(desk.path("mails/bob/new")).unwrap();
    let ran = refresh(&desk, &[]);
    assert!(ran.stderr.contains("1 file left out (bob/cur/1:2,S), because"), "{}{}", ran.stdout, ran.stderr);
    assert!(desk.content().join(" ").contains("to ana+shop@example.org"));
    assert!(!desk.content().join(" ").contains("to bob@example.org"));
    // If you name it, all of it is imported.
    for path in ["mails/bob.mbox", "mails/table.csv", "mails/bob"] {
        import(&desk, &desk.path(path), &[]);
    }
    assert!(desk.content().join(" ").contains("to bob@example.org"));
}

#[test]
fn o2_4_a_question_leaves_out_what_is_new_or_the_source_and_says_so() {
    let desk = Desk::new();
    // The file does not show which number is the day.
    let unsure = |day: u32| format!("id,date,text\n1,0{day}/02/2026,a\n2,0{day}/02/2026,b\n");
    let first = desk.file("tables/a.csv", table(3));
    let folder = first.parent().unwrap().to_owned();
    import(&desk, &folder, &[]);
    desk.file("tables/unsure.csv", unsure(3));
    desk.file("tables/a.csv", table(4));
    let ran = refresh(&desk, &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("4 read = 1 new + 0 changed + 3 same"), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("unsure.csv: ") && ran.stderr.contains("It was left out"), "{}", ran.stderr);
    // Another person's mail where hers was: nobody can tell whose it is.
    let mail = desk.file("all.mbox", mailbox("ana@example.org", 3));
    import(&desk, &mail, &["--account", "Work"]);
    std::fs::write(&mail, mailbox("dora@example.org", 2).replace("Delivered-To", "To")).unwrap();
    let ran = refresh(&desk, &[]);
    assert_eq!(ran.code, Some(77), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains("code: import_question")
            && ran.stderr.contains(&format!("pdpp import --yes --account Work {}", mail.display())),
        "{}",
        ran.stderr
    );
}

#[test]
fn o4_13_what_has_nothing_in_common_with_what_was_there_is_left_out_of_a_refresh() {
    let desk = Desk::new();
    let rows = desk.file("a.csv", table(5));
    import(&desk, &rows, &[]);
    let content = desk.content();
    // A table does not state whose it is.
    let theirs = "id,date,text\n101,2026-02-01,theirs\n102,2026-02-02,theirs too\n";
    std::fs::write(&rows, theirs).unwrap();
    let ran = refresh(&desk, &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains("left out (a.csv), because nothing in it was imported before"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains(&format!("pdpp import {}", rows.display())), "{}", ran.stderr);
    assert_eq!(desk.content(), content);
    let result = json(&refresh(&desk, &["--json"]));
    assert!(result["left_out"][0]["question"].as_str().unwrap().starts_with("nothing in it"), "{result}");
    // One row from before shows that it is the same table.
    std::fs::write(&rows, format!("{theirs}4,2026-01-05,mine\n")).unwrap();
    let result = json(&refresh(&desk, &["--json"]));
    assert_eq!(counts(source(&result, &rows)), [3, 2, 1, 0], "{result}");
    // Naming the file imports all of it.
    std::fs::write(&rows, "id,date,text\n201,2026-02-01,named\n").unwrap();
    assert!(!refresh(&desk, &[]).stderr.is_empty());
    import(&desk, &rows, &[]);
    assert!(desk.content().join(" ").contains("named"));
    assert_eq!(refresh(&desk, &[]).stderr, "");
}

#[test]
fn o2_1_what_since_left_out_stays_left_out() {
    let desk = Desk::new();
    let path = desk.file("a.csv", table(28));
    import(&desk, &path, &["--since", "2026-01-15", "--timezone", "UTC"]);
    let content = desk.content();
    let text = table(28) + "100,2026-02-01,new\n101,2026-01-02,old and new\n";
    std::fs::write(&path, text).unwrap();
    let ran = refresh(&desk, &["--json"]);
    let one = json(&ran)["sources"][0].clone();
    assert_eq!(one["new"], 1, "{one}");
    assert_eq!(desk.content().len(), content.len() + 1);
}

#[test]
fn o2_2_places_are_named_beside_what_is_known_and_a_timer_begins_nothing() {
    let desk = Desk::new();
    let ran = refresh(&desk, &[]);
    assert_eq!((ran.code, ran.stderr.contains("code: import_nothing")), (Some(2), true), "{}", ran.stderr);
    // Nobody can open it, and nobody needs to.
    let place = desk.env.home().join(".claude/projects");
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::fs::write(&place, "no folder at all").unwrap();
    let rows = desk.file("a.csv", table(3));
    import(&desk, &rows, &[]);
    let ran = refresh(&desk, &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "nobody reads it");
    let result = json(&refresh(&desk, &["--json"]));
    assert_eq!(result["places"][0]["kind"], "Claude Code", "{result}");
    assert_eq!(result["places"][0]["path"], place.to_str().unwrap(), "{result}");
    // An option that belongs to one source applies to none here.
    for option in ["--account", "--as"] {
        let ran = desk.env.run(&["import", "--yes", option, "csv"]);
        assert_eq!(ran.code, Some(2), "{option}: {}", ran.stderr);
    }
    // Nobody agreed.
    std::fs::write(&rows, table(4)).unwrap();
    let ran = desk.env.run(&["import"]);
    assert_eq!(
        (ran.code, ran.stderr.contains("code: import_unconfirmed")),
        (Some(77), true),
        "{}",
        ran.stderr
    );
}

#[test]
fn o2_2_what_a_browser_keeps_beside_its_history_is_taken_up() {
    let desk = Desk::new();
    let path = desk.path("History");
    let open = || rusqlite::Connection::open(&path).unwrap();
    let visit = |db: &rusqlite::Connection, n: i64| {
        let at = 13_414_357_805_000_000 + n * 1_000_000;
        db.execute("INSERT INTO visits VALUES (?1, 1, ?2, 1)", (n, at)).unwrap();
    };
    let db = open();
    db.execute_batch(
        "PRAGMA journal_mode = wal;
         CREATE TABLE urls (id INTEGER PRIMARY KEY, url TEXT, title TEXT, typed_count INTEGER, last_visit_time INTEGER);
         CREATE TABLE visits (id INTEGER PRIMARY KEY, url INTEGER, visit_time INTEGER, transition INTEGER);
         INSERT INTO urls VALUES (1, 'https://example.org/', 'Example', 0, 0);",
    )
    .unwrap();
    visit(&db, 1);
    // Once it is closed, one file has everything.
    drop(db);
    import(&desk, &path, &[]);
    assert_eq!(refresh(&desk, &[]).stdout, "Nothing new in 1 source.\n");
    let before = path.metadata().unwrap().modified().unwrap();
    let db = open();
    visit(&db, 2);
    assert_eq!(path.metadata().unwrap().modified().unwrap(), before, "it is beside the file");
    let result = json(&refresh(&desk, &["--json"]));
    assert_eq!(counts(source(&result, &path)), [2, 1, 0, 1], "{result}");
}

#[test]
fn o2_4_nothing_is_asked_if_nothing_would_be_added() {
    let desk = Desk::new();
    let rows = desk.file("a.csv", table(3));
    let mails = desk.file("mail/inbox.mbox", mailbox("me@example.org", 3));
    let folder = mails.parent().unwrap();
    for path in [rows.as_path(), folder] {
        // Nothing is known yet, and nobody agreed.
        assert_eq!(desk.run(path, &[]).code, Some(77), "{}", path.display());
        import(&desk, path, &[]);
        let ran = desk.run(path, &[]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains("Nothing is new: all of this was imported before."), "{ran:?}");
        let ran = desk.run(path, &["--json"]);
        assert_eq!((ran.code, counts(&json(&ran)["sources"][0])), (Some(0), [3, 0, 0, 3]), "{ran:?}");
    }
    let ran = desk.env.run(&["import"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // What has grown, or would be read in another way, is asked about.
    std::fs::write(&mails, mailbox("me@example.org", 4)).unwrap();
    for (path, more) in [(folder, &[][..]), (rows.as_path(), &["--date-order", "dmy"])] {
        let ran = desk.run(path, more);
        assert_eq!(ran.code, Some(77), "{ran:?}");
        assert!(ran.stderr.contains("code: import_unconfirmed"), "{ran:?}");
    }
}

/// Rows that count from 1, like many tables of other people.
fn payments(whose: &str, rows: usize, day: usize) -> String {
    let mut text = String::from("id,date,payee,amount,currency\n");
    for row in 1..=rows {
        let payee = format!("{whose} {}", "abcdefg".repeat(row % 5 + 1));
        text += &format!("{row},2026-01-{:02},{payee} {row},{}.50,NOK\n", (row + day) % 28 + 1, row * day);
    }
    text
}

#[test]
fn o4_13_another_persons_table_with_the_same_ids_is_left_out_of_a_refresh() {
    let desk = Desk::new();
    let rows = desk.file("a.csv", payments("mine", 30, 3));
    import(&desk, &rows, &[]);
    let content = desk.content();
    std::fs::write(&rows, payments("hers", 34, 11)).unwrap();
    let ran = refresh(&desk, &[]);
    assert_eq!((ran.code, desk.content()), (Some(0), content.clone()), "{}{}", ran.stdout, ran.stderr);
    let path = rows.display();
    let said = format!("{path}: 1 file left out (a.csv), because nearly every row in it says something else");
    assert!(ran.stderr.contains(&said), "{}", ran.stderr);
    for command in [format!("pdpp import {path}"), format!("pdpp import --account <name> {path}")] {
        assert!(ran.stderr.contains(&command), "{}", ran.stderr);
    }
    let result = json(&refresh(&desk, &["--json"]));
    assert_eq!(result["left_out"][0]["members"][0], "a.csv", "{result}");
    // Growth, edits, another order and other dates are the same table.
    let mine = payments("mine", 40, 3);
    let edited = mine.replace(".50,", ".75,");
    let mut lines: Vec<&str> = mine.lines().collect();
    lines[1..].reverse();
    let turned = lines.join("\n") + "\n";
    for text in [mine.clone(), edited, turned] {
        std::fs::write(&rows, text).unwrap();
        let ran = refresh(&desk, &[]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    }
    assert!(desk.content().join(" ").contains("mine abcdefg 40") || desk.content().len() > content.len());
}

#[test]
fn o4_13_one_of_a_folders_tables_is_left_out_and_is_not_gone() {
    let desk = Desk::new();
    let mine = |rows| payments("mine", rows, 3);
    let numbered = |text: String| text.replace('\n', "\n1000").trim_end_matches("1000").to_owned();
    desk.file("tables/a.csv", mine(30));
    let other = desk.file("tables/b.csv", numbered(mine(30)));
    let folder = other.parent().unwrap().to_owned();
    import(&desk, &folder, &[]);
    let content = desk.content();
    desk.file("tables/a.csv", payments("hers", 30, 11));
    std::fs::write(&other, numbered(mine(32))).unwrap();
    let ran = refresh(&desk, &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("1 file left out (a.csv), because nearly every row"), "{}", ran.stderr);
    assert!(ran.stdout.contains(" = 2 new + ") && !ran.stdout.contains("no longer there"), "{}", ran.stdout);
    assert!(!desk.content().join(" ").contains("hers") && desk.content().len() == content.len() + 2);
}

#[test]
fn o2_4_a_question_about_one_file_leaves_out_only_that_file() {
    let desk = Desk::new();
    let dates = |rows: usize, order: fn(usize) -> String| {
        let row = |at: usize| format!("{at},{},text {at}\n", order(at));
        format!("id,date,note\n{}", (1..=rows).map(row).collect::<String>())
    };
    let clear = |at: usize| format!("{:02}/01/2026", at + 12);
    let unsure = |at: usize| format!("{at:02}/02/2026");
    let first = desk.file("tables/a.csv", dates(6, clear));
    let folder = first.parent().unwrap().to_owned();
    desk.file("tables/other.csv", table(4));
    import(&desk, &folder, &[]);
    // A known file that is unsure now, and a new one, next to one that grew.
    desk.file("tables/a.csv", dates(3, unsure));
    desk.file("tables/new.csv", dates(4, unsure).replace("note", "word"));
    desk.file("tables/other.csv", table(6));
    let ran = refresh(&desk, &[]);
    assert_eq!(ran.code, Some(77), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("6 read = 2 new + 0 changed + 4 same"), "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains("no longer there"), "{}", ran.stdout);
    let next = format!("next: pdpp import --yes --date-order dmy {}\n", first.display());
    assert!(ran.stderr.contains(&next), "{}", ran.stderr);
    let new = format!("To see and import it: pdpp import {}", desk.path("tables/new.csv").display());
    assert!(ran.stderr.contains(&new), "{}", ran.stderr);
    // What a person answered is not asked again.
    let alone = desk.file("alone.csv", dates(3, unsure));
    import(&desk, &alone, &["--date-order", "dmy"]);
    std::fs::write(&alone, dates(5, unsure)).unwrap();
    let result = json(&refresh(&desk, &["--json"]));
    assert_eq!(counts(source(&result, &alone)), [5, 2, 0, 3], "{result}");
}
