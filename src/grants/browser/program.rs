//! Which program opens web addresses here, found the same way as in `webbrowser`: not the program that opens
//! `.html` files, which may be an editor. Also checks which of the person's files that program can see.
#![cfg_attr(not(all(unix, not(target_os = "macos"))), allow(dead_code, reason = "used on Linux desktops"))]

use std::path::{Path, PathBuf};

/// Which files a browser sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sees {
    /// Everything that the person sees.
    Everything,
    /// Everything that is not hidden in the home directory: a snap.
    Visible,
    /// Mostly the folder of downloads: a Flatpak.
    Downloads,
}

/// What is known about a program in a command line.
struct Known {
    path: PathBuf,
    /// The target, if it is a link.
    target: PathBuf,
    /// The beginning of its text.
    text: String,
}

/// On other systems, the system itself finds its browser by the scheme http, and that browser sees everything.
#[cfg(not(all(unix, not(target_os = "macos"))))]
#[allow(clippy::unnecessary_wraps, reason = "the same signature as on Linux")]
pub(super) fn find() -> Option<Sees> {
    Some(Sees::Everything)
}

/// What the browser in `BROWSER`, or otherwise the desktop's web browser, sees; `None` if there is none. Runs
/// a program, and so blocks.
#[cfg(all(unix, not(target_os = "macos")))]
pub(super) fn find() -> Option<Sees> {
    let named = std::env::var("BROWSER").unwrap_or_default();
    named.split(':').find_map(|line| of_command_line(line, on_path)).or_else(desktops_choice)
}

