//! The exports of a made-up person, as the services would give them: a folder to import.

mod chats;
pub mod days;
pub mod mail;
mod tables;

use std::path::{Path, PathBuf};

use super::person::{Box_, Person};

/// An export of one more service.
struct More {
    /// The beginnings of the names of the files to import.
    path: &'static str,
    write: fn(&Person, &Path),
    /// The number of its items.
    items: fn(&Person) -> u64,
}

/// The exports that are written.
const ON: &[More] = &[
    More {
        path: "WhatsApp Chat",
        write: days::whatsapp,
        items: |person| (person.days.choir.lines.len() + person.days.pair.lines.len()) as u64 + 2,
    },
    More {
        path: "telegram",
        write: days::telegram,
        items: |person| person.days.telegram.iter().map(|chat| chat.lines.len() as u64 + 1).sum(),
    },
    More {
        path: "slack",
        write: days::slack,
        items: |person| {
            let days = &person.days;
            (days.posts.len() + days.channels.len() + person.colleagues.len()) as u64
        },
    },
    More { path: "home.ics", write: days::calendar, items: |person| person.days.events.len() as u64 },
    More { path: "giro.csv", write: days::bank, items: |person| person.days.giro.len() as u64 },
    More { path: "card.ofx", write: |_, _| (), items: |person| person.days.card.len() as u64 },
    More {
        path: "spotify",
        write: |person, folder| days::spotify(&person.days, folder),
        items: |person| person.days.plays.len() as u64,
    },
    More {
        path: "Takeout",
        write: days::takeout,
        items: |person| (person.days.watched.len() + person.days.searched.len()) as u64,
    },
    More { path: "firefox", write: days::browser, items: |person| person.days.visits.len() as u64 },
    More {
        path: "vault",
        write: |person, folder| days::notes(&person.days, folder),
        items: |person| person.days.notes.len() as u64,
    },
    More {
        path: "apple_health_export",
        write: |person, folder| days::health(&person.days, folder),
        items: |person| (person.days.steps.len() + person.days.workouts.len()) as u64,
    },
];

/// Writes all of them below `folder`.
pub fn write(person: &Person, folder: &Path) {
    mail::write(person, folder);
    chats::write(person, folder);
    tables::write(person, folder);
    for more in ON {
        (more.write)(person, folder);
    }
}

fn file(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// The paths that a person would name for the import.
pub fn paths(folder: &Path) -> Vec<PathBuf> {
    let names = [
        "mail/private.mbox",
        "mail/club.mbox",
        "mail/work.mbox",
        "contacts.vcf",
        "chatgpt",
        "claude",
        "runs.csv",
        "books.jsonl",
    ];
    let mut all: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
    for more in ON {
        let found = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let is_its = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_str().unwrap().starts_with(more.path))
        };
        let mut found: Vec<PathBuf> = found.filter(is_its).collect();
        found.sort();
        all.extend(found);
    }
    all
}

/// The number of items in each export.
pub fn items(person: &Person) -> Vec<(&'static str, u64)> {
    let mails = |of: Box_| person.mails.iter().filter(|mail| mail.of == of).count() as u64;
    let mut all = vec![
        ("private.mbox", mails(Box_::Private)),
        ("club.mbox", mails(Box_::Club)),
        ("work.mbox", mails(Box_::Work)),
        ("contacts.vcf", (person.friends.len() + person.colleagues.len()) as u64 + 2),
        ("chatgpt", person.chatgpt.len() as u64),
        ("claude", (person.claude.len() + person.projects.len()) as u64),
        ("runs.csv", person.runs.len() as u64),
        ("books.jsonl", person.books.len() as u64),
    ];
    all.extend(ON.iter().map(|more| (more.path, (more.items)(person))));
    all
}
