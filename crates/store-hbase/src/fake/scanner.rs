//! Open scanners. They belong to the gateway and not to a connection: one that is never closed
//! stays.

use std::collections::{BTreeMap, VecDeque};

use hbase_rpc::fake::View;
use hbase_thrift::hbase::{TRowResult, TScan};

use super::filter::Filter;
use super::reply;
use super::store::{Columns, Missing, RowCells, Store, columns};

/// The open scanners by id. Ids begin at 0 again when the gateway does.
#[derive(Debug, Default)]
pub(super) struct Scanners {
    open: BTreeMap<i32, Scanner>,
    next_id: i32,
}

impl Scanners {
    pub(super) fn add(&mut self, scanner: Scanner) -> i32 {
        let id = self.next_id;
        self.next_id += 1;
        self.open.insert(id, scanner);
        id
    }

    pub(super) fn get_mut(&mut self, id: i32) -> Option<&mut Scanner> {
        self.open.get_mut(&id)
    }

    pub(super) fn remove(&mut self, id: i32) -> Option<Scanner> {
        self.open.remove(&id)
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Forgets all scanners, as the real gateway does after two minutes without use; ids go on from
    /// the last.
    pub(super) fn expire(&mut self) {
        self.open.clear();
    }
}

/// A scan under way. It reads a region when it comes to it: the results of one region are of one
/// moment, and those of the next region of a later one.
#[derive(Debug)]
pub(super) struct Scanner {
    pub(super) table: Vec<u8>,
    /// The beginning of the next region, `None` after the last.
    next: Option<Vec<u8>>,
    stop: Vec<u8>,
    columns: Columns,
    filter: Filter,
    batch_size: usize,
    sort_columns: bool,
    results: VecDeque<RowCells>,
}

impl Scanner {
    /// Returns `None` for an unknown filter. A missing table or family shows at the first read.
    pub(super) fn new(table: Vec<u8>, scan: TScan) -> Option<Self> {
        let filter = match scan.filter_string {
            Some(text) => Filter::parse(&text)?,
            None => Filter::default(),
        };
        let start = scan.start_row.unwrap_or_default();
        let mut stop = scan.stop_row.unwrap_or_default();
        if !stop.is_empty() && start == stop {
            // Equal ends are a get: the one place where the stop row is included.
            stop.push(0);
        }
        Some(Self {
            table,
            next: Some(start),
            stop,
            columns: columns(&scan.columns.unwrap_or_default()),
            filter,
            batch_size: scan.batch_size.and_then(|size| usize::try_from(size).ok()).unwrap_or(0),
            sort_columns: scan.sort_columns.unwrap_or(false),
            results: VecDeque::new(),
        })
    }

    /// Returns the next results, at most `n`: rows, or pieces of rows where there is a batch size.
    pub(super) fn next(&mut self, store: &Store, n: usize, now: i64) -> Result<Vec<TRowResult>, Missing> {
        while self.results.len() < n {
            let Some(start) = self.next.clone() else { break };
            let view = View { columns: &self.columns, ..View::at(now) };
            let (rows, next) = store.table(&self.table)?.scan_region(&start, &self.stop, &view)?;
            for (row, cells) in rows {
                let cells = cells.into_iter().filter_map(|mut cell| {
                    cell.value = self.filter.apply(&cell.qualifier, cell.value)?;
                    Some(cell)
                });
                let cells: Vec<_> = cells.collect();
                let size = if self.batch_size == 0 { cells.len().max(1) } else { self.batch_size };
                self.results.extend(cells.chunks(size).map(|piece| (row.clone(), piece.to_vec())));
            }
            self.next = next;
        }
        let n = n.min(self.results.len());
        let results = self.results.drain(..n);
        Ok(results.map(|(row, cells)| reply::row_result(row.to_vec(), cells, self.sort_columns)).collect())
    }
}
