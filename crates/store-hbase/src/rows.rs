//! The seam between the store and its transports: HBase's tables, in terms of keys and cells.

use std::fmt;
use std::time::Duration;

use index::backend::Known;
use index::{ConnectionCounts, Error, ErrorKind, Result};

/// The most results of one page: rows, or pieces of rows.
pub(crate) const PAGE_RESULTS: usize = 512;

/// The most results of a page in a walk through a whole table: with short pages, opening a scanner
/// for each takes a good part of the time.
pub(crate) const LONG_PAGE_RESULTS: usize = 8_192;

/// The most cells of a row in one result; a row with more comes in pieces.
pub(crate) const RESULT_CELLS: usize = 64;

/// One of the two tables of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Table {
    /// Row keys of fingerprints, `NAME`.
    Index,
    /// A row for each document, and the metadata, `NAME_docs`.
    Documents,
}

/// The names of the two tables of an index in HBase.
#[derive(Clone, Debug)]
pub(crate) struct TableNames {
    index: String,
    documents: String,
}

impl TableNames {
    /// Returns the names of the tables of the index `name`.
    pub(crate) fn new(name: &str) -> Self {
        Self { index: name.to_owned(), documents: format!("{name}_docs") }
    }

    pub(crate) fn of(&self, table: Table) -> &str {
        match table {
            Table::Index => &self.index,
            Table::Documents => &self.documents,
        }
    }

    /// Returns the error of a missing table or family.
    pub(crate) fn missing(&self) -> Error {
        let Self { index, documents } = self;
        Error::new(
            ErrorKind::NotFound,
            format!(
                "the tables {index} and {documents} are not there, or not as they should be; create them with \
                 `TABLE={index} deploy/hbase/hbase shell schema/create.rb`"
            ),
        )
    }

    /// Returns the error of a disabled table.
    pub(crate) fn disabled(&self) -> Error {
        let Self { index, documents } = self;
        Error::new(
            ErrorKind::Disabled,
            format!("a table is disabled; `enable '{index}'` and `enable '{documents}'` in the HBase shell"),
        )
    }
}

impl fmt::Display for TableNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} or {}", self.index, self.documents)
    }
}

/// A cell of a row, without its family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) qualifier: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// Milliseconds, as the writer gave them.
    pub(crate) timestamp: i64,
}

/// A row, or a piece of one, with cells of one family ascending by qualifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) key: Vec<u8>,
    pub(crate) cells: Vec<Cell>,
}

/// The unread rest of a half-open range of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: Vec<u8>,
    pub(crate) end: Vec<u8>,
    /// The last qualifier of a page that ended inside the row `start`: of this row, only the cells
    /// after the qualifier remain.
    pub(crate) within: Option<Vec<u8>>,
    /// The most results of a page of the span.
    pub(crate) n_results: usize,
    /// The least timestamp of cells that are wanted; `None` for all. A transport may give older
    /// cells, too.
    pub(crate) since: Option<i64>,
}

impl Span {
    /// Returns a span of all rows from `start` on, before `end`.
    pub(crate) fn new(start: &[u8], end: &[u8]) -> Self {
        Self { start: start.to_vec(), end: end.to_vec(), within: None, n_results: PAGE_RESULTS, since: None }
    }

    /// Returns the parts of a whole table, with long pages: one from each start to the next, and
    /// the last one to `end`.
    pub(crate) fn parts(starts: &[Vec<u8>], end: &[u8]) -> Vec<Self> {
        let ends = starts.iter().skip(1).map(Vec::as_slice).chain([end]);
        let long =
            |(start, end): (&Vec<u8>, &[u8])| Self { n_results: LONG_PAGE_RESULTS, ..Self::new(start, end) };
        starts.iter().zip(ends).map(long).collect()
    }

    /// Returns the rest of the span after a page, `None` if nothing remains. A page that is not
    /// full is the last one.
    pub(crate) fn rest(&self, page: &[Row]) -> Option<Self> {
        let Some(last) = page.last().filter(|_| page.len() >= self.n_results) else {
            return self.within.as_ref().and_then(|_| self.after(&self.start));
        };
        match last.cells.last() {
            Some(cell) if last.cells.len() >= RESULT_CELLS => {
                let within = Some(cell.qualifier.clone());
                Some(Self { start: last.key.clone(), end: self.end.clone(), within, ..*self })
            }
            _ => self.after(&last.key),
        }
    }

    /// Returns the span from the row after `key`, whose key is the least byte string above `key`.
    fn after(&self, key: &[u8]) -> Option<Self> {
        let start = successor(key);
        (start < self.end).then(|| Self { start, end: self.end.clone(), within: None, ..*self })
    }
}

/// Returns the least byte string above `key`.
pub(crate) fn successor(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// A change of one cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutation {
    pub(crate) row: Vec<u8>,
    /// Family, a colon, qualifier; the family alone, to delete all columns of a family.
    pub(crate) column: Vec<u8>,
    /// `None` deletes all versions up to the timestamp of the call.
    pub(crate) value: Option<Vec<u8>>,
}

/// Mutations that share a table, a timestamp and a time to live.
#[derive(Clone, Debug)]
pub(crate) struct Mutations {
    pub(crate) table: Table,
    /// Milliseconds: the timestamp of puts, and of the newest version to delete. The caller chooses
    /// it, because a delete hides every put of the same cell with an equal or smaller timestamp,
    /// even a later put.
    pub(crate) timestamp: i64,
    /// The time after which the put cells vanish by themselves.
    pub(crate) time_to_live: Option<Duration>,
    pub(crate) mutations: Vec<Mutation>,
}

