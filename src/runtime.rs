//! The event loop that a command runs on, and who may stop it.

use std::future::Future;
use std::io;

use tokio::sync::Notify;

use crate::advice::Command;
use crate::error::{Error, Kind, Result};

/// The hidden option of a command that another process of this program runs, by which it calls [`go_with_parent`].
pub const WHILE_STDIN_IS_OPEN: &str = "--while-stdin-is-open";

/// Told, once, when the process that started this one is gone.
static PARENT_IS_GONE: Notify = Notify::const_new();

/// Lets this process be asked to go by the end of its standard input too: a pipe that the process which started it keeps open. Whatever
/// ends that process, the system closes its end.
///
/// # Errors
/// `no_thread`: the system gave none.
pub fn go_with_parent() -> Result<()> {
    let wait = || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        PARENT_IS_GONE.notify_one();
    };
    let started = std::thread::Builder::new().name("parent".to_owned()).spawn(wait);
    started.map(drop).map_err(|error| Error::failed("no_thread", "Could not start a thread").because(error))
}

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

/// What asks a process to go, from here on instead of ending it there and then: Ctrl-C, Ctrl-Break, the end of its console, and that
/// of the session. After the last two the system ends the process in about five seconds, whatever it does.
#[cfg(windows)]
pub struct StopSignals {
    interrupt: Option<tokio::signal::windows::CtrlC>,
    interrupt_too: Option<tokio::signal::windows::CtrlBreak>,
    close: Option<tokio::signal::windows::CtrlClose>,
    shutdown: Option<tokio::signal::windows::CtrlShutdown>,
}

#[cfg(windows)]
impl StopSignals {
    /// Listens from now on.
    pub fn listen() -> Self {
        use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};
        // One that cannot be listened for keeps its default, which ends the process too.
        Self {
            interrupt: ctrl_c().ok(),
            interrupt_too: ctrl_break().ok(),
            close: ctrl_close().ok(),
            shutdown: ctrl_shutdown().ok(),
        }
    }

    /// The same for a server: there is no `nohup`, and it does not outlive its console.
    pub fn of_server() -> Self {
        Self::listen()
    }

    /// Ends with the next of them.
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

/// What is waited for, where it can be.
#[cfg(windows)]
async fn asked(signal: Option<impl Future<Output = Option<()>>>) -> Option<()> {
    signal?.await
}
