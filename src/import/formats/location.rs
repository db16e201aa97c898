//! Google location history, in each of its formats: `locations` (Records.json), a month of `timelineObjects` (Semantic Location
//! History), the export of an Android phone (`semanticSegments`, `rawSignals`), and an iPhone's array.
//!
//! A point has no id except its content. Two formats describe the same hour differently, so both sets of records are kept, each
//! with its `source_format`.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::import::agent_session::name;
use crate::import::chat_export::{beginning, beginning_of};
use crate::import::declare::{Registry, StreamLine, connector};
use crate::import::digest;
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};
use crate::import::{json_elements, json_tree, json_value};
use crate::json;
use crate::vault::time;

/// Google location history.
pub struct Location;

const KEY: &str = "google-maps";
const POINTS: &str = "timeline_points";
const SEGMENTS: &str = "timeline_segments";
/// How the facts of an item begin if it is too long.
const LONG: &str = "too long: ";
/// The most points of one path.
const MOST_POINTS: usize = 100_000;
/// The most visits within a visit.
const MOST_CHILDREN: usize = 1_000;

const STREAMS: [StreamLine; 2] = [
    StreamLine {
        name: POINTS,
        key: "id",
        time: "timestamp",
        fields: "id:k! timestamp:T! latitude:q! longitude:q! accuracy_meters:q altitude_m:q velocity_mps:q activity_type:g \
            source_format:g! source_kind:g!",
        relations: "",
    },
    StreamLine {
        name: SEGMENTS,
        key: "id",
        time: "start_time",
        fields: "id:k! start_time:T! end_time:t duration_seconds:i segment_kind:h! place_name:s address:x place_id:k \
            semantic_type:g activity_type:g distance_meters:m probability:q latitude:q longitude:q utc_offset_minutes:q \
            source_format:g! unrecognized_kind:g",
        relations: "",
    },
];

/// A point. There may be millions of them, so absent fields are not written.
#[derive(Serialize)]
struct Point {
    id: String,
    timestamp: String,
    latitude: f64,
    longitude: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy_meters: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    altitude_m: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    velocity_mps: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    activity_type: Option<String>,
    source_format: &'static str,
    source_kind: &'static str,
}

#[derive(Serialize, Default)]
struct Span<'a> {
    id: String,
    start_time: String,
    end_time: Option<String>,
    duration_seconds: Option<i64>,
    segment_kind: &'static str,
    place_name: Option<&'a str>,
    address: Option<&'a str>,
    place_id: Option<&'a str>,
    semantic_type: Option<&'a str>,
    activity_type: Option<&'a str>,
    distance_meters: Option<f64>,
    probability: Option<f64>,
    latitude: Option<f64>,
    longitude: Option<f64>,
    utc_offset_minutes: Option<i64>,
    source_format: &'static str,
    unrecognized_kind: Option<String>,
}

/// A position: degrees north and east.
type Place = (f64, f64);

impl Format for Location {
    fn name(&self) -> &'static str {
        "location"
    }

    fn title(&self) -> &'static str {
        "a Google location history"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let head = beginning(peek.head);
        let has = |mark: &str| head.contains(mark);
        let is_one = match head.bytes().next()? {
            b'{' => {
                (has("\"locations\"") && (has("E7\"") || has("\"timestampMs\"")))
                    || has("\"timelineObjects\"")
                    || has("\"semanticSegments\"")
                    || (has("\"rawSignals\"") && (has("\"wifiScan\"") || has("\"position\"")))
                    || (has("\"timelineEdits\"") && has("\"rawSignal\""))
            }
            b'[' => {
                has("\"startTime\"")
                    && has("\"endTime\"")
                    && (has("\"timelinePath\"") || has("\"topCandidate\"") || has("\"timelineMemory\""))
            }
            _ => false,
        };
        is_one.then_some(Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Upstream, KEY, "Google Maps", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let mut notes = vec![
            "A location history shows where you were, where you live and work, and when. Names of Wi-Fi networks are not imported."
                .to_owned(),
        ];
        if ask.account.is_none() {
            notes.push(format!(
                "A location history does not name its owner, so the account is called {KEY}. --account gives it another name."
            ));
        }
        let mut shapes: BTreeMap<&'static str, usize> = BTreeMap::new();
        for member in members {
            *shapes.entry(shape(&beginning_of(member)?)).or_default() += 1;
        }
        if shapes.len() > 1 {
            notes.push(
                "These files describe the same days in different formats. All are kept, and source_format shows which one a record comes from."
                    .to_owned(),
            );
        }
        Ok(vec![Plan::of_all(connector, KEY, members, ask, notes)])
    }

    fn split(&self, _: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        // The member that an element belongs to is named before the element, so the scan starts at the beginning.
        let at = json_tree::scan_members(&mut unit.bytes, json_elements::LONGEST, &mut |name, element| {
            if element.offset < from {
                return ControlFlow::Continue(());
            }
            let is_long = if element.bytes.is_none() { LONG } else { "" };
            out(Raw {
                offset: element.offset,
                next: element.next,
                line: None,
                bytes: element.bytes.unwrap_or_default(),
                facts: format!("{is_long}{name}"),
                copy: 0,
            })
        })?;
        Ok(End { at: at.max(from) })
    }

    fn parse(&self, _: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        if raw.facts.starts_with(LONG) {
            return Err(Bad("an element of more than 64 MiB"));
        }
        match raw.facts.as_str() {
            "" | "locations" | "timelineObjects" | "semanticSegments" | "rawSignals" | "timelineEdits" => {}
            "userLocationProfile" => return Ok(Parsed::Skipped("the phone's profile of you")),
            _ => return Ok(Parsed::Skipped("another part of the export")),
        }
        let element = json_value::read(&raw.bytes)?;
        if !element.is_object() {
            return Err(Bad("not an object"));
        }
        let mut found = Found::default();
        match raw.facts.as_str() {
            "locations" => return found.record(&element),
            "rawSignals" => return found.signal(&element["position"], "semantic_segments"),
            "timelineEdits" => {
                return found.signal(&element["rawSignal"]["signal"]["position"], "timeline_edits");
            }
            "semanticSegments" => found.segment(&element, "semantic_segments")?,
            // An iPhone's element, or a month's objects without the enclosing object.
            _ if element.get("placeVisit").is_some() || element.get("activitySegment").is_some() => {
                found.object(&element)?;
            }
            "" => found.segment(&element, "ios_timeline")?,
            _ => return Ok(Parsed::Skipped("neither a visit nor a journey")),
        }
        Ok(Parsed::Records(found.drafts()))
    }
}

