//! The only writer to stdout and stderr, apart from the MCP transport.
//!
//! Results go to stdout, and everything about the way to them goes to stderr. Text from a provider, a host or a
//! file is escaped on the way ([`crate::text`]). A closed pipe ends output quietly.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, OnceLock};

use crate::advice::{Command, Hint};
use crate::error::{Error, Result};
use crate::secret::Passphrase;
use crate::text;

const MAKE_ROOM: &str = "Check that the disk has room for the output, then run it again";

/// Where a command writes its output.
pub struct Ui {
    out: Mutex<Sink>,
    err: Mutex<Sink>,
    out_is_terminal: bool,
    err_is_terminal: bool,
    can_ask: bool,
    width: OnceLock<u16>,
    lost: AtomicBool,
    done: Mutex<Option<Done>>,
    err_goes_nowhere: OnceLock<bool>,
    has_colour: OnceLock<bool>,
}

/// How the lines of a result look on a terminal with colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Without colour.
    Plain,
    /// What is done now.
    Step,
    /// A question.
    Question,
    /// A call.
    Call,
    /// A refusal.
    Refusal,
    /// Less important details.
    Dim,
}

impl Tone {
    const fn sgr(self) -> Option<&'static str> {
        Some(match self {
            Self::Plain => return None,
            Self::Step => "1",
            Self::Question => "33",
            Self::Call => "36",
            Self::Refusal => "31",
            Self::Dim => "2",
        })
    }
}

/// What a command has done, whether or not its result can be written.
struct Done {
    what: String,
    next: Command,
}

impl Ui {
    /// The process's own stdout and stderr.
    #[allow(clippy::disallowed_methods, reason = "the one place that opens them")]
    pub fn from_process() -> Self {
        let err_is_terminal = std::io::stderr().is_terminal();
        Self {
            out: Mutex::new(Sink::new(Box::new(std::io::stdout()))),
            err: Mutex::new(Sink::new(Box::new(std::io::stderr()))),
            out_is_terminal: is_output_terminal(),
            err_is_terminal,
            can_ask: err_is_terminal && std::io::stdin().is_terminal(),
            // Looked up for the first table: starting `mcp serve` does not need it.
            width: OnceLock::new(),
            lost: AtomicBool::new(false),
            done: Mutex::default(),
            err_goes_nowhere: OnceLock::new(),
            has_colour: OnceLock::new(),
        }
    }

    /// Writes into the caller's buffers: for tests.
    pub fn to_writers(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>, width: u16) -> Self {
        Self {
            out: Mutex::new(Sink::new(out)),
            err: Mutex::new(Sink::new(err)),
            out_is_terminal: false,
            err_is_terminal: false,
            can_ask: false,
            width: OnceLock::from(width),
            lost: AtomicBool::new(false),
            done: Mutex::default(),
            err_goes_nowhere: OnceLock::from(false),
            has_colour: OnceLock::from(false),
        }
    }

    /// The number of columns to lay tables out for.
    pub fn width(&self) -> u16 {
        *self.width.get_or_init(terminal_width)
    }

    /// The number of columns for text on stdout: unlimited if stdout is not a terminal.
    pub fn prose_width(&self) -> u16 {
        if self.out_is_terminal { self.width() } else { u16::MAX }
    }

    /// Whether a person watches stderr, so that a progress line makes sense.
    pub const fn is_interactive(&self) -> bool {
        self.err_is_terminal
    }

    /// Asks a person for a line of text on the terminal; `None` if stdin or stderr is not a terminal, so that
    /// there is nobody to ask. If the person types nothing, the text is empty.
    ///
    /// # Errors
    /// If the person stopped it (Ctrl-C), or the terminal is gone.
    pub fn ask(&self, question: &str) -> std::io::Result<Option<String>> {
        if !self.can_ask {
            return Ok(None);
        }
        let input = dialoguer::Input::<String>::new().with_prompt(text::one_line(question)).allow_empty(true);
        match input.interact_text_on(&questions()) {
            Ok(typed) => Ok(Some(typed.trim().to_owned())),
            Err(error) => Err(unanswered(error)),
        }
    }

    /// Asks a person for a passphrase on the terminal without showing it; `None` as for [`Ui::ask`].
    ///
    /// # Errors
    /// Same as [`Ui::ask`].
    pub fn ask_passphrase(&self, question: &str) -> std::io::Result<Option<Passphrase>> {
        if !self.can_ask {
            return Ok(None);
        }
        let asked = format!("{}: ", text::one_line(question));
        let shown = format!("{} ", wrapped(self.width(), asked.trim_end()));
        let typed = unseen(|| {
            let _ = write_bytes(&self.err, shown.as_bytes());
        });
        let _ = write_line(&self.err, "");
        typed.map(Some)
    }

    /// Lets a person pick one of `items` on the terminal; `None` as for [`Ui::ask`], or if none was picked.
    ///
    /// # Errors
    /// Same as [`Ui::ask`].
    pub fn pick(&self, question: &str, items: &[String]) -> std::io::Result<Option<usize>> {
        if !self.can_ask {
            return Ok(None);
        }
        let screen = Screen::of_stderr();
        let (prompt, rows) = screen.list(question, items.len());
        let select = dialoguer::Select::new()
            .with_prompt(prompt)
            .max_length(rows)
            .items(screen.items(items))
            .default(0);
        match select.interact_on_opt(&questions()) {
            Ok(picked) => Ok(picked),
            Err(error) => Err(unanswered(error)),
        }
    }

    /// The number of columns of an item in a list to pick from.
    pub fn item_width(&self) -> usize {
        Screen::of_stderr().item_width()
    }

    /// Whether a person can be asked: both stdin and stderr are terminals.
    pub const fn can_ask(&self) -> bool {
        self.can_ask
    }

