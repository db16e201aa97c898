//! `pdpp import`: a person's own exports into their store on this machine.

mod render;
#[cfg(target_os = "linux")]
mod separate;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, StyledStr};
use jiff::tz::TimeZone;
use serde_json::json;

use render::{Reader, duration, grouped, plan_json, plan_text, result_json, result_text, size};

use super::Global;
use crate::advice::Command;
use crate::cache::Cache;
use crate::error::{Error, Kind, Result};
use crate::import::formats;
use crate::import::places;
use crate::import::survey::{Named, Survey};
use crate::import::tally::{self, BadItem, Unread, in_sum};
use crate::own;
use crate::own::import::{Heard, Imported, Knowing, Plan, Wanted};
use crate::runtime;
use crate::ui::{Progress, Ui};
use crate::vault::store::Store;
use crate::vault::store::ledger::SourceRow;

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
    #[cfg(target_os = "linux")]
    if let Some(owner) = own::separate::of_this_user(args.data_dir.as_deref())? {
        return separate::run(&owner, args, ui);
    }
    let cache = global.cache()?;
    let dir = own::dir(args.data_dir.as_deref(), &cache)?;
    run_in(&dir, args, &cache, ui).map_err(|error| own::told(&dir, error))
}

/// The same, into the store in `dir`.
fn run_in(dir: &Path, args: &Args, cache: &Cache, ui: &Ui) -> Result<u8> {
    own::check_place(dir)?;
    let wanted = args.wanted()?;
    let known = if own::is_there(dir) { Some(own::open_store(dir)?) } else { None };
    let paths = if args.paths.is_empty() {
        known_paths(known.as_ref(), ui)?
    } else {
        args.paths.iter().map(|path| wanted.named(path)).collect()
    };
    if paths.is_empty() {
        return name_places(args, ui);
    }
    let request = wanted.request(paths)?;
    let progress = ui.progress();
    progress.say("Looking at what is there");
    let mut answer =
        |question: &str, choices: &[String]| answer(ui, &progress, args.can_answer(ui), question, choices);
    let mut knowing = Knowing { store: known.as_ref(), answer: &mut answer };
    let survey = Survey::of(&request, dir, &mut knowing);
    drop(progress);
    let survey = survey?;
    let granted = if known.is_some() { own::granted(dir)? } else { BTreeSet::new() };
    let plan = Plan::of(&survey, &request, &granted);
    if args.dry_run {
        show_plan(args, ui, &plan, dir, Reader::You);
        return Ok(u8::from(plan.has_unreadable()));
    }
    if !args.json || ui.is_interactive() {
        ui.explain(&plan_text(&plan, dir, Reader::You));
    }
    confirm(args, ui)?;
    drop(known);
    let report = args.report.as_deref().map(Report::new).transpose()?;
    let names_bad = report.is_some();
    let stop = AtomicBool::new(false);
    let progress = ui.progress();
    let mut shown = Shown::new(ui, &progress, &stop, report);
    let imported = until_a_signal(ui, &progress, &stop, || {
        own::import::run(dir, &request, &survey, names_bad, &stop, &mut shown)
    });
    let ended = shown.end();
    drop(progress);
    let imported = imported?;
    ended?;
    let all = in_sum(&imported.outcomes);
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
    let bytes = Some(imported.store_bytes);
    Ok(show_result(args, ui, &plan, &imported, (dir, bytes, Reader::You)))
}

/// Shows what would be imported, and nothing else.
fn show_plan(args: &Args, ui: &Ui, plan: &Plan, dir: &Path, reader: Reader) {
    if args.json {
        ui.json(&plan_json(plan));
    } else {
        ui.say(&plan_text(plan, dir, reader));
    }
}

/// Shows what became of an import, and gives the exit code.
fn show_result(
    args: &Args,
    ui: &Ui,
    plan: &Plan,
    imported: &Imported,
    kept: (&Path, Option<u64>, Reader),
) -> u8 {
    let Imported { outcomes, stopped, kept_apart, .. } = imported;
    if args.json {
        let mut result = result_json(outcomes, kept.1);
        result["kept_apart"] = (*kept_apart).into();
        if let Some(stopped) = stopped {
            result["error"] = stopped.to_json()["error"].take();
        }
        ui.json(&result);
    } else {
        ui.say(&result_text(outcomes, *kept_apart, kept, ui.prose_width()));
        if let Some(stopped) = stopped {
            ui.error(stopped);
        }
    }
    match stopped {
        Some(stopped) => stopped.kind().exit_code(),
        None => u8::from(plan.has_unreadable() || tally::is_failure(outcomes)),
    }
}

