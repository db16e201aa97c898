//! Claude Code. If its own command is installed, that command writes the file (`claude mcp add-json`). It
//! refuses a file with comments, and takes a lock directory next to the file.

use std::path::PathBuf;

use super::{Check, Host, Lock, Sign, typed};
use crate::setup::edit::{Fields, Format};
use crate::setup::paths::Machine;
use crate::setup::policy::{Policy, Rule};

/// Claude Code.
pub(super) const HOST: Host = Host {
    id: "claude",
    title: "Claude Code",
    format: Format::Json,
    container: "mcpServers",
    user_file: |machine| machine.moved_or("CLAUDE_CONFIG_DIR", machine.home.clone()).join(".claude.json"),
    moved_by: &["CLAUDE_CONFIG_DIR"],
    other_files: |_| Vec::new(),
    project_file: Some(".mcp.json"),
    fields: |entry, _| Fields(typed("stdio", entry)),
    // It moves a result of 50,000 characters to a file; measured with 2.1.332.
    max_result_bytes: Some(48_000),
    chokes_on_bom: false,
    lock: Some(Lock::Empty),
    sign: Sign::Own,
    programs: &["claude"],
    check: Some(Check {
        arguments: &["mcp", "get", "NAME"],
        expects: &["✔ Connected"],
        starts: true,
        is_all: true,
    }),
    policies: POLICIES,
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "a running session sees it after /mcp or a restart",
};

/// The rules of an administrator, of the person and of the project. Anyone who runs this can change the last
/// two.
const POLICIES: &[Policy] = &[
    Policy {
        files: |machine| vec![machine.managed_dir("claude-code", "ClaudeCode").join("managed-mcp.json")],
        format: Format::Jsonc,
        rules: &[Rule::Exclusive("mcpServers")],
    },
    Policy {
        files: settings,
        format: Format::Jsonc,
        rules: &[Rule::Denied(&["deniedMcpServers"]), Rule::AllowedOrNone(&["allowedMcpServers"])],
    },
];

fn settings(machine: &Machine) -> Vec<PathBuf> {
    let own = machine.moved_or("CLAUDE_CONFIG_DIR", machine.home.join(".claude"));
    let project = machine.cwd.join(".claude");
    vec![
        machine.managed_dir("claude-code", "ClaudeCode").join("managed-settings.json"),
        own.join("settings.json"),
        project.join("settings.json"),
        project.join("settings.local.json"),
    ]
}
