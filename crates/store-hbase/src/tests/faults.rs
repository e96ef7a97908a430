//! One fault at any one call: the answers are the same, and nothing stays open.

use std::fmt::Debug;
use std::thread;

use super::super::remove::REMEMBER;
use super::*;

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

/// The rows of both tables.
type Tables = (Vec<VisibleRow>, Vec<VisibleRow>);

/// Returns keys, columns and values of both tables, the records' own timestamps included; the
/// owners of claims are left out.
fn tables<B: Bench + ?Sized>(place: &Place<B>) -> Tables {
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

/// A fault at one call of a session.
pub(super) trait OneFault: Debug + Sync {
    type Bench: Bench + ?Sized;

    /// Returns a place without an index.
    fn bare(&self) -> Place<Self::Bench>;

    fn begin(&self, hbase: &Self::Bench);

    /// Returns true if the answer does not come.
    fn is_silent(&self) -> bool;

    /// Returns true if the caller of the session may hear of the fault.
    fn may_be_told(&self) -> bool;

    /// Checks the place after the session.
    fn check(&self, _: &Self::Bench) {}
}

/// Runs a session with each fault, which gives the answers and the tables of the session without
/// one.
pub(super) fn each_does_no_harm<F: OneFault>(faults: &[F]) {
    let place = faults[0].bare();
    let expected = session(&place.store());
    assert_eq!(expected.n_errors, 0);
    assert!(expected.near.iter().any(|answer| answer.n_matches > 10));
    let expected = &(expected, tables(&place));
    thread::scope(|scope| {
        for faults in faults.chunks(faults.len().div_ceil(8)) {
            scope.spawn(move || faults.iter().for_each(|fault| does_no_harm(fault, expected)));
        }
    });
}

fn does_no_harm<F: OneFault>(fault: &F, (expected, expected_tables): &(Session, Tables)) {
    let place = fault.bare();
    let reply_timeout = if fault.is_silent() { Duration::from_millis(200) } else { OPTIONS.reply_timeout };
    let store = place.store_with(Options { reply_timeout, ..OPTIONS });
    fault.begin(&place.hbase);
    let session = session(&store);
    assert_eq!(place.hbase.n_faults(), 0, "{fault:?} hit nothing");
    // A time-out can hit any reply on a busy machine, that of a swap included.
    let may_fail = fault.is_silent() || fault.may_be_told();
    assert!(may_fail || session.n_errors == 0, "{fault:?}");
    assert_eq!(session.near, expected.near, "{fault:?}");
    assert_eq!(session.contents, expected.contents, "{fault:?}");
    if session.n_errors == 0 {
        assert_eq!(session, *expected, "{fault:?}");
        assert!(tables(&place) == *expected_tables, "{fault:?}");
    }
    let cells = place.cells();
    place.hbase.major_compact();
    assert!(cells == place.cells(), "{fault:?}");
    fault.check(&place.hbase);
}

#[derive(Debug)]
struct Case {
    on: On,
    mishap: Mishap,
    call: Call,
    nth: u64,
}

impl OneFault for Case {
    type Bench = dyn Bench;

    fn bare(&self) -> Place {
        Place::bare(self.on)
    }

    fn begin(&self, hbase: &dyn Bench) {
        hbase.fail(self.call, self.nth, self.mishap);
    }

    fn is_silent(&self) -> bool {
        matches!(self.mishap, Mishap::Silent | Mishap::SilentAfter)
    }

    fn may_be_told(&self) -> bool {
        self.call == Call::Swap || self.mishap == Mishap::Refused
    }
}

fn one_fault_anywhere(on: On) {
    let mishaps = [
        Mishap::Refused,
        Mishap::Failed,
        Mishap::FailedAfter,
        Mishap::FailedAfterSome(3),
        Mishap::Closed,
        Mishap::ClosedAfter,
        Mishap::Cut,
        Mishap::Nonsense,
        Mishap::Silent,
        Mishap::SilentAfter,
        Mishap::Late,
    ];
    let mut cases = Vec::new();
    for call in [Call::Scan, Call::Get, Call::Apply, Call::Swap] {
        let last = if call == Call::Swap { 1 } else { 3 };
        cases.extend(
            mishaps.into_iter().flat_map(|mishap| (1..=last).map(move |nth| Case { on, mishap, call, nth })),
        );
    }
    each_does_no_harm(&cases);
}

/// The answer to a compare-and-set of a removal is lost, done or not: the removal reports the
/// document once.
fn a_removal_whose_answer_is_lost(on: On) {
    let place_with_two = || {
        let place = Place::new(on);
        let store = place.store();
        store.insert(&[document("a", 1)]).unwrap();
        store.insert_if_new(&[document("b", spread(1))], &within(3)).unwrap();
        (place, store)
    };
    let ids = ["a", "b", "c"].map(id);
    let (place, store) = place_with_two();
    let n_before = place.hbase.n_calls(Call::Swap);
    store.remove(&ids).unwrap();
    // Two removals, in one call or two, and one swap to let a claim expire.
    let n_calls = place.hbase.n_calls(Call::Swap) - n_before;
    assert!((2..=3).contains(&n_calls), "{n_calls}");
    for mishap in [Mishap::Failed, Mishap::FailedAfter, Mishap::Closed, Mishap::ClosedAfter] {
        for nth in 1..=n_calls {
            let context = format!("{mishap:?} {nth} of {n_calls}");
            let (place, store) = place_with_two();
            place.hbase.fail(Call::Swap, nth, mishap);
            assert_eq!(store.remove(&ids).unwrap(), [true, true, false], "{context}");
            assert_eq!(place.hbase.n_faults(), 0, "{context}");
            assert_eq!(contents(&store), [], "{context}");
            place.check_cells(&[]);
            place.hbase.major_compact();
            place.advance(REMEMBER.as_millis() as i64 + 10);
            // The removal stays for good unless the swap that lets it expire was done.
            let is_undone = nth == n_calls && matches!(mishap, Mishap::Failed | Mishap::Closed);
            assert_eq!(place.document_rows().len(), if is_undone { 2 } else { 1 }, "{context}");
        }
    }
}

hazards! {
    one_fault_anywhere,
    a_removal_whose_answer_is_lost,
}
