//! Checks filter values against the declared type of their field: a value that the type cannot hold finds nothing,
//! and a reader would believe a count of 0. If no type is declared, the resource server decides.

use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::{Value, json};

use crate::mcp::id::RecordId;
use crate::mcp::reading::catalog::{Kind, StreamFacts};
use crate::mcp::reading::filter::{Condition, Filter, Operator, Test};

/// A value that its field cannot hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The field.
    pub field: String,
    /// Its declared type; `None` if the fault is elsewhere.
    pub kind: Option<Kind>,
    /// What is wrong.
    pub message: String,
    /// What is accepted, with an example.
    pub hint: String,
}

/// The values of `filter` that match nothing according to `facts`, and the corrected filter if the correction is
/// certain.
pub fn misfits(filter: &Filter, facts: &[StreamFacts]) -> (Vec<Misfit>, Option<Filter>) {
    let mut misfits = Vec::new();
    let mut meant = Some(filter.to_json());
    for Condition { field, test } in filter.conditions() {
        let Some(kind) = kind_of(field, facts) else {
            if let Some((misfit, record)) = handle(field, test, facts) {
                misfits.push(misfit);
                if let Some(meant) = &mut meant {
                    meant.insert(field.clone(), record);
                }
            }
            continue;
        };
        let (wrong, corrected) = misfit_of(kind, field, test);
        if let Some(misfit) = wrong {
            misfits.push(misfit);
            match (corrected, &mut meant) {
                (Some(value), Some(meant)) => {
                    meant.insert(field.clone(), value);
                }
                _ => meant = None,
            }
        }
    }
    (misfits, meant.and_then(|fields| Filter::from_json(&fields)))
}

/// Whether `filter` compares a field that may hold times with a value that is not a time: then the full schema, which
/// declares it, is worth reading.
pub fn may_misfit(filter: &Filter, facts: &[StreamFacts]) -> bool {
    filter.conditions().iter().any(|Condition { field, test }| {
        let may_be_time =
            |facts: &StreamFacts| facts.fields.get(field).is_some_and(|field| field.may_be_time);
        facts.iter().any(may_be_time) && misfit_of(Kind::Time, field, test).0.is_some()
    })
}

/// The type, if every source declares the same one.
fn kind_of(field: &str, facts: &[StreamFacts]) -> Option<Kind> {
    let mut kinds = facts.iter().filter_map(|facts| facts.fields.get(field)).map(|declared| declared.kind);
    let first = kinds.next()??;
    kinds.all(|kind| kind == Some(first)).then_some(first)
}

/// The misfit of a value that is a record's handle instead of its own id: no field holds one of our handles.
fn handle(field: &str, test: &Test, facts: &[StreamFacts]) -> Option<(Misfit, Value)> {
    let given = match test {
        Test::Equals(value) => value.as_str()?,
        // Ids are not ordered.
        Test::Range(_) => return None,
    };
    let id = RecordId::parse(given).ok()?;
    let connection = id.connection.as_deref()?;
    let is_ours = facts.iter().flat_map(|facts| &facts.connections).any(|(known, _)| known == connection);
    is_ours.then(|| {
        let misfit = Misfit {
            field: field.to_owned(),
            kind: None,
            message: format!("`{field}` holds a record's own id, not the handle that names it here"),
            hint: format!("filter accepts {}", json!(id.record)),
        };
        (misfit, json!(id.record))
    })
}

/// What is wrong with a condition on a field of that type, and its corrected JSON if the correction is certain.
fn misfit_of(kind: Kind, field: &str, test: &Test) -> (Option<Misfit>, Option<Value>) {
    let bounds = match test {
        Test::Equals(value) => {
            return match check(kind, None, value) {
                Ok(()) => (None, None),
                Err((why, meant)) => (Some(misfit(kind, field, &why)), meant),
            };
        }
        Test::Range(bounds) => bounds,
    };
    let (mut wrong, mut meant) = (Vec::new(), Some(serde_json::Map::new()));
    for (operator, bound) in bounds {
        let value = match check(kind, Some(*operator), bound) {
            Ok(()) => Some(bound.clone()),
            Err((why, corrected)) => {
                wrong.push(why);
                corrected
            }
        };
        meant = meant.zip(value).map(|(mut meant, value)| {
            meant.insert(operator.name().to_owned(), value);
            meant
        });
    }
    if wrong.is_empty() {
        return (None, None);
    }
    (Some(misfit(kind, field, &wrong.join("; "))), meant.map(Value::Object))
}

