//! Chooses the account that a source is imported into if the person names none: one that read the source
//! before, or one that is known to belong to the same person. Two people's data is never merged merely
//! because one export is at the path where the other was.

use std::collections::BTreeMap;

use super::format::Plan;

/// An existing account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub name: String,
    /// The owners that its files named, each with whether that was certain.
    pub owners: BTreeMap<String, bool>,
    /// What it has read from the source.
    pub read: Option<Read>,
}

impl Known {
    /// Whether it may have data of the plan's owner.
    pub fn is_owners(&self, plan: &Plan) -> bool {
        plan.whose.owner.as_ref().is_some_and(|owner| self.name == *owner || self.owners.contains_key(owner))
    }

    /// Whether it certainly belongs to another person.
    pub fn is_anothers(&self, plan: &Plan) -> bool {
        plan.whose.is_sure && !self.is_owners(plan) && self.owners.values().any(|is_sure| *is_sure)
    }
}

/// What an account has read from a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Read {
    /// A different file was in its place.
    Another,
    /// The current file, or the beginning of it.
    This,
}

/// The decision for a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The account that the files name.
    Inferred,
    /// This account, with the reason in words.
    Known(String, &'static str),
    /// The person must name one.
    Ask(Vec<String>),
}

const BEFORE: &str = "this source was imported into it before";
const SAME_PERSON: &str = "data of the same person was imported into it before";

/// Chooses among the existing accounts.
pub fn choose(plan: &Plan, known: &[Known]) -> Choice {
    let owner = plan.whose.owner.as_deref();
    let is_surely_owners = |one: &&Known| {
        plan.whose.is_sure
            && owner.is_some_and(|owner| one.name == owner || one.owners.get(owner) == Some(&true))
    };
    let take = |one: &Known, why| {
        if one.name == plan.account { Choice::Inferred } else { Choice::Known(one.name.clone(), why) }
    };
    let of = |read: Read| known.iter().filter(|one| one.read == Some(read)).collect::<Vec<_>>();
    for (read, is_proof) in [(Read::This, true), (Read::Another, owner.is_none())] {
        let readers = of(read);
        let owners: Vec<&&Known> = readers.iter().filter(|one| one.is_owners(plan)).collect();
        match (owners.as_slice(), readers.as_slice()) {
            ([one], _) => return take(one, BEFORE),
            ([], [one]) if is_proof => return take(one, BEFORE),
            ([], []) => {}
            _ if is_proof => return Choice::Ask(names(readers.iter().map(|one| one.name.as_str()), None)),
            _ => {}
        }
    }
    let surely: Vec<&Known> = known.iter().filter(is_surely_owners).collect();
    match surely.as_slice() {
        [one] => return take(one, SAME_PERSON),
        [] => {}
        several if several.iter().any(|one| one.name == plan.account) => return Choice::Inferred,
        several => return Choice::Ask(names(several.iter().map(|one| one.name.as_str()), None)),
    }
    // A name that one person gave up may belong to another now.
    let is_anothers = |one: &Known| one.name == plan.account && one.owners.values().any(|is_sure| *is_sure);
    if let Some(owner) = owner.filter(|_| plan.whose.is_sure)
        && known.iter().any(is_anothers)
    {
        return Choice::Ask(vec![plan.account.clone(), format!("{} {owner}", plan.account)]);
    }
    // Another file is where the source of another account was: its owner may be certain.
    let others = of(Read::Another);
    let are_others_sure = others.iter().all(|one| one.owners.values().any(|is_sure| *is_sure));
    if others.is_empty() || plan.whose.is_sure && are_others_sure {
        return Choice::Inferred;
    }
    Choice::Ask(names(others.iter().map(|one| one.name.as_str()), Some(&plan.account)))
}

