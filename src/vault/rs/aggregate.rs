//! Counts, sums and groups over what a grant shows.

use std::collections::BTreeMap;

use rusqlite::Connection as Sqlite;
use serde_json::{Value, json};

use super::context::{Context, meta_with, stale, stream_accesses};
use super::decimal::Decimal;
use super::grouped::{self, By, Groups, json_of};
use super::params::{self, Params};
use super::periods::{Granularity, Periods};
use crate::vault::declaration::{Aggregation, Field};
use crate::vault::enforcement::{Access, Filter, Order, Row, SortedPosition};
use crate::vault::store::values::one_spelling;
use crate::vault::time;
use crate::vault::wire::ApiError;

const PARAMS: &[&str] = &[
    "metric",
    "field",
    "group_by",
    "group_by_time",
    "granularity",
    "time_zone",
    "limit",
    "filter[",
    "connection_id",
    "connector_id",
];
const DEFAULT_GROUPS: usize = 10;
const MAX_GROUPS: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    Sum,
    Min,
    Max,
    CountDistinct,
}

impl Metric {
    /// The same metric for groups, if it has one.
    const fn of_groups(self) -> Option<grouped::Metric> {
        match self {
            Self::Sum => Some(grouped::Metric::Sum),
            Self::Min => Some(grouped::Metric::Min),
            Self::Max => Some(grouped::Metric::Max),
            Self::CountDistinct => None,
        }
    }
}

