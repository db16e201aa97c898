//! Bearers that are renewed before they end: lock, reread, refresh, persist, publish.
//!
//! A refresh token works only once. So one process at a time renews a credential, under a separate lock. It
//! first reads the index again, because another process may have renewed the credential. It records that it has
//! begun before it sends the token, and stores the new token before it uses it. A renewal that was begun and
//! not finished is known to be lost: the token is not sent a second time, because that would revoke its whole
//! family.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use secrecy::SecretString;

use super::credential::{Credential, CredentialId, Renewal, RenewalOver, Secrets};
use super::handle::{Cache, Current, secret_missing, unwritable};
use super::new_credential_id;
use super::select::renew_exactly;
use super::turn::Turn;
use crate::advice::{Command, Hint};
use crate::error::{Error, Kind, Result};
use crate::fs::{DirLock, PrivateDir};
use crate::provider::approve::refresh::{RefreshError, RefreshRequest, refresh, token_endpoint};
use crate::provider::approve::token::{TokenResponse, UnreadEnds};
use crate::provider::grant::TokenKind;
use crate::provider::http::Http;
use crate::secret::AccessToken;
use crate::shutdown;
use crate::time_text::day_and_time;

/// The longest wait for another process that renews the same credential: the sum of that process's own limits.
const MOST_WAIT: Duration = Duration::from_secs(35);

/// How long a token that replaced a dead one is not replaced again: if it is reported dead too, the grant
/// itself is over.
const FORCED_FOR: Duration = Duration::from_mins(1);

/// What is stored for a grant.
enum Found {
    /// A token to use.
    Usable(AccessToken),
    /// A token that is about to end, or is dead, and can be replaced.
    Over { current: Current, token: AccessToken, is_dead: bool },
}

/// The interval between attempts to take the lock: waiting for a file lock has no time limit.
const TRY_AGAIN: Duration = Duration::from_millis(10);

impl Cache {
    /// The current bearer of `credential`'s grant: the one that another process may have stored since
    /// `credential` was read, and a new one if it is about to end. Ask late, for each call and not at the
    /// start: a keyring may be slow, and a refresh goes over the network. Dropping the future loses nothing: a
    /// refresh that has begun continues.
    ///
    /// # Errors
    /// - `disconnected`, `secret_missing`, `secret_damaged`, `grant_expired` (78): connect again.
    /// - `refresh_lost`, `refresh_refused`, `token_response_invalid`: the refresh token no longer works;
    ///   connect again.
    /// - `refresh_failed`, `refresh_busy`, and those of the network: try again later.
    /// - `keyring_absent`, `keyring_locked`, `keyring_silent`, `secret_store_failed`, and those of the index.
    pub async fn bearer(&self, credential: &Credential) -> Result<AccessToken> {
        self.usable(credential, None).await
    }

    /// A bearer of `credential`'s grant that replaces `dead`, which the resource server no longer accepts as a
    /// token: the one that another process has stored since, or a new one, if there is one. For one attempt: if
    /// that one is refused too, the grant is gone.
    ///
    /// # Errors
    /// Same as [`Cache::bearer`]; `token_dead` if no other token can be had.
    pub async fn bearer_instead_of(
        &self,
        credential: &Credential,
        dead: &AccessToken,
    ) -> Result<AccessToken> {
        self.usable(credential, Some(dead)).await
    }

