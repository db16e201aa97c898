//! A provider's own hosted tools, by Streamable HTTP: what is behind a [`Source`] whose token is for several grants
//! that were approved together, and so good for nothing but that provider's `/mcp`.
//!
//! A tool is one of ours by its exact name, or it is not used. What is answered is passed on: within our
//! bounds, as text that cannot break out (R4.9), and only in the shape that our output schemas promise. The
//! bearer goes to that one URL; a redirect is not followed.

mod answer;
mod read;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use base64::Engine as _;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use url::Url;

use self::answer::{error_of, for_audience, passed_on};
use self::read::{as_call, as_hit};
use super::arguments::Arguments;
use super::evidence::Bounds;
use super::source::Source;
use super::tool_error::ToolError;
use super::{ToolAnswer, access, rs_error, surface};
use crate::provider::http::{Answer, Http};
use crate::provider::rs::{self, Blob, Envelope, Read, RsError};
use crate::provider::url::ProviderUrl;
use crate::secret::AccessToken;
use crate::text;

const VERSION: &str = "2025-11-25";
const SESSION: &str = "mcp-session-id";
/// Pages of a provider's tools that are looked at.
const MAX_PAGES: usize = 20;

/// A provider's hosted tools.
pub struct Remote {
    http: Http,
    endpoint: Url,
    /// Agreed on at the first call, and again where the provider forgets it.
    session: Mutex<Option<Arc<Session>>>,
}

/// What was agreed on with the provider.
struct Session {
    /// `Mcp-Session-Id`, where it keeps one.
    id: Option<HeaderValue>,
    /// The protocol version.
    version: String,
    /// Of our tools, those that it has.
    tools: HashMap<&'static str, Takes>,
}

/// Which arguments a tool takes.
enum Takes {
    /// These, and no other.
    Only(BTreeSet<String>),
    /// Its input schema does not say.
    Anything,
}

/// Why a message was not answered.
enum Failed {
    /// For a reason to tell.
    Told(ToolError),
    /// The bearer is not known (any more).
    Dead(ToolError, AccessToken),
    /// The session is not known any more (404).
    NoSession,
}

impl From<ToolError> for Failed {
    fn from(error: ToolError) -> Self {
        Self::Told(error)
    }
}

impl Remote {
    /// The tools at `{provider}/mcp`: the resource that a package's token is for.
    pub fn new(http: Http, provider: &ProviderUrl) -> Self {
        let mut endpoint = provider.url().clone();
        endpoint.set_path(&format!("{}/mcp", provider.url().path().trim_end_matches('/')));
        Self { http, endpoint, session: Mutex::default() }
    }

    /// Calls one of the six there, with the bearer of `source`.
    ///
    /// # Errors
    /// `unsupported_by_provider` for a tool or an argument that is not there; the provider's own refusal; one
    /// of R5.5's where it gives no answer; `answer_too_large`.
    pub async fn call(
        &self,
        source: &Source,
        bounds: Bounds,
        tool: &str,
        given: Map<String, Value>,
    ) -> Result<ToolAnswer, ToolError> {
        let unknown = || ToolError::new("unknown_tool", "there is no such tool", "tools/list names the six");
        let tool = surface::name_of(tool).ok_or_else(unknown)?;
        // Checked here first: what is wrong everywhere needs nobody to be asked.
        let arguments = Arguments::new(tool, given)?;
        let given = arguments.given();
        let mut read = Read::default();
        if let Some(stream) = given.get("stream").and_then(Value::as_str) {
            read = Read::of(["streams", stream]);
        }
        access::note(source.provider().as_str(), source.grant_id(), &read);
        let params = json!({"name": tool, "arguments": given});
        let result = self
            .ask(source, "tools/call", params, |session| match session.tools.get(tool) {
                None => Err(self.lacks(session, &format!("no tool `{tool}`"))),
                Some(Takes::Only(known)) => match given.keys().find(|name| !known.contains(*name)) {
                    Some(name) => Err(self
                        .lacks(session, &format!("no argument `{name}` of {tool}"))
                        .with("param", name.as_str())),
                    None => Ok(()),
                },
                Some(Takes::Anything) => Ok(()),
            })
            .await?;
        passed_on(tool, given, &result, bounds).map(|answer| for_audience(answer, source.audience(), bounds))
    }