fn names<'a>(known: impl Iterator<Item = &'a str>, inferred: Option<&'a str>) -> Vec<String> {
    let mut all: Vec<String> = known.chain(inferred).map(str::to_owned).collect();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::tz::TimeZone;

    use super::*;
    use crate::import::declare::{Registry, connector};
    use crate::import::format::Whose;

    fn plan(owner: Option<&str>, is_sure: bool) -> Plan {
        Plan {
            connector: connector(Registry::Local, "x", "X", &[]).unwrap(),
            account: owner.unwrap_or("file").to_owned(),
            units: Vec::new(),
            notes: Vec::new(),
            whose: Whose { owner: owner.map(str::to_owned), is_sure, note: None },
            zone: TimeZone::UTC,
            state: Arc::new(()),
        }
    }

    fn known(name: &str, owners: &[(&str, bool)], read: Option<Read>) -> Known {
        let owners = owners.iter().map(|(name, is_sure)| ((*name).to_owned(), *is_sure)).collect();
        Known { name: name.to_owned(), owners, read }
    }

    #[test]
    fn o4_13_a_name_that_is_another_persons_now_is_asked_about() {
        let named = |owner: &str, is_sure| Plan { account: "ana".to_owned(), ..plan(Some(owner), is_sure) };
        let there = [known("ana", &[("42", true)], None)];
        assert_eq!(choose(&named("42", true), &there), Choice::Inferred);
        assert_eq!(
            choose(&named("7", true), &there),
            Choice::Ask(vec!["ana".to_owned(), "ana 7".to_owned()])
        );
        // No owner is known.
        assert_eq!(choose(&named("7", true), &[known("ana", &[], None)]), Choice::Inferred);
        assert_eq!(choose(&named("7", false), &there), Choice::Inferred);
    }

    #[test]
    fn o4_13_an_account_is_found_again_and_two_people_never_join() {
        use Read::{Another, This};
        let took = |name: &str, why| Choice::Known(name.to_owned(), why);
        let asks = |names: &[&str]| Choice::Ask(names.iter().map(|name| (*name).to_owned()).collect());
        let work = |owners: &[(&str, bool)], read| vec![known("Work", owners, read)];
        let ana = &[("ana@a", true)][..];
        for (owner, is_sure, accounts, wanted) in [
            // There are no accounts.
            (Some("ana@a"), true, vec![], Choice::Inferred),
            (None, false, work(&[], None), Choice::Inferred),
            // The same file, whatever its first mails say now.
            (Some("ana@a"), true, work(ana, Some(This)), took("Work", BEFORE)),
            (Some("list@a"), false, work(ana, Some(This)), took("Work", BEFORE)),
            (None, false, work(&[], Some(This)), took("Work", BEFORE)),
            // Another file in its place.
            (Some("ana@a"), true, work(ana, Some(Another)), took("Work", BEFORE)),
            (None, false, work(&[], Some(Another)), took("Work", BEFORE)),
            (Some("bob@b"), true, work(ana, Some(Another)), Choice::Inferred),
            (Some("bob@b"), false, work(ana, Some(Another)), asks(&["Work", "bob@b"])),
            (Some("bob@b"), true, work(&[], Some(Another)), asks(&["Work", "bob@b"])),
            (Some("bob@b"), true, work(&[("ana@a", false)], Some(Another)), asks(&["Work", "bob@b"])),
            // Another place.
            (Some("ana@a"), true, work(ana, None), took("Work", SAME_PERSON)),
            (Some("ana@a"), false, work(ana, None), Choice::Inferred),
            (Some("ana@a"), true, work(&[("ana@a", false)], None), Choice::Inferred),
            (Some("bob@b"), true, work(ana, None), Choice::Inferred),
            (
                Some("ana@a"),
                true,
                vec![known("Work", ana, None), known("Old", ana, None)],
                asks(&["Work", "Old"]),
            ),
            (Some("ana@a"), true, vec![known("ana@a", ana, None), known("Old", ana, None)], Choice::Inferred),
            // One source with two accounts.
            (
                Some("ana@a"),
                true,
                vec![known("Work", ana, Some(This)), known("bob@b", &[], Some(This))],
                took("Work", BEFORE),
            ),
        ] {
            assert_eq!(choose(&plan(owner, is_sure), &accounts), wanted, "{owner:?} {is_sure} {accounts:?}");
        }
    }
}
