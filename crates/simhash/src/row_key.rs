//! The 13 bytes under which an index entry is stored, and the range of such keys that a query
//! reads.

use std::fmt;

use crate::{BucketKey, Fingerprint};

/// Length of a row key in bytes: segment (4), flag (1), fingerprint (8).
pub const ROW_KEY_LEN: usize = 13;

/// `segment: u32 · flag: u8 · fingerprint: u64`, big-endian: byte order is bucket order.
///
/// The layout is drawn in `schema/README.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    /// The bits that agree, right-aligned.
    pub segment: u32,
    /// The flag of the table, 1 to 255.
    pub flag: u8,
    /// The whole fingerprint.
    pub fingerprint: Fingerprint,
}

/// Bytes that are not a row key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKeyError {
    /// Not exactly [`ROW_KEY_LEN`] bytes; holds the number of bytes.
    Length(usize),
    /// Flag 0, which no table has.
    ZeroFlag,
    /// The scheme has no table with this flag.
    UnknownFlag(u8),
    /// The segment is not the one that the fingerprint has under this flag.
    Segment {
        /// The flag of the table.
        flag: u8,
        /// The segment of the fingerprint's bits.
        expected: u32,
        /// The segment in the key.
        got: u32,
    },
}

impl fmt::Display for RowKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(len) => write!(f, "a row key has {ROW_KEY_LEN} bytes, got {len}"),
            Self::ZeroFlag => write!(f, "flag 0 belongs to no table"),
            Self::UnknownFlag(flag) => write!(f, "the scheme has no table with flag {flag}"),
            Self::Segment { flag, expected, got } => write!(
                f,
                "segment {got:08x} does not belong to the fingerprint: under flag {flag} it is {expected:08x}"
            ),
        }
    }
}

impl std::error::Error for RowKeyError {}

impl RowKey {
    /// Creates the key under which `fingerprint` is filed in the bucket `key`.
    #[must_use]
    pub fn new(key: BucketKey, fingerprint: Fingerprint) -> Self {
        Self { segment: key.segment, flag: key.flag, fingerprint }
    }

    /// The bucket of the key.
    #[must_use]
    pub fn bucket(self) -> BucketKey {
        BucketKey { flag: self.flag, segment: self.segment }
    }

    /// Returns the stored bytes.
    #[must_use]
    pub fn encode(self) -> [u8; ROW_KEY_LEN] {
        let mut bytes = [0; ROW_KEY_LEN];
        bytes[..4].copy_from_slice(&self.segment.to_be_bytes());
        bytes[4] = self.flag;
        bytes[5..].copy_from_slice(&self.fingerprint.0.to_be_bytes());
        bytes
    }

    /// Reads stored bytes back. Use [`TableScheme::check`](crate::TableScheme::check) to check that
    /// flag and segment fit the fingerprint.
    ///
    /// # Errors
    /// [`RowKeyError::Length`] and [`RowKeyError::ZeroFlag`].
    pub fn decode(bytes: &[u8]) -> Result<Self, RowKeyError> {
        let bytes: &[u8; ROW_KEY_LEN] = bytes.try_into().map_err(|_| RowKeyError::Length(bytes.len()))?;
        let [s0, s1, s2, s3, flag, fingerprint @ ..] = *bytes;
        if flag == 0 {
            return Err(RowKeyError::ZeroFlag);
        }
        Ok(Self {
            segment: u32::from_be_bytes([s0, s1, s2, s3]),
            flag,
            fingerprint: Fingerprint(u64::from_be_bytes(fingerprint)),
        })
    }
}

/// A half-open range of row keys, `start <= key < end`: all of one bucket, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyRange {
    start: [u8; ROW_KEY_LEN],
    end: [u8; ROW_KEY_LEN + 1],
}

impl KeyRange {
    /// Returns the range of one bucket; the only constructor.
    ///
    /// The range ends at the bucket's greatest key with a zero byte after it: the least byte string
    /// above that key. "The prefix plus one" would end at the same rows, but does not exist for the
    /// all-ones prefix, and HBase's prefix bloom filter serves a scan only if both ends share the
    /// prefix.
    #[must_use]
    pub fn of_bucket(key: BucketKey) -> Self {
        let start = RowKey::new(key, Fingerprint(0)).encode();
        let mut end = [0; ROW_KEY_LEN + 1];
        end[..ROW_KEY_LEN].copy_from_slice(&RowKey::new(key, Fingerprint(u64::MAX)).encode());
        Self { start, end }
    }

    /// The first key inside.
    #[must_use]
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// The first byte string past the end.
    #[must_use]
    pub fn end(&self) -> &[u8] {
        &self.end
    }