/// What the request asks for.
enum Ask<'a> {
    /// The number of records.
    Count,
    /// One value over a field.
    Value(Metric, &'a str),
    /// The number of records for each value of a field and, with a metric, one value over another field.
    Groups { metric: Option<(grouped::Metric, &'a str)>, field: &'a str, limit: usize },
    /// The same for each period of a field.
    Periods {
        metric: Option<(grouped::Metric, &'a str)>,
        field: &'a str,
        granularity: Granularity,
        zone: jiff::tz::TimeZone,
        limit: usize,
    },
}

/// The refusal for a stream that offers only counts.
fn counted_only() -> ApiError {
    ApiError::invalid("Groups support only counts: use metric=count").param("metric")
}

impl<'a> Ask<'a> {
    fn read(params: &'a Params) -> Result<Self, ApiError> {
        let invalid = |param: &str, why: &str| Err(ApiError::invalid(why).param(param));
        let name = params.single("metric")?.unwrap_or_default();
        let metric = match name {
            "count" => None,
            "sum" => Some(Metric::Sum),
            "min" => Some(Metric::Min),
            "max" => Some(Metric::Max),
            "count_distinct" => Some(Metric::CountDistinct),
            _ => return invalid("metric", "metric must be one of count, sum, min, max, count_distinct"),
        };
        let (field, group_by) = (params.single("field")?, params.single("group_by")?);
        let (group_by_time, granularity) = (params.single("group_by_time")?, params.single("granularity")?);
        if group_by.is_some() && group_by_time.is_some() {
            return Err(ApiError::invalid(
                "group_by and group_by_time cannot be combined; choose one grouping dimension",
            ));
        }
        if group_by_time.is_some() != granularity.is_some() {
            return invalid(
                "granularity",
                "granularity is required when group_by_time is present, and only then",
            );
        }
        let zone = params.single("time_zone")?;
        if zone.is_some() && group_by_time.is_none() {
            return invalid("time_zone", "time_zone is only supported with group_by_time");
        }
        let is_grouped = group_by.is_some() || group_by_time.is_some();
        let limit = params.number("limit")?;
        if limit.is_some() && !is_grouped {
            return invalid("limit", "limit is only supported with group_by or group_by_time");
        }
        if limit == Some(0) {
            return invalid("limit", "limit must be at least 1");
        }
        let limit = limit.unwrap_or(DEFAULT_GROUPS).min(MAX_GROUPS);
        let metric = match (metric, field) {
            (Some(_), None) => return invalid("field", &format!("field is required for {name}")),
            (None, Some(_)) => return invalid("field", "count takes no field"),
            (Some(metric), Some(field)) if is_grouped => {
                Some((metric.of_groups().ok_or_else(counted_only)?, field))
            }
            (Some(metric), Some(field)) => return Ok(Self::Value(metric, field)),
            (None, None) => None,
        };
        if let Some(field) = group_by {
            return Ok(Self::Groups { metric, field, limit });
        }
        let (Some(field), Some(granularity)) = (group_by_time, granularity) else { return Ok(Self::Count) };
        let granularity = Granularity::parse(granularity)?;
        let name = zone.unwrap_or(UTC);
        // Not every system has a database of the other zones.
        let zone = if name == UTC { Ok(jiff::tz::TimeZone::UTC) } else { jiff::tz::TimeZone::get(name) };
        match zone {
            Ok(zone) => Ok(Self::Periods { metric, field, granularity, zone, limit }),
            Err(_) if jiff::tz::db().is_definitively_empty() => invalid(
                "time_zone",
                &format!("Unknown time_zone: '{name}': this provider's system has no time zone database"),
            ),
            Err(_) => invalid("time_zone", &format!("Unknown time_zone: '{name}'")),
        }
    }
}

/// The zone if a request names none.
const UTC: &str = "UTC";

/// `GET /v1/streams/{stream}/aggregate`
///
/// # Errors
/// Returns every refusal.
pub fn get(context: &Context<'_>, stream: &str) -> Result<Value, ApiError> {
    let params = Params::read(context.read, PARAMS)?;
    let ask = Ask::read(&params)?;
    let conditions = params.conditions()?;
    let group_by_time = params.single("group_by_time")?;
    let mut answer = json!({
        "object": "aggregation",
        "stream": stream,
        "metric": params.single("metric")?,
        "field": params.single("field")?,
        "group_by": params.single("group_by")?,
        "group_by_time": group_by_time,
        "granularity": params.single("granularity")?,
        "time_zone": params.single("time_zone")?.or(group_by_time.map(|_| UTC)),
        "approximate": false,
        "links": { "self": context.read.target() },
    });
    context.vault.store.read(|db, catalog| {
        let accesses = stream_accesses(context, catalog, stream, &params)?;
        answer["meta"] = meta_with(&stale(db, &accesses)?);
        let mut sources = Vec::new();
        let mut total = 0;
        for access in &accesses {
            let filter = params::filter(access, &conditions)?;
            total += access.count(db, &filter)?;
            sources.push((access, filter));
        }
        answer["filtered_record_count"] = total.into();
        let values = |field: &str, how| values(db, &sources, field, how);
        let is_extended = accesses.iter().all(|access| access.stream().is_extended);
        let (groups, limit) = match ask {
            Ask::Count => {
                answer["value"] = total.into();
                return Ok(answer);
            }
            Ask::Value(Metric::Sum, field) if is_extended => {
                let over = over(&sources, field, Aggregation::Sum)?;
                let groups = Groups::read(db, &over, grouped::Metric::Sum, By::Nothing)?;
                groups.only().answer(&over, &mut answer);
                return Ok(answer);
            }
            Ask::Value(metric @ (Metric::Min | Metric::Max), field) if is_extended => {
                name_extreme(db, &sources, field, metric, &mut answer)?;
                return Ok(answer);
            }
            Ask::Value(metric, field) => {
                answer["value"] = match metric {
                    Metric::Sum => {
                        let (total, is_exact) = sum(&values(field, Aggregation::Sum)?);
                        answer["approximate"] = (!is_exact).into();
                        total
                    }
                    Metric::Min => extreme(values(field, Aggregation::Min)?, false),
                    Metric::Max => extreme(values(field, Aggregation::Max)?, true),
                    Metric::CountDistinct => {
                        let values = values(field, Aggregation::CountDistinct)?;
                        values.keys().filter(|json| *json != "null").count().into()
                    }
                };
                return Ok(answer);
            }
            Ask::Groups { metric: Some(_), .. } | Ask::Periods { metric: Some(_), .. } if !is_extended => {
                return Err(counted_only());
            }
            Ask::Groups { metric: Some((metric, measured)), field, limit } => {
                over(&sources, field, Aggregation::GroupBy)?;
                let over = over(&sources, measured, metric.aggregation())?;
                let groups = Groups::read(db, &over, metric, By::Field(field))?;
                groups.by_value().answer(db, &over, limit, &mut answer)?;
                return Ok(answer);
            }
            Ask::Periods { metric: Some((metric, measured)), field, granularity, zone, limit } => {
                over(&sources, field, Aggregation::GroupByTime)?;
                let over = over(&sources, measured, metric.aggregation())?;
                let periods = Periods::new(granularity, zone);
                let groups = Groups::read(db, &over, metric, By::Time(field, periods))?;
                groups.answer(db, &over, limit, &mut answer)?;
                return Ok(answer);
            }
            Ask::Groups { field, limit, .. } => (by_value(values(field, Aggregation::GroupBy)?), limit),
            Ask::Periods { field, granularity, zone, limit, .. } => {
                let mut periods = Periods::<u64>::new(granularity, zone);
                for (access, filter, field) in over(&sources, field, Aggregation::GroupByTime)? {
                    access.instants(db, filter, field, |ms, count| {
                        if let Some(known) = periods.at(ms) {
                            *known += count;
                        }
                    })?;
                }
                (periods.groups(|known, new| *known += new), limit)
            }
        };
        let all: u64 = groups.iter().map(|(_, count)| count).sum();
        let shown: u64 = groups.iter().take(limit).map(|(_, count)| count).sum();
        let rows = groups.into_iter().take(limit).map(|(key, count)| json!({ "key": key, "count": count }));
        answer["groups"] = rows.collect();
        answer["limit"] = limit.into();
        answer["other_count"] = (all - shown).into();
        Ok(answer)
    })
}

/// Writes the least or the greatest value of a field into an answer, with the record that it belongs to. Between
/// equal values, that is the record that a sort by the field returns first.
fn name_extreme(
    db: &Sqlite,
    sources: &[(&Access, Filter)],
    name: &str,
    metric: Metric,
    answer: &mut Value,
) -> Result<(), ApiError> {
    let (how, order) = match metric {
        Metric::Min => (Aggregation::Min, Order::Ascending),
        _ => (Aggregation::Max, Order::Descending),
    };
    let mut first: Option<(SortedPosition, &Access, Row)> = None;
    for (access, filter, field) in over(sources, name, how)? {
        let found = access.sorted(db, filter, (field, order), None, 1)?.pop();
        let Some((at, row)) = found.filter(|(at, _)| at.value().is_some()) else { continue };
        if first.as_ref().is_none_or(|(known, ..)| order.compare_values(&at, known).is_lt()) {
            first = Some((at, access, row));
        }
    }
    answer["value"] = Value::Null;
    if let Some((_, access, row)) = first {
        answer["value"] = access.project(&row, None).remove(name).unwrap_or_default();
        answer["record"] = json!({
            "stream": access.stream().name,
            "id": row.key,
            "connection_id": access.connection().id,
        });
    }
    Ok(())
}

/// All sources with a field called `name` that declares this aggregation and is granted.
fn over<'a>(
    sources: &'a [(&'a Access, Filter)],
    name: &str,
    how: Aggregation,
) -> Result<Vec<(&'a Access, &'a Filter, &'a Field)>, ApiError> {
    let undeclared = || ApiError::invalid(format!("Aggregation {} is not declared for '{name}'", how.name()));
    let mut over = Vec::with_capacity(sources.len());
    for (access, filter) in sources {
        let declared: &Field = access.stream().field(name).ok_or_else(undeclared)?;
        let field = access.field(name).ok_or_else(|| params::not_granted(name))?;
        if !declared.aggregations.contains(&how) {
            return Err(undeclared());
        }
        over.push((*access, filter, field));
    }
    Ok(over)
}

