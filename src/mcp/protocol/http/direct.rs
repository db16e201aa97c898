//! One request, one call of the SDK's handler: no loop, no task, no channel.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rmcp::model::{
    ClientRequest, GetExtensions as _, GetMeta as _, Implementation, ProtocolVersion, RequestId,
    ServerResult, Tool,
};
use rmcp::service::{Peer, RequestContext, Service as _};
use rmcp::{ErrorData, RoleServer, ServerHandler as _};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::mcp::protocol::server::Server;
use crate::mcp::protocol::service::{Offer, Service};
use crate::mcp::protocol::transport::unknown_peer;

/// Answers requests. Keeps nothing about a request or its client.
pub(super) struct Direct {
    info: Arc<Implementation>,
    /// A client of each version, in the order of [`ProtocolVersion::KNOWN_VERSIONS`].
    peers: OnceLock<Vec<Peer<RoleServer>>>,
    lists: Mutex<[Option<List>; 2]>,
}

/// The result of `tools/list`, written once, and the tools that are in it.
struct List {
    tools: Arc<[Tool]>,
    result: Arc<RawValue>,
}

/// A `tools/list` answer that may be kept: identifies which of the two.
#[derive(Clone, Copy)]
pub(super) struct ListKey {
    is_modern: bool,
}

impl Direct {
    pub fn new(info: Implementation) -> Self {
        Self { info: Arc::new(info), peers: OnceLock::new(), lists: Mutex::default() }
    }

    /// Answers one request of a client of `version`. Drop the future together with its connection, which also aborts
    /// what it asked a provider for.
    pub async fn answer(
        &self,
        service: Arc<dyn Service>,
        version: &ProtocolVersion,
        mut request: ClientRequest,
    ) -> Result<ServerResult, ErrorData> {
        let server = Server::new(service).with_info(Arc::clone(&self.info));
        if let ClientRequest::InitializeRequest(initialize) = &request {
            // The handler cannot answer this: it stores what was negotiated in its peer, and the peer here is shared
            // by all clients.
            return server.negotiate_initialize(&initialize.params).map(ServerResult::InitializeResult);
        }
        let mut context = RequestContext::new(RequestId::Number(0), self.peer(&server, version));
        context.meta = std::mem::take(request.get_meta_mut());
        context.extensions = std::mem::take(request.extensions_mut());
        // Boxed, because the future is large enough for every method's answer.
        Box::pin(server.handle_request(request, context)).await
    }

    fn peer(&self, server: &Server, version: &ProtocolVersion) -> Peer<RoleServer> {
        let known = ProtocolVersion::KNOWN_VERSIONS;
        let peers = self.peers.get_or_init(|| {
            known.iter().map(|version| unknown_peer(server.clone(), version.clone())).collect()
        });
        // An unknown version is in `_meta` too, and is refused there.
        let at = known.iter().position(|known| known == version).unwrap_or_default();
        peers[at].clone()
    }

    /// The kept result of a request.
    pub fn list(&self, key: ListKey, offer: &Offer) -> Option<Arc<RawValue>> {
        let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let list = lists[usize::from(key.is_modern)].as_ref()?;
        Arc::ptr_eq(&list.tools, &offer.tools).then(|| Arc::clone(&list.result))
    }

    /// Keeps the result that is in an answer, for [`Direct::list`].
    pub fn keep_list(&self, key: ListKey, offer: &Offer, answer: &[u8]) {
        #[derive(Deserialize)]
        struct Answer {
            result: Box<RawValue>,
        }
        let Ok(Answer { result }) = serde_json::from_slice(answer) else { return };
        let list = List { tools: Arc::clone(&offer.tools), result: result.into() };
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)[usize::from(key.is_modern)] = Some(list);
    }
}

impl ListKey {
    /// The key of a valid `tools/list` request from a client of `version`.
    pub fn of(request: &ClientRequest, version: &ProtocolVersion, lacks_meta: bool) -> Option<Self> {
        let ClientRequest::ListToolsRequest(list) = request else { return None };
        let has_cursor = list.params.as_ref().is_some_and(|params| params.cursor.is_some());
        // The version that a request names itself takes precedence over the header.
        let named = request.get_meta().protocol_version();
        let version = named.as_ref().unwrap_or(version);
        let is_modern = *version >= ProtocolVersion::V_2026_07_28;
        let is_good =
            !has_cursor && ProtocolVersion::KNOWN_VERSIONS.contains(version) && !(is_modern && lacks_meta);
        is_good.then_some(Self { is_modern })
    }
}
