//! Kernels of a run in partitions: each takes batches of Arrow data and knows no other partition.
//!
//! A run is a flow of tables, which another engine partitions and joins: texts become rows of
//! features and keys, rows of one key propose pairs, pairs are counted over their texts, and the
//! near ones decide. Integers are signed, because the engines know no others.

mod batch;
mod buckets;
mod standings;

use std::sync::Arc;

use ::index::{Features, Glance, Sketch, Text};
use arrow_array::builder::{BinaryBuilder, BooleanBuilder, Int64Builder, ListBuilder, StringBuilder};
use engine::Engine;
use minhash::Signature;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::PyRecordBatch;

pub(crate) use self::buckets::Buckets;
pub(crate) use self::standings::{connected, decide_in_round};

use self::batch::{Batch, Side};
use crate::columns::Strings;
use crate::interrupt::Progress;
use crate::options::{open, options};
use crate::sketcher::{SEGMENT_BITS, keys, sketched};
use crate::table::Table;
use crate::verdicts::NearnessColumns;

/// An empty index, whose kind makes the sketches of a run and whose rule decides its pairs.
#[pyclass(module = "pigeonhole", frozen)]
pub(crate) struct Kernels(Arc<Engine>);

impl Kernels {
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.0
    }
}

/// The columns of sketches under construction.
#[derive(Default)]
struct Sketches {
    fingerprint: Int64Builder,
    signature: BinaryBuilder,
    compared: StringBuilder,
    is_reduced: BooleanBuilder,
    keys: ListBuilder<Int64Builder>,
}

impl Sketches {
    fn push(&mut self, sketch: Option<&Sketch>) {
        let of = sketch.map(Sketch::features);
        self.fingerprint.append_option(of.and_then(|of| of.simhash).map(|simhash| simhash.0 as i64));
        self.signature.append_option(of.and_then(|of| of.signature.as_ref()).map(Signature::as_bytes));
        let text = sketch.and_then(Sketch::text);
        self.compared.append_option(text.map(|text| &**text));
        self.is_reduced.append_option(text.map(Text::is_reduced));
        self.keys.values().extend(sketch.into_iter().flat_map(keys).map(|key| Some(key as i64)));
        self.keys.append(sketch.is_some());
    }

    fn finish(mut self) -> PyResult<Table> {
        Table::new(vec![
            ("fingerprint", Arc::new(self.fingerprint.finish())),
            ("signature", Arc::new(self.signature.finish())),
            ("compared", Arc::new(self.compared.finish())),
            ("is_reduced", Arc::new(self.is_reduced.finish())),
            ("keys", Arc::new(self.keys.finish())),
        ])
    }
}

#[pymethods]
impl Kernels {
    #[new]
    #[pyo3(signature = (**arguments))]
    fn new(py: Python<'_>, arguments: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Ok(Self(Arc::new(open(py, "memory:", &options(arguments)?)?.with_reduced_texts())))
    }

    /// One row a text: `fingerprint` (int64), `signature` (binary), `compared` (the characters that
    /// are counted), `is_reduced` and `keys` (list of int64). All are null for a text without
    /// features.
    fn sketch(&self, py: Python<'_>, texts: Strings) -> PyResult<Table> {
        let mut sketches = Sketches::default();
        py.detach(|| sketched(&self.0, &texts, None, |sketch| sketches.push(sketch)))?;
        sketches.finish()
    }

    /// Makes an empty run of buckets, which proposes pairs by the rule of this index.
    #[pyo3(signature = (*, among_kept=false))]
    fn buckets(&self, among_kept: bool) -> Buckets {
        Buckets::new(Arc::clone(self.engine()), among_kept)
    }

    /// Counts proposed pairs, given as `a` and `b` with `fingerprint`, `signature`, `compared` and
    /// `is_reduced` of each under its suffix `_a` and `_b`. Returns the near ones: `a`, `b` and
    /// their nearness.
    fn count(&self, py: Python<'_>, pairs: PyRecordBatch) -> PyResult<Table> {
        let pairs = Batch(pairs.into_inner());
        let (mut a, mut b) = (Int64Builder::new(), Int64Builder::new());
        let mut nearness = NearnessColumns::default();
        let (rows_a, rows_b) = (pairs.integers("a")?, pairs.integers("b")?);
        let [side_a, side_b] = [Side::new(&pairs, "_a")?, Side::new(&pairs, "_b")?];
        let rule = self.0.index().rule();
        py.detach(|| {
            let mut progress = Progress::to(None);
            let mut last: Option<(i64, Features)> = None;
            for at in 0..rows_a.len() {
                let row = rows_a.value(at);
                // Pairs come sorted by `a`, whose n-grams the counter then still has.
                let of_a = match last.take() {
                    Some((known, features)) if known == row => features,
                    _ => side_a.features(at)?,
                };
                let of_b = side_b.features(at)?;
                let near = match rule.glance_at(&of_a, &of_b, rule.counter.is_some()) {
                    Glance::Far => None,
                    Glance::Near(nearness) => Some(nearness),
                    Glance::Worth { .. } => rule.count(&of_a, &of_b),
                };
                if let Some(near) = near {
                    a.append_value(row);
                    b.append_value(rows_b.value(at));
                    nearness.push(Some(&near));
                }
                last = Some((row, of_a));
                progress.add(1)?;
            }
            Ok::<_, PyErr>(())
        })?;
        let mut columns = vec![("a", Arc::new(a.finish()) as _), ("b", Arc::new(b.finish()) as _)];
        columns.extend(nearness.finish());
        Table::new(columns)
    }
}
