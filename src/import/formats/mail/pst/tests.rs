//! Files that a small writer makes, of both kinds and with each encoding, and files with errors.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::disguise::Disguise;
use super::*;
use crate::import::harness::{self, Counts, Kept};

/// A value of a property.
#[derive(Clone)]
enum V {
    /// Text in the file's own encoding: UTF-16, or the code page of an old file.
    T(&'static str),
    B(Vec<u8>),
    I(u32),
    /// Milliseconds since 1970.
    At(i64),
    /// A message within an attachment, by its node.
    Node(u32),
}

/// A node to write.
#[derive(Clone, Default)]
struct N {
    id: u32,
    parent: u32,
    values: Vec<(u16, V)>,
    within: Vec<N>,
    /// The rows of a table, instead of properties.
    rows: Option<Vec<Vec<(u16, V)>>>,
}

struct Writer {
    is_ansi: bool,
    disguise: Disguise,
    /// The longest value that a heap holds. A longer value gets its own node.
    most: usize,
    block: usize,
    bytes: Vec<u8>,
    blocks: BTreeMap<u64, (u64, u16)>,
    nodes: BTreeMap<u32, (u64, u64, u32)>,
    next: u64,
    /// Whether a list names one block repeatedly.
    is_bomb: bool,
}

impl Writer {
    fn new(is_ansi: bool, disguise: Disguise) -> Self {
        Self {
            is_ansi,
            disguise,
            most: 200,
            block: 900,
            bytes: vec![0; 1024],
            blocks: BTreeMap::new(),
            nodes: BTreeMap::new(),
            next: 4,
            is_bomb: false,
        }
    }

    fn word(&self, number: u64) -> Vec<u8> {
        number.to_le_bytes()[..if self.is_ansi { 4 } else { 8 }].to_vec()
    }

    /// Writes a block and returns its number.
    fn put(&mut self, bytes: &[u8], is_internal: bool) -> u64 {
        let id = self.next | if is_internal { 2 } else { 0 };
        self.next += 4;
        let mut bytes = bytes.to_vec();
        if !is_internal {
            self.disguise.put_on(&mut bytes, id);
        }
        self.blocks.insert(id, (self.bytes.len() as u64, u16::try_from(bytes.len()).unwrap()));
        self.bytes.extend(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(64) + 64, 0);
        id
    }

    /// Writes data of any length.
    fn data(&mut self, blocks: &[Vec<u8>]) -> u64 {
        let ids: Vec<u64> = blocks.iter().map(|block| self.put(block, false)).collect();
        let [only] = ids[..] else {
            let mut list = vec![1, 1];
            list.extend(u16::try_from(ids.len()).unwrap().to_le_bytes());
            list.extend([0; 4]);
            list.extend(ids.iter().flat_map(|id| self.word(*id)));
            return self.put(&list, true);
        };
        if !self.is_bomb || blocks[0].len() < 500 {
            return only;
        }
        let list = |writer: &mut Self, level: u8, id: u64| {
            let mut list = vec![1, level];
            list.extend(1000_u16.to_le_bytes());
            list.extend([0; 4]);
            list.extend(writer.word(id).repeat(1000));
            writer.put(&list, true)
        };
        let below = list(self, 1, only);
        list(self, 2, below)
    }

    fn text(&self, text: &str) -> (u16, Vec<u8>) {
        if self.is_ansi {
            (0x1e, encoding_rs::WINDOWS_1252.encode(text).0.into_owned())
        } else {
            (0x1f, text.encode_utf16().flat_map(u16::to_le_bytes).collect())
        }
    }

