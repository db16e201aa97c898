//! `pdpp connect`: discovery, registration, the owner's approval, a proven token in the cache (R8.1).

use std::fmt::Write as _;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior};
use url::Url;

use super::Global;
use crate::cache::credential::{Credential, GrantedSource, Renewal, Secrets, TokenKind};
use crate::cache::index::RegisteredClient;
use crate::cache::select::Selection;
use crate::cache::store::StoreKind;
use crate::cache::{Cache, Stored, new_credential_id};
use crate::error::{Error, Kind, Result};
use crate::provider::approve::agent_connect::Attempt;
use crate::provider::approve::proof::{Proof, prove};
use crate::provider::approve::token::TokenResponse;
use crate::provider::approve::{self, Client, SourceRequest};
use crate::provider::discovery::{Discovery, discover};
use crate::provider::http::{Http, Limits};
use crate::provider::rs::ResourceServer;
use crate::provider::url::{ProviderUrl, ProviderUrlError};
use crate::text;
use crate::ui::Ui;

/// Get a grant from a provider: approve it in the browser, keep a scoped token on this machine
///
/// The provider's page says what is asked for; nothing is stored unless you approve there and the token
/// proves to be one for that grant alone. Ctrl-C stops waiting (exit code 130).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The provider's address, path included
    #[arg(value_name = "PROVIDER_URL")]
    provider: String,

    /// Only print the approval URL; open no browser
    #[arg(long)]
    no_browser: bool,

    /// Ask for this source, where the provider has several
    #[arg(long, value_name = "URI")]
    source: Option<String>,

    /// Ask for this configured instance of the source (repeatable)
    #[arg(long, value_name = "ID", requires = "source")]
    instance: Vec<String>,

    /// Print the result, or the failure, as one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  pdpp connect https://provider.example
  pdpp connect https://provider.example/me --no-browser
  pdpp connect https://provider.example --source https://registry.pdpp.dev/connectors/slack";

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
    let provider: ProviderUrl = args.provider.parse().map_err(|error| {
        // What holds a password is not said back.
        let said = match error {
            ProviderUrlError::Credentials => "That is not a provider's address".to_owned(),
            _ => format!("{:?} is not a provider's address", args.provider),
        };
        Error::new(Kind::Usage, "provider_url_invalid", said)
            .because(error)
            .hint("pdpp connect https://provider.example")
    })?;
    let source = args.source.as_deref().map(|id| source_request(id, &args.instance)).transpose()?;
    let cache = global.cache()?;
    let http = global.http(LIMITS)?;
    // A cache that cannot be used is better known before the owner is asked.
    cache.credentials()?;

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::failed("runtime_failed", "Could not start").because(error))?;
    runtime.block_on(async {
        tokio::select! {
            granted = get_grant(&provider, source.as_ref(), &cache, http, args.no_browser, ui) => {
                // Nothing is awaited from here on: either all of it is stored, or it was interrupted before.
                granted?.keep(&cache)
            }
            stopped = tokio::signal::ctrl_c() => Err(interrupted(&provider, stopped)),
        }
    })
}

fn source_request(id: &str, instances: &[String]) -> Result<SourceRequest> {
    // Only checked: the provider compares it as text, so it is sent as it was typed.
    Url::parse(id).map_err(|error| {
        Error::new(Kind::Usage, "source_invalid", format!("{id:?} is not a source's URI"))
            .because(error)
            .hint("Give the whole URI, such as https://registry.pdpp.dev/connectors/slack")
    })?;
    Ok(SourceRequest { id: id.to_owned(), instance_ids: instances.to_vec() })
}

fn interrupted(provider: &ProviderUrl, stopped: std::io::Result<()>) -> Error {
    match stopped {
        Ok(()) => Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing is stored")
            .hint(format!("Do not approve the page any more. To ask again: pdpp connect {provider}")),
        Err(error) => Error::failed("runtime_failed", "Could not listen for Ctrl-C").because(error),
    }
}

/// A proven grant, not kept yet.
struct Granted {
    discovery: Discovery,
    client: Client,
    response: TokenResponse,
    proof: Proof,
}

