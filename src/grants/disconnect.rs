//! Ends grants at their providers if that is possible, and deletes them here. A grant whose token cannot be
//! read now is withdrawn from every agent and kept, so that the next call that can read the token ends it.

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::StreamExt as _;

use super::end::{NotEnded, end};
use crate::advice::{Command, Hint};
use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::cache::select::{GrantName, disconnect_command};
use crate::cache::store::{StoreError, StoreKind};
use crate::error::{Error, Kind, Result};
use crate::provider::approve::revoke::Revoked;
use crate::provider::http::{Http, Limits};
use crate::provider::network::{Network, NetworkError};
use crate::provider::url::ProviderUrl;
use crate::runtime::block_on_unless_stopped;
use crate::text;

const LIMITS: Limits =
    Limits { connect: Duration::from_secs(5), total: Duration::from_secs(8), body: 1 << 20 };
/// The number of grants that are ended at the same time.
const AT_ONCE: usize = 8;

/// What to disconnect.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Providers' addresses, and grants by id, the beginning of an id, or name.
    pub which: Vec<String>,
    /// Only this one of them.
    pub grant: Option<GrantName>,
    /// Everything that matches; everything if nothing is named.
    pub all: bool,
    /// Also delete here what cannot be ended at its provider yet.
    pub forget: bool,
    /// Whether the owner has already confirmed it.
    pub is_confirmed: bool,
}

/// The party that can confirm.
pub trait Confirm {
    /// Whether there is anyone to ask.
    fn can_ask(&self) -> bool;

    /// Asks whether to end and delete all of `credentials`.
    fn confirm(&self, credentials: &[&Credential]) -> bool;

    /// Asks which of `credentials` to end and delete; returns their indexes.
    fn choose(&self, credentials: &[&Credential]) -> Vec<usize>;

    /// Asks whether to delete every token here, though no grant can be ended at a provider because the index is
    /// damaged.
    fn confirm_unread(&self) -> bool;

    /// Called when pdpp starts to ask the providers, and when it has finished.
    fn asks_providers(&self, are_asked: bool);
}

/// The result of a call.
#[derive(Debug)]
pub struct Disconnected {
    /// What became of each grant: those that were chosen, and those that an earlier call could not end.
    pub ended: Vec<Ended>,
    /// Whether nothing was connected, and a leftover token was deleted from its store.
    pub is_only_leftover: bool,
    /// Whether everything to do on this computer is done.
    pub is_done: bool,
    /// Why a token is still in its store although no credential refers to it any more.
    pub left: Option<StoreError>,
    /// What could not be done, if anything.
    pub failure: Option<Error>,
}

/// What became of a grant on this computer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    /// It is deleted.
    Deleted,
    /// No index names it any more, but its token is still in a store.
    Forgotten,
    /// No agent can use it; it must still be ended at its provider.
    Kept,
    /// Unchanged: the cache could not be changed.
    Left,
}

/// What became of one grant.
#[derive(Debug)]
pub struct Ended {
    /// The grant.
    pub credential: Credential,
    /// At its provider.
    pub at_provider: Result<Revoked, NotEnded>,
    /// On this computer.
    pub here: Here,
    /// Whether it was chosen in this call, and not only in an earlier one.
    pub is_chosen: bool,
}

impl Ended {
    fn chosen(credential: Credential, at_provider: Result<Revoked, NotEnded>, forget: bool) -> Self {
        let waits = at_provider.as_ref().is_err_and(|not| not.remedy.is_some()) && !forget;
        let here = if waits { Here::Kept } else { Here::Deleted };
        Self { credential, at_provider, here, is_chosen: true }
    }

    /// A grant that an earlier call could not end. It is deleted once it is over, whatever else this call is
    /// for.
    fn again(credential: Credential, at_provider: Result<Revoked, NotEnded>) -> Self {
        let here = if at_provider.is_ok() { Here::Deleted } else { Here::Kept };
        Self { credential, at_provider, here, is_chosen: false }
    }

    /// What to do about a grant that is kept.
    pub fn next(&self) -> Option<Hint> {
        let remedy = self.at_provider.as_ref().err().and_then(|not| not.remedy).unwrap_or("Try again");
        let hint = || Hint::new(format!("{remedy}: ")).run(disconnect_command(&self.credential));
        (self.here == Here::Kept).then(hint)
    }
}

