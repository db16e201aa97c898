//! `pdpp status`: what is connected, until when, where its secret lives, whether it works.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Global, disconnect};
use crate::advice;
use crate::cache::credential::Credential;
use crate::cache::select::{GrantName, Selection, renew_command, short_id};
use crate::cache::store::StoreKind;
use crate::cache::{Cache, Moved};
use crate::checks::credential::{self as check, State, Verdict};
use crate::error::{Error, Kind, Result};
use crate::provider::grant::TokenKind;
use crate::provider::url::ProviderUrl;
use crate::runtime::block_on_unless_stopped;
use crate::text;
use crate::ui::{Column, Ui, table};
use crate::until;

/// Show what is connected, until when, and whether it works
///
/// Without --check only this machine is asked; with it each provider, with one read a grant.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Show only the grants of this provider
    #[arg(long, value_name = "URL")]
    pub provider: Option<ProviderUrl>,

    /// Show only this grant: its id, the beginning of it, or its name
    #[arg(long, value_name = "GRANT")]
    pub grant: Option<GrantName>,

    /// Ask each provider whether the grant still works
    #[arg(long)]
    pub check: bool,

    /// First move every token there: into the keyring, or into private files. New ones follow
    #[arg(long, value_enum, value_name = "STORE", conflicts_with_all = ["provider", "grant"])]
    pub move_to: Option<StoreKind>,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  pdpp status
  pdpp status --check --json
  pdpp status --grant Work
  pdpp status --move-to file

Ends with 78 if nothing is connected, with 1 if a grant was found not to work.";

/// Shows it.
///
/// # Errors
/// Those of the cache.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    let cache = global.cache()?;
    let moved = args.move_to.map(|store| cache.move_to(store)).transpose()?;
    let all = cache.credentials()?;
    let waiting = cache.ending()?;
    if let Some(moved) = &moved {
        let said = what_moved(moved, &all);
        ui.note(&said);
        ui.done(&said, "pdpp status");
    }
    let selection = Selection { provider: args.provider.clone(), grant: args.grant.clone() };
    let ending = selection.named(&waiting).unwrap_or_default();
    let credentials: Vec<_> = match selection.named(&all) {
        Err(error) if error.kind() == Kind::NotConnected && !ending.is_empty() => Vec::new(),
        named => named?.into_iter().cloned().collect(),
    };
    let now = Timestamp::now();
    let verdicts = if args.check {
        let http = global.http_now(check::LIMITS)?;
        let progress = ui.progress();
        progress.say(&format!("Asking about {} grants", credentials.len()));
        block_on_unless_stopped(check::check_all(&cache, &http, &credentials, &all))?
    } else {
        credentials.iter().map(|one| check::from_here(&cache, one, &all, now)).collect()
    };
    let shown = Shown {
        cache: &cache,
        all: &all,
        credentials: &credentials,
        verdicts: &verdicts,
        ending: &ending,
        now,
    };
    if args.json {
        let mut said = shown.to_json();
        if let Some(moved) = &moved {
            let missing: Vec<_> = moved.missing.iter().map(|one| one.grant_id.as_str()).collect();
            let count = (moved.moved.len(), moved.already);
            said["moved"] = json!({"to": moved.to, "count": count.0, "already": count.1, "missing": missing});
        }
        if credentials.is_empty() {
            said["error"] = not_connected().to_json()["error"].take();
        }
        ui.json(&said);
    } else if credentials.is_empty() {
        if !ending.is_empty() {
            ui.print(shown.waiting().trim_start());
        }
        return Err(not_connected());
    } else {
        ui.print(&(shown.to_text(ui.width()) + &shown.waiting()));
    }
    Ok(match () {
        () if credentials.is_empty() => Kind::NotConnected.exit_code(),
        () if verdicts.iter().any(|verdict| !verdict.state.is_usable()) => Kind::Failed.exit_code(),
        () => 0,
    })
}

fn what_moved(moved: &Moved, all: &[Credential]) -> String {
    let count = moved.moved.len();
    let mut said = format!(
        "{count} token{} moved into {}, {} there already; new ones go there too.",
        if count == 1 { "" } else { "s" },
        match moved.to {
            StoreKind::Keyring => "the keyring",
            StoreKind::File => "private files",
        },
        moved.already,
    );
    for one in &moved.missing {
        let (label, next) = (text::one_line(&one.label), advice::complete(&renew_command(one, all)));
        let _ = write!(
            said,
            "\nThe token of {label} ({}) is in no store, or damaged there: {next}",
            one.provider
        );
    }
    said
}

