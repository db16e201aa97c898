//! A filter that found nothing because the records spell its value differently: reported if one read can show that.

use serde_json::{Map, Value};

use crate::mcp::reading::catalog::StreamFacts;
use crate::mcp::reading::envelope;
use crate::mcp::reading::filter::{Condition, Filter, Test};
use crate::mcp::reading::reader::Reader;
use crate::mcp::reading::request::{Aggregate, Request};
use crate::mcp::size::prefix_on_wire;

/// The number of groups to look at.
const MOST: u64 = 100;

/// The call that found nothing.
pub(super) struct Empty<'a> {
    pub(super) stream: &'a str,
    pub(super) connection: Option<&'a str>,
    pub(super) filter: &'a Filter,
}

impl Empty<'_> {
    /// Warns in `body` if records have a condition's value in different letter case. Makes at most one read, and none
    /// if no field of the filter is declared to support grouping.
    pub(super) async fn warn(&self, reader: &Reader, facts: &[StreamFacts], body: &mut Map<String, Value>) {
        let Some((condition, text)) = self.filter.conditions().iter().find_map(|condition| {
            let Test::Equals(Value::String(text)) = &condition.test else { return None };
            let has_case = text.to_lowercase() != text.to_uppercase();
            (has_case && is_grouped(facts, &condition.field)).then_some((condition, text))
        }) else {
            return;
        };
        let Condition { field, .. } = condition;
        let mut others = self.filter.to_json();
        others.remove(field);
        let Some(filter) = Filter::from_json(&others) else { return };
        let request = Aggregate {
            stream: self.stream.to_owned(),
            metric: "count".to_owned(),
            field: None,
            group_by: Some(field.clone()),
            group_by_time: None,
            granularity: None,
            time_zone: None,
            limit: Some(MOST),
            filter,
            connection: self.connection.map(str::to_owned),
        };
        // A failed read says nothing about the call.
        let Ok(answer) = reader.read(&Request::Aggregate(request)).await else { return };
        if let Some(stored) = spelled_otherwise(&answer.body, text) {
            let short = |text: &str| prefix_on_wire(text, 80).to_owned();
            let message = format!(
                "no record has {field} {:?}, but some have {:?}: a filter compares letter by letter",
                short(text),
                short(stored)
            );
            envelope::warn(body, "spelled_otherwise", message);
        }
    }
}

/// Whether every source declares that it groups by `field`.
fn is_grouped(facts: &[StreamFacts], field: &str) -> bool {
    let declares = |facts: &StreamFacts| {
        facts
            .fields
            .get(field)
            .is_some_and(|declared| declared.aggregates.iter().any(|usage| usage == "group_by"))
    };
    !facts.is_empty() && facts.iter().all(declares)
}

/// The first key of the groups in `body` that equals `text` except for case.
fn spelled_otherwise<'a>(body: &'a Map<String, Value>, text: &str) -> Option<&'a str> {
    let groups = body.get("groups")?.as_array()?;
    let mut keys = groups.iter().filter_map(|group| group.get("key")?.as_str());
    keys.find(|key| *key != text && key.to_lowercase() == text.to_lowercase())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_found_in_the_groups_whatever_its_case() {
        let body =
            json!({"groups": [{"key": "bo", "count": 2}, {"key": null}, {"key": "Ana Ö", "count": 1}, 7]});
        let Value::Object(body) = body else { panic!("an object") };
        assert_eq!(spelled_otherwise(&body, "ANA ö"), Some("Ana Ö"));
        assert_eq!(spelled_otherwise(&body, "Ana Ö"), None, "other conditions left it out");
        assert_eq!(spelled_otherwise(&body, "Ana"), None);
        assert_eq!(spelled_otherwise(&Map::new(), "Ana"), None);
    }
}
