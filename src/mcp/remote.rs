//! A package's token is good for nothing but its provider's own `/mcp`: its grants are read through the tools
//! that are there, by Streamable HTTP.
//!
//! A tool is one of ours by its exact name, or it is not used. What is answered is passed on: within our
//! bounds, as text that cannot break out (R4.9), and only in the shape that our output schemas promise. The
//! bearer goes to that one URL; a redirect is not followed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use base64::Engine as _;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use url::Url;

use super::arguments::Arguments;
use super::evidence::{Bounds, envelope, json_len};
use super::id::RecordId;
use super::source::{Audience, Source};
use super::tool_error::ToolError;
use super::{ToolAnswer, access, expected, rs_error, surface};
use crate::provider::http::{Answer, Http};
use crate::provider::rs::{self, Blob, Envelope, Read, RsError};
use crate::provider::url::ProviderUrl;
use crate::secret::AccessToken;
use crate::{advice, text};

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
        there.sort_unstable();
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

/// The call that gives what `read` reads, where there is one. A filter's values have lost their types in a
/// query, so that one with a filter is none.
fn as_call(read: &Read) -> Option<(&'static str, Map<String, Value>)> {
    let mut arguments = Map::new();
    let tool = match read.segments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["schema"] => "schema",
        ["search"] => "search",
        ["search", mode] => {
            arguments.insert("mode".to_owned(), json!(mode));
            "search"
        }
        _ => return None,
    };
    let mut streams = Vec::new();
    for (name, value) in &read.query {
        match name.as_str() {
            "view" if tool == "schema" => {}
            "stream" | "connection_id" | "q" | "cursor" => {
                arguments.insert(name.clone(), json!(value));
            }
            "limit" => {
                arguments.insert(name.clone(), json!(value.parse::<u64>().ok()?));
            }
            "streams[]" => streams.push(json!(value)),
            _ => return None,
        }
    }
    if !streams.is_empty() {
        arguments.insert("streams".to_owned(), streams.into());
    }
    Some((tool, arguments))
}

/// A result of `search`, as the hit of a resource server that it was made of; its proven windows come from the
/// ladder beside it.
fn as_hit(hit: Value, ladder: Option<&Value>) -> Value {
    let Value::Object(mut hit) = hit else { return hit };
    let id = hit.remove("id");
    if let Some(record) = hit.remove("record_id") {
        hit.insert("record_key".to_owned(), record);
    } else if let Some(parsed) = id.as_ref().and_then(Value::as_str).and_then(|id| RecordId::parse(id).ok()) {
        hit.insert("record_key".to_owned(), json!(parsed.record));
        hit.entry("stream").or_insert_with(|| json!(parsed.stream));
        if let Some(connection) = parsed.connection {
            hit.entry("connection_id").or_insert_with(|| json!(connection));
        }
    } else if let Some(id) = id.clone() {
        hit.insert("id".to_owned(), id);
    }
    let records = ladder.and_then(|ladder| ladder.get("records")?.as_array()).into_iter().flatten();
    let fields = records
        .filter(|record| record.get("id") == id.as_ref())
        .filter_map(|record| record.get("fields")?.as_array());
    let excerpts = fields.flatten().filter_map(|field| {
        let is_complete = field.get("complete") == Some(&json!(true));
        Some(json!({"field_path": field.get("field_path")?, "preview_text": field.get("preview")?, "truncated": !is_complete}))
    });
    let excerpts = excerpts.collect::<Vec<_>>();
    if !excerpts.is_empty() {
        hit.insert("evidence_excerpts".to_owned(), excerpts.into());
    }
    Value::Object(hit)
}

/// A tool's own error.
fn error_of(structured: &Map<String, Value>, audience: &Audience) -> ToolError {
    let text =
        |key: &str| structured.get("error").and_then(|error| error.get(key)?.as_str()).map(str::to_owned);
    let code = text("code").unwrap_or_else(|| "provider_refused_call".to_owned());
    let next = if is_over(&code) {
        audience.next()
    } else {
        "name a connection_id: one package is then asked alone".to_owned()
    };
    let message = text("message").unwrap_or_else(|| "the provider's own tools refused the call".to_owned());
    ToolError::new(code, message, next)
}

/// Whether a tool's error says that a grant is over.
fn is_over(code: &str) -> bool {
    matches!(code, "grant_revoked" | "grant_expired" | "grant_refused" | "context.active_false")
}

