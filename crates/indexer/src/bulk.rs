//! Rows for HBase's bulk load: byte strings sorted with bounded memory, and the folder that they are written to.
//!
//! The files are drawn in `schema/rows.md`; `deploy/hbase/BulkLoad.java` reads them.

mod folder;
mod row_file;
mod sorter;

pub(crate) use folder::{Description, RowsFolder};
pub(crate) use row_file::RowFiles;
pub(crate) use sorter::Sorter;
