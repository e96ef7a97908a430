//! One bucket of a directory: a block of the arena, or a chain of them.

use super::arena::{Arena, Cell};

/// An item that can be filed in a bucket.
pub(super) trait Item: Copy + PartialEq {
    /// The elements of the arena that an item is written in.
    type Cell: Cell;

    /// The average number of items in a bucket above which its directory grows.
    const LOAD: usize;

    /// Returns the number of cells of each item in a bucket that goes by `n_bits` of the hash.
    fn n_cells(n_bits: u32) -> usize;

    /// The hash by which an item is filed; good in its low bits.
    fn hash(self) -> u32;

    /// Writes items in slots of `n_cells` each. The low bits of their hashes that are the number of
    /// the bucket may be left out.
    fn write(items: &[Self], slots: &mut [Self::Cell], n_cells: usize);

    /// Calls `visit` with the items of slots of `n_cells` each, in the bucket with this number.
    fn read(slots: &[Self::Cell], n_cells: usize, bucket: u32, visit: &mut impl FnMut(Self));
}

/// The most slots a block can hold.
pub(super) const N_SLOTS_MAX: usize = 64;

/// The most items of a bucket.
pub(super) const BUCKET_LEN_MAX: usize = 1024;

/// The place of a bucket's items, 8 bytes.
///
/// The last block of a chain holds [`N_SLOTS_MAX`] items and no link. Each block before it begins
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
        usize::from(self.len() > N_SLOTS_MAX)
    }

    /// The number of slots of the first block in use, with the link.
    #[inline]
    pub(super) fn n_slots(self) -> usize {
        let len = self.len();
        if len <= N_SLOTS_MAX { len } else { (len - N_SLOTS_MAX - 1) % (N_SLOTS_MAX - 1) + 2 }
    }

    /// Returns the bucket without its first block, whose cells these are.
    #[inline]
    pub(super) fn rest<C: Cell>(self, cells: &[C]) -> Self {
        let block = if self.n_links() > 0 { C::read_link(cells) } else { 0 };
        Self { block, len: self.len - (self.n_slots() - self.n_links()) as u16, ..self }
    }
}

/// The slots of a bucket, block by block, each as the cells of its items.
pub(super) struct Blocks<'a, C> {
    arena: &'a Arena<C>,
    n_cells: usize,
    rest: Bucket,
}

impl<'a, C> Blocks<'a, C> {
    /// Items have `n_cells` each in this bucket.
    #[inline]
    pub(super) fn new(arena: &'a Arena<C>, n_cells: usize, bucket: Bucket) -> Self {
        Self { arena, n_cells, rest: bucket }
    }
}

impl<'a, C: Cell> Iterator for Blocks<'a, C> {
    type Item = &'a [C];

    #[inline]
    fn next(&mut self) -> Option<&'a [C]> {
        let bucket = self.rest;
        if bucket.len() == 0 {
            return None;
        }
        let cells = self.arena.cells(bucket.block, bucket.n_slots() * self.n_cells);
        self.rest = bucket.rest(cells);
        Some(&cells[bucket.n_links() * self.n_cells..])
    }
}
