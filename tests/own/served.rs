//! `provider serve`: the person's own store over HTTP, where a passphrase decides.

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::filled::{HOME_WORD, WORK_WORD, store_of};
use super::page::{Browser, between};
#[cfg(unix)]
use super::terminal::Terminal;
use crate::support::env::TestEnv;

pub(super) const PASSPHRASE: &str = "heron under the bridge";

/// Starts it at a terminal, where a passphrase is chosen; returns its address.
#[cfg(unix)]
fn start(env: &TestEnv) -> (Terminal, String) {
    let mut terminal = Terminal::run(env, &["provider", "serve", "--listen", "127.0.0.1:0"]);
    terminal.answer_unseen("New passphrase", "short\n");
    terminal.answer("at least 8 characters", "");
    terminal.answer_unseen("New passphrase", &format!("{PASSPHRASE}\n"));
    terminal.answer_unseen("Repeat it", "something else\n");
    terminal.answer("The two passphrases differ", "");
    terminal.answer_unseen("New passphrase", &format!("{PASSPHRASE}\n"));
    terminal.answer_unseen("Repeat it", &format!("{PASSPHRASE}\n"));
    let url = terminal.line_with("is served at ").split(',').next().unwrap().to_owned();
    terminal.answer("stop: Ctrl-C", "");
    (terminal, url)
}

pub(super) async fn asked(url: &str, name: &str) -> Value {
    let (status, attempt) =
        post(&format!("{url}/agent-connect"), &json!({"resource": url, "client_name": name})).await;
    assert_eq!(status, StatusCode::CREATED, "{attempt}");
    attempt
}

pub(super) async fn poll(attempt: &Value) -> (StatusCode, Value) {
    post(attempt["poll_url"].as_str().unwrap(), &json!({"polling_code": attempt["polling_code"]})).await
}

pub(super) async fn post(url: &str, body: &Value) -> (StatusCode, Value) {
    let request = Browser::new().http.post(url).header("content-type", "application/json");
    let answer = request.body(body.to_string()).send().await.unwrap();
    let status = answer.status();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap())
}

/// Opens the link of a request and narrows it to the subjects of one account; returns the address of the decision,
/// and its form.
pub(super) async fn to_decide(
    browser: &mut Browser,
    url: &str,
    link: &str,
) -> (String, [(String, String); 2]) {
    let (status, to, text) = browser.get(link).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    let at = to.unwrap();
    let (_, _, page) = browser.get(&at).await;
    let csrf = between(&page, "name=\"csrf\" value=\"", "\"").to_owned();
    let stream =
        page.split("name=\"stream\" value=\"").skip(1).find(|rest| rest.contains("cin_work/messages"));
    let number = stream.map_or("0", |rest| rest.split('"').next().unwrap());
    let (subject, id) = (format!("{number}.2"), format!("{number}.0"));
    let form = [
        ("csrf", csrf.as_str()),
        ("connection", "cin_work"),
        ("stream", number),
        ("field", &id),
        ("field", &subject),
        ("expires", "1d"),
    ];
    let (status, to, text) = browser.post(&format!("{at}/review"), url, &form).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    let (_, _, page) = browser.get(&to.unwrap()).await;
    assert!(page.contains("type=\"password\""), "{page}");
    let digest = between(&page, "name=\"digest\" value=\"", "\"").to_owned();
    (format!("{at}/approve"), [("csrf".to_owned(), csrf), ("digest".to_owned(), digest)])
}

