//! Rows that let others at the tables after each request of a call.

use super::super::rows::{Cell, Mutations, Rows, Span, Swap, Swapped, Table, Visit};
use super::super::thrift::ThriftRows;
use super::*;

pub(super) struct Between<F> {
    pub(super) rows: ThriftRows,
    pub(super) between: F,
}

impl<F: Fn() + Send + Sync> Between<F> {
    fn after<T>(&self, answer: T) -> T {
        (self.between)();
        answer
    }
}

impl<F: Fn() + Send + Sync> Rows for Between<F> {
    fn scan(&self, table: Table, family: u8, spans: &[Span], visit: Visit<'_>) -> crate::Result<()> {
        self.after(self.rows.scan(table, family, spans, visit))
    }

    fn get(&self, table: Table, columns: &[&[u8]], rows: &[Vec<u8>]) -> crate::Result<Vec<Vec<Cell>>> {
        self.after(self.rows.get(table, columns, rows))
    }

    fn time_to_live(&self, table: Table, family: u8) -> crate::Result<Option<Duration>> {
        self.rows.time_to_live(table, family)
    }

    fn name(&self, table: Table) -> &str {
        self.rows.name(table)
    }

    fn apply(&self, mutations: &Mutations) -> crate::Result<()> {
        self.after(self.rows.apply(mutations))
    }

    fn swap(&self, table: Table, swaps: &[Swap]) -> crate::Result<Vec<Swapped>> {
        self.after(self.rows.swap(table, swaps))
    }
}
