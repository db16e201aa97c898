//! `pdpp mcp setup`: one correct and proven entry per host.

use std::fmt::Write as _;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde_json::{Value, json};

use crate::advice::{Command, Hint};
use crate::cache::owner::refuse_owner_credentials_in_environment;
use crate::cmd::Global;
use crate::error::{Error, Kind, Result};
use crate::provider::http::Limits;
use crate::provider::url::ProviderUrl;
use crate::runtime;
use crate::setup::clients::{HOSTS, Host, chatgpt};
use crate::setup::entry::{Baked, Entry};
use crate::setup::launcher::Launcher;
use crate::setup::paths::Machine;
use crate::setup::{self, Configured, How, Job, NAME, Report, Surveyed, survey};
use crate::ui::{self, Column, Ui, table};

/// Set up MCP hosts on this computer to use pdpp, and prove that they can start it
///
/// Writes one entry into a host's own config, leaves every other byte unchanged, and keeps a copy of the file next to
/// it. Without a host, it shows what is installed here and, on a terminal, asks.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
#[allow(clippy::struct_excessive_bools, reason = "flags")]
pub struct Args {
    /// The hosts to set up
    #[arg(value_enum, value_name = "HOST")]
    pub hosts: Vec<Client>,

    /// Every host that is installed here
    #[arg(long, conflicts_with = "hosts")]
    pub all: bool,

    /// Remove the entry
    #[arg(long)]
    pub remove: bool,

    /// Show what would change, as a unified diff, and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Do not ask: replace or remove an entry of that name even if it starts something else or serves only certain
    /// grants, and keep what a project's entry sets
    #[arg(long, short)]
    pub yes: bool,

    /// The name of the entry
    #[arg(long, value_name = "NAME", default_value = NAME, value_parser = name)]
    pub name: String,

    /// Whose config: yours, or the current directory's if the host reads one
    #[arg(long, value_enum, value_name = "SCOPE", default_value = "user")]
    pub scope: Scope,

    /// Print the entry to paste (and an install link, if the host has one) and change nothing
    #[arg(long, conflicts_with_all = ["remove", "dry_run"])]
    pub print: bool,

    /// Restore the file if the recorded command does not start
    #[arg(long)]
    pub strict: bool,

    /// Print one JSON object: the plan and the result
    #[arg(long)]
    pub json: bool,

    /// For chatgpt: the provider to connect to [default: the connected ones]
    #[arg(long, value_name = "URL")]
    pub provider: Option<ProviderUrl>,
}

/// What can be set up: every host of [`HOSTS`], and ChatGPT, which has no config file.
#[derive(Debug, Clone, Copy)]
pub enum Client {
    /// A host with a config file.
    Host(&'static Host),
    /// ChatGPT, by an address to paste.
    Chatgpt,
}

impl ValueEnum for Client {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: [Client; HOSTS.len() + 1] = {
            let mut all = [Client::Chatgpt; HOSTS.len() + 1];
            let mut at = 0;
            while at < HOSTS.len() {
                all[at] = Client::Host(HOSTS[at]);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(match self {
            Self::Host(host) => host.id,
            Self::Chatgpt => "chatgpt",
        }))
    }
}

/// Whose config.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    User,
    Project,
}

const AFTER_HELP: &str = "\
Examples:
  pdpp mcp setup                      what is installed here
  pdpp mcp setup claude               Claude Code, for all your projects
  pdpp mcp setup codex --dry-run      what would change
  pdpp mcp setup --all --yes          every host that is here
  pdpp mcp setup codex --remove

Exits with 77 if an owner's credential is in the environment or in the config.";

fn name(text: &str) -> anyhow::Result<String> {
    anyhow::ensure!(setup::is_name(text), "1 to 40 letters, digits, - and _, not beginning with -");
    Ok(text.to_owned())
}

