//! `connect local` on its page: who may open it, what can be decided there, and what everyone else gets.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, COOKIE, LOCATION, ORIGIN, SET_COOKIE};
use serde_json::Value;

use super::filled::{WORK_WORD, store_of};
use super::granted::{call, store_of_a_chat};
use crate::support::env::TestEnv;

/// A browser that follows nothing automatically, and keeps its one cookie.
pub struct Browser {
    pub http: reqwest::Client,
    pub cookie: Option<String>,
}

impl Browser {
    pub fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        Self { http: http.build().unwrap(), cookie: None }
    }

    async fn send(&mut self, mut request: reqwest::RequestBuilder) -> (StatusCode, Option<String>, String) {
        if let Some(cookie) = &self.cookie {
            request = request.header(COOKIE, cookie);
        }
        let answer = request.send().await.unwrap();
        if let Some(set) = answer.headers().get(SET_COOKIE) {
            let set = set.to_str().unwrap();
            assert!(set.contains("HttpOnly"), "{set}");
            self.cookie = Some(set.split(';').next().unwrap().to_owned());
        }
        let to = answer.headers().get(LOCATION).map(|to| to.to_str().unwrap().to_owned());
        (answer.status(), to, answer.text().await.unwrap())
    }

    pub async fn get(&mut self, url: &str) -> (StatusCode, Option<String>, String) {
        self.send(self.http.get(url)).await
    }

    pub async fn post(
        &mut self,
        url: &str,
        origin: &str,
        form: &[(&str, &str)],
    ) -> (StatusCode, Option<String>, String) {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = self.http.post(url).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request.header(ORIGIN, origin).body(body)).await
    }
}

pub fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no {before:?} in {text}")).1;
    rest.split_once(after).unwrap().0
}

/// Starts `connect local`; returns the address and the code that it shows.
fn start(env: &TestEnv, options: &[&str]) -> (Child, String, String) {
    let (child, said, address, code) =
        shown(&mut env.pdpp(&[&["connect", "local", "--no-browser", "--json"], options].concat()));
    drop(said);
    (child, address, code)
}

#[allow(clippy::zombie_processes, reason = "whoever starts it waits for it")]
/// Starts `command`; returns its output up to the code, and the address and the code in it.
pub(super) fn shown(command: &mut Command) -> (Child, String, String, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let is_code = |line: &str| {
        let line = line.trim_matches(|c: char| !c.is_ascii_uppercase());
        line.len() == 9 && line.bytes().all(|byte| byte == b'-' || byte.is_ascii_uppercase())
    };
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "{said}");
        said.push_str(&line);
        if is_code(&line) {
            let code = line.trim_matches(|c: char| !c.is_ascii_uppercase()).to_owned();
            // Further output must not fill the pipe.
            std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
            let address = format!("http://127.0.0.1:{}/", between(&said, "http://127.0.0.1:", "/"));
            return (child, said, address, code);
        }
    }
}

/// The consent page, in a browser that its code has admitted.
struct Opened {
    browser: Browser,
    /// The server that shows it, and the path there.
    base: String,
    at: String,
    page: String,
    csrf: String,
}

async fn opened(address: &str, code: &str) -> Opened {
    let mut browser = Browser::new();
    let (_, _, page) = browser.post(address, address.trim_end_matches('/'), &[("code", code)]).await;
    browser.cookie = None;
    let link = between(&page, "url=", "\"").replace("&amp;", "&");
    let base = link.split("/consent/").next().unwrap().to_owned();
    let (_, to, _) = browser.get(&link).await;
    let at = to.unwrap();
    let (_, _, page) = browser.get(&at).await;
    let csrf = between(&page, "name=\"csrf\" value=\"", "\"").to_owned();
    Opened { browser, base, at, page, csrf }
}

/// What the ticked boxes send.
fn ticked(page: &str) -> Vec<(&str, &str)> {
    page.split("<input type=\"checkbox\"")
        .skip(1)
        .map(|rest| rest.split('>').next().unwrap())
        .filter(|tag| tag.contains(" checked") && tag.contains(" name=\""))
        .map(|tag| (between(tag, " name=\"", "\""), between(tag, "value=\"", "\"")))
        .collect()
}

