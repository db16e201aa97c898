//! The difficult files, for every host and every verb.

#[cfg(unix)]
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::{HOSTS, Kind, chokes_on_bom, setup};
use crate::support::env::TestEnv;

/// A file as a person leaves it, with another server in it if there is room for one.
struct Trap {
    name: &'static str,
    text: String,
    /// The output of `setup`, and what is left after `--remove` if the bytes differ.
    refused: Option<&'static str>,
}

fn traps(host: &str, kind: Kind, chokes_on_bom: bool) -> Vec<Trap> {
    let ok = |name, text: String| Trap { name, text, refused: None };
    let no = |name, text: String, code| Trap { name, text, refused: Some(code) };
    let long_line = format!("\"{}\",\n", "what was typed long ago ".repeat(43));
    // As large as Claude Code's file becomes, for one host per format; it takes seconds.
    let is_same_format = |other: Kind| std::mem::discriminant(&other) == std::mem::discriminant(&kind);
    let is_first =
        HOSTS.iter().find(|(_, _, other)| is_same_format(*other)).is_some_and(|first| first.0 == host);
    let (large, long_lines) = if is_first { ("1.8 MB", 1800) } else { ("200 KB", 200) };
    let mut traps = match kind {
        Kind::Json(key) | Kind::Jsonc(key) => {
            let other = format!(
                "{{\n  \"{key}\": {{\n    \"other\": {{\"command\": \"x\", \"n\": 1.10}}\n  }}\n}}\n"
            );
            let comments =
                format!("// c\n{{\n  \"{key}\": {{ // d\n    \"other\": {{}}, /* e */\n  }},\n}}\n");
            let strict = matches!(kind, Kind::Json(_));
            vec![
                ok("empty", String::new()),
                ok("{}", "{}".to_owned()),
                ok("other servers", other.clone()),
                ok("CRLF", other.replace('\n', "\r\n")),
                ok("tabs", other.replace("  ", "\t")),
                ok("null", format!("{{\n  \"{key}\": null\n}}\n")),
                ok("empty on two lines", format!("{{\n\t\"{key}\": {{\n\t}}\n}}\n")),
                ok("one line", format!("{{\"a\":1,\"{key}\":{{\"other\":{{}}}}}}")),
                ok(large, format!("{{\"big\": [{}\"\"],\n \"{key}\": {{}}}}", long_line.repeat(long_lines))),
                if strict {
                    no("comments and trailing commas", comments, "config_damaged")
                } else {
                    ok("comments and trailing commas", comments)
                },
                no("duplicate keys", format!("{{\"{key}\": {{}}, \"{key}\": {{}}}}"), "config_damaged"),
                no("wrong type", format!("{{\"{key}\": []}}"), "config_damaged"),
                no("wrong root", "[]".to_owned(), "config_damaged"),
                no("unparsable", "{\"a\": ".to_owned(), "config_damaged"),
                no(
                    "same name, other content",
                    format!("{{\"{key}\": {{\"pdpp\": {{\"command\": \"npx\"}}}}}}"),
                    "entry_not_ours",
                ),
            ]
        }
        Kind::Toml => {
            let other = "# top\nmodel = \"m\" # why\n\n[mcp_servers.other]\ncommand = \"x\" # y\n".to_owned();
            vec![
                ok("empty", String::new()),
                ok("other servers", other.clone()),
                ok("CRLF", other.replace('\n', "\r\n")),
                ok("inline table", "mcp_servers = { other = { command = \"x\" } }\n".to_owned()),
                ok(
                    "inline comments",
                    "mcp_servers = {\n  other = { command = \"x\" }, # y\n  # z\n}\n".to_owned(),
                ),
                ok("dotted keys", "mcp_servers.other.command = \"x\" # y\n".to_owned()),
                ok("tabs", "[mcp_servers.other]\n\tcommand = \"x\"\n".to_owned()),
                ok(large, format!("{}[mcp_servers.other]\n", format!("# {long_line}").repeat(long_lines))),
                no("duplicate keys", "a = 1\na = 2\n".to_owned(), "config_damaged"),
                no("wrong type", "mcp_servers = []\n".to_owned(), "config_damaged"),
                no("unparsable", "[mcp_servers\n".to_owned(), "config_damaged"),
                no(
                    "same name, other content",
                    "[mcp_servers.pdpp]\nurl = \"https://a.example\"\n".to_owned(),
                    "entry_not_ours",
                ),
            ]
        }
        Kind::Yaml => {
            let other =
                "# top\nGOOSE_MODEL: m # why\nextensions:\n  other:\n    cmd: x # y\n\n# end\n".to_owned();
            vec![
                ok("empty", String::new()),
                ok("{}", "{}".to_owned()),
                ok("other servers", other.clone()),
                ok("CRLF", other.replace('\n', "\r\n")),
                ok(large, format!("{}{other}", format!("# {long_line}").repeat(long_lines))),
                no("tabs", "extensions:\n\tother: {}\n".to_owned(), "config_damaged"),
                no("duplicate keys", "a: 1\na: 2\n".to_owned(), "config_damaged"),
                no("wrong type", "extensions: [a]\n".to_owned(), "config_damaged"),
                no("wrong root", "- a\n".to_owned(), "config_damaged"),
                no("two documents", "a: 1\n---\nb: 1\n".to_owned(), "config_damaged"),
                no("end marker", "a: 1\n...\n".to_owned(), "config_damaged"),
                no("alias", "x: &x {a: 1}\nextensions: *x\n".to_owned(), "config_damaged"),
                no("unparsable", "a: [\n".to_owned(), "config_damaged"),
                no(
                    "same name, other content",
                    "extensions:\n  pdpp:\n    cmd: npx\n".to_owned(),
                    "entry_not_ours",
                ),
            ]
        }
    };
    if !chokes_on_bom {
        let with_bom = traps[1].text.clone();
        traps.push(ok("byte order mark", format!("\u{feff}{with_bom}")));
    }
    traps
}