    /// Asks yes or no on the terminal; `false` if there is nobody to ask.
    pub fn confirm(&self, question: &str) -> bool {
        self.can_ask
            && dialoguer::Confirm::new()
                .with_prompt(text::one_line(question))
                .default(false)
                .interact_on_opt(&questions())
                .is_ok_and(|answer| answer == Some(true))
    }

    /// Lets a person pick some of `items` on the terminal; `None` if there is nobody to ask, or if nothing was
    /// chosen.
    pub fn choose(&self, question: &str, items: &[String]) -> Option<Vec<usize>> {
        if !self.can_ask {
            return None;
        }
        let items: Vec<_> = items.iter().map(|item| (item.clone(), false)).collect();
        self.tick(question, &items).ok().flatten()
    }

    /// The same, with some of `items` ticked in advance.
    ///
    /// # Errors
    /// Same as [`Ui::ask`].
    pub fn tick(&self, question: &str, items: &[(String, bool)]) -> std::io::Result<Option<Vec<usize>>> {
        if !self.can_ask {
            return Ok(None);
        }
        let screen = Screen::of_stderr();
        let (prompt, rows) = screen.list(question, items.len());
        let (texts, are_ticked): (Vec<_>, Vec<_>) = items.iter().cloned().unzip();
        let ticked = dialoguer::MultiSelect::new()
            .with_prompt(prompt)
            .max_length(rows)
            .items_checked(screen.items(&texts).into_iter().zip(are_ticked))
            .report(false)
            .interact_on_opt(&questions());
        ticked.map_err(unanswered)
    }

    /// Checks whether stdout accepts output, by writing nothing to it: a full device reports an error. This is
    /// better known before a person is asked for something whose result could not be shown.
    ///
    /// # Errors
    /// `output_failed`.
    #[cfg(unix)]
    pub fn check_output(&self) -> Result<()> {
        use std::os::fd::AsFd as _;
        #[allow(clippy::disallowed_methods, reason = "the one writer")]
        let stdout = std::io::stdout();
        // Bypasses the buffer, which would accept an empty write.
        let tried = stdout.as_fd().try_clone_to_owned().and_then(|fd| std::fs::File::from(fd).write(&[]));
        match tried {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                let shown = "pdpp cannot write to standard output, so nothing was done";
                Err(Error::failed("output_failed", shown).because(error).hint(MAKE_ROOM))
            }
            _ => Ok(()),
        }
    }

    /// Checks whether stdout accepts output, if that is possible without writing to it.
    ///
    /// # Errors
    /// Never fails here.
    #[cfg(not(unix))]
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "the same signature as on unix")]
    pub fn check_output(&self) -> Result<()> {
        Ok(())
    }

    /// Records that `what` is done from now on, and the command that shows it. If the result then cannot be
    /// written, nobody is told to do it again. The last record counts.
    pub fn done(&self, what: &str, next: Command) {
        let mut done = self.done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *done = Some(Done { what: what.to_owned(), next });
    }

    /// The failure to write a result: a full disk, but not a reader that went away (`pdpp … | head`). States
    /// what has been done anyway ([`Ui::done`]).
    pub fn lost_output(&self) -> Option<Error> {
        if !self.lost.load(Ordering::Relaxed) {
            return None;
        }
        let lost = "The result could not be written to standard output";
        let done = self.done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Some(match done.as_ref() {
            Some(done) => Error::failed("output_failed", format!("{lost}, but: {}", done.what)).hint(
                Hint::new("You do not need to run it again. To see the result: ").run(done.next.clone()),
            ),
            None => Error::failed("output_failed", lost).hint(MAKE_ROOM),
        })
    }

    /// Records whether something else `written` to stdout was lost ([`Ui::lost_output`]).
    pub fn keep(&self, written: std::io::Result<()>) {
        if written.is_err_and(|error| error.kind() != std::io::ErrorKind::BrokenPipe) {
            self.lost.store(true, Ordering::Relaxed);
        }
    }

    /// Prints a result to stdout. Line breaks are kept, hidden characters are escaped.
    pub fn print(&self, result: &str) {
        self.keep(write_line(&self.out, &text::lines(result)));
    }

    /// Prints a result in words to stdout. On a terminal, words are not broken and continuation lines are
    /// indented; a command to copy stays on one line. Not for text from others, or for text to paste.
    pub fn say(&self, result: &str) {
        if self.out_is_terminal { self.print(&wrapped(self.width(), result)) } else { self.print(result) }
    }

    /// Same as [`Ui::print`], in the colour of `tone` if a person sees it on a terminal with colours and has
    /// not turned them off (`NO_COLOR`, <https://no-color.org>).
    pub fn print_as(&self, tone: Tone, result: &str) {
        let shown = text::lines(result);
        let Some(code) = tone.sgr().filter(|_| *self.has_colour.get_or_init(shows_colour)) else {
            return self.keep(write_line(&self.out, &shown));
        };
        let lines: Vec<_> = shown.lines().map(|line| format!("\u{1b}[{code}m{line}\u{1b}[0m")).collect();
        self.keep(write_line(&self.out, &lines.join("\n")));
    }

    /// Prints a result to stdout as one line of JSON. JSON's own escapes already cover control characters; the
    /// invisible characters that JSON allows are escaped too.
    pub fn json(&self, value: &serde_json::Value) {
        self.keep(write_line(&self.out, &json_ascii_controls(&value.to_string())));
    }

    /// Writes a result to stdout unchanged, without adding a line break: for generated files only.
    pub fn raw(&self, bytes: &[u8]) {
        self.keep(write_bytes(&self.out, bytes));
    }

    /// Prints a message about the way to a result, to stderr.
    pub fn note(&self, message: &str) {
        let _ = self.try_note(message);
    }

    /// Prints prose about the way to a result, to stderr. On a terminal, words are not broken, and continuation
    /// lines start below the beginning of the text. Not for text to copy.
    pub fn explain(&self, message: &str) {
        if !self.err_is_terminal {
            return self.note(message);
        }
        self.note(&wrapped(self.width(), message));
    }

    /// Same as [`Ui::note`], for callers that count what is lost.
    ///
    /// # Errors
    /// If it could not be written: a full disk, a reader that went away, or the null device, which also stands
    /// for a closed stderr.
    pub fn try_note(&self, message: &str) -> std::io::Result<()> {
        if self.err_goes_nowhere() {
            return Err(std::io::ErrorKind::NotFound.into());
        }
        write_line(&self.err, &text::lines(message))
    }

    /// Prints several lines, each with its line break, to stderr in one write. Returns how many of them were
    /// lost, in the sense of [`Ui::try_note`].
    pub fn note_lines(&self, lines: &str) -> usize {
        let ends = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
        if self.err_goes_nowhere() {
            return ends(lines.as_bytes());
        }
        let lines = text::lines(lines);
        let bytes = lines.as_bytes();
        let mut taken = 0;
        let mut to = self.err.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        to.write_counted(bytes, &mut taken).map_or_else(|_| ends(&bytes[taken..]), |()| 0)
    }

    fn err_goes_nowhere(&self) -> bool {
        #[allow(clippy::disallowed_methods, reason = "only looked at")]
        let looked = || goes_nowhere(&std::io::stderr());
        *self.err_goes_nowhere.get_or_init(looked)
    }

    /// A line on stderr that changes while a command waits, but only if a person watches. It disappears when
    /// dropped; print nothing else meanwhile. On a terminal that cannot go back in a line (`TERM=dumb`), the
    /// first message stays and the others are not shown.
    pub fn progress(&self) -> Progress<'_> {
        if !self.err_is_terminal {
            return Progress::Unseen;
        }
        let bar = indicatif::ProgressBar::new_spinner();
        bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        if bar.is_hidden() { Progress::Once(self, Once::new()) } else { Progress::Line(bar) }
    }

    /// Prints a warning to stderr.
    pub fn warn(&self, message: &str) {
        self.explain(&format!("warning: {}", text::lines(message)));
    }

    /// Prints a failure to stderr: what happened, why, and what to type next.
    pub fn error(&self, error: &Error) {
        let mut shown = format!("error: {}", text::lines(error.message()));
        for cause in error.causes() {
            shown.push_str("\n  because: ");
            shown.push_str(&text::one_line(&cause));
        }
        if let Some(next) = error.next_step() {
            shown.push_str("\n  next: ");
            shown.push_str(&text::lines(&next));
        }
        shown.push_str("\n  code: ");
        shown.push_str(error.code());
        let shown = if self.err_is_terminal { wrapped(self.width(), &shown) } else { shown };
        let _ = write_line(&self.err, &shown);
    }
}

