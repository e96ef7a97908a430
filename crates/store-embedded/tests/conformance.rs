//! The store passes the suite that every store passes.

use std::sync::Mutex;

use index::{Clock, Mode, Store, testsuite};
use pigeonhole_store_embedded::EmbeddedStore;
use tempfile::TempDir;

/// Returns a function that opens stores, each in a directory of its own that lives as long.
fn opener() -> impl Fn(Clock) -> Box<dyn Store> {
    let directories: Mutex<Vec<TempDir>> = Mutex::default();
    move |clock| {
        // In memory, if possible: no test here is about a loss of power.
        let directory =
            tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory");
        let store = EmbeddedStore::open_with_clock(directory.path(), Mode::CreateIfMissing, clock);
        let store = store.expect("a store");
        directories.lock().expect("no test has panicked").push(directory);
        Box::new(store)
    }
}

#[test]
fn embedded() {
    testsuite::check(&opener());
}

#[test]
fn embedded_with_texts() {
    testsuite::check_texts(&opener());
}
