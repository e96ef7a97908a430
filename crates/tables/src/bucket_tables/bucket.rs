//! One bucket of a directory: a block of the arena, or a chain of them.

use super::arena::Arena;

/// An entry, and the [mixed](super::directory::mix) segment that it is filed under.
///
/// In a bucket that goes by fewer than 16 bits of the hash it takes four cells: the high half of
/// the hash, the low and the high half of the entry, the low half of the hash. In all others, which
/// are those of a table of 400,000 and more, the last is the low half of the bucket's number, and
/// is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Filed {
    pub(super) hash: u32,
    pub(super) entry: u32,
}

/// A number by its halves, the low one first.
fn halves(number: u32) -> [u16; 2] {
    [number as u16, (number >> 16) as u16]
}

#[inline]
fn from_halves(low: u16, high: u16) -> u32 {
    u32::from(high) << 16 | u32::from(low)
}

impl Filed {
    /// Returns the number of cells of each item in a bucket that goes by `n_bits` of the hash.
    #[inline]
    pub(super) fn n_cells(n_bits: u32) -> usize {
        if n_bits < 16 { 4 } else { 3 }
    }

    /// Writes items in slots of `n_cells` each.
    #[inline]
    pub(super) fn write(items: &[Self], slots: &mut [u16], n_cells: usize) {
        let parts = |item: &Self| (halves(item.hash), halves(item.entry));
        if n_cells == 3 {
            for (item, slot) in items.iter().zip(slots.as_chunks_mut().0) {
                let ([_, hash_high], [low, high]) = parts(item);
                *slot = [hash_high, low, high];
            }
        } else {
            for (item, slot) in items.iter().zip(slots.as_chunks_mut().0) {
                let ([hash_low, hash_high], [low, high]) = parts(item);
                *slot = [hash_high, low, high, hash_low];
            }
        }
    }

    /// Calls `visit` with the items of slots of `n_cells` each, in the bucket with this number.
    #[inline]
    pub(super) fn read(slots: &[u16], n_cells: usize, bucket: u32, visit: &mut impl FnMut(Self)) {
        if n_cells == 3 {
            for &[hash_high, low, high] in slots.as_chunks().0 {
                visit(Self { hash: from_halves(bucket as u16, hash_high), entry: from_halves(low, high) });
            }
        } else {
            for &[hash_high, low, high, hash_low] in slots.as_chunks().0 {
                visit(Self { hash: from_halves(hash_low, hash_high), entry: from_halves(low, high) });
            }
        }
    }
}

/// Writes the number of a block in the place of an item.
pub(super) fn write_link(cells: &mut [u16], block: u32) {
    cells[..2].copy_from_slice(&halves(block));
}

/// Returns the number given to [`write_link`].
#[inline]
pub(super) fn read_link(cells: &[u16]) -> u32 {
    from_halves(cells[0], cells[1])
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
    pub(super) fn rest(self, cells: &[u16]) -> Self {
        let block = if self.n_links() > 0 { read_link(cells) } else { 0 };
        Self { block, len: self.len - (self.n_slots() - self.n_links()) as u16, ..self }
    }
}

/// The slots of a bucket, block by block, each as the cells of its items.
pub(super) struct Blocks<'a> {
    arena: &'a Arena,
    n_cells: usize,
    rest: Bucket,
}

impl<'a> Blocks<'a> {
    /// Items have `n_cells` each in this bucket.
    #[inline]
    pub(super) fn new(arena: &'a Arena, n_cells: usize, bucket: Bucket) -> Self {
        Self { arena, n_cells, rest: bucket }
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = &'a [u16];

    #[inline]
    fn next(&mut self) -> Option<&'a [u16]> {
        let bucket = self.rest;
        if bucket.len() == 0 {
            return None;
        }
        let cells = self.arena.cells(bucket.block, bucket.n_slots() * self.n_cells);
        self.rest = bucket.rest(cells);
        Some(&cells[bucket.n_links() * self.n_cells..])
    }
}
