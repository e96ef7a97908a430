//! The cuts of a store's key space, at which its regions fill evenly.

use std::fmt;

use super::{MAX_KEY_BITS, Table, TableScheme};

/// The error of a number of regions into which a scheme's keys cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitsError {
    /// The number of regions asked for.
    pub n_regions: u32,
    /// The greatest number of regions.
    pub n_regions_max: u32,
}

impl fmt::Display for SplitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} regions: this scheme's keys can be cut into 1 to {}",
            self.n_regions, self.n_regions_max
        )
    }
}

impl std::error::Error for SplitsError {}

impl TableScheme {
    /// Returns the segments at which `n_regions` regions begin, ascending: `n_regions - 1` of them,
    /// as the first region begins at the empty key. A region starts at the four big-endian bytes of
    /// its segment: no bucket is cut.
    ///
    /// Segments are right-aligned: a table of `b` key bits fills only `0..2^b` of the four bytes'
    /// range, and tables of different widths lie over each other. Evenly spaced splits would leave
    /// most regions empty. Here every region gets the same share of the rows of uniform
    /// fingerprints, as nearly as whole segments allow.
    ///
    /// # Errors
    /// [`SplitsError`] for no region, and for more than [`n_regions_max`](Self::n_regions_max).
    pub fn splits(&self, n_regions: u32) -> Result<Vec<u32>, SplitsError> {
        splits(&self.key_bits(), n_regions)
    }

    /// Returns the most regions that [`splits`](Self::splits) makes: a region holds at least the
    /// share of one of the fullest segments, those below `2^b` for every `b`. More regions would
    /// need two splits at one segment.
    #[must_use]
    pub fn n_regions_max(&self) -> u32 {
        n_regions_max(&self.key_bits())
    }

    fn key_bits(&self) -> Vec<u32> {
        self.tables().iter().map(Table::key_bits).collect()
    }
}

