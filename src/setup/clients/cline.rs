//! Cline: its command line program, and its editor extensions, which read the same file. It parses strictly,
//! and writes the file under a lock.
//!
//! Checked on 2026-11-30 against the command line program 3.0.65 (run), and the source of the extension for VS
//! Code 4.1.13, which takes over the settings that older versions kept in an editor's own storage.

use std::path::PathBuf;

use super::{Check, Host, Lock, Sign, command_and_args};
use crate::setup::edit::{Fields, Format};
use crate::setup::paths::Machine;

/// Cline.
pub(super) const HOST: Host = Host {
    id: "cline",
    title: "Cline",
    format: Format::Json,
    container: "mcpServers",
    user_file: |machine| {
        let settings = |data: PathBuf| data.join("settings").join(SETTINGS);
        let in_data = || machine.moved("CLINE_DATA_DIR").map(|data| settings(data.to_owned()));
        let own = || machine.moved_or("CLINE_DIR", machine.home.join(".cline"));
        let named = machine.moved("CLINE_MCP_SETTINGS_PATH").map(PathBuf::from);
        named.or_else(in_data).unwrap_or_else(|| settings(own().join("data")))
    },
    moved_by: &["CLINE_MCP_SETTINGS_PATH", "CLINE_DATA_DIR", "CLINE_DIR"],
    other_files: older_files,
    project_file: None,
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    chokes_on_bom: true,
    lock: Some(Lock::Marked),
    sign: Sign::OwnOr(".cline"),
    programs: &["cline"],
    check: Some(Check {
        arguments: &["config", "mcp", "--json"],
        expects: &["\"name\":\"NAME\",\"transportType\":\"stdio\",\"disabled\":false"],
        starts: false,
        is_all: false,
    }),
    policies: &[],
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "start a new task",
};

const SETTINGS: &str = "cline_mcp_settings.json";

/// Where older versions of the extension keep their settings, in each edition of the editor. Newer versions
/// read them once.
fn older_files(machine: &Machine) -> Vec<PathBuf> {
    const EDITIONS: [&str; 5] = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];
    let storage = |edition| machine.app_support().join(edition).join("User").join("globalStorage");
    let file = |edition| storage(edition).join("saoudrizwan.claude-dev").join("settings").join(SETTINGS);
    EDITIONS.map(file).into_iter().filter(|file| file.exists()).collect()
}
