//! `pdpp disconnect`: ends grants at their providers where it can, and deletes them here. One whose token cannot be
//! read now is taken from every agent, and kept to be ended by the next `disconnect` that can read it.

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::StreamExt as _;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Global;
use crate::advice;
use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::cache::select::GrantName;
use crate::cache::store::{StoreError, StoreKind, remedy};
use crate::error::{Error, Kind, Result};
use crate::provider::approve::revoke::{Revoked, Tokens, revoke};
use crate::provider::grant::TokenKind;
use crate::provider::http::{Http, Limits};
use crate::provider::url::ProviderUrl;
use crate::runtime::block_on_unless_stopped;
use crate::text::{self, shell_word};
use crate::ui::Ui;
use crate::until::day_and_time;

/// End grants, and delete their tokens from this machine
///
/// Each provider is asked to end its grant; whether it did is said. The token is deleted here, also without a
/// network. Where it cannot be read (a locked keyring), the grant is kept to be ended by the next `pdpp disconnect`
/// that can read it. A running `pdpp mcp serve` cannot read with it from then on, either way.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Args {
    /// What to disconnect: a provider's address, or a grant's id, the beginning of it, or its name, as
    /// `pdpp status` shows them
    #[arg(value_name = "PROVIDER|GRANT")]
    pub which: Vec<String>,

    /// Only this grant of them
    #[arg(long, value_name = "GRANT", conflicts_with = "all")]
    pub grant: Option<GrantName>,

    /// Everything that matches; without a match to make, everything
    #[arg(long)]
    pub all: bool,

    /// Delete here also what cannot be ended at its provider yet, for its token cannot be read
    #[arg(long)]
    pub forget: bool,

    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,

    /// Print one JSON object; asks nothing
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  pdpp disconnect                              the one that is there, or choose
  pdpp disconnect https://provider.example
  pdpp disconnect https://provider.example --grant Work
  pdpp disconnect --all --yes

Ends with 1 if a grant that was meant could not be ended at its provider.";

const LIMITS: Limits =
    Limits { connect: Duration::from_secs(5), total: Duration::from_secs(8), body: 1 << 20 };
/// Longest time for ending one grant at its provider, a keyring's answer included.
const WITHIN: Duration = Duration::from_secs(20);
/// Grants that are ended at once.
const AT_ONCE: usize = 8;

