//! Tables of text: one row per line, with cells separated by a comma, semicolon, tab or bar. [`crate::import::table`] decides how
//! columns become fields.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::import::charset::Charset;
use crate::import::digest;
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, PEEK, Parsed, Peek, Plan, Raw, Refused, Sure, Unit, Whose,
};
use crate::import::kind_of_file;
use crate::import::table::{
    self, Columns, Copies, Grouped, KEY, Names, Overlap, Place, Shape, Table, Value, unreadable,
};
use crate::vault::declaration::Stream;

/// The possible delimiters, the most likely one first.
pub(super) const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// How many rows are read to decide whether a file is a table.
const SAMPLE: usize = 50;
/// The most bytes that are read for that, if the rows are long.
const SAMPLE_BYTES: u64 = 4 * 1024 * 1024;
/// The most cells in a row.
const MAX_CELLS: usize = 1 << 16;
/// The longest row, in bytes.
const MAX_ROW: usize = 64 * 1024 * 1024;
/// How many bytes may be read twice because of quotes that are never closed.
const MAX_AGAIN: usize = MAX_ROW;
/// The most lines above the header, such as a bank's customer name and date range.
const MOST_ABOVE: usize = 20;
/// Why lines above the header are skipped.
const ABOVE: &str = "above the table's header";
/// Follows the layout in the facts of a line above the header.
const ABOVE_MARK: &str = "^";
/// The only stream.
const ROWS: &str = "rows";
/// Follows the layout in the facts of a row that is in the second pass of an hour that occurs twice.
const LATE: &str = "+";
/// The field for a column that has the key's name but does not identify the rows.
const OTHER_KEY: &str = "id_column";

/// CSV and TSV.
pub struct Csv;

/// How a file's rows are read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Layout {
    charset: Charset,
    /// The length of the byte order mark.
    mark: usize,
    delimiter: u8,
    /// The columns' names as fields. The key is among them if a column identifies the rows.
    names: Vec<String>,
    has_header: bool,
    /// How many rows are above the header.
    above: usize,
    /// The column that identifies the rows.
    key: Option<usize>,
    places: Vec<Option<Place>>,
    /// The column with the rows' own time.
    time: Option<usize>,
}

struct State {
    stream: Stream,
    /// The layouts by the content of [`Raw::facts`].
    layouts: HashMap<String, (Layout, Cutter)>,
    /// The layout names by label.
    members: HashMap<String, String>,
}

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn title(&self) -> &'static str {
        "a table in a CSV or TSV file"
    }

    fn version(&self) -> u32 {
        2
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let is_text = kind_of_file::of(peek.head).is_none() && !is_binary(peek.head);
        (is_text && delimiter(peek.head, peek.is_whole).is_some()).then_some(Sure::Fallback)
    }

    fn why_not(&self, peek: &Peek<'_>) -> Option<String> {
        misfit(peek.head, peek.is_whole)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let mut tables = Grouped::default();
        for (at, member) in members.iter().enumerate() {
            if let Some(kind) = kind_of_file::of(member.head) {
                return Err(Refused::Unfit { why: kind.not_a("table of text") });
            }
            let head = head(member).map_err(|error| unreadable(member, &error))?;
            let shape = Shape(BTreeMap::from([(ROWS.to_owned(), head.names.iter().cloned().collect())]));
            tables.add(member.label, shape, (at, head));
        }
        tables.plans(ask, |table, units, notes| plan(table, units, members, ask, notes))
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let Some((facts, layout)) = state(plan)
            .and_then(|state| state.members.get(unit.label).map(|facts| (facts, state)))
            .and_then(|(facts, state)| state.layouts.get(facts).map(|(layout, _)| (facts, layout)))
        else {
            return Err(io::Error::other("this file did not exist when the import was planned"));
        };
        // Reads from the start even when resuming, because equal rows are counted from the first one.
        let mut rows = Rows::new(&mut unit.bytes, layout.charset, layout.mark, layout.delimiter)?;
        rows.skip_separator_line()?;
        let mut copies = Copies::default();
        let mut overlap = Overlap::default();
        let mut header = layout.has_header;
        let mut above = layout.above;
        let mut end = 0;
        // A row above the header may have any number of cells.
        rows.columns = (above == 0).then_some(layout.names.len());
        while let Some(row) = rows.next()? {
            if above > 0 {
                above -= 1;
                rows.columns = (above == 0).then_some(layout.names.len());
                end = row.next;
                let (offset, next, line) = (row.offset, row.next, Some(row.line));
                let facts = format!("{facts}{ABOVE_MARK}");
                if offset >= from
                    && out(Raw { offset, next, line, bytes: row.bytes, facts, copy: 0 }).is_break()
                {
                    return Ok(End { at: next });
                }
                continue;
            }
            if header && row.cells.as_ref().is_ok_and(|cells| fits(cells, layout.names.len())) {
                header = false;
                continue;
            }
            let copy = match (&row.cells, layout.key) {
                (Ok(cells), key) => match key.and_then(|key| cells.get(key)).map(str::trim) {
                    None | Some("") => copies.before(hash(cells)),
                    Some(id) => copies.of(table::hash([id.as_bytes()]), hash(cells)),
                },
                (Err(_), _) => copies.before(table::hash([&row.bytes[..]])),
            };
            let is_late =
                row.cells.as_ref().is_ok_and(|cells| layout.is_late(cells, &mut overlap, &plan.zone));
            // A last line without a line end may be incomplete. It is read again if the file grows.
            end = if row.is_ended { row.next } else { row.offset };
            if row.offset < from {
                continue;
            }
            let (offset, next, line) = (row.offset, end, Some(row.line));
            let facts = if is_late { format!("{facts}{LATE}") } else { facts.clone() };
            if out(Raw { offset, next, line, bytes: row.bytes, facts, copy }).is_break() {
                return Ok(End { at: next });
            }
        }
        Ok(End { at: end.max(from) })
    }

    fn parse(&self, plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        if raw.facts.ends_with(ABOVE_MARK) {
            return Ok(Parsed::Skipped(ABOVE));
        }
        let (facts, is_late) =
            raw.facts.strip_suffix(LATE).map_or((raw.facts.as_str(), false), |facts| (facts, true));
        let (state, (layout, cutter)) = state(plan)
            .and_then(|state| Some((state, state.layouts.get(facts)?)))
            .ok_or(Bad("changed while it was read"))?;
        let cells = cutter.cells(&raw.bytes)?;
        if !fits(&cells, layout.names.len()) {
            return Err(Bad("the number of cells differs from the number of columns"));
        }
        let key = match layout.key.and_then(|key| cells.get(key)).map(str::trim) {
            None | Some("") => row_name(&layout.names, &cells, raw.copy),
            Some(id) if raw.copy == 0 => id.to_owned(),
            Some(id) => format!("{id}#{}", raw.copy + 1),
        };
        let mut values = HashMap::from([(KEY, table::string(&key))]);
        let mut told = None;
        for (at, (place, cell)) in layout.places.iter().zip(cells.iter()).enumerate() {
            let Some(place) = place else { continue };
            let is_late = is_late && layout.time == Some(at);
            if let Some((field, json)) = place.put(Value::Cell(cell), &plan.zone, is_late)? {
                if layout.time == Some(at) && field != place.field {
                    told = Some(table::UNDATED);
                }
                values.insert(field, json);
            }
        }
        let data = table::object(&state.stream, values);
        Ok(Parsed::Records(vec![Draft { told, ..Draft::new(ROWS, key, data) }]))
    }
}

impl Layout {
    /// Whether a row is in the second pass of an hour that occurs twice.
    fn is_late(&self, cells: &Cells, overlap: &mut Overlap, zone: &TimeZone) -> bool {
        let place = self.time.and_then(|at| Some((self.places.get(at)?.as_ref()?, cells.get(at)?)));
        place.is_some_and(|(place, cell)| overlap.is_late(place, cell, zone))
    }
}

fn state(plan: &Plan) -> Option<&State> {
    plan.state.downcast_ref()
}

/// The key of a row that no column identifies: a digest of its cells that does not depend on the order of the columns.
fn row_name(names: &[String], cells: &Cells, copy: u32) -> String {
    let mut parts: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(cells.iter()).filter(|(_, cell)| !cell.is_empty()).collect();
    parts.sort_unstable();
    let copy = copy.to_be_bytes();
    digest::name(parts.iter().flat_map(|(name, cell)| [name.as_bytes(), cell.as_bytes()]).chain([&copy[..]]))
}

fn hash(cells: &Cells) -> u64 {
    table::hash(cells.iter().map(str::as_bytes))
}

/// Whether a row has this many cells. Any further cells must be empty.
fn fits(cells: &Cells, columns: usize) -> bool {
    cells.len() >= columns && cells.iter().skip(columns).all(|cell| cell.trim().is_empty())
}

