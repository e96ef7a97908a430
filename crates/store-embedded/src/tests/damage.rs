//! Damage to the stored bytes.

use super::*;

/// Changes the databases behind the store's back.
pub(super) fn meddle(
    store: &EmbeddedStore,
    with: impl Fn(&Opened, &mut heed::RwTxn<'_>) -> heed::Result<()>,
) {
    let environment = &store.shared.environment;
    environment
        .with(|opened| {
            let mut txn = opened.write_txn()?;
            with(opened, &mut txn)?;
            txn.commit()
        })
        .unwrap();
}

fn corrupt<T>(answer: Result<T>) {
    assert_eq!(answer.err().map(|error| error.kind()), Some(ErrorKind::Corrupt));
}

/// Each byte of a record is changed, and the record read in every way.
#[test]
fn a_changed_byte_of_a_record_is_never_an_answer() {
    let directory = directory();
    let store = open(directory.path());
    store.insert(&documents([1])).unwrap();
    let record =
        |opened: &Opened, txn: &RoTxn<'_>| opened.log.get(txn, &1).map(|bytes| bytes.unwrap().to_vec());
    let len = snapshot(&store, record).len();
    for position in 0..len {
        let flip = |opened: &Opened, txn: &mut heed::RwTxn<'_>| {
            let mut bytes = record(opened, txn)?;
            bytes[position] ^= 0x10;
            opened.log.put(txn, &1, &bytes)
        };
        meddle(&store, flip);
        *store.shared.ram.write().unwrap() = None;
        corrupt(store.get(&[document(1).id]));
        corrupt(store.scan(Cursor::start(), 1));
        corrupt(store.near(&[document(1).sketch], &within(3), 1));
        corrupt(store.insert(&documents([1])));
        corrupt(store.insert_if_new(&documents([2]), &within(3)));
        meddle(&store, flip);
    }
    assert_found(&store, &documents([1]));
}

/// A sound file was refused: LMDB writes the list of free pages in place when it becomes shorter.
#[test]
fn free_pages_are_taken_one_after_another() {
    let directory = directory();
    let store = open(directory.path());
    let data = std::fs::File::open(directory.path().join("data.mdb")).unwrap();
    let value = vec![7; 9_000];
    meddle(&store, |opened, txn| (1..=4_000).try_for_each(|n| opened.log.put(txn, &n, &value)));
    meddle(&store, |opened, txn| opened.log.clear(txn));
    for n in 1..300 {
        meddle(&store, |opened, txn| opened.log.put(txn, &n, &value));
        let check = |txn: &RoTxn<'_>| pages::check(&data, txn.id() as u64, pages::Pages::Branches);
        assert!(snapshot(&store, |_, txn| Ok(check(txn))).unwrap(), "{n}");
    }
}

#[test]
fn an_id_that_leads_nowhere_or_elsewhere() {
    let directory = directory();
    let store = open(directory.path());
    store.insert(&documents([1, 2])).unwrap();
    for number in [2, 77] {
        meddle(&store, |opened, txn| opened.ids.put(txn, document(1).id.as_str().as_bytes(), &number));
        corrupt(store.get(&[document(1).id]));
        corrupt(store.remove(&[document(1).id]));
    }
}

#[test]
fn damaged_metadata_and_a_damaged_floor() {
    let directory = directory();
    let store = open(directory.path());
    store.insert(&documents([1])).unwrap();
    meddle(&store, |opened, txn| opened.meta.put(txn, ram::REMOVALS_FLOOR_KEY, b"12345678abcd"));
    corrupt(store.near(&[document(1).sketch], &within(3), 1));
    meddle(&store, |opened, txn| opened.meta.put(txn, METADATA_KEY, b"{}"));
    corrupt(store.metadata());
    corrupt(store.create(&metadata()));
    drop(store);
    let store = EmbeddedStore::open(directory.path(), Mode::MustExist).unwrap();
    corrupt(Index::over(Box::new(store), &OpenOptions::default()));
}

#[test]
fn a_file_that_is_not_lmdb() {
    let directory = directory();
    std::fs::write(directory.path().join("data.mdb"), vec![7; 100_000]).unwrap();
    corrupt(EmbeddedStore::open(directory.path(), Mode::CreateIfMissing));
}

#[test]
fn another_programs_lmdb_is_left_alone() {
    let directory = directory();
    let env = environment::open_env(directory.path(), None).unwrap();
    let txn = env.write_txn().unwrap();
    let made = env.create_databases_and_commit(txn, |opener, txn| {
        let other = opener.create_database::<heed::types::Bytes, heed::types::Bytes>(txn, Some("other"))?;
        Ok::<_, heed::Error>(heed::CommitOrAbort::<_, ()>::Commit(other))
    });
    made.unwrap();
    drop(env);
    let refused = EmbeddedStore::open(directory.path(), Mode::CreateIfMissing);
    assert_eq!(refused.err().map(|error| error.kind()), Some(ErrorKind::InvalidArgument));
}
