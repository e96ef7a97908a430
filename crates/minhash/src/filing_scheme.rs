//! The filing of signatures in an index: bands that follow from the similarity at which documents
//! are near.

use std::fmt;
use std::str::FromStr;

use crate::bands::low_bytes;
use crate::filing::{Bands, Filing, SetKind};
use crate::signature::BYTE_BINS;
use crate::{BandKey, BandScheme, Bins, LONG_BINS, SHORT_BINS, Signature, Similarity, hash_words};

/// The first bins of a short sketch, which make the bands.
pub(crate) const SHORT_BAND_BINS: usize = SHORT_BINS - 64;

/// The first flags of the bands of long and of short documents, and the most bands of each.
const LONG_FLAG: u8 = 64;
const SHORT_FLAG: u8 = 128;
const BANDS_MAX: u32 = 64;

/// The flag of documents for which only equality counts.
const WHOLE_FLAG: u8 = 192;

/// The name of the scheme without bands.
const WHOLE: &str = "whole";

/// The similarities from which on bands are used, in steps of .05 from .5 on.
///
/// Each scheme finds the [promised](FilingScheme::promise) share of the pairs at its step with the
/// least cost: of the schemes of at most 64 bands over the 80 bins of which a signature keeps a
/// byte, or over 64 bins of a short sketch. A test states the cost and computes all of them again.
/// The short scheme of .8 is older than the formula, and stays because indexes are filed by it: it
/// finds more and reads more than needed.
const STEPS: [(f64, &str); 11] = [
    (0.5, "47x3-25/50x3-25"),
    (0.55, "33x3-23/35x3-23"),
    (0.6, "49x4-21/47x4-22"),
    (0.65, "32x4-19/35x4-19"),
    (0.7, "33x5-18/20x4-18"),
    (0.75, "19x5-18/23x5-17"),
    (0.8, "16x5-16/16x4-17"),
    (0.85, "11x5-13/11x5-13"),
    (0.9, "7x5-12/7x5-12"),
    (0.95, "5x6-7/5x6-7"),
    (1.0, WHOLE),
];

/// The scheme by which the signatures of an index are filed: long and short documents by bands of
/// their own, or all by a hash of the whole.
///
/// The name, which can be parsed back, is made of the two band schemes, as `16x5-16/16x4-17`, or
/// `whole`. The default is the scheme of a similarity of .8.
///
/// ```
/// use pigeonhole_minhash::{FilingScheme, Similarity};
///
/// let scheme = FilingScheme::for_similarity(Similarity::clamped(0.83));
/// assert_eq!(scheme, FilingScheme::default());
/// assert_eq!(scheme.to_string(), "16x5-16/16x4-17");
/// assert!(scheme.recall(Similarity::clamped(0.8)) >= 0.998);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FilingScheme {
    bands: Option<(BandScheme<LONG_BINS>, BandScheme<SHORT_BINS>)>,
}

impl Default for FilingScheme {
    fn default() -> Self {
        Self { bands: Some((BandScheme::long(), BandScheme::short())) }
    }
}

/// A name of no filing scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilingSchemeError(String);

impl fmt::Display for FilingSchemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(name) = self;
        write!(
            f,
            "{name:?} names no bands: they are named as 16x5-16/16x4-17, bands, rows and bits of the suffix of long and of \
             short texts, or {WHOLE}"
        )
    }
}

impl std::error::Error for FilingSchemeError {}

impl FilingScheme {
    /// Files every document under a hash of all of its signature: equal ones meet, and no others.
    pub const WHOLE: Self = Self { bands: None };

    /// Returns the similarities at which the scheme changes, ascending.
    pub fn steps() -> impl Iterator<Item = Similarity> {
        STEPS.iter().map(|(step, _)| Similarity::clamped(*step))
    }

    /// Returns the scheme for documents that are near from a similarity on: the scheme of the last
    /// step at or below it. Below .5 this is the scheme of .5, which finds less there than
    /// promised.
    #[must_use]
    pub fn for_similarity(similarity: Similarity) -> Self {
        let [first, ..] = STEPS;
        let is_reached = |(step, _): &&(f64, &str)| *step <= similarity.get();
        let (_, name) = STEPS.iter().rev().find(is_reached).unwrap_or(&first);
        name.parse().unwrap_or_else(|_| unreachable!("a test parses all of them"))
    }

    /// Returns the least share of the pairs at a similarity that its scheme finds: .998 from .8 on
    /// and .99 below, where a smaller share of misses costs far more candidates.
    #[must_use]
    pub fn promise(similarity: Similarity) -> f64 {
        if similarity.get() >= 0.8 { 0.998 } else { 0.99 }
    }

    /// The bands of long documents; `None` if all are filed by a hash.
    #[must_use]
    pub fn long(&self) -> Option<&BandScheme<LONG_BINS>> {
        self.bands.as_ref().map(|(long, _)| long)
    }

    /// The bands of short documents; `None` if all are filed by a hash.
    #[must_use]
    pub fn short(&self) -> Option<&BandScheme<SHORT_BINS>> {
        self.bands.as_ref().map(|(_, short)| short)
    }

    /// Returns the number of buckets of a long document, each of which a query reads.
    #[must_use]
    pub fn n_keys(&self) -> usize {
        self.long().map_or(1, |scheme| scheme.bands() as usize)
    }

    /// Returns the most bits of 64 in which suffixes of documents that meet differ.
    #[must_use]
    pub fn suffix_distance_max(&self, kind: SetKind) -> u32 {
        let of_kind = match kind {
            SetKind::Long => self.long().map(BandScheme::suffix_distance_max),
            SetKind::Short => self.short().map(BandScheme::suffix_distance_max),
            SetKind::Whole => None,
        };
        of_kind.unwrap_or(0)
    }

