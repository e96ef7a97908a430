//! Files that are removed, moved, replaced or truncated under an open store.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use heed::MdbError;

use super::super::errors::Failure;
use super::super::pages;
use super::*;

fn kind<T>(answer: Result<T>) -> Option<ErrorKind> {
    answer.err().map(|error| error.kind())
}

/// The errors of all calls: reads, writes and the check for readiness.
fn kinds(store: &EmbeddedStore) -> [Option<ErrorKind>; 8] {
    [
        kind(store.write_image(&mut |_| {})),
        kind(store.insert(&documents([2]))),
        kind(store.insert_if_new(&documents([3]), &within(3))),
        kind(store.remove(&[document(1).id])),
        kind(store.get(&[document(1).id])),
        kind(store.near(&[document(1).sketch], &within(3), 1)),
        kind(store.scan(Cursor::start(), 1)),
        kind(store.ready()),
    ]
}

/// Copies a directory, as one restores a backup.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for name in ["data.mdb", "lock.mdb"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

/// Regression: writes were acknowledged into a directory that the next process did not find.
#[test]
fn nothing_is_acknowledged_in_files_that_are_not_in_their_place() {
    type Mishap = fn(&Path, &Path);
    let mishaps: [(&str, Mishap); _] = [
        ("removed", |path, _| fs::remove_dir_all(path).unwrap()),
        ("moved", |path, aside| fs::rename(path, aside).unwrap()),
        ("moved, and a backup restored", |path, aside| {
            fs::rename(path, aside).unwrap();
            copy(aside, path);
        }),
        ("moved, and an empty one made", |path, aside| {
            fs::rename(path, aside).unwrap();
            fs::create_dir(path).unwrap();
        }),
        ("data.mdb removed", |path, _| fs::remove_file(path.join("data.mdb")).unwrap()),
        ("data.mdb replaced", |path, aside| {
            fs::copy(path.join("data.mdb"), aside).unwrap();
            fs::rename(aside, path.join("data.mdb")).unwrap();
        }),
        ("lock.mdb removed", |path, _| fs::remove_file(path.join("lock.mdb")).unwrap()),
        ("lock.mdb replaced", |path, aside| {
            fs::copy(path.join("lock.mdb"), aside).unwrap();
            fs::rename(aside, path.join("lock.mdb")).unwrap();
        }),
    ];
    for (what, mishap) in mishaps {
        let folder = directory();
        let (path, aside) = (folder.path().join("index"), folder.path().join("aside"));
        let store = open(&path);
        store.insert(&documents([1])).unwrap();
        store.ready().unwrap();
        mishap(&path, &aside);
        assert_eq!(kinds(&store), [Some(ErrorKind::NotFound); 8], "{what}");
        if what == "moved" {
            fs::rename(&aside, &path).unwrap();
            assert_eq!(kinds(&store), [None; 8], "moved back");
            assert_found(&store, &documents([2]));
        }
    }
}

/// The directory moves after the check before the batch.
#[test]
fn a_directory_that_is_moved_during_a_batch() {
    let folder = directory();
    let (path, aside) = (folder.path().join("index"), folder.path().join("aside"));
    let store = open(&path);
    let answer = store.shared.write(&Clock::system(), 1, false, |batch| {
        let insertion = rule::insert(batch, &document(1), None)?;
        fs::rename(&path, &aside).unwrap();
        Ok(insertion)
    });
    assert_eq!(kind(answer), Some(ErrorKind::NotFound));
    // The map does not grow into another file either.
    fs::rename(&aside, &path).unwrap();
    let answer: Result<()> = store.shared.environment.with(|_| {
        if path.exists() {
            fs::rename(&path, &aside).unwrap();
            copy(&aside, &path.with_extension("new"));
            fs::rename(path.with_extension("new"), &path).unwrap();
        }
        Err(Failure::Lmdb(heed::Error::Mdb(MdbError::MapFull)))
    });
    assert_eq!(kind(answer), Some(ErrorKind::NotFound));
    fs::remove_dir_all(&path).unwrap();
    fs::rename(&aside, &path).unwrap();
    assert_eq!(kinds(&store), [None; 8]);
}

/// `cp backup/data.mdb index/`: the same file, with other content.
#[test]
fn an_older_content_in_the_same_file() {
    let folder = directory();
    let (path, backup) = (folder.path().join("index"), folder.path().join("backup"));
    let store = open(&path);
    store.insert(&documents([1])).unwrap();
    copy(&path, &backup);
    store.insert(&documents([2])).unwrap();
    // Of equal length, so the length does not give it away.
    let len = fs::metadata(path.join("data.mdb")).unwrap().len();
    File::options().write(true).open(backup.join("data.mdb")).unwrap().set_len(len).unwrap();
    fs::copy(backup.join("data.mdb"), path.join("data.mdb")).unwrap();
    assert_eq!(kinds(&store), [Some(ErrorKind::NotFound); 8]);
    drop(store);
    assert_found(&open(&path), &documents([1]));
    assert_not_found(&open(&path), &documents([2]));
}

