//! The client side of the scripted server.
#![cfg_attr(windows, allow(dead_code, reason = "what asks a pipe whether it is full is for unix"))]

use std::io::{BufRead, BufReader, Read, Write};
#[cfg(unix)]
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
#[cfg(unix)]
use std::sync::mpsc::RecvTimeoutError;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[cfg(unix)]
use rustix::process::Pid;
#[cfg(unix)]
pub use rustix::process::Signal;
use serde_json::{Value, json};

use super::scripted::ROLE;

/// Longer than anything takes: a bug ends in a failure, not in a hang.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    lines: Option<Receiver<String>>,
    stderr: Arc<Mutex<String>>,
    stderr_reader: Option<std::thread::JoinHandle<()>>,
}

/// How a server ended, how long after the cause, and its last output.
#[derive(Debug)]
pub struct Ending {
    pub code: Option<i32>,
    pub after: Duration,
    pub answers: Vec<Value>,
    pub stderr: String,
}

pub const MODERN_META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
    "io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},
    "io.modelcontextprotocol/clientCapabilities":{}}"#;

pub fn modern_meta() -> Value {
    serde_json::from_str(MODERN_META).unwrap()
}

/// Ctrl-C on its console stands for each of these signals: Wine has nothing else.
#[cfg(windows)]
#[derive(Debug, Clone, Copy)]
#[allow(clippy::upper_case_acronyms)]
pub enum Signal {
    TERM,
    INT,
    HUP,
}

/// The program itself, with a separate console. The client skips what libtest writes before.
#[cfg(windows)]
fn command(role: &str, _prefix: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--ignored",
        "--exact",
        "--nocapture",
        "--test-threads=2",
        "stdio::scripted::scripted_server",
    ]);
    let home = std::env::temp_dir();
    command.env_clear().envs(crate::support::env::home(&home)).env(ROLE, role).env("RUST_BACKTRACE", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    crate::support::env::stoppable(&mut command);
    command
}

/// What libtest writes before a test that it must leave alone.
#[cfg(windows)]
const HEADING: [&str; 2] = ["", "running 1 test"];
#[cfg(unix)]
const HEADING: [&str; 0] = [];