    async fn usable(&self, credential: &Credential, dead: Option<&AccessToken>) -> Result<AccessToken> {
        let family = match self.find(credential, dead).await? {
            Found::Usable(token) => return Ok(token),
            Found::Over { current, .. } => current.family().clone(),
        };
        // One call of this process renews at a time; the others find the token that it got, or its failure.
        let (asked, turn) = (Instant::now(), self.turn(family));
        let mut turn = turn.lock().await;
        let (current, known, is_dead) = match self.find(credential, dead).await? {
            Found::Usable(token) => return Ok(token),
            Found::Over { current, token, is_dead } => (current, token, is_dead),
        };
        if is_dead && turn.forced.is_some_and(|at| at.elapsed() < FORCED_FOR) {
            return Err(token_dead(&current));
        }
        let is_good = !is_dead && current.token_expires_at.is_none_or(|end| end > Timestamp::now());
        if let Some((_, error)) = turn.failed.as_ref().filter(|(at, _)| *at > asked) {
            return if is_good { Ok(known) } else { Err(error.repeated()) };
        }
        // On a separate thread and runtime: neither a caller that gives up nor a runtime that ends can lose a
        // token that is on its way.
        let (cache, token) = (self.clone(), known.clone());
        let renewed = aside(move || cache.renew(&current, &token)).await.and_then(|renewed| renewed);
        let now = Instant::now();
        match renewed {
            Ok(token) => {
                if is_dead {
                    turn.forced = Some(now);
                }
                Ok(token)
            }
            Err(error) => {
                turn.failed = Some((now, error.repeated()));
                if !is_good {
                    return Err(error);
                }
                tracing::warn!(code = error.code(), "a token could not be renewed before its end");
                Ok(known)
            }
        }
    }

    /// What is stored for `credential`'s grant, and whether it can be used.
    async fn find(&self, credential: &Credential, dead: Option<&AccessToken>) -> Result<Found> {
        let (current, secrets) = self.read(credential).await?;
        let now = Timestamp::now();
        let token = secrets.access_token.clone();
        let is_dead = dead.is_some_and(|dead| dead.expose_bearer() == token.expose_bearer());
        let is_due = current.refreshable && current.is_due(now);
        if !is_dead && !is_due {
            return Ok(Found::Usable(token));
        }
        let is_good = !is_dead && current.token_expires_at.is_none_or(|end| end > now);
        match refusal(&current, now) {
            None => Ok(Found::Over { current, token, is_dead }),
            Some(_) if is_good => Ok(Found::Usable(token)),
            Some(refusal) => Err(refusal),
        }
    }

    /// Same as `read_current`, but waits for a keyring without blocking anything else.
    async fn read(&self, credential: &Credential) -> Result<(Current, Arc<Secrets>)> {
        let current = self.current(credential)?;
        if current.as_ref().is_none_or(|current| self.is_at_hand(current)) {
            return self.with_secrets(credential, current);
        }
        let (cache, credential) = (self.clone(), credential.clone());
        aside(move || cache.with_secrets(&credential, current)).await?
    }

    /// The credential of the same grant in the current index, and its secrets. Blocks.
    fn read_current(&self, credential: &Credential) -> Result<(Current, Arc<Secrets>)> {
        self.with_secrets(credential, self.current(credential)?)
    }

    /// The secrets of `found`, which the index has for `credential`'s grant, or of the credential that replaced
    /// it. Blocks.
    fn with_secrets(
        &self,
        credential: &Credential,
        mut found: Option<Current>,
    ) -> Result<(Current, Arc<Secrets>)> {
        // Another process may replace the credential between reading the index and the secret.
        for _ in 0..3 {
            let Some(current) = found else {
                return Err(Error::new(
                    Kind::NotConnected,
                    "disconnected",
                    format!("The grant for {} is no longer on this computer", credential.provider),
                )
                .run(Command::connect(credential.provider.typed())));
            };
            if let Some(secrets) = self.read_secrets(&current)? {
                return Ok((current, secrets));
            }
            found = self.current(credential)?;
            if found.as_ref().is_some_and(|now| now.id == current.id) {
                break;
            }
        }
        Err(secret_missing(credential))
    }

