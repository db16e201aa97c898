//! Apple Health: the `export.xml` that an iPhone exports, or the `export.zip` that contains it. The file may be gigabytes in
//! size, and its name depends on the phone's language, so `<HealthData` identifies it.
//!
//! Times are written in the zone that the phone was in at the time of the export. Only the instant counts, not how it is written.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;

use foldhash::fast::FixedState;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use serde::Serialize;
use serde_json::Number;
use std::hash::BuildHasher as _;

use crate::import::declare::{Registry, StreamLine, connector};
use crate::import::digest;
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};
use crate::import::xml_elements::{self, Tag, Wrong};
use crate::vault::time;

/// Apple Health.
pub struct AppleHealth;

/// The account's name unless the owner gives another one: the export does not name its owner.
const KEY: &str = "apple-health";
const RECORDS: &str = "records";
const WORKOUTS: &str = "workouts";
/// How many distinct elements are remembered. Beyond that, equal elements count as one.
const REMEMBERED: usize = 7_000_000;
/// The prefixes that Apple puts before the type of a record or a workout.
const PREFIXES: [&str; 4] =
    ["HKQuantityTypeIdentifier", "HKCategoryTypeIdentifier", "HKDataTypeIdentifier", "HKWorkoutActivityType"];
/// What a file next to the export contains. Such files are skipped and counted under these names.
const ECG: &str = "an electrocardiogram";
const ROUTE: &str = "the route of a workout";
const CLINICAL: &str = "a clinical document, which repeats the export";

const STREAMS: [StreamLine; 2] = [
    StreamLine {
        name: RECORDS,
        key: "id",
        time: "start_date",
        fields: "id:k! type:g! source_name:n unit:g value:m value_raw:k start_date:T! end_date:t",
        relations: "",
    },
    StreamLine {
        name: WORKOUTS,
        key: "id",
        time: "start_date",
        fields: "id:k! workout_activity_type:g duration_minutes:m total_energy_burned_kcal:m total_distance_km:m source_name:n \
                 start_date:T! end_date:t",
        relations: "",
    },
];

#[derive(Serialize)]
struct Record<'a> {
    id: &'a str,
    r#type: &'a str,
    source_name: Option<&'a str>,
    unit: Option<&'a str>,
    value: Option<Number>,
    value_raw: Option<&'a str>,
    start_date: String,
    end_date: Option<String>,
}

#[derive(Serialize)]
#[allow(clippy::struct_field_names, reason = "upstream's names")]
struct Workout<'a> {
    id: &'a str,
    workout_activity_type: Option<&'a str>,
    duration_minutes: Option<Number>,
    total_energy_burned_kcal: Option<Number>,
    total_distance_km: Option<Number>,
    source_name: Option<&'a str>,
    start_date: String,
    end_date: Option<String>,
}

