//! The archive of X (Twitter): `data/tweets.js`, `direct-messages.js`, `like.js` and others. Each assigns to a variable of the
//! page that displays the archive: `window.YTD.tweets.part0 = [ … ]`. A large archive comes in several parts.
//!
//! `account.js` names the owner. Ids are text, because they are larger than a double can hold.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

use jiff::fmt::strtime;
use serde::Serialize;
use serde_json::Value;

use crate::import::agent_session::name;
use crate::import::chat_export::{self, by_account, folder};
use crate::import::declare::{Declared, Registry, StreamLine, connector};
use crate::import::digest;
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit, Whose,
};
use crate::import::{json_elements, json_value};
use crate::vault::time;

/// The archive of X.
pub struct X;

/// The account's name if the archive does not name its owner.
const KEY: &str = "x";
const TWEETS: &str = "tweets";
const LONG_TWEETS: &str = "long_tweets";
const LIKES: &str = "likes";
const DIRECT_MESSAGES: &str = "direct_messages";
/// The longest text before the array of a file, in bytes.
const LONGEST_ASSIGNMENT: usize = 256;
/// The largest `account.js`, in bytes.
const LONGEST_ACCOUNT: usize = 1 << 20;
/// How a shortened link begins.
const SHORT_LINK: &str = "https://t.co/";

const STREAMS: [StreamLine; 4] = [
    StreamLine {
        name: TWEETS,
        key: "id",
        time: "created_at",
        fields: "id:k! text:b created_at:T! is_retweet:f is_reply:f in_reply_to_id:k in_reply_to:s lang:g app:g mentions:a \
                 hashtags:a links:a media:a has_attachment:f favorite_count:i* retweet_count:i* url:u",
        relations: "",
    },
    StreamLine {
        name: LONG_TWEETS,
        key: "id",
        time: "created_at",
        fields: "id:k! text:b created_at:T! mentions:a hashtags:a links:a",
        relations: "",
    },
    StreamLine { name: LIKES, key: "id", time: "", fields: "id:k! text:b url:u", relations: "" },
    StreamLine {
        name: DIRECT_MESSAGES,
        key: "id",
        time: "sent_at",
        fields: "id:k! conversation_id:k! sender_id:k sender:n recipient_id:k text:b sent_at:T kind:g! is_from_me:f is_group:f \
                 links:a media:a has_attachment:f reactions:a*",
        relations: "",
    },
];

const DECLARED: &[Declared] = &[Declared { registry: Registry::Local, key: KEY, streams: &STREAMS }];

#[derive(Serialize)]
struct Tweet<'a> {
    id: &'a str,
    text: Cow<'a, str>,
    created_at: String,
    is_retweet: bool,
    is_reply: bool,
    in_reply_to_id: Option<&'a str>,
    in_reply_to: Option<&'a str>,
    lang: Option<&'a str>,
    app: Option<&'a str>,
    mentions: Vec<&'a str>,
    hashtags: Vec<&'a str>,
    links: Vec<&'a str>,
    media: Vec<&'a str>,
    has_attachment: bool,
    favorite_count: Option<u64>,
    retweet_count: Option<u64>,
    url: String,
}

#[derive(Serialize)]
struct LongTweet<'a> {
    id: &'a str,
    text: Cow<'a, str>,
    created_at: String,
    mentions: Vec<&'a str>,
    hashtags: Vec<&'a str>,
    links: Vec<&'a str>,
}

#[derive(Serialize)]
struct Like<'a> {
    id: &'a str,
    text: Option<Cow<'a, str>>,
    url: Option<&'a str>,
}

#[derive(Serialize)]
struct DirectMessage<'a> {
    id: &'a str,
    conversation_id: &'a str,
    sender_id: Option<&'a str>,
    sender: Option<&'a str>,
    recipient_id: Option<&'a str>,
    text: Option<Cow<'a, str>>,
    sent_at: Option<String>,
    kind: &'a str,
    is_from_me: Option<bool>,
    is_group: bool,
    links: Vec<&'a str>,
    media: Vec<&'a str>,
    has_attachment: bool,
    reactions: Vec<String>,
}

/// The content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Account,
    Tweets,
    LongTweets,
    Likes,
    Messages,
    GroupMessages,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Account, Self::Tweets, Self::LongTweets, Self::Likes, Self::Messages, Self::GroupMessages];

    /// How the facts of an item of such a file mark its kind.
    const fn mark(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Tweets => "tweet",
            Self::LongTweets => "long",
            Self::Likes => "like",
            Self::Messages => "message",
            Self::GroupMessages => "group",
        }
    }

    fn marked(mark: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.mark() == mark)
    }
}

