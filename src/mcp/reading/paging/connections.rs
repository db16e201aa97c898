//! A list over several connections of one grant that the provider does not page over itself: read separately and
//! merged, in the declared order or in turns (R3.15).

use std::cmp::Ordering;

use futures_util::future::try_join_all;
use serde_json::{Map, Value, json};

use super::cursor::{Passed, Position, Walk};
use super::list::{Answer, DEFAULT_LIMIT, Listing, Page, Shape, ask, page};
use super::together::count_of;
use crate::mcp::reading::envelope;
use crate::mcp::reading::filter::Sort;
use crate::mcp::reading::reader::Reader;
use crate::mcp::reading::rows::Row;
use crate::mcp::tool_error::ToolError;

/// The beginning of a list in each of `connections`.
pub(super) fn positions(connections: Vec<String>) -> Vec<Position> {
    let begin = |connection| Position { connection: Some(connection), ..Position::default() };
    connections.into_iter().map(begin).collect()
}

/// A list over several connections, as far as it was read.
pub(super) struct Apart<'a> {
    /// The position in each connection.
    pub positions: Vec<Position>,
    /// The order of the merge; without one, the connections take turns.
    pub order: Option<&'a Sort>,
    /// The provider's answer to a read of all connections at once.
    pub unscoped: Option<Answer>,
}

/// Reads several connections separately and merges them.
pub(super) async fn merged<S: Shape>(
    reader: &Reader,
    listing: &Listing,
    shape: &S,
    apart: Apart<'_>,
) -> Result<Page<S::Ready>, ToolError> {
    let Apart { mut positions, order, unscoped } = apart;
    let limit = listing.limit.unwrap_or(DEFAULT_LIMIT);
    let with_order = order.and_then(|order| listing.with_field(&order.field));
    let added = with_order.as_ref().and(order).map(|order| order.field.as_str());
    let asked = with_order.as_ref().unwrap_or(listing);
    let live = (0..positions.len()).filter(|index| !positions[*index].is_done).collect::<Vec<_>>();
    let parts =
        unscoped.as_ref().filter(|_| added.is_none()).and_then(|answer| parts(answer, &positions, limit));
    let unscoped = unscoped.map(|answer| answer.body);
    let answers = if let Some(parts) = parts {
        parts
    } else {
        let asks = live.iter().map(|index| ask(reader, asked, &positions[*index], Some(limit), shape, added));
        let (begun, mut answers): (Vec<_>, Vec<_>) = try_join_all(asks).await?.into_iter().unzip();
        for (index, position) in live.iter().zip(begun) {
            positions[*index] = position;
        }
        // A list that continues without a cursor ends here, unless it was asked for fewer rows than the call wants.
        for (answer, index) in answers.iter_mut().zip(&live) {
            let is_narrowed = positions[*index].is_narrower_than(limit) && !answer.rows.is_empty();
            answer.has_more = answer.cursor.is_some() || (answer.has_more && is_narrowed);
        }
        answers
    };
    // Connections at their end are not asked again.
    let before = positions.iter().filter(|position| position.is_done).map(|position| position.count).sum();
    let mut body = merged_body(unscoped.as_ref(), &answers, before);
    body.remove("links");

    let order = order.filter(|order| answers.iter().all(|answer| is_ordered(&answer.rows, order)));
    let lists = answers.iter().map(|answer| (answer.rows.as_slice(), answer.has_more)).collect::<Vec<_>>();
    let mut turns = interleave(&lists, order);
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    turns.truncate(most);
    let rows_of = |turns: &[(usize, usize)]| {
        let mut rows =
            turns.iter().map(|(answer, row)| answers[*answer].rows[*row].clone()).collect::<Vec<_>>();
        if let Some(added) = added {
            for data in rows.iter_mut().filter_map(|row| row.get_mut("data")?.as_object_mut()) {
                data.remove(added);
            }
        }
        rows.into_iter().map(|row| shape.ready(row)).collect::<Vec<_>>()
    };
    let mut rows = rows_of(&turns);
    // Connections whose place already takes up room.
    let begun = (0..live.len()).filter(|at| !answers[*at].rows.is_empty());
    let begun = begun.max_by_key(|at| positions[live[*at]].cursor.as_ref().map(String::len));
    let begun = begun.filter(|at| positions[live[*at]].cursor.is_some());
    let is_narrowed = live.iter().any(|index| positions[*index].is_narrower_than(limit));
    let mut is_one_alone = false;
    let query = listing.fingerprint();
    let walk_of = |positions| Walk { query, positions, seen: Vec::new() };
    let mut fit = shape.fit(&body, &rows).clamp(usize::from(!rows.is_empty()), rows.len());
    loop {
        let mut used = vec![0usize; answers.len()];
        for (answer, _) in &turns[..fit] {
            used[*answer] += 1;
        }
        let mut after = positions.clone();
        for (at, index) in live.iter().enumerate() {
            after[*index] = advance(&positions[*index], &answers[at], used[at]);
            if after[*index].is_done {
                after[*index].count = count_of(&answers[at].body);
            }
        }
        if fit < rows.len() || is_narrowed {
            let room = shape.room(&body, &rows);
            after = after.into_iter().map(|position| position.with_room(room, limit)).collect();
        }
        let has_more = after.iter().any(|position| !position.is_done);
        // Each following page must have room for its place, too.
        let later = after.iter().map(Position::most_briefly).collect();
        let is_too_long = has_more && walk_of(later).encode().len() > shape.max_cursor();
        let next = has_more.then(|| walk_of(after).encode_within(shape.max_cursor()));
        if is_too_long
            && !is_one_alone
            && live.len() > 1
            && let Some(one) = begun.or(turns.first().map(|(answer, _)| *answer))
        {
            // No cursor could hold a place in each connection, so they are read one after the other.
            is_one_alone = true;
            turns = (0..answers[one].rows.len()).map(|row| (one, row)).take(most).collect();
            rows = rows_of(&turns);
            warn_of_order(&mut body);
            body.remove("next_cursor");
            fit = shape.fit(&body, &rows).clamp(1, rows.len());
            continue;
        }
        // Only now is the cursor's length known: fewer rows may fit next to it.
        body.insert("next_cursor".into(), json!(next));
        let fits = shape.fit(&body, &rows[..fit]).max(1);
        if next.is_none() || fits >= fit {
            let is_fitted = fit < rows.len() || (is_narrowed && has_more);
            rows.truncate(fit);
            return Ok(Page { is_fitted, ..page(shape.max_cursor(), body, rows, has_more, next) });
        }
        fit = fits;
    }
}

