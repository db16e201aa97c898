use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::import::harness::{
    Counts, Kept, assert_cut_and_finished_is_whole, assert_twice_is_once_in_any_order, imported, sniff,
};

const HEADER: &str = "OFXHEADER:100\r\nDATA:OFXSGML\r\nVERSION:102\r\nSECURITY:NONE\r\nENCODING:USASCII\r\nCHARSET:1252\r\n\r\n";

fn statement(transactions: &str) -> String {
    format!(
        "{HEADER}<OFX><SIGNONMSGSRSV1><SONRS><LANGUAGE>ENG<FI><ORG>Kestrel Bank<FID>1</FI></SONRS></SIGNONMSGSRSV1>\
         <BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>USD<BANKACCTFROM><BANKID>1234<ACCTID>00998877665544<ACCTTYPE>CHECKING\
         </BANKACCTFROM><BANKTRANLIST><DTSTART>20260101<DTEND>20260331{transactions}</BANKTRANLIST><LEDGERBAL><BALAMT>5\
         <DTASOF>20260331</LEDGERBAL></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>\r\n"
    )
}

fn transaction(date: &str, amount: &str, id: &str, name: &str) -> String {
    format!("<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>{date}<TRNAMT>{amount}<FITID>{id}<NAME>{name}</STMTTRN>\r\n")
}

fn kept(text: &str) -> (Kept, Counts) {
    imported(&Ofx, &[("a.ofx", text.as_bytes())])
}

fn of_stream(kept: &Kept, stream: &str) -> Vec<Value> {
    kept.sorted(stream, |record| (record["date"].to_string(), record["amount"].to_string()))
}

fn booked(text: &str) -> Vec<Value> {
    of_stream(&kept(text).0, "transactions")
}

fn one(inner: &str) -> Value {
    let mut all = booked(&statement(&format!("<STMTTRN>{inner}</STMTTRN>")));
    assert_eq!(all.len(), 1, "{inner}");
    all.remove(0)
}

#[test]
fn o5_1_a_statement_without_end_tags_is_read() {
    let text = statement(&format!(
        "{}<STMTTRN><TRNTYPE>CHECK\r\n<DTPOSTED>20260215120000.000[-5:EST]\r\n<TRNAMT>-1250.00\r\n<FITID>B-2\r\n<CHECKNUM>101\r\n\
         <MEMO>Rent &amp; heat\r\n for  March\r\n</STMTTRN>",
        transaction("20260103", "-12.50", "20260103-A1", "Coffee"),
    ));
    assert_eq!(sniff(&Ofx, "a", text.as_bytes()), Some(Sure::Certain));
    assert_eq!(sniff(&Ofx, "a.ofx", b"<?xml version=\"1.0\"?><HealthData>"), None);
    let (kept, counts) = kept(&text);
    assert_eq!((counts.read, counts.new), (2, 2));
    let account = of_stream(&kept, "accounts").remove(0);
    let id = account["id"].as_str().unwrap().to_owned();
    assert_eq!(
        account,
        json!({"id": id, "name": "Kestrel Bank …5544", "type": "checking", "currency": "USD"})
    );
    let all = of_stream(&kept, "transactions");
    let key = all[0]["id"].as_str().unwrap();
    assert!(key.starts_with(&format!("{id}:20260103-A1:")), "{key}");
    let text = kept.records.iter().find(|((_, _, of), _)| of == key).unwrap().1;
    assert!(text.contains("\"amount\":-12.50,"), "digit for digit: {text}");
    assert_eq!(
        all[1],
        json!({"id": all[1]["id"], "account_id": id, "date": "2026-02-15", "amount": all[1]["amount"], "currency": "USD",
            "name": "Check 101", "memo": "Rent & heat for March", "type": "check", "category": null, "fitid": "B-2"})
    );
    assert!(kept.records.values().all(|data| !data.contains("998877")), "no account shows its number");
}