    /// A value's type, and its number if it is stored in place, or else its bytes.
    fn value(&self, value: &V) -> (u16, Result<u32, Vec<u8>>) {
        match value {
            V::I(number) => (3, Ok(*number)),
            V::T(text) => {
                let (kind, bytes) = self.text(text);
                (kind, Err(bytes))
            }
            V::B(bytes) => (0x102, Err(bytes.clone())),
            V::At(ms) => (0x40, Err(((ms + 11_644_473_600_000) * 10_000).to_le_bytes().to_vec())),
            V::Node(id) => (0xd, Err([id.to_le_bytes(), [0; 4]].concat())),
        }
    }

    /// Writes a node, and returns the blocks of its data and of the nodes inside it.
    fn node(&mut self, node: &N) -> (u64, u64) {
        let mut within: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for inner in &node.within {
            let written = self.node(inner);
            within.insert(inner.id, written);
        }
        let mut heap = HeapWriter { blocks: vec![Vec::new()], block: self.block };
        let root = if let Some(rows) = &node.rows {
            self.table(rows, &mut heap, &mut within)
        } else {
            let mut entries = Vec::new();
            for (id, value) in &node.values {
                let (kind, value) = self.value(value);
                let value = value.unwrap_or_else(|bytes| self.elsewhere(&bytes, &mut heap, &mut within));
                entries
                    .push((*id, [&id.to_le_bytes()[..], &kind.to_le_bytes(), &value.to_le_bytes()].concat()));
            }
            entries.sort();
            heap.tree(2, &entries.into_iter().map(|(_, entry)| entry).collect::<Vec<_>>(), 6)
        };
        let blocks = heap.done(if node.rows.is_some() { 0x7c } else { 0xbc }, root);
        let data = self.data(&blocks);
        (data, self.list(&within))
    }

    fn elsewhere(
        &mut self,
        bytes: &[u8],
        heap: &mut HeapWriter,
        within: &mut BTreeMap<u32, (u64, u64)>,
    ) -> u32 {
        if bytes.len() <= self.most {
            return heap.put(bytes);
        }
        let id = 0x8000 + u32::try_from(within.len()).unwrap() * 0x20 + 0x1f;
        let blocks: Vec<Vec<u8>> = bytes.chunks(self.block).map(<[u8]>::to_vec).collect();
        let data = self.data(&blocks);
        within.insert(id, (data, 0));
        id
    }

    /// Lists nodes within a node, on two levels if there are several.
    fn list(&mut self, within: &BTreeMap<u32, (u64, u64)>) -> u64 {
        let header = |writer: &Self, level: u8, count: usize| {
            let mut list = vec![2, level];
            list.extend(u16::try_from(count).unwrap().to_le_bytes());
            list.resize(if writer.is_ansi { 4 } else { 8 }, 0);
            list
        };
        let all: Vec<_> = within.iter().collect();
        let mut lists = Vec::new();
        for some in all.chunks(2) {
            let mut list = header(self, 0, some.len());
            for (id, (data, nodes)) in some {
                list.extend([u64::from(**id), *data, *nodes].map(|number| self.word(number)).concat());
            }
            lists.push((*some[0].0, self.put(&list, true)));
        }
        match lists[..] {
            [] => 0,
            [(_, only)] => only,
            _ => {
                let mut list = header(self, 1, lists.len());
                for (id, block) in lists {
                    list.extend([self.word(u64::from(id)), self.word(block)].concat());
                }
                self.put(&list, true)
            }
        }
    }

