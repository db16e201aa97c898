//! Claude Desktop. It parses strictly, resets a file that begins with a byte order mark, and writes the file
//! back from memory when it ends. The Windows Store's package reads a copy of its own.

use std::path::PathBuf;

use super::{Host, command_and_args};
use crate::setup::edit::{Fields, Format};
use crate::setup::paths::{Machine, Platform};

/// Claude Desktop.
pub(super) const HOST: Host = Host {
    id: "claude-desktop",
    title: "Claude Desktop",
    format: Format::Json,
    container: "mcpServers",
    user_file,
    project_file: None,
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    takes_bom: false,
    programs: &["claude-desktop"],
    check: None,
    overwritten_by: &["Claude", "Claude.exe", "claude-desktop"],
    link: None,
    afterwards: "quit Claude Desktop (from its tray icon, not only its window) and start it again",
};

fn user_file(machine: &Machine) -> PathBuf {
    let name = "claude_desktop_config.json";
    packaged(machine).unwrap_or_else(|| machine.app_support()).join("Claude").join(name)
}

/// What the Store's package takes for `%APPDATA%`.
fn packaged(machine: &Machine) -> Option<PathBuf> {
    if machine.platform != Platform::Windows {
        return None;
    }
    let packages =
        machine.local_app_data.clone().unwrap_or_else(|| machine.home.join("AppData").join("Local"));
    let mut found: Vec<_> = std::fs::read_dir(packages.join("Packages"))
        .ok()?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("Claude_"))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    Some(found.into_iter().next()?.join("LocalCache").join("Roaming"))
}
