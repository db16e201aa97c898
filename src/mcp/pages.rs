//! Paging: one opaque cursor, whatever stands behind a list.
//!
//! A page of one source passes the resource server's own cursor on, as it is. Where that cannot
//! continue, the cursor is ours: over several connections it holds a place in each (R3.15); for a list
//! without cursors, or a provider that ignores a smaller `limit`, it holds how many rows to skip.
//!
//! Rows that do not fit a result are not shown and lost: the resource server is asked again for as
//! many as fit, so that its own cursor continues there (R4.8).

use std::cmp::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::{join_all, try_join_all};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::evidence::envelope;
use super::source::Source;
use super::tool_error::ToolError;
use crate::provider::rs::Read;

/// Rows of a page when the caller names no limit and several places are merged: what providers give.
const DEFAULT_LIMIT: u64 = 25;

/// What our own cursors begin with; no provider's would.
const PREFIX: &str = "pdpp1.";

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

/// A place in one list: what our cursor remembers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    /// The connection, where it is one of several.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    connection: Option<String>,
    /// The provider's cursor.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// The limit that the rows to skip were counted with.
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    /// Rows of the page that were shown already.
    #[serde(rename = "k", default, skip_serializing_if = "is_zero")]
    skip: usize,
    /// Whether nothing follows.
    #[serde(rename = "d", default, skip_serializing_if = "is_false")]
    is_done: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Our own cursor: places, and which query they belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Own {
    #[serde(rename = "q")]
    query: u32,
    #[serde(rename = "p")]
    places: Vec<Place>,
}

impl Own {
    fn encode(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(json))
    }

    fn decode(text: &str) -> Option<Self> {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?).ok()
    }
}

/// Whether a cursor is one of ours, which is passed on as it is.
pub fn is_own(cursor: &str) -> bool {
    cursor.starts_with(PREFIX)
}

impl Listing {
    /// A number that tells one query's cursors from another's.
    fn fingerprint(&self) -> u32 {
        let mut hash = 0x811c_9dc5_u32;
        let parameters = self.read.query.iter().filter(|(name, _)| name != "changes_since");
        let parts = self.read.segments.iter().chain(parameters.flat_map(|(name, value)| [name, value]));
        for part in parts.chain(&self.connection) {
            for byte in part.bytes().chain([0xff]) {
                hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
            }
        }
        hash
    }

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

    fn read_at(&self, place: &Place, limit: Option<u64>) -> Read {
        let mut read = self.read.clone();
        if let Some(limit) = limit {
            read.push("limit", limit.to_string());
        }
        if let Some(cursor) = &place.cursor {
            // With a cursor the reference repeats the first page for ever if changes_since goes along.
            read.query.retain(|(name, _)| name != "changes_since");
            read.push("cursor", cursor);
        }
        if let Some(connection) = place.connection.as_ref().or(self.connection.as_ref()) {
            read.push("connection_id", connection);
        }
        read
    }

