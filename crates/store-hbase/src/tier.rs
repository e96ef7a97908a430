//! The older documents of an index in the memory of a process, which then need not read their
//! cells.
//!
//! A claimant reads a bucket for each key of its sketch, out of all files that HBase has of a
//! region. In a large index nearly all of them hold nothing near a new document. A tier has what
//! all older documents give in memory: the keys of the buckets of signatures, and the simhashes.
//! Both are exact. Where the tier has nothing near, a claimant reads only the cells from a moment
//! on, by a range of timestamps, and HBase skips its older files.
//!
//! # Contract
//! A tier is filled from the records and claims of all documents. A search with it misses a
//! document whose record or claim came after the filling began, and whose cells have a timestamp
//! more than [`LEEWAY_MS`], five minutes, before that moment. It meets all others: no search
//! believes a cell that no record or claim confirms.
//!
//! - Claimants have timestamps of their own clocks. One whose cells are not all written within a
//!   minute ([`FILED_WITHIN_MS`](crate::claims::FILED_WITHIN_MS)) announces its claim anew, with a
//!   new timestamp, before it searches. Four minutes are left by which its clock may be behind.
//! - Of two near claimants, the one that ends its write of cells later meets the other: in the
//!   tier, or as a cell that is late enough.
//! - Insertions without a claim that take longer than a minute, bulk loads and restored snapshots
//!   leave a note beside the metadata ([`super::older`]). Each search of a claimant reads it, and
//!   uses no tier of before the note, nor any while a load is under way. Such an insertion that
//!   dies between its records and its note leaves none: its minutes and those of its clock may be
//!   five together.
//! - The moment is that of the filler's clock or of HBase, whichever is earlier.
//! - A tier is brought up to date with the records and claims that HBase has written since, by
//!   their timestamps. Claims have those of region servers, whose clocks may be five minutes
//!   behind.
//! - The tier of a file is believed if its checksum, the identity of the index and the note agree.
//!
//! A record or claim that is damaged is left out. A search that reads all cells fails where one of
//! them leads to it, until it is mended; one with a tier may not meet it, as if it were deleted,
//! which is what mends it. What is indexed in its place has a later timestamp.
//!
//! Removed and expired documents stay in a tier until it is filled anew: they cost a look at their
//! buckets and change no answer.
//!
//! `claims::explore` walks through claimants with a tier that is filled at any moment, and clocks
//! that are behind.

mod ascending;
mod file;
mod filling;
mod filter;
mod keeper;
#[cfg(test)]
mod size;

use std::iter;
use std::sync::Arc;

use index::{Family, Rule};
use simhash::{BucketKey, Distance, Facet, Fingerprint};

use self::ascending::Ascending;
#[cfg(test)]
pub(super) use self::filling::{Filled, Filler};
use self::filter::Filtered;
pub(super) use self::keeper::Keeper;
use super::uri::TierOptions;

/// The time in milliseconds by which a timestamp may be earlier than the write of its cell, record
/// or claim.
pub(super) const LEEWAY_MS: i64 = 5 * 60_000;

/// The greatest distance of simhashes that a tier answers: of so many bits, one half of the simhash
/// has at most one.
const WITHIN_MAX: Distance = Distance::of_differing(0b111);

/// The bits of half a simhash.
const HALF_BITS: u32 = 32;

/// The keys of the documents of an index whose cells have timestamps before `since`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tier {
    /// The first timestamp whose cells may be missing here, in milliseconds.
    pub(super) since: i64,
    /// The last note of the index when the tier began to be filled.
    pub(super) note: Option<Vec<u8>>,
    /// The keys of buckets of signatures: the flag, then the segment.
    buckets: Filtered,
    /// Filtered by their upper halves.
    simhashes: Filtered,
    /// The same simhashes, with their halves exchanged.
    turned: Filtered,
}

impl Tier {
    /// A tier of three sets: keys of buckets, simhashes, and simhashes with their halves exchanged.
    fn new(since: i64, note: Option<Vec<u8>>, [buckets, simhashes, turned]: [Arc<Ascending>; 3]) -> Self {
        Self {
            since,
            note,
            buckets: Filtered::new(buckets, 0),
            simhashes: Filtered::new(simhashes, HALF_BITS),
            turned: Filtered::new(turned, HALF_BITS),
        }
    }

