//! Sets of records, by the numbers under which they are stored.

/// A set of rows, with one bit per row. Counting and comparing a million rows is faster than reading them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowSet {
    bits: Vec<u64>,
}

/// Rows are numbered from 1. A number from here on comes from a damaged store and must not cost memory.
const MOST: usize = 1 << 28;

impl RowSet {
    fn place(row: i64) -> Option<(usize, u64)> {
        let row = usize::try_from(row).ok().filter(|row| *row < MOST)?;
        Some((row / 64, 1 << (row % 64)))
    }

    /// Adds a row.
    pub fn insert(&mut self, row: i64) {
        let Some((at, bit)) = Self::place(row) else { return };
        if at >= self.bits.len() {
            self.bits.resize(at + 1, 0);
        }
        self.bits[at] |= bit;
    }

    /// Whether it contains a row.
    pub fn contains(&self, row: i64) -> bool {
        Self::place(row).is_some_and(|(at, bit)| self.bits.get(at).is_some_and(|bits| bits & bit != 0))
    }

    /// How many rows it contains.
    pub fn len(&self) -> usize {
        self.bits.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|bits| *bits == 0)
    }

    /// Keeps only rows that are also in `other`.
    pub fn keep(&mut self, other: &Self) {
        self.bits.truncate(other.bits.len());
        for (bits, other) in self.bits.iter_mut().zip(&other.bits) {
            *bits &= other;
        }
    }

    /// Adds the rows of `other`.
    pub fn add(&mut self, other: &Self) {
        if self.bits.len() < other.bits.len() {
            self.bits.resize(other.bits.len(), 0);
        }
        for (bits, other) in self.bits.iter_mut().zip(&other.bits) {
            *bits |= other;
        }
    }

    /// Removes the rows that are in `other`.
    pub fn remove(&mut self, other: &Self) {
        for (bits, other) in self.bits.iter_mut().zip(&other.bits) {
            *bits &= !other;
        }
    }

    /// The rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = i64> {
        (0_i64..).step_by(64).zip(&self.bits).flat_map(|(first, bits)| {
            (0..64).filter(move |bit| bits & (1 << bit) != 0).map(move |bit| first + bit)
        })
    }
}

impl FromIterator<i64> for RowSet {
    fn from_iter<T: IntoIterator<Item = i64>>(rows: T) -> Self {
        let mut set = Self::default();
        for row in rows {
            set.insert(row);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set(left in prop::collection::btree_set(0_i64..300, 0..40), right in prop::collection::btree_set(0_i64..300, 0..40)) {
            let (one, other): (RowSet, RowSet) = (left.iter().copied().collect(), right.iter().copied().collect());
            let of = |change: fn(&mut RowSet, &RowSet)| {
                let mut set = one.clone();
                change(&mut set, &other);
                assert_eq!(set.len(), set.iter().count());
                assert_eq!(set.is_empty(), set.iter().next().is_none());
                set.iter().collect::<BTreeSet<_>>()
            };
            prop_assert_eq!(of(RowSet::keep), left.intersection(&right).copied().collect::<BTreeSet<_>>());
            prop_assert_eq!(of(RowSet::add), left.union(&right).copied().collect::<BTreeSet<_>>());
            prop_assert_eq!(of(RowSet::remove), left.difference(&right).copied().collect::<BTreeSet<_>>());
            prop_assert!((0..400).all(|row| one.contains(row) == left.contains(&row)));
            prop_assert!(!one.contains(-1) && !one.contains(i64::MAX));
        }
    }
}
