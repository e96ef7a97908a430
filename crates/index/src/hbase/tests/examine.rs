//! What an examination tells and mends, of everything that can be wrong, and that it tells nothing else.

use std::sync::atomic::AtomicBool;
use std::thread;

use super::super::claiming::LEASE;
use super::super::layout::{document_row, encode_claim};
use super::super::meet::SWEPT_AFTER;
use super::between::Between;
use super::*;
use crate::claims::{Claim, State, Ticket};
use crate::{Examined, Finding, FindingKind, Retention};

const LEASE_MS: i64 = LEASE.as_millis() as i64;
const SWEPT_AFTER_MS: i64 = SWEPT_AFTER.as_millis() as i64;

fn examine(store: &dyn Store, mends: bool) -> (u64, Vec<Finding>) {
    let (mut n_items, mut findings) = (0, Vec::new());
    let mut report = |examined| match examined {
        Examined::Items(n) => n_items += n,
        Examined::Found(finding) => findings.push(finding),
    };
    store.examine(mends, &mut report).unwrap();
    (n_items, findings)
}

/// The kinds that are found, and their places, of which only what comes before a blank counts.
fn told(findings: &[Finding]) -> Vec<(FindingKind, &str)> {
    let mut told: Vec<_> = findings
        .iter()
        .map(|finding| (finding.kind, finding.place.split_once(' ').map_or(&*finding.place, |place| place.0)))
        .collect();
    told.sort_unstable();
    told.dedup();
    told
}

/// Looks, mends, looks again: what is told is what was expected, once it is mended nothing is, and looking changes nothing.
fn check(place: &Place, expected: &[(FindingKind, &str)]) {
    let store = place.store();
    let tables = || (place.index_rows(), place.document_rows());
    let before = tables();
    let (_, seen) = examine(&store, false);
    assert_eq!(told(&seen), expected);
    assert!(seen.iter().all(|finding| !finding.is_mended), "{seen:?}");
    assert_eq!(tables(), before, "looking has changed something");
    let (_, mended) = examine(&store, true);
    assert_eq!(told(&mended), expected);
    for finding in &mended {
        assert_eq!(finding.is_mended, finding.kind != FindingKind::Damaged, "{finding:?}");
    }
    let damaged: Vec<_> =
        expected.iter().copied().filter(|(kind, _)| *kind == FindingKind::Damaged).collect();
    let after = tables();
    let (_, left) = examine(&store, true);
    assert_eq!(told(&left), damaged);
    assert_eq!(tables(), after, "mending a second time has changed something");
}

/// Documents with nothing in common, by every way into the index.
fn filled() -> (Place, Vec<Document>) {
    let place = Place::new();
    let store = place.store();
    let documents: Vec<_> = (0..8).map(|n| document(&format!("d{n}"), spread(n))).collect();
    store.insert(&documents[..4]).unwrap();
    store.insert_if_new(&documents[4..], 3).unwrap();
    place.advance(1);
    (place, documents)
}

fn check_all_found(place: &Place, documents: &[Document]) {
    place.check_cells(documents);
    for document in documents {
        assert_eq!(found(&place.store(), document.sketch.fingerprint().0), [document.id.as_str()]);
    }
}

fn put_cells(place: &Place, document: &Document, timestamp: i64) {
    for (row, column) in cells_of(document) {
        place.gateway.put_raw("t", &row, &column, b"", timestamp);
    }
}

#[test]
fn cells_that_are_missing() {
    let (place, documents) = filled();
    for (document, n_missing) in [(&documents[0], 1), (&documents[5], 10), (&documents[2], 3)] {
        for (row, _) in cells_of(document).into_iter().take(n_missing) {
            assert!(place.gateway.erase("t", &row));
        }
    }
    // A cell that is there, and older than its document: once nobody can be about to write it anew.
    let (row, column) = cells_of(&documents[6]).remove(4);
    place.gateway.erase("t", &row);
    place.gateway.put_raw("t", &row, &column, b"", BEGIN - 1);
    let missing = [(FindingKind::Unfiled, "d0"), (FindingKind::Unfiled, "d2"), (FindingKind::Unfiled, "d5")];
    assert_eq!(told(&examine(&place.store(), false).1), missing);
    place.advance(SWEPT_AFTER_MS);
    check(&place, &[&missing[..], &[(FindingKind::Unfiled, "d6")]].concat());
    check_all_found(&place, &documents);
    // Nothing but cells was written.
    assert_eq!(contents(&place.store()), documents);
    let inserted_at =
        |n: usize| place.store().get(&[documents[n].id.clone()]).unwrap().remove(0).unwrap().inserted_at;
    assert!([0, 2, 5, 6].iter().all(|&n| inserted_at(n).as_ms() == BEGIN));
}