/// Ends and deletes the grants that `request` selects.
///
/// # Errors
/// `not_connected` (78), `several_credentials` (2), `confirmation_required` (77), `not_confirmed`, `interrupted`
/// (130), and those of the cache. A failure after that point is in [`Disconnected::failure`]:
/// `not_ended_at_provider`, `not_ended_yet`, or an error of the cache.
pub fn disconnect(
    request: &Request,
    cache: &Cache,
    network: Network,
    confirm: &dyn Confirm,
) -> Result<Disconnected> {
    let everything = request.all && request.which.is_empty();
    let credentials = match cache.credentials() {
        Err(error) if error.code() == "cache_damaged" && everything => {
            check_confirmed(request, confirm)?;
            return Err(delete_unread(cache, error, confirm));
        }
        credentials => credentials?,
    };
    let waiting = cache.ending()?;
    let known = [credentials, waiting.clone()].concat();
    if !known.is_empty() {
        check_confirmed(request, confirm)?;
    }
    let chosen = match choose(&known, request, confirm) {
        // A token that an earlier call could not reach.
        Err(error) if error.code() == "not_connected" && cache.has_left()? => {
            cache.delete_left()?;
            let is_all_meant = known.is_empty() && request.which.is_empty() && request.grant.is_none();
            if !is_all_meant || cache.has_left()? {
                return Err(error);
            }
            return Ok(Disconnected {
                ended: Vec::new(),
                is_only_leftover: true,
                is_done: false,
                left: None,
                failure: None,
            });
        }
        chosen => chosen?,
    };
    // A grant that only waits to be ended was confirmed earlier.
    if chosen.iter().any(|credential| !credential.ending) && !request.is_confirmed && !confirm.can_ask() {
        return Err(unconfirmed(&chosen));
    }
    // Grants that were disconnected earlier are tried again in every call, because their owner wants them
    // ended.
    let is_other = |waiting: &&Credential| !chosen.iter().any(|chosen| chosen.id == waiting.id);
    let others: Vec<Credential> = waiting.iter().filter(is_other).cloned().collect();
    let count = chosen.len();
    let all = [chosen, others].concat();
    network.check_ca_file().map_err(NetworkError::into_error)?;
    let http = Http::new(LIMITS).over(network);
    confirm.asks_providers(true);
    let at_providers = block_on_unless_stopped(end_all(cache, &http, all));
    confirm.asks_providers(false);
    let at_providers = at_providers.map_err(|error| {
        if error.kind() != Kind::Interrupted {
            return error;
        }
        let message = "Stopped; nothing was deleted here, but a provider may already have ended its grant";
        Error::new(Kind::Interrupted, "interrupted", message).run(Command::new("status --check"))
    })?;
    let ended = at_providers.into_iter().enumerate().map(|(at, (credential, at_provider))| {
        if at < count {
            Ended::chosen(credential, at_provider, request.forget)
        } else {
            Ended::again(credential, at_provider)
        }
    });
    Ok(take_off(cache, ended.collect(), everything))
}

async fn end_all(
    cache: &Cache,
    http: &Http,
    credentials: Vec<Credential>,
) -> Vec<(Credential, Result<Revoked, NotEnded>)> {
    futures_util::stream::iter(credentials)
        .map(|credential| async move {
            let ended = end(cache, http, &credential).await;
            (credential, ended)
        })
        .buffered(AT_ONCE)
        .collect()
        .await
}

/// Removes from this computer the grants that are `ended` or that the owner gave up. With `everything`, removes
/// all there is, unless some grants are kept.
fn take_off(cache: &Cache, mut ended: Vec<Ended>, everything: bool) -> Disconnected {
    let those = |here| {
        let those = ended.iter().filter(|ended| ended.here == here);
        those.map(|ended| ended.credential.clone()).collect::<Vec<_>>()
    };
    let kept = those(Here::Kept);
    // The whole cache is deleted only if no grant must still be ended.
    let all = everything && kept.is_empty();
    let removed = if kept.is_empty() { Ok(()) } else { cache.keep_to_end(&kept) };
    let removed = removed
        .and_then(|()| if all { cache.remove_all() } else { cache.remove_each(&those(Here::Deleted)) });
    let (is_done, left, failure) = match removed {
        Ok(removed) => {
            if removed.left.is_some() {
                // Deleting files either succeeds or fails as a whole.
                let is_left = |ended: &&mut Ended| {
                    ended.here == Here::Deleted && ended.credential.store == StoreKind::Keyring
                };
                ended.iter_mut().filter(is_left).for_each(|ended| ended.here = Here::Forgotten);
            }
            (true, removed.left, not_ended(&ended))
        }
        Err(error) => {
            // The result still shows what the providers did.
            for ended in &mut ended {
                ended.here = Here::Left;
            }
            (false, None, Some(error))
        }
    };
    Disconnected { ended, is_only_leftover: false, is_done, left, failure }
}