/// Regression: an access to a page beyond the end of the file killed the process by SIGBUS.
#[test]
fn a_truncated_file_is_an_error_at_every_length() {
    const N_LENGTHS: u64 = 49;
    let folder = directory();
    let whole = folder.path().join("whole");
    let store = open(&whole);
    for batch in documents(0..3_000).chunks(500) {
        store.insert_if_new(batch, &within(3)).unwrap();
    }
    let digest = Index::digest_of(&store).unwrap();
    drop(store);
    let len = fs::metadata(whole.join("data.mdb")).unwrap().len();
    let truncate = |path: &Path, len| {
        File::options().write(true).open(path.join("data.mdb")).unwrap().set_len(len).unwrap();
    };
    let lengths = (0..N_LENGTHS).map(|n| len * n / N_LENGTHS).chain([1, 4095, 4096, 8191, 8192, len - 1]);
    let mut n_corrupt = 0;
    for cut in lengths {
        let path = folder.path().join("cut");
        copy(&whole, &path);
        truncate(&path, cut);
        match EmbeddedStore::open_with(&path, Mode::MustExist, SMALL, Clock::system()) {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{cut} of {len}: {error}");
                n_corrupt += 1;
            }
            // An empty file is an index not begun yet.
            Ok(store) if cut == 0 => assert_eq!(store.metadata().unwrap(), None),
            // Only free pages are missing.
            Ok(store) => assert_eq!(Index::digest_of(&store).unwrap(), digest, "{cut} of {len}"),
        }
        fs::remove_dir_all(&path).unwrap();

        copy(&whole, &path);
        let store = open(&path);
        assert_found(&store, &documents([1]));
        truncate(&path, cut);
        assert_eq!(kinds(&store), [Some(ErrorKind::Corrupt); 8], "{cut} of {len}");
        drop(store);
        fs::remove_dir_all(&path).unwrap();
    }
    assert!(n_corrupt > N_LENGTHS * 3 / 4, "{n_corrupt} of {N_LENGTHS}");
}

/// Regression: the first call that asks for the image, or makes its database, read the root pages
/// without a look at the file.
#[test]
fn a_truncated_file_is_an_error_in_every_first_call() {
    type Call = fn(&EmbeddedStore) -> Result<()>;
    let calls: [(&str, Call); _] = [
        ("insert_if_new", |store| store.insert_if_new(&documents([3]), &within(3)).map(drop)),
        ("near", |store| store.near(&[document(1).sketch], &within(3), 1).map(drop)),
        ("prepare", |store| store.prepare()),
        ("write_image", |store| store.write_image(&mut |_| {}).map(drop)),
        ("examine", |store| store.examine(true, &mut |_| {})),
        ("status", |store| store.status().map(drop)),
        ("make_image", |store| store.shared.environment.with(Opened::make_image)),
        ("look_through", |store| store.shared.environment.with(Opened::look_through)),
    ];
    for (what, call) in calls {
        let folder = directory();
        open(folder.path()).insert(&documents(1..10)).unwrap();
        let limits = Limits { looked_through_max: 0, ..SMALL };
        let store =
            EmbeddedStore::open_with(folder.path(), Mode::MustExist, limits, Clock::system()).unwrap();
        File::options().write(true).open(folder.path().join("data.mdb")).unwrap().set_len(0).unwrap();
        assert_eq!(kind(call(&store)), Some(ErrorKind::Corrupt), "{what}");
    }
}

/// Regression: LMDB makes its lock file with holes, and a full disk killed the process that first
/// wrote into one.
#[test]
fn the_lock_file_has_its_room_before_it_is_mapped() {
    let folder = directory();
    let path = folder.path().join("index");
    drop(open(&path));
    let lock = path.join("lock.mdb");
    let len = fs::metadata(&lock).unwrap().len();
    let probe = File::create(folder.path().join("probe")).unwrap();
    if rustix::fs::fallocate(&probe, rustix::fs::FallocateFlags::KEEP_SIZE, 0, len).is_err() {
        return;
    }
    let assert_whole = |what| {
        let metadata = fs::metadata(&lock).unwrap();
        assert_eq!(metadata.len(), len, "{what}");
        assert!(metadata.blocks() * 512 >= len, "{what}: {} blocks of {len} bytes", metadata.blocks());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{what}");
    };
    assert_whole("new");
    // As programs made it before, or a copy that leaves out zeros.
    let set_len = |len| File::options().write(true).open(&lock).unwrap().set_len(len).unwrap();
    set_len(4096);
    set_len(len);
    drop(open(&path));
    assert_whole("with holes");
    set_len(4096);
    drop(open(&path));
    assert_whole("cut");
    fs::remove_file(&lock).unwrap();
    let store = open(&path);
    assert_whole("removed");
    // The locks of this process hold: another process is no exclusive one.
    let mut writer = processes::Other::start("inserter", &path);
    writer.say("1..9");
    assert_eq!(writer.hear().as_deref(), Some("done"));
    assert_found(&store, &documents(1..9));
    writer.finish();
}