/// A delete that is newer than the document hides whatever is written with the document's timestamp.
#[test]
fn cells_that_a_delete_hides() {
    let (place, documents) = filled();
    let rows = ThriftRows::new(place.gateway.address().to_string(), "t", OPTIONS);
    for document in [&documents[1], &documents[7]] {
        let mutations = cells_of(document)
            .into_iter()
            .map(|(row, column)| super::super::rows::Mutation { row, column, value: None })
            .collect();
        let table = super::super::rows::Table::Index;
        let deletes =
            super::super::rows::Mutations { table, timestamp: BEGIN, time_to_live: None, mutations };
        super::super::rows::Rows::apply(&rows, &deletes).unwrap();
        assert_eq!(found(&place.store(), document.sketch.fingerprint().0), [""; 0]);
    }
    check(&place, &[(FindingKind::Unfiled, "d1"), (FindingKind::Unfiled, "d7")]);
    check_all_found(&place, &documents);
    assert_eq!(contents(&place.store()), documents);
    // They go as any others do.
    place.advance(1);
    let ids: Vec<_> = documents.iter().map(|document| document.id.clone()).collect();
    assert_eq!(place.store().remove(&ids).unwrap(), [true; 8]);
    place.check_cells(&[]);
}

/// A removal or a replacement while cells are written anew must not be undone.
#[test]
fn mending_never_brings_back_what_went() {
    for removes in [true, false] {
        for nth in 0..30 {
            let (place, documents) = filled();
            let place = Arc::new(place);
            let rows = ThriftRows::new(place.gateway.address().to_string(), "t", OPTIONS);
            let (row, column) = cells_of(&documents[1]).remove(0);
            let mutations = vec![super::super::rows::Mutation { row, column, value: None }];
            let table = super::super::rows::Table::Index;
            let hiding =
                super::super::rows::Mutations { table, timestamp: BEGIN, time_to_live: None, mutations };
            super::super::rows::Rows::apply(&rows, &hiding).unwrap();
            let replaced = document("d1", spread(100));
            let step = Arc::new(AtomicI64::new(0));
            let (inside, new, steps) = (Arc::clone(&place), replaced.clone(), Arc::clone(&step));
            let between = move || {
                if steps.fetch_add(1, Ordering::Relaxed) == nth {
                    inside.advance(1);
                    match removes {
                        true => drop(inside.store().remove(&[id("d1")]).unwrap()),
                        false => drop(inside.store().insert(std::slice::from_ref(&new)).unwrap()),
                    }
                    inside.advance(1);
                }
            };
            let clock = Arc::clone(&place.clock);
            let clock = Clock::new(move || clock.load(Ordering::Relaxed));
            let store = HbaseStore::over(Box::new(Between { rows, between }), clock);
            examine(&store, true);
            if step.load(Ordering::Relaxed) <= nth {
                assert!(nth > 6, "an examination has more requests");
                break;
            }
            let context = format!("removes: {removes}, after request {nth}");
            let expected = if removes { None } else { Some(replaced.clone()) };
            assert_eq!(get(&place.store(), &[id("d1")]), [expected], "{context}");
            // Once all is quiet, so are the tables.
            place.advance(SWEPT_AFTER_MS + 1);
            examine(&place.store(), true);
            assert_eq!(examine(&place.store(), false).1, [], "{context}");
            place.check_cells(&contents(&place.store()));
        }
    }
}