/// Approves `connect local` with these options on its page, unchanged; returns the output. For systems where a
/// terminal cannot be simulated.
#[cfg_attr(unix, allow(dead_code, reason = "there it is done at a terminal"))]
pub(super) async fn granted_as_shown(env: &TestEnv, options: &[&str]) -> Value {
    let (child, address, code) = start(env, options);
    let Opened { mut browser, base, at, page, csrf } = opened(&address, &code).await;
    let tags = page.split("<input type=\"").skip(1).map(|rest| rest.split('>').next().unwrap());
    let sent = |tag: &&str| {
        let is_chosen = !tag.starts_with("checkbox") || tag.contains(" checked");
        is_chosen && tag.contains(" name=\"") && !tag.contains(" disabled")
    };
    let mut form: Vec<(&str, &str)> = tags
        .filter(sent)
        .filter(|tag| tag.contains(" value=\""))
        .map(|tag| (between(tag, " name=\"", "\""), between(tag, " value=\"", "\"")))
        .collect();
    form.dedup();
    let chosen =
        page.split("<option").skip(1).find(|rest| rest.split('>').next().unwrap().contains(" selected"));
    form.extend(chosen.map(|rest| ("expires", between(rest, "value=\"", "\""))));
    let (status, to, text) = browser.post(&format!("{at}/review"), &base, &form).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{form:?} {text}");
    let (_, _, page) = browser.get(&to.unwrap()).await;
    let digest = between(&page, "name=\"digest\" value=\"", "\"").to_owned();
    let (status, _, text) =
        browser.post(&format!("{at}/approve"), &base, &[("csrf", &csrf), ("digest", &digest)]).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_2_the_page_lets_one_browser_decide_and_shows_nobody_else_anything() {
    let env = TestEnv::new();
    store_of(&env);
    let (child, address, code) = start(&env, &["--account", "Work", "--stream", "messages"]);
    let mut browser = Browser::new();
    let own = address.trim_end_matches('/').to_owned();
    let (status, _, page) = browser.post(&address, &own, &[("code", &code)]).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    browser.cookie = None;
    let link = between(&page, "url=", "\"").replace("&amp;", "&");
    let base = link.split("/consent/").next().unwrap().to_owned();

    // Others who find the port: a page of another site, a program without the secret.
    let mut stranger = Browser::new();
    for path in
        ["/", "/v1/schema", "/consent", "/.well-known/oauth-protected-resource", "/mcp", "/oauth/register"]
    {
        let (status, _, text) = stranger.get(&format!("{base}{path}")).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}: {text}");
        assert!(!text.contains("Work") && !text.contains("messages"), "{text}");
    }
    for path in ["/consent/owner/guessed", "/consent/x", "/consent/x/summary"] {
        let (_, _, text) = stranger.get(&format!("{base}{path}")).await;
        assert!(!text.contains("Work") && !text.contains("messages"), "{text}");
    }

    let (status, to, _) = browser.get(&link).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    let at = to.unwrap();
    assert!(browser.cookie.is_some());
    let (status, _, page) = browser.get(&at).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    assert!(
        page.contains("an agent with a shell") && page.contains("A command on this computer asks for this"),
        "{page}"
    );
    let ticked: Vec<&str> = page
        .split("<input type=\"checkbox\"")
        .filter(|rest| {
            rest.split('>').next().unwrap().contains(" checked")
                && !rest.split('>').next().unwrap().contains("disabled")
        })
        .collect();
    assert!(ticked.iter().any(|rest| rest.contains("cin_work")), "{page}");
    assert!(!ticked.iter().any(|rest| rest.starts_with(" name=\"connection\" value=\"cin_home\"")), "{page}");
    let (_, _, text) = stranger.get(&at).await;
    assert!(!text.contains("Work"), "a stranger with the page's address: {text}");

    assert!(
        page.contains("answer my questions about my own data") && !page.contains("declared no purpose"),
        "{page}"
    );
    let csrf = between(&page, "name=\"csrf\" value=\"", "\"").to_owned();
    // The first of all streams: its name by its number.
    let form = [
        ("csrf", csrf.as_str()),
        ("connection", "cin_work"),
        ("stream", "0"),
        ("field", "0.2"),
        ("expires", "1d"),
    ];
    let (status, _, text) = browser.post(&format!("{at}/review"), "https://evil.example", &form).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{text}");
    // A form that was made before an import added something decides nothing: its numbers may now belong to other
    // streams (O7.9).
    let stale = [&form[..], &[("choices", "0123456789abcdef")]].concat();
    let (status, _, text) = browser.post(&format!("{at}/review"), &base, &stale).await;
    assert!(status == StatusCode::BAD_REQUEST && text.contains("has changed since you saw it"), "{text}");
    let (status, to, text) = browser.post(&format!("{at}/review"), &base, &form).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    let (_, _, page) = browser.get(&to.unwrap()).await;
    assert!(page.contains("Work") && page.contains("It does not stop"), "{page}");
    let digest = between(&page, "name=\"digest\" value=\"", "\"").to_owned();
    let (status, _, text) =
        stranger.post(&format!("{at}/approve"), &base, &[("csrf", &csrf), ("digest", &digest)]).await;
    assert!(status == StatusCode::OK && !text.contains("Work"), "{text}");
    // Anything that was not shown must be shown first (O7.9).
    let (status, _, _) =
        browser.post(&format!("{at}/approve"), &base, &[("csrf", &csrf), ("digest", "00")]).await;
    assert_eq!(status, StatusCode::CONFLICT);
    let (status, to, text) =
        browser.post(&format!("{at}/approve"), &base, &[("csrf", &csrf), ("digest", &digest)]).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    let (_, _, page) = browser.get(&to.unwrap()).await;
    assert!(page.contains("pdpp provider revoke grt_"), "{page}");

    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let granted: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        granted["grants"][0]["streams"][0]["fields"],
        serde_json::json!(["id", "received_at", "subject"])
    );
    // No port is open while it is read.
    assert!(stranger.http.get(&base).send().await.is_err());
    let rows = call(&env, "query_records", &serde_json::json!({"stream": "messages"}), &[]).to_string();
    assert!(rows.contains(WORK_WORD) && !rows.contains("about "), "{rows}");
}

