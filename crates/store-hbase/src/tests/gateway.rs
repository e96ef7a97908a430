//! Faults of the gateway alone: its scanners outlive connections and have to be closed, and any
//! request of its protocol may fail by itself.

use std::thread;

use super::super::fake::{FakeGateway, Fault, FaultKind};
use super::super::thrift::SCANS;
use super::faults::{Session, session, tables};
use super::*;

/// Returns a gateway without an index.
pub(super) fn bare() -> Place<FakeGateway> {
    let place = Place::over(Box::new(FakeGateway::start()));
    place.create_tables();
    place
}

pub(super) fn place() -> Place<FakeGateway> {
    place_of(&metadata())
}

pub(super) fn place_of(metadata: &Metadata) -> Place<FakeGateway> {
    let place = bare();
    place.store().create(metadata).unwrap();
    place
}

const METHODS: [&str; 6] = [
    "scannerOpenWithScan",
    "scannerGetList",
    "scannerClose",
    "getRowsWithColumns",
    "mutateRowsTs",
    "checkAndPut",
];

#[derive(Debug)]
struct Case {
    kind: FaultKind,
    method: &'static str,
    nth: u64,
}

fn check(case: &Case, undisturbed: &(Session, (Vec<VisibleRow>, Vec<VisibleRow>))) {
    let Case { kind, method, nth } = case;
    let is_stall = matches!(kind, FaultKind::Stall | FaultKind::StallAfter);
    let place = bare();
    let reply_timeout = if is_stall { Duration::from_millis(200) } else { OPTIONS.reply_timeout };
    let store = place.store_with(Options { reply_timeout, ..OPTIONS });
    place.hbase.fail(Fault::on(method, kind.clone()).nth(*nth));
    let session = session(&store);
    let was_hit = place.hbase.n_faults() == 0;
    assert!(was_hit || *method == "checkAndPut" && *nth > 1, "{case:?} hit nothing");
    let (expected, expected_tables) = undisturbed;
    // A time-out can hit any reply on a busy machine, that of a swap included.
    let may_fail = is_stall || *method == "checkAndPut" || matches!(kind, FaultKind::DoNotRetry(_));
    assert!(may_fail || session.n_errors == 0, "{case:?}");
    assert_eq!(session.near, expected.near, "{case:?}");
    assert_eq!(session.contents, expected.contents, "{case:?}");
    if session.n_errors == 0 {
        assert_eq!(session, *expected, "{case:?}");
        assert!(tables(&place) == *expected_tables, "{case:?}");
    }
    let place_cells = place.cells();
    place.hbase.major_compact();
    assert!(place_cells == place.cells(), "{case:?}");
    // The client does not know the scanner of an open whose reply is lost, nor those opened after
    // it on that connection. A time-out can hit any reply on a busy machine.
    let is_lost = *method == "scannerOpenWithScan"
        && matches!(
            kind,
            FaultKind::IoErrorAfter(_)
                | FaultKind::IoErrorAfterRows(..)
                | FaultKind::CloseAfter
                | FaultKind::CutAfter(_)
                | FaultKind::GarbageAfter(_)
                | FaultKind::WrongSequenceAfter
        );
    let n_open_max = if is_stall || is_lost && was_hit { SCANS.max } else { 0 };
    let n_open = place.hbase.n_open_scanners();
    assert!(n_open <= n_open_max, "{case:?}: {n_open} scanners are open");
}

/// As on every transport, at each request of the protocol.
#[test]
fn one_fault_anywhere() {
    let place = bare();
    let undisturbed = (session(&place.store()), tables(&place));
    assert_eq!(undisturbed.0.n_errors, 0);
    assert_eq!(place.hbase.n_open_scanners(), 0);
    assert!(undisturbed.0.near.iter().any(|answer| answer.n_matches > 10));
    let message = || "java.io.IOException: injected\n\tat somewhere".to_owned();
    let kinds = [
        FaultKind::IoError(message()),
        FaultKind::DoNotRetry(message()),
        FaultKind::IoErrorAfter(message()),
        FaultKind::IoErrorAfterRows(3, message()),
        FaultKind::Delay(Duration::from_millis(5)),
        FaultKind::Close,
        FaultKind::CloseAfter,
        FaultKind::CutAfter(0),
        FaultKind::CutAfter(20),
        FaultKind::GarbageAfter(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        FaultKind::GarbageAfter(vec![0x80, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        FaultKind::WrongSequenceAfter,
        FaultKind::Stall,
        FaultKind::StallAfter,
    ];
    let mut cases = Vec::new();
    for kind in &kinds {
        for method in METHODS {
            let last = if method == "checkAndPut" { 1 } else { 3 };
            cases.extend((1..=last).map(|nth| Case { kind: kind.clone(), method, nth }));
        }
    }
    thread::scope(|scope| {
        for cases in cases.chunks(cases.len().div_ceil(8)) {
            let undisturbed = &undisturbed;
            scope.spawn(move || cases.iter().for_each(|case| check(case, undisturbed)));
        }
    });
}

/// The same scanner's close fails twice: it is left to the gateway, and the search is answered all
/// the same.
#[test]
fn a_close_that_never_works_does_no_harm() {
    let place = place();
    let store = place.store();
    store.insert(&[document("a", 0)]).unwrap();
    for nth in [1, 11] {
        place.hbase.fail(Fault::on("scannerClose", FaultKind::IoError("injected".to_owned())).nth(nth));
    }
    assert_eq!(found(&store, 0), ["a"]);
    assert!(place.hbase.n_open_scanners() <= 1);
}

/// Two faults, one after the other, in all pairs of places.
#[test]
fn the_second_attempt_fails_too() {
    let place = place();
    let store = place.store();
    let documents: Vec<_> = (0..20).map(|n| document(&format!("{n}"), 1 << n)).collect();
    store.insert(&documents).unwrap();
    for first in 1..=4 {
        for second in 1..=4 {
            for method in ["scannerGetList", "scannerClose", "getRowsWithColumns"] {
                for nth in [first, first + second] {
                    place.hbase.fail(Fault::on(method, FaultKind::Close).nth(nth));
                }
                assert_eq!(found(&store, 0).len(), 20);
                place.hbase.clear_faults();
                assert_eq!(place.hbase.n_open_scanners(), 0, "{method} {first} {second}");
            }
        }
    }
}
