//! The owner's passphrase, which decides where a link alone does not: a vault that is served may be asked by programs that can
//! read its owner's terminal.
//!
//! Only its hash is kept, beside the grants.

use std::sync::{Mutex, PoisonError};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use rusqlite::OptionalExtension as _;

use crate::secret::Passphrase;
use crate::vault::store::Store;

/// Held while a passphrase is tried.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Characters of a passphrase at least: whoever gets what it locks can try as many as they like.
pub const LEAST: usize = 8;
/// What a store of grants calls the hash.
const NAME: &str = "passphrase";
/// The longest that a page has to wait after a wrong one, in seconds.
const LONGEST_WAIT: u64 = 60;

/// Whether the owner of `grants` has a passphrase.
///
/// # Errors
/// Where the database fails.
pub fn is_set(grants: &Store) -> rusqlite::Result<bool> {
    kept(grants).map(|hash| hash.is_some())
}

/// Whether `typed` is the passphrase of the owner of `grants`. It takes some 20 ms and 19 MB, whatever was typed.
///
/// # Errors
/// Where the database fails.
pub fn is_right(grants: &Store, typed: &Passphrase) -> rusqlite::Result<bool> {
    let Some(hash) = kept(grants)? else { return Ok(false) };
    let Ok(hash) = PasswordHash::new(&hash) else { return Ok(false) };
    // One after the other: however many pages ask, the memory is that of one.
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Argon2::default().verify_password(typed.expose(), &hash).is_ok())
}

/// Makes `new` the passphrase, in place of any other. Gives false where the system has no randomness.
///
/// # Errors
/// Where the database fails.
pub fn set(grants: &Store, new: &Passphrase) -> rusqlite::Result<bool> {
    let Ok(hash) = Argon2::default().hash_password(new.expose()) else {
        return Ok(false);
    };
    let hash = hash.to_string();
    grants.write(|tx, _| {
        tx.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)", [NAME, &hash])?;
        Ok(true)
    })
}

fn kept(grants: &Store) -> rusqlite::Result<Option<String>> {
    grants.read(|db, _| {
        db.query_row("SELECT value FROM meta WHERE name = ?1", [NAME], |row| row.get(0)).optional()
    })
}

/// How a page stands with the passphrases that were typed on it. One that is wrong costs this page time, and no other.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tries {
    made: u32,
    next_ms: i64,
}

impl Tries {
    /// Takes the right to try one at `now_ms`; else the seconds to wait for it. It counts before it is known whether it is
    /// right, so that many at once are no more than one.
    pub fn begin(&mut self, now_ms: i64) -> Result<(), u64> {
        let left = self.next_ms.saturating_sub(now_ms);
        if left > 0 {
            return Err(left.unsigned_abs().div_ceil(1000));
        }
        let wait = 1_u64.checked_shl(self.made).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
        self.made = self.made.saturating_add(1);
        self.next_ms = now_ms.saturating_add(wait.cast_signed() * 1000);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::store::OWN;

    #[test]
    fn o9_3_the_hash_alone_is_kept_and_knows_the_one_passphrase() {
        let grants = Store::open(None, OWN, None).unwrap();
        assert!(!is_set(&grants).unwrap());
        assert!(!is_right(&grants, &"".into()).unwrap());
        let new = Passphrase::from("correct horse 4711");
        assert!(set(&grants, &new).unwrap());
        assert!(kept(&grants).unwrap().unwrap().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert!(!format!("{new:?}").contains("4711"));
        assert!(is_set(&grants).unwrap());
        assert!(is_right(&grants, &"correct horse 4711".into()).unwrap());
        for wrong in ["", "correct horse 4712", "Correct horse 4711", " correct horse 4711"] {
            assert!(!is_right(&grants, &wrong.into()).unwrap(), "{wrong:?}");
        }
        assert!(set(&grants, &"another one".into()).unwrap());
        assert!(!is_right(&grants, &"correct horse 4711".into()).unwrap());
    }

    #[test]
    fn o9_3_a_wrong_one_costs_its_page_time() {
        let mut page = Tries::default();
        let mut now = 0;
        for wait in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
            assert_eq!(page.begin(now), Ok(()));
            assert_eq!(page.begin(now), Err(wait));
            assert_eq!(page.begin(now + 1), Err(wait));
            now += wait.cast_signed() * 1000;
        }
        assert_eq!(Tries::default().begin(now), Ok(()));
    }
}
