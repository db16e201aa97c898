//! Whose mail a file has, and which streams it is declared to hold.

use std::any::Any;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Read as _};
use std::sync::Arc;

use memchr::memmem;

use super::charset;
use super::folder::Marks;
use super::header::people;
use super::separator::{self, Verdict};
use crate::import::declare::{Declared, Registry, StreamLine, connector};
use crate::import::format::{Ask, Member, PEEK, Plan, Refused, Whose};
use crate::import::refresh::folder_of;
use crate::vault::declaration::{BadField, Connector};

/// The fields that a message has in addition to its text.
macro_rules! message_fields {
    () => {
        "id:k! thread_id:k! subject:h from_name:n from_email:s to:a cc:a bcc:a reply_to:a recipients:x date:t received_at:T! \
         message_id:k in_reply_to:k references:a list_id:g size_bytes:i labels:a folder:g is_draft:f is_flagged:f* is_seen:f* \
         is_answered:f* has_attachments:f snippet:x"
    };
}

const STREAMS: [StreamLine; 6] = [
    StreamLine {
        name: "messages",
        key: "id",
        time: "received_at",
        fields: concat!(message_fields!(), " gone_at:t*"),
        relations: "message_bodies message_bodies message_id one, attachments attachments message_id many, \
                    message_labels message_labels message_id many",
    },
    StreamLine {
        name: "message_bodies",
        key: "id",
        time: "message_received_at",
        fields: "id:k! message_id:k! message_received_at:T! body_text:b body_source:g! body_text_bytes:i charset:g subject:h=messages \
                 from_name:n=messages from_email:s=messages hidden_bytes:i",
        relations: "",
    },
    StreamLine {
        name: "attachments",
        key: "id",
        time: "message_received_at",
        fields: "id:k! message_id:k! filename:h content_type:g size_bytes:i content_sha256:k hydration_status:g! blob_ref:r \
                 message_received_at:T! is_inline:f part_index:k! content_id:k subject:x=messages from_name:n=messages \
                 from_email:s=messages text:b \
                 text_status:g",
        relations: "",
    },
    // Lists cannot be filtered, so this stream says which messages have a label.
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
        fields: concat!(message_fields!(), " body_text:b gone_at:t*"),
        relations: "",
    },
];

const GMAIL: &str = "gmail";
const MAIL: &str = "mail";

/// What mail is declared to hold, for every kind of mail file.
pub const DECLARED: &[Declared] = &[
    Declared { registry: Registry::Upstream, key: GMAIL, streams: &STREAMS },
    Declared { registry: Registry::Local, key: MAIL, streams: &STREAMS },
];

/// The streams that mail is declared to hold.
pub fn declared(is_gmail: bool) -> Result<Arc<Connector>, BadField> {
    let (registry, key, title) =
        if is_gmail { (Registry::Upstream, GMAIL, "Gmail") } else { (Registry::Local, MAIL, "Mail") };
    connector(registry, key, title, &STREAMS)
}

/// Whether a plan is for a Gmail account.
pub fn is_gmail(plan: &Plan) -> bool {
    plan.connector.key == GMAIL
}

/// The name of the source that the owner gave, without its folder.
struct Source(String);

/// The name of the source that the owner gave, without its folder.
pub fn source_name(plan: &Plan) -> &str {
    plan.state.downcast_ref::<Source>().map_or("", |source| &source.0)
}

/// Whether the messages in a file have Gmail's own headers.
fn is_gmail_file(head: &[u8]) -> bool {
    ["\nX-GM-THRID:", "\nX-Gmail-Labels:", "\nX-GM-MSGID:"]
        .iter()
        .any(|name| memmem::find(head, name.as_bytes()).is_some())
        || head.starts_with(b"X-GM-THRID:")
        || head.starts_with(b"X-Gmail-Labels:")
}

/// The most members without a head that are opened for a plan, and the most long files that are sampled.
const MOST_OPENED: usize = 64;
/// In how many places a long file is sampled in addition to its beginning: the last of them is near its end.
const SAMPLES: u64 = 4;
/// How many bytes are searched for the beginning of a message at each of these places.
const WINDOW: u64 = 256 * 1024;

