//! What MCP's conformance suite expects of a server: certain tools, prompts and resources, so that it can test the
//! transport that ships ([`crate::mcp::protocol::http`]). Only with the feature `conformance-fixtures`, and so in no
//! released binary.
//!
//! Nothing here asks the client during a call or reports progress to it: every answer is one message.

use rmcp::ErrorData;
use rmcp::model::{ErrorCode, ServerResult};
use serde_json::{Map, Value, json};

use crate::mcp::protocol::jsonrpc;

/// A PNG with one pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/// A WAV without a sample.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
/// The name of a client's capabilities in `_meta`.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The tools in addition to the six.
const TOOLS: [&str; 17] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_logging_tool",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
];

/// Answers the suite's own requests; `None` for any other. `is_modern`: 2026-07-28 or later.
pub(super) fn answer(
    method: &str,
    params: Option<&Value>,
    is_modern: bool,
) -> Option<Result<Value, ErrorData>> {
    let params = params.and_then(Value::as_object).cloned().unwrap_or_default();
    let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
    let answered = match method {
        "tools/call" => tool(name, &params)?,
        "prompts/get" => prompt(name, &params)?,
        "prompts/list" => Ok(json!({"prompts": prompts()})),
        "completion/complete" => Ok(json!({"completion": {"values": [], "total": 0, "hasMore": false}})),
        "resources/read" => Ok(json!({"contents": [resource(params.get("uri")?.as_str()?)?]})),
        _ => return None,
    };
    Some(answered.map(|mut result| {
        if is_modern {
            if result.get("resultType").is_none() {
                result["resultType"] = json!("complete");
            }
            if matches!(method, "prompts/list" | "resources/read") {
                result["ttlMs"] = json!(0);
                result["cacheScope"] = json!("private");
            }
        }
        result
    }))
}

/// The answer to one of this program's own methods, with the suite's additions.
pub(super) fn result_line(method: &str, id: &str, result: &ServerResult) -> Vec<u8> {
    if matches!(result, ServerResult::CallToolResult(_)) {
        return jsonrpc::result_line(id, result);
    }
    let mut result = json!(result);
    extend(method, &mut result);
    jsonrpc::answer_line(id, "result", &result)
}

