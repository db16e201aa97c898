//! The grants that are served, and how they are kept up to date.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use super::member::{Has, Member};
use super::missing::Failed;
use crate::error::Result;
use crate::mcp::reading::paging::Walks;
use crate::mcp::reading::reader::Reader;

/// How long one grant may take when several are asked (R6.5).
pub const DEADLINE: Duration = Duration::from_secs(10);

/// Returns the grants to serve now: at the start, and whenever they may have changed. Reads only an index, nothing
/// slower.
pub type Roster = Arc<dyn Fn() -> Result<Vec<Member>> + Send + Sync>;

/// The grants that are served.
pub struct Package {
    /// `None` if the grants never change.
    roster: Option<Roster>,
    members: RwLock<Arc<Vec<Arc<Member>>>>,
    deadline: Duration,
    walks: Walks,
    /// Whether the roster reported that every grant has ended.
    is_over: AtomicBool,
    /// The last blobs that were named, each with the grant that named it ([`Member::grant`]).
    pub(super) blobs: Mutex<VecDeque<(String, (String, String))>>,
}

/// The grants at the beginning of a call.
pub struct Round {
    members: Arc<Vec<Arc<Member>>>,
    were_refused: Vec<bool>,
}

impl Package {
    /// The grants that `roster` returns.
    ///
    /// # Errors
    /// Returns the errors of the roster, such as that nothing is connected.
    pub fn new(roster: Roster) -> Result<Self> {
        let members = roster()?;
        Ok(Self::of(Some(roster), members))
    }

    /// The same when nothing may be granted yet: what is granted later is picked up with the next call.
    pub fn awaiting(roster: Roster) -> Self {
        let members = roster().unwrap_or_default();
        Self::of(Some(roster), members)
    }

    /// One grant, which never changes.
    pub fn of_one(reader: Reader) -> Self {
        let label = reader.provider().to_string();
        Self::of(None, vec![Member::new(String::new(), label, reader, None, Vec::new())])
    }

    fn of(roster: Option<Roster>, members: Vec<Member>) -> Self {
        Self {
            roster,
            members: RwLock::new(Arc::new(members.into_iter().map(Arc::new).collect())),
            deadline: DEADLINE,
            walks: Walks::default(),
            is_over: AtomicBool::new(false),
            blobs: Mutex::default(),
        }
    }

    /// The same with a different time limit for one grant of several.
    #[must_use]
    pub const fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The same for a process that answers one call and then ends.
    #[must_use]
    pub fn for_one_call(mut self) -> Self {
        self.walks = Walks::for_one_call();
        self
    }

    /// The time limit for one grant of several.
    pub const fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The walks over several grants whose cursor is too long to pass on.
    pub const fn walks(&self) -> &Walks {
        &self.walks
    }

    /// The grants that are served now.
    pub fn members(&self) -> Arc<Vec<Arc<Member>>> {
        Arc::clone(&self.members.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Picks up grants that were added, replaced or removed. An unchanged grant keeps everything that it remembers.
    pub fn reread(&self) {
        let Some(roster) = &self.roster else { return };
        let known = self.members();
        let fresh = match roster() {
            Ok(fresh) => {
                self.is_over.store(false, Ordering::Relaxed);
                fresh
            }
            Err(error) if error.code() == "not_connected" => Vec::new(),
            // Each known grant reports its end to every call.
            Err(error) if error.code() == "grant_expired" => {
                if !self.is_over.swap(true, Ordering::Relaxed) {
                    tracing::warn!(code = error.code(), "every grant that is served has ended");
                }
                return;
            }
            Err(error) => {
                tracing::warn!(
                    code = error.code(),
                    "the grants could not be read again; the known ones are kept"
                );
                return;
            }
        };
        let fresh = fresh.into_iter().map(|member| {
            if let Some(same) = known.iter().find(|known| known.id == member.id) {
                return Arc::clone(same);
            }
            Arc::new(match known.iter().find(|known| known.grant() == member.grant()) {
                Some(earlier) => member.taught_by(earlier),
                None => member,
            })
        });
        *self.members.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(fresh.collect());
    }

    /// The grants before a call. Since the last call, another may have been connected, and a refused one approved
    /// again.
    pub fn begin(&self) -> Round {
        let members = self.members();
        if members.is_empty() || members.iter().any(|member| member.reader().is_refused()) {
            self.reread();
        }
        let members = self.members();
        let were_refused = members.iter().map(|member| member.reader().is_refused()).collect();
        Round { members, were_refused }
    }

    /// Whether a grant of `round` that was refused in the call has been replaced in the meantime: by another token,
    /// or by another grant of its provider, as `pdpp connect --renew` gets one. Then the call is worth another try.
    pub fn is_replaced(&self, round: &Round) -> bool {
        let gone = round.members.iter().zip(&round.were_refused);
        let gone = gone.filter(|(member, was)| member.reader().is_refused() && !**was);
        let gone = gone.map(|(member, _)| member).collect::<Vec<_>>();
        if gone.is_empty() {
            return false;
        }
        self.reread();
        let now = self.members();
        let is_there =
            |member: &Member, among: &[Arc<Member>]| among.iter().any(|other| other.id == member.id);
        gone.iter().filter(|gone| !is_there(gone, &now)).any(|gone| {
            let mut fresh = now.iter().filter(|member| !is_there(member, &round.members));
            fresh.any(|member| member.reader().provider() == gone.reader().provider())
        })
    }

    /// Every grant that could have one of `streams` (any grant, if none are named), split into those to ask and those
    /// known to be unusable now.
    pub fn able(&self, streams: Option<&[&str]>) -> (Vec<Arc<Member>>, Vec<Failed>) {
        let (mut able, mut unable) = (Vec::new(), Vec::new());
        for member in self.members().iter() {
            if streams
                .is_some_and(|streams| streams.iter().all(|stream| member.has_stream(stream) == Has::No))
            {
                continue;
            }
            match member.unusable() {
                None => able.push(Arc::clone(member)),
                Some(why) => unable.push((Arc::clone(member), why)),
            }
        }
        (able, unable)
    }
}
