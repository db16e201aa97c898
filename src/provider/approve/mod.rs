//! Ways to a grant: ask for it, let the owner approve in a browser, receive the token.
//!
//! One file a way. Each begins an [`Attempt`], whose URL the owner opens and which is then waited for.

pub mod agent_connect;
pub mod oauth_error;
pub mod par;
pub mod proof;
pub mod refresh;
pub mod revoke;
pub mod token;
pub mod wait;

use super::discovery::{Discovery, DiscoveryError, http_hint};
use super::http::{Http, HttpError};
use super::register::{RegisterError, Registration, register};
use super::url::ProviderUrl;
use crate::error::{Error, Kind};
use agent_connect::Attempt;
use oauth_error::OAuthError;
use token::TokenError;

/// What this program is called at a provider, in registrations and on the approval page.
pub const CLIENT_NAME: &str = "PDPP CLI";

/// One source to ask for, where a provider has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRequest {
    /// The source's URI, as the provider lists it.
    pub id: String,
    /// Which configured instances of it; none means the provider may take the only one.
    pub instance_ids: Vec<String>,
}

/// A client id in use, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Client {
    /// Registered earlier, with this issuer, and kept.
    Remembered(String),
    /// Registered just now: worth keeping.
    Registered(String),
    /// The provider's own entry for this program.
    PreRegistered(String),
    /// The authorization server offers no way to be a client; some ways to a grant do without.
    Anonymous,
}

impl Client {
    /// The client id, where there is one.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Remembered(id) | Self::Registered(id) | Self::PreRegistered(id) => Some(id),
            Self::Anonymous => None,
        }
    }
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum ApproveError {
    /// No answer.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// No client id.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// The authorization server offers no way that this version knows.
    #[error(
        "the authorization server has no agent_connect_endpoint, the only way to a grant that this version knows"
    )]
    NoWay,
    /// The provider fronts several sources and was not told which.
    #[error("the provider has several sources, and has to be told which one to ask for")]
    SourceRequired,
    /// A source was named, and the authorization server takes no such request.
    #[error(
        "the authorization server takes no request for one source: it has no pushed_authorization_request_endpoint"
    )]
    SourceUnsupported,
    /// PAR needs a client id.
    #[error("the authorization server registers no clients and keeps none for this program")]
    ClientRequired,
    /// The authorization server does not know the client id.
    #[error("the authorization server does not know this client: {0}")]
    UnknownClient(OAuthError),
    /// The request itself was refused.
    #[error("the authorization server refused the request: {0}")]
    RequestRefused(OAuthError),
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
    /// The authorization server forgot the attempt: it was answered or denied before.
    #[error("the authorization server no longer knows this request: {0}")]
    InvalidGrant(OAuthError),
    /// Waiting was refused for another reason.
    #[error("the authorization server stopped the request: {0}")]
    PollRefused(OAuthError),
    /// An approval without a usable token.
    #[error(transparent)]
    Token(#[from] TokenError),
}

fn unheard(last: Option<&HttpError>) -> String {
    last.map(|error| format!(", as far as this machine could hear ({error})")).unwrap_or_default()
}

impl ApproveError {
    /// A request that was refused, for the client's sake or its own.
    fn refused(error: OAuthError) -> Self {
        if error.is_unknown_client() { Self::UnknownClient(error) } else { Self::RequestRefused(error) }
    }