    /// Returns true if a row key of any length lies inside.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.start() <= key && key < self.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TableScheme;
    use proptest::prelude::*;

    /// Fixed bytes: a change here is a new format version.
    #[test]
    fn golden_vectors() {
        let fingerprint = Fingerprint(0x0123_4567_89ab_cdef);
        for (key, hex) in [
            (RowKey { segment: 0x0002_468a, flag: 1, fingerprint }, "0002468a010123456789abcdef"),
            (RowKey { segment: 0, flag: 10, fingerprint: Fingerprint(0) }, "000000000a0000000000000000"),
            (
                RowKey { segment: u32::MAX, flag: 255, fingerprint: Fingerprint(u64::MAX) },
                "ffffffffffffffffffffffffff",
            ),
        ] {
            let bytes = key.encode();
            assert_eq!(bytes.iter().map(|b| format!("{b:02x}")).collect::<String>(), hex);
            assert_eq!(RowKey::decode(&bytes), Ok(key));
        }
    }

    #[test]
    fn wrong_lengths_and_flag_zero_are_refused() {
        for len in (0..40).filter(|&len| len != ROW_KEY_LEN) {
            assert_eq!(RowKey::decode(&vec![1; len]), Err(RowKeyError::Length(len)));
        }
        assert_eq!(RowKey::decode(&[0; ROW_KEY_LEN]), Err(RowKeyError::ZeroFlag));
    }

    /// A row key has no checksum: a changed byte shows only against the fingerprint itself. A
    /// change in the segment is always found. A change in the fingerprint is found if the table's
    /// mask covers the bit, and else gives another document's valid key; never the same one, and
    /// never a panic.
    #[test]
    fn one_changed_byte() {
        let scheme = TableScheme::default();
        let fingerprint = Fingerprint(0x9e37_79b9_7f4a_7c15);
        for table in scheme.tables() {
            let key = RowKey::new(table.key(fingerprint), fingerprint);
            let bytes = key.encode();
            for position in 0..ROW_KEY_LEN {
                for flip in 1..=255_u8 {
                    let mut changed = bytes;
                    changed[position] ^= flip;
                    let read = RowKey::decode(&changed).and_then(|key| scheme.check(key).map(|()| key));
                    match position {
                        0..4 => assert!(matches!(read, Err(RowKeyError::Segment { .. })), "{read:?}"),
                        4 => assert!(read.is_err(), "{read:?}"),
                        _ => {
                            let covered =
                                u64::from(flip) << (8 * (ROW_KEY_LEN - 1 - position)) & table.mask() != 0;
                            assert_eq!(read.is_err(), covered, "byte {position} ^ {flip:02x}: {read:?}");
                            assert_ne!(read, Ok(key));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_last_bucket_and_the_last_suffix_are_inside() {
        let key = BucketKey { flag: 255, segment: u32::MAX };
        let range = KeyRange::of_bucket(key);
        assert!(range.contains(&RowKey::new(key, Fingerprint(u64::MAX)).encode()));
        assert!(range.contains(&RowKey::new(key, Fingerprint(0)).encode()));
        assert_eq!(range.start()[..5], range.end()[..5], "both ends must share the bloom filter's prefix");
    }

    proptest! {
        #[test]
        fn byte_order_is_key_order(a: (u32, u8, u64), b: (u32, u8, u64)) {
            let [a, b] = [a, b].map(|(segment, flag, bits)| RowKey {
                segment, flag: flag.max(1), fingerprint: Fingerprint(bits),
            });
            prop_assert_eq!(a.cmp(&b), a.encode().cmp(&b.encode()));
            prop_assert_eq!(RowKey::decode(&a.encode()), Ok(a));
        }

        #[test]
        fn a_range_holds_its_bucket_only(
            segment in prop_oneof![any::<u32>(), Just(0), Just(u32::MAX)], flag in 1..=255_u8,
            other_segment in prop_oneof![any::<u32>(), Just(0), Just(u32::MAX)], other_flag in 1..=255_u8,
            suffix in prop_oneof![any::<u64>(), Just(0), Just(u64::MAX)],
        ) {
            let bucket = BucketKey { flag, segment };
            for other in [bucket, BucketKey { flag: other_flag, segment: other_segment },
                BucketKey { flag, segment: segment.wrapping_add(1) }, BucketKey { flag: flag.wrapping_add(1), segment }] {
                let key = RowKey::new(other, Fingerprint(suffix)).encode();
                prop_assert_eq!(KeyRange::of_bucket(bucket).contains(&key), other == bucket);
            }
        }
    }
}