    /// Gets the next token, unless another process has: `known` is the token that this process saw. Blocks.
    fn renew(&self, credential: &Credential, known: &AccessToken) -> Result<AccessToken> {
        let _lock = self.wait_for_renewal(credential)?;
        let _hold = shutdown::PROCESS.hold().ok_or_else(|| {
            Error::new(Kind::Unavailable, "refresh_failed", "This process is about to end").hint("Try again")
        })?;
        let (current, secrets) = self.read_current(credential)?;
        let now = Timestamp::now();
        let is_new = secrets.access_token.expose_bearer() != known.expose_bearer();
        if is_new && !(current.refreshable && current.is_due(now)) {
            return Ok(secrets.access_token.clone());
        }
        if let Some(refusal) = refusal(&current, now) {
            return Err(refusal);
        }
        let refresh_token = secrets.refresh_token.clone().ok_or_else(|| token_gone(&current))?;
        // The process that began no longer holds the lock: it died, or could not store the new token.
        if current.renewal.begun.is_some() {
            self.note(&current, |renewal| {
                renewal.begun = None;
                renewal.over = Some(RenewalOver::Lost);
            })?;
            return Err(lost(&current, None));
        }
        let runtime = crate::runtime::of_this_thread();
        let runtime = runtime.map_err(|error| {
            Error::no_events("runtime_failed", "Could not start the event loop").because(error)
        })?;
        // A new connection: one that was left open may be broken.
        let http = Http::new(self.http.limits()).over(self.http.network().clone());
        let endpoint = runtime.block_on(endpoint_of(&http, &current))?;
        self.begin(&current, &secrets, now)?;
        let answer = runtime.block_on(ask(&http, &current, endpoint, &refresh_token));
        self.finish(&current, answer, refresh_token)
    }

    /// Records that the refresh token is about to be sent, after checking that the store accepts another
    /// secret: a token that could not be kept must not be requested.
    fn begin(&self, current: &Credential, secrets: &Secrets, now: Timestamp) -> Result<()> {
        let trial = Credential { id: new_credential_id()?, ..current.clone() };
        self.replace(trial, secrets, |_, _| None::<()>)?;
        self.note(current, |renewal| renewal.begun = Some(now))
    }

