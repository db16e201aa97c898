//! Gemini CLI. It refuses a file that begins with a byte order mark, and starts no server in a folder that it
//! has not been told to trust.

use super::{Check, Host, Sign, command_and_args};
use crate::setup::edit::{Fields, Format};
use crate::setup::policy::{Policy, Rule};

/// Gemini CLI.
pub(super) const HOST: Host = Host {
    id: "gemini",
    title: "Gemini CLI",
    format: Format::Jsonc,
    container: "mcpServers",
    user_file: |machine| {
        machine.moved_or("GEMINI_CLI_HOME", machine.home.clone()).join(".gemini").join("settings.json")
    },
    moved_by: &["GEMINI_CLI_HOME"],
    other_files: |_| Vec::new(),
    project_file: Some(".gemini/settings.json"),
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    chokes_on_bom: true,
    lock: None,
    // Antigravity keeps its files below the same directory.
    sign: Sign::Nothing,
    programs: &["gemini"],
    check: Some(Check {
        arguments: &["mcp", "list"],
        expects: &["✓", "NAME", "Connected"],
        starts: true,
        is_all: true,
    }),
    policies: POLICIES,
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "start a new session in a folder that Gemini CLI trusts: in other folders it starts no server",
};

const POLICIES: &[Policy] = &[Policy {
    files: |machine| {
        vec![
            machine.shared_dir("gemini-cli", "GeminiCli").join("settings.json"),
            (HOST.user_file)(machine),
            machine.cwd.join(".gemini").join("settings.json"),
        ]
    },
    format: Format::Jsonc,
    rules: &[
        Rule::Denied(&["mcp", "excluded"]),
        Rule::Allowed(&["mcp", "allowed"]),
        // The name in older versions.
        Rule::Denied(&["excludeMCPServers"]),
        Rule::Allowed(&["allowMCPServers"]),
    ],
}];
