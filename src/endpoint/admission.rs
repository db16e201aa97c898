//! Remembers for at most a minute what the authorization server said about a bearer: what it may read, or why it is
//! refused. Only the hash of a bearer that was served is kept longer, so that its
//! next look-up goes ahead of those for made-up bearers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use tokio::sync::Mutex as AsyncMutex;

use super::introspection::{Active, Introspection, Standing, Unknown, Unusable};
use super::metrics::Metrics;
use crate::mcp::reading::reader::{self, Reader};
use crate::mcp::size::Bounds;
use crate::mcp::tools::service::Tools;
use crate::provider::rs::ResourceServer;
use crate::provider::url::ProviderUrl;
use crate::secret::AccessToken;

/// The longest time for which a token is still served after it was revoked (R7.3).
pub const SERVED_FOR: Duration = Duration::from_mins(1);

/// How long a refusal holds: a client in a loop costs the authorization server little, and a token that becomes
/// usable does not wait long.
const REFUSED_FOR: Duration = Duration::from_secs(5);

/// How long a failed introspection is remembered: callers that waited for it together do not wait again one after the
/// other.
const UNKNOWN_FOR: Duration = Duration::from_secs(1);

/// How long a bearer that was active goes ahead of strangers, remembered by its hash alone.
const KNOWN_FOR: Duration = Duration::from_hours(1);

/// The maximum number of bearers to remember.
const MOST: usize = 4_096;

/// A bearer's SHA-256: the only form in which this module identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BearerHash([u8; 32]);

impl BearerHash {
    /// The hash of `bearer`.
    pub fn of(bearer: &AccessToken) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, bearer.expose_bearer().as_bytes()).as_ref());
        Self(hash)
    }

    /// The first 48 bits, for the access log: enough to follow one client, too few to search for a token.
    pub fn prefix(&self) -> String {
        crate::hex::of(&self.0[..6])
    }
}

/// A token and its hash, which is computed once per request.
#[derive(Debug)]
pub struct Bearer {
    token: AccessToken,
    hash: BearerHash,
}

impl Bearer {
    /// The bearer with this token.
    pub fn of(token: AccessToken) -> Self {
        Self { hash: BearerHash::of(&token), token }
    }

    /// The bearer's hash.
    pub const fn hash(&self) -> BearerHash {
        self.hash
    }
}

/// A bearer that may be served.
pub struct Admitted {
    /// What the authorization server said about it.
    pub active: Active,
    /// The tools, which read only with that bearer.
    pub tools: Arc<Tools>,
}

/// Why a bearer is not served.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NotAdmitted {
    /// The bearer is known to be unusable here.
    #[error("the token is not usable here")]
    Unusable(Unusable),
    /// The authorization server gave no usable answer.
    #[error(transparent)]
    Unknown(#[from] Unknown),
}

/// What is known about one bearer, and until when. The task that holds the lock asks; the others wait for that answer
/// instead of asking too.
type Slot = Arc<AsyncMutex<Option<Known>>>;

struct Known {
    verdict: Result<Arc<Admitted>, NotAdmitted>,
    until: Instant,
}

/// One bearer.
#[derive(Default)]
struct Entry {
    slot: Slot,
    /// Until when the bearer goes ahead of strangers; `None` for a stranger.
    known_until: Option<Instant>,
}

/// What dropping an entry would lose, the least important first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// Nothing is known about the bearer, or what was known has expired.
    Nothing,
    /// A client in a loop would ask again.
    Refusal,
    /// Other callers wait for the same answer and would ask too.
    Question,
    /// A bearer that is being served.
    Admission,
}

impl Entry {
    fn standing(&self) -> Standing {
        self.known_until.map_or(Standing::Stranger, |_| Standing::Known)
    }

    /// Orders strangers before all others.
    fn worth(&self) -> (bool, Worth, Option<Instant>) {
        let worth = match self.slot.try_lock().as_deref() {
            Ok(None) => Worth::Nothing,
            Ok(Some(known)) => match &known.verdict {
                Ok(_) => Worth::Admission,
                Err(NotAdmitted::Unusable(_)) => Worth::Refusal,
                Err(NotAdmitted::Unknown(_)) => Worth::Nothing,
            },
            Err(_) => Worth::Question,
        };
        (self.known_until.is_some(), worth, self.known_until)
    }
}