    /// A table: each row has its number, then four bytes per column, then which columns it has.
    fn table(
        &mut self,
        rows: &[Vec<(u16, V)>],
        heap: &mut HeapWriter,
        within: &mut BTreeMap<u32, (u64, u64)>,
    ) -> u32 {
        let columns: std::collections::BTreeSet<u16> = rows.iter().flatten().map(|(id, _)| *id).collect();
        let width = 4 + columns.len() * 4;
        let mut kinds = BTreeMap::new();
        let mut all = Vec::new();
        let mut index = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            let mut bytes = vec![0; width + columns.len().div_ceil(8)];
            for (id, value) in row {
                let at = columns.iter().position(|column| column == id).unwrap();
                let (kind, value) = self.value(value);
                kinds.insert(*id, kind);
                let value = value.unwrap_or_else(|bytes| self.elsewhere(&bytes, heap, within));
                bytes[4 + at * 4..8 + at * 4].copy_from_slice(&value.to_le_bytes());
                bytes[width + at / 8] |= 0x80 >> (at % 8);
            }
            all.extend(bytes);
            let row = u32::try_from(number).unwrap().to_le_bytes();
            let number = if self.is_ansi { row[..2].to_vec() } else { row.to_vec() };
            index.push([row.to_vec(), number].concat());
        }
        let value = if self.is_ansi { 2 } else { 4 };
        let (index, rows) = (heap.tree(4, &index, value), heap.put(&all));
        let mut header = vec![0x7c, u8::try_from(columns.len()).unwrap()];
        let size = width + columns.len().div_ceil(8);
        header.extend(
            [width, width, width, size].iter().flat_map(|at| u16::try_from(*at).unwrap().to_le_bytes()),
        );
        header.extend([index, rows, 0].iter().flat_map(|id| id.to_le_bytes()));
        for (at, id) in columns.iter().enumerate() {
            header.extend(kinds[id].to_le_bytes());
            header.extend(id.to_le_bytes());
            header.extend(u16::try_from(4 + at * 4).unwrap().to_le_bytes());
            header.extend([4, u8::try_from(at).unwrap()]);
        }
        heap.put(&header)
    }

    /// Writes the tree of these entries, and returns the position of its root.
    fn pages(&mut self, entries: Vec<Vec<u8>>, kind: u8) -> u64 {
        let (mut level, mut entries) = (0, entries);
        loop {
            let mut above = Vec::new();
            // Few entries per page, so that there are several levels.
            for some in entries.chunks(5) {
                self.bytes.resize(self.bytes.len().next_multiple_of(512), 0);
                let at = self.bytes.len() as u64;
                let size = some[0].len();
                let mut page = some.concat();
                let tail = if self.is_ansi { 496 } else { 488 };
                page.resize(tail, 0);
                page.extend([u8::try_from(some.len()).unwrap(), 15, u8::try_from(size).unwrap(), level]);
                page.resize(if self.is_ansi { 500 } else { 496 }, 0);
                page.extend([kind, kind]);
                page.resize(512, 0);
                self.bytes.extend(page);
                let key = some[0][..self.word(0).len()].to_vec();
                above.push([key, self.word(0), self.word(at)].concat());
            }
            if let [root] = &above[..] {
                return file::number(&root[2 * self.word(0).len()..]);
            }
            (level, entries) = (level + 1, above);
        }
    }

