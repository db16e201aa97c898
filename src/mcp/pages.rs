//! Paging: one opaque cursor, whatever stands behind a list.
//!
//! A page of one source passes the resource server's own cursor on, as it is. Where that cannot
//! continue, the cursor is ours: over several connections it holds a place in each (R3.15); for a list
//! without cursors, or a provider that ignores a smaller `limit`, it holds how many rows to skip.
//!
//! Over several grants (R6.2) it holds a place in each too, and what was shown of grants of one provider, so
//! that a row that two of them give is shown once. Where that is too long for a call to carry, the walk is
//! kept here and the cursor names it.
//!
//! Rows that do not fit a result are not shown and lost: the resource server is asked again for as
//! many as fit, so that its own cursor continues there (R4.8).

use std::cmp::Ordering;
use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::{BoxFuture, join_all, try_join_all};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::evidence::{envelope, rows};
use super::expected;
use super::source::Source;
use super::tool_error::ToolError;
use crate::provider::rs::Read;

/// Rows of a page when the caller names no limit and several places are merged: what providers give.
const DEFAULT_LIMIT: u64 = 25;

/// What our own cursors begin with; no provider's would.
const PREFIX: &str = "pdpp1.";

/// What a cursor begins with whose walk is kept here.
const KEPT_PREFIX: &str = "pdpp1.w-";

/// Most pages of walks that are kept.
const MAX_KEPT: usize = 256;

/// Most rows of a walk that are remembered as shown.
const MAX_SEEN: usize = 4_000;

/// Where a row of several grants says which one it is from; taken from the rows before anything is shown.
const BRANCH: &str = "\u{0}branch";

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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    /// The grant, where it is one of several.
    #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
    grant: Option<String>,
    /// How many rows of it were shown, where grants take turns.
    #[serde(rename = "t", default, skip_serializing_if = "is_zero")]
    shown: usize,
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
    /// Rows that another grant may give again.
    #[serde(rename = "h", default, skip_serializing_if = "Vec::is_empty")]
    seen: Vec<u64>,
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
        let parameters = self.read.query.iter().filter(|(name, _)| name != "changes_since");
        let parts = self.read.segments.iter().chain(parameters.flat_map(|(name, value)| [name, value]));
        short_hash(parts.chain(&self.connection).map(String::as_str))
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
        let Some(text) = self.cursor.as_deref().filter(|text| text.starts_with(PREFIX)) else {
            return Ok(vec![Place { cursor: self.cursor.clone(), ..Place::default() }]);
        };
        if text.starts_with(KEPT_PREFIX) {
            return Err(expired_cursor());
        }
        // One of several grants means nothing to a single one.
        match Own::decode(text).filter(|own| own.places.iter().all(|place| place.grant.is_none())) {
            Some(own)
                if own.query == self.fingerprint() && !own.places.is_empty() && own.places.len() <= 256 =>
            {
                Ok(own.places)
            }
            _ => Err(invalid_cursor()),
        }
    }
}

/// Our cursors end with the process that gave them where they were too long to be passed on.
fn expired_cursor() -> ToolError {
    ToolError::new(
        "cursor_expired",
        format!(
            "the place that this cursor names is not kept any more: the server was started again, or {MAX_KEPT} other pages \
             were read since"
        ),
        "start again without cursor",
    )
    .with("param", "cursor")
}

fn invalid_cursor() -> ToolError {
    ToolError::new(
        "invalid_cursor",
        "the cursor is damaged or belongs to another call",
        "start again without cursor; a cursor goes with the very call that gave it",
    )
    .with("param", "cursor")
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
    let rows = take_rows(&mut body)?;
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
        return Err(expected::broken("data", body.get("data"), "a list"));
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
    let next = Own { query: listing.fingerprint(), places: vec![place], seen: Vec::new() }.encode();
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
        let next =
            has_more.then(|| Own { query: listing.fingerprint(), places: after, seen: Vec::new() }.encode());
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
    envelope::warn(
        body,
        "one_connection_at_a_time",
        "the rows of one connection come after those of another: no cursor could hold a place in each",
    );
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

/// One grant's part of a list over several.
pub struct Branch<'a> {
    /// Names the grant in a cursor: short, the same in every process.
    pub key: String,
    /// The grant.
    pub source: &'a Source,
    /// The list, as this grant is asked for it.
    pub listing: Listing,
    /// Whether another grant may give the same rows.
    pub has_rival: bool,
}

/// Which branch a row of [`read_branches`] came from.
pub fn branch_of(row: &Row) -> Option<usize> {
    row.get(BRANCH).and_then(Value::as_u64).and_then(|branch| usize::try_from(branch).ok())
}

/// Whether a cursor walks several grants.
pub fn is_over_grants(cursor: &str) -> bool {
    cursor.starts_with(KEPT_PREFIX)
        || Own::decode(cursor).is_some_and(|own| own.places.iter().any(|place| place.grant.is_some()))
}

