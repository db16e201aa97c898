//! Tests that sorts, sums by groups, extremes, parents and the values of fields equal what reading each covered
//! record gives, and that nothing a grant hides changes an answer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::Answer;
use super::decimal::Decimal;
use super::read::{Read, Resource};
use crate::vault::Vault;
use crate::vault::declaration::{Connector, Relation, Stream, StreamSpec};
use crate::vault::grant::Grant;
use crate::vault::pace::tests::MovedClock;
use crate::vault::store::{Connection, Ingest};

const SOURCE: &str = "https://example.test/things";
const ACCOUNTS: [&str; 2] = ["cin_0", "cin_1"];
const ITEMS: StreamSpec = StreamSpec {
    name: "items",
    key: "id",
    time: Some("at"),
    fields: "id string! eq
        at timestamp? role=event-time eq range sort time min max
        made date? eq range sort time min max
        title text? lex
        amount number? eq range sort sum min max
        size integer? eq range sort sum min max
        who person? role=actor eq group distinct sort
        category string? eq group distinct
        currency string? eq group
        chat_id string? eq
        secret string? eq group distinct
        secret_amount number? eq range sort sum min max",
    views: &[],
    relations: &[],
};
const CHATS: StreamSpec = StreamSpec {
    name: "chats",
    key: "id",
    time: Some("at"),
    fields: "id string! eq
        at timestamp? role=event-time eq range sort time min max
        title text? role=primary-title lex",
    views: &[],
    relations: &[("items", "items", "chat_id", true)],
};

fn streams() -> Vec<Arc<Stream>> {
    let [mut items, mut chats] = [ITEMS, CHATS].map(|spec| spec.parse().unwrap());
    items.relations.push(Relation {
        name: Relation::PARENT.to_owned(),
        stream: "chats".to_owned(),
        foreign_key: "id".to_owned(),
        many: false,
        local_key: Some("chat_id".to_owned()),
    });
    (items.is_extended, chats.is_extended) = (true, true);
    vec![Arc::new(items), Arc::new(chats)]
}

/// The content of a record. Amounts are in cents: three in four have two digits after the point, the others fewer.
#[derive(Debug, Clone)]
struct Item {
    day: Option<u32>,
    made: Option<u32>,
    cents: Option<i64>,
    size: Option<i64>,
    who: Option<&'static str>,
    category: Option<&'static str>,
    currency: Option<&'static str>,
    chat: Option<u8>,
}

fn date(day: u32) -> String {
    format!("2026-02-{day:02}")
}

impl Item {
    fn amount(&self) -> Option<String> {
        let cents = self.cents?;
        let (sign, whole, rest) = (if cents < 0 { "-" } else { "" }, cents.abs() / 100, cents.abs() % 100);
        Some(if rest == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest:02}") })
    }

    fn json(&self, key: &str) -> Map<String, Value> {
        let number =
            |text: Option<String>| text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap());
        let record = json!({
            "id": key,
            "at": self.day.map(|day| format!("{}T12:00:00Z", date(day))),
            "made": self.made.map(date),
            "title": "alpha",
            "amount": number(self.amount()),
            "size": self.size,
            "who": self.who,
            "category": self.category,
            "currency": self.currency,
            "chat_id": self.chat.map(|chat| format!("c{chat}")),
            "secret": self.category.map(|category| format!("secret {category}")),
            "secret_amount": number(self.amount()),
        });
        let Value::Object(mut record) = record else { unreachable!() };
        record.retain(|_, value| !value.is_null());
        record
    }
}

fn item() -> impl Strategy<Value = Item> {
    let one_of = |names: &'static [&'static str]| prop::option::weighted(0.8, prop::sample::select(names));
    (
        prop::option::weighted(0.9, 1_u32..28),
        prop::option::of(1_u32..4),
        prop::option::weighted(0.9, prop_oneof![-500_i64..500, -99_999_999_999..99_999_999_999_i64]),
        prop::option::of(-3_i64..3),
        one_of(&["Ana", "ana", "Bo", "Öyvind", "Zoe"]),
        one_of(&["rent", "food", "fun"]),
        one_of(&["EUR", "EUR", "EUR", "NOK"]),
        prop::option::of(0_u8..4),
    )
        .prop_map(|(day, made, cents, size, who, category, currency, chat)| Item {
            day,
            made,
            cents,
            size,
            who,
            category,
            currency,
            chat,
        })
}

