//! A line from an MCP client, which is not trusted: an [`Envelope`], or the JSON-RPC error that answers it.
//!
//! A line becomes a [`Value`] first and only then one of the SDK's types. The SDK reads text directly into untagged
//! enums: it drops a line that it cannot read instead of answering it, and takes a malformed request for one with an
//! unknown method.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientRequest, ConstString, ContentBlock,
    DiscoverRequest, DiscoverRequestMethod, ErrorCode, Implementation, InitializeRequest,
    InitializeRequestParams, InitializeResultMethod, ListResourceTemplatesRequest,
    ListResourceTemplatesRequestMethod, ListResourcesRequest, ListResourcesRequestMethod, ListToolsRequest,
    ListToolsRequestMethod, PingRequest, PingRequestMethod, ProtocolVersion, ReadResourceRequest,
    ReadResourceRequestMethod, RequestMetaObject, ServerResult,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::json;
use crate::json::write::{self, Json, Sink, Written};
use crate::text;

/// The `_meta` key by which a request of 2026-07-28 names its era.
pub const META_PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The longest id, in bytes of JSON: it is kept while its call is in flight, and echoed.
const MAX_ID: usize = 1_024;

/// A request's id as compact JSON: a string or an integer of at most 1,024 bytes. Echoed unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Id(String);

impl Id {
    /// The id in `value`, if JSON-RPC and MCP both allow it and it is not too long.
    pub fn from_value(value: &Value) -> Option<Self> {
        let json = echoed(value)?;
        (value.is_string() || is_integer(&json)).then_some(Self(json))
    }

    /// The id as JSON.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

fn is_integer(number: &str) -> bool {
    number.strip_prefix('-').unwrap_or(number).bytes().all(|byte| byte.is_ascii_digit())
}

/// A well-formed JSON-RPC message.
#[derive(Debug, PartialEq)]
pub enum Envelope {
    /// Expects exactly one answer.
    Request {
        /// The id that the answer must carry.
        id: Id,
        /// The method.
        method: String,
        /// `params`, not yet read.
        params: Option<Value>,
    },
    /// Expects no answer.
    Notification {
        /// The method.
        method: String,
        /// `params`, not yet read.
        params: Option<Value>,
    },
    /// An answer, which no one awaits because this server sends no requests, or a blank line.
    Nothing,
}

/// A line that is not a message. Always answered, except for a malformed notification.
#[derive(Debug, PartialEq)]
pub struct Rejected {
    /// The id as JSON, if the line has one that can be echoed.
    pub id: Option<String>,
    /// `-32700` or `-32600`.
    pub code: i32,
    /// What is wrong.
    pub message: &'static str,
}

impl Rejected {
    /// The line was longer than `max` allows, and was discarded unread.
    pub const fn too_large() -> Self {
        Self { id: None, code: -32600, message: "Message too large (at most 4 MiB)" }
    }

