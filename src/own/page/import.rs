//! An import of chosen files: they are received into a private folder, examined, agreed to and imported;
//! then the page shows the result.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::StatusCode;
use futures_util::StreamExt as _;
use hyper::body::Bytes;
use indicatif::{DecimalBytes, HumanCount};
use tokio::sync::mpsc;

use super::frame::{Frame, Part, notice, page, page_that_reloads};
use super::multipart::{self, Multipart};
use super::{Answer, Failed, Pages, Session, foreign, is_own, see, value};
use crate::error::Error;
use crate::import::survey;
use crate::import::tally::{Counts, Outcome};
use crate::own::inbox::{Imported, Inbox, InboxRequest, Plan, Progress};
use crate::text::prefix;
use crate::vault::html::Html;
use crate::vault::wire::{Reply, Request};

/// Uploads that may run at once; more are refused.
const MOST_UPLOADS: usize = 2;
/// How long an upload may send nothing.
const STALLS: Duration = Duration::from_secs(30);
/// Frames of some 16 KiB or more that may wait to be written.
const FRAMES: usize = 8;
/// The most files in one import, and the most bytes of a file's name and of any other value.
const MOST_FILES: usize = 200;
const MAX_NAME: usize = 150;
const MAX_VALUE: u64 = 1 << 10;
/// Names that one line lists.
const NAMED: usize = 5;
/// How long the page waits for an import that may finish soon.
const SOON: Duration = Duration::from_millis(1_500);

/// The import of a visit.
pub(super) enum Importing {
    /// The files were received and wait for the owner's yes.
    Received(Box<Received>),
    /// It is running, or has finished.
    Runs(Arc<Run>),
}

/// What was received, and what an import of it would do.
pub(super) struct Received {
    inbox: Inbox,
    request: InboxRequest,
    names: Vec<String>,
    plan: Result<Plan, Error>,
}

impl Received {
    /// Whether a live grant covers an account that the import adds to.
    fn is_granted(&self) -> bool {
        self.plan.as_ref().is_ok_and(|plan| plan.sources.iter().any(|source| source.is_granted))
    }
}

/// An import that is running.
#[derive(Default)]
pub(super) struct Run {
    progress: Mutex<Progress>,
    result: Mutex<Option<Result<Imported, Error>>>,
    is_over: AtomicBool,
}

/// The number of imports that are running, from all pages.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// Whether an import is running or files are being received.
pub(super) fn is_running(pages: &Pages) -> bool {
    AT_WORK.load(Ordering::Relaxed) > 0 || pages.uploads.load(Ordering::Relaxed) > 0
}

/// Whether this visit has an import: received, running or just finished.
pub(super) fn is_at_work(pages: &Pages, frame: &Frame<'_>) -> bool {
    pages.sessions.with_import(frame.session, |import| import.is_some()).unwrap_or(false)
}

/// The form that accepts files.
pub(super) fn form(main: &mut Html, frame: &Frame<'_>, is_at_work: bool) {
    main.markup("<section aria-labelledby=\"import\">\n<h2 id=\"import\">Import</h2>\n");
    if is_at_work {
        main.markup("<p>An import is already in progress: ");
        frame.link(main, "/import", "view it");
        main.markup("</p>\n</section>\n");
        return;
    }
    main.markup("<form method=\"post\" enctype=\"multipart/form-data\"")
        .attribute("action", &frame.session.path("/import"));
    // These fields come before the files: what is read first decides whether the rest is read.
    main.markup(">\n<input type=\"hidden\" name=\"csrf\"")
        .attribute("value", &frame.session.csrf)
        .markup(">\n");
    main.markup(
        "<p class=\"field\"><label for=\"file\">Exports: files or archives (zip, tgz)</label>\n\
         <input id=\"file\" type=\"file\" name=\"file\" multiple required aria-describedby=\"file-hint\">\
         <span class=\"hint\" id=\"file-hint\">You see what would be imported before anything is written. Attachments are copied. \
         Your files are not changed.</span></p>\n<details><summary>More options</summary>\n",
    );
    more_fields(main, &InboxRequest::default());
    main.markup(
        "</details>\n<p class=\"buttons\"><button type=\"submit\" class=\"approve\">Preview the import</button></p>\n</form>\n</section>\n",
    );
}

