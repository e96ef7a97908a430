//! The store and its scripts on a real Redis, where `PIGEONHOLE_TESTS` names `redis`. The programs'
//! own tests cover their use of the store.

mod arithmetic;
mod cluster;
mod copies;
mod server;
mod signed;
mod texts;
mod waits;

use std::sync::atomic::{AtomicUsize, Ordering};

use index::testsuite;

use crate::server::server;

#[test]
fn redis_conformance() {
    let Some(server) = server() else { return };
    let n_opened = AtomicUsize::new(0);
    testsuite::check(&|clock| {
        let n = n_opened.fetch_add(1, Ordering::Relaxed);
        Box::new(server.open(&format!("suite-{n}"), clock))
    });
}

#[test]
fn redis_conformance_with_texts() {
    let Some(server) = server() else { return };
    let n_opened = AtomicUsize::new(0);
    testsuite::check_texts(&|clock| {
        let n = n_opened.fetch_add(1, Ordering::Relaxed);
        Box::new(server.open(&format!("suite-{n}"), clock))
    });
}
