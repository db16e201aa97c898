//! Bank accounts and their transactions: OFX, QIF, and the CSV files of banks whose columns are known.
//!
//! All three fill the same two streams. No record contains an account number: the account's id is derived from the number, and
//! its name ends with the last digits. Amounts keep every digit that the file has.

mod ofx;
mod profiles;
mod qif;
mod tables;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::import::cell::Decimal;
use crate::import::declare::{Registry, StreamLine, connector};
use crate::import::digest;
use crate::import::format::{Ask, Bad, Draft, Member, Plan, Refused};
use crate::import::table;

pub use ofx::Ofx;
pub use qif::Qif;
pub use tables::BankCsv;

const KEY: &str = "bank";
const ACCOUNTS: &str = "accounts";
const TRANSACTIONS: &str = "transactions";
/// The longest text that is kept of a transaction, in bytes.
const LONGEST_TEXT: usize = 64 << 10;

const STREAMS: [StreamLine; 2] = [
    StreamLine {
        name: ACCOUNTS,
        key: "id",
        time: "",
        fields: "id:k! name:h type:g currency:g",
        relations: "transactions transactions account_id many",
    },
    StreamLine {
        name: TRANSACTIONS,
        key: "id",
        time: "date",
        fields: "id:k! account_id:k! date:d! amount:m! currency:g name:l memo:b type:g category:g fitid:k",
        relations: "",
    },
];

/// An account, with its fields in the declared order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
struct Account {
    id: String,
    name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    currency: Option<String>,
}

impl Account {
    /// Creates an account without revealing its number. `origin` says which format and bank the number comes from.
    fn new(
        origin: &[&str],
        number: &str,
        bank: Option<&str>,
        kind: Option<&str>,
        currency: Option<&str>,
    ) -> Self {
        let plain: String = number
            .chars()
            .filter(|c| c.is_alphanumeric() || *c == '*')
            .map(|c| c.to_ascii_uppercase())
            .collect();
        let id = digest::name(origin.iter().copied().chain([plain.as_str()]).map(str::as_bytes));
        let called = bank.map(str::trim).filter(|bank| !bank.is_empty()).map(str::to_owned);
        let called = called.or_else(|| kind.map(|kind| kind.replace('_', " ")));
        let name = match (called, last_digits(&plain)) {
            (Some(called), Some(last)) => Some(format!("{called} …{last}")),
            (Some(called), None) => Some(called),
            (None, Some(last)) => Some(format!("…{last}")),
            (None, None) => None,
        };
        let known = |text: Option<&str>| text.map(str::to_owned).filter(|text| !text.is_empty());
        Self { id, name, kind: known(kind), currency: known(currency) }
    }

    fn draft(&self) -> Result<Draft, Bad> {
        let data = serde_json::to_string(self).map_err(|_| Bad("cannot be written as a record"))?;
        Ok(Draft { sighting: Some(data.clone()), ..Draft::new(ACCOUNTS, self.id.clone(), data) })
    }
}

/// The last four digits of a number.
fn last_digits(number: &str) -> Option<String> {
    let all: Vec<char> = number.chars().filter(|c| *c != '*').collect();
    let shown = all.len().min(4);
    (shown > 0).then(|| all[all.len() - shown..].iter().collect())
}

/// A transaction, as read from an item.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Booked {
    date: String,
    /// A JSON number.
    amount: String,
    currency: Option<String>,
    name: Option<String>,
    memo: Option<String>,
    kind: Option<String>,
    category: Option<String>,
    /// The bank's id for the transaction, if it identifies this transaction only.
    fitid: Option<String>,
}

/// A record, with its fields in the declared order.
#[derive(Serialize)]
struct Transaction<'a> {
    id: &'a str,
    account_id: &'a str,
    date: &'a str,
    amount: &'a RawValue,
    currency: Option<&'a str>,
    name: Option<&'a str>,
    memo: Option<&'a str>,
    #[serde(rename = "type")]
    kind: Option<&'a str>,
    category: Option<&'a str>,
    fitid: Option<&'a str>,
}

impl Booked {
    /// What identifies the transaction. Equal ones are numbered in their order.
    fn identity(&self, account: &str) -> String {
        let text = [self.name.as_deref(), self.memo.as_deref()].map(|text| plain(text.unwrap_or_default()));
        let parts = match &self.fitid {
            // Banks reuse an id on another day or for another amount.
            Some(fitid) => [account, &self.date, &self.amount, fitid, ""],
            None => [account, &self.date, &self.amount, &text[0], &text[1]],
        };
        digest::name(parts.map(str::as_bytes))
    }

