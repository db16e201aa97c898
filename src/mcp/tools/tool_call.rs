//! A call, parsed once: a variant per tool, with that tool's own arguments.

use serde_json::{Map, Value};

use super::arguments::checked;
use super::explanation::Asked;
use super::{aggregate, fetch, query_records, read_record_field, schema, search};
use crate::mcp::call::{Call, Tool};
use crate::mcp::size::{Bounds, json_len};
use crate::mcp::tool_error::ToolError;

/// A call whose arguments fit its tool.
pub enum ToolCall {
    /// `schema`.
    Schema(schema::Arguments),
    /// `query_records`.
    QueryRecords(query_records::Arguments),
    /// `aggregate`.
    Aggregate(aggregate::Arguments),
    /// `search`.
    Search(search::Arguments),
    /// `fetch`.
    Fetch(fetch::Arguments),
    /// `read_record_field`.
    ReadRecordField(read_record_field::Arguments),
}

impl ToolCall {
    /// Parses a call of the tool `name`, whose answer must fit `bounds`.
    ///
    /// # Errors
    /// Returns `unknown_tool`, `arguments_too_long`, or what is wrong with the arguments. Everything that does not
    /// need the provider's schema is found before the provider is asked.
    pub fn parse(name: &str, arguments: Map<String, Value>, bounds: Bounds) -> Result<Self, ToolError> {
        let tool = Tool::from_name(name).ok_or_else(|| {
            ToolError::new("unknown_tool", format!("there is no tool `{name}`"), "tools/list names them all")
        })?;
        check_length(tool, &arguments, bounds)?;
        let call = checked(tool, arguments)?;
        Ok(match tool {
            Tool::Schema => Self::Schema(schema::Arguments::parse(call)?),
            Tool::QueryRecords => Self::QueryRecords(query_records::Arguments::parse(call)?),
            Tool::Aggregate => Self::Aggregate(aggregate::Arguments::parse(call)?),
            Tool::Search => Self::Search(search::Arguments::parse(call)?),
            Tool::Fetch => Self::Fetch(fetch::Arguments::parse(call)?),
            Tool::ReadRecordField => Self::ReadRecordField(read_record_field::Arguments::parse(call)?),
        })
    }

    /// The call as given.
    pub const fn call(&self) -> &Call {
        match self {
            Self::Schema(arguments) => &arguments.call,
            Self::QueryRecords(arguments) => &arguments.call,
            Self::Aggregate(arguments) => &arguments.call,
            Self::Search(arguments) => &arguments.call,
            Self::Fetch(arguments) => &arguments.call,
            Self::ReadRecordField(arguments) => &arguments.call,
        }
    }

    /// The connection that it names, also within an id.
    pub fn connection(&self) -> Option<&str> {
        match self {
            Self::Schema(arguments) => arguments.connection.as_deref(),
            Self::QueryRecords(arguments) => arguments.connection.as_deref(),
            Self::Aggregate(arguments) => arguments.request.connection.as_deref(),
            Self::Search(arguments) => arguments.connection.as_deref(),
            Self::Fetch(arguments) => arguments.request.id.connection.as_deref(),
            Self::ReadRecordField(arguments) => arguments.window.id.connection.as_deref(),
        }
    }

    /// The one stream that it is about, if there is one.
    pub fn stream(&self) -> Option<&str> {
        match self {
            Self::Schema(arguments) => arguments.stream.as_deref(),
            Self::QueryRecords(arguments) => Some(&arguments.records.stream),
            Self::Aggregate(arguments) => Some(&arguments.request.stream),
            Self::Search(arguments) => arguments.stream(),
            Self::Fetch(arguments) => Some(&arguments.request.id.stream),
            Self::ReadRecordField(arguments) => Some(&arguments.window.id.stream),
        }
    }

    /// The parts of the call that an explanation of an error needs.
    pub fn asked(&self) -> Asked<'_> {
        let record = match self {
            Self::Fetch(arguments) => Some(&arguments.request.id),
            Self::ReadRecordField(arguments) => Some(&arguments.window.id),
            Self::Schema(_) | Self::QueryRecords(_) | Self::Aggregate(_) | Self::Search(_) => None,
        };
        Asked { call: self.call(), stream: self.stream(), connection: self.connection(), record }
    }

    /// Whether it asks what exists, and so must see grants that were added in the meantime.
    pub const fn is_discovery(&self) -> bool {
        match self {
            Self::Schema(_) => true,
            Self::QueryRecords(_)
            | Self::Aggregate(_)
            | Self::Search(_)
            | Self::Fetch(_)
            | Self::ReadRecordField(_) => false,
        }
    }

    /// Whether its answer may be merged from all grants.
    pub const fn may_read_all_grants(&self) -> bool {
        match self {
            Self::Schema(_) | Self::Search(_) => true,
            Self::QueryRecords(_) | Self::Aggregate(_) | Self::Fetch(_) | Self::ReadRecordField(_) => false,
        }
    }

    /// Whether the answer is the index of a grant, which may grow with its names (R3.3).
    pub const fn is_index(&self) -> bool {
        match self {
            Self::Schema(arguments) => arguments.stream.is_none(),
            Self::QueryRecords(_)
            | Self::Aggregate(_)
            | Self::Search(_)
            | Self::Fetch(_)
            | Self::ReadRecordField(_) => false,
        }
    }
}

/// Refuses arguments that are too long: a continuation repeats them, which would leave no room for the answer.
fn check_length(tool: Tool, given: &Map<String, Value>, bounds: Bounds) -> Result<(), ToolError> {
    let bound = bounds.text.min(bounds.structured);
    let most = match tool {
        // The length of a record's id and of a field's name is given.
        Tool::Fetch | Tool::ReadRecordField => bound * 5 / 8,
        Tool::Schema | Tool::QueryRecords | Tool::Aggregate | Tool::Search => bound / 4,
    };
    let length = json_len(given);
    if length <= most {
        return Ok(());
    }
    Err(ToolError::new(
        "arguments_too_long",
        format!("the arguments take {length} bytes of JSON; {tool} accepts at most {most} here"),
        match tool {
            Tool::QueryRecords => "ask for less in one call: fewer fields, a shorter filter",
            Tool::Aggregate => "ask for less in one call: a shorter filter",
            Tool::Search => "ask for less in one call: fewer streams, a shorter q or filter",
            Tool::Schema => "take the names of stream and connection_id from schema {}",
            Tool::Fetch | Tool::ReadRecordField => "take the id from a row of query_records or search",
        },
    ))
}
