//! The head of a message, `[31.01.26, 14:03:22] ` or `1/31/26, 2:03 PM - `, in the digits and words of many languages.

use jiff::civil::{Date, DateTime};

use super::words;
use crate::import::format::DateOrder;

/// The longest head, in bytes.
pub const LONGEST: usize = 400;

/// What all heads of an export have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Whether the head is in brackets, as on an iPhone.
    pub has_brackets: bool,
    /// The separator between the numbers of the date.
    pub mark: char,
    /// Whether the year comes first.
    pub is_year_first: bool,
    /// Whether it has seconds.
    pub has_seconds: bool,
}

/// The head of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// What the head looks like.
    pub look: Look,
    /// The numbers of the date, as written.
    pub date: [u16; 3],
    /// The time of day: hour, minute, second.
    pub time: [i8; 3],
    /// Where the rest of the line begins.
    pub end: usize,
}

/// The half of the day that a word names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// Before noon.
    Am,
    /// After noon.
    Pm,
    /// Around noon: 11 is before noon, other hours are after it.
    Noon,
}

impl Head {
    /// Reads the head at the beginning of a line.
    pub fn of(line: &str) -> Option<Self> {
        let mut at = Reader { text: line, at: 0 };
        at.pass_marks();
        let has_brackets = at.take('[');
        let (first, digits) = at.number(4)?;
        let mark = at.between()?;
        let (second, _) = at.number(2)?;
        let closing = at.between()?;
        if !is_pair(mark, closing) {
            return None;
        }
        let (third, _) = at.number(4)?;
        // Dates such as `2026. 1. 31.` and `2026年1月31日`.
        at.pass_marks();
        let _ = at.take('.') || at.take('日') || at.take('일');
        let before = words::half(&at.word(char::is_numeric, 24)?)?;
        let (hour, _) = at.number(2)?;
        at.pass_spaces();
        if !(at.take(':') || at.take('.') || at.take('h')) {
            return None;
        }
        at.pass_spaces();
        let (minute, 2) = at.number(2)? else { return None };
        let has_seconds = at.take(':') || at.is_at_dot_and_digit() && at.take('.');
        let second_of = if has_seconds { at.number(2)?.0 } else { 0 };
        let after = if has_brackets {
            let after = at.word(|c| c == ']', 24)?;
            let _ = at.take(']') && at.take(' ');
            after
        } else {
            at.word_before_dash(24)?
        };
        let ((None, half) | (half, None)) = (before, words::half(&after)?) else { return None };
        let hour = match half {
            None => hour,
            Some(_) if hour == 0 || hour > 12 => hour,
            Some(Half::Am) => hour % 12,
            Some(Half::Pm) => hour % 12 + 12,
            Some(Half::Noon) => {
                if hour < 5 {
                    hour + 12
                } else {
                    hour
                }
            }
        };
        let time = [hour, minute, second_of];
        if time[0] > 23 || time[1] > 59 || time[2] > 59 {
            return None;
        }
        Some(Self {
            look: Look { has_brackets, mark, is_year_first: digits > 2, has_seconds },
            date: [first, second, third],
            time: time.map(|number| i8::try_from(number).unwrap_or_default()),
            end: at.at,
        })
    }

    /// The day, if its numbers are valid in this order.
    pub fn day(&self, order: DateOrder) -> Option<Date> {
        let [first, second, third] = self.date;
        let (year, month, day) = match order {
            DateOrder::DayMonthYear => (third, second, first),
            DateOrder::MonthDayYear => (third, first, second),
            DateOrder::YearMonthDay => (first, second, third),
        };
        let year = match year {
            0..=99 => year + 2000,
            // Years of the Thai calendar.
            2500..=2643 => year - 543,
            _ => year,
        };
        // WhatsApp was founded in 2009.
        if !(2009..=2100).contains(&year) {
            return None;
        }
        Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
    }

    /// The local time of the phone.
    pub fn at(&self, order: DateOrder) -> Option<DateTime> {
        let [hour, minute, second] = self.time;
        Some(self.day(order)?.at(hour, minute, second, 0))
    }
}

/// Whether an incomplete line may turn out to begin with a head.
pub fn may_become(line: &str) -> bool {
    let first = line.trim_start_matches(is_mark).chars().next();
    line.len() < LONGEST && first.is_none_or(|first| first == '[' || digit(first).is_some())
}

const fn is_pair(first: char, second: char) -> bool {
    matches!((first, second), ('年', '月') | ('년', '월')) || first as u32 == second as u32
}

/// Whether a character is invisible or looks like a space.
pub const fn is_mark(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{61c}')
}

const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\t')
}

