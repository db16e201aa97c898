//! The one reader that plays every task. It knows the tools and what an answer offers; a task only names what to ask,
//! what to look for and what to follow.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::oracle::{Truth, holds};
use super::stage::{Answer, Provider, Tools};
use super::view::{Item, Seen, View};

use crate::support::numbers::as_texts;

/// More calls than any task needs.
const MOST_CALLS: usize = 400;

/// A task, as its file has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    pub name: String,
    pub goal: String,
    #[serde(default)]
    pub provider: Provider,
    /// Whether to play it through the real binary as well.
    #[serde(default)]
    pub served: bool,
    /// The connectors of the grant; all if absent.
    #[serde(default)]
    pub grant: Option<Vec<String>>,
    /// What the person who asks knows, by name: questions to the oracle.
    #[serde(default)]
    pub given: Map<String, Value>,
    pub steps: Vec<Step>,
    /// What the reader claims: see [`Reader::claim`].
    pub answer: Vec<String>,
    /// The true answer: a value, or `{"oracle": question}`.
    pub expect: Vec<Value>,
    /// The least number of calls, without those of the walk.
    pub fewest: usize,
    /// What is walked, to compute the fewest calls that the bounds allow.
    #[serde(default)]
    pub walk: Option<Walk>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Walk {
    /// Records, page by page.
    Pages,
    /// A text, window by window.
    Windows,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Step {
    /// A call; collecting starts with its answer.
    Call {
        call: String,
        #[serde(default, rename = "with")]
        arguments: Map<String, Value>,
    },
    /// Finds an item, on this page or a later one, and remembers values of it.
    Pick {
        pick: Map<String, Value>,
        #[serde(default, rename = "as")]
        names: Map<String, Value>,
    },
    /// Remembers what the answer states as a whole.
    Note { note: Map<String, Value> },
    /// Makes the call that the answer offers under a label: once, or until it reaches something.
    Follow {
        follow: String,
        #[serde(default)]
        field: Option<String>,
        #[serde(default)]
        until: Option<Until>,
    },
    /// The answer is an error; continues as the error advises.
    Recover {
        recover: String,
        how: How,
        #[serde(default)]
        label: Option<Value>,
    },
    /// Reads a resource.
    Read { read: String },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    End,
    Rows(usize),
    Contains(Value),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// With the call that it offers.
    Offered,
    /// With the connection of this label.
    Choose,
    /// By leaving out the argument that it names.
    Without,
    /// Not at all: the error is the answer.
    Stop,
}

/// How a task went.
#[derive(Debug, Clone)]
pub struct Played {
    pub calls: usize,
    pub fewest: usize,
    /// Bytes of each result in the view that was read.
    pub bytes: Vec<usize>,
    /// What went wrong, if anything.
    pub failure: Option<String>,
    /// Every call and what was seen, for people to read.
    pub trace: String,
}

struct Reader<'a> {
    tools: &'a Tools,
    view: View,
    /// The known values, by name.
    names: Map<String, Value>,
    seen: Seen,
    last: (String, Map<String, Value>),
    made: HashSet<String>,
    items: Vec<Item>,
    text: String,
    /// The groups of an aggregate, collected the same way.
    groups: Option<Vec<Value>>,
    bytes: Vec<usize>,
    trace: String,
    /// For the judge: the sizes of the rows and windows that were walked, as the bounds count them.
    row_bytes: Vec<usize>,
    window_bytes: usize,
}

/// Plays `task` in one view.
pub async fn play(task: &Task, view: View, tools: &Tools, oracle: &dyn Truth) -> Played {
    let mut names = Map::new();
    for (name, question) in &task.given {
        let answer = oracle.answer(&fill(question, &names));
        names.insert(name.clone(), answer);
    }
    let mut reader = Reader {
        tools,
        view,
        names,
        seen: Seen::default(),
        last: (String::new(), Map::new()),
        made: HashSet::new(),
        items: Vec::new(),
        text: String::new(),
        groups: None,
        bytes: Vec::new(),
        trace: format!("# {}\n", task.goal),
        row_bytes: Vec::new(),
        window_bytes: 0,
    };
    let outcome = reader.run(task, oracle).await;
    let walked = match task.walk {
        None => 0,
        Some(Walk::Pages) => reader.fewest_pages(),
        Some(Walk::Windows) => reader.window_bytes.div_ceil(super::MOST_TEXT),
    };
    Played {
        calls: reader.bytes.len(),
        fewest: task.fewest + walked,
        bytes: reader.bytes,
        failure: outcome.err(),
        trace: reader.trace,
    }
}