/// The days of the options are fields of the page: a set keeps them, and the approved grant respects them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_7_both_days_hold_for_what_a_set_ticks() {
    let env = TestEnv::new();
    store_of(&env);
    let (child, address, code) = start(&env, &["--since", "2026-02-01", "--until", "2026-03-01"]);
    let Opened { mut browser, base, at, page, csrf } = opened(&address, &code).await;
    // Nothing inside is ticked, so ticking the account alone shares nothing.
    assert!(page.contains("then open it and tick its streams and fields"), "{page}");
    let days = |page: &str| {
        ["since", "until"].map(|name| {
            let field = between(page, &format!("name=\"{name}\""), ">").to_owned();
            between(&field, "value=\"", "\"").to_owned()
        })
    };
    assert_eq!(days(&page), ["2026-02-01", "2026-03-01"]);
    let form = [("csrf", csrf.as_str()), ("since", "2026-02-01"), ("until", "2026-03-01"), ("set", "text")];
    let (status, to, text) = browser.post(&format!("{at}/sets"), &base, &form).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    let (_, _, page) = browser.get(to.unwrap().split('#').next().unwrap()).await;
    assert_eq!(days(&page), ["2026-02-01", "2026-03-01"]);
    let ticked = ticked(&page);
    let review = async |browser: &mut Browser, days: &[(&str, &str)]| {
        let form = [&[("csrf", csrf.as_str()), ("expires", "1d")], &ticked[..], days].concat();
        browser.post(&format!("{at}/review"), &base, &form).await
    };
    let (status, _, text) = review(&mut browser, &[("since", "2026-03-01"), ("until", "2026-03-01")]).await;
    assert!(status == StatusCode::BAD_REQUEST && text.contains("an earlier day than"), "{text}");
    // This includes a form without them: only an empty field from the owner removes them.
    let (status, to, text) = review(&mut browser, &[]).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    let (_, _, page) = browser.get(&to.unwrap()).await;
    assert!(page.contains("received from 2026-02-01 and before 2026-03-01"), "{page}");
    let sooner = "You can end it sooner: with <code>pdpp provider revoke</code>.";
    assert!(page.contains(sooner) && !page.contains("on the next page"), "{page}");
    let digest = between(&page, "name=\"digest\" value=\"", "\"").to_owned();
    let (status, _, text) =
        browser.post(&format!("{at}/approve"), &base, &[("csrf", &csrf), ("digest", &digest)]).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    let asked = serde_json::json!({"stream": "messages", "connection_id": "cin_work"});
    let rows = call(&env, "query_records", &asked, &[]).to_string();
    assert!(rows.contains("2026-02-") && !rows.contains("2026-03-") && !rows.contains("2026-04-"), "{rows}");
}

