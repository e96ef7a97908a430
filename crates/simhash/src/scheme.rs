//! Table schemes: the bits that must agree for two fingerprints to meet in a bucket.

mod catalog;
mod proof;
mod splits;

use std::fmt;
use std::str::FromStr;

use crate::{BucketKey, Distance, Facet, Fingerprint, RowKey, RowKeyError};

pub use catalog::SCHEME_NAMES;
pub use splits::{SplitsError, n_regions_max, splits};

/// The most bits of a key, which is stored in four bytes.
pub const MAX_KEY_BITS: u32 = 32;

/// The greatest distance that a scheme may cover.
const MAX_DISTANCE_LIMIT: u32 = 7;

/// One table: the bits that must agree, and the flag of the table in row keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    flag: u8,
    mask: u64,
    /// One entry for each run of neighbouring bits in `mask`, derived from the mask: the key is the
    /// sum of `(bits >> shift) & mask` over the runs.
    runs: Box<[Run]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Run {
    shift: u32,
    mask: u32,
}

impl Table {
    fn new(flag: u8, mask: u64) -> Result<Self, SchemeError> {
        if flag == 0 {
            return Err(SchemeError::ZeroFlag);
        }
        if !(1..=MAX_KEY_BITS).contains(&mask.count_ones()) {
            return Err(SchemeError::KeyBits { flag, bits: mask.count_ones() });
        }
        let mut runs = Vec::new();
        let (mut rest, mut filled) = (mask, 0);
        while rest != 0 {
            let low = rest.trailing_zeros();
            let len = (rest >> low).trailing_ones();
            let ones = u64::MAX >> (u64::BITS - len);
            rest &= !(ones << low);
            // At most MAX_KEY_BITS ones in all, so the shifted run fits.
            runs.push(Run { shift: low - filled, mask: (ones << filled) as u32 });
            filled += len;
        }
        Ok(Self { flag, mask, runs: runs.into_boxed_slice() })
    }

    /// The number of the table in row keys, 1 to 255.
    #[must_use]
    pub fn flag(&self) -> u8 {
        self.flag
    }

    /// The bits that must agree.
    #[must_use]
    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// The number of bits of the key, 1 to 32.
    #[must_use]
    pub fn key_bits(&self) -> u32 {
        self.mask.count_ones()
    }

    /// Returns the masked bits of `fingerprint`, moved together in their order and right-aligned.
    #[inline]
    #[must_use]
    pub fn segment(&self, fingerprint: Fingerprint) -> u32 {
        self.runs.iter().fold(0, |segment, run| segment | (fingerprint.0 >> run.shift) as u32 & run.mask)
    }

    /// Returns the bucket of `fingerprint`.
    #[inline]
    #[must_use]
    pub fn key(&self, fingerprint: Fingerprint) -> BucketKey {
        BucketKey { flag: self.flag, segment: self.segment(fingerprint) }
    }
}

/// A set of tables in which any two fingerprints within [`max_distance`](Self::max_distance) share
/// a bucket.
///
/// This is proved, not promised: [`TableScheme::new`] refuses tables that would miss a pair. The
/// parsed form of a name (`"5c2".parse()`) is one of the [`SCHEME_NAMES`]; the default is `5c2`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableScheme {
    name: String,
    max_distance: Distance,
    tables: Box<[Table]>,
    proof_steps: u32,
}

/// The reason why a list of masks is no scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemeError {
    /// No scheme of this name is known.
    UnknownName(String),
    /// More than 7 bits.
    MaxDistance(Distance),
    /// Flag 0 is kept free.
    ZeroFlag,
    /// Two tables with one flag.
    RepeatedFlag(u8),
    /// A key of no bits, or of more than [`MAX_KEY_BITS`].
    KeyBits {
        /// The flag of the table.
        flag: u8,
        /// The number of bits of the mask.
        bits: u32,
    },
    /// Two fingerprints that differ in exactly these bits share no bucket.
    Misses {
        /// At most `max_distance` bits, which together touch every mask.
        differing: u64,
    },
    /// The search neither found such bits nor ruled them out within its bound on steps.
    Unproved {
        /// The number of steps made.
        steps: u32,
    },
}

