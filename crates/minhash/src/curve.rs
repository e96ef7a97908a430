//! The S-curve: the probability that two sets of a similarity meet.

use crate::Similarity;

/// Bits of a suffix, each from a bin of its own.
pub(crate) const SUFFIX_BITS: usize = 64;

/// Returns the probability that all rows of some band agree: 1 − (1 − s^rows)^bands (Leskovec,
/// Rajaraman and Ullman, "Mining of Massive Datasets", section 3.4.2).
#[must_use]
pub fn met_by_bands(bands: u32, rows: u32, similarity: Similarity) -> f64 {
    // 1 - (1 - x)^bands without loss for small x.
    let agreeing = similarity.get().powf(f64::from(rows));
    -(f64::from(bands) * (-agreeing).ln_1p()).exp_m1()
}

/// Returns the probability that suffixes differ in at most `distance_max` of 64 bits. The bins of a
/// bit differ with 1 − s, and the bit then differs half of the time.
#[must_use]
pub fn kept_by_suffix(distance_max: u32, similarity: Similarity) -> f64 {
    let differs = (1.0 - similarity.get()) / 2.0;
    let n = SUFFIX_BITS as u32;
    let mut probability = (1.0 - differs).powf(f64::from(n));
    let mut sum = 0.0;
    for bits in 0..=distance_max.min(n) {
        sum += probability;
        probability *= f64::from(n - bits) / f64::from(bits + 1) * differs / (1.0 - differs);
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(similarity: f64) -> Similarity {
        Similarity::clamped(similarity)
    }

    #[test]
    fn known_points() {
        for (bands, rows, similarity, expected) in [
            (16, 5, 0.8, 0.99826),
            (20, 6, 0.8, 0.99771),
            (14, 5, 0.8, 0.99614),
            (12, 4, 0.8, 0.99821),
            (9, 3, 0.8, 0.99843),
            (16, 5, 0.0, 0.0),
            (16, 5, 1.0, 1.0),
            (16, 5, 1e-4, 1.6e-19),
        ] {
            let met = met_by_bands(bands, rows, at(similarity));
            assert!((met - expected).abs() <= 1e-5 * expected, "{bands} {rows} {similarity}: {met}");
        }
        for (distance, similarity, expected) in [
            (15, 0.8, 0.99955),
            (15, 0.5, 0.4521),
            (15, 0.3, 0.0324),
            (64, 0.3, 1.0),
            (0, 1.0, 1.0),
            (0, 0.0, 0.0),
        ] {
            let kept = kept_by_suffix(distance, at(similarity));
            assert!((kept - expected).abs() < 5e-4, "{distance} {similarity}: {kept}");
        }
    }
}