impl Client {
    /// The host with a config file; `None` for ChatGPT.
    const fn host(self) -> Option<&'static Host> {
        match self {
            Self::Host(host) => Some(host),
            Self::Chatgpt => None,
        }
    }

    const fn is_chatgpt(self) -> bool {
        matches!(self, Self::Chatgpt)
    }
}

/// Sets up the requested hosts.
///
/// # Errors
/// Returns `owner_credential_in_environment` and, for a single host, the reason why it could not be set up. With
/// several hosts, each failure is printed, and the exit code is that of the first.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    // Removing an entry only makes things safer.
    if !args.remove {
        refuse_owner_credentials_in_environment()?;
    }
    if let Some(provider) = &args.provider
        && !args.hosts.iter().any(|client| client.is_chatgpt())
    {
        return Err(Error::new(
            Kind::Usage,
            "usage_error",
            "--provider is only for chatgpt; the other hosts are served what is connected",
        )
        .hint(
            Hint::new("Leave it out, or connect that provider: ").run(Command::connect(provider.typed())),
        ));
    }
    let machine = Machine::from_process()?;
    let launcher = Launcher::of_process(&machine)?;
    let task = Task { args, global, ui, machine, launcher };
    let (hosts, with_chatgpt) = match task.chosen() {
        Chosen::Hosts(hosts, with_chatgpt) => (hosts, with_chatgpt),
        Chosen::Survey(found) => return task.show(&found),
        Chosen::Nothing => return Ok(0),
    };
    if args.print {
        return task.print(&hosts, with_chatgpt);
    }
    task.set_up(&hosts, with_chatgpt)
}

enum Chosen {
    Hosts(Vec<&'static Host>, bool),
    /// No host was chosen.
    Survey(Vec<Surveyed>),
    Nothing,
}

struct Task<'a> {
    args: &'a Args,
    global: &'a Global,
    ui: &'a Ui,
    machine: Machine,
    launcher: Launcher,
}

