//! How a grant differs from the request: it gives more, which the owner should know, or less.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::provider::approve::proof::{Proof, required_fields};
use crate::provider::approve::token::{GivenStream, TokenResponse};
use crate::provider::approve::wanted::Wanted;
use crate::provider::rs::ResourceServer;
use crate::text;
use crate::time_text::day_and_time;

/// How a grant differs from the request; empty if it does not differ, or if the provider does not say.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// What the grant gives in addition.
    pub more: Vec<String>,
    /// What the grant does not give.
    pub less: Vec<String>,
    /// What the grant gives in addition, possibly because the provider requires it: the provider does not say
    /// what it requires.
    pub beside: Vec<String>,
    /// What was asked for or given without names: the grant may have all of it, or less.
    pub not_compared: Vec<&'static str>,
}

impl Difference {
    /// Nothing was compared.
    pub fn unknown() -> Self {
        Self { not_compared: vec!["accounts", "streams", "fields"], ..Self::default() }
    }
}

/// The most names in one line.
const SHOWN: usize = 12;

/// The fields that come with each stream in any case, by the name of the stream. Asks the provider about
/// streams that were given with more fields than were asked for.
pub async fn required(rs: &ResourceServer, wanted: &Wanted, response: &TokenResponse) -> Required {
    let mut required = Required::new();
    for stream in &response.streams {
        let asked = wanted.stream(&stream.name);
        let Some(asked) = asked.filter(|asked| !asked.fields.is_empty()) else { continue };
        let has_more = stream.fields.iter().flatten().any(|field| !asked.fields.contains(field));
        if has_more && !required.contains_key(&stream.name) && required.len() < MOST_ASKED {
            let fields = required_fields(rs, &response.access_token, &stream.name).await;
            required.insert(stream.name.clone(), fields);
        }
    }
    required
}

/// Fields by the name of their stream.
pub type Required = BTreeMap<String, BTreeSet<String>>;

/// The most streams whose required fields are looked up.
const MOST_ASKED: usize = 8;

/// Compares the grant with the request; `required` fields of a stream do not count as more.
pub fn compare(wanted: &Wanted, response: &TokenResponse, proof: &Proof, required: &Required) -> Difference {
    let mut found = Difference::default();
    source(wanted, proof, &mut found);
    let asked: BTreeSet<&str> = wanted.streams.iter().map(|stream| stream.name.as_str()).collect();
    let given: BTreeSet<&str> =
        proof.sources.iter().flat_map(|source| &source.streams).map(String::as_str).collect();
    if !asked.is_empty() {
        add_names(&mut found.more, "streams that were not asked for", given.difference(&asked));
        // Only the beginning of a long list is known.
        if proof.sources.iter().all(|source| source.streams.len() == source.stream_count) {
            add_names(&mut found.less, "missing streams", asked.difference(&given));
        }
    }
    for stream in response.streams.iter().filter(|stream| given.contains(stream.name.as_str())) {
        fields(wanted, stream, required.get(&stream.name), &mut found);
    }
    range(wanted, &response.streams, &mut found);
    match (wanted.expires, response.grant_expires_at) {
        (Some(asked), Some(end)) if end > asked => {
            found.more.push(format!("access until {}, not {}", day_and_time(end), day_and_time(asked)));
        }
        (Some(asked), None) if response.unread_ends.grant => {
            found.more.push(format!(
                "access until an end that pdpp could not read, not until {}",
                day_and_time(asked)
            ));
        }
        (Some(asked), None) => {
            found.more.push(format!("access without an end, not until {}", day_and_time(asked)));
        }
        (Some(asked), Some(end)) if end < asked => {
            found.less.push(format!("access until {}, not {}", day_and_time(end), day_and_time(asked)));
        }
        _ => {}
    }
    if let Some(mode) = response.access_mode.as_deref().filter(|mode| *mode != "continuous") {
        found.less.push(format!("access that is {}, not ongoing", mode.replace('_', "-")));
    }
    found.not_compared = not_compared(wanted, response, proof);
    found
}

