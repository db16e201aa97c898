//! Qwen Code. It is derived from Gemini CLI, but reads a file that begins with a byte order mark.
//!
//! Checked on 2026-11-30 against `@qwen-code/qwen-code` 0.24.4 (run) and the documents in that package.

use super::{Check, Host, Sign, command_and_args};
use crate::setup::edit::{Fields, Format};
use crate::setup::policy::{Policy, Rule};

/// Qwen Code.
pub(super) const HOST: Host = Host {
    id: "qwen",
    title: "Qwen Code",
    format: Format::Jsonc,
    container: "mcpServers",
    user_file: |machine| machine.moved_or("QWEN_HOME", machine.home.join(".qwen")).join("settings.json"),
    moved_by: &["QWEN_HOME"],
    other_files: |_| Vec::new(),
    project_file: Some(".qwen/settings.json"),
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    chokes_on_bom: false,
    lock: None,
    sign: Sign::Own,
    programs: &["qwen"],
    check: Some(Check {
        arguments: &["mcp", "list"],
        expects: &["✓", "NAME:", "Connected"],
        starts: true,
        is_all: true,
    }),
    policies: POLICIES,
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "start a new session",
};

const POLICIES: &[Policy] = &[Policy {
    files: |machine| {
        vec![
            machine.shared_dir("qwen-code", "QwenCode").join("settings.json"),
            (HOST.user_file)(machine),
            machine.cwd.join(".qwen").join("settings.json"),
        ]
    },
    format: Format::Jsonc,
    rules: &[Rule::Denied(&["mcp", "excluded"]), Rule::Allowed(&["mcp", "allowed"])],
}];
