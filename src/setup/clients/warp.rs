//! Warp: the file of its stable and preview editions. It parses strictly, and takes `{{name}}` for one of its
//! own variables.
//!
//! Checked on 2026-11-30 against Warp's source (19548ae) and <https://docs.warp.dev/agents/capabilities/mcp>.

use super::{Host, Sign, command_and_args};
use crate::setup::edit::{Fields, Format};

/// Warp.
pub(super) const HOST: Host = Host {
    id: "warp",
    title: "Warp",
    format: Format::Json,
    container: "mcpServers",
    user_file: |machine| machine.home.join(".warp").join(".mcp.json"),
    moved_by: &[],
    other_files: |_| Vec::new(),
    project_file: Some(".warp/.mcp.json"),
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    chokes_on_bom: true,
    lock: None,
    sign: Sign::Own,
    programs: &["warp-terminal"],
    check: None,
    policies: &[],
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "Warp reads it at once; its settings show the server, under MCP servers",
};
