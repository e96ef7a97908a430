//! Every store passes the one suite.

use std::sync::Mutex;

use index::{EmbeddedStore, MemoryStore, Mode, testsuite};
use tempfile::TempDir;

#[test]
fn memory() {
    testsuite::check(&|| Box::new(MemoryStore::new()));
}

#[test]
fn embedded() {
    let directories: Mutex<Vec<TempDir>> = Mutex::default();
    testsuite::check(&|| {
        let directory = crate::directory();
        let store = EmbeddedStore::open(directory.path(), Mode::CreateIfMissing).unwrap();
        directories.lock().unwrap().push(directory);
        Box::new(store)
    });
}
