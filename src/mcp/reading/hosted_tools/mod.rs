//! A provider's own hosted tools as a backend: for a package token, which covers several grants that were approved
//! together and works only at that provider's `/mcp`.
//!
//! A hosted tool is used only if it has exactly the name of one of ours. Each read becomes the call that returns the
//! same (`call`), and its result becomes the answer that a resource server would have given (`answer`). So checks,
//! limits, paging and views are the same as over a resource server. The bearer goes only to that one URL; redirects
//! are not followed.

mod answer;
mod call;

pub(in crate::mcp) use answer::TEXT_ONLY;

use base64::Engine as _;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use url::Url;

use super::backend::{Backend, ReadError};
use super::request::Request;
use crate::mcp::call::{Call, Tool};
use crate::mcp::id::RecordId;
use crate::mcp::protocol::client::{HttpClient, HttpClientError, Session};
use crate::provider::http::Http;
use crate::provider::rs::{Blob, Envelope, ResourceServer, RsError};
use crate::provider::url::ProviderUrl;
use crate::secret::AccessToken;

/// The maximum number of further pages that are read to assemble what a resource server returns at once.
const MAX_PAGES: usize = 20;

/// A provider's hosted tools.
pub struct HostedTools {
    client: HttpClient,
    /// Used only for the URLs of records: the token does not work there.
    rs: ResourceServer,
}

impl HostedTools {
    /// The tools at `{provider}/mcp`, the resource that a package token is for. `rs` is the provider's resource
    /// server, by which records are cited.
    pub fn new(http: Http, provider: &ProviderUrl, rs: ResourceServer) -> Self {
        let mut endpoint = provider.url().clone();
        endpoint.set_path(&format!("{}/mcp", provider.url().path().trim_end_matches('/')));
        Self { client: HttpClient::new(http, endpoint), rs }
    }

    /// The structured output of a call, and of the calls that continue it if a resource server returns everything at
    /// once.
    async fn call(&self, bearer: &AccessToken, call: Call) -> Result<Envelope, ReadError> {
        let session = self.client.session(bearer).await.map_err(|error| self.explain(error))?;
        self.check(&session, &call)?;
        let (tool, mut result) = (call.tool, self.result(bearer, &call).await?);
        let mut whole = answer::Whole::of(&call);
        for _ in 0..MAX_PAGES {
            let Some(next) = whole.take(tool, result).map_err(|what| self.broken(&what))? else { break };
            let call = Call { tool, arguments: next };
            result = self.result(bearer, &call).await?;
        }
        Ok(Envelope { body: whole.into_body(), request_id: None })
    }

    /// The structured output of one call.
    async fn result(&self, bearer: &AccessToken, call: &Call) -> Result<Map<String, Value>, ReadError> {
        let params = json!({"name": call.tool.name(), "arguments": call.arguments});
        let result = self.client.request(bearer, "tools/call", params).await;
        answer::structured(result.map_err(|error| self.explain(error))?, call.tool)
    }

    /// Refuses a call that the provider's tool does not support.
    fn check(&self, session: &Session, call: &Call) -> Result<(), ReadError> {
        let Some(schema) = session.input_schema(call.tool.name()) else {
            return Err(self.lacks(session, &format!("no tool `{}`", call.tool), None));
        };
        let Some(known) = schema.get("properties").and_then(Value::as_object) else { return Ok(()) };
        match call.arguments.keys().find(|name| !known.contains_key(*name)) {
            Some(name) => {
                Err(self.lacks(session, &format!("no argument `{name}` of {}", call.tool), Some(name)))
            }
            None => Ok(()),
        }
    }

    fn lacks(&self, session: &Session, what: &str, param: Option<&str>) -> ReadError {
        let mut there =
            Tool::ALL.map(Tool::name).into_iter().filter(|name| session.input_schema(name).is_some());
        let first = there.next();
        let next = first.map_or_else(
            || "tell the user: this provider's hosted tools are not the ones offered here".to_owned(),
            |first| {
                let mut names = there.chain([first]).collect::<Vec<_>>();
                names.sort_unstable();
                format!("use what it has: {}", names.join(", "))
            },
        );
        let what = format!("{} has {what}", self.client.endpoint());
        ReadError::Unsupported { what, next, param: param.map(str::to_owned) }
    }

    fn broken(&self, what: &str) -> ReadError {
        ReadError::Broken(format!("{} answered with {what}", self.client.endpoint()))
    }

    fn explain(&self, error: HttpClientError) -> ReadError {
        let endpoint = self.client.endpoint();
        match error {
            HttpClientError::Http(error) => error.into(),
            HttpClientError::Refused(refusal) => RsError::Refused(refusal).into(),
            HttpClientError::Rpc { method, error } => {
                let code = error.get("code").cloned().unwrap_or_default();
                if code == json!(-32601) {
                    let what = format!("{endpoint} does not offer {method}");
                    let next = "tell the user; use the other tools".to_owned();
                    return ReadError::Unsupported { what, next, param: None };
                }
                let message = error.get("message").and_then(Value::as_str);
                let message = message.unwrap_or("no reason was given").to_owned();
                ReadError::CallRefused { message, code }
            }
            HttpClientError::Broken(what) => self.broken(what),
            HttpClientError::NoSession => self.broken("the loss of a new session"),
        }
    }
}

impl Backend for HostedTools {
    fn read<'a>(
        &'a self,
        bearer: &'a AccessToken,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Envelope, ReadError>> {
        async move {
            let Some(call) = call::of_request(request) else {
                let route = request.to_wire().route();
                let what = format!("{route} cannot be read through {}", self.client.endpoint());
                let next = "name a connection_id: then only one package is asked".to_owned();
                return Err(ReadError::Unsupported { what, next, param: None });
            };
            self.call(bearer, call).await
        }
        .boxed()
    }

    fn blob<'a>(
        &'a self,
        bearer: &'a AccessToken,
        blob_id: &'a str,
    ) -> BoxFuture<'a, Result<Blob, ReadError>> {
        async move {
            let params = json!({ "uri": format!("pdpp://blob/{blob_id}") });
            let result = self.client.request(bearer, "resources/read", params).await;
            let result = result.map_err(|error| self.explain(error))?;
            let contents = result.get("contents").and_then(|contents| contents.get(0));
            let text = |key: &str| contents.and_then(|contents| contents.get(key)).and_then(Value::as_str);
            let media_type = text("mimeType").map(str::to_owned);
            let bytes = match (text("blob"), text("text")) {
                (Some(blob), _) => base64::engine::general_purpose::STANDARD.decode(blob).ok(),
                (None, text) => text.map(|text| text.as_bytes().to_vec()),
            };
            let bytes = bytes.ok_or_else(|| self.broken("a resource without contents"))?;
            Ok(Blob { media_type, bytes })
        }
        .boxed()
    }

    fn cuts_json(&self) -> bool {
        true
    }

    fn spans_grants(&self) -> bool {
        true
    }

    fn record_url(&self, id: &RecordId) -> Url {
        self.rs.record_url(id)
    }
}