#[test]
fn cells_that_lead_nowhere() {
    let (place, documents) = filled();
    let store = place.store();
    // Never there, removed, there under another sketch; and of a claim that came to nothing.
    store.insert(&[document("gone", spread(50))]).unwrap();
    place.advance(1);
    store.remove(&[id("gone")]).unwrap();
    put_cells(&place, &document("never", spread(51)), BEGIN);
    put_cells(&place, &document("gone", spread(50)), place.gateway.now_ms());
    put_cells(&place, &document("d3", spread(52)), BEGIN);
    put_cells(&place, &document("d4", spread(4) ^ 1), BEGIN);
    put_claim(&place, "withdrawn", State::Aborted, BEGIN);
    put_cells(&place, &document("withdrawn", spread(60)), BEGIN);
    // Whoever is at it has not written his record yet.
    assert_eq!(examine(&store, true).1, []);
    place.advance(SWEPT_AFTER_MS - 2);
    assert_eq!(examine(&store, true).1, []);
    place.advance(3);
    let ghosts = ["d3", "d4", "gone", "never", "withdrawn"].map(|name| (FindingKind::Ghost, name));
    let (n_items, findings) = examine(&store, false);
    assert_eq!(findings.len(), 50);
    assert_eq!(
        n_items,
        10 * (8 + 5) + 8 + 2,
        "cells and rows, of which a removed and a withdrawn document have one"
    );
    assert!(
        findings
            .iter()
            .any(|finding| finding.place.starts_with("d4 under ") && finding.place.contains(" in bucket 0"))
    );
    check(&place, &ghosts);
    check_all_found(&place, &documents);
}

fn put_claim(place: &Place, name: &str, state: State, deadline: i64) -> Claim {
    let sketch = sketch(spread(60));
    let ticket = Ticket { time: BEGIN, owner: 7, number: 0 };
    let claim = Claim { state, sketch, source: None, timestamp: BEGIN, ticket, deadline, expires: true };
    let row = document_row(&id(name));
    place.gateway.put_raw("t_docs", &row, b"d:claim", &encode_claim(&claim, &metadata().scheme), BEGIN);
    claim
}

#[test]
fn claims_whose_owners_are_dead() {
    let (place, documents) = filled();
    put_claim(&place, "live", State::Pending, BEGIN + 2 * LEASE_MS);
    put_claim(&place, "dead", State::Pending, BEGIN);
    put_cells(&place, &document("live", spread(60)), BEGIN);
    put_cells(&place, &document("dead", spread(60)), BEGIN);
    assert_eq!(examine(&place.store(), true).1, []);
    place.advance(LEASE_MS - 1);
    assert_eq!(examine(&place.store(), true).1, []);
    place.advance(1);
    check(&place, &[(FindingKind::DeadClaim, "dead")]);
    place.advance(2 * LEASE_MS);
    check(&place, &[(FindingKind::DeadClaim, "live")]);
    // Their cells lead nowhere now, and nobody is kept from inserting.
    place.advance(SWEPT_AFTER_MS);
    check(&place, &[(FindingKind::Ghost, "dead"), (FindingKind::Ghost, "live")]);
    check_all_found(&place, &documents);
    let inserted = place.store().insert_if_new(&[document("dead", spread(60))], 3).unwrap();
    assert_eq!(inserted, [Insertion::Inserted]);
}

/// Looking while a claim is pending, and its cells are old already: they are its own.
#[test]
fn the_cells_of_a_claim_are_its_own() {
    let (place, _) = filled();
    put_claim(&place, "waiting", State::Pending, BEGIN + 2 * SWEPT_AFTER_MS);
    put_cells(&place, &document("waiting", spread(60)), BEGIN);
    place.advance(SWEPT_AFTER_MS + 1);
    assert_eq!(examine(&place.store(), true).1, []);
    assert_eq!(place.cells().len(), 90);
}

/// The remover dies before the record is deleted.
#[test]
fn removals_that_nobody_has_finished() {
    let (place, documents) = filled();
    let impatient = Options { patience: Duration::ZERO, first_patience: Duration::ZERO, ..OPTIONS };
    place
        .gateway
        .fail(Fault::on("mutateRowsTs", FaultKind::DoNotRetry("java.io.IOException: injected".into())));
    place.store_with(impatient).remove(&[id("d2"), id("d5")]).unwrap_err();
    assert_eq!(place.gateway.n_faults(), 0);
    assert_eq!(get(&place.store(), &[id("d2"), id("d5")]), [None, None]);
    // He may be at it still.
    place.advance(LEASE_MS + 1);
    assert_eq!(examine(&place.store(), true).1, []);
    place.advance(SWEPT_AFTER_MS);
    // The other one was known from its claim alone, so nothing is left of it but cells.
    let expected = [(FindingKind::Ghost, "d2"), (FindingKind::Ghost, "d5"), (FindingKind::HalfRemoved, "d2")];
    assert_eq!(told(&examine(&place.store(), false).1), expected);
    assert_eq!(told(&examine(&place.store(), true).1), [expected[1], expected[2]]);
    check(&place, &[]);
    let left: Vec<_> =
        documents.into_iter().filter(|document| !["d2", "d5"].contains(&document.id.as_str())).collect();
    check_all_found(&place, &left);
}

