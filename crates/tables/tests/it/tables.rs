//! Layouts against the naive scan: random inserts and removals, then every query that could tell
//! them apart.

use pigeonhole_tables::{BucketTables, Cost, NaiveTables, Tables};
use proptest::prelude::*;
use simhash::{BucketKey, Distance, Facet, Fingerprint, TableScheme};

use crate::corpora::{apart, explicit_sketches, fingerprints, flipped, schemes};

/// Query, fingerprint, distance and numbers of a hit.
type Answer = (usize, Fingerprint, Distance, Vec<u64>);

/// Returns the hits of a call, sorted; checks that queries come in their order.
fn near(tables: &dyn Tables, queries: &[Facet], max_distance: Distance) -> (Vec<Answer>, Cost) {
    let mut answers: Vec<Answer> = Vec::new();
    let queries: Vec<&Facet> = queries.iter().collect();
    let cost = tables.near(&queries, max_distance, &mut |hit| {
        assert!(!hit.numbers.is_empty());
        assert!(answers.last().is_none_or(|(query, ..)| *query <= hit.query));
        answers.push((hit.query, hit.fingerprint, hit.distance, hit.numbers.to_vec()));
    });
    answers.sort();
    (answers, cost)
}

fn check_same(tables: &dyn Tables, naive: &NaiveTables, queries: &[Facet], distances: &[Distance]) {
    assert_eq!(tables.n_postings(), naive.n_postings());
    assert_eq!(tables.n_sketches(), naive.n_sketches());
    for &max_distance in distances {
        let (expected, expected_cost) = near(naive, queries, max_distance);
        let (answers, cost) = near(tables, queries, max_distance);
        assert_eq!(answers, expected, "max distance {max_distance}");
        assert_eq!(cost, expected_cost);
        let mut one_at_a_time = Vec::new();
        for (n, query) in queries.iter().enumerate() {
            let (answers, _) = near(tables, std::slice::from_ref(query), max_distance);
            one_at_a_time
                .extend(answers.into_iter().map(|(_, fp, distance, numbers)| (n, fp, distance, numbers)));
        }
        assert_eq!(one_at_a_time, expected);
    }
}

/// An insert or removal of a sketch and number.
#[derive(Clone, Copy, Debug)]
struct Operation {
    is_insert: bool,
    sketch: usize,
    number: u64,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let number = prop_oneof![0..3_u64, Just(u64::MAX)];
    let operation = (proptest::bool::weighted(0.65), any::<usize>(), number)
        .prop_map(|(is_insert, sketch, number)| Operation { is_insert, sketch, number });
    proptest::collection::vec(operation, 1..120)
}

fn check_operations(sketches: &[Facet], operations: &[Operation]) {
    let (mut tables, mut naive) = (BucketTables::new(), NaiveTables::new());
    for &Operation { is_insert, sketch, number } in operations {
        let sketch = &sketches[sketch % sketches.len()];
        if is_insert {
            assert_eq!(tables.insert(sketch, number), naive.insert(sketch, number));
        } else {
            assert_eq!(tables.remove(sketch, number), naive.remove(sketch, number));
        }
    }
    check_same(&tables, &naive, sketches, &[0, 1, 3, 64].map(apart));
}

