//! What exports of chats with an assistant have in common: an array of conversations, and small files
//! next to it that name the owner.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use super::format::{Ask, Bad, End, Member, Out, Raw, Refused, Unit};
use super::{json_elements, json_value};
use crate::json;
use crate::vault::time;

/// The most bytes of a small file.
const LONGEST_SIDE_FILE: u64 = 16 * 1024 * 1024;

/// Gives the elements of a unit from `from` on.
///
/// # Errors
/// If the unit cannot be read, or ends within an element.
pub fn split(unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
    if from > 0 {
        unit.bytes.skip_to(from)?;
    }
    elements(unit, from, "", out)
}

/// Gives the elements of an array whose bytes are read up to `from`. Each has `mark` as its facts, unless
/// it is too long.
///
/// # Errors
/// The errors of [`split`].
pub fn elements(unit: &mut Unit<'_>, from: u64, mark: &str, out: &mut Out<'_>) -> io::Result<End> {
    let at = json_elements::scan(&mut unit.bytes, from, json_elements::LONGEST, &mut |element| {
        let facts = element
            .bytes
            .as_ref()
            .map_or_else(|| format!("too long at {}", element.offset), |_| mark.to_owned());
        out(Raw {
            offset: element.offset,
            next: element.next,
            line: None,
            bytes: element.bytes.unwrap_or_default(),
            facts,
            copy: 0,
        })
    })?;
    Ok(End { at })
}

/// The value of an element.
///
/// # Errors
/// If it is too long, or [`json_value::read`] refuses it.
pub fn value(raw: &Raw) -> Result<Value, Bad> {
    if !raw.facts.is_empty() {
        return Err(Bad("a conversation of more than 64 MiB"));
    }
    json_value::read(&raw.bytes)
}

/// The beginning of a member's text, without a byte order mark and spaces.
pub fn beginning(head: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(head.strip_prefix(json::BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start())
}

/// Like [`beginning`], for a member of a plan: if there are very many members, its head is short or
/// empty.
///
/// # Errors
/// If it cannot be read.
pub fn beginning_of<'a>(member: &'a Member<'_>) -> Result<Cow<'a, str>, Refused> {
    let unreadable =
        |error: io::Error| Refused::Unreadable(format!("{} cannot be read: {error}", member.label));
    Ok(match member.beginning().map_err(unreadable)? {
        Cow::Borrowed(head) => beginning(head),
        Cow::Owned(head) => Cow::Owned(beginning(&head).into_owned()),
    })
}

/// The value of a small file.
///
/// # Errors
/// If it cannot be read, is not JSON, or is not small.
pub fn side_file(member: &Member<'_>) -> Result<Value, Refused> {
    let unreadable = |error: String| Refused::Unreadable(format!("{} cannot be read: {error}", member.label));
    let mut bytes = Vec::new();
    let opened = (member.open)().map_err(|error| unreadable(error.to_string()))?;
    opened.take(LONGEST_SIDE_FILE).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
    let bytes = bytes.strip_prefix(json::BYTE_ORDER_MARK).unwrap_or(&bytes);
    json_value::read(bytes).map_err(|Bad(why)| unreadable(why.to_owned()))
}

/// The folder that a member is in.
pub fn folder(label: &str) -> &str {
    label.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The units of one account.
#[derive(Debug, PartialEq, Eq)]
pub struct OfAccount {
    /// The account.
    pub account: String,
    /// The owner that the export names.
    pub owner: Option<String>,
    /// Whether the export or the person names the account.
    pub is_known: bool,
    /// The members, as positions, in the order of their names.
    pub units: Vec<usize>,
}

/// Assigns `units` to accounts: the one that the person names, or the one of a file in the same folder,
/// or of the only such file. A folder may have several exports, and the files of one export may be side
/// by side. `accounts` are by folder; if none is known, the account is `default`.
pub fn by_account(
    members: &[Member<'_>],
    mut units: Vec<usize>,
    accounts: &BTreeMap<&str, String>,
    ask: &Ask,
    default: &str,
) -> Vec<OfAccount> {
    units.sort_by_key(|at| members[*at].label);
    let only = if accounts.len() == 1 { accounts.values().next() } else { None };
    let mut all: Vec<OfAccount> = Vec::new();
    for at in units {
        let owner = accounts.get(folder(members[at].label)).or(only);
        let own = ask.account.as_ref().or(owner);
        let account = own.map_or(default, String::as_str);
        match all.iter_mut().find(|of| of.account == account) {
            Some(of) => of.units.push(at),
            None => {
                all.push(OfAccount {
                    account: account.to_owned(),
                    owner: owner.cloned(),
                    is_known: own.is_some(),
                    units: vec![at],
                });
            }
        }
    }
    all
}

/// An instant: seconds since 1970, or RFC 3339.
pub fn instant(value: &Value) -> Option<String> {
    if let Some(seconds) = json::number(value) {
        // Half a millisecond, because a double may not hold three digits exactly, and rounding must not
        // lose one.
        let since = SignedDuration::try_from_secs_f64(seconds + 0.0005).ok()?;
        return Some(time::format_ms(Timestamp::from_duration(since).ok()?.as_millisecond()));
    }
    value.as_str().and_then(time::parse_ms).map(time::format_ms)
}

/// The value that decides which of two records is later, if each has a time of change.
pub fn age(record: &str) -> (Option<String>, &str) {
    #[derive(Deserialize)]
    struct Changed {
        update_time: Option<String>,
    }
    (serde_json::from_str::<Changed>(record).ok().and_then(|record| record.update_time), record)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn instants_are_seconds_or_written_out() {
        for (value, expected) in [
            (json!(1_772_359_200), Some("2026-03-01T10:00:00.000Z")),
            (json!(1_772_359_200.123), Some("2026-03-01T10:00:00.123Z")),
            (json!("1772359200.5"), Some("2026-03-01T10:00:00.500Z")),
            (json!("2026-03-01T11:00:00.123456+01:00"), Some("2026-03-01T10:00:00.123Z")),
            (json!(1e300), None),
            (json!("soon"), None),
            (json!(null), None),
        ] {
            assert_eq!(instant(&value).as_deref(), expected, "{value}");
        }
    }
}
