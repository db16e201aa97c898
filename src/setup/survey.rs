//! Surveys this computer: which hosts it has, whether they know this program, and what is wrong. It only reads.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::clients::{HOSTS, Host, Sign};
use super::document::{document, is_switched_off, owner_credential};
use super::edit::{self, EditError, EntryPath};
use super::entry::Entry;
use super::job::{Scope, file_of, relative};
use super::paths::{Machine, is_program};
use super::policy;
use crate::advice::{Command, Hint};
use crate::fs::foreign::{ForeignError, ForeignFile};
use crate::text::{self, shell_word};

/// Whether a host's file has an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Configured {
    /// The file has no entry of that name.
    No,
    /// It has an entry that starts this program.
    Ours(Entry),
    /// It has an entry that starts something else, or that is remote.
    Other,
    /// The file exists, but cannot be edited.
    Damaged(EditError),
    /// The file cannot be read, so this is unknown.
    Unknown,
}

/// One host.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// The host.
    pub host: &'static Host,
    /// Whether there is a sign of the host: its program, its file or its directory.
    pub installed: bool,
    /// The user's file; it need not exist.
    pub file: PathBuf,
    /// Its program, if it is a terminal program that is not on PATH: its files may be left over.
    pub missing: Option<&'static str>,
    /// Files that other installations of the host would read instead.
    pub other_files: Vec<PathBuf>,
    /// What the file has.
    pub configured: Configured,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

impl Surveyed {
    /// The host's state, in a few words.
    pub fn state(&self) -> String {
        let state = match &self.configured {
            Configured::No => "not set up",
            Configured::Ours(_) if self.problems.is_empty() => match self.missing {
                Some(program) => return format!("set up, but `{program}` is not on your PATH"),
                None => "set up",
            },
            Configured::Ours(_) => "set up, with a problem",
            Configured::Other => "has another entry of that name",
            Configured::Damaged(error) => match error.at() {
                Some((line, column)) => {
                    return format!("its config is damaged: line {line}, column {column}");
                }
                None => "its config is written in a way that pdpp cannot edit",
            },
            Configured::Unknown => "its config cannot be read",
        };
        state.to_owned()
    }

