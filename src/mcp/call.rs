//! A call of one of the tools, as a model can make it.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::json::write::{self, Json, Sink};

/// The six tools. [`tools::surface`](crate::mcp::tools::surface) has what a host sees of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tool {
    /// Describes what the grant holds.
    Schema,
    /// Reads a page of one stream's records.
    QueryRecords,
    /// Computes a number, or groups of numbers.
    Aggregate,
    /// Finds records by text.
    Search,
    /// Reads one record.
    Fetch,
    /// Reads a window of one text field.
    ReadRecordField,
}

impl Tool {
    /// All tools, in the order in which they are listed.
    pub const ALL: [Self; 6] =
        [Self::Schema, Self::QueryRecords, Self::Aggregate, Self::Search, Self::Fetch, Self::ReadRecordField];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::QueryRecords => "query_records",
            Self::Aggregate => "aggregate",
            Self::Search => "search",
            Self::Fetch => "fetch",
            Self::ReadRecordField => "read_record_field",
        }
    }

    /// The tool of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A tool call that a model can copy and make.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: Tool,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

impl Call {
    /// A call with these arguments.
    pub fn new(tool: Tool, arguments: Value) -> Self {
        let Value::Object(arguments) = arguments else { return Self { tool, arguments: Map::new() } };
        Self { tool, arguments }
    }

    /// Whether `name` is among its arguments.
    pub fn has(&self, name: &str) -> bool {
        self.arguments.contains_key(name)
    }

    /// An argument that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.arguments.get(name)?.as_str()
    }

    /// An argument that is a list of texts.
    pub fn texts(&self, name: &str) -> Option<Vec<&str>> {
        self.arguments.get(name)?.as_array()?.iter().map(Value::as_str).collect()
    }

    /// The same call with other arguments; `None` removes one.
    #[must_use]
    pub fn with<const N: usize>(&self, changes: [(&str, Option<Value>); N]) -> Self {
        let mut arguments = self.arguments.clone();
        for (name, value) in changes {
            match value {
                Some(value) => arguments.insert(name.to_owned(), value),
                None => arguments.remove(name),
            };
        }
        Self { tool: self.tool, arguments }
    }

    /// The call for `structuredContent`.
    pub fn to_json(&self) -> Value {
        json!({"tool": self.tool.name(), "arguments": self.arguments})
    }

    /// The call for the text: the tool's name, then its arguments as one line of JSON.
    pub fn to_text(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.tool, write::text(&self.arguments))
    }
}

/// Writes what [`Call::to_json`] returns.
impl Json for Call {
    fn write_to(&self, out: &mut impl Sink) {
        write::object(out, |members| {
            members.put("arguments", &self.arguments);
            members.put("tool", self.tool.name());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_written_as_it_is_built() {
        let call = Call::new(Tool::Search, json!({"q": "a\u{202e}", "limit": 5}));
        assert_eq!(write::text(&call), write::text(&call.to_json()));
    }
}