/// What cannot be compared: nobody says how much the provider has, so "all of it" has nothing to be compared
/// with.
fn not_compared(wanted: &Wanted, response: &TokenResponse, proof: &Proof) -> Vec<&'static str> {
    let named = wanted.source.iter().flat_map(|source| &source.instance_ids);
    let accounts =
        named.chain(wanted.streams.iter().flat_map(|stream| &stream.instance_ids)).next().is_none();
    let is_cut = proof.sources.iter().any(|source| source.streams.len() != source.stream_count);
    let has_fields = |stream: &GivenStream| stream.fields.is_some();
    let fields = wanted.streams.iter().any(|asked| {
        let mut given = response.streams.iter().filter(|given| given.name == asked.name);
        asked.fields.is_empty() || given.any(|given| !has_fields(given)) || response.streams.is_empty()
    });
    let all = [
        ("accounts", accounts),
        ("streams", wanted.streams.is_empty() || is_cut),
        ("fields", wanted.streams.is_empty() || fields),
    ];
    all.into_iter().filter(|(_, is_so)| *is_so).map(|(what, _)| what).collect()
}

/// Adds a line about `names` to `lines`, if there are any.
pub(super) fn add_names<'a>(lines: &mut Vec<String>, what: &str, names: impl Iterator<Item = &'a &'a str>) {
    let names: Vec<&str> = names.copied().collect();
    if names.is_empty() {
        return;
    }
    let shown = names.iter().take(SHOWN).map(|name| text::prefix(name, 100)).collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(SHOWN);
    lines.push(match more {
        0 => format!("{what}: {shown}"),
        more => format!("{what}: {shown} and {more} more"),
    });
}

fn source(wanted: &Wanted, proof: &Proof, found: &mut Difference) {
    let Some(asked) = &wanted.source else { return };
    let others = proof.sources.iter().filter_map(|source| source.id.as_deref());
    let others: BTreeSet<&str> = others.filter(|id| *id != asked.id).collect();
    add_names(&mut found.more, "sources that were not asked for", others.iter());
    if !others.is_empty() && proof.sources.iter().all(|source| source.id.as_ref() != Some(&asked.id)) {
        found.less.push(format!("missing source {}", text::prefix(&asked.id, 200)));
    }
    let instances: BTreeSet<&str> = asked.instance_ids.iter().map(String::as_str).collect();
    let given: BTreeSet<&str> = proof
        .sources
        .iter()
        .flat_map(|source| &source.connections)
        .map(|connection| connection.id.as_str())
        .collect();
    if !instances.is_empty() && !given.is_empty() {
        add_names(&mut found.more, "instances that were not asked for", given.difference(&instances));
        add_names(&mut found.less, "missing instances", instances.difference(&given));
    }
}

fn fields(
    wanted: &Wanted,
    stream: &GivenStream,
    required: Option<&BTreeSet<String>>,
    found: &mut Difference,
) {
    let asked = wanted.stream(&stream.name);
    let Some(asked) = asked.filter(|asked| !asked.fields.is_empty()) else { return };
    let Some(given) = &stream.fields else { return };
    let name = text::prefix(&stream.name, 100);
    let asked: BTreeSet<&str> = asked.fields.iter().map(String::as_str).collect();
    let given: BTreeSet<&str> = given.iter().map(String::as_str).collect();
    // Fields that a stream requires are always part of it (draft §6).
    let is_more = |field: &&&str| !required.is_some_and(|required| required.contains(**field));
    let more = given.difference(&asked).filter(is_more);
    let is_unknown = required.is_some_and(BTreeSet::is_empty);
    let to = if is_unknown { &mut found.beside } else { &mut found.more };
    add_names(to, &format!("fields of {name} in addition to those asked for"), more);
    add_names(&mut found.less, &format!("missing fields of {name}"), asked.difference(&given));
}

