//! A PST file's nodes and blocks ([MS-PST] 2.2). Nothing of it is trusted: each table says less than it takes, trees only go down,
//! and what has no end is cut off.

use std::collections::HashMap;
use std::io::{self, Read as _};

use super::disguise::Disguise;
use crate::import::format::ReadFrom;

/// What a file begins with that is one.
pub const MAGIC: &[u8] = b"!BDN";
/// How much of the beginning says what it is, in bytes.
const HEADER: usize = 564;
/// What a page takes, in bytes.
const PAGE: usize = 512;
/// Pages that are kept in memory at most.
const KEPT_PAGES: usize = 4096;
/// Pages that are looked at for one entry at most: twice down a tree is less.
const LOOKED_AT: usize = 64;
/// Levels of a tree at most.
const LEVELS: u8 = 8;
/// Blocks of a node at most.
const MOST_BLOCKS: usize = 20_000;
/// Nodes within a node at most.
const MOST_SUBNODES: usize = 100_000;

/// Which kind of file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of Outlook until 2002: numbers of 32 bits, texts in a code page.
    Ansi,
    /// Of Outlook since 2003.
    Unicode,
    /// Large pages, of `.ost` files of Outlook since 2013.
    LargePages,
    /// Something else.
    Unknown,
}

/// The kind of a file, by its beginning.
pub fn kind_of(head: &[u8]) -> Option<Kind> {
    if !head.starts_with(MAGIC) {
        return None;
    }
    Some(match head.get(10..12).map(number) {
        Some(14 | 15) => Kind::Ansi,
        Some(20..=35) => Kind::Unicode,
        Some(36..=40) => Kind::LargePages,
        _ => Kind::Unknown,
    })
}

/// A node: something that has data, and nodes of its own perhaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Its number: what it is, in the low five bits, and which.
    pub id: u32,
    /// Its data's block.
    pub data: u64,
    /// The block that lists its own nodes; 0 where it has none.
    pub nodes: u64,
    /// The folder that it is in.
    pub parent: u32,
}

/// What a node is, in the low five bits of its number.
pub const FOLDER: u32 = 2;
pub const MESSAGE: u32 = 4;
pub const ATTACHMENT: u32 = 5;

/// An open file.
pub struct File {
    bytes: Box<dyn ReadFrom + Send>,
    is_ansi: bool,
    disguise: Disguise,
    /// Where the roots of the trees of nodes and of blocks lie.
    roots: [u64; 2],
    pages: HashMap<u64, Page>,
}

/// A page of a tree.
#[derive(Debug, Clone)]
struct Page {
    level: u8,
    size: usize,
    count: usize,
    bytes: Vec<u8>,
}

/// Little-endian.
pub fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn short(bytes: &[u8]) -> u32 {
    u32::try_from(number(&bytes[..bytes.len().min(4)])).unwrap_or_default()
}