    /// The answer, as one line without its line end.
    pub fn to_line(&self) -> Vec<u8> {
        let id = self.id.as_deref().unwrap_or("null");
        error_line(id, &ErrorData::new(ErrorCode(self.code), self.message, None))
    }
}

/// A JSON-RPC error answer, as one line without its line end. `id` is JSON.
pub fn error_line(id: &str, error: &ErrorData) -> Vec<u8> {
    answer_line(id, "error", error)
}

/// A JSON-RPC answer, as one line without its line end: `member` is `result` or `error`, `id` is JSON.
///
/// Written around the id, because an integer beyond 64 bits must come back unchanged.
pub fn answer_line(id: &str, member: &str, value: &impl serde::Serialize) -> Vec<u8> {
    let mut line = format!(r#"{{"jsonrpc":"2.0","id":{id},"{member}":"#).into_bytes();
    let start = line.len();
    if serde_json::to_writer(&mut line, value).is_err() {
        // Only a map whose keys are not strings could fail here; there is none.
        line.truncate(start);
        line.extend_from_slice(b"null");
    }
    line.push(b'}');
    line
}

/// The only member of an object that represents an answer that is already written.
const WRITTEN: &str = "\0written";

/// An already written structured answer in the place where the SDK has a value. The SDK checks only that it is an
/// object, and [`result_line`] writes it unchanged.
pub fn as_written(structured: Written) -> Value {
    Value::Object(Map::from_iter([(WRITTEN.to_owned(), Value::String(structured.into_string()))]))
}

/// What the place of a structured answer holds.
enum Structured<'a> {
    Written(&'a str),
    Value(&'a Value),
}

impl<'a> Structured<'a> {
    fn of(value: &'a Value) -> Self {
        match value.get(WRITTEN) {
            Some(Value::String(written)) => Self::Written(written),
            _ => Self::Value(value),
        }
    }
}

impl Json for Structured<'_> {
    fn write_to(&self, out: &mut impl Sink) {
        match self {
            Self::Written(json) => out.put(json),
            Self::Value(value) => value.write_to(out),
        }
    }
}

/// The JSON-RPC answer with this result, as one line without its line end. `id` is JSON.
///
/// A tool result is written here and not by the SDK's types: its structured answer is passed on unchanged, and its
/// text is written once.
pub fn result_line(id: &str, result: &ServerResult) -> Vec<u8> {
    let ServerResult::CallToolResult(result) = result else { return answer_line(id, "result", result) };
    let structured = result.structured_content.as_ref().map(Structured::of);
    let texts = result.content.iter().filter_map(|content| content.as_text()).map(|text| text.text.len());
    let written = structured.as_ref().map_or(0, |structured| match structured {
        Structured::Written(json) => json.len(),
        Structured::Value(_) => 0,
    });
    let length = texts.sum::<usize>() * 9 / 8 + written;
    let mut line = String::with_capacity(length + id.len() + 200);
    line.push_str(r#"{"jsonrpc":"2.0","id":"#);
    line.push_str(id);
    line.push_str(r#","result":"#);
    write::object(&mut line, |members| {
        members.put_some("resultType", result.result_type.as_ref().map(Sdk));
        members.put_list("content", result.content.iter().map(Content));
        members.put_some("structuredContent", structured);
        members.put_some("isError", result.is_error);
        members.put_some("_meta", result.meta.as_ref().map(Sdk));
    });
    line.push('}');
    line.into_bytes()
}

/// A part of a result.
struct Content<'a>(&'a ContentBlock);

impl Json for Content<'_> {
    fn write_to(&self, out: &mut impl Sink) {
        match self.0 {
            ContentBlock::Text(text) if text.meta.is_none() && text.annotations.is_none() => {
                write::object(out, |members| {
                    members.put("type", "text");
                    members.put("text", &text.text);
                });
            }
            other => Sdk(other).write_to(out),
        }
    }
}

/// A value of an SDK type.
struct Sdk<T>(T);

impl<T: serde::Serialize> Json for Sdk<T> {
    fn write_to(&self, out: &mut impl Sink) {
        // In the order of the SDK's members.
        let json = serde_json::to_string(&self.0).unwrap_or_else(|_| "null".to_owned());
        out.put(&crate::ui::json_ascii_controls(&json));
    }
}

/// A line of JSON with every hidden character as a `\u` escape: the same JSON, without anything that a log or a
/// terminal would act on (R4.9). Every transport sends its lines through here.
pub fn visible(line: Vec<u8>) -> Vec<u8> {
    match std::str::from_utf8(&line).map(crate::ui::json_ascii_controls) {
        Ok(std::borrow::Cow::Owned(escaped)) => escaped.into_bytes(),
        Ok(std::borrow::Cow::Borrowed(_)) | Err(_) => line,
    }
}

/// Reads one line.
///
/// # Errors
/// Returns the error to answer: `-32700` if the line is not JSON, `-32600` if the JSON is not a message.
pub fn envelope(line: &[u8]) -> Result<Envelope, Rejected> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Ok(Envelope::Nothing);
    }
    let mut message = match json::parse(line) {
        // An id that cannot be read exactly cannot be echoed: the client would not recognize it.
        Ok(Value::Object(message)) if has_odd_id(&message) && recover_id(line).is_none() => {
            return Err(Rejected { id: None, code: -32700, message: "Parse error" });
        }
        Ok(Value::Object(message)) => message,
        Ok(_) => return Err(invalid(None, "Invalid Request: not an object (batches are not supported)")),
        Err(_) => return Err(Rejected { id: recover_id(line), code: -32700, message: "Parse error" }),
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid(message.get("id"), "Invalid Request: jsonrpc must be \"2.0\""));
    }
    let params = message.remove("params");
    match (message.remove("method"), message.get("id")) {
        (Some(Value::String(method)), None) => Ok(Envelope::Notification { method, params }),
        (Some(Value::String(method)), Some(id)) => match Id::from_value(id) {
            Some(id) => Ok(Envelope::Request { id, method, params }),
            None => Err(invalid(
                Some(id),
                "Invalid Request: id must be a string or an integer, of at most 1,024 bytes",
            )),
        },
        (None, _) if message.contains_key("result") || message.contains_key("error") => Ok(Envelope::Nothing),
        (_, id) => Err(invalid(id, "Invalid Request: method must be a string")),
    }
}

