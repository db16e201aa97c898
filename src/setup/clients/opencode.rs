//! opencode: program and arguments are in one list.

use super::{Check, Host, Sign, ours};
use crate::setup::edit::{Field, Fields, Format, Whose};

/// opencode.
pub(super) const HOST: Host = Host {
    id: "opencode",
    title: "opencode",
    format: Format::Jsonc,
    container: "mcp",
    // opencode reads both names; if a file exists, it stays the one in use.
    user_file: |machine| {
        let dir = machine.dot_config().join("opencode");
        let with_comments = dir.join("opencode.jsonc");
        if with_comments.exists() { with_comments } else { dir.join("opencode.json") }
    },
    moved_by: &[],
    other_files: |_| Vec::new(),
    project_file: Some("opencode.json"),
    fields: |entry, _| {
        Fields(vec![
            ours("type", Field::Text("local".to_owned())),
            ours("command", Field::Texts(entry.words())),
            ("enabled", Field::Flag(true), Whose::Theirs),
        ])
    },
    max_result_bytes: None,
    chokes_on_bom: false,
    lock: None,
    sign: Sign::Own,
    programs: &["opencode"],
    check: Some(Check { arguments: &["mcp", "list"], expects: &["✓", "NAME"], starts: true, is_all: true }),
    policies: &[],
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "start a new session",
};
