//! Looks at what a person named: which formats recognise which members, whose data they are, and what
//! would be imported.
//!
//! Nothing is written here, because a person sees the plan first.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;

use super::account::{self, Choice, Known};
use super::apart::{Bytes, Copies};
use super::digest;
use super::earlier::{Before, Earlier};
use super::format::{
    self, Ask, Bad, DateOrder, End, Format, Out, PEEK, Parsed, Peek, Plan, Raw, ReadFrom, Refused, Sure,
    Unit, Whose,
};
use super::kind_of_file;
use super::refresh::{Seen, folder_of};
use super::replaced::{self, Doubt};
use crate::advice::{Command, Hint};
use crate::archive::{Kind, LeftOut, Member, Received, Skipped, Source};
use crate::error::{Error, Kind as ErrorKind, Result};
use crate::text::shell_word;
use crate::vault::declaration::Connector;
use crate::vault::store::Store;
use crate::vault::store::ledger::Settings;

/// How many bytes of the beginnings of members are kept for a plan: with very many members, later
/// beginnings are shorter or empty.
const HEADS: usize = 32 << 20;
/// What is kept of a member's beginning if there is no room for all of it.
const SHORT_HEAD: usize = 512;
/// The code for a source that breaks off before it can be planned.
const UNREADABLE: &str = "import_unreadable";
/// The code for a source that is not what its format reads.
const UNFIT: &str = "import_unfit";
/// The code for a source about which a question is open.
const QUESTION: &str = "import_question";
/// Why an item or a member is not read if a format panics.
const PANICKED: &str = "panicked";
/// Why a member is not recognised, if nothing more is known.
const UNKNOWN: &str = "its contents match no format";
/// Why a member without contents is left out.
const EMPTY: &str = "it is empty";
/// The most questions of one plan.
const MAX_QUESTIONS: usize = 8;
/// The most members that are planned one by one.
const MOST_ALONE: usize = 1000;
/// The most members that an error or a message names.
const MOST_NAMED: usize = 10;

/// What to import, and how.
#[derive(Clone)]
pub struct Request {
    /// Files, folders and archives.
    pub paths: Vec<Named>,
    /// The zone of times without one, if the person named it.
    pub zone: Option<TimeZone>,
    /// The zone of the person's computer, if it differs from that of this one.
    pub own_zone: Option<TimeZone>,
    /// The order of the numbers in dates, if the person named it.
    pub date_order: Option<DateOrder>,
    /// Leave out what is older, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Keep copies of attachments in the store.
    pub copies_attachments: bool,
}

/// A file, folder or archive to import from.
#[derive(Clone)]
pub struct Named {
    /// Where it is.
    pub path: PathBuf,
    /// The formats to look for.
    pub formats: Vec<&'static dyn Format>,
    /// Whether the person named the only format.
    pub is_as: bool,
    /// Whose data it is, if the person named an account.
    pub account: Option<String>,
    /// Its content, if a program handed it over that may read it.
    pub received: Option<Arc<Received>>,
    /// What is known about it, if nobody named it: anything new in it is not imported.
    pub before: Option<Arc<Seen>>,
}

/// Knows the accounts of earlier imports, and answers the questions of formats.
pub trait Adviser {
    /// The settings of a connection.
    fn settled(&self, connection: &str) -> Option<Settings>;

    /// The connectors that the store has.
    fn connectors(&self) -> Vec<Arc<Connector>>;

    /// The store, if there is one.
    fn store(&self) -> Option<&Store> {
        None
    }

    /// The existing accounts for the kind of source in a job.
    fn accounts(&self, job: &Job) -> Vec<Known>;

    /// One of `choices`, or any text if there are none. `None` if there is no one to ask.
    fn answer(&mut self, question: &str, choices: &[String]) -> Option<String>;
}

/// What would be imported from one source, by one format, for one account.
pub struct Job {
    /// The source.
    pub source: Arc<Source>,
    /// The source as the person typed it.
    pub typed: PathBuf,
    /// The format.
    pub format: &'static dyn Format,
    /// Its plan. Its units are those of [`Job::units`].
    pub plan: Plan,
    /// The members, in reading order.
    pub units: Vec<Member>,
    /// The settings of the account from now on.
    pub settings: Settings,
    /// Whether all of the source could be listed: then anything missing from it is gone.
    pub is_whole: bool,
    /// Items before this time were left out of the source before, and are left out again.
    pub since_ms: Option<i64>,
    /// Members of the source that exist and are left out: they are not gone.
    pub held: Arc<HashSet<String>>,
}

impl Job {
    /// The id of the connection: it is the same for the same account, whichever source it is imported
    /// from.
    pub fn connection(&self) -> String {
        connection_of(&self.plan)
    }

    /// Whether other data is now at the path that was read before, and nothing states whose it is. Databases are
    /// exempt, because a database stays where its program keeps it.
    fn is_replaced(&self, adviser: &dyn Adviser) -> bool {
        let is_replaced =
            |one: &Known| one.name == self.plan.account && one.read == Some(account::Read::Another);
        self.plan.whose.owner.is_none()
            && !self.format.counts_items()
            && adviser.accounts(self).iter().any(is_replaced)
    }

    /// Takes out members that may be another person's now, although nothing states that, and returns them with the reason.
    fn take_doubtful(
        &mut self,
        before: &Seen,
        adviser: &dyn Adviser,
        earlier: &dyn Earlier,
    ) -> Vec<(Doubt, Vec<String>)> {
        let labels = |units: &[Member]| units.iter().map(|member| member.label.clone()).collect();
        // Nothing is known about records that `--since` left out.
        if before.since_ms.is_some() {
            return Vec::new();
        }
        if self.is_replaced(adviser)
            && let Some(doubt) = replaced::doubt(self, earlier)
        {
            let all = labels(&self.units);
            self.units.clear();
            return vec![(doubt, all)];
        }
        // Each file of a folder may have been replaced. A file for each item, as in a Maildir, says too little.
        if self.units.len() < 2 || self.units.len() > MOST_ALONE || self.format.is_of_folder() {
            return Vec::new();
        }
        let is_doubtful = |member: &Member| {
            let alone = self.with_only(member);
            before.reader_of(&member.label).is_some()
                && alone.is_replaced(adviser)
                // New contents alone may be how the file grows: the others show whose it is.
                && replaced::doubt(&alone, earlier) == Some(Doubt::Rewritten)
        };
        let doubtful: Vec<String> = labels(&self.units)
            .into_iter()
            .zip(self.units.iter().map(is_doubtful))
            .filter_map(|(label, is_doubtful): (String, bool)| is_doubtful.then_some(label))
            .collect();
        if doubtful.is_empty() {
            return Vec::new();
        }
        self.units.retain(|member| !doubtful.contains(&member.label));
        self.plan.units = (0..self.units.len()).collect();
        vec![(Doubt::Rewritten, doubtful)]
    }

