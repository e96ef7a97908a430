//! The different sketches that are stored, by number: the fingerprint of each, and what is filed under it.

use std::collections::BTreeSet;

use simhash::Fingerprint;

use super::chunks::Chunks;
use crate::Postings;
use crate::heap::btree_bytes;

/// One sketch's slot, 16 bytes.
#[derive(Clone, Debug)]
enum Slot {
    /// Unused; the next such one.
    Free(Option<u32>),
    /// One number.
    One { n_keys: u32, number: u64 },
    /// Two or more numbers.
    #[expect(clippy::box_collection, reason = "unboxed, every slot would be 40 bytes")]
    Many { n_keys: u32, numbers: Box<BTreeSet<u64>> },
}

const _: () = assert!(size_of::<Slot>() == 16);

/// Sketches without their keys: those are where the tables file the entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    /// Apart from the slots, since a query reads many of these and few of those.
    fingerprints: Chunks<u64>,
    slots: Chunks<Slot>,
    free: Option<u32>,
    n_used: usize,
    n_postings: usize,
    /// What the sets of the postings hold.
    posting_bytes: usize,
}

/// What a set of numbers holds, behind its box.
fn set_bytes(numbers: &BTreeSet<u64>) -> usize {
    size_of::<BTreeSet<u64>>() + btree_bytes(numbers.len(), size_of::<u64>())
}

impl Entries {
    pub(super) fn n_used(&self) -> usize {
        self.n_used
    }

    pub(super) fn n_postings(&self) -> usize {
        self.n_postings
    }

    /// The fingerprints by entry; in a free slot, what was there before.
    #[inline]
    pub(super) fn fingerprints(&self) -> &Chunks<u64> {
        &self.fingerprints
    }

    #[inline]
    pub(super) fn fingerprint(&self, entry: u32) -> Fingerprint {
        Fingerprint(self.fingerprints[entry as usize])
    }

    /// How many keys its sketch has.
    pub(super) fn n_keys(&self, entry: u32) -> usize {
        match self.slots[entry as usize] {
            Slot::Free(_) => unreachable!("no table holds an entry that is free"),
            Slot::One { n_keys, .. } | Slot::Many { n_keys, .. } => n_keys as usize,
        }
    }

    pub(super) fn postings(&self, entry: u32) -> Postings<'_> {
        match &self.slots[entry as usize] {
            Slot::Free(_) => unreachable!("no table holds an entry that is free"),
            Slot::One { number, .. } => Postings::One(*number),
            Slot::Many { numbers, .. } => Postings::Many(numbers),
        }
    }

    /// A new entry with one number.
    ///
    /// # Panics
    /// Where 2^32 entries are in use already, or the sketch has more keys than that; nothing is changed then.
    pub(super) fn add_entry(&mut self, fingerprint: Fingerprint, n_keys: usize, number: u64) -> u32 {
        let n_keys = u32::try_from(n_keys).expect("a sketch has fewer than 2^32 keys");
        let slot = Slot::One { n_keys, number };
        let entry = match self.free {
            Some(entry) => {
                let Slot::Free(next) = std::mem::replace(&mut self.slots[entry as usize], slot) else {
                    unreachable!("the list of free slots links only such")
                };
                self.free = next;
                self.fingerprints[entry as usize] = fingerprint.0;
                entry
            }
            None => {
                let entry =
                    u32::try_from(self.slots.len()).expect("there are at most 2^32 different sketches");
                self.slots.push(slot);
                self.fingerprints.push(fingerprint.0);
                entry
            }
        };
        self.n_used += 1;
        self.n_postings += 1;
        entry
    }

    /// Gives the slot of an entry without numbers to the next that comes.
    pub(super) fn free_entry(&mut self, entry: u32) {
        self.slots[entry as usize] = Slot::Free(self.free.replace(entry));
        self.n_used -= 1;
    }

    /// Files one more number; false where it is there already.
    pub(super) fn add_number(&mut self, entry: u32, number: u64) -> bool {
        let slot = &mut self.slots[entry as usize];
        match slot {
            Slot::Free(_) => unreachable!("no table holds an entry that is free"),
            Slot::One { number: one, .. } if *one == number => return false,
            &mut Slot::One { n_keys, number: one } => {
                let numbers = Box::new(BTreeSet::from([one, number]));
                self.posting_bytes += set_bytes(&numbers);
                *slot = Slot::Many { n_keys, numbers };
            }
            Slot::Many { numbers, .. } => {
                let before = set_bytes(numbers);
                if !numbers.insert(number) {
                    return false;
                }
                self.posting_bytes += set_bytes(numbers) - before;
            }
        }
        self.n_postings += 1;
        true
    }

    /// Takes a number away, or says that it is not there.
    pub(super) fn remove_number(&mut self, entry: u32, number: u64) -> Removed {
        let slot = &mut self.slots[entry as usize];
        let left = match slot {
            Slot::Free(_) => unreachable!("no table holds an entry that is free"),
            Slot::One { number: one, .. } if *one == number => Removed::Last,
            Slot::One { .. } => return Removed::No,
            Slot::Many { n_keys, numbers } => {
                let before = set_bytes(numbers);
                if !numbers.remove(&number) {
                    return Removed::No;
                }
                self.posting_bytes -= before;
                match numbers.first() {
                    Some(&number) if numbers.len() == 1 => *slot = Slot::One { n_keys: *n_keys, number },
                    _ => self.posting_bytes += set_bytes(numbers),
                }
                Removed::One
            }
        };
        self.n_postings -= 1;
        left
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.fingerprints.heap_bytes() + self.slots.heap_bytes() + self.posting_bytes
    }
}

/// What [`Entries::remove_number`] did.
pub(super) enum Removed {
    /// It was not there.
    No,
    /// There are others.
    One,
    /// It was the last, and the entry waits for [`Entries::free_entry`].
    Last,
}
