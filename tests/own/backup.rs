//! A store as one file, and back: all of it or nothing, whatever goes wrong.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use pdpp::own::backup::{self, Watch};
use pdpp::secret::Passphrase;
use pdpp::vault::oauth::owner::Announce;
use pdpp::vault::store::{self, blobs};
use rusqlite::types::Value as Sql;
use serde_json::{Value, json};

use super::granted::{call, grant};
#[cfg(unix)]
use super::terminal::Terminal;
use crate::support::env::{Ran, TestEnv};

const PASSPHRASE: &str = "correct horse";

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap()) & 0o777
}

fn rows(count: usize) -> String {
    let mut text = String::from("id,date,kind,text\n");
    for row in 0..count {
        let word = if row % 100 == 0 { "needle" } else { "hay" };
        text += &format!("{row},2026-01-{:02},k{},number {row} with {word}\n", row % 28 + 1, row % 3);
    }
    text
}

fn mailbox(owner: &str, word: &str) -> String {
    (0..5)
        .map(|at| {
            format!(
                "From eva@example.org Tue Jan  2 03:04:05 2024\nFrom: eva@example.org\nDelivered-To: {owner}\n\
                 Message-ID: <{at}@{owner}>\nSubject: mail {at} {word}\nDate: Tue, 2 Jan 2024 03:04:0{at} +0000\n\
                 MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\n\
                 A body with {word}.\n--b\nContent-Type: application/octet-stream\n\
                 Content-Disposition: attachment; filename=a{at}.bin\n\nbytes {at} of {word}\n--b--\n\n"
            )
        })
        .collect()
}

fn ok(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"))
}

fn code(ran: &Ran) -> (Option<i32>, String) {
    let json: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    (ran.code, json["error"]["code"].as_str().unwrap_or_else(|| panic!("{ran:?}")).to_owned())
}

fn import(env: &TestEnv, path: &Path, more: &[&str]) -> Value {
    ok(&env.run(&[&["import", path.to_str().unwrap(), "--yes", "--json"], more].concat()))["sources"][0]
        .clone()
}

/// A store of several formats, and the exports that it was imported from.
fn imported(env: &TestEnv) -> Vec<PathBuf> {
    let file = |name: &str, text: &str| {
        let path = env.home().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let exports = vec![
        file("rows.csv", &rows(300)),
        file(
            "notes.jsonl",
            "{\"id\":1,\"at\":\"2026-01-01T00:00:00Z\",\"t\":\"needle one\"}\n{\"id\":2,\"at\":\"2026-01-02T00:00:00Z\",\"t\":\"two\"}\n",
        ),
        file("work.mbox", &mailbox("ana@example.org", "needle")),
        file("home.mbox", &mailbox("bob@example.org", "thread")),
    ];
    for (at, path) in exports.iter().enumerate() {
        let copies: &[&str] = if at == 2 { &["--copy-attachments"] } else { &[] };
        import(env, path, copies);
    }
    exports
}

fn own(env: &TestEnv) -> PathBuf {
    env.cache_dir().join("own")
}

/// Every row of every table of the store, and so all records, ids, earlier states, words, and what imports remember.
fn content(dir: &Path) -> Vec<String> {
    let db = rusqlite::Connection::open(dir.join("own.db")).unwrap();
    let names = |sql: &str| -> Vec<String> {
        db.prepare(sql).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let mut all = names("SELECT name || coalesce(sql, '') FROM sqlite_master ORDER BY 1");
    for table in names("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1") {
        let mut select = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = select.column_count();
        let rows = select.query_map([], |row| {
            let row: Vec<Sql> = (0..columns).map(|at| row.get(at)).collect::<Result<_, _>>()?;
            Ok(format!("{table} {row:?}"))
        });
        let mut rows: Vec<String> = rows.unwrap().map(Result::unwrap).collect();
        rows.sort();
        all.extend(rows);
    }
    all.push(db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap());
    all
}

/// The attachments that can be read.
fn attachments(dir: &Path) -> usize {
    let store = pdpp::own::open_store(dir).unwrap();
    store
        .read::<_, rusqlite::Error>(|db, _| {
            let mut ids = db.prepare("SELECT id FROM blob")?;
            let ids: Vec<String> = ids.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            Ok(ids
                .iter()
                .filter(|id| blobs::find(db, id).unwrap().and_then(blobs::Blob::read).is_some())
                .count())
        })
        .unwrap()
}

fn back_up(env: &TestEnv, file: &Path, more: &[&str]) -> Value {
    ok(&env.run(&[&["provider", "backup", file.to_str().unwrap(), "--json"], more].concat()))
}

/// Files that do not belong there.
fn leftovers(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("tmp")).collect()
}

fn restore_here(dir: &Path, file: &Path, passphrase: Option<&str>) -> Result<(), &'static str> {
    let mut opened = backup::open(file, file).map_err(|error| error.code())?;
    if let Some(passphrase) = passphrase.filter(|_| opened.is_encrypted()) {
        opened.unlock(&Passphrase::from(passphrase)).map_err(|error| error.code())?;
    }
    let watch = Watch { stop: &AtomicBool::new(false), say: &|_| {} };
    backup::restore(dir, &opened, &watch).map(drop).map_err(|error| error.code())
}