    fn done(mut self, nodes: &[N]) -> Vec<u8> {
        for node in nodes {
            let (data, within) = self.node(node);
            self.nodes.insert(node.id, (data, within, node.parent));
        }
        let width = if self.is_ansi { 16 } else { 32 };
        let of_node = |(id, (data, nodes, parent)): (&u32, &(u64, u64, u32))| {
            let mut entry = [u64::from(*id), *data, *nodes].map(|number| self.word(number)).concat();
            entry.extend(parent.to_le_bytes());
            entry.resize(width, 0);
            entry
        };
        let nodes = self.nodes.iter().map(of_node).collect();
        let nodes = self.pages(nodes, 0x81);
        let of_block = |(id, (at, length)): (&u64, &(u64, u16))| {
            let mut entry = [self.word(*id), self.word(*at)].concat();
            entry.extend([length.to_le_bytes(), 2_u16.to_le_bytes()].concat());
            entry.resize(if self.is_ansi { 12 } else { 24 }, 0);
            entry
        };
        let blocks = self.blocks.iter().map(of_block).collect();
        let blocks = self.pages(blocks, 0x80);
        let mut bytes = self.bytes;
        bytes[..4].copy_from_slice(b"!BDN");
        bytes[8..12].copy_from_slice(&[b'S', b'M', if self.is_ansi { 14 } else { 23 }, 0]);
        let number = match self.disguise {
            Disguise::Plain => 0,
            Disguise::Permute => 1,
            Disguise::Cyclic => 2,
        };
        if self.is_ansi {
            for (at, value) in [(188, nodes), (196, blocks)] {
                bytes[at..at + 4].copy_from_slice(&value.to_le_bytes()[..4]);
            }
            bytes[461] = number;
        } else {
            for (at, value) in [(224, nodes), (240, blocks)] {
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
            bytes[513] = number;
        }
        bytes
    }
}

struct HeapWriter {
    blocks: Vec<Vec<Vec<u8>>>,
    block: usize,
}

impl HeapWriter {
    fn put(&mut self, bytes: &[u8]) -> u32 {
        let used: usize = self.blocks.last().unwrap().iter().map(|piece| piece.len() + 2).sum();
        if used + bytes.len() > self.block {
            self.blocks.push(Vec::new());
        }
        let block = self.blocks.len() - 1;
        self.blocks[block].push(bytes.to_vec());
        u32::try_from(block << 16 | self.blocks[block].len() << 5).unwrap()
    }

    /// A tree, on two levels if there are several entries.
    fn tree(&mut self, key: usize, entries: &[Vec<u8>], value: usize) -> u32 {
        let mut index = Vec::new();
        for some in entries.chunks(6) {
            let piece = self.put(&some.concat());
            index.push([&some[0][..key], &piece.to_le_bytes()].concat());
        }
        let (level, root) = match &index[..] {
            [] => (0, 0),
            [only] => (0, u32::from_le_bytes(only[key..].try_into().unwrap())),
            several => (1, self.put(&several.concat())),
        };
        let mut header = vec![0xb5, u8::try_from(key).unwrap(), u8::try_from(value).unwrap(), level];
        header.extend(root.to_le_bytes());
        self.put(&header)
    }

    fn done(self, kind: u8, root: u32) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        for (number, pieces) in self.blocks.iter().enumerate() {
            let mut bytes = vec![0, 0];
            if number == 0 {
                bytes.extend([0xec, kind]);
                bytes.extend(root.to_le_bytes());
                bytes.extend([0; 4]);
            }
            let mut offsets = vec![bytes.len()];
            for piece in pieces {
                bytes.extend(piece);
                offsets.push(bytes.len());
            }
            let map = u16::try_from(bytes.len()).unwrap();
            bytes[..2].copy_from_slice(&map.to_le_bytes());
            bytes.extend(u16::try_from(pieces.len()).unwrap().to_le_bytes());
            bytes.extend([0; 2]);
            bytes.extend(offsets.iter().flat_map(|at| u16::try_from(*at).unwrap().to_le_bytes()));
            all.push(bytes);
        }
        all
    }
}

/// 2026-01-31T18:30:05Z, in milliseconds since 1970.
const AT: i64 = 1_769_884_205_000;
const ROOT: u32 = 0x122;
const TOP_FOLDER: u32 = 0x8022;
const INBOX: u32 = 0x8042;
const WORK: u32 = 0x8062;

const HEADERS: &str = "Microsoft Mail Internet Headers Version 2.0\r\nReceived: from a by b; Sat, 31 Jan 2026 18:30:06 +0000\r\n\
                       From: Lem <lem@example.org>\r\nTo: Ana\r\n <ana@example.org>\r\nSubject: Solaris\r\n\
                       Date: Sat, 31 Jan 2026 18:30:05 +0000\r\nMessage-ID: <1@example.org>\r\nMIME-Version: 1.0\r\n\
                       Content-Type: multipart/alternative;\r\n boundary=\"x\"\r\n\r\n";

fn folder(id: u32, parent: u32, name: &'static str) -> N {
    N { id, parent, values: vec![(NAME, V::T(name))], ..N::default() }
}

