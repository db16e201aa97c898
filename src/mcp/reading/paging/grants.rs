//! A list over several grants (R6.2): asked in parallel, and merged in the order that all of them declare, otherwise
//! in turns. The cursor also identifies what was shown from grants of one provider, so that a row that two of them
//! return is shown once.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::{BoxFuture, try_join_all};
use serde_json::{Value, json};

use super::cursor::Cursor;
use super::cursor::{
    KEPT_PREFIX, Passed, Position, Walk, Walks, expired_cursor, seen_number, short_hash, unfit_cursor,
};
use super::list::{Answer, DEFAULT_LIMIT, Listing, Page, Shape, ask, page};
use super::ranked;
use super::together::{self, Counts, Merged};
use crate::mcp::id::RecordId;
use crate::mcp::reading::reader::Reader;
use crate::mcp::reading::rows::Row;
use crate::mcp::tool_error::ToolError;

/// The maximum number of rows of a walk that are remembered as shown.
const MAX_SEEN: usize = 4_000;

/// The member in which a row of several grants names its branch; removed before anything is shown.
const BRANCH: &str = "\u{0}branch";

/// One grant's part of a list over several.
pub struct Branch<'a> {
    /// The grant's name in a cursor: short, and the same in every process.
    pub key: String,
    /// The grant.
    pub reader: &'a Reader,
    /// The grant's label, used where the grants' statements differ.
    pub label: &'a str,
    /// The list as requested from this grant.
    pub listing: Listing,
    /// Whether another grant may return the same rows.
    pub has_rival: bool,
}

/// Which branch a row of [`read_branches`] came from.
pub fn branch_of(row: &Row) -> Option<usize> {
    row.get(BRANCH).and_then(Value::as_u64).and_then(|branch| usize::try_from(branch).ok())
}

/// A short name for a grant, the same in every process.
pub fn branch_key(provider: &str, grant_id: &str) -> String {
    format!("{:08x}", short_hash([provider, grant_id]))
}

/// A grant that returned nothing for a page, and why.
pub type Missing = (usize, ToolError);

/// What is done for a branch in addition to its read, within the same deadline: a grant that does not answer costs
/// its time only once.
pub trait BranchHooks: Sync {
    /// Checks the call before the branch at `branch` is asked; an error refuses it for every grant.
    fn check(&self, branch: usize) -> BoxFuture<'_, Result<(), ToolError>>;

    /// Explains the refusal from the grant at `branch`.
    fn explain(&self, branch: usize, error: ToolError) -> BoxFuture<'_, ToolError>;
}

