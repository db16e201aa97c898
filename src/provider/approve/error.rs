//! Why there is no grant: what each failure is called, and what a person can do about it.

use std::time::Duration;

use super::Choice;
use super::flow::{self, FlowError};
use super::token::TokenError;
use super::wanted::Wanted;
use crate::advice::{Command, Hint};
use crate::error::{Error, Kind};
use crate::provider::discovery::DiscoveryError;
use crate::provider::http::{Answer, HttpError};
use crate::provider::oauth_error::{OAuthError, Part};
use crate::provider::register::RegisterError;
use crate::provider::url::ProviderUrl;
use crate::time_text::minutes;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum ApproveError {
    /// No answer.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// No client id.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// No flow to take.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// The provider fronts several sources and was not told which.
    #[error("the provider has several sources, and has to be told which one to ask for")]
    SourceRequired {
        /// Those that it named.
        choices: Vec<Choice>,
    },
    /// The source is configured more than once, and it was not said which one is meant.
    #[error("the source is configured more than once, and the provider has to be told which one to ask for")]
    InstanceRequired {
        /// Those that it named.
        choices: Vec<Choice>,
    },
    /// PAR needs a client id.
    #[error("the authorization server registers no clients and keeps none for this program")]
    ClientRequired,
    /// The authorization server does not know the client id.
    #[error("the authorization server does not know this client: {0}")]
    UnknownClient(OAuthError),
    /// The request itself was refused.
    #[error("the authorization server refused the request: {0}")]
    RequestRefused(OAuthError),
    /// It was not looked at: too many requests (429), or a server that is down (5xx).
    #[error("the authorization server has no time now: {0}")]
    Busy(OAuthError),
    /// The request names something that the provider does not know.
    #[error("the authorization server refused the request: {error}")]
    Unknown {
        /// What.
        part: Part,
        /// In the provider's words.
        error: OAuthError,
        /// What it knows instead, where that is known.
        choices: Vec<Choice>,
    },
    /// An answer without what it must have.
    #[error("the authorization server's answer cannot be used: {0}")]
    Malformed(String),
    /// A URL in an answer that leads elsewhere.
    #[error(transparent)]
    Foreign(#[from] DiscoveryError),
    /// The owner said no.
    #[error("the owner denied the request")]
    Denied,
    /// Nobody approved in time.
    #[error("nobody approved the request in time{}", unheard(last.as_ref()))]
    Expired {
        /// The last exchange that failed, if the provider was not heard from afterwards.
        last: Option<HttpError>,
    },
    /// This program stopped waiting, before the provider did or said when it would.
    #[error("nobody approved the request within {} s{}", waited.as_secs(), unheard(last.as_ref()))]
    WaitOver {
        /// How long it waited.
        waited: Duration,
        /// How long the provider's page can be approved from then on, where the provider says.
        left: Option<Duration>,
        /// As in [`ApproveError::Expired`].
        last: Option<HttpError>,
    },
    /// The authorization server forgot the attempt: it was answered or denied before.
    #[error("the authorization server no longer knows this request: {0}")]
    InvalidGrant(OAuthError),
    /// Waiting was refused for another reason.
    #[error("the authorization server stopped the request: {0}")]
    PollRefused(OAuthError),
    /// No port of this machine to come back to.
    #[error("no port on 127.0.0.1 could be opened for the browser to come back to: {0}")]
    Loopback(std::io::Error),
    /// Nothing came back but answers of another browser, or with another state than the one that was sent.
    #[error(
        "what came back was no answer to this request: of another browser, or with another `state` than was sent"
    )]
    StateMismatch,
    /// RFC 9207: an answer of somebody else.
    #[error("the answer that came back is of {found}, and {asked} was asked")]
    OtherIssuer {
        /// Who was asked.
        asked: String,
        /// `iss`.
        found: String,
    },
    /// This machine gave no random bytes.
    #[error("this machine gave no random bytes")]
    NoRandomness,
    /// An approval without a usable token.
    #[error(transparent)]
    Token(#[from] TokenError),
}

