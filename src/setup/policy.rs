//! A host's own rules about the servers that it accepts, set by its owner or by an administrator. An entry that
//! breaks them would be in the file but never start.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::clients::Host;
use super::document::document;
use super::edit::{self, Format};
use super::entry::Entry;
use super::paths::Machine;
use crate::fs::foreign::ForeignFile;

/// Where a host's rules are, and what they mean.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Every file that may have rules. An administrator's files come first.
    pub files: fn(&Machine) -> Vec<PathBuf>,
    /// The format of the files.
    pub format: Format,
    /// The rules that apply.
    pub rules: &'static [Rule],
}

/// A rule, named by the members that lead to it from a file's root.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// No server on this list is allowed.
    Denied(&'static [&'static str]),
    /// Only servers on this list, or on the same list in another file, are allowed. An empty list has no
    /// effect.
    Allowed(&'static [&'static str]),
    /// The same, but an empty list refuses all servers.
    AllowedOrNone(&'static [&'static str]),
    /// Only servers in this table are allowed, each with the program that the table names in
    /// `identity.command`.
    Identified(&'static str),
    /// Only servers in this table are allowed: the file is an administrator's own set.
    Exclusive(&'static str),
    /// No server is allowed if this member has one of these values.
    Off(&'static [&'static str], &'static [&'static str]),
}

/// A rule that an entry breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ban {
    /// The file that has the rule.
    pub file: PathBuf,
    /// The member, such as `mcp.excluded`.
    pub rule: String,
}

/// The entry that is checked.
struct Asked<'a> {
    name: &'a str,
    words: Vec<String>,
}

impl Asked<'_> {
    /// Hosts name a server by a text, in which Qwen Code accepts `*` and `?`. Claude Code also accepts an
    /// object with the server's name or its whole command.
    fn is(&self, item: &Value) -> bool {
        match (item, item.get("serverName"), item.get("serverCommand")) {
            (Value::String(pattern), ..) => is_like(self.name, pattern.trim()),
            (_, Some(Value::String(name)), _) => name == self.name,
            (_, _, Some(command)) => *command == Value::from(self.words.clone()),
            _ => false,
        }
    }

    /// Whether `list` includes it. If a list has commands, the program must be one of them, and its name does
    /// not count.
    fn is_in(&self, list: &[&Value]) -> bool {
        let by_command = list.iter().any(|item| item.get("serverCommand").is_some());
        list.iter()
            .filter(|item| !by_command || item.get("serverCommand").is_some())
            .any(|item| self.is(item))
    }
}

/// Whether `name` matches `pattern`, in which `*` is any text and `?` any character. Case does not matter.
fn is_like(name: &str, pattern: &str) -> bool {
    let name: Vec<_> = name.chars().collect();
    // The lengths of the name's beginnings that the pattern can match.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for sign in pattern.chars() {
        if sign == '*' {
            let first = reached.iter().position(|is_reached| *is_reached).unwrap_or(reached.len());
            reached[first..].fill(true);
        } else {
            for (at, c) in name.iter().enumerate().rev() {
                reached[at + 1] = reached[at] && (sign == '?' || sign.eq_ignore_ascii_case(c));
            }
            reached[0] = false;
        }
    }
    reached.last() == Some(&true)
}

/// The first of `host`'s rules that an `entry` called `name` breaks.
pub fn ban(machine: &Machine, host: &Host, name: &str, entry: &Entry) -> Option<Ban> {
    let asked = Asked { name, words: entry.words() };
    host.policies.iter().find_map(|policy| {
        let files: Vec<_> = (policy.files)(machine)
            .into_iter()
            .filter_map(|file| read(policy.format, &file).map(|root| (file, root)))
            .collect();
        policy.rules.iter().find_map(|rule| rule.against(&asked, &files))
    })
}

