//! One error type for every failure of a command.
//!
//! An [`Error`] states what happened and why, and carries a stable [`code`](Error::code) for scripts and the
//! documentation, and a [`hint`](Error::hint): the next command to type. Its [`Kind`] picks the exit code.
//! Modules whose callers match on a failure have their own enum and convert it; a cause that nobody matches on
//! is an [`anyhow::Error`].

use std::fmt;

use crate::advice::{Command, Hint};

/// What a failure means for the person or program that started the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Something went wrong on this computer. Exit code 1.
    Failed,
    /// The command line was wrong. Exit code 2, the same as clap's.
    Usage,
    /// The provider could not be reached, or did not behave like a provider. Exit code 69 (`EX_UNAVAILABLE`).
    Unavailable,
    /// Refused: by the owner, by the provider, or by this program's own rules. Exit code 77 (`EX_NOPERM`).
    Refused,
    /// There is no usable credential on this computer. Exit code 78 (`EX_CONFIG`).
    NotConnected,
    /// The person stopped it (Ctrl-C). Exit code 130, as a shell reports SIGINT.
    Interrupted,
}

impl Kind {
    /// The exit code a process ends with.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Unavailable => 69,
            Self::Refused => 77,
            Self::NotConnected => 78,
            Self::Interrupted => 130,
        }
    }
}

/// A failure that is reported to a person: what happened, why, and what to type next.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    code: &'static str,
    message: String,
    hint: Option<Hint>,
    source: Option<anyhow::Error>,
}

/// The result of everything whose failure a person sees.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A failure of `kind`. `code` is stable (`snake_case`); `message` states what happened, in one sentence.
    pub fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Self {
        Self { kind, code, message: message.into(), hint: None, source: None }
    }

    /// A failure of kind [`Kind::Failed`].
    pub fn failed(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Kind::Failed, code, message)
    }

    /// The system started no thread for what `message` states.
    pub fn no_thread(message: impl Into<String>) -> Self {
        Self::failed("no_thread", message)
            .hint("End some of your programs, or raise your limit on processes (ulimit -u), and try again")
    }

    /// The system gave no event queue, or reports no signals.
    pub fn no_events(code: &'static str, message: impl Into<String>) -> Self {
        Self::failed(code, message)
            .hint("End some of your programs, or raise your limit on open files (ulimit -n), and try again")
    }

    /// The system gave no random bytes.
    pub fn no_randomness(message: impl Into<String>) -> Self {
        Self::failed("no_randomness", message).hint(
            "Check that the sandbox or container of this program lets it read /dev/urandom, and try again",
        )
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the command to type next, and nothing else: an agent tells the user to run it.
    #[must_use]
    pub fn run(self, command: Command) -> Self {
        self.hint(command)
    }

    /// Adds the cause, shown as "because": an error with its own causes, or a text.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(anyhow::Error::from_boxed(source.into()));
        self
    }

    /// What the failure means; decides the exit code.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The stable code, for scripts and the documentation.
    pub const fn code(&self) -> &'static str {
        self.code
    }

    /// What happened, without cause or hint.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do next, if there is something to do.
    pub const fn next(&self) -> Option<&Hint> {
        self.hint.as_ref()
    }

    /// The next step as text, for a person at a terminal.
    pub fn next_step(&self) -> Option<String> {
        self.hint.as_ref().map(Hint::to_string)
    }

    /// The causes, outermost first. A cause that only repeats the message or another cause is left out, because
    /// libraries often put the text of their own cause into their message.
    pub fn causes(&self) -> impl Iterator<Item = String> + '_ {
        without_repetitions(
            &self.message,
            self.source.iter().flat_map(anyhow::Error::chain).map(ToString::to_string),
        )
        .into_iter()
    }

    /// The same failure for another caller that it affects; the causes are in its message.
    #[must_use]
    pub fn repeated(&self) -> Self {
        let message = self.with_causes(self.message.clone());
        let hint = self.hint.clone();
        Self { kind: self.kind, code: self.code, message, hint, source: None }
    }

    /// What happened and why, on one line.
    pub fn in_full(&self) -> String {
        self.with_causes(self.message_in_line())
    }

    /// `message`, followed by each cause.
    fn with_causes(&self, message: String) -> String {
        self.causes().fold(message, |text, cause| text + ": " + &cause)
    }

    /// What happened, on one line: a list on further lines follows the colon, separated by commas.
    pub fn message_in_line(&self) -> String {
        let mut lines = self.message.lines().map(str::trim);
        let first = lines.next().unwrap_or_default().to_owned();
        lines.fold(first, |text, line| {
            let between = if text.ends_with(':') { " " } else { ", " };
            text + between + line
        })
    }

    /// The failure as one JSON object, for `--json`.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "error": {
                "code": self.code,
                "message": self.message,
                "because": self.causes().collect::<Vec<_>>(),
                "next": self.hint,
                "exit_code": self.kind.exit_code(),
            }
        })
    }
}

