//! Cursor.

use super::{Host, Sign, base64, command_and_args, in_query};
use crate::setup::edit::{Fields, Format};

/// Cursor.
pub(super) const HOST: Host = Host {
    id: "cursor",
    title: "Cursor",
    format: Format::Jsonc,
    container: "mcpServers",
    user_file: |machine| machine.home.join(".cursor").join("mcp.json"),
    moved_by: &[],
    other_files: |_| Vec::new(),
    project_file: Some(".cursor/mcp.json"),
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    chokes_on_bom: false,
    lock: None,
    sign: Sign::Own,
    programs: &["cursor", "cursor-agent"],
    check: None,
    policies: &[],
    overwritten_by: &[],
    link: Some(|fields, name| {
        let (name, config) = (in_query(name), in_query(&base64(fields)));
        format!("cursor://anysphere.cursor-deeplink/mcp/install?name={name}&config={config}")
    }),
    has_shell: true,
    afterwards: "switch it on in Cursor's settings, under MCP, if it is not on already",
};
