//! Antigravity: its desktop programs and `agy`, its command line program, have read the same file since version
//! 2.
//!
//! Checked on 2026-11-30 against <https://antigravity.google/docs/cli/gcli-migration> and the changelog of `agy` 1.0.3.

use super::{Host, Sign, command_and_args};
use crate::setup::edit::{Fields, Format};

/// Antigravity.
pub(super) const HOST: Host = Host {
    id: "antigravity",
    title: "Antigravity",
    format: Format::Jsonc,
    container: "mcpServers",
    user_file: |machine| machine.home.join(".gemini").join("config").join("mcp_config.json"),
    moved_by: &[],
    other_files: |machine| {
        let older = machine.home.join(".gemini").join("antigravity").join("mcp_config.json");
        Some(older).filter(|file| file.exists()).into_iter().collect()
    },
    project_file: Some(".agents/mcp_config.json"),
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    chokes_on_bom: false,
    lock: None,
    sign: Sign::OwnOr(".gemini/antigravity"),
    programs: &["agy", "antigravity"],
    check: None,
    policies: &[],
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "start a new session, or refresh the MCP servers in the agent panel; `/mcp` shows the server",
};
