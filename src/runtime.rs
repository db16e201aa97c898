//! The event loop that a command runs on, and who may stop it.

use std::future::Future;

use crate::advice::Command;
use crate::error::{Error, Kind, Result};

/// Runs `future` on a runtime of this one thread, and leaves without waiting for threads that it started.
///
/// # Errors
/// `runtime_failed`: the system gave no event queue.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T> {
    let runtime = of_this_thread()
        .map_err(|error| Error::failed("runtime_failed", "Could not start the event loop").because(error))?;
    let done = runtime.block_on(future);
    // A dropped runtime would wait for blocking work, a name lookup for example.
    runtime.shutdown_background();
    Ok(done)
}

/// As [`block_on`], unless somebody asks the process to go meanwhile (SIGINT, SIGTERM, SIGHUP): `future` is dropped
/// then. A token that is on its way is waited for at the end of the process ([`crate::shutdown`]).
///
/// # Errors
/// `interrupted` (130); as [`block_on`].
pub fn block_on_unless_stopped<T>(future: impl Future<Output = T>) -> Result<T> {
    block_on(async {
        let mut signals = StopSignals::listen();
        tokio::select! {
            done = future => Ok(done),
            () = signals.next() => {
                Err(Error::new(Kind::Interrupted, "interrupted", "Stopped").run(Command::new("status")))
            }
        }
    })?
}

/// Does `work`. For each of the signals that ask the process to go, `on_signal` is called with how many there were, on another
/// thread; none of them ends the process.
pub fn while_signals_are_heard<T>(on_signal: impl Fn(u32) + Send, work: impl FnOnce() -> T) -> T {
    let (over, mut is_over) = tokio::sync::oneshot::channel::<()>();
    std::thread::scope(|scope| {
        if let Ok(runtime) = of_this_thread() {
            let mut signals = runtime.block_on(async { StopSignals::listen() });
            scope.spawn(move || {
                runtime.block_on(async {
                    for count in 1.. {
                        tokio::select! {
                            () = signals.next() => on_signal(count),
                            _ = &mut is_over => break,
                        }
                    }
                });
            });
        }
        let done = work();
        drop(over);
        done
    })
}

/// A runtime of this one thread.
///
/// # Errors
/// The system gave no event queue.
pub fn of_this_thread() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// What asks a process to go, from here on instead of killing it.
#[cfg(unix)]
pub struct StopSignals(Vec<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl StopSignals {
    /// Listens from now on.
    pub fn listen() -> Self {
        use tokio::signal::unix::SignalKind;
        Self::of(&[SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()])
    }

    /// The same for a server. The end of its terminal is left to whoever started it: `nohup` keeps it running.
    pub fn of_server() -> Self {
        use tokio::signal::unix::SignalKind;
        Self::of(&[SignalKind::interrupt(), SignalKind::terminate()])
    }

    fn of(kinds: &[tokio::signal::unix::SignalKind]) -> Self {
        use tokio::signal::unix::signal;
        // One that cannot be listened for keeps its default, which ends the process too.
        Self(kinds.iter().filter_map(|kind| signal(*kind).ok()).collect())
    }

    /// Ends with the next of them.
    pub async fn next(&mut self) {
        if self.0.is_empty() {
            return std::future::pending().await;
        }
        futures_util::future::select_all(self.0.iter_mut().map(|signal| Box::pin(signal.recv()))).await;
    }
}

#[cfg(not(unix))]
pub struct StopSignals;

#[cfg(not(unix))]
impl StopSignals {
    /// Listens from now on.
    pub const fn listen() -> Self {
        Self
    }

    /// Listens from now on.
    pub const fn of_server() -> Self {
        Self
    }

    /// Ends with the next of them.
    pub async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
