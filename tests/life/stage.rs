//! Where the data is queried: its exports imported by the binary, granted at a terminal, served to a reader.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::person::Person;
use super::{export, tasks};
use crate::journeys::stage::{Tools, serve};
use crate::journeys::view::{Seen, View};
use crate::own::granted::grant;
use crate::support::env::TestEnv;

/// A person's HOME with a store that only imports have filled, and another HOME for an agent that was granted less.
pub struct Stage {
    pub env: TestEnv,
    pub narrow: TestEnv,
    pub exports: tempfile::TempDir,
    /// The output of the import.
    pub imported: Value,
}

impl Stage {
    pub fn new(person: &Person) -> Self {
        let mut stage = Self {
            env: TestEnv::new(),
            narrow: TestEnv::new(),
            exports: tempfile::tempdir().unwrap(),
            imported: Value::Null,
        };
        export::write(person, stage.exports.path());
        stage.imported = stage.import(&[]);
        stage
    }

    /// Where the store is.
    pub fn store(&self) -> PathBuf {
        self.env.cache_dir().join("own")
    }

    /// Imports each export separately, as a person would, and returns the output.
    pub fn import(&self, options: &[&str]) -> Value {
        let mut paths: Vec<String> = Vec::new();
        for path in export::paths(self.exports.path()) {
            paths.push(path.to_str().unwrap().to_owned());
        }
        let paths = paths.iter().map(String::as_str);
        let words = ["import", "--yes", "--json", "--timezone", "UTC"]
            .into_iter()
            .chain(paths)
            .chain(options.iter().copied());
        let ran = self.env.run(&words.collect::<Vec<_>>());
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// Grants everything except what is kept apart.
    pub fn grant(&self) {
        let status: Value =
            serde_json::from_str(&self.env.run(&["provider", "status", "--json"]).stdout).unwrap();
        let mut streams = BTreeSet::new();
        gather(&status, &mut streams);
        streams.remove("security_messages");
        let accounts = status["accounts"].as_array().unwrap();
        let accounts: BTreeSet<&str> = accounts.iter().map(|one| one["name"].as_str().unwrap()).collect();
        let mut options = Vec::new();
        for account in accounts {
            options.extend(["--account", account]);
        }
        for stream in &streams {
            options.extend(["--stream", stream]);
        }
        grant(&self.env, &options);
    }

    /// Grants the private mailbox from 2026 on, without texts, to another agent.
    pub fn grant_narrowly(&self, account: &str) {
        let store = self.store();
        let of_store = ["--data-dir", store.to_str().unwrap()];
        let mail = "https://local.pdpp.invalid/connectors/mail";
        let narrow =
            ["--source", mail, "--account", account, "--stream", "messages", "--since", "2026-01-01"];
        let fields = ["--field", "messages.subject", "--field", "messages.from_name"];
        grant(&self.narrow, &[&of_store[..], &narrow, &fields].concat());
    }
}

/// The names of the streams in the output of `provider status`.
fn gather(value: &Value, streams: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if let Some(list) = map.get("streams").and_then(Value::as_array) {
                streams.extend(
                    list.iter()
                        .filter_map(|one| one["name"].as_str().or_else(|| one.as_str()))
                        .map(str::to_owned),
                );
            }
            map.values().for_each(|value| gather(value, streams));
        }
        Value::Array(list) => list.iter().for_each(|value| gather(value, streams)),
        _ => {}
    }
}

/// A reader's first look in one view: the tools, and the connections by the names that tasks use.
pub async fn begin(
    env: &TestEnv,
    person: &Person,
    view: View,
    is_whole: bool,
) -> (Tools, Map<String, Value>, usize) {
    let tools = serve(env).await;
    let (mut names, mut calls, mut next) = (Map::new(), 0, Some(Map::new()));
    let mut shown = String::new();
    while let Some(arguments) = next.take() {
        let answer = tools.call("schema", arguments).await;
        calls += 1;
        shown += &answer.text;
        let seen = Seen::read(view, &answer);
        assert_eq!(seen.error, None, "{}", answer.text);
        for (name, connector, account) in tasks::names(person) {
            let found = seen.items.iter().find(|item| {
                item.values.get("connector") == Some(&json!(connector))
                    && item.values.get("label") == Some(&json!(account))
            });
            if let Some(found) = found {
                names.insert(name.to_owned(), found.values["connection_id"].clone());
            }
        }
        next = seen.offer("next", None).map(|offer| offer.arguments.clone());
        assert!(calls < 20, "{}", answer.text);
    }
    if is_whole {
        for (name, connector, account) in tasks::names(person) {
            assert!(names.contains_key(name), "{view:?}: no {connector} {account}: {shown}");
        }
    }
    (tools, names, calls)
}
