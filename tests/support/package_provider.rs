//! A provider's `/mcp` with the token of a package, in the reference's forms, which differ from ours: a window has no
//! `data` around it, a document holds one text of its record, a read of one stream must always name its connection,
//! and a search over all grants continues in the first one only.

use std::sync::{Arc, Mutex};

use pdpp::vault::Vault;
use pdpp::vault::wire;
use serde_json::{Map, Value, json};

/// One grant of a package: a connection.
#[derive(Debug, Clone)]
pub struct Child {
    pub token: String,
    pub connection: String,
    pub connector_key: String,
    pub label: String,
}

/// The provider, and the calls of its tools.
#[derive(Clone)]
pub struct PackageProvider {
    app: Arc<Vault>,
    children: Arc<Vec<Child>>,
    pub log: Arc<Mutex<Vec<(String, Value)>>>,
}

/// A refusal: status, and the error.
type Refused = (u16, Value);

impl PackageProvider {
    /// Serves it; returns its URL.
    pub async fn serve(app: Arc<Vault>, children: Vec<Child>) -> (String, Self) {
        let this = Self { app, children: Arc::new(children), log: Arc::default() };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = this.clone();
        let router = axum::Router::new().fallback(move |request: axum::extract::Request| {
            let served = served.clone();
            async move {
                let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
                let answer = tokio::task::spawn_blocking(move || served.answer(&body)).await.unwrap();
                ([("content-type", "application/json")], answer)
            }
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        (url, this)
    }

    /// How often each tool was called since the last time, without schemas.
    pub fn reads(&self) -> Vec<String> {
        let calls = std::mem::take(&mut *self.log.lock().unwrap());
        calls.into_iter().map(|(tool, _)| tool).filter(|tool| tool != "schema").collect()
    }

    fn answer(&self, body: &[u8]) -> String {
        let message: Value = serde_json::from_slice(body).unwrap();
        let params = &message["params"];
        let result = match message["method"].as_str().unwrap() {
            "initialize" => {
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "stand-in", "version": "1"}})
            }
            "notifications/initialized" => return String::new(),
            "tools/list" => json!({ "tools": tools() }),
            "tools/call" => {
                let (tool, arguments) =
                    (params["name"].as_str().unwrap(), params["arguments"].as_object().unwrap());
                self.log.lock().unwrap().push((tool.to_owned(), params["arguments"].clone()));
                match self.call(tool, arguments) {
                    Ok(structured) => {
                        json!({"content": [{"type": "text", "text": "see structuredContent"}], "structuredContent": structured})
                    }
                    Err((status, error)) => {
                        let structured = json!({"error": error, "provider_url": "https://p.example", "http_status": status, "request_id": null});
                        json!({"content": [{"type": "text", "text": error.to_string()}], "structuredContent": structured, "isError": true})
                    }
                }
            }
            other => {
                let error =
                    json!({"code": -32602, "message": format!("MCP error -32602: {other} is not here")});
                return json!({"jsonrpc": "2.0", "id": message["id"], "error": error}).to_string();
            }
        };
        json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string()
    }

    fn call(&self, tool: &str, given: &Map<String, Value>) -> Result<Value, Refused> {
        let text = |name: &str| given.get(name).and_then(Value::as_str);
        match tool {
            "schema" => self.schema(given),
            "query_records" | "aggregate" => {
                let stream = text("stream").unwrap();
                let child = self.child(text("connection_id"), Some(stream))?;
                let last = if tool == "aggregate" { "aggregate" } else { "records" };
                let data = self.read(child, &format!("/v1/streams/{}/{last}", encoded(stream)), given)?;
                let mut structured =
                    json!({"data": data, "provider_url": "https://p.example", "request_id": null});
                if tool == "query_records" {
                    let rows = structured["data"]["data"].as_array().cloned().unwrap_or_default();
                    let rows = rows.iter().map(|row| ladder(&handle(row), row["data"].as_object()));
                    structured["content_ladder"] =
                        json!({"kind": "record_set", "records": rows.collect::<Vec<_>>()});
                }
                Ok(structured)
            }
            "search" => self.search(given),
            "fetch" => {
                let (child, stream, record) = self.record(given)?;
                let path = format!("/v1/streams/{}/records/{}", encoded(&stream), encoded(&record));
                let row = self.read(child, &path, &only(given, &["fields", "expand", "expand_limit"]))?;
                Ok(document(&row))
            }
            "read_record_field" => {
                let (child, stream, record) = self.record(given)?;
                if text("cursor").is_some_and(|cursor| cursor.parse::<u64>().is_err()) {
                    return Err((
                        400,
                        json!({"type": "adapter_error", "code": "tool_handler_error", "message": "cursor is not valid"}),
                    ));
                }
                let mut asked =
                    only(given, &["offset_chars", "limit_chars", "q", "before_chars", "after_chars"]);
                asked.insert("field".to_owned(), given["field_path"].clone());
                asked.extend(given.get("cursor").map(|cursor| ("offset_chars".to_owned(), cursor.clone())));
                let path =
                    format!("/v1/streams/{}/records/{}/field-window", encoded(&stream), encoded(&record));
                let body = self.read(child, &path, &asked)?;
                let mut window = body["window"].clone();
                for (cursor, offset) in
                    [("next_cursor", "next_offset_chars"), ("previous_cursor", "previous_offset_chars")]
                {
                    window[cursor] =
                        body["window"][offset].as_u64().map_or(Value::Null, |at| json!(at.to_string()));
                }
                let named = json!({"id": format!("{}/{stream}:{record}", child.connection), "connection_id": child.connection,
                    "stream": stream, "record_id": record});
                let field = json!({"path": given["field_path"], "type": "string", "text_like": true});
                Ok(
                    json!({"record": named, "field": field, "window": window, "provider_url": "https://p.example", "request_id": null}),
                )
            }
            other => {
                Err((400, json!({"code": "tool_not_found", "message": format!("Tool {other} not found")})))
            }
        }
    }

    fn schema(&self, given: &Map<String, Value>) -> Result<Value, Refused> {
        let connection = given.get("connection_id").and_then(Value::as_str);
        let is_full = given.get("detail").is_some_and(|detail| detail == "full");
        let mut connectors = Vec::new();
        for child in self.children.iter().filter(|child| connection.is_none_or(|id| child.connection == id)) {
            let mut asked = only(given, &["stream", "detail"]);
            if !is_full {
                asked.insert("view".to_owned(), json!("compact"));
            }
            let body = self.read(child, "/v1/schema", &asked)?;
            for mut connector in body["connectors"].as_array().cloned().unwrap_or_default() {
                let named = json!({"connection_id": child.connection, "display_name": child.label});
                connector["granted_connections"] = json!([named]);
                connector["stream_count"] = json!(connector["streams"].as_array().map_or(0, Vec::len));
                connectors.push(connector);
            }
        }
        connectors.retain(|connector| connector["stream_count"] != 0);
        let data = json!({"granted_connections": [], "connector_count": connectors.len(), "connectors": connectors,
            "package": {"grant_package": true, "member_count": self.children.len()}, "detail": if is_full { "full" } else { "compact" }});
        Ok(json!({"data": data, "provider_url": "https://p.example", "request_id": null}))
    }

    /// Every grant is queried, but only the first grant's hits come on a page, with its cursor.
    fn search(&self, given: &Map<String, Value>) -> Result<Value, Refused> {
        let connection = given.get("connection_id").and_then(Value::as_str);
        let asked = match connection {
            Some(_) => vec![self.child(connection, None)?],
            None => self.children.iter().collect(),
        };
        let path = match given.get("mode").and_then(Value::as_str) {
            None | Some("lexical") => "/v1/search".to_owned(),
            Some(mode) => format!("/v1/search/{mode}"),
        };
        let limit = given.get("limit").and_then(Value::as_u64).unwrap_or(25);
        let (mut data, mut results, mut refused) = (None, Vec::new(), None);
        for child in asked {
            match self.read(child, &path, &only(given, &["q", "streams", "filter", "limit", "cursor"])) {
                Ok(mut body) => {
                    let hits = body["data"].as_array().cloned().unwrap_or_default();
                    results.extend(hits.iter().map(|hit| result(hit, child)));
                    if let Some(body) = body.as_object_mut() {
                        body.remove("data");
                    }
                    data = data.or((!hits.is_empty()).then_some(body));
                }
                Err(error) => refused = Some(error),
            }
        }
        results.truncate(usize::try_from(limit).unwrap());
        let data = match (data, refused) {
            (Some(data), _) => data,
            (None, Some(error)) => return Err(error),
            (None, None) => {
                json!({"object": "list", "has_more": false, "meta": {"count": 0, "warnings": []}})
            }
        };
        Ok(json!({"data": data, "results": results, "provider_url": "https://p.example", "request_id": null}))
    }

    /// The grant of that connection, which must be named even if there is no other.
    fn child(&self, connection: Option<&str>, stream: Option<&str>) -> Result<&Child, Refused> {
        let all = self.children.iter().map(|child| {
            json!({"connection_id": child.connection, "grant_id": format!("grt_{}", child.connection), "display_name": child.label,
                "connector_key": format!("https://registry.example/{}", child.connector_key)})
        });
        let all = all.collect::<Vec<_>>();
        let refused = |status: u16, code: &str, message: String| {
            (
                status,
                json!({"type": code, "code": code, "message": message, "available_connection_count": all.len(),
                "available_connections": all, "retry_with": "connection_id"}),
            )
        };
        let Some(id) = connection else {
            return Err(refused(
                409,
                "ambiguous_connection",
                "Pass `connection_id` to select one.".to_owned(),
            ));
        };
        let found = self.children.iter().find(|child| child.connection == id);
        let has_stream = |child: &&Child| {
            let asked = |stream: &str| {
                Map::from_iter([("stream".to_owned(), json!(stream)), ("view".to_owned(), json!("compact"))])
            };
            stream.is_none_or(|stream| {
                let body = self.read(child, "/v1/schema", &asked(stream)).unwrap_or_default();
                body["connectors"]
                    .as_array()
                    .is_some_and(|connectors| connectors.iter().any(|of| of["streams"] != json!([])))
            })
        };
        found.filter(has_stream).ok_or_else(|| {
            refused(
                404,
                "not_found",
                format!("connection_id {id:?} is not part of the selected package source and stream"),
            )
        })
    }

    fn record(&self, given: &Map<String, Value>) -> Result<(&Child, String, String), Refused> {
        let text = |name: &str| given.get(name).and_then(Value::as_str).map(str::to_owned);
        let id = match text("id") {
            None => (text("connection_id"), text("stream").unwrap(), text("record_id").unwrap()),
            Some(id) => {
                let id = pdpp::mcp::id::RecordId::parse(&id).unwrap();
                (id.connection.or_else(|| text("connection_id")), id.stream, id.record)
            }
        };
        let child = self.child(id.0.as_deref(), Some(&id.1))?;
        Ok((child, id.1, id.2))
    }

    fn read(&self, child: &Child, path: &str, given: &Map<String, Value>) -> Result<Value, Refused> {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        for (name, value) in given.iter().filter(|(name, _)| *name != "stream" || path == "/v1/schema") {
            match (name.as_str(), value) {
                ("streams", Value::Array(streams)) => {
                    for stream in streams {
                        query.append_pair("streams[]", &plain(stream));
                    }
                }
                (_, Value::Array(list)) => {
                    query.append_pair(name, &list.iter().map(plain).collect::<Vec<_>>().join(","));
                }
                (_, Value::Object(fields)) => {
                    for (field, value) in fields {
                        match value {
                            Value::Object(range) => range.iter().for_each(|(op, bound)| {
                                query.append_pair(&format!("{name}[{field}][{op}]"), &plain(bound));
                            }),
                            value => {
                                query.append_pair(&format!("{name}[{field}]"), &plain(value));
                            }
                        }
                    }
                }
                _ => {
                    query.append_pair(name, &plain(value));
                }
            }
        }
        let mut headers = axum::http::HeaderMap::new();
        headers.insert("authorization", format!("Bearer {}", child.token).parse().unwrap());
        let reply = self.app.answer(&wire::Request {
            method: axum::http::Method::GET,
            base: "http://127.0.0.1".to_owned(),
            path: path.to_owned(),
            query: query.finish(),
            headers,
            body: Vec::new(),
            request_id: "req_package".to_owned(),
        });
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        if reply.status.is_success() { Ok(body) } else { Err((reply.status.as_u16(), body["error"].clone())) }
    }
}

