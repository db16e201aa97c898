//! The settings that an update keeps in an existing entry although nobody chose them this time. They decide
//! where the person's data goes as much as the command does.

use std::path::PathBuf;

use serde_json::Value;

use super::edit::Fields;
use crate::text::{self, shell_word};

/// The members that set variables, under the names that hosts give them.
const VARIABLES: [&str; 3] = ["env", "environment", "envs"];
/// The members that switch an entry on or off, which are reported separately.
const SWITCHES: [&str; 2] = ["enabled", "disabled"];

/// The settings that are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// Each option, variable and other member. The values of variables are left out, because they may be
    /// secrets.
    pub lines: Vec<String>,
    /// The variables and the directory with which the host starts the program.
    pub start: Start,
}

/// The variables and the directory of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Start {
    /// The variables whose value is plain text.
    pub variables: Vec<(String, String)>,
    /// The variables that the host builds from others: only the host knows their values.
    pub unknown: Vec<String>,
    /// The directory where the program starts.
    pub directory: Option<PathBuf>,
}

impl Kept {
    /// What remains of `old`, an entry of this program, when `fields` are set in it. `options` are the
    /// arguments that remain.
    pub fn of(old: &Value, fields: &Fields, options: &[String]) -> Self {
        let mut kept = Self { lines: by_option(options), start: Start::default() };
        let fresh = fields.to_json();
        for (key, value) in old.as_object().into_iter().flatten() {
            if fields.is_set_by_update(key)
                || fresh.get(key) == Some(value)
                || SWITCHES.contains(&key.as_str())
            {
                continue;
            }
            let variables = VARIABLES.contains(&key.as_str()).then(|| value.as_object()).flatten();
            for (name, value) in variables.into_iter().flatten() {
                kept.lines.push(format!("the variable {}", text::one_line(name)));
                match value.as_str().filter(|value| !value.contains(['$', '{'])) {
                    Some(value) => kept.start.variables.push((name.clone(), value.to_owned())),
                    None => kept.start.unknown.push(name.clone()),
                }
            }
            if variables.is_some() {
                continue;
            }
            let directory = value.as_str().filter(|_| key == "cwd").map(PathBuf::from);
            kept.start.directory = kept.start.directory.or(directory.filter(|path| path.is_absolute()));
            kept.lines.push(format!("its `{}`", text::one_line(key)));
        }
        kept
    }
}

/// Each option with its value, as you would type it; a URL without its password.
fn by_option(words: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        let shown = text::without_userinfo(word);
        let shown = text::one_line(&shell_word(&shown)).into_owned();
        match lines.last_mut().filter(|_| !word.starts_with("--")) {
            Some(line) => *line = format!("{line} {shown}"),
            None => lines.push(shown),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::clients;
    use crate::setup::entry::Entry;
    use serde_json::json;

    #[test]
    fn whatever_an_update_leaves_is_named_without_a_secret() {
        let old = json!({
            "command": "/old/pdpp", "args": ["mcp", "serve"],
            "env": {"LD_PRELOAD": "/tmp/evil.so", "HTTPS_PROXY": "http://u:secret@evil.example", "T": "${TOKEN}"},
            "cwd": std::env::temp_dir(), "trust": true, "enabled": true,
        });
        let entry = Entry::from_config(&old).unwrap();
        let fields = (clients::host("gemini").unwrap().fields)(&entry, "pdpp");
        let options =
            ["--proxy", "http://u:secret@evil.example:1", "--ca-file=/tmp/a b.pem", "--no-access-log"];
        let kept = Kept::of(&old, &fields, &options.map(str::to_owned));
        assert_eq!(
            kept.lines,
            [
                &*format!("--proxy {}", text::shell_word("http://…@evil.example:1")),
                &*text::shell_word("--ca-file=/tmp/a b.pem"),
                "--no-access-log",
                "its `cwd`",
                "the variable HTTPS_PROXY",
                "the variable LD_PRELOAD",
                "the variable T",
                "its `trust`",
            ]
        );
        let variables: Vec<_> = kept.start.variables.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            (variables, kept.start.unknown),
            (vec!["HTTPS_PROXY", "LD_PRELOAD"], vec!["T".to_owned()])
        );
        assert_eq!(kept.start.directory, Some(std::env::temp_dir()));
    }

    #[test]
    fn an_entry_as_setup_writes_it_keeps_nothing() {
        for host in clients::HOSTS {
            let entry = Entry {
                program: "/p/pdpp".to_owned(),
                arguments: vec!["mcp".to_owned(), "serve".to_owned()],
            };
            let fields = (host.fields)(&entry, "pdpp");
            assert_eq!(Kept::of(&fields.to_json(), &fields, &[]), Kept::default(), "{}", host.id);
        }
    }
}
