//! A list, the requested page, and one answer of the provider.

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, try_join};
use serde_json::{Map, Value, json};

use super::cursor::{Again, Cursor, Position, Walk, expired_cursor, invalid_cursor, short_hash};
use super::ranked;
use crate::mcp::reading::envelope;
use crate::mcp::reading::reader::Reader;
use crate::mcp::reading::request::{self, List, Records, Request};
use crate::mcp::reading::rows::{Row, take_rows};
use crate::mcp::tool_error::ToolError;

/// Rows per page when the caller names no limit and several lists are merged: the number that providers return.
pub(super) const DEFAULT_LIMIT: u64 = 25;

/// A list to page through.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The list.
    pub list: List,
    /// The number of rows requested.
    pub limit: Option<u64>,
    /// Where to continue.
    pub cursor: Option<Cursor>,
    /// The one connection to read from.
    pub connection: Option<String>,
}

/// A page.
#[derive(Debug, Clone)]
pub struct Page<R> {
    /// The envelope, without its rows, with the caller's `next_cursor` and `has_more`.
    pub body: Map<String, Value>,
    /// Its rows, prepared by [`Shape::ready`].
    pub rows: Vec<R>,
    /// Where the next page begins.
    pub next: Option<String>,
    /// Whether it has fewer rows than it could, because no more fit a result.
    pub is_fitted: bool,
}

/// How the caller of [`read`](super::read) treats a page.
pub trait Shape: Sync {
    /// A row with what is computed from it once: to see whether it fits, and to show it.
    type Ready: AsRef<Row>;

    /// Reads what must be known before a page is prepared: in parallel with the page, and without ever failing it.
    fn learn(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    /// Prepares a body as it arrived: removes what is not passed on, but keeps the field `keep`, which a merge needs.
    fn prepare(&self, body: &mut Map<String, Value>, keep: Option<&str>);

    /// Makes a row ready to be shown.
    fn ready(&self, row: Row) -> Self::Ready;

    /// How many of `rows`, from the first, fit a result with this envelope; at least one.
    fn fit(&self, body: &Map<String, Value>, rows: &[Self::Ready]) -> usize;

    /// How many rows of the average size of `rows` fit a result with this envelope.
    fn room(&self, body: &Map<String, Value>, rows: &[Self::Ready]) -> usize;

    /// The longest cursor that a result can carry, in bytes.
    fn max_cursor(&self) -> usize;
}

impl Listing {
    /// The same with one more field than was requested; `None` if the field is already included.
    pub(super) fn with_field(&self, field: &str) -> Option<Self> {
        let mut listing = self.clone();
        let List::Records(Records { fields, .. }) = &mut listing.list else { return None };
        if fields.is_empty() || fields.iter().any(|known| known == field) {
            return None;
        }
        fields.push(field.to_owned());
        Some(listing)
    }

    pub(super) fn request_at(&self, position: &Position, limit: Option<u64>) -> Request {
        let mut list = self.list.clone();
        if let (List::Records(records), Some(_)) = (&mut list, &position.cursor) {
            // With a cursor, the reference repeats the first page for ever if changes_since is sent too.
            records.changes_since = None;
        }
        let connection = position.connection.as_ref().or(self.connection.as_ref()).cloned();
        Request::List(list, request::Page { limit, cursor: position.cursor.clone(), connection })
    }

    /// A number that distinguishes one query's cursors from another's.
    pub(super) fn fingerprint(&self) -> u32 {
        let read = self.list.to_wire();
        let parameters = read.query.iter().filter(|(name, _)| name != "changes_since");
        let parts = read.segments.iter().chain(parameters.flat_map(|(name, value)| [name, value]));
        short_hash(parts.chain(&self.connection).map(String::as_str))
    }

    /// The place `next` in the form that a caller gets, in `most` bytes: a provider's cursor unchanged, unless it
    /// looks like ours or something must be remembered with it; then it is wrapped in one of ours.
    pub(super) fn passed_on(&self, next: Position, most: usize) -> Option<String> {
        let cursor = next.cursor.clone()?;
        let is_plain = next.passed.is_empty() && matches!(Cursor::from_text(&cursor), Cursor::Provider(_));
        if is_plain && next.room.is_none() {
            return Some(cursor);
        }
        let ours = Walk { query: self.fingerprint(), positions: vec![next], seen: Vec::new() }.encode();
        // How many rows fit is only a hint.
        Some(if is_plain && ours.len() > most { cursor } else { ours })
    }

    /// The number of rows that a page at `position` may have: as the call requests; for a list without cursors that
    /// continues, the provider's default.
    pub(super) fn limit_of_page(&self, position: &Position) -> Option<u64> {
        let goes_on = !position.passed.is_empty() && !self.list.has_cursors();
        self.limit.or(goes_on.then_some(DEFAULT_LIMIT))
    }