/// What the survey of a file finds before its columns are declared.
struct Survey {
    charset: Charset,
    mark: usize,
    delimiter: u8,
    names: Vec<String>,
    has_header: bool,
    above: usize,
    has_unique_key: bool,
}

fn plan(
    table: &Table,
    units: Vec<(usize, Head)>,
    members: &[Member<'_>],
    ask: &Ask,
    mut notes: Vec<String>,
) -> Result<Plan, Refused> {
    let known = table.known_stream(ROWS);
    let mut columns = Columns::default();
    let mut surveys = Vec::new();
    let mut read = Vec::with_capacity(units.len());
    for (at, head) in units {
        let Some(member) = members.get(at) else { continue };
        read.push(at);
        columns.next_file();
        let seen = survey(member, head, &mut columns, known).map_err(|error| unreadable(member, &error))?;
        if !seen.has_header {
            notes.push(format!(
                "{} has no header row: its columns are called column_1 to column_{}",
                member.label,
                seen.names.len()
            ));
        }
        if seen.above > 0 {
            notes.push(format!("{}: {} lines above the header are skipped", member.label, seen.above));
        }
        surveys.push((member.label, seen));
    }
    let declared = table::declare(ROWS, &[KEY.to_owned()], &columns, known, ask, &mut notes)?;
    let mut state = State { stream: declared.stream, layouts: HashMap::new(), members: HashMap::new() };
    for (label, seen) in surveys {
        let key = seen.has_unique_key.then(|| seen.names.iter().position(|name| name == KEY)).flatten();
        let layout = Layout {
            charset: seen.charset,
            mark: seen.mark,
            delimiter: seen.delimiter,
            has_header: seen.has_header,
            above: seen.above,
            key,
            places: seen.names.iter().map(|name| declared.places.get(name).cloned()).collect(),
            time: seen.names.iter().position(|name| state.stream.cursor_field.as_ref() == Some(name)),
            names: seen.names,
        };
        // The same row under other columns, or read in another way, is another item.
        let read_as = format!("{layout:?}{:?}", ask.zone.iana_name());
        let facts = digest::name([read_as.as_bytes()]);
        state.members.insert(label.to_owned(), facts.clone());
        let cutter = Cutter::new(layout.charset, layout.delimiter);
        state.layouts.insert(facts, (layout, cutter));
    }
    Ok(Plan {
        connector: table.connector(vec![state.stream.clone()]),
        account: ask.account.clone().unwrap_or_else(|| table.name().to_owned()),
        units: read,
        notes,
        whose: Whose::default(),
        zone: ask.zone.clone(),
        state: Arc::new(state),
    })
}

/// What the beginning of a file reveals about how its rows are read.
struct Head {
    charset: Charset,
    mark: usize,
    delimiter: u8,
    above: usize,
    names: Vec<String>,
    has_header: bool,
}

fn head(member: &Member<'_>) -> io::Result<Head> {
    let beginning = member.beginning()?;
    let is_whole = beginning.len() < PEEK || member.size.is_some_and(|size| size == beginning.len() as u64);
    let (charset, mark) = match Charset::of_head(&beginning) {
        Some(known) => known,
        None => Charset::of((member.open)()?)?,
    };
    let (delimiter, above) = delimiter(&beginning, is_whole).unwrap_or((b',', 0));
    let (names, has_header) = names(open(member, charset, mark, delimiter)?, above)?;
    Ok(Head { charset, mark, delimiter, above, names, has_header })
}

type Opened = Rows<BufReader<Box<dyn BufRead + Send>>>;

fn open(member: &Member<'_>, charset: Charset, mark: usize, delimiter: u8) -> io::Result<Opened> {
    let bytes: Box<dyn BufRead + Send> = (member.open)()?;
    let mut rows = Rows::new(BufReader::new(bytes), charset, mark, delimiter)?;
    rows.skip_separator_line()?;
    Ok(rows)
}

fn survey(
    member: &Member<'_>,
    head: Head,
    columns: &mut Columns,
    known: Option<&Stream>,
) -> io::Result<Survey> {
    let Head { charset, mark, delimiter, above, names, has_header } = head;
    let key = names.iter().position(|name| name == KEY);
    // Only the last row settles whether this column identifies the rows. If it does, it becomes the key and not a normal column.
    let mut unique = Names::default();
    let mut others = Columns::default();
    let mut rows = open(member, charset, mark, delimiter)?;
    let mut header = has_header;
    for _ in 0..above {
        rows.next()?;
    }
    rows.columns = Some(names.len());
    while let Some(row) = rows.next()? {
        let Ok(cells) = row.cells else { continue };
        if !fits(&cells, names.len()) {
            continue;
        }
        if std::mem::take(&mut header) {
            continue;
        }
        for (at, (name, cell)) in names.iter().zip(cells.iter()).enumerate() {
            if Some(at) == key {
                let id = cell.trim();
                unique.learn((!id.is_empty()).then(|| table::hash([id.as_bytes()])));
                if let Some(column) = others.column(OTHER_KEY) {
                    column.learn(Value::Cell(cell), row.line);
                }
            } else if let Some(column) = columns.column(name) {
                column.learn(Value::Cell(cell), row.line);
            }
        }
    }
    // If this column identified the rows of the table before, it still does.
    let was_key = known.map(|known| known.field(OTHER_KEY).is_none());
    let has_unique_key = key.is_some() && was_key.unwrap_or_else(|| unique.are_unique());
    let mut names = names;
    if let (Some(at), false) = (key, has_unique_key) {
        OTHER_KEY.clone_into(&mut names[at]);
        columns.add(others);
    }
    Ok(Survey { charset, mark, delimiter, names, has_header, above, has_unique_key })
}

/// The names of the columns, and whether the first row contains them.
fn names<R: BufRead>(mut rows: Rows<R>, above: usize) -> io::Result<(Vec<String>, bool)> {
    let mut sample = Vec::new();
    for _ in 0..above {
        rows.next()?;
    }
    while sample.len() < SAMPLE && rows.offset < SAMPLE_BYTES {
        let Some(row) = rows.next()? else { break };
        sample.extend(row.cells);
    }
    let width = most_frequent(sample.iter().map(Cells::len)).map_or(0, |(width, _)| width);
    let mut fitting = sample.iter().filter(|cells| fits(cells, width));
    let Some(first) = fitting.next() else { return Ok((Vec::new(), false)) };
    let texts: Vec<&str> = first.iter().take(width).map(str::trim).collect();
    let is_header = texts.iter().any(|cell| !cell.is_empty())
        && !texts.iter().any(|cell| is_value(cell))
        && (fitting.clone().any(|cells| cells.iter().any(is_value))
            || texts.iter().enumerate().all(|(at, cell)| {
                (!cell.is_empty() || at + 1 == texts.len()) && texts[..at].iter().all(|before| before != cell)
            }));
    if width > table::MOST_COLUMNS {
        return Err(io::Error::other(format!("it has more than {} columns", table::MOST_COLUMNS)));
    }
    let mut names: Vec<String> = Vec::with_capacity(width);
    let mut taken = HashSet::new();
    for at in 0..width {
        let wanted = if is_header { field_name(texts.get(at).copied().unwrap_or("")) } else { String::new() };
        let wanted = if wanted.is_empty() { format!("column_{}", at + 1) } else { wanted };
        let name = table::free_name(&wanted, |name| !taken.contains(name));
        taken.insert(name.clone());
        names.push(name);
    }
    Ok((names, is_header))
}

fn is_value(cell: &str) -> bool {
    let mut column = table::Column::default();
    column.learn(Value::Cell(cell), 0);
    column.is_typed()
}

/// How many rows are above the header: they have fewer cells than the others, or their last cells are empty. The header's cells
/// are distinct names, with a value below each.
fn above(rows: &[Cells], width: usize) -> usize {
    // A header may end with a delimiter.
    let filled = |cells: &Cells| {
        let filled = cells.iter().collect::<Vec<_>>();
        filled.iter().rposition(|cell| !cell.trim().is_empty()).map_or(0, |last| last + 1)
    };
    let is_wide = |cells: &Cells| cells.len() == width && filled(cells) + 1 >= width;
    let Some(at) = rows.iter().take(MOST_ABOVE + 1).position(is_wide).filter(|at| *at > 0) else { return 0 };
    let header: Vec<&str> = rows[at].iter().map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let is_header = header.len() + 1 >= width
        && header.iter().enumerate().all(|(at, cell)| !is_value(cell) && !header[..at].contains(cell))
        && rows[at + 1..].iter().any(|cells| cells.len() == width && cells.iter().any(is_value));
    if is_header { at } else { 0 }
}

/// A column's name as a field name: `Amount (EUR)` is `amount_eur`.
fn field_name(text: &str) -> String {
    let lower = text.chars().take(100).collect::<String>().to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("_")
}

fn most_frequent(values: impl Iterator<Item = usize>) -> Option<(usize, usize)> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(value, count)| (*count, *value))
}

