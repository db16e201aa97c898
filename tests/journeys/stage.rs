//! Where the journeys are played: an embedded provider, a grant of it, and the tools over it, in this process or
//! behind the real binary.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use pdpp::cache::Cache;
use pdpp::cache::credential::{Credential, Secrets};
use pdpp::mcp::protocol::client::Client;
use pdpp::mcp::protocol::service::{ResourceContents, Service};
use pdpp::mcp::reading::hosted_tools::HostedTools;
use pdpp::mcp::reading::package::{KnownSource, Member, Package, Roster};
use pdpp::mcp::reading::reader::{BearerSource, Reader};
use pdpp::mcp::size::Bounds;
use pdpp::mcp::tools::service::Tools as SixTools;
use pdpp::provider::grant::{GrantedConnection, GrantedSource};
use pdpp::provider::http::{Http, Limits};
use pdpp::provider::rs::ResourceServer;
use pdpp::sandbox::Config;
use pdpp::sandbox::seed;
use pdpp::secret::AccessToken;
use pdpp::vault::Vault;
use pdpp::vault::grant::{
    Client as GrantClient, Declaration, Grant, GrantStream, Source as GrantSource, Subject,
};
use pdpp::vault::server::Handle;
use pdpp::vault::wire::{Reply, Request};
use serde_json::{Map, Value, json};

use crate::support::credential::credential;
use crate::support::env::TestEnv;
use crate::support::filled::{self, Filled};
use crate::support::package_provider::{Child, PackageProvider};

/// One answer, in both views.
#[derive(Debug, Clone)]
pub struct Answer {
    pub text: String,
    /// Null if there is none.
    pub structured: Value,
}

/// The tools, wherever they run.
pub enum Tools {
    InProcess(Box<dyn Service>),
    Served(Box<tokio::sync::Mutex<Client>>),
}

impl Tools {
    pub async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Answer {
        match self {
            Self::InProcess(core) => {
                let answer = core.call(tool, arguments).await;
                let structured = answer.structured.map_or(Value::Null, |structured| structured.read());
                Answer { text: answer.text, structured }
            }
            Self::Served(client) => {
                let result = client.lock().await.call_tool(tool, arguments).await.unwrap();
                Answer {
                    text: result["content"][0]["text"].as_str().unwrap().to_owned(),
                    structured: result["structuredContent"].clone(),
                }
            }
        }
    }

    /// `resources/read`: its text.
    pub async fn read(&self, uri: &str) -> Result<String, String> {
        let Self::InProcess(core) = self else { return Err("only in process".to_owned()) };
        match core.read_resource(uri).await {
            Ok(ResourceContents::Text { text, .. }) => Ok(text),
            Ok(ResourceContents::Blob { bytes, .. }) => {
                String::from_utf8(bytes).map_err(|_| "the blob is no text".to_owned())
            }
            Err(error) => Err(format!("{error:?}")),
        }
    }
}

/// The kind of provider that a task is played against.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// The embedded one, complete.
    #[default]
    Full,
    /// One with the draft's Core only.
    Core,
    /// One that cannot page over several connections of a grant, like the reference.
    Apart,
    /// The complete one, with one grant per connector, served together.
    Package,
}

/// Providers of one seed.
pub struct Stage {
    full: Filled<Handle>,
    core: Filled<Handle>,
    apart: String,
    /// One client for all tasks: creating one costs more than most calls.
    http: Http,
}

impl Stage {
    pub async fn new(seed: u64) -> Self {
        let start =
            |core| filled::start(Config { seed: Some(seed), core, auto_approve: true, ..Config::default() });
        let full = start(false);
        let apart = apart(Arc::clone(full.vault())).await;
        Self { full, core: start(true), apart, http: Http::new(Limits::default()) }
    }

    pub fn url(&self) -> &str {
        self.full.url()
    }