/// Ends and deletes.
///
/// # Errors
/// `not_connected` (78), `several_credentials`, `confirmation_required` (2), `not_confirmed`, `interrupted` (130),
/// those of the cache; `not_ended_at_provider`, `not_ended_yet`, after all is done here that can be.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    let cache = global.cache()?;
    let everything = args.all && args.which.is_empty();
    let can_ask = ui.can_ask() && !args.json && !args.yes;
    let credentials = match cache.credentials() {
        Err(error) if error.code() == "cache_damaged" && everything => {
            check_confirmed(args, can_ask)?;
            return Err(delete_unread(&cache, error, can_ask, ui));
        }
        credentials => credentials?,
    };
    let waiting = cache.ending()?;
    let known = [credentials, waiting.clone()].concat();
    if !known.is_empty() {
        check_confirmed(args, can_ask)?;
    }
    let chosen = match choose(&known, args, can_ask, ui) {
        // What a `disconnect` before could not reach.
        Err(error) if error.code() == "not_connected" && cache.has_left()? => {
            cache.delete_left()?;
            let is_all_meant = known.is_empty() && args.which.is_empty() && args.grant.is_none();
            if !is_all_meant || cache.has_left()? {
                return Err(error);
            }
            if args.json {
                ui.json(&json!({"disconnected": []}));
            } else {
                ui.print(
                    "Nothing was connected on this machine; a token that was left in its store is deleted.",
                );
            }
            return Ok(0);
        }
        chosen => chosen?,
    };
    // What was disconnected before is tried again with each: somebody wants it ended.
    let is_other = |one: &&Credential| !chosen.iter().any(|chosen| chosen.id == one.id);
    let others: Vec<Credential> = waiting.iter().filter(is_other).cloned().collect();
    let meant = chosen.len();
    let all = [chosen, others].concat();
    let http = global.http_now(LIMITS)?;
    let progress = ui.progress();
    progress.say("Asking the providers to end the grants");
    let at_providers = block_on_unless_stopped(end_all(&cache, &http, &all)).map_err(|error| {
        if error.kind() != Kind::Interrupted {
            return error;
        }
        let said = "Stopped; nothing was deleted here, and a grant may be over at its provider";
        Error::new(Kind::Interrupted, "interrupted", said).run("pdpp status --check")
    })?;
    drop(progress);
    let told = at_providers.into_iter().enumerate().map(|(at, (one, at_provider))| {
        if at < meant { Ended::named(one, at_provider, args.forget) } else { Ended::again(one, at_provider) }
    });
    let mut ended: Vec<Ended> = told.collect();
    let those = |here| {
        ended.iter().filter(|one| one.here == here).map(|one| one.credential.clone()).collect::<Vec<_>>()
    };
    let kept = those(Here::Kept);
    // All that is here is deleted whole, but not what is still to be ended.
    let all = everything && kept.is_empty();
    let removed = if kept.is_empty() { Ok(()) } else { cache.keep_to_end(&kept) };
    let removed = removed
        .and_then(|()| if all { cache.remove_all() } else { cache.remove_each(&those(Here::Deleted)) });
    let failed = match removed {
        Ok(removed) => {
            let done = if kept.is_empty() { "is deleted here" } else { "is no agent's any more" };
            ui.done(&format!("what was to be disconnected {done}"), "pdpp status");
            warn_of_left(removed.left.as_ref(), ui);
            if removed.left.is_some() {
                // Files are deleted, or nothing is.
                let is_left = |one: &&mut Ended| {
                    one.here == Here::Deleted && one.credential.store == StoreKind::Keyring
                };
                ended.iter_mut().filter(is_left).for_each(|one| one.here = Here::Forgotten);
            }
            not_ended(&ended)
        }
        Err(error) => {
            // What the providers did is told all the same.
            for one in &mut ended {
                one.here = Here::Left;
            }
            Some(error)
        }
    };
    if args.json {
        let mut said = json!({"disconnected": ended.iter().map(Ended::to_json).collect::<Vec<_>>()});
        if let Some(error) = &failed {
            said["error"] = error.to_json()["error"].take();
        }
        ui.json(&said);
    } else if ended.is_empty() {
        ui.print("Nothing was connected on this machine.");
    } else {
        ui.print(&ended.iter().map(Ended::to_text).collect::<Vec<_>>().join("\n"));
        if let Some(error) = &failed {
            ui.error(error);
        }
    }
    Ok(failed.map_or(0, |error| error.kind().exit_code()))
}

fn warn_of_left(left: Option<&StoreError>, ui: &Ui) {
    if let Some(why) = left {
        ui.warn(&format!(
            "a token is still in its store ({why}); nothing uses it any more, and the next `pdpp disconnect` that \
             reaches the store deletes it"
        ));
    }
}

