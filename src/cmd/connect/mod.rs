//! `pdpp connect`: gets a grant and keeps it on this computer (R8.1).

mod checklist;
mod render;

use std::cell::RefCell;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::{Global, granted};
use crate::advice::{Command, Hint};
use crate::cache::credential::MAX_LABEL;
use crate::cache::select::GrantName;
use crate::cache::store::choice::StoreChoice;
use crate::error::{Error, Kind, Result};
use crate::grants::local::ConnectedHere;
use crate::grants::{self, Connected, Dialog, Event, Narrowing, Request, SourceAnswer};
use crate::own;
use crate::provider::approve::Choice;
use crate::provider::approve::flow::Flow;
use crate::provider::url::{ProviderUrl, ProviderUrlError};
use crate::runtime;
use crate::setup;
use crate::text;
use crate::time_text::minutes;
use crate::ui::{Progress, Ui};

/// Get a grant from a provider: approve it in the browser, and keep its token on this computer
///
/// The provider's page shows what pdpp asks for. pdpp keeps a token only if you approve there, and only if the
/// token is for that grant alone. Ctrl-C stops waiting (exit code 130).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[allow(clippy::struct_excessive_bools, reason = "flags")]
pub struct Args {
    /// The provider's address, including its path; or `local`, for your own data on this computer
    #[arg(value_name = "PROVIDER_URL|local", required_unless_present = "renew")]
    provider: Option<String>,

    /// Do not open a browser; print an address on this computer, and the code that its page asks for
    #[arg(long)]
    no_browser: bool,

    /// How to get the grant [default: what the provider offers; over SSH, in a container or without a display,
    /// a device code if the provider has it]
    #[arg(long, value_enum, value_name = "WAY")]
    flow: Option<Flow>,

    /// Stop waiting after this many seconds, 1 to 3600 [default: until the provider's page expires]
    #[arg(long, value_name = "SECONDS", value_parser = patience)]
    wait: Option<Duration>,

    /// Give the grant this name [default: a name made from its sources]
    #[arg(long, value_name = "LABEL", value_parser = label_of)]
    name: Option<String>,

    /// Where to keep this token and later ones [default: the last choice, else auto]
    #[arg(long, value_enum, value_name = "STORE")]
    store: Option<StoreChoice>,

    /// Ask again for a grant on this computer, and replace it; the old one is ended at its provider
    #[arg(long)]
    renew: bool,

    /// The grant to renew: its id, the beginning of its id, or its name, as `pdpp status` shows them
    #[arg(long, value_name = "GRANT", requires = "renew")]
    grant: Option<GrantName>,

    /// Print the result, or the failure, as one JSON object
    #[arg(long)]
    json: bool,

    /// Stop when standard input ends; the parent process keeps it open
    #[arg(long, hide = true)]
    while_stdin_is_open: bool,

    #[command(flatten)]
    local: Local,

    // Must be last: its heading also applies to the options after it.
    #[command(flatten)]
    narrow: Narrow,
}

const EXAMPLES: &str = "\
Examples:
  pdpp connect https://provider.example
  pdpp connect https://provider.example/me --no-browser
  pdpp connect https://provider.example --source https://registry.pdpp.dev/connectors/slack
  pdpp connect https://provider.example --stream messages --since 2026-01-01 --expires 30d
  pdpp connect https://provider.example --flow device-code
  pdpp connect --renew";

fn label_of(text: &str) -> Result<String, String> {
    let is_fine = !text.trim().is_empty() && text.len() <= MAX_LABEL && !text::has_hidden(text);
    if is_fine {
        Ok(text.to_owned())
    } else {
        Err("must be 1 to 200 bytes, without hidden characters".to_owned())
    }
}

/// The options that apply only to your own data.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "For `pdpp connect local`")]
pub struct Local {
    /// Tick this account in advance: its id or its name (repeatable)
    #[arg(long, value_name = "NAME", conflicts_with = "renew")]
    pub account: Vec<String>,

    /// Decide at this terminal instead of on a page in the browser
    #[arg(long)]
    pub in_terminal: bool,

    /// Serve the grant to this host only, through the entry that `pdpp mcp setup HOST` writes
    #[arg(long = "for", value_name = "HOST", value_parser = host(), conflicts_with = "renew")]
    pub host: Option<String>,

