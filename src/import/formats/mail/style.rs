//! Which text of a message's HTML its styles hide: an element's own style, and rules for a class, an element name or an id.
//!
//! Text that readers cannot see may still influence a program that reads it. Text that is only hard to see, such as white on
//! white, is not detected.

use std::borrow::Cow;
use std::cell::Cell;

use super::html;

/// How much of a message's style sheets is read, in bytes.
const LONGEST: usize = 256 * 1024;
/// The most rules that hide something, and the most that show something.
const MOST: usize = 500;
/// The most classes in one selector. A selector with more is ignored.
const MOST_CLASSES: usize = 8;
/// The most rule checks for one message, weighted by the length of the elements' classes. Beyond that, rules hide nothing more.
const MOST_ASKED: u32 = 10_000_000;
/// How many bytes of classes cost as much as one rule check.
const BYTES_ASKED: usize = 8;

/// How visible an element's text is.
#[allow(clippy::struct_field_names, reason = "each answers one question")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sight {
    /// The element and everything in it is removed.
    pub is_gone: bool,
    /// The element is invisible, except for content whose style makes it visible.
    is_invisible: bool,
    /// The text has no size, except in elements that set their own size.
    is_tiny: bool,
}

/// What a style sets for visibility.
#[allow(clippy::struct_field_names, reason = "each answers one question")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Style {
    is_gone: Option<bool>,
    is_important: bool,
    is_invisible: Option<bool>,
    is_tiny: Option<bool>,
}

/// An element, as its tag describes it.
#[derive(Debug, Default)]
pub struct Element<'a> {
    name: &'a str,
    style: Option<&'a str>,
    class: Option<&'a str>,
    id: Option<&'a str>,
    /// The link's target.
    pub link: Option<&'a str>,
    is_hidden: bool,
    has_size: bool,
}

impl<'a> Element<'a> {
    /// Reads the attributes of a tag.
    pub fn of(name: &'a str, attributes: &'a str) -> Self {
        let mut element = Self { name, ..Self::default() };
        if attributes.is_empty() {
            return element;
        }
        each_attribute(attributes, &mut |called, value| {
            let is = |name: &str| called.eq_ignore_ascii_case(name);
            match () {
                () if is("style") => _ = element.style.get_or_insert(value),
                () if is("class") => _ = element.class.get_or_insert(value),
                () if is("id") => _ = element.id.get_or_insert(value),
                () if is("href") => _ = element.link.get_or_insert(value),
                () if is("hidden") => element.is_hidden = true,
                () if is("size") => element.has_size |= name.eq_ignore_ascii_case("font"),
                () => {}
            }
        });
        element
    }
}

fn each_attribute<'a>(tag: &'a str, each: &mut dyn FnMut(&'a str, &'a str)) {
    let bytes = tag.as_bytes();
    let skip = |mut at: usize, is: fn(u8) -> bool| {
        while bytes.get(at).is_some_and(|byte| is(*byte)) {
            at += 1;
        }
        at
    };
    let mut at = 0;
    while at < bytes.len() {
        let begin = skip(at, |byte| byte.is_ascii_whitespace() || byte == b'/');
        let name_end = skip(begin, |byte| !byte.is_ascii_whitespace() && !matches!(byte, b'=' | b'/'));
        let equals = skip(name_end, |byte| byte.is_ascii_whitespace());
        if bytes.get(equals) != Some(&b'=') {
            each(&tag[begin..name_end], "");
            at = equals.max(begin + 1);
            continue;
        }
        let value = skip(equals + 1, |byte| byte.is_ascii_whitespace());
        let (value, end) = if let Some(quote @ (b'"' | b'\'')) = bytes.get(value) {
            let length = memchr::memchr(*quote, &bytes[value + 1..]);
            let end = length.map_or(bytes.len(), |length| value + 1 + length);
            (value + 1..end, end + 1)
        } else {
            let end = skip(value, |byte| !byte.is_ascii_whitespace());
            (value..end, end)
        };
        each(&tag[begin..name_end], &tag[value]);
        at = end;
    }
}

impl Sight {
    /// Whether the text is hidden.
    pub const fn is_hidden(self) -> bool {
        self.is_gone || self.is_invisible || self.is_tiny
    }

    /// The visibility of an element inside this one.
    pub fn inside(self, element: &Element<'_>, rules: &Rules<'_>) -> Self {
        let of_rules = rules.of(element, self.is_hidden());
        let own = element.style.map_or_else(Style::default, |style| Style::read(&html::decoded(style)));
        let is_gone = if of_rules.is_important { of_rules.is_gone } else { own.is_gone.or(of_rules.is_gone) };
        let has_size = element.has_size.then_some(false);
        Self {
            is_gone: self.is_gone || is_gone.unwrap_or(element.is_hidden),
            is_invisible: own.is_invisible.or(of_rules.is_invisible).unwrap_or(self.is_invisible),
            is_tiny: own.is_tiny.or(of_rules.is_tiny).or(has_size).unwrap_or(self.is_tiny),
        }
    }
}

