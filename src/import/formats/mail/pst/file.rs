//! The nodes and blocks of a PST file ([MS-PST] 2.2). The file is not trusted: the size of every table is checked, trees may only
//! lead downwards, and endless structures are cut off.

use std::collections::HashMap;
use std::io::{self, Read as _};

use super::disguise::Disguise;
use crate::import::format::ReadFrom;

/// The bytes that every PST file begins with.
pub const MAGIC: &[u8] = b"!BDN";
/// How many bytes at the beginning are needed to identify the file.
const HEADER: usize = 564;
/// The size of a page, in bytes.
const PAGE: usize = 512;
/// The most pages that are kept in memory.
const KEPT_PAGES: usize = 4096;
/// The most pages that are read to find one entry. Walking a tree twice needs fewer.
const LOOKED_AT: usize = 64;
/// The most levels of a tree.
const LEVELS: u8 = 8;
/// The most blocks of a node.
const MOST_BLOCKS: usize = 20_000;
/// The most nodes within a node.
const MOST_SUBNODES: usize = 100_000;

/// The kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Outlook before 2003: 32-bit numbers, and text in a code page.
    Ansi,
    /// Outlook 2003 and later.
    Unicode,
    /// `.ost` files with large pages, from Outlook 2013 and later.
    LargePages,
    /// Any other kind.
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

/// A node: an item with data, and possibly with nodes inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Its number. The low five bits are its type.
    pub id: u32,
    /// The block of its data.
    pub data: u64,
    /// The block that lists the nodes inside it; 0 if there are none.
    pub nodes: u64,
    /// The folder that it is in.
    pub parent: u32,
}

/// Types of nodes, from the low five bits of their numbers.
pub const FOLDER: u32 = 2;
pub const MESSAGE: u32 = 4;
pub const ATTACHMENT: u32 = 5;

/// An open file.
pub struct File {
    bytes: Box<dyn ReadFrom + Send>,
    is_ansi: bool,
    disguise: Disguise,
    /// The positions of the roots of the node tree and of the block tree.
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

/// Reads a little-endian number.
pub fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn short(bytes: &[u8]) -> u32 {
    u32::try_from(number(&bytes[..bytes.len().min(4)])).unwrap_or_default()
}

/// The error for a damaged file.
pub fn damaged(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The `length` bytes at `from`, if the file has them.
pub fn part(bytes: &[u8], from: usize, length: usize) -> io::Result<&[u8]> {
    from.checked_add(length).and_then(|end| bytes.get(from..end)).ok_or_else(|| damaged("a part is missing"))
}

impl File {
    /// Opens a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is not a PST file that this program can read.
    pub fn open(mut bytes: Box<dyn ReadFrom + Send>) -> io::Result<Self> {
        let mut head = vec![0; HEADER];
        bytes.read_exact(&mut head)?;
        let is_ansi = match kind_of(&head) {
            Some(Kind::Ansi) => true,
            Some(Kind::Unicode) => false,
            _ => return Err(damaged("it is not a PST file that this version of pdpp can read")),
        };
        let at = |offset: usize| number(&head[offset..offset + if is_ansi { 4 } else { 8 }]);
        let (roots, disguise) = if is_ansi { ([188, 196], 461) } else { ([224, 240], 513) };
        let disguise = Disguise::of(head[disguise])
            .ok_or_else(|| damaged("it is encrypted in a way that only Windows can decrypt"))?;
        Ok(Self { bytes, is_ansi, disguise, roots: roots.map(at), pages: HashMap::new() })
    }

    /// The size of a block number or a position, in bytes.
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

    /// The first entry of a tree whose key is `from` or higher.
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
        *left = left.checked_sub(1).ok_or_else(|| damaged("its tables refer to each other in a circle"))?;
        let page = self.page(at)?;
        if page.level >= above {
            return Err(damaged("its tables refer to each other in a circle"));
        }
        let word = self.word();
        let entry = |index: usize| &page.bytes[index * page.size..(index + 1) * page.size];
        // The lowest bit of a block number has no meaning here, and node numbers do not need it.
        let key = |index: usize| number(&entry(index)[..word]);
        if page.level == 0 {
            let found = (0..page.count).find(|index| key(*index) >= from);
            return Ok(found.map(|index| entry(index).to_vec()));
        }
        // The last child that begins at or before the key, and those after it.
        let begin = (0..page.count).rev().find(|index| key(*index) <= from).unwrap_or(0);
        for index in begin..page.count {
            let below = number(&entry(index)[2 * word..3 * word]);
            if let Some(found) = self.first_below(below, page.level, from, left)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The first node whose number is `from` or higher.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is damaged.
    pub fn next_node(&mut self, from: u32) -> io::Result<Option<Node>> {
        let word = self.word();
        let Some(entry) = self.first(self.roots[0], u64::from(from))? else { return Ok(None) };
        let node = Node {
            id: short(&entry[..word]),
            data: number(part(&entry, word, word)?),
            nodes: number(part(&entry, 2 * word, word)?),
            parent: short(part(&entry, 3 * word, 4)?),
        };
        // A number of more than 32 bits is invalid.
        if node.id < from { Err(damaged("a page of its tables is damaged")) } else { Ok(Some(node)) }
    }

    /// The node with this number.
    ///
    /// # Errors
    /// As for [`File::next_node`], and if the node does not exist.
    pub fn node(&mut self, id: u32) -> io::Result<Node> {
        self.next_node(id)?.filter(|node| node.id == id).ok_or_else(|| damaged("a node is missing"))
    }

    /// A decoded block.
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

    /// The blocks of a node's data, up to `most` bytes in total.
    ///
    /// # Errors
    /// Fails if they cannot be read or are damaged, or with [`io::ErrorKind::FileTooLarge`] if they are larger.
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

    /// The nodes within a node, from the block that lists them.
    ///
    /// # Errors
    /// Fails if they cannot be read or are damaged.
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
                return Err(damaged("a list of nodes is endless"));
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

/// Whether a block lists other blocks. Such blocks are not encoded.
const fn is_internal(id: u64) -> bool {
    id & 2 != 0
}
