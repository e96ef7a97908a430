//! Decisions of a total order in rounds, for a run whose documents lie in several partitions.
//!
//! A document is kept unless an earlier kept document is near it. One writer decides the documents
//! one after another, as [`Kept`](super::Kept) does with an index. [`round`] decides the documents
//! of one partition from the near pairs: as many as follow from the decisions known before the
//! round. The caller gathers the decisions of all partitions for the next round. The result is that
//! of the one writer, however the documents are partitioned, and whichever rounds of a partition
//! are repeated or lost.
//!
//! Each round decides at least the earliest undecided document of all. A chain of documents, each
//! near the one before alone, takes a round for each change of partition; a crowd in which every
//! two are near takes two rounds.
//!
//! ```
//! use std::collections::HashMap;
//!
//! use pigeonhole_engine::dedup::rounds::{Standing, Undecided, round};
//!
//! // 2 is near 1, and 1 is near 0. The even documents are one partition, the odd ones another.
//! let earlier: [&[u64]; 3] = [&[], &[0], &[1]];
//! let mut known = HashMap::new();
//! while known.len() < 3 {
//!     let of_partition = |partition: &[u64]| {
//!         let undecided = partition.iter().filter(|document| !known.contains_key(*document));
//!         let undecided = undecided
//!             .map(|&document| Undecided { document, earlier: earlier[document as usize] });
//!         round(undecided, |document| known.get(&document).copied())
//!     };
//!     let new = [of_partition(&[0, 2]), of_partition(&[1])].concat();
//!     known.extend(new);
//! }
//! let standings = [0, 1, 2].map(|document| known[&document]);
//! assert_eq!(standings, [Standing::Kept, Standing::Dropped, Standing::Kept]);
//! let one = Undecided { document: 1, earlier: earlier[1] };
//! assert_eq!(one.original(|document| known.get(&document).copied()), Some(0));
//! ```

use std::collections::HashMap;
use std::hash::Hash;

/// The decision on a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// The document stays.
    Kept,
    /// An earlier kept document is near this one.
    Dropped,
}

/// A document of the total order with its near ones.
#[derive(Clone, Copy, Debug)]
pub struct Undecided<'a, D> {
    /// The document.
    pub document: D,
    /// The earlier documents that keep this one out if they are kept, the nearest first. An earlier
    /// record of the same id is one of them, before all others.
    pub earlier: &'a [D],
}

impl<D: Copy> Undecided<'_, D> {
    /// The decision by the known ones; `None` if it depends on an undecided document.
    fn standing(&self, known: impl Fn(D) -> Option<Standing>) -> Option<Standing> {
        let mut all_dropped = true;
        for &earlier in self.earlier {
            match known(earlier) {
                Some(Standing::Kept) => return Some(Standing::Dropped),
                Some(Standing::Dropped) => {}
                None => all_dropped = false,
            }
        }
        all_dropped.then_some(Standing::Kept)
    }

    /// The nearest earlier document that is kept: the original of this document, once all earlier
    /// ones are decided. Before that a nearer one may be undecided.
    pub fn original(&self, known: impl Fn(D) -> Option<Standing>) -> Option<D> {
        self.earlier.iter().copied().find(|&earlier| known(earlier) == Some(Standing::Kept))
    }
}

/// Decides the documents of one partition that depend on no undecided document outside of it, and
/// returns the new decisions. `known` returns the decisions of earlier rounds, for documents of any
/// partition.
///
/// A decision made here counts at once for the later documents of the partition, so `undecided`
/// best comes in the total order: a partition with all documents is then decided in one round.
pub fn round<'a, D: Copy + Eq + Hash + 'a>(
    undecided: impl IntoIterator<Item = Undecided<'a, D>>,
    known: impl Fn(D) -> Option<Standing>,
) -> Vec<(D, Standing)> {
    let mut new = Vec::new();
    let mut decided_here = HashMap::new();
    for next in undecided {
        let standing =
            next.standing(|earlier| decided_here.get(&earlier).copied().or_else(|| known(earlier)));
        if let Some(standing) = standing {
            decided_here.insert(next.document, standing);
            new.push((next.document, standing));
        }
    }
    new
}

#[cfg(test)]
mod tests;