/// What is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Period,
    Named,
}

#[derive(Debug, Clone)]
struct Case {
    /// The items, by account and key.
    items: BTreeMap<(usize, u8), Item>,
    part: Part,
    hides_fields: bool,
    filter: Option<&'static str>,
}

fn cases() -> impl Strategy<Value = Case> {
    (
        prop::collection::btree_map((0_usize..2, 0_u8..24), item(), 0..40),
        prop::sample::select(&[Part::All, Part::Period, Part::Named][..]),
        any::<bool>(),
        prop::option::of(prop::sample::select(&["food", "rent"][..])),
    )
        .prop_map(|(items, part, hides_fields, filter)| Case { items, part, hides_fields, filter })
}

impl Case {
    fn covers(&self, key: u8, item: &Item) -> bool {
        match self.part {
            Part::All => true,
            Part::Period => item.day.is_some_and(|day| (8..20).contains(&day)),
            Part::Named => key < 12,
        }
    }

    fn fields(&self) -> Vec<String> {
        let all = ITEMS.parse().unwrap().fields.into_iter().map(|field| field.name);
        all.filter(|name| !self.hides_fields || !name.starts_with("secret")).collect()
    }

    /// What is covered and passes the filter, with its account and key.
    fn shown(&self) -> Vec<(usize, String, &Item)> {
        let shown = self.items.iter().filter(|((_, key), item)| {
            self.covers(*key, item) && self.filter.is_none_or(|wanted| item.category == Some(wanted))
        });
        shown.map(|((account, key), item)| (*account, format!("k{key:02}"), item)).collect()
    }

    /// A vault with everything, or only with what is granted.
    fn vault(&self, is_whole: bool) -> (Vault, String) {
        self.vault_of(is_whole, false)
    }

    /// The same, for a vault that has only the Core if `core`.
    fn vault_of(&self, is_whole: bool, core: bool) -> (Vault, String) {
        let config = super::tests::config(core);
        let fields: BTreeSet<String> = self.fields().into_iter().collect();
        let case = self.clone();
        let filling = move |ingest: &mut Ingest<'_>| {
            ingest.connector(&Connector {
                key: "things".to_owned(),
                id: SOURCE.to_owned(),
                name: "Things".to_owned(),
                streams: streams(),
            })?;
            for (account, id) in ACCOUNTS.iter().enumerate() {
                ingest.connection(&Connection {
                    id: (*id).to_owned(),
                    connector: "things".to_owned(),
                    display_name: format!("Account {account}"),
                })?;
                // c3 does not exist at all; c2 and c1 are hidden if only a part is granted.
                for (chat, day) in [(0, 10), (1, 1), (2, 25)] {
                    let is_covered = match case.part {
                        Part::All => true,
                        Part::Period => (8..20).contains(&day),
                        Part::Named => chat == 0,
                    };
                    if is_whole || is_covered {
                        let key = format!("c{chat}");
                        let data = json!({ "id": key, "at": date(day), "title": format!("Chat {chat}") });
                        ingest.put("chats", &key, 0, Some(&data.to_string()))?;
                    }
                }
                for ((of, key), item) in &case.items {
                    if *of == account && (is_whole || case.covers(*key, item)) {
                        let name = format!("k{key:02}");
                        let mut record = item.json(&name);
                        record.retain(|name, _| is_whole || fields.contains(name));
                        ingest.put("items", &name, 0, Some(&Value::Object(record).to_string()))?;
                    }
                }
            }
            Ok(())
        };
        let vault = Vault::open(config, Some(&filling)).unwrap().with_clock(Arc::new(MovedClock::default()));
        let token = vault.issue(self.grant()).unwrap().token;
        (vault, token)
    }

    fn grant(&self) -> Grant {
        let time = (self.part == Part::Period).then(
            || json!({ "field": "at", "since": "2026-02-08T00:00:00Z", "until": "2026-02-20T00:00:00Z" }),
        );
        let named = |prefix: &str, most: usize| {
            (self.part == Part::Named).then(|| {
                (0..most)
                    .map(|key| format!("{prefix}{key:0width$}", width = if most > 1 { 2 } else { 1 }))
                    .collect::<Vec<_>>()
            })
        };
        let source = json!({ "kind": "connector", "id": SOURCE });
        let stream = |name: &str, fields: Vec<String>, named: Option<Vec<String>>| {
            json!({ "name": name, "instance_ids": ACCOUNTS, "fields": fields, "time_constraint": time, "resources": named,
                "source": source })
        };
        let chats = vec!["id".to_owned(), "at".to_owned(), "title".to_owned()];
        serde_json::from_value(json!({
            "version": "0.1.0", "grant_id": "grt_test", "issued_at": "2026-01-01T00:00:00Z", "expires_at": null,
            "subject": { "id": "owner_test" }, "client": { "client_id": "test" }, "source": source,
            "source_declaration": { "version": "test.v1" }, "purpose_code": "https://example.test/purpose",
            "access_mode": "continuous",
            "streams": [stream("items", self.fields(), named("k", 12)), stream("chats", chats, named("c", 1))],
        }))
        .unwrap()
    }

    fn filtered(&self, target: &str) -> String {
        match self.filter {
            Some(category) => format!("{target}&filter[category]={category}"),
            None => target.to_owned(),
        }
    }
}