/// The value of a digit in any script.
fn digit(c: char) -> Option<u16> {
    const ZEROS: [u32; 20] = [
        0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50,
        0xed0, 0xf20, 0x1040, 0x17e0, 0x1810, 0xff10,
    ];
    let code = c as u32;
    let zero = ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&code))?;
    u16::try_from(code - zero).ok()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn pass(&mut self, is_passed: impl Fn(char) -> bool) {
        while let Some(c) = self.peek().filter(|c| is_passed(*c)) {
            self.at += c.len_utf8();
        }
    }

    fn pass_marks(&mut self) {
        self.pass(is_mark);
    }

    fn pass_spaces(&mut self) {
        self.pass(|c| is_mark(c) || is_space(c));
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.at += wanted.len_utf8();
        }
        is_there
    }

    /// A number with at most this many digits, and how many it has.
    fn number(&mut self, most: usize) -> Option<(u16, usize)> {
        let (mut number, mut digits) = (0_u16, 0);
        while let Some((c, value)) = self.peek().and_then(|c| Some((c, digit(c)?))) {
            digits += 1;
            if digits > most {
                return None;
            }
            number = number * 10 + value;
            self.at += c.len_utf8();
        }
        (digits > 0).then_some((number, digits))
    }

    /// The separator between two numbers of a date.
    fn between(&mut self) -> Option<char> {
        self.pass_spaces();
        let mark = self.peek().filter(|c| matches!(c, '/' | '.' | '-' | '年' | '月' | '년' | '월'))?;
        self.at += mark.len_utf8();
        self.pass_spaces();
        Some(mark)
    }

    /// The letters before a character that ends the word, up to `most` characters. The end character is not consumed.
    fn word(&mut self, is_end: impl Fn(char) -> bool, most: usize) -> Option<String> {
        let mut word = String::new();
        for _ in 0..=most {
            let c = self.peek()?;
            if is_end(c) || digit(c).is_some() {
                return is_end(c).then_some(word);
            }
            if c.is_alphanumeric() || is_part_of_letter(c) {
                word.extend(c.to_lowercase());
            } else if !(is_mark(c)
                || is_space(c)
                || matches!(c, ',' | '.' | '،' | '、' | '\u{5f4}' | '"' | '\'' | '，'))
            {
                return None;
            }
            self.at += c.len_utf8();
        }
        None
    }

    /// The letters before ` - `. The dash is consumed.
    fn word_before_dash(&mut self, most: usize) -> Option<String> {
        let rest = self.text.get(self.at..)?;
        let dash = rest.char_indices().take(most).find(|(_, c)| matches!(c, '-' | '–'))?;
        let (before, behind) = (&rest[..dash.0], &rest[dash.0 + dash.1.len_utf8()..]);
        if !before.ends_with(|c| is_space(c) || is_mark(c))
            || !behind.starts_with(|c| is_space(c) || is_mark(c))
        {
            return None;
        }
        let end = self.at + dash.0;
        let mut reader = Reader { text: self.text, at: self.at };
        let word = reader.word(|c| c == dash.1, most)?;
        if reader.at != end {
            return None;
        }
        self.at = end + dash.1.len_utf8();
        let _ = self.take(' ');
        Some(word)
    }

    fn is_at_dot_and_digit(&self) -> bool {
        let mut rest = self.text.get(self.at..).unwrap_or_default().chars();
        rest.next() == Some('.') && rest.next().is_some_and(|c| digit(c).is_some())
    }
}

/// Combining marks that some scripts put on letters.
const fn is_part_of_letter(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{dff}' | '\u{e31}'..='\u{e4e}')
}

/// Collects the evidence for the order of the dates in a file.
#[derive(Debug, Clone, Default)]
pub struct Orders {
    seen: u64,
    look: Option<Look>,
    /// For each order: how many dates are invalid, how many are earlier than the one before, and the last date.
    of: [(u64, u64, Option<Date>); 3],
    /// Whether the orders give different dates.
    differs: bool,
}

const ALL: [DateOrder; 3] = [DateOrder::DayMonthYear, DateOrder::MonthDayYear, DateOrder::YearMonthDay];

impl Orders {
    /// Adds the next head.
    pub fn learn(&mut self, head: &Head) {
        self.seen += 1;
        self.look = Some(head.look);
        let mut days = [None; 3];
        for ((order, day), (wrong, back, last)) in ALL.iter().zip(&mut days).zip(&mut self.of) {
            match head.day(*order) {
                None => *wrong += 1,
                Some(found) => {
                    *back += u64::from(last.is_some_and(|last| found < last));
                    *last = Some(found);
                    *day = Some(found);
                }
            }
        }
        self.differs |= days[0].is_some() && days[1].is_some() && days[0] != days[1];
    }

    /// The order, or `None` if the evidence is not sufficient.
    pub fn decide(&self) -> Option<DateOrder> {
        let look = self.look?;
        if look.is_year_first {
            return Some(DateOrder::YearMonthDay);
        }
        // A few heads may come from pasted text.
        let least_wrong = self.of.iter().map(|(wrong, _, _)| *wrong).min()?;
        let is_possible = |at: usize| self.of[at].0 <= least_wrong + (self.seen - least_wrong) / 100;
        let [day_first, month_first, year_first] = [0, 1, 2].map(is_possible);
        match (day_first, month_first) {
            (true, false) => Some(ALL[0]),
            (false, true) => Some(ALL[1]),
            (false, false) => year_first.then_some(ALL[2]),
            (true, true) if !self.differs => Some(ALL[0]),
            (true, true) => {
                let (first, second) = (self.of[0].1, self.of[1].1);
                if first * 2 < second || first == 0 && second > 0 {
                    Some(ALL[0])
                } else if second * 2 < first || second == 0 && first > 0 {
                    Some(ALL[1])
                } else {
                    // No language writes the month first and separates with dots.
                    (look.mark == '.').then_some(ALL[0])
                }
            }
        }
    }
}
