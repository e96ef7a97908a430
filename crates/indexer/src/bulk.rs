//! Rows for HBase's bulk load: byte strings sorted with bounded memory, and the folder that they are written to.
//!
//! The files are drawn in `schema/rows.md`; `deploy/hbase/BulkLoad.java` reads them.

mod folder;
mod row_file;
mod versions;
mod writer;

use folder::Description;
pub(crate) use folder::RowsFolder;
use row_file::RowFiles;
pub(crate) use versions::{Version, encode};
pub(crate) use writer::Writer;

/// What is said where sorting fails.
pub(crate) const SORTING: &str =
    "failed to sort in the folder of rows; the same command again makes the rows anew";
