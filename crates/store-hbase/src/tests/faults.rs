//! One fault at any one call: the answers are the same, and nothing stays open.

use std::thread;

use super::super::remove::REMEMBER;
use super::*;

const METHODS: [&str; 6] = [
    "scannerOpenWithScan",
    "scannerGetList",
    "scannerClose",
    "getRowsWithColumns",
    "mutateRowsTs",
    "checkAndPut",
];

/// The answers of a session of calls, and the number of calls that their caller had to repeat.
#[derive(Debug, Default, PartialEq)]
struct Session {
    writes: Vec<Insertion>,
    removed: Vec<bool>,
    near: Vec<index::Neighbours>,
    contents: Vec<Document>,
    n_errors: usize,
}

/// Repeats a call as its caller would.
fn repeated<T>(n_errors: &mut usize, call: impl Fn() -> index::Result<T>) -> T {
    for _ in 0..20 {
        match call() {
            Ok(answer) => return answer,
            Err(error) => {
                assert!(error.kind().is_transient(), "{}", told(&error));
                *n_errors += 1;
            }
        }
    }
    panic!("it fails every time");
}

fn session(store: &HbaseStore) -> Session {
    let mut session = Session::default();
    let n_errors = &mut session.n_errors;
    repeated(n_errors, || store.create(&metadata()));
    let centre = spread(1);
    let first: Vec<_> = (0..24).map(|n| document(&format!("a{n}"), centre ^ 1 << n)).collect();
    session.writes.extend(repeated(n_errors, || store.insert(&first)));
    // Some stay, some move within the neighbourhood, some out of it.
    let second: Vec<_> = (12..40)
        .map(|n| document(&format!("a{n}"), if n < 16 { spread(n) } else { centre ^ 3 << (n % 24) }))
        .collect();
    session.writes.extend(repeated(n_errors, || store.insert(&second)));
    let queries = [sketch(centre), sketch(spread(13)), sketch(centre ^ 7), sketch(99)];
    session.near.extend(repeated(n_errors, || store.near(&queries, &within(3), 30)));
    let ids: Vec<_> = (0..50).step_by(3).map(|n| id(&format!("a{n}"))).collect();
    session.removed = repeated(n_errors, || store.remove(&ids));
    let new: Vec<_> = (0..6).map(|n| document(&format!("b{n}"), spread(n % 4 + 1) ^ 1 << n)).collect();
    session.writes.extend(repeated(n_errors, || store.insert_if_new(&new, &within(3))));
    session.near.extend(repeated(n_errors, || store.near(&queries, &within(2), 5)));
    session.contents = repeated(n_errors, || contents_of(store));
    session
}

fn contents_of(store: &HbaseStore) -> index::Result<Vec<Document>> {
    let mut documents = Vec::new();
    let mut next = Some(Cursor::start());
    while let Some(after) = next {
        let page = store.scan(after, 7)?;
        documents.extend(page.documents.into_iter().map(|stored| stored.document));
        next = page.next;
    }
    Ok(documents)
}

/// Returns keys, columns and values of both tables, the records' own timestamps included; the
/// owners of claims are left out.
fn tables(place: &Place) -> (Vec<VisibleRow>, Vec<VisibleRow>) {
    let mut documents = place.document_rows();
    for (_, cells) in &mut documents {
        for (_, value, _) in cells.iter_mut().filter(|(column, ..)| column == b"d:claim") {
            let words = String::from_utf8(std::mem::take(value)).unwrap();
            let words: Vec<_> = words.split(' ').filter(|word| !word.starts_with("ticket=")).collect();
            *value = words.join(" ").into_bytes();
        }
    }
    (place.index_rows(), documents)
}

#[derive(Debug)]
struct Case {
    kind: FaultKind,
    method: &'static str,
    nth: u64,
}

