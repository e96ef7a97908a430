//! Compare-and-set, and its known outcome when answers are lost.

use std::collections::BTreeSet;

use super::super::rows::{Cell, Rows, Swap, Swapped, Table};
use super::super::thrift::SWAPS;
use super::*;

const COLUMN: &[u8] = b"d:record";

fn swap(row: usize, from: Option<&str>, to: &str) -> Swap {
    let from = from.map(|from| from.as_bytes().to_vec());
    let row = format!("{row:04}").into_bytes();
    Swap { row, column: COLUMN.to_vec(), from, to: to.into(), time_to_live: None }
}

/// Returns the values of the cells in these rows.
fn values(rows: &dyn Rows, n_rows: usize) -> Vec<Option<String>> {
    let keys: Vec<_> = (0..n_rows).map(|row| swap(row, None, "").row).collect();
    let found = rows.get(Table::Documents, &[COLUMN], &keys).unwrap();
    let value = |mut cells: Vec<Cell>| Some(String::from_utf8(cells.pop()?.value).unwrap());
    found.into_iter().map(value).collect()
}

fn one_of_each(on: On) {
    let place = Place::bare(on);
    let rows = place.hbase.rows("t", OPTIONS);
    let swapped = |swaps: &[Swap]| rows.swap(Table::Documents, swaps).unwrap();
    assert_eq!(swapped(&[]), []);
    assert_eq!(swapped(&[swap(0, Some("a"), "b")]), [Swapped::Refused], "nothing is there");
    assert_eq!(swapped(&[swap(0, None, "a")]), [Swapped::Done]);
    assert_eq!(swapped(&[swap(0, None, "b")]), [Swapped::Refused], "something is there");
    assert_eq!(swapped(&[swap(0, Some("b"), "c")]), [Swapped::Refused], "something else is there");
    assert_eq!(swapped(&[swap(0, Some("a"), "b")]), [Swapped::Done]);
    assert_eq!(values(&*rows, 1), [Some("b".to_owned())]);
    // A clock that goes back hides nothing.
    place.hbase.set_clock_ms(BEGIN - HOUR);
    assert_eq!(swapped(&[swap(0, Some("b"), "c")]), [Swapped::Done]);
    assert_eq!(values(&*rows, 1), [Some("c".to_owned())]);
}

fn many_keep_their_order(on: On) {
    let place = Place::bare(on);
    let rows = place.hbase.rows("t", OPTIONS);
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
fn what_is_lost_is_unknown(on: On) {
    const N: usize = 60;
    let swaps: Vec<_> = (0..N).map(|row| swap(row, None, "x")).collect();
    let place = Place::bare(on);
    place.hbase.rows("t", OPTIONS).swap(Table::Documents, &swaps).unwrap();
    let n_calls = place.hbase.n_calls(Call::Swap);
    for mishap in [
        Mishap::Failed,
        Mishap::FailedAfter,
        Mishap::Closed,
        Mishap::ClosedAfter,
        Mishap::Cut,
        Mishap::Nonsense,
        Mishap::SilentAfter,
    ] {
        for nth in BTreeSet::from([1, n_calls.div_ceil(9), n_calls]) {
            let place = Place::bare(on);
            let rows =
                place.hbase.rows("t", Options { reply_timeout: Duration::from_millis(500), ..OPTIONS });
            place.hbase.fail(Call::Swap, nth, mishap);
            let answers = rows.swap(Table::Documents, &swaps).unwrap();
            let context = format!("{mishap:?} {nth}");
            assert_eq!(place.hbase.n_faults(), 0, "{context} hit nothing");
            let n_unknown = answers.iter().filter(|&&answer| answer == Swapped::Unknown).count();
            // A gateway gets a few at a time.
            let n_unknown_max = if on == On::Thrift { SWAPS.max } else { N };
            assert!((1..=n_unknown_max).contains(&n_unknown), "{context}: {n_unknown}");
            for (value, answer) in values(&*rows, N).into_iter().zip(answers) {
                assert_ne!(answer, Swapped::Refused, "{context}");
                assert!(answer == Swapped::Unknown || value.as_deref() == Some("x"), "{context}");
            }
        }
    }
}

fn no_table(on: On) {
    let place = Place::bare(on);
    let rows = place.hbase.rows("elsewhere", OPTIONS);
    check_fails(rows.swap(Table::Documents, &[swap(0, None, "x")]), ErrorKind::NotFound, &["create.rb"]);
}

hazards! {
    one_of_each,
    many_keep_their_order,
    what_is_lost_is_unknown,
    no_table,
}
