//! `connect --renew`: which grant to renew, what to ask for instead, and how the new grant differs from the old
//! one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};

use super::difference::{Difference, add_names};
use crate::advice::{Command, Hint};
use crate::cache::credential::Credential;
use crate::cache::select::GrantName;
use crate::error::{Error, Kind, Result};
use crate::provider::approve::token::GivenStream;
use crate::provider::approve::wanted::{SourceRequest, StreamRequest, Wanted};
use crate::provider::grant::GrantedSource;
use crate::provider::url::ProviderUrl;
use crate::text;
use crate::time_text::day_and_time;

/// The one grant in `all` to renew: by its provider, its id or its name.
///
/// # Errors
/// `not_connected` (78), `several_credentials` (2), `cache_damaged`.
pub fn meant<'a>(
    all: &'a [Credential],
    provider: Option<&ProviderUrl>,
    grant: Option<&GrantName>,
) -> Result<&'a Credential> {
    let is_of = |credential: &&Credential| provider.is_none_or(|provider| *provider == credential.provider);
    let of_provider: Vec<&Credential> = all.iter().filter(is_of).collect();
    let meant = grant.map_or_else(|| of_provider.clone(), |grant| grant.meant(&of_provider));
    match meant[..] {
        [] => {
            let which = if all.is_empty() { "" } else { "such " };
            let message = format!("There is no {which}grant on this computer to renew");
            let next = match provider {
                _ if !all.is_empty() => Command::new("status").into(),
                Some(provider) => Command::connect(provider.typed()).into(),
                None => Hint::connect_own_or(Command::connect_any()),
            };
            Err(Error::new(Kind::NotConnected, "not_connected", message).hint(next))
        }
        // Not parsed before: see [`Given`](crate::cache::credential::Given).
        [credential] => match credential.given.streams() {
            Ok(_) => Ok(credential),
            Err(error) => Err(Error::failed("cache_damaged", "The index does not show what this grant gave")
                .because(error)
                .run(Command::connect(credential.provider.typed()))),
        },
        _ => {
            let mut message = "There are several grants on this computer. Renew one of them:".to_owned();
            for credential in meant {
                let renew = Command::new("connect --renew")
                    .value(credential.provider.typed())
                    .option("--grant", credential.grant_id.as_str());
                let _ = write!(message, "\n  {renew}   ({})", credential.label);
            }
            Err(Error::new(Kind::Usage, "several_credentials", message)
                .hint("Run one of the listed commands"))
        }
    }
}

/// What to ask for to replace `old`, starting with the closest request: exactly what it has; the same without
/// the end that the owner picked, which not every provider accepts in a request; what was originally asked for.
/// Each next request is for a provider that refuses the one before.
pub fn requests(old: &Credential, now: Timestamp) -> Vec<Wanted> {
    let asked = old.asked.clone().unwrap_or_default();
    let exact = exact(old, &asked, now);
    let expires = again(asked.expires, old.issued_at, now);
    let without_end = Wanted { expires, ..exact.clone() };
    let as_asked = Wanted { expires, ..old.asked.clone().unwrap_or_else(|| source_of(old)) };
    let mut all = vec![exact, without_end, as_asked];
    all.dedup();
    all
}

/// The streams that `wanted` cannot describe the way `old` has them, because it names each stream once: two
/// accounts have different fields or times of them.
pub fn differing(old: &Credential, wanted: &Wanted) -> Vec<String> {
    let given = given(old);
    let differs = |stream: &&StreamRequest| {
        let all = given.iter().filter(|given| given.name == stream.name);
        let mut all = all.map(|given| {
            let fields = given.fields.as_ref().map(|fields| fields.iter().collect::<BTreeSet<_>>());
            (fields, given.since, given.until)
        });
        let first = all.next();
        all.any(|other| Some(other) != first)
    };
    wanted.streams.iter().filter(differs).map(|stream| stream.name.clone()).collect()
}

/// What a grant that replaces `old` was asked for if `wanted` was sent: the original request, which also bounds
/// the next renewal. What the owner gave of it is kept separately.
pub fn asked(old: &Credential, wanted: &Wanted) -> Wanted {
    let first = old.asked.clone().unwrap_or_else(|| source_of(old));
    Wanted { expires: wanted.expires.filter(|_| first.expires.is_some()), ..first }
}

/// The end of a grant that begins `now` and lasts as long as one from `issued` to `end`.
fn again(end: Option<Timestamp>, issued: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
    let lasts = end?.duration_since(issued?);
    let end = now.checked_add(lasts).ok()?;
    Timestamp::from_second(end.as_second()).ok().filter(|end| *end > now)
}