    /// What `read` reads, through the tool behind it: for a schema and a search that are put together with
    /// those of other grants.
    ///
    /// # Errors
    /// As [`Remote::call`]; `unsupported_by_provider` for any other read.
    pub async fn get(&self, source: &Source, read: &Read) -> Result<Envelope, ToolError> {
        let (tool, arguments) = as_call(read).ok_or_else(|| {
            let what = format!("{} is not read through {}", read.route(), self.endpoint);
            ToolError::new(
                "unsupported_by_provider",
                what,
                "name a connection_id: one package is then asked alone",
            )
        })?;
        let anything = Bounds { text: usize::MAX, structured: usize::MAX };
        let answer = self.call(source, anything, tool, arguments).await?;
        let mut structured = answer.structured.unwrap_or_default();
        if answer.is_error {
            return Err(error_of(&structured, source.audience()));
        }
        let results = structured.remove("results");
        let ladder = structured.remove("content_ladder");
        match (structured.remove("data"), results) {
            (Some(Value::Object(body)), None) if tool == "schema" => Ok(Envelope { body, request_id: None }),
            (Some(Value::Object(mut body)), Some(Value::Array(results))) => {
                body.insert(
                    "data".to_owned(),
                    results.into_iter().map(|hit| as_hit(hit, ladder.as_ref())).collect(),
                );
                Ok(Envelope { body, request_id: None })
            }
            _ => Err(self.broken(&format!("a {tool} without its data"))),
        }
    }

    /// Reads a blob there, as the resource that it is.
    ///
    /// # Errors
    /// As [`Remote::call`].
    pub async fn blob(&self, source: &Source, blob_id: &str) -> Result<Blob, ToolError> {
        access::note(source.provider().as_str(), source.grant_id(), &Read::of(["blobs", blob_id]));
        let params = json!({ "uri": format!("pdpp://blob/{blob_id}") });
        let result = self.ask(source, "resources/read", params, |_| Ok(())).await?;
        let contents = result.get("contents").and_then(|contents| contents.get(0));
        let text = |key: &str| contents.and_then(|contents| contents.get(key)).and_then(Value::as_str);
        let media_type = text("mimeType").map(str::to_owned);
        let bytes = match (text("blob"), text("text")) {
            (Some(blob), _) => base64::engine::general_purpose::STANDARD.decode(blob).ok(),
            (None, text) => text.map(|text| text.as_bytes().to_vec()),
        };
        Ok(Blob { media_type, bytes: bytes.ok_or_else(|| self.broken("a resource without contents"))? })
    }

    /// One request, once more with another bearer where the first is dead, and once more where the session is
    /// gone. `check` sees what was agreed on before anything is asked.
    async fn ask(
        &self,
        source: &Source,
        method: &str,
        params: Value,
        check: impl Fn(&Session) -> Result<(), ToolError>,
    ) -> Result<Map<String, Value>, ToolError> {
        source.check_wait()?;
        let mut bearer = source.bearer().await?;
        let (mut is_replaced, mut is_reopened) = (false, false);
        loop {
            let mut used = None;
            let asked = async {
                let session = used.insert(self.session(source, &bearer).await?);
                check(session)?;
                self.request(source, &bearer, Some(session), method, params.clone())
                    .await
                    .map(|(result, _)| result)
            };
            match asked.await {
                Ok(result) => {
                    source.set_answered();
                    return Ok(result);
                }
                Err(Failed::Told(error)) => return Err(error),
                Err(Failed::Dead(error, dead)) => {
                    let another = if is_replaced { None } else { source.instead_of(dead).await };
                    let Some(another) = another else {
                        source.set_refused();
                        return Err(error);
                    };
                    (bearer, is_replaced) = (another, true);
                }
                Err(Failed::NoSession) if !is_reopened => {
                    is_reopened = true;
                    let mut kept = self.session.lock().await;
                    // Another call may have opened the next one meanwhile.
                    if kept.as_ref().zip(used.as_ref()).is_some_and(|(kept, used)| Arc::ptr_eq(kept, used)) {
                        *kept = None;
                    }
                }
                Err(Failed::NoSession) => return Err(self.broken("that it forgot the session at once")),
            }
        }
    }

