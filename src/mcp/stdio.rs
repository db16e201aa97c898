//! MCP on stdin and stdout, guarded.
//!
//! The SDK (`rmcp`) keeps the protocol, also because its Streamable HTTP server takes the same
//! handler; its own stdio transport and lifecycle are not used. Measured against them, this one
//! answers every request that can be read, keeps memory bounded when a client stops reading, and
//! always ends (R1.4, R1.7, R1.8):
//!
//! - Lines of at most 4 MiB; what is no message is answered with the id that it had ([`jsonrpc`]).
//! - The lifecycle is a flag, not a state of the process: whatever comes before `initialize`, or
//!   instead of it, is answered or ignored.
//! - Wire ids never reach the SDK. It knows 64 bits and its own bookkeeping; here an id comes back
//!   as it went, once: while one is in flight a second request with it is ignored.
//! - At most [`MAX_IN_FLIGHT`] calls run. More wait, bounded, while lines are still read for a
//!   cancellation among them; then reading stops. It stops too while a client leaves more than
//!   [`MAX_BACKLOG`] bytes of answers unread.
//! - stdin and stdout have a thread each, so a stuck peer blocks no call. A third thread enforces the
//!   end with its own clock: signals, a reader of stdout that went away, a parent that went away, and
//!   a call that blocks the runtime.
//!
//! A vanished parent is noticed by its process id, four times a second. Linux could send a signal
//! instead (`PR_SET_PDEATHSIG`), but does so already when the *thread* that started us ends, which is
//! ordinary in hosts with thread pools.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientNotification, ClientRequest, ErrorCode,
    JsonRpcMessage, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage, serve_directly_with_ct};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ReadSurface;
use super::jsonrpc::{self, Envelope, Id, Rejected};
use super::server::Server;
use crate::ending;
use crate::error::{Error, Result};
use crate::runtime::StopSignals;
use crate::text;
use crate::ui::Ui;

/// The longest line that is read, in bytes.
pub const MAX_LINE: usize = 4 << 20;
/// Bytes of answers that a client may leave unread before no further request is taken up.
pub const MAX_BACKLOG: usize = 4 << 20;
/// Calls that run at once. A resource read counts as `RESOURCE_WEIGHT` of them.
pub const MAX_IN_FLIGHT: usize = 256;
/// A blob is at most 8 MiB: four at once bound the memory for them, and leave places for calls.
const RESOURCE_WEIGHT: usize = 63;
/// Requests, and their bytes, that may wait for a place among [`MAX_IN_FLIGHT`].
const MAX_WAITING: usize = 1024;
const MAX_WAITING_BYTES: usize = 4 << 20;
/// How long calls in flight may still take after the end of input (R1.8).
const GRACE: Duration = Duration::from_secs(1);
/// How long a client may take to read the last answers.
const FLUSH: Duration = Duration::from_millis(400);
/// The same when something asked us to go.
const FLUSH_STOPPED: Duration = Duration::from_millis(100);
/// When the process is ended if it has not ended by itself: within R1.8's 1.5 s of its cause.
const LAST_RESORT: Duration = Duration::from_millis(1100);
const WATCH_EVERY: Duration = Duration::from_millis(250);

/// Why serving ended. That nobody listens any more is no failure: the exit code is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The client closed stdin.
    EndOfInput,
    /// SIGINT, SIGTERM or SIGHUP.
    Signal,
    /// Nobody reads stdout any more.
    OutputClosed,
    /// The process that started us is gone.
    ParentGone,
    /// stdout is there and takes nothing: a full disk, say. A failure.
    OutputFailed(std::io::ErrorKind),
    /// The process was started with its stdout closed. A failure.
    NoOutput,
}

/// The end, agreed on between threads: the first cause counts.
#[derive(Debug, Clone, Default)]
struct Stop {
    /// Everything is to end now.
    now: CancellationToken,
    /// stdin has ended; what was read before is still answered.
    input_ended: CancellationToken,
    cause: Arc<OnceLock<Ended>>,
}

impl Stop {
    fn because(&self, cause: Ended) {
        let _ = self.cause.set(cause);
        self.now.cancel();
    }

