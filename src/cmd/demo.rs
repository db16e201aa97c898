//! `pdpp demo`: the main job, from a provider to an answer, with nothing but this binary.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::granted;
use crate::cache::owner::refuse_owner_credentials_in_environment;
use crate::demo::{self, Scene};
use crate::error::Result;
use crate::mcp::protocol::measure::estimate_tokens;
use crate::text;
use crate::ui::{self, Tone, Ui};

/// See it work: a provider, a grant and an agent's five questions, on this machine, in a few seconds
///
/// Starts the embedded provider with made-up data, gets a grant from it (approving by itself), starts
/// `pdpp mcp serve` as an MCP host would, and shows what a model would see of five questions, and of one
/// that the grant does not cover, and what that costs its context. Leaves nothing behind.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show every answer whole, instead of its first lines
    #[arg(long)]
    pub full: bool,

    /// Which made-up life the provider holds
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Lines of an answer that are shown without `--full`.
const SHOWN_LINES: usize = 7;

/// Plays it.
///
/// # Errors
/// Those of [`demo::run`]; `owner_credential_in_environment`.
pub fn run(args: &Args, ui: &Ui) -> Result<u8> {
    // A server that is started with one would refuse to serve.
    refuse_owner_credentials_in_environment().map_err(|error| {
        let name = error.message().split(' ').next().unwrap_or_default().to_owned();
        error.hint(format!("env -u {name} pdpp demo"))
    })?;
    let began = Instant::now();
    let intro = "PDPP lets you give an AI agent a part of your data: you approve a grant at the provider that holds it, and \
                 the agent reads that, and nothing more. This is how; all data is made up, and nothing leaves this machine.";
    ui.print(&format!("{}\n", ui::indented(width(ui), 0, intro)));
    let cost = demo::run(args.seed, &|scene| show(&scene, args.full, ui), &|| ui.check_output())?;
    let figures = format!(
        "Five answers and one refusal took {} calls and {} bytes, about {} tokens; the tool list costs about {} once. All of \
         it took {:.1} s. Nothing was left behind.",
        cost.calls,
        cost.bytes,
        cost.tokens,
        cost.list_tokens,
        began.elapsed().as_secs_f64(),
    );
    ui.print(&format!(
        "{}\n\nNext:\n{}",
        ui::indented(width(ui), 0, &figures),
        ui::steps_within(
            ui.width(),
            &[
                ("pdpp sandbox", "that provider, to approve a grant yourself"),
                ("pdpp connect https://provider.example", "your own"),
                ("pdpp mcp setup", "then tell the agents on this machine"),
                ("pdpp mcp inspect", "what the tools cost a model's context"),
            ]
        )
    ));
    Ok(0)
}

/// Columns to lay lines out for: a wide terminal makes them no easier to read.
fn width(ui: &Ui) -> u16 {
    ui.width().min(100)
}

fn show(scene: &Scene<'_>, full: bool, ui: &Ui) {
    let step = |what, how: &str| {
        ui.print_as(Tone::Step, &ui::labelled(width(ui), [(what, 14)], how, None));
    };
    let line = |tone, text: &str| ui.print_as(tone, &ui::indented(width(ui), 3, text));
    match scene {
        Scene::Provider(url) => step("1. A provider", &format!("{url}   ($ pdpp sandbox)")),
        Scene::Granting => {
            step(
                "2. A grant",
                "approved by itself here; else you do that in your browser   ($ pdpp connect)",
            );
            ui.print("");
        }
        Scene::Granted(connected) => {
            for granted in granted::to_text(connected).lines().take_while(|line| !line.is_empty()) {
                let indent = u16::try_from(granted.len() - granted.trim_start().len()).unwrap_or_default();
                ui.print(&ui::indented(width(ui), 3 + indent, granted.trim_start()));
            }
            ui.print("");
        }
        Scene::Agent => {
            let how = "asks through six read-only tools   ($ pdpp mcp serve, started by Claude, Codex …)";
            step("3. An agent", how);
            ui.print("");
        }
        Scene::Question(question) => line(Tone::Question, &format!("“{question}”")),
        Scene::Call(tool, arguments) => {
            line(Tone::Call, &format!("→ {tool} {}", spaced(&Value::Object((*arguments).clone()))));
        }
        Scene::Answer(answer, took) => show_answer(answer, *took, full, ui),
    }
}

/// As JSON that can be broken into lines between its values.
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
    const BESIDE: [&str; 4] = ["id=", "read one:", "count:", "recall:"];
    let most = usize::from(width(ui)).saturating_sub(7).max(20);
    let lines = answer.lines().count();
    let shown = if full { lines } else { SHOWN_LINES };
    for line in answer.lines().take(shown) {
        let is_beside = BESIDE.iter().any(|begin| line.trim_start().starts_with(begin));
        let tone = if is_beside { Tone::Dim } else { Tone::Plain };
        ui.print_as(tone, &format!("     {}", clip(line, if full { usize::MAX } else { most })));
    }
    if lines > shown {
        ui.print_as(Tone::Dim, &format!("     … {} more lines (--full shows them)", lines - shown));
    }
    let cost = format!(
        "     ── {} bytes, about {} tokens, {:.1} ms",
        answer.len(),
        estimate_tokens(answer),
        took.as_secs_f64() * 1000.0
    );
    ui.print_as(Tone::Dim, &cost);
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
