//! The groups that meet in a bucket, as an index would propose them.

use std::ops::Range;

use index::{Rule, SketchKind};

use super::Groups;
use super::crowds::Crowds;

/// A bucket with more groups than this is a crowd.
pub const CROWD_MIN: usize = 1_000;

/// The side of the squares in which pairs of a bucket come, for recently read texts to be met again
/// soon.
const TILE: usize = 16;

/// The groups of a corpus under their buckets.
pub(super) struct Buckets {
    /// For each family of the kind, ascending.
    families: Vec<Filed>,
    /// For each group: true if one of its buckets is a crowd; empty if there is no crowd.
    is_crowded: Vec<bool>,
}

/// The groups that one family files.
#[derive(Default)]
pub(super) struct Filed {
    /// Ascending.
    groups: Vec<u32>,
    suffixes: Vec<u64>,
    /// `n_bands` for each group.
    segments: Vec<u32>,
    n_bands: usize,
    /// The greatest number of bits in which near suffixes differ.
    n_bits_max: u32,
}

impl Buckets {
    pub(super) fn new(groups: &Groups<'_>, kind: &SketchKind, rule: &Rule, crowd_min: usize) -> Self {
        let filed = |family| Filed { n_bits_max: rule.within(family).as_bits(), ..Filed::default() };
        let mut families: Vec<Filed> = kind.families().map(filed).collect();
        for group in 0..groups.len() {
            let sketch = kind.sketch(groups.features(group).clone());
            for (family, filed) in kind.families().zip(&mut families) {
                let Some(facet) = sketch.facet(family) else { continue };
                filed.groups.push(group as u32);
                filed.suffixes.push(facet.fingerprint().0);
                filed.segments.extend(facet.keys().iter().map(|key| key.segment));
                // A family files all of its documents under the same flags.
                filed.n_bands = facet.keys().len();
            }
        }
        let mut buckets = Self { families, is_crowded: Vec::new() };
        buckets.find_crowds(groups.len(), crowd_min);
        buckets
    }

    fn find_crowds(&mut self, n_groups: usize, crowd_min: usize) {
        for filed in self.families.iter().filter(|filed| filed.groups.len() > crowd_min) {
            for band in 0..filed.n_bands {
                let order = filed.order(band);
                for bucket in of_buckets(&order).filter(|bucket| bucket.len() > crowd_min) {
                    self.is_crowded.resize(n_groups, false);
                    bucket.iter().for_each(|&entry| self.is_crowded[filed.group(place_of(entry))] = true);
                }
            }
        }
    }

    fn is_crowded(&self, group: usize) -> bool {
        self.is_crowded.get(group).is_some_and(|is_crowded| *is_crowded)
    }

    /// The number of groups that share a crowd.
    pub(super) fn n_crowded(&self) -> usize {
        self.is_crowded.iter().filter(|is_crowded| **is_crowded).count()
    }

    /// Calls `visit` once for each pair of groups that meet in a bucket, the lesser first, always
    /// in the same order. Pairs of two crowded groups go to `crowds`, which may leave some.
    pub(super) fn propose<E>(
        &self,
        crowds: &mut Crowds<'_>,
        visit: &mut dyn FnMut(usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        for (n_family, filed) in self.families.iter().enumerate() {
            for band in 0..filed.n_bands {
                let order = filed.order(band);
                for bucket in of_buckets(&order) {
                    let is_crowded = |entry: &&u64| self.is_crowded(filed.group(place_of(**entry)));
                    let n_crowded =
                        if self.is_crowded.is_empty() { 0 } else { bucket.iter().filter(is_crowded).count() };
                    if n_crowded > 1 {
                        let crowded = bucket.iter().filter(is_crowded);
                        crowds.offer(filed, band, crowded.map(|&entry| place_of(entry)).collect());
                    }
                    if n_crowded == bucket.len() {
                        continue;
                    }
                    for (n, tile) in bucket.chunks(TILE).enumerate() {
                        for before in bucket.chunks(TILE).take(n + 1) {
                            self.between((n_family, filed), band, [before, tile], visit)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn between<E>(
        &self,
        (n_family, filed): (usize, &Filed),
        band: usize,
        [before, tile]: [&[u64]; 2],
        visit: &mut dyn FnMut(usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        for &b in tile {
            for &a in before.iter().take_while(|&&a| a < b) {
                let [a, b] = [a, b].map(place_of);
                if !filed.are_near(a, b) || filed.share(a, b, 0..band) {
                    continue;
                }
                let [of_a, of_b] = [a, b].map(|place| filed.group(place));
                let has_met = || self.families[..n_family].iter().any(|earlier| earlier.meet(of_a, of_b));
                let are_crowded = self.is_crowded(of_a) && self.is_crowded(of_b);
                if !are_crowded && !has_met() {
                    visit(of_a, of_b)?;
                }
            }
        }
        Ok(())
    }
}

/// The buckets with more than one place.
fn of_buckets(order: &[u64]) -> impl Iterator<Item = &[u64]> {
    order.chunk_by(|a, b| a >> 32 == b >> 32).filter(|bucket| bucket.len() > 1)
}

/// The place of an entry of an [order](Filed::order).
fn place_of(entry: u64) -> usize {
    entry as u32 as usize
}

impl Filed {
    pub(super) fn group(&self, place: usize) -> usize {
        self.groups[place] as usize
    }

    pub(super) fn suffix(&self, place: usize) -> u64 {
        self.suffixes[place]
    }

    fn of(&self, place: usize) -> &[u32] {
        &self.segments[place * self.n_bands..(place + 1) * self.n_bands]
    }

    /// The segments of a place from a band on, then the ones before the band.
    pub(super) fn segments_from(&self, place: usize, band: usize) -> impl Iterator<Item = u32> {
        let (before, after) = self.of(place).split_at(band);
        after.iter().chain(before).copied()
    }

    /// The places by their segments in a band, ascending by both: the segment in the high half, the
    /// place in the low half.
    fn order(&self, band: usize) -> Vec<u64> {
        let segments = self.segments.iter().skip(band).step_by(self.n_bands.max(1));
        let mut order: Vec<u64> =
            (0..).zip(segments).map(|(place, &segment): (u64, _)| u64::from(segment) << 32 | place).collect();
        order.sort_unstable();
        order
    }

    /// Returns true if the bits that follow the bucket are near.
    pub(super) fn are_near(&self, a: usize, b: usize) -> bool {
        (self.suffixes[a] ^ self.suffixes[b]).count_ones() <= self.n_bits_max
    }

    /// Returns true if two places share a bucket of these bands.
    fn share(&self, a: usize, b: usize, bands: Range<usize>) -> bool {
        let (of_a, of_b) = (self.of(a), self.of(b));
        bands.into_iter().any(|band| of_a[band] == of_b[band])
    }

    fn place(&self, group: usize) -> Option<usize> {
        // Most often the family files all groups.
        match self.groups.get(group) {
            Some(&filed) if filed as usize == group => Some(group),
            _ => self.groups.binary_search(&(group as u32)).ok(),
        }
    }

    /// Returns true if two groups meet in a bucket.
    fn meet(&self, a: usize, b: usize) -> bool {
        let places = self.place(a).zip(self.place(b));
        places.is_some_and(|(a, b)| self.are_near(a, b) && self.share(a, b, 0..self.n_bands))
    }
}
