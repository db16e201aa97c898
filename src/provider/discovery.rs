//! Discovery: protected-resource metadata (RFC 9728), then authorization-server metadata (RFC 8414). Each
//! document is checked to be about what was asked for before anything else in it is used.

use serde_json::{Map, Value};
use url::{Host, Url};

use super::http::{Answer, Http, HttpError};
use super::url::{ProviderUrl, is_loopback, is_secure};
use crate::advice::{Command, Hint};
use crate::error::{Error, Kind};
use crate::net;

/// PDPP's authorization details type (RFC 9396).
pub const DATA_ACCESS: &str = "https://pdpp.dev/data-access";

/// A provider as its checked metadata describes it.
#[derive(Debug, Clone)]
pub struct Discovery {
    /// The provider, as the user named it.
    pub provider: ProviderUrl,
    /// `resource`, exactly as the provider writes it: what `resource` parameters (RFC 8707) carry.
    pub resource: String,
    /// `resource_name`.
    pub name: Option<String>,
    /// `pdpp_core_query_base`: below the provider.
    pub query_base: Url,
    /// The first of `authorization_servers` that answers.
    pub authorization_server: AuthorizationServer,
}

impl Discovery {
    /// The value of `resource` (RFC 8707) in requests to the authorization server's own endpoints: the
    /// provider's `/mcp`, at which client tokens work as well as at `/v1`.
    pub fn mcp_resource(&self) -> String {
        format!("{}/mcp", self.resource.trim_end_matches('/'))
    }
}

/// An authorization server as its metadata describes it. Every endpoint is on its issuer's origin.
#[derive(Debug, Clone)]
pub struct AuthorizationServer {
    /// `issuer`.
    pub issuer: ProviderUrl,
    /// `agent_connect_endpoint`.
    pub agent_connect_endpoint: Option<Url>,
    /// `pushed_authorization_request_endpoint` (RFC 9126).
    pub par_endpoint: Option<Url>,
    /// `token_endpoint`.
    pub token_endpoint: Option<Url>,
    /// `authorization_endpoint`, if `code_challenge_methods_supported` has S256: without PKCE no code is
    /// requested.
    pub authorization_endpoint: Option<Url>,
    /// `device_authorization_endpoint` (RFC 8628).
    pub device_authorization_endpoint: Option<Url>,
    /// `authorization_response_iss_parameter_supported` (RFC 9207): if set, an answer without `iss` is refused.
    pub answers_with_issuer: bool,
    /// Whether an authorization request may carry `authorization_details` of PDPP's type (RFC 9396).
    pub takes_details: bool,
    /// `pdpp_purpose_parameters_supported`: whether a request without `authorization_details` may state its
    /// purpose. The draft does not have this, so the purpose is sent only to servers that support it.
    pub takes_purpose: bool,
    /// `registration_endpoint` (RFC 7591), if `pdpp_registration_modes_supported` allows `dynamic` or is
    /// absent.
    pub registration_endpoint: Option<Url>,
    /// `introspection_endpoint` (RFC 7662): for a hosted endpoint.
    pub introspection_endpoint: Option<Url>,
    /// `revocation_endpoint` (RFC 7009).
    pub revocation_endpoint: Option<Url>,
    /// `client_id`s of `pdpp_pre_registered_public_clients` that need no secret.
    pub public_clients: Vec<String>,
}

/// One of the two documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Document {
    /// The protected resource's metadata (RFC 9728).
    ProtectedResource,
    /// The authorization server's metadata (RFC 8414).
    AuthorizationServer,
}