    /// The result for `--json`.
    pub fn to_json(&self) -> Value {
        let (configured, command) = match &self.configured {
            Configured::No => ("no", None),
            Configured::Ours(entry) => ("yes", Some(entry.shown())),
            Configured::Other => ("other", None),
            Configured::Damaged(_) => ("damaged", None),
            Configured::Unknown => ("unknown", None),
        };
        let at = match &self.configured {
            Configured::Damaged(error) => error.at(),
            _ => None,
        };
        json!({
            "host": self.host.id,
            "title": self.host.title,
            "installed": self.installed,
            "missing_program": self.missing,
            "file": self.file,
            "other_files": self.other_files,
            "configured": configured,
            "line": at.map(|(line, _)| line),
            "column": at.map(|(_, column)| column),
            "command": command,
            "problems": self.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }
}

/// Something that is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub next: Hint,
}

impl Problem {
    fn new(what: impl Into<String>, next: impl Into<Hint>) -> Self {
        Self { what: what.into(), next: next.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.next)
    }
}

/// Checks every host for the entry `name`. Starts nothing and writes nothing.
pub fn survey(machine: &Machine, name: &str) -> Vec<Surveyed> {
    HOSTS.into_iter().map(|host| look(machine, host, name)).collect()
}

/// Whether anything shows that a host is on this computer: one of its programs, its file, or a directory.
pub fn is_here(machine: &Machine, host: &Host) -> bool {
    let file = (host.user_file)(machine);
    // The files of Claude Code and some others are directly in HOME, which is not a sign of any host.
    let own = file.parent().filter(|dir| *dir != machine.home && host.sign != Sign::Nothing);
    let other = match host.sign {
        Sign::OwnOr(dir) => Some(machine.home.join(dir)),
        Sign::Own | Sign::Nothing => None,
    };
    host.programs.iter().any(|program| machine.program(program).is_some())
        || file.exists()
        || file.is_symlink()
        || own.is_some_and(Path::is_dir)
        || other.is_some_and(|dir| dir.is_dir())
}

fn look(machine: &Machine, host: &'static Host, name: &str) -> Surveyed {
    let file = (host.user_file)(machine);
    let installed = is_here(machine, host);
    let missing = missing(machine, host);
    let mut problems = Vec::new();
    let again = Command::new("mcp setup").value(host.id);
    if let Some(variable) = machine.relative_of(host) {
        let error = relative(host, variable);
        problems.push(Problem::new(error.message(), error.next().cloned().unwrap_or_default()));
        let configured = Configured::Unknown;
        return Surveyed { host, installed, file, missing, other_files: Vec::new(), configured, problems };
    }
    let configured = match look_into(machine, host, name, &file, &mut problems) {
        Ok(configured) => configured,
        Err(Unread::Damaged(error)) => {
            let next = match error.at() {
                Some((line, column)) => Hint::new(format!(
                    "Fix line {line}, column {column} of {}, then: ",
                    shell_word(&file.to_string_lossy())
                ))
                .run(again),
                None => Hint::new("Add the entry yourself: ").run(again.words("--print")),
            };
            problems.push(Problem::new(format!("{}: {error}", file.display()), next));
            Configured::Damaged(error)
        }
        Err(Unread::NotText(why)) => {
            let next = Hint::new("Save it as UTF-8, then: ").run(again);
            problems.push(Problem::new(format!("{}: {why}", file.display()), next));
            Configured::Unknown
        }
        Err(Unread::File(error)) => {
            let next = match &error {
                ForeignError::Dangling(_) => "Create the file that it points to, or remove the link",
                ForeignError::Loop(_) => "Remove the link",
                ForeignError::NotAFile(_) | ForeignError::TooLarge(_) => "Move it away",
                _ => "Make it readable for you",
            };
            let next = Hint::new(format!("{next}, then: ")).run(again);
            problems.push(Problem::new(error.to_string(), next));
            Configured::Unknown
        }
    };
    if matches!(configured, Configured::Ours(_)) {
        problems.extend(shadows(machine, host, name, Scope::User));
    }
    Surveyed {
        host,
        installed,
        file,
        missing,
        other_files: (host.other_files)(machine),
        configured,
        problems,
    }
}

/// The terminal program of a host if it is not on PATH. A desktop program may still be installed.
pub fn missing(machine: &Machine, host: &Host) -> Option<&'static str> {
    let is_here = host.programs.iter().any(|program| machine.program(program).is_some());
    host.programs.first().copied().filter(|_| host.check.is_some_and(|check| check.is_all) && !is_here)
}

/// What to report if a host, or its terminal program, is not installed.
pub fn absence(machine: &Machine, host: &Host) -> Option<String> {
    let title = host.title;
    if let Some(program) = missing(machine, host) {
        return Some(format!("`{program}` is not on your PATH: the entry works once {title} is installed"));
    }
    let is_gone = !is_here(machine, host);
    is_gone.then(|| format!("{title} was not found on this computer: the entry works once it is installed"))
}

/// What the file has for the entry, and what is wrong with it.
fn look_into(
    machine: &Machine,
    host: &Host,
    name: &str,
    file: &Path,
    problems: &mut Vec<Problem>,
) -> Result<Configured, Unread> {
    let Some(bytes) = bytes_of(file)? else { return Ok(Configured::No) };
    let (has_bom, text) = document(&bytes).map_err(Unread::NotText)?;
    let root = edit::read(host.format, text).map_err(Unread::Damaged)?;
    if let Some(credential) = owner_credential(&root, host.container) {
        problems.push(Problem::new(
            format!(
                "{} contains {credential}, an owner's credential, within reach of an agent",
                file.display()
            ),
            "Remove it",
        ));
    }
    let place = EntryPath { container: host.container, name };
    let Some(entry) = edit::check(host.format, text, place).map_err(Unread::Damaged)? else {
        return Ok(Configured::No);
    };
    let is_off = is_switched_off(&entry);
    let Some(entry) = host.ours(&entry) else { return Ok(Configured::Other) };
    if is_off {
        let next = format!("Switch it on in {}", host.title);
        problems.push(Problem::new(format!("its entry `{name}` is switched off"), next));
    }
    problems.extend(wrong_with(machine, host, &entry));
    problems.extend(policy::ban(machine, host, name, &entry).map(|ban| {
        let what = format!("`{}` in {} keeps it from using `{name}`", ban.rule, ban.file.display());
        Problem::new(what, "Change that rule, or ask the administrator of this computer")
    }));
    if has_bom && host.chokes_on_bom {
        problems.push(Problem::new(
            format!("{} begins with a byte order mark, so {} does not read it", file.display(), host.title),
            Command::new("mcp setup").value(host.id),
        ));
    }
    Ok(Configured::Ours(entry))
}

