//! `pdpp __complete`: the values that can complete a command line, for the completion scripts.
//!
//! It reads the definitions and the index, but no keyring and no network. It reports no failures: someone who
//! presses Tab does not want an error message.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command};

use super::Global;
use crate::cache::credential::Credential;
use crate::cache::select::{GrantName, short_id};
use crate::error::Result;
use crate::mcp::call::Tool;
use crate::text;
use crate::ui::Ui;

/// Print the values that can complete a command line; called by completion scripts
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The words after `pdpp`; the last one is the one to complete
    #[arg(last = true, value_name = "WORD")]
    pub words: Vec<OsString>,
}

/// A value and its description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// One line without hidden characters that cannot be taken for an option. A shell must quote it.
    pub value: String,
    /// One line for a person; may be empty.
    pub about: String,
}

/// Prints one candidate per line: the value, and after a tab its description.
///
/// # Errors
/// Never fails.
pub fn run(args: &Args, global: &Global, root: &Command, ui: &Ui) -> Result<u8> {
    let words: Vec<String> = args.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut global = global.clone();
    global.cache_dir = option_value(&words, "--cache-dir").map(PathBuf::from).or(global.cache_dir);
    let connected = || global.cache().and_then(|cache| cache.credentials()).unwrap_or_default();
    let lines =
        candidates(root, &words, connected).into_iter().map(|Candidate { value, about }| match &*about {
            "" => format!("{value}\n"),
            about => format!("{value}\t{about}\n"),
        });
    ui.raw(lines.collect::<String>().as_bytes());
    Ok(0)
}

/// The values that can replace the last of `words`, the words after the program's name, according to the
/// definitions in `root`. Empty if no value belongs there, or if the possible values are not known. `connected`
/// is called only if it matters. The shell picks the values that begin like the last word.
pub fn candidates(
    root: &Command,
    words: &[String],
    connected: impl FnOnce() -> Vec<Credential>,
) -> Vec<Candidate> {
    let Some((argument, begun)) = awaited(root, words) else { return Vec::new() };
    let mut found: Vec<Candidate> = Vec::new();
    let mut add = |value: &str, about: &str| {
        if is_offered(value) && found.iter().all(|known| known.value != value) {
            found.push(Candidate { value: value.to_owned(), about: text::one_line(about).into_owned() });
        }
    };
    for value in argument.get_possible_values().iter().filter(|value| !value.is_hide_set()) {
        add(value.get_name(), &value.get_help().map(ToString::to_string).unwrap_or_default());
    }
    let id = argument.get_id().as_str();
    if id == "tool" {
        for tool in Tool::ALL {
            add(tool.name(), "");
        }
    }
    if id == "page" {
        // The subcommands of the command named so far.
        let from = words.iter().position(|word| word == "man").map_or(0, |at| at + 1);
        let typed = words[from..].split_last().map_or(&[][..], |(_, typed)| typed);
        let command = typed.iter().try_fold(root, |command, word| command.find_subcommand(word));
        let children =
            command.into_iter().flat_map(Command::get_subcommands).filter(|child| !child.is_hide_set());
        for child in children {
            add(child.get_name(), &child.get_about().map(ToString::to_string).unwrap_or_default());
        }
    }
    let Some(known) = Known::of(id) else { return found };
    let mut connected = connected();
    let is_typed = |credential: &Credential| {
        let provider = &credential.provider;
        words.iter().any(|word| word == provider.typed() || word == provider.as_str())
    };
    if connected.iter().any(is_typed) {
        connected.retain(is_typed);
    }
    if matches!(known, Known::Providers | Known::Either) {
        for credential in &connected {
            add(credential.provider.typed(), "");
        }
    }
    if matches!(known, Known::Grants | Known::Either) {
        let all: Vec<&Credential> = connected.iter().collect();
        for credential in &connected {
            let means_one =
                credential.label.parse::<GrantName>().is_ok_and(|name| name.meant(&all).len() == 1);
            // An id if the person has begun to type one, or if the name is ambiguous.
            let by_id = !means_one
                || !is_offered(&credential.label)
                || (!begun.is_empty() && credential.grant_id.as_str().starts_with(begun));
            add(
                if by_id { short_id(credential, &connected) } else { &credential.label },
                credential.provider.typed(),
            );
        }
    }
    for source in connected.iter().flat_map(|credential| &credential.sources) {
        match known {
            Known::Streams => source.streams.iter().for_each(|name| add(name, "")),
            Known::Sources => add(source.id.as_deref().unwrap_or_default(), &source.label()),
            Known::Instances => {
                for connection in &source.connections {
                    add(&connection.id, connection.display_name.as_deref().unwrap_or_default());
                }
            }
            Known::Providers | Known::Grants | Known::Either => {}
        }
    }
    found
}