    /// The bookmark from which it lists changes.
    pub(super) fn since(&self) -> Option<&String> {
        match &self.list {
            List::Records(records) => records.changes_since.as_ref(),
            List::Search(_) => None,
        }
    }

    /// The same list of the changes since that bookmark.
    pub(super) fn since_again(&self, since: &str) -> Self {
        let mut listing = self.clone();
        if let List::Records(records) = &mut listing.list {
            records.changes_since = Some(since.to_owned());
        }
        listing
    }

    /// Where the page begins, in each list that it consists of.
    ///
    /// # Errors
    /// Returns `invalid_cursor` or `cursor_expired` if the cursor cannot be used.
    pub(super) fn start(&self) -> Result<Vec<Position>, ToolError> {
        match &self.cursor {
            None => Ok(vec![Position::default()]),
            Some(Cursor::Provider(cursor)) => {
                Ok(vec![Position { cursor: Some(cursor.clone()), ..Position::default() }])
            }
            Some(Cursor::Walk(walk)) if walk.is_of_one_grant(self.fingerprint()) => {
                Ok(walk.positions.clone())
            }
            Some(Cursor::Kept(_)) => Err(expired_cursor()),
            Some(Cursor::Walk(_) | Cursor::Damaged) => Err(invalid_cursor()),
        }
    }
}

/// The maximum number of provider pages to read for one of ours, if all rows of the earlier ones were already shown.
const MOST_PAGES: usize = 8;

/// One answer of the provider.
pub(super) struct Answer {
    pub(super) body: Map<String, Value>,
    /// The rows that were not shown yet.
    pub(super) rows: Vec<Row>,
    /// The whole page, including rows that were already shown.
    pub(super) page: Again,
    pub(super) has_more: bool,
    pub(super) cursor: Option<String>,
    /// Whether the rows are in the order that the hits are declared to have.
    pub(super) is_ranked: bool,
}

/// The rows that follow at `position`, of which up to `limit` are shown, and where they begin: further on if all rows
/// of that page were already shown.
pub(super) async fn ask(
    reader: &Reader,
    listing: &Listing,
    position: &Position,
    limit: Option<u64>,
    shape: &impl Shape,
    keep: Option<&str>,
) -> Result<(Position, Answer), ToolError> {
    let mut position = position.clone();
    for _ in 1..MOST_PAGES {
        let mut answer = ask_once(reader, listing, &position, limit, shape, keep).await?;
        // Perhaps so many rows were inserted that a page of as many as fit ends before the row that should come next:
        // it is read again, whole.
        if answer.page.is_lost && !position.passed.is_empty() && position.room.take().is_some() {
            answer = ask_once(reader, listing, &position, limit, shape, keep).await?;
        }
        if answer.cursor.is_none() || answer.page.shown() == 0 || !answer.rows.is_empty() {
            return Ok((position, answer));
        }
        position = position.next_page(answer.cursor.as_ref(), &answer.page.left);
    }
    let answer = ask_once(reader, listing, &position, limit, shape, keep).await?;
    Ok((position, answer))
}

async fn ask_once(
    reader: &Reader,
    listing: &Listing,
    position: &Position,
    limit: Option<u64>,
    shape: &impl Shape,
    keep: Option<&str>,
) -> Result<Answer, ToolError> {
    let limit = limit.map(|limit| position.limit(limit));
    let request = listing.request_at(position, limit);
    let (envelope, ()) = try_join(reader.read(&request), shape.learn().map(Ok)).await?;
    let mut body = envelope.body;
    shape.prepare(&mut body, keep);
    envelope::check_bookmark(&mut body, shape.max_cursor());
    let mut rows = take_rows(&mut body)?;
    let is_ranked = ranked::is_declared(&body) && ranked::is_kept(&rows);
    envelope::shorten(&mut body);
    let has_more = body.get("has_more").and_then(Value::as_bool);
    let cursor = body.get("next_cursor").and_then(Value::as_str).filter(|cursor| !cursor.is_empty());
    // A cursor that leads back to its own page would be followed for ever.
    let cursor = cursor.filter(|cursor| position.cursor.as_deref() != Some(*cursor));
    let cursor = cursor.filter(|_| has_more != Some(false)).map(str::to_owned);
    let has_more = has_more.unwrap_or(cursor.is_some());
    let page = position.passed.take_from(&mut rows, cursor.is_some());
    Ok(Answer { body, rows, page, has_more, cursor, is_ranked })
}

/// The page with these rows, whose cursor may take `most` bytes.
pub(super) fn page<R>(
    most: usize,
    mut body: Map<String, Value>,
    rows: Vec<R>,
    has_more: bool,
    next: Option<String>,
) -> Page<R> {
    // A cursor that no call could carry is useless.
    let next = next.filter(|next| next.len() <= most);
    body.insert("has_more".into(), json!(has_more));
    match &next {
        Some(next) => body.insert("next_cursor".into(), json!(next)),
        None => body.remove("next_cursor"),
    };
    Page { body, rows, next, is_fitted: false }
}
