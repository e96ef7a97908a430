//! Buckets and rows of any size, read page by page.

use simhash::{BucketKey, RowKey};

use super::super::rows::{PAGE_RESULTS, RESULT_CELLS};
use super::*;

/// The only bucket in which the documents of these tests lie.
const BUCKET: BucketKey = BucketKey { flag: 1, segment: 7 };

fn sketch_in_bucket(bits: u64) -> Sketch {
    Sketch::new(Fingerprint(bits), vec![BUCKET])
}

/// Files documents past the store: per row its fingerprint and its ids.
fn fill<B: Bench + ?Sized>(place: &Place<B>, rows: &[(u64, Vec<String>)]) {
    for (bits, ids) in rows {
        let key = RowKey::new(BUCKET, Fingerprint(*bits)).encode();
        for name in ids {
            let document = Document { id: id(name), sketch: sketch_in_bucket(*bits), source: None };
            place.hbase.put_raw("t", &key, &super::super::layout::index_column(&document.id), b"", BEGIN);
            let record = super::super::layout::Record {
                sketch: document.sketch,
                timestamp: BEGIN,
                source: None,
                text: None,
            };
            let row = super::super::layout::document_row(&document.id);
            let value = record.encode(&SketchKind::default());
            place.hbase.put_raw("t_docs", &row, b"d:record", &value, BEGIN);
        }
    }
}

/// Returns rows of one cell each, far from the query.
fn far(n_rows: usize) -> Vec<(u64, Vec<String>)> {
    // Between near rows, in the order of rows: their upper half is all ones but for the number.
    (0..n_rows as u64).map(|n| (0x0000_ffff_ffff_0000 | n << 48, vec![format!("far {n}")])).collect()
}

/// Checks all matches for the query 0, at every limit; returns the number of results read of the
/// bucket.
fn check(on: On, rows: &[(u64, Vec<String>)]) -> u64 {
    let place = Place::new(on);
    fill(&place, rows);
    let store = place.store();
    let mut expected: Vec<_> = rows
        .iter()
        .filter(|(bits, _)| bits.count_ones() <= 3)
        .flat_map(|(bits, ids)| ids.iter().map(|name| (bits.count_ones(), name.clone())))
        .collect();
    expected.sort();
    let mut n_candidates = None;
    for limit in [0, 1, expected.len().saturating_sub(1), expected.len(), expected.len() + 1] {
        let answer = store.near(&[sketch_in_bucket(0)], &within(3), limit).unwrap().remove(0);
        assert_eq!(answer.n_matches, expected.len() as u64);
        let matches =
            answer.matches.iter().map(|found| (found.distance().as_bits(), found.id.as_str().to_owned()));
        assert!(matches.eq(expected.iter().take(limit).cloned()), "limit {limit}");
        assert_eq!(answer.cost.n_buckets, 1);
        assert_eq!(*n_candidates.get_or_insert(answer.cost.n_candidates), answer.cost.n_candidates);
    }
    assert_eq!(place.hbase.n_open_scanners(), 0);
    n_candidates.unwrap()
}

fn ids(n: usize, name: &str) -> Vec<String> {
    (0..n).map(|n| format!("{name}{n:04}")).collect()
}

fn pages_of_rows(on: On) {
    for n_far in
        [0, 1, PAGE_RESULTS - 2, PAGE_RESULTS - 1, PAGE_RESULTS, PAGE_RESULTS + 1, 2 * PAGE_RESULTS, 1300]
    {
        let mut rows = far(n_far);
        rows.extend([(1, ids(2, "near ")), (0xc000_0000_0000_0000, ids(2, "also near "))]);
        assert_eq!(check(on, &rows), n_far as u64 + 2);
    }
}

fn pieces_of_rows(on: On) {
    for n_cells in
        [RESULT_CELLS - 1, RESULT_CELLS, RESULT_CELLS + 1, 2 * RESULT_CELLS, 5 * RESULT_CELLS + 1, 700]
    {
        let rows = [
            (0, ids(n_cells, "a")),
            (1, ids(n_cells, "it's ''")),
            (3, ids(RESULT_CELLS, "'")),
            (7, ids(1, "é")),
        ];
        check(on, &rows);
    }
}

/// The last row of a page has less, exactly, or more cells than one result holds, also where the
/// bucket ends there.
fn a_page_ends_within_a_row(on: On) {
    for n_before in [PAGE_RESULTS - 3, PAGE_RESULTS - 2, PAGE_RESULTS - 1, PAGE_RESULTS] {
        for n_cells in [RESULT_CELLS - 1, RESULT_CELLS, RESULT_CELLS + 1, 3 * RESULT_CELLS, 200] {
            for n_after in [0, 1] {
                // In ascending order, after all far rows.
                let mut rows = far(n_before);
                rows.push((0xe000_0000_0000_0000, ids(n_cells, "o'clock '")));
                rows.extend((0..n_after).map(|_| (u64::MAX, vec!["last".to_owned()])));
                check(on, &rows);
            }
        }
    }
}

/// More documents in one row than two pages hold: the second page of the row is requested with a
/// filter as well.
fn a_row_of_many_pages(on: On) {
    let n = 2 * PAGE_RESULTS * RESULT_CELLS + 1;
    let n_rows = check(on, &[(0, ids(n, "'")), (1, ids(3, "b"))]);
    assert_eq!(n_rows, 2, "a row counts once, in however many pieces it comes");
}

/// Two keys of a query and of a document: counted once, also where both buckets have many pages.
fn in_several_large_buckets(on: On) {
    let place = Place::new(on);
    let store = place.store();
    let all: Vec<_> = (0..600).map(|n| document(&format!("{n:03}"), n << 20)).collect();
    store.insert(&all).unwrap();
    for query in [0, 5 << 20, 599 << 20] {
        let expected: Vec<_> = all
            .iter()
            .filter(|other| other.sketch.fingerprint().distance(Fingerprint(query)) <= apart(3))
            .map(|other| other.id.as_str().to_owned())
            .collect();
        assert_eq!(found(&store, query), expected);
    }
    // A scan of all, in pages of every size around those of the gateway.
    for limit in [1, 7, PAGE_RESULTS - 1, PAGE_RESULTS, PAGE_RESULTS + 1, 599, 600, 601] {
        let mut documents = Vec::new();
        let mut next = Some(Cursor::start());
        while let Some(after) = next {
            let page = store.scan(after, limit).unwrap();
            assert!(page.documents.len() <= limit);
            documents.extend(page.documents);
            next = page.next;
            if limit == 1 && documents.len() == 20 {
                break;
            }
        }
        documents.sort_by(|a, b| a.document.id.cmp(&b.document.id));
        documents.dedup();
        assert_eq!(documents.len(), if limit == 1 { 20 } else { 600 });
    }
}

/// Each page is a scanner of its own, read once.
#[test]
fn what_is_asked_of_the_gateway_is_pages() {
    let place = gateway::place();
    fill(&place, &far(2 * PAGE_RESULTS + 1));
    let store = place.store();
    store.prepare().unwrap();
    store.near(&[sketch_in_bucket(0)], &within(3), 10).unwrap();
    for method in ["scannerOpenWithScan", "scannerGetList", "scannerClose"] {
        assert_eq!(place.hbase.n_calls(method), 3, "{method}");
    }
}

hazards! {
    pages_of_rows,
    pieces_of_rows,
    a_page_ends_within_a_row,
    a_row_of_many_pages,
    in_several_large_buckets,
}
