//! Commands to type next, as they have to be typed here: with the options that this process was started with.
//!
//! A hint is written where the failure is known, and the options are known where the program starts. So a hint
//! says `pdpp connect …`, and whoever keeps it to show it passes it through [`complete`].

use std::sync::OnceLock;

use crate::text::shell_word;

/// The options, each with a space before it.
static OPTIONS: OnceLock<String> = OnceLock::new();

/// The commands that take them.
const COMMANDS: [&str; 6] = ["connect", "status", "disconnect", "doctor", "log", "mcp"];

/// Remembers the options that every command has to be given too: words, quoted for a shell. The first call
/// counts.
pub fn set_options(options: &[String]) {
    let _ = OPTIONS.set(options.iter().flat_map(|option| [" ", option]).collect());
}

/// The command that connects the provider at `url`: a path may hold what a shell would run.
pub fn connect(url: &str) -> String {
    format!("pdpp connect {}", shell_word(url))
}

/// `text` with those options in each `pdpp` command in it that takes them. Twice is as once.
pub fn complete(text: &str) -> String {
    match OPTIONS.get() {
        Some(options) if !options.is_empty() => insert(text, options),
        _ => text.to_owned(),
    }
}

fn insert(text: &str, options: &str) -> String {
    const PROGRAM: &str = "pdpp ";
    let mut out = String::with_capacity(text.len() + options.len());
    let mut rest = text;
    while let Some(at) = rest.find(PROGRAM) {
        let (before, after) = rest.split_at(at + PROGRAM.len());
        // The end of another word, a path's for example, is no command.
        let is_word = !before[..at].ends_with(|c: char| c.is_alphanumeric() || "/-_.".contains(c));
        out.push_str(before.trim_end_matches(' '));
        if is_word && COMMANDS.iter().any(|command| begins_with_word(after, command)) {
            out.push_str(options);
        }
        out.push(' ');
        rest = after;
    }
    out + rest
}

fn begins_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OPTIONS: &str = " --cache-dir '/a b'";

    #[test]
    fn each_command_that_takes_them_gets_them() {
        for (text, expected) in [
            ("pdpp connect x --renew", "pdpp --cache-dir '/a b' connect x --renew"),
            (
                "a: pdpp status, or `pdpp mcp serve`",
                "a: pdpp --cache-dir '/a b' status, or `pdpp --cache-dir '/a b' mcp serve`",
            ),
            ("\n  pdpp log\n", "\n  pdpp --cache-dir '/a b' log\n"),
            ("(pdpp doctor)", "(pdpp --cache-dir '/a b' doctor)"),
        ] {
            assert_eq!(insert(text, OPTIONS), expected);
        }
    }

    #[test]
    fn a_providers_address_is_one_word() {
        assert_eq!(connect("https://a.example/me"), "pdpp connect https://a.example/me");
        assert_eq!(connect("https://a.example/$(id)"), "pdpp connect 'https://a.example/$(id)'");
    }

    #[test]
    fn nothing_else_is_touched() {
        for text in [
            "pdpp --help",
            "pdpp sandbox",
            "pdpp completions bash",
            "pdpp connected",
            "another pdpp  connect",
            "/usr/bin/pdpp connect",
            "the pdpp that comes first",
            "pdpp ",
            "",
        ] {
            assert_eq!(insert(text, OPTIONS), text);
        }
    }

    proptest! {
        #[test]
        fn twice_is_as_once(text in "(pdpp |connect|mcp|ü| ){0,12}") {
            let once = insert(&text, OPTIONS);
            prop_assert_eq!(insert(&once, OPTIONS), once.clone());
            prop_assert_eq!(once.replace(OPTIONS, ""), text);
        }
    }
}