    /// Where your own data is [default: the directory named last, else `own` next to the
    /// credentials]
    #[arg(long, value_name = "DIR", env = "PDPP_DATA_DIR", hide_env_values = true)]
    pub data_dir: Option<PathBuf>,
}

/// The ids of the hosts that `pdpp mcp setup` knows.
pub(in crate::cmd) fn host() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(setup::clients::HOSTS.iter().map(|host| host.id))
}

/// What to ask for. The owner can always grant less.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "What to ask for")]
pub struct Narrow {
    /// Ask for this source, if the provider has several
    #[arg(long, value_name = "URI", conflicts_with = "renew")]
    pub source: Option<String>,

    /// Ask for this account of the source, by its instance id (repeatable)
    #[arg(long, value_name = "ID", requires = "source")]
    pub instance: Vec<String>,

    /// Ask only for this stream (repeatable)
    #[arg(long, value_name = "NAME", conflicts_with = "renew")]
    pub stream: Vec<String>,

    /// Ask only for this field of a stream, and the fields that the stream requires (repeatable)
    #[arg(long, value_name = "STREAM.FIELD", conflicts_with = "renew")]
    pub field: Vec<String>,

    /// Ask only for records from this day on (2026-01-31, or an RFC 3339 time)
    #[arg(long, value_name = "TIME", conflicts_with = "renew")]
    pub since: Option<String>,

    /// Ask only for records from before this day
    #[arg(long, value_name = "TIME", conflicts_with = "renew")]
    pub until: Option<String>,

    /// Ask for access that ends at this time, or after this long (30d, 12h)
    #[arg(long, value_name = "TIME", conflicts_with = "renew")]
    pub expires: Option<String>,

    /// State what the data is for: in words, or as a purpose code (an https URI)
    #[arg(long, value_name = "TEXT", conflicts_with = "renew")]
    pub purpose: Option<String>,
}

/// How long to wait for the owner: a number of seconds from 1 to 3600.
fn patience(text: &str) -> Result<Duration, String> {
    let seconds: u64 = text.parse().map_err(|_| "it must be a number of seconds, such as 600".to_owned())?;
    if (1..=3600).contains(&seconds) {
        Ok(Duration::from_secs(seconds))
    } else {
        Err("it must be 1 to 3600".to_owned())
    }
}

/// Runs the command.
///
/// # Errors
/// The command's failure. With `--json` the failure is printed instead, and its exit code returned.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    if args.while_stdin_is_open {
        runtime::go_with_parent()?;
    }
    let is_local = args.is_local(global)?;
    let separate = if is_local && !args.renew { service_url(args)? } else { None };
    if is_local && separate.is_none() {
        return run_local(args, global, ui);
    }
    match (connect(args, separate.as_deref(), global, ui), args.json) {
        (Ok(connected), true) => {
            ui.json(&granted::to_json(&connected));
            Ok(0)
        }
        (Ok(connected), false) => {
            ui.say(&granted::to_text(&connected));
            Ok(0)
        }
        (Err(error), true) => {
            ui.json(&error.to_json());
            Ok(error.kind().exit_code())
        }
        (Err(error), false) => Err(error),
    }
}

/// The address of the service that keeps the person's own data, if there is one: their store is then a provider
/// like any other (O9.4).
#[cfg(target_os = "linux")]
fn service_url(args: &Args) -> Result<Option<String>> {
    let Some(socket) = own::separate::of_this_user(args.local.data_dir.as_deref())? else { return Ok(None) };
    let Local { account, in_terminal, host, .. } = &args.local;
    if !account.is_empty() || *in_terminal || host.is_some() {
        let message = "A service keeps your own data, and you decide on its page: --account, --in-terminal and --for do not apply";
        return Err(Error::new(Kind::Usage, "only_for_local", message).run(Command::connect("local")));
    }
    Ok(Some(own::separate::caller::Caller::begin(&socket)?.hello()?.url))
}

/// The address of the service that keeps the person's own data, if `named` is that address. A service that does
/// not answer does not count.
#[cfg(target_os = "linux")]
fn own_service(named: &str) -> Option<String> {
    let socket = own::separate::of_this_user(None).ok()??;
    let url = own::separate::caller::Caller::begin(&socket).ok()?.hello().ok()?.url;
    (provider_url(&url).ok()? == provider_url(named).ok()?).then_some(url)
}

/// As above, for systems without such a service.
#[cfg(not(target_os = "linux"))]
fn own_service(_: &str) -> Option<String> {
    None
}