    /// The records of the transaction and its account. `copy` is how many equal transactions came before it.
    fn drafts(&self, account: &Account, copy: u32) -> Result<Vec<Draft>, Bad> {
        let known = self.fitid.as_deref().filter(|fitid| fitid.len() <= 255);
        let identity = self.identity(&account.id);
        let id = match known {
            Some(fitid) => format!("{}:{fitid}:{}", account.id, &identity[..6]),
            None => identity,
        };
        let id = if copy == 0 { id } else { format!("{id}#{}", copy + 1) };
        let amount = RawValue::from_string(self.amount.clone()).map_err(|_| Bad("no amount"))?;
        let text = |text: &'_ Option<String>| {
            text.as_deref().map(|text| &text[..text.floor_char_boundary(LONGEST_TEXT)]).map(str::to_owned)
        };
        let (name, memo, kind, category) =
            (text(&self.name), text(&self.memo), text(&self.kind), text(&self.category));
        let record = Transaction {
            id: &id,
            account_id: &account.id,
            date: &self.date,
            amount: &amount,
            currency: self.currency.as_deref().or(account.currency.as_deref()),
            name: name.as_deref(),
            memo: memo.as_deref(),
            kind: kind.as_deref(),
            category: category.as_deref(),
            fitid: known,
        };
        let data = serde_json::to_string(&record).map_err(|_| Bad("cannot be written as a record"))?;
        Ok(vec![account.draft()?, Draft::new(TRANSACTIONS, id.clone(), data)])
    }
}

/// Returns the most complete sighting of an account.
fn join(data: &str, sightings: &[&str]) -> String {
    let says = |said: &&str| {
        let account: Account = serde_json::from_str(said).unwrap_or_default();
        let known = [&account.name, &account.kind, &account.currency].map(|field| u32::from(field.is_some()));
        (known.iter().sum::<u32>(), (*said).to_owned())
    };
    sightings.iter().max_by_key(|said| says(said)).map_or(data, |said| said).to_owned()
}

/// Normalises whitespace, which differs between two exports of the same text.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Trims a text of one or more lines; `None` if nothing is left.
fn words(text: &str) -> Option<String> {
    let text = plain(text);
    (!text.is_empty()).then_some(text)
}

/// The decimal mark that an amount proves, if it proves one.
fn decimal_of(text: &str) -> Option<Decimal> {
    let last = text.rfind(['.', ','])?;
    let mark = &text[last..=last];
    let own = if mark == "," { Decimal::Comma } else { Decimal::Point };
    let other = if mark == "," { Decimal::Point } else { Decimal::Comma };
    let digits = text[last + 1..].chars().take_while(char::is_ascii_digit).count();
    match (text.matches(['.', ',']).count(), text.matches(mark).count()) {
        (1, _) if digits == 3 => None,
        (_, 1) => Some(own),
        // 1.234.567
        (all, own) if all == own => Some(other),
        _ => None,
    }
}

/// Which decimal mark the amounts of a file prove.
#[derive(Debug, Clone, Copy, Default)]
struct Marks {
    points: u64,
    commas: u64,
}

impl Marks {
    fn learn(&mut self, text: &str) {
        match decimal_of(text) {
            Some(Decimal::Point) => self.points += 1,
            Some(Decimal::Comma) => self.commas += 1,
            None => {}
        }
    }

    const fn decimal(self, or: Decimal) -> Decimal {
        if self.points > self.commas {
            Decimal::Point
        } else if self.commas > self.points {
            Decimal::Comma
        } else {
            or
        }
    }
}

/// An amount as a JSON number, digit for digit: `-1.234,50 €`, `(5.00)`, `+007`.
fn amount(text: &str, decimal: Decimal) -> Option<String> {
    let text = text.trim();
    if text.len() > 60 {
        return None;
    }
    let (mut is_negative, mut digits, mut has_sign) = (false, String::new(), false);
    let inner = match text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => {
            is_negative = true;
            inner
        }
        None => text,
    };
    for (at, c) in inner.char_indices() {
        match c {
            '-' | '\u{2212}' | '\u{2013}' | '+' => {
                // The sign stands before the digits, or after all of them.
                let rest = &inner[at + c.len_utf8()..];
                if has_sign || !digits.is_empty() && rest.contains(|c: char| c.is_ascii_digit()) {
                    return None;
                }
                has_sign = true;
                is_negative |= c != '+';
            }
            '0'..='9' | '.' | ',' => digits.push(c),
            '\'' | '\u{2019}' => digits.push('\''),
            // Between digits, whitespace separates thousands.
            c if c.is_whitespace() => digits.push(' '),
            c if c.is_alphabetic() || "€$£¥₹₽₩₺₪฿₫".contains(c) => {
                let rest = inner[at..].trim_start_matches(|c: char| !c.is_ascii_digit());
                if digits.contains(|c: char| c.is_ascii_digit()) && !rest.is_empty() {
                    return None;
                }
            }
            _ => return None,
        }
    }
    // A currency mark may end with a point: `kr. 5`.
    let digits = digits.trim().trim_start_matches(". ").trim_end_matches(" .").trim();
    let (mark, group) = if decimal == Decimal::Point { ('.', ',') } else { (',', '.') };
    let (whole, fraction) = match digits.rsplit_once(mark) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if fraction.is_some_and(|fraction| !are_digits(fraction)) {
        return None;
    }
    let mut groups = whole.split([group, ' ', '\'']);
    let mut plain = groups.next()?.to_owned();
    for next in groups {
        // Indian notation uses groups of two.
        if !matches!(next.len(), 2 | 3) || plain.is_empty() {
            return None;
        }
        plain.push_str(next);
    }
    if !are_digits(&plain) || plain.is_empty() && fraction.is_none_or(str::is_empty) {
        return None;
    }
    let plain = plain.trim_start_matches('0');
    let mut number = if plain.is_empty() { "0".to_owned() } else { plain.to_owned() };
    if let Some(fraction) = fraction.filter(|fraction| !fraction.is_empty()) {
        number.push('.');
        number.push_str(fraction);
    }
    let is_zero = number.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    Some(if is_negative && !is_zero { format!("-{number}") } else { number })
}

