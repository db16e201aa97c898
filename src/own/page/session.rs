//! Which browser is admitted: the one that opened a link, which works once; if a passphrase is required,
//! only after it was typed.
//!
//! The cookie is only for the pages of its session, whose path nobody else knows: a browser sends the
//! cookies of one port of this computer to all of its ports.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::vault::id::{random_id, random_token, token_hash};
use crate::vault::oauth::passphrase::{Misses, Tries};
use crate::vault::owner_pages::OWNER;
use crate::vault::wire::cookie;

use super::import::Importing;

/// How long a link is valid and a visit lasts, in milliseconds.
pub(super) const LASTS_MS: i64 = 600_000;
/// The most links and visits that are kept: more than a person opens. The oldest are dropped; of visits,
/// those that were not admitted go first.
const MOST_LINKS: usize = 1_000;
const MOST_VISITS: usize = 100;

const COOKIE: &str = "pdpp_owner_page";

/// All links and visits.
#[derive(Default)]
pub(super) struct Sessions(Mutex<State>);

#[derive(Default)]
struct State {
    /// When each link ends, by the hash of its secret.
    links: BTreeMap<String, i64>,
    /// Visits, by the name of their pages.
    visits: BTreeMap<String, Visit>,
    misses: Misses,
    /// Whether a link was ever opened.
    was_opened: bool,
}

struct Visit {
    /// The hash of the browser's secret.
    hash: String,
    csrf: String,
    ends_ms: i64,
    /// Whether use prolongs the visit; otherwise it ends at a fixed time.
    is_prolonged: bool,
    is_let_in: bool,
    opened_ms: i64,
    tries: Tries,
    notice: Option<String>,
    import: Option<Importing>,
}

/// A browser's visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Session {
    /// The name of its pages, a part of their path.
    pub(super) page: String,
    /// The token that its forms carry.
    pub(super) csrf: String,
    /// When it ends, in milliseconds.
    pub(super) ends_ms: i64,
    /// Whether it may see data: the passphrase was typed, or none is required.
    pub(super) is_let_in: bool,
}

impl Session {
    /// The address of one of its pages.
    pub(super) fn path(&self, rest: &str) -> String {
        format!("{OWNER}/{}{rest}", self.page)
    }
}

impl State {
    fn sweep(&mut self, now_ms: i64) {
        self.links.retain(|_, ends| *ends > now_ms);
        // A running import finishes even though its visit is over.
        self.visits.retain(|_, visit| visit.ends_ms > now_ms);
    }
}

impl Sessions {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The path of a new link; `None` without randomness.
    pub(super) fn new_link(&self, now_ms: i64) -> Option<String> {
        let secret = random_token("").ok()?;
        let mut state = self.state();
        state.sweep(now_ms);
        while state.links.len() >= MOST_LINKS {
            let oldest = state.links.iter().min_by_key(|(_, ends)| **ends).map(|(hash, _)| hash.clone())?;
            state.links.remove(&oldest);
        }
        state.links.insert(token_hash(&secret), now_ms + LASTS_MS);
        Some(format!("{OWNER}/open/{secret}"))
    }

    /// Opens a visit with the secret of a link, which is used up by this, and returns it with the header
    /// that sets the browser's cookie. `None` if the secret is unknown or has expired, and without
    /// randomness.
    pub(super) fn open(&self, secret: &str, asks_passphrase: bool, now_ms: i64) -> Option<(Session, String)> {
        let (page, browser, csrf) = (random_id("").ok()?, random_token("").ok()?, random_token("").ok()?);
        let mut state = self.state();
        state.sweep(now_ms);
        // Hashed, so that the time that the comparison takes reveals nothing about the secret.
        state.links.remove(&token_hash(secret))?;
        state.was_opened = true;
        while state.visits.len() >= MOST_VISITS {
            let oldest = state.visits.iter().min_by_key(|(_, visit)| (visit.is_let_in, visit.ends_ms))?;
            let oldest = oldest.0.clone();
            state.visits.remove(&oldest);
        }
        let visit = Visit {
            hash: token_hash(&browser),
            csrf,
            ends_ms: now_ms + LASTS_MS,
            is_prolonged: !asks_passphrase,
            is_let_in: !asks_passphrase,
            opened_ms: now_ms,
            tries: Tries::default(),
            notice: None,
            import: None,
        };
        let session = visit.session(&page);
        state.visits.insert(page.clone(), visit);
        Some((session, format!("{COOKIE}={browser}; Path={OWNER}/{page}; HttpOnly; SameSite=Strict")))
    }

