//! From a signature to where its document is filed.

use crate::{BandKey, BandScheme, Bins, Signature, hash_words};

/// Bins of a short sketch: those of bands and suffix.
const SHORT_BINS: usize = 128;

/// The flag of documents of which only equality counts.
const WHOLE_FLAG: u8 = 192;

/// What a suffix is made of, which says in how many bits those of near documents differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetKind {
    /// Bits of the sketch of a long document, under [`BandScheme::long`].
    Long,
    /// Bits of the sketch of a short document, under [`BandScheme::short`].
    Short,
    /// The hash of a document of which only equality counts.
    Whole,
}

impl SetKind {
    /// In how many of 64 bits suffixes of near documents differ at most.
    #[must_use]
    pub fn suffix_distance_max(self) -> u32 {
        match self {
            Self::Long => BandScheme::long().suffix_distance_max(),
            Self::Short => BandScheme::short().suffix_distance_max(),
            Self::Whole => 0,
        }
    }

    /// The kind of the documents that are filed under this flag.
    #[must_use]
    pub fn of_flag(flag: u8) -> Option<Self> {
        let holds =
            |first: u8, bands: u32| u32::from(flag).checked_sub(u32::from(first)).is_some_and(|n| n < bands);
        let (long, short) = (BandScheme::long(), BandScheme::short());
        if holds(long.first_flag(), long.bands()) {
            Some(Self::Long)
        } else if holds(short.first_flag(), short.bands()) {
            Some(Self::Short)
        } else {
            (flag == WHOLE_FLAG).then_some(Self::Whole)
        }
    }
}

/// One way in which a document is filed: its buckets, and the 64 bits that filter what is met there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Filing {
    /// What the suffix is made of.
    pub kind: SetKind,
    /// The bits that follow the bucket in a row key.
    pub suffix: u64,
    /// The buckets, ascending.
    pub keys: Vec<BandKey>,
}

impl Signature {
    /// Where its document is filed: by its set, by its sketch or by both, else by its hash. Two documents meet where filings
    /// of one kind share a bucket and their suffixes are near.
    #[must_use]
    pub fn filings(&self) -> Vec<Filing> {
        let of_long = self.first_bins().map(|(bytes, suffix)| Filing {
            kind: SetKind::Long,
            suffix,
            keys: BandScheme::long().keys_of(bytes),
        });
        let of_short = self.elements().and_then(|elements| {
            // A set is sketched by what is kept of it.
            let elements: Vec<u64> = elements.map(|element| hash_words(element, 0)).collect();
            let (scheme, bins) = (BandScheme::short(), Bins::<SHORT_BINS>::of(&elements)?);
            Some(Filing { kind: SetKind::Short, suffix: scheme.suffix(&bins), keys: scheme.keys(&bins) })
        });
        let of_whole = self.hash().map(|hash| Filing {
            kind: SetKind::Whole,
            suffix: hash,
            keys: vec![BandKey { flag: WHOLE_FLAG, segment: (hash >> 32) as u32 }],
        });
        [of_long, of_short, of_whole].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LONG_BINS, Sketcher};

    fn elements(range: std::ops::Range<u64>) -> Vec<u64> {
        range.map(|i| hash_words(i, 5)).collect()
    }

    /// What a signature says of the long kind is what its bins say.
    #[test]
    fn a_signature_is_filed_as_its_bins_are() {
        let set = elements(0..500);
        let mut sketcher = Sketcher::<LONG_BINS>::new();
        sketcher.extend(&set);
        let sketched = sketcher.finish().unwrap();
        let scheme = BandScheme::long();
        let expected = Filing {
            kind: SetKind::Long,
            suffix: scheme.suffix(&sketched.bins),
            keys: scheme.keys(&sketched.bins),
        };
        assert_eq!(Signature::long(&sketched.bins, 500).filings(), [expected]);
    }

    #[test]
    fn every_kind_is_filed_under_flags_of_its_own() {
        let small = elements(0..45);
        let bins = Bins::of(&small).unwrap();
        let kinds = |signature: &Signature| {
            let filings = signature.filings();
            for filing in &filings {
                assert!(filing.keys.iter().all(|key| SetKind::of_flag(key.flag) == Some(filing.kind)));
                assert!(filing.keys.is_sorted());
            }
            filings.iter().map(|filing| (filing.kind, filing.keys.len())).collect::<Vec<_>>()
        };
        let (long, short, whole) = ((SetKind::Long, 16), (SetKind::Short, 16), (SetKind::Whole, 1));
        assert_eq!(kinds(&Signature::both(&bins, 45, &small).unwrap()), [long, short]);
        assert_eq!(kinds(&Signature::short(&small).unwrap()), [short]);
        assert_eq!(kinds(&Signature::long(&bins, 45)), [long]);
        assert_eq!(kinds(&Signature::equality(9)), [whole]);
        for flag in [0, 1, 63, 80, 127, 144, 191, 193, 255] {
            assert_eq!(SetKind::of_flag(flag), None, "{flag}");
        }
    }
}
