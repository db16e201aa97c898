//! A stream's fields and what each supports, from every source that has it, within the size limits.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::index::strip_to_names;
use super::row::{NO_FIELDS, Row, VALUES, bound_envelope, field_line, short, short_flags};
use crate::json::write::Written;
use crate::mcp::call::Call;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::render::ladder::next_line;
use crate::mcp::size::{Bounds, json_len};
use crate::mcp::tool_error::{Candidate, ToolError};
use crate::mcp::tools::answer_parts::{counted, meta_lines};
use crate::mcp::tools::arguments::foreign_cursor;

/// What the flags of a compact field mean.
const LEGEND: &str = "flags: t=type, role=declared meaning, eq=filter {\"field\":value}, r=ops: filter {\"field\":{op:value}}, \
lex=searched by search, sem=by its semantic mode, a=aggregate uses (group_by with count only), \
g=false: not granted, declared=readable only; records sort by the sort field only; fields cannot name what expand adds\n";

/// The same if a provider declares more about sorting and groups.
const LEGEND_OF_MORE: &str = "flags: t=type, role=declared meaning, eq=filter {\"field\":value}, r=ops: filter {\"field\":{op:value}}, \
lex=searched by search, sem=by its semantic mode, s=sort (records without it last), \
a=aggregate uses (group_by with count, or as groups says), g=false: not granted, declared=readable only, \
values=what eq can match; fields cannot name what expand adds\n";

/// The legend for these rows.
fn legend(rows: &[Row]) -> &'static str {
    if rows.iter().any(Row::says_more) { LEGEND_OF_MORE } else { LEGEND }
}

/// The beginning of a cursor of one stream, followed by the number of fields before it.
const CURSOR: &str = "fields:";

/// The text, the body and the call that continues.
type Described = (String, Map<String, Value>, Option<Call>);

/// How many fields were already shown.
pub(super) fn shown_before(call: &Call) -> Result<usize, ToolError> {
    let Some(cursor) = call.text("cursor") else { return Ok(0) };
    let shown = cursor.strip_prefix(CURSOR).and_then(|shown| shown.parse().ok());
    shown.ok_or_else(|| foreign_cursor(call))
}

/// Every row of a stream with its fields, within the size limits. If several sources do not fit, the answer has one
/// call for each; if one source is too large, the answer has the fields that fit and the call for the rest.
pub(super) fn describe(
    call: &Call,
    mut body: Map<String, Value>,
    shown: usize,
    bounds: Bounds,
) -> Result<Described, ToolError> {
    let rows = Row::all(&body);
    let legend = legend(&rows);
    let bounds = Bounds { structured: bounds.structured.saturating_sub(json_len(&legend) + 14), ..bounds };
    bound_envelope(&mut body);
    let mut meta = String::new();
    meta_lines(&mut meta, &body);
    if shown == 0 {
        let mut text = rows.iter().map(Row::describe).collect::<String>();
        text.push_str(legend);
        text.push_str(&meta);
        text.truncate(text.trim_end().len());
        if text.len() <= bounds.text && json_len(&body) + 12 <= bounds.structured {
            return Ok((text, body, None));
        }
        let candidates = rows.iter().flat_map(Row::candidates).collect::<Vec<_>>();
        if !call.has("connection_id") && candidates.len() > 1 && rows.len() > 1 {
            return Ok(by_connection(call, &rows, &candidates, body, &meta, bounds));
        }
    }
    let (text, body, next) = page_of_fields(call, &rows, body, &meta, shown, bounds);
    if text.is_empty() {
        let again = call.with([("cursor", None)]);
        return Err(ToolError::new("invalid_cursor", "there are no fields after this cursor", again)
            .with("param", "cursor"));
    }
    Ok((text, body, next))
}

/// The sources of a stream, with the call that describes it in each.
fn by_connection(
    call: &Call,
    rows: &[Row],
    candidates: &[Candidate],
    mut body: Map<String, Value>,
    meta: &str,
    bounds: Bounds,
) -> Described {
    let of = |id: &str| call.with([("connection_id", Some(json!(id)))]);
    let next = of(&candidates[0].connection_id);
    let next = Some(next).filter(|next| next.to_text().len() <= bounds.text / 4);
    let mut text = String::new();
    let calls = candidates.iter().map(|candidate| format!("fields: {}\n", of(&candidate.connection_id)));
    let lines = rows.iter().map(Row::summary).chain(calls);
    push_while_fits(&mut text, lines, bounds.text.saturating_sub(meta.len() + 200));
    text.push_str(meta);
    text.truncate(text.trim_end().len());
    let _ = strip_to_names(&mut body, bounds.structured.saturating_sub(bounds.structured / 4 + 100));
    (text, body, next)
}

