//! Questions about the made-up person. The right answer is computed from the data itself; the reader's steps are the
//! same for every seed.

mod days;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::export::mail::owner;
use super::person::{Box_, Mail, Person, day, iso, month_of};
use crate::journeys::reader::{Task, Walk};

/// The grant that a task is played with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Under {
    /// A grant of everything except what is kept apart.
    #[default]
    All,
    /// A grant of the private mailbox from 2026 on, without texts.
    Bounded,
}

/// A task, and the grant that it is played with.
pub struct Asked {
    pub task: Task,
    pub under: Under,
}

/// All tasks about a person.
pub fn all(person: &Person) -> Vec<Asked> {
    let mut sheet = Sheet { person, tasks: Vec::new() };
    sheet.mail();
    sheet.bounded();
    sheet.models();
    sheet.contacts();
    sheet.tables();
    sheet.nothing();
    sheet.sorted();
    sheet.money();
    sheet.chatted();
    sheet.telegram();
    sheet.worked();
    sheet.planned();
    sheet.listened();
    sheet.looked_up();
    sheet.moved();
    sheet.everything();
    sheet.tasks
}

pub(super) struct Sheet<'a> {
    pub(super) person: &'a Person,
    tasks: Vec<Asked>,
}

/// Groups with their counts: the largest first, then by key.
pub(super) fn groups(keys: impl IntoIterator<Item = String>, limit: usize) -> Value {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
    counts.into_iter().take(limit).map(|(key, count)| json!([key, count])).collect()
}

/// Periods with their counts, the earliest first.
pub(super) fn periods(keys: impl IntoIterator<Item = String>) -> Value {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    counts.into_iter().map(|(key, count)| json!([key, count])).collect()
}

/// Tenths in their written form: `12.3`.
fn tenths(number: i64) -> Value {
    serde_json::from_str(&format!("{}.{}", number / 10, number % 10)).unwrap()
}

/// The mails of a mailbox that are among its messages.
fn mails(person: &Person, of: Box_) -> impl Iterator<Item = &Mail> {
    person.mails.iter().filter(move |mail| mail.of == of && !mail.is_key)
}

