//! A decision at a terminal: a checklist of what can be picked, and what the grant would give.

use std::collections::BTreeSet;
use std::io;

use crate::error::{Error, Kind, Result};
use crate::grants::own_store::{Answer, refused};
use crate::vault::Vault;
use crate::vault::oauth::consent;
use crate::vault::oauth::here::{Decided, Review};
use crate::vault::store::record_counts;
use crate::vault::{accounts, time};

/// What can be picked.
#[derive(Debug, Clone)]
pub struct Sheet {
    /// Account by account.
    pub accounts: Vec<Account>,
    /// The ends that can be picked, the usual one first.
    pub ends: Vec<End>,
    /// The first day of the records, if the options name one.
    pub since: Option<String>,
    /// The day before which the records end, if the options name one.
    pub until: Option<String>,
    /// Whether the data is for training AI models, to which the owner must agree.
    pub is_training: bool,
    /// The fingerprint of all choices.
    choices: String,
}

/// An account, with its streams.
#[derive(Debug, Clone)]
pub struct Account {
    /// What its owner calls it.
    pub name: String,
    /// The kind of its source.
    pub kind: String,
    /// Its streams.
    pub streams: Vec<StreamRow>,
    id: String,
}

/// A stream of an account.
#[derive(Debug, Clone)]
pub struct StreamRow {
    /// Its name.
    pub name: String,
    /// How many records it has.
    pub records: u64,
    /// The field that dates its records; a date leaves out a stream without one.
    pub dated_by: Option<String>,
    /// Its fields, in words, each with whether it is always part of the stream.
    pub fields: Vec<(String, bool)>,
    /// Whether the options name it.
    pub is_ticked: bool,
    number: usize,
    named: BTreeSet<usize>,
    who: BTreeSet<usize>,
    text: BTreeSet<usize>,
}

/// An end of the grant that can be picked.
#[derive(Debug, Clone)]
pub struct End {
    /// In words.
    pub label: String,
    value: String,
}

/// Which fields of the ticked streams the grant gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fields {
    /// Those that the options name; all of them if the options name only the stream or its account.
    Named,
    /// People, times and short values, but no text.
    WhoAndWhen,
    /// Text too.
    WithText,
    /// Picked fields, by their position, for each ticked stream in its order.
    Picked(Vec<Vec<usize>>),
}

/// What a person ticked.
#[derive(Debug, Clone)]
pub struct Ticked {
    /// Streams, each as the position of the account and of the stream in it.
    pub streams: Vec<(usize, usize)>,
    /// Which of their fields.
    pub fields: Fields,
    /// The position of the end.
    pub end: usize,
    /// Whether the owner agrees to the training of AI models.
    pub agrees: bool,
}

/// A person at a terminal.
pub trait Checklist {
    /// Whether there is a person to ask.
    fn can_ask(&self) -> bool;

    /// What the person ticks in `sheet`; `None` if the person gives nothing.
    ///
    /// # Errors
    /// If the person stops the question.
    fn tick(&self, sheet: &Sheet) -> io::Result<Option<Ticked>>;

    /// Whether the person approves what `lines` state; `has_changed` if it changed since it was shown
    /// before.
    fn approves(&self, lines: &[String], has_changed: bool) -> bool;

    /// Explains why what was ticked gives nothing.
    fn comes_to_nothing(&self, why: &str);
}

#[cfg(test)]
impl StreamRow {
    /// The same with two fields, of which the options name `named`.
    pub(crate) fn with_named(mut self, named: &[usize]) -> Self {
        self.fields = vec![("subject".to_owned(), false), ("body text".to_owned(), false)];
        self.named = named.iter().copied().collect();
        self.is_ticked = true;
        self
    }
}

#[cfg(test)]
impl Account {
    /// An account with these streams, of seven records each.
    pub(crate) fn for_tests(name: &str, kind: &str, streams: &[&str]) -> Self {
        let row = |(number, name): (usize, &&str)| StreamRow {
            name: (*name).to_owned(),
            records: 7,
            dated_by: Some("received at".to_owned()),
            fields: Vec::new(),
            is_ticked: false,
            number,
            named: BTreeSet::new(),
            who: BTreeSet::new(),
            text: BTreeSet::new(),
        };
        let streams = streams.iter().enumerate().map(row).collect();
        Self { name: name.to_owned(), kind: kind.to_owned(), streams, id: name.to_owned() }
    }
}