/// The fields from the one after `shown`, as many as fit both views; at least one, or none if there are none.
fn page_of_fields(
    call: &Call,
    rows: &[Row],
    mut body: Map<String, Value>,
    meta: &str,
    shown: usize,
    bounds: Bounds,
) -> Described {
    let total = rows.iter().map(Row::units).sum::<usize>();
    let next = |at: usize| call.with([("cursor", Some(json!(format!("{CURSOR}{at}"))))]);
    let likely = json_len(&next(total).to_json());
    let legend = legend(rows);
    body.remove("connectors");
    let mut text_left = bounds.text.saturating_sub(legend.len() + meta.len() + likely + 100);
    let mut left = bounds.structured.saturating_sub(json_len(&body) + likely + 120);
    // The part above the fields of a row may take a third of either view.
    let (heading, declared) = (text_left / 3, left / 3);
    let (mut text, mut connectors) = (String::new(), Vec::new());
    let (mut at, mut skipped) = (0, 0);
    'rows: for row in rows {
        if shown >= skipped + row.units() {
            skipped += row.units();
            continue;
        }
        let first = shown.saturating_sub(skipped);
        skipped += row.units();
        at = at.max(skipped - row.units() + first);
        let mut about = String::new();
        let lines = if first == 0 { row.about() } else { row.summary() };
        push_while_fits(&mut about, lines.split_inclusive('\n').map(str::to_owned), heading);
        let (mut connector, mut stream) = row.bounded(declared);
        let above = (about.len(), json_len(&connector) + json_len(&stream) + 80);
        let (mut fields, mut values) = (Map::new(), Map::new());
        let mut is_new = true;
        for (name, flags) in row.fields().skip(first) {
            let (name, flags) = (short(name), short_flags(flags));
            let few = row.values(&name);
            let line = field_line(&name, &flags, few.as_ref());
            let few_size = few.as_ref().map_or(0, |few| json_len(few) + json_len(&name) + 22);
            let size = json_len(&name) + json_len(&flags) + 2 + few_size;
            let (line_len, size) =
                if is_new { (line.len() + above.0, size + above.1) } else { (line.len(), size) };
            let fits = line_len <= text_left && size <= left;
            // The first field is always included: its size is limited, and a walk must make progress.
            if !(fits || is_new && connectors.is_empty()) {
                if !is_new {
                    stream.extend((!values.is_empty()).then(|| (VALUES.to_owned(), Value::Object(values))));
                    stream.insert("field_capabilities".into(), Value::Object(fields));
                    connector.insert("streams".into(), json!([stream]));
                    connectors.push(connector);
                }
                break 'rows;
            }
            text_left = text_left.saturating_sub(line_len);
            left = left.saturating_sub(size);
            if std::mem::take(&mut is_new) {
                text.push_str(&about);
            }
            text.push_str(&line);
            values.extend(few.map(|few| (name.clone(), few)));
            fields.insert(name, flags);
            at += 1;
        }
        if row.fields().next().is_none() {
            let fits = above.0 + 80 <= text_left && above.1 <= left;
            if !fits && !connectors.is_empty() {
                break;
            }
            text_left = text_left.saturating_sub(above.0 + 80);
            left = left.saturating_sub(above.1);
            text.push_str(&about);
            text.push_str(NO_FIELDS);
            at += 1;
        }
        stream.extend((!values.is_empty()).then(|| (VALUES.to_owned(), Value::Object(values))));
        stream.insert("field_capabilities".into(), Value::Object(fields));
        connector.insert("streams".into(), json!([stream]));
        connectors.push(connector);
    }
    if connectors.is_empty() {
        return (String::new(), body, None);
    }
    body.insert("connectors".into(), connectors.into_iter().map(Value::Object).collect());
    let next = Some(next(at)).filter(|_| at < total);
    text.push_str(legend);
    text.push_str(meta);
    if let Some(next) = &next {
        body.insert("fields_not_shown".into(), json!(total - at));
        let _ = writeln!(text, "{} not shown here\n{}", counted(total - at, "field"), next_line(next));
    }
    text.truncate(text.trim_end().len());
    (text, body, next)
}