/// Makes the plans: one for each owner of files with Gmail's headers, and one for each owner of other files.
pub fn plan(members: &[Member<'_>], is_of_folder: bool, ask: &Ask) -> Result<Vec<Plan>, Refused> {
    let mut heads = heads(members, is_of_folder);
    if !is_of_folder {
        let long = members.iter().zip(&mut heads).filter(|(member, _)| member.size > Some(PEEK as u64));
        for (member, head) in long.take(MOST_OPENED) {
            add_samples(member, head);
        }
    }
    // A file without a head is assumed to be like the others.
    let mut known = heads.iter().filter(|head| !head.is_empty()).peekable();
    let all_are_gmail = known.peek().is_some() && known.all(|head| is_gmail_file(head));
    let is_gmail = |at: &usize| match &*heads[*at] {
        [] => all_are_gmail,
        head => is_gmail_file(head),
    };
    let (gmail, other): (Vec<usize>, Vec<usize>) = (0..members.len()).partition(is_gmail);
    let mut plans = Vec::new();
    for (is_gmail, units) in [(true, gmail), (false, other)] {
        if !units.is_empty() {
            let files = units.into_iter().map(|at| File {
                at,
                head: &heads[at],
                set: set_of(members[at].label, is_gmail, is_of_folder, ask),
            });
            plans.extend(plans_of(is_gmail, &files.collect::<Vec<_>>(), ask)?);
        }
    }
    Ok(plans)
}

/// The heads of the members. When an import has very many members, the later ones have no head. A few are opened in each set of
/// files that has none.
fn heads<'a>(members: &'a [Member<'_>], is_of_folder: bool) -> Vec<Cow<'a, [u8]>> {
    const OF_A_SET: usize = 4;
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let set = |member: &'a Member<'_>| {
        if is_of_folder { folder_of(member.label) } else { member.label }
    };
    for member in members.iter().filter(|member| !member.is_short()) {
        *seen.entry(set(member)).or_default() += 1;
    }
    let mut left = MOST_OPENED;
    let mut heads = Vec::with_capacity(members.len());
    for member in members {
        let seen = seen.entry(set(member)).or_default();
        let is_enough = !member.is_short() || *seen >= OF_A_SET || left == 0;
        heads.push(if is_enough {
            Cow::Borrowed(member.head)
        } else {
            (*seen, left) = (*seen + 1, left - 1);
            // An error is ignored here: the import itself reports it.
            match member.beginning() {
                Ok(more) if more.len() > member.head.len() => more,
                _ => Cow::Borrowed(member.head),
            }
        });
    }
    heads
}

/// Adds messages from later in a long file to its beginning, unless that would mean to unpack it: who is named late in it counts
/// too. Each place counts as much as the beginning.
fn add_samples(member: &Member<'_>, head: &mut Cow<'_, [u8]>) {
    let rest = member.size.unwrap_or_default().saturating_sub(PEEK as u64);
    let (places, most) = if rest > WINDOW { (SAMPLES, PEEK as u64) } else { (1, rest) };
    for place in 1..=places {
        let at = PEEK as u64 + rest.saturating_sub(WINDOW) * place / places;
        // An error is ignored here: the import itself reports it.
        match sample(member, at, most) {
            Ok(Some(some)) => {
                let head = head.to_mut();
                head.extend_from_slice(b"\n\n");
                head.extend_from_slice(&some);
            }
            Ok(None) => {}
            Err(_) => return,
        }
    }
}

/// At most `most` bytes of a file, from the first message on that begins at `at` or soon after it.
fn sample(member: &Member<'_>, at: u64, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut file = (member.open)()?;
    if !file.goes_back() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    file.skip_to(at)?;
    let mut bytes = Vec::new();
    file.take(WINDOW).read_to_end(&mut bytes)?;
    let begins = |at: &usize| separator::judge(&bytes, *at, true) == Verdict::Separator;
    let Some(begin) = separator::finder().find_iter(&bytes).map(|at| at + 1).find(begins) else {
        return Ok(None);
    };
    bytes.drain(..begin);
    bytes.truncate(usize::try_from(most).unwrap_or(PEEK));
    Ok(Some(bytes))
}

/// The set of files in which a file's owner is looked for: the file itself, or its folder for formats with one message per file.
/// A Takeout export belongs to one person.
fn set_of<'a>(label: &'a str, is_gmail: bool, is_of_folder: bool, ask: &Ask) -> &'a str {
    const TAKEOUT: &str = "Takeout";
    if is_gmail {
        if ask.source_path.components().any(|part| part.as_os_str() == TAKEOUT) {
            return "";
        }
        let mut end = 0;
        for part in label.split('/') {
            end += part.len();
            if part == TAKEOUT {
                return &label[..end];
            }
            end += 1;
        }
    }
    if !is_of_folder {
        return label;
    }
    let folder = folder_of(label);
    // Apple Mail spreads the messages of one folder over many.
    folder.rfind(".mbox/").map_or(folder, |at| &folder[..at + ".mbox".len()])
}

/// A mail file.
pub struct File<'a> {
    /// Its position among the members.
    pub at: usize,
    /// The headers of some of its messages.
    pub head: &'a [u8],
    /// The label that identifies its owner: its own, or that of a folder whose files belong to one person.
    pub set: &'a str,
}

/// Files that belong to one person.
#[derive(Default)]
struct Set {
    units: Vec<usize>,
    mails: u64,
    /// How many messages were last delivered to each address.
    delivered: BTreeMap<String, u64>,
    /// To whom messages were addressed that were delivered to another address.
    forwarded: BTreeMap<String, u64>,
    undelivered: Undelivered,
}

impl Set {
    fn add(&mut self, file: &File<'_>) {
        let votes = count(file.head);
        self.units.push(file.at);
        self.mails += votes.mails;
        for (all, some) in [(&mut self.delivered, votes.last), (&mut self.forwarded, votes.forwarded)] {
            for (address, votes) in some {
                *all.entry(address).or_default() += votes;
            }
        }
        self.undelivered.add(votes.undelivered);
    }

    /// Whether a fair share of the messages reached the owner by way of this address.
    fn forwards(&self, address: &str) -> bool {
        self.forwarded.get(address).is_some_and(|votes| *votes > 1 && votes * 10 >= self.mails)
    }

    /// The address that most of the messages were delivered to, if few went to other addresses.
    fn owner(&self) -> Option<&str> {
        let (owner, votes) = most(&self.delivered)?;
        let all: u64 = self.delivered.values().sum();
        (votes * 2 > self.mails && votes * 3 >= all * 2).then_some(owner)
    }

    /// The addresses that received enough of the messages to belong to the owner too.
    fn aliases(&self) -> impl Iterator<Item = &str> {
        let all: u64 = self.delivered.values().sum();
        let is_alias = move |votes: u64| votes > 1 && votes * 10 >= all;
        self.delivered.iter().filter(move |(_, votes)| is_alias(**votes)).map(|(address, _)| address.as_str())
    }

    /// The addresses that received at least a tenth of the messages, and the one that sent them if this is sent mail, with
    /// the number of messages.
    fn addresses(&self) -> impl Iterator<Item = (&str, u64)> {
        let all: u64 = self.delivered.values().sum();
        let delivered = self.delivered.iter().filter(move |(_, votes)| **votes * 10 >= all);
        let sender = self.undelivered.owner(self.mails);
        let sent =
            sender.map(|sender| (sender, self.undelivered.from.get(sender).copied().unwrap_or_default()));
        delivered.map(|(address, votes)| (address.as_str(), *votes)).chain(sent)
    }
}

/// Messages without a sign that they were delivered, such as those that the owner of a mailbox sent.
#[derive(Default)]
struct Undelivered {
    mails: u64,
    from: BTreeMap<String, u64>,
    to: BTreeMap<String, u64>,
}

impl Undelivered {
    fn add(&mut self, other: Self) {
        self.mails += other.mails;
        for (all, some) in [(&mut self.from, other.from), (&mut self.to, other.to)] {
            for (address, count) in some {
                *all.entry(address).or_default() += count;
            }
        }
    }

    /// Who sent nearly all of `mails`, if they have no sign of delivery. A few may be copies that came back.
    fn sender(&self, mails: u64) -> Option<&str> {
        let (sender, votes) = most(&self.from)?;
        (votes * 5 >= mails * 4).then_some(sender)
    }

    /// The same sender, if the recipients vary: either person may have kept messages from one to the other.
    fn owner(&self, mails: u64) -> Option<&str> {
        let (_, votes) = most(&self.to)?;
        self.sender(mails).filter(|_| votes * 10 < mails * 9)
    }
}

/// The key with the most votes. Ties go to the first one, so that the same files give the same result.
fn most<K: AsRef<str>>(votes: &BTreeMap<K, u64>) -> Option<(&str, u64)> {
    let most = votes.values().copied().max()?;
    votes.iter().find(|(_, count)| **count == most).map(|(name, count)| (name.as_ref(), *count))
}

