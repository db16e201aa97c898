//! The content of a node: a heap of small pieces that hold properties or the rows of a table ([MS-PST] 2.3).

use std::collections::BTreeMap;
use std::io;

use encoding_rs::Encoding;

use super::file::{File, Node, damaged, number, part};

/// The largest heap, in bytes.
const LARGEST: usize = 32 << 20;
/// The most entries of a tree, and the most rows of a table.
const MOST: usize = 50_000;
/// The most levels of a tree.
const LEVELS: u8 = 8;

const TREE: u8 = 0xb5;
const TABLE: u8 = 0x7c;

/// A heap, as its blocks.
struct Heap(Vec<Vec<u8>>);

impl Heap {
    fn read(file: &mut File, data: u64) -> io::Result<Self> {
        let heap = Self(file.data(data, LARGEST)?);
        match heap.0.first() {
            Some(first) if first.get(2) == Some(&0xec) => Ok(heap),
            _ => Err(damaged("a heap is damaged")),
        }
    }

    /// The number of its main piece.
    fn root(&self) -> io::Result<u32> {
        Ok(short(part(&self.0[0], 4, 4)?))
    }

    /// The piece with this number; empty if the number is 0.
    fn piece(&self, id: u32) -> io::Result<&[u8]> {
        if id == 0 {
            return Ok(&[]);
        }
        let (index, block) = ((id >> 5 & 0x7ff) as usize, (id >> 16) as usize);
        let block = self.0.get(block).ok_or_else(|| damaged("a heap is damaged"))?;
        let map = at(part(block, 0, 2)?);
        let count = at(part(block, map, 2)?);
        if id & 0x1f != 0 || index == 0 || index > count {
            return Err(damaged("a heap is damaged"));
        }
        let begin = map + 4 + (index - 1) * 2;
        let (from, to) = (at(part(block, begin, 2)?), at(part(block, begin + 2, 2)?));
        block.get(from..to).ok_or_else(|| damaged("a heap is damaged"))
    }

    /// The entries of a tree in the heap, with keys and values of these sizes.
    fn entries(&self, tree: u32, key: usize, value: usize) -> io::Result<Vec<&[u8]>> {
        let header = part(self.piece(tree)?, 0, 8)?;
        let is_it = header[0] == TREE && usize::from(header[1]) == key && usize::from(header[2]) == value;
        if !is_it || header[3] > LEVELS {
            return Err(damaged("a tree in a heap is damaged"));
        }
        let mut pieces = vec![short(&header[4..8])];
        for _ in 0..header[3] {
            let mut below = Vec::new();
            for piece in pieces {
                for entry in self.piece(piece)?.chunks_exact(key + 4) {
                    below.push(short(&entry[key..]));
                }
                if below.len() > MOST {
                    return Err(damaged("a tree in a heap is endless"));
                }
            }
            pieces = below;
        }
        let mut entries = Vec::new();
        for piece in pieces {
            entries.extend(self.piece(piece)?.chunks_exact(key + value));
            if entries.len() > MOST {
                return Err(damaged("a tree in a heap is endless"));
            }
        }
        Ok(entries)
    }
}

/// Whether a value is in the heap and not in a node.
const fn is_in_heap(place: u32) -> bool {
    place.trailing_zeros() >= 5
}

fn at(bytes: &[u8]) -> usize {
    usize::try_from(number(&bytes[..2])).unwrap_or_default()
}

fn short(bytes: &[u8]) -> u32 {
    u32::try_from(number(&bytes[..4])).unwrap_or_default()
}

/// The location of a value: the value itself, or where it is.
#[derive(Debug, Clone, Copy)]
struct Value {
    kind: u16,
    bits: u64,
    /// Whether the value is stored in these eight bytes.
    is_here: bool,
}

/// Types of values.
const STRING8: u16 = 0x1e;
const UNICODE: u16 = 0x1f;
const BINARY: u16 = 0x102;
const OBJECT: u16 = 0xd;