    /// The same for one of its members.
    fn with_only(&self, member: &Member) -> Self {
        Self {
            source: Arc::clone(&self.source),
            typed: self.typed.clone(),
            format: self.format,
            plan: Plan { units: vec![0], ..self.plan.clone() },
            units: vec![member.clone()],
            settings: self.settings.clone(),
            is_whole: self.is_whole,
            since_ms: self.since_ms,
            held: Arc::clone(&self.held),
        }
    }

    /// Passes the items of a member to `out`, like [`Format::split`].
    ///
    /// # Errors
    /// If it cannot be opened or read, or the format panics.
    pub fn split(
        &self,
        member: &Member,
        copies: Option<Copies<'_>>,
        from: u64,
        out: &mut Out<'_>,
    ) -> io::Result<End> {
        let split = || {
            let bytes = Box::new(Bytes(self.source.member(&member.place)?, copies));
            let mut unit = Unit { label: &member.label, modified_ms: member.modified_ms, bytes };
            self.format.split(&self.plan, &mut unit, from, out)
        };
        catch_unwind(AssertUnwindSafe(split)).unwrap_or_else(|_| Err(io::Error::other(PANICKED)))
    }

    /// The records of an item, like [`Format::parse`].
    ///
    /// # Errors
    /// [`Bad`], also if the format panics.
    pub fn parse(&self, raw: &Raw) -> Result<Parsed, Bad> {
        let parse = || self.format.parse(&self.plan, raw);
        catch_unwind(AssertUnwindSafe(parse)).unwrap_or(Err(Bad(PANICKED)))
    }

    /// How many bytes there are to read, as far as is known.
    pub fn bytes(&self) -> u64 {
        self.units.iter().filter_map(|unit| unit.size).fold(0, u64::saturating_add)
    }
}

fn connection_of(plan: &Plan) -> String {
    format!("cin_{}", digest::name([plan.connector.id.as_bytes(), plan.account.as_bytes()]))
}

/// What was found.
#[derive(Default)]
pub struct Survey {
    /// What would be imported.
    pub jobs: Vec<Job>,
    /// Members that no format recognises, by their source.
    pub unrecognised: Vec<(PathBuf, Skipped)>,
    /// What is left out or cannot be read, by its source.
    pub left_out: Vec<(PathBuf, LeftOut)>,
    /// What known sources have that was not imported from them before; it is not imported now.
    pub news: Vec<New>,
    /// Sources that no longer have anything known in them.
    pub emptied: Vec<PathBuf>,
    /// Questions about known files, which are left out until they are answered.
    pub open: Vec<Open>,
}

/// A question about a file that was imported before, in a folder whose other files are imported.
#[derive(Debug)]
pub struct Open {
    /// Where the file is.
    pub path: PathBuf,
    /// Its path within the folder.
    pub label: String,
    /// The question.
    pub error: Error,
}

/// Something in a known source that is left out until the person decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct New {
    /// The source.
    pub path: PathBuf,
    /// The name of its format for people.
    pub title: &'static str,
    /// Its files.
    pub labels: Vec<String>,
    /// Why it is left out.
    pub why: Why,
}

/// Why something in a known source is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Nothing in its format was imported from there before.
    Format,
    /// No data of this account was imported from there before.
    Account(String),
    /// A question is open.
    Question(String),
    /// It may be another person's now.
    Doubt(Doubt),
}

impl New {
    /// The first names of its files, and how many more there are.
    pub fn names(&self) -> String {
        named(self.labels.iter().map(String::as_str))
    }

    /// The account that it seems to belong to, if that is known.
    pub const fn account(&self) -> Option<&str> {
        match &self.why {
            Why::Account(account) => Some(account.as_str()),
            _ => None,
        }
    }

    /// The question about it, or why the person must look at it.
    pub fn question(&self) -> Option<&str> {
        match &self.why {
            Why::Question(question) => Some(question),
            Why::Doubt(doubt) => Some(doubt.in_words()),
            Why::Format | Why::Account(_) => None,
        }
    }
}

/// The first of some names, and how many more there are.
fn named<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<&str> = names.collect();
    let first = all.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = all.len().saturating_sub(MOST_NAMED);
    if more > 0 { format!("{first} and {more} more") } else { first }
}

impl Survey {
    /// Looks at everything that was named, except the store in `store_dir`.
    ///
    /// # Errors
    /// `import_path`, `import_unrecognised`, `import_format`, `import_question` (77), `import_unfit`, `import_unreadable`.
    pub fn of(request: &Request, store_dir: &Path, adviser: &mut dyn Adviser) -> Result<Self> {
        let mut survey = Self::default();
        for named in &request.paths {
            survey.look_at(named, request, store_dir, &mut *adviser)?;
        }
        Ok(survey)
    }

    /// The store's connectors, as they will be declared by then.
    fn declared(&self, mut known: Vec<Arc<Connector>>) -> Vec<Arc<Connector>> {
        for job in &self.jobs {
            known.retain(|known| known.key != job.plan.connector.key);
            known.push(Arc::clone(&job.plan.connector));
        }
        known
    }

