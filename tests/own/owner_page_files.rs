//! An import by choosing a file on the owner's page: what is imported, and what a malicious sender may send.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, COOKIE, LOCATION, ORIGIN};

use super::filled::store_of;
use super::granted::grant;
use super::owner_page::Open;
use super::page::{Browser, between, shown};
use crate::support::env::TestEnv;

const TYPE: &str = "multipart/form-data; boundary=b0";

/// A form as a browser writes it: names of controls, of files, contents.
fn form(parts: &[(&str, Option<&str>, &[u8])]) -> Vec<u8> {
    let mut form = Vec::new();
    for (name, file, content) in parts {
        let file =
            file.map(|file| format!("; filename=\"{file}\"\r\nContent-Type: application/octet-stream"));
        let file = file.unwrap_or_default();
        form.extend(format!("--b0\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n").bytes());
        form.extend(*content);
        form.extend(b"\r\n");
    }
    form.extend(b"--b0--\r\n");
    form
}

/// A mailbox of this many mails of some `size` bytes.
fn mailbox(mails: usize, size: usize) -> Vec<u8> {
    let mut mailbox = Vec::new();
    for at in 0..mails {
        let text = format!("word{at} {}\n", "filling ".repeat(size / 8));
        let mail = format!(
            "From ana@example.org Mon Nov {:02} 09:15:00 2026\nDelivered-To: ana@example.org\nMessage-ID: <{at}@mail.example>\n\
             Date: {:02} Nov 2026 09:{:02}:00 +0000\nFrom: Bo <bo@example.com>\nTo: Ana <ana@example.org>\n\
             Subject: Heron report {at}\nContent-Type: text/plain; charset=utf-8\n\n{text}\n",
            at % 28 + 1,
            at % 28 + 1,
            at % 60
        );
        mailbox.extend(mail.bytes());
    }
    mailbox
}

impl Open {
    /// Sends files; returns the page that it leads to.
    async fn send(&mut self, body: Vec<u8>) -> (StatusCode, String) {
        let at = format!("{}/import", self.at);
        let request =
            self.browser.http.post(&at).header(CONTENT_TYPE, TYPE).header(ORIGIN, self.handle.url());
        let request = request.header(COOKIE, self.browser.cookie.as_deref().unwrap()).body(body);
        let answer = request.send().await.unwrap();
        let status = answer.status();
        match answer.headers().get(LOCATION).map(|to| to.to_str().unwrap().to_owned()) {
            Some(to) => (status, self.browser.get(&to).await.2),
            None => (status, answer.text().await.unwrap()),
        }
    }

    /// Files that were received and not imported.
    fn received(&self) -> usize {
        let inbox = std::fs::read_dir(self.dir.join("inbox"));
        inbox.map_or(0, |inbox| inbox.flatten().filter(|entry| entry.path().is_dir()).count())
    }