    fn cause(&self) -> Ended {
        self.cause.get().copied().unwrap_or(Ended::EndOfInput)
    }
}

/// Serves `surface` on this process's stdin and stdout until there is nobody to serve.
///
/// Takes the process over: its signals, its panic messages, its standard streams, and its end, which
/// has to follow at once: half a second later it is enforced, unless a token is on its way ([`ending`]).
///
/// # Errors
/// `no_thread`: the system gave no threads.
pub async fn serve_stdio(surface: Arc<dyn ReadSurface>) -> Result<Ended> {
    if is_stdout_closed() {
        return Ok(Ended::NoOutput);
    }
    let stop = Stop::default();
    let pipes = take_over_process(&stop)?;
    Ok(serve(surface, pipes, stop).await)
}

/// Answers the first request, whatever it is, with `error`, says it on stderr, and gives the exit code
/// to end the process with (R1.2, R1.3).
///
/// One exception: `server/discover` is answered with the same words, as a method that is not there, and the
/// next request ends the process. Claude Code asks that before `initialize`; a server that ends at the probe
/// it shows as `CONNECTION_CLOSED`, without a word of the guidance. A client without the fallback to
/// `initialize` has the guidance too.
///
/// A client that sends nothing is not waited for longer than its input or its life lasts.
///
/// # Errors
/// `no_thread`: the system gave no threads.
pub async fn serve_refusal(error: &Error, ui: &Ui) -> Result<u8> {
    ui.error(error);
    let stop = Stop::default();
    let pipes = take_over_process(&stop)?;
    refuse(error, pipes, &stop).await;
    Ok(error.kind().exit_code())
}

fn take_over_process(stop: &Stop) -> Result<Pipes> {
    // Also where nothing has done so yet: "not a char boundary in `…`" would quote a record.
    crate::ui::keep_panics_short();
    let no_thread = |error| Error::failed("no_thread", "Could not start a thread for stdio").because(error);
    guard_process(stop.clone()).map_err(no_thread)?;
    #[allow(clippy::disallowed_methods, reason = "the MCP transport is the one other writer to stdout")]
    let output = std::io::stdout();
    Pipes::open(std::io::stdin(), output, stop).map_err(no_thread)
}

async fn serve(surface: Arc<dyn ReadSurface>, pipes: Pipes, stop: Stop) -> Ended {
    let connection = Connection::new(pipes, stop.clone());
    let running = serve_directly_with_ct(Server::new(surface), connection, None, stop.now.clone());
    let _ = running.waiting().await;
    stop.cause()
}

async fn refuse(error: &Error, mut pipes: Pipes, stop: &Stop) {
    let mut has_probed = false;
    loop {
        let line = tokio::select! {
            () = stop.now.cancelled() => return,
            line = pipes.lines.recv() => line,
        };
        match line.map(|line| line.envelope()) {
            None => return,
            Some(Ok(Envelope::Request { id, method, .. })) if method == "server/discover" && !has_probed => {
                has_probed = true;
                let probe = ErrorData { code: ErrorCode::METHOD_NOT_FOUND, ..refusal(error) };
                pipes.out.send(jsonrpc::error_line(id.as_json(), &probe));
            }
            Some(Ok(Envelope::Request { id, .. })) => {
                pipes.out.send(jsonrpc::error_line(id.as_json(), &refusal(error)));
                pipes.out.flush(FLUSH).await;
                return;
            }
            Some(Ok(_)) => {}
            Some(Err(rejected)) => pipes.out.send(rejected.to_line()),
        }
    }
}

/// `error` as the JSON-RPC error that ends a session: what happened, and what the owner has to type.
fn refusal(error: &Error) -> ErrorData {
    let next = error.next_step();
    let because: Vec<String> = error.causes().collect();
    // A host shows the message alone.
    let mut message = error.message().to_owned();
    for cause in &because {
        message.push_str(": ");
        message.push_str(cause);
    }
    if let Some(next) = next {
        message.push_str(". Next: ");
        message.push_str(next);
    }
    let mut data = serde_json::json!({
        "code": error.code(),
        "next": next,
        "exit_code": error.kind().exit_code(),
    });
    if !because.is_empty() {
        data["because"] = because.into();
    }
    ErrorData::new(ErrorCode(-32000), text::lines(&message).into_owned(), Some(data))
}

