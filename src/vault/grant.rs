//! A grant: what an owner approved, in its wire form.

use serde::{Deserialize, Serialize};

use super::declaration::Stream;
use super::time;

/// An issued grant. It is immutable; whether it was revoked is stored separately.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The version of the grant's format: `0.1.0`.
    pub version: String,
    /// `grt_…`.
    pub grant_id: String,
    /// RFC 3339.
    pub issued_at: String,
    /// RFC 3339; null for a grant without an end.
    pub expires_at: Option<String>,
    /// The person whose data it covers.
    pub subject: Subject,
    /// The client that holds the grant.
    pub client: Client,
    /// The source that it covers: one source, or this provider with all of its sources.
    pub source: Source,
    /// The declaration that was approved.
    pub source_declaration: Declaration,
    /// The purpose, as a URI.
    pub purpose_code: String,
    /// The purpose in the client's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose_description: Option<String>,
    /// `continuous` or `single_use`.
    pub access_mode: String,
    /// The streams that may be read.
    pub streams: Vec<GrantStream>,
}

/// `{id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// An opaque id.
    pub id: String,
}

/// `{client_id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// The registered id.
    pub client_id: String,
}

/// `{kind, id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// `connector` or `provider_native`.
    pub kind: String,
    /// A URI.
    pub id: String,
}

/// `{version}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declaration {
    /// An opaque revision.
    pub version: String,
}

/// One stream of a grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantStream {
    /// Its name.
    pub name: String,
    /// The connections it may be read from.
    pub instance_ids: Vec<String>,
    /// The fields that may be read.
    pub fields: Vec<String>,
    /// The period that may be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_constraint: Option<TimeConstraint>,
    /// The records that may be read; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Vec<String>>,
    /// The source, in a grant that covers the whole provider. There, two sources can have streams with the same
    /// name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// A period, over a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeConstraint {
    /// The stream's consent time field.
    pub field: String,
    /// The start, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The end, exclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl TimeConstraint {
    /// The constraint in words: `received from 2026-10-01 and before 2026-11-01`.
    pub fn in_words(&self) -> String {
        let field = self.field.replace('_', " ");
        let field = field.strip_suffix(" at").unwrap_or(&field);
        let at = |text: &String| time::day_or_minute(text);
        match (&self.since, &self.until) {
            (Some(since), Some(until)) => {
                format!("{field} from {} and before {}", at(since), at(until))
            }
            (Some(since), None) => format!("{field} from {} on", at(since)),
            (None, Some(until)) => format!("{field} before {}", at(until)),
            (None, None) => format!("{field} at any time"),
        }
    }
}

impl Grant {
    /// Whether it ended before `now_ms`. An end that cannot be parsed counts as past.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_at.as_deref().is_some_and(|at| time::parse_ms(at).is_none_or(|at| at <= now_ms))
    }

    /// The source of one of its streams.
    pub fn source_of<'a>(&'a self, stream: &'a GrantStream) -> &'a Source {
        stream.source.as_ref().unwrap_or(&self.source)
    }
}

impl GrantStream {
    /// Whether it has a last day. If so, it includes no field that reveals later days ([`Stream::gives`]).
    pub fn has_end(&self) -> bool {
        self.time_constraint.as_ref().is_some_and(|limit| limit.until.is_some())
    }

    /// In words: the fields of `declared`, which is this stream, that it includes, and the fields that it leaves
    /// out because they reveal later days than the record's own.
    pub fn in_words(&self, declared: &Stream) -> (String, Option<String>) {
        let joined = |names: Vec<&str>| names.join(", ").replace('_', " ");
        let given = self.fields.iter().map(String::as_str);
        let given = given.filter(|name| declared.gives(name, self.has_end())).collect();
        let beyond: Vec<&str> = declared.spanning().map(|field| field.name.as_str()).collect();
        let not_shown = format!("not shown, because it reveals later days: {}", joined(beyond.clone()));
        (joined(given), (self.has_end() && !beyond.is_empty()).then_some(not_shown))
    }

    /// The period in milliseconds. A bound that cannot be parsed allows nothing.
    pub fn period(&self) -> (Option<i64>, Option<i64>) {
        let Some(constraint) = &self.time_constraint else { return (None, None) };
        let bound = |text: &Option<String>, closed| {
            text.as_deref().map(|text| time::parse_ms(text).unwrap_or(closed))
        };
        (bound(&constraint.since, i64::MAX), bound(&constraint.until, i64::MIN))
    }
}
