//! One request for a grant, from asking to the owner's answer, in any flow.

use std::time::Duration;

use url::Url;

use super::flow::Flow;
use super::loopback::Listener;
use super::token::TokenResponse;
use super::wanted::Wanted;
use super::{ApproveError, agent_connect, authorization_code, device_code};
use crate::provider::discovery::Discovery;
use crate::provider::http::Http;
use crate::provider::register::{Client, RegisterError, Registration};

/// A request that waits for its owner, in one of the flows.
#[derive(Debug)]
pub enum Attempt {
    /// agent-connect, native or after a pushed request.
    AgentConnect(agent_connect::Attempt),
    /// The browser returns with a code.
    AuthorizationCode(Box<authorization_code::Attempt>),
    /// A device code.
    DeviceCode(device_code::Attempt),
}

impl Attempt {
    /// The address that the owner opens; on the issuer's origin.
    pub const fn url(&self) -> &Url {
        match self {
            Self::AgentConnect(attempt) => &attempt.approval_url,
            Self::AuthorizationCode(attempt) => attempt.listener.target(),
            Self::DeviceCode(attempt) => &attempt.url,
        }
    }

    /// Where the owner's browser comes in, if the attempt waits at a port for it.
    pub fn listener(&self) -> Option<&Listener> {
        match self {
            Self::AuthorizationCode(attempt) => Some(&attempt.listener),
            Self::AgentConnect(_) | Self::DeviceCode(_) => None,
        }
    }

    /// How long to wait for the owner.
    pub const fn waits(&self) -> Duration {
        match self {
            Self::AgentConnect(attempt) => attempt.pace.patience.waits,
            Self::AuthorizationCode(attempt) => attempt.patience.waits,
            Self::DeviceCode(attempt) => attempt.pace.patience.waits,
        }
    }

    /// Waits for the owner for at most `most`.
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

/// Asks for a grant, as a client that is registered if necessary. `remembered` is a client id from an earlier
/// time; if the authorization server has forgotten it, a new one is registered, once.
///
/// # Errors
/// [`ApproveError`].
pub async fn begin(
    http: &Http,
    discovery: &Discovery,
    remembered: Option<String>,
    wanted: &Wanted,
    flow: Flow,
) -> Result<(Attempt, Client), ApproveError> {
    let registration = Registration::offered_by(&discovery.authorization_server);
    let client = match (remembered, &registration) {
        (Some(id), _) => Client::Remembered(id),
        (None, registration) => registration.become_client(http).await?,
    };
    match begin_as(http, discovery, &client, wanted, flow).await {
        Err(ApproveError::UnknownClient(_)) if matches!(client, Client::Remembered(_)) => {
            let client = registration.become_client(http).await?;
            let attempt = begin_as(http, discovery, &client, wanted, flow).await?;
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
    flow: Flow,
) -> Result<Attempt, ApproveError> {
    // Better refused now than after the owner has approved.
    if matches!((flow, client), (Flow::AuthorizationCode | Flow::DeviceCode, Client::Confidential(_))) {
        return Err(RegisterError::Confidential.into());
    }
    Ok(match flow {
        Flow::AgentConnect | Flow::Par => {
            let is_pushed = flow == Flow::Par;
            Attempt::AgentConnect(agent_connect::begin(http, discovery, client, wanted, is_pushed).await?)
        }
        Flow::AuthorizationCode => {
            let attempt = authorization_code::begin(http, discovery, client, wanted).await?;
            Attempt::AuthorizationCode(Box::new(attempt))
        }
        Flow::DeviceCode => Attempt::DeviceCode(device_code::begin(http, discovery, client, wanted).await?),
    })
}