fn unheard(last: Option<&HttpError>) -> String {
    last.map(|error| format!(", as far as this machine could hear ({error})")).unwrap_or_default()
}

impl ApproveError {
    /// A request that was refused, for the client's sake or its own; with what the refusal offers instead.
    pub(super) fn refused(error: OAuthError, choices: Vec<Choice>) -> Self {
        match error.unknown() {
            _ if error.status == 429 || error.status >= 500 => Self::Busy(error),
            _ if error.is_unknown_client() => Self::UnknownClient(error),
            _ if error.is("ambiguous_connection") => Self::InstanceRequired { choices },
            Some(part) => Self::Unknown { part, error, choices },
            None => Self::RequestRefused(error),
        }
    }

    /// A refusal of a request that carried the details of `wanted`.
    pub(super) fn of_details(answer: &Answer, wanted: &Wanted) -> Self {
        let error = OAuthError::of(answer);
        let choices = Choice::of(answer);
        if error.is_unknown_client() || !(400..500).contains(&error.status) {
            return Self::refused(error, choices);
        }
        // A provider of several sources does not know itself as one.
        let of_source = error.says("source") && !error.says("stream");
        if wanted.source.is_none() && (of_source || error.says("authorization_details is required")) {
            return Self::SourceRequired { choices };
        }
        let without_instance = wanted.source.as_ref().is_some_and(|source| source.instance_ids.is_empty());
        if without_instance && error.says("instance_ids") && error.unknown().is_none() {
            return Self::InstanceRequired { choices };
        }
        Self::refused(error, choices)
    }

