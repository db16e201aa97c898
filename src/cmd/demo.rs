//! `pdpp demo`: from a person's own export to an agent's answer, with only this binary.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cache::owner::refuse_owner_credentials_in_environment;
use crate::demo::{self, Scene};
use crate::error::Result;
use crate::grants::local::Sheet;
use crate::mcp::protocol::measure::estimate_tokens;
use crate::text;
use crate::ui::{self, Tone, Ui};

/// See it work on this computer in about a second: an import, a grant and an agent's questions
///
/// Makes up a mailbox and a bank file, imports them, grants part of them (it approves for you), and starts
/// `pdpp mcp serve` as an MCP host would. Then it shows what a model sees for four questions, and for one question
/// about data that was not granted, and how much of its context that takes. Opens no port, reads nothing of yours,
/// and leaves nothing behind.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show every answer in full instead of its first lines
    #[arg(long)]
    pub full: bool,
}

/// The number of lines of an answer that are shown without `--full`.
const SHOWN_LINES: usize = 6;

/// Runs the demo.
///
/// # Errors
/// Returns the errors of [`demo::run`], or `owner_credential_in_environment`.
pub fn run(args: &Args, ui: &Ui) -> Result<u8> {
    // A server that is started with such a variable refuses to serve.
    refuse_owner_credentials_in_environment().map_err(|error| {
        let name = error.message().split(' ').next().unwrap_or_default().to_owned();
        error.hint(if cfg!(windows) {
            format!("Remove the variable, then run pdpp demo again. In PowerShell: Remove-Item Env:{name}")
        } else {
            format!("env -u {name} pdpp demo")
        })
    })?;
    let began = Instant::now();
    let intro = "You have an export of your data: mail, chats, a bank file. With pdpp, an AI agent on this computer reads \
                 only the part of it that you select. This demo uses the data of a made-up person. Nothing leaves this \
                 machine.";
    ui.print(&format!("{}\n", ui::indented(width(ui), 0, intro)));
    let inner = width(ui).saturating_sub(INDENT);
    let cost = demo::run(inner, &|scene| show(&scene, args.full, ui), &|| ui.check_output())?;
    let figures = format!(
        "Four answers and a refusal: {} bytes, about {} tokens; the list of tools costs about {} once. The demo took \
         {:.1} s and left nothing behind.",
        cost.bytes,
        cost.tokens,
        cost.list_tokens,
        began.elapsed().as_secs_f64(),
    );
    ui.print(&format!(
        "{}\n\nNext, with your own data:\n{}\n\n{}",
        ui::indented(width(ui), 0, &figures),
        ui::steps_within(
            width(ui),
            &[
                ("pdpp import ~/Downloads/takeout.zip", "other exports: pdpp import --help"),
                ("pdpp connect local", "select what an agent may read"),
                ("pdpp mcp setup", "set up the agents on this computer"),
            ]
        ),
        ui::indented(
            width(ui),
            0,
            "If a provider holds your data, run `pdpp connect https://provider.example` instead of the first two. To \
             try that with made-up data, run `pdpp sandbox`."
        )
    ));
    Ok(0)
}

/// The indent of what happens in a step.
const INDENT: u16 = 3;
/// The indent of what an agent receives.
const DEEPER: u16 = 5;

/// The columns to lay lines out for. Longer lines are not easier to read, so a wide terminal does not widen them.
fn width(ui: &Ui) -> u16 {
    ui.width().min(100)
}

fn show(scene: &Scene<'_>, full: bool, ui: &Ui) {
    let step = |what, command: &str, how: &str| {
        ui.print_as(Tone::Step, &ui::labelled(width(ui), [(what, 9)], command, None));
        ui.print(&format!("{}\n", ui::indented(width(ui), INDENT, how)));
    };
    let line = |tone, text: &str| ui.print_as(tone, &ui::indented(width(ui), INDENT, text));
    match scene {
        Scene::Import => {
            step(
                "1. Import",
                "$ pdpp import takeout.zip bank.csv",
                "pdpp accounts for every item and does not change the export.",
            );
        }
        Scene::Imported(said) => show_imported(said, ui),
        Scene::Granting => {
            ui.print("");
            let how =
                "You select what an agent may read, on a page or in the terminal. The demo selects for you.";
            step("2. Grant", "$ pdpp connect local", how);
        }
        Scene::Ticked(sheet) => show_ticks(sheet, ui),
        Scene::Approved(lines) => {
            line(Tone::Plain, "An agent can read this and nothing else:");
            for given in *lines {
                ui.print(&ui::indented(width(ui), DEEPER, given));
            }
            ui.print("");
        }
        Scene::Agent => {
            let how = "Claude, Codex and other hosts start this automatically. An agent asks through six read-only tools.";
            step("3. Agent", "$ pdpp mcp serve", how);
        }
        Scene::Question(question) => line(Tone::Question, &format!("“{question}”")),
        Scene::Call(tool, arguments) => {
            line(Tone::Call, &format!("→ {tool} {}", spaced(&Value::Object((*arguments).clone()))));
        }
        Scene::Answer(answer, took) => show_answer(answer, *took, full, ui),
        Scene::Refused(refusal) => {
            for said in refusal.lines() {
                ui.print_as(Tone::Refusal, &ui::indented(width(ui), DEEPER, said));
            }
            let why =
                "── refused: the bank file was not selected, and the agent does not learn that it exists";
            ui.print_as(Tone::Dim, &ui::indented(width(ui), DEEPER, why));
            ui.print("");
        }
    }
}

