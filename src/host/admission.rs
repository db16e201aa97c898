//! Who a bearer is, remembered for at most a minute: what is served with it, or why it is not.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use tokio::sync::Mutex as AsyncMutex;

use super::introspection::{Active, Introspection, Unknown, Unusable};
use super::metrics::Metrics;
use crate::mcp::core::Core;
use crate::mcp::evidence::Bounds;
use crate::mcp::source::{self, Source};
use crate::provider::rs::ResourceServer;
use crate::provider::url::ProviderUrl;
use crate::secret::AccessToken;

/// The longest for which a token that is revoked meanwhile is still served (R7.3).
pub const SERVED_FOR: Duration = Duration::from_mins(1);

/// How long a refusal holds: a client in a loop costs the authorization server little, and a token that
/// becomes usable is not kept waiting.
const REFUSED_FOR: Duration = Duration::from_secs(5);

/// How long it holds that nobody could say: those who waited for the same answer do not wait again, one after
/// the other.
const UNKNOWN_FOR: Duration = Duration::from_secs(1);

/// Most bearers that are remembered at once.
const MOST: usize = 4_096;

/// A bearer's SHA-256: what everything here knows it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BearerHash([u8; 32]);

impl BearerHash {
    /// The hash of `bearer`.
    pub fn of(bearer: &AccessToken) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, bearer.expose_bearer().as_bytes()).as_ref());
        Self(hash)
    }

    /// Its first 48 bits, for the access log: enough to follow one client, too little to search a token by.
    pub fn prefix(&self) -> String {
        crate::hex::of(&self.0[..6])
    }
}

/// A bearer that is served.
pub struct Admitted {
    /// What is known of it.
    pub active: Active,
    /// The tools, reading with that bearer and no other.
    pub core: Arc<Core>,
}

/// Why a bearer is not served.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NotAdmitted {
    /// It is known to be of no use here.
    #[error("the token is not usable here")]
    Unusable(Unusable),
    /// Nobody could say.
    #[error(transparent)]
    Unknown(#[from] Unknown),
}

/// What is known of one bearer, and until when. Whoever holds the lock asks; the others wait for that answer
/// instead of asking too.
type Slot = Arc<AsyncMutex<Option<Known>>>;

struct Known {
    verdict: Result<Arc<Admitted>, NotAdmitted>,
    until: Instant,
}

/// Admits bearers to a provider's resource server.
pub struct Admission {
    introspection: Introspection,
    provider: ProviderUrl,
    rs: ResourceServer,
    bounds: Bounds,
    known: Mutex<HashMap<BearerHash, Slot>>,
    metrics: Arc<Metrics>,
}

impl Admission {
    /// Admits whom `introspection` knows to the tools over `rs`, results within `bounds`.
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

    /// Says who `bearer` is.
    ///
    /// # Errors
    /// [`NotAdmitted`].
    pub async fn admit(&self, bearer: AccessToken) -> Result<Arc<Admitted>, NotAdmitted> {
        let slot = self.slot(BearerHash::of(&bearer));
        let mut slot = slot.lock().await;
        if let Some(known) = slot.as_ref().filter(|known| Instant::now() < known.until) {
            self.metrics.introspected("cached");
            return known.verdict.clone();
        }
        // Not kept while it is asked about: a cancelled question leaves nothing behind.
        *slot = None;
        let asked = self.introspection.ask(&bearer).await;
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
        slot.insert(Known { verdict, until: Instant::now() + lasts }).verdict.clone()
    }

    fn admitted(&self, active: Active, bearer: AccessToken) -> Admitted {
        let (provider, grant_id) = (self.provider.clone(), active.grant_id.clone());
        let source = Source::new(provider, grant_id, self.rs.clone(), source::only(bearer));
        Admitted { active, core: Arc::new(Core::new(source, self.bounds)) }
    }

    fn slot(&self, hash: BearerHash) -> Slot {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = known.get(&hash) {
            return Arc::clone(slot);
        }
        if known.len() >= MOST {
            forget_old(&mut known);
            // Whatever goes is asked about again; nobody is refused for want of room, and who made tokens up
            // pushes nobody out who is served.
            if known.len() >= MOST {
                let is_refused = |slot: &Slot| {
                    slot.try_lock().is_ok_and(|slot| slot.as_ref().is_none_or(|known| known.verdict.is_err()))
                };
                let refused = known.iter().find(|(_, slot)| is_refused(slot)).map(|(hash, _)| *hash);
                if let Some(goes) = refused.or_else(|| known.keys().next().copied()) {
                    known.remove(&goes);
                }
            }
        }
        Arc::clone(known.entry(hash).or_default())
    }

    /// Forgets what has run out, tokens with it. To be called now and then.
    pub fn forget_old(&self) {
        forget_old(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn forget_old(known: &mut HashMap<BearerHash, Slot>) {
    let now = Instant::now();
    known.retain(|_, slot| match slot.try_lock() {
        Ok(slot) => slot.as_ref().is_some_and(|known| now < known.until),
        // It is being asked about.
        Err(_) => true,
    });
}

/// min(exp, 60 s) from now.
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
