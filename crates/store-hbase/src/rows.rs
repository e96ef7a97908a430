//! The seam between the store and whatever carries its rows: HBase's tables, in terms of keys and cells.

use std::fmt;
use std::time::Duration;

use index::backend::Known;
use index::{ConnectionCounts, Error, ErrorKind, Result};

/// The most results of one page: rows, or pieces of rows.
pub(crate) const PAGE_RESULTS: usize = 512;

/// The same of who goes through a whole table: opening a scanner for each page takes a good part of the time of a short one.
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

/// What HBase calls the two tables of an index.
#[derive(Clone, Debug)]
pub(crate) struct TableNames {
    index: String,
    documents: String,
}

impl TableNames {
    /// Of the index `name`.
    pub(crate) fn new(name: &str) -> Self {
        Self { index: name.to_owned(), documents: format!("{name}_docs") }
    }

    pub(crate) fn of(&self, table: Table) -> &str {
        match table {
            Table::Index => &self.index,
            Table::Documents => &self.documents,
        }
    }

    /// The error where a table or a family is not there.
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

    /// The error where a table is disabled.
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

/// What is left to read of a half-open range of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: Vec<u8>,
    pub(crate) end: Vec<u8>,
    /// Where a page ended inside of a row: only the cells of the row `start` that come after this qualifier.
    pub(crate) within: Option<Vec<u8>>,
    /// The most results of a page of it.
    pub(crate) n_results: usize,
}

impl Span {
    /// All rows from `start` on, before `end`.
    pub(crate) fn new(start: &[u8], end: &[u8]) -> Self {
        Self { start: start.to_vec(), end: end.to_vec(), within: None, n_results: PAGE_RESULTS }
    }

    /// What is left after a page of this span, `None` if that was all. A page that is not full is the last one.
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

    /// From the row after `key`, whose key is the least byte string above it.
    fn after(&self, key: &[u8]) -> Option<Self> {
        let start = successor(key);
        (start < self.end).then(|| Self { start, end: self.end.clone(), within: None, ..*self })
    }
}

/// The least byte string above `key`.
pub(crate) fn successor(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// A change of one cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutation {
    pub(crate) row: Vec<u8>,
    /// Family, a colon, qualifier; to delete all columns of a family, the family alone.
    pub(crate) column: Vec<u8>,
    /// `None` deletes all versions up to the timestamp of the call.
    pub(crate) value: Option<Vec<u8>>,
}

/// Mutations that share a table, a timestamp and a time to live.
#[derive(Clone, Debug)]
pub(crate) struct Mutations {
    pub(crate) table: Table,
    /// Milliseconds: of what is put, and of the newest version that is deleted. It is the caller's, because a delete
    /// hides every put of the same cell whose timestamp is not greater, later ones too.
    pub(crate) timestamp: i64,
    /// After which the cells that are put vanish by themselves.
    pub(crate) time_to_live: Option<Duration>,
    pub(crate) mutations: Vec<Mutation>,
}

/// A change of one cell that holds something known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Swap {
    pub(crate) row: Vec<u8>,
    /// Family, a colon, qualifier.
    pub(crate) column: Vec<u8>,
    /// What it must hold, `None` for nothing at all.
    pub(crate) from: Option<Vec<u8>>,
    pub(crate) to: Vec<u8>,
    /// After which it vanishes by itself.
    pub(crate) time_to_live: Option<Duration>,
}

/// What became of a [`Swap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swapped {
    Done,
    /// The cell holds something else.
    Refused,
    /// The answer was lost, so it may be done or not: whoever has to know reads the cell.
    Unknown,
}

/// How long a master is waited for that is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MasterWait {
    /// As long as any server: there is nothing to be done without it.
    Whole,
    /// For a moment, where the transport asks it itself: all else can be done without it.
    Short,
}

/// A page that was read: the number of its span in the call, and its rows.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(usize, Vec<Row>) -> Result<()>;

/// HBase as this crate needs it. Calls block, may be made from many threads at once, and keep several connections busy
/// where there is work for them.
///
/// All but `swap` are harmless to repeat and are repeated, each request by itself, while there is hope and time:
/// an error in the end says what it was, and how much of the call was done.
pub(crate) trait Rows: Send + Sync {
    /// Reads one page of each span: of a family, up to [`n_results`](Span::n_results) results of up to [`RESULT_CELLS`] cells.
    ///
    /// Pages come in any order, each once; [`Span::rest`] says what is left. An error of `visit` ends the call.
    fn scan(&self, table: Table, family: u8, spans: &[Span], visit: Visit<'_>) -> Result<()>;

    /// As [`scan`](Self::scan), but it may leave open whether the tables are still those of the index. What it has read says
    /// nothing until another call, or [`check`](Self::check), has said so after it.
    fn scan_ahead(&self, table: Table, family: u8, spans: &[Span], visit: Visit<'_>) -> Result<()> {
        self.scan(table, family, spans, visit)
    }

    /// Fails where the tables are not those of the index any more, if [`scan_ahead`](Self::scan_ahead) leaves that
    /// open. It may go by a check of a moment ago.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Some columns of each of these rows, in their order, each row as of one moment. A family alone stands for all of
    /// its columns.
    fn get(&self, table: Table, columns: &[&[u8]], rows: &[Vec<u8>]) -> Result<Vec<Vec<Cell>>>;

    /// As [`get`](Self::get), for a caller that writes nothing by what it reads: it may go by a check of a moment ago.
    fn get_to_read(&self, table: Table, columns: &[&[u8]], rows: &[Vec<u8>]) -> Result<Vec<Vec<Cell>>> {
        self.get(table, columns, rows)
    }

    /// How long the cells of a family stay, `None` for good. It takes a master, which is waited for
    /// by `wait`.
    fn time_to_live(&self, table: Table, family: u8, wait: MasterWait) -> Result<Option<Duration>>;

    /// Whether a table that is there has this family. It takes a master as well.
    fn has_family(&self, table: Table, family: u8, wait: MasterWait) -> Result<bool>;

    /// What HBase calls a table.
    fn name(&self, table: Table) -> &str;

    /// The index that was seen first. Once there is one, every call but [`time_to_live`](Self::time_to_live) fails where the
    /// tables are not its any more, after its work: what an `Ok` says was read or written was this index's.
    fn known(&self) -> &Known;

    /// Applies mutations, in no order.
    fn apply(&self, mutations: &Mutations) -> Result<()>;

    /// Compares and sets cells, each in one step that nothing comes between, and in no order among them. Timestamps are
    /// the server's, and not below that of what was there. None is sent twice, because a second one would meet the first.
    fn swap(&self, table: Table, swaps: &[Swap]) -> Result<Vec<Swapped>>;

    /// How many connections there are.
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
