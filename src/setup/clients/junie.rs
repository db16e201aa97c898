//! Junie: its editor plugin and its command line program read the same file.
//!
//! Checked on 2026-11-30 against `junie-github-action` (f5fa65a) by the same makers, which writes that file for
//! the Junie that it starts, and <https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html>.

use super::{Host, Sign, command_and_args};
use crate::setup::edit::{Fields, Format};

/// Junie.
pub(super) const HOST: Host = Host {
    id: "junie",
    title: "Junie",
    format: Format::Jsonc,
    container: "mcpServers",
    user_file: |machine| machine.home.join(".junie").join("mcp").join("mcp.json"),
    moved_by: &[],
    other_files: |_| Vec::new(),
    project_file: None,
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    chokes_on_bom: false,
    lock: None,
    sign: Sign::OwnOr(".junie"),
    programs: &["junie"],
    check: None,
    policies: &[],
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "start a new task; the editor's settings show the server under Tools, Junie, MCP Settings",
};
