//! `pdpp status`: what is connected, until when, where its token is kept, and whether it works.

use std::fmt::{self, Write as _};

use serde_json::{Value, json};

use super::Global;
use super::granted::{given_json, in_full, limits_in_short};
use crate::access_log::AccessLog;
use crate::advice::Command;
use crate::cache::credential::Credential;
use crate::cache::select::{GrantName, Selection, disconnect_command, renew_command, short_id};
use crate::cache::store::StoreKind;
use crate::cache::{Cache, Moved};
use crate::checks::credential::{LIMITS, State, Verdict};
use crate::checks::set_up::Found;
use crate::checks::status::{Status, not_connected};
use crate::error::Result;
use crate::own::separate::which::SetUp;
use crate::provider::grant::TokenKind;
use crate::provider::url::ProviderUrl;
use crate::text;
use crate::time_text;
use crate::ui::{Column, Ui, table};

/// Show what is connected, until when, and whether it works
///
/// Without --check, pdpp looks only at this computer. With it, pdpp asks each provider, with one read per grant.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Show only the grants of this provider
    #[arg(long, value_name = "URL")]
    pub provider: Option<ProviderUrl>,

    /// Show only this grant: its id, the beginning of its id, or its name
    #[arg(long, value_name = "GRANT")]
    pub grant: Option<GrantName>,

    /// Ask each provider whether the grant still works
    #[arg(long)]
    pub check: bool,

    /// First move every token into the keyring or into private files; new tokens go there too
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

Exits with 78 if nothing is connected, and with 1 if a grant does not work.";

/// Shows the status.
///
/// # Errors
/// The errors of the cache.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    let cache = global.cache()?;
    let moved = args.move_to.map(|store| cache.move_to(store)).transpose()?;
    if let Some(moved) = &moved {
        let done = what_moved(moved, &cache.credentials()?);
        ui.note(&done);
        ui.done(&done, Command::new("status"));
    }
    let selection = Selection { provider: args.provider.clone(), grant: args.grant.clone(), host: None };
    let mut status = Status::of(&cache, &selection)?;
    if args.check {
        let http = global.http_now(LIMITS)?;
        let progress = ui.progress();
        let count = status.grants.len();
        progress.say(&format!("Checking {count} {}", if count == 1 { "grant" } else { "grants" }));
        status.check(&cache, &http)?;
    }
    let is_in_full = args.grant.is_some() && status.grants.len() == 1;
    let set_up = Found::here(&cache);
    let shown = Shown { cache: &cache, status: &status, is_in_full };
    if args.json {
        let mut result = shown.to_json();
        if let Some(moved) = &moved {
            let missing: Vec<_> = moved.missing.iter().map(|missing| missing.grant_id.as_str()).collect();
            let count = (moved.moved.len(), moved.already);
            result["moved"] =
                json!({"to": moved.to, "count": count.0, "already": count.1, "missing": missing});
        }
        result["set_up"] = json!(set_up.set_up.name());
        if status.grants.is_empty() {
            result["error"] = not_connected(&cache).to_json()["error"].take();
        }
        ui.json(&result);
    } else if status.grants.is_empty() {
        if !status.ending.is_empty() {
            ui.say(shown.waiting().trim_start());
        }
        return Err(not_connected(&cache));
    } else {
        let about =
            if args.provider.is_none() && args.grant.is_none() { own_data(&set_up) } else { String::new() };
        ui.say(&(shown.to_text(ui.width()) + &shown.waiting() + &about));
    }
    Ok(status.exit_code())
}

/// Describes this computer's set-up of the person's own data, with advice if there is any.
fn own_data(found: &Found) -> String {
    let mut out = match found.set_up {
        SetUp::None => return String::new(),
        _ => format!("\n\nSet-up of your own data: {}", text::one_line(&found.in_words())),
    };
    if let Some((advice, next)) = found.advice() {
        let _ = write!(out, "\n{advice}\n  next: {next}");
    }
    out
}

fn what_moved(moved: &Moved, all: &[Credential]) -> String {
    let count = moved.moved.len();
    let mut out = format!(
        "Moved {count} token{} into {}; {} already there. New tokens go there too.",
        if count == 1 { "" } else { "s" },
        match moved.to {
            StoreKind::Keyring => "the keyring",
            StoreKind::File => "private files",
        },
        moved.already,
    );
    for credential in &moved.missing {
        let (label, next) = (text::one_line(&credential.label), renew_command(credential, all));
        let _ = write!(out, "\nThe token of {label} ({}) is missing or damaged: {next}", credential.provider);
    }
    out
}

