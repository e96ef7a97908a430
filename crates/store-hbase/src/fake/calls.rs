//! The work of the calls: their order, their atomicity, and their refusals. Follows
//! `ThriftHBaseServiceHandler` of HBase 2.6 and the client below it.

use std::array::TryFromSliceError;
use std::collections::BTreeMap;

use hbase_rpc::fake::View;
use hbase_rpc::{Cell, LATEST};
use hbase_thrift::hbase::{BatchMutation, Mutation, ScannerID, TCell, TRowResult, Text};
use thrift::Result;

use super::handler::Handler;
use super::store::{Columns, Missing, change, columns, parse_column};
use super::{lock, reply};

/// The longest row key.
const MAX_ROW_BYTES: usize = i16::MAX as usize;

/// The attributes of a call, beside its arguments.
pub(super) type Attributes = BTreeMap<Text, Text>;

impl Handler {
    fn read(
        &self,
        table: &[u8],
        row: &[u8],
        columns: &Columns,
        before: i64,
    ) -> std::result::Result<Vec<Cell>, Missing> {
        let view = View { columns, before, ..View::at(self.shared.now()) };
        lock(&self.shared.store).table(table)?.read(row, &view)
    }

    /// Returns a cell, or those of a whole family.
    pub(super) fn get(&self, table: &[u8], row: &[u8], column: Text) -> Result<Vec<TCell>> {
        self.call(|_| {
            check_row(row).map_err(|_| reply::internal_error("get"))?;
            let cells = self.read(table, row, &columns(&[column]), LATEST);
            let cells = cells.map_err(|missing| reply::missing(table, &missing))?;
            Ok(cells.into_iter().map(reply::cell).collect())
        })
    }

    pub(super) fn get_row(
        &self,
        method: &str,
        table: &[u8],
        row: Text,
        names: &[Text],
        before: i64,
    ) -> Result<Vec<TRowResult>> {
        self.call(|_| {
            check_row(&row).map_err(|_| reply::internal_error(method))?;
            let cells = self.read(table, &row, &columns(names), before);
            let cells = cells.map_err(|missing| reply::missing(table, &missing))?;
            Ok(if cells.is_empty() { Vec::new() } else { vec![reply::row_result(row, cells, false)] })
        })
    }

    /// Returns the rows in the order of the request; missing rows are left out.
    pub(super) fn get_rows(
        &self,
        method: &str,
        table: &[u8],
        rows: Vec<Text>,
        names: &[Text],
        before: i64,
    ) -> Result<Vec<TRowResult>> {
        self.call(|_| {
            rows.iter().try_for_each(|row| check_row(row)).map_err(|_| reply::internal_error(method))?;
            let n_rows = rows.len();
            let columns = columns(names);
            let mut results = Vec::new();
            for row in rows {
                let cells = self.read(table, &row, &columns, before).map_err(|missing| match n_rows {
                    1 => reply::missing(table, &missing),
                    _ => reply::failed_batch(table, &missing, n_rows),
                })?;
                if !cells.is_empty() {
                    results.push(reply::row_result(row, cells, false));
                }
            }
            Ok(results)
        })
    }

    /// Does one operation of a region server: atomic on its row.
    fn change(
        &self,
        table: &[u8],
        changes: &[Cell],
        ttl_ms: Option<i64>,
    ) -> std::result::Result<(), Missing> {
        let mut store = lock(&self.shared.store);
        store.table_mut(table)?.apply(changes, ttl_ms, self.shared.now())
    }

    /// Does the deletes of a row first, then its puts: two operations, between which others may
    /// come.
    pub(super) fn mutate_row(
        &self,
        table: &[u8],
        row: Text,
        mutations: Vec<Mutation>,
        timestamp: i64,
        attributes: &Attributes,
    ) -> Result<()> {
        self.call(|_| {
            check_row(&row).map_err(reply::illegal_argument)?;
            check_timestamp(timestamp).map_err(reply::illegal_argument)?;
            let ttl_ms =
                ttl_ms(attributes).map_err(|_| reply::io_error("java.io.IOException: bad _ttl", true))?;
            let (deletes, puts, _) = split(&row, mutations, timestamp);
            for changes in [deletes, puts] {
                if !changes.is_empty() {
                    self.change(table, &changes, ttl_ms)
                        .map_err(|missing| reply::missing(table, &missing))?;
                }
            }
            Ok(())
        })
    }

