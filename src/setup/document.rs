//! Reading a host's config: whether it is text, the name of an owner's credential in it, and whether an entry
//! is switched off.

use serde_json::{Map, Value};

use super::edit;

/// A byte order mark.
pub(super) const BOM: &str = "\u{feff}";

/// A file's bytes as text: whether they begin with a byte order mark, and the rest.
///
/// # Errors
/// The reason why the bytes are not UTF-8.
pub(super) fn document(bytes: &[u8]) -> std::result::Result<(bool, &str), String> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return "it is UTF-16: save it as UTF-8".to_owned();
        }
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let (line, column) = edit::position(&valid, valid.len());
        format!("line {line}, column {column}: it is not UTF-8")
    })?;
    Ok(text.strip_prefix(BOM).map_or((false, text), |rest| (true, rest)))
}

/// The name of an owner's credential in a host's config: a key anywhere, or the beginning of a text among its
/// servers. Values are only searched for such a name.
pub(super) fn owner_credential(root: &Map<String, Value>, container: &str) -> Option<String> {
    fn walk(value: &Value, texts: bool, found: &dyn Fn(&String) -> Option<String>) -> Option<String> {
        match value {
            Value::Object(members) => {
                members.iter().find_map(|(key, value)| found(key).or_else(|| walk(value, texts, found)))
            }
            Value::Array(items) => items.iter().find_map(|item| walk(item, texts, found)),
            Value::String(text) if texts => {
                let name: String =
                    text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                found(&name)
            }
            _ => None,
        }
    }
    let in_keys = |key: &String| crate::cache::owner::is_owner_name(key).then(|| key.clone());
    root.iter().find_map(|(key, value)| in_keys(key).or_else(|| walk(value, key == container, &in_keys)))
}

/// Whether a person has switched an entry off, in any of the ways that hosts write it.
pub(super) fn is_switched_off(entry: &Value) -> bool {
    entry.get("disabled") == Some(&Value::Bool(true)) || entry.get("enabled") == Some(&Value::Bool(false))
}