    /// The stable code; OAuth's own (RFC 6749, RFC 8628) where there is one.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Http(error) | Self::Register(RegisterError::Http(error)) => error.code(),
            Self::Register(_) => "registration_failed",
            Self::NoWay => "no_way_to_a_grant",
            Self::SourceRequired => "source_required",
            Self::SourceUnsupported => "source_unsupported",
            Self::ClientRequired => "registration_unsupported",
            Self::UnknownClient(_) => "invalid_client",
            Self::RequestRefused(_) => "request_refused",
            Self::Malformed(_) => "authorization_answer_malformed",
            Self::Foreign(error) => error.code(),
            Self::Denied => "access_denied",
            Self::Expired { .. } => "expired_token",
            Self::InvalidGrant(_) => "invalid_grant",
            Self::PollRefused(_) => "approval_failed",
            Self::Token(error) => error.code(),
        }
    }

    const fn kind(&self) -> Kind {
        match self {
            Self::SourceRequired | Self::SourceUnsupported => Kind::Usage,
            Self::UnknownClient(_)
            | Self::RequestRefused(_)
            | Self::Denied
            | Self::Expired { .. }
            | Self::InvalidGrant(_)
            | Self::PollRefused(_)
            | Self::Register(RegisterError::Refused(_)) => Kind::Refused,
            Self::Token(error) => error.kind(),
            _ => Kind::Unavailable,
        }
    }

    /// For a person who wants a grant from `provider`.
    pub fn told(self, provider: &ProviderUrl) -> Error {
        let message = match &self {
            Self::Denied => format!("{provider}: the request was denied"),
            Self::Expired { .. } => format!("{provider}: the request expired before it was approved"),
            Self::SourceRequired => format!(
                "{provider} has several sources, and one must be named. The provider's own pages show each \
                 source's URI, such as https://registry.pdpp.dev/connectors/slack; for one that is configured \
                 more than once, name the instances too (--instance <ID>)"
            ),
            _ => format!("{provider} gave no grant"),
        };
        let hint = match &self {
            Self::Http(error) | Self::Register(RegisterError::Http(error)) => http_hint(error),
            Self::SourceRequired => format!("pdpp connect {provider} --source <URI>"),
            Self::SourceUnsupported => format!("Leave --source out: pdpp connect {provider}"),
            Self::RequestRefused(_) => {
                "Check --source and --instance against what the provider lists".to_owned()
            }
            Self::Denied | Self::Expired { .. } | Self::InvalidGrant(_) | Self::PollRefused(_) => {
                format!("Nothing is stored. To ask again: pdpp connect {provider}")
            }
            Self::UnknownClient(_) | Self::Register(_) => {
                "Try again later; if it stays so, tell the provider".to_owned()
            }
            Self::NoWay | Self::ClientRequired => {
                "Ask the provider whether it serves agents, or whether a newer pdpp is needed".to_owned()
            }
            Self::Malformed(_) | Self::Foreign(_) | Self::Token(_) => {
                "This is the provider's to put right; nothing is stored".to_owned()
            }
        };
        let told = Error::new(self.kind(), self.code(), message).hint(hint);
        match self {
            // The message says it all.
            Self::SourceRequired | Self::Denied | Self::Expired { last: None } => told,
            cause => told.because(cause),
        }
    }
}

/// Asks for a grant, as a client that is registered if need be. `remembered` is a client id from an
/// earlier time; if the authorization server has forgotten it, a new one is registered, once.
///
/// # Errors
/// [`ApproveError`].
pub async fn begin(
    http: &Http,
    discovery: &Discovery,
    remembered: Option<String>,
    source: Option<&SourceRequest>,
) -> Result<(Attempt, Client), ApproveError> {
    let registration = Registration::offered_by(&discovery.authorization_server);
    let client = match (remembered, &registration) {
        (Some(id), _) => Client::Remembered(id),
        (None, registration) => become_client(http, registration).await?,
    };
    match agent_connect::begin(http, discovery, &client, source).await {
        Err(ApproveError::UnknownClient(_)) if matches!(client, Client::Remembered(_)) => {
            let client = become_client(http, &registration).await?;
            let attempt = agent_connect::begin(http, discovery, &client, source).await?;
            Ok((attempt, client))
        }
        attempt => Ok((attempt?, client)),
    }
}

async fn become_client(http: &Http, registration: &Registration) -> Result<Client, RegisterError> {
    Ok(match registration {
        Registration::Dynamic(endpoint) => Client::Registered(register(http, endpoint.clone()).await?),
        Registration::PreRegistered(id) => Client::PreRegistered(id.clone()),
        Registration::None => Client::Anonymous,
    })
}
