//! The main job in a few seconds: a provider with made-up data, a grant, an agent's five questions, and one that the grant
//! does not cover. Leaves nothing behind.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::advice::Command;
use crate::cache::Cache;
use crate::cache::store::choice::StoreChoice;
use crate::error::{Error, Kind, Result};
use crate::grants::{self, Connected, Dialog, Event, Request, SourceAnswer};
use crate::mcp::protocol::client::{Client, ServerCommand};
use crate::mcp::protocol::measure::{estimate_tokens, measure};
use crate::provider::approve::Choice;
use crate::provider::approve::flow::Flow;
use crate::provider::network::Network;
use crate::runtime::{self, StopSignals};
use crate::sandbox::{self, Config};

/// For everything that the agent asks.
const PATIENCE: Duration = Duration::from_secs(30);

/// What there is to see on the way.
pub enum Scene<'a> {
    /// A provider is there, at this address.
    Provider(&'a str),
    /// A grant is asked for.
    Granting,
    /// It is approved.
    Granted(&'a Connected),
    /// An agent starts.
    Agent,
    /// It wants to know something.
    Question(&'static str),
    /// It calls a tool.
    Call(&'static str, &'a Map<String, Value>),
    /// It gets this text.
    Answer(&'a str, Duration),
}

/// What the questions came to.
#[derive(Debug, Default)]
pub struct Cost {
    /// Calls of tools.
    pub calls: usize,
    /// Bytes of all answers.
    pub bytes: usize,
    /// Tokens of all answers, estimated.
    pub tokens: usize,
    /// Tokens of the list of tools, estimated.
    pub list_tokens: usize,
}

/// Plays it, with the made-up life number `seed`. `show` shows each scene; `check_output` is asked before the grant is
/// asked for whether anything can be shown.
///
/// # Errors
/// Those of the sandbox, of connecting and of the client; `demo_failed` for an answer that is none.
pub fn run(seed: u64, show: &dyn Fn(Scene<'_>), check_output: &dyn Fn() -> Result<()>) -> Result<Cost> {
    let provider = sandbox::start(Config { seed: Some(seed), auto_approve: true, ..Config::default() })?;
    show(Scene::Provider(provider.url()));

    // From here on a signal ends this by the way that removes the folder.
    let waiting = runtime::of_this_thread()
        .map_err(|error| Error::failed("demo_failed", "Could not wait for signals").because(error))?;
    let stop = waiting.block_on(async { StopSignals::listen() });
    let home = tempfile::Builder::new().prefix("pdpp-demo-").tempdir().map_err(|error| {
        Error::failed("demo_failed", "There is no place for temporary files")
            .because(error)
            .hint("Name a directory that you can write to: TMPDIR=/tmp pdpp demo")
    })?;
    let cost = read_something(provider.url(), &home.path().join("cache"), stop, show, check_output);
    let folder = home.path().display().to_string();
    home.close().map_err(|error| {
        let left = format!("Its folder could not be removed: {folder}");
        Error::failed("demo_failed", left).because(error).hint("Remove that folder")
    })?;
    let cost = cost?;
    provider.stop();
    Ok(cost)
}

/// The grant and the questions. Nothing writes into `cache` any more when this returns.
fn read_something(
    url: &str,
    cache: &Path,
    stop: StopSignals,
    show: &dyn Fn(Scene<'_>),
    check_output: &dyn Fn() -> Result<()>,
) -> Result<Cost> {
    show(Scene::Granting);
    let connected = connect(url, cache, check_output).map_err(|error| match error.kind() {
        // The provider goes with this process: nothing is to be asked of it again.
        Kind::Interrupted => stopped(),
        _ => error.run(Command::new("demo")),
    })?;
    show(Scene::Granted(&connected));

    show(Scene::Agent);
    let program = std::env::current_exe()
        .map_err(|error| Error::failed("demo_failed", "This program cannot find itself").because(error))?;
    let command = ServerCommand {
        program: program.into_os_string(),
        arguments: vec!["mcp".into(), "serve".into(), "--cache-dir".into(), cache.into()],
        surroundings: None,
    };
    runtime::block_on(async {
        let mut client = Client::open(&command, PATIENCE)?;
        let cost = tokio::select! {
            // Before the end of the server, which a terminal tells the same.
            biased;
            () = stop.next() => Err(stopped()),
            cost = ask_five(&mut client, show) => cost,
        };
        client.close().await;
        cost
    })?
}

fn stopped() -> Error {
    Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing was left behind").run(Command::new("demo"))
}

/// Gets a grant of the provider at `url`, as `pdpp connect` would.
fn connect(url: &str, cache: &Path, check_output: &dyn Fn() -> Result<()>) -> Result<Connected> {
    let provider = url
        .parse()
        .map_err(|error| Error::failed("demo_failed", "The provider has no address").because(error))?;
    let request = Request {
        provider: Some(provider),
        // Nobody has to compare a code.
        flow: Some(Flow::AgentConnect),
        // A keyring would still have the token afterwards.
        store: Some(StoreChoice::File),
        ..Request::default()
    };
    grants::connect(&request, &Cache::open(cache)?, Network::default(), &Silent { check_output })
}

/// Nobody who is asked or learns anything: the provider approves by itself.
struct Silent<'a> {
    check_output: &'a dyn Fn() -> Result<()>,
}

impl Dialog for Silent<'_> {
    fn on(&self, _: Event<'_>) {}

    fn waiting(&self, _: Option<Duration>) {}

    fn check_output(&self) -> Result<()> {
        (self.check_output)()
    }

    fn choose_source(&self, _: &[Choice], _: bool) -> io::Result<Option<SourceAnswer>> {
        Ok(None)
    }

    fn choose_instance(&self, _: &[Choice]) -> io::Result<Option<String>> {
        Ok(None)
    }
}

async fn ask_five(client: &mut Client, show: &dyn Fn(Scene<'_>)) -> Result<Cost> {
    client.initialize().await?;
    let mut cost =
        Cost { list_tokens: measure(&client.list_tools().await?, "").tools_tokens, ..Cost::default() };

    let mut agent = Agent { client, cost: &mut cost, show };
    agent.question("What may I read?");
    agent.call("schema", json!({})).await?;
    agent.question("What is money spent on most often?");
    let spent = json!({"stream": "transactions", "metric": "count", "group_by": "category", "limit": 5});
    agent.call("aggregate", spent).await?;
    agent.question("What are the latest entries of the calendar?");
    let events = json!({"stream": "events", "sort": "-start_at", "limit": 2, "fields": ["title", "start_at", "location"]});
    agent.call("query_records", events).await?;
    agent.question("Where does the plumber's invoice come up?");
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
    agent.question("And what the grant does not hold?");
    agent.refused("query_records", json!({"stream": "health_records", "limit": 1})).await?;
    Ok(cost)
}

/// Asks through a client, and shows what a model would see.
struct Agent<'a> {
    client: &'a mut Client,
    cost: &'a mut Cost,
    show: &'a dyn Fn(Scene<'_>),
}

impl Agent<'_> {
    fn question(&self, question: &'static str) {
        (self.show)(Scene::Question(question));
    }

    async fn call(&mut self, tool: &'static str, arguments: Value) -> Result<Value> {
        self.answer(tool, arguments, false).await
    }

    async fn refused(&mut self, tool: &'static str, arguments: Value) -> Result<Value> {
        self.answer(tool, arguments, true).await
    }

    async fn answer(&mut self, tool: &'static str, arguments: Value, is_refused: bool) -> Result<Value> {
        let arguments = arguments.as_object().cloned().unwrap_or_else(Map::new);
        (self.show)(Scene::Call(tool, &arguments));
        let start = Instant::now();
        let result = self.client.call_tool(tool, arguments).await?;
        let elapsed = start.elapsed();
        let text = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
        let refused = result.get("isError") == Some(&Value::Bool(true));
        if refused != is_refused || text.is_empty() {
            let what = if refused { "refused" } else { "answered" };
            return Err(Error::failed("demo_failed", format!("The {tool} call was {what}: {text}")));
        }
        self.cost.calls += 1;
        self.cost.bytes += text.len();
        self.cost.tokens += estimate_tokens(text);
        (self.show)(Scene::Answer(text, elapsed));
        Ok(result)
    }
}