/// The values of a field over all sources, as JSON text, with how often each occurs. For instants, a part that
/// contains the least and the greatest is enough.
fn values(
    db: &Sqlite,
    sources: &[(&Access, Filter)],
    name: &str,
    how: Aggregation,
) -> Result<BTreeMap<String, u64>, ApiError> {
    let mut all = BTreeMap::new();
    for (access, filter, field) in over(sources, name, how)? {
        let values = match how {
            Aggregation::Min => access.extremes(db, filter, field, false)?,
            Aggregation::Max => access.extremes(db, filter, field, true)?,
            _ => access.values(db, filter, field)?,
        };
        for (value, count) in values {
            *all.entry(one_spelling(value.into()).into_owned()).or_insert(0) += count;
        }
    }
    Ok(all)
}

/// The most frequent first; equally frequent ones in the order of their text.
fn by_value(values: BTreeMap<String, u64>) -> Vec<(Value, u64)> {
    let mut groups: Vec<(String, u64)> = values.into_iter().collect();
    groups.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
    groups.into_iter().map(|(text, count)| (json_of(&text), count)).collect()
}

/// The sum, and whether it is exact.
fn sum(values: &BTreeMap<String, u64>) -> (Value, bool) {
    let numbers = || values.iter().filter(|(text, _)| *text != "null");
    if numbers().next().is_none() {
        return (Value::Null, true);
    }
    let exact = numbers()
        .try_fold(Decimal::ZERO, |total, (text, count)| total.plus(Decimal::parse(text)?.times(*count)?));
    if let Some(total) = exact {
        return (json_of(&total.to_string()), true);
    }
    #[allow(clippy::cast_precision_loss, reason = "only for numbers that do not fit a decimal of 28 digits")]
    let numbers = numbers().filter_map(|(text, count)| Some(text.parse::<f64>().ok()? * *count as f64));
    (numbers.sum::<f64>().into(), false)
}

