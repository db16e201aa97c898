//! A grant for someone who installed a host's bundle with a double click: they filled in its settings, and have no
//! terminal open.
//!
//! When the server starts, another process (`pdpp connect` or `pdpp import`) asks once for what the settings name.
//! The server itself issues nothing and asks no one (R1.1), and no tool call starts anything. Until something is
//! granted, every call is answered with the progress so far ([`SetUp::explain`]).
//!
//! The other process's standard error is discarded: it contains a code with which anyone could decide instead of
//! the owner.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;

use crate::advice::{Command, Hint};
use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::error::{Error, Kind, Result};
use crate::fs::{DirLock, PrivateDir};
use crate::grants::Browser;
use crate::hex;
use crate::mcp::tool_error::ToolError;
use crate::own::separate::which;
use crate::provider::url::{ProviderUrl, ProviderUrlError};
use crate::runtime;
use crate::text::shell_word;

/// The code of an import that does not start because another one is running.
const IMPORT_RUNNING: &str = "import_running";
/// How often a server checks whether another server has gone, and whether another import has ended.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long a process may take to end when the server does (R1.8).
const END_WITHIN: Duration = Duration::from_millis(400);
/// How often to check whether a process has ended.
const POLL_EVERY: Duration = Duration::from_millis(10);
/// The most bytes that are read of what a process reports.
const MOST_SAID: u64 = 1 << 20;

/// What the person filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// A provider's address, or `local`.
    pub connect: Option<OsString>,
    /// A folder or file with an export.
    pub import: Option<OsString>,
}

impl Settings {
    /// Reads the settings that a host passes: one that is not filled in arrives as nothing, blank, or its
    /// placeholder.
    pub fn of_host(connect: Option<OsString>, import: Option<OsString>) -> Self {
        Self {
            connect: connect.and_then(|given| filled_in(&given)),
            import: import.and_then(|given| filled_in(&given)),
        }
    }

    /// What to ask for, in order.
    fn wishes(&self) -> Vec<Wish> {
        let import = self.import.as_ref().map(|path| Wish::Import(PathBuf::from(path)));
        import.into_iter().chain(self.connect.clone().map(Wish::Connect)).collect()
    }
}

fn filled_in(given: &OsStr) -> Option<OsString> {
    let Some(text) = given.to_str() else { return Some(given.to_owned()) };
    let text = text.trim();
    let is_placeholder = text.starts_with("${") && text.ends_with('}');
    (!text.is_empty() && !is_placeholder).then(|| text.into())
}

/// How to start other processes of this program.
#[derive(Debug, Clone)]
pub struct Program {
    /// The path of this program.
    pub path: PathBuf,
    /// Its first arguments.
    pub arguments: Vec<OsString>,
    /// Variables that are added to this process's environment.
    pub environment: Vec<(&'static str, OsString)>,
}

/// A grant that the settings ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wish {
    /// Import an export first, then ask for a grant of it.
    Import(PathBuf),
    /// Connect a provider.
    Connect(OsString),
}

/// The progress of the setup.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// The settings name nothing.
    NothingAsked,
    /// It has just begun, or everything is granted.
    Idle,
    /// Another server of the bundle is asking.
    AskedElsewhere,
    /// The export is being imported.
    Importing,
    /// A page is asking the owner. Holds the command that asks the same in a terminal.
    Asking(Command),
    /// It failed.
    Failed(Failure),
}

/// Why something failed, as another process or this one reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Failure {
    code: String,
    message: String,
    next: Option<String>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { code: error.code().to_owned(), message: error.in_full(), next: error.next_step() }
    }
}

/// The state that the server and the asking thread share.
struct Shared {
    state: State,
    child: Option<Child>,
    /// The lock that no other server of the same settings holds.
    turn: Option<DirLock>,
    is_over: bool,
}

/// A grant that is being requested.
#[derive(Clone)]
pub struct SetUp {
    program: Program,
    cache: Cache,
    shared: Arc<Mutex<Shared>>,
}

