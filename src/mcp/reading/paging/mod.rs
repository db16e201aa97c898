//! Paging: one opaque cursor, whatever is behind a list.
//!
//! This module reads a list of one grant. A page passes the provider's own cursor on unchanged. If rows of the
//! provider's page did not fit a result, the `cursor` is ours: it holds the provider's cursor and identifies which
//! rows of that page were shown. The next page requests the same rows again and shows those that follow, so that each
//! page costs one read (R4.8). From then on, each page requests as many rows as fit by their average size. The cursor
//! holds that number too, because it is known to no other process or page. Over several `connections`, the cursor
//! holds a position in each (R3.15), and over several `grants` (R6.2) as well.
//!
//! Every row that exists from the beginning of a walk to its end is shown once, in order, whatever is inserted or
//! deleted between the pages. This holds if the provider's own cursor points behind a row rather than a number of
//! rows, and if one of the last rows that our cursor identifies, or the one that should come next, still exists. The
//! cursor identifies all shown rows if they are few. If they are many and all that it identifies are gone, some rows
//! may come twice. No cursor can do more: a row that is inserted before the current place is usually not shown, and a
//! row that moves across that place may come twice or not at all.

#[cfg(test)]
mod changing;
mod connections;
mod cursor;
mod grants;
mod list;
mod ranked;
mod together;

use serde_json::Value;

use crate::mcp::reading::filter::Sort;
use crate::mcp::reading::reader::Reader;
use crate::mcp::reading::rows::Row;
use crate::mcp::tool_error::ToolError;

use connections::Apart;
pub use cursor::{Cursor, Walks, most_length};
use cursor::{Position, Walk};
pub use grants::{Branch, BranchHooks, Missing, branch_key, branch_of, read_branches};
use list::{Answer, DEFAULT_LIMIT, ask, page};
pub use list::{Listing, Page, Shape};
pub use ranked::is_place;
pub use together::MERGED_ORDER;

/// What is needed to read several connections separately; requested only then.
#[derive(Debug, Clone, Default)]
pub struct Several {
    /// The connections of the list, if the provider cannot page over all of them itself.
    pub connections: Vec<String>,
    /// The order of their rows; without one, they take turns.
    pub order: Option<Sort>,
}

/// Whether a provider put the rows of several connections one after the other, so that they are in no common order.
fn is_side_by_side(rows: &[Row]) -> bool {
    let mut connections: Vec<Option<&Value>> = rows.iter().map(|row| row.get("connection_id")).collect();
    connections.dedup();
    let runs = connections.len();
    runs > 1 && connections.iter().enumerate().all(|(at, connection)| !connections[..at].contains(connection))
}

/// Reads the page of `listing` that fits `shape`.
///
/// # Errors
/// Returns `invalid_cursor`, `cursor_expired`, or the errors of [`Reader::read`].
pub async fn read<'a, S, F, C>(
    reader: &Reader,
    listing: &Listing,
    shape: &S,
    several: F,
) -> Result<Page<S::Ready>, ToolError>
where
    S: Shape,
    F: FnOnce() -> C,
    C: Future<Output = Several> + 'a,
{
    let positions = listing.start()?;
    let again = positions.first().and_then(|first| first.since.as_deref());
    let again = again.map(|since| listing.since_again(since));
    let listing = again.as_ref().unwrap_or(listing);
    if let [position] = positions.as_slice()
        && position.connection.is_none()
    {
        let limit = listing.limit_of_page(position);
        let (position, answer) = ask(reader, listing, position, limit, shape, None).await?;
        let is_stuck = answer.has_more || is_side_by_side(&answer.rows);
        let is_over_several =
            listing.list.has_cursors() && listing.connection.is_none() && !listing.list.is_of_changes();
        // A walk that began as one list continues as one.
        let is_first = position.cursor.is_none() && position.passed.is_empty();
        if is_over_several && is_first && answer.cursor.is_none() && is_stuck {
            let Several { connections, order } = several().await;
            if connections.len() > 1 {
                let positions = connections::positions(connections);
                let apart = Apart { positions, order: order.as_ref(), unscoped: Some(answer) };
                return connections::merged(reader, listing, shape, apart).await;
            }
        }
        return Ok(single(listing, shape, &position, answer));
    }
    // The same order on every page.
    let order = several().await.order;
    let apart = Apart { positions, order: order.as_ref(), unscoped: None };
    connections::merged(reader, listing, shape, apart).await
}

