//! Claude Desktop. It parses strictly, resets a file that begins with a byte order mark, and writes the file
//! back from memory when it ends. The Windows Store's package reads a separate copy.

use std::path::{Path, PathBuf};

use super::{Host, Sign, command_and_args};
use crate::setup::edit::{Fields, Format};
use crate::setup::paths::{Machine, Platform};

/// Claude Desktop.
pub(super) const HOST: Host = Host {
    id: "claude-desktop",
    title: "Claude Desktop",
    format: Format::Json,
    container: "mcpServers",
    user_file,
    moved_by: &[],
    other_files,
    project_file: None,
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    chokes_on_bom: true,
    lock: None,
    sign: Sign::Own,
    programs: &["claude-desktop"],
    check: None,
    policies: &[],
    overwritten_by: &["Claude", "Claude.exe", "claude-desktop"],
    link: None,
    has_shell: false,
    afterwards: "quit Claude Desktop (from its tray icon, not only its window) and start it again",
};

fn user_file(machine: &Machine) -> PathBuf {
    let packaged = packaged(machine);
    let found = packaged.iter().find(|file| file.exists()).or(packaged.first());
    found.cloned().unwrap_or_else(|| in_dir(&machine.app_support()))
}

fn other_files(machine: &Machine) -> Vec<PathBuf> {
    let mut others = packaged(machine);
    if !others.is_empty() {
        others.push(in_dir(&machine.app_support()));
    }
    let written = user_file(machine);
    others.retain(|file| *file != written);
    others
}

fn in_dir(dir: &Path) -> PathBuf {
    dir.join("Claude").join("claude_desktop_config.json")
}

/// The config below the directory that an MSIX package uses as `%APPDATA%`, for each installed package: Windows
/// shows the package only that copy (anthropics/claude-code#26073). Since early 2026 both installers make a
/// package.
fn packaged(machine: &Machine) -> Vec<PathBuf> {
    if machine.platform != Platform::Windows {
        return Vec::new();
    }
    let local = machine.local_app_data.clone().unwrap_or_else(|| machine.home.join("AppData").join("Local"));
    let Ok(packages) = std::fs::read_dir(local.join("Packages")) else { return Vec::new() };
    let mut found: Vec<_> = packages
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("Claude_"))
        .map(|entry| in_dir(&entry.path().join("LocalCache").join("Roaming")))
        .collect();
    found.sort();
    found
}
