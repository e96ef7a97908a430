use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};

use index::{
    Cursor, Document, Error, ErrorKind, Features, Insertion, MemoryStore, Metadata, Neighbours, OpenOptions,
    Page, Profile, Result, Rule, Selection, Sketch, Status, Store, StoredDocument,
};

use super::*;

/// A store with a second writer and a dying caller. The second writer inserts documents each time
/// after the caller has asked for near ones; the caller dies before or after some call.
struct Shared {
    store: MemoryStore,
    others: Mutex<VecDeque<Vec<Document>>>,
    /// Half calls left before the caller dies.
    left: Mutex<usize>,
}

struct Dying(Arc<Shared>);

impl Dying {
    fn call<T>(&self, call: impl FnOnce(&MemoryStore) -> Result<T>) -> Result<T> {
        self.live()?;
        let answer = call(&self.0.store)?;
        self.live()?;
        Ok(answer)
    }

    fn live(&self) -> Result<()> {
        let mut left = self.0.left.lock().unwrap();
        *left = left.checked_sub(1).ok_or_else(|| Error::new(ErrorKind::Unavailable, "killed"))?;
        Ok(())
    }
}

impl Store for Dying {
    fn metadata(&self) -> Result<Option<Metadata>> {
        self.0.store.metadata()
    }

    fn create(&self, metadata: &Metadata) -> Result<Metadata> {
        self.0.store.create(metadata)
    }

    fn prepare(&self) -> Result<()> {
        self.0.store.prepare()
    }

    fn insert(&self, documents: &[Document]) -> Result<Vec<Insertion>> {
        self.call(|store| store.insert(documents))
    }

    fn insert_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>> {
        self.call(|store| store.insert_if_new(documents, rule))
    }

    fn remove_if(&self, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>> {
        self.call(|store| store.remove_if(ids, selection))
    }

    fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        self.0.store.get(ids)
    }

