//! The owner's passphrase, for decisions where a link alone is not enough: programs that can read the owner's
//! terminal may send requests to a vault that is served.
//!
//! Only its hash is kept, next to the grants.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use rusqlite::OptionalExtension as _;

use crate::secret::Passphrase;
use crate::vault::store::Store;

/// Held while a passphrase is checked.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The minimum length of a passphrase in characters. An attacker who gets the file that it locks can try as many as
/// they like.
pub const LEAST: usize = 8;
/// The name of the hash in a store of grants.
const NAME: &str = "passphrase";
/// The longest time that a page must wait after a wrong passphrase, in seconds.
const LONGEST_WAIT: u64 = 60;

/// Whether the owner of `grants` has set a passphrase.
///
/// # Errors
/// Returns the errors of the database.
pub fn is_set(grants: &Store) -> rusqlite::Result<bool> {
    kept(grants).map(|hash| hash.is_some())
}

/// Whether `typed` is the passphrase of the owner of `grants`. Takes about 20 ms and 19 MB, or a multiple of that
/// time if it has letters with more than one spelling.
///
/// # Errors
/// Returns the errors of the database.
pub fn is_right(grants: &Store, typed: &Passphrase) -> rusqlite::Result<bool> {
    let Some(hash) = kept(grants)? else { return Ok(false) };
    let Ok(hash) = PasswordHash::new(&hash) else { return Ok(false) };
    // One at a time: however many pages ask, this uses the memory of one.
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let fits = |typed: &Passphrase| Argon2::default().verify_password(typed.expose(), &hash).is_ok();
    Ok(!typed.is_too_long() && typed.spellings().iter().any(fits))
}

/// Makes `new` the passphrase and replaces any other. Returns false if the system supplies no random numbers.
///
/// # Errors
/// Returns the errors of the database.
pub fn set(grants: &Store, new: &Passphrase) -> rusqlite::Result<bool> {
    let Ok(hash) = Argon2::default().hash_password(new.composed().expose()) else {
        return Ok(false);
    };
    keep(grants, &hash.to_string()).map(|()| true)
}

/// Stores a `hash` that another store has kept ([`kept`]).
///
/// # Errors
/// Returns the errors of the database.
pub(in crate::vault) fn keep(grants: &Store, hash: &str) -> rusqlite::Result<()> {
    grants.write(|tx, _| {
        tx.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)", [NAME, hash]).map(drop)
    })
}

/// The stored hash of the passphrase of the owner of `grants`.
///
/// # Errors
/// Returns the errors of the database.
pub(in crate::vault) fn kept(grants: &Store) -> rusqlite::Result<Option<String>> {
    grants.read(|db, _| {
        db.query_row("SELECT value FROM meta WHERE name = ?1", [NAME], |row| row.get(0)).optional()
    })
}

/// How long a wrong passphrase is remembered for all pages of its store, in milliseconds.
const MISSED_MS: i64 = 600_000;
/// How many wrong passphrases in that time do not delay other pages. A person may have forgotten which passphrase
/// it was.
const FREE_MISSES: usize = 5;
/// The maximum number that is remembered.
const MAX_MISSES: usize = FREE_MISSES + 60;

/// The recent wrong passphrases on all pages of a store. An attacker who can open pages, such as a program that
/// reads the terminal, would otherwise have a first try without waiting on each page. So after many wrong
/// passphrases every page waits one second for each of them, counted from when the page was opened, and at most one
/// minute. The pages wait in parallel: nobody's tries delay another's, and the owner is never locked out. With a
/// hundred open requests at most, a guesser has a hundred tries per minute instead of the fifty per second that the
/// hash allows.
#[derive(Debug, Default)]
pub struct Misses(VecDeque<i64>);

impl Misses {
    /// Records another wrong passphrase at `now_ms`.
    pub fn note(&mut self, now_ms: i64) {
        if self.0.len() == MAX_MISSES {
            self.0.pop_front();
        }
        self.0.push_back(now_ms);
    }

