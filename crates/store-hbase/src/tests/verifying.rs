//! An index that files by simhashes and by signatures, and verifies: its rows of every kind where
//! requests fail, others are in between, or cells lead nowhere.

use index::testsuite::signed;
use index::{Examined, Family, Features, FindingKind, Index, NewDocument, Rule};
use minhash::FilingScheme;
use simhash::RowKey;

use super::super::bulk::BulkLoad;
use super::super::layout::index_column;
use super::super::meet::SWEPT_AFTER;
use super::super::write::LINGER;
use super::between::{Between, store_of_the_patient, store_with};
use super::examine::examine;
use super::*;

const SWEPT_AFTER_MS: i64 = SWEPT_AFTER.as_millis() as i64;

fn verifying() -> Metadata {
    metadata_of(&OpenOptions::default())
}

fn rule() -> Rule {
    verifying().rule()
}

fn text(name: &str, sketch: Sketch) -> Document {
    Document { id: id(name), sketch, source: None }
}

/// Returns texts with nothing in common: long ones, short ones, and some of symbols, which have no
/// simhash.
fn texts() -> Vec<Document> {
    let text_of = |n: u64| {
        let simhash = (!n.is_multiple_of(3)).then(|| spread(n));
        text(&format!("d{n}"), signed(simhash, 1_000 * n..1_000 * n + if n < 4 { 300 } else { 20 }))
    };
    (0..8).map(text_of).collect()
}

fn names_near(store: &dyn Store, query: &Sketch) -> Vec<String> {
    let answer = store.near(std::slice::from_ref(query), &rule(), 100).unwrap().remove(0);
    assert_eq!(answer.n_matches, answer.matches.len() as u64);
    answer.matches.into_iter().map(|found| found.id.as_str().to_owned()).collect()
}

fn check_all_found(place: &Place, documents: &[Document]) {
    place.check_cells(documents);
    for document in documents {
        assert_eq!(names_near(&place.store(), &document.sketch), [document.id.as_str()]);
    }
}

fn put_cells(place: &Place, document: &Document, timestamp: i64) {
    for (row, column) in cells_of(document) {
        place.hbase.put_raw("t", &row, &column, b"", timestamp);
    }
}

fn family_of(row: &[u8]) -> Family {
    let kind = FilingScheme::default().kind_of_flag(RowKey::decode(row).unwrap().flag);
    kind.map_or(Family::Simhash, Family::Set)
}

fn a_row_for_each_key_of_each_facet(on: On) {
    let place = Place::of(on, &verifying());
    let texts = texts();
    place.store().insert(&texts[..4]).unwrap();
    place.store().insert_if_new(&texts[4..], &rule()).unwrap();
    check_all_found(&place, &texts);
    let cells = place.cells();
    let n_of = |family| cells.iter().filter(|(row, _)| family_of(row) == family).count();
    assert_eq!(Family::ALL.map(n_of), [5 * 10, 4 * 16, 4 * 16, 0]);
    // Most of the stored bytes of a long text are its signature.
    let (_, columns) = place.document_rows().remove(0);
    assert!(columns.iter().all(|(_, value, ..)| value.len() < 250), "{columns:?}");
}

/// Filed by simhashes alone: the signatures are in the records only, and confirm the proposals of
/// the simhashes.
fn filed_by_simhashes_and_verified(on: On) {
    let classic = OpenOptions { profile: Some(Profile::Classic), ..OpenOptions::default() };
    let place = Place::of(on, &metadata_of(&classic));
    let kind = metadata().kind;
    let text = |name, simhash, from| {
        text(name, kind.sketch(signed(Some(simhash), from..from + 300).features().clone()))
    };
    let texts = [text("a", 1, 0), text("b", 1, 5_000), text("c", spread(3), 2)];
    let store = place.store();
    assert_eq!(store.insert_if_new(&texts, &rule()).unwrap(), [const { Insertion::Inserted }; 3]);
    check_all_found(&place, &texts);
    assert_eq!(place.cells().len(), 30);
    let near = text("d", 3, 4);
    assert_eq!(names_near(&store, &near.sketch), ["a"]);
    let insertion = store.insert_if_new(&[near], &rule()).unwrap().remove(0);
    assert!(matches!(insertion, Insertion::Duplicate(of) if of.id == id("a") && of.similarity().is_some()));
    assert_eq!(contents(&store), texts);
}

