//! The owner's browser: where it is, and how it gets an address or a file.

mod program;

use std::time::Duration;

use url::Url;

use crate::cache::Cache;
use crate::fs::{OneFile, PrivateDir};
use crate::hex;

/// Where the owner's browser is, as far as the environment tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Browser {
    /// On this machine, and it sees the files of this machine.
    Here,
    /// It is started from here and sees this machine's ports, but no files; why that is, as a clause.
    OtherSide(&'static str),
    /// Probably on another machine; why that is, as a clause.
    Elsewhere(&'static str),
}

impl Browser {
    /// Where it is. `BROWSER`, where it is set, is somebody's word that there is one.
    pub fn of_this_process() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Self::of(is_set, std::path::Path::new("/.dockerenv").exists())
    }

    fn of(is_set: impl Fn(&str) -> bool, has_docker_file: bool) -> Self {
        if is_set("WSL_DISTRO_NAME") {
            return Self::OtherSide("the browser is Windows' own");
        }
        let remote = if is_set("SSH_CONNECTION") || is_set("SSH_TTY") {
            Some("this is an SSH session")
        } else if is_set("REMOTE_CONTAINERS") || is_set("CODESPACES") {
            Some("this is a dev container")
        } else {
            None
        };
        let is_container = has_docker_file || is_set("container") || is_set("KUBERNETES_SERVICE_HOST");
        match remote {
            // What an editor sets opens addresses at the other end, and leads ports there.
            Some(why) if is_set("BROWSER") => Self::OtherSide(why),
            Some(why) => Self::Elsewhere(why),
            None if is_set("BROWSER") => Self::Here,
            None if is_container => Self::Elsewhere("this is a container"),
            None if cfg!(all(unix, not(target_os = "macos")))
                && !is_set("DISPLAY")
                && !is_set("WAYLAND_DISPLAY") =>
            {
                Self::Elsewhere("there is no display here")
            }
            None => Self::Here,
        }
    }
}

/// A file that a browser opens; gone when dropped.
#[derive(Debug)]
pub struct Handed {
    _file: OneFile,
}

/// Has the browser open a private file with `text`. The list of processes, which every user of the machine can read, then
/// shows the file's name alone. `None` if that did not work, or if what would open the file is no browser.
pub async fn open_file(text: &str, cache: &Cache) -> Option<Handed> {
    let program = within(Duration::from_secs(2), program::Program::find).await.flatten()?;
    let name = hex::random::<8>().ok()?;
    let folder = if program.sees_hidden_folders() {
        cache.dir().join("browser")
    } else {
        // One that is confined is shown the visible folders of the home directory alone.
        directories::BaseDirs::new()?.home_dir().join(format!("pdpp-browser-{name}"))
    };
    let file =
        PrivateDir::create(&folder).and_then(|dir| dir.one_file(&format!("{name}.html"), text.as_bytes()));
    let file =
        file.inspect_err(|error| tracing::info!(%error, "no file for the browser could be written")).ok()?;
    let url = Url::from_file_path(file.path()).ok()?;
    hand(url).await.then_some(Handed { _file: file })
}

/// Has the browser open `address`, a page of this machine whose address says nothing; whether that worked.
pub async fn open_address(address: &str) -> bool {
    match address.parse() {
        Ok(url) => hand(url).await,
        Err(_) => false,
    }
}

/// Hands `url` to the system's browser as one argument. Some openers block until the browser closes.
async fn hand(url: Url) -> bool {
    within(Duration::from_secs(2), move || webbrowser::open(url.as_str()).is_ok()).await.unwrap_or(true)
}

/// What `question` says within `time`, on a thread of its own.
async fn within<T: Send + 'static>(
    time: Duration,
    question: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = sender.send(question());
    });
    tokio::time::timeout(time, receiver).await.ok()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_browser_is_to_be_expected() {
        let of = |set: &[&str], docker| Browser::of(|name| set.contains(&name), docker);
        assert_eq!(of(&["SSH_TTY", "DISPLAY"], false), Browser::Elsewhere("this is an SSH session"));
        assert_eq!(of(&["SSH_CONNECTION"], true), Browser::Elsewhere("this is an SSH session"));
        assert_eq!(of(&["DISPLAY"], true), Browser::Elsewhere("this is a container"));
        assert_eq!(of(&["container", "WAYLAND_DISPLAY"], false), Browser::Elsewhere("this is a container"));
        assert_eq!(of(&["CODESPACES"], false), Browser::Elsewhere("this is a dev container"));
        assert_eq!(of(&["DISPLAY"], false), Browser::Here);
        assert_eq!((of(&["BROWSER"], false), of(&["BROWSER"], true)), (Browser::Here, Browser::Here));
        // An editor that forwards a browser says so; the files of this side are not there.
        assert_eq!(of(&["BROWSER", "SSH_CONNECTION"], true), Browser::OtherSide("this is an SSH session"));
        assert_eq!(
            of(&["BROWSER", "REMOTE_CONTAINERS"], false),
            Browser::OtherSide("this is a dev container")
        );
        assert_eq!(of(&["WSL_DISTRO_NAME"], false), Browser::OtherSide("the browser is Windows' own"));
        if cfg!(target_os = "linux") {
            assert_eq!(of(&[], false), Browser::Elsewhere("there is no display here"));
        }
    }
}
