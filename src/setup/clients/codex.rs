//! Codex. Its own `codex mcp add` drops comments and replaces entries without asking, so it is not used.

use std::path::PathBuf;

use super::{Check, Host, Sign, command_and_args};
use crate::setup::edit::{Field, Fields, Format, Whose};
use crate::setup::paths::{Machine, Platform};
use crate::setup::policy::{Policy, Rule};

/// Codex.
pub(super) const HOST: Host = Host {
    id: "codex",
    title: "Codex",
    format: Format::Toml,
    container: "mcp_servers",
    user_file: |machine| machine.moved_or("CODEX_HOME", machine.home.join(".codex")).join("config.toml"),
    moved_by: &["CODEX_HOME"],
    other_files: |_| Vec::new(),
    project_file: Some(".codex/config.toml"),
    fields: |entry, _| {
        let mut fields = command_and_args(entry);
        // Older versions give a server 10 seconds.
        fields.push(("startup_timeout_sec", Field::Number(30), Whose::Theirs));
        Fields(fields)
    },
    // It keeps about 12,000 characters for an unknown model, so the default fits.
    max_result_bytes: None,
    chokes_on_bom: false,
    lock: None,
    sign: Sign::Own,
    programs: &["codex"],
    check: Some(Check {
        arguments: &["mcp", "get", "NAME", "--json"],
        expects: &["\"enabled\": true"],
        starts: false,
        is_all: true,
    }),
    policies: POLICIES,
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "start a new session",
};

/// An administrator's directory for Codex, which is /etc/codex on macOS too
/// (<https://developers.openai.com/codex/enterprise/managed-configuration>).
fn managed(machine: &Machine) -> PathBuf {
    match machine.platform {
        Platform::MacOs => "/etc/codex".into(),
        Platform::Linux | Platform::Windows => machine.managed_dir("codex", "codex"),
    }
}

const POLICIES: &[Policy] = &[Policy {
    files: |machine| vec![managed(machine).join("requirements.toml")],
    format: Format::Toml,
    rules: &[Rule::Identified("mcp_servers")],
}];