pub(super) async fn approve(
    browser: &mut Browser,
    url: &str,
    at: &str,
    form: &[(String, String)],
    passphrase: Option<&str>,
) -> (StatusCode, String) {
    let form = form.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let form: Vec<_> = form.chain(passphrase.map(|typed| ("passphrase", typed))).collect();
    let (status, _, text) = browser.post(at, url, &form).await;
    (status, text)
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_11_a_served_store_is_granted_by_link_and_passphrase() {
    let env = TestEnv::new();
    store_of(&env);
    let (mut terminal, url) = start(&env);
    let http = Browser::new().http;
    for path in ["/v1/schema", "/v1/streams/messages/records"] {
        let refused = http.get(format!("{url}{path}")).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED, "{path}");
    }

    let attempt = asked(&url, "Reader").await;
    assert!(
        terminal
            .line_with("asks to read your data, code ")
            .starts_with(attempt["user_code"].as_str().unwrap())
    );
    let link = format!("{url}/consent/owner/{}", terminal.line_with("/consent/owner/"));
    let mut browser = Browser::new();
    let (at, form) = to_decide(&mut browser, &url, &link).await;
    let (status, page) = approve(&mut browser, &url, &at, &form, None).await;
    assert!(status == StatusCode::FORBIDDEN && page.contains("not the passphrase"), "{page}");
    // The right one comes too soon after a wrong one (O9.3).
    let (status, page) = approve(&mut browser, &url, &at, &form, Some(PASSPHRASE)).await;
    assert!(status == StatusCode::TOO_MANY_REQUESTS && page.contains("Try again in 1 second."), "{page}");
    assert_eq!(poll(&attempt).await.0, StatusCode::ACCEPTED);
    // It costs other pages nothing.
    let other = asked(&url, "Other").await;
    let link = format!("{url}/consent/owner/{}", terminal.line_with("/consent/owner/"));
    let mut second = Browser::new();
    let (second_at, second_form) = to_decide(&mut second, &url, &link).await;
    let (status, page) = approve(&mut second, &url, &second_at, &second_form, Some(PASSPHRASE)).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{page}");
    assert_eq!(poll(&other).await.0, StatusCode::OK);

    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let (status, page) = approve(&mut browser, &url, &at, &form, Some(PASSPHRASE)).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{page}");
    let (status, granted) = poll(&attempt).await;
    assert_eq!(status, StatusCode::OK, "{granted}");
    let token = granted["access_token"].as_str().unwrap();
    let read = || http.get(format!("{url}/v1/streams/messages/records")).bearer_auth(token).send();
    let rows = read().await.unwrap();
    assert_eq!(rows.status(), StatusCode::OK);
    let rows = rows.text().await.unwrap();
    assert!(rows.contains(WORK_WORD) && !rows.contains(HOME_WORD) && !rows.contains("about "), "{rows}");

    // The owner's commands know it, and end it at once.
    let grants = env.run(&["provider", "grants", "--json"]);
    let id = granted["grant_id"].as_str().unwrap();
    assert!(grants.stdout.contains(id), "{}", grants.stdout);
    assert_eq!(env.run(&["provider", "revoke", id, "--yes"]).code, Some(0));
    assert_eq!(read().await.unwrap().status(), StatusCode::FORBIDDEN, "it is revoked");

    let again = env.run(&["provider", "serve", "--listen", "127.0.0.1:0"]);
    assert!(again.code == Some(1) && again.stderr.contains("own_in_use"), "{}", again.stderr);
    terminal.interrupt();
    let ran = terminal.end();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stderr.contains(PASSPHRASE) && !ran.stderr.contains("pdpp_ot_"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn o9_3_a_passphrase_is_typed_at_a_terminal_and_kept_as_a_hash() {
    let env = TestEnv::new();
    let store = store_of(&env);
    for words in [&["provider", "serve", "--listen", "127.0.0.1:0"][..], &["provider", "passphrase"]] {
        let refused = env.run(words);
        assert_eq!(refused.code, Some(77), "{}", refused.stderr);
        assert!(refused.stderr.contains("passphrase_terminal"), "{}", refused.stderr);
    }
    let mut terminal = Terminal::run(&env, &["provider", "passphrase"]);
    terminal.answer_unseen("New passphrase", &format!("{PASSPHRASE}\n"));
    terminal.answer_unseen("Repeat it", &format!("{PASSPHRASE}\n"));
    assert_eq!(terminal.end().code, Some(0));
    // Someone who does not know it cannot change it.
    let mut terminal = Terminal::run(&env, &["provider", "passphrase"]);
    for _ in 0..3 {
        terminal.answer_unseen("Current passphrase", "a wrong one\n");
        terminal.answer("The passphrase is wrong", "");
    }
    terminal.answer("passphrase_wrong", "");
    assert_eq!(terminal.end().code, Some(77));
    let mut terminal = Terminal::run(&env, &["provider", "passphrase"]);
    terminal.answer_unseen("Current passphrase", &format!("{PASSPHRASE}\n"));
    terminal.answer_unseen("New passphrase", "another one now\n");
    terminal.answer_unseen("Repeat it", "another one now\n");
    assert_eq!(terminal.end().code, Some(0));
    for file in walk(&env.cache_dir()) {
        let bytes = std::fs::read(&file).unwrap();
        for text in [PASSPHRASE, "another one now"] {
            assert!(!bytes.windows(text.len()).any(|part| part == text.as_bytes()), "{}", file.display());
        }
    }
    assert!(store.join("grants.db").exists());
    let nothing = TestEnv::new();
    assert_eq!(nothing.run(&["provider", "serve"]).code, Some(78));
    assert!(!nothing.cache_dir().join("own").exists());
}

pub(super) fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
