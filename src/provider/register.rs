//! Dynamic client registration (RFC 7591) of this program as a public client.

use serde_json::json;
use url::Url;

use super::discovery::AuthorizationServer;
use super::http::{Http, HttpError};
use super::oauth_error::OAuthError;

/// This program's name at a provider, in registrations and on the approval page.
pub const CLIENT_NAME: &str = "PDPP CLI";

/// The path on this computer that an owner's browser returns to.
pub const CALLBACK: &str = "/callback";

/// The pre-registered public client that stands for this program, if the provider has it.
const PRE_REGISTERED: &str = "pdpp_cli";

/// A client id in use, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Client {
    /// Registered earlier with this issuer, and kept.
    Remembered(String),
    /// Registered just now: worth keeping.
    Registered(String),
    /// Registered just now, with a secret that the token endpoint requires: useful only for flows without a
    /// token endpoint.
    Confidential(String),
    /// The provider's own entry for this program.
    PreRegistered(String),
    /// The authorization server offers no way to become a client; some flows need none.
    Anonymous,
}

impl Client {
    /// The client id, if there is one.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Remembered(id)
            | Self::Registered(id)
            | Self::Confidential(id)
            | Self::PreRegistered(id) => Some(id),
            Self::Anonymous => None,
        }
    }
}

/// How this program becomes a client of an authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registration {
    /// By requesting a client id from this endpoint.
    Dynamic {
        /// The registration endpoint.
        endpoint: Url,
        /// Whether the authorization server sends codes: it must then know where to send them.
        with_redirect: bool,
    },
    /// By the client id that the provider keeps for this program.
    PreRegistered(String),
    /// Not at all: some flows need no client.
    None,
}

impl Registration {
    /// The way that `server` offers: dynamic first, because the owner can then tell this client from others in
    /// a list.
    pub fn offered_by(server: &AuthorizationServer) -> Self {
        match &server.registration_endpoint {
            Some(endpoint) => Self::Dynamic {
                endpoint: endpoint.clone(),
                with_redirect: server.authorization_endpoint.is_some(),
            },
            None if server.public_clients.iter().any(|client| client == PRE_REGISTERED) => {
                Self::PreRegistered(PRE_REGISTERED.to_owned())
            }
            None => Self::None,
        }
    }

    /// Becomes a client in this way.
    ///
    /// # Errors
    /// [`RegisterError`].
    pub async fn become_client(&self, http: &Http) -> Result<Client, RegisterError> {
        Ok(match self {
            Self::Dynamic { endpoint, with_redirect } => {
                register(http, endpoint.clone(), *with_redirect).await?
            }
            Self::PreRegistered(id) => Client::PreRegistered(id.clone()),
            Self::None => Client::Anonymous,
        })
    }
}

/// Why there is no client id.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RegisterError {
    /// No answer.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The authorization server refused.
    #[error("the authorization server did not register a client: {0}")]
    Refused(OAuthError),
    /// A success without a usable client id.
    #[error("the authorization server's registration answer has no usable client id")]
    NoClientId,
    /// The server gives tokens only to clients with a secret, which a program on a person's computer cannot
    /// keep.
    #[error(
        "the authorization server only registers clients with a secret, and pdpp is a client without one"
    )]
    Confidential,
}

/// Registers at `endpoint`. `with_redirect` adds where codes go, so that one client id works for every flow.
async fn register(http: &Http, endpoint: Url, with_redirect: bool) -> Result<Client, RegisterError> {
    let mut request = json!({"client_name": CLIENT_NAME, "token_endpoint_auth_method": "none"});
    if with_redirect {
        // With any port later (RFC 8252 §7.3).
        request["redirect_uris"] = json!([format!("http://127.0.0.1{CALLBACK}")]);
        request["response_types"] = json!(["code"]);
        request["grant_types"] =
            json!(["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"]);
    }
    let answer = http.post_json(endpoint, &request).await?;
    if !answer.is_success() {
        return Err(RegisterError::Refused(OAuthError::of(&answer)));
    }
    let registered = answer.object().map_err(|_| RegisterError::NoClientId)?;
    let text = |name: &str| registered.get(name).and_then(serde_json::Value::as_str);
    let id = text("client_id").filter(|id| is_client_id(id)).ok_or(RegisterError::NoClientId)?.to_owned();
    // If the method is not stated, the client has a secret (RFC 7591 §2).
    let wants_secret = match text("token_endpoint_auth_method") {
        Some(method) => method != "none",
        None => text("client_secret").is_some_and(|secret| !secret.is_empty()),
    };
    Ok(if wants_secret { Client::Confidential(id) } else { Client::Registered(id) })
}

/// Whether `id` is a client id: visible ASCII and spaces (RFC 6749 appendix A.1), and not too long.
fn is_client_id(id: &str) -> bool {
    (1..=1024).contains(&id.len()) && id.bytes().all(|b| (0x20..=0x7e).contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(endpoint: Option<&str>, clients: &[&str]) -> AuthorizationServer {
        AuthorizationServer {
            issuer: "https://as.example".parse().unwrap(),
            agent_connect_endpoint: None,
            par_endpoint: None,
            token_endpoint: None,
            authorization_endpoint: None,
            device_authorization_endpoint: None,
            answers_with_issuer: false,
            takes_details: false,
            takes_purpose: false,
            introspection_endpoint: None,
            registration_endpoint: endpoint.map(|url| url.parse().unwrap()),
            revocation_endpoint: None,
            public_clients: clients.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn dynamic_before_pre_registered_before_none() {
        let url = "https://as.example/register";
        let offered = |endpoint, clients: &[&str]| Registration::offered_by(&server(endpoint, clients));
        assert_eq!(
            offered(Some(url), &["pdpp_cli"]),
            Registration::Dynamic { endpoint: url.parse().unwrap(), with_redirect: false }
        );
        assert_eq!(offered(None, &["other", "pdpp_cli"]), Registration::PreRegistered("pdpp_cli".to_owned()));
        assert_eq!(offered(None, &["pdpp_cli_2", "longview"]), Registration::None);
    }

    #[test]
    fn client_ids_are_bounded_and_visible() {
        assert!(is_client_id("cli_1 a"));
        for bad in ["", "a\u{1b}[0m", "ü", &"x".repeat(1025)] {
            assert!(!is_client_id(bad));
        }
    }
}