fn message(number: u32, parent: u32, class: &'static str, values: Vec<(u16, V)>) -> N {
    let values = [vec![(CLASS, V::T(class))], values].concat();
    N { id: number << 5 | MESSAGE, parent, values, ..N::default() }
}

fn frame() -> Vec<N> {
    let mut id = vec![0; 20];
    id.extend(TOP_FOLDER.to_le_bytes());
    vec![
        N {
            id: STORE,
            values: vec![(NAME, V::T("Outlook")), (TOP, V::B(id)), (PASSWORD, V::I(7))],
            ..N::default()
        },
        folder(ROOT, ROOT, ""),
        folder(TOP_FOLDER, ROOT, "Top of Personal Folders"),
        folder(INBOX, TOP_FOLDER, "Posteingang"),
        folder(WORK, INBOX, "Work/2026"),
    ]
}

/// One of each kind of node.
fn nodes() -> Vec<N> {
    let received = message(
        0x10_001,
        INBOX,
        "IPM.Note",
        vec![
            (0x007d, V::T(HEADERS)),
            (0x5d07, V::T("ana@example.org")),
            (0x1000, V::T("Hello Ana,\r\nhow are you?\r\n")),
            (0x1013, V::B(b"<p>Hello <b>Ana</b></p>".to_vec())),
            (0x0e07, V::I(1)),
            (0x1081, V::I(102)),
        ],
    );
    let inner = message(0x7, 0, "IPM.Note", vec![(0x0037, V::T("Inside")), (0x1000, V::T("within"))]);
    let attached = |number: u32, values| N { id: number << 5 | file::ATTACHMENT, values, ..N::default() };
    let recipient =
        |kind, name, address| vec![(0x0c15, V::I(kind)), (0x3001, V::T(name)), (0x39fe, V::T(address))];
    let sent = N {
        within: vec![
            N {
                id: 0x692,
                rows: Some(vec![
                    recipient(1, "Zo\u{e9}", "zoe@example.org"),
                    recipient(2, "'bo@example.org'", "bo@example.org"),
                    vec![(0x0c15, V::I(1)), (0x3001, V::T("Boss")), (0x3003, V::T("/O=X/CN=boss"))],
                ]),
                ..N::default()
            },
            attached(
                0x401,
                vec![
                    (0x3707, V::T("R\u{e9}sum\u{e9}.bin")),
                    (0x370e, V::T("application/pdf")),
                    (0x3701, V::B((0..=255).cycle().take(2000).collect())),
                ],
            ),
            N { within: vec![inner], ..attached(0x402, vec![(0x3701, V::Node(0x7 << 5 | MESSAGE))]) },
        ],
        ..message(
            0x10_002,
            WORK,
            "IPM.Note",
            vec![
                (0x0037, V::T("\u{1}\u{5}Re: Caf\u{e9} \u{201c}noon\u{201d}")),
                (0x0042, V::T("Ana")),
                (0x5d02, V::T("ana@example.org")),
                (0x0039, V::At(AT)),
                (0x1035, V::T("<2@example.org>")),
                (0x1042, V::T("<1@example.org>")),
                (0x1000, V::T("At noon.")),
                (0x0e07, V::I(9)),
                (0x1090, V::I(2)),
            ],
        )
    };
    let key = message(
        0x10_003,
        INBOX,
        "IPM.Note",
        vec![
            (0x0037, V::T("Your sign-in code")),
            (0x0e06, V::At(AT)),
            (0x1000, V::T("Your verification code is 123456.")),
        ],
    );
    let rtf = [&[0, 0, 0, 0, 30, 0, 0, 0][..], b"MELA\0\0\0\0", b"{\\rtf1\\ansi RTF alone\\par}"].concat();
    let alone = message(
        0x10_007,
        WORK,
        "IPM.Note",
        vec![(0x0037, V::T("x")), (0x0e06, V::At(AT)), (0x1009, V::B(rtf))],
    );
    let mut all = frame();
    all.extend([
        received,
        sent,
        key,
        message(0x10_004, INBOX, "IPM.Appointment", vec![]),
        message(0x10_005, INBOX, "IPM.Contact", vec![]),
        message(0x10_006, INBOX, "IPM.Task", vec![]),
        alone,
    ]);
    all
}

