//! Inverse document frequencies by term hash, in fixed point.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Fractional bits of a fixed-point idf: steps of 1/1024, finer than a count of documents is ever
/// known.
pub(crate) const FRACTION_BITS: u32 = 10;

/// The largest idf allowed in a dictionary. A ln of a ratio of documents stays below 50; the limit
/// makes every value fit in 32 bits.
pub(crate) const IDF_MAX: f64 = 1_000_000.0;

/// Returns `idf` in fixed point, rounded half away from zero.
pub(crate) fn to_fixed(idf: f64) -> u32 {
    (idf * f64::from(1 << FRACTION_BITS)).round() as u32
}

/// Returns the idf of a term that occurs in `df` of `n` documents: 1 + ln(n / df), as in
/// scikit-learn's `TfidfTransformer`.
///
/// ln(n / df) alone (Spärck Jones, A statistical interpretation of term specificity, Journal of
/// Documentation 28, 1972) is 0 for a term of every document: a text of such terms would have no
/// fingerprint. On two corpora of four it found five in a hundred fewer near-duplicates, on the
/// others about as many (the crate's README has the figures).
pub(crate) fn of_counts(n: u64, df: u64) -> u32 {
    to_fixed(1.0 + ln(n as f64 / df as f64))
}

/// Returns the natural logarithm of `x >= 1`, by additions, multiplications and divisions alone,
/// which IEEE 754 fixes to the last bit: the logarithm of the platform's library may differ, and a
/// fingerprint must not.
///
/// x = 2^e · m with m in [1, 2), and ln m = 2 artanh z = 2 (z + z³/3 + z⁵/5 + …) with
/// z = (m − 1)/(m + 1) < 1/3; the terms after z³⁹/39 are below 10^-20.
fn ln(x: f64) -> f64 {
    let (mut m, mut e) = (x, 0.0);
    while m >= 2.0 {
        m /= 2.0;
        e += 1.0;
    }
    let z = (m - 1.0) / (m + 1.0);
    let series = (0..20).rev().fold(0.0, |sum, k| sum * z * z + 1.0 / f64::from(2 * k + 1));
    e * std::f64::consts::LN_2 + 2.0 * z * series
}

/// Returns the value of a fixed-point idf.
pub(crate) fn to_float(fixed: u32) -> f64 {
    f64::from(fixed) / f64::from(1 << FRACTION_BITS)
}

/// A hasher for keys that are term hashes already.
#[derive(Default)]
struct KeepHash(u64);

impl Hasher for KeepHash {
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are u64");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// idf by term hash.
#[derive(Default)]
pub(crate) struct IdfTable {
    by_hash: HashMap<u64, u32, BuildHasherDefault<KeepHash>>,
    median: u32,
}

impl IdfTable {
    /// Creates a table of (term hash, fixed-point idf). The median is over all entries, as in
    /// jieba: the lower one for an even number. Of entries with one hash (terms with the same
    /// normal form) the lowest idf counts: the idf of the most frequent writing.
    pub(crate) fn new(entries: &[(u64, u32)]) -> Self {
        let mut by_hash = HashMap::with_capacity_and_hasher(entries.len(), BuildHasherDefault::default());
        for &(hash, idf) in entries {
            by_hash.entry(hash).and_modify(|lowest: &mut u32| *lowest = idf.min(*lowest)).or_insert(idf);
        }
        let mut values: Vec<u32> = entries.iter().map(|&(_, idf)| idf).collect();
        let middle = values.len().saturating_sub(1) / 2;
        let median = if values.is_empty() { 0 } else { *values.select_nth_unstable(middle).1 };
        Self { by_hash, median }
    }

    /// Returns the idf of a term in the dictionary.
    #[inline]
    pub(crate) fn get(&self, hash: u64) -> Option<u32> {
        self.by_hash.get(&hash).copied()
    }

    /// Returns the idf of any other term.
    #[inline]
    pub(crate) fn median(&self) -> u32 {
        self.median
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_point_rounds_to_the_nearest_step() {
        for (idf, fixed) in
            [(0.0, 0), (1.0, 1024), (0.884_742_026_19, 906), (0.0005, 1), (IDF_MAX, 1_024_000_000)]
        {
            assert_eq!(to_fixed(idf), fixed, "{idf}");
            assert!((to_float(fixed) - idf).abs() <= 1.0 / 2048.0);
        }
    }

    #[test]
    fn the_logarithm_is_right() {
        for (n, df) in [(1, 1), (2, 1), (3, 2), (1_125, 7), (1_000_000_007, 999), (u64::MAX, 1), (1 << 60, 3)]
        {
            let x = n as f64 / df as f64;
            assert!((ln(x) - x.ln()).abs() < 1e-13, "{x}: {} {}", ln(x), x.ln());
        }
        assert_eq!(ln(1.0).to_bits(), 0);
        // ln 2 = 0.6931…, ln 1125 = 7.0255…
        for (n, df, fixed) in [(1, 1, 1024), (1_125, 1_125, 1024), (10, 5, 1734), (1_125, 1, 8_218)] {
            assert_eq!(of_counts(n, df), fixed, "{n} {df}");
        }
    }

    #[test]
    fn the_median_is_the_lower_one_and_the_lowest_value_of_a_term_counts() {
        for (entries, median) in [
            (&[][..], 0),
            (&[(1, 9)], 9),
            (&[(1, 9), (2, 5)], 5),
            (&[(1, 9), (2, 5), (3, 7)], 7),
            (&[(1, 9), (1, 5), (1, 7), (2, 8)], 7),
        ] {
            assert_eq!(IdfTable::new(entries).median(), median, "{entries:?}");
        }
        let table = IdfTable::new(&[(1, 9), (1, 5), (1, 7)]);
        assert_eq!((table.get(1), table.get(2)), (Some(5), None));
    }
}