/// `causes` of `message`, without those that another of these texts contains, and without the beginning of a cause
/// that repeats the text before it.
fn without_repetitions(message: &str, causes: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for cause in causes {
        let before = kept.last().map_or(message, String::as_str);
        let cause = match after_repetition(&cause, before) {
            Some(rest) => rest.to_owned(),
            None => cause,
        };
        if cause.trim().is_empty()
            || repeats(message, &cause)
            || kept.iter().any(|known| repeats(known, &cause))
        {
            continue;
        }
        // A cause that states an earlier one with more detail stands for both.
        kept.retain(|known| !repeats(&cause, known));
        kept.push(cause);
    }
    kept
}

/// What follows `before` and a colon at the beginning of `cause`.
fn after_repetition<'a>(cause: &'a str, before: &str) -> Option<&'a str> {
    let start = cause.get(..before.len())?;
    let rest = cause.get(before.len()..)?.strip_prefix(": ")?;
    start.eq_ignore_ascii_case(before).then_some(rest)
}

/// Whether `text` contains `part` as whole words, apart from the case of its letters and a full stop at its end.
fn repeats(text: &str, part: &str) -> bool {
    let (text, part) = (text.to_lowercase(), part.to_lowercase());
    let part = part.trim().trim_end_matches('.');
    let is_edge = |next: Option<char>| next.is_none_or(|next| !next.is_alphanumeric());
    text.match_indices(part).any(|(at, found)| {
        let (before, after) = (text.get(..at), text.get(at + found.len()..));
        is_edge(before.and_then(|before| before.chars().next_back()))
            && is_edge(after.and_then(|after| after.chars().next()))
    })
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn exit_codes_are_the_documented_ones() {
        let codes = [Kind::Failed, Kind::Usage, Kind::Unavailable, Kind::Refused, Kind::NotConnected];
        assert_eq!(codes.map(Kind::exit_code), [1, 2, 69, 77, 78]);
    }

    #[test]
    fn what_stands_in_lines_stands_in_one() {
        let error = Error::failed("x", "Several match:\n  a (A)\n  b (B)").because(anyhow!("why"));
        assert_eq!(error.in_full(), "Several match: a (A), b (B): why");
        assert_eq!(error.repeated().message(), "Several match:\n  a (A)\n  b (B): why");
    }

    #[test]
    fn a_cause_that_repeats_what_was_said_is_left_out() {
        for (message, causes, shown) in [
            ("Could not reach https://a.example: connection refused", &["Connection refused."][..], &[][..]),
            (
                "Could not reach https://a.example",
                &["could not reach https://a.example: connection refused", "connection refused"],
                &["connection refused"],
            ),
            (
                "Could not read a.zip",
                &["No such file or directory", "No such file or directory (os error 2)"],
                &["No such file or directory (os error 2)"],
            ),
            ("Could not save", &["the disk is full", "no space"], &["the disk is full", "no space"]),
            // Part of a word, or of a name, is not a repetition.
            ("Could not read notes.txt", &["no", "not"], &["no"]),
            ("", &["", "why"], &["why"]),
        ] {
            let chain = causes.iter().map(|cause| (*cause).to_owned());
            assert_eq!(without_repetitions(message, chain), shown, "{message}");
        }
        let error = Error::failed("x", "Could not read a").because(anyhow!("could not read a"));
        assert_eq!(error.in_full(), "Could not read a");
        assert_eq!(error.to_json()["error"]["because"], serde_json::json!([]));
    }

    #[test]
    fn json_carries_code_cause_and_next_step() {
        let error = Error::failed("disk_full", "Could not save")
            .because(anyhow!("no space").context("the disk is full"))
            .hint("df -h");
        let json = error.to_json();
        assert_eq!(json["error"]["code"], "disk_full");
        assert_eq!(json["error"]["because"], serde_json::json!(["the disk is full", "no space"]));
        assert_eq!(json["error"]["next"], "df -h");
    }
}
