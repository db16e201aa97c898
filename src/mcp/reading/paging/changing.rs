//! Walks over data that changes between pages (R3.15, R4.8, R6.2): every row that exists from the beginning to the
//! end is shown once, in order, no row is shown twice, and a page costs one read.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::tests::Ready;
use super::*;
use crate::mcp::id::RecordId;
use crate::mcp::reading::backend::{Backend, ReadError};
use crate::mcp::reading::filter::Filter;
use crate::mcp::reading::reader::only;
use crate::mcp::reading::request::{self, List, Records, Request, Search};
use crate::provider::rs::{Blob, Envelope};
use crate::provider::url::ProviderUrl;
use crate::secret::AccessToken;

/// The rows of each connection, newest first: a keyset cursor points behind the last row of its page.
#[derive(Debug, Default)]
struct Rows {
    connections: Vec<BTreeSet<u32>>,
    /// The rows that existed from the beginning.
    always: BTreeSet<u32>,
    /// All rows that ever existed.
    ever: BTreeSet<u32>,
    /// Whether the provider pages over all connections itself.
    merges: bool,
    /// The maximum rows per page, whatever the limit: a different number each time, like a tool that fits its result.
    fits: Vec<usize>,
    /// The length of its cursors.
    pad: usize,
    /// Whether it reports that a list continues, but never gives a cursor.
    has_no_cursors: bool,
    /// The reads since the last page: the connection, and the number of rows that were sent.
    reads: Vec<Asked>,
}

/// A read: its connection, and how many rows were sent.
type Asked = (Option<usize>, usize);

const BOOKMARK: &str = "since:1";

impl Rows {
    fn new(connections: Vec<BTreeSet<u32>>, merges: bool) -> Self {
        let all = connections.iter().flatten().copied().collect::<BTreeSet<_>>();
        Self { connections, always: all.clone(), ever: all, merges, ..Self::default() }
    }

    fn all(&self) -> Vec<u32> {
        self.connections.iter().flatten().copied().collect()
    }

    fn remove(&mut self, key: u32) {
        self.always.remove(&key);
        for keys in &mut self.connections {
            keys.remove(&key);
        }
    }

    /// Makes a change; `shown` are the rows shown so far.
    fn change(&mut self, change: &Change, shown: &[u32]) {
        match *change {
            Change::Insert(connection, key) => {
                let connection = connection % self.connections.len();
                // A deleted row does not come back.
                if self.ever.insert(key) {
                    self.connections[connection].insert(key);
                }
            }
            Change::Newest(connection) => {
                let key = self.ever.last().map_or(0, |key| key + 1);
                self.change(&Change::Insert(connection, key), shown);
            }
            Change::Delete(at) => {
                let all = self.all();
                if let Some(key) = all.get(at % all.len().max(1)) {
                    self.remove(*key);
                }
            }
            Change::DeleteShown(last) => shown.iter().rev().take(last).for_each(|key| self.remove(*key)),
            Change::DeleteBehind(many) => {
                let first = shown.last().copied().unwrap_or(u32::MAX);
                let next = self.all().into_iter().filter(|key| *key < first).collect::<BTreeSet<_>>();
                next.into_iter().rev().take(many).for_each(|key| self.remove(key));
            }
        }
    }

    fn page(&mut self, list: &List, page: &request::Page) -> Map<String, Value> {
        let connection = page.connection.as_ref().map(|name| name[1..].parse::<usize>().unwrap());
        let from =
            page.cursor.as_ref().map_or(u32::MAX, |cursor| cursor.trim_end_matches('.').parse().unwrap());
        if let List::Records(Records { changes_since: Some(since), .. }) = list {
            assert_eq!((since.as_str(), from), (BOOKMARK, u32::MAX), "a bookmark begins a list");
        }
        let limit = usize::try_from(page.limit.unwrap_or(25)).unwrap();
        let limit = self.fits.first().map_or(limit, |fit| limit.min(*fit));
        if !self.fits.is_empty() {
            self.fits.rotate_left(1);
        }
        let of = |connection: usize| {
            let keys = self.connections[connection].range(..from).rev();
            keys.map(|key| (connection, *key)).collect::<Vec<_>>()
        };
        let cut = |mut rows: Vec<(usize, u32)>| {
            let has_more = rows.len() > limit;
            rows.truncate(limit);
            (rows, has_more)
        };
        let all = 0..self.connections.len();
        let is_apart = connection.is_none() && !self.merges && all.len() > 1;
        let (rows, has_more) = if let Some(connection) = connection {
            cut(of(connection))
        } else if is_apart {
            // That many from each connection, and no cursor.
            let parts = all.map(|connection| cut(of(connection))).collect::<Vec<_>>();
            let has_more = parts.iter().any(|(_, has_more)| *has_more);
            (parts.into_iter().flat_map(|(rows, _)| rows).collect(), has_more)
        } else {
            let mut rows = all.flat_map(of).collect::<Vec<_>>();
            rows.sort_unstable_by_key(|(_, key)| std::cmp::Reverse(*key));
            cut(rows)
        };
        self.reads.push((connection, rows.len()));
        let next = rows.last().filter(|_| has_more && !is_apart && !self.has_no_cursors).map(|(_, key)| key);
        let row = |(connection, key): &(usize, u32)| {
            let (id, data) = (format!("{key:06}"), json!({"at": format!("{key:06}")}));
            json!({"id": id, "stream": "notes", "connection_id": format!("c{connection}"), "data": data})
        };
        let body = json!({
            "data": rows.iter().map(row).collect::<Vec<_>>(),
            "has_more": has_more,
            "next_cursor": next.map(|key| format!("{key}{}", ".".repeat(self.pad))),
        });
        body.as_object().cloned().unwrap()
    }
}