/// Adds the suite's parts to an answer of the server.
fn extend(method: &str, result: &mut Value) {
    match method {
        "initialize" | "server/discover" => {
            result["capabilities"]["prompts"] = json!({});
            result["capabilities"]["completions"] = json!({});
        }
        "tools/list" => {
            if let Some(Value::Array(tools)) = result.get_mut("tools") {
                tools.extend(TOOLS.map(|name| json!({"name": name, "description": "Of the conformance suite", "inputSchema": {"type": "object"}})));
                tools.push(json!({"name": "json_schema_2020_12_tool", "description": "Tool with JSON Schema 2020-12 features", "inputSchema": schema()}));
            }
        }
        "resources/list" => {
            let uris = ["test://static-text", "test://static-binary"];
            result["resources"] = uris
                .map(|uri| json!({"uri": uri, "name": uri, "description": "Of the conformance suite"}))
                .into();
        }
        _ => {}
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

fn embedded(uri: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": "text/plain", "text": "Embedded"}})
}

fn tool(name: &str, params: &Map<String, Value>) -> Option<Result<Value, ErrorData>> {
    let content = match name {
        "test_simple_text" | "json_schema_2020_12_tool" | "test_logging_tool" => vec![text("Simple")],
        "test_image_content" => vec![image()],
        "test_audio_content" => vec![json!({"type": "audio", "data": WAV, "mimeType": "audio/wav"})],
        "test_embedded_resource" => vec![embedded("test://embedded-resource")],
        "test_multiple_content_types" => vec![text("Several"), image(), embedded("test://mixed")],
        "test_error_handling" => {
            return Some(Ok(json!({"isError": true, "content": [text("An error, as asked for")]})));
        }
        "test_missing_capability" => {
            let error = ErrorData::new(
                ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
                "This tool needs sampling",
                Some(json!({"requiredCapabilities": {"sampling": {}}})),
            );
            return Some(if declares(params, "sampling") {
                Ok(json!({"content": [text("Declared")]}))
            } else {
                Err(error)
            });
        }
        _ => return input(name, params),
    };
    Some(Ok(json!({ "content": content })))
}

fn declares(params: &Map<String, Value>, capability: &str) -> bool {
    params.get("_meta").is_some_and(|meta| meta[CAPABILITIES].get(capability).is_some())
}

/// What a client is asked in the answer itself, so that it calls again with the replies (SEP-2322).
fn asked(of: &str) -> Value {
    match of {
        "sampling" => json!({"method": "sampling/createMessage", "params": {"maxTokens": 100,
            "messages": [{"role": "user", "content": text("What is the capital of France?")}]}}),
        "roots" => json!({"method": "roots/list", "params": {}}),
        _ => json!({"method": "elicitation/create", "params": {"message": "Who is asking?", "mode": "form",
            "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}}),
    }
}

/// A tool or prompt that asks: which questions in which round, and whether a state goes with them.
fn input(name: &str, params: &Map<String, Value>) -> Option<Result<Value, ErrorData>> {
    let state = params.get("requestState").and_then(Value::as_str);
    let given = |key: &str| params.get("inputResponses").is_some_and(|given| given.get(key).is_some());
    let ask = |questions: &[(&str, &str)], state: Option<&str>| {
        let questions = questions.iter().map(|(key, of)| ((*key).to_owned(), asked(of)));
        let mut result =
            json!({"resultType": "input_required", "inputRequests": questions.collect::<Map<_, _>>()});
        if let Some(state) = state {
            result["requestState"] = json!(state);
        }
        Some(Ok(result))
    };
    let (questions, own): (&[(&str, &str)], Option<&str>) = match name {
        "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
            (&[("user_name", "form")], None)
        }
        "test_input_required_result_prompt" => (&[("user_context", "form")], None),
        "test_input_required_result_sampling" => (&[("capital_question", "sampling")], None),
        "test_input_required_result_list_roots" => (&[("client_roots", "roots")], None),
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            (&[("confirm", "form")], Some("round-1"))
        }
        "test_input_required_result_multiple_inputs" => {
            (&[("user_name", "form"), ("greeting", "sampling"), ("client_roots", "roots")], Some("round-1"))
        }
        "test_input_required_result_multi_round" => match state {
            Some("round-1") if given("step1") => return ask(&[("step2", "form")], Some("round-2")),
            Some("round-2") => (&[("step2", "form")], Some("round-2")),
            _ => (&[("step1", "form")], Some("round-1")),
        },
        "test_input_required_result_capabilities" => {
            let able = [("a", "sampling", "sampling"), ("b", "form", "elicitation"), ("c", "roots", "roots")];
            let able = able.iter().filter(|(.., capability)| declares(params, capability));
            return ask(&able.map(|(key, of, _)| (*key, *of)).collect::<Vec<_>>(), None);
        }
        _ => return None,
    };
    if state.is_some_and(|state| Some(state) != own) {
        return Some(Err(ErrorData::invalid_params("requestState is not one that this server issued", None)));
    }
    if !questions.iter().all(|(key, _)| given(key)) {
        return ask(questions, own);
    }
    Some(Ok(match name {
        "test_input_required_result_prompt" => {
            json!({"messages": [{"role": "user", "content": text("Asked")}]})
        }
        _ => json!({"content": [text("Asked")]}),
    }))
}

fn prompts() -> Value {
    let prompt = |name: &str, arguments: &[&str]| {
        let arguments =
            arguments.iter().map(|name| json!({"name": name, "required": true})).collect::<Vec<_>>();
        json!({"name": name, "description": "Of the conformance suite", "arguments": arguments})
    };
    json!([
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ])
}

fn prompt(name: &str, params: &Map<String, Value>) -> Option<Result<Value, ErrorData>> {
    let argument =
        |name: &str| params.get("arguments").and_then(|all| all.get(name)?.as_str()).unwrap_or_default();
    let content = match name {
        "test_simple_prompt" => text("Simple"),
        "test_prompt_with_arguments" => text(&format!("{} and {}", argument("arg1"), argument("arg2"))),
        "test_prompt_with_embedded_resource" => embedded(argument("resourceUri")),
        "test_prompt_with_image" => image(),
        _ => return input(name, params),
    };
    Some(Ok(json!({"messages": [{"role": "user", "content": content}]})))
}

fn resource(uri: &str) -> Option<Value> {
    Some(match uri {
        "test://static-text" => json!({"uri": uri, "mimeType": "text/plain", "text": "Text"}),
        "test://static-binary" => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            json!({"uri": uri, "mimeType": "application/json", "text": json!({ "id": id }).to_string()})
        }
    })
}

fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "phone": {"type": "string"}, "email": {"type": "string"}},
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"required": ["phone"]}, "then": {"required": ["name"]}, "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}
