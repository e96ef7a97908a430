//! The most frequent of many things, counted in bounded memory.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

/// Counts things, exactly until there are more distinct ones than it has room for.
///
/// Then it forgets the rarer half. Things that are frequent throughout stay. A forgotten thing that
/// comes again starts at one, so a count is never too high.
#[derive(Clone, Debug)]
pub(crate) struct Top<T> {
    counts: HashMap<T, u64>,
    n_max: usize,
    is_exact: bool,
}

impl<T: Clone + Eq + Hash + Ord> Top<T> {
    /// A counter with room for `n_max` distinct things.
    pub(crate) fn new(n_max: usize) -> Self {
        Self { counts: HashMap::new(), n_max, is_exact: true }
    }

    pub(crate) fn add(&mut self, thing: T) {
        if let Some(count) = self.counts.get_mut(&thing) {
            *count += 1;
            return;
        }
        if self.counts.len() >= self.n_max {
            self.is_exact = false;
            self.counts = self.first(self.n_max / 2).into_iter().collect();
        }
        self.counts.insert(thing, 1);
    }

    /// The `n` most frequent things with their counts; the lesser first among equally frequent
    /// ones.
    pub(crate) fn first(&self, n: usize) -> Vec<(T, u64)> {
        let mut all: Vec<(&T, u64)> = self.counts.iter().map(|(thing, &count)| (thing, count)).collect();
        all.sort_unstable_by_key(|&(thing, count)| (Reverse(count), thing));
        all.into_iter().take(n).map(|(thing, count)| (thing.clone(), count)).collect()
    }

    /// Returns true if no thing was forgotten.
    pub(crate) fn is_exact(&self) -> bool {
        self.is_exact
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frequent_come_first_and_survive_a_crowd() {
        let mut top = Top::new(4);
        for thing in ["b", "a", "c", "a", "b", "a"] {
            top.add(thing.to_owned());
        }
        let first = |top: &Top<String>| top.first(2);
        assert_eq!(first(&top), [("a".to_owned(), 3), ("b".to_owned(), 2)]);
        assert!(top.is_exact());
        for i in 0..100 {
            top.add(format!("once {i}"));
        }
        assert_eq!(first(&top), [("a".to_owned(), 3), ("b".to_owned(), 2)]);
        assert!(!top.is_exact() && top.counts.len() <= 4);
    }
}
