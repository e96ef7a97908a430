//! The different sketches that are stored, by number: the fingerprint of each, and the numbers
//! filed under it.

use simhash::Fingerprint;

use super::chunks::Chunks;
use super::numbers::Numbers;

/// One sketch's slot, 16 bytes.
#[derive(Clone, Debug)]
enum Slot {
    /// A free slot, with the next one.
    Free(Option<u32>),
    /// One number.
    One { n_keys: u32, number: u64 },
    /// Two or more numbers.
    Many { n_keys: u32, numbers: Box<Numbers> },
}

const _: () = assert!(size_of::<Slot>() == 16);

/// Sketches without their keys: the keys are the places where the tables file the entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    /// Apart from the slots, since a query reads many fingerprints and few slots.
    fingerprints: Chunks<u64>,
    slots: Chunks<Slot>,
    free: Option<u32>,
    n_used: usize,
    n_postings: usize,
    /// Bytes of the lists of several numbers.
    posting_bytes: usize,
}

/// Returns the bytes of a list of several numbers, with its box.
fn posting_bytes(numbers: &Numbers) -> usize {
    size_of::<Numbers>() + numbers.heap_bytes()
}

impl Entries {
    pub(super) fn n_used(&self) -> usize {
        self.n_used
    }

    pub(super) fn n_postings(&self) -> usize {
        self.n_postings
    }

    /// The fingerprints by entry; a free slot keeps its last one.
    #[inline]
    pub(super) fn fingerprints(&self) -> &Chunks<u64> {
        &self.fingerprints
    }

    #[inline]
    pub(super) fn fingerprint(&self, entry: u32) -> Fingerprint {
        Fingerprint(self.fingerprints[entry as usize])
    }

    /// Returns the number of keys of an entry's sketch.
    pub(super) fn n_keys(&self, entry: u32) -> usize {
        match self.slots[entry as usize] {
            Slot::Free(_) => unreachable!("no table holds an entry that is free"),
            Slot::One { n_keys, .. } | Slot::Many { n_keys, .. } => n_keys as usize,
        }
    }

    /// Calls `visit` with the numbers of an entry, ascending, in one piece or several.
    #[inline]
    pub(super) fn visit_numbers(&self, entry: u32, mut visit: impl FnMut(&[u64])) {
        match &self.slots[entry as usize] {
            Slot::Free(_) => unreachable!("no table holds an entry that is free"),
            Slot::One { number, .. } => visit(std::slice::from_ref(number)),
            Slot::Many { numbers, .. } => numbers.pieces().for_each(visit),
        }
    }

    /// Adds an entry with one number.
    ///
    /// # Panics
    /// If 2^32 entries are in use already, or the sketch has 2^32 keys or more; nothing is changed
    /// then.
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

    /// Frees the slot of an entry without numbers, for the next new entry.
    pub(super) fn free_entry(&mut self, entry: u32) {
        self.slots[entry as usize] = Slot::Free(self.free.replace(entry));
        self.n_used -= 1;
    }

    /// Files one more number. Returns false if it is there already.
    pub(super) fn add_number(&mut self, entry: u32, number: u64) -> bool {
        let slot = &mut self.slots[entry as usize];
        match slot {
            Slot::Free(_) => unreachable!("no table holds an entry that is free"),
            Slot::One { number: one, .. } if *one == number => return false,
            &mut Slot::One { n_keys, number: one } => {
                let numbers = Box::new(Numbers::pair(one, number));
                self.posting_bytes += posting_bytes(&numbers);
                *slot = Slot::Many { n_keys, numbers };
            }
            Slot::Many { numbers, .. } => {
                let before = posting_bytes(numbers);
                if !numbers.insert(number) {
                    return false;
                }
                self.posting_bytes = self.posting_bytes - before + posting_bytes(numbers);
            }
        }
        self.n_postings += 1;
        true
    }

    /// Removes a number.
    pub(super) fn remove_number(&mut self, entry: u32, number: u64) -> Removed {
        let slot = &mut self.slots[entry as usize];
        let left = match slot {
            Slot::Free(_) => unreachable!("no table holds an entry that is free"),
            Slot::One { number: one, .. } if *one == number => Removed::Last,
            Slot::One { .. } => return Removed::No,
            Slot::Many { n_keys, numbers } => {
                let before = posting_bytes(numbers);
                if !numbers.remove(number) {
                    return Removed::No;
                }
                self.posting_bytes -= before;
                match numbers.single() {
                    Some(number) => *slot = Slot::One { n_keys: *n_keys, number },
                    None => self.posting_bytes += posting_bytes(numbers),
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

/// The result of [`Entries::remove_number`].
pub(super) enum Removed {
    /// The number was not there.
    No,
    /// The number was removed, and others are left.
    One,
    /// The number was the last, and the entry waits for [`Entries::free_entry`].
    Last,
}