/// Admits bearers to a provider's resource server.
pub struct Admission {
    introspection: Introspection,
    provider: ProviderUrl,
    rs: ResourceServer,
    bounds: Bounds,
    known: Mutex<HashMap<BearerHash, Entry>>,
    metrics: Arc<Metrics>,
}

impl Admission {
    /// Admits the bearers that `introspection` confirms to the tools over `rs`, with results within `bounds`.
    pub fn new(
        introspection: Introspection,
        provider: ProviderUrl,
        rs: ResourceServer,
        bounds: Bounds,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self { introspection, provider, rs, bounds, known: Mutex::default(), metrics }
    }

    /// The introspection behind it.
    pub const fn introspection(&self) -> &Introspection {
        &self.introspection
    }

    /// Identifies `bearer`.
    ///
    /// # Errors
    /// Returns [`NotAdmitted`] if it is unusable or cannot be checked.
    pub async fn admit(&self, bearer: Bearer) -> Result<Arc<Admitted>, NotAdmitted> {
        let Bearer { token: bearer, hash } = bearer;
        let (slot, standing) = entry(&mut self.known(), hash);
        let mut slot = slot.lock().await;
        if let Some(known) = slot.as_ref().filter(|known| Instant::now() < known.until) {
            self.metrics.introspected("cached");
            return known.verdict.clone();
        }
        // The old answer is not kept during the question, so that a cancelled question leaves nothing behind.
        *slot = None;
        let asked = self.introspection.ask(&bearer, standing).await;
        self.metrics.introspected(match &asked {
            Ok(Ok(_)) => "active",
            Ok(Err(unusable)) => unusable.code(),
            Err(unknown) => unknown.code(),
        });
        let (verdict, lasts) = match asked {
            Ok(Ok(active)) => {
                let lasts = served_for(active.exp, Timestamp::now());
                (Ok(Arc::new(self.admitted(active, bearer))), lasts)
            }
            Ok(Err(unusable)) => (Err(NotAdmitted::Unusable(unusable)), REFUSED_FOR),
            Err(unknown) => (Err(NotAdmitted::Unknown(unknown)), UNKNOWN_FOR),
        };
        let now = Instant::now();
        if let Some(entry) = self.known().get_mut(&hash) {
            match &verdict {
                Ok(_) => entry.known_until = Some(now + KNOWN_FOR),
                Err(NotAdmitted::Unusable(_)) => entry.known_until = None,
                Err(NotAdmitted::Unknown(_)) => {}
            }
        }
        slot.insert(Known { verdict, until: now + lasts }).verdict.clone()
    }