/// Prints one line of the import's output. Text that does not fit next to the name of a source goes below it.
fn show_imported(said: &str, ui: &Ui) {
    let most = usize::from(width(ui).saturating_sub(INDENT));
    let cells: Vec<&str> = said.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    match cells.as_slice() {
        [source @ .., counts] if !source.is_empty() && said.chars().count() > most => {
            ui.print(&ui::indented(width(ui), INDENT, &source.join("  ")));
            ui.print(&ui::indented(width(ui), DEEPER, counts));
        }
        _ => ui.print(&ui::indented(width(ui), INDENT, said)),
    }
}

fn show_ticks(sheet: &Sheet, ui: &Ui) {
    for account in &sheet.accounts {
        for stream in &account.streams {
            let (mark, tone) = if stream.is_ticked { ('x', Tone::Plain) } else { (' ', Tone::Dim) };
            let plural = if stream.records == 1 { "" } else { "s" };
            let row =
                format!("[{mark}] {}: {}, {} record{plural}", account.kind, stream.name, stream.records);
            ui.print_as(tone, &ui::indented(width(ui), INDENT, &row));
        }
    }
    ui.print("");
}

/// `value` as JSON that can be broken into lines between its values.
fn spaced(value: &Value) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match value {
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), spaced(value)));
            format!("{{{}}}", list(members.collect()))
        }
        Value::Array(items) => format!("[{}]", list(items.iter().map(spaced).collect())),
        other => other.to_string(),
    }
}

fn show_answer(answer: &str, took: Duration, full: bool, ui: &Ui) {
    // Lines that begin like this are for a program, not for a person.
    const BESIDE: [&str; 8] =
        ["id=", "more:", "grant:", "fields,", "read one:", "recall:", "next:", "filtered_record_count"];
    let dim = |indent: u16, text: &str| {
        let most = usize::from(width(ui).saturating_sub(indent)).max(20);
        let text = if full { text::one_line(text).into_owned() } else { clip(text, most) };
        ui.print_as(Tone::Dim, &format!("{:1$}{text}", "", usize::from(indent)));
    };
    let lines = answer.lines().count();
    let shown = if full { lines } else { SHOWN_LINES };
    for line in answer.lines().take(shown) {
        let text = line.trim_start();
        let indent = DEEPER + u16::try_from(line.len() - text.len()).unwrap_or_default();
        match text.split_once(' ') {
            // A record. Its id can be wider than a line.
            Some((id, fields)) if line.starts_with("id=") => {
                dim(indent, id);
                ui.print(&ui::indented(width(ui), indent, &text::one_line(fields)));
            }
            _ if BESIDE.iter().any(|begin| text.starts_with(begin)) => dim(indent, text),
            _ => ui.print(&ui::indented(width(ui), indent, &text::one_line(text))),
        }
    }
    if lines > shown {
        ui.print_as(
            Tone::Dim,
            &ui::indented(width(ui), DEEPER, &format!("… {} more lines (--full shows them)", lines - shown)),
        );
    }
    let cost = format!(
        "── {} bytes, about {} tokens, {:.1} ms",
        answer.len(),
        estimate_tokens(answer),
        took.as_secs_f64() * 1000.0
    );
    ui.print_as(Tone::Dim, &ui::indented(width(ui), DEEPER, &cost));
    ui.print("");
}

fn clip(line: &str, max_chars: usize) -> String {
    let line = text::one_line(line);
    if line.chars().count() <= max_chars {
        return line.into_owned();
    }
    let mut clipped: String = line.chars().take(max_chars - 1).collect();
    clipped.push('…');
    clipped
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_can_be_broken_into_lines() {
        let call = json!({"fields": ["title", "start_at"], "filter": {"a": {"eq": "b c"}}, "limit": 2});
        let shown = spaced(&call);
        assert_eq!(shown, r#"{"fields": ["title", "start_at"], "filter": {"a": {"eq": "b c"}}, "limit": 2}"#);
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), call);
    }
}
