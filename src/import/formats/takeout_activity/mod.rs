//! Google Takeout activity: videos that were watched on YouTube, and searches, in JSON or in HTML, which is Google's default.
//!
//! Both formats describe the same activities, JSON to the millisecond and HTML to the second. A record therefore has its time to
//! the second, and its id is made of that second and the video's id or the words of the search, so that both formats give the
//! same record. The link shows what an activity is (`links`). Only if there is no link do words of a language decide (`words`).

mod dates;
mod html;
mod links;
mod words;

use std::io::{self, BufRead};
use std::ops::ControlFlow;
use std::sync::Arc;

use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::Value;

use self::dates::{NotRead, Setting};
use self::links::Kind;
use crate::import::agent_session::name;
use crate::import::chat_export::{beginning, beginning_of};
use crate::import::declare::{Registry, StreamLine, connector};
use crate::import::digest;
use crate::import::format::{
    Ask, Bad, DateOrder, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};
use crate::import::table::{self, Copies};
use crate::import::{json_elements, json_value};
use crate::text;
use crate::vault::time;

/// Google Takeout activity.
pub struct TakeoutActivity;

const KEY: &str = "google-takeout";
const WATCHED: &str = "youtube_watch_history";
const SEARCHED: &str = "search_history";
const LONG: &str = "too long";
/// The longest title, and the longest words of a search, that are kept, in bytes.
const LONGEST_TEXT: usize = 16 * 1024;

const STREAMS: [StreamLine; 2] = [
    StreamLine {
        name: WATCHED,
        key: "id",
        time: "watched_at",
        fields: "id:k! watched_at:T! video_title:h video_url:u channel_name:n channel_url:u product:g",
        relations: "",
    },
    StreamLine {
        name: SEARCHED,
        key: "id",
        time: "timestamp",
        fields: "id:k! timestamp:T! query:h! product:g",
        relations: "",
    },
];

#[derive(Serialize)]
struct View<'a> {
    id: &'a str,
    watched_at: String,
    video_title: Option<&'a str>,
    video_url: Option<&'a str>,
    channel_name: Option<&'a str>,
    channel_url: Option<&'a str>,
    product: Option<&'a str>,
}

#[derive(Serialize)]
struct Search<'a> {
    id: &'a str,
    timestamp: String,
    query: &'a str,
    product: Option<&'a str>,
}

/// What [`Format::parse`] needs to know.
struct State {
    day_first: Option<bool>,
}

