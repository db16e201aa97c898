//! A refused import leaves nothing behind.

use super::{Desk, counts, json, table};

#[test]
fn o4_4_one_file_that_does_not_fit_is_told_and_the_others_are_planned() {
    let desk = Desk::new();
    let folder = desk.path("mix");
    std::fs::create_dir_all(&folder).unwrap();
    let page = r#"<!DOCTYPE html><html><head><title>Exported Data</title><link href="css/style.css" rel="stylesheet"/></head>
        <body onload="CheckLocation();"><div class="page_wrap"><div class="page_header"></div><div class="page_body chat_page">"#;
    std::fs::write(folder.join("messages.html"), page).unwrap();
    let alone = desk.run(&folder, &["--dry-run"]);
    assert_ne!(alone.code, Some(0), "{}", alone.stdout);
    assert!(alone.stderr.contains("messages.html"), "it is named: {}", alone.stderr);
    std::fs::write(folder.join("a.csv"), table(10)).unwrap();
    std::fs::write(folder.join("empty.csv"), "").unwrap();
    let ran = desk.run(&folder, &["--dry-run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("a table in a CSV or TSV file, 1 file"), "{}", ran.stdout);
    assert!(ran.stdout.contains("in HTML") && ran.stdout.contains(": messages.html"), "{}", ran.stdout);
    assert!(ran.stdout.contains("left out (it is empty): empty.csv"), "{}", ran.stdout);
    // An empty text file, which could only be a note.
    std::fs::write(folder.join("empty.txt"), "").unwrap();
    let ran = desk.run(&folder, &["--dry-run"]);
    assert!(ran.stdout.contains("left out (it is empty): empty.csv, empty.txt"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("not recognised"), "{}", ran.stdout);
    let empty = desk.run(&folder.join("empty.csv"), &["--dry-run"]);
    assert!(empty.stderr.contains("empty.csv: it is empty"), "{}", empty.stderr);
}

/// Requirement O1.8.
#[test]
fn what_is_not_recognised_is_named_with_a_reason_for_each() {
    let desk = Desk::new();
    let folder = desk.path("mix");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.csv"), table(10)).unwrap();
    std::fs::write(folder.join("b.png"), b"\x89PNG\r\n\x1a\n\0\0").unwrap();
    std::fs::write(folder.join("c.csv"), "a line\nand another\n").unwrap();
    for number in 0..12 {
        std::fs::write(folder.join(format!("x{number:02}.dat")), b"\x01\x02 nothing known").unwrap();
    }
    let ran = desk.run(&folder, &["--dry-run"]);
    let named = |of: &str| {
        ran.stdout.lines().any(|line| line.starts_with("  not recognised (") && line.ends_with(of))
    };
    assert!(named("(it is a PNG picture: pdpp does not read pictures): b.png"), "{}", ran.stdout);
    assert!(named("): c.csv"), "{}", ran.stdout);
    let first: Vec<String> = (0..8).map(|number| format!("x{number:02}.dat")).collect();
    assert!(named(&format!("(its contents match no format): {}", first.join(", "))), "{}", ran.stdout);
    let all = format!(
        "4 more that are not named here. To see all: pdpp import --dry-run --json {}",
        folder.display()
    );
    assert!(ran.stdout.contains(&all), "{}", ran.stdout);
    let told = json(&desk.run(&folder, &["--dry-run", "--json"]));
    let told = told["unrecognised"].as_array().unwrap();
    assert_eq!(told.len(), 14);
    let reason =
        |name: &str| told.iter().find(|one| one["member"] == name).unwrap()["reason"].as_str().unwrap();
    assert_eq!(reason("b.png"), "it is a PNG picture: pdpp does not read pictures");
    assert_eq!(reason("x11.dat"), "its contents match no format");
    assert!(!reason("c.csv").is_empty() && reason("c.csv") != reason("x11.dat"), "{}", reason("c.csv"));
}

#[test]
fn o2_3_a_dry_run_and_a_refusal_create_nothing() {
    let desk = Desk::new();
    let path = desk.file("a.csv", table(10));
    let ran = desk.run(&path, &["--dry-run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("a table in a CSV or TSV file, 1 file"), "{}", ran.stdout);
    // The time zone matters only if there are times.
    assert!(!ran.stdout.contains("times without a time zone"), "{}", ran.stdout);
    let times = desk.file("times.csv", "id,at\n1,2026-01-02 03:04:05\n2,2026-01-03 03:04:05\n");
    let ran = desk.run(&times, &["--dry-run", "--timezone", "Europe/Oslo"]);
    assert!(ran.stdout.contains("Times without a time zone are read in Europe/Oslo"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("times without a time zone"), "it is said once: {}", ran.stdout);
    let ran = desk.run(&path, &["--dry-run", "--json"]);
    assert_eq!(json(&ran)["plan"][0]["format"], "csv");
    // O2.4: there is no terminal to ask on.
    let ran = desk.run(&path, &[]);
    assert_eq!(
        (ran.code, ran.stderr.contains("code: import_unconfirmed")),
        (Some(77), true),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("--yes"), "{}", ran.stderr);
    let picture = desk.file("b.png", b"\x89PNG\r\n\x1a\n\0\0");
    let ran = desk.run(&picture, &["--yes"]);
    assert_eq!(
        (ran.code, ran.stderr.contains("code: import_unrecognised")),
        (Some(1), true),
        "{}",
        ran.stderr
    );
    let ran = desk.run(&picture, &["--yes", "--as", "csv"]);
    assert_eq!((ran.code, ran.stderr.contains("code: import_format")), (Some(1), true), "{}", ran.stderr);
    let ran = desk.run(&picture, &["--yes", "--as", "chatgpt"]);
    assert!(ran.stderr.contains("b.png does not look like a ChatGPT export (chatgpt)"), "{}", ran.stderr);
    // Which line it is, and why.
    let ragged = format!("a,b,c\n{}1,2\n3,4\n5,6,7\n", "1,2,3\n".repeat(8));
    for (name, text, options, why) in [
        ("rag.csv", ragged.as_str(), &["--yes"][..], "rag.csv: line 10 has 2 cells, but the header has 3"),
        ("rag", ragged.as_str(), &["--yes", "--as", "csv"], "rag: line 10 has 2 cells, but the header has 3"),
        ("x.jsonl", "{\"a\":1}\n{\"a\":\nno\n", &["--yes"], "x.jsonl: line 2 is not JSON"),
        ("one.csv", "words\nand words\n", &["--yes"], "one.csv: no comma"),
    ] {
        let ran = desk.run(&desk.file(name, text.as_bytes()), options);
        assert_eq!((ran.code, ran.stderr.contains(why)), (Some(1), true), "{}", ran.stderr);
    }
    let ran = desk.run(&desk.path("nothing"), &["--yes"]);
    assert_eq!((ran.code, ran.stderr.contains("code: import_path")), (Some(1), true), "{}", ran.stderr);
    assert_eq!(desk.env.files(), Vec::<String>::new());
    assert!(!desk.own().exists());
}

#[test]
fn o1_2_the_sandboxs_directory_is_refused_and_stays_as_it_was() {
    let desk = Desk::new();
    let dir = desk.path("fiction");
    drop(pdpp::sandbox::open_store(&dir, None).unwrap());
    let names = || {
        let mut all: Vec<_> =
            std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        all.sort();
        all
    };
    let before = names();
    let path = desk.file("a.csv", table(10));
    let ran = desk.run(&path, &["--yes", "--data-dir", dir.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stderr.contains("code: own_data_dir")), (Some(77), true), "{}", ran.stderr);
    assert_eq!(names(), before);
    // And the other way round.
    assert_eq!(desk.import(&path)[1], 10);
    let refused = pdpp::sandbox::open_store(&desk.own(), None).err().unwrap();
    assert_eq!((refused.code(), refused.kind().exit_code()), ("sandbox_data_dir", 77));
    // The store itself cannot be imported.
    let ran = desk.run(&desk.own(), &["--yes"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

#[test]
fn o3_5_a_store_of_a_newer_version_is_refused_by_its_release() {
    let desk = Desk::new();
    let path = desk.file("a.csv", table(10));
    desk.import(&path);
    let db = rusqlite::Connection::open(desk.own().join("own.db")).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    db.execute("UPDATE meta SET value = '7.0.0' WHERE name = 'written_by'", []).unwrap();
    drop(db);
    let ran = desk.run(&path, &["--yes"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("Install pdpp 7.0.0 or later"), "{}", ran.stderr);
}

#[test]
fn o3_3_a_second_import_is_told_who_imports() {
    let desk = Desk::new();
    let path = desk.file("a.csv", table(10));
    let held = pdpp::own::lock(&desk.own()).unwrap();
    let ran = desk.run(&path, &["--yes"]);
    assert_eq!((ran.code, ran.stderr.contains("code: import_running")), (Some(1), true), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("process {}", std::process::id())), "{}", ran.stderr);
    drop(held);
    assert_eq!(desk.import(&path)[1], 10);
}

#[cfg(unix)]
#[test]
fn o3_1_the_store_is_its_owners_alone_and_a_report_too() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let desk = Desk::new();
    let path = desk.file("a.csv", table(10));
    let report = desk.path("report.jsonl");
    let ran = desk.run(&path, &["--yes", "--report", report.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&desk.own()), mode(&desk.own().join("own.db")), mode(&report)), (0o700, 0o600, 0o600));
    std::fs::set_permissions(desk.own(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let ran = desk.run(&path, &["--yes"]);
    assert_eq!((ran.code, ran.stderr.contains("code: own_data_dir")), (Some(77), true), "{}", ran.stderr);
    assert_eq!(mode(&desk.own()), 0o755);
}

#[test]
fn o1_2_a_named_directory_is_remembered() {
    let desk = Desk::new();
    let path = desk.file("a.csv", table(10));
    let dir = desk.path("mine");
    let ran = desk.run(&path, &["--yes", "--data-dir", dir.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = desk.env.run(&["import", "--yes", "--json"]);
    assert_eq!(counts(&json(&ran)["sources"][0]), [10, 0, 0, 10], "{}", ran.stderr);
    assert!(!desk.own().exists());
}

#[test]
fn o2_1_what_cannot_be_imported_is_told_with_its_reason_and_what_to_type() {
    let desk = Desk::new();
    let told = |name: &str, more: &[&str]| {
        let ran = desk.run(&desk.path(name), &[&["--yes"], more].concat());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("\n  next: "), "{}", ran.stderr);
        ran.stderr
    };
    let has = |said: &str, parts: &[&str]| {
        for part in parts {
            assert!(said.contains(part), "{part} in {said}");
        }
    };
    desk.file("ragged.csv", "a,b,c\n1,2\n3,4,5,6\nx\n");
    has(
        &told("ragged.csv", &[]),
        &["ragged.csv: line 2 has 2 cells, but the header has 3", "code: import_unrecognised"],
    );
    has(
        &told("ragged.csv", &["--as", "csv"]),
        &["because: ragged.csv: line 2 ", "code: import_format", "next: Without --as"],
    );
    desk.file("x.jsonl", "{\"a\":1}\nnot json\n[1]\nnope\n");
    has(&told("x.jsonl", &[]), &["because: x.jsonl: line 2 is not an object"]);
    desk.file("x.csv", b"SQLite format 3\0 and more");
    has(&told("x.csv", &[]), &["an SQLite database"]);
    // A source that does not exist, and one with a similar name.
    has(&told("ragged.cvs", &[]), &["There is no ", "ragged.csv", "code: import_path"]);
    has(&told("nothing-like-it", &[]), &["pdpp import <export>"]);
    let zip = super::archives::zip(&[("a.csv", table(2000).as_bytes())], zip::CompressionMethod::Stored);
    desk.file("cut.zip", &zip[..zip.len() * 2 / 3]);
    has(&told("cut.zip", &[]), &["cut off or damaged", "download it again", "cut.zip --yes"]);
    // The damaged one is named, but none of the unrecognised ones.
    let meant = table(500);
    let members: [(&str, &[u8]); 3] =
        [("a.csv", b"a,b\n1\n"), ("b.csv", b"a,b\n1,2,3\n"), ("meant.csv", meant.as_bytes())];
    let mut zip = super::archives::zip(&members, zip::CompressionMethod::Deflated);
    let at: Vec<usize> = (0..zip.len() - 4).filter(|at| zip[*at..].starts_with(b"PK\x01\x02")).collect();
    zip[at[2] + 16] ^= 1;
    desk.file("one.zip", zip);
    has(&told("one.zip", &[]), &["because: meant.csv: ", "download it again"]);
}

#[test]
fn o4_9_what_was_bad_before_is_counted_and_named_again_where_a_report_is_asked_for() {
    let desk = Desk::new();
    let path = desk.file(
        "a.jsonl",
        "{\"id\":1,\"t\":\"a\"}\n{\"id\":2,\"t\":\"b\"}\n{\"id\":3,\"t\":\"c\"}\n{\"id\":\n"
            .repeat(20)
            .replacen("{\"id\":\n", "", 19),
    );
    let report = desk.path("report.jsonl");
    let named = || {
        let ran = desk.run(&path, &["--yes", "--json", "--report", report.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let source = json(&ran)["sources"][0].clone();
        let line = std::fs::read_to_string(&report).unwrap();
        std::fs::remove_file(&report).unwrap();
        (counts(&source), source["bad"].clone(), line)
    };
    let (first, bad, line) = named();
    assert!(line.contains("\"line\":61") && bad.as_object().unwrap().len() == 1, "{line} {bad}");
    let ran = desk.run(&path, &["--yes"]);
    assert!(
        ran.stdout.contains("61 same") && ran.stdout.contains("1 item in unchanged files could not be read"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("--yes --report FILE"), "{}", ran.stdout);
    let ran = desk.run(&path, &["--yes", "--json"]);
    assert_eq!(json(&ran)["sources"][0]["known_bad"], 1);
    let (again, bad_again, line_again) = named();
    assert_eq!((again, bad_again, line_again), ([first[0], 0, 0, first[0] - 1], bad, line));
}

#[test]
fn o1_8_where_nothing_is_recognised_each_file_has_its_reason_and_the_next_command_fits() {
    let desk = Desk::new();
    let folder = desk.path("mix");
    let told = |path: &std::path::Path| {
        let ran = desk.run(path, &["--yes", "--json"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let error = json(&ran)["error"].clone();
        assert_eq!(error["code"], "import_unrecognised", "{error}");
        (
            error["message"].as_str().unwrap().to_owned(),
            error["because"][0].as_str().unwrap_or_default().to_owned(),
            error["next"].as_str().unwrap().to_owned(),
        )
    };
    std::fs::create_dir(&folder).unwrap();
    let (message, because, next) = told(&folder);
    assert!(message.contains("it is empty") && because.is_empty(), "{message}");
    assert_eq!(next, "pdpp import <export>");
    let letter = super::archives::zip(
        &[
            ("[Content_Types].xml", b"<?xml version='1.0'?>"),
            ("word/document.xml", b"<?xml version='1.0'?><x/>"),
        ],
        zip::CompressionMethod::Stored,
    );
    std::fs::write(folder.join("letter.docx"), &letter).unwrap();
    std::fs::write(folder.join("setup.exe"), b"MZ\x90\0\x03\0\0\0").unwrap();
    std::fs::write(folder.join("film.mp4"), b"\0\0\0\x20ftypisom\0\0\x02\0").unwrap();
    for number in 0..12 {
        std::fs::write(folder.join(format!("x{number:02}.dat")), b"\x01\x02 nothing known").unwrap();
    }
    let (_, because, _) = told(&folder);
    for part in [
        "letter.docx: it is a Word document: pdpp reads its text only if it is attached to an email",
        "setup.exe: it is a program for Windows (EXE): pdpp does not read programs",
        "film.mp4: it is a video (MP4, MOV): pdpp does not read videos",
        "x00.dat, x01.dat",
        "5 more are not named here",
    ] {
        assert!(because.contains(part), "{part} in {because}");
    }
    let ran = desk.run(&folder, &["--yes"]);
    assert!(ran.stderr.contains("letter.docx: it is a Word document"), "{}", ran.stderr);
    let alone = desk.file("letter.docx", &letter);
    assert!(told(&alone).1.starts_with("letter.docx: it is a Word document"), "{}", told(&alone).1);
    // A command that imports it.
    for (name, text, format) in
        [("one.json", "{\"a\":1,\"b\":\"x\"}", "jsonl"), ("diary.txt", "Dear diary\n\nToday.\n", "notes")]
    {
        let path = desk.file(name, text);
        let (_, because, next) = told(&path);
        assert!(
            next.ends_with(&format!(": pdpp import --as {format} {}", path.display())),
            "{next}: {because}"
        );
        let ran = desk.run(&path, &["--as", format, "--dry-run"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
}
