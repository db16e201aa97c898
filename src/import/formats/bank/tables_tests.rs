use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::import::harness::{
    self, Counts, Kept, assert_cut_and_finished_is_whole, assert_twice_is_once_in_any_order, imported, sniff,
};

fn kept(name: &str, text: &str) -> (Kept, Counts) {
    imported(&BankCsv, &[(name, text.as_bytes())])
}

fn of_stream(kept: &Kept, stream: &str) -> Vec<Json> {
    kept.sorted(stream, |record| (record["date"].to_string(), record["amount"].to_string()))
}

/// The date, amount, currency and name of each record.
fn rows(text: &str) -> Vec<String> {
    let row = |one: &Json| {
        let text = |field: &str| one[field].as_str().unwrap_or("-").to_owned();
        format!("{} {} {} {}", text("date"), one["amount"], text("currency"), text("name"))
    };
    of_stream(&kept("table.csv", text).0, "transactions").iter().map(row).collect()
}

fn accounts(name: &str, text: &str) -> Vec<String> {
    of_stream(&kept(name, text).0, "accounts")
        .iter()
        .map(|one| one["name"].as_str().unwrap().to_owned())
        .collect()
}

const DKB: &str = "\u{feff}\"Girokonto\";\"DE12345678901234567890\"\n\"Kontostand vom 09.12.2025:\";\"4.093,32\u{a0}€\"\n\"\"\n\
    \"Buchungsdatum\";\"Wertstellung\";\"Status\";\"Zahlungspflichtige*r\";\"Zahlungsempfänger*in\";\"Verwendungszweck\";\"Umsatztyp\";\
    \"IBAN\";\"Betrag (€)\";\"Gläubiger-ID\";\"Mandatsreferenz\";\"Kundenreferenz\"\n\
    \"09.12.25\";\"09.12.25\";\"Gebucht\";\"Ana Hansen\";\"Kaufhaus\";\"Danke\";\"Ausgang\";\"DE2\";\"-1.012,50\";\"\";\"\";\"\"\n\
    \"08.12.25\";\"08.12.25\";\"Gebucht\";\"Arbeit GmbH\";\"Ana Hansen\";\"Lohn\";\"Eingang\";\"DE2\";\"2.000\";\"\";\"\";\"\"\n\
    \"07.12.25\";\"\";\"Vorgemerkt\";\"Ana Hansen\";\"Laden\";\"\";\"Ausgang\";\"DE2\";\"-5,00\";\"\";\"\";\"\"\n";

#[test]
fn o5_1_a_banks_table_is_known_by_its_header() {
    assert_eq!(sniff(&BankCsv, "x", DKB.as_bytes()), Some(Sure::Certain));
    let (kept, counts) = kept("x.csv", DKB);
    assert_eq!((counts.read, counts.new), (6, 2));
    assert_eq!(
        counts.skipped.iter().map(|(why, count)| (*why, *count)).collect::<Vec<_>>(),
        [(ABOVE, 3), ("pending", 1)]
    );
    let account = of_stream(&kept, "accounts").remove(0);
    assert_eq!(
        account,
        json!({"id": account["id"], "name": "DKB …7890", "type": "checking", "currency": "EUR"})
    );
    assert_eq!(rows(DKB), ["2025-12-08 2000 EUR Arbeit GmbH", "2025-12-09 -1012.50 EUR Kaufhaus"]);
    let one = of_stream(&kept, "transactions").remove(1);
    assert_eq!(
        one,
        json!({"id": one["id"], "account_id": account["id"], "date": "2025-12-09", "amount": one["amount"], "currency": "EUR",
            "name": "Kaufhaus", "memo": "Danke", "type": "ausgang", "category": null, "fitid": null})
    );
    assert!(
        kept.records.values().all(|data| !data.contains("1234567890123456")),
        "no account shows its number"
    );
    // A bank that is not known, or another kind of file.
    for other in ["Date,Description,Amount\n2026-01-01,x,5\n", "a;b\n1;2\n", "", "\"unclosed"] {
        assert_eq!(sniff(&BankCsv, "x.csv", other.as_bytes()), None, "{other}");
    }
}