fn misfit(kind: Kind, field: &str, why: &str) -> Misfit {
    let hint = match kind {
        Kind::Time => format!(
            "write YYYY-MM-DD (midnight UTC) or RFC 3339 with a zone, such as {}",
            json!({field: {"gte": "2026-08-01", "lt": "2026-08-15T09:30:00+02:00"}})
        ),
        Kind::Date => format!("write YYYY-MM-DD, such as {}", json!({field: {"gte": "2026-08-01"}})),
        Kind::Number => format!("write a number, such as {}", json!({field: {"gte": 100}})),
        Kind::Boolean => format!("write true or false: {}", json!({field: true})),
    };
    Misfit {
        field: field.to_owned(),
        kind: Some(kind),
        message: format!("`{field}` is a {}: {why}", kind.name()),
        hint,
    }
}

/// Checks whether a value fits, compared by `operator`, or by equality without one. The error says why not, with the
/// corrected value if it is certain.
fn check(kind: Kind, operator: Option<Operator>, value: &Value) -> Result<(), (String, Option<Value>)> {
    let shown = || match value {
        Value::String(text) => format!("`{}`", crate::text::prefix(text, 60)),
        value => value.to_string(),
    };
    match kind {
        Kind::Number => match value {
            Value::Number(_) => Ok(()),
            Value::String(text) if is_number(text) => Ok(()),
            _ => Err((format!("{} is not a number", shown()), None)),
        },
        Kind::Boolean => match value {
            Value::Bool(_) => Ok(()),
            Value::String(text) if matches!(text.as_str(), "true" | "false") => Ok(()),
            value => {
                let word = value.as_str().map_or_else(|| value.to_string(), str::to_ascii_lowercase);
                let meant = match word.as_str() {
                    "yes" | "1" | "true" => Some(json!(true)),
                    "no" | "0" | "false" => Some(json!(false)),
                    _ => None,
                };
                Err((format!("{} is neither true nor false", shown()), meant))
            }
        },
        Kind::Date => match value {
            Value::String(text) if date(text).is_some() => Ok(()),
            value => {
                Err((format!("{} is not a date", shown()), meant_time(value, operator).filter(is_date_only)))
            }
        },
        Kind::Time => match value {
            Value::String(text) if date(text).is_some() && operator.is_none() => {
                let why =
                    format!("{} is a whole day, and this field holds moments: give it as a range", shown());
                Err((why, days(text)))
            }
            Value::String(text) if date(text).is_some() || is_moment(text) => Ok(()),
            Value::String(text) if is_moment(&format!("{}Z", text.replacen(' ', "T", 1))) => {
                Err((format!("{} has no zone: add Z (UTC) or an offset such as +02:00", shown()), None))
            }
            value => Err((format!("{} is not a time", shown()), meant_time(value, operator))),
        },
    }
}

fn is_number(text: &str) -> bool {
    matches!(serde_json::from_str(text), Ok(Value::Number(_)))
}

fn is_date_only(value: &Value) -> bool {
    let is_date = |value: &Value| value.as_str().is_some_and(|text| date(text).is_some());
    match value {
        Value::Object(range) => range.values().all(is_date),
        value => is_date(value),
    }
}

/// `YYYY-MM-DD`, if it is in the calendar.
pub fn date(text: &str) -> Option<Date> {
    let bytes = text.as_bytes();
    let has_form = bytes.len() == 10
        && bytes
            .iter()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 4 | 7) { *byte == b'-' } else { byte.is_ascii_digit() });
    if !has_form {
        return None;
    }
    Date::new(text[..4].parse().ok()?, text[5..7].parse().ok()?, text[8..].parse().ok()?).ok()
}

