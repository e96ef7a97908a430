//! The cases of searches and scans.

use std::collections::BTreeMap;

use super::{apart, check_near, contents, document, id, near, near_documents, sketch, spread, within};
use crate::{Cursor, Document, ErrorKind, Store};

fn insert(store: &dyn Store, documents: &[Document]) {
    store.insert(documents).expect("an insertion");
}

/// One document, and queries at every distance around the greatest: the last one found and the
/// first one not.
pub(super) fn at_every_distance(store: &dyn Store) {
    let bits = spread(1);
    insert(store, &[document("a", bits)]);
    for seed in 0..50 {
        let mut flipped = 0_u64;
        for distance in 0..=5 {
            for max_distance in 0..=3 {
                let expected: &[_] = if distance <= max_distance { &[("a", distance)] } else { &[] };
                check_near(store, &sketch(bits ^ flipped), apart(max_distance), expected);
            }
            let mut draw = u64::from(distance) + 10 * seed;
            while flipped.count_ones() == distance {
                draw = spread(draw);
                flipped |= 1 << (draw >> 58);
            }
        }
    }
}

/// Fingerprints of all zeros and all ones, whose buckets are the first and the last of every table.
pub(super) fn at_the_ends_of_the_key_space(store: &dyn Store) {
    insert(store, &[document("zeros", 0), document("ones", u64::MAX)]);
    for flipped in [0, 1, 1 << 63, 1 | 1 << 31 | 1 << 63] {
        let distance = u64::count_ones(flipped);
        check_near(store, &sketch(flipped), apart(3), &[("zeros", distance)]);
        check_near(store, &sketch(!flipped), apart(3), &[("ones", distance)]);
    }
}

pub(super) fn in_order_and_cut(store: &dyn Store) {
    let all =
        [document("d", 0), document("b", 1), document("a", 0b11), document("c", 0b100), document("ä", 0)];
    insert(store, &all);
    let expected = [("d", 0), ("ä", 0), ("b", 1), ("c", 1), ("a", 2)];
    check_near(store, &sketch(0), apart(3), &expected);
    for limit in 0..=6 {
        let cut: Vec<_> =
            expected.iter().take(limit).map(|&(id, distance)| (id.to_owned(), distance)).collect();
        let cut = (cut, 5);
        assert_eq!(near(store, &sketch(0), apart(3), limit), cut, "limit {limit}");
        assert_eq!(near_documents(store, &sketch(0), apart(3), limit), cut, "limit {limit}");
    }
    // Answers come in the order of the queries, also for equal queries.
    let queries = [u64::MAX, 0b11, 0, 0b11].map(sketch);
    let found = store.near(&queries, &within(0), 10).expect("a search");
    let ids: Vec<Vec<_>> =
        found.iter().map(|found| found.matches.iter().map(|found| found.id.as_str()).collect()).collect();
    assert_eq!(ids, [vec![], vec!["a"], vec!["d", "ä"], vec!["a"]]);
    assert_eq!(store.near(&[], &within(3), 10).expect("no search"), []);
}

/// A boilerplate page: many documents with one fingerprint are all found, and may be removed one by
/// one.
pub(super) fn equal_fingerprints(store: &dyn Store) {
    let names: Vec<String> = (0..40).map(|n| format!("{n:02}")).collect();
    insert(store, &names.iter().map(|name| document(name, 7)).collect::<Vec<_>>());
    assert_eq!(near(store, &sketch(7), apart(0), 3).1, 40);
    assert_eq!(store.remove(&[id("00"), id("20")]).expect("a removal"), [true, true]);
    let (found, n_matches) = near(store, &sketch(6), apart(3), 100);
    assert_eq!(n_matches, 38);
    let expected = names.iter().filter(|name| !["00", "20"].contains(&name.as_str()));
    assert!(found.iter().map(|(id, _)| id).eq(expected));
}

pub(super) fn only_what_is_there(store: &dyn Store) {
    check_near(store, &sketch(0), apart(3), &[]);
    store.prepare().expect("prepared");
    check_near(store, &sketch(0), apart(3), &[]);
    insert(store, &[document("a", 0)]);
    store.prepare().expect("prepared again");
    check_near(store, &sketch(1), apart(3), &[("a", 1)]);
    insert(store, &[document("a", u64::MAX)]);
    check_near(store, &sketch(1), apart(3), &[]);
    check_near(store, &sketch(u64::MAX), apart(3), &[("a", 0)]);
}

pub(super) fn pages(store: &dyn Store) {
    assert_eq!(contents(store), []);
    let mut all: Vec<_> = (0..30).map(|n| document(&format!("{n}"), spread(n))).collect();
    insert(store, &all);
    all.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(contents(store), all);
    for limit in [1, 29, 30, 31, usize::MAX] {
        let page = store.scan(Cursor::start(), limit).expect("a page");
        assert!(page.documents.len() <= limit);
        assert_eq!(page.next.is_none(), page.documents.len() == 30, "limit {limit}");
        // In a store that numbers its writes, a page ends at a number.
        if let Some(next) = page.next.filter(|_| store.last_write().expect("an answer").is_some()) {
            assert!(next.number().is_ok(), "{next:?}");
        }
    }
    let refused = store.scan(Cursor::start(), 0);
    assert_eq!(refused.err().map(|error| error.kind()), Some(ErrorKind::InvalidArgument));
}

/// A document that stays comes exactly once, whatever changes between the pages.
pub(super) fn pages_while_it_changes(store: &dyn Store) {
    insert(store, &(0..60).map(|n| document(&format!("{n}"), spread(n))).collect::<Vec<_>>());
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut next = Some(Cursor::start());
    let mut round = 0;
    while let Some(after) = next {
        let page = store.scan(after, 4).expect("a page");
        for stored in page.documents {
            *seen.entry(stored.document.id.as_str().to_owned()).or_default() += 1;
        }
        next = page.next;
        if round < 10 {
            // Of the first thirty some are removed and some replaced, and new ones come.
            store.remove(&[id(&round.to_string())]).expect("a removal");
            insert(
                store,
                &[
                    document(&(round + 10).to_string(), spread(1000 + round)),
                    document(&format!("new {round}"), spread(2000 + round)),
                ],
            );
            round += 1;
        }
    }
    for n in 20..60 {
        assert_eq!(seen.get(&n.to_string()), Some(&1), "document {n}");
    }
}