/// What happens to the data between two pages.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// A row of a connection, anywhere.
    Insert(usize, u32),
    /// A row of a connection, before all others.
    Newest(usize),
    /// Any row.
    Delete(usize),
    /// That many of the shown rows, the last ones.
    DeleteShown(usize),
    /// That many of the rows that come next.
    DeleteBehind(usize),
}

fn changes() -> impl Strategy<Value = Vec<Vec<Change>>> {
    let change = prop_oneof![
        3 => (0usize..4, 0u32..2_000).prop_map(|(connection, key)| Change::Insert(connection, key)),
        2 => (0usize..4).prop_map(Change::Newest),
        3 => (0usize..4_000).prop_map(Change::Delete),
        2 => (1usize..3).prop_map(Change::DeleteShown),
        1 => Just(Change::DeleteShown(usize::MAX)),
        1 => (1usize..9).prop_map(Change::DeleteBehind),
    ];
    prop::collection::vec(prop::collection::vec(change, 0..4), 0..12)
}

fn rows(connections: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<BTreeSet<u32>>> {
    let keys = prop::collection::btree_map(0u32..2_000, 0usize..8, 0..90);
    (prop::collection::vec(Just(()), connections), keys).prop_map(|(connections, keys)| {
        let mut all = vec![BTreeSet::new(); connections.len()];
        for (key, at) in keys {
            let at = at % all.len();
            all[at].insert(key);
        }
        all
    })
}

#[derive(Clone)]
struct Provider(Arc<Mutex<Rows>>);

impl Backend for Provider {
    fn read<'a>(
        &'a self,
        _: &'a AccessToken,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Envelope, ReadError>> {
        let Request::List(list, page) = request else { unreachable!() };
        let body = self.0.lock().unwrap().page(list, page);
        Box::pin(std::future::ready(Ok(Envelope { body, request_id: None })))
    }

    fn blob<'a>(&'a self, _: &'a AccessToken, _: &'a str) -> BoxFuture<'a, Result<Blob, ReadError>> {
        unreachable!()
    }

    fn record_url(&self, _: &RecordId) -> url::Url {
        unreachable!()
    }
}

impl Provider {
    fn reader(&self, grant: &str) -> Reader {
        let provider = "https://provider.example".parse::<ProviderUrl>().unwrap();
        let bearer = only(AccessToken::new("t".to_owned()).unwrap());
        Reader::new(provider, Some(grant.to_owned()), self.clone(), bearer)
    }
}

/// Shows rows of this many bytes in total; a row's key is its size.
struct Room {
    bytes: usize,
    cursor: usize,
}

impl Shape for Room {
    type Ready = Ready;

    fn prepare(&self, _: &mut Map<String, Value>, _: Option<&str>) {}

    fn ready(&self, row: Row) -> Ready {
        Ready(row)
    }

    fn fit(&self, _: &Map<String, Value>, rows: &[Ready]) -> usize {
        let mut left = self.bytes;
        let fits = rows.iter().take_while(|row| {
            let size = size_of(&row.0);
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        });
        fits.count()
    }

    fn room(&self, _: &Map<String, Value>, rows: &[Ready]) -> usize {
        let bytes = rows.iter().map(|row| size_of(&row.0)).sum::<usize>();
        (self.bytes * rows.len()).checked_div(bytes).unwrap_or(self.bytes)
    }

