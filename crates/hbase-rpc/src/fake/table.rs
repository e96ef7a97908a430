//! A table as region servers keep it: every version and every delete marker, until a compaction.
//!
//! Independent of protocols, sockets and clocks: callers pass the time.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;

use crate::{Cell, CellType, LATEST};

/// A table: its families, each with its life in seconds, and its rows.
#[derive(Debug, Default)]
pub struct Table {
    /// The seconds after which the cells of each family vanish.
    pub families: BTreeMap<Bytes, Option<u32>>,
    /// Enabled or not, as in `hbase:meta`.
    pub(super) state: i32,
    rows: BTreeMap<Bytes, Row>,
}

/// The columns and the moment of a read.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The qualifiers of each family, as in [`crate::Get`]: without any all of the family. Without
    /// families, all columns.
    pub columns: &'a [(Bytes, Vec<Bytes>)],
    /// Only versions of this time and later are read.
    pub since: i64,
    /// Only versions of earlier times are read, unless it is [`LATEST`].
    pub before: i64,
    /// The time of the server.
    pub now: i64,
}

impl View<'_> {
    /// Creates a view of all columns.
    #[must_use]
    pub fn at(now: i64) -> Self {
        View { columns: &[], since: 0, before: LATEST, now }
    }

    fn has(&self, family: &Bytes, qualifier: &Bytes) -> bool {
        let fits = |(wanted, qualifiers): &(Bytes, Vec<Bytes>)| {
            wanted == family && (qualifiers.is_empty() || qualifiers.contains(qualifier))
        };
        self.columns.is_empty() || self.columns.iter().any(fits)
    }
}

/// The qualifiers that `ColumnRangeFilter` lets pass; an empty end is no end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRange {
    /// The first qualifier.
    pub min: Bytes,
    /// True if `min` passes.
    pub includes_min: bool,
    /// The last qualifier.
    pub max: Bytes,
    /// True if `max` passes.
    pub includes_max: bool,
}

impl ColumnRange {
    /// Returns true if cells of this qualifier pass.
    #[must_use]
    pub fn has(&self, qualifier: &[u8]) -> bool {
        let (min, max) = (&self.min[..], &self.max[..]);
        (min.is_empty() || qualifier > min || self.includes_min && qualifier == min)
            && (max.is_empty() || qualifier < max || self.includes_max && qualifier == max)
    }
}

#[derive(Debug, Default)]
struct Row {
    /// By family and qualifier, in the order of writing.
    columns: BTreeMap<(Bytes, Bytes), Vec<Version>>,
    /// Markers for whole families.
    families: BTreeMap<Bytes, Vec<Version>>,
}

/// A put, or a marker that hides puts of an equal time or, mostly, of earlier times as well,
/// written before it or after it.
#[derive(Clone, Debug)]
struct Version {
    kind: CellType,
    timestamp: i64,
    life: Option<i64>,
    value: Bytes,
    is_on_disk: bool,
}

impl Version {
    /// Returns true while the version is alive: its life counts from its timestamp, not from the
    /// write; the sum wraps, as it does in Java.
    fn is_live(&self, of_family: Option<i64>, now: i64) -> bool {
        let life = self.life.into_iter().chain(of_family).min();
        life.is_none_or(|life| self.timestamp.wrapping_add(life) >= now)
    }

    fn is_put(&self) -> bool {
        self.kind == CellType::Put
    }
}

impl Row {
    /// Returns the place of the version that a reader gets: the newest of those alive and not
    /// hidden, and among equally new ones the last written.
    fn visible(
        &self,
        family: &Bytes,
        versions: &[Version],
        life: Option<i64>,
        View { since, before, now, .. }: View<'_>,
    ) -> Option<usize> {
        let of_family = self.families.get(family).into_iter().flatten();
        let markers = versions.iter().filter(|version| !version.is_put()).chain(of_family);
        let markers: Vec<_> = markers.filter(|marker| marker.is_live(None, now)).collect();
        let is_hidden = |timestamp: i64| {
            markers.iter().any(|marker| match marker.kind {
                CellType::Delete => marker.timestamp == timestamp,
                _ => marker.timestamp >= timestamp,
            })
        };
        let found = versions.iter().enumerate().filter(|(_, version)| {
            let timestamp = version.timestamp;
            let is_in_time = timestamp >= since && (timestamp < before || before == LATEST);
            version.is_put() && is_in_time && version.is_live(life, now) && !is_hidden(timestamp)
        });
        found.max_by_key(|(place, version)| (version.timestamp, *place)).map(|(place, _)| place)
    }
}

