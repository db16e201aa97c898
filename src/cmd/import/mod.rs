//! `pdpp import`: a person's own exports into their store on this machine.

mod render;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, StyledStr};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

use render::{duration, grouped, in_sum, plan_json, plan_text, result_json, result_text, size};

use super::Global;
use crate::advice::Command;
use crate::cache::Cache;
use crate::error::{Error, Kind, Result};
use crate::import::account::Known;
use crate::import::format::Format;
use crate::import::formats;
use crate::import::pipeline::{self, Ended, Import, Watch};
use crate::import::places;
use crate::import::resume::{self, Terms};
use crate::import::survey::{self, Adviser, Job, Named, Request, Survey};
use crate::import::tally::{BadItem, Outcome, Unread};
use crate::own;
use crate::runtime;
use crate::ui::{Progress, Ui};
use crate::vault::declaration::Connector;
use crate::vault::store::Store;
use crate::vault::store::ledger::{Ledger, Settings, SourceRow};

/// How often a line of progress is written where nobody watches.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// How often it changes on a terminal.
const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// Import your own exports into a store on this computer
///
/// Files, folders and archives (zip, tgz) are recognised by their contents, read where they are, and left as they are.
/// Nothing leaves this computer, and no agent can read anything before you grant it: `pdpp connect local`. Before anything
/// is written you see what would be imported. The same command again, after an interruption or with newer exports, goes on
/// and updates; without a PATH it reads known sources again.
#[allow(clippy::struct_excessive_bools, reason = "one for each option")]
#[derive(Debug, clap::Args)]
#[command(after_help = after_help())]
pub struct Args {
    /// Files, folders or archives [default: those that were imported before]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Show what would be imported, and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Keep copies of attachments in the store; without it they are read from the export, which has to stay where it is
    #[arg(long)]
    pub copy_attachments: bool,

    /// Read it as this format; it is refused if it is another
    #[arg(long = "as", value_name = "FORMAT", value_parser = PossibleValuesParser::new(names()), hide_possible_values = true)]
    pub format: Option<String>,

    /// Whose data it is: the name of the account
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub account: Option<String>,

    /// The time zone of times that name none, such as Europe/Oslo [default: the account's, else this computer's]
    #[arg(long, value_name = "ZONE")]
    pub timezone: Option<String>,

    /// In which order numbers stand in dates: day, month, year
    #[arg(long, value_name = "ORDER", value_parser = ["dmy", "mdy", "ymd"])]
    pub date_order: Option<String>,

    /// Leave out what is older than this day, YYYY-MM-DD, or than a time of it, YYYY-MM-DDTHH:MM
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,

    /// Where the store is [default: where it was last, else own/ in the cache directory]
    #[arg(long, value_name = "DIR", env = "PDPP_DATA_DIR", hide_env_values = true)]
    pub data_dir: Option<PathBuf>,

    /// Write what could not be read to this file, one JSON object a line; what could not before is tried again
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Import what the plan shows without asking
    #[arg(long)]
    pub yes: bool,

    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

fn names() -> Vec<&'static str> {
    formats::ALL.iter().map(|format| format.name()).collect()
}

fn after_help() -> StyledStr {
    let mut text = String::from(
        "Examples:
  pdpp import --dry-run ~/Downloads/takeout-001.zip   what would be imported
  pdpp import ~/Downloads/takeout-001.zip             import it
  pdpp import                                         read what is known again

Formats:",
    );
    let width = names().iter().map(|name| name.len()).max().unwrap_or(0);
    for format in formats::ALL {
        let _ = write!(text, "\n  {:width$}   {}", format.name(), format.title());
    }
    text.push_str(
        "\n\nEnds with 0 if every file was read to its end, items that could not be read included; with 1 if one was not, \
         nothing was recognised, or no item could be read.",
    );
    text.into()
}