impl Format for TakeoutActivity {
    fn name(&self) -> &'static str {
        "takeout-activity"
    }

    fn title(&self) -> &'static str {
        "Google Takeout activity"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let head = beginning(peek.head);
        let has = |mark: &str| head.contains(mark);
        match head.bytes().next()? {
            b'[' if has("\"header\"")
                && has("\"title\"")
                && has("\"time\"")
                && (has("\"products\"") || has("\"titleUrl\"")) =>
            {
                Some(Sure::Certain)
            }
            b'<' if has("class=\"outer-cell") && has("mdl-typography--title") => Some(Sure::Certain),
            // A style sheet of 140 KiB comes before the first activity.
            b'<' if !peek.is_whole && has("material-design-lite") && has(".mdl-") && has("<style") => {
                Some(Sure::Likely)
            }
            _ => None,
        }
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Upstream, KEY, "Google Takeout", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let mut notes = vec![
            "Watched videos and searches are imported. Other activities are counted and skipped.".to_owned(),
        ];
        if ask.account.is_none() {
            notes.push(format!(
                "These Takeout files do not name their owner, so the account is called {KEY}. --account gives it another \
                 name."
            ));
        }
        let mut has_html = false;
        for member in members {
            has_html |= beginning_of(member)?.starts_with('<');
        }
        if has_html {
            notes.push(
                "Some of it is HTML, with dates in the account's language. An activity whose date cannot be read reliably is \
                 counted as bad. An export in JSON avoids this: on takeout.google.com, choose JSON as the format of \
                 history and of My Activity."
                    .to_owned(),
            );
        }
        let day_first = match ask.date_order {
            Some(DateOrder::DayMonthYear) => Some(true),
            Some(DateOrder::MonthDayYear) => Some(false),
            Some(DateOrder::YearMonthDay) | None => None,
        };
        Ok(vec![Plan {
            state: Arc::new(State { day_first }),
            ..Plan::of_all(connector, KEY, members, ask, notes)
        }])
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        // Equal activities are numbered from the first one.
        let mut copies = Copies::default();
        let mut give = |offset: u64, next: u64, bytes: Option<Vec<u8>>| {
            let facts = if bytes.is_none() { LONG } else { "" }.to_owned();
            let bytes = bytes.unwrap_or_default();
            let what = Activity::read(&bytes).and_then(|activity| found(plan, &activity));
            let copy = match what {
                Ok(Found::One(what)) => copies.before(table::hash([what.key(0).as_bytes()])),
                _ => 0,
            };
            if offset < from {
                return ControlFlow::Continue(());
            }
            out(Raw { offset, next, line: None, bytes, facts, copy })
        };
        let is_html = is_html(&mut unit.bytes)?;
        let at = if is_html {
            html::cells(&mut unit.bytes, &mut |cell| give(cell.offset, cell.next, cell.bytes))?
        } else {
            json_elements::scan(&mut unit.bytes, 0, json_elements::LONGEST, &mut |element| {
                give(element.offset, element.next, element.bytes)
            })?
        };
        Ok(End { at: at.max(from) })
    }

    fn parse(&self, plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        if !raw.facts.is_empty() {
            return Err(Bad("an activity of more than 16 MiB"));
        }
        let activity = Activity::read(&raw.bytes)?;
        let what = match found(plan, &activity)? {
            Found::One(what) => what,
            Found::Skipped(why) => return Ok(Parsed::Skipped(why)),
        };
        let id = what.key(raw.copy);
        let at = time::format_ms(what.seconds * 1000);
        let data = if what.stream == SEARCHED {
            as_json(&Search { id: &id, timestamp: at, query: &what.of, product: what.product })
        } else {
            let channel = activity.channel.as_ref();
            as_json(&View {
                id: &id,
                watched_at: at,
                video_title: title_of(&activity),
                video_url: activity.url.as_deref(),
                channel_name: channel.and_then(|(called, _)| name(called)),
                channel_url: channel.and_then(|(_, url)| name(url)),
                product: what.product,
            })
        }?;
        let is_gone = what.stream == WATCHED && activity.url.is_none();
        let told = match (what.has_zone, is_gone) {
            (false, _) => Some("a time without a zone, read in the account's zone"),
            (true, true) => Some("a video that no longer exists"),
            (true, false) => None,
        };
        Ok(Parsed::Records(vec![Draft { told, ..Draft::new(what.stream, id, data) }]))
    }
}

fn as_json(record: &impl Serialize) -> Result<String, Bad> {
    serde_json::to_string(record).map_err(|_| Bad("cannot be written as a record"))
}

/// Whether a file is HTML. Does not consume any bytes.
fn is_html(bytes: &mut dyn BufRead) -> io::Result<bool> {
    let head = bytes.fill_buf()?;
    Ok(beginning(&head[..head.len().min(64)]).starts_with('<'))
}

/// The time of an activity.
enum When {
    /// In seconds since 1970.
    At(i64),
    /// Lines, of which one of the last has the date.
    Written(Vec<String>),
    /// The time is not given.
    Unknown,
}

/// An activity in either format.
struct Activity {
    header: String,
    /// All of the text that describes what was done.
    title: String,
    /// The part of the title that names the video or the search, if it is marked.
    named: Option<String>,
    url: Option<String>,
    channel: Option<(String, String)>,
    when: When,
    is_ad: bool,
    controls: Vec<String>,
}

impl Activity {
    fn read(bytes: &[u8]) -> Result<Self, Bad> {
        if bytes.starts_with(html::CELL) {
            return Self::of_html(&String::from_utf8_lossy(bytes));
        }
        let value = json_value::read(bytes)?;
        if !value.is_object() {
            return Err(Bad("not an object"));
        }
        Self::of_json(&value)
    }