/// Another process made the file longer before it was truncated: this process has not seen the file
/// longer than it is now.
#[test]
fn a_file_that_others_have_lengthened_and_that_was_truncated() {
    let folder = directory();
    let store = open(folder.path());
    store.insert(&documents([1])).unwrap();
    let len = fs::metadata(folder.path().join("data.mdb")).unwrap().len();
    let mut writer = processes::Other::start("inserter", folder.path());
    writer.say("100..1000");
    assert_eq!(writer.hear().as_deref(), Some("done"));
    writer.finish();
    File::options().write(true).open(folder.path().join("data.mdb")).unwrap().set_len(len).unwrap();
    assert_eq!(kinds(&store), [Some(ErrorKind::Corrupt); 8]);
}

/// Pages taken and given back in one transaction have numbers and are never written. Their absence
/// is not damage.
#[test]
fn a_file_that_is_short_of_free_pages_only() {
    let folder = directory();
    let store = open(folder.path());
    store.insert(&documents(0..100)).unwrap();
    let lengths = |store: &EmbeddedStore| {
        let data = File::open(folder.path().join("data.mdb")).unwrap();
        let extent = pages::extent(&data).unwrap().unwrap();
        let last = snapshot(store, |opened, _| Ok(opened.env().info().last_page_number as u64));
        assert_eq!(extent.n_bytes_numbered, (last + 1) * extent.page_bytes);
        (extent.n_bytes, extent.n_bytes_numbered)
    };
    // Not by the store's own commit, which lengthens the file.
    store
        .shared
        .environment
        .with(|opened| {
            let mut txn = opened.env().write_txn()?;
            for number in 1_000..1_020 {
                opened.log.put(&mut txn, &number, &[7; 10_000])?;
            }
            for number in 1_000..1_020 {
                opened.log.delete(&mut txn, &number)?;
            }
            Ok(txn.commit()?)
        })
        .unwrap();
    let (n_bytes, n_bytes_numbered) = lengths(&store);
    assert!(n_bytes < n_bytes_numbered, "{n_bytes} {n_bytes_numbered}");
    store.ready().unwrap();
    assert_found(&store, &documents(0..100));
    drop(store);
    let store = open(folder.path());
    assert_found(&store, &documents(0..100));
    store.insert(&documents([200])).unwrap();
    let (n_bytes, n_bytes_numbered) = lengths(&store);
    assert!(n_bytes >= n_bytes_numbered, "{n_bytes} {n_bytes_numbered}");
    assert_found(&store, &documents((0..100).chain([200])));
}

#[test]
fn a_new_directory_is_for_its_owner_only() {
    let folder = directory();
    let path = folder.path().join("in").join("index");
    drop(open(&path));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    assert_eq!((mode(&path.join("data.mdb")), mode(&path.join("lock.mdb"))), (0o600, 0o600));
    // The mode of an existing directory stays as its owner set it.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    drop(open(&path));
    assert_eq!(mode(&path), 0o755);
}

/// Regression: only the lock of an index was left, or its file was cut to nothing, and the next run
/// began a new index there.
#[test]
fn a_directory_that_has_held_an_index_is_never_a_new_one() {
    type Mishap = fn(&Path);
    let mishaps: [(&str, Mishap); _] = [
        ("is gone", |path| fs::remove_file(path).unwrap()),
        ("is empty", |path| fs::write(path, "").unwrap()),
    ];
    for (what, mishap) in mishaps {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let store = EmbeddedStore::open(&path, Mode::CreateIfMissing).unwrap();
        store.create(&metadata()).unwrap();
        store.insert(&documents([1])).unwrap();
        drop(store);
        mishap(&path.join("data.mdb"));
        for _ in 0..2 {
            let refused = EmbeddedStore::open(&path, Mode::CreateIfMissing).map(drop).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Corrupt);
            assert!(refused.to_string().contains(&format!("its data.mdb {what}")), "{refused}");
        }
        // An emptied directory is new.
        for name in ["data.mdb", "lock.mdb"] {
            if let Err(error) = fs::remove_file(path.join(name)) {
                assert_eq!(error.kind(), io::ErrorKind::NotFound);
            }
        }
        drop(EmbeddedStore::open(&path, Mode::CreateIfMissing).unwrap());
    }
    // A killed creator has written nothing.
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("lock.mdb"), [0; 8192]).unwrap();
    fs::write(folder.path().join("data.mdb"), "").unwrap();
    drop(EmbeddedStore::open(folder.path(), Mode::CreateIfMissing).unwrap());
}
