//! A list over several grants (R6.2): asked side by side, taking turns. The cursor also holds what was shown of
//! grants of one provider, so that a row that two of them give is shown once.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::{BoxFuture, try_join_all};
use serde_json::{Map, Value, json};

use super::cursor::Cursor;
use super::cursor::{KEPT_PREFIX, Position, Walk, Walks, expired_cursor, hash, short_hash, unfit_cursor};
use super::list::{Answer, DEFAULT_LIMIT, Listing, Page, Shape, ask, page};
use crate::mcp::id::RecordId;
use crate::mcp::reading::envelope;
use crate::mcp::reading::reader::Reader;
use crate::mcp::reading::rows::Row;
use crate::mcp::tool_error::ToolError;

/// Most rows of a walk that are remembered as shown.
const MAX_SEEN: usize = 4_000;

/// Where a row of several grants says which one it is from; taken from the rows before anything is shown.
const BRANCH: &str = "\u{0}branch";

/// One grant's part of a list over several.
pub struct Branch<'a> {
    /// Names the grant in a cursor: short, the same in every process.
    pub key: String,
    /// The grant.
    pub reader: &'a Reader,
    /// The list, as this grant is asked for it.
    pub listing: Listing,
    /// Whether another grant may give the same rows.
    pub has_rival: bool,
}

/// Which branch a row of [`read_branches`] came from.
pub fn branch_of(row: &Row) -> Option<usize> {
    row.get(BRANCH).and_then(Value::as_u64).and_then(|branch| usize::try_from(branch).ok())
}

/// A short name for a grant: the same in every process.
pub fn branch_key(provider: &str, grant_id: &str) -> String {
    format!("{:08x}", short_hash([provider, grant_id]))
}

/// A grant that gave nothing for a page, and why.
pub type Missing = (usize, ToolError);

/// What is done for a branch beside its read, within the same deadline: a grant that is silent costs its time
/// once.
pub trait BranchHooks: Sync {
    /// Refuses the call, for every grant, before the one at `branch` is asked.
    fn check(&self, branch: usize) -> BoxFuture<'_, Result<(), ToolError>>;

    /// What the refusal of the one at `branch` means.
    fn explain(&self, branch: usize, error: ToolError) -> BoxFuture<'_, ToolError>;
}

