//! The store passes the suite that every store passes.

use std::sync::Mutex;

use index::{Mode, testsuite};
use pigeonhole_store_embedded::EmbeddedStore;
use tempfile::TempDir;

#[test]
fn embedded() {
    let directories: Mutex<Vec<TempDir>> = Mutex::default();
    testsuite::check(&|clock| {
        // In memory where there is such a place, because no test here is about losing power.
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let store = EmbeddedStore::open_with_clock(directory.path(), Mode::CreateIfMissing, clock).unwrap();
        directories.lock().unwrap().push(directory);
        Box::new(store)
    });
}
