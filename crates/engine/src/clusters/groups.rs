//! Documents with equal features, brought together.

use index::Features;

/// The features of a corpus, equal ones in one group; groups are numbered from 0, ascending by fingerprint.
///
/// Takes 8 bytes a document beside the features.
#[derive(Clone, Debug)]
pub struct Groups<'a> {
    corpus: &'a [Features],
    /// Where in `members` each group ends.
    ends: Vec<u32>,
    /// Positions in the corpus: group by group, ascending within each.
    members: Vec<u32>,
}

impl<'a> Groups<'a> {
    /// Groups the features of a corpus, in O(n log n).
    ///
    /// # Panics
    /// Where there are 2^32 documents or more.
    #[must_use]
    pub fn new(corpus: &'a [Features]) -> Self {
        let n = u32::try_from(corpus.len()).expect("a corpus has fewer than 2^32 documents");
        fn key(features: &Features) -> (Option<u64>, &[u8]) {
            let signature = features.signature.as_ref().map_or(&[][..], |signature| signature.as_bytes());
            (features.simhash.map(|simhash| simhash.0), signature)
        }
        let key_of = |&member: &u32| key(&corpus[member as usize]);
        let mut members: Vec<u32> = (0..n).collect();
        members.sort_by(|a, b| key_of(a).cmp(&key_of(b)));
        let mut ends = Vec::new();
        for equal in members.chunk_by(|a, b| key_of(a) == key_of(b)) {
            ends.push(ends.last().copied().unwrap_or(0) + equal.len() as u32);
        }
        Self { corpus, ends, members }
    }

    /// How many groups there are: how many different features.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the corpus was empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The features that the members of a group share.
    #[must_use]
    pub fn features(&self, group: usize) -> &'a Features {
        &self.corpus[self.members(group)[0] as usize]
    }

    /// Where in the corpus its members are, ascending; never none.
    #[must_use]
    pub fn members(&self, group: usize) -> &[u32] {
        let start = if group == 0 { 0 } else { self.ends[group - 1] };
        &self.members[start as usize..self.ends[group] as usize]
    }
}
