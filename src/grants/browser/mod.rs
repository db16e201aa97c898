//! The owner's browser: where it is, and how to give it an address or a file.

mod program;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use url::Url;

use self::program::Sees;
use crate::cache::Cache;
use crate::fs::{DirLock, OneFile, PrivateDir};
use crate::hex;

/// Where the owner's browser is, judging by the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Browser {
    /// On this computer, and it sees the files of this computer.
    Here,
    /// It can be started from here and reaches this computer's ports, but not its files; the reason as a clause.
    OtherSide(&'static str),
    /// It is probably on another computer; the reason as a clause.
    Elsewhere(&'static str),
}

impl Browser {
    /// Where it is. If `BROWSER` is set, there is a browser.
    pub fn of_this_process() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_container = ["/.dockerenv", "/run/.containerenv"].iter().any(|path| Path::new(path).exists());
        // `sudo` and services do not pass variables on.
        let kernel = std::fs::read_to_string("/proc/version").unwrap_or_default();
        Self::of(is_set, is_container, &kernel)
    }

    fn of(is_set: impl Fn(&str) -> bool, has_container_file: bool, kernel: &str) -> Self {
        let is_container = has_container_file || is_set("container") || is_set("KUBERNETES_SERVICE_HOST");
        let remote = if is_set("SSH_CONNECTION") || is_set("SSH_TTY") {
            Some("this is an SSH session")
        } else if is_set("REMOTE_CONTAINERS") || is_set("CODESPACES") {
            Some("this is a dev container")
        } else {
            None
        };
        // A container on Windows has the same kernel, but none of Windows' programs.
        let is_wsl = is_set("WSL_DISTRO_NAME")
            || (remote.is_none() && !is_container && kernel.to_ascii_lowercase().contains("microsoft"));
        if is_wsl {
            return Self::OtherSide("the browser is Windows' own");
        }
        match remote {
            // The program that an editor sets opens addresses at the other end, and forwards ports there.
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

/// A file that a browser opens; removed when dropped.
#[derive(Debug)]
pub struct Handed {
    // In this order: the mark is at most in the folder of the file, and goes last.
    file: OneFile,
    _mark: Mark,
}

/// Marks that a file is handed over, for as long as the process lives. If the process ends in any way, the next
/// one finds the file by its mark.
#[derive(Debug)]
struct Mark {
    _locked: Option<DirLock>,
    _file: OneFile,
}

/// Where files for browsers are kept.
#[derive(Debug)]
struct Folders {
    /// Among this computer's private files.
    hidden: PathBuf,
    home: Option<PathBuf>,
    downloads: Option<PathBuf>,
}

/// The end of a mark's name.
const MARK: &str = ".lock";

impl Folders {
    fn of_this_process(cache: &Cache) -> Self {
        let downloads = directories::UserDirs::new().and_then(|dirs| dirs.download_dir().map(Path::to_owned));
        Self {
            hidden: cache.dir().join("browser"),
            home: directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned()),
            downloads: downloads.filter(|path| path.is_dir()),
        }
    }

    /// The folder of the file `name`, for a browser that sees these files.
    fn folder(&self, name: &str, sees: Sees) -> Option<PathBuf> {
        let visible = |dir: &PathBuf| dir.join(format!("pdpp-browser-{name}"));
        match sees {
            Sees::Everything => Some(self.hidden.clone()),
            Sees::Visible => self.home.as_ref().map(visible),
            Sees::Downloads => self.downloads.as_ref().or(self.home.as_ref()).map(visible),
        }
    }

    /// A new file with `text`.
    fn file(&self, text: &str, sees: Sees) -> io::Result<Handed> {
        let name = hex::random::<8>().map_err(io::Error::other)?;
        let marks = PrivateDir::create(&self.hidden)?;
        let mark = format!("{name}{MARK}");
        let locked = marks.try_lock(&mark)?;
        let mark = Mark { _locked: locked, _file: marks.until_dropped(&mark) };
        let folder = self.folder(&name, sees).ok_or(io::ErrorKind::NotFound)?;
        let file = PrivateDir::create(&folder)?.one_file(&format!("{name}.html"), text.as_bytes())?;
        Ok(Handed { file, _mark: mark })
    }

    /// Removes the files of processes that were killed. Their secrets open nothing: each worked only for the
    /// port of its process.
    fn sweep(&self) {
        let Ok(marks) = PrivateDir::open(&self.hidden) else { return };
        let Ok(entries) = std::fs::read_dir(&self.hidden) else { return };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        for name in names.filter_map(|name| name.strip_suffix(MARK).map(str::to_owned)) {
            // A process that is still alive holds the lock.
            let Ok(Some(_locked)) = marks.try_lock(&format!("{name}{MARK}")) else { continue };
            for sees in [Sees::Everything, Sees::Visible, Sees::Downloads] {
                let dir = self.folder(&name, sees).and_then(|folder| PrivateDir::open(&folder).ok());
                let _ = dir.map(|dir| dir.until_dropped(&format!("{name}.html")));
            }
            let _ = marks.clone().until_dropped(&format!("{name}{MARK}"));
        }
    }
}

/// Has the browser open a private file with `text`. The list of processes, which every user of the computer can
/// read, then shows only the file's name. `None` if that did not work, or if the program that would open the
/// file is not a browser.
pub async fn open_file(text: &str, cache: &Cache) -> Option<Handed> {
    let folders = Folders::of_this_process(cache);
    folders.sweep();
    let sees = within(Duration::from_secs(2), program::find).await.flatten()?;
    let handed = folders.file(text, sees);
    let handed =
        handed.inspect_err(|error| tracing::info!(%error, "could not write a file for the browser")).ok()?;
    let url = Url::from_file_path(handed.file.path()).ok()?;
    hand(url).await.then_some(handed)
}

/// Has the browser open `address`, a page of this computer whose address contains no secret. Returns whether
/// that worked.
pub async fn open_address(address: &str) -> bool {
    match address.parse() {
        Ok(url) => hand(url).await,
        Err(_) => false,
    }
}

/// Gives `url` to the system's browser as one argument. Some openers block until the browser closes.
async fn hand(url: Url) -> bool {
    within(Duration::from_secs(2), move || webbrowser::open(url.as_str()).is_ok()).await.unwrap_or(true)
}

/// The answer to `question` within `time`, on a separate thread.
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
#[allow(clippy::disallowed_methods, reason = "a test leaves files behind")]
mod tests {
    use super::*;

    #[test]
    fn o7_3_where_the_browser_is_to_be_expected() {
        const WSL: &str = "Linux version 6.6.87.2-microsoft-standard-WSL2 (root@x) #1 SMP";
        const OLD_WSL: &str = "Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com)";
        let on = |set: &[&str], docker, kernel| Browser::of(|name| set.contains(&name), docker, kernel);
        let of = |set: &[&str], docker| on(set, docker, "Linux version 6.1.0-32-amd64 (debian)");
        assert_eq!(of(&["SSH_TTY", "DISPLAY"], false), Browser::Elsewhere("this is an SSH session"));
        assert_eq!(of(&["SSH_CONNECTION"], true), Browser::Elsewhere("this is an SSH session"));
        assert_eq!(of(&["DISPLAY"], true), Browser::Elsewhere("this is a container"));
        assert_eq!(of(&["container", "WAYLAND_DISPLAY"], false), Browser::Elsewhere("this is a container"));
        assert_eq!(of(&["CODESPACES"], false), Browser::Elsewhere("this is a dev container"));
        assert_eq!(of(&["DISPLAY"], false), Browser::Here);
        assert_eq!((of(&["BROWSER"], false), of(&["BROWSER"], true)), (Browser::Here, Browser::Here));
        // An editor that forwards a browser is recognised; the files of this side are not visible there.
        assert_eq!(of(&["BROWSER", "SSH_CONNECTION"], true), Browser::OtherSide("this is an SSH session"));
        assert_eq!(
            of(&["BROWSER", "REMOTE_CONTAINERS"], false),
            Browser::OtherSide("this is a dev container")
        );
        let windows = Browser::OtherSide("the browser is Windows' own");
        assert_eq!(of(&["WSL_DISTRO_NAME"], false), windows);
        assert_eq!((on(&[], false, WSL), on(&["DISPLAY"], false, OLD_WSL)), (windows, windows));
        assert_eq!(on(&["DISPLAY"], true, WSL), Browser::Elsewhere("this is a container"));
        assert_eq!(on(&["SSH_TTY"], false, WSL), Browser::Elsewhere("this is an SSH session"));
        if cfg!(target_os = "linux") {
            assert_eq!(of(&[], false), Browser::Elsewhere("there is no display here"));
        }
    }

    fn folders(root: &Path, has_downloads: bool) -> Folders {
        let downloads = root.join("home/Downloads");
        std::fs::create_dir_all(&downloads).unwrap();
        Folders {
            hidden: root.join("home/.local/browser"),
            home: Some(root.join("home")),
            downloads: has_downloads.then_some(downloads),
        }
    }

    #[test]
    fn o7_3_a_file_lies_where_its_browser_sees_it_and_goes_with_it() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home");
        for (sees, has_downloads, within, parts) in [
            (Sees::Everything, true, ".local/browser", 3),
            (Sees::Visible, true, "", 2),
            (Sees::Downloads, true, "Downloads", 3),
            (Sees::Downloads, false, "", 2),
        ] {
            let handed = folders(root.path(), has_downloads).file("text", sees).unwrap();
            let path = handed.file.path();
            let below = path.strip_prefix(home.join(within)).unwrap();
            assert_eq!(path.strip_prefix(&home).unwrap().components().count(), parts, "{path:?}");
            let is_shown = !below.to_str().unwrap().starts_with('.');
            assert!(is_shown && std::fs::read(&path).unwrap() == b"text", "{path:?}");
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
                assert_eq!((mode(path.parent().unwrap()), mode(&path)), (0o700, 0o600));
            }
            drop(handed);
            assert!(!path.parent().unwrap().exists() && !home.join(".local/browser").exists(), "{path:?}");
        }
    }

    #[test]
    fn o7_3_what_a_killed_process_left_goes_and_nothing_else_does() {
        let root = tempfile::tempdir().unwrap();
        let folders = folders(root.path(), true);
        let home = root.path().join("home");
        let live = folders.file("live", Sees::Visible).unwrap();
        let mut left = Vec::new();
        for sees in [Sees::Everything, Sees::Visible, Sees::Downloads] {
            let killed = folders.file("left", sees).unwrap();
            left.push(killed.file.path());
            // The way the system leaves it: the lock is released, and no destructor runs.
            let Handed { file, _mark: Mark { _locked: locked, _file: mark } } = killed;
            std::mem::forget((file, mark));
            drop(locked);
        }
        // A person's own file, with a name that looks like ours.
        let other = home.join("pdpp-browser-0123456789abcdef/0123456789abcdef.html");
        std::fs::create_dir_all(other.parent().unwrap()).unwrap();
        std::fs::write(&other, "mine").unwrap();
        let beside = left[1].with_file_name("beside");
        std::fs::write(&beside, "mine").unwrap();
        folders.sweep();
        assert!(left.iter().all(|path| !path.exists()), "{left:?}");
        assert!(!left[2].parent().unwrap().exists());
        assert!(live.file.path().exists() && other.exists() && beside.exists());
        assert_eq!(std::fs::read_dir(&folders.hidden).unwrap().count(), 1, "the live one's mark");
    }
}
