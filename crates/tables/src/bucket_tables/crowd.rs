//! The many sketches of one segment, as of boilerplate, or of a scheme with short keys.

use super::arena::Cell;
use super::bucket::Item;
use super::directory::{BucketFull, Directory, mix};

/// A sketch in a crowd, with its fingerprint beside it: a query reads memory in a row instead of
/// one random place for each candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Member {
    /// The low half, then the high one: 8 bytes in 12, where a `u64` would make it 16.
    fingerprint: [u32; 2],
    entry: u32,
}

impl Member {
    fn new(entry: u32, fingerprint: u64) -> Self {
        Self { fingerprint: [fingerprint as u32, (fingerprint >> 32) as u32], entry }
    }

    fn fingerprint(self) -> u64 {
        let [low, high] = self.fingerprint;
        u64::from(high) << 32 | u64::from(low)
    }
}

impl Cell for Member {
    const UNIT: usize = 4;

    fn write_link(cells: &mut [Self], block: u32) {
        cells[0].entry = block;
    }

    #[inline]
    fn read_link(cells: &[Self]) -> u32 {
        cells[0].entry
    }
}

impl Item for Member {
    type Cell = Self;

    const LOAD: usize = 40;

    #[inline]
    fn n_cells(_: u32) -> usize {
        1
    }

    fn hash(self) -> u32 {
        mix(self.entry)
    }

    #[inline]
    fn write(items: &[Self], slots: &mut [Self], _: usize) {
        slots.copy_from_slice(items);
    }

    #[inline]
    fn read(slots: &[Self], _: usize, _: u32, visit: &mut impl FnMut(Self)) {
        slots.iter().for_each(|member| visit(*member));
    }
}

/// The sketches of one segment in a directory of their own, by entry number: a crowd finds, adds or
/// removes one without reading the rest.
#[derive(Clone, Debug, Default)]
pub(super) struct Crowd {
    members: Directory<Member>,
}

impl Crowd {
    pub(super) fn len(&self) -> usize {
        self.members.n_items()
    }

    pub(super) fn contains(&self, entry: u32) -> bool {
        let mut is_there = false;
        self.members.read(self.members.probe(mix(entry)), |member| is_there |= member.entry == entry);
        is_there
    }

    /// Adds an entry, which must not be there.
    pub(super) fn insert(&mut self, entry: u32, fingerprint: u64) {
        let member = Member::new(entry, fingerprint);
        // Splitting makes room at last: `mix` keeps different entries different, and no 1,025 of
        // them agree in more than 22 bits of the hash. With entries numbered as they come, no split
        // was ever seen to be needed.
        while let Err(BucketFull) = self.members.insert(member) {
            self.members.split();
        }
    }

    /// Removes an entry. Returns false if it is not there.
    pub(super) fn remove(&mut self, entry: u32, fingerprint: u64) -> bool {
        self.members.remove(Member::new(entry, fingerprint))
    }

    /// Calls `visit` with the entry and fingerprint of each member.
    #[inline]
    pub(super) fn read(&self, mut visit: impl FnMut(u32, u64)) {
        self.members.read_all(|member| visit(member.entry, member.fingerprint()));
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.members.heap_bytes()
    }
}