    fn of_json(value: &Value) -> Result<Self, Bad> {
        let text = |value: &Value| value.as_str().map(str::trim).unwrap_or_default().to_owned();
        let title = text(&value["title"]);
        let url = text(&value["titleUrl"]);
        if title.is_empty() && url.is_empty() {
            return Err(Bad("no title"));
        }
        let list = |name: &str| value[name].as_array().into_iter().flatten().take(100);
        let channel = list("subtitles").next().map(|first| (text(&first["name"]), text(&first["url"])));
        Ok(Self {
            header: text(&value["header"]),
            title,
            named: None,
            url: Some(url).filter(|url| !url.is_empty()),
            channel: channel.filter(|(name, _)| !name.is_empty()),
            when: value["time"]
                .as_str()
                .and_then(time::parse_ms)
                .map_or(When::Unknown, |ms| When::At(ms.div_euclid(1000))),
            is_ad: list("details").any(|detail| detail["name"].as_str().is_some_and(words::is_ad)),
            controls: list("activityControls").map(text).collect(),
        })
    }

    fn of_html(cell: &str) -> Result<Self, Bad> {
        let html::Said { header, lines, captions } = html::said(cell);
        let mut lines = lines.into_iter();
        let first = lines.next().ok_or(Bad("no title"))?;
        let rest: Vec<html::Line> = lines.collect();
        // The channel is the only other link of a watched video.
        let channel = rest.first().and_then(|line| Some((line.linked.clone()?, line.href.clone()?)));
        Ok(Self {
            header,
            title: first.text,
            named: first.linked,
            url: first.href.filter(|url| !url.is_empty()),
            channel,
            when: When::Written(rest.into_iter().map(|line| line.text).collect()),
            is_ad: captions.iter().any(|caption| words::is_ad(caption)),
            controls: Vec::new(),
        })
    }
}

/// The kind of an activity.
enum Found {
    One(What),
    Skipped(&'static str),
}

/// What identifies an activity.
struct What {
    stream: &'static str,
    seconds: i64,
    /// Whether its time names a zone.
    has_zone: bool,
    product: Option<&'static str>,
    /// The video's id, the words of the search, or the whole title.
    of: String,
}

impl What {
    fn key(&self, copy: u32) -> String {
        // Only some exports distinguish YouTube from YouTube Music, so the product is not part of a video's id.
        let product = if self.stream == WATCHED { "" } else { self.product.unwrap_or_default() };
        digest::name([
            self.stream.as_bytes(),
            &self.seconds.to_be_bytes(),
            product.as_bytes(),
            self.of.as_bytes(),
            &copy.to_be_bytes(),
        ])
    }
}

/// Determines the kind and the time of an activity.
fn found(plan: &Plan, activity: &Activity) -> Result<Found, Bad> {
    if activity.is_ad {
        return Ok(Found::Skipped("an advertisement"));
    }
    let kind = activity.url.as_deref().map(links::kind);
    let (stream, product, of) = match &kind {
        Some(Kind::Video(product, id)) => (WATCHED, Some(*product), id.clone()),
        Some(Kind::Search(product, words)) => (SEARCHED, Some(*product), words.clone()),
        // A product's page, or no link at all: the title decides.
        Some(Kind::Product(_)) | None => {
            let by_link = match &kind {
                Some(Kind::Product(product)) => *product,
                _ => None,
            };
            let product = by_link.or_else(|| by_header(&activity.header));
            let is_youtube = activity.header.starts_with("YouTube");
            if let Some(words) = words::search(&activity.title) {
                (SEARCHED, product, words.to_owned())
            } else if kind.is_none() && is_youtube && words::is_nameless_video(&activity.title) {
                (WATCHED, product, html::clean(&activity.title))
            } else {
                return Ok(Found::Skipped("neither a video nor a search"));
            }
        }
        Some(Kind::Other) => return Ok(Found::Skipped("neither a video nor a search")),
    };
    let product = match product {
        Some("youtube") if activity.header == "YouTube Music" => Some("youtube_music"),
        other => other,
    };
    let at = match &activity.when {
        When::At(seconds) => dates::Instant { seconds: *seconds, has_zone: true },
        When::Unknown => return Err(Bad("no time")),
        When::Written(lines) => dated(lines, plan).map_err(|not_read| match not_read {
            NotRead::Form => Bad("a date in an unknown form"),
            NotRead::Order => Bad("a date in an unclear order: --date-order says whether the day is first"),
            NotRead::Zone => Bad("a date in an unknown zone"),
            NotRead::Zones => Bad("a date whose zone name has several meanings: --timezone names the zone"),
        })?,
    };
    let of = text::prefix(&of, LONGEST_TEXT).to_owned();
    Ok(Found::One(What { stream, seconds: at.seconds, has_zone: at.has_zone, product, of }))
}

/// The name of a video. The title of a private video is its link, and a removed one has none.
fn title_of(activity: &Activity) -> Option<&str> {
    let url = activity.url.as_deref()?;
    let controls: Vec<&str> = activity.controls.iter().map(String::as_str).collect();
    let title = match &activity.named {
        Some(named) => named,
        None => words::video(&activity.title, &controls).unwrap_or(&activity.title),
    };
    let is_link = title == url || title.starts_with("https://") || title.starts_with("http://");
    Some(text::prefix(title, LONGEST_TEXT)).filter(|title| !is_link && !title.is_empty())
}

/// The products that have the same name in every language.
fn by_header(header: &str) -> Option<&'static str> {
    match header {
        "YouTube" => Some("youtube"),
        "YouTube Music" => Some("youtube_music"),
        "Maps" | "Google Maps" => Some("maps"),
        "Google Play" | "Google Play Store" => Some("play"),
        "Search" | "Google Search" => Some("search"),
        _ => None,
    }
}

