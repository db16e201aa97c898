//! A reader of one view at a time, line by line, that knows only the documented forms.

use pdpp::mcp::id::RecordId;
use pdpp::mcp::protocol::service::ToolAnswer;
use pdpp::mcp::tools::service::Tools;
use serde_json::{Map, Value, json};

use crate::support::numbers::as_texts;

use super::call;

/// A call that an answer offers.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    pub tool: String,
    pub arguments: Value,
}

/// Bytes of `structuredContent` on the wire: as `serde_json` writes it, with every hidden character escaped.
pub fn wire_len(answer: &ToolAnswer) -> usize {
    answer.structured.as_ref().map_or(0, |structured| {
        let json = structured.read().to_string();
        assert_eq!(structured.as_str(), pdpp::ui::json_ascii_controls(&json));
        structured.len()
    })
}

pub fn structured(answer: &ToolAnswer) -> Value {
    Value::Object(answer.structured_map())
}

/// The calls of the lines that begin with `keyword: `, indented or not.
pub fn offers(text: &str, keyword: &str) -> Vec<Offer> {
    text.lines()
        .filter_map(|line| offer(line.trim_start().strip_prefix(keyword)?.strip_prefix(": ")?))
        .collect()
}

/// The calls of lines of the form `… continues: tool {…}`.
pub fn continuations(text: &str) -> Vec<Offer> {
    text.lines().filter_map(|line| offer(after_token(line).strip_prefix(" continues: ")?)).collect()
}

#[allow(clippy::unnecessary_wraps, reason = "given to filter_map")]
fn offer(text: &str) -> Option<Offer> {
    let (tool, arguments) = text.split_once(' ').unwrap_or((text, ""));
    Some(Offer { tool: tool.to_owned(), arguments: serde_json::from_str(arguments).unwrap_or(Value::Null) })
}

pub fn offer_of(value: &Value) -> Option<Offer> {
    Some(Offer { tool: value.get("tool")?.as_str()?.to_owned(), arguments: value.get("arguments")?.clone() })
}

/// A token or a JSON string at the beginning of `text`.
fn token(text: &str) -> String {
    if text.starts_with('"') {
        let mut stream = serde_json::Deserializer::from_str(text).into_iter::<String>();
        return stream.next().unwrap().unwrap();
    }
    text.split(' ').next().unwrap().to_owned()
}

/// What follows a token or a JSON string at the beginning of `text`.
fn after_token(text: &str) -> &str {
    if !text.starts_with('"') {
        let (token, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
        return if token.contains(['=', '"']) { "" } else { rest };
    }
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let _ = stream.next();
    &text[stream.byte_offset()..]
}

fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_once(key).map(|(_, rest)| rest)
}

/// The records that the lines of a text name, in order: lines that begin with `id=` or, if no handle can carry the
/// id, with the parts; in a search, after the number of the hit.
pub fn ids(text: &str) -> Vec<RecordId> {
    text.lines()
        .filter_map(|line| {
            let line = line.trim_start();
            let line = line.strip_prefix("- ").unwrap_or(line);
            if let Some(rest) = line.strip_prefix("id=") {
                let mut id = RecordId::parse(&token(rest)).unwrap_or_else(|error| panic!("{line}: {error}"));
                // Only if the id could not embed it.
                if id.connection.is_none() {
                    id.connection = after(rest, " connection_id=").map(token);
                }
                return Some(id);
            }
            let rest = line.strip_prefix("connection_id=")?;
            let (connection, stream) = (token(rest), token(after(rest, " stream=")?));
            let record = token(after(rest, " record_id=")?);
            Some(RecordId { connection: Some(connection), stream, record })
        })
        .collect()
}

/// Follows `next` to the end; both views must offer the same.
pub async fn walk(core: &Tools, tool: &str, arguments: &Value) -> Vec<ToolAnswer> {
    let mut offer = Offer { tool: tool.to_owned(), arguments: arguments.clone() };
    let mut answers = Vec::new();
    loop {
        let answer = call(core, &offer.tool, &offer.arguments).await;
        assert!(!answer.is_error, "{offer:?}\n{}", answer.text);
        let next = structured(&answer).get("next").and_then(offer_of);
        let offered = offers(&answer.text, "next");
        assert_eq!(offered, next.clone().into_iter().collect::<Vec<_>>(), "{}", answer.text);
        answers.push(answer);
        assert!(answers.len() < 5_000, "it does not end");
        match next {
            Some(next) => offer = next,
            None => return answers,
        }
    }
}

/// Follows a `read_record_field` call to its end, and returns the joined windows.
pub async fn read_to_end(core: &Tools, offer: &Offer) -> String {
    assert_eq!(offer.tool, "read_record_field");
    let mut whole = String::new();
    for answer in walk(core, &offer.tool, &offer.arguments).await {
        let text = structured(&answer)["data"]["window"]["text"].as_str().unwrap().to_owned();
        let shown: String = serde_json::from_str(answer.text.lines().next().unwrap()).unwrap();
        assert_eq!(shown, text, "both views show the same window");
        whole.push_str(&text);
    }
    whole
}

/// Puts a record's data together again, from `shown` and from what the calls read.
pub async fn restored(core: &Tools, shown: &Value, fields: &[(String, Offer)]) -> Value {
    let mut data = shown.as_object().cloned().unwrap_or_default();
    for (path, read) in fields {
        let rest = read_to_end(core, read).await;
        let is_json = read.arguments["cursor"].as_str().is_some_and(|cursor| cursor.starts_with("json:"));
        if path == "$" && is_json {
            let all: Map<String, Value> = serde_json::from_str(&rest).unwrap();
            for (name, value) in &data {
                let read = all.get(name).map(as_texts);
                assert_eq!(Some(as_texts(value)), read, "what is shown is not what is read");
            }
            data = all;
        } else if is_json {
            data.insert(path.clone(), serde_json::from_str(&rest).unwrap());
        } else {
            let begun = data.get(path).and_then(Value::as_str).unwrap_or("");
            let offset = read.arguments.get("offset_chars").and_then(Value::as_u64).unwrap_or(0);
            assert_eq!(begun.chars().count() as u64, offset, "the call goes on where {path} was cut");
            data.insert(path.clone(), json!(format!("{begun}{rest}")));
        }
    }
    Value::Object(data)
}

/// The incomplete fields of `content_ladder`, by record.
pub fn ladder(answer: &ToolAnswer) -> Vec<(String, Vec<(String, Offer)>)> {
    let ladder = structured(answer)["content_ladder"]["records"].clone();
    let records = ladder.as_array().cloned().unwrap_or_default();
    let field = |field: &Value| {
        let path = field["field_path"].as_str()?.to_owned();
        (field["complete"] == false).then_some((path, offer_of(&field["read"])?))
    };
    records
        .iter()
        .map(|record| {
            let fields = record["fields"].as_array().cloned().unwrap_or_default();
            (record["id"].as_str().unwrap().to_owned(), fields.iter().filter_map(field).collect())
        })
        .collect()
}