    /// What was agreed on, else agrees.
    async fn session(&self, source: &Source, bearer: &AccessToken) -> Result<Arc<Session>, Failed> {
        let mut kept = self.session.lock().await;
        if let Some(session) = kept.as_ref() {
            return Ok(Arc::clone(session));
        }
        let params = json!({
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": {"name": "pdpp", "version": env!("CARGO_PKG_VERSION")},
        });
        let (begun, headers) = self.request(source, bearer, None, "initialize", params).await?;
        let version = begun.get("protocolVersion").and_then(Value::as_str).unwrap_or(VERSION).to_owned();
        let mut session = Session { id: headers.get(SESSION).cloned(), version, tools: HashMap::new() };
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.send(source, bearer, Some(&session), &told).await?;
        let mut params = json!({});
        let mut seen = BTreeSet::new();
        while seen.len() < MAX_PAGES {
            let (page, _) = self.request(source, bearer, Some(&session), "tools/list", params).await?;
            for tool in page.get("tools").and_then(Value::as_array).into_iter().flatten() {
                let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
                if let Some(ours) = surface::name_of(name) {
                    session.tools.insert(ours, takes(tool.get("inputSchema")));
                }
            }
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(cursor) if seen.insert(cursor.to_owned()) => params = json!({ "cursor": cursor }),
                _ => break,
            }
        }
        let session = Arc::new(session);
        *kept = Some(Arc::clone(&session));
        Ok(session)
    }

    async fn request(
        &self,
        source: &Source,
        bearer: &AccessToken,
        session: Option<&Session>,
        method: &str,
        params: Value,
    ) -> Result<(Map<String, Value>, HeaderMap), Failed> {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = self.send(source, bearer, session, &message).await?;
        let Some(mut message) = message_in(&answer) else {
            return Err(self.broken("something that is no JSON-RPC answer").into());
        };
        if let Some(error) = message.get("error") {
            return Err(self.refused(method, error).into());
        }
        match message.remove("result") {
            Some(Value::Object(result)) => Ok((result, answer.headers)),
            _ => Err(self.broken("an answer without a result").into()),
        }
    }

    /// Sends one message, and gives a successful answer.
    async fn send(
        &self,
        source: &Source,
        bearer: &AccessToken,
        session: Option<&Session>,
        message: &Value,
    ) -> Result<Answer, Failed> {
        let explain = |error: RsError| source.explain(&error, &Read::default());
        let request = self.http.request(reqwest::Method::POST, self.endpoint.clone());
        let mut request = request.map_err(|error| explain(error.into()))?;
        let authorization = rs::authorization(bearer).map_err(|error| explain(error.into()))?;
        request = request
            .header(AUTHORIZATION, authorization)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(message.to_string());
        if let Some(session) = session {
            request = request.header("mcp-protocol-version", &session.version);
            if let Some(id) = &session.id {
                request = request.header(SESSION, id);
            }
        }
        let answer = self.http.send(request).await.map_err(|error| explain(error.into()))?;
        if answer.is_success() {
            return Ok(answer);
        }
        if answer.status == 404 && session.is_some_and(|session| session.id.is_some()) {
            return Err(Failed::NoSession);
        }
        let refusal = rs::refusal_of(&answer);
        let is_over = matches!(refusal.code.as_str(), "grant_revoked" | "grant_expired");
        let is_dead = rs_error::is_dead_token(&refusal);
        let error = explain(RsError::Refused(Box::new(refusal)));
        Err(if is_dead && !is_over { Failed::Dead(error, bearer.clone()) } else { error.into() })
    }

    fn lacks(&self, session: &Session, what: &str) -> ToolError {
        let mut there = session.tools.keys().copied().collect::<Vec<_>>();
        there.sort();
        let next = if there.is_empty() {
            "tell the user: this provider's hosted tools are none of those that are offered here".to_owned()
        } else {
            format!("use what is there: {}", there.join(", "))
        };
        ToolError::new("unsupported_by_provider", format!("{} has {what}", self.endpoint), next)
    }

    fn broken(&self, what: &str) -> ToolError {
        ToolError::new(
            "provider_answer_broken",
            format!("{} answered with {what}", self.endpoint),
            "try again once; if it stays so, the provider is not working: tell the user",
        )
    }

    /// A JSON-RPC error: about the call, or that there is no such method.
    fn refused(&self, method: &str, error: &Value) -> ToolError {
        let said = error.get("message").and_then(Value::as_str).unwrap_or("no reason was given");
        let code = error.get("code").cloned().unwrap_or_default();
        if code == json!(-32601) {
            let what = format!("{} does not offer {method}", self.endpoint);
            return ToolError::new("unsupported_by_provider", what, "tell the user; use the other tools");
        }
        let next = "correct the call as the message says; schema lists what there is";
        ToolError::new("provider_refused_call", text::one_line(said).into_owned(), next)
            .with("jsonrpc_code", code)
    }
}