    /// Stores the new token, and only then returns it.
    fn finish(
        &self,
        current: &Credential,
        answer: Result<TokenResponse, RefreshError>,
        refresh_token: SecretString,
    ) -> Result<AccessToken> {
        let response = match answer {
            Ok(response) => response,
            Err(error) => return Err(self.give_up(current, error)?),
        };
        let now = Timestamp::now();
        let mut next = Credential { id: new_credential_id()?, ..current.clone() };
        next.renewal.family = Some(current.family().clone());
        next.renewal.begun = None;
        next.renewal.due = Renewal::due(now, response.token_expires_at);
        next.token_expires_at = response.token_expires_at;
        next.grant_expires_at = response.grant_expires_at.or(current.grant_expires_at);
        next.unread_ends = UnreadEnds {
            grant: next.grant_expires_at.is_none()
                && (response.unread_ends.grant || current.unread_ends.grant),
            token: response.unread_ends.token,
        };
        // If the authorization server gives no new refresh token, the old one remains valid (RFC 6749 §6).
        let secrets =
            Secrets::new(response.access_token, Some(response.refresh_token.unwrap_or(refresh_token)));
        let mut tries = 0;
        loop {
            let published = self.replace(next.clone(), &secrets, |index, mut next| {
                let found = index.credentials.iter_mut().find(|known| known.is_same_grant(&next))?;
                // The grant was connected again meanwhile: that credential is newer, and belongs to another
                // family.
                if found.family() != next.family() {
                    return None;
                }
                // It may have been disconnected meanwhile.
                next.ending = found.ending;
                let old = std::mem::replace(found, next);
                index.discard(&old.place());
                Some(())
            });
            match published {
                Ok(Some(())) => return Ok(secrets.access_token),
                Ok(None) => {
                    return Err(Error::new(
                        Kind::NotConnected,
                        "disconnected",
                        format!(
                            "The grant for {} was removed or connected again meanwhile",
                            current.provider
                        ),
                    )
                    .hint("Try again: pdpp then uses the newer grant, if there is one"));
                }
                Err(error) if tries == 3 => return Err(lost(current, Some(error))),
                Err(_) => {
                    tries += 1;
                    next.id = new_credential_id()?;
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
        }
    }

    /// Records the result of an exchange without a new token.
    fn give_up(&self, current: &Credential, error: RefreshError) -> Result<Error> {
        let provider = &current.provider;
        let connect = || renew_exactly(current);
        let over = match &error {
            RefreshError::NotSent(_) | RefreshError::Busy(_) | RefreshError::BadRequest(_) => None,
            RefreshError::Lost(_) | RefreshError::Token(_) => Some(RenewalOver::Lost),
            RefreshError::Refused(_) => Some(RenewalOver::Refused),
        };
        self.note(current, |renewal| {
            renewal.begun = None;
            renewal.over = over;
        })?;
        Ok(match error {
            RefreshError::NotSent(error) => Error::new(
                Kind::Unavailable,
                error.code(),
                format!("The token for {provider} could not be renewed"),
            )
            .hint(error.next_step())
            .because(error),
            RefreshError::Busy(_) => Error::new(
                Kind::Unavailable,
                "refresh_busy",
                format!("{provider} is too busy for a refresh now"),
            )
            .because(error)
            .hint("Try again in a minute"),
            RefreshError::BadRequest(_) => Error::new(
                Kind::Unavailable,
                "refresh_failed",
                format!("{provider} did not accept the request for a new token"),
            )
            .because(error)
            .hint(Hint::new("Try again later. If it still fails: ").run(connect())),
            RefreshError::Lost(_) => lost(current, None).because(error),
            RefreshError::Refused(_) => Error::new(
                Kind::NotConnected,
                "refresh_refused",
                format!("{provider} gives no more tokens for this grant"),
            )
            .because(error)
            .run(connect()),
            RefreshError::Token(error) => Error::new(
                error.kind(),
                error.code(),
                format!("{provider} gave a token that pdpp cannot use"),
            )
            .because(error)
            .run(connect()),
        })
    }

    /// Changes `current`'s renewal, if it is still the grant's credential.
    fn note(&self, current: &Credential, change: impl FnOnce(&mut Renewal)) -> Result<()> {
        let writer = self.writer()?;
        let mut index = self.read_index()?;
        if let Some(found) = index.credentials.iter_mut().find(|known| known.id == current.id) {
            change(&mut found.renewal);
            writer.write(&index)?;
        }
        Ok(())
    }

    pub(super) fn locks(&self) -> Result<PrivateDir> {
        PrivateDir::create(&self.dir.join(Self::LOCKS)).map_err(|error| unwritable(&self.dir, error))
    }

    fn try_renewal_lock(&self, credential: &Credential) -> Result<Option<DirLock>> {
        let family = credential.family().as_str();
        self.locks()?.try_lock(family).map_err(|error| unwritable(&self.dir, error))
    }

    /// The lock for renewals, and for any other change of the credential. Blocks.
    pub(super) fn wait_for_renewal(&self, credential: &Credential) -> Result<DirLock> {
        let end = Instant::now() + MOST_WAIT;
        loop {
            if let Some(lock) = self.try_renewal_lock(credential)? {
                return Ok(lock);
            }
            if Instant::now() > end {
                return Err(stuck(credential));
            }
            std::thread::sleep(TRY_AGAIN);
        }
    }

    fn turn(&self, family: CredentialId) -> Arc<tokio::sync::Mutex<Turn>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = turns.get(&family) {
            return Arc::clone(turn);
        }
        // Families come and go while the process runs. A clone is made only under this lock, so nobody waits
        // for an entry that nobody holds. The time of a forced renewal stays useful for a while.
        turns.retain(|_, turn| {
            Arc::strong_count(turn) > 1
                || turn.try_lock().is_ok_and(|turn| turn.forced.is_some_and(|at| at.elapsed() < FORCED_FOR))
        });
        Arc::clone(turns.entry(family).or_default())
    }
}

async fn endpoint_of(http: &Http, current: &Credential) -> Result<url::Url> {
    let known = current.renewal.token_endpoint.as_deref();
    token_endpoint(http, &current.provider, &current.issuer, known)
        .await
        .map_err(|error| {
            Error::new(
                Kind::Unavailable,
                error.code(),
                format!("The token for {} could not be renewed", current.provider),
            )
            .because(error)
            .hint(format!("Try again later. If it still fails: {}", renew_exactly(current)))
        })?
        .ok_or_else(|| {
            Error::new(
                Kind::Refused,
                "issuer_changed",
                format!(
                    "{} no longer names a token endpoint of the authorization server that issued this token",
                    current.provider
                ),
            )
            .run(renew_exactly(current))
        })
}

async fn ask(
    http: &Http,
    current: &Credential,
    token_endpoint: url::Url,
    refresh_token: &SecretString,
) -> Result<TokenResponse, RefreshError> {
    let request = RefreshRequest {
        token_endpoint,
        client_id: current.client_id.as_deref(),
        resource: current.renewal.resource.as_deref().unwrap_or(current.provider.as_str()),
        refresh_token,
    };
    let response = refresh(http, &request).await?;
    let is_other = response.grant_id.as_ref().is_some_and(|id| *id != current.grant_id)
        && current.token_kind != TokenKind::McpPackage;
    if is_other || response.kind.is_some_and(|kind| kind != current.token_kind) {
        return Err(RefreshError::Lost("it was a token of another grant or kind".to_owned()));
    }
    Ok(response)
}

/// Why no new token can be had for `current`, if that is known without asking anyone.
fn refusal(current: &Credential, now: Timestamp) -> Option<Error> {
    let provider = &current.provider;
    let error = |code, message: String| {
        Some(Error::new(Kind::NotConnected, code, message).run(renew_exactly(current)))
    };
    if let Some(end) = current.grant_expires_at.filter(|end| *end <= now) {
        return error("grant_expired", format!("The grant for {provider} ended {}", day_and_time(end)));
    }
    match current.renewal.over {
        Some(RenewalOver::Lost) => error(
            "refresh_lost",
            format!("The answer to an earlier refresh for {provider} was lost, and with it the next token"),
        ),
        Some(RenewalOver::Refused) => {
            error("refresh_refused", format!("{provider} gives no more tokens for this grant"))
        }
        None if !current.refreshable => Some(token_dead(current)),
        None => None,
    }
}

fn token_dead(current: &Credential) -> Error {
    let provider = &current.provider;
    let message = format!("{provider} no longer accepts this token, and gives no new one");
    Error::new(Kind::NotConnected, "token_dead", message).run(renew_exactly(current))
}

/// Runs `work`, which blocks, on a separate thread. It does not use the runtime's threads, because the runtime
/// would wait for it when it ends.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let (done, waiting) = tokio::sync::oneshot::channel();
    let failed =
        |error: anyhow::Error| Error::no_thread("pdpp could not use the credential cache").because(error);
    std::thread::Builder::new()
        .name("cache".to_owned())
        .spawn(move || {
            let _ = done.send(work());
        })
        .map_err(|error| failed(error.into()))?;
    waiting.await.map_err(|error| failed(error.into()))
}

