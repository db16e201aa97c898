//! Where programs on this machine keep what could be imported: named by whether it is there, and not looked into.

use std::path::{Path, PathBuf};

use super::formats;

/// A place below the home directory, and the formats that read what is there.
const PLACES: [(&str, &str, &[&str]); 12] = [
    ("Claude Code", ".claude/projects", &["claude-code"]),
    ("Codex", ".codex/sessions", &["codex"]),
    ("Maildir", "Maildir", &["maildir"]),
    ("Maildir", "Mail", &["maildir"]),
    ("Thunderbird", ".thunderbird", &["mbox"]),
    ("Thunderbird", "Library/Thunderbird/Profiles", &["mbox"]),
    ("Apple Mail", "Library/Mail", &["emlx"]),
    ("Firefox", ".mozilla/firefox", &["firefox"]),
    ("Chrome", ".config/google-chrome", &["chrome"]),
    ("Chromium", ".config/chromium", &["chrome"]),
    ("Messages", "Library/Messages/chat.db", &["imessage"]),
    ("Google Takeout", "Takeout", &["mbox", "takeout-activity", "location"]),
];

/// The places that are there and that a format reads: what keeps it, and where.
pub fn seen(home: &Path) -> Vec<(&'static str, PathBuf)> {
    let is_read = |names: &[&str]| formats::ALL.iter().any(|format| names.contains(&format.name()));
    let there = PLACES.iter().filter(|(_, _, names)| is_read(names));
    let there = there.map(|(title, below, _)| (*title, home.join(below)));
    there.filter(|(_, path)| path.symlink_metadata().is_ok()).collect()
}
