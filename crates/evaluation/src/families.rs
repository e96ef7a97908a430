//! Verdicts compared with known families: groups of documents that are versions of one.

use std::collections::HashMap;

use crate::Pair;

/// Agreement of called near-duplicates with families.
///
/// Families are not the truth of texts: a version written anew shares little with the one before,
/// and two families may quote each other. The exact truth therefore has such figures, too, as the
/// reference for all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FamilyScore {
    /// Number of families of two and more documents.
    pub n_families: u64,
    /// Number of documents with a known family.
    pub n_documents: u64,
    /// Number of pairs of documents in one family.
    pub n_true: u64,
    /// Number of these pairs called near-duplicates.
    pub n_found: u64,
    /// Number of all pairs called near-duplicates among documents with known families.
    pub n_called: u64,
}

impl FamilyScore {
    /// Returns the share of the pairs in one family that was found; `None` if there are none.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        (self.n_true > 0).then(|| self.n_found as f64 / self.n_true as f64)
    }

    /// Returns the share of called pairs in one family; `None` if none was called.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        (self.n_called > 0).then(|| self.n_found as f64 / self.n_called as f64)
    }

    /// Returns the harmonic mean of recall and precision; `None` if one of them is missing, or both
    /// are 0.
    #[must_use]
    pub fn f1(&self) -> Option<f64> {
        let both = self.n_true + self.n_called;
        let has_both = self.n_true > 0 && self.n_called > 0 && self.n_found > 0;
        has_both.then(|| 2.0 * self.n_found as f64 / both as f64)
    }
}

/// Compares called pairs, each listed once, with the family of each document, by its number.
#[must_use]
pub fn families(family_of: &[Option<u32>], called: &[Pair]) -> FamilyScore {
    let mut sizes: HashMap<u32, u64> = HashMap::new();
    for &family in family_of.iter().flatten() {
        *sizes.entry(family).or_default() += 1;
    }
    let mut score = FamilyScore {
        n_families: sizes.values().filter(|&&n| n > 1).count() as u64,
        n_documents: sizes.values().sum(),
        n_true: sizes.values().map(|n| n * (n - 1) / 2).sum(),
        ..FamilyScore::default()
    };
    for pair in called {
        if let (Some(a), Some(b)) = (family_of[pair.a], family_of[pair.b]) {
            score.n_called += 1;
            score.n_found += u64::from(a == b);
        }
    }
    score
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_by_hand() {
        let family_of = [Some(0), Some(0), Some(0), Some(1), Some(1), Some(2), None];
        let pair = |a, b| Pair { a, b, similarity: 0.9 };
        // Two in one family, one across, one with a document of unknown family.
        let score = families(&family_of, &[pair(0, 1), pair(3, 4), pair(2, 5), pair(0, 6)]);
        let expected = FamilyScore { n_families: 2, n_documents: 6, n_true: 4, n_found: 2, n_called: 3 };
        assert_eq!(score, expected);
        assert_eq!((score.recall(), score.precision()), (Some(0.5), Some(2.0 / 3.0)));
        assert!((score.f1().unwrap() - 4.0 / 7.0).abs() < 1e-12);
        let nothing = families(&[None], &[]);
        assert_eq!((nothing.recall(), nothing.precision(), nothing.f1()), (None, None, None));
        assert_eq!(families(&family_of, &[pair(2, 5)]).f1(), None);
    }
}
