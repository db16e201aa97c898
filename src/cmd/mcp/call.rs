//! `pdpp mcp call`: one tool call from the shell, as a host would get it.

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::which::Which;
use crate::cmd::Global;
use crate::error::{Error, Kind, Result};
use crate::mcp::measure::estimate_tokens;
use crate::mcp::{ReadSurface as _, ToolAnswer, stdio, surface};
use crate::ui::Ui;

/// Call one tool and show what a host would get: both views, and their sizes
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The tool: schema, query_records, aggregate, search, fetch or read_record_field
    #[arg(value_name = "TOOL")]
    pub tool: String,

    /// Its arguments, as one JSON object
    #[arg(value_name = "JSON", default_value = "{}")]
    pub arguments: String,

    /// Show only one view
    #[arg(long, value_enum, value_name = "VIEW")]
    pub view: Option<View>,

    /// Print the whole result as one JSON object
    #[arg(long, conflicts_with = "view")]
    pub json: bool,

    #[command(flatten)]
    pub which: Which,
}

/// One of the two views that hosts show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum View {
    Text,
    Structured,
}

const EXAMPLES: &str = "\
Examples:
  pdpp mcp call schema
  pdpp mcp call search '{\"q\":\"invoice\",\"limit\":3}' --view text
  pdpp mcp call query_records '{\"stream\":\"messages\",\"limit\":2}' --json

Ends with 1 if the tool answered with an error.";

/// Calls the tool.
///
/// # Errors
/// Those of `mcp serve`; `unknown_tool`, `arguments_not_an_object` (2). An error that the tool itself answers
/// with is shown as a host would get it, exit code 1.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    let names = surface::tools().iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>();
    if !names.contains(&args.tool) {
        return Err(Error::new(Kind::Usage, "unknown_tool", format!("There is no tool `{}`", args.tool))
            .hint(format!("One of {}", names.join(", "))));
    }
    let package = args.which.package(global)?;
    let arguments = arguments(&args.arguments)?;
    let answer = stdio::block_on(package.call(&args.tool, arguments))?;
    let exit_code = u8::from(answer.is_error);
    if args.json {
        ui.json(&to_json(&answer));
        return Ok(exit_code);
    }
    let structured =
        answer.structured.as_ref().map(|structured| Value::Object(structured.clone()).to_string());
    if args.view != Some(View::Structured) {
        ui.print(&answer.text);
    }
    if args.view.is_none() {
        ui.print("");
    }
    if args.view != Some(View::Text) {
        ui.print(&crate::ui::json_ascii_controls(structured.as_deref().unwrap_or("(no structured output)")));
    }
    let size = |text: &str| format!("{} bytes, about {} tokens", text.len(), estimate_tokens(text));
    ui.note(&format!("text: {}", size(&answer.text)));
    ui.note(&format!("structured: {}", structured.map_or_else(|| "none".to_owned(), |json| size(&json))));
    Ok(exit_code)
}

fn arguments(text: &str) -> Result<Map<String, Value>> {
    let wrong = |why: String| {
        Error::new(Kind::Usage, "arguments_not_an_object", "The tool's arguments are not one JSON object")
            .because(std::io::Error::other(why))
            .hint("pdpp mcp call schema '{\"stream\":\"messages\"}'")
    };
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(wrong("it is JSON, but no object".to_owned())),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// The result as `tools/call` has it.
fn to_json(answer: &ToolAnswer) -> Value {
    let mut result = json!({"content": [{"type": "text", "text": answer.text}]});
    if let Some(structured) = &answer.structured {
        result["structuredContent"] = Value::Object(structured.clone());
    }
    if answer.is_error {
        result["isError"] = json!(true);
    }
    result
}
