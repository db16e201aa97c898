//! Converts a read into the tool call that returns the same.

use serde_json::{Map, Value, json};

use crate::mcp::call::{Call, Tool};
use crate::mcp::id::RecordId;
use crate::mcp::reading::filter::{Direction, Filter, Sort};
use crate::mcp::reading::request::{
    Aggregate, Expansion, FieldWindow, List, Page, Record, Records, Request, Schema, SchemaView, Search,
    SearchMode,
};

/// The call that returns what `request` reads, if there is one.
pub(super) fn of_request(request: &Request) -> Option<Call> {
    match request {
        Request::Schema(schema) => Some(of_schema(schema)),
        // Only used with a resource server of the draft's Core.
        Request::Streams { .. } | Request::Stream { .. } => None,
        Request::List(List::Records(records), page) => Some(of_records(records, page)),
        Request::List(List::Search(search), page) => Some(of_search(search, page)),
        Request::Record(record) => Some(of_record(record)),
        Request::FieldWindow(window) => Some(of_window(window)),
        Request::Aggregate(aggregate) => Some(of_aggregate(aggregate)),
    }
}

/// The arguments of a call that have a value.
#[derive(Default)]
struct Arguments(Map<String, Value>);

impl Arguments {
    fn put(mut self, name: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value.into());
        }
        self
    }

    fn put_list(self, name: &str, texts: &[String]) -> Self {
        self.put(name, Some(texts.to_vec()).filter(|texts| !texts.is_empty()))
    }

    fn put_filter(self, filter: &Filter) -> Self {
        self.put("filter", Some(filter.to_json()).filter(|fields| !fields.is_empty()))
    }

    fn put_expansions(self, expansions: &[Expansion]) -> Self {
        let relations = expansions.iter().map(|expansion| expansion.relation.clone()).collect::<Vec<_>>();
        let limit = |expansion: &Expansion| Some((expansion.relation.clone(), json!(expansion.limit?)));
        let limits = expansions.iter().filter_map(limit).collect::<Map<_, _>>();
        self.put_list("expand", &relations)
            .put("expand_limit", Some(limits).filter(|limits| !limits.is_empty()))
    }

    fn put_page(self, page: &Page) -> Self {
        self.put("limit", page.limit)
            .put("cursor", page.cursor.clone())
            .put("connection_id", page.connection.clone())
    }

    /// Names a record by its handle, or by its parts if no handle can carry it; only some tools accept parts.
    fn put_record(self, id: &RecordId) -> Self {
        match id.handle().filter(|_| id.connection.is_none() || id.is_self_contained()) {
            Some(handle) => self.put("id", Some(handle)),
            None => self
                .put("connection_id", id.connection.clone())
                .put("stream", Some(id.stream.clone()))
                .put("record_id", Some(id.record.clone())),
        }
    }

    fn of(self, tool: Tool) -> Call {
        Call { tool, arguments: self.0 }
    }
}

fn of_schema(schema: &Schema) -> Call {
    // A provider adds to the compact view only when asked for one stream.
    let is_full = schema.view != SchemaView::Compact && schema.stream.is_some();
    Arguments::default()
        .put("stream", schema.stream.clone())
        .put("connection_id", schema.connection.clone())
        .put("detail", is_full.then_some("full"))
        .of(Tool::Schema)
}

fn of_records(records: &Records, page: &Page) -> Call {
    Arguments::default()
        .put("stream", Some(records.stream.clone()))
        .put("order", records.order.map(Direction::name))
        .put("sort", records.sort.as_ref().map(Sort::to_string))
        .put("count", records.count.clone())
        .put_filter(&records.filter)
        .put_list("fields", &records.fields)
        .put("view", records.view.clone())
        .put_expansions(&records.expand)
        .put("changes_since", records.changes_since.clone())
        .put_page(page)
        .of(Tool::QueryRecords)
}

fn of_search(search: &Search, page: &Page) -> Call {
    Arguments::default()
        .put("q", Some(search.q.clone()))
        .put("mode", search.mode.map(SearchMode::name))
        .put_list("streams", &search.streams)
        .put_filter(&search.filter)
        .put_page(page)
        .of(Tool::Search)
}

fn of_record(record: &Record) -> Call {
    Arguments::default()
        .put_record(&record.id)
        .put_list("fields", &record.fields)
        .put_expansions(&record.expand)
        .of(Tool::Fetch)
}

fn of_window(window: &FieldWindow) -> Call {
    Arguments::default()
        .put_record(&window.id)
        .put("field_path", Some(window.field.clone()))
        .put("offset_chars", window.offset)
        .put("limit_chars", window.limit)
        .put("q", window.q.clone())
        .put("before_chars", window.before)
        .put("after_chars", window.after)
        .put("cursor", window.cursor.clone())
        .of(Tool::ReadRecordField)
}

fn of_aggregate(aggregate: &Aggregate) -> Call {
    Arguments::default()
        .put("stream", Some(aggregate.stream.clone()))
        .put("metric", Some(aggregate.metric.clone()))
        .put("field", aggregate.field.clone())
        .put("group_by", aggregate.group_by.clone())
        .put("group_by_time", aggregate.group_by_time.clone())
        .put("granularity", aggregate.granularity.clone())
        .put("time_zone", aggregate.time_zone.clone())
        .put("limit", aggregate.limit)
        .put_filter(&aggregate.filter)
        .put("connection_id", aggregate.connection.clone())
        .of(Tool::Aggregate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(request: &Request) -> Value {
        of_request(request).map_or(Value::Null, |call| call.to_json())
    }

    #[test]
    fn a_read_is_the_call_that_gives_the_same_with_its_types() {
        let amount = json!({"amount": {"gte": 5}});
        let filter = Filter::from_json(amount.as_object().unwrap()).unwrap();
        let search = Search {
            mode: Some(SearchMode::Hybrid),
            q: "a b".to_owned(),
            streams: vec!["s".to_owned()],
            filter: filter.clone(),
        };
        let page = Page { limit: Some(7), ..Page::default() };
        let found = call(&Request::List(List::Search(search), page));
        let arguments = json!({"mode": "hybrid", "q": "a b", "limit": 7, "streams": ["s"], "filter": amount});
        assert_eq!(found, json!({"tool": "search", "arguments": arguments}));

        let expand = vec![Expansion { relation: "thread".to_owned(), limit: Some(2) }];
        let records = Records { stream: "s".to_owned(), expand, filter, ..Records::default() };
        let found = call(&Request::List(List::Records(records), Page::default()));
        let arguments =
            json!({"stream": "s", "filter": amount, "expand": ["thread"], "expand_limit": {"thread": 2}});
        assert_eq!(found["arguments"], arguments);

        let id = RecordId { connection: Some("c".into()), stream: "s".into(), record: "2024/1".into() };
        let record = Record { id, fields: vec!["a".to_owned()], expand: Vec::new() };
        let found = call(&Request::Record(record));
        assert_eq!(found["arguments"], json!({"id": "c/s:2024%2F1", "fields": ["a"]}));
        assert_eq!(call(&Request::Streams { cursor: None }), Value::Null);
    }
}
