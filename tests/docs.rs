//! Promise: the documents describe what the program does.
//!
//! Completions and manual pages match the clap definitions (R8.5), help fits 80 columns, the documents
//! name only commands that parse ([`commands`] runs those that they show), their links lead somewhere
//! ([`links`]), docs/errors.md has every error code and docs/operators.md every metric; the map in src/lib.rs
//! matches the modules ([`map`], [`circles`]).

mod circles;
mod commands;
mod links;
mod map;
mod timers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory, Parser, ValueEnum};
use pdpp::cmd::{Cli, completions, man};
use pdpp::setup::clients::HOSTS;

use crate::support::sources::rust_files;

const REGENERATE: &str = "UPDATE_GENERATED=1 INSTA_UPDATE=always cargo test -- docs generated";

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
            // The file name that each shell looks for.
            let name = match shell {
                clap_complete::Shell::Bash => "pdpp.bash".to_owned(),
                clap_complete::Shell::Elvish => "pdpp.elv".to_owned(),
                clap_complete::Shell::Fish => "pdpp.fish".to_owned(),
                clap_complete::Shell::PowerShell => "_pdpp.ps1".to_owned(),
                clap_complete::Shell::Zsh => "_pdpp".to_owned(),
                other => panic!("a shell without a file name: {other}"),
            };
            (name, completions::script(&Cli::command(), shell).into_bytes())
        })
        .collect();
    assert_generated("completions", &scripts);
}

#[test]
fn r8_5_generated_man_pages_are_committed() {
    assert_generated("man", &man::pages(Cli::command()));
}

/// A manual page that another one names exists.
#[test]
fn man_pages_name_only_pages_that_are_there() {
    let dir = root().join("man");
    let mut named = 0;
    for page in std::fs::read_dir(&dir).unwrap() {
        let text = read(page.unwrap().path()).replace("\\-", "-");
        let is_name = |c: char| c.is_ascii_lowercase() || c == '-';
        for (before, _) in text.match_indices("(1)").map(|(at, _)| text.split_at(at)) {
            let name = before.rsplit(|c| !is_name(c)).next().unwrap();
            if name.starts_with("pdpp") {
                named += 1;
                assert!(dir.join(format!("{name}.1")).exists(), "{name}(1) does not exist");
            }
        }
    }
    assert!(named >= 10, "{named}");
}

/// Every command that a person can type, by its full name (`pdpp mcp serve`), with its definition.
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

/// A host's row in docs/hosts.md begins with its id; README shows the name to type.
#[test]
fn every_host_has_its_row_in_the_documents() {
    let (hosts, readme) = (read("docs/hosts.md"), read("README.md"));
    for host in HOSTS {
        let begins = |row: &str| row.split(&['|', '('][..]).nth(1).is_some_and(|id| id.trim() == host.id);
        assert!(hosts.lines().any(begins), "docs/hosts.md has no row of {}", host.id);
        let typed = format!("`{}`", host.id);
        let has = |row: &str| row.starts_with('|') && row.contains(&typed);
        assert!(readme.lines().any(has), "README's table of hosts lacks {}", host.id);
    }
}

/// README, CONTRIBUTING and the pages of docs/, without the book's table of contents.
fn documents() -> Vec<String> {
    let mut found = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name != "SUMMARY.md" && Path::new(&name).extension().is_some_and(|extension| extension == "md") {
            found.push(format!("docs/{name}"));
        }
    }
    found.sort();
    found
}

/// The command lines in code spans of a text: `pdpp …`.
fn named_commands(text: &str) -> Vec<String> {
    // Code spans do not cross paragraphs, so a fence or a lone backtick affects only one paragraph.
    let spans = text.split("\n\n").flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2));
    let words = spans.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "));
    words.filter(|span| span.starts_with("pdpp ") && !span.contains('…')).collect()
}

#[test]
fn documents_name_only_commands_that_exist() {
    use clap::error::ErrorKind;
    let mut named = 0;
    for document in documents() {
        for command in named_commands(&read(&document)) {
            named += 1;
            let Err(error) = Cli::try_parse_from(command.split_whitespace()) else { continue };
            // A sentence may leave out arguments (`pdpp mcp host`) or name them (`--provider URL`).
            let is_partial = matches!(
                error.kind(),
                ErrorKind::MissingRequiredArgument
                    | ErrorKind::MissingSubcommand
                    | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                    | ErrorKind::DisplayHelp
                    | ErrorKind::DisplayVersion
            );
            let has_placeholder = command.split_whitespace().any(|word| {
                word.starts_with('<')
                    || word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == ':')
            });
            let ends_in_option = command.split_whitespace().last().is_some_and(|word| word.starts_with("--"));
            let is_placeholder = (has_placeholder || ends_in_option)
                && matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation);
            assert!(
                is_partial || is_placeholder,
                "{document} names `{command}`, which does not parse:\n{error}"
            );
        }
    }
    assert!(named > 20, "the documents name hardly any command: {named}");
}