// ---------------------------------------------------------------- the pipes

#[derive(Debug)]
enum Line {
    Read(Vec<u8>),
    TooLong,
}

impl Line {
    fn envelope(&self) -> Result<Envelope, Rejected> {
        match self {
            Self::Read(line) => jsonrpc::envelope(line),
            Self::TooLong => Err(Rejected::too_large()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Read(line) => line.len(),
            Self::TooLong => 0,
        }
    }
}

/// A thread that reads lines, a thread that writes them.
struct Pipes {
    lines: mpsc::Receiver<Line>,
    out: Outbox,
}

impl Pipes {
    fn open(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        stop: &Stop,
    ) -> std::io::Result<Self> {
        let (line_sender, lines) = mpsc::channel(4);
        let input_ended = stop.input_ended.clone();
        std::thread::Builder::new().name("stdin".to_owned()).stack_size(128 << 10).spawn(move || {
            read_lines(input, &line_sender);
            input_ended.cancel();
        })?;
        let (to, messages) = std::sync::mpsc::channel::<Vec<u8>>();
        let out = Outbox { to, queued: Arc::new(watch::Sender::new(0)) };
        let (queued, stop) = (Arc::clone(&out.queued), stop.clone());
        std::thread::Builder::new().name("stdout".to_owned()).stack_size(128 << 10).spawn(move || {
            if let Err(error) = write_lines(output, &messages, &queued) {
                stop.because(match error.kind() {
                    std::io::ErrorKind::BrokenPipe => Ended::OutputClosed,
                    kind => Ended::OutputFailed(kind),
                });
            }
        })?;
        Ok(Self { lines, out })
    }
}

fn read_lines(input: impl Read, to: &mpsc::Sender<Line>) {
    let mut input = BufReader::with_capacity(64 << 10, input);
    let (mut line, mut too_long) = (Vec::new(), false);
    loop {
        let (used, ended) = match input.fill_buf() {
            Ok([]) => return,
            Ok(read) => {
                let end = read.iter().position(|byte| *byte == b'\n');
                let used = end.map_or(read.len(), |end| end + 1);
                if !too_long && line.len() + used > MAX_LINE {
                    too_long = true;
                    line = Vec::new();
                } else if !too_long {
                    line.extend_from_slice(&read[..used]);
                }
                (used, end.is_some())
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        input.consume(used);
        if ended {
            let read = std::mem::take(&mut line);
            let done = if std::mem::take(&mut too_long) { Line::TooLong } else { Line::Read(read) };
            if to.blocking_send(done).is_err() {
                return;
            }
        }
    }
}

fn write_lines(
    mut output: impl Write,
    messages: &std::sync::mpsc::Receiver<Vec<u8>>,
    queued: &watch::Sender<usize>,
) -> std::io::Result<()> {
    while let Ok(mut batch) = messages.recv() {
        while batch.len() < 64 << 10
            && let Ok(next) = messages.try_recv()
        {
            batch.extend_from_slice(&next);
        }
        output.write_all(&batch)?;
        output.flush()?;
        queued.send_modify(|queued| *queued = queued.saturating_sub(batch.len()));
    }
    Ok(())
}

/// What is to be written, counted in bytes until it is.
#[derive(Clone)]
struct Outbox {
    to: std::sync::mpsc::Sender<Vec<u8>>,
    queued: Arc<watch::Sender<usize>>,
}

impl Outbox {
    fn send(&self, line: Vec<u8>) {
        let mut line = jsonrpc::visible(line);
        line.push(b'\n');
        self.queued.send_modify(|queued| *queued += line.len());
        // Fails only when the writer is gone, and then everything ends.
        let _ = self.to.send(line);
    }

    fn backlog(&self) -> usize {
        *self.queued.borrow()
    }

    /// Waits until everything is written, at most `limit`.
    async fn flush(&self, limit: Duration) {
        let mut queued = self.queued.subscribe();
        let _ = tokio::time::timeout(limit, queued.wait_for(|queued| *queued == 0)).await;
    }
}

// ---------------------------------------------------------------- the connection

/// A request that waits for its turn.
struct Waiting {
    id: Id,
    request: ClientRequest,
    bytes: usize,
}

/// A request that runs.
struct Running {
    id: Id,
    weight: usize,
}

/// One client: the SDK's transport.
struct Connection {
    pipes: Pipes,
    stop: Stop,
    /// Fires when the writer has written something.
    written: watch::Receiver<usize>,
    initialized: bool,
    /// Set at the end of input: when what still runs is aborted.
    deadline: Option<Instant>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    /// By the number that the SDK knows a request under.
    running: HashMap<i64, Running>,
    by_id: HashMap<Id, i64>,
    weight: usize,
    next: i64,
}

impl Connection {
    fn new(pipes: Pipes, stop: Stop) -> Self {
        Self {
            written: pipes.out.queued.subscribe(),
            pipes,
            stop,
            initialized: false,
            deadline: None,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            running: HashMap::new(),
            by_id: HashMap::new(),
            weight: 0,
            next: 0,
        }
    }

    /// What a line leads to: an answer at once, a place in the queue, or something to tell the SDK.
    fn take(&mut self, line: &Line) -> Option<RxJsonRpcMessage<RoleServer>> {
        match line.envelope() {
            Ok(Envelope::Request { id, method, params }) => {
                self.take_request(id, &method, params, line.len());
            }
            Ok(Envelope::Notification { method, params }) if method == "notifications/cancelled" => {
                return self.cancel(params.as_ref().and_then(|params| params.get("requestId"))?);
            }
            // No other notification means anything here: `notifications/initialized` comes when it comes.
            Ok(Envelope::Notification { .. } | Envelope::Nothing) => {}
            Err(rejected) => self.pipes.out.send(rejected.to_line()),
        }
        None
    }

    fn take_request(&mut self, id: Id, method: &str, params: Option<Value>, bytes: usize) {
        if self.by_id.contains_key(&id) || self.waiting.iter().any(|waiting| waiting.id == id) {
            // An error with this id would be taken for the answer to the first.
            tracing::warn!("a request was ignored: its id is still in use");
            return;
        }
        let early = !self.initialized
            && !matches!(method, "initialize" | "ping" | "server/discover")
            && !jsonrpc::names_its_era(params.as_ref());
        match jsonrpc::client_request(method, params) {
            Ok(_) if early => {
                let what = "send initialize first, or name protocolVersion, clientInfo and clientCapabilities \
                            in _meta (2026-07-28)";
                self.pipes
                    .out
                    .send(jsonrpc::error_line(id.as_json(), &jsonrpc::invalid_params(method, what)));
            }
            Ok(request) => {
                self.initialized |= matches!(request, ClientRequest::InitializeRequest(_));
                self.waiting_bytes += bytes;
                self.waiting.push_back(Waiting { id, request, bytes });
            }
            Err(error) => self.pipes.out.send(jsonrpc::error_line(id.as_json(), &error)),
        }
    }

    /// A cancelled request is never answered (MCP, cancellation); an unknown id is none of our business.
    fn cancel(&mut self, id: &Value) -> Option<RxJsonRpcMessage<RoleServer>> {
        let id = Id::from_value(id)?;
        if let Some(place) = self.waiting.iter().position(|waiting| waiting.id == id) {
            self.waiting_bytes -= self.waiting.remove(place)?.bytes;
            return None;
        }
        let number = self.by_id.get(&id).copied()?;
        self.finish(number)?;
        let params = CancelledNotificationParam::new(Some(RequestId::Number(number)), None);
        Some(JsonRpcMessage::notification(ClientNotification::CancelledNotification(
            CancelledNotification::new(params),
        )))
    }

    /// Takes a request out of the books; `None` if it is not in them (any more).
    fn finish(&mut self, number: i64) -> Option<Id> {
        let Running { id, weight } = self.running.remove(&number)?;
        self.by_id.remove(&id);
        self.weight -= weight;
        Some(id)
    }

    /// The next waiting request that there is room for: a call does not wait behind resource reads.
    fn start_next(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if self.pipes.out.backlog() > MAX_BACKLOG {
            return None;
        }
        let room = MAX_IN_FLIGHT - self.weight;
        let place = self.waiting.iter().position(|waiting| weight(&waiting.request) <= room)?;
        let Waiting { id, request, bytes } = self.waiting.remove(place)?;
        let weight = weight(&request);
        self.waiting_bytes -= bytes;
        self.weight += weight;
        let number = self.next;
        self.next += 1;
        self.by_id.insert(id.clone(), number);
        self.running.insert(number, Running { id, weight });
        Some(JsonRpcMessage::request(request, RequestId::Number(number)))
    }

    fn has_room_to_wait(&self) -> bool {
        self.waiting.len() < MAX_WAITING && self.waiting_bytes < MAX_WAITING_BYTES
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    fn line_of(&mut self, message: TxJsonRpcMessage<RoleServer>) -> Option<Vec<u8>> {
        match message {
            JsonRpcMessage::Response(answer) => Some(jsonrpc::answer_line(
                self.finish(number(&answer.id)?)?.as_json(),
                "result",
                &answer.result,
            )),
            JsonRpcMessage::Error(answer) => {
                Some(jsonrpc::error_line(self.finish(number(answer.id.as_ref()?)?)?.as_json(), &answer.error))
            }
            other => serde_json::to_vec(&other).ok(),
        }
    }
}

const fn weight(request: &ClientRequest) -> usize {
    match request {
        ClientRequest::ReadResourceRequest(_) => RESOURCE_WEIGHT,
        _ => 1,
    }
}

const fn number(id: &RequestId) -> Option<i64> {
    match id {
        RequestId::Number(number) => Some(*number),
        RequestId::String(_) => None,
    }
}

impl Transport<RoleServer> for Connection {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = std::io::Result<()>> + Send + 'static {
        if let Some(line) = self.line_of(message) {
            self.pipes.out.send(line);
        }
        std::future::ready(Ok(()))
    }

    /// The SDK drops this future whenever something else happens, so every state is in `self`; it also
    /// asks again after every answer, which is what frees a place.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.stop.now.is_cancelled() {
                return None;
            }
            if let Some(request) = self.start_next() {
                return Some(request);
            }
            if self.deadline.is_some() && self.is_idle() {
                return None;
            }
            let reads = self.deadline.is_none() && self.has_room_to_wait();
            let deadline = self.deadline;
            tokio::select! {
                () = self.stop.now.cancelled() => return None,
                () = async { tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)).await }, if deadline.is_some() => {
                    self.stop.because(Ended::EndOfInput);
                    return None;
                }
                line = self.pipes.lines.recv(), if reads => match line {
                    Some(line) => {
                        if let Some(message) = self.take(&line) {
                            return Some(message);
                        }
                    }
                    None => self.deadline = Some(Instant::now() + GRACE),
                },
                changed = self.written.changed() => changed.ok()?,
            }
        }
    }

    async fn close(&mut self) -> std::io::Result<()> {
        match self.stop.cause.get() {
            None => self.pipes.out.flush(FLUSH).await,
            Some(Ended::OutputClosed | Ended::OutputFailed(_) | Ended::NoOutput) => {}
            Some(_) => self.pipes.out.flush(FLUSH_STOPPED).await,
        }
        Ok(())
    }
}

