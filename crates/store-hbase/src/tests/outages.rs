//! Servers that go away, for a while or for good, and strangers in place of a gateway.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Instant;

use super::super::fake::{Fault, FaultKind};
use super::super::thrift::ThriftRows;
use super::*;

/// Loads from several threads, and calls `disturb` again and again until they are done.
fn check_load<B: Bench + ?Sized>(place: &Place<B>, disturb: impl Fn(&B) + Sync) {
    const N_THREADS: u64 = 3;
    const N_BATCHES: u64 = 6;
    const BATCH: u64 = 200;
    let store = place.store_with(Options { reply_timeout: Duration::from_secs(5), ..OPTIONS });
    let all: Vec<_> =
        (0..N_THREADS * N_BATCHES * BATCH).map(|n| document(&format!("{n:05}"), spread(n))).collect();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (is_done, disturb, hbase) = (&is_done, &disturb, &*place.hbase);
        let loads: Vec<_> = all
            .chunks((N_BATCHES * BATCH) as usize)
            .map(|part| {
                let store = &store;
                scope.spawn(move || {
                    for batch in part.chunks(BATCH as usize) {
                        let insertions = store.insert(batch).map_err(|error| told(&error)).unwrap();
                        assert!(insertions.iter().all(|insertion| *insertion == Insertion::Inserted));
                    }
                })
            })
            .collect();
        let disturber = scope.spawn(move || {
            let mut n_seen = 0;
            while !is_done.load(Ordering::Relaxed) {
                let n_calls = Bench::n_calls(hbase, Call::Apply);
                if n_calls >= n_seen + 8 {
                    n_seen = n_calls;
                    disturb(hbase);
                }
                thread::yield_now();
            }
        });
        let outcomes: Vec<_> = loads.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_done.store(true, Ordering::Relaxed);
        disturber.join().unwrap();
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    assert!(contents(&store) == all);
    place.check_cells(&all);
    assert_eq!(found(&store, spread(77)), ["00077"]);
}

fn a_load_outlives_restarts(on: On) {
    check_load(&Place::new(on), |hbase| {
        hbase.stop();
        hbase.start_again();
    });
}

/// A fault of the gateway alone: the connections to a region server are many, to a gateway few.
#[test]
fn a_load_outlives_refused_connections() {
    check_load(&gateway::place(), |gateway| {
        gateway.refuse_connections(3);
        gateway.close_idle_connections();
    });
}

fn servers_that_stay_away(on: On) {
    let place = Place::new(on);
    let store = place.store_with(IMPATIENT);
    let documents: Vec<_> = (0..30).map(|n| document(&format!("{n}"), spread(n))).collect();
    store.insert(&documents[..10]).unwrap();
    place.hbase.stop();
    let says = ["The same call may be repeated"];
    let says = if on == On::Memory { &[][..] } else { &says };
    check_fails(store.near(&[sketch(0)], &within(3), 1), ErrorKind::Unavailable, says);
    check_fails(store.insert(&documents), ErrorKind::Unavailable, says);
    check_fails(store.insert_if_new(&documents, &within(3)), ErrorKind::Unavailable, says);
    check_fails(store.remove(&[id("1")]), ErrorKind::Unavailable, says);
    check_fails(store.scan(Cursor::start(), 1), ErrorKind::Unavailable, says);
    check_fails(store.get(&[id("1")]), ErrorKind::Unavailable, says);
    check_fails(store.metadata(), ErrorKind::Unavailable, says);
    place.hbase.start_again();
    let store = place.store();
    assert_eq!(contents(&store).len(), 10);
    store.insert(&documents).unwrap();
    assert_eq!(contents(&store).len(), 30);
}

/// The messages about a gateway name it, and say that requests are left.
#[test]
fn a_gateway_that_stays_away() {
    let place = gateway::place();
    let store = place.store_with(IMPATIENT);
    let gateway = place.hbase.address().to_string();
    let documents: Vec<_> = (0..30).map(|n| document(&format!("{n}"), spread(n))).collect();
    store.insert(&documents[..10]).unwrap();
    place.hbase.stop();
    let says = [&*gateway, "requests were done", "is it running", "refused"];
    check_fails(store.near(&[sketch(0)], &within(3), 1), ErrorKind::Unavailable, &says);
    check_fails(store.insert(&documents), ErrorKind::Unavailable, &says);
    check_fails(store.remove(&[id("1")]), ErrorKind::Unavailable, &says);
    check_fails(store.scan(Cursor::start(), 1), ErrorKind::Unavailable, &says);
    check_fails(store.get(&[id("1")]), ErrorKind::Unavailable, &says);
    check_fails(store.metadata(), ErrorKind::Unavailable, &says);
    place.hbase.start_again().unwrap();
    assert_eq!(contents(&store).len(), 10);
    store.insert(&documents).unwrap();
    assert_eq!(contents(&store).len(), 30);
}