#[test]
fn o5_xml_and_wrong_end_tags_are_read() {
    let xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><?OFX OFXHEADER=\"200\"?><OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS>\
        <CURDEF>EUR</CURDEF><BANKACCTFROM><BANKID>1</BANKID><ACCTID>12345678</ACCTID><ACCTTYPE>SAVINGS</ACCTTYPE></BANKACCTFROM>\
        <BANKTRANLIST><STMTTRN><TRNTYPE>CREDIT</TRNTYPE><DTPOSTED>20260301</DTPOSTED><TRNAMT>1.234,56</TRNAMT><FITID>F-1</FITID>\
        <NAME><![CDATA[A & B <c>]]></NAME><PAYEE><NAME>Other</NAME></PAYEE></STMTTRN></BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>";
    let found = booked(xml).remove(0);
    assert_eq!((&found["name"], &found["currency"]), (&json!("A & B <c>"), &json!("EUR")));
    assert_eq!(found["amount"].to_string(), "1234.56");
    // The transaction, or one of its lines, has the wrong end tag or none.
    let lost = statement(&transaction("20260101", "-1", "AAAAA1", "One").replace("</STMTTRN>", ""))
        .replace("</BANKTRANLIST>", "<STMTTRN><DTPOSTED>20260102</DTUSER><TRNAMT>-2</AMOUNT><FITID>AAAAA2<NAME>Two <3 &unknown; x</BANKTRANLIST>");
    let names: Vec<Value> = booked(&lost).iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["One", "Two <3 &unknown; x"]);
}

#[test]
fn o5_what_a_file_says_of_its_charset_counts_last() {
    let name = |bytes: &[u8]| {
        let text = statement(&transaction("20260101", "-1", "AAAAA1", "@"));
        let at = text.find('@').unwrap();
        let whole = [&text.as_bytes()[..at], bytes, &text.as_bytes()[at + 1..]].concat();
        of_stream(&imported(&Ofx, &[("a", &whole)]).0, "transactions")[0]["name"].clone()
    };
    assert_eq!(name("Café".as_bytes()), "Café", "UTF-8, though it says 1252");
    assert_eq!(name(b"Caf\xe9"), "Café");
    let russian =
        statement(&transaction("20260101", "-1", "AAAAA1", "@")).replace("CHARSET:1252", "CHARSET:1251");
    let at = russian.find('@').unwrap();
    let whole = [&russian.as_bytes()[..at], b"\xd7\xe0\xe9", &russian.as_bytes()[at + 1..]].concat();
    assert_eq!(of_stream(&imported(&Ofx, &[("a", &whole)]).0, "transactions")[0]["name"], "Чай");
}

#[test]
fn o5_days_and_amounts_are_as_the_bank_writes_them() {
    for (written, day) in [
        ("20260301", "2026-03-01"),
        ("20260301000000[-3:GMT]", "2026-03-01"),
        ("20260228233000.000[-5:EST]", "2026-02-28"),
        ("2026-03-01", "2026-03-01"),
    ] {
        assert_eq!(one(&format!("<DTPOSTED>{written}<TRNAMT>1<FITID>AAAAA1"))["date"], day, "{written}");
    }
    for (written, amount) in
        [("+5.00", "5.00"), ("-5,5", "-5.5"), ("1,234", "1234"), ("1.234", "1.234"), ("-0", "0")]
    {
        let found = one(&format!("<DTPOSTED>20260301<TRNAMT>{written}<FITID>AAAAA1"));
        assert_eq!(found["amount"].to_string(), amount, "{written}");
    }
    let (_, counts) =
        kept(&statement("<STMTTRN><TRNAMT>1</STMTTRN><STMTTRN><DTPOSTED>20260301<TRNAMT>x</STMTTRN>"));
    assert_eq!(counts.bad.keys().collect::<Vec<_>>(), [&"no amount", &"no date"]);
    let foreign = one("<DTPOSTED>20260301<TRNAMT>5<CURRENCY><CURRATE>1.1<CURSYM>CHF</CURRENCY>");
    assert_eq!(foreign["currency"], "CHF");
    let converted = one("<DTPOSTED>20260301<TRNAMT>5<ORIGCURRENCY><CURRATE>1.1<CURSYM>CHF</ORIGCURRENCY>");
    assert_eq!(converted["currency"], "USD");
}