/// Properties by number, of a node or of a row.
pub struct Properties {
    heap: std::rc::Rc<Heap>,
    values: BTreeMap<u16, Value>,
    nodes: std::rc::Rc<Vec<Node>>,
    /// The charset of texts that do not name one.
    pub charset: Option<&'static Encoding>,
}

impl Properties {
    /// Reads the properties of a node.
    ///
    /// # Errors
    /// Fails if they cannot be read or are damaged.
    pub fn read(file: &mut File, node: &Node) -> io::Result<Self> {
        let heap = Heap::read(file, node.data)?;
        let entries = heap.entries(heap.root()?, 2, 6)?;
        let value = |entry: &[u8]| {
            let [a, b, c, d, ..] = *entry else { return (0, Value { kind: 0, bits: 0, is_here: true }) };
            let kind = u16::from_le_bytes([c, d]);
            (u16::from_le_bytes([a, b]), Value { kind, bits: number(&entry[4..]), is_here: is_small(kind) })
        };
        let values = entries.into_iter().map(value).collect();
        let nodes = std::rc::Rc::new(file.nodes_of(node.nodes)?);
        let mut all = Self { heap: std::rc::Rc::new(heap), values, nodes, charset: None };
        let page = all.number(0x3ffd).filter(|page| *page > 0).or_else(|| all.number(0x3fde));
        all.charset = page.and_then(code_page);
        Ok(all)
    }

    /// The nodes within the node.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The bytes of a property, up to `most` bytes.
    ///
    /// # Errors
    /// Fails if they cannot be read, are damaged or are larger.
    pub fn bytes(&self, file: &mut File, id: u16, most: usize) -> io::Result<Option<Vec<u8>>> {
        let Some(value) = self.values.get(&id) else { return Ok(None) };
        if value.is_here {
            return Ok(Some(value.bits.to_le_bytes().to_vec()));
        }
        let place = u32::try_from(value.bits).unwrap_or_default();
        if is_in_heap(place) {
            return Ok(Some(self.heap.piece(place)?.to_vec()));
        }
        let node = self.node(place)?;
        Ok(Some(file.data(node.data, most)?.concat()))
    }

    /// The node with this number within the node.
    fn node(&self, id: u32) -> io::Result<Node> {
        self.nodes.iter().find(|node| node.id == id).copied().ok_or_else(|| damaged("a node is missing"))
    }

    /// The node that a property refers to: the message within an attachment.
    pub fn object(&self, id: u16) -> Option<Node> {
        let value = self.values.get(&id).filter(|value| value.kind == OBJECT && !value.is_here)?;
        let place = u32::try_from(value.bits).ok().filter(|place| is_in_heap(*place))?;
        self.node(short(self.heap.piece(place).ok()?.get(..4)?)).ok()
    }

    /// Whether a property is bytes and not text.
    pub fn is_binary(&self, id: u16) -> bool {
        self.values.get(&id).is_some_and(|value| value.kind == BINARY)
    }

