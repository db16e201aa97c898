//! Imports what a caller hands over.
//!
//! Any of the person's programs may import into a new account. A plan reveals what the store knows about
//! earlier imports, so it is only sent, and an existing account is only written to, after the passphrase
//! was typed.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::file;
use super::frame::{Broken, Wire};
use super::places::{Doing, Place};
use super::talk::{Ended, TYPING_TIME, Talk};
use super::words::{Failure, ImportAsked, ImportTold, Said, Told};
use crate::archive::{Skipped, path_within};
use crate::error::{Error, Kind};
use crate::import::formats;
use crate::import::survey::{Job, Request, Survey};
use crate::import::tally::{BadItem, Unread};
use crate::own;
use crate::own::import::{Heard, Knowing, Plan, Progress, Wanted};
use crate::own::inbox::Inbox;
use crate::vault::store::Store;

/// The most time between two things that are handed over: the caller's disk may be slow.
const HANDING_TIME: Duration = Duration::from_mins(1);
/// The longest path that is accepted, in bytes.
const MOST_PATH: usize = 4096;
/// The longest reason why something is not handed over.
const MOST_WHY: usize = 512;
/// How often a caller gets the progress.
const TOLD_EVERY: Duration = Duration::from_millis(500);
/// How often to check whether the import has ended, while waiting for a stop.
const LISTEN_TIME: Duration = Duration::from_millis(200);

