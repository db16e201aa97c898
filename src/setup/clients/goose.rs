//! Goose: an extension in its YAML config.

use super::{Host, Sign, ours};
use crate::setup::edit::{Field, Fields, Format, Whose};
use crate::setup::paths::Platform;

/// Goose.
pub(super) const HOST: Host = Host {
    id: "goose",
    title: "Goose",
    format: Format::Yaml,
    container: "extensions",
    user_file: |machine| match machine.platform {
        Platform::Windows => machine.roaming().join("Block").join("goose").join("config").join("config.yaml"),
        // Goose uses the XDG variables on macOS too.
        Platform::MacOs | Platform::Linux => machine.dot_config().join("goose").join("config.yaml"),
    },
    moved_by: &[],
    other_files: |_| Vec::new(),
    project_file: None,
    fields: |entry, name| {
        Fields(vec![
            ours("type", Field::Text("stdio".to_owned())),
            ("name", Field::Text(name.to_owned()), Whose::Needed),
            (
                "description",
                Field::Text("Your own data, through a grant that you approved".to_owned()),
                Whose::Theirs,
            ),
            ours("cmd", Field::Text(entry.program.clone())),
            ours("args", Field::Texts(entry.arguments.clone())),
            ("enabled", Field::Flag(true), Whose::Needed),
            ("timeout", Field::Number(300), Whose::Theirs),
        ])
    },
    max_result_bytes: None,
    chokes_on_bom: false,
    lock: None,
    sign: Sign::Own,
    programs: &["goose"],
    check: None,
    policies: &[],
    overwritten_by: &[],
    link: None,
    has_shell: true,
    afterwards: "start a new session",
};
