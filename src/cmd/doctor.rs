//! `pdpp doctor`: one screen that finds what stops a person.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::json;

use super::{Global, disconnect};
use crate::access_log::AccessLog;
use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::cache::select::renew_command;
use crate::checks::{Check, Level, credential, machine, provider};
use crate::error::Result;
use crate::provider::http::Http;
use crate::provider::url::ProviderUrl;
use crate::runtime::block_on_unless_stopped;
use crate::setup::NAME as ENTRY;
use crate::setup::paths::Machine;
use crate::setup::proof::{self, NoToken};
use crate::setup::survey::{Configured, Surveyed, survey};
use crate::text;
use crate::ui::{Ui, labelled};
use crate::until;

/// Find out what is wrong, and what to type about it
///
/// Looks at this machine, at the way to each connected provider, and at each grant. Changes nothing but
/// the rights of a cache in its usual place that others could read.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Look at these providers too, connected or not
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

Ends with 1 if something stands in the way.";

/// Looks, and says what it found.
///
/// # Errors
/// `proxy_invalid`, and what keeps it from looking at all; everything else is a finding.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    let cache = global.cache()?;
    let http = global.http(credential::LIMITS)?;
    let progress = ui.progress();
    progress.say("Looking around");
    let checks = block_on_unless_stopped(all(&cache, &http, &args.providers))?;
    drop(progress);
    let stops = checks.iter().filter(|check| check.level == Level::Stop).count();
    if args.json {
        ui.json(&json!({"ok": stops == 0, "checks": checks}));
    } else {
        ui.print(&to_text(&checks, stops, ui.width()));
    }
    Ok(u8::from(stops > 0))
}

async fn all(cache: &Cache, http: &Http, more: &[ProviderUrl]) -> Vec<Check> {
    let mut checks = vec![machine::program(), machine::environment()];
    // What is in a cache that cannot be used is not known, and not guessed.
    let kept = machine::cache(cache);
    let credentials = cache.credentials().ok();
    let is_usable = kept.level != Level::Stop;
    checks.push(kept);
    if is_usable {
        checks.push(machine::secrets(cache));
    }
    checks.extend(machine::authorities(http.network()));
    let mut providers: Vec<ProviderUrl> = Vec::new();
    for provider in credentials.iter().flatten().map(|one| &one.provider).chain(more) {
        if !providers.contains(provider) {
            providers.push(provider.clone());
        }
    }
    let found = provider::check_all(http, &providers).await;
    checks.extend(provider::clock(&found));
    let is_away = |found: &provider::Found| found.reached.level == Level::Stop;
    let away: Vec<_> =
        providers.iter().zip(&found).filter(|(_, found)| is_away(found)).map(|(one, _)| one).collect();
    let grants = match &credentials {
        Some(credentials) => grants(cache, http, credentials, &away).await,
        None => Vec::new(),
    };
    checks.extend(found.into_iter().map(|found| found.reached));
    checks.extend(grants);
    checks.extend(cache.ending().unwrap_or_default().iter().map(|one| {
        let said = format!("{} ({}) is not ended at its provider yet", one.label, one.grant_id);
        Check::warn("grant", said, disconnect::again(one))
    }));
    if is_usable {
        checks.push(machine::access_log(&AccessLog::new(cache.dir())));
    }
    let in_reach = checks.iter().any(|check| check.name == "tokens" && check.level == Level::Ok);
    checks.extend(hosts(in_reach).await);
    checks
}

/// Each grant; of a provider that is `away`, which is told already, only what is known here.
async fn grants(cache: &Cache, http: &Http, credentials: &[Credential], away: &[&ProviderUrl]) -> Vec<Check> {
    if credentials.is_empty() {
        let mut none =
            Check::stop("grant", "no provider is connected on this machine", "pdpp connect <provider-url>");
        none.code = Some("not_connected".to_owned());
        return vec![none];
    }
    let now = Timestamp::now();
    let is_away = |one: &&Credential| away.contains(&&one.provider);
    let asked: Vec<_> = credentials.iter().filter(|one| !is_away(one)).cloned().collect();
    let mut said = credential::check_all(cache, http, &asked, credentials).await.into_iter();
    let mut verdict = |one: &Credential| {
        let checked = if is_away(&one) { None } else { said.next() };
        checked.unwrap_or_else(|| credential::from_here(cache, one, credentials, now))
    };
    let check = |one: &Credential| {
        let verdict = verdict(one);
        let name = format!("{} ({})", one.label, one.grant_id);
        match (verdict.why, one.ends_soon(now)) {
            (Some(why), _) => Check {
                code: verdict.code,
                ..Check::stop("grant", format!("{name}: {why}"), verdict.next.unwrap_or_default())
            },
            (None, _) if is_away(&one) => Check {
                next: None,
                ..Check::warn("grant", format!("{name}: not tried, since its provider does not answer"), "")
            },
            (None, Some(end)) => {
                let left = until::left(end, now).unwrap_or_default();
                Check::warn(
                    "grant",
                    format!("{name} works, and ends {left}"),
                    renew_command(one, credentials),
                )
            }
            (None, None) => Check::ok("grant", format!("{name}: {}", verdict.state.word())),
        }
    };
    credentials.iter().map(check).collect()
}