/// The date in one of the last lines.
fn dated(lines: &[String], plan: &Plan) -> Result<dates::Instant, NotRead> {
    /// How many lines may be checked, because other text, such as an answer, may follow the date.
    const LAST: usize = 8;
    let utc = TimeZone::UTC;
    let zone = if plan.zone.is_unknown() { &utc } else { &plan.zone };
    let day_first = plan.state.downcast_ref::<State>().and_then(|state| state.day_first);
    let setting = Setting { zone, day_first };
    let mut why = NotRead::Form;
    for line in lines.iter().rev().take(LAST) {
        match dates::read(line, &setting) {
            Ok(at) => return Ok(at),
            // The line that is most like a date gives the best reason.
            Err(not_read) => why = why.max(not_read),
        }
    }
    Err(why)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::import::harness::{
        Counts, Kept, ask, assert_twice_is_once_in_any_order, imported, plan, sniff, split,
    };

    fn file(activities: &[Value]) -> Vec<u8> {
        Value::from(activities.to_vec()).to_string().into_bytes()
    }

    fn page(cells: &[String]) -> Vec<u8> {
        let style = "<style type=\"text/css\">.mdl-cell{margin:8px}.outer-cell{}</style>";
        format!(
            "<html><head><title>Activity</title>{style}</head><body><div class=\"mdl-grid\">{}</div></body></html>",
            cells.concat()
        )
        .into_bytes()
    }

    fn cell(header: &str, body: &str, caption: &str) -> String {
        format!(
            "<div class=\"outer-cell mdl-cell mdl-cell--12-col mdl-shadow--2dp\"><div class=\"mdl-grid\"><div \
             class=\"header-cell mdl-cell\"><p class=\"mdl-typography--title\">{header}<br></p></div><div class=\"content-cell \
             mdl-cell mdl-typography--body-1\">{body}</div><div class=\"content-cell mdl-typography--body-1 \
             mdl-typography--text-right\"></div><div class=\"content-cell mdl-typography--caption\"><b>Products:</b><br>\
             &emsp;{header}<br>{caption}</div></div></div>"
        )
    }

    fn watched(id: &str, title: &str, time: &str) -> Value {
        json!({"header": "YouTube", "title": format!("Watched {title}"), "titleUrl": format!("https://www.youtube.com/watch?v={id}"),
            "subtitles": [{"name": "Night Garden", "url": "https://www.youtube.com/channel/c1"}], "time": time,
            "products": ["YouTube"], "activityControls": ["YouTube watch history"]})
    }

    fn watched_cell(id: &str, title: &str, date: &str) -> String {
        let body = format!(
            "Watched\u{a0}<a href=\"https://www.youtube.com/watch?v={id}\">{title}</a><br><a \
             href=\"https://www.youtube.com/channel/c1\">Night Garden</a><br>{date}<br>"
        );
        cell("YouTube", &body, "")
    }

    fn searched(title: &str, link: &str, time: &str) -> Value {
        json!({"header": "Search", "title": title, "titleUrl": link, "time": time, "products": ["Search"]})
    }

    fn all(kept: &Kept, stream: &str) -> Vec<Value> {
        kept.sorted(stream, |record| {
            (record["watched_at"].to_string(), record["timestamp"].to_string(), record["query"].to_string())
        })
    }

    fn import(files: &[(&str, &[u8])]) -> (Kept, Counts) {
        imported(&TakeoutActivity, files)
    }

    #[test]
    fn o5_1_videos_and_searches_become_records() {
        let activities = [
            watched("a", "Moths", "2026-01-31T13:03:22.784Z"),
            searched(
                "Searched for café moor",
                "https://www.google.com/search?q=caf%C3%A9+moor",
                "2026-01-31T13:04:00Z",
            ),
            searched(
                "Nach Moor gesucht",
                "https://www.youtube.com/results?search_query=moor",
                "2026-01-31T13:05:00Z",
            ),
            searched(
                "Visited Moor",
                "https://www.google.com/url?q=https://example.org",
                "2026-01-31T13:06:00Z",
            ),
            json!({"header": "Chrome", "title": "Visited Moor", "titleUrl": "https://example.org/x", "time": "2026-01-31T13:06:00Z",
                "products": ["Chrome"]}),
            json!({"header": "YouTube", "title": "Viewed a post", "titleUrl": "https://www.youtube.com/post/x",
                "time": "2026-01-31T13:06:00Z"}),
        ];
        let (kept, counts) = import(&[("Takeout/Mi actividad/MiActividad.json", &file(&activities))]);
        let mut video = all(&kept, WATCHED).remove(0);
        video.as_object_mut().unwrap().remove("id");
        assert_eq!(
            video,
            json!({
                "watched_at": "2026-01-31T13:03:22.000Z", "video_title": "Moths",
                "video_url": "https://www.youtube.com/watch?v=a", "channel_name": "Night Garden",
                "channel_url": "https://www.youtube.com/channel/c1", "product": "youtube",
            })
        );
        let searches: Vec<_> = all(&kept, SEARCHED)
            .iter()
            .map(|one| (one["query"].clone(), one["product"].clone(), one["timestamp"].clone()))
            .collect();
        assert_eq!(
            searches,
            [
                (json!("café moor"), json!("search"), json!("2026-01-31T13:04:00.000Z")),
                (json!("moor"), json!("youtube"), json!("2026-01-31T13:05:00.000Z")),
            ]
        );
        assert_eq!((counts.read, counts.new), (6, 3));
        assert_eq!(counts.skipped, [("neither a video nor a search", 3)].into());
    }

    #[test]
    fn o5_4_json_and_html_of_one_history_join_by_the_second() {
        let in_json = file(&[
            watched("a", "Moths & <moor>", "2026-01-31T13:03:22.784Z"),
            watched("a", "Moths & <moor>", "2026-01-31T13:03:22.101Z"),
            watched("b", "Reed  \"two\"", "2026-01-31T12:00:00.000Z"),
            json!({"header": "YouTube", "title": "Watched a video that has been removed", "time": "2026-01-31T11:00:00.999Z",
                "products": ["YouTube"]}),
            searched("Searched for moor", "https://www.google.com/search?q=moor", "2026-01-31T10:00:00.5Z"),
        ]);
        let removed = "Watched a video that has been removed<br>Jan 31, 2026, 12:00:00\u{202f}PM CET<br>";
        let found = "Searched for\u{a0}<a href=\"https://www.google.com/search?q=moor&amp;hl=en\">moor</a><br>Jan 31, 2026, \
            11:00:00\u{202f}AM CET<br>";
        let in_html = page(&[
            watched_cell("a", "Moths &amp; &lt;moor&gt;", "Jan 31, 2026, 2:03:22\u{202f}PM CET"),
            watched_cell("a", "Moths &amp; &lt;moor&gt;", "Jan 31, 2026, 2:03:22\u{202f}PM CET"),
            watched_cell("b", "Reed  &quot;two&quot;", "31.01.2026, 13:00:00 MEZ"),
            cell("YouTube", removed, ""),
            cell("Search", found, ""),
        ]);
        let files: [(&str, &[u8]); 2] = [("watch-history.json", &in_json), ("Verlauf.html", &in_html)];
        let (first, counts) = import(&files[..1]);
        let (second, _) = import(&files[1..]);
        assert_eq!(first.records, second.records);
        assert_eq!((counts.new, first.records.len()), (5, 5));
        assert_eq!(counts.told, [("a video that no longer exists", 1)].into());
        assert_twice_is_once_in_any_order(&TakeoutActivity, &files);
        let titles: Vec<_> = all(&first, WATCHED).iter().map(|video| video["video_title"].clone()).collect();
        assert_eq!(
            titles,
            [json!(null), json!("Reed  \"two\""), json!("Moths & <moor>"), json!("Moths & <moor>")]
        );
    }

    #[test]
    fn o5_1_html_in_other_languages_is_read_and_what_is_not_sure_is_told() {
        let german = cell(
            "YouTube",
            "<a href=\"https://www.youtube.com/watch?v=a\">Falter</a> angesehen<br><a href=\"https://www.youtube.com/@g\">Garten</a>\
             <br>31.01.2026, 14:03:22 MEZ<br>",
            "",
        );
        let french = cell(
            "Recherche",
            "Vous avez recherché\u{a0}<a href=\"https://www.google.com/search?q=lande\">lande</a><br>31 janv. 2026, 14:03:23 CET",
            "<b>Lieux :</b><br>&emsp;Chez vous<br>",
        );
        let unknown = watched_cell("u", "X", "31 xyz 2026, 14:03:22 CET");
        let changed = watched_cell("c", "X", "3/4/2026, 14:03:22 CET");
        let zone = watched_cell("z", "X", "Jan 31, 2026, 2:03:22 PM Moor Time");
        let several = watched_cell("s", "X", "Jan 31, 2026, 2:03:22 PM IST");
        let old = watched_cell("o", "X", "Feb 8, 2017, 12:32:36 AM");
        let (kept, counts) =
            import(&[("a.html", &page(&[german, french, unknown, changed, zone, several, old]))]);
        let videos = all(&kept, WATCHED);
        assert_eq!(videos[1]["watched_at"], "2026-01-31T13:03:22.000Z");
        assert_eq!(
            (&videos[1]["video_title"], &videos[1]["channel_name"]),
            (&json!("Falter"), &json!("Garten"))
        );
        assert_eq!(all(&kept, SEARCHED)[0]["query"], "lande");
        assert_eq!(all(&kept, SEARCHED)[0]["timestamp"], "2026-01-31T13:03:23.000Z");
        assert_eq!(
            counts.bad,
            [
                ("a date in an unknown form", 1),
                ("a date in an unclear order: --date-order says whether the day is first", 1),
                ("a date in an unknown zone", 1),
                ("a date whose zone name has several meanings: --timezone names the zone", 1),
            ]
            .into()
        );
        assert_eq!(counts.told, [("a time without a zone, read in the account's zone", 1)].into());
        assert_eq!((counts.read, counts.new), (7, 3));
    }

    #[test]
    fn o4_12_the_persons_answers_make_a_date_sure() {
        let cells = page(&[
            watched_cell("c", "X", "3/4/2026, 14:03:22 UTC"),
            watched_cell("s", "X", "Jan 31, 2026, 2:03:22 PM IST"),
            watched_cell("o", "X", "Jan 31, 2026, 2:03:22 PM"),
        ]);
        let mut said = ask();
        said.zone = TimeZone::get("Asia/Kolkata").unwrap();
        said.date_order = Some(DateOrder::DayMonthYear);
        let mut kept = Kept::default();
        let counts = kept.import_some(&TakeoutActivity, &[("a", &cells)], said, usize::MAX);
        assert_eq!(counts.new, 3);
        let times: Vec<_> = all(&kept, WATCHED).iter().map(|video| video["watched_at"].clone()).collect();
        assert_eq!(
            times,
            ["2026-01-31T08:33:22.000Z", "2026-01-31T08:33:22.000Z", "2026-04-03T14:03:22.000Z"]
        );
    }

    #[test]
    fn o5_1_advertisements_and_removed_and_private_videos_are_told_apart() {
        let mut ad = watched("x", "Buy", "2026-01-31T13:00:00Z");
        ad["details"] = json!([{"name": "From Google Ads"}]);
        let mut german_ad = ad.clone();
        german_ad["details"] = json!([{"name": "Von Google Anzeigen"}]);
        let mut private = watched("p", "https://www.youtube.com/watch?v=p", "2026-01-31T13:01:00Z");
        private.as_object_mut().unwrap().remove("subtitles");
        let removed = json!({"header": "YouTube", "title": "Ein Video angesehen, das entfernt wurde",
            "time": "2026-01-31T13:02:00Z", "products": ["YouTube"]});
        let post = json!({"header": "YouTube", "title": "Viewed a post that is no longer available", "time": "2026-01-31T13:03:00Z"});
        let (kept, counts) = import(&[("a.json", &file(&[ad, german_ad, private, removed, post]))]);
        assert_eq!(counts.skipped, [("an advertisement", 2), ("neither a video nor a search", 1)].into());
        assert_eq!(counts.told, [("a video that no longer exists", 1)].into());
        let videos = all(&kept, WATCHED);
        assert_eq!(
            (&videos[0]["video_title"], &videos[0]["video_url"], &videos[0]["channel_name"]),
            (&Value::Null, &json!("https://www.youtube.com/watch?v=p"), &Value::Null)
        );
        assert_eq!((&videos[1]["video_title"], &videos[1]["video_url"]), (&Value::Null, &Value::Null));
        let html_ad = cell(
            "YouTube",
            "Watched\u{a0}<a href=\"https://www.youtube.com/watch?v=x\">Buy</a><br>Jan 31, 2026, 2:00:00 PM CET<br>",
            "<b>Details:</b><br>&emsp;From Google Ads<br>",
        );
        let (_, counts) = import(&[("a.html", &page(&[html_ad]))]);
        assert_eq!(counts.skipped, [("an advertisement", 1)].into());
    }

    #[test]
    fn o5_1_products_are_told_by_links_and_titles_lose_their_languages_words() {
        let titles = [
            ("Watched Moths", "https://music.youtube.com/watch?v=a"),
            ("Moths angesehen", "https://www.youtube.com/watch?v=b"),
            ("Moths を視聴しました", "https://www.youtube.com/watch?v=c"),
            ("Lost words Moths", "https://www.youtube.com/watch?v=d"),
        ];
        let mut activities: Vec<Value> = titles
            .iter()
            .enumerate()
            .map(|(second, (title, link))| searched(title, link, &format!("2026-01-31T13:00:0{second}Z")))
            .collect();
        activities[1]["header"] = "YouTube Music".into();
        let (kept, _) = import(&[("a.json", &file(&activities))]);
        let told: Vec<_> = all(&kept, WATCHED)
            .iter()
            .map(|video| (video["video_title"].clone(), video["product"].clone()))
            .collect();
        assert_eq!(
            told,
            [
                (json!("Moths"), json!("youtube_music")),
                (json!("Moths"), json!("youtube_music")),
                (json!("Moths"), json!("youtube")),
                (json!("Lost words Moths"), json!("youtube")),
            ]
        );
        // Without a link, words of a language identify a search.
        let bare = json!({"header": "Maps", "title": "Searched for moor", "time": "2026-01-31T13:00:00Z", "products": ["Maps"]});
        let (kept, _) = import(&[("a.json", &file(&[bare]))]);
        assert_eq!(
            (&all(&kept, SEARCHED)[0]["query"], &all(&kept, SEARCHED)[0]["product"]),
            (&json!("moor"), &json!("maps"))
        );
    }

    #[test]
    fn o5_2_contents_decide_and_streams_are_upstreams() {
        let json = file(&[watched("a", "Moths", "2026-01-31T13:00:00Z")]);
        let html = page(&[watched_cell("a", "Moths", "Jan 31, 2026, 2:03:22 PM CET")]);
        for one in [&json, &html] {
            assert_eq!(sniff(&TakeoutActivity, "x", one), Some(Sure::Certain));
        }
        // A style sheet before the first activity may be longer than the head that is read.
        let text = String::from_utf8(html).unwrap();
        let long = text.replace(
            "<style type=\"text/css\">",
            &format!(
                "<style type=\"text/css\">/* material-design-lite */ .mdl-button{{}}{}",
                " ".repeat(140_000)
            ),
        );
        assert_eq!(sniff(&TakeoutActivity, "x", long.as_bytes()), Some(Sure::Likely));
        assert_eq!(import(&[("x", long.as_bytes())]).1.new, 1);
        for other in
            ["", "[]", "<html><body>hello</body></html>", r#"[{"title":"x","time":"y"}]"#, r#"{"header":1}"#]
        {
            assert_eq!(sniff(&TakeoutActivity, "watch-history.json", other.as_bytes()), None, "{other}");
        }
        let plans = plan(&TakeoutActivity, &[("x", long.as_bytes()), ("y", &json)], ask()).unwrap();
        assert_eq!(plans[0].connector.id, "https://registry.pdpp.dev/connectors/google-takeout");
        assert_eq!((plans.len(), plans[0].account.as_str()), (1, KEY));
        let notes = plans[0].notes.concat();
        assert!(notes.contains("JSON") && notes.contains("--account"), "{notes}");
    }

    #[test]
    fn odd_activities_are_counted_and_the_next_one_is_read() {
        let whole = watched("a", "Moths", "2026-01-31T13:00:00Z");
        let mut timeless = whole.clone();
        timeless["time"] = "soon".into();
        let text = format!("[1, {{}}, {{\"a\" 1}}, {timeless}, {whole}]");
        let (kept, counts) = import(&[("a", text.as_bytes())]);
        assert_eq!(
            counts.bad,
            [("not an object", 1), ("no title", 1), ("not JSON", 1), ("no time", 1)].into()
        );
        assert_eq!(kept.records.len(), 1);
        let empty = cell("YouTube", "", "");
        let long = cell("YouTube", &"x".repeat(17 << 20), "");
        let good = watched_cell("a", "Moths", "Jan 31, 2026, 2:00:00 PM CET");
        let (kept, counts) = import(&[("a", &page(&[empty, long, good]))]);
        assert_eq!(counts.bad, [("no title", 1), ("an activity of more than 16 MiB", 1)].into());
        assert_eq!(kept.records.len(), 1);
    }

    #[test]
    fn an_import_goes_on_with_the_same_numbers() {
        let json = file(&vec![watched("a", "Moths", "2026-01-31T13:00:00Z"); 3]);
        let html = page(&vec![watched_cell("a", "Moths", "Jan 31, 2026, 2:00:00 PM CET"); 3]);
        let plan = &plan(&TakeoutActivity, &[("a", &json)], ask()).unwrap()[0];
        for whole in [json, html] {
            let (items, _) = split(&TakeoutActivity, plan, "a", &whole, 0);
            assert_eq!(items.iter().map(|item| item.copy).collect::<Vec<_>>(), [0, 1, 2]);
            assert_eq!(split(&TakeoutActivity, plan, "a", &whole, items[0].next).0, items[1..]);
        }
    }

    fn histories() -> impl Strategy<Value = Vec<u8>> {
        let one = (0_u32..4, 0_u32..3);
        (proptest::collection::vec(one, 0..6), any::<bool>()).prop_map(|(list, is_html)| {
            if is_html {
                let cells = list.iter().map(|(second, id)| {
                    watched_cell(
                        &id.to_string(),
                        &format!("T{id}"),
                        &format!("Jan 31, 2026, 2:00:0{second} PM CET"),
                    )
                });
                page(&cells.collect::<Vec<_>>())
            } else {
                let activities = list.iter().map(|(second, id)| {
                    watched(&id.to_string(), &format!("T{id}"), &format!("2026-01-31T13:00:0{second}.{id}Z"))
                });
                file(&activities.collect::<Vec<_>>())
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn twice_is_once_no_order_counts_and_cuts_are_mended(
            first in histories(),
            second in histories(),
            limit in 1_usize..4,
        ) {
            let named: [(&str, &[u8]); 2] = [("a", &first), ("b", &second)];
            assert_twice_is_once_in_any_order(&TakeoutActivity, &named);
            let mut parts = Kept::default();
            for _ in 0..7 {
                parts.import_some(&TakeoutActivity, &named[..1], ask(), limit);
            }
            prop_assert_eq!(parts.records, import(&named[..1]).0.records);
        }

        #[test]
        fn random_bytes_never_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
            at in 0_usize..4000,
            is_html in any::<bool>(),
        ) {
            let mut changed = if is_html {
                page(&vec![watched_cell("a", "Moths", "Jan 31, 2026, 2:00:00 PM CET"); 2])
            } else {
                file(&vec![watched("a", "Moths", "2026-01-31T13:00:00Z"); 2])
            };
            let at = at % changed.len();
            changed.splice(at..at, bytes);
            sniff(&TakeoutActivity, "a", &changed);
            let plan = &plan(&TakeoutActivity, &[("a", b"[]")], ask()).unwrap()[0];
            let mut unit = Unit { label: "a", modified_ms: None, bytes: Box::new(io::Cursor::new(changed)) };
            let _ = TakeoutActivity.split(plan, &mut unit, 0, &mut |raw| {
                let _ = TakeoutActivity.parse(plan, &raw);
                ControlFlow::Continue(())
            });
        }
    }
}
