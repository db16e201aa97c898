//! A small HTML writer. Text is always escaped; there is no way to write it unescaped.

use std::fmt::Write as _;

use crate::text::{lines, one_line};

/// A piece of HTML.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Html(String);

impl Html {
    /// An empty piece.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds markup that is a literal in this program.
    pub fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds text, escaped; characters that hide or reorder it are made visible.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.escaped(&one_line(text))
    }

    /// Adds text of several lines, escaped, and keeps its line ends.
    pub fn lines(&mut self, text: &str) -> &mut Self {
        self.escaped(&lines(text))
    }

    fn escaped(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
        self
    }

    /// Adds an attribute with its value.
    pub fn attribute(&mut self, name: &'static str, value: &str) -> &mut Self {
        let _ = write!(self.0, " {name}=\"");
        self.text(value).markup("\"")
    }

    /// Adds a piece.
    pub fn html(&mut self, piece: &Self) -> &mut Self {
        self.0.push_str(&piece.0);
        self
    }

    /// The bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_cannot_break_out(text in any::<String>()) {
            let mut html = Html::new();
            html.attribute("value", &text).text(&text);
            let mut several = Html::new();
            several.lines(&text);
            let several = String::from_utf8(several.into_bytes()).unwrap();
            prop_assert!(!several.contains(['<', '>', '\'', '"']));
            prop_assert!(crate::text::exposed(&several).all(|(_, c)| matches!(c, '\n' | '\t')));
            let out = String::from_utf8(html.into_bytes()).unwrap();
            prop_assert_eq!(out.matches('"').count(), 2);
            prop_assert!(!out.contains(['<', '>', '\'']));
            prop_assert!(crate::text::exposed(&out).next().is_none());
        }
    }
}