/// Which format a file has.
fn shape(head: &str) -> &'static str {
    if head.starts_with('[') {
        return "array";
    }
    ["semanticSegments", "rawSignals", "timelineObjects", "timelineEdits"]
        .into_iter()
        .find(|shape| head.contains(&format!("\"{shape}\"")))
        .map_or("locations", |shape| if shape == "rawSignals" { "semanticSegments" } else { shape })
}

/// The records of an item.
#[derive(Default)]
struct Found {
    points: BTreeMap<String, String>,
    segments: Vec<(String, String)>,
    /// How many segments have had the same id.
    named: BTreeMap<String, u32>,
}

impl Found {
    fn drafts(self) -> Vec<Draft> {
        let segments = self.segments.into_iter().map(|(id, data)| Draft::new(SEGMENTS, id, data));
        segments.chain(self.points.into_iter().map(|(id, data)| Draft::new(POINTS, id, data))).collect()
    }

    fn point(&mut self, mut point: Point) {
        if self.points.len() >= MOST_POINTS {
            return;
        }
        // All of a point's content identifies it, because two devices may report different things at one moment.
        let data = as_json(&point);
        point.id = digest::name([data.as_bytes()]);
        let data = as_json(&point);
        self.points.insert(point.id, data);
    }

    /// Adds a point, if both its time and its position are known.
    fn at(&mut self, ms: Option<i64>, place: Option<Place>, format: &'static str, kind: &'static str) {
        if let (Some(ms), Some(place)) = (ms, place) {
            self.point(Point { source_kind: kind, ..bare(ms, place, format) });
        }
    }

    fn add(&mut self, ms: Ends, level: u32, mut segment: Span<'_>) -> &mut Self {
        let Some(start) = ms.0 else { return self };
        segment.start_time = time::format_ms(start);
        segment.end_time = ms.1.map(time::format_ms);
        segment.duration_seconds = ms.1.and_then(|end| end.checked_sub(start)).map(|lasted| lasted / 1000);
        let end = segment.end_time.as_deref().unwrap_or_default();
        // A shop in a mall may be visited at the same time as the mall.
        let level = level.to_string();
        let parts = [segment.source_format, segment.segment_kind, &level, &segment.start_time, end];
        let id = digest::name(parts.map(str::as_bytes));
        let before = self.named.entry(id.clone()).or_default();
        segment.id = match *before {
            0 => id,
            more => digest::name([id.as_bytes(), &more.to_be_bytes()]),
        };
        *before += 1;
        self.segments.push((segment.id.clone(), as_json(&segment)));
        self
    }

    /// Reads an element of `locations`.
    fn record(mut self, element: &Value) -> Result<Parsed, Bad> {
        let ms = instant(&element["timestamp"])
            .or_else(|| instant(&element["timestampMs"]))
            .ok_or(Bad("no time"))?;
        if element.get("latitudeE7").is_none() {
            return Ok(Parsed::Skipped("a measurement without a place"));
        }
        let place = place(element).ok_or(Bad("no valid position"))?;
        self.point(Point {
            accuracy_meters: measure(&element["accuracy"]),
            altitude_m: json::number(&element["altitude"]),
            velocity_mps: measure(&element["velocity"]),
            activity_type: likeliest(element),
            source_kind: "raw_location",
            ..bare(ms, place, "legacy_records")
        });
        Ok(Parsed::Records(self.drafts()))
    }

    /// Reads a phone's measurement.
    fn signal(mut self, position: &Value, format: &'static str) -> Result<Parsed, Bad> {
        if !position.is_object() {
            return Ok(Parsed::Skipped("a signal without a place"));
        }
        let ms = instant(&position["timestamp"]).ok_or(Bad("no time"))?;
        let place = place(position).ok_or(Bad("no valid position"))?;
        let accuracy = measure(&position["accuracyMeters"])
            .or_else(|| measure(&position["accuracyMm"]).map(|thousandths| thousandths / 1000.0));
        self.point(Point {
            accuracy_meters: accuracy,
            altitude_m: json::number(&position["altitudeMeters"]),
            velocity_mps: measure(&position["speedMetersPerSecond"]),
            source_kind: "raw_location",
            ..bare(ms, place, format)
        });
        Ok(Parsed::Records(self.drafts()))
    }

