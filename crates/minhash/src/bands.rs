//! Bands of bins, of which one must agree for two sets to meet, and the 64 bits that filter the
//! sets met.

use std::fmt;

use crate::curve::{SUFFIX_BITS, kept_by_suffix};
use crate::hash::hash_words;
use crate::lines::Lines;
use crate::{Bins, Similarity};

/// A bucket: the number of a band above the first flag, and a hash of the low byte of each of its
/// bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BandKey {
    /// The flag of the band, 1 to 255.
    pub flag: u8,
    /// The hash of its bins.
    pub segment: u32,
}

/// Bands of so many rows each, over the first bins of a sketch, and a suffix from the next 64 bins.
///
/// Two sets *meet* if all bins of some band agree, and their suffixes differ in at most
/// [`suffix_distance_max`](Self::suffix_distance_max) bits. At similarity `s` the probability is
/// [`recall`](Self::recall): (1 − (1 − s^rows)^bands) · P(Bin(64, (1 − s) / 2) ≤ max distance) if
/// no two bands have a bin in common. A scheme [`over`](Self::over) fewer bins has bands with a bin
/// in common, and computes the loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BandScheme<const BINS: usize> {
    first_flag: u8,
    lines: Lines,
    /// The first bin of the suffix.
    band_bins: u32,
    suffix_distance_max: u32,
}

/// The reason why there is no such scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BandSchemeError {
    /// No bands, or bands of no rows.
    Nothing,
    /// Bands and suffix need more bins than a sketch has.
    Bins {
        /// Bins needed.
        needed: u64,
        /// Bins of the sketch.
        bins: usize,
    },
    /// The bins are too few for the bands, even with bins in common.
    Overlap {
        /// The number of bands asked for.
        bands: u32,
        /// Bins of each band.
        rows: u32,
        /// Bins for all bands.
        bins: u32,
    },
    /// The flags are not all from 1 to 255.
    Flags {
        /// The first flag.
        first: u8,
        /// The number of bands.
        bands: u32,
    },
    /// The distance is above the 64 bits of a suffix.
    Distance(u32),
}

impl fmt::Display for BandSchemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => write!(f, "a band scheme has at least one band of at least one row"),
            Self::Bins { needed, bins } => write!(
                f,
                "bands and suffix need {needed} bins and a sketch has {bins}: take fewer bands or fewer rows"
            ),
            Self::Overlap { bands, rows, bins } => write!(
                f,
                "{bins} bins do not make {bands} bands of {rows} rows that have at most one bin in common: take \
                 fewer bands or fewer rows"
            ),
            Self::Flags { first, bands } => write!(
                f,
                "{bands} bands from flag {first} on do not have flags from 1 to 255: take fewer bands or a lower flag"
            ),
            Self::Distance(distance) => {
                write!(
                    f,
                    "suffixes of {SUFFIX_BITS} bits cannot differ in {distance}: take at most {SUFFIX_BITS}"
                )
            }
        }
    }
}

impl std::error::Error for BandSchemeError {}

/// Returns the low byte of each bin: a signature keeps no more.
pub(crate) fn low_bytes<const BINS: usize>(bins: &Bins<BINS>) -> [u8; BINS] {
    bins.values().map(|value| value as u8)
}

impl BandScheme<256> {
    /// Returns the scheme of long documents: 16 bands of 5 rows, flags 64 to 79, at most 16 bits.
    /// It finds .9981 of the pairs at J = .8.
    #[must_use]
    pub fn long() -> Self {
        Self::new(64, 16, 5, 16).unwrap_or_else(|_| unreachable!("a test makes it"))
    }
}

impl BandScheme<128> {
    /// Returns the scheme of short documents: 16 bands of 4 rows, flags 128 to 143, at most 17
    /// bits. It finds .9997 of the pairs at J = .8.
    #[must_use]
    pub fn short() -> Self {
        Self::new(128, 16, 4, 17).unwrap_or_else(|_| unreachable!("a test makes it"))
    }
}

impl<const BINS: usize> BandScheme<BINS> {
    /// Creates a scheme of `bands` of `rows` each under the flags from `first_flag` on, and of
    /// suffixes that may differ in `suffix_distance_max` of 64 bits.
    ///
    /// # Errors
    /// See [`BandSchemeError`].
    pub fn new(
        first_flag: u8,
        bands: u32,
        rows: u32,
        suffix_distance_max: u32,
    ) -> Result<Self, BandSchemeError> {
        if bands == 0 || rows == 0 {
            return Err(BandSchemeError::Nothing);
        }
        let needed = u64::from(bands) * u64::from(rows);
        let fits = needed + SUFFIX_BITS as u64 <= BINS as u64;
        // A number above 32 bits does not fit, and is refused with the bins needed.
        let band_bins = u32::try_from(needed).unwrap_or(u32::MAX);
        if !fits {
            let needed = needed + SUFFIX_BITS as u64;
            return Err(BandSchemeError::Bins { needed, bins: BINS });
        }
        Self::over(first_flag, band_bins, bands, rows, suffix_distance_max)
    }