fn lost(current: &Credential, cause: Option<Error>) -> Error {
    let provider = &current.provider;
    let error = Error::new(
        Kind::NotConnected,
        "refresh_lost",
        format!("The answer to a refresh for {provider} was lost, and with it the next token"),
    )
    .run(renew_exactly(current));
    match cause {
        Some(cause) => error.because(cause),
        None => error,
    }
}

fn token_gone(current: &Credential) -> Error {
    Error::new(
        Kind::NotConnected,
        "secret_missing",
        format!("The refresh token for {} is no longer on this computer", current.provider),
    )
    .run(renew_exactly(current))
}

fn stuck(credential: &Credential) -> Error {
    Error::new(
        Kind::Unavailable,
        "refresh_busy",
        format!("Another pdpp has been renewing the token for {} for too long", credential.provider),
    )
    .hint("Try again. If it still fails, end the other pdpp processes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_that_nobody_holds_are_dropped_with_the_next_family() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).unwrap();
        let [held, forced, gone, next] = [(); 4].map(|()| new_credential_id().unwrap());
        let holder = cache.turn(held.clone());
        cache.turn(forced.clone()).try_lock().unwrap().forced = Some(Instant::now());
        drop(cache.turn(gone.clone()));
        drop(cache.turn(next.clone()));
        let turns = cache.turns.lock().unwrap();
        assert!(turns.contains_key(&held) && turns.contains_key(&forced) && turns.contains_key(&next));
        assert!(!turns.contains_key(&gone));
        assert!(Arc::ptr_eq(&turns[&held], &holder), "everyone who waits for it waits for the same one");
    }
}
