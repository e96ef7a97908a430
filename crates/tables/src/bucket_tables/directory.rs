//! Linear hashing: a hash table that grows by one bucket at a time.

use super::arena::{Arena, BLOCK_LEN_MAX};
use super::chunks::Chunks;

/// What can be filed in a [`Directory`].
pub(super) trait Item: Copy + Default + PartialEq {
    /// How many items a bucket holds on average when the directory grows.
    const LOAD: usize;

    /// Where it is filed; good in its low bits.
    fn hash(self) -> u32;
}

/// Every bit of the result depends on every bit of `x`, and different numbers stay different (MurmurHash3's `fmix32`).
#[inline]
pub(super) fn mix(mut x: u32) -> u32 {
    x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
    x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
    x ^ x >> 16
}

/// One bucket: a block of the arena.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    block: u32,
    len: u16,
    marked: bool,
}

/// Items in buckets by the low bits of their hash (Litwin, "Linear hashing: a new tool for file and table addressing",
/// VLDB 1980).
///
/// With `n` buckets and `2^l < n <= 2^(l+1)`, the buckets below `n − 2^l` and those from `2^l` on go by `l + 1` bits of
/// the hash, the others still by `l`. One insert splits at most one bucket, of at most [`BLOCK_LEN_MAX`] items.
#[derive(Clone, Debug)]
pub(super) struct Directory<T> {
    buckets: Chunks<Bucket>,
    arena: Arena<T>,
    n_items: usize,
}

impl<T> Default for Directory<T>
where
    Arena<T>: Default,
{
    fn default() -> Self {
        Self { buckets: Chunks::default(), arena: Arena::default(), n_items: 0 }
    }
}

/// A bucket that holds [`BLOCK_LEN_MAX`] items takes no more.
#[derive(Debug)]
pub(super) struct BucketFull;

/// A bucket that was looked up, to be read later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe(Bucket);

impl Probe {
    /// Whether [`Directory::mark`] was called for this hash, or for one that shared its bucket then.
    pub(super) fn is_marked(self) -> bool {
        self.0.marked
    }
}

impl<T: Item> Directory<T> {
    pub(super) fn n_items(&self) -> usize {
        self.n_items
    }

    /// Looks a bucket up without reading its items: callers with many hashes look all up before they read the first,
    /// so that the memory system serves them together.
    #[inline]
    pub(super) fn probe(&self, hash: u32) -> Probe {
        if self.n_items == 0 && self.buckets.len() == 0 {
            return Probe(Bucket::default());
        }
        Probe(self.buckets[self.index_of(hash)])
    }

    /// The items of a bucket, among them all of the hash it was looked up for.
    #[inline]
    pub(super) fn items(&self, probe: Probe) -> &[T] {
        self.arena.items(probe.0.block, usize::from(probe.0.len))
    }

    /// All items, bucket by bucket.
    pub(super) fn buckets(&self) -> impl Iterator<Item = &[T]> {
        (0..self.buckets.len()).map(|index| self.items(Probe(self.buckets[index])))
    }

    /// Adds an item, which the caller knows is not there.
    pub(super) fn insert(&mut self, item: T) -> Result<(), BucketFull> {
        if self.buckets.len() == 0 {
            self.buckets.push(Bucket::default());
        }
        let bucket = self.bucket_mut(item.hash());
        let (block, len) = (bucket.block, usize::from(bucket.len));
        if len == BLOCK_LEN_MAX {
            return Err(BucketFull);
        }
        let block = self.arena.resize(block, len, len + 1);
        self.arena.items_mut(block, len + 1)[len] = item;
        let bucket = self.bucket_mut(item.hash());
        bucket.block = block;
        bucket.len += 1;
        self.n_items += 1;
        if self.n_items > self.buckets.len() * T::LOAD {
            self.split();
        }
        Ok(())
    }

    /// Takes an item away; false where it is not there.
    pub(super) fn remove(&mut self, item: T) -> bool {
        let mut removed = false;
        self.retain(item.hash(), |other| {
            let is_it = *other == item;
            removed |= is_it;
            !is_it
        });
        removed
    }

