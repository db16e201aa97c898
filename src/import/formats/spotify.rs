//! Spotify's streaming history, with music, podcasts and audiobooks: the extended history (`ms_played`), and the last year of it
//! in the account data (`msPlayed`).
//!
//! The short form has the end of a play to the minute, and no track id. A play is therefore identified by what both forms
//! contain: the artist and title, the minute in which it ended, and its duration. If both forms have a play, the extended form
//! counts.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::import::agent_session::name;
use crate::import::chat_export::{beginning, beginning_of, by_account, folder, side_file};
use crate::import::declare::{Registry, StreamLine, connector};
use crate::import::digest;
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit, Whose,
};
use crate::import::table::{self, Copies};
use crate::import::{json_elements, json_value};
use crate::json;
use crate::vault::time;

/// Spotify's streaming history.
pub struct Spotify;

const KEY: &str = "spotify";
const PLAYS: &str = "recently_played";
const LONG: &str = "too long";
const MINUTE_MS: i64 = 60_000;

const STREAMS: [StreamLine; 1] = [StreamLine {
    name: PLAYS,
    key: "id",
    time: "played_at",
    fields: "id:k! track_id:k! track_name:h artist_names:a artist:n album_name:s show_name:s played_at:T! started_at:t \
        ms_played:i kind:g skipped:f incognito:f platform:g country:g source_format:g!",
    relations: "",
}];

/// A record, with its fields in the declared order.
#[derive(Serialize)]
struct Play<'a> {
    id: &'a str,
    track_id: &'a str,
    track_name: Option<&'a str>,
    artist_names: Vec<&'a str>,
    artist: Option<&'a str>,
    album_name: Option<&'a str>,
    show_name: Option<&'a str>,
    played_at: String,
    started_at: Option<String>,
    ms_played: Option<i64>,
    kind: Option<&'a str>,
    skipped: Option<bool>,
    incognito: Option<bool>,
    platform: Option<&'a str>,
    country: Option<&'a str>,
    source_format: &'static str,
}

const EXTENDED: &str = "extended";
const ACCOUNT: &str = "account";

