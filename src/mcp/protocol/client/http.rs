//! A client over Streamable HTTP. A bearer goes only to the URL that it was created for; redirects are not followed.

use std::collections::HashMap;
use std::sync::Arc;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use url::Url;

use super::message::{self, NEWEST_LEGACY, Outcome, ToolPages};
use crate::provider::http::{Answer, Http, HttpError};
use crate::provider::rs::{self, Refusal};
use crate::secret::AccessToken;

const SESSION: &str = "mcp-session-id";

/// The id of every request: requests do not share a connection's order, so one id is enough.
const ID: u64 = 1;

/// A server behind a URL.
pub struct HttpClient {
    http: Http,
    endpoint: Url,
    /// The session, negotiated at the first request, and again if the server forgets it.
    session: Mutex<Option<Arc<Session>>>,
}

/// What was negotiated with the server.
pub struct Session {
    /// `Mcp-Session-Id`, if the server keeps one.
    id: Option<HeaderValue>,
    /// The protocol version.
    version: String,
    /// The input schema of each of its tools, by its name.
    tools: HashMap<String, Value>,
}

impl Session {
    /// The input schema of the tool `name`, if the server has such a tool; null if it gives none.
    pub fn input_schema(&self, name: &str) -> Option<&Value> {
        self.tools.get(name)
    }
}

/// Why a request got no usable answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HttpClientError {
    /// No answer at all.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// An HTTP status that is not a success.
    #[error("{} ({})", .0.message, .0.code)]
    Refused(Box<Refusal>),
    /// A JSON-RPC error.
    #[error("{method} was refused")]
    Rpc {
        /// The method.
        method: &'static str,
        /// `error`.
        error: Value,
    },
    /// Something that is not an answer.
    #[error("the server answered with {0}")]
    Broken(&'static str),
    /// The server no longer knows the session (404).
    #[error("the server forgot the session at once")]
    NoSession,
}

impl HttpClient {
    /// A client for the server at `endpoint`.
    pub fn new(http: Http, endpoint: Url) -> Self {
        Self { http, endpoint, session: Mutex::default() }
    }

    /// The server's URL.
    pub const fn endpoint(&self) -> &Url {
        &self.endpoint
    }

    /// The negotiated session; negotiates one now if there is none.
    ///
    /// # Errors
    /// Returns [`HttpClientError`] if the server does not answer as it must.
    pub async fn session(&self, bearer: &AccessToken) -> Result<Arc<Session>, HttpClientError> {
        let mut kept = self.session.lock().await;
        if let Some(session) = kept.as_ref() {
            return Ok(Arc::clone(session));
        }
        let (begun, headers) =
            self.exchange(bearer, None, "initialize", message::initialize_params().into()).await?;
        let version = version_in(&begun)?.to_owned();
        let mut session = Session { id: headers.get(SESSION).cloned(), version, tools: HashMap::new() };
        self.send(bearer, Some(&session), &message::initialized()).await?;
        let (mut pages, mut next) = (ToolPages::default(), Some(Map::new()));
        while let Some(params) = next {
            let (page, _) = self.exchange(bearer, Some(&session), "tools/list", params.into()).await?;
            // A list that does not end is cut off; the part that was read is offered.
            next = pages.take(Value::Object(page)).unwrap_or_default();
        }
        for mut tool in pages.into_tools() {
            let schema = tool.get_mut("inputSchema").map(Value::take).unwrap_or_default();
            if let Some(name) = tool.get("name").and_then(Value::as_str) {
                session.tools.insert(name.to_owned(), schema);
            }
        }
        let session = Arc::new(session);
        *kept = Some(Arc::clone(&session));
        Ok(session)
    }