fn warn_of_order(body: &mut Map<String, Value>) {
    envelope::warn(
        body,
        "one_connection_at_a_time",
        "the rows of one connection come after those of another: no cursor could hold a place in each",
    );
}

/// The rows of each connection, if `answer` to a read of all of them contains what separate reads would have
/// returned: as many as were requested from each, or all.
fn parts(answer: &Answer, positions: &[Position], limit: u64) -> Option<Vec<Answer>> {
    if answer.has_more && answer.rows.len() as u64 <= limit {
        return None;
    }
    let is_of = |row: &Row, position: &Position| {
        row.get("connection_id").and_then(Value::as_str) == position.connection.as_deref()
    };
    let of = |position: &Position| {
        let mut rows = answer.rows.iter().filter(|row| is_of(row, position)).cloned().collect::<Vec<_>>();
        // Fewer than requested means all of them.
        let has_more = answer.has_more && rows.len() as u64 >= limit;
        let page = Passed::default().take_from(&mut rows, has_more);
        Answer { body: Map::new(), rows, page, has_more, cursor: None, is_ranked: false }
    };
    let parts = positions.iter().map(of).collect::<Vec<_>>();
    let is_whole = parts.iter().map(|part| part.rows.len()).sum::<usize>() == answer.rows.len();
    is_whole.then_some(parts)
}

/// The position after `used` rows of `answer`.
fn advance(position: &Position, answer: &Answer, used: usize) -> Position {
    if used == answer.rows.len() && (answer.cursor.is_some() || !answer.has_more) {
        return position.next_page(answer.cursor.as_ref(), &answer.page.left);
    }
    // If the provider has more but gives no cursor, the page itself is requested again.
    position.behind(&answer.page, used)
}

