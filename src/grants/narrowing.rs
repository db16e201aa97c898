//! What a request asks for, from the options that the person typed.

use jiff::Timestamp;
use url::Url;

use crate::error::{Error, Kind, Result};
use crate::provider::approve::wanted::{SourceRequest, StreamRequest, Wanted};
use crate::text;

/// The options that ask for less than everything; the owner can always grant less.
#[derive(Debug, Clone, Default)]
pub struct Narrowing {
    /// The URI of one source, if the provider has several.
    pub source: Option<String>,
    /// Configured instances of the source.
    pub instance: Vec<String>,
    /// Names of streams.
    pub stream: Vec<String>,
    /// Fields: `STREAM.FIELD`.
    pub field: Vec<String>,
    /// The first day or time of the records.
    pub since: Option<String>,
    /// The day or time before which the records end.
    pub until: Option<String>,
    /// When the access ends: a day, a time or a span.
    pub expires: Option<String>,
    /// What the data is for: words, or a purpose code.
    pub purpose: Option<String>,
}

/// The most streams, and fields of one stream: a person reads the request.
const MAX_STREAMS: usize = 500;
/// The most bytes of a name, an instance or a purpose.
const MAX_TEXT: usize = 500;

impl Narrowing {
    /// The request that these options make at `now`.
    ///
    /// # Errors
    /// `source_invalid`, `narrowing_invalid` (2).
    pub fn wanted(&self, now: Timestamp) -> Result<Wanted> {
        let source = self.source.as_deref().map(|id| source(id, &self.instance)).transpose()?;
        let mut streams: Vec<StreamRequest> = Vec::new();
        for name in &self.stream {
            stream(&mut streams, name)?;
        }
        for field in &self.field {
            let (name, field) = field
                .rsplit_once('.')
                .filter(|(name, field)| !name.is_empty() && !field.is_empty())
                .ok_or_else(|| {
                    invalid(
                        format!("--field {field:?} does not name a stream"),
                        "Write it as --field messages.subject",
                    )
                })?;
            checked("--field", field)?;
            let of = stream(&mut streams, name)?;
            if !of.fields.iter().any(|known| known == field) {
                of.fields.push(field.to_owned());
            }
        }
        if streams.len() > MAX_STREAMS || streams.iter().any(|stream| stream.fields.len() > MAX_STREAMS) {
            return Err(invalid(
                "The request names too many streams or fields".to_owned(),
                "Leave --stream out to ask for all of them",
            ));
        }
        let since = self.since.as_deref().map(|text| time("--since", text)).transpose()?;
        let until = self.until.as_deref().map(|text| time("--until", text)).transpose()?;
        if let (Some(since), Some(until)) = (since, until)
            && since >= until
        {
            return Err(invalid(
                "--since is not before --until, so no record matches".to_owned(),
                "Swap the two",
            ));
        }
        let expires = self.expires.as_deref().map(|text| end(text, now)).transpose()?;
        if let Some(purpose) = &self.purpose {
            checked("--purpose", purpose)?;
            if purpose.starts_with("https://") && Url::parse(purpose).is_err() {
                return Err(invalid(
                    format!("--purpose {purpose:?} is not a URI"),
                    "Describe the purpose in words instead",
                ));
            }
        }
        Ok(Wanted { source, streams, since, until, expires, purpose: self.purpose.clone() })
    }
}

/// The request for one source.
///
/// # Errors
/// `source_invalid` if `id` is not a URI.
pub fn source(id: &str, instances: &[String]) -> Result<SourceRequest> {
    // Only checked: the provider compares it as text, so it is sent as typed.
    Url::parse(id).map_err(|_| {
        Error::new(Kind::Usage, "source_invalid", format!("{id:?} is not a source's URI"))
            .hint("Use the whole URI, such as https://registry.pdpp.dev/connectors/slack")
    })?;
    for instance in instances {
        checked("--instance", instance)?;
    }
    Ok(SourceRequest { id: id.to_owned(), instance_ids: instances.to_vec() })
}

fn stream<'a>(streams: &'a mut Vec<StreamRequest>, name: &str) -> Result<&'a mut StreamRequest> {
    checked("--stream", name)?;
    let at = streams.iter().position(|known| known.name == name).unwrap_or_else(|| {
        streams.push(StreamRequest { name: name.to_owned(), ..StreamRequest::default() });
        streams.len() - 1
    });
    Ok(&mut streams[at])
}

fn checked(option: &str, text: &str) -> Result<()> {
    let is_fine = !text.trim().is_empty() && text.len() <= MAX_TEXT && !text::has_hidden(text);
    // On the wire, `*` stands for all streams.
    if is_fine && text != "*" {
        return Ok(());
    }
    Err(invalid(
        format!("{option} must have 1 to {MAX_TEXT} bytes, without hidden characters"),
        match option {
            "--purpose" => "Describe it in fewer, plain words",
            _ => "Leave it out to ask for all",
        },
    ))
}

fn invalid(what: String, hint: &'static str) -> Error {
    Error::new(Kind::Usage, "narrowing_invalid", what).hint(hint)
}