impl fmt::Display for SchemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownName(name) => {
                write!(f, "unknown table scheme {name:?}; known are {}", SCHEME_NAMES.join(", "))
            }
            Self::MaxDistance(distance) => {
                write!(f, "max distance {distance} is too large: at most {MAX_DISTANCE_LIMIT}")
            }
            Self::ZeroFlag => write!(f, "flag 0 is kept free; number the tables from 1"),
            Self::RepeatedFlag(flag) => write!(f, "two tables have the flag {flag}"),
            Self::KeyBits { flag, bits } => {
                write!(f, "the key of table {flag} has {bits} bits; it must have 1 to {MAX_KEY_BITS}")
            }
            Self::Misses { differing } => write!(
                f,
                "the tables miss pairs: two fingerprints that differ in the {} bits {differing:016x} share no bucket",
                differing.count_ones()
            ),
            Self::Unproved { steps } => write!(
                f,
                "no proof within {steps} steps that the tables find every pair; use fewer or more regular masks"
            ),
        }
    }
}

impl std::error::Error for SchemeError {}

impl TableScheme {
    /// Creates a scheme of tables, given as flag and mask, that together find every pair within
    /// `max_distance` (0 to 7).
    ///
    /// The proof takes microseconds for schemes of blocks. It is cut off after some tens of
    /// milliseconds, and the scheme is refused although it may be complete; this was only ever seen
    /// for hundreds of masks without any structure.
    ///
    /// # Errors
    /// See [`SchemeError`]; above all [`SchemeError::Misses`], with the bits that show the miss.
    pub fn new(name: &str, max_distance: Distance, masks: &[(u8, u64)]) -> Result<Self, SchemeError> {
        if max_distance.as_bits() > MAX_DISTANCE_LIMIT {
            return Err(SchemeError::MaxDistance(max_distance));
        }
        let tables =
            masks.iter().map(|&(flag, mask)| Table::new(flag, mask)).collect::<Result<Box<_>, _>>()?;
        let mut seen = [false; 256];
        for table in &tables {
            if std::mem::replace(&mut seen[usize::from(table.flag)], true) {
                return Err(SchemeError::RepeatedFlag(table.flag));
            }
        }
        let proof_steps = proof::prove(masks.iter().map(|&(_, mask)| mask), max_distance.as_bits())?;
        Ok(Self { name: name.to_owned(), max_distance, tables, proof_steps })
    }

    /// The name of the scheme.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The distance up to which every pair shares a bucket.
    #[must_use]
    pub fn max_distance(&self) -> Distance {
        self.max_distance
    }

    /// The tables, in the order given.
    #[must_use]
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The number of steps that the proof of completeness took.
    #[must_use]
    pub fn proof_steps(&self) -> u32 {
        self.proof_steps
    }

    /// Returns the bucket of `fingerprint` in each table.
    pub fn keys(&self, fingerprint: Fingerprint) -> impl ExactSizeIterator<Item = BucketKey> + '_ {
        self.tables.iter().map(move |table| table.key(fingerprint))
    }

    /// Returns the fingerprint together with its buckets.
    #[must_use]
    pub fn facet(&self, fingerprint: Fingerprint) -> Facet {
        Facet::new(fingerprint, self.keys(fingerprint))
    }

    /// Checks that this scheme writes such a row key.
    ///
    /// # Errors
    /// [`RowKeyError::UnknownFlag`], or [`RowKeyError::Segment`] if the segment does not follow
    /// from the fingerprint.
    pub fn check(&self, key: RowKey) -> Result<(), RowKeyError> {
        let table = self
            .tables
            .iter()
            .find(|table| table.flag == key.flag)
            .ok_or(RowKeyError::UnknownFlag(key.flag))?;
        let expected = table.segment(key.fingerprint);
        if expected != key.segment {
            return Err(RowKeyError::Segment { flag: key.flag, expected, got: key.segment });
        }
        Ok(())
    }

    /// Returns the number of stored fingerprints that a query is expected to read among
    /// `n_fingerprints` uniform ones: each table of `b` key bits holds `n / 2^b` of them in a
    /// bucket.
    #[must_use]
    pub fn expected_candidates(&self, n_fingerprints: f64) -> f64 {
        self.tables.iter().map(|table| n_fingerprints / f64::from(table.key_bits()).exp2()).sum()
    }
}

impl FromStr for TableScheme {
    type Err = SchemeError;

    fn from_str(name: &str) -> Result<Self, SchemeError> {
        let (max_distance, masks) =
            catalog::masks(name).ok_or_else(|| SchemeError::UnknownName(name.to_owned()))?;
        Self::new(name, max_distance, &masks)
    }
}

