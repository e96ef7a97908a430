//! A server that hangs is waited for as long as was said, by however many at once.

use std::thread;
use std::time::{Duration, Instant};

use index::testsuite::{document, id};
use index::{Clock, ErrorKind, Identity, Metadata, OpenOptions, Store};

use crate::server::server;

const PATIENCE: Duration = Duration::from_secs(10);

/// Callers that begin a second after those with connections get one just before their patience
/// ends. They waited as long again for the reply.
#[test]
fn more_callers_than_connections_give_up_together() {
    let Some(server) = server() else { return };
    let metadata = OpenOptions::default().new_metadata().unwrap();
    let metadata = Metadata { identity: Identity::new([1; 16]), ..metadata };
    server.open("waits", Clock::system()).create(&metadata).unwrap();
    let store = server.open_with("waits", PATIENCE);
    store.insert(&[document("a", 1)]).unwrap();
    let n_connections = store.status().unwrap().connections.unwrap().n_max;
    server.signal("STOP");
    let waited: Vec<Duration> = thread::scope(|scope| {
        let call = || {
            let begun = Instant::now();
            let error = store.get(&[id("a")]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            begun.elapsed()
        };
        let mut callers: Vec<_> = (0..n_connections).map(|_| scope.spawn(call)).collect();
        // No wait for a state: by it the patience of the others ends later.
        thread::sleep(Duration::from_secs(1));
        callers.extend((0..24).map(|_| scope.spawn(call)));
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    server.signal("CONT");
    assert!(waited.iter().all(|waited| (PATIENCE..PATIENCE * 3 / 2).contains(waited)), "{waited:?}");
    assert!(store.get(&[id("a")]).unwrap()[0].is_some());
}

/// A check of readiness does not wait as long as a request does.
#[test]
fn a_hanging_server_is_soon_not_ready() {
    let Some(server) = server() else { return };
    let metadata = OpenOptions::default().new_metadata().unwrap();
    let metadata = Metadata { identity: Identity::new([1; 16]), ..metadata };
    let patience = Duration::from_secs(120);
    let store = server.open_with("ready", patience);
    store.create(&metadata).unwrap();
    store.ready().unwrap();
    server.signal("STOP");
    let begun = Instant::now();
    let error = store.ready().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(begun.elapsed() < patience / 4, "{:?}", begun.elapsed());
    server.signal("CONT");
    store.ready().unwrap();
}