impl Rule {
    fn against(self, asked: &Asked<'_>, files: &[(PathBuf, Map<String, Value>)]) -> Option<Ban> {
        let path: &[&str] = match &self {
            Self::Allowed(path) => return allowed(asked, files, path, false),
            Self::AllowedOrNone(path) => return allowed(asked, files, path, true),
            Self::Denied(path) | Self::Off(path, _) => path,
            Self::Identified(key) | Self::Exclusive(key) => std::slice::from_ref(key),
        };
        let is_against = |found: &Value| match self {
            Self::Denied(_) => found.as_array().is_some_and(|list| list.iter().any(|item| asked.is(item))),
            Self::Off(_, values) => match found.as_str() {
                Some(text) => values.contains(&text),
                None => values.contains(&found.to_string().as_str()),
            },
            Self::Identified(_) => {
                let command = found.get(asked.name).and_then(|server| server.get("identity")?.get("command"));
                command.and_then(Value::as_str) != asked.words.first().map(String::as_str)
            }
            Self::Exclusive(_) => found.get(asked.name).is_none(),
            Self::Allowed(_) | Self::AllowedOrNone(_) => false,
        };
        let (file, _) = files.iter().find(|(_, root)| at(root, path).is_some_and(is_against))?;
        Some(Ban { file: file.clone(), rule: path.join(".") })
    }
}

fn allowed(
    asked: &Asked<'_>,
    files: &[(PathBuf, Map<String, Value>)],
    path: &[&str],
    empty_refuses: bool,
) -> Option<Ban> {
    let lists: Vec<_> =
        files.iter().filter_map(|(file, root)| Some((file, at(root, path)?.as_array()?))).collect();
    let all: Vec<_> = lists.iter().flat_map(|(_, list)| list.iter()).collect();
    let (file, _) = lists.first()?;
    let is_let_in = if all.is_empty() { !empty_refuses } else { asked.is_in(&all) };
    (!is_let_in).then(|| Ban { file: (*file).clone(), rule: path.join(".") })
}

/// The value at `path`. VS Code writes a path as one key with dots.
fn at<'a>(root: &'a Map<String, Value>, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(root.get(*first)?, |value, key| value.get(*key))
}