#[cfg(unix)]
fn command(role: &str, prefix: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    let script = format!(
        "{prefix} \"$0\" --ignored --exact --nocapture stdio::scripted::scripted_server 3>&1 >/dev/null"
    );
    command.arg("-c").arg(script).arg(std::env::current_exe().unwrap());
    command.env_clear().env(ROLE, role).env("PATH", "/usr/bin:/bin").env("RUST_BACKTRACE", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    command
}

impl Peer {
    /// A server that has received nothing yet.
    pub fn new() -> Self {
        Self::start(command("serve", "exec"), true)
    }

    pub fn refusing() -> Self {
        Self::start(command("refuse", "exec"), true)
    }

    /// A server whose answers nobody reads.
    pub fn unread() -> Self {
        Self::start(command("serve", "exec"), false)
    }

    /// A server whose parent is a shell instead of this process: [`Self::pid`] is the shell's.
    #[cfg(unix)]
    pub fn below_a_shell() -> Self {
        Self::start(command("serve", "exec 4<&0; <&4"), true)
    }

    /// A server after `initialize`.
    pub fn initialized() -> Self {
        let mut peer = Self::new();
        peer.initialize("2025-11-25");
        peer
    }

    fn start(mut command: Command, read: bool) -> Self {
        let mut child = command.spawn().unwrap();
        let (input, output, mut stderr) =
            (child.stdin.take(), child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let collected = Arc::new(Mutex::new(String::new()));
        let to = Arc::clone(&collected);
        let reader = std::thread::spawn(move || {
            let mut chunk = [0; 1024];
            while let Ok(read @ 1..) = stderr.read(&mut chunk) {
                to.lock().unwrap().push_str(&String::from_utf8_lossy(&chunk[..read]));
            }
        });
        let mut peer = Self {
            child,
            input,
            output: Some(output),
            lines: None,
            stderr: collected,
            stderr_reader: Some(reader),
        };
        if read {
            peer.read();
        }
        peer
    }

    /// Starts to read answers.
    pub fn read(&mut self) {
        let (to, lines) = channel();
        let output = BufReader::new(self.output.take().unwrap());
        std::thread::spawn(move || {
            let mut lines = output.lines().map_while(Result::ok);
            for expected in HEADING {
                assert_eq!(lines.next().as_deref(), Some(expected));
            }
            lines.try_for_each(|line| to.send(line).map_err(drop))
        });
        self.lines = Some(lines);
    }

    /// The first answer of a server whose answers otherwise stay unread.
    pub fn only_answer(&mut self) -> Value {
        let output = self.output.as_mut().unwrap();
        let mut next = || {
            let (mut line, mut byte) = (Vec::new(), [0]);
            while byte != *b"\n" {
                output.read_exact(&mut byte).unwrap();
                line.push(byte[0]);
            }
            String::from_utf8(line).unwrap()
        };
        for expected in HEADING {
            assert_eq!(next().trim_end(), expected);
        }
        message(&next())
    }

    #[cfg(unix)]
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Writes until the server has read nothing for a while; returns how many bytes it read.
    #[cfg(unix)]
    pub fn flood(&mut self, bytes: &[u8]) -> usize {
        use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
        let input = self.input.as_mut().unwrap();
        let blocking = fcntl_getfl(&*input).unwrap();
        fcntl_setfl(&*input, blocking | OFlags::NONBLOCK).unwrap();
        let (mut taken, mut last) = (0, Instant::now());
        while taken < bytes.len() && last.elapsed() < Duration::from_millis(400) {
            match input.write(&bytes[taken..]) {
                Ok(more) => (taken, last) = (taken + more, Instant::now()),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(error) => panic!("{error}"),
            }
        }
        fcntl_setfl(&*input, blocking).unwrap();
        taken
    }

    pub fn line(&mut self, line: &str) {
        self.raw(format!("{line}\n").as_bytes());
    }

    pub fn send(&mut self, message: &Value) {
        self.line(&message.to_string());
    }

    pub fn request(&mut self, id: impl Into<Value>, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}));
    }

    pub fn call(&mut self, id: impl Into<Value>, arguments: &Value) {
        self.request(id, "tools/call", &json!({"name": "query_records", "arguments": arguments}));
    }

    pub fn cancel(&mut self, id: impl Into<Value>) {
        let params = json!({"requestId": id.into(), "reason": "enough"});
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    }

    pub fn initialize(&mut self, version: &str) -> Value {
        let client = json!({"name": "t", "version": "0"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        self.request("init", "initialize", &params);
        let answer = self.answer();
        assert_eq!(answer["id"], "init", "{answer}");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    /// The next line, as it was written.
    pub fn answer_line(&mut self) -> String {
        self.lines.as_ref().unwrap().recv_timeout(PATIENCE).expect("an answer")
    }

    /// The next answer. All output must be JSON-RPC messages (R1.4).
    pub fn answer(&mut self) -> Value {
        message(&self.answer_line())
    }

    /// Whether the server is alive and has sent nothing unrequested.
    pub fn is_quiet(&mut self) {
        self.request("quiet", "ping", &json!({}));
        let answer = self.answer();
        assert_eq!(answer, json!({"jsonrpc": "2.0", "id": "quiet", "result": {}}));
    }

    #[cfg(windows)]
    pub fn kill(&self, _signal: Signal) {
        crate::windows::ctrl_c(self.child.id());
    }

    #[cfg(unix)]
    pub fn kill(&self, signal: Signal) {
        rustix::process::kill_process(self.pid(), signal).unwrap();
    }

    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Closes the read end of the server's stdout; only for a server whose answers nobody reads.
    pub fn close_output(&mut self) {
        self.output = None;
    }

    /// Closes stdin and waits for the end.
    pub fn end(mut self) -> Ending {
        self.close_input();
        self.ending()
    }

    /// Waits for the end, timed from now.
    pub fn ending(mut self) -> Ending {
        let started = Instant::now();
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            assert!(
                started.elapsed() < PATIENCE,
                "the server does not end; stderr: {}",
                self.stderr.lock().unwrap()
            );
            std::thread::sleep(Duration::from_millis(1));
        };
        let after = started.elapsed();
        let answers = self
            .lines
            .take()
            .map_or_else(Vec::new, |lines| lines.iter().map(|line| message(&line)).collect());
        // Until the pipe ends: the process is gone, but its last output may not have been read yet.
        self.stderr_reader.take().unwrap().join().unwrap();
        let stderr = self.stderr.lock().unwrap().clone();
        Ending { code, after, answers, stderr }
    }

    /// Waits until every process that holds the server's stdout is gone.
    #[cfg(unix)]
    pub fn everything_is_gone(&self) -> Duration {
        let started = Instant::now();
        loop {
            match self.lines.as_ref().unwrap().recv_timeout(PATIENCE) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return started.elapsed(),
                Err(RecvTimeoutError::Timeout) => panic!("the server does not end"),
            }
        }
    }

    /// Waits until stderr contains `needle`.
    pub fn stderr_has(&self, needle: &str) -> String {
        let started = Instant::now();
        loop {
            let text = self.stderr.lock().unwrap().clone();
            if text.contains(needle) {
                return text;
            }
            assert!(started.elapsed() < PATIENCE, "stderr has no {needle:?}: {text}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The peak memory of the server in kB; `None` if the system does not report it.
    pub fn peak_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse().ok()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        #[cfg(unix)]
        let _ = rustix::process::kill_process_group(self.pid(), Signal::KILL);
        #[cfg(windows)]
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn message(line: &str) -> Value {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("not MCP on stdout: {line:?}"));
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    message
}
