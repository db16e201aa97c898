//! The command line: a file or a folder a command, each its clap arguments (whose doc comments are the help
//! text) and one `run`. No HTTP, JSON-RPC or file access of its own.
#![allow(missing_docs, clippy::doc_markdown, reason = "doc comments here are help texts")]

pub mod complete;
pub mod completions;
pub mod connect;
pub mod demo;
pub mod disconnect;
pub mod doctor;
pub mod log;
pub mod man;
pub mod mcp;
pub mod sandbox;
pub mod status;
pub mod usage;

use clap::builder::{StringValueParser, TypedValueParser as _};
use clap::{Parser, Subcommand};

use crate::cache::{Cache, refresh};
use crate::error::{Error, Kind, Result};
use crate::provider::http::{Http, Limits};
use crate::provider::network::Network;
use crate::provider::url::ProviderUrl;
use crate::text::shell_word;
use crate::ui::Ui;

/// Let an AI agent read your data through a grant that you approved, and nothing more.
#[derive(Debug, Parser)]
#[command(name = "pdpp", version, max_term_width = 100, propagate_version = true, after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,

    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  pdpp demo                               see it work, with made-up data
  pdpp connect https://provider.example   approve a grant in the browser
  pdpp mcp setup                          tell the agents on this machine
  pdpp mcp serve                          offer it to an MCP host on stdio
  pdpp mcp inspect                        see what the tools cost a model
  pdpp status                             see what is connected
  pdpp doctor                             find out what is wrong

With --json a command prints one JSON object on stdout; if it fails, that is {\"error\": {code, message,
because, next, exit_code}}, with the same exit code.";

/// Options that every command takes.
#[derive(Debug, Clone, clap::Args)]
pub struct Global {
    /// Where credentials are kept [default: the platform's data directory, e.g. ~/.local/share/pdpp]
    #[arg(long, global = true, value_name = "DIR", env = "PDPP_CACHE_DIR", hide_env_values = true)]
    pub cache_dir: Option<std::path::PathBuf>,

    /// How much to log to stderr: off, error, warn or info; never a secret or record data
    #[arg(long, global = true, value_name = "LEVEL", default_value = "warn", hide_possible_values = true)]
    pub log_level: LogLevel,

    /// Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]
    #[arg(long, global = true, value_name = "URL", value_parser = StringValueParser::new().map(ProxyArgument))]
    pub proxy: Option<ProxyArgument>,

    /// Trust the certificate authorities in this PEM file too
    #[arg(long, global = true, value_name = "FILE")]
    pub ca_file: Option<std::path::PathBuf>,
}

/// What was given to `--proxy`. It may hold a password: not shown, and not read before it is asked for, so
/// that no usage error repeats it.
#[derive(Clone)]
pub struct ProxyArgument(String);

impl std::fmt::Debug for ProxyArgument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProxyArgument(…)")
    }
}

/// How much is logged. Nothing here logs below `info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
}

impl LogLevel {
    const fn level(self) -> Option<tracing::Level> {
        Some(match self {
            Self::Off => return None,
            Self::Error => tracing::Level::ERROR,
            Self::Warn => tracing::Level::WARN,
            Self::Info => tracing::Level::INFO,
        })
    }
}

impl Global {
    /// The credential cache that these options name. Touches nothing yet.
    ///
    /// # Errors
    /// If there is no place to keep credentials; `proxy_invalid`.
    pub fn cache(&self) -> Result<Cache> {
        let cache = match &self.cache_dir {
            Some(dir) => Cache::open(dir)?,
            None => Cache::open(&Cache::default_dir()?)?,
        };
        Ok(cache.with_http(self.http(refresh::LIMITS)?))
    }

    /// The way out to providers that these options describe. Reads nothing yet.
    ///
    /// # Errors
    /// `proxy_invalid`.
    pub fn network(&self) -> Result<Network> {
        let proxy = self.proxy.as_ref().map(|ProxyArgument(text)| text.parse()).transpose();
        let proxy = proxy.map_err(|error| {
            Error::new(Kind::Usage, "proxy_invalid", "What --proxy was given is not a proxy's address")
                .because(error)
                .hint("--proxy http://proxy.example:3128")
        })?;
        Ok(Network { proxy, ca_file: self.ca_file.clone() })
    }

    /// The options that a command to type next needs too. A proxy's address is left out where it may hold a
    /// password.
    fn advised(&self) -> Vec<String> {
        let path = |option: &str, path: &std::path::Path| {
            // A person may be elsewhere when they type it.
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            format!("{option} {}", shell_word(&path.display().to_string()))
        };
        let is_default = |dir: &std::path::PathBuf| {
            let absolute = std::path::absolute(dir).ok();
            Cache::default_dir().is_ok_and(|default| Some(default) == absolute)
        };
        let dir = self.cache_dir.as_ref().filter(|dir| !is_default(dir)).map(|dir| path("--cache-dir", dir));
        let proxy = self.proxy.as_ref().filter(|ProxyArgument(address)| !address.contains('@'));
        let proxy = proxy.map(|ProxyArgument(address)| format!("--proxy {}", shell_word(address)));
        let ca = self.ca_file.as_ref().map(|file| path("--ca-file", file));
        dir.into_iter().chain(proxy).chain(ca).collect()
    }