#[test]
fn o5_exports_of_many_banks_are_read() {
    for (bank, text, expected) in [
        (
            "ING …7890",
            "Umsatzanzeige;Datei erstellt am: 09.12.2025 15:23\n\nIBAN;DE12 3456 7890 1234 5678 90\nKontoname;Girokonto\n\
             Buchung;Wertstellungsdatum;Auftraggeber/Empfänger;Buchungstext;Verwendungszweck;Betrag;Währung\n\
             09.12.2025;09.12.2025;Laden;Lastschrift;Brot;-3,50;EUR\n",
            "2025-12-09 -3.50 EUR Laden",
        ),
        (
            "Sparkasse …7890",
            "\"Auftragskonto\";\"Buchungstag\";\"Valutadatum\";\"Buchungstext\";\"Verwendungszweck\";\"Glaeubiger ID\";\
             \"Beguenstigter/Zahlungspflichtiger\";\"Kontonummer/IBAN\";\"Betrag\";\"Waehrung\";\"Info\"\n\
             \"DE12345678901234567890\";\"05.12.25\";\"08.12.25\";\"LASTSCHRIFT\";\"Buch\";\"\";\"Shop\";\"DE1\";\"-99,80\";\"EUR\";\"Umsatz gebucht\"\n\
             \"DE12345678901234567890\";\"05.12.25\";\"\";\"LASTSCHRIFT\";\"Buch\";\"\";\"Shop\";\"DE1\";\"-9,80\";\"EUR\";\"Umsatz vorgemerkt\"\n",
            "2025-12-05 -99.80 EUR Shop",
        ),
        (
            "Volksbank VR Bank Nord …7890",
            "Bezeichnung Auftragskonto;IBAN Auftragskonto;BIC Auftragskonto;Bankname Auftragskonto;Buchungstag;Valutadatum;\
             Name Zahlungsbeteiligter;Buchungstext;Verwendungszweck;Betrag;Waehrung\n\
             Giro;DE12345678901234567890;X;VR Bank Nord;01.12.2025;01.12.2025;Bo;Gutschrift;Rate;175,00;EUR\n",
            "2025-12-01 175.00 EUR Bo",
        ),
        (
            "N26",
            "\"Date\",\"Payee\",\"Account number\",\"Transaction type\",\"Payment reference\",\"Amount (EUR)\",\"Amount (Foreign Currency)\"\n\
             \"2026-01-02\",\"Cafe\",\"\",\"MasterCard Payment\",\"\",\"-4.5\",\"-4.5\"\n",
            "2026-01-02 -4.5 EUR Cafe",
        ),
        (
            "Chase",
            "Transaction Date,Post Date,Description,Category,Type,Amount,Memo\n01/02/2026,01/03/2026,STORE,Shopping,Sale,-12.00,\n",
            "2026-01-03 -12.00 USD STORE",
        ),
        (
            "Chase",
            "Details,Posting Date,Description,Amount,Type,Balance,Check or Slip #\nDEBIT,01/02/2026,RENT,\"-1,200.00\",ACH_DEBIT,5.00,,\n",
            "2026-01-02 -1200.00 USD RENT",
        ),
        (
            "Bank of America",
            "Description,,Summary Amt.\nBeginning balance as of 01/01/2026,,\"1,000.00\"\n\nDate,Description,Amount,Running Bal.\n\
             01/01/2026,Beginning balance as of 01/01/2026,,\"1,000.00\"\n01/02/2026,\"CAFE \"\"A\"\"\",\"-4.00\",\"996.00\"\n",
            "2026-01-02 -4.00 USD CAFE \"A\"",
        ),
        (
            "Monzo",
            "Transaction ID,Date,Time,Type,Name,Emoji,Category,Amount,Currency,Local amount,Local currency\n\
             tx_0000A1,31/01/2026,10:00:00,Card payment,Tesco,,Groceries,-10.00,GBP,-10.00,GBP\n",
            "2026-01-31 -10.00 GBP Tesco",
        ),
        (
            "Starling",
            "Date,Counter Party,Reference,Type,Amount (GBP),Balance (GBP),Spending Category,Notes\n31/01/2026,Gym,ref,DIRECT DEBIT,-20.00,5.00,HEALTH,\n",
            "2026-01-31 -20.00 GBP Gym",
        ),
        (
            "Barclays …5678",
            "Number,Date,Account,Amount,Subcategory,Memo\n ,31/01/2026,20-00-00 12345678,-5.00,PAYMENT,SHOP   ON 30 JAN\n",
            "2026-01-31 -5.00 GBP SHOP ON 30 JAN",
        ),
        (
            "Nationwide …2345",
            "\"Account Name:\",\"FlexAccount ****12345\"\n\"Account Balance:\",\"£5.00\"\n\n\"Date\",\"Transaction type\",\"Description\",\"Paid out\",\
             \"Paid in\",\"Balance\"\n\"01 Feb 2026\",\"Visa purchase\",\"Shop\",\"£1,005.00\",\"\",\"£5.00\"\n",
            "2026-02-01 -1005.00 GBP Shop",
        ),
        (
            "American Express …1001",
            "Date,Description,Card Member,Account #,Amount\n01/31/2026,CAFE,ANA,-41001,12.00\n",
            "2026-01-31 -12.00 - CAFE",
        ),
        (
            "Santander …5678",
            "Cuenta;ES9121000418450200055678\n\nFecha operación;Fecha valor;Concepto;Importe;Saldo\n31/01/2026;31/01/2026;Compra;-1.005,00;5,00\n",
            "2026-01-31 -1005.00 EUR Compra",
        ),
        (
            "ING …3456",
            "\"Datum\";\"Naam / Omschrijving\";\"Rekening\";\"Tegenrekening\";\"Code\";\"Af Bij\";\"Bedrag (EUR)\";\"Mutatiesoort\";\"Mededelingen\"\n\
             \"20260131\";\"Winkel\";\"NL12INGB0000123456\";\"\";\"BA\";\"Af\";\"12,00\";\"Betaalautomaat\";\"x\"\n",
            "2026-01-31 -12.00 EUR Winkel",
        ),
        (
            "Deutsche Bank …4567",
            "Transactions Private Account;;;Account number: 1004567\n\nBooking date;Value date;Transaction Type;Beneficiary / Originator;\
             Payment Details;Debit;Credit;Currency\n1/31/2026;1/31/2026;SEPA;Shop;x;-1,005.00;;EUR\n2/1/2026;2/1/2026;SEPA;Ana;x;;5.00;EUR\nAccount balance;2/1/2026;;;5.00\n",
            "2026-01-31 -1005.00 EUR Shop|2026-02-01 5.00 EUR Ana",
        ),
    ] {
        assert_eq!(rows(text).join("|"), expected, "{bank}");
        assert_eq!(accounts("table.csv", text), [bank], "{text}");
    }
}