/// Why a provider was not discovered. None of these cases reveals anything to the other side except the two
/// metadata requests.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DiscoveryError {
    /// No answer.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The document does not exist there.
    #[error("{} (HTTP 404 for {url})", absent(*document))]
    NotFound {
        /// Which document.
        document: Document,
        /// The URL where it was looked for.
        url: Url,
    },
    /// Another error status.
    #[error("{url} answered HTTP {status}")]
    Status {
        /// Which document.
        document: Document,
        /// The URL where it was looked for.
        url: Url,
        /// The HTTP status code.
        status: u16,
    },
    /// A web page, or anything else that is not a JSON object.
    #[error("{url} answered with {what}, not with metadata")]
    NotJson {
        /// Which document.
        document: Document,
        /// The URL where it was looked for.
        url: Url,
        /// What the answer was instead.
        what: String,
    },
    /// JSON about something else.
    #[error("{url} answered with JSON that is not a PDPP provider's: {why}")]
    SomethingElse {
        /// Which document.
        document: Document,
        /// The URL where it was looked for.
        url: Url,
        /// What is missing or malformed.
        why: String,
    },
    /// The metadata is about another resource (RFC 9728 §3.3).
    #[error("the metadata of {asked} is about another resource: {found}")]
    WrongResource {
        /// What the user asked for.
        asked: String,
        /// `resource`.
        found: String,
    },
    /// The metadata is about another issuer (RFC 8414 §3.3).
    #[error("the authorization server at {asked} calls itself {found}")]
    WrongIssuer {
        /// The `authorization_servers` value.
        asked: String,
        /// `issuer`.
        found: String,
    },
    /// A bearer would leave the provider.
    #[error("{provider} states that its data is read at {query_base}, which is not its own address")]
    ForeignQueryBase {
        /// What the user asked for.
        provider: String,
        /// `pdpp_core_query_base`.
        query_base: String,
    },
    /// Not https, or an address on this computer for a provider elsewhere.
    #[error("{provider} names the authorization server {found}, which is refused: {why}")]
    InsecureAuthorizationServer {
        /// What the user asked for.
        provider: String,
        /// The `authorization_servers` value.
        found: String,
        /// Which rule it breaks.
        why: &'static str,
    },
    /// An endpoint, or a URL from an endpoint, on another origin than the issuer's.
    #[error("the authorization server {issuer} names {found} as its {name}, which is not on its own origin")]
    ForeignEndpoint {
        /// `issuer`.
        issuer: String,
        /// The metadata name.
        name: String,
        /// The URL.
        found: String,
    },
}

const fn absent(document: Document) -> &'static str {
    match document {
        Document::ProtectedResource => "there is no PDPP provider",
        Document::AuthorizationServer => "the provider's authorization server has no metadata",
    }
}

impl DiscoveryError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        use Document::{AuthorizationServer as As, ProtectedResource as Rs};
        match self {
            Self::Http(error) => error.code(),
            Self::NotFound { document: Rs, .. } => "no_provider_here",
            Self::NotFound { document: As, .. } => "no_authorization_server_here",
            Self::Status { document: Rs, .. } => "provider_metadata_failed",
            Self::Status { document: As, .. } => "authorization_server_metadata_failed",
            Self::NotJson { document: Rs, .. } => "provider_metadata_not_json",
            Self::NotJson { document: As, .. } => "authorization_server_metadata_not_json",
            Self::SomethingElse { document: Rs, .. } => "not_a_pdpp_provider",
            Self::SomethingElse { document: As, .. } => "not_an_authorization_server",
            Self::WrongResource { .. } => "resource_mismatch",
            Self::WrongIssuer { .. } => "issuer_mismatch",
            Self::ForeignQueryBase { .. } => "query_base_foreign",
            Self::InsecureAuthorizationServer { .. } => "authorization_server_insecure",
            Self::ForeignEndpoint { .. } => "endpoint_foreign",
        }
    }

    /// Whether the document may be in another place.
    const fn is_elsewhere(&self) -> bool {
        matches!(self, Self::NotFound { .. } | Self::NotJson { .. } | Self::Status { status: 400..=499, .. })
    }

    /// Whether nothing there answers like an authorization server: another server may.
    const fn is_absence(&self) -> bool {
        matches!(self, Self::Http(_) | Self::NotFound { .. } | Self::NotJson { .. } | Self::Status { .. })
    }

    /// What a person who asked for `provider` probably meant.
    pub fn meant(&self, provider: &ProviderUrl) -> Option<String> {
        match self {
            // Suggests only an address on the same origin, or also on this computer: anything else is a
            // stranger's claim.
            Self::WrongResource { found, .. } => {
                let found = found.parse::<ProviderUrl>().ok();
                // This computer has several names.
                let is_here = |url: &ProviderUrl| is_loopback(url.url());
                let is_near = |found: &ProviderUrl| {
                    let (found_url, asked) = (found.url(), provider.url());
                    found_url.origin() == asked.origin()
                        || (is_here(found) && is_here(provider) && found_url.port() == asked.port())
                };
                let found = found.filter(is_near);
                found.map(|found| found.as_str().to_owned())
            }
            Self::ForeignQueryBase { .. } => provider.as_str().strip_suffix("/mcp").map(str::to_owned),
            _ => None,
        }
    }

    /// The error for a person who asked for `provider`.
    pub fn into_error(self, provider: &ProviderUrl) -> Error {
        let hint = match (&self, self.meant(provider)) {
            (Self::Http(HttpError::Unreachable { .. }), _) if is_own_store(provider) => {
                Hint::new("To serve your own data there, run this in another terminal: ")
                    .run(Command::new("provider serve"))
            }
            (Self::Http(error), _) => error.next_step().into(),
            (
                Self::NotFound { document: Document::ProtectedResource, .. }
                | Self::NotJson { document: Document::ProtectedResource, .. }
                | Self::SomethingElse { document: Document::ProtectedResource, .. },
                _,
            ) => {
                "Check the address: it must be the provider's own, including the path, as the provider shows it".into()
            }
            (Self::WrongResource { .. }, Some(meant)) => {
                Hint::new("If you meant that provider: ").run(Command::connect(meant))
            }
            (Self::WrongResource { .. }, None) => {
                "Do not continue unless you know why; ask the provider for the right address".into()
            }
            (Self::ForeignQueryBase { .. }, Some(meant)) => {
                Hint::new("That address is an MCP endpoint. Connect to the provider instead: ")
                    .run(Command::connect(meant))
            }
            (Self::Status { .. }, _) => "Try again later. If it still fails, tell the provider".into(),
            _ => "The provider must fix this; nothing is stored".into(),
        };
        let code = self.code();
        let error = match self {
            // Says itself what could not be reached.
            Self::Http(error) => Error::new(Kind::Unavailable, code, sentence(&error.to_string())),
            _ => Error::new(Kind::Unavailable, code, format!("pdpp got no usable answer from {provider}"))
                .because(self),
        };
        error.hint(hint)
    }
}