    /// Looks at one more source. If that fails, the survey has nothing from it.
    ///
    /// # Errors
    /// The errors of [`Survey::of`].
    #[allow(clippy::too_many_lines, reason = "one step after the other")]
    pub fn look_at(
        &mut self,
        named: &Named,
        request: &Request,
        store_dir: &Path,
        adviser: &mut dyn Adviser,
    ) -> Result<()> {
        let typed = named.path.as_path();
        let source = match &named.received {
            Some(received) => Source::received(Arc::clone(received)),
            None => Source::open(typed),
        };
        let source = source.map_err(|error| unusable(typed, error))?;
        if source.path() == store_dir || source.path().starts_with(store_dir) {
            let message = format!("{} is the store itself, not something to import", typed.display());
            return Err(
                Error::new(ErrorKind::Usage, "import_path", message).run(Command::new("import <export>"))
            );
        }
        let source = Arc::new(source);
        let mut found: Vec<Recognised> =
            named.formats.iter().map(|format| Recognised::new(*format)).collect();
        let mut unrecognised = Vec::new();
        let left = Cell::new(HEADS);
        let (mut damaged, mut empty) = (Vec::new(), Vec::new());
        let mut left_out = source
            .list(Some(store_dir), &mut |member, bytes| {
                let mut head = Vec::with_capacity(4096);
                let whole = match head_of(bytes, &mut head) {
                    Ok(whole) => whole,
                    Err(error) => {
                        damaged.push(Skipped { label: member.label, why: error.to_string() });
                        return Ok(());
                    }
                };
                let peek = Peek { label: &member.label, head: &head, is_whole: whole };
                let sure = |one: &Recognised| one.format.sniff(&peek);
                // Of equally sure formats, the first in the list wins.
                let surest = || {
                    found
                        .iter()
                        .enumerate()
                        .filter_map(|(at, one)| Some((at, sure(one)?)))
                        .reduce(|best, other| if other.1 > best.1 { other } else { best })
                };
                let before = named.before.as_ref().and_then(|before| before.reader_of(&member.label));
                let as_before = before.and_then(|name| {
                    let at = found.iter().position(|one| one.format.name() == name)?;
                    Some((at, sure(&found[at])?))
                });
                let best: Option<(usize, Sure)> = as_before.or_else(surest);
                if let Some((at, _)) = best {
                    head.truncate(if left.get() >= head.len() {
                        head.len()
                    } else {
                        SHORT_HEAD.min(left.get())
                    });
                    head.shrink_to_fit();
                    left.set(left.get() - head.len());
                    found[at].members.push((member, head));
                } else if whole && head.is_empty() {
                    empty.push(Skipped { label: member.label, why: EMPTY.to_owned() });
                } else {
                    let why = why_unrecognised(named, &peek).unwrap_or_else(|| UNKNOWN.to_owned());
                    unrecognised.push(Skipped { label: member.label, why });
                }
                Ok(())
            })
            .map_err(|error| unusable(typed, error))?;
        left_out.unreadable.append(&mut damaged);
        left_out.skipped.append(&mut empty);
        // A format that would read what it does not claim, if the person named it.
        let mut would_read = None;
        if !named.is_as {
            let is_only = found.len() == 1;
            for one in &mut found {
                let unclaimed = one.take_unclaimed(is_only);
                let (empty, others): (Vec<_>, Vec<_>) =
                    unclaimed.into_iter().partition(|(member, _)| member.size == Some(0));
                left_out.skipped.extend(
                    empty
                        .into_iter()
                        .map(|(member, _)| Skipped { label: member.label, why: EMPTY.to_owned() }),
                );
                if !others.is_empty() {
                    would_read = would_read.or(Some(one.format));
                }
                unrecognised.extend(others.into_iter().map(|(member, head)| {
                    let why = one.format.why_not(&peek_of(&member, &head));
                    Skipped { why: why.unwrap_or_else(|| UNKNOWN.to_owned()), label: member.label }
                }));
            }
        }
        fold_documents(&source, &mut unrecognised, &mut left_out.skipped);
        if found.iter().all(|one| one.members.is_empty()) {
            // If everything in a folder is gone, its disk may not be mounted: nothing is reported as
            // gone.
            if named.before.is_some() && source.kind() == Kind::Folder && left_out.unreadable.is_empty() {
                self.emptied.push(typed.to_owned());
                return Ok(());
            }
            return Err(unrecognised_error(named, &left_out, &unrecognised, would_read));
        }
        leave_to_chats(&source, &mut found, &mut unrecognised);
        let before = (self.jobs.len(), self.news.len(), self.open.len());
        let looked = self.plan_all(found, &source, named, request, adviser, &mut left_out);
        if let Err(error) = looked {
            self.jobs.truncate(before.0);
            self.news.truncate(before.1);
            self.open.truncate(before.2);
            return Err(error);
        }
        // Nor is what was imported before and is left out now.
        let held = self.news[before.1..].iter().flat_map(|new| &new.labels);
        let held = held.chain(left_out.skipped.iter().map(|one| &one.label));
        let held = held.chain(self.open[before.2..].iter().map(|open| &open.label));
        let held: Arc<HashSet<String>> = Arc::new(held.cloned().collect());
        for job in &mut self.jobs[before.0..] {
            job.held = Arc::clone(&held);
        }
        self.unrecognised.extend(unrecognised.into_iter().map(|one| (typed.to_owned(), one)));
        self.left_out.push((typed.to_owned(), left_out));
        Ok(())
    }