impl SetUp {
    /// Starts asking, on its own thread, for what `settings` name and `cache` has no grant for. Touches nothing
    /// itself.
    ///
    /// # Errors
    /// Returns `no_thread` if the system could not start a thread.
    pub fn begin(settings: &Settings, program: Program, cache: Cache) -> Result<Self> {
        let wishes = settings.wishes();
        let state = if wishes.is_empty() { State::NothingAsked } else { State::Idle };
        let shared = Shared { state, child: None, turn: None, is_over: false };
        let set_up = Self { program, cache: cache.clone(), shared: Arc::new(Mutex::new(shared)) };
        if !wishes.is_empty() {
            let asking = set_up.clone();
            thread::Builder::new()
                .name("bundle".to_owned())
                .spawn(move || asking.ask_for(&wishes, &cache))
                .map_err(|error| Error::no_thread("Could not start a thread").because(error))?;
        }
        Ok(set_up)
    }

    /// Ends the process that asks, if there is one. It gets a signal first, so that it can remove what it handed to a
    /// browser.
    pub fn end(&self) {
        let mut shared = self.shared();
        shared.is_over = true;
        let Some(mut child) = shared.child.take() else { return };
        drop(child.stdin.take());
        #[cfg(unix)]
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&child),
            rustix::process::Signal::TERM,
        );
        let told = Instant::now();
        while told.elapsed() < END_WITHIN && matches!(child.try_wait(), Ok(None)) {
            thread::sleep(POLL_EVERY);
        }
        let _ = child.kill();
        let _ = child.wait();
    }

    /// The answer to a call when nothing can be read because of `error`.
    pub fn explain(&self, error: &Error) -> ToolError {
        if error.kind() != Kind::NotConnected {
            // The cause is not a missing grant: an owner's credential, or an index that cannot be read.
            return ToolError::new(error.code(), error.in_full(), error.next_step().unwrap_or_default());
        }
        let state = self.shared().state.clone();
        let granted = granted_so_far(&self.cache);
        match state {
            State::NothingAsked | State::Idle => {
                let otherwise = match (error.next().and_then(Hint::command), error.next_step()) {
                    (Some(command), _) => format!("to run in a terminal: {}", self.typed(command)),
                    (None, Some(next)) => format!("to do this in a terminal: {}", self.found(next)),
                    (None, None) => {
                        format!("to run in a terminal: {}", self.typed(&Command::connect_any()))
                    }
                };
                let next = format!(
                    "ask the user to name a provider, or the folder of an export, in the settings of this extension (in Claude \
                     Desktop: Settings, Extensions, pdpp), or {otherwise}"
                );
                ToolError::new(error.code(), error.in_full(), next)
            }
            State::AskedElsewhere => ToolError::new(
                error.code(),
                format!(
                    "{granted}; another running copy of this extension is asking the owner, or has asked and got no grant"
                ),
                "ask the user to decide on the page in their browser, then repeat this call; if there is no page, ask them to close the \
                 other program that uses this extension, or to restart all of them",
            ),
            State::Importing => ToolError::new(
                error.code(),
                format!("{granted}; the export that the settings name is being imported"),
                "repeat this call in a minute; when the import is done, a page in the user's browser asks what may be read",
            ),
            State::Asking(command) => {
                let next = format!(
                    "ask the user to decide on that page, then repeat this call; if none opened, ask them to run in a terminal: {}",
                    self.typed(&command)
                );
                let message = format!("{granted}; a page in the owner's browser asks what may be read");
                ToolError::new(error.code(), message, next)
            }
            State::Failed(Failure { code, message, next }) => {
                let next = next.map(|next| format!("ask the user to do this: {}; ", self.found(next)));
                let next = format!(
                    "{}to be asked again, the user turns this extension off and on in the settings of their host",
                    next.unwrap_or_default()
                );
                ToolError::new(code, message, next)
            }
        }
    }

    /// This program as typed in a shell: the program inside a bundle is not on the PATH.
    fn name(&self) -> String {
        shell_word(&self.program.path.display().to_string()).into_owned()
    }

    /// The next step that another process names, with the path where a person finds this program.
    fn found(&self, next: String) -> String {
        let name = self.name();
        if !next.contains("pdpp ") || next.contains(&name) {
            next
        } else {
            format!("{next} (`pdpp` is {name})")
        }
    }

    fn typed(&self, command: &Command) -> String {
        let command = command.to_string();
        match command.strip_prefix("pdpp ") {
            Some(words) => format!("{} {words}", self.name()),
            None => command,
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self, state: State) {
        self.shared().state = state;
    }

    fn is_over(&self) -> bool {
        self.shared().is_over
    }

    fn ask_for(&self, wishes: &[Wish], cache: &Cache) {
        let is_open = |wish: &Wish| wish.is_open(cache, Timestamp::now());
        if !wishes.iter().any(is_open) {
            return;
        }
        match self.turn(wishes, cache) {
            // Kept as long as this process lives, whatever the outcome.
            Ok(Some(lock)) => self.shared().turn = Some(lock),
            Ok(None) => return,
            Err(failure) => return self.now(State::Failed(failure)),
        }
        let failures = wishes.iter().filter(|wish| is_open(wish)).map(|wish| self.ask(wish, cache));
        let failures: Vec<Failure> = failures.filter_map(Result::err).collect();
        self.now(failures.into_iter().next().map_or(State::Idle, State::Failed));
    }

    /// Waits until no other server of the same settings is running: a host may start several. Returns `None` if this
    /// server should end.
    fn turn(&self, wishes: &[Wish], cache: &Cache) -> Result<Option<DirLock>, Failure> {
        let failed = |error| {
            Error::failed("cache_unwritable", "The directory of the credentials cannot be used")
                .because(error)
                .hint("Make it a plain directory that the user of this host owns")
        };
        let dir = PrivateDir::create(cache.dir()).map_err(failed)?;
        let name = lock_name(wishes);
        loop {
            if let Some(lock) = dir.try_lock(&name).map_err(failed)? {
                return Ok(Some(lock));
            }
            if self.is_over() {
                return Ok(None);
            }
            self.now(State::AskedElsewhere);
            thread::sleep(LOOK_EVERY);
        }
    }

    fn ask(&self, wish: &Wish, cache: &Cache) -> Result<(), Failure> {
        let asked = self.try_ask(wish, cache);
        if let (Err(failure), false) = (&asked, self.is_over()) {
            tracing::warn!(
                code = failure.code,
                "could not connect what the settings name: {}",
                failure.message
            );
        }
        asked
    }

    fn try_ask(&self, wish: &Wish, cache: &Cache) -> Result<(), Failure> {
        let provider = match wish {
            Wish::Import(path) => {
                check_simple(cache)?;
                self.now(State::Importing);
                self.import(path)?;
                // It may have waited for another import, and the owner may have been asked in the meantime.
                if !wish.is_open(cache, Timestamp::now()) {
                    return Ok(());
                }
                local()?
            }
            Wish::Connect(given) => provider(given)?,
        };
        let typed = provider.typed().to_owned();
        let again = has_ended(&provider, cache);
        let command = Command::connect(typed.clone());
        let command = if again { command.words("--renew") } else { command };
        if let Some(why) = no_browser() {
            let granted = granted_so_far(cache);
            let message = format!("{granted}, and no page can be opened in a browser: {why}");
            let next = Some(format!("In a terminal: {}", self.typed(&command)));
            return Err(Failure { code: "not_connected".to_owned(), message, next });
        }
        self.now(State::Asking(command));
        let mut arguments: Vec<OsString> = vec!["connect".into(), typed.into(), "--json".into()];
        arguments.extend(again.then(|| "--renew".into()));
        let said = self.run(&arguments)?;
        if said.code == Some(0) { Ok(()) } else { Err(said.failure()) }
    }

    /// Imports what is at `path`, once no other import runs: another server with other settings may run one,
    /// or a person may have started one.
    fn import(&self, path: &Path) -> Result<(), Failure> {
        loop {
            let said =
                self.run(&["import".into(), "--yes".into(), "--json".into(), "--".into(), path.into()])?;
            // Files of an export that cannot be read do not block the rest.
            if said.code == Some(0) || said.is_result("sources") {
                return Ok(());
            }
            let failure = said.failure();
            if failure.code != IMPORT_RUNNING {
                return Err(failure);
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Runs this program to its end, detached from the host's pipes. It stops when this process ends, for whatever reason.
    fn run(&self, arguments: &[OsString]) -> Result<Said, Failure> {
        let failed = |error: std::io::Error| {
            Error::failed("not_started", "The process that asks for a grant could not be started")
                .because(error)
                .hint("Install pdpp again")
        };
        let Program { path, arguments: first, environment } = &self.program;
        let mut command = std::process::Command::new(path);
        let (name, rest) = arguments.split_at(arguments.len().min(1));
        command
            .args(first)
            .args(name)
            .arg(runtime::WHILE_STDIN_IS_OPEN)
            .args(rest)
            .envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        #[cfg(windows)]
        {
            use std::os::windows::process::CommandExt as _;
            /// Do not open a console window.
            const CREATE_NO_WINDOW: u32 = 0x0800_0000;
            command.creation_flags(CREATE_NO_WINDOW);
        }
        let output = {
            let mut shared = self.shared();
            if shared.is_over {
                return Err(Failure::stopped());
            }
            let mut child = command.spawn().map_err(failed)?;
            let output = child.stdout.take();
            shared.child = Some(child);
            output
        };
        let mut said = Vec::new();
        if let Some(output) = output {
            // The end of its output is the end of the process; anything beyond the limit is dropped with the pipe.
            let _ = output.take(MOST_SAID).read_to_end(&mut said);
        }
        loop {
            let mut shared = self.shared();
            let Some(child) = &mut shared.child else { return Err(Failure::stopped()) };
            match child.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => {
                    shared.child = None;
                    let said = serde_json::from_slice(&said).unwrap_or(Value::Null);
                    return Ok(Said { code: status.code(), said });
                }
                Err(error) => return Err(failed(error).into()),
            }
            drop(shared);
            thread::sleep(POLL_EVERY);
        }
    }
}

impl Wish {
    /// Whether no existing grant covers this wish.
    fn is_open(&self, cache: &Cache, now: Timestamp) -> bool {
        let wanted = match self {
            Self::Import(_) => local().ok(),
            Self::Connect(given) => provider(given).ok(),
        };
        let credentials = cache.credentials().unwrap_or_default();
        wanted.is_none_or(|wanted| of_provider(&wanted, &credentials).iter().all(|one| one.is_expired(now)))
    }
}

/// What is granted while this host may read nothing: nothing, or only to other hosts, which are named.
fn granted_so_far(cache: &Cache) -> String {
    let now = Timestamp::now();
    let credentials = cache.credentials().unwrap_or_default();
    let live = credentials.iter().filter(|one| !one.is_expired(now));
    let hosts: BTreeSet<&str> = live.filter_map(|one| one.host.as_deref()).collect();
    if hosts.is_empty() {
        return "nothing is granted yet".to_owned();
    }
    let hosts: Vec<&str> = hosts.into_iter().collect();
    format!("nothing is granted to this host yet, only to {} alone", hosts.join(" and to "))
}

/// The grants of `provider` that every host may read.
fn of_provider<'a>(provider: &ProviderUrl, credentials: &'a [Credential]) -> Vec<&'a Credential> {
    let is_meant = |one: &&Credential| one.provider == *provider && one.host.is_none();
    credentials.iter().filter(is_meant).collect()
}

