//! Calls that are refused because of what the schema declares, before a provider is asked: it would answer as if
//! nothing were wrong.

use serde_json::json;

use super::filter_value;
use crate::mcp::call::Call;
use crate::mcp::reading::catalog::Kind;
use crate::mcp::reading::filter::Filter;
use crate::mcp::reading::reader::Reader;
use crate::mcp::reading::request::Expansion;
use crate::mcp::tool_error::ToolError;

/// Refuses `expand` if the live schema offers no relation (R3.62); leaves it to the resource server if the schema
/// cannot be read or does not know the stream.
pub(super) async fn check_expand(
    reader: &Reader,
    call: &Call,
    expand: &[Expansion],
    stream: &str,
    connection: Option<&str>,
) -> Result<(), ToolError> {
    if expand.is_empty() {
        return Ok(());
    }
    let Some(facts) = reader.live_facts(stream, connection).await else { return Ok(()) };
    if facts.is_empty() || facts.iter().any(|facts| facts.is_expandable) {
        return Ok(());
    }
    Err(ToolError::new(
        "invalid_expand",
        format!(
            "stream `{stream}` offers no relation to expand (GET /v1/schema, expand_capabilities of `{stream}`)"
        ),
        "leave expand and expand_limit out; schema lists each stream's relations",
    )
    .offer(Some(call.with([("expand", None), ("expand_limit", None)])))
    .with("param", "expand"))
}

/// Refuses filter values that the declared type of their field cannot hold: the resource server would find nothing,
/// and report that as a true result. Costs nothing for a call without a filter.
pub(super) async fn check_filter(
    reader: &Reader,
    call: &Call,
    filter: &Filter,
    stream: &str,
    connection: Option<&str>,
) -> Result<(), ToolError> {
    if filter.is_empty() {
        return Ok(());
    }
    let facts = reader.facts(stream, connection).await;
    let (mut misfits, mut meant) = filter_value::misfits(filter, &facts);
    if misfits.is_empty() && filter_value::may_misfit(filter, &facts) {
        let full = reader.full_facts(stream, connection).await;
        (misfits, meant) = filter_value::misfits(filter, &full);
    }
    let Some(first) = misfits.first() else { return Ok(()) };
    let join =
        |of: &dyn Fn(&filter_value::Misfit) -> &str| misfits.iter().map(of).collect::<Vec<_>>().join("; ");
    let next = meant.map(|meant| call.with([("filter", Some(json!(meant.to_json())))]));
    Err(ToolError::new("invalid_filter", join(&|misfit| &misfit.message), join(&|misfit| &misfit.hint))
        .offer(next)
        .with("param", "filter")
        .with("field", first.field.clone())
        .with_some("type", first.kind.map(Kind::name)))
}
