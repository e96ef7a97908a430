//! Cells as a region server keeps them: every version and every delete marker, until a major
//! compaction.
//!
//! Independent of Thrift, sockets and clocks: callers pass the time.

use std::collections::{BTreeMap, BTreeSet};

use hbase_thrift::hbase::ColumnDescriptor;

/// The missing part of a request.
#[derive(Debug)]
pub(super) enum Missing {
    Table,
    Family(Vec<u8>),
}

/// A cell as a reader gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) family: Vec<u8>,
    pub(super) qualifier: Vec<u8>,
    pub(super) value: Vec<u8>,
    pub(super) timestamp: i64,
}

impl Cell {
    pub(super) fn column(&self) -> Vec<u8> {
        [self.family.as_slice(), b":", self.qualifier.as_slice()].concat()
    }
}

/// A row and its visible cells.
pub(super) type RowCells = (Vec<u8>, Vec<Cell>);

/// The time of a write, and the life of the written cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) timestamp: i64,
    pub(super) ttl_ms: Option<i64>,
}

impl Stamp {
    /// Returns true while the cell lives: its time to live counts from its timestamp, not from the
    /// write; the sum wraps, as it does in Java.
    fn is_live(self, now: i64) -> bool {
        self.ttl_ms.is_none_or(|ttl_ms| self.timestamp.wrapping_add(ttl_ms) >= now)
    }
}

/// Splits `family` or `family:qualifier`; `family:` has the empty qualifier.
pub(super) fn parse_column(column: &[u8]) -> (Vec<u8>, Option<Vec<u8>>) {
    match column.iter().position(|&byte| byte == b':') {
        Some(at) => (column[..at].to_vec(), Some(column[at + 1..].to_vec())),
        None => (column.to_vec(), None),
    }
}

/// The columns that a reader wants; none named means all.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection(BTreeMap<Vec<u8>, Option<BTreeSet<Vec<u8>>>>);

impl Selection {
    /// Reads columns in their order, as `Get` and `Scan` do: a family widens the choice of its
    /// columns before it, and a column narrows the family before it.
    pub(super) fn new(columns: &[Vec<u8>]) -> Self {
        let mut families: BTreeMap<_, Option<BTreeSet<_>>> = BTreeMap::new();
        for column in columns {
            match parse_column(column) {
                (family, Some(qualifier)) => {
                    families.entry(family).or_default().get_or_insert_default().insert(qualifier);
                }
                (family, None) => {
                    families.insert(family, None);
                }
            }
        }
        Self(families)
    }

    fn contains(&self, family: &[u8], qualifier: &[u8]) -> bool {
        match self.0.get(family) {
            Some(Some(qualifiers)) => qualifiers.contains(qualifier),
            Some(None) => true,
            None => self.0.is_empty(),
        }
    }
}

/// The view of a reader: columns, timestamps below `before`, and the time by which cells have
/// expired.
pub(super) struct View<'a> {
    pub(super) selection: &'a Selection,
    pub(super) before: i64,
    pub(super) now: i64,
}

/// A put, or a marker that deletes every put with an equal or older timestamp, in any order of
/// writing.
#[derive(Debug)]
struct Version {
    stamp: Stamp,
    value: Option<Vec<u8>>,
    is_on_disk: bool,
}

#[derive(Debug, Default)]
struct Row {
    /// By family and qualifier, in the order of writing.
    columns: BTreeMap<(Vec<u8>, Vec<u8>), Vec<Version>>,
    /// Markers for whole families.
    families: BTreeMap<Vec<u8>, Vec<Stamp>>,
}

impl Row {
    /// Returns the newest timestamp that a marker for this column hides.
    fn hidden_up_to(&self, family: &[u8], versions: &[Version], now: i64) -> Option<i64> {
        let of_column =
            versions.iter().filter(|version| version.value.is_none()).map(|version| version.stamp);
        let of_family = self.families.get(family).into_iter().flatten().copied();
        of_column.chain(of_family).filter(|marker| marker.is_live(now)).map(|marker| marker.timestamp).max()
    }

