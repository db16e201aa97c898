//! The owner's page (O7.15): what the store has and how old it is, an import of chosen files, what was
//! granted and what each grant gives, what was read, an end to a grant or an account, and a search.
//!
//! The pages use no scripts and work in one browser at a time, the one that opened a link (`session`). A
//! program that runs as the owner can do what the pages can; if the store belongs to another identity,
//! the pages ask for a passphrase first.

mod forget;
mod frame;
mod grants;
mod import;
mod multipart;
mod picture;
mod reads;
mod search;
mod session;
mod sources;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use axum::http::{Method, StatusCode, request};
use axum::response::Response;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use self::frame::{Frame, page};
use self::session::{Session, Sessions};
use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::error::Error;
use crate::vault::html::Html;
use crate::vault::id::token_hash;
use crate::vault::oauth::consent::page_reply;
use crate::vault::oauth::passphrase;
use crate::vault::owner_pages::{OWNER, OwnerPages};
use crate::vault::server::response;
use crate::vault::wire::{ApiError, Reply, Request};
use crate::vault::{Vault, time};

/// The most bytes of a form without files, and how long it may take.
const MAX_FORM: usize = 64 << 10;
const FORM_TIME: Duration = Duration::from_secs(10);

/// The owner's pages of a store.
pub struct Pages {
    vault: Arc<Vault>,
    dir: PathBuf,
    /// Tokens of its grants, and the log of this computer's agents, if this user has them.
    cache: Option<Cache>,
    sessions: Sessions,
    /// Uploads in progress.
    uploads: AtomicUsize,
}

/// Why a page cannot be shown.
pub(super) struct Failed {
    status: StatusCode,
    title: &'static str,
    text: String,
}

impl Failed {
    pub(super) fn new(status: StatusCode, title: &'static str, text: impl Into<String>) -> Self {
        Self { status, title, text: text.into() }
    }

    fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "There is nothing here", "It may have been removed.")
    }
}

impl From<ApiError> for Failed {
    fn from(error: ApiError) -> Self {
        Self::new(error.status, DID_NOT_WORK, format!("{}.", error.message()))
    }
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Self {
        ApiError::from(error).into()
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, DID_NOT_WORK, format!("{}.", error.in_full()))
    }
}

const DID_NOT_WORK: &str = "That did not work";

pub(super) type Answer = Result<Reply, Failed>;

impl Pages {
    /// The pages of `vault`, the store in `dir`; `cache` has the tokens of its grants and the log of the
    /// agents.
    pub fn of(vault: Arc<Vault>, dir: &Path, cache: Option<Cache>) -> Arc<Self> {
        Arc::new(Self {
            vault,
            dir: dir.to_owned(),
            cache,
            sessions: Sessions::default(),
            uploads: AtomicUsize::new(0),
        })
    }

    /// Whether anyone ever opened a page, even one that is closed now.
    pub fn was_opened(&self) -> bool {
        self.sessions.was_opened()
    }

    /// Whether someone has a page open: a visit is live, or an import is running.
    pub fn is_used(&self) -> bool {
        self.sessions.ends_ms(time::now_ms()).is_some() || import::is_running(self)
    }

    /// The tokens that are on this computer.
    fn credentials(&self) -> Vec<Credential> {
        self.cache.as_ref().and_then(|cache| cache.credentials().ok()).unwrap_or_default()
    }

    fn asks_passphrase(&self) -> bool {
        self.vault.config().asks_passphrase
    }

    /// What every page is built from.
    fn frame<'a>(&'a self, session: &'a Session) -> Frame<'a> {
        Frame { profile: &self.vault.config().profile, session, asks_passphrase: self.asks_passphrase() }
    }

    /// The visit that a request belongs to.
    fn session(&self, request: &Request, page: &str) -> Option<Session> {
        self.sessions.of(page, request.header("cookie"), time::now_ms())
    }