#[test]
fn operators_are_told_of_every_metric_and_no_other() {
    let names = |text: &str| -> BTreeSet<String> {
        let rest = text.split("pdpp_host_").skip(1);
        let name =
            |rest: &str| rest.split(|c: char| !c.is_ascii_lowercase() && c != '_').next().unwrap().to_owned();
        rest.map(name).collect()
    };
    let source = read("src/endpoint/metrics.rs");
    let counted = names(source.split("#[cfg(test)]").next().unwrap());
    assert!(counted.len() > 5, "{counted:?}");
    // A histogram's series have its name with one of these suffixes.
    let series = ["_bucket", "_sum", "_count"];
    let documented = names(&read("docs/operators.md"));
    let documented =
        documented.iter().map(|name| series.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name));
    assert_eq!(documented.map(str::to_owned).collect::<BTreeSet<_>>(), counted);
}

#[test]
fn operators_are_told_of_every_field_of_the_access_log() {
    let source = read("src/access_log.rs");
    let entry = source.split("pub struct Entry {").nth(1).and_then(|rest| rest.split("\n}").next()).unwrap();
    let noted = entry.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split(':').next());
    let guide = read("docs/operators.md");
    let (_, log) = guide.split_once("## The access log of a computer").unwrap();
    let documented = log.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(documented.collect::<Vec<_>>(), noted.collect::<Vec<_>>());
}

/// The fenced blocks of README in `language`, complete.
fn readme_blocks(language: &str) -> Vec<String> {
    let readme = read("README.md");
    let fence = format!("```{language}\n");
    let blocks = readme.split(&fence).skip(1);
    blocks.filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

/// Collects every place in `value` where a host's entry names what to start: `command`, `args`.
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
    assert_eq!(
        found.len(),
        1,
        "README has the one for most hosts; setup's own snapshot has all of them: {found:?}"
    );
    for entry in found {
        assert!(entry[0].starts_with('/'), "a host has no PATH to find {} on", entry[0]);
        assert_eq!(entry[1..], ["mcp", "serve"]);
    }
}

/// The production part of every source file, which comes before its test module.
fn sources() -> Vec<(PathBuf, String)> {
    let production = |text: String| text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
    let files = rust_files("src").into_iter().filter(|(path, _)| !path.ends_with("tests.rs"));
    files.map(|(path, text)| (path, production(text))).collect()
}

/// The string literal that `text` starts with after white space, if any.
fn literal(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix('"')?.split('"').next()
}