    /// The tools over a new grant of `connectors` (all if absent).
    pub fn tools(&self, provider: Provider, connectors: Option<&[String]>) -> Tools {
        if provider == Provider::Package {
            let each = connectors.unwrap().iter().map(|key| self.grant(Some(std::slice::from_ref(key))));
            return self.package(each.collect(), Duration::from_secs(10));
        }
        let (handle, url) = match provider {
            Provider::Full | Provider::Package => (&self.full, self.full.url()),
            Provider::Core => (&self.core, self.core.url()),
            Provider::Apart => (&self.full, self.apart.as_str()),
        };
        let token = handle.vault().issue(grant(connectors)).unwrap().token;
        let provider = url.parse::<pdpp::provider::url::ProviderUrl>().unwrap();
        let base = format!("{url}/v1").parse().unwrap();
        let rs = ResourceServer::new(self.http.clone(), &provider, base).unwrap();
        let bearer: BearerSource = Arc::new(move || {
            let token = AccessToken::new(token.clone()).unwrap();
            async move { Ok(token) }.boxed()
        });
        Tools::InProcess(Box::new(SixTools::over_one(
            Reader::new(provider, None, rs, bearer),
            Bounds::default(),
        )))
    }
}

/// A served grant: URL, token, and what is known about it.
pub type Served = (String, String, Vec<KnownSource>);

/// The tools over `grants`, served together.
fn package(http: Http, grants: Vec<Served>, deadline: Duration) -> Tools {
    let roster: Roster = Arc::new(move || {
        let member = |(n, (url, token, known)): (usize, &Served)| {
            let provider = url.parse::<pdpp::provider::url::ProviderUrl>().unwrap();
            let rs =
                ResourceServer::new(http.clone(), &provider, format!("{url}/v1").parse().unwrap()).unwrap();
            let made = token.clone();
            let bearer: BearerSource = Arc::new(move || {
                let token = AccessToken::new(made.clone()).unwrap();
                async move { Ok(token) }.boxed()
            });
            let reader = Reader::new(provider, Some(format!("grt-{n}")), rs, bearer);
            Member::new(format!("{n} {url}"), format!("Life at {url}"), reader, None, known.clone())
        };
        Ok(grants.iter().enumerate().map(member).collect())
    });
    let package = Package::new(roster).unwrap().with_deadline(deadline);
    Tools::InProcess(Box::new(SixTools::new(package, Bounds::default())))
}

impl Stage {
    /// A new grant of `connectors`, and what an index knows about it.
    pub fn grant(&self, connectors: Option<&[String]>) -> Served {
        issued(&self.full, self.full.url(), connectors)
    }

    /// The tools over `grants`, served together.
    pub fn package(&self, grants: Vec<Served>, deadline: Duration) -> Tools {
        package(self.http.clone(), grants, deadline)
    }
}

impl Stage {
    /// A provider that reads a package of `connectors` through its own tools, with one grant per account; its URL.
    pub async fn package_provider(&self, connectors: Option<&[String]>) -> (String, PackageProvider) {
        let is_granted = |key: &str| connectors.is_none_or(|keys| keys.iter().any(|known| known == key));
        let children = seed::ACCOUNTS.iter().filter(|account| is_granted(account.connector)).map(|account| {
            let mut grant = grant(Some(&[account.connector.to_owned()]));
            for stream in &mut grant.streams {
                stream.instance_ids = vec![account.connection_id.to_owned()];
            }
            Child {
                token: self.full.vault().issue(grant).unwrap().token,
                connection: account.connection_id.to_owned(),
                connector_key: account.connector.to_owned(),
                label: account.display_name.to_owned(),
            }
        });
        PackageProvider::serve(Arc::clone(self.full.vault()), children.collect()).await
    }

    /// The tools over the token of a package at `url`.
    pub fn over_package_token(&self, url: &str) -> Tools {
        let provider = url.parse::<pdpp::provider::url::ProviderUrl>().unwrap();
        let base = format!("{url}/v1").parse().unwrap();
        let rs = ResourceServer::new(self.http.clone(), &provider, base).unwrap();
        let hosted = HostedTools::new(self.http.clone(), &provider, rs);
        let bearer: BearerSource =
            Arc::new(|| async { Ok(AccessToken::new("package".to_owned()).unwrap()) }.boxed());
        let reader = Reader::new(provider, Some("pkg_1".to_owned()), hosted, bearer);
        Tools::InProcess(Box::new(SixTools::over_one(reader, Bounds::default())))
    }
}