    fn answer_whole(&self, request: &Request) -> Reply {
        let stranger = || frame::stranger(&self.vault.config().profile);
        let Some(segments) = request.segments() else { return stranger() };
        let path: Vec<&str> = segments.iter().skip(1).map(String::as_str).collect();
        match path.as_slice() {
            // Not for HEAD: this uses up the link.
            ["open", secret] if request.method == Method::GET => self.open(secret),
            [name, rest @ ..] => match self.session(request, name) {
                Some(session) => self.answer_in(request, &session, rest).unwrap_or_else(|failed| {
                    let mut main = Html::new();
                    main.markup("<h1>")
                        .text(failed.title)
                        .markup("</h1>\n<p>")
                        .text(&failed.text)
                        .markup("</p>\n");
                    page(&self.frame(&session), failed.status, failed.title, None, &main)
                }),
                None => stranger(),
            },
            [] => stranger(),
        }
    }

    /// A link answers with a page instead of a redirect: a browser that comes from another site would not
    /// send a cookie of this kind after a redirect.
    fn open(&self, secret: &str) -> Reply {
        let profile = &self.vault.config().profile;
        match self.sessions.open(secret, self.asks_passphrase(), time::now_ms()) {
            Some((session, cookie)) => frame::leads_on(profile, &session.path("")).with("set-cookie", cookie),
            None => frame::spent_link(profile),
        }
    }

    fn answer_in(&self, request: &Request, session: &Session, rest: &[&str]) -> Answer {
        let is_post = request.method == Method::POST;
        if !is_post && !matches!(request.method, Method::GET | Method::HEAD) {
            return Err(Failed::new(
                StatusCode::METHOD_NOT_ALLOWED,
                DID_NOT_WORK,
                "This page does not accept that kind of request.",
            ));
        }
        let form = if is_post { request.form() } else { Vec::new() };
        if is_post && !is_own(request, session, value(&form, "csrf")) {
            return Err(foreign());
        }
        if !session.is_let_in {
            return match rest {
                ["page.css"] => Ok(frame::stylesheet()),
                ["passphrase"] if is_post => self.let_in(request, session, &form),
                ["close"] if is_post => Ok(self.close(session)),
                _ => Ok(frame::asks(&self.frame(session), StatusCode::OK, None)),
            };
        }
        let frame = self.frame(session);
        match (rest, is_post) {
            (["page.css"], false) => Ok(frame::stylesheet()),
            ([] | [""], false) => sources::show(self, &frame),
            (["requests", id], true) => match self.vault.open_request(&request.base, id)? {
                Some(reply) => Ok(reply),
                None => Err(Failed::new(
                    StatusCode::CONFLICT,
                    "This request is no longer waiting",
                    "It was decided, or its ten minutes are over.",
                )),
            },
            (["import"], false) => Ok(import::show(self, &frame)),
            (["import", "plan"], true) => Ok(import::plan_again(self, &frame, &form, &request.base)),
            (["import", "go"], true) => {
                Ok(import::go(self, &frame, &form, &request.base)?.with("connection", "close"))
            }
            (["import", "drop"], true) => Ok(import::give_up(self, &frame, &request.base)),
            (["grants"], false) => grants::list(self, &frame),
            (["grants", id], false) => grants::show(self, &frame, id),
            (["grants", id, "end"], false) => grants::ask_to_end(self, &frame, id),
            (["grants", id, "end"], true) => grants::end(self, &frame, id, &request.base),
            (["reads"], false) => reads::show(self, &frame),
            (["search"], false) => search::show(self, &frame, &request.params()),
            (["forget", id], false) => forget::ask(self, &frame, id, StatusCode::OK, None),
            (["forget", id], true) => {
                let answered = forget::forget(self, &frame, id, &form, &request.base)?;
                Ok(answered.with("connection", "close"))
            }
            (["passphrase"], true) => Ok(see(&frame, &request.base, "")),
            (["close"], true) => Ok(self.close(session)),
            _ => Err(Failed::not_found()),
        }
    }