/// The optional fields of an import.
fn more_fields(main: &mut Html, request: &InboxRequest) {
    for (name, label, hint, said) in [
        (
            "account",
            "Whose data it is: the name of the account",
            "If empty, the name in the files is used.",
            &request.account,
        ),
        (
            "timezone",
            "The time zone of times without one",
            "For example, Europe/Oslo. If empty, that of the account or of this computer is used.",
            &request.timezone,
        ),
    ] {
        main.markup("<p class=\"field\"><label")
            .attribute("for", name)
            .markup(">")
            .text(label)
            .markup("</label>\n<input");
        main.attribute("id", name)
            .attribute("name", name)
            .attribute("value", said.as_deref().unwrap_or_default());
        main.attribute("aria-describedby", &format!("{name}-hint"))
            .markup(" maxlength=\"200\" autocomplete=\"off\"><span class=\"hint\"");
        main.attribute("id", &format!("{name}-hint")).markup(">").text(hint).markup("</span></p>\n");
    }
}

/// `POST …/import`: receives files as they arrive.
pub(super) async fn receive(pages: Arc<Pages>, request: Request, name: String, body: Body) -> Reply {
    let Some(session) = pages.session(&request, &name) else {
        return super::frame::stranger(&pages.vault.config().profile);
    };
    if !session.is_let_in {
        return super::frame::asks(&pages.frame(&session), StatusCode::OK, None);
    }
    let failed = |failed: &Failed| told(&pages, &session, failed);
    if request.is_foreign() {
        return failed(&foreign());
    }
    let boundary = request.header("content-type").and_then(multipart::boundary).map(str::to_owned);
    let Some(boundary) = boundary else {
        return failed(&Failed::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "Nothing was received",
            "The request is not a form with files.",
        ));
    };
    let Some(place) = Upload::begin(&pages) else {
        return failed(&Failed::new(
            StatusCode::TOO_MANY_REQUESTS,
            "Nothing was received",
            "Other files are being received. Wait until that is done, then try again.",
        ));
    };
    let (sender, receiver) = mpsc::channel(FRAMES);
    let (for_thread, for_session) = (Arc::clone(&pages), session.clone());
    let taking = tokio::task::spawn_blocking(move || {
        let _place = place;
        let from = Incoming { receiver, frame: Bytes::new() };
        take(&for_thread, &request, &for_session, &boundary, from)
    });
    pass_on(body, sender).await;
    match taking.await {
        Ok(Ok(reply)) => reply,
        Ok(Err(refused)) => failed(&refused),
        Err(_) => failed(&Failed::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "Nothing was received",
            "An internal error stopped it.",
        )),
    }
}

/// Passes a body on, frame by frame, until the receiver stops or nothing arrives.
async fn pass_on(body: Body, sender: mpsc::Sender<io::Result<Bytes>>) {
    let mut frames = body.into_data_stream();
    loop {
        let frame = match tokio::time::timeout(STALLS, frames.next()).await {
            Ok(Some(Ok(frame))) => Ok(frame),
            Ok(Some(Err(_))) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was cut")),
            Ok(None) => return,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "nothing arrived for half a minute")),
        };
        let is_over = frame.is_err();
        if sender.send(frame).await.is_err() || is_over {
            return;
        }
    }
}

/// A body as it arrives, for a thread that may block.
struct Incoming {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    frame: Bytes,
}

impl Read for Incoming {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.frame.is_empty() {
            match self.receiver.blocking_recv() {
                Some(frame) => self.frame = frame?,
                None => return Ok(0),
            }
        }
        let given = self.frame.len().min(room.len());
        room[..given].copy_from_slice(&self.frame.split_to(given));
        Ok(given)
    }
}

/// One of the uploads that may run at once.
struct Upload(Arc<Pages>);

impl Upload {
    fn begin(pages: &Arc<Pages>) -> Option<Self> {
        let taken = pages.uploads.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
            (count < MOST_UPLOADS).then_some(count + 1)
        });
        taken.ok().map(|_| Self(Arc::clone(pages)))
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.0.uploads.fetch_sub(1, Ordering::Relaxed);
    }
}

fn told(pages: &Pages, session: &Session, failed: &Failed) -> Reply {
    let mut main = Html::new();
    main.markup("<h1>").text(failed.title).markup("</h1>\n<p>").text(&failed.text).markup("</p>\n<p>");
    let frame = pages.frame(session);
    frame.link(&mut main, "", "Back");
    main.markup("</p>\n");
    page(&frame, failed.status, failed.title, Some(Part::Sources), &main)
}

