//! One client: the SDK's transport, with requests that wait, run and can be cancelled by their own ids.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientNotification, ClientRequest, JsonRpcMessage,
    RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use super::pipes::{Line, Pipes};
use super::stop::{Ended, FLUSH, GRACE, Stop};
use crate::mcp::protocol::jsonrpc::{self, Envelope, Id};

/// Bytes of answers that a client may leave unread before no further request is read.
pub const MAX_BACKLOG: usize = 4 << 20;

/// Calls that run at once. A resource read counts as `RESOURCE_WEIGHT` calls.
pub const MAX_IN_FLIGHT: usize = 256;

/// A blob is at most 8 MiB: four at once limit the memory for them, and leave places for calls.
const RESOURCE_WEIGHT: usize = 63;

/// Requests, and their bytes, that may wait for a place among [`MAX_IN_FLIGHT`].
const MAX_WAITING: usize = 1024;

const MAX_WAITING_BYTES: usize = 4 << 20;

/// How long a client may take to read the last answers after this process was asked to stop.
const FLUSH_STOPPED: Duration = Duration::from_millis(100);

/// A request that waits for its turn.
struct Waiting {
    id: Id,
    request: ClientRequest,
    bytes: usize,
}

/// A running request.
struct Running {
    id: Id,
    weight: usize,
}

/// One client: the SDK's transport.
pub(in crate::mcp) struct Connection {
    pipes: Pipes,
    stop: Stop,
    /// Fires when the writer has written something.
    written: watch::Receiver<usize>,
    initialized: bool,
    /// Set at the end of input: when running requests are aborted.
    deadline: Option<Instant>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    /// The running requests, by the number under which the SDK knows each.
    running: HashMap<i64, Running>,
    by_id: HashMap<Id, i64>,
    weight: usize,
    next: i64,
}

impl Connection {
    pub(super) fn new(pipes: Pipes, stop: Stop) -> Self {
        Self {
            written: pipes.out.queued.subscribe(),
            pipes,
            stop,
            initialized: false,
            deadline: None,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            running: HashMap::new(),
            by_id: HashMap::new(),
            weight: 0,
            next: 0,
        }
    }

    /// Handles a line: answers at once, queues the request, or returns a message for the SDK.
    fn take(&mut self, line: &Line) -> Option<RxJsonRpcMessage<RoleServer>> {
        match line.envelope() {
            Ok(Envelope::Request { id, method, params }) => {
                self.take_request(id, &method, params, line.len());
            }
            Ok(Envelope::Notification { method, params }) if method == "notifications/cancelled" => {
                return self.cancel(params.as_ref().and_then(|params| params.get("requestId"))?);
            }
            // No other notification matters here: `notifications/initialized` may come at any time.
            Ok(Envelope::Notification { .. } | Envelope::Nothing) => {}
            Err(rejected) => self.pipes.out.send(rejected.to_line()),
        }
        None
    }

    fn take_request(&mut self, id: Id, method: &str, params: Option<Value>, bytes: usize) {
        if self.by_id.contains_key(&id) || self.waiting.iter().any(|waiting| waiting.id == id) {
            // The client would take an error with this id for the answer to the first request.
            tracing::warn!("a request was ignored: its id is still in use");
            return;
        }
        let early = !self.initialized
            && !matches!(method, "initialize" | "ping" | "server/discover")
            && !jsonrpc::names_its_era(params.as_ref());
        match jsonrpc::client_request(method, params) {
            Ok(_) if early => {
                let what = "send initialize first, or name protocolVersion, clientInfo and clientCapabilities \
                            in _meta (2026-07-28)";
                self.pipes
                    .out
                    .send(jsonrpc::error_line(id.as_json(), &jsonrpc::invalid_params(method, what)));
            }
            Ok(request) => {
                self.initialized |= matches!(request, ClientRequest::InitializeRequest(_));
                self.waiting_bytes += bytes;
                self.waiting.push_back(Waiting { id, request, bytes });
            }
            Err(error) => self.pipes.out.send(jsonrpc::error_line(id.as_json(), &error)),
        }
    }

    /// Cancels a request, which is then never answered (MCP, cancellation); an unknown id is ignored.
    fn cancel(&mut self, id: &Value) -> Option<RxJsonRpcMessage<RoleServer>> {
        let id = Id::from_value(id)?;
        if let Some(place) = self.waiting.iter().position(|waiting| waiting.id == id) {
            self.waiting_bytes -= self.waiting.remove(place)?.bytes;
            return None;
        }
        let number = self.by_id.get(&id).copied()?;
        self.finish(number)?;
        let params = CancelledNotificationParam::new(Some(RequestId::Number(number)), None);
        Some(JsonRpcMessage::notification(ClientNotification::CancelledNotification(
            CancelledNotification::new(params),
        )))
    }

    /// Removes a running request; `None` if it is not running, or no longer.
    fn finish(&mut self, number: i64) -> Option<Id> {
        let Running { id, weight } = self.running.remove(&number)?;
        self.by_id.remove(&id);
        self.weight -= weight;
        Some(id)
    }

    /// The next waiting request that has room: a call does not wait behind resource reads.
    fn start_next(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if self.pipes.out.backlog() > MAX_BACKLOG {
            return None;
        }
        let room = MAX_IN_FLIGHT - self.weight;
        let place = self.waiting.iter().position(|waiting| weight(&waiting.request) <= room)?;
        let Waiting { id, request, bytes } = self.waiting.remove(place)?;
        let weight = weight(&request);
        self.waiting_bytes -= bytes;
        self.weight += weight;
        let number = self.next;
        self.next += 1;
        self.by_id.insert(id.clone(), number);
        self.running.insert(number, Running { id, weight });
        Some(JsonRpcMessage::request(request, RequestId::Number(number)))
    }