fn cells_of_signatures_that_lead_nowhere(on: On) {
    for timestamp in [BEGIN - 1, BEGIN, BEGIN + 1] {
        let place = Place::of(on, &verifying());
        let store = place.store();
        let asked = signed(0, 0..300);
        let there = [text("near", signed(1, 4..304)), text("far", signed(1, 5_000..5_300))];
        store.insert(&there).unwrap();
        store.insert(&[text("gone", signed(1, 2..302))]).unwrap();
        store.remove(&[id("gone")]).unwrap();
        for name in ["near", "far", "gone", "never"] {
            put_cells(&place, &text(name, asked.clone()), timestamp);
        }
        assert_eq!(names_near(&store, &asked), ["near"]);
        assert_eq!(names_near(&store, &there[1].sketch), ["far"]);
        let new = text("new", signed(1, 5_003..5_303));
        let insertion = store.insert_if_new(&[new], &rule()).unwrap().remove(0);
        assert!(matches!(insertion, Insertion::Duplicate(of) if of.id == id("far")));
    }
}

/// A text that changes while it is searched for, by its simhash, by its signature or by both, is
/// found once.
fn a_text_that_changes_while_it_is_searched_for(on: On) {
    let versions = [
        signed(1, 0..300),
        signed(1, 6..306),
        signed(u64::MAX, 6..306),
        signed(None, 0..300),
        signed(2, 0..300),
    ];
    let query = signed(0, 3..303);
    for (from, to) in (0..5).flat_map(|from| (0..5).map(move |to| (from, to))).filter(|(from, to)| from != to)
    {
        for first in 1..=4_i64 {
            let place = Arc::new(Place::of(on, &verifying()));
            place.store().insert(&[text("moves", versions[from].clone())]).unwrap();
            let (step, inside, next) = (AtomicI64::new(0), Arc::clone(&place), versions[to].clone());
            let between = move || {
                if step.fetch_add(1, Ordering::Relaxed) == first + 1 {
                    inside.advance(1);
                    inside.store().insert(&[text("moves", next.clone())]).unwrap();
                }
            };
            let rows = place.hbase.rows("t", OPTIONS);
            let store = HbaseStore::over(Box::new(Between { rows, between }), Clock::new(|| BEGIN));
            assert_eq!(names_near(&store, &query), ["moves"], "{from} to {to} after request {first}");
        }
    }
}

/// A replaced text keeps only the rows that the new one shares.
fn old_rows_of_every_facet_go(on: On) {
    let place = Place::of(on, &verifying());
    let store = place.store();
    for (n, sketch) in
        [signed(1, 0..300), signed(1, 5..305), signed(2, 5..305), signed(None, 5..25)].into_iter().enumerate()
    {
        place.advance(1);
        let text = text("a", sketch);
        let batch = std::slice::from_ref(&text);
        let insertions = if n % 2 == 1 { store.insert_if_new(batch, &rule()) } else { store.insert(batch) };
        assert_eq!(insertions.unwrap(), [if n == 0 { Insertion::Inserted } else { Insertion::Replaced }]);
        place.advance(LINGER.as_millis() as i64 + 1);
        check_all_found(&place, batch);
    }
    assert_eq!(store.remove(&[id("a")]).unwrap(), [true]);
    place.check_cells(&[]);
}

