//! Lists where programs on this computer keep data that could be imported: it checks that a place exists,
//! and does not look into it.

use std::path::{Path, PathBuf};

use super::formats;

/// A place in the home directory, and the formats that read its files.
const PLACES: &[(&str, &str, &[&str])] = &[
    ("Claude Code", ".claude/projects", &["claude-code"]),
    ("Codex", ".codex/sessions", &["codex"]),
    ("Maildir", "Maildir", &["maildir"]),
    ("Maildir", "Mail", &["maildir"]),
    ("Thunderbird", ".thunderbird", &["mbox"]),
    ("Thunderbird", "Library/Thunderbird/Profiles", &["mbox"]),
    ("Apple Mail", "Library/Mail", &["emlx"]),
    ("Outlook", "Documents/Outlook Files", &["pst"]),
    ("Outlook", "AppData/Local/Microsoft/Outlook", &["pst"]),
    ("Firefox", ".mozilla/firefox", &["browser"]),
    ("Firefox", "snap/firefox/common/.mozilla/firefox", &["browser"]),
    ("Firefox", ".var/app/org.mozilla.firefox/.mozilla/firefox", &["browser"]),
    ("Firefox", "Library/Application Support/Firefox/Profiles", &["browser"]),
    ("Firefox", "AppData/Roaming/Mozilla/Firefox/Profiles", &["browser"]),
    ("Chrome", ".config/google-chrome", &["browser"]),
    ("Chrome", "Library/Application Support/Google/Chrome", &["browser"]),
    ("Chrome", "AppData/Local/Google/Chrome/User Data", &["browser"]),
    ("Chromium", ".config/chromium", &["browser"]),
    ("Chromium", "snap/chromium/common/chromium", &["browser"]),
    ("Chromium", "Library/Application Support/Chromium", &["browser"]),
    ("Chromium", "AppData/Local/Chromium/User Data", &["browser"]),
    ("Brave", ".config/BraveSoftware/Brave-Browser", &["browser"]),
    ("Brave", "Library/Application Support/BraveSoftware/Brave-Browser", &["browser"]),
    ("Brave", "AppData/Local/BraveSoftware/Brave-Browser/User Data", &["browser"]),
    ("Edge", ".config/microsoft-edge", &["browser"]),
    ("Edge", "Library/Application Support/Microsoft Edge", &["browser"]),
    ("Edge", "AppData/Local/Microsoft/Edge/User Data", &["browser"]),
    ("Vivaldi", ".config/vivaldi", &["browser"]),
    ("Vivaldi", "Library/Application Support/Vivaldi", &["browser"]),
    ("Vivaldi", "AppData/Local/Vivaldi/User Data", &["browser"]),
    ("Opera", ".config/opera", &["browser"]),
    ("Safari", "Library/Safari/History.db", &["browser"]),
    ("Messages", "Library/Messages/chat.db", &["imessage"]),
    ("Google Takeout", "Takeout", &["mbox", "takeout-activity", "location"]),
];

/// An existing place.
pub struct Seen {
    /// The program that keeps its data there.
    pub title: &'static str,
    /// Where it is.
    pub path: PathBuf,
    /// The only format to look for, if any: a browser's folder has a thousand files besides its history.
    pub only: Option<&'static str>,
}

/// The existing places that a format can read.
pub fn seen(home: &Path) -> Vec<Seen> {
    let is_read = |names: &[&str]| formats::ALL.iter().any(|format| names.contains(&format.name()));
    let there = PLACES.iter().filter(|(_, _, names)| is_read(names));
    let there = there.map(|(title, below, names)| Seen {
        title,
        path: home.join(below),
        only: names.first().copied().filter(|name| *name == "browser"),
    });
    there.filter(|one| one.path.symlink_metadata().is_ok()).collect()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the home directory belongs to the test")]
mod tests {
    use super::*;

    #[test]
    fn o2_2_places_have_formats_that_there_are() {
        let home = tempfile::tempdir().unwrap();
        for below in
            [".config/google-chrome", ".mozilla/firefox", "Documents/Outlook Files", ".claude/projects"]
        {
            std::fs::create_dir_all(home.path().join(below)).unwrap();
        }
        let seen: Vec<_> = seen(home.path()).into_iter().map(|one| (one.title, one.only)).collect();
        let wanted = [
            ("Claude Code", None),
            ("Outlook", None),
            ("Firefox", Some("browser")),
            ("Chrome", Some("browser")),
        ];
        assert_eq!(seen, wanted);
        // A place that no format can read yet is not listed.
        let unread: Vec<_> = PLACES.iter().flat_map(|(_, _, names)| *names).collect();
        let is_known = |name: &&str| formats::ALL.iter().any(|format| format.name() == *name);
        assert!(unread.iter().all(|name| is_known(name) || **name == "imessage"), "{unread:?}");
    }
}
