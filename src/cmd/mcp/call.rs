//! `pdpp mcp call`: one tool call from the shell, as a host would get it.

use anyhow::anyhow;
use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::which::Which;
use crate::advice::Command;
use crate::cmd::Global;
use crate::error::{Error, Kind, Result};
use crate::json::write::Written;
use crate::mcp::call::Tool;
use crate::mcp::protocol::measure::estimate_tokens;
use crate::mcp::protocol::service::Service as _;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::paging::Cursor;
use crate::runtime;
use crate::text;
use crate::ui::Ui;

/// Call one tool and show what a host would get: both views and their sizes
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The tool: schema, query_records, aggregate, search, fetch or read_record_field
    #[arg(value_name = "TOOL")]
    pub tool: String,

    /// The tool's arguments, as one JSON object
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

Exits with 1 if the tool answered with an error.";

/// Calls the tool.
///
/// # Errors
/// Returns the errors of `mcp serve`, and `unknown_tool` or `arguments_not_an_object` (exit code 2). An error in the
/// tool's own answer is shown as a host would get it, with exit code 1.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    if Tool::from_name(&args.tool).is_none() {
        return Err(unknown_tool(&args.tool));
    }
    let arguments = arguments(&args.tool, &args.arguments)?;
    let tools = args.which.tools(global)?.for_one_call();
    let answer = runtime::block_on_unless_stopped(tools.call(&args.tool, arguments))?;
    let exit_code = u8::from(answer.is_error);
    if args.json {
        ui.json(&to_json(&answer));
        return Ok(exit_code);
    }
    let structured = answer.structured.as_ref().map(Written::as_str);
    if args.view != Some(View::Structured) {
        ui.print(&answer.text);
    }
    if args.view.is_none() {
        ui.print("");
    }
    if args.view != Some(View::Text) {
        ui.print(structured.unwrap_or("(no structured output)"));
    }
    let size = |text: &str| format!("{} bytes, about {} tokens", text.len(), estimate_tokens(text));
    let next = answer.structured_map().remove("next");
    let next_cursor = next.as_ref().and_then(|next| next.pointer("/arguments/cursor")?.as_str());
    if next_cursor.is_some_and(|cursor| matches!(Cursor::from_text(cursor), Cursor::Kept(_))) {
        ui.note(
            "the next page's cursor is lost when this process ends; with fewer grants (--grant) or a smaller limit, you get one \
             that you can pass to another call",
        );
    }
    ui.note(&format!("text: {}", size(&answer.text)));
    ui.note(&format!("structured: {}", structured.map_or_else(|| "none".to_owned(), size)));
    Ok(exit_code)
}

fn unknown_tool(tool: &str) -> Error {
    let names = Tool::ALL.map(Tool::name);
    let likeness = |name: &str| strsim::jaro_winkler(&tool.to_lowercase(), name);
    let near = names.into_iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    // If no tool has a similar name, suggest the first call, which needs no arguments.
    let near = near.filter(|near| likeness(near) > 0.7).unwrap_or("schema");
    let message =
        format!("There is no tool `{}`; the tools are {}", text::prefix(tool, 100), names.join(", "));
    Error::new(Kind::Usage, "unknown_tool", message).run(example(near))
}

/// An example call of the tool, as typed in a shell.
fn example(tool: &str) -> Command {
    let call = Command::new("mcp call").value(tool);
    match Tool::from_name(tool).and_then(example_arguments) {
        Some(arguments) => call.value(arguments),
        None => call,
    }
}

const fn example_arguments(tool: Tool) -> Option<&'static str> {
    Some(match tool {
        Tool::Schema => return None,
        Tool::QueryRecords => r#"{"stream":"messages","limit":2}"#,
        Tool::Aggregate => r#"{"stream":"messages","metric":"count"}"#,
        Tool::Search => r#"{"q":"invoice","limit":3}"#,
        Tool::Fetch => r#"{"id":"ID"}"#,
        Tool::ReadRecordField => r#"{"id":"ID","field_path":"body"}"#,
    })
}

fn arguments(tool: &str, text: &str) -> Result<Map<String, Value>> {
    let wrong = |why: anyhow::Error| {
        Error::new(Kind::Usage, "arguments_not_an_object", "The tool's arguments are not a JSON object")
            .because(why)
            .run(example(tool))
    };
    match crate::json::parse(text.as_bytes()) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(wrong(anyhow!("it is JSON, but not an object"))),
        Err(_) if !text.trim_start().starts_with('{') => Err(wrong(anyhow!("it does not begin with {{"))),
        Err(error) if error.is_eof() => Err(wrong(anyhow!("it ends before its last }}"))),
        Err(error) => Err(wrong(anyhow!(
            "it stops being JSON at line {}, column {}; names and texts need double quotes",
            error.line(),
            error.column()
        ))),
    }
}

/// The result in the form that `tools/call` returns.
fn to_json(answer: &ToolAnswer) -> Value {
    let mut result = json!({"content": [{"type": "text", "text": answer.text}]});
    if let Some(structured) = &answer.structured {
        result["structuredContent"] = structured.read();
    }
    if answer.is_error {
        result["isError"] = json!(true);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::Hint;
    use crate::mcp::tools::arguments::checked;

    #[test]
    fn what_is_wrong_is_answered_with_a_call_of_the_tool_that_was_meant() {
        for (typed, expected) in [
            ("serch", "search"),
            ("query", "query_records"),
            ("Schema", "schema"),
            ("read_field", "read_record_field"),
        ] {
            let error = unknown_tool(typed);
            assert_eq!(error.next().and_then(Hint::command), Some(&example(expected)), "{typed}");
        }
        for typed in ["", "foo", "list_streams", "fo", "delete_all"] {
            let error = unknown_tool(typed);
            assert_eq!(error.next_step().as_deref(), Some("pdpp mcp call schema"), "{typed}");
            assert!(error.message().ends_with(&Tool::ALL.map(Tool::name).join(", ")), "{error}");
        }
        for tool in Tool::ALL {
            if let Some(given) = example_arguments(tool) {
                let given = arguments(tool.name(), given).unwrap();
                assert!(checked(tool, given).is_ok());
            }
            let error = arguments(tool.name(), "[]").unwrap_err();
            assert_eq!(
                (error.code(), error.next_step()),
                ("arguments_not_an_object", Some(example(tool.name()).to_string()))
            );
        }
    }
}
