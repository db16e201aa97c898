//! A wrong command line: its error code, and the command to type instead.

use std::net::AddrParseError;
use std::num::{IntErrorKind, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser as _};

use super::{Cli, Command};
use crate::advice;
use crate::error::{Error, Kind};

/// Turns clap's complaint about `words`, the words after the program's name, into an [`Error`]. `next` is the
/// command that was probably intended if it is complete, and otherwise that command's help.
pub fn explain(error: &clap::Error, words: &[String]) -> Error {
    let code = match error.kind() {
        ErrorKind::InvalidSubcommand => "unknown_command",
        _ => "usage_error",
    };
    let rendered = error.render().to_string();
    let message = rendered.trim().trim_start_matches("error: ");
    let message = match error.kind() {
        // clap would print the whole help, which the next step asks for.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "A command is missing",
        _ => ["\n\nUsage: ", "\n\nFor more information"]
            .iter()
            .fold(message, |message, end| message.split(end).next().unwrap_or(message)),
    };
    let next = moved(error, words).or_else(|| corrected(error, words)).unwrap_or_else(|| help(words));
    Error::new(Kind::Usage, code, message.trim()).run(next)
}

/// Explains that `words` name a command that no longer exists, if they do.
pub fn gone(words: &[String]) -> Option<Error> {
    let mut after = words.iter().skip_while(|word| *word != "sandbox");
    let is_import = named(words) == ["sandbox"] && after.any(|word| word == "import");
    is_import.then(|| {
        let message = "`pdpp sandbox import` no longer exists. The sandbox holds only made-up data; `pdpp import PATH` puts your own \
                       data into a separate store";
        Error::new(Kind::Usage, "command_gone", message).run(advice::Command::new("import <export>"))
    })
}

/// Explains what `pdpp connect` needs, if it was typed without it.
pub fn nothing_to_connect(error: &clap::Error, words: &[String]) -> Option<Error> {
    let is_missing = |missing: &ContextValue| matches!(missing, ContextValue::Strings(all) if all.iter().any(|one| one.contains("PROVIDER_URL")));
    let is_without = error.kind() == ErrorKind::MissingRequiredArgument
        && named(words) == ["connect"]
        && error.get(ContextKind::InvalidArg).is_some_and(is_missing);
    is_without.then(|| {
        let message = "`pdpp connect` needs to know what to connect: a provider, by its URL, or `local`, your own data on this \
                       computer after `pdpp import`";
        Error::new(Kind::Usage, "usage_error", message).hint(advice::Hint::connect_own_or(advice::Command::connect("https://provider.example")))
    })
}

/// Replaces clap's suggestion, which goes by spelling, with the command or value that the person probably wants,
/// if that is known. `words` are the words after the program's name.
pub fn with_meaning(mut error: clap::Error, words: &[String]) -> clap::Error {
    if let Some(said) = of_a_parser(&error) {
        return clap::Error::raw(error.kind(), said);
    }
    if let Some(tip) = of_others(&error, words) {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    let (wrong, better) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        ErrorKind::InvalidValue => (ContextKind::InvalidValue, ContextKind::SuggestedValue),
        _ => return error,
    };
    let Some(ContextValue::String(word)) = error.get(wrong) else { return error };
    if let Some(meant) = elsewhere(word).map(str::to_owned) {
        let meant = match better {
            ContextKind::SuggestedSubcommand => ContextValue::Strings(vec![meant]),
            _ => ContextValue::String(meant),
        };
        error.insert(better, meant);
    }
    error
}

/// Says in words what a value must be, if clap would show what a parser of the standard library reports.
fn of_a_parser(error: &clap::Error) -> Option<String> {
    let source = std::error::Error::source(error).filter(|_| error.kind() == ErrorKind::ValueValidation)?;
    let must_be = if let Some(error) = source.downcast_ref::<ParseIntError>() {
        match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "it must be a smaller number",
            IntErrorKind::Zero => "it must be at least 1",
            _ => "it must be a whole number, such as 20",
        }
    } else if let Some(error) = source.downcast_ref::<AddrParseError>() {
        // The error itself does not give its kind.
        if error.to_string().contains("socket") {
            "it must be an address and a port, such as 127.0.0.1:8484"
        } else {
            "it must be an IP address, such as 127.0.0.1"
        }
    } else {
        return None;
    };
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    };
    let (option, value) = (text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue)?);
    Some(format!(
        "invalid value '{value}' for '{option}': {must_be}\n\nFor more information, try '--help'.\n"
    ))
}