/// The owner, as the archive names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Person {
    id: Option<String>,
    name: Option<String>,
}

/// What [`Format::split`] and [`Format::parse`] need to know.
struct State {
    kinds: HashMap<String, Kind>,
    person: Person,
}

impl Format for X {
    fn name(&self) -> &'static str {
        KEY
    }

    fn title(&self) -> &'static str {
        "an X (Twitter) archive"
    }

    fn declares(&self) -> &'static [Declared] {
        DECLARED
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        kind_of(peek.head).map(|_| Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Local, KEY, "X (Twitter)", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let mut units = Vec::new();
        let mut kinds = HashMap::new();
        let mut people: BTreeMap<&str, Person> = BTreeMap::new();
        for (at, member) in members.iter().enumerate() {
            let unreadable =
                |error: io::Error| Refused::Unreadable(format!("{} cannot be read: {error}", member.label));
            match kind_of(&member.beginning().map_err(unreadable)?) {
                Some(Kind::Account) => {
                    people.insert(folder(member.label), person(member).map_err(unreadable)?);
                }
                Some(kind) => {
                    kinds.insert(member.label.to_owned(), kind);
                    units.push(at);
                }
                None => {}
            }
        }
        if units.is_empty() {
            return Err(Refused::Unfit {
                why: "this part of an X archive has no tweets, likes or direct messages: name the whole archive or its \
                      data folder"
                    .to_owned(),
            });
        }
        let accounts = people
            .iter()
            .filter_map(|(folder, person)| {
                Some((*folder, person.name.clone().or_else(|| person.id.clone())?.to_lowercase()))
            })
            .collect();
        let plans = by_account(members, units, &accounts, ask, KEY).into_iter().map(|of| {
            let person = people
                .values()
                .find(|person| {
                    let named = person.name.as_ref().or(person.id.as_ref());
                    of.owner.as_ref().is_some_and(|owner| {
                        named.is_some_and(|named| named.to_lowercase() == *owner)
                    })
                })
                .cloned()
                .unwrap_or_default();
            let mut notes = vec![
                "Tweets, likes and direct messages are imported. Pictures and videos are listed by name but not imported. \
                 Direct messages give other people only as numbers, and likes have no time."
                    .to_owned(),
            ];
            if !of.is_known {
                notes.push(format!(
                    "No account.js names the owner of this archive, so the account is called {KEY}. --account gives it another \
                     name."
                ));
            }
            // A user name may change and pass to another person. A number never does.
            let owner = person.id.clone().or(of.owner);
            Plan {
                connector: connector.clone(),
                account: of.account,
                units: of.units,
                notes,
                whose: Whose { is_sure: owner.is_some(), owner, note: None },
                zone: ask.zone.clone(),
                state: Arc::new(State { kinds: kinds.clone(), person }),
            }
        });
        Ok(plans.collect())
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let kind = plan.state.downcast_ref::<State>().and_then(|state| state.kinds.get(unit.label));
        let mark = kind.map_or("", |kind| kind.mark());
        let from = if from == 0 {
            skip_assignment(&mut unit.bytes)?
        } else {
            unit.bytes.skip_to(from)?;
            from
        };
        chat_export::elements(unit, from, mark, out)
    }

    fn parse(&self, plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        let Some(kind) = Kind::marked(&raw.facts) else {
            return Err(Bad("an element of more than 64 MiB"));
        };
        let element = json_value::read(&raw.bytes)?;
        match kind {
            Kind::Account => Ok(Parsed::Skipped("the owner of the archive")),
            Kind::Tweets => tweet(within(&element, "tweet")),
            Kind::LongTweets => long_tweet(within(&element, "noteTweet")),
            Kind::Likes => like(within(&element, "like")),
            Kind::Messages | Kind::GroupMessages => {
                let unknown = Person::default();
                let person = plan.state.downcast_ref::<State>().map_or(&unknown, |state| &state.person);
                conversation(within(&element, "dmConversation"), kind == Kind::GroupMessages, person)
            }
        }
    }

    /// Keeps the sighting with the most likes and retweets: only these numbers change between archives, and
    /// they grow.
    fn join(&self, _: &str, data: &str, sightings: &[&str]) -> String {
        let order = |said: &&str| {
            let record = serde_json::from_str::<Value>(said).unwrap_or_default();
            let count = |key: &str| record[key].as_u64().unwrap_or_default();
            let liked = count("favorite_count").saturating_add(count("retweet_count"));
            (liked, said.len(), (*said).to_owned())
        };
        sightings.iter().max_by_key(|said| order(said)).map_or(data, |said| said).to_owned()
    }

    fn is_whole_alone(&self) -> bool {
        true
    }

    fn add_sighting(&self, stream: &str, first: &str, second: &str) -> String {
        self.join(stream, first, &[first, second])
    }
}