impl Format for AppleHealth {
    fn name(&self) -> &'static str {
        KEY
    }

    fn title(&self) -> &'static str {
        "an Apple Health export"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        (is_export(peek.head) || beside(peek.label, peek.head).is_some()).then_some(Sure::Certain)
    }

    /// Claims electrocardiograms and routes only if there is an export with them, because other programs write such files too.
    fn claims(&self, members: &[Peek<'_>]) -> Vec<bool> {
        // When an import has very many members, the last ones have no head.
        let is_one =
            |peek: &Peek<'_>| is_export(peek.head) || peek.head.is_empty() && ends(peek.label, ".xml");
        vec![members.iter().any(is_one); members.len()]
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Upstream, KEY, "Apple Health", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        if members.iter().all(|member| beside(member.label, member.head).is_some()) {
            return Err(Refused::Unfit {
                why: "it has only electrocardiograms or routes: name the whole export, with its export.xml"
                    .to_owned(),
            });
        }
        let mut notes = vec![
            "Records and workouts are imported. Electrocardiograms, routes, clinical records and daily activity rings are not."
                .to_owned(),
        ];
        if ask.account.is_none() {
            notes.push(format!(
                "The export does not name its owner, so the account is called {KEY}. --account gives it another name: two \
                 people's exports would be merged."
            ));
        }
        Ok(vec![Plan::of_all(connector, KEY, members, ask, notes)])
    }

    fn split(&self, _: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let mut head = Vec::new();
        if matches!(unit.label.rsplit_once('.'), Some((_, end)) if !end.eq_ignore_ascii_case("xml"))
            || ends(unit.label, "_cda.xml")
        {
            head = unit.bytes.fill_buf()?.to_vec();
        }
        if let Some(why) = beside(unit.label, &head) {
            if from == 0 {
                let facts = format!("{why}\n{}", unit.label);
                let _ = out(Raw { offset: 0, next: 1, line: None, bytes: Vec::new(), facts, copy: 0 });
            }
            return Ok(End { at: 1 });
        }
        // Reads from the start even when resuming, because equal records are counted from the first one.
        let mut copies = Copies::default();
        let mut end = from;
        let root = xml_elements::scan(&mut unit.bytes, xml_elements::LONGEST, &mut |element| {
            let (bytes, facts) = match element.bytes {
                Ok(bytes) => (bytes, ""),
                Err(Wrong::Long) => (Vec::new(), "long"),
                Err(Wrong::Deep) => (Vec::new(), "deep"),
                Err(Wrong::Open) => (Vec::new(), "open"),
            };
            let copy = if facts.is_empty() { copies.before(&bytes) } else { 0 };
            if element.offset < from {
                return std::ops::ControlFlow::Continue(());
            }
            let facts =
                if facts.is_empty() { String::new() } else { format!("{facts} at {}", element.offset) };
            end = element.next;
            out(Raw { offset: element.offset, next: element.next, line: None, bytes, facts, copy })
        })?;
        // If `out` stopped the reading, the last child ended here.
        Ok(End { at: root.max(end) })
    }

    fn parse(&self, _: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        if raw.bytes.is_empty() {
            return match raw.facts.split(['\n', ' ']).next() {
                Some("long") => Err(Bad("an element of more than 64 MiB")),
                Some("deep") => Err(Bad("an element that is nested too deeply")),
                Some("open") => Err(Bad("a value without its closing quotation mark")),
                _ => Ok(Parsed::Skipped(
                    [ECG, ROUTE, CLINICAL]
                        .into_iter()
                        .find(|why| raw.facts.starts_with(why))
                        .unwrap_or("not an element"),
                )),
            };
        }
        let text = String::from_utf8_lossy(&raw.bytes);
        let mut tags = xml_elements::tags(&text);
        let Some(first) = tags.next() else { return Err(Bad("not an element")) };
        match first.name {
            "Record" => record(&first, raw.copy),
            "Workout" => workout(&first, tags, raw.copy),
            "Correlation" => Ok(Parsed::Skipped("a correlation, whose records are listed separately")),
            "ActivitySummary" => Ok(Parsed::Skipped("the activity rings of a day")),
            "Me" => Ok(Parsed::Skipped("date of birth, sex and blood type")),
            "ExportDate" => Ok(Parsed::Skipped("the date of the export")),
            "ClinicalRecord" => Ok(Parsed::Skipped("a clinical record")),
            _ => Ok(Parsed::Skipped("another kind of element")),
        }
    }
}

fn is_export(head: &[u8]) -> bool {
    [&b"<HealthData"[..], b"<!DOCTYPE HealthData"]
        .iter()
        .any(|mark| memchr::memmem::find(head, mark).is_some())
}