    fn has_room_to_wait(&self) -> bool {
        self.waiting.len() < MAX_WAITING && self.waiting_bytes < MAX_WAITING_BYTES
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    fn line_of(&mut self, message: TxJsonRpcMessage<RoleServer>) -> Option<Vec<u8>> {
        match message {
            JsonRpcMessage::Response(answer) => {
                Some(jsonrpc::result_line(self.finish(number(&answer.id)?)?.as_json(), &answer.result))
            }
            JsonRpcMessage::Error(answer) => {
                Some(jsonrpc::error_line(self.finish(number(answer.id.as_ref()?)?)?.as_json(), &answer.error))
            }
            other => serde_json::to_vec(&other).ok(),
        }
    }
}

const fn weight(request: &ClientRequest) -> usize {
    match request {
        ClientRequest::ReadResourceRequest(_) => RESOURCE_WEIGHT,
        _ => 1,
    }
}

const fn number(id: &RequestId) -> Option<i64> {
    match id {
        RequestId::Number(number) => Some(*number),
        RequestId::String(_) => None,
    }
}

/// The methods that the SDK's `Transport` requires.
impl Connection {
    pub(in crate::mcp) fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) {
        if let Some(line) = self.line_of(message) {
            self.pipes.out.send(line);
        }
    }

    /// The next message for the SDK. The SDK drops this future whenever something else happens, so all state is
    /// in `self`. It also calls again after every answer, which is what frees a place.
    pub(in crate::mcp) async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.stop.now.is_cancelled() {
                return None;
            }
            if let Some(request) = self.start_next() {
                return Some(request);
            }
            if self.deadline.is_some() && self.is_idle() {
                return None;
            }
            let reads = self.deadline.is_none() && self.has_room_to_wait();
            let deadline = self.deadline;
            tokio::select! {
                () = self.stop.now.cancelled() => return None,
                () = async { tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)).await }, if deadline.is_some() => {
                    self.stop.because(Ended::EndOfInput);
                    return None;
                }
                line = self.pipes.lines.recv(), if reads => match line {
                    Some(line) => {
                        if let Some(message) = self.take(&line) {
                            return Some(message);
                        }
                    }
                    None => self.deadline = Some(Instant::now() + GRACE),
                },
                changed = self.written.changed() => changed.ok()?,
            }
        }
    }

    pub(in crate::mcp) async fn close(&mut self) {
        match self.stop.cause.get() {
            None => self.pipes.out.flush(FLUSH).await,
            Some(Ended::OutputClosed | Ended::OutputFailed(_) | Ended::NoOutput) => {}
            Some(_) => self.pipes.out.flush(FLUSH_STOPPED).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::BoxFuture;
    use serde_json::{Map, json};
    use tokio::sync::Semaphore;

    use super::super::serve;
    use super::*;
    use crate::mcp::protocol::service::ResourceContents;
    use crate::mcp::protocol::service::ResourceError;
    use crate::mcp::protocol::service::Service;
    use crate::mcp::protocol::service::{Offer, ToolAnswer};

    /// Resource reads wait for a permit; calls do not.
    struct Gated {
        permits: Semaphore,
        reading: AtomicUsize,
        most: AtomicUsize,
    }

    impl Service for Gated {
        fn offer(&self) -> Offer {
            Offer::of_names(&["schema"])
        }

        fn call(&self, _tool: &str, _arguments: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
            let answer = ToolAnswer { text: String::new(), structured: None, is_error: false, rows: 0 };
            Box::pin(std::future::ready(answer))
        }

        fn read_resource(&self, _uri: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
            Box::pin(async {
                let reading = self.reading.fetch_add(1, Ordering::SeqCst) + 1;
                self.most.fetch_max(reading, Ordering::SeqCst);
                let permit = self.permits.acquire().await;
                self.reading.fetch_sub(1, Ordering::SeqCst);
                drop(permit);
                Err(ResourceError::NotFound { message: "gone".to_owned(), data: serde_json::json!({}) })
            })
        }
    }

    #[test]
    fn four_resource_reads_run_at_once_and_calls_overtake_those_that_wait() {
        let gated = Arc::new(Gated {
            permits: Semaphore::new(0),
            reading: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        });
        let (input, mut requests) = std::io::pipe().unwrap();
        let (answers, output) = std::io::pipe().unwrap();
        let surface = Arc::clone(&gated);
        let server = std::thread::spawn(move || {
            let stop = Stop::default();
            let pipes = Pipes::open(input, output, &stop).unwrap();
            crate::runtime::block_on(serve(surface, pipes, stop)).unwrap()
        });
        let mut answers = BufReader::new(answers).lines().map(|line| {
            let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
            answer["id"].clone()
        });
        let mut request = |id: u32, method: &str, params: Value| {
            let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            requests.write_all(format!("{request}\n").as_bytes()).unwrap();
        };
        request(0, "initialize", json!({"protocolVersion": "2025-11-25"}));
        assert_eq!(answers.next(), Some(json!(0)));
        for id in 1..=6 {
            request(id, "resources/read", json!({"uri": "pdpp://x"}));
        }
        request(7, "ping", json!({}));
        request(8, "tools/call", json!({"name": "schema"}));
        let mut next = |count| {
            let mut ids: Vec<_> = answers.by_ref().take(count).map(|id| id.as_u64().unwrap()).collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(next(2), [7, 8]);
        gated.permits.add_permits(1);
        assert_eq!(next(6), [1, 2, 3, 4, 5, 6]);
        assert_eq!(gated.most.load(Ordering::SeqCst), 4);
        drop(requests);
        assert_eq!(server.join().unwrap(), Ended::EndOfInput);
        assert_eq!(answers.next(), None);
    }
}
