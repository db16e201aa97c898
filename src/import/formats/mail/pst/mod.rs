//! Outlook's files: `.pst`, and `.ost` from Outlook up to 2010. Their messages are converted back to mail messages ([`letter`]).
//!
//! The files are read by pdpp's own code. Microsoft's `outlook-pst` crate reads them too, but it trusts their content: if a list
//! of blocks names one block a million times, or a tree is circular, it allocates memory until the process is killed.

mod disguise;
mod file;
mod heap;
mod letter;
mod rtf;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;

use self::file::{FOLDER, File, Kind, MESSAGE, Node, kind_of};
use self::heap::Properties;
use super::facts::Facts;
use super::{VERSION, account, folder, message};
use crate::import::format::{
    Ask, Bad, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};

/// The `.pst` and `.ost` formats.
pub struct Pst;

/// The node of the file itself.
const STORE: u32 = 0x21;
/// Properties: the class of an item, a name, the checksum of a password, and the folder that contains all the folders that a user
/// sees.
const CLASS: u16 = 0x001a;
const NAME: u16 = 0x3001;
const PASSWORD: u16 = 0x67ff;
const TOP: u16 = 0x35e0;

/// How many messages are read to find their owner.
const LOOKED_AT: usize = 200;
/// How deeply folders are nested at most, and how many folder names are kept.
const DEEPEST: usize = 32;
const MOST_FOLDERS: usize = 10_000;
/// The note about attachments, whose bytes are not stored in one piece in the file.
const ATTACHMENTS_STAY: &str = "Attachments in Outlook files are kept only with --copy-attachments. Without it, only their names, \
                                types and sizes are kept.";
/// The longest name, in bytes.
const LONGEST_NAME: usize = 4096;

/// Items that are not mail: the beginning of their class, and the reason that is reported.
const OTHERS: [(&str, &str); 8] = [
    ("IPM.Appointment", "an appointment"),
    ("IPM.Contact", "a contact"),
    ("IPM.DistList", "a list of contacts"),
    ("IPM.Task", "a task"),
    ("IPM.StickyNote", "a note"),
    ("IPM.Activity", "a journal entry"),
    ("IPM.Microsoft", "an Outlook setting"),
    ("IPM.Configuration", "an Outlook setting"),
];
/// The reason for other items that are not mail.
const UNKNOWN: &str = "an item that is not mail";
/// How the facts of an item begin that is skipped or cannot be read, before the reason.
const LEFT_OUT: &str = "left out: ";
const BAD: [&str; 2] = ["damaged", "larger than 80 MiB"];

impl Format for Pst {
    fn name(&self) -> &'static str {
        "pst"
    }

    fn title(&self) -> &'static str {
        "Outlook mail (.pst, .ost)"
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn counts_items(&self) -> bool {
        true
    }

    fn is_by_file(&self) -> bool {
        true
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        kind_of(peek.head).map(|_| Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let (mut heads, mut notes) = (Vec::new(), vec![ATTACHMENTS_STAY.to_owned()]);
        for member in members {
            let head = member.beginning().map_err(|error| Refused::Unreadable(error.to_string()))?;
            let why = match kind_of(&head) {
                Some(Kind::LargePages) => {
                    "is an .ost file from Outlook 2013 or later, which pdpp cannot read. Export it in Outlook: File, Open & \
                     Export, Import/Export, Export to a file, Outlook Data File (.pst)"
                }
                Some(Kind::Ansi | Kind::Unicode) => {
                    let looked = (member.open)().and_then(look_at).unwrap_or_default();
                    // An `.ost` file has another value in this property.
                    if looked.has_password && head.get(8..10) == Some(b"SM") {
                        notes.push(format!(
                            "{} has a password that Outlook asks for. It does not encrypt the messages, so they are read without it.",
                            member.label
                        ));
                    }
                    heads.push(looked.head);
                    continue;
                }
                _ => "is an Outlook file of an unknown kind",
            };
            return Err(Refused::Unfit { why: format!("{} {why}", member.label) });
        }
        let files: Vec<account::File<'_>> = heads
            .iter()
            .zip(members)
            .enumerate()
            .map(|(at, (head, member))| account::File { at, head, set: member.label })
            .collect();
        let mut plans = account::plans_of(false, &files, ask)?;
        for plan in &mut plans {
            plan.notes.extend(notes.iter().cloned());
        }
        Ok(plans)
    }

    fn split(&self, _plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let mut file = File::open(unit.bytes.apart().ok_or(io::ErrorKind::Unsupported)?.anywhere()?)?;
        let top = top(&mut file);
        let mut folders = HashMap::new();
        let mut end = from;
        while let Ok(next) = u32::try_from(end) {
            let Some(node) = file.next_node(next)? else { break };
            end = u64::from(node.id) + 1;
            if node.id & 0x1f != MESSAGE {
                continue;
            }
            let facts =
                Facts { folder: folder_of(&mut file, node.parent, top, &mut folders), ..Facts::default() };
            let offset = u64::from(node.id);
            let raw = match item(&mut file, &node, facts) {
                Ok((bytes, facts)) => Raw { offset, next: end, line: None, bytes, facts, copy: 0 },
                Err(error) => {
                    let why = match error.kind() {
                        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => BAD[0],
                        io::ErrorKind::FileTooLarge => BAD[1],
                        _ => return Err(error),
                    };
                    // The number tells such items apart, which would otherwise seem equal.
                    let bytes = node.id.to_be_bytes().to_vec();
                    Raw { offset, next: end, line: None, bytes, facts: why.to_owned(), copy: 0 }
                }
            };
            if out(raw).is_break() {
                break;
            }
        }
        Ok(End { at: end })
    }

    fn parse(&self, _plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        if let Some(what) = raw.facts.strip_prefix(LEFT_OUT) {
            let known = OTHERS.iter().map(|(_, what)| *what).find(|known| *known == what);
            return Ok(Parsed::Skipped(known.unwrap_or(UNKNOWN)));
        }
        if let Some(why) = BAD.iter().find(|why| **why == raw.facts) {
            return Err(Bad(why));
        }
        message::parse(false, raw)
    }

    fn join(&self, stream: &str, data: &str, sightings: &[&str]) -> String {
        message::join(stream, data, sightings)
    }

    fn is_whole_alone(&self) -> bool {
        true
    }

    fn shares(&self, stream: &str) -> bool {
        stream == "labels"
    }

    fn add_sighting(&self, _stream: &str, first: &str, second: &str) -> String {
        message::add_sighting(first, second)
    }
}

