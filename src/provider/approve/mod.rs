//! Ways to a grant: ask for it, let the owner approve in a browser, receive the token.
//!
//! One file a way. Each begins an [`Attempt`], whose URL the owner opens and which is then waited for.

pub mod agent_connect;
pub mod authorization_code;
pub mod device_code;
mod error;
pub mod loopback;
pub mod oauth_error;
pub mod par;
pub mod proof;
pub mod refresh;
pub mod revoke;
pub mod token;
pub mod wait;
pub mod wanted;
pub mod way;

use std::time::Duration;

use serde_json::Value;
use url::Url;

use super::discovery::Discovery;
use super::http::{Answer, Http};
use super::register::{RegisterError, Registration, register};
use crate::text;
pub use error::ApproveError;
use token::TokenResponse;
use wanted::Wanted;
use way::Way;

/// What this program is called at a provider, in registrations and on the approval page.
pub const CLIENT_NAME: &str = "PDPP CLI";

/// Something that a provider offers to choose from, where it refuses to choose itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What to name it by: a source's URI, an instance's id, a name. At most 500 bytes.
    pub id: String,
    /// What to call it, at most 200 bytes.
    pub label: Option<String>,
}

impl Choice {
    /// Choices kept at most.
    const MAX: usize = 50;

    /// The choices that a refusal names, if it names any.
    fn of(answer: &Answer) -> Vec<Self> {
        let body = answer.object().unwrap_or_default();
        let places = [body.get("error").and_then(Value::as_object), Some(&body)];
        let lists = [
            "available_sources",
            "available_connections",
            "available_instances",
            "available_streams",
            "available_fields",
        ];
        let found = places
            .into_iter()
            .flatten()
            .find_map(|place| lists.iter().find_map(|name| place.get(*name)?.as_array()));
        let one = |choice: &Value| {
            let text = |pointer: &str| choice.pointer(pointer).and_then(Value::as_str);
            let ids = ["/source/id", "/id", "/connection_id", "/instance_id"];
            let labels = ["/display_name", "/name", "/label"];
            let id = ids.iter().find_map(|id| text(id)).or(choice.as_str())?;
            let id = (1..=500).contains(&id.len()).then(|| id.to_owned())?;
            let label = labels.iter().find_map(|label| text(label));
            Some(Self { id, label: label.map(|label| text::prefix(label, 200).to_owned()) })
        };
        found.into_iter().flatten().filter_map(one).take(Self::MAX).collect()
    }

    /// For a list.
    pub fn told(&self) -> String {
        match &self.label {
            Some(label) => format!("{} ({})", text::one_line(&self.id), text::one_line(label)),
            None => text::one_line(&self.id).into_owned(),
        }
    }
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

/// `5:00 min`.
pub fn minutes(span: Duration) -> String {
    let seconds = span.as_secs();
    format!("{}:{:02} min", seconds / 60, seconds % 60)
}

/// What `resource` (RFC 8707) carries where a token is asked for at the authorization server's own
/// endpoints: the provider's `/mcp`, for which client tokens are good as well as for `/v1`.
pub fn mcp_resource(discovery: &Discovery) -> String {
    format!("{}/mcp", discovery.resource.trim_end_matches('/'))
}

/// A request that waits for its owner, in one of the ways.
#[derive(Debug)]
pub enum Attempt {
    /// agent-connect, native or after a pushed request.
    AgentConnect(agent_connect::Attempt),
    /// The browser comes back with a code.
    AuthorizationCode(Box<authorization_code::Attempt>),
    /// A device code.
    DeviceCode(device_code::Attempt),
}

impl Attempt {
    /// What the owner opens; on the issuer's origin.
    pub const fn url(&self) -> &Url {
        match self {
            Self::AgentConnect(attempt) => &attempt.approval_url,
            Self::AuthorizationCode(attempt) => &attempt.url,
            Self::DeviceCode(attempt) => &attempt.url,
        }
    }

    /// How long the owner is waited for.
    pub const fn waits(&self) -> Duration {
        match self {
            Self::AgentConnect(attempt) => attempt.pace.patience.waits,
            Self::AuthorizationCode(attempt) => attempt.patience.waits,
            Self::DeviceCode(attempt) => attempt.pace.patience.waits,
        }
    }

    /// Waits for the owner no longer than `most`.
    #[must_use]
    pub fn within(mut self, most: Option<Duration>) -> Self {
        let patience = match &mut self {
            Self::AgentConnect(attempt) => &mut attempt.pace.patience,
            Self::AuthorizationCode(attempt) => &mut attempt.patience,
            Self::DeviceCode(attempt) => &mut attempt.pace.patience,
        };
        if let Some(most) = most {
            patience.limit(most);
        }
        self
    }

    /// Waits until the owner has decided, or the time is over. Dropping the future stops it.
    ///
    /// # Errors
    /// [`ApproveError`].
    pub async fn wait(&self, http: &Http) -> Result<TokenResponse, ApproveError> {
        match self {
            Self::AgentConnect(attempt) => attempt.wait(http).await,
            Self::AuthorizationCode(attempt) => attempt.wait(http).await,
            Self::DeviceCode(attempt) => attempt.wait(http).await,
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
    wanted: &Wanted,
    way: Way,
) -> Result<(Attempt, Client), ApproveError> {
    let registration = Registration::offered_by(&discovery.authorization_server);
    let client = match (remembered, &registration) {
        (Some(id), _) => Client::Remembered(id),
        (None, registration) => become_client(http, registration).await?,
    };
    match begin_as(http, discovery, &client, wanted, way).await {
        Err(ApproveError::UnknownClient(_)) if matches!(client, Client::Remembered(_)) => {
            let client = become_client(http, &registration).await?;
            let attempt = begin_as(http, discovery, &client, wanted, way).await?;
            Ok((attempt, client))
        }
        attempt => Ok((attempt?, client)),
    }
}

async fn begin_as(
    http: &Http,
    discovery: &Discovery,
    client: &Client,
    wanted: &Wanted,
    way: Way,
) -> Result<Attempt, ApproveError> {
    Ok(match way {
        Way::AgentConnect => {
            Attempt::AgentConnect(agent_connect::begin(http, discovery, client, None).await?)
        }
        Way::Par => Attempt::AgentConnect(agent_connect::begin(http, discovery, client, Some(wanted)).await?),
        Way::AuthorizationCode => {
            let attempt = authorization_code::begin(http, discovery, client, wanted).await?;
            Attempt::AuthorizationCode(Box::new(attempt))
        }
        Way::DeviceCode => Attempt::DeviceCode(device_code::begin(http, discovery, client, wanted).await?),
    })
}

async fn become_client(http: &Http, registration: &Registration) -> Result<Client, RegisterError> {
    Ok(match registration {
        Registration::Dynamic { endpoint, with_redirect } => {
            Client::Registered(register(http, endpoint.clone(), *with_redirect).await?)
        }
        Registration::PreRegistered(id) => Client::PreRegistered(id.clone()),
        Registration::None => Client::Anonymous,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn countdowns_are_minutes_and_seconds() {
        assert_eq!(minutes(Duration::from_mins(5)), "5:00 min");
        assert_eq!(minutes(Duration::from_millis(61_999)), "1:01 min");
    }
}