    /// Reads a segment in the format of a phone's export.
    fn segment(&mut self, element: &Value, format: &'static str) -> Result<(), Bad> {
        let ends = (instant(&element["startTime"]), instant(&element["endTime"]));
        let (visit, activity) = (&element["visit"], &element["activity"]);
        let start = ends.0.ok_or(Bad("no time"))?;
        let offset = json::number(&element["startTimeTimezoneUtcOffsetMinutes"])
            .map(whole)
            .or_else(|| element["startTime"].as_str().and_then(offset_of));
        let blank = Span { utc_offset_minutes: offset, source_format: format, ..Span::default() };
        let path = element["timelinePath"].as_array();
        if visit.is_object() {
            let top = &visit["topCandidate"];
            let place = place(&top["placeLocation"]).or_else(|| place(&visit["placeLocation"]));
            let level = json::number(&visit["hierarchyLevel"]).map_or(0, whole);
            self.add(
                ends,
                u32::try_from(level).unwrap_or(0),
                Span {
                    segment_kind: "visit",
                    place_id: text(&top["placeId"]).or_else(|| text(&top["placeID"])),
                    semantic_type: text(&top["semanticType"]),
                    probability: chance(&top["probability"]).or_else(|| chance(&visit["probability"])),
                    latitude: place.map(|place| place.0),
                    longitude: place.map(|place| place.1),
                    ..blank
                },
            )
            .at(ends.0, place, format, "visit_location");
        } else if activity.is_object() {
            let top = &activity["topCandidate"];
            let from = place(&activity["start"]);
            self.add(
                ends,
                0,
                Span {
                    segment_kind: "activity",
                    activity_type: text(&top["type"]),
                    distance_meters: measure(&activity["distanceMeters"]),
                    probability: chance(&top["probability"]),
                    latitude: from.map(|place| place.0),
                    longitude: from.map(|place| place.1),
                    ..blank
                },
            );
            self.at(ends.0, from, format, "activity_start");
            self.at(ends.1, place(&activity["end"]), format, "activity_end");
        } else if path.is_some() {
            self.add(ends, 0, Span { segment_kind: "path", ..blank });
        } else {
            let known = |name: &str| name.starts_with("startTime") || name.starts_with("endTime");
            let other = element.as_object().into_iter().flatten().map(|(name, _)| name);
            let kind = other.filter(|key| !known(key)).find_map(|key| name(key)).map(str::to_owned);
            self.add(ends, 0, Span { segment_kind: "unrecognized", unrecognized_kind: kind, ..blank });
        }
        for step in path.into_iter().flatten() {
            let ms = instant(&step["time"]).or_else(|| {
                let minutes = json::number(&step["durationMinutesOffsetFromStartTime"])?;
                start.checked_add(whole(minutes * 60_000.0))
            });
            self.at(ms, place(&step["point"]), format, "timeline_path");
        }
        Ok(())
    }

    /// Reads an element of `timelineObjects`.
    fn object(&mut self, element: &Value) -> Result<(), Bad> {
        const FORMAT: &str = "timeline_objects";
        let activity = &element["activitySegment"];
        if activity.is_object() {
            let ends = ends_of(activity);
            let start = ends.0.ok_or(Bad("no time"))?;
            let from = place(&activity["startLocation"]);
            self.add(
                ends,
                0,
                Span {
                    segment_kind: "activity",
                    activity_type: text(&activity["activityType"]),
                    distance_meters: measure(&activity["distance"]),
                    latitude: from.map(|place| place.0),
                    longitude: from.map(|place| place.1),
                    source_format: FORMAT,
                    ..Span::default()
                },
            );
            self.at(Some(start), from, FORMAT, "activity_start");
            self.at(ends.1, place(&activity["endLocation"]), FORMAT, "activity_end");
            self.raw_path(activity, FORMAT);
        }
        if element["placeVisit"].is_object() {
            self.visit(&element["placeVisit"], 0, FORMAT)?;
        }
        Ok(())
    }

    fn visit(&mut self, visit: &Value, level: u32, format: &'static str) -> Result<(), Bad> {
        let ends = ends_of(visit);
        let start = ends.0.ok_or(Bad("no time"))?;
        let at = &visit["location"];
        let place = place(at).or_else(|| e7_pair(&visit["centerLatE7"], &visit["centerLngE7"]));
        self.add(
            ends,
            level,
            Span {
                segment_kind: "visit",
                place_name: text(&at["name"]),
                address: text(&at["address"]),
                place_id: text(&at["placeId"]),
                semantic_type: text(&at["semanticType"]),
                probability: chance(&at["locationConfidence"]).or_else(|| {
                    json::number(&visit["visitConfidence"]).and_then(|percent| only_chance(percent / 100.0))
                }),
                latitude: place.map(|place| place.0),
                longitude: place.map(|place| place.1),
                source_format: format,
                ..Span::default()
            },
        );
        self.at(Some(start), place, format, "visit_location");
        self.raw_path(visit, format);
        if level == 0 {
            for child in visit["childVisits"].as_array().into_iter().flatten().take(MOST_CHILDREN) {
                // A child visit without its own time is already covered by this one.
                let _ = self.visit(child, 1, format);
            }
        }
        Ok(())
    }

    fn raw_path(&mut self, of: &Value, format: &'static str) {
        for step in of["simplifiedRawPath"]["points"].as_array().into_iter().flatten() {
            let ms = instant(&step["timestamp"]).or_else(|| instant(&step["timestampMs"]));
            if let (Some(ms), Some(place)) = (ms, place(step)) {
                self.point(Point {
                    accuracy_meters: measure(&step["accuracyMeters"]),
                    source_kind: "timeline_path",
                    ..bare(ms, place, format)
                });
            }
        }
    }
}

/// The beginning and the end of a segment.
type Ends = (Option<i64>, Option<i64>);

fn ends_of(element: &Value) -> Ends {
    let duration = &element["duration"];
    let at = |name: &str, in_ms: &str| instant(&duration[name]).or_else(|| instant(&duration[in_ms]));
    (at("startTimestamp", "startTimestampMs"), at("endTimestamp", "endTimestampMs"))
}

fn bare(ms: i64, place: Place, source_format: &'static str) -> Point {
    Point {
        id: String::new(),
        timestamp: time::format_ms(ms),
        latitude: place.0,
        longitude: place.1,
        accuracy_meters: None,
        altitude_m: None,
        velocity_mps: None,
        activity_type: None,
        source_format,
        source_kind: "raw_location",
    }
}