/// Why a file cannot be used.
enum Unread {
    File(ForeignError),
    NotText(String),
    Damaged(EditError),
}

fn bytes_of(file: &Path) -> Result<Option<Vec<u8>>, Unread> {
    ForeignFile::locate(file).and_then(|file| file.read()).map_err(Unread::File)
}

/// The file as data; `{}` if it cannot be used.
fn read(host: &Host, file: &Path) -> Map<String, Value> {
    let bytes = bytes_of(file).ok().flatten().unwrap_or_default();
    document(&bytes).ok().and_then(|(_, text)| edit::read(host.format, text).ok()).unwrap_or_default()
}

fn wrong_with(machine: &Machine, host: &Host, entry: &Entry) -> Option<Problem> {
    let program = Path::new(&entry.program);
    let shown = text::one_line(&entry.program);
    let ours = machine.programs("pdpp").next().and_then(|path| dunce::canonicalize(path).ok());
    let what = if !program.is_absolute() {
        format!("{} would start `{shown}`, which depends on its PATH", host.title)
    } else if !is_program(program) {
        format!("{} would start {shown}, which does not exist", host.title)
    } else if ours.is_some() && dunce::canonicalize(program).ok() != ours {
        format!("{} starts {shown}, which is not the pdpp that comes first on your PATH", host.title)
    } else {
        return None;
    };
    Some(Problem::new(what, Command::new("mcp setup").value(host.id)))
}

/// What keeps a host from reading a project's file: Codex must be told to trust the folder.
pub fn untrusted(machine: &Machine, host: &Host, scope: Scope) -> Option<Problem> {
    if host.id != "codex" || scope != Scope::Project {
        return None;
    }
    let user = read(host, &(host.user_file)(machine));
    let cwd = dunce::canonicalize(&machine.cwd).unwrap_or_else(|_| machine.cwd.clone());
    let repository = cwd.ancestors().find(|dir| dir.join(".git").exists()).map(Path::to_owned);
    let is_trusted = [Some(machine.cwd.clone()), Some(cwd), repository].into_iter().flatten().any(|dir| {
        let project = user.get("projects").and_then(|projects| projects.get(dir.to_string_lossy().as_ref()));
        project.and_then(|project| project.get("trust_level")).is_some_and(|level| level == "trusted")
    });
    let what = format!(
        "Codex does not read the config of {}, because you have not told it to trust that folder",
        machine.cwd.display()
    );
    (!is_trusted).then(|| Problem::new(what, "Start codex there once and confirm that you trust the folder"))
}

/// The host's other files on this computer that have an entry `name`.
pub fn elsewhere(machine: &Machine, host: &Host, name: &str, scope: Scope) -> Vec<PathBuf> {
    let user = (host.user_file)(machine);
    let mut files: Vec<_> = file_of(host, machine, Scope::Project).into_iter().collect();
    if host.id == "opencode" {
        // The host reads files with either ending.
        files.extend(["json", "jsonc"].map(|ending| user.with_extension(ending)));
    } else {
        files.push(user);
    }
    let own = file_of(host, machine, scope);
    let place = EntryPath { container: host.container, name };
    files.retain(|file| Some(file) != own.as_ref() && edit::entry(&read(host, file), place).is_some());
    files
}