    /// An HTTP client on that way, for providers.
    ///
    /// # Errors
    /// As [`Global::network`].
    pub fn http(&self, limits: Limits) -> Result<Http> {
        Ok(Http::new(limits).over(self.network()?))
    }

    /// The same for a command that is about to ask `provider`: a variable that names no proxy is refused as
    /// `--proxy` would be, where it counts on the way there.
    ///
    /// # Errors
    /// As [`Global::http_now`].
    pub fn http_to(&self, provider: &ProviderUrl, limits: Limits) -> Result<Http> {
        let http = self.http_now(limits)?;
        http.network().check_way_to(provider.url()).map_err(|error| {
            let hint = error.next_step();
            Error::new(Kind::Usage, error.code(), error.to_string()).hint(hint)
        })?;
        Ok(http)
    }

    /// The same for a command that is about to use it: a file of authorities that is none is a wrong argument,
    /// and no provider's failure.
    ///
    /// # Errors
    /// As [`Global::network`]; `ca_file_invalid`.
    pub fn http_now(&self, limits: Limits) -> Result<Http> {
        let http = self.http(limits)?;
        http.network().check_ca_file().map_err(|error| {
            let hint = error.next_step();
            Error::new(Kind::Usage, error.code(), "What --ca-file was given cannot be used")
                .because(error)
                .hint(hint)
        })?;
        Ok(http)
    }
}

/// What `pdpp` does.
#[derive(Debug, Subcommand)]
pub enum Command {
    Demo(demo::Args),
    Connect(connect::Args),
    Status(status::Args),
    Disconnect(disconnect::Args),
    Doctor(doctor::Args),
    Log(log::Args),
    Completions(completions::Args),
    /// Its name is like no other's, so that no slip is taken for it.
    #[command(name = "__complete", hide = true)]
    Complete(complete::Args),
    Man(man::Args),
    Mcp(mcp::Args),
    Sandbox(sandbox::Args),
}

/// Runs the parsed command and gives the process's exit code.
///
/// # Errors
/// What the command failed with; the caller says it and picks the exit code from its kind.
pub fn run(cli: Cli, ui: &Ui) -> Result<u8> {
    if let Some(level) = cli.global.log_level.level() {
        crate::ui::log_to_stderr(level);
    }
    crate::advice::set_options(&cli.global.advised());
    if let Some(dir) = &cli.global.cache_dir {
        crate::fs::leave_mode_of(dir);
        if let Some(mode) = crate::fs::open_to_writers(dir) {
            let dir = shell_word(&dir.display().to_string()).into_owned();
            ui.warn(&format!("others can write in {dir} (mode {mode:03o}): chmod go-w {dir}"));
        }
    }
    match cli.command {
        Command::Demo(args) => demo::run(&args, ui),
        Command::Connect(args) => connect::run(&args, &cli.global, ui),
        Command::Status(args) => status::run(&args, &cli.global, ui),
        Command::Disconnect(args) => disconnect::run(&args, &cli.global, ui),
        Command::Doctor(args) => doctor::run(&args, &cli.global, ui),
        Command::Log(args) => log::run(&args, &cli.global, ui),
        Command::Completions(args) => completions::run(&args, ui),
        Command::Complete(args) => complete::run(&args, &cli.global, ui),
        Command::Man(args) => man::run(&args, ui),
        Command::Mcp(args) => mcp::run(&args, &cli.global, ui),
        Command::Sandbox(args) => sandbox::run(args, ui),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use clap::CommandFactory;

    fn every_text(command: &clap::Command) -> String {
        let mut text = format!("{} {:?}", command.get_name(), command.get_about().map(ToString::to_string));
        for argument in command.get_arguments() {
            let _ = write!(
                text,
                " {} {:?} {:?} {:?}",
                argument.get_id(),
                argument.get_long(),
                argument.get_env(),
                argument.get_help().map(ToString::to_string)
            );
        }
        command.get_subcommands().map(every_text).fold(text, |all, one| all + "\n" + &one)
    }

    #[test]
    fn r1_6_no_profile_flag_variable_or_label() {
        let mut command = super::Cli::command();
        command.build();
        let text = every_text(&command).to_lowercase();
        for word in ["profile", "toolset", "preset"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }

    #[test]
    fn the_definitions_are_sound() {
        super::Cli::command().debug_assert();
    }
}
