//! Called near-duplicates compared with the true ones.

use std::collections::HashSet;

use crate::Pair;

/// The truth: all sufficiently similar pairs of a corpus, and the lengths of its documents.
#[derive(Clone, Copy, Debug)]
pub struct Truth<'a> {
    /// All pairs with a similarity of at least `least`.
    pub pairs: &'a [Pair],
    /// Length of each document, in characters.
    pub lengths: &'a [usize],
    /// Requested least similarity of near-duplicates. A called pair below it is wrong.
    pub least: f64,
}

/// Counts of pairs: of all, or of one band.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Band {
    /// Least value in the band: a similarity, or the length of the shorter document in characters.
    pub from: f64,
    /// First value beyond the band.
    pub to: f64,
    /// Number of near-duplicates.
    pub n_true: u64,
    /// Number of near-duplicates that were called so.
    pub n_found: u64,
    /// Number of pairs called near-duplicates.
    pub n_called: u64,
    /// Number of called pairs below the least similarity.
    pub n_below: u64,
}

impl Band {
    /// Returns the share of the near-duplicates that was found; `None` if there are none.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        share(self.n_found, self.n_true)
    }

    /// Returns the share of the called pairs that are near-duplicates; `None` if none was called.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        share(self.n_called - self.n_below, self.n_called)
    }

    /// Returns the harmonic mean of recall and precision; `None` if one of them is missing, or both
    /// are 0.
    #[must_use]
    pub fn f1(&self) -> Option<f64> {
        let (recall, precision) = (self.recall()?, self.precision()?);
        (recall + precision > 0.0).then(|| 2.0 * recall * precision / (recall + precision))
    }

    fn holds(&self, value: f64) -> bool {
        (self.from..self.to).contains(&value)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Quality of a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// Counts of all pairs.
    pub whole: Band,
    /// Counts by similarity, ascending.
    pub by_similarity: Vec<Band>,
    /// Counts by the length of the shorter document, ascending.
    pub by_length: Vec<Band>,
    /// Near-duplicates not found, the most similar first.
    pub misses: Vec<Pair>,
    /// Called pairs below the least similarity, the least similar first.
    pub mistakes: Vec<Pair>,
}

/// Borders of the bands of similarity.
const SIMILARITIES: [f64; 13] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0];
/// Borders of the bands of length, in characters.
const LENGTHS: [f64; 9] = [0.0, 9.0, 17.0, 33.0, 65.0, 129.0, 257.0, 1_025.0, 4_097.0];

/// Compares the pairs called near-duplicates, each listed once with its true similarity, with the
/// truth.
#[must_use]
pub fn score(truth: &Truth<'_>, called: &[Pair]) -> Scores {
    let by_numbers: HashSet<(usize, usize)> = called.iter().map(|pair| (pair.a, pair.b)).collect();
    let mut scores = Scores {
        whole: Band { to: f64::INFINITY, ..Band::default() },
        by_similarity: bands(&SIMILARITIES),
        by_length: bands(&LENGTHS),
        misses: Vec::new(),
        mistakes: Vec::new(),
    };
    for pair in truth.pairs {
        let is_found = by_numbers.contains(&(pair.a, pair.b));
        scores.count(truth, pair, |band| {
            band.n_true += 1;
            band.n_found += u64::from(is_found);
        });
        if !is_found {
            scores.misses.push(*pair);
        }
    }
    for pair in called {
        let is_wrong = pair.similarity < truth.least;
        scores.count(truth, pair, |band| {
            band.n_called += 1;
            band.n_below += u64::from(is_wrong);
        });
        if is_wrong {
            scores.mistakes.push(*pair);
        }
    }
    let by_place = |pair: &Pair| (pair.a, pair.b);
    scores.misses.sort_by(|x, y| y.similarity.total_cmp(&x.similarity).then(by_place(x).cmp(&by_place(y))));
    scores.mistakes.sort_by(|x, y| x.similarity.total_cmp(&y.similarity).then(by_place(x).cmp(&by_place(y))));
    scores
}

impl Scores {
    fn count(&mut self, truth: &Truth<'_>, pair: &Pair, count: impl Fn(&mut Band)) {
        let length = truth.lengths[pair.a].min(truth.lengths[pair.b]) as f64;
        count(&mut self.whole);
        for (bands, value) in [(&mut self.by_similarity, pair.similarity), (&mut self.by_length, length)] {
            if let Some(band) = bands.iter_mut().find(|band| band.holds(value)) {
                count(band);
            }
        }
    }
}

/// Returns a band from each border to the next; the last one has no end.
fn bands(borders: &[f64]) -> Vec<Band> {
    let ends = borders[1..].iter().copied().chain([f64::INFINITY]);
    borders.iter().zip(ends).map(|(&from, to)| Band { from, to, ..Band::default() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn pair(a: usize, b: usize, similarity: f64) -> Pair {
        Pair { a, b, similarity }
    }

    #[test]
    fn every_pair_counts_once_in_each_row_of_bands() {
        let pairs = [pair(0, 1, 1.0), pair(0, 2, 0.8), pair(1, 2, 0.85)];
        let truth = Truth { pairs: &pairs, lengths: &[5, 20, 300, 9_000], least: 0.8 };
        let called = [pair(0, 1, 1.0), pair(2, 3, 0.1), pair(1, 3, 0.6), pair(0, 3, 0.4)];
        let scores = score(&truth, &called);
        assert_eq!(scores.whole.recall(), Some(1.0 / 3.0));
        assert_eq!(scores.whole.precision(), Some(0.25));
        assert!((scores.whole.f1().unwrap() - 2.0 / 7.0).abs() < 1e-12);
        for bands in [&scores.by_similarity, &scores.by_length] {
            let sum = |of: fn(&Band) -> u64| bands.iter().map(of).sum::<u64>();
            assert_eq!(sum(|band| band.n_true), 3);
            assert_eq!(sum(|band| band.n_found), 1);
            assert_eq!(sum(|band| band.n_called), 4);
            assert_eq!(sum(|band| band.n_below), 3);
        }
        // The most similar miss comes first, and the least similar mistake.
        assert_eq!(scores.misses, [pair(1, 2, 0.85), pair(0, 2, 0.8)]);
        assert_eq!(scores.mistakes, [pair(2, 3, 0.1), pair(0, 3, 0.4), pair(1, 3, 0.6)]);
        assert_eq!(scores.by_length[0].n_true, 2);
        assert_eq!(scores.by_similarity.last().unwrap().n_true, 1);
    }

    #[test]
    fn nothing_to_find_is_no_recall() {
        let scores = score(&Truth { pairs: &[], lengths: &[], least: 0.8 }, &[]);
        assert_eq!((scores.whole.recall(), scores.whole.precision(), scores.whole.f1()), (None, None, None));
    }
}