async fn get_grant(
    provider: &ProviderUrl,
    source: Option<&SourceRequest>,
    cache: &Cache,
    http: Http,
    no_browser: bool,
    ui: &Ui,
) -> Result<Granted> {
    let discovery = discover(&http, provider).await.map_err(|error| error.told(provider))?;
    let remembered = cache.client_id(discovery.authorization_server.issuer.as_str())?;
    let (attempt, client) =
        approve::begin(&http, &discovery, remembered, source).await.map_err(|error| error.told(provider))?;

    ui.note(&invitation(&discovery, &attempt));
    if !no_browser && !open_browser(&attempt.approval_url).await {
        ui.note("No browser could be opened here: open that address yourself.");
    }
    let response = wait(&http, &attempt, ui).await.map_err(|error| error.told(provider))?;

    let rs = ResourceServer::new(http, provider, discovery.query_base.clone())
        .map_err(|error| Error::failed("query_base_foreign", error.to_string()))?;
    let proof = prove(&rs, &response).await.map_err(|error| error.told(provider))?;
    Ok(Granted { discovery, client, response, proof })
}

fn invitation(discovery: &Discovery, attempt: &Attempt) -> String {
    let name = discovery.name.as_deref().map(|name| format!("{}, ", text::one_line(text::prefix(name, 100))));
    format!(
        "Approve the request of {} at {}{}:\n\n  {}\n",
        approve::CLIENT_NAME,
        name.unwrap_or_default(),
        discovery.provider,
        attempt.approval_url,
    )
}

/// Hands `url` to the system's browser as one argument; whether that worked. Some openers block until
/// the browser closes, so they get a thread of their own and two seconds.
async fn open_browser(url: &Url) -> bool {
    // The discovery checks leave nothing else; a browser's other schemes must never be reached from here.
    if !crate::provider::url::is_secure(url) {
        return false;
    }
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let url = url.to_string();
    std::thread::spawn(move || {
        let _ = sender.send(webbrowser::open(&url).is_ok());
    });
    match tokio::time::timeout(Duration::from_secs(2), receiver).await {
        Ok(opened) => opened.unwrap_or(false),
        Err(_) => true,
    }
}

async fn wait(http: &Http, attempt: &Attempt, ui: &Ui) -> Result<TokenResponse, approve::ApproveError> {
    let end = Instant::now() + attempt.pace.expires_in;
    let progress = ui.progress();
    if !ui.is_interactive() {
        ui.note(&format!("Waiting for the approval, at most {}.", countdown(attempt.pace.expires_in)));
    }
    let mut second = tokio::time::interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut approval = std::pin::pin!(attempt.wait(http));
    loop {
        tokio::select! {
            decided = &mut approval => return decided,
            _ = second.tick() => {
                let left = countdown(end.saturating_duration_since(Instant::now()));
                progress.say(&format!("Waiting for the approval, {left} left (Ctrl-C stops)"));
            }
        }
    }
}

fn countdown(left: Duration) -> String {
    let seconds = left.as_secs();
    format!("{}:{:02} min", seconds / 60, seconds % 60)
}

/// What there is to tell at the end.
struct Connected {
    credential: Credential,
    stored: Stored,
    cache: Cache,
    now: Timestamp,
    /// Whether `mcp serve` has to be told which grant to serve.
    ambiguous: bool,
}