/// The content of a file with this beginning, or `None` if it is not read.
fn kind_of(head: &[u8]) -> Option<Kind> {
    let head = chat_export::beginning(&head[..head.len().min(LONGEST_ASSIGNMENT)]).into_owned();
    let (variable, value) = head.split_once('=')?;
    if !value.trim_start().starts_with('[') {
        return None;
    }
    if variable.starts_with("Grailbird.data.tweets_") {
        return Some(Kind::Tweets);
    }
    let (what, part) = variable.trim_end().strip_prefix("window.YTD.")?.split_once('.')?;
    part.strip_prefix("part")?.parse::<u32>().ok()?;
    Some(match what {
        "account" => Kind::Account,
        "tweet" | "tweets" | "community_tweet" => Kind::Tweets,
        "note_tweet" => Kind::LongTweets,
        "like" | "likes" => Kind::Likes,
        "direct_message" | "direct_messages" => Kind::Messages,
        "direct_message_group" | "direct_messages_group" | "direct_message_groups" => Kind::GroupMessages,
        _ => return None,
    })
}

/// Skips the text before the array, and returns its length including the bracket.
fn skip_assignment(bytes: &mut dyn io::BufRead) -> io::Result<u64> {
    let mut read = 0;
    loop {
        let chunk = bytes.fill_buf()?;
        let room = (LONGEST_ASSIGNMENT - read).min(chunk.len());
        if room == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the file has no array"));
        }
        let found = memchr::memchr(b'[', &chunk[..room]);
        let step = found.map_or(room, |at| at + 1);
        bytes.consume(step);
        read += step;
        if found.is_some() {
            return Ok(read as u64);
        }
    }
}

/// The owner, from the first element of `account.js`.
fn person(member: &Member<'_>) -> io::Result<Person> {
    let mut bytes = (member.open)()?;
    let from = skip_assignment(&mut bytes)?;
    let mut person = Person::default();
    json_elements::scan(&mut bytes, from, LONGEST_ACCOUNT, &mut |element| {
        if let Ok(element) = json_value::read(&element.bytes.unwrap_or_default()) {
            let account = within(&element, "account");
            let text = |key: &str| account[key].as_str().and_then(name).map(str::to_owned);
            person = Person { id: text("accountId"), name: text("username") };
        }
        std::ops::ControlFlow::Break(())
    })?;
    Ok(person)
}

/// Returns the inner value: newer archives wrap each element as `{"tweet": {…}}`.
fn within<'a>(element: &'a Value, key: &str) -> &'a Value {
    element.get(key).filter(|inner| inner.is_object()).unwrap_or(element)
}

fn tweet(tweet: &Value) -> Result<Parsed, Bad> {
    if !tweet.is_object() {
        return Err(Bad("not a JSON object"));
    }
    let text = |key: &str| tweet[key].as_str().and_then(name);
    let id = text("id_str").or_else(|| text("id")).ok_or(Bad("no id"))?;
    let created_at = text("created_at").and_then(instant).ok_or(Bad("no time"))?;
    let entities = &tweet["entities"];
    let pictures = list(&tweet["extended_entities"]["media"]).chain(list(&entities["media"]));
    let mut media: Vec<&str> = pictures
        .filter_map(|one| one["media_url_https"].as_str().or_else(|| one["media_url"].as_str()))
        .collect();
    media.sort_unstable();
    media.dedup();
    let links = Links::of(list(&entities["urls"]).chain(list(&entities["media"])));
    let said = tweet["full_text"].as_str().or_else(|| tweet["text"].as_str()).unwrap_or_default();
    let in_reply_to_id = text("in_reply_to_status_id_str").or_else(|| text("in_reply_to_status_id"));
    let in_reply_to = text("in_reply_to_screen_name");
    let record = Tweet {
        id,
        text: links.written_out(unescaped(said)),
        created_at,
        is_retweet: said.starts_with("RT @"),
        is_reply: in_reply_to_id.is_some() || in_reply_to.is_some(),
        in_reply_to_id,
        in_reply_to,
        lang: text("lang"),
        app: text("source").map(between_tags),
        mentions: texts(&entities["user_mentions"], "screen_name"),
        hashtags: texts(&entities["hashtags"], "text"),
        links: list(&entities["urls"]).filter_map(target).collect(),
        has_attachment: !media.is_empty(),
        media,
        favorite_count: count(&tweet["favorite_count"]),
        retweet_count: count(&tweet["retweet_count"]),
        url: format!("https://x.com/i/status/{id}"),
    };
    let data = as_json(&record);
    Ok(Parsed::Records(vec![Draft { sighting: Some(data.clone()), ..Draft::new(TWEETS, id, data) }]))
}