    /// The stable code; OAuth's own (RFC 6749, RFC 8628) where there is one.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Http(error) | Self::Register(RegisterError::Http(error)) => error.code(),
            Self::Register(RegisterError::Confidential) => "client_secret_required",
            Self::Register(_) => "registration_failed",
            Self::Flow(error) => error.code(),
            Self::SourceRequired { .. } => "source_required",
            Self::InstanceRequired { .. } => "instance_required",
            Self::ClientRequired => "registration_unsupported",
            Self::UnknownClient(_) => "invalid_client",
            Self::RequestRefused(_) => "request_refused",
            Self::Busy(_) => "authorization_server_busy",
            Self::Unknown { part, .. } => match part {
                Part::Source => "source_unknown",
                Part::Instance => "instance_unknown",
                Part::Stream => "stream_unknown",
                Part::Field => "field_unknown",
            },
            Self::Malformed(_) => "authorization_answer_malformed",
            Self::Foreign(error) => error.code(),
            Self::Denied => "access_denied",
            Self::Expired { .. } => "expired_token",
            Self::WaitOver { .. } => "wait_over",
            Self::InvalidGrant(_) => "invalid_grant",
            Self::PollRefused(_) => "approval_failed",
            Self::Loopback(_) => "loopback_failed",
            Self::StateMismatch => "state_mismatch",
            Self::OtherIssuer { .. } => "answer_issuer_mismatch",
            Self::NoRandomness => "no_randomness",
            Self::Token(error) => error.code(),
        }
    }

    const fn kind(&self) -> Kind {
        match self {
            Self::SourceRequired { .. }
            | Self::InstanceRequired { .. }
            | Self::Unknown { .. }
            | Self::Flow(
                FlowError::NotOffered { .. }
                | FlowError::NarrowingUnsupported(_)
                | FlowError::SourceUnsupported,
            ) => Kind::Usage,
            Self::Loopback(_) | Self::NoRandomness => Kind::Failed,
            Self::UnknownClient(_)
            | Self::RequestRefused(_)
            | Self::Denied
            | Self::Expired { .. }
            | Self::WaitOver { .. }
            | Self::InvalidGrant(_)
            | Self::PollRefused(_)
            | Self::StateMismatch
            | Self::OtherIssuer { .. }
            | Self::Register(RegisterError::Refused(_) | RegisterError::Confidential) => Kind::Refused,
            Self::Token(error) => error.kind(),
            _ => Kind::Unavailable,
        }
    }

    /// Whether it is about what was asked for, and another request may fare better.
    pub const fn is_of_the_request(&self) -> bool {
        matches!(
            self,
            Self::RequestRefused(_)
                | Self::Unknown { .. }
                | Self::SourceRequired { .. }
                | Self::InstanceRequired { .. }
                | Self::Flow(FlowError::SourceUnsupported | FlowError::NarrowingUnsupported(_))
                | Self::ClientRequired
        )
    }

    /// For a person who wants a grant from `provider`. `again` gives the command that was typed, without the options
    /// that are named to it.
    pub fn into_error(self, provider: &ProviderUrl, again: &dyn Fn(&[&str]) -> Command) -> Error {
        let message = match &self {
            Self::Denied => format!("{provider}: the request was denied"),
            Self::Expired { .. } => format!("{provider}: the request expired before it was approved"),
            Self::WaitOver { waited, .. } => {
                format!("{provider}: nobody approved within {}, and the waiting ended", minutes(*waited))
            }
            Self::SourceRequired { choices } if choices.is_empty() => format!(
                "{provider} has several sources, and does not list them to a program. One must be named by its URI, such as \
                 https://registry.pdpp.dev/connectors/slack (with --instance <ID> where it has several accounts), or the \
                 owner picks on the provider's page"
            ),
            Self::SourceRequired { choices } => {
                format!("{provider} has several sources, and one must be named:{}", listed(choices))
            }
            Self::InstanceRequired { choices } => format!(
                "{provider}: the source is configured more than once, and it must be said which one is meant{}",
                if choices.is_empty() {
                    ", by an id that the provider does not list to a program".to_owned()
                } else {
                    format!(":{}", listed(choices))
                }
            ),
            Self::Unknown { part, choices, .. } if !choices.is_empty() => {
                format!("{provider} does not know that {}; known are:{}", part.noun(), listed(choices))
            }
            Self::Unknown { part, .. } => format!("{provider} does not know that {}", part.noun()),
            _ => format!("{provider} gave no grant"),
        };
        let hint = match &self {
            Self::Http(error) | Self::Register(RegisterError::Http(error)) => error.next_step().into(),
            Self::SourceRequired { .. } => Hint::from(again(&["--source", "--instance"]).words("--source <URI>"))
                .then(", or pick on the provider's page, where it has one: ")
                .run(again(&["--flow", "--source", "--instance"]).words("--flow authorization-code")),
            Self::InstanceRequired { choices } if choices.is_empty() => {
                Hint::from(again(&["--instance"]).words("--instance <ID>"))
                    .then(", or pick the account on the provider's page, where it has one: ")
                    .run(again(&["--flow", "--source", "--instance"]).words("--flow authorization-code"))
            }
            Self::InstanceRequired { .. } => again(&["--instance"]).words("--instance <ID>").into(),
            Self::Unknown { part, choices, .. } => unknown_hint(*part, choices, again),
            Self::Flow(FlowError::SourceUnsupported) => {
                Hint::new("Leave --source out: ").run(again(&["--source", "--instance"]))
            }
            Self::Flow(FlowError::NotOffered { offered, .. }) if !offered.is_empty() => {
                format!("Leave --flow out, or name one of: {}", flow::list(offered)).into()
            }
            Self::Flow(FlowError::NotOffered { .. }) => "Ask the provider whether it serves agents".into(),
            Self::Flow(FlowError::NarrowingUnsupported(_)) => {
                "Narrow it on the provider's page instead, or leave --flow out".into()
            }
            Self::StateMismatch | Self::OtherIssuer { .. } => Hint::new(
                "Nothing is stored. If you do not know how that came about, tell the provider; to ask again: ",
            )
            .run(again(&[])),
            Self::Loopback(_) | Self::NoRandomness => {
                Hint::new("Try another way: ").run(again(&["--flow"]).words("--flow device-code"))
            }
            Self::Busy(_) => Hint::new("Try again in a minute: ").run(again(&[])),
            Self::RequestRefused(error) => refused_hint(error, provider, again),
            Self::Denied | Self::Expired { .. } | Self::InvalidGrant(_) | Self::PollRefused(_) => {
                Hint::new("Nothing is stored. To ask again: ").run(again(&[]))
            }
            Self::WaitOver { left, .. } => {
                let left = match left {
                    Some(left) if *left > Duration::from_hours(24) => "for days to come".to_owned(),
                    Some(left) => format!("for {} more", minutes(*left)),
                    None => "for a while, perhaps".to_owned(),
                };
                Hint::new(format!(
                    "Nothing is stored. The page can still be approved {left}, but nothing here waits for it any \
                     more: leave it. To ask again: "
                ))
                .run(again(&[]))
            }
            Self::Register(RegisterError::Confidential) => {
                "Nobody was asked for an approval. Ask the provider to take clients without a secret (RFC 8252 §8.4)".into()
            }
            Self::UnknownClient(_) | Self::Register(_) => {
                "Try again later; if it stays so, tell the provider".into()
            }
            Self::Flow(FlowError::NoneOffered) | Self::ClientRequired => {
                "Ask the provider whether it serves agents, or whether a newer pdpp is needed".into()
            }
            Self::Malformed(_) | Self::Foreign(_) | Self::Token(_) => {
                "This is the provider's to put right; nothing is stored".into()
            }
        };
        let error = Error::new(self.kind(), self.code(), message).hint(hint);
        match self {
            // The message says it all.
            Self::SourceRequired { .. }
            | Self::InstanceRequired { .. }
            | Self::Denied
            | Self::Expired { last: None }
            | Self::WaitOver { last: None, .. } => error,
            cause => error.because(cause),
        }
    }
}

