//! Proof that a host can start what was recorded: the command is started as the strictest host does, with
//! Codex's few variables and in `/`, and has to answer as Claude Code asks. Then the host's own program is
//! asked, where there is one.

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

/// How long a host may be kept waiting.
const WITHIN: Duration = Duration::from_secs(2);
/// How long reading the tokens may take: a keyring is waited for.
const TOKENS_WITHIN: Duration = Duration::from_secs(10);
/// How long a host's own program may take to look at an entry.
const CHECK_WITHIN: Duration = Duration::from_mins(1);

/// What Codex passes on of its environment.
const PASSED: [&str; 10] =
    ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];
/// The same on Windows, where nothing starts without some of them.
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

/// What became of the recorded command.
#[derive(Debug)]
pub enum Proof {
    /// It answered `server/discover`, `initialize` and `tools/list`.
    Serves {
        /// How many tools it lists.
        tools: usize,
        /// How long all of it took.
        took: Duration,
    },
    /// It started, and said in its typed answer that there is nothing to serve yet.
    NotConnected {
        /// The answer's code, e.g. `not_connected`.
        code: String,
        /// What it says has happened.
        message: String,
        /// What it says is to be done.
        next: Option<String>,
    },
    /// It started, and cannot read a token where it was started: in a keyring of another bus, say.
    NoToken(NoToken),
    /// It did not start, or not as an MCP server.
    Failed(Error),
    /// Another program has written the file meanwhile, and the entry is gone.
    Overwritten(Error),
}

impl Proof {
    /// For `--json`.
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

/// Why a server that was started as the strictest host starts it has no token to read with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoToken {
    /// The stable code, e.g. `keyring_absent`.
    pub code: String,
    /// What has happened.
    pub message: String,
    /// What is to be done.
    pub next: Option<Hint>,
}

/// What a host's own program says about the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The command that was run, as it would be typed.
    pub command: String,
    /// Whether it said what it says of an entry that works.
    pub is_well: bool,
    /// What it said, shortened, if not.
    pub message: String,
}

/// Starts `entry`, with what the host adds to it, and asks it what a host asks, in the order of Claude Code.
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
            Proof::Failed(error.hint(format!("run it by hand to see more: {}", entry.display())))
        }),
    };
    client.close().await;
    proof
}

/// Whether the command of `entry`, started so, cannot read a token; neither the host nor a provider is asked. `None` also
/// where it does not say.
pub async fn unreadable(entry: &Entry, start: &Start) -> Option<NoToken> {
    let mut command = tokio::process::Command::new(&entry.program);
    command.args(&entry.arguments).arg("--check-tokens").current_dir(directory(start));
    command.env_clear().envs(environment(start)).stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(TOKENS_WITHIN, command.output()).await.ok()?.ok()?;
    let message: Value = serde_json::from_slice(&output.stdout).ok()?;
    let text = |key| message.get("error")?.get(key)?.as_str().map(ToOwned::to_owned);
    // What else is wrong is not of where it was started.
    let code = text("code").filter(|code| remedy(code).is_some())?;
    let next = match code.as_str() {
        // The session that has it is this one, or another: no host's.
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
    // A host shows the message alone, so the next step is in it too.
    let what = message.split(". Next: ").next().unwrap_or_default().to_owned();
    Some(Proof::NotConnected { code: text("code")?, message: what, next: text("next") })
}

fn root_directory() -> PathBuf {
    if cfg!(windows) { PathBuf::from("C:\\") } else { PathBuf::from("/") }
}

fn directory(start: &Start) -> PathBuf {
    start.directory.clone().unwrap_or_else(root_directory)
}

/// What every host passes on, and what the entry adds.
fn environment(start: &Start) -> Vec<(OsString, OsString)> {
    let names: &[&str] = if cfg!(windows) { &PASSED_ON_WINDOWS } else { &PASSED };
    let passed =
        names.iter().filter_map(|name| std::env::var_os(name).map(|value| (OsString::from(name), value)));
    let own = start.variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    passed.chain(own).collect()
}

/// Asks the host's own program about the entry; `None` if it is not here, or starts the server for an answer
/// and there is nothing to serve yet.
pub async fn check(host: &Host, name: &str, machine: &Machine, connected: bool) -> Option<Checked> {
    let check = host.check.filter(|check| connected || !check.starts)?;
    let program = machine.program(host.programs.first()?)?;
    let arguments: Vec<_> = check.arguments.iter().map(|word| word.replace("NAME", name)).collect();
    let command = format!("{} {}", host.programs.first()?, arguments.join(" "));
    let output = run(&program, &arguments, None, CHECK_WITHIN).await;
    let Ok((_, message)) = output else {
        return Some(Checked { command, is_well: false, message: "it gave no answer in 60 s".to_owned() });
    };
    let expects: Vec<_> = check.expects.iter().map(|word| word.replace("NAME", name)).collect();
    let is_well = message.lines().any(|line| expects.iter().all(|word| line.contains(word.as_str())));
    let message =
        if is_well { String::new() } else { text::one_line(text::prefix(message.trim(), 600)).into_owned() };
    Some(Checked { command, is_well, message })
}

/// Runs a host's program to its end: its exit code, and all that it said.
///
/// # Errors
/// If it cannot be started, or takes longer than `within`; it is killed then.
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
            // One that does not read its input says so by its exit code.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        child.wait_with_output().await
    };
    let output = tokio::time::timeout(within, done).await??;
    let message = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok((output.status.code(), message.join("\n")))
}

/// The processes in `names` that run now. Empty if that cannot be told.
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