/// The failure that some of the chosen grants are still valid at their providers.
fn not_ended(ended: &[Ended]) -> Option<Error> {
    let left = || ended.iter().filter(|ended| ended.is_chosen && ended.at_provider.is_err());
    let waiting: Vec<_> = left().filter(|ended| ended.here == Here::Kept).collect();
    let gone: Vec<_> = left().filter(|ended| ended.here != Here::Kept).collect();
    let mut providers: Vec<_> = gone.iter().map(|ended| ended.credential.provider.as_str()).collect();
    providers.sort_unstable();
    providers.dedup();
    let message = match (gone.len(), waiting.len()) {
        (0, 0) => return None,
        (0, count) => {
            let message = if count == 1 {
                "A grant is not ended at its provider yet, but no agent can read with it any more".to_owned()
            } else {
                format!(
                    "{count} grants are not ended at their providers yet, but no agent can read with them any more"
                )
            };
            // The next call tries all of them.
            let next = waiting.first().and_then(|ended| ended.next()).unwrap_or_default();
            return Some(Error::failed("not_ended_yet", message).hint(next));
        }
        (1, _) => "A grant is forgotten here, but was not ended at its provider".to_owned(),
        (count, _) => format!("{count} grants are forgotten here, but were not ended at their providers"),
    };
    if let [only] = gone.as_slice()
        && let Some(dir) = only.credential.data_dir.as_ref().filter(|_| only.credential.provider.is_local())
    {
        let message = "A grant is forgotten here, but was not ended in its store";
        let end = Command::new("provider revoke").value(only.credential.grant_id.as_str());
        let end = end.option("--data-dir", dir.display().to_string());
        let hint =
            Hint::new("Its token is deleted here. Once the store is back, this ends the grant: ").run(end);
        return Some(Error::failed("not_ended_at_provider", message).hint(hint));
    }
    let hint = format!("End it on the provider's own pages: {}", providers.join(", "));
    Some(Error::failed("not_ended_at_provider", message).hint(hint))
}

/// Deletes everything that an unreadable index refers to. This still counts as a failure, because no grant was
/// ended.
fn delete_unread(cache: &Cache, damage: Error, confirm: &dyn Confirm) -> Error {
    if confirm.can_ask() && !confirm.confirm_unread() {
        return not_confirmed();
    }
    if let Err(error) = cache.remove_all() {
        return error;
    }
    let message = "The index could not be read, so pdpp ended no grant at a provider. It deleted the index, and every \
                   token in a file here";
    let hint = Hint::new(
        "End the grants on their providers' own pages, delete the entries called \"pdpp: a provider's token\" in the \
         keyring, then: ",
    )
    .run(Command::connect_any());
    Error::failed("cache_damaged", message).because(damage).hint(hint)
}

/// `all` needs a confirmation: given with the command, or on a terminal.
fn check_confirmed(request: &Request, confirm: &dyn Confirm) -> Result<()> {
    if !request.all || request.is_confirmed || confirm.can_ask() {
        return Ok(());
    }
    let message = "--all ends and deletes several grants, and there is no terminal to ask on";
    Err(Error::new(Kind::Refused, "confirmation_required", message)
        .run(Command::new("disconnect --all --yes")))
}

/// The failure that nobody has confirmed, and that there is nobody to ask.
fn unconfirmed(chosen: &[Credential]) -> Error {
    let mut message =
        "Ending a grant needs a confirmation, and there is no terminal to ask on. pdpp would end:".to_owned();
    list(&mut message, &chosen.iter().collect::<Vec<_>>());
    let next = match chosen {
        [one] => disconnect_command(one),
        _ => Command::new("disconnect --all"),
    };
    Error::new(Kind::Refused, "confirmation_required", message).run(next.words("--yes"))
}

fn not_confirmed() -> Error {
    Error::failed("not_confirmed", "You did not confirm; nothing was changed").run(Command::new("status"))
}

