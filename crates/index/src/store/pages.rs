//! Pages of scans, and the positions between them.

use crate::{Cell, Error, Result, StoredDocument};

/// A position in a scan; only the store that made the cursor can read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor(Vec<u8>);

impl Cursor {
    /// The position before the first document.
    #[must_use]
    pub fn start() -> Self {
        Self::default()
    }

    /// The cursor of a store with its own encoding of positions.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes given by the store, empty for the start.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The position after the document of this number, for stores that number their documents from
    /// 1.
    pub fn after(number: u64) -> Self {
        Self(number.to_be_bytes().to_vec())
    }

    /// The number of the document before this position, 0 for the start.
    pub fn number(&self) -> Result<u64> {
        match <[u8; 8]>::try_from(self.0.as_slice()) {
            Ok(bytes) => Ok(u64::from_be_bytes(bytes)),
            Err(_) if self.0.is_empty() => Ok(0),
            Err(_) => Err(Error::invalid("the cursor is another store's; start the scan anew")),
        }
    }
}

/// One page of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The documents, in the store's order.
    pub documents: Vec<StoredDocument>,
    /// The position of the next page, `None` after the last document.
    pub next: Option<Cursor>,
}

/// One page of the index in the order of its cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellPage {
    /// The cells, ascending.
    pub cells: Vec<Cell>,
    /// The position of the next page, `None` after the last cell.
    pub next: Option<Cursor>,
}
