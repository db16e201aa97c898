//! Commands to type next, as they have to be typed here: with the options that this process was started with.
//!
//! A hint is written where the failure is known, and the options are known where the program starts. So a hint
//! says `pdpp connect …`, and whoever keeps it to show it passes it through [`complete`].

use std::path::Path;
use std::sync::OnceLock;

use crate::text::{shell_line, shell_word};

/// The options, each with a space before it.
static OPTIONS: OnceLock<String> = OnceLock::new();

/// The words of this process's command line, without those options.
static TYPED: OnceLock<Vec<String>> = OnceLock::new();

/// Options that [`complete`] puts in, or leaves out since they may hold a password.
const GIVEN_ONCE: [&str; 3] = ["--cache-dir", "--proxy", "--ca-file"];

/// The commands that take them.
const COMMANDS: [&str; 6] = ["connect", "status", "disconnect", "doctor", "log", "mcp"];

/// Remembers the options that every command has to be given too: words, quoted for a shell. The first call
/// counts.
pub fn set_options(options: &[String]) {
    let _ = OPTIONS.set(options.iter().flat_map(|option| [" ", option]).collect());
}

/// Remembers what was typed behind the program's name, so that it can be advised with another value. The first
/// call counts.
pub fn set_typed(words: &[String]) {
    let _ = TYPED.set(without_options(words));
}

/// The command that was typed, with `option value` in the place of another value, or added; `otherwise` where it
/// is not known what was typed. A command of its own kind: whoever shows it passes it through [`complete`].
pub fn typed_with(option: &str, value: &str, otherwise: &str) -> String {
    match TYPED.get() {
        Some(words) => with_value(words, option, value),
        None => with_value(&otherwise.split(' ').map(str::to_owned).collect::<Vec<_>>(), option, value),
    }
}

/// The command that was typed, with another cache directory.
pub fn typed_with_cache_in(dir: &Path) -> String {
    let words = TYPED.get().filter(|words| !words.is_empty());
    let rest =
        words.map_or_else(|| "status".to_owned(), |words| shell_line(words.iter().map(String::as_str)));
    format!("pdpp --cache-dir {} {rest}", shell_word(&dir.display().to_string()))
}

fn without_options(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            kept.push(word.clone());
            kept.extend(words.cloned());
            break;
        }
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, _)| (name, Some(())));
        if !GIVEN_ONCE.contains(&name) {
            kept.push(word.clone());
        } else if value.is_none() {
            words.next();
        }
    }
    kept
}

fn with_value(words: &[String], option: &str, value: &str) -> String {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (own, rest) = words.split_at(end);
    let mut out = Vec::new();
    let mut own = own.iter();
    while let Some(word) = own.next() {
        if word == option {
            own.next();
        } else if word.strip_prefix(option).is_none_or(|rest| !rest.starts_with('=')) {
            out.push(word.clone());
        }
    }
    out.extend([option.to_owned(), value.to_owned()]);
    out.extend_from_slice(rest);
    format!("pdpp {}", shell_line(out.iter().map(String::as_str)))
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

    #[test]
    fn what_was_typed_gets_another_value() {
        let typed = |line: &str| without_options(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for (line, expected) in [
            ("status --grant x --json", "pdpp status --json --grant 'My mail'"),
            ("--cache-dir /d mcp call schema {} --grant=x", "pdpp mcp call schema '{}' --grant 'My mail'"),
            ("connect --renew --proxy=http://me:word@p", "pdpp connect --renew --grant 'My mail'"),
            ("mcp inspect --grant x -- y --grant z", "pdpp mcp inspect --grant 'My mail' -- y --grant z"),
        ] {
            assert_eq!(with_value(&typed(line), "--grant", "My mail"), expected);
        }
        assert_eq!(
            typed_with("--grant", "a", "status"),
            "pdpp status --grant a",
            "nothing is known in tests"
        );
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
