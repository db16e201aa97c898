//! What carries messages between the SDK's protocol and a client: a single type, so that the program contains the
//! SDK's loop once.

use rmcp::RoleServer;
use rmcp::model::{ClientCapabilities, Implementation, InitializeRequestParams, ProtocolVersion};
use rmcp::service::{Peer, RunningService, RxJsonRpcMessage, TxJsonRpcMessage, serve_directly_with_ct};
use tokio_util::sync::CancellationToken;

use crate::mcp::protocol::server::Server;
use crate::mcp::protocol::stdio::connection::Connection;

/// A client, as the SDK sees it.
pub(super) enum Transport {
    /// A client over standard input and output.
    Stdio(Box<Connection>),
    /// A client that sends nothing and has gone.
    Gone,
}

impl Transport {
    /// Lets `server` answer this client, which described itself as `peer`, until it or `stop` ends.
    pub fn serve(
        self,
        server: Server,
        peer: Option<InitializeRequestParams>,
        stop: CancellationToken,
    ) -> RunningService<RoleServer, Server> {
        serve_directly_with_ct(server, self, peer, stop)
    }
}

/// A client of `version` about which nothing else is known, as [`Server`]'s methods require. The SDK creates one only
/// by serving it, so this serves one that has already gone. Must be called inside a runtime.
pub(super) fn unknown_peer(server: Server, version: ProtocolVersion) -> Peer<RoleServer> {
    let said =
        InitializeRequestParams::new(ClientCapabilities::default(), Implementation::new("unknown", "0"))
            .with_protocol_version(version);
    Transport::Gone.serve(server, Some(said), CancellationToken::new()).peer().clone()
}

impl rmcp::transport::Transport<RoleServer> for Transport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = std::io::Result<()>> + Send + 'static {
        if let Self::Stdio(connection) = self {
            connection.send(message);
        }
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        match self {
            Self::Stdio(connection) => connection.receive().await,
            Self::Gone => None,
        }
    }

    async fn close(&mut self) -> std::io::Result<()> {
        if let Self::Stdio(connection) = self {
            connection.close().await;
        }
        Ok(())
    }
}
