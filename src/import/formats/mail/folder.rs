//! Converts folders, labels and flags from each kind of file to one form.

use std::collections::BTreeSet;

/// What the file or the headers say about a message, as opposed to its content.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Gmail's labels, or keywords of other programs.
    pub labels: BTreeSet<String>,
    /// The folders that it is in.
    pub folders: BTreeSet<String>,
    /// Whether it is an unsent draft.
    pub is_draft: Option<bool>,
    /// Whether it is starred.
    pub is_flagged: Option<bool>,
    /// Whether it has been read.
    pub is_seen: Option<bool>,
    /// Whether it has been answered.
    pub is_answered: Option<bool>,
    /// Whether it was deleted but is still in the file.
    pub is_deleted: bool,
}

/// The meaning of a system label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum System {
    Folder(&'static str),
    Label(&'static str),
    Starred,
    Unread,
    Opened,
}

use System::{Folder, Label, Opened, Starred, Unread};

/// Gmail's own labels in the languages of its interface, in lower case.
const SYSTEM: &[(System, &str)] = &[
    (
        Folder("Inbox"),
        "inbox, posteingang, boîte de réception, recibidos, bandeja de entrada, caixa de entrada, \
         posta in arrivo, postvak in, 受信トレイ, inkorg, indbakke, innboks, odebrane, входящие, 收件箱, 收件匣, 받은편지함, \
         gelen kutusu, saapuneet, doručená pošta",
    ),
    (
        Folder("Sent"),
        "sent, sent mail, sent items, sent messages, gesendet, gesendete objekte, messages envoyés, envoyés, \
         enviados, enviadas, e-mails enviados, posta inviata, inviati, inviata, verzonden, \
         verzonden berichten, verzonden items, 送信済み, 送信済みメール, 送信済みトレイ, skickat, sendt, wysłane, \
         отправленные, 已发送邮件, 寄件備份, 보낸편지함",
    ),
    (
        Folder("Drafts"),
        "drafts, draft, entwürfe, entwurf, brouillons, brouillon, borradores, borrador, rascunhos, rascunho, \
         bozze, bozza, concepten, concept, 下書き, utkast, kladder, wersje robocze, szkice, черновики, 草稿, \
         임시보관함",
    ),
    (
        Folder("Spam"),
        "spam, junk, junk e-mail, bulk mail, junk-e-mail, courrier indésirable, correo no deseado, \
         lixo eletrônico, posta indesiderata, ongewenste e-mail, 迷惑メール, skräppost, søppelpost, спам, 垃圾邮件, \
         垃圾郵件, 스팸함",
    ),
    (
        Folder("Trash"),
        "trash, bin, deleted items, deleted messages, papierkorb, gelöschte objekte, corbeille, papelera, \
         lixeira, cestino, prullenbak, ゴミ箱, papperskorg, papirkurv, kosz, корзина, 已删除邮件, 垃圾桶, 휴지통",
    ),
    (
        Folder("Archive"),
        "archive, archived, archiv, archiviert, archivé, archivés, messages archivés, archivado, archivados, \
         arquivado, arquivados, archiviati, archiviato, gearchiveerd, archief, アーカイブ, アーカイブ済み, arkiverat, \
         zarchiwizowane",
    ),
    (Folder("Chats"), "chat, chats, チャット"),
    (
        Label("Important"),
        "important, wichtig, importante, importanti, importants, belangrijk, 重要, viktigt, ważne, важное",
    ),
    (
        Starred,
        "starred, markiert, suivis, favoris, messages suivis, destacados, com estrela, speciali, met ster, \
         スター付き, stjärnmärkt, oznaczone gwiazdką, помеченные",
    ),
    (
        Unread,
        "unread, ungelesen, non lus, non lu, no leídos, sin leer, não lidas, não lidos, da leggere, \
         non letti, ongelezen, 未読, oläst, nieprzeczytane, непрочитанные",
    ),
    (
        Opened,
        "opened, geöffnet, ouvert, ouverts, messages ouverts, abierto, abiertos, aberto, abertos, aperti, \
         aperto, geopend, 開封済み, 既読, öppnat, otwarte",
    ),
    (
        Label("Category Personal"),
        "category personal, kategorie allgemein, kategorie persönlich, catégorie personnels",
    ),
    (Label("Category Social"), "category social, kategorie soziale netzwerke, catégorie réseaux sociaux"),
    (Label("Category Promotions"), "category promotions, kategorie werbung, catégorie promotions"),
    (Label("Category Updates"), "category updates, kategorie benachrichtigungen, catégorie notifications"),
    (Label("Category Forums"), "category forums, kategorie foren, catégorie forums"),
];

fn system(name: &str) -> Option<System> {
    let lower = name.trim().to_lowercase();
    let lower = lower.strip_prefix("[gmail]/").or(lower.strip_prefix("[google mail]/")).unwrap_or(&lower);
    SYSTEM
        .iter()
        .find(|(_, names)| names.split(',').any(|name| name.trim() == lower))
        .map(|(system, _)| *system)
}

/// Whether a label belongs to the program and not to the user.
pub fn is_system(label: &str) -> bool {
    system(label).is_some()
}

/// The folder's name in a common form, whichever program wrote it.
pub fn folder(name: &str) -> String {
    match system(name) {
        Some(Folder(known)) => known.to_owned(),
        _ => name.trim().to_owned(),
    }
}

/// The folder of an mbox file: its own name, or that of the enclosing `.mbox` folder.
pub fn of_mbox(label: &str) -> Option<String> {
    let mut names = label.rsplit('/');
    let mut name = names.next()?;
    if name.eq_ignore_ascii_case("mbox") {
        name = names.next()?;
    }
    let name = strip_end(strip_end(name, ".mbox"), ".mbx");
    (!name.is_empty()).then(|| folder(name))
}

/// The folder of an Apple Mail message: that of the enclosing `.mbox` folder.
pub fn of_emlx(label: &str) -> Option<String> {
    let name =
        label.rsplit('/').find(|name| name.len() > 5 && strip_end(name, ".mbox").len() < name.len())?;
    Some(folder(strip_end(name, ".mbox")))
}

fn strip_end<'a>(name: &'a str, end: &str) -> &'a str {
    let at = name.len().saturating_sub(end.len());
    match name.get(at..) {
        Some(tail) if tail.eq_ignore_ascii_case(end) => &name[..at],
        _ => name,
    }
}