/// The name of the lock that the one server asking for `wishes` holds as long as it lives.
fn lock_name(wishes: &[Wish]) -> String {
    let digest = hex::sha256(format!("{wishes:?}").as_bytes());
    format!("bundle-{}.lock", digest.get(..16).unwrap_or(&digest))
}

/// Whether there is exactly one grant of `provider` and it has ended: it is then requested again and replaced.
fn has_ended(provider: &ProviderUrl, cache: &Cache) -> bool {
    let credentials = cache.credentials().unwrap_or_default();
    matches!(of_provider(provider, &credentials).as_slice(), [_])
}

/// The provider that a setting names.
fn provider(given: &OsStr) -> Result<ProviderUrl> {
    let wrong = |why: String| {
        // The value may contain a password, so it is not repeated.
        Error::new(Kind::Usage, "provider_url_invalid", "The address in the settings is not a provider's address")
            .because(why)
            .hint("Enter the provider's address in the settings of this extension, such as https://provider.example")
    };
    let text = given.to_str().ok_or_else(|| wrong("it is not text".to_owned()))?;
    text.parse().map_err(|error: ProviderUrlError| wrong(error.to_string()))
}

/// The person's own store.
fn local() -> Result<ProviderUrl> {
    provider(OsStr::new("local"))
}

