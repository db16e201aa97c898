//! A small MCP client over stdio: for `pdpp mcp inspect`, the proof in setup, `pdpp mcp call` and the demo.
//!
//! The server is someone else's program: it gets its own process group, limited time and limited output, and is
//! killed with everything that it started. What it sends is data; the caller escapes it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout, timeout_at};

use super::message::{self, Outcome, ToolPages, client_info};
use crate::error::{Error, Result};
use crate::mcp::protocol::jsonrpc::META_PROTOCOL_VERSION;
use crate::text;

/// What a server may write in total: bytes, and lines that are not the awaited answer.
const MAX_OUTPUT: u64 = 32 << 20;
const MAX_LINE: u64 = 16 << 20;
const MAX_OTHER_LINES: usize = 1000;
/// How many bytes from the end of a server's stderr are kept.
const MAX_STDERR: usize = 4 << 10;
/// How long a server may take to answer `server/discover`: servers of the older eras are known not to answer it.
const DISCOVER_FOR: Duration = Duration::from_secs(2);
/// How long a server may take to end after its stdin is closed.
const END_WITHIN: Duration = Duration::from_millis(500);
const MODERN: &str = "2026-07-28";

/// What a server said about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerFacts {
    /// The negotiated protocol version, e.g. `2025-11-25`.
    pub protocol_version: String,
    /// `serverInfo`; null if the server gave none.
    pub info: Value,
    /// `instructions`; empty if the server gave none.
    pub instructions: String,
}

/// A command to start a server with.
#[derive(Debug, Clone)]
pub struct ServerCommand {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The directory and environment to start in, if they differ from the parent's.
    pub surroundings: Option<Surroundings>,
}

/// A directory and a complete environment to start a server in.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The current directory.
    pub directory: PathBuf,
    /// All variables.
    pub environment: Vec<(OsString, OsString)>,
}

/// A connected server.
pub struct Client {
    process: Option<Process>,
    input: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    output: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    deadline: Instant,
    read: u64,
    next_id: u64,
    modern: bool,
    facts: Option<ServerFacts>,
    refusal: Option<Value>,
    odd: Option<&'static str>,
}

/// A child process with everything that it starts; killed when dropped.
struct Process {
    child: Child,
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
    /// The mark in the environment of the child and of everything that it starts.
    mark: Option<String>,
    stderr: Arc<Mutex<Vec<u8>>>,
}

/// The variable that marks a started server, so that processes that left its group (`setsid`) can be found.
const MARK: &str = "PDPP_MCP_CLIENT";

fn mark() -> Option<String> {
    crate::hex::random::<8>().ok()
}

