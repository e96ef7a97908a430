//! Tables that are dropped and made again while a call is at work, and the cost of noticing.

use super::between::store_with;
use super::*;

/// Makes another index in the same place.
fn make_anew(place: &Place) {
    for (table, families) in [("t", &["f"][..]), ("t_docs", &["d", "m"])] {
        place.hbase.drop_table(table);
        place.hbase.create_table(table, families);
    }
    let identity = Identity::new([2; 16]);
    place.store().create(&Metadata { identity, ..metadata() }).unwrap();
}

/// After any request: no call returns `Ok` unless all of its work is in the index that was opened.
/// Each call has a fixed number of requests; a change after the last one goes unnoticed.
fn in_the_middle_of_a_call(on: On) {
    type Work = fn(&HbaseStore) -> index::Result<()>;
    let calls: [(&str, i64, Work); 6] = [
        ("insert", 4, |store| store.insert(&[document("new", 0xffff << 40)]).map(drop)),
        ("insert_if_new", 6, |store| {
            store.insert_if_new(&[document("new", 0xffff << 40)], &within(3)).map(drop)
        }),
        ("a duplicate", 3, |store| store.insert_if_new(&[document("near", 1)], &within(3)).map(drop)),
        // The last request of a removal only lets its memory expire.
        ("remove", 4, |store| store.remove(&[id("old")]).map(drop)),
        ("near", 2, |store| store.near(&[sketch(0)], &within(3), 1).map(drop)),
        ("get", 1, |store| store.get(&[id("old")]).map(drop)),
    ];
    for (name, n_requests, call) in calls {
        for nth in 0..n_requests {
            let place = Arc::new(Place::new(on));
            // Opening the index makes some requests before.
            let n_opening = 3;
            place.store().insert(&[document("old", 0)]).unwrap();
            let store = store_with(&place, n_opening + nth, make_anew);
            store.metadata().unwrap();
            let answer = call(&store);
            if nth + 1 < n_requests {
                assert_eq!(answer.unwrap_err().kind(), ErrorKind::Replaced, "{name}, after request {nth}");
            } else {
                answer.unwrap_or_else(|error| panic!("{name}: {}", told(&error)));
            }
            // From then on no write is sent.
            let n_writes = || place.hbase.n_calls(Call::Apply) + place.hbase.n_calls(Call::Swap);
            let before = n_writes();
            check_fails(store.insert(&[document("later", 7)]), ErrorKind::Replaced, &["made anew"]);
            check_fails(
                store.insert_if_new(&[document("later", 7)], &within(3)),
                ErrorKind::Replaced,
                &["made anew"],
            );
            check_fails(store.remove(&[id("old")]), ErrorKind::Replaced, &["made anew"]);
            assert_eq!(n_writes(), before, "{name}, after request {nth}");
        }
    }
}

/// One call more for each batch of calls on a connection, and no wait more: it is sent with the
/// others.
#[test]
fn what_it_costs_to_look() {
    let place = gateway::place();
    let store = place.store();
    store.insert(&(0..64).map(|n| document(&format!("{n}"), spread(n))).collect::<Vec<_>>()).unwrap();
    let calls_of = |call: &dyn Fn()| {
        let now = || {
            ["get", "scannerOpenWithScan", "getRowsWithColumns", "mutateRowsTs", "checkAndPut"]
                .map(|method| place.hbase.n_calls(method))
        };
        let before = now();
        call();
        let after = now();
        std::array::from_fn::<_, 5, _>(|n| after[n] - before[n])
    };
    let near = |queries: &[Sketch]| drop(store.near(queries, &within(3), 1).unwrap());
    // Ten buckets, three to a connection.
    assert_eq!(calls_of(&|| near(&[sketch(0xff_ffff << 20)])), [4, 10, 0, 0, 0]);
    // And the document that was found.
    assert_eq!(calls_of(&|| near(&[sketch(spread(1))])), [5, 10, 1, 0, 0]);
    let queries: Vec<_> = (0..64).map(|n| sketch(spread(n))).collect();
    assert_eq!(calls_of(&|| near(&queries)), [23, 640, 1, 0, 0]);
    assert_eq!(calls_of(&|| drop(store.insert(&[document("new", 0xffff << 40)]).unwrap())), [4, 0, 2, 2, 0]);
    let insert_if_new = || drop(store.insert_if_new(&[document("newer", 0xffff << 20)], &within(3)).unwrap());
    assert_eq!(calls_of(&insert_if_new), [12, 20, 1, 1, 2]);
}

hazards! {
    in_the_middle_of_a_call,
}