/// What to type after a request that was refused as a whole.
fn refused_hint(error: &OAuthError, provider: &ProviderUrl, again: &dyn Fn(&[&str]) -> Command) -> Hint {
    // The draft's grants have an end; not every provider lets a request name it.
    let names_an_end = again(&[]).to_string() != again(&["--expires"]).to_string();
    if error.says("additional propert") && names_an_end {
        let hint = "It may be that the provider takes no end in a request; leave it out, and set it on the provider's page: ";
        return Hint::new(hint).run(again(&["--expires"]));
    }
    Hint::new("Leave out what narrows the request, and narrow it on the provider's page: ")
        .run(Command::connect(provider.typed()))
}

/// What to type after a name that a provider does not know. A field's choices are written as the option takes them:
/// `messages.subject`.
fn unknown_hint(part: Part, choices: &[Choice], again: &dyn Fn(&[&str]) -> Command) -> Hint {
    let (option, without): (_, &[&str]) = match part {
        Part::Source => ("--source", &["--source", "--instance"]),
        Part::Instance => ("--instance", &["--instance"]),
        Part::Stream => ("--stream", &["--stream", "--field"]),
        Part::Field => ("--field", &["--field"]),
    };
    if let Some(first) = choices.first() {
        return Hint::new("Name one as listed: ").run(again(without).option(option, &first.id));
    }
    let words = match part {
        Part::Source => {
            return Hint::new(
                "A source is named by its connector's URI, such as https://registry.pdpp.dev/connectors/slack. Leave \
                 --source out to pick on the provider's page: ",
            )
            .run(again(&["--source", "--instance"]).words("--flow authorization-code"));
        }
        Part::Instance => "Leave --instance out, and pick on the provider's page, which shows each one: ",
        Part::Stream => {
            "A stream belongs to a source, which --source names. Leave --stream out to pick on the provider's page: "
        }
        Part::Field => {
            "Streams of several sources can have the same name: --source names the one that is meant. Leave --field out \
             to pick on the provider's page: "
        }
    };
    Hint::new(words).run(again(without))
}

/// Choices shown at most.
const SHOWN: usize = 20;

fn listed(choices: &[Choice]) -> String {
    let list = choices.iter().take(SHOWN).fold(String::new(), |list, choice| format!("{list}\n  {choice}"));
    match choices.len().saturating_sub(SHOWN) {
        0 => list,
        more => format!("{list}\n  and {more} more"),
    }
}
