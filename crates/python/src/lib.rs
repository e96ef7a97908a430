//! The native half of the Python package `pigeonhole`: Arrow data in, Arrow data out, on an
//! [`engine::Engine`].
//!
//! The half in Python, `python/pigeonhole`, knows data frames and has the documentation. It calls
//! this module with columns: objects with the Arrow PyCapsule interface, or lists of `str`. Every
//! call that works on texts releases the interpreter's lock, and ends soon after Ctrl-C.

mod columns;
mod error;
mod index;
mod interrupt;
mod options;
mod programs;
mod run;
mod sketcher;
mod spark;
mod table;
mod verdicts;
mod watched;

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder};
use features::NormalForm;
use minhash::{Basis, Comparison, Similarity};
use pyo3::prelude::*;

use crate::columns::Strings;
use crate::interrupt::Progress;
use crate::table::Table;

/// The native half of the package `pigeonhole`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::compare;
    #[pymodule_export]
    use super::compare_columns;
    #[pymodule_export]
    use super::index::Index;
    #[pymodule_export]
    use super::programs::run_program;
    #[pymodule_export]
    use super::run::Run;
    #[pymodule_export]
    use super::sketcher::Sketcher;
    #[pymodule_export]
    use super::spark::Buckets;
    #[pymodule_export]
    use super::spark::Kernels;
    #[pymodule_export]
    use super::spark::connected;
    #[pymodule_export]
    use super::spark::decide_in_round;
    #[pymodule_export]
    use super::table::Table;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("COUNTED_MAX", ::index::COUNTED_MAX)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Counts the common n-grams of the texts of each row: one row of `similarity`, `share_of_a`,
/// `share_of_b` and `numbers_differ` for each, null where a text is null.
#[pyfunction]
fn compare_columns(py: Python<'_>, a: Strings, b: Strings) -> PyResult<Table> {
    if a.len() != b.len() {
        return Err(error::value(format_args!("{} texts beside {}", a.len(), b.len())));
    }
    let mut shares: [Float64Builder; 3] = Default::default();
    let mut numbers_differ = BooleanBuilder::new();
    py.detach(|| {
        let mut progress = Progress::to(None);
        for (a, b) in a.iter().zip(b.iter()) {
            let compared = a.zip(b).map(|(a, b)| counted(a, b));
            let (of_both, differ) = compared.unzip();
            for (side, column) in shares.iter_mut().enumerate() {
                column.append_option(of_both.map(|shares: [f64; 3]| shares[side]));
            }
            numbers_differ.append_option(differ);
            progress.add(1)?;
        }
        progress.tell()
    })?;
    let [similarity, of_a, of_b] = shares.map(|mut column| Arc::new(column.finish()));
    Table::new(vec![
        ("similarity", similarity),
        ("share_of_a", of_a),
        ("share_of_b", of_b),
        ("numbers_differ", Arc::new(numbers_differ.finish())),
    ])
}

/// The similarity of two texts and the shares of both, and true if their numbers differ.
fn counted(a: &str, b: &str) -> ([f64; 3], bool) {
    let Comparison { similarity, share_of_a, share_of_b, basis, .. } =
        engine::in_common::by_texts(NormalForm::default(), a, b);
    // The lengths differ too much for any index to take the two for near.
    let similarity = if basis == Basis::NoCommonKind { Similarity::ZERO } else { similarity };
    let shares = [similarity, share_of_a, share_of_b].map(Similarity::get);
    (shares, engine::in_common::numbers_differ(a, b))
}

/// Counts the common n-grams of two texts. Returns the Jaccard similarity, the shares of `a` and
/// of `b`, and true if their numbers differ.
#[pyfunction]
fn compare(py: Python<'_>, a: &str, b: &str) -> (f64, f64, f64, bool) {
    let ([similarity, share_of_a, share_of_b], numbers_differ) = py.detach(|| counted(a, b));
    (similarity, share_of_a, share_of_b, numbers_differ)
}