/// What the desktop's web browser sees.
#[cfg(all(unix, not(target_os = "macos")))]
fn desktops_choice() -> Option<Sees> {
    use std::process::{Command, Stdio};
    let asked = Command::new("xdg-settings")
        .args(["get", "default-web-browser"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let name = String::from_utf8(asked.stdout).ok()?;
    // Only a file name, wherever it came from.
    let name = Path::new(name.trim()).file_name()?.to_owned();
    let dirs = directories::BaseDirs::new()?;
    let shared = std::env::var("XDG_DATA_DIRS").unwrap_or_else(|_| "/usr/local/share:/usr/share".to_owned());
    let shared = std::env::split_paths(&shared).collect::<Vec<_>>();
    let more = ["/var/lib/snapd/desktop", "/var/lib/flatpak/exports/share"].map(PathBuf::from);
    let entry = std::iter::once(dirs.data_dir().to_owned())
        .chain(shared)
        .chain(more)
        .find_map(|dir| read_start(&dir.join("applications").join(&name), 256 << 10))?;
    of_entry(&entry, on_path)
}

/// What the program that a desktop entry starts sees: judged by what snap and Flatpak write into their entries,
/// or otherwise by its command line.
fn of_entry(entry: &str, known: impl Fn(&str) -> Option<Known>) -> Option<Sees> {
    let group = entry.lines().map(str::trim).skip_while(|line| *line != "[Desktop Entry]").skip(1);
    let keys = || group.clone().take_while(|line| !line.starts_with('['));
    let value = |key: &str| {
        let mut pairs = keys().filter_map(|line| line.split_once('='));
        pairs.find(|(name, _)| name.trim_end() == key).map(|(_, value)| value.trim())
    };
    if value("Hidden") == Some("true") {
        return None;
    }
    let by_line = of_command_line(value("Exec")?, known)?;
    Some(match by_line {
        Sees::Everything if value("X-Flatpak").is_some() => Sees::Downloads,
        Sees::Everything if value("X-SnapInstanceName").is_some() => Sees::Visible,
        by_line => by_line,
    })
}

/// What the program in a line such as `/usr/bin/env X=1 firefox %u` sees; `None` if it does not exist.
fn of_command_line(line: &str, known: impl Fn(&str) -> Option<Known>) -> Option<Sees> {
    let words: Vec<&str> = line.split_ascii_whitespace().map(|word| word.trim_matches('"')).collect();
    known(words.first()?)?;
    let confined = words.iter().filter_map(|word| known(word)).map(|program| program.sees());
    Some(confined.into_iter().find(|sees| *sees != Sees::Everything).unwrap_or(Sees::Everything))
}

impl Known {
    /// Whether snap or Flatpak starts it: directly, as the target of its link, or through a short script, as in
    /// Ubuntu's `firefox`.
    fn sees(&self) -> Sees {
        let is_of = |tool: &str, dir: &str| {
            [&self.path, &self.target]
                .into_iter()
                .any(|path| path.starts_with(dir) || path.file_name().is_some_and(|name| name == tool))
        };
        let script = if self.text.starts_with("#!") { self.text.as_str() } else { "" };
        if is_of("flatpak", "/var/lib/flatpak") || script.contains("flatpak run") {
            Sees::Downloads
        } else if is_of("snap", "/snap") || script.contains("/snap/bin/") {
            Sees::Visible
        } else {
            Sees::Everything
        }
    }
}

/// What is known about `program`, if it exists.
fn on_path(program: &str) -> Option<Known> {
    let path = if program.contains('/') {
        Some(PathBuf::from(program)).filter(|path| path.is_file())?
    } else {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|dir| dir.join(program)).find(|path| path.is_file())?
    };
    let target = dunce::canonicalize(&path).unwrap_or_else(|_| path.clone());
    let text = read_start(&target, 4 << 10).unwrap_or_default();
    Some(Known { path, target, text })
}

/// The text of the file at `path`, up to `most` bytes.
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

    /// The programs of a machine: a path, the target of its link, and the beginning of its text.
    const MACHINE: [(&str, &str, &str); 7] = [
        ("/usr/bin/env", "/usr/bin/env", "\u{7f}ELF"),
        ("/usr/bin/browser", "/usr/lib/browser/browser", "#!/bin/sh\nexec /usr/lib/browser/bin \"$@\"\n"),
        ("/snap/bin/firefox", "/usr/bin/snap", "\u{7f}ELF"),
        ("/var/lib/snapd/snap/bin/firefox", "/usr/libexec/snapd/snap", "\u{7f}ELF"),
        ("/usr/bin/firefox", "/usr/bin/firefox", "#!/bin/sh\n\nexec /snap/bin/firefox \"$@\"\n"),
        ("/usr/bin/flatpak", "/usr/bin/flatpak", "\u{7f}ELF"),
        (
            "/home/ana/.local/share/flatpak/exports/bin/org.example.Browser",
            "/home/ana/.local/share/flatpak/exports/bin/org.example.Browser",
            "#!/bin/sh\nexec /usr/bin/flatpak run --branch=stable org.example.Browser \"$@\"\n",
        ),
    ];

    fn machine(program: &str) -> Option<Known> {
        let named = |path: &str| path == program || path.strip_prefix("/usr/bin/") == Some(program);
        let (path, target, text) = MACHINE.iter().find(|(path, ..)| named(path))?;
        Some(Known { path: path.into(), target: target.into(), text: (*text).to_owned() })
    }

    #[test]
    fn o7_3_a_browser_that_is_confined_is_told_by_its_command_line() {
        let of = |line| of_command_line(line, machine);
        for (line, sees) in [
            ("browser %u", Some(Sees::Everything)),
            ("\"/usr/bin/browser\" --new-window %u", Some(Sees::Everything)),
            ("/snap/bin/firefox %u", Some(Sees::Visible)),
            ("/var/lib/snapd/snap/bin/firefox", Some(Sees::Visible)),
            ("firefox", Some(Sees::Visible)),
            ("env X=1 /usr/bin/firefox %u", Some(Sees::Visible)),
            ("flatpak run org.example.Browser", Some(Sees::Downloads)),
            (MACHINE[6].0, Some(Sees::Downloads)),
            ("", None),
            ("/nonexistent/browser %u", None),
            ("no-such-program-here", None),
        ] {
            assert_eq!(of(line), sees, "{line}");
        }
    }

    #[test]
    fn o7_3_a_browser_that_is_confined_is_told_by_its_desktop_entry() {
        let of = |entry: &str| of_entry(entry, machine);
        let plain = "# made by hand\n[Desktop Entry]\nName=Browser\nTryExec=browser\nExec=browser %U\nTerminal=false\n\n\
                     [Desktop Action new]\nName=New\nExec=/snap/bin/firefox\n";
        assert_eq!(of(plain), Some(Sees::Everything), "an action's command line is not its own");
        let snap = "[Desktop Entry]\nVersion=1.0\nName=Firefox\nX-SnapInstanceName=firefox\n\
                    Exec=env BAMF_DESKTOP_FILE_HINT=/var/lib/snapd/desktop/applications/firefox_firefox.desktop \
                    /snap/bin/firefox %u\nMimeType=text/html;x-scheme-handler/http;\n";
        assert_eq!(of(snap), Some(Sees::Visible));
        let flatpak = "[Desktop Entry]\nName=Browser\nExec=/usr/bin/flatpak run --branch=stable --arch=x86_64 \
                       --command=browser --file-forwarding org.example.Browser @@u %u @@\nX-Flatpak=org.example.Browser\n";
        assert_eq!(of(flatpak), Some(Sees::Downloads));
        // An entry that a person edited to start it through another program.
        let own = "[Desktop Entry]\nExec = /usr/bin/browser %u\nX-Flatpak = org.example.Browser\n";
        assert_eq!(of(own), Some(Sees::Downloads));
        assert_eq!(of(&own.replace("X-Flatpak", "X-SnapInstanceName")), Some(Sees::Visible));
        for nothing in [
            "",
            "Exec=browser\n",
            "[Desktop Entry]\nName=Browser\n",
            "[Desktop Entry]\nHidden=true\nExec=browser\n",
            "[Desktop Entry]\nExec=gone %u\n",
        ] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_program_is_looked_at_where_it_is() {
        let root = tempfile::tempdir().unwrap();
        let flatpak = root.path().join("flatpak");
        std::fs::write(&flatpak, "\u{7f}ELF").unwrap();
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&flatpak, &link).unwrap();
        let of = |path: &Path| on_path(&path.display().to_string()).map(|known| known.sees());
        assert_eq!(of(&link), Some(Sees::Downloads));
        let script = root.path().join("script");
        std::fs::write(&script, "#!/bin/sh\nexec /snap/bin/firefox \"$@\"\n").unwrap();
        assert_eq!(of(&script), Some(Sees::Visible));
        assert_eq!(of(&root.path().join("absent")), None);
    }
}
