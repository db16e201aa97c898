//! The order that a provider may declare for its hits: first those with all words in titles and actors, then the
//! others, each newest first. The provider names the order in `meta.recall.order`, and each hit's place in its
//! `score`. Lists in this order are merged in it, so that several accounts read like one.

use std::cmp::Reverse;

use serde_json::{Map, Value};

use crate::mcp::reading::rows::Row;

/// The name of the order.
pub(super) const TITLES_THEN_NEWEST: &str = "titles_then_newest";

/// The place of a hit: its group, then its time, newest first. A hit without a time comes last.
type Place = (u64, Reverse<Option<i64>>);

/// Whether this envelope declares the order.
pub(super) fn is_declared(body: &Map<String, Value>) -> bool {
    let order = body.get("meta").and_then(|meta| meta.pointer("/recall/order"));
    order.and_then(Value::as_str) == Some(TITLES_THEN_NEWEST)
}

/// Whether each of these rows has a place, and none belongs before its predecessor.
pub(super) fn is_kept(rows: &[Row]) -> bool {
    let places = rows.iter().map(place).collect::<Option<Vec<_>>>();
    places.is_some_and(|places| places.is_sorted())
}

/// Whether the `score` of a hit contains only its place in the order.
pub fn is_place(score: &Value) -> bool {
    score.get("kind").and_then(Value::as_str) == Some(TITLES_THEN_NEWEST)
}

fn place(row: &Row) -> Option<Place> {
    let score = row.get("score").filter(|score| is_place(score))?;
    let time = score.get("at").and_then(Value::as_str);
    let time = time.and_then(|at| at.parse::<jiff::Timestamp>().ok()).map(jiff::Timestamp::as_millisecond);
    Some((score.get("value")?.as_u64()?, Reverse(time)))
}

/// One of these lists: its rows, and whether more follow on its next page.
pub(super) struct List<'a> {
    pub(super) rows: &'a [Row],
    pub(super) goes_on: bool,
}

/// The order of the rows of all lists. Nothing comes after the end of a list that continues: its next rows may come
/// first.
pub(super) fn merged(lists: &[List<'_>]) -> Vec<(usize, usize)> {
    // Rows with the same place and time come as one provider orders them: by stream, then by the greatest key.
    let key = |row: &Row| {
        let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        (place(row), text("stream"), Reverse(text("record_key")))
    };
    let keys = lists.iter().map(|list| list.rows.iter().map(key).collect::<Vec<_>>()).collect::<Vec<_>>();
    let mut at = vec![0usize; lists.len()];
    let mut turns = Vec::with_capacity(keys.iter().map(Vec::len).sum());
    loop {
        let is_open = |list: &usize| at[*list] < keys[*list].len();
        if (0..lists.len()).any(|list| lists[list].goes_on && at[list] > 0 && !is_open(&list)) {
            return turns;
        }
        let open = (0..lists.len()).filter(is_open);
        let Some(next) = open.min_by(|left, right| keys[*left][at[*left]].cmp(&keys[*right][at[*right]]))
        else {
            return turns;
        };
        turns.push((next, at[next]));
        at[next] += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn hit(group: u64, second: Option<i64>, key: &str) -> Row {
        let at = second.map(|second| jiff::Timestamp::from_second(second).unwrap().to_string());
        let score = json!({"kind": TITLES_THEN_NEWEST, "order": "lower_is_better", "value": group, "at": at});
        json!({"stream": "notes", "record_key": key, "score": score}).as_object().unwrap().clone()
    }

    fn list(rows: &[Row]) -> List<'_> {
        List { rows, goes_on: false }
    }

    #[test]
    fn what_declares_no_order_or_does_not_keep_it_has_none() {
        let body = |recall: Value| json!({"meta": {"recall": recall}}).as_object().unwrap().clone();
        assert!(is_declared(&body(json!({"order": TITLES_THEN_NEWEST}))));
        assert!(!is_declared(&body(json!({"order": "relevance"}))) && !is_declared(&body(json!([]))));
        assert!(is_kept(&[
            hit(0, Some(1), "a"),
            hit(1, Some(2), "b"),
            hit(1, Some(2), "c"),
            hit(1, None, "d")
        ]));
        assert!(!is_kept(&[hit(0, Some(1), "a"), hit(0, Some(2), "b")]));
        assert!(!is_kept(&[hit(1, Some(1), "a"), hit(0, Some(1), "b")]));
        assert!(!is_kept(&[Row::new()]));
    }

    #[test]
    fn nothing_comes_after_the_end_of_a_list_that_goes_on() {
        let (left, right) = ([hit(0, Some(5), "a")], [hit(0, Some(9), "b"), hit(0, Some(3), "c")]);
        let merged_of = |goes_on| merged(&[List { rows: &left, goes_on }, list(&right)]);
        assert_eq!(merged_of(false), [(1, 0), (0, 0), (1, 1)]);
        assert_eq!(merged_of(true), [(1, 0), (0, 0)]);
        // A list whose page is empty but continues does not block the others.
        assert_eq!(
            merged(&[List { rows: &[], goes_on: true }, list(&right)]),
            [(0, 0), (0, 1)].map(|(_, row)| (1, row))
        );
    }

    proptest! {
        #[test]
        fn lists_merge_to_the_order_of_one_list(hits in prop::collection::vec((0u64..2, prop::option::of(0i64..6), 0usize..4), 0..40)) {
            let mut lists = vec![Vec::new(); 4];
            let mut all = Vec::new();
            for (n, (group, second, list)) in hits.iter().enumerate() {
                let row = hit(*group, *second, &format!("k{n:02}"));
                lists[*list].push(row.clone());
                all.push(row);
            }
            let sort = |rows: &mut Vec<Row>| {
                let key = |row: &Row| (place(row), Reverse(row["record_key"].as_str().unwrap().to_owned()));
                rows.sort_by_key(key);
            };
            sort(&mut all);
            lists.iter_mut().for_each(sort);
            let open = lists.iter().map(|rows| list(rows)).collect::<Vec<_>>();
            let shown = merged(&open).into_iter().map(|(list, row)| lists[list][row].clone()).collect::<Vec<_>>();
            prop_assert_eq!(shown, all);
        }
    }
}
