//! Connections: their number, and their reuse.

use std::thread;

use super::super::fake::{Fault, FaultKind};
use super::*;

#[test]
fn never_more_than_allowed() {
    let place = gateway::place();
    for n_connections in [1, 3] {
        assert!(place.hbase.wait_for_connections(0, OPTIONS.patience));
        let store = place.store_with(Options { n_connections, ..OPTIONS });
        let before = place.hbase.n_connections_in_all();
        thread::scope(|scope| {
            for thread in 0..8 {
                let store = &store;
                scope.spawn(move || {
                    for n in 0..6 {
                        let bits = spread(thread << 8 | n);
                        store.insert(&[document(&format!("{thread} {n}"), bits)]).unwrap();
                        assert_eq!(found(store, bits), [format!("{thread} {n}")]);
                    }
                });
            }
        });
        assert_eq!(contents(&store).len(), 48);
        // All connections ever made are still good: none was made in place of another.
        assert_eq!(place.hbase.n_connections_in_all() - before, n_connections as u64);
        assert!(place.hbase.n_connections() <= n_connections);
        store.remove(&contents(&store).into_iter().map(|document| document.id).collect::<Vec<_>>()).unwrap();
        drop(store);
    }
}

/// Without any patience: a client that notices only by a request fails.
#[test]
fn idle_connections_that_were_closed_are_replaced_quietly() {
    let place = gateway::place();
    let store = place.store_with(Options { patience: Duration::ZERO, ..OPTIONS });
    let documents: Vec<_> = (0..40).map(|n| document(&format!("{n:02}"), spread(n))).collect();
    let sketches: Vec<_> = documents.iter().map(|document| document.sketch.clone()).collect();
    store.insert(&documents).unwrap();
    for _ in 0..3 {
        store.near(&sketches, &within(3), 1).unwrap();
        assert!(place.hbase.n_connections() > 1);
        place.hbase.close_idle_connections();
        assert_eq!(contents(&store), documents);
    }
    place.hbase.stop();
    place.hbase.start_again().unwrap();
    assert_eq!(contents(&store), documents);
    store.insert(&[document("new", 1)]).unwrap();
}

/// The answer to another request would be taken for the own one: all answers to `get` look alike.
#[test]
fn an_unread_reply_is_never_taken_for_another() {
    for kind in [
        FaultKind::WrongSequenceAfter,
        FaultKind::CutAfter(30),
        FaultKind::GarbageAfter(vec![0x80, 1, 0, 2]),
        FaultKind::GarbageAfter(vec![0; 100]),
        FaultKind::CloseAfter,
    ] {
        let place = gateway::place();
        // No time to try again: the second call meets the rest of the first.
        let store = place.store_with(Options { n_connections: 1, patience: Duration::ZERO, ..OPTIONS });
        let (a, b) = (document("a", 1), document("b", 2));
        store.insert(&[a.clone(), b.clone()]).unwrap();
        for method in ["getRowsWithColumns", "scannerOpenWithScan", "scannerGetList", "scannerClose"] {
            // Requests that were left on a broken connection would take the fault.
            assert!(place.hbase.wait_for_connections(1, OPTIONS.patience));
            place.hbase.fail(Fault::on(method, kind.clone()));
            let answer = if method == "getRowsWithColumns" {
                store.get(&[id("a")]).map(drop)
            } else {
                store.near(&[sketch(0)], &within(3), 1).map(drop)
            };
            check_fails(answer, ErrorKind::Unavailable, &[]);
            assert_eq!(get(&store, &[id("b")]), [Some(b.clone())], "{kind:?} {method}");
            assert_eq!(get(&store, &[id("a")]), [Some(a.clone())], "{kind:?} {method}");
            assert_eq!(found(&store, 0), ["a", "b"], "{kind:?} {method}");
        }
    }
}

#[test]
fn busy_when_all_are_in_use() {
    let place = gateway::place();
    let patience = Duration::from_millis(50);
    let store = place.store_with(Options { n_connections: 1, patience, ..OPTIONS });
    store.prepare().unwrap();
    thread::scope(|scope| {
        place.hbase.fail(Fault::on("scannerOpenWithScan", FaultKind::Stall));
        let before = place.hbase.n_calls("scannerOpenWithScan");
        let stalled = scope.spawn(|| store.near(&[sketch(0)], &within(3), 1));
        while place.hbase.n_calls("scannerOpenWithScan") == before {
            thread::yield_now();
        }
        let says = ["all 1 connections", "0.05 s", "?connections=N"];
        check_fails(store.get(&[id("a")]), ErrorKind::Busy, &says);
        check_fails(store.near(&[sketch(0)], &within(3), 1), ErrorKind::Busy, &says);
        place.hbase.stop();
        assert_eq!(stalled.join().unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
    });
    place.hbase.start_again().unwrap();
    assert_eq!(found(&store, 0), [""; 0]);
}

/// A store that fails gives its connections back, and the places of broken ones.
#[test]
fn failures_use_up_no_places() {
    let place = gateway::place();
    let store = place.store_with(Options { n_connections: 2, ..OPTIONS });
    for n in 0..20 {
        let kind = if n % 2 == 0 { FaultKind::Close } else { FaultKind::WrongSequenceAfter };
        place.hbase.fail(Fault::any(kind));
        place.hbase.refuse_connections(1);
        assert_eq!(found(&store, 0), [""; 0]);
    }
}
