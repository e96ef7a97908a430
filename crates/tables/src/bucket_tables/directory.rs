//! Linear hashing: a hash table that grows by one bucket at a time.

use super::arena::Arena;
use super::bucket::{BUCKET_LEN_MAX, Blocks, Bucket, Filed, N_SLOTS_MAX, read_link, write_link};
use super::chunks::Chunks;

/// The average number of items in a bucket above which the directory grows.
const LOAD: usize = 12;

/// Mixes a number: every bit of the result depends on every bit of `x`, and different numbers stay
/// different (MurmurHash3's `fmix32`).
#[inline]
pub(super) fn mix(mut x: u32) -> u32 {
    x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
    x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
    x ^ x >> 16
}

/// Items in buckets by the low bits of their hash (Litwin, "Linear hashing: a new tool for file and
/// table addressing", VLDB 1980).
///
/// With `n` buckets and `2^l < n <= 2^(l+1)`, the buckets below `n − 2^l` and those from `2^l` on
/// go by `l + 1` bits of the hash, the others still by `l`. One insert splits at most one bucket,
/// of at most [`BUCKET_LEN_MAX`] items. The bits by which a bucket goes are known by its number:
/// its items may leave them out (Knuth, TAOCP 3, 6.4, exercise 13), and the two buckets of a split
/// are written anew with one bit less.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    buckets: Chunks<Bucket>,
    /// The lowest bits of a hash by which at least one bucket goes: a probe does not count them
    /// anew.
    mask: usize,
    arena: Arena,
    n_items: usize,
    /// The items of a bucket that is being written anew.
    moving: Vec<Filed>,
}

/// The error of a bucket with [`BUCKET_LEN_MAX`] items, which takes no more.
#[derive(Debug)]
pub(super) struct BucketFull;

/// A bucket that was looked up, to be read later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    bucket: Bucket,
    number: u32,
    n_cells: u32,
}

impl Probe {
    /// Returns true if [`Directory::mark`] was called for this hash, or for one that shared its
    /// bucket then.
    pub(super) fn is_marked(self) -> bool {
        self.bucket.marked
    }
}

impl Directory {
    /// Looks a bucket up without reading its items. A caller with many hashes should look all up
    /// before it reads the first: the memory system then serves them together.
    #[inline]
    pub(super) fn probe(&self, hash: u32) -> Probe {
        if self.buckets.len() == 0 {
            return Probe { bucket: Bucket::default(), number: 0, n_cells: 0 };
        }
        self.probe_bucket(self.index_of(hash))
    }

    /// Calls `visit` with the items of a bucket, among them all of the hash looked up.
    #[inline]
    pub(super) fn read(&self, probe: Probe, mut visit: impl FnMut(Filed)) {
        let n_cells = probe.n_cells as usize;
        for slots in Blocks::new(&self.arena, n_cells, probe.bucket) {
            Filed::read(slots, n_cells, probe.number, &mut visit);
        }
    }

    /// Reads the ends of a bucket's first block, only to bring them near: a loop of such reads
    /// waits for memory once, a loop that reads bucket by bucket waits for each. (Prefetching in
    /// safe code.)
    #[inline]
    pub(super) fn touch(&self, Probe { bucket, n_cells, .. }: Probe) -> u32 {
        if bucket.len() == 0 {
            return 0;
        }
        let n_cells = n_cells as usize;
        let cells = self.arena.cells(bucket.block, bucket.n_slots() * n_cells);
        read_link(cells) ^ read_link(&cells[cells.len() - n_cells..])
    }

    /// Adds an item, which must not be there.
    pub(super) fn insert(&mut self, item: Filed) -> Result<(), BucketFull> {
        if self.buckets.len() == 0 {
            self.push_bucket(Bucket::default());
        }
        let index = self.index_of(item.hash);
        let old = self.buckets[index];
        if old.len() == BUCKET_LEN_MAX {
            return Err(BucketFull);
        }
        let (n_slots, n_cells) = (old.n_slots(), self.n_cells(index));
        let block = if n_slots == 0 || n_slots == N_SLOTS_MAX {
            self.chain(old, n_cells, &[item])
        } else {
            let len = n_slots * n_cells;
            let block = self.arena.grow(old.block, len, n_cells);
            Filed::write(&[item], &mut self.arena.cells_mut(block, len + n_cells)[len..], n_cells);
            block
        };
        self.buckets[index] = Bucket { block, len: old.len + 1, ..old };
        self.n_items += 1;
        if self.n_items > self.buckets.len() * LOAD {
            self.split();
        }
        Ok(())
    }

