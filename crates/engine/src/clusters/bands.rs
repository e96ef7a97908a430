//! Which groups meet in a band of their signatures.

use minhash::{Filing, SetKind};

use super::Groups;

const KINDS: [SetKind; 3] = [SetKind::Long, SetKind::Short, SetKind::Whole];

/// How the groups of one kind are filed.
#[derive(Default)]
struct Filed {
    groups: Vec<usize>,
    suffixes: Vec<u64>,
    /// As many for each group as there are bands.
    segments: Vec<u32>,
    n_bands: usize,
}

/// Calls `visit` once for each pair of groups that share a bucket and are near in the bits that follow, the lesser first.
pub(super) fn propose(groups: &Groups<'_>, visit: &mut dyn FnMut(usize, usize)) {
    let mut of_kinds: [Filed; KINDS.len()] = Default::default();
    for group in 0..groups.len() {
        let signature = groups.features(group).signature.as_ref();
        for Filing { kind, suffix, keys } in signature.into_iter().flat_map(|signature| signature.filings()) {
            let filed = &mut of_kinds[kind as usize];
            filed.groups.push(group);
            filed.suffixes.push(suffix);
            filed.segments.extend(keys.iter().map(|key| key.segment));
            filed.n_bands = keys.len();
        }
    }
    for (n, kind) in KINDS.into_iter().enumerate() {
        let (earlier, rest) = of_kinds.split_at(n);
        rest[0].propose(kind, &mut |a, b| {
            // One of both kinds may have met another of both as a long one.
            if !earlier.iter().zip(KINDS).any(|(filed, kind)| filed.meet(kind, a, b)) {
                visit(a, b);
            }
        });
    }
}

impl Filed {
    fn propose(&self, kind: SetKind, visit: &mut dyn FnMut(usize, usize)) {
        let mut order: Vec<u32> = (0..self.groups.len() as u32).collect();
        for band in 0..self.n_bands {
            let segment = |&place: &u32| self.segments[place as usize * self.n_bands + band];
            // Equal segments stay in the order of their groups, so that the visits come in the same order always.
            order.sort_unstable_by_key(|place| (segment(place), *place));
            for bucket in order.chunk_by(|a, b| segment(a) == segment(b)) {
                for (at, &a) in bucket.iter().enumerate() {
                    for &b in &bucket[at + 1..] {
                        let [a, b] = [a as usize, b as usize];
                        if self.first_shared(kind, a, b) == Some(band) {
                            visit(self.groups[a], self.groups[b]);
                        }
                    }
                }
            }
        }
    }

    /// The first band in which two places meet, if the bits that follow are near.
    fn first_shared(&self, kind: SetKind, a: usize, b: usize) -> Option<usize> {
        if (self.suffixes[a] ^ self.suffixes[b]).count_ones() > kind.suffix_distance_max() {
            return None;
        }
        let segments = |place: usize| &self.segments[place * self.n_bands..(place + 1) * self.n_bands];
        segments(a).iter().zip(segments(b)).position(|(a, b)| a == b)
    }

    /// Whether two groups meet.
    fn meet(&self, kind: SetKind, a: usize, b: usize) -> bool {
        let place = |group: usize| self.groups.binary_search(&group).ok();
        place(a).zip(place(b)).is_some_and(|(a, b)| self.first_shared(kind, a, b).is_some())
    }
}