/// A new grant of `connectors` at `handle`, which is served at `url`.
fn issued(handle: &Handle, url: &str, connectors: Option<&[String]>) -> Served {
    let known = seed::connectors().unwrap().into_iter().filter_map(|connector| {
        if connectors.is_some_and(|keys| !keys.contains(&connector.key)) {
            return None;
        }
        let accounts = seed::ACCOUNTS.iter().filter(|account| account.connector == connector.key);
        Some(KnownSource {
            connections: accounts
                .map(|account| (account.connection_id.to_owned(), Some(account.display_name.to_owned())))
                .collect(),
            streams: connector.streams.iter().map(|stream| stream.name.clone()).collect(),
            connector_key: Some(connector.key),
            has_all_streams: true,
        })
    });
    (url.to_owned(), handle.vault().issue(grant(connectors)).unwrap().token, known.collect())
}

/// Three sandboxes: a healthy one, a slow one (with a calendar), and one that has been killed (with music).
pub struct Three {
    healthy: Filled<Handle>,
    behind: Filled<Handle>,
    slow: String,
    killed: Served,
}

impl Three {
    /// The slow one delays each answer by `delay`.
    pub async fn start(delay: Duration) -> Self {
        let [healthy, behind, killed] = [(); 3].map(|()| filled::start(Config::default()));
        let slow = slow(Arc::clone(behind.vault()), delay).await;
        let of_killed = issued(&killed, killed.url(), Some(&["music".to_owned()]));
        killed.stop();
        Self { healthy, behind, slow, killed: of_killed }
    }

    /// Stores a new grant of each in `env`, like `pdpp connect`; the healthy one's is of `connectors`.
    pub fn keep_in(&self, env: &TestEnv, connectors: &[String]) {
        let slow = issued(&self.behind, &self.slow, Some(&["calendar".to_owned()]));
        keep(env, issued(&self.healthy, self.healthy.url(), Some(connectors)), &connectors.join(" and "));
        keep(env, slow, "calendar");
        keep(env, self.killed.clone(), "music");
    }
}

fn keep(env: &TestEnv, (url, token, known): Served, label: &str) {
    let sources = known.into_iter().map(|source| GrantedSource {
        connector_key: source.connector_key,
        connections: source
            .connections
            .into_iter()
            .map(|(id, display_name)| GrantedConnection { id, display_name })
            .collect(),
        stream_count: source.streams.len(),
        streams: source.streams,
        ..GrantedSource::default()
    });
    let credential =
        Credential { sources: sources.collect(), ..credential(&url, &format!("grt_{label}"), label) };
    let secrets = Secrets::new(AccessToken::new(token).unwrap(), None);
    Cache::open(&env.cache_dir()).unwrap().store(credential, &secrets, None).unwrap();
}