const KINDS: [(bool, Disguise); 4] = [
    (false, Disguise::Permute),
    (false, Disguise::Plain),
    (false, Disguise::Cyclic),
    (true, Disguise::Permute),
];

fn import(bytes: &[u8]) -> (Kept, Counts) {
    harness::imported(&Pst, &[("Outlook.pst", bytes)])
}

fn records(kept: &Kept, stream: &str) -> Vec<Value> {
    let of_stream = kept.records.iter().filter(|((_, name, _), _)| name == stream);
    let mut all: Vec<Value> = of_stream.map(|(_, data)| serde_json::from_str(data).unwrap()).collect();
    all.sort_by_key(|record| record["subject"].to_string());
    all
}

#[test]
fn o5_messages_are_the_mails_that_they_were_in_each_kind_of_file() {
    let mut first = None;
    for (is_ansi, disguise) in KINDS {
        let bytes = Writer::new(is_ansi, disguise).done(&nodes());
        assert_eq!(harness::sniff(&Pst, "x", &bytes), Some(Sure::Certain));
        let (kept, counts) = import(&bytes);
        assert_eq!(
            (counts.read, counts.new, counts.bad.len()),
            (7, 4, 0),
            "{is_ansi} {disguise:?} {counts:?}"
        );
        assert_eq!(counts.skipped, [("a contact", 1), ("a task", 1), ("an appointment", 1)].into());
        let messages = records(&kept, "messages");
        let field = |name: &str| messages.iter().map(|record| record[name].clone()).collect::<Vec<_>>();
        let sent = &messages[0];
        assert_eq!(field("subject"), ["Re: Caf\u{e9} \u{201c}noon\u{201d}", "Solaris", "x"]);
        assert_eq!(field("folder"), ["Posteingang/Work 2026", "Inbox", "Posteingang/Work 2026"]);
        assert_eq!(sent["received_at"], "2026-01-31T18:30:05.000Z");
        assert_eq!((&sent["from_name"], &sent["from_email"]), (&"Ana".into(), &"ana@example.org".into()));
        assert_eq!(sent["to"][0], json!({"name": "Zo\u{e9}", "email": "zoe@example.org"}));
        assert_eq!(sent["to"][1]["name"], "Boss");
        assert_eq!(sent["cc"][0]["email"], "bo@example.org");
        assert_eq!(
            (&sent["is_draft"], &sent["is_flagged"], &sent["is_seen"]),
            (&true.into(), &true.into(), &true.into())
        );
        let solaris = &messages[1];
        assert_eq!(
            (&solaris["from_email"], &solaris["is_answered"]),
            (&"lem@example.org".into(), &true.into())
        );
        assert_eq!(solaris["to"], json!([{"name": "Ana", "email": "ana@example.org"}]));
        // A reply is in the thread of the message that it answers.
        assert_eq!(solaris["thread_id"], sent["thread_id"]);
        let bodies: Vec<_> =
            records(&kept, "message_bodies").iter().map(|body| body["body_text"].clone()).collect();
        assert_eq!(bodies, ["At noon.", "Hello Ana,\nhow are you?", "RTF alone"]);
        let attachments = records(&kept, "attachments");
        assert_eq!(attachments.len(), 2);
        let file = attachments.iter().find(|one| one["size_bytes"] == 2000).unwrap();
        assert_eq!(
            (&file["filename"], &file["content_type"]),
            (&"R\u{e9}sum\u{e9}.bin".into(), &"application/pdf".into())
        );
        assert!(attachments.iter().any(|one| one["filename"] == "Inside.eml"), "{attachments:?}");
        // Except for the encoding, files of each kind give the same records.
        let keys: Vec<_> = kept.records.into_keys().collect();
        assert_eq!(*first.get_or_insert(keys.clone()), keys);
    }
}