fn check(case: &Case, undisturbed: &(Session, (Vec<VisibleRow>, Vec<VisibleRow>))) {
    let Case { kind, method, nth } = case;
    let is_stall = matches!(kind, FaultKind::Stall | FaultKind::StallAfter);
    let place = Place::bare();
    let reply_timeout = if is_stall { Duration::from_millis(200) } else { OPTIONS.reply_timeout };
    let store = place.store_with(Options { reply_timeout, ..OPTIONS });
    place.gateway.fail(Fault::on(method, kind.clone()).nth(*nth));
    let session = session(&store);
    let was_hit = place.gateway.n_faults() == 0;
    assert!(was_hit || *method == "checkAndPut" && *nth > 1, "{case:?} hit nothing");
    let (expected, expected_tables) = undisturbed;
    let may_fail = *method == "checkAndPut" || matches!(kind, FaultKind::DoNotRetry(_));
    assert!(may_fail || session.n_errors == 0, "{case:?}");
    assert_eq!(session.near, expected.near, "{case:?}");
    assert_eq!(session.contents, expected.contents, "{case:?}");
    if session.n_errors == 0 {
        assert_eq!(session, *expected, "{case:?}");
        assert!(tables(&place) == *expected_tables, "{case:?}");
    }
    let place_cells = place.cells();
    place.gateway.major_compact();
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
    let n_open_max = if is_stall || is_lost && was_hit { super::super::thrift::SCANS.max } else { 0 };
    let n_open = place.gateway.n_open_scanners();
    assert!(n_open <= n_open_max, "{case:?}: {n_open} scanners are open");
}

#[test]
fn one_fault_anywhere() {
    let place = Place::bare();
    let undisturbed = (session(&place.store()), tables(&place));
    assert_eq!(undisturbed.0.n_errors, 0);
    assert_eq!(place.gateway.n_open_scanners(), 0);
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
    let place = Place::new();
    let store = place.store();
    store.insert(&[document("a", 0)]).unwrap();
    for nth in [1, 11] {
        place.gateway.fail(Fault::on("scannerClose", FaultKind::IoError("injected".to_owned())).nth(nth));
    }
    assert_eq!(found(&store, 0), ["a"]);
    assert!(place.gateway.n_open_scanners() <= 1);
}

/// Two faults, one after the other, in all pairs of places.
#[test]
fn the_second_attempt_fails_too() {
    let place = Place::new();
    let store = place.store();
    let documents: Vec<_> = (0..20).map(|n| document(&format!("{n}"), 1 << n)).collect();
    store.insert(&documents).unwrap();
    for first in 1..=4 {
        for second in 1..=4 {
            for method in ["scannerGetList", "scannerClose", "getRowsWithColumns"] {
                for nth in [first, first + second] {
                    place.gateway.fail(Fault::on(method, FaultKind::Close).nth(nth));
                }
                assert_eq!(found(&store, 0).len(), 20);
                place.gateway.clear_faults();
                assert_eq!(place.gateway.n_open_scanners(), 0, "{method} {first} {second}");
            }
        }
    }
}

/// The answer to a compare-and-set of a removal is lost, done or not: the removal reports the
/// document once.
#[test]
fn a_removal_whose_answer_is_lost() {
    let message = || "java.io.IOException: injected".to_owned();
    for kind in [
        FaultKind::IoError(message()),
        FaultKind::IoErrorAfter(message()),
        FaultKind::Close,
        FaultKind::CloseAfter,
    ] {
        // Two removals, and one swap to let a claim expire.
        for nth in 1..=3 {
            let place = Place::new();
            let store = place.store();
            store.insert(&[document("a", 1)]).unwrap();
            store.insert_if_new(&[document("b", spread(1))], &within(3)).unwrap();
            place.gateway.fail(Fault::on("checkAndPut", kind.clone()).nth(nth));
            let ids = ["a", "b", "c"].map(id);
            assert_eq!(store.remove(&ids).unwrap(), [true, true, false], "{kind:?} {nth}");
            assert_eq!(place.gateway.n_faults(), 0, "{kind:?} {nth}");
            assert_eq!(contents(&store), [], "{kind:?} {nth}");
            place.check_cells(&[]);
            place.gateway.major_compact();
            place.advance(REMEMBER.as_millis() as i64 + 10);
            // The removal stays for good unless the swap that lets it expire was done.
            let is_undone = nth == 3 && matches!(kind, FaultKind::IoError(_) | FaultKind::Close);
            assert_eq!(place.document_rows().len(), if is_undone { 2 } else { 1 }, "{kind:?} {nth}");
        }
    }
}
