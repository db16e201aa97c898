//! Questions about chats, plans, money, media, notes and health.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::days::{Payment, Play};
use super::super::export::days::unanswered;
use super::super::person::{At, Human, iso, month_of, stamp};
use super::{Sheet, groups, periods};

/// Groups of sums with their counts and values: the largest magnitude first, then by key.
fn sums(of: impl IntoIterator<Item = (String, i64)>, limit: usize, written: fn(i64) -> Value) -> Value {
    let mut all: BTreeMap<String, (u64, i64)> = BTreeMap::new();
    for (key, value) in of {
        let one = all.entry(key).or_default();
        *one = (one.0 + 1, one.1 + value);
    }
    let mut all: Vec<(String, (u64, i64))> = all.into_iter().collect();
    all.sort_by(|left, right| right.1.1.abs().cmp(&left.1.1.abs()).then_with(|| left.0.cmp(&right.0)));
    all.into_iter().take(limit).map(|(key, (count, value))| json!([key, count, written(value)])).collect()
}

/// Sums of periods, the earliest first.
fn sums_by_time(of: impl IntoIterator<Item = (String, i64)>, written: fn(i64) -> Value) -> Value {
    let mut all: BTreeMap<String, (u64, i64)> = BTreeMap::new();
    for (key, value) in of {
        let one = all.entry(key).or_default();
        *one = (one.0 + 1, one.1 + value);
    }
    all.into_iter().map(|(key, (count, value))| json!([key, count, written(value)])).collect()
}

fn plain(number: i64) -> Value {
    number.into()
}

/// Cents in their written form: `-12.30`.
fn cents(number: i64) -> Value {
    let sign = if number < 0 { "-" } else { "" };
    serde_json::from_str(&format!("{sign}{}.{:02}", number.abs() / 100, number.abs() % 100)).unwrap()
}

fn quarter_of(on: jiff::civil::Date) -> String {
    format!("{}-{:02}-01", on.year(), (on.month() - 1) / 3 * 3 + 1)
}

fn is_in(at: At, from: &str, to: &str) -> bool {
    (from..to).contains(&iso(at).as_str())
}