/// That some of those that were meant are still there at their providers.
fn not_ended(ended: &[Ended<'_>]) -> Option<Error> {
    let left = || ended.iter().filter(|one| one.is_meant && one.at_provider.is_err());
    let waiting: Vec<_> = left().filter(|one| one.here == Here::Kept).collect();
    let gone: Vec<_> = left().filter(|one| one.here != Here::Kept).collect();
    let mut providers: Vec<_> = gone.iter().map(|one| one.credential.provider.as_str()).collect();
    providers.sort();
    providers.dedup();
    let said = match (gone.len(), waiting.len()) {
        (0, 0) => return None,
        (0, count) => {
            let said = if count == 1 {
                "A grant is not ended at its provider yet; no agent can read with it any more".to_owned()
            } else {
                format!(
                    "{count} grants are not ended at their providers yet; no agent can read with them any more"
                )
            };
            // The next one tries them all.
            let next = waiting.first().map(|one| one.next()).unwrap_or_default();
            return Some(Error::failed("not_ended_yet", said).hint(next));
        }
        (1, _) => "A grant is forgotten here, and was not ended at its provider".to_owned(),
        (count, _) => format!("{count} grants are forgotten here, and were not ended at their providers"),
    };
    let hint = format!("End it on the provider's own pages: {}", providers.join(", "));
    Some(Error::failed("not_ended_at_provider", said).hint(hint))
}

/// Deletes what an index that cannot be read is about. A failure all the same: nothing was ended anywhere.
fn delete_unread(cache: &Cache, damage: Error, can_ask: bool, ui: &Ui) -> Error {
    let question =
        "The index cannot be read, so no grant can be ended at its provider. Delete every token here?";
    if can_ask && !ui.confirm(question) {
        return not_confirmed();
    }
    if let Err(error) = cache.remove_all() {
        return error;
    }
    let said = "The index could not be read, so nothing was ended at a provider; it is deleted, and so is every \
                token in a file here";
    let hint = "End the grants on their providers' own pages, delete what is called \"pdpp: a provider's token\" in \
                the keyring, then: pdpp connect <provider-url>";
    Error::failed("cache_damaged", said).because(damage).hint(hint)
}

/// Whatever `--all` takes, somebody said so: at the terminal, or with `--yes`.
fn check_confirmed(args: &Args, can_ask: bool) -> Result<()> {
    if !args.all || args.yes || can_ask {
        return Ok(());
    }
    let said = "--all ends and deletes several grants, and nobody can be asked here";
    Err(Error::new(Kind::Usage, "confirmation_required", said).run("pdpp disconnect --all --yes"))
}

fn not_confirmed() -> Error {
    Error::failed("not_confirmed", "Nobody said yes; nothing was changed").run("pdpp status")
}

fn choose<'a>(credentials: &'a [Credential], args: &Args, can_ask: bool, ui: &Ui) -> Result<Vec<Credential>> {
    let mut matching: Vec<&Credential> = Vec::new();
    let everything: Vec<&Credential> = credentials.iter().collect();
    let narrowed = |found: Vec<&'a Credential>| {
        let mut found = args.grant.as_ref().map_or_else(|| found.clone(), |grant| grant.meant(&found));
        // What was disconnected before is tried again in any case, and its name is free for another.
        if !args.all && !args.forget && found.iter().any(|one| !one.ending) {
            found.retain(|one| !one.ending);
        }
        found
    };
    for which in &args.which {
        let found = narrowed(meant(which, &everything));
        if found.is_empty() {
            return Err(none(which, credentials));
        }
        if found.len() > 1 && !args.all && !can_ask {
            return Err(several(&found));
        }
        matching.extend(
            found
                .into_iter()
                .filter(|one| !matching.iter().any(|known| known.id == one.id))
                .collect::<Vec<_>>(),
        );
    }
    if args.which.is_empty() {
        matching = narrowed(everything);
        let is_any = args.grant.is_none() && !args.all && !args.forget && !credentials.is_empty();
        if is_any && matching.iter().all(|one| one.ending) {
            // No question: somebody said so before.
            return Ok(credentials.to_vec());
        }
        if let (Some(grant), true) = (&args.grant, matching.is_empty()) {
            return Err(none(&grant.to_string(), credentials));
        }
        if matching.is_empty() && !args.all {
            return Err(Error::new(
                Kind::NotConnected,
                "not_connected",
                "No provider is connected on this machine",
            )
            .run("pdpp connect <provider-url>"));
        }
        if matching.len() > 1 && !args.all && !can_ask {
            return Err(several(&matching));
        }
    }
    if !can_ask || matching.is_empty() {
        return Ok(matching.into_iter().cloned().collect());
    }
    // Named one by one, or all: one question. One name for several: which of them.
    if args.all || matching.len() <= args.which.len().max(1) {
        let names: Vec<String> = matching.iter().map(|one| short_name(one)).collect();
        let question = format!("End and delete {}?", names.join("; "));
        return if ui.confirm(&question) {
            Ok(matching.into_iter().cloned().collect())
        } else {
            Err(not_confirmed())
        };
    }
    let names: Vec<String> = matching.iter().map(|one| short_name(one)).collect();
    let chosen =
        ui.choose("Which to end and delete? (space marks, enter goes on)", &names).unwrap_or_default();
    let chosen: Vec<Credential> =
        chosen.into_iter().filter_map(|at| matching.get(at)).map(|one| (*one).clone()).collect();
    if chosen.is_empty() { Err(not_confirmed()) } else { Ok(chosen) }
}

/// What `which` means of `all`: a provider's grants, or what a grant is called.
fn meant<'a>(which: &str, all: &[&'a Credential]) -> Vec<&'a Credential> {
    match (which.parse::<ProviderUrl>(), which.parse::<GrantName>()) {
        (Ok(provider), _) => all.iter().copied().filter(|one| one.provider == provider).collect(),
        (_, Ok(grant)) => grant.meant(all),
        _ => Vec::new(),
    }
}