impl From<multipart::Bad> for Failed {
    fn from(bad: multipart::Bad) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "Nothing was received",
            format!("The upload cannot be read: {bad}."),
        )
    }
}

/// Receives the files of a form, and examines them.
fn take(pages: &Pages, request: &Request, session: &Session, boundary: &str, from: impl Read) -> Answer {
    let not_received = |text: &str| Failed::new(StatusCode::BAD_REQUEST, "Nothing was received", text);
    let mut form = Multipart::new(boundary, from);
    let mut wanted = InboxRequest::default();
    let mut names: Vec<String> = Vec::new();
    let mut inbox = None;
    while let Some((head, mut part)) = form.next_part()? {
        let Some(file) = head.file else {
            let mut text = String::new();
            let read = part.by_ref().take(MAX_VALUE + 1).read_to_string(&mut text);
            if read.map_err(multipart::Bad::from)? as u64 > MAX_VALUE {
                return Err(not_received("A value in the form is too long."));
            }
            let said = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
            match head.name.as_str() {
                // The token comes first: nothing is kept before it.
                "csrf" if inbox.is_none() && is_own(request, session, Some(&text)) => {
                    inbox = Some(Inbox::begin(&pages.dir)?);
                }
                "csrf" => return Err(foreign()),
                "account" => wanted.account = said,
                "timezone" => wanted.timezone = said,
                _ => {}
            }
            continue;
        };
        let Some(inbox) = &inbox else { return Err(foreign()) };
        if file.is_empty() {
            continue;
        }
        if names.len() >= MOST_FILES {
            return Err(not_received("These are too many files for one import. Put them into one archive."));
        }
        let name = label(&file, &names);
        inbox.receive(&name, &mut part)?;
        names.push(name);
    }
    let Some(inbox) = inbox else { return Err(foreign()) };
    if names.is_empty() {
        return Err(not_received("No file was chosen."));
    }
    let plan = inbox.plan(&wanted);
    let received = Box::new(Received { inbox, request: wanted, names, plan });
    let kept = pages.sessions.with_import(session, |import| match import {
        // Another import was started meanwhile.
        Some(Importing::Runs(run)) if !run.is_over.load(Ordering::Relaxed) => false,
        _ => {
            *import = Some(Importing::Received(received));
            true
        }
    });
    match kept {
        Some(true) => Ok(see(&pages.frame(session), &request.base, "/import")),
        Some(false) => Err(not_received("Another import is running. Wait until it has finished.")),
        None => Err(Failed::new(StatusCode::CONFLICT, "Nothing was imported", "This page is closed.")),
    }
}

/// The label of a file: the end of the browser's name for it, made different from those in `known`.
fn label(file: &str, known: &[String]) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = name.chars().filter(|c| !crate::text::is_hidden(*c)).collect();
    let name = name.trim().trim_start_matches('.');
    // The end of a long name identifies the file best.
    let start = name.ceil_char_boundary(name.len().saturating_sub(MAX_NAME));
    let name = match name[start..].trim_start_matches('.') {
        "" => "file",
        name => name,
    };
    let mut label = name.to_owned();
    let mut number = 1;
    while known.contains(&label) {
        number += 1;
        label = format!("{number}-{name}");
    }
    label
}

/// `GET …/import`: what would be imported, how far the import is, or its result.
pub(super) fn show(pages: &Pages, frame: &Frame<'_>) -> Reply {
    let mut main = Html::new();
    let said = pages.sessions.said(frame.session);
    let run = pages.sessions.with_import(frame.session, |import| match import {
        None => None,
        Some(Importing::Received(received)) => {
            to_agree(&mut main, frame, received, said);
            None
        }
        Some(Importing::Runs(run)) => Some(Arc::clone(run)),
    });
    let Some(run) = run.flatten() else {
        if main == Html::new() {
            main.markup("<h1>Import</h1>\n<p>There is no import in progress: ");
            frame.link(&mut main, "", "start one");
            main.markup("</p>\n");
        }
        return page(frame, StatusCode::OK, "Import", Some(Part::Sources), &main);
    };
    if run.is_over.load(Ordering::Acquire) {
        let result = run.result.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The result is shown once; the page of sources shows what lasts.
        pages.sessions.with_import(frame.session, |import| *import = None);
        match result {
            Some(Ok(imported)) => ended(&mut main, frame, &imported),
            Some(Err(error)) => not_done(&mut main, frame, &error),
            None => {
                main.markup("<h1>Import</h1>\n<p>The import has finished.</p>\n");
            }
        }
        return page(frame, StatusCode::OK, "Import", Some(Part::Sources), &main);
    }
    let progress = *run.progress.lock().unwrap_or_else(PoisonError::into_inner);
    main.markup("<h1>Importing …</h1>\n<p>");
    main.text(&format!(
        "{} of {}, {} items",
        DecimalBytes(progress.bytes),
        DecimalBytes(progress.of.max(progress.bytes)),
        HumanCount(progress.items)
    ));
    main.markup("</p>\n<p><progress aria-label=\"Progress of the import\"")
        .attribute("max", &progress.of.max(1).to_string());
    main.attribute("value", &progress.bytes.min(progress.of).to_string())
        .markup("></progress></p>\n<p>This page reloads automatically. ");
    frame.link(&mut main, "/import", "Reload it now");
    main.markup("</p>\n");
    page_that_reloads(frame, StatusCode::OK, "Import", Some(Part::Sources), &main, true)
}

