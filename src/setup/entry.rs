//! The one entry that is recommended: an absolute path to the program, and arguments. It has nothing that hosts
//! might resolve differently: no environment, no directory to start in, no variable, no secret.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::paths::{Machine, Platform};
use crate::cache::Cache;
use crate::error::{Error, Kind, Result};
use crate::provider::network::{Network, ProxyUrl};
use crate::text;

/// What an entry starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The program's absolute path.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// What an entry must contain because a host does not pass the environment on.
#[derive(Debug, Clone, Default)]
pub struct Baked {
    /// A cache directory, if it is not the one that the server would find when a host starts it.
    pub cache_dir: Option<PathBuf>,
    /// `--proxy`.
    pub proxy: Option<ProxyUrl>,
    /// `--ca-file`.
    pub ca_file: Option<PathBuf>,
    /// The host that is served only the grants made for it.
    pub host: Option<&'static str>,
}

impl Baked {
    /// What a server that a host starts on `machine` would not find on its own: a cache in `dir`, and the
    /// network settings of `network`.
    ///
    /// # Errors
    /// `no_home`.
    pub fn of(machine: &Machine, dir: &Path, network: Network) -> Result<Self> {
        // Hosts pass HOME on, but no XDG variable.
        let found_anyway = match machine.platform {
            Platform::Linux => machine.home.join(".local").join("share").join("pdpp"),
            Platform::MacOs | Platform::Windows => Cache::default_dir()?,
        };
        let cache_dir = (dir != found_anyway).then(|| dir.to_owned());
        Ok(Self { cache_dir, proxy: network.proxy, ca_file: network.ca_file, host: None })
    }
}

impl Entry {
    /// The entry that starts `launcher` with the `baked` settings, for a host that shows results of up to
    /// `max_result_bytes`.
    ///
    /// # Errors
    /// `path_not_text` for a path that is not UTF-8, or that hosts would take for one with a variable in it;
    /// `proxy_has_secret`.
    pub fn new(launcher: &Path, baked: &Baked, max_result_bytes: Option<u32>) -> Result<Self> {
        let mut arguments = vec!["mcp".to_owned(), "serve".to_owned()];
        if let Some(bytes) = max_result_bytes {
            arguments.extend(["--max-result-bytes".to_owned(), bytes.to_string()]);
        }
        if let Some(host) = baked.host {
            arguments.extend(["--for".to_owned(), host.to_owned()]);
        }
        if let Some(dir) = &baked.cache_dir {
            arguments.extend(["--cache-dir".to_owned(), words(dir)?]);
        }
        if let Some(proxy) = &baked.proxy {
            if proxy.has_credentials() {
                return Err(Error::new(
                    Kind::Refused,
                    "proxy_has_secret",
                    "The proxy's URL has a user name or a password, which must not be in a host's config",
                )
                .hint("Give --proxy without them"));
            }
            arguments.extend(["--proxy".to_owned(), proxy.to_string()]);
        }
        if let Some(file) = &baked.ca_file {
            let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            arguments.extend(["--ca-file".to_owned(), words(&file)?]);
        }
        Ok(Self { program: words(launcher)?, arguments })
    }

    /// The program and its arguments.
    pub fn words(&self) -> Vec<String> {
        std::iter::once(&self.program).chain(&self.arguments).cloned().collect()
    }

    /// The same for people and for `--json`: without the user name and the password of any URL.
    pub fn shown(&self) -> Vec<String> {
        self.words().iter().map(|word| text::without_userinfo(word).into_owned()).collect()
    }

    /// The command as you would type it.
    pub fn display(&self) -> String {
        text::shell_line(self.shown().iter().map(String::as_str))
    }

    /// What an entry in a host's config starts, in any of the ways that hosts write it; `None` if it starts
    /// nothing on this computer.
    pub fn from_config(entry: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
        let texts =
            |value: &Value| value.as_array().map(|list| list.iter().filter_map(text).collect::<Vec<_>>());
        // opencode puts everything in one list, and Goose calls the member `cmd`.
        let program = entry.get("command").or_else(|| entry.get("cmd"))?;
        if let Some(words) = texts(program) {
            let (program, arguments) = words.split_first()?;
            return Some(Self { program: program.clone(), arguments: arguments.to_vec() });
        }
        Some(Self {
            program: text(program)?,
            arguments: entry.get("args").and_then(texts).unwrap_or_default(),
        })
    }

    /// The same, with the settings that a person has chosen in the arguments of `old` and that this entry does
    /// not set: an update must not make a server lose its cache or its proxy.
    #[must_use]
    pub fn with_choices_of(mut self, old: &Self) -> Self {
        const VALUED: [&str; 6] =
            ["--log-level", "--cache-dir", "--proxy", "--ca-file", "--max-result-bytes", "--for"];
        let mut words = old.arguments.iter();
        while let Some(word) = words.next() {
            let (option, has_value) =
                word.split_once('=').map_or((word.as_str(), false), |(option, _)| (option, true));
            let kept: Vec<_> = match option {
                "--no-access-log" => vec![word],
                _ if !VALUED.contains(&option) => continue,
                _ if has_value => vec![word],
                _ => std::iter::once(word).chain(words.next()).collect(),
            };
            if !self.arguments.iter().any(|own| own == option) {
                self.arguments.extend(kept.into_iter().cloned());
            }
        }
        self
    }