impl Task<'_> {
    fn chosen(&self) -> Chosen {
        let args = self.args;
        if !args.hosts.is_empty() {
            let hosts = args.hosts.iter().filter_map(|client| client.host()).collect();
            return Chosen::Hosts(hosts, args.hosts.iter().any(|client| client.is_chatgpt()));
        }
        let found = survey(&self.machine, &args.name);
        let quiet = args.yes || args.json || args.print || !self.ui.can_ask();
        let in_project = args.scope == Scope::Project;
        let has_scope = |surveyed: &&Surveyed| !in_project || surveyed.host.project_file.is_some();
        let installed: Vec<_> =
            found.iter().filter(|surveyed| surveyed.installed).filter(has_scope).collect();
        if args.all {
            let hosts: Vec<_> = installed.iter().map(|surveyed| surveyed.host).collect();
            let titles = hosts.iter().map(|host| host.title).collect::<Vec<_>>().join(", ");
            let verb = if args.remove { "Remove the entry from" } else { "Set up" };
            if quiet || hosts.is_empty() || self.ui.confirm(&format!("{verb} {titles}?")) {
                return Chosen::Hosts(hosts, false);
            }
            return Chosen::Nothing;
        }
        // The survey looked at the user's own files only.
        let has_entry =
            |surveyed: &&&Surveyed| in_project || !args.remove || surveyed.configured != Configured::No;
        let offered: Vec<_> = installed.iter().filter(has_entry).collect();
        if quiet || installed.is_empty() {
            return Chosen::Survey(found);
        }
        let item = |surveyed: &Surveyed| {
            if in_project {
                surveyed.host.title.to_owned()
            } else {
                format!("{} ({})", surveyed.host.title, surveyed.state())
            }
        };
        let items: Vec<_> = offered.iter().map(|surveyed| item(surveyed)).collect();
        if items.is_empty() {
            self.ui.note(&format!("No host here has an entry named `{}`", args.name));
            return Chosen::Nothing;
        }
        let question =
            if args.remove { "Remove the entry from (space selects)" } else { "Set up (space selects)" };
        match self.ui.choose(question, &items) {
            Some(picked) if !picked.is_empty() => {
                let hosts = picked.into_iter().filter_map(|at| offered.get(at)).map(|surveyed| surveyed.host);
                Chosen::Hosts(hosts.collect(), false)
            }
            _ => {
                self.ui.note("You selected nothing, so nothing was changed");
                Chosen::Nothing
            }
        }
    }

    fn show(&self, found: &[Surveyed]) -> Result<u8> {
        let args = self.args;
        if args.remove || args.dry_run || args.yes || args.print || args.strict {
            let here: Vec<_> =
                found.iter().filter(|surveyed| surveyed.installed).map(|surveyed| surveyed.host.id).collect();
            let (first, shown) = match here.first() {
                // A host that is not found may be there.
                None => (
                    "claude",
                    "You named no host, and no known host was found on this computer, so nothing was done; name one, such as \
                     claude"
                        .to_owned(),
                ),
                Some(first) => {
                    let here = here.join(", ");
                    let shown = format!(
                        "You named no host, so nothing was done; name one, or give --all; installed here: {here}"
                    );
                    (*first, shown)
                }
            };
            let options = [
                (args.remove, "--remove"),
                (args.dry_run, "--dry-run"),
                (args.print, "--print"),
                (args.strict, "--strict"),
                (args.yes, "--yes"),
            ];
            let given = options.iter().filter(|(is_given, _)| *is_given).map(|(_, option)| *option);
            let next = given.fold(Command::new("mcp setup").value(first), Command::words);
            return Err(Error::new(Kind::Usage, "usage_error", shown).run(next));
        }
        if args.json {
            let hosts: Vec<_> = found.iter().map(Surveyed::to_json).collect();
            self.ui
                .json(&json!({"hosts": hosts, "launcher": self.launcher.path, "notes": self.launcher.notes}));
            return Ok(0);
        }
        let (here, others): (Vec<_>, Vec<_>) = found.iter().partition(|surveyed| surveyed.installed);
        let mut shown = match here.as_slice() {
            [] => "No known host was found on this computer.".to_owned(),
            here => {
                let row = |surveyed: &&Surveyed| {
                    [surveyed.host.id.to_owned(), surveyed.host.title.to_owned(), surveyed.state()]
                };
                let columns = [Column::whole("Host"), Column::whole("Name"), Column::text("State")];
                let rows: Vec<_> = here.iter().map(row).collect();
                format!("Hosts on this computer:\n\n{}", table(self.ui.width(), columns, &rows))
            }
        };
        for (surveyed, problem) in
            here.iter().flat_map(|surveyed| surveyed.problems.iter().map(move |found| (surveyed, found)))
        {
            let _ = write!(shown, "\n\n{}: {}\n  next: {}", surveyed.host.title, problem.what, problem.next);
        }
        let mut others: Vec<_> = others.iter().map(|surveyed| surveyed.host.id).collect();
        others.push("chatgpt (it runs elsewhere)");
        let _ = write!(shown, "\n\nNot installed here: {}.", others.join(", "));
        let single = Command::new("mcp setup HOST").to_string();
        let all = Command::new("mcp setup --all").to_string();
        let steps = ui::steps_within(
            self.ui.width(),
            &[(&single, "one host"), (&all, "every host that is installed here")],
        );
        let _ = write!(shown, "\n\nNext:\n{steps}");
        self.ui.say(&shown);
        Ok(0)
    }

    fn entry(&self, host: &Host) -> Result<Entry> {
        let cache = self.global.cache()?;
        // Otherwise only an agent would notice that a file of certificate authorities cannot be used.
        let network = self.global.http_now(Limits::default())?.network().clone();
        let credentials = cache.credentials().unwrap_or_default();
        let is_for_it = credentials.iter().any(|credential| credential.host.as_deref() == Some(host.id));
        let baked =
            Baked { host: is_for_it.then_some(host.id), ..Baked::of(&self.machine, cache.dir(), network)? };
        Entry::new(&self.launcher.path, &baked, host.max_result_bytes)
    }

    fn job(&self, host: &'static Host, any_entry: bool) -> Result<Job<'_>> {
        Ok(Job {
            host,
            scope: match self.args.scope {
                Scope::User => setup::Scope::User,
                Scope::Project => setup::Scope::Project,
            },
            name: &self.args.name,
            entry: if self.args.remove { None } else { Some(self.entry(host)?) },
            any_entry,
        })
    }

    fn print(&self, hosts: &[&'static Host], with_chatgpt: bool) -> Result<u8> {
        let mut printed = Vec::new();
        for host in hosts {
            let job = self.job(host, false)?;
            let file = job.file(&self.machine)?;
            let link = job.link();
            if self.args.json {
                printed.push(json!({"host": host.id, "file": file, "snippet": job.snippet(), "link": link}));
                continue;
            }
            let mut shown = format!("{}, in {}:\n\n{}", host.title, file.display(), job.snippet());
            if let Some(link) = link {
                let _ = write!(shown, "\nOr open: {link}\n");
            }
            self.ui.print(&shown);
        }
        let mut code = 0;
        let chatgpt = with_chatgpt.then(|| self.chatgpt(&mut code));
        if self.args.json {
            self.ui.json(&json!({"hosts": printed, "chatgpt": chatgpt, "notes": self.launcher.notes_for(self.global.proxy.is_some())}));
        } else {
            for note in &self.launcher.notes_for(self.global.proxy.is_some()) {
                self.ui.warn(note);
            }
        }
        Ok(code)
    }

    fn set_up(&self, hosts: &[&'static Host], with_chatgpt: bool) -> Result<u8> {
        let (mut outcomes, mut done) = (Vec::new(), Vec::new());
        let mut code = 0;
        let alone = hosts.len() == 1 && !with_chatgpt && !self.args.json;
        for host in hosts {
            match self.surveyed(host) {
                Ok(report) => {
                    if report.is_unproven() && code == 0 {
                        code = 1;
                    }
                    if !report.dry_run {
                        done.push(host.title);
                        let what = if self.args.remove { "removed from" } else { "set up for" };
                        self.ui
                            .done(&format!("pdpp is {what} {}", done.join(", ")), Command::new("mcp setup"));
                    }
                    if !self.args.json {
                        self.ui.say(&report.to_text());
                        if let Some(diff) = report.would_change() {
                            self.ui.print(diff);
                        }
                        if let Some(error) = report.failure() {
                            self.ui.error(&error);
                        }
                    }
                    outcomes.push(report.to_json());
                }
                Err(error) if alone => return Err(error),
                Err(error) => {
                    if code == 0 {
                        code = error.kind().exit_code();
                    }
                    let mut outcome = error.to_json();
                    outcome["host"] = host.id.into();
                    outcome["title"] = host.title.into();
                    if !self.args.json {
                        self.ui.say(&format!("{}: unchanged", host.title));
                        self.ui.error(&error);
                    }
                    outcomes.push(outcome);
                }
            }
        }
        let chatgpt = with_chatgpt.then(|| self.chatgpt(&mut code));
        let notes = if self.args.remove || hosts.is_empty() {
            Vec::new()
        } else {
            self.launcher.notes_for(self.global.proxy.is_some())
        };
        if self.args.json {
            self.ui.json(&json!({
                "hosts": outcomes,
                "chatgpt": chatgpt,
                "launcher": self.launcher.path,
                "notes": notes,
            }));
        } else {
            for note in &notes {
                self.ui.warn(note);
            }
            if hosts.is_empty() && !with_chatgpt {
                self.ui.note(&format!(
                    "No known host was found here; name one: {}",
                    Command::new("mcp setup --help")
                ));
            }
        }
        Ok(code)
    }

    fn surveyed(&self, host: &'static Host) -> Result<Report> {
        let how = How { dry_run: self.args.dry_run, strict: self.args.strict };
        let attempt = |any_entry| {
            let progress = self.ui.progress();
            progress.say(&format!("Setting up {}", host.title));
            runtime::block_on(setup::set_up(&self.job(host, any_entry)?, &self.machine, how))?
        };
        match attempt(self.args.yes) {
            Err(error) if error.code() == "entry_not_ours" && !self.args.json => {
                let what = if self.args.remove { "Remove it" } else { "Replace it" };
                let question = format!("{}. {what}?", error.message());
                if self.ui.confirm(&question) { attempt(true) } else { Err(error) }
            }
            Err(error) if error.code() == "entry_keeps_settings" && !self.args.json && self.ui.can_ask() => {
                self.ui.note(error.message());
                if self.ui.confirm("Keep all of that?") { attempt(true) } else { Err(error) }
            }
            other => other,
        }
    }

    /// ChatGPT: finds the address to paste for each provider, and says what to do with it. Sets `code` to the exit
    /// code if there is no address.
    fn chatgpt(&self, code: &mut u8) -> Value {
        if self.args.remove {
            if !self.args.json {
                self.ui.say(chatgpt::REMOVAL);
            }
            return json!([]);
        }
        let mut found = Vec::new();
        let mut failures = Vec::new();
        let providers = self.chatgpt_providers().unwrap_or_else(|error| {
            failures.push(error);
            Vec::new()
        });
        for provider in &providers {
            match self.chatgpt_at(provider) {
                Ok((at_provider, Ok(steps))) => {
                    found.push(at_provider);
                    if !self.args.json {
                        self.ui.say(&steps);
                    }
                }
                Ok((mut at_provider, Err(error))) => {
                    at_provider["error"] = error.to_json()["error"].take();
                    found.push(at_provider);
                    failures.push(error);
                }
                Err(error) => {
                    let mut at_provider = error.to_json();
                    at_provider["provider"] = provider.as_str().into();
                    found.push(at_provider);
                    failures.push(error);
                }
            }
        }
        // One address is enough: a provider without one is then not a failure.
        let failed = failures.len() >= found.len();
        for error in &failures {
            if failed && *code == 0 {
                *code = error.kind().exit_code();
            }
            if !self.args.json {
                self.ui.error(error);
            }
        }
        match failures.first() {
            Some(error) if found.is_empty() => error.to_json(),
            _ => Value::Array(found),
        }
    }

    fn chatgpt_providers(&self) -> Result<Vec<ProviderUrl>> {
        if let Some(provider) = &self.args.provider {
            if provider.is_local() {
                let message = "ChatGPT runs elsewhere, and your own data is served only on this computer";
                let next = Hint::new("Name a host on this computer instead: ").run(Command::new("mcp setup"));
                return Err(Error::new(Kind::Usage, "local_not_hosted", message).hint(next));
            }
            return Ok(vec![provider.clone()]);
        }
        let mut connected: Vec<_> =
            self.global.cache()?.credentials()?.into_iter().map(|credential| credential.provider).collect();
        connected.retain(|provider| !provider.is_local());
        connected.sort();
        connected.dedup();
        if connected.is_empty() {
            return Err(Error::new(
                Kind::NotConnected,
                "not_connected",
                "ChatGPT connects to a provider directly, and no provider is known here",
            )
            .run(Command::new("mcp setup chatgpt --provider <provider-url>")));
        }
        Ok(connected)
    }

    /// The result at `provider`, for `--json` and for people.
    fn chatgpt_at(&self, provider: &ProviderUrl) -> Result<(Value, Result<String>)> {
        let http = self.global.http_now(Limits::default())?;
        let hosted = runtime::block_on(chatgpt::find(&http, provider))??;
        Ok((hosted.to_json(provider), chatgpt::steps(provider, &hosted)))
    }
}