/// Imports.
///
/// # Errors
/// `import_path`, `import_unrecognised`, `import_format`, `import_unfit`, `import_unreadable`, `import_question` (77),
/// `import_unconfirmed` (77), `import_running`, `import_disk_full`, `import_report`, `own_data_dir` (77), `own_store`,
/// `own_damaged`, `interrupted` (130).
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    let cache = global.cache()?;
    let dir = own::dir(args.data_dir.as_deref(), &cache)?;
    run_in(&dir, args, &cache, ui).map_err(|error| own::told(&dir, error))
}

/// The same, into the store in `dir`.
fn run_in(dir: &Path, args: &Args, cache: &Cache, ui: &Ui) -> Result<u8> {
    own::check_place(dir)?;
    let known = if own::is_there(dir) { Some(own::open_store(dir)?) } else { None };
    let paths = if args.paths.is_empty() { known_paths(known.as_ref(), ui)? } else { named_paths(args) };
    if paths.is_empty() {
        return name_places(args, ui);
    }
    let request = request(args, paths)?;
    let progress = ui.progress();
    progress.say("Looking at what is there");
    let can_ask = ui.can_ask() && !args.json;
    let mut terminal = Terminal { ui, progress: &progress, known: known.as_ref(), can_ask };
    let survey = Survey::of(&request, dir, &mut terminal);
    drop(progress);
    let survey = survey?;
    let granted = if known.is_some() { own::granted(dir)? } else { BTreeSet::new() };
    let plan = plan_text(&survey, &request, &granted, dir);
    if args.dry_run {
        if args.json {
            ui.json(&plan_json(&survey, &granted));
        } else {
            ui.say(&plan);
        }
        return Ok(u8::from(has_unreadable(&survey)));
    }
    if !args.json || ui.is_interactive() {
        ui.explain(&plan);
    }
    confirm(args, ui)?;
    drop(known);
    let report = args.report.as_deref().map(Report::new).transpose()?;
    let lock = own::lock(dir)?;
    let store = own::make_store(dir)?;
    let ended = import(ui, &request, &survey, report, &store, dir);
    drop(lock);
    let (outcomes, stopped) = ended?;
    let stopped = stopped.map(|error| own::told(dir, error));
    let all = in_sum(&outcomes);
    // Not where nothing was kept: other commands would look for it there.
    if all.new + all.changed + all.same > 0 {
        let before = own::dir(None, cache)?;
        own::remember(args.data_dir.as_deref(), cache)?;
        if before != dir && own::is_there(&before) {
            ui.explain(&format!(
                "From now on commands mean this store; the one in {} is left as it is, and --data-dir names it",
                before.display()
            ));
        }
    }
    let connections = survey.jobs.iter().map(Job::connection).collect();
    let apart = own::state::mails_kept_apart(&store, &connections)?;
    if args.json {
        let mut result = result_json(&outcomes, store_bytes(dir));
        result["kept_apart"] = apart.into();
        if let Some(stopped) = &stopped {
            result["error"] = stopped.to_json()["error"].take();
        }
        ui.json(&result);
    } else {
        ui.say(&result_text(&outcomes, apart, dir, store_bytes(dir), ui.prose_width()));
        if let Some(stopped) = &stopped {
            ui.error(stopped);
        }
    }
    Ok(match stopped {
        Some(stopped) => stopped.kind().exit_code(),
        None => u8::from(has_unreadable(&survey) || is_failure(&outcomes)),
    })
}

fn request(args: &Args, paths: Vec<Named>) -> Result<Request> {
    let usage = |code, message: String| Error::new(Kind::Usage, code, message);
    let zone = match &args.timezone {
        Some(name) => Some(TimeZone::get(name).map_err(|error| {
            usage("timezone_invalid", format!("`{name}` is not a time zone"))
                .because(error)
                .hint("--timezone Europe/Oslo")
        })?),
        None => None,
    };
    let since_ms = match &args.since {
        Some(text) => {
            let at = since(text, zone.clone().unwrap_or_else(TimeZone::system));
            let at = at.map_err(|error| {
                usage("date_invalid", format!("`{text}` is not a day, nor a time of one"))
                    .because(error)
                    .hint("--since 2026-01-31, or --since 2026-01-31T18:30")
            })?;
            Some(at.as_millisecond())
        }
        None => None,
    };
    Ok(Request {
        paths,
        zone,
        date_order: args.date_order.as_deref().and_then(survey::date_order),
        since_ms,
        copies_attachments: args.copy_attachments,
    })
}

