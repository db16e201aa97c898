//! Paging: one opaque cursor, whatever stands behind a list.
//!
//! Here is a list of one source: a page passes the resource server's own cursor on, as it is. Where that cannot
//! continue, the `cursor` is ours: for a list without cursors, or a provider that ignores a smaller `limit`, it
//! holds how many rows to skip. Over several `connections` it holds a position in each (R3.15), and over several
//! `grants` (R6.2) too.
//!
//! Rows that do not fit a result are not shown and lost: the resource server is asked again for as
//! many as fit, so that its own cursor continues there (R4.8).

mod connections;
mod cursor;
mod grants;

use serde_json::{Map, Value, json};

use crate::mcp::reading::answer_shape;
use crate::mcp::reading::source::Source;
use crate::mcp::render::envelope;
use crate::mcp::tool_error::ToolError;
use crate::provider::rs::Read;

use cursor::{Position, Walk};
pub use cursor::{Walks, is_over_grants, is_own};
pub use grants::{Beside, Branch, Missing, branch_key, branch_of, read_branches};

/// Rows of a page when the caller names no limit and several lists are merged: what providers give.
const DEFAULT_LIMIT: u64 = 25;

/// A row of a list: a record or a hit.
pub type Row = Map<String, Value>;

/// A list to page through.
#[derive(Debug, Clone)]
pub struct Listing {
    /// Path and parameters, but for `limit`, `cursor` and `connection_id`.
    pub read: Read,
    /// Rows asked for.
    pub limit: Option<u64>,
    /// Where to continue.
    pub cursor: Option<String>,
    /// The one connection to read from.
    pub connection: Option<String>,
    /// Whether the provider pages this list at all.
    pub has_cursors: bool,
}

/// What reading several connections apart needs to know, asked for only then.
#[derive(Debug, Clone, Default)]
pub struct Several {
    /// The connections of the list, where the provider cannot page over all of them itself.
    pub connections: Vec<String>,
    /// How their rows are put in order; otherwise they take turns.
    pub order: Option<Order>,
}

/// The declared order of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The field of a record's data.
    pub field: String,
    /// Newest, or largest, first.
    pub is_descending: bool,
}

/// A page.
#[derive(Debug, Clone)]
pub struct Page {
    /// The envelope, without its rows and with `next_cursor` and `has_more` as they are for the caller.
    pub body: Map<String, Value>,
    /// Its rows.
    pub rows: Vec<Row>,
    /// Where the next page begins.
    pub next: Option<String>,
    /// Whether there were more rows for it than fit a result.
    pub is_fitted: bool,
}

/// What the caller of [`read`] does with a page.
pub trait Shape: Sync {
    /// Prepares a body as it came: what is passed on of it, and the value of `keep`, which a merge goes by.
    fn prepare(&self, body: &mut Map<String, Value>, keep: Option<&str>);

    /// How many of `rows`, from the first, fit a result with this envelope; at least one.
    fn fit(&self, body: &Map<String, Value>, rows: &[Row]) -> usize;

    /// The longest cursor that a result can carry, in bytes.
    fn max_cursor(&self) -> usize;
}

impl Listing {
    fn is_of_changes(&self) -> bool {
        self.read.query.iter().any(|(name, _)| name == "changes_since")
    }

    /// The same with one more field than was asked for; nothing where it is there already.
    fn with_field(&self, field: &str) -> Option<Self> {
        let mut listing = self.clone();
        let (_, fields) = listing.read.query.iter_mut().find(|(name, _)| name == "fields")?;
        if fields.split(',').any(|known| known == field) {
            return None;
        }
        fields.push(',');
        fields.push_str(field);
        Some(listing)
    }