    /// Creates the same over the first `band_bins` bins, which may be more or fewer than the bands
    /// need. Bands have bins of their own if these suffice, else at most one bin in common with
    /// each other band. The suffix is made of the bins after `band_bins`.
    ///
    /// # Errors
    /// See [`BandSchemeError`].
    pub fn over(
        first_flag: u8,
        band_bins: u32,
        bands: u32,
        rows: u32,
        suffix_distance_max: u32,
    ) -> Result<Self, BandSchemeError> {
        if bands == 0 || rows == 0 {
            return Err(BandSchemeError::Nothing);
        }
        let needed = u64::from(band_bins) + SUFFIX_BITS as u64;
        if needed > BINS as u64 {
            return Err(BandSchemeError::Bins { needed, bins: BINS });
        }
        let lines = Lines::new(band_bins, bands, rows).ok_or(BandSchemeError::Overlap {
            bands,
            rows,
            bins: band_bins,
        })?;
        if first_flag == 0 || u64::from(first_flag) + u64::from(bands) > 256 {
            return Err(BandSchemeError::Flags { first: first_flag, bands });
        }
        if suffix_distance_max > SUFFIX_BITS as u32 {
            return Err(BandSchemeError::Distance(suffix_distance_max));
        }
        Ok(Self { first_flag, lines, band_bins, suffix_distance_max })
    }

    /// The flag of the first band; the others follow.
    #[must_use]
    pub fn first_flag(&self) -> u8 {
        self.first_flag
    }

    /// The number of bands: of rows under which a document is filed, and of ranges that a query
    /// reads.
    #[must_use]
    pub fn bands(&self) -> u32 {
        self.lines.bands()
    }

    /// The number of bins of a band, all of which must agree.
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.lines.rows()
    }

    /// The most bits in which suffixes may differ.
    #[must_use]
    pub fn suffix_distance_max(&self) -> u32 {
        self.suffix_distance_max
    }

    /// Returns the keys of a set, one a band, ascending by flag.
    #[must_use]
    pub fn keys(&self, bins: &Bins<BINS>) -> Vec<BandKey> {
        let bytes = low_bytes(bins);
        (0..self.bands()).map(|band| self.key(&bytes, band)).collect()
    }

    /// Returns the key of a band, from the [low byte](low_bytes) of each bin.
    pub(crate) fn key(&self, bytes: &[u8], band: u32) -> BandKey {
        let hash = self.lines.bins(band).fold(0, |hash, bin| hash_words(hash, u64::from(bytes[bin])));
        // Not a range from the first flag on: its end may be 256.
        BandKey { flag: self.first_flag + band as u8, segment: (hash >> 32) as u32 }
    }

    /// Returns the lowest bit of each of the 64 bins after those of the bands, the first bin's on
    /// top.
    #[must_use]
    pub fn suffix(&self, bins: &Bins<BINS>) -> u64 {
        let from = self.band_bins as usize;
        bins.values()[from..from + SUFFIX_BITS].iter().fold(0, |suffix, value| suffix << 1 | value & 1)
    }

    /// Returns true if two sets meet: in a band, and with suffixes that are near.
    #[must_use]
    pub fn meet(&self, a: &Bins<BINS>, b: &Bins<BINS>) -> bool {
        (self.suffix(a) ^ self.suffix(b)).count_ones() <= self.suffix_distance_max
            && self.keys(a).iter().zip(&self.keys(b)).any(|(a, b)| a == b)
    }

    /// Returns the probability that two sets of this similarity meet: in a band, and with suffixes
    /// that are near.
    #[must_use]
    pub fn recall(&self, similarity: Similarity) -> f64 {
        self.met_in_a_band(similarity) * kept_by_suffix(self.suffix_distance_max, similarity)
    }

    /// Returns the probability that two sets of this similarity agree in all bins of some band,
    /// whatever their suffixes.
    #[must_use]
    pub fn met_in_a_band(&self, similarity: Similarity) -> f64 {
        self.lines.met(similarity)
    }
}