#[test]
fn o5_ids_that_are_empty_or_used_again_lose_nothing() {
    let two = |first: &str, second: &str| {
        booked(&statement(&format!(
            "{}{}",
            transaction("20260101", "-3.00", first, "Coffee"),
            transaction("20260101", "-3.00", second, "Coffee")
        )))
        .len()
    };
    assert_eq!(two("", ""), 2, "two equal ones are two");
    assert_eq!(two("0", "0"), 2);
    assert_eq!(two("000000000", "000000000"), 2);
    assert_eq!(two("1", "2"), 2);
    assert_eq!(two("AB-778899", "AB-778899"), 1, "the bank says that it is the same one");
    // The same id with another day, amount or text.
    let again = statement(&format!(
        "{}{}{}",
        transaction("20260101", "-3.00", "AB-778899", "Coffee"),
        transaction("20260102", "-3.00", "AB-778899", "Coffee"),
        transaction("20260102", "-3.00", "AB-778899", "Tea"),
    ));
    assert_eq!(booked(&again).len(), 3);
    // A counter that restarts in each file.
    let (january, february) = (
        statement(&transaction("20260101", "-3.00", "1", "Coffee")),
        statement(&transaction("20260201", "-4.00", "1", "Tea")),
    );
    let files: [(&str, &[u8]); 2] = [("a.ofx", january.as_bytes()), ("b.ofx", february.as_bytes())];
    assert_eq!(of_stream(&imported(&Ofx, &files).0, "transactions").len(), 2);
}

#[test]
fn o5_overlapping_statements_are_one_account() {
    let rows = |days: std::ops::Range<u32>, id: &dyn Fn(u32) -> String| {
        let all = days.map(|day| {
            let one = transaction(&format!("202601{day:02}"), "-3.00", &id(day), "Coffee");
            one.repeat(if id(day).is_empty() { 2 } else { 1 })
        });
        statement(&all.collect::<String>())
    };
    for (id, count) in
        [(&(|day| format!("ID-{day:05}")) as &dyn Fn(u32) -> String, 20), (&|_| String::new(), 40)]
    {
        let (first, second) = (rows(1..16, id), rows(10..21, id));
        let files: [(&str, &[u8]); 2] = [("a.ofx", first.as_bytes()), ("b.ofx", second.as_bytes())];
        assert_eq!(of_stream(&imported(&Ofx, &files).0, "transactions").len(), count);
        assert_eq!(of_stream(&imported(&Ofx, &files).0, "accounts").len(), 1);
        assert_twice_is_once_in_any_order(&Ofx, &files);
    }
}

