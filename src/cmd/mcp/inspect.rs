//! `pdpp mcp inspect`: what tools cost a model's context.

use std::ffi::OsString;
use std::time::Duration;

use serde_json::{Value, json};

use crate::error::{Error, Kind, Result};
use crate::mcp::client::{Client, ServerCommand};
use crate::mcp::measure::{Measure, measure};
use crate::mcp::surface;
use crate::runtime;
use crate::text;
use crate::ui::{Column, Ui, table};

/// How long another server may take for everything.
const WITHIN: Duration = Duration::from_secs(10);

/// Show the tools and what they cost a model's context
///
/// Needs no credential. Bytes are those of compact JSON; tokens are an estimate, since every model
/// counts differently.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,

    /// Fail (exit code 1) if the tools array is larger than this
    #[arg(long, value_name = "BYTES")]
    pub budget: Option<usize>,

    /// Inspect another stdio MCP server instead: the command that starts it
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// A surface to look at.
struct Surface {
    tools: Vec<Value>,
    instructions: String,
    /// Who it belongs to; `None` for our own.
    server: Option<String>,
}

/// Shows the surface.
///
/// # Errors
/// Whatever kept another server from being inspected.
pub fn run(args: &Args, ui: &Ui) -> Result<u8> {
    let inspected = match ServerCommand::from_words(&args.command) {
        None => own()?,
        Some(command) => {
            let progress = ui.progress();
            progress.say(&format!("Asking {} for its tools", command.display()));
            runtime::block_on(other(&command))??
        }
    };
    let measured = measure(&inspected.tools, &inspected.instructions);
    if args.json {
        ui.json(&as_json(&inspected, &measured));
    } else {
        ui.print(&as_text(&inspected, &measured, ui.width()));
    }
    let Some(over) =
        args.budget.and_then(|budget| measured.tools_bytes.checked_sub(budget)).filter(|over| *over > 0)
    else {
        return Ok(0);
    };
    let budget = measured.tools_bytes - over;
    ui.note(&format!(
        "over budget: the tools array has {} bytes, {over} more than {budget}",
        measured.tools_bytes
    ));
    Ok(1)
}

fn own() -> Result<Surface> {
    let tools =
        surface::tools().iter().map(serde_json::to_value).collect::<Result<_, _>>().map_err(|error| {
            Error::failed("broken_surface", "The tools could not be written as JSON").because(error)
        })?;
    Ok(Surface { tools, instructions: surface::INSTRUCTIONS.to_owned(), server: None })
}

async fn other(command: &ServerCommand) -> Result<Surface> {
    let inspect = async {
        let mut client = Client::start(command, WITHIN).await?;
        let tools = client.list_tools().await?;
        let (instructions, server) = client.facts().map_or_else(Default::default, |facts| {
            let said = |key| facts.info.get(key).and_then(Value::as_str).unwrap_or("?").to_owned();
            let server = format!("{} {} (MCP {})", said("name"), said("version"), facts.protocol_version);
            (facts.instructions.clone(), server)
        });
        client.close().await;
        Ok(Surface { tools, instructions, server: Some(server) })
    };
    tokio::select! {
        inspected = inspect => inspected.map_err(|error: Error| {
            let hint = format!("run it by hand to see more: {}", command.display());
            if error.next_step().is_some() { error } else { error.hint(hint) }
        }),
        // The server is in a group of its own, so the terminal's Ctrl-C does not reach it: dropping
        // the client does.
        _ = tokio::signal::ctrl_c() => {
            Err(Error::new(Kind::Interrupted, "interrupted", "Interrupted; the server was stopped"))
        }
    }
}

fn as_json(inspected: &Surface, measured: &Measure) -> Value {
    let tools: Vec<_> = measured
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "bytes": tool.bytes, "tokens": tool.tokens}))
        .collect();
    json!({
        "tools": tools,
        "tools_bytes": measured.tools_bytes,
        "tools_tokens": measured.tools_tokens,
        "instructions": inspected.instructions,
        "instructions_bytes": measured.instructions_bytes,
        "tools_list": inspected.tools,
    })
}

fn as_text(inspected: &Surface, measured: &Measure, width: u16) -> String {
    let row = |what: &str, bytes: usize, tokens: usize| {
        [text::prefix(what, 100).to_owned(), bytes.to_string(), tokens.to_string()]
    };
    let mut rows: Vec<_> =
        measured.tools.iter().map(|tool| row(&tool.name, tool.bytes, tool.tokens)).collect();
    rows.push(row("all, as one array", measured.tools_bytes, measured.tools_tokens));
    rows.push(row("instructions", measured.instructions_bytes, measured.instructions_tokens));
    let columns = [Column::whole("Tool"), Column::number("Bytes"), Column::number("Tokens (est.)")];
    let mut said = String::new();
    if let Some(server) = &inspected.server {
        said.push_str(&text::one_line(text::prefix(server, 200)));
        said.push_str("\n\n");
    }
    said.push_str(&table(width, columns, &rows));
    said.push('\n');
    if inspected.instructions.is_empty() {
        said.push_str("\nNo instructions.");
    } else {
        said.push_str("\nInstructions:\n");
        said.push_str(text::prefix(&inspected.instructions, 8000));
    }
    said
}