impl<const BINS: usize> fmt::Display for BandScheme<BINS> {
    /// Writes bands, rows and distance, as `16x5-16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}-{}", self.bands(), self.rows(), self.suffix_distance_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch<const BINS: usize>(seed: u64, elements: std::ops::Range<u64>) -> Bins<BINS> {
        Bins::of(&elements.map(|i| hash_words(i, seed)).collect::<Vec<_>>()).unwrap()
    }

    /// Fixed: stored rows are made of these.
    #[test]
    fn golden_vectors() {
        let (long, short) = (BandScheme::long(), BandScheme::short());
        let shown = |keys: Vec<BandKey>, suffix: u64| {
            let keys: Vec<_> = keys.iter().map(|key| format!("{}:{:08x}", key.flag, key.segment)).collect();
            format!("{} {suffix:016x}\n", keys.join(" "))
        };
        let (of_long, of_short) = (sketch(0, 0..300), sketch(0, 0..20));
        let lines = [
            format!("{long} {}", shown(long.keys(&of_long), long.suffix(&of_long))),
            format!("{short} {}", shown(short.keys(&of_short), short.suffix(&of_short))),
        ];
        assert_eq!(lines.concat(), include_str!("golden_keys.txt"));
    }

    #[test]
    fn bad_schemes_are_refused() {
        for (flag, bands, rows, distance, expected) in [
            (1, 0, 5, 15, BandSchemeError::Nothing),
            (1, 16, 0, 15, BandSchemeError::Nothing),
            (1, 39, 5, 15, BandSchemeError::Bins { needed: 259, bins: 256 }),
            (1, u32::MAX, u32::MAX, 15, BandSchemeError::Bins { needed: 18446744065119617089, bins: 256 }),
            (0, 16, 5, 15, BandSchemeError::Flags { first: 0, bands: 16 }),
            (241, 16, 5, 15, BandSchemeError::Flags { first: 241, bands: 16 }),
            (1, 16, 5, 65, BandSchemeError::Distance(65)),
        ] {
            assert_eq!(BandScheme::<256>::new(flag, bands, rows, distance), Err(expected));
        }
        for (band_bins, bands, rows, expected) in [
            (80, 73, 3, BandSchemeError::Overlap { bands: 73, rows: 3, bins: 80 }),
            (80, 14, 6, BandSchemeError::Overlap { bands: 14, rows: 6, bins: 80 }),
            (193, 16, 5, BandSchemeError::Bins { needed: 257, bins: 256 }),
        ] {
            assert_eq!(BandScheme::<256>::over(1, band_bins, bands, rows, 15), Err(expected));
        }
        let last = BandScheme::<256>::new(240, 16, 5, 15).unwrap();
        assert_eq!(last.keys(&sketch(0, 0..9)).last().map(|key| key.flag), Some(255));
        assert!(
            BandScheme::<128>::new(1, 16, 4, 64).is_ok() && BandScheme::<128>::new(1, 13, 5, 64).is_err()
        );
    }

    /// Pairs of all similarities meet as often as computed.
    #[test]
    fn the_curve_is_true() {
        const SEEDS: u64 = 600;
        fn check<const BINS: usize>(scheme: BandScheme<BINS>, n: u64, shared: u64) {
            let own = (n - shared) / 2;
            let met = (0..SEEDS)
                .map(|seed| (sketch(seed, 0..shared + own), sketch(seed, own..n)))
                .filter(|(a, b)| scheme.meet(a, b))
                .count() as f64
                / SEEDS as f64;
            let computed = scheme.recall(Similarity::clamped(shared as f64 / n as f64));
            let deviation = (computed * (1.0 - computed) / SEEDS as f64).sqrt();
            assert!(
                (met - computed).abs() < 4.0 * deviation + 0.012,
                "{scheme} {shared}/{n}: {met} {computed}"
            );
        }
        for (n, shared) in [(100, 80), (1000, 800), (100, 60), (500, 250), (1000, 300), (300, 270), (60, 30)]
        {
            check(BandScheme::long(), n, shared);
        }
        for (n, shared) in [(5, 4), (10, 8), (10, 6), (20, 10), (40, 32), (40, 10), (12, 10), (3, 1), (3, 2)]
        {
            check(BandScheme::short(), n, shared);
        }
    }

    #[test]
    fn recall_of_the_defaults() {
        let at = |similarity| Similarity::clamped(similarity);
        for (similarity, long, short) in [(0.8, 0.9981, 0.9997), (0.9, 1.0, 1.0), (0.6, 0.6351, 0.8247)] {
            let (of_long, of_short) =
                (BandScheme::long().recall(at(similarity)), BandScheme::short().recall(at(similarity)));
            assert!(
                (of_long - long).abs() < 1e-4 && (of_short - short).abs() < 1e-4,
                "{similarity}: {of_long} {of_short}"
            );
        }
    }
}
