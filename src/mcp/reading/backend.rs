//! Where a grant's data comes from. A new kind of place is another implementation of [`Backend`]; the tools, their
//! checks, limits, paging and views do not change.

use futures_util::future::BoxFuture;
use serde_json::Value;
use url::Url;

use super::request::Request;
use crate::mcp::id::RecordId;
use crate::provider::http::HttpError;
use crate::provider::rs::{Blob, Envelope, Refusal, RsError};
use crate::secret::AccessToken;

/// Answers reads with a grant's bearer: a resource server, a provider's own tools, or a store on this computer.
///
/// Dropping a returned future aborts the read.
pub trait Backend: Send + Sync {
    /// Answers `request` with the JSON object that a resource server would return.
    fn read<'a>(
        &'a self,
        bearer: &'a AccessToken,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Envelope, ReadError>>;

    /// Returns a blob's bytes.
    fn blob<'a>(
        &'a self,
        bearer: &'a AccessToken,
        blob_id: &'a str,
    ) -> BoxFuture<'a, Result<Blob, ReadError>>;

    /// Whether the backend itself returns windows over the JSON text of a value. A resource server supports windows
    /// only over a text, and returns a record whole; hosted tools may cut the record before it arrives here.
    fn cuts_json(&self) -> bool {
        false
    }

    /// Whether it reads several grants with one bearer. A read of one stream must then name the connection, and a
    /// search is made in each connection, because a search that the backend merges itself may not be readable to the
    /// end.
    fn spans_grants(&self) -> bool {
        false
    }

    /// The absolute URL of a record, for a citation.
    fn record_url(&self, id: &RecordId) -> Url;
}

/// Why a backend did not answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// The provider refused, could not be reached, or did not return JSON.
    #[error(transparent)]
    Provider(#[from] RsError),
    /// It does not have what was requested.
    #[error("{what}")]
    Unsupported {
        /// What it lacks.
        what: String,
        /// What to do instead.
        next: String,
        /// The argument that it does not support, if it is one.
        param: Option<String>,
    },
    /// It refused the call itself with a JSON-RPC error.
    #[error("{message}")]
    CallRefused {
        /// Its message.
        message: String,
        /// `error.code`.
        code: Value,
    },
    /// Its answer is not a valid answer.
    #[error("{0}")]
    Broken(String),
}

impl From<HttpError> for ReadError {
    fn from(error: HttpError) -> Self {
        Self::Provider(error.into())
    }
}

impl From<Refusal> for ReadError {
    fn from(refusal: Refusal) -> Self {
        Self::Provider(RsError::Refused(Box::new(refusal)))
    }
}

impl ReadError {
    /// What the provider said when it refused.
    pub const fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Provider(RsError::Refused(refusal)) => Some(refusal),
            _ => None,
        }
    }

    /// How the read ended, for the log.
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Provider(error) => error.outcome(),
            Self::Unsupported { .. } => "unsupported_by_provider",
            Self::CallRefused { .. } => "refused",
            Self::Broken(_) => "provider_answer_broken",
        }
    }
}
