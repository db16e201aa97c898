//! A host's config in a form that may be shown: its structure, and the contents of our own entry. Every other
//! value may be someone's secret, and is shown as `…`.

use std::collections::BTreeSet;

use super::edit::Format;

/// `text` with every comment, and every value that is not in `known`, replaced by `…`. Keys, brackets and line
/// breaks stay.
pub fn masked(format: Format, text: &str, known: &BTreeSet<String>) -> String {
    Masking { format, text, at: 0, depth: 0, known, out: String::with_capacity(text.len()) }.run()
}

struct Masking<'a> {
    format: Format,
    text: &'a str,
    /// The byte up to which the text is done.
    at: usize,
    /// The number of open brackets.
    depth: usize,
    known: &'a BTreeSet<String>,
    out: String,
}

const MASK: &str = "…";

impl Masking<'_> {
    fn run(mut self) -> String {
        while let Some(c) = self.rest().chars().next() {
            let comment = self.comment();
            if comment > 0 {
                self.mask(comment, "");
            } else if c == '"' || (c == '\'' && !self.is_json()) {
                self.quoted(c);
            } else if self.format == Format::Toml && c == '[' && self.depth == 0 && self.is_line_start() {
                // The name of a table.
                let end = self.rest().find(['\r', '\n', '#']).unwrap_or(self.rest().len());
                self.keep(end);
            } else if c.is_whitespace() || "{}[],:=".contains(c) {
                match c {
                    '{' | '[' => self.depth += 1,
                    '}' | ']' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                self.keep(c.len_utf8());
            } else {
                self.bare();
            }
        }
        self.out
    }

    const fn is_json(&self) -> bool {
        matches!(self.format, Format::Json | Format::Jsonc)
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn is_line_start(&self) -> bool {
        self.text[..self.at]
            .chars()
            .rev()
            .find(|c| *c == '\n' || !c.is_whitespace())
            .is_none_or(|c| c == '\n')
    }

    /// The length of the comment that begins here; 0 if there is none.
    fn comment(&self) -> usize {
        let rest = self.rest();
        // Looks for its end only if a comment begins here: a file may be one line of many MB.
        let line = || rest.find('\n').unwrap_or(rest.len());
        if self.is_json() {
            return match rest {
                _ if rest.starts_with("//") => line(),
                _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
                _ => 0,
            };
        }
        let is_apart = self.text[..self.at].chars().next_back().is_none_or(char::is_whitespace);
        if rest.starts_with('#') && (is_apart || self.format == Format::Toml) { line() } else { 0 }
    }

    fn keep(&mut self, bytes: usize) {
        let end = self.at + bytes;
        self.out.push_str(&self.text[self.at..end]);
        self.at = end;
    }

    /// Masks the next `bytes` bytes. Line breaks stay, so that the lines below keep their numbers.
    fn mask(&mut self, bytes: usize, quote: &str) {
        let end = self.at + bytes;
        let hidden = &self.text[self.at..end];
        let sign = match hidden.get(..2) {
            Some(sign @ ("//" | "/*")) if quote.is_empty() => sign,
            _ if hidden.starts_with('#') && quote.is_empty() => "#",
            _ => quote,
        };
        let breaks: String = hidden.chars().filter(|c| matches!(c, '\r' | '\n')).collect();
        self.out.extend([sign, MASK, &breaks, quote]);
        self.at = end;
    }

    fn quoted(&mut self, quote: char) {
        let rest = self.rest();
        let long = quote.to_string().repeat(3);
        let is_long = self.format == Format::Toml && rest.starts_with(&long);
        let open = if is_long { 3 } else { 1 };
        let inner = &rest[open..];
        let mut escaped = false;
        let end = inner.char_indices().find_map(|(at, c)| {
            let is_end = !escaped && if is_long { inner[at..].starts_with(&long) } else { c == quote };
            escaped = quote == '"' && c == '\\' && !escaped;
            is_end.then_some(at)
        });
        let (content, length) = match end {
            Some(end) => (&inner[..end], open + end + open),
            None => (inner, rest.len()),
        };
        let shown = match quote {
            '"' => serde_json::from_str::<String>(&format!("\"{content}\"")),
            _ => Ok(content.to_owned()),
        };
        if self.is_key(length) || shown.is_ok_and(|shown| self.known.contains(&shown)) {
            self.keep(length);
        } else {
            self.mask(length, &quote.to_string());
        }
    }

    /// A word without quotes.
    fn bare(&mut self) {
        let rest = self.rest();
        let ends = |at: usize, c: char| match self.format {
            Format::Toml => c == '=',
            // A colon ends a key only if white space follows.
            Format::Yaml => c == ':' && rest[at + 1..].chars().next().is_none_or(char::is_whitespace),
            Format::Json | Format::Jsonc => c == ':' || c == '"',
        };
        let is_end = |&(at, c): &(usize, char)| c.is_whitespace() || "{}[],".contains(c) || ends(at, c);
        let length = rest.char_indices().skip(1).find(is_end).map_or(rest.len(), |(at, _)| at);
        let word = &rest[..length];
        let is_plain = matches!(word, "true" | "false" | "null" | "~" | "-" | "---" | "...");
        if is_plain || self.known.contains(word) || self.is_key(length) {
            self.keep(length);
        } else {
            self.mask(length, "");
        }
    }

    /// Whether the next `length` bytes are a key.
    fn is_key(&self, length: usize) -> bool {
        let after = self.rest()[length..].trim_start_matches([' ', '\t']);
        match self.format {
            Format::Toml => after.starts_with(['=', '.']),
            Format::Json | Format::Jsonc => after.starts_with(':'),
            Format::Yaml => after.strip_prefix(':').is_some_and(|rest| {
                rest.chars().next().is_none_or(|c| c.is_whitespace() || "{}[],\"'".contains(c))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn shown(format: Format, text: &str) -> String {
        masked(format, text, &["/usr/bin/pdpp", "mcp", "serve"].map(str::to_owned).into())
    }

    #[test]
    fn what_is_not_ours_is_structure_alone() {
        for (format, text, expected) in [
            (
                Format::Jsonc,
                "{\"a\": {\"env\": {\"K\": \"s\\\"3\"}, \"n\": 12, \"on\": true}, // why\n \"pdpp\": {\"args\": [\"mcp\", \"serve\"]}}",
                "{\"a\": {\"env\": {\"K\": \"…\"}, \"n\": …, \"on\": true}, //…\n \"pdpp\": {\"args\": [\"mcp\", \"serve\"]}}",
            ),
            (Format::Jsonc, "/* a\n b */{}", "/*…\n{}"),
            (
                Format::Toml,
                "# s\nmodel = 'x'\n[mcp_servers.\"o p\".env]\nK = \"\"\"a\nb\"\"\" # c\nl = [\n['s']]\ncommand = \"/usr/bin/pdpp\"\na.\"b\".c = 1979-05-27\n",
                "#…\nmodel = '…'\n[mcp_servers.\"o p\".env]\nK = \"…\n\" #…\nl = [\n['…']]\ncommand = \"/usr/bin/pdpp\"\na.\"b\".c = …\n",
            ),
            (
                Format::Yaml,
                "# s\nextensions:\n  other:\n    cmd: x y # z\n    url: https://u:p@h/x\n    envs: {K: 'a''b', \"L\":\"m\"}\n    l:\n      - it's\n  pdpp:\n    args: [\"mcp\"]\n",
                "#…\nextensions:\n  other:\n    cmd: … … #…\n    url: …\n    envs: {K: '…''…', \"L\":\"…\"}\n    l:\n      - …\n  pdpp:\n    args: [\"mcp\"]\n",
            ),
        ] {
            assert_eq!(shown(format, text), expected);
        }
    }

    /// Files that programs write and no person reads. In quadratic time they would take hours.
    #[test]
    fn one_line_of_many_megabytes_takes_no_longer_than_many_lines() {
        let servers: Vec<_> =
            (0..60_000).map(|n| format!("\"s{n}\": {{\"args\": [\"a\", \"b\"], \"n\": {n}}}")).collect();
        let inline: Vec<_> =
            (0..60_000).map(|n| format!("s{n} = {{ args = ['a', 'b'], n = {n} }}")).collect();
        let began = std::time::Instant::now();
        for (format, text) in [
            (Format::Jsonc, format!("{{\"mcpServers\": {{{}}}}}", servers.join(", "))),
            (Format::Yaml, format!("{{\"extensions\": {{{}}}}}", servers.join(", "))),
            (Format::Toml, format!("mcp_servers = {{ {} }}", inline.join(", "))),
        ] {
            assert!(text.len() > 2 << 20, "{}", text.len());
            assert!(shown(format, &text).len() > 1 << 20);
        }
        assert!(began.elapsed() < std::time::Duration::from_mins(2), "{:?}", began.elapsed());
    }

    fn secrets() -> impl Strategy<Value = Value> {
        let scalar =
            prop_oneof!["canary[ -~é\n]{0,12}".prop_map(Value::from), Just(json!(null)), Just(json!(true))];
        scalar.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4).prop_map(Value::Array),
                prop::collection::btree_map("[a-z_ ]{1,6}", inner, 1..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_value_of_another_entry_is_shown(value in secrets(), is_pretty in any::<bool>()) {
            let root = json!({ "x": value });
            let json = if is_pretty { serde_json::to_string_pretty(&root) } else { serde_json::to_string(&root) };
            let json = json.unwrap();
            // JSON is YAML too.
            for format in [Format::Json, Format::Jsonc, Format::Yaml] {
                let shown = shown(format, &json);
                prop_assert!(!shown.contains("canary"), "{}", shown);
                prop_assert_eq!(shown.matches('\n').count(), json.matches('\n').count());
            }
            let toml = format!("x = {}\n", toml(&value));
            prop_assert!(!shown(Format::Toml, &toml).contains("canary"), "{}", shown(Format::Toml, &toml));
        }

        #[test]
        fn any_text_is_masked(text in "[\\[\\]{}:,='\"a-c \n\r#/*.\\-|&\\\\]{0,40}") {
            for format in [Format::Json, Format::Jsonc, Format::Yaml, Format::Toml] {
                let _ = shown(format, &text);
            }
        }
    }

    fn toml(value: &Value) -> String {
        match value {
            Value::Array(items) => format!("[\n{}]", items.iter().map(toml).collect::<Vec<_>>().join(",\n")),
            Value::Object(members) => {
                let members =
                    members.iter().map(|(key, one)| format!("{} = {}", Value::from(key.as_str()), toml(one)));
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
            Value::Null => "1".to_owned(),
            other => other.to_string(),
        }
    }
}
