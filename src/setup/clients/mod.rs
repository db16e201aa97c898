//! The hosts: one file each, all of them only data.

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

/// A host that learns about servers from a file.
#[derive(Debug)]
pub struct Host {
    /// The name to type: `pdpp mcp setup <id>`.
    pub id: &'static str,
    /// The name to show.
    pub title: &'static str,
    /// The format of its file.
    pub format: Format,
    /// The member of the file's root that holds the servers.
    pub container: &'static str,
    /// The user's own file.
    pub user_file: fn(&Machine) -> PathBuf,
    /// The variables that move that file.
    pub moved_by: &'static [&'static str],
    /// Files that other installations or older versions of it may read instead on this computer: reported, never
    /// written.
    pub other_files: fn(&Machine) -> Vec<PathBuf>,
    /// A project's file, relative to the project's directory; if it exists, it takes precedence over the user's
    /// file.
    pub project_file: Option<&'static str>,
    /// The entry in the form that this host reads.
    pub fields: fn(&Entry, &str) -> Fields,
    /// How much of one result its models are known to be shown, if that is more than the default (R4.8).
    pub max_result_bytes: Option<u32>,
    /// Whether it is known to refuse a file that begins with a byte order mark: then none is written.
    pub chokes_on_bom: bool,
    /// The lock that it takes when it writes its file.
    pub lock: Option<Lock>,
    /// The directory that shows that it is installed.
    pub sign: Sign,
    /// Its programs on `PATH`; the first is also asked to check the entry.
    pub programs: &'static [&'static str],
    /// How it reports on an entry, if it can be asked.
    pub check: Option<Check>,
    /// Its own rules about the servers that it accepts.
    pub policies: &'static [Policy],
    /// The processes that write the file back from memory when they end.
    pub overwritten_by: &'static [&'static str],
    /// A link that adds the entry, for `--print`.
    pub link: Option<fn(&Fields, &str) -> String>,
    /// Whether its agent can run system commands itself, and so read what the person can read.
    pub has_shell: bool,
    /// What to do in the host after the entry changed.
    pub afterwards: &'static str,
}

/// How to ask a host about an entry.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Its program's arguments; `NAME` is the entry's name.
    pub arguments: &'static [&'static str],
    /// What one line of its answer contains if all is well; `NAME` is the entry's name.
    pub expects: &'static [&'static str],
    /// Whether the host starts the server to answer; asking then makes sense only once there is a grant.
    pub starts: bool,
    /// Whether the host is only that program; other hosts are also an editor's extension.
    pub is_all: bool,
}

/// A directory that identifies a host if neither its program nor its file exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// The directory of its file.
    Own,
    /// The directory of its file, or this one in HOME: the file's own directory is created only with the first
    /// server.
    OwnOr(&'static str),
    /// None: the directory of its file also belongs to another host.
    Nothing,
}

/// A directory that a host makes next to its file while it writes it: `<file>.lock`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// An empty directory, the way `proper-lockfile` makes it.
    Empty,
    /// A directory with a file in it: an empty one does not keep the host out.
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

/// The host with this `id`.
#[cfg(test)]
pub fn host(id: &str) -> Option<&'static Host> {
    HOSTS.into_iter().find(|host| host.id == id)
}

impl Host {
    /// What an `entry` of its config starts, if that is this program and the host would read the entry that
    /// way.
    pub fn ours(&self, entry: &Value) -> Option<Entry> {
        // Other ways to reach a server in addition to the command, or a program under another host's key: the
        // host may not do what the entry seems to say.
        const WAYS: [&str; 7] = ["command", "cmd", "args", "url", "serverUrl", "httpUrl", "uri"];
        let found = Entry::from_config(entry).filter(Entry::is_ours)?;
        let fields = (self.fields)(&found, "");
        // Cline's other form nests all of this a level deeper, and takes precedence over the members next to
        // it.
        let is_deeper = entry.get("transport").is_some_and(Value::is_object);
        let is_alone = WAYS.iter().all(|way| entry.get(way).is_none() || fields.has(way));
        (is_alone && !is_deeper).then_some(found)
    }
}

/// A field that every update sets.
const fn ours(key: &'static str, field: Field) -> (&'static str, Field, Whose) {
    (key, field, Whose::Ours)
}

/// `command` and `args`, as most hosts use them.
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

/// `text` encoded for a URL's query.
fn in_query(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// The entry in base64, for links.
fn base64(fields: &Fields) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(fields.to_json().to_string())
}