fn ends(label: &str, end: &str) -> bool {
    label
        .len()
        .checked_sub(end.len())
        .and_then(|at| label.get(at..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

/// What kind of extra file this is, or `None` if it is not one of the known kinds.
fn beside(label: &str, head: &[u8]) -> Option<&'static str> {
    let is_in = |folder: &str| label.rsplit('/').nth(1) == Some(folder);
    match () {
        () if is_in("electrocardiograms") && ends(label, ".csv") => Some(ECG),
        () if is_in("workout-routes") && ends(label, ".gpx") => Some(ROUTE),
        () if ends(label, "_cda.xml") && memchr::memmem::find(head, b"<ClinicalDocument").is_some() => {
            Some(CLINICAL)
        }
        () => None,
    }
}

/// Counts how many equal elements came before. Most elements occur only once.
#[derive(Default)]
struct Copies {
    seen: HashSet<u64, FixedState>,
    more: HashMap<u64, u32, FixedState>,
}

impl Copies {
    fn before(&mut self, bytes: &[u8]) -> u32 {
        let Ok(text) = str::from_utf8(bytes) else { return 0 };
        let Some(tag) = xml_elements::tags(text).next() else { return 0 };
        let values = tag.values().filter(|(name, _)| {
            matches!(*name, "type" | "workoutActivityType" | "sourceName" | "startDate" | "endDate" | "value")
        });
        // The order of the attributes does not matter.
        let hash = values.fold(0_u64, |all, pair| all.wrapping_add(FixedState::default().hash_one(pair)));
        if self.seen.len() >= REMEMBERED || self.seen.insert(hash) {
            return 0;
        }
        let before = self.more.entry(hash).or_default();
        *before += 1;
        *before
    }
}

fn record(tag: &Tag<'_>, copy: u32) -> Result<Parsed, Bad> {
    let kind = tag.value("type").filter(|kind| !kind.is_empty()).ok_or(Bad("no type"))?;
    let common = Common::of(tag)?;
    let value = tag.value("value");
    let number = value.as_deref().and_then(number);
    let id = common.name(&kind, value.as_deref().unwrap_or_default(), copy);
    let unit = tag.value("unit");
    let record = Record {
        id: &id,
        r#type: bare(&kind),
        source_name: common.source.as_deref(),
        unit: unit.as_deref().filter(|unit| !unit.is_empty()),
        value_raw: value.as_deref().filter(|value| number.is_none() && !value.is_empty()),
        value: number,
        start_date: time::format_ms(common.start),
        end_date: common.end.map(time::format_ms),
    };
    draft(RECORDS, &id, &record)
}

fn workout<'a>(tag: &Tag<'_>, inner: impl Iterator<Item = Tag<'a>>, copy: u32) -> Result<Parsed, Bad> {
    let common = Common::of(tag)?;
    let kind = tag.value("workoutActivityType").filter(|kind| !kind.is_empty());
    let measure = |value: &str, unit: &str, convert: fn(&str) -> Option<f64>| {
        let value = number(&tag.value(value)?)?;
        converted(value, convert(&tag.value(unit).unwrap_or_default()))
    };
    let mut energy = measure("totalEnergyBurned", "totalEnergyBurnedUnit", in_kcal);
    let mut distance = measure("totalDistance", "totalDistanceUnit", in_km);
    let duration = measure("duration", "durationUnit", in_minutes).or_else(|| {
        let ms = common.end?.checked_sub(common.start).filter(|ms| *ms >= 0)?;
        #[allow(clippy::cast_precision_loss, reason = "a workout is short")]
        Number::from_f64(ms as f64 / 60_000.0)
    });
    // Newer exports put the totals in child elements. Those of a part of the workout are nested deeper.
    let (has_energy, has_distance) = (energy.is_some(), distance.is_some());
    for statistics in inner.filter(|tag| tag.name == "WorkoutStatistics" && tag.depth == 1) {
        let kind = statistics.value("type").unwrap_or_default();
        let sum = statistics.value("sum").as_deref().and_then(number);
        let unit = statistics.value("unit").unwrap_or_default();
        match bare(&kind) {
            "ActiveEnergyBurned" if !has_energy => add(&mut energy, sum, in_kcal(&unit)),
            kind if kind.starts_with("Distance") && !has_distance => add(&mut distance, sum, in_km(&unit)),
            _ => {}
        }
    }
    let id = common.name(kind.as_deref().unwrap_or_default(), "", copy);
    let workout = Workout {
        id: &id,
        workout_activity_type: kind.as_deref().map(bare),
        duration_minutes: duration,
        total_energy_burned_kcal: energy,
        total_distance_km: distance,
        source_name: common.source.as_deref(),
        start_date: time::format_ms(common.start),
        end_date: common.end.map(time::format_ms),
    };
    draft(WORKOUTS, &id, &workout)
}

fn draft(stream: &'static str, id: &str, record: &impl Serialize) -> Result<Parsed, Bad> {
    let data = serde_json::to_string(record).map_err(|_| Bad("cannot be written as a record"))?;
    Ok(Parsed::Records(vec![Draft::new(stream, id, data)]))
}

/// The fields that records and workouts share.
struct Common<'a> {
    source: Option<Cow<'a, str>>,
    start: i64,
    end: Option<i64>,
}