/// The grants of `credentials` to end.
fn choose(credentials: &[Credential], request: &Request, confirm: &dyn Confirm) -> Result<Vec<Credential>> {
    let can_ask = confirm.can_ask();
    let mut matching: Vec<&Credential> = Vec::new();
    let everything: Vec<&Credential> = credentials.iter().collect();
    for which in &request.which {
        let found = narrowed(called(which, &everything), request);
        if found.is_empty() {
            return Err(unknown(which, credentials));
        }
        if found.len() > 1 && !request.all && !can_ask {
            return Err(several(&found));
        }
        let is_new = |found: &&Credential| !matching.iter().any(|known| known.id == found.id);
        let new: Vec<_> = found.into_iter().filter(is_new).collect();
        matching.extend(new);
    }
    if request.which.is_empty() {
        matching = narrowed(everything, request);
        let is_any = request.grant.is_none() && !request.all && !request.forget && !credentials.is_empty();
        if is_any && matching.iter().all(|credential| credential.ending) {
            // No question: this was confirmed earlier.
            return Ok(credentials.to_vec());
        }
        if let (Some(grant), true) = (&request.grant, matching.is_empty()) {
            return Err(unknown(&grant.to_string(), credentials));
        }
        if matching.is_empty() && !request.all {
            let message = "No provider is connected on this computer";
            let error = Error::new(Kind::NotConnected, "not_connected", message);
            return Err(error.hint(Hint::connect_own_or(Command::connect_any())));
        }
        if matching.len() > 1 && !request.all && !can_ask {
            return Err(several(&matching));
        }
    }
    if !can_ask || matching.is_empty() {
        return Ok(matching.into_iter().cloned().collect());
    }
    // If the person named each of them, or `--all`, one yes or no is enough. If one name matches several, the
    // question is which of them.
    if request.all || matching.len() <= request.which.len().max(1) {
        let is_confirmed = confirm.confirm(&matching);
        return if is_confirmed { Ok(matching.into_iter().cloned().collect()) } else { Err(not_confirmed()) };
    }
    let chosen = confirm.choose(&matching).into_iter();
    let chosen: Vec<Credential> =
        chosen.filter_map(|at| matching.get(at)).map(|credential| (*credential).clone()).collect();
    if chosen.is_empty() { Err(not_confirmed()) } else { Ok(chosen) }
}

/// The grants in `found` that the rest of the request allows.
fn narrowed<'a>(found: Vec<&'a Credential>, request: &Request) -> Vec<&'a Credential> {
    let mut found = match &request.grant {
        Some(grant) => grant.meant(&found),
        None => found,
    };
    // Grants that were disconnected earlier are tried again in any case, and another grant may use the same
    // name.
    if !request.all && !request.forget && found.iter().any(|credential| !credential.ending) {
        found.retain(|credential| !credential.ending);
    }
    found
}

/// The grants in `all` that `which` names: a provider's grants, or a grant by its name.
fn called<'a>(which: &str, all: &[&'a Credential]) -> Vec<&'a Credential> {
    match (which.parse::<ProviderUrl>(), which.parse::<GrantName>()) {
        (Ok(provider), _) => {
            all.iter().copied().filter(|credential| credential.provider == provider).collect()
        }
        (_, Ok(grant)) => grant.meant(all),
        _ => Vec::new(),
    }
}

/// A grant's name, its provider and its id.
pub fn full_name(credential: &Credential) -> String {
    let label = text::one_line(text::prefix(&credential.label, 200));
    format!("{label} ({}, grant {})", credential.provider, credential.grant_id)
}

fn unknown(which: &str, credentials: &[Credential]) -> Error {
    let mut message =
        format!("No provider or grant on this computer is called {:?}", text::prefix(which, 200));
    let connected = credentials.iter().filter(|credential| !credential.ending).collect::<Vec<_>>();
    if !connected.is_empty() {
        message.push_str("; these are connected:");
        list(&mut message, &connected);
    }
    let is_local = which.parse::<ProviderUrl>().is_ok_and(|provider| provider.is_local());
    if is_local && !credentials.iter().any(|credential| credential.provider.is_local()) {
        message = String::from("None of your own data is granted on this computer");
    }
    let next = match (credentials.is_empty(), is_local) {
        (true, true) => Command::new("provider grants").into(),
        (true, false) => Hint::connect_own_or(Command::connect_any()),
        (false, _) => Command::new("status").into(),
    };
    Error::new(Kind::NotConnected, "not_connected", message).hint(next)
}

