//! The many sketches of one segment, as of boilerplate, or of a scheme with short keys.

/// The most members of a piece.
const PIECE_LEN_MAX: usize = 1_024;

/// A sketch in a crowd, with its fingerprint beside it: a query reads memory in a row instead of
/// one random place for each candidate.
#[derive(Clone, Copy, Debug)]
struct Member {
    entry: u32,
    /// The low half, then the high one: 8 bytes in 12, where a `u64` would make it 16.
    fingerprint: [u32; 2],
}

impl Member {
    fn new(entry: u32, fingerprint: u64) -> Self {
        Self { entry, fingerprint: [fingerprint as u32, (fingerprint >> 32) as u32] }
    }

    #[inline]
    fn fingerprint(self) -> u64 {
        let [low, high] = self.fingerprint;
        u64::from(high) << 32 | u64::from(low)
    }
}

/// The sketches of one segment, ascending by entry, in pieces: adding or removing one moves no more
/// than a piece. Entries that come in order fill their pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Crowd {
    /// No piece is empty.
    pieces: Vec<Vec<Member>>,
    len: usize,
}

impl Crowd {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The piece in which an entry is, or to which it would be added; 0 if there is none.
    fn piece_of(&self, entry: u32) -> usize {
        self.pieces.partition_point(|piece| piece[0].entry <= entry).saturating_sub(1)
    }

    /// The piece and the place in it of an entry, or else where it would be.
    fn find(&self, entry: u32) -> (usize, Result<usize, usize>) {
        let at = self.piece_of(entry);
        let place = |piece: &Vec<Member>| piece.binary_search_by_key(&entry, |member| member.entry);
        (at, self.pieces.get(at).map_or(Err(0), place))
    }

    pub(super) fn contains(&self, entry: u32) -> bool {
        self.find(entry).1.is_ok()
    }

    /// Adds an entry, which must not be there.
    pub(super) fn insert(&mut self, entry: u32, fingerprint: u64) {
        let (mut at, Err(mut place)) = self.find(entry) else { return };
        self.len += 1;
        let is_last = at + 1 >= self.pieces.len();
        match self.pieces.get_mut(at) {
            None => self.pieces.push(Vec::new()),
            Some(piece) if piece.len() < PIECE_LEN_MAX => {}
            Some(_) if is_last && place == PIECE_LEN_MAX => {
                self.pieces.push(Vec::with_capacity(PIECE_LEN_MAX));
                (at, place) = (at + 1, 0);
            }
            Some(piece) => {
                let mut upper = Vec::with_capacity(PIECE_LEN_MAX);
                upper.extend(piece.drain(PIECE_LEN_MAX / 2..));
                self.pieces.insert(at + 1, upper);
                if place > PIECE_LEN_MAX / 2 {
                    (at, place) = (at + 1, place - PIECE_LEN_MAX / 2);
                }
            }
        }
        self.pieces[at].insert(place, Member::new(entry, fingerprint));
    }

    /// Removes an entry. Returns false if it is not there.
    pub(super) fn remove(&mut self, entry: u32) -> bool {
        let (at, Ok(place)) = self.find(entry) else { return false };
        self.len -= 1;
        self.pieces[at].remove(place);
        // Pieces that have become short are joined.
        let joined = [at.checked_sub(1), Some(at)].into_iter().flatten().find(|&first| {
            let pair = self.pieces.get(first).zip(self.pieces.get(first + 1));
            pair.is_some_and(|(a, b)| a.len() + b.len() <= PIECE_LEN_MAX / 2)
        });
        if let Some(first) = joined {
            let second = self.pieces.remove(first + 1);
            self.pieces[first].extend(second);
        } else if self.pieces[at].is_empty() {
            self.pieces.remove(at);
        }
        true
    }

    /// Calls `visit` with the entry and fingerprint of each member.
    #[inline]
    pub(super) fn read(&self, mut visit: impl FnMut(u32, u64)) {
        self.pieces.iter().flatten().for_each(|member| visit(member.entry, member.fingerprint()));
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let members: usize = self.pieces.iter().map(Vec::capacity).sum();
        members * size_of::<Member>() + self.pieces.capacity() * size_of::<Vec<Member>>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::directory::mix;
    use super::*;

    fn check(crowd: &Crowd, expected: &BTreeMap<u32, u64>) {
        let mut members = Vec::new();
        crowd.read(|entry, fingerprint| members.push((entry, fingerprint)));
        assert!(members.iter().copied().eq(expected.iter().map(|(&entry, &bits)| (entry, bits))));
        assert_eq!(crowd.len(), expected.len());
        assert!(crowd.pieces.iter().all(|piece| (1..=PIECE_LEN_MAX).contains(&piece.len())));
    }

    #[test]
    fn members_are_a_map_in_order() {
        const N: u32 = 5 * PIECE_LEN_MAX as u32;
        let (mut crowd, mut expected) = (Crowd::default(), BTreeMap::new());
        // In order, and then in between: full pieces are cut, also below the place of an entry.
        for entry in (0..N).map(|n| 2 * n).chain((0..4 * N).map(|n| mix(n) % (3 * N))) {
            let fingerprint = u64::from(mix(entry)) << 32 | u64::from(entry);
            if expected.insert(entry, fingerprint).is_none() {
                assert!(!crowd.contains(entry));
                crowd.insert(entry, fingerprint);
            }
            assert!(crowd.contains(entry));
        }
        check(&crowd, &expected);
        for entry in (0..2 * N).map(|n| mix(n) % (3 * N)) {
            assert_eq!(crowd.remove(entry), expected.remove(&entry).is_some());
        }
        check(&crowd, &expected);
        for entry in expected.keys().copied().collect::<Vec<_>>() {
            assert!(crowd.remove(entry));
        }
        assert!(crowd.pieces.is_empty() && !crowd.remove(0));
    }

    #[test]
    fn what_comes_in_order_fills_its_pieces() {
        let mut crowd = Crowd::default();
        (0..10 * PIECE_LEN_MAX as u32).for_each(|entry| crowd.insert(entry, 0));
        assert_eq!(crowd.pieces.len(), 10);
    }
}