/// `text` with a capital letter at its beginning, unless it begins with an address.
fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    match rest.next() {
        Some(first) if !text.starts_with("http") => first.to_uppercase().chain(rest).collect(),
        _ => text.to_owned(),
    }
}

/// The port of `pdpp provider serve`, unless another one is given.
const OWN_PORT: u16 = 7378;

/// Whether it has the address of the person's own store on this computer.
fn is_own_store(provider: &ProviderUrl) -> bool {
    let url = provider.url();
    url.scheme() == "http" && url.port() == Some(OWN_PORT)
}

/// Discovers `provider` and the first of its authorization servers that answers.
///
/// # Errors
/// [`DiscoveryError`], for the first thing that is not as required.
pub async fn discover(http: &Http, provider: &ProviderUrl) -> Result<Discovery, DiscoveryError> {
    find(http, provider, None).await
}

/// The same, with the authorization server `issuer`, if the provider still names it: for a token from that
/// server.
///
/// # Errors
/// Same as [`discover`].
pub async fn discover_with(
    http: &Http,
    provider: &ProviderUrl,
    issuer: &str,
) -> Result<Discovery, DiscoveryError> {
    find(http, provider, Some(issuer)).await
}

async fn find(http: &Http, provider: &ProviderUrl, known: Option<&str>) -> Result<Discovery, DiscoveryError> {
    let resource = resource(http, provider).await?;
    let known = resource.issuers.iter().find(|issuer| known.is_some_and(|known| issuer.is_same_as(known)));
    let issuers = known.map_or(resource.issuers.as_slice(), std::slice::from_ref);
    let mut first = None;
    for issuer in issuers {
        match authorization_server(http, issuer).await {
            Ok(authorization_server) => {
                return Ok(Discovery {
                    provider: provider.clone(),
                    resource: resource.id,
                    name: resource.name,
                    query_base: resource.query_base,
                    authorization_server,
                });
            }
            Err(error) if error.is_absence() => first = first.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    let none = || DiscoveryError::SomethingElse {
        document: Document::ProtectedResource,
        url: provider.well_known(PROTECTED_RESOURCE),
        why: "it does not name an authorization server".to_owned(),
    };
    Err(first.unwrap_or_else(none))
}

const PROTECTED_RESOURCE: &str = "oauth-protected-resource";

/// The resource's metadata: at the place that RFC 9728 gives it, or otherwise at the root of its origin, or
/// otherwise where the resource's own challenge points. It must be about `provider`, wherever it was found.
async fn resource(http: &Http, provider: &ProviderUrl) -> Result<Resource, DiscoveryError> {
    let read = async |url: Url| {
        let answer = http.get_json(url.clone()).await?;
        read_resource(provider, &url, &answer)
    };
    let usual = provider.well_known(PROTECTED_RESOURCE);
    let first = match read(usual.clone()).await {
        Err(error) if error.is_elsewhere() => error,
        read => return read,
    };
    let mut root = provider.url().clone();
    root.set_path(&format!("/.well-known/{PROTECTED_RESOURCE}"));
    let mut other = None;
    if root != usual {
        match read(root).await {
            Ok(found) => return Ok(found),
            Err(error) => other = error.meant(provider).map(|_| error),
        }
    }
    for place in
        [provider.as_str().to_owned(), format!("{}/v1/schema", provider.as_str().trim_end_matches('/'))]
    {
        let Ok(place) = place.parse() else { continue };
        let Ok(answer) = http.get_json(place).await else { break };
        let named = answer.challenges("resource_metadata").find_map(|url| Url::parse(url).ok());
        let named = named.filter(|url| answer.status == 401 && url.origin() == provider.url().origin());
        if let Some(named) = named.filter(|url| *url != usual) {
            return read(named).await;
        }
    }
    Err(other.unwrap_or(first))
}

/// The metadata of `issuer`: at the place that RFC 8414 gives it, or where servers of `OpenID Connect
/// Discovery` have it.
async fn authorization_server(
    http: &Http,
    issuer: &ProviderUrl,
) -> Result<AuthorizationServer, DiscoveryError> {
    const NAMES: [&str; 2] = ["oauth-authorization-server", "openid-configuration"];
    let appended = |name: &str| {
        let mut url = issuer.url().clone();
        url.set_path(&format!("{}/.well-known/{name}", url.path().trim_end_matches('/')));
        url
    };
    let [usual, other] = NAMES.map(|name| [issuer.well_known(name), appended(name)]);
    let mut places = [usual, other].concat();
    places.dedup();
    let mut first = None;
    for url in places {
        let answer = http.get_json(url.clone()).await?;
        match read_authorization_server(issuer, &url, &answer) {
            Err(error) if error.is_elsewhere() => first = first.or(Some(error)),
            read => return read,
        }
    }
    Err(first.unwrap_or(DiscoveryError::NotFound {
        document: Document::AuthorizationServer,
        url: issuer.well_known(NAMES[0]),
    }))
}

struct Resource {
    id: String,
    name: Option<String>,
    query_base: Url,
    issuers: Vec<ProviderUrl>,
}

/// The most authorization servers that are tried.
const MOST_ISSUERS: usize = 3;

fn read_resource(provider: &ProviderUrl, url: &Url, answer: &Answer) -> Result<Resource, DiscoveryError> {
    let document = Document::ProtectedResource;
    let something_else =
        |why: &str| DiscoveryError::SomethingElse { document, url: url.clone(), why: why.to_owned() };
    let metadata = metadata(document, url, answer)?;

    let found = text(&metadata, "resource").ok_or_else(|| something_else("it has no `resource`"))?;
    if !provider.is_same_as(found) {
        return Err(DiscoveryError::WrongResource { asked: provider.to_string(), found: found.to_owned() });
    }
    let query_base = text(&metadata, "pdpp_core_query_base")
        .ok_or_else(|| something_else("it has no `pdpp_core_query_base`"))?;
    let query_base = Url::parse(query_base)
        .ok()
        .filter(|base| provider.covers(base) && base.query().is_none() && base.fragment().is_none())
        .ok_or_else(|| DiscoveryError::ForeignQueryBase {
            provider: provider.to_string(),
            query_base: query_base.to_owned(),
        })?;
    let named = metadata.get("authorization_servers").and_then(Value::as_array).into_iter().flatten();
    let mut named = named.filter_map(Value::as_str).take(MOST_ISSUERS);
    let first = named.next().ok_or_else(|| something_else("it does not name an authorization server"))?;
    let mut issuers = vec![issuer_of(provider, first)?];
    issuers.extend(named.filter_map(|issuer| issuer_of(provider, issuer).ok()));
    Ok(Resource {
        id: found.to_owned(),
        name: text(&metadata, "resource_name").map(str::to_owned),
        query_base,
        issuers,
    })
}

/// The issuer that `provider` names. It may be another host, but it must not be a downgrade, or an address that
/// only has a meaning on this computer's side of the network. A public name that was made to lead to such an
/// address (DNS rebinding) does not work: nothing there has a certificate for the name, and http is only for
/// this computer.
fn issuer_of(provider: &ProviderUrl, issuer: &str) -> Result<ProviderUrl, DiscoveryError> {
    let refused = |why| DiscoveryError::InsecureAuthorizationServer {
        provider: provider.to_string(),
        found: issuer.to_owned(),
        why,
    };
    let parsed: ProviderUrl = issuer.parse().map_err(|_| refused("it is not an https address"))?;
    if parsed.url().scheme() == "http" && provider.url().scheme() != "http" {
        return Err(refused("it is not https"));
    }
    if is_local(parsed.url()) && !is_local(provider.url()) {
        return Err(refused("it is an address of this computer or its local network"));
    }
    Ok(parsed)
}

/// Whether `url` names this computer, or a literal address that is not public.
fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => !net::is_public(address.into()),
        Some(Host::Ipv6(address)) => !net::is_public(address.into()),
        _ => is_loopback(url),
    }
}