    /// Sends one request, and sends it again in a new session if the server has forgotten the old one.
    ///
    /// # Errors
    /// Returns [`HttpClientError`] if the server does not answer as it must.
    pub async fn request(
        &self,
        bearer: &AccessToken,
        method: &'static str,
        params: Value,
    ) -> Result<Map<String, Value>, HttpClientError> {
        let session = self.session(bearer).await?;
        match self.exchange(bearer, Some(&session), method, params.clone()).await {
            Err(HttpClientError::NoSession) => {}
            answer => return answer.map(|(result, _)| result),
        }
        let mut kept = self.session.lock().await;
        // Another request may have opened the next session in the meantime.
        if kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, &session)) {
            *kept = None;
        }
        drop(kept);
        let session = self.session(bearer).await?;
        self.exchange(bearer, Some(&session), method, params).await.map(|(result, _)| result)
    }

    async fn exchange(
        &self,
        bearer: &AccessToken,
        session: Option<&Session>,
        method: &'static str,
        params: Value,
    ) -> Result<(Map<String, Value>, HeaderMap), HttpClientError> {
        let answer = self.send(bearer, session, &message::request(ID, method, params)).await?;
        match outcome_in(&answer) {
            Some(Outcome::Result(Value::Object(result))) => Ok((result, answer.headers)),
            Some(Outcome::Error(error)) => Err(HttpClientError::Rpc { method, error }),
            Some(_) => Err(HttpClientError::Broken("an answer without a result")),
            None => Err(HttpClientError::Broken("something that is not a JSON-RPC answer")),
        }
    }

    /// Sends one message and returns a successful answer.
    async fn send(
        &self,
        bearer: &AccessToken,
        session: Option<&Session>,
        message: &Value,
    ) -> Result<Answer, HttpClientError> {
        let mut request = self
            .http
            .request(reqwest::Method::POST, self.endpoint.clone())?
            .header(AUTHORIZATION, rs::authorization(bearer)?)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(message.to_string());
        if let Some(session) = session {
            request = request.header("mcp-protocol-version", &session.version);
            if let Some(id) = &session.id {
                request = request.header(SESSION, id);
            }
        }
        let answer = self.http.send(request).await?;
        if answer.is_success() {
            return Ok(answer);
        }
        if answer.status == 404 && session.is_some_and(|session| session.id.is_some()) {
            return Err(HttpClientError::NoSession);
        }
        Err(HttpClientError::Refused(Box::new(rs::refusal_of(&answer))))
    }
}

/// The version in the answer to `initialize`. It becomes a header, so only a date is accepted.
fn version_in(begun: &Map<String, Value>) -> Result<&str, HttpClientError> {
    let is_date = |text: &&str| {
        let form =
            |(at, byte): (usize, u8)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
        text.len() == 10 && text.bytes().enumerate().all(form)
    };
    match begun.get("protocolVersion") {
        None | Some(Value::Null) => Ok(NEWEST_LEGACY),
        Some(found) => found
            .as_str()
            .filter(is_date)
            .ok_or(HttpClientError::Broken("a protocolVersion that is not a date (YYYY-MM-DD)")),
    }
}

/// The JSON-RPC answer in a JSON body, or in the events of a stream that has ended.
fn outcome_in(answer: &Answer) -> Option<Outcome> {
    let media_type =
        answer.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !media_type.starts_with("text/event-stream") {
        return message::outcome(&mut answer.object().ok()?, ID);
    }
    let body = std::str::from_utf8(&answer.body).ok()?.replace("\r\n", "\n").replace('\r', "\n");
    body.split("\n\n").find_map(|event| {
        let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
        let data = data.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n");
        match crate::json::parse(data.as_bytes()) {
            Ok(Value::Object(mut message)) => message::outcome(&mut message, ID),
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
        let found = |media_type: &str, body: &str| match outcome_in(&answer(media_type, body)) {
            Some(Outcome::Result(result)) => Some(result["n"].to_string()),
            _ => None,
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

    #[test]
    fn a_version_is_a_date_or_the_answer_is_broken() {
        let version = |value: Value| {
            let begun = Map::from_iter([("protocolVersion".to_owned(), value)]);
            version_in(&begun).map(str::to_owned).map_err(|error| error.to_string())
        };
        assert_eq!(version("2025-06-18".into()).as_deref(), Ok("2025-06-18"));
        assert_eq!(version(Value::Null).as_deref(), Ok(NEWEST_LEGACY));
        assert_eq!(version_in(&Map::new()).unwrap(), NEWEST_LEGACY);
        let broken = "the server answered with a protocolVersion that is not a date (YYYY-MM-DD)";
        for odd in [
            "2025-06-1\u{1b}",
            "2025-06-18\r\nx: y",
            "2025-06-18\n",
            "2025-06-1é",
            "2025/06/18",
            "DRAFT",
            "",
            &"9".repeat(3_000),
        ] {
            assert_eq!(version(odd.into()).unwrap_err(), broken, "{odd:?}");
        }
        assert_eq!(version(20_250_618.into()).unwrap_err(), broken);
    }

    proptest! {
        #[test]
        fn no_body_panics(body in "\\PC{0,200}", is_events in any::<bool>()) {
            let media_type = if is_events { "text/event-stream" } else { "application/json" };
            let answer = answer(media_type, &body);
            let _ = outcome_in(&answer);
            let _ = rs::refusal_of(&answer);
        }
    }
}