impl Reader<'_> {
    async fn run(&mut self, task: &Task, oracle: &dyn Truth) -> Result<(), String> {
        for step in &task.steps {
            if let Some(code) = self.seen.error.clone()
                && !matches!(step, Step::Recover { .. })
            {
                return Err(format!("dead end: error {code}"));
            }
            self.take(step).await?;
        }
        if task.answer.len() != task.expect.len() {
            return Err("the task claims and expects different things".to_owned());
        }
        for (claim, expected) in task.answer.iter().zip(&task.expect) {
            let claimed = self.claim(claim)?;
            let expected = match fill(expected, &self.names) {
                Value::Object(question) if question.contains_key("oracle") => {
                    oracle.answer(&question["oracle"])
                }
                value => value,
            };
            same(claim, &claimed, &expected)?;
        }
        Ok(())
    }

    async fn take(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Call { call, arguments } => {
                self.items.clear();
                self.text.clear();
                self.groups = None;
                self.row_bytes.clear();
                self.window_bytes = 0;
                let arguments = fill_map(arguments, &self.names);
                self.call(call, arguments).await
            }
            Step::Pick { pick, names } => self.pick(&fill_map(pick, &self.names), names).await,
            Step::Note { note } => {
                for (name, fact) in note {
                    let fact = fact.as_str().unwrap_or_default();
                    let value = self.seen.facts.get(fact).ok_or(format!("dead end: no {fact} is said"))?;
                    self.names.insert(name.clone(), value.clone());
                }
                Ok(())
            }
            Step::Follow { follow, field, until } => {
                self.follow(follow, field.as_deref(), until.as_ref()).await
            }
            Step::Recover { recover, how, label } => self.recover(recover, *how, label.as_ref()).await,
            Step::Read { read } => {
                let uri = fill(&json!(read), &self.names).as_str().unwrap_or_default().to_owned();
                let _ = writeln!(self.trace, "> resources/read {uri}");
                self.text = self.tools.read(&uri).await?;
                // It is not bounded like a result: a host requests it on its own.
                self.bytes.push(self.text.len());
                Ok(())
            }
        }
    }

    async fn call(&mut self, tool: &str, arguments: Map<String, Value>) -> Result<(), String> {
        let call = format!("{tool} {}", Value::Object(arguments.clone()));
        let _ = writeln!(self.trace, "> {call}");
        if !self.made.insert(call.clone()) {
            return Err(format!("loop: made twice: {call}"));
        }
        if self.bytes.len() >= MOST_CALLS {
            return Err(format!("more than {MOST_CALLS} calls"));
        }
        let answer = self.tools.call(tool, arguments.clone()).await;
        let structured = answer.structured.to_string();
        let shown = match self.view {
            View::Text => &answer.text,
            View::Structured => &structured,
        };
        let _ = writeln!(self.trace, "{shown}");
        self.bytes.push(shown.len());
        within_bounds(tool, &arguments, &answer.text, &structured)?;
        self.measure(&answer);
        self.seen = Seen::read(self.view, &answer);
        self.items.extend(self.seen.items.iter().cloned());
        self.text.push_str(self.seen.window.as_deref().unwrap_or(""));
        if let Some(groups) = &self.seen.groups {
            self.groups.get_or_insert_default().extend(groups.iter().cloned());
        }
        self.last = (tool.to_owned(), arguments);
        Ok(())
    }

    fn measure(&mut self, answer: &Answer) {
        if let Some(rows) = answer.structured.pointer("/data/data").or(answer.structured.get("results")) {
            let rows = rows.as_array().map_or(&[][..], Vec::as_slice);
            self.row_bytes.extend(rows.iter().map(|row| row.to_string().len() + 1));
        }
        if let Some(window) = answer.structured.pointer("/data/window/text") {
            self.window_bytes += window.to_string().len();
        }
    }

    /// The fewest pages that could hold all walked rows, by their bytes alone.
    fn fewest_pages(&self) -> usize {
        let limit = self.last.1.get("limit").and_then(Value::as_u64).unwrap_or(25);
        let (mut pages, mut rows, mut bytes) = (0, limit, 0);
        for size in &self.row_bytes {
            if rows >= limit || bytes + size > super::MOST_STRUCTURED {
                (pages, rows, bytes) = (pages + 1, 0, 0);
            }
            rows += 1;
            bytes += size;
        }
        pages.max(1)
    }

    async fn pick(&mut self, wanted: &Map<String, Value>, names: &Map<String, Value>) -> Result<(), String> {
        loop {
            let fits = |item: &&Item| {
                wanted.iter().all(|(name, wanted)| {
                    holds(item.values.get(name).unwrap_or(&Value::Null), &as_texts(wanted))
                })
            };
            if let Some(item) = self.seen.items.iter().find(fits) {
                for (name, value) in names {
                    let field = value.as_str().unwrap_or_default();
                    let name_of = field.trim_start_matches('/').split('/').next().unwrap_or_default();
                    if item.cut.iter().any(|cut| cut == name_of) {
                        return Err(format!("the {field} of what was looked for is cut"));
                    }
                    // A path enters a value that is shown as JSON.
                    let whole = Value::Object(item.values.clone());
                    let value = if field.starts_with('/') { whole.pointer(field) } else { whole.get(field) };
                    let value = value.ok_or(format!("what was looked for shows no {field}"))?;
                    self.names.insert(name.clone(), value.clone());
                }
                return Ok(());
            }
            let Some(next) = self.seen.offer("next", None).cloned() else {
                return Err(format!("dead end: nothing here is {}", Value::Object(wanted.clone())));
            };
            self.call(&next.tool, next.arguments).await?;
        }
    }

    async fn follow(
        &mut self,
        label: &str,
        field: Option<&str>,
        until: Option<&Until>,
    ) -> Result<(), String> {
        let mut is_first = true;
        loop {
            let is_reached = match until {
                None => !is_first,
                Some(Until::End) => false,
                Some(Until::Rows(count)) => self.items.len() >= *count,
                Some(Until::Contains(text)) => {
                    let text = fill(text, &self.names);
                    self.text.contains(text.as_str().unwrap_or_default())
                }
            };
            if is_reached {
                return Ok(());
            }
            // After the first one, it is the next page, window or match.
            let label = if is_first || label == "next match" { label } else { "next" };
            let Some(offer) = self.seen.offer(label, field).cloned() else {
                return match until {
                    Some(Until::End) => Ok(()),
                    _ => Err(format!("dead end: no {label} is offered")),
                };
            };
            is_first = false;
            self.call(&offer.tool, offer.arguments).await?;
            if let Some(code) = &self.seen.error {
                return Err(format!("dead end: the offered call is answered by {code}"));
            }
        }
    }

    async fn recover(&mut self, code: &str, how: How, label: Option<&Value>) -> Result<(), String> {
        if self.seen.error.as_deref() != Some(code) {
            return Err(format!("not the error {code}, but {:?}", self.seen.error));
        }
        let (tool, mut arguments) = self.last.clone();
        match how {
            How::Stop => {
                self.seen.error = None;
                return Ok(());
            }
            How::Offered => {
                let offer =
                    self.seen.offer("next", None).ok_or("dead end: the error offers no call")?.clone();
                return self.call(&offer.tool, offer.arguments).await;
            }
            How::Choose => {
                let label = label.map(|label| fill(label, &self.names));
                let chosen = self.seen.items.iter().find(|item| item.values.get("label") == label.as_ref());
                let chosen = chosen.ok_or("dead end: the error names no such connection")?;
                arguments.insert("connection_id".into(), chosen.values["connection_id"].clone());
                self.items.clear();
            }
            How::Without => {
                let param = self.seen.facts.get("param").and_then(Value::as_str);
                arguments.remove(param.ok_or("dead end: the error names no argument")?);
            }
        }
        self.call(&tool, arguments).await
    }

    /// `rows` (what was collected), `rows:a,b` (with values), `values:a,b` (the values alone), `set:a,b` (those,
    /// sorted), `gone` (collected and deleted), `count`, `text`, `groups`, `fact:name`, `$name`.
    fn claim(&self, claim: &str) -> Result<Value, String> {
        let (what, rest) = claim.split_once(':').unwrap_or((claim, ""));
        let is_gone = |item: &&Item| item.values.get("deleted") == Some(&json!(true));
        Ok(match what {
            "rows" => {
                let rows = self.items.iter().filter(|item| !is_gone(item));
                let fields = rest.split(',').filter(|field| !field.is_empty()).collect::<Vec<_>>();
                rows.map(|item| shown(item, &fields)).collect::<Result<_, _>>()?
            }
            "values" => {
                let rows = self.items.iter().filter(|item| !is_gone(item));
                let fields = rest.split(',').collect::<Vec<_>>();
                rows.map(|item| values_of(item, &fields)).collect::<Result<_, _>>()?
            }
            "set" => {
                let mut rows = self.claim(&format!("values:{rest}"))?;
                if let Value::Array(rows) = &mut rows {
                    rows.sort_by_key(Value::to_string);
                }
                rows
            }
            "gone" => self.items.iter().filter(is_gone).map(|item| item.identity.clone()).collect(),
            "count" => json!(self.items.len()),
            "text" => self.text.clone().into(),
            "groups" => self.groups.clone().ok_or("there are no groups")?.into(),
            "fact" => self.seen.facts.get(rest).cloned().ok_or(format!("nothing says {rest}"))?,
            name => {
                let name = name.trim_start_matches('$');
                self.names.get(name).cloned().ok_or(format!("{name} was not found"))?
            }
        })
    }
}

