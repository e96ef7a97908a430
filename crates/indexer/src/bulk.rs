//! Rows for HBase's bulk load: byte strings sorted in bounded memory, and the folder for them.
//!
//! `schema/rows.md` draws the files; `deploy/hbase/BulkLoad.java` reads them.

mod folder;
mod row_file;
mod versions;
mod writer;

use folder::Description;
pub(crate) use folder::RowsFolder;
use row_file::RowFiles;
pub(crate) use versions::{Version, encode};
pub(crate) use writer::Writer;

/// Context of an error while sorting.
pub(crate) const SORTING: &str =
    "failed to sort in the folder of rows; the same command again makes the rows anew";