#[test]
fn o5_6_mail_that_is_a_key_is_kept_apart() {
    let (kept, _) = import(&Writer::new(false, Disguise::Permute).done(&nodes()));
    let keys = records(&kept, "security_messages");
    assert_eq!((keys.len(), &keys[0]["subject"]), (1, &"Your sign-in code".into()));
    assert!(keys[0]["body_text"].as_str().unwrap().contains("123456"));
    let others = ["messages", "message_bodies"].map(|stream| json!(records(&kept, stream)).to_string());
    assert!(others.iter().all(|text| !text.contains("123456")));
}

#[test]
fn o5_a_plain_mail_joins_the_one_of_a_mailbox() {
    let (kept, _) = import(&Writer::new(false, Disguise::Permute).done(&{
        let mut all = frame();
        let headers = "From: lem@example.org\r\nTo: ana@example.org\r\nSubject: Solaris\r\n\
                       Date: Sat, 31 Jan 2026 18:30:05 +0000\r\nMessage-ID: <1@example.org>\r\n";
        all.push(message(
            0x10_001,
            INBOX,
            "IPM.Note",
            vec![(0x007d, V::T(headers)), (0x1000, V::T("Hello\r\n"))],
        ));
        all
    }));
    let mail = "From: lem@example.org\nTo: ana@example.org\nSubject: Solaris\nDate: Sat, 31 Jan 2026 18:30:05 +0000\n\
                Message-ID: <1@example.org>\nContent-Type: text/plain\n\nHello\n";
    let (other, _) = harness::imported(&super::super::Eml, &[("a.eml", mail.as_bytes())]);
    let ids = |kept: &Kept| records(kept, "messages")[0]["id"].clone();
    assert_eq!(ids(&kept), ids(&other));
}

#[test]
fn the_plan_names_the_owner_and_says_that_there_is_a_password() {
    let bytes = Writer::new(false, Disguise::Permute).done(&nodes());
    let plan = harness::plan(&Pst, &[("Outlook.pst", &bytes)], harness::ask()).unwrap().remove(0);
    assert_eq!(plan.account, "ana@example.org");
    assert!(
        plan.whose.is_sure && plan.notes.iter().any(|note| note.contains("password")),
        "{:?}",
        plan.notes
    );
    let mut large = bytes;
    large[10] = 36;
    let refused = harness::plan(&Pst, &[("a.ost", &large)], harness::ask()).map(drop).unwrap_err();
    assert!(refused.to_string().contains("Outlook 2013"), "{refused}");
    large[10] = 99;
    let refused = harness::plan(&Pst, &[("a.ost", &large)], harness::ask()).map(drop).unwrap_err();
    assert!(refused.to_string().contains("unknown kind"), "{refused}");
}

#[test]
fn twice_is_once_and_two_files_that_overlap_are_one() {
    let whole = Writer::new(false, Disguise::Permute).done(&nodes());
    let mut some = nodes();
    some.remove(6);
    let some = Writer::new(false, Disguise::Cyclic).done(&some);
    harness::assert_twice_is_once_in_any_order(&Pst, &[("a.pst", &whole), ("b.pst", &some)]);
    let both = harness::imported(&Pst, &[("a.pst", &whole), ("b.pst", &some)]).0;
    assert_eq!(both.records, harness::imported(&Pst, &[("a.pst", &whole)]).0.records);
}