impl StreamRow {
    /// Whether the options name some of its fields, and not only the stream or its account.
    pub fn has_named_fields(&self) -> bool {
        self.is_ticked && self.named.len() < self.fields.len()
    }

    fn chosen(&self, fields: &Fields, at: usize) -> BTreeSet<usize> {
        match fields {
            Fields::Named if self.is_ticked => self.named.clone(),
            // A stream that was ticked in addition to them.
            Fields::Named | Fields::WhoAndWhen => self.who.clone(),
            Fields::WithText => self.text.clone(),
            Fields::Picked(all) => all.get(at).into_iter().flatten().copied().collect(),
        }
    }
}

impl Sheet {
    fn form(&self, ticked: &Ticked) -> Vec<(String, String)> {
        let mut form = Vec::new();
        let mut accounts = BTreeSet::new();
        for (at, (account, stream)) in ticked.streams.iter().enumerate() {
            let Some(account) = self.accounts.get(*account) else { continue };
            let Some(stream) = account.streams.get(*stream) else { continue };
            accounts.insert(account.id.clone());
            form.push(("stream".to_owned(), stream.number.to_string()));
            for field in stream.chosen(&ticked.fields, at) {
                form.push(("field".to_owned(), format!("{}.{field}", stream.number)));
            }
        }
        form.extend(accounts.into_iter().map(|account| ("connection".to_owned(), account)));
        form.extend(self.since.iter().map(|since| ("since".to_owned(), since.clone())));
        form.extend(self.until.iter().map(|until| ("until".to_owned(), until.clone())));
        form.extend(self.ends.get(ticked.end).map(|end| ("expires".to_owned(), end.value.clone())));
        form.push(("choices".to_owned(), self.choices.clone()));
        form.extend(ticked.agrees.then(|| ("ai_training".to_owned(), "yes".to_owned())));
        form
    }
}

/// Asks a person about the request `id`.
pub(super) fn decide(vault: &Vault, id: &str, checklist: &dyn Checklist) -> Answer {
    let stopped = |error: io::Error| {
        Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing is stored")
            .because(io::Error::from(error.kind()))
    };
    loop {
        let mut sheet = sheet(vault, id)?;
        let Some(ticked) = checklist.tick(&sheet).map_err(stopped)? else {
            vault.deny(id);
            return Ok(None);
        };
        let form = sheet.form(&ticked);
        let mut review = match vault.review(id, &form) {
            Ok(review) => review,
            Err(error) if error.status.is_client_error() => {
                checklist.comes_to_nothing(error.message());
                continue;
            }
            Err(error) => return Err(refused(&error)),
        };
        let mut has_changed = false;
        loop {
            if !checklist.approves(&lines(vault, &review, &sheet)?, has_changed) {
                vault.deny(id);
                return Ok(None);
            }
            let approved = vault.approve_shown(id, &review.digest).map_err(|error| refused(&error))?;
            if approved.is_some() {
                break;
            }
            has_changed = true;
            sheet = self::sheet(vault, id)?;
            review = vault.review_again(id).map_err(|error| refused(&error))?;
        }
        return Ok(match vault.decided(id) {
            Decided::Approved(approved) => Some(approved),
            _ => None,
        });
    }
}

