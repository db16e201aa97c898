//! The exports of a made-up life, as the services would give them: a folder to import.

mod chats;
pub mod mail;
mod tables;

use std::path::{Path, PathBuf};

use super::person::{Box_, Person};

/// Writes all of it below `folder`.
pub fn write(person: &Person, folder: &Path) {
    mail::write(person, folder);
    chats::write(person, folder);
    tables::write(person, folder);
}

fn file(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// What a person would name to have it imported.
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
    names.iter().map(|name| folder.join(name)).collect()
}

/// How many items each export has.
pub fn items(person: &Person) -> Vec<(&'static str, u64)> {
    let mails = |of: Box_| person.mails.iter().filter(|mail| mail.of == of).count() as u64;
    vec![
        ("private.mbox", mails(Box_::Private)),
        ("club.mbox", mails(Box_::Club)),
        ("work.mbox", mails(Box_::Work)),
        ("contacts.vcf", (person.friends.len() + person.colleagues.len()) as u64 + 2),
        ("chatgpt", person.chatgpt.len() as u64),
        ("claude", (person.claude.len() + person.projects.len()) as u64),
        ("runs.csv", person.runs.len() as u64),
        ("books.jsonl", person.books.len() as u64),
    ]
}
