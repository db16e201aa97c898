//! Made-up data: everything is made up, and the same seed always makes the same data.
//!
//! It belongs to Maren Solberg of Trondheim, who works for a map company, trains for a marathon and buys a flat.
//! Each connector has a file with what it declares and what it holds.

pub mod bank;
pub mod calendar;
pub mod chat;
pub mod coding;
pub mod mail;
pub mod music;
pub mod prose;
pub mod records;
pub mod rng;

use records::{Blob, Event, Records};
use rng::Rng;

use crate::vault::declaration::{BadField, Connector, StreamSpec};
use crate::vault::store::{Connection, Ingest};

/// One account of the made-up person.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    /// The connection's id.
    pub connection_id: &'static str,
    /// The connector's key.
    pub connector: &'static str,
    /// The name that its owner gave it.
    pub display_name: &'static str,
    /// Writes its records.
    pub fill: fn(&mut Rng, &mut Records<'_>),
}

/// The accounts, in the order they are shown.
pub const ACCOUNTS: [Account; 7] = [
    Account {
        connection_id: "cin_mail_personal",
        connector: "mail",
        display_name: "Personal mail",
        fill: mail::personal,
    },
    Account {
        connection_id: "cin_mail_work",
        connector: "mail",
        display_name: "Work mail",
        fill: mail::work,
    },
    Account {
        connection_id: "cin_chat_kestrel",
        connector: "chat",
        display_name: "Kestrel Maps chat",
        fill: chat::fill,
    },
    Account {
        connection_id: "cin_calendar_main",
        connector: "calendar",
        display_name: "Calendar",
        fill: calendar::fill,
    },
    Account { connection_id: "cin_music_main", connector: "music", display_name: "Music", fill: music::fill },
    Account {
        connection_id: "cin_coding_laptop",
        connector: "coding",
        display_name: "Coding assistant (laptop)",
        fill: coding::fill,
    },
    Account {
        connection_id: "cin_bank_fjord",
        connector: "bank",
        display_name: "Fjord Bank",
        fill: bank::fill,
    },
];

/// The URI that names the connector `key` in a grant.
pub fn source_uri(key: &str) -> String {
    format!("https://sandbox.pdpp.example/connectors/{key}")
}

/// The declarations of the six connectors.
///
/// # Errors
/// Returns the first field line that cannot be parsed; a test checks that all of them can.
pub fn connectors() -> Result<Vec<Connector>, BadField> {
    [
        ("mail", "Mail", mail::STREAMS),
        ("chat", "Chat", chat::STREAMS),
        ("calendar", "Calendar", calendar::STREAMS),
        ("music", "Music", music::STREAMS),
        ("coding", "Coding assistant", coding::STREAMS),
        ("bank", "Bank", bank::STREAMS),
    ]
    .into_iter()
    .map(|(key, name, streams): (&str, &str, &[StreamSpec])| {
        Ok(Connector {
            key: key.to_owned(),
            id: source_uri(key),
            name: name.to_owned(),
            streams: streams
                .iter()
                .map(|spec| spec.parse().map(std::sync::Arc::new))
                .collect::<Result<_, _>>()?,
        })
    })
    .collect()
}