fn sheet(vault: &Vault, id: &str) -> Result<Sheet> {
    let (details, form) = vault.choices(id).map_err(|error| refused(&error))?;
    let sets = vault.sets(id).map_err(|error| refused(&error))?;
    let made = vault.store().read::<_, rusqlite::Error>(|db, catalog| {
        let counts = record_counts(db)?;
        let mut accounts: Vec<Account> = Vec::new();
        for (number, choice) in details.choices.iter().enumerate() {
            let connector = catalog.connector(&choice.connector);
            let (Some(connector), Some(stream)) =
                (connector, connector.and_then(|connector| connector.stream(&choice.stream)))
            else {
                continue;
            };
            let is_required = |name: &String| stream.field(name).is_some_and(|field| field.required);
            let count = counts.get(&format!("{}/{}", choice.connection, choice.stream));
            let row = StreamRow {
                name: choice.stream.replace('_', " "),
                records: count.and_then(serde_json::Value::as_u64).unwrap_or(0),
                dated_by: stream.consent_time_field.as_ref().map(|field| field.replace('_', " ")),
                fields: choice
                    .fields
                    .iter()
                    .map(|name| (name.replace('_', " "), is_required(name)))
                    .collect(),
                is_ticked: choice.is_named,
                number,
                named: fields_of(&form, number),
                who: fields_of(&sets[0], number),
                text: fields_of(&sets[1], number),
            };
            match accounts.iter_mut().find(|account| account.id == choice.connection) {
                Some(account) => account.streams.push(row),
                None => accounts.push(Account {
                    name: accounts::label(catalog, &choice.connection),
                    kind: connector.name.clone(),
                    streams: vec![row],
                    id: choice.connection.clone(),
                }),
            }
        }
        Ok(accounts)
    });
    let accounts = made.map_err(|error| refused(&error.into()))?;
    let day = |wanted: &str| form.iter().find(|(name, _)| name == wanted).map(|(_, day)| day.clone());
    let (since, until) = (day("since"), day("until"));
    let is_training = details.purpose.code() == crate::vault::oauth::authorization_details::AI_TRAINING;
    let picked = form.iter().find(|(name, _)| name == "expires").map(|(_, end)| end.as_str());
    let ends =
        consent::ends(&details, picked).into_iter().map(|(value, label)| End { label, value }).collect();
    Ok(Sheet { accounts, ends, since, until, is_training, choices: details.fingerprint() })
}

fn fields_of(form: &[(String, String)], number: usize) -> BTreeSet<usize> {
    let of_stream = |(name, value): &(String, String)| {
        let (stream, field) = value.split_once('.').filter(|_| name == "field")?;
        (stream.parse() == Ok(number)).then(|| field.parse().ok())?
    };
    form.iter().filter_map(of_stream).collect()
}

/// The lines that describe what `review` gives.
fn lines(vault: &Vault, review: &Review, sheet: &Sheet) -> Result<Vec<String>> {
    let told = vault.store().read::<_, rusqlite::Error>(|_, catalog| {
        let mut lines = Vec::new();
        for grant in &review.grants {
            for stream in &grant.streams {
                let accounts: Vec<_> =
                    stream.instance_ids.iter().map(|id| accounts::label(catalog, id)).collect();
                let declared = catalog.declared(&grant.source_of(stream).id, &stream.name);
                let (fields, not_shown) =
                    declared.map(|declared| stream.in_words(declared)).unwrap_or_default();
                let mut line =
                    format!("{}: {}: {fields}", accounts.join(", "), stream.name.replace('_', " "));
                if let Some(time) = &stream.time_constraint {
                    line = format!("{line}; {}", time.in_words());
                }
                if let Some(not_shown) = not_shown {
                    line = format!("{line}; {not_shown}");
                }
                lines.push(line);
            }
        }
        Ok(lines)
    });
    let mut lines = told.map_err(|error| refused(&error.into()))?;
    let rows =
        || sheet.accounts.iter().flat_map(|account| account.streams.iter().map(move |row| (account, row)));
    for number in &review.undated {
        if let Some((account, row)) = rows().find(|(_, row)| row.number == *number) {
            lines.push(format!("{}: {}: left out, because a day cannot narrow it", account.name, row.name));
        }
    }
    let end = review.grants.first().and_then(|grant| grant.expires_at.as_deref()).and_then(time::parse_ms);
    if let Some(end) = end.and_then(|end| jiff::Timestamp::from_millisecond(end).ok()) {
        lines.push(format!("until {}", crate::time_text::day_and_time(end)));
    }
    if let Some(words) = review.grants.first().and_then(|grant| grant.purpose_description.as_deref()) {
        lines.push(format!("for: {words}"));
    }
    Ok(lines)
}