/// Entries of the same name in other scopes of the host that take precedence over the one in `scope`.
pub fn shadows(machine: &Machine, host: &Host, name: &str, scope: Scope) -> Vec<Problem> {
    let mut found = Vec::new();
    let place = EntryPath { container: host.container, name };
    if scope == Scope::User {
        let others = elsewhere(machine, host, name, scope).into_iter();
        found.extend(others.map(|file| {
            let is_project = file_of(host, machine, Scope::Project).as_ref() == Some(&file);
            let where_to = if is_project { "in that directory" } else { "everywhere" };
            Problem::new(
                format!(
                    "{} also has an entry `{name}`, which may take precedence over this one {where_to}",
                    file.display()
                ),
                "Remove it there if you do not want it",
            )
        }));
    }
    if host.id == "claude" {
        let user = read(host, &(host.user_file)(machine));
        let here = machine.cwd.to_string_lossy().into_owned();
        let local = user.get("projects").and_then(|projects| projects.get(&here));
        if local.and_then(|local| local.get(place.container)).is_some_and(|local| local.get(name).is_some()) {
            found.push(Problem::new(
                format!(
                    "Claude Code has a local entry `{name}` for {here}, which takes precedence over this one there"
                ),
                format!("claude mcp remove -s local {name}"),
            ));
        }
    }
    found
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test's own files")]
mod tests {
    use super::*;
    use crate::setup::paths::Platform;
    use crate::setup::paths::tests::machine;

    #[test]
    fn a_survey_says_what_is_here_and_what_is_wrong() {
        let dir = tempfile::tempdir().unwrap();
        let machine = machine(Platform::Linux, dir.path());
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let gone = dir.path().join("gone").join("pdpp").to_str().unwrap().to_owned();
        let entry = serde_json::json!({"mcpServers": {"pdpp": {"command": gone, "args": ["mcp", "serve"]}}});
        write(".cursor/mcp.json", &entry.to_string());
        write(
            ".codex/config.toml",
            "[mcp_servers.pdpp]\ncommand = \"npx\"\nargs = [\"pdpp\"]\nenv = { PDPP_OWNER_TOKEN = \"x\" }\n",
        );
        write(".gemini/settings.json", "{\n  oops\n}");
        write(".config/Code/User/mcp.json", r#"{"servers": []}"#);
        write(".config/zed/settings.json", r#"{"context_servers": {}, "context_servers": {}}"#);
        let server = serde_json::json!({"command": "pdpp", "args": ["mcp", "serve"]});
        let mut projects = serde_json::Map::new();
        projects.insert(machine.cwd.display().to_string(), serde_json::json!({"mcpServers": {"pdpp": {}}}));
        let claude = serde_json::json!({"mcpServers": {"pdpp": server}, "projects": projects});
        write(".claude.json", &claude.to_string());
        let found = survey(&machine, "pdpp");
        let surveyed = |id: &str| found.iter().find(|surveyed| surveyed.host.id == id).unwrap();
        assert!(!surveyed("goose").installed);
        assert_eq!(surveyed("goose").configured, Configured::No);
        assert!(matches!(surveyed("cursor").configured, Configured::Ours(_)));
        assert!(
            surveyed("cursor").problems[0]
                .to_string()
                .contains(&format!("{gone}, which does not exist: pdpp mcp setup cursor"))
        );
        assert_eq!(surveyed("codex").configured, Configured::Other);
        assert!(surveyed("codex").problems[0].to_string().contains("PDPP_OWNER_TOKEN"));
        let damaged = |id: &str| match &surveyed(id).configured {
            Configured::Damaged(error) => error.at(),
            other => panic!("{other:?}"),
        };
        assert_eq!(damaged("gemini"), Some((2, 3)));
        // These can be parsed, but an entry could not be added to them.
        assert_eq!(damaged("vscode"), Some((1, 13)));
        assert_eq!(damaged("zed"), Some((1, 25)));
        assert!(
            surveyed("gemini").problems[0].to_string().contains("line 2, column 3"),
            "{:?}",
            surveyed("gemini")
        );
        assert!(surveyed("claude").problems[0].to_string().contains("depends on its PATH"));
        assert!(surveyed("claude").problems[1].to_string().contains("claude mcp remove -s local pdpp"));
    }
}
