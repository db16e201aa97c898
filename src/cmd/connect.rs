//! `pdpp connect`: discovery, registration, the owner's approval, a proven token in the cache (R8.1).

use std::fmt::Write as _;
use std::time::Duration;

use jiff::{Timestamp, Unit};
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior};

use super::given::{self, Difference};
use super::{Global, browser, disconnect, known, narrow, package, renewal};
use crate::cache::credential::{Credential, GrantedSource, Renewal, Secrets, TokenKind};
use crate::cache::index::RegisteredClient;
use crate::cache::select::{GrantName, Selection, renew_command};
use crate::cache::store::StoreKind;
use crate::cache::store::choice::{Chosen, StoreChoice};
use crate::cache::{Cache, Stored, new_credential_id};
use crate::error::{Error, Kind, Result};
use crate::provider::approve::proof::{Proof, ProofError, prove};
use crate::provider::approve::revoke::{self, Revoked};
use crate::provider::approve::token::{GivenStream, TokenResponse};
use crate::provider::approve::wanted::Wanted;
use crate::provider::approve::way::Way;
use crate::provider::approve::{self, ApproveError, Attempt, Choice, Client, minutes};
use crate::provider::discovery::{Discovery, discover};
use crate::provider::http::{Http, Limits};
use crate::provider::rs::ResourceServer;
use crate::provider::url::{ProviderUrl, ProviderUrlError};
use crate::runtime;
use crate::ui::{self, Ui};
use crate::until::day_and_time;
use crate::{advice, text};

/// Get a grant from a provider: approve it in the browser, keep a scoped token on this machine
///
/// The provider's page says what is asked for; nothing is stored unless you approve there and the token
/// proves to be one for that grant alone. Ctrl-C stops waiting (exit code 130).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The provider's address, path included
    #[arg(value_name = "PROVIDER_URL", required_unless_present = "renew")]
    provider: Option<String>,

    /// Open no browser; only print the approval URL, as is done in any case
    #[arg(long)]
    no_browser: bool,

    /// How to get the grant [default: what the provider offers; a device code, where it has that, over SSH,
    /// in a container or without a display]
    #[arg(long, value_enum, value_name = "WAY")]
    flow: Option<Way>,

    /// Stop waiting after so many seconds, 1 to 3600 [default: when the provider's page ends]
    #[arg(long, value_name = "SECONDS", value_parser = narrow::patience)]
    wait: Option<Duration>,

    /// Call the grant this, instead of what its sources are called
    #[arg(long, value_name = "LABEL", value_parser = label_of)]
    name: Option<String>,

    /// Where to keep the token; remembered [default: as before, else auto]
    #[arg(long, value_enum, value_name = "STORE")]
    store: Option<StoreChoice>,

    /// Ask again for a grant that is on this machine, and replace it: the old one is ended at its provider
    #[arg(long)]
    renew: bool,

    /// Which one to renew: its id, the beginning of it, or its name, as `pdpp status` shows them
    #[arg(long, value_name = "GRANT", requires = "renew")]
    grant: Option<GrantName>,

    #[command(flatten)]
    narrow: narrow::Narrow,

    /// Print the result, or the failure, as one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  pdpp connect https://provider.example
  pdpp connect https://provider.example/me --no-browser
  pdpp connect https://provider.example --source https://registry.pdpp.dev/connectors/slack
  pdpp connect https://provider.example --stream messages --since 2026-01-01 --expires 30d
  pdpp connect https://provider.example --flow device-code
  pdpp connect --renew";

/// Bytes of a label at most.
const MAX_LABEL: usize = 200;

/// The longest that a grant that is not kept is waited for to end at its provider.
const ENDING: Duration = Duration::from_secs(10);

fn label_of(text: &str) -> Result<String, String> {
    let is_fine = !text.trim().is_empty() && text.len() <= MAX_LABEL && !text.chars().any(text::is_hidden);
    if is_fine { Ok(text.to_owned()) } else { Err("not 1 to 200 bytes without hidden characters".to_owned()) }
}

/// Bounds of one exchange with an authorization server, and of the proof.
const LIMITS: Limits =
    Limits { connect: Duration::from_secs(5), total: Duration::from_secs(15), body: 4 << 20 };

/// Runs the command.
///
/// # Errors
/// What it failed with; with `--json` the failure is printed instead, and its exit code given.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    match (connect(args, global, ui), args.json) {
        (Ok(connected), true) => {
            ui.json(&connected.to_json());
            Ok(0)
        }
        (Ok(connected), false) => {
            ui.print(&connected.to_text());
            Ok(0)
        }
        (Err(error), true) => {
            ui.json(&error.to_json());
            Ok(error.kind().exit_code())
        }
        (Err(error), false) => Err(error),
    }
}

