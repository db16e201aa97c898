//! Promise: what is written down is what the program does.
//!
//! Completions and manual pages are the clap definitions' own (R8.5), help fits 80 columns, README
//! shows only commands that parse, and its table of error codes is complete.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory, Parser, ValueEnum};
use pdpp::cmd::{Cli, completions, man};

const REGENERATE: &str = "UPDATE_GENERATED=1 cargo test generated";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Compares `dir` byte for byte with `wanted` (file name, content), or rewrites it when asked to.
fn assert_generated(dir: &str, wanted: &[(String, Vec<u8>)]) {
    let dir = root().join(dir);
    let update = std::env::var_os("UPDATE_GENERATED").is_some_and(|value| !value.is_empty());
    let there: BTreeSet<String> = std::fs::read_dir(&dir)
        .map(|entries| entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
        .unwrap_or_default();
    let names: BTreeSet<String> = wanted.iter().map(|(name, _)| name.clone()).collect();
    if update {
        std::fs::create_dir_all(&dir).unwrap();
        for stale in there.difference(&names) {
            std::fs::remove_file(dir.join(stale)).unwrap();
        }
        for (name, content) in wanted {
            std::fs::write(dir.join(name), content).unwrap();
        }
        return;
    }
    assert_eq!(there, names, "the files of {} are not the generated ones; run: {REGENERATE}", dir.display());
    for (name, content) in wanted {
        assert!(
            std::fs::read(dir.join(name)).unwrap() == *content,
            "{} has drifted from the clap definitions; run: {REGENERATE}",
            dir.join(name).display()
        );
    }
}

#[test]
fn r8_5_generated_completions_are_committed() {
    let scripts: Vec<_> = clap_complete::Shell::value_variants()
        .iter()
        .map(|&shell| {
            // The name under which each shell looks a completion up.
            let name = match shell {
                clap_complete::Shell::Bash => "pdpp.bash".to_owned(),
                clap_complete::Shell::Elvish => "pdpp.elv".to_owned(),
                clap_complete::Shell::Fish => "pdpp.fish".to_owned(),
                clap_complete::Shell::PowerShell => "_pdpp.ps1".to_owned(),
                clap_complete::Shell::Zsh => "_pdpp".to_owned(),
                other => panic!("a shell without a file name: {other}"),
            };
            (name, completions::script(shell).into_bytes())
        })
        .collect();
    assert_generated("completions", &scripts);
}

#[test]
fn r8_5_generated_man_pages_are_committed() {
    assert_generated("man", &man::pages());
}

/// Every command a person can type, by its full name (`pdpp mcp serve`), with its definition.
fn commands() -> Vec<(String, Command)> {
    fn collect(command: &Command, name: &str, found: &mut Vec<(String, Command)>) {
        found.push((name.to_owned(), command.clone()));
        for child in command.get_subcommands().filter(|child| !child.is_hide_set()) {
            if child.get_name() != "help" {
                collect(child, &format!("{name} {}", child.get_name()), found);
            }
        }
    }
    let mut root = Cli::command().term_width(80);
    root.build();
    let mut found = Vec::new();
    collect(&root, "pdpp", &mut found);
    found
}

#[test]
fn help_of_every_command_fits_80_columns() {
    for (name, mut command) in commands() {
        let help = command.render_long_help().to_string();
        // clap does not wrap the usage line.
        for line in help.lines().filter(|line| !line.starts_with("Usage:")) {
            assert!(line.chars().count() <= 80, "`{name} --help` is wider than 80 columns:\n{line}");
        }
        insta::with_settings!({
            snapshot_suffix => name.replace(' ', "-"),
            prepend_module_to_snapshot => false,
            omit_expression => true,
            description => format!("{name} --help, 80 columns"),
        }, {
            insta::assert_snapshot!("help", help);
        });
    }
}

/// The command lines that README tells a reader to type for this program: those of its `sh` blocks.
fn readme_commands() -> Vec<String> {
    let mut commands = Vec::new();
    let mut in_shell = false;
    for line in read("README.md").lines() {
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            in_shell = !in_shell && fence.starts_with("sh");
            continue;
        }
        let line = line.split(" #").next().unwrap_or_default().trim();
        if !in_shell || line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with("pdpp ") {
            commands.push(line.to_owned());
        } else if let Some(arguments) = line.strip_prefix("cargo run --release -- ") {
            commands.push(format!("pdpp {arguments}"));
        }
    }
    commands
}

#[test]
fn readme_shows_only_commands_that_exist() {
    let commands = readme_commands();
    assert!(commands.len() > 3, "README shows hardly a command: {commands:?}");
    for command in commands {
        if let Err(error) = Cli::try_parse_from(command.split_whitespace()) {
            // `pdpp --help` and `--version` come back as errors that print to stdout.
            assert!(!error.use_stderr(), "README shows `{command}`, which does not parse:\n{error}");
        }
    }
}