/// The error codes that `source` can produce: the literal codes passed to `Error::new`, `Error::failed`,
/// `ToolError::new`, a `Refusal` of HTTP and a `Verdict` of a check, and those that a `fn code` maps to.
fn codes(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    // The code is the first or second argument.
    for call in ["Refusal::", "Verdict::new"] {
        for rest in source.split(call).skip(1) {
            let arguments = rest.split_once('(').map(|(_, arguments)| arguments).unwrap_or_default();
            found.extend(arguments.splitn(3, ',').take(2).find_map(literal));
        }
    }
    for before in ["code = Some(", "code: Some("] {
        found.extend(source.split(before).skip(1).filter_map(literal));
    }
    for call in ["Error::failed(", "Self::failed(", "Error::no_events(", "ToolError::new("] {
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
        Refusal::new(
            StatusCode::NOT_FOUND, \"not_found\", \"a\")
        Refusal::too_many(\"slow_down\", \"b\", 1)
        Verdict::new(State::Refused, \"not_yours\", \"c\")
        check.code = Some(\"clock_wrong\".to_owned());
        pub const fn code(&self) -> &'static str {
            match self {
                Self::A { .. } => \"provider_slow\",
            }
    }
";
    let found: Vec<_> = codes(source).into_iter().collect();
    let made =
        ["clock_wrong", "disk_full", "invalid_id", "not_found", "not_yours", "provider_slow", "slow_down"];
    assert_eq!(found[..7], made);
    assert_eq!(found[7..], ["unknown_command"]);
}

/// The rows of the tables in `file` that begin with a code, as their cells.
fn rows_of_codes(file: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        // A `\|` in a cell is not a border.
        let line = line.replace("\\|", "\u{0}");
        line.trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect()
    };
    let is_row = |row: &Vec<String>| is_code(row[0].trim_matches('`')) && row[0].starts_with('`');
    read(file).lines().filter(|line| line.starts_with('|')).map(cells).filter(is_row).collect()
}

fn codes_in(file: &str) -> Vec<String> {
    rows_of_codes(file).iter().map(|row| row[0].trim_matches('`').to_owned()).collect()
}

#[test]
fn every_error_code_and_no_other_has_meaning_cause_and_fix() {
    let sources = sources();
    let made: BTreeSet<String> = sources.iter().flat_map(|(_, source)| codes(source)).collect();
    assert!(made.len() > 100, "the scan found hardly any code: {made:?}");
    let mut explained = BTreeSet::new();
    for row in rows_of_codes("docs/errors.md") {
        let code = row[0].trim_matches('`').to_owned();
        let is_whole = row.len() == 4 && row.iter().all(|cell| !cell.is_empty());
        assert!(is_whole, "docs/errors.md: `{code}` needs code, meaning, cause and fix: {row:?}");
        assert!(explained.insert(code.clone()), "docs/errors.md explains `{code}` twice");
        let literal = format!("\"{code}\"");
        assert!(
            sources.iter().any(|(_, source)| source.contains(&literal)),
            "docs/errors.md explains {code}, which no source file makes"
        );
    }
    let missing: Vec<_> = made.difference(&explained).collect();
    assert!(missing.is_empty(), "docs/errors.md lacks {missing:?}");
}

/// Codes whose next step is added elsewhere, and where.
const NEXT_ELSEWHERE: &[(&str, &str)] = &[
    ("cache_unreadable", "`in_other_dir` of src/cache/handle.rs"),
    ("own_store", "src/own/damage.rs, once it is known whether the store is damaged"),
    ("server_ended", "src/mcp/inspect.rs and src/setup/report.rs, which know the command to run"),
    ("server_output", "the same"),
    ("server_protocol", "the same"),
    ("server_refused", "the same"),
    ("server_start_failed", "the same"),
    ("server_timeout", "the same"),
];

#[test]
fn every_error_has_a_next_step() {
    // Whether a code has one in at least one of the places where its error is made.
    let mut codes: BTreeMap<String, bool> = BTreeMap::new();
    for (_, source) in sources() {
        for call in ["Error::failed(", "Self::failed(", "Error::new("] {
            let mut before = source.as_str();
            while let Some((ahead, rest)) = before.split_once(call) {
                before = rest;
                if ahead.ends_with(|c: char| c.is_alphanumeric() || c == ':') {
                    continue;
                }
                let first = if call == "Error::new(" {
                    rest.split_once(',').map_or("", |(_, rest)| rest)
                } else {
                    rest
                };
                let Some(code) = literal(first).filter(|code| is_code(code)) else { continue };
                // Up to the next error, or the end of the item.
                let ends = ["Error::failed(", "Error::new(", "\n}\n"];
                let end = ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
                let has_next = [".hint(", ".run("].iter().any(|next| rest[..end].contains(next));
                *codes.entry(code.to_owned()).or_default() |= has_next;
            }
        }
    }
    assert!(codes.len() > 100, "{codes:?}");
    let is_elsewhere = |code: &str| NEXT_ELSEWHERE.iter().any(|(known, _)| *known == code);
    let without: Vec<_> =
        codes.iter().filter(|(code, has)| !**has && !is_elsewhere(code)).map(|(code, _)| code).collect();
    assert!(without.is_empty(), "no next step: {without:?}");
    let idle: Vec<_> = NEXT_ELSEWHERE.iter().filter(|(code, _)| codes.get(*code) != Some(&false)).collect();
    assert!(idle.is_empty(), "these have one where they are made: {idle:?}");
}

#[test]
fn codes_in_other_documents_are_explained() {
    let explained: BTreeSet<String> = codes_in("docs/errors.md").into_iter().collect();
    let met = codes_in("README.md");
    assert!((8..=16).contains(&met.len()), "README has the codes that people meet most: {met:?}");
    for code in met {
        assert!(explained.contains(&code), "README explains {code}, and docs/errors.md does not");
    }
}
