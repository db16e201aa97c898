//! A request that the owner makes, on the machine that has the data. Everything can be selected, and what the owner
//! named is already ticked.

use std::collections::BTreeSet;

use serde_json::Value;

use super::authorization_details::{AuthorizationDetails, Choice, Purpose, everything};
use crate::vault::declaration::Connector;
use crate::vault::store::{Catalog, Connection};
use crate::vault::time;
use crate::vault::wire::ApiError;

/// A stream that the owner names.
#[derive(Debug, Clone, Default)]
pub struct WishedStream {
    /// Its name.
    pub name: String,
    /// Only these fields, and those that the stream requires; all fields if empty.
    pub fields: Vec<String>,
    /// Only these connections; if empty, those that are named otherwise.
    pub connections: Vec<String>,
    /// Records from here on, in milliseconds.
    pub since: Option<i64>,
    /// Records before this, in milliseconds.
    pub until: Option<i64>,
}

/// What the owner names. The default names nothing.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// Sources, by their URI, their key or their name.
    pub sources: Vec<String>,
    /// Accounts, by their id or their name.
    pub accounts: Vec<String>,
    /// Streams; if empty, all streams of the named sources and accounts.
    pub streams: Vec<WishedStream>,
    /// Only records from here on, in milliseconds.
    pub since: Option<i64>,
    /// Only records before this, in milliseconds.
    pub until: Option<i64>,
    /// When the grant should end, in milliseconds.
    pub expires_ms: Option<i64>,
    /// The purpose.
    pub purpose: Purpose,
}

/// A stream that is ticked only if it is named.
pub const GUARDED: &str = "security_messages";

impl Wish {
    /// Everything that exists, with what is named marked as such.
    ///
    /// # Errors
    /// Returns `invalid_request` for a name that does not exist, with the names that do.
    pub fn look_up(&self, catalog: &Catalog, base: &str) -> Result<AuthorizationDetails, ApiError> {
        self.check_names(catalog)?;
        let mut details = everything(catalog, base, &self.purpose);
        details.expires_ms = self.expires_ms;
        // The bounds apply to everything that is ticked, not only to what is named. The form shows them, and the
        // owner can change them there.
        (details.since, details.until) = (self.since, self.until);
        for choice in &mut details.choices {
            let stream = self.streams.iter().find(|stream| {
                stream.name == choice.stream
                    && (stream.connections.is_empty() || stream.connections.contains(&choice.connection))
            });
            choice.is_named = self.names(catalog, choice, stream);
            choice.since = stream.and_then(|stream| stream.since).filter(|_| choice.is_named);
            choice.until = stream.and_then(|stream| stream.until).filter(|_| choice.is_named);
        }
        Ok(details)
    }

    fn names(&self, catalog: &Catalog, choice: &Choice, stream: Option<&WishedStream>) -> bool {
        let (Some(connector), Some(account)) =
            (catalog.connector(&choice.connector), catalog.connection(&choice.connection))
        else {
            return false;
        };
        if self.sources.is_empty() && self.accounts.is_empty() && self.streams.is_empty() {
            return false;
        }
        let is_account = if self.accounts.is_empty() {
            // If several accounts exist and none is named, the owner picks.
            catalog.connections_of(&connector.key).count() == 1
                || stream.is_some_and(|stream| !stream.connections.is_empty())
        } else {
            self.accounts.iter().any(|name| is_account(account, name))
        };
        let is_source = self.sources.is_empty() || self.sources.iter().any(|name| is_source(connector, name));
        let is_stream = stream.is_some() || (self.streams.is_empty() && choice.stream != GUARDED);
        is_account && is_source && is_stream
    }