/// The folder and the flags of a Maildir file: `.Work.Offers/cur/1234.host:2,RS`. `source` is the path that the owner named,
/// which may itself be a folder of a Maildir.
pub fn of_maildir(label: &str, source: &str) -> Option<(String, String)> {
    let (path, file) = label.rsplit_once('/').unwrap_or(("", label));
    let (parent, kind) = path.rsplit_once('/').unwrap_or(("", path));
    if kind != "cur" && kind != "new" {
        return None;
    }
    let last = match parent.rsplit('/').next() {
        None | Some("") if source.starts_with('.') || is_system(source) => source,
        other => other.unwrap_or_default(),
    };
    let name = match last.strip_prefix('.') {
        Some(rest) => rest.replace('.', "/"),
        None => last.to_owned(),
    };
    let name = if name.is_empty() || name.eq_ignore_ascii_case("maildir") {
        "Inbox".to_owned()
    } else {
        folder(&name)
    };
    // Windows and Android do not allow `:` in names.
    let flags = file
        .rsplit_once("2,")
        .filter(|(before, _)| before.ends_with([':', ';', '!', '-', '_']))
        .map_or("", |(_, flags)| flags);
    let mut flags: Vec<char> = flags.chars().filter(char::is_ascii_alphabetic).collect();
    flags.sort_unstable();
    flags.dedup();
    Some((name, flags.into_iter().collect()))
}

/// Chooses the folder to report if a message is in several.
pub fn first(folders: &BTreeSet<String>) -> Option<&String> {
    folders.iter().min_by_key(|name| {
        let rank = match name.as_str() {
            "Inbox" => 0,
            "Sent" => 1,
            "Drafts" => 2,
            "Archive" => 4,
            "Chats" => 5,
            "Spam" => 6,
            "Trash" => 7,
            _ => 3,
        };
        (rank, *name)
    })
}

impl Marks {
    /// Reads a decoded `X-Gmail-Labels`: names separated by commas, with quotes around names that contain a comma.
    pub fn gmail_labels(&mut self, text: &str) {
        (self.is_draft, self.is_flagged, self.is_seen) = (Some(false), Some(false), Some(true));
        for name in between_commas(text) {
            match system(&name) {
                Some(Folder(known)) => {
                    self.folders.insert(known.to_owned());
                    if known == "Drafts" {
                        self.is_draft = Some(true);
                    }
                }
                Some(Label(known)) => {
                    self.labels.insert(known.to_owned());
                }
                Some(Starred) => self.is_flagged = Some(true),
                Some(Unread) => self.is_seen = Some(false),
                Some(Opened) => {}
                None => {
                    self.labels.insert(name);
                }
            }
        }
    }

    /// Reads the flags in a Maildir file name.
    pub fn maildir_flags(&mut self, flags: &str) {
        self.is_draft = Some(flags.contains('D'));
        self.is_flagged = Some(flags.contains('F'));
        self.is_answered = Some(flags.contains('R'));
        self.is_seen = Some(flags.contains('S'));
        self.is_deleted = flags.contains('T');
    }