/// Whether a person sees the output of this process directly.
#[allow(clippy::disallowed_methods, reason = "only looked at")]
pub fn is_output_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether output to `stream` is lost because it is the null device. The same holds for a standard stream that
/// was closed when the process started: the standard library opens the null device instead, before any of our
/// code runs.
#[cfg(unix)]
pub fn goes_nowhere(stream: &impl std::os::fd::AsFd) -> bool {
    use rustix::fs::{FileType, fstat, stat};
    fstat(stream).is_ok_and(|found| {
        FileType::from_raw_mode(found.st_mode) == FileType::CharacterDevice
            && stat("/dev/null").is_ok_and(|null| null.st_rdev == found.st_rdev)
    })
}

/// Whether output to `stream` is lost, if that is known.
#[cfg(not(unix))]
pub fn goes_nowhere<T>(_stream: &T) -> bool {
    false
}

/// Reads a line from the terminal at standard input without showing it. `show` prints the question once echo is
/// off.
#[cfg(unix)]
fn unseen(show: impl FnOnce()) -> std::io::Result<Passphrase> {
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
    struct Back<'a>(&'a std::io::Stdin, rustix::termios::Termios);
    impl Drop for Back<'_> {
        fn drop(&mut self) {
            let _ = tcsetattr(self.0, OptionalActions::Now, &self.1);
        }
    }
    let terminal = std::io::stdin();
    let before = tcgetattr(&terminal)?;
    let mut quiet = before.clone();
    // Keys arrive one by one, including Ctrl-C: if the process were killed, the terminal would stay without
    // echo.
    quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG | LocalModes::IEXTEN;
    quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
    quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
    let back = Back(&terminal, before);
    tcsetattr(&terminal, OptionalActions::Flush, &quiet)?;
    show();
    let mut typed = Passphrase::new();
    let mut key = [0];
    loop {
        let read = match rustix::io::read(back.0, &mut key) {
            Err(rustix::io::Errno::INTR) => continue,
            read => read?,
        };
        match key[0] {
            _ if read == 0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            b'\r' | b'\n' => return Ok(typed),
            // Ctrl-C, Ctrl-D, Ctrl-\.
            3 | 4 | 28 => return Err(std::io::ErrorKind::Interrupted.into()),
            8 | 127 => typed.pop(),
            // Ctrl-U.
            21 => typed.clear(),
            byte => typed.push(byte),
        }
    }
}

/// The same, with the library's own means.
#[cfg(not(unix))]
fn unseen(show: impl FnOnce()) -> std::io::Result<Passphrase> {
    show();
    let typed = secrecy::zeroize::Zeroizing::new(dialoguer::console::Term::stderr().read_secure_line()?);
    Ok(Passphrase::from(typed.as_str()))
}

/// The terminal on which questions are asked. The library hides the cursor meanwhile, and Ctrl-C ends the
/// process at once, so that nothing would show the cursor again. So it is never hidden.
#[cfg(unix)]
#[allow(clippy::disallowed_methods, reason = "the one writer")]
fn questions() -> dialoguer::console::Term {
    dialoguer::console::Term::read_write_pair(std::io::stdin(), CursorShown(std::io::stderr()))
}

