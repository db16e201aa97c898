//! Extracts the text from the HTML of a message in one pass, without building a tree, following links or loading anything. Text
//! that a mail program would hide is left out.

use std::borrow::Cow;

use mail_parser::decoders::html::add_html_token;
use memchr::{memchr, memchr2, memmem};

use super::security;
use super::style::{Element, Rules, Sight};

/// The elements whose content is not displayed.
const UNSEEN: [&str; 8] =
    ["script", "style", "title", "template", "textarea", "iframe", "noembed", "noframes"];

/// The index of the element that contains style sheets.
const STYLE: usize = 1;

/// The elements that begin a new line.
const BLOCKS: &str = "address article aside blockquote br center dd div dl dt fieldset figure footer form h1 h2 h3 h4 \
    h5 h6 header hr li main nav ol p pre section table tbody thead tr ul";

/// The elements that have no end tag.
const VOID: &str = "area base br col embed hr img input link meta param source track wbr";

/// How many levels of elements are tracked. Deeper elements are treated like the one around them.
const DEEPEST: usize = 256;

/// The extracted text.
#[derive(Debug, Default)]
pub struct Text {
    /// The text that a reader sees.
    pub seen: String,
    /// How many bytes of text are hidden from the reader.
    pub hidden: usize,
    /// The positions in the text of links that open something (`security::is_key_link`).
    pub keys: Vec<usize>,
}

/// Extracts the text of `html`, up to `bound` bytes.
pub fn to_text(html: &str, bound: usize) -> Text {
    let mut strip = Strip {
        html,
        text: String::with_capacity(html.len() / 4),
        space: false,
        lost: Lost::default(),
        open: Vec::new(),
        beyond: 0,
        rules: Rules::default(),
        hidden: 0,
        keys: Vec::new(),
    };
    let mut at = 0;
    while at < html.len() && strip.text.len() < bound {
        let length = memchr2(b'<', b'&', &html.as_bytes()[at..]).unwrap_or(html.len() - at);
        strip.words(&html[at..at + length]);
        at += length;
        match html.as_bytes().get(at) {
            Some(b'<') => at = strip.tag(at),
            Some(_) => at = strip.entity(at),
            None => break,
        }
    }
    let Strip { mut text, hidden, keys, .. } = strip;
    text.truncate(text.floor_char_boundary(bound));
    text.truncate(text.trim_end().len());
    Text { seen: text, hidden, keys }
}

struct Strip<'a> {
    html: &'a str,
    text: String,
    /// Whether a space is due before the next word.
    space: bool,
    lost: Lost,
    /// The open elements, innermost last, and whether their text is visible.
    open: Vec<Open>,
    /// How many open elements are beyond the limit.
    beyond: usize,
    rules: Rules<'a>,
    hidden: usize,
    keys: Vec<usize>,
}

/// An open element.
#[derive(Clone, Copy)]
struct Open {
    name: Name,
    /// Whether the end tag of an outer element cannot close it.
    is_cell: bool,
    sight: Sight,
}

/// An element's name, shortened to the length that distinguishes all of them.
type Name = [u8; 10];

fn name_of(text: &str) -> Name {
    let mut name = Name::default();
    for (to, from) in name.iter_mut().zip(text.bytes()) {
        *to = from.to_ascii_lowercase();
    }
    name
}

fn is_one_of(list: &str, name: &str) -> bool {
    list.split(' ').any(|known| known.eq_ignore_ascii_case(name))
}

/// What was searched for and not found up to the end. It is not searched for again, so any input takes only one pass.
#[derive(Default)]
struct Lost {
    comment: bool,
    unseen: [bool; UNSEEN.len()],
    quotes: [bool; 2],
}

impl<'a> Strip<'a> {
    fn is_hidden(&self) -> bool {
        self.open.last().is_some_and(|open| open.sight.is_hidden())
    }