fn split(bytes: &[u8]) -> (Vec<Raw>, io::Result<End>) {
    let whole = Writer::new(false, Disguise::Plain).done(&frame());
    let plan = harness::plan(&Pst, &[("a.pst", &whole)], harness::ask()).unwrap().remove(0);
    let mut unit = Unit { label: "a.pst", modified_ms: None, bytes: Box::new(harness::InFolder::of(bytes)) };
    let mut all = Vec::new();
    let end = Pst.split(&plan, &mut unit, 0, &mut |raw| {
        assert_eq!(Pst.parse(&plan, &raw), Pst.parse(&plan, &raw));
        all.push(raw);
        ControlFlow::Continue(())
    });
    (all, end)
}

#[test]
fn o4_14_one_block_a_million_times_is_a_bad_item_and_takes_no_memory() {
    let mut all = frame();
    let long = V::B(vec![b'x'; 800]);
    all.push(message(0x10_001, INBOX, "IPM.Note", vec![(0x0e06, V::At(AT)), (0x1013, long)]));
    all.push(message(0x10_002, INBOX, "IPM.Note", vec![(0x0e06, V::At(AT)), (0x1000, V::T("next"))]));
    let bytes = Writer { is_bomb: true, ..Writer::new(false, Disguise::Permute) }.done(&all);
    let (kept, counts) = import(&bytes);
    assert_eq!((counts.read, counts.new, counts.bad), (2, 1, [("larger than 80 MiB", 1)].into()));
    assert_eq!(records(&kept, "message_bodies")[0]["body_text"], "next");
}

#[test]
fn o4_14_a_damaged_item_costs_itself_alone() {
    let whole = Writer::new(false, Disguise::Plain).done(&nodes());
    let mut bytes = whole.clone();
    // The heap of the first message, at its mark.
    let at = memchr::memmem::find(&whole, b"I\0P\0M\0.\0N\0o\0t\0e\0").unwrap();
    let heap = whole[..at].windows(2).rposition(|two| two == [0xec, 0xbc]).unwrap();
    bytes[heap] = 0;
    let (kept, counts) = import(&bytes);
    assert_eq!((counts.read, counts.new, counts.bad), (7, 3, [("damaged", 1)].into()));
    assert_eq!(records(&kept, "messages").len(), 2);
    // A file that breaks off is reported as such.
    assert!(split(&whole[..whole.len() / 2]).1.is_err());
    assert!(split(&whole[..100]).1.is_err());
}

#[test]
fn o4_14_tables_that_lead_to_themselves_have_an_end() {
    let whole = Writer::new(false, Disguise::Plain).done(&nodes());
    for root in [224, 240] {
        let at = usize::try_from(file::number(&whole[root..root + 8])).unwrap();
        for child in 0..2 {
            let mut bytes = whole.clone();
            let place = at + child * 24 + 16;
            bytes[place..place + 8].copy_from_slice(&(at as u64).to_le_bytes());
            let (items, end) = split(&bytes);
            assert!(end.is_err() || items.len() <= 7);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_cause_a_panic(
        at in any::<proptest::sample::Index>(),
        noise in proptest::collection::vec(any::<u8>(), 1..40),
        which in 0_usize..4,
    ) {
        let (is_ansi, disguise) = KINDS[which];
        let mut bytes = Writer::new(is_ansi, disguise).done(&nodes());
        let at = at.index(bytes.len());
        let end = (at + noise.len()).min(bytes.len());
        bytes[at..end].copy_from_slice(&noise[..end - at]);
        let (items, _) = split(&bytes);
        prop_assert!(items.windows(2).all(|two| two[0].next <= two[1].offset));
        let head = &bytes[..bytes.len().min(600)];
        let _ = harness::plan(&Pst, &[("a.pst", head)], harness::ask());
    }

}

#[test]
fn an_import_that_is_cut_off_goes_on() {
    let bytes = Writer::new(false, Disguise::Permute).done(&nodes());
    for limit in 1..8 {
        harness::assert_cut_and_finished_is_whole(&Pst, &bytes, usize::MAX, limit);
    }
}
