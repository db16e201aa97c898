//! What a provider's own tool answered, as an answer of ours: bounded, of the shape that is promised, and said to
//! whoever reads it here.

use serde_json::{Map, Value, json};

use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::answer_shape;
use crate::mcp::reading::source::Audience;
use crate::mcp::render::{Bounds, envelope, json_len};
use crate::mcp::tool_error::ToolError;
use crate::mcp::tools::surface;
use crate::text;

/// A tool's result, as one of ours.
pub(super) fn passed_on(
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
            return Err(answer_shape::broken(name, Some(value), expected));
        }
    }
    Ok(())
}

/// Whether what the tool answers with is there (R5.5). `data` beside a search's results is optional.
fn check_parts(tool: &str, structured: &Map<String, Value>) -> Result<(), ToolError> {
    let data = || answer_shape::object(structured, "data");
    match tool {
        "search" => answer_shape::objects(structured.get("results"), "results").map(drop),
        "fetch" => match ["id", "text"].into_iter().find(|key| !structured.contains_key(*key)) {
            Some(missing) => Err(answer_shape::broken(missing, None, "a text")),
            None => Ok(()),
        },
        "query_records" => answer_shape::objects(data()?.get("data"), "data.data").map(drop),
        "read_record_field" => answer_shape::window(data()?).map(drop),
        _ => data().map(drop),
    }
}

/// A tool's own error.
pub(super) fn error_of(structured: &Map<String, Value>, audience: &Audience) -> ToolError {
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
pub(super) fn for_audience(mut answer: ToolAnswer, audience: &Audience, bounds: Bounds) -> ToolAnswer {
    let error = answer.structured.as_mut().filter(|_| answer.is_error).and_then(|body| body.get_mut("error"));
    let Some(Value::Object(error)) = error else { return answer };
    let is_over = error.get("code").and_then(Value::as_str).is_some_and(is_over);
    if let (Audience::Owner(_), true) = (audience, is_over) {
        let here = format!("here: {}", audience.next());
        error.insert("hint".to_owned(), json!(here));
        if answer.text.len() + here.len() < bounds.text {
            answer.text = format!("{}\n{here}", answer.text);
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::Command;

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
        let owner = Audience::Owner(Command::connect("https://p.example").words("--renew"));
        let told = for_audience(answer(), &owner, Bounds::default());
        let here = "here: ask the user to run: pdpp connect https://p.example --renew";
        assert!(told.text.ends_with(here), "{}", told.text);
        assert_eq!(told.structured.unwrap()["error"]["hint"], here);
        assert_eq!(for_audience(answer(), &Audience::Caller, Bounds::default()), answer());
        assert!(error_of(body.as_object().unwrap(), &owner).next().ends_with("--renew"));
    }
}