fn not_connected() -> Error {
    Error::new(Kind::NotConnected, "not_connected", "No provider is connected on this machine")
        .run("pdpp connect <provider-url>")
}

struct Shown<'a> {
    cache: &'a Cache,
    /// What is on this machine, shown or not.
    all: &'a [Credential],
    credentials: &'a [Credential],
    verdicts: &'a [Verdict],
    /// What is still to be ended at its provider.
    ending: &'a [&'a Credential],
    now: Timestamp,
}

/// The names of the granted streams, each once.
fn streams(one: &Credential) -> Vec<&str> {
    let mut names: Vec<&str> =
        one.sources.iter().flat_map(|source| &source.streams).map(String::as_str).collect();
    names.sort();
    names.dedup();
    names
}

fn granted(one: &Credential) -> String {
    const SHOWN: usize = 3;
    let names = streams(one);
    let plural = if one.stream_count() == 1 { "" } else { "s" };
    let mut said = format!("{} stream{plural}", one.stream_count());
    // Streams of several sources may be called the same.
    if one.sources.len() > 1 {
        let _ = write!(said, " of {} sources", one.sources.len());
    }
    if !names.is_empty() {
        let first: Vec<_> = names.iter().take(SHOWN).map(|name| text::prefix(name, 40)).collect();
        said = format!("{said}: {}", first.join(", "));
        let listed: usize = one.sources.iter().map(|source| source.streams.len()).sum();
        if names.len() > first.len() || one.stream_count() > listed {
            said.push_str(", …");
        }
    }
    said
}

