//! One envelope for the lists of several grants: what they all agree on, the sum of their counts, what each reports
//! about its recall, their warnings, and the order in which their rows were merged.

use serde_json::{Map, Value, json};

use super::ranked::TITLES_THEN_NEWEST;
use crate::mcp::reading::envelope;

/// The member of `meta` that names the order of the rows of several grants.
pub const MERGED_ORDER: &str = "merged_order";

/// Members of a recall that are added up if several grants agree on the rest.
const COUNTS: [&str; 4] =
    ["ranked_candidate_count", "titled_count", "sources_searched_count", "truncated_source_count"];

/// The maximum number of grants that are named for one recall; the others are counted.
const MAX_NAMED: usize = 3;

/// The maximum size of a grant's label in bytes.
const LABEL_BYTES: usize = 40;

/// How the rows of several grants are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Merged {
    /// There is only one grant.
    Alone,
    /// In the order that each of them declares.
    Ranked,
    /// In turns, each in its own order.
    InTurns,
}

/// What is known about the number of rows in addition to the grants' own counts.
pub(super) struct Counts {
    /// The rows of the grants that are not asked any more; `None` if one of them did not report it.
    pub(super) before: Option<u64>,
    /// Whether every grant answered, and no two returned the same row.
    pub(super) is_exact: bool,
}

/// The number of rows that an envelope reports.
pub(super) fn count_of(body: &Map<String, Value>) -> Option<u64> {
    let count = body.get("meta")?.get("count")?;
    count.as_u64().or_else(|| count.get("value")?.as_u64())
}