fn read_authorization_server(
    issuer: &ProviderUrl,
    url: &Url,
    answer: &Answer,
) -> Result<AuthorizationServer, DiscoveryError> {
    let document = Document::AuthorizationServer;
    let metadata = metadata(document, url, answer)?;
    let Some(found) = text(&metadata, "issuer") else {
        let why = "it has no `issuer`".to_owned();
        return Err(DiscoveryError::SomethingElse { document, url: url.clone(), why });
    };
    if !issuer.is_same_as(found) {
        return Err(DiscoveryError::WrongIssuer { asked: issuer.to_string(), found: found.to_owned() });
    }
    // Checks all of them, used or not: a server that names one foreign endpoint cannot be trusted with the
    // rest.
    for (name, value) in &metadata {
        if name.ends_with("_endpoint") && !value.is_null() {
            on_issuers_origin(issuer, name, value.as_str().unwrap_or_default())?;
        }
    }
    let endpoint = |name: &str| text(&metadata, name).and_then(|url| Url::parse(url).ok());
    let dynamic = metadata
        .get("pdpp_registration_modes_supported")
        .and_then(Value::as_array)
        .is_none_or(|modes| modes.iter().any(|mode| mode == "dynamic"));
    let public_clients = metadata.get("pdpp_pre_registered_public_clients").and_then(Value::as_array);
    Ok(AuthorizationServer {
        issuer: issuer.clone(),
        agent_connect_endpoint: endpoint("agent_connect_endpoint"),
        par_endpoint: endpoint("pushed_authorization_request_endpoint"),
        token_endpoint: endpoint("token_endpoint"),
        authorization_endpoint: endpoint("authorization_endpoint")
            .filter(|_| lists(&metadata, "code_challenge_methods_supported", "S256")),
        device_authorization_endpoint: endpoint("device_authorization_endpoint"),
        answers_with_issuer: metadata.get("authorization_response_iss_parameter_supported")
            == Some(&Value::Bool(true)),
        takes_details: lists(&metadata, "authorization_details_types_supported", DATA_ACCESS)
            || lists(&metadata, "pdpp_authorization_details_types_supported", DATA_ACCESS),
        takes_purpose: metadata.get("pdpp_purpose_parameters_supported") == Some(&Value::Bool(true)),
        registration_endpoint: endpoint("registration_endpoint").filter(|_| dynamic),
        introspection_endpoint: endpoint("introspection_endpoint"),
        revocation_endpoint: endpoint("revocation_endpoint"),
        public_clients: public_clients
            .into_iter()
            .flatten()
            .filter(|client| client.get("token_endpoint_auth_method").is_none_or(|method| method == "none"))
            .filter_map(|client| client.get("client_id")?.as_str())
            .map(str::to_owned)
            .collect(),
    })
}

