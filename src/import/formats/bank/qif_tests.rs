use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::import::format::Refused;
use crate::import::harness::{
    self, Counts, Kept, assert_cut_and_finished_is_whole, assert_twice_is_once_in_any_order, imported, sniff,
};

fn kept(text: &str) -> (Kept, Counts) {
    imported(&Qif, &[("Household.qif", text.as_bytes())])
}

fn of_stream(kept: &Kept, stream: &str) -> Vec<Value> {
    kept.sorted(stream, |record| (record["date"].to_string(), record["amount"].to_string()))
}

fn booked_of(text: &str) -> Vec<Value> {
    of_stream(&kept(text).0, "transactions")
}

const WHOLE: &str = "!Account\nNChecking 12345678\nTBank\nDmine\n^\n!Type:Bank\nD12/31'26\nU-1,234.56\nT-1,234.56\nN101\nPLandlord\n\
    AStreet\nMRent\nLHousing\nC*\n^\nD 1/ 5'26\nT50.00\nPAna\nL[Savings]\nNTXFR\n^\n!Account\nNCard\nTCCard\n^\n!Type:CCard\nD1/6'26\nT-30.00\n\
    PMarket\nL--Split--\nSFood\nEfor Ana\n$-10.00\nSHome\n$-20.00\n^\n";

#[test]
fn o5_1_accounts_and_what_was_booked_are_records() {
    assert_eq!(sniff(&Qif, "a", WHOLE.as_bytes()), Some(Sure::Certain));
    assert_eq!(sniff(&Qif, "a", b"\xef\xbb\xbf\r\n!Type:Bank \r\n"), Some(Sure::Certain));
    assert_eq!(sniff(&Qif, "a.qif", b"Dear all,\n"), None);
    let (kept, counts) = kept(WHOLE);
    assert_eq!((counts.read, counts.new), (5, 5));
    let mut accounts = of_stream(&kept, "accounts");
    accounts.sort_by_key(|account| account["name"].to_string());
    assert_eq!(
        accounts
            .iter()
            .map(|one| (one["name"].clone(), one["type"].clone(), one["currency"].clone()))
            .collect::<Vec<_>>(),
        [
            (json!("Card"), json!("credit_card"), json!(null)),
            (json!("Checking …5678"), json!("checking"), json!(null))
        ]
    );
    let all = of_stream(&kept, "transactions");
    let of = |at: usize, field: &str| all[at][field].clone();
    assert_eq!(
        (of(2, "date"), of(2, "name"), of(2, "memo")),
        (json!("2026-12-31"), json!("Landlord"), json!("Rent"))
    );
    assert_eq!(
        (all[2]["amount"].to_string(), of(2, "category"), of(2, "type")),
        ("-1234.56".to_owned(), json!("Housing"), json!("check"))
    );
    assert_eq!(
        (of(0, "date"), of(0, "category"), of(0, "type")),
        (json!("2026-01-05"), json!("[Savings]"), json!("transfer"))
    );
    assert_eq!(
        (of(1, "memo"), of(1, "category")),
        (json!("Food: -10.00 (for Ana)\nHome: -20.00"), json!(null))
    );
    assert_eq!(of(1, "account_id"), accounts[0]["id"]);
}

#[test]
fn o4_12_the_order_of_dates_is_shown_or_asked_for() {
    let file = |dates: &[&str]| {
        dates
            .iter()
            .fold("!Type:Bank\n".to_owned(), |all, date| format!("{all}D{date}\nT-1.00\nPx{date}\n^\n"))
    };
    let first = |dates: &[&str]| booked_of(&file(dates))[0]["date"].as_str().unwrap().to_owned();
    for (dates, expected) in [
        (&["31/12'26"][..], "2026-12-31"),
        (&["1/ 5/26", "31/ 5/26"], "2026-05-01"),
        (&["1/ 5/26", "5/31/26"], "2026-01-05"),
        (&["2.1.26", "1.2.26", "3.2.26", "5.2.26", "6.2.26", "1.3.26"], "2026-01-02"),
        (&["2026-03-04"], "2026-03-04"),
        (&["3/3'6"], "2006-03-03"),
        (&["12/31/99"], "1999-12-31"),
        (&["1/31'2026"], "2026-01-31"),
    ] {
        assert_eq!(first(dates), expected, "{dates:?}");
    }
    let unclear = file(&["1/2/26", "3/4/26"]);
    let Err(Refused::Undecided { option, .. }) =
        harness::plan(&Qif, &[("a", unclear.as_bytes())], harness::ask())
    else {
        panic!("it has to be asked")
    };
    assert_eq!(option, "--date-order");
    let mut ask = harness::ask();
    ask.date_order = Some(DateOrder::DayMonthYear);
    let mut kept = Kept::default();
    kept.import_some(&Qif, &[("a", unclear.as_bytes())], ask, usize::MAX);
    assert_eq!(of_stream(&kept, "transactions")[0]["date"], "2026-02-01");
}