/// Requirement O7.7.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_7_the_page_says_which_fields_tell_of_later_days() {
    let env = TestEnv::new();
    store_of_a_chat(&env);
    for (bound, is_left_out) in [(["--until", "2026-03-01"], true), (["--since", "2026-01-01"], false)] {
        let (mut child, address, code) = start(&env, &[&["--stream", "chats"], &bound[..]].concat());
        let Opened { mut browser, base, at, page, csrf } = opened(&address, &code).await;
        let mark = "> participants <span class=\"kind\">reveals later days</span>";
        assert!(page.contains(mark) && !page.contains("> title <span"), "{page}");
        assert!(page.contains("also leaves out fields marked “reveals later days”"), "{page}");
        let form = [&[("csrf", csrf.as_str()), ("expires", "1d")], &ticked(&page)[..]].concat();
        let (status, to, text) = browser.post(&format!("{at}/review"), &base, &form).await;
        assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
        let (_, _, page) = browser.get(&to.unwrap()).await;
        let not_shown = "(not shown, because it reveals later days: participants, last message date)";
        assert_eq!(page.contains(not_shown), is_left_out, "{page}");
        assert_eq!(page.contains("id, title, first message date"), is_left_out, "{page}");
        assert_eq!(page.contains("id, title, participants, first message date"), !is_left_out, "{page}");
        let (status, _, text) = browser.post(&format!("{at}/deny"), &base, &[("csrf", &csrf)]).await;
        assert!(status.is_success() || status.is_redirection(), "{text}");
        child.wait().unwrap();
    }
}

