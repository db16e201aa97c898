//! How a command line is read: what a host starts by its own definitions first, all else by the whole tree.

use std::ffi::OsString;

use clap::Parser;

use super::{Cli, Command, Global, mcp};

/// `pdpp mcp serve` and nothing else: the whole tree costs a start memory that is not given back.
#[derive(Parser)]
#[command(name = "pdpp", disable_help_flag = true, disable_version_flag = true)]
struct Serving {
    #[command(flatten)]
    global: Global,

    #[command(flatten)]
    args: mcp::serve::Args,
}

/// Reads `words`, the program's name first.
///
/// # Errors
/// Whatever clap has to say of the whole tree: help, versions, a wrong command line.
pub fn read(words: &[OsString]) -> Result<Cli, clap::Error> {
    serving(words).map_or_else(|| Cli::try_parse_from(words), Ok)
}

/// `words` where they are a good `pdpp mcp serve`.
fn serving(words: &[OsString]) -> Option<Cli> {
    let [program, mcp, serve, options @ ..] = words else { return None };
    if mcp != "mcp" || serve != "serve" {
        return None;
    }
    let Serving { global, args } = Serving::try_parse_from(std::iter::once(program).chain(options)).ok()?;
    Some(Cli { global, command: Command::Mcp(mcp::Args { command: mcp::Command::Serve(args) }) })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::Parser as _;
    use proptest::prelude::*;

    use super::{Cli, serving};

    const WORDS: &[&str] = &[
        "--provider",
        "--provider=https://p.example",
        "https://p.example/a",
        "--grant",
        "--grant=g1",
        "--max-result-bytes",
        "4000",
        "3999",
        "--no-access-log",
        "--no-access-log=1",
        "--no-access",
        "--cache-dir",
        "--cache-dir=/c",
        "--log-level",
        "--log-level=info",
        "nosuch",
        "--proxy=http://p.example:1",
        "--ca-file",
        "--help",
        "-h",
        "-V",
        "--version",
        "--json",
        "--",
        "-",
        "",
        "help",
        "serve",
        "mcp",
    ];

    proptest! {
        /// Where the short way takes a command line, the whole tree takes it for the same.
        #[test]
        fn both_ways_agree(chosen in prop::collection::vec(prop::sample::select(WORDS), 0..5)) {
            let words: Vec<OsString> =
                ["pdpp", "mcp", "serve"].into_iter().chain(chosen).map(OsString::from).collect();
            let short = serving(&words).map(|cli| format!("{cli:?}"));
            let whole = Cli::try_parse_from(&words).ok().map(|cli| format!("{cli:?}"));
            prop_assert_eq!(short, whole);
        }
    }

    #[test]
    fn the_short_way_is_taken_for_what_setup_writes_and_for_nothing_else() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(serving(&words("pdpp mcp serve")).is_some());
        assert!(serving(&words("pdpp mcp serve --cache-dir /c --grant g --no-access-log")).is_some());
        for other in ["pdpp", "pdpp mcp", "pdpp mcp call schema", "pdpp mcp serve --help", "pdpp serve mcp"] {
            assert!(serving(&words(other)).is_none(), "{other}");
        }
    }
}