/// Whether the id contains the replacement for a lone surrogate.
fn has_odd_id(message: &Map<String, Value>) -> bool {
    message.get("id").and_then(Value::as_str).is_some_and(|id| id.contains('\u{fffd}'))
}

fn invalid(id: Option<&Value>, message: &'static str) -> Rejected {
    Rejected { id: id.and_then(echoed), code: -32600, message }
}

/// The id to echo, whatever happens to its request.
fn echoed(id: &Value) -> Option<String> {
    let json = (id.is_string() || id.is_number()).then(|| id.to_string())?;
    (json.len() <= MAX_ID).then_some(json)
}

/// The id of a line that is not JSON as a whole, so that its sender gets an answer. `serde_json` skips values that it
/// is not asked for without checking their nesting, encoding or escapes.
fn recover_id(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Probe<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let id = serde_json::from_slice::<Probe<'_>>(line).ok()?.id.get();
    // Read again: the skipped part may itself be broken.
    serde_json::from_str::<Value>(id).ok().filter(|id| id.is_string() || id.is_number())?;
    (id.len() <= MAX_ID).then(|| id.to_owned())
}

/// Whether a request names its protocol era itself, as 2026-07-28 requires.
pub fn names_its_era(params: Option<&Value>) -> bool {
    params
        .and_then(|params| params.get("_meta"))
        .is_some_and(|meta| meta.get(META_PROTOCOL_VERSION).is_some())
}

/// The SDK's request for `method`.
///
/// # Errors
/// Returns `-32601` for a method that is not offered, `-32602` for parameters that do not fit it.
pub fn client_request(method: &str, params: Option<Value>) -> Result<ClientRequest, ErrorData> {
    let params = match params {
        None | Some(Value::Null) => None,
        Some(Value::Object(params)) => Some(params),
        Some(_) => return Err(invalid_params(method, "params must be an object")),
    };
    match method {
        "tools/call" => call_tool(params).map(ClientRequest::from),
        m if m == InitializeResultMethod::VALUE => initialize(params).map(ClientRequest::from),
        m if m == PingRequestMethod::VALUE => typed::<PingRequest>(m, params).map(ClientRequest::from),
        m if m == DiscoverRequestMethod::VALUE => {
            // `params` is where the required `_meta` belongs: without it, the SDK reports what is missing.
            typed::<DiscoverRequest>(m, Some(params.unwrap_or_default())).map(ClientRequest::from)
        }
        m if m == ListToolsRequestMethod::VALUE => {
            typed::<ListToolsRequest>(m, params).map(ClientRequest::from)
        }
        m if m == ListResourcesRequestMethod::VALUE => {
            typed::<ListResourcesRequest>(m, params).map(ClientRequest::from)
        }
        m if m == ListResourceTemplatesRequestMethod::VALUE => {
            typed::<ListResourceTemplatesRequest>(m, params).map(ClientRequest::from)
        }
        m if m == ReadResourceRequestMethod::VALUE => {
            typed::<ReadResourceRequest>(m, params).map(ClientRequest::from)
        }
        _ => Err(ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("Method not found: {}", text::one_line(text::prefix(method, 100))),
            None,
        )),
    }
}

