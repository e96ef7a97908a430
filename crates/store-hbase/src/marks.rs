//! Marks of jobs, by which tables put back to an older copy are recognised.
//!
//! HBase numbers no writes. So a job that may have to go on later counts its marks in a cell beside
//! the metadata, after the writes that the mark stands for. Tables restored from a snapshot of
//! before have a lower number, or the same number from another job.

use index::{Result, WriteMark};

use super::drawn::drawn;
use super::layout::{MARK_COLUMN, METADATA_ROW, damaged, in_row};
use super::rows::{Rows, Swap, Swapped, Table};

/// Returns the last mark; `None` before the first.
pub(super) fn last(rows: &dyn Rows) -> Result<Option<WriteMark>> {
    stored(rows)?.as_deref().map(decode).transpose()
}

/// Writes the next mark, and returns it.
pub(super) fn next(rows: &dyn Rows) -> Result<WriteMark> {
    loop {
        let from = stored(rows)?;
        let number = from.as_deref().map(decode).transpose()?.map_or(0, |last| last.number) + 1;
        let mark = WriteMark { number, checksum: Some(drawn() as u32) };
        let (row, column) = (METADATA_ROW.to_vec(), MARK_COLUMN.to_vec());
        let put = Swap { row, column, from, to: encode(&mark), time_to_live: None };
        // After another job's mark, or a lost answer, the number after that is as good.
        if rows.swap(Table::Documents, &[put])? == [Swapped::Done] {
            return Ok(mark);
        }
    }
}

/// Returns true if the tables have this mark, or a later one.
pub(super) fn has(rows: &dyn Rows, mark: &WriteMark) -> Result<bool> {
    Ok(last(rows)?.is_some_and(|last| last.number > mark.number || last == *mark))
}

fn stored(rows: &dyn Rows) -> Result<Option<Vec<u8>>> {
    let rows = rows.get(Table::Documents, &[MARK_COLUMN], &[METADATA_ROW.to_vec()])?;
    Ok(rows.into_iter().flatten().next().map(|cell| cell.value))
}

/// Writes the mark as words: the number, and a number drawn for it.
fn encode(mark: &WriteMark) -> Vec<u8> {
    format!("{} {:08x}", mark.number, mark.checksum.unwrap_or_default()).into_bytes()
}

/// Reads stored words back; accepts exactly the output of [`encode`].
fn decode(bytes: &[u8]) -> Result<WriteMark> {
    let mark = std::str::from_utf8(bytes).ok().and_then(|words| {
        let (number, drawn) = words.split_once(' ')?;
        let checksum = Some(u32::from_str_radix(drawn, 16).ok()?);
        Some(WriteMark { number: number.parse().ok()?, checksum })
    });
    mark.filter(|mark| encode(mark) == bytes)
        .ok_or_else(|| in_row(METADATA_ROW, damaged("the mark", bytes, "is not one of a job")))
}