impl Sheet<'_> {
    /// A task of `calls`, each a step or a tool with its arguments; the reader's claim, and the true answer.
    pub(super) fn ask(
        &mut self,
        name: &str,
        goal: &str,
        fewest: usize,
        steps: Value,
        claims: &[(&str, Value)],
    ) {
        self.ask_under(Under::All, name, goal, fewest, steps, claims);
    }

    /// Every record of a stream, with these fields: none is lost, repeated or changed.
    pub(super) fn all_of(&mut self, connection: &str, stream: &str, fields: &[&str], mut rows: Vec<Value>) {
        rows.sort_by_key(|row| crate::support::numbers::as_texts(row).to_string());
        let name = format!("all-{}-{stream}", connection.trim_start_matches('$'));
        let steps = json!([
            {"call": "query_records", "with": {"stream": stream, "connection_id": connection, "limit": 100, "fields": fields}},
            {"follow": "next", "until": "end"}]);
        let claim = format!("set:{}", fields.join(","));
        self.ask(&name, "Every record, page by page", 0, steps, &[(&claim, rows.into())]);
        self.tasks.last_mut().unwrap().task.walk = Some(Walk::Pages);
    }

    fn ask_under(
        &mut self,
        under: Under,
        name: &str,
        goal: &str,
        fewest: usize,
        steps: Value,
        claims: &[(&str, Value)],
    ) {
        let mut task = json!({
            "name": name, "goal": goal, "fewest": fewest,
            "answer": claims.iter().map(|(claim, _)| *claim).collect::<Vec<_>>(),
            "expect": claims.iter().map(|(_, truth)| truth.clone()).collect::<Vec<_>>(),
        });
        task["steps"] = steps;
        let task = serde_json::from_value(task).unwrap_or_else(|error| panic!("{name}: {error}"));
        self.tasks.push(Asked { task, under });
    }

    fn mail(&mut self) {
        let person = self.person;
        let private: Vec<&Mail> =
            person.mails.iter().filter(|mail| mail.of == Box_::Private && !mail.is_key).collect();
        let (landlord, plumber, energy) = (&person.landlord, &person.plumber, &person.energy);
        let from =
            |email: &str| private.iter().filter(|mail| mail.from_email == email).copied().collect::<Vec<_>>();
        let theirs = from(&landlord.email);
        self.ask("mail-how-many", "How often did the landlord write?", 1, json!([
            {"call": "aggregate", "with": {"stream": "messages", "metric": "count", "connection_id": "$private", "filter": {"from_email": landlord.email}}}]),
            &[("fact:value", json!(theirs.len()))]);
        self.ask("mail-newest", "What did the landlord write last?", 1, json!([
            {"call": "query_records", "with": {"stream": "messages", "connection_id": "$private", "limit": 1, "filter": {"from_email": landlord.email}, "fields": ["subject", "received_at"]}}]),
            &[("values:subject,received_at", json!([[theirs.last().unwrap().subject, iso(theirs.last().unwrap().at)]]))]);
        self.ask("mail-first", "What was the landlord's first mail?", 1, json!([
            {"call": "query_records", "with": {"stream": "messages", "connection_id": "$private", "limit": 1, "order": "asc", "filter": {"from_email": landlord.email}, "fields": ["subject"]}}]),
            &[("values:subject", json!([[theirs[0].subject]]))]);
        let year = |mail: &&&Mail, year: &str| iso(mail.at).starts_with(year);
        let weekly = from("news@harbor-weekly.example");
        self.ask("mail-by-month", "How many newsletters came in each month of 2025?", 1, json!([
            {"call": "aggregate", "with": {"stream": "messages", "metric": "count", "connection_id": "$private", "group_by_time": "received_at", "granularity": "month", "time_zone": "UTC", "limit": 12,
                "filter": {"from_email": "news@harbor-weekly.example", "received_at": {"gte": "2025-01-01", "lt": "2026-01-01"}}}}]),
            &[("groups", periods(weekly.iter().filter(|mail| year(mail, "2025")).map(|mail| month_of(mail.at))))]);
        self.ask("mail-top-senders", "Who wrote most often?", 1, json!([
            {"call": "aggregate", "with": {"stream": "messages", "metric": "count", "connection_id": "$private", "group_by": "from_name", "limit": 5}}]),
            &[("groups", groups(private.iter().map(|mail| mail.from_name.clone()), 5))]);
        let senders: std::collections::BTreeSet<&str> =
            private.iter().map(|mail| mail.from_email.as_str()).collect();
        self.ask("mail-distinct", "How many people wrote?", 1, json!([
            {"call": "aggregate", "with": {"stream": "messages", "metric": "count_distinct", "field": "from_email", "connection_id": "$private"}}]),
            &[("fact:value", json!(senders.len()))]);
        let visit = private.iter().find(|mail| mail.body.contains(&person.facts.visit)).unwrap();
        let part = person.facts.part.split(' ').next().unwrap();
        self.ask("mail-sender-and-body", "When does the plumber come with the part? (a word of the sender and one of the text)", 2, json!([
            {"call": "search", "with": {"q": format!("{} {part}", plumber.family), "streams": ["message_bodies"], "connection_id": "$private"}},
            {"pick": {"title": visit.subject}, "as": {"hit": "handle"}},
            {"call": "fetch", "with": {"id": "$hit", "fields": ["body_text"]}}]),
            &[("values:text", json!([[visit.body]]))]);
        let thread = private
            .iter()
            .filter(|mail| mail.thread == visit.thread)
            .map(|mail| json!([mail.from_name]))
            .collect::<Vec<_>>();
        self.ask("mail-thread", "Who said something in the thread about the boiler, in order?", 2, json!([
            {"call": "query_records", "with": {"stream": "messages", "connection_id": "$private", "limit": 1, "filter": {"from_email": plumber.email}, "fields": ["thread_id"]}},
            {"pick": {}, "as": {"thread": "thread_id"}},
            {"call": "query_records", "with": {"stream": "messages", "connection_id": "$private", "order": "asc", "filter": {"thread_id": "$thread"}, "fields": ["from_name"]}}]),
            &[("values:from_name", Value::from(thread))]);
        let bills = from(&energy.1);
        self.ask("mail-attachments", "How many files of which type are there?", 1, json!([
            {"call": "aggregate", "with": {"stream": "attachments", "metric": "count", "connection_id": "$private", "group_by": "content_type"}}]),
            &[("groups", json!([["application/pdf", bills.len()]]))]);
        let of_2025 = || bills.iter().filter(|mail| year(mail, "2025"));
        let size = |mail: &&Mail| mail.files[0].bytes.len();
        self.ask("mail-attachment-sum", "How many bytes are the invoices of 2025?", 1, json!([
            {"call": "aggregate", "with": {"stream": "attachments", "metric": "sum", "field": "size_bytes", "connection_id": "$private", "filter": {"message_received_at": {"gte": "2025-01-01", "lt": "2026-01-01"}}}}]),
            &[("fact:value", json!(of_2025().map(size).sum::<usize>()))]);
        self.ask("mail-with-files", "Which mails of spring 2025 have attachments?", 1, json!([
            {"call": "query_records", "with": {"stream": "messages", "connection_id": "$private", "order": "asc", "filter": {"has_attachments": true, "received_at": {"gte": "2025-03-01", "lt": "2025-06-01"}}, "fields": ["subject"]}}]),
            &[("values:subject", bills.iter().filter(|mail| ("2025-03-01".."2025-06-01").contains(&iso(mail.at).as_str())).map(|mail| json!([mail.subject])).collect())]);
        let amount = bills.last().unwrap();
        self.ask("mail-last-amount", "What was due on the last invoice?", 2, json!([
            {"call": "query_records", "with": {"stream": "messages", "connection_id": "$private", "limit": 1, "filter": {"from_email": energy.1}, "expand": ["message_bodies"], "fields": ["subject"]}},
            {"pick": {"subject": amount.subject}, "as": {"mail": "handle"}},
            {"call": "fetch", "with": {"id": "$mail", "fields": ["subject"], "expand": ["message_bodies"]}},
            {"pick": {}, "as": {"subject": "subject"}}]),
            &[("$subject", json!(amount.subject))]);
        for (name, (needle, subject)) in [
            ("japanese", &person.facts.japanese),
            ("thai", &person.facts.thai),
            ("arabic", &person.facts.arabic),
        ] {
            self.ask(
                &format!("mail-{name}"),
                "A word in another script",
                1,
                json!([
                {"call": "search", "with": {"q": needle, "streams": ["message_bodies"]}}]),
                &[("values:title", json!([[subject]]))],
            );
        }
        let riddle = &person.facts.riddle;
        self.ask("mail-window", "What is the answer to the riddle in the long newsletter?", 2, json!([
            {"call": "search", "with": {"q": "riddle", "streams": ["message_bodies"], "connection_id": "$private"}},
            {"pick": {}, "as": {"hit": "handle"}},
            {"call": "read_record_field", "with": {"id": "$hit", "field_path": "body_text", "q": "The answer to the riddle", "before_chars": 0, "after_chars": riddle.chars().count() - "The answer to the riddle".len()}}]),
            &[("text", json!(riddle))]);
        let order = from("desk@grabber.example")[0];
        self.ask("mail-hostile", "What does the mail of the prize desk say? (it is a text, and changes nothing)", 3, json!([
            {"call": "search", "with": {"q": "grabber", "streams": ["message_bodies"], "connection_id": "$private"}},
            {"pick": {"title": "You have won"}, "as": {"hit": "handle"}},
            {"call": "fetch", "with": {"id": "$hit", "fields": ["body_text"]}},
            {"pick": {"text": order.body}, "as": {"order": "text"}},
            {"call": "aggregate", "with": {"stream": "messages", "metric": "count", "connection_id": "$private"}}]),
            &[("$order", json!(order.body)), ("fact:value", json!(private.len()))]);
        let club: Vec<&Mail> = mails(person, Box_::Club).collect();
        self.ask("mail-other-account", "What was the last mail in the club's mailbox?", 1, json!([
            {"call": "query_records", "with": {"stream": "messages", "connection_id": "$club", "limit": 1, "fields": ["subject", "from_name"]}}]),
            &[("values:subject,from_name", json!([[club.last().unwrap().subject, club.last().unwrap().from_name]]))]);
        let rowers =
            club.iter().map(|mail| mail.from_name.as_str()).collect::<std::collections::BTreeSet<_>>();
        let in_both = person.friends.iter().find(|friend| rowers.contains(friend.name().as_str())).unwrap();
        let of_one = |mails: &[&Mail]| mails.iter().filter(|mail| mail.from_email == in_both.email).count();
        self.ask("mail-two-accounts", "How often did that friend write, in the one mailbox and in the other?", 2, json!([
            {"call": "aggregate", "with": {"stream": "messages", "metric": "count", "connection_id": "$private", "filter": {"from_email": in_both.email}}},
            {"note": {"one": "value"}},
            {"call": "aggregate", "with": {"stream": "messages", "metric": "count", "connection_id": "$club", "filter": {"from_email": in_both.email}}}]),
            &[("$one", json!(of_one(&private))), ("fact:value", json!(of_one(&club)))]);
        self.ask(
            "mail-which-account",
            "Two sources have messages: which is meant, is said by an error",
            2,
            json!([
            {"call": "query_records", "with": {"stream": "messages", "limit": 1, "fields": ["subject"]}},
            {"recover": "ambiguous_connection", "how": "choose", "label": owner(person, Box_::Work)}]),
            &[("values:subject", json!([[mails(person, Box_::Work).last().unwrap().subject]]))],
        );
        let recent = |mail: &&Mail| iso(mail.at).as_str() >= "2025-12-01";
        self.ask("mail-walk", "Every mail of the club since December 2025, newest first", 1, json!([
            {"call": "query_records", "with": {"stream": "messages", "connection_id": "$club", "limit": 50, "filter": {"received_at": {"gte": "2025-12-01"}}, "fields": ["subject"]}},
            {"follow": "next", "until": "end"}]),
            &[("values:subject", club.iter().rev().filter(|mail| recent(mail)).map(|mail| json!([mail.subject])).collect())]);
        let work: Vec<&Mail> = mails(person, Box_::Work).collect();
        self.ask("mail-labels", "How many mails have which label?", 1, json!([
            {"call": "aggregate", "with": {"stream": "message_labels", "metric": "count", "connection_id": "$work", "group_by": "label"}}]),
            &[("groups", groups(work.iter().flat_map(|mail| &mail.labels).filter(|label| **label != "Inbox").map(|label| (*label).to_owned()), 9))]);
        let heron: Vec<&&Mail> = work.iter().filter(|mail| mail.subject.starts_with("Heron")).collect();
        self.ask("mail-search-count", "How many mails at work are about Heron, and which is the newest?", 1, json!([
            {"call": "search", "with": {"q": "Heron plan", "streams": ["messages"], "connection_id": "$work", "limit": 1}},
            {"pick": {}, "as": {"title": "title"}}]),
            &[("$title", json!(heron.last().unwrap().subject))]);
        let colleague = &work[work.len() / 2];
        let theirs = work.iter().filter(|mail| mail.from_name == colleague.from_name);
        let project = colleague.subject.split(' ').next().unwrap();
        let theirs =
            theirs.filter(|mail| mail.subject.starts_with(project)).rev().map(|mail| json!([mail.subject]));
        self.ask("mail-sender-and-subject", "All that one colleague wrote of one project", 1, json!([
            {"call": "search", "with": {"q": format!("{} {project}", colleague.from_name), "streams": ["messages"], "connection_id": "$work", "limit": 50}},
            {"follow": "next", "until": "end"}]),
            &[("values:title", theirs.collect())]);
        let one_week = |mail: &&&Mail| ("2025-06-02".."2025-06-09").contains(&iso(mail.at).as_str());
        self.ask("mail-one-week", "How many mails came to work in the first week of June 2025?", 1, json!([
            {"call": "aggregate", "with": {"stream": "messages", "metric": "count", "connection_id": "$work", "filter": {"received_at": {"gte": "2025-06-02", "lt": "2025-06-09"}}}}]),
            &[("fact:value", json!(work.iter().filter(one_week).count()))]);
    }

    /// With a limited grant, data beyond it does not exist.
    fn bounded(&mut self) {
        let private: Vec<&Mail> =
            self.person.mails.iter().filter(|mail| mail.of == Box_::Private && !mail.is_key).collect();
        let granted: Vec<&&Mail> =
            private.iter().filter(|mail| mail.at >= super::person::at(day(2026, 1, 1), 0, 0)).collect();
        let bounded = Under::Bounded;
        self.ask_under(
            bounded,
            "bounded-count",
            "How many mails are there? Those that were granted",
            1,
            json!([
            {"call": "aggregate", "with": {"stream": "messages", "metric": "count"}}]),
            &[("fact:value", json!(granted.len()))],
        );
        self.ask_under(bounded, "bounded-walk", "Every mail, oldest first: none before the grant", 0, json!([
            {"call": "query_records", "with": {"stream": "messages", "limit": 100, "order": "asc", "fields": ["subject"]}},
            {"follow": "next", "until": "end"}]),
            &[("values:subject", granted.iter().map(|mail| json!([mail.subject])).collect())]);
        self.tasks.last_mut().unwrap().task.walk = Some(Walk::Pages);
        self.ask_under(bounded, "bounded-senders", "Who wrote, and how often", 1, json!([
            {"call": "aggregate", "with": {"stream": "messages", "metric": "count", "group_by": "from_name", "limit": 4}}]),
            &[("groups", groups(granted.iter().map(|mail| mail.from_name.clone()), 4))]);
        self.ask_under(
            bounded,
            "bounded-old-word",
            "A word of a mail from before the grant",
            1,
            json!([
            {"call": "search", "with": {"q": "boiler"}}]),
            &[("count", json!(0))],
        );
        self.ask_under(
            bounded,
            "bounded-text",
            "A word of a text, which was not granted",
            1,
            json!([
            {"call": "search", "with": {"q": "stairs painted"}}]),
            &[("count", json!(0))],
        );
        self.ask_under(
            bounded,
            "bounded-stream",
            "Texts were not granted, and that is said",
            1,
            json!([
            {"call": "query_records", "with": {"stream": "message_bodies", "limit": 1}},
            {"recover": "context.stream_not_allowed", "how": "stop"}]),
            &[],
        );
        let stairs = granted
            .iter()
            .filter(|mail| mail.subject.starts_with("Stairs"))
            .rev()
            .map(|mail| json!([mail.subject]));
        self.ask_under(
            bounded,
            "bounded-subject",
            "Words of subjects are found",
            1,
            json!([
            {"call": "search", "with": {"q": "stairs notice", "limit": 50}}]),
            &[("values:title", stairs.collect())],
        );
    }

    fn models(&mut self) {
        let person = self.person;
        let spice = &person.chatgpt[7];
        self.ask("chatgpt-parent", "In which conversation did I ask about that spice?", 1, json!([
            {"call": "search", "with": {"q": person.facts.dish, "streams": ["messages"], "connection_id": "$chatgpt"}}]),
            &[("values:title", json!([[spice.title]]))]);
        let asked = person
            .chatgpt
            .iter()
            .max_by_key(|talk| talk.said.iter().rfind(|said| said.is_mine).unwrap().at)
            .unwrap();
        self.ask("chatgpt-newest-question", "What did I ask last, and in which conversation?", 1, json!([
            {"call": "query_records", "with": {"stream": "messages", "connection_id": "$chatgpt", "limit": 1, "filter": {"role": "user"}, "fields": ["content"], "expand": ["parent"]}},
            {"pick": {}, "as": {"asked": "content", "title": "/expanded/parent/data/title"}}]),
            &[("$asked", json!(asked.said.iter().rfind(|said| said.is_mine).unwrap().text)), ("$title", json!(asked.title))]);
        let branch = person.chatgpt.iter().find(|talk| talk.said.iter().any(|said| said.is_left)).unwrap();
        let left = branch.said.iter().find(|said| said.is_left).unwrap();
        self.ask("chatgpt-path", "What was the question of that answer? (step by step, with identifiers alone)", 3, json!([
            {"call": "query_records", "with": {"stream": "messages", "connection_id": "$chatgpt", "order": "asc", "limit": 1, "filter": {"on_current_branch": false, "conversation_id": branch.id}, "fields": ["parent_id", "content"]}},
            {"pick": {"content": left.text}, "as": {"question": "parent_id"}},
            {"call": "fetch", "with": {"id": "${chatgpt}/messages:${question}", "fields": ["conversation_id", "content"]}},
            {"pick": {}, "as": {"conversation": "conversation_id", "asked": "content"}},
            {"call": "fetch", "with": {"id": "${chatgpt}/conversations:${conversation}", "fields": ["title", "id"]}},
            {"pick": {}, "as": {"title": "title"}}]),
            &[("$asked", json!(branch.said[branch.said.iter().position(|said| said.is_left).unwrap() - 1].text)), ("$title", json!(branch.title))]);
        let mine = || person.chatgpt.iter().flat_map(|talk| &talk.said).filter(|said| said.is_mine);
        self.ask("chatgpt-by-month", "How often did I ask in each month of 2025?", 1, json!([
            {"call": "aggregate", "with": {"stream": "messages", "metric": "count", "connection_id": "$chatgpt", "group_by_time": "create_time", "granularity": "month", "time_zone": "UTC", "limit": 24,
                "filter": {"role": "user", "create_time": {"gte": "2025-01-01", "lt": "2026-01-01"}}}}]),
            &[("groups", periods(mine().filter(|said| iso(said.at).starts_with("2025")).map(|said| month_of(said.at))))]);
        let mut talks: Vec<_> = person.chatgpt.iter().collect();
        talks.sort_by_key(|talk| std::cmp::Reverse(talk.said.last().unwrap().at));
        self.ask("chatgpt-newest", "Which three conversations are the newest?", 1, json!([
            {"call": "query_records", "with": {"stream": "conversations", "connection_id": "$chatgpt", "limit": 3, "fields": ["title"]}}]),
            &[("values:title", talks.iter().take(3).map(|talk| json!([talk.title])).collect())]);
        let answers = || person.chatgpt.iter().flat_map(|talk| &talk.said).filter(|said| !said.is_mine);
        self.ask("chatgpt-models", "Which model answered how often?", 1, json!([
            {"call": "aggregate", "with": {"stream": "messages", "metric": "count", "connection_id": "$chatgpt", "group_by": "model_slug", "filter": {"role": "assistant"}}}]),
            &[("groups", groups(answers().map(|said| said.model.unwrap().to_owned()), 9))]);
        self.ask("chatgpt-left", "How many answers were asked for again?", 1, json!([
            {"call": "aggregate", "with": {"stream": "messages", "metric": "count", "connection_id": "$chatgpt", "filter": {"on_current_branch": false}}}]),
            &[("fact:value", json!(answers().filter(|said| said.is_left).count()))]);
        let talk = &person.chatgpt[5];
        self.ask("chatgpt-conversation", "What did I ask in that conversation, in order?", 2, json!([
            {"call": "search", "with": {"q": talk.title, "streams": ["conversations"], "connection_id": "$chatgpt"}},
            {"pick": {"title": talk.title}, "as": {"hit": "handle"}},
            {"call": "query_records", "with": {"stream": "messages", "connection_id": "$chatgpt", "order": "asc", "filter": {"conversation_id": talk.id, "role": "user"}, "fields": ["content"]}}]),
            &[("values:content", talk.said.iter().filter(|said| said.is_mine).map(|said| json!([said.text])).collect())]);
        let scene = &person.claude[5];
        let (file, text) = scene.said[0].file.clone().unwrap();
        self.ask("claude-file", "Which file speaks of the lighthouse, and what does it say?", 2, json!([
            {"call": "search", "with": {"q": "lighthouse ledger", "streams": ["attachments"], "connection_id": "$claude"}},
            {"pick": {"title": file}, "as": {"hit": "handle"}},
            {"call": "fetch", "with": {"id": "$hit", "fields": ["text"]}}]),
            &[("values:text", json!([[text]]))]);
        let garden = &person.projects[0];
        let of_garden = |talk: &&super::person::Talk| talk.project.as_ref() == Some(&garden.0);
        let mut scenes: Vec<_> = person.claude.iter().filter(of_garden).collect();
        scenes.sort_by_key(|talk| std::cmp::Reverse(talk.said.last().unwrap().at));
        self.ask("claude-project", "Which conversations belong to the project Garden?", 2, json!([
            {"call": "search", "with": {"q": "Garden", "streams": ["projects"], "connection_id": "$claude"}},
            {"pick": {"title": "Garden"}, "as": {"hit": "handle"}},
            {"call": "query_records", "with": {"stream": "conversations", "connection_id": "$claude", "filter": {"project_id": garden.0}, "fields": ["title"]}}]),
            &[("values:title", scenes.iter().map(|talk| json!([talk.title])).collect())]);
        self.ask("claude-roles", "How much did each side say?", 1, json!([
            {"call": "aggregate", "with": {"stream": "messages", "metric": "count", "connection_id": "$claude", "group_by": "role"}}]),
            &[("groups", groups(person.claude.iter().flat_map(|talk| &talk.said).map(|said| if said.is_mine { "user" } else { "assistant" }.to_owned()), 9))]);
    }

    fn contacts(&mut self) {
        let person = self.person;
        let friend = &person.friends[3];
        let found = |field: &str, value: &str| (field.to_owned(), value.to_owned());
        let _ = found;
        self.ask(
            "contact-phone",
            "What is a friend's number?",
            2,
            json!([
            {"call": "search", "with": {"q": friend.name(), "streams": ["contacts"]}},
            {"pick": {"title": friend.name()}, "as": {"hit": "handle"}},
            {"call": "fetch", "with": {"id": "$hit", "fields": ["phones"]}},
            {"pick": {}, "as": {"phone": "/phones/0"}}]),
            &[("$phone", json!(friend.phone))],
        );
        let everybody =
            || person.friends.iter().chain(&person.colleagues).chain([&person.landlord, &person.plumber]);
        let clinic: std::collections::BTreeSet<String> =
            everybody().filter(|one| one.org == "Northgate Clinic").map(super::person::Human::name).collect();
        self.ask("contact-org", "How many of my contacts are at the clinic?", 1, json!([
            {"call": "aggregate", "with": {"stream": "contacts", "metric": "count", "filter": {"org": "Northgate Clinic"}}}]),
            &[("fact:value", json!(clinic.len()))]);
        self.ask("contact-orgs", "How many contacts are at which organisation?", 1, json!([
            {"call": "aggregate", "with": {"stream": "contacts", "metric": "count", "group_by": "org", "limit": 20, "filter": {"org": "Tern Studio"}}}]),
            &[("groups", groups(everybody().filter(|one| one.org == "Tern Studio").map(|one| one.org.clone()), 20))]);
        let born = everybody().find(|one| one.birthday.is_some()).unwrap();
        self.ask(
            "contact-birthday",
            "When is that one's birthday?",
            2,
            json!([
            {"call": "search", "with": {"q": born.email, "streams": ["contacts"]}},
            {"pick": {"title": born.name()}, "as": {"hit": "handle"}},
            {"call": "fetch", "with": {"id": "$hit", "fields": ["birthday"]}}]),
            &[("values:text", json!([[born.birthday]]))],
        );
        let digits = friend.phone.rsplit(' ').take(3).collect::<Vec<_>>();
        let digits = digits.into_iter().rev().collect::<Vec<_>>().join(" ");
        self.ask(
            "contact-whose-number",
            "Whose number is that?",
            1,
            json!([
            {"call": "search", "with": {"q": digits, "streams": ["contacts"]}},
            {"pick": {"title": friend.name()}, "as": {"name": "title"}}]),
            &[("$name", json!(friend.name()))],
        );
    }

    fn tables(&mut self) {
        let person = self.person;
        let of_2026 = || person.runs.iter().filter(|run| run.on.year() == 2026);
        self.ask("runs-sum", "How far did I run in 2026?", 1, json!([
            {"call": "aggregate", "with": {"stream": "rows", "metric": "sum", "field": "km", "connection_id": "$runs", "filter": {"date": {"gte": "2026-01-01", "lt": "2027-01-01"}}}}]),
            &[("fact:value", tenths(of_2026().map(|run| run.tenths).sum()))]);
        let longest = person.runs.iter().max_by_key(|run| run.tenths).unwrap();
        self.ask("runs-longest", "How far was the longest run?", 1, json!([
            {"call": "aggregate", "with": {"stream": "rows", "metric": "max", "field": "km", "connection_id": "$runs"}}]),
            &[("fact:value", tenths(longest.tenths))]);
        self.ask("runs-kinds", "How many runs of which kind?", 1, json!([
            {"call": "aggregate", "with": {"stream": "rows", "metric": "count", "connection_id": "$runs", "group_by": "kind"}}]),
            &[("groups", groups(person.runs.iter().map(|run| run.kind.to_owned()), 9))]);
        let intervals = person.runs.iter().rev().find(|run| run.kind == "intervals").unwrap();
        self.ask("runs-newest", "When were the last intervals?", 1, json!([
            {"call": "query_records", "with": {"stream": "rows", "connection_id": "$runs", "limit": 1, "filter": {"kind": "intervals"}, "fields": ["date", "note"]}}]),
            &[("values:date,note", json!([[intervals.on.to_string(), intervals.note]]))]);
        self.ask("runs-by-month", "How many runs in each month of 2025?", 1, json!([
            {"call": "aggregate", "with": {"stream": "rows", "metric": "count", "connection_id": "$runs", "group_by_time": "date", "granularity": "month", "time_zone": "UTC", "limit": 12, "filter": {"date": {"gte": "2025-01-01", "lt": "2026-01-01"}}}}]),
            &[("groups", periods(person.runs.iter().filter(|run| run.on.year() == 2025).map(|run| run.on.first_of_month().to_string())))]);
        self.ask("books-authors", "By whom did I read most?", 1, json!([
            {"call": "aggregate", "with": {"stream": "rows", "metric": "count", "connection_id": "$books", "group_by": "author", "limit": 3}}]),
            &[("groups", groups(person.books.iter().map(|book| book.author.clone()), 3))]);
        self.ask("books-pages", "How many pages did I read in 2025?", 1, json!([
            {"call": "aggregate", "with": {"stream": "rows", "metric": "sum", "field": "pages", "connection_id": "$books", "filter": {"finished": {"gte": "2025-01-01", "lt": "2026-01-01"}}}}]),
            &[("fact:value", json!(person.books.iter().filter(|book| book.on.year() == 2025).map(|book| book.pages).sum::<i64>()))]);
        let first = &person.books[0];
        self.ask("books-first", "Which book did I finish first?", 1, json!([
            {"call": "query_records", "with": {"stream": "rows", "connection_id": "$books", "limit": 1, "order": "asc", "fields": ["title", "author"]}}]),
            &[("values:title,author", json!([[first.title, first.author]]))]);
    }

    /// Missing data is reported as missing.
    fn nothing(&mut self) {
        self.ask(
            "nothing-word",
            "A word that nobody wrote",
            1,
            json!([
            {"call": "search", "with": {"q": "submarine periscope"}}]),
            &[("count", json!(0))],
        );
        self.ask("nothing-sender", "Mail of somebody who never wrote", 1, json!([
            {"call": "aggregate", "with": {"stream": "messages", "metric": "count", "connection_id": "$private", "filter": {"from_email": "nobody@nowhere.example"}}}]),
            &[("fact:value", json!(0))]);
        self.ask("nothing-year", "Mail of a year before the first", 1, json!([
            {"call": "query_records", "with": {"stream": "messages", "connection_id": "$private", "filter": {"received_at": {"lt": "2019-01-01"}}, "fields": ["subject"]}}]),
            &[("count", json!(0))]);
        self.ask(
            "nothing-key",
            "Mail that is a key to something is in no grant of mail",
            1,
            json!([
            {"call": "search", "with": {"q": "verification"}}]),
            &[("count", json!(0))],
        );
        self.ask(
            "nothing-key-stream",
            "And its stream is not there",
            1,
            json!([
            {"call": "query_records", "with": {"stream": "security_messages", "limit": 1}},
            {"recover": "stream_not_granted", "how": "stop"}]),
            &[],
        );
        self.ask(
            "nothing-contact",
            "A contact that is not there",
            1,
            json!([
            {"call": "search", "with": {"q": "Zebedee Quartermain", "streams": ["contacts"]}}]),
            &[("count", json!(0))],
        );
        self.ask(
            "nothing-other-account",
            "The word of one account is not in the other",
            1,
            json!([
            {"call": "search", "with": {"q": "boiler", "streams": ["messages"], "connection_id": "$club"}}]),
            &[("count", json!(0))],
        );
    }
}

/// The name of a connection in the tasks: its connector and its account.
pub fn names(person: &Person) -> Vec<(&'static str, &'static str, String)> {
    vec![
        ("private", "mail", owner(person, Box_::Private)),
        ("club", "mail", owner(person, Box_::Club)),
        ("work", "gmail", owner(person, Box_::Work)),
        ("chatgpt", "chatgpt", person.me.email.clone()),
        ("claude", "anthropic", person.me.email.clone()),
        ("contacts", "contacts", "contacts".to_owned()),
        ("runs", "table-runs", "runs".to_owned()),
        ("books", "table-books", "books".to_owned()),
        ("whatsapp", "whatsapp", "whatsapp".to_owned()),
        ("telegram", "telegram", "me".to_owned()),
        ("slack", "slack", "T1".to_owned()),
        ("home", "ical", "calendar".to_owned()),
        ("bank", "bank", "bank".to_owned()),
        ("spotify", "spotify", "me".to_owned()),
        ("google", "google-takeout", "google-takeout".to_owned()),
        ("firefox", "browser", "browser".to_owned()),
        ("vault", "notes", "vault".to_owned()),
        ("health", "apple-health", "apple-health".to_owned()),
    ]
}
