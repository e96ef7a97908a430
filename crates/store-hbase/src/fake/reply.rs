//! The replies of the gateway: rows in Thrift's form, and errors in the words of HBase 2.6.1.

use hbase_rpc::Cell;
use hbase_thrift::hbase::{IOError, IllegalArgument, TCell, TColumn, TRowResult};
use thrift::{ApplicationError, ApplicationErrorKind, Error};

use super::store::{Missing, column};

pub(super) fn cell(cell: Cell) -> TCell {
    TCell::new(cell.value.to_vec(), cell.timestamp)
}

/// Returns a row with its columns in a map or, `sorted`, in a list.
pub(super) fn row_result(row: Vec<u8>, cells: Vec<Cell>, sorted: bool) -> TRowResult {
    let columns = cells.into_iter().map(|found| (column(&found), cell(found)));
    if sorted {
        let columns: Vec<_> = columns.map(|(column, cell)| TColumn::new(column, cell)).collect();
        TRowResult::new(row, None, columns)
    } else {
        TRowResult::new(row, columns.collect::<std::collections::BTreeMap<_, _>>(), None)
    }
}

pub(super) fn io_error(message: impl Into<String>, can_retry: bool) -> Error {
    IOError::new(message.into(), can_retry).into()
}

pub(super) fn illegal_argument(message: impl Into<String>) -> Error {
    IllegalArgument::new(message.into()).into()
}

/// Returns Thrift's error for a Java exception that the handler did not expect.
pub(super) fn internal_error(method: &str) -> Error {
    let message = format!("Internal error processing {method}");
    ApplicationError::new(ApplicationErrorKind::InternalError, message).into()
}

/// Returns the answer to a call that made one request of a region server.
pub(super) fn missing(table: &[u8], missing: &Missing) -> Error {
    let (class, sentence) = words(table, missing);
    let message = match missing {
        Missing::Table => format!("{class}: {sentence}"),
        // Once for the client's exception and once for the server's in it.
        Missing::Family(_) => format!("{class}: {class}: {sentence}"),
    };
    io_error(format!("{message}\n\tat org.apache.hadoop.hbase.Fake(Fake.java:1)\n"), false)
}

/// Returns the answer to a batch of which some actions failed. It counts as retryable, and does not
/// name the class where the table is missing.
pub(super) fn failed_batch(table: &[u8], missing: &Missing, n_failed: usize) -> Error {
    let (class, sentence) = words(table, missing);
    let cause = match missing {
        Missing::Table => sentence,
        Missing::Family(_) => format!("{class}: {sentence}"),
    };
    failed_actions(&cause, n_failed)
}

pub(super) fn failed_actions(cause: &str, n_failed: usize) -> Error {
    let actions = if n_failed == 1 { "action" } else { "actions" };
    let times = if n_failed == 1 { "time" } else { "times" };
    io_error(
        format!(
            "org.apache.hadoop.hbase.client.RetriesExhaustedWithDetailsException: Failed {n_failed} {actions}: \
             {cause}: {n_failed} {times}, servers with issues: localhost,16020,1\n\
             \tat org.apache.hadoop.hbase.Fake(Fake.java:1)\n"
        ),
        true,
    )
}

fn words(table: &[u8], missing: &Missing) -> (&'static str, String) {
    let table = String::from_utf8_lossy(table);
    match missing {
        Missing::Table => ("org.apache.hadoop.hbase.TableNotFoundException", table.into_owned()),
        Missing::Family(family) => (
            "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException",
            format!(
                "Column family {} does not exist in region {table},,1.fake. in table '{table}'",
                String::from_utf8_lossy(family)
            ),
        ),
    }
}