impl Shown<'_> {
    fn to_text(&self, width: u16) -> String {
        let first = self.credentials.first().map(|one| &one.provider);
        // A column of the same address again and again would leave no room for the rest.
        let one_provider = self.credentials.iter().all(|one| Some(&one.provider) == first);
        let rows: Vec<[String; 6]> = self
            .credentials
            .iter()
            .zip(self.verdicts)
            .map(|(one, verdict)| {
                let mut name = one.label.clone();
                if !one_provider {
                    // The scheme says little: it is https, but for this machine.
                    name = format!("{name} ({})", one.provider.as_str().trim_start_matches("https://"));
                }
                if one.token_kind == TokenKind::McpPackage {
                    name.push_str(" (package)");
                }
                let until = one
                    .expires_at()
                    .map_or_else(|| "no end".to_owned(), |end| until::utc(end).date().to_string());
                let grant = short_id(one, self.all).to_owned();
                [
                    name,
                    grant,
                    granted(one),
                    until,
                    one.store.name().to_owned(),
                    verdict.state.word().to_owned(),
                ]
            })
            .collect();
        let mut said = String::new();
        if one_provider && let Some(provider) = first {
            said = format!("Connected to {provider}\n\n");
        }
        let columns = [
            Column::text("Name"),
            Column::text("Grant"),
            Column::text("Granted"),
            Column::whole("Until"),
            Column::whole("Token in"),
            Column::whole("State"),
        ];
        said.push_str(&table(width, columns, &rows));
        for (one, verdict) in self.credentials.iter().zip(self.verdicts) {
            if let Some(about) = self.about(one, verdict) {
                said.push_str(&about);
            }
        }
        if self.verdicts.iter().any(|verdict| verdict.state == State::NotChecked) {
            said.push_str(&advice::complete("\n\nWhether they work: pdpp status --check"));
        }
        said
    }

    /// What is still to be ended at its provider, with the command that tries it.
    fn waiting(&self) -> String {
        let one = |one: &&Credential| {
            let is_over = one.grant_expires_at.is_some_and(|end| end <= self.now);
            let what = if is_over { "its token not deleted" } else { "not ended at its provider" };
            format!(
                "\n\n{} ({}, grant {}): disconnected, and {what} yet\n  next: {}",
                text::one_line(&one.label),
                one.provider,
                text::one_line(one.grant_id.as_str()),
                advice::complete(&disconnect::again(one))
            )
        };
        self.ending.iter().map(one).collect()
    }

    /// What is wrong with one of them, or soon will be, and what to type.
    fn about(&self, one: &Credential, verdict: &Verdict) -> Option<String> {
        let name = format!("{} ({}, grant {})", one.label, one.provider, one.grant_id);
        let said = |what: &str, next: &str| {
            format!(
                "\n\n{}: {}\n  next: {}",
                text::one_line(&name),
                text::one_line(what),
                text::one_line(next)
            )
        };
        match (&verdict.why, &verdict.next) {
            (Some(why), Some(next)) => Some(said(why, next)),
            (Some(why), None) => Some(said(why, &advice::complete("pdpp doctor"))),
            (None, _) => {
                let end = one.ends_soon(self.now)?;
                let left = until::left(end, self.now).unwrap_or_default();
                Some(said(&format!("it ends {} ({left})", until::day_and_time(end)), &self.renew(one)))
            }
        }
    }

    fn renew(&self, one: &Credential) -> String {
        advice::complete(&renew_command(one, self.all))
    }

    fn to_json(&self) -> Value {
        let one = |(one, verdict): (&Credential, &Verdict)| {
            let ends_soon = one.ends_soon(self.now).is_some();
            json!({
                "provider": one.provider.as_str(),
                "grant_id": one.grant_id.as_str(),
                "label": one.label,
                "kind": one.token_kind,
                "sources": one.sources,
                "stream_count": one.stream_count(),
                "access_mode": one.access_mode,
                "issued_at": one.issued_at,
                "grant_expires_at": one.grant_expires_at,
                "token_expires_at": one.token_expires_at,
                "refreshable": one.refreshable,
                "ends_soon": ends_soon,
                "store": one.store,
                "state": verdict.state,
                "code": verdict.code,
                "why": verdict.why,
                "next": verdict.next.clone().or_else(|| ends_soon.then(|| self.renew(one))),
            })
        };
        json!({
            "credentials": self.credentials.iter().zip(self.verdicts).map(one).collect::<Vec<_>>(),
            "ending": self.ending.iter().map(|one| json!({
                "provider": one.provider.as_str(),
                "grant_id": one.grant_id.as_str(),
                "label": one.label,
                "grant_expires_at": one.grant_expires_at,
                "store": one.store,
                "next": advice::complete(&disconnect::again(one)),
            })).collect::<Vec<_>>(),
            "cache_dir": self.cache.dir().display().to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::credential::tests::credential;
    use crate::provider::grant::GrantedSource;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn shown(edit: impl FnOnce(&mut Credential)) -> (String, Value) {
        let mut one = credential("https://provider.example/me", "grt_1");
        one.label = "Acme\u{1b}[31m Slack".to_owned();
        one.sources = vec![GrantedSource {
            streams: ["messages", "users", "channels", "files"].map(str::to_owned).to_vec(),
            stream_count: 14,
            ..GrantedSource::default()
        }];
        edit(&mut one);
        let now = at("2026-11-28T10:00:00Z");
        let cache = Cache::open(std::path::Path::new("/nowhere/pdpp")).unwrap();
        let verdicts = [check::from_index(&one, &[], now)];
        let credentials = [one];
        let shown = Shown {
            cache: &cache,
            all: &credentials,
            credentials: &credentials,
            verdicts: &verdicts,
            ending: &[],
            now,
        };
        (shown.to_text(80), shown.to_json())
    }

    #[test]
    fn a_grant_is_shown_in_80_columns_and_escaped() {
        let (said, json) = shown(|one| one.grant_expires_at = Some(at("2027-01-01T00:00:00Z")));
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
        let joined = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["Acme\\u{1b}[31m grt_1 14 streams:", "https://provider.example/me", "2027-01-01 file"] {
            assert!(joined.contains(part), "{part} in {said}");
        }
        assert!(!said.contains('\u{1b}') && said.ends_with("pdpp status --check"));
        let one = &json["credentials"][0];
        assert_eq!((&one["state"], &one["ends_soon"]), (&json!("not_checked"), &json!(false)));
        assert_eq!((&one["grant_id"], one["stream_count"].to_string()), (&json!("grt_1"), "14".to_owned()));
    }

    #[test]
    fn an_end_is_warned_of_and_an_expired_grant_said_with_the_command() {
        let (said, json) = shown(|one| one.grant_expires_at = Some(at("2026-12-01T10:30:00Z")));
        assert!(said.contains("it ends 2026-12-01 10:30 UTC (in 3 days)"), "{said}");
        assert!(said.contains("next: pdpp connect https://provider.example/me --renew"), "{said}");
        assert_eq!(json["credentials"][0]["ends_soon"], true);
        let (said, json) = shown(|one| one.grant_expires_at = Some(at("2026-11-01T10:30:00Z")));
        assert!(said.contains("it ended 2026-11-01 10:30 UTC") && said.contains("--renew"), "{said}");
        assert_eq!(json["credentials"][0]["code"], "grant_expired");
    }
}