#[cfg(not(unix))]
fn questions() -> dialoguer::console::Term {
    dialoguer::console::Term::stderr()
}

/// Writes everything except the sequence that hides the cursor.
#[cfg(unix)]
#[derive(Debug)]
struct CursorShown<W>(W);

#[cfg(unix)]
impl<W: Write> Write for CursorShown<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        const HIDE: &[u8] = b"\x1b[?25l";
        // The library writes that sequence on its own.
        if bytes == HIDE { Ok(bytes.len()) } else { self.0.write(bytes) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

#[cfg(unix)]
impl<W: std::os::fd::AsRawFd> std::os::fd::AsRawFd for CursorShown<W> {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.0.as_raw_fd()
    }
}

/// Why a question was not answered. The library leaves the cursor hidden when it is interrupted.
fn unanswered(error: dialoguer::Error) -> std::io::Error {
    let _ = dialoguer::console::Term::stderr().show_cursor();
    let dialoguer::Error::IO(error) = error;
    error
}

/// A progress display, from [`Ui::progress`].
pub enum Progress<'a> {
    /// Nobody watches.
    Unseen,
    /// A changing line.
    Line(indicatif::ProgressBar),
    /// A line that stays.
    Once(&'a Ui, Once),
}

impl Progress<'_> {
    /// Shows `message`, on one line, hidden characters escaped.
    pub fn say(&self, message: &str) {
        let message = text::one_line(message);
        match self {
            Self::Unseen => {}
            Self::Line(bar) => {
                bar.set_message(message.into_owned());
                bar.tick();
            }
            Self::Once(ui, once) => once.call_once(|| ui.note(&message)),
        }
    }
}

impl Progress<'_> {
    /// Does `work`, which may ask a person something, with the line removed.
    pub fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        match self {
            Self::Line(bar) => bar.suspend(work),
            Self::Unseen | Self::Once(..) => work(),
        }
    }

    /// Shows `message`, which a person must see even if no line changes.
    pub fn tell(&self, ui: &Ui, message: &str) {
        match self {
            Self::Line(_) => self.say(message),
            Self::Unseen | Self::Once(..) => ui.note(message),
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Self::Line(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// Makes a panic report its place, but never its message, which may quote a record or a token.
pub fn keep_panics_short() {
    std::panic::set_hook(Box::new(|panic| {
        let place =
            panic.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        Ui::from_process().warn(&format!("internal error{place}; please report it"));
    }));
}

/// Sends this program's own log events from `level` up to stderr. The SDK's events are left out, because it
/// logs whole requests and results. A second call has no effect.
pub fn log_to_stderr(level: tracing::Level) {
    let _ = tracing::subscriber::set_global_default(Log(level));
}

/// Log events up to a level, one line each, with hidden characters escaped. There are no spans in this program.
struct Log(tracing::Level);

impl tracing::Subscriber for Log {
    fn enabled(&self, of: &tracing::Metadata<'_>) -> bool {
        of.is_event() && of.target().starts_with("pdpp") && *of.level() <= self.0
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(self.0.into())
    }

    fn event(&self, event: &tracing::Event<'_>) {
        let mut shown = format!("{:>5}", event.metadata().level().as_str());
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            use std::fmt::Write as _;
            let _ = match field.name() {
                "message" => write!(shown, " {value:?}"),
                name => write!(shown, " {name}={value:?}"),
            };
        });
        #[allow(clippy::disallowed_methods, reason = "the one writer")]
        let mut stderr = std::io::stderr();
        let _ = stderr.write_all(format!("{}\n", text::one_line(&shown)).as_bytes());
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::Id {
        tracing::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::Id, _: &tracing::Id) {}
    fn enter(&self, _: &tracing::Id) {}
    fn exit(&self, _: &tracing::Id) {}
}

/// `json` (already valid JSON) with every hidden character as a `\u` escape: it remains the same JSON.
pub fn json_ascii_controls(json: &str) -> std::borrow::Cow<'_, str> {
    use std::fmt::Write as _;
    let escape = |out: &mut String, c: char| {
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    };
    let escaped = |part| text::replaced(part, |_| true, escape);
    // Only a keycap could join the last character of an escape: a digit.
    if !json.contains('\u{20e3}') {
        return escaped(json);
    }
    std::borrow::Cow::Owned(behind_escapes(json).map(escaped).collect())
}

/// The parts of `json`, cut after each `\u` escape, because its last digit is not a character of the text.
fn behind_escapes(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let length = match (bytes[at], bytes.get(at + 1)) {
                (b'\\', Some(b'u')) => 6,
                (b'\\', Some(_)) => 2,
                _ => 1,
            };
            at += length;
            if length == 6 {
                break;
            }
        }
        let (part, behind) = rest.split_at_checked(at).unwrap_or((rest, ""));
        rest = behind;
        (!part.is_empty()).then_some(part)
    })
}

/// Where text is written.
struct Sink {
    to: Box<dyn Write + Send>,
    /// Whether only a part of the last text was written, and the rest was refused.
    is_torn: bool,
}

impl Sink {
    fn new(to: Box<dyn Write + Send>) -> Self {
        Self { to, is_torn: false }
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.write_counted(bytes, &mut 0)
    }

