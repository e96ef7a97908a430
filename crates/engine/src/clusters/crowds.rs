//! A bounded choice of comparisons for documents in a bucket with very many others, such as
//! near-equal pages or texts with the same beginning. Each is compared with a few others, to keep
//! time linear.

use std::cmp::Reverse;

use index::{Features, Glance, Rule};
use minhash::{Basis, Comparison, Signature, Similarity};

use super::Groups;
use super::buckets::Filed;

/// The number of earlier groups with which each group of a crowd is compared: the most promising
/// ones.
pub const COMPARED_MAX: usize = 4;

/// The number of crowded groups in a bucket up to which all pairs are estimated.
const ALL_MAX: usize = 16;

/// In a larger bucket, the number of first groups with which each group is estimated.
const N_FIRSTS: usize = COMPARED_MAX;

/// In a larger bucket, the number of neighbours with which each group is estimated, in the order of
/// the other bands, in which similar groups agree.
const N_NEIGHBOURS: usize = 2;

/// The number of estimates after which a group with a full list makes no more. Crowds agree in many
/// bands, and the most promising groups come up in the first of them.
const ESTIMATES_MAX: u32 = 8 * COMPARED_MAX as u32;

/// A neighbour is preferred to a first group only if its estimate is above by this many deviations
/// of both. The estimates of one near-equal page beside many others differ by chance, and the texts
/// of the first groups are at hand.
const DEVIATIONS: f64 = 2.0;

/// The pairs of crowded groups that are to be compared.
pub(super) struct Crowds<'a> {
    groups: &'a Groups<'a>,
    rule: &'a Rule,
    has_texts: bool,
    /// The least estimate of a near pair.
    least_estimate: f64,
    /// The place in `lists` of each crowded group, `u32::MAX` for the others; empty if there are no
    /// crowds.
    places: Vec<u32>,
    lists: Vec<List>,
}

/// The earlier groups with which a group is compared, the most promising first.
#[derive(Clone, Copy, Default)]
struct List {
    len: usize,
    n_estimates: u32,
    entries: [Entry; COMPARED_MAX],
}

/// An earlier group in the order of its promise: the more promising is the greater.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    promise: u32,
    /// Lesser numbers are preferred: their texts were read earlier, by all other groups.
    group: Reverse<u32>,
}

impl List {
    fn entries(&self) -> &[Entry] {
        &self.entries[..self.len]
    }

    /// True if no more estimates are made.
    fn is_done(&self) -> bool {
        self.len == COMPARED_MAX && self.n_estimates >= ESTIMATES_MAX
    }

    /// True if an entry would be kept.
    fn takes(&self, entry: Entry) -> bool {
        self.len < COMPARED_MAX || self.entries[COMPARED_MAX - 1] < entry
    }

    /// Keeps an entry accepted by [`takes`](Self::takes).
    fn push(&mut self, entry: Entry) {
        let at = self.entries().partition_point(|kept| *kept > entry);
        self.len = (self.len + 1).min(COMPARED_MAX);
        self.entries[at..self.len].rotate_right(1);
        self.entries[at] = entry;
    }
}

impl<'a> Crowds<'a> {
    /// Makes an empty choice. `has_texts` is true if texts are at hand.
    pub(super) fn new(groups: &'a Groups<'a>, rule: &'a Rule, has_texts: bool) -> Self {
        let least_estimate = rule.least_estimate().map_or(0.0, Similarity::get);
        Self { groups, rule, has_texts, least_estimate, places: Vec::new(), lists: Vec::new() }
    }

    /// Takes the crowded places of a bucket, ascending.
    pub(super) fn offer(&mut self, filed: &Filed, band: usize, mut members: Vec<usize>) {
        let n_firsts = if members.len() > ALL_MAX { N_FIRSTS } else { ALL_MAX };
        for (n, &b) in members.iter().enumerate() {
            for &a in members.iter().take(n.min(n_firsts)) {
                self.offer_pair(filed, [a, b], DEVIATIONS);
            }
        }
        if members.len() <= ALL_MAX {
            return;
        }
        let by_bands = |place: &usize| {
            let mut segments = filed.segments_from(*place, band).skip(1);
            let first: [u32; 3] = std::array::from_fn(|_| segments.next().unwrap_or(0));
            (first, filed.suffix(*place), *place)
        };
        members.retain(|&place| !self.is_done(filed.group(place)));
        members.sort_by_cached_key(by_bands);
        for (n, &one) in members.iter().enumerate() {
            for &other in &members[n.saturating_sub(N_NEIGHBOURS)..n] {
                self.offer_pair(filed, [one.min(other), one.max(other)], -DEVIATIONS);
            }
        }
    }

    fn is_done(&self, group: usize) -> bool {
        let place = self.places.get(group).and_then(|&place| self.lists.get(place as usize));
        place.is_some_and(List::is_done)
    }

    /// Notes the pair of two places, the lesser first, if it is among the most promising.
    fn offer_pair(&mut self, filed: &Filed, [a, b]: [usize; 2], n_deviations: f64) {
        if !filed.are_near(a, b) {
            return;
        }
        let [of_a, of_b] = [a, b].map(|place| filed.group(place));
        if self.places.is_empty() {
            self.places = vec![u32::MAX; self.groups.len()];
        }
        if self.places[of_b] == u32::MAX {
            self.places[of_b] = self.lists.len() as u32;
            self.lists.push(List::default());
        }
        let at = self.places[of_b] as usize;
        let list = &mut self.lists[at];
        if list.is_done() || list.entries().iter().any(|entry| entry.group.0 as usize == of_a) {
            return;
        }
        list.n_estimates += 1;
        let [features_a, features_b] = [of_a, of_b].map(|group| self.groups.features(group));
        let Some(promise) = self.promise(features_a, features_b, n_deviations) else { return };
        let entry = Entry { promise, group: Reverse(of_a as u32) };
        if self.lists[at].takes(entry)
            && self.rule.glance_at(features_a, features_b, self.has_texts) != Glance::Far
        {
            self.lists[at].push(entry);
        }
    }

    /// The promise of a pair, greater for nearer pairs; `None` for most pairs that are far.
    fn promise(&self, a: &Features, b: &Features, n_deviations: f64) -> Option<u32> {
        let share = match (self.rule.min_similarity, &a.signature, &b.signature) {
            (Some(_), Some(of_a), Some(of_b)) => {
                let Comparison { similarity, basis, .. } = Signature::compare(of_a, of_b);
                if similarity.get() < self.least_estimate {
                    return None;
                }
                let is_estimate = basis == Basis::Estimate;
                let deviation = if is_estimate { Comparison::deviation(similarity) } else { 0.0 };
                similarity.get() + n_deviations * deviation
            }
            _ => 1.0 - f64::from(a.distance(b).as_bits()) / 64.0,
        };
        // From 0 to 2, in steps finer than those of the estimates.
        Some((share.clamp(0.0, 2.0) * f64::from(1 << 24)) as u32)
    }

    /// Calls `visit` once for each pair to compare, the lesser first.
    pub(super) fn propose<E>(&self, visit: &mut dyn FnMut(usize, usize) -> Result<(), E>) -> Result<(), E> {
        for (group, &place) in self.places.iter().enumerate().filter(|(_, place)| **place != u32::MAX) {
            for entry in self.lists[place as usize].entries() {
                visit(entry.group.0 as usize, group)?;
            }
        }
        Ok(())
    }
}
