//! The index's notes of time: the runs of the log, and the time of the last write.

use heed::{RoTxn, RwTxn};
use index::Timestamp;
use index::backend::LastWrite;
use index::backend::Runs;

use super::environment::Opened;
use super::errors::Failure;
use super::record::{self, damaged_number, decode_numbers, encode_numbers};

/// The key in `meta` of the first numbers of all runs but the first.
const RUNS_KEY: &str = "runs";

/// The key in `meta` of the time of the last write.
const LAST_WRITE_KEY: &str = "last_write";

/// The runs of the log. An index whose clock has never gone back has one.
pub(super) fn runs(opened: &Opened, txn: &RoTxn<'_>) -> Result<Runs, Failure> {
    let Some(bytes) = opened.meta.get(txn, RUNS_KEY)? else { return Ok(Runs::default()) };
    Ok(Runs::new(decode_numbers(bytes)?).ok_or_else(damaged_number)?)
}

pub(super) fn put_runs(opened: &Opened, txn: &mut RwTxn<'_>, runs: &Runs) -> Result<(), Failure> {
    if runs.begins().is_empty() {
        opened.meta.delete(txn, RUNS_KEY)?;
        return Ok(());
    }
    Ok(opened.meta.put(txn, RUNS_KEY, &encode_numbers(runs.begins()))?)
}

/// The notes about the last write. An index without notes yet has the time of its last document.
pub(super) fn last_write(opened: &Opened, txn: &RoTxn<'_>) -> Result<Option<LastWrite>, Failure> {
    let Some(bytes) = opened.meta.get(txn, LAST_WRITE_KEY)? else {
        let last = last_time(opened, txn)?;
        return Ok(last.map(|at| LastWrite { at, doubted: None }));
    };
    let times = decode_numbers(bytes)?.into_iter().map(|ms| Timestamp::new(i64::try_from(ms).ok()?));
    Ok(match times.collect::<Option<Vec<_>>>().as_deref() {
        Some(&[at]) => Some(LastWrite { at, doubted: None }),
        Some(&[at, first, last]) => Some(LastWrite { at, doubted: Some((first, last)) }),
        _ => return Err(damaged_number().into()),
    })
}

pub(super) fn put_last_write(opened: &Opened, txn: &mut RwTxn<'_>, last: &LastWrite) -> Result<(), Failure> {
    let doubted = last.doubted.into_iter().flat_map(|(first, last)| [first, last]);
    let times: Vec<_> = [last.at].into_iter().chain(doubted).map(|at| at.as_ms().unsigned_abs()).collect();
    Ok(opened.meta.put(txn, LAST_WRITE_KEY, &encode_numbers(&times))?)
}

/// The time of the last document of the log.
pub(super) fn last_time(opened: &Opened, txn: &RoTxn<'_>) -> Result<Option<Timestamp>, Failure> {
    match opened.log.last(txn)? {
        Some((number, bytes)) => Ok(Some(record::decode_time(number, bytes)?)),
        None => Ok(None),
    }
}

/// The first document of the log from a number on, with its time of insertion.
pub(super) fn first_from(
    opened: &Opened,
    txn: &RoTxn<'_>,
    number: u64,
) -> Result<Option<(u64, Timestamp)>, Failure> {
    with_time(opened.log.get_greater_than_or_equal_to(txn, &number)?)
}

/// The last document of the log below a number, with its time of insertion.
pub(super) fn last_below(
    opened: &Opened,
    txn: &RoTxn<'_>,
    number: u64,
) -> Result<Option<(u64, Timestamp)>, Failure> {
    with_time(opened.log.get_lower_than(txn, &number)?)
}

fn with_time(found: Option<(u64, &[u8])>) -> Result<Option<(u64, Timestamp)>, Failure> {
    Ok(match found {
        Some((number, bytes)) => Some((number, record::decode_time(number, bytes)?)),
        None => None,
    })
}