/// What a first look at a file finds.
#[derive(Default)]
struct Looked {
    /// The headers of some messages, one after another.
    head: Vec<u8>,
    has_password: bool,
}

fn look_at(bytes: Box<dyn crate::import::format::ReadFrom + Send>) -> io::Result<Looked> {
    let mut looked = Looked::default();
    // A compressed file in an archive can only be read from the beginning.
    if !bytes.goes_back() {
        return Ok(looked);
    }
    let mut file = File::open(bytes)?;
    let store = file.node(STORE)?;
    let store = Properties::read(&mut file, &store)?;
    looked.has_password = store.number(PASSWORD).is_some_and(|check| check != 0);
    let (mut next, mut count) = (0, 0);
    while count < LOOKED_AT {
        let Some(node) = file.next_node(next)? else { break };
        let Some(behind) = node.id.checked_add(1) else { break };
        next = behind;
        if node.id & 0x1f != MESSAGE {
            continue;
        }
        count += 1;
        if let Ok(message) = Properties::read(&mut file, &node) {
            looked.head.extend_from_slice(letter::delivery(&mut file, &message).as_bytes());
            looked.head.extend_from_slice(b"\nFrom \n");
        }
    }
    Ok(looked)
}

/// The folder that contains all the folders that a user sees.
fn top(file: &mut File) -> Option<u32> {
    let store = file.node(STORE).ok()?;
    let store = Properties::read(file, &store).ok()?;
    let id = store.bytes(file, TOP, LONGEST_NAME).ok()??;
    Some(u32::from_le_bytes(id.get(20..24)?.try_into().ok()?))
}

/// The path of a folder, in the names that its file uses.
fn folder_of(
    file: &mut File,
    id: u32,
    top: Option<u32>,
    known: &mut HashMap<u32, Option<String>>,
) -> Option<String> {
    if let Some(path) = known.get(&id) {
        return path.clone();
    }
    let (mut names, mut at) = (Vec::new(), id);
    for _ in 0..DEEPEST {
        if at & 0x1f != FOLDER || Some(at) == top {
            break;
        }
        let Ok(node) = file.node(at) else { break };
        let name =
            Properties::read(file, &node).ok().and_then(|folder| folder.text(file, NAME, LONGEST_NAME));
        // The root folder has no name and is its own parent.
        let Some(name) = name.filter(|_| node.parent != at) else { break };
        names.push(name.replace('/', " "));
        at = node.parent;
    }
    // The folders above this one in an `.ost` file belong to Outlook, not to the user.
    if let Some(top) = names.iter().position(|name| name == "IPM_SUBTREE") {
        names.truncate(top);
    }
    names.reverse();
    let path = (!names.is_empty()).then(|| folder::folder(&names.join("/")));
    if known.len() < MOST_FOLDERS {
        known.insert(id, path.clone());
    }
    path
}

/// The bytes and the facts of an item.
fn item(file: &mut File, node: &Node, mut facts: Facts) -> io::Result<(Vec<u8>, String)> {
    let message = Properties::read(file, node)?;
    let class = message.text(file, CLASS, LONGEST_NAME).unwrap_or_default();
    let begins =
        |start: &str| class.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start));
    let is_mail =
        ["IPM.Note", "IPM.Post", "IPM.Schedule", "REPORT.", "IPM.Outlook.Recall"].into_iter().any(begins);
    if !is_mail && !class.is_empty() && !class.eq_ignore_ascii_case("IPM") {
        let what = OTHERS.iter().find(|(start, _)| begins(start)).map_or(UNKNOWN, |(_, what)| what);
        return Ok((node.id.to_be_bytes().to_vec(), format!("{LEFT_OUT}{what}")));
    }
    facts.flags = Some(letter::flags(&message));
    let bytes = letter::of(file, &message)?;
    Ok((bytes, serde_json::to_string(&facts).unwrap_or_default()))
}