impl Sheet<'_> {
    /// Rent by quarter, the dearest purchase, and further questions to a bank.
    pub(super) fn money(&mut self) {
        let days = &self.person.days;
        let rent: Vec<&Payment> = days.giro.iter().filter(|one| one.category == "Wohnen").collect();
        self.ask("money-rent-by-quarter", "How much rent did I pay in each quarter?", 1, json!([
            {"call": "aggregate", "with": {"stream": "transactions", "connection_id": "$bank", "metric": "sum", "field": "amount",
                "group_by_time": "date", "granularity": "quarter", "time_zone": "UTC", "filter": {"category": "Wohnen"}}}]),
            &[("groups", sums_by_time(rent.iter().map(|one| (quarter_of(one.on), one.cents)), cents))]);
        let spent = days.giro.iter().filter(|one| one.cents < 0);
        self.ask("money-categories", "On what did I spend how much?", 1, json!([
            {"call": "aggregate", "with": {"stream": "transactions", "connection_id": "$bank", "metric": "sum", "field": "amount", "group_by": "category",
                "filter": {"type": "lastschrift"}}}]),
            &[("groups", sums(spent.map(|one| (one.category.to_owned(), one.cents)), 10, cents))]);
        let mut dearest: Vec<&Payment> = days.card.iter().collect();
        dearest.sort_by_key(|one| one.cents);
        self.ask("money-dearest", "What was the dearest thing that I bought by card?", 2, json!([
            {"call": "query_records", "with": {"stream": "accounts", "connection_id": "$bank", "fields": ["name", "type"]}},
            {"pick": {"type": "credit_card"}, "as": {"account": "record"}},
            {"call": "query_records", "with": {"stream": "transactions", "connection_id": "$bank", "sort": "amount", "limit": 1, "filter": {"account_id": "$account"}, "fields": ["name", "amount", "date"]}}]),
            &[("values:name,amount,date", json!([[dearest[0].name, cents(dearest[0].cents), dearest[0].on.to_string()]]))]);
        let salary: i64 = days
            .giro
            .iter()
            .filter(|one| one.category == "Gehalt" && one.on.year() == 2025)
            .map(|one| one.cents)
            .sum();
        self.ask("money-salary", "What did I earn in 2025?", 1, json!([
            {"call": "aggregate", "with": {"stream": "transactions", "connection_id": "$bank", "metric": "sum", "field": "amount",
                "filter": {"category": "Gehalt", "date": {"gte": "2025-01-01", "lt": "2026-01-01"}}}}]),
            &[("fact:value", cents(salary))]);
        let receipt = &days.giro.iter().filter(|one| one.memo.starts_with("Receipt")).nth(50).unwrap();
        self.ask("money-receipt", "What was that receipt for, and how much?", 2, json!([
            {"call": "search", "with": {"q": receipt.memo, "streams": ["transactions"], "connection_id": "$bank"}},
            {"pick": {}, "as": {"hit": "handle"}},
            {"call": "fetch", "with": {"id": "$hit", "fields": ["name", "amount", "date"]}}]),
            &[("values:name,amount,date", json!([[receipt.name, cents(receipt.cents), receipt.on.to_string()]]))]);
        let by_month = days.card.iter().filter(|one| one.on.year() == 2025);
        self.ask("money-card-by-month", "How much did I spend by card in each month of 2025?", 2, json!([
            {"call": "query_records", "with": {"stream": "accounts", "connection_id": "$bank", "fields": ["name", "type"]}},
            {"pick": {"type": "credit_card"}, "as": {"account": "record"}},
            {"call": "aggregate", "with": {"stream": "transactions", "connection_id": "$bank", "metric": "sum", "field": "amount", "group_by_time": "date",
                "granularity": "month", "time_zone": "UTC", "limit": 12, "filter": {"account_id": "$account", "date": {"gte": "2025-01-01", "lt": "2026-01-01"}}}}]),
            &[("groups", sums_by_time(by_month.map(|one| (one.on.first_of_month().to_string(), one.cents)), cents))]);
        let best = days.giro.iter().max_by_key(|one| one.cents).unwrap();
        self.ask("money-parent", "In which currency is the account into which the largest payment came?", 1, json!([
            {"call": "query_records", "with": {"stream": "transactions", "connection_id": "$bank", "sort": "-amount", "limit": 1, "fields": ["amount", "date"], "expand": ["parent"]}},
            {"pick": {"date": best.on.to_string()}, "as": {"amount": "amount", "kind": "/expanded/parent/data/currency"}}]),
            &[("$amount", cents(best.cents)), ("$kind", json!("EUR"))]);
        self.ask(
            "money-not-there",
            "A purchase that was never made",
            1,
            json!([
            {"call": "search", "with": {"q": "helicopter", "streams": ["transactions"]}}]),
            &[("count", json!(0))],
        );
    }

    /// Sorts and sums of the other streams.
    pub(super) fn sorted(&mut self) {
        let person = self.person;
        let mut longest: Vec<_> = person.runs.iter().collect();
        longest.sort_by_key(|run| (std::cmp::Reverse(run.tenths), run.id));
        let tenths = |number: i64| -> Value {
            serde_json::from_str(&format!("{}.{}", number / 10, number % 10)).unwrap()
        };
        self.ask("sorted-longest-runs", "Which was the longest run?", 1, json!([
            {"call": "query_records", "with": {"stream": "rows", "connection_id": "$runs", "sort": "-km", "limit": 1, "fields": ["date", "km"]}}]),
            &[("values:date,km", json!([[longest[0].on.to_string(), tenths(longest[0].tenths)]]))]);
        self.ask("sorted-km-by-kind", "How far did I run in each kind of run?", 1, json!([
            {"call": "aggregate", "with": {"stream": "rows", "connection_id": "$runs", "metric": "sum", "field": "km", "group_by": "kind"}}]),
            &[("groups", sums(person.runs.iter().map(|run| (run.kind.to_owned(), run.tenths)), 9, |number| serde_json::from_str(&format!("{}.{}", number / 10, number % 10)).unwrap()))]);
        let mut thickest: Vec<_> = person.books.iter().collect();
        thickest.sort_by_key(|book| std::cmp::Reverse((book.pages, book.id)));
        self.ask("sorted-thickest-book", "Which book was the thickest?", 1, json!([
            {"call": "query_records", "with": {"stream": "rows", "connection_id": "$books", "sort": "-pages", "limit": 1, "fields": ["pages"]}}]),
            &[("values:pages", json!([[thickest[0].pages]]))]);
        self.ask("sorted-pages-by-author", "Of whom did I read the most pages?", 1, json!([
            {"call": "aggregate", "with": {"stream": "rows", "connection_id": "$books", "metric": "sum", "field": "pages", "group_by": "author", "limit": 2}}]),
            &[("groups", sums(person.books.iter().map(|book| (book.author.clone(), book.pages)), 2, plain))]);
        let (meter, file) = &person.facts.meter;
        self.ask("pdf-word", "On which invoice stands that meter? (a word inside a PDF)", 1, json!([
            {"call": "search", "with": {"q": meter, "streams": ["attachments"], "connection_id": "$private"}}]),
            &[("values:title", json!([[file]]))]);
    }

    pub(super) fn chatted(&mut self) {
        let days = &self.person.days;
        let choir: Vec<_> = days.choir.lines.iter().collect();
        let text = |line: &&&super::super::days::Line| line.file.is_none();
        self.ask("chat-who-most", "Who wrote most in the choir?", 2, json!([
            {"call": "search", "with": {"q": days.choir.title, "streams": ["chats"], "connection_id": "$whatsapp"}},
            {"pick": {"title": days.choir.title}, "as": {"chat": "record"}},
            {"call": "aggregate", "with": {"stream": "messages", "connection_id": "$whatsapp", "metric": "count", "group_by": "author", "limit": 3, "filter": {"chat_id": "$chat", "is_system": false}}}]),
            &[("groups", groups(choir.iter().map(|line| line.author.clone()), 3))]);
        let odd = choir.iter().find(|line| line.text.contains(days.song)).unwrap();
        self.ask(
            "chat-word",
            "What was said of that piece, by whom and when?",
            2,
            json!([
            {"call": "search", "with": {"q": days.song, "streams": ["messages"], "connection_id": "$whatsapp"}},
            {"pick": {}, "as": {"hit": "handle"}},
            {"call": "fetch", "with": {"id": "$hit", "fields": ["author", "content", "sent_at"]}}]),
            &[("values:author,content,sent_at", json!([[odd.author, odd.text, iso(odd.at)]]))],
        );
        self.ask("chat-parent", "In which chat, and by whom? (the hit alone says it)", 1, json!([
            {"call": "search", "with": {"q": days.song, "streams": ["messages"], "connection_id": "$whatsapp"}}]),
            &[("values:title", json!([[format!("{} · {}", days.choir.title, odd.author)]]))]);
        let arabic = choir.iter().find(|line| line.text.contains(days.arabic)).unwrap();
        self.ask(
            "chat-arabic",
            "A word in Arabic script in the choir",
            2,
            json!([
            {"call": "search", "with": {"q": days.arabic, "streams": ["messages"]}},
            {"pick": {}, "as": {"hit": "handle"}},
            {"call": "fetch", "with": {"id": "$hit", "fields": ["author"]}}]),
            &[("values:text", json!([[arabic.author]]))],
        );
        let last = choir.iter().filter(text).rfind(|line| line.author == odd.author).unwrap();
        self.ask("chat-last-of", "What did that singer write last?", 1, json!([
            {"call": "query_records", "with": {"stream": "messages", "connection_id": "$whatsapp", "limit": 1, "filter": {"author": odd.author, "has_attachment": false}, "fields": ["content"]}}]),
            &[("values:content", json!([[last.text]]))]);
        self.ask("chat-photos", "How many photos were sent?", 1, json!([
            {"call": "aggregate", "with": {"stream": "messages", "connection_id": "$whatsapp", "metric": "count", "filter": {"has_attachment": true}}}]),
            &[("fact:value", json!(choir.iter().filter(|line| line.file.is_some()).count()))]);
        self.ask("chat-by-month", "How many messages of the choir in each month of 2025?", 2, json!([
            {"call": "search", "with": {"q": days.choir.title, "streams": ["chats"], "connection_id": "$whatsapp"}},
            {"pick": {"title": days.choir.title}, "as": {"chat": "record"}},
            {"call": "aggregate", "with": {"stream": "messages", "connection_id": "$whatsapp", "metric": "count", "group_by_time": "sent_at", "granularity": "month", "time_zone": "UTC", "limit": 12,
                "filter": {"chat_id": "$chat", "is_system": false, "sent_at": {"gte": "2025-02-01", "lt": "2026-01-01"}}}}]),
            &[("groups", periods(choir.iter().filter(|line| is_in(line.at, "2025-02-01", "2026-01-01")).map(|line| month_of(line.at))))]);
        let pair = &days.pair.lines;
        self.ask("chat-with-one", "How often did the two of us write?", 2, json!([
            {"call": "search", "with": {"q": days.pair.title, "streams": ["chats"], "connection_id": "$whatsapp"}},
            {"pick": {"title": days.pair.title}, "as": {"chat": "record"}},
            {"call": "aggregate", "with": {"stream": "messages", "connection_id": "$whatsapp", "metric": "count", "filter": {"chat_id": "$chat", "is_system": false}}}]),
            &[("fact:value", json!(pair.len()))]);
    }

    pub(super) fn telegram(&mut self) {
        let days = &self.person.days;
        let all = || days.telegram.iter().flat_map(|chat| &chat.lines);
        self.ask("telegram-edited", "How many messages were edited?", 1, json!([
            {"call": "aggregate", "with": {"stream": "messages", "connection_id": "$telegram", "metric": "count", "filter": {"edited_at": {"gte": "2020-01-01"}}}}]),
            &[("fact:value", json!(all().filter(|line| line.edited.is_some()).count()))]);
        self.ask("telegram-authors", "Who wrote how often?", 1, json!([
            {"call": "aggregate", "with": {"stream": "messages", "connection_id": "$telegram", "metric": "count", "group_by": "author", "limit": 10}}]),
            &[("groups", groups(all().map(|line| line.author.clone()), 10))]);
        let allotment = &days.telegram[0].lines;
        let (at, line) = allotment.iter().enumerate().rfind(|(_, line)| line.answers.is_some()).unwrap();
        let answered = &allotment[line.answers.unwrap()];
        self.ask("telegram-reply", "What did that message answer?", 3, json!([
            {"call": "search", "with": {"q": format!("bed number {at}"), "streams": ["messages"], "connection_id": "$telegram"}},
            {"pick": {}, "as": {"hit": "handle"}},
            {"call": "fetch", "with": {"id": "$hit", "fields": ["reply_to"]}},
            {"pick": {}, "as": {"other": "text"}},
            {"call": "fetch", "with": {"id": "${telegram}/messages:${other}", "fields": ["content"]}}]),
            &[("values:text", json!([[answered.text]]))]);
        let last = days.telegram[1].lines.last().unwrap();
        self.ask("telegram-newest", "Which chat is the newest?", 1, json!([
            {"call": "query_records", "with": {"stream": "chats", "connection_id": "$telegram", "limit": 2, "fields": ["title", "last_message_date"]}},
            {"pick": {"title": days.telegram[1].title}, "as": {"at": "last_message_date"}}]),
            &[("$at", json!(iso(last.at)))]);
    }

    pub(super) fn worked(&mut self) {
        let person = self.person;
        let days = &person.days;
        let name = |user: usize| person.colleagues[user].given.clone();
        self.ask("slack-authors", "Who posted most?", 1, json!([
            {"call": "aggregate", "with": {"stream": "messages", "connection_id": "$slack", "metric": "count", "group_by": "author", "limit": 3}}]),
            &[("groups", groups(days.posts.iter().map(|post| name(post.user)), 3))]);
        let falcon = days.posts.iter().filter(|post| post.channel == 1);
        self.ask("slack-channel", "How many messages are in that channel?", 2, json!([
            {"call": "search", "with": {"q": "falcon", "streams": ["channels"], "connection_id": "$slack"}},
            {"pick": {}, "as": {"channel": "record"}},
            {"call": "aggregate", "with": {"stream": "messages", "connection_id": "$slack", "metric": "count", "filter": {"channel_id": "$channel"}}}]),
            &[("fact:value", json!(falcon.count()))]);
        let eyes: usize = days
            .posts
            .iter()
            .flat_map(|post| &post.reactions)
            .filter(|(name, _)| *name == "eyes")
            .map(|(_, users)| users.len())
            .sum();
        self.ask("slack-reactions", "How often did somebody react with eyes?", 1, json!([
            {"call": "search", "with": {"q": "eyes", "streams": ["reactions"], "connection_id": "$slack", "limit": 1}}]),
            &[("fact:count", json!(eyes))]);
        let (at, parent) = days
            .posts
            .iter()
            .enumerate()
            .find(|(at, _)| days.posts.iter().any(|post| post.thread == Some(*at)))
            .unwrap();
        let thread = days.posts.iter().filter(|post| post.thread == Some(at)).map(|post| json!([post.text]));
        self.ask("slack-thread", "What was answered in that thread, in order?", 1, json!([
            {"call": "query_records", "with": {"stream": "messages", "connection_id": "$slack", "order": "asc", "filter": {"thread_ts": format!("{}.000100", parent.at)}, "fields": ["text"]}}]),
            &[("values:text", thread.collect())]);
    }

    pub(super) fn planned(&mut self) {
        let days = &self.person.days;
        let march = days.events.iter().filter(|event| is_in(event.start, "2026-03-01", "2026-04-01"));
        self.ask("plans-month", "What was planned for March 2026, in order?", 1, json!([
            {"call": "query_records", "with": {"stream": "events", "connection_id": "$home", "order": "asc", "filter": {"start": {"gte": "2026-03-01", "lt": "2026-04-01"}}, "fields": ["summary", "start"]}}]),
            &[("values:summary,start", march.map(|event| json!([event.summary, iso(event.start)])).collect())]);
        let weekly = days.events.iter().find(|event| event.times > 1).unwrap();
        self.ask("plans-weekly", "How often does that take place?", 2, json!([
            {"call": "search", "with": {"q": weekly.summary, "streams": ["events"], "connection_id": "$home"}},
            {"pick": {}, "as": {"event": "record"}},
            {"call": "aggregate", "with": {"stream": "occurrences", "connection_id": "$home", "metric": "count", "filter": {"event_id": "$event"}}}]),
            &[("fact:value", json!(weekly.times))]);
        let invited = days.events.iter().rev().find(|event| !unanswered(event).is_empty()).unwrap();
        let who = |(human, has_answered): &(Human, bool)| {
            let status = if *has_answered { "accepted" } else { "needs-action" };
            json!({"name": human.name(), "email": human.email, "status": status})
        };
        self.ask("plans-unanswered", "Who has not answered the invitation?", 2, json!([
            {"call": "search", "with": {"q": invited.summary, "streams": ["events"], "connection_id": "$home"}},
            {"pick": {}, "as": {"hit": "handle"}},
            {"call": "fetch", "with": {"id": "$hit", "fields": ["attendees"]}},
            {"pick": {}, "as": {"attendees": "attendees"}}]),
            &[("$attendees", invited.invited.iter().map(who).collect())]);
        self.ask("plans-places", "Where do I have to be how often?", 1, json!([
            {"call": "aggregate", "with": {"stream": "events", "connection_id": "$home", "metric": "count", "group_by": "location"}}]),
            &[("groups", groups(days.events.iter().map(|event| event.location.to_owned()), 9))]);
    }

    pub(super) fn listened(&mut self) {
        let days = &self.person.days;
        let plays: Vec<&Play> = days.plays.iter().collect();
        self.ask("music-artists", "Whom did I play how often?", 1, json!([
            {"call": "aggregate", "with": {"stream": "recently_played", "connection_id": "$spotify", "metric": "count", "group_by": "artist"}}]),
            &[("groups", groups(plays.iter().map(|play| play.artist.clone()), 9))]);
        self.ask("music-longest", "To whom did I listen longest?", 1, json!([
            {"call": "aggregate", "with": {"stream": "recently_played", "connection_id": "$spotify", "metric": "sum", "field": "ms_played", "group_by": "artist", "limit": 2}}]),
            &[("groups", sums(plays.iter().map(|play| (play.artist.clone(), play.ms)), 2, plain))]);
        let ferry: Vec<_> = plays.iter().filter(|play| play.album == "Slow Ferry").collect();
        self.ask("music-album", "How often did I play something from that album?", 1, json!([
            {"call": "aggregate", "with": {"stream": "recently_played", "connection_id": "$spotify", "metric": "count", "filter": {"album_name": "Slow Ferry"}}}]),
            &[("fact:value", json!(ferry.len()))]);
        self.ask("music-last", "What did I play last from it?", 1, json!([
            {"call": "query_records", "with": {"stream": "recently_played", "connection_id": "$spotify", "limit": 1, "filter": {"album_name": "Slow Ferry"}, "fields": ["track_name", "played_at"]}}]),
            &[("values:track_name,played_at", json!([[ferry.last().unwrap().track, iso(ferry.last().unwrap().at)]]))]);
        self.ask("music-skipped", "How much did I skip?", 1, json!([
            {"call": "aggregate", "with": {"stream": "recently_played", "connection_id": "$spotify", "metric": "count", "filter": {"skipped": true}}}]),
            &[("fact:value", json!(plays.iter().filter(|play| play.is_skipped).count()))]);
        self.ask("music-by-month", "How many plays in each month of 2025?", 1, json!([
            {"call": "aggregate", "with": {"stream": "recently_played", "connection_id": "$spotify", "metric": "count", "group_by_time": "played_at", "granularity": "month", "time_zone": "UTC", "limit": 12,
                "filter": {"played_at": {"gte": "2025-01-01", "lt": "2026-01-01"}}}}]),
            &[("groups", periods(plays.iter().filter(|play| is_in(play.at, "2025", "2026")).map(|play| month_of(play.at))))]);
        self.ask("video-channels", "Which channels did I watch most?", 1, json!([
            {"call": "aggregate", "with": {"stream": "youtube_watch_history", "connection_id": "$google", "metric": "count", "group_by": "channel_name"}}]),
            &[("groups", groups(days.watched.iter().map(|one| one.channel.clone()), 9))]);
        let newest = days.watched.last().unwrap();
        self.ask("video-newest", "What did I watch last?", 1, json!([
            {"call": "query_records", "with": {"stream": "youtube_watch_history", "connection_id": "$google", "limit": 1, "fields": ["video_title", "watched_at"]}}]),
            &[("values:video_title,watched_at", json!([[newest.title, iso(newest.at)]]))]);
        let (at, query) = &days.searched[days.searched.len() / 2];
        let on = stamp(*at).to_zoned(jiff::tz::TimeZone::UTC).date();
        self.ask("video-searched", "What did I search for on that day?", 1, json!([
            {"call": "query_records", "with": {"stream": "search_history", "connection_id": "$google", "filter": {"timestamp": {"gte": on.to_string(), "lt": on.tomorrow().unwrap().to_string()}}, "fields": ["query"]}}]),
            &[("values:query", json!([[query]]))]);
    }

    pub(super) fn looked_up(&mut self) {
        let days = &self.person.days;
        self.ask("web-hosts", "Which sites did I visit most?", 1, json!([
            {"call": "aggregate", "with": {"stream": "visits", "connection_id": "$firefox", "metric": "count", "group_by": "host"}}]),
            &[("groups", groups(days.visits.iter().map(|visit| visit.host.to_owned()), 9))]);
        let last = days.visits.iter().rfind(|visit| visit.host == "library.example").unwrap();
        self.ask("web-last", "What did I read last in the library?", 1, json!([
            {"call": "query_records", "with": {"stream": "visits", "connection_id": "$firefox", "limit": 1, "filter": {"host": "library.example"}, "fields": ["title", "visited_at"]}}]),
            &[("values:title,visited_at", json!([[last.title, iso(last.at)]]))]);
        let glaciers = days.visits.iter().filter(|visit| visit.title.contains("glaciers")).count();
        self.ask("web-search", "How many pages on glaciers?", 1, json!([
            {"call": "search", "with": {"q": "glaciers", "streams": ["visits"], "connection_id": "$firefox", "limit": 1}}]),
            &[("fact:count", json!(glaciers))]);
        let note = &days.notes[10];
        let words = note.body.split(' ').rev().take(2).collect::<Vec<_>>();
        let words = format!("{} {}", words[1], words[0].trim_end_matches('.'));
        self.ask("note-text", "In which note do I say how long the screws are?", 2, json!([
            {"call": "search", "with": {"q": format!("screws {words}"), "streams": ["notes"], "connection_id": "$vault"}},
            {"pick": {}, "as": {"hit": "handle"}},
            {"call": "fetch", "with": {"id": "$hit", "fields": ["path"]}}]),
            &[("values:text", json!([[note.path]]))]);
        self.ask("note-folders", "How many notes are in which folder?", 1, json!([
            {"call": "aggregate", "with": {"stream": "notes", "connection_id": "$vault", "metric": "count", "group_by": "folder"}}]),
            &[("groups", groups(days.notes.iter().map(|note| note.path.split('/').next().unwrap().to_owned()), 9))]);
        let todo = days.notes.iter().filter(|note| note.tags.contains(&"todo")).count();
        self.ask("note-tag", "How many notes are marked as to do?", 1, json!([
            {"call": "search", "with": {"q": "todo", "streams": ["notes"], "connection_id": "$vault", "limit": 1}}]),
            &[("fact:count", json!(todo))]);
    }

    pub(super) fn moved(&mut self) {
        let days = &self.person.days;
        let steps = "StepCount";
        self.ask("health-steps", "How many steps in each month?", 1, json!([
            {"call": "aggregate", "with": {"stream": "records", "connection_id": "$health", "metric": "sum", "field": "value", "group_by_time": "start_date", "granularity": "month", "time_zone": "UTC",
                "filter": {"type": steps}}}]),
            &[("groups", sums_by_time(days.steps.iter().map(|one| (month_of(one.at), one.count)), plain))]);
        let longest = days.workouts.iter().max_by_key(|one| (one.tenths, std::cmp::Reverse(one.at))).unwrap();
        self.ask("health-longest", "Which was the longest workout?", 1, json!([
            {"call": "query_records", "with": {"stream": "workouts", "connection_id": "$health", "sort": "-duration_minutes", "limit": 1, "fields": ["duration_minutes"]}}]),
            &[("values:duration_minutes", json!([[serde_json::from_str::<Value>(&format!("{}.{}", longest.tenths / 10, longest.tenths % 10)).unwrap()]]))]);
        self.ask("health-kinds", "How many workouts of which kind?", 1, json!([
            {"call": "aggregate", "with": {"stream": "workouts", "connection_id": "$health", "metric": "count", "group_by": "workout_activity_type"}}]),
            &[("groups", groups(days.workouts.iter().map(|one| one.kind.trim_start_matches("HKWorkoutActivityType").to_owned()), 9))]);
    }

    /// Each record of each stream, with everything that was written about it.
    pub(super) fn everything(&mut self) {
        let person = self.person;
        let days = &person.days;
        let all = |rows: &mut dyn Iterator<Item = Value>| rows.collect::<Vec<_>>();
        let plays = all(&mut days.plays.iter().map(|play| {
            json!([iso(play.at), play.ms, play.track, play.artist, play.album, play.is_skipped])
        }));
        let fields = ["played_at", "ms_played", "track_name", "artist", "album_name", "skipped"];
        self.all_of("$spotify", "recently_played", &fields, plays);
        let payments = all(&mut days.giro.iter().chain(&days.card).map(|one| {
            let category = Some(one.category).filter(|category| !category.is_empty());
            json!([one.on.to_string(), cents(one.cents), "EUR", one.name, one.memo, category])
        }));
        let fields = ["date", "amount", "currency", "name", "memo", "category"];
        self.all_of("$bank", "transactions", &fields, payments);
        let visits = all(&mut days.visits.iter().map(|one| json!([iso(one.at), one.title, one.host])));
        self.all_of("$firefox", "visits", &["visited_at", "title", "host"], visits);
        let watched = all(&mut days.watched.iter().map(|one| json!([iso(one.at), one.title, one.channel])));
        self.all_of(
            "$google",
            "youtube_watch_history",
            &["watched_at", "video_title", "channel_name"],
            watched,
        );
        let searched = all(&mut days.searched.iter().map(|(at, query)| json!([iso(*at), query])));
        self.all_of("$google", "search_history", &["timestamp", "query"], searched);
        let steps = all(&mut days.steps.iter().map(|one| json!([iso(one.at), one.count, "count", "Watch"])));
        self.all_of("$health", "records", &["start_date", "value", "unit", "source_name"], steps);
        let notes = all(&mut days
            .notes
            .iter()
            .map(|note| json!([iso(note.at), note.path, note.tags, format!("{}\n", note.body)])));
        self.all_of("$vault", "notes", &["created_at", "path", "tags", "body"], notes);
        let posts = all(&mut days.posts.iter().map(|post| {
            let thread = post.thread.map(|parent| format!("{}.000100", days.posts[parent].at));
            json!([
                stamp(post.at).strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string(),
                post.text,
                person.colleagues[post.user].given,
                thread
            ])
        }));
        self.all_of("$slack", "messages", &["sent_at", "text", "author", "thread_ts"], posts);
        let lines = days.telegram.iter().flat_map(|chat| &chat.lines);
        let lines =
            all(&mut lines.map(|line| json!([iso(line.at), line.author, line.text, line.edited.map(iso)])));
        self.all_of("$telegram", "messages", &["sent_at", "author", "content", "edited_at"], lines);
        let events = all(&mut days
            .events
            .iter()
            .map(|one| json!([iso(one.start), iso(one.end), one.summary, one.location, one.uid])));
        self.all_of("$home", "events", &["start", "end", "summary", "location", "uid"], events);
        let runs = all(&mut person.runs.iter().map(|run| {
            let km: Value =
                serde_json::from_str(&format!("{}.{}", run.tenths / 10, run.tenths % 10)).unwrap();
            json!([run.on.to_string(), run.kind, km, run.note])
        }));
        self.all_of("$runs", "rows", &["date", "kind", "km", "note"], runs);
    }
}
