//! The calls, by the names of the generated code; one handler for a connection.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use hbase_rpc::LATEST;
use hbase_thrift::hbase::{
    BatchMutation, Bytes, ColumnDescriptor, HbaseSyncHandler, Mutation, ScannerID, TAccessControlEntity,
    TAppend, TCell, TIncrement, TRegionInfo, TRowResult, TScan, TThriftServerType, Text,
};
use thrift::Result;

use super::calls::Attributes;
use super::scanner::Scanner;
use super::{Shared, lock, reply};

/// An `IOError` in answer to the next call.
pub(super) struct Injected {
    pub(super) message: String,
    pub(super) can_retry: bool,
    /// The number of rows of a batch executed first; 0 for none at all.
    pub(super) after_rows: usize,
}

pub(super) struct Handler {
    pub(super) shared: Arc<Shared>,
    /// Set by the connection before a call.
    pub(super) injected: Rc<Cell<Option<Injected>>>,
}

impl Handler {
    /// Does a call's work, given the most rows of a batch to execute, unless an error is injected.
    pub(super) fn call<T>(&self, work: impl FnOnce(usize) -> Result<T>) -> Result<T> {
        let Some(Injected { message, can_retry, after_rows }) = self.injected.take() else {
            return work(usize::MAX);
        };
        if after_rows > 0 {
            work(after_rows)?;
        }
        Err(reply::io_error(message, can_retry))
    }
}

macro_rules! unsupported {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {$(
        fn $name(&self, $(_: $argument),*) -> Result<$result> {
            self.call(|_| Err(reply::io_error("not supported by the fake", false)))
        }
    )*};
}

impl HbaseSyncHandler for Handler {
    fn handle_get_table_names(&self) -> Result<Vec<Text>> {
        self.call(|_| Ok(lock(&self.shared.store).names()))
    }

    fn handle_get_column_descriptors(&self, table: Text) -> Result<BTreeMap<Text, ColumnDescriptor>> {
        self.call(|_| {
            let store = lock(&self.shared.store);
            let found = store.table(&table).map_err(|missing| reply::missing(&table, &missing))?;
            Ok(found
                .families
                .iter()
                .map(|(name, family)| ([name, b":".as_slice()].concat(), family.clone()))
                .collect())
        })
    }

    fn handle_get_table_regions(&self, table: Text) -> Result<Vec<TRegionInfo>> {
        self.call(|_| {
            let store = lock(&self.shared.store);
            let regions = store.table(&table).map(|found| found.regions()).unwrap_or_default();
            let regions = regions.into_iter().map(|(start, end)| {
                let name = [table.as_slice(), start.as_slice(), b"1.fake."].join(&b',');
                TRegionInfo::new(start, end, 1, name, 1, b"localhost".to_vec(), 16020)
            });
            Ok(regions.collect())
        })
    }

    fn handle_get(&self, table: Text, row: Text, column: Text, _: Attributes) -> Result<Vec<TCell>> {
        self.get(&table, &row, column)
    }

    fn handle_get_row(&self, table: Text, row: Text, _: Attributes) -> Result<Vec<TRowResult>> {
        self.get_row("getRow", &table, row, &[], LATEST)
    }

    fn handle_get_row_ts(
        &self,
        table: Text,
        row: Text,
        before: i64,
        _: Attributes,
    ) -> Result<Vec<TRowResult>> {
        self.get_row("getRowTs", &table, row, &[], before)
    }

    fn handle_get_row_with_columns(
        &self,
        table: Text,
        row: Text,
        columns: Vec<Text>,
        _: Attributes,
    ) -> Result<Vec<TRowResult>> {
        self.get_row("getRowWithColumns", &table, row, &columns, LATEST)
    }

    fn handle_get_row_with_columns_ts(
        &self,
        table: Text,
        row: Text,
        columns: Vec<Text>,
        before: i64,
        _: Attributes,
    ) -> Result<Vec<TRowResult>> {
        self.get_row("getRowWithColumnsTs", &table, row, &columns, before)
    }

    fn handle_get_rows(&self, table: Text, rows: Vec<Text>, _: Attributes) -> Result<Vec<TRowResult>> {
        self.get_rows("getRows", &table, rows, &[], LATEST)
    }

    fn handle_get_rows_ts(
        &self,
        table: Text,
        rows: Vec<Text>,
        before: i64,
        _: Attributes,
    ) -> Result<Vec<TRowResult>> {
        self.get_rows("getRowsTs", &table, rows, &[], before)
    }

    fn handle_get_rows_with_columns(
        &self,
        table: Text,
        rows: Vec<Text>,
        columns: Vec<Text>,
        _: Attributes,
    ) -> Result<Vec<TRowResult>> {
        self.get_rows("getRowsWithColumns", &table, rows, &columns, LATEST)
    }