/// All rows of an aborted claim go, as soon as one of them is met.
fn the_rows_of_a_claim_that_came_to_nothing(on: On) {
    let place = Arc::new(Place::of(on, &verifying()));
    // A claimant has announced and filed, and dies.
    let dead = store_with(&place, 6, |_| panic!("dies here"));
    let lost = text("lost", signed(1, 0..300));
    let dying = std::thread::scope(|scope| {
        scope.spawn(|| dead.insert_if_new(std::slice::from_ref(&lost), &rule()).map(drop)).join()
    });
    assert!(dying.is_err());
    assert_eq!((place.document_rows().len(), place.cells().len()), (1, 26), "announced and filed");
    let kept = text("kept", signed(u64::MAX, 4..304));
    let insertion = store_of_the_patient(&place).insert_if_new(std::slice::from_ref(&kept), &rule()).unwrap();
    assert_eq!(insertion, [Insertion::Inserted]);
    place.advance(SWEPT_AFTER_MS);
    let another = text("another", signed(u64::MAX >> 1, 2..302));
    let insertion = place.store().insert_if_new(&[another], &rule()).unwrap().remove(0);
    assert!(matches!(insertion, Insertion::Duplicate(of) if of.id == id("kept")));
    check_all_found(&place, &[kept]);
}

/// A writer dying at any step of an insertion or a removal leaves nothing that a search finds, and
/// nothing beyond repair.
fn a_death_at_any_step(on: On) {
    let documents = [text("a", signed(5, 0..300)), text("b", signed(None, 700..720))];
    let others = [text("x", signed(u64::MAX, 4..304)), text("y", signed(9, 700..720))];
    let one_at_a_time = Options { n_connections: 1, ..OPTIONS };
    let impatient = Options { patience: Duration::ZERO, first_patience: Duration::ZERO, ..one_at_a_time };
    let session = |place: &Place, options| {
        place.store_with(options).insert_if_new(&documents, &rule())?;
        place.store_with(options).remove(&[id("a")])
    };
    for method in [Call::Apply, Call::Swap] {
        let whole = Place::of(on, &verifying());
        let n_before = whole.hbase.n_calls(method);
        session(&whole, one_at_a_time).unwrap();
        for nth in 1..=whole.hbase.n_calls(method) - n_before {
            for kind in [Mishap::Refused, Mishap::FailedAfter] {
                let context = format!("{method:?} {nth}: {kind:?}");
                let place = Place::of(on, &verifying());
                place.hbase.fail(method, nth, kind);
                let _ = session(&place, impatient);
                assert_eq!(place.hbase.n_faults(), 0, "{context}");
                store_of_the_patient(&place).insert_if_new(&others, &rule()).unwrap();
                // One of each pair.
                for near in [&documents[0], &documents[1]] {
                    assert_eq!(names_near(&place.store(), &near.sketch).len(), 1, "{context}");
                }
                place.advance(HOUR);
                examine(&place.store(), true);
                assert_eq!(examine(&place.store(), true).1, [], "{context}");
                check_all_found(&place, &contents(&place.store()));
            }
        }
    }
}

fn an_examination_knows_every_facet(on: On) {
    let place = Place::of(on, &verifying());
    let store = place.store();
    let texts = texts();
    store.insert(&texts).unwrap();
    place.advance(SWEPT_AFTER_MS + 1);
    assert_eq!(examine(&store, false).1, []);
    // A cell of each facet of each is missing, and another leads nowhere.
    let mut n_lost = 0;
    for document in &texts {
        for (_, facet) in document.sketch.facets() {
            let row = RowKey::new(facet.keys()[3], facet.fingerprint()).encode();
            assert!(place.hbase.erase("t", &row));
            let nowhere = RowKey::new(facet.keys()[4], Fingerprint(!facet.fingerprint().0)).encode();
            place.hbase.put_raw("t", &nowhere, &index_column(&document.id), b"", BEGIN);
            n_lost += 1;
        }
    }
    let count =
        |kind, findings: &[index::Finding]| findings.iter().filter(|found| found.kind == kind).count();
    for mends in [false, true] {
        let (_, findings) = examine(&store, mends);
        assert_eq!(count(FindingKind::Unfiled, &findings), texts.len());
        assert_eq!(count(FindingKind::Ghost, &findings), n_lost);
        assert!(findings.iter().all(|found| found.is_mended == mends));
    }
    let mut n_items = 0;
    store
        .examine(false, &mut |examined| match examined {
            Examined::Items(n) => n_items += n,
            Examined::Found(finding) => panic!("{finding:?}"),
        })
        .unwrap();
    assert_eq!(n_items as usize, texts.len() + place.cells().len());
    check_all_found(&place, &texts);
}