    /// Plans what the formats recognise in a source.
    fn plan_all(
        &mut self,
        found: Vec<Recognised>,
        source: &Arc<Source>,
        named: &Named,
        request: &Request,
        adviser: &mut dyn Adviser,
        left_out: &mut LeftOut,
    ) -> Result<()> {
        let mut first_refused = None;
        let jobs_before = (self.jobs.len(), self.news.len(), self.open.len());
        for mut one in found.into_iter().filter(|one| !one.members.is_empty()) {
            let before = named.before.as_deref();
            let title = one.format.title();
            let new = |labels: Vec<String>, why: Why| New { path: named.path.clone(), title, labels, why };
            if before.is_some_and(|before| !before.has_format(one.format.name())) {
                self.news.push(new(one.labels(), Why::Format));
                continue;
            }
            if let Some(before) = before {
                for (account, labels) in one.drop_of_others(source, named, request, before, adviser) {
                    self.news.push(new(labels, Why::Account(account)));
                }
                if one.members.is_empty() {
                    continue;
                }
            }
            let known = self.declared(adviser.connectors());
            let planned = match one.plan(source, named, request, &self.jobs, known.clone(), adviser) {
                // Archives that broke off while they were listed cannot be read completely: the rest is
                // planned without them.
                Err(error) if error.code() == UNREADABLE && one.drop_within(&left_out.unreadable) => {
                    one.plan(source, named, request, &self.jobs, known.clone(), adviser)
                }
                planned => planned,
            };
            // Nobody can answer a question about some of the files: the others are read without them. Others of them may
            // leave the same question open together.
            let planned = match (planned, before) {
                (Err(error), Some(before)) if error.code() == QUESTION && source.kind() != Kind::File => {
                    let looked = (source, named, request);
                    self.plan_decided(&mut one, looked, before, error, &known, adviser)
                }
                (planned, _) => planned,
            };
            let planned = match planned {
                // One file that does not fit does not keep the others out; it is reported.
                Err(error) if is_refusal(&error) && source.kind() != Kind::File => {
                    let known = self.declared(adviser.connectors());
                    let refused = one.drop_refused(source, named, request);
                    let rest = if one.members.is_empty() || refused.is_empty() {
                        None
                    } else {
                        one.plan(source, named, request, &self.jobs, known, adviser).ok()
                    };
                    let why = refused.first().map(|one| format!("{}: {}", one.label, one.why));
                    left_out.skipped.extend(refused);
                    if rest.is_none() {
                        let message = error.message().to_owned();
                        let together = one.members.drain(..);
                        left_out.skipped.extend(
                            together.map(|(member, _)| Skipped { label: member.label, why: message.clone() }),
                        );
                        first_refused = first_refused.or(Some(match why {
                            Some(why) => refusal(error.code(), &named.path, &why),
                            None => error,
                        }));
                    }
                    Ok(rest.unwrap_or_default())
                }
                planned => planned,
            };
            let is_whole = left_out.unreadable.is_empty();
            let since_ms = before.and_then(|before| before.since_ms);
            for mut job in planned? {
                if let Some(before) = before {
                    if !before.has_connection(&job.connection()) {
                        let labels = job.units.into_iter().map(|member| member.label).collect();
                        self.news.push(new(labels, Why::Account(job.plan.account)));
                        continue;
                    }
                    let earlier = Before { store: adviser.store(), jobs: &self.jobs };
                    for (doubt, labels) in job.take_doubtful(before, adviser, &earlier) {
                        self.news.push(new(labels, Why::Doubt(doubt)));
                    }
                    if job.units.is_empty() {
                        continue;
                    }
                }
                self.jobs.push(Job { is_whole, since_ms, ..job });
            }
        }
        let is_nothing = jobs_before == (self.jobs.len(), self.news.len(), self.open.len());
        match first_refused.filter(|_| is_nothing) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Plans the files that leave no question open. The others are left out with their questions.
    fn plan_decided(
        &mut self,
        one: &mut Recognised,
        (source, named, request): (&Arc<Source>, &Named, &Request),
        before: &Seen,
        mut error: Error,
        known: &[Arc<Connector>],
        adviser: &dyn Adviser,
    ) -> Result<Vec<Job>> {
        loop {
            let open = one.take_undecided((source, named, request), &error, &self.jobs, known, adviser);
            for Undecided { label, path, error } in open {
                if before.reader_of(&label).is_some() {
                    self.open.push(Open { path, label, error });
                } else {
                    let why = Why::Question(error.message().to_owned());
                    self.news.push(New { path, title: one.format.title(), labels: vec![label], why });
                }
            }
            if one.members.is_empty() {
                return Ok(Vec::new());
            }
            let silent = &mut Silent(adviser);
            match one.plan(source, named, request, &self.jobs, known.to_vec(), silent) {
                Err(again) if again.code() == QUESTION => error = again,
                planned => return planned,
            }
        }
    }
}

/// Gives a format the files that it claims as parts of its members: a table that was sent in a chat is
/// not one of the person's tables.
fn leave_to_chats(source: &Arc<Source>, found: &mut [Recognised], unrecognised: &mut Vec<Skipped>) {
    for at in 0..found.len() {
        if found[at].members.is_empty() {
            continue;
        }
        let rest = found.iter().enumerate().filter(|(of, _)| *of != at);
        let of_others = rest.flat_map(|(_, one)| one.members.iter().map(|(member, _)| member.label.as_str()));
        let others: Vec<&str> = of_others.chain(unrecognised.iter().map(|one| one.label.as_str())).collect();
        let format = found[at].format;
        // A member that cannot be read is reported when it is planned.
        let parts = found[at].with(source, |members| format.companions(members, &others)).unwrap_or_default();
        if parts.is_empty() {
            continue;
        }
        let parts: HashSet<String> =
            parts.into_iter().filter_map(|part| others.get(part).map(|label| (*label).to_owned())).collect();
        for (of, one) in found.iter_mut().enumerate() {
            if of != at {
                one.members.retain(|(member, _)| !parts.contains(&member.label));
            }
        }
        unrecognised.retain(|one| !parts.contains(&one.label));
    }
}

/// Names a document that is an archive, instead of its parts.
fn fold_documents(source: &Source, unrecognised: &mut Vec<Skipped>, left_out: &mut Vec<Skipped>) {
    let mut documents: BTreeMap<String, kind_of_file::FileKind> = BTreeMap::new();
    for one in &*unrecognised {
        if let Some((place, kind)) = kind_of_file::around(&one.label)
            && (!place.is_empty() || source.kind() == Kind::Archive)
        {
            documents.entry(place.to_owned()).or_insert(kind);
        }
    }
    if documents.is_empty() {
        return;
    }
    let is_part = |one: &mut Skipped| {
        let folders = std::iter::successors(Some(one.label.as_str()), |label| {
            (!label.is_empty()).then(|| label.rsplit_once('/').map_or("", |(folder, _)| folder))
        });
        folders.skip(1).any(|folder| documents.contains_key(folder))
    };
    unrecognised.retain_mut(|one| !is_part(one));
    left_out.retain_mut(|one| !is_part(one));
    let name = source.path().file_name().unwrap_or_default().to_string_lossy();
    unrecognised.extend(documents.into_iter().map(|(place, kind)| Skipped {
        label: if place.is_empty() { name.clone().into_owned() } else { place },
        why: kind.in_words(),
    }));
}

/// Why no format recognises a member, if a reason is known.
fn why_unrecognised(named: &Named, peek: &Peek<'_>) -> Option<String> {
    match kind_of_file::of(peek.head) {
        Some(kind) => Some(kind.in_words()),
        None => meant_as(named, peek.label)?.why_not(peek),
    }
}

/// What [`Format::sniff`] saw of a member, as far as it was kept.
fn peek_of<'a>(member: &'a Member, head: &'a [u8]) -> Peek<'a> {
    Peek { label: &member.label, head, is_whole: member.size == Some(head.len() as u64) }
}

/// The format that a member seems to be intended as: the one that the person named, or one whose files
/// have this ending.
fn meant_as(named: &Named, label: &str) -> Option<&'static dyn Format> {
    if named.is_as {
        return named.formats.first().copied();
    }
    let (_, end) = label.rsplit_once('.')?;
    let name = match end.to_ascii_lowercase().as_str() {
        "csv" | "tsv" | "tab" => "csv",
        "jsonl" | "ndjson" => "jsonl",
        _ => return None,
    };
    named.formats.iter().copied().find(|format| format.name() == name)
}

/// A file that leaves a question open, and the question.
struct Undecided {
    label: String,
    /// Where the file is, or its source if it is not a separate file.
    path: PathBuf,
    error: Error,
}

/// Someone who answers no question: a file that is looked at alone must not raise it again.
struct Silent<'a>(&'a dyn Adviser);

