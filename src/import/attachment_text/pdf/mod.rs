//! The text of a PDF file.
//!
//! It is not read by a library, because the file can come from anyone: of the existing ones, one inflates
//! an object stream without a limit, one parses all objects of a file at once and as often as it names
//! them, and one recurses without a limit. Finding text needs little of the format: objects are found by
//! searching the file, as all readers do with a damaged one, and drawing is followed as far as it places
//! words.
//!
//! Everything is paid from the budget: searching, parsing, inflating, drawing, and drawing again. Nesting
//! has a limit. A file with a password is not read, not even one that an empty password opens.

mod filter;
mod font;
mod object;
mod page;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use memchr::memmem;

use super::{Budget, HEAD, Stop, Text};
use object::{Dict, Lexer, Object};

/// The most objects.
const MOST_OBJECTS: usize = 250_000;
/// The most pages, and the most of those that nothing refers to.
const MOST_PAGES: usize = 5_000;
const MOST_LOST: usize = 100;
/// The most bytes of inflated object streams.
const MOST_PACKED: usize = 24 << 20;
/// The longest chain of references.
const LONGEST_CHAIN: usize = 16;

/// Whether a file begins like a PDF.
pub fn is(head: &[u8]) -> bool {
    memmem::find(&head[..head.len().min(HEAD)], b"%PDF-").is_some()
}

pub fn read(bytes: &[u8], budget: &mut Budget, text: &mut Text) -> Result<(), Stop> {
    let file = File::open(bytes, budget)?;
    let pages = file.pages(budget)?;
    if pages.is_empty() {
        return Err(Stop::Failed);
    }
    let mut is_damaged = !has_end(bytes);
    let mut drawing = page::Drawing::new(&file);
    for page in &pages {
        match drawing.page(page, budget, text) {
            // One page that cannot be read does not affect the others.
            Ok(()) | Err(Stop::Unsupported | Stop::Encrypted) => {}
            Err(Stop::Failed) => is_damaged = true,
            Err(stop) => return Err(stop),
        }
        text.line()?;
        is_damaged = is_damaged || text.0.is_empty() && file.lacks(page, budget)?;
    }
    // If a file has lost a part, the lack of text does not mean that it had none.
    if is_damaged && text.0.trim().is_empty() { Err(Stop::Failed) } else { Ok(()) }
}

/// Where an object is.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// In the file, after its `obj`.
    File(usize),
    /// In the object stream with this index, from this byte on.
    Packed(usize, usize),
}

/// A file with a list of its objects.
struct File<'a> {
    bytes: &'a [u8],
    places: HashMap<u32, Place>,
    /// The inflated object streams.
    packed: Vec<Vec<u8>>,
    packed_bytes: usize,
    /// The last streams whose filters were undone.
    undone: RefCell<Vec<(u32, Rc<Vec<u8>>)>>,
}

/// A stream: its dictionary, and its bytes as they are in the file.
struct Stream<'a> {
    dict: Dict,
    bytes: &'a [u8],
}

/// A page. Its content is read when it is drawn, so that not all pages are in memory.
struct Page {
    number: u32,
    /// The object with its resources: the page itself, or one that contains it.
    resources_of: u32,
}

impl<'a> File<'a> {
    fn open(bytes: &'a [u8], budget: &mut Budget) -> Result<Self, Stop> {
        // Searching the bytes costs a small part of what parsing costs.
        budget.pay(bytes.len() / 8)?;
        if is_encrypted(bytes) {
            return Err(Stop::Encrypted);
        }
        let mut file = Self {
            bytes,
            places: HashMap::new(),
            packed: Vec::new(),
            packed_bytes: 0,
            undone: RefCell::default(),
        };
        let (mut at, mut has_end) = (0, true);
        // Later definitions are from later versions of the file.
        while let Some(found) = memmem::find(&bytes[at..], b"obj") {
            let begin = at + found;
            at = begin + 3;
            let Some(number) = number_before(&bytes[..begin]) else { continue };
            if file.places.len() == MOST_OBJECTS {
                return Err(Stop::TooLarge);
            }
            file.places.insert(number, Place::File(at));
            // What is in a stream is not an object of the file.
            let next = memmem::find(&bytes[at..], b"obj").map_or(bytes.len(), |next| at + next);
            let Some(stream) = memmem::find(&bytes[at..next], b"stream") else { continue };
            if memmem::find(&bytes[at..at + stream], b"ObjStm").is_some() {
                match file.unpack(at, budget) {
                    Ok(()) | Err(Stop::Failed | Stop::Unsupported) => {}
                    Err(stop) => return Err(stop),
                }
            }
            let behind = at + stream + 6;
            // A search that found nothing up to the end is not repeated.
            let end = if has_end { memmem::find(&bytes[behind..], b"endstream") } else { None };
            has_end = end.is_some();
            at = end.map_or(behind, |end| behind + end + 9);
        }
        Ok(file)
    }