/// A moment: a day from its beginning, a time of a day, or one that names its zone.
fn since(text: &str, zone: TimeZone) -> Result<Timestamp, jiff::Error> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    Ok(text.parse::<jiff::civil::DateTime>()?.to_zoned(zone)?.timestamp())
}

fn named_paths(args: &Args) -> Vec<Named> {
    let is_meant = |format: &&dyn Format| args.format.as_deref().is_none_or(|name| format.name() == name);
    let formats: Vec<&'static dyn Format> = formats::ALL.iter().copied().filter(is_meant).collect();
    let named = |path: &PathBuf| Named {
        path: path.clone(),
        formats: formats.clone(),
        is_as: args.format.is_some(),
        account: args.account.clone(),
    };
    args.paths.iter().map(named).collect()
}

/// The sources that were imported before and are there still, as what they were imported then.
fn known_paths(known: Option<&Store>, ui: &Ui) -> Result<Vec<Named>> {
    let Some(store) = known else { return Ok(Vec::new()) };
    let sources = store.read(|db, _| Ledger(db).sources()).map_err(|error: rusqlite::Error| {
        Error::failed("own_store", "Could not read the store of your own data").because(error)
    })?;
    let mut all: Vec<Named> = Vec::new();
    let mut missing = Vec::new();
    for SourceRow { path, format, .. } in sources {
        let path = PathBuf::from(path);
        if !path.exists() {
            if !missing.contains(&path) {
                ui.note(&format!("{} is not there any more; what was imported stays", path.display()));
                missing.push(path);
            }
            continue;
        }
        let format = formats::ALL.iter().copied().filter(|known| known.name() == format);
        match all.iter_mut().find(|named| named.path == path) {
            Some(named) => named.formats.extend(format),
            None => all.push(Named { path, formats: format.collect(), is_as: false, account: None }),
        }
    }
    Ok(all)
}

/// Nothing was named, and nothing is known: what could be.
fn name_places(args: &Args, ui: &Ui) -> Result<u8> {
    let home = directories::BaseDirs::new();
    let seen = home.map(|home| places::seen(home.home_dir())).unwrap_or_default();
    if seen.is_empty() {
        return Err(Error::new(Kind::Usage, "import_nothing", "There is nothing to import: name an export")
            .run(Command::new("import <export>")));
    }
    if args.json {
        let seen: Vec<_> = seen.iter().map(|(kind, path)| json!({ "kind": kind, "path": path })).collect();
        ui.json(&json!({ "sources": [], "places": seen }));
        return Ok(0);
    }
    let mut text = String::from("Nothing was imported yet. This is here, and was not looked into:");
    for (kind, path) in seen {
        let command = Command::new("import").value(path.display().to_string());
        let _ = write!(text, "\n  {kind}: {command}");
    }
    ui.say(&text);
    Ok(0)
}

fn confirm(args: &Args, ui: &Ui) -> Result<()> {
    if args.yes {
        return Ok(());
    }
    if !ui.can_ask() || args.json {
        return Err(Error::new(
            Kind::Refused,
            "import_unconfirmed",
            "Nobody can be asked whether to import this; nothing was imported",
        )
        .hint("Look at it with --dry-run, then add --yes"));
    }
    if ui.confirm("Import this?") {
        return Ok(());
    }
    Err(Error::new(Kind::Refused, "not_confirmed", "Nothing was imported").hint("Answer yes, or add --yes"))
}

/// What is known of earlier imports, and whoever sits at the terminal.
struct Terminal<'a> {
    ui: &'a Ui,
    progress: &'a Progress<'a>,
    known: Option<&'a Store>,
    can_ask: bool,
}

