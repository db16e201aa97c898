//! Proof that a host can start the recorded command. The command is started the way the strictest host does it,
//! with Codex's few variables and in `/`, and must answer the questions that Claude Code asks. Then the host's
//! own program is asked, if it has one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::clients::Host;
use super::entry::Entry;
use super::kept::Start;
use super::paths::{Machine, Platform};
use crate::advice::{Command, Hint};
use crate::cache::store::remedy;
use crate::error::{Error, Result};
use crate::mcp::protocol::client::{Client, ServerCommand, Surroundings};
use crate::text;

/// How long a host may wait for an answer.
const WITHIN: Duration = Duration::from_secs(2);
/// How long reading the tokens may take: a keyring can be slow.
const TOKENS_WITHIN: Duration = Duration::from_secs(10);
/// How long a host's own program may take to look at an entry.
const CHECK_WITHIN: Duration = Duration::from_mins(1);

/// The variables that Codex passes on.
const PASSED: [&str; 10] =
    ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];
/// The same on Windows, where nothing starts without some of these.
const PASSED_ON_WINDOWS: [&str; 18] = [
    "PATH",
    "PATHEXT",
    "COMSPEC",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "USERNAME",
    "USERDOMAIN",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "TEMP",
    "TMP",
    "WINDIR",
    "LANG",
];

/// The outcome of starting the recorded command.
#[derive(Debug)]
pub enum Proof {
    /// It answered `server/discover`, `initialize` and `tools/list`.
    Serves {
        /// How many tools it lists.
        tools: usize,
        /// How long all of it took.
        took: Duration,
    },
    /// It started, and reported in its typed answer that there is nothing to serve yet.
    NotConnected {
        /// The answer's code, e.g. `not_connected`.
        code: String,
        /// What has happened, according to the answer.
        message: String,
        /// What to do, according to the answer.
        next: Option<String>,
    },
    /// It started, but cannot read a token in that environment, for example because the keyring is on another
    /// bus.
    NoToken(NoToken),
    /// It did not start, or not as an MCP server.
    Failed(Error),
    /// Another program has written the file meanwhile, and the entry is gone.
    Overwritten(Error),
}

impl Proof {
    /// The result for `--json`.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Serves { tools, took } => {
                json!({"state": "serves", "tools": tools, "milliseconds": u64::try_from(took.as_millis()).unwrap_or(u64::MAX)})
            }
            Self::NotConnected { code, message, next } => {
                json!({"state": "not_connected", "code": code, "message": message, "next": next})
            }
            Self::NoToken(NoToken { code, message, next }) => {
                json!({"state": "token_unreadable", "code": code, "message": message, "next": next})
            }
            Self::Failed(error) | Self::Overwritten(error) => {
                let mut failed = error.to_json();
                failed["state"] = "failed".into();
                failed
            }
        }
    }
}

/// Why a server that is started the way the strictest host does it has no token to read with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoToken {
    /// The stable code, e.g. `keyring_absent`.
    pub code: String,
    /// What has happened.
    pub message: String,
    /// What to do.
    pub next: Option<Hint>,
}

/// What a host's own program reports about the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The command that was run, as you would type it.
    pub command: String,
    /// Whether its output matches that for a working entry.
    pub is_well: bool,
    /// Its output, shortened, if it does not match.
    pub message: String,
}

/// Starts `entry`, with what the host adds to it, and asks what a host asks, in the order of Claude Code.
pub async fn prove(entry: &Entry, start: &Start) -> Proof {
    let command = ServerCommand {
        program: OsString::from(&entry.program),
        arguments: entry.arguments.iter().map(OsString::from).collect(),
        surroundings: Some(Surroundings { directory: directory(start), environment: environment(start) }),
    };
    let began = Instant::now();
    let mut client = match Client::open(&command, WITHIN) {
        Ok(client) => client,
        Err(error) => return Proof::Failed(error),
    };
    let asked = ask(&mut client).await;
    let proof = match asked {
        Ok(tools) => {
            let took = began.elapsed();
            unreadable(entry, start).await.map_or(Proof::Serves { tools, took }, Proof::NoToken)
        }
        Err(error) => not_connected(client.refusal()).unwrap_or_else(|| {
            Proof::Failed(error.hint(format!("Run it yourself to see more: {}", entry.display())))
        }),
    };
    client.close().await;
    proof
}

/// Why the command of `entry`, started this way, cannot read a token. Asks neither the host nor a provider.
/// `None` also if the command does not report it.
pub async fn unreadable(entry: &Entry, start: &Start) -> Option<NoToken> {
    let mut command = tokio::process::Command::new(&entry.program);
    command.args(&entry.arguments).arg("--check-tokens").current_dir(directory(start));
    command.env_clear().envs(environment(start)).stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(TOKENS_WITHIN, command.output()).await.ok()?.ok()?;
    let message: Value = serde_json::from_slice(&output.stdout).ok()?;
    let text = |key| message.get("error")?.get(key)?.as_str().map(ToOwned::to_owned);
    // Other problems do not depend on how it was started.
    let code = text("code").filter(|code| remedy(code).is_some())?;
    let next = match code.as_str() {
        // A host has no session with that keyring, so advice to run this in the right session would not help.
        "keyring_absent" => Some(Command::new("status --move-to file").into()),
        _ => text("next").map(Hint::from),
    };
    Some(NoToken { message: text("message")?, next, code })
}