fn ask(vault: &Vault, token: &str, target: &str) -> Result<Value, (u16, String, String)> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let segments: Vec<&str> = path.split('/').collect();
    match vault.read(Some(token), &Read::sent(Resource::at(&segments).unwrap(), path, query)) {
        Ok(Answer::Json(answer)) => Ok(answer),
        Ok(Answer::Blob { .. }) => Ok(Value::Null),
        Err(error) => Err((error.status.as_u16(), error.code.to_string(), error.message().to_owned())),
    }
}

/// All records of a walk, by account and key.
fn walk(vault: &Vault, token: &str, target: &str) -> Vec<(String, String)> {
    let (mut found, mut next) = (Vec::new(), Some(target.to_owned()));
    while let Some(at) = next {
        let answer = ask(vault, token, &at).unwrap();
        for row in answer["data"].as_array().unwrap() {
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            found.push((text("connection_id"), text("id")));
        }
        assert!(found.len() <= 200, "it ends");
        next = answer["next_cursor"].as_str().map(|cursor| format!("{target}&cursor={cursor}"));
    }
    found
}

/// The group of an item.
type GroupOf<'a> = &'a dyn Fn(&Item) -> String;

/// The place of an item's field in the order, as a reader of the records finds it.
fn place(item: &Item, field: &str) -> Option<(i64, String)> {
    let number = |number: Option<i64>| number.map(|number| (number, String::new()));
    match field {
        "at" => number(item.day.map(i64::from)),
        "made" => number(item.made.map(i64::from)),
        "amount" | "secret_amount" => number(item.cents),
        "size" => number(item.size),
        "who" => item.who.map(|who| (0, who.to_lowercase().replace('ö', "o"))),
        _ => None,
    }
}

fn decimal(value: &Value) -> Option<Decimal> {
    value.is_number().then(|| Decimal::parse(&value.to_string()).unwrap())
}

