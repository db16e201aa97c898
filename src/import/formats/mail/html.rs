//! The text of a mail's HTML: one pass, no tree, no links, nothing loaded.

use mail_parser::decoders::html::add_html_token;
use memchr::{memchr, memchr2, memmem};

/// The elements whose content nobody sees.
const UNSEEN: [&str; 5] = ["script", "style", "title", "template", "textarea"];

/// The elements that begin a line.
const BLOCKS: &str = "address article aside blockquote br center dd div dl dt fieldset figure footer form h1 h2 h3 h4 \
    h5 h6 header hr li main nav ol p pre section table tbody thead tr ul";

/// The text of `html`, in at most `bound` bytes.
pub fn to_text(html: &str, bound: usize) -> String {
    let mut strip =
        Strip { html, text: String::with_capacity(html.len() / 4), space: false, lost: Lost::default() };
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
    let mut text = strip.text;
    text.truncate(text.floor_char_boundary(bound));
    text.truncate(text.trim_end().len());
    text
}

struct Strip<'a> {
    html: &'a str,
    text: String,
    /// Whether a blank is due before the next word.
    space: bool,
    lost: Lost,
}

/// What was looked for up to the end in vain, and is not looked for again: so that no input takes more than one pass.
#[derive(Default)]
struct Lost {
    comment: bool,
    unseen: [bool; UNSEEN.len()],
    quotes: [bool; 2],
}

impl Strip<'_> {
    fn words(&mut self, text: &str) {
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
                // What is there to break lines, or to fill the preview of a mail program, is not seen.
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

    /// The entity that begins at `at`; where it ends.
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

    /// The tag that begins at `at`; where it ends, and with it what nobody sees.
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
        let length = bytes[name_at..].iter().take(16).take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let name = &self.html[name_at..name_at + length];
        if length == 0 && !matches!(inside.first(), Some(b'!' | b'?' | b'/')) {
            self.words("<");
            return at + 1;
        }
        let end = self.tag_end(name_at + length);
        if BLOCKS.split(' ').any(|block| block.eq_ignore_ascii_case(name)) {
            self.line();
        } else if name.eq_ignore_ascii_case("td") || name.eq_ignore_ascii_case("th") {
            self.space = true;
        }
        let unseen = UNSEEN.iter().position(|unseen| unseen.eq_ignore_ascii_case(name));
        match unseen {
            Some(unseen) if !is_close => self.close_of(unseen, end).unwrap_or(end),
            _ => end,
        }
    }

    /// Behind `what`, from `at` on.
    fn find(&self, at: usize, what: &str) -> Option<usize> {
        if self.lost.comment {
            return None;
        }
        let tail = self.html.as_bytes().get(at..)?;
        Some(at + memmem::find(tail, what.as_bytes())? + what.len())
    }

    /// Behind the `>` of a tag, which an attribute's value may hold too.
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

    /// Where the end tag of an unseen element begins, from `at` on.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(html: &str) -> String {
        to_text(html, 1 << 20)
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
        assert_eq!(to_text("<p>aé</p>", 2), "a");
        let hostile = ["<!--", "<script>", "<a b=\"", "<a b='", "</", "&", "<", "&#1", "<title></titl>"];
        for piece in hostile {
            text(&piece.repeat(200_000 / piece.len()));
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(html in "(<|>|&|;|\"|'|=|!--|-->|script|/|p|é| |#){0,60}") {
            text(&html);
        }
    }
}