/// Runs an import.
pub(super) fn import(talk: &mut Talk<'_>, asked: ImportAsked) -> Result<(), Ended> {
    let wanted = Wanted { copies_attachments: true, ..asked.wanted };
    check(&wanted)?;
    if !talk.place.hands_over() {
        let busy = Error::failed(
            "owner_service_busy",
            "The service is receiving files from too many callers at once",
        );
        return Err(busy.hint("Wait a little, then run it again").into());
    }
    let inbox = Inbox::begin(talk.dir())?;
    does(talk, Doing::Takes)?;
    take_all(talk, &inbox)?;
    let request = wanted.request(inbox.named(&wanted))?;
    let survey = surveyed(talk, &request)?;
    let granted =
        if talk.is_unlocked() { own::granted(talk.dir())? } else { std::collections::BTreeSet::new() };
    talk.tell(&Told::Plan { plan: Plan::of(&survey, &request, &granted) })?;
    if asked.is_dry {
        return Ok(());
    }
    match talk.hear(TYPING_TIME)?.plain()? {
        Said::Go { is_agreed: true } => {}
        Said::Go { is_agreed: false } | Said::Stop => return Ok(()),
        _ => return Err(Broken::Wrong("the plan was neither accepted nor refused").into()),
    }
    // An account may have been added meanwhile.
    unlock_for_known(talk, &survey)?;
    does(talk, Doing::Works)?;
    let (stop, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut telling = Telling {
        wire: talk.wire,
        place: talk.place,
        last: Instant::now(),
        names_bad: asked.names_bad,
        stop: &stop,
    };
    let (wire, dir) = (talk.wire, talk.dir());
    let imported = std::thread::scope(|scope| {
        scope.spawn(|| listen(wire, &stop, &is_over));
        let imported = own::import::run(dir, &request, &survey, asked.names_bad, &stop, &mut telling);
        is_over.store(true, Ordering::Relaxed);
        imported
    })?;
    drop(survey);
    drop(inbox);
    talk.tell(&Told::Imported(ImportTold {
        outcomes: imported.outcomes,
        stopped: imported.stopped.as_ref().map(Failure::from),
        kept_apart: imported.kept_apart,
        store_bytes: talk.is_unlocked().then_some(imported.store_bytes),
    }))
}

fn does(talk: &Talk<'_>, doing: Doing) -> Result<(), Ended> {
    if talk.place.does(doing) { Ok(()) } else { Err(Ended::Gone) }
}

/// Checks that the person's options make sense, before anything is handed over.
fn check(wanted: &Wanted) -> Result<(), Error> {
    wanted.request(Vec::new())?;
    match &wanted.format {
        Some(name) if formats::ALL.iter().all(|format| format.name() != name) => {
            let message = "The service does not know the format that --as names";
            Err(Error::new(Kind::Usage, "import_format", message).hint("Leave out --as: the contents decide"))
        }
        _ => Ok(()),
    }
}

/// Receives what is handed over.
fn take_all(talk: &Talk<'_>, inbox: &Inbox) -> Result<(), Ended> {
    let mut current = None;
    let none = || Ended::from(Broken::Wrong("a file without a source was handed over"));
    loop {
        let (said, file) = talk.hear(HANDING_TIME)?.with_file::<Said>()?;
        match (said, file) {
            (Said::Source { typed, shown, is_folder }, None)
                if typed.len() <= MOST_PATH && shown.len() <= MOST_PATH =>
            {
                let number = inbox.source(Path::new(&typed), Path::new(&shown), is_folder)?;
                current = Some((number, PathBuf::from(typed)));
            }
            (Said::File { name }, Some(file)) if name.len() <= 3 * MOST_PATH => {
                let (source, typed) = current.as_ref().ok_or_else(none)?;
                let refused = |error: std::io::Error| {
                    let message =
                        format!("A file of {} was not accepted; nothing was imported", typed.display());
                    Error::failed("import_handed_over", message)
                        .because(error)
                        .hint("Name plain files, and folders of plain files")
                };
                let within = path_within(&name).map_err(refused)?;
                file::check_readable(&file).map_err(refused)?;
                inbox.take(*source, &within, &file, &mut |_| talk.place.is_heard())?;
            }
            (Said::LeftOut { label, why, is_unreadable }, None)
                if label.len() <= 3 * MOST_PATH && why.len() <= MOST_WHY =>
            {
                let (source, _) = current.as_ref().ok_or_else(none)?;
                inbox.leave_out(*source, Skipped { label, why }, is_unreadable)?;
            }
            (Said::Whole, None) if current.is_some() => return Ok(()),
            (Said::Stop, None) => return Err(Ended::Gone),
            _ => return Err(Broken::Wrong("something was handed over that an import does not accept").into()),
        }
    }
}

/// Questions with their choices and answers, so that a repeated question gets the same answer.
type Answers = Vec<(String, Vec<String>, Option<String>)>;

/// What would be imported. If that depends on what the store has, the passphrase was typed.
fn surveyed(talk: &mut Talk<'_>, request: &Request) -> Result<Survey, Ended> {
    let store = own::open_store(talk.dir())?;
    if talk.is_unlocked() {
        return look(talk, request, Some(&store), &mut Vec::new());
    }
    // As if the store were empty: this reveals only the files.
    let mut answers = Vec::new();
    let blind = look(talk, request, None, &mut answers)?;
    if is_empty(&store)? {
        return Ok(blind);
    }
    let nothing = std::collections::BTreeSet::new();
    match look(talk, request, Some(&store), &mut answers) {
        Err(Ended::Failed(error)) => {
            talk.unlock()?;
            Err(error.into())
        }
        Err(gone) => Err(gone),
        Ok(survey) => {
            if Plan::of(&survey, request, &nothing) != Plan::of(&blind, request, &nothing) {
                talk.unlock()?;
            }
            unlock_for_known(talk, &survey)?;
            Ok(survey)
        }
    }
}

fn is_empty(store: &Store) -> Result<bool, Error> {
    let count = store.read::<_, rusqlite::Error>(|_, catalog| Ok(catalog.connections.len()));
    Ok(count.map_err(super::guess::failed)? == 0)
}

/// Asks for the passphrase if an existing account would be added to. Until then, nothing reveals whether
/// it is granted.
fn unlock_for_known(talk: &mut Talk<'_>, survey: &Survey) -> Result<(), Ended> {
    let store = own::open_store(talk.dir())?;
    let ids: Vec<String> = survey.jobs.iter().map(Job::connection).collect();
    let known = store.read::<_, rusqlite::Error>(|_, catalog| {
        Ok(catalog.connections.iter().any(|known| ids.contains(&known.id)))
    });
    drop(store);
    if known.map_err(super::guess::failed)? { talk.unlock() } else { Ok(()) }
}

fn look(
    talk: &mut Talk<'_>,
    request: &Request,
    store: Option<&Store>,
    answers: &mut Answers,
) -> Result<Survey, Ended> {
    let dir = talk.dir();
    let mut answered: Answers = Vec::new();
    let mut broken = None;
    let mut answer = |question: &str, choices: &[String]| {
        let is_it =
            |(known, of, _): &(String, Vec<String>, Option<String>)| known == question && of == choices;
        if let Some(at) = answers.iter().position(is_it) {
            let known = answers.remove(at);
            let text = known.2.clone();
            answered.push(known);
            return text;
        }
        if broken.is_some() {
            return None;
        }
        let mut ask = || -> Result<Option<String>, Ended> {
            if store.is_some() {
                // Its question may name accounts.
                talk.unlock()?;
            }
            talk.tell(&Told::Question { text: question.to_owned(), choices: choices.to_vec() })?;
            match talk.hear(TYPING_TIME)?.plain()? {
                Said::Answer { text } => Ok(text),
                Said::Stop => Err(Ended::Gone),
                _ => Err(Broken::Wrong("a question was not answered").into()),
            }
        };
        match ask() {
            Ok(text) => {
                answered.push((question.to_owned(), choices.to_vec(), text.clone()));
                text
            }
            Err(ended) => {
                broken = Some(ended);
                None
            }
        }
    };
    let survey = Survey::of(request, dir, &mut Knowing { store, answer: &mut answer });
    *answers = answered;
    match broken {
        Some(ended) => Err(ended),
        None => Ok(survey?),
    }
}

/// Stops an import if the caller asks for that, or is gone.
fn listen(wire: &Wire, stop: &AtomicBool, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        if !matches!(wire.receive(Some(LISTEN_TIME)), Err(Broken::Silent)) {
            stop.store(true, Ordering::Relaxed);
            return;
        }
    }
}

/// Sends the caller the progress.
struct Telling<'a> {
    wire: &'a Wire,
    place: &'a Place,
    last: Instant,
    names_bad: bool,
    stop: &'a AtomicBool,
}

impl Telling<'_> {
    fn tell(&self, told: &Told) {
        if self.wire.send(told).is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Heard for Telling<'_> {
    fn progress(&mut self, progress: Progress) {
        self.place.is_heard();
        if self.last.elapsed() >= TOLD_EVERY && !self.stop.load(Ordering::Relaxed) {
            self.last = Instant::now();
            self.tell(&Told::Progress(progress));
        }
    }

    fn bad(&mut self, item: &BadItem) {
        if self.names_bad && !self.stop.load(Ordering::Relaxed) {
            self.tell(&Told::Bad(item.clone()));
        }
    }

    fn unread(&mut self, member: &Unread) {
        if self.names_bad && !self.stop.load(Ordering::Relaxed) {
            self.tell(&Told::Unread(member.clone()));
        }
    }
}
