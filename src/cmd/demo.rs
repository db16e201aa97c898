//! `pdpp demo`: the main job, from a provider to an answer, with nothing but this binary.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::granted;
use crate::cache::owner::refuse_owner_credentials_in_environment;
use crate::demo::{self, Scene};
use crate::error::Result;
use crate::mcp::protocol::measure::estimate_tokens;
use crate::text;
use crate::ui::{self, Ui};

/// See it work: a provider, a grant and an agent's five questions, on this machine, in a few seconds
///
/// Starts the embedded provider with made-up data, gets a grant from it (approving by itself), starts
/// `pdpp mcp serve` as an MCP host would, and shows what a model would see of five questions and what
/// that costs its context. Leaves nothing behind.
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
    ui.print(
        "PDPP lets you give an AI agent a part of your data: you approve a grant at the provider that holds it,\n\
         and the agent reads that, and nothing more. This is how; all data is made up, and nothing leaves this machine.\n",
    );
    let cost = demo::run(args.seed, &|scene| show(&scene, args.full, ui), &|| ui.check_output())?;
    ui.print(&format!(
        "Five answers took {} calls and {} bytes, about {} tokens; the tool list costs about {} once.\n\
         All of it took {:.1} s. Nothing was left behind.\n\n\
         Next:\n{}",
        cost.calls,
        cost.bytes,
        cost.tokens,
        cost.list_tokens,
        began.elapsed().as_secs_f64(),
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

fn show(scene: &Scene<'_>, full: bool, ui: &Ui) {
    match scene {
        Scene::Provider(url) => ui.print(&format!("1. A provider    {url}   ($ pdpp sandbox)")),
        Scene::Granting => ui.print(
            "2. A grant       approved by itself here; else you do that in your browser   ($ pdpp connect)\n",
        ),
        Scene::Granted(connected) => {
            for line in granted::to_text(connected).lines().take_while(|line| !line.is_empty()) {
                ui.print(&format!("   {line}"));
            }
        }
        Scene::Agent => ui.print(
            "\n3. An agent      asks through six read-only tools   ($ pdpp mcp serve, started by Claude, Codex …)\n",
        ),
        Scene::Question(question) => ui.print(&format!("   “{question}”")),
        Scene::Call(tool, arguments) => {
            ui.print(&format!("   → {tool} {}", Value::Object((*arguments).clone())));
        }
        Scene::Answer(answer, took) => show_answer(answer, *took, full, ui),
    }
}

fn show_answer(answer: &str, took: Duration, full: bool, ui: &Ui) {
    let width = usize::from(ui.width()).saturating_sub(7).max(40);
    let lines = answer.lines().count();
    let shown = if full { lines } else { SHOWN_LINES };
    for line in answer.lines().take(shown) {
        ui.print(&format!("     {}", clip(line, if full { usize::MAX } else { width })));
    }
    if lines > shown {
        ui.print(&format!("     … {} more lines (--full shows them)", lines - shown));
    }
    ui.print(&format!(
        "     ── {} bytes, about {} tokens, {:.1} ms\n",
        answer.len(),
        estimate_tokens(answer),
        took.as_secs_f64() * 1000.0
    ));
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
