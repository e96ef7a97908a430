//! The store in memory passes the suite. Each other store does in its own crate.

use pigeonhole_index::{MemoryStore, testsuite};

#[test]
fn memory() {
    testsuite::check(&|clock| Box::new(MemoryStore::with_clock(clock)));
}

#[test]
fn memory_with_texts() {
    testsuite::check_texts(&|clock| Box::new(MemoryStore::with_clock(clock)));
}