/// What would be imported, and the buttons to agree or to give up.
fn to_agree(main: &mut Html, frame: &Frame<'_>, received: &Received, said: Option<String>) {
    let agreed = match &received.plan {
        Err(error) => {
            main.markup("<h1>This cannot be imported as it is</h1>\n<p class=\"problem\" role=\"alert\">");
            main.text(&error.in_full()).markup(".</p>\n<p>Received: ");
            main.text(&some(received.names.iter().map(String::as_str))).markup("</p>\n");
            None
        }
        Ok(plan) => {
            main.markup("<h1>Import this?</h1>\n");
            notice(main, said);
            planned(main, plan);
            Some(if received.is_granted() {
                "Import it, although an agent can read this account"
            } else {
                "Import it"
            })
        }
    };
    main.markup("<div class=\"buttons\">\n");
    if let Some(agreed) = agreed {
        frame.begin_form(main, "/import/go");
        if frame.asks_passphrase && received.is_granted() {
            Frame::passphrase_field(main, false);
        }
        main.markup("<button type=\"submit\" class=\"approve\">").text(agreed).markup("</button>\n</form>\n");
    }
    frame.begin_form(main, "/import/drop");
    main.markup("<button type=\"submit\" class=\"deny\">Import nothing</button>\n</form>\n</div>\n");
    main.markup(if agreed.is_some() {
        "<details><summary>More options</summary>\n"
    } else {
        "<h2>More options</h2>\n"
    });
    frame.begin_form(main, "/import/plan");
    more_fields(main, &received.request);
    main.markup("<p class=\"buttons\"><button type=\"submit\" class=\"deny\">Preview it again</button></p>\n</form>\n");
    if agreed.is_some() {
        main.markup("</details>\n");
    }
}

/// A note about an import, with the options of the command line replaced by the fields of this page.
fn in_words_of_the_page(note: &str) -> String {
    let mut note = note.replace(", as --account says", ", as you said");
    for option in ["--account NAME", "--account", "--timezone ZONE", "--timezone"] {
        note = note.replace(option, "“More options” below");
    }
    note
}

fn planned(main: &mut Html, plan: &Plan) {
    main.markup("<ul>\n");
    for source in &plan.sources {
        main.markup("<li><strong>").text(&source.account).markup("</strong> <span class=\"kind\">");
        let files = if source.files == 1 {
            "1 file".to_owned()
        } else {
            format!("{} files", HumanCount(source.files as u64))
        };
        main.text(&source.connector).markup("</span>: ").text(&name(&source.path));
        main.text(&format!(", {}, {files}, {}", source.title, DecimalBytes(source.bytes)));
        if source.is_granted {
            main.markup(
                "<br>\n<strong>An agent can already read this account. Within its grant it will see the new records too.</strong>",
            );
        }
        for note in &source.notes {
            main.markup("<br>\n<span class=\"said\">").text(&in_words_of_the_page(note)).markup("</span>");
        }
        main.markup("</li>\n");
    }
    main.markup("</ul>\n");
    for (why, labels) in survey::by_reason(plan.unrecognised.iter().map(|(_, one)| one)) {
        main.markup("<p>")
            .text(&format!("Not recognised ({why}): {}", some(labels.into_iter())))
            .markup("</p>\n");
    }
    let mut left_out: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (_, left) in &plan.left_out {
        for (what, all) in [("Left out", &left.skipped), ("Cannot be read", &left.unreadable)] {
            for one in all {
                left_out.entry((what, one.why.as_str())).or_default().push(&one.label);
            }
        }
    }
    for ((what, why), labels) in left_out {
        main.markup("<p>").text(&format!("{what} ({why}): {}", some(labels.into_iter()))).markup("</p>\n");
    }
    main.markup("<p>No agent can read what you have not granted.</p>\n");
}