/// Fills a new store with the data of `seed`.
///
/// # Errors
/// Returns the store's errors, or the error of a declaration that cannot be parsed.
pub fn fill(ingest: &mut Ingest<'_>, seed: u64) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    for connector in connectors()? {
        ingest.connector(&connector)?;
    }
    for account in ACCOUNTS {
        ingest.connection(&Connection {
            id: account.connection_id.to_owned(),
            connector: account.connector.to_owned(),
            display_name: account.display_name.to_owned(),
        })?;
        // The functions that write the data cannot fail. The first failure here is kept and returned afterwards.
        let (mut failed, mut blobs) = (None, Vec::new());
        {
            let mut event = |event: Event| {
                if failed.is_none() {
                    let at = event.emitted_ms;
                    failed = ingest.put(event.stream, &event.key, at, event.data.as_deref()).err();
                }
            };
            let mut blob = |blob: Blob| blobs.push(blob);
            let mut rng = Rng::new(seed, account.connection_id);
            (account.fill)(&mut rng, &mut Records::new(&mut event, &mut blob));
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
        for blob in blobs {
            ingest.blob(&blob.id, blob.media_type, &blob.bytes)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything(seed: u64) -> (Vec<(&'static str, Event)>, Vec<Blob>) {
        let (mut events, mut blobs) = (Vec::new(), Vec::new());
        for account in ACCOUNTS {
            let mut rng = Rng::new(seed, account.connection_id);
            let mut push = |event| events.push((account.connection_id, event));
            let mut keep = |blob| blobs.push(blob);
            (account.fill)(&mut rng, &mut Records::new(&mut push, &mut keep));
        }
        (events, blobs)
    }

    #[test]
    fn the_life_has_everything_that_it_should_show() {
        let connectors = connectors().unwrap();
        let (events, blobs) = everything(1);
        assert!(connectors.len() >= 6 && ACCOUNTS.len() >= 7);
        assert!(connectors.iter().map(|connector| connector.streams.len()).sum::<usize>() >= 25);
        let records = events
            .iter()
            .map(|(at, event)| (*at, event.stream, event.key.as_str()))
            .collect::<std::collections::BTreeSet<_>>();
        assert!(records.len() >= 20_000, "{}", records.len());
        assert!(blobs.len() >= 20);
        let data = || events.iter().filter_map(|(_, event)| event.data.as_deref());
        assert!(data().filter(|json| json.len() > 200_000).count() >= 4);
        for wanted in [":1.10,", "9007199254740993", ":null", "田中", "NEEDLE-"] {
            assert!(data().any(|json| json.contains(wanted)), "{wanted}");
        }
        for wanted in [':', '/', '%', '['] {
            assert!(events.iter().any(|(_, event)| event.key.contains(wanted)), "{wanted}");
        }
        assert!(events.iter().filter(|(_, event)| event.data.is_none()).count() >= 10);
        let shared =
            |account| move |(at, event): &(&str, Event)| *at == account && event.key == mail::SHARED_ID;
        assert!(events.iter().any(shared("cin_mail_personal")) && events.iter().any(shared("cin_mail_work")));
    }

    #[test]
    fn every_record_keeps_to_what_its_stream_declares() {
        let connectors = connectors().unwrap();
        for (connection, event) in everything(7).0 {
            let account = ACCOUNTS.iter().find(|account| account.connection_id == connection).unwrap();
            let connector = connectors.iter().find(|at| at.key == account.connector).unwrap();
            let stream = connector.stream(event.stream).unwrap();
            let Some(json) = event.data else { continue };
            let data: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&json).unwrap();
            for name in data.keys() {
                assert!(stream.field(name).is_some(), "{}.{name}", stream.name);
            }
            for field in &stream.fields {
                let value = data.get(&field.name).unwrap_or(&serde_json::Value::Null);
                assert!(!(field.required && value.is_null()), "{}.{}", stream.name, field.name);
                let fits = value.is_null()
                    || match field.kind.json_type() {
                        "string" => value.is_string(),
                        "integer" => value.as_number().is_some_and(|n| !n.as_str().contains(['.', 'e'])),
                        "number" => value.is_number(),
                        "boolean" => value.is_boolean(),
                        "array" => value.is_array(),
                        _ => value.is_object(),
                    };
                assert!(fits, "{}.{} is {value}", stream.name, field.name);
            }
            let parts: Vec<_> = stream.primary_key.iter().map(|name| data[name].as_str().unwrap()).collect();
            let key = if let [one] = parts[..] { one.to_owned() } else { records::list(&parts) };
            assert_eq!(key, event.key);
        }
    }

    #[test]
    fn declarations_refer_to_what_is_declared() {
        for connector in connectors().unwrap() {
            for stream in &connector.streams {
                let has = |name: &String| assert!(stream.field(name).is_some(), "{}.{name}", stream.name);
                stream.primary_key.iter().for_each(has);
                stream.cursor_field.iter().for_each(has);
                stream.views.iter().flat_map(|view| &view.fields).for_each(has);
                for relation in &stream.relations {
                    let target = connector.stream(&relation.stream).unwrap();
                    assert!(target.field(&relation.foreign_key).is_some_and(|field| field.exact));
                }
                // The cursor field orders every page, so every grant must include it.
                assert!(stream.cursor_field.iter().all(|name| stream.field(name).unwrap().required));
            }
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_life() {
        assert_eq!(everything(3).0, everything(3).0);
        assert_ne!(everything(3).0, everything(4).0);
    }
}