impl Adviser for Silent<'_> {
    fn settled(&self, connection: &str) -> Option<Settings> {
        self.0.settled(connection)
    }

    fn connectors(&self) -> Vec<Arc<Connector>> {
        self.0.connectors()
    }

    fn store(&self) -> Option<&Store> {
        self.0.store()
    }

    fn accounts(&self, job: &Job) -> Vec<Known> {
        self.0.accounts(job)
    }

    fn answer(&mut self, _: &str, _: &[String]) -> Option<String> {
        None
    }
}

/// What one format recognises in a source.
struct Recognised {
    format: &'static dyn Format,
    members: Vec<(Member, Vec<u8>)>,
}

impl Recognised {
    const fn new(format: &'static dyn Format) -> Self {
        Self { format, members: Vec::new() }
    }

    fn labels(&self) -> Vec<String> {
        self.members.iter().map(|(member, _)| member.label.clone()).collect()
    }

    /// Takes out what its format does not claim. If this is the only format to look for, the source was imported with
    /// it before; if it claims nothing, the person had named it.
    fn take_unclaimed(&mut self, is_only: bool) -> Vec<(Member, Vec<u8>)> {
        let peeks: Vec<Peek<'_>> = self.members.iter().map(|(member, head)| peek_of(member, head)).collect();
        let claims = self.format.claims(&peeks);
        if claims.iter().all(|is_own| *is_own) || is_only && claims.iter().all(|is_own| !is_own) {
            return Vec::new();
        }
        let mut claims = claims.into_iter();
        self.members.extract_if(.., |_| claims.next() == Some(false)).collect()
    }

    /// Takes out the files that leave a question open even alone, or all of them if only all together do.
    fn take_undecided(
        &mut self,
        (source, named, request): (&Arc<Source>, &Named, &Request),
        together: &Error,
        jobs: &[Job],
        known: &[Arc<Connector>],
        adviser: &dyn Adviser,
    ) -> Vec<Undecided> {
        let mut open = Vec::new();
        let of_file = |member: &Member| Named {
            path: if member.is_file { source.path().join(&member.label) } else { named.path.clone() },
            ..named.clone()
        };
        if self.members.len() <= MOST_ALONE {
            for one in std::mem::take(&mut self.members) {
                let named = of_file(&one.0);
                let alone = Self { format: self.format, members: vec![one] };
                let planned = alone.plan(source, &named, request, jobs, known.to_vec(), &mut Silent(adviser));
                match planned {
                    Err(error) if error.code() == QUESTION => {
                        let labels = alone.members.into_iter().map(|(member, _)| member.label);
                        open.extend(
                            labels
                                .map(|label| (label, named.path.clone()))
                                .zip([error])
                                .map(|((label, path), error)| Undecided { label, path, error }),
                        );
                    }
                    _ => self.members.extend(alone.members),
                }
            }
        }
        if open.is_empty() {
            open.extend(self.members.drain(..).map(|(member, _)| Undecided {
                path: of_file(&member).path,
                label: member.label,
                error: together.repeated(),
            }));
        }
        open
    }

    /// Leaves out what is in damaged archives; returns whether something was left out and something
    /// remains.
    fn drop_within(&mut self, damaged: &[Skipped]) -> bool {
        let before = self.members.len();
        let is_within = |label: &str| {
            damaged.iter().any(|one| label.strip_prefix(&one.label).is_some_and(|rest| rest.starts_with('/')))
        };
        self.members.retain(|(member, _)| !is_within(&member.label));
        (1..before).contains(&self.members.len())
    }

    /// Leaves out the files that its format refuses even alone; returns which, and why.
    fn drop_refused(&mut self, source: &Arc<Source>, named: &Named, request: &Request) -> Vec<Skipped> {
        let mut refused = Vec::new();
        for one in std::mem::take(&mut self.members) {
            let alone = Self { format: self.format, members: vec![one] };
            let mut ask = Self::ask_of(source, named, request, Vec::new());
            let planned = alone.plans(source, &mut ask, &super::earlier::Nothing);
            if let Err(Refused::Unfit { why } | Refused::Unreadable(why)) = planned {
                let one = alone.members.into_iter().map(|(member, _)| member.label);
                refused.extend(one.zip([why]).map(|(label, why)| Skipped { label, why }));
            } else {
                self.members.extend(alone.members);
            }
        }
        refused
    }

    /// The files that leave a question open: the first one, and how many more.
    fn undecided_in(&self, source: &Arc<Source>, ask: &Ask, option: &str) -> Option<String> {
        if source.kind() == Kind::File {
            return None;
        }
        let is_open = |one: &&(Member, Vec<u8>)| {
            let alone = Self { format: self.format, members: vec![(*one).clone()] };
            let planned = alone.plans(source, &mut ask.clone(), &super::earlier::Nothing);
            matches!(planned, Err(Refused::Undecided { option: open, .. }) if open == option)
        };
        let open: Vec<&str> =
            self.members.iter().filter(is_open).map(|(member, _)| member.label.as_str()).collect();
        match open.as_slice() {
            [] => None,
            [one] => Some((*one).to_owned()),
            [first, more @ ..] => Some(format!("{first} and {} more", more.len())),
        }
    }