    fn words(&mut self, text: &str) {
        if self.is_hidden() {
            self.hidden += text.trim_ascii().len();
            return;
        }
        let mut rest = text;
        while !rest.is_empty() {
            let word = rest.find([
                ' ', '\n', '\t', '\r', '\u{c}', '\0', '\u{a0}', '\u{200b}', '\u{ad}', '\u{34f}', '\u{feff}',
            ]);
            let (word, behind) = rest.split_at(word.unwrap_or(rest.len()));
            if !word.is_empty() {
                self.blank();
                self.text.push_str(word);
            }
            let mut chars = behind.chars();
            match chars.next() {
                // Invisible characters that only break lines or pad a mail program's preview are dropped.
                Some('\u{200b}' | '\u{ad}' | '\u{34f}' | '\u{feff}') | None => {}
                Some(_) => self.space = true,
            }
            rest = chars.as_str();
        }
    }

    fn blank(&mut self) {
        if self.space && !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push(' ');
        }
        self.space = false;
    }

    fn line(&mut self) {
        self.space = false;
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Reads the entity that begins at `at`, and returns where it ends.
    fn entity(&mut self, at: usize) -> usize {
        let tail = &self.html.as_bytes()[at..];
        let name = tail[1..]
            .iter()
            .take(32)
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'#')
            .count();
        if name == 0 || tail.get(1 + name) != Some(&b';') {
            self.words("&");
            return at + 1;
        }
        let mut decoded = String::new();
        add_html_token(&mut decoded, &tail[..name + 2], false);
        self.words(&decoded);
        at + name + 2
    }

    /// Reads the tag that begins at `at`, together with any undisplayed content, and returns where it ends.
    fn tag(&mut self, at: usize) -> usize {
        let bytes = self.html.as_bytes();
        let inside = &bytes[at + 1..];
        if inside.starts_with(b"!--") {
            if let Some(end) = self.find(at + 4, "-->") {
                return end;
            }
            self.lost.comment = true;
        }
        let is_close = inside.first() == Some(&b'/');
        let name_at = at + 1 + usize::from(is_close);
        // A name begins with a letter, so `<3` is text.
        let of_name = bytes[name_at..].iter().take(16).take_while(|byte| byte.is_ascii_alphanumeric());
        let length =
            if bytes.get(name_at).is_some_and(u8::is_ascii_alphabetic) { of_name.count() } else { 0 };
        let name = &self.html[name_at..name_at + length];
        if length == 0 && !matches!(inside.first(), Some(b'!' | b'?' | b'/')) {
            self.words("<");
            return at + 1;
        }
        let end = self.tag_end(name_at + length);
        let unseen = UNSEEN.iter().position(|unseen| unseen.eq_ignore_ascii_case(name));
        if let Some(unseen) = unseen {
            if is_close {
                return end;
            }
            let close = self.close_of(unseen, end).unwrap_or(end);
            if unseen == STYLE {
                self.rules.add(&self.html[end..close]);
            }
            return close;
        }
        let is_there = match (is_close, length) {
            (_, 0) => true,
            (true, _) => self.close(name),
            (false, _) => {
                let attributes = self.html.get(name_at + length..end).unwrap_or_default();
                self.open(name, attributes.strip_suffix('>').unwrap_or(attributes))
            }
        };
        if !is_there {
            return end;
        }
        if is_one_of(BLOCKS, name) {
            self.line();
        } else if name.eq_ignore_ascii_case("td") || name.eq_ignore_ascii_case("th") {
            self.space = true;
        }
        end
    }

    /// Opens an element, and returns whether it takes up space.
    fn open(&mut self, name: &str, attributes: &'a str) -> bool {
        let called = name_of(name);
        while self.open.last().is_some_and(|last| is_ended_by(trimmed(&last.name), name)) {
            self.open.pop();
        }
        let around = self.open.last().map_or_else(Sight::default, |open| open.sight);
        let element = Element::of(name, attributes);
        let sight = around.inside(&element, &self.rules);
        if let Some(link) = element.link
            && !sight.is_hidden()
            && security::is_key_link(&decoded(link))
        {
            self.keys.push(self.text.len());
        }
        if !is_one_of(VOID, name) {
            if self.open.len() < DEEPEST {
                self.open.push(Open { name: called, is_cell: is_one_of(CELLS, name), sight });
            } else {
                self.beyond += 1;
            }
        }
        !sight.is_gone
    }

    /// Closes an element and any elements left open in it, and returns whether it took up space.
    fn close(&mut self, name: &str) -> bool {
        let is_gone = |open: &[Open]| open.last().is_some_and(|open| open.sight.is_gone);
        if self.beyond > 0 {
            self.beyond -= 1;
            return !is_gone(&self.open);
        }
        let called = name_of(name);
        let is_of_table = is_one_of(TABLE, name);
        let mut at = self.open.len();
        while at > 0 {
            at -= 1;
            let open = self.open[at];
            if open.name == called {
                self.open.truncate(at);
                return !open.sight.is_gone;
            }
            if !is_of_table && open.is_cell {
                break;
            }
        }
        !is_gone(&self.open)
    }

    /// The position after `what`, searching from `at`.
    fn find(&self, at: usize, what: &str) -> Option<usize> {
        if self.lost.comment {
            return None;
        }
        let tail = self.html.as_bytes().get(at..)?;
        Some(at + memmem::find(tail, what.as_bytes())? + what.len())
    }

    /// The position after the `>` of a tag. An attribute's value may also contain `>`.
    fn tag_end(&mut self, from: usize) -> usize {
        let bytes = self.html.as_bytes();
        let mut at = from;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'>' => return at + 1,
                b'"' | b'\''
                    if bytes[from..at].last().is_some_and(|before| matches!(before, b'=' | b' ')) =>
                {
                    let lost = &mut self.lost.quotes[usize::from(*byte == b'"')];
                    let end = if *lost { None } else { memchr(*byte, &bytes[at + 1..]) };
                    *lost |= end.is_none();
                    at += end.map_or(1, |length| length + 2);
                }
                _ => at += 1,
            }
        }
        bytes.len()
    }

    /// Where the end tag of an undisplayed element begins, searching from `at`.
    fn close_of(&mut self, unseen: usize, at: usize) -> Option<usize> {
        if self.lost.unseen[unseen] {
            return None;
        }
        let bytes = self.html.as_bytes();
        let name = UNSEEN[unseen].as_bytes();
        let found = memmem::find_iter(&bytes[at..], b"</").find(|found| {
            let begin = at + found + 2;
            bytes.get(begin..begin + name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name))
        });
        self.lost.unseen[unseen] = found.is_none();
        found.map(|found| at + found)
    }
}