// ---------------------------------------------------------------- the end of the process

/// Watches, on a thread and a runtime of its own, for everything that ends the process, and ends it if
/// it does not end by itself.
fn guard_process(stop: Stop) -> std::io::Result<()> {
    let (parent, signals) = (parent(), StopSignals::listen());
    std::thread::Builder::new().name("guard".to_owned()).stack_size(256 << 10).spawn(move || {
        let Ok(runtime) = crate::runtime::of_this_thread() else { return };
        runtime.block_on(async {
            let mut signals = std::pin::pin!(signals.next().fuse());
            tokio::select! {
                () = &mut signals => stop.because(Ended::Signal),
                cause = left_alone(parent) => stop.because(cause),
                () = stop.now.cancelled() => {}
                () = stop.input_ended.cancelled() => tokio::time::sleep(GRACE).await,
            }
            tokio::time::sleep(if stop.now.is_cancelled() { LAST_RESORT } else { FLUSH }).await;
            // A token on its way may still come, unless somebody wants the process gone.
            if stop.cause() == Ended::EndOfInput && ending::PROCESS.is_held() {
                tokio::select! {
                    () = ending::PROCESS.released(ending::LONGEST) => tokio::time::sleep(FLUSH).await,
                    () = signals => tokio::time::sleep(LAST_RESORT).await,
                }
            }
        });
        // Reached only if a call blocks the runtime, or a token is too long on its way: everything else has
        // ended the process by now.
        #[allow(clippy::exit, reason = "R1.8: nothing may keep the process")]
        std::process::exit(i32::from(!ending::PROCESS.is_held()));
    })?;
    Ok(())
}