#[test]
fn o6_4_a_wallet_of_several_currencies_is_several_accounts() {
    let revolut = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n\
        CARD_PAYMENT,Current,2026-01-01 10:00:00,2026-01-02 03:00:00,Shop,-5.00,0.00,EUR,COMPLETED,1\n\
        EXCHANGE,Current,2026-01-03 10:00:00,2026-01-03 10:00:00,To USD,-100.00,0.50,EUR,COMPLETED,1\n\
        EXCHANGE,Current,2026-01-03 10:00:00,2026-01-03 10:00:00,To USD,110.00,0.00,USD,COMPLETED,1\n\
        CARD_PAYMENT,Current,2026-01-04 10:00:00,,Hotel,-50.00,0.00,EUR,PENDING,\n\
        CARD_PAYMENT,Current,2026-01-04 10:00:00,,Hotel,-50.00,0.00,EUR,REVERTED,\n";
    assert_eq!(
        rows(revolut),
        [
            "2026-01-02 -5.00 EUR Shop",
            "2026-01-03 -0.50 EUR To USD",
            "2026-01-03 -100.00 EUR To USD",
            "2026-01-03 110.00 USD To USD"
        ]
    );
    let mut names = accounts("x.csv", revolut);
    names.sort();
    assert_eq!(names, ["Revolut Current EUR", "Revolut Current USD"]);
    let (_, counts) = kept("x.csv", revolut);
    assert_eq!(
        counts.skipped.keys().copied().collect::<Vec<_>>(),
        ["declined or reversed: no money was moved", "pending"]
    );
    let paypal = "\"Datum\",\"Uhrzeit\",\"Zeitzone\",\"Name\",\"Typ\",\"Status\",\"Währung\",\"Brutto\",\"Gebühr\",\"Netto\",\"Transaktionscode\"\n\
        \"31.01.2026\",\"10:00:00\",\"CET\",\"Ana\",\"Zahlung\",\"Abgeschlossen\",\"EUR\",\"1.010,00\",\"-0,35\",\"1.009,65\",\"5XY0001\"\n\
        \"31.01.2026\",\"10:00:00\",\"CET\",\"Bo\",\"Zahlung\",\"Ausstehend\",\"EUR\",\"10,00\",\"-0,35\",\"9,65\",\"5XY0002\"\n";
    assert_eq!(rows(paypal), ["2026-01-31 1009.65 EUR Ana"]);
}