    fn raw(&self, head: &str) -> TcpStream {
        let address = self.handle.url().strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(50))).unwrap();
        let path = self.at.strip_prefix(self.handle.url()).unwrap();
        let head = format!(
            "POST {path}/import HTTP/1.1\r\nHost: {address}\r\nCookie: {}\r\n{head}\r\n\r\n",
            self.browser.cookie.as_deref().unwrap()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    fn is_empty_again(&self) -> bool {
        let began = Instant::now();
        while self.received() > 0 {
            if began.elapsed() > Duration::from_secs(10) {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }
}

/// Waits for a page that reloads itself.
async fn settled(open: &mut Open, mut page: String) -> String {
    let began = Instant::now();
    while page.contains("Importing …") {
        assert!(began.elapsed() < Duration::from_mins(2), "{page}");
        tokio::time::sleep(Duration::from_millis(100)).await;
        page = open.get("/import").await.1;
    }
    page
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_15_a_mailbox_is_imported_by_choosing_it() {
    let mut open = Open::new().await;
    let csrf = open.csrf.clone();
    let mail = mailbox(60, 50_000);
    assert!(mail.len() > 3_000_000);
    let body = form(&[
        ("csrf", None, csrf.as_bytes()),
        ("account", None, b""),
        ("file", Some("All mail.mbox"), &mail),
        ("file", Some(""), b""),
    ]);
    let (status, page) = open.send(body.clone()).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{page}");
    for part in ["Import this?", "ana@example.org", "All mail.mbox", "1 file", "Import it"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(open.received(), 1);
    // Nothing is imported before the owner confirms it.
    assert!(open.get("/search?q=heron").await.1.contains(">0 hits<"));
    let (status, page) = open.post("/import/go", &[]).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{page}");
    let page = settled(&mut open, page).await;
    let sum = "60 read = 60 new + 0 changed + 0 same + 0 skipped + 0 bad";
    assert!(page.contains("<h1>It was imported</h1>") && page.contains(sum), "{page}");
    assert!(open.is_empty_again(), "what was received is left");
    let (_, page) = open.get("").await;
    assert!(page.contains("ana@example.org") && page.contains("It came from 1 place"), "{page}");
    // Its words are found, page by page.
    let (_, page) = open.get("/search?q=heron").await;
    assert!(page.contains("More hits") && page.contains("Heron report"), "{page}");
    let (mut seen, mut page) = (Vec::new(), page);
    loop {
        let titles = page.split("<h3>").skip(1).map(|rest| rest.split("</h3>").next().unwrap().to_owned());
        seen.extend(titles);
        let Some((before, _)) = page.split_once("\">More hits") else { break };
        let next = before.rsplit("href=\"").next().unwrap().replace("&amp;", "&");
        page = open.browser.get(&format!("{}{next}", open.handle.url())).await.2;
        assert!(seen.len() < 1_000);
    }
    let messages = seen.iter().filter(|title| title.starts_with("Heron report")).count();
    assert!(messages >= 60, "{messages} of {}", seen.len());
    // Importing the same file again changes nothing.
    let (_, page) = open.send(body).await;
    assert!(page.contains("Import this?"), "{page}");
    let (_, page) = open.post("/import/go", &[]).await;
    let page = settled(&mut open, page).await;
    assert!(page.contains("60 read = 0 new + 0 changed + 60 same"), "{page}");
    // A file that is cancelled is removed.
    let other = form(&[("csrf", None, csrf.as_bytes()), ("file", Some("x.mbox"), &mailbox(1, 10))]);
    let (_, page) = open.send(other).await;
    assert!(page.contains("Import this?"), "{page}");
    let (_, page) = open.post("/import/drop", &[]).await;
    assert!(page.contains("Nothing was imported") && open.is_empty_again(), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o1_9_an_import_into_a_granted_account_says_so_first() {
    let mut open = Open::new().await;
    let csrf = open.csrf.clone();
    let body = form(&[("csrf", None, csrf.as_bytes()), ("file", Some("a.mbox"), &mailbox(2, 10))]);
    let (_, page) = open.send(body.clone()).await;
    assert!(
        page.contains("Import this?") && !page.contains("An agent can already read this account"),
        "{page}"
    );
    let (_, page) = open.post("/import/go", &[]).await;
    settled(&mut open, page).await;
    grant(&open.env, &["--account", "ana@example.org", "--stream", "messages"]);
    let (_, page) = open.send(body).await;
    assert!(page.contains("An agent can already read this account"), "{page}");
    assert!(page.contains("Import it, although an agent can read this account"), "{page}");
    // The owner can name the account, and the plan is made again.
    let (_, page) =
        open.post("/import/plan", &[("account", "Somebody else"), ("timezone", "Europe/Oslo")]).await;
    assert!(page.contains("<strong>Somebody else</strong>"), "{page}");
    assert!(!page.contains("An agent can already read this account"), "{page}");
    let (_, page) = open.post("/import/plan", &[("timezone", "Nowhere/At all")]).await;
    assert!(page.contains("cannot be imported as it is") && page.contains("not a time zone"), "{page}");
    assert!(!page.contains("/import/go"), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_15_what_is_no_form_of_its_own_is_received_by_nobody() {
    let mut open = Open::new().await;
    let csrf = open.csrf.clone();
    let mail = mailbox(1, 100);
    let named = |name: &'static str| form(&[("csrf", None, csrf.as_bytes()), ("file", Some(name), &mail)]);
    // No token, a wrong one, one after the file.
    for body in [
        form(&[("file", Some("a.mbox"), &mail)]),
        form(&[("csrf", None, b"00"), ("file", Some("a.mbox"), &mail)]),
        form(&[("file", Some("a.mbox"), &mail), ("csrf", None, csrf.as_bytes())]),
    ] {
        let (status, page) = open.send(body).await;
        assert!(
            status == StatusCode::FORBIDDEN && page.contains("This form came from another page"),
            "{page}"
        );
        assert!(open.is_empty_again());
    }
    let http = open.browser.http.clone();
    let (at, cookie, base) =
        (format!("{}/import", open.at), open.browser.cookie.clone().unwrap(), open.handle.url().to_owned());
    let post = |kind: &'static str, origin: String, cookie: String, body: Vec<u8>| {
        let request = http.post(&at).header(CONTENT_TYPE, kind).header(ORIGIN, origin).header(COOKIE, cookie);
        async move {
            let answer = request.body(body).send().await.unwrap();
            (answer.status(), answer.text().await.unwrap())
        }
    };
    let (status, page) = post(TYPE, "https://evil.example".into(), cookie.clone(), named("a.mbox")).await;
    assert!(status == StatusCode::FORBIDDEN && page.contains("This form came from another page"), "{page}");
    let (_, page) = post(TYPE, base.clone(), "pdpp_owner_page=00".into(), named("a.mbox")).await;
    assert!(page.contains("This page is private"), "{page}");
    // No boundary, and an invalid one.
    for kind in [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "text/plain",
        "application/x-www-form-urlencoded",
    ] {
        let (status, page) = post(kind, base.clone(), cookie.clone(), named("a.mbox")).await;
        assert!(
            status == StatusCode::UNSUPPORTED_MEDIA_TYPE && page.contains("not a form with files"),
            "{kind}: {page}"
        );
    }
    for body in [
        Vec::new(),
        vec![b'x'; 1 << 20],
        b"--b0\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\n".to_vec(),
        [
            form(&[("csrf", None, csrf.as_bytes())]).strip_suffix(b"--b0--\r\n").unwrap(),
            b"--b0\r\nX: ",
            &vec![b'x'; 1 << 20],
        ]
        .concat(),
        form(&[
            ("csrf", None, csrf.as_bytes()),
            ("account", None, &vec![b'x'; 10_000]),
            ("file", Some("a"), &mail),
        ]),
        form(&[("csrf", None, csrf.as_bytes())]),
    ] {
        let (status, page) = post(TYPE, base.clone(), cookie.clone(), body).await;
        assert!(
            status == StatusCode::BAD_REQUEST && page.contains("Nothing was received"),
            "{status}: {page}"
        );
        assert!(open.is_empty_again());
    }
    // A name is only a label: nothing is written outside its place.
    for name in ["../../x.mbox", "/tmp/owner-page-x.mbox", "..\\..\\x.mbox", "\u{202e}x.mbox", ".x.mbox"] {
        let (status, page) = open.send(named(name)).await;
        assert!(status == StatusCode::SEE_OTHER && page.contains("x.mbox, "), "{name}: {page}");
        assert!(!page.contains("../") && !page.contains('\u{202e}'), "{page}");
        assert_eq!(open.received(), 1, "the one before is gone");
        for outside in [open.dir.join("x.mbox"), open.dir.join("../x.mbox")] {
            assert!(!outside.exists(), "{}", outside.display());
        }
        assert!(!Path::new("/tmp/owner-page-x.mbox").exists());
    }
    // Requests that do not come from our page.
    let (_, page) =
        open.send(form(&[("csrf", None, csrf.as_bytes()), ("file", Some("x.bin"), &[0, 1, 2, 3])])).await;
    assert!(page.contains("This cannot be imported as it is") && page.contains("Import nothing"), "{page}");
    let (_, page) = open.post("/import/drop", &[]).await;
    assert!(page.contains("Your own data") && open.is_empty_again(), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_15_a_body_without_an_end_a_cut_connection_and_several_at_once() {
    let mut open = Open::new().await;
    let head = format!("Content-Type: {TYPE}\r\nTransfer-Encoding: chunked");
    let first = format!(
        "--b0\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\n{}\r\n--b0\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"a.mbox\"\r\n\r\n",
        open.csrf
    );
    let chunk = |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
    let sending = |open: &Open| {
        let mut stream = open.raw(&head);
        stream.write_all(&chunk(first.as_bytes())).unwrap();
        stream.write_all(&chunk(&mailbox(1, 100))).unwrap();
        stream
    };
    let wait_for = |open: &Open, count: usize| {
        let began = Instant::now();
        while open.received() != count {
            assert!(began.elapsed() < Duration::from_secs(10), "{} instead of {count}", open.received());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // One that is still arriving: the page stays available, and nothing is held in memory.
    let mut endless = sending(&open);
    for _ in 0..200 {
        endless.write_all(&chunk(&vec![b'x'; 64 << 10])).unwrap();
    }
    let second = sending(&open);
    wait_for(&open, 2);
    let (status, page) = open.get("").await;
    assert!(status == StatusCode::OK && page.contains("type=\"file\""), "{page}");
    // There is no third one.
    let mut third = open.raw(&head);
    let mut said = String::new();
    let _ = third.read_to_string(&mut said);
    assert!(said.starts_with("HTTP/1.1 429 ") && said.contains("Other files are being received"), "{said}");
    // The service does not wait for a stranger.
    let mut stranger = TcpStream::connect(open.handle.url().strip_prefix("http://").unwrap()).unwrap();
    stranger.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let port = open.handle.url().rsplit(':').next().unwrap().to_owned();
    let head =
        format!("POST /owner/x/import HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 1000000\r\n\r\n");
    stranger.write_all(head.as_bytes()).unwrap();
    let mut said = [0; 12];
    stranger.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"HTTP/1.1 200");
    // Interrupted: the received part is removed.
    drop(endless);
    drop(second);
    wait_for(&open, 0);
    // And the next is received as usual.
    let csrf = open.csrf.clone();
    let body = form(&[("csrf", None, csrf.as_bytes()), ("file", Some("a.mbox"), &mailbox(1, 100))]);
    let (status, page) = open.send(body).await;
    assert!(status == StatusCode::SEE_OTHER && page.contains("Import this?"), "{page}");
    // A closed session leaves nothing.
    open.post("/close", &[]).await;
    wait_for(&open, 0);
    // The next import removes what a killed process left.
    let left = open.dir.join("inbox/0123456789abcdef");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("a.mbox"), "left").unwrap();
    let dir = open.dir.clone();
    drop(pdpp::own::inbox::Inbox::begin(&dir).unwrap());
    assert!(!left.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_15_the_command_opens_it_for_one_browser_and_ends_when_it_is_closed() {
    let env = TestEnv::new();
    store_of(&env);
    let mut command = env.pdpp(&["provider", "open", "--no-browser", "--json"]);
    let (child, said, address, code) = shown(&mut command);
    assert!(!said.contains("/owner/"), "its address is a capability: {said}");
    let mut browser = Browser::new();
    let own = address.trim_end_matches('/').to_owned();
    let (status, _, page) = browser.post(&address, &own, &[("code", &code)]).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    browser.cookie = None;
    let link = between(&page, "url=", "\"").to_owned();
    let base = link.split("/owner/").next().unwrap().to_owned();
    let (_, _, page) = browser.get(&link).await;
    let at = format!("{base}{}", between(&page, "<p><a href=\"", "\""));
    let (_, _, page) = browser.get(&at).await;
    assert!(page.contains("<h1>Your own data</h1>") && page.contains("Family"), "{page}");
    let csrf = between(&page, "name=\"csrf\" value=\"", "\"").to_owned();
    let (_, _, page) = browser.post(&format!("{at}/close"), &base, &[("csrf", &csrf)]).await;
    assert!(page.contains("This page is closed"), "{page}");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), r#"{"closed":true}"#);
    assert!(browser.http.get(&base).send().await.is_err(), "nothing is served any more");
}

#[test]
fn o7_15_nothing_is_opened_where_there_is_nothing() {
    let env = TestEnv::new();
    let ran = env.run(&["provider", "open", "--no-browser", "--json"]);
    assert_eq!(ran.code, Some(78), "{}", ran.stderr);
    assert!(!env.cache_dir().join("own").exists());
    store_of(&env);
    let help = env.run(&["provider", "open", "--help"]);
    assert!(help.stdout.contains("--no-browser"), "{}", help.stdout);
}