fn extreme(values: BTreeMap<String, u64>, greatest: bool) -> Value {
    let mut all: Vec<Value> =
        values.into_keys().filter(|text| text != "null").map(|text| json_of(&text)).collect();
    all.sort_by(|left, right| match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            match (Decimal::parse(left.as_str()), Decimal::parse(right.as_str())) {
                (Some(left), Some(right)) => left.cmp(&right),
                _ => left.as_f64().unwrap_or(0.0).total_cmp(&right.as_f64().unwrap_or(0.0)),
            }
        }
        (Value::String(left), Value::String(right)) => {
            (time::parse_ms(left), left).cmp(&(time::parse_ms(right), right))
        }
        _ => rank(left).cmp(&rank(right)),
    });
    let found = if greatest { all.pop() } else { all.into_iter().next() };
    found.unwrap_or(Value::Null)
}

/// The order of values of several kinds.
const fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_extremes_keep_their_digits() {
        let values =
            |texts: &[&str]| texts.iter().map(|text| ((*text).to_owned(), 1)).collect::<BTreeMap<_, _>>();
        let sum = |texts: &[&str]| {
            let (total, is_exact) = sum(&values(texts));
            (total.to_string(), is_exact)
        };
        assert_eq!(sum(&["1.10", "2.20", "null"]), ("3.30".to_owned(), true));
        assert_eq!(sum(&["1e3", "2.5E-1", "9007199254740993"]), ("9007199254741993.25".to_owned(), true));
        assert!(!sum(&["1e40", "1"]).1, "a double, and marked as inexact");
        assert_eq!(sum(&["null"]), ("null".to_owned(), true));
        assert_eq!(extreme(values(&["9", "10", "1.10"]), true).to_string(), "10");
        assert_eq!(extreme(values(&["9", "10", "1.10"]), false).to_string(), "1.10");
        assert_eq!(
            extreme(values(&["\"2024-02-01T00:00:00+02:00\"", "\"2024-01-31T23:00:00Z\""]), false),
            "2024-02-01T00:00:00+02:00"
        );
    }
}