/// The file as data. A file that cannot be read has no rules here: the host itself checks the entry later.
fn read(format: Format, file: &std::path::Path) -> Option<Map<String, Value>> {
    let bytes = ForeignFile::locate(file).ok()?.read().ok()??;
    let (_, text) = document(&bytes).ok()?;
    edit::read(format, text).ok()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test's own files")]
mod tests {
    use serde_json::json;

    use crate::setup::clients;
    use crate::setup::paths::Platform;
    use crate::setup::paths::tests::machine;
    use crate::setup::tests::job;
    use crate::setup::{Action, Job, NAME, survey};

    /// A host, a file below HOME, its content, and the rule in it that refuses our entry.
    const CASES: &[(&str, &str, &str, Option<&str>)] = &[
        (
            "claude",
            ".claude/settings.json",
            r#"{"deniedMcpServers": [{"serverName": "pdpp"}]}"#,
            Some("deniedMcpServers"),
        ),
        (
            "claude",
            "project/.claude/settings.local.json",
            r#"{"deniedMcpServers": [{"serverCommand": ["/usr/local/bin/pdpp", "mcp", "serve"]}]}"#,
            Some("deniedMcpServers"),
        ),
        (
            "claude",
            "etc/claude-code/managed-settings.json",
            r#"{"allowedMcpServers": [{"serverName": "other"}]}"#,
            Some("allowedMcpServers"),
        ),
        (
            "claude",
            "etc/claude-code/managed-settings.json",
            r#"{"allowedMcpServers": []}"#,
            Some("allowedMcpServers"),
        ),
        ("claude", "etc/claude-code/managed-mcp.json", r#"{"mcpServers": {}}"#, Some("mcpServers")),
        // If a list has commands, only the commands count.
        (
            "claude",
            ".claude/settings.json",
            r#"{"allowedMcpServers": [{"serverName": "pdpp"}, {"serverCommand": ["x"]}]}"#,
            Some("allowedMcpServers"),
        ),
        (
            "claude",
            ".claude/settings.json",
            r#"{"allowedMcpServers": [{"serverName": "pdpp"}], "deniedMcpServers": [{"serverName": "other"}, {"serverUrl": "*"}]}"#,
            None,
        ),
        ("claude", ".claude/settings.json", r#"{"permissions": {"allow": []}}"#, None),
        ("gemini", ".gemini/settings.json", r#"{"mcp": {"excluded": ["PDPP"]}}"#, Some("mcp.excluded")),
        ("gemini", "etc/gemini-cli/settings.json", r#"{"mcp": {"allowed": ["other"]}}"#, Some("mcp.allowed")),
        ("gemini", ".gemini/settings.json", r#"{"excludeMCPServers": ["pdpp"]}"#, Some("excludeMCPServers")),
        ("gemini", ".gemini/settings.json", r#"{"mcp": {"allowed": [], "excluded": ["other"]}}"#, None),
        ("qwen", ".qwen/settings.json", r#"{"mcp": {"excluded": ["pd?p"]}}"#, Some("mcp.excluded")),
        ("qwen", "etc/qwen-code/settings.json", r#"{"mcp": {"allowed": ["*-data"]}}"#, Some("mcp.allowed")),
        ("qwen", ".qwen/settings.json", r#"{"mcp": {"allowed": ["x", "p*"], "excluded": ["*-pdpp"]}}"#, None),
        (
            "amazon-q",
            ".aws/amazonq/agents/default.json",
            r#"{"useLegacyMcpJson": false}"#,
            Some("useLegacyMcpJson"),
        ),
        ("amazon-q", ".aws/amazonq/agents/default.json", r#"{"useLegacyMcpJson": true}"#, None),
        (
            "codex",
            "etc/codex/requirements.toml",
            "[mcp_servers.other.identity]\ncommand = 'x'\n",
            Some("mcp_servers"),
        ),
        (
            "codex",
            "etc/codex/requirements.toml",
            "[mcp_servers.pdpp.identity]\ncommand = 'x'\n",
            Some("mcp_servers"),
        ),
        (
            "codex",
            "etc/codex/requirements.toml",
            "[mcp_servers.pdpp.identity]\ncommand = '/usr/local/bin/pdpp'\n",
            None,
        ),
        (
            "vscode",
            ".config/Code/User/settings.json",
            r#"{"chat.mcp.access": "none"}"#,
            Some("chat.mcp.access"),
        ),
        (
            "vscode",
            ".config/Code/User/settings.json",
            r#"{"chat.mcp.enabled": false}"#,
            Some("chat.mcp.enabled"),
        ),
        (
            "vscode",
            ".config/Code/User/settings.json",
            r#"{"chat.mcp.access": "all", "chat.mcp.enabled": true}"#,
            None,
        ),
    ];

    #[test]
    fn a_pattern_is_like_a_whole_name() {
        for pattern in ["pdpp", "PDPP", "*", "p*", "*p", "**d**", "p??p", "*pdpp*"] {
            assert!(super::is_like("pdpp", pattern), "{pattern}");
        }
        for pattern in ["", "pdp", "pdppp", "?", "*x*", "p?p", "dpp*", "????*?"] {
            assert!(!super::is_like("pdpp", pattern), "{pattern}");
        }
    }

    #[test]
    fn a_hosts_own_rules_are_named_and_its_file_is_left() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for &(host, path, text, rule) in CASES {
            let dir = tempfile::tempdir().unwrap();
            let machine = machine(Platform::Linux, dir.path());
            let file: std::path::PathBuf = dir.path().join(path).components().collect();
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
            let config = job(host).file(&machine).unwrap();
            let before = std::fs::read(&config).ok();
            let applied = runtime.block_on(job(host).apply(&machine));
            let Some(rule) = rule else {
                assert_eq!(applied.unwrap().plan.action, Action::Added, "{host}: {text}");
                continue;
            };
            let error = applied.unwrap_err();
            assert_eq!((error.code(), error.kind().exit_code()), ("host_policy", 1), "{host}: {text}");
            assert!(error.message().starts_with(&format!("`{rule}` in {}", file.display())), "{error:?}");
            assert_eq!(std::fs::read(&config).ok(), before, "{host}: {text}");
            // Removing an entry is always allowed.
            let removal = Job { entry: None, ..job(host) };
            assert_eq!(runtime.block_on(removal.apply(&machine)).unwrap().plan.action, Action::Absent);
            // An existing entry is checked too.
            let entry = json!({"mcpServers": {"pdpp": (clients::host(host).unwrap().fields)(job(host).entry.as_ref().unwrap(), NAME).to_json()}});
            if host == "claude" {
                std::fs::write(&config, entry.to_string()).unwrap();
                let surveyed = survey(&machine, NAME);
                assert!(
                    surveyed[0].problems.iter().any(|problem| problem.what.contains(rule)),
                    "{:?}",
                    surveyed[0]
                );
            }
        }
    }
}