    /// Leaves out new files that name another owner than what was read from the source before; returns
    /// the owner and the files.
    fn drop_of_others(
        &mut self,
        source: &Arc<Source>,
        named: &Named,
        request: &Request,
        before: &Seen,
        adviser: &dyn Adviser,
    ) -> Vec<(String, Vec<String>)> {
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, (member, _)) in self.members.iter().enumerate() {
            let is_known = before.reader_of(&member.label).is_some()
                || self.format.is_of_folder() && before.has_folder_of(&member.label);
            if !is_known {
                let group = if self.format.is_of_folder() { folder_of(&member.label) } else { &member.label };
                groups.entry(group).or_default().push(at);
            }
        }
        let (mut others, mut dropped) = (Vec::new(), HashSet::<usize>::new());
        for group in groups.into_values() {
            let members = group.iter().map(|at| self.members[*at].clone()).collect();
            let alone = Self { format: self.format, members };
            // A file that says nothing alone may do so together with the others.
            let mut ask = Self::ask_of(source, named, request, Vec::new());
            let plans = alone.plans(source, &mut ask, &super::earlier::Nothing);
            for plan in plans.unwrap_or_default() {
                let Some(owner) = plan.whose.owner.clone().filter(|_| plan.whose.is_sure) else { continue };
                let job = alone.job(source, &named.path, plan, Settings::default());
                let known = adviser.accounts(&job);
                let is_theirs = |one: &Known| one.name == owner || one.owners.contains_key(&owner);
                let is_of_source = |one: &Known| {
                    let plan = Plan { account: one.name.clone(), ..job.plan.clone() };
                    before.has_connection(&connection_of(&plan))
                };
                if !known.iter().any(|one| is_of_source(one) && is_theirs(one)) {
                    let labels = group.iter().map(|at| self.members[*at].0.label.clone());
                    others.push((owner, labels.collect()));
                    dropped.extend(&group);
                    break;
                }
            }
        }
        let mut at = 0..;
        self.members.retain(|_| at.next().is_some_and(|at| !dropped.contains(&at)));
        others
    }

    /// What is known before anything is asked.
    fn ask_of(source: &Source, named: &Named, request: &Request, known: Vec<Arc<Connector>>) -> Ask {
        let name = source.path().file_name().unwrap_or_default();
        Ask {
            account: named.account.clone(),
            zone: request.zone.clone().or_else(|| request.own_zone.clone()).unwrap_or_else(TimeZone::system),
            date_order: request.date_order,
            is_order_typed: request.date_order.is_some(),
            order_before: None,
            known,
            source_name: name.to_string_lossy().into_owned(),
            source_path: source.path().to_owned(),
            is_file: source.kind() == Kind::File,
        }
    }

    fn plan(
        &self,
        source: &Arc<Source>,
        named: &Named,
        request: &Request,
        jobs: &[Job],
        known: Vec<Arc<Connector>>,
        adviser: &mut dyn Adviser,
    ) -> Result<Vec<Job>> {
        let typed = named.path.as_path();
        let mut ask = Self::ask_of(source, named, request, known);
        let mut plans = self.ask(source, named, &mut ask, jobs, adviser)?;
        let is_by_file = self.format.is_by_file();
        if ask.account.is_none() {
            if is_by_file {
                plans = self.by_reader(source, typed, plans, adviser);
            }
            let chosen = plans.iter().map(|plan| self.choose(source, named, plan, adviser));
            let chosen = chosen.collect::<Result<Vec<_>>>()?;
            for (plan, (account, why, is_anothers)) in plans.iter_mut().zip(chosen) {
                plan.account = account;
                plan.whose.note = why.or(plan.whose.note.take());
                // The new files do not become the owner's by that.
                if is_anothers {
                    plan.whose = Whose { owner: None, is_sure: false, note: plan.whose.note.take() };
                }
            }
        }
        if is_by_file {
            plans = joined(plans);
        }
        let mut made: Vec<Job> = Vec::new();
        for (at, mut plan) in plans.into_iter().enumerate() {
            // The account's settings from earlier imports stay, unless the person changes them now.
            let settled = adviser.settled(&connection_of(&plan)).unwrap_or_default();
            let mut again = ask.clone();
            if request.zone.is_none()
                && let Some(zone) = settled.zone.as_deref().and_then(|zone| TimeZone::get(zone).ok())
            {
                again.zone = zone;
            }
            let order_before = settled.date_order.as_deref().and_then(date_order);
            if request.date_order.is_none() && settled.date_order.is_some() {
                again.date_order = order_before;
            } else {
                again.order_before = order_before.filter(|before| Some(*before) != request.date_order);
            }
            if is_by_file {
                plan.zone = again.zone.clone();
            } else if again.zone != ask.zone
                || again.date_order != ask.date_order
                || again.order_before != ask.order_before
            {
                let found = self.ask(source, named, &mut again, jobs, adviser)?;
                // The same members in the same order give the same accounts, unless another date order
                // makes other chats.
                if let Some(found) = found.into_iter().nth(at).filter(|found| found.units == plan.units) {
                    plan = Plan { account: plan.account, whose: plan.whose, ..found };
                }
            }
            let settings = Settings {
                zone: plan.zone.iana_name().map(str::to_owned),
                date_order: again.date_order.map(|order| order_name(order).to_owned()),
            };
            made.push(self.job(source, typed, plan, settings));
        }
        Ok(made)
    }

    /// Divides plans so that what an account has read from the source stays in that account, even if the
    /// source now names another owner.
    fn by_reader(
        &self,
        source: &Arc<Source>,
        typed: &Path,
        plans: Vec<Plan>,
        adviser: &dyn Adviser,
    ) -> Vec<Plan> {
        let readers_of = |plan: &Plan, units: &[usize]| {
            let part = Plan { units: units.to_vec(), ..plan.clone() };
            let mut known = adviser.accounts(&self.job(source, typed, part, Settings::default()));
            known.retain(|one| one.read == Some(account::Read::This));
            known
        };
        let mut all = Vec::new();
        for plan in plans {
            let readers = readers_of(&plan, &plan.units);
            if readers.is_empty() || readers.len() == 1 && !readers[0].is_anothers(&plan) {
                all.push(plan);
                continue;
            }
            let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
            for at in &plan.units {
                let label = self.members[*at].0.label.as_str();
                let group = if self.format.is_of_folder() { folder_of(label) } else { label };
                groups.entry(group).or_default().push(*at);
            }
            let mut parts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            let mut rest = Vec::new();
            for units in groups.into_values() {
                match readers_of(&plan, &units).as_slice() {
                    [one] => parts.entry(one.name.clone()).or_default().extend(units),
                    _ => rest.extend(units),
                }
            }
            // What is new goes with other data of the same person.
            let with = readers.iter().filter(|one| parts.contains_key(&one.name) && !one.is_anothers(&plan));
            let with = with.max_by_key(|one| (one.is_owners(&plan), parts[&one.name].len()));
            let with = with.and_then(|one| parts.get_mut(&one.name));
            match with {
                Some(units) => units.append(&mut rest),
                None if rest.is_empty() => {}
                None => all.push(Plan { units: rest, ..plan.clone() }),
            }
            all.extend(parts.into_values().map(|mut units| {
                units.sort_unstable();
                Plan { units, ..plan.clone() }
            }));
        }
        all
    }

    /// The account of a plan if the person named none, why it differs from what the files say, and
    /// whether it certainly belongs to another person.
    fn choose(
        &self,
        source: &Arc<Source>,
        named: &Named,
        plan: &Plan,
        adviser: &mut dyn Adviser,
    ) -> Result<(String, Option<String>, bool)> {
        let known = adviser.accounts(&self.job(source, &named.path, plan.clone(), Settings::default()));
        match account::choose(plan, &known) {
            Choice::Inferred => Ok((plan.account.clone(), None, false)),
            Choice::Known(account, why) => {
                let is_anothers = |one: &Known| one.name == account && one.is_anothers(plan);
                let owner = plan.whose.owner.as_deref().filter(|_| self.format.is_by_file());
                if let Some(owner) = owner.filter(|_| known.iter().any(is_anothers)) {
                    let note = format!(
                        "The files of {owner} stay in the account {account}: {why}. To keep them in a \
                         separate account: pdpp provider forget {}, then import all of it again.",
                        shell_word(&account),
                    );
                    return Ok((account, Some(note), true));
                }
                let note = format!("The account is {account}: {why}. --account NAME names another.");
                Ok((account, Some(note), false))
            }
            Choice::Ask(choices) => {
                let question = match &plan.whose.owner {
                    Some(owner) => {
                        format!("The files seem to belong to {owner}. Which account do they go into?")
                    }
                    None => "Which account do the files go into?".to_owned(),
                };
                let error = || undecided(named, &question, "--account", &choices);
                let answer = adviser.answer(&question, &choices).ok_or_else(error)?;
                let note = format!("The account is {answer}, as you said.");
                Ok((answer, Some(note), false))
            }
        }
    }

    /// Makes the plans, and asks as many questions as that needs.
    fn ask(
        &self,
        source: &Arc<Source>,
        named: &Named,
        ask: &mut Ask,
        jobs: &[Job],
        adviser: &mut dyn Adviser,
    ) -> Result<Vec<Plan>> {
        let typed = named.path.as_path();
        for _ in 0..MAX_QUESTIONS {
            let planned = self.plans(source, ask, &Before { store: adviser.store(), jobs });
            match planned {
                Ok(plans) => return Ok(plans),
                Err(Refused::Undecided { question, option, choices }) => {
                    // The person answered it for the same files before.
                    let labels = || self.members.iter().map(|(member, _)| member.label.as_str());
                    if option == "--date-order"
                        && ask.date_order.is_none()
                        && let Some(order) =
                            named.before.as_ref().and_then(|before| before.order_of(labels()))
                    {
                        ask.date_order = Some(order);
                        continue;
                    }
                    let question = match self.undecided_in(source, ask, option) {
                        Some(label) if !question.contains(&label) => format!("{label}: {question}"),
                        _ => question,
                    };
                    let Some(answer) = adviser.answer(&question, &choices) else {
                        return Err(undecided(named, &question, option, &choices));
                    };
                    if !take(ask, option, &answer) {
                        return Err(undecided(named, &question, option, &choices));
                    }
                }
                Err(Refused::Unfit { why }) => return Err(refusal(UNFIT, typed, &why)),
                Err(Refused::Unreadable(why)) => return Err(refusal(UNREADABLE, typed, &why)),
            }
        }
        let message = format!("{} leaves too many questions open", typed.display());
        Err(Error::failed(UNFIT, message).run(Command::new("import --help")))
    }

    /// The plans that the format makes for the members.
    fn plans(
        &self,
        source: &Arc<Source>,
        ask: &mut Ask,
        earlier: &dyn Earlier,
    ) -> Result<Vec<Plan>, Refused> {
        self.with(source, |members| self.format.plan_beside(members, ask, earlier))
    }

    /// The result of `work` for the members.
    fn with<T>(&self, source: &Arc<Source>, work: impl FnOnce(&[format::Member<'_>]) -> T) -> T {
        type Open<'a> = Box<dyn Fn() -> io::Result<Box<dyn ReadFrom + Send>> + 'a>;
        let openers: Vec<Open<'_>> = self
            .members
            .iter()
            .map(|(member, _)| {
                Box::new(move || {
                    Ok(Box::new(Bytes(source.member(&member.place)?, None)) as Box<dyn ReadFrom + Send>)
                }) as Open<'_>
            })
            .collect();
        let members: Vec<format::Member<'_>> = self
            .members
            .iter()
            .zip(&openers)
            .map(|((member, head), open)| format::Member {
                label: &member.label,
                head,
                size: member.size,
                modified_ms: member.modified_ms,
                open: open.as_ref(),
            })
            .collect();
        work(&members)
    }

    fn job(&self, source: &Arc<Source>, typed: &Path, mut plan: Plan, settings: Settings) -> Job {
        let mut order = plan.units.clone();
        order.retain(|at| *at < self.members.len());
        if source.kind() == Kind::Archive {
            // A compressed stream is read forward: in another order it would be read once for each
            // member.
            order.sort_unstable();
        }
        order.dedup();
        let units = order.iter().map(|at| self.members[*at].0.clone()).collect();
        plan.units = (0..order.len()).collect();
        Job {
            source: Arc::clone(source),
            typed: typed.to_owned(),
            format: self.format,
            plan,
            units,
            settings,
            is_whole: true,
            since_ms: None,
            held: Arc::default(),
        }
    }
}

/// Merges plans of one account.
fn joined(plans: Vec<Plan>) -> Vec<Plan> {
    let mut all: Vec<Plan> = Vec::new();
    for mut plan in plans {
        let Some(first) = all.iter_mut().find(|first| connection_of(first) == connection_of(&plan)) else {
            all.push(plan);
            continue;
        };
        // The plan that has an owner decides whose account it is.
        if first.whose.owner.is_none() {
            std::mem::swap(&mut first.whose, &mut plan.whose);
        }
        let notes = plan.notes.into_iter().chain(plan.whose.note).collect::<Vec<_>>();
        for note in notes {
            if first.whose.note.as_ref() != Some(&note) && !first.notes.contains(&note) {
                first.notes.push(note);
            }
        }
        first.units.extend(plan.units);
        first.units.sort_unstable();
    }
    all
}

/// Reads the beginning of a member; returns whether it is the whole member.
fn head_of(bytes: &mut dyn Read, head: &mut Vec<u8>) -> io::Result<bool> {
    bytes.take(PEEK as u64 + 1).read_to_end(head)?;
    let is_whole = head.len() <= PEEK;
    head.truncate(PEEK);
    Ok(is_whole)
}

/// Applies the answer to a question that an option answers; returns whether it is a valid answer.
fn take(ask: &mut Ask, option: &str, answer: &str) -> bool {
    match option {
        "--account" if !answer.is_empty() => ask.account = Some(answer.to_owned()),
        "--date-order" => match date_order(answer) {
            Some(order) => ask.date_order = Some(order),
            None => return false,
        },
        "--timezone" => match TimeZone::get(answer) {
            Ok(zone) => ask.zone = zone,
            Err(_) => return false,
        },
        _ => return false,
    }
    true
}

const ORDERS: [(&str, DateOrder); 3] =
    [("dmy", DateOrder::DayMonthYear), ("mdy", DateOrder::MonthDayYear), ("ymd", DateOrder::YearMonthDay)];

/// The order with this name: `dmy`.
pub fn date_order(name: &str) -> Option<DateOrder> {
    ORDERS.iter().find(|(known, _)| *known == name).map(|(_, order)| *order)
}

/// The name of an order.
pub fn order_name(order: DateOrder) -> &'static str {
    ORDERS.iter().find(|(_, known)| *known == order).map_or("", |(name, _)| name)
}