#[test]
fn o3_11_a_restored_store_is_the_one_that_was_backed_up() {
    let (env, other) = (TestEnv::new(), TestEnv::new());
    let exports = imported(&env);
    let file = env.home().join("own.tar");
    let told = back_up(&env, &file, &[]);
    assert_eq!((&told["backup"]["copies"]["attachments"], &told["encrypted"]), (&json!(5), &json!(false)));
    let left = &told["backup"]["left_in_place"];
    assert_eq!((&left["attachments"], &left["exports"]), (&json!(5), &json!([exports[3]])));
    #[cfg(unix)]
    assert_eq!(mode(&file), 0o600);
    assert_eq!(leftovers(&own(&env)).len() + leftovers(&env.home()).len(), 0);
    // It is also a plain archive.
    #[cfg(unix)]
    let listed = std::process::Command::new("tar").args(["-tf", file.to_str().unwrap()]).output().unwrap();
    #[cfg(unix)]
    let listed = String::from_utf8(listed.stdout).unwrap();
    #[cfg(unix)]
    assert!(listed.starts_with("manifest.json\nmanifest.json.sha256\nown.db\nblobs/"), "{listed}");

    let told = ok(&other.run(&["provider", "restore", file.to_str().unwrap(), "--json"]));
    assert_eq!(told["backup"]["accounts"], 4, "{told}");
    assert_eq!(content(&own(&other)), content(&own(&env)));
    let status = |env: &TestEnv| {
        let mut told = ok(&env.run(&["provider", "status", "--json"]));
        told["data_dir"] = Value::Null;
        told["bytes"] = Value::Null;
        told
    };
    assert_eq!(status(&other), status(&env));
    #[cfg(unix)]
    assert_eq!((mode(&own(&other)), mode(&own(&other).join("own.db"))), (0o700, 0o600));
    // Searches, counts and rows are the same, through equal grants.
    let answers = |env: &TestEnv| {
        grant(env, &["--account", "rows", "--stream", "rows"]);
        let calls = [
            ("search", json!({"q": "needle"})),
            ("aggregate", json!({"stream": "rows", "metric": "count", "group_by": "kind"})),
            ("query_records", json!({"stream": "rows", "limit": 5})),
        ];
        // A cursor belongs to one store; the new one has another key for them.
        calls.map(|(tool, arguments)| {
            let answer = call(env, tool, &arguments, &[])["structuredContent"].clone();
            if tool == "query_records" { answer["data"]["data"].clone() } else { answer }
        })
    };
    let (wanted, found) = (answers(&env), answers(&other));
    assert!(wanted[0].to_string().contains("needle") && wanted[1].to_string().contains("k1"), "{wanted:?}");
    assert_eq!(found, wanted);
    // Copied attachments come back, whatever became of the export.
    std::fs::remove_file(&exports[2]).unwrap();
    assert_eq!(attachments(&own(&other)), 10);
    std::fs::remove_file(&exports[3]).unwrap();
    assert_eq!(attachments(&own(&other)), 5);
    std::fs::write(&exports[2], mailbox("ana@example.org", "needle")).unwrap();
    std::fs::write(&exports[3], mailbox("bob@example.org", "thread")).unwrap();
    for path in &exports {
        // From another place, too.
        let moved = other.home().join(path.file_name().unwrap());
        std::fs::copy(path, &moved).unwrap();
        for path in [path, &moved] {
            let source = import(&other, path, &[]);
            assert_eq!(source["same"], source["read"], "{source}");
        }
    }
}

