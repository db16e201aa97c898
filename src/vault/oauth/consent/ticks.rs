//! What is ticked of a request: by the request itself, by a set that the owner picked, or in a form that came back.

use std::collections::{BTreeMap, BTreeSet};

use super::ends::{self, ASKED, ENDS};
use crate::vault::declaration::{Kind, Stream};
use crate::vault::oauth::approval::Selection;
use crate::vault::oauth::authorization_details::{AuthorizationDetails, Choice};
use crate::vault::oauth::wish::GUARDED;
use crate::vault::store::Catalog;
use crate::vault::time;
use crate::vault::wire::ApiError;

/// Kinds of source that no set ticks. Each must be ticked individually.
const IN_NO_SET: [&str; 9] = [
    "bank",
    "health",
    "apple-health",
    "fitness",
    "location",
    "google-maps",
    "google-takeout",
    "browser",
    "security",
];

/// Streams of other kinds that no set ticks. What a person searched for reveals as much as the pages that they
/// visited.
const STREAMS_IN_NO_SET: [&str; 2] = [GUARDED, "searches"];

/// What one button ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Set {
    /// Nothing.
    Nothing,
    /// People, times and short values, but no text.
    WhoAndWhen,
    /// Text as well.
    WithText,
}

impl Set {
    pub(super) const ALL: [Self; 3] = [Self::Nothing, Self::WhoAndWhen, Self::WithText];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::WhoAndWhen => "who",
            Self::WithText => "text",
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Nothing => "None",
            Self::WhoAndWhen => "Who and when",
            Self::WithText => "With text",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.name() == name)
    }

    fn has(self, stream: &Stream, field: &str) -> bool {
        let is_link = field == "url" || field.ends_with("_url");
        match self {
            Self::Nothing => true,
            Self::WithText => !is_link,
            Self::WhoAndWhen => {
                !is_link
                    && stream.field(field).is_some_and(|field| {
                        !matches!(field.kind, Kind::Text | Kind::Object | Kind::Array | Kind::Blob)
                    })
            }
        }
    }
}

/// Whether no set includes an account of this kind.
pub(super) fn is_in_no_set(connector: &str) -> bool {
    IN_NO_SET.contains(&connector)
}

/// The form with the boxes of `set` ticked, and everything else as it was left.
pub(super) fn tick_set(
    catalog: &Catalog,
    asked: &AuthorizationDetails,
    set: Set,
    posted: &[(String, String)],
) -> Vec<(String, String)> {
    let is_tick = |name: &str| matches!(name, "connection" | "stream" | "field" | CHOICES);
    let mut left: Vec<(String, String)> =
        posted.iter().filter(|(name, _)| !is_tick(name) && name != "csrf").cloned().collect();
    let mut accounts = BTreeSet::new();
    for (number, choice) in asked.choices.iter().enumerate() {
        let stream = catalog.connector(&choice.connector).and_then(|known| known.stream(&choice.stream));
        let Some(stream) = stream else { continue };
        if set != Set::Nothing && !is_in_no_set(&choice.connector) {
            accounts.insert(choice.connection.clone());
        }
        if set != Set::Nothing && STREAMS_IN_NO_SET.contains(&choice.stream.as_str()) {
            continue;
        }
        // In an account that is not ticked: what ticking it would share.
        left.push(("stream".to_owned(), number.to_string()));
        for (field, name) in choice.fields.iter().enumerate() {
            if set.has(stream, name) {
                left.push(("field".to_owned(), format!("{number}.{field}")));
            }
        }
    }
    left.extend(accounts.into_iter().map(|account| ("connection".to_owned(), account)));
    left.push((CHOICES.to_owned(), asked.fingerprint()));
    left
}

/// The form's control that identifies the choices that its numbers refer to.
pub(super) const CHOICES: &str = "choices";

/// Whether `form` was made for other choices than those of `asked`.
pub(super) fn is_outdated(asked: &AuthorizationDetails, form: &[(String, String)]) -> bool {
    form.iter().any(|(name, value)| name == CHOICES && *value != asked.fingerprint())
}

/// What a form keeps of a request.
///
/// # Errors
/// Returns `invalid_request` with what is missing.
pub(super) fn selection(
    catalog: &Catalog,
    asked: &AuthorizationDetails,
    posted: &[(String, String)],
) -> Result<Selection, ApiError> {
    if is_outdated(asked, posted) {
        return Err(ApiError::invalid(
            "The available data has changed since you saw it, so check your selection again",
        ));
    }
    let values = |wanted: &'static str| {
        posted.iter().filter(move |(name, _)| name == wanted).map(|(_, value)| value.as_str())
    };
    // A form without the field, or with its original day, keeps the bound of the request.
    let bound = |name: &'static str, asked: Option<i64>| match values(name).next() {
        None => Ok(asked),
        Some("") => Ok(None),
        Some(text) if asked.is_some_and(|asked| time::day(asked) == text) => Ok(asked),
        Some(text) => time::parse_ms(text)
            .map(Some)
            .ok_or_else(|| ApiError::invalid("The date is not valid: write it as 2026-01-31")),
    };
    let (since, until) = (bound("since", asked.since)?, bound("until", asked.until)?);
    if since.zip(until).is_some_and(|(since, until)| since >= until) {
        return Err(ApiError::invalid(
            "Nothing would be shared: “from” must be an earlier day than “before”. Change one of them, or deny",
        ));
    }
    let accounts: BTreeSet<&str> = values("connection").collect();
    let mut fields: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for value in values("field") {
        if let Some((number, field)) = value.split_once('.')
            && let (Ok(number), Ok(field)) = (number.parse(), field.parse::<usize>())
            && let Some(name) = asked.choices.get(number).and_then(|choice: &Choice| choice.fields.get(field))
        {
            fields.entry(number).or_default().insert(name.clone());
        }
    }
    let mut selection = Selection { since, until, ..Selection::default() };
    for number in values("stream").filter_map(|number| number.parse::<usize>().ok()).collect::<BTreeSet<_>>()
    {
        let Some(choice) = asked.choices.get(number) else { continue };
        if !accounts.contains(choice.connection.as_str()) {
            continue;
        }
        let stream = catalog.connector(&choice.connector).and_then(|known| known.stream(&choice.stream));
        let is_bounded = since.is_some() || until.is_some();
        if is_bounded && stream.is_some_and(|stream| stream.consent_time_field.is_none()) {
            selection.undated.push(number);
        } else {
            selection.kept.push((number, fields.remove(&number).unwrap_or_default()));
        }
    }
    if selection.kept.is_empty() {
        return Err(ApiError::invalid(if selection.undated.is_empty() {
            "Nothing would be shared: tick an account and at least one of its streams, or deny"
        } else {
            "Nothing would be shared: the date leaves out streams that have no time. Remove the date, or deny"
        }));
    }
    let now = time::now_ms();
    let end =
        values("expires").next().unwrap_or_else(|| ends::beforehand(asked.expires_ms, asked.single_use, now));
    if let (ASKED, Some(wished)) = (end, ends::wished(asked.expires_ms, now)) {
        return Ok(Selection { expires_ms: Some(wished), ..selection });
    }
    let (.., lasts) = ENDS
        .iter()
        .find(|(value, ..)| *value == end)
        .ok_or_else(|| ApiError::invalid("Pick how long the access lasts"))?;
    Ok(Selection { expires_ms: Some(now + lasts), ..selection })
}