    /// Lists the objects of the object stream after `at`.
    fn unpack(&mut self, at: usize, budget: &mut Budget) -> Result<(), Stop> {
        let Some(stream) = self.stream_at(at, budget)? else { return Ok(()) };
        if stream.dict.get("Type").and_then(Object::name) != Some(b"ObjStm") {
            return Ok(());
        }
        let whole = |name: &str, budget: &mut Budget| {
            let object = stream.dict.get(name).map(|object| self.resolved(object, budget)).transpose();
            object.map(|object| object.and_then(|object| object.whole()))
        };
        let (Some(first), Some(count)) = (whole("First", budget)?, whole("N", budget)?) else {
            return Err(Stop::Failed);
        };
        let bytes = filter::undone(stream.bytes, &stream.dict, budget)?;
        self.packed_bytes += bytes.len();
        if self.packed_bytes > MOST_PACKED {
            return Err(Stop::TooLarge);
        }
        let mut lexer = Lexer::new(&bytes, 0);
        let stream = self.packed.len();
        for _ in 0..count {
            let number = lexer.object(budget)?.and_then(|object| object.whole());
            let offset = lexer.object(budget)?.and_then(|object| object.whole());
            let (Some(number), Some(offset)) = (number, offset) else { break };
            if self.places.len() == MOST_OBJECTS {
                return Err(Stop::TooLarge);
            }
            if let Ok(number) = u32::try_from(number) {
                self.places.insert(number, Place::Packed(stream, first.saturating_add(offset)));
            }
        }
        self.packed.push(bytes);
        Ok(())
    }