    fn close(&self, session: &Session) -> Reply {
        self.sessions.close(session);
        frame::closed(&self.vault.config().profile)
    }

    fn let_in(&self, request: &Request, session: &Session, form: &[(String, String)]) -> Answer {
        let frame = self.frame(session);
        let answered = match self.check_passphrase(session, form)? {
            None => {
                self.sessions.let_in(session, time::now_ms());
                see(&frame, &request.base, "")
            }
            Some(why) => frame::asks(&frame, StatusCode::FORBIDDEN, Some(&why)),
        };
        Ok(answered.with("connection", "close"))
    }

    /// Why a form does not prove that it is from the owner, or `None` if it does.
    fn check_passphrase(
        &self,
        session: &Session,
        form: &[(String, String)],
    ) -> Result<Option<String>, Failed> {
        if let Err(seconds) = self.sessions.try_passphrase(session, time::now_ms()) {
            let unit = if seconds == 1 { "second" } else { "seconds" };
            return Ok(Some(format!("The last passphrase was wrong. Try again in {seconds} {unit}.")));
        }
        let typed = value(form, "passphrase").unwrap_or_default().into();
        if passphrase::is_right(self.vault.grants(), &typed)? {
            // A correct passphrase costs no waiting time.
            self.sessions.let_in(session, time::now_ms());
            return Ok(None);
        }
        self.sessions.missed(time::now_ms());
        Ok(Some("That is not the passphrase.".to_owned()))
    }
}

/// Whether a form came from its own page: not from another site, and with the token of the visit.
fn is_own(request: &Request, session: &Session, csrf: Option<&str>) -> bool {
    !request.is_foreign() && csrf.is_some_and(|csrf| token_hash(csrf) == token_hash(&session.csrf))
}

fn foreign() -> Failed {
    Failed::new(
        StatusCode::FORBIDDEN,
        "This form came from another page",
        "It did not come from this page, so nothing was done.",
    )
}

fn value<'a>(form: &'a [(String, String)], name: &str) -> Option<&'a str> {
    form.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Redirects to another page of the visit.
fn see(frame: &Frame<'_>, base: &str, rest: &str) -> Reply {
    Reply::see_other(&format!("{base}{}", frame.session.path(rest)))
}

impl OwnerPages for Pages {
    fn answer(
        self: Arc<Self>,
        base: String,
        request: axum::extract::Request,
    ) -> BoxFuture<'static, Response> {
        async move {
            let (head, body) = request.into_parts();
            let mut request = whole(head, base);
            let name = request.path.strip_prefix(OWNER).unwrap_or_default().trim_start_matches('/');
            let name = name.split('/').next().unwrap_or_default().to_owned();
            // Without a visit, the body is not waited for.
            if self.session(&request, &name).is_some() {
                if request.method == Method::POST && request.path == format!("{OWNER}/{name}/import") {
                    return response(import::receive(self, request, name, body).await);
                }
                let read = tokio::time::timeout(FORM_TIME, axum::body::to_bytes(body, MAX_FORM)).await;
                request.body = match read {
                    Ok(Ok(body)) => body.into(),
                    Ok(Err(_)) => return response(empty(StatusCode::PAYLOAD_TOO_LARGE)),
                    Err(_) => return response(empty(StatusCode::REQUEST_TIMEOUT)),
                };
            }
            let answered = tokio::task::spawn_blocking(move || self.answer_whole(&request)).await;
            response(answered.unwrap_or_else(|_| empty(StatusCode::INTERNAL_SERVER_ERROR)))
        }
        .boxed()
    }

    fn new_link(&self) -> Option<String> {
        self.sessions.new_link(time::now_ms())
    }
}

fn empty(status: StatusCode) -> Reply {
    page_reply(status, Html::new())
}

fn whole(head: request::Parts, base: String) -> Request {
    Request {
        method: head.method,
        base,
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body: Vec::new(),
        request_id: String::new(),
    }
}