#[test]
fn o5_overlapping_exports_join_and_equal_rows_are_kept() {
    let header = "Booking Date,Value Date,Partner Name,Partner Iban,Type,Payment Reference,Account Name,Amount (EUR)\n";
    let day =
        |day: u32| format!("2026-01-{day:02},2026-01-{day:02},Cafe,,Presentment,,Main,-3.00\n").repeat(2);
    let of = |days: std::ops::Range<u32>, is_falling: bool| {
        let mut all: Vec<String> = days.map(day).collect();
        if is_falling {
            all.reverse();
        }
        format!("{header}{}", all.concat())
    };
    for is_falling in [false, true] {
        let (first, second) = (of(1..16, false), of(10..21, is_falling));
        let files: [(&str, &[u8]); 2] = [("a.csv", first.as_bytes()), ("b.csv", second.as_bytes())];
        assert_eq!(of_stream(&imported(&BankCsv, &files).0, "transactions").len(), 40);
        assert_twice_is_once_in_any_order(&BankCsv, &files);
    }
    // A different balance or different whitespace does not make a different row.
    let other = of(1..16, false).replace("Cafe", "Cafe ");
    let both = of(1..16, false);
    let files: [(&str, &[u8]); 2] = [("a.csv", both.as_bytes()), ("b.csv", other.as_bytes())];
    assert_eq!(of_stream(&imported(&BankCsv, &files).0, "transactions").len(), 30);
}

#[test]
fn o5_accounts_are_told_apart_by_a_column_a_line_above_or_the_files_name() {
    let chase = "Transaction Date,Post Date,Description,Category,Type,Amount,Memo\n01/02/2026,01/13/2026,STORE,Shopping,Sale,-12.00,\n";
    let files: [(&str, &[u8]); 2] = [
        ("Chase1234_Activity20260101_20260131.CSV", chase.as_bytes()),
        ("Chase9876_Activity20260101_20260131.CSV", chase.as_bytes()),
    ];
    let kept = imported(&BankCsv, &files).0;
    assert_eq!((of_stream(&kept, "accounts").len(), of_stream(&kept, "transactions").len()), (2, 2));
    let notes = |name: &str| {
        harness::plan(&BankCsv, &[(name, chase.as_bytes())], harness::ask()).unwrap()[0].notes.join("\n")
    };
    assert!(!notes("Chase1234_Activity20260101.CSV").contains("does not say which account"));
    assert!(notes("export.csv").contains("does not say which account at Chase"));
}

