//! The protocol handler for every era: MCP's methods over a [`Service`]. It knows no transport and no command line.
//!
//! The SDK (`rmcp`) negotiates versions and shapes answers for each era; the same handler serves stdio and Streamable
//! HTTP. What the SDK leaves to a handler is done here: a call that panics is answered, a call that is cancelled is
//! dropped with its upstream request, and text is sent once.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use base64::Engine as _;
use futures_util::FutureExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, Implementation,
    InitializeRequestParams, InitializeResult, ListResourceTemplatesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourceContents as WireContents, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::mcp::protocol::caller::{self, Caller};
use crate::mcp::protocol::jsonrpc;
use crate::mcp::protocol::service::{Offer, ResourceContents, ResourceError, Service, ToolAnswer};
use crate::text;

/// MCP over a service.
#[derive(Clone)]
pub struct Server {
    service: Arc<dyn Service>,
    info: Option<Arc<Implementation>>,
}

impl Server {
    /// A server that identifies itself as `pdpp`.
    pub fn new(service: Arc<dyn Service>) -> Self {
        Self { service, info: None }
    }

    /// How the server identifies itself.
    pub fn implementation() -> Implementation {
        Implementation::new("pdpp", env!("CARGO_PKG_VERSION")).with_title("Personal data (PDPP)")
    }

    /// The same server, identifying itself as `info` (the hosted endpoint adds icons).
    #[must_use]
    pub fn with_info(mut self, info: Arc<Implementation>) -> Self {
        self.info = Some(info);
        self
    }
}

/// Runs one call of the service until it ends, panics, or is cancelled. On cancellation the future is dropped, and
/// with it every request to a provider.
async fn run<T>(call: impl Future<Output = T>, cancelled: &CancellationToken) -> Result<T, ErrorData> {
    tokio::select! {
        biased;
        () = cancelled.cancelled() => {
            Err(ErrorData::new(ErrorCode(-32000), "The call was aborted: cancelled, or the server is stopping", None))
        }
        done = AssertUnwindSafe(call).catch_unwind() => done.map_err(|_| {
            ErrorData::internal_error("Internal error in this call; the server keeps running. Please report it", None)
        }),
    }
}

fn caller_of(context: &RequestContext<RoleServer>) -> Option<Caller> {
    let info = context.client_info()?;
    Some(Caller { name: info.name, version: info.version })
}

fn tool_result(answer: ToolAnswer) -> CallToolResult {
    // Not `CallToolResult::structured`, which sends the structured answer a second time as text.
    let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
    result.structured_content = answer.structured.map(jsonrpc::as_written);
    result.is_error = answer.is_error.then_some(true);
    result
}

fn unknown_tool(name: &str, offer: &Offer) -> ErrorData {
    let known = offer.names.join(", ");
    jsonrpc::invalid_params(
        "tools/call",
        &format!("unknown tool {:?}; the tools are {known}", text::prefix(name, 100)),
    )
}

/// Refuses a cursor: a list is returned whole, so no cursor was ever issued (MCP: `-32602`).
fn check_cursor(method: &str, request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor).filter(|cursor| !cursor.is_empty()) {
        Some(_) => Err(jsonrpc::invalid_params(
            method,
            "this server did not issue the cursor: the list has one page",
        )),
        None => Ok(()),
    }
}

fn resource_result(uri: &str, contents: ResourceContents) -> ReadResourceResult {
    let contents = match contents {
        ResourceContents::Text { media_type, text } => WireContents::TextResourceContents {
            uri: uri.to_owned(),
            mime_type: Some(media_type),
            text,
            meta: None,
        },
        ResourceContents::Blob { media_type, bytes } => WireContents::BlobResourceContents {
            uri: uri.to_owned(),
            mime_type: media_type,
            blob: base64::engine::general_purpose::STANDARD.encode(bytes),
            meta: None,
        },
    };
    ReadResourceResult::new(vec![contents])
}

/// The JSON-RPC error for a resource: on one line, whatever its source (R4.9).
fn resource_error(uri: &str, error: ResourceError) -> ErrorData {
    let line = |text: String| text::one_line(&text).into_owned();
    match error {
        ResourceError::InvalidUri(why) => ErrorData::invalid_params(line(why), Some(json!({ "uri": uri }))),
        // The SDK turns the code into -32602 for 2026-07-28.
        ResourceError::NotFound { message, mut data } => {
            data["uri"] = json!(uri);
            ErrorData::resource_not_found(line(message), Some(data))
        }
        ResourceError::Failed { message, data } => ErrorData::internal_error(line(message), Some(data)),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let info = self.info.as_deref().map_or_else(Self::implementation, Clone::clone);
        InitializeResult::new(capabilities)
            .with_server_info(info)
            .with_instructions(self.service.offer().instructions)
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let result = self.negotiate_initialize(&request)?;
        // The negotiated version, not the requested one, decides the shape of every later answer.
        request.protocol_version = result.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(result)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        check_cursor("tools/list", request)?;
        Ok(ListToolsResult::with_all_items(self.service.offer().tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let offer = self.service.offer();
        if offer.name_of(&request.name).is_none() {
            let refused = async { self.service.refused(&request.name, "unknown_tool") };
            caller::of_caller(caller_of(&context), refused).await;
            return Err(unknown_tool(&request.name, &offer));
        }
        // Called inside, so that a panic while the future is created is caught too.
        let arguments = request.arguments.unwrap_or_default();
        let call = async { self.service.call(&request.name, arguments).await };
        let call = caller::of_caller(caller_of(&context), call);
        Ok(tool_result(run(call, &context.ct).await?).into())
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        check_cursor("resources/templates/list", request)?;
        Ok(ListResourceTemplatesResult::with_all_items(self.service.offer().resource_templates.to_vec()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = async { self.service.read_resource(&request.uri).await };
        let read = caller::of_caller(caller_of(&context), read);
        let contents = run(read, &context.ct).await?.map_err(|error| resource_error(&request.uri, error))?;
        Ok(resource_result(&request.uri, contents).into())
    }
}