    /// Whether a page, or something that it draws, is missing or incomplete.
    fn lacks(&self, page: &Page, budget: &mut Budget) -> Result<bool, Stop> {
        let Object::Dict(dict) = self.object(page.number, budget)? else { return Ok(true) };
        let contents = match dict.get("Contents") {
            Some(Object::Reference(number)) => match self.object(*number, budget)? {
                Object::Array(all) => all,
                _ => vec![Object::Reference(*number)],
            },
            Some(Object::Array(all)) => all.clone(),
            _ => Vec::new(),
        };
        for part in contents {
            let Object::Reference(number) = part else { continue };
            let is_there = self.places.contains_key(&number);
            if !is_there || matches!(self.undone(number, budget), Err(Stop::Failed)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The object with this number.
    fn object(&self, number: u32, budget: &mut Budget) -> Result<Object, Stop> {
        let mut lexer = match self.places.get(&number) {
            Some(Place::File(at)) => Lexer::new(self.bytes, *at),
            Some(Place::Packed(stream, at)) => {
                Lexer::new(self.packed.get(*stream).map(Vec::as_slice).unwrap_or_default(), *at)
            }
            None => return Ok(Object::Null),
        };
        Ok(lexer.object(budget)?.unwrap_or(Object::Null))
    }

    /// The object itself, or the one that it refers to.
    fn resolved<'o>(&self, object: &'o Object, budget: &mut Budget) -> Result<Cow<'o, Object>, Stop> {
        let mut object = Cow::Borrowed(object);
        for _ in 0..LONGEST_CHAIN {
            let Object::Reference(number) = *object else { return Ok(object) };
            object = Cow::Owned(self.object(number, budget)?);
        }
        Err(Stop::Failed)
    }

    /// The resolved entry of a dictionary with this name.
    fn get<'o>(
        &self,
        dict: &'o Dict,
        name: &str,
        budget: &mut Budget,
    ) -> Result<Option<Cow<'o, Object>>, Stop> {
        dict.get(name).map(|object| self.resolved(object, budget)).transpose()
    }

    /// The resolved entry, if it is a dictionary.
    fn dict(&self, dict: &Dict, name: &str, budget: &mut Budget) -> Result<Option<Dict>, Stop> {
        Ok(match self.get(dict, name, budget)?.map(Cow::into_owned) {
            Some(Object::Dict(dict)) => Some(dict),
            _ => None,
        })
    }

    /// The stream that begins after `at`, if there is one.
    fn stream_at(&self, at: usize, budget: &mut Budget) -> Result<Option<Stream<'a>>, Stop> {
        let mut lexer = Lexer::new(self.bytes, at);
        let Some(Object::Dict(mut dict)) = lexer.object(budget)? else { return Ok(None) };
        lexer.skip_blanks();
        let rest = &self.bytes[lexer.at..];
        let Some(rest) = rest.strip_prefix(b"stream") else { return Ok(None) };
        let rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")).unwrap_or(rest);
        let length = self.get(&dict, "Length", budget)?.and_then(|length| length.whole());
        let ends_there = |length: &usize| {
            rest.get(*length..).is_some_and(|behind| behind.trim_ascii_start().starts_with(b"endstream"))
        };
        let length = if let Some(length) = length.filter(ends_there) {
            length
        } else {
            let end = memmem::find(rest, b"endstream").unwrap_or(rest.len());
            budget.pay(end)?;
            end
        };
        // The filters may be in another object.
        for name in ["Filter", "DecodeParms"] {
            if let Some(object) = self.get(&dict, name, budget)? {
                let object = match &*object {
                    Object::Array(all) => {
                        let all: Result<Vec<Object>, Stop> =
                            all.iter().map(|one| self.resolved(one, budget).map(Cow::into_owned)).collect();
                        Object::Array(all?)
                    }
                    one => one.clone(),
                };
                dict.set(name, object);
            }
        }
        Ok(Some(Stream { dict, bytes: &rest[..length] }))
    }

    /// The stream with this number.
    fn stream(&self, number: u32, budget: &mut Budget) -> Result<Option<Stream<'a>>, Stop> {
        match self.places.get(&number) {
            Some(Place::File(at)) => self.stream_at(*at, budget),
            _ => Ok(None),
        }
    }

    /// A stream's bytes without its filters; a repeated request returns the same bytes.
    fn undone(&self, number: u32, budget: &mut Budget) -> Result<Rc<Vec<u8>>, Stop> {
        const KEPT: usize = 8;
        const LARGEST_KEPT: usize = 1 << 20;
        if let Some((_, known)) = self.undone.borrow().iter().find(|(known, _)| *known == number) {
            return Ok(Rc::clone(known));
        }
        let Some(stream) = self.stream(number, budget)? else { return Ok(Rc::default()) };
        let bytes = Rc::new(filter::undone(stream.bytes, &stream.dict, budget)?);
        if bytes.len() <= LARGEST_KEPT {
            let mut kept = self.undone.borrow_mut();
            if kept.len() == KEPT {
                kept.remove(0);
            }
            kept.push((number, Rc::clone(&bytes)));
        }
        Ok(bytes)
    }

    /// The root of all pages: the last one that the file names or, if its end is lost, an object that
    /// claims to be the root.
    fn root(&self, budget: &mut Budget) -> Result<Option<Dict>, Stop> {
        let named = memmem::rfind_iter(self.bytes, b"/Root").take(LONGEST_CHAIN);
        for at in named {
            let mut lexer = Lexer::new(self.bytes, at + 5);
            let (number, generation, reference) =
                (lexer.object(budget)?, lexer.object(budget)?, lexer.object(budget)?);
            let is_reference = matches!(reference, Some(Object::Word(word)) if word == b"R");
            let number =
                number.filter(|_| is_reference && generation.is_some()).and_then(|number| number.whole());
            let Some(number) = number.and_then(|number| u32::try_from(number).ok()) else { continue };
            if let Object::Dict(root) = self.object(number, budget)?
                && root.get("Pages").is_some()
            {
                return Ok(Some(root));
            }
        }
        Ok(self.of_type(b"Catalog", 1, budget)?.pop().map(|(_, root)| root))
    }

    /// The first dictionaries of a type, with their numbers.
    fn of_type(&self, kind: &[u8], most: usize, budget: &mut Budget) -> Result<Vec<(u32, Dict)>, Stop> {
        let mut numbers: Vec<u32> = self.places.keys().copied().collect();
        numbers.sort_unstable();
        let mut found = Vec::new();
        for number in numbers {
            match self.object(number, budget) {
                Ok(Object::Dict(dict)) if dict.get("Type").and_then(Object::name) == Some(kind) => {
                    found.push((number, dict));
                }
                Err(Stop::TooLarge) => return Err(Stop::TooLarge),
                _ => {}
            }
            if found.len() == most {
                break;
            }
        }
        Ok(found)
    }

    /// The pages in order.
    fn pages(&self, budget: &mut Budget) -> Result<Vec<Page>, Stop> {
        let mut pages = Vec::new();
        let Some(root) = self.root(budget)? else { return self.pages_anywhere(budget) };
        let mut known = HashSet::new();
        let number =
            |object: &Object| if let Object::Reference(number) = object { Some(*number) } else { None };
        let first = root.get("Pages").and_then(number);
        let mut open: Vec<(u32, u32)> = first.map(|first| (first, first)).into_iter().collect();
        while let Some((number_of, inherited)) = open.pop() {
            if !known.insert(number_of) {
                continue;
            }
            let Object::Dict(dict) = self.object(number_of, budget)? else { continue };
            let resources_of = if dict.get("Resources").is_some() { number_of } else { inherited };
            match self.get(&dict, "Kids", budget)?.as_deref() {
                Some(Object::Array(kids)) => {
                    if open.len() + kids.len() > MOST_OBJECTS {
                        return Err(Stop::TooLarge);
                    }
                    open.extend(kids.iter().rev().filter_map(number).map(|kid| (kid, resources_of)));
                }
                _ => pages.push(Page { number: number_of, resources_of }),
            }
            if pages.len() == MOST_PAGES {
                break;
            }
        }
        if pages.is_empty() { self.pages_anywhere(budget) } else { Ok(pages) }
    }

    /// All objects that claim to be pages, for a file that has lost its root.
    fn pages_anywhere(&self, budget: &mut Budget) -> Result<Vec<Page>, Stop> {
        let pages = self.of_type(b"Page", MOST_LOST, budget)?;
        Ok(pages.into_iter().map(|(number, _)| Page { number, resources_of: number }).collect())
    }
}