/// Which MCP hosts start this program: findings of the survey of their configurations; and whether one could read a
/// token that is `in_reach` here.
async fn hosts(in_reach: bool) -> Vec<Check> {
    let found = match Machine::from_process() {
        Ok(machine) => survey(&machine, ENTRY),
        Err(error) => return vec![Check::failed("host", &error)],
    };
    let found = found.into_iter().filter(|one| one.installed).collect::<Vec<_>>();
    if found.is_empty() {
        return vec![Check::warn("host", "no MCP host was found on this machine", "pdpp mcp setup")];
    }
    let mut checks: Vec<_> = found.iter().map(host).collect();
    let ours = found.iter().filter(|_| in_reach).filter_map(|one| match &one.configured {
        Configured::Ours(entry) => Some((one.host.title, entry)),
        _ => None,
    });
    for (title, entry) in ours {
        if let Some(NoToken { code, said, next }) = proof::unreadable(entry).await {
            let said = format!(
                "{title}'s entry cannot read its token when it is started with few variables: {said}"
            );
            checks.push(Check {
                code: Some(code),
                ..Check::warn("host", said, next.unwrap_or_else(|| "pdpp status".to_owned()))
            });
        }
    }
    checks
}

fn host(found: &Surveyed) -> Check {
    let title = found.host.title;
    let setup = format!("pdpp mcp setup {}", found.host.id);
    match (&found.configured, found.problems.first()) {
        (Configured::Damaged(_), Some(problem)) => Check {
            code: Some("config_damaged".to_owned()),
            ..Check::warn(
                "host",
                format!("{title}'s configuration is damaged: {}", problem.what),
                &problem.next,
            )
        },
        (_, Some(problem)) => Check::warn("host", format!("{title}: {}", problem.what), &problem.next),
        (Configured::Damaged(_) | Configured::Unknown, None) => Check::warn(
            "host",
            format!("{title}: {} cannot be read", found.file.display()),
            "Give yourself the right to read it",
        ),
        (Configured::Ours(_), None) => Check::ok("host", format!("{title} starts this program")),
        (Configured::No, None) => {
            Check::warn("host", format!("{title} is here and does not know this program"), setup)
        }
        (Configured::Other, None) => Check::warn(
            "host",
            format!("{title} has an entry `{ENTRY}` that starts something else"),
            format!("{setup} --name {ENTRY}-2"),
        ),
    }
}

fn to_text(checks: &[Check], stops: usize, width: u16) -> String {
    let mut said = String::new();
    for check in checks {
        let level = match check.level {
            Level::Ok => "ok",
            Level::Warn => "warn",
            Level::Stop => "STOP",
        };
        let found = text::one_line(text::prefix(&check.said, 1_000));
        let next = check.next.as_deref().map(text::one_line);
        said += &labelled(width, [(level, 4), (check.name, 11)], &found, next.as_deref());
        said.push('\n');
    }
    let warns = checks.iter().filter(|check| check.level == Level::Warn).count();
    let ending = match (stops, warns) {
        (0, 0) => "Nothing stands in the way.".to_owned(),
        (0, _) => "Nothing stands in the way; see what is marked warn.".to_owned(),
        _ => "What is marked STOP stands in the way.".to_owned(),
    };
    let _ = write!(said, "\n{ending}");
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_one_screen_escaped_with_their_commands() {
        let checks = [
            Check::ok("program", "/usr/bin/pdpp"),
            Check::warn("grant", "Diary\u{1b}[2J (g1) works, and ends in 3 days", "pdpp connect x --renew"),
            Check::stop("provider", "word ".repeat(30), "pdpp doctor"),
        ];
        let said = to_text(&checks, 1, 80);
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
        assert!(
            said.starts_with("ok    program      /usr/bin/pdpp\nwarn  grant        Diary\\u{1b}[2J"),
            "{said}"
        );
        assert!(said.contains("\n                   next: pdpp connect x --renew\nSTOP  provider"), "{said}");
        assert!(said.ends_with("What is marked STOP stands in the way."));
        assert!(to_text(&checks[..1], 0, 80).ends_with("Nothing stands in the way."));
    }
}
