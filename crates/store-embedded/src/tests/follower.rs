//! Tables that follow, compared with tables built anew.

use simhash::Distance;

use super::*;

/// All answers of tables about the documents of a test.
pub(super) fn answers(ram: &Ram) -> Vec<(u64, Distance, Vec<u64>)> {
    let mut answers = Vec::new();
    for n in 0..600 {
        let facets = document(n).sketch.into_facets();
        ram.tables.near(&[&facets[0].1], apart(3), &mut |hit| {
            answers.push((n, hit.distance, hit.numbers.to_vec()));
        });
    }
    answers.sort();
    answers
}

pub(super) fn follow(store: &EmbeddedStore, ram: &mut Option<Ram>, n_changes_max: u64) -> u64 {
    let shared = &store.shared;
    let mut followed = |opened: &Opened| {
        let txn = opened.read_txn()?;
        Ram::follow(ram, opened, &txn, &shared.metadata(opened, &txn)?.kind, &shared.terms, n_changes_max)
    };
    shared.environment.with(&mut followed).unwrap()
}

pub(super) fn last_change(store: &EmbeddedStore) -> u64 {
    snapshot(store, |opened, txn| opened.last_change(txn))
}

/// Followers at different times and in different steps, some further behind than removals are kept,
/// all end with the same tables as a new build.
#[test]
fn following_ends_where_building_does() {
    let directory = directory();
    let store = open(directory.path());
    let mut followers = [(1, 3), (1, 1000), (4, 2), (7, 5), (13, 1), (29, 1000)].map(|how| (how, None));
    for n in 0..60 {
        call(&store, n).unwrap();
        for ((every, step), ram) in &mut followers {
            if n % *every == 0 {
                follow(&store, ram, *step);
            }
        }
    }
    let mut built = None;
    follow(&store, &mut built, 1);
    let built = built.unwrap();
    assert_eq!(built.applied, last_change(&store));
    assert!(!answers(&built).is_empty());
    for ((every, step), mut ram) in followers {
        while follow(&store, &mut ram, step) < last_change(&store) {}
        let ram = ram.unwrap();
        assert_eq!(answers(&ram), answers(&built), "every {every} in steps of {step}");
        assert_eq!(ram.tables.n_postings(), built.tables.n_postings());
    }
}

#[test]
fn removals_are_bounded() {
    let directory = directory();
    let store = open(directory.path());
    for n in 0..40 {
        call(&store, n).unwrap();
        let n_removals = snapshot(&store, |opened, txn| opened.removals.len(txn));
        assert!(n_removals <= SMALL.removals_kept_max, "{n_removals}");
    }
    // Change numbers never go back, not even in an empty store.
    let before = last_change(&store);
    let mut next = Some(Cursor::start());
    while let Some(after) = next {
        let page = store.scan(after, 100).unwrap();
        let ids: Vec<_> = page.documents.into_iter().map(|stored| stored.document.id).collect();
        store.remove(&ids).unwrap();
        next = page.next;
    }
    assert_eq!(store.status().unwrap().n_documents, Some(0));
    assert!(last_change(&store) > before);
    let before = last_change(&store);
    drop(store);
    let store = open(directory.path());
    store.insert(&documents([1])).unwrap();
    assert_eq!(last_change(&store), before + 1);
    assert_found(&store, &documents([1]));
}

/// A write refused by the disk never reaches the tables: here a batch whose second half fails.
#[test]
fn a_failed_batch_leaves_the_tables_alone() {
    let directory = directory();
    let store = open(directory.path());
    store.insert_if_new(&documents(0..10), &within(3)).unwrap();
    let last = last_change(&store);
    let failed: Result<()> = store.shared.write(&store.clock, 3, true, |batch| {
        rule::insert(batch, &document(20), Some(&within(3)))?;
        rule::remove(batch, &document(3).id, &Selection::default())?;
        assert!(matches!(rule::insert(batch, &document(20), Some(&within(3)))?, Insertion::Unchanged));
        Err(Error::new(ErrorKind::Unavailable, "on purpose").into())
    });
    assert_eq!(failed.unwrap_err().to_string(), "on purpose");
    assert_eq!(last_change(&store), last);
    assert_found(&store, &documents(0..10));
    assert_not_found(&store, &documents([20]));
}

/// Inserts as another process would: the tables of this one do not follow. Calls `before_commit`
/// with the lock held.
fn insert_behind(store: &EmbeddedStore, document: &Document, before_commit: impl Fn()) {
    let shared = &store.shared;
    let inserted = shared.environment.with(|opened| {
        let mut txn = opened.write_txn()?;
        let metadata = shared.metadata(opened, &txn)?;
        let mut batch = Batch::new(opened, &mut txn, metadata, None, &store.shared.texts, &store.clock)?;
        let inserted = rule::insert(&mut batch, document, None)?;
        before_commit();
        txn.commit()?;
        Ok(inserted)
    });
    assert_eq!(inserted.unwrap(), Insertion::Inserted);
}

/// A writer catches up before it waits for the lock; commits during the wait must count all the
/// same.
#[test]
fn a_writer_sees_what_was_committed_while_it_waited() {
    let directory = directory();
    let store = open(directory.path());
    store.prepare().unwrap();
    insert_behind(&store, &document(1), || {});
    let applied = || store.shared.ram.read().unwrap().as_ref().unwrap().applied;
    assert_eq!(applied(), 0);
    let (kept, near_kept) = (document(2), Document { id: document(3).id, ..document(2) });
    std::thread::scope(|scope| {
        insert_behind(&store, &kept, || {
            let late = scope.spawn(|| {
                let Insertion::Duplicate(of) =
                    store.insert_if_new(std::slice::from_ref(&near_kept), &within(3)).unwrap().remove(0)
                else {
                    panic!("the document committed meanwhile is not seen");
                };
                assert_eq!(of.id, kept.id);
            });
            // The writer has caught up with the first document, and cannot have seen the second.
            while applied() == 0 && !late.is_finished() {
                std::hint::spin_loop();
            }
        });
    });
}