impl<'a> Common<'a> {
    fn of(tag: &Tag<'a>) -> Result<Self, Bad> {
        // `Ana’s Apple Watch` contains a no-break space, which nobody types in a search.
        let source = tag.value("sourceName").filter(|source| !source.is_empty()).map(|source| {
            if source.contains('\u{a0}') { Cow::from(source.replace('\u{a0}', " ")) } else { source }
        });
        let instant_of = |name: &str| tag.value(name).and_then(|text| instant(&text));
        Ok(Self { source, start: instant_of("startDate").ok_or(Bad("no time"))?, end: instant_of("endDate") })
    }

    fn name(&self, kind: &str, value: &str, copy: u32) -> String {
        digest::name([
            kind.as_bytes(),
            self.source.as_deref().unwrap_or_default().as_bytes(),
            &self.start.to_be_bytes(),
            &self.end.unwrap_or(i64::MIN).to_be_bytes(),
            value.as_bytes(),
            &copy.to_be_bytes(),
        ])
    }
}

/// A type without Apple's prefix: `StepCount`.
fn bare(kind: &str) -> &str {
    PREFIXES
        .iter()
        .find_map(|prefix| kind.strip_prefix(prefix))
        .filter(|rest| !rest.is_empty())
        .unwrap_or(kind)
}

/// Parses a number and keeps its digits.
fn number(text: &str) -> Option<Number> {
    let text = text.trim();
    serde_json::from_str(text).ok().or_else(|| {
        let number: f64 = text.parse().ok()?;
        Number::from_f64(number)
    })
}

/// Converts a number to another unit. Returns `None` if the unit is unknown; a factor of 1 leaves the digits unchanged.
fn converted(value: Number, factor: Option<f64>) -> Option<Number> {
    let factor = factor?;
    if (factor - 1.0).abs() < f64::EPSILON {
        return Some(value);
    }
    Number::from_f64(rounded(value.as_f64()? * factor))
}

/// Removes the spurious digits that a conversion adds.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn add(all: &mut Option<Number>, more: Option<Number>, factor: Option<f64>) {
    let Some(more) = more.and_then(|more| converted(more, factor)) else { return };
    *all = match all.take() {
        None => Some(more),
        Some(before) => {
            let sum = before.as_f64().zip(more.as_f64()).and_then(|(a, b)| Number::from_f64(rounded(a + b)));
            sum.or(Some(before))
        }
    };
}

fn in_kcal(unit: &str) -> Option<f64> {
    match unit {
        "" | "kcal" | "Cal" => Some(1.0),
        "kJ" => Some(1.0 / 4.184),
        "cal" => Some(0.001),
        "J" => Some(1.0 / 4184.0),
        _ => None,
    }
}

fn in_km(unit: &str) -> Option<f64> {
    match unit {
        "" | "km" => Some(1.0),
        "m" => Some(0.001),
        "mi" => Some(1.609_344),
        "yd" => Some(0.000_914_4),
        "ft" => Some(0.000_304_8),
        _ => None,
    }
}

fn in_minutes(unit: &str) -> Option<f64> {
    match unit {
        "" | "min" => Some(1.0),
        "s" | "sec" => Some(1.0 / 60.0),
        "hr" | "h" => Some(60.0),
        _ => None,
    }
}

