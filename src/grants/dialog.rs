//! What a person is told and asked on the way to a grant.

use std::io;
use std::time::Duration;

use super::difference::Difference;
use crate::cache::credential::Credential;
use crate::error::Result;
use crate::provider::approve::flow::Flow;
use crate::provider::approve::wanted::Wanted;
use crate::provider::approve::{ApproveError, Attempt, Choice};
use crate::provider::discovery::Discovery;
use crate::provider::url::ProviderUrl;
use crate::vault::Holds;

/// Something that happens on the way to a grant.
pub enum Event<'a> {
    /// The flow uses a device code, because no browser of the owner's is expected here.
    UsesDeviceCode {
        /// The reason, as a clause.
        why: &'static str,
    },
    /// The provider does not accept a request for exactly what the renewed grant has: the owner must pick it.
    PickTheSame {
        /// The provider's refusal.
        refused: &'a ApproveError,
        /// The grant that is renewed.
        old: &'a Credential,
    },
    /// The token goes into a store other than the usual one; one line.
    Store(&'a str),
    /// The accounts of the renewed grant give different parts of these streams, which a request cannot
    /// express.
    AccountsDiffer(&'a [String]),
    /// The owner is asked to approve the request.
    Approve(Invitation<'a>),
    /// What a grant of the person's own store protects against.
    Holds(&'a Holds),
    /// The owner decides at this terminal, because no browser is expected here.
    AsksHere {
        /// The reason, as a clause.
        why: &'static str,
    },
    /// The owner is asked to approve on a page of this computer.
    ApproveHere {
        /// What a person must do to get there.
        shown: Shown,
    },
    /// The browser must reach these ports of this computer, and is probably elsewhere.
    NeedsPorts(&'a [u16]),
    /// No browser was opened.
    NotOpened {
        /// Why none is expected here, as a clause; `None` if opening it failed.
        why: Option<&'static str>,
    },
    /// The browser has not opened its page in time: a person opens `address`, and types `code` there.
    TypeCode {
        /// A page of this computer.
        address: String,
        /// The code that the page asks for.
        code: String,
        /// Whether a browser already has it open.
        is_opened: bool,
    },
    /// Waiting for the owner begins.
    Waits {
        /// The longest wait.
        at_most: Duration,
    },
    /// The grant differs from the request, or from the grant that it renews.
    Differs(&'a Difference, Than),
    /// The grant is on this computer.
    Kept {
        /// The provider of the grant.
        provider: &'a ProviderUrl,
        /// The name of the grant.
        label: &'a str,
    },
    /// An approved grant could not be kept, and was ended at its provider.
    UnkeptEnded,
    /// An approved grant could not be kept, and is still valid at its provider.
    UnkeptStands,
    /// The token of the renewed grant could not be deleted.
    OldTokenLeft {
        /// The renewed grant.
        old: &'a Credential,
        /// The reason.
        why: String,
    },
}

/// What a grant is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Than {
    /// The request.
    Asked,
    /// The grant that it renews.
    Before,
}

/// What the owner is asked to approve, and where.
pub struct Invitation<'a> {
    /// The provider.
    pub discovery: &'a Discovery,
    /// The address, and the code.
    pub attempt: &'a Attempt,
    /// What is asked for.
    pub wanted: &'a Wanted,
    /// The flow.
    pub flow: Flow,
    /// What a person must do to get there.
    pub shown: Shown,
}

/// Which address a person is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// None: the browser here opens the page on its own.
    Nothing,
    /// A page of this computer, which forwards to the provider once its code is typed.
    Typed {
        /// Its address, which contains only a port.
        address: String,
        /// The code that the page asks for.
        code: String,
    },
    /// The provider's own page, for a browser anywhere.
    Provider,
}

impl Invitation<'_> {
    /// Whether the request states what to ask for; if not, the owner picks.
    pub fn is_sent(&self) -> bool {
        matches!(self.flow, Flow::Par | Flow::DeviceCode) || !self.wanted.is_plain()
    }
}

/// A person's answer to which source to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceAnswer {
    /// By its URI.
    Source(String),
    /// The owner picks on the provider's own page.
    PickThere,
}

/// The party that asks for a grant.
pub trait Dialog {
    /// Reports `event`.
    fn on(&self, event: Event<'_>);

    /// Reports how much longer to wait for the owner; `None` once the wait is over.
    fn waiting(&self, left: Option<Duration>);

    /// Checks that the result can be shown at all: better known before an owner is asked to approve.
    ///
    /// # Errors
    /// The reason why it cannot.
    fn check_output(&self) -> Result<()>;

    /// Asks which source to ask for: one of `choices`, if the provider named any; `None` if there is no answer.
    /// `can_pick` tells whether the owner can pick on the provider's own page.
    ///
    /// # Errors
    /// The question was stopped.
    fn choose_source(&self, choices: &[Choice], can_pick: bool) -> io::Result<Option<SourceAnswer>>;

    /// Asks which instance of the source to ask for, in the same way.
    ///
    /// # Errors
    /// The question was stopped.
    fn choose_instance(&self, choices: &[Choice]) -> io::Result<Option<String>>;
}
