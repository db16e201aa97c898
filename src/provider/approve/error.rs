//! Why there is no grant: the name of each failure, and what a person can do about it.

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
    /// No usable flow.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// The provider has several sources and was not told which one to use.
    #[error("the provider has several sources, and needs to know which one to ask for")]
    SourceRequired {
        /// The sources that it named.
        choices: Vec<Choice>,
    },
    /// The source is configured more than once, and the request does not name one of its instances.
    #[error(
        "the source is configured more than once, and the provider needs to know which instance to ask for"
    )]
    InstanceRequired {
        /// The instances that it named.
        choices: Vec<Choice>,
    },
    /// PAR needs a client id.
    #[error("the authorization server does not register clients, and has none for pdpp")]
    ClientRequired,
    /// The authorization server does not know the client id.
    #[error("the authorization server does not know this client: {0}")]
    UnknownClient(OAuthError),
    /// The request itself was refused.
    #[error("the authorization server refused the request: {0}")]
    RequestRefused(OAuthError),
    /// The request was not processed: too many requests (429), or a server that is down (5xx).
    #[error("the authorization server is busy: {0}")]
    Busy(OAuthError),
    /// The request names something that the provider does not know.
    #[error("the authorization server refused the request: {error}")]
    Unknown {
        /// The unknown part.
        part: Part,
        /// The provider's error.
        error: OAuthError,
        /// What the provider knows instead, if that is known.
        choices: Vec<Choice>,
    },
    /// An answer without a required member.
    #[error("pdpp cannot use the authorization server's answer: {0}")]
    Malformed(String),
    /// A URL in an answer that leads elsewhere.
    #[error(transparent)]
    Foreign(#[from] DiscoveryError),
    /// The owner refused.
    #[error("the owner denied the request")]
    Denied,
    /// Nobody approved in time.
    #[error("nobody approved the request in time{}", unheard(last.as_ref()))]
    Expired {
        /// The last failed exchange, if nothing was heard from the provider afterwards.
        last: Option<HttpError>,
    },
    /// This program stopped waiting before the provider's request expired, or without knowing when it expires.
    #[error("nobody approved the request within {} s{}", waited.as_secs(), unheard(last.as_ref()))]
    WaitOver {
        /// How long it waited.
        waited: Duration,
        /// How much longer the provider's page can be approved, if the provider states it.
        left: Option<Duration>,
        /// Same as in [`ApproveError::Expired`].
        last: Option<HttpError>,
    },
    /// The authorization server has forgotten the attempt: it was answered or denied before.
    #[error("the authorization server no longer knows this request: {0}")]
    InvalidGrant(OAuthError),
    /// Waiting was refused for another reason.
    #[error("the authorization server stopped the request: {0}")]
    PollRefused(OAuthError),
    /// No port on this computer for the browser to return to.
    #[error("pdpp could not open a port on 127.0.0.1 for the browser to return to: {0}")]
    Loopback(std::io::Error),
    /// Only answers from another browser came back, or with a different state than the one that was sent.
    #[error(
        "no answer to this request came back: it was from another browser, or with a different `state` than pdpp sent"
    )]
    StateMismatch,
    /// Another server answered (RFC 9207).
    #[error("the answer is from {found}, but pdpp asked {asked}")]
    OtherIssuer {
        /// The server that was asked.
        asked: String,
        /// `iss`.
        found: String,
    },
    /// This computer provided no random bytes.
    #[error("this computer provided no random bytes")]
    NoRandomness,
    /// An approval without a usable token.
    #[error(transparent)]
    Token(#[from] TokenError),
}

fn unheard(last: Option<&HttpError>) -> String {
    last.map(|error| format!(", as far as pdpp knows ({error})")).unwrap_or_default()
}

impl ApproveError {
    /// A request that was refused because of the client or because of its content, with the choices in the
    /// refusal.
    pub(super) fn refused(error: OAuthError, choices: Vec<Choice>) -> Self {
        match error.unknown() {
            _ if error.status == 429 || error.status >= 500 => Self::Busy(error),
            _ if error.is_unknown_client() => Self::UnknownClient(error),
            _ if error.is("ambiguous_connection") => Self::InstanceRequired { choices },
            Some(part) => Self::Unknown { part, error, choices },
            None => Self::RequestRefused(error),
        }
    }

