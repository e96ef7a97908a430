//! Decisions and clusters from near pairs.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::builder::{BooleanBuilder, Int64Builder};
use engine::clusters::Forest;
use engine::dedup::rounds::{Standing, Undecided, round};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

use super::batch::Batch;
use crate::error::value;
use crate::table::Table;

/// All rows of a table as one batch.
fn one_batch(table: PyTable) -> PyResult<Batch> {
    let (batches, schema) = table.into_inner();
    arrow_select::concat::concat_batches(&schema, &batches).map(Batch).map_err(value)
}

/// Decides rows of one partition by near pairs of `a` and `b`, the earlier row first. `a_is_kept`
/// is the decision on `a` of an earlier round, null if there is none. All pairs of a `b` come
/// together. With `is_whole` the pairs are all there are, so what is no `b` is kept. Returns `row`
/// and `is_kept` for each new decision on a `b`.
#[pyfunction]
#[pyo3(signature = (pairs, *, is_whole=false))]
pub(crate) fn decide_in_round(py: Python<'_>, pairs: PyTable, is_whole: bool) -> PyResult<Table> {
    let pairs = one_batch(pairs)?;
    let (a, b) = (pairs.integers("a")?, pairs.integers("b")?);
    let a_is_kept = pairs.booleans("a_is_kept")?;
    let (mut row, mut is_kept) = (Int64Builder::new(), BooleanBuilder::new());
    py.detach(|| {
        let standing = |is_kept| if is_kept { Standing::Kept } else { Standing::Dropped };
        let known = (0..a.len()).filter(|&at| a_is_kept.is_valid(at));
        let mut known: HashMap<i64, Standing> =
            known.map(|at| (a.value(at), standing(a_is_kept.value(at)))).collect();
        let mut order: Vec<usize> = (0..b.len()).collect();
        order.sort_unstable_by_key(|&at| (b.value(at), a.value(at)));
        if is_whole {
            let is_later = |row| order.binary_search_by_key(&row, |&at| b.value(at)).is_ok();
            let firsts = a.values().iter().filter(|&&row| !is_later(row));
            known.extend(firsts.map(|&row| (row, Standing::Kept)));
        }
        let earlier: Vec<i64> = order.iter().map(|&at| a.value(at)).collect();
        let mut undecided = Vec::new();
        let mut start = 0;
        for of_one in order.chunk_by(|x, y| b.value(*x) == b.value(*y)) {
            let end = start + of_one.len();
            undecided.push(Undecided { document: b.value(of_one[0]), earlier: &earlier[start..end] });
            start = end;
        }
        for (document, standing) in round(undecided, |document| known.get(&document).copied()) {
            row.append_value(document);
            is_kept.append_value(standing == Standing::Kept);
        }
    });
    Table::new(vec![("row", Arc::new(row.finish()) as _), ("is_kept", Arc::new(is_kept.finish()) as _)])
}

/// The rows that pairs of `a` and `b` connect: each `row` with the first row of its `cluster`.
#[pyfunction]
pub(crate) fn connected(py: Python<'_>, pairs: PyTable) -> PyResult<Table> {
    let pairs = one_batch(pairs)?;
    let (a, b) = (pairs.integers("a")?, pairs.integers("b")?);
    let (mut row, mut cluster) = (Int64Builder::new(), Int64Builder::new());
    py.detach(|| {
        let mut rows: Vec<i64> = a.values().iter().chain(b.values()).copied().collect();
        rows.sort_unstable();
        rows.dedup();
        let mut forest = Forest::new(rows.len());
        let place = |row: i64| rows.partition_point(|&known| known < row);
        for (&a, &b) in a.values().iter().zip(b.values()) {
            forest.connect(place(a), place(b));
        }
        for (at, &of) in rows.iter().enumerate() {
            row.append_value(of);
            // The root of a tree is its first row.
            cluster.append_value(rows[forest.root(at)]);
        }
    });
    Table::new(vec![("row", Arc::new(row.finish()) as _), ("cluster", Arc::new(cluster.finish()) as _)])
}