    /// Returns the timestamp from which on a search has to read the bucket `key` of a facet; `None`
    /// if it has to read all of the bucket.
    pub(super) fn since(
        &self,
        rule: &Rule,
        family: Family,
        facet: &Facet,
    ) -> impl Fn(BucketKey) -> Option<i64> {
        let within = rule.within(family);
        let has_near_simhash =
            family == Family::Simhash && (within > WITHIN_MAX || self.has_near(facet.fingerprint(), within));
        move |key| {
            let is_there = match family {
                Family::Simhash => has_near_simhash,
                Family::Set(_) => self.buckets.with(number_of(key)).next().is_some(),
            };
            (!is_there).then_some(self.since)
        }
    }

    /// Returns true if a simhash is within the distance, at most [`WITHIN_MAX`]. It has the upper
    /// half of the query or one that differs in one bit, or so the lower half.
    fn has_near(&self, query: Fingerprint, within: Distance) -> bool {
        let has_near = |set: &Filtered, query: u64| {
            let half = query >> HALF_BITS;
            let mut halves = iter::once(half).chain((0..HALF_BITS).map(|bit| half ^ (1 << bit)));
            let is_near = |stored| Fingerprint(stored).distance(Fingerprint(query)) <= within;
            halves.any(|half| set.with(half).any(is_near))
        };
        has_near(&self.simhashes, query.0) || has_near(&self.turned, query.0.rotate_left(HALF_BITS))
    }

    /// Bytes of memory that the tier takes.
    pub(super) fn n_bytes(&self) -> usize {
        [&self.buckets, &self.simhashes, &self.turned].into_iter().map(|set| set.n_bytes()).sum()
    }
}

/// Returns the number of a bucket in a set.
fn number_of(key: BucketKey) -> u64 {
    u64::from(key.flag) << 32 | u64::from(key.segment)
}

#[cfg(test)]
mod tests {
    use index::testsuite::spread;

    use super::ascending::Growing;
    use super::*;

    pub(super) fn tier_of(simhashes: &[u64], buckets: &[BucketKey]) -> Tier {
        let set = |numbers: &mut dyn Iterator<Item = u64>| {
            let mut growing = Growing::default();
            numbers.for_each(|number| growing.add(number));
            growing.into_set()
        };
        let sets = [
            set(&mut buckets.iter().copied().map(number_of)),
            set(&mut simhashes.iter().copied()),
            set(&mut simhashes.iter().map(|simhash| simhash.rotate_left(HALF_BITS))),
        ];
        Tier::new(7, None, sets)
    }

    /// Every difference of up to three bits, and none of four.
    #[test]
    fn near_simhashes_are_known() {
        let stored: Vec<u64> = (0..300).map(spread).collect();
        let tier = tier_of(&stored, &[]);
        for query in [stored[5], stored[299]] {
            assert!(tier.has_near(Fingerprint(query), Distance::of_differing(0)));
            for a in 0..64_u32 {
                for b in (a..64).step_by(7) {
                    for c in (b..64).step_by(5) {
                        let differ = 1 << a | 1 << b | 1 << c;
                        for within in 0..=3 {
                            let within = Distance::new(within).unwrap();
                            let expected = Distance::of_differing(differ) <= within;
                            assert_eq!(tier.has_near(Fingerprint(query ^ differ), within), expected);
                        }
                        let differ = differ | 1 << ((a + 17) % 64) | 1 << ((b + 29) % 64);
                        if Distance::of_differing(differ) > WITHIN_MAX {
                            assert!(!tier.has_near(Fingerprint(query ^ differ), WITHIN_MAX));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn buckets_are_read_whole_where_something_is() {
        let keys = [1, 2].map(|segment| BucketKey { flag: 0x40, segment });
        let facet = Facet::new(Fingerprint(1), keys.to_vec());
        let rule = Rule::from(WITHIN_MAX);
        let tier = tier_of(&[9], &keys[..1]);
        let family = Family::ALL[1];
        assert_eq!(keys.map(tier.since(&rule, family, &facet)), [None, Some(7)]);
        // A simhash decides for all of its buckets.
        let far = Facet::new(Fingerprint(9 ^ 0xf0), keys.to_vec());
        assert_eq!(keys.map(tier.since(&rule, Family::Simhash, &facet)), [None, None]);
        assert_eq!(keys.map(tier.since(&rule, Family::Simhash, &far)), [Some(7), Some(7)]);
        // Beyond what a tier answers, all is read.
        let wide = Rule::from(Distance::of_differing(0b1111));
        assert_eq!(keys.map(tier.since(&wide, Family::Simhash, &far)), [None, None]);
    }
}