/// What the provider's tools say is said to a caller of theirs: whoever reads it here has another way to a new grant.
fn for_audience(mut answer: ToolAnswer, audience: &Audience, bounds: Bounds) -> ToolAnswer {
    let error = answer.structured.as_mut().filter(|_| answer.is_error).and_then(|body| body.get_mut("error"));
    let Some(Value::Object(error)) = error else { return answer };
    let is_over = error.get("code").and_then(Value::as_str).is_some_and(is_over);
    if let (Audience::Owner(_), true) = (audience, is_over) {
        let here = advice::complete(&format!("here: {}", audience.next()));
        error.insert("hint".to_owned(), json!(here));
        if answer.text.len() + here.len() < bounds.text {
            answer.text = format!("{}\n{here}", answer.text);
        }
    }
    answer
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

/// A tool's result, as one of ours.
fn passed_on(
    tool: &str,
    given: &Map<String, Value>,
    result: &Map<String, Value>,
    bounds: Bounds,
) -> Result<ToolAnswer, ToolError> {
    let is_error = result.get("isError") == Some(&json!(true));
    let items = result.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let said = items.iter().filter_map(|item| item.get("text").and_then(Value::as_str)).collect::<Vec<_>>();
    let said = said.join("\n");
    // A document's text is JSON (R3.40), and stays it.
    let said = if !said.contains('\n') && serde_json::from_str::<Value>(&said).is_ok() {
        crate::ui::json_ascii_controls(&said).into_owned()
    } else {
        text::lines(&said).into_owned()
    };
    let mut structured = result.get("structuredContent").and_then(Value::as_object).cloned();
    if let Some(structured) = &mut structured
        // Its text is the same object: the two stay the same.
        && tool != "fetch"
    {
        envelope::prepare(structured);
    }
    if is_error {
        let shown = |body: &Map<String, Value>| {
            check_types(tool, body).is_ok() && json_len(body) <= bounds.structured
        };
        let structured = structured.filter(shown);
        let text = text::prefix(&said, bounds.text).to_owned();
        return Ok(ToolAnswer { text, structured, is_error });
    }
    let Some(structured) = structured else {
        return Err(ToolError::new(
            "unsupported_by_provider",
            format!("the provider's {tool} gives no structured output"),
            "tell the user; use the other tools",
        ));
    };
    check_types(tool, &structured)?;
    check_parts(tool, &structured)?;
    let is_index = tool == "schema" && !given.contains_key("stream");
    let structured_len = json_len(&structured);
    if !is_index && (said.len() > bounds.text || structured_len > bounds.structured) {
        return Err(ToolError::new(
            "answer_too_large",
            format!(
                "the provider's answer has {} bytes of text and {structured_len} of structured output",
                said.len()
            ),
            "ask for less in one call: limit, fields, connection_id, limit_chars",
        ));
    }
    Ok(ToolAnswer { text: said, structured: Some(structured), is_error })
}

/// Whether every key that the tool's output schema types is of that type (R2.8).
fn check_types(tool: &str, structured: &Map<String, Value>) -> Result<(), ToolError> {
    let tools = surface::tools();
    let schema = tools.iter().find(|one| one.name == tool).and_then(|one| one.output_schema.as_ref());
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    for (name, property) in properties.into_iter().flatten() {
        let Some(value) = structured.get(name) else { continue };
        let (fits, expected) = match property.get("type").and_then(Value::as_str) {
            Some("object") => (value.is_object(), "an object"),
            Some("array") => (value.is_array(), "a list"),
            Some("string") => (value.is_string(), "a text"),
            Some("integer") => (value.is_i64() || value.is_u64(), "a whole number"),
            _ => continue,
        };
        if !fits {
            return Err(expected::broken(name, Some(value), expected));
        }
    }
    Ok(())
}

/// Whether what the tool answers with is there (R5.5). `data` beside a search's results is optional.
fn check_parts(tool: &str, structured: &Map<String, Value>) -> Result<(), ToolError> {
    let data = || expected::object(structured, "data");
    match tool {
        "search" => expected::objects(structured.get("results"), "results").map(drop),
        "fetch" => match ["id", "text"].into_iter().find(|key| !structured.contains_key(*key)) {
            Some(missing) => Err(expected::broken(missing, None, "a text")),
            None => Ok(()),
        },
        "query_records" => expected::objects(data()?.get("data"), "data.data").map(drop),
        "read_record_field" => expected::window(data()?).map(drop),
        _ => data().map(drop),
    }
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

    #[test]
    fn r6_2_a_result_is_a_hit_again() {
        let ladder = json!({"records": [
            {"id": "other", "fields": [{"field_path": "x", "preview": "no", "complete": true, "read": {}}]},
            {"id": "c/s:1", "fields": [{"field_path": "body", "preview": "a <mark>b</mark>", "complete": false, "read": {}}]},
        ]});
        let excerpt = json!([{"field_path": "body", "preview_text": "a <mark>b</mark>", "truncated": true}]);
        let whole =
            json!({"id": "c/s:1", "connection_id": "c", "stream": "s", "record_id": "1", "title": "t"});
        let hit = as_hit(whole, Some(&ladder));
        assert_eq!(
            (&hit["record_key"], &hit["title"], &hit["evidence_excerpts"]),
            (&json!("1"), &json!("t"), &excerpt)
        );
        let bare = as_hit(json!({"id": "c/s:2024%2F1"}), None);
        assert_eq!(bare, json!({"record_key": "2024/1", "stream": "s", "connection_id": "c"}));
        assert_eq!(as_hit(json!({"id": "https://x.example"}), None)["id"], "https://x.example");
        let read = Read::of(["search", "hybrid"]).with("q", "a b").with("limit", "7").with("streams[]", "s");
        let arguments = json!({"mode": "hybrid", "q": "a b", "limit": 7, "streams": ["s"]});
        assert_eq!(as_call(&read), Some(("search", arguments.as_object().cloned().unwrap())));
        assert_eq!(as_call(&read.with("filter[a]", "1")), None);
        assert_eq!(as_call(&Read::of(["streams"])), None);
    }

    #[test]
    fn r4_8_r4_9_what_is_passed_on_is_bounded_and_cannot_break_out() {
        let bounds = Bounds::default();
        let result = |text: &str, structured: Value| {
            json!({"content": [{"type": "text", "text": text}], "structuredContent": structured})
                .as_object()
                .cloned()
                .unwrap()
        };
        let given = Map::new();
        let pass = |tool: &str, result: &Map<String, Value>| passed_on(tool, &given, result, bounds);
        let hostile = pass("search", &result("a\u{1b}[2J\u{202e}b", json!({"results": []}))).unwrap();
        assert!(!hostile.text.contains('\u{1b}') && !hostile.text.contains('\u{202e}'), "{}", hostile.text);
        let alias = json!({"data": {"connector_instance_id": "x", "connector_key": "https://x.example/k", "data": []}});
        let cleaned = pass("query_records", &result("t", alias)).unwrap();
        assert_eq!(cleaned.structured.unwrap()["data"], json!({"data": []}));
        let code = |tool: &str, text: &str, structured: Value| {
            pass(tool, &result(text, structured)).unwrap_err().code().to_owned()
        };
        assert_eq!(code("search", &"x".repeat(bounds.text + 1), json!({"results": []})), "answer_too_large");
        let long = json!({"results": [], "note": "x".repeat(bounds.structured)});
        assert_eq!(code("search", "t", long), "answer_too_large");
        assert_eq!(code("search", "t", json!([])), "unsupported_by_provider");
        let mut refused = result(&"é".repeat(bounds.text), json!({"results": 1}));
        refused.insert("isError".to_owned(), json!(true));
        let refused = pass("search", &refused).unwrap();
        assert!(refused.is_error && refused.structured.is_none() && refused.text.len() <= bounds.text);
    }

    #[test]
    fn r5_5_what_is_missing_is_not_empty() {
        let pass = |tool: &str, structured: &Value| {
            let result = json!({"content": [], "structuredContent": structured});
            passed_on(tool, &Map::new(), result.as_object().unwrap(), Bounds::default())
        };
        for (tool, whole, wrong) in [
            ("schema", json!({"data": {}}), vec![json!({}), json!({"data": []})]),
            (
                "query_records",
                json!({"data": {"data": [{}]}}),
                vec![json!({"ids": []}), json!({"data": {}}), json!({"data": {"data": [1]}})],
            ),
            ("aggregate", json!({"data": {}}), vec![json!({}), json!({"data": {}, "groups_not_shown": 0.5})]),
            (
                "search",
                json!({"results": []}),
                vec![json!({"data": {}}), json!({"results": {}}), json!({"results": [], "data": null})],
            ),
            (
                "fetch",
                json!({"id": "s:1", "text": ""}),
                vec![json!({"id": "s:1"}), json!({"data": {}}), json!({"id": 1, "text": ""})],
            ),
            (
                "read_record_field",
                json!({"data": {"window": {"text": ""}}}),
                vec![json!({}), json!({"data": {}}), json!({"data": {"window": {}}})],
            ),
        ] {
            assert_eq!(pass(tool, &whole).unwrap().structured.map(Value::Object), Some(whole), "{tool}");
            for wrong in wrong {
                let error = pass(tool, &wrong).unwrap_err();
                assert_eq!(error.code(), "provider_answer_broken", "{tool} {wrong}");
            }
        }
    }

    #[test]
    fn a_grant_that_is_over_is_renewed_here_and_not_in_a_host() {
        let body = json!({"error": {"code": "grant_revoked", "message": "over", "hint": "in your host"}});
        let answer = || ToolAnswer {
            text: "error grant_revoked: over\nnext: in your host".to_owned(),
            structured: body.as_object().cloned(),
            is_error: true,
        };
        let owner = Audience::Owner("pdpp connect https://p.example --renew".to_owned());
        let told = for_audience(answer(), &owner, Bounds::default());
        let here = "here: ask the user to run: pdpp connect https://p.example --renew";
        assert!(told.text.ends_with(here), "{}", told.text);
        assert_eq!(told.structured.unwrap()["error"]["hint"], here);
        assert_eq!(for_audience(answer(), &Audience::Caller, Bounds::default()), answer());
        assert!(error_of(body.as_object().unwrap(), &owner).next().ends_with("--renew"));
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
