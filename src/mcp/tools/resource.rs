//! `pdpp://` resources: the same grant-scoped data as the tools, for hosts that read resources (R4.5).

use serde_json::{Map, Value, json};

use crate::json::write::Written;
use crate::mcp::call::Tool;
use crate::mcp::id::{RECORD_URI, RecordId, check_segment};
use crate::mcp::protocol::service::{ResourceContents, ResourceError, Service};
use crate::mcp::reading::reader::Reader;
use crate::mcp::tool_error::ToolError;

/// The largest blob that can be read, in bytes.
pub const MAX_BLOB_BYTES: usize = 8 << 20;

const FIELD_WINDOW_URI: &str = "pdpp://field-window/";
const STREAM_URI: &str = "pdpp://stream/";
const BLOB_URI: &str = "pdpp://blob/";

/// A blob, named by its URI.
pub struct Blob {
    /// Its id.
    pub id: String,
    /// Its connection, if several grants are served: `?connection_id=`.
    pub connection: Option<String>,
}

impl Blob {
    /// Parses a blob's URI; `None` if it is another resource's URI.
    pub fn parse(uri: &str) -> Option<Result<Self, ResourceError>> {
        let rest = uri.strip_prefix(BLOB_URI)?;
        let (id, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut parameters = url::form_urlencoded::parse(query.as_bytes());
        let connection =
            parameters.find(|(name, _)| name == "connection_id").map(|(_, value)| value.into_owned());
        let blob = Self { id: id.to_owned(), connection };
        Some(match check_segment("blob", id) {
            Ok(()) => Ok(blob),
            Err(error) => Err(ResourceError::InvalidUri(error.to_string())),
        })
    }

    /// Reads the blob, at most [`MAX_BLOB_BYTES`].
    ///
    /// # Errors
    /// Returns the backend's error as [`ResourceError`].
    pub async fn read(&self, reader: &Reader) -> Result<ResourceContents, ResourceError> {
        let blob = reader.blob(&self.id).await.map_err(|error| failed_with(&error))?;
        if blob.bytes.len() > MAX_BLOB_BYTES {
            let error = ToolError::new(
                "blob_too_large",
                format!("the blob has {} bytes, more than {MAX_BLOB_BYTES}", blob.bytes.len()),
                "tell the user: it is too large to read here",
            );
            return Err(ResourceError::Failed {
                message: error.message().to_owned(),
                data: Value::Object(error.to_structured()),
            });
        }
        Ok(ResourceContents::Blob { media_type: blob.media_type, bytes: blob.bytes })
    }
}

/// Reads a resource through the tool that returns the same.
///
/// # Errors
/// Returns the tool's error as [`ResourceError`].
pub async fn read_by_call(service: &dyn Service, uri: &str) -> Result<ResourceContents, ResourceError> {
    let (tool, arguments) = as_call(uri)?;
    let answer = service.call(tool.name(), arguments).await;
    if answer.is_error {
        let error = answer.structured_map().remove("error").unwrap_or(Value::Null);
        return Err(failed(&error));
    }
    Ok(ResourceContents::Text {
        media_type: "application/json".to_owned(),
        text: answer.structured.map_or_else(|| "{}".to_owned(), Written::into_string),
    })
}

/// The tool call for a record, stream or field-window URI.
fn as_call(uri: &str) -> Result<(Tool, Map<String, Value>), ResourceError> {
    let invalid =
        |why: String| ResourceError::InvalidUri(format!("{why}; resources/templates/list shows the forms"));
    let decoded = |text: &str| {
        let text = percent_encoding::percent_decode_str(text).decode_utf8();
        text.map(std::borrow::Cow::into_owned).map_err(|_| invalid("the URI is not UTF-8".to_owned()))
    };
    let object = |value: Value| value.as_object().cloned().unwrap_or_default();
    if uri.starts_with(RECORD_URI) {
        RecordId::parse(uri).map_err(|error| invalid(error.to_string()))?;
        return Ok((Tool::Fetch, object(json!({"id": uri}))));
    }
    if let Some(rest) = uri.strip_prefix(STREAM_URI) {
        let (stream, query) = rest.split_once('?').unwrap_or((rest, ""));
        let stream = decoded(stream)?;
        check_segment("stream", &stream).map_err(|error| invalid(error.to_string()))?;
        let mut arguments = object(json!({"stream": stream}));
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            if name != "connection_id" {
                return Err(invalid(format!("unknown parameter {name}")));
            }
            arguments.insert(name.into_owned(), json!(value));
        }
        return Ok((Tool::QueryRecords, arguments));
    }
    if let Some(rest) = uri.strip_prefix(FIELD_WINDOW_URI) {
        let (handle, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (handle, field) =
            handle.rsplit_once('/').ok_or_else(|| invalid("no field is named".to_owned()))?;
        let mut arguments = object(json!({"id": decoded(handle)?, "field_path": decoded(field)?}));
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let value = match name.as_ref() {
                "offset_chars" | "limit_chars" => {
                    let number = value.parse::<u64>();
                    json!(number.map_err(|_| invalid(format!("{name} is not a number")))?)
                }
                _ => return Err(invalid(format!("unknown parameter {name}"))),
            };
            arguments.insert(name.into_owned(), value);
        }
        return Ok((Tool::ReadRecordField, arguments));
    }
    Err(invalid("this is not a pdpp:// resource".to_owned()))
}

/// A typed error in the form of a resource read.
pub fn failed_with(error: &ToolError) -> ResourceError {
    failed(error.to_structured().get("error").unwrap_or(&Value::Null))
}

fn failed(error: &Value) -> ResourceError {
    let message = error.get("message").and_then(Value::as_str).unwrap_or("the read failed").to_owned();
    let data = json!({"error": error});
    if error.get("status") == Some(&json!(404)) {
        return ResourceError::NotFound { message, data };
    }
    ResourceError::Failed { message, data }
}