/// One line for all streams that differ in the same way.
fn range(wanted: &Wanted, streams: &[GivenStream], found: &mut Difference) {
    let starts_earlier = |given: Option<Timestamp>, asked| given.is_none_or(|given| given < asked);
    let mut of = |is_more: bool, what: String, is_so: &dyn Fn(&GivenStream) -> bool| {
        // A stream that is only named does not show which records it gives.
        let described = streams
            .iter()
            .filter(|stream| stream.fields.is_some() || stream.since.is_some() || stream.until.is_some());
        let names_of: Vec<&str> =
            described.filter(|stream| is_so(stream)).map(|stream| stream.name.as_str()).collect();
        add_names(if is_more { &mut found.more } else { &mut found.less }, &what, names_of.iter());
    };
    if let Some(asked) = wanted.since {
        let from = day_and_time(asked);
        of(true, format!("records from before {from}"), &|stream| starts_earlier(stream.since, asked));
        of(false, format!("only some records from {from} on"), &|stream| {
            stream.since.is_some_and(|given| given > asked)
        });
    }
    // The limits that the owner added, if no time was asked for.
    let asked = |stream: &GivenStream| wanted.stream(&stream.name);
    let later = |stream: &GivenStream| {
        stream.since.filter(|_| asked(stream).is_none_or(|asked| asked.since.is_none()))
    };
    if let (None, Some(first)) = (wanted.since, streams.iter().filter_map(later).min()) {
        of(false, format!("no records from before {}", day_and_time(first)), &|stream| {
            later(stream).is_some()
        });
    }
    let earlier = |stream: &GivenStream| {
        stream.until.filter(|_| asked(stream).is_none_or(|asked| asked.until.is_none()))
    };
    if let (None, Some(last)) = (wanted.until, streams.iter().filter_map(earlier).max()) {
        of(false, format!("no records from {} on", day_and_time(last)), &|stream| earlier(stream).is_some());
    }
    if let Some(asked) = wanted.until {
        let to = day_and_time(asked);
        of(true, format!("records from {to} on"), &|stream| stream.until.is_none_or(|given| given > asked));
        of(false, format!("only some records from before {to}"), &|stream| {
            stream.until.is_some_and(|given| given < asked)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::approve::wanted::{SourceRequest, StreamRequest};
    use crate::provider::grant::{GrantedConnection, GrantedSource};
    use serde_json::{Value, json};

    fn compared(wanted: &Wanted, grant: &Value) -> Difference {
        let body = json!({"access_token": "t", "grant": grant});
        let response = TokenResponse::read(body.as_object().unwrap(), Timestamp::UNIX_EPOCH).unwrap();
        let source = GrantedSource {
            id: Some("https://s.example/mail".to_owned()),
            connections: vec![GrantedConnection { id: "c1".to_owned(), display_name: None }],
            streams: vec!["messages".to_owned(), "labels".to_owned()],
            stream_count: 2,
            ..GrantedSource::default()
        };
        compare(
            wanted,
            &response,
            &Proof { grant_id: "g1".to_owned().try_into().unwrap(), sources: vec![source] },
            &[("labels".to_owned(), BTreeSet::from(["id".to_owned()]))].into(),
        )
    }

    fn wanted() -> Wanted {
        let stream = |name: &str, fields: &[&str]| StreamRequest {
            name: name.to_owned(),
            fields: fields.iter().map(ToString::to_string).collect(),
            ..StreamRequest::default()
        };
        Wanted {
            source: Some(SourceRequest {
                id: "https://s.example/mail".to_owned(),
                instance_ids: vec!["c1".to_owned()],
            }),
            streams: vec![stream("messages", &["id", "subject"]), stream("labels", &[])],
            since: "2026-01-01T00:00:00Z".parse().ok(),
            until: "2026-02-01T00:00:00Z".parse().ok(),
            expires: "2027-01-01T00:00:00Z".parse().ok(),
            purpose: None,
        }
    }

    #[test]
    fn what_was_asked_for_is_no_difference() {
        let range = json!({"since": "2026-01-01T00:00:00Z", "until": "2026-02-01T00:00:00Z"});
        let exact = json!({"access_mode": "continuous", "expires_at": "2027-01-01T00:00:00Z", "streams": [
            {"name": "messages", "fields": ["id", "subject"], "time_constraint": range},
            {"name": "labels", "fields": ["id", "name"], "time_range": range},
        ]});
        // Every field of `labels` was asked for, and nobody says what they are.
        let none = |not_compared: &[&'static str]| Difference {
            not_compared: not_compared.to_vec(),
            ..Difference::default()
        };
        assert_eq!(compared(&wanted(), &exact), none(&["fields"]));
        // A provider that does not describe the grant is not reported to differ, except in its end.
        let bare = Wanted { expires: None, ..wanted() };
        assert_eq!(compared(&bare, &json!({"streams": [{"name": "messages"}]})), none(&["fields"]));
        // The owner added a range.
        let less = [
            "no records from before 2026-01-01 00:00 UTC: messages, labels",
            "no records from 2026-02-01 00:00 UTC on: messages, labels",
        ];
        let found = compared(&Wanted::default(), &exact);
        assert_eq!((found.more, found.less), (Vec::new(), less.map(str::to_owned).to_vec()));
        assert_eq!(found.not_compared, ["accounts", "streams", "fields"]);
        let mut named = wanted();
        named.streams.pop();
        assert!(compared(&named, &exact).not_compared.is_empty(), "each name was asked for");
    }

    #[test]
    fn fields_that_may_be_required_are_no_warning() {
        // This provider does not report any required fields of `messages`.
        let asked = Wanted { source: None, since: None, until: None, expires: None, ..wanted() };
        let given = json!({"streams": [{"name": "messages", "fields": ["id", "subject", "sent_at"]}]});
        let body = json!({"access_token": "t", "grant": given});
        let response = TokenResponse::read(body.as_object().unwrap(), Timestamp::UNIX_EPOCH).unwrap();
        let source = GrantedSource {
            streams: vec!["messages".to_owned(), "labels".to_owned()],
            stream_count: 2,
            ..GrantedSource::default()
        };
        let proof = Proof { grant_id: "g1".to_owned().try_into().unwrap(), sources: vec![source] };
        let compared = |required: &[&str]| {
            let required = required.iter().map(ToString::to_string).collect();
            compare(&asked, &response, &proof, &[("messages".to_owned(), required)].into())
        };
        let line = "fields of messages in addition to those asked for: sent_at".to_owned();
        let found = compared(&[]);
        assert_eq!((found.more, found.beside), (Vec::new(), vec![line.clone()]));
        let found = compared(&["id"]);
        assert_eq!((found.more, found.beside), (vec![line], Vec::new()));
        let found = compared(&["sent_at"]);
        assert_eq!((found.more, found.less, found.beside), (Vec::new(), Vec::new(), Vec::new()));
    }

    #[test]
    fn an_end_that_cannot_be_read_is_not_told_as_none() {
        let given = json!({"expires_at": "9999999-01-01T00:00:00Z"});
        let found = compared(&wanted(), &given);
        let line = "access until an end that pdpp could not read, not until 2027-01-01 00:00 UTC";
        assert!(found.more.iter().any(|more| more == line), "{found:?}");
    }

    #[test]
    fn more_and_less_are_told_apart() {
        let mut asked = wanted();
        asked.streams.remove(1);
        asked.streams.push(StreamRequest { name: "threads".to_owned(), ..StreamRequest::default() });
        asked.source = Some(SourceRequest {
            id: "https://s.example/bank".to_owned(),
            instance_ids: vec!["c1".to_owned(), "c2".to_owned()],
        });
        let given = json!({"access_mode": "single_use", "expires_at": null, "streams": [
            {"name": "messages", "fields": ["id", "body"], "time_range": {"since": "2026-01-05T00:00:00Z"}},
        ]});
        let found = compared(&asked, &given);
        assert_eq!(
            found.more,
            [
                "sources that were not asked for: https://s.example/mail",
                "streams that were not asked for: labels",
                "fields of messages in addition to those asked for: body",
                "records from 2026-02-01 00:00 UTC on: messages",
                "access without an end, not until 2027-01-01 00:00 UTC",
            ]
        );
        assert_eq!(
            found.less,
            [
                "missing source https://s.example/bank",
                "missing instances: c2",
                "missing streams: threads",
                "missing fields of messages: subject",
                "only some records from 2026-01-01 00:00 UTC on: messages",
                "access that is single-use, not ongoing",
            ]
        );
    }

    #[test]
    fn names_without_end_stay_a_line() {
        let fields: Vec<String> = (0..400).map(|number| format!("{number}{}", "x".repeat(400))).collect();
        let found = compared(&wanted(), &json!({"streams": [{"name": "messages", "fields": fields}]}));
        assert!(found.more.iter().all(|line| line.len() < 2_000), "{found:?}");
        assert!(found.more[0].ends_with("and 388 more"), "{found:?}");
    }
}
