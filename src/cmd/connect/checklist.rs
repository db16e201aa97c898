//! Ticking and approving a grant of the person's own store at the terminal.

use std::fmt::Write as _;
use std::io;

use dialoguer::console::measure_text_width;

use crate::grants::local::{self, Account, Fields, Sheet, StreamRow, Ticked};
use crate::text::one_line;
use crate::ui::{Ui, cut_within};

/// The person at the terminal.
pub(super) struct Checklist<'a>(pub(super) &'a Ui);

impl local::Checklist for Checklist<'_> {
    fn can_ask(&self) -> bool {
        self.0.can_ask()
    }

    fn tick(&self, sheet: &Sheet) -> io::Result<Option<Ticked>> {
        let ui = self.0;
        let mut rows: Vec<(usize, usize)> = Vec::new();
        let mut streams = Vec::new();
        for (account_at, account) in sheet.accounts.iter().enumerate() {
            for (at, stream) in account.streams.iter().enumerate() {
                rows.push((account_at, at));
                streams.push((account, stream));
            }
        }
        let are_ticked = streams.iter().map(|(_, stream)| stream.is_ticked);
        let items: Vec<_> = lines(&streams, ui.item_width()).into_iter().zip(are_ticked).collect();
        let Some(ticked) = ui.tick("What may be read (Space ticks, Enter continues, Esc denies)", &items)?
        else {
            return Ok(None);
        };
        let streams: Vec<(usize, usize)> = ticked.iter().filter_map(|at| rows.get(*at).copied()).collect();
        if streams.is_empty() {
            return Ok(None);
        }
        let Some(fields) = self.fields(sheet, &streams)? else { return Ok(None) };
        let bounds = match (&sheet.since, &sheet.until) {
            (Some(since), Some(until)) => Some(format!("from {since} to before {until}")),
            (Some(since), None) => Some(format!("from {since} on")),
            (None, Some(until)) => Some(format!("from before {until}")),
            (None, None) => None,
        };
        if let Some(bounds) = bounds {
            ui.explain(&format!(
                "Only records {bounds}, in streams that have dates; streams without a date are left out."
            ));
        }
        let ends: Vec<String> = sheet.ends.iter().map(|end| end.label.clone()).collect();
        let Some(end) = ui.pick("When should the grant end", &ends)? else { return Ok(None) };
        let agrees =
            sheet.is_training && ui.confirm("Do you agree that this data may be used to train AI models?");
        Ok(Some(Ticked { streams, fields, end, agrees }))
    }

    fn approves(&self, lines: &[String], has_changed: bool) -> bool {
        if has_changed {
            self.0.warn("your data, or what your choices give access to, has changed since you saw it; this is the current state");
        }
        self.0.note("The agent could read this and nothing else:");
        for line in lines {
            self.0.explain(&format!("  {}", one_line(line)));
        }
        self.0.confirm("Approve?")
    }

    fn comes_to_nothing(&self, why: &str) {
        self.0.warn(&format!("not approved yet: {}", one_line(why)));
    }
}

impl Checklist<'_> {
    /// Asks which fields of the ticked streams may be read.
    fn fields(&self, sheet: &Sheet, streams: &[(usize, usize)]) -> io::Result<Option<Fields>> {
        let of = |(account, stream): &(usize, usize)| {
            let account = sheet.accounts.get(*account)?;
            Some((account, account.streams.get(*stream)?))
        };
        let answers = answers(streams.iter().filter_map(of).map(|(_, stream)| stream));
        let items: Vec<String> = answers.iter().map(|(label, _)| (*label).to_owned()).collect();
        let Some(picked) = self.0.pick("Which fields", &items)? else { return Ok(None) };
        let Some((_, fields)) = answers.into_iter().nth(picked) else { return Ok(None) };
        let Fields::Picked(mut all) = fields else { return Ok(Some(fields)) };
        for (account, stream) in streams.iter().filter_map(of) {
            let free: Vec<usize> = (0..stream.fields.len())
                .filter(|at| stream.fields.get(*at).is_some_and(|field| !field.1))
                .collect();
            let items: Vec<(String, bool)> = free
                .iter()
                .filter_map(|at| stream.fields.get(*at))
                .map(|field| (field.0.clone(), false))
                .collect();
            let always: Vec<&str> =
                stream.fields.iter().filter(|field| field.1).map(|field| field.0.as_str()).collect();
            let question =
                format!("Fields of {}, {} (always: {})", account.name, stream.name, always.join(", "));
            let Some(ticked) = self.0.tick(&question, &items)? else { return Ok(None) };
            all.push(ticked.into_iter().filter_map(|at| free.get(at).copied()).collect());
        }
        Ok(Some(Fields::Picked(all)))
    }
}