    /// Removes an item. Returns false if it is not there.
    pub(super) fn remove(&mut self, item: Filed) -> bool {
        if self.buckets.len() == 0 {
            return false;
        }
        let index = self.index_of(item.hash);
        let Probe { bucket, n_cells, .. } = self.probe_bucket(index);
        if bucket.len() > N_SLOTS_MAX {
            let n_items = self.n_items;
            self.retain(item.hash, |other| *other != item);
            return self.n_items < n_items;
        }
        let (mut slot, mut found) = (0, None);
        self.read(self.probe_bucket(index), |other| {
            if other == item {
                found = Some(slot);
            }
            slot += 1;
        });
        let Some(slot) = found else { return false };
        // The last item takes its place.
        let (len, n_cells) = (bucket.len() * n_cells as usize, n_cells as usize);
        self.arena.cells_mut(bucket.block, len).copy_within(len - n_cells.., slot * n_cells);
        let block = self.arena.shrink(bucket.block, len, n_cells);
        self.buckets[index] = Bucket { block, len: bucket.len - 1, ..bucket };
        self.n_items -= 1;
        true
    }

    /// Removes the items for which `keep` is false from the bucket of `hash`.
    pub(super) fn retain(&mut self, hash: u32, keep: impl FnMut(&Filed) -> bool) {
        if self.buckets.len() == 0 {
            return;
        }
        let index = self.index_of(hash);
        let mut items = self.take(index);
        items.retain(keep);
        self.put(index, &items);
        self.moving = items;
    }

    /// Marks the bucket of `hash`, for good: buckets split from it are marked too.
    pub(super) fn mark(&mut self, hash: u32) {
        let index = self.index_of(hash);
        self.buckets[index].marked = true;
    }

    /// Adds one bucket, and moves the items into it that now belong there.
    pub(super) fn split(&mut self) {
        let new_index = self.buckets.len();
        // The two buckets part by the highest bit of the new one's number.
        let new_bit = 1_u32 << new_index.ilog2();
        let old_index = new_index ^ new_bit as usize;
        let mut items = self.take(old_index);
        let mut n_stay = 0;
        for i in 0..items.len() {
            if items[i].hash & new_bit == 0 {
                items.swap(i, n_stay);
                n_stay += 1;
            }
        }
        self.push_bucket(Bucket { marked: self.buckets[old_index].marked, ..Bucket::default() });
        self.put(old_index, &items[..n_stay]);
        self.put(new_index, &items[n_stay..]);
        self.moving = items;
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let moving = self.moving.capacity() * size_of::<Filed>();
        self.buckets.heap_bytes() + self.arena.heap_bytes() + moving
    }

    fn push_bucket(&mut self, bucket: Bucket) {
        self.buckets.push(bucket);
        self.mask = self.buckets.len().next_power_of_two() - 1;
    }

    #[inline]
    fn index_of(&self, hash: u32) -> usize {
        let index = hash as usize & self.mask;
        if index < self.buckets.len() { index } else { index & self.mask >> 1 }
    }

    /// Returns the number of bits of the hash by which a bucket goes.
    #[inline]
    fn n_bits(&self, index: usize) -> u32 {
        let n_split = self.buckets.len() - self.mask.div_ceil(2);
        let is_split = index & self.mask >> 1 < n_split;
        self.mask.trailing_ones() - u32::from(!is_split)
    }

    #[inline]
    fn n_cells(&self, index: usize) -> usize {
        Filed::n_cells(self.n_bits(index))
    }

    #[inline]
    fn probe_bucket(&self, index: usize) -> Probe {
        Probe { bucket: self.buckets[index], number: index as u32, n_cells: self.n_cells(index) as u32 }
    }

