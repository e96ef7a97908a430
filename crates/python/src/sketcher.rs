//! Texts to fingerprints, signatures and the keys under which an index files them.

use std::sync::Arc;

use ::index::Sketch;
use arrow_array::builder::{LargeBinaryBuilder, ListBuilder, UInt64Builder};
use engine::Engine;
use minhash::Signature;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Strings;
use crate::error::Failure;
use crate::interrupt::Progress;
use crate::options::{open, options};
use crate::table::Table;
use crate::verdicts::narrowed;

/// Bits of a segment in a key: the number of a table or band stands above them.
pub(crate) const SEGMENT_BITS: u32 = 32;

/// Makes the sketches of texts on the cores of an engine, and hands them on in the order of the
/// texts: `None` for a text without features.
pub(crate) fn sketched(
    engine: &Engine,
    texts: &Strings,
    progress: Option<Py<PyAny>>,
    mut take: impl FnMut(Option<&Sketch>),
) -> Result<(), Failure> {
    let mut progress = Progress::to(progress);
    let texts: Vec<&str> = texts.iter().map(Option::unwrap_or_default).collect();
    let kind = engine.index().kind();
    engine.extractor().extract(
        &texts,
        engine.n_threads(),
        |text| text,
        |texts, features| {
            for features in features {
                take(features.map(|features| kind.sketch(features)).as_ref());
            }
            Ok::<_, Failure>(progress.add(texts.len())?)
        },
    )?;
    Ok(progress.tell()?)
}

/// The keys of a sketch as numbers.
pub(crate) fn keys(sketch: &Sketch) -> impl Iterator<Item = u64> {
    sketch.keys().map(|key| u64::from(key.flag) << SEGMENT_BITS | u64::from(key.segment))
}

/// Makes the sketches of texts, as an index of the same options does.
#[pyclass(module = "pigeonhole", frozen)]
pub(crate) struct Sketcher(Engine);

#[pymethods]
impl Sketcher {
    #[new]
    #[pyo3(signature = (**arguments))]
    fn new(py: Python<'_>, arguments: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Ok(Self(open(py, "memory:", &options(arguments)?)?))
    }

    /// One row a text: `fingerprint` (uint64), `signature` (binary), `keys` (list of uint64). All
    /// are null for a text without features.
    #[pyo3(signature = (texts, progress=None))]
    fn sketch(&self, py: Python<'_>, texts: Strings, progress: Option<Py<PyAny>>) -> PyResult<Table> {
        let (mut fingerprint, mut signature) = (UInt64Builder::new(), LargeBinaryBuilder::new());
        let mut key = ListBuilder::new(UInt64Builder::new());
        py.detach(|| {
            sketched(&self.0, &texts, progress, |sketch| {
                let of = sketch.map(Sketch::features);
                fingerprint.append_option(of.and_then(|of| of.simhash).map(|simhash| simhash.0));
                signature.append_option(of.and_then(|of| of.signature.as_ref()).map(Signature::as_bytes));
                key.values().extend(sketch.into_iter().flat_map(keys).map(Some));
                key.append(sketch.is_some());
            })
        })?;
        Table::new(vec![
            ("fingerprint", Arc::new(fingerprint.finish())),
            ("signature", narrowed(signature.finish())),
            ("keys", Arc::new(key.finish())),
        ])
    }
}
