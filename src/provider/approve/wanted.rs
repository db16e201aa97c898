//! What a request asks for: which source, how much of it, and for what purpose.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::provider::discovery::DATA_ACCESS;

/// The purpose if no other is given; the owner reads it on the approval page.
const PURPOSE_CODE: &str = "https://pdpp.dev/purpose/personal_ai_assistant";
const PURPOSE: &str =
    "An AI agent on the owner's own computer reads this data through the pdpp command line.";

const ONGOING: &str = "access: ongoing, until the end that the provider or you set";

/// One source to ask for, if a provider has several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRequest {
    /// The source's URI, as the provider lists it.
    pub id: String,
    /// Which of its configured instances; empty means that the provider may use the only one.
    #[serde(default)]
    pub instance_ids: Vec<String>,
}

/// One stream to ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamRequest {
    /// Its name.
    pub name: String,
    /// Only these fields, in addition to those that the stream requires; empty means all.
    pub fields: Vec<String>,
    /// Only from these configured instances; empty means those of the source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instance_ids: Vec<String>,
    /// Only records from here on, inclusive; `None` means the same as for all streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only records up to here, exclusive; `None` means the same as for all streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Everything that a request can state. The default asks for everything that the provider lets its owner give.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wanted {
    /// One source; `None` leaves that to the provider and the owner.
    pub source: Option<SourceRequest>,
    /// Only these streams; empty means all.
    pub streams: Vec<StreamRequest>,
    /// Only records from here on, inclusive.
    pub since: Option<Timestamp>,
    /// Only records up to here, exclusive.
    pub until: Option<Timestamp>,
    /// When the grant may end.
    pub expires: Option<Timestamp>,
    /// A purpose in words, or a purpose code (a URI).
    pub purpose: Option<String>,
}

/// The most fields of a stream that are named to a person, if there are few streams; more are counted.
const SHOWN_FIELDS: usize = 8;
/// The most streams whose fields are named.
const SHOWN_STREAMS: usize = 4;

impl StreamRequest {
    /// `messages (only id, subject, and required fields; from 2026-01-01T00:00:00Z on)`, or with the number of
    /// fields.
    fn summary(&self, with_fields: bool) -> String {
        let mut narrowed = Vec::new();
        match self.fields.as_slice() {
            [] => {}
            fields if with_fields && fields.len() <= SHOWN_FIELDS => {
                narrowed.push(format!("only {}, and required fields", fields.join(", ")));
            }
            [_] => narrowed.push("1 field".to_owned()),
            fields => narrowed.push(format!("{} fields", fields.len())),
        }
        narrowed.extend(self.since.map(|since| format!("from {since} on")));
        narrowed.extend(self.until.map(|until| format!("before {until}")));
        if narrowed.is_empty() {
            self.name.clone()
        } else {
            format!("{} ({})", self.name, narrowed.join("; "))
        }
    }
}

impl Wanted {
    /// What is asked for of the stream called `name`, if it is named.
    pub fn stream(&self, name: &str) -> Option<&StreamRequest> {
        self.streams.iter().find(|stream| stream.name == name)
    }

    /// Whether there is nothing that a request would have to carry.
    pub fn is_plain(&self) -> bool {
        self.source.is_none() && !self.is_narrowed()
    }

    /// Whether it asks for less than everything, or for another purpose.
    pub fn is_narrowed(&self) -> bool {
        !self.streams.is_empty()
            || self.since.is_some()
            || self.until.is_some()
            || self.expires.is_some()
            || self.purpose.is_some()
    }

    /// The purpose code, and its description.
    fn purpose(&self) -> (&str, Option<&str>) {
        match self.purpose.as_deref() {
            Some(code) if code.starts_with("https://") => (code, None),
            Some(words) => (PURPOSE_CODE, Some(words)),
            None => (PURPOSE_CODE, Some(PURPOSE)),
        }
    }

    /// The `authorization_details` for this. Without a source, they name the provider as a whole, which draft
    /// §6 identifies by its own `resource`.
    pub fn details(&self, resource: &str) -> Value {
        let (kind, id, instance_ids) = match &self.source {
            Some(source) => ("connector", source.id.as_str(), source.instance_ids.as_slice()),
            None => ("provider_native", resource, &[][..]),
        };
        let all = [StreamRequest { name: "*".to_owned(), ..StreamRequest::default() }];
        let asked = if self.streams.is_empty() { &all[..] } else { &self.streams };
        let streams: Vec<Value> = asked
            .iter()
            .map(|stream| {
                let mut asked = json!({"name": stream.name});
                if !stream.fields.is_empty() {
                    asked["fields"] = json!(stream.fields);
                }
                let of_stream = stream.instance_ids.as_slice();
                let instance_ids = if of_stream.is_empty() { instance_ids } else { of_stream };
                if !instance_ids.is_empty() {
                    asked["instance_ids"] = json!(instance_ids);
                }
                let bounds = [("since", stream.since.or(self.since)), ("until", stream.until.or(self.until))];
                for (name, bound) in bounds {
                    if let Some(bound) = bound {
                        asked["time_range"][name] = json!(bound.to_string());
                    }
                }
                asked
            })
            .collect();
        let (code, description) = self.purpose();
        let mut details = json!({
            "type": DATA_ACCESS,
            "source": {"kind": kind, "id": id},
            "purpose_code": code,
            "access_mode": "continuous",
            "streams": streams,
        });
        if let Some(description) = description {
            details["purpose_description"] = json!(description);
        }
        if let Some(expires) = self.expires {
            // Version 0.1 of the draft does not have this, because there the owner picks the end. A provider
            // that does not know it refuses it, or gives another end, and both are reported.
            details["expires_at"] = json!(expires.to_string());
        }
        json!([details])
    }

