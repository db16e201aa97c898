//! A request that the owner makes and decides on the machine that has the data: on a page that is served only for
//! it, or at a terminal. Nobody else takes part, and no token crosses a wire.

use super::approval::Approved;
use super::authorization_details::AuthorizationDetails;
use super::client::Client;
use super::flows::{Asked, Decision, Outcome, Summary, Way};
use super::wish::Wish;
use super::{consent, tokens};
use crate::vault::Vault;
use crate::vault::grant::Grant;
use crate::vault::wire::ApiError;

/// The address that stands for a request that is decided here. The request is never sent over a wire.
pub const BASE: &str = "https://local.pdpp.invalid";

/// A request that waits for its owner.
#[derive(Debug)]
pub struct Waiting {
    /// Its id.
    pub id: String,
    /// The path that opens its page once, on the server that serves it.
    pub link: String,
}

/// A form as a person left it: names and values.
pub type Form = Vec<(String, String)>;

/// The result of a request.
#[derive(Debug)]
pub enum Decided {
    /// No decision yet.
    Open,
    /// Approved: these grants, each with its token.
    Approved(Vec<Approved>),
    /// Nothing was granted.
    Denied,
    /// Nobody decided in time.
    Expired,
}

/// What a decision would approve.
#[derive(Debug)]
pub struct Review {
    /// The grants, one per source.
    pub grants: Vec<Grant>,
    /// The choices that the date leaves out.
    pub undated: Vec<usize>,
    /// The digest of all of that. The decision is about exactly this.
    pub digest: String,
}

impl Vault {
    /// Adds what the owner asks for, for the program called `name`.
    ///
    /// # Errors
    /// Returns `invalid_request` for a name that does not exist, or the errors of the database, or an error if the
    /// system supplies no random numbers.
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

    /// What can be selected, and the form with its first ticks.
    ///
    /// # Errors
    /// Returns the errors of the database.
    pub fn choices(&self, id: &str) -> Result<(AuthorizationDetails, Form), ApiError> {
        let pending = self.flows.get(id).ok_or_else(gone)?;
        let details = self.store.read(|_, catalog| consent::look_up(catalog, BASE, &pending.asked))?;
        let form = consent::left(&pending, &details).unwrap_or_default();
        Ok((details, form))
    }

    /// The form with the boxes of each set ticked: who and when, and with text.
    ///
    /// # Errors
    /// Returns the errors of the database.
    pub fn sets(&self, id: &str) -> Result<[Form; 2], ApiError> {
        let pending = self.flows.get(id).ok_or_else(gone)?;
        consent::sets(self, BASE, &pending)
    }

    /// What the form `posted` would grant, to be decided.
    ///
    /// # Errors
    /// Returns `invalid_request` if that is nothing, or the errors of the database.
    pub fn review(&self, id: &str, posted: &[(String, String)]) -> Result<Review, ApiError> {
        let pending = self.flows.get(id).ok_or_else(gone)?;
        let (summary, grants) = consent::reviewed(self, BASE, &pending, posted)?;
        Ok(self.to_review(id, summary, grants))
    }

    /// The current state of what was last reviewed.
    ///
    /// # Errors
    /// Returns the errors of [`Vault::review`].
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

    /// Approves what was shown as `digest`; `None` if that has changed since then and must be shown again.
    ///
    /// # Errors
    /// Returns `invalid_request` if the request is no longer open, or the errors of the database.
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

    /// Denies the request.
    pub fn deny(&self, id: &str) {
        // A request that is already decided keeps its decision.
        let _ = self.flows.decide(id, |_| Ok(Decision::Denied { at_ms: crate::vault::time::now_ms() }));
    }

    /// The state of the request. Returns the tokens every time, because the caller is in this process.
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

    /// Every grant that was ever made, newest first, with the time at which it was ended, in milliseconds.
    ///
    /// # Errors
    /// Returns the errors of the database.
    pub fn grants_made(&self) -> Result<Vec<(Grant, Option<i64>)>, ApiError> {
        tokens::all(self)
    }

    /// Ends grants. From the next read on, none of their tokens is valid.
    ///
    /// # Errors
    /// Returns the errors of the database.
    pub fn end_grants<'a>(&self, grants: impl Iterator<Item = &'a str>) -> Result<(), ApiError> {
        tokens::end_grants(self, grants)
    }

    /// Removes the account `instance_id` from `grants`, which also cover others. This holds even if the account is
    /// imported again later.
    ///
    /// # Errors
    /// Returns the errors of the database.
    pub fn narrow_grants(&self, grants: Vec<Grant>, instance_id: &str) -> Result<(), ApiError> {
        tokens::narrow_grants(self, grants, instance_id)
    }
}

fn gone() -> ApiError {
    ApiError::invalid("This request is no longer open")
}