    /// Does the puts of all rows first, then the deletes of all rows; each row on its own, and a
    /// row that fails does not stop the others.
    pub(super) fn mutate_rows(
        &self,
        method: &str,
        table: &[u8],
        mut batches: Vec<BatchMutation>,
        timestamp: i64,
        attributes: &Attributes,
    ) -> Result<()> {
        self.call(|n_rows_max| {
            batches.truncate(n_rows_max);
            let (mut all_deletes, mut all_puts) = (Vec::new(), Vec::new());
            for batch in batches {
                let row = batch.row.unwrap_or_default();
                check_row(&row).map_err(|_| reply::internal_error(method))?;
                check_timestamp(timestamp).map_err(|_| reply::internal_error(method))?;
                let (deletes, puts, n_dropped) = split(&row, batch.mutations.unwrap_or_default(), timestamp);
                if n_dropped > 0 {
                    return Err(reply::internal_error(method));
                }
                all_deletes.push(deletes);
                all_puts.push(puts);
            }
            let ttl_ms =
                ttl_ms(attributes).map_err(|_| reply::failed_actions("IOException", all_puts.len()))?;
            for mut rows in [all_puts, all_deletes] {
                rows.retain(|changes| !changes.is_empty());
                let failures: Vec<_> =
                    rows.iter().filter_map(|changes| self.change(table, changes, ttl_ms).err()).collect();
                if let Some(missing) = failures.first() {
                    return Err(reply::failed_batch(table, missing, failures.len()));
                }
            }
            Ok(())
        })
    }

    /// Puts where the column has the expected value. An empty value also matches a missing column.
    pub(super) fn check_and_put(
        &self,
        table: &[u8],
        row: Text,
        column: &[u8],
        expected: &[u8],
        put: Mutation,
        attributes: &Attributes,
    ) -> Result<bool> {
        self.call(|_| {
            check_row(&row).map_err(reply::illegal_argument)?;
            let ttl_ms =
                ttl_ms(attributes).map_err(|_| reply::io_error("java.io.IOException: bad _ttl", true))?;
            let internal_error = || reply::internal_error("checkAndPut");
            let (family, Some(qualifier)) = parse_column(&put.column.unwrap_or_default()) else {
                return Err(internal_error());
            };
            // A put even where the mutation says delete.
            let value = Some(put.value.unwrap_or_default());
            let put = change(&row, (family, Some(qualifier)), value, LATEST);
            let (family, Some(qualifier)) = parse_column(column) else { return Err(internal_error()) };
            let mut store = lock(&self.shared.store);
            let done = (|| {
                let table = store.table_mut(table)?;
                table.check_family(&family)?;
                let time = table.cells.time_of_change(&row, (family, qualifier), expected, self.shared.now());
                time.map_or(Ok(false), |now| table.apply(&[put], ttl_ms, now).map(|()| true))
            })();
            done.map_err(|missing| reply::missing(table, &missing))
        })
    }

    pub(super) fn scanner_get_list(&self, method: &str, id: ScannerID, n: i32) -> Result<Vec<TRowResult>> {
        self.call(|_| {
            let mut scanners = lock(&self.shared.scanners);
            let scanner =
                scanners.get_mut(id).ok_or_else(|| reply::illegal_argument("scanner ID is invalid"))?;
            let n = usize::try_from(n).map_err(|_| reply::internal_error(method))?;
            let now = self.shared.now();
            let results = scanner.next(&lock(&self.shared.store), n, now);
            results.map_err(|missing| reply::missing(&scanner.table, &missing))
        })
    }
}

fn check_row(row: &[u8]) -> std::result::Result<(), String> {
    match row.len() {
        0 => Err("java.lang.IllegalArgumentException: Row length is 0".to_owned()),
        len if len > MAX_ROW_BYTES => {
            Err(format!("java.lang.IllegalArgumentException: Row length {len} is > {MAX_ROW_BYTES}"))
        }
        _ => Ok(()),
    }
}

fn check_timestamp(timestamp: i64) -> std::result::Result<(), String> {
    if timestamp < 0 {
        return Err(format!(
            "java.lang.IllegalArgumentException: Timestamp cannot be negative. ts={timestamp}"
        ));
    }
    Ok(())
}

/// Reads the attribute `_ttl`, if there is one.
fn ttl_ms(attributes: &Attributes) -> std::result::Result<Option<i64>, TryFromSliceError> {
    let ttl_ms =
        attributes.get(b"_ttl".as_slice()).map(|bytes| bytes.as_slice().try_into().map(i64::from_be_bytes));
    Ok(ttl_ms.transpose()?.filter(|&ttl_ms| ttl_ms != i64::MAX))
}

/// Returns deletes, puts, and the number of puts without a qualifier, which are left out.
fn split(row: &[u8], mutations: Vec<Mutation>, timestamp: i64) -> (Vec<Cell>, Vec<Cell>, usize) {
    let (mut deletes, mut puts, mut n_dropped) = (Vec::new(), Vec::new(), 0);
    for mutation in mutations {
        let column = parse_column(&mutation.column.unwrap_or_default());
        let value = mutation.value.unwrap_or_default();
        if mutation.is_delete == Some(true) {
            deletes.push(change(row, column, None, timestamp));
        } else if column.1.is_some() {
            puts.push(change(row, column, Some(value), timestamp));
        } else {
            n_dropped += 1;
        }
    }
    (deletes, puts, n_dropped)
}