#[test]
fn o5_the_order_of_dates_is_shown_by_the_rows_where_a_bank_has_several() {
    let amex = |dates: &[&str]| {
        dates.iter().fold("Date,Description,Card Member,Account #,Amount\n".to_owned(), |all, date| {
            format!("{all}{date},CAFE,ANA,-41001,12.00\n")
        })
    };
    assert_eq!(rows(&amex(&["01/02/2026", "31/01/2026"]))[0], "2026-01-31 -12.00 - CAFE");
    assert_eq!(rows(&amex(&["01/02/2026", "01/31/2026"]))[0], "2026-01-02 -12.00 - CAFE");
    let unclear = amex(&["01/02/2026"]);
    let refused = harness::plan(&BankCsv, &[("a.csv", unclear.as_bytes())], harness::ask());
    assert!(matches!(refused, Err(Refused::Undecided { option: "--date-order", .. })));
}

#[test]
fn o4_11_tables_in_old_charsets_and_with_a_line_for_excel_are_read() {
    let text = DKB.trim_start_matches('\u{feff}');
    let (latin, _, _) = encoding_rs::WINDOWS_1252.encode(text);
    let utf16: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let excel = format!("sep=;\n{text}");
    for bytes in [latin.as_ref(), &utf16, excel.as_bytes()] {
        let kept = imported(&BankCsv, &[("x.csv", bytes)]).0;
        assert_eq!(of_stream(&kept, "transactions")[1]["name"], "Kaufhaus");
    }
}

#[test]
fn bad_rows_cost_themselves_only() {
    let header = "Details,Posting Date,Description,Amount,Type,Balance,Check or Slip #\n";
    let text = format!(
        "{header}DEBIT,01/32/2026,x,-1.00,A,5.00,,\nDEBIT,01/31/2026,x,one,A,5.00,,\nDEBIT,01/31/2026,\"x,-1.00,A,5.00,,\n\
         DEBIT,01/31/2026,ok,-2.00,A,5.00,,\nTotal,,,,,\n"
    );
    let (kept, counts) = kept("x.csv", &text);
    assert_eq!(of_stream(&kept, "transactions").len(), 1);
    assert_eq!(
        counts.bad.keys().copied().collect::<Vec<_>>(),
        ["a quote that is not closed", "no amount", "no date"]
    );
    assert_eq!(counts.skipped.keys().copied().collect::<Vec<_>>(), ["a line that is not a transaction"]);
}

#[test]
fn every_profile_reads_its_own_columns() {
    for profile in PROFILES {
        let header = profile.header.trim_start_matches('=');
        let mut columns: Vec<&str> = header.split(',').map(|name| name.split('|').next().unwrap()).collect();
        let exact = profile.header.starts_with('=');
        for more in [profile.date, profile.amount, profile.debit, profile.credit] {
            let is_there = more.split('|').any(|name| columns.contains(&name));
            if !more.is_empty() && !is_there && !exact {
                columns.push(more.split('|').next().unwrap());
            }
        }
        let names: Vec<String> = columns.iter().map(|name| name_of(name)).collect();
        assert!(columns.iter().zip(&names).all(|(column, name)| column == name), "{header}");
        let (_, found) = profile_of(&names).unwrap();
        let places = places(profile, &names);
        assert_eq!(PROFILES[found].bank, profile.bank, "{header}");
        assert!(!places.date.is_empty(), "{header}");
        assert!(!places.amount.is_empty() || places.debit.is_some() && places.credit.is_some(), "{header}");
    }
}

const CHASE: &str = "Transaction Date,Post Date,Description,Category,Type,Amount,Memo\n";

fn planned(files: &[(&str, &str)], date_order: Option<DateOrder>) -> Result<Vec<Plan>, Refused> {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    harness::plan(
        &BankCsv,
        &files,
        Ask { date_order, is_order_typed: date_order.is_some(), ..harness::ask() },
    )
}