/// The fenced blocks of README in `language`, whole.
fn readme_blocks(language: &str) -> Vec<String> {
    let readme = read("README.md");
    let fence = format!("```{language}\n");
    let blocks = readme.split(&fence).skip(1);
    blocks.filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

/// Every place in `value` where a host's entry says what to start: `command`, `args`.
fn entries(value: &serde_json::Value, found: &mut Vec<Vec<String>>) {
    let words = |value: &serde_json::Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap() };
    match value {
        serde_json::Value::Object(map) => match (map.get("command"), map.get("args")) {
            (Some(serde_json::Value::String(command)), Some(args)) => {
                found.push([vec![command.clone()], words(args)].concat());
            }
            (Some(command), None) => found.push(words(command)),
            _ => map.values().for_each(|value| entries(value, found)),
        },
        serde_json::Value::Array(list) => list.iter().for_each(|value| entries(value, found)),
        _ => {}
    }
}

#[test]
fn readme_host_entries_start_serve() {
    let mut found = Vec::new();
    for block in readme_blocks("json") {
        entries(&serde_json::from_str(&block).unwrap_or_else(|error| panic!("{block}: {error}")), &mut found);
    }
    assert_eq!(found.len(), 1, "the one for most hosts; setup's own snapshot has all of them: {found:?}");
    for entry in found {
        assert!(entry[0].starts_with('/'), "a host has no PATH to find {} on", entry[0]);
        assert_eq!(entry[1..], ["mcp", "serve"]);
    }
}

#[test]
fn readme_links_lead_somewhere() {
    for name in ["README.md", "CONTRIBUTING.md"] {
        let text = read(name);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            let local = !file.is_empty() && !file.contains("://");
            assert!(!local || root().join(file).exists(), "{name} links to {file}, which is not there");
        }
    }
}

/// The production part of every source file: what comes before its test module.
fn sources() -> Vec<(PathBuf, String)> {
    fn walk(dir: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let production = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
                found.push((path, production));
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join("src"), &mut found);
    found
}

/// The string literal that `text` starts with after white space, if it does.
fn literal(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix('"')?.split('"').next()
}

/// The error codes that `source` can produce: the literal codes given to `Error::new`, `Error::failed`
/// and `ToolError::new`, and those that a `fn code` maps to.
fn codes(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for call in ["Error::failed(", "ToolError::new("] {
        found.extend(source.split(call).skip(1).filter_map(literal));
    }
    for (before, call) in source.split("Error::new(").zip(source.split("Error::new(").skip(1)) {
        // Not `io::Error`, `ToolError`, `ApiError` …
        if !before.ends_with("io::") && !before.ends_with(char::is_alphanumeric) {
            found.extend(call.split_once(',').and_then(|(_, rest)| literal(rest)));
        }
    }
    for body in source.split("fn code(").skip(1) {
        let body = body.split("\n    }\n").next().unwrap_or_default();
        found.extend(body.split("=>").skip(1).filter_map(literal));
    }
    found.into_iter().filter(|code| is_code(code)).map(str::to_owned).collect()
}

fn is_code(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[test]
fn codes_are_found_where_they_are_made() {
    let source = "
        Err(Error::failed(\"disk_full\", \"x\"))
        Error::new(
            Kind::Usage,
            \"unknown_command\", format!(\"y\"))
        ToolError::new(
            \"invalid_id\", \"z\", \"n\")
        io::Error::new(kind, \"text\")
        ApiError::new(StatusCode::OK, \"wire_code\", \"of the sandbox\")
        pub const fn code(&self) -> &'static str {
            match self {
                Self::A { .. } => \"provider_slow\",
            }
    }
";
    let found: Vec<_> = codes(source).into_iter().collect();
    assert_eq!(found, ["disk_full", "invalid_id", "provider_slow", "unknown_command"]);
}

/// The codes of README's table: its rows start with one.
fn documented_codes() -> BTreeSet<String> {
    read("README.md")
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`').map(|(code, _)| code))
        .filter(|code| is_code(code))
        .map(str::to_owned)
        .collect()
}

#[test]
fn readme_explains_every_error_code_and_no_other() {
    let sources = sources();
    let made: BTreeSet<String> = sources.iter().flat_map(|(_, source)| codes(source)).collect();
    assert!(made.len() > 5, "the scan found hardly a code: {made:?}");
    let documented = documented_codes();
    let missing: Vec<_> = made.difference(&documented).collect();
    assert!(missing.is_empty(), "README's table of error codes lacks {missing:?}");
    for code in &documented {
        let literal = format!("\"{code}\"");
        assert!(
            sources.iter().any(|(_, source)| source.contains(&literal)),
            "README explains {code}, which no source file makes"
        );
    }
}
