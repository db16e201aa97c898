//! Commands to type next, as data. A [`Command`] is shown quoted for a shell, with the options that this
//! process was started with. A [`Hint`] is what to do next, in words and commands.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Serialize, Serializer};

use crate::text::shell_word;

/// The options, each with a space before it.
static OPTIONS: OnceLock<String> = OnceLock::new();

/// The words of this process's command line, without those options.
static TYPED: OnceLock<Vec<String>> = OnceLock::new();

/// Whether the advice is for someone who typed another command: the callers of a service.
static FOR_OTHERS: AtomicBool = AtomicBool::new(false);

/// Options that a shown command gets anyway, or that are left out because they may hold a password.
const GIVEN_ONCE: [&str; 3] = ["--cache-dir", "--proxy", "--ca-file"];

/// The commands that accept these options.
const COMMANDS: [&str; 8] = ["connect", "status", "disconnect", "doctor", "log", "mcp", "provider", "import"];

/// Sets the options that every shown command must have: words, quoted for a shell. Only the first call has an
/// effect.
pub fn set_options(options: &[String]) {
    let _ = OPTIONS.set(options.iter().flat_map(|option| [" ", option]).collect());
}

/// Sets what was typed after the program's name, so that it can be shown with another value. Only the first
/// call has an effect.
pub fn set_typed(words: &[String]) {
    let _ = TYPED.set(without_options(words));
}

/// Leaves the options of this process out of all later advice, because its reader typed another command.
pub fn speak_to_others() {
    FOR_OTHERS.store(true, Ordering::Relaxed);
}

fn typed_words() -> Option<&'static Vec<String>> {
    TYPED.get().filter(|_| !FOR_OTHERS.load(Ordering::Relaxed))
}

fn options() -> &'static str {
    OPTIONS.get().filter(|_| !FOR_OTHERS.load(Ordering::Relaxed)).map_or("", String::as_str)
}

/// A command of this program, to type exactly as shown except for its `<placeholders>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    words: Vec<Word>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    /// One or more of this program's own words, and placeholders: shown unchanged.
    Own(&'static str),
    /// A word from elsewhere, which is quoted when shown.
    Value(String),
}

impl Command {
    /// The command with these words after the program's name: `status --check`.
    pub fn new(words: &'static str) -> Self {
        Self { words: vec![Word::Own(words)] }
    }

    /// The command that connects the provider at `url`.
    pub fn connect(url: impl Into<String>) -> Self {
        Self::new("connect").value(url)
    }

    /// The command that connects a provider, for a person who must know its address.
    pub fn connect_any() -> Self {
        Self::new("connect <provider-url>")
    }

    /// The command that was typed, with `option value` added or replacing another value; `otherwise` if it is
    /// not known what was typed.
    pub fn typed_with(option: &'static str, value: &str, otherwise: &'static str) -> Self {
        match typed_words() {
            Some(words) => with_value(words, option, value),
            None => Self::new(otherwise).option(option, value),
        }
    }

    /// The command that was typed; `otherwise` if it is not known what was typed.
    pub fn typed_again(otherwise: &'static str) -> Self {
        typed_words().map_or_else(|| Self::new(otherwise), Self::typed)
    }

    /// The same without `option` and its value.
    pub fn typed_without(option: &'static str, otherwise: &'static str) -> Self {
        typed_words().map_or_else(
            || Self::new(otherwise),
            |words| {
                let (kept, rest) = without(words, option);
                rest.iter().fold(Self::typed(kept), Self::value)
            },
        )
    }

    /// The command that was typed, with another cache directory.
    pub fn typed_with_cache_in(dir: &Path) -> Self {
        let command = Self::new("--cache-dir").value(dir.display().to_string());
        match typed_words().filter(|words| !words.is_empty()) {
            Some(words) => words.iter().fold(command, Self::value),
            None => command.words("status"),
        }
    }