    /// Returns the place of the version that a reader gets: the newest of those alive and not
    /// hidden, and among equally new ones the last written.
    fn visible(&self, family: &[u8], versions: &[Version], before: i64, now: i64) -> Option<usize> {
        let hidden_up_to = self.hidden_up_to(family, versions, now);
        let found = versions.iter().enumerate().filter(|(_, Version { stamp, value, .. })| {
            let in_time = stamp.timestamp < before || before == i64::MAX;
            value.is_some() && in_time && stamp.is_live(now) && Some(stamp.timestamp) > hidden_up_to
        });
        found.max_by_key(|(at, version)| (version.stamp.timestamp, *at)).map(|(at, _)| at)
    }

    fn read(&self, view: &View<'_>) -> Vec<Cell> {
        let selected =
            self.columns.iter().filter(|((family, qualifier), _)| view.selection.contains(family, qualifier));
        selected
            .filter_map(|((family, qualifier), versions)| {
                let version = &versions[self.visible(family, versions, view.before, view.now)?];
                Some(Cell {
                    family: family.clone(),
                    qualifier: qualifier.clone(),
                    value: version.value.clone()?,
                    timestamp: version.stamp.timestamp,
                })
            })
            .collect()
    }
}

/// A change within a mutation of one row.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Put { family: Vec<u8>, qualifier: Vec<u8>, value: Vec<u8> },
    Delete { family: Vec<u8>, qualifier: Option<Vec<u8>> },
}

impl Change {
    fn family(&self) -> &[u8] {
        match self {
            Self::Put { family, .. } | Self::Delete { family, .. } => family,
        }
    }
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) families: BTreeMap<Vec<u8>, ColumnDescriptor>,
    /// First rows of the regions, without the first region's, which is empty.
    pub(super) splits: BTreeSet<Vec<u8>>,
    rows: BTreeMap<Vec<u8>, Row>,
}

impl Table {
    pub(super) fn check_family(&self, family: &[u8]) -> Result<(), Missing> {
        if self.families.contains_key(family) { Ok(()) } else { Err(Missing::Family(family.to_vec())) }
    }

    fn check_selection(&self, selection: &Selection) -> Result<(), Missing> {
        selection.0.keys().try_for_each(|family| self.check_family(family))
    }

    /// Makes all changes of a row, or none where a family is missing.
    pub(super) fn change(&mut self, row: &[u8], changes: &[Change], stamp: Stamp) -> Result<(), Missing> {
        changes.iter().try_for_each(|change| self.check_family(change.family()))?;
        let families = &self.families;
        let stamp_of = |family: &Vec<u8>| {
            let of_family = families[family].time_to_live.filter(|&seconds| seconds != i32::MAX);
            let of_family = of_family.map(|seconds| 1_000 * i64::from(seconds));
            Stamp { ttl_ms: stamp.ttl_ms.into_iter().chain(of_family).min(), ..stamp }
        };
        let row = self.rows.entry(row.to_vec()).or_default();
        for change in changes {
            match change.clone() {
                Change::Put { family, qualifier, value } => {
                    let stamp = stamp_of(&family);
                    let versions = row.columns.entry((family, qualifier)).or_default();
                    versions.push(Version { stamp, value: Some(value), is_on_disk: false });
                }
                Change::Delete { family, qualifier: Some(qualifier) } => {
                    let versions = row.columns.entry((family, qualifier)).or_default();
                    versions.push(Version { stamp, value: None, is_on_disk: false });
                }
                Change::Delete { family, qualifier: None } => {
                    row.families.entry(family).or_default().push(stamp);
                }
            }
        }
        Ok(())
    }

    /// Returns the visible cells of a row; none for a missing row.
    pub(super) fn read(&self, row: &[u8], view: &View<'_>) -> Result<Vec<Cell>, Missing> {
        self.check_selection(view.selection)?;
        Ok(self.rows.get(row).map(|row| row.read(view)).unwrap_or_default())
    }