fn connect(args: &Args, global: &Global, ui: &Ui) -> Result<Connected> {
    let provider = args.provider.as_deref().map(provider_url).transpose()?;
    let cache = global.cache()?;
    let plan = Plan::of(args, provider, &cache)?;
    let cache = cache.asked_by(plan.again(&["--store"]));
    if let Some(name) = &args.name {
        cache.check_label(&plan.provider, name, plan.replaces.as_ref())?;
    }
    let http = global.http_to(&plan.provider, LIMITS)?;
    // A cache or an output that cannot be used is better known before the owner is asked.
    let Chosen { kind: store, note } = cache.choose_store(args.store)?;
    cache.check_writable(store)?;
    ui.check_output()?;

    runtime::block_on(async {
        tokio::select! {
            granted = get_grant(&plan, &cache, http.clone(), note.as_deref(), args, ui) => {
                // Nothing is awaited until it is stored: either all of it is, or it was interrupted before.
                let granted = granted?;
                let unkept = Unkept::of(&granted.discovery, &granted.client, &granted.response);
                let mut connected = match granted.keep(&cache, &plan, store, args) {
                    Ok(connected) => connected,
                    Err(error) => return Err(unkept.end(&http, error, ui).await),
                };
                let label = text::one_line(&connected.credential.label);
                ui.done(&format!("{} is connected, as {label}", plan.provider), "pdpp status");
                connected.end_old(&http, ui).await;
                Ok(connected)
            }
            stopped = tokio::signal::ctrl_c() => Err(interrupted(&plan, stopped)),
        }
    })?
}

fn provider_url(text: &str) -> Result<ProviderUrl> {
    text.parse().map_err(|error| {
        // What holds a password is not said back.
        let said = match &error {
            ProviderUrlError::Credentials => "That is not a provider's address".to_owned(),
            _ => format!("{text:?} is not a provider's address"),
        };
        let next = match &error {
            ProviderUrlError::NoScheme(meant) => advice::connect(meant),
            _ => "pdpp connect https://provider.example".to_owned(),
        };
        Error::new(Kind::Usage, "provider_url_invalid", said).because(error).hint(next)
    })
}