fn takes(schema: Option<&Value>) -> Takes {
    match schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object) {
        Some(known) => Takes::Only(known.keys().cloned().collect()),
        None => Takes::Anything,
    }
}

/// The JSON-RPC answer in a body of JSON, or in the events of a stream that has ended.
fn message_in(answer: &Answer) -> Option<Map<String, Value>> {
    let media_type =
        answer.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_answer = |message: &Map<String, Value>| {
        message.get("id") == Some(&json!(1))
            && (message.contains_key("result") || message.contains_key("error"))
    };
    if !media_type.starts_with("text/event-stream") {
        return answer.object().ok().filter(is_answer);
    }
    let body = std::str::from_utf8(&answer.body).ok()?.replace("\r\n", "\n").replace('\r', "\n");
    body.split("\n\n").find_map(|event| {
        let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
        let data = data.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n");
        match serde_json::from_str(&data) {
            Ok(Value::Object(message)) => Some(message).filter(is_answer),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answer(media_type: &str, body: &str) -> Answer {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, media_type.parse().unwrap());
        Answer { status: 200, headers, body: body.as_bytes().to_vec() }
    }

    #[test]
    fn an_answer_is_found_in_json_and_in_events() {
        let body = r#"{"jsonrpc":"2.0","id":1,"result":{"n":1.10}}"#;
        let found = |media_type: &str, body: &str| {
            message_in(&answer(media_type, body)).map(|found| Value::Object(found)["result"]["n"].to_string())
        };
        assert_eq!(found("application/json", body).as_deref(), Some("1.10"));
        let events = format!(
            ": ping\r\n\r\nid: 1\ndata:\n\nevent: message\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}}\n\ndata: {}\ndata:{}\n\n",
            &body[..17],
            &body[17..]
        );
        assert_eq!(found("text/event-stream", &events).as_deref(), Some("1.10"));
        for other in [r#"{"id":2,"result":{}}"#, r#"{"id":1}"#, "[]", "", "<html>"] {
            assert_eq!(found("application/json", other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn no_body_panics(body in "\\PC{0,200}", is_events in any::<bool>()) {
            let media_type = if is_events { "text/event-stream" } else { "application/json" };
            let answer = answer(media_type, &body);
            let _ = message_in(&answer);
            let _ = rs::refusal_of(&answer);
        }
    }
}
