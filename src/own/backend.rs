//! A vault of this process as a backend of the tools: it answers the same reads as over HTTP, without a
//! socket.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use url::Url;

use crate::advice::Command;
use crate::mcp::id::RecordId;
use crate::mcp::reading::backend::{Backend, ReadError};
use crate::mcp::reading::request::Request;
use crate::mcp::reading::resource_server::record_url;
use crate::provider::rs::{Blob, Envelope, Read, Refusal, RsError};
use crate::secret::AccessToken;
use crate::vault::Vault;
use crate::vault::rs::Answer;
use crate::vault::wire::{ApiError, DAMAGED};

/// Opens the vault when a read needs it. It blocks, because it may open files.
pub type Opening = Arc<dyn Fn() -> Result<Arc<Vault>, Box<Refusal>> + Send + Sync>;

/// A vault of this process.
pub struct InProcess {
    open: Opening,
    /// The base address of its records; nothing is sent there.
    query_base: Url,
}

impl InProcess {
    /// The vault that `open` returns, with record addresses below `query_base` (`…/v1`).
    pub fn new(open: Opening, query_base: Url) -> Self {
        Self { open, query_base }
    }

    async fn answer(&self, bearer: &AccessToken, read: Read) -> Result<Answer, ReadError> {
        let (open, bearer) = (Arc::clone(&self.open), bearer.clone());
        let url = read.whole_below(&self.query_base);
        // Database work does not belong on the event loop.
        let answered = tokio::task::spawn_blocking(move || {
            let vault = open()?;
            let segments: Vec<&str> = read.segments.iter().map(String::as_str).collect();
            let query = url.query().unwrap_or_default();
            vault.read_at(Some(bearer.expose_bearer()), &segments, url.path(), query).map_err(refusal)
        });
        let broken = |_| ReadError::Broken("the store on this computer did not answer".to_owned());
        answered
            .await
            .map_err(broken)?
            .map_err(|refused: Box<Refusal>| ReadError::Provider(RsError::Refused(refused)))
    }
}

impl Backend for InProcess {
    fn read<'a>(
        &'a self,
        bearer: &'a AccessToken,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Envelope, ReadError>> {
        async move {
            match self.answer(bearer, request.to_wire()).await? {
                Answer::Json(Value::Object(body)) => Ok(Envelope { body, request_id: None }),
                _ => Err(ReadError::Broken(
                    "the store on this computer did not answer with an object".to_owned(),
                )),
            }
        }
        .boxed()
    }

    fn blob<'a>(
        &'a self,
        bearer: &'a AccessToken,
        blob_id: &'a str,
    ) -> BoxFuture<'a, Result<Blob, ReadError>> {
        async move {
            match self.answer(bearer, Read::of(["blobs", blob_id])).await? {
                Answer::Blob { media_type, bytes } => Ok(Blob { media_type: Some(media_type), bytes }),
                Answer::Json(_) => {
                    Err(ReadError::Broken("the store on this computer returned no file".to_owned()))
                }
            }
        }
        .boxed()
    }

    fn record_url(&self, id: &RecordId) -> Url {
        record_url(id, |read| read.below(&self.query_base))
    }
}

/// A refusal by the vault, in the form that it has over HTTP.
fn refusal(refused: ApiError) -> Box<Refusal> {
    if refused.code == DAMAGED {
        let doctor = Command::new("doctor");
        let message = format!(
            "The store of the person's own data is damaged. To see what to do, its owner runs: {doctor}"
        );
        return unavailable("own_damaged", message);
    }
    let (status, code) = (refused.status.as_u16(), refused.code);
    let message = refused.message().to_owned();
    with_status(status, code, message, refused.into_object())
}

/// The refusal when there is nothing to read from.
pub(super) fn unavailable(code: &str, message: impl Into<String>) -> Box<Refusal> {
    with_status(503, code, message.into(), Map::new())
}

fn with_status(status: u16, code: &str, message: String, error: Map<String, Value>) -> Box<Refusal> {
    let param = error.get("param").and_then(Value::as_str).map(str::to_owned);
    Box::new(Refusal {
        status,
        code: code.to_owned(),
        message,
        param,
        request_id: None,
        retry_after: None,
        error,
    })
}