    /// Writes, and counts the bytes that were `taken`.
    fn write_counted(&mut self, bytes: &[u8], taken: &mut usize) -> std::io::Result<()> {
        if self.is_torn {
            // Text that a full disk cut off stays a separate line, and not the beginning of the next one.
            self.to.write_all(b"\n")?;
            self.is_torn = false;
        }
        while *taken < bytes.len() {
            match self.to.write(&bytes[*taken..]) {
                Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    *taken += count;
                    // The text was cut within a line.
                    self.is_torn = *taken < bytes.len() && bytes[*taken - 1] != b'\n';
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.to.flush()
    }
}

fn write_line(to: &Mutex<Sink>, line: &str) -> std::io::Result<()> {
    let mut bytes = Vec::with_capacity(line.len() + 1);
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    write_bytes(to, &bytes)
}

fn write_bytes(to: &Mutex<Sink>, bytes: &[u8]) -> std::io::Result<()> {
    to.lock().unwrap_or_else(std::sync::PoisonError::into_inner).write(bytes)
}

/// The longest text of a cell, in bytes: a provider's label may be endless.
const MAX_CELL: usize = 200;

/// A column of a [`table`].
#[derive(Debug, Clone, Copy)]
pub struct Column {
    title: &'static str,
    is_whole: bool,
    is_number: bool,
}

impl Column {
    /// Text that may take several lines.
    pub const fn text(title: &'static str) -> Self {
        Self { title, is_whole: false, is_number: false }
    }

    /// Short text that is never broken.
    pub const fn whole(title: &'static str) -> Self {
        Self { title, is_whole: true, is_number: false }
    }

    /// A number.
    pub const fn number(title: &'static str) -> Self {
        Self { title, is_whole: true, is_number: true }
    }
}

/// The narrowest width that a text is broken into if there is no room for its longest word.
const LEAST_TEXT: usize = 8;

/// A table of at most `width` columns, with as many lines per cell as needed; one paragraph per row if the
/// table would break words into pieces. Text from others is escaped.
pub fn table<const N: usize>(width: u16, columns: [Column; N], rows: &[[String; N]]) -> String {
    use comfy_table::{CellAlignment, ColumnConstraint};
    use dialoguer::console::measure_text_width;
    let rows: Vec<[String; N]> = rows
        .iter()
        .map(|row| row.each_ref().map(|cell| text::one_line(text::prefix(cell, MAX_CELL)).into_owned()))
        .collect();
    let least = |(at, column): (usize, &Column)| {
        let cells = rows.iter().map(|row| row[at].as_str()).chain([column.title]);
        if column.is_whole {
            return cells.map(measure_text_width).max().unwrap_or_default();
        }
        let longest = cells.flat_map(str::split_whitespace).map(measure_text_width).max();
        longest.unwrap_or_default().min(LEAST_TEXT)
    };
    let least: usize = columns.iter().enumerate().map(|column| least(column) + 2).sum();
    // There is no space between the last column and the edge.
    if least > usize::from(width) + 2 {
        return paragraphs(width, columns, &rows);
    }
    let mut table = laid_out(width);
    table.set_header(columns.map(|column| column.title));
    table.add_rows(rows);
    for (at, (column, wanted)) in table.column_iter_mut().zip(columns).enumerate() {
        column.set_padding((0, if at + 1 < N { 2 } else { 0 }));
        if wanted.is_whole {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        if wanted.is_number {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    lines_of(&table)
}

/// Each row as lines with a title and a value.
fn paragraphs<const N: usize>(width: u16, columns: [Column; N], rows: &[[String; N]]) -> String {
    let paragraph = |row: &[String; N]| {
        let mut table = laid_out(width);
        table.add_rows(columns.iter().zip(row).map(|(column, value)| [column.title, value]));
        if let Some(titles) = table.column_mut(0) {
            titles.set_padding((0, 2)).set_constraint(comfy_table::ColumnConstraint::ContentWidth);
        }
        if let Some(values) = table.column_mut(1) {
            values.set_padding((0, 0));
        }
        lines_of(&table)
    };
    rows.iter().map(paragraph).collect::<Vec<_>>().join("\n\n")
}

fn laid_out(width: u16) -> comfy_table::Table {
    use comfy_table::{ContentArrangement, Table, presets};
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table
}

fn lines_of(table: &comfy_table::Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// `text` after `labels`, each in a column of the given width, or below them if that leaves little room. Then
/// the `next` command. No word and no command is broken, because a path or an address may be copied.
pub fn labelled<const N: usize>(
    width: u16,
    labels: [(&str, u16); N],
    text: &str,
    next: Option<&str>,
) -> String {
    use std::fmt::Write as _;

    use comfy_table::{ColumnConstraint, Width};
    const GAP: u16 = 2;
    const LEAST: u16 = 40;
    let before: u16 = labels.iter().map(|(_, width)| width + GAP).sum();
    let fits = width >= longest_word([text]).max(LEAST).saturating_add(before);
    let mut table = laid_out(width);
    table.add_row(labels.iter().map(|(label, _)| *label).chain(fits.then_some(text)));
    for (column, (_, width)) in table.column_iter_mut().zip(labels) {
        column.set_padding((0, GAP)).set_constraint(ColumnConstraint::Absolute(Width::Fixed(width + GAP)));
    }
    if let Some(column) = table.column_mut(N) {
        column.set_padding((0, 0));
    }
    let mut lines = lines_of(&table);
    if !fits {
        lines.push('\n');
        lines.push_str(&indented(width, GAP, text));
    }
    if let Some(next) = next {
        let indent = usize::from(if fits { before } else { GAP });
        let _ = write!(lines, "\n{:indent$}next: {next}", "");
    }
    lines
}

/// `text` on as many lines as it needs, indented by `indent` columns. No word is broken.
pub fn indented(width: u16, indent: u16, text: &str) -> String {
    let mut table = laid_out(width);
    table.add_row([text]);
    if let Some(column) = table.column_mut(0) {
        column.set_padding((indent, 0)).set_constraint(unbroken(indent, [text]));
    }
    lines_of(&table)
}

/// Programs whose command lines are shown to be copied.
const PROGRAMS: [&str; 10] =
    ["pdpp ", "mv ", "move ", "mkdir ", "chmod ", "export ", "ssh ", "kubectl ", "rm ", "codex "];

/// `text` with each line that is longer than `width` broken into several, with continuation lines indented two
/// columns further. No word is broken, and no command at the end of a line: it may be copied, and the terminal
/// itself wraps it.
pub fn wrapped(width: u16, text: &str) -> String {
    text.lines().map(|line| wrapped_line(usize::from(width), line)).collect::<Vec<_>>().join("\n")
}

fn wrapped_line(width: usize, line: &str) -> String {
    use dialoguer::console::measure_text_width;
    if measure_text_width(line) <= width {
        return line.to_owned();
    }
    let text = line.trim_start_matches([' ', '-']);
    let indent = line.len() - text.len();
    // After a dash, continuation lines start where the text begins; otherwise further in.
    let hang = if line[..indent].contains('-') { indent } else { indent + 2 };
    let (words, command) = text.split_at(command_at(text));
    let words = words.split(' ').filter(|word| !word.is_empty());
    let (mut lines, mut last) = (Vec::new(), line[..indent].to_owned());
    let mut is_new = true;
    for word in words.chain(Some(command).filter(|command| !command.is_empty())) {
        let gap = usize::from(!is_new);
        if !is_new && measure_text_width(&last) + gap + measure_text_width(word) > width {
            lines.push(std::mem::replace(&mut last, " ".repeat(hang)));
            is_new = true;
        }
        if !is_new {
            last.push(' ');
        }
        last.push_str(word);
        is_new = false;
    }
    lines.push(last);
    lines.join("\n")
}

/// The start of the command that ends a line: at the line's beginning, or after a colon.
fn command_at(text: &str) -> usize {
    let is_command = |at: &usize| PROGRAMS.iter().any(|program| text[*at..].starts_with(program));
    let mut places = std::iter::once(0).chain(text.match_indices(": ").map(|(at, colon)| at + colon.len()));
    places.find(is_command).unwrap_or(text.len())
}

/// The terminal on which a list to pick from is shown.
#[derive(Debug, Clone, Copy)]
struct Screen {
    rows: usize,
    columns: usize,
}

impl Screen {
    /// The columns before an item, plus those that are left free after it.
    const MARK: usize = 8;
    /// The text after a question whose list has several pages: ` [Page 10/12] `.
    const PAGES: &'static str = ": [Page 10/12] ";

    fn of_stderr() -> Self {
        let found = dialoguer::console::Term::stderr().size_checked();
        let (rows, columns) = found.filter(|(rows, columns)| *rows > 0 && *columns > 0).unwrap_or((24, 80));
        Self { rows: rows.into(), columns: columns.into() }
    }

    fn item_width(self) -> usize {
        self.columns.saturating_sub(Self::MARK).max(20)
    }

    /// `question` in the form shown above a list of `count` items, and how many of the items fit below it on
    /// the screen.
    fn list(self, question: &str, count: usize) -> (String, usize) {
        let question = text::one_line(question);
        let width = self.columns.saturating_sub(1).max(20);
        let (shown, room) = self.with_room(wrapped_line(width, &question));
        if count <= room {
            return (shown, room);
        }
        // The page number comes after it, and must not break a line.
        let pages = "\u{a0}".repeat(Self::PAGES.len());
        let shown = wrapped_line(width, &format!("{question}{pages}"));
        self.with_room(shown.trim_end_matches('\u{a0}').to_owned())
    }

    fn with_room(self, question: String) -> (String, usize) {
        // The cursor is on the last line.
        let room = self.rows.saturating_sub(question.lines().count() + 1).max(1);
        (question, room)
    }

    /// `items` cut to fit: a line that wrapped would remain when the list is drawn again. A text that is too
    /// long is cut in its middle, and texts that would then look alike get a number.
    fn items(self, items: &[String]) -> Vec<String> {
        let width = self.item_width();
        let whole: Vec<String> = items.iter().map(|item| text::one_line(item).into_owned()).collect();
        let cut: Vec<String> = whole.iter().map(|item| cut_within(item, width)).collect();
        let is_alike = |at: usize| {
            let other = |other: usize| other != at && cut[other] == cut[at] && whole[other] != whole[at];
            (0..cut.len()).any(other)
        };
        let shown = |at: usize| {
            if !is_alike(at) {
                return cut[at].clone();
            }
            let number = format!("{}: ", at + 1);
            let left = width.saturating_sub(number.len());
            format!("{number}{}", cut_within(&whole[at], left))
        };
        (0..cut.len()).map(shown).collect()
    }
}

/// `text` in at most `width` columns: the beginning and the end of a longer text.
pub fn cut_within(text: &str, width: usize) -> String {
    use dialoguer::console::measure_text_width;
    if measure_text_width(text) <= width {
        return text.to_owned();
    }
    let head = dialoguer::console::truncate_str(text, width.saturating_sub(1).div_ceil(2), "").into_owned();
    let room = width.saturating_sub(1 + measure_text_width(&head));
    let mut tail = String::new();
    for c in text.chars().rev() {
        let longer = format!("{c}{tail}");
        if measure_text_width(&longer) > room {
            break;
        }
        tail = longer;
    }
    format!("{head}…{tail}")
}

/// A column that has room for every word of `texts` in addition to its padding.
fn unbroken<'a>(padding: u16, texts: impl IntoIterator<Item = &'a str>) -> comfy_table::ColumnConstraint {
    let width = longest_word(texts).saturating_add(padding);
    comfy_table::ColumnConstraint::LowerBoundary(comfy_table::Width::Fixed(width))
}

fn longest_word<'a>(texts: impl IntoIterator<Item = &'a str>) -> u16 {
    let words = texts.into_iter().flat_map(|text| text.split(' '));
    let longest = words.map(dialoguer::console::measure_text_width).max().unwrap_or_default();
    u16::try_from(longest).unwrap_or(u16::MAX)
}

/// Commands to type next, each with its effect: next to it, or below it if a command is long. Indented by two
/// spaces; for 80 columns.
pub fn steps(steps: &[(&str, &str)]) -> String {
    steps_within(80, steps)
}

/// Same as [`steps`], for `width` columns.
pub fn steps_within(width: u16, steps: &[(&str, &str)]) -> String {
    use comfy_table::ColumnConstraint;
    use dialoguer::console::measure_text_width;
    const INDENT: u16 = 2;
    const GAP: u16 = 3;
    let longest = steps.iter().map(|(command, _)| measure_text_width(command)).max().unwrap_or_default();
    // The effect takes a third of the width, or separate lines.
    if longest + usize::from(INDENT + GAP) > usize::from(width) * 2 / 3 {
        let below = |(command, what): &(&str, &str)| {
            format!("{:1$}{command}\n{2}", "", usize::from(INDENT), indented(width, 3 * INDENT, what))
        };
        return steps.iter().map(below).collect::<Vec<_>>().join("\n");
    }
    let mut table = laid_out(width);
    table.add_rows(steps.iter().map(|(command, what)| [*command, *what]));
    if let Some(commands) = table.column_mut(0) {
        commands.set_padding((INDENT, GAP)).set_constraint(ColumnConstraint::ContentWidth);
    }
    if let Some(what) = table.column_mut(1) {
        what.set_padding((0, 0)).set_constraint(unbroken(0, steps.iter().map(|(_, what)| *what)));
    }
    lines_of(&table)
}

fn shows_colour() -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    is_output_terminal() && !unwanted && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

fn terminal_width() -> u16 {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.or_else(console_width).filter(|width| *width > 0).unwrap_or(100)
}

fn console_width() -> Option<u16> {
    use dialoguer::console::Term;
    // If the result goes to a file, messages about it may still go to a terminal.
    let size = Term::stdout().size_checked().or_else(|| Term::stderr().size_checked());
    size.map(|(_, columns)| columns)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::Arc;

    /// A full disk.
    pub(crate) struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Collects what is written.
    #[derive(Clone, Default)]
    pub(crate) struct Collects(pub(crate) Arc<Mutex<Vec<u8>>>);

    impl Collects {
        /// What was written since the last call.
        pub(crate) fn take(&self) -> String {
            String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
        }
    }

    impl Write for Collects {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_a_full_disk_cut_is_a_line_of_its_own() {
        /// Accepts this many bytes, refuses one write, and accepts everything after that.
        struct Short(usize, Arc<Mutex<Vec<u8>>>);
        impl Write for Short {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                let taken = bytes.len().min(self.0);
                if taken == 0 {
                    self.0 = usize::MAX;
                    return Err(std::io::ErrorKind::StorageFull.into());
                }
                self.0 -= taken;
                self.1.lock().unwrap().extend_from_slice(&bytes[..taken]);
                Ok(taken)
            }

            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        for (room, wanted) in [(9, "first\nsec\nthird\n"), (6, "first\nthird\n")] {
            let written = Arc::default();
            let short = Box::new(Short(room, Arc::clone(&written)));
            let ui = Ui::to_writers(Box::new(std::io::sink()), short, 80);
            let all = ["first", "second", "third"].map(|line| ui.try_note(line).is_ok());
            assert_eq!(all, [true, false, true]);
            assert_eq!(String::from_utf8_lossy(&written.lock().unwrap()), wanted);
        }
        for (room, lost, wanted) in
            [(9, 2, "first\nsec\nlast\n"), (6, 2, "first\nlast\n"), (99, 0, "first\nsecond\nthird\nlast\n")]
        {
            let written = Arc::default();
            let short = Box::new(Short(room, Arc::clone(&written)));
            let ui = Ui::to_writers(Box::new(std::io::sink()), short, 80);
            assert_eq!(ui.note_lines("first\nsecond\nthird\n"), lost);
            assert!(ui.try_note("last").is_ok());
            assert_eq!(String::from_utf8_lossy(&written.lock().unwrap()), wanted);
        }
    }

    #[test]
    fn a_tone_is_for_a_terminal_with_colours_and_what_others_wrote_has_none() {
        let written = Collects::default();
        for (has_colour, wanted) in [
            (false, "one\ntwo \\u{1b}[31m\n"),
            (true, "\u{1b}[36mone\u{1b}[0m\n\u{1b}[36mtwo \\u{1b}[31m\u{1b}[0m\n"),
        ] {
            let to = Box::new(written.clone());
            let ui =
                Ui { has_colour: has_colour.into(), ..Ui::to_writers(to, Box::new(std::io::sink()), 80) };
            ui.print_as(Tone::Call, "one\ntwo \u{1b}[31m");
            assert_eq!(written.take(), wanted);
        }
    }

    #[test]
    fn what_is_done_is_not_to_be_done_again() {
        let ui = Ui::to_writers(Box::new(Full), Box::new(std::io::sink()), 80);
        assert!(ui.lost_output().is_none());
        ui.print("x");
        let next = |ui: &Ui| ui.lost_output().unwrap().next_step().unwrap();
        assert!(next(&ui).ends_with("then run it again"));
        ui.done("https://a.example is connected, as Diary", Command::new("status"));
        let lost = ui.lost_output().unwrap();
        assert!(lost.message().ends_with("but: https://a.example is connected, as Diary"), "{lost}");
        assert!(next(&ui).ends_with("pdpp status") && !next(&ui).contains("then run it again"));
    }

    #[test]
    fn a_line_is_broken_between_words_and_a_command_stays_whole() {
        let path = format!("/{}", "x".repeat(30));
        for (line, wanted) in [
            ("short", "short".to_owned()),
            ("one two three four five", "one two three\n  four five".to_owned()),
            ("  - one two three four", "  - one two\n    three four".to_owned()),
            ("  end it: pdpp provider revoke grt_1", "  end it:\n    pdpp provider revoke grt_1".to_owned()),
            ("pdpp provider revoke grt_1", "pdpp provider revoke grt_1".to_owned()),
            ("Kept: one two three four: five", "Kept: one two\n  three four:\n  five".to_owned()),
            (&format!("in {path}, all"), format!("in\n  {path},\n  all")),
            (
                "a\u{4e16}\u{754c} b\u{4e16}\u{754c} \u{4e16}\u{754c}",
                "a\u{4e16}\u{754c} b\u{4e16}\u{754c}\n  \u{4e16}\u{754c}".to_owned(),
            ),
        ] {
            assert_eq!(wrapped(14, line), wanted, "{line}");
        }
        assert_eq!(wrapped(80, "a\n\n  b"), "a\n\n  b");
    }

    #[test]
    fn a_list_stays_on_the_screen_with_its_question() {
        let question = "What may be read (Space ticks, Enter goes on, Esc denies)";
        for (rows, columns, lines, capacity) in
            [(24, 80, 1, 22), (20, 40, 2, 17), (40, 120, 1, 38), (6, 30, 3, 2)]
        {
            let screen = Screen { rows, columns };
            let (shown, items) = screen.list(question, 100);
            assert_eq!(shown.lines().count(), lines, "{shown}");
            assert_eq!(shown.split_whitespace().collect::<Vec<_>>().join(" "), question);
            let last = shown.lines().last().unwrap().chars().count() + Screen::PAGES.len();
            assert!(last < columns, "{shown}");
            assert_eq!(items, capacity, "{columns}");
            assert!(lines + items < rows);
        }
        let screen = Screen { rows: 24, columns: 62 };
        assert_eq!(screen.list(question, 5), (question.to_owned(), 22));
        assert!(screen.list(question, 23).0.contains('\n'));
    }

    #[test]
    fn no_two_items_of_a_list_look_alike() {
        let screen = Screen { rows: 24, columns: 40 };
        let account = "a very long name of an account of mine";
        let items = [
            format!("{account}: messages, 12 records"),
            format!("{account}: message bodies, 12 records"),
            format!("{account}, the one of 2024, as it was then: bodies, 12 records"),
            format!("{account}, the one of 2025, as it was then: bodies, 12 records"),
            "short".to_owned(),
            "short".to_owned(),
        ];
        let shown = screen.items(&items);
        assert!(shown.iter().all(|item| dialoguer::console::measure_text_width(item) <= 32), "{shown:?}");
        assert_eq!(shown[0], "a very long name…ges, 12 records", "{shown:?}");
        let different: std::collections::BTreeSet<_> = shown[..4].iter().collect();
        assert_eq!(different.len(), 4, "{shown:?}");
        assert!(shown[2].starts_with("3: ") && shown[3].starts_with("4: "), "{shown:?}");
        assert_eq!(cut_within("\u{4e16}\u{754c}\u{4e16}\u{754c}", 5), "\u{4e16}…\u{754c}");
    }

    #[test]
    fn steps_stand_in_columns_or_below_long_commands() {
        let shown = steps(&[("pdpp a", "does this"), ("pdpp serve", "does that")]);
        assert_eq!(shown, "  pdpp a       does this\n  pdpp serve   does that");
        let long = format!("pdpp serve --cache-dir {}", "x".repeat(40));
        let shown = steps(&[("pdpp a", "does this"), (&long, "does that")]);
        assert_eq!(shown, format!("  pdpp a\n      does this\n  {long}\n      does that"));
        let both = [("pdpp a", "does this and that"), ("pdpp serve", "does that")];
        let shown = steps_within(24, &both);
        assert_eq!(shown, "  pdpp a       does this\n               and that\n  pdpp serve   does that");
        let shown = steps_within(20, &both);
        assert_eq!(shown, "  pdpp a\n      does this and\n      that\n  pdpp serve\n      does that");
    }

    #[test]
    fn a_labelled_text_stands_beside_or_below_and_no_word_is_broken() {
        let labels = [("ok", 4), ("cache", 6)];
        let path = format!("/{}", "x".repeat(42));
        let text = format!("it is in {path}, as \u{4e16}\u{754c}");
        let shown = labelled(60, labels, &text, Some("pdpp status"));
        let (one, two, three) = ("it is in", format!("{path},"), "as \u{4e16}\u{754c}");
        let indent = " ".repeat(14);
        assert_eq!(
            shown,
            format!("ok    cache   {one}\n{indent}{two}\n{indent}{three}\n{indent}next: pdpp status")
        );
        let below = format!("ok    cache\n  {one}\n  {two}\n  {three}");
        for width in [46, 45, 20] {
            assert_eq!(labelled(width, labels, &text, None), below, "{width}");
        }
        assert_eq!(labelled(20, labels, "it is", Some("x")), "ok    cache\n  it is\n  next: x");
    }

    #[test]
    fn a_table_without_room_is_a_paragraph_a_row() {
        let rows = [
            ["one two three".to_owned(), "whole".to_owned(), "1".to_owned()],
            [String::new(), "x".to_owned(), "22".to_owned()],
        ];
        let columns = [Column::text("Name"), Column::whole("What"), Column::number("Count")];
        assert_eq!(table(19, columns, &rows).lines().next(), Some("Name   What   Count"));
        assert_eq!(
            table(17, columns, &rows),
            "Name   one two\n       three\nWhat   whole\nCount  1\n\nName\nWhat   x\nCount  22"
        );
        assert!(table(1, columns, &rows).contains("Count"));
    }

    #[test]
    fn a_table_fits_and_is_escaped() {
        let long = "word ".repeat(30) + &"x".repeat(90);
        let rows = [
            ["a\u{1b}[2J\nb".to_owned(), long, "1".to_owned()],
            [String::new(), "c".to_owned(), "22".to_owned()],
        ];
        let shown = table(80, [Column::text("Name"), Column::text("What"), Column::number("Count")], &rows);
        assert!(shown.lines().all(|line| line.chars().count() <= 80 && !line.ends_with(' ')), "{shown}");
        assert!(shown.contains("a\\u{1b}[2J\\nb") && !shown.contains('\u{1b}'), "{shown}");
        assert!(shown.lines().last().is_some_and(|line| line.ends_with("   22")), "{shown}");
    }
}