#[test]
fn o3_11_no_grant_and_no_token_comes_back() {
    let env = TestEnv::new();
    imported(&env);
    grant(&env, &["--account", "rows", "--stream", "rows"]);
    let read = || call(&env, "query_records", &json!({"stream": "rows", "limit": 1}), &[]);
    assert_ne!(read()["isError"], true);
    let (file, dir) = (env.home().join("own.tar"), own(&env));
    let told = back_up(&env, &file, &[]);
    assert!(told["backup"]["store_id"].is_string(), "{told}");
    let has_passphrase = || {
        pdpp::vault::oauth::passphrase::is_right(
            pdpp::own::open(&dir).unwrap().grants(),
            &"heron under the bridge".into(),
        )
        .unwrap()
    };
    assert!(
        pdpp::vault::oauth::passphrase::set(
            pdpp::own::open(&dir).unwrap().grants(),
            &"heron under the bridge".into()
        )
        .unwrap()
    );
    // The database of grants still exists, and so does the token on this computer.
    for name in ["own.db", "own.db-wal", "own.db-shm"] {
        let _ = std::fs::remove_file(dir.join(name));
    }
    let _ = std::fs::remove_dir_all(dir.join("blobs"));
    let told = ok(&env.run(&["provider", "restore", file.to_str().unwrap(), "--json"]));
    assert_eq!(
        told["backup"]["records"],
        content(&dir).iter().filter(|row| row.starts_with("record ")).count()
    );
    let refused = read();
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(has_passphrase(), "the passphrase for grants is no grant: it stays");
    let grants = ok(&env.run(&["provider", "grants", "--json"]));
    assert_eq!(grants["grants"], json!([]), "{grants}");
    assert_eq!(ok(&env.run(&["provider", "--json"]))["live_grants"], 0);
    assert_eq!(env.run(&["disconnect", "local", "--yes"]).code, Some(0));
    grant(&env, &["--account", "rows", "--stream", "rows"]);
    assert_ne!(read()["isError"], true);
}

