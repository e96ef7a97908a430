//! Every store passes the one suite.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use index::testsuite::{self, FakeGateway};
use index::{EmbeddedStore, HbaseStore, MemoryStore, Mode};
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

/// On the fake gateway; the real one is in the package of the tests that need installed programs.
#[test]
fn hbase() {
    let gateway = FakeGateway::start();
    let n_tables = AtomicUsize::new(0);
    testsuite::check(&|| {
        let name = format!("t{}", n_tables.fetch_add(1, Ordering::Relaxed));
        gateway.create_table(&name, &["f"]);
        gateway.create_table(&format!("{name}_docs"), &["d", "m"]);
        Box::new(HbaseStore::new(gateway.address().to_string(), &name, 8))
    });
    assert_eq!(gateway.n_open_scanners(), 0);
}