/// A few names and, if there are more, their number.
fn some<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<&str> = names.collect();
    let first = all.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if all.len() <= NAMED { first } else { format!("{first} … ({} in all)", HumanCount(all.len() as u64)) }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// `POST …/import/plan`
pub(super) fn plan_again(pages: &Pages, frame: &Frame<'_>, form: &[(String, String)], base: &str) -> Reply {
    let said = |name| {
        let text = value(form, name).map(|text| prefix(text.trim(), 200).to_owned());
        text.filter(|text| !text.is_empty())
    };
    // Taken out of the visit, so that other requests need not wait while large files are examined.
    let taken = pages.sessions.with_import(frame.session, |import| match import.take() {
        Some(Importing::Received(received)) => Some(received),
        other => {
            *import = other;
            None
        }
    });
    if let Some(mut received) = taken.flatten() {
        received.request.account = said("account");
        received.request.timezone = said("timezone");
        received.plan = received.inbox.plan(&received.request);
        pages.sessions.with_import(frame.session, |import| {
            import.get_or_insert(Importing::Received(received));
        });
    }
    see(frame, base, "/import")
}

/// `POST …/import/drop`
pub(super) fn give_up(pages: &Pages, frame: &Frame<'_>, base: &str) -> Reply {
    pages.sessions.with_import(frame.session, |import| {
        if let Some(Importing::Received(_)) = import {
            *import = None;
        }
    });
    pages.sessions.say(frame.session, "Nothing was imported, and the received files are deleted.".to_owned());
    see(frame, base, "")
}

/// `POST …/import/go`
pub(super) fn go(pages: &Pages, frame: &Frame<'_>, form: &[(String, String)], base: &str) -> Answer {
    let is_granted = pages.sessions.with_import(frame.session, |import| match import {
        Some(Importing::Received(received)) => received.is_granted(),
        _ => false,
    });
    if frame.asks_passphrase
        && is_granted == Some(true)
        && let Some(why) = pages.check_passphrase(frame.session, form)?
    {
        pages.sessions.say(frame.session, format!("Nothing was imported. {why}"));
        return Ok(see(frame, base, "/import"));
    }
    let taken = pages.sessions.with_import(frame.session, |import| match import.take() {
        Some(Importing::Received(received)) if received.plan.is_ok() => {
            let run = Arc::new(Run::default());
            *import = Some(Importing::Runs(Arc::clone(&run)));
            Some((received, run))
        }
        other => {
            *import = other;
            None
        }
    });
    let Some((received, run)) = taken.flatten() else { return Ok(see(frame, base, "/import")) };
    let Received { inbox, request, .. } = *received;
    let at_work = Arc::clone(&run);
    let work = move || {
        let _at_work = AtWork::begin(&at_work);
        let imported = inbox.import(&request, &mut |progress| {
            *at_work.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
        });
        *at_work.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(imported);
    };
    let spawned = std::thread::Builder::new().name("import".to_owned()).spawn(work);
    if let Err(error) = spawned {
        pages.sessions.with_import(frame.session, |import| *import = None);
        let error = Error::failed("own_page", "The import could not be started").because(error);
        return Err(error.hint("Try again; if it fails again, end some of your programs").into());
    }
    // Most imports through the page are small: then the next page shows the result at once.
    let began = Instant::now();
    while !run.is_over.load(Ordering::Acquire) && began.elapsed() < SOON {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(see(frame, base, "/import"))
}

/// A running import, which counts as finished when this is dropped, however it ended.
struct AtWork(Arc<Run>);

impl AtWork {
    fn begin(run: &Arc<Run>) -> Self {
        AT_WORK.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(run))
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::Relaxed);
        self.0.is_over.store(true, Ordering::Release);
    }
}

fn not_done(main: &mut Html, frame: &Frame<'_>, error: &Error) {
    main.markup("<h1>Nothing was imported</h1>\n<p class=\"problem\" role=\"alert\">").text(&error.in_full());
    main.markup(".</p>\n<p>");
    frame.link(main, "", "Back");
    main.markup("</p>\n");
}