fn long_tweet(tweet: &Value) -> Result<Parsed, Bad> {
    let text = |key: &str| tweet[key].as_str().and_then(name);
    let id = text("noteTweetId").ok_or(Bad("no id"))?;
    let created_at = text("createdAt").and_then(instant).ok_or(Bad("no time"))?;
    let core = &tweet["core"];
    let links = Links::of(list(&core["urls"]));
    let record = LongTweet {
        id,
        text: links.written_out(unescaped(core["text"].as_str().unwrap_or_default())),
        created_at,
        mentions: texts(&core["mentions"], "screenName"),
        hashtags: texts(&core["hashtags"], "text"),
        links: list(&core["urls"]).filter_map(target).collect(),
    };
    Ok(Parsed::Records(vec![Draft::new(LONG_TWEETS, id, as_json(&record))]))
}

fn like(like: &Value) -> Result<Parsed, Bad> {
    let id = like["tweetId"].as_str().and_then(name).ok_or(Bad("no id"))?;
    let record = Like {
        id,
        text: like["fullText"].as_str().map(unescaped),
        url: like["expandedUrl"].as_str().and_then(name),
    };
    Ok(Parsed::Records(vec![Draft::new(LIKES, id, as_json(&record))]))
}

/// Reads the messages of a conversation and its other events.
fn conversation(conversation: &Value, is_group: bool, person: &Person) -> Result<Parsed, Bad> {
    let id = conversation["conversationId"].as_str().and_then(name).ok_or(Bad("no conversation id"))?;
    let events = conversation["messages"].as_array().ok_or(Bad("no messages"))?;
    let mut drafts = Vec::new();
    // Events without an id are told apart by their kind, their time and their order.
    let mut seen: HashMap<(&str, &str), u32> = HashMap::new();
    for (kind, event) in events.iter().filter_map(Value::as_object).flatten() {
        let text = |key: &str| event[key].as_str().and_then(name);
        let time = text("createdAt");
        let made_up;
        let event_id = if let Some(event_id) = text("id").or_else(|| text("eventId")) {
            event_id
        } else {
            let copy = seen.entry((kind, time.unwrap_or_default())).or_default();
            let parts =
                [id.as_bytes(), kind.as_bytes(), time.unwrap_or_default().as_bytes(), &copy.to_be_bytes()];
            made_up = digest::name(parts);
            *copy += 1;
            &made_up
        };
        let sender_id = text("senderId").or_else(|| text("initiatingUserId"));
        let is_from_me = sender_id.and_then(|sender| Some(sender == person.id.as_deref()?));
        let links = Links::of(list(&event["urls"]));
        let said = event["text"].as_str().or_else(|| event["name"].as_str());
        let media: Vec<&str> = list(&event["mediaUrls"]).filter_map(Value::as_str).collect();
        let reactions = list(&event["reactions"]).filter_map(|one| {
            Some(format!("{} {}", one["reactionKey"].as_str()?, one["senderId"].as_str().unwrap_or_default()))
        });
        let record = DirectMessage {
            id: event_id,
            conversation_id: id,
            sender_id,
            sender: if is_from_me == Some(true) { person.name.as_deref().or(sender_id) } else { sender_id },
            recipient_id: text("recipientId").filter(|recipient| *recipient != "0"),
            text: said.map(|said| links.written_out(unescaped(said))),
            sent_at: time.and_then(instant),
            kind: kind_of_event(kind),
            is_from_me,
            is_group,
            links: list(&event["urls"]).filter_map(target).collect(),
            has_attachment: !media.is_empty(),
            media,
            reactions: reactions.collect(),
        };
        let told = record.sent_at.is_none().then_some("a direct message without a time");
        drafts.push(Draft { told, ..Draft::new(DIRECT_MESSAGES, event_id, as_json(&record)) });
    }
    if drafts.is_empty() {
        return Ok(Parsed::Skipped("a conversation without messages"));
    }
    Ok(Parsed::Records(drafts))
}

fn kind_of_event(key: &str) -> &'static str {
    match key {
        "messageCreate" => "message",
        "welcomeMessageCreate" => "welcome",
        "conversationNameUpdate" => "name",
        "participantsJoin" | "joinConversation" => "join",
        "participantsLeave" => "leave",
        "reactionCreate" => "reaction",
        _ => "other",
    }
}