    /// The command line `words`, as someone typed it.
    pub fn typed<'a>(words: impl IntoIterator<Item = &'a String>) -> Self {
        words.into_iter().fold(Self { words: Vec::new() }, Self::value)
    }

    /// The same, followed by more of this program's own words.
    #[must_use]
    pub fn words(mut self, words: &'static str) -> Self {
        self.words.push(Word::Own(words));
        self
    }

    /// The same, followed by one more word.
    #[must_use]
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.words.push(Word::Value(value.into()));
        self
    }

    /// The same, followed by `name value`.
    #[must_use]
    pub fn option(self, name: &'static str, value: impl Into<String>) -> Self {
        self.words(name).value(value)
    }

    /// Whether it must be given the options of this process.
    fn takes_options(&self) -> bool {
        let first = match self.words.first() {
            Some(Word::Own(words)) => words.split(' ').next().unwrap_or_default(),
            Some(Word::Value(word)) => word,
            None => return false,
        };
        COMMANDS.contains(&first)
    }

    fn write(&self, options: &str, f: &mut impl fmt::Write) -> fmt::Result {
        f.write_str("pdpp")?;
        if self.takes_options() {
            f.write_str(options)?;
        }
        self.words.iter().try_for_each(|word| match word {
            Word::Own(words) => write!(f, " {words}"),
            Word::Value(word) => write!(f, " {}", shell_word(word)),
        })
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(options(), f)
    }
}

impl Serialize for Command {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
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

fn with_value(words: &[String], option: &'static str, value: &str) -> Command {
    let (kept, rest) = without(words, option);
    rest.iter().fold(Command::typed(kept).option(option, value), Command::value)
}

/// `words` without `option` and its value: those before `--`, and `--` with those after it.
fn without<'a>(words: &'a [String], option: &str) -> (Vec<&'a String>, &'a [String]) {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (own, rest) = words.split_at(end);
    let mut kept = Vec::new();
    let mut own = own.iter();
    while let Some(word) = own.next() {
        if word == option {
            own.next();
        } else if word.strip_prefix(option).is_none_or(|rest| !rest.starts_with('=')) {
            kept.push(word);
        }
    }
    (kept, rest)
}

/// What to do next: words, commands, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hint {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Words(Cow<'static, str>),
    Command(Command),
}

impl Hint {
    /// A hint in words.
    pub fn new(words: impl Into<Cow<'static, str>>) -> Self {
        Self { parts: vec![Part::Words(words.into())] }
    }

    /// The same, followed by these words.
    #[must_use]
    pub fn then(mut self, words: impl Into<Cow<'static, str>>) -> Self {
        self.parts.push(Part::Words(words.into()));
        self
    }

    /// The same, followed by this command.
    #[must_use]
    pub fn run(mut self, command: Command) -> Self {
        self.parts.push(Part::Command(command));
        self
    }

    /// The two ways to a grant if it is not known where the person's data is: their own store, or `provider`, the
    /// command that connects a provider.
    pub fn connect_own_or(provider: Command) -> Self {
        Self::new("For your own data, once it is imported: ")
            .run(Command::connect("local"))
            .then("; for a provider: ")
            .run(provider)
    }

    /// The command, if the hint is only a command.
    pub fn command(&self) -> Option<&Command> {
        match self.parts.as_slice() {
            [Part::Command(command)] => Some(command),
            _ => None,
        }
    }
}

impl From<Command> for Hint {
    fn from(command: Command) -> Self {
        Self { parts: vec![Part::Command(command)] }
    }
}

impl From<&'static str> for Hint {
    fn from(words: &'static str) -> Self {
        Self::new(words)
    }
}

impl From<String> for Hint {
    fn from(words: String) -> Self {
        Self::new(words)
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Words(words) => f.write_str(words),
            Part::Command(command) => command.fmt(f),
        })
    }
}

impl Serialize for Hint {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OPTIONS: &str = " --cache-dir '/a b'";

    fn shown(command: &Command) -> String {
        let mut text = String::new();
        command.write(OPTIONS, &mut text).unwrap();
        text
    }