impl Format for Spotify {
    fn name(&self) -> &'static str {
        "spotify"
    }

    fn title(&self) -> &'static str {
        "a Spotify streaming history"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let head = beginning(peek.head);
        let has = |mark: &str| head.contains(mark);
        let is_one = match head.bytes().next()? {
            b'[' => (has("\"ms_played\"") && has("\"ts\"")) || (has("\"msPlayed\"") && has("\"endTime\"")),
            b'{' => is_user(&head),
            _ => false,
        };
        is_one.then_some(Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Upstream, KEY, "Spotify", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let mut units = Vec::new();
        // The user that a file's first plays name, or else the user file in the same folder.
        let mut named: BTreeMap<usize, String> = BTreeMap::new();
        let mut accounts: BTreeMap<&str, String> = BTreeMap::new();
        for (at, member) in members.iter().enumerate() {
            let head = beginning_of(member)?;
            if head.starts_with('{') {
                let user = side_file(member)?;
                let account =
                    ["username", "email"].into_iter().find_map(|key| user[key].as_str().and_then(name));
                accounts.extend(account.map(|account| (folder(member.label), account.to_lowercase())));
                continue;
            }
            units.push(at);
            named.extend(username(&head).map(|user| (at, user)));
        }
        if units.is_empty() {
            return Err(Refused::Unfit {
                why: "this part of a Spotify export has no streaming history: name the folder or the zip file that also has \
                    the files with StreamingHistory or Streaming_History in their names"
                    .to_owned(),
            });
        }
        let mut plans = Vec::new();
        let users: BTreeSet<Option<&String>> = units.iter().map(|at| named.get(at)).collect();
        for user in users {
            let of_user: Vec<usize> = units.iter().copied().filter(|at| named.get(at) == user).collect();
            let own: BTreeMap<&str, String> = match user {
                Some(user) => of_user.iter().map(|at| (folder(members[*at].label), user.clone())).collect(),
                None => accounts.clone(),
            };
            // If all other files name one user, a history without names belongs to that user.
            let only = match (user, own.is_empty(), named.values().next()) {
                (None, true, Some(first)) if named.values().all(|other| other == first) => {
                    Some(first.clone())
                }
                _ => None,
            };
            let own = match only {
                Some(only) => [("", only)].into(),
                None => own,
            };
            plans.extend(by_account(members, of_user, &own, ask, KEY));
        }
        let mut joined: Vec<Plan> = Vec::new();
        for of in plans {
            if let Some(plan) = joined.iter_mut().find(|plan| plan.account == of.account) {
                plan.units.extend(of.units);
                plan.units.sort_by_key(|at| members[*at].label);
                continue;
            }
            let mut notes =
                vec!["IP addresses and the names of programs in the history are not imported.".to_owned()];
            if !of.is_known {
                notes.push(format!(
                    "No Userdata.json names the owner of this history, so the account is called {KEY}. --account gives it another \
                     name, such as the one that your account data was imported into."
                ));
            }
            joined.push(Plan {
                connector: connector.clone(),
                account: of.account,
                units: of.units,
                notes,
                whose: Whose { is_sure: of.owner.is_some(), owner: of.owner.clone(), note: None },
                zone: ask.zone.clone(),
                state: Arc::new(of.owner),
            });
        }
        Ok(joined)
    }

    fn split(&self, _: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        // Plays with the same id are numbered from the first one.
        let mut copies = Copies::default();
        let at = json_elements::scan(&mut unit.bytes, 0, json_elements::LONGEST, &mut |element| {
            let is_long = element.bytes.is_none();
            let bytes = element.bytes.unwrap_or_default();
            let copy = match json_value::read(&bytes) {
                Ok(value) => Heard::of(&value)
                    .map_or(0, |heard| copies.before(table::hash([heard.name(0).as_bytes()]))),
                Err(_) => 0,
            };
            if element.offset < from {
                return ControlFlow::Continue(());
            }
            let facts = if is_long { LONG } else { "" }.to_owned();
            out(Raw { offset: element.offset, next: element.next, line: None, bytes, facts, copy })
        })?;
        Ok(End { at: at.max(from) })
    }

    fn parse(&self, plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        if !raw.facts.is_empty() {
            return Err(Bad("an element of more than 64 MiB"));
        }
        let value = json_value::read(&raw.bytes)?;
        let heard = Heard::of(&value)?;
        let owner = plan.state.downcast_ref::<Option<String>>().and_then(Option::as_deref);
        // The file's first plays belong to another user.
        if let (Some(owner), Some(user)) = (owner, text(&value["username"]))
            && user.to_lowercase() != owner
        {
            return Ok(Parsed::Skipped("played by another user"));
        }
        let id = heard.name(raw.copy);
        let data = serde_json::to_string(&heard.play(&id, &value))
            .map_err(|_| Bad("cannot be written as a record"))?;
        Ok(Parsed::Records(vec![Draft { sighting: Some(data.clone()), ..Draft::new(PLAYS, id, data) }]))
    }

    fn join(&self, _: &str, data: &str, sightings: &[&str]) -> String {
        sightings.iter().copied().max_by_key(|said| rank(said)).unwrap_or(data).to_owned()
    }

    fn is_whole_alone(&self) -> bool {
        true
    }

    fn add_sighting(&self, _: &str, first: &str, second: &str) -> String {
        if rank(second) > rank(first) { second } else { first }.to_owned()
    }
}

/// The extended history has more details. Between two of the same kind, any rule works that does not depend on their order.
fn rank(said: &str) -> (bool, &str) {
    #[derive(Deserialize)]
    struct Source<'a> {
        source_format: &'a str,
    }
    let is_extended =
        serde_json::from_str::<Source<'_>>(said).is_ok_and(|play| play.source_format == EXTENDED);
    (is_extended, said)
}

/// `{"username":"ana31","email":"ana@example.org","country":"CH","birthdate":"1990-01-31",…}`
fn is_user(head: &str) -> bool {
    let has = |mark: &str| head.contains(mark);
    has("\"username\"") && has("\"birthdate\"") && (has("\"creationTime\"") || has("\"gender\""))
}

