//! The choices that a provider offers to a client when it refuses to choose itself.

use std::fmt;

use serde_json::Value;

use crate::provider::http::Answer;
use crate::text;

/// A choice that a provider offers when it refuses to choose itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The name to use in a request: a source's URI, an instance's id, or a name. At most 500 bytes.
    pub id: String,
    /// The name to show, at most 200 bytes.
    pub label: Option<String>,
}

impl Choice {
    /// The most choices that are kept.
    const MAX: usize = 50;

    /// The choices in a refusal, if it names any.
    pub(super) fn of(answer: &Answer) -> Vec<Self> {
        let body = answer.object().unwrap_or_default();
        let places = [body.get("error").and_then(Value::as_object), Some(&body)];
        let lists = [
            "available_sources",
            "available_connections",
            "available_instances",
            "available_streams",
            "available_fields",
        ];
        let found = places
            .into_iter()
            .flatten()
            .find_map(|place| lists.iter().find_map(|name| place.get(*name)?.as_array()));
        let read = |choice: &Value| {
            let text = |pointer: &str| choice.pointer(pointer).and_then(Value::as_str);
            let ids = ["/source/id", "/id", "/connection_id", "/instance_id"];
            let labels = ["/display_name", "/name", "/label"];
            let id = ids.iter().find_map(|id| text(id)).or(choice.as_str())?;
            let id = (1..=500).contains(&id.len()).then(|| id.to_owned())?;
            let label = labels.iter().find_map(|label| text(label));
            Some(Self { id, label: label.map(|label| text::prefix(label, 200).to_owned()) })
        };
        found.into_iter().flatten().filter_map(read).take(Self::MAX).collect()
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::one_line(&self.id))?;
        match &self.label {
            Some(label) => write!(f, " ({})", text::one_line(label)),
            None => Ok(()),
        }
    }
}