    fn max_cursor(&self) -> usize {
        self.cursor
    }
}

fn size_of(row: &Row) -> usize {
    1 + usize::try_from(key_of(row) % 4).unwrap()
}

fn key_of(row: &Row) -> u32 {
    row["id"].as_str().unwrap().parse().unwrap()
}

fn list(is_search: bool) -> List {
    if is_search {
        return List::Search(Search {
            mode: None,
            q: "x".into(),
            streams: Vec::new(),
            filter: Filter::default(),
        });
    }
    List::Records(Records { stream: "notes".to_owned(), ..Records::default() })
}

/// A walk over one grant: the reads for each page, and the keys that each page shows.
struct Walked {
    pages: Vec<(Vec<Asked>, Vec<u32>)>,
}

impl Walked {
    fn shown(&self) -> Vec<u32> {
        self.pages.iter().flat_map(|(_, keys)| keys).copied().collect()
    }
}

async fn walk(provider: &Provider, list: List, limit: u64, room: &Room, changes: &[Vec<Change>]) -> Walked {
    let reader = provider.reader("g");
    let connections = provider.0.lock().unwrap().connections.len();
    let order = Some(Sort { field: "at".into(), is_descending: true });
    let names = (0..connections).map(|at| format!("c{at}")).collect::<Vec<_>>();
    let (mut walked, mut cursor) = (Walked { pages: Vec::new() }, None::<String>);
    loop {
        let mut list = list.clone();
        if let (List::Records(records), Some(_)) = (&mut list, &cursor) {
            // As the call for the next page does.
            records.changes_since = None;
        }
        let cursor_of_call = cursor.as_deref().map(Cursor::from_text);
        let listing = Listing { list, limit: Some(limit), cursor: cursor_of_call, connection: None };
        let several = Several { connections: names.clone(), order: order.clone() };
        let page = read(&reader, &listing, room, async || several).await.unwrap();
        let mut rows = provider.0.lock().unwrap();
        walked
            .pages
            .push((std::mem::take(&mut rows.reads), page.rows.iter().map(|row| key_of(&row.0)).collect()));
        assert!(walked.pages.len() < 500, "it does not end");
        match page.next {
            Some(next) => cursor = Some(next),
            None => return walked,
        }
        let shown = walked.shown();
        for change in changes.get(walked.pages.len() - 1).into_iter().flatten() {
            rows.change(change, &shown);
        }
    }
}