fn ended(main: &mut Html, frame: &Frame<'_>, imported: &Imported) {
    main.markup(if imported.stopped.is_some() {
        "<h1>Part of it was imported</h1>\n"
    } else {
        "<h1>It was imported</h1>\n"
    });
    if let Some(stopped) = &imported.stopped {
        main.markup("<p class=\"problem\" role=\"alert\">").text(&stopped.in_full()).markup(".</p>\n");
    }
    main.markup(
        "<table>\n<caption>Result for each account</caption>\n<thead><tr><th \
                 scope=\"col\">Account</th><th scope=\"col\">Items</th></tr></thead>\n<tbody>\n",
    );
    for outcome in &imported.outcomes {
        main.markup("<tr><th scope=\"row\">").text(&outcome.account).markup(" <span class=\"kind\">");
        main.text(&format!("{}, {}", outcome.connector, name(&outcome.path))).markup("</span></th><td>");
        main.text(&sum(&outcome.counts)).markup("</td></tr>\n");
    }
    main.markup("</tbody>\n</table>\n");
    reasons(main, &imported.outcomes);
    main.markup("<p>No agent can read what you have not granted.</p>\n<p>");
    frame.link(main, "", "Back to the sources");
    main.markup("</p>\n");
}

/// read = new + changed + same + skipped + bad.
fn sum(counts: &Counts) -> String {
    let [read, new, changed, same, skipped, bad] =
        [counts.read, counts.new, counts.changed, counts.same, counts.skipped_in_all(), counts.bad_in_all()]
            .map(HumanCount);
    format!("{read} read = {new} new + {changed} changed + {same} same + {skipped} skipped + {bad} bad")
}

/// Why items were skipped or bad, and which files were not read to the end.
fn reasons(main: &mut Html, outcomes: &[Outcome]) {
    let mut all = Counts::default();
    for outcome in outcomes {
        all.add(&outcome.counts);
    }
    let mut lines = BTreeSet::new();
    for (what, reasons) in [("skipped", &all.skipped), ("bad", &all.bad), ("kept", &all.told)] {
        lines.extend(reasons.iter().map(|(why, count)| format!("{} {what}: {why}", HumanCount(*count))));
    }
    lines.extend(outcomes.iter().flat_map(|outcome| outcome.notes.iter().cloned()));
    for unread in outcomes.iter().flat_map(|outcome| &outcome.unread) {
        lines.insert(format!("not read to the end: {}: {}", unread.member, unread.reason));
    }
    if lines.is_empty() {
        return;
    }
    main.markup("<ul>\n");
    for line in lines {
        main.markup("<li>").text(&line).markup("</li>\n");
    }
    main.markup("</ul>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_the_fields_of_the_page_and_no_option() {
        for (note, said) in [
            (
                "The account is A: so. --account NAME names another.",
                "The account is A: so. “More options” below names another.",
            ),
            ("The account is A, as --account says.", "The account is A, as you said."),
            (
                "It is called A. --account gives it another name.",
                "It is called A. “More options” below gives it another name.",
            ),
        ] {
            assert_eq!(in_words_of_the_page(note), said);
        }
    }

    #[test]
    fn o7_15_a_files_name_is_a_label_and_no_path() {
        let known = vec!["a.mbox".to_owned(), "2-a.mbox".to_owned()];
        for (file, wanted) in [
            ("a.zip", "a.zip"),
            ("../../x", "x"),
            ("C:\\fakepath\\All mail.mbox", "All mail.mbox"),
            ("/etc/passwd", "passwd"),
            ("..", "file"),
            (".hidden", "hidden"),
            ("a/", "file"),
            ("a\u{0}b\n\u{202e}c", "abc"),
            ("a.mbox", "3-a.mbox"),
        ] {
            assert_eq!(label(file, &known), wanted, "{file:?}");
        }
        let long = label(&format!("{}.mbox", "ä".repeat(300)), &[]);
        assert!(long.len() <= MAX_NAME && long.ends_with("ä.mbox"), "{long}");
    }

    #[test]
    fn o4_4_the_sum_of_an_import_is_in_the_words_of_the_command() {
        let counts = Counts { read: 1_203, new: 1_200, same: 3, ..Counts::default() };
        assert_eq!(sum(&counts), "1,203 read = 1,200 new + 0 changed + 3 same + 0 skipped + 0 bad");
    }
}