fn name(one: &Credential) -> String {
    format!("{} ({}, grant {})", text::one_line(text::prefix(&one.label, 200)), one.provider, one.grant_id)
}

/// For a question, which is one line: a longer one cannot be redrawn.
fn short_name(one: &Credential) -> String {
    let label = text::one_line(text::prefix(&one.label, 30)).into_owned();
    let cut = if label.len() < one.label.len() { "…" } else { "" };
    format!("{label}{cut} ({})", text::prefix(one.grant_id.as_str(), 40))
}

fn none(which: &str, credentials: &[Credential]) -> Error {
    let mut message = format!("Nothing on this machine is called {:?}", text::prefix(which, 200));
    let connected = credentials.iter().filter(|one| !one.ending).collect::<Vec<_>>();
    if !connected.is_empty() {
        message.push_str("; connected are:");
        list(&mut message, &connected);
    }
    let next = if credentials.is_empty() { "pdpp connect <provider-url>" } else { "pdpp status" };
    Error::new(Kind::NotConnected, "not_connected", message).run(next)
}

fn several(found: &[&Credential]) -> Error {
    let mut message = "Several grants are meant; name one, or give --all for all of them:".to_owned();
    list(&mut message, found);
    let first = found.first().map_or_else(String::new, |one| {
        format!("{} --grant {}", shell_word(one.provider.as_str()), shell_word(one.grant_id.as_str()))
    });
    Error::new(Kind::Usage, "several_credentials", message).run(format!("pdpp disconnect {first}"))
}

fn list(message: &mut String, credentials: &[&Credential]) {
    for one in credentials {
        let _ = write!(message, "\n  {}", name(one));
    }
}

/// Why a grant was not ended at its provider.
#[derive(Debug)]
pub(super) struct NotEnded {
    /// The stable code.
    pub(super) code: String,
    /// The reason.
    pub(super) why: String,
    /// What to do first, where its token cannot be read now and may be later.
    pub(super) remedy: Option<&'static str>,
}

impl NotEnded {
    fn new(code: &str, why: impl Into<String>) -> Self {
        Self { code: code.to_owned(), why: why.into(), remedy: None }
    }
}

/// What became of a grant on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Here {
    Deleted,
    /// In no index, and its token still in a store.
    Forgotten,
    /// No agent's any more, to be ended at its provider.
    Kept,
    /// As before: the cache could not be changed.
    Left,
}

/// What became of one grant.
struct Ended<'a> {
    credential: &'a Credential,
    at_provider: Result<Revoked, NotEnded>,
    here: Here,
    /// Whether it was chosen now, and not only by a `disconnect` before.
    is_meant: bool,
}

async fn end_all<'a>(
    cache: &Cache,
    http: &Http,
    chosen: &'a [Credential],
) -> Vec<(&'a Credential, Result<Revoked, NotEnded>)> {
    futures_util::stream::iter(chosen)
        .map(|credential| async move { (credential, end(cache, http, credential).await) })
        .buffered(AT_ONCE)
        .collect()
        .await
}

/// Ends one grant at its provider, in 20 s at most.
pub(super) async fn end(cache: &Cache, http: &Http, credential: &Credential) -> Result<Revoked, NotEnded> {
    tokio::time::timeout(WITHIN, try_end(cache, http, credential)).await.unwrap_or_else(|_| {
        Err(NotEnded::new("provider_timeout", format!("no answer within {} s", WITHIN.as_secs())))
    })
}

async fn try_end(cache: &Cache, http: &Http, credential: &Credential) -> Result<Revoked, NotEnded> {
    if credential.token_kind == TokenKind::Owner {
        let why = "an owner's credential is not used, only deleted";
        return Err(NotEnded::new("owner_credential_in_cache", why));
    }
    if credential.grant_expires_at.is_some_and(|end| end <= Timestamp::now()) {
        return Ok(Revoked::Already);
    }
    let bearer = cache.bearer(credential).await;
    let bearer = bearer.map_err(|error| NotEnded {
        remedy: remedy(error.code()),
        ..NotEnded::new(error.code(), error.in_full())
    })?;
    // After it: asking for the bearer may have replaced it. Without it the access token still says which grant.
    let (cache, current) = (cache.clone(), credential.clone());
    let refresh_token = tokio::task::spawn_blocking(move || cache.refresh_token(&current)).await;
    let refresh_token = refresh_token.ok().and_then(Result::ok).flatten();
    let tokens = Tokens {
        client_id: credential.client_id.clone(),
        grant_id: Some(credential.grant_id.clone()),
        access_token: bearer,
        refresh_token,
    };
    let ended = revoke(http, &credential.provider, &credential.issuer, &tokens).await;
    ended.map_err(|error| NotEnded::new(error.code(), error.to_string()))
}