    #[test]
    fn each_command_that_takes_them_gets_them() {
        for (command, expected) in [
            (Command::connect("x").words("--renew"), "pdpp --cache-dir '/a b' connect x --renew"),
            (Command::new("status"), "pdpp --cache-dir '/a b' status"),
            (Command::new("mcp serve"), "pdpp --cache-dir '/a b' mcp serve"),
            (Command::typed(["log".to_owned()].iter()), "pdpp --cache-dir '/a b' log"),
            (Command::connect_any(), "pdpp --cache-dir '/a b' connect <provider-url>"),
        ] {
            assert_eq!(shown(&command), expected);
        }
    }

    #[test]
    fn a_word_from_elsewhere_is_one_word() {
        let connect = |url: &str| Command::connect(url).to_string();
        assert_eq!(connect("https://a.example/me"), "pdpp connect https://a.example/me");
        let word = shell_word("https://a.example/$(id)");
        assert_eq!(connect("https://a.example/$(id)"), format!("pdpp connect {word}"));
        let renew = Command::new("status").option("--grant", "My mail").words("--json");
        assert_eq!(renew.to_string(), format!("pdpp status --grant {} --json", shell_word("My mail")));
    }

    #[test]
    fn no_other_command_gets_them() {
        for words in ["--help", "sandbox", "completions bash", "connected", "--cache-dir /a status", ""] {
            assert_eq!(shown(&Command::new(words)), format!("pdpp {words}"));
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
            let expected =
                expected.replace("'My mail'", &shell_word("My mail")).replace("'{}'", &shell_word("{}"));
            assert_eq!(with_value(&typed(line), "--grant", "My mail").to_string(), expected);
        }
        let command = Command::typed_with("--grant", "a", "status").to_string();
        assert_eq!(command, "pdpp status --grant a", "nothing is known in tests");
    }

    #[test]
    fn a_hint_is_its_words_and_commands_in_a_row() {
        let hint =
            Hint::new("Try again: ").run(Command::new("status")).then(", or ").run(Command::new("doctor"));
        assert_eq!(hint.to_string(), "Try again: pdpp status, or pdpp doctor");
        assert_eq!(serde_json::to_value(&hint).unwrap(), "Try again: pdpp status, or pdpp doctor");
        assert_eq!(hint.command(), None);
        let only = Hint::from(Command::new("status"));
        assert_eq!(only.command(), Some(&Command::new("status")));
        assert_eq!(Hint::new("pdpp status").command(), None, "words are not a command");
    }

    /// How a shell reads a quoted word.
    #[cfg(not(windows))]
    fn unquoted(word: &str) -> Option<String> {
        let word = word.strip_prefix('\'')?.strip_suffix('\'')?;
        Some(word.replace(r"'\''", "'"))
    }

    #[cfg(windows)]
    fn unquoted(word: &str) -> Option<String> {
        let mut rest = word.strip_prefix('"')?.strip_suffix('"')?;
        let mut plain = String::new();
        loop {
            let after = rest.trim_start_matches('\\');
            let backslashes = rest.len() - after.len();
            // There are twice as many before a quote; an odd number would escape it.
            let is_doubled = after.is_empty() || after.starts_with('"');
            if is_doubled && backslashes % 2 == 1 {
                return None;
            }
            plain.push_str(&"\\".repeat(if is_doubled { backslashes / 2 } else { backslashes }));
            let mut after = after.chars();
            match after.next() {
                None => return Some(plain),
                Some('`' | '"') => plain.push(after.next()?),
                Some(c) => plain.push(c),
            }
            rest = after.as_str();
        }
    }

    proptest! {
        #[test]
        fn no_value_leaves_its_word(value in any::<String>()) {
            let text = Command::new("status").value(value.clone()).to_string();
            let word = text.strip_prefix("pdpp status ").unwrap();
            let special = if cfg!(windows) { "'\"$`;&|<>(){}*?~#!%^" } else { "'\"$`\\;&|<>(){}*?~#!" };
            let is_plain = word == value && value.chars().all(|c| c.is_ascii_graphic() && !special.contains(c));
            prop_assert!(is_plain || unquoted(word).is_some_and(|word| word == value), "{}", text);
        }
    }
}