    fn handle_get_rows_with_columns_ts(
        &self,
        table: Text,
        rows: Vec<Text>,
        columns: Vec<Text>,
        before: i64,
        _: Attributes,
    ) -> Result<Vec<TRowResult>> {
        self.get_rows("getRowsWithColumnsTs", &table, rows, &columns, before)
    }

    fn handle_mutate_row(
        &self,
        table: Text,
        row: Text,
        mutations: Vec<Mutation>,
        attributes: Attributes,
    ) -> Result<()> {
        self.mutate_row(&table, row, mutations, LATEST, &attributes)
    }

    fn handle_mutate_row_ts(
        &self,
        table: Text,
        row: Text,
        mutations: Vec<Mutation>,
        timestamp: i64,
        attributes: Attributes,
    ) -> Result<()> {
        self.mutate_row(&table, row, mutations, timestamp, &attributes)
    }

    fn handle_mutate_rows(
        &self,
        table: Text,
        batches: Vec<BatchMutation>,
        attributes: Attributes,
    ) -> Result<()> {
        self.mutate_rows("mutateRows", &table, batches, LATEST, &attributes)
    }

    fn handle_mutate_rows_ts(
        &self,
        table: Text,
        batches: Vec<BatchMutation>,
        timestamp: i64,
        attributes: Attributes,
    ) -> Result<()> {
        self.mutate_rows("mutateRowsTs", &table, batches, timestamp, &attributes)
    }

    fn handle_check_and_put(
        &self,
        table: Text,
        row: Text,
        column: Text,
        expected: Text,
        put: Mutation,
        attributes: Attributes,
    ) -> Result<bool> {
        self.check_and_put(&table, row, &column, &expected, put, &attributes)
    }

    fn handle_scanner_open_with_scan(&self, table: Text, scan: TScan, _: Attributes) -> Result<ScannerID> {
        self.call(|_| {
            if scan.reversed == Some(true) {
                return Err(reply::io_error("reversed scans are not supported by the fake", false));
            }
            let scanner = Scanner::new(table, scan)
                .ok_or_else(|| reply::io_error("this filter is not supported by the fake", false))?;
            Ok(lock(&self.shared.scanners).add(scanner))
        })
    }

    fn handle_scanner_get(&self, id: ScannerID) -> Result<Vec<TRowResult>> {
        self.scanner_get_list("scannerGet", id, 1)
    }

    fn handle_scanner_get_list(&self, id: ScannerID, n: i32) -> Result<Vec<TRowResult>> {
        self.scanner_get_list("scannerGetList", id, n)
    }

    fn handle_scanner_close(&self, id: ScannerID) -> Result<()> {
        self.call(|_| match lock(&self.shared.scanners).remove(id) {
            Some(_) => Ok(()),
            None => Err(reply::illegal_argument("scanner ID is invalid")),
        })
    }

    fn handle_get_thrift_server_type(&self) -> Result<TThriftServerType> {
        self.call(|_| Ok(TThriftServerType::ONE))
    }

    unsupported! {
        handle_enable_table(Bytes) -> ();
        handle_disable_table(Bytes) -> ();
        handle_is_table_enabled(Bytes) -> bool;
        handle_compact(Bytes) -> ();
        handle_major_compact(Bytes) -> ();
        handle_get_table_names_with_is_table_enabled() -> BTreeMap<Text, bool>;
        handle_create_table(Text, Vec<ColumnDescriptor>) -> ();
        handle_delete_table(Text) -> ();
        handle_get_ver(Text, Text, Text, i32, Attributes) -> Vec<TCell>;
        handle_get_ver_ts(Text, Text, Text, i64, i32, Attributes) -> Vec<TCell>;
        handle_atomic_increment(Text, Text, Text, i64) -> i64;
        handle_delete_all(Text, Text, Text, Attributes) -> ();
        handle_delete_all_ts(Text, Text, Text, i64, Attributes) -> ();
        handle_delete_all_row(Text, Text, Attributes) -> ();
        handle_delete_all_row_ts(Text, Text, i64, Attributes) -> ();
        handle_increment(TIncrement) -> ();
        handle_increment_rows(Vec<TIncrement>) -> ();
        handle_scanner_open(Text, Text, Vec<Text>, Attributes) -> ScannerID;
        handle_scanner_open_with_stop(Text, Text, Text, Vec<Text>, Attributes) -> ScannerID;
        handle_scanner_open_with_prefix(Text, Text, Vec<Text>, Attributes) -> ScannerID;
        handle_scanner_open_ts(Text, Text, Vec<Text>, i64, Attributes) -> ScannerID;
        handle_scanner_open_with_stop_ts(Text, Text, Text, Vec<Text>, i64, Attributes) -> ScannerID;
        handle_get_region_info(Text) -> TRegionInfo;
        handle_append(TAppend) -> Vec<TCell>;
        handle_get_cluster_id() -> String;
        handle_grant(TAccessControlEntity) -> bool;
        handle_revoke(TAccessControlEntity) -> bool;
    }
}