/// Whether the list `name` of `metadata` has `value`.
fn lists(metadata: &Map<String, Value>, name: &str, value: &str) -> bool {
    metadata.get(name).and_then(Value::as_array).is_some_and(|all| all.iter().any(|listed| listed == value))
}

/// `url`, if it is on the origin of `issuer`: for endpoints, and for the URLs that an endpoint returns.
///
/// # Errors
/// [`DiscoveryError::ForeignEndpoint`], in which the endpoint is called `name`.
pub fn on_issuers_origin(issuer: &ProviderUrl, name: &str, url: &str) -> Result<Url, DiscoveryError> {
    Url::parse(url)
        .ok()
        .filter(|parsed| {
            is_secure(parsed)
                && parsed.origin() == issuer.url().origin()
                && parsed.username().is_empty()
                && parsed.password().is_none()
        })
        .ok_or_else(|| DiscoveryError::ForeignEndpoint {
            issuer: issuer.to_string(),
            name: name.to_owned(),
            found: url.to_owned(),
        })
}

fn metadata(document: Document, url: &Url, answer: &Answer) -> Result<Map<String, Value>, DiscoveryError> {
    let url = url.clone();
    match answer.status {
        404 | 410 => Err(DiscoveryError::NotFound { document, url }),
        _ if !answer.is_success() => Err(DiscoveryError::Status { document, url, status: answer.status }),
        _ => answer.object().map_err(|what| DiscoveryError::NotJson { document, url, what }),
    }
}