fn shown(item: &Item, fields: &[&str]) -> Result<Value, String> {
    let mut row = item.identity.clone();
    let Value::Array(mut values) = values_of(item, fields)? else { return Ok(row) };
    row.as_array_mut().ok_or("a row without an id")?.append(&mut values);
    Ok(row)
}

fn values_of(item: &Item, fields: &[&str]) -> Result<Value, String> {
    let value = |field: &&str| {
        if item.cut.iter().any(|cut| cut == field) {
            return Err(format!("{field} of {} is cut", item.identity));
        }
        Ok(item.values.get(*field).cloned().unwrap_or_default())
    };
    fields.iter().map(value).collect()
}

/// R4.8, and R3.3 for the index.
fn within_bounds(
    tool: &str,
    arguments: &Map<String, Value>,
    text: &str,
    structured: &str,
) -> Result<(), String> {
    let (text, structured) = (text.len(), structured.len());
    let fits = if tool == "schema" && !arguments.contains_key("stream") {
        text + structured <= super::MOST_INDEX
    } else {
        text <= super::MOST_TEXT && structured <= super::MOST_STRUCTURED
    };
    if fits { Ok(()) } else { Err(format!("above its bound: text {text}, structured {structured} bytes")) }
}

fn fill_map(map: &Map<String, Value>, names: &Map<String, Value>) -> Map<String, Value> {
    map.iter().map(|(key, value)| (key.clone(), fill(value, names))).collect()
}