impl Table {
    /// Creates a table of these families, each with its life in seconds.
    #[must_use]
    pub fn new(families: impl IntoIterator<Item = (Bytes, Option<u32>)>) -> Self {
        Self { families: families.into_iter().collect(), ..Self::default() }
    }

    /// Returns the cells of a row that a reader sees, in the order of columns.
    #[must_use]
    pub fn visible(&self, key: &[u8], view: &View<'_>) -> Vec<Cell> {
        let row = self.rows.get_key_value(key);
        row.map(|(key, row)| self.cells(key, row, view)).unwrap_or_default()
    }

    fn cells(&self, key: &Bytes, row: &Row, view: &View<'_>) -> Vec<Cell> {
        let wanted = row.columns.iter().filter(|((family, qualifier), _)| view.has(family, qualifier));
        let cell = |((family, qualifier), versions): (&(Bytes, Bytes), &Vec<Version>)| {
            let version = &versions[row.visible(family, versions, life_of(&self.families, family), *view)?];
            Some(Cell {
                row: key.clone(),
                family: family.clone(),
                qualifier: qualifier.clone(),
                timestamp: version.timestamp,
                kind: CellType::Put,
                value: version.value.clone(),
            })
        };
        wanted.filter_map(cell).collect()
    }

    /// Returns the rows that a reader sees from `start` to before `stop`; an empty `stop` is the
    /// end of the table.
    pub fn rows<'a>(
        &'a self,
        start: &[u8],
        stop: &[u8],
        view: &'a View<'a>,
    ) -> impl Iterator<Item = (Bytes, Vec<Cell>)> + use<'a> {
        let stop = Bytes::copy_from_slice(stop);
        let rows = self.rows.range::<[u8], _>((Bound::Included(start), Bound::Unbounded));
        let rows = rows.take_while(move |(key, _)| stop.is_empty() || **key < stop);
        let rows = rows.map(|(key, row)| (key.clone(), self.cells(key, row, view)));
        rows.filter(|(_, cells)| !cells.is_empty())
    }

    /// Puts and deletes cells of families that are there, each with its own time, or with `now` for
    /// [`LATEST`]; all of them vanish after `life` milliseconds.
    pub fn apply(&mut self, cells: Vec<Cell>, life: Option<i64>, now: i64) {
        for Cell { row, family, qualifier, timestamp, kind, value } in cells {
            let row = self.rows.entry(row).or_default();
            let timestamp = if timestamp == LATEST { now } else { timestamp };
            let version = Version { kind, timestamp, life, value, is_on_disk: false };
            match kind {
                CellType::DeleteFamily => row.families.entry(family).or_default().push(version),
                _ => row.columns.entry((family, qualifier)).or_default().push(version),
            }
        }
    }

    /// Returns the time of a change on the condition that a cell has a value, `None` where it has
    /// another one. The time of a cell does not go back with the server's clock. An empty value
    /// stands for no cell, too.
    #[must_use]
    pub fn time_of_change(
        &self,
        row: &[u8],
        (family, qualifier): (Bytes, Bytes),
        expected: &[u8],
        now: i64,
    ) -> Option<i64> {
        let columns = [(family, vec![qualifier])];
        let found = self.visible(row, &View { columns: &columns, ..View::at(now) }).pop();
        let (value, timestamp) = found.map_or((Bytes::new(), now), |cell| (cell.value, cell.timestamp));
        (value == expected).then_some(timestamp.max(now))
    }

    /// Writes the memory to disk: the newest live version of each column, and markers. Versions on
    /// disk that they hide stay there.
    pub fn flush(&mut self, now: i64) {
        let Self { families, rows, .. } = self;
        for ((family, _), versions) in rows.values_mut().flat_map(|row| &mut row.columns) {
            let life = life_of(families, family);
            let in_memory = versions
                .iter()
                .enumerate()
                .filter(|(_, version)| !version.is_on_disk && version.is_put() && version.is_live(life, now));
            let newest = in_memory.max_by_key(|(place, version)| (version.timestamp, *place));
            let newest = newest.map(|(place, _)| place);
            let mut place = 0..;
            versions.retain(|version| place.next() == newest || version.is_on_disk || !version.is_put());
            versions.iter_mut().for_each(|version| version.is_on_disk = true);
        }
    }

    /// Forgets all that no reader can see any more: the dead, the hidden, all but the newest
    /// version, and every marker.
    pub fn compact(&mut self, now: i64) {
        let Self { families, rows, .. } = self;
        for row in rows.values_mut() {
            let kept = row.columns.iter().filter_map(|((family, qualifier), versions)| {
                let place = row.visible(family, versions, life_of(families, family), View::at(now))?;
                Some(((family.clone(), qualifier.clone()), vec![versions[place].clone()]))
            });
            let columns = kept.collect();
            *row = Row { columns, families: BTreeMap::new() };
        }
        rows.retain(|_, row| !row.columns.is_empty());
    }

    /// Loses a row with its versions and delete markers, which nothing in HBase does; returns true
    /// if it was there.
    pub fn erase(&mut self, row: &[u8]) -> bool {
        self.rows.remove(row).is_some()
    }

    /// Returns the number of versions and markers, visible or not.
    #[must_use]
    pub fn n_stored(&self) -> usize {
        let n = |row: &Row| row.columns.values().chain(row.families.values()).map(Vec::len).sum::<usize>();
        self.rows.values().map(n).sum()
    }
}

