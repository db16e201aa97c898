//! A provider's resource server as a backend: one `GET` per read.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use url::Url;

use super::backend::{Backend, ReadError};
use super::request::Request;
use crate::mcp::id::RecordId;
use crate::provider::rs::{Blob, Envelope, Read, ResourceServer};
use crate::secret::AccessToken;

impl Backend for ResourceServer {
    fn read<'a>(
        &'a self,
        bearer: &'a AccessToken,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Envelope, ReadError>> {
        async move { Ok(self.get(bearer, &request.to_wire()).await?) }.boxed()
    }

    fn blob<'a>(
        &'a self,
        bearer: &'a AccessToken,
        blob_id: &'a str,
    ) -> BoxFuture<'a, Result<Blob, ReadError>> {
        async move { Ok(Self::blob(self, bearer, blob_id).await?) }.boxed()
    }

    fn record_url(&self, id: &RecordId) -> Url {
        record_url(id, |read| self.url_of(read))
    }
}

/// The absolute URL of a record at a resource server whose reads have the URLs of `url_of`.
pub fn record_url(id: &RecordId, url_of: impl FnOnce(&Read) -> Url) -> Url {
    let mut url = url_of(&Read::of(["streams", &id.stream, "records", &id.record]));
    if let Some(connection) = &id.connection {
        url.query_pairs_mut().append_pair("connection_id", connection);
    }
    url
}
