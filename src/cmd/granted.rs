//! What was granted, as `connect` shows it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::advice::{Command, Hint};
use crate::cache::Stored;
use crate::cache::credential::Credential;
use crate::cache::select::disconnect_command;
use crate::cache::store::StoreKind;
use crate::grants::{AtProvider, Connected, Old};
use crate::provider::approve::token::GivenStream;
use crate::provider::grant::{GrantedConnection, GrantedSource, TokenKind};
use crate::text::{one_line, prefix};
use crate::time_text::{self, day_and_time};
use crate::ui;

/// Commands to type next, setting up a host first: without a host nothing reads.
fn next(credential: &Credential) -> [(Command, &'static str); 3] {
    // Includes the directory even if it came from the environment: hosts start servers without the shell's
    // variables.
    [
        ("mcp setup", "set up the agents on this computer"),
        ("mcp inspect", "what the tools cost a model's context"),
        ("mcp serve", "serve the data to an MCP host on stdio"),
    ]
    .map(|(command, what)| (Command::new(command), what))
    .map(|(command, what)| match &credential.host {
        // The grant is served only through that host's own entry.
        Some(host) if what.starts_with("set up ") => (command.value(host), "write that host's own entry"),
        _ => (command, what),
    })
}

fn is_package(connected: &Connected) -> bool {
    connected.credential.token_kind == TokenKind::McpPackage
}

/// What was granted, until when, where its token is, and what to type.
pub(super) fn to_text(connected: &Connected) -> String {
    format!("{}\n{}", what_to_text(connected), next_to_text(connected))
}

/// The same for several grants from one approval; the next steps are shown once.
pub(super) fn all_to_text(connected: &[Connected]) -> String {
    let mut texts: Vec<String> = connected.iter().map(what_to_text).collect();
    texts.extend(connected.last().map(next_to_text));
    texts.join("\n")
}

/// What was granted, until when, and where its token is.
fn what_to_text(connected: &Connected) -> String {
    let granted = &connected.credential;
    let mut text = opening(connected);
    let until = match granted.expires_at() {
        Some(end) => format!("until {}", day_and_time(end)),
        None if granted.has_unread_end() => "until an end that pdpp could not read".to_owned(),
        None => "without an end date".to_owned(),
    };
    let mode = match granted.access_mode.as_deref() {
        Some("continuous") | None => String::new(),
        Some(mode) => format!(" ({} access)", one_line(mode).replace('_', "-")),
    };
    let _ = writeln!(text, "Granted {until}{mode}, to read:");
    for source in &granted.sources {
        let _ = writeln!(text, "  {}", source_line(source));
    }
    for line in limits(granted) {
        let _ = writeln!(text, "    {line}");
    }
    if granted.stream_count() == 0 && !is_package(connected) {
        text.push_str("  nothing: the token works, but the grant has no streams\n");
    }
    if granted.is_expired(connected.now) {
        text.push_str("By this computer's clock, the grant has already ended: check the clock.\n");
    }
    let dir = connected.cache_dir.join("secrets");
    let _ = match granted.store {
        StoreKind::File => {
            writeln!(text, "The token is kept in a file that only you can read, below {}", dir.display())
        }
        StoreKind::Keyring => writeln!(text, "The token is kept in the keyring."),
    };
    if let Some(old) = &connected.replaces {
        let _ = writeln!(text, "{}", old_to_text(old));
    }
    if is_package(connected) {
        let _ = write!(
            text,
            "\nA package's token works only at {}/mcp: `pdpp mcp serve` reads through the tools there.\n",
            granted.provider
        );
    }
    if granted.provider.is_local() {
        let end = Command::new("provider revoke").value(granted.grant_id.as_str());
        let _ = writeln!(text, "To end it sooner: {end}");
    }
    text
}

/// What to type next, and what the host will serve.
fn next_to_text(connected: &Connected) -> String {
    let granted = &connected.credential;
    let next = next(granted).map(|(command, what)| (command.to_string(), what));
    let steps = ui::steps(&next.each_ref().map(|(command, what)| (command.as_str(), *what)));
    let mut text = format!("Next:\n{steps}");
    if let Some(host) = &granted.host {
        let _ = write!(text, "\nThe entry of {host} serves only this grant, and none of the others.");
    } else if connected.has_others {
        text.push_str(
            "\nIt serves all grants on this computer together; --provider and --grant select some of them.",
        );
    }
    text
}

/// What happened, in one line.
fn opening(connected: &Connected) -> String {
    let granted = &connected.credential;
    let replaces = connected.replaces.is_some();
    match connected.stored {
        _ if granted.provider.is_local() && replaces => {
            "You granted access to your own data again; this grant replaces the old one.\n".to_owned()
        }
        _ if granted.provider.is_local() => {
            "You granted access to your own data on this computer.\n".to_owned()
        }
        _ if is_package(connected) => {
            format!("Connected to {}, with a package of grants.\n", granted.provider)
        }
        Stored::Replaced if replaces => {
            format!("Connected to {} again; this grant replaces the old one.\n", granted.provider)
        }
        Stored::Added => format!("Connected to {}.\n", granted.provider),
        Stored::Replaced => {
            format!("Connected to {} again: the grant has a new token.\n", granted.provider)
        }
    }
}

fn old_to_text(old: &Old) -> String {
    let id = one_line(old.credential.grant_id.as_str());
    let at = if old.credential.provider.is_local() { "" } else { " at the provider" };
    let (not, here, then) = match &old.at_provider {
        AtProvider::Ended => {
            return format!("The old grant {id} is ended{at}, and deleted here.");
        }
        AtProvider::Over => {
            return format!("The old grant {id} had already ended{at}; it is deleted here.");
        }
        AtProvider::Waits(not) => {
            let first = not.remedy.unwrap_or("To try again");
            let then = Hint::new(format!("{first}: ")).run(disconnect_command(&old.credential));
            (not, "out of every agent's reach", then)
        }
        AtProvider::Stands(not) => (not, "deleted here", "End it on the provider's own pages".into()),
    };
    let until = old.credential.grant_expires_at;
    let until = until.map_or_else(String::new, |end| format!(" until {}", day_and_time(end)));
    format!(
        "The old grant {id} is {here}, but is still valid at the provider{until}: {}\n  {then} (code: {})",
        one_line(prefix(&not.why, 500)),
        not.code
    )
}

/// The same as one JSON object.
pub(super) fn to_json(connected: &Connected) -> Value {
    let granted = &connected.credential;
    json!({
        "provider": granted.provider.as_str(),
        "grant_id": granted.grant_id.as_str(),
        "label": granted.label,
        "token_kind": granted.token_kind,
        "replaces": connected.replaces.as_ref().map(|old| old.credential.grant_id.as_str()),
        "old_grant": connected.replaces.as_ref().map(old_to_json),
        "more_than_asked": connected.difference.more,
        "less_than_asked": connected.difference.less,
        "beside_what_was_asked": connected.difference.beside,
        "not_compared_with_asked": connected.difference.not_compared,
        "more_than_before": connected.since_before.as_ref().map(|difference| &difference.more),
        "less_than_before": connected.since_before.as_ref().map(|difference| &difference.less),
        "issuer": granted.issuer,
        "access_mode": granted.access_mode,
        "issued_at": granted.issued_at,
        "expires_at": granted.expires_at(),
        "has_unread_end": granted.has_unread_end(),
        "sources": granted.sources,
        "stream_count": granted.stream_count(),
        "streams": given_json(granted),
        "replaced": connected.stored == Stored::Replaced,
        "store": granted.store,
        "cache_dir": connected.cache_dir.display().to_string(),
        "next": next(granted).map(|(command, _)| command),
    })
}

fn old_to_json(old: &Old) -> Value {
    let not = match &old.at_provider {
        AtProvider::Ended | AtProvider::Over => None,
        AtProvider::Waits(not) | AtProvider::Stands(not) => Some(not),
    };
    json!({
        "ended_at_provider": not.is_none(),
        "code": not.map(|not| &not.code),
        "why": not.map(|not| &not.why),
    })
}

/// The number of streams whose fields are listed, and of fields that are named.
const SHOWN_STREAMS: usize = 8;
const SHOWN_FIELDS: usize = 8;

/// What a grant gives of its streams, as far as the provider has stated it: the fields if there are few
/// streams, and every time limit.
pub(super) fn limits(credential: &Credential) -> Vec<String> {
    let given = credential.given.streams().unwrap_or_default();
    let mut lines = Vec::new();
    if given.len() <= SHOWN_STREAMS {
        for stream in &given {
            let Some(fields) = &stream.fields else { continue };
            let count = field_count(fields);
            let names = fields.iter().take(SHOWN_FIELDS).map(|field| one_line(prefix(field, 60)));
            let names = names.collect::<Vec<_>>().join(", ");
            let more = if fields.len() > SHOWN_FIELDS { ", …" } else { "" };
            lines.push(format!("{}: {count}: {names}{more}", one_line(prefix(&stream.name, 60))));
        }
    }
    let mut times: Vec<(String, Vec<String>)> = Vec::new();
    for stream in &given {
        let Some(time) = time_of(stream) else { continue };
        let name = one_line(prefix(&stream.name, 60)).into_owned();
        match times.iter_mut().find(|(known, _)| *known == time) {
            Some((_, names)) => names.push(name),
            None => times.push((time, vec![name])),
        }
    }
    lines.extend(times.into_iter().map(|(time, mut names)| {
        names.dedup();
        if names.len() == given.len() && names.len() > 1 {
            return format!("only records {time}, in each stream");
        }
        let more = if names.len() > SHOWN_STREAMS { ", …" } else { "" };
        names.truncate(SHOWN_STREAMS);
        format!("only records {time}, in {}{more}", names.join(", "))
    }));
    lines
}

fn field_count(fields: &[String]) -> String {
    format!("{} field{}", fields.len(), if fields.len() == 1 { "" } else { "s" })
}

/// `from 2026-01-01 00:00 UTC on`, `before …`, or both.
fn time_of(stream: &GivenStream) -> Option<String> {
    let since = stream.since.map(|since| format!("from {} on", day_and_time(since)));
    let until = stream.until.map(|until| format!("before {}", day_and_time(until)));
    match (since, until) {
        (Some(since), Some(until)) => Some(format!("{since} and {until}")),
        (since, until) => since.or(until),
    }
}

/// The same in a few words for a table: `2 fields, from 2026-01-01 00:00 UTC on`.
pub(super) fn limits_in_short(credential: &Credential) -> Option<String> {
    let given = credential.given.streams().unwrap_or_default();
    let mut parts = Vec::new();
    if let [GivenStream { fields: Some(fields), .. }] = given.as_slice() {
        parts.push(fields_of(fields, &left_out(credential, &given, &given[0])));
    } else {
        let mut narrowed = given.iter().map(|stream| (stream, left_out(credential, &given, stream)));
        let narrowed: Vec<_> = narrowed.by_ref().filter(|(_, left_out)| !left_out.is_empty()).collect();
        match narrowed.as_slice() {
            [] => {}
            [(stream, left_out)] => parts.push(format!(
                "{} of {}",
                fields_of(stream.fields.as_deref().unwrap_or_default(), left_out),
                prefix(&stream.name, 40)
            )),
            several => parts.push(format!("fields left out in {} streams", several.len())),
        }
    }
    let times: BTreeSet<Option<String>> = given.iter().map(time_of).collect();
    match times.len() {
        0 => {}
        1 => parts.extend(times.into_iter().flatten()),
        _ => parts.push("limited in time".to_owned()),
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The known fields that `stream` lacks in a grant that has `given`: those that were asked for by name, and
/// those that another account of the same source gives.
fn left_out(credential: &Credential, given: &[GivenStream], stream: &GivenStream) -> BTreeSet<String> {
    let Some(fields) = &stream.fields else { return BTreeSet::new() };
    let namesakes = || given.iter().filter(|other| other.name == stream.name);
    let of_source = namesakes().filter(|other| other.source == stream.source);
    // A request names a stream once, whichever sources have it.
    let is_of_one = namesakes().all(|other| other.source == stream.source);
    let asked = credential.asked.as_ref().filter(|_| is_of_one).and_then(|asked| asked.stream(&stream.name));
    let asked = asked.into_iter().flat_map(|asked| &asked.fields);
    let known = of_source.flat_map(|other| other.fields.iter().flatten()).chain(asked);
    known.filter(|field| !fields.contains(field)).cloned().collect()
}

/// `21 of 22 fields`, or `21 fields` if no others are known.
fn fields_of(fields: &[String], left_out: &BTreeSet<String>) -> String {
    match left_out.len() {
        0 => field_count(fields),
        more => format!("{} of {} fields", fields.len(), fields.len() + more),
    }
}

/// Everything that is known about a grant: the accounts and streams of each source, with their fields and times.
pub(super) fn in_full(credential: &Credential, now: Timestamp) -> String {
    let given = credential.given.streams().unwrap_or_default();
    let mut text = "Granted".to_owned();
    if let Some(issued) = credential.issued_at {
        let _ = write!(text, " {}", day_and_time(issued));
    }
    let _ = match credential.grant_expires_at {
        Some(end) => match time_text::left(end, now) {
            Some(left) => write!(text, " until {} ({left})", day_and_time(end)),
            None => write!(text, " until {}", day_and_time(end)),
        },
        None if credential.unread_ends.grant || credential.has_unread_end() => {
            write!(text, " until an end that pdpp could not read")
        }
        None => write!(text, " without an end date"),
    };
    if credential.expires_at() != credential.grant_expires_at
        && let Some(end) = credential.expires_at()
    {
        let _ = write!(text, ", with a token until {}", day_and_time(end));
    }
    if let Some(mode) = &credential.access_mode {
        let _ = write!(text, " ({} access)", one_line(mode).replace('_', "-"));
    }
    text.push_str(", to read:");
    let mut placed = vec![false; given.len()];
    for source in &credential.sources {
        // The source's own label: its accounts have a separate line.
        let bare = GrantedSource { connections: Vec::new(), ..source.clone() };
        let label = bare.label();
        let id = source.id.as_deref().filter(|id| *id != label).map(|id| format!(" ({})", one_line(id)));
        let plural = if source.stream_count == 1 { "" } else { "s" };
        let count = source.stream_count;
        let _ = write!(text, "\n  {}{}: {count} stream{plural}", one_line(&label), id.unwrap_or_default());
        if !source.connections.is_empty() {
            let accounts: Vec<_> = source.connections.iter().map(account).collect();
            let _ = write!(text, "\n    of {}", accounts.join(", "));
        }
        let of_source = || given.iter().enumerate().filter(|(_, stream)| is_of(stream, source, credential));
        for (at, stream) in of_source() {
            placed[at] = true;
            let _ = write!(text, "\n    {}", stream_in_full(credential, &given, stream, Some(source)));
        }
        let is_told = |name: &&String| of_source().any(|(_, stream)| stream.name == **name);
        for name in source.streams.iter().filter(|name| !is_told(name)) {
            let _ = write!(text, "\n    {}: {UNTOLD}", one_line(name));
        }
        if source.streams.len() < count {
            let _ = write!(text, "\n    and {} more", count - source.streams.len());
        }
    }
    let placed = placed.into_iter().zip(&given).filter(|(is_placed, _)| !is_placed);
    for (_, stream) in placed {
        let _ = write!(text, "\n  {}", stream_in_full(credential, &given, stream, None));
    }
    text
}

const UNTOLD: &str = "the provider did not say which fields";

/// Whether `stream` belongs to `source`: by the name of its source, by its accounts, or because nothing else
/// tells where it belongs.
fn is_of(stream: &GivenStream, source: &GrantedSource, credential: &Credential) -> bool {
    // An index keeps only the beginning of a long id.
    let cut = |id: &str| prefix(id, 200).to_owned();
    let has_source = |of: &GrantedSource| {
        of.id.as_deref().map(cut).is_some_and(|id| stream.source.as_deref().map(cut) == Some(id))
    };
    let has_account = |of: &GrantedSource| stream.instance_ids.iter().any(|id| of.has_connection(id));
    for is_its in [&has_source as &dyn Fn(&GrantedSource) -> bool, &has_account] {
        if credential.sources.iter().any(is_its) {
            return is_its(source);
        }
    }
    source.streams.contains(&stream.name)
}

/// `Work (c1)`.
fn account(connection: &GrantedConnection) -> String {
    match &connection.display_name {
        Some(name) => format!("{} ({})", one_line(name), one_line(&connection.id)),
        None => one_line(&connection.id).into_owned(),
    }
}

/// `messages: 21 of 22 fields, without bcc; only records from 2026-01-01 00:00 UTC on; only in Work (c1)`.
fn stream_in_full(
    credential: &Credential,
    given: &[GivenStream],
    stream: &GivenStream,
    source: Option<&GrantedSource>,
) -> String {
    let names = |fields: &mut dyn Iterator<Item = &String>| {
        fields.map(|field| one_line(field).into_owned()).collect::<Vec<_>>().join(", ")
    };
    let mut out = format!("{}: ", one_line(&stream.name));
    match &stream.fields {
        None => out.push_str(UNTOLD),
        Some(fields) => {
            let left_out = left_out(credential, given, stream);
            out.push_str(&fields_of(fields, &left_out));
            if (1..=SHOWN_FIELDS).contains(&fields.len()) {
                let _ = write!(out, ": {}", names(&mut fields.iter()));
            } else if (1..=SHOWN_FIELDS).contains(&left_out.len()) {
                let _ = write!(out, ", without {}", names(&mut left_out.iter()));
            }
        }
    }
    if let Some(time) = time_of(stream) {
        let _ = write!(out, "; only records {time}");
    }
    let connections = source.map(|source| source.connections.as_slice()).unwrap_or_default();
    let is_whole = connections.iter().all(|connection| stream.instance_ids.contains(&connection.id));
    if !stream.instance_ids.is_empty() && (connections.is_empty() || !is_whole) {
        let of = stream.instance_ids.iter().map(|id| {
            let known = connections.iter().find(|connection| connection.id == *id);
            known.map_or_else(|| one_line(id).into_owned(), account)
        });
        let _ = write!(out, "; only in {}", of.collect::<Vec<_>>().join(", "));
    }
    out
}

/// What was given, stream by stream, as far as the provider has stated it.
pub(super) fn given_json(credential: &Credential) -> Value {
    json!(credential.given.streams().unwrap_or_default())
}

/// `Acme Slack (slack): 14 streams: messages, users, …`
pub(super) fn source_line(source: &GrantedSource) -> String {
    const SHOWN: usize = 12;
    let label = source.label();
    let mut line = one_line(&label).into_owned();
    if let Some(key) = source.connector_key.as_deref().filter(|key| *key != label) {
        let _ = write!(line, " ({})", one_line(key));
    }
    let plural = if source.stream_count == 1 { "" } else { "s" };
    let _ = write!(line, ": {} stream{plural}", source.stream_count);
    let shown: Vec<_> = source.streams.iter().take(SHOWN).map(|name| one_line(name)).collect();
    if !shown.is_empty() {
        let _ = write!(line, ": {}", shown.join(", "));
    }
    if source.stream_count > shown.len() {
        let _ = write!(line, " and {} more", source.stream_count - shown.len());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;
    use crate::cache::credential::tests::credential;
    use crate::grants::Difference;

    fn connected(edit: impl FnOnce(&mut Connected)) -> Connected {
        let mut credential = credential("https://a.example/me", "g1");
        credential.sources = vec![GrantedSource {
            connector_key: Some("diary".to_owned()),
            connections: vec![GrantedConnection {
                id: "c1".to_owned(),
                display_name: Some("Paper\u{1b}[31m diary".to_owned()),
            }],
            streams: (0..14).map(|n| format!("s{n}")).collect(),
            stream_count: 14,
            ..GrantedSource::default()
        }];
        credential.grant_expires_at = Some("2026-11-28T22:29:23Z".parse().unwrap());
        let mut connected = Connected {
            credential,
            stored: Stored::Added,
            cache_dir: Cache::default_dir().unwrap(),
            now: "2026-11-27T00:00:00Z".parse().unwrap(),
            replaces: None,
            has_others: false,
            difference: Difference::default(),
            since_before: None,
        };
        edit(&mut connected);
        connected
    }

    #[test]
    fn r8_1_the_end_says_what_was_granted_until_when_and_what_to_type() {
        let expected = "\
Connected to https://a.example/me.
Granted until 2026-11-28 22:29 UTC, to read:
  Paper\\u{1b}[31m diary (diary): 14 streams: s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11 and 2 more
The token is kept in a file that only you can read, below DIR/secrets

Next:
  pdpp mcp setup     set up the agents on this computer
  pdpp mcp inspect   what the tools cost a model's context
  pdpp mcp serve     serve the data to an MCP host on stdio";
        let dir = Cache::default_dir().unwrap().display().to_string();
        let text = to_text(&connected(|_| ())).replace(&dir, "DIR").replace("DIR\\", "DIR/");
        assert_eq!(text, expected);
    }

    #[test]
    fn r8_1_several_grants_say_once_what_to_type() {
        let one = connected(|_| ());
        let both = all_to_text(&[connected(|_| ()), connected(|_| ())]);
        assert_eq!((both.matches("Granted until").count(), both.matches("Next:").count()), (2, 1), "{both}");
        assert!(both.ends_with(&to_text(&one)), "{both}");
        assert_eq!(all_to_text(&[one]), to_text(&connected(|_| ())));
    }

    #[test]
    fn what_is_out_of_the_ordinary_is_shown() {
        let text = to_text(&connected(|connected| {
            connected.stored = Stored::Replaced;
            connected.has_others = true;
            connected.now = "2026-11-29T00:00:00Z".parse().unwrap();
            connected.credential.access_mode = Some("single_use".to_owned());
            connected.credential.sources.clear();
        }));
        for part in [
            "the grant has a new token",
            "(single-use access)",
            "the grant has no streams",
            "check the clock",
            "all grants on this computer together",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let endless = to_text(&connected(|connected| connected.credential.grant_expires_at = None));
        assert!(endless.contains("without an end date"));
        let unread = connected(|connected| {
            connected.credential.grant_expires_at = None;
            connected.credential.unread_ends.grant = true;
        });
        let full = in_full(&unread.credential, unread.now);
        assert!(full.contains(" until an end that pdpp could not read"), "{full}");
        let text = to_text(&unread);
        assert!(text.contains("Granted until an end that pdpp could not read"), "{text}");
        assert_eq!(to_json(&unread)["has_unread_end"], true);
    }

    #[test]
    fn a_narrowed_grant_says_of_which_fields_and_times() {
        let narrowed = |streams: Vec<GivenStream>| {
            connected(move |connected| connected.credential.given = streams.into())
        };
        let stream = |name: &str, fields: &[&str], since: Option<&str>| GivenStream {
            name: name.to_owned(),
            fields: Some(fields.iter().map(ToString::to_string).collect()),
            since: since.map(|since| since.parse().unwrap()),
            ..GivenStream::default()
        };
        let one = narrowed(vec![stream("messages", &["subject"], Some("2026-01-01T00:00:00Z"))]);
        let text = to_text(&one);
        assert!(text.contains("\n    messages: 1 field: subject\n"), "{text}");
        assert!(text.contains("\n    only records from 2026-01-01 00:00 UTC on, in messages\n"), "{text}");
        assert_eq!(
            limits_in_short(&one.credential).as_deref(),
            Some("1 field, from 2026-01-01 00:00 UTC on")
        );
        let json = to_json(&one);
        assert_eq!(json["streams"][0]["fields"], json!(["subject"]));
        assert_eq!(json["streams"][0]["since"], "2026-01-01T00:00:00Z");
        // With many streams, the fields would fill a page.
        let many: Vec<_> = (0..12).map(|n| stream(&format!("s{n}"), &["a", "b"], None)).collect();
        let many = narrowed(many);
        assert!(limits(&many.credential).is_empty() && limits_in_short(&many.credential).is_none());
        let mixed = narrowed(vec![stream("a", &[], Some("2026-01-01T00:00:00Z")), stream("b", &[], None)]);
        assert_eq!(limits_in_short(&mixed.credential).as_deref(), Some("limited in time"));
    }

    #[test]
    fn json_names_the_same_things() {
        let json = to_json(&connected(|_| ()));
        assert_eq!(json["expires_at"], "2026-11-28T22:29:23Z");
        assert_eq!(json["stream_count"].to_string(), "14");
        assert_eq!(json["sources"][0]["connections"][0]["id"], "c1");
        assert_eq!(json["next"], json!(["pdpp mcp setup", "pdpp mcp inspect", "pdpp mcp serve"]));
    }
}