/// Whether a file has the end of a PDF; something may follow it.
fn has_end(bytes: &[u8]) -> bool {
    const BEHIND: usize = 1024;
    memmem::find(&bytes[bytes.len().saturating_sub(BEHIND)..], b"%%EOF").is_some()
}

/// Whether a file declares that its objects are encrypted.
fn is_encrypted(bytes: &[u8]) -> bool {
    memmem::find_iter(bytes, b"/Encrypt").any(|at| {
        let rest = bytes[at + 8..].trim_ascii_start();
        rest.starts_with(b"<<") || rest.first().is_some_and(u8::is_ascii_digit)
    })
}

/// The number of the object whose `obj` follows `before`.
fn number_before(before: &[u8]) -> Option<u32> {
    let digits_end =
        |bytes: &[u8]| bytes.iter().rev().take(10).take_while(|byte| byte.is_ascii_digit()).count();
    let trimmed = before.trim_ascii_end();
    let generation = digits_end(trimmed);
    let rest = &trimmed[..trimmed.len() - generation];
    let trimmed = rest.trim_ascii_end();
    if generation == 0 || trimmed.len() == rest.len() {
        return None;
    }
    let number = &trimmed[trimmed.len() - digits_end(trimmed)..];
    str::from_utf8(number).ok()?.parse().ok()
}