/// The dates and memos, with an answer to the question about date order.
fn dates_of(text: &str, date_order: Option<DateOrder>) -> Vec<String> {
    let plan = planned(&[("x.csv", text)], date_order).unwrap().remove(0);
    let (items, _) = harness::split(&BankCsv, &plan, "x.csv", text.as_bytes(), 0);
    items
        .iter()
        .map(|raw| match BankCsv.parse(&plan, raw) {
            Ok(Parsed::Records(drafts)) => {
                let data: Json = serde_json::from_str(drafts[1].data.as_deref().unwrap()).unwrap();
                data["date"].as_str().unwrap().to_owned()
            }
            other => format!("{other:?}"),
        })
        .collect()
}

#[test]
fn what_the_dates_prove_counts_more_than_what_the_bank_is_known_to_write() {
    // The file was saved again by a program that puts the day first.
    let slashed = format!(
        "{CHASE}05/01/2026,06/01/2026,AMAZON,,Sale,-34.99,\n20/01/2026,20/01/2026,PAY,,Payment,500.00,\n"
    );
    assert_eq!(dates_of(&slashed, None), ["2026-01-06", "2026-01-20"]);
    // Dates in a column that is not the record's date prove the order too.
    let other = format!("{CHASE}31/01/2026,02/02/2026,A,,Sale,-3,\n03/02/2026,04/02/2026,B,,Sale,-5,\n");
    assert_eq!(dates_of(&other, None), ["2026-02-02", "2026-02-04"]);
    // The bank's own order, and no date that proves any order.
    let own = format!("{CHASE}01/05/2026,01/06/2026,A,,Sale,-3,\n01/19/2026,01/20/2026,B,,Sale,-5,\n");
    assert_eq!(dates_of(&own, None), ["2026-01-06", "2026-01-20"]);
    let open = format!("{CHASE}01/05/2026,01/06/2026,A,,Sale,-3,\n");
    assert_eq!(dates_of(&open, None), ["2026-01-06"]);
    // Dates with dots put the day first; programs write the year first.
    let dotted = format!("{CHASE}05.01.2026,06.01.2026,A,,Sale,-3,\n");
    assert_eq!(dates_of(&dotted, None), ["2026-01-06"]);
    let iso = format!("{CHASE}2026-01-05,2026-01-06,A,,Sale,-3,\n");
    assert_eq!(dates_of(&iso, None), ["2026-01-06"]);
    // Both orders are proven, so neither is certain.
    let both = format!("{slashed}01/20/2026,01/20/2026,B,,Sale,-5,\n");
    assert!(matches!(
        planned(&[("x.csv", &both)], None),
        Err(Refused::Undecided { option: "--date-order", .. })
    ));
    // A file that proves no order follows the others; files that prove one use their own.
    let plan = planned(&[("a.csv", &slashed), ("b.csv", &open)], None).unwrap().remove(0);
    let told = |label: &str| {
        plan.notes.iter().any(|note| note.contains(label) && note.ends_with("day, month, year"))
    };
    assert!(told("a.csv") && told("b.csv"), "{:?}", plan.notes);
    let plan = planned(&[("a.csv", &slashed), ("b.csv", &own)], None).unwrap().remove(0);
    let told = |label: &str| {
        plan.notes.iter().any(|note| note.contains(label) && note.ends_with("day, month, year"))
    };
    assert!(told("a.csv") && !told("b.csv"), "{:?}", plan.notes);
}