/// Parses `2026-01-31 14:03:22 +0100` to milliseconds since 1970.
fn instant(text: &str) -> Option<i64> {
    let (local, offset) = text.trim().rsplit_once(' ')?;
    let (date, clock) = local.split_once(' ')?;
    let local: DateTime = format!("{date}T{clock}").parse().ok()?;
    let (sign, digits) = offset.split_at_checked(1)?;
    let sign = match sign {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let digits: i32 = digits.replace(':', "").parse().ok().filter(|digits| (0..=9999).contains(digits))?;
    let offset = Offset::from_seconds(sign * (digits / 100 * 3600 + digits % 100 * 60)).ok()?;
    Some(offset.to_timestamp(local).ok()?.as_millisecond())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::import::harness::{
        Counts, Kept, ask, assert_twice_is_once_in_any_order, imported, plan, sniff, split,
    };

    /// The head of an export, with a broken document type declaration such as Apple writes.
    const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE HealthData [\n<!-- HealthKit [Export] > -->\n<!ELEMENT HealthData (ExportDate,Me,(Record|Workout)*)>\n\
        <!ATTLIST Record\n  type CDATA #REQUIRED\n  unit\n<!ENTITY a \"<Record/>\">\n]>\n<HealthData locale=\"nb_NO\">\n <ExportDate value=\"2026-02-01 10:00:00 +0100\"/>\n\
        <Me HKCharacteristicTypeIdentifierDateOfBirth=\"1990-01-01\" HKCharacteristicTypeIdentifierBiologicalSex=\"HKBiologicalSexFemale\"/>\n";

    fn export(elements: &str) -> Vec<u8> {
        format!("{HEAD}{elements}</HealthData>\n").into_bytes()
    }

    fn steps(start: &str, value: &str) -> String {
        format!(
            " <Record type=\"HKQuantityTypeIdentifierStepCount\" sourceName=\"Anas iPhone\" sourceVersion=\"19\" device=\"&lt;&lt;HKDevice: 0x1&gt;&gt;\" \
             unit=\"count\" creationDate=\"{start}\" startDate=\"{start}\" endDate=\"{start}\" value=\"{value}\"/>\n"
        )
    }

    fn import(elements: &str) -> (Kept, Counts) {
        imported(&AppleHealth, &[("apple_health_export/eksport.xml", &export(elements))])
    }

    fn records(kept: &Kept, stream: &str) -> Vec<Value> {
        let all = kept.records.iter().filter(|((_, of, _), _)| of == stream);
        let mut all: Vec<Value> = all.map(|(_, data)| serde_json::from_str(data).unwrap()).collect();
        all.sort_by_key(|record| record["start_date"].as_str().map(str::to_owned));
        for record in &mut all {
            assert_eq!(record["id"].as_str().unwrap().len(), 24);
            record.as_object_mut().unwrap().remove("id");
        }
        all
    }

    #[test]
    fn o5_1_records_have_their_numbers_units_and_instants() {
        let (kept, counts) = import(
            "<Record type=\"HKQuantityTypeIdentifierBodyMass\" sourceName=\"Ana’s\u{a0}Apple Watch &amp; co\" unit=\"kg\" startDate=\"2026-01-31 14:03:22 +0100\"\n  \
             endDate=\"2026-01-31 14:03:23 +0100\" value=\"61.20\">\n  <MetadataEntry key=\"HKWasUserEntered\" value=\"1\"/>\n</Record>\n\
             <Record type=\"HKCategoryTypeIdentifierSleepAnalysis\" sourceName=\"Klokke\" startDate=\"2026-02-01 23:00:00 -0330\" endDate=\"x\" value=\"HKCategoryValueSleepAnalysisAsleepREM\"/>\n\
             <Record type=\"HKQuantityTypeIdentifierStepCount\" startDate=\"soon\" value=\"1\"/><Record startDate=\"2026-01-31 14:03:22 +0100\"/>\n",
        );
        assert_eq!(
            records(&kept, RECORDS),
            [
                json!({"type": "BodyMass", "source_name": "Ana’s Apple Watch & co", "unit": "kg", "value": serde_json::from_str::<Value>("61.20").unwrap(),
                    "value_raw": null, "start_date": "2026-01-31T13:03:22.000Z", "end_date": "2026-01-31T13:03:23.000Z"}),
                json!({"type": "SleepAnalysis", "source_name": "Klokke", "unit": null, "value": null,
                    "value_raw": "HKCategoryValueSleepAnalysisAsleepREM", "start_date": "2026-02-02T02:30:00.000Z", "end_date": null}),
            ]
        );
        assert_eq!(counts.bad, [("no time", 1), ("no type", 1)].into());
        assert_eq!(
            counts.skipped,
            [("the date of the export", 1), ("date of birth, sex and blood type", 1)].into()
        );
        assert!(kept.records.values().all(|data| !data.contains("1990")));
    }

    #[test]
    fn o5_1_workouts_have_energy_and_distance_wherever_they_stand() {
        let times = "startDate=\"2026-01-31 14:00:00 +0100\" endDate=\"2026-01-31 14:30:00 +0100\" sourceName=\"Klokke\"";
        let (kept, counts) = import(&format!(
            "<Workout workoutActivityType=\"HKWorkoutActivityTypeRunning\" duration=\"30.50\" durationUnit=\"min\" totalDistance=\"2\" totalDistanceUnit=\"mi\" \
             totalEnergyBurned=\"418.4\" totalEnergyBurnedUnit=\"kJ\" {times}/>\n\
             <Workout workoutActivityType=\"HKWorkoutActivityTypeSwimBikeRun\" {}>\n\
              <WorkoutStatistics type=\"HKQuantityTypeIdentifierActiveEnergyBurned\" sum=\"210.25\" unit=\"Cal\"/>\n\
              <WorkoutStatistics type=\"HKQuantityTypeIdentifierBasalEnergyBurned\" sum=\"50\" unit=\"kcal\"/>\n\
              <WorkoutStatistics type=\"HKQuantityTypeIdentifierDistanceSwimming\" sum=\"400\" unit=\"m\"/>\n\
              <WorkoutStatistics type=\"HKQuantityTypeIdentifierDistanceCycling\" sum=\"10\" unit=\"km\"/>\n\
              <WorkoutActivity uuid=\"1\">\n<WorkoutStatistics type=\"HKQuantityTypeIdentifierDistanceCycling\" sum=\"10\" unit=\"km\"/>\n</WorkoutActivity>\n\
              <WorkoutRoute><FileReference path=\"/workout-routes/r.gpx\"/></WorkoutRoute></Workout>\n",
            times.replace("14:", "15:")
        ));
        assert_eq!(counts.new, 2);
        assert_eq!(
            records(&kept, WORKOUTS),
            [
                json!({"workout_activity_type": "Running", "duration_minutes": serde_json::from_str::<Value>("30.50").unwrap(), "total_energy_burned_kcal": 100.0,
                    "total_distance_km": 3.218_688, "source_name": "Klokke", "start_date": "2026-01-31T13:00:00.000Z", "end_date": "2026-01-31T13:30:00.000Z"}),
                json!({"workout_activity_type": "SwimBikeRun", "duration_minutes": 30.0, "total_energy_burned_kcal": 210.25,
                    "total_distance_km": 10.4, "source_name": "Klokke", "start_date": "2026-01-31T14:00:00.000Z", "end_date": "2026-01-31T14:30:00.000Z"}),
            ]
        );
    }

    #[test]
    fn what_is_no_record_is_skipped_by_what_it_is() {
        let step = steps("2026-01-31 14:00:00 +0100", "1");
        let (kept, counts) = import(&format!(
            "<Correlation type=\"HKCorrelationTypeIdentifierFood\" startDate=\"2026-01-31 14:00:00 +0100\">\n{step}</Correlation>\n{step}\
             <ActivitySummary dateComponents=\"2026-01-31\" activeEnergyBurned=\"1\"/><ClinicalRecord type=\"x\" resourceFilePath=\"/a.json\"/><Audiogram/>"
        ));
        assert_eq!(records(&kept, RECORDS).len(), 1);
        for why in [
            "a correlation, whose records are listed separately",
            "the activity rings of a day",
            "a clinical record",
            "another kind of element",
        ] {
            assert_eq!(counts.skipped[why], 1, "{why}");
        }
        assert_eq!((counts.new, counts.read), (1, 7));
    }

    #[test]
    fn equal_records_are_several_and_the_zone_of_the_phone_makes_no_new_ones() {
        let here =
            steps("2026-01-31 14:00:00 +0100", "5").repeat(3) + &steps("2026-01-31 15:00:00 +0100", "5");
        let there =
            steps("2026-01-31 21:00:00 +0800", "5").repeat(3) + &steps("2026-01-31 22:00:00 +0800", "5");
        let (mut kept, counts) = import(&here);
        assert_eq!((records(&kept, RECORDS).len(), counts.new), (4, 4));
        let before = kept.records.clone();
        let counts = kept.import(&AppleHealth, &[("Export.xml", &export(&there))]);
        assert_eq!((&kept.records, counts.new + counts.changed), (&before, 0));
    }

    #[test]
    fn files_beside_the_export_are_skipped_and_counted_and_others_stay_what_they_are() {
        let (kept, counts) = imported(
            &AppleHealth,
            &[
                ("apple_health_export/export.xml", &export(&steps("2026-01-31 14:00:00 +0100", "1"))),
                ("apple_health_export/export_cda.xml", b"<?xml version=\"1.0\"?><ClinicalDocument/>"),
                ("apple_health_export/electrocardiograms/ecg_2026-01-01.csv", b"Name,Ana\n"),
                ("apple_health_export/electrocardiograms/ecg_2026-01-02.csv", b"Name,Ana\n"),
                ("apple_health_export/workout-routes/route_2026-01-01.gpx", b"<?xml?><gpx>"),
            ],
        );
        assert_eq!((counts.skipped[ECG], counts.skipped[ROUTE], counts.skipped[CLINICAL]), (2, 1, 1));
        assert_eq!(records(&kept, RECORDS).len(), 1);
        for (label, head) in [
            ("a.csv", "Name,Ana\n"),
            ("routes/a.gpx", "<gpx>"),
            ("export.xml", "<?xml version=\"1.0\"?><gpx>"),
            ("export_cda.xml", "<html>"),
            ("", ""),
        ] {
            assert_eq!(sniff(&AppleHealth, label, head.as_bytes()), None, "{label}");
        }
        let claims = |heads: &[(&str, &[u8])]| {
            let peeks: Vec<Peek<'_>> =
                heads.iter().map(|(label, head)| Peek { label, head, is_whole: false }).collect();
            AppleHealth.claims(&peeks)
        };
        let ecg = ("electrocardiograms/ecg_1.csv", &b"Name"[..]);
        assert_eq!(claims(&[ecg]), [false]);
        assert_eq!(claims(&[ecg, ("x.xml", b"<!DOCTYPE HealthData [")]), [true, true]);
        assert!(matches!(plan(&AppleHealth, &[ecg], ask()), Err(Refused::Unfit { .. })));
    }

    #[test]
    fn o5_2_streams_are_upstreams_and_the_account_can_be_named() {
        let file = export("");
        let plans = plan(&AppleHealth, &[("x", &file)], ask()).unwrap();
        assert_eq!(
            (plans[0].account.as_str(), plans[0].connector.id.as_str()),
            (KEY, "https://registry.pdpp.dev/connectors/apple-health")
        );
        assert!(plans[0].notes.iter().any(|note| note.contains("--account")));
        let named = Ask { account: Some("Ana".to_owned()), ..ask() };
        assert_eq!(plan(&AppleHealth, &[("x", &file)], named).unwrap()[0].account, "Ana");
    }

    #[test]
    fn o4_14_a_broken_element_costs_itself_and_a_cut_export_is_told() {
        let broken = steps("2026-01-31 14:00:00 +0100", "1").replace("value=\"1\"", "value=\"1");
        let deep = format!("<Record>{}{}</Record>", "<a>".repeat(100), "</a>".repeat(100));
        let (kept, counts) = import(&format!("{broken}{deep}{}", steps("2026-01-31 15:00:00 +0100", "2")));
        assert_eq!(
            counts.bad,
            [("a value without its closing quotation mark", 1), ("an element that is nested too deeply", 1)]
                .into()
        );
        assert_eq!(records(&kept, RECORDS)[0]["value"], 2);
        let whole = export(&steps("2026-01-31 15:00:00 +0100", "2"));
        let plan = &plan(&AppleHealth, &[("x", &whole)], ask()).unwrap()[0];
        let mut unit = Unit {
            label: "x",
            modified_ms: None,
            bytes: Box::new(io::Cursor::new(whole[..whole.len() - 12].to_vec())),
        };
        let mut given = Vec::new();
        let end = AppleHealth.split(plan, &mut unit, 0, &mut |raw| {
            given.push(raw);
            std::ops::ControlFlow::Continue(())
        });
        assert_eq!((end.unwrap_err().kind(), given.len()), (io::ErrorKind::UnexpectedEof, 3));
    }

    #[test]
    fn numbers_keep_their_digits_and_times_are_instants() {
        for (text, expected) in [
            ("0.970", Some("0.970")),
            ("72", Some("72")),
            (".5", Some("0.5")),
            (" 1 ", Some("1")),
            ("NaN", None),
            ("HKX", None),
            ("", None),
        ] {
            assert_eq!(number(text).map(|number| number.to_string()).as_deref(), expected, "{text}");
        }
        for text in [
            "2026-01-31",
            "2026-01-31 14:03:22",
            "2026-01-31 14:03:22 0100",
            "2026-13-31 14:03:22 +0100",
            "2026-01-31 14:03:22 +é",
            "2026-01-31 14:03:22 +9999",
        ] {
            assert_eq!(instant(text), None, "{text}");
        }
        assert_eq!(instant("2026-01-31 14:03:22 +05:30"), time::parse_ms("2026-01-31T08:33:22Z"));
    }

    fn elements() -> impl Strategy<Value = Vec<String>> {
        let one = (0_u32..3, 0_u32..3)
            .prop_map(|(hour, value)| steps(&format!("2026-01-31 1{hour}:00:00 +0100"), &value.to_string()));
        proptest::collection::vec(one, 0..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn twice_is_once_and_no_order_counts(first in elements(), second in elements()) {
            let files = [export(&first.concat()), export(&second.concat())];
            assert_twice_is_once_in_any_order(&AppleHealth, &[("a", &files[0]), ("b", &files[1])]);
            let (kept, _) = import(&first.concat());
            prop_assert_eq!(kept.records.len(), first.len());
        }

        #[test]
        fn cut_anywhere_and_finished_is_whole(elements in elements(), limit in 1_usize..4) {
            let whole = export(&elements.concat());
            let (kept, _) = imported(&AppleHealth, &[("a", &whole)]);
            let mut parts = Kept::default();
            for _ in 0..12 {
                parts.import_some(&AppleHealth, &[("a", &whole)], ask(), limit);
            }
            prop_assert_eq!(parts.records, kept.records);
            let plan = &plan(&AppleHealth, &[("a", &whole)], ask()).unwrap()[0];
            let (all, end) = split(&AppleHealth, plan, "a", &whole, 0);
            for (at, raw) in all.iter().enumerate() {
                let (rest, ended) = split(&AppleHealth, plan, "a", &whole, raw.next);
                prop_assert_eq!((&rest[..], ended), (&all[at + 1..], end));
            }
        }

        #[test]
        fn no_bytes_cause_a_panic(text in "[<>/=\"' &;a\n]{0,60}", at in 0_usize..3000) {
            let mut changed = export(&steps("2026-01-31 14:00:00 +0100", "1").repeat(2));
            let at = at % changed.len();
            changed.splice(at..at, text.into_bytes());
            sniff(&AppleHealth, "a", &changed);
            let plan = &plan(&AppleHealth, &[("a", &changed)], ask()).unwrap()[0];
            let mut unit = Unit { label: "a", modified_ms: None, bytes: Box::new(io::Cursor::new(changed)) };
            let mut count = 0;
            let _ = AppleHealth.split(plan, &mut unit, 0, &mut |raw| {
                let _ = AppleHealth.parse(plan, &raw);
                count += 1;
                std::ops::ControlFlow::Continue(())
            });
            prop_assert!(count < 100);
        }
    }
}