    /// The visit of `page` in the browser with these cookies.
    pub(super) fn of(&self, page: &str, cookies: Option<&str>, now_ms: i64) -> Option<Session> {
        let hash = token_hash(cookie(cookies?, COOKIE)?);
        let mut state = self.state();
        state.sweep(now_ms);
        let visit = state.visits.get_mut(page).filter(|visit| visit.hash == hash)?;
        if visit.is_prolonged {
            visit.ends_ms = now_ms + LASTS_MS;
        }
        Some(visit.session(page))
    }

    /// Whether a link was ever opened.
    pub(super) fn was_opened(&self) -> bool {
        self.state().was_opened
    }

    /// When the last visit ends; `None` if there is none.
    pub(super) fn ends_ms(&self, now_ms: i64) -> Option<i64> {
        let mut state = self.state();
        state.sweep(now_ms);
        state.visits.values().map(|visit| visit.ends_ms).max()
    }

    /// Reserves an attempt to type the passphrase in a visit.
    ///
    /// # Errors
    /// The seconds to wait before the next attempt.
    pub(super) fn try_passphrase(&self, session: &Session, now_ms: i64) -> Result<(), u64> {
        let mut state = self.state();
        state.sweep(now_ms);
        let shared = state.misses.wait(now_ms);
        let visit = state.visits.get_mut(&session.page).ok_or(1_u64)?;
        visit.tries.begin_among(now_ms, visit.opened_ms, shared)
    }

    /// Records that a passphrase was wrong.
    pub(super) fn missed(&self, now_ms: i64) {
        self.state().misses.note(now_ms);
    }

    /// Records that the passphrase was right: the visit is admitted for ten minutes from now. If it was
    /// admitted already, only the wait before the next attempt ends.
    pub(super) fn let_in(&self, session: &Session, now_ms: i64) {
        if let Some(visit) = self.state().visits.get_mut(&session.page) {
            visit.tries = Tries::default();
            if !visit.is_let_in {
                visit.is_let_in = true;
                visit.ends_ms = now_ms + LASTS_MS;
            }
        }
    }

    /// Ends a visit.
    pub(super) fn close(&self, session: &Session) {
        let gone = self.state().visits.remove(&session.page);
        drop(gone);
    }

    /// Keeps the notice that the next page of a visit shows first.
    pub(super) fn say(&self, session: &Session, notice: String) {
        if let Some(visit) = self.state().visits.get_mut(&session.page) {
            visit.notice = Some(notice);
        }
    }

    /// The notice that a page shows first; it is returned once.
    pub(super) fn said(&self, session: &Session) -> Option<String> {
        self.state().visits.get_mut(&session.page)?.notice.take()
    }

    /// Calls a function with the import of a visit; `None` if the visit is over.
    pub(super) fn with_import<T>(
        &self,
        session: &Session,
        work: impl FnOnce(&mut Option<Importing>) -> T,
    ) -> Option<T> {
        self.state().visits.get_mut(&session.page).map(|visit| work(&mut visit.import))
    }
}

