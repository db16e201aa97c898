//! `pdpp doctor`: one screen that shows what prevents you from reading your data.

use std::fmt::Write as _;

use serde_json::json;

use super::Global;
use crate::checks::doctor::check_everything;
use crate::checks::{Check, Level, credential};
use crate::error::Result;
use crate::provider::url::ProviderUrl;
use crate::runtime::block_on_unless_stopped;
use crate::text;
use crate::ui::{Ui, labelled};

/// Show what is wrong, and what to type to fix it
///
/// Checks this computer, the connection to each provider, and each grant. The only thing it changes: if others could
/// read the cache in its default place, it makes the cache private again.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Also check these providers, whether connected or not
    #[arg(value_name = "PROVIDER_URL")]
    pub providers: Vec<ProviderUrl>,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  pdpp doctor
  pdpp doctor https://provider.example

Exits with 1 if a check is marked STOP.";

/// Runs the checks and prints the findings.
///
/// # Errors
/// Returns `proxy_invalid`, or the error that prevents the checks from starting. Everything else is a finding.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    let cache = global.cache()?;
    let http = global.http(credential::LIMITS)?;
    let progress = ui.progress();
    progress.say("Checking");
    let checks = block_on_unless_stopped(check_everything(&cache, &http, &args.providers))?;
    drop(progress);
    let stops = checks.iter().filter(|check| check.level == Level::Stop).count();
    if args.json {
        ui.json(&json!({"ok": stops == 0, "checks": checks}));
    } else {
        ui.say(&to_text(&checks, stops, ui.width()));
    }
    Ok(u8::from(stops > 0))
}

fn to_text(checks: &[Check], stops: usize, width: u16) -> String {
    let mut out = String::new();
    for check in checks {
        let level = match check.level {
            Level::Ok => "ok",
            Level::Warn => "warn",
            Level::Stop => "STOP",
        };
        let found = text::one_line(text::prefix(&check.message, 1_000));
        let next = check.next.as_ref().map(|next| text::one_line(&next.to_string()).into_owned());
        out += &labelled(width, [(level, 4), (check.name, 11)], &found, next.as_deref());
        out.push('\n');
    }
    let warns = checks.iter().filter(|check| check.level == Level::Warn).count();
    let ending = match (stops, warns) {
        (0, 0) => "No problems found.".to_owned(),
        (0, _) => "Nothing is broken. See the lines marked warn.".to_owned(),
        _ => "Fix the lines marked STOP first.".to_owned(),
    };
    let _ = write!(out, "\n{ending}");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::Command;

    #[test]
    fn findings_are_one_screen_escaped_with_their_commands() {
        let checks = [
            Check::ok("program", "/usr/bin/pdpp"),
            Check::warn(
                "grant",
                "Diary\u{1b}[2J (g1) works until 2026-12-01 10:30 UTC (in 3 days)",
                Command::connect("x").words("--renew"),
            ),
            Check::stop("provider", "word ".repeat(30), Command::new("doctor")),
        ];
        let out = to_text(&checks, 1, 80);
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
        assert!(
            out.starts_with("ok    program      /usr/bin/pdpp\nwarn  grant        Diary\\u{1b}[2J"),
            "{out}"
        );
        assert!(out.contains("\n                   next: pdpp connect x --renew\nSTOP  provider"), "{out}");
        assert!(out.ends_with("Fix the lines marked STOP first."));
        assert!(to_text(&checks[..1], 0, 80).ends_with("No problems found."));
    }
}
