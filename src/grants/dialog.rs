//! What whoever asks for a grant learns on the way to it, and is asked.

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
    /// The flow is a device code, for no browser of the owner's is to be expected here.
    UsesDeviceCode {
        /// Why not, as a clause.
        why: &'static str,
    },
    /// The provider takes no request for just what the grant that is renewed has: the owner has to pick that.
    PickTheSame {
        /// What it said.
        refused: &'a ApproveError,
        /// The grant that is renewed.
        old: &'a Credential,
    },
    /// The token goes into another store than is usual; one line.
    Store(&'a str),
    /// Streams of which the accounts of the grant that is renewed give different parts, which a request cannot say.
    AccountsDiffer(&'a [String]),
    /// The owner is to approve the request.
    Approve(Invitation<'a>),
    /// What a grant of the person's own store holds against.
    Holds(&'a Holds),
    /// It is decided at this terminal, for no browser is to be expected here.
    AsksHere {
        /// Why not, as a clause.
        why: &'static str,
    },
    /// The owner is to approve on a page of this machine.
    ApproveHere {
        /// What a person has to do to get there.
        shown: Shown,
    },
    /// The browser comes to these ports of this machine, and is probably elsewhere.
    NeedsPorts(&'a [u16]),
    /// No browser was opened.
    NotOpened {
        /// Why none is expected here, as a clause; none where it was tried.
        why: Option<&'static str>,
    },
    /// The browser that was to open its page by itself has not: a person opens `address`, and types `code` there.
    TypeCode {
        /// A page of this machine.
        address: String,
        /// What it asks for.
        code: String,
        /// Whether a browser has it open already.
        is_opened: bool,
    },
    /// The owner is waited for from now on.
    Waits {
        /// For so long.
        at_most: Duration,
    },
    /// The grant is another one than was asked for, or than the one before.
    Differs(&'a Difference, Than),
    /// The grant is on this machine.
    Kept {
        /// Whose it is.
        provider: &'a ProviderUrl,
        /// What it is called.
        label: &'a str,
    },
    /// A grant that was approved and could not be kept is ended at its provider.
    UnkeptEnded,
    /// A grant that was approved and could not be kept stands at its provider.
    UnkeptStands,
    /// The token of the grant that was renewed could not be deleted.
    OldTokenLeft {
        /// That grant.
        old: &'a Credential,
        /// Why.
        why: String,
    },
}

/// What a grant is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Than {
    /// What was asked for.
    Asked,
    /// The grant that it renews.
    Before,
}

/// What the owner is to approve, and where.
pub struct Invitation<'a> {
    /// Who is asked.
    pub discovery: &'a Discovery,
    /// Where, and with which code.
    pub attempt: &'a Attempt,
    /// What is asked for.
    pub wanted: &'a Wanted,
    /// In which flow.
    pub flow: Flow,
    /// What a person has to do to get there.
    pub shown: Shown,
}

/// Which address a person is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// None: the browser here opens the page by itself.
    Nothing,
    /// A page of this machine, which leads on once its code is typed.
    Typed {
        /// Its address, which says nothing but a port.
        address: String,
        /// What it asks for.
        code: String,
    },
    /// The provider's own page, for a browser anywhere.
    Provider,
}

impl Invitation<'_> {
    /// Whether the request carries what is asked for; else the owner picks.
    pub fn is_sent(&self) -> bool {
        matches!(self.flow, Flow::Par | Flow::DeviceCode) || !self.wanted.is_plain()
    }
}

/// Which source to ask for, as a person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceAnswer {
    /// By its URI.
    Source(String),
    /// The owner picks on the provider's own page.
    PickThere,
}

/// Whoever asks for a grant.
pub trait Dialog {
    /// Learns of `event`.
    fn on(&self, event: Event<'_>);

    /// Learns how long the owner is still waited for; none once that is over.
    fn waiting(&self, left: Option<Duration>);

    /// Whether the result can be told at all: better known before an owner is asked for an approval.
    ///
    /// # Errors
    /// Why not.
    fn check_output(&self) -> Result<()>;

    /// Says which source to ask for: of `choices`, where the provider named any; nothing where nobody says. `can_pick`
    /// is whether the provider's own page lets its owner pick.
    ///
    /// # Errors
    /// The question was stopped.
    fn choose_source(&self, choices: &[Choice], can_pick: bool) -> io::Result<Option<SourceAnswer>>;

    /// Says which instance of the source to ask for, in the same way.
    ///
    /// # Errors
    /// The question was stopped.
    fn choose_instance(&self, choices: &[Choice]) -> io::Result<Option<String>>;
}
