//! Crush: the JSON file that it still reads alongside its newer `crushrc`, which is a shell script that only
//! the person should edit. It parses strictly, and expands each value the way a shell expands a here-document.
//!
//! Checked on 2026-11-30 against Crush's source (37f36e9) and its docs/config/README.md.

use super::{Host, Sign, typed};
use crate::setup::edit::{Fields, Format};

/// Crush.
pub(super) const HOST: Host = Host {
    id: "crush",
    title: "Crush",
    format: Format::Json,
    container: "mcp",
    // It is ~/.config on macOS and Windows too.
    user_file: |machine| {
        machine.moved_or("CRUSH_GLOBAL_CONFIG", machine.dot_config().join("crush")).join("crush.json")
    },
    moved_by: &["CRUSH_GLOBAL_CONFIG"],
    other_files: |_| Vec::new(),
    project_file: Some("crush.json"),
    fields: |entry, _| Fields(typed("stdio", entry)),
    max_result_bytes: None,
    chokes_on_bom: true,
    lock: None,
    sign: Sign::Own,
    programs: &["crush"],
    check: None,
    policies: &[],
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "start a new session",
};
