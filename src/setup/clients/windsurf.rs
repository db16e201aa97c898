//! Windsurf.

use super::{Host, Sign, command_and_args};
use crate::setup::edit::{Fields, Format};

/// Windsurf.
pub(super) const HOST: Host = Host {
    id: "windsurf",
    title: "Windsurf",
    format: Format::Jsonc,
    container: "mcpServers",
    user_file: |machine| machine.home.join(".codeium").join("windsurf").join("mcp_config.json"),
    moved_by: &[],
    other_files: |_| Vec::new(),
    project_file: None,
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    chokes_on_bom: false,
    lock: None,
    sign: Sign::Own,
    programs: &["windsurf"],
    check: None,
    policies: &[],
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "refresh the MCP servers in Windsurf's Cascade panel",
};
