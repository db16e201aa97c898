//! Continue: a separate file next to those of other servers, which its editor extensions read. `cn`, its
//! command line program, reads none of them.
//!
//! Checked on 2026-11-30 against Continue's source (d0a3c0b, the latest) and
//! <https://docs.continue.dev/customize/deep-dives/mcp>.

use super::{Host, Sign, command_and_args};
use crate::setup::edit::{Fields, Format};

/// Continue.
pub(super) const HOST: Host = Host {
    id: "continue",
    title: "Continue",
    format: Format::Jsonc,
    container: "mcpServers",
    user_file: |machine| {
        let own = machine.moved_or("CONTINUE_GLOBAL_DIR", machine.home.join(".continue"));
        own.join("mcpServers").join("pdpp.json")
    },
    moved_by: &["CONTINUE_GLOBAL_DIR"],
    other_files: |_| Vec::new(),
    project_file: Some(".continue/mcpServers/pdpp.json"),
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    chokes_on_bom: false,
    lock: None,
    sign: Sign::OwnOr(".continue"),
    programs: &[],
    check: None,
    policies: &[],
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "reload the editor window; the tools work in agent mode",
};