/// Maps shortened links to their targets.
struct Links<'a>(HashMap<&'a str, &'a str>);

impl<'a> Links<'a> {
    fn of(urls: impl Iterator<Item = &'a Value>) -> Self {
        Self(urls.filter_map(|one| Some((one["url"].as_str()?, target(one)?))).collect())
    }

    /// The text with shortened links replaced by their targets.
    fn written_out<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        if self.0.is_empty() || !text.contains(SHORT_LINK) {
            return text;
        }
        let mut whole = String::with_capacity(text.len());
        let mut rest = &*text;
        while let Some(at) = rest.find(SHORT_LINK) {
            let (before, link) = rest.split_at(at);
            let id = &link[SHORT_LINK.len()..];
            let end = SHORT_LINK.len() + id.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(id.len());
            let (link, after) = link.split_at(end);
            whole.push_str(before);
            whole.push_str(self.0.get(link).copied().unwrap_or(link));
            rest = after;
        }
        whole.push_str(rest);
        whole.into()
    }
}

/// The target of a link, which has different names in tweets and in direct messages.
fn target(url: &Value) -> Option<&str> {
    let target = ["expanded_url", "expanded", "expandedUrl"].into_iter().find_map(|key| url[key].as_str());
    target.filter(|target| !target.is_empty())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn texts<'a>(values: &'a Value, key: &'a str) -> Vec<&'a str> {
    list(values).filter_map(move |one| one[key].as_str()).collect()
}

/// A count, which most archives write as text.
fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Parses `Wed Nov 20 12:00:00 +0000 2019`, `2019-11-20T12:00:00.000Z`, or `2013-01-31 12:00:00 +0000` from before 2018.
fn instant(text: &str) -> Option<String> {
    let ms = time::parse_ms(text).or_else(|| {
        ["%a %b %d %H:%M:%S %z %Y", "%Y-%m-%d %H:%M:%S %z"]
            .into_iter()
            .find_map(|form| Some(strtime::parse(form, text).ok()?.to_timestamp().ok()?.as_millisecond()))
    });
    ms.map(time::format_ms)
}

/// The text between the tags of `<a href="…">X for iPhone</a>`.
fn between_tags(source: &str) -> &str {
    let inner = source.split_once('>').map_or(source, |(_, inner)| inner);
    inner.split_once('<').map_or(inner, |(inner, _)| inner)
}

/// The text with the three entities that archives use decoded.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    // The ampersand comes last, so that `&amp;lt;` becomes `&lt;`.
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").into()
}

