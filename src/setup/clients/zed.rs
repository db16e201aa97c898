//! Zed: its settings file, which usually has comments and trailing commas.

use super::{Host, Sign, command_and_args, ours};
use crate::setup::edit::{Field, Fields, Format};
use crate::setup::paths::Platform;

/// Zed.
pub(super) const HOST: Host = Host {
    id: "zed",
    title: "Zed",
    format: Format::Jsonc,
    container: "context_servers",
    // Zed uses ~/.config on macOS too (https://zed.dev/docs/configuring-zed).
    user_file: |machine| match machine.platform {
        Platform::Windows => machine.roaming().join("Zed").join("settings.json"),
        Platform::MacOs => machine.home.join(".config").join("zed").join("settings.json"),
        Platform::Linux => machine.dot_config().join("zed").join("settings.json"),
    },
    moved_by: &[],
    other_files: |_| Vec::new(),
    project_file: Some(".zed/settings.json"),
    fields: |entry, _| {
        let mut fields = vec![ours("source", Field::Text("custom".to_owned()))];
        fields.extend(command_and_args(entry));
        Fields(fields)
    },
    max_result_bytes: None,
    chokes_on_bom: false,
    lock: None,
    sign: Sign::Own,
    programs: &["zed", "zeditor"],
    check: None,
    policies: &[],
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "Zed reads it at once; its Agent panel shows the server",
};