#[test]
fn what_nobody_of_ours_wrote() {
    let (place, documents) = filled();
    let put = |table, row: &[u8], column: &[u8], value: &[u8]| {
        place.gateway.put_raw(table, row, column, value, BEGIN + 1);
    };
    put("t", b"\x01short", b"f:a", b"");
    put("t", &cells_of(&documents[0])[0].0, b"f:a\tb", b"");
    put("t_docs", b"0000:x", b"d:record", b"live 0000000000000000 1");
    put("t_docs", &document_row(&id("d3")), b"d:record", b"nonsense");
    put("t_docs", &document_row(&id("d6")), b"d:claim", b"nonsense");
    place.advance(SWEPT_AFTER_MS + 1);
    let (_, findings) = examine(&place.store(), false);
    let mut places: Vec<_> = findings.iter().map(|finding| finding.place.clone()).collect();
    places.sort();
    assert_eq!(findings.len(), 5, "{findings:?}");
    assert!(findings.iter().all(|finding| finding.kind == FindingKind::Damaged), "{findings:?}");
    for part in ["0000:x", ":d3", ":d6", "\\x01short a", " a\\tb"] {
        assert!(places.iter().any(|place| place.ends_with(part)), "{part} is not in {places:?}");
    }
    // What can be mended beside it is.
    put_cells(&place, &document("never", spread(51)), BEGIN);
    let (row, _) = cells_of(&documents[1]).remove(2);
    place.gateway.erase("t", &row);
    let mended = examine(&place.store(), true).1;
    assert!(mended.iter().all(|finding| finding.is_mended != (finding.kind == FindingKind::Damaged)));
    assert_eq!(mended.iter().filter(|finding| finding.is_mended).count(), 11);
    assert_eq!(told(&examine(&place.store(), false).1), told(&findings));
    assert_eq!(found(&place.store(), spread(1)), ["d1"]);
}

/// Everything that may become of a document, thousands of times: nothing is wrong with any of them.
#[test]
fn a_healthy_index() {
    let place = Place::new();
    let store = place.store();
    for round in 0..5_u64 {
        let documents: Vec<_> =
            (0..1_000).map(|n| document(&format!("{round}-{n}"), spread(1_000 * round + n))).collect();
        let moved = |from: usize, by: u64| -> Vec<_> {
            let moved = documents[from..from + 100].iter();
            moved
                .map(|old| Document { sketch: sketch(old.sketch.fingerprint().0 ^ by), ..old.clone() })
                .collect()
        };
        let ids =
            |from: usize| -> Vec<_> { documents[from..from + 100].iter().map(|d| d.id.clone()).collect() };
        store.insert(&documents[..500]).unwrap();
        store.insert_if_new(&documents[500..], 3).unwrap();
        place.advance(1);
        // Each way of inserting after each, within the neighbourhood and out of it.
        store.insert(&moved(0, 1)).unwrap();
        store.insert_if_new(&moved(100, 1 << 40), 3).unwrap();
        store.insert(&moved(500, u64::MAX)).unwrap();
        store.insert_if_new(&moved(600, u64::MAX), 3).unwrap();
        for from in [200, 700] {
            store.remove(&ids(from)).unwrap();
        }
        place.advance(1);
        store.insert(&documents[200..250]).unwrap();
        store.insert_if_new(&documents[750..800], 3).unwrap();
        store.insert_if_new(&documents[250..260], 3).unwrap();
        // Back to what it was.
        store.insert(&documents[0..50]).unwrap();
        store.insert_if_new(&documents[600..650], 3).unwrap();
        assert_eq!(examine(&store, round % 2 == 0).1, []);
        place.advance(SWEPT_AFTER_MS / 2);
    }
    for later in [1, SWEPT_AFTER_MS, 25 * HOUR] {
        place.advance(later);
        let n_documents = contents(&store).len();
        assert_eq!(n_documents, 5 * 910);
        let before = (place.index_rows(), place.document_rows());
        let (n_items, findings) = examine(&store, true);
        assert_eq!(findings, []);
        assert!(n_items >= 11 * n_documents as u64, "{n_items} items");
        assert!((place.index_rows(), place.document_rows()) == before, "something has been mended");
    }
    place.gateway.major_compact();
    assert_eq!(examine(&store, true).1, []);
}