/// A gateway that hangs has the same patience as a stopped one: once, it had the whole time for
/// each reply.
#[test]
fn a_gateway_that_says_nothing_any_more() {
    const PATIENCE: Duration = Duration::from_secs(8);
    let place = gateway::place();
    let store = place.store_with(Options { patience: PATIENCE, reply_timeout: PATIENCE * 3 / 4, ..OPTIONS });
    store.metadata().unwrap();
    (0..100).for_each(|_| place.hbase.fail(Fault::any(FaultKind::Stall)));
    let begun = Instant::now();
    check_fails(store.get(&[id("a")]), ErrorKind::Unavailable, &["for 8 s"]);
    let waited = begun.elapsed();
    assert!((PATIENCE..PATIENCE * 3 / 2).contains(&waited), "{waited:?}");
}

/// A mistyped name fails sooner than a gateway that answered before.
#[test]
fn a_gateway_that_was_never_there() {
    let place = gateway::place();
    place.hbase.stop();
    let options = Options { first_patience: Duration::from_millis(30), ..OPTIONS };
    let store = place.store_with(options);
    check_fails(
        store.near(&[sketch(0)], &within(3), 1),
        ErrorKind::Unavailable,
        &["refused", "0 of 1 requests"],
    );
    let rows = ThriftRows::new("no-such-host.invalid:9090".into(), "t", options);
    let store = HbaseStore::over(Box::new(rows), Clock::new(|| BEGIN));
    check_fails(store.metadata(), ErrorKind::Unavailable, &["no-such-host.invalid:9090"]);
}

/// The message of an error is true of the documents: the steps in their order, each of which fails
/// for good.
fn an_error_says_what_was_written(on: On) {
    let says = [
        (1, "of 2 documents none was written"),
        (2, "of 2 documents some may have been written and some not"),
        (3, "of 2 documents all were written, and only cells"),
        (4, "of 2 documents all were written, and only cells"),
    ];
    for (nth, says) in says {
        let place = Place::new(on);
        // One connection, so that each step is one call.
        let store = place.store_with(Options { n_connections: 1, ..OPTIONS });
        store.insert(&[document("a", 1)]).unwrap();
        place.hbase.fail(Call::Apply, nth, Mishap::Refused);
        let answer = store.insert(&[document("a", spread(1)), document("b", 3)]);
        check_fails(answer, ErrorKind::Unavailable, &[says, "repeat the call"]);
        let is_written = nth > 2;
        assert_eq!(contents(&place.store()).len(), if is_written { 2 } else { 1 });
    }
}

/// Starts a server that answers every connection with these bytes, on a port of its own.
fn stranger(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 4096];
            drop(stream.read(&mut request));
            drop(stream.write_all(answer));
            // Until the other end closes.
            while matches!(stream.read(&mut request), Ok(1..)) {}
        }
    });
    address
}

#[test]
fn a_server_that_is_no_gateway() {
    let answers: [&[u8]; 5] = [
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2p1\r\n",
        &[0, 0, 0, 40, 0x80, 1, 0, 2, 0, 0, 0, 0],
        // A reply to a method of a name that is 2 GB long, and one of none.
        &[0x80, 1, 0, 2, 0x7f, 0xff, 0xff, 0xff, 0, 0],
        &[0x80, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0],
    ];
    for answer in answers {
        let address = stranger(answer);
        let options = Options { reply_timeout: Duration::from_millis(300), ..OPTIONS };
        let options = if answer[4..].starts_with(&[0x7f]) {
            Options {
                first_patience: Duration::from_millis(300),
                patience: Duration::from_millis(300),
                ..options
            }
        } else {
            options
        };
        let rows = ThriftRows::new(address.clone(), "t", options);
        let store = HbaseStore::over(Box::new(rows), Clock::new(|| BEGIN));
        check_fails(store.metadata(), ErrorKind::Unavailable, &[&address]);
    }
}

/// A server that accepts and says nothing.
#[test]
fn a_server_that_says_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let options = Options { reply_timeout: Duration::from_millis(20), ..IMPATIENT };
    let rows = ThriftRows::new(address.clone(), "t", options);
    let store = HbaseStore::over(Box::new(rows), Clock::new(|| BEGIN));
    check_fails(store.metadata(), ErrorKind::Unavailable, &[&address]);
}

hazards! {
    a_load_outlives_restarts,
    servers_that_stay_away,
    an_error_says_what_was_written,
}