/// The page of `whole` over several grants: asked side by side, each within `deadline`, taking turns, each
/// in its own order (R6.2). A grant that fails does not fail the page (R6.5): it is given back, and is asked
/// again on the next page while others have more. `warn` tells of those that are missing in this one, within
/// the envelope, so that what fits beside it is right.
///
/// # Errors
/// `invalid_cursor`, `cursor_expired`, those of [`BranchHooks::check`]; the grants' own error where all of them failed.
pub async fn read_branches(
    branches: &[Branch<'_>],
    whole: &Listing,
    shape: &dyn Shape,
    hooks: &dyn BranchHooks,
    deadline: Duration,
    walks: &Walks,
    warn: &(dyn Fn(&[Missing]) -> Vec<Value> + Sync),
) -> Result<Result<Page, Vec<Missing>>, ToolError> {
    let mut walk = start_over_grants(branches, whole, walks)?;
    let limit = whole.limit.unwrap_or(DEFAULT_LIMIT);
    let branch_at =
        |position: &Position| branches.iter().position(|branch| position.grant.as_ref() == Some(&branch.key));
    // A grant that is no longer served ends here.
    let gone = |position: &Position| branch_at(position).is_none();
    let lost = walk.positions.iter().filter(|position| gone(position) && !position.is_done).count();
    walk.positions.retain(|position| !gone(position));
    let mut positions = walk.positions;
    let of = positions.iter().filter_map(branch_at).collect::<Vec<_>>();
    let live = (0..positions.len()).filter(|at| !positions[*at].is_done).collect::<Vec<_>>();
    let all_rest = live.iter().all(|at| branches[of[*at]].reader.is_resting());
    let asks = live.iter().map(|at| {
        let (position, at) = (&positions[*at], of[*at]);
        let branch = &branches[at];
        async move {
            if branch.reader.is_resting() && !all_rest {
                let what = "did not answer in time a moment ago and was not asked again";
                return Ok(Err(too_slow(branch.reader, what)));
            }
            ask_branch(at, branch, position, Some(limit), shape, hooks, deadline).await
        }
    });
    let (mut answers, mut missing) = (Vec::new(), Vec::new());
    // A call that is wrong is refused at once, whoever has not answered yet.
    let asked = try_join_all(asks).await?;
    for (at, answer) in live.iter().zip(asked) {
        match answer {
            Ok((position, answer)) => {
                positions[*at] = position;
                answers.push((*at, answer));
            }
            Err(error) => missing.push((of[*at], error)),
        }
    }
    if answers.is_empty() && !missing.is_empty() {
        return Ok(Err(missing));
    }

    let warnings = not_served_now(lost).into_iter().chain(warn(&missing)).collect();
    let mut body = body_of_branches(answers.iter().map(|(_, answer)| &answer.body), warnings);
    let likely = likely_length(&walk.seen, &positions, &answers, limit, whole.fingerprint());
    // What is too long is kept here under a short name.
    let is_kept = walks.keeps(likely, shape.max_cursor());
    let likely = if is_kept { KEPT_PREFIX.len() + 40 } else { likely };
    body.insert("next_cursor".into(), json!("e".repeat(likely)));

    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut known = walk.seen.iter().copied().collect::<HashSet<u64>>();
    let (mut rows, mut ends, mut turns) = (Vec::new(), Vec::new(), Vec::new());
    for (list, row) in take_turns(&positions, &answers) {
        let (at, answer) = &answers[list];
        let mut row = answer.rows[row].clone();
        let branch = &branches[of[*at]];
        // A rival that is gone may have given it on an earlier page.
        let may_repeat = branch.has_rival || !walk.seen.is_empty();
        let key = if may_repeat { row_key(&row, branch.reader) } else { None };
        if key.is_some_and(|key| !known.insert(key)) {
            turns.push(list);
            continue;
        }
        if rows.len() == most {
            break;
        }
        turns.push(list);
        row.insert(BRANCH.into(), json!(of[*at]));
        rows.push(row);
        ends.push((turns.len(), key));
    }
    let fit = if rows.is_empty() { 0 } else { shape.fit(&body, &rows).clamp(1, rows.len()) };
    if fit < rows.len() {
        turns.truncate(ends[fit].0 - 1);
    }
    rows.truncate(fit);
    walk.seen.extend(ends[..fit].iter().filter_map(|(_, key)| *key));
    let excess = walk.seen.len().saturating_sub(MAX_SEEN);
    walk.seen.drain(..excess);

    let mut is_stuck = false;
    for (list, (at, answer)) in answers.iter().enumerate() {
        let used = turns.iter().filter(|turn| **turn == list).count();
        let position = &positions[*at];
        let mut after = if used == answer.rows.len() {
            is_stuck |= answer.has_more && answer.cursor.is_none();
            position.next_page(answer.cursor.as_ref(), answer.left)
        } else if used > 0 {
            position.behind(answer.shown + used, answer.rows.get(used - 1))
        } else {
            position.clone()
        };
        after.shown += used;
        positions[*at] = after;
    }
    // Grants that fail are tried again as long as there is something else to show; they never keep a walk
    // from ending.
    let goes_on = answers.iter().any(|(at, _)| !positions[*at].is_done);
    let next = if goes_on {
        let walk = Walk { query: whole.fingerprint(), positions, seen: walk.seen };
        if is_kept { walks.keep(&walk) } else { Some(walk.encode()) }
    } else {
        None
    };
    Ok(Ok(page(shape, body, rows, goes_on || is_stuck, next)))
}

/// That a list goes on without `lost` of the grants that it began with: each is told of once.
fn not_served_now(lost: usize) -> Option<Value> {
    let these = match lost {
        0 => return None,
        1 => "a grant that this list began with".to_owned(),
        several => format!("{several} grants that this list began with"),
    };
    let message =
        format!("nothing more of {these}: disconnected, or renewed; without cursor the list begins anew");
    Some(json!({"code": "partial_results", "message": message}))
}

/// Asks one of several grants, all that belongs to it within `deadline`: its answer or its own error.
///
/// # Errors
/// Those of [`BranchHooks::check`], which are everybody's.
async fn ask_branch(
    at: usize,
    branch: &Branch<'_>,
    position: &Position,
    limit: Option<u64>,
    shape: &dyn Shape,
    hooks: &dyn BranchHooks,
    deadline: Duration,
) -> Result<Result<(Position, Answer), ToolError>, ToolError> {
    let part = async {
        hooks.check(at).await?;
        match ask(branch.reader, &branch.listing, position, limit, shape, None).await {
            Ok(answer) => Ok(Ok(answer)),
            Err(error) => Ok(Err(hooks.explain(at, error).await)),
        }
    };
    tokio::time::timeout(deadline, part).await.unwrap_or_else(|_| {
        branch.reader.set_too_slow();
        let what = format!("did not answer within {} s", deadline.as_secs_f32());
        Ok(Err(too_slow(branch.reader, &what)))
    })
}

fn start_over_grants(branches: &[Branch<'_>], whole: &Listing, walks: &Walks) -> Result<Walk, ToolError> {
    let query = whole.fingerprint();
    let Some(cursor) = &whole.cursor else {
        let position =
            |branch: &Branch<'_>| Position { grant: Some(branch.key.clone()), ..Position::default() };
        return Ok(Walk { query, positions: branches.iter().map(position).collect(), seen: Vec::new() });
    };
    let walk = match cursor {
        Cursor::Kept(name) => Some(walks.find(name).ok_or_else(expired_cursor)?),
        Cursor::Walk(walk) => Some(walk.clone()),
        Cursor::Provider(_) | Cursor::Damaged => None,
    };
    walk.filter(|walk| walk.is_of_grants(query)).ok_or_else(|| {
        unfit_cursor(
            "the cursor is damaged, or belongs to another call or to fewer grants than are served now",
        )
    })
}

/// As long as the cursor will be, for what fits beside it.
fn likely_length(
    seen: &[u64],
    positions: &[Position],
    answers: &[(usize, Answer)],
    limit: u64,
    query: u32,
) -> usize {
    let mut likely = Walk { query, positions: positions.to_vec(), seen: seen.to_vec() };
    for (at, answer) in answers {
        let position = &mut likely.positions[*at];
        if answer.cursor.is_some() {
            position.cursor.clone_from(&answer.cursor);
        }
        (position.skip, position.shown) = (100, 10_000);
        position.last = Some(u32::MAX);
    }
    likely.seen.extend(std::iter::repeat_n(u64::MAX, usize::try_from(limit).unwrap_or(0).min(100)));
    likely.encode().len()
}

fn too_slow(reader: &Reader, what: &str) -> ToolError {
    ToolError::new(
        "provider_timeout",
        format!("{} {what}", reader.provider()),
        "repeat the call in a minute; connection_id of another source leaves it out",
    )
}

/// Which row of which answer comes when: the grant that has shown the fewest comes first, also from page to
/// page, so that small pages do not end with the first grant.
fn take_turns(positions: &[Position], answers: &[(usize, Answer)]) -> Vec<(usize, usize)> {
    let mut turns = answers
        .iter()
        .enumerate()
        .flat_map(|(list, (at, answer))| {
            (0..answer.rows.len()).map(move |row| (positions[*at].shown + row, list, row))
        })
        .collect::<Vec<_>>();
    turns.sort_unstable();
    turns.into_iter().map(|(_, list, row)| (list, row)).collect()
}

/// What tells that two grants gave the same row: provider, connection, stream and record.
fn row_key(row: &Row, reader: &Reader) -> Option<u64> {
    let id = RecordId::of_row(row, "")?;
    let connection = id.connection?;
    let hash = hash([reader.provider().as_str(), &connection, &id.stream, &id.record]);
    // Always 19 digits: a cursor is as long whatever the rows are called.
    Some(hash % 9_000_000_000_000_000_000 + 1_000_000_000_000_000_000)
}

/// One envelope for the lists of several grants: what they all say alike, their counts added up, what their
/// warnings say, and ours first.
fn body_of_branches<'a>(
    bodies: impl Iterator<Item = &'a Map<String, Value>>,
    mut warnings: Vec<Value>,
) -> Map<String, Value> {
    let bodies = bodies.collect::<Vec<_>>();
    let mut body = bodies.first().map(|body| (*body).clone()).unwrap_or_default();
    let own = ["links", "next_cursor", "has_more", "meta"];
    body.retain(|key, value| {
        !own.contains(&key.as_str()) && bodies.iter().all(|body| body.get(key) == Some(&*value))
    });
    let metas = bodies.iter().filter_map(|body| body.get("meta")?.as_object()).collect::<Vec<_>>();
    let mut meta = metas.first().map(|meta| (*meta).clone()).unwrap_or_default();
    meta.retain(|key, value| metas.iter().all(|meta| meta.get(key) == Some(&*value)));
    for warning in metas.iter().filter_map(|meta| meta.get("warnings")?.as_array()).flatten() {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    meta.insert("warnings".into(), warnings.into());
    let counts = metas.iter().map(|meta| meta.get("count")).collect::<Option<Vec<_>>>().unwrap_or_default();
    let total = counts.iter().map(|count| count.get("value")?.as_u64()).sum::<Option<u64>>();
    if let (Some(first), Some(total), false) =
        (counts.first(), total, counts.is_empty() || counts.len() < bodies.len())
    {
        let mut count = (*first).clone();
        count["value"] = json!(total);
        if counts.iter().any(|count| count.get("kind") != first.get("kind")) {
            count["kind"] = json!("estimated");
        }
        meta.insert("count".into(), count);
    }
    // What each says of its recall is not said of the whole (R3.35).
    let recalls = metas.iter().filter_map(|meta| meta.get("recall")).collect::<Vec<_>>();
    if !recalls.is_empty() && !meta.contains_key("recall") {
        let mut distinct: Vec<&Value> = Vec::new();
        for recall in recalls {
            if !distinct.contains(&recall) {
                distinct.push(recall);
            }
        }
        meta.insert("recall".into(), json!(distinct));
    }
    body.insert("meta".into(), Value::Object(meta));
    envelope::shorten(&mut body);
    body
}
