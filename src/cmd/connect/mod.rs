//! `pdpp connect`: discovery, registration, the owner's approval, a proven token in the cache (R8.1).

mod begin;
mod browser;
mod difference;
mod keep;
mod narrow;
mod package;
mod plan;
mod renewal;
mod suggest;
mod told;

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

use super::Global;
use crate::advice::{Command, Hint};
use crate::cache::Cache;
use crate::cache::credential::MAX_LABEL;
use crate::cache::select::GrantName;
use crate::cache::store::choice::{Chosen, StoreChoice};
use crate::error::{Error, Kind, Result};
use crate::provider::approve::flow::Flow;
use crate::provider::approve::proof::{Proof, ProofError, prove};
use crate::provider::approve::token::TokenResponse;
use crate::provider::approve::{ApproveError, Attempt};
use crate::provider::discovery::discover;
use crate::provider::grant::TokenKind;
use crate::provider::http::{Http, Limits};
use crate::provider::rs::ResourceServer;
use crate::provider::url::{ProviderUrl, ProviderUrlError};
use crate::time_text::minutes;
use crate::ui::Ui;
use crate::{runtime, text};
use begin::begin;
use difference::Difference;
use keep::{Connected, Granted, Unkept};
use plan::Plan;

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
    flow: Option<Flow>,

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

    /// Print the result, or the failure, as one JSON object
    #[arg(long)]
    json: bool,

    // Last: its heading holds for what follows too.
    #[command(flatten)]
    narrow: narrow::Narrow,
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
                ui.done(&format!("{} is connected, as {label}", plan.provider), Command::new("status"));
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
            ProviderUrlError::NoScheme(meant) => Command::connect(meant),
            _ => Command::connect("https://provider.example"),
        };
        Error::new(Kind::Usage, "provider_url_invalid", said).because(error).run(next)
    })
}

fn interrupted(plan: &Plan, stopped: std::io::Result<()>) -> Error {
    match stopped {
        Ok(()) => Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing is stored")
            .hint(Hint::new("Do not approve the page any more. To ask again: ").run(plan.again(&[]))),
        Err(error) => Error::failed("runtime_failed", "Could not listen for Ctrl-C").because(error),
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
    let discovery = discover(&http, provider).await.map_err(|error| error.into_error(provider))?;
    let (attempt, client, wanted, flow) = begin(&http, &discovery, plan, cache, args, ui).await?;
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
    ui.note(&told::invitation(&discovery, &attempt, &wanted, flow));
    open(&attempt, args, ui).await;
    let response = wait(&http, &attempt, ui).await.map_err(|error| {
        let credentials = cache.credentials().unwrap_or_default();
        suggest::with_names(error, &wanted, provider, &credentials).into_error(provider, &again)
    })?;

    // Several grants picked at once: one token for the provider's own /mcp, where /v1 proves nothing.
    if let (Flow::AuthorizationCode, Some(TokenKind::McpPackage), Some(id)) =
        (flow, response.kind, response.package_id.clone())
    {
        let sources = package::sources(http, &discovery, &id, &response).await;
        let (proof, difference) = (Proof { grant_id: id, sources }, Difference::default());
        let kind = TokenKind::McpPackage;
        return Ok(Granted { discovery, client, response, wanted, flow, proof, kind, difference });
    }
    let rs = ResourceServer::new(http.clone(), provider, discovery.query_base.clone())
        .map_err(|error| Error::failed("query_base_foreign", error.to_string()))?;
    let proof = match prove(&rs, &response).await {
        Ok(proof) => proof,
        Err(error) => {
            // An owner's token is used for nothing, not even for that.
            let is_owners = matches!(error, ProofError::Owner);
            let told = error.into_error(provider, plan.again(&[]));
            if is_owners {
                return Err(told);
            }
            return Err(Unkept::of(&discovery, &client, &response).end(&http, told, ui).await);
        }
    };
    let required = difference::required(&rs, &wanted, &response).await;
    let difference = difference::compare(&wanted, &response, &proof, &required);
    // What is in the place of another grant is compared with that.
    if plan.replaces.is_none() {
        told::say(&difference, "than asked for", ui);
    }
    let kind = TokenKind::Client;
    Ok(Granted { discovery, client, response, wanted, flow, proof, kind, difference })
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

async fn wait(http: &Http, attempt: &Attempt, ui: &Ui) -> Result<TokenResponse, ApproveError> {
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