/// As above, for systems without such a service.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "the same signature as on Linux")]
fn service_url(_: &Args) -> Result<Option<String>> {
    Ok(None)
}

/// Runs the command for the person's own store.
fn run_local(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    match (connect_local(args, global, ui), args.json) {
        (Ok(connected), true) => {
            let grants: Vec<_> = connected.grants.iter().map(granted::to_json).collect();
            ui.json(&serde_json::json!({ "grants": grants }));
            Ok(0)
        }
        (Ok(connected), false) => {
            ui.say(&granted::all_to_text(&connected.grants));
            Ok(0)
        }
        (Err(error), true) => {
            ui.json(&error.to_json());
            Ok(error.kind().exit_code())
        }
        (Err(error), false) => Err(error),
    }
}

fn connect_local(args: &Args, global: &Global, ui: &Ui) -> Result<ConnectedHere> {
    let cache = global.cache()?;
    let data_dir = own::dir(args.local.data_dir.as_deref(), &cache)?;
    let narrowing = args.request(None).narrowing;
    let request = grants::local::Request {
        data_dir,
        renew: args.renew,
        grant: args.grant.clone(),
        sources: narrowing.source.clone().into_iter().collect(),
        accounts: args.local.account.iter().chain(&narrowing.instance).cloned().collect(),
        narrowing,
        name: args.name.clone(),
        store: args.store,
        host: args.local.host.clone(),
        in_terminal: args.local.in_terminal,
        opens_browser: !args.no_browser,
    };
    let terminal = Terminal { ui, progress: RefCell::default() };
    let connected = grants::local::connect(&request, &cache, &terminal, &checklist::Checklist(ui))?;
    own::remember(args.local.data_dir.as_deref(), &cache)?;
    Ok(connected)
}

fn connect(args: &Args, separate: Option<&str>, global: &Global, ui: &Ui) -> Result<Connected> {
    let provider = separate.or(args.provider.as_deref()).map(provider_url).transpose()?;
    let own = separate
        .map(str::to_owned)
        .or_else(|| provider.as_ref().and_then(|provider| own_service(provider.as_str())));
    if let Some(url) = own {
        ui.explain(&format!(
            "The service at {url} keeps your own data. It prints no link; decide on your page: {}",
            Command::new("provider open")
        ));
    }
    let (cache, network) = (global.cache()?, global.network()?);
    grants::connect(&args.request(provider), &cache, network, &Terminal { ui, progress: RefCell::default() })
}

impl Args {
    /// Whether the command is about the person's own store: it names that store, or the grants that it renews
    /// come from there.
    fn is_local(&self, global: &Global) -> Result<bool> {
        let is_local = if let Some(provider) = self.provider.as_deref() {
            provider.parse::<ProviderUrl>().is_ok_and(|provider| provider.is_local())
        } else {
            let all = global.cache()?.credentials().unwrap_or_default();
            let all: Vec<_> = all.iter().collect();
            let meant = self.grant.as_ref().map_or_else(|| all.clone(), |grant| grant.meant(&all));
            !meant.is_empty() && meant.iter().all(|credential| credential.provider.is_local())
        };
        let Local { account, in_terminal, host, .. } = &self.local;
        if is_local || (account.is_empty() && !in_terminal && host.is_none()) {
            return Ok(is_local);
        }
        let message = "--account, --in-terminal and --for work only with your own data on this computer";
        Err(Error::new(Kind::Usage, "only_for_local", message).run(Command::connect("local")))
    }

    fn request(&self, provider: Option<ProviderUrl>) -> Request {
        let narrow = self.narrow.clone();
        Request {
            provider,
            renew: self.renew,
            grant: self.grant.clone(),
            narrowing: Narrowing {
                source: narrow.source,
                instance: narrow.instance,
                stream: narrow.stream,
                field: narrow.field,
                since: narrow.since,
                until: narrow.until,
                expires: narrow.expires,
                purpose: narrow.purpose,
            },
            flow: self.flow,
            wait: self.wait,
            name: self.name.clone(),
            store: self.store,
            opens_browser: !self.no_browser,
        }
    }
}

