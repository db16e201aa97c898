//! The dates of activities in HTML, which are written in the account's language with the short name of a zone.
//!
//! A date is read only if every part of it is known. An unknown word, or a day and month that could be swapped, means that it is
//! not read. Nothing is guessed.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

/// What is needed to read a date apart from its text.
pub struct Setting<'a> {
    /// The account's zone, for times that name none and for zone names with several meanings.
    pub zone: &'a TimeZone,
    /// Whether the day comes before the month in a numeric date, if the owner stated it.
    pub day_first: Option<bool>,
}

/// Why a date could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotRead {
    /// Its form or one of its words is unknown.
    Form,
    /// Its day and month could be swapped.
    Order,
    /// The name of its zone is unknown.
    Zone,
    /// The name of its zone has several meanings, and none of them is the account's zone.
    Zones,
}

/// An instant, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instant {
    /// The time.
    pub seconds: i64,
    /// Whether the text names a zone.
    pub has_zone: bool,
}

/// The longest date, in bytes.
const LONGEST: usize = 120;

/// Names of months, long and short, in the languages that write them out: English, German, French, Spanish, Portuguese, Catalan,
/// Italian, Dutch, Swedish, Danish, Norwegian, Polish, Czech, Romanian, Hungarian, Turkish, Indonesian, Malay, Russian,
/// Ukrainian, Greek, Hebrew, Hindi, Arabic, Thai. A point at the end is ignored. A name that means different months in two
/// languages is not listed.
const MONTHS: [&str; 12] = [
    "jan january januar jänner janv janvier ene enero janeiro gen gennaio gener januari sty stycznia styczeń led ledna ian \
     ianuarie január oca ocak янв января січ січня ιαν ιανουαρίου ינואר בינו׳ בינואר जन॰ जनवरी يناير ม.ค มกราคม",
    "feb february februar févr février febrero fev fevereiro febr febrer febbraio februari lut lutego luty úno února \
     februarie február şub şubat фев февр февраля лют лютого φεβ φεβρουαρίου פברואר בפבר׳ בפברואר फ़र॰ फ़रवरी فبراير ก.พ \
     กุมภาพันธ์",
    "mar march mär märz mars mrz marzo março març maart mrt marca marzec bře března martie márc március mart maret mac март \
     марта мар бер березня μαρ μαρτίου מרץ במרץ मार्च مارس มี.ค มีนาคม",
    "apr april avr avril abr abril aprile kwi kwietnia kwiecień dub dubna aprilie ápr április nis nisan апр апреля квіт квітня \
     απρ απριλίου אפריל באפר׳ באפריל अप्रैल أبريل เม.ย เมษายน",
    "may mai mayo maio maig mag maggio mei maj maja kvě května máj május mayıs mei мая май трав травня μαΐ μαΐου μαϊ מאי \
     במאי मई مايو พ.ค พฤษภาคม",
    "jun june juni juin junio junho juny giu giugno juni cze czerwca czerwiec čvn června iun iunie jún június haz haziran июн \
     июня черв червня ιουν ιουνίου יוני ביוני जून يونيو มิ.ย มิถุนายน",
    "jul july juli juil juillet julio julho juliol lug luglio lip lipca lipiec čvc července iul iulie júl július tem temmuz \
     июл июля лип липня ιουλ ιουλίου יולי ביולי जुल॰ जुलाई يوليو ก.ค กรกฎาคม",
    "aug august août ago agosto ag agost augustus augusti sie sierpnia sierpień srp srpna augusztus ağu ağustos agu agustus ogo \
     ogos авг августа серп серпня αυγ αυγούστου אוגוסט באוג׳ באוגוסט अग॰ अगस्त أغسطس ส.ค สิงหาคม",
    "sep sept september septembre septiembre set setembro setembre settembre wrz września wrzesień zář září septembrie \
     szept szeptember eyl eylül сен сент сентября вер верес вересня σεπ σεπτ σεπτεμβρίου ספטמבר בספט׳ בספטמבר सित॰ सितंबर \
     سبتمبر ก.ย กันยายน",
    "oct october okt oktober octobre octubre out outubro ott ottobre paź października październik říj října octombrie október \
     eki ekim окт октября жовт жовтня οκτ οκτωβρίου אוקטובר באוק׳ באוקטובר अक्टू॰ अक्टूबर أكتوبر ต.ค ตุลาคม",
    "nov november novembre noviembre novembro lis listopada listopad noi noiembrie kas kasım ноя нояб ноября лист листоп \
     листопада νοε νοεμβρίου נובמבר בנוב׳ בנובמבר नव॰ नवंबर نوفمبر พ.ย พฤศจิกายน",
    "dec december dez dezember déc décembre dic diciembre dezembro des desembre dicembre desember gru grudnia grudzień pro \
     prosince decembrie ara aralık дек декабря груд грудня δεκ δεκεμβρίου דצמבר בדצמ׳ בדצמבר दिस॰ दिसंबर ديسمبر ธ.ค ธันวาคม",
];

