//! A demo in a few seconds: it imports a made-up export and grants part of it. An agent then asks for that part,
//! and for something beyond it. The demo opens no port and leaves nothing behind.

mod made_up;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Map, Value, json};

use crate::advice::Command;
use crate::cache::Cache;
use crate::cache::store::choice::StoreChoice;
use crate::error::{Error, Kind, Result};
use crate::fs::PrivateDir;
use crate::grants::local::{self, Checklist, Fields, Sheet, Ticked};
use crate::grants::{Dialog, Event, Narrowing, SourceAnswer};
use crate::mcp::protocol::client::{Client, ServerCommand};
use crate::mcp::protocol::measure::{estimate_tokens, measure};
use crate::provider::approve::Choice;
use crate::runtime::{self, StopSignals};
use crate::text;

/// The time limit for all of the agent's questions.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many days back the granted mail goes.
const GRANTED_DAYS: i64 = 90;
/// The selection: sender, time, subject and text of mail.
const TICKED: [&str; 5] = [
    "messages.from_name",
    "messages.from_email",
    "messages.subject",
    "message_bodies.subject",
    "message_bodies.body_text",
];

/// One thing to show during the demo.
pub enum Scene<'a> {
    /// The export is imported.
    Import,
    /// One line of the import's output.
    Imported(&'a str),
    /// Part of it is granted.
    Granting,
    /// What can be selected, and what is selected.
    Ticked(&'a Sheet),
    /// What the agent may read as a result.
    Approved(&'a [String]),
    /// An agent starts.
    Agent,
    /// The agent's question.
    Question(&'static str),
    /// The agent calls a tool.
    Call(&'static str, &'a Map<String, Value>),
    /// The text that it receives, and how long that took.
    Answer(&'a str, Duration),
    /// The text of a refusal.
    Refused(&'a str),
}

/// What the questions cost.
#[derive(Debug, Default)]
pub struct Cost {
    /// The number of tool calls.
    pub calls: usize,
    /// Bytes of all answers.
    pub bytes: usize,
    /// Estimated tokens of all answers.
    pub tokens: usize,
    /// Estimated tokens of the list of tools.
    pub list_tokens: usize,
}

/// Runs the demo. `show` shows each scene, for `width` columns. `check_output` is called before anything is granted
/// and returns an error if nothing can be shown.
///
/// # Errors
/// Returns the errors of the grant and of the client, or `demo_failed` if the import or an answer fails.
pub fn run(width: u16, show: &dyn Fn(Scene<'_>), check_output: &dyn Fn() -> Result<()>) -> Result<Cost> {
    show(Scene::Import);
    // From here on, a signal ends the demo in a way that still removes the folder.
    let waiting =
        runtime::of_this_thread().map_err(|error| failed("Could not wait for signals").because(error))?;
    let stop = waiting.block_on(async { StopSignals::listen() });
    let home = tempfile::Builder::new().prefix("pdpp-demo-").tempdir().map_err(|error| {
        failed("Could not make a temporary folder").because(error).hint(if cfg!(windows) {
            "Set TMP to a directory that you can write to, then run pdpp demo again"
        } else {
            "Set TMPDIR to a directory that you can write to: TMPDIR=/tmp pdpp demo"
        })
    })?;
    let cost = Play { home: home.path(), show, check_output }.play(width, stop);
    let folder = home.path().display().to_string();
    home.close().map_err(|error| {
        failed(format!("Could not remove the demo's folder {folder}"))
            .because(error)
            .hint("Remove that folder")
    })?;
    cost
}

fn failed(message: impl Into<String>) -> Error {
    Error::failed("demo_failed", message)
        .hint("Run it again; if it fails again, report it, unless the cause is this computer")
}

fn stopped() -> Error {
    Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing was left behind").run(Command::new("demo"))
}

/// What the demo needs while it runs.
struct Play<'a> {
    home: &'a Path,
    show: &'a dyn Fn(Scene<'_>),
    check_output: &'a dyn Fn() -> Result<()>,
}

impl Play<'_> {
    /// Runs all steps. When this returns, nothing writes into the folder any more.
    fn play(&self, width: u16, stop: StopSignals) -> Result<Cost> {
        let now = Timestamp::now();
        self.import(now, width)?;
        (self.show)(Scene::Granting);
        self.grant(now).map_err(|error| error.run(Command::new("demo")))?;
        (self.show)(Scene::Agent);
        self.read(stop)
    }

    fn cache(&self) -> PathBuf {
        self.home.join("cache")
    }

    /// The store to fill. It is named in every command, because the environment may name the person's own store.
    fn store(&self) -> PathBuf {
        self.cache().join("own")
    }

    /// Writes the export and imports it as a person would, in a separate process.
    fn import(&self, now: Timestamp, width: u16) -> Result<()> {
        let unwritten = |error: io::Error| failed("Could not write the made-up export").because(error);
        let takeout = made_up::takeout(now).map_err(|error| unwritten(error.into()))?;
        let export = self.home.join("export");
        let folder = PrivateDir::create_named(&export).map_err(unwritten)?;
        folder.write("takeout.zip", &takeout).map_err(unwritten)?;
        folder.write("bank.csv", made_up::bank(now).as_bytes()).map_err(unwritten)?;
        let mut command = std::process::Command::new(this_program()?);
        command.arg("--cache-dir").arg(self.cache()).arg("import");
        command.arg(export.join("takeout.zip")).arg(export.join("bank.csv")).arg("--data-dir");
        command.arg(self.store()).arg("--yes").env("COLUMNS", width.to_string()).stdin(Stdio::null());
        let ran = command.output().map_err(|error| failed("Could not start the import").because(error))?;
        match ran.status.code() {
            Some(0) => {}
            // A terminal sends the signal to all of its processes.
            Some(130) => return Err(stopped()),
            _ => {
                let said = String::from_utf8_lossy(&ran.stderr).into_owned();
                return Err(failed(format!("The import failed: {}", text::one_line(said.trim()))));
            }
        }
        let said = String::from_utf8_lossy(&ran.stdout);
        said.lines()
            .take_while(|line| !line.starts_with("Next:"))
            .for_each(|line| (self.show)(Scene::Imported(line)));
        Ok(())
    }

    /// Grants part of it, as `pdpp connect local --in-terminal` would. The demo answers for the person.
    fn grant(&self, now: Timestamp) -> Result<()> {
        let day = now.to_zoned(TimeZone::UTC);
        let since = day.checked_sub(GRANTED_DAYS.days()).unwrap_or(day).date();
        let request = local::Request {
            data_dir: self.store(),
            narrowing: Narrowing {
                stream: vec!["messages".to_owned(), "message_bodies".to_owned()],
                field: TICKED.map(str::to_owned).to_vec(),
                since: Some(since.to_string()),
                ..Narrowing::default()
            },
            // A keyring would still hold the token afterwards.
            store: Some(StoreChoice::File),
            in_terminal: true,
            ..local::Request::default()
        };
        local::connect(&request, &Cache::open(&self.cache())?, self, self).map(drop)
    }

    fn read(&self, mut stop: StopSignals) -> Result<Cost> {
        let command = ServerCommand {
            program: this_program()?.into_os_string(),
            arguments: vec!["mcp".into(), "serve".into(), "--cache-dir".into(), self.cache().into()],
            surroundings: None,
        };
        runtime::block_on(async {
            let mut client = Client::open(&command, PATIENCE)?;
            let cost = tokio::select! {
                // Checked before the end of the server, because a terminal sends the same signal to both.
                biased;
                () = stop.next() => Err(stopped()),
                cost = ask(&mut client, self.show) => cost,
            };
            client.close().await;
            cost
        })?
    }
}

fn this_program() -> Result<PathBuf> {
    std::env::current_exe().map_err(|error| failed("This program could not find its own file").because(error))
}

/// Shows nothing on the way: everything to see is in the scenes.
impl Dialog for Play<'_> {
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

/// A person who approves what was named.
impl Checklist for Play<'_> {
    fn can_ask(&self) -> bool {
        true
    }

    fn tick(&self, sheet: &Sheet) -> io::Result<Option<Ticked>> {
        (self.show)(Scene::Ticked(sheet));
        let streams = sheet.accounts.iter().enumerate().flat_map(|(at, account)| {
            let ticked = account.streams.iter().enumerate().filter(|(_, stream)| stream.is_ticked);
            ticked.map(move |(stream, _)| (at, stream))
        });
        Ok(Some(Ticked { streams: streams.collect(), fields: Fields::Named, end: 0, agrees: false }))
    }

    fn approves(&self, lines: &[String], _: bool) -> bool {
        (self.show)(Scene::Approved(lines));
        true
    }

    fn comes_to_nothing(&self, _: &str) {}
}

async fn ask(client: &mut Client, show: &dyn Fn(Scene<'_>)) -> Result<Cost> {
    client.initialize().await?;
    let mut cost =
        Cost { list_tokens: measure(&client.list_tools().await?, "").tools_tokens, ..Cost::default() };

    let mut agent = Agent { client, cost: &mut cost, show };
    agent.question("What may I read?");
    agent.call("schema", json!({})).await?;
    agent.question("Which emails are the newest?");
    let latest =
        json!({"stream": "messages", "sort": "-received_at", "fields": ["from_name", "subject"], "limit": 2});
    agent.call("query_records", latest).await?;
    agent.question("Who wrote most often?");
    let writers = json!({"stream": "messages", "metric": "count", "group_by": "from_name", "limit": 3});
    agent.call("aggregate", writers).await?;
    agent.question("When is the fitter coming about the heating?");
    let heating = json!({"q": "heating fitter", "streams": ["message_bodies"], "limit": 1});
    agent.call("search", heating).await?;
    agent.question("What was paid from the bank account?");
    agent.refused("query_records", json!({"stream": "rows", "limit": 5})).await?;
    Ok(cost)
}

/// Asks through a client and shows what a model would see.
struct Agent<'a> {
    client: &'a mut Client,
    cost: &'a mut Cost,
    show: &'a dyn Fn(Scene<'_>),
}

impl Agent<'_> {
    fn question(&self, question: &'static str) {
        (self.show)(Scene::Question(question));
    }

    async fn call(&mut self, tool: &'static str, arguments: Value) -> Result<()> {
        self.answer(tool, arguments, false).await
    }

    async fn refused(&mut self, tool: &'static str, arguments: Value) -> Result<()> {
        self.answer(tool, arguments, true).await
    }

    async fn answer(&mut self, tool: &'static str, arguments: Value, is_refused: bool) -> Result<()> {
        let arguments = arguments.as_object().cloned().unwrap_or_else(Map::new);
        (self.show)(Scene::Call(tool, &arguments));
        let start = Instant::now();
        let result = self.client.call_tool(tool, arguments).await?;
        let elapsed = start.elapsed();
        let text = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
        let refused = result.get("isError") == Some(&Value::Bool(true));
        if refused != is_refused || text.is_empty() {
            let what = if refused { "refused" } else { "answered" };
            return Err(failed(format!("The {tool} call was {what}: {text}")));
        }
        self.cost.calls += 1;
        self.cost.bytes += text.len();
        self.cost.tokens += estimate_tokens(text);
        (self.show)(if refused { Scene::Refused(text) } else { Scene::Answer(text, elapsed) });
        Ok(())
    }
}
