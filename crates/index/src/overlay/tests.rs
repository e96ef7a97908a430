use std::sync::{Arc, Mutex};

use super::*;
use crate::testsuite::{self, FakeClock, apart, document, id, sketch, within};
use crate::{Index, MemoryStore, OpenOptions, Retention};

/// A base to which the test keeps a handle.
#[derive(Clone)]
struct Base(Arc<MemoryStore>);

impl Deref for Base {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// A store whose first writes go to a base, and later ones to an overlay over the base.
struct Halves {
    base: Base,
    overlay: Overlay<Base>,
    n_for_base: Mutex<usize>,
}

impl Halves {
    fn new(n_for_base: usize, clock: Clock) -> Self {
        let base = Base(Arc::new(MemoryStore::with_clock(clock.clone())));
        let overlay = Overlay::with_clock(base.clone(), clock);
        Self { base, overlay, n_for_base: Mutex::new(n_for_base) }
    }

    fn write<T>(&self, work: impl FnOnce(&dyn Store) -> Result<T>) -> Result<T> {
        let mut n_for_base = self.n_for_base.lock().unwrap();
        if *n_for_base == 0 {
            let before = Index::digest_of(&*self.base).ok();
            let answer = work(&self.overlay);
            assert_eq!(Index::digest_of(&*self.base).ok(), before, "an overlay only reads");
            return answer;
        }
        *n_for_base -= 1;
        work(&*self.base)
    }
}

impl Store for Halves {
    fn metadata(&self) -> Result<Option<Metadata>> {
        self.overlay.metadata()
    }

    fn create(&self, metadata: &Metadata) -> Result<Metadata> {
        self.write(|store| store.create(metadata))
    }

    fn prepare(&self) -> Result<()> {
        self.overlay.prepare()
    }

    fn insert(&self, documents: &[Document]) -> Result<Vec<Insertion>> {
        self.write(|store| store.insert(documents))
    }

    fn insert_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>> {
        self.write(|store| store.insert_if_new(documents, rule))
    }

    fn remove_if(&self, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>> {
        self.write(|store| store.remove_if(ids, selection))
    }

    fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        self.overlay.get(ids)
    }

    fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        self.overlay.texts(ids)
    }