/// Appends lines while they fit; states how many were omitted.
fn push_while_fits(out: &mut String, lines: impl Iterator<Item = String>, room: usize) {
    let mut left_out = 0usize;
    for line in lines {
        if left_out == 0 && out.len() + line.len() <= room {
            out.push_str(&line);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        let _ = writeln!(out, "{left_out} more lines do not fit: narrow with connection_id (schema {{}})");
    }
}

/// An answer with the legend in the structured view too, whose reader could not read the flags without it.
pub(super) fn answer_with_legend(text: String, body: &Map<String, Value>, next: Option<Call>) -> ToolAnswer {
    let legend = [LEGEND, LEGEND_OF_MORE].map(str::trim_end).into_iter().find(|legend| text.contains(legend));
    let structured = Written::object(|members| {
        members.put("data", body);
        members.put_some("legend", legend);
        members.put_some("next", next);
    });
    ToolAnswer { text, structured: Some(structured), is_error: false, rows: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::call::Tool;

    fn body(more: &Value) -> Map<String, Value> {
        let mut row = json!({"name": "spending", "cursor_field": "at", "primary_key": ["id"], "expand_capabilities": [
            {"name": "parent", "stream": "accounts", "usable": true, "local_key": "account_id"}],
            "field_capabilities": {"at": "t=timestamp,r=gte,s,a=group_by_time", "kind": "t=string,eq,a=group_by"}});
        for (name, value) in more.as_object().unwrap() {
            row[name] = value.clone();
        }
        let body = json!({"object": "schema", "connectors": [{"connector_key": "bank", "streams": [row]}]});
        body.as_object().unwrap().clone()
    }

    fn described(more: &Value, bounds: Bounds) -> (String, Map<String, Value>) {
        let call = Call::new(Tool::Schema, json!({"stream": "spending"}));
        let (text, body, _) = describe(&call, body(more), 0, bounds).unwrap();
        (text, body)
    }

    /// Requirement O6.1; also, what a stream does not support is known before a call.
    #[test]
    fn o6_1_the_schema_says_beforehand_what_sorts_and_what_groups_give() {
        let more = json!({"sort_fields": ["at", "amount"], "grouped_metrics": ["sum", "min", "max"],
            "field_values": {"kind": {"values": ["rent", "food, \"drink\"\n  at: t=x"], "complete": false}}});
        let (text, _) = described(&more, Bounds::default());
        assert!(text.contains("\nsort: FIELD or -FIELD, one of at, amount\n"), "{text}");
        assert!(text.contains("\ngroups: count, or one of sum, min, max with field\n"), "{text}");
        assert!(text.contains("\nexpand: parent (one of accounts)\n"), "{text}");
        // Values are record data: quoted, on one line.
        let values = r#"  kind: t=string,eq,a=group_by values: "rent", "food, \"drink\"\n  at: t=x", …"#;
        assert!(text.contains(&format!("\n{values}\n")), "{text}");
        assert!(text.contains("s=sort") && text.contains("fields cannot name what expand adds"), "{text}");
        assert!(text.contains("sem=by its semantic mode"), "{text}");
        let answer = answer_with_legend(text.clone(), &body(&more), None);
        let structured = answer.structured.unwrap().into_string();
        assert!(structured.contains("s=sort (records without it last)"), "{structured}");

        let (text, _) = described(&json!({}), Bounds::default());
        assert!(text.contains("\nsort: at or -at\n") && !text.contains("groups:"), "{text}");
        assert!(
            text.contains("records sort by the sort field only") && text.contains("group_by with count only")
        );
        assert!(!text.contains("s=sort"), "{text}");
    }

    #[test]
    fn a_page_of_fields_has_the_values_of_those_that_it_shows() {
        let long = "x".repeat(290);
        let fields: Map<String, Value> =
            (0..120).map(|n| (format!("f{n:03}"), json!("t=string,eq"))).collect();
        let values = |value: &str| -> Value {
            let all: Map<String, Value> = fields
                .keys()
                .map(|name| (name.clone(), json!({"values": [value], "complete": true})))
                .collect();
            Value::Object(all)
        };
        let more =
            json!({"sort_fields": ["at"], "field_capabilities": fields, "field_values": values(&long)});
        let (text, page) = described(&more, Bounds::default());
        assert!(text.len() <= Bounds::default().text && json_len(&page) <= Bounds::default().structured);
        let row = &page["connectors"][0]["streams"][0];
        let shown = row["field_capabilities"].as_object().unwrap();
        assert!(shown.len() < 120 && row["field_values"].as_object().unwrap().keys().eq(shown.keys()));
        // What no honest provider sends is not shown in the lines.
        let more =
            json!({"field_values": {"kind": {"values": ["y".repeat(400)], "complete": true}, "at": "z"}});
        assert!(!described(&more, Bounds::default()).0.contains("values:"));
    }
}