/// The request for a grant that was stored without one: its source, if it has one.
fn source_of(credential: &Credential) -> Wanted {
    let source = match credential.sources.as_slice() {
        [source] if source.kind.as_deref() == Some("connector") => {
            source.id.clone().map(|id| SourceRequest {
                id,
                instance_ids: source.connections.iter().map(|connection| connection.id.clone()).collect(),
            })
        }
        _ => None,
    };
    Wanted { source, ..Wanted::default() }
}

/// What `old` has, as far as that is known: what was given of what was `asked` for then.
fn exact(old: &Credential, asked: &Wanted, now: Timestamp) -> Wanted {
    let given = given(old);
    // Accounts of the same source first: what they have in common is the most that none of them exceeds.
    let mut of_sources: BTreeMap<(&str, Option<&str>), StreamRequest> = BTreeMap::new();
    for stream in &given {
        let then = asked.stream(&stream.name);
        if then.is_none() && !asked.streams.is_empty() {
            continue;
        }
        let fields = match (then.map(|then| then.fields.as_slice()), &stream.fields) {
            // The fields that the stream requires come with it again.
            (Some(then @ [_, ..]), Some(given)) => {
                then.iter().filter(|field| given.contains(field)).cloned().collect()
            }
            (Some(then @ [_, ..]), None) => then.to_vec(),
            (_, fields) => fields.clone().unwrap_or_default(),
        };
        let request = StreamRequest {
            name: stream.name.clone(),
            fields,
            instance_ids: stream.instance_ids.clone(),
            since: stream.since.filter(|since| asked.since.is_none_or(|asked| *since > asked)),
            until: stream.until.filter(|until| asked.until.is_none_or(|asked| *until < asked)),
        };
        match of_sources.get_mut(&(stream.name.as_str(), stream.source.as_deref())) {
            None => drop(of_sources.insert((&stream.name, stream.source.as_deref()), request)),
            Some(known) => {
                // No list means every field.
                if known.fields.is_empty() {
                    known.fields.clone_from(&request.fields);
                } else if !request.fields.is_empty() {
                    known.fields.retain(|field| request.fields.contains(field));
                }
                both(known, request);
            }
        }
    }
    let mut streams: Vec<StreamRequest> = Vec::new();
    for request in of_sources.into_values() {
        match streams.last_mut().filter(|known| known.name == request.name) {
            None => streams.push(request),
            Some(known) => {
                // No provider accepts a field that one of the sources lacks.
                if known.fields != request.fields {
                    known.fields.clear();
                }
                both(known, request);
            }
        }
    }
    for stream in &mut streams {
        stream.instance_ids.sort();
    }
    if streams.is_empty() {
        streams.clone_from(&asked.streams);
    }
    let mut source = asked.source.clone().or_else(|| source_of(old).source);
    if let Some(source) = &mut source {
        let all: BTreeSet<&String> = streams.iter().flat_map(|stream| &stream.instance_ids).collect();
        if !all.is_empty() {
            source.instance_ids = all.into_iter().cloned().collect();
        }
        for stream in &mut streams {
            if stream.instance_ids == source.instance_ids {
                stream.instance_ids.clear();
            }
        }
    }
    Wanted {
        source,
        streams,
        expires: again(old.grant_expires_at.or(asked.expires), old.issued_at, now),
        ..asked.clone()
    }
}

/// Reduces `known` to what it has in common with `other`, because a request names each stream once.
fn both(known: &mut StreamRequest, other: StreamRequest) {
    known.instance_ids.extend(other.instance_ids);
    known.since = known.since.max(other.since);
    known.until = match (known.until, other.until) {
        (Some(known), Some(other)) => Some(known.min(other)),
        (known, other) => known.or(other),
    };
}

/// What a grant has, stream by stream: as its provider stated it, or otherwise as its first read showed it.
/// Empty if part of it is unknown.
fn given(credential: &Credential) -> Vec<GivenStream> {
    let given = credential.given.streams().unwrap_or_default();
    if !given.is_empty() {
        return given;
    }
    if credential.sources.iter().any(|source| source.streams.len() != source.stream_count) {
        return Vec::new();
    }
    let of_source = credential.sources.iter().flat_map(|source| {
        let instance_ids = source.connections.iter().map(|connection| connection.id.clone());
        let instance_ids: Vec<String> = instance_ids.collect();
        source.streams.iter().map(move |name| GivenStream {
            name: name.clone(),
            source: source.id.clone(),
            instance_ids: instance_ids.clone(),
            ..GivenStream::default()
        })
    });
    of_source.collect()
}