fn undecided(named: &Named, question: &str, option: &'static str, choices: &[String]) -> Error {
    let typed = named.path.display();
    let example = choices.first().map_or("<answer>", String::as_str);
    let choices = match choices {
        [] => String::new(),
        some => format!(" ({option} {})", some.join("|")),
    };
    let (message, next) = if named.before.is_some() {
        // Nobody typed its path.
        let next = Command::typed_with(option, example, "import").value(typed.to_string());
        (format!("{typed}: {question}{choices}. It was left out"), next)
    } else {
        let next = Command::typed_with(option, example, "import <export>");
        (format!("{typed}: {question}{choices}. Nothing was imported"), next)
    };
    Error::new(ErrorKind::Refused, QUESTION, message).run(next)
}

/// Why a named source cannot be read, and what to do.
pub fn unusable(typed: &Path, error: io::Error) -> Error {
    let kind = error.kind();
    let message = match kind {
        io::ErrorKind::NotFound => format!("There is no {}; nothing was imported", typed.display()),
        _ => format!("Could not read {}; nothing was imported", typed.display()),
    };
    let failed = Error::failed("import_path", message);
    // The message already says that nothing is there.
    let failed = if kind == io::ErrorKind::NotFound { failed } else { failed.because(error) };
    match kind {
        io::ErrorKind::NotFound => match spelled_alike(typed) {
            Some(near) => {
                let near = Command::new("import").value(near.display().to_string());
                failed.hint(Hint::new("If you mean this one: ").run(near))
            }
            None => failed.hint(Hint::new("Find its path, then run: ").run(Command::new("import <export>"))),
        },
        io::ErrorKind::PermissionDenied => {
            let path = shell_word(&typed.display().to_string()).into_owned();
            failed.hint(if cfg!(windows) {
                format!(
                    "Close the program that has it open, or give yourself permission to read it (see icacls {path}); \
                     then run the same command again"
                )
            } else {
                format!(
                    "Give yourself permission to read it with chmod -R u+rX {path}, then run the same command again"
                )
            })
        }
        _ => failed.hint(anew()),
    }
}