/// Whether the process was started without a stdout. The standard library opens `/dev/null` in its place, for
/// reading too, before anything of ours runs; a shell's `>/dev/null` is for writing alone.
#[cfg(unix)]
fn is_stdout_closed() -> bool {
    use std::os::fd::AsFd as _;

    use rustix::fs::{FileType, OFlags, Stat, fcntl_getfl, fstat, stat};
    #[allow(clippy::disallowed_methods, reason = "only looked at")]
    let stdout = std::io::stdout();
    let is_null = |found: Stat| {
        FileType::from_raw_mode(found.st_mode) == FileType::CharacterDevice
            && stat("/dev/null").is_ok_and(|null| null.st_rdev == found.st_rdev)
    };
    fstat(stdout.as_fd()).is_ok_and(is_null)
        && fcntl_getfl(stdout.as_fd()).is_ok_and(|flags| flags.contains(OFlags::RDWR))
}

#[cfg(not(unix))]
const fn is_stdout_closed() -> bool {
    false
}

#[cfg(unix)]
type Parent = Option<rustix::process::Pid>;
#[cfg(not(unix))]
type Parent = ();

#[cfg(unix)]
fn parent() -> Parent {
    rustix::process::getppid()
}
#[cfg(not(unix))]
fn parent() -> Parent {}

