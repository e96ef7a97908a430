//! Faults of the gateway alone: its scanners outlive connections and have to be closed, and any
//! request of its protocol may fail by itself.

use super::super::fake::{FakeGateway, Fault, FaultKind};
use super::super::thrift::SCANS;
use super::faults::{OneFault, each_does_no_harm};
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

impl OneFault for Case {
    type Bench = FakeGateway;

    fn bare(&self) -> Place<FakeGateway> {
        bare()
    }

    fn begin(&self, hbase: &FakeGateway) {
        hbase.fail(Fault::on(self.method, self.kind.clone()).nth(self.nth));
    }

    fn is_silent(&self) -> bool {
        matches!(self.kind, FaultKind::Stall | FaultKind::StallAfter)
    }

    fn may_be_told(&self) -> bool {
        self.method == "checkAndPut" || matches!(self.kind, FaultKind::DoNotRetry(_))
    }

    /// The client does not know the scanner of an open whose reply is lost, nor those opened after
    /// it on that connection. A time-out can hit any reply on a busy machine.
    fn check(&self, hbase: &FakeGateway) {
        let is_lost = self.method == "scannerOpenWithScan"
            && matches!(
                self.kind,
                FaultKind::IoErrorAfter(_)
                    | FaultKind::IoErrorAfterRows(..)
                    | FaultKind::CloseAfter
                    | FaultKind::CutAfter(_)
                    | FaultKind::GarbageAfter(_)
                    | FaultKind::WrongSequenceAfter
            );
        let n_open_max = if self.is_silent() || is_lost { SCANS.max } else { 0 };
        let n_open = hbase.n_open_scanners();
        assert!(n_open <= n_open_max, "{self:?}: {n_open} scanners are open");
    }
}

/// As on every transport, at each request of the protocol.
#[test]
fn one_fault_anywhere() {
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
    each_does_no_harm(&cases);
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