    /// Whether it starts this program, wherever it is: `…/pdpp … mcp serve …`, or `…/pdpp-0.2.0-linux …`, as
    /// downloads are called.
    pub fn is_ours(&self) -> bool {
        let name = self.program.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
        let rest = name.strip_suffix(".exe").unwrap_or(&name).strip_prefix("pdpp");
        let is_pdpp = rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
        is_pdpp && self.arguments.windows(2).any(|pair| pair == ["mcp", "serve"])
    }
}

fn words(path: &Path) -> Result<String> {
    let text = path.to_str().ok_or_else(|| {
        Error::failed(
            "path_not_text",
            format!("{} is not UTF-8, and a config file can hold only UTF-8", path.display()),
        )
        .hint("Move it to a path that is UTF-8")
    })?;
    no_variable(text)
}

/// Refuses a text in which some host would replace something: `${NAME}` in nearly all hosts, `$NAME` in Gemini
/// CLI 0.61.0, `{env:NAME}` and `{file:NAME}` in opencode 1.18.33, `{{NAME}}` in Warp, and `$(…)` and
/// backticks, which Crush runs.
fn no_variable(text: &str) -> Result<String> {
    let is_name =
        |rest: &str| rest.starts_with(|c: char| matches!(c, '{' | '(' | '_') || c.is_ascii_alphanumeric());
    let named = text.split('$').skip(1).any(is_name).then_some("$");
    let found = named.or_else(|| ["{env:", "{file:", "{{", "`"].into_iter().find(|mark| text.contains(mark)));
    match found {
        None => Ok(text.to_owned()),
        Some(mark) => Err(Error::failed(
            "path_not_text",
            format!("{text} contains {mark}, which hosts take for a variable or a command"),
        )
        .hint("Move it to a path without that")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn r8_2_an_entry_has_what_a_host_does_not_pass_as_arguments() {
        let plain = Entry::new(Path::new("/usr/local/bin/pdpp"), &Baked::default(), None).unwrap();
        assert_eq!(plain.words(), ["/usr/local/bin/pdpp", "mcp", "serve"]);
        let baked = Baked {
            cache_dir: Some("/data/my cache".into()),
            proxy: Some("http://proxy.example:3128".parse().unwrap()),
            ca_file: Some("/etc/ca.pem".into()),
            host: Some("claude"),
        };
        let full = Entry::new(Path::new("/p/pdpp"), &baked, Some(48_000)).unwrap();
        assert_eq!(
            full.display(),
            format!(
                "/p/pdpp mcp serve --max-result-bytes 48000 --for claude --cache-dir {} --proxy http://proxy.example:3128 \
                 --ca-file {}",
                text::shell_word("/data/my cache"),
                std::path::absolute("/etc/ca.pem").unwrap().display()
            )
        );
        assert!(full.is_ours());
    }

    #[test]
    fn a_secret_or_a_variable_is_no_argument() {
        let with = |proxy: &str| Baked { proxy: proxy.parse().ok(), ..Baked::default() };
        for proxy in ["http://me:word@proxy.example", "http://me@proxy.example"] {
            let error = Entry::new(Path::new("/p"), &with(proxy), None).unwrap_err();
            assert_eq!((error.code(), error.kind()), ("proxy_has_secret", Kind::Refused));
        }
        let with =
            |path: &str| Entry::new(Path::new(path), &Baked::default(), None).map_err(|error| error.code());
        for path in [
            "/a/${B}/pdpp",
            "/a/$B/pdpp",
            "/a$1",
            "/{env:B}/pdpp",
            "/{file:b}",
            "/$(id)/pdpp",
            "/a`id`/pdpp",
            "/{{b}}/pdpp",
        ] {
            assert_eq!(with(path), Err("path_not_text"), "{path}");
        }
        for path in ["/a$/pdpp", "/$ b/pdpp", "C:\\$\\pdpp.exe", "/{a}/%B%", "/environment:"] {
            assert!(with(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn entries_are_recognised_however_a_host_writes_them() {
        let ours = |entry| Entry::from_config(&entry).map(|entry| entry.is_ours());
        assert_eq!(ours(json!({"command": "/a/pdpp", "args": ["mcp", "serve"]})), Some(true));
        assert_eq!(
            ours(json!({"command": "C:\\Tools\\PDPP.exe", "args": ["--cache-dir", "x", "mcp", "serve"]})),
            Some(true)
        );
        assert_eq!(ours(json!({"command": ["/a/pdpp", "mcp", "serve"]})), Some(true));
        assert_eq!(ours(json!({"cmd": "pdpp", "args": ["mcp", "serve"]})), Some(true));
        assert_eq!(ours(json!({"command": "/a/pdpp-0.2.0", "args": ["mcp", "serve"]})), Some(true));
        assert_eq!(ours(json!({"command": "/a/pdppx", "args": ["mcp", "serve"]})), Some(false));
        assert_eq!(ours(json!({"command": "npx", "args": ["pdpp", "mcp"]})), Some(false));
        assert_eq!(ours(json!({"command": "/a/pdpp"})), Some(false));
        assert_eq!(ours(json!({"url": "https://a.example/mcp"})), None);
        assert_eq!(ours(json!([])), None);
    }
}