/// Walks whose cursor would be too long to pass on, by name: the last 256 pages. They end with the
/// process, and the name says which process it was, so that another never takes it for one of its own.
#[derive(Default)]
pub struct Walks(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    process: Option<String>,
    next: u64,
    /// As JSON: one allocation a page. What is kept long between what lives short keeps the pages of memory
    /// round it, and a place of its own is many small strings.
    pages: VecDeque<(u64, Box<[u8]>)>,
}

impl Walks {
    fn keep(&self, own: &Own) -> Option<String> {
        let page = serde_json::to_vec(own).ok()?.into_boxed_slice();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.process.is_none() {
            kept.process = Some(crate::hex::random::<8>().ok()?);
        }
        if kept.pages.len() >= MAX_KEPT {
            kept.pages.pop_front();
        }
        let number = kept.next;
        kept.next += 1;
        kept.pages.push_back((number, page));
        Some(format!("{KEPT_PREFIX}{}-{number}", kept.process.as_deref()?))
    }

    fn find(&self, cursor: &str) -> Option<Own> {
        let (process, number) = cursor.strip_prefix(KEPT_PREFIX)?.split_once('-')?;
        let number = number.parse::<u64>().ok()?;
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.process.as_deref() != Some(process) {
            return None;
        }
        let (_, page) = kept.pages.iter().find(|(known, _)| *known == number)?;
        serde_json::from_slice(page).ok()
    }
}

/// A grant that gave nothing for a page, and why.
pub type Missing = (usize, ToolError);

/// What is done for a branch beside its read, within the same deadline: a grant that is silent costs its time
/// once.
pub trait Beside: Sync {
    /// Refuses the call, for every grant, before the one at `branch` is asked.
    fn check(&self, branch: usize) -> BoxFuture<'_, Result<(), ToolError>>;

    /// What the refusal of the one at `branch` means.
    fn explain(&self, branch: usize, error: ToolError) -> BoxFuture<'_, ToolError>;
}

