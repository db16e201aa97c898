//! What exports of chats with an assistant have in common: an array of conversations, and small files beside it that say whose.

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

/// What a small file has at most, in bytes.
const LONGEST_SIDE_FILE: u64 = 16 * 1024 * 1024;

/// The elements of a unit, from `from` on.
///
/// # Errors
/// Where the unit cannot be read, or ends within an element.
pub fn split(unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
    if from > 0 {
        unit.bytes.skip_to(from)?;
    }
    elements(unit, from, "", out)
}

/// The elements of an array whose bytes are read up to `from`. Each has `mark` as its facts, unless it is too long.
///
/// # Errors
/// As [`split`].
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
/// Where it is too long, or [`json_value::read`] refuses it.
pub fn value(raw: &Raw) -> Result<Value, Bad> {
    if !raw.facts.is_empty() {
        return Err(Bad("a conversation of more than 64 MiB"));
    }
    json_value::read(&raw.bytes)
}

/// The text that a member begins with, without what may stand before it.
pub fn beginning(head: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(head.strip_prefix(json::BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start())
}

/// As [`beginning`], of a member of a plan: of very many members its head is short or empty.
///
/// # Errors
/// Where it cannot be read.
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
/// Where it cannot be read, is not JSON, or is not small.
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
    /// Whose the export says that they are.
    pub owner: Option<String>,
    /// Whether the export or the person says so.
    pub is_known: bool,
    /// The members, as positions, in the order of their names.
    pub units: Vec<usize>,
}

/// Whose `units` are: the person says, or a file in the same folder, or the only such file. Several exports may lie in one
/// folder, and one export's files side by side. `accounts` are by folder; where none is known, it is `default`.
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
        // Half a millisecond: what a double cannot hold of three digits is not to cost one of them.
        let since = SignedDuration::try_from_secs_f64(seconds + 0.0005).ok()?;
        return Some(time::format_ms(Timestamp::from_duration(since).ok()?.as_millisecond()));
    }
    value.as_str().and_then(time::parse_ms).map(time::format_ms)
}

/// What decides which of two records is the later one, if each knows when it was changed.
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