#[test]
fn o5_decimal_commas_are_told_from_thousands() {
    let amounts = |all: &[&str]| -> Vec<String> {
        let text =
            all.iter().fold("!Type:Cash\n".to_owned(), |text, one| format!("{text}D1/31'26\nT{one}\n^\n"));
        booked_of(&text).iter().map(|one| one["amount"].to_string()).collect()
    };
    assert_eq!(amounts(&["1.234,50", "2.000"]), ["1234.50", "2000"]);
    assert_eq!(amounts(&["1,234.50", "2,000"]), ["1234.50", "2000"]);
}

#[test]
fn o4_4_investments_lists_and_first_balances_are_skipped_and_counted() {
    let text = "!Option:AutoSwitch\n!Account\nNChecking\nTBank\n^\n!Clear:AutoSwitch\n!Type:Bank\nD1/31'26\nT500.00\nPOpening Balance\nL[Checking]\n^\n\
        !Type:Cat\nNFood\nE\n^\n!Type:Invst\nD1/31'26\nNBuy\nYKestrel\n^\n!Type:Memorized\nKD\nT5\n^\n!Type:Oth A\nD2/1'26\nT5\n^\nD2/1'26\nPno amount\n^\n";
    let (kept, counts) = kept(text);
    assert_eq!((counts.read, of_stream(&kept, "transactions").len()), (7, 1));
    assert_eq!(
        counts.skipped.iter().map(|(why, count)| (*why, *count)).collect::<Vec<_>>(),
        [
            ("a category, a security or another list", 2),
            ("a securities trade", 1),
            ("the opening balance of an account", 1)
        ]
    );
    assert_eq!(counts.bad.keys().collect::<Vec<_>>(), [&"no amount"]);
    // A record without a section belongs to no account.
    let (_, counts) = imported(&Qif, &[("a", b"!Option:MDY\nD1/31'26\nT5\n^\n")]);
    assert_eq!(counts.bad.keys().collect::<Vec<_>>(), [&"a record without an account"]);
}

#[test]
fn o5_overlapping_files_of_one_account_join() {
    let rows = |days: std::ops::Range<u32>| {
        days.fold("!Type:Bank\n".to_owned(), |all, day| {
            format!("{all}{}", format!("D1/{day}'26\nT-3.00\nPCoffee\n^\n").repeat(2))
        })
    };
    let (first, second) = (rows(1..16), rows(10..21));
    let files: [(&str, &[u8]); 2] =
        [("Bank-2026-01.qif", first.as_bytes()), ("Bank-2026-02 (1).qif", second.as_bytes())];
    let kept = imported(&Qif, &files).0;
    assert_eq!((of_stream(&kept, "transactions").len(), of_stream(&kept, "accounts").len()), (40, 1));
    assert_twice_is_once_in_any_order(&Qif, &files);
}

#[test]
fn a_last_record_without_its_end_and_other_charsets_are_read() {
    let latin = [b"!Type:Bank\r\nD1/31'26\r\nT-1\r\nPCaf\xe9".as_slice()].concat();
    let found = of_stream(&imported(&Qif, &[("a.qif", &latin)]).0, "transactions").remove(0);
    assert_eq!(found["name"], "Café");
}

#[test]
fn another_order_than_before_is_told_with_what_to_do() {
    let bytes: &[u8] = b"!Type:Bank\nD05/01/2026\nT-1.00\nPA\n^\n";
    let told = |before| {
        let ask = Ask {
            date_order: Some(DateOrder::DayMonthYear),
            is_order_typed: true,
            order_before: before,
            ..harness::ask()
        };
        let plan = harness::plan(&Qif, &[("a.qif", bytes)], ask).unwrap().remove(0);
        plan.notes
            .iter()
            .any(|note| note.contains("month, day, year") && note.contains("pdpp provider forget"))
    };
    assert!(told(Some(DateOrder::MonthDayYear)));
    assert!(!told(None));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_bad(bytes in proptest::collection::vec(any::<u8>(), 0..300), lines in "([DTPLSE$N!^][ -~]{0,12}\n){0,12}") {
        let mut ask = harness::ask();
        ask.date_order = Some(DateOrder::MonthDayYear);
        for text in [[b"!Type:Bank\n", bytes.as_slice()].concat(), [b"!Account\n", lines.as_bytes()].concat(), bytes.clone()] {
            let mut kept = Kept::default();
            kept.import_some(&Qif, &[("a", &text)], ask.clone(), usize::MAX);
        }
    }

    #[test]
    fn cut_anywhere_and_finished_is_whole(cut in 0..400_usize, limit in 1..4_usize) {
        // The first import settles the order of dates.
        let text = WHOLE.replace("12/31'26", "1/31'26");
        let text = text.replace("!Type:Bank\n", "!Type:Bank\nD1/30'26\nT1.00\n^\n");
        if cut > text.find("D1/30'26").unwrap() + 20 {
            assert_cut_and_finished_is_whole(&Qif, text.as_bytes(), cut, limit);
        }
    }
}
