//! Declarations of imported streams, in one line each: a field is `name:class`, with `!` where every record has it.
//!
//! A class is a letter that says what a field is and what may be asked of it; `CLASSES` has them all.

use std::sync::Arc;

use crate::vault::declaration::{BadField, Connector, Field, Relation, Stream};

/// What upstream's connectors are called.
const REGISTRY: &str = "https://registry.pdpp.dev/connectors/";
/// What those are called that only this program has: the domain leads nowhere (RFC 2606).
const LOCAL: &str = "https://local.pdpp.invalid/connectors/";

/// A class, and its field in the words of [`crate::vault::declaration`], without its name.
const CLASSES: [(char, &str); 19] = [
    ('k', "string eq"),
    ('s', "string lex eq group distinct"),
    ('h', "text role=primary-title lex"),
    ('x', "text lex"),
    ('T', "timestamp role=event-time eq range time min max"),
    ('d', "date role=event-time eq range time min max"),
    ('q', "number eq range min max"),
    ('a', "array"),
    ('g', "string eq group distinct"),
    ('n', "person role=actor lex eq group distinct"),
    ('b', "text role=secondary lex"),
    ('f', "boolean eq group"),
    ('t', "timestamp eq range time min max"),
    ('i', "integer eq range sum min max"),
    ('m', "number eq range sum min max"),
    ('u', "string eq role=source-link"),
    ('r', "blob role=blob-reference"),
    ('o', "object"),
    ('j', "text"),
];

/// Whose names a connector's streams and fields have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    /// Upstream's.
    Upstream,
    /// This program's own.
    Local,
}

/// A stream, as it is written down.
#[derive(Debug, Clone, Copy)]
pub struct StreamLine {
    /// Its name.
    pub name: &'static str,
    /// The fields of its key, separated by spaces.
    pub key: &'static str,
    /// The field that records are sorted by, and the one that a grant's time is about: `received_at`, or
    /// `update_time/create_time`; empty where it has none, `updated_at/-` where a grant's time means nothing.
    pub time: &'static str,
    /// Its fields: `thread_id:k! subject:h`.
    pub fields: &'static str,
    /// Records of other streams that belong to one of this: `name stream foreign_key many|one`, separated by commas.
    pub relations: &'static str,
}

/// The connector `key`, called `title`.
///
/// # Errors
/// A field that does not read; each format has a test that there is none.
pub fn connector(
    registry: Registry,
    key: &str,
    title: &str,
    streams: &[StreamLine],
) -> Result<Arc<Connector>, BadField> {
    Ok(Arc::new(Connector {
        key: key.to_owned(),
        id: uri(registry, key),
        name: title.to_owned(),
        streams: streams.iter().map(|line| stream(line).map(Arc::new)).collect::<Result<_, _>>()?,
    }))
}

/// What the connector `key` is called everywhere.
pub fn uri(registry: Registry, key: &str) -> String {
    let base = match registry {
        Registry::Upstream => REGISTRY,
        Registry::Local => LOCAL,
    };
    format!("{base}{key}")
}

fn stream(line: &StreamLine) -> Result<Stream, BadField> {
    let (cursor, consent) = line.time.split_once('/').unwrap_or((line.time, line.time));
    let known = |name: &str| (!name.is_empty() && name != "-").then(|| name.to_owned());
    Ok(Stream {
        name: line.name.to_owned(),
        primary_key: line.key.split_whitespace().map(str::to_owned).collect(),
        cursor_field: known(cursor),
        consent_time_field: known(consent),
        fields: line.fields.split_whitespace().map(field).collect::<Result<_, _>>()?,
        views: Vec::new(),
        relations: line.relations.split(',').filter_map(relation).collect(),
    })
}

/// The field that `name:class` stands for.
///
/// # Errors
/// A class that there is not.
pub fn field(text: &str) -> Result<Field, BadField> {
    let (name, class) = text.split_once(':').unwrap_or((text, ""));
    let (class, mark) = class.strip_suffix('!').map_or((class, "?"), |class| (class, "!"));
    let known = CLASSES.iter().find(|(letter, _)| class.chars().eq([*letter]));
    let (kind, flags) = known.map_or(("", ""), |(_, line)| line.split_once(' ').unwrap_or((line, "")));
    format!("{name} {kind}{mark} {flags}").parse()
}

fn relation(text: &str) -> Option<Relation> {
    let mut words = text.split_whitespace().map(str::to_owned);
    Some(Relation {
        name: words.next()?,
        stream: words.next()?,
        foreign_key: words.next()?,
        many: words.next().as_deref() != Some("one"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::declaration::Kind;

    #[test]
    fn every_class_reads() {
        for (class, _) in CLASSES {
            let required = field(&format!("x:{class}!")).unwrap();
            let nullable = field(&format!("x:{class}")).unwrap();
            assert!(required.required && !required.nullable && nullable.nullable && !nullable.required);
            assert_eq!(required.kind, nullable.kind);
        }
        for wrong in ["x", "x:", "x:Z", "x:kk", ":k"] {
            assert!(field(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_line_declares_a_stream() {
        let declared = connector(
            Registry::Local,
            "mail",
            "Mail",
            &[StreamLine {
                name: "messages",
                key: "id",
                time: "received_at/-",
                fields: "id:k! subject:h received_at:T!",
                relations: "attachments attachments message_id many",
            }],
        )
        .unwrap();
        assert_eq!(declared.id, "https://local.pdpp.invalid/connectors/mail");
        let stream = &declared.streams[0];
        assert_eq!(stream.cursor_field.as_deref(), Some("received_at"));
        assert_eq!(stream.consent_time_field, None);
        assert_eq!(stream.field("subject").unwrap().kind, Kind::Text);
        assert_eq!(stream.relations[0].foreign_key, "message_id");
    }
}