impl Style {
    /// Applies a later style, which takes precedence.
    fn take(&mut self, later: Self) {
        if !self.is_important || later.is_important {
            self.is_gone = later.is_gone.or(self.is_gone);
            self.is_important |= later.is_important;
        }
        self.is_invisible = later.is_invisible.or(self.is_invisible);
        self.is_tiny = later.is_tiny.or(self.is_tiny);
    }

    fn read(text: &str) -> Self {
        let text = plain(text);
        let (mut style, mut is_display_none) = (Self::default(), None);
        let (mut is_cut, mut is_away, mut is_clear) = (false, false, false);
        // For each property, the last value counts.
        let (mut shut, mut opened, mut placed) = ([false; 4], [false; 2], [false; 4]);
        for line in text.split(';') {
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            let important =
                value.strip_suffix("important").and_then(|value| value.trim_end().strip_suffix('!'));
            let (value, is_important) = (important.map_or(value, str::trim_end), important.is_some());
            let is_at_most = |most: f64| number(value).is_some_and(|(number, _)| number <= most);
            match name.trim() {
                "display" if style.is_important && !is_important => {}
                "display" => {
                    is_display_none = Some(value == "none");
                    style.is_important |= is_important;
                }
                "visibility" => style.is_invisible = Some(matches!(value, "hidden" | "collapse")),
                "font-size" => style.is_tiny = size(value).or(style.is_tiny),
                // `italic bold 14px/1.5 Georgia`
                "font" => {
                    let of = value.split_whitespace().find_map(|word| {
                        let word = word.split('/').next().unwrap_or_default();
                        // `700` is a weight.
                        let is_size =
                            word == "0" || word.ends_with(|c: char| c.is_ascii_lowercase() || c == '%');
                        size(word).filter(|_| is_size)
                    });
                    style.is_tiny = of.or(style.is_tiny);
                }
                "opacity" => is_clear = number(value).is_some_and(|(number, _)| number < 0.05),
                "overflow" | "overflow-y" | "overflow-x" => is_cut = matches!(value, "hidden" | "clip"),
                "height" => shut[0] = is_at_most(0.0),
                "max-height" => shut[1] = is_at_most(0.0),
                "width" => shut[2] = is_at_most(0.0),
                "max-width" => shut[3] = is_at_most(0.0),
                "min-height" => opened[0] = number(value).is_some_and(|(number, _)| number > 0.0),
                "min-width" => opened[1] = number(value).is_some_and(|(number, _)| number > 0.0),
                "text-indent" => is_away = is_at_most(-500.0),
                "left" => placed[0] = is_at_most(-500.0),
                "top" => placed[1] = is_at_most(-500.0),
                "right" => placed[2] = is_at_most(-500.0),
                "bottom" => placed[3] = is_at_most(-500.0),
                _ => {}
            }
        }
        let is_shut = (shut[0] || shut[1]) && !opened[0] || (shut[2] || shut[3]) && !opened[1];
        let is_positioned = placed.contains(&true) && (text.contains("absolute") || text.contains("fixed"));
        style.is_gone = if is_clear || is_away || is_positioned || is_shut && is_cut {
            Some(true)
        } else {
            is_display_none
        };
        style
    }

    /// The part of the style that shows something.
    fn shown(self) -> Self {
        let shows = |is: Option<bool>| is.filter(|is| !is);
        Self { is_invisible: shows(self.is_invisible), is_tiny: shows(self.is_tiny), ..Self::default() }
    }

    const fn says_nothing(self) -> bool {
        self.is_gone.is_none() && self.is_invisible.is_none() && self.is_tiny.is_none()
    }
}

/// Whether text of this size is invisible; `None` if that depends on the surrounding size.
fn size(value: &str) -> Option<bool> {
    const KEYWORDS: [&str; 8] =
        ["xx-small", "x-small", "small", "medium", "large", "x-large", "xx-large", "xxx-large"];
    if KEYWORDS.contains(&value) {
        return Some(false);
    }
    let (number, unit) = number(value)?;
    match unit {
        _ if number <= 0.0 => Some(true),
        "em" | "%" | "ex" | "ch" => (number < 0.05).then_some(true),
        "rem" => Some(number < 0.05),
        "px" | "pt" | "" => Some(number <= 1.0),
        _ => Some(false),
    }
}

/// A number and its unit.
fn number(value: &str) -> Option<(f64, &str)> {
    let end =
        value.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(value.len());
    let (digits, unit) = value.split_at(end);
    Some((digits.parse().ok()?, unit.trim()))
}

/// The text in lower case, without comments and escapes.
fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(['\\', '*']) {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '/']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.find("*/").map_or("", |end| &comment[end + 2..]);
        } else if let Some(escape) = rest.strip_prefix('\\') {
            let digits = escape.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
            match u32::from_str_radix(&escape[..digits], 16) {
                Ok(code) => {
                    out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
                    rest = escape[digits..].strip_prefix([' ', '\t', '\n']).unwrap_or(&escape[digits..]);
                }
                Err(_) => rest = escape,
            }
        } else {
            out.push('/');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    Cow::Owned(out.to_ascii_lowercase())
}

