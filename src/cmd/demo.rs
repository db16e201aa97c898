//! `pdpp demo`: the main job, from a provider to an answer, with nothing but this binary.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::{Map, Value, json};

use super::Cli;
use crate::cache::owner::refuse_owner_credentials_in_environment;
use crate::error::{Error, Kind, Result};
use crate::mcp::protocol::client::{Client, ServerCommand};
use crate::mcp::protocol::measure::estimate_tokens;
use crate::runtime::{self, StopSignals};
use crate::sandbox::{self, Config};
use crate::text;
use crate::ui::Ui;

/// See it work: a provider, a grant and an agent's five questions, on this machine, in a few seconds
///
/// Starts the embedded provider with made-up data, gets a grant from it (approving by itself), starts
/// `pdpp mcp serve` as an MCP host would, and shows what a model would see of five questions and what
/// that costs its context. Leaves nothing behind.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show every answer whole, instead of its first lines
    #[arg(long)]
    pub full: bool,

    /// Which made-up life the provider holds
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Lines of an answer that are shown without `--full`.
const SHOWN_LINES: usize = 7;
/// For everything that the agent asks.
const PATIENCE: Duration = Duration::from_secs(30);

/// Tells the story.
///
/// # Errors
/// Those of the sandbox, of `connect` and of the client; `demo_failed` for a refused call.
pub fn run(args: &Args, ui: &Ui) -> Result<u8> {
    // A server that is started with one would refuse to serve.
    refuse_owner_credentials_in_environment().map_err(|error| {
        let name = error.message().split(' ').next().unwrap_or_default().to_owned();
        error.hint(format!("env -u {name} pdpp demo"))
    })?;
    let began = Instant::now();
    ui.print(
        "PDPP lets you give an AI agent a part of your data: you approve a grant at the provider that holds it,\n\
         and the agent reads that, and nothing more. This is how; all data is made up, and nothing leaves this machine.\n",
    );
    let provider = sandbox::start(Config { seed: Some(args.seed), auto_approve: true, ..Config::default() })?;
    ui.print(&format!("1. A provider    {}   ($ pdpp sandbox)", provider.url()));

    // From here on a signal ends this by the way that removes the folder.
    let waiting = runtime::of_this_thread()
        .map_err(|error| Error::failed("demo_failed", "Could not wait for signals").because(error))?;
    let stop = waiting.block_on(async { StopSignals::listen() });
    let home = tempfile::Builder::new().prefix("pdpp-demo-").tempdir().map_err(|error| {
        Error::failed("demo_failed", "There is no place for temporary files")
            .because(error)
            .hint("Name a directory that you can write to: TMPDIR=/tmp pdpp demo")
    })?;
    let asked = read_something(provider.url(), &home.path().join("cache"), stop, args.full, ui);
    let folder = home.path().display().to_string();
    home.close().map_err(|error| {
        let left = format!("Its folder could not be removed: {folder}");
        Error::failed("demo_failed", left).because(error).hint("Remove that folder")
    })?;
    let asked = asked?;
    provider.stop();

    ui.print(&format!(
        "Five answers took {} calls and {} bytes, about {} tokens; the tool list costs about {} once.\n\
         All of it took {:.1} s. Nothing was left behind.\n\n\
         Next:\n  \
         pdpp sandbox                             that provider, to approve a grant yourself\n  \
         pdpp connect https://provider.example    your own\n  \
         pdpp mcp setup                           then tell the agents on this machine\n  \
         pdpp mcp inspect                         what the tools cost a model's context",
        asked.calls,
        asked.bytes,
        asked.tokens,
        asked.list_tokens,
        began.elapsed().as_secs_f64()
    ));
    Ok(0)
}

/// The grant and the questions. Nothing writes into `cache` any more when this returns.
fn read_something(url: &str, cache: &Path, stop: StopSignals, full: bool, ui: &Ui) -> Result<Asked> {
    ui.print(
        "2. A grant       approved by itself here; else you do that in your browser   ($ pdpp connect)\n",
    );
    let said = connect(url, cache.as_os_str(), ui).map_err(|error| match error.kind() {
        // The provider goes with this process: nothing is to be asked of it again.
        Kind::Interrupted => stopped(),
        _ => error.hint("pdpp demo"),
    })?;
    for line in said.lines().take_while(|line| !line.is_empty()) {
        ui.print(&format!("   {line}"));
    }

    ui.print("\n3. An agent      asks through six read-only tools   ($ pdpp mcp serve, started by Claude, Codex …)\n");
    let program = std::env::current_exe()
        .map_err(|error| Error::failed("demo_failed", "This program cannot find itself").because(error))?;
    let command = ServerCommand {
        program: program.into_os_string(),
        arguments: vec!["mcp".into(), "serve".into(), "--cache-dir".into(), cache.into()],
        surroundings: None,
    };
    runtime::block_on(async {
        let mut client = Client::open(&command, PATIENCE)?;
        let asked = tokio::select! {
            // Before the end of the server, which a terminal tells the same.
            biased;
            () = stop.next() => Err(stopped()),
            asked = ask_five(&mut client, full, ui) => asked,
        };
        client.close().await;
        asked
    })?
}

