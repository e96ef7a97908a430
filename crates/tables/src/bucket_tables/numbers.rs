//! The numbers that are filed under one sketch, if there are several: ascending, in pieces that a
//! visitor gets as slices.

/// The longest piece: adding or removing one number of a hundred million moves at most 16 KiB.
pub(super) const PIECE_LEN_MAX: usize = 2048;

/// The length below which two neighbouring pieces become one: removals leave few gaps.
const MERGED_LEN_MAX: usize = PIECE_LEN_MAX / 2;

/// Different numbers in ascending order.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    /// No piece is empty or longer than [`PIECE_LEN_MAX`], and all numbers of a piece are below all
    /// of the next.
    pieces: Vec<Vec<u64>>,
    /// The number of numbers for which the pieces have room.
    capacity: usize,
}

impl Numbers {
    /// Creates a list of two different numbers.
    pub(super) fn pair(a: u64, b: u64) -> Self {
        let piece = vec![a.min(b), a.max(b)];
        let capacity = piece.capacity();
        Self { pieces: vec![piece], capacity }
    }

    /// Returns the only number, if no other is left.
    pub(super) fn single(&self) -> Option<u64> {
        match self.pieces.as_slice() {
            [piece] if piece.len() == 1 => Some(piece[0]),
            _ => None,
        }
    }

    /// Returns all numbers, ascending. No piece is empty.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &[u64]> {
        self.pieces.iter().map(Vec::as_slice)
    }

    /// Adds a number. Returns false if it is there already.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        let at = self.piece_of(number);
        let Err(place) = self.pieces[at].binary_search(&number) else { return false };
        if self.pieces[at].len() == PIECE_LEN_MAX {
            // Numbers mostly come in ascending order, and then full pieces stay full.
            let is_last = at + 1 == self.pieces.len() && place == PIECE_LEN_MAX;
            let second = self.change(at, |piece| {
                let second = piece.split_off(if is_last { PIECE_LEN_MAX } else { PIECE_LEN_MAX / 2 });
                piece.shrink_to_fit();
                second
            });
            self.capacity += second.capacity();
            self.pieces.insert(at + 1, second);
            let (at, place) = if place > self.pieces[at].len() || is_last {
                (at + 1, place - self.pieces[at].len())
            } else {
                (at, place)
            };
            self.change(at, |piece| piece.insert(place, number));
        } else {
            self.change(at, |piece| piece.insert(place, number));
        }
        true
    }

    /// Removes a number. Returns false if it is not there.
    pub(super) fn remove(&mut self, number: u64) -> bool {
        let at = self.piece_of(number);
        let Ok(place) = self.pieces[at].binary_search(&number) else { return false };
        self.change(at, |piece| piece.remove(place));
        if self.pieces[at].is_empty() {
            self.capacity -= self.pieces.remove(at).capacity();
        } else if at + 1 < self.pieces.len()
            && self.pieces[at].len() + self.pieces[at + 1].len() < MERGED_LEN_MAX
        {
            let next = self.pieces.remove(at + 1);
            self.capacity -= next.capacity();
            self.change(at, |piece| piece.extend_from_slice(&next));
        }
        true
    }

    /// Heap memory held, in bytes, without the `Numbers` itself.
    pub(super) fn heap_bytes(&self) -> usize {
        self.capacity * size_of::<u64>() + self.pieces.capacity() * size_of::<Vec<u64>>()
    }

    /// Returns the only piece that may hold `number`.
    fn piece_of(&self, number: u64) -> usize {
        self.pieces.partition_point(|piece| piece[0] <= number).saturating_sub(1)
    }

    /// Changes a piece, and keeps account of its room.
    fn change<T>(&mut self, at: usize, change: impl FnOnce(&mut Vec<u64>) -> T) -> T {
        let piece = &mut self.pieces[at];
        let before = piece.capacity();
        let changed = change(piece);
        self.capacity = self.capacity - before + piece.capacity();
        changed
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn check(numbers: &Numbers, expected: &BTreeSet<u64>) {
        assert!(numbers.pieces().flatten().eq(expected), "{expected:?}");
        assert!(numbers.pieces.iter().all(|piece| (1..=PIECE_LEN_MAX).contains(&piece.len())));
        assert_eq!(numbers.capacity, numbers.pieces.iter().map(Vec::capacity).sum::<usize>());
        assert_eq!(numbers.single().is_some(), expected.len() == 1);
    }

    /// Compared with the standard set, in orders that fill, split, empty and join pieces.
    #[test]
    fn numbers_are_a_set_in_order() {
        let n = 5 * PIECE_LEN_MAX as u64;
        // 7,919 is a prime that does not divide n: multiples of it meet every number once.
        let scattered: Vec<u64> = (0..n).map(|i| i * 7919 % n).collect();
        let ascending: Vec<u64> = (0..n).collect();
        let descending: Vec<u64> = (0..n).rev().collect();
        for added in [&scattered, &ascending, &descending] {
            for removed in [&scattered, &ascending, &descending] {
                let (mut numbers, mut set) = (Numbers::pair(n, n + 1), BTreeSet::from([n, n + 1]));
                for (i, &number) in added.iter().enumerate() {
                    assert!(numbers.insert(number) && !numbers.insert(number));
                    set.insert(number);
                    if i % 997 == 0 {
                        check(&numbers, &set);
                    }
                }
                check(&numbers, &set);
                for (i, &number) in removed.iter().enumerate() {
                    assert!(numbers.remove(number) && !numbers.remove(number));
                    set.remove(&number);
                    if i % 997 == 0 {
                        check(&numbers, &set);
                    }
                }
                assert!(numbers.remove(n + 1) && !numbers.remove(n + 2) && !numbers.remove(0));
                set.remove(&(n + 1));
                check(&numbers, &set);
            }
        }
    }

    #[test]
    fn what_comes_in_order_fills_its_pieces() {
        let mut numbers = Numbers::pair(0, 1);
        for number in 2..4 * PIECE_LEN_MAX as u64 {
            numbers.insert(number);
        }
        assert_eq!(numbers.pieces.len(), 4);
        assert!(numbers.heap_bytes() < 5 * PIECE_LEN_MAX * size_of::<u64>());
    }
}
