//! Amp: a setting whose name contains a dot. It refuses a file that begins with a byte order mark.
//!
//! Checked on 2026-11-30 against `@ampcode/cli` 0.0.1790142911-g7618fb (run).

use super::{Check, Host, Sign, command_and_args};
use crate::setup::edit::{Fields, Format};

/// Amp.
pub(super) const HOST: Host = Host {
    id: "amp",
    title: "Amp",
    format: Format::Jsonc,
    container: "amp.mcpServers",
    // Amp reads only the first of the two names that it finds. It uses ~/.config on Windows too.
    user_file: |machine| {
        let plain = machine.dot_config().join("amp").join("settings.json");
        let with_comments = plain.with_extension("jsonc");
        if !plain.exists() && with_comments.exists() { with_comments } else { plain }
    },
    moved_by: &[],
    other_files: |_| Vec::new(),
    project_file: Some(".amp/settings.json"),
    fields: |entry, _| Fields(command_and_args(entry)),
    max_result_bytes: None,
    chokes_on_bom: true,
    lock: None,
    sign: Sign::Own,
    programs: &["amp"],
    check: Some(Check {
        arguments: &["mcp", "list", "--json"],
        expects: &["\"name\": \"NAME\""],
        starts: false,
        is_all: true,
    }),
    policies: &[],
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "start a new thread; approve a project's entry first: amp mcp approve",
};