/// Whether the beginning of a file is not text: it has a NUL byte or many control characters. A few control characters may occur
/// in text that people write.
fn is_binary(head: &[u8]) -> bool {
    if Charset::of_head(head)
        .is_some_and(|(charset, _)| matches!(charset, Charset::Utf16Le | Charset::Utf16Be))
    {
        return false;
    }
    let is_control = |byte: &&u8| **byte < 0x20 && !matches!(**byte, b'\t' | b'\n' | b'\r') || **byte == 0x7f;
    head.contains(&0) || head.iter().filter(is_control).count() * 100 > head.len().max(100)
}

/// The delimiter of a table and the number of rows above its header, or `None` if the file is not a table. In a table, nearly all
/// of the first rows have the same number of cells.
fn delimiter(head: &[u8], is_whole: bool) -> Option<(u8, usize)> {
    let (charset, mark) = Charset::of_head(head).unwrap_or((Charset::Utf8, 0));
    let first: String = charset.decode(&head[mark..head.len().min(mark + 64)]).chars().take(8).collect();
    if first.starts_with(['{', '[', '<']) {
        return None;
    }
    if let Some(named) = separator_line(&first) {
        return Some((named, 0));
    }
    let mut best: Option<(usize, usize, u8, usize)> = None;
    for delimiter in DELIMITERS {
        let Ok(mut rows) = Rows::new(head, charset, mark, delimiter) else { continue };
        let mut sample = Vec::new();
        while sample.len() < SAMPLE + MOST_ABOVE {
            match rows.next() {
                // The last row of a cut-off head is incomplete.
                Ok(Some(row)) if is_whole || row.next < head.len() as u64 => {
                    sample.push(row.cells.unwrap_or_default());
                }
                _ => break,
            }
        }
        let Some((width, _)) = most_frequent(sample.iter().map(Cells::len)) else { continue };
        let above = above(&sample, width);
        let rows = &sample[above..sample.len().min(above + SAMPLE)];
        let count = rows.iter().filter(|cells| cells.len() == width).count();
        if width < 2 || rows.len() < 2 || count * 100 < rows.len() * 95 {
            continue;
        }
        let share = count * 1000 / rows.len();
        if best.is_none_or(|(most, widest, ..)| (share, width) > (most, widest)) {
            best = Some((share, width, delimiter, above));
        }
    }
    best.map(|(.., delimiter, above)| (delimiter, above))
}

/// How many rows have the most frequent number of cells, and that number; then each row's line and number of cells.
type Seen = (usize, usize, Vec<(u64, usize)>);

/// Describes the first row with a different number of cells than the header, in a file that is almost a table.
fn misfit(head: &[u8], is_whole: bool) -> Option<String> {
    if kind_of_file::of(head).is_some() {
        return None;
    }
    if is_binary(head) {
        return Some("it is not text: it contains control characters".to_owned());
    }
    let (charset, mark) = Charset::of_head(head).unwrap_or((Charset::Utf8, 0));
    let mut best: Option<Seen> = None;
    for delimiter in DELIMITERS {
        let Ok(mut rows) = Rows::new(head, charset, mark, delimiter) else { continue };
        let mut sample = Vec::new();
        while let (true, Ok(Some(row))) = (sample.len() < SAMPLE + MOST_ABOVE, rows.next()) {
            if is_whole || row.next < head.len() as u64 {
                sample.push((row.line, row.cells.map_or(0, |cells| cells.len())));
            }
        }
        let Some((width, count)) = most_frequent(sample.iter().map(|(_, cells)| *cells)) else { continue };
        if width > 1 && best.as_ref().is_none_or(|(most, widest, _)| (count, width) > (*most, *widest)) {
            best = Some((count, width, sample));
        }
    }
    let Some((_, _, sample)) = best else {
        return Some("no comma, semicolon, tab or bar divides its lines into columns".to_owned());
    };
    let (_, header) = *sample.first()?;
    let (line, cells) = sample.iter().find(|(_, cells)| *cells != header)?;
    let plural = if *cells == 1 { "cell" } else { "cells" };
    Some(match cells {
        0 => format!("line {line} cannot be split into cells: a quote in it is not closed"),
        cells => format!("line {line} has {cells} {plural}, but the header has {header}"),
    })
}

/// The delimiter that a first line such as `sep=;` names for Excel.
fn separator_line(text: &str) -> Option<u8> {
    let mut rest = text.trim_start_matches('"').strip_prefix("sep=")?.chars();
    let named = rest.next().and_then(|c| u8::try_from(c).ok())?;
    let rest = rest.as_str().trim_start_matches('"');
    (named.is_ascii()
        && !matches!(named, b'\r' | b'\n' | b'"')
        && (rest.is_empty() || rest.starts_with(['\r', '\n'])))
    .then_some(named)
}

/// Splits rows into cells.
#[derive(Clone)]
pub(super) struct Cutter {
    charset: Charset,
    delimiter: u8,
    /// The reader's state at the beginning of a row. Building the reader's table would take longer than reading a row without
    /// one.
    core: csv_core::Reader,
}

impl Cutter {
    pub(super) fn new(charset: Charset, delimiter: u8) -> Self {
        Self {
            charset,
            delimiter,
            core: csv_core::ReaderBuilder::new().nfa(true).delimiter(delimiter).build(),
        }
    }

    /// The cells of one row.
    pub(super) fn cells(&self, bytes: &[u8]) -> Result<Cells, Bad> {
        if bytes.len() >= MAX_ROW {
            return Err(Bad("longer than 64 MiB"));
        }
        let text = self.charset.decode(bytes);
        let quote =
            text.bytes().fold(Quote::Start, |quote, byte| quote.next(u16::from(byte), self.delimiter));
        if quote == Quote::Inside {
            return Err(Bad("a quote that is not closed"));
        }
        let mut core = self.core.clone();
        let mut input = text.as_bytes();
        let mut output = vec![0; input.len()];
        let mut ends = vec![0; 32];
        let (mut written, mut cells) = (0, 0);
        loop {
            let (result, read, more, ended) =
                core.read_record(input, &mut output[written..], &mut ends[cells..]);
            input = &input[read..];
            written += more;
            cells += ended;
            match result {
                csv_core::ReadRecordResult::InputEmpty => {}
                csv_core::ReadRecordResult::OutputFull => output.resize(2 * output.len() + 8, 0),
                csv_core::ReadRecordResult::OutputEndsFull if ends.len() < MAX_CELLS => {
                    ends.resize(2 * ends.len(), 0);
                }
                csv_core::ReadRecordResult::OutputEndsFull => return Err(Bad("too many cells")),
                csv_core::ReadRecordResult::Record => break,
                csv_core::ReadRecordResult::End => return Err(Bad("not a row")),
            }
        }
        output.truncate(written);
        ends.truncate(cells);
        let text = String::from_utf8(output).map_err(|_| Bad("not a row"))?;
        Ok(Cells { text, ends })
    }
}

/// The cells of a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cells {
    /// The cells, one after another.
    text: String,
    ends: Vec<usize>,
}

impl Cells {
    const fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&str> {
        let start = if at == 0 { 0 } else { *self.ends.get(at - 1)? };
        self.text.get(start..*self.ends.get(at)?)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}

/// The position of the reader within a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    /// Before a cell.
    Start,
    /// In a cell.
    Outside,
    /// In a quoted cell.
    Inside,
    /// After a quote in a quoted cell: the cell ends, or the quote is doubled.
    Behind,
}

impl Quote {
    const fn next(self, unit: u16, delimiter: u8) -> Self {
        const QUOTE: u16 = b'"' as u16;
        match self {
            Self::Inside => {
                if unit == QUOTE {
                    Self::Behind
                } else {
                    Self::Inside
                }
            }
            Self::Start | Self::Behind if unit == QUOTE => Self::Inside,
            _ if unit == delimiter as u16 || unit == b'\n' as u16 || unit == b'\r' as u16 => Self::Start,
            _ => Self::Outside,
        }
    }
}

/// A row as the file has it.
pub(super) struct Row {
    pub(super) offset: u64,
    pub(super) next: u64,
    pub(super) line: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) cells: Result<Cells, Bad>,
    /// Whether a line break follows the row.
    pub(super) is_ended: bool,
}

/// The rows of a file in any charset, with their positions.
pub(super) struct Rows<R> {
    reader: R,
    /// Bytes that were read and are read again.
    again: Vec<u8>,
    again_at: usize,
    cutter: Cutter,
    /// How many cells a row has, once known.
    pub(super) columns: Option<usize>,
    offset: u64,
    line: u64,
    left_again: usize,
}