/// Ends when the parent is another than `parent`, nobody can read stdout any more, or stdin has had no
/// writer for longer than R1.8 allows. The reader sees that last one itself, unless it waits for a
/// client that reads no answers.
#[cfg(unix)]
async fn left_alone(parent: Parent) -> Ended {
    let mut ticks = tokio::time::interval(WATCH_EVERY);
    loop {
        ticks.tick().await;
        if self::parent() != parent {
            return Ended::ParentGone;
        }
        #[allow(clippy::disallowed_methods, reason = "only looked at")]
        if is_hung_up(&std::io::stdout()) {
            return Ended::OutputClosed;
        }
        if is_hung_up(&std::io::stdin()) {
            // A tick may have passed already.
            tokio::time::sleep(GRACE.saturating_sub(WATCH_EVERY)).await;
            if is_hung_up(&std::io::stdin()) {
                return Ended::EndOfInput;
            }
        }
    }
}

/// Windows has neither; a closed stdin and a failed write remain.
#[cfg(not(unix))]
async fn left_alone(_parent: Parent) -> Ended {
    std::future::pending().await
}

/// Whether `stream` is a pipe or socket whose other end is closed, without reading or writing it.
#[cfg(unix)]
fn is_hung_up(stream: &impl std::os::fd::AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut watched = [PollFd::new(stream, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut watched, Some(&now)).is_ok()
        && watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::BoxFuture;
    use serde_json::{Map, json};
    use tokio::sync::Semaphore;

    use super::super::{ResourceContents, ResourceError, ToolAnswer};
    use super::*;
    use crate::error::Kind;

    #[test]
    #[allow(clippy::items_after_statements, reason = "the writer belongs to this test")]
    fn r4_9_every_line_that_goes_out_is_escaped() {
        let stop = Stop::default();
        let written = Arc::new(std::sync::Mutex::new(Vec::new()));
        struct To(Arc<std::sync::Mutex<Vec<u8>>>);
        impl Write for To {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().unwrap().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let pipes = Pipes::open(std::io::empty(), To(Arc::clone(&written)), &stop).unwrap();
        let said = json!({"a\u{202e}": "\u{7f}\u{e0041}\u{200b}é\n"});
        pipes.out.send(said.to_string().into_bytes());
        crate::runtime::block_on(pipes.out.flush(Duration::from_secs(5))).unwrap();
        let line = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        assert!(!line.trim_end_matches('\n').chars().any(text::is_hidden), "{line:?}");
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), said);
    }

    /// Resource reads wait for a permit; calls do not.
    struct Gated {
        permits: Semaphore,
        reading: AtomicUsize,
        most: AtomicUsize,
    }

    impl ReadSurface for Gated {
        fn call(&self, _tool: &str, _arguments: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
            let answer = ToolAnswer { text: String::new(), structured: None, is_error: false };
            Box::pin(std::future::ready(answer))
        }

        fn read_resource(&self, _uri: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
            Box::pin(async {
                let reading = self.reading.fetch_add(1, Ordering::SeqCst) + 1;
                self.most.fetch_max(reading, Ordering::SeqCst);
                let permit = self.permits.acquire().await;
                self.reading.fetch_sub(1, Ordering::SeqCst);
                drop(permit);
                Err(ResourceError::NotFound { message: "gone".to_owned(), data: serde_json::json!({}) })
            })
        }
    }

    #[test]
    fn four_resource_reads_run_at_once_and_calls_overtake_those_that_wait() {
        let gated = Arc::new(Gated {
            permits: Semaphore::new(0),
            reading: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        });
        let (input, mut requests) = std::io::pipe().unwrap();
        let (answers, output) = std::io::pipe().unwrap();
        let surface = Arc::clone(&gated);
        let server = std::thread::spawn(move || {
            let stop = Stop::default();
            let pipes = Pipes::open(input, output, &stop).unwrap();
            crate::runtime::block_on(serve(surface, pipes, stop)).unwrap()
        });
        let mut answers = BufReader::new(answers).lines().map(|line| {
            let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
            answer["id"].clone()
        });
        let mut request = |id: u32, method: &str, params: Value| {
            let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            requests.write_all(format!("{request}\n").as_bytes()).unwrap();
        };
        request(0, "initialize", json!({"protocolVersion": "2025-11-25"}));
        assert_eq!(answers.next(), Some(json!(0)));
        for id in 1..=6 {
            request(id, "resources/read", json!({"uri": "pdpp://x"}));
        }
        request(7, "ping", json!({}));
        request(8, "tools/call", json!({"name": "schema"}));
        let mut next = |count| {
            let mut ids: Vec<_> = answers.by_ref().take(count).map(|id| id.as_u64().unwrap()).collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(next(2), [7, 8]);
        gated.permits.add_permits(1);
        assert_eq!(next(6), [1, 2, 3, 4, 5, 6]);
        assert_eq!(gated.most.load(Ordering::SeqCst), 4);
        drop(requests);
        assert_eq!(server.join().unwrap(), Ended::EndOfInput);
        assert_eq!(answers.next(), None);
    }

    #[test]
    fn a_refusal_is_one_line_of_visible_text() {
        let error = Error::new(Kind::Refused, "refused", "It said \u{1b}[31mno").hint("pdpp connect <url>");
        let refusal = refusal(&error);
        assert_eq!(refusal.message, "It said \\u{1b}[31mno. Next: pdpp connect <url>");
        assert_eq!(refusal.data.unwrap()["exit_code"], 77);
        let refusal = super::refusal(&error.because("it is a symlink"));
        assert_eq!(refusal.message, "It said \\u{1b}[31mno: it is a symlink. Next: pdpp connect <url>");
        assert_eq!(refusal.data.unwrap()["because"][0], "it is a symlink");
    }
}