/// Words in a date that carry no information: "de", "г.", "klo", 年.
const FILLERS: &str =
    "de del d of the г р ч klo kl um à at às om o alle la a v ве г.р година lúc 年 月 日 년 월 일 в об";

/// Words for the morning and the afternoon.
const MORNING: &str = "am a.m vorm 上午 午前 오전 π.μ ص पूर्वाह्न öö";
const EVENING: &str = "pm p.m nachm 下午 午後 오후 μ.μ م अपराह्न ös";

/// Short names of zones, and their offsets in minutes. In different places, the same name may have several meanings.
const ZONES: &[(&str, &[i32])] = &[
    ("UTC", &[0]),
    ("GMT", &[0]),
    ("Z", &[0]),
    ("WET", &[0]),
    ("WEZ", &[0]),
    ("WEST", &[60]),
    ("WESZ", &[60]),
    ("BST", &[60, 360]),
    ("IST", &[330, 120, 60]),
    ("IDT", &[180]),
    ("CET", &[60]),
    ("MEZ", &[60]),
    ("SEČ", &[60]),
    ("HNEC", &[60]),
    ("CEST", &[120]),
    ("MESZ", &[120]),
    ("SELČ", &[120]),
    ("HAEC", &[120]),
    ("EET", &[120]),
    ("OEZ", &[120]),
    ("EEST", &[180]),
    ("OESZ", &[180]),
    ("MSK", &[180]),
    ("TRT", &[180]),
    ("SAMT", &[240]),
    ("YEKT", &[300]),
    ("OMST", &[360]),
    ("NOVT", &[420]),
    ("KRAT", &[420]),
    ("IRKT", &[480]),
    ("YAKT", &[540]),
    ("VLAT", &[600]),
    ("MAGT", &[660]),
    ("PETT", &[720]),
    ("SAST", &[120]),
    ("CAT", &[120]),
    ("WAT", &[60]),
    ("EAT", &[180]),
    ("GST", &[240]),
    ("PKT", &[300]),
    ("NPT", &[345]),
    ("ICT", &[420]),
    ("WIB", &[420]),
    ("WITA", &[480]),
    ("WIT", &[540]),
    ("SGT", &[480]),
    ("MYT", &[480]),
    ("HKT", &[480]),
    ("PHT", &[480]),
    ("JST", &[540]),
    ("KST", &[540]),
    ("AWST", &[480]),
    ("ACST", &[570]),
    ("ACDT", &[630]),
    ("AEST", &[600]),
    ("AEDT", &[660]),
    ("NZST", &[720]),
    ("NZDT", &[780]),
    ("NST", &[-210]),
    ("NDT", &[-150]),
    ("AST", &[-240, 180]),
    ("ADT", &[-180]),
    ("EST", &[-300]),
    ("EDT", &[-240]),
    ("CST", &[-360, 480]),
    ("CDT", &[-300]),
    ("MST", &[-420]),
    ("MDT", &[-360]),
    ("PST", &[-480]),
    ("PDT", &[-420]),
    ("AKST", &[-540]),
    ("AKDT", &[-480]),
    ("HST", &[-600]),
    ("HNA", &[-240]),
    ("HAA", &[-180]),
    ("HNE", &[-300]),
    ("HAE", &[-240]),
    ("HNC", &[-360]),
    ("HAC", &[-300]),
    ("HNR", &[-420]),
    ("HAR", &[-360]),
    ("HNP", &[-480]),
    ("HAP", &[-420]),
    ("BRT", &[-180]),
    ("BRST", &[-120]),
    ("ART", &[-180]),
    ("UYT", &[-180]),
    ("CLT", &[-240]),
    ("CLST", &[-180]),
    ("BOT", &[-240]),
    ("VET", &[-240]),
    ("COT", &[-300]),
    ("PET", &[-300]),
    ("ECT", &[-300]),
];