    /// How long every page must wait, in seconds.
    pub fn wait(&mut self, now_ms: i64) -> u64 {
        self.0.retain(|at| (0..MISSED_MS).contains(&now_ms.saturating_sub(*at)));
        u64::try_from(self.0.len().saturating_sub(FREE_MISSES)).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT)
    }
}

/// The passphrases that were typed on one page. A wrong one delays this page only.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tries {
    made: u32,
    next_ms: i64,
}

impl Tries {
    /// Reserves a try at `now_ms`, or returns the seconds to wait. The try counts before the result is known, so
    /// that many at once count as many.
    pub fn begin(&mut self, now_ms: i64) -> Result<(), u64> {
        self.begin_among(now_ms, now_ms, 0)
    }

    /// Does the same as [`Tries::begin`] on a page that was opened at `opened_ms`, while every page waits `shared`
    /// seconds ([`Misses`]).
    ///
    /// # Errors
    /// Returns the seconds to wait.
    pub fn begin_among(&mut self, now_ms: i64, opened_ms: i64, shared: u64) -> Result<(), u64> {
        let first = opened_ms.saturating_add(shared.cast_signed() * 1000);
        let next = if self.made == 0 { first } else { self.next_ms };
        let left = next.saturating_sub(now_ms);
        if left > 0 {
            return Err(left.unsigned_abs().div_ceil(1000));
        }
        let wait = 1_u64.checked_shl(self.made).unwrap_or(LONGEST_WAIT).max(shared).min(LONGEST_WAIT);
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

    #[test]
    fn o9_3_an_old_hash_of_another_spelling_still_fits() {
        let grants = Store::open(None, OWN, None).unwrap();
        let (composed, apart) = ("Caf\u{e9} am Rhein", "Cafe\u{301} am Rhein");
        for kept in [composed, apart] {
            // As an earlier release stored it: exactly as typed.
            let hash = Argon2::default().hash_password(kept.as_bytes()).unwrap().to_string();
            grants
                .write(|tx, _| {
                    tx.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)", [NAME, &hash])
                })
                .unwrap();
            for typed in [composed, apart] {
                assert!(is_right(&grants, &typed.into()).unwrap(), "{kept:?} {typed:?}");
            }
            assert!(!is_right(&grants, &"Cafe am Rhein".into()).unwrap());
        }
        let longest = "x".repeat(Passphrase::MAX);
        assert!(set(&grants, &longest.as_str().into()).unwrap());
        assert!(is_right(&grants, &longest.as_str().into()).unwrap());
        assert!(!is_right(&grants, &format!("{longest}x").as_str().into()).unwrap(), "it is not cut");
    }

    #[test]
    fn o9_3_many_wrong_ones_cost_every_page_time_and_keep_nobody_out() {
        let (mut misses, mut now) = (Misses::default(), 0);
        for _ in 0..FREE_MISSES {
            misses.note(now);
        }
        assert_eq!(misses.wait(now), 0);
        // A new page for each guess, like a program that reads the terminal.
        let mut tries = 0;
        while now < 600_000 {
            let mut pages = [(); 10].map(|()| (now, Tries::default()));
            now += 1000;
            for (opened, page) in &mut pages {
                if page.begin_among(now, *opened, misses.wait(now)).is_ok() {
                    tries += 1;
                    misses.note(now);
                }
            }
        }
        assert!(tries < 20, "{tries} tries in ten minutes, of pages that wait a second");
        let mut owner = Tries::default();
        let opened = now;
        let wait = owner.begin_among(now, opened, misses.wait(now)).unwrap_err();
        assert!(wait <= LONGEST_WAIT);
        for _ in 0..1000 {
            misses.note(now);
        }
        now += LONGEST_WAIT.cast_signed() * 1000;
        assert_eq!(owner.begin_among(now, opened, misses.wait(now)), Ok(()), "whatever others do meanwhile");
        now += MISSED_MS;
        assert_eq!(misses.wait(now), 0, "and it is over after ten minutes");
    }
}
