//! One table: the entries filed under each segment.

use std::collections::BTreeMap;

use super::bucket::Filed;
use super::chunks::Chunks;
use super::crowd::Crowd;
use super::directory::{BucketFull, Directory, Probe, mix};
use crate::heap::btree_bytes;

/// Entries by segment. A bucket holds several segments; if one would hold too many items, its most
/// frequent segment moves out into a [`Crowd`] and the bucket is marked. Either all of a segment is
/// in its bucket or all is in its crowd.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    filed: Directory,
    /// By hash. Boxed, since the nodes of a B-tree move their values about. No crowd is empty.
    crowds: BTreeMap<u32, Box<Crowd>>,
}

/// A segment that was looked up, to be read later.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentProbe {
    hash: u32,
    probe: Probe,
}

impl Table {
    /// Looks a segment up without reading the entries filed there.
    #[inline]
    pub(super) fn probe(&self, segment: u32) -> SegmentProbe {
        let hash = mix(segment);
        SegmentProbe { hash, probe: self.filed.probe(hash) }
    }

    /// Reads a bucket ahead: see [`Directory::touch`].
    #[inline]
    pub(super) fn touch(&self, probe: SegmentProbe) -> u32 {
        self.filed.touch(probe.probe)
    }

    /// Returns the crowd of a segment that has grown into one.
    #[inline]
    pub(super) fn crowd(&self, SegmentProbe { hash, probe }: SegmentProbe) -> Option<&Crowd> {
        if probe.is_marked() { self.crowds.get(&hash).map(Box::as_ref) } else { None }
    }

    /// Calls `visit` with the entries filed under a segment without a crowd.
    #[inline]
    pub(super) fn read(&self, SegmentProbe { hash, probe }: SegmentProbe, mut visit: impl FnMut(u32)) {
        self.filed.read(probe, |item| {
            if item.hash == hash {
                visit(item.entry);
            }
        });
    }

    pub(super) fn contains(&self, segment: u32, entry: u32) -> bool {
        let probe = self.probe(segment);
        match self.crowd(probe) {
            Some(crowd) => crowd.contains(entry),
            None => {
                let mut is_there = false;
                self.read(probe, |other| is_there |= other == entry);
                is_there
            }
        }
    }

    /// Files an entry, which must not be there, under a segment; `fingerprints` is indexed by
    /// entry.
    pub(super) fn insert(&mut self, segment: u32, entry: u32, fingerprints: &Chunks<u64>) {
        let hash = mix(segment);
        // Each turn of the loop takes one segment out of the bucket: a second turn is needed only
        // in theory.
        loop {
            if self.filed.probe(hash).is_marked()
                && let Some(crowd) = self.crowds.get_mut(&hash)
            {
                return crowd.insert(entry, fingerprints[entry as usize]);
            }
            match self.filed.insert(Filed { hash, entry }) {
                Ok(()) => return,
                Err(BucketFull) => self.move_out(hash, fingerprints),
            }
        }
    }

    /// Removes an entry from a segment. Returns false if it is not there.
    pub(super) fn remove(&mut self, segment: u32, entry: u32) -> bool {
        let hash = mix(segment);
        if self.filed.probe(hash).is_marked()
            && let Some(crowd) = self.crowds.get_mut(&hash)
        {
            let removed = crowd.remove(entry);
            if crowd.len() == 0 {
                self.crowds.remove(&hash);
            }
            return removed;
        }
        self.filed.remove(Filed { hash, entry })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let crowds: usize = self.crowds.values().map(|crowd| size_of::<Crowd>() + crowd.heap_bytes()).sum();
        self.filed.heap_bytes() + crowds + btree_bytes(self.crowds.len(), size_of::<(u32, Box<Crowd>)>())
    }

    /// Makes a crowd of the most frequent segment in the bucket of `hash`.
    #[cold]
    fn move_out(&mut self, hash: u32, fingerprints: &Chunks<u64>) {
        let mut items = Vec::new();
        self.filed.read(self.filed.probe(hash), |item| items.push(item));
        items.sort_unstable_by_key(|item| (item.hash, item.entry));
        let most = items
            .chunk_by(|a, b| a.hash == b.hash)
            .max_by_key(|items| items.len())
            .expect("a full bucket holds items");
        let mut crowd = Box::<Crowd>::default();
        for item in most {
            crowd.insert(item.entry, fingerprints[item.entry as usize]);
        }
        let moved = most[0].hash;
        self.crowds.insert(moved, crowd);
        self.filed.retain(moved, |item| item.hash != moved);
        self.filed.mark(moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Grows until nearly all buckets go by 16 bits and more, and some by 17: segments that differ
    /// in any one bit are not taken for one another.
    #[test]
    fn a_table_of_narrow_items() {
        const N_SEGMENTS: u32 = 1 << 19;
        let mut table = Table::default();
        let fingerprints = Chunks::default();
        // Two entries a segment.
        for entry in 0..2 * N_SEGMENTS {
            table.insert(entry / 2, entry, &fingerprints);
        }
        let entries = |table: &Table, segment| {
            let mut entries = Vec::new();
            table.read(table.probe(segment), |entry| entries.push(entry));
            entries.sort_unstable();
            entries
        };
        for segment in (0..N_SEGMENTS).step_by(97) {
            assert_eq!(entries(&table, segment), [2 * segment, 2 * segment + 1]);
            for bit in 19..32 {
                assert_eq!(entries(&table, segment ^ 1 << bit), []);
            }
            assert!(table.remove(segment, 2 * segment) && !table.remove(segment, 2 * segment));
            assert_eq!(entries(&table, segment), [2 * segment + 1]);
        }
    }
}