/// Filing all at once is filing one after another.
fn check_insert_all(sketches: &[Facet], operations: &[Operation]) {
    let postings: Vec<_> = operations
        .iter()
        .map(|operation| (sketches[operation.sketch % sketches.len()].clone(), operation.number))
        .collect();
    let (mut tables, mut naive) = (BucketTables::new(), NaiveTables::new());
    for postings in postings.chunks(postings.len() / 2 + 1) {
        assert_eq!(tables.insert_all(postings), naive.insert_all(postings));
    }
    check_same(&tables, &naive, sketches, &[0, 3].map(apart));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn operations_on_simhash_sketches(fingerprints in fingerprints(40), operations in operations()) {
        for scheme in schemes() {
            let sketches: Vec<_> = fingerprints.iter().map(|&bits| scheme.facet(Fingerprint(bits))).collect();
            check_operations(&sketches, &operations);
            check_insert_all(&sketches, &operations);
        }
    }

    #[test]
    fn operations_on_explicit_sketches(sketches in explicit_sketches(40), operations in operations()) {
        check_operations(&sketches, &operations);
        check_insert_all(&sketches, &operations);
    }

    /// Within a scheme's distance the tables find all that a scan of the fingerprints alone would.
    #[test]
    fn every_fingerprint_within_the_distance_is_found(fingerprints in fingerprints(60)) {
        for scheme in schemes() {
            let mut tables = BucketTables::new();
            for (&bits, number) in fingerprints.iter().zip(0..) {
                tables.insert(&scheme.facet(Fingerprint(bits)), number);
            }
            for &bits in &fingerprints {
                let query = scheme.facet(Fingerprint(bits));
                let (answers, _) = near(&tables, &[query], scheme.max_distance());
                let mut found: Vec<u64> = answers.into_iter().flat_map(|(.., numbers)| numbers).collect();
                found.sort_unstable();
                let is_near = |other: &u64| Distance::of_differing(other ^ bits) <= scheme.max_distance();
                let expected: Vec<u64> =
                    (0..).zip(&fingerprints).filter(|(_, other)| is_near(other)).map(|(n, _)| n).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}

fn found(tables: &dyn Tables, query: &Facet, max_distance: Distance) -> Vec<u64> {
    let (answers, _) = near(tables, std::slice::from_ref(query), max_distance);
    answers.into_iter().flat_map(|(.., numbers)| numbers).collect()
}

/// A regression: candidates at exactly the distance were dropped, with `<` for `<=`.
#[test]
fn a_candidate_at_exactly_the_distance_is_found_and_one_bit_further_is_not() {
    for scheme in schemes() {
        for layout in [&mut BucketTables::new() as &mut dyn Tables, &mut NaiveTables::new()] {
            let centre = 0x5555_0000_ffff_1234;
            layout.insert(&scheme.facet(Fingerprint(centre)), 7);
            for start in 0..60 {
                let three = scheme.facet(Fingerprint(flipped(centre, &[start, start + 2, start + 3])));
                let four =
                    scheme.facet(Fingerprint(flipped(centre, &[start, start + 1, start + 2, start + 3])));
                assert_eq!(found(layout, &three, apart(3)), [7], "{} from bit {start}", scheme.name());
                assert_eq!(found(layout, &three, apart(2)), []);
                assert_eq!(found(layout, &four, apart(3)), []);
            }
        }
    }
}

/// A regression: identical fingerprints returned nothing, or only the last one filed.
#[test]
fn identical_fingerprints_are_all_returned() {
    for scheme in schemes() {
        for bits in [0, u64::MAX, 0x0123_4567_89ab_cdef] {
            let sketch = scheme.facet(Fingerprint(bits));
            let mut tables = BucketTables::new();
            // More than come in one piece.
            for number in (0..5000).rev() {
                assert!(tables.insert(&sketch, number));
                assert!(!tables.insert(&sketch, number));
            }
            assert_eq!((tables.n_sketches(), tables.n_postings()), (1, 5000));
            assert_eq!(found(&tables, &sketch, apart(0)), (0..5000).collect::<Vec<_>>());
        }
    }
}

/// A regression: an index of one element never matched.
#[test]
fn one_element_matches_and_none_does_not() {
    for scheme in schemes() {
        for bits in [0, 1, u64::MAX] {
            let sketch = scheme.facet(Fingerprint(bits));
            let mut tables = BucketTables::new();
            assert_eq!(found(&tables, &sketch, apart(3)), []);
            assert_eq!(tables.heap_bytes(), 0);
            assert!(!tables.remove(&sketch, 9));
            assert!(tables.insert(&sketch, 9));
            assert_eq!(found(&tables, &sketch, apart(0)), [9]);
            assert_eq!(found(&tables, &sketch, apart(3)), [9]);
            assert!(tables.remove(&sketch, 9));
            assert!(!tables.remove(&sketch, 9));
            assert_eq!(found(&tables, &sketch, apart(3)), []);
            assert_eq!((tables.n_sketches(), tables.n_postings()), (0, 0));
        }
    }
}

/// Thousands in one bucket: all of a block's values, each with near neighbours, some removed again.
#[test]
fn a_crowd_that_differs_in_one_block_only() {
    for (name, n) in [("5c2", 2500), ("4c1", 1500), ("t8", 256)] {
        let scheme: TableScheme = name.parse().unwrap();
        let (mut tables, mut naive) = (BucketTables::new(), NaiveTables::new());
        let sketches: Vec<_> = (0..n).map(|low| scheme.facet(Fingerprint(0xabcd_0000 << 32 | low))).collect();
        for (sketch, number) in sketches.iter().zip(0..) {
            assert!(tables.insert(sketch, number));
            naive.insert(sketch, number);
        }
        let queries: Vec<_> = sketches.iter().step_by(97).cloned().collect();
        check_same(&tables, &naive, &queries, &[0, 3].map(apart));
        for (sketch, number) in sketches.iter().zip(0..).filter(|(_, number)| number % 3 > 0) {
            assert!(!tables.insert(sketch, number), "it is filed");
            assert!(tables.remove(sketch, number));
            naive.remove(sketch, number);
        }
        check_same(&tables, &naive, &queries, &[0, 3].map(apart));
        for (sketch, number) in sketches.iter().zip(0..) {
            tables.remove(sketch, number);
        }
        assert_eq!((tables.n_sketches(), tables.n_postings()), (0, 0));
        assert_eq!(found(&tables, &queries[0], apart(64)), []);
    }
}

/// One fingerprint under many keys is as many sketches; each is added and removed without reading
/// the others.
#[test]
fn equal_fingerprints_under_different_keys_are_different_sketches() {
    let sketch = |n: u32| Facet::new(Fingerprint(5), vec![key(1, 0), key(2, n)]);
    let (mut tables, mut naive) = (BucketTables::new(), NaiveTables::new());
    for n in 0..2000 {
        assert!(tables.insert(&sketch(n), 1));
        assert!(!tables.insert(&sketch(n), 1));
        naive.insert(&sketch(n), 1);
    }
    let subset = Facet::new(Fingerprint(5), vec![key(2, 1)]);
    assert!(!tables.remove(&subset, 1));
    check_same(
        &tables,
        &naive,
        &[sketch(3), subset, Facet::new(Fingerprint(4), vec![key(2, 7)])],
        &[apart(0), apart(1)],
    );
}

/// A regression: many buckets that grew at the same time left more freed blocks behind than they
/// held.
#[test]
fn segments_that_grow_together_waste_no_memory() {
    let heap_bytes = |n_segments: u32| {
        let mut tables = BucketTables::new();
        for n in 0..1 << 17 {
            tables.insert(&Facet::new(Fingerprint(u64::from(n)), vec![key(1, n % n_segments)]), 0);
        }
        tables.heap_bytes()
    };
    let (spread, together) = (heap_bytes(1 << 17), heap_bytes(1 << 8));
    assert!(together < spread + spread / 5, "{together} bytes, but {spread} where all segments differ");
}

fn key(flag: u8, segment: u32) -> BucketKey {
    BucketKey { flag, segment }
}

/// Freed memory is used again: a stream of as many inserts as removals holds no more memory at its
/// end.
#[test]
fn a_window_over_a_stream_does_not_grow() {
    let scheme = TableScheme::default();
    let mut tables = BucketTables::new();
    let sketch = |n: u64| scheme.facet(Fingerprint(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let window = 5000;
    let mut held = [0; 4];
    for (round, held) in (0..).zip(&mut held) {
        for n in round * 4 * window..(round + 1) * 4 * window {
            tables.insert(&sketch(n), n);
            if n >= window {
                assert!(tables.remove(&sketch(n - window), n - window));
            }
        }
        *held = tables.heap_bytes();
    }
    assert_eq!(tables.n_sketches(), window as usize);
    assert!(held[3] < held[0] + held[0] / 20, "{held:?}");
}
