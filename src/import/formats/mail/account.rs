//! Whose mail it is, and what it is declared to hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use memchr::memmem;

use super::header::people;
use crate::import::declare::{Registry, StreamLine, connector};
use crate::import::format::{Ask, Member, Plan, Refused, Whose};
use crate::vault::declaration::{BadField, Connector};

/// The fields of a mail that stand beside its text.
macro_rules! message_fields {
    () => {
        "id:k! thread_id:k! subject:h from_name:n from_email:s to:a cc:a bcc:a reply_to:a recipients:x date:t received_at:T! \
         message_id:k in_reply_to:k references:a list_id:g size_bytes:i labels:a folder:g is_draft:f is_flagged:f is_seen:f \
         is_answered:f has_attachments:f snippet:x"
    };
}

const STREAMS: [StreamLine; 6] = [
    StreamLine {
        name: "messages",
        key: "id",
        time: "received_at",
        fields: concat!(message_fields!(), " gone_at:t"),
        relations: "message_bodies message_bodies message_id one, attachments attachments message_id many, \
                    message_labels message_labels message_id many",
    },
    StreamLine {
        name: "message_bodies",
        key: "id",
        time: "message_received_at",
        fields: "id:k! message_id:k! message_received_at:T! body_text:b body_source:g! body_text_bytes:i charset:g subject:h \
                 from_name:n from_email:s hidden_bytes:i",
        relations: "",
    },
    StreamLine {
        name: "attachments",
        key: "id",
        time: "message_received_at",
        fields: "id:k! message_id:k! filename:h content_type:g size_bytes:i content_sha256:k hydration_status:g! blob_ref:r \
                 message_received_at:T! is_inline:f part_index:k! content_id:k subject:x from_name:n from_email:s text:b \
                 text_status:g",
        relations: "",
    },
    // A list is not filtered by: this says which mails have a label.
    StreamLine {
        name: "message_labels",
        key: "id",
        time: "message_received_at",
        fields: "id:k! message_id:k! label:g! message_received_at:T!",
        relations: "",
    },
    StreamLine { name: "labels", key: "name", time: "", fields: "name:h! is_system:f", relations: "" },
    StreamLine {
        name: "security_messages",
        key: "id",
        time: "received_at",
        fields: concat!(message_fields!(), " body_text:b gone_at:t"),
        relations: "",
    },
];

const GMAIL: &str = "gmail";

/// What mail is declared to hold.
pub fn declared(is_gmail: bool) -> Result<Arc<Connector>, BadField> {
    let (registry, key, title) =
        if is_gmail { (Registry::Upstream, GMAIL, "Gmail") } else { (Registry::Local, "mail", "Mail") };
    connector(registry, key, title, &STREAMS)
}

/// Whether a plan is for an account of Gmail.
pub fn is_gmail(plan: &Plan) -> bool {
    plan.connector.key == GMAIL
}

/// What a person named, without its folder.
struct Source(String);

/// What a person named, without its folder.
pub fn source_name(plan: &Plan) -> &str {
    plan.state.downcast_ref::<Source>().map_or("", |source| &source.0)
}

/// Whether a file's mails have Gmail's own headers.
fn is_gmail_file(head: &[u8]) -> bool {
    ["\nX-GM-THRID:", "\nX-Gmail-Labels:", "\nX-GM-MSGID:"]
        .iter()
        .any(|name| memmem::find(head, name.as_bytes()).is_some())
        || head.starts_with(b"X-GM-THRID:")
        || head.starts_with(b"X-Gmail-Labels:")
}

/// One plan for the files with Gmail's headers, one for the others.
pub fn plan(members: &[Member<'_>], ask: &Ask) -> Result<Vec<Plan>, Refused> {
    // Of very many files the later ones come without their beginnings: they are what the others are.
    let mut known = members.iter().map(|member| member.head).filter(|head| !head.is_empty()).peekable();
    let all_are_gmail = known.peek().is_some() && known.all(is_gmail_file);
    let is_gmail = |at: &usize| match members[*at].head {
        [] => all_are_gmail,
        head => is_gmail_file(head),
    };
    let (gmail, other): (Vec<usize>, Vec<usize>) = (0..members.len()).partition(is_gmail);
    [(true, gmail), (false, other)]
        .into_iter()
        .filter(|(_, units)| !units.is_empty())
        .map(|(is_gmail, units)| {
            let connector = declared(is_gmail).map_err(|error| Refused::Unreadable(error.to_string()))?;
            let (account, whose) = account(units.iter().map(|at| members[*at].head), ask);
            Ok(Plan {
                connector,
                account,
                units,
                notes: Vec::new(),
                whose,
                zone: ask.zone.clone(),
                state: Arc::new(Source(ask.source_name.clone())),
            })
        })
        .collect()
}

/// The plan for files of mail without Gmail's headers, `heads` of which have headers of some of their mails.
pub fn plan_of<'a>(
    heads: impl Iterator<Item = &'a [u8]>,
    units: Vec<usize>,
    ask: &Ask,
) -> Result<Plan, Refused> {
    let connector = declared(false).map_err(|error| Refused::Unreadable(error.to_string()))?;
    let (account, whose) = account(heads, ask);
    Ok(Plan {
        connector,
        account,
        units,
        notes: Vec::new(),
        whose,
        zone: ask.zone.clone(),
        state: Arc::new(Source(ask.source_name.clone())),
    })
}

