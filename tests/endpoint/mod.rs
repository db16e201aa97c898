//! The endpoint as a process: whom it serves, what it refuses, what it costs, and how it ends.

mod bounds;
mod fake;
mod operated;
mod served;
mod tried;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use crate::support::env::{TestEnv, stop, stoppable};

/// How long waiting for an event may take on a loaded machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// The credentials that a provider of these tests accepts.
const SECRET: &str = "canary-secret-7";

/// A running `pdpp mcp host`.
struct Running {
    child: Child,
    ready: Value,
    more_stdout: Option<BufReader<std::process::ChildStdout>>,
    stderr: Arc<Mutex<String>>,
    reader: Option<std::thread::JoinHandle<()>>,
    http: reqwest::Client,
}

/// An answer.
struct Answer {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{}", self.text))
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// `error.code`.
    fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// A file with these credentials and mode 600.
fn credentials(env: &TestEnv, client_id: &str, secret: &str) -> PathBuf {
    let path = env.home().join("introspection.json");
    let text = json!({"client_id": client_id, "client_secret": secret}).to_string();
    std::fs::write(&path, text).unwrap();
    private(&path);
    path
}

/// Makes a file private to its owner. On Windows, a file in the owner's folder is private.
fn private(path: &Path) {
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    #[cfg(windows)]
    let _ = path;
}

impl Running {
    /// Starts it in front of `provider`, and its `/mcp`.
    fn start(env: &TestEnv, provider: &str, introspection: &Path, more: &[&str]) -> Self {
        Self::of(&mut Self::command(env, provider, introspection, more))
    }

    /// The same, started by a shell that does something `before`, and redirects something.
    #[cfg(unix)]
    fn start_by_a_shell(
        env: &TestEnv,
        provider: &str,
        introspection: &Path,
        before: &str,
        redirected: &str,
    ) -> Self {
        let command = Self::command(env, provider, introspection, &[]);
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &format!("{before} exec \"$0\" \"$@\" {redirected}")]);
        shell.arg(command.get_program()).args(command.get_args()).env_clear();
        shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Self::of(&mut shell)
    }

    fn command(env: &TestEnv, provider: &str, introspection: &Path, more: &[&str]) -> Command {
        let path = introspection.to_str().unwrap();
        let public = format!("{provider}/mcp");
        let mut arguments =
            vec!["mcp", "host", "--json", "--provider-url", provider, "--introspection-file", path];
        arguments.extend(["--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"]);
        if !more.contains(&"--public-url") {
            arguments.extend(["--public-url", &public]);
        }
        arguments.extend(more);
        env.pdpp(&arguments)
    }

    fn of(command: &mut Command) -> Self {
        let mut child = stoppable(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = Arc::new(Mutex::new(String::new()));
        let (kept, pipe) = (Arc::clone(&stderr), BufReader::new(child.stderr.take().unwrap()));
        let reader = std::thread::spawn(move || {
            for line in pipe.lines() {
                let mut kept = kept.lock().unwrap();
                kept.push_str(&line.unwrap());
                kept.push('\n');
            }
        });
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line);
        let ready = ready.unwrap_or_else(|_| panic!("not ready: {:?}", stderr.lock().unwrap()));
        Self {
            child,
            ready,
            more_stdout: Some(stdout),
            stderr,
            reader: Some(reader),
            http: plain().build().unwrap(),
        }
    }

    /// The address that it listens at: `http://127.0.0.1:…/mcp`.
    fn url(&self) -> &str {
        self.ready["url"].as_str().unwrap()
    }

    fn address(&self) -> String {
        let url: url::Url = self.url().parse().unwrap();
        format!("127.0.0.1:{}", url.port().unwrap())
    }

    /// The `Host` that the proxy in front would forward.
    fn host(&self) -> String {
        let url: url::Url = self.ready["public_url"].as_str().unwrap().parse().unwrap();
        url.port().map_or(url.host_str().unwrap().to_owned(), |port| format!("127.0.0.1:{port}"))
    }

    fn post(&self, token: &str) -> reqwest::RequestBuilder {
        self.http
            .post(self.url())
            .header("host", self.host())
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("authorization", format!("Bearer {token}"))
    }

    async fn send(&self, token: &str, message: &Value) -> Answer {
        answer(self.post(token).body(message.to_string())).await
    }

    async fn tools_list(&self, token: &str) -> Answer {
        self.send(token, &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await
    }

    async fn call(&self, token: &str, tool: &str, arguments: &Value) -> Answer {
        self.send(token, &call(tool, arguments)).await
    }

    async fn get(&self, path: &str) -> Answer {
        let url = self.url().replace("/mcp", path);
        answer(self.http.get(url).header("host", self.host())).await
    }

    async fn metrics(&self) -> String {
        answer(self.http.get(self.ready["metrics_url"].as_str().unwrap())).await.text
    }

    /// Asks it to stop.
    fn stop(&self) {
        stop(&self.child);
    }

    #[cfg(unix)]
    fn reload(&self) {
        use rustix::process::{Pid, Signal, kill_process};
        kill_process(Pid::from_child(&self.child), Signal::HUP).unwrap();
    }

    fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// The lines of the log so far.
    fn log(&self) -> Vec<Value> {
        let stderr = self.stderr();
        let lines = stderr.lines().filter(|line| line.starts_with('{'));
        lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
    }

    /// Waits until the log has an event of this name, and returns it.
    async fn event(&self, event: &str) -> Value {
        eventually(async || self.log().into_iter().find(|line| line["event"] == event)).await
    }

    /// Waits for its end: the exit code, the rest of stdout, all of stderr.
    fn ended(mut self) -> (Option<i32>, String, String) {
        let code = self.child.wait().unwrap().code();
        let mut rest = String::new();
        self.more_stdout.take().unwrap().read_to_string(&mut rest).unwrap();
        self.reader.take().unwrap().join().unwrap();
        (code, rest, self.stderr())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn plain() -> reqwest::ClientBuilder {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none())
}

async fn answer(request: reqwest::RequestBuilder) -> Answer {
    let answer = request.send().await.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    Answer { status, headers, text: answer.text().await.unwrap() }
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

/// Asks again and again until there is an answer.
async fn eventually<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "it never came");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