/// What one stream of one source gives.
#[derive(Debug, Default, PartialEq, Eq)]
struct Part {
    fields: Option<BTreeSet<String>>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

/// What is given, by the place and the name of a stream.
type Parts = BTreeMap<(String, String), Part>;

/// How `new` differs from `old`, which it replaces.
pub fn compare(old: &Credential, new: &Credential) -> Difference {
    let mut found = Difference::default();
    let (before, now) = (given(old), given(new));
    let names_instances = |all: &[GivenStream]| all.iter().all(|stream| !stream.instance_ids.is_empty());
    let by_instance = names_instances(&before) && names_instances(&now);
    let (before, now) = (parts(before, by_instance), parts(now, by_instance));
    let label = |(place, stream): &(String, String)| match place_name(place, &[new, old]) {
        Some(place) => format!("{stream} ({})", text::prefix(&place, 60)),
        None => stream.clone(),
    };
    let lacking = |of: &Parts, other: &Parts| {
        of.keys().filter(|key| !other.contains_key(key)).map(label).collect::<Vec<_>>()
    };
    if !before.is_empty() && !now.is_empty() {
        add(&mut found.more, "streams that it did not have", &lacking(&now, &before));
        add(&mut found.less, "missing streams", &lacking(&before, &now));
    }
    let shared = || before.iter().filter_map(|(key, part)| Some((key, part, now.get(key)?)));
    let fields = |more: bool| {
        let of = |(key, before, now): (&(String, String), &Part, &Part)| {
            let (Some(before), Some(now)) = (&before.fields, &now.fields) else { return Vec::new() };
            let (of, other) = if more { (now, before) } else { (before, now) };
            of.difference(other).map(|field| format!("{}.{field}", key.1)).collect()
        };
        shared().flat_map(of).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    add(&mut found.more, "fields that it did not have", &fields(true));
    add(&mut found.less, "missing fields", &fields(false));
    // An answer without the streams does not show their times.
    let is_told = !old.given.is_empty() && !new.given.is_empty();
    let that = |is_so: &dyn Fn(&Part, &Part) -> bool| {
        shared()
            .filter(|_| is_told)
            .filter(|(_, before, now)| is_so(before, now))
            .map(|(key, ..)| label(key))
            .collect::<Vec<_>>()
    };
    // A missing start is before every start, and a missing end after every end.
    let later_end =
        |part: &Part, than: &Part| than.until.is_some_and(|end| part.until.is_none_or(|until| until > end));
    add(&mut found.more, "records from before the old start", &that(&|old, new| new.since < old.since));
    add(&mut found.less, "without its earliest records", &that(&|old, new| new.since > old.since));
    add(&mut found.more, "records from after the old end", &that(&|old, new| later_end(new, old)));
    add(&mut found.less, "without its latest records", &that(&|old, new| later_end(old, new)));
    ends(old, new, &mut found);
    found
}

fn add(lines: &mut Vec<String>, what: &str, names: &[String]) {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    add_names(lines, what, names.iter());
}

fn parts(given: Vec<GivenStream>, by_instance: bool) -> Parts {
    let mut parts = Parts::new();
    for stream in given {
        let places = if by_instance { stream.instance_ids } else { vec![stream.source.unwrap_or_default()] };
        for place in places {
            let part = Part {
                fields: stream.fields.clone().map(|fields| fields.into_iter().collect()),
                since: stream.since,
                until: stream.until,
            };
            parts.insert((place, stream.name.clone()), part);
        }
    }
    parts
}

/// The owner's name for a connection or a source.
fn place_name(place: &str, of: &[&Credential]) -> Option<String> {
    let sources = || of.iter().flat_map(|credential| &credential.sources);
    let mut connections = sources().flat_map(|source| &source.connections);
    let named =
        connections.find_map(|connection| connection.display_name.clone().filter(|_| connection.id == place));
    let source = || sources().find(|source| source.id.as_deref() == Some(place)).map(GrantedSource::label);
    named.or_else(source).or_else(|| (!place.is_empty()).then(|| place.to_owned()))
}

/// A difference of up to a minute is only a difference of clocks.
const SLACK: SignedDuration = SignedDuration::from_mins(1);
/// The end is asked for before the owner approves, and the owner may take a while.
const WAITED: SignedDuration = SignedDuration::from_mins(15);

fn ends(old: &Credential, new: &Credential, found: &mut Difference) {
    let lasts =
        |credential: &Credential| Some(credential.grant_expires_at?.duration_since(credential.issued_at?));
    match (old.grant_expires_at, new.grant_expires_at) {
        (Some(_), None) if new.unread_ends.grant => {
            found.more.push("access until an end that pdpp could not read".to_owned());
        }
        (Some(_), None) => found.more.push("access without an end".to_owned()),
        (None, Some(end)) => found.less.push(format!("access that ends {}", day_and_time(end))),
        (Some(_), Some(end)) => match (lasts(old), lasts(new)) {
            (Some(before), Some(now)) if now > before + SLACK => {
                found.more.push(format!("access for a longer time, until {}", day_and_time(end)));
            }
            (Some(before), Some(now)) if now + WAITED < before => {
                found.less.push(format!("access for a shorter time, until {}", day_and_time(end)));
            }
            _ => {}
        },
        (None, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::credential::tests::credential;
    use crate::provider::grant::GrantedConnection;

    const MAIL: &str = "https://s.example/mail";
    const CHAT: &str = "https://s.example/chat";

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn stream(name: &str, source: &str, instances: &[&str], fields: &[&str]) -> GivenStream {
        let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        GivenStream {
            name: name.to_owned(),
            source: Some(source.to_owned()),
            instance_ids: texts(instances),
            fields: Some(texts(fields)),
            ..GivenStream::default()
        }
    }

    fn source(id: &str, connections: &[&str], streams: &[&str]) -> GrantedSource {
        let connection =
            |id: &&str| GrantedConnection { id: (*id).to_owned(), display_name: Some(format!("Box {id}")) };
        GrantedSource {
            id: Some(id.to_owned()),
            kind: Some("connector".to_owned()),
            connections: connections.iter().map(connection).collect(),
            streams: streams.iter().map(ToString::to_string).collect(),
            stream_count: streams.len(),
            ..GrantedSource::default()
        }
    }

    fn grant(given: Vec<GivenStream>, sources: Vec<GrantedSource>) -> Credential {
        Credential {
            given: given.into(),
            sources,
            issued_at: Some(at(1_000)),
            grant_expires_at: Some(at(8_000)),
            ..credential("https://a.example", "g1")
        }
    }

    #[test]
    fn a_renewed_grant_may_last_as_long_as_the_one_before() {
        let at = |second| Timestamp::from_second(second).ok();
        assert_eq!(again(at(100), at(40), at(1_000).unwrap()), at(1_060));
        assert_eq!(again(at(100), None, at(1_000).unwrap()), None, "the owner picks");
        assert_eq!(again(at(40), at(100), at(1_000).unwrap()), None);
    }

    fn mail_of_one_account() -> Credential {
        grant(
            vec![
                stream("messages", MAIL, &["c1"], &["id", "subject"]),
                stream("labels", MAIL, &["c1"], &["id"]),
            ],
            vec![source(MAIL, &["c1"], &["messages", "labels"])],
        )
    }

    /// A device code's token answer may name only the grant.
    #[test]
    fn an_answer_that_says_nothing_of_the_streams_is_not_said_to_give_more() {
        let mut old = mail_of_one_account();
        let mut given = old.given.streams().unwrap();
        for stream in &mut given {
            (stream.since, stream.until) = (Some(at(500)), Some(at(900)));
        }
        old.given = given.clone().into();
        let mut new = Credential { given: Vec::new().into(), ..old.clone() };
        assert_eq!(compare(&old, &new), Difference::default());
        // An answer that states it is compared.
        given[0].since = Some(at(400));
        new.given = given.into();
        let found = compare(&old, &new);
        assert_eq!((found.more.len(), found.less.len()), (1, 0), "{found:?}");
        assert!(found.more[0].contains("records from before"), "{found:?}");
    }

    #[test]
    fn what_was_given_is_asked_for_and_no_more() {
        // Everything was asked for; the owner left two streams of one account, one of them with fewer fields.
        let old = mail_of_one_account();
        let asked = requests(&old, at(100_000));
        let exact = &asked[0];
        let of = exact.source.as_ref().unwrap();
        assert_eq!((of.id.as_str(), of.instance_ids.join(" ").as_str()), (MAIL, "c1"));
        let streams: Vec<_> =
            exact.streams.iter().map(|stream| (stream.name.as_str(), stream.fields.join(" "))).collect();
        assert_eq!(streams, [("labels", "id".to_owned()), ("messages", "id subject".to_owned())]);
        assert!(
            exact.streams.iter().all(|stream| stream.instance_ids.is_empty()),
            "the source's instances are meant"
        );
        assert_eq!(exact.expires, Some(at(107_000)), "as long as the owner let it last");
        // For a provider that refuses it: without the end, then the original request.
        assert_eq!(asked.len(), 3);
        assert_eq!((asked[1].expires, &asked[1].streams), (None, &exact.streams));
        assert_eq!(asked[2], source_of(&old));
    }

    #[test]
    fn of_two_accounts_of_a_source_no_more_than_both_have_is_asked_for() {
        let old = grant(
            vec![
                stream("messages", MAIL, &["c1"], &["id", "subject", "bcc"]),
                stream("messages", MAIL, &["c2"], &["id", "subject", "snippet"]),
                stream("labels", MAIL, &["c1", "c2"], &["id"]),
            ],
            vec![source(MAIL, &["c1", "c2"], &["messages", "labels"])],
        );
        let exact = requests(&old, at(100_000)).remove(0);
        assert_eq!(exact.streams[1].fields, ["id", "subject"]);
        assert_eq!(differing(&old, &exact), ["messages"]);
    }

    #[test]
    fn several_sources_are_named_by_their_instances() {
        let old = grant(
            vec![
                stream("messages", MAIL, &["c1"], &["id", "subject"]),
                stream("messages", CHAT, &["c2"], &["id", "text"]),
                stream("users", CHAT, &["c2"], &["id"]),
            ],
            vec![source(MAIL, &["c1"], &["messages"]), source(CHAT, &["c2"], &["messages", "users"])],
        );
        let exact = requests(&old, at(100_000)).remove(0);
        assert_eq!(exact.source, None);
        let streams: Vec<_> = exact
            .streams
            .iter()
            .map(|stream| (stream.name.as_str(), stream.instance_ids.join(" "), stream.fields.join(" ")))
            .collect();
        let expected = [("messages", "c1 c2", ""), ("users", "c2", "id")];
        assert_eq!(streams, expected.map(|(name, ids, fields)| (name, ids.to_owned(), fields.to_owned())));
        // The same from an index that knows less of it.
        let less = Credential { given: Vec::new().into(), ..old };
        let exact = requests(&less, at(100_000)).remove(0);
        assert_eq!(exact.streams[0].instance_ids, ["c1", "c2"]);
        assert_eq!(exact.streams[1].name, "users");
    }

    #[test]
    fn of_what_was_asked_for_only_what_was_given_is_asked_again() {
        let mut old = grant(
            vec![
                stream("messages", MAIL, &["c1"], &["id", "received_at", "subject"]),
                stream("labels", MAIL, &["c1"], &["id"]),
            ],
            vec![source(MAIL, &["c1"], &["messages", "labels"])],
        );
        let mut streams = old.given.streams().unwrap();
        streams[0].since = Some(at(500));
        old.given = streams.into();
        let request = |name: &str, fields: &[&str]| StreamRequest {
            name: name.to_owned(),
            fields: fields.iter().map(ToString::to_string).collect(),
            ..StreamRequest::default()
        };
        old.asked = Some(Wanted {
            streams: vec![request("messages", &["subject", "body"]), request("threads", &[])],
            since: Some(at(400)),
            ..Wanted::default()
        });
        let exact = requests(&old, at(100_000)).remove(0);
        assert_eq!(exact.streams.len(), 1, "{exact:?}");
        assert_eq!(
            (exact.streams[0].fields.join(" "), exact.streams[0].since),
            ("subject".into(), Some(at(500)))
        );
        assert_eq!(exact.since, Some(at(400)));
    }

    #[test]
    fn wider_and_narrower_are_told_apart() {
        let old = mail_of_one_account();
        assert_eq!(compare(&old, &old), Difference::default());
        let mut new = grant(
            vec![stream("messages", MAIL, &["c1", "c2"], &["id", "body"])],
            vec![source(MAIL, &["c1", "c2"], &["messages"])],
        );
        let mut streams = new.given.streams().unwrap();
        streams[0].since = Some(at(10));
        new.given = streams.into();
        new.grant_expires_at = Some(at(9_000));
        let found = compare(&old, &new);
        assert_eq!(
            found.more,
            [
                "streams that it did not have: messages (Box c2)",
                "fields that it did not have: messages.body",
                "access for a longer time, until 1970-01-01 02:30 UTC",
            ]
        );
        assert_eq!(
            found.less,
            [
                "missing streams: labels (Box c1)",
                "missing fields: messages.subject",
                "without its earliest records: messages (Box c1)",
            ]
        );
        let back = compare(&new, &old);
        assert_eq!((back.more.len(), back.less.len()), (3, 3), "{back:?}");
        // If instances are not known, sources are compared.
        let less = Credential {
            given: Vec::new().into(),
            sources: vec![source(MAIL, &[], &["messages"])],
            ..old.clone()
        };
        assert_eq!(compare(&old, &less).less, ["missing streams: labels (mail)"]);
    }
}