fn as_json(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::import::harness::{
        Counts, Kept, ask, assert_twice_is_once_in_any_order, imported, plan, sniff, split,
    };

    const ACCOUNT: &[u8] =
        br#"window.YTD.account.part0 = [ { "account" : { "email" : "ana@example.org", "username" : "Ana_H", "accountId" : "42" } } ]"#;

    fn file(variable: &str, elements: &[Value]) -> Vec<u8> {
        format!("window.YTD.{variable} = {:#}", Value::from(elements.to_vec())).into_bytes()
    }

    fn tweet(id: &str, text: &str) -> Value {
        json!({"tweet": {"id": id, "id_str": id, "full_text": text, "created_at": "Wed Nov 20 12:00:00 +0000 2019", "lang": "en",
            "source": "<a href=\"http://x/iphone\" rel=\"nofollow\">X for iPhone</a>", "favorite_count": "3", "retweet_count": "1",
            "entities": {"urls": [], "hashtags": [], "user_mentions": []}}})
    }

    fn record(kept: &Kept, stream: &str, key: &str) -> Value {
        let found = kept.records.iter().find(|((_, of, id), _)| of == stream && id == key);
        found.map_or(Value::Null, |(_, data)| serde_json::from_str(data).unwrap())
    }

    fn import(files: &[(&str, &[u8])]) -> (Kept, Counts) {
        imported(&X, files)
    }

    #[test]
    fn o5_1_a_tweet_has_its_words_and_where_its_links_lead() {
        let mut one = tweet(
            "1196990000000000001",
            "RT @ben: 1 &lt; 2 &amp;amp; https://t.co/aB1 https://t.co/aB12 https://t.co/pic",
        );
        one["tweet"]["entities"] = json!({
            "urls": [{"url": "https://t.co/aB1", "expanded_url": "https://example.org/a&b"}],
            "media": [{"url": "https://t.co/pic", "expanded_url": "https://x.com/a/status/1/photo/1", "media_url_https": "https://pbs/1.jpg"}],
            "hashtags": [{"text": "hage"}], "user_mentions": [{"screen_name": "ben", "id_str": "7"}]});
        one["tweet"]["extended_entities"] = json!({"media": [{"media_url_https": "https://pbs/1.jpg"}, {"media_url_https": "https://pbs/2.jpg"}]});
        one["tweet"]["in_reply_to_status_id_str"] = "5".into();
        one["tweet"]["in_reply_to_screen_name"] = "ben".into();
        let (kept, counts) =
            import(&[("data/tweets.js", &file("tweets.part0", &[one])), ("data/account.js", ACCOUNT)]);
        assert_eq!((counts.read, counts.new), (1, 1));
        assert_eq!(kept.records.keys().next().unwrap().0, "ana_h");
        assert_eq!(
            record(&kept, TWEETS, "1196990000000000001"),
            json!({"id": "1196990000000000001",
                "text": "RT @ben: 1 < 2 &amp; https://example.org/a&b https://t.co/aB12 https://x.com/a/status/1/photo/1",
                "created_at": "2019-11-20T12:00:00.000Z", "is_retweet": true, "is_reply": true, "in_reply_to_id": "5",
                "in_reply_to": "ben", "lang": "en", "app": "X for iPhone", "mentions": ["ben"], "hashtags": ["hage"],
                "links": ["https://example.org/a&b"], "media": ["https://pbs/1.jpg", "https://pbs/2.jpg"],
                "has_attachment": true, "favorite_count": 3, "retweet_count": 1,
                "url": "https://x.com/i/status/1196990000000000001"})
        );
    }

    #[test]
    fn o5_1_direct_messages_of_several_kinds() {
        let direct = json!({"dmConversation": {"conversationId": "42-7", "messages": [
            {"messageCreate": {"id": "900", "senderId": "42", "recipientId": "7", "text": "See https://t.co/x &gt;", "createdAt": "2020-01-02T03:04:05.678Z",
                "urls": [{"url": "https://t.co/x", "expanded": "https://example.org", "display": "example.org"}],
                "mediaUrls": ["https://ton.x.com/dm/900/1/a.jpg"],
                "reactions": [{"senderId": "7", "reactionKey": "like", "eventId": "901", "createdAt": "2020-01-02T03:05:00.000Z"}]}},
            {"messageCreate": {"id": "902", "senderId": "7", "recipientId": "42", "text": "Ja"}}]}});
        let group = json!({"dmConversation": {"conversationId": "555", "messages": [
            {"conversationNameUpdate": {"initiatingUserId": "7", "name": "Hagen", "createdAt": "2020-01-02T03:04:05.000Z"}},
            {"participantsJoin": {"initiatingUserId": "7", "userIds": ["8"], "createdAt": "2020-01-02T03:04:06.000Z"}},
            {"participantsJoin": {"initiatingUserId": "7", "userIds": ["9"], "createdAt": "2020-01-02T03:04:06.000Z"}},
            {"novelty": {"createdAt": "2020-01-02T03:04:07.000Z"}}, 7]}});
        let empty = json!({"dmConversation": {"conversationId": "1-2", "messages": []}});
        let (kept, counts) = import(&[
            ("data/account.js", ACCOUNT),
            (
                "data/direct-messages.js",
                &file("direct_messages.part0", &[direct, empty, json!({"dmConversation": {}})]),
            ),
            ("data/direct-messages-group.js", &file("direct_messages_group.part0", &[group])),
        ]);
        assert_eq!(
            (counts.new, counts.skipped.len(), counts.told["a direct message without a time"]),
            (2, 1, 1)
        );
        assert_eq!(counts.bad, [("no conversation id", 1)].into());
        let first = record(&kept, DIRECT_MESSAGES, "900");
        assert_eq!(
            first,
            json!({"id": "900", "conversation_id": "42-7", "sender_id": "42", "sender": "Ana_H", "recipient_id": "7",
                "text": "See https://example.org >", "sent_at": "2020-01-02T03:04:05.678Z", "kind": "message", "is_from_me": true,
                "is_group": false, "links": ["https://example.org"], "media": ["https://ton.x.com/dm/900/1/a.jpg"],
                "has_attachment": true, "reactions": ["like 7"]})
        );
        let second = record(&kept, DIRECT_MESSAGES, "902");
        assert_eq!(
            (&second["sent_at"], &second["is_from_me"], &second["sender"]),
            (&Value::Null, &json!(false), &json!("7"))
        );
        let mut kinds: Vec<(String, String)> = kept
            .records
            .values()
            .map(|data| serde_json::from_str::<Value>(data).unwrap())
            .filter(|record| record["is_group"] == true)
            .map(|record| {
                (
                    record["kind"].as_str().unwrap().to_owned(),
                    record["text"].as_str().unwrap_or("-").to_owned(),
                )
            })
            .collect();
        kinds.sort();
        let wanted = [("join", "-"), ("join", "-"), ("name", "Hagen"), ("other", "-")];
        assert_eq!(kinds, wanted.map(|(kind, text)| (kind.to_owned(), text.to_owned())));
    }

    #[test]
    fn likes_long_tweets_and_old_archives_are_read() {
        let likes = file(
            "like.part0",
            &[
                json!({"like": {"tweetId": "12", "fullText": "A &amp; B", "expandedUrl": "https://x.com/i/web/status/12"}}),
                json!({}),
            ],
        );
        let long = file(
            "note_tweet.part0",
            &[json!({"noteTweet": {"noteTweetId": "77", "createdAt": "2023-05-01T00:00:00.000Z",
            "core": {"text": "Long https://t.co/q", "urls": [{"shortUrl": "x", "url": "https://t.co/q", "expandedUrl": "https://q.example"}], "mentions": [{"screenName": "ben"}], "hashtags": []}}})],
        );
        let bare = format!("window.YTD.tweet.part0 = {}", json!([tweet("3", "x")["tweet"]]));
        let oldest = br#"Grailbird.data.tweets_2013_01 = [ { "id_str" : "4", "id" : 4, "text" : "Old", "created_at" : "2013-01-31 12:00:00 +0100" } ]"#;
        let (kept, counts) = import(&[
            ("like.js", &likes),
            ("note-tweet.js", &long),
            ("tweet.js", bare.as_bytes()),
            ("data/js/tweets/2013_01.js", oldest),
        ]);
        assert_eq!(counts.bad, [("no id", 1)].into());
        assert_eq!(
            record(&kept, LIKES, "12"),
            json!({"id": "12", "text": "A & B", "url": "https://x.com/i/web/status/12"})
        );
        assert_eq!(record(&kept, LONG_TWEETS, "77")["text"], "Long https://q.example");
        assert_eq!(record(&kept, LONG_TWEETS, "77")["mentions"], json!(["ben"]));
        assert_eq!(record(&kept, TWEETS, "3")["text"], "x");
        assert_eq!(record(&kept, TWEETS, "4")["created_at"], "2013-01-31T11:00:00.000Z");
    }

    #[test]
    fn o2_1_contents_decide_what_is_an_archive() {
        for (label, head) in [
            ("tweets.js", "window.YTD.tweets.part0 = ["),
            ("x", "\u{feff}window.YTD.tweets.part12=[\n"),
            ("account.js", "window.YTD.account.part0 = [ {"),
        ] {
            assert_eq!(sniff(&X, label, head.as_bytes()), Some(Sure::Certain), "{head}");
        }
        for head in [
            "",
            "window.YTD.ad_engagements.part0 = [",
            "window.YTD.tweet_headers.part0 = [",
            "window.YTD.tweets.part0 = {",
            "window.YTD.tweets = [",
            "window.__THAR_CONFIG = {",
            "<!DOCTYPE html>",
            "var tweets = [",
        ] {
            assert_eq!(sniff(&X, "tweets.js", head.as_bytes()), None, "{head}");
        }
    }

    #[test]
    fn o4_13_the_account_is_a_name_and_its_owner_a_number() {
        let tweets = file("tweets.part0", &[tweet("1", "a")]);
        let plans =
            plan(&X, &[("a/data/tweets.js", &tweets), ("a/data/account.js", ACCOUNT)], ask()).unwrap();
        assert_eq!(
            (plans[0].account.as_str(), plans[0].whose.owner.as_deref(), plans[0].whose.is_sure),
            ("ana_h", Some("42"), true)
        );
        assert_eq!(plans[0].connector.id, "https://local.pdpp.invalid/connectors/x");
        let other = br#"window.YTD.account.part0 = [{"account":{"username":"ben","accountId":"7"}}]"#;
        let plans = plan(
            &X,
            &[
                ("a/account.js", ACCOUNT),
                ("a/tweets-part1.js", &file("tweets.part1", &[])),
                ("a/tweets.js", &tweets),
                ("b/account.js", other),
                ("b/tweets.js", &tweets),
            ],
            ask(),
        );
        let found: Vec<_> = plans.unwrap().into_iter().map(|plan| (plan.account, plan.units)).collect();
        assert_eq!(found, [("ana_h".to_owned(), vec![1, 2]), ("ben".to_owned(), vec![4])]);
        let plans = plan(&X, &[("tweets.js", &tweets)], ask()).unwrap();
        assert_eq!((plans[0].account.as_str(), plans[0].whose.is_sure), (KEY, false));
        assert!(plans[0].notes.iter().any(|note| note.contains("--account")));
        let Err(Refused::Unfit { why }) = plan(&X, &[("account.js", ACCOUNT)], ask()) else { panic!() };
        assert!(why.contains("data folder"), "{why}");
    }

    #[test]
    fn a_later_archive_counts_whichever_is_imported_first() {
        let early = file("tweets.part0", &[tweet("1", "a"), tweet("2", "b")]);
        let mut liked = tweet("1", "a");
        liked["tweet"]["favorite_count"] = "12".into();
        let late = file("tweets.part0", &[liked]);
        let files = [("early/tweets.js", &early[..]), ("late/tweets.js", &late[..])];
        assert_twice_is_once_in_any_order(&X, &files);
        let (kept, counts) = import(&files);
        assert_eq!(record(&kept, TWEETS, "1")["favorite_count"], 12);
        assert_eq!((counts.new, counts.changed), (2, 1));
    }

    #[test]
    fn odd_elements_are_counted_and_a_cut_file_is_told() {
        let mut timeless = tweet("2", "b");
        timeless["tweet"]["created_at"] = "soon".into();
        let whole = file("tweets.part0", &[json!(1), timeless, tweet("3", "c")]);
        let (kept, counts) = import(&[("tweets.js", &whole)]);
        assert_eq!(counts.bad, [("not a JSON object", 1), ("no time", 1)].into());
        assert_eq!(kept.records.len(), 1);
        let plan = &plan(&X, &[("tweets.js", &whole)], ask()).unwrap()[0];
        for (cut, kind) in [(whole.len() - 2, io::ErrorKind::UnexpectedEof), (12, io::ErrorKind::InvalidData)]
        {
            let bytes = Box::new(io::Cursor::new(whole[..cut].to_vec()));
            let mut unit = Unit { label: "tweets.js", modified_ms: None, bytes };
            let end = X.split(plan, &mut unit, 0, &mut |_| std::ops::ControlFlow::Continue(()));
            assert_eq!(end.unwrap_err().kind(), kind);
        }
    }

    fn tweets() -> impl Strategy<Value = Vec<Value>> {
        let one = (0_u32..6, 0_u32..3).prop_map(|(id, likes)| {
            let mut one = tweet(&id.to_string(), &format!("said {id}"));
            one["tweet"]["favorite_count"] = likes.to_string().into();
            one
        });
        proptest::collection::vec(one, 0..6)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn twice_is_once_and_no_order_counts(first in tweets(), second in tweets()) {
            let files = [file("tweets.part0", &first), file("tweets.part1", &second)];
            assert_twice_is_once_in_any_order(&X, &[("a/tweets.js", &files[0]), ("b/tweets.js", &files[1])]);
        }

        #[test]
        fn cut_anywhere_and_finished_is_whole(tweets in tweets(), limit in 1_usize..4) {
            let whole = file("tweets.part0", &tweets);
            let (kept, _) = import(&[("a", &whole)]);
            let mut parts = Kept::default();
            for _ in 0..8 {
                parts.import_some(&X, &[("a", &whole)], ask(), limit);
            }
            prop_assert_eq!(parts.records, kept.records);
            let plan = &plan(&X, &[("a", &whole)], ask()).unwrap()[0];
            let (all, end) = split(&X, plan, "a", &whole, 0);
            for (at, raw) in all.iter().enumerate() {
                let (rest, ended) = split(&X, plan, "a", &whole, raw.next);
                prop_assert_eq!((&rest[..], ended), (&all[at + 1..], end));
            }
        }

        #[test]
        fn no_bytes_cause_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), at in 0_usize..3000) {
            let mut changed = file("direct_messages.part0", &[json!({"dmConversation": {"conversationId": "1-2", "messages": [
                {"messageCreate": {"id": "1", "text": "https://t.co/", "urls": [{"url": "https://t.co/", "expanded": "x"}]}}]}})]);
            let at = at % changed.len();
            changed.splice(at..at, bytes);
            sniff(&X, "a", &changed);
            let plan = &plan(&X, &[("a", b"window.YTD.direct_messages.part0 = []")], ask()).unwrap()[0];
            let mut unit = Unit { label: "a", modified_ms: None, bytes: Box::new(io::Cursor::new(changed)) };
            let mut count = 0;
            let _ = X.split(plan, &mut unit, 0, &mut |raw| {
                let _ = X.parse(plan, &raw);
                count += 1;
                std::ops::ControlFlow::Continue(())
            });
            prop_assert!(count < 200);
        }
    }
}
