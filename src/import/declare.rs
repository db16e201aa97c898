//! Declares imported streams in one line each: a field is `name:class`, with `!` if every record has it,
//! `*` if it reveals days later than the record's own ([`Field::spans`]), or `=stream` if it is a copy of the field
//! of that stream ([`Field::copy_of`]).
//!
//! A class is a letter that stands for the kind of a field and for the queries that it allows; `CLASSES`
//! has them all.

use std::sync::Arc;

use crate::vault::declaration::{BadField, Connector, Field, Relation, Stream};

/// The prefix of upstream's connectors.
const REGISTRY: &str = "https://registry.pdpp.dev/connectors/";
/// The prefix of connectors that only this program has: the domain leads nowhere (RFC 2606).
const LOCAL: &str = "https://local.pdpp.invalid/connectors/";

/// A class, and its field in the syntax of [`crate::vault::declaration`], without its name.
const CLASSES: [(char, &str); 20] = [
    ('k', "string eq"),
    ('s', "string lex eq group distinct"),
    ('h', "text role=primary-title lex"),
    ('l', "string role=primary-title lex eq group distinct"),
    ('x', "text lex"),
    ('T', "timestamp role=event-time eq range sort time min max"),
    ('d', "date role=event-time eq range sort time min max"),
    ('q', "number eq range min max"),
    ('a', "array"),
    ('g', "string eq group distinct"),
    ('n', "person role=actor lex eq group distinct sort"),
    ('b', "text role=secondary lex"),
    ('f', "boolean eq group"),
    ('t', "timestamp eq range time min max"),
    ('i', "integer eq range sort sum min max"),
    ('m', "number eq range sort sum min max"),
    ('u', "string eq role=source-link"),
    ('r', "blob role=blob-reference"),
    ('o', "object"),
    ('j', "text"),
];

/// Whose names a connector's streams and fields use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    /// Upstream's.
    Upstream,
    /// This program's own.
    Local,
}

/// A stream, as it is written in the source code.
#[derive(Debug, Clone, Copy)]
pub struct StreamLine {
    /// Its name.
    pub name: &'static str,
    /// The fields of its key, separated by spaces.
    pub key: &'static str,
    /// The field that records are sorted by, and the one that a grant's time refers to: `received_at`, or
    /// `update_time/create_time`; empty if it has none, `updated_at/-` if a grant's time does not apply.
    pub time: &'static str,
    /// Its fields: `thread_id:k! subject:h`.
    pub fields: &'static str,
    /// Records of other streams that belong to one of this: `name stream foreign_key many|one`, separated
    /// by commas. The inverse is declared automatically.
    pub relations: &'static str,
}

/// The fixed declaration of a format: the streams of a connector.
#[derive(Debug, Clone, Copy)]
pub struct Declared {
    /// Whose names they use.
    pub registry: Registry,
    /// The connector's key.
    pub key: &'static str,
    /// Its streams.
    pub streams: &'static [StreamLine],
}

impl Declared {
    /// Marks the fields of `connector` that reveal later days, if it is this one. A store keeps the
    /// declarations from its last import, which may be older than these marks.
    pub fn renew(&self, connector: &mut Connector) {
        if connector.id != uri(self.registry, self.key) {
            return;
        }
        for line in self.streams {
            let Some(stream) = connector.streams.iter_mut().find(|stream| stream.name == line.name) else {
                continue;
            };
            for declared in line.fields.split_whitespace().filter_map(|text| field(text).ok()) {
                let known = Arc::make_mut(stream).fields.iter_mut();
                for known in known.filter(|known| known.name == declared.name) {
                    known.spans |= declared.spans;
                    known.copy_of = known.copy_of.take().or_else(|| declared.copy_of.clone());
                }
            }
        }
    }
}

/// The connector `key`, called `title`.
///
/// # Errors
/// If a field is invalid; each format has a test that none is.
pub fn connector(
    registry: Registry,
    key: &str,
    title: &str,
    streams: &[StreamLine],
) -> Result<Arc<Connector>, BadField> {
    let mut streams = streams.iter().map(stream).collect::<Result<Vec<_>, _>>()?;
    add_parents(&mut streams);
    Ok(Arc::new(Connector {
        key: key.to_owned(),
        id: uri(registry, key),
        name: title.to_owned(),
        streams: streams.into_iter().map(Arc::new).collect(),
    }))
}