impl Adviser for Terminal<'_> {
    fn settled(&self, connection: &str) -> Option<Settings> {
        let settled = |db: &rusqlite::Connection, _: &_| Ledger(db).account(connection);
        let found = self.known?.read::<_, rusqlite::Error>(settled).ok()??;
        Some(found.1)
    }

    fn connectors(&self) -> Vec<Arc<Connector>> {
        let all = self.known.and_then(|known| {
            known.read::<_, rusqlite::Error>(|_, catalog| Ok(catalog.connectors.clone())).ok()
        });
        all.unwrap_or_default()
    }

    fn accounts(&self, job: &Job) -> Vec<Known> {
        let known = |store: &Store| store.read(|db, catalog| resume::known_accounts(db, catalog, job)).ok();
        self.known.and_then(known).unwrap_or_default()
    }

    fn answer(&mut self, question: &str, choices: &[String]) -> Option<String> {
        if !self.can_ask {
            return None;
        }
        self.progress.aside(|| {
            if choices.is_empty() {
                return self.ui.ask(question).ok()?.filter(|answer| !answer.is_empty());
            }
            let picked = self.ui.pick(question, choices).ok()??;
            choices.get(picked).cloned()
        })
    }
}

type Imported = (Vec<Outcome>, Option<Error>);

fn import(
    ui: &Ui,
    request: &Request,
    survey: &Survey,
    report: Option<Report>,
    store: &Store,
    dir: &Path,
) -> Result<Imported> {
    store
        .prepare_for_many()
        .map_err(|error| Error::failed("own_store", "Could not write to the store").because(error))?;
    let stop = AtomicBool::new(false);
    let progress = ui.progress();
    let terms = Terms {
        since_ms: request.since_ms,
        copies_attachments: request.copies_attachments,
        names_bad: report.is_some(),
        now_ms: Timestamp::now().as_millisecond(),
    };
    let import = Import { store, dir, terms, stop: &stop, least_free: pipeline::LEAST_FREE };
    let mut watch = Shown {
        ui,
        progress: &progress,
        stop: &stop,
        began: Instant::now(),
        last: Instant::now(),
        total: survey.jobs.iter().map(Job::bytes).fold(0, u64::saturating_add),
        done: (0, 0),
        now: (0, 0),
        report,
    };
    let mut outcomes = Vec::new();
    let mut stopped = None;
    for (path, left_out) in &survey.left_out {
        for one in &left_out.unreadable {
            watch.unread(&Unread { path: path.clone(), member: one.label.clone(), reason: one.why.clone() });
        }
    }
    until_a_signal(ui, &progress, &stop, || {
        for job in &survey.jobs {
            let Ended { outcome, stopped: why } = pipeline::run(&import, job, &mut watch);
            outcomes.push(outcome);
            watch.next();
            if why.is_some() {
                stopped = why;
                break;
            }
        }
    });
    if let Some(report) = watch.report.take() {
        report.end()?;
    }
    Ok((outcomes, stopped))
}

/// Does `work`. The first signal sets `stop`, so that the batch at work is finished first, and says so at once; the second one ends
/// the process, and the batch at work is as if it had not begun.
fn until_a_signal(ui: &Ui, progress: &Progress<'_>, stop: &AtomicBool, work: impl FnOnce()) {
    let on_signal = |count| {
        if count > 1 {
            #[allow(clippy::exit, reason = "somebody asked twice")]
            std::process::exit(i32::from(Kind::Interrupted.exit_code()));
        }
        stop.store(true, Ordering::Relaxed);
        progress.tell(ui, "Stopping after this batch … (Ctrl-C again stops at once)");
    };
    runtime::while_signals_are_heard(on_signal, work);
}

/// The file of what could not be read.
struct Report {
    path: PathBuf,
    to: std::io::BufWriter<std::fs::File>,
    failed: Option<std::io::Error>,
}

impl Report {
    fn new(path: &Path) -> Result<Self> {
        let file = crate::fs::new_report(path).map_err(|error| unwritten(path, error))?;
        Ok(Self { path: path.to_owned(), to: std::io::BufWriter::new(file), failed: None })
    }

    fn line(&mut self, what: &impl serde::Serialize) {
        let line = serde_json::to_string(what).map_err(std::io::Error::other);
        let written = line.and_then(|line| writeln!(self.to, "{}", crate::ui::json_ascii_controls(&line)));
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }

    fn end(mut self) -> Result<()> {
        let flushed = self.to.flush().err();
        match self.failed.or(flushed) {
            Some(error) => Err(unwritten(&self.path, error)),
            None => Ok(()),
        }
    }
}

fn unwritten(path: &Path, error: std::io::Error) -> Error {
    Error::failed("import_report", format!("Could not write the report {}", path.display()))
        .because(error)
        .hint("Name a file in a folder of yours: --report FILE")
}

/// Whoever watches.
struct Shown<'a> {
    ui: &'a Ui,
    progress: &'a Progress<'a>,
    /// Whether the person was told that it ends.
    stop: &'a AtomicBool,
    began: Instant,
    last: Instant,
    total: u64,
    /// Bytes and items of the sources before.
    done: (u64, u64),
    now: (u64, u64),
    report: Option<Report>,
}

impl Shown<'_> {
    fn next(&mut self) {
        self.done = (self.done.0.saturating_add(self.now.0), self.done.1 + self.now.1);
        self.now = (0, 0);
    }
}

impl Watch for Shown<'_> {
    fn progress(&mut self, bytes: u64, items: u64) {
        self.now = (bytes, items);
        let every = if self.ui.is_interactive() { SHOWN_EVERY } else { LINE_EVERY };
        if self.last.elapsed() < every || self.stop.load(Ordering::Relaxed) {
            return;
        }
        self.last = Instant::now();
        let (bytes, items) = (self.done.0.saturating_add(bytes), self.done.1 + items);
        let mut text =
            format!("{} of {}, {} items", size(bytes), size(self.total.max(bytes)), grouped(items));
        let left = self.total.saturating_sub(bytes);
        if bytes > 0 && left > 0 {
            let seconds = u128::from(left) * self.began.elapsed().as_millis() / u128::from(bytes) / 1000;
            let _ = write!(text, ", about {} left", duration(seconds));
        }
        if self.ui.is_interactive() {
            self.progress.say(&text);
        } else {
            self.ui.note(&text);
        }
    }

    fn bad(&mut self, item: &BadItem) {
        if let Some(report) = &mut self.report {
            report.line(item);
        }
    }

    fn unread(&mut self, member: &Unread) {
        if let Some(report) = &mut self.report {
            report.line(member);
        }
    }
}

fn has_unreadable(survey: &Survey) -> bool {
    survey.left_out.iter().any(|(_, left_out)| !left_out.unreadable.is_empty())
}

/// Whether a file was not read to its end, or no item could be read.
fn is_failure(outcomes: &[Outcome]) -> bool {
    let all = in_sum(outcomes);
    let bad = all.bad_in_all() + outcomes.iter().map(|outcome| outcome.known_bad).sum::<u64>();
    outcomes.iter().any(|outcome| !outcome.unread.is_empty()) || (all.read > 0 && bad == all.read)
}

/// What the store takes on the disk.
fn store_bytes(dir: &Path) -> u64 {
    let all = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let copies = std::fs::read_dir(dir.join("blobs")).into_iter().flatten().flatten();
    all.chain(copies)
        .filter_map(|entry| entry.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|found| found.len())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o2_1_a_time_of_a_day_counts_in_the_zone_that_is_named() {
        let oslo = || TimeZone::get("Europe/Oslo").unwrap();
        for (text, wanted) in [
            ("2026-01-31", "2026-01-30T23:00:00Z"),
            ("2026-01-31T18:30", "2026-01-31T17:30:00Z"),
            ("2026-01-31 18:30:05", "2026-01-31T17:30:05Z"),
            ("2026-01-31T18:30:00Z", "2026-01-31T18:30:00Z"),
            ("2026-01-31T18:30:00+05:00", "2026-01-31T13:30:00Z"),
        ] {
            assert_eq!(since(text, oslo()).unwrap(), wanted.parse().unwrap(), "{text}");
        }
        for text in ["", "yesterday", "31.1.2026", "2026-13-01", "18:30"] {
            assert!(since(text, oslo()).is_err(), "{text}");
        }
    }
}