    /// Empties a bucket. The caller gives the returned vector back to `moving`, for the next one.
    fn take(&mut self, index: usize) -> Vec<Filed> {
        let mut items = std::mem::take(&mut self.moving);
        items.clear();
        let probe = self.probe_bucket(index);
        self.read(probe, |item| items.push(item));
        let (mut bucket, n_cells) = (probe.bucket, probe.n_cells as usize);
        self.buckets[index] = Bucket { marked: bucket.marked, ..Bucket::default() };
        while bucket.len() > 0 {
            let len = bucket.n_slots() * n_cells;
            let rest = bucket.rest(self.arena.cells(bucket.block, len));
            self.arena.release(bucket.block, len);
            bucket = rest;
        }
        self.n_items -= items.len();
        items
    }

    /// Fills an empty bucket.
    fn put(&mut self, index: usize, mut items: &[Filed]) {
        self.n_items += items.len();
        let n_cells = self.n_cells(index);
        let mut bucket = self.buckets[index];
        while !items.is_empty() {
            let room = if bucket.len() == 0 { N_SLOTS_MAX } else { N_SLOTS_MAX - 1 };
            let (some, others) = items.split_at(room.min(items.len()));
            let block = self.chain(bucket, n_cells, some);
            bucket = Bucket { block, len: bucket.len + some.len() as u16, ..bucket };
            items = others;
        }
        self.buckets[index] = bucket;
    }

    /// Returns a new block with these items, to become the first of this bucket.
    fn chain(&mut self, bucket: Bucket, n_cells: usize, items: &[Filed]) -> u32 {
        let n_links = usize::from(bucket.len() > 0);
        let len = (n_links + items.len()) * n_cells;
        let block = self.arena.allocate(len);
        let cells = self.arena.cells_mut(block, len);
        if n_links > 0 {
            write_link(cells, bucket.block);
        }
        Filed::write(items, &mut cells[n_links * n_cells..], n_cells);
        block
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn filed(n: u32) -> Filed {
        Filed { hash: mix(n), entry: n }
    }

    impl Directory {
        fn bucket(&self, n: u32) -> Vec<Filed> {
            let mut items = Vec::new();
            self.read(self.probe(mix(n)), |item| items.push(item));
            items
        }
    }

    #[test]
    fn every_item_stays_in_the_bucket_of_its_hash() {
        let mut directory = Directory::default();
        assert!(directory.bucket(7).is_empty());
        assert!(!directory.remove(filed(7)));
        for n in 0..3000 {
            directory.insert(filed(n)).unwrap();
            assert_eq!(directory.buckets.len(), (n as usize + 1).div_ceil(LOAD));
            for m in [0, n / 2, n] {
                assert!(directory.bucket(m).contains(&filed(m)), "{m} of {n}");
            }
        }
        assert_eq!(directory.n_items, 3000);
        for n in 0..3000 {
            assert!(directory.remove(filed(n)));
            assert!(!directory.remove(filed(n)));
        }
        assert_eq!(directory.n_items, 0);
    }

    /// Every length at which a block is begun or ended, up and down.
    #[test]
    fn a_bucket_of_many_blocks() {
        let mut directory = Directory::default();
        // The low ten bits of the hash agree: splits do not part these.
        let alike: Vec<u32> =
            (0..4_000_000).filter(|&n| mix(n) & 1023 == 5).take(BUCKET_LEN_MAX + 1).collect();
        let (last, alike) = alike.split_last().unwrap();
        for (i, &n) in alike.iter().enumerate() {
            directory.insert(filed(n)).unwrap();
            assert_eq!(
                directory.bucket(n).into_iter().collect::<BTreeSet<_>>(),
                alike[..=i].iter().copied().map(filed).collect()
            );
        }
        directory.insert(filed(*last)).unwrap_err();
        assert_eq!(directory.bucket(*last).len(), BUCKET_LEN_MAX);
        for (i, &n) in alike.iter().enumerate() {
            assert!(directory.remove(filed(n)));
            assert_eq!(
                directory.bucket(n).into_iter().collect::<BTreeSet<_>>(),
                alike[i + 1..].iter().copied().map(filed).collect()
            );
        }
    }

    #[test]
    fn a_mark_outlives_splits() {
        let mut directory = Directory::default();
        directory.insert(filed(5)).unwrap();
        directory.mark(mix(5));
        for n in 6..500 {
            directory.insert(filed(n)).unwrap();
            assert!(directory.probe(mix(5)).is_marked());
        }
    }
}