fn stopped() -> Error {
    Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing was left behind").hint("pdpp demo")
}

/// `pdpp connect`, as a user would type it; gives what it said.
fn connect(url: &str, cache: &std::ffi::OsStr, ui: &Ui) -> Result<String> {
    let words: [OsString; 10] = [
        "pdpp".into(),
        "connect".into(),
        url.into(),
        "--no-browser".into(),
        // Nobody has to compare a code.
        "--flow".into(),
        "agent-connect".into(),
        // A keyring would still have the token afterwards.
        "--store".into(),
        "file".into(),
        "--cache-dir".into(),
        cache.into(),
    ];
    let cli = Cli::try_parse_from(words)
        .map_err(|error| Error::failed("demo_failed", "connect was not understood").because(error))?;
    let said = Said::default();
    let quiet = Ui::to_writers(Box::new(said.clone()), Box::new(std::io::sink()), ui.width());
    super::run(cli, &quiet)?;
    Ok(said.text())
}

/// What the questions came to.
#[derive(Debug, Default)]
struct Asked {
    calls: usize,
    bytes: usize,
    tokens: usize,
    list_tokens: usize,
}

async fn ask_five(client: &mut Client, full: bool, ui: &Ui) -> Result<Asked> {
    client.initialize().await?;
    let mut asked = Asked {
        list_tokens: estimate_tokens(&Value::Array(client.list_tools().await?).to_string()),
        ..Asked::default()
    };

    let mut agent = Agent { client, asked: &mut asked, full, ui };
    agent.question("What may I read?");
    agent.call("schema", json!({})).await?;
    agent.question("What is money spent on most often?");
    let spent = json!({"stream": "transactions", "metric": "count", "group_by": "category", "limit": 5});
    agent.call("aggregate", spent).await?;
    agent.question("What are the latest entries of the calendar?");
    let events = json!({"stream": "events", "sort": "-start_at", "limit": 2, "fields": ["title", "start_at", "location"]});
    agent.call("query_records", events).await?;
    agent.question("Who wrote about the plumber's invoice?");
    agent.call("search", json!({"q": "invoice plumber", "streams": ["messages"], "limit": 2})).await?;
    agent.question("A build log of 200 KB mentions NEEDLE-build-log: what stands around it?");
    let found = agent.call("search", json!({"q": "NEEDLE-build-log", "limit": 1})).await?;
    // The answer itself offers the call that reads on; nothing is guessed.
    let offered =
        found.pointer("/structuredContent/content_ladder/records/0/fields/0/read/arguments").cloned();
    let mut window =
        offered.ok_or_else(|| Error::failed("demo_failed", "The search offered no way to read on"))?;
    window["before_chars"] = json!(120);
    window["after_chars"] = json!(160);
    agent.call("read_record_field", window).await?;
    Ok(asked)
}

/// Asks through a client, and shows what a model would see.
struct Agent<'a> {
    client: &'a mut Client,
    asked: &'a mut Asked,
    full: bool,
    ui: &'a Ui,
}

impl Agent<'_> {
    fn question(&self, question: &str) {
        self.ui.print(&format!("   “{question}”"));
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Result<Value> {
        let arguments = arguments.as_object().cloned().unwrap_or_else(Map::new);
        self.ui.print(&format!("   → {tool} {}", Value::Object(arguments.clone())));
        let start = Instant::now();
        let result = self.client.call_tool(tool, arguments).await?;
        let elapsed = start.elapsed();
        let said = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
        if result.get("isError") == Some(&Value::Bool(true)) || said.is_empty() {
            return Err(Error::failed("demo_failed", format!("The {tool} call was refused: {said}")));
        }
        let width = usize::from(self.ui.width()).saturating_sub(7).max(40);
        let lines = said.lines().count();
        let shown = if self.full { lines } else { SHOWN_LINES };
        for line in said.lines().take(shown) {
            self.ui.print(&format!("     {}", clip(line, if self.full { usize::MAX } else { width })));
        }
        if lines > shown {
            self.ui.print(&format!("     … {} more lines (--full shows them)", lines - shown));
        }
        let tokens = estimate_tokens(said);
        self.asked.calls += 1;
        self.asked.bytes += said.len();
        self.asked.tokens += tokens;
        self.ui.print(&format!(
            "     ── {} bytes, about {tokens} tokens, {:.1} ms\n",
            said.len(),
            elapsed.as_secs_f64() * 1000.0
        ));
        Ok(result)
    }
}

fn clip(line: &str, max_chars: usize) -> String {
    let line = text::one_line(line);
    if line.chars().count() <= max_chars {
        return line.into_owned();
    }
    let mut clipped: String = line.chars().take(max_chars - 1).collect();
    clipped.push('…');
    clipped
}

/// Keeps what is written to it.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl Said {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