/// Whether a format refused to plan what it received.
fn is_refusal(error: &Error) -> bool {
    matches!(error.code(), UNREADABLE | UNFIT)
}

/// The error for what a format refuses, by its code: it is the wrong kind of file, or it breaks off.
fn refusal(code: &'static str, typed: &Path, why: &str) -> Error {
    let (what, hint) = if code == UNREADABLE {
        ("read", anew())
    } else {
        ("imported", Hint::new("When that is done: ").run(Command::new("import <export>")))
    };
    Error::failed(code, format!("{} cannot be {what}: {why}", typed.display())).hint(hint)
}

/// The hint for a file that breaks off.
fn anew() -> Hint {
    Hint::new("It may be cut off or damaged: export or download it again, and compare its size. Then: ")
        .run(Command::typed_again("import <export>"))
}

/// A file next to the missing path with almost the same name.
fn spelled_alike(typed: &Path) -> Option<PathBuf> {
    const LEAST: f64 = 0.85;
    let name = typed.file_name()?.to_string_lossy().to_lowercase();
    let parent = typed.parent().filter(|parent| !parent.as_os_str().is_empty());
    let beside = std::fs::read_dir(parent.unwrap_or(Path::new("."))).ok()?;
    let likeness =
        |other: &std::ffi::OsStr| strsim::jaro_winkler(&name, &other.to_string_lossy().to_lowercase());
    let near = beside.flatten().map(|entry| entry.file_name()).map(|other| (likeness(&other), other));
    let (_, near) = near.filter(|(likeness, _)| *likeness >= LEAST).max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(parent.map_or_else(|| PathBuf::from(&near), |parent| parent.join(&near)))
}

/// The error if no format recognises anything in a source. `would_read` is a format that would read some of it if the
/// person named it.
fn unrecognised_error(
    named: &Named,
    left_out: &LeftOut,
    unrecognised: &[Skipped],
    would_read: Option<&'static dyn Format>,
) -> Error {
    let typed = named.path.display();
    // A damaged file may be the intended one. The next ones look as if they were intended as something.
    let (unknown, known): (Vec<_>, Vec<_>) = unrecognised.iter().partition(|one| one.why == UNKNOWN);
    let all = left_out.unreadable.iter().chain(known).chain(unknown).chain(&left_out.skipped);
    let why = reasons(&all.collect::<Vec<_>>());
    let anything = || Command::new("import <export>");
    let error = if let Some(format) = named.formats.first().filter(|_| named.is_as) {
        let message = format!("{typed} does not look like {} ({})", format.title(), format.name());
        let without = Command::typed_without("--as", "import <export>");
        let hint = Hint::new("Without --as the contents decide: ").run(without);
        Error::failed("import_format", message).hint(hint)
    } else if why.is_empty() {
        let message = format!("There is nothing to import in {typed}: it is empty; nothing was imported");
        Error::failed("import_unrecognised", message).run(anything())
    } else {
        let message =
            format!("This pdpp does not recognise the format of anything in {typed}; nothing was imported");
        let error = Error::failed("import_unrecognised", message);
        // A file that broke off may be recognised when it is complete.
        if !left_out.unreadable.is_empty() {
            error.hint(anew())
        } else if let Some(format) = would_read {
            let read = Command::new("import").option("--as", format.name()).value(typed.to_string());
            error.hint(Hint::new(format!("To import it as {}: ", format.title())).run(read))
        } else {
            error.run(Command::new("import --help"))
        }
    };
    if why.is_empty() { error } else { error.because(io::Error::other(why)) }
}

/// The reasons for members, each with the names of the members; later members are only counted.
fn reasons(all: &[&Skipped]) -> String {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in all.iter().take(MOST_NAMED) {
        match by_reason.iter_mut().find(|(why, _)| *why == one.why) {
            Some((_, labels)) => labels.push(&one.label),
            None => by_reason.push((&one.why, vec![&one.label])),
        }
    }
    let mut told: Vec<String> =
        by_reason.into_iter().map(|(why, labels)| format!("{}: {why}", labels.join(", "))).collect();
    let more = all.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        told.push(format!("{more} more are not named here"));
    }
    told.join("; ")
}

/// Members that are left out, by reason, for a line of a plan.
pub fn by_reason<'a>(left_out: impl IntoIterator<Item = &'a Skipped>) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in left_out {
        all.entry(&one.why).or_default().push(&one.label);
    }
    all
}