    /// The refusal of a request with the details of `wanted`.
    pub(super) fn of_details(answer: &Answer, wanted: &Wanted) -> Self {
        let error = OAuthError::of(answer);
        let choices = Choice::of(answer);
        if error.is_unknown_client() || !(400..500).contains(&error.status) {
            return Self::refused(error, choices);
        }
        // A provider with several sources does not accept its own address as a source.
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

    /// The stable code; OAuth's own (RFC 6749, RFC 8628) if there is one.
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

    /// Whether it is about what was asked for, so that another request may succeed.
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

    /// The error for a person who wants a grant from `provider`. `again` returns the command that was typed,
    /// without the named options.
    pub fn into_error(self, provider: &ProviderUrl, again: &dyn Fn(&[&str]) -> Command) -> Error {
        let message = match &self {
            Self::Denied => format!("{provider}: the request was denied"),
            Self::Expired { .. } => format!("{provider}: the request expired before it was approved"),
            Self::WaitOver { waited, .. } => {
                format!("{provider}: nobody approved within {}, and pdpp stopped waiting", minutes(*waited))
            }
            Self::SourceRequired { choices } if choices.is_empty() => format!(
                "{provider} has several sources, but does not list them to programs. Name one by its URI, such as \
                 https://registry.pdpp.dev/connectors/slack (with --instance <ID> if it has several accounts), or pick one \
                 on the provider's page"
            ),
            Self::SourceRequired { choices } => {
                format!("{provider} has several sources. Name one of them:{}", listed(choices))
            }
            Self::InstanceRequired { choices } => format!(
                "{provider}: the source is configured more than once. Name one of its instances{}",
                if choices.is_empty() {
                    "by its id, which the provider does not list to programs".to_owned()
                } else {
                    format!(":{}", listed(choices))
                }
            ),
            Self::Unknown { part, choices, .. } if !choices.is_empty() => {
                format!("{provider} does not know that {}. It knows:{}", part.noun(), listed(choices))
            }
            Self::Unknown { part, .. } => format!("{provider} does not know that {}", part.noun()),
            _ => format!("{provider} gave no grant"),
        };
        let hint = match &self {
            Self::Http(error) | Self::Register(RegisterError::Http(error)) => error.next_step().into(),
            Self::SourceRequired { .. } => Hint::from(again(&["--source", "--instance"]).words("--source <URI>"))
                .then(", or pick on the provider's page, if it has one: ")
                .run(again(&["--flow", "--source", "--instance"]).words("--flow authorization-code")),
            Self::InstanceRequired { choices } if choices.is_empty() => {
                Hint::from(again(&["--instance"]).words("--instance <ID>"))
                    .then(", or pick the account on the provider's page, if it has one: ")
                    .run(again(&["--flow", "--source", "--instance"]).words("--flow authorization-code"))
            }
            Self::InstanceRequired { .. } => again(&["--instance"]).words("--instance <ID>").into(),
            Self::Unknown { part, choices, .. } => unknown_hint(*part, choices, again),
            Self::Flow(FlowError::SourceUnsupported) => {
                Hint::new("Leave --source out: ").run(again(&["--source", "--instance"]))
            }
            Self::Flow(FlowError::NotOffered { offered, .. }) if !offered.is_empty() => {
                format!("Leave --flow out, or use one of: {}", flow::list(offered)).into()
            }
            Self::Flow(FlowError::NotOffered { .. }) => "Ask the provider whether it supports agents".into(),
            Self::Flow(FlowError::NarrowingUnsupported(_)) => {
                "Narrow it on the provider's page instead, or leave --flow out".into()
            }
            Self::StateMismatch | Self::OtherIssuer { .. } => Hint::new(
                "Nothing is stored. If you do not know how this happened, tell the provider. To ask again: ",
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
                    Some(left) if *left > Duration::from_hours(24) => "for several more days".to_owned(),
                    Some(left) => format!("for {} more", minutes(*left)),
                    None => "for a while".to_owned(),
                };
                Hint::new(format!(
                    "Nothing is stored. The page may still accept an approval {left}, but pdpp no longer waits for it: \
                     do not approve there. To ask again: "
                ))
                .run(again(&[]))
            }
            Self::Register(RegisterError::Confidential) => {
                "Nobody was asked to approve. Ask the provider to accept clients without a secret (RFC 8252 §8.4)".into()
            }
            Self::UnknownClient(_) | Self::Register(_) => {
                "Try again later. If it still fails, tell the provider".into()
            }
            Self::Flow(FlowError::NoneOffered) | Self::ClientRequired => {
                "Ask the provider whether it supports agents, or whether it needs a newer pdpp".into()
            }
            Self::Malformed(_) | Self::Foreign(_) | Self::Token(_) => {
                "The provider must fix this; nothing is stored".into()
            }
        };
        let error = Error::new(self.kind(), self.code(), message).hint(hint);
        match self {
            // The message already contains everything.
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
    // The draft's grants have an end, but not every provider lets a request name it.
    let names_an_end = again(&[]).to_string() != again(&["--expires"]).to_string();
    if error.says("additional propert") && names_an_end {
        let hint = "The provider may not accept an end in a request. Leave it out, and set it on the provider's page: ";
        return Hint::new(hint).run(again(&["--expires"]));
    }
    Hint::new("Leave the narrowing options out, and narrow the grant on the provider's page: ")
        .run(Command::connect(provider.typed()))
}

/// What to type after a name that a provider does not know. A field's choices have the form that the option
/// accepts: `messages.subject`.
fn unknown_hint(part: Part, choices: &[Choice], again: &dyn Fn(&[&str]) -> Command) -> Hint {
    let (option, without): (_, &[&str]) = match part {
        Part::Source => ("--source", &["--source", "--instance"]),
        Part::Instance => ("--instance", &["--instance"]),
        Part::Stream => ("--stream", &["--stream", "--field"]),
        Part::Field => ("--field", &["--field"]),
    };
    if let Some(first) = choices.first() {
        return Hint::new("Use a name from the list: ").run(again(without).option(option, &first.id));
    }
    let words = match part {
        Part::Source => {
            return Hint::new(
                "A source is named by its connector's URI, such as https://registry.pdpp.dev/connectors/slack. Leave \
                 --source out to pick on the provider's page: ",
            )
            .run(again(&["--source", "--instance"]).words("--flow authorization-code"));
        }
        Part::Instance => "Leave --instance out, and pick on the provider's page, which shows all of them: ",
        Part::Stream => {
            "A stream belongs to a source, which --source names. Leave --stream out to pick on the provider's page: "
        }
        Part::Field => {
            "Streams of several sources can have the same name: use --source to name the right one. Leave --field out \
             to pick on the provider's page: "
        }
    };
    Hint::new(words).run(again(without))
}

/// The most choices that are shown.
const SHOWN: usize = 20;

fn listed(choices: &[Choice]) -> String {
    let list = choices.iter().take(SHOWN).fold(String::new(), |list, choice| format!("{list}\n  {choice}"));
    match choices.len().saturating_sub(SHOWN) {
        0 => list,
        more => format!("{list}\n  and {more} more"),
    }
}
