//! The ways in which a kind files documents.

use minhash::{FilingScheme, SetKind};
use simhash::{RowKey, RowKeyError, Table, TableScheme};

use crate::Family;

/// One way in which an index files documents.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Way {
    /// Blocks of a simhash that must agree; row keys end with the fingerprint.
    Blocks(TableScheme),
    /// Bands of a signature that must agree; row keys end with bits of other bins.
    Bands(FilingScheme),
}

impl Way {
    /// The families under which this way files, ascending.
    pub(super) fn families(&self) -> &'static [Family] {
        match self {
            Self::Blocks(_) => &[Family::Simhash],
            Self::Bands(_) => {
                &[Family::Set(SetKind::Long), Family::Set(SetKind::Short), Family::Set(SetKind::Whole)]
            }
        }
    }

    /// The family of the bits filed under a flag; `None` for a flag that this way does not use.
    pub(super) fn family(&self, flag: u8) -> Option<Family> {
        match self {
            Self::Blocks(scheme) => {
                scheme.tables().iter().any(|table| table.flag() == flag).then_some(Family::Simhash)
            }
            Self::Bands(filing) => filing.kind_of_flag(flag).map(Family::Set),
        }
    }

    /// The number of bits in the segment of each key of most documents.
    pub(super) fn key_bits(&self) -> Vec<u32> {
        match self {
            Self::Blocks(scheme) => scheme.tables().iter().map(Table::key_bits).collect(),
            Self::Bands(filing) => vec![u32::BITS; filing.n_keys()],
        }
    }

    /// Checks a row key under a flag of this way.
    pub(super) fn check(&self, key: RowKey) -> Result<(), RowKeyError> {
        let bucket = key.bucket();
        match self {
            Self::Blocks(scheme) => scheme.check(key),
            Self::Bands(filing) => match filing.kind_of_flag(bucket.flag) {
                // The segment is a hash of values absent from the key, so nothing can be checked.
                Some(SetKind::Long | SetKind::Short) => Ok(()),
                Some(SetKind::Whole) => {
                    let expected = (key.fingerprint.0 >> 32) as u32;
                    if expected == bucket.segment {
                        return Ok(());
                    }
                    Err(RowKeyError::Segment { flag: bucket.flag, expected, got: bucket.segment })
                }
                None => Err(RowKeyError::UnknownFlag(bucket.flag)),
            },
        }
    }
}