/// Checks that every row that existed all the time was shown once, in order, and no other row twice.
fn shown_once(shown: &[u32], provider: &Provider, in_order: bool) -> Result<(), TestCaseError> {
    let rows = provider.0.lock().unwrap();
    let mut once = shown.to_vec();
    once.sort_unstable();
    once.dedup();
    prop_assert_eq!(once.len(), shown.len(), "a row came twice: {:?}", shown);
    let kept = |keys: &BTreeSet<u32>| {
        let kept = shown.iter().copied().filter(|key| keys.contains(key) && rows.always.contains(key));
        kept.collect::<Vec<_>>()
    };
    let newest_first = |keys: &BTreeSet<u32>| keys.iter().rev().copied().collect::<Vec<_>>();
    for keys in &rows.connections {
        let always = keys.intersection(&rows.always).copied().collect::<BTreeSet<_>>();
        prop_assert_eq!(kept(keys), newest_first(&always));
    }
    if in_order {
        prop_assert_eq!(kept(&rows.always), newest_first(&rows.always));
    }
    Ok(())
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

proptest! {
    #[test]
    fn r4_8_what_is_there_all_the_time_is_shown_once_whatever_comes_and_goes(
        connections in rows(1..4),
        changes in changes(),
        fits in prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(4usize..12, 1..5)],
        limit in 1u64..40,
        bytes in 1usize..60,
        is_search in any::<bool>(),
        is_of_changes in any::<bool>(),
    ) {
        let mut rows = Rows::new(connections, true);
        rows.fits = fits;
        let provider = Provider(Arc::new(Mutex::new(rows)));
        let mut list = list(is_search);
        if let (List::Records(records), true) = (&mut list, is_of_changes) {
            records.changes_since = Some(BOOKMARK.to_owned());
        }
        let walked = wait(walk(&provider, list, limit, &Room { bytes, cursor: 4_096 }, &changes));
        shown_once(&walked.shown(), &provider, true)?;
    }

    #[test]
    fn r3_15_what_is_there_all_the_time_is_merged_once_whatever_comes_and_goes(
        connections in rows(2..4),
        changes in changes(),
        limit in 1u64..40,
        bytes in 1usize..60,
    ) {
        let provider = Provider(Arc::new(Mutex::new(Rows::new(connections, false))));
        let walked = wait(walk(&provider, list(false), limit, &Room { bytes, cursor: 4_096 }, &changes));
        shown_once(&walked.shown(), &provider, true)?;
    }

    #[test]
    fn r4_8_a_page_costs_one_read(
        connections in rows(1..=1),
        limit in 1u64..100,
        bytes in 1usize..150,
        is_search in any::<bool>(),
    ) {
        let provider = Provider(Arc::new(Mutex::new(Rows::new(connections, true))));
        let walked = wait(walk(&provider, list(is_search), limit, &Room { bytes, cursor: 4_096 }, &[]));
        shown_once(&walked.shown(), &provider, true)?;
        for (reads, _) in &walked.pages {
            prop_assert_eq!(reads.len(), 1);
        }
    }

    #[test]
    fn r4_8_a_merged_page_costs_one_read_of_each_connection_that_has_rows(
        connections in rows(2..4),
        limit in 1u64..40,
        bytes in 1usize..60,
    ) {
        let provider = Provider(Arc::new(Mutex::new(Rows::new(connections.clone(), false))));
        let walked = wait(walk(&provider, list(false), limit, &Room { bytes, cursor: 4_096 }, &[]));
        let shown = walked.shown();
        shown_once(&shown, &provider, true)?;
        let mut before = 0;
        for (at, (reads, keys)) in walked.pages.iter().enumerate() {
            let left = |of: &BTreeSet<u32>| of.iter().any(|key| !shown[..before].contains(key));
            let unscoped = reads.iter().filter(|(connection, _)| connection.is_none()).count();
            // A list that began as one list continues as one.
            prop_assert!(unscoped == usize::from(at == 0) || (unscoped, reads.len()) == (1, 1), "{:?}", reads);
            for (connection, keys) in connections.iter().enumerate() {
                let of = reads.iter().filter(|(of, _)| *of == Some(connection)).count();
                // If the first page already has all the rows of a connection that it may have, the second page
                // discovers its end.
                prop_assert!(of <= usize::from(at <= 1 || left(keys)), "{:?}", reads);
            }
            before += keys.len();
        }
    }

    #[test]
    fn r4_8_a_list_that_goes_on_without_a_cursor_is_walked_to_its_end(
        connections in rows(1..3),
        limit in 1u64..100,
        bytes in 4usize..150,
        is_search in any::<bool>(),
        merges in any::<bool>(),
    ) {
        let mut rows = Rows::new(connections, merges || is_search);
        rows.has_no_cursors = true;
        let all = rows.all().len();
        let provider = Provider(Arc::new(Mutex::new(rows)));
        let walked = wait(walk(&provider, list(is_search), limit, &Room { bytes, cursor: 4_096 }, &[]));
        let shown = walked.shown();
        // Such a provider returns no more than the call asked for.
        let most = usize::try_from(limit).unwrap();
        prop_assert!(shown.len() >= all.min(most), "{} of {}", shown.len(), all);
        prop_assert_eq!(shown.iter().collect::<BTreeSet<_>>().len(), shown.len());
    }

    #[test]
    fn r4_8_a_burst_of_new_rows_repeats_nothing_and_is_not_shown(
        keys in prop::collection::btree_set(0u32..2_000, 0..40),
        // Together with the shown rows, no more than a provider returns at once: rows beyond that are out of sight.
        bursts in prop::collection::vec(0usize..25, 0..3),
        limit in 25u64..100,
        bytes in 4usize..150,
        is_search in any::<bool>(),
    ) {
        let first = keys.clone();
        let provider = Provider(Arc::new(Mutex::new(Rows::new(vec![keys], true))));
        let changes = bursts.iter().map(|many| vec![Change::Newest(0); *many]).collect::<Vec<_>>();
        let walked = wait(walk(&provider, list(is_search), limit, &Room { bytes, cursor: 4_096 }, &changes));
        prop_assert_eq!(walked.shown(), first.into_iter().rev().collect::<Vec<_>>());
    }

    #[test]
    fn r3_15_a_cursor_that_is_too_long_ends_no_walk_of_a_merge(
        connections in rows(2..4),
        limit in 1u64..40,
        bytes in 1usize..60,
        pad in 0usize..200,
    ) {
        let mut rows = Rows::new(connections, false);
        rows.pad = pad;
        let provider = Provider(Arc::new(Mutex::new(rows)));
        // There is no room for a place in each connection here.
        let walked = wait(walk(&provider, list(false), limit, &Room { bytes, cursor: 460 }, &[]));
        shown_once(&walked.shown(), &provider, false)?;
    }

    #[test]
    fn r6_2_what_is_there_all_the_time_is_shown_once_of_several_grants(
        connections in rows(1..4),
        changes in changes(),
        limit in 1u64..40,
        bytes in 1usize..60,
        has_rival in any::<bool>(),
        is_short in any::<bool>(),
    ) {
        let parts = connections.iter().enumerate().map(|(at, keys)| {
            let mut connections = vec![BTreeSet::new(); at + 1];
            connections[at] = keys.clone();
            Provider(Arc::new(Mutex::new(Rows::new(connections, true))))
        });
        let mut providers = parts.collect::<Vec<_>>();
        if has_rival {
            // Another grant of the same rows.
            providers.push(providers[0].clone());
        }
        let room = Room { bytes, cursor: if is_short { 300 } else { 4_096 } };
        let (pages, shown) = wait(walk_grants(&providers, limit, &room, &changes));
        let mut once = shown.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), shown.len(), "a row came twice: {:?}", shown);
        for provider in &providers {
            let rows = provider.0.lock().unwrap();
            let kept = shown.iter().copied().filter(|key| rows.always.contains(key)).collect::<Vec<_>>();
            prop_assert_eq!(kept, rows.always.iter().rev().copied().collect::<Vec<_>>());
        }
        if changes.iter().all(Vec::is_empty) {
            // Each grant that has rows is asked once.
            prop_assert!(pages.iter().all(|reads| *reads <= providers.len()), "{:?}", pages);
        }
    }
}

