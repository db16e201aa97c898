//! The same reads over HTTP and in this process (O1.5).

use std::sync::Arc;

use pdpp::mcp::id::RecordId;
use pdpp::mcp::reading::backend::{Backend, ReadError};
use pdpp::mcp::reading::filter::Filter;
use pdpp::mcp::reading::request::{
    Aggregate, FieldWindow, List, Page, Record, Records, Request, Schema, SchemaView, Search, SearchMode,
};
use pdpp::own::backend::InProcess;
use pdpp::provider::http::{Http, Limits};
use pdpp::provider::rs::ResourceServer;
use pdpp::sandbox::Config;
use pdpp::secret::AccessToken;
use pdpp::vault::grant::{Client, Declaration, Grant, GrantStream, Source, Subject};
use pdpp::vault::server::Handle;
use serde_json::{Value, json};

use crate::support::filled;

/// A grant of every stream of two connectors, without one field of each.
fn token(handle: &Handle) -> AccessToken {
    let streams = handle.vault().store().read::<_, pdpp::vault::wire::ApiError>(|_, catalog| {
        let mut streams = Vec::new();
        for connector in catalog.connectors.iter().filter(|known| ["mail", "bank"].contains(&&*known.key)) {
            for stream in &connector.streams {
                streams.push(GrantStream {
                    name: stream.name.clone(),
                    instance_ids: catalog
                        .connections_of(&connector.key)
                        .map(|known| known.id.clone())
                        .collect(),
                    fields: stream.fields.iter().map(|field| field.name.clone()).take(6).collect(),
                    time_constraint: None,
                    resources: None,
                    source: Some(Source { kind: "connector".to_owned(), id: connector.id.clone() }),
                });
            }
        }
        Ok(streams)
    });
    let grant = Grant {
        version: "0.1.0".to_owned(),
        grant_id: pdpp::vault::id::random_id("grt_").unwrap(),
        issued_at: "2026-11-01T00:00:00Z".to_owned(),
        expires_at: None,
        subject: Subject { id: "owner".to_owned() },
        client: Client { client_id: "pdpp_cli".to_owned() },
        source: Source { kind: "provider_native".to_owned(), id: handle.url().to_owned() },
        source_declaration: Declaration { version: "1".to_owned() },
        purpose_code: "urn:x".to_owned(),
        purpose_description: None,
        access_mode: "continuous".to_owned(),
        streams: streams.unwrap(),
    };
    AccessToken::new(handle.vault().issue(grant).unwrap().token).unwrap()
}

fn requests() -> Vec<Request> {
    let records = |stream: &str| Records { stream: stream.to_owned(), ..Records::default() };
    let page = |limit, connection: Option<&str>| Page {
        limit: Some(limit),
        cursor: None,
        connection: connection.map(str::to_owned),
    };
    let work = Some("cin_mail_work");
    let search =
        |mode, q: &str| Search { mode, q: q.to_owned(), streams: Vec::new(), filter: Filter::default() };
    let id = |record: &str| RecordId {
        connection: work.map(str::to_owned),
        stream: "messages".to_owned(),
        record: record.to_owned(),
    };
    let schema = |view| Request::Schema(Schema { view, stream: None, connection: None });
    vec![
        schema(SchemaView::Compact),
        schema(SchemaView::Plain),
        Request::schema(SchemaView::Full, Some("messages"), work),
        Request::Streams { cursor: None },
        Request::Stream { stream: "messages".to_owned(), connection: None },
        Request::Stream { stream: "nothing here".to_owned(), connection: None },
        Request::List(List::Records(records("messages")), page(3, work)),
        Request::List(List::Records(records("messages")), page(3, None)),
        Request::List(List::Records(records("transactions")), page(100, None)),
        Request::List(List::Records(records("a/../b?c")), page(3, work)),
        Request::List(List::Search(search(None, "invoice")), page(5, None)),
        Request::List(List::Search(search(Some(SearchMode::Semantic), "invoice")), page(5, None)),
        Request::List(List::Search(search(None, "ünïcode & = + % #")), page(5, None)),
        Request::Record(Record { id: id("no such/one?"), fields: Vec::new(), expand: Vec::new() }),
        Request::FieldWindow(FieldWindow { id: id("x"), field: "body".to_owned(), ..FieldWindow::default() }),
        Request::Aggregate(Aggregate {
            stream: "transactions".to_owned(),
            metric: "count".to_owned(),
            ..Aggregate::default()
        }),
        Request::Aggregate(Aggregate {
            stream: "x".to_owned(),
            metric: "y".to_owned(),
            ..Aggregate::default()
        }),
    ]
}

/// The comparable part of an answer: everything except the names of the exchange, and cursors, which are sealed again
/// each time.
fn told(read: Result<pdpp::provider::rs::Envelope, ReadError>) -> String {
    let without = |mut value: Value| {
        strip(&mut value);
        value.to_string()
    };
    match read {
        Ok(envelope) => without(Value::Object(envelope.body)),
        Err(error) => {
            let refusal = error.refusal().unwrap_or_else(|| panic!("{error}"));
            let said = json!([refusal.status, refusal.code, refusal.message, refusal.param, refusal.error]);
            without(said)
        }
    }
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for name in ["request_id", "next_cursor", "next", "resource_metadata", "next_step", "cursor"] {
                map.remove(name);
            }
            map.values_mut().for_each(strip);
        }
        Value::Array(list) => list.iter_mut().for_each(strip),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o1_5_a_read_in_process_answers_as_one_by_http_does() {
    let handle = filled::start(Config::default());
    let token = token(&handle);
    let base: url::Url = format!("{}/v1", handle.url()).parse().unwrap();
    let provider = handle.url().parse().unwrap();
    let by_http = ResourceServer::new(Http::new(Limits::default()), &provider, base.clone()).unwrap();
    let vault = Arc::clone(handle.vault());
    let in_process = InProcess::new(Arc::new(move || Ok(Arc::clone(&vault))), base);
    let mut rows = 0;
    for request in requests() {
        let one = Backend::read(&by_http, &token, &request).await;
        rows += one
            .as_ref()
            .ok()
            .and_then(|one| one.body.get("data"))
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        assert_eq!(told(one), told(in_process.read(&token, &request).await), "{request:?}");
    }
    assert!(rows > 20, "{rows}");
    let made_up = AccessToken::new("pdpp_ct_madeup".to_owned()).unwrap();
    let request = &requests()[0];
    assert_eq!(
        told(Backend::read(&by_http, &made_up, request).await),
        told(in_process.read(&made_up, request).await)
    );
    let id = RecordId { connection: Some("c".to_owned()), stream: "s".to_owned(), record: "a/b".to_owned() };
    assert_eq!(Backend::record_url(&by_http, &id), in_process.record_url(&id));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o1_5_a_grant_that_is_ended_is_refused_at_the_next_read() {
    let handle = filled::start(Config::default());
    let token = token(&handle);
    let vault = Arc::clone(handle.vault());
    let in_process = InProcess::new(
        Arc::new(move || Ok(Arc::clone(&vault))),
        "https://local.pdpp.invalid/v1".parse().unwrap(),
    );
    let request = Request::compact_schema(None, None);
    let schema = in_process.read(&token, &request).await.unwrap();
    let grant = schema.body["bearer"]["grant_id"].as_str().unwrap().to_owned();
    handle.vault().end_grants(std::iter::once(grant.as_str())).unwrap();
    let refused = in_process.read(&token, &request).await.unwrap_err();
    assert_eq!(refused.refusal().unwrap().code, "grant_revoked");
}