/// The user name of the first play, which older extended histories have.
fn username(head: &str) -> Option<String> {
    let (_, rest) = head.split_once("\"username\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    // A name with escapes is not read here; the user file may give it.
    let (user, _) = rest.strip_prefix('"')?.split_once('"')?;
    name(user).filter(|user| !user.contains('\\')).map(str::to_lowercase)
}

fn text(value: &Value) -> Option<&str> {
    value.as_str().map(str::trim).and_then(name)
}

/// What both forms say about a play.
struct Heard<'a> {
    /// The track, the episode or the chapter.
    title: Option<&'a str>,
    /// The artist, show or book.
    by: Option<&'a str>,
    uri: Option<&'a str>,
    kind: Option<&'static str>,
    /// Whether it belongs to a show or a book and not to an artist.
    is_spoken: bool,
    author: Option<&'a str>,
    album: Option<&'a str>,
    end_ms: i64,
    ms_played: Option<i64>,
    is_extended: bool,
}

impl<'a> Heard<'a> {
    fn of(value: &'a Value) -> Result<Self, Bad> {
        let get = |key: &str| text(&value[key]);
        let is_extended = value.get("ms_played").is_some() || value.get("ts").is_some();
        let end = if is_extended { &value["ts"] } else { &value["endTime"] };
        let end_ms = end.as_str().and_then(instant).ok_or(Bad("no time"))?;
        let ms_played = json::number(&value[if is_extended { "ms_played" } else { "msPlayed" }])
            .filter(|ms| (0.0..1e15).contains(ms));
        #[allow(clippy::cast_possible_truncation, reason = "the value is within bounds")]
        let ms_played = ms_played.map(|ms| ms as i64);
        let blank = Self {
            title: None,
            by: None,
            uri: None,
            kind: None,
            is_spoken: false,
            author: None,
            album: None,
            end_ms,
            ms_played,
            is_extended,
        };
        if !is_extended {
            let of = |title: &str, by: &str| (get(title), get(by));
            let (title, by, kind) =
                match (of("episodeName", "podcastName"), of("chapterName", "audiobookName")) {
                    ((None, None), (None, None)) => (get("trackName"), get("artistName"), None),
                    ((None, None), (title, by)) => (title, by, Some("audiobook")),
                    ((title, by), _) => (title, by, Some("episode")),
                };
            if title.is_none() && by.is_none() {
                return Err(Bad("neither a title nor an artist"));
            }
            return Ok(Self {
                title,
                by,
                kind,
                is_spoken: kind.is_some(),
                author: get("authorName"),
                ..blank
            });
        }
        let track = get("spotify_track_uri");
        let episode = get("spotify_episode_uri");
        let chapter = get("audiobook_chapter_uri").or_else(|| get("audiobook_uri"));
        if track.is_some() || get("master_metadata_track_name").is_some() {
            return Ok(Self {
                title: get("master_metadata_track_name"),
                by: get("master_metadata_album_artist_name"),
                album: get("master_metadata_album_album_name"),
                uri: track,
                kind: Some("track"),
                ..blank
            });
        }
        if chapter.is_some() || get("audiobook_title").is_some() {
            return Ok(Self {
                title: get("audiobook_chapter_title"),
                by: get("audiobook_title"),
                uri: chapter,
                kind: Some("audiobook"),
                is_spoken: true,
                ..blank
            });
        }
        if episode.is_some() || get("episode_name").is_some() {
            return Ok(Self {
                title: get("episode_name"),
                by: get("episode_show_name"),
                uri: episode,
                kind: Some("episode"),
                is_spoken: true,
                ..blank
            });
        }
        // What was played is unknown, but the play itself is kept.
        Ok(blank)
    }

    /// The id of the play, the same in both forms.
    fn name(&self, copy: u32) -> String {
        let minute = self.end_ms.div_euclid(MINUTE_MS);
        // A play without a name is identified by its URI, which the short form does not have.
        let (title, by) = match (self.title, self.by) {
            (None, None) => (self.uri.unwrap_or_default(), ""),
            (title, by) => (title.unwrap_or_default(), by.unwrap_or_default()),
        };
        let ms_played = self.ms_played.unwrap_or(-1);
        digest::name([
            by.as_bytes(),
            title.as_bytes(),
            &minute.to_be_bytes(),
            &ms_played.to_be_bytes(),
            &copy.to_be_bytes(),
        ])
    }