async fn ask(client: &mut Client) -> Result<usize> {
    client.discover().await?;
    client.initialize().await?;
    Ok(client.list_tools().await?.len())
}

/// The answer that `mcp serve` gives before it ends with 78 (R1.2).
fn not_connected(refusal: Option<&Value>) -> Option<Proof> {
    let refusal = refusal?;
    let data = refusal.get("data")?;
    if data.get("exit_code").map(ToString::to_string).as_deref() != Some("78") {
        return None;
    }
    let text = |key| data.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
    let message = refusal.get("message").and_then(Value::as_str).unwrap_or_default();
    // A host shows only the message, so it also contains the next step.
    let what = message.split(". Next: ").next().unwrap_or_default().to_owned();
    Some(Proof::NotConnected { code: text("code")?, message: what, next: text("next") })
}

fn root_directory() -> PathBuf {
    if cfg!(windows) { PathBuf::from("C:\\") } else { PathBuf::from("/") }
}

fn directory(start: &Start) -> PathBuf {
    start.directory.clone().unwrap_or_else(root_directory)
}

/// The variables that every host passes on, and those of the entry.
fn environment(start: &Start) -> Vec<(OsString, OsString)> {
    let names: &[&str] = if cfg!(windows) { &PASSED_ON_WINDOWS } else { &PASSED };
    let passed =
        names.iter().filter_map(|name| std::env::var_os(name).map(|value| (OsString::from(name), value)));
    let own = start.variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    passed.chain(own).collect()
}

/// Asks the host's own program about the entry. `None` if it is not installed, or if it starts the server to
/// answer and there is nothing to serve yet.
pub async fn check(host: &Host, name: &str, machine: &Machine, connected: bool) -> Option<Checked> {
    let check = host.check.filter(|check| connected || !check.starts)?;
    let program = machine.program(host.programs.first()?)?;
    let arguments: Vec<_> = check.arguments.iter().map(|word| word.replace("NAME", name)).collect();
    let command = format!("{} {}", host.programs.first()?, arguments.join(" "));
    let output = run(&program, &arguments, None, CHECK_WITHIN).await;
    let Ok((_, message)) = output else {
        return Some(Checked {
            command,
            is_well: false,
            message: "it did not answer within 60 s".to_owned(),
        });
    };
    let expects: Vec<_> = check.expects.iter().map(|word| word.replace("NAME", name)).collect();
    let is_well = message.lines().any(|line| expects.iter().all(|word| line.contains(word.as_str())));
    let message =
        if is_well { String::new() } else { text::one_line(text::prefix(message.trim(), 600)).into_owned() };
    Some(Checked { command, is_well, message })
}

/// Runs a host's program until it ends, and returns its exit code and all of its output.
///
/// # Errors
/// If it cannot be started, or if it takes longer than `within`; it is then killed.
pub async fn run(
    program: &Path,
    arguments: &[String],
    input: Option<&str>,
    within: Duration,
) -> std::io::Result<(Option<i32>, String)> {
    use tokio::io::AsyncWriteExt as _;
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command.env("NO_COLOR", "1").env("RUST_BACKTRACE", "0").env("RUST_LIB_BACKTRACE", "0");
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.spawn()?;
    let stdin = child.stdin.take();
    let done = async {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // A program that does not read its input reports that by its exit code.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        child.wait_with_output().await
    };
    let output = tokio::time::timeout(within, done).await??;
    let message = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok((output.status.code(), message.join("\n")))
}

/// The processes in `names` that are running. Empty if that cannot be determined.
pub async fn running(names: &[&'static str], platform: Platform) -> Vec<&'static str> {
    if names.is_empty() {
        return Vec::new();
    }
    let all = match platform {
        Platform::Linux => processes(),
        Platform::MacOs => listed("/bin/ps", &["-axco", "comm"]).await,
        Platform::Windows => listed("tasklist", &["/fo", "csv", "/nh"]).await,
    };
    let is_one = |line: &str, name: &str| line.trim().trim_start_matches('"').split('"').next() == Some(name);
    names.iter().copied().filter(|name| all.iter().any(|line| is_one(line, name))).collect()
}

fn processes() -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| std::fs::read_to_string(entry.path().join("comm")).ok()).collect()
}

async fn listed(program: &str, arguments: &[&str]) -> Vec<String> {
    let arguments: Vec<_> = arguments.iter().map(|&word| word.to_owned()).collect();
    let message = run(Path::new(program), &arguments, None, Duration::from_secs(3)).await;
    message.map_or_else(|_| Vec::new(), |(_, message)| message.lines().map(ToOwned::to_owned).collect())
}