/// One envelope for `bodies`, each with the label of its grant. `warnings` are ours, and come first.
pub(super) fn envelope_of(
    bodies: &[(&str, &Map<String, Value>)],
    mut warnings: Vec<Value>,
    merged: Merged,
    known: &Counts,
) -> Map<String, Value> {
    let mut body = bodies.first().map(|(_, body)| (*body).clone()).unwrap_or_default();
    let own = ["links", "next_cursor", "has_more", "meta"];
    body.retain(|key, value| {
        !own.contains(&key.as_str()) && bodies.iter().all(|(_, body)| body.get(key) == Some(&*value))
    });
    let metas =
        bodies.iter().map(|(_, body)| body.get("meta").and_then(Value::as_object)).collect::<Vec<_>>();
    let said = |key: &str| metas.iter().map(|meta| meta.as_ref()?.get(key)).collect::<Option<Vec<_>>>();
    let mut meta = metas.iter().find_map(|meta| meta.cloned()).unwrap_or_default();
    meta.retain(|key, value| {
        !["count", "recall"].contains(&key.as_str())
            && metas.iter().flatten().all(|meta| meta.get(key) == Some(&*value))
    });
    for warning in metas.iter().flatten().filter_map(|meta| meta.get("warnings")?.as_array()).flatten() {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    meta.insert("warnings".into(), warnings.into());
    if let Some(count) = said("count").and_then(|counts| added_up(&counts, known)) {
        if count.is_u64() && (!known.is_exact || !meta.contains_key("count_accuracy")) {
            meta.insert("count_accuracy".into(), json!("estimated"));
        }
        meta.insert("count".into(), count);
    } else {
        meta.remove("count_accuracy");
    }
    let labels = bodies.iter().map(|(label, _)| *label);
    let recalls = labels.zip(metas.iter().map(|meta| meta.and_then(|meta| meta.get("recall"))));
    if let Some(recall) = recall_of(&recalls.collect::<Vec<_>>()) {
        meta.insert("recall".into(), recall);
    }
    if merged != Merged::Alone {
        let order = if merged == Merged::Ranked { TITLES_THEN_NEWEST } else { "in_turns" };
        meta.insert(MERGED_ORDER.into(), json!(order));
    }
    body.insert("meta".into(), Value::Object(meta));
    envelope::shorten(&mut body);
    body
}

/// The sum of counts that are all numbers, or all numbers with a kind; `None` otherwise. A row that several grants
/// returned is counted once for each.
fn added_up(counts: &[&Value], known: &Counts) -> Option<Value> {
    let (first, rest) = counts.split_first()?;
    let sum = |of: fn(&Value) -> Option<u64>| {
        let now = counts.iter().map(|count| of(count)).sum::<Option<u64>>()?;
        Some(now.saturating_add(known.before?))
    };
    if let Some(total) = sum(Value::as_u64) {
        return Some(json!(total));
    }
    let total = sum(|count| count.get("value")?.as_u64())?;
    let mut count = (*first).clone();
    count["value"] = json!(total);
    if !known.is_exact || rest.iter().any(|count| count.get("kind") != first.get("kind")) {
        count["kind"] = json!("estimated");
    }
    Some(count)
}

/// What the grants report about their recall: a report that several share appears once, with its numbers added up,
/// and with the names of those grants unless all of them share it (R3.35).
fn recall_of(recalls: &[(&str, Option<&Value>)]) -> Option<Value> {
    let mut groups: Vec<(Value, Value, Vec<&str>)> = Vec::new();
    for (label, recall) in recalls {
        let Some(recall) = recall else { continue };
        let (mut alike, mut counts) = ((*recall).clone(), Vec::new());
        for key in COUNTS {
            if let Some(count) = alike.get_mut(key).filter(|count| count.is_u64()) {
                counts.push((key, count.as_u64().unwrap_or_default()));
                *count = json!(0);
            }
        }
        let Some((_, sum, labels)) = groups.iter_mut().find(|(known, ..)| *known == alike) else {
            groups.push((alike, (*recall).clone(), vec![*label]));
            continue;
        };
        for (key, count) in counts {
            sum[key] = json!(sum[key].as_u64().unwrap_or_default().saturating_add(count));
        }
        labels.push(*label);
    }
    if let [(_, recall, labels)] = groups.as_slice()
        && labels.len() == recalls.len()
    {
        return Some(recall.clone());
    }
    let named = groups.into_iter().map(|(_, recall, labels)| match recall {
        Value::Object(mut recall) => {
            recall.insert("grants".into(), names(&labels));
            Value::Object(recall)
        }
        other => json!({"recall": other, "grants": names(&labels)}),
    });
    let named = named.collect::<Vec<_>>();
    (!named.is_empty()).then(|| named.into())
}

fn names(labels: &[&str]) -> Value {
    let mut names = labels
        .iter()
        .take(MAX_NAMED)
        .map(|label| crate::text::prefix(label, LABEL_BYTES).to_owned())
        .collect::<Vec<_>>();
    match labels.len().saturating_sub(MAX_NAMED) {
        0 => {}
        1 => names.push("1 other".to_owned()),
        others => names.push(format!("{others} others")),
    }
    json!(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn together(metas: &[Value], repeats: bool) -> Value {
        let bodies =
            metas.iter().map(|meta| json!({"meta": meta}).as_object().unwrap().clone()).collect::<Vec<_>>();
        let labels = (0..bodies.len()).map(|n| format!("Label {n}")).collect::<Vec<_>>();
        let bodies = labels.iter().map(String::as_str).zip(&bodies).collect::<Vec<_>>();
        let counts = Counts { before: Some(0), is_exact: !repeats };
        envelope_of(&bodies, Vec::new(), Merged::Ranked, &counts)["meta"].clone()
    }

    #[test]
    fn r3_33_counts_of_either_form_are_added_up() {
        let number = |count: u64, accuracy: &str| json!({"count": count, "count_accuracy": accuracy});
        let meta = together(&[number(5, "exact"), number(5, "exact")], false);
        assert_eq!((&meta["count"], &meta["count_accuracy"]), (&json!(10), &json!("exact")));
        let meta = together(&[number(5, "exact"), number(2, "lower_bound")], false);
        assert_eq!((&meta["count"], &meta["count_accuracy"]), (&json!(7), &json!("estimated")));
        // A row that two of them returned is in both counts.
        let meta = together(&[number(5, "exact"), number(5, "exact")], true);
        assert_eq!((&meta["count"], &meta["count_accuracy"]), (&json!(10), &json!("estimated")));
        let kind = |count: u64| json!({"count": {"kind": "exact", "value": count}});
        assert_eq!(together(&[kind(3), kind(4)], false)["count"], json!({"kind": "exact", "value": 7}));
        assert_eq!(together(&[kind(3), kind(4)], true)["count"], json!({"kind": "estimated", "value": 7}));
        for other in [json!({}), json!({"count": "many"}), number(5, "exact")] {
            let meta = together(&[kind(3), other], false);
            assert!(meta.get("count").is_none() && meta.get("count_accuracy").is_none(), "{meta}");
        }
    }

    #[test]
    fn r3_35_what_grants_say_alike_of_their_recall_is_said_once_and_the_rest_by_name() {
        let of = |ranked: u64, complete: bool| json!({"recall": {"complete": complete, "ranked_candidate_count": ranked, "sources_searched_count": 1}});
        let alike = together(&[of(5, true), of(7, true), of(0, true)], false);
        assert_eq!(
            alike["recall"],
            json!({"complete": true, "ranked_candidate_count": 12, "sources_searched_count": 3})
        );
        let apart = together(&[of(5, true), of(7, false), of(1, true), json!({})], false);
        assert_eq!(
            apart["recall"],
            json!([
                {"complete": true, "ranked_candidate_count": 6, "sources_searched_count": 2, "grants": ["Label 0", "Label 2"]},
                {"complete": false, "ranked_candidate_count": 7, "sources_searched_count": 1, "grants": ["Label 1"]},
            ])
        );
        // One of the two reports nothing.
        assert_eq!(
            together(&[json!({}), json!({"recall": "part"})], false)["recall"],
            json!([{"recall": "part", "grants": ["Label 1"]}])
        );
        let many = (0..6).map(|n| json!({"recall": {"state": n / 5}})).collect::<Vec<_>>();
        let many = together(&many, false);
        assert_eq!(many["recall"][0]["grants"], json!(["Label 0", "Label 1", "Label 2", "2 others"]));
        assert!(together(&[json!({}), json!({})], false).get("recall").is_none());
    }
}