#[test]
fn o3_11_a_backup_is_one_state_while_an_import_runs() {
    let env = TestEnv::new();
    let path = env.home().join("many.csv");
    std::fs::write(&path, rows(20_000)).unwrap();
    let mut child = env
        .pdpp(&["import", path.to_str().unwrap(), "--yes"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !pdpp::own::is_there(&own(&env)) || pdpp::own::open_store(&own(&env)).is_err() {
        std::thread::yield_now();
    }
    let (mut seen, mut is_over) = (Vec::new(), false);
    while !is_over {
        is_over = child.try_wait().unwrap().is_some();
        let file = env.home().join(format!("{}.tar", seen.len()));
        let told = back_up(&env, &file, &[]);
        let dir = env.home().join(format!("restored-{}", seen.len()));
        restore_here(&dir, &file, None).unwrap();
        let db = rusqlite::Connection::open(dir.join("own.db")).unwrap();
        let sql = "SELECT (SELECT count(*) FROM record), (SELECT coalesce(sum(items), 0) FROM checkpoint)";
        let counts: (i64, i64) = db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(counts.0, counts.1, "a batch and its checkpoint are one");
        assert_eq!(told["backup"]["records"], counts.0);
        seen.push(counts.0);
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(seen.is_sorted(), "{seen:?}");
    // A state in the middle is resumed.
    let dir = env.home().join("restored-0");
    let source = import(&env, &path, &["--data-dir", dir.to_str().unwrap()]);
    assert_eq!(source["read"], 20_000, "{source}");
    let records = |dir: &Path| content(dir).into_iter().filter(|row| row.starts_with("value_")).count();
    assert_eq!(records(&dir), records(&own(&env)));
}

#[test]
fn o3_11_a_file_that_is_not_a_whole_backup_is_refused_and_nothing_is_made() {
    let env = TestEnv::new();
    imported(&env);
    let file = env.home().join("own.tar");
    back_up(&env, &file, &[]);
    let whole = std::fs::read(&file).unwrap();
    let (broken, dir) = (env.home().join("broken"), env.home().join("restored"));
    let told = |bytes: &[u8]| {
        std::fs::write(&broken, bytes).unwrap();
        let told = restore_here(&dir, &broken, None).err();
        assert!(!dir.exists(), "{told:?}");
        told
    };
    for cut in [
        1,
        5,
        100,
        511,
        512,
        700,
        1024,
        1500,
        2048,
        5000,
        whole.len() / 2,
        whole.len() - 1025,
        whole.len() - 1,
    ] {
        assert_eq!(told(&whole[..cut]), Some("backup_truncated"), "{cut}");
    }
    let mut at = 0;
    while at < whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1 << (at % 8);
        let told = told(&changed);
        let is_refused = ["backup_damaged", "backup_foreign", "backup_truncated", "backup_newer"].map(Some);
        assert!(is_refused.contains(&told), "{at}: {told:?}");
        at += if at < 2600 { 37 } else { whole.len() / 60 };
    }
    assert_eq!(told(&[&whole[..], b"x"].concat()), Some("backup_damaged"));
    assert_eq!(told(&[&whole[..], &[0; 512]].concat()), Some("backup_damaged"));
    // Other files.
    assert_eq!(told(b""), Some("backup_foreign"));
    assert_eq!(told(b"some text, and more of it\n"), Some("backup_foreign"));
    assert_eq!(told(&std::fs::read(own(&env).join("own.db")).unwrap()), Some("backup_foreign"));
    assert_eq!(told(b"age-encryption.org/v1\n-> X25519 abc\nabc\n--- abc\n"), Some("backup_foreign"));
    assert_eq!(told(&vec![0; 4096]), Some("backup_foreign"));
    assert_eq!(restore_here(&dir, &env.home(), None), Err("backup_file"));
    assert_eq!(restore_here(&dir, &env.home().join("nothing"), None), Err("backup_file"));
}

/// A backup that contains `database`, as another person could make it, with `more` members after it.
fn forged(database: &[u8], change: impl Fn(&mut Value), more: &[(&str, &[u8])]) -> Vec<u8> {
    let taken = |size: usize| 512 + size.div_ceil(512) * 512;
    let bytes: usize =
        taken(database.len()) + more.iter().map(|(_, bytes)| taken(bytes.len())).sum::<usize>() + 1024;
    let mut manifest = json!({
        "kind": "backup of a pdpp store", "format": 1, "written_by": "9.9.9", "made_at": "2026-01-01T00:00:00Z",
        "store_id": null, "records": 0, "accounts": 0,
        "database": {"format": 7, "bytes": database.len(), "sha256": pdpp::hex::sha256(database)},
        "copies": {"attachments": more.len(), "bytes": more.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()},
        "left_in_place": {"attachments": 0, "bytes": 0, "exports": []}, "lost_copies": 0, "bytes": bytes,
    });
    change(&mut manifest);
    let manifest = manifest.to_string();
    let sum = format!("{}  manifest.json\n", pdpp::hex::sha256(manifest.as_bytes()));
    let mut archive = tar::Builder::new(Vec::new());
    let first = [
        ("manifest.json", manifest.as_bytes()),
        ("manifest.json.sha256", sum.as_bytes()),
        ("own.db", database),
    ];
    for (name, bytes) in first.into_iter().chain(more.iter().copied()) {
        let mut header = tar::Header::new_ustar();
        // Written directly: a library would not write a name that leads upwards.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(tar::EntryType::Regular);
        header.set_mode(0o600);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(1_767_225_600);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        archive.append(&header, bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

#[test]
fn o3_11_a_forged_backup_writes_nowhere_and_runs_nothing() {
    let env = TestEnv::new();
    let empty = env.home().join("empty");
    drop(pdpp::own::make_store(&empty).unwrap());
    let path = empty.join("own.db");
    let whole = || std::fs::read(&path).unwrap();
    let change = |sql: &str| {
        let db = rusqlite::Connection::open(&path).unwrap();
        db.execute_batch(sql).unwrap();
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    };
    let (file, dir) = (env.home().join("forged"), env.home().join("restored"));
    let told = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        let told = restore_here(&dir, &file, None).err();
        assert_eq!(dir.exists(), told.is_none(), "{told:?}");
        told
    };
    assert_eq!(told(&forged(&whole(), |_| {}, &[])), None, "the forgery is as good as one of ours");
    std::fs::remove_dir_all(&dir).unwrap();
    let hash = pdpp::hex::sha256(b"evil");
    let up = format!("blobs/../{hash}");
    for name in ["../evil", "/tmp/evil", "blobs/../../evil", "own.db", "grants.db", "blobs/evil", &up] {
        assert_eq!(told(&forged(&whole(), |_| {}, &[(name, b"evil")])), Some("backup_damaged"), "{name}");
    }
    // An attachment with the right name that nothing refers to, and one with the wrong name.
    let name = format!("blobs/{hash}");
    for bytes in [&b"evil"[..], b"evix"] {
        assert_eq!(told(&forged(&whole(), |_| {}, &[(&name, bytes)])), Some("backup_damaged"));
    }
    let size = |size: u64| move |manifest: &mut Value| manifest["database"]["bytes"] = size.into();
    for bytes in [0, 1, u64::MAX, u64::MAX / 2, 1 << 60] {
        let told = told(&forged(&whole(), size(bytes), &[]));
        assert!(matches!(told, Some("backup_damaged" | "backup_disk_full")), "{bytes}: {told:?}");
    }
    assert_eq!(
        told(&forged(&whole(), |manifest| manifest["records"] = 1.into(), &[])),
        Some("backup_damaged")
    );
    assert_eq!(
        told(&forged(&whole(), |manifest| manifest["kind"] = "other".into(), &[])),
        Some("backup_foreign")
    );
    assert_eq!(told(&forged(&whole(), |manifest| manifest["format"] = 2.into(), &[])), Some("backup_newer"));
    let newer = |manifest: &mut Value| manifest["database"]["format"] = 99.into();
    assert_eq!(told(&forged(&whole(), newer, &[])), Some("backup_newer"));
    assert_eq!(told(&forged(&vec![7; 9000], |_| {}, &[])), Some("backup_damaged"));
    for (sql, back) in [
        ("CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END", "DROP TRIGGER t"),
        ("CREATE VIEW v AS SELECT * FROM record", "DROP VIEW v"),
    ] {
        change(sql);
        assert_eq!(told(&forged(&whole(), |_| {}, &[])), Some("backup_damaged"), "{sql}");
        change(back);
    }
    change(&format!("PRAGMA application_id = {}", store::FICTION));
    assert_eq!(told(&forged(&whole(), |_| {}, &[])), Some("backup_foreign"), "a sandbox's");
    change(&format!("PRAGMA application_id = {}; DROP TABLE record", store::OWN));
    assert_eq!(told(&forged(&whole(), |_| {}, &[])), Some("backup_damaged"));
    let names: Vec<_> =
        std::fs::read_dir(env.home()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn o3_11_each_refusal_has_its_code_and_what_to_type() {
    let env = TestEnv::new();
    let file = env.home().join("own.tar");
    let name = file.to_str().unwrap();
    let run = |words: &[&str]| env.run(&[words, &["--json"]].concat());
    assert_eq!(code(&run(&["provider", "backup", name])), (Some(78), "own_missing".into()));
    imported(&env);
    let dir: PathBuf = own(&env).components().collect();
    let inside = dir.join("x.tar");
    let outside = env.home().join("not/there");
    assert_eq!(
        code(&run(&["provider", "backup", inside.to_str().unwrap()])),
        (Some(2), "backup_file".into())
    );
    assert_eq!(
        code(&run(&["provider", "backup", outside.to_str().unwrap()])),
        (Some(1), "backup_file".into())
    );
    assert_eq!(
        code(&run(&["provider", "backup", env.home().to_str().unwrap()])),
        (Some(2), "backup_file".into())
    );
    // A passphrase is only ever typed.
    let asked = env
        .pdpp(&["provider", "backup", name, "--encrypt", "--json"])
        .stdin(std::process::Stdio::piped())
        .output();
    assert_eq!(code(&Ran::from(asked.unwrap())), (Some(77), "passphrase_terminal".into()));
    assert!(!file.exists());
    std::fs::write(&file, "precious").unwrap();
    assert_eq!(code(&run(&["provider", "backup", name])), (Some(77), "backup_exists".into()));
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    back_up(&env, &file, &["--overwrite"]);
    #[cfg(unix)]
    {
        assert_eq!(mode(&file), 0o600);
        let link = env.home().join("link.tar");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let refused = run(&["provider", "backup", link.to_str().unwrap(), "--overwrite"]);
        assert_eq!(code(&refused), (Some(1), "backup_file".into()));
    }

    let refused = run(&["provider", "restore", name]);
    assert_eq!(code(&refused), (Some(77), "restore_not_empty".into()));
    let next = serde_json::from_str::<Value>(&refused.stdout).unwrap()["error"]["next"].to_string();
    assert!(
        next.contains(
            Value::from(format!(
                "pdpp provider restore {name} --data-dir {}-restored",
                dir.components().collect::<PathBuf>().display()
            ))
            .to_string()
            .trim_matches('"'),
        ),
        "{next}"
    );
    // The advice can be typed. Commands mean the same store as before.
    let beside = format!("{}-restored", dir.display());
    let restored = ok(&run(&["provider", "restore", name, "--data-dir", &beside]));
    assert_eq!((&restored["data_dir"], &restored["is_usual"]), (&beside.as_str().into(), &false.into()));
    assert_eq!(ok(&run(&["provider"]))["data_dir"], dir.display().to_string());
    // A store that others are using.
    let lock = backup::lock(&dir).unwrap();
    let here = ["--data-dir", dir.to_str().unwrap()];
    let refused = run(&[&["provider", "backup", name, "--overwrite"][..], &here].concat());
    assert_eq!(code(&refused), (Some(1), "backup_running".into()));
    let refused = run(&[&["provider", "forget", "rows", "--yes"][..], &here].concat());
    assert_eq!(code(&refused), (Some(1), "backup_running".into()));
    drop(lock);
    // An empty store counts as none, even after everything in it was forgotten.
    for account in ["rows", "notes", "ana@example.org", "bob@example.org"] {
        ok(&run(&[&["provider", "forget", account, "--yes"][..], &here].concat()));
    }
    ok(&run(&[&["provider", "restore", name][..], &here].concat()));
    assert_eq!(content(&dir), content(Path::new(&beside)));
}

#[test]
fn o3_11_a_copy_that_is_gone_or_damaged_is_named_and_the_rest_is_backed_up() {
    let env = TestEnv::new();
    imported(&env);
    let copies: Vec<_> =
        std::fs::read_dir(own(&env).join("blobs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    std::fs::remove_file(&copies[0]).unwrap();
    let mut bytes = std::fs::read(&copies[1]).unwrap();
    bytes[0] ^= 1;
    std::fs::write(&copies[1], bytes).unwrap();
    let file = env.home().join("own.tar");
    let told = back_up(&env, &file, &[]);
    assert_eq!(
        (&told["backup"]["copies"]["attachments"], &told["backup"]["lost_copies"]),
        (&json!(3), &json!(2))
    );
    let ran = env.run(&["provider", "backup", file.to_str().unwrap(), "--overwrite"]);
    assert!(ran.stdout.contains("- 2 attachments that should have a copy in the store"), "{ran:?}");
    restore_here(&env.home().join("restored"), &file, None).unwrap();
}

#[cfg(unix)]
#[test]
fn o3_11_a_passphrase_is_asked_for_at_the_terminal_and_opens_the_backup() {
    let (env, other) = (TestEnv::new(), TestEnv::new());
    imported(&env);
    let file = env.home().join("own.age");
    let name = file.to_str().unwrap();
    let mut terminal = Terminal::run(&env, &["provider", "backup", name, "--encrypt"]);
    terminal.answer("Passphrase for the backup", "short\r");
    terminal.answer("at least 8", "");
    terminal.answer("Passphrase for the backup", "another one\r");
    terminal.answer("Repeat it", "yet another\r");
    terminal.answer("The two passphrases differ", "");
    terminal.answer("Passphrase for the backup", &format!("{PASSPHRASE}xx\u{7f}\u{7f}\r"));
    terminal.answer("Repeat it", &format!("nonsense\u{15}{PASSPHRASE}\r"));
    let ran = terminal.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("Only the passphrase opens it"), "{ran:?}");
    assert!(
        !ran.stderr.contains(PASSPHRASE) && !ran.stderr.contains("yet another"),
        "nothing typed is shown: {ran:?}"
    );
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes.starts_with(b"age-encryption.org/v1\n"));
    assert!(!bytes.windows(6).any(|part| part == b"SQLite"));
    assert_eq!(leftovers(&own(&env)).len() + leftovers(&env.home()).len(), 0);

    let restore = ["provider", "restore", name, "--json"];
    let mut terminal = Terminal::run(&other, &restore);
    for _ in 0..3 {
        terminal.answer("Passphrase of the backup", "correct house\r");
        terminal.answer("The passphrase is wrong", "");
    }
    assert_eq!(code(&terminal.end()), (Some(77), "passphrase_wrong".into()));
    assert_eq!(code(&other.run(&restore)), (Some(77), "passphrase_terminal".into()));
    // Ctrl-C.
    let mut terminal = Terminal::run(&other, &restore);
    terminal.answer("Passphrase of the backup", "corr\u{3}");
    assert_eq!(code(&terminal.end()), (Some(130), "interrupted".into()));
    assert!(!own(&other).exists());
    let mut terminal = Terminal::run(&other, &restore);
    terminal.answer("Passphrase of the backup", &format!("{PASSPHRASE}\r"));
    assert_eq!(ok(&terminal.end())["encrypted"], true);
    assert_eq!(content(&own(&other)), content(&own(&env)));

    // A shortened or changed file does not open.
    let (broken, dir) = (env.home().join("broken"), env.home().join("restored"));
    let told = |bytes: &[u8]| {
        std::fs::write(&broken, bytes).unwrap();
        let told = restore_here(&dir, &broken, Some(PASSPHRASE)).err();
        assert!(!dir.exists());
        told
    };
    for cut in [10, 60, 150, 190, 40_000, bytes.len() / 2, bytes.len() - 1] {
        assert_eq!(told(&bytes[..cut]), Some("backup_truncated"), "{cut}");
    }
    for at in [bytes.len() / 2, bytes.len() - 1] {
        let mut changed = bytes.clone();
        changed[at] ^= 4;
        assert_eq!(told(&changed), Some("backup_damaged"), "{at}");
    }
}

/// What `command` leaves when `signal` stops it at a random moment of `time`; whether it was stopped.
#[cfg(unix)]
fn stopped(
    env: &TestEnv,
    words: &[&str],
    signal: rustix::process::Signal,
    time: Duration,
    random: u32,
) -> bool {
    let mut child = env
        .pdpp(words)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(time * random / 1000);
    let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal);
    child.wait().unwrap().code() != Some(0)
}

#[cfg(unix)]
#[test]
fn o3_11_whatever_stops_it_leaves_a_whole_file_or_store_or_none() {
    use rustix::process::Signal;
    let env = TestEnv::new();
    let path = env.home().join("many.csv");
    std::fs::write(&path, rows(6_000)).unwrap();
    import(&env, &path, &[]);
    let (file, dir) = (env.home().join("own.tar"), env.home().join("restored"));
    let (name, place) = (file.to_str().unwrap(), dir.to_str().unwrap());
    let began = Instant::now();
    back_up(&env, &file, &[]);
    let time = began.elapsed();
    let began = Instant::now();
    ok(&env.run(&["provider", "restore", name, "--data-dir", place, "--json"]));
    let restoring = began.elapsed();
    let wanted = content(&own(&env));
    let times = std::env::var("PDPP_KILLS").ok().and_then(|times| times.parse().ok()).unwrap_or(8_u32);
    let second = env.home().join("second.tar");
    for at in 0..times {
        let signal = if at % 2 == 0 { Signal::INT } else { Signal::KILL };
        let random = at.wrapping_mul(2_654_435_761) % 1000;
        let was = stopped(&env, &["provider", "backup", second.to_str().unwrap()], signal, time, random);
        // It may have been complete when the signal came.
        assert!(second.exists() || was, "{at}");
        if at == 0 {
            assert_eq!([leftovers(&own(&env)), leftovers(&env.home())].concat(), [""; 0], "{at}");
        }
        std::fs::remove_dir_all(&dir).unwrap();
        if second.exists() {
            restore_here(&dir, &second, None).unwrap();
            std::fs::remove_dir_all(&dir).unwrap();
            std::fs::remove_file(&second).unwrap();
        }
        let was =
            stopped(&env, &["provider", "restore", name, "--data-dir", place], signal, restoring, random);
        if pdpp::own::is_there(&dir) {
            assert_eq!(content(&dir), wanted, "{at} {was}");
            continue;
        }
        assert!(was, "{at}");
        assert!(signal == Signal::KILL || !dir.exists(), "{at}: {:?}", std::fs::read_dir(&dir));
        // The same command, again.
        restore_here(&dir, &file, None).unwrap();
        assert_eq!(content(&dir), wanted, "{at}");
        assert_eq!(leftovers(&dir), [""; 0], "{at}");
    }
    // The next run removes what a kill left.
    back_up(&env, &second, &[]);
    assert_eq!([leftovers(&own(&env)), leftovers(&env.home())].concat(), [""; 0]);
}

#[test]
fn o3_11_a_restore_takes_the_place_of_nothing_and_of_no_store_that_is_served() {
    let env = TestEnv::new();
    let path = env.home().join("rows.csv");
    std::fs::write(&path, rows(20)).unwrap();
    import(&env, &path, &[]);
    let file = env.home().join("own.tar");
    back_up(&env, &file, &[]);
    let restore = |dir: &Path| {
        let opened = backup::open(&file, &file).unwrap();
        let watch = Watch { stop: &AtomicBool::new(false), say: &|_| {} };
        backup::restore(dir, &opened, &watch).map(drop).map_err(|error| error.code())
    };
    // A store whose database was moved away: the rest may be all that is left.
    let dir = env.home().join("parts");
    restore(&dir).unwrap();
    std::fs::remove_file(dir.join("own.db")).unwrap();
    let blobs = dir.join("blobs");
    pdpp::fs::PrivateDir::create(&blobs).unwrap().write("photo.jpg", b"a copy").unwrap();
    assert_eq!(restore(&dir), Err("restore_not_empty"));
    assert_eq!(std::fs::read(blobs.join("photo.jpg")).unwrap(), b"a copy");
    std::fs::remove_dir_all(&blobs).unwrap();
    std::fs::write(dir.join("own.db-wal"), b"what was not written home").unwrap();
    assert_eq!(restore(&dir), Err("restore_not_empty"));
    assert!(dir.join("own.db-wal").exists());
    std::fs::remove_file(dir.join("own.db-wal")).unwrap();
    restore(&dir).unwrap();
    // An empty store that is being served stays the same store.
    let empty = env.home().join("empty");
    drop(pdpp::own::make_store(&empty).unwrap());
    let listen = "127.0.0.1:0".parse().unwrap();
    let served = pdpp::own::serve(&empty, false, listen, None, Announce::default(), None).unwrap();
    assert_eq!(restore(&empty), Err("own_in_use"));
    served.stop();
    restore(&empty).unwrap();
}

#[cfg(unix)]
#[test]
fn o3_11_a_full_disk_leaves_nothing() {
    let env = TestEnv::new();
    let path = env.home().join("many.csv");
    std::fs::write(&path, rows(3_000)).unwrap();
    import(&env, &path, &[]);
    let file = env.home().join("own.tar");
    back_up(&env, &file, &[]);
    let limited = |blocks: usize, words: &[&str]| {
        // With a limit on the size of files a write fails as on a full disk, for root too.
        let line = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let command = env.pdpp(&[]);
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &line]).arg(command.get_program()).args(words).env_clear();
        shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Ran::from(shell.stdin(std::process::Stdio::null()).output().unwrap())
    };
    let blocks = usize::try_from(std::fs::metadata(&file).unwrap().len() / 512).unwrap();
    let (second, dir) = (env.home().join("second.tar"), env.home().join("restored"));
    for part in [64, blocks / 3, blocks - 2] {
        let ran = limited(part, &["provider", "backup", second.to_str().unwrap()]);
        assert_eq!(ran.code, Some(1), "{part}: {ran:?}");
        assert!(!second.exists() && ran.stderr.contains("next: "), "{part}: {ran:?}");
        assert_eq!(leftovers(&own(&env)).len() + leftovers(&env.home()).len(), 0, "{part}");
        let ran = limited(
            part,
            &["provider", "restore", file.to_str().unwrap(), "--data-dir", dir.to_str().unwrap()],
        );
        if part < blocks / 2 {
            assert_eq!(ran.code, Some(1), "{part}: {ran:?}");
            assert!(!dir.exists() && ran.stderr.contains("next: "), "{part}: {ran:?}");
        }
    }
}