fn as_json(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

fn text(value: &Value) -> Option<&str> {
    value.as_str().map(str::trim).and_then(name)
}

/// A number that is not negative.
fn measure(value: &Value) -> Option<f64> {
    json::number(value).filter(|number| *number >= 0.0)
}

fn only_chance(number: f64) -> Option<f64> {
    Some(number).filter(|number| (0.0..=1.0).contains(number))
}

/// A probability from 0 to 1. Old files have it in percent.
fn chance(value: &Value) -> Option<f64> {
    let number = json::number(value)?;
    only_chance(if number > 1.0 { number / 100.0 } else { number })
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "a value that is too large becomes the largest possible one"
)]
const fn whole(number: f64) -> i64 {
    number as i64
}

/// The most likely activity at a position.
fn likeliest(element: &Value) -> Option<String> {
    let list = |value: &Value, names: [&str; 2]| {
        names.into_iter().find_map(|name| value.get(name).and_then(Value::as_array).cloned())
    };
    let first = list(element, ["activity", "activitys"])?.into_iter().next()?;
    let kinds = list(&first, ["activity", "activities"])?;
    let sure = |kind: &Value| json::number(&kind["confidence"]).map_or(0, whole);
    // Of equally likely ones, the first counts.
    let best = kinds.iter().reduce(|best, kind| if sure(kind) > sure(best) { kind } else { best })?;
    text(&best["type"]).map(str::to_owned)
}

/// An instant in milliseconds since 1970, from a date, milliseconds or seconds. Zero means none.
fn instant(value: &Value) -> Option<i64> {
    /// Seconds stay below this for some thousand years, and milliseconds have been above it since 1973.
    const MILLISECONDS_FROM: i64 = 100_000_000_000;
    let number = match value {
        Value::String(text) => {
            let text = text.trim();
            match text.parse::<i64>() {
                Ok(number) => number,
                Err(_) => return written(text),
            }
        }
        value => value.as_i64().or_else(|| value.as_f64().map(whole))?,
    };
    let ms = if number >= MILLISECONDS_FROM { Some(number) } else { number.checked_mul(1000) };
    ms.filter(|ms| *ms > 0 && Timestamp::from_millisecond(*ms).is_ok())
}

/// Parses `2026-01-31T12:00:00.000+01:00`, also with spaces, and without a colon in the offset.
fn written(text: &str) -> Option<i64> {
    if text.len() > 64 {
        return None;
    }
    time::parse_ms(text).or_else(|| {
        let parsed = jiff::fmt::strtime::parse("%Y-%m-%d %H:%M:%S %z", text).ok()?;
        Some(parsed.to_timestamp().ok()?.as_millisecond())
    })
}

/// The offset in minutes that a time names: `+01:00`. `Z` says nothing about the place.
fn offset_of(text: &str) -> Option<i64> {
    let tail = text.get(text.len().checked_sub(6)?..)?;
    let sign = match tail.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = tail[1..].split_once(':')?;
    let minutes = hours.parse::<i64>().ok()?.checked_mul(60)?.checked_add(minutes.parse().ok()?)?;
    (SignedDuration::from_mins(minutes) <= SignedDuration::from_hours(18)).then_some(sign * minutes)
}

/// A position in any notation.
fn place(value: &Value) -> Option<Place> {
    if let Some(text) = value.as_str() {
        return degrees(text);
    }
    for name in ["latLng", "LatLng", "point"] {
        match &value[name] {
            Value::String(text) => return degrees(text),
            inner @ Value::Object(_) => return e7_place(inner),
            _ => {}
        }
    }
    e7_place(value)
}

fn e7_place(value: &Value) -> Option<Place> {
    e7_pair(&value["latitudeE7"], &value["longitudeE7"]).or_else(|| e7_pair(&value["latE7"], &value["lngE7"]))
}

/// Parses `52.52°, 13.40°` and `geo:52.52,13.40`.
fn degrees(text: &str) -> Option<Place> {
    let text = text.trim();
    if text.len() > 128 {
        return None;
    }
    let text = text.strip_prefix("geo:").unwrap_or(text);
    let mut parts =
        text.split(';').next()?.split(',').map(|part| part.trim().trim_end_matches('°').trim_end());
    let mut next = || parts.next()?.parse::<f64>().ok();
    on_earth(next()?, next()?)
}

fn e7_pair(latitude: &Value, longitude: &Value) -> Option<Place> {
    on_earth(e7(latitude, 90)?, e7(longitude, 180)?)
}

/// Parses ten-millionths of a degree. Some files have them as unsigned numbers: a value out of range is 2³² too high.
fn e7(value: &Value, most: i64) -> Option<f64> {
    const WRAPPED: i64 = 1 << 32;
    let number = json::number(value).map(whole)?;
    let most = most * 10_000_000;
    let number = if number > most {
        number.checked_sub(WRAPPED)?
    } else if number < -most {
        number.checked_add(WRAPPED)?
    } else {
        number
    };
    #[allow(clippy::cast_precision_loss, reason = "a double holds 32 bits exactly")]
    let degrees = number as f64 / 1e7;
    Some(degrees)
}