    /// The form of the owner's page with only what is named ticked.
    pub fn form(&self, details: &AuthorizationDetails) -> Vec<(String, String)> {
        let mut form: Vec<(String, String)> = Vec::new();
        let mut accounts = BTreeSet::new();
        for (number, choice) in details.choices.iter().enumerate().filter(|(_, choice)| choice.is_named) {
            accounts.insert(choice.connection.clone());
            form.push(("stream".to_owned(), number.to_string()));
            let fields = self.streams.iter().find(|stream| stream.name == choice.stream);
            let fields = fields.map(|stream| stream.fields.as_slice()).unwrap_or_default();
            for (at, field) in choice.fields.iter().enumerate() {
                if fields.is_empty() || fields.contains(field) {
                    form.push(("field".to_owned(), format!("{number}.{at}")));
                }
            }
        }
        form.extend(accounts.into_iter().map(|account| ("connection".to_owned(), account)));
        form.extend(self.expires_ms.map(|_| ("expires".to_owned(), "asked".to_owned())));
        // The fields show a day. An unchanged day still means the exact time of day (`ticks::selection`).
        form.extend(self.since.map(|since| ("since".to_owned(), time::day(since))));
        form.extend(self.until.map(|until| ("until".to_owned(), time::day(until))));
        form
    }

    fn check_names(&self, catalog: &Catalog) -> Result<(), ApiError> {
        for name in &self.sources {
            if !catalog.connectors.iter().any(|connector| is_source(connector, name)) {
                let known = catalog.connectors.iter().map(|connector| connector.key.as_str());
                return Err(unknown("source", name, known));
            }
        }
        for name in &self.accounts {
            if !catalog.connections.iter().any(|account| is_account(account, name)) {
                let known = catalog.connections.iter().map(|account| account.display_name.as_str());
                return Err(unknown("account", name, known));
            }
        }
        let is_of = |account: &Connection| {
            let connector = catalog.connector(&account.connector);
            self.sources.is_empty()
                || connector
                    .is_some_and(|connector| self.sources.iter().any(|name| is_source(connector, name)))
        };
        let is_meant = |account: &Connection| {
            self.accounts.is_empty() || self.accounts.iter().any(|name| is_account(account, name))
        };
        let of_sources: Vec<_> = catalog.connections.iter().filter(|account| is_of(account)).collect();
        let meant: BTreeSet<&str> = of_sources
            .iter()
            .filter(|account| is_meant(account))
            .map(|account| account.connector.as_str())
            .collect();
        if meant.is_empty() && !self.accounts.is_empty() {
            let known = of_sources.iter().map(|account| account.display_name.as_str());
            let (what, name) = ("account in that source", self.accounts.join(", "));
            return Err(unknown(what, &name, known).param("account"));
        }
        // Names of streams in other accounts would tick nothing.
        let is_narrowed = !self.accounts.is_empty() || !self.sources.is_empty();
        let connectors = catalog.connectors.iter();
        let connectors: Vec<_> =
            connectors.filter(|connector| !is_narrowed || meant.contains(connector.key.as_str())).collect();
        let streams = || connectors.iter().flat_map(|connector| &connector.streams);
        for wished in &self.streams {
            let mut named = streams().filter(|stream| stream.name == wished.name).peekable();
            if named.peek().is_none() {
                let of = if is_narrowed { "stream in the selected accounts" } else { "stream" };
                return Err(
                    unknown(of, &wished.name, streams().map(|stream| stream.name.as_str())).param("stream")
                );
            }
            let fields: BTreeSet<&str> =
                named.flat_map(|stream| &stream.fields).map(|field| field.name.as_str()).collect();
            if let Some(field) = wished.fields.iter().find(|field| !fields.contains(field.as_str())) {
                return Err(unknown("field", field, fields.into_iter()));
            }
        }
        Ok(())
    }
}

fn is_source(connector: &Connector, name: &str) -> bool {
    connector.id == name || connector.key == name || connector.name == name
}

fn is_account(account: &Connection, name: &str) -> bool {
    account.id == name || account.display_name == name
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> ApiError {
    let known: BTreeSet<&str> = known.collect();
    // A name may contain a comma.
    let between = if known.iter().any(|name| name.contains(',')) { "; " } else { ", " };
    let mut list = known.iter().copied().take(20).collect::<Vec<_>>().join(between);
    if known.len() > 20 {
        list.push_str(" …");
    }
    let list = if list.is_empty() { "there are none".to_owned() } else { format!("these exist: {list}") };
    ApiError::invalid(format!("There is no {what} called {name}; {list}"))
        .param(what)
        .with("available", known.into_iter().map(Value::from).collect::<Vec<_>>())
}