/// The SDK's request for a tool call. It is built here and not deserialized, so that the arguments stay
/// unchanged, with every digit.
fn call_tool(params: Option<Map<String, Value>>) -> Result<CallToolRequest, ErrorData> {
    let wrong = |what| invalid_params("tools/call", what);
    let mut params = params.ok_or_else(|| wrong("params must be {name, arguments}"))?;
    let Some(Value::String(name)) = params.remove("name") else {
        return Err(wrong("name must be a string"));
    };
    let arguments = match params.remove("arguments") {
        None | Some(Value::Null) => None,
        Some(Value::Object(arguments)) => Some(arguments),
        Some(_) => return Err(wrong("arguments must be an object")),
    };
    let meta = match params.remove("_meta") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(meta)) => meta,
        Some(_) => return Err(wrong("_meta must be an object")),
    };
    let mut call = CallToolRequestParams::new(name);
    call.arguments = arguments;
    let mut request = CallToolRequest::new(call);
    request.extensions.insert(RequestMetaObject::from(meta));
    Ok(request)
}

/// The SDK's request for `initialize`. It is strict only about what matters here: a client is not refused because
/// of a capability in a form that the SDK does not know.
fn initialize(params: Option<Map<String, Value>>) -> Result<InitializeRequest, ErrorData> {
    let wrong = |what| invalid_params("initialize", what);
    let mut params =
        params.ok_or_else(|| wrong("params must be {protocolVersion, capabilities, clientInfo}"))?;
    let version = params.remove("protocolVersion").filter(Value::is_string);
    let version = version.ok_or_else(|| wrong("protocolVersion must be a string"))?;
    let version: ProtocolVersion =
        serde_json::from_value(version).map_err(|_| wrong("protocolVersion must be a string"))?;
    let capabilities: ClientCapabilities = lenient(params.remove("capabilities")).unwrap_or_default();
    let client = lenient(params.remove("clientInfo")).unwrap_or_else(|| Implementation::new("unknown", "0"));
    Ok(InitializeRequest::new(
        InitializeRequestParams::new(capabilities, client).with_protocol_version(version),
    ))
}

fn lenient<T: DeserializeOwned>(value: Option<Value>) -> Option<T> {
    value.and_then(|value| serde_json::from_value(value).ok())
}

fn typed<T: DeserializeOwned>(method: &str, params: Option<Map<String, Value>>) -> Result<T, ErrorData> {
    let mut request = Map::new();
    request.insert("method".to_owned(), Value::from(method));
    if let Some(params) = params {
        request.insert("params".to_owned(), Value::Object(params));
    }
    serde_json::from_value(Value::Object(request))
        .map_err(|error| invalid_params(method, text::prefix(&error.to_string(), 200)))
}

