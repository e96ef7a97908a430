//! Equal fingerprints, brought together.

use std::ops::Range;

use simhash::Fingerprint;

/// The fingerprints of a corpus, equal ones in one group; groups are numbered from 0, ascending by
/// fingerprint.
///
/// Takes 17 bytes a fingerprint if all are different, down to 4 if all are equal; twice the 17
/// while it is being built.
#[derive(Clone, Debug)]
pub struct Groups {
    /// One for each group, ascending.
    fingerprints: Vec<u64>,
    /// The end of each group in `members`.
    ends: Vec<u32>,
    /// Positions in the corpus: group by group, ascending within each.
    members: Vec<u32>,
    /// The number of groups below each value of the top bits, then the number of all: an index for
    /// look-ups.
    below: Vec<u32>,
    top_shift: u32,
}

impl Groups {
    /// Groups the fingerprints of a corpus, in O(n log n).
    ///
    /// # Panics
    /// If there are 2^32 fingerprints or more.
    #[must_use]
    pub fn new(corpus: &[Fingerprint]) -> Self {
        let n = u32::try_from(corpus.len()).expect("a corpus has fewer than 2^32 fingerprints");
        let mut sorted: Vec<(u64, u32)> = corpus.iter().map(|fingerprint| fingerprint.0).zip(0..n).collect();
        sorted.sort_unstable();

        let n_groups = sorted.chunk_by(|a, b| a.0 == b.0).count();
        let mut groups = Self {
            fingerprints: Vec::with_capacity(n_groups),
            ends: Vec::with_capacity(n_groups),
            members: sorted.iter().map(|&(_, position)| position).collect(),
            below: Vec::new(),
            top_shift: 0,
        };
        for equal in sorted.chunk_by(|a, b| a.0 == b.0) {
            groups.fingerprints.push(equal[0].0);
            let start = groups.ends.last().copied().unwrap_or(0);
            groups.ends.push(start + equal.len() as u32);
        }
        drop(sorted);
        // About four groups to a value of the top bits, with at least one bit to keep the shift in
        // range.
        let top_bits = (groups.fingerprints.len() / 4).checked_ilog2().unwrap_or(0).max(1);
        groups.top_shift = u64::BITS - top_bits;
        groups.below = vec![0; (1 << top_bits) + 1];
        for bits in &groups.fingerprints {
            groups.below[(bits >> groups.top_shift) as usize + 1] += 1;
        }
        for i in 1..groups.below.len() {
            groups.below[i] += groups.below[i - 1];
        }
        groups
    }

    /// The number of groups, which is the number of different fingerprints.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fingerprints.len()
    }

    /// Returns true if the corpus was empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fingerprints.is_empty()
    }

    /// Returns the fingerprint that the members of a group share.
    #[must_use]
    pub fn fingerprint(&self, group: usize) -> Fingerprint {
        Fingerprint(self.fingerprints[group])
    }

    /// Returns the positions of a group's members in the corpus, ascending; never none.
    #[must_use]
    pub fn members(&self, group: usize) -> &[u32] {
        let start = if group == 0 { 0 } else { self.ends[group - 1] };
        &self.members[start as usize..self.ends[group] as usize]
    }

    /// Returns the group of a fingerprint, if the corpus has it.
    #[must_use]
    pub fn find(&self, fingerprint: Fingerprint) -> Option<usize> {
        let near = self.near(fingerprint.0);
        let start = near.start;
        self.fingerprints[near].binary_search(&fingerprint.0).ok().map(|i| start + i)
    }

    /// The few groups among which those bits are, if they are there.
    pub(super) fn near(&self, bits: u64) -> Range<usize> {
        let top = (bits >> self.top_shift) as usize;
        self.below[top] as usize..self.below[top + 1] as usize
    }

    /// The fingerprints by group.
    pub(super) fn fingerprints(&self) -> &[u64] {
        &self.fingerprints
    }

    /// Returns the group of a fingerprint of the corpus, which is [`near`](Self::near) it.
    pub(super) fn position(&self, bits: u64, near: Range<usize>) -> usize {
        let start = near.start;
        let n_less = self.fingerprints[near].partition_point(|&other| other < bits);
        debug_assert_eq!(self.fingerprints[start + n_less], bits, "pairs are of the corpus's fingerprints");
        start + n_less
    }
}