/// Whether a value is a single line that cannot be taken for an option.
fn is_offered(value: &str) -> bool {
    !value.is_empty() && !value.starts_with('-') && !text::has_hidden(value)
}

/// Which part of the index supplies an argument's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Providers,
    Grants,
    /// A provider or a grant.
    Either,
    Streams,
    Sources,
    Instances,
}

impl Known {
    /// Looks it up by the argument's id, which means the same in every command.
    fn of(id: &str) -> Option<Self> {
        Some(match id {
            "provider" | "providers" | "provider_url" => Self::Providers,
            "grant" => Self::Grants,
            "which" => Self::Either,
            "stream" => Self::Streams,
            "source" => Self::Sources,
            "instance" => Self::Instances,
            _ => return None,
        })
    }
}

/// The argument whose value is the last of `words`, and the beginning of that value.
fn awaited<'a>(root: &'a Command, words: &'a [String]) -> Option<(&'a Arg, &'a str)> {
    let (last, before) = words.split_last()?;
    let (mut command, mut position, mut option, mut only_values) = (root, 0, None, false);
    for word in before {
        if option.take().is_some() {
        } else if only_values {
            position += 1;
        } else if word == "--" {
            only_values = true;
        } else if let Some(name) = word.strip_prefix("--") {
            option = option_named(root, command, name);
        } else if word.starts_with('-') {
            // None of the short options takes a value.
        } else if let Some(child) = command.find_subcommand(word).filter(|_| position == 0) {
            command = child;
        } else {
            position += 1;
        }
    }
    if let Some(option) = option {
        return Some((option, last));
    }
    if last.starts_with('-') && !only_values {
        let (name, begun) = last.strip_prefix("--")?.split_once('=')?;
        return Some((option_named(root, command, name)?, begun));
    }
    let more =
        || command.get_positionals().last().filter(|last| matches!(last.get_action(), ArgAction::Append));
    Some((command.get_positionals().nth(position).or_else(more)?, last))
}

/// The option named `name` of `command`, or of every command, if it takes a value.
fn option_named<'a>(root: &'a Command, command: &'a Command, name: &str) -> Option<&'a Arg> {
    let global = root.get_arguments().filter(|argument| argument.is_global_set());
    command
        .get_arguments()
        .chain(global)
        .find(|argument| argument.get_long() == Some(name) && argument.get_action().takes_values())
}

/// The value given for `option` anywhere in `words`.
fn option_value<'a>(words: &'a [String], option: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| {
        word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    })?;
    words[at].split_once('=').map(|(_, value)| value).or(words.get(at + 1).map(String::as_str))
}

