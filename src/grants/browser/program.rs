//! Which program opens web addresses here, as `webbrowser` finds it too: not the one that opens `.html` files, which may be
//! an editor.

use std::path::{Path, PathBuf};

/// What opens web addresses.
#[derive(Debug)]
pub(super) struct Program {
    /// It is confined: it sees the visible folders of the home directory, at most.
    is_confined: bool,
}

impl Program {
    /// Whether a file in a hidden folder can be opened with it.
    pub(super) const fn sees_hidden_folders(&self) -> bool {
        !self.is_confined
    }

    /// The system's own; it is asked for by the scheme http there.
    #[cfg(not(all(unix, not(target_os = "macos"))))]
    pub(super) fn find() -> Option<Self> {
        Some(Self { is_confined: false })
    }

    /// What `BROWSER` names, else the desktop's web browser. Asks a program, and so blocks.
    #[cfg(all(unix, not(target_os = "macos")))]
    pub(super) fn find() -> Option<Self> {
        let named = std::env::var("BROWSER").unwrap_or_default();
        let named = named.split(':').find_map(Self::of_command_line);
        named.or_else(|| Self::of_command_line(&desktops_choice()?))
    }

    /// The program of a line such as `/usr/bin/env X=1 firefox %u`; `None` if it is not there.
    #[cfg_attr(
        not(all(unix, not(target_os = "macos"))),
        allow(dead_code, reason = "asked on desktops of Linux")
    )]
    fn of_command_line(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().map(|word| word.trim_matches('"')).collect();
        on_path(words.first()?)?;
        let is_confined = words.iter().filter_map(|word| on_path(word)).any(|path| is_confined(&path));
        Some(Self { is_confined })
    }
}

/// The command line of the desktop's web browser.
#[cfg(all(unix, not(target_os = "macos")))]
fn desktops_choice() -> Option<String> {
    use std::process::{Command, Stdio};
    let asked = Command::new("xdg-settings")
        .args(["get", "default-web-browser"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let name = String::from_utf8(asked.stdout).ok()?;
    // A name of a file, wherever it came from.
    let name = Path::new(name.trim()).file_name()?.to_owned();
    let dirs = directories::BaseDirs::new()?;
    let shared = std::env::var("XDG_DATA_DIRS").unwrap_or_else(|_| "/usr/local/share:/usr/share".to_owned());
    let shared = std::env::split_paths(&shared).collect::<Vec<_>>();
    let more = ["/var/lib/snapd/desktop", "/var/lib/flatpak/exports/share"].map(PathBuf::from);
    let entry = std::iter::once(dirs.data_dir().to_owned())
        .chain(shared)
        .chain(more)
        .find_map(|dir| read_start(&dir.join("applications").join(&name), 64 << 10))?;
    let exec = entry.lines().find_map(|line| line.strip_prefix("Exec="))?;
    Some(exec.to_owned())
}

/// Where `program` is.
fn on_path(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// Whether `program` is started by snap or Flatpak: itself, what it is a link to, or by a short script, as Ubuntu's
/// `firefox` is.
fn is_confined(program: &Path) -> bool {
    let target = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    let is_theirs = |path: &Path| {
        path.starts_with("/snap")
            || path.starts_with("/var/lib/flatpak")
            || path.file_name().is_some_and(|name| name == "snap" || name == "flatpak")
    };
    is_theirs(program)
        || is_theirs(&target)
        || read_start(&target, 4 << 10).is_some_and(|text| {
            text.starts_with("#!") && (text.contains("/snap/bin/") || text.contains("flatpak run"))
        })
}

/// The text of the file at `path`, as far as `most` bytes.
fn read_start(path: &Path, most: u64) -> Option<String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(all(test, unix))]
#[allow(clippy::disallowed_methods, reason = "tests make programs")]
mod tests {
    use super::*;

    #[test]
    fn a_browser_that_is_confined_is_told_by_what_starts_it() {
        let root = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str| {
            let path = root.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let plain = script("browser", "#!/bin/sh\nexec /opt/browser \"$@\"\n");
        let wrapper = script("firefox", "#!/bin/sh\nexec /snap/bin/firefox \"$@\"\n");
        let flatpak = script("flatpak", "\u{7f}ELF");
        let confined = |line: &str| Program::of_command_line(line).map(|found| !found.sees_hidden_folders());
        assert_eq!(confined(&format!("{plain} %u")), Some(false));
        assert_eq!(confined(&format!("\"{plain}\" --new-window %u")), Some(false));
        assert_eq!(confined(&format!("{wrapper} %u")), Some(true));
        assert_eq!(
            confined(&format!("{flatpak} run --branch=stable org.example.Browser @@u %u @@")),
            Some(true)
        );
        assert_eq!(confined(&format!("/usr/bin/env X=1 {wrapper} %u")), Some(true));
        for absent in ["", "/nonexistent/browser %u", "no-such-program-here"] {
            assert_eq!(confined(absent), None, "{absent}");
        }
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&flatpak, &link).unwrap();
        assert_eq!(confined(&link.display().to_string()), Some(true));
    }
}