/// Makes one plan for each owner. Files that do not identify their owner go with the files around them.
pub fn plans_of(is_gmail: bool, files: &[File<'_>], ask: &Ask) -> Result<Vec<Plan>, Refused> {
    let connector = declared(is_gmail).map_err(|error| Refused::Unreadable(error.to_string()))?;
    let state: Arc<dyn Any + Send + Sync> = Arc::new(Source(ask.source_name.clone()));
    let plan = |account: String, whose: Whose, units: Vec<usize>| Plan {
        connector: Arc::clone(&connector),
        account,
        units,
        notes: Vec::new(),
        whose,
        zone: ask.zone.clone(),
        state: Arc::clone(&state),
    };
    let mut sets: BTreeMap<&str, Set> = BTreeMap::new();
    for file in files {
        sets.entry(file.set).or_default().add(file);
    }
    let by_owner = if ask.account.is_some() { BTreeMap::new() } else { by_owner(&sets) };
    if by_owner.len() < 2 {
        let (account, mut whose) = match by_owner.into_keys().next() {
            Some(owner) if sets.values().any(|set| set.owner().is_some()) => {
                let votes = sets.values().filter_map(|set| set.delivered.get(&owner)).sum();
                let mails = sets.values().map(|set| set.mails).sum();
                (owner.clone(), delivered_to(owner, votes, mails))
            }
            Some(owner) => (owner.clone(), sent_by(owner)),
            None => account(files.iter().map(|file| file.head), ask),
        };
        let units: Vec<usize> = files.iter().map(|file| file.at).collect();
        if ask.account.is_none() {
            name_others(&mut whose, &sets, &units, ask);
        }
        return Ok(vec![plan(account, whose, units)]);
    }
    let owners: Vec<String> = by_owner.keys().cloned().collect();
    let plans = by_owner.into_iter().map(|(owner, Files { units, guessed })| {
        let others: Vec<&str> = owners.iter().filter(|one| **one != owner).map(String::as_str).collect();
        let count = units.len();
        let note = format!(
            "The account is {owner}: the messages in {count} of the {} files were delivered to that address or sent from it, or are in a \
             folder with such files. The other files belong to {}. --account NAME puts all of them into one account.",
            files.len(),
            others.join(" and "),
        ) + &guessed_in_words(&guessed);
        let mut whose = Whose { owner: Some(owner.clone()), is_sure: true, note: Some(note) };
        name_others(&mut whose, &sets, &units, ask);
        plan(owner, whose, units)
    });
    Ok(plans.collect())
}

/// Which files of an account do not show an owner, in a sentence.
fn guessed_in_words(guessed: &[String]) -> String {
    const NAMED: usize = 3;
    let names = guessed.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match guessed.len() {
        0 => String::new(),
        1 => format!(" {names} does not show its owner: it is here because of the files around it."),
        count if count > NAMED => format!(
            " {names} and {} more do not show their owner: they are here because of the files around them.",
            count - NAMED
        ),
        _ => format!(" {names} do not show their owner: they are here because of the files around them."),
    }
}

/// Adds to the note who else the mail of a plan may belong to: one person can have several addresses, and a
/// file can contain several people's mail.
fn name_others(whose: &mut Whose, sets: &BTreeMap<&str, Set>, units: &[usize], ask: &Ask) {
    let Some(owner) = &whose.owner else { return };
    // All files of a set are in one plan.
    let is_of_plan =
        |(_, set): &(&&str, &Set)| set.units.first().is_some_and(|at| units.binary_search(at).is_ok());
    let mut others: BTreeMap<&str, Vec<(&str, u64, u64)>> = BTreeMap::new();
    for (label, set) in sets.iter().filter(is_of_plan) {
        let label = if label.is_empty() { ask.source_name.as_str() } else { *label };
        for (address, votes) in set.addresses().filter(|(address, _)| address != owner) {
            others.entry(address).or_default().push((label, votes, set.mails));
        }
    }
    if others.is_empty() {
        return;
    }
    let in_words = |(address, places): (&&str, &Vec<(&str, u64, u64)>)| {
        let first = places
            .first()
            .map(|(label, votes, mails)| format!("{label}: {votes} of the {mails} messages looked at"));
        let more = if places.len() > 1 { format!("; and {} more", places.len() - 1) } else { String::new() };
        format!("{address} ({}{more})", first.unwrap_or_default())
    };
    let others: Vec<String> = others.iter().map(in_words).collect();
    let note = whose.note.get_or_insert_default();
    *note = format!(
        "{note} Mail of {} is in this account too. If that is another person's mail, keep it in separate files, and import \
         those with --account NAME, which names their account; if it was imported already, run pdpp provider forget ACCOUNT first.",
        others.join(", ")
    );
}

/// The files of one owner.
#[derive(Default)]
struct Files {
    units: Vec<usize>,
    /// The sets among them that do not show an owner, and are here because of the files around them.
    guessed: Vec<String>,
}

/// The files of each owner. Empty if no file clearly identifies its owner.
fn by_owner(sets: &BTreeMap<&str, Set>) -> BTreeMap<String, Files> {
    let mut votes: BTreeMap<String, u64> = BTreeMap::new();
    let mut names = Names::default();
    for set in sets.values() {
        let Some(owner) = set.owner() else { continue };
        names.join(owner, owner);
        for alias in set.aliases() {
            names.join(owner, alias);
        }
    }
    for (address, count) in sets.values().filter(|set| set.owner().is_some()).flat_map(|set| &set.delivered) {
        *votes.entry(address.clone()).or_default() += count;
    }
    // The sender of sent mail owns it. That is a separate person, unless mail to that address reached one of the other owners.
    let received: Vec<&Set> = sets.values().filter(|set| set.owner().is_some()).collect();
    for set in sets.values() {
        let Some(sender) = set.undelivered.owner(set.mails).filter(|sender| !names.has(sender)) else {
            continue;
        };
        let aliased = received.iter().filter(|set| set.forwards(sender)).filter_map(|set| set.owner());
        let aliased: Vec<String> = aliased.map(str::to_owned).collect();
        match aliased.split_first() {
            Some((owner, others)) if others.iter().all(|other| names.are_one(owner, other)) => {
                names.join(owner, sender);
            }
            _ => names.join(sender, sender),
        }
    }
    let owners = names.owners(&votes);
    let owner_of = |set: &Set| {
        let owner = set.owner().or_else(|| set.undelivered.sender(set.mails));
        owner.and_then(|owner| owners.get(owner)).map(String::as_str)
    };
    // How many messages each owner has in a folder or its files, and anywhere below it.
    let mut beside: HashMap<&str, BTreeMap<&str, u64>> = HashMap::new();
    let mut beneath: HashMap<&str, BTreeMap<&str, u64>> = HashMap::new();
    for (label, set) in sets {
        let Some(owner) = owner_of(set) else { continue };
        let mails = set.delivered.values().sum::<u64>() + set.undelivered.mails;
        for (at, folder) in above(label).enumerate() {
            let all = (at < 2).then_some(&mut beside);
            for folders in all.into_iter().chain([&mut beneath]) {
                *folders.entry(folder).or_default().entry(owner).or_default() += mails;
            }
        }
    }
    let nearest = |label: &str| {
        let around = |folder| beside.get(folder).or_else(|| beneath.get(folder));
        above(label).find_map(around).and_then(most).map(|(owner, _)| owner.to_owned())
    };
    let mut all: BTreeMap<String, Files> = BTreeMap::new();
    for (label, set) in sets {
        let own = owner_of(set).map(str::to_owned);
        let is_guessed = own.is_none();
        if let Some(owner) = own.or_else(|| nearest(label)) {
            let files = all.entry(owner).or_default();
            files.units.extend(&set.units);
            if is_guessed {
                files.guessed.push((*label).to_owned());
            }
        }
    }
    for files in all.values_mut() {
        files.units.sort_unstable();
    }
    all
}

/// The places to check for a label: the label itself, then the folders above it up to the topmost one, "".
fn above(label: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(label), |folder| folder_above(folder))
}