fn encoded(segment: &str) -> String {
    percent_encoding::utf8_percent_encode(segment, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn only(given: &Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    given
        .iter()
        .filter(|(name, _)| names.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn handle(row: &Value) -> String {
    let id = pdpp::mcp::id::RecordId::of_row(row.as_object().unwrap(), "").unwrap();
    id.handle().unwrap()
}

/// The names of a few fields, with the calls that read them.
fn ladder(id: &str, data: Option<&Map<String, Value>>) -> Value {
    let texts = data.into_iter().flatten().filter_map(|(name, value)| Some((name, value.as_str()?)));
    let windows = texts.take(5).map(|(name, text)| {
        json!({"field_path": name, "text_like": true, "preview_status": if text.len() > 1_000 { "truncated" } else { "complete" },
            "size_chars": text.chars().count(), "read": {"tool": "read_record_field", "args": {"id": id, "field_path": name}}})
    });
    json!({"id": id, "read_tool": "read_record_field", "field_windows": windows.collect::<Vec<_>>()})
}

/// A document of the first text of a record.
fn document(row: &Value) -> Value {
    let (id, data) = (handle(row), row["data"].as_object());
    let id_of = &row["id"];
    let mut values = data.into_iter().flatten().map(|(_, value)| value).filter(|value| *value != id_of);
    let text = values.clone().find_map(Value::as_str).map(str::to_owned);
    let text = text.or_else(|| values.next().map(Value::to_string)).unwrap_or_default();
    let mut metadata = row.as_object().unwrap().clone();
    metadata.retain(|key, _| key != "data" && key != "expanded");
    json!({"id": id, "title": text, "text": text, "url": "/v1/records", "metadata": metadata, "content_ladder": ladder(&id, data)})
}

/// A hit, flattened.
fn result(hit: &Value, child: &Child) -> Value {
    let id = handle(hit);
    let text = |key: &str| hit[key].as_str().unwrap_or_default();
    let stored = text("emitted_at");
    let mut result = json!({"id": id, "title": format!("{} / {} / {stored}", child.label, text("stream")),
        "url": format!("/v1/streams/{}/records/x", text("stream")), "stream": hit["stream"], "record_key": hit["record_key"],
        "connection_id": child.connection, "display_name": child.label, "connector_key": child.connector_key,
        "snippet": hit["snippet"]["text"]});
    if let Some(excerpts) = hit["evidence_excerpts"].as_array() {
        let excerpts = excerpts.iter().map(|excerpt| {
            let status = if excerpt["truncated"] == true { "truncated" } else { "complete" };
            json!({"field_path": excerpt["field_path"], "preview_text": excerpt["preview_text"], "preview_status": status,
                "read": {"tool": "read_record_field", "args": {"id": id, "field_path": excerpt["field_path"]}}})
        });
        result["evidence_excerpts"] = excerpts.collect();
        result["match_windows"] = result["evidence_excerpts"].clone();
    }
    result
}

/// The six tools, with the arguments of the reference's.
fn tools() -> Vec<Value> {
    let taking = |name: &str, arguments: &str| {
        let properties = arguments.split(' ').map(|name| (name.to_owned(), json!({}))).collect::<Map<_, _>>();
        json!({"name": name, "description": name, "inputSchema": {"type": "object", "properties": properties}})
    };
    vec![
        taking("schema", "detail stream connection_id"),
        taking(
            "query_records",
            "stream limit cursor order sort count filter fields view expand expand_limit changes_since connection_id",
        ),
        taking(
            "aggregate",
            "stream metric field group_by group_by_time granularity time_zone limit filter connection_id",
        ),
        taking("search", "q streams limit cursor mode filter connection_id"),
        taking("fetch", "id fields expand expand_limit connection_id"),
        taking(
            "read_record_field",
            "id connection_id stream record_id field_path cursor offset_chars limit_chars q before_chars after_chars",
        ),
    ]
}