/// Reads the instant that `text` names.
///
/// # Errors
/// Fails if `text` names none, or more than one is possible.
pub fn read(text: &str, setting: &Setting<'_>) -> Result<Instant, NotRead> {
    if text.len() > LONGEST {
        return Err(NotRead::Form);
    }
    let pieces = pieces(text);
    let (at, clock) = clock(&pieces).ok_or(NotRead::Form)?;
    let (mut before, mut after) = (&pieces[..at], &pieces[at + 5..]);
    let mut half = None;
    if let Some((Piece::Word(word), rest)) = after.split_first() {
        half = half_of(word);
        after = if half.is_some() { rest } else { after };
    }
    if let (None, Some((Piece::Word(word), rest))) = (half, before.split_last()) {
        half = half_of(word);
        before = if half.is_some() { rest } else { before };
    }
    if let Some((Piece::Word(word), rest)) = after.split_first()
        && is_in(FILLERS, word)
    {
        after = rest;
    }
    let time = time(clock, half).ok_or(NotRead::Form)?;
    let date = date(before, setting.day_first)?;
    let local = DateTime::from_parts(date, time);
    // The text after the time is the zone, or empty.
    let tail = tail(text, after);
    let (offset, has_zone) = match tail.as_str() {
        "" => (None, false),
        name => (Some(offset(name, &local, setting.zone)?), true),
    };
    let seconds = match offset {
        Some(minutes) => local
            .to_zoned(TimeZone::UTC)
            .map_err(|_| NotRead::Form)?
            .timestamp()
            .as_second()
            .checked_sub(i64::from(minutes) * 60)
            .ok_or(NotRead::Form)?,
        None => local.to_zoned(setting.zone.clone()).map_err(|_| NotRead::Form)?.timestamp().as_second(),
    };
    Ok(Instant { seconds, has_zone })
}

/// A part of a date.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// A number, and how many digits it has.
    Number(u32, usize),
    /// A word in lower case, without a point at its end.
    Word(String),
    /// Any other character.
    Mark(char),
}

/// The value of a digit in any script that dates are written in.
fn digit(c: char) -> Option<u32> {
    let zeros = ['0', '٠', '۰', '०', '০', '๐', '０'];
    zeros.into_iter().find_map(|zero| {
        let value = (c as u32).checked_sub(zero as u32)?;
        (value < 10).then_some(value)
    })
}

/// Invisible characters: marks for the direction of writing.
const fn is_unseen(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Characters of scripts that put words next to numbers and to each other without spaces.
const fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    // Whether the next character may continue the current word or number.
    let mut is_open = false;
    for c in text.chars().filter(|c| !is_unseen(*c)) {
        if c.is_whitespace() {
            is_open = false;
            continue;
        }
        match (digit(c), pieces.last_mut()) {
            (Some(value), Some(Piece::Number(number, digits))) if is_open && *digits < 8 => {
                (*number, *digits) = (*number * 10 + value, *digits + 1);
            }
            (Some(value), _) => pieces.push(Piece::Number(value, 1)),
            // Points are part of "a.m." and "ม.ค.", but no word begins with one.
            (None, Some(Piece::Word(word)))
                if is_open
                    && (c.is_alphanumeric() || is_joined(c))
                    && is_ideograph(c) == word.chars().all(is_ideograph) =>
            {
                word.extend(c.to_lowercase());
            }
            (None, _) if c.is_alphanumeric() => pieces.push(Piece::Word(c.to_lowercase().collect())),
            (None, _) => {
                pieces.push(Piece::Mark(c));
                is_open = false;
                continue;
            }
        }
        is_open = true;
    }
    for piece in &mut pieces {
        if let Piece::Word(word) = piece {
            word.truncate(word.trim_end_matches('.').len());
        }
    }
    pieces
}

