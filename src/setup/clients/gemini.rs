//! Gemini CLI. It refuses a file that begins with a byte order mark, and starts no server in a folder that it
//! was not told to trust.

use super::{Check, Host, command_and_args};
use crate::setup::edit::{Fields, Format};

/// Gemini CLI.
pub(super) const HOST: Host = Host {
    id: "gemini",
    title: "Gemini CLI",
    format: Format::Jsonc,
    container: "mcpServers",
    user_file: |machine| {
        machine.gemini_home.as_deref().unwrap_or(&machine.home).join(".gemini").join("settings.json")
    },
    other_files: |_| Vec::new(),
    project_file: Some(".gemini/settings.json"),
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    chokes_on_bom: true,
    programs: &["gemini"],
    check: Some(Check { arguments: &["mcp", "list"], expects: &["✓", "NAME", "Connected"], starts: true }),
    overwritten_by: &[],
    link: None,
    afterwards: "start a new session, in a folder that Gemini CLI trusts: elsewhere it starts no server",
};