#[test]
fn an_answer_about_the_order_of_dates_counts_most() {
    let open = format!("{CHASE}05/01/2026,06/01/2026,A,,Sale,-3,\n");
    assert_eq!(dates_of(&open, Some(DateOrder::DayMonthYear)), ["2026-01-06"]);
    assert_eq!(dates_of(&open, Some(DateOrder::MonthDayYear)), ["2026-06-01"]);
    // The answer to an earlier import, perhaps about another bank, does not.
    let ask = Ask { date_order: Some(DateOrder::DayMonthYear), ..harness::ask() };
    let plan = harness::plan(&BankCsv, &[("x.csv", open.as_bytes())], ask).unwrap().remove(0);
    assert!(
        plan.notes.iter().any(|note| note.contains("read as month, day, year, as Chase writes")),
        "{:?}",
        plan.notes
    );
    let dotted = format!("{CHASE}05.01.2026,06.01.2026,A,,Sale,-3,\n");
    assert_eq!(dates_of(&dotted, Some(DateOrder::MonthDayYear)), ["2026-06-01"]);
}

#[test]
fn dates_in_another_form_than_the_banks_are_read() {
    const REVOLUT: &str =
        "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n";
    let local = format!(
        "{REVOLUT}X,Current,02/01/2026 10:11,03/01/2026 8:00,A,-12.30,0,GBP,COMPLETED,1\n\
         X,Current,20/01/2026 10:11,21/01/2026 8:00,B,-1.30,0,GBP,COMPLETED,1\n"
    );
    assert_eq!(dates_of(&local, None), ["2026-01-03", "2026-01-21"]);
    let open = format!("{REVOLUT}X,Current,02/01/2026 10:11,03/01/2026 8:00,A,-12.30,0,GBP,COMPLETED,1\n");
    assert!(matches!(planned(&[("x.csv", &open)], None), Err(Refused::Undecided { .. })));
    assert_eq!(dates_of(&open, Some(DateOrder::DayMonthYear)), ["2026-01-03"]);
    let n26 = "Booking Date,Value Date,Partner Name,Partner Iban,Type,Payment Reference,Account Name,Amount (EUR)\n\
         05.01.2026,05.01.2026,REWE,,P,,H,\"-23,45\"\n2026-01-06,2026-01-06,REWE,,P,,H,\"-3,45\"\n";
    assert_eq!(dates_of(n26, None), ["2026-01-05", "2026-01-06"]);
}

#[test]
fn what_else_a_bank_says_of_a_payment_stands_in_its_memo() {
    let memos = |text: &str| -> Vec<Json> {
        of_stream(&kept("x.csv", text).0, "transactions").iter().map(|one| one["memo"].clone()).collect()
    };
    let chase = format!("{CHASE}01/19/2026,01/20/2026,A,,Sale,-3,gift\n01/21/2026,01/21/2026,B,,Sale,-5,\n");
    assert_eq!(memos(&chase), [json!("gift\ntransaction date 2026-01-19"), json!(null)]);
    let n26 = "Booking Date,Value Date,Partner Name,Partner Iban,Type,Payment Reference,Account Name,Amount (EUR),\
         Original Amount,Original Currency,Exchange Rate\n\
         2026-01-05,2026-01-05,DINER,,P,,H,-18.20,-20,USD,1.1\n2026-01-06,2026-01-06,REWE,,P,x,H,-3.45,-3.45,EUR,1\n";
    assert_eq!(memos(n26), [json!("original amount -20 USD"), json!("x")]);
    let monzo = "Transaction ID,Date,Time,Type,Name,Emoji,Category,Amount,Currency,Local amount,Local currency,Notes and #tags\n\
         tx_1,20/01/2026,10:00:00,Card payment,Bar,,Out,-8.50,GBP,-10.00,EUR,\n";
    assert_eq!(memos(monzo), [json!("local amount -10.00 EUR")]);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_bad(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let whole = [DKB.as_bytes(), &bytes].concat();
        imported(&BankCsv, &[("a", &whole)]);
        sniff(&BankCsv, "a", &bytes);
    }

    #[test]
    fn cut_anywhere_and_finished_is_whole(more in 0..400_usize, limit in 1..4_usize) {
        let cut = DKB.find("\"09.12.25\"").unwrap() + more;
        assert_cut_and_finished_is_whole(&BankCsv, DKB.as_bytes(), cut, limit);
    }
}