    /// Returns the kind of the documents that are filed under a flag; `None` for a flag not in use.
    #[must_use]
    pub fn kind_of_flag(&self, flag: u8) -> Option<SetKind> {
        let holds = |first: u8, bands: Option<u32>| {
            let n = u32::from(flag).checked_sub(u32::from(first));
            n.zip(bands).is_some_and(|(n, bands)| n < bands)
        };
        if holds(LONG_FLAG, self.long().map(BandScheme::bands)) {
            Some(SetKind::Long)
        } else if holds(SHORT_FLAG, self.short().map(BandScheme::bands)) {
            Some(SetKind::Short)
        } else {
            (flag == WHOLE_FLAG).then_some(SetKind::Whole)
        }
    }

    /// Returns the probability that two documents of a similarity meet: two long ones or two short
    /// ones, whichever meet less often.
    #[must_use]
    pub fn recall(&self, similarity: Similarity) -> f64 {
        match &self.bands {
            Some((long, short)) => long.recall(similarity).min(short.recall(similarity)),
            None => f64::from(u8::from(similarity == Similarity::ONE)),
        }
    }

    /// Returns the probability that two documents of a similarity share a band, whatever their
    /// suffixes: the share found of the pairs below the similarity of the scheme, if a caller asks
    /// for such pairs. For two long ones or two short ones, whichever meet less often.
    #[must_use]
    pub fn met_in_a_band(&self, similarity: Similarity) -> f64 {
        match &self.bands {
            Some((long, short)) => long.met_in_a_band(similarity).min(short.met_in_a_band(similarity)),
            None => self.recall(similarity),
        }
    }

    /// Returns the filings of the document of a signature: by its set, by its sketch or by both,
    /// else by its hash. Two documents meet if filings of one kind share a bucket and their
    /// suffixes are near.
    pub fn filings<'a>(&'a self, signature: &'a Signature) -> impl Iterator<Item = Filing<'a>> {
        let filings = match &self.bands {
            None => [Some(by_hash(signature.hash_of_all())), None, None],
            Some((long, short)) => {
                let of_long = signature.first_bins().map(|(bytes, suffix)| Filing {
                    kind: SetKind::Long,
                    suffix,
                    bands: Bands::Long(long, bytes),
                });
                let of_short = signature.short_bins().map(|bins| Filing {
                    kind: SetKind::Short,
                    suffix: short.suffix(&bins),
                    bands: Bands::Short(short, low_bytes(&bins)),
                });
                [of_long, of_short, signature.hash().map(by_hash)]
            }
        };
        filings.into_iter().flatten()
    }
}

fn by_hash(hash: u64) -> Filing<'static> {
    let key = BandKey { flag: WHOLE_FLAG, segment: (hash >> 32) as u32 };
    Filing { kind: SetKind::Whole, suffix: hash, bands: Bands::Whole(key) }
}

impl Signature {
    /// Returns the 64 bits of each kind of the document, from which the suffixes of any bands are
    /// made: a document that is near in these bits may be near. Documents filed by a hash have
    /// another suffix.
    #[must_use]
    pub fn suffixes(&self) -> Vec<(SetKind, u64)> {
        let of_long = self.first_bins().map(|(_, suffix)| (SetKind::Long, suffix));
        let of_short = self.short_bins().map(|bins| (SetKind::Short, BandScheme::short().suffix(&bins)));
        let of_whole = self.hash().map(|hash| (SetKind::Whole, hash));
        [of_long, of_short, of_whole].into_iter().flatten().collect()
    }

    /// Returns a sketch of the small set, by which short documents are filed.
    pub(crate) fn short_bins(&self) -> Option<Bins<SHORT_BINS>> {
        // The sketch is made of the elements as the signature keeps them.
        let elements: Vec<u64> = self.elements()?.map(|element| hash_words(element, 0)).collect();
        Bins::of(&elements)
    }

    /// Returns a hash of the whole signature; for the kind of equality, the hash in it.
    fn hash_of_all(&self) -> u64 {
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
        let bytes = self.as_bytes();
        self.hash().unwrap_or_else(|| {
            bytes.chunks(8).fold(bytes.len() as u64, |hash, bytes| hash_words(word(bytes), hash))
        })
    }
}

impl fmt::Display for FilingScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.bands {
            Some((long, short)) => f.pad(&format!("{long}/{short}")),
            None => f.pad(WHOLE),
        }
    }
}

impl FromStr for FilingScheme {
    type Err = FilingSchemeError;

    fn from_str(name: &str) -> Result<Self, FilingSchemeError> {
        if name == WHOLE {
            return Ok(Self::WHOLE);
        }
        let bands = || {
            let (long, short) = name.split_once('/')?;
            Some((
                parse(long, LONG_FLAG, BYTE_BINS as u32)?,
                parse(short, SHORT_FLAG, SHORT_BAND_BINS as u32)?,
            ))
        };
        let scheme = bands().map(|bands| Self { bands: Some(bands) });
        // Each scheme has one name: equal schemes have equal names.
        scheme.filter(|scheme| scheme.to_string() == name).ok_or_else(|| FilingSchemeError(name.to_owned()))
    }
}

fn parse<const BINS: usize>(name: &str, first_flag: u8, band_bins: u32) -> Option<BandScheme<BINS>> {
    let (bands, rest) = name.split_once('x')?;
    let (rows, distance) = rest.split_once('-')?;
    let bands = bands.parse().ok().filter(|&bands| bands <= BANDS_MAX)?;
    BandScheme::over(first_flag, band_bins, bands, rows.parse().ok()?, distance.parse().ok()?).ok()
}

#[cfg(test)]
mod tests;