fn provider_url(text: &str) -> Result<ProviderUrl> {
    text.parse().map_err(|error| {
        // An address that holds a password is not repeated.
        let message = match &error {
            ProviderUrlError::Credentials => "That is not a provider's address".to_owned(),
            // A word may be meant as a name for the person's own data.
            ProviderUrlError::NoScheme(_) => {
                format!(
                    "{text:?} is neither a provider's address nor `local`, your own data on this computer"
                )
            }
            _ => format!("{text:?} is not a provider's address"),
        };
        let provider = Command::connect("https://provider.example");
        let hint = match &error {
            ProviderUrlError::NoScheme(meant) => Hint::connect_own_or(Command::connect(meant)),
            ProviderUrlError::NotAUrl => Hint::connect_own_or(provider),
            _ => provider.into(),
        };
        Error::new(Kind::Usage, "provider_url_invalid", message).because(error).hint(hint)
    })
}

/// The person at the terminal.
struct Terminal<'a> {
    ui: &'a Ui,
    progress: RefCell<Option<Progress<'a>>>,
}

impl Dialog for Terminal<'_> {
    fn on(&self, event: Event<'_>) {
        render::show(&event, self.ui);
    }

    fn waiting(&self, left: Option<Duration>) {
        let mut progress = self.progress.borrow_mut();
        match left {
            Some(left) => {
                let line = format!("Waiting for your approval, {} left (Ctrl-C stops)", minutes(left));
                progress.get_or_insert_with(|| self.ui.progress()).say(&line);
            }
            None => *progress = None,
        }
    }

    fn check_output(&self) -> Result<()> {
        self.ui.check_output()
    }

    fn choose_source(&self, choices: &[Choice], can_pick: bool) -> io::Result<Option<SourceAnswer>> {
        const THERE: &str = "pick on the provider's page";
        if self.ui.can_ask() && can_pick {
            self.ui.note(
                "The provider has several sources, each with its own accounts, and you can pick on its page. One account of one \
                 source gives you a single grant. Several give you a package: its grants are read through the provider's own \
                 tools and kept under one name here.",
            );
        }
        if choices.is_empty() {
            let hint = if can_pick { format!("Enter: {THERE}; or the") } else { "The".to_owned() };
            let question =
                format!("{hint} URI of a source, such as https://registry.pdpp.dev/connectors/slack");
            return Ok(match self.ui.ask(&question)? {
                Some(id) if !id.is_empty() => Some(SourceAnswer::Source(id)),
                Some(_) if can_pick => Some(SourceAnswer::PickThere),
                _ => None,
            });
        }
        let mut items: Vec<String> = choices.iter().map(Choice::to_string).collect();
        if can_pick {
            items.push(THERE.to_owned());
        }
        let picked = self.ui.pick("Which source to ask for", &items)?;
        let answer = |at| {
            let choice = choices.get(at);
            choice.map_or(SourceAnswer::PickThere, |choice: &Choice| SourceAnswer::Source(choice.id.clone()))
        };
        Ok(picked.map(answer))
    }

    fn choose_instance(&self, choices: &[Choice]) -> io::Result<Option<String>> {
        if choices.is_empty() {
            let question = "The source has several accounts. Id of the one to ask for (its instance)";
            return Ok(self.ui.ask(question)?.filter(|id| !id.is_empty()));
        }
        let items: Vec<String> = choices.iter().map(Choice::to_string).collect();
        let picked = self.ui.pick("Which account to ask for", &items)?;
        Ok(picked.and_then(|at| choices.get(at)).map(|choice| choice.id.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_connected_leads_to_what_can() {
        for (typed, own, provider) in [
            ("mydata", true, "pdpp connect https://mydata"),
            ("Local", true, "pdpp connect https://Local"),
            ("provider.example/me", true, "pdpp connect https://provider.example/me"),
            ("https://", true, "pdpp connect https://provider.example"),
            ("ftp://a.example", false, "pdpp connect https://provider.example"),
        ] {
            let error = provider_url(typed).unwrap_err();
            assert_eq!((error.code(), error.kind()), ("provider_url_invalid", Kind::Usage), "{typed}");
            let next = error.next_step().unwrap();
            assert_eq!(next.contains("pdpp connect local"), own, "{next}");
            assert!(next.ends_with(provider), "{next}");
            assert!(
                !error.in_full().contains("relative URL") && !error.in_full().contains("empty host"),
                "{error:?}"
            );
        }
    }

    #[test]
    fn patience_is_a_number_of_seconds_up_to_an_hour() {
        assert_eq!(patience("600"), Ok(Duration::from_mins(10)));
        assert!(patience("0").is_err() && patience("3601").is_err() && patience("x").is_err());
    }
}