impl<R: BufRead> Rows<R> {
    pub(super) fn new(mut reader: R, charset: Charset, mark: usize, delimiter: u8) -> io::Result<Self> {
        let skipped = io::copy(&mut reader.by_ref().take(mark as u64), &mut io::sink())?;
        Ok(Self {
            reader,
            again: Vec::new(),
            again_at: 0,
            cutter: Cutter::new(charset, delimiter),
            columns: None,
            offset: skipped,
            line: 1,
            left_again: MAX_AGAIN,
        })
    }

    /// Skips a `sep=;` line.
    pub(super) fn skip_separator_line(&mut self) -> io::Result<()> {
        let before = (self.offset, self.line);
        let Some((bytes, _)) = self.read(true)? else { return Ok(()) };
        if separator_line(&self.cutter.charset.decode(&bytes)).is_none() {
            self.put_back(&bytes);
            (self.offset, self.line) = before;
        }
        Ok(())
    }

    fn put_back(&mut self, bytes: &[u8]) {
        let mut again = bytes.to_vec();
        again.extend_from_slice(self.again.get(self.again_at..).unwrap_or_default());
        (self.again, self.again_at) = (again, 0);
    }

    /// The next row that is not empty.
    pub(super) fn next(&mut self) -> io::Result<Option<Row>> {
        loop {
            let (offset, line) = (self.offset, self.line);
            let Some((bytes, is_ended)) = self.read(false)? else { return Ok(None) };
            if self.cutter.charset.decode(&bytes).trim().is_empty() && !self.is_delimiter_blank(&bytes) {
                continue;
            }
            let cells = self.cutter.cells(&bytes);
            let is_whole = match (&cells, self.columns) {
                (Ok(cells), Some(columns)) => fits(cells, columns),
                (Ok(_), None) => true,
                (Err(_), _) => false,
            };
            // A quote that was not closed swallowed the rows after it. Only its own line is bad; the others are read again.
            if !is_whole && self.line > line + 1 && bytes.len() <= self.left_again {
                self.left_again -= bytes.len();
                self.put_back(&bytes);
                (self.offset, self.line) = (offset, line);
                let Some((bytes, is_ended)) = self.read(true)? else { return Ok(None) };
                let cells = self.cutter.cells(&bytes);
                let is_ended = self.skip_rest(bytes.len(), is_ended)?;
                return Ok(Some(Row { offset, next: self.offset, line, bytes, cells, is_ended }));
            }
            let is_ended = self.skip_rest(bytes.len(), is_ended)?;
            return Ok(Some(Row { offset, next: self.offset, line, bytes, cells, is_ended }));
        }
    }

    /// Skips the rest of a line that is too long for a row, so that it is not read as a separate row.
    fn skip_rest(&mut self, mut length: usize, mut is_ended: bool) -> io::Result<bool> {
        while !is_ended && length >= MAX_ROW {
            let Some((rest, is_end)) = self.read(true)? else { break };
            (length, is_ended) = (rest.len(), is_end);
        }
        Ok(is_ended)
    }

    /// Whether whitespace contains delimiters: in a table with tabs, it is an empty row.
    fn is_delimiter_blank(&self, bytes: &[u8]) -> bool {
        self.cutter.delimiter.is_ascii_whitespace()
            && self.cutter.charset.decode(bytes).contains(char::from(self.cutter.delimiter))
    }

    /// The bytes up to the end of a row or of a line, and whether a line break ends them.
    fn read(&mut self, is_line: bool) -> io::Result<Option<(Vec<u8>, bool)>> {
        let width = self.cutter.charset.width();
        let mut bytes = Vec::new();
        let mut quote = Quote::Start;
        let mut after_return = false;
        let mut ended = false;
        loop {
            let chunk = if self.again_at < self.again.len() {
                &self.again[self.again_at..]
            } else {
                self.reader.fill_buf()?
            };
            if chunk.is_empty() {
                break;
            }
            let before = bytes.len();
            let mut is_done = false;
            let mut first_byte = None;
            for byte in chunk {
                if width == 2 && bytes.len() % 2 == 0 {
                    bytes.push(*byte);
                    continue;
                }
                let unit = match (self.cutter.charset, bytes.last()) {
                    (Charset::Utf16Le, Some(low)) => u16::from_le_bytes([*low, *byte]),
                    (Charset::Utf16Be, Some(high)) => u16::from_be_bytes([*high, *byte]),
                    _ => u16::from(*byte),
                };
                if after_return && unit != u16::from(b'\n') {
                    // The line break belongs to the next row, with its first byte.
                    if width == 2 {
                        first_byte = bytes.pop();
                    }
                    is_done = true;
                    break;
                }
                bytes.push(*byte);
                let is_inside = quote == Quote::Inside && !is_line;
                quote = quote.next(unit, self.cutter.delimiter);
                let is_break = unit == u16::from(b'\n') || unit == u16::from(b'\r') && !after_return;
                if unit == u16::from(b'\n') {
                    self.line += 1;
                }
                if is_break && !is_inside {
                    ended = true;
                    if unit == u16::from(b'\n') {
                        is_done = true;
                        break;
                    }
                    after_return = true;
                }
                if bytes.len() >= MAX_ROW {
                    is_done = true;
                    break;
                }
            }
            let taken = bytes.len().saturating_sub(before);
            if self.again_at < self.again.len() {
                self.again_at += taken;
                if self.again_at >= self.again.len() {
                    (self.again, self.again_at) = (Vec::new(), 0);
                }
            } else {
                self.reader.consume(taken);
            }
            if let (Some(byte), true) = (first_byte, bytes.len() < before) {
                self.put_back(&[byte]);
            }
            if is_done {
                break;
            }
        }
        self.offset += bytes.len() as u64;
        if ended && after_return && !ends_with_newline(&bytes, self.cutter.charset) {
            self.line += 1;
        }
        Ok((!bytes.is_empty()).then_some((bytes, ended)))
    }
}