    fn near(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<Neighbours>> {
        self.overlay.near(queries, rule, limit)
    }

    fn scan(&self, after: Cursor, limit: usize) -> Result<Page> {
        self.overlay.scan(after, limit)
    }

    fn status(&self) -> Result<Status> {
        self.overlay.status()
    }
}

/// Runs the whole suite over a base without an index, an empty one, and some with the first
/// documents.
#[test]
fn an_overlay_passes_the_suite() {
    for n_for_base in [0, 1, 2, 3, 8, 40] {
        testsuite::check(&|clock| Box::new(Halves::new(n_for_base, clock)));
        testsuite::check_texts(&|clock| Box::new(Halves::new(n_for_base, clock)));
    }
}

/// Hidden documents are neither found nor counted nor in the way, however many there are.
#[test]
fn what_is_hidden_takes_no_place_among_the_nearest() {
    let halves = Halves::new(2, Clock::system());
    halves.create(&OpenOptions::default().new_metadata().unwrap()).unwrap();
    let all: Vec<_> = (0..30).map(|n| document(&format!("{n:02}"), u64::from(n == 29))).collect();
    halves.insert(&all).unwrap();
    let ids: Vec<_> = all[..28].iter().map(|document| document.id.clone()).collect();
    assert_eq!(halves.remove(&ids[..20]).unwrap(), [true; 20]);
    let moved: Vec<_> = ids[20..].iter().map(|id| document(id.as_str(), !0)).collect();
    assert_eq!(halves.insert(&moved).unwrap(), [const { Insertion::Replaced }; 8]);
    let found = halves.near(&[sketch(0), sketch(!0)], &within(3), 1).unwrap();
    assert_eq!((found[0].matches[0].id.clone(), found[0].n_matches), (id("28"), 2));
    assert_eq!((found[1].matches[0].id.clone(), found[1].n_matches), (id("20"), 8));
    let near = halves.insert_if_new(&[document("28", 1 << 9), document("new", 0)], &within(1)).unwrap();
    let duplicate = |of: &str, bits: u64, distance: u32| {
        Insertion::Duplicate(Match::new(
            id(of),
            sketch(bits).fingerprint(),
            crate::Nearness::by_distance(apart(distance)),
        ))
    };
    assert_eq!(near, [Insertion::Replaced, duplicate("28", 1 << 9, 1)]);
    assert_eq!(halves.status().unwrap().n_documents, Some(10));
    assert_eq!(halves.base.status().unwrap().n_documents, Some(30));
}

/// An id written to the base later by another process, or visible again by a clock turned back, is
/// not there twice.
#[test]
fn an_id_is_there_once() {
    let clock = FakeClock::at(1_000_000_000);
    let base = Base(Arc::new(MemoryStore::with_clock(clock.clock())));
    let retain = Retention::from_seconds(60);
    let metadata = Metadata { retain, ..OpenOptions::default().new_metadata().unwrap() };
    base.create(&metadata).unwrap();
    base.insert(&[document("expired", 0)]).unwrap();
    clock.advance_ms(60_000);
    let overlay = Overlay::with_clock(base.clone(), clock.clock());
    let written = [document("expired", 1), document("later", 1)];
    assert_eq!(overlay.insert(&written).unwrap(), [const { Insertion::Inserted }; 2]);
    base.insert(&[document("later", 0)]).unwrap();
    for turned_ms in [0, -1_000] {
        clock.advance_ms(turned_ms);
        let found = overlay.near(&[sketch(0)], &within(3), 10).unwrap().remove(0).matches;
        assert!(
            found
                .iter()
                .map(|found| (found.id.as_str(), found.distance()))
                .eq([("expired", apart(1)), ("later", apart(1))])
        );
        let page = overlay.scan(Cursor::start(), 10).unwrap();
        assert!(page.documents.into_iter().map(|stored| stored.document).eq(written.clone()));
        assert_eq!(testsuite::get(&overlay, &[id("expired"), id("later")]), written.clone().map(Some));
    }
}

/// One call for many documents answers as single calls do, each after a removal of its id.
#[test]
fn what_is_replaced_neither_counts_nor_stays() {
    let mut state = 11_u64;
    let mut random = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let (rule, mut n_answers) = (within(3), [0; 4]);
    for _ in 0..200 {
        // Few ids and narrow clusters, so documents are near to old versions about to be replaced.
        let mut some = |n: usize| -> Vec<Document> {
            let mut ids: Vec<u64> = (0..12).collect();
            let document = |_| {
                let id = ids.swap_remove(random(ids.len() as u64) as usize);
                let centre = random(3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let bits = (0..random(4)).fold(centre, |bits, _| bits ^ 1 << random(6));
                document(&format!("{id:02}"), bits)
            };
            (0..n).map(document).collect()
        };
        let (before, calls) = (some(8), [some(5), some(12), some(5)]);
        let [base, one_by_one] = [(); 2].map(|()| {
            let store = MemoryStore::with_clock(Clock::system());
            store.create(&OpenOptions::default().new_metadata().unwrap()).unwrap();
            store.insert(&before).unwrap();
            store
        });
        let overlay = Overlay::new(&base as &dyn Store);
        for documents in calls {
            let answers = overlay.replace_if_new(&documents, &rule).unwrap();
            for (document, answer) in documents.iter().zip(answers) {
                let old = testsuite::get(&one_by_one, std::slice::from_ref(&document.id)).remove(0);
                one_by_one.remove(std::slice::from_ref(&document.id)).unwrap();
                let expected =
                    one_by_one.insert_if_new(std::slice::from_ref(document), &rule).unwrap().remove(0);
                let (expected, n) = match (expected, old) {
                    (Insertion::Inserted, Some(old)) if old.sketch == document.sketch => {
                        (Insertion::Unchanged, 0)
                    }
                    (Insertion::Inserted, Some(_)) => (Insertion::Replaced, 1),
                    (Insertion::Inserted, None) => (Insertion::Inserted, 2),
                    (duplicate, _) => (duplicate, 3),
                };
                n_answers[n] += 1;
                assert_eq!(answer, expected);
            }
            assert_eq!(Index::digest_of(&overlay).unwrap(), Index::digest_of(&one_by_one).unwrap());
        }
        assert_eq!(base.status().unwrap().n_documents, Some(before.len() as u64), "an overlay only reads");
    }
    assert!(n_answers.iter().all(|&n| n > 20), "{n_answers:?}");
}