/// Declares relations in both directions: a record that belongs to another one has that as its `parent`;
/// if it belongs to records of several streams, each is also named after its stream.
fn add_parents(streams: &mut [Stream]) {
    let mut parents: Vec<(String, String, String, String)> = Vec::new();
    for stream in streams.iter() {
        // A key of several fields is not the value of one.
        let [key] = stream.primary_key.as_slice() else { continue };
        for relation in stream.relations.iter().filter(|relation| relation.local_key.is_none()) {
            parents.push((
                relation.stream.clone(),
                stream.name.clone(),
                key.clone(),
                relation.foreign_key.clone(),
            ));
        }
    }
    for stream in streams {
        let of: Vec<_> = parents.iter().filter(|(child, ..)| *child == stream.name).collect();
        for (_, parent, key, local_key) in &of {
            let name = if of.len() == 1 {
                Relation::PARENT.to_owned()
            } else {
                format!("{}_{parent}", Relation::PARENT)
            };
            if stream.field(local_key).is_none() || stream.relations.iter().any(|known| known.name == name) {
                continue;
            }
            stream.relations.push(Relation {
                name,
                stream: parent.clone(),
                foreign_key: key.clone(),
                many: false,
                local_key: Some(local_key.clone()),
            });
        }
    }
}

/// The URI of the connector `key`.
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
        is_extended: true,
    })
}

/// The field for `name:class`, with its mark.
///
/// # Errors
/// If the class does not exist.
pub fn field(text: &str) -> Result<Field, BadField> {
    let (name, class) = text.split_once(':').unwrap_or((text, ""));
    let (class, copy) = class
        .split_once('=')
        .map_or((class, String::new()), |(class, stream)| (class, format!(" copy={stream}")));
    let (class, spans) = class.strip_suffix('*').map_or((class, ""), |class| (class, " spans"));
    let (class, mark) = class.strip_suffix('!').map_or((class, "?"), |class| (class, "!"));
    let known = CLASSES.iter().find(|(letter, _)| class.chars().eq([*letter]));
    let (kind, flags) = known.map_or(("", ""), |(_, line)| line.split_once(' ').unwrap_or((line, "")));
    format!("{name} {kind}{mark} {flags}{spans}{copy}").parse()
}

fn relation(text: &str) -> Option<Relation> {
    let mut words = text.split_whitespace().map(str::to_owned);
    Some(Relation {
        name: words.next()?,
        stream: words.next()?,
        foreign_key: words.next()?,
        many: words.next().as_deref() != Some("one"),
        local_key: None,
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
        assert!(field("x:a*").unwrap().spans && !field("x:a").unwrap().spans);
        assert_eq!(field("x:a=y").unwrap().copy_of.as_deref(), Some("y"));
        for wrong in ["x", "x:", "x:Z", "x:kk", ":k", "x:a!*", "x:a*!", "x:*", "x:=y", "x:a!=y"] {
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

    #[test]
    fn what_was_declared_before_learns_which_fields_tell_of_later_days() {
        let lines = |fields| [StreamLine { name: "chats", key: "id", time: "", fields, relations: "" }];
        let of = |key, fields| connector(Registry::Local, key, "Chat", &lines(fields)).unwrap();
        let now = Declared {
            registry: Registry::Local,
            key: "chat",
            streams: &[
                StreamLine {
                    name: "chats",
                    key: "id",
                    time: "",
                    fields: "id:k! people:a* last:T*",
                    relations: "",
                },
                StreamLine { name: "messages", key: "id", time: "", fields: "id:k! seen:t*", relations: "" },
            ],
        };
        let renewed = |mut known: Arc<Connector>| {
            now.renew(Arc::make_mut(&mut known));
            known
        };
        // Its other properties stay, and so do those of another connector.
        assert_eq!(renewed(of("chat", "id:k! people:a last:g")), of("chat", "id:k! people:a* last:g*"));
        assert_eq!(renewed(of("other", "id:k! people:a")), of("other", "id:k! people:a"));
        assert_eq!(renewed(of("chat", "id:k! x:a*")), of("chat", "id:k! x:a*"));
    }

    /// Requirement O6.5.
    #[test]
    fn o6_5_the_way_back_is_declared_by_itself() {
        let line = |name, fields, relations| StreamLine { name, key: "id", time: "", fields, relations };
        let declared = connector(
            Registry::Local,
            "chat",
            "Chat",
            &[
                line("chats", "id:k! title:h", "messages messages chat_id many"),
                line("messages", "id:k! chat_id:k!", "files files message_id many"),
                line("people", "id:k! name:h", "files files person_id many, gone gone person_id one"),
                line("files", "id:k! message_id:k! person_id:k", ""),
                line("gone", "id:k!", ""),
            ],
        )
        .unwrap();
        let parents = |stream: &str| {
            let relations = &declared.stream(stream).unwrap().relations;
            let parents = relations.iter().filter_map(|relation| {
                let local_key = relation.local_key.as_deref()?;
                assert!(!relation.many && relation.foreign_key == "id");
                Some((relation.name.as_str(), relation.stream.as_str(), local_key))
            });
            parents.map(|(name, stream, key)| format!("{name} {stream} {key}")).collect::<Vec<_>>()
        };
        assert_eq!(parents("messages"), ["parent chats chat_id"]);
        assert_eq!(
            parents("files"),
            ["parent_messages messages message_id", "parent_people people person_id"]
        );
        assert!(
            parents("chats").is_empty() && parents("gone").is_empty(),
            "a field that does not exist leads nowhere"
        );
    }
}
