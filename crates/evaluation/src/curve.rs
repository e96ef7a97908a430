//! Share of pairs found at each similarity, counted in narrow bins.

use crate::Pair;

/// Width of a bin.
const WIDTH: f64 = 0.025;

/// Tolerance for rounding.
const SLACK: f64 = 1e-9;

/// Ends of the middle 95 % of a normal distribution, in standard deviations from the mean.
const DEVIATIONS: f64 = 1.959_964;

/// Counts of the pairs in a bin of similarity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// Least similarity in the bin.
    pub from: f64,
    /// First similarity beyond the bin; 1 for the last bin, which holds pairs of equal sets.
    pub to: f64,
    /// Mean similarity of the pairs, or the middle of the bin if it has none.
    pub mean: f64,
    /// Number of pairs.
    pub n_pairs: u64,
    /// Number of pairs that were compared.
    pub n_proposed: u64,
    /// Number of pairs called near-duplicates.
    pub n_called: u64,
    /// Mean of the promised probabilities of the pairs.
    pub promised: f64,
}

/// Treatment of a pair by the detector.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fate {
    /// True if the pair was compared.
    pub is_proposed: bool,
    /// True if the pair was called a near-duplicate.
    pub is_called: bool,
    /// Promised probability of a comparison, from 0 to 1.
    pub promised: f64,
}

/// Counts pairs of a similarity of `from` and more in bins; `fate` returns the treatment of a pair
/// by its place in `pairs`.
#[must_use]
pub fn curve(pairs: &[Pair], from: f64, fate: impl Fn(usize) -> Fate) -> Vec<Bin> {
    let from = from.clamp(0.0, 1.0);
    let n_bins = ((1.0 - from) / WIDTH - SLACK).ceil().max(0.0) as usize;
    // Rounded, as shown to the user.
    let border = |n: usize| ((from + n as f64 * WIDTH) * 1e6).round().min(1e6) / 1e6;
    let mut bins: Vec<Bin> =
        (0..=n_bins).map(|n| Bin { from: border(n), to: border(n + 1), ..Bin::default() }).collect();
    for (place, pair) in pairs.iter().enumerate() {
        if pair.similarity < from - SLACK * WIDTH {
            continue;
        }
        let number = if pair.similarity >= 1.0 - SLACK {
            n_bins
        } else {
            // The last bin is for equality, so rounding must not go beyond the one before.
            (((pair.similarity - from) / WIDTH + SLACK).floor() as usize).min(n_bins.saturating_sub(1))
        };
        let Fate { is_proposed, is_called, promised } = fate(place);
        let bin = &mut bins[number];
        bin.n_pairs += 1;
        bin.n_proposed += u64::from(is_proposed);
        bin.n_called += u64::from(is_called);
        bin.mean += pair.similarity;
        bin.promised += promised;
    }
    for bin in &mut bins {
        if bin.n_pairs > 0 {
            bin.mean /= bin.n_pairs as f64;
            bin.promised /= bin.n_pairs as f64;
        } else {
            bin.mean = f64::midpoint(bin.from, bin.to);
        }
    }
    bins
}

/// Returns the 95 % confidence interval of a share counted as `n` of `whole` (Wilson 1927,
/// "Probable inference, the law of succession, and statistical inference"); `None` if nothing was
/// counted.
#[must_use]
pub fn confidence(n: u64, whole: u64) -> Option<(f64, f64)> {
    if whole == 0 {
        return None;
    }
    let (share, whole) = (n as f64 / whole as f64, whole as f64);
    let squared = DEVIATIONS * DEVIATIONS;
    let middle = share + squared / (2.0 * whole);
    let half = DEVIATIONS * (share * (1.0 - share) / whole + squared / (4.0 * whole * whole)).sqrt();
    let end = |value: f64| (value / (1.0 + squared / whole)).clamp(0.0, 1.0);
    Some((end(middle - half), end(middle + half)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_is_in_one_bin() {
        let at = |similarity| Pair { a: 0, b: 1, similarity };
        let pairs = [0.5, 0.51, 0.525, 0.8, 0.999, 1.0, 1.0].map(at);
        let fate =
            |place| Fate { is_proposed: place != 1, is_called: place > 2, promised: place as f64 / 10.0 };
        let bins = curve(&pairs, 0.5, fate);
        assert_eq!(bins.len(), 21);
        let counted = |bin: &Bin| (bin.n_pairs, bin.n_proposed, bin.n_called);
        assert_eq!(
            [0, 1, 12, 19, 20].map(|n| counted(&bins[n])),
            [(2, 1, 0), (1, 1, 0), (1, 1, 1), (1, 1, 1), (2, 2, 2),]
        );
        assert_eq!(bins.iter().map(|bin| bin.n_pairs).sum::<u64>(), 7);
        assert!((bins[0].mean - 0.505).abs() < 1e-9 && (bins[2].mean - 0.5625).abs() < 1e-9);
        assert!((bins[0].promised - 0.05).abs() < 1e-9 && (bins[20].promised - 0.55).abs() < 1e-9);
        assert_eq!((bins[1].from, bins[20].from, bins[20].to), (0.525, 1.0, 1.0));
        // Pairs below are in none, those a rounding below in the first.
        let bins = curve(&[0.2, 0.499, 0.5 - 1e-12, 0.51].map(at), 0.5, |_| Fate::default());
        assert_eq!((bins[0].n_pairs, bins.iter().map(|bin| bin.n_pairs).sum::<u64>()), (2, 2));
        assert_eq!(curve(&[at(0.9), at(1.0)], 1.0, |_| Fate::default())[0].n_pairs, 1);
        // Only equality is requested.
        assert_eq!(curve(&[at(1.0)], 1.0, |_| Fate::default()).len(), 1);
    }

    #[test]
    fn known_intervals() {
        for (n, whole, least, greatest) in
            [(0, 10, 0.0, 0.277_533), (5, 10, 0.236_593, 0.763_407), (99, 100, 0.945_510, 0.998_232)]
        {
            let (from, to) = confidence(n, whole).unwrap();
            assert!((from - least).abs() < 1e-4 && (to - greatest).abs() < 1e-4, "{n}/{whole}: {from} {to}");
        }
        assert_eq!(confidence(0, 0), None);
    }
}
