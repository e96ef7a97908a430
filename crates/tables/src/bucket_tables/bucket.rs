//! One bucket of a directory: a block of the arena, or a chain of them.

use super::arena::{Arena, BLOCK_LEN_MAX};

/// An item that can be filed in a bucket.
pub(super) trait Item: Copy + Default + PartialEq {
    /// The average number of items in a bucket above which its directory grows.
    const LOAD: usize;

    /// The hash by which an item is filed; good in its low bits.
    fn hash(self) -> u32;

    /// Packs the number of a block in the place of an item.
    fn from_link(block: u32) -> Self;

    /// Returns the number given to [`from_link`](Self::from_link).
    fn link(self) -> u32;
}

/// The most items of a bucket.
pub(super) const BUCKET_LEN_MAX: usize = 1024;

/// The place of a bucket's items, 8 bytes.
///
/// The last block of a chain holds [`BLOCK_LEN_MAX`] items and no link. Each block before it begins
/// with the link to the next, and all of these but the first are full. The items of each block
/// follow from the length of the whole. (Single blocks of growing size would leave as much freed
/// memory behind as they hold, when many buckets grow at once.)
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    /// The first block, if there are items.
    pub(super) block: u32,
    pub(super) len: u16,
    /// A mark for the owner of the directory.
    pub(super) marked: bool,
}

const _: () = assert!(BUCKET_LEN_MAX <= u16::MAX as usize && size_of::<Bucket>() == 8);

impl Bucket {
    #[inline]
    pub(super) fn len(self) -> usize {
        usize::from(self.len)
    }

    /// The number of slots of the first block that are links: one or none.
    #[inline]
    pub(super) fn n_links(self) -> usize {
        usize::from(self.len() > BLOCK_LEN_MAX)
    }

    /// The number of slots of the first block in use, with the link.
    #[inline]
    pub(super) fn n_slots(self) -> usize {
        let len = self.len();
        if len <= BLOCK_LEN_MAX { len } else { (len - BLOCK_LEN_MAX - 1) % (BLOCK_LEN_MAX - 1) + 2 }
    }

    /// Returns the bucket without its first block, whose slots these are.
    #[inline]
    pub(super) fn rest<T: Item>(self, slots: &[T]) -> Self {
        let n_items = slots.len() - self.n_links();
        let block = if self.n_links() > 0 { slots[0].link() } else { 0 };
        Self { block, len: self.len - n_items as u16, ..self }
    }
}

/// The items of a bucket, block by block.
pub(super) struct Blocks<'a, T> {
    arena: &'a Arena<T>,
    rest: Bucket,
}

impl<'a, T> Blocks<'a, T> {
    #[inline]
    pub(super) fn new(arena: &'a Arena<T>, bucket: Bucket) -> Self {
        Self { arena, rest: bucket }
    }
}

impl<'a, T: Item> Iterator for Blocks<'a, T> {
    type Item = &'a [T];

    #[inline]
    fn next(&mut self) -> Option<&'a [T]> {
        let bucket = self.rest;
        if bucket.len() == 0 {
            return None;
        }
        let slots = self.arena.items(bucket.block, bucket.n_slots());
        self.rest = bucket.rest(slots);
        Some(&slots[bucket.n_links()..])
    }
}