/// Kills every process with `mark` in its environment. Without `/proc`, only the process group is killed.
#[cfg(target_os = "linux")]
fn kill_marked(mark: &str) {
    use rustix::process::{Pid, Signal, kill_process};
    let entry = format!("{MARK}={mark}").into_bytes();
    // Repeated, for processes that were started in the meantime.
    for _ in 0..3 {
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = processes.filter_map(|process| process.file_name().to_str()?.parse::<i32>().ok());
        let is_marked = |pid: &i32| {
            std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
                environment.split(|byte| *byte == 0).any(|variable| variable == entry)
            })
        };
        let marked: Vec<_> = pids.filter(is_marked).filter_map(Pid::from_raw).collect();
        if marked.is_empty() {
            return;
        }
        for pid in marked {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn kill_marked(_mark: &str) {}

impl Process {
    fn new(child: Child, mark: Option<String>, stderr: Arc<Mutex<Vec<u8>>>) -> Self {
        Self {
            #[cfg(unix)]
            group: child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw),
            child,
            mark,
            stderr,
        }
    }

    /// Kills the whole group: a wrapper like `npx` is not the server itself, and may exit before it.
    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.group.take() {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.start_kill();
        if let Some(mark) = self.mark.take() {
            kill_marked(&mark);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Client {
    /// Starts `command` once and negotiates a protocol version: first with `initialize`, then with `server/discover`
    /// if the server knows only the era without it. The opposite order would have to start it twice: some servers
    /// exit when the first message is not `initialize`.
    ///
    /// Everything that is asked of this client must finish `within` that time from now.
    ///
    /// # Errors
    /// Returns `server_start_failed`, `server_ended`, `server_timeout`, `server_protocol`, `server_output` or
    /// `server_refused`.
    pub async fn start(command: &ServerCommand, within: Duration) -> Result<Self> {
        let mut client = Self::spawn(command, Instant::now() + within)?;
        match client.initialize().await {
            Err(refused) if refused.code() == "server_refused" => {
                if client.discover().await? {
                    Ok(client)
                } else {
                    Err(refused)
                }
            }
            initialized => initialized.map(|()| client),
        }
    }

    /// Starts `command` and sends nothing yet: for a caller that chooses the first message.
    ///
    /// # Errors
    /// Returns `server_start_failed` if it cannot be started.
    pub fn open(command: &ServerCommand, within: Duration) -> Result<Self> {
        Self::spawn(command, Instant::now() + within)
    }

    fn spawn(command: &ServerCommand, deadline: Instant) -> Result<Self> {
        let mut start = Command::new(&command.program);
        start.args(&command.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        start.kill_on_drop(true);
        if let Some(surroundings) = &command.surroundings {
            start.current_dir(&surroundings.directory).env_clear();
            start.envs(surroundings.environment.iter().map(|(name, value)| (name, value)));
        }
        let mark = mark();
        if let Some(mark) = &mark {
            start.env(MARK, mark);
        }
        #[cfg(unix)]
        start.process_group(0);
        let failed = || {
            let program = command.program.to_string_lossy();
            Error::failed("server_start_failed", format!("Could not start `{}`", text::one_line(&program)))
        };
        let mut child = start.spawn().map_err(|error| failed().because(error))?;
        let (Some(input), Some(output), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed());
        };
        let tail = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(keep_tail(stderr, Arc::clone(&tail)));
        let mut client = Self::over(output, input, deadline);
        client.process = Some(Process::new(child, mark, tail));
        Ok(client)
    }

    /// A client over any pair of streams; nothing has been sent yet.
    pub fn over(
        output: impl AsyncRead + Send + Unpin + 'static,
        input: impl AsyncWrite + Send + Unpin + 'static,
        deadline: Instant,
    ) -> Self {
        Self {
            process: None,
            input: Some(Box::new(input)),
            output: BufReader::new(Box::new(output)),
            deadline,
            read: 0,
            next_id: 1,
            modern: false,
            facts: None,
            refusal: None,
            odd: None,
        }
    }

    /// What the server said about itself, once a version is negotiated.
    pub const fn facts(&self) -> Option<&ServerFacts> {
        self.facts.as_ref()
    }

    /// The last JSON-RPC error in its answers, unchanged, even if it was recovered from.
    pub const fn refusal(&self) -> Option<&Value> {
        self.refusal.as_ref()
    }

    /// What the server writes that a host may be unable to read, although this client could.
    pub const fn odd(&self) -> Option<&'static str> {
        self.odd
    }

    /// Allows this much time from now for everything that follows.
    pub fn allow(&mut self, within: Duration) {
        self.deadline = Instant::now() + within;
    }

    /// Asks with `server/discover` (2026-07-28); returns whether the server supports it.
    ///
    /// # Errors
    /// As for [`Self::start`].
    pub async fn discover(&mut self) -> Result<bool> {
        self.modern = true;
        let asked = timeout(DISCOVER_FOR, self.request("server/discover", Map::new())).await;
        let result = match asked {
            Ok(Ok(Ok(result))) => result,
            Ok(Err(error)) => return Err(error),
            Ok(Ok(Err(_))) | Err(_) => {
                self.modern = false;
                return Ok(false);
            }
        };
        let versions = result.get("supportedVersions").and_then(Value::as_array);
        self.modern = versions.is_some_and(|versions| versions.iter().any(|version| version == MODERN));
        if self.modern {
            let meta_info = result.pointer("/_meta/io.modelcontextprotocol~1serverInfo");
            let info = result.get("serverInfo").or(meta_info).cloned().unwrap_or_default();
            self.facts = Some(facts(MODERN.to_owned(), info, &result));
        }
        Ok(self.modern)
    }

    /// Asks with `initialize` (2024-11-05 to 2025-11-25).
    ///
    /// # Errors
    /// As for [`Self::start`].
    pub async fn initialize(&mut self) -> Result<()> {
        self.modern = false;
        let result = self
            .request("initialize", message::initialize_params())
            .await?
            .map_err(|error| refused("initialize", &error))?;
        let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
        let info = result.get("serverInfo").cloned().unwrap_or_default();
        self.facts = Some(facts(version, info, &result));
        self.send(&message::initialized()).await
    }

    /// Every tool, from all pages.
    ///
    /// # Errors
    /// As for [`Self::start`], and `server_refused`.
    pub async fn list_tools(&mut self) -> Result<Vec<Value>> {
        let (mut pages, mut next) = (ToolPages::default(), Some(Map::new()));
        while let Some(params) = next {
            let page = self.request("tools/list", params).await?;
            let page = page.map_err(|error| refused("tools/list", &error))?;
            next = pages.take(page).map_err(protocol)?;
        }
        Ok(pages.into_tools())
    }

    /// Calls a tool and returns its whole result, whether `isError` or not.
    ///
    /// # Errors
    /// As for [`Self::start`], and `server_refused` for a JSON-RPC error.
    pub async fn call_tool(&mut self, name: &str, arguments: Map<String, Value>) -> Result<Value> {
        let mut params = Map::new();
        params.insert("name".into(), name.into());
        params.insert("arguments".into(), arguments.into());
        self.request("tools/call", params).await?.map_err(|error| refused("tools/call", &error))
    }

    /// Gives the server a short time to end, then kills what is left; it is gone when this returns.
    pub async fn close(mut self) {
        self.input = None;
        if let Some(mut process) = self.process.take()
            && timeout(END_WITHIN, process.child.wait()).await.is_err()
        {
            process.kill();
            let _ = timeout(END_WITHIN, process.child.wait()).await;
        }
    }

    /// Sends a request and waits for its answer: the result, or the JSON-RPC error.
    async fn request(
        &mut self,
        method: &str,
        mut params: Map<String, Value>,
    ) -> Result<Result<Value, Value>> {
        let id = self.next_id;
        self.next_id += 1;
        if self.modern {
            let mut meta = Map::new();
            meta.insert(META_PROTOCOL_VERSION.into(), MODERN.into());
            meta.insert("io.modelcontextprotocol/clientInfo".into(), client_info());
            meta.insert("io.modelcontextprotocol/clientCapabilities".into(), json!({}));
            params.insert("_meta".into(), meta.into());
        }
        let message = message::request(id, method, params);
        match timeout_at(self.deadline, self.exchange(id, &message)).await {
            Ok(done) => {
                if let Ok(Err(refusal)) = &done {
                    self.refusal = Some(refusal.clone());
                }
                done
            }
            Err(_) => Err(self.explain(Error::failed(
                "server_timeout",
                format!("The server did not answer {method} in time"),
            ))),
        }
    }

    async fn exchange(&mut self, id: u64, message: &Value) -> Result<Result<Value, Value>> {
        self.send(message).await?;
        for _ in 0..MAX_OTHER_LINES {
            let line = self.read_line().await?;
            // Programs often log to stdout, so such lines are skipped.
            let Some((mut answer, odd)) = message::read(&line) else { continue };
            self.odd = self.odd.or(odd);
            if let Some(method) = answer.get("method").and_then(Value::as_str) {
                if let Some(asked) = answer.get("id") {
                    let reply = reply_to(method, asked);
                    self.send(&reply).await?;
                }
                continue;
            }
            match message::outcome(&mut answer, id) {
                Some(Outcome::Result(result)) => return Ok(Ok(result)),
                Some(Outcome::Error(error)) => return Ok(Err(error)),
                Some(Outcome::Neither) => {
                    return Err(protocol("its answer has neither result nor error"));
                }
                None => {}
            }
        }
        Err(self.explain(Error::failed("server_output", "The server wrote too much that is not an answer")))
    }

    async fn send(&mut self, message: &Value) -> Result<()> {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        let Some(input) = &mut self.input else { return Err(protocol("it is closed already")) };
        if input.write_all(&line).await.is_err() || input.flush().await.is_err() {
            return Err(self.ended().await);
        }
        Ok(())
    }

    async fn read_line(&mut self) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        let allowed = MAX_LINE.min(MAX_OUTPUT.saturating_sub(self.read));
        let read = (&mut self.output).take(allowed).read_until(b'\n', &mut line).await;
        self.read += line.len() as u64;
        match read {
            Ok(_) if line.ends_with(b"\n") => Ok(line),
            Ok(_) if line.len() as u64 >= allowed => Err(self.explain(Error::failed(
                "server_output",
                "The server wrote more than the limit (16 MiB per line, 32 MiB in total)",
            ))),
            _ => Err(self.ended().await),
        }
    }

    async fn ended(&mut self) -> Error {
        let mut how = "The server ended without an answer".to_owned();
        if let Some(process) = &mut self.process
            && let Ok(Ok(status)) = timeout(END_WITHIN, process.child.wait()).await
        {
            how = format!("The server ended without an answer ({status})");
        }
        self.explain(Error::failed("server_ended", how))
    }

    /// Adds the end of the server's stderr, which usually explains the error.
    fn explain(&self, error: Error) -> Error {
        let Some(process) = &self.process else { return error };
        let tail = process.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let tail = String::from_utf8_lossy(&tail);
        let tail = tail.trim();
        if tail.is_empty() { error } else { error.because(format!("its stderr ends with: {tail}")) }
    }
}

impl ServerCommand {
    /// The command as typed, for messages: each word is quoted if a shell needs it.
    pub fn display(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        let words = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>();
        text::shell_line(words.iter().map(AsRef::as_ref))
    }

    /// The command in the words of a command line; `None` if there are none.
    pub fn from_words(words: &[OsString]) -> Option<Self> {
        let (program, arguments) = words.split_first()?;
        Some(Self {
            program: OsStr::to_os_string(program),
            arguments: arguments.to_vec(),
            surroundings: None,
        })
    }
}

async fn keep_tail(mut stderr: impl AsyncRead + Unpin, tail: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = [0; 1024];
    while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(&chunk[..read]);
        let excess = tail.len().saturating_sub(MAX_STDERR);
        tail.drain(..excess);
    }
}

fn facts(protocol_version: String, info: Value, result: &Value) -> ServerFacts {
    let instructions = result.get("instructions").and_then(Value::as_str).unwrap_or_default().to_owned();
    ServerFacts { protocol_version, info, instructions }
}

/// Replies to a request from the server: `ping` is answered, everything else is declined.
fn reply_to(method: &str, id: &Value) -> Value {
    if method == "ping" {
        json!({"jsonrpc": "2.0", "id": id, "result": {}})
    } else {
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})
    }
}

fn protocol(what: &str) -> Error {
    Error::failed("server_protocol", format!("The server does not speak MCP as expected: {what}"))
}

fn refused(method: &str, error: &Value) -> Error {
    let message = error.get("message").and_then(Value::as_str).unwrap_or("no message");
    let code = error.get("code").map(ToString::to_string).unwrap_or_default();
    let message = text::one_line(text::prefix(message, 1000));
    Error::failed("server_refused", format!("The server refused {method}: {message} ({code})"))
}
