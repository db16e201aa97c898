use std::path::Path;

use serde_json::{Value, json};

use super::document::BOM;
use super::edit::Format;
use super::entry::Entry;
use super::job::{Narrowed, file_of};
use super::paths::Platform;
use super::paths::tests::machine;
use super::*;
use crate::fs::foreign::ForeignError;

fn entry() -> Entry {
    Entry { program: "/usr/local/bin/pdpp".to_owned(), arguments: vec!["mcp".to_owned(), "serve".to_owned()] }
}

pub(super) fn job(id: &str) -> Job<'static> {
    let host = clients::host(id).unwrap();
    Job { host, scope: Scope::User, name: NAME, entry: Some(entry()), any_entry: false }
}

impl Job<'_> {
    /// The edit, without any backup.
    pub(super) fn edit(&self, file: &Path, old: Option<Vec<u8>>) -> Result<Plan> {
        self.edit_beside(file, old, &Vec::new)
    }
}

/// Each host's whole entry, in a file made for it.
#[test]
fn r8_2_each_host_gets_one_recommended_entry() {
    let all: Vec<_> =
        clients::HOSTS.iter().map(|host| format!("--- {}\n{}", host.id, job(host.id).snippet())).collect();
    let all = all.concat();
    insta::assert_snapshot!(all);
    // No secret, no environment, no directory, no variable.
    for word in ["env", "cwd", "${", "token", "profile"] {
        assert!(!all.to_lowercase().contains(word), "{word} in {all}");
    }
}