fn folder_above(label: &str) -> Option<&str> {
    (!label.is_empty()).then(|| label.rsplit_once('/').map_or("", |(folder, _)| folder))
}

/// Sets of addresses that belong to the same person.
#[derive(Default)]
struct Names(Vec<BTreeSet<String>>);

impl Names {
    fn has(&self, name: &str) -> bool {
        self.are_one(name, name)
    }

    fn are_one(&self, first: &str, second: &str) -> bool {
        self.0.iter().any(|names| names.contains(first) && names.contains(second))
    }

    fn join(&mut self, first: &str, second: &str) {
        let is_of = |names: &mut BTreeSet<String>| names.contains(first) || names.contains(second);
        let mut joined: BTreeSet<String> = self.0.extract_if(.., is_of).flatten().collect();
        joined.extend([first.to_owned(), second.to_owned()]);
        self.0.push(joined);
    }

    /// Maps each address to its owner's name: the owner's address that received the most messages.
    fn owners(&self, votes: &BTreeMap<String, u64>) -> HashMap<&str, String> {
        let mut all = HashMap::new();
        for names in &self.0 {
            let own: BTreeMap<&str, u64> =
                names.iter().map(|name| (name.as_str(), votes.get(name).copied().unwrap_or(0))).collect();
            if let Some((owner, _)) = most(&own) {
                all.extend(names.iter().map(|name| (name.as_str(), owner.to_owned())));
            }
        }
        all
    }
}

/// The account, and whose mail it has. An address that messages were delivered to belongs to the owner. An address that they are
/// sent to may be anyone's, as in a folder of sent mail.
fn account<'a>(heads: impl Iterator<Item = &'a [u8]>, ask: &Ask) -> (String, Whose) {
    let mut delivered: BTreeMap<String, u64> = BTreeMap::new();
    let mut addressed: BTreeMap<String, u64> = BTreeMap::new();
    let (mut mails, mut undelivered) = (0, Undelivered::default());
    for votes in heads.map(count) {
        mails += votes.mails;
        undelivered.add(votes.undelivered);
        for (all, some) in [(&mut delivered, votes.delivered), (&mut addressed, votes.addressed)] {
            for (address, count) in some {
                *all.entry(address).or_default() += count;
            }
        }
    }
    if let (None, Some(owner)) = (&ask.account, undelivered.owner(mails)) {
        return (owner.to_owned(), sent_by(owner.to_owned()));
    }
    let name = |votes| most(votes).map(|(address, votes)| (address.to_owned(), votes));
    let delivered = name(&delivered);
    let is_sure = delivered.is_some();
    let (owner, votes) = delivered.or_else(|| name(&addressed)).unzip();
    let votes = votes.unwrap_or_default();
    let (account, note) = match (&ask.account, &owner) {
        (Some(account), _) => (account.clone(), format!("The account is {account}, as --account says.")),
        (None, Some(owner)) if is_sure => return (owner.clone(), delivered_to(owner.clone(), votes, mails)),
        (None, Some(owner)) => (
            owner.clone(),
            format!(
                "The account is {owner}: {} addressed to it. --account NAME names another.",
                were(votes, mails, "are")
            ),
        ),
        (None, None) => {
            let name = ask.source_name.as_str();
            let stem =
                name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
            (
                stem.to_owned(),
                format!(
                    "The account is {stem}, after the name of the file: the messages do not say who they were delivered to. \
                     --account NAME names another."
                ),
            )
        }
    };
    (account, Whose { owner, is_sure, note: Some(note) })
}

/// How many of the messages `are` something: "most of the 9 messages looked at were".
fn were(votes: u64, mails: u64, are: &str) -> String {
    // A message can name an address several times.
    let votes = votes.min(mails);
    match votes * 2 {
        double if double > mails => format!("most of the messages looked at ({votes} of {mails}) {are}"),
        double if double == mails => format!("half of the messages looked at ({votes} of {mails}) {are}"),
        _ => format!("{votes} of the {mails} messages looked at {are}"),
    }
}

/// The owner, if `votes` of `mails` messages were delivered to that address.
fn delivered_to(owner: String, votes: u64, mails: u64) -> Whose {
    let note = format!(
        "The account is {owner}: {} delivered to that address. --account NAME names another.",
        were(votes, mails, "were")
    );
    Whose { owner: Some(owner), is_sure: true, note: Some(note) }
}

/// States that `owner` sent the messages.
fn sent_by(owner: String) -> Whose {
    let note = format!(
        "The account is {owner}: nearly all of the messages looked at were sent from that address. \
         --account NAME names another."
    );
    Whose { owner: Some(owner), is_sure: true, note: Some(note) }
}

/// What messages reveal about their recipients and senders.
#[derive(Default)]
struct Votes {
    mails: u64,
    /// How often each address appears as one that a message was delivered to.
    delivered: BTreeMap<String, u64>,
    /// How many messages were last delivered to each address. The first such header in a message was written last.
    last: BTreeMap<String, u64>,
    /// How often messages are addressed to each address.
    addressed: BTreeMap<String, u64>,
    /// To whom messages are addressed that were delivered to another address.
    forwarded: BTreeMap<String, u64>,
    undelivered: Undelivered,
}

