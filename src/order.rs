//! Sorting, once in the program: `slice::sort` is made anew for each type and each order, of 5 KB, and there were forty.

use std::cmp::Ordering;

/// Sorts `items`; equal ones keep their order.
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// Sorts `items` by what `key` makes of them; equal ones keep their order.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], mut key: impl FnMut(&T) -> K) {
    sort_by(items, |one, other| key(one).cmp(&key(other)));
}

/// Sorts `items` by `order`; equal ones keep their order.
pub fn sort_by<T>(items: &mut [T], mut order: impl FnMut(&T, &T) -> Ordering) {
    let mut from = places(items.len(), &mut |one, other| order(&items[one], &items[other]));
    // Cycle by cycle: what belongs to a place is swapped in, and the place is done.
    for start in 0..items.len() {
        let mut at = start;
        while from[at] != start {
            let next = std::mem::replace(&mut from[at], at);
            items.swap(at, next);
            at = next;
        }
        from[at] = at;
    }
}

/// For each place of the sorted list, where its item is now.
fn places(count: usize, order: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|one, other| order(*one, *other));
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_the_standard_library_sorts(items in prop::collection::vec((0u8..8, any::<u16>()), 0..200)) {
            let (mut ours, mut theirs) = (items.clone(), items);
            sort_by_key(&mut ours, |item| item.0);
            theirs.sort_by_key(|item| item.0);
            prop_assert_eq!(&ours, &theirs);
            sort(&mut ours);
            theirs.sort_unstable();
            prop_assert_eq!(&ours, &theirs);
            sort_by(&mut ours, |one, other| (one.1 % 16).cmp(&(other.1 % 16)));
            theirs.sort_by_key(|item| item.1 % 16);
            prop_assert_eq!(ours, theirs);
        }
    }
}