    fn near(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<Neighbours>> {
        let found = self.call(|store| store.near(queries, rule, limit))?;
        if let Some(others) = self.0.others.lock().unwrap().pop_front() {
            self.0.store.insert_if_new(&others, rule)?;
        }
        Ok(found)
    }

    fn scan(&self, after: Cursor, limit: usize) -> Result<Page> {
        self.0.store.scan(after, limit)
    }

    fn status(&self) -> Result<Status> {
        self.0.store.status()
    }
}

/// A fingerprint for a place on a line: within three steps is near, four steps are not. Each
/// further hundred of places is far from the others.
fn at(place: u64) -> Fingerprint {
    Fingerprint((0..place % 100).fold(place / 100 * (0b111 << 60), |bits, bit| bits | 1 << bit))
}

fn id(place: u64) -> DocumentId {
    place.to_string().parse().unwrap()
}

fn index_over(shared: &Arc<Shared>) -> Index {
    let options =
        OpenOptions { profile: Some(Profile::Classic), verify: Some(false), ..OpenOptions::default() };
    Index::over(Box::new(Dying(Arc::clone(shared))), &options).unwrap()
}

/// Decides the places, in two calls, until the caller dies.
fn run(index: &Index, log: &Path, known_ids: KnownIds, places: &[u64]) -> anyhow::Result<Vec<Option<Match>>> {
    let named: Vec<(u64, u64)> = places.iter().map(|&place| (place, place)).collect();
    run_calls(index, log, known_ids, &named.chunks(4).collect::<Vec<_>>())
}

/// Decides documents of some numbers at places, call by call, until the caller dies.
fn run_calls(
    index: &Index,
    log: &Path,
    known_ids: KnownIds,
    decided: &[&[(u64, u64)]],
) -> anyhow::Result<Vec<Option<Match>>> {
    let mut calls = if log.exists() { Calls::open(log, 0)? } else { Calls::create(log)? };
    let mut answers = Vec::new();
    for call in decided {
        let documents: Vec<(DocumentId, Features)> =
            call.iter().map(|&(number, place)| (id(number), at(place).into())).collect();
        let candidates: Vec<_> = documents
            .iter()
            .map(|(id, features)| Candidate { id, features: Some(features), source: None })
            .collect();
        answers.extend(insert_if_new(index, &mut calls, known_ids, &candidates)?);
    }
    Ok(answers)
}

/// Checks all answers: a dropped document is near to a stored one, a kept one is stored, and no two
/// stored ones are near.
fn check(index: &Index, places: &[u64], answers: &[Option<Match>], what: &str) {
    let page = index.scan(Cursor::start(), 100).unwrap();
    let there: BTreeMap<DocumentId, Fingerprint> = page
        .documents
        .into_iter()
        .map(|stored| (stored.document.id.clone(), stored.document.sketch.fingerprint()))
        .collect();
    for (&place, answer) in places.iter().zip(answers) {
        match answer {
            None => assert_eq!(there.get(&id(place)), Some(&at(place)), "{what}: {place} is kept"),
            Some(of) => {
                assert_eq!(
                    there.get(&of.id),
                    Some(&of.fingerprint),
                    "{what}: {place} is dropped for {}",
                    of.id
                );
                assert!(at(place).distance(of.fingerprint).as_bits() <= 3, "{what}: {place}, {}", of.id);
                assert!(!there.contains_key(&id(place)), "{what}: {place} is dropped, and there");
            }
        }
    }
    for (a, at_a) in &there {
        let near = there.iter().filter(|(b, at_b)| *b > a && at_a.distance(**at_b).as_bits() <= 3);
        assert_eq!(near.count(), 0, "{what}: {a} is there, and one near it");
    }
}

/// At each point of death, and while other writers insert the foreseen documents, the next run
/// reaches a valid state.
#[test]
fn killed_at_every_call_among_others() {
    let places = [10, 12, 13, 30, 16, 33, 36, 50];
    let others: [&[u64]; 4] = [&[7, 29], &[112, 39], &[19], &[53]];
    for (known_ids, name) in KnownIds::ALL {
        let mut n_deaths = 0;
        for n_calls in 0.. {
            let folder = tempfile::tempdir().unwrap();
            let log = folder.path().join("calls.log");
            let document = |&place: &u64| Document {
                id: id(place),
                sketch: index::SketchKind::default().sketch(at(place)),
                source: None,
            };
            let others = others.iter().map(|others| others.iter().map(document).collect());
            let shared = Arc::new(Shared {
                store: MemoryStore::new(),
                others: Mutex::new(others.collect()),
                left: Mutex::new(n_calls),
            });
            let index = index_over(&shared);
            let first = run(&index, &log, known_ids, &places);
            *shared.left.lock().unwrap() = usize::MAX;
            let is_whole = first.is_ok();
            n_deaths += usize::from(!is_whole);
            let answers = first.unwrap_or_else(|_| run(&index, &log, known_ids, &places).unwrap());
            check(&index, &places, &answers, &format!("{name}, {n_calls} calls"));
            // Runs once more, as after a death at the very end.
            let again = run(&index, &log, known_ids, &places).unwrap();
            check(&index, &places, &again, &format!("{name}, {n_calls} calls, again"));
            let kept = |answers: &[Option<Match>]| answers.iter().map(Option::is_none).collect::<Vec<_>>();
            assert_eq!(kept(&again), kept(&answers), "{name}, {n_calls} calls");
            if is_whole {
                break;
            }
        }
        assert!(n_deaths >= 10, "{name}: {n_deaths}");
    }
}

/// A document replaced by a later call was once decided anew when its own call was repeated, and
/// dropped for a document that came after both: it was in no result then.
#[test]
fn a_document_that_a_later_call_replaced_stays_kept() {
    let calls: [&[(u64, u64)]; 5] = [&[(1, 10)], &[(2, 12)], &[(1, 50)], &[(3, 13)], &[(4, 30)]];
    let folder = tempfile::tempdir().unwrap();
    let shared = |n_calls| {
        let (others, left) = (Mutex::default(), Mutex::new(n_calls));
        Arc::new(Shared { store: MemoryStore::new(), others, left })
    };
    let unbroken = &shared(usize::MAX);
    let log = folder.path().join("unbroken");
    let expected = run_calls(&index_over(unbroken), &log, KnownIds::Compare, &calls).unwrap();
    let originals: Vec<Option<&str>> =
        expected.iter().map(|near| near.as_ref().map(|near| near.id.as_str())).collect();
    assert_eq!(originals, [None, Some("1"), None, None, None]);
    for n_calls in 0.. {
        let shared = shared(n_calls);
        let (index, log) = (index_over(&shared), folder.path().join(n_calls.to_string()));
        let is_whole = run_calls(&index, &log, KnownIds::Compare, &calls).is_ok();
        *shared.left.lock().unwrap() = usize::MAX;
        let answers = run_calls(&index, &log, KnownIds::Compare, &calls).unwrap();
        assert_eq!(answers, expected, "{n_calls} calls");
        let stored = |index: &Index| index.scan(Cursor::start(), 100).unwrap().documents;
        let sketches = |index: &Index| {
            stored(index).into_iter().map(|stored| stored.document).map(|of| (of.id, of.sketch)).collect()
        };
        let [there, of_unbroken]: [BTreeMap<_, _>; 2] = [&index, &index_over(unbroken)].map(sketches);
        assert_eq!(there, of_unbroken, "{n_calls} calls");
        if is_whole {
            assert!(n_calls >= 15, "{n_calls}");
            break;
        }
    }
}