fn place(env: &TestEnv, path: &str) -> PathBuf {
    let file = env.home().join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    file
}

fn files_around(file: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(file.parent().unwrap()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn r8_2_every_host_and_verb_keeps_what_a_person_wrote() {
    std::thread::scope(|scope| {
        for hosts in HOSTS.chunks(3) {
            scope.spawn(move || hosts.iter().for_each(|host| keeps(*host)));
        }
    });
}

fn keeps((host, path, kind): (&str, &str, Kind)) {
    for trap in traps(host, kind, chokes_on_bom(host)) {
        let env = TestEnv::new();
        let file = place(&env, path);
        let what = format!("{host}, {}", trap.name);
        std::fs::write(&file, &trap.text).unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let bytes = || std::fs::read_to_string(&file).unwrap();

        let (code, dry) = setup(&env, &[host, "--dry-run"]);
        assert_eq!(bytes(), trap.text, "{what}: a dry run");
        if let Some(refused) = trap.refused {
            assert_eq!((code, &dry["error"]["code"]), (Some(1), &refused.into()), "{what}: {dry}");
            let (code, outcome) = setup(&env, &[host]);
            assert_eq!((code, &outcome["error"]["code"]), (Some(1), &refused.into()), "{what}: {outcome}");
            assert_eq!(bytes(), trap.text, "{what}");
            assert_eq!(files_around(&file).iter().filter(|name| name.contains("pdpp-")).count(), 0, "{what}");
            if refused == "entry_not_ours" {
                let (code, outcome) = setup(&env, &[host, "--yes"]);
                assert_eq!((code, &outcome["action"]), (Some(0), &"updated".into()), "{what}: {outcome}");
            }
            continue;
        }
        assert_eq!((code, &dry["action"]), (Some(0), &"added".into()), "{what}: {dry}");
        let (code, outcome) = setup(&env, &[host]);
        assert_eq!((code, &outcome["action"]), (Some(0), &"added".into()), "{what}: {outcome}");
        assert_eq!(outcome["diff"], dry["diff"], "{what}");
        #[cfg(unix)]
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o640, "{what}");
        let backup = outcome["backup"].as_str().unwrap_or_else(|| panic!("{what}: {outcome}"));
        assert_eq!(std::fs::read_to_string(backup).unwrap(), trap.text, "{what}");
        let added = bytes();
        let (code, outcome) = setup(&env, &[host]);
        assert_eq!((code, &outcome["action"]), (Some(0), &"unchanged".into()), "{what}: {outcome}");
        assert_eq!(bytes(), added, "{what}");
        let (code, outcome) = setup(&env, &[host, "--remove"]);
        assert_eq!((code, &outcome["action"]), (Some(0), &"removed".into()), "{what}: {outcome}");
        assert_eq!(bytes(), trap.text, "{what}: remove after add");
        let (_, outcome) = setup(&env, &[host, "--remove"]);
        assert_eq!(outcome["action"], "absent", "{what}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_what_must_not_be_written_is_not() {
    for (host, path, _) in HOSTS {
        let env = TestEnv::new();
        let file = place(&env, path);
        // A link of a dotfile manager.
        let real = env.home().join("dotfiles/config");
        std::fs::create_dir(real.parent().unwrap()).unwrap();
        std::fs::write(&real, "").unwrap();
        symlink(&real, &file).unwrap();
        let (code, outcome) = setup(&env, &[host]);
        assert_eq!((code, &outcome["action"]), (Some(0), &"added".into()), "{host}: {outcome}");
        assert!(file.is_symlink(), "{host}");
        assert!(std::fs::read_to_string(&real).unwrap().contains("pdpp"), "{host}");
        assert!(
            outcome["backup"].as_str().unwrap().contains("/dotfiles/config.pdpp-backup-"),
            "{host}: {outcome}"
        );

        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o444)).unwrap();
        let before = std::fs::read(&real).unwrap();
        let (code, outcome) = setup(&env, &[host, "--remove"]);
        assert_eq!(
            (code, &outcome["error"]["code"]),
            (Some(1), &"config_unwritable".into()),
            "{host}: {outcome}"
        );
        assert_eq!(std::fs::read(&real).unwrap(), before, "{host}");
        let (code, _) = setup(&env, &[host]);
        assert_eq!(code, Some(0), "{host}: as wanted already, so nothing has to be written");

        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::remove_file(&real).unwrap();
        let (code, outcome) = setup(&env, &[host]);
        assert_eq!(
            (code, &outcome["error"]["code"]),
            (Some(1), &"config_unreadable".into()),
            "{host}: {outcome}"
        );
        assert!(!real.exists() && file.is_symlink(), "{host}");

        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        let (code, outcome) = setup(&env, &[host]);
        assert_eq!(
            (code, &outcome["error"]["code"]),
            (Some(1), &"config_unreadable".into()),
            "{host}: {outcome}"
        );
    }
}

#[test]
fn a_file_that_was_made_is_the_owners_alone_and_goes_with_the_entry() {
    for (host, path, _) in HOSTS {
        let env = TestEnv::new();
        let (code, outcome) = setup(&env, &[host]);
        assert_eq!((code, &outcome["action"]), (Some(0), &"added".into()), "{host}: {outcome}");
        assert_eq!(env.files(), [path], "{host}");
        #[cfg(unix)]
        assert_eq!(std::fs::metadata(env.home().join(path)).unwrap().mode() & 0o777, 0o600, "{host}");
        let (_, outcome) = setup(&env, &[host, "--remove"]);
        assert_eq!(outcome["action"], "removed", "{host}: {outcome}");
        assert!(!env.home().join(path).exists(), "{host}");
    }
}

/// Folders below the home directory, without this program's own.
fn folders(env: &TestEnv) -> Vec<std::path::PathBuf> {
    let (mut found, mut next) = (Vec::new(), vec![env.home().clone()]);
    while let Some(dir) = next.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() && !entry.path().starts_with(env.cache_dir()) {
                found.push(entry.path());
                next.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_folders_that_were_made_for_a_file_go_with_it_and_no_others() {
    for (host, path, _) in HOSTS {
        let env = TestEnv::new();
        // Whatever else a first command makes.
        setup(&env, &[host, "--dry-run"]);
        let before = folders(&env);
        let (_, outcome) = setup(&env, &[host]);
        assert_eq!(outcome["action"], "added", "{host}: {outcome}");
        // The note of them does not change the entry.
        let (_, outcome) = setup(&env, &[host]);
        assert_eq!(outcome["action"], "unchanged", "{host}: {outcome}");
        let ran = env.run(&["mcp", "setup", host, "--remove"]);
        assert!(ran.stdout.contains("and deleted ") && !ran.stdout.contains(" from "), "{host}: {ran:?}");
        assert_eq!(folders(&env), before, "{host}");
        // An older folder stays, even if it is empty.
        let dir = place(&env, path).parent().unwrap().to_owned();
        setup(&env, &[host]);
        setup(&env, &[host, "--remove"]);
        assert!(dir.exists() && !env.home().join(path).exists(), "{host}");
    }
}

#[test]
fn a_byte_order_mark_is_left_out_where_the_host_refuses_it_and_that_is_reported() {
    for (host, path, _) in HOSTS.into_iter().filter(|(host, ..)| chokes_on_bom(host)) {
        let env = TestEnv::new();
        let file = place(&env, path);
        std::fs::write(&file, "\u{feff}{\"a\": 1}").unwrap();
        let (code, outcome) = setup(&env, &[host]);
        assert_eq!((code, &outcome["action"]), (Some(0), &"added".into()), "{host}: {outcome}");
        assert!(outcome["notes"][0].as_str().unwrap().contains("byte order mark"), "{host}: {outcome}");
        let added = std::fs::read_to_string(&file).unwrap();
        assert!(added.starts_with("{\"a\""), "{host}: {added}");
        // An editor restores it: the entry is right, but the host refuses the file.
        std::fs::write(&file, format!("\u{feff}{added}")).unwrap();
        let overview = env.run(&["mcp", "setup"]);
        assert!(overview.stdout.contains("begins with a byte order mark"), "{overview:?}");
        let (_, outcome) = setup(&env, &[host]);
        assert_eq!(outcome["action"], "updated", "{host}: {outcome}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), added, "{host}");
    }
}

#[test]
fn the_overview_says_which_file_is_damaged_and_where() {
    for (host, path, kind) in HOSTS {
        let env = TestEnv::new();
        let file = place(&env, path);
        for trap in traps(host, kind, true).into_iter().filter(|trap| trap.refused == Some("config_damaged"))
        {
            std::fs::write(&file, &trap.text).unwrap();
            let ran = env.run(&["mcp", "setup", "--json"]);
            let outcome = super::json_of(&ran);
            let shown =
                outcome["hosts"].as_array().unwrap().iter().find(|shown| shown["host"] == host).unwrap();
            assert_eq!(shown["configured"], "damaged", "{host}, {}: {shown}", trap.name);
            assert!(
                shown["line"].is_number() && shown["column"].is_number(),
                "{host}, {}: {shown}",
                trap.name
            );
            let ran = env.run(&["mcp", "setup"]);
            let (line, column) = (&shown["line"], &shown["column"]);
            let at = format!("line {line}, column {column}");
            assert!(ran.stdout.contains("its config is damaged") && ran.stdout.contains(&at), "{ran:?}");
        }
    }
}