/// The error `-32602` for `method`.
pub fn invalid_params(method: &str, what: &str) -> ErrorData {
    let message = format!("Invalid params for {}: {what}", text::prefix(method, 100));
    ErrorData::invalid_params(text::one_line(&message).into_owned(), None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rmcp::model::CallToolResult;
    use rmcp::model::GetMeta as _;
    use serde_json::json;

    fn rejected(line: &[u8]) -> (i32, Option<String>) {
        let rejected = envelope(line).unwrap_err();
        (rejected.code, rejected.id)
    }

    fn id_of(line: &str) -> String {
        match envelope(line.as_bytes()) {
            Ok(Envelope::Request { id, .. }) => id.as_json().to_owned(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn what_is_not_json_is_a_parse_error_with_the_id_if_there_is_one() {
        assert_eq!(rejected(b"{not json"), (-32700, None));
        assert_eq!(rejected(br#"{"jsonrpc":"2.0","id":5,"method":"ping""#), (-32700, None));
        assert_eq!(rejected(b"\0\0"), (-32700, None));
        let five = (-32700, Some("5".to_owned()));
        assert_eq!(
            rejected(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"x\",\"params\":{\"a\":\"\xff\"}}"),
            five
        );
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":5,"method":"x","params":{}{}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        assert_eq!(rejected(deep.as_bytes()), five);
        assert_eq!(rejected(br#"{"jsonrpc":"2.0","id":"\ud800","method":"x"}"#), (-32700, None));
    }

    #[test]
    fn r5_6_a_lone_surrogate_is_read_as_a_replacement_wherever_it_is() {
        let lines = [
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"x","arguments":{"q":"a\ud800"}}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"x","_meta":{"a\udc00":"\ud83d"}}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"clientInfo":{"name":"\ud800","version":"1"}}}"#,
        ];
        for line in lines {
            let Ok(Envelope::Request { id, params, .. }) = envelope(line.as_bytes()) else {
                panic!("{line}")
            };
            assert_eq!(id.as_json(), "5");
            assert!(params.unwrap().to_string().contains('\u{fffd}'), "{line}");
        }
        assert_eq!(id_of("{\"jsonrpc\":\"2.0\",\"id\":\"\u{fffd}\",\"method\":\"ping\"}"), "\"\u{fffd}\"");
    }

    #[test]
    fn json_that_is_no_message_is_an_invalid_request() {
        for (line, id) in [
            ("[]", None),
            ("42", None),
            (r#"[{"jsonrpc":"2.0","id":5,"method":"ping"}]"#, None),
            (r#"{"id":5,"method":"ping"}"#, Some("5")),
            (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, Some("5")),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, None),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Some("1.5")),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, None),
            (r#"{"jsonrpc":"2.0","id":"a"}"#, Some("\"a\"")),
            (r#"{"jsonrpc":"2.0","id":1,"method":2}"#, Some("1")),
        ] {
            assert_eq!(rejected(line.as_bytes()), (-32600, id.map(str::to_owned)), "{line}");
        }
    }

    #[test]
    fn ids_keep_every_digit() {
        for id in ["0", "-7", "9223372036854775808", "12345678901234567890123", r#""a\nb""#, r#""""#] {
            assert_eq!(id_of(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)), id);
        }
    }

    #[test]
    fn an_id_of_more_than_a_thousand_bytes_is_refused_and_not_echoed() {
        let (fits, long) = ("7".repeat(MAX_ID), "7".repeat(MAX_ID + 1));
        assert_eq!(id_of(&format!(r#"{{"jsonrpc":"2.0","id":{fits},"method":"ping"}}"#)), fits);
        for id in [long.clone(), format!("{long:?}")] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            assert_eq!(rejected(line.as_bytes()), (-32600, None));
            assert_eq!(rejected(&line.as_bytes()[..line.len() - 1]), (-32700, None));
        }
    }

    #[test]
    fn whitespace_bom_and_answers_are_tolerated() {
        assert_eq!(envelope(b"  \r"), Ok(Envelope::Nothing));
        assert_eq!(envelope(br#"{"jsonrpc":"2.0","id":99,"result":{}}"#), Ok(Envelope::Nothing));
        assert_eq!(id_of("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\r"), "5");
    }

    #[test]
    fn malformed_calls_are_invalid_params_and_unknown_methods_are_not_found() {
        for params in
            [json!(null), json!({}), json!({"name": 1}), json!({"name": "x", "arguments": []}), json!([])]
        {
            let error = client_request("tools/call", Some(params)).unwrap_err();
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
        }
        assert_eq!(client_request("initialize", None).unwrap_err().code, ErrorCode::INVALID_PARAMS);
        assert_eq!(client_request("resources/read", None).unwrap_err().code, ErrorCode::INVALID_PARAMS);
        let error = client_request("no/such", None).unwrap_err();
        assert_eq!((error.code, &*error.message), (ErrorCode::METHOD_NOT_FOUND, "Method not found: no/such"));
    }

    #[test]
    fn arguments_and_meta_keep_every_digit() {
        let line = r#"{"n":12345678901234567890123,"f":1.10,"z":-0.0,"deep":[{"x":1.50}]}"#;
        let params =
            format!(r#"{{"name":"fetch","arguments":{line},"_meta":{{"progressToken":1.50,"n":1.10}}}}"#);
        let request = client_request("tools/call", Some(serde_json::from_str(&params).unwrap())).unwrap();
        assert_eq!(request.get_meta().get("n").unwrap().to_string(), "1.10");
        let ClientRequest::CallToolRequest(call) = request else { panic!("not a call") };
        let arguments = Value::Object(call.params.arguments.clone().unwrap()).to_string();
        assert_eq!(arguments, r#"{"deep":[{"x":1.50}],"f":1.10,"n":12345678901234567890123,"z":-0.0}"#);
    }

    #[test]
    fn numbers_in_meta_do_not_break_any_method() {
        let meta =
            r#"{"_meta":{"progressToken":12345678901234567890123,"f":1.10,"z":-0.0},"uri":"pdpp://x"}"#;
        for method in [
            "ping",
            "tools/list",
            "resources/list",
            "resources/templates/list",
            "resources/read",
            "server/discover",
        ] {
            let params = serde_json::from_str(meta).unwrap();
            let request = client_request(method, Some(params)).unwrap_or_else(|e| panic!("{method}: {e:?}"));
            assert_eq!(request.method(), method);
            assert_eq!(request.get_meta().get("f").unwrap().to_string(), "1.10", "{method}");
        }
    }

    #[test]
    fn a_tools_result_is_written_as_the_sdk_writes_it() {
        let structured = json!({"data": {"a\u{202e}": [1, "é\n"]}});
        let mut result = CallToolResult::success(vec![
            ContentBlock::text("a\u{7f}\"\n"),
            ContentBlock::image("aa", "image/png"),
        ]);
        result.is_error = Some(true);
        result.meta = serde_json::from_value(json!({"a": 1.10, "b": "\u{200b}"})).unwrap();
        for result_type in [result.result_type.clone(), None] {
            result.result_type = result_type;
            result.structured_content = Some(structured.clone());
            let written = visible(answer_line("7", "result", &result));
            assert_eq!(result_line("7", &ServerResult::CallToolResult(result.clone())), written);
            result.structured_content = Some(as_written(Written::of(&structured)));
            assert!(
                result.structured_content.as_ref().unwrap().is_object(),
                "the SDK leaves out anything else"
            );
            assert_eq!(result_line("7", &ServerResult::CallToolResult(result.clone())), written);
        }
    }

    proptest! {
        #[test]
        fn no_line_panics_and_every_rejection_is_one_json_line(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Err(rejected) = envelope(&line) {
                let answer = rejected.to_line();
                prop_assert!(!answer.contains(&b'\n'));
                prop_assert!(serde_json::from_slice::<Value>(&answer).is_ok());
            }
        }

        #[test]
        fn ids_round_trip(id in "\\PC*", tail in "[ -~]{0,40}") {
            let line = json!({"jsonrpc": "2.0", "id": id, "method": "m", "params": {"x": tail}}).to_string();
            prop_assert_eq!(id_of(&line), Value::from(id).to_string());
        }
    }
}
