//! Agreement of thresholds with families: recall and precision of all pairs from a similarity on.

use evaluation::{FamilyScore, Pair, families};
use minhash::Similarity;

use super::super::texts::Texts;
use super::super::truth::Related;

/// The thresholds tried, in hundredths.
const TRIED: std::ops::RangeInclusive<u32> = 50..=95;
const STEP: usize = 5;

/// Agreement of each threshold with families, by the exact pairs.
pub(super) struct Thresholds(pub(super) Vec<(Similarity, FamilyScore)>);

impl Thresholds {
    /// Tries the thresholds from which on all pairs are known.
    pub(super) fn new(texts: &Texts, related: &Related) -> Self {
        let tried = TRIED.step_by(STEP).map(|hundredths| f64::from(hundredths) / 100.0);
        let score = |least: f64| {
            let called: Vec<Pair> =
                related.pairs.iter().filter(|pair| pair.similarity >= least).copied().collect();
            (Similarity::clamped(least), families(&texts.families, &called))
        };
        Self(tried.filter(|&least| least >= related.from).map(score).collect())
    }

    /// The threshold with the best F1, the greatest of equally good ones; `None` if no family has
    /// two similar documents.
    pub(super) fn best(&self) -> Option<Similarity> {
        let scored = self.0.iter().filter_map(|(least, score)| Some((*least, score.f1()?)));
        scored.max_by(|x, y| x.1.total_cmp(&y.1).then(x.0.cmp(&y.0))).map(|(least, _)| least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_by_f1_and_of_equals_the_greatest() {
        let score =
            |n_found, n_called| FamilyScore { n_true: 10, n_found, n_called, ..FamilyScore::default() };
        let at = |share: f64, score| (Similarity::clamped(share), score);
        let of = |scores: &[(Similarity, FamilyScore)]| Thresholds(scores.to_vec()).best();
        let scores =
            [at(0.5, score(10, 40)), at(0.6, score(9, 10)), at(0.65, score(9, 10)), at(0.9, score(2, 2))];
        assert_eq!(of(&scores), Some(Similarity::clamped(0.65)));
        assert_eq!(of(&[at(0.5, score(0, 3))]), None);
    }
}
