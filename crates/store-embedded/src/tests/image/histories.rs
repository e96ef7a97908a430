//! Random histories on a store whose image is written again and again, and which is opened anew:
//! the suite of all stores, and a store without images beside it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use index::testsuite::{self, FakeClock, signed};
use index::{Profile, Retention};
use minhash::Similarity;
use proptest::prelude::*;

use super::super::*;
use super::forget;

const LIMITS: Limits = Limits { image_min: 0, ..SMALL };

/// A store that writes an image after some calls, and forgets its tables after others.
struct Imaging {
    store: EmbeddedStore,
    n_writes: AtomicU64,
    _directory: TempDir,
}

impl Imaging {
    fn written<T>(&self, answer: Result<T>) -> Result<T> {
        let n = spread(self.n_writes.fetch_add(1, Ordering::SeqCst));
        if answer.is_ok() {
            if n.is_multiple_of(3) {
                self.store.write_image(&mut |_| {})?;
            }
            if (n / 3).is_multiple_of(2) {
                forget(&self.store);
            }
        }
        answer
    }
}

impl Store for Imaging {
    fn metadata(&self) -> Result<Option<Metadata>> {
        self.store.metadata()
    }

    fn create(&self, metadata: &Metadata) -> Result<Metadata> {
        self.store.create(metadata)
    }

    fn prepare(&self) -> Result<()> {
        self.store.prepare()
    }

    fn insert(&self, documents: &[Document]) -> Result<Vec<Insertion>> {
        self.written(self.store.insert(documents))
    }

    fn insert_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>> {
        self.written(self.store.insert_if_new(documents, rule))
    }

    fn remove_if(&self, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>> {
        self.written(self.store.remove_if(ids, selection))
    }

    fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        self.store.get(ids)
    }

    fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        self.store.texts(ids)
    }

    fn near(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<Neighbours>> {
        self.store.near(queries, rule, limit)
    }

    fn scan(&self, after: Cursor, limit: usize) -> Result<Page> {
        self.store.scan(after, limit)
    }

    fn status(&self) -> Result<Status> {
        self.store.status()
    }
}

fn opener() -> impl Fn(Clock) -> Box<dyn Store> {
    |clock| {
        let directory = directory();
        let store = EmbeddedStore::open_with(directory.path(), Mode::CreateIfMissing, LIMITS, clock).unwrap();
        Box::new(Imaging { store, n_writes: AtomicU64::new(0), _directory: directory })
    }
}

#[test]
fn the_suite_of_all_stores() {
    testsuite::check(&opener());
}

#[test]
fn the_suite_of_stores_with_texts() {
    testsuite::check_texts(&opener());
}

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<(u8, u8)>),
    InsertIfNew(Vec<(u8, u8)>),
    Remove(Vec<u8>),
    Advance(u8),
    Image,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let documents = || prop::collection::vec((0..20_u8, 0..40_u8), 1..8);
    let step = prop_oneof![
        2 => documents().prop_map(Step::Insert),
        3 => documents().prop_map(Step::InsertIfNew),
        1 => prop::collection::vec(0..20_u8, 1..5).prop_map(Step::Remove),
        1 => any::<u8>().prop_map(Step::Advance),
        2 => Just(Step::Image),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..25)
}

/// A sketch of few that are near to one another: long sets, short ones, and both with simhashes.
fn sketch(kind: &SketchKind, n: u8) -> Sketch {
    let n = u64::from(n);
    let (near, bits) = (n % 5, spread(n % 3) ^ (1 << (n % 11)));
    let sketch = match n / 5 % 4 {
        0 => signed(bits, near..200 + near),
        1 => signed(bits, 4 * near..30),
        2 => signed(None, 1..2 + near),
        _ => signed(bits, near..51 + near),
    };
    kind.sketch(sketch.features().clone())
}

fn run(kind: &SketchKind, min_similarity: Option<Similarity>, retain: bool, steps: &[Step]) {
    let clock = FakeClock::at(1_000_000);
    let metadata = Metadata {
        kind: kind.clone(),
        min_similarity,
        max_distance: kind.max_distance(),
        retain: Retention::from_seconds(100).filter(|_| retain),
        ..metadata()
    };
    let directories = [directory(), directory()];
    let open = |directory: &TempDir| {
        let store =
            EmbeddedStore::open_with(directory.path(), Mode::CreateIfMissing, LIMITS, clock.clock()).unwrap();
        store.create(&metadata).unwrap();
        store
    };
    let plain = open(&directories[0]);
    let imaged = Mutex::new(Some(open(&directories[1])));
    let rule = metadata.rule();
    let filed = |documents: &[(u8, u8)]| -> Vec<Document> {
        let document = |&(id, n): &(u8, u8)| Document { sketch: sketch(kind, n), ..document(id.into()) };
        documents.iter().map(document).collect()
    };
    let queries: Vec<_> = (0..40).map(|n| sketch(kind, n)).collect();
    for step in steps {
        let mut slot = imaged.lock().unwrap();
        let imaged = slot.as_ref().unwrap();
        match step {
            Step::Insert(new) => {
                let new = filed(new);
                assert_eq!(imaged.insert(&new).unwrap(), plain.insert(&new).unwrap());
            }
            Step::InsertIfNew(new) => {
                let new = filed(new);
                assert_eq!(
                    imaged.insert_if_new(&new, &rule).unwrap(),
                    plain.insert_if_new(&new, &rule).unwrap()
                );
            }
            Step::Remove(ids) => {
                let ids: Vec<_> = ids.iter().map(|&id| document(id.into()).id).collect();
                assert_eq!(imaged.remove(&ids).unwrap(), plain.remove(&ids).unwrap());
            }
            Step::Advance(seconds) => clock.advance_ms(500 * i64::from(*seconds)),
            Step::Image => drop(imaged.write_image(&mut |_| {}).unwrap()),
            Step::Reopen => {
                *slot = None;
                *slot = Some(open(&directories[1]));
            }
        }
        let imaged = slot.as_ref().unwrap();
        for limit in [0, 2, 50] {
            let answers = |store: &EmbeddedStore| {
                let found = store.near(&queries, &rule, limit).unwrap().into_iter();
                found.map(|found| (found.matches, found.n_matches)).collect::<Vec<_>>()
            };
            assert_eq!(answers(imaged), answers(&plain), "after {step:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Every kind of index, with a retention and without.
    #[test]
    fn an_image_changes_no_answer(steps in steps(), retain: bool) {
        let similar = Some(Similarity::clamped(0.8));
        for (name, profile, min_similarity) in [
            ("5c2", Profile::Classic, None),
            ("t11", Profile::Classic, None),
            ("5c2", Profile::Minhash, similar),
            ("5c2", Profile::Full, similar),
            ("t8", Profile::Full, similar),
        ] {
            let kind = name.parse::<SketchKind>().unwrap().of_profile(profile).unwrap();
            run(&kind, min_similarity, retain, &steps);
        }
    }
}