#[test]
fn r8_3_an_owner_credential_in_the_config_stops_it() {
    for (id, text) in [
        ("cursor", r#"{"mcpServers": {"x": {"command": "y", "env": {"PDPP_OWNER_TOKEN": "z"}}}}"#),
        ("cursor", r#"{"mcpServers": {"x": {"command": "env", "args": ["PDPP_OWNER_TOKEN=z", "y"]}}}"#),
        ("claude", r#"{"projects": {"/p": {"mcpServers": {"x": {"env": {"pdpp_control_key": "z"}}}}}}"#),
        ("codex", "[shell_environment_policy.set]\nPDPP_CONTROL_PLANE = \"z\"\n"),
        ("goose", "extensions:\n  x:\n    envs: {PDPP_OWNER_X: z}\n"),
    ] {
        let error = job(id).edit(Path::new("f"), Some(text.into())).unwrap_err();
        assert_eq!((error.code(), error.kind().exit_code()), ("owner_credential_in_config", 77), "{text}");
        assert!(!format!("{error:?}").contains(" z"), "the value is not repeated: {error:?}");
    }
    // Removing our own entry is always allowed.
    let both = r#"{"mcpServers": {"x": {"env": {"PDPP_OWNER_TOKEN": "z"}}, "pdpp": {"command": "pdpp", "args": ["mcp", "serve"]}}}"#;
    let removal = Job { entry: None, ..job("cursor") };
    assert_eq!(removal.edit(Path::new("f"), Some(both.into())).unwrap().action, Action::Removed);
    // A name in an old prompt is not a credential.
    let harmless = r#"{"history": ["PDPP_OWNER_TOKEN is what?"], "mcpServers": {}}"#;
    assert!(job("claude").edit(Path::new("f"), Some(harmless.into())).is_ok());
}

#[test]
fn an_entry_that_starts_something_else_is_not_replaced_unasked() {
    let text = r#"{"mcpServers": {"pdpp": {"command": "npx", "args": ["pdpp", "mcp"]}}}"#;
    let error = job("cursor").edit(Path::new("f"), Some(text.into())).unwrap_err();
    assert_eq!(error.code(), "entry_not_ours");
    let asked = Job { any_entry: true, ..job("cursor") };
    assert_eq!(asked.edit(Path::new("f"), Some(text.into())).unwrap().action, Action::Updated);
    let taken = Job { entry: None, ..job("cursor") };
    assert_eq!(taken.edit(Path::new("f"), Some(text.into())).unwrap_err().code(), "entry_not_ours");
    let older =
        r#"{"mcpServers": {"pdpp": {"command": "/old/pdpp", "args": ["mcp", "serve"], "env": {"A": "1"}}}}"#;
    let plan = job("cursor").edit(Path::new("f"), Some(older.into())).unwrap();
    assert_eq!(plan.action, Action::Updated);
    let new = String::from_utf8(plan.new.unwrap()).unwrap();
    assert_eq!(new, older.replace("/old/pdpp", "/usr/local/bin/pdpp"));
    // A remote server in addition to our command, or a command under another host's key: it is unclear what a
    // host starts.
    for (id, mixed) in [
        (
            "cursor",
            r#"{"mcpServers": {"pdpp": {"url": "https://a.example", "command": "pdpp", "args": ["mcp", "serve"]}}}"#,
        ),
        ("opencode", r#"{"mcp": {"pdpp": {"type": "local", "command": "pdpp", "args": ["mcp", "serve"]}}}"#),
        ("goose", "extensions: {pdpp: {command: pdpp, args: [mcp, serve]}}\n"),
        (
            "cline",
            r#"{"mcpServers": {"pdpp": {"command": "pdpp", "args": ["mcp", "serve"], "transport": {"type": "sse", "url": "https://a.example"}}}}"#,
        ),
        (
            "antigravity",
            r#"{"mcpServers": {"pdpp": {"serverUrl": "https://a.example", "command": "pdpp", "args": ["mcp", "serve"]}}}"#,
        ),
    ] {
        let edit = |job: Job<'_>| job.edit(Path::new("f"), Some(mixed.into()));
        assert_eq!(edit(job(id)).unwrap_err().code(), "entry_not_ours", "{id}");
        let plan = edit(Job { any_entry: true, ..job(id) }).unwrap();
        let entry = String::from_utf8(plan.new.unwrap()).unwrap();
        assert!(!entry.contains("url") && entry.contains("/usr/local/bin/pdpp"), "replaced whole: {entry}");
    }
}

#[test]
fn a_byte_order_mark_is_read_and_kept_but_where_the_host_is_known_to_refuse_it() {
    for host in clients::HOSTS {
        let text = match host.format {
            Format::Json | Format::Jsonc => "{}",
            Format::Toml | Format::Yaml => "a = 1\n",
        };
        let text = if host.format == Format::Yaml { "a: 1\n" } else { text };
        let plan = job(host.id).edit(Path::new("f"), Some(format!("{BOM}{text}").into())).unwrap();
        let new = String::from_utf8(plan.new.unwrap()).unwrap();
        assert_eq!(new.starts_with(BOM), !host.chokes_on_bom, "{}", host.id);
        assert_eq!(plan.notes.len(), usize::from(host.chokes_on_bom), "{:?}", plan.notes);
        // A correct entry is useless in a file that the host refuses.
        let with_bom = format!("{BOM}{}", new.trim_start_matches(BOM));
        let plan = job(host.id).edit(Path::new("f"), Some(with_bom.into())).unwrap();
        let expected = if host.chokes_on_bom { Action::Updated } else { Action::Unchanged };
        assert_eq!(plan.action, expected, "{}", host.id);
        // The mark comes back if the file had it before the entry, whatever has changed since; removing the entry
        // keeps an existing mark.
        let original = format!("{BOM}{text}");
        let out = Job { entry: None, ..job(host.id) };
        let (with, without) = (original.as_str(), text);
        for (backups, left) in [
            (&[with][..], with),
            (&[new.as_str(), with], with),
            // Its owner took it out, and then setup added the entry again.
            (&[without, with], without),
            (&["not a settings file: {"], without),
            (&[], without),
        ] {
            let backups = || backups.iter().map(|backup| backup.as_bytes().to_vec()).collect();
            let plan = out.edit_beside(Path::new("f"), Some(new.clone().into()), &backups).unwrap();
            let expected = if host.chokes_on_bom { left } else { &original };
            assert_eq!(String::from_utf8(plan.new.unwrap()).unwrap(), expected, "{}", host.id);
        }
        let with_bom = format!("{BOM}{}", new.trim_start_matches(BOM));
        let plan = out.edit(Path::new("f"), Some(with_bom.into())).unwrap();
        assert_eq!(String::from_utf8(plan.new.unwrap()).unwrap(), original, "{}", host.id);
    }
}

#[test]
fn a_damaged_file_is_refused_with_a_snippet_to_paste() {
    let error = job("gemini").edit(Path::new("/h/settings.json"), Some("{\n  oops\n".into())).unwrap_err();
    assert_eq!(error.code(), "config_damaged");
    assert!(error.causes().next().unwrap().contains("line 2, column 3"), "{error:?}");
    assert!(error.next_step().unwrap().contains("\"command\": \"/usr/local/bin/pdpp\""), "{error:?}");
    for (bytes, why) in [
        (vec![0xff, 0xfe, b'a', 0], "it is UTF-16: save it as UTF-8"),
        (b"a = 1\nb = \"\xff\"\n".to_vec(), "line 2, column 6: it is not UTF-8"),
    ] {
        let error = job("codex").edit(Path::new("f"), Some(bytes)).unwrap_err();
        assert_eq!((error.code(), error.causes().next().as_deref()), ("config_damaged", Some(why)));
    }
}

#[test]
fn why_a_file_is_left_alone_is_said_once_with_a_step_that_fits() {
    let kind = |kind| ForeignError::Io("/h/.cursor/mcp.json".into(), std::io::Error::from(kind));
    let link = if cfg!(windows) { "Remove the link: del \"/h/a b\"" } else { "Remove the link: rm '/h/a b'" };
    for (error, code, step) in [
        (ForeignError::Loop("/h/a b".into()), "config_unreadable", link),
        (
            kind(std::io::ErrorKind::PermissionDenied),
            "config_unwritable",
            "chmod u+rwx /h/.cursor, or paste the entry: pdpp mcp setup cursor --print",
        ),
        (
            kind(std::io::ErrorKind::StorageFull),
            "config_unwritable",
            "Free some space on that disk, or paste the entry: pdpp mcp setup cursor --print",
        ),
    ] {
        let error = job("cursor").left_alone(error);
        assert_eq!((error.code(), error.next_step()), (code, Some(step.to_owned())));
        assert_eq!(error.causes().count(), 1, "{error:?}");
    }
}

#[test]
fn a_diff_shows_no_value_of_another_entry() {
    let own = r#""pdpp": {"command": "/old/pdpp", "args": ["mcp", "serve", "--proxy", "http://u:canary@p.test"], "env": {"K": "canary"}}"#;
    let others = r#""other": {"command": "canary", "env": {"TOKEN": "canary"}, "headers": {"A": "Bearer canary"}}, "n": 4711"#;
    for (id, text) in [
        ("cursor", format!("{{\"mcpServers\": {{{others}}}}}")),
        ("cursor", format!("{{\"mcpServers\": {{{own}, {others}}}}}")),
        ("cursor", format!("{{\n// canary\n\"mcpServers\": {{\n{own},\n{others}\n}}}}")),
        ("cursor", "{\n  \"key\": \"canary\"\n}".to_owned()),
        ("codex", "key = \"canary\" # canary\n[mcp_servers.other.env]\nTOKEN = 'canary'\n[mcp_servers.other.http_headers]\nA = \"\"\"\ncanary\"\"\"".to_owned()),
        ("goose", "key: canary # canary\nextensions:\n  other:\n    envs:\n      TOKEN: canary x\n    uri: https://u:canary@x.test\n".to_owned()),
    ] {
        let plan = job(id).edit(Path::new("f"), Some(text.clone().into())).unwrap();
        assert!(!plan.diff.contains("canary") && !plan.diff.contains("4711"), "{}", plan.diff);
        assert!(plan.diff.contains("/usr/local/bin/pdpp") && plan.diff.contains("\"serve\""), "{}", plan.diff);
        let added = String::from_utf8(plan.new.unwrap()).unwrap();
        let removal = Job { entry: None, ..job(id) };
        let plan = removal.edit(Path::new("f"), Some(added.into())).unwrap();
        assert!(!plan.diff.contains("canary") && plan.diff.contains("/usr/local/bin/pdpp"), "{}", plan.diff);
    }
    // An entry that starts something else belongs to someone else.
    let theirs = r#"{"mcpServers": {"pdpp": {"command": "npx", "args": ["canary"]}}}"#;
    let asked = Job { any_entry: true, ..job("cursor") };
    let plan = asked.edit(Path::new("f"), Some(theirs.into())).unwrap();
    assert!(!plan.diff.contains("canary"), "{}", plan.diff);
}

#[test]
fn an_entry_that_somebody_wrote_over_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let machine = machine(Platform::Linux, dir.path());
    let job = job("cursor");
    assert!(!job.is_in_place(&machine));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let done = runtime.block_on(job.apply(&machine)).unwrap();
    assert_eq!(done.plan.action, Action::Added);
    assert!(job.is_in_place(&machine));
    #[allow(clippy::disallowed_methods, reason = "another program's write")]
    std::fs::write(job.file(&machine).unwrap(), "{}").unwrap();
    assert!(!job.is_in_place(&machine));
    // Only this is reported, whatever else could not be proven.
    let error = Error::failed("config_busy", "another program has overwritten f, and the new entry is gone");
    let mut report = Report {
        host: job.host,
        name: job.name.to_owned(),
        scope: job.scope,
        done,
        dry_run: false,
        proof: Some(Proof::Overwritten(error)),
        check: None,
        rolled_back: false,
        warnings: Vec::new(),
    };
    let said = |report: &Report| format!("{}\n{}", report.failure().unwrap(), report.to_text());
    let text = said(&report);
    assert!(text.contains("has overwritten") && !text.contains("still in the file"), "{text}");
    // If the entry is in the file but does not start, the report says that it is still there.
    report.proof = Some(Proof::Failed(Error::failed("x", "it did not start")));
    let text = said(&report);
    assert!(text.contains("the entry is still in the file") && !text.contains("overwritten"), "{text}");
    report.rolled_back = true;
    let text = said(&report);
    assert!(text.contains("the change was undone") && !text.contains("still in the file"), "{text}");
}

#[test]
fn names_are_what_every_host_takes() {
    assert!(is_name("pdpp") && is_name("my-data_2"));
    for name in ["", "a b", "a.b", "ä", "a/b", "--help", "-p", &"x".repeat(41)] {
        assert!(!is_name(name), "{name}");
    }
}

#[test]
fn project_files_are_below_the_current_directory() {
    let machine = machine(Platform::Linux, Path::new("/h"));
    let file = |id: &str| file_of(clients::host(id).unwrap(), &machine, Scope::Project);
    assert_eq!(file("codex"), Some("/h/project/.codex/config.toml".into()));
    assert_eq!(file("windsurf"), None);
}

#[test]
fn what_a_person_narrowed_or_switched_off_is_known() {
    let entry = |extra: Value| {
        let mut entry = json!({"command": "/usr/bin/pdpp", "args": ["mcp", "serve"]});
        entry.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        entry
    };
    for narrowed in [
        json!({"args": ["mcp", "serve", "--grant", "g"]}),
        json!({"args": ["mcp", "serve", "--provider=https://a.example"]}),
        json!({"disabled": true}),
        json!({"enabled": false}),
    ] {
        assert!(Narrowed::of(&entry(narrowed)).is_some());
    }
    for plain in
        [json!({}), json!({"enabled": true}), json!({"args": ["mcp", "serve", "--cache-dir", "--x"]})]
    {
        assert_eq!(Narrowed::of(&entry(plain)), None);
    }
}

/// A checkout brings an entry that starts this program with its own settings.
#[test]
fn what_a_project_brings_along_is_kept_only_if_asked() {
    let brought = [
        (
            "cursor",
            r#"{"mcpServers": {"pdpp": {"command": "pdpp", "args": ["mcp", "serve", "--proxy", "http://p.example:1"], "env": {"LD_PRELOAD": "/x.so"}}}}"#,
        ),
        (
            "vscode",
            r#"{"servers": {"pdpp": {"type": "stdio", "command": "pdpp", "args": ["mcp", "serve", "--proxy", "http://p.example:1"], "env": {"LD_PRELOAD": "/x.so"}}}}"#,
        ),
        (
            "opencode",
            r#"{"mcp": {"pdpp": {"type": "local", "command": ["pdpp", "mcp", "serve", "--proxy", "http://p.example:1"], "environment": {"LD_PRELOAD": "/x.so"}}}}"#,
        ),
        (
            "codex",
            "[mcp_servers.pdpp]\ncommand = 'pdpp'\nargs = ['mcp', 'serve', '--proxy', 'http://p.example:1']\nenv = { LD_PRELOAD = '/x.so' }\n",
        ),
    ];
    for (host, text) in brought {
        let project = Job { scope: Scope::Project, ..job(host) };
        let error = project.edit(Path::new("f"), Some(text.into())).unwrap_err();
        assert_eq!((error.code(), error.kind().exit_code()), ("entry_keeps_settings", 1), "{host}");
        let lines: Vec<_> = error.message().lines().map(str::trim).collect();
        assert!(
            lines.ends_with(&["--proxy http://p.example:1", "the variable LD_PRELOAD"]),
            "{host}: {lines:?}"
        );
        // The person was shown these settings now; for a person's own file they are always shown.
        for allowed in [Job { any_entry: true, ..project.clone() }, job(host)] {
            let plan = allowed.edit(Path::new("f"), Some(text.into())).unwrap();
            assert!(
                plan.notes.iter().any(|note| note.ends_with(": the variable LD_PRELOAD")),
                "{:?}",
                plan.notes
            );
            assert_eq!(plan.start.variables, [("LD_PRELOAD".to_owned(), "/x.so".to_owned())], "{host}");
        }
        // An entry that needs no change starts the same way.
        let same = text.replace("\"pdpp\", \"mcp\"", "\"/usr/local/bin/pdpp\", \"mcp\"");
        let same = same.replace("\"command\": \"pdpp\"", "\"command\": \"/usr/local/bin/pdpp\"");
        let same = same.replace("command = 'pdpp'", "command = '/usr/local/bin/pdpp'");
        assert_eq!(
            job(host).edit(Path::new("f"), Some(same.clone().into())).unwrap().action,
            Action::Unchanged
        );
        let error = project.edit(Path::new("f"), Some(same.into())).unwrap_err();
        assert_eq!(error.code(), "entry_keeps_settings", "{host}");
        // Settings that this run chooses are not reported as someone else's.
        let mut own = entry();
        own.arguments.extend(["--proxy", "http://p.example:1"].map(str::to_owned));
        let plain = Job { scope: Scope::Project, entry: Some(own), ..job(host) };
        let written = plain.edit(Path::new("f"), None).unwrap().new.unwrap();
        assert_eq!(plain.edit(Path::new("f"), Some(written)).unwrap().action, Action::Unchanged, "{host}");
    }
}

#[cfg(unix)]
#[test]
#[allow(clippy::disallowed_methods, reason = "a test's own files")]
fn a_projects_link_to_a_file_elsewhere_is_not_followed_unasked() {
    let dir = tempfile::tempdir().unwrap();
    let machine = machine(Platform::Linux, dir.path());
    std::fs::create_dir_all(machine.cwd.join("sub")).unwrap();
    let config = machine.cwd.join(".mcp.json");
    let linked = |to: &Path| {
        let _ = std::fs::remove_file(&config);
        std::fs::write(to, "{}").unwrap();
        std::os::unix::fs::symlink(to, &config).unwrap();
        Job { scope: Scope::Project, ..job("claude") }.plan(&machine).map_err(|error| error.code())
    };
    assert!(linked(&machine.cwd.join("sub/mcp.json")).is_ok());
    assert_eq!(linked(&dir.path().join(".claude.json")).unwrap_err(), "config_outside_project");
    let asked = Job { scope: Scope::Project, any_entry: true, ..job("claude") };
    assert_eq!(asked.plan(&machine).unwrap().action, Action::Added);
}

#[test]
fn a_config_directory_that_is_relative_is_refused_where_it_counts() {
    let mut machine = machine(Platform::Linux, Path::new("/h"));
    machine.relative = vec!["CODEX_HOME"];
    assert_eq!(job("codex").file(&machine).unwrap_err().code(), "relative_config_dir");
    assert!(job("claude").file(&machine).is_ok());
    assert!(Job { scope: Scope::Project, ..job("codex") }.file(&machine).is_ok());
    let found = survey(&machine, NAME);
    let codex = found.iter().find(|surveyed| surveyed.host.id == "codex").unwrap();
    assert!(codex.problems[0].what.starts_with("CODEX_HOME is not an absolute path"), "{codex:?}");
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test's own files")]
fn codex_is_told_to_trust_a_folder_before_it_reads_its_config() {
    let dir = tempfile::tempdir().unwrap();
    let mut machine = machine(Platform::Linux, dir.path());
    let repository = dunce::canonicalize(dir.path()).unwrap().join("project");
    std::fs::create_dir_all(repository.join("sub")).unwrap();
    std::fs::create_dir_all(dir.path().join(".codex")).unwrap();
    std::fs::create_dir(repository.join(".git")).unwrap();
    machine.cwd = repository.join("sub");
    let host = clients::host("codex").unwrap();
    let is_untrusted = |scope| survey::untrusted(&machine, host, scope).is_some();
    assert!(is_untrusted(Scope::Project) && !is_untrusted(Scope::User));
    let trust = |level: &str, path: &Path| {
        let text = format!("[projects.{:?}]\ntrust_level = {level:?}\n", path.to_str().unwrap());
        std::fs::write(dir.path().join(".codex/config.toml"), text).unwrap();
        is_untrusted(Scope::Project)
    };
    assert!(trust("untrusted", &repository) && trust("trusted", dir.path()));
    assert!(!trust("trusted", &repository) && !trust("trusted", &machine.cwd));
}
