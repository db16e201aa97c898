//! Amazon Q Developer: the file that both its editor plugins and its command line program read. It parses
//! strictly.
//!
//! Checked on 2026-11-30 against <https://docs.aws.amazon.com/amazonq/latest/qdeveloper-ug/mcp-ide.html> and the source of the
//! plugins' language server (55af91e) and of the command line program (15cc8f3).

use super::{Host, Sign, command_and_args};
use crate::setup::edit::{Fields, Format};
use crate::setup::policy::{Policy, Rule};

/// Amazon Q Developer.
pub(super) const HOST: Host = Host {
    id: "amazon-q",
    title: "Amazon Q Developer",
    format: Format::Json,
    container: "mcpServers",
    user_file: |machine| machine.home.join(".aws").join("amazonq").join("mcp.json"),
    moved_by: &[],
    other_files: |_| Vec::new(),
    project_file: Some(".amazonq/mcp.json"),
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    chokes_on_bom: true,
    lock: None,
    sign: Sign::Own,
    programs: &["q"],
    check: None,
    policies: POLICIES,
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "start a new chat; `/tools` shows the server",
};

/// Its default agent may be configured not to read this file.
const POLICIES: &[Policy] = &[Policy {
    files: |machine| vec![machine.home.join(".aws").join("amazonq").join("agents").join("default.json")],
    format: Format::Json,
    rules: &[Rule::Off(&["useLegacyMcpJson"], &["false"])],
}];
