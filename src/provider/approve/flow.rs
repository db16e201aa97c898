//! Which flow to use: by what the authorization server offers, what is wanted, and where the owner is.

use std::fmt;

use super::wanted::Wanted;
use crate::provider::discovery::AuthorizationServer;

/// A flow: a way to get a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Flow {
    /// agent-connect: pdpp polls, and the owner decides about everything that the provider has
    AgentConnect,
    /// A pushed request (RFC 9126), then agent-connect: for one source, or for less than everything
    Par,
    /// Authorization code with PKCE: the browser on this computer returns with a code
    AuthorizationCode,
    /// Device code (RFC 8628): the owner compares a code in a browser anywhere
    DeviceCode,
}

impl Flow {
    /// All flows, in the order in which they are tried.
    const ALL: [Self; 4] = [Self::AgentConnect, Self::Par, Self::AuthorizationCode, Self::DeviceCode];

    /// Its name as an argument.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AgentConnect => "agent-connect",
            Self::Par => "par",
            Self::AuthorizationCode => "authorization-code",
            Self::DeviceCode => "device-code",
        }
    }

    /// Whether `server` offers what it needs.
    pub const fn is_offered(self, server: &AuthorizationServer) -> bool {
        let has_token = server.token_endpoint.is_some();
        match self {
            Self::AgentConnect => server.agent_connect_endpoint.is_some(),
            Self::Par => server.agent_connect_endpoint.is_some() && server.par_endpoint.is_some(),
            Self::AuthorizationCode => server.authorization_endpoint.is_some() && has_token,
            Self::DeviceCode => server.device_authorization_endpoint.is_some() && has_token,
        }
    }

    /// Whether a request in this flow can carry `wanted`.
    fn carries(self, server: &AuthorizationServer, wanted: &Wanted) -> bool {
        match self {
            Self::AgentConnect => wanted.is_plain(),
            Self::AuthorizationCode => wanted.is_plain() || server.takes_details,
            Self::Par | Self::DeviceCode => true,
        }
    }

    /// The flow to use: the one that was `asked` for, or otherwise the first that is offered and can carry what
    /// is `wanted`; on a machine `without_browser`, the device code first.
    ///
    /// # Errors
    /// [`FlowError`].
    pub fn choose(
        server: &AuthorizationServer,
        wanted: &Wanted,
        asked: Option<Self>,
        without_browser: bool,
    ) -> Result<Self, FlowError> {
        let offered: Vec<Self> = Self::ALL.into_iter().filter(|flow| flow.is_offered(server)).collect();
        if let Some(asked) = asked {
            // With agent-connect, a request for one source is a pushed request.
            let asked = match asked {
                Self::AgentConnect if !wanted.is_plain() && Self::Par.is_offered(server) => Self::Par,
                asked => asked,
            };
            return match offered.contains(&asked) {
                false => Err(FlowError::NotOffered { asked, offered }),
                true if !asked.carries(server, wanted) => Err(Self::not_carried(asked, wanted)),
                true => Ok(asked),
            };
        }
        let Some(first) = offered.first() else { return Err(FlowError::NoneOffered) };
        if without_browser && offered.contains(&Self::DeviceCode) {
            return Ok(Self::DeviceCode);
        }
        let fit = offered.iter().find(|flow| flow.carries(server, wanted));
        fit.copied().ok_or_else(|| Self::not_carried(*first, wanted))
    }

    fn not_carried(self, wanted: &Wanted) -> FlowError {
        if wanted.is_narrowed() {
            FlowError::NarrowingUnsupported(self)
        } else {
            FlowError::SourceUnsupported
        }
    }
}