/// Writers of every kind at work on the same ids, and examinations one after another, which mend.
#[test]
fn beside_writers() {
    let place = Place::new();
    let is_done = AtomicBool::new(false);
    let time = AtomicI64::new(0);
    thread::scope(|scope| {
        let (place, is_done, time) = (&place, &is_done, &time);
        let writers: Vec<_> = (0..3_u64)
            .map(|writer| {
                scope.spawn(move || {
                    let store = place.store();
                    for round in 0..60 {
                        place.advance(1);
                        time.fetch_add(1, Ordering::Relaxed);
                        let own = (0..5).map(|n| {
                            document(&format!("{writer}-{n}"), spread(10 * writer + n) ^ (1 << (round % 7)))
                        });
                        let shared =
                            (0..3).map(|n| document(&format!("s{n}"), spread(100 + (round + writer) % 4)));
                        let documents: Vec<_> = own.chain(shared).collect();
                        match (round + writer) % 4 {
                            0 | 2 => drop(store.insert_if_new(&documents, 3).unwrap()),
                            1 => drop(store.insert(&documents[..5]).unwrap()),
                            _ => {
                                let ids: Vec<_> =
                                    documents.iter().map(|document| document.id.clone()).collect();
                                store.remove(&ids[2..]).unwrap();
                            }
                        }
                    }
                })
            })
            .collect();
        let examiner = scope.spawn(move || {
            let store = place.store();
            let mut n_rounds = 0;
            while !is_done.load(Ordering::Relaxed) || n_rounds < 2 {
                n_rounds += 1;
                assert_eq!(examine(&store, n_rounds % 2 == 0).1, []);
            }
        });
        let outcomes: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_done.store(true, Ordering::Relaxed);
        examiner.join().unwrap();
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    place.advance(SWEPT_AFTER_MS + 1);
    examine(&place.store(), true);
    assert_eq!(examine(&place.store(), false).1, []);
    place.check_cells(&contents(&place.store()));
}

/// A document is replaced or removed after any request of an examination.
#[test]
fn between_any_two_requests() {
    for removes in [true, false] {
        for nth in 0..30 {
            let (place, documents) = filled();
            let place = Arc::new(place);
            place.advance(SWEPT_AFTER_MS + 1);
            let step = Arc::new(AtomicI64::new(0));
            let (inside, steps) = (Arc::clone(&place), Arc::clone(&step));
            let between = move || {
                if steps.fetch_add(1, Ordering::Relaxed) == nth {
                    let store = inside.store();
                    if removes {
                        store.remove(&[id("d1"), id("d5")]).unwrap();
                    } else {
                        store.insert(&[document("d1", spread(101)), document("d6", spread(106))]).unwrap();
                        store
                            .insert_if_new(&[document("d2", spread(102)), document("d5", spread(105))], 3)
                            .unwrap();
                    }
                }
            };
            let rows = ThriftRows::new(place.gateway.address().to_string(), "t", OPTIONS);
            let clock = Arc::clone(&place.clock);
            let clock = Clock::new(move || clock.load(Ordering::Relaxed));
            let store = HbaseStore::over(Box::new(Between { rows, between }), clock);
            assert_eq!(examine(&store, true).1, [], "removes: {removes}, after request {nth}");
            if step.load(Ordering::Relaxed) <= nth {
                assert!(nth > 4, "an examination has more requests");
                break;
            }
            assert_eq!(contents(&place.store()).len(), documents.len() - if removes { 2 } else { 0 });
        }
    }
}

/// The tables let cells expire by the server's clock, which is not the examiner's.
#[test]
fn what_expires_is_not_told() {
    let place = Place::bare();
    for (table, family) in [("t", "f"), ("t_docs", "d")] {
        place.gateway.set_time_to_live(table, family, 3_600);
    }
    place.store().create(&Metadata { retain: Retention::from_seconds(3_600), ..metadata() }).unwrap();
    let store = place.store();
    for n in 0..12 {
        store.insert(&[document(&format!("a{n}"), spread(n))]).unwrap();
        store.insert_if_new(&[document(&format!("b{n}"), spread(100 + n))], 3).unwrap();
        place.advance(HOUR / 6);
        for behind_ms in [0, 30_000, -30_000, 0] {
            place.set_clock(place.gateway.now_ms() - behind_ms);
            assert_eq!(examine(&store, true).1, [], "{behind_ms} ms behind");
        }
    }
}