    fn read_at(&self, position: &Position, limit: Option<u64>) -> Read {
        let mut read = self.read.clone();
        if let Some(limit) = limit {
            read.push("limit", limit.to_string());
        }
        if let Some(cursor) = &position.cursor {
            // With a cursor the reference repeats the first page for ever if changes_since goes along.
            read.query.retain(|(name, _)| name != "changes_since");
            read.push("cursor", cursor);
        }
        if let Some(connection) = position.connection.as_ref().or(self.connection.as_ref()) {
            read.push("connection_id", connection);
        }
        read
    }
}

/// One answer of the provider.
struct Answer {
    body: Map<String, Value>,
    rows: Vec<Row>,
    has_more: bool,
    cursor: Option<String>,
}

async fn ask(
    source: &Source,
    listing: &Listing,
    position: &Position,
    limit: Option<u64>,
    shape: &dyn Shape,
    keep: Option<&str>,
) -> Result<Answer, ToolError> {
    let mut body = source.get(&listing.read_at(position, limit)).await?.body;
    shape.prepare(&mut body, keep);
    let rows = take_rows(&mut body)?;
    envelope::shorten(&mut body);
    let has_more = body.get("has_more").and_then(Value::as_bool);
    let cursor = body.get("next_cursor").and_then(Value::as_str).filter(|cursor| !cursor.is_empty());
    // One that leads back to its own page would be walked for ever.
    let cursor = cursor.filter(|cursor| position.cursor.as_deref() != Some(*cursor));
    let cursor = cursor.filter(|_| has_more != Some(false)).map(str::to_owned);
    Ok(Answer { has_more: has_more.unwrap_or(cursor.is_some()), cursor, body, rows })
}

/// Whether a provider put the rows of several connections one after the other: in no order then.
fn is_side_by_side(rows: &[Row]) -> bool {
    let mut connections: Vec<Option<&Value>> = rows.iter().map(|row| row.get("connection_id")).collect();
    connections.dedup();
    let runs = connections.len();
    runs > 1 && connections.iter().enumerate().all(|(at, connection)| !connections[..at].contains(connection))
}

/// Takes the rows out of an envelope, in the shapes that providers send: `data[]`, `data.results[]`,
/// `data.data[]` (R6.2).
///
/// # Errors
/// `provider_answer_broken` where there is no list.
pub fn take_rows(body: &mut Map<String, Value>) -> Result<Vec<Row>, ToolError> {
    let list = match body.get_mut("data") {
        Some(Value::Array(_)) => body.remove("data"),
        Some(Value::Object(inner)) => {
            let key =
                ["results", "data"].into_iter().find(|key| inner.get(*key).is_some_and(Value::is_array));
            let list = key.and_then(|key| inner.remove(key));
            if inner.is_empty() {
                body.remove("data");
            }
            list
        }
        _ => None,
    };
    let Some(Value::Array(list)) = list else {
        return Err(answer_shape::broken("data", body.get("data"), "a list"));
    };
    let rows = list.into_iter().map(|row| match row {
        Value::Object(row) => row,
        // No row at all: still shown, for nothing disappears.
        other => Map::from_iter([("data".to_owned(), json!({ "value": other }))]),
    });
    Ok(rows.collect())
}

/// Reads the page of `listing` that fits `shape`.
///
/// # Errors
/// `invalid_cursor`, `cursor_expired`, and those of [`Source::get`].
pub async fn read<'a, F, C>(
    source: &Source,
    listing: &Listing,
    shape: &dyn Shape,
    several: F,
) -> Result<Page, ToolError>
where
    F: FnOnce() -> C,
    C: Future<Output = Several> + 'a,
{
    let positions = listing.start()?;
    if let [position] = positions.as_slice()
        && position.connection.is_none()
    {
        let answer = ask(source, listing, position, position.limit.or(listing.limit), shape, None).await?;
        let is_stuck = answer.has_more || is_side_by_side(&answer.rows);
        let is_over_several = listing.has_cursors && listing.connection.is_none() && !listing.is_of_changes();
        if is_over_several && position.cursor.is_none() && answer.cursor.is_none() && is_stuck {
            let Several { connections, order } = several().await;
            if connections.len() > 1 {
                let positions = connections
                    .into_iter()
                    .map(|connection| Position { connection: Some(connection), ..position.clone() });
                let order = order.as_ref();
                return connections::merged(
                    source,
                    listing,
                    shape,
                    positions.collect(),
                    order,
                    Some(answer.body),
                )
                .await;
            }
        }
        return single(source, listing, shape, position, answer).await;
    }
    // The same order on every page.
    let order = several().await.order;
    connections::merged(source, listing, shape, positions, order.as_ref(), None).await
}