    /// A text; `None` if there is none or it cannot be read.
    pub fn text(&self, file: &mut File, id: u16, most: usize) -> Option<String> {
        let kind = self.values.get(&id)?.kind;
        let bytes = self.bytes(file, id, most).ok()??;
        let text = match kind {
            UNICODE => {
                let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
                char::decode_utf16(units).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
            }
            STRING8 => self.charset.unwrap_or(encoding_rs::WINDOWS_1252).decode(&bytes).0.into_owned(),
            _ => return None,
        };
        let text: String = text;
        let text = text.trim_end_matches('\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A number or a boolean.
    pub fn number(&self, id: u16) -> Option<u64> {
        let value = self.values.get(&id)?;
        match value.kind {
            2 => Some(value.bits & 0xffff),
            3 => Some(value.bits & 0xffff_ffff),
            0xb => Some(value.bits & 0xff),
            _ => None,
        }
    }

    /// A time, in milliseconds since 1970.
    pub fn time_ms(&self, file: &mut File, id: u16) -> Option<i64> {
        let bytes = self.bytes(file, id, 8).ok()?.filter(|bytes| bytes.len() >= 8)?;
        let since_1601 = i64::try_from(number(&bytes)).ok()?;
        (since_1601 > 0).then(|| since_1601 / 10_000 - 11_644_473_600_000)
    }

    /// The rows of a table in a node within the node.
    ///
    /// # Errors
    /// Fails if the table cannot be read or is damaged.
    pub fn rows(&self, file: &mut File, id: u32) -> io::Result<Vec<Self>> {
        let Ok(table) = self.node(id) else { return Ok(Vec::new()) };
        let heap = std::rc::Rc::new(Heap::read(file, table.data)?);
        let nodes = std::rc::Rc::new(file.nodes_of(table.nodes)?);
        let header = heap.piece(heap.root()?)?;
        if header.first() != Some(&TABLE) {
            return Err(damaged("a table is damaged"));
        }
        let columns = part(header, 22, usize::from(*part(header, 1, 1)?.first().unwrap_or(&0)) * 8)?;
        let (bits, size) = (at(part(header, 6, 2)?), at(part(header, 8, 2)?));
        let (index, rows) = (short(part(header, 10, 4)?), short(part(header, 14, 4)?));
        if size == 0 || index == 0 || rows == 0 {
            return Ok(Vec::new());
        }
        // A row number has four bytes, or two in an old file.
        let entries = heap.entries(index, 4, 4).or_else(|_| heap.entries(index, 4, 2))?;
        let blocks = if is_in_heap(rows) {
            vec![heap.piece(rows)?.to_vec()]
        } else {
            let node =
                nodes.iter().find(|node| node.id == rows).ok_or_else(|| damaged("a node is missing"))?;
            file.data(node.data, LARGEST)?
        };
        let all: Vec<&[u8]> = blocks.iter().flat_map(|block| block.chunks_exact(size)).collect();
        let mut found = Vec::new();
        for entry in entries {
            let Some(row) = all.get(usize::try_from(number(&entry[4..])).unwrap_or(usize::MAX)) else {
                continue;
            };
            let mut values = BTreeMap::new();
            for column in columns.chunks_exact(8) {
                let (kind, id) = (at(&column[..2]), at(&column[2..4]));
                let (from, length, bit) = (at(&column[4..6]), usize::from(column[6]), usize::from(column[7]));
                let is_there = row.get(bits + bit / 8).is_some_and(|byte| byte & (0x80 >> (bit % 8)) != 0);
                let Some(bytes) = from.checked_add(length).and_then(|end| row.get(from..end)) else {
                    continue;
                };
                if let (true, Ok(kind), Ok(id)) = (is_there, u16::try_from(kind), u16::try_from(id)) {
                    values.insert(
                        id,
                        Value { kind, bits: number(bytes), is_here: is_small(kind) || length == 8 },
                    );
                }
            }
            found.push(Self {
                heap: std::rc::Rc::clone(&heap),
                values,
                nodes: std::rc::Rc::clone(&nodes),
                charset: self.charset,
            });
        }
        Ok(found)
    }
}

/// Whether values of this type are no larger than a reference to a value.
const fn is_small(kind: u16) -> bool {
    matches!(kind, 2 | 3 | 4 | 0xa | 0xb)
}

/// The charset of a Windows code page.
pub fn code_page(page: u64) -> Option<&'static Encoding> {
    let name = match page {
        874 | 1250..=1258 => format!("windows-{page}"),
        932 => "shift_jis".to_owned(),
        936 | 54936 => "gb18030".to_owned(),
        949 | 51949 => "euc-kr".to_owned(),
        950 => "big5".to_owned(),
        20866 => "koi8-r".to_owned(),
        21866 => "koi8-u".to_owned(),
        28591..=28606 => format!("iso-8859-{}", page - 28590),
        50220..=50222 => "iso-2022-jp".to_owned(),
        51932 => "euc-jp".to_owned(),
        65001 => "utf-8".to_owned(),
        _ => return None,
    };
    Encoding::for_label(name.as_bytes())
}