impl Visit {
    fn session(&self, page: &str) -> Session {
        Session {
            page: page.to_owned(),
            csrf: self.csrf.clone(),
            ends_ms: self.ends_ms,
            is_let_in: self.is_let_in,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(sessions: &Sessions, asks: bool, now: i64) -> (Session, String) {
        let link = sessions.new_link(now).unwrap();
        let (session, cookie) = sessions.open(link.strip_prefix("/owner/open/").unwrap(), asks, now).unwrap();
        (session, cookie.split(';').next().unwrap().to_owned())
    }

    #[test]
    fn o7_15_a_link_is_good_once_and_for_ten_minutes() {
        let sessions = Sessions::default();
        let link = sessions.new_link(0).unwrap();
        let secret = link.strip_prefix("/owner/open/").unwrap();
        assert_eq!(secret.len(), 64);
        assert!(sessions.open("guessed", false, 1).is_none());
        let (session, cookie) = sessions.open(secret, false, 1).unwrap();
        assert!(sessions.open(secret, false, 1).is_none(), "a second time");
        assert!(cookie.ends_with(&format!("; Path=/owner/{}; HttpOnly; SameSite=Strict", session.page)));
        let late = sessions.new_link(0).unwrap();
        let late = late.strip_prefix("/owner/open/").unwrap().to_owned();
        assert!(sessions.open(&late, false, LASTS_MS).is_none(), "after ten minutes");
        for _ in 0..2 * MOST_LINKS {
            sessions.new_link(1).unwrap();
        }
        assert_eq!(sessions.state().links.len(), MOST_LINKS);
    }

    #[test]
    fn o9_3_many_wrong_passphrases_make_new_visits_wait_and_keep_nobody_out() {
        let sessions = Sessions::default();
        let (owners, _) = open(&sessions, true, 0);
        assert_eq!(sessions.try_passphrase(&owners, 0), Ok(()));
        let mut tries = 0;
        // A program that opens visits as fast as it can, and tries once in each.
        for now in (0..90_000).step_by(1_000) {
            let (guesser, _) = open(&sessions, true, now);
            if sessions.try_passphrase(&guesser, now).is_ok() {
                tries += 1;
                sessions.missed(now);
            }
        }
        assert_eq!(tries, 6);
        assert_eq!(
            sessions.try_passphrase(&owners, 90_000),
            Ok(()),
            "an existing page waits only for its own attempts"
        );
        let (late, _) = open(&sessions, true, 90_000);
        assert_eq!(sessions.try_passphrase(&late, 90_000), Err(1));
        assert_eq!(sessions.try_passphrase(&late, 91_000), Ok(()));
        for _ in 0..1_000 {
            sessions.missed(92_000);
        }
        let (later, _) = open(&sessions, true, 92_000);
        assert_eq!(sessions.try_passphrase(&later, 92_000), Err(60));
    }

    #[test]
    fn o7_15_a_visit_that_is_let_in_is_not_pushed_out() {
        let sessions = Sessions::default();
        let (owners, cookie) = open(&sessions, true, 0);
        sessions.let_in(&owners, 0);
        for _ in 0..2 * MOST_VISITS {
            open(&sessions, true, 1);
        }
        assert_eq!(sessions.state().visits.len(), MOST_VISITS);
        assert!(sessions.of(&owners.page, Some(&cookie), 2).is_some());
    }

    #[test]
    fn o7_15_a_visit_is_of_its_browser_and_ends() {
        let sessions = Sessions::default();
        let (session, cookie) = open(&sessions, false, 0);
        let of = |page: &str, cookie: Option<&str>, now| sessions.of(page, cookie, now);
        assert!(of(&session.page, Some(&format!("a=b; {cookie}")), 1).is_some_and(|found| found.is_let_in));
        assert!(of(&session.page, None, 1).is_none() && of("other", Some(&cookie), 1).is_none());
        assert!(of(&session.page, Some("pdpp_owner_page=guessed"), 1).is_none());
        let (other, other_cookie) = open(&sessions, false, 0);
        assert!(of(&session.page, Some(&other_cookie), 1).is_none(), "another visit's");
        // It lasts as long as it is used.
        assert!(of(&session.page, Some(&cookie), LASTS_MS).is_some());
        assert!(of(&session.page, Some(&cookie), 2 * LASTS_MS).is_none());
        assert!(of(&other.page, Some(&other_cookie), LASTS_MS).is_none());
    }

    #[test]
    fn o7_15_with_a_passphrase_a_visit_lasts_ten_minutes_from_it() {
        let sessions = Sessions::default();
        let (session, cookie) = open(&sessions, true, 0);
        let now = LASTS_MS / 2;
        assert!(!sessions.of(&session.page, Some(&cookie), now).unwrap().is_let_in);
        assert_eq!(sessions.try_passphrase(&session, now), Ok(()));
        assert_eq!(sessions.try_passphrase(&session, now), Err(1), "a wrong attempt costs time");
        sessions.let_in(&session, now + 1000);
        let found = sessions.of(&session.page, Some(&cookie), now + 2000).unwrap();
        assert!(found.is_let_in && found.ends_ms == now + 1000 + LASTS_MS);
        // Neither use nor the passphrase prolongs it.
        sessions.let_in(&session, now + 5000);
        assert_eq!(sessions.of(&session.page, Some(&cookie), now + 9000).unwrap().ends_ms, found.ends_ms);
        assert!(sessions.of(&session.page, Some(&cookie), found.ends_ms).is_none());
    }

    #[test]
    fn what_a_page_says_first_is_said_once() {
        let sessions = Sessions::default();
        let (session, cookie) = open(&sessions, false, 0);
        sessions.say(&session, "done".to_owned());
        assert_eq!(sessions.said(&session).as_deref(), Some("done"));
        assert_eq!(sessions.said(&session), None);
        assert!(!Sessions::default().was_opened());
        sessions.close(&session);
        assert!(sessions.of(&session.page, Some(&cookie), 1).is_none());
        assert!(sessions.was_opened(), "even after it was closed");
    }
}
