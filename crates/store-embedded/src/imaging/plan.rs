//! The layer that a writer of an image makes next: which layers stay below it, and which it takes
//! over.

use heed::RoTxn;
use heed::types::DecodeIgnore;

use super::UP_TO_MAX;
use crate::environment::Opened;
use crate::errors::Failure;
use crate::image::{self, Header};
use crate::limits::Limits;
use crate::shared::Shared;

/// A layer stays where it is so many times larger than the one that comes above it. Each document
/// is then written a few times in all, and an image has few layers.
const RATIO: u64 = 3;

/// Divisor of all documents: where more are gone, the image is made anew.
const GONE_PART: u64 = 8;

/// A layer that is worth its work.
pub(super) struct Plan {
    /// The layers that stay, from the lowest one on.
    pub(super) kept: Vec<Header>,
    /// Those above, whose entries the layer takes over.
    pub(super) taken: Vec<Header>,
    /// True where documents of the image have no record any more.
    pub(super) has_gone: bool,
}

/// Compares the documents that an opening would have to file with the sizes of the layers, and what
/// is in them and gone with what is there. `None` where the image in use is good enough. Layers
/// from a `damaged` one on are as if they were not there.
pub(super) fn find(
    shared: &Shared,
    opened: &Opened,
    txn: &RoTxn<'_>,
    damaged: &[u32],
) -> Result<Option<Plan>, Failure> {
    let mut kept = image::find(opened, txn, &shared.terms)?.sound;
    if let Some(place) = kept.iter().position(|header| damaged.contains(&header.generation)) {
        kept.truncate(place);
    }
    let first = kept.last().map_or(0, |header| header.up_to + 1);
    let n_in_image: u64 = kept.iter().map(|header| header.n_documents).sum();
    let n_documents = opened.log.len(txn)?;
    let (mut n_later, mut n_above) = (0_u64, 0_u64);
    for entry in opened.log.remap_data_type::<DecodeIgnore>().range(txn, &(first..))? {
        let (number, ()) = entry?;
        *if number <= UP_TO_MAX { &mut n_later } else { &mut n_above } += 1;
    }
    let n_gone = n_in_image.saturating_sub(n_documents.saturating_sub(n_later + n_above));
    let Limits { image_min, layers_max, .. } = shared.limits;
    let n_kept = if n_gone > image_min.max(n_documents / GONE_PART) {
        0
    } else if n_later > image_min {
        n_that_stay(kept.iter().map(|header| header.n_documents), n_later, layers_max)
    } else {
        return Ok(None);
    };
    let taken = kept.split_off(n_kept);
    Ok(Some(Plan { kept, taken, has_gone: n_gone > 0 }))
}

/// The number of layers, from the lowest one on, that stay below a layer of `n_later` documents and
/// of those above them.
fn n_that_stay(
    sizes: impl DoubleEndedIterator<Item = u64> + ExactSizeIterator,
    n_later: u64,
    layers_max: usize,
) -> usize {
    let (mut n_kept, mut n_above) = (sizes.len(), n_later);
    for size in sizes.rev() {
        if n_kept < layers_max && size >= n_above.saturating_mul(RATIO) {
            break;
        }
        n_kept -= 1;
        n_above += size;
    }
    n_kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_layers_stay() {
        let n_that_stay = |sizes: &[u64], n_later| n_that_stay(sizes.iter().copied(), n_later, 4);
        assert_eq!(n_that_stay(&[], 5), 0);
        assert_eq!(n_that_stay(&[15], 5), 1);
        assert_eq!(n_that_stay(&[14], 5), 0);
        assert_eq!(n_that_stay(&[100, 14], 5), 1);
        assert_eq!(n_that_stay(&[56, 14], 5), 0);
        // The lower one is small beside both above it, though the upper one is large.
        assert_eq!(n_that_stay(&[10, 30], 10), 2);
        assert_eq!(n_that_stay(&[10, 29], 10), 0);
    }

    #[test]
    fn there_are_no_more_layers_than_keys() {
        assert_eq!(n_that_stay([1000, 300, 90].into_iter(), 1, 4), 3);
        assert_eq!(n_that_stay([1000, 300, 90, 20].into_iter(), 1, 4), 3);
        assert_eq!(n_that_stay([1000, 300, 90, 20].into_iter(), 1, 1), 0);
    }

    /// Runs of equal size: a document is written some times, and most runs take over little.
    #[test]
    fn the_work_stays_small() {
        let (mut sizes, mut n_written, mut n_layers) = (Vec::new(), 0, 0);
        for _ in 0..1000 {
            let n_kept = n_that_stay(sizes.iter().copied(), 1, 8);
            let size = 1 + sizes.drain(n_kept..).sum::<u64>();
            sizes.push(size);
            n_written += size;
            n_layers = n_layers.max(sizes.len());
        }
        assert_eq!(sizes.iter().sum::<u64>(), 1000);
        assert!(n_written < 12_000 && n_layers <= 6, "{n_written} in {n_layers} layers");
    }
}