async fn single(
    source: &Source,
    listing: &Listing,
    shape: &dyn Shape,
    position: &Position,
    mut answer: Answer,
) -> Result<Page, ToolError> {
    let asked = position.limit.or(listing.limit);
    let mut rows = answer.rows.split_off(position.skip.min(answer.rows.len()));
    // What the provider sends beyond the limit was not asked for, and its cursor is behind it.
    let most = listing.limit.map_or(rows.len(), |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let mut fit = shape.fit(&answer.body, &rows).clamp(1, rows.len().max(1)).min(most);
    if fit < rows.len() && position.skip == 0 && listing.has_cursors {
        // Asked again, up to three times: rows may have changed in between.
        for _ in 0..3 {
            let fewer = ask(source, listing, position, Some(fit as u64), shape, None).await?;
            // It ignores the limit, or cannot continue behind fewer rows (several connections have no
            // cursor): then the first answer is shown in parts.
            if fewer.rows.len() > fit || fewer.cursor.is_none() {
                break;
            }
            let fits = shape.fit(&fewer.body, &fewer.rows).max(1);
            if fits >= fewer.rows.len() {
                let next = fewer.cursor.clone();
                let page = page(shape, fewer.body, fewer.rows, fewer.has_more, next);
                return Ok(Page { is_fitted: true, ..page });
            }
            fit = fits;
        }
    }
    if fit >= rows.len() {
        return Ok(page(shape, answer.body, rows, answer.has_more, answer.cursor));
    }
    let is_fitted = fit < most;
    rows.truncate(fit);
    let position = Position { limit: asked, skip: position.skip + fit, ..position.clone() };
    let next = Walk { query: listing.fingerprint(), positions: vec![position], seen: Vec::new() }.encode();
    Ok(Page { is_fitted, ..page(shape, answer.body, rows, true, Some(next)) })
}

fn page(
    shape: &dyn Shape,
    mut body: Map<String, Value>,
    rows: Vec<Row>,
    has_more: bool,
    next: Option<String>,
) -> Page {
    // A cursor that no call could carry is none.
    let next = next.filter(|next| next.len() <= shape.max_cursor());
    body.insert("has_more".into(), json!(has_more));
    match &next {
        Some(next) => body.insert("next_cursor".into(), json!(next)),
        None => body.remove("next_cursor"),
    };
    Page { body, rows, next, is_fitted: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn listing(cursor: Option<String>) -> Listing {
        Listing {
            read: Read::of(["streams", "notes", "records"]).with("fields", "a"),
            limit: None,
            cursor,
            connection: None,
            has_cursors: true,
        }
    }

    pub(super) fn row(at: &str) -> Row {
        json!({"id": at, "data": {"at": at}}).as_object().unwrap().clone()
    }

    #[test]
    fn r3_15_a_merge_asks_for_what_it_goes_by() {
        let fields = |listing: &Listing| listing.read.query[0].1.clone();
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
        listing.read.push("changes_since", "beginning");
        let position =
            |cursor: Option<&str>| Position { cursor: cursor.map(str::to_owned), ..Position::default() };
        let has = |read: Read| read.query.iter().any(|(name, _)| name == "changes_since");
        assert!(has(listing.read_at(&position(None), None)));
        assert!(!has(listing.read_at(&position(Some("c")), None)));
    }
}