/// One line per stream: in full, or in a narrow terminal with as many parts as fit on every line.
fn lines(streams: &[(&Account, &StreamRow)], width: usize) -> Vec<String> {
    let told = |parts: usize| -> Vec<String> {
        streams.iter().map(|(account, stream)| line(account, stream, parts, None)).collect()
    };
    let fits = |lines: &Vec<String>| lines.iter().all(|line| measure_text_width(line) <= width);
    let whole = (0..=MOST).rev().map(told).find(fits);
    whole.unwrap_or_else(|| {
        streams.iter().map(|(account, stream)| line(account, stream, 0, Some(width))).collect()
    })
}

/// The largest number of parts shown of a stream, in addition to its account and its name.
const MOST: usize = 3;

fn line(account: &Account, stream: &StreamRow, parts: usize, width: Option<usize>) -> String {
    let kind = if account.name.contains(&account.kind) || parts == 0 {
        String::new()
    } else {
        format!(" ({})", account.kind)
    };
    let plural = if stream.records == 1 { "" } else { "s" };
    let dated = match &stream.dated_by {
        Some(field) => format!(", dated by {field}"),
        None => ", not dated".to_owned(),
    };
    let mut told = format!(": {}", stream.name);
    if parts > 1 {
        let _ = write!(told, ", {} record{plural}", stream.records);
    }
    if parts > 2 {
        told.push_str(&dated);
    }
    let name = width.map_or_else(
        || account.name.clone(),
        // The stream's name distinguishes one line from the next.
        |width| cut_within(&account.name, width.saturating_sub(measure_text_width(&told)).max(LEAST_NAME)),
    );
    format!("{name}{kind}{told}")
}

/// The fewest columns that an account's name gets.
const LEAST_NAME: usize = 6;

/// The answers to the question which fields of `streams` may be read. What the options ask for comes first.
fn answers<'a>(streams: impl Iterator<Item = &'a StreamRow>) -> Vec<(&'static str, Fields)> {
    let (mut is_ticked, mut has_fields) = (false, false);
    for stream in streams {
        is_ticked |= stream.is_ticked;
        has_fields |= stream.has_named_fields();
    }
    let asked = match (is_ticked, has_fields) {
        (_, true) => Some("The fields that the options name"),
        (true, false) => Some("All fields, with text and links"),
        (false, false) => None,
    };
    asked
        .map(|asked| (asked, Fields::Named))
        .into_iter()
        .chain([
            ("Who and when: people, times and short values, but no text", Fields::WhoAndWhen),
            ("With text", Fields::WithText),
            ("Pick one by one", Fields::Picked(Vec::new())),
        ])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_the_options_name_are_offered_only_if_they_name_some() {
        let rows = Account::for_tests("Work", "Mail", &["messages"]).streams;
        let first = |row: StreamRow| answers([&row].into_iter()).swap_remove(0);
        let row = || rows[0].clone();
        assert_eq!(first(row().with_named(&[0])), ("The fields that the options name", Fields::Named));
        // Only its account or the stream is named.
        assert_eq!(first(row().with_named(&[0, 1])), ("All fields, with text and links", Fields::Named));
        assert_eq!(first(row()).1, Fields::WhoAndWhen);
    }

    #[test]
    fn o7_5_a_line_has_as_much_as_fits_and_always_the_streams_name() {
        let account = |name: &str| Account::for_tests(name, "Mail", &["messages", "message bodies"]);
        let (one, two) = (account("Ana Maria Lopez de la Vega"), account("Work"));
        let streams: Vec<_> = [&one, &two]
            .into_iter()
            .flat_map(|account| account.streams.iter().map(move |stream| (account, stream)))
            .collect();
        let at = |width| lines(&streams, width);
        assert_eq!(at(100)[3], "Work (Mail): message bodies, 7 records, dated by received at");
        assert_eq!(at(66)[3], "Work (Mail): message bodies, 7 records");
        assert_eq!(at(50)[3], "Work (Mail): message bodies");
        assert_eq!(at(44)[3], "Work: message bodies");
        assert_eq!(at(32)[1], "Ana Mari…la Vega: message bodies");
        assert_eq!(at(32)[0], "Ana Maria L…de la Vega: messages");
    }
}