#[test]
fn o4_4_cards_several_accounts_investments_and_what_is_pending() {
    let text = statement(&format!(
        "{}</BANKTRANLIST><BANKTRANLISTP><STMTTRNP><TRNAMT>-1</STMTTRNP></BANKTRANLISTP></STMTRS></STMTTRNRS></BANKMSGSRSV1>\
         <CREDITCARDMSGSRSV1><CCSTMTTRNRS><CCSTMTRS><CURDEF>EUR<CCACCTFROM><ACCTID>4111111111111111</CCACCTFROM><BANKTRANLIST>{}\
         </BANKTRANLIST></CCSTMTRS></CCSTMTTRNRS></CREDITCARDMSGSRSV1><INVSTMTMSGSRSV1><INVSTMTTRNRS><INVSTMTRS><CURDEF>USD\
         <INVACCTFROM><BROKERID>kestrel.example<ACCTID>77777777</INVACCTFROM><INVTRANLIST><BUYSTOCK><INVBUY><INVTRAN><FITID>9\
         <DTTRADE>20260101</INVTRAN></INVBUY></BUYSTOCK><INVBANKTRAN>{}<SUBACCTFUND>CASH</INVBANKTRAN></INVTRANLIST><INVPOSLIST>\
         <POSSTOCK><INVPOS><UNITS>1</INVPOS></POSSTOCK></INVPOSLIST></INVSTMTRS></INVSTMTTRNRS></INVSTMTMSGSRSV1><x>",
        transaction("20260101", "-1.00", "BANK-1", "Bread"),
        transaction("20260102", "-2.00", "CARD-1", "Shoes")
            .replace("</STMTTRN>", "<BANKACCTTO><ACCTID>1<NAME>x</BANKACCTTO></STMTTRN>"),
        transaction("20260103", "3.00", "CASH-1", "Dividend"),
    ));
    let (kept, counts) = kept(&text);
    let names: Vec<String> = of_stream(&kept, "accounts")
        .iter()
        .map(|one| one["name"].to_string() + &one["type"].to_string())
        .collect();
    assert_eq!(counts.read, 6);
    assert_eq!(
        counts.skipped.keys().copied().collect::<Vec<_>>(),
        ["a securities holding", "a securities trade", "pending"]
    );
    for wanted in [
        "\"Kestrel Bank …5544\"\"checking\"",
        "\"Kestrel Bank …1111\"\"credit_card\"",
        "\"Kestrel Bank …7777\"\"investment\"",
    ] {
        assert!(names.contains(&wanted.to_owned()), "{names:?}");
    }
    let all = of_stream(&kept, "transactions");
    assert_eq!(
        all.iter().map(|one| (one["name"].clone(), one["currency"].clone())).collect::<Vec<_>>(),
        [(json!("Bread"), json!("USD")), (json!("Shoes"), json!("EUR")), (json!("Dividend"), json!("USD"))]
    );
}

#[test]
fn a_file_that_ends_before_its_statement_does_is_told() {
    let whole = "OFXHEADER:100\n\n<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>EUR<BANKACCTFROM><BANKID>1<ACCTID>22</BANKACCTFROM>\
        <BANKTRANLIST><STMTTRN><DTPOSTED>20260228<TRNAMT>-1<FITID>F1000001<NAME>a</STMTTRN>\
        <STMTTRN><DTPOSTED>20260227<TRNAMT>-2<FITID>F1000002<NAME>b</STMTTRN></BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>\n";
    let (_, counts) = imported(&Ofx, &[("a.ofx", whole.as_bytes())]);
    assert_eq!((counts.read, counts.new, counts.bad.len()), (2, 2, 0));
    let behind_one = whole.find("</STMTTRN>").unwrap() + "</STMTTRN>".len();
    for (cut, new) in [(behind_one, 1), (whole.find("</BANKTRANLIST>").unwrap(), 2), (whole.len() - 3, 2)] {
        let (_, counts) = imported(&Ofx, &[("a.ofx", &whole.as_bytes()[..cut])]);
        assert_eq!((counts.read, counts.new), (new + 1, new), "{cut}");
        assert!(format!("{:?}", counts.bad).contains("ends before its statement"), "{:?}", counts.bad);
        for limit in 1..4 {
            assert_cut_and_finished_is_whole(&Ofx, whole.as_bytes(), cut, limit);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_bad(bytes in proptest::collection::vec(any::<u8>(), 0..300), tags in "(<(/?STMTTRN|TRNAMT|/?OFX|FITID|![A-Z]{0,3})>?|[<>&;a-z0-9 ]){0,40}") {
        let whole = [b"<OFX><STMTTRN>", bytes.as_slice(), tags.as_bytes(), b"</STMTTRN>"].concat();
        imported(&Ofx, &[("a", &whole)]);
        imported(&Ofx, &[("a", &bytes)]);
    }

    #[test]
    fn cut_anywhere_and_finished_is_whole(cut in 0..1_200_usize, limit in 1..4_usize) {
        let text = statement(&[
            transaction("20260101", "-1.00", "AAAAA1", "One"),
            transaction("20260102", "-2.00", "", "Two"),
            transaction("20260102", "-2.00", "", "Two"),
            transaction("20260103", "-3.25", "AAAAA3", "Three").replace("</STMTTRN>", ""),
        ].concat());
        assert_cut_and_finished_is_whole(&Ofx, text.as_bytes(), cut, limit);
    }
}