/// Elements whose content cannot close elements outside of them.
const CELLS: &str = "td th caption table";
/// Elements of tables.
const TABLE: &str = "td th tr tbody thead tfoot caption table body html";

fn trimmed(name: &Name) -> &str {
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    str::from_utf8(&name[..length]).unwrap_or_default()
}

/// Whether the next element ends an open one that has no end tag.
fn is_ended_by(open: &str, next: &str) -> bool {
    match open {
        "p" => !next.eq_ignore_ascii_case("br") && is_one_of(BLOCKS, next),
        "li" => next.eq_ignore_ascii_case("li"),
        "dt" | "dd" => is_one_of("dt dd", next),
        "td" | "th" => is_one_of("td th tr tbody", next),
        "tr" => is_one_of("tr tbody", next),
        "option" => is_one_of("option optgroup", next),
        _ => false,
    }
}

/// An attribute's value with its entities decoded.
pub fn decoded(value: &str) -> Cow<'_, str> {
    if memchr(b'&', value.as_bytes()).is_none() {
        return Cow::Borrowed(value);
    }
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('&') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(32).position(|byte| byte == b';').map_or(1, |end| end + 1);
        if end > 2 {
            add_html_token(&mut text, &rest.as_bytes()[..end], false);
        } else {
            text.push_str(&rest[..end]);
        }
        rest = &rest[end..];
    }
    text.push_str(rest);
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(html: &str) -> String {
        to_text(html, 1 << 20).seen
    }

    #[test]
    fn o5_what_nobody_sees_is_no_text() {
        let css = "<style>/* x */ .pre, p.x { color: red; DISPLAY : none !important } #gone{visibility:hidden}\n\
            @media (max-width: 1px) { .wide { display: none } .pre { display: block } } .small { font-size: 0 }\n\
            .big{font-size:14px} @import url(x); .last{display:none}</style>";
        for hidden in [
            "<div style=\"display:none\">E</div>",
            "<div style='DISPLAY : NONE;'>E</div>",
            "<div style=display:none>E</div>",
            "<div style=\"color:red;display:none!important;max-height:0\">E</div>",
            "<div style=\"display:none ! important\">E</div>",
            "<div style=\"display:none!important;display:block\">E</div>",
            "<div style=\"display&#58;none\">E</div>",
            "<div style=\"dis\\70 lay:none\">E</div>",
            "<div style=\"display:/**/none\">E</div>",
            "<span style=\"visibility:hidden\">E</span>",
            "<span style=\"font-size:0\">E</span>",
            "<span style=\"font-size:0px;line-height:0\">E</span>",
            "<span style=\"font-size: 1px\">E</span>",
            "<span style=\"font:0/0 a\">E</span>",
            "<span style=\"opacity:0\">E</span>",
            "<div style=\"max-height:0;overflow:hidden\">E</div>",
            "<div style=\"text-indent:-9999px\">E</div>",
            "<div style=\"position:absolute;left:-9999px\">E</div>",
            "<div hidden>E</div>",
            "<div hidden=\"\">E</div>",
            "<p class=\"a pre\">E</p>",
            "<p class=x>E</p>",
            "<div id=gone>E</div>",
            "<div class=last>E</div>",
            "<div class=small>E</div>",
            "<td style=\"font-size:0\">E<b>E</b></td>",
            // Content inside a hidden element is hidden too, whatever its style, and unmatched end tags close nothing.
            "<div hidden><p style=\"display:block\">E</p>E</div>",
            "<div hidden>E</span>E</td></a>E</div>",
            "<div hidden><table><tr><td>E</div>E</td></tr></table>E</div>",
            "<ul><li hidden>E<li>&nbsp;</ul>",
            "<p hidden>E<p>&nbsp;</p>",
            "<table><tr><td hidden>E<td>&nbsp;<tr></table>",
            "<div style=\"visibility:hidden\"><table><tr><td>E</table>E</div>",
        ] {
            let found = to_text(&format!("{css}<p>before</p>{hidden}<p>behind</p>"), 1 << 20);
            let words: Vec<&str> = found.seen.split_whitespace().collect();
            assert_eq!(words, ["before", "behind"], "{hidden}");
            assert!(found.hidden > 0, "{hidden}");
        }
        let unseen = "<p>a</p><iframe>E</iframe><noembed>E</noembed><select><option>b</select>";
        assert_eq!(text(unseen).split_whitespace().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn o5_what_begins_with_no_letter_is_no_tag() {
        assert_eq!(text("<p>I <3 you, dinner is at eight</p>"), "I <3 you, dinner is at eight");
        assert_eq!(text("x <5% of it <b>went</b>"), "x <5% of it went");
    }

    #[test]
    fn o5_what_is_seen_stays() {
        let css = "<style>.big{font-size:14px} @media (max-width: 600px) { .wide { display: none } } .a .b{display:none}</style>";
        for seen in [
            "<td style=\"font-size:0px;padding:10px\"><div style=\"font-size:13px;line-height:1\">E</div></td>",
            "<td style=\"font-size:0\"><p class=\"big\">E</p></td>",
            "<td style=\"font-size:0\"><font size=2>E</font></td>",
            "<td style=\"font-size:0\"><span style=\"font:bold 14px/1.5 Arial\">E</span></td>",
            "<span style=\"font-size:0.9em\">E</span>",
            "<span style=\"font-size:10px;display:block\">E</span>",
            "<div style=\"visibility:hidden\"><b style=\"visibility:visible\">E</b></div>",
            "<div class=wide>E</div>",
            "<div style=\"max-height:0;max-height:none;overflow:hidden\">E</div>",
            "<div style=\"width:0;min-width:100%;overflow:hidden\">E</div>",
            "<div style=\"text-indent:-9999px;text-indent:0\">E</div>",
            "<div style=\"display:block!important;display:none\">E</div>",
            "<div class=b>E</div>",
            "<div style=\"max-height:0\">E</div>",
            "<div style=\"overflow:hidden;height:20px\">E</div>",
            "<div style=\"opacity:0.9\">E</div>",
            "<div style=\"background:url('display:none')\">E</div>",
            "<div data-x=\"hidden\" title=\"style='display:none'\">E</div>",
            "<div aria-hidden=\"true\">E</div>",
            "<img hidden>E",
            "<br style=\"display:none\">E",
            "<p hidden>x<p>E",
            "<div hidden>x</div>E",
            "<div style=\"display:none\"></div>E",
            "<table><tr><td hidden>x</table>E",
        ] {
            let found = text(&format!("{css}<div>{seen}</div>"));
            assert_eq!(found.split_whitespace().collect::<Vec<_>>(), ["E"], "{seen}");
        }
    }

    #[test]
    fn links_that_open_something_are_known_by_where_they_stand() {
        let found = to_text(
            "<p>Hello</p><a href=\"https://a.example.org/reset?token=Ab3dEf6hIj9kLm2nOp5q&amp;x=1\">Reset</a>\
             <a href=\"https://a.example.org/forgot\">Forgot</a>",
            99,
        );
        assert_eq!(found.keys, [6]);
    }

    #[test]
    fn html_becomes_text() {
        assert_eq!(text("<p>Hello,<br>\n  <b>w</b>orld &amp; all</p>"), "Hello,\nworld & all");
        assert_eq!(
            text("<head><title>t</title><style>p { x: '<p>' }</style></head><td>a</td><td>b</td>"),
            "a b"
        );
        assert_eq!(text("a<script>if (1 < 2) x()</SCRIPT>b"), "ab");
        assert_eq!(text("a<!-- <p>hidden</p> -->b"), "ab");
        assert_eq!(text("<a title='x > y' href=\"z\">link</a>"), "link");
        assert_eq!(
            text("<p title=>don't</p> 3 < 4 &lt; 5 & 6 &nosuch; &#x4e;&#79;&eacute;"),
            "don't\n 3 < 4 < 5 & 6 &nosuch; NOé".replace("\n ", "\n")
        );
        assert_eq!(text("pre\u{200b}head\u{ad}er&nbsp;&zwnj;x\0y"), "preheader \u{200c}x y");
        assert_eq!(text("a<script>never closed"), "anever closed");
        assert_eq!(text("a <!-- never closed <p>b"), "a b");
        assert_eq!(text("a<b title=\"never closed>b"), "ab");
        assert_eq!(text("a<b"), "a");
        assert_eq!(text(""), "");
    }

    #[test]
    fn o4_14_html_has_a_bound() {
        assert_eq!(to_text("<p>aé</p>", 2).seen, "a");
        let hostile = [
            "<!--",
            "<script>",
            "<a b=\"",
            "<a b='",
            "</",
            "&",
            "<",
            "&#1",
            "<title></titl>",
            "<b>",
            "<b></i>",
            "<td></b>",
            "<p hidden>",
            "<style>{</style>",
            "<style>",
            "<style>@media{",
            "<style>.a{display:none}</style><b class=a>",
            "<b style=",
            "<b style='/*'>",
        ];
        for piece in hostile {
            text(&piece.repeat(200_000 / piece.len()));
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(html in "(<|>|&|;|\"|'|=|!--|-->|script|style|/|p|td|é| |#|hidden|class=|\\{|\\}|@|display:none|\\\\|:|font-size:0){0,60}") {
            text(&html);
        }
    }
}