/// A change of one cell that must hold a known value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Swap {
    pub(crate) row: Vec<u8>,
    /// Family, a colon, qualifier.
    pub(crate) column: Vec<u8>,
    /// The value that the cell must hold, `None` for no cell at all.
    pub(crate) from: Option<Vec<u8>>,
    pub(crate) to: Vec<u8>,
    /// The time after which the new cell vanishes by itself.
    pub(crate) time_to_live: Option<Duration>,
}

/// The outcome of a [`Swap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swapped {
    Done,
    /// The cell holds another value.
    Refused,
    /// The answer was lost, and the swap may be done or not: a caller that has to know reads the
    /// cell.
    Unknown,
}

/// The patience with a master that is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MasterWait {
    /// As with any server: the call cannot be done without the master.
    Whole,
    /// A moment, where the transport asks the master itself: the caller can go on without the
    /// answer.
    Short,
}

/// Takes a page that was read: the number of its span in the call, and its rows.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(usize, Vec<Row>) -> Result<()>;

/// The operations of HBase that this crate needs. Calls block, may be made from many threads at
/// once, and keep several connections busy where there is work for them.
///
/// All but `swap` are harmless to repeat and are repeated, each request by itself, while there is
/// hope and time. The final error gives its reason, and how much of the call was done.
pub(crate) trait Rows: Send + Sync {
    /// Reads one page of a family of each span: up to [`n_results`](Span::n_results) results of up
    /// to [`RESULT_CELLS`] cells.
    ///
    /// Pages come in any order, each once; [`Span::rest`] gives the rest. An error of `visit` ends
    /// the call.
    fn scan(&self, table: Table, family: u8, spans: &[Span], visit: Visit<'_>) -> Result<()>;

    /// Reads as [`scan`](Self::scan) does, and may leave open if the tables still belong to the
    /// index. The pages are valid once a later call, or [`check`](Self::check), has confirmed the
    /// tables.
    fn scan_ahead(&self, table: Table, family: u8, spans: &[Span], visit: Visit<'_>) -> Result<()> {
        self.scan(table, family, spans, visit)
    }

    /// Fails where the tables no longer belong to the index, if [`scan_ahead`](Self::scan_ahead)
    /// leaves this open. A check of a moment ago may stand in.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Returns some columns of each of these rows, in their order, each row as of one moment. A
    /// family alone stands for all of its columns.
    fn get(&self, table: Table, columns: &[&[u8]], rows: &[Vec<u8>]) -> Result<Vec<Vec<Cell>>>;

    /// Reads as [`get`](Self::get) does, for a caller that bases no write on the result: a check of
    /// a moment ago may stand in for a new one.
    fn get_to_read(&self, table: Table, columns: &[&[u8]], rows: &[Vec<u8>]) -> Result<Vec<Vec<Cell>>> {
        self.get(table, columns, rows)
    }

    /// Returns the time for which the cells of a family stay, `None` for ever. Needs a master;
    /// `wait` is the patience with one that is away.
    fn time_to_live(&self, table: Table, family: u8, wait: MasterWait) -> Result<Option<Duration>>;

    /// Returns true if an existing table has this family. Needs a master, as
    /// [`time_to_live`](Self::time_to_live) does.
    fn has_family(&self, table: Table, family: u8, wait: MasterWait) -> Result<bool>;

    /// Returns the name of a table in HBase.
    fn name(&self, table: Table) -> &str;

    /// Returns the index that was seen first. Once there is one, every request but those of
    /// [`time_to_live`](Self::time_to_live) and [`has_family`](Self::has_family) fails after its
    /// work if the tables belong to another index by then: an `Ok` holds for this index.
    fn known(&self) -> &Known;

    /// Applies mutations, in no order.
    fn apply(&self, mutations: &Mutations) -> Result<()>;

    /// Compares and sets cells, each atomically, and in no order among them. Timestamps are the
    /// server's, and not below that of the earlier version. No swap is sent twice, because a second
    /// one would meet the first.
    fn swap(&self, table: Table, swaps: &[Swap]) -> Result<Vec<Swapped>>;

    /// Returns the number of connections.
    fn connections(&self) -> ConnectionCounts;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: &[u8], n_cells: usize) -> Row {
        let cell = |n| Cell { qualifier: vec![n as u8], value: Vec::new(), timestamp: 1 };
        Row { key: key.to_vec(), cells: (0..n_cells).map(cell).collect() }
    }

    #[test]
    fn what_is_left_of_a_span() {
        let span = Span::new(b"a", b"z");
        assert_eq!(span.rest(&[]), None);
        assert_eq!(span.rest(&vec![row(b"b", 1); PAGE_RESULTS - 1]), None);
        let mut page = vec![row(b"b", 1); PAGE_RESULTS];
        assert_eq!(span.rest(&page), Some(Span::new(b"b\0", b"z")));
        *page.last_mut().unwrap() = row(b"c", RESULT_CELLS);
        let within = Span { within: Some(vec![RESULT_CELLS as u8 - 1]), ..Span::new(b"c", b"z") };
        assert_eq!(span.rest(&page), Some(within.clone()));
        // The rest of the row, then the rows after it; at the end of the range there are none.
        assert_eq!(within.rest(&[row(b"c", 3)]), Some(Span::new(b"c\0", b"z")));
        assert_eq!(within.rest(&[]), Some(Span::new(b"c\0", b"z")));
        let last = Span { end: b"c\0".to_vec(), ..within };
        assert_eq!(last.rest(&[]), None);
    }
}