/// Names the commands that have an option that the current command does not have.
fn of_others(error: &clap::Error, words: &[String]) -> Option<String> {
    let option = unknown_option(error)?;
    if let Some(command) = moved(error, words) {
        return Some(format!("'{option}' belongs after the command: {command}"));
    }
    let mut with_it = Vec::new();
    each_command(&Cli::command(), "pdpp", &mut |path, command| {
        if option_of(command, option).is_some()
            && !with_it.iter().any(|known: &String| path.starts_with(known.as_str()))
        {
            with_it.push(path.to_owned());
        }
    });
    let with_it: Vec<String> = with_it.iter().map(|path| format!("`{path}`")).collect();
    let [rest @ .., last] = with_it.as_slice() else { return None };
    let all = if rest.is_empty() { last.clone() } else { format!("{} and {last}", rest.join(", ")) };
    Some(format!("'{option}' is an option of {all}"))
}

/// The option on the command line that clap does not know there: `--data-dir`, or `-y`.
fn unknown_option(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) if error.kind() == ErrorKind::UnknownArgument => Some(option),
        _ => None,
    }
}

fn each_command(command: &clap::Command, path: &str, each: &mut impl FnMut(&str, &clap::Command)) {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let path = format!("{path} {}", sub.get_name());
        each(&path, sub);
        each_command(sub, &path, each);
    }
}

/// The option of `command` that is spelled `written`.
fn option_of<'a>(command: &'a clap::Command, written: &str) -> Option<&'a clap::Arg> {
    let name = written.split_once('=').map_or(written, |(name, _)| name);
    command.get_arguments().find(|known| match name.strip_prefix("--") {
        Some(long) => known.get_long() == Some(long),
        None => known
            .get_short()
            .is_some_and(|short| name.strip_prefix('-') == Some(short.encode_utf8(&mut [0; 4]))),
    })
}

/// `words` with the options that come before the command they belong to moved behind it.
fn moved(error: &clap::Error, words: &[String]) -> Option<advice::Command> {
    unknown_option(error)?;
    if words.iter().any(|word| word.contains('@')) {
        return None;
    }
    let root = Cli::command();
    let (mut command, mut last) = (&root, None);
    let (mut kept, mut options) = (Vec::new(), Vec::new());
    let takes = |option: &clap::Arg| option.get_action().takes_values();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.peek() {
        if *word == "--" {
            break;
        }
        let Some(word) = rest.next() else { break };
        if !word.starts_with('-') {
            let Some(sub) = command.find_subcommand(word) else {
                kept.push(word.clone());
                continue;
            };
            command = sub;
            kept.push(word.clone());
            last = Some(kept.len());
            continue;
        }
        let known = option_of(command, word).or_else(|| option_of(&root, word));
        let below = || {
            let mut found = None;
            each_command(command, "", &mut |_, sub| {
                found = found.or_else(|| option_of(sub, word).map(takes));
            });
            found
        };
        let (is_its, has_value) = match known {
            Some(option) => (true, takes(option)),
            None => (false, below()?),
        };
        let to = if is_its { &mut kept } else { &mut options };
        to.push(word.clone());
        if has_value && !word.contains('=') {
            to.extend(rest.next().cloned());
        }
    }
    let last = last.filter(|_| !options.is_empty())?;
    kept.splice(last..last, options);
    kept.extend(rest.cloned());
    let parsed = Cli::try_parse_from(std::iter::once("pdpp").chain(kept.iter().map(String::as_str)));
    parsed.is_ok().then(|| advice::Command::typed(&kept))
}