/// The long options whose values are looked up here, for scripts that must name each of them.
pub fn options(root: &Command) -> Vec<String> {
    fn collect(command: &Command, found: &mut Vec<String>) {
        let ours = command.get_arguments().filter(|argument| Known::of(argument.get_id().as_str()).is_some());
        found.extend(ours.filter_map(|argument| argument.get_long().map(str::to_owned)));
        command.get_subcommands().for_each(|child| collect(child, found));
    }
    let mut found = Vec::new();
    collect(root, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::credential::tests::credential;
    use crate::cmd::Cli;
    use crate::provider::grant::{GrantedConnection, GrantedSource};
    use clap::CommandFactory as _;

    fn connected() -> Vec<Credential> {
        let mut work = credential("https://a.example", "grt_1111111111111111");
        work.label = "Work mail".to_owned();
        work.sources = vec![GrantedSource {
            id: Some("https://s.example/mail".to_owned()),
            connections: vec![GrantedConnection { id: "c1".to_owned(), display_name: Some("Me".to_owned()) }],
            streams: vec!["messages".to_owned(), "--yes".to_owned()],
            ..GrantedSource::default()
        }];
        let mut same = credential("https://b.example", "grt_2222222222222222");
        same.label = "Work mail".to_owned();
        let mut odd = credential("https://b.example", "grt_3333333333333333");
        odd.label = "a\nb\u{1b}[2J".to_owned();
        vec![work, same, odd]
    }

    fn values(words: &[&str]) -> Vec<String> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        candidates(&Cli::command(), &words, connected).into_iter().map(|found| found.value).collect()
    }

    const PROVIDERS: [&str; 2] = ["https://a.example", "https://b.example"];

    #[test]
    fn providers_wherever_one_is_asked_for() {
        for words in [
            &["connect", ""][..],
            &["connect", "--renew", "htt"],
            &["--log-level", "off", "status", "--provider", ""],
            &["mcp", "serve", "--provider=ht"],
            &["doctor", "https://c.example", ""],
        ] {
            assert_eq!(values(words), PROVIDERS, "{words:?}");
        }
        assert!(values(&["disconnect", "--", ""]).starts_with(&PROVIDERS.map(str::to_owned)));
    }

    #[test]
    fn grants_by_a_name_that_means_one() {
        let all = ["grt_11111111", "grt_22222222", "grt_33333333"];
        assert_eq!(values(&["status", "--grant", ""]), all, "a name that two have, and one of two lines");
        assert_eq!(values(&["disconnect", "https://a.example", "--grant", ""]), ["Work mail"]);
        assert_eq!(values(&["disconnect", "https://a.example", "--grant", "grt_"]), ["grt_11111111"]);
    }

    #[test]
    fn names_of_earlier_grants() {
        assert_eq!(values(&["connect", "x", "--stream", ""]), ["messages"], "no value is an option");
        assert_eq!(values(&["connect", "x", "--source", ""]), ["https://s.example/mail"]);
        assert_eq!(values(&["connect", "x", "--instance", ""]), ["c1"]);
    }

    #[test]
    fn what_the_definitions_list() {
        assert!(values(&["mcp", "setup", "claude", ""]).contains(&"codex".to_owned()));
        assert!(values(&["connect", "--flow", ""]).contains(&"device-code".to_owned()));
        assert_eq!(values(&["mcp", "call", ""]), Tool::ALL.map(Tool::name));
        let pages = values(&["man", ""]);
        assert!(
            pages.contains(&"connect".to_owned()) && !pages.contains(&"__complete".to_owned()),
            "{pages:?}"
        );
        assert!(values(&["--log-level", "off", "man", "mcp", "se"]).contains(&"serve".to_owned()));
        assert_eq!(values(&["man", "nothing", ""]), [""; 0]);
    }

    #[test]
    fn nothing_where_nothing_is_known_or_no_value_stands() {
        let nobody = || -> Vec<Credential> { panic!("the index is not read for this") };
        for words in [&[][..], &[""], &["st"], &["status", "-"], &["status", "--pro"], &["sandbox", ""]] {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            assert_eq!(candidates(&Cli::command(), &words, nobody), [], "{words:?}");
        }
    }

    #[test]
    fn every_provider_and_grant_of_the_definitions_is_completed() {
        fn check(command: &Command) {
            for argument in command.get_arguments() {
                let names = argument.get_value_names().unwrap_or_default();
                let is_ours = names.iter().any(|name| name.contains("PROVIDER") || name.contains("GRANT"));
                assert!(!is_ours || Known::of(argument.get_id().as_str()).is_some(), "{argument:?}");
                let is_short = argument.get_short().is_some() && argument.get_action().takes_values();
                assert!(!is_short, "a short option with a value: {argument:?}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
        assert_eq!(
            options(&Cli::command()),
            ["grant", "instance", "provider", "provider-url", "source", "stream"]
        );
    }

    #[test]
    fn the_directory_that_is_typed_is_the_one_that_is_read() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(option_value(&words("--cache-dir=/a status"), "--cache-dir"), Some("/a"));
        assert_eq!(option_value(&words("status --cache-dir /b x"), "--cache-dir"), Some("/b"));
        assert_eq!(option_value(&words("status --cache-dirs /b"), "--cache-dir"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_line_of_words_and_no_label_breaks_it(words in proptest::collection::vec(".{0,12}", 0..6), label in ".{0,40}") {
            let mut credential = credential("https://a.example", "g1");
            credential.label = label;
            for words in [words, vec!["disconnect".to_owned(), String::new()]] {
                for found in candidates(&Cli::command(), &words, || vec![credential.clone()]) {
                    let line = format!("{}{}", found.value, found.about);
                    assert!(text::exposed(&line).next().is_none() && !found.value.starts_with('-'), "{line:?}");
                }
            }
        }
    }
}