/// Why there is no usable flow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// The authorization server offers no flow that this version knows.
    #[error(
        "the authorization server has no agent_connect_endpoint, no authorization_endpoint with PKCE S256 and no \
         device_authorization_endpoint: none of the flows that this version knows"
    )]
    NoneOffered,
    /// The requested flow is not offered.
    #[error("the authorization server does not offer {asked}; it offers {}", list(offered))]
    NotOffered {
        /// What was asked for.
        asked: Flow,
        /// The flows that are offered.
        offered: Vec<Flow>,
    },
    /// The requested flow cannot carry what is wanted.
    #[error("a {0} request cannot name streams, fields, times or a purpose")]
    NarrowingUnsupported(Flow),
    /// A source was named, but the authorization server accepts no such request.
    #[error(
        "the authorization server does not accept a request for one source: it has no pushed_authorization_request_endpoint"
    )]
    SourceUnsupported,
}

impl FlowError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoneOffered => "no_way_to_a_grant",
            Self::NotOffered { .. } => "flow_not_offered",
            Self::NarrowingUnsupported(_) => "narrowing_unsupported",
            Self::SourceUnsupported => "source_unsupported",
        }
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `a, b, c`, or a phrase for an empty list.
pub fn list(flows: &[Flow]) -> String {
    if flows.is_empty() {
        return "none that this version knows".to_owned();
    }
    flows.iter().map(|flow| flow.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::wanted::SourceRequest;
    use super::*;

    fn server(names: &[&str]) -> AuthorizationServer {
        let has = |name: &str| names.contains(&name).then(|| "https://as.example/x".parse().unwrap());
        AuthorizationServer {
            issuer: "https://as.example".parse().unwrap(),
            agent_connect_endpoint: has("agent"),
            par_endpoint: has("par"),
            token_endpoint: has("token"),
            authorization_endpoint: has("code"),
            device_authorization_endpoint: has("device"),
            answers_with_issuer: false,
            takes_details: names.contains(&"details"),
            takes_purpose: false,
            introspection_endpoint: None,
            registration_endpoint: None,
            revocation_endpoint: None,
            public_clients: Vec::new(),
        }
    }

    fn chosen(names: &[&str], wanted: &Wanted, asked: Option<Flow>, without_browser: bool) -> String {
        match Flow::choose(&server(names), wanted, asked, without_browser) {
            Ok(flow) => flow.to_string(),
            Err(error) => error.code().to_owned(),
        }
    }

    #[test]
    fn the_first_that_is_offered_and_does() {
        let plain = Wanted::default();
        let source = SourceRequest { id: "https://s.example".to_owned(), instance_ids: Vec::new() };
        let one = Wanted { source: Some(source), ..Wanted::default() };
        let narrow = Wanted { purpose: Some("x".to_owned()), ..Wanted::default() };
        let all = ["agent", "par", "token", "code", "device", "details"];
        let auto = |names: &[&str], wanted| chosen(names, wanted, None, false);
        assert_eq!(auto(&all, &plain), "agent-connect");
        assert_eq!(auto(&all, &one), "par");
        assert_eq!(auto(&all[2..], &plain), "authorization-code");
        assert_eq!(auto(&all[2..], &narrow), "authorization-code");
        assert_eq!(auto(&["token", "code", "device"], &narrow), "device-code");
        assert_eq!(auto(&["code", "device"], &plain), "no_way_to_a_grant", "without a token endpoint");
        assert_eq!(auto(&["agent"], &one), "source_unsupported");
        assert_eq!(auto(&["agent"], &narrow), "narrowing_unsupported");
        assert_eq!(chosen(&all, &plain, None, true), "device-code");
        assert_eq!(chosen(&["agent"], &plain, None, true), "agent-connect");
        let asked = |names: &[&str], wanted, flow| chosen(names, wanted, Some(flow), true);
        assert_eq!(asked(&all, &plain, Flow::AuthorizationCode), "authorization-code");
        assert_eq!(asked(&all, &narrow, Flow::AgentConnect), "par");
        assert_eq!(asked(&["agent"], &plain, Flow::DeviceCode), "flow_not_offered");
        assert_eq!(asked(&["token", "code"], &one, Flow::AuthorizationCode), "source_unsupported");
    }
}