/// Whether `text` is RFC 3339, with seconds and a zone.
fn is_moment(text: &str) -> bool {
    let has_form = text.is_ascii()
        && text.len() >= 20
        && date(&text[..10]).is_some()
        && matches!(text.as_bytes()[10], b'T' | b't')
        && text.as_bytes()[11..19]
            .iter()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 2 | 5) { *byte == b':' } else { byte.is_ascii_digit() });
    let Some(mut zone) = has_form.then(|| &text[19..]) else { return false };
    if let Some(fraction) = zone.strip_prefix('.') {
        let digits = fraction.len() - fraction.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            return false;
        }
        zone = &fraction[digits..];
    }
    let bytes = zone.as_bytes();
    let is_offset = bytes.len() == 6
        && matches!(bytes[0], b'+' | b'-')
        && bytes[3] == b':'
        && [1, 2, 4, 5].iter().all(|at| bytes[*at].is_ascii_digit());
    (matches!(zone, "Z" | "z") || is_offset) && text.to_ascii_uppercase().parse::<Timestamp>().is_ok()
}

/// A day as a range.
fn days(text: &str) -> Option<Value> {
    let day = date(text)?;
    Some(json!({"gte": day.to_string(), "lt": day.tomorrow().ok()?.to_string()}))
}

/// A time in another notation, if its meaning is certain: never one without a zone.
fn meant_time(value: &Value, operator: Option<Operator>) -> Option<Value> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    if text.len() > 40 || !text.is_ascii() {
        return None;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = text.parse::<i64>().ok()?;
        let moment = match text.len() {
            10 => Timestamp::from_second(number).ok()?,
            13 => Timestamp::from_millisecond(number).ok()?,
            4 => return period(text.parse().ok()?, None, operator),
            _ => return None,
        };
        return Some(json!(moment.to_string()));
    }
    let parts = text.split(['-', '/', '.']).collect::<Vec<_>>();
    if let [year, month] = parts.as_slice()
        && year.len() == 4
    {
        return period(year.parse().ok()?, Some(month.parse().ok()?), operator);
    }
    if let [year, month, day] = parts.as_slice()
        && year.len() == 4
        && let (Ok(year), Ok(month), Ok(day)) = (year.parse(), month.parse(), day.parse())
    {
        let day = Date::new(year, month, day).ok()?.to_string();
        return if operator.is_none() { days(&day) } else { Some(json!(day)) };
    }
    // `2026-08-01 10:00Z`, `2026-08-01T10:00:00+0200`.
    let mut moment = text.replacen(' ', "T", 1).to_ascii_uppercase();
    if moment.len() > 5 && moment.is_char_boundary(moment.len() - 5) {
        let zone = &moment[moment.len() - 5..];
        if zone.starts_with(['+', '-']) && zone[1..].bytes().all(|byte| byte.is_ascii_digit()) {
            moment.insert(moment.len() - 2, ':');
        }
    }
    if moment.len() >= 17 && !moment[16..].starts_with(':') {
        moment.insert_str(16, ":00");
    }
    is_moment(&moment).then(|| json!(moment))
}