/// The account, and whose mail it is. An address that mails were delivered to is its owner's; one that they are addressed to may
/// be anybody's, as in a folder of sent mail.
fn account<'a>(heads: impl Iterator<Item = &'a [u8]>, ask: &Ask) -> (String, Whose) {
    let mut delivered = BTreeMap::new();
    let mut addressed = BTreeMap::new();
    for head in heads {
        count(head, &mut delivered, &mut addressed);
    }
    // The first of those that are equally frequent, so that the same files give the same account.
    let most = |votes: BTreeMap<String, u64>| {
        let most = votes.values().copied().max()?;
        votes.into_iter().find(|(_, count)| *count == most).map(|(address, _)| address)
    };
    let delivered = most(delivered);
    let is_sure = delivered.is_some();
    let owner = delivered.or_else(|| most(addressed));
    let (account, note) = match (&ask.account, &owner) {
        (Some(account), _) => (account.clone(), format!("The account is {account}, as --account says.")),
        (None, Some(owner)) if is_sure => (
            owner.clone(),
            format!(
                "The account is {owner}: most of the mails at the beginning of the files were delivered to that address. \
                 --account NAME names another."
            ),
        ),
        (None, Some(owner)) => (
            owner.clone(),
            format!(
                "The account is {owner}: most of the mails at the beginning of the files are addressed to it. \
                 --account NAME names another."
            ),
        ),
        (None, None) => {
            let name = ask.source_name.as_str();
            let stem =
                name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
            (
                stem.to_owned(),
                format!(
                    "The account is {stem}, after the name of the file: the mails do not say whom they were delivered to. \
                     --account NAME names another."
                ),
            )
        }
    };
    (account, Whose { owner, is_sure, note: Some(note) })
}

/// Counts the addresses that mails were delivered to, and those that they are addressed to.
fn count(head: &[u8], delivered: &mut BTreeMap<String, u64>, addressed: &mut BTreeMap<String, u64>) {
    let mut is_header = true;
    for line in head.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            is_header = false;
        } else if line.starts_with(b"From ") {
            is_header = true;
        }
        if !is_header {
            continue;
        }
        let Some(at) = line.iter().take(16).position(|byte| *byte == b':') else { continue };
        let name = &line[..at];
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        let votes = if is("delivered-to") || is("x-original-to") {
            &mut *delivered
        } else if is("to") {
            &mut *addressed
        } else {
            continue;
        };
        let value = String::from_utf8_lossy(&line[at + 1..]);
        for email in people(value.trim()).into_iter().filter_map(|person| person.email) {
            if let Some(email) = plain(&email) {
                *votes.entry(email).or_default() += 1;
            }
        }
    }
}

/// An address in lower case, without what is behind a `+`, which one person may have many of.
fn plain(email: &str) -> Option<String> {
    let (user, host) = email.trim().rsplit_once('@')?;
    let user = user.split('+').next().unwrap_or(user);
    let is_plain = |part: &str| {
        !part.is_empty() && !part.contains(|char: char| char.is_whitespace() || char.is_control())
    };
    (is_plain(user) && is_plain(host)).then(|| format!("{user}@{host}").to_lowercase())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::import::format::ReadFrom;
    use crate::import::harness;

    fn of(head: &str, name: &str) -> (String, String) {
        let ask = Ask { source_name: name.to_owned(), ..harness::ask() };
        let (account, whose) = account([head.as_bytes()].into_iter(), &ask);
        (account, whose.note.unwrap())
    }

    #[test]
    fn both_connectors_are_declared() {
        let gmail = declared(true).unwrap();
        assert_eq!(gmail.id, "https://registry.pdpp.dev/connectors/gmail");
        assert_eq!(declared(false).unwrap().id, "https://local.pdpp.invalid/connectors/mail");
        for stream in &gmail.streams {
            for key in &stream.primary_key {
                assert!(stream.field(key).unwrap().required);
            }
        }
    }

    #[test]
    fn the_account_is_the_address_that_mails_were_delivered_to() {
        let text = "From a Tue Jan  2 03:04:05 2024\nTo: List <list@example.org>, x@example.org\nDelivered-To: Ana@Example.org\n\n\
             To: nobody@example.org\n\nFrom b Tue Jan  2 03:04:05 2024\nTo: list@example.org\nX-Original-To: ana+news@example.org\n\n";
        let (account, note) = of(text, "x.zip");
        assert_eq!(account, "ana@example.org");
        assert!(note.contains("delivered to that address"));
        assert_eq!(of("To: Ana <ana@example.org>\r\nSubject: x\r\n\r\n", "x").0, "ana@example.org");
        let (account, note) = of("Subject: x\n\n", "work mail.mbox");
        assert_eq!(account, "work mail");
        assert!(note.contains("name of the file"));
    }

    #[test]
    fn files_without_their_beginnings_go_with_the_others() {
        let open = || -> std::io::Result<Box<dyn ReadFrom + Send>> { Ok(Box::new(Cursor::new(Vec::new()))) };
        let member = |head: &'static str| Member {
            label: "x",
            head: head.as_bytes(),
            size: None,
            modified_ms: None,
            open: &open,
        };
        let plans = |heads: [&'static str; 3]| {
            let plans = plan(&heads.map(member), &harness::ask()).unwrap();
            plans.into_iter().map(|plan| (is_gmail(&plan), plan.units)).collect::<Vec<_>>()
        };
        let (gmail, other) = ("X-GM-THRID: 1\nTo: a@example.org\n\n", "To: a@example.org\n\n");
        assert_eq!(plans([gmail, gmail, ""]), [(true, vec![0, 1, 2])]);
        assert_eq!(plans([gmail, other, ""]), [(true, vec![0]), (false, vec![1, 2])]);
    }

    #[test]
    fn what_a_person_says_counts() {
        let ask = Ask { account: Some("work".to_owned()), ..harness::ask() };
        let (account, whose) = account([&b"To: ana@example.org\n\n"[..]].into_iter(), &ask);
        assert_eq!(
            (account.as_str(), whose.owner.as_deref(), whose.is_sure),
            ("work", Some("ana@example.org"), false)
        );
    }
}
