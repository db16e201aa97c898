//! What carries messages between the SDK's protocol and a client: one type, so that the SDK's loop is in the program once.

use rmcp::model::{ClientRequest, InitializeRequestParams, JsonRpcMessage, RequestId, ServerResult};
use rmcp::service::{RunningService, RxJsonRpcMessage, TxJsonRpcMessage, serve_directly_with_ct};
use rmcp::{ErrorData, RoleServer};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::mcp::protocol::server::Server;
use crate::mcp::protocol::stdio::connection::Connection;

/// A client, as the SDK sees it.
pub(super) enum Transport {
    /// One over standard input and output.
    Stdio(Box<Connection>),
    /// One request of an HTTP client's.
    Once(Once),
}

/// A request, and who waits for its answer.
pub(super) struct Once {
    request: Option<Box<ClientRequest>>,
    answer: Option<oneshot::Sender<Result<ServerResult, ErrorData>>>,
}

impl Transport {
    /// One that asks `request`, and its answer. The id on the wire never reaches the SDK, which knows 64 bits.
    pub fn once(request: ClientRequest) -> (Self, oneshot::Receiver<Result<ServerResult, ErrorData>>) {
        let (answer, answered) = oneshot::channel();
        (Self::Once(Once { request: Some(Box::new(request)), answer: Some(answer) }), answered)
    }

    /// Has `server` answer it, as what `peer` said of itself, until it or `stop` ends.
    pub fn serve(
        self,
        server: Server,
        peer: Option<InitializeRequestParams>,
        stop: CancellationToken,
    ) -> RunningService<RoleServer, Server> {
        serve_directly_with_ct(server, self, peer, stop)
    }
}

impl rmcp::transport::Transport<RoleServer> for Transport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = std::io::Result<()>> + Send + 'static {
        match self {
            Self::Stdio(connection) => connection.send(message),
            Self::Once(once) => once.send(message),
        }
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        match self {
            Self::Stdio(connection) => connection.receive().await,
            Self::Once(once) => match once.request.take() {
                Some(request) => Some(JsonRpcMessage::request(*request, RequestId::Number(0))),
                // The end comes with `stop`.
                None => std::future::pending().await,
            },
        }
    }

    async fn close(&mut self) -> std::io::Result<()> {
        if let Self::Stdio(connection) = self {
            connection.close().await;
        }
        Ok(())
    }
}

impl Once {
    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) {
        let answer = match message {
            JsonRpcMessage::Response(response) => Ok(response.result),
            JsonRpcMessage::Error(error) => Err(error.error),
            _ => return,
        };
        if let Some(waiting) = self.answer.take() {
            // It may be gone.
            let _ = waiting.send(answer);
        }
    }
}
