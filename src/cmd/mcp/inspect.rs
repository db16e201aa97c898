//! `pdpp mcp inspect`: how much of a model's context the tools use.

use std::ffi::OsString;
use std::time::Duration;

use serde_json::{Value, json};

use crate::error::Result;
use crate::mcp::inspect::{Surface, inspect};
use crate::mcp::protocol::client::ServerCommand;
use crate::mcp::protocol::measure::{Measure, measure};
use crate::text;
use crate::ui::{Column, Ui, table};

/// Show the tools and what they cost a model's context
///
/// Needs no credential. Bytes are the size of compact JSON; token counts are estimates, because every model counts
/// differently.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,

    /// Fail (exit code 1) if the tools array is larger than this
    #[arg(long, value_name = "BYTES")]
    pub budget: Option<usize>,

    /// How long the other server may take; allow more for one that is downloaded first
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=600))]
    pub timeout: u16,

    /// Inspect another stdio MCP server instead: the command that starts it
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Shows the surface.
///
/// # Errors
/// Returns the reason why another server could not be inspected.
pub fn run(args: &Args, ui: &Ui) -> Result<u8> {
    let inspected = {
        let progress = ui.progress();
        if let Some(command) = ServerCommand::from_words(&args.command) {
            progress.say(&format!("Asking {} for its tools", command.display()));
        }
        inspect(&args.command, Duration::from_secs(args.timeout.into()))?
    };
    if let Some(odd) = inspected.odd {
        ui.warn(&format!("the server writes {odd}, which some hosts cannot read"));
    }
    let measured = measure(&inspected.tools, &inspected.instructions);
    if args.json {
        ui.json(&as_json(&inspected, &measured));
    } else {
        ui.say(&as_text(&inspected, &measured, ui.width()));
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
        "odd": inspected.odd,
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
    let columns = [Column::whole("Tool"), Column::number("Bytes"), Column::number("Token estimate")];
    let mut shown = String::new();
    if let Some(server) = &inspected.server {
        shown.push_str(&text::one_line(text::prefix(server, 200)));
        shown.push_str("\n\n");
    }
    shown.push_str(&table(width, columns, &rows));
    shown.push('\n');
    if inspected.instructions.is_empty() {
        shown.push_str("\nNo instructions.");
    } else {
        shown.push_str("\nInstructions:\n");
        shown.push_str(text::prefix(&inspected.instructions, 8000));
    }
    shown
}
