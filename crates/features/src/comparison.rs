//! The comparison of two fingerprints, term by term.

use std::cmp::Ordering;
use std::collections::HashMap;

use simhash::{Fingerprint, Weight};

use crate::{Analysis, Term};

/// Two analyses side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The bits in which the fingerprints differ, the most significant first.
    pub bits: Vec<u32>,
    /// The terms of both texts, sorted by their greater weight on either side, heaviest first.
    pub terms: Vec<ComparedTerm>,
}

/// A term of either text.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedTerm {
    /// The term in normal form.
    pub text: String,
    /// The hash of the term: its bits are the term's votes.
    pub hash: u64,
    /// The weight in a; 0 for a term that does not count there.
    pub weight_a: Weight,
    /// The weight in b; 0 for a term that does not count there.
    pub weight_b: Weight,
    /// The pushes to the bits that differ; empty for a term of the same weight in both.
    pub pushes: Vec<Push>,
}

/// The effect of a term's difference of weights on one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Push {
    /// The bit, 0 for the least significant.
    pub bit: u32,
    /// True if the push is from a's side to b's, false for the other way.
    pub towards_b: bool,
}

impl Comparison {
    /// Compares two texts. `None` if one has no features.
    #[must_use]
    pub fn new(a: &Analysis, b: &Analysis) -> Option<Self> {
        let from = a.fingerprint?;
        let differing = from.0 ^ b.fingerprint?.0;
        let bits: Vec<u32> = (0..Fingerprint::BITS).rev().filter(|bit| differing >> bit & 1 == 1).collect();
        let mut by_hash: HashMap<u64, ComparedTerm> = HashMap::new();
        for term in &a.terms {
            by_hash.entry(term.hash).or_insert_with(|| unweighed(term)).weight_a = term.weight;
        }
        for term in &b.terms {
            by_hash.entry(term.hash).or_insert_with(|| unweighed(term)).weight_b = term.weight;
        }
        let mut terms: Vec<ComparedTerm> = by_hash.into_values().collect();
        // Terms that differ say more than those both sides share at the same weight.
        terms.sort_by_key(|t| {
            (std::cmp::Reverse(t.weight_a.0.max(t.weight_b.0)), t.weight_a.0 == t.weight_b.0, t.hash)
        });
        for term in &mut terms {
            term.pushes = bits.iter().filter_map(|&bit| term.push(bit, from)).collect();
        }
        Some(Self { bits, terms })
    }
}

fn unweighed(term: &Term) -> ComparedTerm {
    ComparedTerm {
        text: term.text.clone(),
        hash: term.hash,
        weight_a: Weight(0),
        weight_b: Weight(0),
        pushes: Vec::new(),
    }
}

impl ComparedTerm {
    fn push(&self, bit: u32, a: Fingerprint) -> Option<Push> {
        let heavier_in_b = match self.weight_b.0.cmp(&self.weight_a.0) {
            Ordering::Equal => return None,
            order => order.is_gt(),
        };
        // A bit that is 1 in a moves to b's side when ones lose weight or zeros gain it.
        let votes_one = self.hash >> bit & 1 == 1;
        let is_one_in_a = a.0 >> bit & 1 == 1;
        Some(Push { bit, towards_b: (votes_one == heavier_in_b) != is_one_in_a })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dictionaries, Fingerprinter, Recipe};

    /// The sums of all pushes carry each differing bit over, and no other bit has any.
    #[test]
    fn the_pushes_explain_the_bits() {
        let fingerprinter = Fingerprinter::new(Recipe::default(), &Dictionaries::default()).unwrap();
        let a = fingerprinter.analyze("你妈妈喊你回家吃饭哦，回家罗回家罗");
        let b = fingerprinter.analyze("你妈妈叫你回家吃饭啦，回家罗回家罗");
        let compared = Comparison::new(&a, &b).unwrap();
        assert_eq!(compared.bits.len(), 10);
        for &bit in &compared.bits {
            let moved: i128 = compared
                .terms
                .iter()
                .flat_map(|term| term.pushes.iter().map(move |push| (term, push)))
                .filter(|(_, push)| push.bit == bit)
                .map(|(term, push)| {
                    let by = i128::from(term.weight_a.0.abs_diff(term.weight_b.0));
                    if push.towards_b { by } else { -by }
                })
                .sum();
            let margins = a.margins[bit as usize].abs() + b.margins[bit as usize].abs();
            assert_eq!(moved, margins, "bit {bit}");
        }
        let same = Comparison::new(&a, &a).unwrap();
        assert!(same.bits.is_empty() && same.terms.iter().all(|term| term.pushes.is_empty()));
        assert_eq!(Comparison::new(&a, &fingerprinter.analyze("……")), None);
    }
}