/// A month or a year: a range, or the bound that keeps the comparison's direction.
fn period(year: i16, month: Option<i8>, operator: Option<Operator>) -> Option<Value> {
    let first = Date::new(year, month.unwrap_or(1), 1).ok()?;
    let after = match month {
        Some(12) | None => Date::new(year.checked_add(1)?, 1, 1).ok()?,
        Some(month) => Date::new(year, month + 1, 1).ok()?,
    };
    match operator {
        None => Some(json!({"gte": first.to_string(), "lt": after.to_string()})),
        Some(Operator::Gte | Operator::Lt) => Some(json!(first.to_string())),
        Some(Operator::Gt | Operator::Lte) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::reading::catalog::Declared;

    fn of(filter: &Value) -> Filter {
        Filter::from_json(filter.as_object().unwrap()).unwrap()
    }

    fn facts() -> Vec<StreamFacts> {
        let field =
            |name: &str, kind: Option<Kind>| (name.to_owned(), Declared { kind, ..Declared::default() });
        vec![StreamFacts {
            connections: vec![("cin_a".into(), None)],
            fields: [
                field("at", Some(Kind::Time)),
                field("day", Some(Kind::Date)),
                field("amount", Some(Kind::Number)),
                field("is_seen", Some(Kind::Boolean)),
                field("thread_id", None),
            ]
            .into_iter()
            .collect(),
            ..StreamFacts::default()
        }]
    }

    #[test]
    fn r3_60_a_value_that_its_type_cannot_hold_is_found() {
        let range = |from: &str, to: &str| Some(json!({"gte": from, "lt": to}));
        for (filter, meant) in [
            (json!({"at": {"gte": "last month"}}), None),
            (json!({"at": {"gte": "2026-13-45"}}), None),
            (json!({"at": {"gte": "2026-10-01T00:00:00"}}), None),
            (json!({"at": {"gte": "2026-08-01 00:00:00"}}), None),
            (json!({"at": {"gte": "2026-08"}}), Some(json!({"gte": "2026-08-01"}))),
            (json!({"at": {"lte": "2026-08"}}), None),
            (json!({"at": {"gte": "2026/08/01"}}), Some(json!({"gte": "2026-08-01"}))),
            (json!({"at": {"gte": "2026-8-1"}}), Some(json!({"gte": "2026-08-01"}))),
            (json!({"at": {"gte": 1_785_535_200}}), Some(json!({"gte": "2026-07-31T22:00:00Z"}))),
            (
                json!({"at": {"lt": "2026-08-01T10:00+0200"}}),
                Some(json!({"lt": "2026-08-01T10:00:00+02:00"})),
            ),
            (json!({"at": {"lt": "2026-08-01 10:00:00Z"}}), Some(json!({"lt": "2026-08-01T10:00:00Z"}))),
            (json!({"at": "2026-10-31"}), range("2026-10-31", "2026-11-01")),
            (json!({"at": "2026-12"}), range("2026-12-01", "2027-01-01")),
            (json!({"at": 2026}), range("2026-01-01", "2027-01-01")),
            (json!({"at": true}), None),
            (json!({"day": {"gte": "2026-10"}}), Some(json!({"gte": "2026-10-01"}))),
            (json!({"day": "2026-10-01T00:00:00Z"}), None),
            (json!({"amount": {"gte": "abc"}}), None),
            (json!({"amount": "1,000"}), None),
            (json!({"is_seen": "yes"}), Some(json!(true))),
            (json!({"is_seen": 0}), Some(json!(false))),
            (json!({"is_seen": "maybe"}), None),
            (json!({"thread_id": "cin_a/threads:t%2F5"}), Some(json!("t/5"))),
        ] {
            let (field, filter) = (filter.as_object().unwrap().keys().next().unwrap(), of(&filter));
            let (wrong, corrected) = misfits(&filter, &facts());
            assert_eq!(wrong.len(), 1, "{filter:?}");
            assert_eq!(wrong[0].field, *field);
            assert_eq!(corrected.map(|corrected| corrected.to_json()[field].clone()), meant, "{filter:?}");
            if let Some(meant) = meant {
                assert_eq!(misfits(&of(&json!({field: meant})), &facts()).0, [], "no correction is refused");
            }
        }
    }

    #[test]
    fn r3_10_what_fits_or_is_undeclared_is_forwarded() {
        for filter in [
            json!({"at": {"gte": "2026-08-01", "lt": "2026-08-31T23:59:59.5+02:00"}}),
            json!({"at": "2026-08-01T10:00:00z"}),
            json!({"day": "2026-08-01"}),
            json!({"amount": -1.10, "is_seen": "true"}),
            json!({"amount": "12345678901234567890123"}),
            json!({"thread_id": "cin_b/threads:t5"}),
            json!({"other": "last month", "x": {"gte": true}}),
        ] {
            let (wrong, corrected) = misfits(&of(&filter), &facts());
            assert_eq!(wrong, [], "{filter}");
            assert_eq!(corrected, Some(of(&filter)));
        }
        let mut several = facts();
        several.push(StreamFacts {
            fields: [("at".to_owned(), Declared::default())].into_iter().collect(),
            ..StreamFacts::default()
        });
        let filter = json!({"at": "yesterday"});
        assert_eq!(misfits(&of(&filter), &several).0, [], "sources that declare it differently");
    }
}
