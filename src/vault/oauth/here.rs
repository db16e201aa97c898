//! A request that the owner makes and decides on the machine that has the data: on a page that is served for it alone, or at
//! a terminal. Nobody else takes part, and no token goes over a wire.

use super::approval::Approved;
use super::authorization_details::AuthorizationDetails;
use super::client::Client;
use super::flows::{Asked, Decision, Outcome, Summary, Way};
use super::wish::Wish;
use super::{consent, tokens};
use crate::vault::Vault;
use crate::vault::grant::Grant;
use crate::vault::wire::ApiError;

/// Where a request that is decided here says that it comes from, on the wire that it never takes.
pub const BASE: &str = "https://local.pdpp.invalid";

/// A request that waits for its owner.
#[derive(Debug)]
pub struct Waiting {
    /// Its id.
    pub id: String,
    /// Opens its page, once: the path of a page of whoever serves it.
    pub link: String,
}

/// A form as a person leaves it: names and values.
pub type Form = Vec<(String, String)>;

/// What became of a request.
#[derive(Debug)]
pub enum Decided {
    /// Nothing yet.
    Open,
    /// These grants, each with its token.
    Approved(Vec<Approved>),
    /// Nothing was granted.
    Denied,
    /// Nobody decided in time.
    Expired,
}

/// What a decision would be about.
#[derive(Debug)]
pub struct Review {
    /// The grants, one a source.
    pub grants: Vec<Grant>,
    /// Choices that the date leaves out.
    pub undated: Vec<usize>,
    /// Of all of that: the decision is about this and nothing else.
    pub digest: String,
}

impl Vault {
    /// Notes what the owner asks for, for the program called `name`.
    ///
    /// # Errors
    /// `invalid_request` for a name that nothing has; where the database fails; without randomness.
    pub fn ask(&self, client_id: &str, name: &str, wish: Wish) -> Result<Waiting, ApiError> {
        self.store.read(|_, catalog| wish.look_up(catalog, BASE).map(|_| ()))?;
        let client = Client {
            id: client_id.to_owned(),
            name: name.to_owned(),
            redirect_uris: Vec::new(),
            domain: None,
        };
        let noted = self.flows.add(client, Asked::Wish(Box::new(wish)), Way::Here)?;
        Ok(Waiting { id: noted.id, link: format!("/consent/owner/{}", noted.secret) })
    }

    /// What can be picked, and the form as it is ticked beforehand.
    ///
    /// # Errors
    /// Where the database fails.
    pub fn choices(&self, id: &str) -> Result<(AuthorizationDetails, Form), ApiError> {
        let pending = self.flows.get(id).ok_or_else(gone)?;
        let details = self.store.read(|_, catalog| consent::look_up(catalog, BASE, &pending.asked))?;
        let form = consent::left(&pending, &details).unwrap_or_default();
        Ok((details, form))
    }

    /// The form with the boxes of each set ticked: who and when, and with text.
    ///
    /// # Errors
    /// Where the database fails.
    pub fn sets(&self, id: &str) -> Result<[Form; 2], ApiError> {
        let pending = self.flows.get(id).ok_or_else(gone)?;
        consent::sets(self, BASE, &pending)
    }

    /// What the form `posted` comes to, to be decided.
    ///
    /// # Errors
    /// `invalid_request` where that is nothing; where the database fails.
    pub fn review(&self, id: &str, posted: &[(String, String)]) -> Result<Review, ApiError> {
        let pending = self.flows.get(id).ok_or_else(gone)?;
        let (summary, grants) = consent::reviewed(self, BASE, &pending, posted)?;
        Ok(self.to_review(id, summary, grants))
    }

    /// What was reviewed last, as it is now.
    ///
    /// # Errors
    /// As [`Vault::review`].
    pub fn review_again(&self, id: &str) -> Result<Review, ApiError> {
        let pending = self.flows.get(id).ok_or_else(gone)?;
        let (summary, grants) = consent::still_shown(self, BASE, &pending)?.ok_or_else(gone)?;
        Ok(self.to_review(id, summary, grants))
    }

    fn to_review(&self, id: &str, summary: Summary, grants: Vec<Grant>) -> Review {
        let review =
            Review { grants, undated: summary.selection.undated.clone(), digest: summary.digest.clone() };
        self.flows.note(id, |pending| pending.summary = Some(summary));
        review
    }

    /// Approves what was shown as `digest`; `None` where that has changed since, and is to be shown again.
    ///
    /// # Errors
    /// `invalid_request` where it is not open any more; where the database fails.
    pub fn approve_shown(&self, id: &str, digest: &str) -> Result<Option<()>, ApiError> {
        let pending = self.flows.get(id).ok_or_else(gone)?;
        match consent::still_shown(self, BASE, &pending)? {
            Some((now, grants)) if now.digest == digest => {
                consent::decide(self, id, grants)?;
                Ok(Some(()))
            }
            _ => Ok(None),
        }
    }

    /// Denies it.
    pub fn deny(&self, id: &str) {
        // One that is decided already stays so.
        let _ = self.flows.decide(id, |_| Ok(Decision::Denied { at_ms: crate::vault::time::now_ms() }));
    }

    /// How it stands. The tokens are given each time: whoever asks is in this process.
    pub fn decided(&self, id: &str) -> Decided {
        let Some(pending) = self.flows.get(id) else { return Decided::Expired };
        match &pending.decision {
            Decision::Open if pending.is_expired() => Decided::Expired,
            Decision::Open => Decided::Open,
            Decision::Denied { .. } => Decided::Denied,
            Decision::Approved(approval) => match &approval.outcome {
                Outcome::Here(tokens) => {
                    let grants = approval.granted.grants.iter().cloned().zip(tokens.iter().cloned());
                    Decided::Approved(grants.map(|(grant, token)| Approved { grant, token }).collect())
                }
                _ => Decided::Denied,
            },
        }
    }

    /// Every grant that was ever made, the newest first, with when it was ended, in milliseconds.
    ///
    /// # Errors
    /// Where the database fails.
    pub fn grants_made(&self) -> Result<Vec<(Grant, Option<i64>)>, ApiError> {
        tokens::all(self)
    }

    /// Ends grants: from the next read on none of their tokens is good for anything.
    ///
    /// # Errors
    /// Where the database fails.
    pub fn end_grants<'a>(&self, grants: impl Iterator<Item = &'a str>) -> Result<(), ApiError> {
        tokens::end_grants(self, grants)
    }

    /// Takes the account `instance_id` out of `grants`, which are on others too: also when it is imported again later.
    ///
    /// # Errors
    /// Where the database fails.
    pub fn narrow_grants(&self, grants: Vec<Grant>, instance_id: &str) -> Result<(), ApiError> {
        tokens::narrow_grants(self, grants, instance_id)
    }
}

fn gone() -> ApiError {
    ApiError::invalid("This request is not open any more")
}