/// The command that tries again to end `one`, which was disconnected before.
pub(super) fn again(one: &Credential) -> String {
    let (provider, grant) = (shell_word(one.provider.as_str()), shell_word(one.grant_id.as_str()));
    format!("pdpp disconnect {provider} --grant {grant}")
}

impl<'a> Ended<'a> {
    fn named(credential: &'a Credential, at_provider: Result<Revoked, NotEnded>, forget: bool) -> Self {
        let waits = at_provider.as_ref().is_err_and(|not| not.remedy.is_some()) && !forget;
        let here = if waits { Here::Kept } else { Here::Deleted };
        Self { credential, at_provider, here, is_meant: true }
    }

    /// One that another `disconnect` could not end. It goes when it is over, whatever else this one was for.
    fn again(credential: &'a Credential, at_provider: Result<Revoked, NotEnded>) -> Self {
        let here = if at_provider.is_ok() { Here::Deleted } else { Here::Kept };
        Self { credential, at_provider, here, is_meant: false }
    }

    /// What to do about one that is kept.
    fn next(&self) -> String {
        let remedy = self.at_provider.as_ref().err().and_then(|not| not.remedy).unwrap_or("Try again");
        format!("{remedy}: {}", again(self.credential))
    }

    fn to_text(&self) -> String {
        let one = self.credential;
        let here = match self.here {
            Here::Deleted => "deleted here",
            Here::Forgotten => "forgotten here",
            Here::Kept => "no agent's any more",
            Here::Left => "still here",
        };
        let line = match &self.at_provider {
            Ok(Revoked::Grant) => format!("ended at the provider, and {here}"),
            Ok(Revoked::Tokens) => format!("its tokens are revoked at the provider, and {here}"),
            Ok(Revoked::Already) => format!("was over at the provider already; {here}"),
            Err(NotEnded { code, why, .. }) => {
                let until = match one.grant_expires_at {
                    Some(end) => format!("it ends there {}", day_and_time(end)),
                    None => "it has no end there".to_owned(),
                };
                let then = match self.here {
                    Here::Kept => "the next `pdpp disconnect` tries again",
                    Here::Deleted | Here::Forgotten | Here::Left => "the provider's own pages can end it now",
                };
                let yet = if self.here == Here::Kept { " yet" } else { "" };
                let why = text::one_line(text::prefix(why, 500));
                format!("{here}, but not ended at the provider{yet}: {why}\n  {until}; {then} (code: {code})")
            }
        };
        format!("{}\n  {line}", name(one))
    }

