//! Why and how serving ends.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How long running calls may take after the end of input (R1.8).
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// How long a client may take to read the last answers.
pub(super) const FLUSH: Duration = Duration::from_millis(400);

/// The longest time that R1.8 allows between a cause and the end of the process.
pub(super) const LONGEST_END: Duration = Duration::from_millis(1500);

const _: () = assert!(GRACE.as_millis() + FLUSH.as_millis() < LONGEST_END.as_millis(), "R1.8");

/// Why serving ended. It is not a failure if nobody listens any more: the exit code is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The client closed stdin.
    EndOfInput,
    /// SIGINT, SIGTERM or SIGHUP.
    Signal,
    /// Nobody reads stdout any more.
    OutputClosed,
    /// The process that started this one is gone.
    ParentGone,
    /// stdout is open but refuses output, for example on a full disk. A failure.
    OutputFailed(std::io::ErrorKind),
    /// The process was started with its stdout closed. A failure.
    NoOutput,
}

/// The end, agreed on between threads: the first cause counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Stop {
    /// Everything must end now.
    pub(super) now: CancellationToken,
    /// stdin has ended; what was read before is still answered.
    pub(super) input_ended: CancellationToken,
    pub(super) cause: Arc<OnceLock<Ended>>,
}

impl Stop {
    pub(super) fn because(&self, cause: Ended) {
        let _ = self.cause.set(cause);
        self.now.cancel();
    }

    pub(super) fn cause(&self) -> Ended {
        self.cause.get().copied().unwrap_or(Ended::EndOfInput)
    }
}
