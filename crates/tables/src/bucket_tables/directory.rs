//! Linear hashing: a hash table that grows by one bucket at a time.

use super::arena::{Arena, BLOCK_LEN_MAX};
use super::bucket::{BUCKET_LEN_MAX, Blocks, Bucket, Item};
use super::chunks::Chunks;

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
/// of at most [`BUCKET_LEN_MAX`] items.
#[derive(Clone, Debug)]
pub(super) struct Directory<T> {
    buckets: Chunks<Bucket>,
    arena: Arena<T>,
    n_items: usize,
    /// The items of a bucket that is being written anew.
    moving: Vec<T>,
}

impl<T> Default for Directory<T>
where
    Arena<T>: Default,
{
    fn default() -> Self {
        Self { buckets: Chunks::default(), arena: Arena::default(), n_items: 0, moving: Vec::new() }
    }
}

/// The error of a bucket with [`BUCKET_LEN_MAX`] items, which takes no more.
#[derive(Debug)]
pub(super) struct BucketFull;

/// A bucket that was looked up, to be read later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe(Bucket);

impl Probe {
    /// Returns true if [`Directory::mark`] was called for this hash, or for one that shared its
    /// bucket then.
    pub(super) fn is_marked(self) -> bool {
        self.0.marked
    }
}

impl<T: Item> Directory<T> {
    pub(super) fn n_items(&self) -> usize {
        self.n_items
    }

    /// Looks a bucket up without reading its items. A caller with many hashes should look all up
    /// before it reads the first: the memory system then serves them together.
    #[inline]
    pub(super) fn probe(&self, hash: u32) -> Probe {
        if self.n_items == 0 && self.buckets.len() == 0 {
            return Probe(Bucket::default());
        }
        Probe(self.buckets[self.index_of(hash)])
    }