/// Checks that an import needs no one at a terminal: if a service keeps the store, it asks for a passphrase.
fn check_simple(cache: &Cache) -> Result<()> {
    if !matches!(which::SetUp::here(cache), which::SetUp::Separate { .. }) {
        return Ok(());
    }
    Err(Error::new(
        Kind::Refused,
        "terminal_required",
        "A service keeps your own data, and it asks for a passphrase",
    )
    .hint(
        Hint::new("In a terminal: ")
            .run(Command::new("import <path>"))
            .then(", then ")
            .run(Command::connect("local")),
    ))
}

/// Why no page can be opened for the owner; `None` if one can.
fn no_browser() -> Option<&'static str> {
    match Browser::of_this_process() {
        Browser::Here => None,
        Browser::OtherSide(why) | Browser::Elsewhere(why) => Some(why),
    }
}

/// What a process reported, and how it ended.
#[derive(Debug)]
struct Said {
    code: Option<i32>,
    said: Value,
}

impl Said {
    /// Whether it reported a result without a failure in it.
    fn is_result(&self, member: &str) -> bool {
        self.said.get(member).is_some() && self.said.get("error").is_none_or(Value::is_null)
    }

    fn failure(&self) -> Failure {
        let member = |name: &str| {
            self.said.pointer(&format!("/error/{name}")).and_then(Value::as_str).map(str::to_owned)
        };
        let because = self.said.pointer("/error/because").and_then(Value::as_array).into_iter().flatten();
        let unsaid = || match self.code {
            Some(code) => format!("The process that asks for a grant ended with {code}"),
            None => "The process that asks for a grant was ended".to_owned(),
        };
        let message = member("message").unwrap_or_else(unsaid);
        let message = because.filter_map(Value::as_str).fold(message, |text, cause| text + ": " + cause);
        let code = member("code").unwrap_or_else(|| "not_connected".to_owned());
        Failure { code, message, next: member("next") }
    }
}