fn several(found: &[&Credential]) -> Error {
    let mut message =
        "Several grants match. Type the command of the one to end, or add --all to end all of them:"
            .to_owned();
    for credential in found {
        let label = text::one_line(text::prefix(&credential.label, 200));
        let _ = write!(message, "\n  {}   ({label})", disconnect_command(credential));
    }
    // Does not suggest a command that ends one of them: the person must say which.
    Error::new(Kind::Usage, "several_credentials", message).run(Command::new("disconnect <GRANT>"))
}

fn list(message: &mut String, credentials: &[&Credential]) {
    for credential in credentials {
        let _ = write!(message, "\n  {}", full_name(credential));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::credential::tests::credential;

    /// Cannot ask anyone.
    struct Nobody;

    impl Confirm for Nobody {
        fn can_ask(&self) -> bool {
            false
        }

        fn confirm(&self, _: &[&Credential]) -> bool {
            panic!("asked")
        }

        fn choose(&self, _: &[&Credential]) -> Vec<usize> {
            panic!("asked")
        }

        fn confirm_unread(&self) -> bool {
            panic!("asked")
        }

        fn asks_providers(&self, _: bool) {}
    }

    fn chosen(all: &[Credential], which: &[&str], request: Request) -> Result<Vec<String>> {
        let which = which.iter().map(|which| (*which).to_owned()).collect();
        let chosen = choose(all, &Request { which, ..request }, &Nobody)?;
        Ok(chosen.iter().map(|credential| credential.grant_id.as_str().to_owned()).collect())
    }

    fn three() -> Vec<Credential> {
        let mut all = vec![
            credential("https://a.example/t", "g1"),
            credential("https://b.example", "g2"),
            credential("https://b.example", "g3"),
        ];
        all[1].label = "Work\u{1b}[2J mail".to_owned();
        all
    }

    fn of_three(which: &[&str], all: bool) -> Result<Vec<String>> {
        chosen(&three(), which, Request { all, ..Request::default() })
    }

    #[test]
    fn a_provider_a_name_or_a_grant_is_enough() {
        assert_eq!(of_three(&["https://a.example/t/"], false).unwrap(), ["g1"]);
        assert_eq!(of_three(&["Work\u{1b}[2J mail"], false).unwrap(), ["g2"]);
        assert_eq!(
            of_three(&["Work"], false).unwrap_err().code(),
            "not_connected",
            "a label must match in full"
        );
        assert_eq!(of_three(&["g3", "g1", "g3"], false).unwrap(), ["g3", "g1"]);
        assert_eq!(of_three(&["https://b.example"], true).unwrap(), ["g2", "g3"]);
        assert_eq!(of_three(&[], true).unwrap(), ["g1", "g2", "g3"]);
    }

    #[test]
    fn a_name_is_that_of_a_grant_that_is_there_before_one_that_is_to_be_ended() {
        let ending = |grant| Credential { ending: true, ..credential("https://a.example", grant) };
        let all = [ending("g1"), credential("https://a.example", "g2"), ending("g3")];
        let chosen = |all: &[Credential], which: &[&str], forget| {
            chosen(all, which, Request { forget, ..Request::default() })
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
    fn a_question_that_nobody_can_be_asked_is_a_refusal() {
        for error in [
            unconfirmed(&three()),
            check_confirmed(&Request { all: true, ..Request::default() }, &Nobody).unwrap_err(),
        ] {
            assert_eq!((error.code(), error.kind().exit_code()), ("confirmation_required", 77));
        }
    }

    #[test]
    fn what_is_not_clear_is_listed_and_nothing_chosen() {
        for which in [&["https://b.example"][..], &[]] {
            let error = of_three(which, false).unwrap_err();
            assert_eq!((error.code(), error.kind().exit_code()), ("several_credentials", 2));
            assert!(error.message().contains("\n  pdpp disconnect https://b.example --grant g3   (Diary)"));
            assert!(!error.message().contains('\u{1b}'));
        }
        // The same host, but another tenant.
        let error = of_three(&["https://a.example"], false).unwrap_err();
        assert_eq!((error.code(), error.kind().exit_code()), ("not_connected", 78));
        assert!(error.message().contains("grant g1"));
    }
}
