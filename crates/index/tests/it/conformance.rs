//! Every store passes the one suite.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use index::testsuite::{self, FakeGateway};
use index::{EmbeddedStore, HbaseStore, MemoryStore, Mode, Store};
use tempfile::TempDir;

#[test]
fn memory() {
    testsuite::check(&|clock| Box::new(MemoryStore::with_clock(clock)));
}

#[test]
fn embedded() {
    let directories: Mutex<Vec<TempDir>> = Mutex::default();
    testsuite::check(&|clock| {
        let directory = crate::directory();
        let store = EmbeddedStore::open_with_clock(directory.path(), Mode::CreateIfMissing, clock).unwrap();
        directories.lock().unwrap().push(directory);
        Box::new(store)
    });
}

/// On the fake gateway; the real one is in the package of the tests that need installed programs.
#[test]
fn hbase() {
    let gateway = FakeGateway::start();
    let n_tables = AtomicUsize::new(0);
    let open = |clock, seconds| -> Box<dyn Store> {
        let name = format!("t{}", n_tables.fetch_add(1, Ordering::Relaxed));
        let documents = format!("{name}_docs");
        gateway.create_table(&name, &["f"]);
        gateway.create_table(&documents, &["d", "m"]);
        gateway.set_time_to_live(&name, "f", seconds);
        gateway.set_time_to_live(&documents, "d", seconds);
        Box::new(HbaseStore::with_clock(gateway.address().to_string(), &name, 8, clock))
    };
    testsuite::check_what_stays(&|clock| open(clock, i32::MAX));
    testsuite::check_retention(&|clock| open(clock, testsuite::RETAIN.as_secs() as i32));
    assert_eq!(gateway.n_open_scanners(), 0);
}