impl Failure {
    /// The failure that is recorded because the server ends.
    fn stopped() -> Self {
        Self { code: "interrupted".to_owned(), message: "Stopped".to_owned(), next: None }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(connect: &str, import: &str) -> Settings {
        Settings::of_host(Some(connect.into()), Some(import.into()))
    }

    #[test]
    fn a_setting_that_nobody_filled_in_is_none() {
        for (connect, import) in
            [("", ""), (" \n", "\t"), ("${user_config.connect}", "${user_config.import}"), ("${}", "${x}")]
        {
            assert_eq!(of(connect, import), Settings::default(), "{connect:?} {import:?}");
        }
        assert_eq!(Settings::of_host(None, None), Settings::default());
        let filled = of(" https://a.example \n", "/home/me/${exports");
        assert_eq!(filled.connect, Some("https://a.example".into()));
        assert_eq!(filled.import, Some("/home/me/${exports".into()));
    }

    #[test]
    fn an_export_is_asked_for_before_a_provider() {
        let both = of("https://a.example", "/x").wishes();
        assert_eq!(both, [Wish::Import("/x".into()), Wish::Connect("https://a.example".into())]);
        assert_eq!(Settings::default().wishes(), []);
    }

    #[test]
    fn other_settings_are_asked_for_beside_these() {
        let name = |connect: &str, import: &str| lock_name(&of(connect, import).wishes());
        assert_eq!(name("https://a.example", "/x"), name(" https://a.example", "/x "));
        assert_ne!(name("https://a.example", "/x"), name("https://a.example", ""));
        assert!(!name("https://me:hunter2@a.example", "").contains("hunter2"));
    }

    #[test]
    fn an_address_that_is_none_is_told_without_its_password() {
        for given in ["provider.example", "https://me:hunter2@a.example", "ftp://a.example", "no address"] {
            let error = provider(OsStr::new(given)).unwrap_err();
            assert_eq!(error.code(), "provider_url_invalid");
            let told = format!("{} {}", error.in_full(), error.next_step().unwrap_or_default());
            assert!(!told.contains("hunter2") && told.contains("https://"), "{told}");
        }
        assert!(provider(OsStr::new("local")).unwrap().is_local());
    }

    fn set_up(state: State) -> SetUp {
        let program =
            Program { path: "/ext ensions/pdpp".into(), arguments: Vec::new(), environment: Vec::new() };
        SetUp {
            program,
            cache: Cache::open(Path::new("/nowhere/pdpp")).unwrap(),
            shared: Arc::new(Mutex::new(Shared { state, child: None, turn: None, is_over: false })),
        }
    }

    #[test]
    fn each_state_says_what_to_do() {
        let error =
            Error::new(Kind::NotConnected, "not_connected", "No provider is connected on this computer")
                .run(Command::connect_any());
        let told = |state| set_up(state).explain(&error).to_text();
        let program = crate::text::shell_word("/ext ensions/pdpp");
        for (state, says) in [
            (
                State::NothingAsked,
                format!(
                    "in the settings of this extension (in Claude Desktop: Settings, Extensions, pdpp), or to run in a terminal: {program} connect <provider-url>"
                ),
            ),
            (State::AskedElsewhere, "another running copy of this extension".to_owned()),
            (State::Importing, "is being imported".to_owned()),
            (State::Asking(Command::connect("local")), format!("run in a terminal: {program} connect local")),
            (
                State::Failed(Failure {
                    code: "access_denied".to_owned(),
                    message: "The owner said no".to_owned(),
                    next: Some("pdpp connect local".to_owned()),
                }),
                format!(
                    "ask the user to do this: pdpp connect local (`pdpp` is {program}); to be asked again"
                ),
            ),
        ] {
            let told = told(state);
            assert!(told.contains(&says), "{says:?} is not in {told}");
        }
        let refused = Error::new(Kind::Refused, "owner_credential_in_cache", "The credential is an owner's")
            .hint("Get a scoped one");
        let told = set_up(State::NothingAsked).explain(&refused).to_text();
        assert!(told.contains("owner_credential_in_cache") && told.contains("Get a scoped one"), "{told}");
    }

    #[test]
    fn a_grant_for_another_host_is_named_with_that_host_while_one_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).unwrap();
        assert_eq!(granted_so_far(&cache), "nothing is granted yet");
        let mut other = crate::cache::credential::tests::credential("https://provider.example", "g1");
        other.host = Some("claude".to_owned());
        let token = crate::secret::AccessToken::new("token".to_owned()).unwrap();
        cache.store(other, &crate::cache::credential::Secrets::new(token, None), None).unwrap();
        assert_eq!(granted_so_far(&cache), "nothing is granted to this host yet, only to claude alone");
        let error = Error::new(Kind::NotConnected, "not_connected", "No grant is for every host");
        let asking = SetUp { cache, ..set_up(State::Asking(Command::connect("local"))) };
        let told = asking.explain(&error).to_text();
        assert!(told.contains("only to claude alone; a page in the owner's browser"), "{told}");
    }

    #[test]
    fn what_a_process_says_of_its_failure_is_told() {
        let said = json!({"error": {"code": "access_denied", "message": "No", "because": ["a", "b"], "next": "pdpp x", "exit_code": 77}});
        let failure = Said { code: Some(77), said }.failure();
        assert_eq!((failure.code.as_str(), failure.message.as_str()), ("access_denied", "No: a: b"));
        assert_eq!(failure.next.as_deref(), Some("pdpp x"));
        let silent = Said { code: Some(3), said: Value::Null }.failure();
        assert_eq!((silent.code.as_str(), silent.next), ("not_connected", None));
        assert!(silent.message.ends_with("ended with 3"), "{}", silent.message);
    }
}
