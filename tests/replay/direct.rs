//! The tool core in this process: the same calls as a session's, without protocol and cache.

use std::sync::Arc;

use futures_util::FutureExt as _;
use pdpp::cache::secret::AccessToken;
use pdpp::mcp::core::Core;
use pdpp::mcp::evidence::Bounds;
use pdpp::mcp::source::Source;
use pdpp::mcp::{ReadSurface as _, ResourceContents, ResourceError};
use pdpp::provider::http::{Http, Limits};
use pdpp::provider::rs::ResourceServer;
use pdpp::provider::url::ProviderUrl;
use serde_json::{Map, Value, json};

use super::compare::Answer;
use crate::support::provider::{Provider, token};

pub struct Session {
    core: Core,
    runtime: tokio::runtime::Runtime,
}

impl Session {
    pub fn start(provider: &Provider, placeholder: &str) -> Self {
        let url: ProviderUrl = provider.url().parse().unwrap();
        let base = format!("{}/v1", provider.url()).parse().unwrap();
        let rs = ResourceServer::new(Http::new(Limits::default()), &url, base).unwrap();
        let secret = token(placeholder);
        let bearer = Arc::new(move || {
            let token = AccessToken::new(secret.clone()).unwrap();
            async move { Ok(token) }.boxed()
        });
        let source = Source::new(url, None, rs, bearer);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { core: Core::new(source, Bounds::default()), runtime }
    }

    pub fn call(&mut self, tool: &str, arguments: &Map<String, Value>) -> Answer {
        let answer = self.runtime.block_on(self.core.call(tool, arguments.clone()));
        Answer {
            text: answer.text,
            structured: answer.structured.map_or(Value::Null, Value::Object),
            is_error: answer.is_error,
        }
    }

    pub fn read_resource(&mut self, uri: &str) -> Result<Value, Answer> {
        match self.runtime.block_on(self.core.read_resource(uri)) {
            Ok(ResourceContents::Text { media_type, text }) => Ok(json!({"uri": uri, "mimeType": media_type, "text": text})),
            Ok(ResourceContents::Blob { media_type, bytes }) => {
                Ok(json!({"uri": uri, "mimeType": media_type, "bytes": bytes}))
            }
            Err(error) => {
                let text = format!("{error:?}");
                let data = match error {
                    ResourceError::Failed { data, .. } => data,
                    _ => Value::Null,
                };
                Err(Answer { text, structured: json!({"error": data}), is_error: true })
            }
        }
    }
}