    fn admitted(&self, active: Active, bearer: AccessToken) -> Admitted {
        let (provider, grant_id) = (self.provider.clone(), active.grant_id.clone());
        let reader = Reader::new(provider, grant_id, self.rs.clone(), reader::only(bearer));
        Admitted { active, tools: Arc::new(Tools::over_one(reader, self.bounds)) }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<BearerHash, Entry>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets expired entries and their tokens. Call it now and then.
    pub fn forget_old(&self) {
        forget_old(&mut self.known());
    }
}

/// The entry of `hash`, created if there is none. An entry that is dropped for lack of room is asked about again.
/// Nobody is refused because of it, and made-up tokens cannot push out a bearer that is served.
fn entry(known: &mut HashMap<BearerHash, Entry>, hash: BearerHash) -> (Slot, Standing) {
    if !known.contains_key(&hash) && known.len() >= MOST {
        forget_old(known);
        if known.len() >= MOST
            && let Some(goes) = known.iter().min_by_key(|(_, entry)| entry.worth()).map(|(hash, _)| *hash)
        {
            known.remove(&goes);
        }
    }
    let entry = known.entry(hash).or_default();
    (Arc::clone(&entry.slot), entry.standing())
}

fn forget_old(known: &mut HashMap<BearerHash, Entry>) {
    let now = Instant::now();
    known.retain(|_, entry| {
        entry.known_until = entry.known_until.filter(|until| now < *until);
        match entry.slot.try_lock() {
            Ok(mut slot) => {
                slot.take_if(|known| known.until <= now);
                slot.is_some() || entry.known_until.is_some()
            }
            // The lock is held: a task is asking about this bearer.
            Err(_) => true,
        }
    });
}

/// How long from now to serve the bearer: until `exp`, but at most 60 s.
fn served_for(exp: Option<i64>, now: Timestamp) -> Duration {
    let left = exp.map_or(SERVED_FOR, |exp| {
        let left = exp.saturating_mul(1000).saturating_sub(now.as_millisecond());
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    });
    left.min(SERVED_FOR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn r7_3_a_positive_answer_is_kept_for_exp_or_a_minute() {
        let now = Timestamp::from_millisecond(1_800_000_000_400).unwrap();
        assert_eq!(served_for(None, now), SERVED_FOR);
        assert_eq!(served_for(Some(1_800_000_002), now), Duration::from_millis(1_600));
        assert_eq!(served_for(Some(1_800_000_000), now), Duration::ZERO);
    }

    #[test]
    fn a_bearer_is_known_by_its_hash() {
        let hash = BearerHash::of(&AccessToken::new("canary".to_owned()).unwrap());
        assert_eq!(hash.prefix().len(), 12);
        assert!(!format!("{hash:?} {}", hash.prefix()).contains("canary"));
        assert_ne!(hash, BearerHash::of(&AccessToken::new("canarz".to_owned()).unwrap()));
    }

    /// A made-up hash for tests.
    fn made_up(number: usize) -> BearerHash {
        BearerHash::of(&AccessToken::new(format!("made-up-{number}")).unwrap())
    }

    fn verdict(not_admitted: NotAdmitted) -> Slot {
        let known = Known { verdict: Err(not_admitted), until: Instant::now() + SERVED_FOR };
        Arc::new(AsyncMutex::new(Some(known)))
    }

    #[test]
    fn who_was_served_is_known_without_its_token_and_made_up_bearers_push_it_out_last() {
        let mut known = HashMap::new();
        let soon = Instant::now() + KNOWN_FOR;
        let (served, idle) = (made_up(MOST), made_up(MOST + 1));
        let unknown = || verdict(NotAdmitted::Unknown(Unknown::Busy));
        known.insert(served, Entry { slot: unknown(), known_until: Some(soon) });
        known.insert(idle, Entry { slot: Slot::default(), known_until: Some(Instant::now()) });
        forget_old(&mut known);
        assert!(!known.contains_key(&idle), "not for ever");
        known.insert(idle, Entry { slot: Slot::default(), known_until: Some(soon) });
        let refused = made_up(MOST + 2);
        known.insert(
            refused,
            Entry { slot: verdict(NotAdmitted::Unusable(Unusable::Inactive)), known_until: None },
        );
        let asked = (0..3).map(|number| made_up(MOST + 3 + number)).collect::<Vec<_>>();
        let held =
            asked.iter().map(|hash| entry(&mut known, *hash).0.try_lock_owned().unwrap()).collect::<Vec<_>>();
        for number in 0..MOST + 9 {
            let hash = made_up(2 * MOST + number);
            assert_eq!(entry(&mut known, hash).1, Standing::Stranger);
            known.get_mut(&hash).unwrap().slot = unknown();
            assert!(known.len() <= MOST);
        }
        assert!(known.len() == MOST && known.contains_key(&refused), "an unknown one is dropped first");
        assert!(asked.iter().all(|hash| known.contains_key(hash)) && held.len() == 3);
        for hash in [served, idle] {
            assert_eq!(entry(&mut known, hash).1, Standing::Known);
        }
    }

    proptest! {
        #[test]
        fn r7_3_never_longer_than_a_minute(exp in proptest::option::of(any::<i64>()), now in 0i64..4_000_000_000) {
            let now = Timestamp::from_second(now).unwrap();
            let kept = served_for(exp, now);
            prop_assert!(kept <= SERVED_FOR);
            if let Some(exp) = exp {
                prop_assert!(exp > now.as_second() || kept.is_zero());
            }
        }
    }
}