    /// The parameters for this in a request without `authorization_details`, if the provider `takes_purpose`
    /// there.
    pub fn parameters(&self, takes_purpose: bool) -> Vec<(&'static str, &str)> {
        let (code, description) = self.purpose();
        let said = [Some(("purpose_code", code)), description.map(|text| ("purpose_description", text))];
        said.into_iter().flatten().filter(|_| takes_purpose).collect()
    }

    /// A summary of such a request for a person.
    pub fn unsent_summary(&self, takes_purpose: bool) -> Vec<String> {
        let (code, description) = self.purpose();
        vec![
            "streams: the ones you pick on that page".to_owned(),
            ONGOING.to_owned(),
            if takes_purpose {
                format!("purpose: {}", description.unwrap_or(code))
            } else {
                "purpose: none is sent (use --purpose to state one)".to_owned()
            },
        ]
    }

    /// What is sent, for a person, one line each.
    pub fn summary(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(source) = &self.source {
            let of = if source.instance_ids.is_empty() {
                String::new()
            } else {
                format!(", instance {}", source.instance_ids.join(", "))
            };
            lines.push(format!("source: {}{of}", source.id));
        }
        let streams: Vec<String> =
            self.streams.iter().map(|stream| stream.summary(self.streams.len() <= SHOWN_STREAMS)).collect();
        lines.push(match streams.as_slice() {
            [] if self.source.is_some() => "streams: all that the source has".to_owned(),
            [] => "streams: all that the provider has".to_owned(),
            streams => format!("streams: {}", streams.join("; ")),
        });
        // With a source, they are already named above.
        let instances: BTreeSet<&str> =
            self.streams.iter().flat_map(|stream| &stream.instance_ids).map(String::as_str).collect();
        if self.source.is_none() && !instances.is_empty() {
            lines.push(format!("from: {}", instances.into_iter().collect::<Vec<_>>().join(", ")));
        }
        if let Some(since) = self.since {
            lines.push(format!("records: from {since} on"));
        }
        if let Some(until) = self.until {
            lines.push(format!("records: before {until}"));
        }
        lines.push(match self.expires {
            Some(expires) => format!("access: ongoing, until {expires}"),
            None => ONGOING.to_owned(),
        });
        let (code, description) = self.purpose();
        lines.push(format!("purpose: {}", description.unwrap_or(code)));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_asked_for_only_when_named() {
        let id = "https://registry.example/diary".to_owned();
        let mut wanted =
            Wanted { source: Some(SourceRequest { id, instance_ids: Vec::new() }), ..Wanted::default() };
        let asked = wanted.details("https://rs.example");
        assert_eq!(asked[0]["streams"], json!([{"name": "*"}]));
        assert_eq!(asked[0]["source"], json!({"kind": "connector", "id": "https://registry.example/diary"}));
        assert_eq!(asked[0]["access_mode"], "continuous");
        if let Some(source) = &mut wanted.source {
            source.instance_ids = vec!["i1".to_owned(), "i2".to_owned()];
        }
        let asked = wanted.details("https://rs.example");
        assert_eq!(asked[0]["streams"], json!([{"name": "*", "instance_ids": ["i1", "i2"]}]));
    }

    #[test]
    fn what_is_narrowed_is_sent_and_told() {
        let at = |text: &str| text.parse::<Timestamp>().ok();
        let wanted = Wanted {
            streams: vec![
                StreamRequest {
                    name: "a".to_owned(),
                    fields: vec!["x".to_owned()],
                    ..StreamRequest::default()
                },
                StreamRequest { name: "b".to_owned(), ..StreamRequest::default() },
            ],
            since: at("2026-01-01T00:00:00Z"),
            expires: at("2027-01-01T00:00:00Z"),
            purpose: Some("Plan a trip".to_owned()),
            ..Wanted::default()
        };
        let asked = wanted.details("https://rs.example/me");
        assert_eq!(asked[0]["source"], json!({"kind": "provider_native", "id": "https://rs.example/me"}));
        assert_eq!(
            asked[0]["streams"],
            json!([
                {"name": "a", "fields": ["x"], "time_range": {"since": "2026-01-01T00:00:00Z"}},
                {"name": "b", "time_range": {"since": "2026-01-01T00:00:00Z"}},
            ])
        );
        assert_eq!(asked[0]["expires_at"], "2027-01-01T00:00:00Z");
        assert_eq!(asked[0]["purpose_description"], "Plan a trip");
        let summary = wanted.summary().join("\n");
        for part in [
            "a (only x, and required fields); b",
            "from 2026-01-01T00:00:00Z on",
            "until 2027-01-01",
            "Plan a trip",
        ] {
            assert!(summary.contains(part), "{part} in {summary}");
        }
        let code = Wanted { purpose: Some("https://pdpp.dev/purpose/x".to_owned()), ..Wanted::default() };
        assert_eq!(code.details("r")[0]["purpose_code"], "https://pdpp.dev/purpose/x");
        assert!(code.details("r")[0].get("purpose_description").is_none());
        assert!(Wanted::default().is_plain() && !code.is_plain());
    }
}
