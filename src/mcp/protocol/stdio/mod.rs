//! MCP on stdin and stdout, guarded.
//!
//! The SDK (`rmcp`) keeps the protocol; its own stdio transport and lifecycle are not used. Measured against
//! them, this one answers every request that can be read, keeps memory bounded when a client stops reading,
//! and always ends (R1.4, R1.7, R1.8):
//!
//! - Lines of at most 4 MiB; what is no message is answered with the id that it had ([`jsonrpc`]).
//! - The lifecycle is a flag, not a state of the process: whatever comes before `initialize`, or
//!   instead of it, is answered or ignored.
//! - Wire ids never reach the SDK. It knows 64 bits and its own bookkeeping; here an id comes back
//!   as it went, once: while one is in flight a second request with it is ignored.
//! - At most [`MAX_IN_FLIGHT`] calls run. More wait, bounded, while lines are still read for a
//!   cancellation among them; then reading stops. It stops too while a client leaves more than
//!   [`MAX_BACKLOG`] bytes of answers unread.
//! - stdin and stdout have a thread each, so a stuck peer blocks no call; only what stdout takes without being waited for is
//!   written past its thread. A third thread enforces the
//!   end with its own clock: signals, a reader of stdout that went away, a parent that went away, and
//!   a call that blocks the runtime.
//!
//! A vanished parent is noticed by its process id, four times a second. Linux could send a signal
//! instead (`PR_SET_PDEATHSIG`), but does so already when the *thread* that started us ends, which is
//! ordinary in hosts with thread pools.

pub(super) mod connection;
mod guard;
mod pipes;
mod stop;

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::ErrorCode;

use crate::error::{Error, Result};
use crate::mcp::protocol::jsonrpc::{self, Envelope};
use crate::mcp::protocol::server::Server;
use crate::mcp::protocol::service::Service;
use crate::mcp::protocol::transport::Transport;
use crate::text;
use crate::ui::Ui;

use connection::Connection;
pub use connection::{MAX_BACKLOG, MAX_IN_FLIGHT};
pub use pipes::MAX_LINE;
use pipes::Pipes;
pub use stop::Ended;
use stop::{FLUSH, Stop};

/// Serves `service` on this process's stdin and stdout until there is nobody to serve.
///
/// Takes the process over: its signals, its panic messages, its standard streams, and its end, which
/// has to follow at once: half a second later it is enforced, unless a token is on its way ([`crate::shutdown`]).
///
/// # Errors
/// `no_thread`: the system gave no threads.
pub async fn serve_stdio(service: Arc<dyn Service>) -> Result<Ended> {
    if guard::is_stdout_closed() {
        return Ok(Ended::NoOutput);
    }
    let stop = Stop::default();
    let pipes = take_over_process(&stop)?;
    Ok(serve(service, pipes, stop).await)
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
    guard::watch(stop.clone()).map_err(no_thread)?;
    #[allow(clippy::disallowed_methods, reason = "the MCP transport is the one other writer to stdout")]
    let output = std::io::stdout();
    let pipes = Pipes::open(std::io::stdin(), output, stop).map_err(no_thread)?;
    #[cfg(target_os = "linux")]
    #[allow(clippy::disallowed_methods, reason = "the same one")]
    let pipes = pipes.past_thread(std::io::stdout());
    Ok(pipes)
}

async fn serve(service: Arc<dyn Service>, pipes: Pipes, stop: Stop) -> Ended {
    let connection = Transport::Stdio(Box::new(Connection::new(pipes, stop.clone())));
    let running = connection.serve(Server::new(service), None, stop.now.clone());
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
    if let Some(next) = &next {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

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
