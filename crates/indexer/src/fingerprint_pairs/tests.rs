use engine::join::CellJoin;
use index::{Cell, OpenOptions, Profile};
use proptest::prelude::*;

use super::*;
use crate::walk::Walk;

type Told = Vec<(String, String, Nearness)>;

fn told(pair: NearPair<'_>) -> (String, String, Nearness) {
    (pair.a.as_str().to_owned(), pair.b.as_str().to_owned(), pair.nearness)
}

/// An index of fingerprints; each document's id is in another order than its fingerprint.
fn index_of(scheme: &str, fingerprints: &[u64]) -> Index {
    let options = OpenOptions {
        profile: Some(Profile::Classic),
        verify: Some(false),
        scheme: Some(scheme.to_owned()),
        ..OpenOptions::default()
    };
    let index = engine::open_index("memory:", &options).unwrap();
    let id = |n: usize| DocumentId::new(format!("{:03}", n * 7_919 % 1_009)).unwrap();
    let documents: Vec<_> =
        fingerprints.iter().enumerate().map(|(n, &bits)| (id(n), Fingerprint(bits))).collect();
    index.insert(&documents).unwrap();
    index
}

/// Checks that the pairs are those of a walk over the cells, in their order.
fn check(scheme: &str, fingerprints: &[u64], max_distance: u32, n_bytes_max: u64) {
    let index = index_of(scheme, fingerprints);
    let folder = tempfile::tempdir().unwrap();
    let max_distance = Distance::new(max_distance).unwrap();
    let rule = Rule { max_distance, ..index.rule() };
    assert!(decide_alone(&index, &rule));
    let parts = Segments::parts(index.kind(), 3).unwrap();
    for wanted in [[true; 3], [false, true, false]] {
        let join = FingerprintJoin {
            index: &index,
            max_distance,
            parts: &parts,
            wanted: &wanted,
            folder: folder.path(),
            n_bytes_max,
            n_threads: 2,
        };
        let Some(found) = join.run(&mut |_| {}, true).unwrap() else {
            // A share may be too large for so little memory.
            assert!(n_bytes_max < 100_000);
            continue;
        };
        let walk = Walk::sorted(&index, parts.clone(), &wanted, folder.path(), &mut |_| {}).unwrap();
        let cells = CellJoin::new(&index, rule).unwrap();
        for part in (0..3).filter(|&part| wanted[part as usize]) {
            let (mut pairs, mut expected) = (Told::new(), Told::new());
            let of_join = found.run(part, &mut |pair| {
                pairs.push(told(pair));
                Ok(())
            });
            let pages = walk.pages(part).map(|page: anyhow::Result<Vec<Cell>>| page);
            let of_cells =
                cells.run(pages, &tempfile::tempfile, &|_| Ok(()), &mut |pair| -> anyhow::Result<()> {
                    expected.push(told(pair));
                    Ok(())
                });
            of_join.unwrap();
            of_cells.unwrap();
            assert_eq!(pairs, expected, "part {part}");
        }
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the files have no names");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pairs_are_those_of_the_cells(
        centres in proptest::collection::vec(any::<u64>(), 1..60),
        members in proptest::collection::vec((any::<prop::sample::Index>(), 0..64_u32, 0..64_u32, 0..4_u32), 0..200),
        scheme in prop::sample::select(vec!["5c2", "t6", "t8"]),
        max_distance in 0..=3_u32,
        n_bytes_max in prop::sample::select(vec![3_000, 10_000, u64::MAX]),
    ) {
        let bits = |(centre, one, other, kind): &(prop::sample::Index, u32, u32, u32)| {
            let centre = centre.get(&centres);
            centre ^ if *kind > 0 { 1 << one } else { 0 } ^ if *kind > 1 { 1 << other } else { 0 }
        };
        let fingerprints: Vec<u64> = members.iter().map(bits).collect();
        check(scheme, &fingerprints, max_distance, n_bytes_max);
    }
}

/// Copies by the hundred in front of and behind their neighbours, in blocks of documents of any
/// length.
#[test]
fn many_copies() {
    let fingerprints: Vec<u64> =
        (0..300).map(|n| [0, 1, 3, 1 << 40][n % 4] + ((n as u64 / 100) << 50)).collect();
    check("5c2", &fingerprints, 3, u64::MAX);
    check("5c2", &[], 3, u64::MAX);
}

fn join<'a>(
    index: &'a Index,
    parts: &'a [Segments],
    folder: &'a Path,
    n_bytes_max: u64,
) -> FingerprintJoin<'a> {
    let max_distance = index.max_distance();
    FingerprintJoin { index, max_distance, parts, wanted: &[true], folder, n_bytes_max, n_threads: 2 }
}

/// Shares hold few fingerprints only where few of them agree in the bits of a table.
#[test]
fn fingerprints_that_agree_are_held_at_once_or_not_joined() {
    let folder = tempfile::tempdir().unwrap();
    for (agree, is_joined) in [(false, true), (true, false)] {
        let bits = |n: u64| if agree { n } else { n.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
        let index = index_of("5c2", &(0..1_000).map(bits).collect::<Vec<u64>>());
        let parts = Segments::parts(index.kind(), 1).unwrap();
        let join = join(&index, &parts, folder.path(), 20_000);
        assert_eq!(join.run(&mut |_| {}, true).unwrap().is_some(), is_joined);
    }
}

/// A document that is replaced during the scan comes twice, and must not be near itself.
#[test]
fn an_index_that_is_written_to_is_not_joined() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        OpenOptions { profile: Some(Profile::Classic), verify: Some(false), ..OpenOptions::default() };
    let store = format!("embedded:{}", folder.path().join("index").display());
    let index = engine::open_index(&store, &options).unwrap();
    let document = |bits| (DocumentId::new("a").unwrap(), Fingerprint(bits));
    index.insert(&[document(1)]).unwrap();
    let parts = Segments::parts(index.kind(), 1).unwrap();
    let join = join(&index, &parts, folder.path(), u64::MAX);
    assert!(join.run(&mut |_| {}, true).unwrap().is_some());
    let mut replace = |_| index.insert(&[document(2)]).map(drop).unwrap();
    assert!(join.run(&mut replace, true).unwrap().is_none());
}