    fn play<'b>(&'b self, id: &'b str, value: &'b Value) -> Play<'b>
    where
        'a: 'b,
    {
        let get = |key: &str| text(&value[key]);
        let artist = if self.is_spoken { self.author } else { self.by };
        let show = if self.is_spoken { self.by } else { None };
        let started = self.ms_played.and_then(|ms| self.end_ms.checked_sub(ms));
        Play {
            id,
            track_id: self.uri.map_or(id, bare_id),
            track_name: self.title,
            artist_names: artist.into_iter().collect(),
            artist,
            album_name: self.album,
            show_name: show,
            played_at: time::format_ms(self.end_ms),
            started_at: started.map(time::format_ms).filter(|text| !text.is_empty()),
            ms_played: self.ms_played,
            kind: self.kind,
            skipped: value["skipped"].as_bool(),
            incognito: value["incognito_mode"].as_bool(),
            platform: get("platform"),
            country: get("conn_country").filter(|country| *country != "ZZ"),
            source_format: if self.is_extended { EXTENDED } else { ACCOUNT },
        }
    }
}

/// `4uLU6hMCjMI75M1A2tKUQC` from `spotify:track:4uLU6hMCjMI75M1A2tKUQC`. A user's local file has no such id.
fn bare_id(uri: &str) -> &str {
    let mut parts = uri.split(':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("spotify"), Some(kind), Some(id), None) if kind != "local" && !id.is_empty() => id,
        _ => uri,
    }
}