/// Replaces `"$name"` with the known value of that name, and `${name}` inside a text with its text.
fn fill(value: &Value, names: &Map<String, Value>) -> Value {
    match value {
        Value::String(text) => {
            if let Some(known) = text.strip_prefix('$').and_then(|name| names.get(name)) {
                return known.clone();
            }
            let mut filled = text.clone();
            for (name, known) in names.iter().filter(|_| text.contains("${")) {
                let known = known.as_str().map_or_else(|| known.to_string(), str::to_owned);
                filled = filled.replace(&format!("${{{name}}}"), &known);
            }
            filled.into()
        }
        Value::Array(items) => items.iter().map(|item| fill(item, names)).collect(),
        Value::Object(map) => Value::Object(fill_map(map, names)),
        other => other.clone(),
    }
}

/// Compares digit for digit; reports what is lost, repeated or misplaced if both are lists of rows.
fn same(claim: &str, claimed: &Value, expected: &Value) -> Result<(), String> {
    let expected = &as_texts(expected);
    if claimed == expected {
        return Ok(());
    }
    if let (Value::Array(claimed), Value::Array(expected)) = (claimed, expected) {
        let texts = |rows: &[Value]| rows.iter().map(Value::to_string).collect::<Vec<_>>();
        let (claimed, expected) = (texts(claimed), texts(expected));
        let mut once = HashSet::new();
        let repeated = claimed.iter().filter(|row| !once.insert(*row)).collect::<Vec<_>>();
        let lost = expected.iter().filter(|row| !once.contains(row)).collect::<Vec<_>>();
        let known = expected.iter().collect::<HashSet<_>>();
        let foreign = claimed.iter().filter(|row| !known.contains(row)).collect::<Vec<_>>();
        let misplaced = claimed.iter().zip(&expected).position(|(claim, truth)| claim != truth);
        return Err(format!(
            "{claim}: {} of {} rows; repeated {}: {:?}; lost {}: {:?}; foreign {}: {:?}; first out of place: {misplaced:?}",
            claimed.len(),
            expected.len(),
            repeated.len(),
            repeated.first(),
            lost.len(),
            lost.first(),
            foreign.len(),
            foreign.first(),
        ));
    }
    let short = |value: &Value| value.to_string().chars().take(300).collect::<String>();
    Err(format!("{claim}: {} instead of {}", short(claimed), short(expected)))
}