/// The subject that an email's text carries along is shared with that of the email itself, by the same box.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o6_7_a_copy_is_granted_only_with_its_original_and_by_its_box() {
    let env = TestEnv::new();
    let mail = "From x@y Tue Jan  2 03:04:05 2024\nFrom: Eva <eva@example.org>\nDelivered-To: ana@example.org\n\
                Message-ID: <1@example.org>\nSubject: Boiler\nDate: Tue, 2 Jan 2024 03:04:05 +0000\n\nHello.\n";
    let path = env.home().join("all.mbox");
    std::fs::write(&path, mail).unwrap();
    assert_eq!(env.run(&["import", "--yes", path.to_str().unwrap()]).code, Some(0));
    let both = ["--stream", "messages", "--stream", "message_bodies"];
    let alone = ["--stream", "message_bodies"];
    for (options, is_kept, is_shared) in
        [(&both[..], true, true), (&both[..], false, false), (&alone[..], true, false)]
    {
        let (mut child, address, code) = start(&env, options);
        let Opened { mut browser, base, at, page, csrf } = opened(&address, &code).await;
        let bodies = between(&page, "Fields of message bodies\">", "</ul>");
        assert!(bodies.contains(
            "<li><span class=\"copy\">subject <span class=\"kind\">shared if it is ticked in messages</span>"
        ));
        // The first stream is messages.
        let boxes = page.split("<label><input type=\"checkbox\" name=\"field\" value=\"");
        let subject = boxes
            .map(|rest| rest.split("</label>").next().unwrap())
            .find(|label| label.ends_with("> subject"));
        let subject = subject.unwrap().split('"').next().unwrap();
        let mut form = [&[("csrf", csrf.as_str()), ("expires", "1d")], &ticked(&page)[..]].concat();
        form.retain(|(_, value)| is_kept || *value != subject);
        let (status, to, text) = browser.post(&format!("{at}/review"), &base, &form).await;
        assert_eq!(status, StatusCode::SEE_OTHER, "{text}");
        let (_, _, page) = browser.get(&to.unwrap()).await;
        let bodies = between(&page, "<strong>message bodies</strong>: ", "</p>");
        assert!(bodies.contains("body text"), "{bodies}");
        assert_eq!(bodies.contains("subject"), is_shared, "{bodies}");
        let (status, _, text) = browser.post(&format!("{at}/deny"), &base, &[("csrf", &csrf)]).await;
        assert!(status.is_success() || status.is_redirection(), "{text}");
        child.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_2_what_is_denied_on_the_page_leaves_nothing() {
    let env = TestEnv::new();
    store_of(&env);
    let (child, address, code) = start(&env, &[]);
    let mut browser = Browser::new();
    let own = address.trim_end_matches('/').to_owned();
    let (_, _, page) = browser.post(&address, &own, &[("code", &code)]).await;
    browser.cookie = None;
    let link = between(&page, "url=", "\"").to_owned();
    let base = link.split("/consent/").next().unwrap().to_owned();
    let (_, to, _) = browser.get(&link).await;
    let at = to.unwrap();
    let (_, _, page) = browser.get(&at).await;
    let ticked = page.matches(" checked").count() - page.matches(" disabled").count();
    assert_eq!(ticked, 0, "nothing is ticked: {page}");
    let csrf = between(&page, "name=\"csrf\" value=\"", "\"").to_owned();
    let (status, ..) = browser.post(&format!("{at}/deny"), &base, &[("csrf", &csrf)]).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(77), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["error"]["code"], "access_denied");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_3_where_no_browser_is_the_page_waits_for_one_from_elsewhere() {
    for (variable, why) in
        [("SSH_CONNECTION", "SSH session"), ("CODESPACES", "dev container"), ("container", "container")]
    {
        let mut env = TestEnv::new();
        store_of(&env);
        env.set("BROWSER", None);
        env.set(variable, Some("1".to_owned()));
        // No one is at a terminal here.
        let ran = env.run(&["connect", "local"]);
        assert_eq!(ran.code, Some(77), "{ran:?}");
        assert!(ran.stderr.contains(why) && ran.stderr.contains("--no-browser"), "{ran:?}");
        let (mut child, _, address, code) = shown(&mut env.pdpp(&["connect", "local", "--no-browser"]));
        let mut browser = Browser::new();
        let own = address.trim_end_matches('/').to_owned();
        let (status, _, page) = browser.post(&address, &own, &[("code", &code)]).await;
        assert_eq!(status, StatusCode::OK, "{page}");
        browser.cookie = None;
        let (status, to, _) = browser.get(between(&page, "url=", "\"")).await;
        assert_eq!(status, StatusCode::SEE_OTHER);
        let (_, _, page) = browser.get(&to.unwrap()).await;
        assert!(page.contains("A command on this computer asks for this"), "{page}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_3_the_file_of_a_killed_command_goes_at_the_next_and_opens_nothing() {
    use std::os::unix::fs::PermissionsExt as _;

    let mut env = TestEnv::new();
    store_of(&env);
    // A confined browser, as its script shows; it opens nothing.
    let opener = env.home().join("opener");
    std::fs::write(&opener, "#!/bin/sh\nexit 0 # /snap/bin/browser\n").unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    env.set("BROWSER", Some(opener.display().to_string()));
    let handed = |old: Option<&std::path::Path>| {
        let visible = std::fs::read_dir(env.home()).unwrap().map(|entry| entry.unwrap().path());
        visible.filter(|path| path.to_str().unwrap().contains("/pdpp-browser-")).find_map(|dir| {
            let file = std::fs::read_dir(dir).ok()?.next()?.ok()?.path();
            (old != Some(&*file)).then_some(())?;
            std::fs::read_to_string(&file)
                .ok()
                .filter(|text| text.contains("</html>"))
                .map(|text| (file, text))
        })
    };
    let start = |old: Option<&std::path::Path>| {
        let mut command = env.pdpp(&["connect", "local"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        loop {
            match handed(old) {
                Some((file, text)) => return (child, file, text),
                None => assert!(child.try_wait().unwrap().is_none(), "it ended before a browser was to open"),
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    };
    let (mut first, left, text) = start(None);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(left.exists(), "nothing of it could run any more");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&left), mode(left.parent().unwrap())), (0o600, 0o700));
    let secret = between(&text, "name=\"secret\" value=\"", "\"").to_owned();
    let (mut second, file, text) = start(Some(&left));
    assert!(!left.parent().unwrap().exists() && file.exists(), "{left:?}");
    let address = between(&text, "action=\"", "\"").to_owned();
    let own = address.trim_end_matches('/').to_owned();
    let (status, _, page) = Browser::new().post(&address, &own, &[("secret", &secret)]).await;
    assert!(status == StatusCode::FORBIDDEN && !page.contains("/consent/"), "{page}");
    let secret = between(&text, "name=\"secret\" value=\"", "\"").to_owned();
    let (status, _, page) = Browser::new().post(&address, &own, &[("secret", &secret)]).await;
    assert!(status == StatusCode::OK && page.contains("/consent/"), "{page}");
    second.kill().unwrap();
    second.wait().unwrap();
}
