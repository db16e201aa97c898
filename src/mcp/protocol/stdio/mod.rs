//! MCP on stdin and stdout, guarded.
//!
//! The SDK (`rmcp`) keeps the protocol; its own stdio transport and lifecycle are not used. Measured against
//! them, this one answers every request that can be read, keeps memory bounded when a client stops reading,
//! and always ends (R1.4, R1.7, R1.8):
//!
//! - Lines have at most 4 MiB; a line that is not a message is answered with its id, if it has one ([`jsonrpc`]).
//! - The lifecycle is a flag, not a state of the process: anything that comes before `initialize`, or instead of it,
//!   is answered or ignored.
//! - Wire ids never reach the SDK, which supports 64 bits and its own bookkeeping. Here an id comes back unchanged, and
//!   once: while a request is in flight, a second one with the same id is ignored.
//! - At most [`MAX_IN_FLIGHT`] calls run. A limited number of others wait while lines are still read, because one of
//!   them may be a cancellation; then reading stops. It also stops while a client leaves more than [`MAX_BACKLOG`]
//!   bytes of answers unread.
//! - stdin and stdout have a thread each, so that a stuck peer blocks no call; only what stdout accepts without blocking
//!   bypasses its thread. A third thread with its own clock enforces the end: on signals, when the reader of stdout or
//!   the parent is gone, and when a call blocks the runtime.
//!
//! The process id of the parent is checked four times a second, to notice that it is gone. Linux could send a signal
//! instead (`PR_SET_PDEATHSIG`), but it does so when the *thread* that started us ends, which is normal in hosts with
//! thread pools.

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

/// Serves `service` on this process's stdin and stdout until the client is gone.
///
/// Takes over the process: its signals, its panic messages, its standard streams, and its end. The caller must end the
/// process at once: half a second later the end is enforced, unless a token exchange is in progress
/// ([`crate::shutdown`]).
///
/// # Errors
/// Returns `no_thread` if the system could not start a thread.
pub async fn serve_stdio(service: Arc<dyn Service>) -> Result<Ended> {
    if guard::is_stdout_closed() {
        return Ok(Ended::NoOutput);
    }
    let stop = Stop::default();
    let pipes = take_over_process(&stop)?;
    Ok(serve(service, pipes, stop).await)
}

/// Answers the first request, whatever it is, with `error`, prints the error on stderr, and returns the exit code for
/// the process (R1.2, R1.3).
///
/// One exception: `server/discover` is answered with the same text, as an unknown method, and the next request ends the
/// process. Claude Code sends it before `initialize`. If a server ends at this probe, Claude Code shows
/// `CONNECTION_CLOSED` without any of the guidance. A client that does not fall back to `initialize` also gets the
/// guidance.
///
/// If a client sends nothing, this waits only until its input or its process ends.
///
/// # Errors
/// Returns `no_thread` if the system could not start a thread.
pub async fn serve_refusal(error: &Error, ui: &Ui) -> Result<u8> {
    ui.error(error);
    let stop = Stop::default();
    let pipes = take_over_process(&stop)?;
    refuse(error, pipes, &stop).await;
    Ok(error.kind().exit_code())
}

fn take_over_process(stop: &Stop) -> Result<Pipes> {
    // In case nothing has done so yet: "not a char boundary in `…`" would quote a record.
    crate::ui::keep_panics_short();
    let no_thread = |error| Error::no_thread("Could not start a thread for stdio").because(error);
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

/// `error` as the JSON-RPC error that ends a session: what happened, and what the owner must type.
fn refusal(error: &Error) -> ErrorData {
    let next = error.next_step();
    let because: Vec<String> = error.causes().collect();
    // A host shows only the message.
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