/// Returns the segments at which `n_regions` regions begin, but for the first, for tables of
/// `key_bits` bits each: see [`TableScheme::splits`].
///
/// # Errors
/// [`SplitsError`], as of [`TableScheme::splits`].
pub fn splits(key_bits: &[u32], n_regions: u32) -> Result<Vec<u32>, SplitsError> {
    let n_regions_max = n_regions_max(key_bits);
    if !(1..=n_regions_max).contains(&n_regions) {
        return Err(SplitsError { n_regions, n_regions_max });
    }
    let all = mass_below(key_bits, 1 << MAX_KEY_BITS);
    let splits = (1..n_regions).map(|region| {
        // The least segment with region / n_regions of the mass below it; multiplied out, nothing
        // is rounded.
        let (mut low, mut high) = (0, 1 << MAX_KEY_BITS);
        while low < high {
            let middle = low + (high - low) / 2;
            if mass_below(key_bits, middle) * u128::from(n_regions) >= all * u128::from(region) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        u32::try_from(low).expect("some mass lies at or above the last split, in a segment of 32 bits")
    });
    Ok(splits.collect())
}

/// Returns the most regions that [`splits`] makes: see [`TableScheme::n_regions_max`].
#[must_use]
pub fn n_regions_max(key_bits: &[u32]) -> u32 {
    let most = mass_below(key_bits, 1 << MAX_KEY_BITS) / mass_below(key_bits, 1);
    // 2^32, of a scheme whose keys all have 32 bits, is one too many for the type.
    u32::try_from(most).unwrap_or(u32::MAX)
}

/// Returns the mass of the rows of uniform fingerprints below `segment`; the rows of one table
/// weigh `2^32` together.
fn mass_below(key_bits: &[u32], segment: u64) -> u128 {
    let of_key = |&bits: &u32| u128::from(segment.min(1 << bits)) << (MAX_KEY_BITS - bits);
    key_bits.iter().map(of_key).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SCHEME_NAMES;
    use proptest::prelude::*;

    fn scheme(name: &str) -> TableScheme {
        name.parse().unwrap()
    }

    /// A cut of 32-bit keys into two, which needs all of `u32`.
    fn halves() -> TableScheme {
        TableScheme::new(
            "halves",
            crate::Distance::of_differing(1),
            &[(1, 0xffff_ffff_0000_0000), (2, 0x0000_0000_ffff_ffff)],
        )
        .unwrap()
    }

    /// Computed apart from this code, in exact fractions. Existing tables keep these splits.
    #[test]
    fn golden() {
        for (name, n_regions, expected) in [
            ("5c2", 1, &[][..]),
            ("5c2", 2, &[0x016d_b6dc]),
            ("5c2", 3, &[0x00f3_cf3d, 0x01e7_9e7a]),
            ("5c2", 4, &[0x00b6_db6e, 0x016d_b6dc, 0x0255_5556]),
            (
                "5c2",
                16,
                &[
                    0x002d_b6dc,
                    0x005b_6db7,
                    0x0089_2493,
                    0x00b6_db6e,
                    0x00e4_924a,
                    0x0112_4925,
                    0x0140_0000,
                    0x016d_b6dc,
                    0x019b_6db7,
                    0x01c9_2493,
                    0x01f6_db6e,
                    0x0255_5556,
                    0x02c0_0000,
                    0x032a_aaab,
                    0x0395_5556,
                ],
            ),
            ("4c1", 3, &[0x5556, 0xaaab]),
            ("4x4", 3, &[0x0555_5556, 0x0aaa_aaab]),
            ("t8", 3, &[0x0055_5556, 0x00aa_aaab]),
            ("t14", 3, &[0x5555_5556, 0xaaaa_aaab]),
        ] {
            assert_eq!(scheme(name).splits(n_regions).unwrap(), expected, "{name}, {n_regions} regions");
        }
        assert_eq!(halves().splits(4).unwrap(), [0x4000_0000, 0x8000_0000, 0xc000_0000]);
    }

    #[test]
    fn a_number_of_regions_that_cannot_be_is_refused() {
        for (name, n_regions_max) in
            [("5c2", 47_934_902), ("4c1", 65_536), ("4x4", 1 << 28), ("t8", 1 << 24), ("t14", u32::MAX)]
        {
            assert_eq!(scheme(name).n_regions_max(), n_regions_max, "{name}");
        }
        for n_regions in [0, 65_537, u32::MAX] {
            let error = SplitsError { n_regions, n_regions_max: 65_536 };
            assert_eq!(scheme("4c1").splits(n_regions), Err(error));
        }
        // At the limit every segment is a region.
        assert!(scheme("4c1").splits(65_536).unwrap().into_iter().eq(1..65_536));
    }

    /// The definition, with the shares in floating point: each region's is 1/n, give or take the
    /// weight of a segment at either end.
    fn check(scheme: &TableScheme, n_regions: u32) -> Result<(), TestCaseError> {
        let splits = scheme.splits(n_regions).unwrap();
        prop_assert_eq!(splits.len(), n_regions as usize - 1);
        prop_assert!(splits.iter().all(|&split| split > 0));
        prop_assert!(splits.windows(2).all(|pair| pair[0] < pair[1]), "ascending");

        let shares = scheme.tables().iter().map(|table| f64::from(table.key_bits()).exp2().recip());
        let n_tables = scheme.tables().len() as f64;
        let below =
            |segment: f64| shares.clone().map(|share| (segment * share).min(1.0)).sum::<f64>() / n_tables;
        let heaviest_segment = below(1.0);
        let starts = [0.0].into_iter().chain(splits.iter().map(|&split| f64::from(split)));
        let ends = splits.iter().map(|&split| below(f64::from(split))).chain([1.0]);
        for (start, end) in starts.zip(ends) {
            let off = end - below(start) - f64::from(n_regions).recip();
            prop_assert!(off.abs() <= heaviest_segment + 1e-9, "{}: off by {}", scheme.name(), off);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn regions_are_equal(n_regions in 1..800_u32) {
            for name in SCHEME_NAMES {
                check(&scheme(name), n_regions)?;
            }
            check(&halves(), n_regions)?;
        }
    }

    #[test]
    fn near_the_limit_splits_ascend() {
        for n_regions in [32_769, 65_521, 65_535, 65_536] {
            check(&scheme("4c1"), n_regions).unwrap();
        }
    }

    /// Counted, not computed: rows of random fingerprints fall evenly into the regions.
    #[test]
    fn rows_fall_evenly() {
        // splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
        let mut state = 6_u64;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            crate::Fingerprint(z ^ z >> 31)
        };
        for name in SCHEME_NAMES {
            let scheme = scheme(name);
            let splits = scheme.splits(16).unwrap();
            let mut n_rows = [0_u32; 16];
            for _ in 0..20_000 {
                for key in scheme.keys(next()) {
                    n_rows[splits.partition_point(|&split| split <= key.segment)] += 1;
                }
            }
            let mean = 20_000 * scheme.tables().len() as u32 / 16;
            for n in n_rows {
                assert!(n.abs_diff(mean) < mean / 20, "{name}: {n_rows:?}");
            }
        }
    }
}
