//! `pdpp mcp inspect`: what tools cost a model's context.

use std::ffi::OsString;
use std::time::Duration;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde_json::{Value, json};

use crate::error::{Error, Kind, Result};
use crate::mcp::protocol::client::{Client, ServerCommand};
use crate::mcp::protocol::measure::{Measure, measure};
use crate::mcp::tools::surface;
use crate::runtime;
use crate::text;
use crate::ui::Ui;

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
        Some(command) => runtime::block_on(other(&command))??,
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
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table.set_header(["Tool", "Bytes", "Tokens (estimate)"]);
    for tool in &measured.tools {
        let name = text::one_line(text::prefix(&tool.name, 100)).into_owned();
        table.add_row([name, tool.bytes.to_string(), tool.tokens.to_string()]);
    }
    table.add_row([
        "all, as one array".to_owned(),
        measured.tools_bytes.to_string(),
        measured.tools_tokens.to_string(),
    ]);
    table.add_row([
        "instructions".to_owned(),
        measured.instructions_bytes.to_string(),
        measured.instructions_tokens.to_string(),
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut said = String::new();
    if let Some(server) = &inspected.server {
        said.push_str(&text::one_line(text::prefix(server, 200)));
        said.push_str("\n\n");
    }
    said.extend(table.lines().map(|line| format!("{}\n", line.trim_end())));
    if inspected.instructions.is_empty() {
        said.push_str("\nNo instructions.");
    } else {
        said.push_str("\nInstructions:\n");
        said.push_str(text::prefix(&inspected.instructions, 8000));
    }
    said
}
