//! Two bank accounts: amounts with their cents, references beyond 2^53, ids with slashes.

use super::prose::{BEGIN, moment};
use super::records::{Object, Records, date, instant, list};
use super::rng::Rng;
use crate::vault::declaration::StreamSpec;

/// What the bank declares.
pub const STREAMS: &[StreamSpec] = &[
    StreamSpec {
        name: "accounts",
        key: "id",
        time: None,
        fields: "id string! eq
            name string! role=primary-title eq lex
            currency string eq group
            balance number eq range sum min max
            opened_on date eq range",
        views: &[],
        relations: &[("transactions", "transactions", "account_id", true)],
    },
    StreamSpec {
        name: "transactions",
        key: "id",
        time: Some("booked_at"),
        fields: "id string! eq
            account_id string! eq group
            amount number! role=amount eq range sum min max
            currency string eq group
            merchant string? role=primary-title eq lex group distinct
            category string? eq group distinct
            memo text? role=secondary lex
            booked_at timestamp! role=event-time eq range time min max
            reference integer eq range min max
            is_pending boolean eq group",
        views: &[("ledger", "Date, merchant and amount", "id account_id amount currency merchant booked_at")],
        relations: &[],
    },
    StreamSpec {
        name: "statements",
        key: "account_id month",
        time: Some("issued_at"),
        fields: "account_id string! eq group
            month string! role=primary-title eq
            issued_at timestamp! role=event-time eq range time
            opening_balance number eq range
            closing_balance number eq range
            transaction_count integer eq range sum",
        views: &[],
        relations: &[],
    },
    StreamSpec {
        name: "merchants",
        key: "id",
        time: None,
        fields: "id string! eq
            name string! role=primary-title eq lex
            category string? eq group",
        views: &[],
        relations: &[],
    },
];

const MERCHANTS: [(&str, &str); 12] = [
    ("Rema Torg", "groceries"),
    ("Fjordkraft", "utilities"),
    ("Møllenberg Bakeri", "food"),
    ("Vy Train", "transport"),
    ("Café Løkka", "food"),
    ("Stadsbygd Byggevare", "home"),
    ("Nidelven Tannlege", "health"),
    ("Northern Lights Insurance", "insurance"),
    ("東京ラーメン", "food"),
    ("Löparbutiken", "sport"),
    ("Choir & Co", "leisure"),
    ("Kestrel Maps payroll", "income"),
];
const TRANSACTIONS: usize = 2200;

/// The records of the bank.
pub fn fill(rng: &mut Rng, records: &mut Records<'_>) {
    for (id, name, balance) in
        [("acc-1", "Everyday", "18220.40"), ("acc-2", "Savings for the flat", "412000.00")]
    {
        records.put(
            "accounts",
            id,
            Object::new()
                .text("id", id)
                .text("name", name)
                .text("currency", "NOK")
                .raw("balance", balance)
                .text("opened_on", "2011-05-02"),
        );
    }
    for (index, (name, category)) in MERCHANTS.iter().enumerate() {
        let id = format!("merchant/{index:02}");
        records.put(
            "merchants",
            id.clone(),
            Object::new().text("id", &id).text("name", name).text("category", category),
        );
    }
    for index in 0..TRANSACTIONS {
        let at = moment(rng, index, TRANSACTIONS);
        let day = date(at).replace('-', "/");
        let id = format!("{day}/{index:05}");
        let (merchant, category) = if index % 60 == 0 {
            MERCHANTS[11]
        } else {
            MERCHANTS[usize::try_from(rng.below(11)).unwrap_or(0)]
        };
        let amount = if category == "income" {
            "41250.00".to_owned()
        } else {
            // One amount in ten ends in a zero that a careless client drops.
            format!("-{}.{}0", rng.below(1_400), rng.below(10))
        };
        records.put(
            "transactions",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("account_id", if index % 9 == 0 { "acc-2" } else { "acc-1" })
                .raw("amount", if index == 1 { "1.10" } else { amount.as_str() })
                .text("currency", "NOK")
                .maybe("merchant", (index % 31 != 0).then_some(merchant))
                .maybe("category", (index % 31 != 0).then_some(category))
                .maybe("memo", (index % 7 == 0).then_some("Split with Ingrid, 50% each"))
                .at("booked_at", at)
                .raw("reference", 9_007_199_254_740_993_u64 + rng.below(1 << 40))
                .raw("is_pending", index + 5 > TRANSACTIONS),
        );
    }
    for account in ["acc-1", "acc-2"] {
        for month in 0..34_i64 {
            let issued = BEGIN + month * 2_629_800;
            let name: String = instant(issued).chars().take(7).collect();
            records.put(
                "statements",
                list(&[account, &name]),
                Object::new()
                    .text("account_id", account)
                    .text("month", &name)
                    .at("issued_at", issued)
                    .raw("opening_balance", format!("{}.50", rng.below(90_000)))
                    .raw("closing_balance", format!("{}.10", rng.below(90_000)))
                    .raw("transaction_count", rng.below(90)),
            );
        }
    }
    records.skip_to_the_end();
    records.delete("merchants", "merchant/08");
}