fn ends_with_newline(bytes: &[u8], charset: Charset) -> bool {
    match charset {
        Charset::Utf16Le => bytes.ends_with(b"\n\0"),
        Charset::Utf16Be => bytes.ends_with(b"\0\n"),
        Charset::Utf8 | Charset::Windows1252 => bytes.ends_with(b"\n"),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::import::format::DateOrder;
    use crate::import::harness::{self, Kept};
    use crate::vault::declaration::Kind;

    fn kept(text: impl AsRef<[u8]>) -> (Kept, harness::Counts) {
        let mut kept = Kept::default();
        let counts = kept.import(&Csv, &[("table.csv", text.as_ref())]);
        (kept, counts)
    }

    /// The rows without their keys, in the order of the file.
    fn rows(text: impl AsRef<[u8]>) -> Vec<Json> {
        let bytes = text.as_ref();
        let plan = plan_of(bytes);
        let (items, _) = harness::split(&Csv, &plan, "table.csv", bytes, 0);
        let parsed = items.iter().filter_map(|raw| Csv.parse(&plan, raw).ok());
        parsed
            .flat_map(|parsed| match parsed {
                Parsed::Records(drafts) => drafts,
                Parsed::Skipped(_) => Vec::new(),
            })
            .map(|draft| {
                let mut data: Json = serde_json::from_str(&draft.data.unwrap()).unwrap();
                data.as_object_mut().unwrap().remove("id").unwrap();
                data
            })
            .collect()
    }

    fn plan_of(bytes: &[u8]) -> Plan {
        harness::plan(&Csv, &[("table.csv", bytes)], harness::ask()).unwrap().remove(0)
    }

    fn stream(bytes: &[u8]) -> Arc<Stream> {
        plan_of(bytes).connector.stream("rows").unwrap().clone()
    }

    fn kind(bytes: &[u8], field: &str) -> Kind {
        stream(bytes).field(field).unwrap().kind
    }

    fn notes(bytes: &[u8]) -> String {
        plan_of(bytes).notes.join("\n")
    }

    fn later(kept: &mut Kept, text: &str) -> (String, harness::Counts) {
        let mut ask = harness::ask();
        ask.known = kept.connectors.values().cloned().collect();
        let files = [("table.csv", text.as_bytes())];
        let notes = harness::plan(&Csv, &files, ask).unwrap()[0].notes.join("\n");
        (notes, kept.import(&Csv, &files))
    }

    #[test]
    fn o5_tables_are_recognised() {
        let of = |text: &str| harness::sniff(&Csv, "a", text.as_bytes());
        for table in ["a,b\n1,2\n", "a;b\r\n1;2\r\n", "a\tb\n1\t2\n", "a|b\r1|2\r", "sep=;\na;b\n"] {
            assert_eq!(of(table), Some(Sure::Fallback), "{table}");
        }
        for other in [
            "",
            "a\nb\n",
            "Dear Ana,\nI write to you\nwith love, and, so on\n",
            "a,b\n\u{1},\u{2}\n",
            "a,b\n1,\0\n",
            "{\"a\":1,\"b\":2}\n{\"a\":1,\"b\":2}\n",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(of("a,b\n1,with a\u{b}line\n"), Some(Sure::Fallback), "one in what somebody wrote");
        let utf_16: Vec<u8> = "\u{feff}a,b\n1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(harness::sniff(&Csv, "a", &utf_16), Some(Sure::Fallback));
        let ragged = "a,b\n".repeat(20) + "a\nb\n";
        assert_eq!(of(&ragged), None, "less than 95 %");
    }

    #[test]
    fn o5_a_table_is_read_with_its_types() {
        let text = b"Datum,Buchungstext,Betrag,Bezahlt,Uhrzeit\n\
            2026-01-31,Bakery Aroma,-12.50,true,2026-01-31 09:30\n\
            2026-02-01,Kiosk,3,false,2026-02-01 10:00\n";
        assert_eq!(
            rows(text)[0],
            serde_json::from_str::<Json>(
                r#"{"datum":"2026-01-31","buchungstext":"Bakery Aroma","betrag":-12.50,"bezahlt":true,"uhrzeit":"2026-01-31T09:30:00Z"}"#
            )
            .unwrap()
        );
        let stream = stream(text);
        let kinds: Vec<(&str, Kind)> =
            stream.fields.iter().map(|field| (field.name.as_str(), field.kind)).collect();
        assert_eq!(
            kinds,
            [
                ("id", Kind::String),
                ("datum", Kind::Date),
                ("buchungstext", Kind::Text),
                ("betrag", Kind::Number),
                ("bezahlt", Kind::Boolean),
                ("uhrzeit", Kind::Timestamp)
            ]
        );
        assert_eq!(stream.cursor_field.as_deref(), Some("uhrzeit"), "the first instant");
        assert_eq!(stream.field("buchungstext").unwrap().role.as_deref(), Some("primary-title"));
        let plan = plan_of(text);
        assert_eq!((plan.connector.key.as_str(), plan.account.as_str()), ("table-table", "table"));
        assert_eq!(plan.connector.id, "https://local.pdpp.invalid/connectors/table-table");
    }

    #[test]
    fn o5_decimal_commas_are_read() {
        let text = "sep=;\nWas;Betrag\nMiete;1.234,56\nBrot;3,5\nAuto;12.000\n";
        let betrag: Vec<String> = rows(text).iter().map(|row| row["betrag"].to_string()).collect();
        assert_eq!(betrag, ["1234.56", "3.5", "12000"]);
        assert_eq!(
            rows("a,b\n\"1,234\",x\n\"1,234,567.8\",y\n")[0]["a"].to_string(),
            "1234",
            "another number shows what the comma is"
        );
    }

    #[test]
    fn o5_numbers_of_two_readings_stay_text_and_are_told() {
        let text = b"a;b\n1.234;x\n5.678;y\n";
        assert_eq!(rows(text)[0], json!({"a": "1.234", "b": "x"}));
        assert!(notes(text).contains("may separate thousands or decimals"), "{}", notes(text));
    }

    #[test]
    fn o5_amounts_of_any_country_are_numbers() {
        let amounts = |cells: &[&str]| -> Vec<String> {
            let text = format!("was;betrag\nx;{}\n", cells.join("\nx;"));
            let amount = |row: &Json| {
                let fields = row.as_object().unwrap().iter().filter(|(name, _)| name.starts_with("betrag"));
                fields.map(|(_, value)| value.to_string()).collect::<String>()
            };
            rows(text).iter().map(amount).collect()
        };
        for (cells, wanted) in [
            (["1,234.50", "-3.25", "7.00"], ["1234.50", "-3.25", "7.00"]),
            (["1.234,50", "3,25-", "+7,00"], ["1234.50", "-3.25", "7.00"]),
            (["1 234,50", "\u{2212}3,25", "7,00"], ["1234.50", "-3.25", "7.00"]),
            (["1'234.50", "3.25-", "7.00"], ["1234.50", "-3.25", "7.00"]),
            (["1.234,50 €", "-3,25 €", "7,00 €"], ["1234.50", "-3.25", "7.00"]),
            (["CHF 1’234.50", "CHF -3.25", "CHF 7.00"], ["1234.50", "-3.25", "7.00"]),
            (["$1,234.50", "-$3.25", "$7.00"], ["1234.50", "-3.25", "7.00"]),
        ] {
            assert_eq!(amounts(&cells), wanted, "{cells:?}");
        }
        let euros = "was;betrag\nx;1,50 €\ny;2,50 €\n";
        let told = notes(euros.as_bytes());
        assert!(told.contains("The amounts of `betrag` are in €: they go into `betrag_eur`"), "{told}");
        // The currencies differ.
        let mixed = "was;betrag\nx;1,50 €\ny;2,50 $\nz;3,50 €\n";
        assert_eq!(rows(mixed)[1], json!({"was": "y", "betrag": "2,50 $"}));
        let told = notes(mixed.as_bytes());
        assert!(
            told.contains(
                "`betrag` is kept as text: its amounts are not all in one currency (the first in line 3)"
            ),
            "{told}"
        );
    }

    #[test]
    fn o5_amounts_in_two_currencies_never_stand_in_one_field() {
        let (mut kept, _) = kept("what,amount\na,\"1,50 €\"\nb,\"2,50 €\"\n");
        let (told, _) = later(&mut kept, "what,amount\nc,$3.50\nd,$4.50\n");
        assert!(
            told.contains("`amount_dollar` is a new field")
                && told.contains("Not in this file: `amount_eur`"),
            "{told}"
        );
        later(&mut kept, "what,amount\ne,5.50\n");
        // One value of many is in another currency.
        let (told, _) = later(&mut kept, &format!("what,amount\n{}g,US$ 7.50\n", "f,6.50 €\n".repeat(150)));
        assert!(told.contains("1 of 151 values of `amount` are not numbers in €"), "{told}");
        let stream = kept.connectors["table-table"].stream("rows").unwrap().clone();
        let kinds: Vec<(&str, Kind)> =
            stream.fields.iter().skip(2).map(|field| (field.name.as_str(), field.kind)).collect();
        assert_eq!(
            kinds,
            [
                ("amount_eur", Kind::Number),
                ("amount_dollar", Kind::Number),
                ("amount", Kind::Number),
                ("amount_text", Kind::Text),
            ]
        );
        let values: Vec<Json> =
            kept.records.values().map(|data| serde_json::from_str(data).unwrap()).collect();
        let sum = |field: &str| -> f64 { values.iter().filter_map(|data| data[field].as_f64()).sum() };
        assert_eq!((sum("amount_eur"), sum("amount_dollar"), sum("amount")), (4.0 + 150.0 * 6.5, 8.0, 5.5));
        assert!(values.iter().any(|data| data["amount_text"] == "US$ 7.50"));
        // A column with that name keeps it.
        assert_eq!(
            rows("what,amount (EUR)\na,\"1,50 €\"\n")[0].to_string(),
            r#"{"amount_eur":1.50,"what":"a"}"#
        );
        let both = rows("amount,amount (EUR)\n1.50 €,2.50 €\n");
        assert_eq!(both[0].to_string(), r#"{"amount_eur":2.50,"amount_eur_2":1.50}"#);
    }

    #[test]
    fn o5_a_date_that_cannot_be_read_is_told() {
        let bad = format!("day,n\n{}soon,2\nlater,3\n", "2026-01-02,1\n".repeat(50));
        let told = notes(bad.as_bytes());
        assert!(told.contains("`day` is not a date or time here: 2 of its 52 values cannot be read as one (the first in line 52)"), "{told}");
        assert!(told.contains("a grant that is limited in time covers none of these records"), "{told}");
        let told = notes(b"created,n\n3rd of May,1\n4th of May,2\n");
        assert!(told.contains("`created` is not a date or time here: 2 of its 2 values"), "{told}");
        assert!(notes(b"a,n\nx,1\ny,2\n").contains("No column is a date or a time"));
        // 99% of the values are dates: the table has a time, and the other values are counted.
        let most = format!("day,n\n{}soon,2\n", "2026-01-02,1\n".repeat(150));
        let told = notes(most.as_bytes());
        assert!(told.contains("1 of 151 values of `day` are not dates (the first in line 152)"), "{told}");
        assert!(!told.contains("covers none"), "{told}");
        let (_, counts) = kept(&most);
        assert_eq!(counts.told, BTreeMap::from([(table::UNDATED, 1)]));
    }

    #[test]
    fn o4_13_another_table_in_a_file_of_the_same_name_is_a_table_of_its_own() {
        let name = |kept: &Kept, text: &str, account: Option<&str>| {
            let mut ask = harness::ask();
            ask.known = kept.connectors.values().cloned().collect();
            ask.account = account.map(str::to_owned);
            let plan = harness::plan(&Csv, &[("export.csv", text.as_bytes())], ask).unwrap().remove(0);
            (plan.connector.key.clone(), plan.account, plan.notes.join("\n"))
        };
        let mut kept = Kept::default();
        let one = "date,amount,description\n2026-01-02,5.50,coffee\n";
        let other = "day,payee,iban,amount\n2026-01-02,ana,DE1,5.50\n";
        kept.import(&Csv, &[("export.csv", one.as_bytes())]);
        let (key, account, told) = name(&kept, other, None);
        assert_eq!((key.as_str(), account.as_str()), ("table-export-2", "export-2"));
        assert!(told.contains("so this is a separate table, `export-2`"), "{told}");
        kept.import(&Csv, &[("export.csv", other.as_bytes())]);
        assert_eq!(
            kept.records.keys().map(|(account, ..)| account.as_str()).collect::<Vec<_>>(),
            ["export", "export-2"]
        );
        // Each file goes to the table with its columns, even with more or fewer of them, and the owner's choice takes precedence.
        for (text, wanted) in [
            (one, "table-export"),
            (other, "table-export-2"),
            ("date,amount,description,note\n2026-01-03,5,a,b\n", "table-export"),
            ("day,payee,amount\n2026-01-03,a,5\n", "table-export-2"),
            ("when,what,where\n2026-01-03,a,b\n", "table-export-3"),
            ("1,2\n3,4\n", "table-export-3"),
        ] {
            assert_eq!(name(&kept, text, None).0, wanted, "{text}");
        }
        assert_eq!(name(&kept, "when,what,where\n2026-01-03,a,b\n", Some("mine")).0, "table-export");
        // This also holds for files of one folder.
        let both = harness::plan(
            &Csv,
            &[
                ("a/export.csv", one.as_bytes()),
                ("b/export.csv", other.as_bytes()),
                ("c/export.csv", one.as_bytes()),
            ],
            harness::ask(),
        );
        let units: Vec<(String, Vec<usize>)> =
            both.unwrap().into_iter().map(|plan| (plan.account, plan.units)).collect();
        assert_eq!(units, [("export".to_owned(), vec![0, 2]), ("export-2".to_owned(), vec![1])]);
    }

    #[test]
    fn o4_5_a_last_row_that_was_half_is_replaced_and_not_doubled() {
        let file = "day,what,n\n2026-01-02,coffee,1\n2026-01-02,coffee,1\n2026-01-03,\"a \"\"b\"\"\",12\n2026-01-02,coffee,125\n";
        let (whole, _) = kept(file);
        for cut in file.find('\n').unwrap() + 2..file.len() {
            for limit in [1, 2, usize::MAX] {
                let mut grown = Kept::default();
                for (text, limit) in [(&file[..cut], limit), (&file[..cut], usize::MAX), (file, usize::MAX)] {
                    grown.import_some(&Csv, &[("table.csv", text.as_bytes())], harness::ask(), limit);
                }
                assert_eq!(grown.records, whole.records, "{:?}", &file[..cut]);
            }
        }
    }

    #[test]
    fn o5_lines_above_the_header_are_skipped_and_told() {
        let table = "\"Buchungstag\";\"Empfänger\";\"Betrag\";\"Währung\"\n\
            \"31.01.2026\";\"Bäckerei\";\"-12,50\";\"EUR\"\n\
            \"13.02.2026\";\"Kiosk\";\"1.203,00\";\"EUR\"\n";
        let wanted = rows(table);
        assert_eq!(wanted[0]["betrag"].to_string(), "-12.50");
        for (above, lines) in [
            ("\"Kontonummer:\";\"DE12 3456\"\n\n\"Zeitraum:\";\"01.01.2026 - 28.02.2026\"\n\"\"\n", 3),
            ("Umsätze Girokonto\n", 1),
            ("Umsätze Girokonto;;;\nZeitraum;Januar;;\n", 2),
            ("Konto;\"zwei\nZeilen\"\nvom;1.3.2026\n", 2),
        ] {
            let text = format!("{above}{table}");
            assert_eq!(harness::sniff(&Csv, "a", text.as_bytes()), Some(Sure::Fallback), "{above}");
            assert_eq!(rows(&text), wanted, "{above}");
            let (_, counts) = kept(&text);
            assert_eq!(counts.skipped, BTreeMap::from([("above the table's header", lines)]), "{above}");
            assert_eq!((counts.read, counts.new), (lines + 2, 2), "{above}");
            let told = notes(text.as_bytes());
            assert!(
                told.contains(&format!("table.csv: {lines} lines above the header are skipped")),
                "{told}"
            );
            // An interrupted import resumes anywhere.
            let plan = plan_of(text.as_bytes());
            let (all, _) = harness::split(&Csv, &plan, "table.csv", text.as_bytes(), 0);
            for at in 1..all.len() {
                let (rest, _) = harness::split(&Csv, &plan, "table.csv", text.as_bytes(), all[at].offset);
                assert_eq!(rest, all[at..]);
            }
        }
        // A first row with empty last cells is a normal row.
        let sparse = "2026-01-01,x,,\n2026-01-02,y,z,5\n2026-01-03,y,z,6\n";
        assert_eq!(rows(sparse).len(), 3);
        let named = "name,city,,\nAna,Oslo,north,5\nBo,Rome,south,6\n";
        assert_eq!(rows(named).len(), 2, "{:?}", rows(named));
    }

    #[test]
    fn o5_codes_are_no_numbers() {
        assert_eq!(rows("plz,tel\n01069,+49351\n80331,+4989\n")[0], json!({"plz": "01069", "tel": "+49351"}));
    }

    #[test]
    fn o4_11_every_encoding_gives_the_same_records() {
        let text = "name,größe\r\n\"Zoë, \"\"Z\"\"\",\"zwei\r\nZeilen\"\r\nBjörk,klein\r\n";
        let wide = |big: bool, mark: bool| -> Vec<u8> {
            let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
            units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
        };
        let latin: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        let mut all = vec![text.as_bytes().to_vec(), [b"\xef\xbb\xbf", text.as_bytes()].concat(), latin];
        for (big, mark) in [(false, false), (false, true), (true, false), (true, true)] {
            all.push(wide(big, mark));
        }
        let expected = kept(text).0.records;
        assert_eq!(expected.len(), 2);
        for bytes in all {
            assert_eq!(harness::sniff(&Csv, "a", &bytes), Some(Sure::Fallback));
            assert_eq!(kept(&bytes).0.records, expected);
            // Offsets are positions in the file.
            let plan = plan_of(&bytes);
            let (items, end) = harness::split(&Csv, &plan, "table.csv", &bytes, 0);
            assert_eq!(end, bytes.len() as u64);
            assert_eq!(items.iter().map(|item| item.line).collect::<Vec<_>>(), [Some(2), Some(4)]);
            assert_eq!(items[0].next, items[1].offset);
            assert_eq!(items[1].next, end);
            for item in &items {
                let place = usize::try_from(item.offset).unwrap()..usize::try_from(item.next).unwrap();
                assert_eq!(&bytes[place], &item.bytes[..]);
            }
        }
    }

    #[test]
    fn o4_11_windows_1252_has_its_euro_sign() {
        assert_eq!(rows(b"was,in\nK\xe4se,\x80\n")[0], json!({"was": "Käse", "in": "€"}));
    }

    #[test]
    fn o5_ragged_rows_are_bad_and_the_next_goes_on() {
        let text = "a,b\n1,2\n3\n4,5,6\n7,8,\n\n9,10";
        let (kept, counts) = kept(text);
        assert_eq!(
            counts.bad,
            BTreeMap::from([("the number of cells differs from the number of columns", 2)])
        );
        assert_eq!((counts.read, counts.new, kept.records.len()), (5, 3, 3));
    }

    #[test]
    fn o5_a_quote_that_is_not_closed_costs_its_own_line() {
        let text = "a,b\n1,x\n\"2,x\n3,x\n4,\"two\nlines\"\n5,x\n";
        let (kept, counts) = kept(text);
        assert_eq!(counts.bad.values().sum::<u64>(), 1, "{counts:?}");
        assert_eq!(kept.records.len(), 4);
        let open_to_the_end = "a,b\n1,x\n\"2,x\n3,x\n4,x\n";
        let (kept, counts) = self::kept(open_to_the_end);
        assert_eq!(counts.bad, BTreeMap::from([("a quote that is not closed", 1)]));
        assert_eq!(kept.records.len(), 3);
    }

    #[test]
    fn o5_a_table_without_names_gets_some() {
        let text = b"2026-01-01,5,x\n2026-01-02,6,y\n";
        assert_eq!(rows(text)[0], json!({"column_1": "2026-01-01", "column_2": 5, "column_3": "x"}));
        assert_eq!(rows(text).len(), 2);
        assert!(notes(text).contains("no header row"));
        let doubled = rows("Amount,Amount,\n1,2,3\n");
        assert_eq!(doubled[0], json!({"amount": 1, "amount_2": 2, "column_3": 3}));
        let texts = rows("name,city\nAna,Oslo\n");
        assert_eq!(texts, [json!({"name": "Ana", "city": "Oslo"})]);
    }

    #[test]
    fn o5_an_odd_value_stands_beside_and_is_told() {
        let mut text = "day,n\n".to_owned();
        for day in 1..=28 {
            for month in 1..=7 {
                writeln!(text, "2026-{month:02}-{day:02},{day}").unwrap();
            }
        }
        text += "soon,29\n2026-08-01,many\n";
        assert_eq!(kind(text.as_bytes(), "day"), Kind::Date, "one odd date makes no text of it");
        assert_eq!(kind(text.as_bytes(), "n"), Kind::Integer);
        let notes = notes(text.as_bytes());
        assert!(notes.contains("1 of 198 values of `day` are not dates (the first in line 198): they are kept as text in `day_text`"), "{notes}");
        let rows = rows(&text);
        assert_eq!(rows[196], json!({"n": 29, "day_text": "soon"}));
        assert_eq!(rows[197], json!({"day": "2026-08-01", "n_text": "many"}));
    }

    #[test]
    fn o5_a_column_that_is_mostly_dates_is_text_and_told() {
        let text = b"day,x\n2026-01-01,a\n2026-01-02,b\nsoon,c\n";
        assert_eq!(kind(text, "day"), Kind::String);
        assert!(
            notes(text).contains("`day` is kept as text: only 2 of 3 values are dates (the first in line 4)")
        );
    }

    #[test]
    fn o5_a_later_file_is_widened_and_said_and_never_refused() {
        let (mut kept, _) = kept("id,n,day,gone\n1,5,2026-01-01,x\n2,6,2026-01-02,y\n");
        let (told, counts) = later(&mut kept, "id,n,day,more\n3,7.25,2026-01-03,z\n4,many,later,z\n");
        assert_eq!((counts.new, counts.bad.len()), (2, 0));
        for part in ["`n_text`", "`day_text`", "`more` is a new field", "Not in this file: `gone`"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let data: Vec<&String> = kept.records.values().collect();
        assert_eq!(
            data,
            [
                r#"{"id":"1","n":5,"day":"2026-01-01","gone":"x"}"#,
                r#"{"id":"2","n":6,"day":"2026-01-02","gone":"y"}"#,
                r#"{"id":"3","n":7.25,"day":"2026-01-03","more":"z"}"#,
                r#"{"id":"4","n_text":"many","day_text":"later","more":"z"}"#,
            ]
        );
        let (told, _) = later(&mut kept, "id,n\n5,1.5\n");
        assert!(!told.contains("decimals"), "{told}");
    }

    #[test]
    fn o5_whole_numbers_get_decimals_and_it_is_said() {
        let (mut kept, _) = kept("id,n\n1,5\n");
        let (told, _) = later(&mut kept, "id,n\n2,5.5\n");
        assert!(told.contains("`n` only had whole numbers; it now has decimals too"), "{told}");
        let stream = kept.connectors["table-table"].stream("rows").unwrap().clone();
        assert_eq!(stream.field("n").unwrap().kind, Kind::Number);
    }

    #[test]
    fn o5_a_unique_id_is_the_key() {
        let (mut kept, _) = kept("id,status\n7,open\n8,open\n");
        assert!(kept.records.keys().map(|(.., key)| key.as_str()).eq(["7", "8"]));
        let (_, counts) = later(&mut kept, "id,status\n7,paid\n8,open\n");
        assert_eq!((counts.changed, counts.same, kept.records.len()), (1, 1, 2));
        // A row that occurs twice becomes two records, so nothing is lost.
        let (_, counts) = later(&mut kept, "id,status\n9,a\n9,b\n9,b\n");
        assert_eq!((counts.new, counts.same), (2, 1));
        assert!(kept.records.keys().map(|(.., key)| key.as_str()).eq(["7", "8", "9", "9#2"]));
    }

    #[test]
    fn o5_an_id_that_names_no_row_is_a_column() {
        assert_eq!(rows("id,n\n5,1\n5,2\n5,3\n")[0], json!({"id_column": 5, "n": 1}));
    }

    #[test]
    fn o5_equal_rows_are_numbered() {
        let (mut kept, counts) = kept("what,n\ncoffee,3\ntea,2\ncoffee,3\n");
        assert_eq!((counts.new, kept.records.len()), (3, 3));
        let (_, counts) = later(&mut kept, "n,what,note\n3,coffee,\n3,coffee,\n2,tea,\n3,coffee,\n");
        assert_eq!((counts.same, counts.new), (3, 1), "in another order, with an empty column");
    }

    #[test]
    fn o5_the_order_of_dates_is_shown_asked_for_or_asked() {
        let day = |text: &str| rows(text)[0]["day"].clone();
        assert_eq!(day("day,x\n01/02/2026,a\n31/12/2026,b\n"), json!("2026-02-01"), "a day beyond 12");
        assert_eq!(day("day,x\n01/02/2026,a\n12/31/2026,b\n"), json!("2026-01-02"));
        let rising = "day,x\n01/02/2026,a\n02/02/2026,b\n05/02/2026,c\n01/03/2026,d\n02/03/2026,e\n";
        assert_eq!(day(rising), json!("2026-02-01"), "rows that follow each other");
        let undecided = b"day,x\n01/02/2026,a\n03/04/2026,b\n";
        let files = [("table.csv", &undecided[..])];
        let Err(Refused::Undecided { question, option, choices }) =
            harness::plan(&Csv, &files, harness::ask())
        else {
            panic!("taken")
        };
        assert_eq!((option, choices.len()), ("--date-order", 3));
        assert!(question.contains("`day`"));
        let ask = crate::import::format::Ask { date_order: Some(DateOrder::MonthDayYear), ..harness::ask() };
        let plan = harness::plan(&Csv, &files, ask).unwrap().remove(0);
        assert!(plan.notes.join("\n").contains("Dates are read as month, day, year"));
        // A date that is the same day in both orders needs no answer.
        assert_eq!(day("day,x\n01/01/2026,a\n2026-03-04,b\n"), json!("2026-01-01"));
    }

    #[test]
    fn o4_5_a_last_row_is_read_again_also_where_the_import_was_cut_off_behind_it() {
        let start = "id,text\n1,one\n2,tw";
        let grown = format!("{start}o\n");
        for cut in [1, 2, 3] {
            let mut kept = Kept::default();
            kept.import_some(&Csv, &[("a.csv", start.as_bytes())], harness::ask(), cut);
            kept.import_some(&Csv, &[("a.csv", grown.as_bytes())], harness::ask(), usize::MAX);
            let data: Vec<&String> = kept.records.values().collect();
            assert_eq!(data, [r#"{"id":"1","text":"one"}"#, r#"{"id":"2","text":"two"}"#]);
        }
    }

    #[test]
    fn o4_12_times_without_a_zone_take_the_asked_one() {
        let ask =
            crate::import::format::Ask { zone: TimeZone::get("Europe/Berlin").unwrap(), ..harness::ask() };
        let bytes = b"at,x\n2026-07-01 10:00,a\n2026-07-01T10:00:00Z,b\n";
        let mut kept = Kept::default();
        kept.import_some(&Csv, &[("table.csv", bytes)], ask, usize::MAX);
        let mut at: Vec<String> = kept
            .records
            .values()
            .map(|data| serde_json::from_str::<Json>(data).unwrap()["at"].as_str().unwrap().to_owned())
            .collect();
        at.sort();
        assert_eq!(at, ["2026-07-01T08:00:00Z", "2026-07-01T10:00:00Z"]);
    }

    #[test]
    fn o4_12_in_the_autumn_the_order_of_rows_says_which_hour_it_is() {
        let times = ["01:30", "02:10", "02:50", "02:05", "02:40", "03:10"];
        let expected = ["23:30", "00:10", "00:50", "01:05", "01:40", "02:10"];
        let table = |times: &[&str]| {
            let mut text = "at,x\n".to_owned();
            let mut days: Vec<String> = (1..=9).map(|day| format!("2026-10-0{day} 10:00")).collect();
            days.extend(times.iter().map(|time| format!("2026-10-25 {time}")));
            for (at, day) in days.iter().enumerate() {
                writeln!(text, "{day},r{at:02}").unwrap();
            }
            text
        };
        let read = |text: &str| -> Vec<String> {
            let zone = TimeZone::get("Europe/Berlin").unwrap();
            let ask = crate::import::format::Ask { zone, ..harness::ask() };
            let mut kept = Kept::default();
            kept.import_some(&Csv, &[("table.csv", text.as_bytes())], ask, usize::MAX);
            let mut all: Vec<(String, String)> = kept
                .records
                .values()
                .map(|data| serde_json::from_str::<Json>(data).unwrap())
                .map(|row| {
                    (row["x"].as_str().unwrap().to_owned(), row["at"].as_str().unwrap()[11..16].to_owned())
                })
                .collect();
            all.sort();
            all.into_iter().map(|(_, time)| time).collect()
        };
        assert_eq!(read(&table(&times))[9..], expected);
        let newest_first: String = {
            let text = table(&times);
            let mut lines: Vec<&str> = text.lines().collect();
            lines[1..].reverse();
            lines.join("\n")
        };
        assert_eq!(read(&newest_first)[9..], expected);
    }

    #[test]
    fn o4_5_a_file_that_grew_goes_on_where_it_ended() {
        let mut kept = Kept::default();
        let before = b"what,n\na,1\na,1\nb,2";
        let after = b"what,n\na,1\na,1\nb,2\na,1\n";
        kept.import_some(&Csv, &[("table.csv", before)], harness::ask(), usize::MAX);
        let counts = kept.import_some(&Csv, &[("table.csv", after)], harness::ask(), usize::MAX);
        assert_eq!((counts.read, counts.new, counts.same), (2, 1, 1), "the third of its kind is new");
        assert_eq!(kept.records.len(), 4);
    }

    #[test]
    fn o5_files_of_one_table_are_one_table() {
        let mut kept = Kept::default();
        let files: [(&str, &[u8]); 3] = [
            ("x/sales-2025.csv", b"id,n\n1,5\n"),
            ("x/sales-2026.csv", b"n;id\n6,5;2\n"),
            ("y.csv", b"a,b\n1,2\n"),
        ];
        let counts = kept.import(&Csv, &files);
        assert_eq!(counts.new, 3);
        assert_eq!(kept.connectors.keys().collect::<Vec<_>>(), ["table-sales", "table-y"]);
        let places: Vec<&str> = kept.records.keys().map(|(account, ..)| account.as_str()).collect();
        assert_eq!(places, ["sales", "sales", "y"]);
    }

    #[test]
    fn o2_1_other_files_are_named() {
        for (bytes, part) in [(&b"PK\x03\x04"[..], "XLSX"), (b"<html><table>", "web page")] {
            match harness::plan(&Csv, &[("a.csv", bytes)], harness::ask()) {
                Err(Refused::Unfit { why }) => assert!(why.contains(part), "{why}"),
                _ => panic!("{part}"),
            }
        }
    }

    #[test]
    fn o4_14_quotes_that_never_close_end() {
        let text = "a\",\"\n".repeat(2_000);
        let mut rows = Rows::new(text.as_bytes(), Charset::Utf8, 0, b',').unwrap();
        rows.columns = Some(2);
        rows.left_again = 3 * text.len();
        let mut bad = 0;
        while let Some(row) = rows.next().unwrap() {
            bad += u64::from(row.cells.is_err());
        }
        assert_eq!((bad, rows.offset), (4, text.len() as u64), "three of their own, and what is left");
    }

    fn cell() -> impl Strategy<Value = String> {
        prop_oneof!["[a-c]{0,2}", "[0-9]{1,2}", "[a-b\",;\r\n ]{0,4}", Just("é€東".to_owned())]
    }

    fn table() -> impl Strategy<Value = Vec<Vec<String>>> {
        (2..4_usize).prop_flat_map(|width| {
            proptest::collection::vec(proptest::collection::vec(cell(), width..=width), 0..10)
        })
    }

    fn written(rows: &[Vec<String>], delimiter: u8) -> Vec<u8> {
        let mut writer = ::csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
        let width = rows.first().map_or(2, Vec::len);
        writer.write_record((0..width).map(|at| format!("name{at}x"))).unwrap();
        for row in rows {
            writer.write_record(row).unwrap();
        }
        writer.into_inner().unwrap()
    }

    #[test]
    fn o4_14_a_line_beyond_the_bound_is_one_bad_row_whole() {
        let long = "x".repeat(MAX_ROW + 9);
        let text = format!("a,b\n1,2\n{long}FORGED,9\n4,5\n");
        let mut kept = Kept::default();
        let counts = kept.import(&Csv, &[("table.csv", text.as_bytes())]);
        assert_eq!((counts.new, counts.bad.values().sum::<u64>()), (2, 1), "{counts:?}");
        assert!(!kept.records.values().any(|row| row.contains("FORGED")));
    }

    proptest! {
        #[test]
        fn o5_what_the_library_writes_is_read_row_for_row(rows in table(), delimiter in 0..4_usize, is_wide in any::<bool>()) {
            let bytes = written(&rows, DELIMITERS[delimiter]);
            let bytes = if is_wide {
                let text = String::from_utf8(bytes).unwrap();
                std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
            } else {
                bytes
            };
            let (charset, mark) = Charset::of_head(&bytes).unwrap_or((Charset::Utf8, 0));
            // A buffer this small splits code units and line ends.
            let reader = BufReader::with_capacity(3, &bytes[..]);
            let mut read = Rows::new(reader, charset, mark, DELIMITERS[delimiter]).unwrap();
            let mut found = Vec::new();
            while let Some(row) = read.next().unwrap() {
                prop_assert_eq!(row.next - row.offset, row.bytes.len() as u64);
                found.push(row.cells.unwrap().iter().map(str::to_owned).collect::<Vec<_>>());
            }
            let is_blank = |row: &[String]| {
                DELIMITERS[delimiter] != b'\t' && row.iter().all(String::is_empty) && row.len() == 1
            };
            let expected: Vec<Vec<String>> = rows.iter().filter(|row| !is_blank(row)).cloned().collect();
            prop_assert_eq!(&found[1..], &expected[..]);
        }

        #[test]
        fn o8_5_twice_is_once_and_cut_anywhere_is_whole(rows in table(), cut in 0..10_usize) {
            let bytes = written(&rows, b',');
            let files = [("table.csv", &bytes[..])];
            let mut whole = Kept::default();
            let counts = whole.import(&Csv, &files);
            prop_assert_eq!(counts.read, rows.len() as u64);
            prop_assert_eq!(counts.new, rows.len() as u64, "every row is a record");
            let before = whole.records.clone();
            let again = whole.import(&Csv, &files);
            prop_assert_eq!((again.new, again.changed, again.same), (0, 0, rows.len() as u64));
            prop_assert_eq!(&whole.records, &before);
            let mut pieces = Kept::default();
            pieces.import_some(&Csv, &files, harness::ask(), cut);
            pieces.import_some(&Csv, &files, harness::ask(), usize::MAX);
            prop_assert_eq!(&pieces.records, &before);
        }

        #[test]
        fn o4_13_overlapping_exports_come_in_any_order(
            days in proptest::collection::vec((1..4_u8, 0..3_u8), 1..15),
        ) {
            // As in exports: the days are in order, and each is complete.
            let mut days = days;
            days.sort_unstable();
            let text = |days: &[(u8, u8)]| {
                let rows = days.iter().map(|(day, what)| format!("2026-01-{:02},w{what}\n", day + 12));
                "day,what\n".to_owned() + &rows.collect::<String>()
            };
            let first: Vec<(u8, u8)> = days.iter().copied().filter(|(day, _)| *day <= 2).collect();
            let second: Vec<(u8, u8)> = days.iter().copied().filter(|(day, _)| *day >= 2).collect();
            let import = |order: [&str; 2]| {
                let mut kept = Kept::default();
                for text in order {
                    kept.import(&Csv, &[("table.csv", text.as_bytes())]);
                }
                kept.records
            };
            let (first, second) = (text(&first), text(&second));
            let records = import([&first, &second]);
            prop_assert_eq!(records.len(), days.len());
            prop_assert_eq!(&records, &import([&second, &first]));
        }

        #[test]
        fn o4_14_any_bytes_are_read_or_refused(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..300),
                "[a-c0-9,;\t|\"\r\n. /-]{0,300}".prop_map(String::into_bytes),
                "([01][0-9]/[01][0-9]/2026|\"|,|\n|\r|1\\.234|true){0,80}".prop_map(String::into_bytes),
            ],
        ) {
            harness::sniff(&Csv, "t.csv", &bytes);
            match harness::plan(&Csv, &[("t.csv", &bytes)], harness::ask()) {
                Ok(_) => {
                    let mut kept = Kept::default();
                    let counts = kept.import(&Csv, &[("t.csv", &bytes)]);
                    prop_assert!(!counts.bad.contains_key("changed while it was read"), "{:?}", counts);
                }
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }
}