/// The amount with the opposite sign.
fn negated(amount: &str) -> String {
    match amount.strip_prefix('-') {
        Some(amount) => amount.to_owned(),
        None if amount.bytes().all(|byte| matches!(byte, b'0' | b'.')) => amount.to_owned(),
        None => format!("-{amount}"),
    }
}

/// The warning for an owner who now names another date order: the date is part of a transaction's id.
fn order_changed(ask: &Ask) -> Option<String> {
    let before = table::order_in_words(ask.order_before?);
    Some(format!(
        "Earlier files of this account were read with dates as {before}. A file that is read again in another order is stored twice. \
         To correct this, forget the account first (`pdpp provider forget`), then import its files again."
    ))
}

/// Makes one plan for all members: accounts are records, not separate sources.
fn plan(
    members: &[Member<'_>],
    ask: &Ask,
    mut notes: Vec<String>,
    state: std::sync::Arc<dyn std::any::Any + Send + Sync>,
) -> Result<Plan, Refused> {
    let connector = connector(Registry::Local, KEY, "Bank", &STREAMS)
        .map_err(|error| Refused::Unreadable(error.to_string()))?;
    if ask.account.is_none() {
        notes.push(format!(
            "The accounts in these files go to the source `{KEY}`, each as its own record. --account NAME keeps them apart \
             from others."
        ));
    }
    Ok(Plan { state, ..Plan::of_all(connector, KEY, members, ask, notes) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn o5_amounts_are_exact() {
        use Decimal::{Comma, Point};
        for (text, decimal, expected) in [
            ("12.50", Point, Some("12.50")),
            ("-1,234.56", Point, Some("-1234.56")),
            ("1.234,56-", Comma, Some("-1234.56")),
            ("-1.234,56 €", Comma, Some("-1234.56")),
            ("+007,10", Comma, Some("7.10")),
            ("$-5.00", Point, Some("-5.00")),
            ("-£1,000", Point, Some("-1000")),
            ("EUR 5,00", Comma, Some("5.00")),
            ("kr. 5,00", Comma, Some("5.00")),
            ("(5.00)", Point, Some("-5.00")),
            ("1 234 567,1", Comma, Some("1234567.1")),
            ("1'234.50", Point, Some("1234.50")),
            ("1,00,000.00", Point, Some("100000.00")),
            ("−3", Point, Some("-3")),
            ("-0.00", Point, Some("0.00")),
            (".5", Point, Some("0.5")),
            ("5.", Point, Some("5")),
            ("12345678901234567890.12", Point, Some("12345678901234567890.12")),
            ("", Point, None),
            ("-", Point, None),
            (".", Point, None),
            ("1-2", Point, None),
            ("5 EUR 6", Point, None),
            ("1,2,3", Point, None),
            ("1.2.3", Point, None),
            ("12%", Point, None),
        ] {
            assert_eq!(amount(text, decimal).as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("1,5", Some(Comma)),
            ("1.50", Some(Point)),
            ("1.234,5", Some(Comma)),
            ("1.234.567", Some(Comma)),
            ("1,234", None),
            ("5", None),
        ] {
            assert_eq!(decimal_of(text), expected, "{text}");
        }
    }

    #[test]
    fn o5_no_account_shows_its_number() {
        let account = Account::new(
            &["csv", "DKB"],
            "DE12 3456 7890 1234 5678 90",
            Some("DKB"),
            Some("checking"),
            Some("EUR"),
        );
        let shown = serde_json::to_string(&account).unwrap();
        assert!(shown.contains("DKB …7890") && !shown.contains("345678"), "{shown}");
        let same = Account::new(&["csv", "DKB"], "de1234567890123456 7890", None, None, None);
        assert_eq!((same.id, same.name.as_deref()), (account.id, Some("…7890")));
        assert_eq!(last_digits("****1234").as_deref(), Some("1234"));
        assert_eq!(last_digits(""), None);
    }

    proptest! {
        #[test]
        fn any_amount_is_a_number_or_none(text in "[-+0-9., '()€$A-Z]{0,20}") {
            for decimal in [Decimal::Point, Decimal::Comma] {
                if let Some(found) = amount(&text, decimal) {
                    prop_assert!(serde_json::from_str::<serde_json::Number>(&found).is_ok(), "{found}");
                    prop_assert_eq!(negated(&negated(&found)), found);
                }
            }
        }
    }
}