impl Default for TableScheme {
    /// `5c2`: five blocks of 13, 13, 13, 13 and 12 bits, two of which must agree.
    fn default() -> Self {
        "5c2".parse().expect("a test proves every scheme of the catalog")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn apart(n_bits: u32) -> Distance {
        Distance::new(n_bits).unwrap()
    }

    fn flags_and_masks(masks: &[u64]) -> Vec<(u8, u64)> {
        (1..).zip(masks.iter().copied()).collect()
    }

    /// The definition: bit by bit, most significant first.
    fn naive_segment(mask: u64, bits: u64) -> u32 {
        (0..64)
            .rev()
            .filter(|b| mask >> b & 1 == 1)
            .fold(0, |segment, b| segment << 1 | (bits >> b & 1) as u32)
    }

    #[test]
    fn bad_lists_are_refused() {
        let halves = [(1, 0xffff_ffff_0000_0000), (2, 0x0000_0000_ffff_ffff)];
        assert!(TableScheme::new("halves", apart(1), &halves).is_ok());
        for (max_distance, masks, expected) in [
            (8, halves.to_vec(), SchemeError::MaxDistance(apart(8))),
            (1, vec![(0, 0xff)], SchemeError::ZeroFlag),
            (1, vec![(1, halves[0].1), (1, halves[1].1)], SchemeError::RepeatedFlag(1)),
            (0, vec![(9, 0)], SchemeError::KeyBits { flag: 9, bits: 0 }),
            (0, vec![(9, 0x1_ffff_ffff)], SchemeError::KeyBits { flag: 9, bits: 33 }),
            (0, vec![], SchemeError::Misses { differing: 0 }),
        ] {
            assert_eq!(TableScheme::new("bad", apart(max_distance), &masks), Err(expected));
        }
        // One bit of each half keeps the pair apart in both tables.
        let Err(SchemeError::Misses { differing }) = TableScheme::new("halves", apart(2), &halves) else {
            panic!("two halves cannot find every pair within 2 bits");
        };
        assert_eq!(differing.count_ones(), 2);
        assert!(halves.iter().all(|(_, mask)| mask & differing != 0));
    }

    #[test]
    fn the_default_is_the_reference() {
        let scheme = TableScheme::default();
        let (a, b, c, d, e) = (
            0xfff8_0000_0000_0000,
            0x0007_ffc0_0000_0000,
            0x0000_003f_fe00_0000,
            0x0000_0000_01ff_f000,
            0xfff,
        );
        let expected = [a | b, a | c, a | d, a | e, b | c, b | d, b | e, c | d, c | e, d | e];
        assert_eq!(scheme.max_distance(), apart(3));
        assert_eq!(
            scheme.tables().iter().map(|table| (table.flag(), table.mask())).collect::<Vec<_>>(),
            flags_and_masks(&expected)
        );
        assert_eq!(
            scheme.keys(Fingerprint(0x0123_4567_89ab_cdef)).map(|key| key.segment).collect::<Vec<_>>(),
            [
                0x0004_8d15,
                0x0004_93c4,
                0x0004_9abc,
                0x0002_4def,
                0x01a2_b3c4,
                0x01a2_babc,
                0x00d1_5def,
                0x0278_9abc,
                0x013c_4def,
                0x01ab_cdef
            ]
        );
    }

    proptest! {
        #[test]
        fn segments_equal_the_definition(bits: u64, mask: u64, thin: u64) {
            for mask in [mask & thin, mask & 0xffff_ffff, mask & 0xffff_ffff << 32, mask & 0xff00_ff00_ff00_ff00] {
                if let Ok(table) = Table::new(1, mask) {
                    prop_assert_eq!(table.segment(Fingerprint(bits)), naive_segment(mask, bits));
                }
            }
        }

        #[test]
        fn every_pair_within_the_distance_shares_a_bucket(
            bits: u64, flips in proptest::collection::vec(0..64_u32, 0..=7)
        ) {
            for name in SCHEME_NAMES {
                let scheme: TableScheme = name.parse().unwrap();
                let max_distance = scheme.max_distance().as_bits() as usize;
                let near = flips.iter().take(max_distance).fold(bits, |bits, flip| bits ^ 1 << flip);
                prop_assert!(scheme.keys(Fingerprint(bits)).zip(scheme.keys(Fingerprint(near))).any(|(a, b)| a == b));
            }
        }
    }
}
