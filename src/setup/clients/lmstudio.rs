//! LM Studio.

use super::{Host, Sign, base64, command_and_args, in_query};
use crate::setup::edit::{Fields, Format};

/// LM Studio.
pub(super) const HOST: Host = Host {
    id: "lmstudio",
    title: "LM Studio",
    format: Format::Jsonc,
    container: "mcpServers",
    user_file: |machine| machine.home.join(".lmstudio").join("mcp.json"),
    moved_by: &[],
    other_files: |_| Vec::new(),
    project_file: None,
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    chokes_on_bom: false,
    lock: None,
    sign: Sign::Own,
    programs: &["lms"],
    check: None,
    policies: &[],
    overwritten_by: &[],
    link: Some(|fields, name| {
        format!("lmstudio://add_mcp?name={}&config={}", in_query(name), in_query(&base64(fields)))
    }),
    has_shell: false,
    afterwards: "switch it on in LM Studio's Program tab",
};
