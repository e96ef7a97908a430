//! Rows with their versions, as HBase keeps them before a compaction: deleted cells are hidden, not
//! gone.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::Failure;
use crate::messages::Column as Selected;
use crate::{Cell, CellType, LATEST};

/// A table: its families with their life in seconds, its state as in `hbase:meta`, and its rows.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) families: BTreeMap<Bytes, Option<u32>>,
    pub(super) state: i32,
    pub(super) rows: BTreeMap<Bytes, Row>,
}

/// A row.
#[derive(Debug, Default)]
pub(super) struct Row {
    columns: BTreeMap<(Bytes, Bytes), Versions>,
    /// For each family, the time up to which it is deleted.
    deleted: BTreeMap<Bytes, i64>,
}

#[derive(Debug, Default)]
struct Versions {
    /// By time: the value, and its life in milliseconds.
    puts: BTreeMap<i64, (Bytes, Option<i64>)>,
    /// The time up to which all versions are deleted.
    deleted_to: Option<i64>,
    /// The times of versions deleted one by one.
    deleted: BTreeSet<i64>,
}

impl Table {
    /// Checks that the table has a family.
    ///
    /// # Errors
    /// If the table has no such family.
    pub(super) fn check_family(&self, family: &[u8]) -> Result<(), Failure> {
        if self.families.contains_key(family) {
            return Ok(());
        }
        let what = format!("Column family {} does not exist", String::from_utf8_lossy(family));
        Err(Failure::last("regionserver.NoSuchColumnFamilyException", &what))
    }

    /// Returns the cells of a row that a reader of these columns sees, in the order of columns.
    pub(super) fn visible(&self, key: &Bytes, selected: &[Selected], now: i64) -> Vec<Cell> {
        let Some(row) = self.rows.get(key) else { return Vec::new() };
        let is_selected = |family: &Bytes, qualifier: &Bytes| {
            let fits = |one: &Selected| {
                one.family == family && (one.qualifiers.is_empty() || one.qualifiers.contains(qualifier))
            };
            selected.is_empty() || selected.iter().any(fits)
        };
        let mut cells = Vec::new();
        for ((family, qualifier), versions) in &row.columns {
            if !is_selected(family, qualifier) {
                continue;
            }
            let of_family = self.families.get(family).copied().flatten().map(|s| i64::from(s) * 1000);
            let deleted_to = versions.deleted_to.max(row.deleted.get(family).copied());
            let newest = versions.puts.iter().rev().find(|(time, (_, life))| {
                let life = life.iter().copied().chain(of_family).min();
                deleted_to.is_none_or(|deleted| deleted < **time)
                    && !versions.deleted.contains(time)
                    && life.is_none_or(|life| time.wrapping_add(life) >= now)
            });
            if let Some((&timestamp, (value, _))) = newest {
                cells.push(Cell {
                    row: key.clone(),
                    family: family.clone(),
                    qualifier: qualifier.clone(),
                    timestamp,
                    kind: CellType::Put,
                    value: value.clone(),
                });
            }
        }
        cells
    }

    /// Puts and deletes cells, each with its own time, or with the server's time for [`LATEST`].
    pub(super) fn apply(&mut self, cells: Vec<Cell>, life: Option<i64>, now: i64) {
        for cell in cells {
            let row = self.rows.entry(cell.row).or_default();
            if cell.kind == CellType::DeleteFamily {
                let time = if cell.timestamp == LATEST { now } else { cell.timestamp };
                let deleted = row.deleted.entry(cell.family).or_insert(i64::MIN);
                *deleted = time.max(*deleted);
                continue;
            }
            let versions = row.columns.entry((cell.family, cell.qualifier)).or_default();
            let newest = versions.puts.last_key_value().map(|(time, _)| *time);
            let time = match cell.timestamp {
                // The time of a cell does not go back with the server's clock.
                LATEST => newest.map_or(now, |newest| newest.max(now)),
                time => time,
            };
            match cell.kind {
                CellType::Put => {
                    versions.puts.insert(time, (cell.value, life));
                }
                CellType::Delete => {
                    versions.deleted.insert(time);
                }
                _ => versions.deleted_to = versions.deleted_to.max(Some(time)),
            }
        }
    }
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
        let mut table = Table::default();
        table.families.insert("f".into(), None);
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
            let cells = table.visible(&"r".into(), &[], 7);
            seen.push(
                cells.first().map_or(String::new(), |cell| String::from_utf8_lossy(&cell.value).into()),
            );
        }
        assert_eq!(seen, ["five", "five", "", "", "six", "now", "six", ""]);
        table.apply(vec![cell(CellType::Put, 11, "eleven")], None, 10);
        assert_eq!(table.visible(&"r".into(), &[], 11).len(), 1);
        assert!(table.check_family(b"g").is_err());
    }
}