/// Serves `app`, each answer after `delay`.
async fn slow(app: Arc<Vault>, delay: Duration) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let base = url.clone();
    let router = axum::Router::new().fallback(move |request: axum::extract::Request| {
        let (app, base) = (Arc::clone(&app), base.clone());
        async move {
            tokio::time::sleep(delay).await;
            let request = Request {
                method: request.method().clone(),
                base,
                path: request.uri().path().to_owned(),
                query: request.uri().query().unwrap_or("").to_owned(),
                headers: request.headers().clone(),
                body: Vec::new(),
                request_id: "req_slow".to_owned(),
            };
            let reply = tokio::task::spawn_blocking(move || app.answer(&request)).await.unwrap();
            (reply.status, [("content-type", "application/json")], reply.body)
        }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// The tools of `pdpp mcp serve`, after `pdpp connect`, both as a user would run them.
pub async fn served(env: &TestEnv, url: &str) -> Tools {
    let connected = env.run(&["connect", url, "--no-browser"]);
    assert_eq!(connected.code, Some(0), "{}", connected.stderr);
    serve(env).await
}

/// The tools of `pdpp mcp serve` over the grants that are stored in `env`.
pub async fn serve(env: &TestEnv) -> Tools {
    let command = env.server(&[]);
    Tools::Served(Box::new(tokio::sync::Mutex::new(
        Client::start(&command, Duration::from_mins(2)).await.unwrap(),
    )))
}

fn grant(connectors: Option<&[String]>) -> Grant {
    let mut streams = Vec::new();
    for connector in seed::connectors().unwrap() {
        if connectors.is_some_and(|keys| !keys.contains(&connector.key)) {
            continue;
        }
        let accounts = seed::ACCOUNTS.iter().filter(|account| account.connector == connector.key);
        let instance_ids = accounts.map(|account| account.connection_id.to_owned()).collect::<Vec<_>>();
        for stream in &connector.streams {
            streams.push(GrantStream {
                name: stream.name.clone(),
                instance_ids: instance_ids.clone(),
                fields: stream.fields.iter().map(|field| field.name.clone()).collect(),
                time_constraint: None,
                resources: None,
                source: Some(GrantSource { kind: "connector".into(), id: connector.id.clone() }),
            });
        }
    }
    Grant {
        version: "0.1.0".into(),
        grant_id: pdpp::vault::id::random_id("grt_").unwrap(),
        issued_at: "2026-11-01T00:00:00Z".into(),
        expires_at: None,
        subject: Subject { id: "owner_sandbox".into() },
        client: GrantClient { client_id: "journeys".into() },
        source: GrantSource { kind: "provider_native".into(), id: "https://sandbox.pdpp.example".into() },
        source_declaration: Declaration { version: "sandbox.v1".into() },
        purpose_code: "https://pdpp.dev/purposes/personal-assistant".into(),
        purpose_description: None,
        access_mode: "continuous".into(),
        streams,
    }
}

/// Serves `app` as a provider that reads each connection of a grant separately: a list over two of them returns a
/// page of each, states that more follows, and has no cursor.
async fn apart(app: Arc<Vault>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = axum::Router::new().fallback(move |request: axum::extract::Request| {
        let app = Arc::clone(&app);
        async move {
            let reply = tokio::task::spawn_blocking(move || answer_apart(&app, &request)).await.unwrap();
            (reply.status, [("content-type", "application/json")], reply.body)
        }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn answer_apart(app: &Vault, request: &axum::extract::Request) -> Reply {
    let ask = |connection: Option<&str>| {
        let query = request.uri().query().unwrap_or("").to_owned();
        let query = connection.map_or(query.clone(), |id| format!("{query}&connection_id={id}"));
        app.answer(&Request {
            method: request.method().clone(),
            base: "http://127.0.0.1".to_owned(),
            path: request.uri().path().to_owned(),
            query: query.trim_start_matches('&').to_owned(),
            headers: request.headers().clone(),
            body: Vec::new(),
            request_id: "req_apart".to_owned(),
        })
    };
    let whole = ask(None);
    let path = request.uri().path().split('/').collect::<Vec<_>>();
    let ["", "v1", "streams", stream, "records"] = path[..] else { return whole };
    if request.uri().query().unwrap_or("").contains("connection_id=") || !whole.status.is_success() {
        return whole;
    }
    let connectors = seed::connectors().unwrap();
    let of_stream = connectors.iter().filter(|connector| connector.stream(stream).is_some());
    let keys = of_stream.map(|connector| connector.key.as_str()).collect::<Vec<_>>();
    let accounts = seed::ACCOUNTS.iter().filter(|account| keys.contains(&account.connector));
    let pages =
        accounts.map(|account| ask(Some(account.connection_id))).filter(|page| page.status.is_success());
    let pages = pages.map(|page| serde_json::from_slice::<Value>(&page.body).unwrap()).collect::<Vec<_>>();
    if pages.len() < 2 {
        return whole;
    }
    let mut body = serde_json::from_slice::<Value>(&whole.body).unwrap();
    body["has_more"] = pages.iter().any(|page| page["has_more"] == true).into();
    body["data"] = pages.iter().flat_map(|page| page["data"].as_array().unwrap()).cloned().collect();
    body["meta"]["warnings"] = json!([{"code": "partial_results", "message": "Read each connection apart"}]);
    body.as_object_mut().unwrap().remove("next_cursor");
    Reply { body: body.to_string().into_bytes(), ..whole }
}

/// A provider that answers with the result of `answer`; without it, its port is closed.
pub async fn provider_that(answer: Option<fn() -> futures_util::future::BoxFuture<'static, ()>>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    if let Some(answer) = answer {
        let router = axum::Router::new().fallback(move || async move { answer().await });
        tokio::spawn(async move { axum::serve(listener, router).await });
    }
    url
}