/// A day at midnight UTC, or an instant.
fn instant(text: &str) -> Option<Timestamp> {
    let day = || {
        let date: jiff::civil::Date = text.parse().ok().filter(|_| text.len() == 10)?;
        Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    };
    text.parse().ok().or_else(day)
}

fn time(option: &str, text: &str) -> Result<Timestamp> {
    instant(text).ok_or_else(|| {
        invalid(format!("{option} {text:?} is not a time"), "Write it as 2026-01-31 or 2026-01-31T12:00:00Z")
    })
}

/// A future time: a time as for [`time`], or a number of hours, days or weeks from `now`.
fn end(text: &str, now: Timestamp) -> Result<Timestamp> {
    let unit = match text.as_bytes().last() {
        Some(b'h') => Some(3_600),
        Some(b'd') => Some(86_400),
        Some(b'w') => Some(7 * 86_400),
        _ => None,
    };
    let span = || {
        let count: i64 = text[..text.len() - 1].parse().ok().filter(|count| *count > 0)?;
        // Rounded to whole seconds, because a person reads it.
        let second = now.as_second().checked_add(count.checked_mul(unit?)?)?;
        Timestamp::from_second(second).ok()
    };
    let end = match unit.and_then(|_| span()) {
        Some(end) => end,
        None => instant(text).ok_or_else(|| {
            invalid(
                format!("--expires {text:?} is neither a time nor a time span"),
                "Write it as 30d, 12h, 2w, 2027-01-31 or 2027-01-31T12:00:00Z",
            )
        })?,
    };
    if end <= now {
        return Err(invalid(
            format!("--expires {text} is in the past"),
            "Use a time in the future, such as 30d",
        ));
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn now() -> Timestamp {
        "2026-06-01T00:00:00Z".parse().unwrap()
    }

    fn code(args: &Narrowing) -> String {
        args.wanted(now()).map_or_else(|error| error.code().to_owned(), |_| "ok".to_owned())
    }

    #[test]
    fn arguments_become_a_request() {
        let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect();
        let args = Narrowing {
            stream: texts(&["messages", "threads"]),
            field: texts(&["messages.subject", "messages.id", "v1.events.title", "messages.id"]),
            since: Some("2026-01-31".to_owned()),
            until: Some("2026-02-01T10:00:00+02:00".to_owned()),
            expires: Some("30d".to_owned()),
            ..Narrowing::default()
        };
        let wanted = args.wanted(now()).unwrap();
        let streams: Vec<_> =
            wanted.streams.iter().map(|stream| (stream.name.as_str(), stream.fields.join(" "))).collect();
        assert_eq!(
            streams,
            [
                ("messages", "subject id".to_owned()),
                ("threads", String::new()),
                ("v1.events", "title".to_owned())
            ]
        );
        assert_eq!(wanted.since.unwrap().to_string(), "2026-01-31T00:00:00Z");
        assert_eq!(wanted.until.unwrap().to_string(), "2026-02-01T08:00:00Z");
        assert_eq!(wanted.expires.unwrap().to_string(), "2026-07-01T00:00:00Z");
        assert!(Narrowing::default().wanted(now()).unwrap().is_plain());
    }

    #[test]
    fn wrong_arguments_are_typed() {
        let with = |edit: fn(&mut Narrowing)| {
            let mut args = Narrowing::default();
            edit(&mut args);
            code(&args)
        };
        assert_eq!(with(|args| args.source = Some("slack".to_owned())), "source_invalid");
        for edit in [
            (|args: &mut Narrowing| args.field = vec!["subject".to_owned()]) as fn(&mut Narrowing),
            |args| args.field = vec![".subject".to_owned()],
            |args| args.stream = vec![String::new()],
            |args| args.stream = vec!["*".to_owned()],
            |args| args.stream = vec!["a\u{1b}[0m".to_owned()],
            |args| args.since = Some("yesterday".to_owned()),
            |args| args.until = Some("20260101".to_owned()),
            |args| (args.since, args.until) = (Some("2026-02-01".to_owned()), Some("2026-01-01".to_owned())),
            |args| args.expires = Some("2026-05-31".to_owned()),
            |args| args.expires = Some("0d".to_owned()),
            |args| args.expires = Some("99999999999999999w".to_owned()),
            |args| args.purpose = Some(" ".to_owned()),
            |args| args.purpose = Some("https://".to_owned()),
        ] {
            assert_eq!(with(edit), "narrowing_invalid");
        }
        assert_eq!(with(|args| args.expires = Some("12h".to_owned())), "ok");
        let wrong =
            Narrowing { expires: Some("30x".to_owned()), ..Narrowing::default() }.wanted(now()).unwrap_err();
        let hint = wrong.next_step().unwrap();
        let hint = hint.trim_start_matches("Write it as ").replace(" or ", ", ");
        assert_eq!(hint.split(", ").count(), 5);
        for example in hint.split(", ") {
            assert!(end(example, now()).is_ok(), "the hint must be valid: {example}");
        }
    }

    proptest! {
        #[test]
        fn no_argument_panics(text in any::<String>()) {
            let args = Narrowing { field: vec![text.clone()], since: Some(text.clone()), expires: Some(text.clone()),
                purpose: Some(text), ..Narrowing::default() };
            let _ = args.wanted(now());
        }
    }
}
