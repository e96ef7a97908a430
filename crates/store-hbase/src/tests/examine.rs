//! The findings and repairs of an examination for every possible fault, and no findings without
//! one.

use crate::claims::{Claim, State, Ticket};
use index::{Examined, Finding, FindingKind, StoredDocument};

use super::super::claiming::LEASE;
use super::super::layout::{document_row, encode_claim};
use super::super::meet::SWEPT_AFTER;
use super::super::rows::{Mutation, Mutations, Rows, Table};
use super::*;

const LEASE_MS: i64 = LEASE.as_millis() as i64;
const SWEPT_AFTER_MS: i64 = SWEPT_AFTER.as_millis() as i64;

pub(super) fn examine(store: &dyn Store, mends: bool) -> (u64, Vec<Finding>) {
    let (mut n_items, mut findings) = (0, Vec::new());
    let mut report = |examined| match examined {
        Examined::Items(n) => n_items += n,
        Examined::Found(finding) => findings.push(finding),
    };
    store.examine(mends, &mut report).unwrap();
    (n_items, findings)
}

/// Returns the kinds of the findings, and their places up to a blank.
fn told(findings: &[Finding]) -> Vec<(FindingKind, &str)> {
    let mut told: Vec<_> = findings
        .iter()
        .map(|finding| (finding.kind, finding.place.split_once(' ').map_or(&*finding.place, |place| place.0)))
        .collect();
    told.sort_unstable();
    told.dedup();
    told
}

/// Examines, mends, and examines again: the findings are the expected ones, there are none after
/// the repair, and an examination without repair changes nothing.
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

/// Inserts documents with nothing in common, by every way into the index.
pub(super) fn filled(on: On) -> (Place, Vec<Document>) {
    let place = Place::new(on);
    let store = place.store();
    let documents: Vec<_> = (0..8).map(|n| document(&format!("d{n}"), spread(n))).collect();
    store.insert(&documents[..4]).unwrap();
    store.insert_if_new(&documents[4..], &within(3)).unwrap();
    place.advance(1);
    (place, documents)
}

fn check_all_found(place: &Place, documents: &[Document]) {
    place.check_cells(documents);
    for document in documents {
        assert_eq!(found(&place.store(), document.sketch.fingerprint().0), [document.id.as_str()]);
    }
}

fn get_stored(place: &Place, documents: &[Document]) -> Vec<StoredDocument> {
    let ids: Vec<_> = documents.iter().map(|document| document.id.clone()).collect();
    place.store().get(&ids).unwrap().into_iter().flatten().collect()
}

fn put_cells(place: &Place, document: &Document, timestamp: i64) {
    for (row, column) in cells_of(document) {
        place.hbase.put_raw("t", &row, &column, b"", timestamp);
    }
}

fn cells_that_are_missing(on: On) {
    let (place, documents) = filled(on);
    for (document, n_missing) in [(&documents[0], 1), (&documents[5], 10), (&documents[2], 3)] {
        for (row, _) in cells_of(document).into_iter().take(n_missing) {
            assert!(place.hbase.erase("t", &row));
        }
    }
    // A cell older than its document, once no writer can be about to write it anew.
    let (row, column) = cells_of(&documents[6]).remove(4);
    place.hbase.erase("t", &row);
    place.hbase.put_raw("t", &row, &column, b"", BEGIN - 1);
    let missing = [(FindingKind::Unfiled, "d0"), (FindingKind::Unfiled, "d2"), (FindingKind::Unfiled, "d5")];
    assert_eq!(told(&examine(&place.store(), false).1), missing);
    place.advance(SWEPT_AFTER_MS);
    check(&place, &[&missing[..], &[(FindingKind::Unfiled, "d6")]].concat());
    check_all_found(&place, &documents);
    // Only cells were written.
    assert_eq!(contents(&place.store()), documents);
    assert!(get_stored(&place, &documents).iter().all(|stored| stored.inserted_at.as_ms() == BEGIN));
}

/// Deletes some cells of a document as of now, which hides puts with the document's own timestamp.
pub(super) fn cells_hidden(rows: &dyn Rows, document: &Document, n_cells: usize) {
    let cells = cells_of(document).into_iter().take(n_cells);
    let mutations = cells.map(|(row, column)| Mutation { row, column, value: None }).collect();
    let deletes = Mutations { table: Table::Index, timestamp: BEGIN, time_to_live: None, mutations };
    rows.apply(&deletes).unwrap();
}

/// A delete newer than the document hides each put with the document's timestamp.
fn cells_that_a_delete_hides(on: On) {
    let (place, documents) = filled(on);
    let rows = place.hbase.rows("t", OPTIONS);
    for document in [&documents[1], &documents[7]] {
        cells_hidden(&*rows, document, 10);
        assert_eq!(found(&place.store(), document.sketch.fingerprint().0), [""; 0]);
    }
    check(&place, &[(FindingKind::Unfiled, "d1"), (FindingKind::Unfiled, "d7")]);
    check_all_found(&place, &documents);
    assert_eq!(contents(&place.store()), documents);
    for stored in get_stored(&place, &documents) {
        assert_eq!(stored.inserted_at.as_ms(), BEGIN, "{stored:?}");
    }
    // The new cells are deleted as any others are.
    place.advance(1);
    let ids: Vec<_> = documents.iter().map(|document| document.id.clone()).collect();
    assert_eq!(place.store().remove(&ids).unwrap(), [true; 8]);
    place.check_cells(&[]);
}