/// The rules of a message's style sheets that hide or show something, except those for particular media.
#[derive(Debug, Default)]
pub struct Rules<'a> {
    all: Vec<Rule<'a>>,
    /// The few rules that hide something.
    hiding: Vec<usize>,
    asked: Cell<u32>,
}

#[derive(Debug)]
struct Rule<'a> {
    selector: Selector<'a>,
    style: Style,
}

/// A selector such as `p.x#y`: all its parts must match.
#[derive(Debug)]
struct Selector<'a> {
    name: &'a str,
    classes: Vec<&'a str>,
    id: Option<&'a str>,
}

impl<'a> Selector<'a> {
    /// Reads a selector for a single element. Selectors that depend on other elements or on user actions return `None`.
    fn read(text: &'a str) -> Option<Self> {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        let mut rest = text.strip_prefix('*').unwrap_or(text);
        let mut selector = Self { name: "", classes: Vec::new(), id: None };
        while let Some(mark) = rest.chars().next() {
            let begin = usize::from(matches!(mark, '.' | '#'));
            let length = rest[begin..].find(|c| !is_word(c)).unwrap_or(rest.len() - begin);
            let word = &rest[begin..begin + length];
            match mark {
                _ if word.is_empty() => return None,
                '.' if selector.classes.len() == MOST_CLASSES => return None,
                '.' => selector.classes.push(word),
                '#' => selector.id = Some(word),
                _ => selector.name = word,
            }
            rest = &rest[begin + length..];
        }
        Some(selector)
    }

    fn is_of(&self, element: &Element<'_>) -> bool {
        let has = |class: &&str| {
            element
                .class
                .is_some_and(|all| all.split_ascii_whitespace().any(|one| one.eq_ignore_ascii_case(class)))
        };
        (self.name.is_empty() || self.name.eq_ignore_ascii_case(element.name))
            && self.id.is_none_or(|id| element.id.is_some_and(|own| own.eq_ignore_ascii_case(id)))
            && self.classes.iter().all(has)
    }
}

impl<'a> Rules<'a> {
    /// The combined style of all rules that match an element. If nothing is hidden, rules that only show something are skipped.
    fn of(&self, element: &Element<'_>, is_hidden: bool) -> Style {
        let mut style = Style::default();
        let count = if is_hidden { self.all.len() } else { self.hiding.len() };
        let cost = count.saturating_mul(1 + element.class.map_or(0, str::len) / BYTES_ASKED);
        let asked = self.asked.get().saturating_add(u32::try_from(cost).unwrap_or(u32::MAX));
        if count == 0 || asked > MOST_ASKED {
            return style;
        }
        self.asked.set(asked);
        if is_hidden || self.hiding.iter().any(|at| self.all[*at].selector.is_of(element)) {
            for rule in self.all.iter().filter(|rule| rule.selector.is_of(element)) {
                style.take(rule.style);
            }
        }
        style
    }

    /// Adds a style sheet.
    pub fn add(&mut self, sheet: &'a str) {
        let mut rest = &sheet[..sheet.floor_char_boundary(LONGEST)];
        while let Some(at) = rest.find('{') {
            let before = &rest[..at];
            let before = before.rsplit([';', '}']).next().unwrap_or(before);
            // A comment before a rule is not part of its selectors, and neither is the `<!--` that hides styles from old
            // programs.
            let before =
                before.rsplit("*/").next().unwrap_or(before).trim().trim_start_matches("<!--").trim();
            let inside = &rest[at + 1..];
            if before.starts_with('@') {
                rest = &inside[block_end(inside)..];
                continue;
            }
            let end = inside.find('}').unwrap_or(inside.len());
            let style = Style::read(&inside[..end]);
            rest = &inside[end..];
            if style.says_nothing() {
                continue;
            }
            for selector in before.split(',').map(str::trim).filter(|text| !text.is_empty()) {
                let own = Selector::read(selector);
                // A selector that depends on enclosing elements may match or not, so its rule can only show elements, not hide
                // them.
                let (own, style) =
                    if own.is_some() { (own, style) } else { (last_of(selector), style.shown()) };
                let hides = style.is_gone == Some(true)
                    || style.is_invisible == Some(true)
                    || style.is_tiny == Some(true);
                let known = if hides { self.hiding.len() } else { self.all.len() - self.hiding.len() };
                if let Some(selector) = own.filter(|_| !style.says_nothing() && known < MOST) {
                    if hides {
                        self.hiding.push(self.all.len());
                    }
                    self.all.push(Rule { selector, style });
                }
            }
        }
    }
}

/// The element that a selector finally applies to: `.x p` applies to `p`.
fn last_of(selector: &str) -> Option<Selector<'_>> {
    Selector::read(selector.rsplit([' ', '>', '+', '~']).next().unwrap_or_default())
}

/// Where a block ends that may contain other blocks.
fn block_end(text: &str) -> usize {
    let mut depth = 1_u32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return at + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}
