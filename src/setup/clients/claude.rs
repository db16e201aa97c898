//! Claude Code. Its own command writes the file where it is there (`claude mcp add-json`); it refuses a
//! file with comments, and takes a lock directory beside it.

use super::{Check, Host, typed};
use crate::setup::edit::{Fields, Format};

/// Claude Code.
pub(super) const HOST: Host = Host {
    id: "claude",
    title: "Claude Code",
    format: Format::Json,
    container: "mcpServers",
    user_file: |machine| machine.claude_config.as_deref().unwrap_or(&machine.home).join(".claude.json"),
    other_files: |_| Vec::new(),
    project_file: Some(".mcp.json"),
    fields: |entry, _| Fields(typed("stdio", entry)),
    // It moves a result of 50,000 characters to a file; measured with 2.1.332.
    max_result_bytes: Some(48_000),
    chokes_on_bom: false,
    programs: &["claude"],
    check: Some(Check { arguments: &["mcp", "get", "NAME"], expects: &["✔ Connected"], starts: true }),
    overwritten_by: &[],
    link: None,
    afterwards: "a running session sees it after /mcp or a restart",
};