fn cells_that_lead_nowhere(on: On) {
    let (place, documents) = filled(on);
    let store = place.store();
    // Never there, removed, there under another sketch; and of an aborted claim.
    store.insert(&[document("gone", spread(50))]).unwrap();
    place.advance(1);
    store.remove(&[id("gone")]).unwrap();
    put_cells(&place, &document("never", spread(51)), BEGIN);
    put_cells(&place, &document("gone", spread(50)), place.hbase.now_ms() + 1);
    put_cells(&place, &document("d3", spread(52)), BEGIN);
    put_cells(&place, &document("d4", spread(4) ^ 1), BEGIN);
    put_claim(&place, "withdrawn", State::Aborted, BEGIN);
    put_cells(&place, &document("withdrawn", spread(60)), BEGIN);
    // The writer may not have written its record yet.
    assert_eq!(examine(&store, true).1, []);
    place.advance(SWEPT_AFTER_MS - 2);
    assert_eq!(examine(&store, true).1, []);
    place.advance(4);
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
    let claim =
        Claim { state, sketch, source: None, text: None, timestamp: BEGIN, ticket, deadline, expires: true };
    let row = document_row(&id(name));
    place.hbase.put_raw("t_docs", &row, b"d:claim", &encode_claim(&claim, &metadata().kind), BEGIN);
    claim
}

fn claims_whose_owners_are_dead(on: On) {
    let (place, documents) = filled(on);
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
    // Their cells lead nowhere now, and keep no other document out.
    place.advance(SWEPT_AFTER_MS);
    check(&place, &[(FindingKind::Ghost, "dead"), (FindingKind::Ghost, "live")]);
    check_all_found(&place, &documents);
    let inserted = place.store().insert_if_new(&[document("dead", spread(60))], &within(3)).unwrap();
    assert_eq!(inserted, [Insertion::Inserted]);
}

/// An examination while a claim is pending whose cells are old already: they are its own.
fn the_cells_of_a_claim_are_its_own(on: On) {
    let (place, _) = filled(on);
    put_claim(&place, "waiting", State::Pending, BEGIN + 2 * SWEPT_AFTER_MS);
    put_cells(&place, &document("waiting", spread(60)), BEGIN);
    place.advance(SWEPT_AFTER_MS + 1);
    assert_eq!(examine(&place.store(), true).1, []);
    assert_eq!(place.cells().len(), 90);
}

/// The remover dies before the record is deleted.
fn removals_that_nobody_has_finished(on: On) {
    let (place, documents) = filled(on);
    let impatient = Options { patience: Duration::ZERO, first_patience: Duration::ZERO, ..OPTIONS };
    place.hbase.fail(Call::Apply, 1, Mishap::Refused);
    place.store_with(impatient).remove(&[id("d2"), id("d5")]).unwrap_err();
    assert_eq!(place.hbase.n_faults(), 0);
    assert_eq!(get(&place.store(), &[id("d2"), id("d5")]), [None, None]);
    // The remover may still be at work.
    place.advance(LEASE_MS + 1);
    assert_eq!(examine(&place.store(), true).1, []);
    place.advance(SWEPT_AFTER_MS);
    // The other one was known from its claim alone: only its cells are left.
    let expected = [(FindingKind::Ghost, "d2"), (FindingKind::Ghost, "d5"), (FindingKind::HalfRemoved, "d2")];
    assert_eq!(told(&examine(&place.store(), false).1), expected);
    assert_eq!(told(&examine(&place.store(), true).1), [expected[1], expected[2]]);
    check(&place, &[]);
    let left: Vec<_> =
        documents.into_iter().filter(|document| !["d2", "d5"].contains(&document.id.as_str())).collect();
    check_all_found(&place, &left);
}

fn what_nobody_of_ours_wrote(on: On) {
    let (place, documents) = filled(on);
    let put = |table, row: &[u8], column: &[u8], value: &[u8]| {
        place.hbase.put_raw(table, row, column, value, BEGIN + 1);
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
    // Other faults are mended all the same.
    put_cells(&place, &document("never", spread(51)), BEGIN);
    let (row, _) = cells_of(&documents[1]).remove(2);
    place.hbase.erase("t", &row);
    let mended = examine(&place.store(), true).1;
    assert!(mended.iter().all(|finding| finding.is_mended != (finding.kind == FindingKind::Damaged)));
    assert_eq!(mended.iter().filter(|finding| finding.is_mended).count(), 11);
    assert_eq!(told(&examine(&place.store(), false).1), told(&findings));
    assert_eq!(found(&place.store(), spread(1)), ["d1"]);
}

hazards! {
    cells_that_are_missing,
    cells_that_a_delete_hides,
    cells_that_lead_nowhere,
    claims_whose_owners_are_dead,
    the_cells_of_a_claim_are_its_own,
    removals_that_nobody_has_finished,
    what_nobody_of_ours_wrote,
}
