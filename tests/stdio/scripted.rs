//! The server process: a read surface that does what its arguments say.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pdpp::error::{Error, Kind};
use pdpp::mcp::protocol::service::{Offer, ResourceContents, ResourceError, Service, ToolAnswer};
use pdpp::mcp::protocol::stdio;
use pdpp::ui::Ui;
use serde_json::{Map, Value};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Defines how [`scripted_server`] behaves; without this variable that test does nothing.
pub const ROLE: &str = "PDPP_TEST_SERVER";

/// Arguments: `delay_ms`, `block` (the whole runtime for that time), `panic`, `pad` (bytes of text), `upstream` (a
/// URL that never answers a request). The structured answer repeats them.
struct Scripted;

async fn act(arguments: Map<String, Value>) -> ToolAnswer {
    let number = |key: &str| arguments.get(key).and_then(Value::as_u64);
    let delay = Duration::from_millis(number("delay_ms").unwrap_or(0));
    if arguments.contains_key("block") {
        Ui::from_process().note("blocking");
        std::thread::sleep(delay);
    } else {
        tokio::time::sleep(delay).await;
    }
    if let Some(secret) = arguments.get("panic") {
        panic!("a panic that quotes {secret}");
    }
    if let Some(url) = arguments.get("upstream").and_then(Value::as_str) {
        let url = url::Url::parse(url).unwrap();
        let address = url.socket_addrs(|| None).unwrap();
        let mut stream = tokio::net::TcpStream::connect(&*address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let _ = stream.read_u8().await;
    }
    let text = "x".repeat(usize::try_from(number("pad").unwrap_or(2)).unwrap());
    let is_error = arguments.contains_key("is_error");
    ToolAnswer { text, structured: Some(arguments.into()), is_error, rows: 0 }
}

impl Service for Scripted {
    fn offer(&self) -> Offer {
        pdpp::mcp::tools::surface::offer()
    }

    fn call(&self, _tool: &str, arguments: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
        Box::pin(act(arguments))
    }

    fn read_resource(&self, uri: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
        let read = match uri {
            "pdpp://text" => Ok(ResourceContents::Text {
                media_type: "text/plain".to_owned(),
                text: "a\u{1b}\u{2028}".to_owned(),
            }),
            "pdpp://blob" => Ok(ResourceContents::Blob { media_type: None, bytes: vec![0, 255, 7] }),
            "pdpp://gone" => Err(ResourceError::NotFound {
                message: "There is no such record".to_owned(),
                data: serde_json::json!({}),
            }),
            "pdpp://down" => Err(ResourceError::Failed {
                message: "The provider does not answer".to_owned(),
                data: serde_json::json!({"code": "provider_unavailable"}),
            }),
            _ => Err(ResourceError::InvalidUri("Not a pdpp:// URI".to_owned())),
        };
        Box::pin(std::future::ready(read))
    }
}

#[test]
#[ignore = "the other tests start it as their server"]
fn scripted_server() {
    let Ok(role) = std::env::var(ROLE) else { return };
    // libtest has already written to the stdout that it received; the client's pipe is descriptor 3. On Windows the
    // client skips that output.
    #[cfg(unix)]
    {
        let client = std::fs::File::options().write(true).open("/dev/fd/3").unwrap();
        rustix::stdio::dup2_stdout(client).unwrap();
    }
    let code = if role == "refuse" {
        let error = Error::new(Kind::NotConnected, "not_connected", "No provider is connected")
            .hint("pdpp connect <provider-url>");
        pdpp::runtime::block_on(stdio::serve_refusal(&error, &Ui::from_process())).unwrap().unwrap()
    } else {
        let ended = pdpp::runtime::block_on(stdio::serve_stdio(Arc::new(Scripted))).unwrap().unwrap();
        Ui::from_process().note(&format!("ended: {ended:?}"));
        0
    };
    #[allow(clippy::exit, reason = "libtest would write its summary")]
    std::process::exit(i32::from(code));
}