fn a_load_has_what_an_insert_writes(on: On) {
    let (put, loaded) = (Place::of(on, &verifying()), Place::of(on, &verifying()));
    let features = |document: &Document| document.sketch.features().clone();
    let mut new: Vec<_> = texts()
        .iter()
        .map(|text| NewDocument { source: None, ..(text.id.clone(), features(text)).into() })
        .collect();
    new.push((id("nothing"), Features::default()).into());
    new.push(
        (
            id("whole"),
            Features { simhash: None, signature: Some(minhash::Signature::equality(7)), text: None },
        )
            .into(),
    );
    Index::over(Box::new(put.store()), &OpenOptions::default()).unwrap().insert(&new).unwrap();
    let open = || Ok(Box::new(loaded.store()) as Box<dyn Store>);
    let load = BulkLoad::over(loaded.store(), open, &OpenOptions::default()).unwrap();
    for document in new {
        let document = load.document(document);
        for row in BulkLoad::index_rows(&document) {
            loaded.hbase.put_raw("t", &row, &index_column(&document.id), b"", load.timestamp());
        }
        let (_, record) = load.record(&document);
        let row = BulkLoad::document_row(&document.id);
        loaded.hbase.put_raw("t_docs", &row, b"d:record", &record, load.timestamp());
    }
    assert_eq!(put.index_rows(), loaded.index_rows());
    assert_eq!(put.document_rows(), loaded.document_rows());
    assert_eq!(put.document_rows().len(), 10);
    assert!(contents(&loaded.store()) == contents(&put.store()));
}

/// A search reads a bucket for each key, and the records of the candidates once, in however many
/// buckets it met them: they decide, and are the answer.
#[test]
fn what_a_search_costs() {
    let place = gateway::place_of(&verifying());
    let store = place.store();
    let alike: Vec<_> = (0..20).map(|n| text(&format!("{n}"), signed(0, n..n + 300))).collect();
    store.insert(&alike).unwrap();
    let n_calls = |methods: &[&str]| methods.iter().map(|method| place.hbase.n_calls(method)).sum::<u64>();
    let reads = ["getRowsWithColumns", "getRowWithColumns"];
    let counts = || (n_calls(&["scannerOpenWithScan"]), n_calls(&reads));
    let query = std::slice::from_ref(&alike[0].sketch);
    for (rule, n_near) in [(rule(), 20), (within(0), 20), (within(3), 20)] {
        let before = counts();
        let found = store.near_documents(query, &rule, 100).unwrap().remove(0);
        let after = counts();
        assert_eq!((found.documents.len(), found.cost.n_buckets), (n_near, 26));
        assert_eq!((after.0 - before.0, after.1 - before.1), (26, 1));
        assert!(found.cost.n_candidates > 26);
    }
}

hazards! {
    a_row_for_each_key_of_each_facet,
    filed_by_simhashes_and_verified,
    cells_of_signatures_that_lead_nowhere,
    a_text_that_changes_while_it_is_searched_for,
    old_rows_of_every_facet_go,
    the_rows_of_a_claim_that_came_to_nothing,
    a_death_at_any_step,
    an_examination_knows_every_facet,
    a_load_has_what_an_insert_writes,
}
