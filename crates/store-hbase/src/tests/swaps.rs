//! Compare-and-set, and its known outcome when answers are lost.

use super::super::rows::{Cell, Rows, Swap, Swapped, Table};
use super::*;

const COLUMN: &[u8] = b"d:record";

fn swap(row: usize, from: Option<&str>, to: &str) -> Swap {
    let from = from.map(|from| from.as_bytes().to_vec());
    let row = format!("{row:04}").into_bytes();
    Swap { row, column: COLUMN.to_vec(), from, to: to.into(), time_to_live: None }
}

fn rows_of(place: &Place, options: Options) -> ThriftRows {
    ThriftRows::new(place.gateway.address().to_string(), "t", options)
}

/// Returns the values of the cells in these rows.
fn values(rows: &ThriftRows, n_rows: usize) -> Vec<Option<String>> {
    let keys: Vec<_> = (0..n_rows).map(|row| swap(row, None, "").row).collect();
    let found = rows.get(Table::Documents, &[COLUMN], &keys).unwrap();
    let value = |mut cells: Vec<Cell>| Some(String::from_utf8(cells.pop()?.value).unwrap());
    found.into_iter().map(value).collect()
}

#[test]
fn one_of_each() {
    let place = Place::bare();
    let rows = rows_of(&place, OPTIONS);
    let swapped = |swaps: &[Swap]| rows.swap(Table::Documents, swaps).unwrap();
    assert_eq!(swapped(&[]), []);
    assert_eq!(swapped(&[swap(0, Some("a"), "b")]), [Swapped::Refused], "nothing is there");
    assert_eq!(swapped(&[swap(0, None, "a")]), [Swapped::Done]);
    assert_eq!(swapped(&[swap(0, None, "b")]), [Swapped::Refused], "something is there");
    assert_eq!(swapped(&[swap(0, Some("b"), "c")]), [Swapped::Refused], "something else is there");
    assert_eq!(swapped(&[swap(0, Some("a"), "b")]), [Swapped::Done]);
    assert_eq!(values(&rows, 1), [Some("b".to_owned())]);
    // A clock that goes back hides nothing.
    place.gateway.set_clock_ms(BEGIN - HOUR);
    assert_eq!(swapped(&[swap(0, Some("b"), "c")]), [Swapped::Done]);
    assert_eq!(values(&rows, 1), [Some("c".to_owned())]);
}

#[test]
fn many_keep_their_order() {
    let place = Place::bare();
    let rows = rows_of(&place, OPTIONS);
    let there: Vec<_> = (0..500).step_by(3).map(|row| swap(row, None, "before")).collect();
    assert!(rows.swap(Table::Documents, &there).unwrap().iter().all(|&answer| answer == Swapped::Done));
    let all: Vec<_> = (0..500).map(|row| swap(row, None, "after")).collect();
    let answers = rows.swap(Table::Documents, &all).unwrap();
    for (row, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer, if row % 3 == 0 { Swapped::Refused } else { Swapped::Done }, "{row}");
    }
}

/// A second request would find the put of the first and be refused: nothing is sent twice, and no
/// answer is made up.
#[test]
fn what_is_lost_is_unknown() {
    const N: usize = 60;
    let message = || "java.io.IOException: injected".to_owned();
    for kind in [
        FaultKind::IoError(message()),
        FaultKind::IoErrorAfter(message()),
        FaultKind::Close,
        FaultKind::CloseAfter,
        FaultKind::CutAfter(10),
        FaultKind::GarbageAfter(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        FaultKind::WrongSequenceAfter,
        FaultKind::StallAfter,
    ] {
        for nth in [1, 7, N as u64] {
            let place = Place::bare();
            let rows = rows_of(&place, Options { reply_timeout: Duration::from_millis(500), ..OPTIONS });
            place.gateway.fail(Fault::on("checkAndPut", kind.clone()).nth(nth));
            let swaps: Vec<_> = (0..N).map(|row| swap(row, None, "x")).collect();
            let answers = rows.swap(Table::Documents, &swaps).unwrap();
            assert_eq!(place.gateway.n_faults(), 0, "{kind:?} {nth} hit nothing");
            let n_unknown = answers.iter().filter(|&&answer| answer == Swapped::Unknown).count();
            assert!(
                (1..=super::super::thrift::SWAPS.max).contains(&n_unknown),
                "{kind:?} {nth}: {n_unknown}"
            );
            for (value, answer) in values(&rows, N).into_iter().zip(answers) {
                assert_ne!(answer, Swapped::Refused, "{kind:?} {nth}");
                assert!(answer == Swapped::Unknown || value.as_deref() == Some("x"), "{kind:?} {nth}");
            }
        }
    }
}

#[test]
fn no_table() {
    let place = Place::bare();
    let rows = ThriftRows::new(place.gateway.address().to_string(), "elsewhere", OPTIONS);
    check_fails(rows.swap(Table::Documents, &[swap(0, None, "x")]), ErrorKind::NotFound, &["create.rb"]);
}