/// The page of `whole` over several grants: asked side by side, each within `deadline`, taking turns, each
/// in its own order (R6.2). A grant that fails does not fail the page (R6.5): it is given back, and is asked
/// again on the next page while others have more. `warn` tells of those that are missing in this one, within
/// the envelope, so that what fits beside it is right.
///
/// # Errors
/// `invalid_cursor`, `cursor_expired`, those of [`Beside::check`]; the grants' own error where all of them failed.
pub async fn read_branches(
    branches: &[Branch<'_>],
    whole: &Listing,
    shape: &dyn Shape,
    beside: &dyn Beside,
    deadline: Duration,
    walks: &Walks,
    warn: &(dyn Fn(&[Missing]) -> Vec<Value> + Sync),
) -> Result<Result<Page, Vec<Missing>>, ToolError> {
    let mut own = start_over_grants(branches, whole, walks)?;
    let limit = whole.limit.unwrap_or(DEFAULT_LIMIT);
    let branch_at =
        |place: &Place| branches.iter().position(|branch| place.grant.as_ref() == Some(&branch.key));
    // A grant that is no longer served ends here; who serves says so.
    own.places.retain(|place| branch_at(place).is_some());
    let places = own.places;
    let of = places.iter().filter_map(branch_at).collect::<Vec<_>>();
    let live = (0..places.len()).filter(|at| !places[*at].is_done).collect::<Vec<_>>();
    let all_rest = live.iter().all(|at| branches[of[*at]].source.is_resting());
    let asks = live.iter().map(|at| {
        let (place, at) = (&places[*at], of[*at]);
        let branch = &branches[at];
        async move {
            if branch.source.is_resting() && !all_rest {
                let what = "did not answer in time a moment ago and was not asked again";
                return Ok(Err(too_slow(branch.source, what)));
            }
            let limit = Some(place.limit.unwrap_or(limit));
            ask_branch(at, branch, place, limit, shape, beside, deadline).await
        }
    });
    let (mut answers, mut missing) = (Vec::new(), Vec::new());
    // A call that is wrong is refused at once, whoever has not answered yet.
    for (at, answer) in live.iter().zip(try_join_all(asks).await?) {
        match answer {
            Ok(mut answer) => {
                answer.rows.drain(..places[*at].skip.min(answer.rows.len()));
                answers.push((*at, answer));
            }
            Err(error) => missing.push((of[*at], error)),
        }
    }
    if answers.is_empty() && !missing.is_empty() {
        return Ok(Err(missing));
    }

    let mut body = body_of_branches(answers.iter().map(|(_, answer)| &answer.body), warn(&missing));
    let likely = likely_length(&own.seen, &places, &answers, limit, whole.fingerprint());
    // What is too long is kept here under a short name.
    let is_kept = likely > shape.max_cursor();
    let likely = if is_kept { KEPT_PREFIX.len() + 40 } else { likely };
    body.insert("next_cursor".into(), json!("e".repeat(likely)));

    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut known = own.seen.iter().copied().collect::<HashSet<u64>>();
    let (mut rows, mut ends, mut turns) = (Vec::new(), Vec::new(), Vec::new());
    for (list, row) in take_turns(&places, &answers) {
        let (at, answer) = &answers[list];
        let mut row = answer.rows[row].clone();
        let branch = &branches[of[*at]];
        let key = if branch.has_rival { row_key(&row, branch.source) } else { None };
        if key.is_some_and(|key| !known.insert(key)) {
            turns.push(list);
            continue;
        }
        if rows.len() == most {
            break;
        }
        turns.push(list);
        row.insert(BRANCH.into(), json!(of[*at]));
        rows.push(row);
        ends.push((turns.len(), key));
    }
    let fit = if rows.is_empty() { 0 } else { shape.fit(&body, &rows).clamp(1, rows.len()) };
    if fit < rows.len() {
        turns.truncate(ends[fit].0 - 1);
    }
    rows.truncate(fit);
    own.seen.extend(ends[..fit].iter().filter_map(|(_, key)| *key));
    let excess = own.seen.len().saturating_sub(MAX_SEEN);
    own.seen.drain(..excess);

    let mut places = places;
    let mut is_stuck = false;
    for (list, (at, answer)) in answers.iter().enumerate() {
        let used = turns.iter().filter(|turn| **turn == list).count();
        let place = &mut places[*at];
        place.shown += used;
        if used == answer.rows.len() {
            is_stuck |= answer.has_more && answer.cursor.is_none();
            place.is_done = answer.cursor.is_none();
            (place.cursor, place.limit, place.skip) = (answer.cursor.clone(), None, 0);
        } else if used > 0 {
            place.limit = Some(place.limit.unwrap_or(limit));
            place.skip += used;
        }
    }
    // Grants that fail are tried again as long as there is something else to show; they never keep a walk
    // from ending.
    let goes_on = answers.iter().any(|(at, _)| !places[*at].is_done);
    let next = if goes_on {
        let own = Own { query: whole.fingerprint(), places, seen: own.seen };
        if is_kept { walks.keep(&own) } else { Some(own.encode()) }
    } else {
        None
    };
    Ok(Ok(page(shape, body, rows, goes_on || is_stuck, next)))
}

/// Asks one of several grants, all that belongs to it within `deadline`: its answer or its own error.
///
/// # Errors
/// Those of [`Beside::check`], which are everybody's.
async fn ask_branch(
    at: usize,
    branch: &Branch<'_>,
    place: &Place,
    limit: Option<u64>,
    shape: &dyn Shape,
    beside: &dyn Beside,
    deadline: Duration,
) -> Result<Result<Answer, ToolError>, ToolError> {
    let part = async {
        beside.check(at).await?;
        match ask(branch.source, &branch.listing, place, limit, shape, None).await {
            Ok(answer) => Ok(Ok(answer)),
            Err(error) => Ok(Err(beside.explain(at, error).await)),
        }
    };
    tokio::time::timeout(deadline, part).await.unwrap_or_else(|_| {
        branch.source.set_too_slow();
        let what = format!("did not answer within {} s", deadline.as_secs_f32());
        Ok(Err(too_slow(branch.source, &what)))
    })
}

fn start_over_grants(branches: &[Branch<'_>], whole: &Listing, walks: &Walks) -> Result<Own, ToolError> {
    let query = whole.fingerprint();
    let Some(cursor) = whole.cursor.as_deref() else {
        let place = |branch: &Branch<'_>| Place { grant: Some(branch.key.clone()), ..Place::default() };
        return Ok(Own { query, places: branches.iter().map(place).collect(), seen: Vec::new() });
    };
    let own = if cursor.starts_with(KEPT_PREFIX) {
        Some(walks.find(cursor).ok_or_else(expired_cursor)?)
    } else {
        Own::decode(cursor)
    };
    own.filter(|own| {
        own.query == query
            && own.places.len() <= 4_096
            && own.places.iter().all(|place| place.grant.is_some())
    })
    .ok_or_else(invalid_cursor)
}

/// As long as the cursor will be, for what fits beside it.
fn likely_length(
    seen: &[u64],
    places: &[Place],
    answers: &[(usize, Answer)],
    limit: u64,
    query: u32,
) -> usize {
    let mut likely = Own { query, places: places.to_vec(), seen: seen.to_vec() };
    for (at, answer) in answers {
        let place = &mut likely.places[*at];
        if answer.cursor.is_some() {
            place.cursor.clone_from(&answer.cursor);
        }
        (place.limit, place.skip, place.shown) = (Some(limit), 100, 10_000);
    }
    likely.seen.extend(std::iter::repeat_n(u64::MAX, usize::try_from(limit).unwrap_or(0).min(100)));
    likely.encode().len()
}

fn too_slow(source: &Source, what: &str) -> ToolError {
    ToolError::new(
        "provider_timeout",
        format!("{} {what}", source.provider()),
        "repeat the call in a minute; connection_id of another source leaves it out",
    )
}

/// Which row of which answer comes when: the grant that has shown the fewest comes first, also from page to
/// page, so that small pages do not end with the first grant.
fn take_turns(places: &[Place], answers: &[(usize, Answer)]) -> Vec<(usize, usize)> {
    let mut turns = answers
        .iter()
        .enumerate()
        .flat_map(|(list, (at, answer))| {
            (0..answer.rows.len()).map(move |row| (places[*at].shown + row, list, row))
        })
        .collect::<Vec<_>>();
    turns.sort_unstable();
    turns.into_iter().map(|(_, list, row)| (list, row)).collect()
}

/// What tells that two grants gave the same row: provider, connection, stream and record.
fn row_key(row: &Row, source: &Source) -> Option<u64> {
    let id = rows::record_id(row, "")?;
    let connection = id.connection?;
    let hash = hash([source.provider().as_str(), &connection, &id.stream, &id.record]);
    // Always 19 digits: a cursor is as long whatever the rows are called.
    Some(hash % 9_000_000_000_000_000_000 + 1_000_000_000_000_000_000)
}

/// One envelope for the lists of several grants: what they all say alike, their counts added up, what their
/// warnings say, and ours first.
fn body_of_branches<'a>(
    bodies: impl Iterator<Item = &'a Map<String, Value>>,
    mut warnings: Vec<Value>,
) -> Map<String, Value> {
    let bodies = bodies.collect::<Vec<_>>();
    let mut body = bodies.first().map(|body| (*body).clone()).unwrap_or_default();
    let own = ["links", "next_cursor", "has_more", "meta"];
    body.retain(|key, value| {
        !own.contains(&key.as_str()) && bodies.iter().all(|body| body.get(key) == Some(&*value))
    });
    let metas = bodies.iter().filter_map(|body| body.get("meta")?.as_object()).collect::<Vec<_>>();
    let mut meta = metas.first().map(|meta| (*meta).clone()).unwrap_or_default();
    meta.retain(|key, value| metas.iter().all(|meta| meta.get(key) == Some(&*value)));
    for warning in metas.iter().filter_map(|meta| meta.get("warnings")?.as_array()).flatten() {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    meta.insert("warnings".into(), warnings.into());
    let counts = metas.iter().map(|meta| meta.get("count")).collect::<Option<Vec<_>>>().unwrap_or_default();
    let total = counts.iter().map(|count| count.get("value")?.as_u64()).sum::<Option<u64>>();
    if let (Some(first), Some(total), false) =
        (counts.first(), total, counts.is_empty() || counts.len() < bodies.len())
    {
        let mut count = (*first).clone();
        count["value"] = json!(total);
        if counts.iter().any(|count| count.get("kind") != first.get("kind")) {
            count["kind"] = json!("estimated");
        }
        meta.insert("count".into(), count);
    }
    // What each says of its recall is not said of the whole (R3.35).
    let recalls = metas.iter().filter_map(|meta| meta.get("recall")).collect::<Vec<_>>();
    if !recalls.is_empty() && !meta.contains_key("recall") {
        let mut distinct: Vec<&Value> = Vec::new();
        for recall in recalls {
            if !distinct.contains(&recall) {
                distinct.push(recall);
            }
        }
        meta.insert("recall".into(), json!(distinct));
    }
    body.insert("meta".into(), Value::Object(meta));
    envelope::shorten(&mut body);
    body
}

/// A number for texts: FNV-1a.
fn hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let bytes = parts.into_iter().flat_map(|part| part.bytes().chain([0xff]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A shorter one: its halves folded.
fn short_hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> u32 {
    let hash = hash(parts);
    #[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
    let folded = (hash ^ (hash >> 32)) as u32;
    folded
}

/// A short name for a grant: the same in every process.
pub fn branch_key(provider: &str, grant_id: &str) -> String {
    format!("{:08x}", short_hash([provider, grant_id]))
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
            places: vec![Place { limit: Some(5), skip: 2, ..Place::default() }],
            seen: Vec::new(),
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
        let place = |cursor: Option<&str>| Place { cursor: cursor.map(str::to_owned), ..Place::default() };
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
            let own = Own { query, places: vec![Place { grant: None, shown: skip / 2, connection, cursor, limit, skip, is_done: skip == 7 }], seen: vec![u64::from(query); skip % 3] };
            prop_assert_eq!(Own::decode(&own.encode()), Some(own));
        }
    }
}
