//! What a read asks for: a resource below `/v1`, and parameters. Who asks is not part of it.

use url::form_urlencoded;

/// A resource that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    /// What can be read, and how.
    Schema,
    /// The connectors with their streams.
    Connectors,
    /// The streams, one row per stream and connection.
    Streams,
    /// The details of one stream.
    Stream(String),
    /// Records of a stream, page by page, or the changes of them.
    Records(String),
    /// One record of a stream.
    Record(String, String),
    /// A part of a long text field of one record.
    FieldWindow(String, String),
    /// Counts, sums and groups over a stream.
    Aggregate(String),
    /// Full-text search.
    Search,
    /// A blob that a record names.
    Blob(String),
}

impl Resource {
    /// The resource at the path `/v1/…`; `path` is its decoded segments after `v1`.
    pub fn at(path: &[&str]) -> Option<Self> {
        let owned = |text: &&str| (*text).to_owned();
        Some(match path {
            ["schema"] => Self::Schema,
            ["connectors"] => Self::Connectors,
            ["streams"] => Self::Streams,
            ["streams", stream] => Self::Stream(owned(stream)),
            ["streams", stream, "records"] => Self::Records(owned(stream)),
            ["streams", stream, "records", id] => Self::Record(owned(stream), owned(id)),
            ["streams", stream, "records", id, "field-window"] => Self::FieldWindow(owned(stream), owned(id)),
            ["streams", stream, "aggregate"] => Self::Aggregate(owned(stream)),
            ["search"] => Self::Search,
            ["blobs", id] => Self::Blob(owned(id)),
            _ => return None,
        })
    }

    /// Its path.
    pub fn path(&self) -> String {
        let of = |stream: &str, rest: &str| format!("/v1/streams/{}{rest}", segment(stream));
        match self {
            Self::Schema => "/v1/schema".to_owned(),
            Self::Connectors => "/v1/connectors".to_owned(),
            Self::Streams => "/v1/streams".to_owned(),
            Self::Stream(stream) => of(stream, ""),
            Self::Records(stream) => of(stream, "/records"),
            Self::Record(stream, id) => of(stream, &format!("/records/{}", segment(id))),
            Self::FieldWindow(stream, id) => of(stream, &format!("/records/{}/field-window", segment(id))),
            Self::Aggregate(stream) => of(stream, "/aggregate"),
            Self::Search => "/v1/search".to_owned(),
            Self::Blob(id) => format!("/v1/blobs/{}", segment(id)),
        }
    }

    /// Whether v0.1 of the draft has it.
    pub const fn is_core(&self) -> bool {
        !matches!(
            self,
            Self::Schema | Self::Connectors | Self::FieldWindow(..) | Self::Aggregate(_) | Self::Search
        )
    }
}

/// One read.
#[derive(Debug, Clone)]
pub struct Read {
    /// The resource.
    pub resource: Resource,
    path: String,
    query: String,
    params: Vec<(String, String)>,
}

impl Read {
    /// A read of `resource` with these parameters, in order.
    pub fn new(resource: Resource, params: Vec<(String, String)>) -> Self {
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&params).finish();
        Self { path: resource.path(), query, params, resource }
    }

    /// A read of `resource` that was sent as this path and query. Its links repeat them unchanged.
    pub fn sent(resource: Resource, path: &str, query: &str) -> Self {
        let params = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Self { resource, path: path.to_owned(), query: query.to_owned(), params }
    }

    /// Its path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its path and query, as `links.self` gives them.
    pub fn target(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }

    /// Its parameters, in order.
    pub fn params(&self) -> &[(String, String)] {
        &self.params
    }
}

/// Percent-encodes one path segment.
pub fn segment(text: &str) -> String {
    // Keeps the unreserved characters of RFC 3986.
    const ENCODED: &percent_encoding::AsciiSet =
        &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    percent_encoding::utf8_percent_encode(text, ENCODED).to_string()
}
