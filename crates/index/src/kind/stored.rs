//! The stored form of the tables of a kind.

use serde::{Deserialize, Serialize};
use simhash::{Distance, Table};

use super::SketchKind;
use crate::{Error, Result};

/// The tables of a kind in the metadata of an index. Masks are hexadecimal, because many readers of
/// JSON keep only 53 bits of a number.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredKind {
    name: String,
    max_distance: u32,
    tables: Vec<StoredTable>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredTable {
    flag: u8,
    mask: String,
}

impl StoredKind {
    /// The stored form of a kind's tables, if it has any.
    pub(crate) fn of(kind: &SketchKind) -> Option<Self> {
        let stored =
            |table: &Table| StoredTable { flag: table.flag(), mask: format!("{:016x}", table.mask()) };
        kind.scheme().map(|scheme| Self {
            name: scheme.name().to_owned(),
            max_distance: scheme.max_distance().as_bits(),
            tables: scheme.tables().iter().map(stored).collect(),
        })
    }

    /// Reads the kind back; `damaged` makes the error for the named part.
    pub(crate) fn decode(&self, damaged: impl Fn(&str) -> Error) -> Result<SketchKind> {
        let mut masks = Vec::new();
        for StoredTable { flag, mask } in &self.tables {
            let mask = u64::from_str_radix(mask, 16).map_err(|error| damaged("a mask").caused_by(error))?;
            masks.push((*flag, mask));
        }
        let max_distance =
            Distance::new(self.max_distance).map_err(|error| damaged("its table scheme").caused_by(error))?;
        SketchKind::simhash(&self.name, max_distance, &masks)
            .map_err(|error| damaged("its table scheme").caused_by(error))
    }
}