/// Marks and signs that may be within a word.
fn is_joined(c: char) -> bool {
    matches!(c, '.' | '׳' | '॰') || is_combining(c)
}

/// Combining characters such as vowel signs.
const fn is_combining(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036f}' | '\u{0900}'..='\u{094f}' | '\u{0981}'..='\u{09cd}' | '\u{0e31}'..='\u{0e4e}')
}

/// Where the time of day begins among the pieces, and its parts: `14:03:22` or `14.03.22`.
fn clock(pieces: &[Piece]) -> Option<(usize, [u32; 3])> {
    let found = |mark: char| {
        let is_time = |window: &[Piece]| {
            let [
                Piece::Number(hour, hours),
                Piece::Mark(one),
                Piece::Number(minute, 2),
                Piece::Mark(other),
                Piece::Number(second, 2),
            ] = window
            else {
                return None;
            };
            let is_time = (*one, *other) == (mark, mark) && *hours <= 2;
            (is_time && *hour < 25 && *minute < 60 && *second < 61).then_some([*hour, *minute, *second])
        };
        // The last match counts: in "31.01.20", an earlier one would be a date.
        pieces.windows(5).enumerate().rev().find_map(|(at, window)| Some((at, is_time(window)?)))
    };
    found(':').or_else(|| found('.'))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Morning,
    Evening,
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

fn half_of(word: &str) -> Option<Half> {
    if is_in(MORNING, word) {
        return Some(Half::Morning);
    }
    is_in(EVENING, word).then_some(Half::Evening)
}

fn time([hour, minute, second]: [u32; 3], half: Option<Half>) -> Option<Time> {
    let hour = match half {
        None => hour,
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(Half::Morning) => hour % 12,
        Some(Half::Evening) => hour % 12 + 12,
    };
    let small = |number: u32| i8::try_from(number).ok();
    Time::new(small(hour)?, small(minute)?, small(second.min(59))?, 0).ok()
}

/// The date before the time.
fn date(pieces: &[Piece], day_first: Option<bool>) -> Result<Date, NotRead> {
    let mut month = None;
    let mut numbers = Vec::new();
    let mut marks = String::new();
    for piece in pieces {
        match piece {
            Piece::Number(number, digits) => numbers.push((*number, *digits)),
            Piece::Mark(c @ ('.' | '/' | '-' | ',' | '،' | '、')) => marks.push(*c),
            Piece::Word(word) if is_in(FILLERS, word) => {}
            Piece::Word(word) if month.is_none() => month = Some(month_of(word).ok_or(NotRead::Form)?),
            Piece::Word(_) | Piece::Mark(_) => return Err(NotRead::Form),
        }
    }
    let is_year = |(number, digits): (u32, usize)| digits == 4 && (1990..=2999).contains(&number);
    let (year, month, day) = match (month, numbers.as_slice()) {
        (Some(month), [year, day]) if is_year(*year) => (year.0, month, day.0),
        (Some(month), [day, year]) if is_year(*year) => (year.0, month, day.0),
        (None, [year, month, day]) if is_year(*year) => (year.0, month.0, day.0),
        (None, [first, second, year]) if is_year(*year) => {
            // With points between the numbers, the day comes first in every language.
            let is_day_first = match (marks.starts_with('.'), first.0 > 12, second.0 > 12) {
                (true, ..) | (_, true, _) => true,
                (_, _, true) => false,
                _ if first.0 == second.0 => true,
                _ => day_first.ok_or(NotRead::Order)?,
            };
            if is_day_first { (year.0, second.0, first.0) } else { (year.0, first.0, second.0) }
        }
        _ => return Err(NotRead::Form),
    };
    // Thailand uses the Buddhist calendar.
    let year = if year > 2400 { year - 543 } else { year };
    let part = |number: u32| i8::try_from(number).map_err(|_| NotRead::Form);
    let year = i16::try_from(year).map_err(|_| NotRead::Form)?;
    Date::new(year, part(month)?, part(day)?).map_err(|_| NotRead::Form)
}

fn month_of(word: &str) -> Option<u32> {
    let at = MONTHS.iter().position(|names| is_in(names, word))?;
    u32::try_from(at + 1).ok()
}

/// The text after the time, as written.
fn tail(text: &str, after: &[Piece]) -> String {
    if after.is_empty() {
        return String::new();
    }
    let is_part = |c: char| !c.is_whitespace() && !is_unseen(c);
    let length: usize = after
        .iter()
        .map(|piece| match piece {
            Piece::Number(_, digits) => *digits,
            Piece::Word(word) => word.chars().count(),
            Piece::Mark(_) => 1,
        })
        .sum();
    // A point at the end of a word is not in its piece, and zone names contain none.
    let seen: Vec<char> = text.chars().filter(|c| is_part(*c)).collect();
    let seen = seen.strip_suffix(&['.']).unwrap_or(&seen);
    seen[seen.len().saturating_sub(length)..].iter().collect::<String>().to_uppercase()
}

/// The offset in minutes of the zone with this name.
fn offset(name: &str, local: &DateTime, zone: &TimeZone) -> Result<i32, NotRead> {
    let name: String = name
        .trim_matches(['(', ')', '[', ']', ','])
        .chars()
        .map(|c| if c == '−' { '-' } else { c })
        .collect();
    if let Some((_, meanings)) = ZONES.iter().find(|(known, _)| *known == name) {
        return match meanings {
            [one] => Ok(*one),
            several => of_several(several, local, zone).ok_or(NotRead::Zones),
        };
    }
    let tail =
        ["GMT", "UTC"].into_iter().find_map(|prefix| name.strip_prefix(prefix)).ok_or(NotRead::Zone)?;
    let (sign, tail) = match (tail.strip_prefix('+'), tail.strip_prefix('-')) {
        (Some(tail), _) => (1, tail),
        (_, Some(tail)) => (-1, tail),
        _ => return Err(NotRead::Zone),
    };
    let (hours, minutes) = match tail.split_once([':', '.']) {
        Some((hours, minutes)) => (hours, minutes),
        None if tail.len() == 4 && tail.is_ascii() => tail.split_at(2),
        None => (tail, "0"),
    };
    let number =
        |text: &str| text.parse::<i32>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let (hours, minutes) = (number(hours).ok_or(NotRead::Zone)?, number(minutes).ok_or(NotRead::Zone)?);
    if hours > 14 || minutes > 59 {
        return Err(NotRead::Zone);
    }
    Ok(sign * (hours * 60 + minutes))
}

/// The meaning that the account's zone has in that year. The name is from the time of the export and may not fit the season.
fn of_several(meanings: &[i32], local: &DateTime, zone: &TimeZone) -> Option<i32> {
    let in_month = |month| {
        let noon = Date::new(local.year(), month, 1).ok()?.at(12, 0, 0, 0);
        Some(noon.to_zoned(zone.clone()).ok()?.offset().seconds() / 60)
    };
    let own = [in_month(1), in_month(7)];
    let mut fitting = meanings.iter().filter(|meaning| own.contains(&Some(**meaning)));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => Some(*one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vault::time;

    fn told(text: &str) -> Result<String, NotRead> {
        in_zone(text, "Europe/Berlin")
    }

    fn in_zone(text: &str, zone: &str) -> Result<String, NotRead> {
        let zone = TimeZone::get(zone).unwrap();
        let read = read(text, &Setting { zone: &zone, day_first: None })?;
        Ok(time::format_ms(read.seconds * 1000).replace(".000Z", ""))
    }

    #[test]
    fn each_name_of_a_month_means_one() {
        let mut all: Vec<(&str, usize)> = MONTHS
            .iter()
            .enumerate()
            .flat_map(|(month, names)| names.split_whitespace().map(move |name| (name, month)))
            .collect();
        all.sort_unstable();
        all.dedup();
        for pair in all.windows(2) {
            assert_ne!(pair[0].0, pair[1].0, "two months");
        }
        for (name, _) in all {
            let known = pieces(&format!("1 {name}. 2026"));
            assert!(matches!(&known[1], Piece::Word(word) if month_of(word).is_some()), "{name}: {known:?}");
        }
    }

    #[test]
    fn o5_1_dates_of_many_languages_are_read() {
        let afternoon = "2026-01-31T13:03:22";
        for text in [
            "Jan 31, 2026, 2:03:22\u{202f}PM CET",
            "Jan 31, 2026, 2:03:22 PM GMT+01:00",
            "January 31, 2026 at 2:03:22 PM GMT+1",
            "31 Jan 2026, 14:03:22 CET",
            "2026-01-31, 2:03:22 p.m. CET",
            "31.01.2026, 14:03:22 MEZ",
            "31. Jan. 2026, 14:03:22 MEZ",
            "31 janv. 2026, 14:03:22 CET",
            "31 janv. 2026 à 14:03:22 UTC+1",
            "31 ene 2026, 14:03:22 CET",
            "31 ene. 2026 14:03:22 CET",
            "31 de jan. de 2026, 10:03:22 BRT",
            "31 de jan. de 2026 13:03:22 WET",
            "31 gen 2026, 14:03:22 CET",
            "31 de gen. 2026, 14:03:22 CET",
            "31 jan 2026 14:03:22 CET",
            "31 jan. 2026 14:03:22 CET",
            "31. jan. 2026 14.03.22 CET",
            "31. jan. 2026, kl. 14:03:22 CET",
            "31.1.2026 klo 15.03.22 EET",
            "31 sty 2026, 14:03:22 CET",
            "31. 1. 2026 14:03:22 SEČ",
            "2026. jan. 31. 14:03:22 CET",
            "31 ian. 2026, 15:03:22 EET",
            "31 Oca 2026 16:03:22 GMT+3",
            "31 янв. 2026 г., 16:03:22 MSK",
            "31 січ. 2026 р., 15:03:22 EET",
            "31.01.2026 г., 15:03:22 ч. EET",
            "31 Ιαν 2026, 3:03:22 μ.μ. EET",
            "2026/01/31 22:03:22 JST",
            "2026年1月31日 21:03:22 GMT+8",
            "2026年1月31日 下午9:03:22 [GMT+8]",
            "2026. 1. 31. 오후 10:03:22 KST",
            "2026. 1. 31. PM 10:03:22 KST",
            "31\u{200f}/01\u{200f}/2026، 3:03:22 م غرينتش+2",
            "٣١\u{200f}/٠١\u{200f}/٢٠٢٦، ٣:٠٣:٢٢ م GMT+2",
            "31 בינו׳ 2026, 15:03:22 GMT+2",
            "31 जन॰ 2026, 6:33:22 pm GMT+5:30",
            "31 Jan 2026 20.03.22 WIB",
            "31 ม.ค. 2569 20:03:22 ICT",
        ] {
            // Some zones are written in words that are not in any table.
            if text.contains('غ') {
                assert_eq!(told(text), Err(NotRead::Zone), "{text}");
                continue;
            }
            assert_eq!(told(text).as_deref(), Ok(afternoon), "{text}");
        }
    }

    #[test]
    fn o5_1_noon_and_midnight_and_the_seasons_are_right() {
        for (text, expected) in [
            ("Jul 1, 2026, 12:00:00 AM CEST", "2026-06-30T22:00:00"),
            ("Jul 1, 2026, 12:00:00 PM CEST", "2026-07-01T10:00:00"),
            ("Jul 1, 2026, 1:00:00 AM PDT", "2026-07-01T08:00:00"),
            ("1 juil. 2026, 00:00:00 CEST", "2026-06-30T22:00:00"),
            // The zone name at the time of the export, for a day in the other season.
            ("Jan 15, 2026, 6:54:12 PM BST", "2026-01-15T17:54:12"),
            ("Jul 15, 2026, 6:54:12 PM PST", "2026-07-16T02:54:12"),
            ("01.12.2026, 14:03:22 MEZ", "2026-12-01T13:03:22"),
            ("1.2.2026 klo 14.03.22 GMT+2", "2026-02-01T12:03:22"),
            ("31/01/2026, 14:03:22 CET", "2026-01-31T13:03:22"),
            ("1/31/2026, 2:03:22 PM CET", "2026-01-31T13:03:22"),
            ("02/02/2026, 14:03:22 CET", "2026-02-02T13:03:22"),
            ("Dec 31, 2016, 11:59:60 PM UTC", "2016-12-31T23:59:59"),
        ] {
            assert_eq!(in_zone(text, "Europe/London").as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn o4_12_a_time_without_a_zone_has_the_accounts() {
        let zone = TimeZone::get("America/New_York").unwrap();
        let setting = Setting { zone: &zone, day_first: None };
        let read = read("Feb 8, 2017, 12:32:36 AM", &setting).unwrap();
        assert_eq!(
            (time::format_ms(read.seconds * 1000).as_str(), read.has_zone),
            ("2017-02-08T05:32:36.000Z", false)
        );
    }

    #[test]
    fn o4_12_a_zone_with_several_meanings_needs_the_accounts() {
        let noon = "Jan 31, 2026, 12:00:00 PM";
        for (zone, name, expected) in [
            ("Asia/Kolkata", "IST", Ok("2026-01-31T06:30:00")),
            ("Asia/Jerusalem", "IST", Ok("2026-01-31T10:00:00")),
            ("Europe/Dublin", "IST", Ok("2026-01-31T11:00:00")),
            ("America/Chicago", "CST", Ok("2026-01-31T18:00:00")),
            ("Asia/Shanghai", "CST", Ok("2026-01-31T04:00:00")),
            ("Europe/Berlin", "CST", Err(NotRead::Zones)),
            ("America/Toronto", "IST", Err(NotRead::Zones)),
            ("Asia/Dhaka", "BST", Ok("2026-01-31T06:00:00")),
        ] {
            let text = format!("{noon} {name}");
            assert_eq!(in_zone(&text, zone).as_deref().map_err(|error| *error), expected, "{text} {zone}");
        }
    }

    #[test]
    fn what_is_not_sure_is_no_date() {
        for (text, expected) in [
            ("", NotRead::Form),
            ("Some channel", NotRead::Form),
            ("31 Xyz 2026, 14:03:22 CET", NotRead::Form),
            ("31 Jan Feb 2026, 14:03:22 CET", NotRead::Form),
            ("Jan 31, 2026", NotRead::Form),
            ("Jan 31, 2026, 14:03 CET", NotRead::Form),
            ("Feb 30, 2026, 2:03:22 PM CET", NotRead::Form),
            ("Jan 31, 2026, 14:03:22 PM CET", NotRead::Form),
            ("Jan 31, 2026, 0:03:22 AM CET", NotRead::Form),
            ("Jan 31, 26, 2:03:22 PM CET", NotRead::Form),
            ("Watched 31 Jan 2026, 14:03:22 CET", NotRead::Form),
            ("3/4/2026, 14:03:22 CET", NotRead::Order),
            ("3-4-2026, 14:03:22 CET", NotRead::Order),
            ("Jan 31, 2026, 2:03:22 PM XYZ", NotRead::Zone),
            ("Jan 31, 2026, 2:03:22 PM GMT+99", NotRead::Zone),
            ("Jan 31, 2026, 2:03:22 PM GMT+1+2", NotRead::Zone),
            ("Jan 31, 2026, 2:03:22 PM on a hill", NotRead::Zone),
        ] {
            assert_eq!(told(text), Err(expected), "{text}");
        }
        let zone = TimeZone::UTC;
        for (day_first, expected) in [(true, "2026-04-03"), (false, "2026-03-04")] {
            let read = read("3/4/2026, 14:03:22 UTC", &Setting { zone: &zone, day_first: Some(day_first) });
            assert_eq!(time::day(read.unwrap().seconds * 1000), expected);
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "([0-9]{1,5}|[ .,:/\\-+年月日]|Jan|PM|م|janv\\.|GMT|CET|\\PC){0,20}") {
            let _ = told(&text);
        }

        #[test]
        fn a_second_is_found_again(second in 946_684_800_i64..4_102_444_800) {
            let at = jiff::Timestamp::from_second(second).unwrap().to_zoned(TimeZone::UTC);
            for form in ["%b %-d, %Y, %-I:%M:%S %p UTC", "%d.%m.%Y, %H:%M:%S UTC", "%Y/%m/%d %H:%M:%S GMT+0", "%-d %b %Y %H.%M.%S UTC"] {
                let text = at.strftime(form).to_string();
                let zone = TimeZone::UTC;
                let read = read(&text, &Setting { zone: &zone, day_first: None });
                prop_assert_eq!(read, Ok(Instant { seconds: second, has_zone: true }), "{}", text);
            }
        }
    }
}
