//! GitHub Copilot CLI. An entry names the tools that it allows.

use super::{Check, Host, Sign, typed};
use crate::setup::edit::{Field, Fields, Format, Whose};

/// GitHub Copilot CLI.
pub(super) const HOST: Host = Host {
    id: "copilot",
    title: "GitHub Copilot CLI",
    format: Format::Jsonc,
    container: "mcpServers",
    user_file: |machine| machine.home.join(".copilot").join("mcp-config.json"),
    moved_by: &[],
    other_files: |_| Vec::new(),
    project_file: None,
    fields: |entry, _| {
        let mut fields = typed("local", entry);
        fields.push(("tools", Field::Texts(vec!["*".to_owned()]), Whose::Needed));
        Fields(fields)
    },
    max_result_bytes: None,
    chokes_on_bom: false,
    lock: None,
    sign: Sign::Own,
    programs: &["copilot"],
    check: Some(Check {
        arguments: &["mcp", "get", "NAME"],
        expects: &["Status: Enabled"],
        starts: false,
        is_all: true,
    }),
    policies: &[],
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "start a new session",
};
