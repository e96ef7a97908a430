//! What is known of a text once it was sketched.

use minhash::{BandScheme, Basis, Bins, Comparison, LONG_BINS, Signature, Similarity, Sketched};
use simhash::{BucketKey, Fingerprint, Sketch};

use super::{LONG_MIN, SHORT_MAX};

/// The flag of texts of which only equality counts: the segment is the upper half of the hash, the suffix the whole.
pub const EQUALITY_FLAG: u8 = 192;

/// Bins of a short sketch: those of bands and suffix, as the set itself is kept.
const SHORT_BINS: usize = 128;

/// The short kind: the set, and a sketch of it for bands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortSketch {
    /// The sketch.
    pub bins: Bins<SHORT_BINS>,
    /// The hashes of the different bigrams, 2 to [`SHORT_MAX`], in the order of the text.
    pub bigrams: Vec<u64>,
}

impl ShortSketch {
    /// `None` of the empty set.
    pub(super) fn of(bigrams: &[u64]) -> Option<Self> {
        Some(Self { bins: Bins::of(bigrams)?, bigrams: bigrams.to_vec() })
    }
}

/// All that is stored of a text to find and confirm near-duplicates: keys, suffixes and signature follow from it.
///
/// A text is of the short kind or of the long one, of both, or of neither: then only equality counts, or it has nothing to be
/// compared by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentSketch {
    /// The long kind.
    pub long: Option<Sketched<LONG_BINS>>,
    /// The short kind.
    pub short: Option<ShortSketch>,
    /// The hash of a text of which only equality counts: of one character or bigram, or of symbols.
    pub equality: Option<u64>,
}

impl DocumentSketch {
    /// What confirms a pair; `None` of a text that has nothing to be compared by.
    #[must_use]
    pub fn signature(&self) -> Option<Signature> {
        match (&self.long, &self.short, self.equality) {
            (Some(long), Some(short), _) => Signature::both(&long.bins, long.size, &short.bigrams),
            (Some(long), None, _) => Some(Signature::long(&long.bins, long.size)),
            (None, Some(short), _) => Signature::short(&short.bigrams),
            (None, None, equality) => equality.map(Signature::equality),
        }
    }

    /// Where the text is filed: for each of its kinds a suffix, in the place of a fingerprint, and the keys. Two texts meet
    /// where sketches of theirs share a key and their suffixes are near, by the distance of the kind's scheme; equal ones
    /// at 0.
    #[must_use]
    pub fn sketches(&self, long: &BandScheme<LONG_BINS>, short: &BandScheme<SHORT_BINS>) -> Vec<Sketch> {
        let of_long = self.long.iter().map(|set| sketch(long, &set.bins));
        let of_short = self.short.iter().map(|set| sketch(short, &set.bins));
        let of_equality = self.equality.iter().map(|&hash| {
            let key = BucketKey { flag: EQUALITY_FLAG, segment: (hash >> 32) as u32 };
            Sketch::new(Fingerprint(hash), vec![key])
        });
        of_long.chain(of_short).chain(of_equality).collect()
    }
}

fn sketch<const BINS: usize>(scheme: &BandScheme<BINS>, bins: &Bins<BINS>) -> Sketch {
    let keys = scheme.keys(bins).map(|key| BucketKey { flag: key.flag, segment: key.segment });
    Sketch::new(Fingerprint(scheme.suffix(bins)), keys.collect())
}

/// The sets of a text, ascending, without repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShingleSets {
    /// Hashes of the bigrams.
    pub bigrams: Vec<u64>,
    /// Hashes of the n-grams.
    pub ngrams: Vec<u64>,
    /// Of a text without letters the hash of its symbols.
    pub equality: Option<u64>,
}

impl ShingleSets {
    /// The comparison that signatures estimate, exactly: by bigrams where both are of the short kind, else by n-grams.
    #[must_use]
    pub fn compare(a: &Self, b: &Self) -> Comparison {
        let [n_a, n_b] = [a, b].map(|sets| sets.bigrams.len());
        if n_a.max(n_b) <= 1 {
            let key = |sets: &Self| sets.equality.or(sets.bigrams.first().copied());
            let similarity = if key(a) == key(b) { Similarity::ONE } else { Similarity::ZERO };
            return Comparison {
                similarity,
                share_of_a: similarity,
                share_of_b: similarity,
                basis: Basis::Equality,
            };
        }
        let is_of = |kind: fn(usize) -> bool| kind(n_a) && kind(n_b);
        if is_of(|n| (2..=SHORT_MAX).contains(&n)) {
            compare(&a.bigrams, &b.bigrams)
        } else if is_of(|n| n >= LONG_MIN) {
            compare(&a.ngrams, &b.ngrams)
        } else {
            let similarity = Similarity::ZERO;
            Comparison {
                similarity,
                share_of_a: similarity,
                share_of_b: similarity,
                basis: Basis::NoCommonKind,
            }
        }
    }
}

fn compare(a: &[u64], b: &[u64]) -> Comparison {
    let (mut rest, mut n_common) = (b, 0);
    for element in a {
        while let [first, others @ ..] = rest
            && first < element
        {
            rest = others;
        }
        n_common += usize::from(rest.first() == Some(element));
    }
    let share = |size: usize| Similarity::clamped(n_common as f64 / size as f64);
    Comparison {
        similarity: Similarity::of_sets(n_common, a.len(), b.len()),
        share_of_a: share(a.len()),
        share_of_b: share(b.len()),
        basis: Basis::Sets,
    }
}
