//! The owner's page: who may open it, what it shows, and what it can do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pdpp::access_log::{AccessLog, Writer};
use pdpp::cache::Cache;
use pdpp::mcp::call_log::{Access, AccessSink as _};
use pdpp::mcp::protocol::caller::Caller;
use pdpp::own::page::Pages;
use pdpp::own::{self, forget};
use pdpp::vault::oauth::owner::Announce;
use pdpp::vault::oauth::passphrase;
use pdpp::vault::server::Handle;
use reqwest::StatusCode;
use reqwest::header::{COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use serde_json::{Value, json};

use super::filled::{HOME_WORD, WORK_WORD, store_of};
use super::granted::{call, grant};
use super::page::{Browser, between};
use super::served::{PASSPHRASE, asked, poll};
use crate::support::env::TestEnv;

/// A store whose owner has the page open.
pub(super) struct Open {
    pub env: TestEnv,
    pub dir: PathBuf,
    pub handle: Handle,
    pub browser: Browser,
    /// The page's address: `http://127.0.0.1:1/owner/PAGE`.
    pub at: String,
    pub csrf: String,
}

impl Open {
    /// Serves it like `provider open`.
    pub async fn new() -> Self {
        let env = TestEnv::new();
        let dir = store_of(&env);
        Self::of(env, dir).await
    }

    pub async fn of(env: TestEnv, dir: PathBuf) -> Self {
        let (handle, _) = served(&env, &dir);
        let mut open = Self::begun(env, dir, handle).await;
        let (status, page) = open.get("").await;
        assert_eq!(status, StatusCode::OK, "{page}");
        between(&page, "name=\"csrf\" value=\"", "\"").clone_into(&mut open.csrf);
        open
    }

    /// A session that has shown nothing yet.
    pub async fn begun(env: TestEnv, dir: PathBuf, handle: Handle) -> Self {
        let mut browser = Browser::new();
        let link = handle.owner_link().unwrap();
        let (status, to, page) = browser.get(&link).await;
        assert_eq!((status, to), (StatusCode::OK, None), "a page and no redirect: {page}");
        let at = format!("{}{}", handle.url(), between(&page, "<p><a href=\"", "\""));
        Self { env, dir, handle, browser, at, csrf: String::new() }
    }

    pub async fn get(&mut self, rest: &str) -> (StatusCode, String) {
        let (status, _, page) = self.browser.get(&format!("{}{rest}", self.at)).await;
        (status, page)
    }

    /// Sends a form; returns the page that it leads to.
    pub async fn post(&mut self, rest: &str, form: &[(&str, &str)]) -> (StatusCode, String) {
        let csrf = self.csrf.clone();
        let form = [&[("csrf", csrf.as_str())], form].concat();
        let base = self.handle.url().to_owned();
        let (status, to, page) = self.browser.post(&format!("{}{rest}", self.at), &base, &form).await;
        match to {
            Some(to) => {
                let (_, _, page) = self.browser.get(&to).await;
                (status, page)
            }
            None => (status, page),
        }
    }
}

pub(super) fn cache(env: &TestEnv) -> Cache {
    Cache::open(&env.cache_dir()).unwrap()
}

fn served(env: &TestEnv, dir: &Path) -> (Handle, Arc<Pages>) {
    own::serve_page(dir, &cache(env)).unwrap()
}

/// Serves it like `provider serve`, where a passphrase opens it.
fn served_with_passphrase(env: &TestEnv, dir: &Path) -> Handle {
    let vault = own::open(dir).unwrap();
    assert!(passphrase::set(vault.grants(), &PASSPHRASE.into()).unwrap());
    drop(vault);
    let listen = "127.0.0.1:0".parse().unwrap();
    own::serve(dir, false, listen, None, Announce::default(), Some(&cache(env))).unwrap()
}

async fn with_passphrase() -> Open {
    let env = TestEnv::new();
    let dir = store_of(&env);
    let handle = served_with_passphrase(&env, &dir);
    Open::begun(env, dir, handle).await
}

/// Records a call in the log of the machine, like a server.
fn noted(env: &TestEnv, provider: &str, grant_id: &str) {
    let writer = Writer::new(AccessLog::new(&env.cache_dir()));
    writer.record(Access {
        caller: Some(Caller { name: "A host".to_owned(), version: "1".to_owned() }),
        tool: "query_records".to_owned(),
        grants: vec![(provider.to_owned(), Some(grant_id.to_owned()))],
        streams: vec!["messages".to_owned()],
        rows: 3,
        bytes: 1_000,
        outcome: "ok".to_owned(),
        took: std::time::Duration::from_millis(1),
    });
    writer.close(std::time::Duration::from_secs(10));
}

const SECRETS: [&str; 6] = ["Work", "Family", "messages", WORK_WORD, HOME_WORD, "Chat"];

fn tells_nothing(page: &str) {
    for secret in SECRETS {
        assert!(!page.contains(secret), "{secret}: {page}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_15_the_page_is_for_the_one_browser_that_opened_its_link() {
    let mut open = Open::new().await;
    let (_, page) = open.get("").await;
    for part in
        ["<h1>Your own data</h1>", "Work", "Home", "Family", "messages", "Last import:", "type=\"file\""]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let base = open.handle.url().to_owned();
    let mut stranger = Browser::new();
    let guessed = format!("{base}/owner/0123456789abcdef0123456789abcdef");
    let others = [format!("{base}/owner"), format!("{base}/owner/"), guessed, open.at.clone()];
    let mut shown = Vec::new();
    for at in &others {
        for rest in ["", "/grants", "/reads", "/search?q=number", "/forget/cin_work", "/import", "/page.css"]
        {
            let (status, _, page) = stranger.get(&format!("{at}{rest}")).await;
            assert!(status == StatusCode::OK && page.contains("This page is private"), "{at}{rest}: {page}");
            tells_nothing(&page);
            shown.push(page);
        }
    }
    shown.dedup();
    assert_eq!(shown.len(), 1, "it tells what is there");
    let (status, _, page) = stranger.get(&format!("{base}/owner/open/guessed")).await;
    assert!(status == StatusCode::NOT_FOUND && page.contains("no longer works"), "{page}");
    // It serves nothing else, and nothing under another name.
    for path in ["/", "/v1/schema", "/mcp", "/.well-known/oauth-protected-resource"] {
        assert_eq!(stranger.get(&format!("{base}{path}")).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    let cookie = open.browser.cookie.clone().unwrap();
    let named = |host: &str| {
        let request = open.browser.http.get(&open.at).header(COOKIE, &cookie).header(HOST, host);
        async move { request.send().await.unwrap() }
    };
    let port = base.rsplit(':').next().unwrap().to_owned();
    assert_eq!(named(&format!("evil.example:{port}")).await.status(), StatusCode::MISDIRECTED_REQUEST);
    let answer = named(&format!("127.0.0.1:{port}")).await;
    let header = |name: &str| answer.headers().get(name).unwrap().to_str().unwrap().to_owned();
    assert_eq!(
        header("content-security-policy"),
        "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    );
    assert_eq!((header("cache-control"), header("x-frame-options")), ("no-store".into(), "DENY".into()));
    let page = answer.text().await.unwrap();
    let is_handler = |rest: &str| rest.trim_start_matches(|c: char| c.is_ascii_lowercase()).starts_with('=');
    let has_handler = page.split(" on").skip(1).any(is_handler);
    assert!(!page.contains("<script") && !page.contains(" style=") && !has_handler, "{page}");
    // With the session's token, and from no other site.
    let csrf = open.csrf.clone();
    for (origin, csrf) in [("http://127.0.0.1:1", csrf.as_str()), (base.as_str(), ""), (base.as_str(), "00")]
    {
        let form = [("csrf", csrf), ("name", "Work")];
        let (status, _, page) =
            open.browser.post(&format!("{}/forget/cin_work", open.at), origin, &form).await;
        assert!(
            status == StatusCode::FORBIDDEN && page.contains("This form came from another page"),
            "{page}"
        );
    }
    assert_eq!(open.get("/nothing").await.0, StatusCode::NOT_FOUND);
    let put = open.browser.http.put(&open.at).header(COOKIE, &cookie).send().await.unwrap();
    assert_eq!(put.status(), StatusCode::METHOD_NOT_ALLOWED);
    let (_, page) = open.post("/close", &[]).await;
    assert!(page.contains("This page is closed"), "{page}");
    tells_nothing(&open.get("").await.1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_15_a_link_opens_one_visit() {
    let env = TestEnv::new();
    let dir = store_of(&env);
    let (handle, _) = served(&env, &dir);
    let link = handle.owner_link().unwrap();
    let http = Browser::new().http;
    // A preview of it uses up nothing.
    let head = http.head(&link).send().await.unwrap();
    assert!(head.headers().get(SET_COOKIE).is_none());
    let first = http.get(&link).send().await.unwrap();
    let cookie = first.headers()[SET_COOKIE].to_str().unwrap().to_owned();
    let path = between(&first.text().await.unwrap(), "<p><a href=\"", "\"").to_owned();
    assert!(cookie.ends_with(&format!("; Path={path}; HttpOnly; SameSite=Strict")), "{cookie}");
    let again = http.get(&link).send().await.unwrap();
    assert!(again.status() == StatusCode::NOT_FOUND && again.headers().get(SET_COOKIE).is_none());
    assert_ne!(handle.owner_link().unwrap(), link);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_15_where_a_passphrase_decides_it_opens_each_visit_and_forgets() {
    let mut open = with_passphrase().await;
    for rest in ["", "/grants", "/reads", "/search?q=number", "/grants/grt_x", "/forget/cin_work"] {
        let (status, page) = open.get(rest).await;
        assert!(status == StatusCode::OK && page.contains("type=\"password\""), "{rest}: {page}");
        tells_nothing(&page);
        open.csrf = between(&page, "name=\"csrf\" value=\"", "\"").to_owned();
    }
    let (_, page) = open.post("/forget/cin_work", &[("name", "Work"), ("passphrase", PASSPHRASE)]).await;
    assert!(page.contains("Enter your passphrase"), "nothing is done before it is opened: {page}");
    let (status, page) = open.post("/passphrase", &[("passphrase", "a wrong one")]).await;
    assert!(status == StatusCode::FORBIDDEN && page.contains("not the passphrase"), "{page}");
    let (status, page) = open.post("/passphrase", &[("passphrase", PASSPHRASE)]).await;
    assert!(status == StatusCode::FORBIDDEN && page.contains("Try again in 1 second."), "{page}");
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    // The passphrase is not kept for the next request of the connection.
    let body = format!("csrf={}&passphrase={}", open.csrf, PASSPHRASE.replace(' ', "+"));
    let request = open.browser.http.post(format!("{}/passphrase", open.at)).body(body);
    let request =
        request.header(COOKIE, open.browser.cookie.as_deref().unwrap()).header(ORIGIN, open.handle.url());
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    assert!(answer.headers()["connection"] == "close" && answer.headers().contains_key(LOCATION));
    let (_, page) = open.get("").await;
    assert!(page.contains("Work") && page.contains("This page closes at "), "{page}");
    // An action that cannot be undone asks again.
    let (_, page) = open.get("/forget/cin_work").await;
    assert!(page.contains("type=\"password\""), "{page}");
    let (status, page) = open.post("/forget/cin_work", &[("name", "Work"), ("passphrase", "wrong")]).await;
    assert!(status == StatusCode::FORBIDDEN && page.contains("Nothing was deleted"), "{page}");
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    let (status, page) = open.post("/forget/cin_work", &[("name", "Work"), ("passphrase", PASSPHRASE)]).await;
    assert!(status == StatusCode::SEE_OTHER && page.contains("Work is forgotten: its 6 records"), "{page}");
    // Another browser starts from the beginning.
    let second = Browser::new().get(&open.handle.owner_link().unwrap()).await.2;
    tells_nothing(&second);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_15_a_preview_is_what_the_agent_reads_and_an_end_ends_it() {
    let env = TestEnv::new();
    let dir = store_of(&env);
    let options = ["--account", "Work", "--stream", "messages", "--field", "messages.subject"];
    let granted = grant(&env, &[&options[..], &["--since", "2026-02-01"]].concat());
    let id = granted["grants"][0]["grant_id"].as_str().unwrap().to_owned();
    let rows = call(&env, "query_records", &json!({"stream": "messages", "limit": 10}), &[]);
    let rows = rows["structuredContent"]["data"]["data"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 3, "{rows:?}");
    noted(&env, "https://local.pdpp.invalid", &id);
    noted(&env, "https://elsewhere.example", "grt_other");
    let mut open = Open::of(env, dir).await;
    let (_, page) = open.get("/grants").await;
    for part in
        ["messages", "of Work", "received from 2026-02-01 on", "subject", "It ends at", "Last read: just now"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let (status, page) = open.get(&format!("/grants/{id}")).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    // Record by record and field by field, in the same order.
    let tables: Vec<&str> = page.split("<table class=\"record\">").skip(1).collect();
    assert_eq!(tables.len(), rows.len(), "{page}");
    for (table, row) in tables.iter().zip(&rows) {
        let table = table.split("</table>").next().unwrap();
        let data = row["data"].as_object().unwrap();
        assert_eq!(table.matches("<tr>").count(), data.len(), "{table} {row}");
        for (field, value) in data {
            let cell = format!("{}</th><td>{}</td>", field.replace('_', " "), value.as_str().unwrap());
            assert!(table.contains(&cell), "{cell}: {table}");
        }
    }
    assert!(!page.contains("about zephyr") && !page.contains("Ana") && !page.contains(HOME_WORD), "{page}");
    assert!(!page.contains("number 0"), "older than what is granted: {page}");
    // A look by the owner does not count as a read by the agent.
    let (_, page) = open.get("/reads").await;
    assert!(page.matches("A host: query_records").count() == 1 && page.contains("3 rows"), "{page}");

    let (_, page) = open.get(&format!("/grants/{id}/end")).await;
    assert!(page.contains("Its token stops working at once"), "{page}");
    let (status, page) = open.post(&format!("/grants/{id}/end"), &[]).await;
    assert!(
        status == StatusCode::SEE_OTHER && page.contains("has ended") && page.contains("<h2>Ended</h2>"),
        "{page}"
    );
    assert!(page.contains("No agent can read any of your data"), "{page}");
    assert_eq!(
        open.env.run(&["mcp", "call", "schema"]).code,
        Some(78),
        "its token is gone from this computer"
    );
    assert_eq!(open.get(&format!("/grants/{id}")).await.0, StatusCode::NOT_FOUND);
    assert_eq!(open.post(&format!("/grants/{id}/end"), &[]).await.0, StatusCode::SEE_OTHER, "again");
    assert_eq!(open.post("/grants/grt_nothing/end", &[]).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_15_an_account_is_forgotten_by_its_name() {
    let env = TestEnv::new();
    let dir = store_of(&env);
    let granted = grant(&env, &["--account", "Work", "--stream", "messages"]);
    let id = granted["grants"][0]["grant_id"].as_str().unwrap().to_owned();
    let mut open = Open::of(env, dir).await;
    let (_, page) = open.get("/forget/cin_work").await;
    assert!(page.contains("Forget Work?") && page.contains(forget::OUT_OF_REACH), "{page}");
    for name in ["", "Home", "work"] {
        let (status, page) = open.post("/forget/cin_work", &[("name", name)]).await;
        assert!(status == StatusCode::BAD_REQUEST && page.contains("Nothing was deleted"), "{page}");
    }
    let (status, page) = open.post("/forget/cin_work", &[("name", " Work ")]).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{page}");
    let ended = format!("The grant {id} has ended, because it covered only this account.");
    for part in [
        "Work is forgotten: its 6 records",
        &ended,
        forget::OUT_OF_REACH,
        "To have it again, import it again.",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("/forget/cin_work") && page.contains("/forget/cin_home"), "{page}");
    let (_, page) = open.get(&format!("/search?q={WORK_WORD}")).await;
    assert!(page.contains(">0 hits<"), "{page}");
    for file in std::fs::read_dir(&open.dir).unwrap() {
        let path = file.unwrap().path();
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let found = bytes.windows(WORK_WORD.len()).any(|part| part == WORK_WORD.as_bytes());
        assert!(!found, "{} has its words", path.display());
    }
    assert_eq!(open.get("/forget/cin_work").await.0, StatusCode::NOT_FOUND);
    assert_eq!(open.env.run(&["mcp", "call", "schema"]).code, Some(78));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_15_the_owner_searches_all_that_is_there_and_leaves_no_grant() {
    let mut open = Open::new().await;
    let (_, page) = open.get("/search").await;
    assert!(page.contains("Words to search for in all of your own data"), "{page}");
    let (_, page) = open.get("/search?q=number").await;
    assert!(page.contains(">8 hits<") && page.contains(WORK_WORD) && page.contains(HOME_WORD), "{page}");
    assert!(
        page.contains("<mark>number</mark>") && page.contains("Work, messages, 2026-04-10 10:00 UTC"),
        "{page}"
    );
    // The owner can also see what no quick selection includes.
    let (_, page) = open.get(&format!("/search?q=code+{WORK_WORD}")).await;
    assert!(page.contains("security messages") && page.contains(">1 hit<"), "{page}");
    let (_, page) = open.get("/search?q=lunch").await;
    assert!(page.contains("Family, chats") && page.contains("<h3>lunch on Sunday</h3>"), "{page}");
    let (status, page) = open.get("/search?q=%26%3C%22").await;
    assert!(status == StatusCode::BAD_REQUEST && page.contains("no word to look for"), "{page}");
    assert!(page.contains("value=\"&amp;&lt;&quot;\""), "{page}");
    let vault = own::open(&open.dir).unwrap();
    assert!(vault.grants_made().unwrap().is_empty(), "a grant is kept");
    let tokens = vault.grants().read::<i64, rusqlite::Error>(|db, _| {
        db.query_row("SELECT count(*) FROM token", [], |row| row.get(0))
    });
    assert_eq!(tokens.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_15_requests_wait_there_and_reads_by_http_are_noted() {
    let env = TestEnv::new();
    let dir = store_of(&env);
    let handle = served_with_passphrase(&env, &dir);
    let url = handle.url().to_owned();
    let mut open = Open::begun(env, dir, handle).await;
    open.csrf = between(&open.get("").await.1, "name=\"csrf\" value=\"", "\"").to_owned();
    open.post("/passphrase", &[("passphrase", PASSPHRASE)]).await;
    let (_, page) = open.get("").await;
    assert!(!page.contains("Waiting for your decision"), "{page}");
    let attempt = asked(&url, "Reader <b>").await;
    let (_, page) = open.get("").await;
    assert!(page.contains("Waiting for your decision") && page.contains("<q>Reader &lt;b&gt;</q>"), "{page}");
    assert!(page.contains(attempt["user_code"].as_str().unwrap()), "{page}");
    let request = between(&page, "/requests/", "\"").to_owned();
    let csrf = open.csrf.clone();
    let mut browser = Browser { http: open.browser.http.clone(), cookie: open.browser.cookie.clone() };
    let at = format!("{}/requests/{request}", open.at);
    let (status, to, _) = browser.post(&at, &url, &[("csrf", &csrf)]).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    // The page of the request, with its own rules: the passphrase decides there too.
    let at = to.unwrap();
    let (_, _, page) = browser.get(&at).await;
    let csrf = between(&page, "name=\"csrf\" value=\"", "\"").to_owned();
    let all = ["cin_work", "cin_home"].map(|account| ("connection", account));
    let streams = page.split("name=\"stream\" checked value=\"").skip(1);
    let streams = streams.map(|rest| rest.split('"').next().unwrap());
    let mut form = vec![("csrf", csrf.as_str()), all[0], ("expires", "1d")];
    form.extend(streams.clone().map(|number| ("stream", number)));
    let fields: Vec<String> = streams.map(|number| format!("{number}.2")).collect();
    form.extend(fields.iter().map(|field| ("field", field.as_str())));
    let (_, to, page) = browser.post(&format!("{at}/review"), &url, &form).await;
    let (_, _, page) = browser.get(&to.unwrap_or_else(|| panic!("{page}"))).await;
    let digest = between(&page, "name=\"digest\" value=\"", "\"").to_owned();
    let form = [("csrf", csrf.as_str()), ("digest", digest.as_str()), ("passphrase", PASSPHRASE)];
    let (status, _, page) = browser.post(&format!("{at}/approve"), &url, &form).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{page}");
    let (status, granted) = poll(&attempt).await;
    assert_eq!(status, StatusCode::OK, "{granted}");
    let (id, token) = (granted["grant_id"].as_str().unwrap(), granted["access_token"].as_str().unwrap());
    // Through /v1, and through the tools at /mcp over it.
    let http = Browser::new().http;
    let get = |path: &str| http.get(format!("{url}{path}")).bearer_auth(token).send();
    let rows = get("/v1/streams/messages/records?limit=3").await.unwrap().text().await.unwrap();
    assert!(rows.contains(WORK_WORD), "{rows}");
    assert_eq!(get("/v1/streams/chats/records").await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert_eq!(http.get(format!("{url}/v1/schema")).send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let called = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"q": WORK_WORD}}});
    let tools = http.post(format!("{url}/mcp")).bearer_auth(token).header("content-type", "application/json");
    let tools = tools.header("accept", "application/json, text/event-stream").body(called.to_string());
    let found = tools.send().await.unwrap().text().await.unwrap();
    assert!(found.contains(WORK_WORD), "{found}");

    let mut lines: Vec<Value> = Vec::new();
    let began = std::time::Instant::now();
    while !lines.iter().any(|line| line["tool"] == "search") {
        assert!(began.elapsed() < std::time::Duration::from_secs(10), "{lines:?}");
        let text = std::fs::read_to_string(open.dir.join("reads.jsonl")).unwrap_or_default();
        lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    }
    let of =
        |tool: &str| lines.iter().find(|line| line["tool"] == tool).unwrap_or_else(|| panic!("{lines:?}"));
    let read = of("query_records");
    assert_eq!(
        (&read["rows"], &read["streams"], &read["outcome"]),
        (&json!(3), &json!(["messages"]), &json!("ok"))
    );
    assert_eq!((&read["host"]["name"], &read["grants"][0]["grant_id"]), (&json!("Reader <b>"), &json!(id)));
    assert_eq!(of("search")["streams"], json!(["messages", "security_messages"]));
    assert!(lines.iter().any(|line| line["outcome"] == "context.stream_not_allowed"), "{lines:?}");
    let all = serde_json::to_string(&lines).unwrap();
    assert!(!all.contains(WORK_WORD) && !all.contains(token), "{all}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(open.dir.join("reads.jsonl")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let (_, page) = open.get("/reads").await;
    for part in ["Reader &lt;b&gt;: query_records, messages", "3 rows", "<svg", "Reads by day and agent"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // The owner's command knows it too.
    let grants = open.env.run(&["provider", "grants", "--json"]);
    let grants: Value = serde_json::from_str(&grants.stdout).unwrap();
    assert_eq!(grants["grants"][0]["grant_id"], id);
    assert!(grants["grants"][0]["last_read"].is_string(), "{grants}");
    // After the decision it is not pending any more.
    let csrf = open.csrf.clone();
    let at = format!("{}/requests/{request}", open.at);
    let (status, _, page) = open.browser.post(&at, &url, &[("csrf", &csrf)]).await;
    assert!(status == StatusCode::CONFLICT && page.contains("is no longer waiting"), "{page}");
}