    /// Takes away the items for which `keep` is false, of the bucket of `hash`.
    pub(super) fn retain(&mut self, hash: u32, mut keep: impl FnMut(&T) -> bool) {
        let Probe(bucket) = self.probe(hash);
        let (block, len) = (bucket.block, usize::from(bucket.len));
        let items = self.arena.items_mut(block, len);
        let mut kept = 0;
        for i in 0..len {
            if keep(&items[i]) {
                items[kept] = items[i];
                kept += 1;
            }
        }
        if kept < len {
            let block = self.arena.resize(block, len, kept);
            *self.bucket_mut(hash) = Bucket { block, len: kept as u16, ..bucket };
            self.n_items -= len - kept;
        }
    }

    /// Marks the bucket of `hash`, for good: whatever is split from it is marked too.
    pub(super) fn mark(&mut self, hash: u32) {
        self.bucket_mut(hash).marked = true;
    }

    /// Adds one bucket, and moves into it what now belongs there.
    pub(super) fn split(&mut self) {
        let new_index = self.buckets.len();
        // The bit by which the two part is the highest of the new one's number.
        let new_bit = 1_u32 << new_index.ilog2();
        let old_index = new_index ^ new_bit as usize;
        let old = self.buckets[old_index];
        let len = usize::from(old.len);
        let items = self.arena.items_mut(old.block, len);
        let mut n_stay = 0;
        for i in 0..len {
            if items[i].hash() & new_bit == 0 {
                items.swap(i, n_stay);
                n_stay += 1;
            }
        }
        let new_block = self.arena.copy_tail(old.block, len, n_stay);
        let old_block = self.arena.resize(old.block, len, n_stay);
        self.buckets[old_index] = Bucket { block: old_block, len: n_stay as u16, ..old };
        self.buckets.push(Bucket { block: new_block, len: (len - n_stay) as u16, ..old });
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.buckets.heap_bytes() + self.arena.heap_bytes()
    }

    #[inline]
    fn index_of(&self, hash: u32) -> usize {
        let n_buckets = self.buckets.len();
        let mask = n_buckets.next_power_of_two() - 1;
        let index = hash as usize & mask;
        if index < n_buckets { index } else { index & mask >> 1 }
    }

    fn bucket_mut(&mut self, hash: u32) -> &mut Bucket {
        let index = self.index_of(hash);
        &mut self.buckets[index]
    }
}

const _: () = assert!(BLOCK_LEN_MAX <= u16::MAX as usize && size_of::<Bucket>() == 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Plain(u32);

    impl Item for Plain {
        const LOAD: usize = 8;

        fn hash(self) -> u32 {
            mix(self.0)
        }
    }

    #[test]
    fn every_item_stays_in_the_bucket_of_its_hash() {
        let mut directory = Directory::<Plain>::default();
        assert!(directory.items(directory.probe(7)).is_empty());
        for n in 0..3000 {
            directory.insert(Plain(n)).unwrap();
            assert_eq!(directory.buckets.len(), (n as usize + 1).div_ceil(Plain::LOAD));
            for m in [0, n / 2, n] {
                assert!(directory.items(directory.probe(mix(m))).contains(&Plain(m)), "{m} of {n}");
            }
        }
        assert_eq!(directory.buckets().map(<[_]>::len).sum::<usize>(), 3000);
        for n in 0..3000 {
            assert!(directory.remove(Plain(n)));
            assert!(!directory.remove(Plain(n)));
        }
        assert_eq!(directory.n_items(), 0);
    }

    #[test]
    fn a_full_bucket_says_so_and_changes_nothing() {
        let mut directory = Directory::<Plain>::default();
        for _ in 0..BLOCK_LEN_MAX {
            directory.insert(Plain(1)).unwrap();
        }
        directory.insert(Plain(1)).unwrap_err();
        assert_eq!(directory.items(directory.probe(mix(1))).len(), BLOCK_LEN_MAX);
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