/// One envelope for several: counts are added up with those `before`, from connections at their end; each warning is
/// kept once, except the one that the provider could not page over several connections.
fn merged_body(
    unscoped: Option<&Map<String, Value>>,
    answers: &[Answer],
    before: Option<u64>,
) -> Map<String, Value> {
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
    if let Some(Value::Object(meta)) = body.get_mut("meta") {
        meta.insert("warnings".into(), Value::Array(warnings));
        if unscoped.is_none() && meta.contains_key("count") {
            let total = answers.iter().map(|answer| count_of(&answer.body)).sum::<Option<u64>>();
            match (total.zip(before), meta.get_mut("count")) {
                (Some((now, before)), Some(Value::Object(count))) => {
                    count.insert("value".into(), json!(now.saturating_add(before)));
                }
                (Some((now, before)), Some(count)) => *count = json!(now.saturating_add(before)),
                // The count of one connection is not the count of all.
                (None, _) | (_, None) => {
                    meta.remove("count");
                    meta.remove("count_accuracy");
                }
            }
        }
    }
    body
}

/// The order in which the rows of the lists come: by `order`, otherwise in turns. In an order, nothing may come after
/// the end of a list that continues on its next page, because its next rows may come first.
fn interleave(lists: &[(&[Row], bool)], order: Option<&Sort>) -> Vec<(usize, usize)> {
    let mut at = vec![0usize; lists.len()];
    let mut turns = Vec::with_capacity(lists.iter().map(|(list, _)| list.len()).sum());
    loop {
        let is_open = |list: &usize| at[*list] < lists[*list].0.len();
        let open = (0..lists.len()).filter(is_open);
        let next = match order {
            Some(_) if (0..lists.len()).any(|list| lists[list].1 && !is_open(&list)) => None,
            // The first among equals, so that the same rows always come in the same order.
            Some(order) => open.min_by(|left, right| {
                compare(&lists[*left].0[at[*left]], &lists[*right].0[at[*right]], order).then(left.cmp(right))
            }),
            None => open.min_by_key(|list| (at[*list], *list)),
        };
        let Some(list) = next else { return turns };
        turns.push((list, at[list]));
        at[list] += 1;
    }
}

fn is_ordered(rows: &[Row], order: &Sort) -> bool {
    rows.iter().all(|row| sort_value(row, order).is_some())
        && rows.windows(2).all(|pair| compare(&pair[0], &pair[1], order) != Ordering::Greater)
}

fn sort_value<'a>(row: &'a Row, order: &Sort) -> Option<&'a Value> {
    row.get("data")?.get(&order.field).filter(|value| value.is_string() || value.is_number())
}

fn compare(left: &Row, right: &Row, order: &Sort) -> Ordering {
    let ascending = match (sort_value(left, order), sort_value(right, order)) {
        (Some(Value::String(left)), Some(Value::String(right))) => left.cmp(right),
        (Some(Value::Number(left)), Some(Value::Number(right))) => {
            let (left, right) = (left.as_f64(), right.as_f64());
            left.partial_cmp(&right).unwrap_or(Ordering::Equal)
        }
        _ => Ordering::Equal,
    };
    if order.is_descending { ascending.reverse() } else { ascending }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::row;
    use super::*;

    #[test]
    fn rows_come_in_order_or_in_turns() {
        let (left, right) = ([row("5"), row("3")], [row("4"), row("2"), row("1")]);
        let order = Sort { field: "at".into(), is_descending: true };
        assert!(is_ordered(&left, &order) && is_ordered(&right, &order));
        let lists: [(&[Row], bool); 2] = [(&left, false), (&right, false)];
        assert_eq!(interleave(&lists, Some(&order)), [(0, 0), (1, 0), (0, 1), (1, 1), (1, 2)]);
        assert_eq!(interleave(&lists, None), [(0, 0), (1, 0), (0, 1), (1, 1), (1, 2)]);
        // The next page of the left list may begin before the rest of the other list.
        let goes_on: [(&[Row], bool); 2] = [(&left, true), (&right, false)];
        assert_eq!(interleave(&goes_on, Some(&order)), [(0, 0), (1, 0), (0, 1)]);
        let ascending = Sort { is_descending: false, ..order };
        assert!(!is_ordered(&left, &ascending));
    }

    proptest! {
        #[test]
        fn every_row_takes_its_turn_once(sizes in prop::collection::vec(0usize..6, 0..5)) {
            let lists = sizes.iter().map(|size| (0..*size).map(|n| row(&n.to_string())).collect::<Vec<_>>()).collect::<Vec<_>>();
            let slices = lists.iter().map(|list| (list.as_slice(), false)).collect::<Vec<_>>();
            let mut turns = interleave(&slices, None);
            prop_assert_eq!(turns.len(), sizes.iter().sum::<usize>());
            turns.sort_unstable();
            turns.dedup();
            prop_assert_eq!(turns.len(), sizes.iter().sum::<usize>());
        }
    }
}