struct NoHooks;

impl BranchHooks for NoHooks {
    fn check(&self, _: usize) -> BoxFuture<'_, Result<(), ToolError>> {
        std::future::ready(Ok(())).boxed()
    }

    fn explain(&self, _: usize, error: ToolError) -> BoxFuture<'_, ToolError> {
        std::future::ready(error).boxed()
    }
}

/// A walk of a search over grants: the reads of each page, and the keys that were shown.
async fn walk_grants(
    providers: &[Provider],
    limit: u64,
    room: &Room,
    changes: &[Vec<Change>],
) -> (Vec<usize>, Vec<u32>) {
    let readers = providers.iter().enumerate().map(|(at, provider)| provider.reader(&format!("g{at}")));
    let readers = readers.collect::<Vec<_>>();
    let walks = Walks::default();
    let (mut pages, mut shown, mut cursor) = (Vec::new(), Vec::new(), None::<String>);
    loop {
        let cursor_of_call = cursor.as_deref().map(Cursor::from_text);
        let whole =
            Listing { list: list(true), limit: Some(limit), cursor: cursor_of_call, connection: None };
        let branches = readers.iter().enumerate().map(|(at, reader)| Branch {
            key: branch_key(reader.provider().as_str(), reader.grant_id().unwrap()),
            reader,
            label: "grant",
            listing: Listing { cursor: None, ..whole.clone() },
            has_rival: providers.iter().filter(|other| Arc::ptr_eq(&other.0, &providers[at].0)).count() > 1,
        });
        let branches = branches.collect::<Vec<_>>();
        let deadline = Duration::from_secs(10);
        let page = read_branches(&branches, &whole, room, &NoHooks, deadline, &walks, &|_| Vec::new()).await;
        let page = page.unwrap().unwrap();
        shown.extend(page.rows.iter().map(|row| key_of(&row.0)));
        let mut reads = 0;
        for (at, provider) in providers.iter().enumerate() {
            let mut rows = provider.0.lock().unwrap();
            reads += std::mem::take(&mut rows.reads).len();
            // The rows of a provider are its own, whichever grants read them.
            let is_first = providers[..at].iter().all(|other| !Arc::ptr_eq(&other.0, &provider.0));
            for change in changes.get(pages.len()).into_iter().flatten().filter(|_| is_first) {
                let own = shown.iter().copied().filter(|key| rows.ever.contains(key)).collect::<Vec<_>>();
                let last = rows.connections.len() - 1;
                match *change {
                    // Keys that belong to other grants are skipped.
                    Change::Insert(_, key) if key as usize % providers.len() == at => {
                        rows.change(&Change::Insert(last, key + 4_000), &own);
                    }
                    Change::Insert(..) | Change::Newest(_) => {}
                    other => rows.change(&other, &own),
                }
            }
        }
        pages.push(reads);
        assert!(pages.len() < 500, "it does not end");
        match page.next {
            Some(next) => cursor = Some(next),
            None => return (pages, shown),
        }
    }
}
