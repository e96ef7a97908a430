//! A full disk, for this process alone: its files may not grow above a limit.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::processes::{Other, tell};
use super::*;

fn limit_files(bytes: Option<u64>) {
    let limit = Rlimit { current: bytes, ..getrlimit(Resource::Fsize) };
    setrlimit(Resource::Fsize, limit).unwrap();
}

/// For each line of input, fills the store up to this limit in bytes, lifts the limit, and goes on.
pub(super) fn fills(store: &EmbeddedStore, lines: impl Iterator<Item = String>) {
    let mut n = 0;
    for line in lines {
        limit_files(Some(line.parse().unwrap()));
        let before = n;
        let error = loop {
            match call(store, n) {
                Ok(()) => n += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}: {:?}", std::error::Error::source(&error));
        assert!(error.to_string().contains("(ulimit -f)") && error.has_written_nothing(), "{error}");
        // LMDB's own error of a write cut short would mislead.
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("File too large"), "{cause}");
        assert_eq!(store.ready().unwrap_err().kind(), ErrorKind::StorageFull);
        assert!(n > before, "some calls must come through before the disk is full");
        // All acknowledged calls are there, on disk and in the tables, and no others.
        let undisturbed = MemoryStore::new();
        undisturbed.create(&metadata()).unwrap();
        for n in 0..n {
            call(&undisturbed, n).unwrap();
        }
        assert_eq!(Index::digest_of(store).unwrap(), Index::digest_of(&undisturbed).unwrap());
        let sketches: Vec<_> =
            documents(0..10 * (n + 1)).into_iter().map(|document| document.sketch).collect();
        for queries in sketches.chunks(1000) {
            for (found, expected) in store
                .near(queries, &within(3), 100)
                .unwrap()
                .iter()
                .zip(undisturbed.near(queries, &within(3), 100).unwrap())
            {
                assert_eq!(found.matches, expected.matches);
            }
        }
        limit_files(None);
        store.ready().unwrap();
        call(store, n).unwrap();
        call(&undisturbed, n).unwrap();
        assert_eq!(Index::digest_of(store).unwrap(), Index::digest_of(&undisturbed).unwrap());
        n += 1;
        tell(&n.to_string());
    }
}

#[test]
fn a_full_disk_is_an_error_that_loses_nothing() {
    let directory = directory();
    let mut filler = Other::start_ignoring_full_disks("filler", directory.path());
    // At page borders, where the system refuses the write, and within pages, where it cuts the
    // write short.
    let mut n_calls = 0;
    for limit in [200_000, 2 << 17, 300_001, 5 << 16, 400_007, 450_000] {
        filler.say(&limit.to_string());
        n_calls = filler.hear().expect("the filler has found nothing wrong").parse().unwrap();
    }
    filler.finish();
    let store = open(directory.path());
    let undisturbed = MemoryStore::new();
    undisturbed.create(&metadata()).unwrap();
    for n in 0..n_calls {
        call(&undisturbed, n).unwrap();
    }
    assert_eq!(Index::digest_of(&store).unwrap(), Index::digest_of(&undisturbed).unwrap());
}