/// The page of `whole` over several grants: asked in parallel, each within `deadline`, and merged (R6.2). A grant
/// that fails does not fail the page (R6.5): it is returned in the list of missing ones, and is asked again on the
/// next page while others have more. `warn` puts the warnings about missing grants into the envelope, so that what
/// fits next to it is calculated correctly.
///
/// # Errors
/// Returns `invalid_cursor`, `cursor_expired`, the errors of [`BranchHooks::check`], or the grants' own error if all
/// of them failed.
pub async fn read_branches<S: Shape>(
    branches: &[Branch<'_>],
    whole: &Listing,
    shape: &S,
    hooks: &dyn BranchHooks,
    deadline: Duration,
    walks: &Walks,
    warn: &(dyn Fn(&[Missing]) -> Vec<Value> + Sync),
) -> Result<Result<Page<S::Ready>, Vec<Missing>>, ToolError> {
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
    let (answers, missing) = ask_all(branches, &of, &mut positions, limit, shape, hooks, deadline).await?;
    if answers.is_empty() && !missing.is_empty() {
        return Ok(Err(missing));
    }

    let merged = how_merged(&positions, &answers);
    // A grant that is gone may have returned the same row on an earlier page.
    let may_repeat = |(at, _): &(usize, Answer)| branches[of[*at]].has_rival || !walk.seen.is_empty();
    let may_repeat = answers.iter().map(may_repeat).collect::<Vec<_>>();
    let key = |list: usize, row: &Row| {
        may_repeat[list].then(|| row_key(row, branches[of[answers[list].0]].reader)).flatten()
    };
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let order = match merged {
        Merged::Ranked => by_rank(&answers),
        Merged::Alone | Merged::InTurns => take_turns(&positions, &answers),
    };
    let Picked { mut rows, ends, mut turns, repeats } = pick(&answers, order, most, &walk.seen, &key);
    for (row, (_, list, _)) in rows.iter_mut().zip(&ends) {
        row.insert(BRANCH.into(), json!(of[answers[*list].0]));
    }

    let warnings = not_served_now(lost).into_iter().chain(warn(&missing)).collect();
    let bodies =
        answers.iter().map(|(at, answer)| (branches[of[*at]].label, &answer.body)).collect::<Vec<_>>();
    // Grants at their end are not asked again.
    let done = positions.iter().filter(|position| position.is_done);
    let counts = Counts {
        before: done.map(|position| position.count).sum(),
        is_exact: !repeats && missing.is_empty(),
    };
    let mut body = together::envelope_of(&bodies, warnings, merged, &counts);
    let query = whole.fingerprint();
    let longest = walks.longest(shape.max_cursor()).max(LEAST_CURSOR);
    // A cursor that is too long is kept here under a short name, which is useless once the process has ended.
    let new = if may_repeat.iter().any(|may| *may) { rows.len() } else { 0 };
    let likely = likely_length(&walk.seen, &positions, &answers, new, query);
    let is_kept = likely > longest && !walks.are_for_one_call();
    let likely = if is_kept { KEPT_PREFIX.len() + 40 } else { likely.min(longest) };
    body.insert("next_cursor".into(), json!("e".repeat(likely)));
    let mut rows = rows.into_iter().map(|row| shape.ready(row)).collect::<Vec<_>>();
    let fit = if rows.is_empty() { 0 } else { shape.fit(&body, &rows).clamp(1, rows.len()) };
    if fit < rows.len() {
        turns.truncate(ends[fit].0 - 1);
    }
    rows.truncate(fit);
    walk.seen.extend(ends[..fit].iter().filter_map(|(.., key)| *key));
    let excess = walk.seen.len().saturating_sub(MAX_SEEN);
    walk.seen.drain(..excess);

    let used = |list: usize| turns.iter().filter(|turn| **turn == list).count();
    let is_stuck = |(list, (_, answer)): (usize, &(usize, Answer))| {
        used(list) == answer.rows.len() && answer.has_more && answer.cursor.is_none()
    };
    let is_stuck = answers.iter().enumerate().any(is_stuck);
    // If a provider's cursor would take too much room, more rows of the page before it are requested.
    let behind = |widens: bool| {
        let mut after = positions.clone();
        for (list, (at, answer)) in answers.iter().enumerate() {
            after[*at] = advanced(&positions[*at], answer, used(list), limit, widens);
        }
        after
    };
    let positions = behind(false);
    // Failed grants are tried again as long as there is something else to show; they never keep a walk from ending.
    let goes_on = answers.iter().any(|(at, _)| !positions[*at].is_done);
    let next = goes_on.then(|| {
        let walk = Walk { query, positions, seen: walk.seen };
        if is_kept {
            return walks.keep(&walk);
        }
        let widened = || Walk { positions: behind(true), ..walk.clone() }.encode();
        let is_short = |cursor: &String| cursor.len() <= longest;
        let briefly = || walk.encode_within(longest);
        Some(walk.encode())
            .filter(is_short)
            .or_else(|| Some(widened()).filter(is_short))
            .or_else(|| Some(briefly()).filter(|brief| walks.are_for_one_call() && is_short(brief)))
            .or_else(|| walks.keep(&walk))
    });
    Ok(Ok(page(longest, body, rows, goes_on || is_stuck, next.flatten())))
}

/// Room for a cursor that is always reserved: for the name of a kept one.
const LEAST_CURSOR: usize = 100;

/// How the rows of these answers are merged: in the order that the hits are declared to have, if all are.
fn how_merged(positions: &[Position], answers: &[(usize, Answer)]) -> Merged {
    let has_none = |answer: &Answer| answer.rows.is_empty() && !answer.has_more;
    let mut some = answers.iter().map(|(_, answer)| answer).filter(|answer| !has_none(answer)).peekable();
    if positions.len() < 2 {
        Merged::Alone
    } else if some.peek().is_some() && some.all(|answer| answer.is_ranked) {
        Merged::Ranked
    } else {
        Merged::InTurns
    }
}

/// The position after `used` rows of `answer`. If it `widens` and that is possible, the next page is read as more
/// rows of this one.
fn advanced(position: &Position, answer: &Answer, used: usize, limit: u64, widens: bool) -> Position {
    let shown = answer.page.shown() + used;
    let is_widened = widens && used > 0 && answer.cursor.is_some() && Position::can_widen(shown, limit);
    let mut after = if used == answer.rows.len() && !is_widened {
        position.next_page(answer.cursor.as_ref(), &answer.page.left)
    } else {
        position.behind(&answer.page, used)
    };
    after.shown += used;
    after.count = if after.is_done { together::count_of(&answer.body) } else { None };
    after
}

/// The order of the rows of all answers, if each of them is in the declared order.
fn by_rank(answers: &[(usize, Answer)]) -> Vec<(usize, usize)> {
    let lists = answers.iter().map(|(_, answer)| ranked::List {
        rows: &answer.rows,
        goes_on: answer.has_more && answer.cursor.is_some(),
    });
    ranked::merged(&lists.collect::<Vec<_>>())
}

/// The warning that a list continues without `lost` of the grants that it began with; each is reported once.
fn not_served_now(lost: usize) -> Option<Value> {
    let these = match lost {
        0 => return None,
        1 => "a grant that this list began with".to_owned(),
        several => format!("{several} grants that this list began with"),
    };
    let message =
        format!("nothing more from {these}: disconnected, or renewed; without cursor the list restarts");
    Some(json!({"code": "partial_results", "message": message}))
}

/// The rows that a page shows from the answers.
struct Picked {
    rows: Vec<Row>,
    /// For each row: the number of turns up to it, its answer, and its number if another grant may return it again.
    ends: Vec<(usize, usize, Option<u64>)>,
    /// Whose row came at each turn, even if it was already shown.
    turns: Vec<usize>,
    /// Whether any row was already shown.
    repeats: bool,
}

/// Picks up to `most` rows in this order, without those already `seen`, by their `key`.
fn pick(
    answers: &[(usize, Answer)],
    order: Vec<(usize, usize)>,
    most: usize,
    seen: &[u64],
    key: &dyn Fn(usize, &Row) -> Option<u64>,
) -> Picked {
    let mut known = seen.iter().copied().collect::<HashSet<u64>>();
    let mut picked = Picked { rows: Vec::new(), ends: Vec::new(), turns: Vec::new(), repeats: false };
    for (list, row) in order {
        let row = &answers[list].1.rows[row];
        let key = key(list, row);
        let is_repeated = key.is_some_and(|key| !known.insert(key));
        if !is_repeated && picked.rows.len() == most {
            break;
        }
        picked.turns.push(list);
        picked.repeats |= is_repeated;
        if !is_repeated {
            picked.rows.push(row.clone());
            picked.ends.push((picked.turns.len(), list, key));
        }
    }
    picked
}

/// Asks all grants that are not at their end, in parallel; moves their positions to where they begin. Returns those
/// that answered and those that did not.
///
/// # Errors
/// Returns the errors of [`BranchHooks::check`], which concern every grant.
async fn ask_all(
    branches: &[Branch<'_>],
    of: &[usize],
    positions: &mut [Position],
    limit: u64,
    shape: &impl Shape,
    hooks: &dyn BranchHooks,
    deadline: Duration,
) -> Result<(Vec<(usize, Answer)>, Vec<Missing>), ToolError> {
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
    // A wrong call is refused at once, even if other grants have not answered yet.
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
    Ok((answers, missing))
}

/// Asks one of several grants and does everything for it within `deadline`: its answer or its own error.
///
/// # Errors
/// Returns the errors of [`BranchHooks::check`], which concern every grant.
async fn ask_branch(
    at: usize,
    branch: &Branch<'_>,
    position: &Position,
    limit: Option<u64>,
    shape: &impl Shape,
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

/// The maximum length of the cursor, to calculate what fits next to it: it identifies up to `new` more rows as shown.
fn likely_length(
    seen: &[u64],
    positions: &[Position],
    answers: &[(usize, Answer)],
    new: usize,
    query: u32,
) -> usize {
    let mut likely = Walk { query, positions: positions.to_vec(), seen: seen.to_vec() };
    for (at, answer) in answers {
        let position = &mut likely.positions[*at];
        if answer.cursor.is_some() {
            position.cursor.clone_from(&answer.cursor);
        }
        position.shown = 10_000;
        position.passed = Passed::most(answer.page.shown() + answer.page.left.len() + answer.rows.len());
    }
    likely.seen.extend(std::iter::repeat_n(u64::MAX, new));
    likely.encode().len()
}

fn too_slow(reader: &Reader, what: &str) -> ToolError {
    ToolError::new(
        "provider_timeout",
        format!("{} {what}", reader.provider()),
        "repeat the call in a minute, or name another source's connection_id",
    )
}

/// The order of rows in turns: the grant that has shown the fewest comes first, also across pages, so that small
/// pages do not end with the first grant.
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

/// Identifies the same row from two grants: provider, connection, stream and record.
fn row_key(row: &Row, reader: &Reader) -> Option<u64> {
    let id = RecordId::of_row(row, "")?;
    let connection = id.connection?;
    Some(seen_number([reader.provider().as_str(), &connection, &id.stream, &id.record]))
}