impl Args {
    fn wanted(&self) -> Result<Wanted> {
        let zone = self.timezone.as_deref().map(own::import::zone).transpose()?;
        let since_ms = match &self.since {
            Some(text) => Some(own::import::since(text, zone.unwrap_or_else(TimeZone::system))?),
            None => None,
        };
        Ok(Wanted {
            format: self.format.clone(),
            account: self.account.clone(),
            timezone: self.timezone.clone(),
            own_zone: None,
            date_order: self.date_order.clone(),
            since_ms,
            copies_attachments: self.copy_attachments,
        })
    }

    /// Whether somebody can be asked a question.
    const fn can_answer(&self, ui: &Ui) -> bool {
        ui.can_ask() && !self.json
    }
}

/// The sources that were imported before and are there still, as what they were imported then.
fn known_paths(known: Option<&Store>, ui: &Ui) -> Result<Vec<Named>> {
    let Some(store) = known else { return Ok(Vec::new()) };
    let mut all: Vec<Named> = Vec::new();
    let mut missing = Vec::new();
    for SourceRow { path, format, .. } in own::import::known_sources(store)? {
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
            None => all.push(Named {
                path,
                formats: format.collect(),
                is_as: false,
                account: None,
                received: None,
            }),
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

/// The answer to a question of an import, from whoever sits at the terminal.
fn answer(
    ui: &Ui,
    progress: &Progress<'_>,
    can_ask: bool,
    question: &str,
    choices: &[String],
) -> Option<String> {
    if !can_ask {
        return None;
    }
    progress.aside(|| {
        if choices.is_empty() {
            return ui.ask(question).ok()?.filter(|answer| !answer.is_empty());
        }
        let picked = ui.pick(question, choices).ok()??;
        choices.get(picked).cloned()
    })
}

/// Does `work`. The first signal sets `stop`, so that the batch at work is finished first, and says so at once; the second one ends
/// the process, and the batch at work is as if it had not begun.
fn until_a_signal<T>(ui: &Ui, progress: &Progress<'_>, stop: &AtomicBool, work: impl FnOnce() -> T) -> T {
    until_a_signal_or(ui, progress, stop, || (), work)
}

/// The same, where something else has to be done at the first signal, too.
fn until_a_signal_or<T>(
    ui: &Ui,
    progress: &Progress<'_>,
    stop: &AtomicBool,
    at_first: impl Fn() + Send + Sync,
    work: impl FnOnce() -> T,
) -> T {
    let on_signal = |count| {
        if count > 1 {
            #[allow(clippy::exit, reason = "somebody asked twice")]
            std::process::exit(i32::from(Kind::Interrupted.exit_code()));
        }
        stop.store(true, Ordering::Relaxed);
        at_first();
        progress.tell(ui, "Stopping after this batch … (Ctrl-C again stops at once)");
    };
    runtime::while_signals_are_heard(on_signal, work)
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
    report: Option<Report>,
}

impl<'a> Shown<'a> {
    fn new(ui: &'a Ui, progress: &'a Progress<'a>, stop: &'a AtomicBool, report: Option<Report>) -> Self {
        Self { ui, progress, stop, began: Instant::now(), last: Instant::now(), report }
    }

    /// # Errors
    /// `import_report`.
    fn end(self) -> Result<()> {
        self.report.map_or(Ok(()), Report::end)
    }
}

impl Heard for Shown<'_> {
    fn progress(&mut self, at: own::import::Progress) {
        let every = if self.ui.is_interactive() { SHOWN_EVERY } else { LINE_EVERY };
        if self.last.elapsed() < every || self.stop.load(Ordering::Relaxed) {
            return;
        }
        self.last = Instant::now();
        let own::import::Progress { bytes, of, items } = at;
        let mut text = format!("{} of {}, {} items", size(bytes), size(of), grouped(items));
        let left = of.saturating_sub(bytes);
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
