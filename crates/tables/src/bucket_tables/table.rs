//! One table: the entries filed under each segment.

use std::collections::BTreeMap;

use super::bucket::Item;
use super::chunks::Chunks;
use super::crowd::Crowd;
use super::directory::{BucketFull, Directory, Probe, mix};
use crate::heap::btree_bytes;

/// `segment << 32 | entry`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Filed(u64);

impl Filed {
    fn new(segment: u32, entry: u32) -> Self {
        Self(u64::from(segment) << 32 | u64::from(entry))
    }

    #[inline]
    fn segment(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    fn entry(self) -> u32 {
        self.0 as u32
    }
}

impl Item for Filed {
    const LOAD: usize = 12;

    fn hash(self) -> u32 {
        mix(self.segment())
    }

    fn from_link(block: u32) -> Self {
        Self(u64::from(block))
    }

    fn link(self) -> u32 {
        self.0 as u32
    }
}

/// Entries by segment. A bucket holds several segments; if one would hold too many items, its most
/// frequent segment moves out into a [`Crowd`] and the bucket is marked. Either all of a segment is
/// in its bucket or all is in its crowd.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    filed: Directory<Filed>,
    /// Boxed, since the nodes of a B-tree move their values about. No crowd is empty.
    crowds: BTreeMap<u32, Box<Crowd>>,
}

/// A segment that was looked up, to be read later.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentProbe {
    segment: u32,
    probe: Probe,
}

impl Table {
    /// Looks a segment up without reading the entries filed there.
    #[inline]
    pub(super) fn probe(&self, segment: u32) -> SegmentProbe {
        SegmentProbe { segment, probe: self.filed.probe(mix(segment)) }
    }

    /// Reads a bucket ahead: see [`Directory::touch`].
    #[inline]
    pub(super) fn touch(&self, probe: SegmentProbe) -> u32 {
        self.filed.touch(probe.probe)
    }

    /// Returns the crowd of a segment that has grown into one.
    #[inline]
    pub(super) fn crowd(&self, SegmentProbe { segment, probe }: SegmentProbe) -> Option<&Crowd> {
        if probe.is_marked() { self.crowds.get(&segment).map(Box::as_ref) } else { None }
    }

    /// Returns the entries filed under a segment without a crowd.
    #[inline]
    pub(super) fn entries(&self, SegmentProbe { segment, probe }: SegmentProbe) -> impl Iterator<Item = u32> {
        let items = self.filed.blocks(probe).flatten();
        items.filter(move |item| item.segment() == segment).map(|item| item.entry())
    }

    pub(super) fn contains(&self, segment: u32, entry: u32) -> bool {
        let probe = self.probe(segment);
        match self.crowd(probe) {
            Some(crowd) => crowd.contains(entry),
            None => self.entries(probe).any(|other| other == entry),
        }
    }

    /// Files an entry, which must not be there, under a segment; `fingerprints` is indexed by
    /// entry.
    pub(super) fn insert(&mut self, segment: u32, entry: u32, fingerprints: &Chunks<u64>) {
        // Each turn of the loop takes one segment out of the bucket: a second turn is needed only
        // in theory.
        loop {
            if self.filed.probe(mix(segment)).is_marked()
                && let Some(crowd) = self.crowds.get_mut(&segment)
            {
                return crowd.insert(entry, fingerprints[entry as usize]);
            }
            match self.filed.insert(Filed::new(segment, entry)) {
                Ok(()) => return,
                Err(BucketFull) => self.move_out(segment, fingerprints),
            }
        }
    }

    /// Removes an entry from a segment; `fingerprint` is the entry's.
    pub(super) fn remove(&mut self, segment: u32, entry: u32, fingerprint: u64) -> bool {
        if self.filed.probe(mix(segment)).is_marked()
            && let Some(crowd) = self.crowds.get_mut(&segment)
        {
            let removed = crowd.remove(entry, fingerprint);
            if crowd.len() == 0 {
                self.crowds.remove(&segment);
            }
            return removed;
        }
        self.filed.remove(Filed::new(segment, entry))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let crowds: usize = self.crowds.values().map(|crowd| size_of::<Crowd>() + crowd.heap_bytes()).sum();
        self.filed.heap_bytes() + crowds + btree_bytes(self.crowds.len(), size_of::<(u32, Box<Crowd>)>())
    }

    /// Makes a crowd of the most frequent segment in the bucket of `segment`.
    #[cold]
    fn move_out(&mut self, segment: u32, fingerprints: &Chunks<u64>) {
        let hash = mix(segment);
        let mut items: Vec<Filed> = self.filed.blocks(self.filed.probe(hash)).flatten().copied().collect();
        items.sort_unstable_by_key(|item| item.0);
        let most = items
            .chunk_by(|a, b| a.segment() == b.segment())
            .max_by_key(|items| items.len())
            .expect("a full bucket holds items");
        let segment = most[0].segment();
        let mut crowd = Box::<Crowd>::default();
        for item in most {
            crowd.insert(item.entry(), fingerprints[item.entry() as usize]);
        }
        self.crowds.insert(segment, crowd);
        self.filed.retain(hash, |item| item.segment() != segment);
        self.filed.mark(hash);
    }
}