    fn start(&self) -> Result<Vec<Place>, ToolError> {
        let mut place =
            Place { connection: None, cursor: self.cursor.clone(), limit: None, skip: 0, is_done: false };
        let Some(text) = self.cursor.as_deref().filter(|text| text.starts_with(PREFIX)) else {
            return Ok(vec![place]);
        };
        match Own::decode(text) {
            Some(own)
                if own.query == self.fingerprint() && !own.places.is_empty() && own.places.len() <= 256 =>
            {
                Ok(own.places)
            }
            _ => {
                place.cursor = None;
                Err(ToolError::new(
                    "invalid_cursor",
                    "the cursor is damaged or belongs to another call",
                    "start again without cursor; a cursor goes with the very call that gave it",
                )
                .with("param", "cursor"))
            }
        }
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
    place: &Place,
    limit: Option<u64>,
    shape: &dyn Shape,
    keep: Option<&str>,
) -> Result<Answer, ToolError> {
    let mut body = source.get(&listing.read_at(place, limit)).await?.body;
    shape.prepare(&mut body, keep);
    let rows = take_rows(&mut body);
    envelope::shorten(&mut body);
    let has_more = body.get("has_more").and_then(Value::as_bool);
    let cursor = body.get("next_cursor").and_then(Value::as_str).filter(|cursor| !cursor.is_empty());
    // One that leads back to its own page would be walked for ever.
    let cursor = cursor.filter(|cursor| place.cursor.as_deref() != Some(*cursor));
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
pub fn take_rows(body: &mut Map<String, Value>) -> Vec<Row> {
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
    let Some(Value::Array(list)) = list else { return Vec::new() };
    list.into_iter()
        .map(|row| match row {
            Value::Object(row) => row,
            // No row at all: still shown, for nothing disappears.
            other => Map::from_iter([("data".to_owned(), json!({ "value": other }))]),
        })
        .collect()
}

/// Reads the page of `listing` that fits `shape`.
///
/// # Errors
/// `invalid_cursor`, and those of [`Source::get`].
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
    let places = listing.start()?;
    if let [place] = places.as_slice()
        && place.connection.is_none()
    {
        let answer = ask(source, listing, place, place.limit.or(listing.limit), shape, None).await?;
        let is_stuck = answer.has_more || is_side_by_side(&answer.rows);
        let is_over_several = listing.has_cursors && listing.connection.is_none() && !listing.is_of_changes();
        if is_over_several && place.cursor.is_none() && answer.cursor.is_none() && is_stuck {
            let Several { connections, order } = several().await;
            if connections.len() > 1 {
                let places = connections
                    .into_iter()
                    .map(|connection| Place { connection: Some(connection), ..place.clone() });
                let order = order.as_ref();
                return merged(source, listing, shape, places.collect(), order, Some(answer.body)).await;
            }
        }
        return single(source, listing, shape, place, answer).await;
    }
    // The same order on every page.
    let order = several().await.order;
    merged(source, listing, shape, places, order.as_ref(), None).await
}

async fn single(
    source: &Source,
    listing: &Listing,
    shape: &dyn Shape,
    place: &Place,
    mut answer: Answer,
) -> Result<Page, ToolError> {
    let asked = place.limit.or(listing.limit);
    let mut rows = answer.rows.split_off(place.skip.min(answer.rows.len()));
    // What the provider sends beyond the limit was not asked for, and its cursor is behind it.
    let most = listing.limit.map_or(rows.len(), |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let mut fit = shape.fit(&answer.body, &rows).clamp(1, rows.len().max(1)).min(most);
    if fit < rows.len() && place.skip == 0 && listing.has_cursors {
        // Asked again, up to three times: rows may have changed in between.
        for _ in 0..3 {
            let fewer = ask(source, listing, place, Some(fit as u64), shape, None).await?;
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
    let place = Place { limit: asked, skip: place.skip + fit, ..place.clone() };
    let next = Own { query: listing.fingerprint(), places: vec![place] }.encode();
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

/// Reads several connections apart and merges them.
async fn merged(
    source: &Source,
    listing: &Listing,
    shape: &dyn Shape,
    places: Vec<Place>,
    order: Option<&Order>,
    unscoped: Option<Map<String, Value>>,
) -> Result<Page, ToolError> {
    let limit = listing.limit.unwrap_or(DEFAULT_LIMIT);
    let with_order = order.and_then(|order| listing.with_field(&order.field));
    let added = with_order.as_ref().and(order).map(|order| order.field.as_str());
    let asked = with_order.as_ref().unwrap_or(listing);
    let live = (0..places.len()).filter(|index| !places[*index].is_done).collect::<Vec<_>>();
    let asks = live.iter().map(|index| {
        let place = &places[*index];
        ask(source, asked, place, Some(place.limit.unwrap_or(limit)), shape, added)
    });
    let mut answers = try_join_all(asks).await?;
    for (index, answer) in live.iter().zip(&mut answers) {
        answer.rows.drain(..places[*index].skip.min(answer.rows.len()));
    }
    let mut body = merged_body(unscoped.as_ref(), &answers);
    body.remove("links");

    let order = order.filter(|order| answers.iter().all(|answer| is_ordered(&answer.rows, order)));
    let mut turns =
        interleave(&answers.iter().map(|answer| answer.rows.as_slice()).collect::<Vec<_>>(), order);
    turns.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let mut rows = turns.iter().map(|(answer, row)| answers[*answer].rows[*row].clone()).collect::<Vec<_>>();
    if let Some(added) = added {
        for data in rows.iter_mut().filter_map(|row| row.get_mut("data")?.as_object_mut()) {
            data.remove(added);
        }
    }
    let mut fit = shape.fit(&body, &rows).clamp(usize::from(!rows.is_empty()), rows.len());
    loop {
        let mut used = vec![0usize; answers.len()];
        for (answer, _) in &turns[..fit] {
            used[*answer] += 1;
        }
        let moves = live
            .iter()
            .enumerate()
            .map(|(at, index)| advance(source, asked, shape, &places[*index], &answers[at], used[at], limit));
        let mut after = places.clone();
        for (index, place) in live.iter().zip(join_all(moves).await) {
            after[*index] = place;
        }
        let has_more = after.iter().any(|place| !place.is_done);
        let next = has_more.then(|| Own { query: listing.fingerprint(), places: after }.encode());
        if next.as_ref().is_some_and(|next| next.len() > shape.max_cursor())
            && let Some(first) = turns.first().map(|(answer, _)| *answer)
            && turns.iter().any(|(answer, _)| *answer != first)
        {
            // No cursor could hold a place in each: then one is read to its end after the other.
            keep_only(&mut rows, &mut turns, first);
            warn_of_order(&mut body);
            body.remove("next_cursor");
            fit = shape.fit(&body, &rows).clamp(1, rows.len());
            continue;
        }
        // How long the cursor is, is known only now: fewer rows may fit beside it.
        body.insert("next_cursor".into(), json!(next));
        let beside = shape.fit(&body, &rows[..fit]).max(1);
        if next.is_none() || beside >= fit {
            let is_fitted = fit < rows.len();
            rows.truncate(fit);
            return Ok(Page { is_fitted, ..page(shape, body, rows, has_more, next) });
        }
        fit = beside;
    }
}

/// Leaves of a merge the rows of one answer.
fn keep_only(rows: &mut Vec<Row>, turns: &mut Vec<(usize, usize)>, answer: usize) {
    let mut turn = turns.iter();
    rows.retain(|_| turn.next().is_some_and(|(of, _)| *of == answer));
    turns.retain(|(of, _)| *of == answer);
}

fn warn_of_order(body: &mut Map<String, Value>) {
    let meta = body.entry("meta").or_insert_with(|| json!({}));
    let Some(meta) = meta.as_object_mut() else { return };
    let warnings = meta.entry("warnings").or_insert_with(|| json!([]));
    if let Some(warnings) = warnings.as_array_mut() {
        warnings.push(json!({"code": "one_connection_at_a_time",
            "message": "the rows of one connection come after those of another: no cursor could hold a place in each"}));
    }
}

/// The place behind the `used` rows of `answer` that are shown.
async fn advance(
    source: &Source,
    listing: &Listing,
    shape: &dyn Shape,
    place: &Place,
    answer: &Answer,
    used: usize,
    limit: u64,
) -> Place {
    if used == answer.rows.len() {
        let is_done = answer.cursor.is_none();
        return Place { cursor: answer.cursor.clone(), limit: None, skip: 0, is_done, ..place.clone() };
    }
    if used == 0 {
        return place.clone();
    }
    let skipped =
        Place { limit: Some(place.limit.unwrap_or(limit)), skip: place.skip + used, ..place.clone() };
    if place.skip > 0 {
        return skipped;
    }
    // Asked again for just these rows, the provider's own cursor stands behind them.
    match ask(source, listing, place, Some(used as u64), shape, None).await {
        Ok(again) if same_ids(&again.rows, &answer.rows[..used]) && again.cursor.is_some() => {
            Place { cursor: again.cursor, limit: None, skip: 0, is_done: false, ..place.clone() }
        }
        _ => skipped,
    }
}

fn same_ids(one: &[Row], other: &[Row]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.get("id") == other.get("id"))
}

/// One envelope for several: counts added up, warnings once, without the one that says that the provider
/// could not page over several connections.
fn merged_body(unscoped: Option<&Map<String, Value>>, answers: &[Answer]) -> Map<String, Value> {
    let first = answers.first().map(|answer| answer.body.clone()).unwrap_or_default();
    let mut body = unscoped.cloned().unwrap_or(first);
    let mut warnings: Vec<Value> = Vec::new();
    let bodies = unscoped.into_iter().chain(answers.iter().map(|answer| &answer.body));
    for warning in bodies.filter_map(|body| body.get("meta")?.get("warnings")?.as_array()).flatten() {
        let is_partial = warning.get("code").and_then(Value::as_str) == Some("partial_results");
        if !is_partial && !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    let count = |answer: &Answer| answer.body.get("meta")?.get("count")?.get("value")?.as_u64();
    let total = answers.iter().map(count).sum::<Option<u64>>();
    if let Some(Value::Object(meta)) = body.get_mut("meta") {
        meta.insert("warnings".into(), Value::Array(warnings));
        if let (None, Some(total), Some(Value::Object(count))) = (unscoped, total, meta.get_mut("count")) {
            count.insert("value".into(), json!(total));
        }
    }
    body
}

/// Which row of which list comes when: in `order`, else in turns.
fn interleave(lists: &[&[Row]], order: Option<&Order>) -> Vec<(usize, usize)> {
    let mut at = vec![0usize; lists.len()];
    let mut turns = Vec::with_capacity(lists.iter().map(|list| list.len()).sum());
    loop {
        let open = (0..lists.len()).filter(|list| at[*list] < lists[*list].len());
        let next = match order {
            // The first among equals, so that the same rows come in the same order.
            Some(order) => open.min_by(|one, other| {
                compare(&lists[*one][at[*one]], &lists[*other][at[*other]], order).then(one.cmp(other))
            }),
            None => open.min_by_key(|list| (at[*list], *list)),
        };
        let Some(list) = next else { return turns };
        turns.push((list, at[list]));
        at[list] += 1;
    }
}

fn is_ordered(rows: &[Row], order: &Order) -> bool {
    rows.iter().all(|row| sort_value(row, order).is_some())
        && rows.windows(2).all(|pair| compare(&pair[0], &pair[1], order) != Ordering::Greater)
}

fn sort_value<'a>(row: &'a Row, order: &Order) -> Option<&'a Value> {
    row.get("data")?.get(&order.field).filter(|value| value.is_string() || value.is_number())
}

fn compare(one: &Row, other: &Row, order: &Order) -> Ordering {
    let ascending = match (sort_value(one, order), sort_value(other, order)) {
        (Some(Value::String(one)), Some(Value::String(other))) => one.cmp(other),
        (Some(Value::Number(one)), Some(Value::Number(other))) => {
            let (one, other) = (one.as_f64(), other.as_f64());
            one.partial_cmp(&other).unwrap_or(Ordering::Equal)
        }
        _ => Ordering::Equal,
    };
    if order.is_descending { ascending.reverse() } else { ascending }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn listing(cursor: Option<String>) -> Listing {
        Listing {
            read: Read::of(["streams", "notes", "records"]).with("fields", "a"),
            limit: None,
            cursor,
            connection: None,
            has_cursors: true,
        }
    }

    fn row(at: &str) -> Row {
        json!({"id": at, "data": {"at": at}}).as_object().unwrap().clone()
    }

    #[test]
    fn a_cursor_of_another_query_or_a_damaged_one_is_refused() {
        let own = Own {
            query: listing(None).fingerprint(),
            places: vec![Place { connection: None, cursor: None, limit: Some(5), skip: 2, is_done: false }],
        };
        let encoded = own.encode();
        assert_eq!(listing(Some(encoded.clone())).start().unwrap(), own.places);
        let mut other = listing(Some(encoded.clone()));
        other.read.push("filter[a]", "1");
        assert_eq!(other.start().unwrap_err().code(), "invalid_cursor");
        assert_eq!(listing(Some(format!("{encoded}x"))).start().unwrap_err().code(), "invalid_cursor");
        assert_eq!(listing(Some("theirs".into())).start().unwrap()[0].cursor.as_deref(), Some("theirs"));
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
        let place = |cursor: Option<&str>| Place {
            connection: None,
            cursor: cursor.map(str::to_owned),
            limit: None,
            skip: 0,
            is_done: false,
        };
        let has = |read: Read| read.query.iter().any(|(name, _)| name == "changes_since");
        assert!(has(listing.read_at(&place(None), None)));
        assert!(!has(listing.read_at(&place(Some("c")), None)));
    }

    #[test]
    fn rows_come_in_order_or_in_turns() {
        let (one, other) = ([row("5"), row("3")], [row("4"), row("2"), row("1")]);
        let order = Order { field: "at".into(), is_descending: true };
        assert!(is_ordered(&one, &order) && is_ordered(&other, &order));
        let lists: [&[Row]; 2] = [&one, &other];
        assert_eq!(interleave(&lists, Some(&order)), [(0, 0), (1, 0), (0, 1), (1, 1), (1, 2)]);
        assert_eq!(interleave(&lists, None), [(0, 0), (1, 0), (0, 1), (1, 1), (1, 2)]);
        let ascending = Order { is_descending: false, ..order };
        assert!(!is_ordered(&one, &ascending));
    }

    proptest! {
        #[test]
        fn every_row_takes_its_turn_once(sizes in prop::collection::vec(0usize..6, 0..5)) {
            let lists = sizes.iter().map(|size| (0..*size).map(|n| row(&n.to_string())).collect::<Vec<_>>()).collect::<Vec<_>>();
            let slices = lists.iter().map(Vec::as_slice).collect::<Vec<_>>();
            let mut turns = interleave(&slices, None);
            prop_assert_eq!(turns.len(), sizes.iter().sum::<usize>());
            turns.sort_unstable();
            turns.dedup();
            prop_assert_eq!(turns.len(), sizes.iter().sum::<usize>());
        }

        #[test]
        fn cursors_round_trip(query in any::<u32>(), connection in any::<Option<String>>(), cursor in any::<Option<String>>(), limit in any::<Option<u64>>(), skip in 0usize..1000) {
            let own = Own { query, places: vec![Place { connection, cursor, limit, skip, is_done: skip == 7 }] };
            prop_assert_eq!(Own::decode(&own.encode()), Some(own));
        }
    }
}
