//! Counts during an import whom items were delivered to. A plan sees only parts of a long file: another person's mail may be in
//! the rest.

use std::collections::BTreeMap;

use indicatif::HumanCount;

use super::refresh::folder_of;
use super::survey::Job;
use crate::advice::Command;

/// The most members, or folders of members, whose items are counted.
const MOST_SETS: usize = 1000;
/// The most addresses that are counted in each.
const MOST_ADDRESSES: usize = 100;
/// An address is named if it received this many items, and a tenth of all.
const LEAST: u64 = 5;

/// How many items each address received, by member.
#[derive(Default)]
pub struct Delivered<'a>(BTreeMap<&'a str, Addresses>);

/// The addresses that received most of the items. A rare one may be missing, but none that received a tenth of them.
#[derive(Default)]
struct Addresses {
    all: u64,
    by: BTreeMap<String, u64>,
}

impl Addresses {
    fn add(&mut self, address: String) {
        self.all += 1;
        if let Some(count) = self.by.get_mut(&address) {
            *count += 1;
        } else if self.by.len() < MOST_ADDRESSES {
            self.by.insert(address, 1);
        } else {
            // The rare ones make room: what an address loses is at most one item in a hundred.
            self.by.retain(|_, count| {
                *count -= 1;
                *count > 0
            });
        }
    }

    /// The addresses that received at least a tenth, those with the most first.
    fn most(&self) -> Vec<(&str, u64)> {
        let is_some = |count: u64| count >= LEAST && count * 10 >= self.all;
        let mut most: Vec<(&str, u64)> = self
            .by
            .iter()
            .map(|(address, count)| (address.as_str(), *count))
            .filter(|one| is_some(one.1))
            .collect();
        most.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        most
    }
}

impl<'a> Delivered<'a> {
    /// Counts an item of the member `label`.
    pub fn add(&mut self, job: &Job, label: &'a str, address: String) {
        let set = if job.format.is_of_folder() { folder_of(label) } else { label };
        if self.0.len() < MOST_SETS || self.0.contains_key(set) {
            self.0.entry(set).or_default().add(address);
        }
    }

    /// Who else the items of an account may belong to, unless its plan names them: a sentence for each address in each member.
    pub fn notes(&self, job: &Job) -> Vec<String> {
        const MOST_NOTES: usize = 10;
        let plan = &job.plan;
        let is_planned = |address: &str| {
            let is_word = |char: char| char.is_whitespace() || "(),:;".contains(char);
            let mut notes = plan.whose.note.iter().chain(&plan.notes);
            notes.any(|note| note.split(is_word).any(|word| word.trim_end_matches('.') == address))
        };
        let mut notes = Vec::new();
        for (label, addresses) in &self.0 {
            let most = addresses.most();
            let first = most.first().map(|(address, _)| *address);
            let Some(owner) = plan.whose.owner.as_deref().or(first) else { continue };
            let is_other =
                |address: &str| address != owner && address != plan.account && !is_planned(address);
            for (address, count) in most.iter().filter(|(address, _)| is_other(address)) {
                let place =
                    if label.is_empty() { job.typed.display().to_string() } else { (*label).to_owned() };
                notes.push(format!(
                    "{place}: {} of the {} messages that say whom they were delivered to were delivered to {address}; this is the \
                     account of {owner}. If {address} is another person: run {}, put each person's messages into separate files, and \
                     import each with {}.",
                    HumanCount(*count),
                    HumanCount(addresses.all),
                    Command::new("provider forget").value(&plan.account),
                    Command::new("import <export> --account <name>"),
                ));
            }
        }
        notes.truncate(MOST_NOTES);
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_a_tenth_is_found_among_any_number_of_others() {
        let mut addresses = Addresses::default();
        for number in 0..20_000 {
            let address = match number {
                number if number % 7 == 0 => "bob@b.example".to_owned(),
                number if number % 11 == 0 => "few@f.example".to_owned(),
                number => format!("{number}@example.org"),
            };
            addresses.add(address);
            assert!(addresses.by.len() <= MOST_ADDRESSES);
        }
        let most = addresses.most();
        assert!(
            matches!(most.as_slice(), [("bob@b.example", count)] if (2600..=2858).contains(count)),
            "{most:?}"
        );
    }

    #[test]
    fn a_few_messages_are_a_mistake() {
        let mut addresses = Addresses::default();
        for (address, count) in [("ana@a.example", 20), ("bob@b.example", 4)] {
            (0..count).for_each(|_| addresses.add(address.to_owned()));
        }
        assert_eq!(addresses.most(), [("ana@a.example", 20)]);
        addresses.add("bob@b.example".to_owned());
        assert_eq!(addresses.most(), [("ana@a.example", 20), ("bob@b.example", 5)]);
    }
}