struct Shown<'a> {
    cache: &'a Cache,
    status: &'a Status,
    /// Whether one grant was named, so that everything known about it is shown.
    is_in_full: bool,
}

/// `of 3 sources, 4 accounts`, with only what there are several of.
fn sources_and_accounts(credential: &Credential) -> Option<String> {
    let sources = Some(credential.sources.len()).filter(|count| *count > 1);
    let accounts: usize = credential.sources.iter().map(|source| source.connections.len()).sum();
    let accounts = Some(accounts).filter(|count| *count > 1);
    match (sources, accounts) {
        (Some(sources), Some(accounts)) => Some(format!("of {sources} sources, {accounts} accounts")),
        (Some(sources), None) => Some(format!("of {sources} sources")),
        (None, Some(accounts)) => Some(format!("of {accounts} accounts")),
        (None, None) => None,
    }
}

/// The names of the granted streams, each listed once.
fn streams(credential: &Credential) -> Vec<&str> {
    let mut names: Vec<&str> =
        credential.sources.iter().flat_map(|source| &source.streams).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn granted(credential: &Credential) -> String {
    const SHOWN: usize = 3;
    let names = streams(credential);
    let plural = if credential.stream_count() == 1 { "" } else { "s" };
    let mut out = format!("{} stream{plural}", credential.stream_count());
    // The names follow what they name.
    let of = sources_and_accounts(credential);
    if !names.is_empty() {
        let mut first: Vec<_> = names.iter().take(SHOWN).map(|name| text::prefix(name, 40)).collect();
        let listed: usize = credential.sources.iter().map(|source| source.streams.len()).sum();
        if names.len() > first.len() || credential.stream_count() > listed {
            first.push("…");
        }
        let first = first.join(", ");
        out = if of.is_some() { format!("{out} ({first})") } else { format!("{out}: {first}") };
    }
    if let Some(of) = of {
        // Streams of different sources may have the same name.
        let _ = write!(out, " {of}");
    }
    if let Some(limits) = limits_in_short(credential) {
        let _ = write!(out, " ({limits})");
    }
    out
}

/// What distinguishes a grant from others in `all` with the same name: the kinds of its sources, or else its
/// accounts' ids.
fn kinds_of_alike(credential: &Credential, all: &[(Credential, Verdict)]) -> Option<String> {
    let kinds = |of: &Credential| {
        let keys = of.sources.iter().filter_map(|source| source.connector_key.as_deref());
        keys.collect::<Vec<_>>().join(", ")
    };
    let label = credential.label.to_lowercase();
    let others = all.iter().map(|(other, _)| other).filter(|other| other.grant_id != credential.grant_id);
    let alike: Vec<&Credential> = others.filter(|other| other.label.to_lowercase() == label).collect();
    let own = kinds(credential);
    if alike.is_empty() {
        return None;
    }
    let mut told = own.clone();
    if alike.iter().any(|other| kinds(other) == own) {
        let ids = credential
            .sources
            .iter()
            .flat_map(|source| &source.connections)
            .map(|account| account.id.as_str());
        told = std::iter::once(own.as_str())
            .filter(|own| !own.is_empty())
            .chain(ids)
            .collect::<Vec<_>>()
            .join(", ");
    }
    Some(told).filter(|told| !told.is_empty())
}

impl Shown<'_> {
    fn to_text(&self, width: u16) -> String {
        let grants = &self.status.grants;
        let first = grants.first().map(|(credential, _)| &credential.provider);
        // A column that repeats the same address would leave no room for the rest.
        let one_provider = grants.iter().all(|(credential, _)| Some(&credential.provider) == first);
        let rows: Vec<[String; 6]> = grants
            .iter()
            .map(|(credential, verdict)| {
                let mut name = credential.label.clone();
                if !one_provider {
                    name = format!("{name} ({})", credential.provider.in_short());
                }
                if let Some(kinds) = kinds_of_alike(credential, grants) {
                    let _ = write!(name, " ({kinds})");
                }
                if credential.token_kind == TokenKind::McpPackage {
                    name.push_str(" (package)");
                }
                let until = match credential.expires_at() {
                    Some(end) => time_text::end(end, self.status.now),
                    None if credential.has_unread_end() => "unknown".to_owned(),
                    None => "no end".to_owned(),
                };
                let grant = short_id(credential, &self.status.all).to_owned();
                [
                    name,
                    grant,
                    granted(credential),
                    until,
                    credential.store.name().to_owned(),
                    verdict.state.word().to_owned(),
                ]
            })
            .collect();
        let mut out = String::new();
        if one_provider && let Some(provider) = first {
            out = if provider.is_local() {
                "Grants of your own data on this computer\n\n".to_owned()
            } else {
                format!("Connected to {provider}\n\n")
            };
        }
        let columns = [
            Column::text("Name"),
            Column::text("Grant"),
            Column::text("Granted"),
            Column::whole("Until"),
            Column::whole("Token in"),
            Column::whole("State"),
        ];
        out.push_str(&table(width, columns, &rows));
        if self.is_in_full {
            let reads = AccessLog::new(self.cache.dir()).last_reads();
            for (credential, _) in grants {
                let _ = write!(out, "\n\n{}", in_full(credential, self.status.now));
                if let Some(words) = credential.asked.as_ref().and_then(|asked| asked.purpose.as_deref()) {
                    let _ = write!(out, "\nFor: {}", text::one_line(words));
                }
                let read = reads.get(credential.grant_id.as_str()).copied();
                let read = read.map_or_else(
                    || "never, as far as pdpp log goes back".to_owned(),
                    time_text::day_and_time,
                );
                let _ = write!(out, "\nLast read: {read}\nTo end it: {}", disconnect_command(credential));
            }
        }
        for (credential, verdict) in grants {
            if let Some(about) = self.about(credential, verdict) {
                out.push_str(&about);
            }
        }
        if !self.is_in_full {
            let grant = match grants.as_slice() {
                [(credential, _)] => {
                    Command::new("status --grant").value(short_id(credential, &self.status.all))
                }
                _ => Command::new("status --grant <GRANT>"),
            };
            let _ = write!(out, "\n\nTo see exactly what was granted: {grant}");
        }
        if grants.iter().any(|(_, verdict)| verdict.state == State::NotChecked) {
            let gap = if self.is_in_full { "\n\n" } else { "\n" };
            let _ = write!(out, "{gap}To check with the provider: {}", Command::new("status --check"));
        }
        out
    }

    /// The grants that must still be ended at their providers, each with the command that tries again.
    fn waiting(&self) -> String {
        let line = |credential: &Credential| {
            let is_over = credential.grant_expires_at.is_some_and(|end| end <= self.status.now);
            let what = if is_over { "its token is not deleted" } else { "not ended at its provider" };
            format!(
                "\n\n{} ({}, grant {}): disconnected, but {what} yet\n  next: {}",
                text::one_line(&credential.label),
                credential.provider,
                text::one_line(credential.grant_id.as_str()),
                disconnect_command(credential)
            )
        };
        self.status.ending.iter().map(line).collect()
    }

    /// What is or soon will be wrong with a grant, and the command to run.
    fn about(&self, credential: &Credential, verdict: &Verdict) -> Option<String> {
        let name = format!("{} ({}, grant {})", credential.label, credential.provider, credential.grant_id);
        let out = |what: &str, next: &dyn fmt::Display| {
            format!(
                "\n\n{}: {}\n  next: {}",
                text::one_line(&name),
                text::one_line(what),
                text::one_line(&next.to_string())
            )
        };
        match (&verdict.why, &verdict.next) {
            (Some(why), Some(next)) => Some(out(why, next)),
            (Some(why), None) => Some(out(why, &Command::new("doctor"))),
            (None, _) => {
                let end = credential.ends_soon(self.status.now)?;
                let left = time_text::left(end, self.status.now).unwrap_or_default();
                Some(out(
                    &format!("it ends {} ({left})", time_text::day_and_time(end)),
                    &self.renew(credential),
                ))
            }
        }
    }

    fn renew(&self, credential: &Credential) -> Command {
        renew_command(credential, &self.status.all)
    }

    fn to_json(&self) -> Value {
        let shown = |(credential, verdict): &(Credential, Verdict)| {
            let ends_soon = credential.ends_soon(self.status.now).is_some();
            json!({
                "provider": credential.provider.as_str(),
                "grant_id": credential.grant_id.as_str(),
                "label": credential.label,
                "kind": credential.token_kind,
                "sources": credential.sources,
                "stream_count": credential.stream_count(),
                "streams": given_json(credential),
                "access_mode": credential.access_mode,
                "issued_at": credential.issued_at,
                "grant_expires_at": credential.grant_expires_at,
                "token_expires_at": credential.token_expires_at,
                "has_unread_end": credential.has_unread_end(),
                "refreshable": credential.refreshable,
                "ends_soon": ends_soon,
                "store": credential.store,
                "state": verdict.state,
                "code": verdict.code,
                "why": verdict.why,
                "next": verdict.next.clone().or_else(|| ends_soon.then(|| self.renew(credential).into())),
            })
        };
        json!({
            "credentials": self.status.grants.iter().map(shown).collect::<Vec<_>>(),
            "ending": self.status.ending.iter().map(|credential| json!({
                "provider": credential.provider.as_str(),
                "grant_id": credential.grant_id.as_str(),
                "label": credential.label,
                "grant_expires_at": credential.grant_expires_at,
                "store": credential.store,
                "next": disconnect_command(credential),
            })).collect::<Vec<_>>(),
            "cache_dir": self.cache.dir().display().to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::credential::tests::credential;
    use crate::checks::credential::from_index;
    use crate::provider::approve::token::GivenStream;
    use crate::provider::approve::wanted::{StreamRequest, Wanted};
    use crate::provider::grant::{GrantedConnection, GrantedSource};

    fn at(text: &str) -> jiff::Timestamp {
        text.parse().unwrap()
    }

    fn shown(edit: impl FnOnce(&mut Credential)) -> (String, Value) {
        shown_as(false, edit)
    }

    fn shown_as(is_in_full: bool, edit: impl FnOnce(&mut Credential)) -> (String, Value) {
        let mut credential = credential("https://provider.example/me", "grt_1");
        credential.label = "Acme\u{1b}[31m Slack".to_owned();
        credential.sources = vec![GrantedSource {
            streams: ["messages", "users", "channels", "files"].map(str::to_owned).to_vec(),
            stream_count: 14,
            ..GrantedSource::default()
        }];
        edit(&mut credential);
        let now = at("2026-11-28T10:00:00Z");
        let cache = Cache::open(std::path::Path::new("/nowhere/pdpp")).unwrap();
        let verdict = from_index(&credential, &[], now);
        let status = Status {
            all: vec![credential.clone()],
            grants: vec![(credential, verdict)],
            ending: Vec::new(),
            now,
        };
        let shown = Shown { cache: &cache, status: &status, is_in_full };
        (shown.to_text(80), shown.to_json())
    }

    #[test]
    fn a_grant_is_shown_in_80_columns_and_escaped() {
        let (out, json) = shown(|credential| credential.grant_expires_at = Some(at("2027-01-01T00:00:00Z")));
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
        let joined = out.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["Acme\\u{1b}[31m grt_1 14 streams:", "https://provider.example/me", "2027-01-01 file"] {
            assert!(joined.contains(part), "{part} in {out}");
        }
        assert!(!out.contains('\u{1b}') && out.ends_with("pdpp status --check"));
        let credential = &json["credentials"][0];
        assert_eq!((&credential["state"], &credential["ends_soon"]), (&json!("not_checked"), &json!(false)));
        assert_eq!(
            (&credential["grant_id"], credential["stream_count"].to_string()),
            (&json!("grt_1"), "14".to_owned())
        );
    }

    /// Six streams of three accounts of three sources; one field of one stream is left out.
    fn narrowed(credential: &mut Credential) {
        let of = |key: &str| format!("https://s.example/{key}");
        credential.grant_expires_at = Some(at("2026-11-28T22:00:00Z"));
        credential.sources = [
            ("mail", vec!["attachments", "messages"]),
            ("calendar", vec!["events", "guests"]),
            ("chat", vec!["rooms", "users"]),
        ]
        .map(|(key, streams)| GrantedSource {
            id: Some(of(key)),
            connector_key: Some(key.to_owned()),
            connections: vec![GrantedConnection {
                id: format!("cin_{key}"),
                display_name: Some(format!("Ada's {key}")),
            }],
            stream_count: streams.len(),
            streams: streams.into_iter().map(str::to_owned).collect(),
            ..GrantedSource::default()
        })
        .to_vec();
        let fields: Vec<String> = (1..=22).map(|number| format!("f{number}")).collect();
        let given = |name: &str, key: &str, fields: &[String]| GivenStream {
            name: name.to_owned(),
            source: Some(of(key)),
            instance_ids: vec![format!("cin_{key}")],
            fields: Some(fields.to_vec()),
            since: Some(at("2026-09-01T00:00:00Z")),
            ..GivenStream::default()
        };
        let messages =
            StreamRequest { name: "messages".to_owned(), fields: fields.clone(), ..StreamRequest::default() };
        credential.asked = Some(Wanted { streams: vec![messages], ..Wanted::default() });
        credential.given = vec![
            given("messages", "mail", &fields[..21]),
            given("attachments", "mail", &fields[..9]),
            given("events", "calendar", &fields[..2]),
            given("guests", "calendar", &fields[..1]),
            given("rooms", "chat", &fields[..3]),
        ]
        .into();
    }

    #[test]
    fn what_was_granted_is_short_for_all_and_exact_for_one() {
        let (out, _) = shown(narrowed);
        let joined = |out: &str| out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.contains("To see exactly what was granted: pdpp status --grant grt_1"), "{out}");
        let mut credential = credential("https://provider.example/me", "grt_1");
        narrowed(&mut credential);
        assert_eq!(
            granted(&credential),
            "6 streams (attachments, events, guests, …) of 3 sources, 3 accounts (21 of 22 fields of messages, from \
             2026-09-01 00:00 UTC on)"
        );
        assert!(joined(&out).contains("6 streams"), "{out}");
        let (out, _) = shown_as(true, narrowed);
        let exact = "
  mail (https://s.example/mail): 2 streams
    of Ada's mail (cin_mail)
    messages: 21 of 22 fields, without f22; only records from 2026-09-01 00:00 UTC on
    attachments: 9 fields; only records from 2026-09-01 00:00 UTC on
  calendar (https://s.example/calendar): 2 streams
    of Ada's calendar (cin_calendar)
    events: 2 fields: f1, f2; only records from 2026-09-01 00:00 UTC on
    guests: 1 field: f1; only records from 2026-09-01 00:00 UTC on
  chat (https://s.example/chat): 2 streams
    of Ada's chat (cin_chat)
    rooms: 3 fields: f1, f2, f3; only records from 2026-09-01 00:00 UTC on
    users: the provider did not say which fields
";
        assert!(out.contains(exact), "{out}");
        assert!(out.contains("until 2026-11-28 22:00 UTC (in 12 hours)"), "{out}");
        assert!(!out.contains("Exactly what"), "{out}");
    }

    #[test]
    fn of_two_accounts_of_a_source_it_is_said_which_gives_what() {
        let two = |credential: &mut Credential| {
            narrowed(credential);
            credential.asked = None;
            let home = GrantedConnection { id: "cin_home".to_owned(), display_name: None };
            credential.sources[0].connections.push(home);
            let mut given = credential.given.streams().unwrap();
            given[1].instance_ids.push("cin_home".to_owned());
            let whole = GivenStream {
                instance_ids: vec!["cin_home".to_owned()],
                fields: Some((1..=22).map(|number| format!("f{number}")).collect()),
                since: None,
                ..given[0].clone()
            };
            given.insert(1, whole);
            credential.given = given.into();
        };
        let (out, _) = shown_as(true, two);
        for line in [
            "    of Ada's mail (cin_mail), cin_home",
            "    messages: 21 of 22 fields, without f22; only records from 2026-09-01 00:00 UTC on; only in Ada's \
             mail (cin_mail)",
            "    messages: 22 fields; only in cin_home",
            "    attachments: 9 fields; only records from 2026-09-01 00:00 UTC on",
        ] {
            assert!(out.lines().any(|shown| shown == line), "{line} in {out}");
        }
        let mut credential = credential("https://provider.example/me", "grt_1");
        two(&mut credential);
        let short = granted(&credential);
        assert!(short.ends_with("(21 of 22 fields of messages, limited in time)"), "{short}");
    }

    #[test]
    fn ones_own_data_is_called_so_next_to_a_provider() {
        let now = at("2026-11-28T10:00:00Z");
        let mut own = credential("https://own.example", "grt_2");
        own.provider = "local".parse().unwrap();
        let grants: Vec<_> = [own, credential("https://provider.example/me", "grt_1")]
            .into_iter()
            .map(|credential| (credential.clone(), from_index(&credential, &[], now)))
            .collect();
        let all = grants.iter().map(|(credential, _)| credential.clone()).collect();
        let status = Status { all, grants, ending: Vec::new(), now };
        let cache = Cache::open(std::path::Path::new("/nowhere/pdpp")).unwrap();
        let shown = Shown { cache: &cache, status: &status, is_in_full: false };
        let out = shown.to_text(200);
        assert!(
            out.contains("Diary (your own data)") && out.contains("Diary (provider.example/me)"),
            "{out}"
        );
        assert!(!out.contains("pdpp.invalid"), "{out}");
        assert_eq!(shown.to_json()["credentials"][0]["provider"], "https://local.pdpp.invalid");
    }

    #[test]
    fn an_end_within_two_days_is_shown_with_its_time() {
        let until = |end: &str| shown(|credential| credential.grant_expires_at = Some(at(end))).0;
        let hour = until("2026-11-28T11:00:00Z");
        assert!(hour.lines().any(|line| line.contains("2026-11-28 11:00 UTC  file")), "{hour}");
        let table = hour.split("Acme\\u{1b}[31m Slack (").next().unwrap();
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{hour}");
        let days = until("2026-12-10T11:00:00Z");
        assert!(days.lines().any(|line| line.contains("2026-12-10  file")), "{days}");
    }

    #[test]
    fn an_end_that_could_not_be_read_is_not_told_as_none() {
        let (out, json) = shown(|credential| credential.unread_ends.grant = true);
        assert!(out.contains("unknown") && !out.contains("no end"), "{out}");
        assert_eq!(json["credentials"][0]["has_unread_end"], true);
        let (out, json) = shown(|_| {});
        assert!(out.contains("no end") && !out.contains("unknown"), "{out}");
        assert_eq!(json["credentials"][0]["has_unread_end"], false);
    }

    #[test]
    fn an_end_is_warned_of_and_an_expired_grant_said_with_the_command() {
        let (out, json) = shown(|credential| credential.grant_expires_at = Some(at("2026-12-01T10:30:00Z")));
        assert!(out.contains("it ends 2026-12-01 10:30 UTC (in 3 days)"), "{out}");
        assert!(out.contains("next: pdpp connect https://provider.example/me --renew"), "{out}");
        assert_eq!(json["credentials"][0]["ends_soon"], true);
        let (out, json) = shown(|credential| credential.grant_expires_at = Some(at("2026-11-01T10:30:00Z")));
        assert!(out.contains("it ended 2026-11-01 10:30 UTC") && out.contains("--renew"), "{out}");
        assert_eq!(json["credentials"][0]["code"], "grant_expired");
    }

    #[test]
    fn o7_10_grants_of_one_name_are_told_apart() {
        let grant = |id: &str, label: &str, key: &str, account: &str| {
            let mut credential = credential("https://provider.example/me", id);
            credential.label = label.to_owned();
            let account = GrantedConnection { id: account.to_owned(), display_name: None };
            let connector_key = Some(key.to_owned());
            credential.sources =
                vec![GrantedSource { connector_key, connections: vec![account], ..GrantedSource::default() }];
            let verdict = from_index(&credential, &[], at("2026-11-28T10:00:00Z"));
            (credential, verdict)
        };
        let all = [
            grant("g1", "Ana", "mail", "c1"),
            grant("g2", "ana", "chat", "c2"),
            grant("g3", "Ana", "mail", "c3"),
            grant("g4", "Bo", "mail", "c1"),
        ];
        let told = all.each_ref().map(|(credential, _)| kinds_of_alike(credential, &all));
        let told = told.each_ref().map(Option::as_deref);
        assert_eq!(told, [Some("mail, c1"), Some("chat"), Some("mail, c3"), None]);
    }
}
