//! Kiro: its editor and its command line program read the same file.
//!
//! Checked on 2026-11-30 against <https://kiro.dev/docs/mcp/configuration> and <https://kiro.dev/docs/cli/mcp/configuration>.

use super::{Host, Sign, command_and_args};
use crate::setup::edit::{Fields, Format};

/// Kiro.
pub(super) const HOST: Host = Host {
    id: "kiro",
    title: "Kiro",
    format: Format::Jsonc,
    container: "mcpServers",
    user_file: |machine| machine.home.join(".kiro").join("settings").join("mcp.json"),
    moved_by: &[],
    other_files: |_| Vec::new(),
    project_file: Some(".kiro/settings/mcp.json"),
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    chokes_on_bom: false,
    lock: None,
    sign: Sign::OwnOr(".kiro"),
    programs: &["kiro-cli", "kiro"],
    check: None,
    policies: &[],
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "Kiro reads it at once; its MCP panel and `/mcp` in its terminal show the server",
};
