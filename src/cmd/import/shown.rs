//! What a person sees of an import, and what it asks them, wherever the store is kept.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::args::Args;
use super::render::{Reader, duration, grouped, plan_json, plan_text, result_json, result_text, size};
use crate::error::{Error, Kind, Result};
use crate::import::tally::{self, BadItem, Unread};
use crate::own;
use crate::own::import::{Heard, Imported, Plan};
use crate::runtime;
use crate::ui::{Progress, Ui};

/// How often a line of progress is written without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// How often progress changes on a terminal.
const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// Shows what would be imported, and nothing else.
pub(super) fn show_plan(args: &Args, ui: &Ui, plan: &Plan, dir: &Path, reader: Reader) {
    if args.json {
        ui.json(&plan_json(plan));
    } else {
        ui.say(&plan_text(plan, dir, reader));
    }
}

/// Shows the result of an import, and returns the exit code.
pub(super) fn show_result(
    args: &Args,
    ui: &Ui,
    plan: &Plan,
    imported: &Imported,
    kept: (&Path, Option<u64>, Reader),
) -> u8 {
    let Imported { outcomes, stopped, kept_apart, .. } = imported;
    if args.json {
        let mut result = result_json(plan, outcomes, kept.1);
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

pub(super) fn confirm(args: &Args, ui: &Ui) -> Result<()> {
    if args.yes {
        return Ok(());
    }
    if !ui.can_ask() || args.json {
        return Err(Error::new(
            Kind::Refused,
            "import_unconfirmed",
            "Cannot ask whether to import this, because there is no terminal; nothing was imported",
        )
        .hint("Look at it with --dry-run, then add --yes"));
    }
    ask_to_import(ui)
}

/// Asks the person at the terminal.
pub(super) fn ask_to_import(ui: &Ui) -> Result<()> {
    if ui.confirm("Import this?") {
        return Ok(());
    }
    Err(Error::new(Kind::Refused, "not_confirmed", "Nothing was imported").hint("Answer yes, or add --yes"))
}

/// The person's answer to a question of an import.
pub(super) fn answer(
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

/// Does `work`. The first signal sets `stop`, so that the current batch finishes first, and prints a
/// notice at once; the second one ends the process, and the current batch is undone.
pub(super) fn until_a_signal<T>(
    ui: &Ui,
    progress: &Progress<'_>,
    stop: &AtomicBool,
    work: impl FnOnce() -> T,
) -> T {
    until_a_signal_or(ui, progress, stop, || (), work)
}

/// The same, with something else to do at the first signal.
pub(super) fn until_a_signal_or<T>(
    ui: &Ui,
    progress: &Progress<'_>,
    stop: &AtomicBool,
    at_first: impl Fn() + Send + Sync,
    work: impl FnOnce() -> T,
) -> T {
    let on_signal = |count| {
        if count > 1 {
            #[allow(clippy::exit, reason = "the person asked twice")]
            std::process::exit(i32::from(Kind::Interrupted.exit_code()));
        }
        stop.store(true, Ordering::Relaxed);
        at_first();
        progress.tell(ui, "Stopping after this batch … (Ctrl-C again stops at once)");
    };
    runtime::while_signals_are_heard(on_signal, work)
}

/// The file that lists what could not be read.
pub(super) struct Report {
    path: PathBuf,
    to: std::io::BufWriter<std::fs::File>,
    failed: Option<std::io::Error>,
}

impl Report {
    pub(super) fn new(path: &Path) -> Result<Self> {
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
        .hint("Name a file in a folder that you can write to: --report FILE")
}

/// The progress that the person sees.
pub(super) struct Shown<'a> {
    ui: &'a Ui,
    progress: &'a Progress<'a>,
    /// Whether the person was told that the import stops.
    stop: &'a AtomicBool,
    began: Instant,
    last: Instant,
    report: Option<Report>,
}

impl<'a> Shown<'a> {
    pub(super) fn new(
        ui: &'a Ui,
        progress: &'a Progress<'a>,
        stop: &'a AtomicBool,
        report: Option<Report>,
    ) -> Self {
        Self { ui, progress, stop, began: Instant::now(), last: Instant::now(), report }
    }

    /// # Errors
    /// `import_report`.
    pub(super) fn end(self) -> Result<()> {
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
