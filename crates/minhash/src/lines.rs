//! The bins of each band: runs of bins of its own, or lines of squares if the bins are too few.
//!
//! A square has `rows²` bins. Its lines are its rows, its columns and its diagonals (which go on at
//! the other side), each of `rows` bins; two lines have one bin in common at most. In this way `b`
//! bins make `3 · rows · ⌊b / rows²⌋` bands, and only `⌊b / rows⌋` without a bin in common. Lines
//! are dealt out in this order: the first row of each square, the second of each, …, then the
//! columns, then the diagonals. Fixed for good: stored keys are made of these bins.

use crate::Similarity;
use crate::curve::met_by_bands;

/// Rows, columns and diagonals.
const DIRECTIONS: u32 = 3;

/// The most rows of bands with bins in common. [`missed_in_square`] has 4^rows states; and where
/// bands want more rows, few bands suffice.
const SQUARE_ROWS_MAX: u32 = 5;

/// Bands of `rows` bins each over the first `bins`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lines {
    bands: u32,
    rows: u32,
    /// The number of squares; 0 if each band has bins of its own.
    squares: u32,
}

impl Lines {
    /// Returns `None` if `bins` are too few for the bands.
    pub(crate) fn new(bins: u32, bands: u32, rows: u32) -> Option<Self> {
        if u64::from(bands) * u64::from(rows) <= u64::from(bins) {
            return Some(Self { bands, rows, squares: 0 });
        }
        if rows > SQUARE_ROWS_MAX {
            return None;
        }
        let squares = bins / (rows * rows);
        (bands <= DIRECTIONS * rows * squares).then_some(Self { bands, rows, squares })
    }

    pub(crate) fn bands(&self) -> u32 {
        self.bands
    }

    pub(crate) fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns the bins of a band, in the order in which they are hashed.
    pub(crate) fn bins(&self, band: u32) -> impl Iterator<Item = usize> {
        let Self { rows, squares, .. } = *self;
        (0..rows).map(move |n| {
            if squares == 0 {
                return (band * rows + n) as usize;
            }
            let (square, line) = (band % squares, band / squares);
            let at = line % rows;
            let (x, y) = match line / rows {
                0 => (n, at),
                1 => (at, n),
                _ => ((at + n) % rows, n),
            };
            (square * rows * rows + y * rows + x) as usize
        })
    }

    /// Returns the probability that all bins of some band agree, with the similarity as the
    /// probability of each bin.
    pub(crate) fn met(&self, similarity: Similarity) -> f64 {
        let Self { bands, rows, squares } = *self;
        if squares == 0 {
            return met_by_bands(bands, rows, similarity);
        }
        let missed = |lines| missed_in_square(rows, lines, similarity.get());
        // The first squares have a line more.
        let (lines, more) = (bands / squares, bands % squares);
        let missed_in_all = missed(lines + 1).powi(more as i32) * missed(lines).powi((squares - more) as i32);
        1.0 - missed_in_all
    }
}

/// Returns the probability that none of the first `lines` of a square agrees in all its bins:
/// exactly, row after row, over the columns and diagonals that may still agree.
fn missed_in_square(rows: u32, lines: u32, agrees: f64) -> f64 {
    let used = |direction: u32| (1_usize << lines.saturating_sub(direction * rows).min(rows)) - 1;
    let all = (1_usize << rows) - 1;
    let mut states = vec![0.0; 1 << (2 * rows)];
    states[used(1) | used(2) << rows] = 1.0;
    for y in 0..rows {
        let mut next = vec![0.0; states.len()];
        for agreeing in 0..=all {
            if agreeing == all && used(0) >> y & 1 == 1 {
                continue;
            }
            let n = agreeing.count_ones() as i32;
            let probability = agrees.powi(n) * (1.0 - agrees).powi(rows as i32 - n);
            // The diagonal `at` has its bin of this row at `at + y`.
            let diagonals = (agreeing >> y | agreeing << (rows - y)) & all;
            for (state, &so_far) in states.iter().enumerate().filter(|(_, so_far)| **so_far > 0.0) {
                next[state & (agreeing | diagonals << rows)] += so_far * probability;
            }
        }
        states = next;
    }
    states[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn lines_have_bins_of_their_own_or_one_in_common() {
        for (bins, bands, rows) in
            [(80, 26, 3), (80, 72, 3), (80, 60, 4), (80, 45, 5), (64, 63, 3), (64, 48, 4)]
        {
            let lines = Lines::new(bins, bands, rows).unwrap();
            let of_bands: Vec<BTreeSet<usize>> = (0..bands).map(|band| lines.bins(band).collect()).collect();
            let in_common_max = usize::from(bands * rows > bins);
            for (n, a) in of_bands.iter().enumerate() {
                assert_eq!(a.len(), rows as usize, "a bin twice in band {n}");
                assert!(a.iter().all(|&bin| bin < bins as usize));
                assert!(of_bands[..n].iter().all(|b| a.intersection(b).count() <= in_common_max));
            }
        }
        for (bins, bands, rows) in [(80, 73, 3), (80, 61, 4), (80, 46, 5), (80, 14, 6), (8, 4, 3)] {
            assert_eq!(Lines::new(bins, bands, rows), None);
        }
    }

    /// The probability over all of the 2^9 and 2^16 ways in which the bins of a square can agree.
    #[test]
    fn what_is_met_is_counted_over_all_ways() {
        for (rows, bands) in [(2, 5), (3, 4), (3, 7), (3, 9), (4, 5), (4, 9), (4, 12)] {
            let lines = Lines::new(rows * rows, bands, rows).unwrap();
            assert_eq!(lines.squares, 1);
            let masks: Vec<u32> =
                (0..bands).map(|band| lines.bins(band).fold(0, |mask, bin| mask | 1 << bin)).collect();
            for similarity in [0.3, 0.5, 0.8, 1.0_f64] {
                let met: f64 = (0_u32..1 << (rows * rows))
                    .filter(|agreeing| masks.iter().any(|mask| agreeing & mask == *mask))
                    .map(|agreeing| {
                        let n = agreeing.count_ones() as i32;
                        similarity.powi(n) * (1.0 - similarity).powi((rows * rows) as i32 - n)
                    })
                    .sum();
                let computed = lines.met(Similarity::clamped(similarity));
                assert!((met - computed).abs() < 1e-12, "{rows} {bands} {similarity}: {met} {computed}");
            }
        }
    }

    /// Squares are independent of each other, and of some a line more is used.
    #[test]
    fn squares_multiply() {
        let at = Similarity::clamped(0.5);
        let missed = |bands, bins| 1.0 - Lines::new(bins, bands, 3).unwrap().met(at);
        let (one, two) = (missed(5, 9), missed(6, 9));
        assert!((missed(11, 18) - one * two).abs() < 1e-12 && (missed(10, 18) - one * one).abs() < 1e-12);
        // Bins in common find less than bins of one's own.
        let (apart, in_common) = (1.0 - met_by_bands(40, 3, at), missed(40, 80));
        assert!(in_common > apart && in_common < 2.5 * apart, "{in_common} {apart}");
    }
}