impl Granted {
    fn keep(self, cache: &Cache) -> Result<Connected> {
        let Self { discovery, client, response, proof } = self;
        let issuer = discovery.authorization_server.issuer.as_str().to_owned();
        let credential = Credential {
            id: new_credential_id()?,
            store: StoreKind::File,
            parts: 1,
            provider: discovery.provider,
            grant_id: proof.grant_id,
            query_base: discovery.query_base,
            issuer: issuer.clone(),
            client_id: client.id().map(str::to_owned),
            token_kind: TokenKind::Client,
            label: label(&proof.sources, discovery.name.as_deref()),
            sources: proof.sources,
            access_mode: response.access_mode,
            issued_at: response.issued_at,
            grant_expires_at: response.grant_expires_at,
            token_expires_at: response.token_expires_at,
            refreshable: response.refresh_token.is_some(),
            renewal: Renewal {
                token_endpoint: discovery.authorization_server.token_endpoint.map(String::from),
                resource: Some(discovery.resource),
                ..Renewal::default()
            },
        };
        let secrets = Secrets::new(response.access_token, response.refresh_token);
        let client = match client {
            Client::Registered(client_id) => Some(RegisteredClient { issuer, client_id }),
            _ => None,
        };
        let stored = cache.store(credential.clone(), &secrets, client)?;
        let now = Timestamp::now();
        let all = cache.credentials()?;
        let ambiguous =
            Selection::default().pick(&all, now).is_err_and(|error| error.code() == "several_credentials");
        Ok(Connected { credential, stored, cache: cache.clone(), now, ambiguous })
    }
}

/// What to call a credential: its sources' names, else the provider's; at most 200 bytes.
fn label(sources: &[GrantedSource], provider: Option<&str>) -> String {
    let names: Vec<String> = sources.iter().map(GrantedSource::label).collect();
    let label = if names.is_empty() { provider.unwrap_or("unnamed").to_owned() } else { names.join(", ") };
    text::one_line(text::prefix(&label, 200)).into_owned()
}

impl Connected {
    fn serve(&self) -> String {
        let Credential { provider, grant_id, .. } = &self.credential;
        let mut command = "pdpp mcp serve".to_owned();
        if self.ambiguous {
            let _ = write!(command, " --provider {}", text::shell_word(provider.as_str()));
            let _ = write!(command, " --grant {}", text::shell_word(grant_id.as_str()));
        }
        // Said even if it came from the environment: hosts start servers without the shell's.
        let dir = self.cache.dir();
        if Cache::default_dir().map_or(true, |default| default != dir) {
            let _ = write!(command, " --cache-dir {}", text::shell_word(&dir.display().to_string()));
        }
        command
    }

    fn to_json(&self) -> Value {
        let one = &self.credential;
        json!({
            "provider": one.provider.as_str(),
            "grant_id": one.grant_id.as_str(),
            "label": one.label,
            "issuer": one.issuer,
            "access_mode": one.access_mode,
            "issued_at": one.issued_at,
            "expires_at": one.expires_at(),
            "sources": one.sources,
            "stream_count": one.stream_count(),
            "replaced": self.stored == Stored::Replaced,
            "store": one.store,
            "cache_dir": self.cache.dir().display().to_string(),
            "next": ["pdpp mcp inspect", self.serve()],
        })
    }

    fn to_text(&self) -> String {
        let one = &self.credential;
        let mut said = match self.stored {
            Stored::Added => format!("Connected to {}.\n", one.provider),
            Stored::Replaced => {
                format!("Connected to {} again: the token of this grant is replaced.\n", one.provider)
            }
        };
        let until = match one.expires_at() {
            Some(end) => format!("until {}", end.strftime("%Y-%m-%d %H:%M UTC")),
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
        if one.stream_count() == 0 {
            said.push_str("  nothing: the token works, but this grant has no streams\n");
        }
        if one.is_expired(self.now) {
            said.push_str("By this machine's clock that is over already: check the clock.\n");
        }
        let dir = self.cache.dir().join("secrets");
        let _ = writeln!(said, "The token is kept in a file that only you can read, below {}", dir.display());
        said.push_str("\nNext:\n  pdpp mcp inspect   what the tools cost a model's context\n");
        let _ = write!(said, "  {:<18} offer it to an MCP host on stdio", self.serve());
        if self.ambiguous {
            said.push_str("\nSeveral grants are on this machine, so that command names this one.");
        }
        said
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
            ambiguous: false,
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
            one.ambiguous = true;
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
            "pdpp mcp serve --provider https://a.example/me --grant g1",
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
        assert_eq!(countdown(Duration::from_mins(5)), "5:00 min");
        assert_eq!(countdown(Duration::from_millis(61_999)), "1:01 min");
    }
}