fn sum_of<'a>(items: impl Iterator<Item = &'a Item>) -> Option<Decimal> {
    let amounts = items.filter_map(|item| Decimal::parse(&item.amount()?));
    amounts.fold(None, |sum, amount| Some(sum.unwrap_or(Decimal::ZERO).plus(amount).unwrap()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Requirement O6.2: whatever the records and the grant, each record is returned once and in order, at every
    /// limit.
    #[test]
    fn o6_2_a_walk_in_the_order_of_a_field_gives_each_record_once(case in cases()) {
        let (vault, token) = case.vault(true);
        let mut fields = vec!["at", "made", "amount", "size", "who"];
        fields.extend((!case.hides_fields).then_some("secret_amount"));
        for field in fields {
            for is_descending in [false, true] {
                let mut wanted = case.shown();
                wanted.sort_by(|(left_account, left_key, left), (right_account, right_key, right)| {
                    let (one, other) = (place(left, field), place(right, field));
                    let natural = one.cmp(&other).then(left_key.cmp(right_key)).then(left_account.cmp(right_account));
                    let natural = if is_descending { natural.reverse() } else { natural };
                    one.is_none().cmp(&other.is_none()).then(natural)
                });
                let wanted: Vec<_> =
                    wanted.into_iter().map(|(account, key, _)| (ACCOUNTS[account].to_owned(), key)).collect();
                let sign = if is_descending { "-" } else { "" };
                for limit in [1, 2, 3, 7, 100] {
                    let target = case.filtered(&format!("streams/items/records?sort={sign}{field}&limit={limit}"));
                    prop_assert_eq!(&walk(&vault, &token, &target), &wanted, "{}", target);
                }
            }
        }
    }

    /// Requirement O6.3: sums and extremes of groups and periods are those of their records, largest first.
    #[test]
    fn o6_3_groups_have_the_values_of_their_records(case in cases(), limit in 1_usize..6) {
        let (vault, token) = case.vault(true);
        let shown = case.shown();
        let category = |item: &Item| item.category.map_or("null".to_owned(), |name| format!("\"{name}\""));
        let month = |item: &Item| item.day.map_or(String::new(), |day| format!("\"{}\"", date(day)));
        for (by, of) in [
            ("group_by=category", &category as GroupOf<'_>),
            ("group_by_time=at&granularity=day", &month),
        ] {
            let is_time = by.starts_with("group_by_time");
            let mut groups: BTreeMap<String, Vec<&Item>> = BTreeMap::new();
            for (_, _, item) in shown.iter().filter(|(_, _, item)| !is_time || item.day.is_some()) {
                groups.entry(of(item)).or_default().push(item);
            }
            let all: usize = groups.values().map(Vec::len).sum();
            for metric in ["sum", "min", "max"] {
                let target = format!("streams/items/aggregate?metric={metric}&field=amount&{by}&limit={limit}");
                let answer = ask(&vault, &token, &case.filtered(&target)).unwrap();
                let rows = answer["groups"].as_array().unwrap();
                prop_assert_eq!(rows.len(), groups.len().min(limit), "{}", target);
                let mut left = groups.clone();
                for row in rows {
                    let items = left.remove(&row["key"].to_string()).expect("a separate group");
                    prop_assert_eq!(&row["count"], items.len());
                    let value = if metric == "sum" {
                        sum_of(items.into_iter())
                    } else {
                        let cents = items.iter().filter(|item| item.cents.is_some());
                        let extreme = if metric == "min" {
                            cents.min_by_key(|item| item.cents)
                        } else {
                            cents.max_by_key(|item| item.cents)
                        };
                        extreme.and_then(|item| Decimal::parse(&item.amount()?))
                    };
                    let same = match (decimal(&row["value"]), value) {
                        (Some(one), Some(other)) => one.cmp(&other).is_eq(),
                        (one, other) => one.is_none() && other.is_none(),
                    };
                    prop_assert!(same, "{} of {:?}: {}", target, value, row);
                }
                let shown: u64 = rows.iter().map(|row| row["count"].as_u64().unwrap()).sum();
                prop_assert_eq!(answer["other_count"].as_u64().unwrap(), all as u64 - shown);
                prop_assert_eq!(&answer["approximate"], false);
                if metric == "sum" {
                    let rest = sum_of(left.values().flatten().copied());
                    prop_assert_eq!(
                        decimal(&answer["other_value"]).map(|value| value.cmp(&rest.unwrap()).is_eq()),
                        rest.map(|_| true)
                    );
                } else {
                    prop_assert_eq!(answer.get("other_value"), None);
                }
                let values: Vec<Option<Decimal>> = rows.iter().map(|row| decimal(&row["value"])).collect();
                if is_time {
                    prop_assert!(rows.is_sorted_by_key(|row| row["key"].to_string()), "{}", target);
                } else {
                    let size = |value: Decimal| if value < Decimal::ZERO { Decimal::parse(&value.to_string()[1..]).unwrap() } else { value };
                    let some: Vec<Decimal> = values.iter().flatten().copied().collect();
                    prop_assert!(values.is_sorted_by_key(Option::is_none), "those without a value come last");
                    prop_assert!(match metric {
                        "sum" => some.is_sorted_by_key(|value| Reverse(size(*value))),
                        "min" => some.is_sorted(),
                        _ => some.is_sorted_by_key(|value| Reverse(*value)),
                    }, "{}: {:?}", target, values);
                }
                let currencies = |items: &[&Item]| {
                    let summed = items.iter().filter(|item| item.cents.is_some());
                    summed.filter_map(|item| item.currency).collect::<BTreeSet<_>>().len()
                };
                let is_mixed = groups.values().any(|items| currencies(items) > 1) && metric == "sum";
                let warnings = answer["meta"]["warnings"].as_array().unwrap();
                prop_assert_eq!(warnings.iter().any(|warning| warning["code"] == "mixed_values"), is_mixed);
            }
        }
    }

    /// The least and the greatest value name their record, which is the first in a sort by that field.
    #[test]
    fn o6_3_an_extreme_names_its_record(case in cases()) {
        let (vault, token) = case.vault(true);
        for field in ["at", "made", "amount", "size"] {
            for (metric, sign) in [("min", ""), ("max", "-")] {
                let target = format!("streams/items/aggregate?metric={metric}&field={field}");
                let answer = ask(&vault, &token, &case.filtered(&target)).unwrap();
                let sorted = format!("streams/items/records?sort={sign}{field}&limit=1");
                let sorted = ask(&vault, &token, &case.filtered(&sorted)).unwrap();
                let first = &sorted["data"][0];
                let value = first["data"].get(field).cloned().unwrap_or_default();
                prop_assert_eq!(&answer["value"], &value);
                if value.is_null() {
                    prop_assert_eq!(answer.get("record"), None);
                } else {
                    prop_assert_eq!(&answer["record"]["id"], &first["id"]);
                    prop_assert_eq!(&answer["record"]["connection_id"], &first["connection_id"]);
                }
            }
        }
        let answer = ask(&vault, &token, &case.filtered("streams/items/aggregate?metric=sum&field=amount")).unwrap();
        let sum = sum_of(case.shown().into_iter().map(|(_, _, item)| item));
        prop_assert_eq!(decimal(&answer["value"]).map(|value| value.cmp(&sum.unwrap()).is_eq()), sum.map(|_| true));
    }

    /// Whether a grant hides rows or fields, every answer equals the answer of a vault without them.
    #[test]
    fn what_is_hidden_changes_no_answer(case in cases()) {
        let ((whole, token), (alone, other)) = (case.vault(true), case.vault(false));
        let mut targets: Vec<String> = [
            "schema?view=compact&stream=items",
            "schema?detail=full&stream=items&connection_id=cin_1",
            "streams/items/records?expand=parent&limit=100",
            "search?q=alpha&limit=100",
            "streams/items/aggregate?metric=sum&field=amount",
            "streams/items/aggregate?metric=sum&field=secret_amount",
            "streams/items/aggregate?metric=sum&field=amount&group_by=secret",
            "streams/items/records?sort=secret_amount",
            "streams/items/records?sort=nothing",
        ].map(str::to_owned).into();
        for field in ["at", "made", "amount", "size", "who"] {
            targets.push(format!("streams/items/records?sort=-{field}&limit=100"));
            targets.push(format!("streams/items/records?sort={field}&limit=3"));
            targets.push(format!("streams/items/aggregate?metric=max&field={field}"));
            targets.push(format!("streams/items/aggregate?metric=min&field={field}&group_by=who"));
            targets.push(format!("streams/items/aggregate?metric=sum&field=size&group_by_time={field}&granularity=day"));
        }
        for target in targets {
            let answers = [(&whole, &token), (&alone, &other)].map(|(vault, token)| {
                ask(vault, token, &target).map(|mut answer| {
                    let fields = answer.as_object_mut().unwrap();
                    // Its bytes are random.
                    fields.remove("next_cursor");
                    fields.remove("links");
                    answer
                })
            });
            prop_assert_eq!(&answers[0], &answers[1], "{}", target);
        }
    }
}

fn case(items: &[(u8, Item)], part: Part) -> Case {
    let items = items.iter().map(|(key, item)| ((0, *key), item.clone())).collect();
    Case { items, part, hides_fields: true, filter: None }
}

fn plain(category: Option<&'static str>, chat: u8) -> Item {
    Item {
        day: Some(10),
        made: None,
        cents: Some(150),
        size: None,
        who: Some("Ana"),
        category,
        currency: None,
        chat: Some(chat),
    }
}

/// Requirements O6.5 and O6.6.
#[test]
fn o6_5_a_parent_that_is_hidden_is_like_one_that_is_not_there() {
    let items = [(0, plain(None, 0)), (1, plain(None, 1)), (3, plain(None, 3))];
    let (vault, token) = case(&items, Part::Period).vault(true);
    let read = |key: &str| {
        ask(&vault, &token, &format!("streams/items/records/{key}?expand=parent&connection_id=cin_0"))
            .unwrap()
    };
    let parent = &read("k00")["expanded"]["parent"];
    assert_eq!(
        (&parent["id"], &parent["stream"], &parent["data"]["title"]),
        (&json!("c0"), &json!("chats"), &json!("Chat 0"))
    );
    for key in ["k01", "k03"] {
        assert_eq!(read(key)["expanded"], json!({ "parent": null }), "{key}");
    }
    let limit =
        ask(&vault, &token, "streams/items/records?expand=parent&expand_limit[parent]=2").unwrap_err();
    assert_eq!(limit.1, "invalid_expand");
}

/// Requirement O6.6.
#[test]
fn o6_6_a_hit_is_called_by_its_own_title_or_by_that_of_its_parent() {
    let items = [(0, plain(None, 0)), (1, plain(None, 1)), (3, plain(None, 3))];
    let (vault, token) = case(&items, Part::Period).vault(true);
    let found = ask(&vault, &token, "search?q=alpha&streams=items").unwrap();
    let titles: BTreeMap<&str, &Value> = found["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| (hit["record_key"].as_str().unwrap(), &hit["title"]))
        .collect();
    assert_eq!(titles["k00"], "Chat 0 · Ana");
    assert_eq!((titles["k01"], titles["k03"]), (&Value::Null, &Value::Null));
    let found = ask(&vault, &token, "search?q=chat&streams=chats").unwrap();
    assert_eq!(
        (&found["data"][0]["title"], &found["data"][0]["sent_at"]),
        (&json!("Chat 0"), &json!("2026-02-10"))
    );
}

/// Requirement O6.4.
#[test]
fn o6_4_a_sum_over_several_currencies_says_so() {
    let in_currency = |key, category, currency| (key, Item { currency, ..plain(Some(category), 0) });
    let items = [
        in_currency(0, "rent", Some("EUR")),
        in_currency(1, "food", Some("NOK")),
        in_currency(2, "food", None),
        in_currency(3, "fun", Some("NOK")),
        (4, Item { cents: None, ..in_currency(4, "fun", Some("EUR")).1 }),
    ];
    let (vault, token) = case(&items, Part::All).vault(true);
    let warned = |target: &str| {
        let answer = ask(&vault, &token, &format!("streams/items/aggregate?field=amount&{target}")).unwrap();
        let warnings = answer["meta"]["warnings"].as_array().unwrap();
        warnings
            .iter()
            .map(|warning| format!("{}: {}", warning["code"], warning["message"]))
            .collect::<Vec<_>>()
    };
    let mixed =
        "\"mixed_values\": \"a sum adds up several currencies (EUR, NOK): group by or filter currency\"";
    assert_eq!(warned("metric=sum"), [mixed]);
    assert_eq!(warned("metric=sum&group_by_time=at&granularity=year"), [mixed]);
    // Each group has one currency, and a record without an amount adds nothing.
    for one in [
        "metric=sum&group_by=category",
        "metric=sum&group_by=currency",
        "metric=sum&filter[currency]=NOK",
        "metric=max",
    ] {
        assert!(warned(one).is_empty(), "{one}");
    }
}

/// Requirement O6.1.
#[test]
fn o6_1_what_a_stream_can_do_is_advertised() {
    let (vault, token) =
        case(&[(0, plain(Some("food"), 0)), (1, plain(Some("rent"), 0))], Part::Period).vault(true);
    let compact = ask(&vault, &token, "schema?view=compact&stream=items").unwrap();
    let row = &compact["connectors"][0]["streams"][0];
    assert_eq!(row["sort_fields"], json!(["at", "made", "amount", "size", "who"]));
    assert_eq!(row["grouped_metrics"], json!(["sum", "min", "max"]));
    assert_eq!(row["field_values"], json!({ "category": { "values": ["food", "rent"], "complete": true } }));
    let flags =
        |name: &str| row["field_capabilities"][name].as_str().unwrap().split(',').any(|flag| flag == "s");
    assert!(flags("amount") && flags("at") && !flags("category"));
    assert_eq!(row["expand_capabilities"][0]["local_key"], "chat_id");
    assert_eq!(row["expand_capabilities"][0]["foreign_key"], "id");
    let full = ask(&vault, &token, "schema?detail=full&stream=items&connection_id=cin_0").unwrap();
    let query = &full["connectors"][0]["streams"][0]["query"];
    assert_eq!(
        (&query["sort_fields"], &query["grouped_metrics"]),
        (&row["sort_fields"], &row["grouped_metrics"])
    );
    assert_eq!(query["search"]["order"], "titles_then_newest");
    let all = ask(&vault, &token, "schema?view=compact").unwrap().to_string();
    assert!(!all.contains("field_values"), "the values of all streams are not read at once");
    let refused = ask(&vault, &token, "streams/items/records?sort=category").unwrap_err();
    assert_eq!((refused.0, refused.1.as_str()), (400, "invalid_sort"));
    assert!(refused.2.ends_with("use one of: at, made, amount, size, who"), "{}", refused.2);
    let refused =
        ask(&vault, &token, "streams/items/aggregate?metric=count_distinct&field=who&group_by=category")
            .unwrap_err();
    assert_eq!(refused.0, 400);
}

/// Requirement O6.2.
#[test]
fn o6_2_a_cursor_is_of_one_field_and_one_direction() {
    let items: Vec<_> = (0..6).map(|key| (key, plain(None, 0))).collect();
    let (vault, token) = case(&items, Part::All).vault(true);
    let page = |target: &str| ask(&vault, &token, target);
    let first = page("streams/items/records?sort=-amount&limit=2").unwrap();
    let cursor = first["next_cursor"].as_str().unwrap();
    assert!(page(&format!("streams/items/records?sort=-amount&limit=3&cursor={cursor}")).is_ok());
    for other in ["sort=amount", "sort=-size", "sort=-at", "order=desc", "sort=-amount&filter[category]=food"]
    {
        let refused = page(&format!("streams/items/records?{other}&limit=2&cursor={cursor}")).unwrap_err();
        assert_eq!(refused.1, "invalid_cursor", "{other}");
    }
    let own = page("streams/items/records?limit=2").unwrap();
    let cursor = own["next_cursor"].as_str().unwrap();
    let refused = page(&format!("streams/items/records?sort=-amount&limit=2&cursor={cursor}")).unwrap_err();
    assert_eq!(refused.1, "invalid_cursor");
    assert_eq!(page("streams/items/records?sort=-amount&order=asc").unwrap_err().1, "invalid_sort");
}

#[test]
fn values_are_told_of_fields_that_have_few_and_cut_nowhere() {
    const LONG: &str = "a value of more than sixty bytes, by which nobody would ever filter";
    const MANY: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let told = |names: &[&'static str], part: Part| {
        let items: Vec<_> = (0..).zip(names).map(|(key, name)| (key, plain(Some(name), 0))).collect();
        let (vault, token) = case(&items, part).vault(true);
        let schema = ask(&vault, &token, "schema?view=compact&stream=items").unwrap();
        schema["connectors"][0]["streams"][0]["field_values"]["category"].clone()
    };
    for part in [Part::All, Part::Period, Part::Named] {
        assert_eq!(told(&["b", "a", "b"], part), json!({ "values": ["b", "a"], "complete": true }));
        assert_eq!(told(&MANY, part), json!({ "values": MANY[..8], "complete": false }));
        assert_eq!(told(&["a", "a", LONG], part), json!({ "values": ["a"], "complete": false }));
        assert_eq!(told(&[LONG], part), Value::Null);
    }
    assert_eq!(told(&[], Part::All), Value::Null);
}

#[test]
fn the_core_alone_knows_one_order_and_nothing_beyond() {
    let (vault, token) =
        case(&[(0, plain(Some("food"), 0)), (1, plain(None, 1))], Part::All).vault_of(true, true);
    assert_eq!(walk(&vault, &token, "streams/items/records?sort=-at").len(), 2);
    let refused = ask(&vault, &token, "streams/items/records?sort=-amount").unwrap_err();
    assert_eq!((refused.0, refused.1.as_str()), (400, "invalid_sort"));
    assert!(refused.2.ends_with("use the schema's cursor_field"), "{}", refused.2);
    assert_eq!(ask(&vault, &token, "streams/items/records?expand=parent").unwrap_err().0, 400);
    assert_eq!(ask(&vault, &token, "streams/items/aggregate?metric=count").unwrap_err().0, 404);
    let detail = ask(&vault, &token, "streams/items?connection_id=cin_0").unwrap();
    assert_eq!((&detail["query"], &detail["relationships"]), (&json!({}), &json!([])));
    assert!(["sort_fields", "grouped_metrics", "field_values"].iter().all(|name| detail.get(name).is_none()));
}