/// Returns the life of the cells of a family, in milliseconds.
fn life_of(families: &BTreeMap<Bytes, Option<u32>>, family: &Bytes) -> Option<i64> {
    families.get(family).copied().flatten().map(|seconds| i64::from(seconds) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(kind: CellType, timestamp: i64, value: &'static str) -> Cell {
        let (row, family, qualifier) = ("r".into(), "f".into(), "q".into());
        Cell { row, family, qualifier, timestamp, kind, value: value.into() }
    }

    #[test]
    fn a_delete_hides_what_is_not_newer() {
        let mut table = Table::new([("f".into(), None)]);
        let mut seen = Vec::new();
        for (kind, time, value, life) in [
            (CellType::Put, 5, "five", None),
            (CellType::Put, 3, "three", None),
            (CellType::DeleteColumn, 5, "", None),
            (CellType::Put, 5, "late", None),
            (CellType::Put, 6, "six", Some(1)),
            (CellType::Put, LATEST, "now", None),
            (CellType::Delete, 10, "", None),
            (CellType::DeleteFamily, LATEST, "", None),
        ] {
            table.apply(vec![cell(kind, time, value)], life, 10);
            let cells = table.visible(b"r", &View::at(7));
            seen.push(
                cells.first().map_or(String::new(), |cell| String::from_utf8_lossy(&cell.value).into()),
            );
        }
        assert_eq!(seen, ["five", "five", "", "", "six", "now", "six", ""]);
        table.apply(vec![cell(CellType::Put, 11, "eleven")], None, 10);
        assert_eq!(table.visible(b"r", &View::at(11)).len(), 1);
    }

    #[test]
    fn a_change_on_a_condition_has_no_earlier_time() {
        let mut table = Table::new([("f".into(), Some(1))]);
        let time = |table: &Table, expected: &str, now| {
            table.time_of_change(b"r", ("f".into(), "q".into()), expected.as_bytes(), now)
        };
        assert_eq!(time(&table, "", 7), Some(7));
        assert_eq!(time(&table, "a", 7), None);
        table.apply(vec![cell(CellType::Put, 9, "a")], None, 7);
        assert_eq!(time(&table, "a", 7), Some(9));
        assert_eq!(time(&table, "", 7), None);
        // The life of the family has ended.
        assert_eq!(time(&table, "", 1_010), Some(1_010));
    }

    #[test]
    fn columns_of_a_range() {
        let range = |min: &'static str, includes_min, max: &'static str, includes_max| ColumnRange {
            min: min.into(),
            includes_min,
            max: max.into(),
            includes_max,
        };
        let has =
            |range: &ColumnRange| ["", "b", "c", "d", "e"].map(|qualifier| range.has(qualifier.as_bytes()));
        assert_eq!(has(&range("b", true, "d", false)), [false, true, true, false, false]);
        assert_eq!(has(&range("b", false, "d", true)), [false, false, true, true, false]);
        assert_eq!(has(&range("", false, "", false)), [true; 5]);
        assert_eq!(has(&range("d", true, "b", true)), [false; 5]);
    }
}