    fn to_json(&self) -> Value {
        let one = self.credential;
        let (revoked, not) = match &self.at_provider {
            Ok(Revoked::Grant) => ("grant", None),
            Ok(Revoked::Tokens) => ("tokens", None),
            Ok(Revoked::Already) => ("already", None),
            Err(not) => ("no", Some(not)),
        };
        json!({
            "provider": one.provider.as_str(),
            "grant_id": one.grant_id.as_str(),
            "label": one.label,
            "ended_at_provider": revoked,
            "code": not.map(|not| &not.code),
            "why": not.map(|not| &not.why),
            "deleted_here": self.here == Here::Deleted,
            "kept_to_end": self.here == Here::Kept,
            "next": (self.here == Here::Kept).then(|| advice::complete(&self.next())),
            "grant_expires_at": one.grant_expires_at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::credential::tests::credential;

    fn all() -> Vec<Credential> {
        let mut all = vec![
            credential("https://a.example/t", "g1"),
            credential("https://b.example", "g2"),
            credential("https://b.example", "g3"),
        ];
        all[1].label = "Work\u{1b}[2J mail".to_owned();
        all
    }

    fn chosen(which: &[&str], everything: bool) -> Result<Vec<String>, Error> {
        let ui = Ui::to_writers(Box::new(Vec::new()), Box::new(Vec::new()), 80);
        let which = which.iter().map(|which| (*which).to_owned()).collect();
        let args = Args { which, grant: None, all: everything, forget: false, yes: false, json: false };
        let chosen = choose(&all(), &args, false, &ui)?;
        Ok(chosen.iter().map(|one| one.grant_id.as_str().to_owned()).collect())
    }

    #[test]
    fn a_provider_a_name_or_a_grant_is_enough() {
        assert_eq!(chosen(&["https://a.example/t/"], false).unwrap(), ["g1"]);
        assert_eq!(chosen(&["Work\u{1b}[2J mail"], false).unwrap(), ["g2"]);
        assert_eq!(chosen(&["Work"], false).unwrap_err().code(), "not_connected", "a label is whole");
        assert_eq!(chosen(&["g3", "g1", "g3"], false).unwrap(), ["g3", "g1"]);
        assert_eq!(chosen(&["https://b.example"], true).unwrap(), ["g2", "g3"]);
        assert_eq!(chosen(&[], true).unwrap(), ["g1", "g2", "g3"]);
    }

    #[test]
    fn a_name_is_that_of_a_grant_that_is_there_before_one_that_is_to_be_ended() {
        let ui = Ui::to_writers(Box::new(Vec::new()), Box::new(Vec::new()), 80);
        let args = |which: &[&str], forget| {
            let which = which.iter().map(|which| (*which).to_owned()).collect();
            Args { which, grant: None, all: false, forget, yes: true, json: false }
        };
        let ending = |grant| Credential { ending: true, ..credential("https://a.example", grant) };
        let all = [ending("g1"), credential("https://a.example", "g2"), ending("g3")];
        let chosen = |all: &[Credential], which: &[&str], forget| {
            let chosen = choose(all, &args(which, forget), false, &ui)?;
            Ok::<_, Error>(chosen.iter().map(|one| one.grant_id.as_str().to_owned()).collect::<Vec<_>>())
        };
        for which in [&["Diary"][..], &["https://a.example"], &[]] {
            assert_eq!(chosen(&all, which, false).unwrap(), ["g2"]);
            assert_eq!(chosen(&all, which, true).unwrap_err().code(), "several_credentials");
        }
        assert_eq!(chosen(&all, &["g3"], false).unwrap(), ["g3"]);
        assert_eq!(chosen(&[ending("g1"), ending("g3")], &[], false).unwrap(), ["g1", "g3"]);
        let unknown = chosen(&all, &["nosuch"], false).unwrap_err();
        assert!(unknown.message().contains("grant g2") && !unknown.message().contains("grant g1"));
    }

    #[test]
    fn what_is_not_clear_is_listed_and_nothing_chosen() {
        for which in [&["https://b.example"][..], &[]] {
            let error = chosen(which, false).unwrap_err();
            assert_eq!((error.code(), error.kind().exit_code()), ("several_credentials", 2));
            assert!(error.message().contains("grant g3") && !error.message().contains('\u{1b}'));
        }
        // The same host, another tenant.
        let error = chosen(&["https://a.example"], false).unwrap_err();
        assert_eq!((error.code(), error.kind().exit_code()), ("not_connected", 78));
        assert!(error.message().contains("grant g1"));
    }

    #[test]
    fn what_became_of_it_is_said_in_words_and_json() {
        let mut one = credential("https://a.example", "g1");
        one.grant_expires_at = "2026-12-01T10:30:00Z".parse().ok();
        let ended = |at_provider| Ended::named(&one, at_provider, false);
        assert!(ended(Ok(Revoked::Grant)).to_text().ends_with("ended at the provider, and deleted here"));
        let failed = ended(Err(NotEnded::new("provider_unreachable", "no\u{1b}[2J route")));
        assert!(
            failed
                .to_text()
                .contains("not ended at the provider: no\\u{1b}[2J route\n  it ends there 2026-12-01")
        );
        let json = failed.to_json();
        assert_eq!(
            (&json["ended_at_provider"], &json["code"]),
            (&json!("no"), &json!("provider_unreachable"))
        );
        assert_eq!(ended(Ok(Revoked::Tokens)).to_json()["ended_at_provider"], "tokens");
    }
}