/// A page of one list. Rows that do not fit are shown by the next page, which requests the same page from the
/// provider and omits those that were shown: one read per page (R4.8).
fn single<S: Shape>(listing: &Listing, shape: &S, position: &Position, answer: Answer) -> Page<S::Ready> {
    let Answer { body, rows, page: again, has_more, cursor, .. } = answer;
    let mut rows = rows.into_iter().map(|row| shape.ready(row)).collect::<Vec<_>>();
    // Rows that the provider sends beyond the limit were not requested, and its cursor points behind them.
    let most = listing.limit.map_or(rows.len(), |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let fit = shape.fit(&body, &rows).clamp(1, rows.len().max(1)).min(most);
    let is_last = fit >= rows.len();
    // Rows that were not requested, because they would not have fit, follow too.
    let is_narrowed = listing.limit.is_some_and(|limit| position.is_narrower_than(limit));
    let is_fitted = fit < most && (!is_last || (is_narrowed && has_more));
    let room = listing.limit.filter(|_| listing.list.has_cursors() && (!is_last || is_narrowed));
    let room = room.map(|limit| (shape.room(&body, &rows), limit));
    let with_room = |position: Position| match room {
        Some((room, limit)) => position.with_room(room, limit),
        None => position,
    };
    rows.truncate(fit);
    let shown = rows.len();
    let behind = || {
        let since = listing.since().filter(|_| position.cursor.is_none()).cloned();
        with_room(Position { since, ..position.behind(&again, shown) })
    };
    // A list without cursors is read again from its beginning with more rows, up to what a provider returns. A list
    // with cursors may have none after fewer rows than the call asked for.
    let is_without_cursor = !listing.list.has_cursors() || (is_narrowed && cursor.is_none());
    let is_widened = is_last && has_more && is_without_cursor && !rows.is_empty();
    let can_widen = |limit: u64| position.limit(limit) < behind().limit(limit);
    if !is_last || (is_widened && can_widen(listing.limit.unwrap_or(DEFAULT_LIMIT))) {
        let walk = Walk { query: listing.fingerprint(), positions: vec![behind()], seen: Vec::new() };
        let next = Some(walk.encode_within(shape.max_cursor()));
        return Page { is_fitted, ..page(shape.max_cursor(), body, rows, true, next) };
    }
    let ahead = with_room(position.next_page(cursor.as_ref(), &again.left));
    let next = listing.passed_on(ahead, shape.max_cursor());
    Page { is_fitted, ..page(shape.max_cursor(), body, rows, has_more, next) }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;
    use proptest::prelude::*;
    use serde_json::{Map, json};

    use super::*;
    use crate::mcp::id::RecordId;
    use crate::mcp::reading::backend::{Backend, ReadError};
    use crate::mcp::reading::reader::only;
    use crate::mcp::reading::request::{List, Records, Request};
    use crate::provider::rs::{Blob, Envelope};
    use crate::provider::url::ProviderUrl;
    use crate::secret::AccessToken;

    pub(super) fn listing(cursor: Option<&str>) -> Listing {
        let (stream, fields) = ("notes".to_owned(), vec!["a".to_owned()]);
        Listing {
            list: List::Records(Records { stream, fields, ..Records::default() }),
            limit: None,
            cursor: cursor.map(Cursor::from_text),
            connection: None,
        }
    }

    pub(super) fn row(at: &str) -> Row {
        json!({"id": at, "data": {"at": at}}).as_object().unwrap().clone()
    }

    #[test]
    fn r3_15_a_merge_asks_for_what_it_goes_by() {
        let fields = |listing: &Listing| listing.list.to_wire().query[0].1.clone();
        assert_eq!(listing(None).with_field("at").as_ref().map(fields).as_deref(), Some("a,at"));
        assert!(listing(None).with_field("a").is_none());
    }

    #[test]
    fn rows_side_by_side_are_told_from_merged_ones() {
        let of = |connections: &[&str]| {
            let row = |connection: &&str| json!({"connection_id": connection}).as_object().unwrap().clone();
            is_side_by_side(&connections.iter().map(row).collect::<Vec<_>>())
        };
        assert!(of(&["a", "a", "b"]) && of(&["a", "b"]));
        assert!(!of(&["a", "b", "a"]) && !of(&["a", "a"]) && !of(&[]));
    }

    #[test]
    fn changes_since_goes_with_the_first_page_only() {
        let mut listing = listing(None);
        if let List::Records(records) = &mut listing.list {
            records.changes_since = Some("beginning".to_owned());
        }
        let position =
            |cursor: Option<&str>| Position { cursor: cursor.map(str::to_owned), ..Position::default() };
        let has = |cursor: Option<&str>| {
            let read = listing.request_at(&position(cursor), None).to_wire();
            read.query.iter().any(|(name, _)| name == "changes_since")
        };
        assert!(has(None));
        assert!(!has(Some("c")));
    }

    #[test]
    fn a_providers_cursor_that_looks_like_ours_comes_back_as_it_was() {
        let theirs = Walk { query: 7, positions: vec![Position::default()], seen: Vec::new() }.encode();
        let list = listing(None);
        let at = |cursor: &str| Position { cursor: Some(cursor.to_owned()), ..Position::default() };
        let given = list.passed_on(at(&theirs), 4_096).unwrap();
        let again = Listing { cursor: Some(Cursor::from_text(&given)), ..list };
        assert_eq!(again.start().unwrap()[0].cursor.as_deref(), Some(theirs.as_str()));
        assert_eq!(again.passed_on(at("plain"), 4_096).as_deref(), Some("plain"));
    }

    /// A list of `rows` records. Each answer has as many as the next number in `fits`, like a tool that fits its
    /// results by size.
    struct Tool {
        rows: usize,
        fits: Vec<usize>,
        asked: std::sync::atomic::AtomicUsize,
    }

    impl Backend for Tool {
        fn read<'a>(
            &'a self,
            _: &'a AccessToken,
            request: &'a Request,
        ) -> BoxFuture<'a, Result<Envelope, ReadError>> {
            let Request::List(_, page) = request else { unreachable!() };
            let from: usize = page.cursor.as_ref().map_or(0, |cursor| cursor.parse().unwrap());
            let asked = self.asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let fit = self.fits[asked % self.fits.len()];
            let end = (from + fit.min(usize::try_from(page.limit.unwrap_or(25)).unwrap())).min(self.rows);
            let rows = (from..end).map(|at| json!({"id": format!("r{at}"), "stream": "notes"}));
            let body = json!({
                "data": rows.collect::<Vec<_>>(),
                "has_more": end < self.rows,
                "next_cursor": (end < self.rows).then(|| end.to_string()),
            });
            let body = body.as_object().cloned().unwrap();
            Box::pin(std::future::ready(Ok(Envelope { body, request_id: None })))
        }

        fn blob<'a>(&'a self, _: &'a AccessToken, _: &'a str) -> BoxFuture<'a, Result<Blob, ReadError>> {
            unreachable!()
        }

        fn record_url(&self, _: &RecordId) -> url::Url {
            unreachable!()
        }
    }

    /// Shows that many rows.
    struct Fits(usize);

    pub(super) struct Ready(pub(super) Row);

    impl AsRef<Row> for Ready {
        fn as_ref(&self) -> &Row {
            &self.0
        }
    }

    impl Shape for Fits {
        type Ready = Ready;

        fn prepare(&self, _: &mut Map<String, Value>, _: Option<&str>) {}

        fn ready(&self, row: Row) -> Ready {
            Ready(row)
        }

        fn fit(&self, _: &Map<String, Value>, rows: &[Ready]) -> usize {
            rows.len().min(self.0)
        }

        fn room(&self, _: &Map<String, Value>, _: &[Ready]) -> usize {
            self.0
        }

        fn max_cursor(&self) -> usize {
            4096
        }
    }

    /// The ids on each page of a walk to its end.
    async fn pages(tool: Tool, limit: u64, fit: usize) -> Vec<Vec<String>> {
        let provider = "https://provider.example".parse::<ProviderUrl>().unwrap();
        let reader = Reader::new(provider, None, tool, only(AccessToken::new("t".to_owned()).unwrap()));
        let (mut pages, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let listing = Listing { limit: Some(limit), ..listing(cursor.as_deref()) };
            let page = read(&reader, &listing, &Fits(fit), async || Several::default()).await.unwrap();
            pages.push(page.rows.iter().map(|row| row.0["id"].as_str().unwrap().to_owned()).collect());
            match page.next {
                Some(next) => cursor = Some(next),
                None => return pages,
            }
        }
    }

    #[tokio::test]
    async fn r4_8_what_a_page_gives_no_more_is_shown_once_all_the_same() {
        // Eight rows, of which seven are shown; then three, and then the rest of those seven.
        let tool = Tool { rows: 12, fits: vec![8, 3], asked: 0.into() };
        let pages = pages(tool, 10, 7).await;
        assert_eq!(pages.concat(), (0..12).map(|at| format!("r{at}")).collect::<Vec<_>>());
        assert!(pages.iter().all(|page| !page.is_empty()), "{pages:?}");
    }

    proptest! {
        #[test]
        fn r4_8_whatever_a_page_gives_each_row_is_shown_once(
            rows in 0usize..60,
            fits in prop::collection::vec(1usize..12, 1..6),
            limit in 1u64..20,
            fit in 1usize..9,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let tool = Tool { rows, fits, asked: 0.into() };
            let shown = runtime.block_on(pages(tool, limit, fit)).concat();
            prop_assert_eq!(shown, (0..rows).map(|at| format!("r{at}")).collect::<Vec<_>>());
        }
    }
}