/// The recipients and the sender of one message.
#[derive(Default)]
struct Mail {
    is_begun: bool,
    /// Whether a server recorded that it received the message.
    is_received: bool,
    /// Whether Gmail's labels show that the owner sent it.
    is_sent: bool,
    from: Vec<String>,
    delivered: Vec<String>,
    before: Vec<String>,
    addressed: Vec<String>,
    lists: Vec<String>,
}

impl Votes {
    fn add(&mut self, mail: Mail) {
        if !mail.is_begun {
            return;
        }
        self.mails += 1;
        // The address of a mailing list is not a person's own address.
        let is_own = |address: &&String| {
            !mail.lists.iter().any(|list| *list == **address || *list == address.replacen('@', ".", 1))
        };
        let is_undelivered =
            mail.delivered.is_empty() && mail.before.is_empty() && (mail.is_sent || !mail.is_received);
        if let Some(from) = mail.from.first().filter(|_| is_undelivered) {
            self.undelivered.mails += 1;
            *self.undelivered.from.entry(from.clone()).or_default() += 1;
            for address in mail.addressed.iter().collect::<BTreeSet<_>>() {
                *self.undelivered.to.entry(address.clone()).or_default() += 1;
            }
        }
        let mut own = mail.delivered.iter().chain(&mail.before).filter(is_own).peekable();
        if let Some(last) = own.peek() {
            *self.last.entry((*last).clone()).or_default() += 1;
            let to: BTreeSet<&String> = mail.addressed.iter().collect();
            if !to.contains(last) {
                for address in to {
                    *self.forwarded.entry(address.clone()).or_default() += 1;
                }
            }
        }
        for address in own {
            *self.delivered.entry(address.clone()).or_default() += 1;
        }
        for address in mail.addressed {
            *self.addressed.entry(address).or_default() += 1;
        }
    }
}

/// Counts the addresses that messages were delivered to, and those that they are addressed to.
fn count(head: &[u8]) -> Votes {
    let (mut votes, mut mail) = (Votes::default(), Mail::default());
    let (mut is_header, mut is_from) = (true, false);
    for line in head.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            is_header &= !mail.is_begun;
        } else if line.starts_with(b"From ") {
            votes.add(std::mem::take(&mut mail));
            is_header = true;
        }
        if !is_header {
            continue;
        }
        // After a long name, the address is on the next line.
        if is_from && mail.from.is_empty() && line.starts_with(b" ") | line.starts_with(b"\t") {
            mail.from.extend(addresses(&String::from_utf8_lossy(line)));
            continue;
        }
        let Some(at) = line.iter().take(16).position(|byte| *byte == b':') else { continue };
        mail.is_begun = true;
        let name = &line[..at];
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        is_from = is("from");
        let value = String::from_utf8_lossy(&line[at + 1..]);
        let value = value.trim();
        let is_of_list = value.get(..13).is_some_and(|start| start.eq_ignore_ascii_case("mailing list "));
        let to = if is("delivered-to") && !is_of_list {
            &mut mail.delivered
        } else if is("x-original-to") {
            &mut mail.before
        } else if is("to") {
            &mut mail.addressed
        } else if is_from {
            &mut mail.from
        } else if is("received") {
            mail.is_received = true;
            continue;
        } else if is("x-gmail-labels") {
            let mut marks = Marks::default();
            marks.gmail_labels(&charset::header_text(value));
            mail.is_sent = ["Sent", "Drafts"].iter().any(|name| marks.folders.contains(*name));
            continue;
        } else if is("list-id") || is("list-post") {
            let inner = value.rsplit_once('<').map_or(value, |(_, inner)| inner).trim_end_matches('>');
            let inner = inner.strip_prefix("mailto:").unwrap_or(inner);
            mail.lists.push(inner.to_lowercase());
            continue;
        } else {
            continue;
        };
        to.extend(addresses(value));
    }
    votes.add(mail);
    votes
}

/// Whom a message was last delivered to, if its header states it.
pub fn last_delivered(message: &[u8]) -> Option<String> {
    const LONGEST: usize = 64 * 1024;
    let head = &message[..message.len().min(LONGEST)];
    let is_empty = |line: &&[u8]| !matches!(line, [] | [b'\r']);
    // Only the lines that matter, because this is asked of every message.
    let matters = |line: &&[u8]| matches!(line.first(), Some(b'D' | b'd' | b'X' | b'x' | b'L' | b'l'));
    let mut lines: Vec<&[u8]> =
        head.split(|byte| *byte == b'\n').take_while(is_empty).filter(matters).collect();
    lines.retain(|line| {
        let names: [&[u8]; 4] = [b"delivered-to:", b"x-original-to:", b"list-id:", b"list-post:"];
        names.iter().any(|name| line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)))
    });
    if lines.is_empty() {
        return None;
    }
    count(&lines.join(&b'\n')).last.into_keys().next()
}

/// The addresses in the value of a header field.
fn addresses(value: &str) -> impl Iterator<Item = String> {
    people(value).into_iter().filter_map(|person| person.email).filter_map(|email| plain(&email))
}

