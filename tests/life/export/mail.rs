//! Mailboxes and contacts.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::person::{Box_, Human, Mail, Person, stamp};
use super::file;

pub fn write(person: &Person, folder: &Path) {
    for (of, name) in
        [(Box_::Private, "mail/private.mbox"), (Box_::Club, "mail/club.mbox"), (Box_::Work, "mail/work.mbox")]
    {
        let mails = person.mails.iter().filter(|mail| mail.of == of);
        let text: String = mails.enumerate().map(|(n, mail)| message(person, n, mail)).collect();
        file(folder, name, text);
    }
    let mut cards: Vec<&Human> = person.friends.iter().chain(&person.colleagues).collect();
    cards.extend([&person.landlord, &person.plumber]);
    file(folder, "contacts.vcf", cards.iter().map(|human| card(human)).collect::<String>());
}

/// Whose mailbox it is.
pub fn owner(person: &Person, of: Box_) -> String {
    match of {
        Box_::Private => person.me.email.clone(),
        Box_::Club => format!("{}@rowing.example", person.me.given.to_lowercase()),
        Box_::Work => format!("{}@office.example", person.me.given.to_lowercase()),
    }
}

fn word(text: &str) -> String {
    if text.is_ascii() { text.to_owned() } else { format!("=?UTF-8?B?{}?=", STANDARD.encode(text)) }
}

fn message(person: &Person, n: usize, mail: &Mail) -> String {
    let at = stamp(mail.at);
    let owner = owner(person, mail.of);
    let mut out = format!("From {} {}\n", mail.from_email, at.strftime("%a %b %d %H:%M:%S +0000 %Y"));
    if mail.of == Box_::Work {
        out += &format!("X-GM-THRID: {}\nX-Gmail-Labels: {}\n", 1_700_000 + n, mail.labels.join(","));
    }
    out += &format!(
        "Delivered-To: {owner}\nMessage-ID: <{n}.{}@life.example>\nDate: {}\nFrom: {} <{}>\nTo: {owner}\nSubject: {}\n",
        mail.of as u8,
        at.strftime("%a, %d %b %Y %H:%M:%S +0000"),
        word(&mail.from_name),
        mail.from_email,
        word(&mail.subject)
    );
    if let Some(list) = mail.list {
        out += &format!("List-ID: <{list}>\n");
    }
    if mail.subject.starts_with("Re: ") {
        let first = person
            .mails
            .iter()
            .filter(|other| other.of == mail.of)
            .position(|other| other.thread == mail.thread);
        let first = format!("<{}.{}@life.example>", first.unwrap(), mail.of as u8);
        out += &format!("In-Reply-To: {first}\nReferences: {first}\n");
    }
    out += "MIME-Version: 1.0\n";
    let text = format!(
        "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{}\n",
        mail.body
    );
    if mail.files.is_empty() {
        return out + &text + "\n";
    }
    out += &format!("Content-Type: multipart/mixed; boundary=\"b{n}\"\n\n--b{n}\n{text}\n");
    for one in &mail.files {
        out += &format!(
            "--b{n}\nContent-Type: {}; name=\"{}\"\nContent-Disposition: attachment; filename=\"{}\"\nContent-Transfer-Encoding: base64\n\n",
            one.media_type, one.name, one.name
        );
        let encoded = STANDARD.encode(&one.bytes);
        for line in encoded.as_bytes().chunks(76) {
            out += std::str::from_utf8(line).unwrap();
            out += "\n";
        }
    }
    out + &format!("--b{n}--\n\n")
}

fn card(human: &Human) -> String {
    let mut out = format!(
        "BEGIN:VCARD\r\nVERSION:3.0\r\nN:{};{};;;\r\nFN:{}\r\nEMAIL;TYPE=INTERNET:{}\r\nTEL;TYPE=CELL:{}\r\n",
        human.family,
        human.given,
        human.name(),
        human.email,
        human.phone
    );
    if !human.org.is_empty() {
        out += &format!("ORG:{}\r\n", human.org);
    }
    if let Some(birthday) = &human.birthday {
        out += &format!("BDAY:{birthday}\r\n");
    }
    out + "END:VCARD\r\n"
}
