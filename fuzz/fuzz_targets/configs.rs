//! Edits to hosts' files: the result parses, keeps every other value, and can be undone to the same bytes (R8.2). JSON is checked
//! by a parser that the edits do not use.
//!
//! Input: a byte for the format, one for the edit, then the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pdpp::setup::edit::{self, Edited, EntryPath, Field, Fields, Format, Whose};
use serde_json::{Map, Value};

const FORMATS: [(Format, &str); 4] = [
    (Format::Json, "mcpServers"),
    (Format::Jsonc, "mcpServers"),
    (Format::Toml, "mcp_servers"),
    (Format::Yaml, "extensions"),
];

fn fields(command: &str, timeout: u32) -> Fields {
    Fields(vec![
        ("command", Field::Text(command.to_owned()), Whose::Ours),
        ("args", Field::Texts(vec!["mcp".to_owned(), "it's \"\\ #".to_owned()]), Whose::Ours),
        ("timeout", Field::Number(timeout), Whose::Theirs),
        ("enabled", Field::Flag(true), Whose::Needed),
    ])
}

fn strict(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

/// The file without the entry, and without a container that has nothing else.
fn others(format: Format, text: &str, place: EntryPath<'_>, is_strict: bool) -> Map<String, Value> {
    let mut root = edit::read(format, text).expect("it parses");
    if is_strict {
        assert_eq!(strict(text).as_ref(), Some(&root), "{text}");
    }
    if let Some(Value::Object(container)) = root.get_mut(place.container) {
        container.remove(place.name);
    }
    if root.get(place.container).is_some_and(|left| left.is_null() || *left == Value::Object(Map::new())) {
        root.remove(place.container);
    }
    root
}

fuzz_target!(|data: &[u8]| {
    let [format, what, text @ ..] = data else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let (format, container) = FORMATS[usize::from(*format) % FORMATS.len()];
    let place = EntryPath { container, name: ["pdpp", "other"][usize::from(*what) % 2] };
    let Ok(root) = edit::read(format, text) else {
        assert!(edit::put(format, Some(text), place, &fields("/bin/pdpp", 30)).is_err());
        assert!(edit::take(format, text, place).is_err());
        return;
    };
    // An empty file counts as an empty object.
    let is_strict = format == Format::Json && !text.trim().is_empty();
    let others = |text: &str| others(format, text, place, is_strict);
    let before = others(text);
    let wanted = fields("/bin/pdpp", 30);
    match edit::put(format, Some(text), place, &wanted) {
        Ok(Edited::Added(added)) => {
            assert!(edit::entry(&root, place).is_none());
            let there = edit::read(format, &added).expect("it parses");
            assert_eq!(edit::entry(&there, place), Some(&wanted.to_json()), "{added}");
            assert_eq!(others(&added), before, "{added}");
            assert_eq!(edit::put(format, Some(&added), place, &wanted), Ok(Edited::Unchanged), "{added}");
            assert_eq!(edit::take(format, &added, place), Ok(Edited::Removed(text.to_owned())), "{added}");
            // The program's path changes, then the entry is removed: nothing remains of it.
            let moved = fields("/opt/pdpp 2/pdpp", 60);
            match edit::update(format, &added, place, &moved) {
                Ok(Edited::Updated(updated)) => {
                    assert_eq!(others(&updated), before, "{updated}");
                    let read = edit::read(format, &updated).expect("it parses");
                    let entry = edit::entry(&read, place).expect("it is there");
                    assert_eq!(entry["command"], "/opt/pdpp 2/pdpp");
                    assert_eq!(entry["timeout"].as_u64(), Some(30), "the user's own value");
                    assert_eq!(
                        edit::take(format, &updated, place),
                        Ok(Edited::Removed(text.to_owned())),
                        "{updated}"
                    );
                }
                other => panic!("{other:?} of {added}"),
            }
        }
        Ok(Edited::Updated(updated)) => {
            assert!(edit::entry(&root, place).is_some());
            assert_eq!(others(&updated), before, "{updated}");
        }
        Ok(Edited::Unchanged) => assert_eq!(edit::entry(&root, place), Some(&wanted.to_json())),
        Ok(other) => panic!("{other:?}"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    match edit::take(format, text, place) {
        Ok(Edited::Removed(left)) => assert_eq!(others(&left), before, "{left}"),
        Ok(Edited::RemovedWithFile) => assert_eq!(before, Map::new()),
        Ok(Edited::Unchanged) => assert!(edit::entry(&root, place).is_none()),
        Ok(other) => panic!("{other:?}"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if edit::entry(&root, place).is_some() {
        match edit::update(format, text, place, &wanted) {
            Ok(Edited::Updated(updated)) => assert_eq!(others(&updated), before, "{updated}"),
            Ok(Edited::Unchanged) | Err(_) => {}
            Ok(other) => panic!("{other:?}"),
        }
    }
});
