//! The tables of the gateway by name: their cells, and the regions and families that a gateway
//! tells of.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use hbase_rpc::fake::{self, View};
use hbase_rpc::{Cell, CellType};
use hbase_thrift::hbase::ColumnDescriptor;

/// The missing part of a request.
#[derive(Debug)]
pub(super) enum Missing {
    Table,
    Family(Vec<u8>),
}

/// A row and its visible cells.
pub(super) type RowCells = (Bytes, Vec<Cell>);

/// The qualifiers of each family that a reader wants; none means all.
pub(super) type Columns = Vec<(Bytes, Vec<Bytes>)>;

/// Splits `family` or `family:qualifier`; `family:` has the empty qualifier.
pub(super) fn parse_column(column: &[u8]) -> (Bytes, Option<Bytes>) {
    let copy = Bytes::copy_from_slice;
    match column.iter().position(|&byte| byte == b':') {
        Some(at) => (copy(&column[..at]), Some(copy(&column[at + 1..]))),
        None => (copy(column), None),
    }
}

/// Returns the name of a cell's column.
pub(super) fn column(cell: &Cell) -> Vec<u8> {
    [&cell.family[..], b":", &cell.qualifier].concat()
}

/// Reads columns in their order, as `Get` and `Scan` do: a family widens the choice of its columns
/// before it, and a column narrows the family before it.
pub(super) fn columns(names: &[Vec<u8>]) -> Columns {
    let mut families: BTreeMap<Bytes, Vec<Bytes>> = BTreeMap::new();
    for name in names {
        match parse_column(name) {
            (family, Some(qualifier)) => families.entry(family).or_default().push(qualifier),
            (family, None) => drop(families.insert(family, Vec::new())),
        }
    }
    families.into_iter().collect()
}

/// Returns the change of a cell: a put of a value or, without one, a delete of all versions up to
/// the timestamp; without a qualifier, of all columns of the family.
pub(super) fn change(
    row: &[u8],
    (family, qualifier): (Bytes, Option<Bytes>),
    value: Option<Vec<u8>>,
    timestamp: i64,
) -> Cell {
    let kind = match (&value, &qualifier) {
        (Some(_), _) => CellType::Put,
        (None, Some(_)) => CellType::DeleteColumn,
        (None, None) => CellType::DeleteFamily,
    };
    let (row, qualifier) = (Bytes::copy_from_slice(row), qualifier.unwrap_or_default());
    Cell { row, family, qualifier, timestamp, kind, value: value.unwrap_or_default().into() }
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) families: BTreeMap<Vec<u8>, ColumnDescriptor>,
    /// First rows of the regions, without the first region's, which is empty.
    splits: BTreeSet<Vec<u8>>,
    pub(super) cells: fake::Table,
}

impl Table {
    pub(super) fn check_family(&self, family: &[u8]) -> Result<(), Missing> {
        if self.families.contains_key(family) { Ok(()) } else { Err(Missing::Family(family.to_vec())) }
    }

    fn check(&self, view: &View<'_>) -> Result<(), Missing> {
        view.columns.iter().try_for_each(|(family, _)| self.check_family(family))
    }

    /// Describes a family anew.
    pub(super) fn describe(&mut self, name: &[u8], family: ColumnDescriptor) {
        let seconds = family.time_to_live.filter(|&seconds| seconds != i32::MAX);
        self.cells.families.insert(Bytes::copy_from_slice(name), seconds.map(i32::unsigned_abs));
        self.families.insert(name.to_vec(), family);
    }

    /// Makes all changes, or none where a family is missing.
    pub(super) fn apply(&mut self, changes: &[Cell], life: Option<i64>, now: i64) -> Result<(), Missing> {
        changes.iter().try_for_each(|change| self.check_family(&change.family))?;
        self.cells.apply(changes.to_vec(), life, now);
        Ok(())
    }

    /// Returns the visible cells of a row; none for a missing row.
    pub(super) fn read(&self, row: &[u8], view: &View<'_>) -> Result<Vec<Cell>, Missing> {
        self.check(view)?;
        Ok(self.cells.visible(row, view))
    }

    /// Returns the rows with visible cells from `start` to before `stop` (empty: no end) in the
    /// region of `start`, and the next region's first row, if there is one.
    pub(super) fn scan_region(
        &self,
        start: &[u8],
        stop: &[u8],
        view: &View<'_>,
    ) -> Result<(Vec<RowCells>, Option<Vec<u8>>), Missing> {
        self.check(view)?;
        let is_before_stop = |row: &[u8]| stop.is_empty() || row < stop;
        let next_region =
            self.splits.iter().find(|split| split.as_slice() > start && is_before_stop(split)).cloned();
        let rows = self.cells.rows(start, next_region.as_deref().unwrap_or(stop), view);
        Ok((rows.collect(), next_region))
    }

    /// Returns the first row and the end of each region; an empty end is none.
    pub(super) fn regions(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let starts = [Vec::new()].into_iter().chain(self.splits.iter().cloned());
        let ends = self.splits.iter().cloned().chain([Vec::new()]);
        starts.zip(ends).collect()
    }
}

/// The tables by name.
#[derive(Debug, Default)]
pub(super) struct Store(BTreeMap<Vec<u8>, Table>);

impl Store {
    /// Creates a table without families.
    pub(super) fn create(&mut self, name: &[u8], splits: &[&[u8]]) -> &mut Table {
        let splits = splits.iter().map(|split| split.to_vec()).collect();
        let table = Table { families: BTreeMap::new(), splits, cells: fake::Table::default() };
        self.0.insert(name.to_vec(), table);
        self.0.get_mut(name).expect("it was inserted")
    }

    pub(super) fn remove(&mut self, name: &[u8]) -> bool {
        self.0.remove(name).is_some()
    }

    pub(super) fn names(&self) -> Vec<Vec<u8>> {
        self.0.keys().cloned().collect()
    }

    pub(super) fn table(&self, name: &[u8]) -> Result<&Table, Missing> {
        self.0.get(name).ok_or(Missing::Table)
    }

    pub(super) fn table_mut(&mut self, name: &[u8]) -> Result<&mut Table, Missing> {
        self.0.get_mut(name).ok_or(Missing::Table)
    }

    pub(super) fn flush(&mut self, now: i64) {
        self.0.values_mut().for_each(|table| table.cells.flush(now));
    }

    pub(super) fn compact(&mut self, now: i64) {
        self.0.values_mut().for_each(|table| table.cells.compact(now));
    }
}
