//! An index at a URL.

use std::sync::Arc;

use ::index::{Cursor, MAX_BATCH, Match, Mode, StoredDocument};
use arrow_array::builder::{Int64Builder, LargeStringBuilder, StringBuilder, UInt64Builder};
use engine::{Engine, Outcome, Text};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{IdKind, Ids, Strings};
use crate::error::{Failure, of_store, value};
use crate::interrupt::Progress;
use crate::options::{open, options};
use crate::table::Table;
use crate::verdicts::{IdColumn, NearnessColumns, narrowed};

/// An open index in any store, shared by threads.
#[pyclass(module = "pigeonhole", subclass, frozen)]
pub(crate) struct Index {
    engine: Engine,
    uri: String,
}

/// Documents as dictionaries, and the cursor after them.
type Listed<'py> = (Vec<Bound<'py, PyDict>>, Option<Vec<u8>>);

/// Writes of a batch: `insert` or `insert_if_new` of an engine.
type Write = fn(&Engine, &[Text<'_>]) -> ::index::Result<Vec<Outcome>>;

impl Index {
    fn write(
        &self,
        py: Python<'_>,
        (ids, texts): (&Ids, &Strings),
        progress: Option<Py<PyAny>>,
        write: Write,
    ) -> PyResult<Table> {
        if ids.len() != texts.len() {
            return Err(value(format_args!("{} ids for {} texts", ids.len(), texts.len())));
        }
        let ids = ids.all()?;
        let (mut outcome, mut of) = (StringBuilder::new(), IdColumn::new(IdKind::String));
        let mut nearness = NearnessColumns::default();
        py.detach(|| {
            let mut progress = Progress::to(progress);
            for (n_batch, ids) in ids.chunks(MAX_BATCH).enumerate() {
                let first = n_batch * MAX_BATCH;
                let text = |at: usize| texts.get(first + at).unwrap_or_default();
                let batch: Vec<_> =
                    ids.iter().enumerate().map(|(at, id)| Text::new(id.clone(), text(at))).collect();
                for made in write(&self.engine, &batch)? {
                    let (name, near) = told(&made);
                    outcome.append_value(name);
                    of.push(near.map(|near| &near.id));
                    nearness.push(near.map(|near| &near.nearness));
                }
                progress.add(ids.len())?;
            }
            Ok::<_, Failure>(progress.tell()?)
        })?;
        let mut columns = vec![("outcome", Arc::new(outcome.finish()) as _), ("duplicate_of", of.finish())];
        columns.extend(nearness.finish());
        Table::new(columns)
    }
}

/// The name of an outcome, and the document for which a text was not written.
fn told(outcome: &Outcome) -> (&'static str, Option<&Match>) {
    match outcome {
        Outcome::Inserted => ("inserted", None),
        Outcome::Unchanged => ("unchanged", None),
        Outcome::Replaced => ("replaced", None),
        Outcome::NoFeatures => ("no features", None),
        Outcome::Duplicate(near) => ("duplicate", Some(near)),
    }
}

fn described<'py>(
    py: Python<'py>,
    stored: &StoredDocument,
    text: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let document = PyDict::new(py);
    document.set_item("id", stored.document.id.as_str())?;
    document.set_item("source", stored.document.source.as_ref().map(ToString::to_string))?;
    document.set_item("inserted_at", stored.inserted_at.to_string())?;
    let simhash = stored.document.sketch.features().simhash;
    document.set_item("fingerprint", simhash.map(|simhash| simhash.0))?;
    document.set_item("text", text)?;
    Ok(document)
}

#[pymethods]
impl Index {
    #[new]
    #[pyo3(signature = (uri, *, must_exist=false, **arguments))]
    fn new(
        py: Python<'_>,
        uri: &str,
        must_exist: bool,
        arguments: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut options = options(arguments)?;
        options.mode = if must_exist { Mode::MustExist } else { Mode::CreateIfMissing };
        Ok(Self { engine: open(py, uri, &options)?, uri: engine::shown(uri) })
    }

    #[pyo3(signature = (ids, texts, progress=None))]
    fn insert(
        &self,
        py: Python<'_>,
        ids: Ids,
        texts: Strings,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Table> {
        self.write(py, (&ids, &texts), progress, Engine::insert)
    }

    #[pyo3(signature = (ids, texts, progress=None))]
    fn insert_if_new(
        &self,
        py: Python<'_>,
        ids: Ids,
        texts: Strings,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Table> {
        self.write(py, (&ids, &texts), progress, Engine::insert_if_new)
    }

    #[pyo3(signature = (texts, limit=10))]
    fn near(&self, py: Python<'_>, texts: Strings, limit: usize) -> PyResult<Table> {
        let (mut query, mut id, mut n_all) =
            (Int64Builder::new(), LargeStringBuilder::new(), UInt64Builder::new());
        let mut nearness = NearnessColumns::default();
        py.detach(|| {
            let mut progress = Progress::to(None);
            let rows: Vec<usize> = (0..texts.len()).collect();
            for rows in rows.chunks(MAX_BATCH) {
                let queries: Vec<&str> = rows.iter().map(|&row| texts.get(row).unwrap_or_default()).collect();
                for (row, found) in rows.iter().zip(self.engine.query(&queries, limit)?) {
                    for near in found.iter().flat_map(|found| &found.matches) {
                        query.append_value(*row as i64);
                        id.append_value(near.id.as_str());
                        n_all.append_option(found.as_ref().map(|found| found.n_matches));
                        nearness.push(Some(&near.nearness));
                    }
                }
                progress.add(rows.len())?;
            }
            Ok::<_, Failure>(progress.tell()?)
        })?;
        let mut columns = vec![("query", Arc::new(query.finish()) as _), ("id", narrowed(id.finish()))];
        columns.extend(nearness.finish());
        columns.push(("n_matches", Arc::new(n_all.finish())));
        Table::new(columns)
    }

    fn get<'py>(&self, py: Python<'py>, ids: Ids) -> PyResult<Vec<Option<Bound<'py, PyDict>>>> {
        let ids = ids.all()?;
        let (stored, texts) = py
            .detach(|| {
                let index = self.engine.index();
                let (mut stored, mut texts) = (Vec::new(), Vec::new());
                for ids in ids.chunks(MAX_BATCH) {
                    stored.extend(index.get(ids)?);
                    texts.extend(index.texts(ids)?);
                }
                Ok((stored, texts))
            })
            .map_err(|error| of_store(&error))?;
        stored
            .iter()
            .zip(texts)
            .map(|(stored, text)| {
                stored.as_ref().map(|stored| described(py, stored, text.as_deref())).transpose()
            })
            .collect()
    }

    fn remove(&self, py: Python<'_>, ids: Ids) -> PyResult<Vec<bool>> {
        let ids = ids.all()?;
        let remove = || {
            let removed = ids.chunks(MAX_BATCH).map(|ids| self.engine.index().remove(ids));
            Ok(removed.collect::<::index::Result<Vec<_>>>()?.concat())
        };
        py.detach(remove).map_err(|error| of_store(&error))
    }

    /// A page of documents after a cursor, which is empty at the start, and the next cursor.
    #[pyo3(signature = (cursor, limit))]
    fn page<'py>(&self, py: Python<'py>, cursor: Vec<u8>, limit: usize) -> PyResult<Listed<'py>> {
        let read = || self.engine.index().scan(Cursor::from_bytes(cursor), limit);
        let page = py.detach(read).map_err(|error| of_store(&error))?;
        let documents: PyResult<_> =
            page.documents.iter().map(|stored| described(py, stored, None)).collect();
        Ok((documents?, page.next.map(|next| next.bytes().to_vec())))
    }

    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let index = self.engine.index();
        let status = py.detach(|| index.status()).map_err(|error| of_store(&error))?;
        let info = PyDict::new(py);
        info.set_item("uri", &self.uri)?;
        info.set_item("documents", status.n_documents)?;
        info.set_item("disk_bytes", status.n_disk_bytes)?;
        info.set_item("profile", index.kind().profile().name())?;
        info.set_item("scheme", index.kind().name())?;
        info.set_item("min_similarity", index.min_similarity().map(|least| least.get()))?;
        info.set_item("counts_texts", index.rule().counter.is_some())?;
        info.set_item("recipe", index.recipe().clone())?;
        Ok(info)
    }

    /// Writes an image of the search tables, so that later openings are fast.
    fn write_image(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.engine.index().write_image(&mut |_| {})).map_err(|error| of_store(&error))
    }

    fn __repr__(&self) -> String {
        format!("Index({:?})", self.uri)
    }
}