/// Parses `2026-01-31T12:00:00Z`, `2026-01-31 12:00:00` or `2026-01-31 12:00`, all in UTC.
fn instant(written: &str) -> Option<i64> {
    let written = written.trim();
    if written.len() > 40 || written.len() < "2026-01-31 12:00".len() {
        return None;
    }
    time::parse_ms(written).or_else(|| {
        let at: jiff::civil::DateTime = written.parse().ok()?;
        Some(at.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::import::harness::{
        Counts, Kept, ask, assert_twice_is_once_in_any_order, imported, plan, sniff, split,
    };
    use crate::vault::declaration::Aggregation;

    const USER: &[u8] =
        br#"{"username":"Ana31","email":"ana@example.org","country":"CH","createdFromFacebook":false,
        "birthdate":"1990-01-31","gender":"female","creationTime":"2015-01-31"}"#;

    /// A play of the extended history.
    fn played(ts: &str, track: &str, ms: i64) -> Value {
        json!({"ts": ts, "platform": "android", "ms_played": ms, "conn_country": "CH", "ip_addr": "203.0.113.7",
            "user_agent_decrypted": "Agent/1", "master_metadata_track_name": track,
            "master_metadata_album_artist_name": "The Kestrels", "master_metadata_album_album_name": "Moor",
            "spotify_track_uri": format!("spotify:track:{track}0"), "episode_name": null, "episode_show_name": null,
            "spotify_episode_uri": null, "reason_start": "trackdone", "reason_end": "fwdbtn", "shuffle": true, "skipped": false,
            "offline": false, "offline_timestamp": 1_769_860_800, "incognito_mode": true})
    }

    /// The same play in the account data.
    fn short(end: &str, track: &str, ms: i64) -> Value {
        json!({"endTime": end, "artistName": "The Kestrels", "trackName": track, "msPlayed": ms})
    }

    fn file(plays: &[Value]) -> Vec<u8> {
        Value::from(plays.to_vec()).to_string().into_bytes()
    }

    fn import(plays: &[Value]) -> (Kept, Counts) {
        imported(&Spotify, &[("a.json", &file(plays))])
    }

    fn all(kept: &Kept) -> Vec<Value> {
        let mut all: Vec<Value> =
            kept.records.values().map(|data| serde_json::from_str(data).unwrap()).collect();
        all.sort_by_key(|play| play["played_at"].to_string());
        all
    }

    #[test]
    fn o5_1_a_play_is_told_by_its_end_and_its_length() {
        let (kept, counts) = import(&[played("2026-01-31T12:03:00Z", "Reed", 180_500)]);
        assert_eq!((counts.read, counts.new), (1, 1));
        let mut play = all(&kept).remove(0);
        let id = play.as_object_mut().unwrap().remove("id").unwrap();
        assert_eq!(kept.records.keys().next().unwrap().2, id.as_str().unwrap());
        assert_eq!(
            play,
            json!({
                "track_id": "Reed0", "track_name": "Reed", "artist_names": ["The Kestrels"], "artist": "The Kestrels",
                "album_name": "Moor", "show_name": null, "played_at": "2026-01-31T12:03:00.000Z",
                "started_at": "2026-01-31T11:59:59.500Z", "ms_played": 180_500, "kind": "track", "skipped": false,
                "incognito": true, "platform": "android", "country": "CH", "source_format": "extended",
            })
        );
        let data = kept.records.values().next().unwrap();
        assert!(!data.contains("203.0.113.7") && !data.contains("Agent/1"));
    }

    #[test]
    fn o5_1_an_albums_time_is_one_sum() {
        let plans = plan(&Spotify, &[("a", &file(&[short("2026-01-31 12:03", "x", 1)]))], ask()).unwrap();
        assert_eq!(plans[0].connector.id, "https://registry.pdpp.dev/connectors/spotify");
        let stream = plans[0].connector.stream(PLAYS).unwrap();
        for group in ["artist", "album_name", "show_name", "kind"] {
            assert!(stream.field(group).unwrap().aggregations.contains(&Aggregation::GroupBy), "{group}");
        }
        assert!(stream.field("ms_played").unwrap().aggregations.contains(&Aggregation::Sum));
    }

    #[test]
    fn o4_13_a_play_that_both_forms_tell_is_one_and_the_longer_form_counts() {
        let long = file(&[
            played("2026-01-31T12:03:07Z", "Reed", 180_500),
            played("2026-01-31T12:03:40Z", "Reed", 0),
            played("2026-01-31T12:03:50Z", "Reed", 0),
            played("2026-01-31T13:00:00Z", "Late", 10),
        ]);
        let brief = file(&[
            short("2026-01-31 11:00", "Early", 5),
            short("2026-01-31 12:03", "Reed", 180_500),
            short("2026-01-31 12:03", "Reed", 0),
            short("2026-01-31 12:03", "Reed", 0),
            // The same track again, played elsewhere.
            short("2026-01-31 15:03", "Reed", 180_500),
        ]);
        let named: [(&str, &[u8]); 2] = [("long.json", &long), ("brief.json", &brief)];
        for order in [[0, 1], [1, 0]] {
            let mut kept = Kept::default();
            for at in order {
                kept.import(&Spotify, &[named[at]]);
            }
            let plays = all(&kept);
            let of: Vec<(&str, &str)> = plays
                .iter()
                .map(|play| (play["played_at"].as_str().unwrap(), play["source_format"].as_str().unwrap()))
                .collect();
            assert_eq!(
                of,
                [
                    ("2026-01-31T11:00:00.000Z", "account"),
                    ("2026-01-31T12:03:07.000Z", "extended"),
                    ("2026-01-31T12:03:40.000Z", "extended"),
                    ("2026-01-31T12:03:50.000Z", "extended"),
                    ("2026-01-31T13:00:00.000Z", "extended"),
                    ("2026-01-31T15:03:00.000Z", "account"),
                ]
            );
        }
        assert_twice_is_once_in_any_order(&Spotify, &named);
    }

    #[test]
    fn o5_1_podcasts_and_audiobooks_are_no_music() {
        let mut episode = played("2026-01-31T12:03:00Z", "x", 60_000);
        let mut chapter = episode.clone();
        for (play, fields) in [
            (
                &mut episode,
                json!({"episode_name": "Moths", "episode_show_name": "Night", "spotify_episode_uri": "spotify:episode:E1"}),
            ),
            (
                &mut chapter,
                json!({"audiobook_title": "The Moor", "audiobook_chapter_title": "One",
                    "audiobook_uri": "spotify:show:B1", "audiobook_chapter_uri": "spotify:episode:C1"}),
            ),
        ] {
            for name in
                ["spotify_track_uri", "master_metadata_track_name", "master_metadata_album_artist_name"]
            {
                play[name] = Value::Null;
            }
            for (name, value) in fields.as_object().unwrap() {
                play[name] = value.clone();
            }
        }
        let (kept, _) = import(&[episode, chapter]);
        let of = |play: &Value| {
            ["kind", "track_id", "track_name", "show_name", "artist", "album_name"]
                .map(|name| play[name].clone())
        };
        let mut plays: Vec<_> = all(&kept).iter().map(of).collect();
        plays.sort_by_key(|play| play[0].to_string());
        assert_eq!(
            plays[0],
            [json!("audiobook"), json!("C1"), json!("One"), json!("The Moor"), Value::Null, Value::Null]
        );
        assert_eq!(
            plays[1],
            [json!("episode"), json!("E1"), json!("Moths"), json!("Night"), Value::Null, Value::Null]
        );
        // In the account data.
        let (brief, counts) = import(&[
            json!({"endTime": "2026-01-31 12:03", "podcastName": "Night", "episodeName": "Moths", "msPlayed": 60_000}),
            json!({"endTime": "2026-01-31 12:03", "audiobookName": "The Moor", "chapterName": "One", "authorName": "Fen",
                "msPlayed": 60_000}),
        ]);
        assert_eq!(counts.new, 2);
        let keys = |kept: &Kept| kept.records.keys().map(|place| place.2.clone()).collect::<Vec<_>>();
        assert_eq!(keys(&brief), keys(&kept));
        assert!(all(&brief).iter().any(|play| play["artist"] == "Fen" && play["show_name"] == "The Moor"));
    }

    #[test]
    fn what_has_no_uri_or_no_name_is_kept_under_what_it_has() {
        let mut own = played("2026-01-31T12:03:00Z", "Reed", 5);
        own["spotify_track_uri"] = Value::Null;
        let mut local = played("2026-01-31T12:04:00Z", "Reed", 5);
        local["spotify_track_uri"] = "spotify:local:The+Kestrels:Moor:Reed:180".into();
        let mut nameless = played("2026-01-31T12:05:00Z", "Reed", 5);
        nameless["master_metadata_track_name"] = Value::Null;
        nameless["master_metadata_album_artist_name"] = Value::Null;
        let mut unknown = nameless.clone();
        unknown["ts"] = "2026-01-31 12:06:00".into();
        unknown["spotify_track_uri"] = Value::Null;
        unknown["ms_played"] = "no number".into();
        let (kept, counts) = import(&[own, local, nameless, unknown]);
        assert_eq!(counts.new, 4);
        let plays = all(&kept);
        assert_eq!(plays[0]["track_id"], plays[0]["id"]);
        assert_eq!(plays[1]["track_id"], "spotify:local:The+Kestrels:Moor:Reed:180");
        assert_eq!((&plays[2]["track_id"], &plays[2]["track_name"]), (&json!("Reed0"), &Value::Null));
        assert_eq!((&plays[3]["kind"], &plays[3]["started_at"]), (&Value::Null, &Value::Null));
        assert_eq!(plays[3]["played_at"], "2026-01-31T12:06:00.000Z");
    }

    #[test]
    fn odd_elements_are_counted_and_the_next_one_is_read() {
        let whole = played("2026-01-31T12:03:00Z", "Reed", 5);
        let text = format!(
            "[1, {{\"ts\":\"soon\",\"ms_played\":1}}, {{\"endTime\":\"2026-01-31 12:00\",\"msPlayed\":1}}, {{\"a\" 1}}, {whole}]"
        );
        let (kept, counts) = imported(&Spotify, &[("a", text.as_bytes())]);
        assert_eq!(
            counts.bad,
            [("no time", 2), ("neither a title nor an artist", 1), ("not JSON", 1)].into()
        );
        assert_eq!(kept.records.len(), 1);
        // A play that occurs twice was played twice.
        assert_eq!(import(&[whole.clone(), whole]).1.new, 2);
    }

    #[test]
    fn o4_13_two_people_never_join() {
        let of = |user: &str| {
            let mut play = played("2026-01-31T12:03:00Z", "Reed", 5);
            play["username"] = user.into();
            play
        };
        let (ana, ben) = (file(&[of("Ana31"), of("ben7")]), file(&[of("ben7")]));
        let brief = file(&[short("2026-01-31 12:03", "Reed", 5)]);
        let files: [(&str, &[u8]); 4] = [
            ("x/endsong_0.json", &ana),
            ("x/endsong_1.json", &ben),
            ("d/StreamingHistory0.json", &brief),
            ("d/Userdata.json", USER),
        ];
        let plans = plan(&Spotify, &files, ask()).unwrap();
        let mut of: Vec<_> = plans.iter().map(|plan| (plan.account.as_str(), plan.units.clone())).collect();
        of.sort();
        assert_eq!(of, [("ana31", vec![2, 0]), ("ben7", vec![1])]);
        assert!(plans.iter().all(|plan| plan.whose.is_sure && !plan.notes.concat().contains("--account")));
        let (kept, counts) = imported(&Spotify, &files);
        assert_eq!(kept.records.len(), 2);
        assert_eq!(counts.skipped, [("played by another user", 1)].into());
        // A newer extended history has no names. It belongs to the user of the user file next to it, if there is one.
        let new = file(&[played("2026-01-31T12:03:00Z", "Reed", 5)]);
        let with = plan(&Spotify, &[("e/Streaming_History_Audio_2026.json", &new), files[3]], ask()).unwrap();
        assert_eq!((with[0].account.as_str(), with[0].whose.is_sure), ("ana31", true));
        let with = plan(&Spotify, &[("e/a.json", &new), files[0]], ask()).unwrap();
        assert_eq!((with.len(), with[0].account.as_str(), with[0].units.len()), (1, "ana31", 2));
        let without = plan(&Spotify, &[("a.json", &new)], ask()).unwrap();
        assert_eq!((without[0].account.as_str(), without[0].whose.is_sure), (KEY, false));
        assert!(without[0].notes.concat().contains("--account"));
        let mut named = ask();
        named.account = Some("me".to_owned());
        assert_eq!(plan(&Spotify, &[("a.json", &new)], named).unwrap()[0].account, "me");
        assert!(matches!(plan(&Spotify, &files[3..], ask()), Err(Refused::Unfit { .. })));
    }

    #[test]
    fn o5_2_contents_decide_what_is_a_history() {
        for one in [file(&[played("x", "y", 1)]), file(&[short("x", "y", 1)]), USER.to_vec()] {
            assert_eq!(sniff(&Spotify, "x", &one), Some(Sure::Certain));
        }
        for other in
            ["", "[]", "{}", r#"[{"ms_played":1}]"#, r#"{"username":"x"}"#, r#"{"ms_played":1,"ts":2}"#]
        {
            assert_eq!(sniff(&Spotify, "Userdata.json", other.as_bytes()), None, "{other}");
        }
    }

    fn plays() -> impl Strategy<Value = Vec<Value>> {
        let one = (0_u32..3, 0_u32..3, 0_i64..2, any::<bool>()).prop_map(|(minute, track, ms, is_long)| {
            let track = format!("T{track}");
            if is_long {
                played(&format!("2026-01-31T12:0{minute}:30Z"), &track, ms)
            } else {
                short(&format!("2026-01-31 12:0{minute}"), &track, ms)
            }
        });
        proptest::collection::vec(one, 0..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn twice_is_once_no_order_counts_and_cuts_are_mended(first in plays(), second in plays(), limit in 1_usize..4) {
            let files = [file(&first), file(&second)];
            let named: Vec<(&str, &[u8])> = ["a", "b"].into_iter().zip(files.iter().map(|file| &file[..])).collect();
            assert_twice_is_once_in_any_order(&Spotify, &named);
            let mut parts = Kept::default();
            for _ in 0..9 {
                parts.import_some(&Spotify, &named[..1], ask(), limit);
            }
            prop_assert_eq!(parts.records, imported(&Spotify, &named[..1]).0.records);
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40), at in 0_usize..4000) {
            let mut changed = file(&[played("2026-01-31T12:03:00Z", "Reed", 5), short("2026-01-31 12:03", "Reed", 5)]);
            let at = at % changed.len();
            changed.splice(at..at, bytes);
            sniff(&Spotify, "a", &changed);
            let plan = &plan(&Spotify, &[("a", b"[]")], ask()).unwrap()[0];
            let mut unit = Unit { label: "a", modified_ms: None, bytes: Box::new(io::Cursor::new(changed)) };
            let _ = Spotify.split(plan, &mut unit, 0, &mut |raw| {
                let _ = Spotify.parse(plan, &raw);
                ControlFlow::Continue(())
            });
        }
    }

    #[test]
    fn an_import_goes_on_with_the_same_numbers() {
        let same = played("2026-01-31T12:03:00Z", "Reed", 5);
        let whole = file(&[same.clone(), same.clone(), same]);
        let plan = &plan(&Spotify, &[("a", &whole)], ask()).unwrap()[0];
        let (items, _) = split(&Spotify, plan, "a", &whole, 0);
        assert_eq!(items.iter().map(|item| item.copy).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(split(&Spotify, plan, "a", &whole, items[0].next).0, items[1..]);
    }
}
