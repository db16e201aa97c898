//! The event loop that a command runs on, and the signals that stop it.

use std::future::Future;
use std::io;

use tokio::sync::Notify;

use crate::advice::Command;
use crate::error::{Error, Kind, Result};

/// The hidden option that makes a command call [`go_with_parent`]. Another process of this program passes it.
pub const WHILE_STDIN_IS_OPEN: &str = "--while-stdin-is-open";

/// Notified once, when the process that started this one has ended.
static PARENT_IS_GONE: Notify = Notify::const_new();

/// Makes this process stop also when its standard input ends. That is a pipe that the parent process keeps open; however
/// the parent ends, the system closes its end of the pipe.
///
/// # Errors
/// `no_thread` if the system provides no thread.
pub fn go_with_parent() -> Result<()> {
    let wait = || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        PARENT_IS_GONE.notify_one();
    };
    let started = std::thread::Builder::new().name("parent".to_owned()).spawn(wait);
    started.map(drop).map_err(|error| Error::no_thread("Could not start a thread").because(error))
}

/// Runs `future` on a runtime of this one thread, and returns without waiting for threads that it started.
///
/// # Errors
/// `runtime_failed` if the system provides no event queue.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T> {
    let runtime = of_this_thread().map_err(|error| {
        Error::no_events("runtime_failed", "Could not start the event loop").because(error)
    })?;
    let done = runtime.block_on(future);
    // Dropping a runtime would wait for blocking work, such as a name look-up.
    runtime.shutdown_background();
    Ok(done)
}

/// Same as [`block_on`], but drops `future` if a signal asks the process to end (SIGINT, SIGTERM, SIGHUP). The
/// end of the process waits for a token that is on its way ([`crate::shutdown`]).
///
/// # Errors
/// `interrupted` (130), and the errors of [`block_on`].
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

/// Does `work`. For each signal that asks the process to end, calls `on_signal` on another thread with the
/// number of signals so far. No signal ends the process.
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
/// If the system provides no event queue.
pub fn of_this_thread() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// The signals that ask a process to end; from here on they do not kill it.
#[cfg(unix)]
pub struct StopSignals(Vec<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl StopSignals {
    /// Starts to listen.
    pub fn listen() -> Self {
        use tokio::signal::unix::SignalKind;
        Self::of(&[SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()])
    }

    /// The same for a server. The process that started a server handles the end of its terminal: `nohup` keeps
    /// it running.
    pub fn of_server() -> Self {
        use tokio::signal::unix::SignalKind;
        Self::of(&[SignalKind::interrupt(), SignalKind::terminate()])
    }

    fn of(kinds: &[tokio::signal::unix::SignalKind]) -> Self {
        use tokio::signal::unix::signal;
        // A signal that cannot be listened for keeps its default action, which also ends the process.
        Self(kinds.iter().filter_map(|kind| signal(*kind).ok()).collect())
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        if self.0.is_empty() {
            return PARENT_IS_GONE.notified().await;
        }
        let signal =
            futures_util::future::select_all(self.0.iter_mut().map(|signal| Box::pin(signal.recv())));
        tokio::select! {
            _ = signal => {}
            () = PARENT_IS_GONE.notified() => {}
        }
    }
}

/// The events that ask a process to end; from here on they do not end it at once: Ctrl-C, Ctrl-Break, the end
/// of its console, and the end of the session. After the last two, the system ends the process in about five
/// seconds in any case.
#[cfg(windows)]
pub struct StopSignals {
    interrupt: Option<tokio::signal::windows::CtrlC>,
    interrupt_too: Option<tokio::signal::windows::CtrlBreak>,
    close: Option<tokio::signal::windows::CtrlClose>,
    shutdown: Option<tokio::signal::windows::CtrlShutdown>,
}

#[cfg(windows)]
impl StopSignals {
    /// Starts to listen.
    pub fn listen() -> Self {
        use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};
        // An event that cannot be listened for keeps its default action, which also ends the process.
        Self {
            interrupt: ctrl_c().ok(),
            interrupt_too: ctrl_break().ok(),
            close: ctrl_close().ok(),
            shutdown: ctrl_shutdown().ok(),
        }
    }

    /// The same for a server: there is no `nohup`, and a server does not outlive its console.
    pub fn of_server() -> Self {
        Self::listen()
    }

    /// Waits for the next event.
    pub async fn next(&mut self) {
        tokio::select! {
            Some(()) = asked(self.interrupt.as_mut().map(tokio::signal::windows::CtrlC::recv)) => {}
            Some(()) = asked(self.interrupt_too.as_mut().map(tokio::signal::windows::CtrlBreak::recv)) => {}
            Some(()) = asked(self.close.as_mut().map(tokio::signal::windows::CtrlClose::recv)) => {}
            Some(()) = asked(self.shutdown.as_mut().map(tokio::signal::windows::CtrlShutdown::recv)) => {}
            () = PARENT_IS_GONE.notified() => {}
            else => std::future::pending().await,
        }
    }
}

/// Waits for the event if it can be listened for.
#[cfg(windows)]
async fn asked(signal: Option<impl Future<Output = Option<()>>>) -> Option<()> {
    signal?.await
}