/// `words` with the wrong word replaced by the one that clap suggests.
fn corrected(error: &clap::Error, words: &[String]) -> Option<advice::Command> {
    let (wrong, better) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        ErrorKind::InvalidValue => (ContextKind::InvalidValue, ContextKind::SuggestedValue),
        _ => return None,
    };
    let all = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => std::slice::from_ref(text),
        Some(ContextValue::Strings(texts)) => texts.as_slice(),
        _ => &[],
    };
    let wrong = all(wrong).first()?.as_str();
    let likeness = |text: &String| strsim::jaro_winkler(wrong, text);
    let better = all(better).iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    // An address that may hold a proxy's password is not repeated.
    if words.iter().any(|word| word.contains('@')) {
        return None;
    }
    let mut is_put = false;
    let mut put = |word: &String| {
        let value = word.strip_prefix(wrong).filter(|rest| rest.is_empty() || rest.starts_with('='));
        match value.filter(|_| !is_put) {
            Some(value) => {
                is_put = true;
                format!("{better}{value}").split(' ').map(str::to_owned).collect()
            }
            None => vec![word.clone()],
        }
    };
    let meant: Vec<String> = words.iter().flat_map(&mut put).collect();
    let parsed = Cli::try_parse_from(std::iter::once("pdpp").chain(meant.iter().map(String::as_str)));
    match parsed {
        // A command that ends grants or deletes is never suggested on a guess.
        Ok(Cli { command: Command::Disconnect(_), .. }) => Some(help(&meant)),
        Ok(Cli { command: Command::Provider(args), .. }) if args.ends_something() => Some(help(&meant)),
        Ok(_) => Some(advice::Command::typed(&meant)),
        // The command is right, but something else is missing.
        Err(_) => is_put.then(|| help(&meant)),
    }
}

/// The name that other programs use for it: closer in meaning than a similar spelling.
fn elsewhere(word: &str) -> Option<&'static str> {
    Some(match word {
        "login" | "auth" | "authorize" | "add" => "connect",
        "logout" | "revoke" | "remove" => "disconnect",
        "list" | "ls" | "grants" | "whoami" => "status",
        "history" | "logs" | "audit" => "log",
        "setup" | "install" | "configure" => "mcp setup",
        "serve" => "mcp serve",
        "inspect" => "mcp inspect",
        "call" => "mcp call",
        "host" => "mcp host",
        "completion" => "completions",
        "code" | "vs-code" => "vscode",
        "claude-code" => "claude",
        "gemini-cli" => "gemini",
        "github-copilot" | "copilot-cli" => "copilot",
        _ => return None,
    })
}

/// The help of the command that `words` start to name.
fn help(words: &[String]) -> advice::Command {
    let mut names = named(words);
    names.push("--help".to_owned());
    advice::Command::typed(&names)
}