/// Whom to ask, for what, and in the place of what.
#[derive(Debug)]
struct Plan {
    provider: ProviderUrl,
    wanted: Wanted,
    /// What to ask for instead, one after the other, where the provider refuses that.
    instead: Vec<Wanted>,
    replaces: Option<Credential>,
    /// The command that this is: its words before the options, and each option with its value.
    command: (String, Vec<(&'static str, String)>),
}

impl Plan {
    fn of(args: &Args, provider: Option<ProviderUrl>, cache: &Cache) -> Result<Self> {
        let now = Timestamp::now();
        match provider {
            Some(provider) if !args.renew => {
                let wanted = args.narrow.wanted(now)?;
                let command = (advice::connect(provider.as_str()), args.options());
                Ok(Self { provider, wanted, instead: Vec::new(), replaces: None, command })
            }
            provider => {
                let all = cache.credentials()?;
                let old = renewal::meant(&all, provider.as_ref(), args.grant.as_ref())?;
                let mut requests = renewal::requests(old, now).into_iter();
                Ok(Self {
                    provider: old.provider.clone(),
                    wanted: requests.next().unwrap_or_default(),
                    instead: requests.collect(),
                    replaces: Some(old.clone()),
                    command: (renew_command(old, &all), args.options()),
                })
            }
        }
    }

    /// The same command again, without the options that are named: what to type after a failure.
    fn again(&self, without: &[&str]) -> String {
        let (start, options) = &self.command;
        let kept = options.iter().filter(|(name, _)| !without.contains(name));
        kept.fold(start.clone(), |said, (name, value)| format!("{said} {name} {}", text::shell_word(value)))
    }
}

impl Args {
    /// The options that say what is asked for, in what way and where it is kept.
    fn options(&self) -> Vec<(&'static str, String)> {
        use clap::ValueEnum as _;
        let value =
            |value: Option<clap::builder::PossibleValue>| value.map(|value| value.get_name().to_owned());
        let one = |name, value: Option<String>| value.map(|value| (name, value));
        let narrow = &self.narrow;
        let each = |name, values: &[String]| {
            values.iter().map(|value| (name, value.clone())).collect::<Vec<(&'static str, String)>>()
        };
        let mut options = Vec::new();
        options.extend(one("--flow", value(self.flow.and_then(|flow| flow.to_possible_value()))));
        options.extend(one("--name", self.name.clone()));
        options.extend(one("--store", value(self.store.and_then(|store| store.to_possible_value()))));
        options.extend(one("--source", narrow.source.clone()));
        options.extend(each("--instance", &narrow.instance));
        options.extend(each("--stream", &narrow.stream));
        options.extend(each("--field", &narrow.field));
        options.extend(one("--since", narrow.since.clone()));
        options.extend(one("--until", narrow.until.clone()));
        options.extend(one("--expires", narrow.expires.clone()));
        options.extend(one("--purpose", narrow.purpose.clone()));
        options
    }
}

fn interrupted(plan: &Plan, stopped: std::io::Result<()>) -> Error {
    match stopped {
        Ok(()) => Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing is stored")
            .hint(format!("Do not approve the page any more. To ask again: {}", plan.again(&[]))),
        Err(error) => Error::failed("runtime_failed", "Could not listen for Ctrl-C").because(error),
    }
}

/// A grant, not kept yet.
struct Granted {
    discovery: Discovery,
    client: Client,
    response: TokenResponse,
    wanted: Wanted,
    way: Way,
    proof: Proof,
    kind: TokenKind,
    difference: Difference,
}

/// A grant that the owner approved and that is not kept: nobody else can end it from here.
struct Unkept {
    discovery: Discovery,
    tokens: revoke::Tokens,
}

impl Unkept {
    fn of(discovery: &Discovery, client: &Client, response: &TokenResponse) -> Self {
        let tokens = revoke::Tokens {
            client_id: client.id().map(str::to_owned),
            grant_id: response.grant_id.clone().or_else(|| response.package_id.clone()),
            access_token: response.access_token.clone(),
            refresh_token: response.refresh_token.clone(),
        };
        Self { discovery: discovery.clone(), tokens }
    }

    /// Ends it at its provider, where that takes no longer than [`ENDING`], and says so; gives `error` back.
    async fn end(&self, http: &Http, error: Error, ui: &Ui) -> Error {
        let ended = tokio::time::timeout(ENDING, revoke::end(http, &self.discovery, &self.tokens)).await;
        if ended.is_ok_and(|ended| ended.is_ok()) {
            ui.note("The grant that was approved is ended at the provider again.");
        } else {
            ui.warn("the grant that was approved stands at the provider: its own pages can end it");
        }
        error
    }
}

async fn get_grant(
    plan: &Plan,
    cache: &Cache,
    http: Http,
    of_store: Option<&str>,
    args: &Args,
    ui: &Ui,
) -> Result<Granted> {
    let provider = &plan.provider;
    let again = |without: &[&str]| plan.again(without);
    let discovery = discover(&http, provider).await.map_err(|error| error.told(provider))?;
    let (attempt, client, wanted, way) = begin(&http, &discovery, plan, cache, args, ui).await?;
    let attempt = attempt.within(args.wait);

    if let Some(note) = of_store {
        ui.note(note);
    }
    let differing = plan.replaces.as_ref().map(|old| renewal::differing(old, &wanted)).unwrap_or_default();
    if !differing.is_empty() {
        ui.note(&format!(
            "The accounts of the old grant differ in what they give of {}, which a request cannot say: look at that on \
             the page. Where the new grant is wider or narrower than the old one, it is said.",
            text::one_line(text::prefix(&differing.join(", "), 300))
        ));
    }
    ui.note(&invitation(&discovery, &attempt, &wanted, way));
    open(&attempt, args, ui).await;
    let response = wait(&http, &attempt, ui).await.map_err(|error| {
        let credentials = cache.credentials().unwrap_or_default();
        known::with_names(error, &wanted, provider, &credentials).told(provider, &again)
    })?;

    // Several grants picked at once: one token for the provider's own /mcp, where /v1 proves nothing.
    if let (Way::AuthorizationCode, Some(TokenKind::McpPackage), Some(id)) =
        (way, response.kind, response.package_id.clone())
    {
        let sources = package::sources(http, &discovery, &id, &response).await;
        let (proof, difference) = (Proof { grant_id: id, sources }, Difference::default());
        let kind = TokenKind::McpPackage;
        return Ok(Granted { discovery, client, response, wanted, way, proof, kind, difference });
    }
    let rs = ResourceServer::new(http.clone(), provider, discovery.query_base.clone())
        .map_err(|error| Error::failed("query_base_foreign", error.to_string()))?;
    let proof = match prove(&rs, &response).await {
        Ok(proof) => proof,
        Err(error) => {
            // An owner's token is used for nothing, not even for that.
            let is_owners = matches!(error, ProofError::Owner);
            let told = error.told(provider, &plan.again(&[]));
            if is_owners {
                return Err(told);
            }
            return Err(Unkept::of(&discovery, &client, &response).end(&http, told, ui).await);
        }
    };
    let required = given::required(&rs, &wanted, &response).await;
    let difference = given::compare(&wanted, &response, &proof, &required);
    // What is in the place of another grant is compared with that.
    if plan.replaces.is_none() {
        say(&difference, "than asked for", ui);
    }
    let kind = TokenKind::Client;
    Ok(Granted { discovery, client, response, wanted, way, proof, kind, difference })
}

/// Opens the page, where a browser is to be expected; says what there is to do where none is.
async fn open(attempt: &Attempt, args: &Args, ui: &Ui) {
    // A person who is elsewhere has their browser there.
    let elsewhere = browser::why_none_here();
    if let (Some(_), Attempt::AuthorizationCode(code)) = (elsewhere, attempt) {
        let port = code.port();
        ui.note(&format!(
            "The page comes back to port {port} of this machine: open it in a browser here, or lead that port to it \
             (ssh -L {port}:127.0.0.1:{port} …)."
        ));
    }
    match elsewhere {
        _ if args.no_browser => {}
        Some(_) if matches!(attempt, Attempt::DeviceCode(_)) => {}
        Some(why) => ui.note(&format!("No browser is opened, since {why}: open that address yourself.")),
        None => {
            if !browser::open(attempt.url()).await {
                ui.note("No browser could be opened here: open that address yourself.");
            }
        }
    }
}

/// Begins an attempt; where the provider has to be told which source, a person is asked, if there is one.
async fn begin(
    http: &Http,
    discovery: &Discovery,
    plan: &Plan,
    cache: &Cache,
    args: &Args,
    ui: &Ui,
) -> Result<(Attempt, Client, Wanted, Way)> {
    let server = &discovery.authorization_server;
    let again = |without: &[&str]| plan.again(without);
    let told = |error: ApproveError| error.told(&plan.provider, &again);
    let with_names = |refused, wanted: &Wanted| -> Result<ApproveError> {
        Ok(known::with_names(refused, wanted, &plan.provider, &cache.credentials()?))
    };
    // Who names a way has it.
    let elsewhere = if args.flow.is_some() { None } else { browser::why_none_here() };
    let mut wanted = plan.wanted.clone();
    let mut instead = plan.instead.iter();
    let mut asked = args.flow;
    let mut questions = 0;
    loop {
        let remembered = cache.client_id(server.issuer.as_str())?;
        let begun = async {
            let way = Way::choose(server, &wanted, asked, elsewhere.is_some())?;
            if let (Way::DeviceCode, Some(why), 0) = (way, elsewhere, questions) {
                ui.note(&format!("Using a device code, since {why} (--flow picks another way).\n"));
            }
            approve::begin(http, discovery, remembered, &wanted, way).await.map(|begun| (begun, way))
        };
        let refused = match begun.await {
            Ok(((attempt, client), way)) => return Ok((attempt, client, wanted, way)),
            Err(error) => error,
        };
        questions += 1;
        if refused.is_of_the_request()
            && let (Some(next), Some(old)) = (instead.next(), &plan.replaces)
        {
            let is_picked = next.is_plain() && old.token_kind == TokenKind::McpPackage;
            if asked.is_none() && is_picked && Way::AuthorizationCode.is_offered(server) {
                asked = Some(Way::AuthorizationCode);
            }
            if next.streams != wanted.streams {
                ui.note(&not_exactly(&refused, old));
            }
            wanted = next.clone();
            continue;
        }
        let is_first = questions <= 2;
        match &refused {
            ApproveError::SourceRequired { choices } if is_first => {
                let can_pick =
                    asked.is_none() && Way::AuthorizationCode.is_offered(server) && elsewhere.is_none();
                match ask_source(choices, can_pick && wanted.is_plain(), ui)? {
                    Some(Answer::Source(id)) => wanted.source = Some(narrow::source(&id, &[])?),
                    Some(Answer::PickThere) => asked = Some(Way::AuthorizationCode),
                    None => return Err(told(with_names(refused, &wanted)?)),
                }
            }
            ApproveError::InstanceRequired { choices } if is_first => {
                let asked = ask_instance(choices, ui)?;
                match (asked, wanted.source.as_mut()) {
                    (Some(id), Some(source)) => source.instance_ids = vec![id],
                    _ => return Err(told(with_names(refused, &wanted)?)),
                }
            }
            _ => return Err(told(with_names(refused, &wanted)?)),
        }
    }
}

/// Which source, as a person says.
enum Answer {
    Source(String),
    /// On the provider's own page.
    PickThere,
}

fn ask_source(choices: &[Choice], can_pick: bool, ui: &Ui) -> Result<Option<Answer>> {
    const THERE: &str = "pick on the provider's page";
    if choices.is_empty() {
        let hint = if can_pick { format!(" (nothing: {THERE})") } else { String::new() };
        let question = format!("The provider has several sources. URI of the one to ask for{hint}");
        return Ok(match ui.ask(&question).map_err(|error| not_asked(&error))? {
            Some(id) if !id.is_empty() => Some(Answer::Source(id)),
            Some(_) if can_pick => Some(Answer::PickThere),
            _ => None,
        });
    }
    let mut items: Vec<String> = choices.iter().map(Choice::told).collect();
    if can_pick {
        items.push(THERE.to_owned());
    }
    let picked = ui.pick("Which source to ask for", &items).map_err(|error| not_asked(&error))?;
    Ok(picked.map(|at| choices.get(at).map_or(Answer::PickThere, |choice| Answer::Source(choice.id.clone()))))
}

fn ask_instance(choices: &[Choice], ui: &Ui) -> Result<Option<String>> {
    if choices.is_empty() {
        let question = "The source is configured more than once. Id of the instance to ask for";
        let typed = ui.ask(question).map_err(|error| not_asked(&error))?;
        return Ok(typed.filter(|id| !id.is_empty()));
    }
    let items: Vec<String> = choices.iter().map(Choice::told).collect();
    let picked = ui.pick("Which one to ask for", &items).map_err(|error| not_asked(&error))?;
    Ok(picked.and_then(|at| choices.get(at)).map(|choice| choice.id.clone()))
}

/// Ctrl-C at a question, or a terminal that went away.
fn not_asked(error: &std::io::Error) -> Error {
    Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing is stored")
        .because(std::io::Error::from(error.kind()))
        .hint("Name the source instead: --source <URI>")
}

/// Says that a provider takes no request for what a grant has, and what that is: its owner can pick the same.
fn not_exactly(refused: &ApproveError, old: &Credential) -> String {
    let mut said = format!(
        "The provider takes no request for just what the old grant has ({}): pick the same on its page.\nThe old grant has:\n",
        text::one_line(&refused.to_string())
    );
    for source in &old.sources {
        let _ = writeln!(said, "  {}", source_line(source));
    }
    said
}

/// Says where the grant is another one `than` was asked for, or than the one before.
fn say(difference: &Difference, than: &str, ui: &Ui) {
    for more in &difference.more {
        ui.warn(&format!("more was given {than}: {}", text::one_line(more)));
    }
    for less in &difference.less {
        ui.note(&format!("Less was given {than}: {}", text::one_line(less)));
    }
}

fn invitation(discovery: &Discovery, attempt: &Attempt, wanted: &Wanted, way: Way) -> String {
    let name = discovery.name.as_deref().map(|name| format!("{}, ", text::one_line(text::prefix(name, 100))));
    let mut said = format!(
        "Approve the request of {} at {}{}:\n\n  {}\n",
        approve::CLIENT_NAME,
        name.unwrap_or_default(),
        discovery.provider,
        attempt.url(),
    );
    if let Attempt::DeviceCode(device) = attempt {
        let line = "─".repeat(device.user_code.chars().count() + 4);
        let _ = write!(said, "\nThe page has to show this code, or asks for it at {}:\n\n", device.typed_at);
        let _ = writeln!(said, "    ┌{line}┐\n    │  {}  │\n    └{line}┘", text::one_line(&device.user_code));
    }
    said.push_str("\nAsked for:\n");
    let is_sent = matches!(way, Way::Par | Way::DeviceCode) || !wanted.is_plain();
    let lines = if is_sent { wanted.told() } else { Wanted::told_unsent() };
    for line in lines {
        let _ = writeln!(said, "  {}", text::one_line(&line));
    }
    said
}

async fn wait(http: &Http, attempt: &Attempt, ui: &Ui) -> Result<TokenResponse, approve::ApproveError> {
    let end = Instant::now() + attempt.waits();
    let progress = ui.progress();
    if !ui.is_interactive() {
        ui.note(&format!("Waiting for the approval, at most {}.", minutes(attempt.waits())));
    }
    let mut second = tokio::time::interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut approval = std::pin::pin!(attempt.wait(http));
    loop {
        tokio::select! {
            decided = &mut approval => return decided,
            _ = second.tick() => {
                let left = minutes(end.saturating_duration_since(Instant::now()));
                progress.say(&format!("Waiting for the approval, {left} left (Ctrl-C stops)"));
            }
        }
    }
}

/// What there is to tell at the end.
struct Connected {
    credential: Credential,
    stored: Stored,
    cache: Cache,
    now: Timestamp,
    /// What this is in the place of, where that was another grant.
    replaces: Option<Old>,
    difference: Difference,
    /// How it differs from the grant that it renews.
    since_before: Option<Difference>,
    /// Whether `mcp serve` serves other grants beside it.
    has_others: bool,
}

/// A grant that another one is in the place of.
struct Old {
    credential: Credential,
    at_provider: AtProvider,
}

/// What became of a grant at its provider.
enum AtProvider {
    Ended,
    /// It was over before.
    Over,
    /// A code, and why.
    Stands(String, String),
}

impl Granted {
    fn keep(self, cache: &Cache, plan: &Plan, store: StoreKind, args: &Args) -> Result<Connected> {
        let Self { discovery, client, response, wanted, way, proof, kind, difference } = self;
        let of_before = plan.replaces.as_ref().map(|old| old.label.clone());
        let label = args
            .name
            .clone()
            .or(of_before)
            .unwrap_or_else(|| label(&proof.sources, discovery.name.as_deref()));
        let issuer = discovery.authorization_server.issuer.as_str().to_owned();
        // As it was asked for: a refresh that names another resource is refused (RFC 8707 §2.2).
        let resource = match way {
            Way::AuthorizationCode | Way::DeviceCode => approve::mcp_resource(&discovery),
            Way::AgentConnect | Way::Par => discovery.resource,
        };
        let mut credential = Credential {
            id: new_credential_id()?,
            store,
            parts: 1,
            provider: discovery.provider,
            grant_id: proof.grant_id,
            query_base: discovery.query_base,
            issuer: issuer.clone(),
            client_id: client.id().map(str::to_owned),
            token_kind: kind,
            label,
            sources: proof.sources,
            access_mode: response.access_mode,
            issued_at: response.issued_at.or_else(|| Timestamp::now().round(Unit::Second).ok()),
            grant_expires_at: response.grant_expires_at,
            token_expires_at: response.token_expires_at,
            refreshable: response.refresh_token.is_some(),
            asked: Some(
                plan.replaces.as_ref().map_or_else(|| wanted.clone(), |old| renewal::asked(old, &wanted)),
            ),
            given: GivenStream::kept(response.streams).into(),
            renewal: Renewal {
                token_endpoint: discovery.authorization_server.token_endpoint.map(String::from),
                resource: Some(resource),
                ..Renewal::default()
            },
        };
        let secrets = Secrets::new(response.access_token, response.refresh_token);
        let client = match client {
            Client::Registered(client_id) => Some(RegisteredClient { issuer, client_id }),
            _ => None,
        };
        if let Some(choice) = args.store {
            cache.remember_store(choice)?;
        }
        let mut stored =
            cache.store_in_place_of(&mut credential, &secrets, client, plan.replaces.as_ref())?;
        let since_before = plan.replaces.as_ref().map(|old| renewal::compare(old, &credential));
        let old = plan.replaces.clone().filter(|old| !old.is_same_grant(&credential));
        let replaces = old.map(|credential| Old { credential, at_provider: AtProvider::Over });
        if replaces.is_some() {
            stored = Stored::Replaced;
        }
        let (cache, now) = (cache.clone(), Timestamp::now());
        let has_others = false;
        Ok(Connected { credential, stored, cache, now, replaces, difference, since_before, has_others })
    }
}

/// Bytes of a label that is made of sources' names, where there are several.
const MAX_NAMES: usize = 60;

/// What to call a credential: its sources' names, as many as a short label holds, else the provider's; at most
/// 200 bytes, and cut between words.
fn label(sources: &[GrantedSource], provider: Option<&str>) -> String {
    let names: Vec<String> = sources.iter().flat_map(GrantedSource::names).collect();
    let Some((first, rest)) = names.split_first() else {
        return words(provider.unwrap_or("unnamed"), MAX_LABEL - 8);
    };
    let mut label = words(first, MAX_LABEL - 8);
    let mut left = rest.iter();
    for name in left.by_ref() {
        if label.len() + name.len() > MAX_NAMES {
            return format!("{label} (+{})", left.len() + 1);
        }
        let _ = write!(label, ", {}", text::one_line(name));
    }
    label
}

/// The beginning of `text` on one line, at most `max` bytes, cut between words where there are any.
fn words(text: &str, max: usize) -> String {
    let text = text::one_line(text);
    let cut = text::prefix(&text, max);
    if cut.len() == text.len() {
        return text.into_owned();
    }
    let end = cut.rfind(char::is_whitespace).filter(|end| *end > 0).unwrap_or(cut.len());
    format!("{}…", cut[..end].trim_end())
}

impl Connected {
    /// Ends the grant that this is in the place of, and takes it off this machine. The new one is stored before:
    /// whatever happens in between, one of them is left. That it cannot be ended is said, and no failure; Ctrl-C
    /// stops the trying.
    async fn end_old(&mut self, http: &Http, ui: &Ui) {
        if let Some(difference) = &self.since_before {
            say(difference, "than the old grant had", ui);
        }
        if let Some(old) = &mut self.replaces {
            if !old.credential.is_expired(self.now) {
                old.at_provider = tokio::select! {
                    ended = disconnect::end(&self.cache, http, &old.credential) => match ended {
                        Ok(Revoked::Grant | Revoked::Tokens) => AtProvider::Ended,
                        Ok(Revoked::Already) => AtProvider::Over,
                        Err((code, why)) => AtProvider::Stands(code, why),
                    },
                    _ = tokio::signal::ctrl_c() => {
                        AtProvider::Stands("interrupted".to_owned(), "Ctrl-C stopped that".to_owned())
                    }
                };
            }
            let left = match self.cache.remove(&old.credential) {
                Ok(removed) => removed.left.map(|error| error.to_string()),
                Err(error) => Some(error.in_full()),
            };
            if let Some(why) = left {
                let grant = text::shell_word(old.credential.grant_id.as_str());
                ui.warn(&format!(
                    "the old token could not be deleted here ({why}); try: pdpp disconnect {grant}"
                ));
            }
        }
        let credentials = self.cache.credentials().unwrap_or_default();
        self.has_others = Selection::default().all(&credentials, self.now).is_ok_and(|all| all.len() > 1);
    }

    fn serve(&self) -> String {
        let mut command = "pdpp mcp serve".to_owned();
        // Said even if it came from the environment: hosts start servers without the shell's.
        let dir = self.cache.dir();
        if Cache::default_dir().map_or(true, |default| default != dir) {
            let _ = write!(command, " --cache-dir {}", text::shell_word(&dir.display().to_string()));
        }
        command
    }

    fn is_package(&self) -> bool {
        self.credential.token_kind == TokenKind::McpPackage
    }

    fn to_json(&self) -> Value {
        let one = &self.credential;
        json!({
            "provider": one.provider.as_str(),
            "grant_id": one.grant_id.as_str(),
            "label": one.label,
            "token_kind": one.token_kind,
            "replaces": self.replaces.as_ref().map(|old| old.credential.grant_id.as_str()),
            "old_grant": self.replaces.as_ref().map(Old::to_json),
            "more_than_asked": self.difference.more,
            "less_than_asked": self.difference.less,
            "more_than_before": self.since_before.as_ref().map(|difference| &difference.more),
            "less_than_before": self.since_before.as_ref().map(|difference| &difference.less),
            "issuer": one.issuer,
            "access_mode": one.access_mode,
            "issued_at": one.issued_at,
            "expires_at": one.expires_at(),
            "sources": one.sources,
            "stream_count": one.stream_count(),
            "replaced": self.stored == Stored::Replaced,
            "store": one.store,
            "cache_dir": self.cache.dir().display().to_string(),
            "next": if self.is_package() { vec![] } else { vec!["pdpp mcp inspect".to_owned(), self.serve()] },
        })
    }

    fn to_text(&self) -> String {
        let one = &self.credential;
        let mut said = match self.stored {
            _ if self.is_package() => format!("Connected to {}, with a package of grants.\n", one.provider),
            Stored::Replaced if self.replaces.is_some() => {
                format!("Connected to {} again, in the place of the grant from before.\n", one.provider)
            }
            Stored::Added => format!("Connected to {}.\n", one.provider),
            Stored::Replaced => {
                format!("Connected to {} again: the token of this grant is replaced.\n", one.provider)
            }
        };
        let until = match one.expires_at() {
            Some(end) => format!("until {}", day_and_time(end)),
            None => "without an end date".to_owned(),
        };
        let mode = match one.access_mode.as_deref() {
            Some("continuous") | None => String::new(),
            Some(mode) => format!(" ({} access)", text::one_line(mode).replace('_', "-")),
        };
        let _ = writeln!(said, "Granted {until}{mode}, to read:");
        for source in &one.sources {
            let _ = writeln!(said, "  {}", source_line(source));
        }
        if one.stream_count() == 0 && !self.is_package() {
            said.push_str("  nothing: the token works, but this grant has no streams\n");
        }
        if one.is_expired(self.now) {
            said.push_str("By this machine's clock that is over already: check the clock.\n");
        }
        let dir = self.cache.dir().join("secrets");
        let _ = match one.store {
            StoreKind::File => {
                writeln!(said, "The token is kept in a file that only you can read, below {}", dir.display())
            }
            StoreKind::Keyring => writeln!(said, "The token is kept in the keyring."),
        };
        if let Some(old) = &self.replaces {
            let _ = writeln!(said, "{}", old.to_text());
        }
        if self.is_package() {
            let _ = write!(
                said,
                "\nA package's token is good for {}/mcp only: `pdpp mcp serve` reads through the tools there.\n",
                one.provider
            );
        }
        let steps = ui::steps(&[
            ("pdpp mcp inspect", "what the tools cost a model's context"),
            (&self.serve(), "offer it to an MCP host on stdio"),
        ]);
        let _ = write!(said, "\nNext:\n{steps}");
        if self.has_others {
            said.push_str("\nIt serves every grant on this machine together; --provider and --grant narrow.");
        }
        said
    }
}

impl Old {
    fn to_text(&self) -> String {
        let id = text::one_line(self.credential.grant_id.as_str());
        match &self.at_provider {
            AtProvider::Ended => format!("The old grant {id} is ended at the provider, and deleted here."),
            AtProvider::Over => format!("The old grant {id} was over at the provider; it is deleted here."),
            AtProvider::Stands(code, why) => {
                let until = self
                    .credential
                    .grant_expires_at
                    .map_or_else(String::new, |end| format!(" until {}", day_and_time(end)));
                format!(
                    "The old grant {id} is deleted here, but stands at the provider{until}: {}\n  The provider's own pages \
                     can end it (code: {code})",
                    text::one_line(text::prefix(why, 500))
                )
            }
        }
    }

    fn to_json(&self) -> Value {
        let (ended, code, why) = match &self.at_provider {
            AtProvider::Ended | AtProvider::Over => (true, None, None),
            AtProvider::Stands(code, why) => (false, Some(code), Some(why)),
        };
        json!({"ended_at_provider": ended, "code": code, "why": why})
    }
}

/// `Acme Slack (slack): 14 streams: messages, users, …`
fn source_line(source: &GrantedSource) -> String {
    const SHOWN: usize = 12;
    let label = source.label();
    let mut line = text::one_line(&label).into_owned();
    if let Some(key) = source.connector_key.as_deref().filter(|key| *key != label) {
        let _ = write!(line, " ({})", text::one_line(key));
    }
    let plural = if source.stream_count == 1 { "" } else { "s" };
    let _ = write!(line, ": {} stream{plural}", source.stream_count);
    let shown: Vec<_> = source.streams.iter().take(SHOWN).map(|name| text::one_line(name)).collect();
    if !shown.is_empty() {
        let _ = write!(line, ": {}", shown.join(", "));
    }
    if source.stream_count > shown.len() {
        let _ = write!(line, " and {} more", source.stream_count - shown.len());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::credential::GrantedConnection;
    use crate::cache::credential::tests::credential;

    fn connected(edit: impl FnOnce(&mut Connected)) -> Connected {
        let mut credential = credential("https://a.example/me", "g1");
        credential.sources = vec![GrantedSource {
            connector_key: Some("diary".to_owned()),
            connections: vec![GrantedConnection {
                id: "c1".to_owned(),
                display_name: Some("Paper\u{1b}[31m diary".to_owned()),
            }],
            streams: (0..14).map(|n| format!("s{n}")).collect(),
            stream_count: 14,
            ..GrantedSource::default()
        }];
        credential.grant_expires_at = Some("2026-11-28T22:29:23Z".parse().unwrap());
        let mut connected = Connected {
            credential,
            stored: Stored::Added,
            cache: Cache::open(&Cache::default_dir().unwrap()).unwrap(),
            now: "2026-11-27T00:00:00Z".parse().unwrap(),
            replaces: None,
            has_others: false,
            difference: Difference::default(),
            since_before: None,
        };
        edit(&mut connected);
        connected
    }

    #[test]
    fn r8_1_the_end_says_what_was_granted_until_when_and_what_to_type() {
        let expected = "\
Connected to https://a.example/me.
Granted until 2026-11-28 22:29 UTC, to read:
  Paper\\u{1b}[31m diary (diary): 14 streams: s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11 and 2 more
The token is kept in a file that only you can read, below DIR/secrets

Next:
  pdpp mcp inspect   what the tools cost a model's context
  pdpp mcp serve     offer it to an MCP host on stdio";
        let dir = Cache::default_dir().unwrap().display().to_string();
        assert_eq!(connected(|_| ()).to_text().replace(&dir, "DIR"), expected);
    }

    #[test]
    fn what_is_out_of_the_ordinary_is_said() {
        let said = connected(|one| {
            one.stored = Stored::Replaced;
            one.has_others = true;
            one.now = "2026-11-29T00:00:00Z".parse().unwrap();
            one.credential.access_mode = Some("single_use".to_owned());
            one.credential.sources.clear();
        })
        .to_text();
        for part in [
            "the token of this grant is replaced",
            "(single-use access)",
            "this grant has no streams",
            "check the clock",
            "every grant on this machine together",
        ] {
            assert!(said.contains(part), "{part} in {said}");
        }
        let endless = connected(|one| one.credential.grant_expires_at = None).to_text();
        assert!(endless.contains("without an end date"));
    }

    #[test]
    fn json_names_the_same_things() {
        let json = connected(|_| ()).to_json();
        assert_eq!(json["expires_at"], "2026-11-28T22:29:23Z");
        assert_eq!(json["stream_count"].to_string(), "14");
        assert_eq!(json["sources"][0]["connections"][0]["id"], "c1");
        assert_eq!(json["next"][1], "pdpp mcp serve");
    }

    #[test]
    fn countdowns_are_minutes_and_seconds() {
        assert_eq!(minutes(Duration::from_mins(5)), "5:00 min");
        assert_eq!(minutes(Duration::from_millis(61_999)), "1:01 min");
    }
}
