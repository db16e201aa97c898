//! The signals that an operator sends.

#[cfg(unix)]
use crate::error::Error;
use crate::error::Result;

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGHUP: reload secrets and certificates.
    Reload,
    /// SIGTERM, SIGINT: stop.
    Stop,
}

/// The signals that arrive after this is created.
pub struct Signals {
    #[cfg(unix)]
    hangup: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(not(unix))]
    stop: crate::runtime::StopSignals,
}

#[cfg(unix)]
impl Signals {
    /// Listens from now on. Must be called inside a runtime.
    ///
    /// # Errors
    /// Returns `runtime_failed` if the system refuses to listen.
    pub fn new() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Error::no_events("runtime_failed", "Could not wait for signals").because(error)
            })
        };
        Ok(Self {
            hangup: listen(SignalKind::hangup())?,
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.hangup.recv() => Signal::Reload,
            _ = self.terminate.recv() => Signal::Stop,
            _ = self.interrupt.recv() => Signal::Stop,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    /// Listens from now on, as on Unix.
    ///
    /// # Errors
    /// None.
    #[allow(clippy::unnecessary_wraps, reason = "as on unix")]
    pub fn new() -> Result<Self> {
        Ok(Self { stop: crate::runtime::StopSignals::of_server() })
    }

    /// Ctrl-C, Ctrl-Break, the end of the console or of the session; there is no signal to reload.
    pub async fn next(&mut self) -> Signal {
        self.stop.next().await;
        Signal::Stop
    }
}
