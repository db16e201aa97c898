//! What a host sees of a server before it calls a tool: of this program, or of another one.

use std::ffi::OsString;
use std::time::Duration;

use serde_json::Value;

use crate::error::{Error, Kind, Result};
use crate::mcp::protocol::client::{Client, ServerCommand};
use crate::mcp::tools::surface;
use crate::runtime;

/// A server's surface.
pub struct Surface {
    /// Its tools, as `tools/list` has them.
    pub tools: Vec<Value>,
    /// Its instructions.
    pub instructions: String,
    /// The name of the server; `None` for our own.
    pub server: Option<String>,
    /// What the server writes that a host may not read.
    pub odd: Option<&'static str>,
}

/// The surface of the stdio server that `command` starts, read `within` that time; without a command, this program's
/// own.
///
/// # Errors
/// Returns the reason why another server could not be inspected, or `interrupted`.
pub fn inspect(command: &[OsString], within: Duration) -> Result<Surface> {
    match ServerCommand::from_words(command) {
        None => own(),
        Some(command) => runtime::block_on(other(&command, within))?,
    }
}

fn own() -> Result<Surface> {
    let tools =
        surface::tools().iter().map(serde_json::to_value).collect::<Result<_, _>>().map_err(|error| {
            Error::failed("broken_surface", "The tools could not be written as JSON")
                .because(error)
                .hint("Report this: it is a fault of pdpp")
        })?;
    Ok(Surface { tools, instructions: surface::INSTRUCTIONS.to_owned(), server: None, odd: None })
}

async fn other(command: &ServerCommand, within: Duration) -> Result<Surface> {
    let inspect = async {
        let mut client = Client::start(command, within).await?;
        let tools = client.list_tools().await?;
        let (instructions, server) = client.facts().map_or_else(Default::default, |facts| {
            let text = |key| facts.info.get(key).and_then(Value::as_str).unwrap_or("?").to_owned();
            let server = format!("{} {} (MCP {})", text("name"), text("version"), facts.protocol_version);
            (facts.instructions.clone(), server)
        });
        let odd = client.odd();
        client.close().await;
        Ok(Surface { tools, instructions, server: Some(server), odd })
    };
    tokio::select! {
        inspected = inspect => inspected.map_err(|error: Error| {
            let mut hint = format!("run it yourself to see more: {}", command.display());
            if error.code() == "server_timeout" {
                hint = format!("give it longer with --timeout SECONDS (it had {}), or {hint}", within.as_secs());
            }
            if error.next_step().is_some() { error } else { error.hint(hint) }
        }),
        // The server is in its own process group, so the terminal's Ctrl-C does not reach it; dropping the client
        // does.
        _ = tokio::signal::ctrl_c() => {
            Err(Error::new(Kind::Interrupted, "interrupted", "Interrupted; the server was stopped"))
        }
    }
}
