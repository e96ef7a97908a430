//! Reads the index table from one end of a key range to the other in long pages, for walks through
//! all of the table.

use index::{Cell, CellPage, Cursor, Error, Result, Segments};
use simhash::ROW_KEY_LEN;

use super::access::Access;
use super::layout::{INDEX_FAMILY, bounds, decode_owned_id, decode_row, in_row};
use super::rows::{LONG_PAGE_RESULTS, Row, Span, Table};

/// The first byte of a cursor: `AT_ROW` if the row in the cursor is still to be read, `WITHIN_ROW`
/// if only the cells after a qualifier are.
const AT_ROW: u8 = b'r';
const WITHIN_ROW: u8 = b'w';

/// Implements [`Store::cells`](index::Store::cells).
pub(super) fn cells(
    access: &Access<'_>,
    segments: Segments,
    after: &Cursor,
    limit: usize,
) -> Result<CellPage> {
    let (first, end) = bounds(segments);
    let (start, within) = match after.bytes().split_first() {
        None => (&first[..], None),
        Some((&AT_ROW, start)) => (start, None),
        Some((&WITHIN_ROW, rest)) if rest.len() >= ROW_KEY_LEN => {
            let (row, qualifier) = rest.split_at(ROW_KEY_LEN);
            (row, Some(qualifier.to_vec()))
        }
        Some(_) => return Err(Error::invalid("the cursor is another store's; begin the walk anew")),
    };
    let n_results = limit.min(LONG_PAGE_RESULTS);
    let span = Span { within, n_results, ..Span::new(start, &end) };
    let mut rows: Vec<Row> = Vec::new();
    access.rows.scan(Table::Index, INDEX_FAMILY, std::slice::from_ref(&span), &mut |_, read| {
        rows = read;
        Ok(())
    })?;
    let mut page =
        CellPage { cells: Vec::with_capacity(rows.len()), next: span.rest(&rows).as_ref().map(cursor) };
    for Row { key, cells } in rows {
        let row = decode_row(&key)?;
        for cell in cells {
            if page.cells.len() == limit {
                // A row of several documents has more cells than one.
                page.next = page.cells.last().map(after_cell);
                return Ok(page);
            }
            let id = decode_owned_id(cell.qualifier).map_err(|error| in_row(&key, error))?;
            page.cells.push(Cell { row, id });
        }
    }
    Ok(page)
}

fn cursor(span: &Span) -> Cursor {
    Cursor::from_bytes(match &span.within {
        None => [&[AT_ROW], &span.start[..]].concat(),
        Some(qualifier) => [&[WITHIN_ROW], &span.start[..], qualifier].concat(),
    })
}

fn after_cell(cell: &Cell) -> Cursor {
    Cursor::from_bytes([&[WITHIN_ROW], &cell.row.encode()[..], cell.id.as_str().as_bytes()].concat())
}