/// That a file is not what it says.
pub fn damaged(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// `length` bytes at `from`, if they are there.
pub fn part(bytes: &[u8], from: usize, length: usize) -> io::Result<&[u8]> {
    from.checked_add(length).and_then(|end| bytes.get(from..end)).ok_or_else(|| damaged("a part is missing"))
}

impl File {
    /// Opens one.
    ///
    /// # Errors
    /// It cannot be read, or is none that this program reads.
    pub fn open(mut bytes: Box<dyn ReadFrom + Send>) -> io::Result<Self> {
        let mut head = vec![0; HEADER];
        bytes.read_exact(&mut head)?;
        let is_ansi = match kind_of(&head) {
            Some(Kind::Ansi) => true,
            Some(Kind::Unicode) => false,
            _ => return Err(damaged("it is no PST file that this pdpp reads")),
        };
        let at = |offset: usize| number(&head[offset..offset + if is_ansi { 4 } else { 8 }]);
        let (roots, disguise) = if is_ansi { ([188, 196], 461) } else { ([224, 240], 513) };
        let disguise = Disguise::of(head[disguise])
            .ok_or_else(|| damaged("it is encrypted in a way that only Windows can undo"))?;
        Ok(Self { bytes, is_ansi, disguise, roots: roots.map(at), pages: HashMap::new() })
    }

    /// What a number of a block or of a place takes, in bytes.
    const fn word(&self) -> usize {
        if self.is_ansi { 4 } else { 8 }
    }

    fn read_at(&mut self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        self.bytes.skip_to(at)?;
        let mut bytes = vec![0; length];
        self.bytes.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn page(&mut self, at: u64) -> io::Result<Page> {
        if let Some(page) = self.pages.get(&at) {
            return Ok(page.clone());
        }
        let bytes = self.read_at(at, PAGE)?;
        let (tail, kind) = if self.is_ansi { (496, 500) } else { (488, 496) };
        let (count, size, level) = (usize::from(bytes[tail]), usize::from(bytes[tail + 2]), bytes[tail + 3]);
        let is_sound = matches!(bytes[kind], 0x80 | 0x81) && level <= LEVELS && count * size <= tail;
        if !is_sound || size < 3 * self.word() {
            return Err(damaged("a page of its tables is damaged"));
        }
        let page = Page { level, size, count, bytes };
        if self.pages.len() >= KEPT_PAGES {
            self.pages.clear();
        }
        self.pages.insert(at, page.clone());
        Ok(page)
    }

    /// The first entry of a tree whose key is `from` or more.
    fn first(&mut self, root: u64, from: u64) -> io::Result<Option<Vec<u8>>> {
        let mut left = LOOKED_AT;
        self.first_below(root, LEVELS + 1, from, &mut left)
    }

    fn first_below(
        &mut self,
        at: u64,
        above: u8,
        from: u64,
        left: &mut usize,
    ) -> io::Result<Option<Vec<u8>>> {
        *left = left.checked_sub(1).ok_or_else(|| damaged("its tables go round in circles"))?;
        let page = self.page(at)?;
        if page.level >= above {
            return Err(damaged("its tables go round in circles"));
        }
        let word = self.word();
        let entry = |index: usize| &page.bytes[index * page.size..(index + 1) * page.size];
        // Numbers of blocks are the same whatever their lowest bit is, and no node's number needs it here.
        let key = |index: usize| number(&entry(index)[..word]);
        if page.level == 0 {
            let found = (0..page.count).find(|index| key(*index) >= from);
            return Ok(found.map(|index| entry(index).to_vec()));
        }
        // The last child that begins at or before it, and those behind.
        let begin = (0..page.count).rev().find(|index| key(*index) <= from).unwrap_or(0);
        for index in begin..page.count {
            let below = number(&entry(index)[2 * word..3 * word]);
            if let Some(found) = self.first_below(below, page.level, from, left)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The first node whose number is `from` or more.
    ///
    /// # Errors
    /// Where the file cannot be read, or is damaged.
    pub fn next_node(&mut self, from: u32) -> io::Result<Option<Node>> {
        let word = self.word();
        let Some(entry) = self.first(self.roots[0], u64::from(from))? else { return Ok(None) };
        let node = Node {
            id: short(&entry[..word]),
            data: number(part(&entry, word, word)?),
            nodes: number(part(&entry, 2 * word, word)?),
            parent: short(part(&entry, 3 * word, 4)?),
        };
        // A number of more than 32 bits is none.
        if node.id < from { Err(damaged("a page of its tables is damaged")) } else { Ok(Some(node)) }
    }

    /// The node of this number.
    ///
    /// # Errors
    /// As [`File::next_node`]; it is not there.
    pub fn node(&mut self, id: u32) -> io::Result<Node> {
        self.next_node(id)?.filter(|node| node.id == id).ok_or_else(|| damaged("a node is missing"))
    }

    /// A block, without its disguise.
    fn block(&mut self, id: u64) -> io::Result<Vec<u8>> {
        let word = self.word();
        let wanted = id & !1;
        let found = self.first(self.roots[1], wanted)?.filter(|entry| number(&entry[..word]) & !1 == wanted);
        let entry = found.ok_or_else(|| damaged("a block is missing"))?;
        let (at, length) = (number(&entry[word..2 * word]), number(part(&entry, 2 * word, 2)?));
        let mut bytes = self.read_at(at, usize::try_from(length).unwrap_or_default())?;
        if !is_internal(id) {
            self.disguise.take_off(&mut bytes, wanted);
        }
        Ok(bytes)
    }

    /// The blocks of a node's data, of `most` bytes at most.
    ///
    /// # Errors
    /// Where they cannot be read, are damaged, or are more: [`io::ErrorKind::FileTooLarge`].
    pub fn data(&mut self, id: u64, most: usize) -> io::Result<Vec<Vec<u8>>> {
        let (mut blocks, mut left) = (Vec::new(), most);
        self.data_below(id, 2, &mut blocks, &mut left)?;
        Ok(blocks)
    }

    fn data_below(
        &mut self,
        id: u64,
        levels: u8,
        blocks: &mut Vec<Vec<u8>>,
        left: &mut usize,
    ) -> io::Result<()> {
        if id == 0 {
            return Ok(());
        }
        let bytes = self.block(id)?;
        if !is_internal(id) {
            let room = left.checked_sub(bytes.len()).filter(|_| blocks.len() < MOST_BLOCKS);
            *left = room.ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
            blocks.push(bytes);
            return Ok(());
        }
        let [1, level, ..] = bytes[..] else { return Err(damaged("a list of blocks is damaged")) };
        if level == 0 || level > levels {
            return Err(damaged("a list of blocks is damaged"));
        }
        let (word, count) = (self.word(), usize::try_from(number(part(&bytes, 2, 2)?)).unwrap_or_default());
        for below in part(&bytes, 8, count * word)?.chunks(word) {
            self.data_below(number(below), level - 1, blocks, left)?;
        }
        Ok(())
    }

    /// The nodes within a node, by the block that lists them.
    ///
    /// # Errors
    /// Where they cannot be read, or are damaged.
    pub fn nodes_of(&mut self, id: u64) -> io::Result<Vec<Node>> {
        let mut nodes = Vec::new();
        self.nodes_below(id, 1, &mut nodes)?;
        Ok(nodes)
    }

    fn nodes_below(&mut self, id: u64, levels: u8, nodes: &mut Vec<Node>) -> io::Result<()> {
        if id == 0 {
            return Ok(());
        }
        let bytes = self.block(id)?;
        let [2, level, ..] = bytes[..] else { return Err(damaged("a list of nodes is damaged")) };
        if level > levels || !is_internal(id) {
            return Err(damaged("a list of nodes is damaged"));
        }
        let word = self.word();
        let (begin, words) = (if self.is_ansi { 4 } else { 8 }, if level == 0 { 3 } else { 2 });
        let count = usize::try_from(number(part(&bytes, 2, 2)?)).unwrap_or_default();
        for entry in part(&bytes, begin, count * words * word)?.chunks(words * word) {
            if nodes.len() >= MOST_SUBNODES {
                return Err(damaged("a list of nodes has no end"));
            }
            if level == 0 {
                nodes.push(Node {
                    id: short(&entry[..word]),
                    data: number(&entry[word..2 * word]),
                    nodes: number(&entry[2 * word..]),
                    parent: 0,
                });
            } else {
                self.nodes_below(number(&entry[word..]), 0, nodes)?;
            }
        }
        Ok(())
    }
}

/// Whether a block lists others, and has no disguise.
const fn is_internal(id: u64) -> bool {
    id & 2 != 0
}
