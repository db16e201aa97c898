//! Bearers for the grants of a package. `/v1` does not accept the package's own bearer.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::secret::AccessToken;
use crate::vault::id::{random_token, token_hash};

/// How long a bearer is valid.
pub const GOOD_FOR: Duration = Duration::from_mins(1);

/// Bearers for grants of packages. Only this process knows them, by their hash, for one minute.
#[derive(Default)]
pub struct ChildBearers(Mutex<HashMap<String, (String, Instant)>>);

impl ChildBearers {
    /// Issues a new bearer for this grant.
    ///
    /// # Errors
    /// Returns `no_randomness`.
    pub fn issue(&self, grant_id: &str) -> Result<AccessToken> {
        let no_token = || Error::no_randomness("The system provided no random bytes");
        let token = random_token("pdpp_it_").map_err(|_| no_token())?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        all.retain(|_, (_, end)| *end > now);
        all.insert(token_hash(&token), (grant_id.to_owned(), now + GOOD_FOR));
        AccessToken::new(token).map_err(|error| no_token().because(error))
    }

    /// The grant that belongs to the bearer with this hash.
    pub fn grant_of(&self, hash: &str) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(hash).filter(|(_, end)| *end > Instant::now()).map(|(grant_id, _)| grant_id.clone())
    }
}