/// The names of the command that `words` start to name.
fn named(words: &[String]) -> Vec<String> {
    let root = Cli::command();
    let mut command = &root;
    let mut names = Vec::new();
    let mut words = words.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if let Some(sub) = command.find_subcommand(word) {
            command = sub;
            names.push(sub.get_name().to_owned());
        } else if let Some(name) = word.strip_prefix("--") {
            let mut known = command.get_arguments().chain(root.get_arguments());
            let takes =
                known.any(|known| known.get_long() == Some(name) && known.get_action().takes_values());
            if takes {
                words.next();
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(line: &str) -> (String, String) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let error = Cli::try_parse_from(std::iter::once("pdpp").chain(words.iter().map(String::as_str)));
        let error = with_meaning(error.unwrap_err(), &words);
        let error = explain(&error, &words);
        assert!(!error.message().contains("Usage:") && !error.message().is_empty(), "{error:?}");
        (error.code().to_owned(), error.next_step().unwrap())
    }

    #[test]
    fn what_was_probably_meant_is_the_next_command() {
        for (line, code, expected) in [
            ("statsu --json", "unknown_command", "pdpp status --json"),
            ("mcp serv", "unknown_command", "pdpp mcp serve"),
            ("conect", "unknown_command", "pdpp connect --help"),
            ("connect --nonsense", "usage_error", "pdpp connect --help"),
            ("disconect --all", "unknown_command", "pdpp disconnect --help"),
            ("frobnicate", "unknown_command", "pdpp --help"),
            ("status --chek", "usage_error", "pdpp status --check"),
            ("status --grnat=My", "usage_error", "pdpp status --grant=My"),
            ("status --nonsense", "usage_error", "pdpp status --help"),
            ("mcp setup codx", "usage_error", "pdpp mcp setup codex"),
            ("--cache-dir mcp status --nonsense", "usage_error", "pdpp status --help"),
            (
                "connect https://a.example --proxy http://u:word@p --renw",
                "usage_error",
                "pdpp connect --help",
            ),
            ("login https://a.example", "unknown_command", "pdpp connect https://a.example"),
            ("login", "unknown_command", "pdpp connect --help"),
            ("logout", "unknown_command", "pdpp disconnect --help"),
            ("setup codex", "unknown_command", "pdpp mcp setup codex"),
            ("mcp setup code", "usage_error", "pdpp mcp setup vscode"),
            ("mcp setup claude-code --dry-run", "usage_error", "pdpp mcp setup claude --dry-run"),
            ("mcp call", "usage_error", "pdpp mcp call --help"),
            ("mcp", "usage_error", "pdpp mcp --help"),
            ("", "usage_error", "pdpp --help"),
            ("--data-dir X import a.zip", "usage_error", "pdpp import --data-dir X a.zip"),
            ("--data-dir=X import --yes", "usage_error", "pdpp import --data-dir=X --yes"),
            (
                "--json --data-dir import provider grants",
                "usage_error",
                "pdpp provider grants --json --data-dir import",
            ),
            (
                "mcp --for claude --cache-dir status serve",
                "usage_error",
                "pdpp mcp --cache-dir status serve --for claude",
            ),
            ("--account Work connect local", "usage_error", "pdpp connect --account Work local"),
            ("provider -y revoke grt_1", "usage_error", "pdpp provider revoke -y grt_1"),
            ("status --data-dir X", "usage_error", "pdpp status --help"),
            ("provider forgt X --yes", "unknown_command", "pdpp provider forget --help"),
        ] {
            assert_eq!(next(line), (code.to_owned(), expected.to_owned()), "{line}");
        }
    }

    #[test]
    fn a_value_that_is_not_a_number_or_an_address_is_told_in_words() {
        for (line, says) in [
            ("log --limit foo", "such as 20"),
            ("log --limit 0", "at least 1"),
            ("log --limit 99999999999999999999999999", "smaller number"),
            ("sandbox --seed foo", "such as 20"),
            ("mcp inspect --budget 1.5", "such as 20"),
            ("connect https://a.example --wait soon", "such as 600"),
            (
                "mcp host --provider-url https://a.example --introspection-keyring --listen foo",
                "such as 127.0.0.1:8484",
            ),
            (
                "mcp host --provider-url https://a.example --introspection-keyring --trusted-proxy foo",
                "an IP address, such as 127.0.0.1",
            ),
            ("provider serve --public-url foo", "such as https://pdpp.example"),
            ("status --provider https://", "such as https://provider.example"),
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let error = Cli::try_parse_from(std::iter::once("pdpp").chain(words.iter().map(String::as_str)));
            let error = with_meaning(error.unwrap_err(), &words);
            let shown = error.render().to_string();
            assert!(shown.starts_with("error: invalid value '") && shown.contains(says), "{shown}");
            assert!(!shown.contains("digit found") && !shown.contains("socket address syntax"), "{shown}");
            assert_eq!(explain(&error, &words).code(), "usage_error", "{line}");
        }
    }

    #[test]
    fn connect_without_an_argument_says_what_it_needs() {
        let of = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let error = Cli::try_parse_from(std::iter::once("pdpp").chain(words.iter().map(String::as_str)));
            nothing_to_connect(&error.unwrap_err(), &words)
        };
        for line in
            ["connect", "connect --no-browser", "--cache-dir x connect --stream messages --since 2026-01-01"]
        {
            let error = of(line).unwrap();
            assert_eq!((error.code(), error.kind()), ("usage_error", Kind::Usage), "{line}");
            assert!(
                error.message().contains("`local`") && error.message().contains("`pdpp import`"),
                "{line}"
            );
            let next = error.next_step().unwrap();
            assert!(
                next.contains("pdpp connect local") && next.contains("pdpp connect https://provider.example"),
                "{next}"
            );
        }
        for line in ["connect --nonsense", "mcp call", "connect https://a.example --grant x"] {
            assert!(of(line).is_none(), "{line}");
        }
    }

    #[test]
    fn o1_2_nothing_fills_the_sandbox_and_a_command_line_that_did_says_what_does_that_for_ones_own_data() {
        let of = |line: &str| gone(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        for line in [
            "sandbox import",
            "sandbox import in.jsonl --connector mail --connection cin_1 --data-dir kept",
            "--cache-dir sandbox sandbox --seed 2 import --help",
        ] {
            let words = std::iter::once("pdpp").chain(line.split_whitespace());
            assert!(Cli::try_parse_from(words).is_err(), "{line}");
            let error = of(line).unwrap();
            assert_eq!((error.code(), error.kind()), ("command_gone", Kind::Usage), "{line}");
            assert!(error.message().contains("`pdpp import PATH`"), "{line}");
        }
        for line in ["sandbox", "sandbox imports", "import sandbox", "--cache-dir sandbox import --nonsense"]
        {
            assert!(of(line).is_none(), "{line}");
        }
    }
}