    /// Returns the rows with visible cells from `start` to before `stop` (empty: no end) in the
    /// region of `start`, and the next region's first row, if there is one.
    pub(super) fn scan_region(
        &self,
        start: &[u8],
        stop: &[u8],
        view: &View<'_>,
    ) -> Result<(Vec<RowCells>, Option<Vec<u8>>), Missing> {
        self.check_selection(view.selection)?;
        let is_before_stop = |row: &[u8]| stop.is_empty() || row < stop;
        let next_region =
            self.splits.iter().find(|split| split.as_slice() > start && is_before_stop(split)).cloned();
        let rows = self.rows.range(start.to_vec()..).take_while(|(row, _)| {
            is_before_stop(row) && next_region.as_ref().is_none_or(|next_region| *row < next_region)
        });
        let rows = rows.map(|(row, contents)| (row.clone(), contents.read(view)));
        Ok((rows.filter(|(_, cells)| !cells.is_empty()).collect(), next_region))
    }

    /// Returns all rows with visible cells.
    pub(super) fn scan_all(&self, view: &View<'_>) -> Vec<RowCells> {
        let rows = self.rows.iter().map(|(row, contents)| (row.clone(), contents.read(view)));
        rows.filter(|(_, cells)| !cells.is_empty()).collect()
    }

    /// Writes the memory to disk: the newest live version of each column, and markers. Versions on
    /// disk that they hide stay there.
    fn flush(&mut self, now: i64) {
        for versions in self.rows.values_mut().flat_map(|row| row.columns.values_mut()) {
            let in_memory =
                versions.iter().enumerate().filter(|(_, Version { stamp, value, is_on_disk })| {
                    !is_on_disk && value.is_some() && stamp.is_live(now)
                });
            let newest =
                in_memory.max_by_key(|(at, version)| (version.stamp.timestamp, *at)).map(|(at, _)| at);
            let mut at = 0..;
            versions.retain(|version| at.next() == newest || version.is_on_disk || version.value.is_none());
            versions.iter_mut().for_each(|version| version.is_on_disk = true);
        }
    }

    /// Forgets all that no reader can see any more: the dead, the hidden, all but the newest
    /// version, and every marker.
    fn compact(&mut self, now: i64) {
        for row in self.rows.values_mut() {
            let mut kept = BTreeMap::new();
            for ((family, qualifier), versions) in &row.columns {
                if let Some(at) = row.visible(family, versions, i64::MAX, now) {
                    kept.insert((family.clone(), qualifier.clone()), at);
                }
            }
            row.columns.retain(|column, versions| match kept.get(column) {
                Some(&at) => {
                    *versions = vec![versions.swap_remove(at)];
                    true
                }
                None => false,
            });
            row.families.clear();
        }
        self.rows.retain(|_, row| !row.columns.is_empty());
    }

    pub(super) fn erase(&mut self, row: &[u8]) -> bool {
        self.rows.remove(row).is_some()
    }

    /// Returns the number of versions and markers, visible or not.
    pub(super) fn n_stored(&self) -> usize {
        let rows = self.rows.values();
        rows.map(|row| {
            row.columns.values().map(Vec::len).sum::<usize>()
                + row.families.values().map(Vec::len).sum::<usize>()
        })
        .sum()
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
    pub(super) fn create(
        &mut self,
        name: &[u8],
        families: BTreeMap<Vec<u8>, ColumnDescriptor>,
        splits: &[&[u8]],
    ) {
        let splits = splits.iter().map(|split| split.to_vec()).collect();
        self.0.insert(name.to_vec(), Table { families, splits, rows: BTreeMap::new() });
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
        self.0.values_mut().for_each(|table| table.flush(now));
    }

    pub(super) fn compact(&mut self, now: i64) {
        self.0.values_mut().for_each(|table| table.compact(now));
    }
}