    /// Returns the items of a bucket, among them all of the hash looked up.
    #[inline]
    pub(super) fn blocks(&self, Probe(bucket): Probe) -> Blocks<'_, T> {
        Blocks::new(&self.arena, bucket)
    }

    /// Reads the ends of a bucket's first block, only to bring them near: a loop of such reads
    /// waits for memory once, a loop that reads bucket by bucket waits for each. (Prefetching in
    /// safe code.)
    #[inline]
    pub(super) fn touch(&self, Probe(bucket): Probe) -> u32 {
        if bucket.len() == 0 {
            return 0;
        }
        let slots = self.arena.items(bucket.block, bucket.n_slots());
        slots[0].link() ^ slots[slots.len() - 1].link()
    }

    /// Returns all items.
    pub(super) fn all_blocks(&self) -> impl Iterator<Item = &[T]> {
        (0..self.buckets.len()).flat_map(|index| self.blocks(Probe(self.buckets[index])))
    }

    /// Adds an item, which must not be there.
    pub(super) fn insert(&mut self, item: T) -> Result<(), BucketFull> {
        if self.buckets.len() == 0 {
            self.buckets.push(Bucket::default());
        }
        let index = self.index_of(item.hash());
        let old = self.buckets[index];
        if old.len() == BUCKET_LEN_MAX {
            return Err(BucketFull);
        }
        let n_slots = old.n_slots();
        let block = if n_slots == 0 || n_slots == BLOCK_LEN_MAX {
            self.chain(old, &[item])
        } else {
            let block = self.arena.grow(old.block, n_slots);
            self.arena.items_mut(block, n_slots + 1)[n_slots] = item;
            block
        };
        self.buckets[index] = Bucket { block, len: old.len + 1, ..old };
        self.n_items += 1;
        if self.n_items > self.buckets.len() * T::LOAD {
            self.split();
        }
        Ok(())
    }

    /// Removes an item. Returns false if it is not there.
    pub(super) fn remove(&mut self, item: T) -> bool {
        let n_items = self.n_items;
        self.retain(item.hash(), |other| *other != item);
        self.n_items < n_items
    }

    /// Removes the items for which `keep` is false from the bucket of `hash`.
    pub(super) fn retain(&mut self, hash: u32, keep: impl FnMut(&T) -> bool) {
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
            if items[i].hash() & new_bit == 0 {
                items.swap(i, n_stay);
                n_stay += 1;
            }
        }
        self.buckets.push(Bucket { marked: self.buckets[old_index].marked, ..Bucket::default() });
        self.put(old_index, &items[..n_stay]);
        self.put(new_index, &items[n_stay..]);
        self.moving = items;
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let moving = self.moving.capacity() * size_of::<T>();
        self.buckets.heap_bytes() + self.arena.heap_bytes() + moving
    }

    #[inline]
    fn index_of(&self, hash: u32) -> usize {
        let n_buckets = self.buckets.len();
        let mask = n_buckets.next_power_of_two() - 1;
        let index = hash as usize & mask;
        if index < n_buckets { index } else { index & mask >> 1 }
    }

    /// Empties a bucket. The caller gives the returned vector back to `moving`, for the next one.
    fn take(&mut self, index: usize) -> Vec<T> {
        let mut items = std::mem::take(&mut self.moving);
        items.clear();
        let mut bucket = std::mem::take(&mut self.buckets[index]);
        self.buckets[index].marked = bucket.marked;
        while bucket.len() > 0 {
            let slots = self.arena.items(bucket.block, bucket.n_slots());
            items.extend_from_slice(&slots[bucket.n_links()..]);
            let rest = bucket.rest(slots);
            self.arena.release(bucket.block, bucket.n_slots());
            bucket = rest;
        }
        self.n_items -= items.len();
        items
    }

    /// Fills an empty bucket.
    fn put(&mut self, index: usize, mut items: &[T]) {
        self.n_items += items.len();
        let mut bucket = self.buckets[index];
        while !items.is_empty() {
            let room = if bucket.len() == 0 { BLOCK_LEN_MAX } else { BLOCK_LEN_MAX - 1 };
            let (some, others) = items.split_at(room.min(items.len()));
            bucket =
                Bucket { block: self.chain(bucket, some), len: bucket.len + some.len() as u16, ..bucket };
            items = others;
        }
        self.buckets[index] = bucket;
    }

    /// Returns a new block with these items, to become the first of this bucket.
    fn chain(&mut self, bucket: Bucket, items: &[T]) -> u32 {
        let n_links = usize::from(bucket.len() > 0);
        let block = self.arena.allocate(n_links + items.len());
        let slots = self.arena.items_mut(block, n_links + items.len());
        if n_links > 0 {
            slots[0] = T::from_link(bucket.block);
        }
        slots[n_links..].copy_from_slice(items);
        block
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Plain(u32);

    impl Item for Plain {
        const LOAD: usize = 8;

        fn hash(self) -> u32 {
            mix(self.0)
        }

        fn from_link(block: u32) -> Self {
            Self(block)
        }

        fn link(self) -> u32 {
            self.0
        }
    }

    impl Directory<Plain> {
        fn bucket(&self, n: u32) -> Vec<Plain> {
            self.blocks(self.probe(mix(n))).flatten().copied().collect()
        }
    }

    #[test]
    fn every_item_stays_in_the_bucket_of_its_hash() {
        let mut directory = Directory::<Plain>::default();
        assert!(directory.bucket(7).is_empty());
        assert!(!directory.remove(Plain(7)));
        for n in 0..3000 {
            directory.insert(Plain(n)).unwrap();
            assert_eq!(directory.buckets.len(), (n as usize + 1).div_ceil(Plain::LOAD));
            for m in [0, n / 2, n] {
                assert!(directory.bucket(m).contains(&Plain(m)), "{m} of {n}");
            }
        }
        assert_eq!(directory.all_blocks().map(<[_]>::len).sum::<usize>(), 3000);
        for n in 0..3000 {
            assert!(directory.remove(Plain(n)));
            assert!(!directory.remove(Plain(n)));
        }
        assert_eq!(directory.n_items, 0);
    }

    /// Every length at which a block is begun or ended, up and down.
    #[test]
    fn a_bucket_of_many_blocks() {
        let mut directory = Directory::<Plain>::default();
        // The low ten bits of the hash agree: splits do not part these.
        let alike: Vec<u32> =
            (0..4_000_000).filter(|&n| mix(n) & 1023 == 5).take(BUCKET_LEN_MAX + 1).collect();
        let (last, alike) = alike.split_last().unwrap();
        for (i, &n) in alike.iter().enumerate() {
            directory.insert(Plain(n)).unwrap();
            assert_eq!(
                directory.bucket(n).iter().map(|item| item.0).collect::<BTreeSet<_>>(),
                alike[..=i].iter().copied().collect()
            );
        }
        directory.insert(Plain(*last)).unwrap_err();
        assert_eq!(directory.bucket(*last).len(), BUCKET_LEN_MAX);
        for (i, &n) in alike.iter().enumerate() {
            assert!(directory.remove(Plain(n)));
            assert_eq!(
                directory.bucket(n).iter().map(|item| item.0).collect::<BTreeSet<_>>(),
                alike[i + 1..].iter().copied().collect()
            );
        }
    }

    #[test]
    fn a_mark_outlives_splits() {
        let mut directory = Directory::<Plain>::default();
        directory.insert(Plain(5)).unwrap();
        directory.mark(mix(5));
        for n in 6..500 {
            directory.insert(Plain(n)).unwrap();
            assert!(directory.probe(mix(5)).is_marked());
        }
    }
}