/// An address in lower case, without the part after a `+`, which one person may have many of.
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
            let plans = plan(&heads.map(member), false, &harness::ask()).unwrap();
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

    /// Messages that were delivered to each of these.
    fn to(owners: &[&str]) -> String {
        let mail =
            |owner: &&str| ["From a Tue Jan  2 03:04:05 2024\n", owner, "\nSubject: x\n\nHi.\n\n"].concat();
        owners.iter().map(mail).collect()
    }

    fn delivered(owner: &str) -> String {
        to(&[format!("Delivered-To: {owner}").as_str(); 3])
    }

    /// The accounts, and the names of each account's files. The order of the files does not matter.
    fn accounts(files: &[(&str, String)], is_of_folder: bool, ask: &Ask) -> Vec<(String, Vec<String>)> {
        let open = || -> std::io::Result<Box<dyn ReadFrom + Send>> { Ok(Box::new(Cursor::new(Vec::new()))) };
        let of = |files: &[(&str, String)]| {
            let member = |(label, head): &'_ (&'_ str, String)| (label.to_string(), head.clone());
            let files: Vec<(String, String)> = files.iter().map(member).collect();
            let members: Vec<Member<'_>> = files
                .iter()
                .map(|(label, head)| Member {
                    label,
                    head: head.as_bytes(),
                    size: Some(head.len() as u64),
                    modified_ms: None,
                    open: &open,
                })
                .collect();
            let mut all: Vec<(String, Vec<String>)> = Vec::new();
            for plan in plan(&members, is_of_folder, ask).unwrap() {
                let mut names: Vec<String> = plan.units.iter().map(|at| files[*at].0.clone()).collect();
                assert!(plan.units.is_sorted());
                names.sort();
                all.push((plan.account, names));
            }
            assert_eq!(all.iter().map(|(_, names)| names.len()).sum::<usize>(), files.len());
            all
        };
        let found = of(files);
        let mut turned = files.to_vec();
        turned.reverse();
        assert_eq!(of(&turned), found);
        found
    }

    fn of_files(files: &[(&str, String)]) -> Vec<(String, Vec<String>)> {
        accounts(files, false, &harness::ask())
    }

    fn wanted(all: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        all.iter().map(|(account, files)| ((*account).to_owned(), names(files))).collect()
    }

    const ANA: &str = "ana@a.example";
    const BOB: &str = "bob@b.example";

    #[test]
    fn o4_13_files_of_two_owners_are_two_accounts_and_the_others_lie_beside_one() {
        let sent = to(&["To: eva@example.org"; 5]);
        assert_eq!(
            of_files(&[("ana.mbox", delivered(ANA)), ("bob.mbox", delivered(BOB))]),
            wanted(&[(ANA, &["ana.mbox"]), (BOB, &["bob.mbox"])])
        );
        let files = [
            ("ImapMail/imap.a.example/INBOX", delivered(ANA)),
            ("ImapMail/imap.a.example/Sent", sent.clone()),
            ("ImapMail/imap.b.example/INBOX", delivered(BOB)),
            ("ImapMail/imap.b.example/INBOX.sbd/Work", delivered(BOB)),
            ("ImapMail/imap.b.example/INBOX.sbd/Work.sbd/Drafts", sent.clone()),
            ("Mail/Local Folders/Archive", sent.clone()),
        ];
        assert_eq!(
            of_files(&files),
            wanted(&[
                (ANA, &["ImapMail/imap.a.example/INBOX", "ImapMail/imap.a.example/Sent"]),
                (
                    BOB,
                    &[
                        "ImapMail/imap.b.example/INBOX",
                        "ImapMail/imap.b.example/INBOX.sbd/Work",
                        "ImapMail/imap.b.example/INBOX.sbd/Work.sbd/Drafts",
                        // A folder without a clear owner goes to the owner of most messages.
                        "Mail/Local Folders/Archive",
                    ]
                )
            ])
        );
        // No file identifies its owner.
        assert_eq!(of_files(&[("a", sent.clone()), ("b", sent)])[0].0, "eva@example.org");
    }

    #[test]
    fn o4_13_aliases_lists_and_few_mails_of_others_are_no_accounts() {
        let ana = format!("Delivered-To: {ANA}");
        // An alias appears together with the address in one file, and alone in another.
        let both = to(&[&[ana.as_str(); 6][..], &["Delivered-To: shop@a.example"; 2]].concat());
        let files = [("INBOX", both), ("Shop", delivered("shop@a.example"))];
        assert_eq!(of_files(&files), wanted(&[(ANA, &["INBOX", "Shop"])]));
        // A mailing list delivers to itself first, or is the only recipient if its archive was loaded.
        let list = "list-id: News <news.lists.example>\nDelivered-To: mailing list news@lists.example\nX-Original-To: news@lists.example";
        let files = [
            ("INBOX", delivered(ANA)),
            ("News", to(&[format!("{ana}\n{list}").as_str(); 4])),
            ("archive/News", to(&[list; 9])),
        ];
        assert_eq!(of_files(&files), wanted(&[(ANA, &["INBOX", "News", "archive/News"])]));
        // One message that belonged to another person, and sent messages with a copy to the sender.
        let bob = format!("Delivered-To: {BOB}");
        let files = [
            ("INBOX", to(&[&ana, &ana, &bob, &ana])),
            ("Sent", to(&["To: x@example.org", &bob, "To: x@example.org"])),
        ];
        assert_eq!(of_files(&files), wanted(&[(ANA, &["INBOX", "Sent"])]));
        // One such message does not merge two people.
        let files = [("a", to(&[&ana, &ana, &bob, &ana])), ("b", delivered(BOB))];
        assert_eq!(of_files(&files), wanted(&[(ANA, &["a"]), (BOB, &["b"])]));
    }

    /// Messages from `from` to several people, mostly to Eva, each with the header line `line`.
    fn sent(from: &str, line: &str) -> String {
        let mail = |to: &str| format!("Subject: x\n{line}From: {from}\nTo: {to}@example.org");
        let mails = ["eva", "eva", "eva", "eva", "eva", "jon", "eva, jon@example.org", "kim"].map(mail);
        to(&mails.each_ref().map(String::as_str))
    }

    #[test]
    fn o4_13_sent_mail_is_of_who_sent_it_and_not_of_who_got_most_of_it() {
        let (by_ana, by_bob) = (sent(ANA, ""), sent("Bob <Bob+x@b.example>", ""));
        let (account, whose) = account([by_ana.as_bytes()].into_iter(), &harness::ask());
        assert_eq!((account.as_str(), whose.is_sure), (ANA, true));
        assert_eq!(of_files(&[("Sent.mbox", by_ana.clone())]), wanted(&[(ANA, &["Sent.mbox"])]));
        let folded = sent("=?utf-8?q?A_long_name_of_Ana?=\n <ana@a.example>", "");
        assert_eq!(of_files(&[("Sent.mbox", folded)])[0].0, ANA);
        assert_eq!(
            of_files(&[("ana/Sent", by_ana.clone()), ("bob/Sent", by_bob.clone())]),
            wanted(&[(ANA, &["ana/Sent"]), (BOB, &["bob/Sent"])])
        );
        // One copy that came back does not change this.
        let with_copy = by_ana.clone() + &to(&["From: ana@a.example\nDelivered-To: eva@example.org"]);
        assert_eq!(of_files(&[("Sent.mbox", with_copy)])[0].0, ANA);
        // A message that came through a server was sent to the person who has it, unless Gmail's label contradicts.
        let received = "Received: from a by b\n";
        assert_eq!(of_files(&[("Ana", sent(ANA, received))])[0].0, "eva@example.org");
        let of_gmail = sent(ANA, &format!("{received}X-Gmail-Labels: =?UTF-8?Q?Gesendet,Ge=C3=B6ffnet?=\n"));
        assert_eq!(of_files(&[("Gesendet.mbox", of_gmail)])[0].0, ANA);
        // All are from one person to another: either may have kept them.
        let to_eva = to(&["From: ana@a.example\nTo: eva@example.org"; 9]);
        assert_eq!(of_files(&[("x.mbox", to_eva)])[0].0, "eva@example.org");
    }

    #[test]
    fn o4_13_of_several_owners_files_one_is_of_whom_its_senders_address_names() {
        let files = [
            ("ana.mbox", delivered(ANA)),
            ("bob/1.mbox", delivered(BOB)),
            ("bob/2.mbox", delivered(BOB)),
            // To Bob alone.
            ("bob/Sent.mbox", to(&["From: Ana <ana@a.example>\nTo: bob@b.example"; 3])),
            ("bob/Old.mbox", to(&["From: kim@example.org\nTo: bob@b.example"; 3])),
        ];
        assert_eq!(
            of_files(&files),
            wanted(&[
                (ANA, &["ana.mbox", "bob/Sent.mbox"]),
                (BOB, &["bob/1.mbox", "bob/2.mbox", "bob/Old.mbox"])
            ])
        );
    }

    #[test]
    fn o4_13_a_plan_names_whose_mail_joins_another_account() {
        let notes = |files: &[(&str, String)]| -> Vec<String> {
            let bytes: Vec<(&str, &[u8])> =
                files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
            let plans = harness::plan(&super::super::Mbox, &bytes, harness::ask()).unwrap();
            plans.into_iter().map(|plan| plan.whose.note.unwrap()).collect()
        };
        let of = |address: &str, count: usize| to(&vec![format!("Delivered-To: {address}").as_str(); count]);
        let joins = |votes| {
            format!("bob@b.example (INBOX: {votes} of the 10 messages looked at) is in this account too")
        };
        let told = notes(&[("INBOX", of(ANA, 9) + &of(BOB, 1))]);
        assert!(
            matches!(told.as_slice(), [one] if one.contains(&joins(1)) && one.contains("--account NAME, which names their account")),
            "{told:?}"
        );
        // A single message among very many is a mistake.
        let told = notes(&[("INBOX", of(ANA, 19) + &of(BOB, 1))]);
        assert!(matches!(told.as_slice(), [one] if !one.contains(BOB)), "{told:?}");
        // Half of the messages each: nobody has most of them.
        let told = notes(&[("INBOX", of(ANA, 5) + &of(BOB, 5))]);
        assert!(matches!(told.as_slice(), [one] if one.contains(&joins(5))), "{told:?}");
        assert!(
            told[0].contains(": half of the messages looked at (5 of 10) were delivered to that"),
            "{told:?}"
        );
        let told = notes(&[("INBOX", of(ANA, 4) + &of(BOB, 3) + &of("kim@k.example", 3))]);
        assert!(told[0].contains(": 4 of the 10 messages looked at were delivered to that"), "{told:?}");
        // One of two plans, with an alias.
        let told = notes(&[
            ("a/INBOX", of(ANA, 8) + &of("shop@a.example", 2)),
            ("a/Drafts", to(&["To: eva@example.org"; 3])),
            ("b/INBOX", of(BOB, 9)),
        ]);
        assert!(
            told[0].contains("shop@a.example (a/INBOX: 2 of the 10 messages looked at) is in this"),
            "{told:?}"
        );
        assert!(told[0].contains(" a/Drafts does not show its owner: it is here because"), "{told:?}");
        assert!(told.len() == 2 && !told[1].contains("is in this account too"), "{told:?}");
    }

    #[test]
    fn o4_13_sent_mail_joins_an_inbox_only_if_its_sender_gets_mail_there() {
        let inbox = |to_line: &str, count: usize| {
            to(&vec![format!("Delivered-To: {BOB}\n{to_line}").as_str(); count])
        };
        let by_ana = || ("Sent.mbox", sent(ANA, ""));
        let apart = wanted(&[(ANA, &["Sent.mbox"]), (BOB, &["INBOX"])]);
        assert_eq!(of_files(&[("INBOX", inbox("To: bob@b.example", 9)), by_ana()]), apart);
        // Mail to both of them, and a single forwarded message, prove nothing.
        assert_eq!(of_files(&[("INBOX", inbox("To: ana@a.example, bob@b.example", 9)), by_ana()]), apart);
        let one = inbox("To: bob@b.example", 9) + &inbox("To: ana@a.example", 1);
        assert_eq!(of_files(&[("INBOX", one), by_ana()]), apart);
        // Mail to that address is delivered to the inbox: it is an alias.
        let joined = wanted(&[(BOB, &["INBOX", "Sent.mbox"])]);
        let aliased = || inbox("To: bob@b.example", 8) + &inbox("To: Ana <ana@a.example>", 2);
        assert_eq!(of_files(&[("INBOX", aliased()), by_ana()]), joined);
        // Two people with evidence would be joined by it.
        let eva = to(&["Delivered-To: eva@e.example\nTo: ana@a.example"; 5]);
        let files = [("INBOX", aliased()), ("eva.mbox", eva), by_ana()];
        assert_eq!(
            of_files(&files),
            wanted(&[(ANA, &["Sent.mbox"]), (BOB, &["INBOX"]), ("eva@e.example", &["eva.mbox"])])
        );
    }

    #[test]
    fn o4_13_mail_of_another_person_late_in_a_file_is_seen_by_the_plan() {
        let body = "Hello, and some more words, which make it longer.\n".repeat(4);
        let of = |owner: &str, count: usize| {
            format!("From a Tue Jan  2 03:04:05 2024\nDelivered-To: {owner}\nSubject: x\n\n{body}\n")
                .repeat(count)
        };
        let plans = |text: &str| {
            harness::plan(&super::super::Mbox, &[("all.mbox", text.as_bytes())], harness::ask()).unwrap()
        };
        let told = |text: &str| plans(text)[0].whose.note.clone().unwrap();
        let (few, many) = (of(ANA, 300), of(ANA, 3000));
        assert!(few.len() > PEEK && many.len() as u64 > PEEK as u64 + 2 * WINDOW);
        // Just after the beginning, and only near the end.
        for text in [few + &of(BOB, 200), many.clone() + &of(BOB, 1000)] {
            let plan = &plans(&text)[0];
            let note = plan.whose.note.clone().unwrap();
            assert!(plan.account == ANA && note.contains("Mail of bob@b.example (all.mbox: "), "{note}");
        }
        assert!(!told(&many).contains("is in this account too"));
        // The owner of most of it, not of its beginning.
        let text = of(ANA, 250) + &of(BOB, 1250);
        assert_eq!(plans(&text)[0].account, BOB);
        assert!(told(&text).contains("Mail of ana@a.example (all.mbox: "), "{}", told(&text));
        // A long attachment hides what is at a place, and what is not mail is not taken for it.
        let text = of(ANA, 300) + &"QUJD".repeat(500_000) + "\nFrom here on\nDelivered-To: bob@b.example\n";
        assert!(!told(&text).contains(BOB));
    }

    #[test]
    fn a_message_says_whom_it_was_delivered_to() {
        for (message, wanted) in [
            ("From a Tue Jan  2 03:04:05 2024\nSubject: x\nDelivered-To: Ana@a.example\n\nHi.", Some(ANA)),
            ("delivered-to: ana+x@a.example\r\nDelivered-To: bob@b.example\r\n\r\n", Some(ANA)),
            (
                "X-Original-To: <ana@a.example>\nDelivered-To: news@l.example\nList-Id: <news.l.example>\n\n",
                Some(ANA),
            ),
            ("Subject: x\n\nDelivered-To: ana@a.example\n", None),
            ("To: ana@a.example\n\n", None),
            ("", None),
        ] {
            assert_eq!(last_delivered(message.as_bytes()).as_deref(), wanted, "{message}");
        }
    }

    #[test]
    fn o4_13_a_takeout_is_one_account_and_two_are_two() {
        let gmail = |owner: &str| to(&[format!("X-GM-THRID: 1\nDelivered-To: {owner}").as_str(); 3]);
        let one = [
            ("Takeout/Mail/Inbox.mbox", gmail(ANA) + &gmail(ANA)),
            ("Takeout/Mail/Shop.mbox", gmail("shop@a.example")),
        ];
        assert_eq!(of_files(&one).len(), 1);
        assert_eq!(of_files(&one)[0].0, ANA);
        let two = [("1.zip/Takeout/Mail/a.mbox", gmail(ANA)), ("2.zip/Takeout/Mail/a.mbox", gmail(BOB))];
        assert_eq!(of_files(&two).len(), 2);
        let ask = Ask { source_path: "/home/ana/Takeout/Mail".into(), ..harness::ask() };
        assert_eq!(accounts(&[("a", gmail(ANA) + &gmail(ANA)), ("b", gmail(BOB))], false, &ask).len(), 1);
    }

    #[test]
    fn o4_13_folders_of_single_mails_are_looked_at_together() {
        let mail = |owner: &str| format!("Delivered-To: {owner}\nSubject: x\n\n");
        let sent = || "To: x@example.org\n\n".to_owned();
        let files = [
            ("ana/cur/1:2,S", mail(ANA)),
            ("ana/new/2", mail(ANA)),
            ("ana/cur/3", mail(BOB)),
            ("ana/.Sent/cur/1", sent()),
            ("bob/cur/1", mail(BOB)),
            ("bob/.Sent/cur/1", sent()),
        ];
        assert_eq!(
            accounts(&files, true, &harness::ask()),
            wanted(&[
                (ANA, &["ana/.Sent/cur/1", "ana/cur/1:2,S", "ana/cur/3", "ana/new/2"]),
                (BOB, &["bob/.Sent/cur/1", "bob/cur/1"])
            ])
        );
        // Apple Mail spreads a folder over many.
        let files = [
            ("V9/A/INBOX.mbox/X/Data/Messages/1.emlx", mail(ANA)),
            ("V9/A/INBOX.mbox/X/Data/2/Messages/2001.emlx", mail(ANA)),
            ("V9/A/INBOX.mbox/X/Data/3/Messages/3001.emlx", mail(ANA)),
            ("V9/A/INBOX.mbox/X/Data/4/Messages/4001.emlx", mail(BOB)),
            ("V9/A/Sent.mbox/X/Data/Messages/9.emlx", sent()),
            ("V9/B/INBOX.mbox/X/Data/Messages/1.emlx", mail(BOB)),
        ];
        let found = accounts(&files, true, &harness::ask());
        assert_eq!(
            found.iter().map(|(name, files)| (name.as_str(), files.len())).collect::<Vec<_>>(),
            [(ANA, 5), (BOB, 1)]
        );
    }

    #[test]
    fn o4_13_the_plan_names_both_and_a_name_joins_them() {
        let files = [("a", delivered(ANA)), ("b", delivered(BOB))];
        let bytes: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        let plans = harness::plan(&super::super::Mbox, &bytes, harness::ask()).unwrap();
        for plan in &plans {
            let note = plan.whose.note.as_deref().unwrap();
            assert!(note.contains(ANA) && note.contains(BOB) && note.contains("--account NAME"), "{note}");
            assert!(plan.whose.is_sure);
        }
        let ask = Ask { account: Some("work".to_owned()), ..harness::ask() };
        assert_eq!(accounts(&files, false, &ask), wanted(&[("work", &["a", "b"])]));
    }

    #[test]
    fn a_file_without_its_beginning_is_opened_for_it() {
        let (ana, bob) = (delivered(ANA), delivered(BOB));
        let open = || -> std::io::Result<Box<dyn ReadFrom + Send>> {
            Ok(Box::new(Cursor::new(delivered(BOB).into_bytes())))
        };
        let member = |label, head| Member {
            label,
            head,
            size: Some(bob.len() as u64),
            modified_ms: None,
            open: &open,
        };
        let members =
            [Member { size: Some(ana.len() as u64), ..member("a", ana.as_bytes()) }, member("b", b"")];
        let plans = plan(&members, false, &harness::ask()).unwrap();
        let found: Vec<_> = plans.into_iter().map(|plan| (plan.account, plan.units)).collect();
        assert_eq!(found, [(ANA.to_owned(), vec![0]), (BOB.to_owned(), vec![1])]);
    }

    proptest::proptest! {
        #[test]
        fn o4_13_the_order_of_files_does_not_count(
            files in proptest::collection::btree_map("([ab]/){0,2}[cd][0-9]", proptest::collection::vec(0..5_usize, 0..6), 1..9)
        ) {
            let line = |of: &usize| ["Delivered-To: a@x", "Delivered-To: b@x", "Delivered-To: c@x", "To: d@x", "X-Original-To: a@x"][*of];
            let text = |mails: &Vec<usize>| to(&mails.iter().map(line).collect::<Vec<_>>());
            let files: Vec<(&str, String)> = files.iter().map(|(label, mails)| (label.as_str(), text(mails))).collect();
            // The helper checks both orders of the files, and that each file is in one plan.
            for is_of_folder in [true, false] {
                let found = accounts(&files, is_of_folder, &harness::ask());
                let names: BTreeSet<&String> = found.iter().map(|(account, _)| account).collect();
                proptest::prop_assert_eq!(names.len(), found.len());
            }
        }
    }
}