fn text<'a>(metadata: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    metadata.get(name)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderMap;
    use serde_json::json;

    fn answer(status: u16, body: &Value) -> Answer {
        Answer { status, headers: HeaderMap::new(), body: body.to_string().into_bytes() }
    }

    fn provider(url: &str) -> ProviderUrl {
        url.parse().unwrap()
    }

    fn resource(asked: &str, edit: impl FnOnce(&mut Value)) -> Result<Resource, DiscoveryError> {
        let asked = provider(asked);
        let mut body = json!({
            "resource": asked.as_str(),
            "authorization_servers": ["https://as.example", "https://ignored.example"],
            "pdpp_core_query_base": format!("{asked}/v1"),
        });
        edit(&mut body);
        read_resource(&asked, &asked.well_known("oauth-protected-resource"), &answer(200, &body))
    }

    fn server(edit: impl FnOnce(&mut Value)) -> Result<AuthorizationServer, DiscoveryError> {
        let issuer = provider("https://as.example/x");
        let mut body = json!({
            "issuer": "https://as.example/x",
            "agent_connect_endpoint": "https://as.example/agent-connect",
            "registration_endpoint": "https://as.example/register",
        });
        edit(&mut body);
        read_authorization_server(
            &issuer,
            &issuer.well_known("oauth-authorization-server"),
            &answer(200, &body),
        )
    }

    fn code<T>(result: Result<T, DiscoveryError>) -> &'static str {
        result.err().map_or("ok", |error| error.code())
    }

    #[test]
    fn r8_1_the_resource_is_what_was_asked_path_included() {
        let asked = "https://a.example/t1";
        let found = resource(asked, |_| ()).unwrap();
        assert_eq!(found.issuers[0].as_str(), "https://as.example");
        assert_eq!(found.query_base.as_str(), "https://a.example/t1/v1");
        assert_eq!(code(resource(asked, |body| body["resource"] = json!("https://a.example/t1/"))), "ok");
        for other in
            ["https://a.example", "https://a.example/t2", "http://a.example/t1", "https://b.example/t1"]
        {
            assert_eq!(
                code(resource(asked, |body| body["resource"] = json!(other))),
                "resource_mismatch",
                "{other}"
            );
        }
    }

    #[test]
    fn the_query_base_stays_with_the_provider() {
        let asked = "https://a.example/t1";
        for other in [
            "https://a.example/v1",
            "https://b.example/t1/v1",
            "http://a.example/t1/v1",
            "/v1",
            "https://a.example/t1/v1?x=1",
            "https://u@a.example/t1/v1",
        ] {
            let found = resource(asked, |body| body["pdpp_core_query_base"] = json!(other));
            assert_eq!(code(found), "query_base_foreign", "{other}");
        }
    }

    #[test]
    fn the_authorization_server_is_no_downgrade_and_not_next_door() {
        let named = |asked: &str, issuer: &str| {
            code(resource(asked, |body| body["authorization_servers"] = json!([issuer])))
        };
        assert_eq!(named("https://a.example", "https://login.other.example/x"), "ok");
        assert_eq!(named("http://127.0.0.1:1", "http://127.0.0.1:2"), "ok");
        assert_eq!(named("https://10.0.0.1", "https://10.0.0.2"), "ok");
        assert_eq!(named("https://a.example", "https://9.9.9.9"), "ok");
        assert_eq!(named("https://a.example", "https://[2620:fe::fe]"), "ok");
        for (asked, issuer) in [
            ("https://a.example", "http://as.example"),
            ("https://a.example", "http://127.0.0.1:2"),
            ("https://127.0.0.1:1", "http://127.0.0.1:2"),
            ("https://a.example", "https://localhost"),
            ("https://a.example", "https://192.168.1.1"),
            ("https://a.example", "https://[::ffff:10.0.0.1]"),
            ("https://a.example", "https://169.254.169.254"),
            ("https://a.example", "https://100.64.0.1"),
            ("https://a.example", "https://0.0.0.0"),
            ("https://a.example", "https://2130706433"),
            ("https://a.example", "https://[::]"),
            ("https://a.example", "https://[::1]"),
            ("https://a.example", "https://[fd00::1]"),
            ("https://a.example", "https://[64:ff9b::a00:1]"),
            ("https://a.example", "https://[2002:7f00:1::]"),
            ("https://a.example", "https://localhost."),
            ("https://a.example", "https://x.LOCALHOST"),
            ("https://a.example", "https://u:p@as.example"),
            ("https://a.example", "as.example"),
        ] {
            assert_eq!(named(asked, issuer), "authorization_server_insecure", "{asked} {issuer}");
        }
    }

    #[test]
    fn the_issuer_is_the_one_that_was_named() {
        assert_eq!(code(server(|_| ())), "ok");
        for other in ["https://as.example", "https://as.example/y", "https://evil.example/x"] {
            assert_eq!(code(server(|body| body["issuer"] = json!(other))), "issuer_mismatch", "{other}");
        }
    }

    #[test]
    fn every_endpoint_is_on_the_issuers_origin() {
        for name in ["agent_connect_endpoint", "token_endpoint", "some_future_endpoint"] {
            for other in [
                json!("https://evil.example/x"),
                json!("http://as.example/x"),
                json!("https://as.example:444/x"),
                json!("https://u@as.example/x"),
                json!("/x"),
                json!(1),
            ] {
                assert_eq!(
                    code(server(|body| body[name] = other.clone())),
                    "endpoint_foreign",
                    "{name} {other}"
                );
            }
        }
    }

    #[test]
    fn registration_modes_are_obeyed() {
        assert!(server(|_| ()).unwrap().registration_endpoint.is_some());
        let found = server(|body| {
            body["pdpp_registration_modes_supported"] = json!(["pre_registered_public"]);
            body["pdpp_pre_registered_public_clients"] = json!([
                {"client_id": "pdpp_cli", "token_endpoint_auth_method": "none"},
                {"client_id": "secretive", "token_endpoint_auth_method": "client_secret_basic"},
                {"client_name": "nameless"},
            ]);
        })
        .unwrap();
        assert!(found.registration_endpoint.is_none());
        assert_eq!(found.public_clients, ["pdpp_cli"]);
    }

    #[test]
    fn what_is_no_provider_is_told_apart() {
        let asked = provider("https://a.example");
        let url = asked.well_known("oauth-protected-resource");
        let read = |answer: &Answer| code(read_resource(&asked, &url, answer));
        assert_eq!(read(&answer(404, &json!({}))), "no_provider_here");
        assert_eq!(read(&answer(503, &json!({}))), "provider_metadata_failed");
        assert_eq!(read(&answer(200, &json!([]))), "provider_metadata_not_json");
        assert_eq!(read(&answer(200, &json!({"status": "ok"}))), "not_a_pdpp_provider");
        assert_eq!(read(&answer(200, &json!({"resource": "https://a.example"}))), "not_a_pdpp_provider");
        let html = Answer { status: 200, headers: HeaderMap::new(), body: b"<html>".to_vec() };
        assert_eq!(read(&html), "provider_metadata_not_json");
    }

    #[test]
    fn an_mcp_endpoint_is_pointed_back_to_its_provider() {
        let asked = "https://a.example/mcp";
        let error = resource(asked, |body| body["pdpp_core_query_base"] = json!("https://a.example/v1"));
        let error = error.err().unwrap().into_error(&provider(asked));
        assert_eq!(error.kind().exit_code(), 69);
        assert!(error.next_step().unwrap().ends_with("pdpp connect https://a.example"), "{error:?}");
    }
}
