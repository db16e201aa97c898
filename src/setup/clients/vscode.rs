//! Visual Studio Code: the user's `mcp.json` in the default profile.

use super::{Host, Sign, in_query, typed};
use crate::setup::edit::{Fields, Format};
use crate::setup::policy::{Policy, Rule};

/// Visual Studio Code.
pub(super) const HOST: Host = Host {
    id: "vscode",
    title: "VS Code",
    format: Format::Jsonc,
    container: "servers",
    user_file: |machine| machine.app_support().join("Code").join("User").join("mcp.json"),
    moved_by: &[],
    other_files: |_| Vec::new(),
    project_file: Some(".vscode/mcp.json"),
    fields: |entry, _| Fields(typed("stdio", entry)),
    max_result_bytes: None,
    chokes_on_bom: false,
    lock: None,
    sign: Sign::Own,
    programs: &["code"],
    check: None,
    policies: POLICIES,
    overwritten_by: &[],
    link: Some(|fields, name| {
        let mut server = fields.to_json();
        server["name"] = name.into();
        format!("vscode:mcp/install?{}", in_query(&server.to_string()))
    }),
    has_shell: true,
    afterwards: "start it with the command `MCP: List Servers` if VS Code does not offer to",
};

const POLICIES: &[Policy] = &[Policy {
    files: |machine| {
        vec![
            machine.app_support().join("Code").join("User").join("settings.json"),
            machine.cwd.join(".vscode").join("settings.json"),
        ]
    },
    format: Format::Jsonc,
    rules: &[
        Rule::Off(&["chat.mcp.access"], &["none", "registry"]),
        Rule::Off(&["chat.mcp.enabled"], &["false"]),
    ],
}];