    /// Reads `Status` and `X-Status`, which mutt and other programs write.
    pub fn status(&mut self, status: &str, more: &str) {
        self.is_seen = Some(status.contains('R'));
        self.is_answered = Some(more.contains('A'));
        self.is_flagged = Some(more.contains('F'));
        self.is_draft = Some(more.contains('T'));
        self.is_deleted |= more.contains('D');
    }

    /// Reads `X-Mozilla-Status`: hexadecimal bits.
    pub fn mozilla(&mut self, text: &str) {
        if let Ok(bits) = u32::from_str_radix(text.trim(), 16) {
            self.is_seen = Some(bits & 1 != 0);
            self.is_answered = Some(bits & 2 != 0);
            self.is_flagged = Some(bits & 4 != 0);
            self.is_deleted |= bits & 8 != 0;
        }
    }

    /// Reads the flags of an `.emlx` file.
    pub fn apple(&mut self, bits: u64) {
        self.is_seen = Some(bits & 1 != 0);
        self.is_deleted |= bits & 2 != 0;
        self.is_answered = Some(bits & 4 != 0);
        self.is_flagged = Some(bits & 16 != 0);
        self.is_draft = Some(bits & 64 != 0);
    }

    /// Reads a mail program's keywords, separated by spaces or commas. IMAP's own flags are left out.
    pub fn keywords(&mut self, text: &str) {
        let words = text.split([' ', ',', '\t']).map(str::trim).filter(|word| !word.is_empty());
        self.labels.extend(words.filter(|word| !word.starts_with(['\\', '$'])).map(str::to_owned));
    }
}

fn between_commas(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut is_quoted = false;
    for char in text.chars() {
        match (char, names.last_mut()) {
            ('"', _) => is_quoted = !is_quoted,
            (',', _) if !is_quoted => names.push(String::new()),
            (char, Some(name)) => name.push(char),
            _ => {}
        }
    }
    names.into_iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gmail_labels_read_in_any_language() {
        for (text, folder, seen) in [
            ("Inbox,Unread,Work", "Inbox", false),
            ("Posteingang,Ungelesen,Work", "Inbox", false),
            ("Messages envoyés,Ouvert,Work", "Sent", true),
            ("Papelera,Work", "Trash", true),
            ("Caixa de entrada,Não lidas,Work", "Inbox", false),
            ("Posta in arrivo,Work", "Inbox", true),
            ("Postvak IN,Geopend,Work", "Inbox", true),
            ("受信トレイ,未読,Work", "Inbox", false),
        ] {
            let mut marks = Marks::default();
            marks.gmail_labels(text);
            assert_eq!(first(&marks.folders).unwrap(), folder, "{text}");
            assert_eq!(marks.is_seen, Some(seen), "{text}");
            assert_eq!(marks.labels.iter().collect::<Vec<_>>(), ["Work"], "{text}");
        }
        let mut marks = Marks::default();
        marks.gmail_labels("Starred,\"Offers, old\",Category Promotions,Wichtig");
        assert_eq!(
            marks.labels.into_iter().collect::<Vec<_>>(),
            ["Category Promotions", "Important", "Offers, old"]
        );
        assert_eq!(marks.is_flagged, Some(true));
    }

    #[test]
    fn folders_come_from_paths() {
        assert_eq!(of_mbox("Mail/Local Folders/Work").as_deref(), Some("Work"));
        assert_eq!(of_mbox("Archive/Offers.mbox/mbox").as_deref(), Some("Offers"));
        assert_eq!(of_mbox("INBOX").as_deref(), Some("Inbox"));
        assert_eq!(of_mbox("mbox"), None);
        assert_eq!(of_emlx("V9/A/Sent Messages.mbox/B/Data/Messages/12.emlx").as_deref(), Some("Sent"));
        assert_eq!(of_emlx("12.emlx"), None);
        let of = |label: &str| of_maildir(label, "backup").unwrap();
        assert_eq!(of("cur/1.a:2,S"), ("Inbox".to_owned(), "S".to_owned()));
        assert_eq!(of("Maildir/new/1.a"), ("Inbox".to_owned(), String::new()));
        assert_eq!(of(".Work.Offers/cur/1.a;2,SR"), ("Work/Offers".to_owned(), "RS".to_owned()));
        assert_eq!(of("mail/Gesendet/cur/1.a,S=12:2,"), ("Sent".to_owned(), String::new()));
        assert_eq!(of_maildir("cur/1.a:2,", ".Sent").unwrap().0, "Sent");
        assert_eq!(of_maildir("tmp/1.a", "x"), None);
    }
}
