//! The proof that a scheme finds every pair within its distance.

use super::SchemeError;

/// The limit of a search: the schemes of the catalog need 5 to 60 steps, and this many take some
/// tens of milliseconds.
const STEPS_MAX: u32 = 100_000;

/// A set of tables, one bit each.
type TableSet = [u64; 4];

/// Shows that every set of `max_distance` bits misses at least one mask. Returns the number of
/// steps.
///
/// Two fingerprints share a bucket if the bits in which they differ miss a mask. A scheme is
/// complete exactly if no set of at most `max_distance` bits touches every mask: if the smallest
/// hitting set of the masks is larger. The search for a hitting set is exhaustive: it takes a mask
/// that is not yet hit and tries every bit of the mask. Three rules keep the search short and lose
/// nothing: bits that lie in the same masks are tried once; a set of bits is tried in one order
/// only; and a branch ends when even the bits that hit most could not hit the masks left.
pub(super) fn prove(masks: impl Iterator<Item = u64> + Clone, max_distance: u32) -> Result<u32, SchemeError> {
    let mut bits: Vec<(TableSet, u32)> = (0..64)
        .map(|bit| {
            let mut tables = TableSet::default();
            for (table, _) in masks.clone().enumerate().filter(|(_, mask)| mask >> bit & 1 == 1) {
                tables[table / 64] |= 1 << (table % 64);
            }
            (tables, bit)
        })
        .collect();
    bits.sort_unstable();
    bits.dedup_by_key(|(tables, _)| *tables);
    let mut unhit = TableSet::default();
    for table in 0..masks.count() {
        unhit[table / 64] |= 1 << (table % 64);
    }
    let mut search = Search { steps: 0 };
    match search.hitting_set(&bits, unhit, max_distance)? {
        Some(differing) => Err(SchemeError::Misses { differing }),
        None => Ok(search.steps),
    }
}

struct Search {
    steps: u32,
}

impl Search {
    /// Returns at most `n_bits` of `bits` that together hit all of `unhit`, as a mask, if there are
    /// any.
    fn hitting_set(
        &mut self,
        bits: &[(TableSet, u32)],
        unhit: TableSet,
        n_bits: u32,
    ) -> Result<Option<u64>, SchemeError> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(SchemeError::Unproved { steps: STEPS_MAX });
        }
        let left = size(unhit);
        if left == 0 {
            return Ok(Some(0));
        }
        let most = bits.iter().map(|&(tables, _)| size(intersection(tables, unhit))).max().unwrap_or(0);
        if most * n_bits < left {
            return Ok(None);
        }
        // The mask with the fewest ways to hit it; a mask without a bit left ends the branch.
        let ways = |table: usize| bits.iter().filter(|(tables, _)| has(*tables, table)).count();
        let Some(table) = (0..256).filter(|&table| has(unhit, table)).min_by_key(|&table| ways(table)) else {
            return Ok(None);
        };
        let (hitting, mut others): (Vec<_>, Vec<_>) =
            bits.iter().partition(|(tables, _)| has(*tables, table));
        for (tables, bit) in hitting {
            // `others` holds the bits before this one, not those after it: a set is met once, at
            // its last bit here.
            if let Some(rest) = self.hitting_set(&others, difference(unhit, tables), n_bits - 1)? {
                return Ok(Some(rest | 1 << bit));
            }
            others.push((tables, bit));
        }
        Ok(None)
    }
}

fn has(set: TableSet, table: usize) -> bool {
    set[table / 64] >> (table % 64) & 1 == 1
}

fn size(set: TableSet) -> u32 {
    set.iter().map(|word| word.count_ones()).sum()
}

fn intersection(a: TableSet, b: TableSet) -> TableSet {
    std::array::from_fn(|word| a[word] & b[word])
}

fn difference(a: TableSet, b: TableSet) -> TableSet {
    std::array::from_fn(|word| a[word] & !b[word])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns true if a set of at most `n_bits` more bits, with `chosen`, touches every mask:
    /// tries all of them.
    fn naive_misses(masks: &[u64], n_bits: u32, from: u32, chosen: u64) -> bool {
        masks.iter().all(|mask| mask & chosen != 0)
            || n_bits > 0 && (from..64).any(|bit| naive_misses(masks, n_bits - 1, bit + 1, chosen | 1 << bit))
    }

    fn check(masks: &[u64], max_distance: u32) {
        let proof = prove(masks.iter().copied(), max_distance);
        match &proof {
            Ok(_) => {}
            Err(SchemeError::Misses { differing }) => {
                assert!(differing.count_ones() <= max_distance);
                assert!(
                    masks.iter().all(|mask| mask & differing != 0),
                    "{differing:x} must touch every mask"
                );
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(proof.is_err(), naive_misses(masks, max_distance, 0, 0), "{masks:x?} {max_distance}");
    }

    fn blocks(n_blocks: u32) -> impl Fn(u32) -> u64 {
        move |block| (0..64).filter(|bit| bit * n_blocks / 64 == block).map(|bit| 1 << bit).sum()
    }

    /// Returns every choice of `chosen` of `n_blocks` blocks.
    fn choose(n_blocks: u32, chosen: u32) -> Vec<u64> {
        let block = blocks(n_blocks);
        (0_u32..1 << n_blocks)
            .filter(|set| set.count_ones() == chosen)
            .map(|set| (0..n_blocks).filter(|b| set >> b & 1 == 1).map(&block).sum())
            .collect()
    }

    #[test]
    fn choosing_blocks_holds_to_the_last_distance_and_no_further() {
        for (n_blocks, chosen) in
            [(2, 1), (4, 1), (4, 2), (5, 2), (6, 3), (8, 1), (8, 4), (9, 2), (10, 3), (10, 4)]
        {
            let masks = choose(n_blocks, chosen);
            for max_distance in 0..=7 {
                let proof = prove(masks.iter().copied(), max_distance);
                assert_eq!(
                    proof.is_ok(),
                    max_distance <= n_blocks - chosen,
                    "{n_blocks} {chosen} {max_distance}"
                );
            }
        }
    }

    #[test]
    fn one_table_less_is_refused() {
        for name in crate::SCHEME_NAMES {
            let (max_distance, masks) = super::super::catalog::masks(name).unwrap();
            for without in 0..masks.len() {
                let rest =
                    masks.iter().enumerate().filter(|(i, _)| *i != without).map(|(_, (_, mask))| *mask);
                let refused = prove(rest, max_distance.as_bits());
                // The nested scheme and the others are minimal: not one of their tables is to
                // spare.
                assert!(
                    matches!(refused, Err(SchemeError::Misses { .. })),
                    "{name} without {without}: {refused:?}"
                );
            }
        }
    }

    /// Masks without any structure make the search long, but it must end, and refuse.
    #[test]
    fn a_search_without_end_is_cut_off() {
        let mut state = 1_u64;
        let masks = [(); 255].map(|()| {
            (0..28).fold(0, |mask, _| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                mask | 1 << (state >> 58)
            })
        });
        assert_eq!(prove(masks.into_iter(), 6), Err(SchemeError::Unproved { steps: STEPS_MAX }));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn equals_trying_every_set(
            masks in proptest::collection::vec(proptest::collection::vec(0..10_u32, 1..6), 1..24),
            max_distance in 0..3_u32,
        ) {
            let block = blocks(10);
            let masks: Vec<u64> =
                masks.iter().map(|set| set.iter().map(|&b| block(b)).fold(0, |mask, b| mask | b)).collect();
            check(&masks, max_distance);
        }
    }
}