fn on_earth(latitude: f64, longitude: f64) -> Option<Place> {
    let is_there = (-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude);
    is_there.then_some((latitude, longitude))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::import::harness::{
        Counts, Kept, ask, assert_twice_is_once_in_any_order, imported, plan, sniff, split,
    };

    fn import(value: &Value) -> (Kept, Counts) {
        imported(&Location, &[("a.json", value.to_string().as_bytes())])
    }

    fn all(kept: &Kept, stream: &str) -> Vec<Value> {
        kept.sorted(stream, |record| {
            record.get("timestamp").or_else(|| record.get("start_time")).map(Value::to_string)
        })
    }

    fn without_id(mut record: Value) -> Value {
        record.as_object_mut().unwrap().remove("id");
        record
    }

    fn point(record: &Value) -> (&str, f64, f64, &str) {
        (
            record["timestamp"].as_str().unwrap(),
            record["latitude"].as_f64().unwrap(),
            record["longitude"].as_f64().unwrap(),
            record["source_kind"].as_str().unwrap(),
        )
    }

    fn records() -> Value {
        json!({"locations": [
            {"latitudeE7": 523_000_000, "longitudeE7": -1_200_000_001, "accuracy": 20, "altitude": 31, "velocity": 2,
             "activity": [{"timestamp": "2026-01-31T12:00:01Z", "activity": [
                {"type": "STILL", "confidence": 20}, {"type": "ON_BICYCLE", "confidence": 75}]}],
             "source": "WIFI", "deviceTag": 7, "timestamp": "2026-01-31T12:00:00.500Z"},
            {"timestampMs": "1769860801500", "latitudeE7": "4182967296", "longitudeE7": 3_094_967_296_u32},
            {"timestamp": "2026-01-31T13:00:00Z", "activeWifiScan": {"accessPoints": [{"mac": "1", "strength": -3}]}},
            {"latitudeE7": 0, "longitudeE7": 0},
            {"latitudeE7": 950_000_000, "longitudeE7": 0, "timestamp": "2026-01-31T14:00:00Z"},
            7,
        ], "more": [1], "note": "[\"locations\"]"})
    }

    #[test]
    fn o5_1_records_become_points_and_what_overflowed_is_mended() {
        let (kept, counts) = import(&records());
        let points = all(&kept, POINTS);
        assert_eq!(
            without_id(points[0].clone()),
            json!({
                "timestamp": "2026-01-31T12:00:00.500Z", "latitude": 52.3, "longitude": -120.000_000_1,
                "accuracy_meters": 20.0, "altitude_m": 31.0, "velocity_mps": 2.0, "activity_type": "ON_BICYCLE",
                "source_format": "legacy_records", "source_kind": "raw_location",
            })
        );
        assert_eq!(point(&points[1]), ("2026-01-31T12:00:01.500Z", -11.2, -120.0, "raw_location"));
        assert_eq!(counts.bad, [("no time", 1), ("no valid position", 1), ("not an object", 1)].into());
        assert_eq!(
            counts.skipped,
            [("a measurement without a place", 1), ("another part of the export", 1)].into()
        );
        assert_eq!((counts.read, counts.new), (7, 2));
        // An older export of the same moment, in its own format.
        let old = json!({"locations": [{"timestampMs": "1769860800500", "latitudeE7": 523_000_000,
            "longitudeE7": -1_200_000_001, "accuracy": 20, "altitude": 31, "velocity": 2,
            "activitys": [{"timestampMs": "1", "activities": [{"type": "ON_BICYCLE", "confidence": 75}]}]}]});
        let mut both = kept;
        both.import(&Location, &[("old.json", old.to_string().as_bytes())]);
        assert_eq!(all(&both, POINTS), points);
    }

    #[test]
    fn o5_1_places_are_read_in_each_way_that_they_are_written() {
        for (written, expected) in [
            (json!("52.5200066°, 13.404954°"), Some((52.520_006_6, 13.404_954))),
            (json!("geo:-35.0,13.25"), Some((-35.0, 13.25))),
            (json!("geo:35.0,13.0,120;u=35"), Some((35.0, 13.0))),
            (json!({"latLng": "35.0°, -13.0°"}), Some((35.0, -13.0))),
            (json!({"LatLng": "35.0°,13.0°"}), Some((35.0, 13.0))),
            (json!({"point": {"latE7": 350_000_000, "lngE7": -130_000_000}}), Some((35.0, -13.0))),
            (json!({"latE7": 350_000_000, "lngE7": 4_164_967_296_u32}), Some((35.0, -13.0))),
            (json!({"latitudeE7": 4_294_967_295_u32, "longitudeE7": 1_800_000_000}), Some((-1e-7, 180.0))),
            (json!("91.0°, 0.0°"), None),
            (json!("NaN°, 0.0°"), None),
            (json!("35.0"), None),
            (json!({"latLng": 3}), None),
            (json!({"latitudeE7": i64::MIN, "longitudeE7": 1}), None),
            (json!({"latitudeE7": 1e300, "longitudeE7": 1}), None),
            (json!(null), None),
        ] {
            assert_eq!(place(&written), expected, "{written}");
        }
    }

    #[test]
    fn o5_1_times_are_read_in_each_way_that_they_are_written() {
        let at = time::parse_ms("2026-01-31T12:00:00Z").unwrap();
        for (written, expected) in [
            (json!("2026-01-31T12:00:00Z"), Some(at)),
            (json!("2026-01-31T13:00:00.000+01:00"), Some(at)),
            (json!("2026-01-31T06:30:00-05:30"), Some(at)),
            (json!("2026-01-31 13:00:00 +0100"), Some(at)),
            (json!("1769860800000"), Some(at)),
            (json!(1_769_860_800_000_i64), Some(at)),
            (json!("1769860800"), Some(at)),
            (json!("0"), None),
            (json!(-5), None),
            (json!(i64::MAX), None),
            (json!("soon"), None),
            (json!(null), None),
        ] {
            assert_eq!(instant(&written), expected, "{written}");
        }
        assert_eq!(offset_of("2026-01-31T06:30:00-05:30"), Some(-330));
        assert_eq!(offset_of("2026-01-31T06:30:00Z"), None);
        assert_eq!(offset_of("+99:99"), None);
    }

    fn month() -> Value {
        json!({"timelineObjects": [
            {"activitySegment": {
                "startLocation": {"latitudeE7": 500_000_000, "longitudeE7": 80_000_000},
                "endLocation": {"latitudeE7": 501_000_000, "longitudeE7": 81_000_000},
                "duration": {"startTimestamp": "2026-01-31T08:00:00Z", "endTimestamp": "2026-01-31T08:30:30Z"},
                "distance": 13_000, "activityType": "CYCLING", "confidence": "HIGH",
                "waypointPath": {"waypoints": [{"latE7": 500_500_000, "lngE7": 80_500_000}]},
                "simplifiedRawPath": {"points": [
                    {"latE7": 500_600_000, "lngE7": 80_600_000, "timestamp": "2026-01-31T08:10:00Z", "accuracyMeters": 9}]},
            }},
            {"placeVisit": {
                "location": {"latitudeE7": 501_000_000, "longitudeE7": 81_000_000, "placeId": "ChIJx", "name": "Café Amsel",
                    "address": "Gartenweg 1\n1000 Ort", "semanticType": "TYPE_WORK", "locationConfidence": 92.5},
                "duration": {"startTimestampMs": "1769848230000", "endTimestampMs": "1769862630000"},
                "childVisits": [{"location": {"name": "Counter", "placeId": "ChIJy"},
                    "centerLatE7": 501_000_001, "centerLngE7": 81_000_001,
                    "duration": {"startTimestampMs": "1769848230000", "endTimestampMs": "1769862630000"}}],
            }},
            {"activitySegment": {"duration": {}}},
            {"other": {}},
        ]})
    }

    #[test]
    fn o5_1_months_of_visits_and_ways_become_segments() {
        let (kept, counts) = import(&month());
        assert_eq!((counts.new, &counts.bad), (2, &[("no time", 1)].into()));
        assert_eq!(counts.skipped, [("neither a visit nor a journey", 1)].into());
        let segments = all(&kept, SEGMENTS);
        assert_eq!(
            without_id(segments[0].clone()),
            json!({
                "start_time": "2026-01-31T08:00:00.000Z", "end_time": "2026-01-31T08:30:30.000Z", "duration_seconds": 1830,
                "segment_kind": "activity", "place_name": null, "address": null, "place_id": null, "semantic_type": null,
                "activity_type": "CYCLING", "distance_meters": 13000.0, "probability": null, "latitude": 50.0,
                "longitude": 8.0, "utc_offset_minutes": null, "source_format": "timeline_objects", "unrecognized_kind": null,
            })
        );
        // A place within the place, at the same time.
        let names: Vec<&Value> = segments[1..].iter().map(|segment| &segment["place_name"]).collect();
        assert_eq!(segments.len(), 3);
        assert!(names.contains(&&json!("Café Amsel")) && names.contains(&&json!("Counter")));
        let visit = segments.iter().find(|segment| segment["place_name"] == "Café Amsel").unwrap();
        assert_eq!(
            (&visit["probability"], &visit["semantic_type"], &visit["duration_seconds"]),
            (&json!(0.925), &json!("TYPE_WORK"), &json!(14_400))
        );
        let points = all(&kept, POINTS);
        let kinds: Vec<_> = points.iter().map(|point| point["source_kind"].as_str().unwrap()).collect();
        assert_eq!(kinds.iter().filter(|kind| **kind == "visit_location").count(), 2);
        assert_eq!(kinds[..2], ["activity_start", "timeline_path"]);
        assert_eq!(points[1]["accuracy_meters"], 9.0);
    }

    fn android() -> Value {
        json!({"semanticSegments": [
            {"startTime": "2026-01-31T09:00:00.000+01:00", "endTime": "2026-01-31T11:00:00.000+01:00", "timelinePath": [
                {"point": "50.1°, 8.1°", "time": "2026-01-31T09:15:00.000+01:00"},
                {"point": "50.1°, 8.1°", "time": "2026-01-31T09:15:00.000+01:00"}, {"point": "?", "time": "x"}]},
            {"startTime": "2026-01-31T09:00:00.000+01:00", "endTime": "2026-01-31T10:00:00.000+01:00",
             "startTimeTimezoneUtcOffsetMinutes": 60, "endTimeTimezoneUtcOffsetMinutes": 60,
             "visit": {"hierarchyLevel": 0, "probability": 0.7, "topCandidate": {"placeId": "ChIJx", "semanticType": "INFERRED_HOME",
                "probability": 0.9, "placeLocation": {"latLng": "50.1°, 8.1°"}}}},
            {"startTime": "2026-01-31T09:00:00.000+01:00", "endTime": "2026-01-31T10:00:00.000+01:00",
             "visit": {"hierarchyLevel": 1, "topCandidate": {"placeId": "ChIJz", "placeLocation": "50.1°, 8.1°"}}},
            {"startTime": "2026-01-31T10:00:00Z", "endTime": "2026-01-31T10:20:00Z", "activity": {
                "start": {"latLng": "50.1°, 8.1°"}, "end": {"latLng": "50.2°, 8.2°"}, "distanceMeters": 900.5,
                "topCandidate": {"type": "WALKING", "probability": 0.0}}},
            {"startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-05T00:00:00Z", "timelineMemory": {"trip": {}}},
            {"endTime": "2026-01-05T00:00:00Z", "visit": {}},
        ], "rawSignals": [
            {"position": {"LatLng": "50.15°, 8.15°", "accuracyMeters": 13, "altitudeMeters": 119.5, "source": "WIFI",
                "timestamp": "2026-01-31T09:16:00.000+01:00", "speedMetersPerSecond": 0.5}},
            {"wifiScan": {"deliveryTime": "2026-01-31T09:16:00.000+01:00", "devicesRecords": [{"mac": 1, "rawRssi": -60}]}},
            {"activityRecord": {"probableActivities": [{"type": "STILL", "confidence": 0.9}]}},
        ], "userLocationProfile": {"frequentPlaces": [{"placeId": "ChIJx", "placeLocation": "50.1°, 8.1°", "label": "HOME"}]}})
    }

    #[test]
    fn o5_1_what_an_android_phone_exports_is_read() {
        let (kept, counts) = import(&android());
        assert_eq!((counts.read, counts.new), (10, 6));
        assert_eq!(counts.bad, [("no time", 1)].into());
        assert_eq!(
            counts.skipped,
            [("a signal without a place", 2), ("the phone's profile of you", 1)].into()
        );
        let segments = all(&kept, SEGMENTS);
        let kind = |segment: &Value| {
            let text = |name: &str| segment[name].as_str().unwrap_or_default().to_owned();
            (text("segment_kind"), text("place_id") + &text("activity_type") + &text("unrecognized_kind"))
        };
        let kinds: Vec<(String, String)> = segments.iter().map(kind).collect();
        for wanted in [
            ("unrecognized", "timelineMemory"),
            ("path", ""),
            ("visit", "ChIJx"),
            ("visit", "ChIJz"),
            ("activity", "WALKING"),
        ] {
            assert!(kinds.contains(&(wanted.0.to_owned(), wanted.1.to_owned())), "{wanted:?}: {kinds:?}");
        }
        let home = segments.iter().find(|one| one["place_id"] == "ChIJx").unwrap();
        assert_eq!(home["start_time"], "2026-01-31T08:00:00.000Z");
        assert_eq!(
            (&home["utc_offset_minutes"], &home["probability"], &home["latitude"]),
            (&json!(60), &json!(0.9), &json!(50.1))
        );
        let points = all(&kept, POINTS);
        let path: Vec<_> = points.iter().filter(|point| point["source_kind"] == "timeline_path").collect();
        assert_eq!(path.len(), 1);
        assert_eq!(point(path[0]), ("2026-01-31T08:15:00.000Z", 50.1, 8.1, "timeline_path"));
        let raw = points.iter().find(|point| point["source_kind"] == "raw_location").unwrap();
        assert_eq!(
            (&raw["accuracy_meters"], &raw["altitude_m"], &raw["velocity_mps"]),
            (&json!(13.0), &json!(119.5), &json!(0.5))
        );
    }

    fn iphone() -> Value {
        json!([
            {"endTime": "2026-01-31T10:00:00.000+01:00", "startTime": "2026-01-31T09:00:00.000+01:00", "visit": {
                "hierarchyLevel": "0", "probability": "0.71", "topCandidate": {"probability": "0.78", "semanticType": "Home",
                "placeID": "ChIJx", "placeLocation": "geo:50.1,8.1"}}},
            {"endTime": "2026-01-31T12:00:00.000Z", "startTime": "2026-01-31T10:00:00.000Z", "timelinePath": [
                {"point": "geo:50.2,8.2", "durationMinutesOffsetFromStartTime": "49"},
                {"point": "geo:50.2,8.2", "durationMinutesOffsetFromStartTime": 49}]},
            {"endTime": "2026-01-31T13:00:00Z", "startTime": "2026-01-31T12:00:00Z", "activity": {"start": "geo:50.2,8.2",
                "end": "geo:50.3,8.3", "distanceMeters": "1200.5", "topCandidate": {"type": "in train", "probability": "0.5"}}},
        ])
    }

    #[test]
    fn o5_1_what_an_iphone_exports_is_read() {
        let (kept, counts) = import(&iphone());
        assert_eq!((counts.read, counts.new), (3, 3));
        let segments = all(&kept, SEGMENTS);
        assert_eq!(segments[0]["probability"], 0.78);
        assert_eq!(
            (&segments[0]["place_id"], &segments[0]["source_format"]),
            (&json!("ChIJx"), &json!("ios_timeline"))
        );
        assert_eq!(
            (&segments[2]["activity_type"], &segments[2]["distance_meters"]),
            (&json!("in train"), &json!(1200.5))
        );
        let points = all(&kept, POINTS);
        let at: Vec<_> = points.iter().map(point).collect();
        assert_eq!(
            at,
            [
                ("2026-01-31T08:00:00.000Z", 50.1, 8.1, "visit_location"),
                ("2026-01-31T10:49:00.000Z", 50.2, 8.2, "timeline_path"),
                ("2026-01-31T12:00:00.000Z", 50.2, 8.2, "activity_start"),
                ("2026-01-31T13:00:00.000Z", 50.3, 8.3, "activity_end"),
            ]
        );
    }

    #[test]
    fn o5_1_edits_of_a_timeline_have_points_too() {
        let edits = json!({"timelineEdits": [
            {"deviceId": "1", "rawSignal": {"signal": {"position": {"point": {"latE7": 355_000_000, "lngE7": -1_193_000_000},
                "accuracyMm": 12_500, "timestamp": "2026-01-31T12:00:00Z"}}}},
            {"placeAggregates": {}}]});
        let (kept, counts) = import(&edits);
        assert_eq!(counts.skipped, [("a signal without a place", 1)].into());
        let points = all(&kept, POINTS);
        assert_eq!(point(&points[0]), ("2026-01-31T12:00:00.000Z", 35.5, -119.3, "raw_location"));
        assert_eq!(points[0]["accuracy_meters"], 12.5);
    }

    #[test]
    fn o5_2_contents_decide_and_streams_are_upstreams() {
        for value in [records(), month(), android(), iphone()] {
            assert_eq!(sniff(&Location, "x", value.to_string().as_bytes()), Some(Sure::Certain));
            let pretty = format!("\u{feff}{value:#}");
            assert_eq!(sniff(&Location, "x", pretty.as_bytes()), Some(Sure::Certain));
            assert_eq!(imported(&Location, &[("x", pretty.as_bytes())]).0.records, import(&value).0.records);
        }
        for other in ["", "[]", "{}", r#"{"locations":["Bern"]}"#, r#"[{"startTime":1,"endTime":2}]"#] {
            assert_eq!(sniff(&Location, "Records.json", other.as_bytes()), None, "{other}");
        }
        let files = [("a", records().to_string()), ("b", month().to_string())];
        let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        let plans = plan(&Location, &files, ask()).unwrap();
        assert_eq!(plans[0].connector.id, "https://registry.pdpp.dev/connectors/google-maps");
        assert_eq!((plans.len(), plans[0].account.as_str()), (1, KEY));
        assert!(plans[0].notes.iter().any(|note| note.contains("source_format")));
        assert!(plans[0].notes.iter().any(|note| note.contains("--account")));
    }

    #[test]
    fn one_day_in_two_shapes_is_told_twice_and_each_says_by_which() {
        let files = [month().to_string(), android().to_string(), iphone().to_string()];
        let named: Vec<(&str, &[u8])> =
            ["a", "b", "c"].into_iter().zip(files.iter().map(String::as_bytes)).collect();
        let (kept, _) = imported(&Location, &named);
        let apart: usize = named.iter().map(|file| imported(&Location, &[*file]).0.records.len()).sum();
        assert_eq!(kept.records.len(), apart);
        assert_twice_is_once_in_any_order(&Location, &named);
    }

    #[test]
    fn a_later_export_that_knows_better_changes_the_visit() {
        let mut later = android();
        later["semanticSegments"][1]["visit"]["topCandidate"]["placeId"] = "ChIJnew".into();
        let (mut kept, _) = import(&android());
        let before = kept.records.len();
        let counts = kept.import(&Location, &[("later", later.to_string().as_bytes())]);
        assert_eq!((counts.changed, counts.new, kept.records.len()), (1, 0, before));
    }

    #[test]
    fn o4_14_long_elements_and_deep_ones_are_told() {
        let long = format!(
            "{{\"locations\":[{{\"x\":\"{}\"}},{}]}}",
            "a".repeat(json_elements::LONGEST),
            records()["locations"][0]
        );
        let (kept, counts) = imported(&Location, &[("a", long.as_bytes())]);
        assert_eq!((counts.bad, kept.records.len()), ([("an element of more than 64 MiB", 1)].into(), 1));
        let deep = format!(
            "{{\"semanticSegments\":[{}{},{{\"startTime\":\"2026-01-31T12:00:00Z\",\"activity\":{{}}}}]}}",
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        let (kept, counts) = imported(&Location, &[("a", deep.as_bytes())]);
        assert_eq!((counts.bad, kept.records.len()), ([("not JSON", 1)].into(), 1));
    }

    fn locations() -> impl Strategy<Value = Value> {
        let one = (0_i64..4, 0_i32..3, 0_i32..3).prop_map(|(time, place, accuracy)| {
            json!({"timestampMs": (1_769_860_800_000 + time).to_string(), "latitudeE7": place, "longitudeE7": 7,
                "accuracy": accuracy})
        });
        let segment = (0_u32..3, 0_u32..2, 0_u32..3).prop_map(|(hour, level, place)| {
            json!({"startTime": format!("2026-01-31T0{hour}:00:00Z"), "endTime": format!("2026-01-31T0{}:00:00Z", hour + 1),
                "visit": {"hierarchyLevel": level, "topCandidate": {"placeId": format!("{hour}{level}"),
                "placeLocation": format!("{place}°, 1°")}}})
        });
        prop_oneof![
            proptest::collection::vec(one, 0..6).prop_map(|list| json!({"locations": list})),
            // Every export gives the same facts for one moment.
            proptest::collection::btree_map((0_u32..3, 0_u32..2), segment, 0..4).prop_map(|map| {
                let list: Vec<Value> = map
                    .into_iter()
                    .map(|((hour, level), mut one)| {
                        one["startTime"] = format!("2026-01-31T0{hour}:00:00Z").into();
                        one["visit"]["hierarchyLevel"] = level.into();
                        one["visit"]["topCandidate"] = json!({"placeLocation": format!("{hour}°, {level}°")});
                        one["endTime"] = format!("2026-01-31T0{}:00:00Z", hour + 1).into();
                        one
                    })
                    .collect();
                json!({"semanticSegments": list, "rawSignals": []})
            }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn twice_is_once_no_order_counts_and_cuts_are_mended(
            first in locations(),
            second in locations(),
            limit in 1_usize..4,
        ) {
            let files = [first.to_string(), second.to_string()];
            let named: Vec<(&str, &[u8])> = ["a", "b"].into_iter().zip(files.iter().map(String::as_bytes)).collect();
            assert_twice_is_once_in_any_order(&Location, &named);
            let mut parts = Kept::default();
            for _ in 0..8 {
                parts.import_some(&Location, &named[..1], ask(), limit);
            }
            prop_assert_eq!(parts.records, imported(&Location, &named[..1]).0.records);
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40), at in 0_usize..4000, which in 0_usize..4) {
            let mut changed = [records(), month(), android(), iphone()][which].to_string().into_bytes();
            let at = at % changed.len();
            changed.splice(at..at, bytes);
            sniff(&Location, "a", &changed);
            let plan = &plan(&Location, &[("a", b"{}")], ask()).unwrap()[0];
            let mut unit = Unit { label: "a", modified_ms: None, bytes: Box::new(io::Cursor::new(changed)) };
            let _ = Location.split(plan, &mut unit, 0, &mut |raw| {
                let _ = Location.parse(plan, &raw);
                ControlFlow::Continue(())
            });
        }
    }

    #[test]
    fn a_file_that_was_cut_off_goes_on_where_it_ended() {
        let whole = android().to_string();
        let plan = &plan(&Location, &[("a", whole.as_bytes())], ask()).unwrap()[0];
        let (items, _) = split(&Location, plan, "a", whole.as_bytes(), 0);
        for item in &items {
            let (rest, _) = split(&Location, plan, "a", whole.as_bytes(), item.next);
            assert_eq!(
                rest,
                items.iter().filter(|other| other.offset >= item.next).cloned().collect::<Vec<_>>()
            );
        }
        let cut = whole.as_bytes()[..whole.len() / 2].to_vec();
        let mut unit = Unit { label: "a", modified_ms: None, bytes: Box::new(io::Cursor::new(cut)) };
        let mut given = 0;
        let end = Location.split(plan, &mut unit, 0, &mut |_| {
            given += 1;
            ControlFlow::Continue(())
        });
        assert_eq!(end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(given > 0 && given < items.len());
    }
}
