//! The hosts: one file each, all of them data.

mod amazon_q;
mod amp;
mod antigravity;
pub mod chatgpt;
mod claude;
mod claude_desktop;
mod cline;
mod codex;
mod continue_dev;
mod copilot;
mod crush;
mod cursor;
mod gemini;
mod goose;
mod junie;
mod kiro;
mod lmstudio;
mod opencode;
mod qwen;
mod vscode;
mod warp;
mod windsurf;
mod zed;

use std::path::PathBuf;

use serde_json::Value;

use super::edit::{Field, Fields, Format, Whose};
use super::entry::Entry;
use super::paths::Machine;
use super::policy::Policy;

/// A host that is told about servers by a file.
#[derive(Debug)]
pub struct Host {
    /// What is typed: `pdpp mcp setup <id>`.
    pub id: &'static str,
    /// What it is called.
    pub title: &'static str,
    /// How its file is written.
    pub format: Format,
    /// The member of the file's root that has the servers.
    pub container: &'static str,
    /// The user's own file.
    pub user_file: fn(&Machine) -> PathBuf,
    /// The variables that move that file.
    pub moved_by: &'static [&'static str],
    /// Files that other installations or older versions of it read instead, where they could be here too: reported,
    /// never written.
    pub other_files: fn(&Machine) -> Vec<PathBuf>,
    /// A project's file, from the project's directory; it goes before the user's, where there is one.
    pub project_file: Option<&'static str>,
    /// The entry as this host reads it.
    pub fields: fn(&Entry, &str) -> Fields,
    /// What its models are known to be shown of one result, if that is more than the default (R4.8).
    pub max_result_bytes: Option<u32>,
    /// Whether it is known to refuse a file that begins with a byte order mark: then none is written.
    pub chokes_on_bom: bool,
    /// The lock that it takes to write its file.
    pub lock: Option<Lock>,
    /// The directory that says that it is here.
    pub sign: Sign,
    /// Its programs on `PATH`; the first is also asked for its own word on the entry.
    pub programs: &'static [&'static str],
    /// What it says about an entry, if it can be asked.
    pub check: Option<Check>,
    /// Its own rules about the servers that it takes.
    pub policies: &'static [Policy],
    /// The processes that write the file back from memory when they end.
    pub overwritten_by: &'static [&'static str],
    /// A link that puts the entry in, for `--print`.
    pub link: Option<fn(&Fields, &str) -> String>,
    /// Whether its agent can run commands of the system by itself, and so read what the person can read.
    pub has_shell: bool,
    /// What there is to do in the host after the entry changed.
    pub afterwards: &'static str,
}

/// How a host is asked about an entry.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Its program's arguments; `NAME` is the entry's name.
    pub arguments: &'static [&'static str],
    /// What its answer has on one line if all is well; `NAME` is the entry's name.
    pub expects: &'static [&'static str],
    /// Whether the host starts the server for it; then it makes sense only once a grant is there.
    pub starts: bool,
    /// Whether the host is that program and nothing else; others are an editor's extension too.
    pub is_all: bool,
}

/// A directory by which a host is known, where neither its program nor its file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// That of its file.
    Own,
    /// That, or this one in HOME: its file's comes with the first server only.
    OwnOr(&'static str),
    /// None: that of its file is another host's too.
    Nothing,
}

/// A directory that a host makes beside its file while it writes that: `<file>.lock`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// With nothing in it, as `proper-lockfile` makes it.
    Empty,
    /// With a file in it: an empty one does not keep the host out.
    Marked,
}

/// Every host with a file, in the order in which they are shown.
pub const HOSTS: [&Host; 22] = [
    &claude::HOST,
    &claude_desktop::HOST,
    &codex::HOST,
    &cursor::HOST,
    &vscode::HOST,
    &windsurf::HOST,
    &zed::HOST,
    &gemini::HOST,
    &opencode::HOST,
    &copilot::HOST,
    &goose::HOST,
    &lmstudio::HOST,
    &cline::HOST,
    &kiro::HOST,
    &amp::HOST,
    &qwen::HOST,
    &antigravity::HOST,
    &junie::HOST,
    &warp::HOST,
    &crush::HOST,
    &amazon_q::HOST,
    &continue_dev::HOST,
];

/// The host called `id`.
#[cfg(test)]
pub fn host(id: &str) -> Option<&'static Host> {
    HOSTS.into_iter().find(|host| host.id == id)
}

impl Host {
    /// What `entry` of its config starts, if that is this program and the host can read it so.
    pub fn ours(&self, entry: &Value) -> Option<Entry> {
        // Another way to the server beside the command, or a program under another host's key: what the host makes of
        // that is not what the entry seems to say.
        const WAYS: [&str; 7] = ["command", "cmd", "args", "url", "serverUrl", "httpUrl", "uri"];
        let found = Entry::from_config(entry).filter(Entry::is_ours)?;
        let fields = (self.fields)(&found, "");
        // Cline's other form, with all of that a level deeper, goes before the members beside it.
        let is_deeper = entry.get("transport").is_some_and(Value::is_object);
        let is_alone = WAYS.iter().all(|way| entry.get(way).is_none() || fields.has(way));
        (is_alone && !is_deeper).then_some(found)
    }
}

/// A field that every update sets.
const fn ours(key: &'static str, field: Field) -> (&'static str, Field, Whose) {
    (key, field, Whose::Ours)
}

/// `command` and `args`, as most hosts have it.
fn command_and_args(entry: &Entry) -> Vec<(&'static str, Field, Whose)> {
    vec![
        ours("command", Field::Text(entry.program.clone())),
        ours("args", Field::Texts(entry.arguments.clone())),
    ]
}

/// The same with a `type`.
fn typed(kind: &str, entry: &Entry) -> Vec<(&'static str, Field, Whose)> {
    let mut fields = vec![ours("type", Field::Text(kind.to_owned()))];
    fields.extend(command_and_args(entry));
    fields
}

/// `text` in a URL's query.
fn in_query(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// The entry in base64, for links.
fn base64(fields: &Fields) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(fields.to_json().to_string())
}
