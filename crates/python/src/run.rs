//! A run over a corpus: which documents stay, and which are near each other.

use std::path::PathBuf;
use std::sync::Arc;

use ::index::{DocumentId, Features, MAX_BATCH};
use arrow_array::builder::{BooleanBuilder, Int64Builder};
use engine::clusters::{Groups, Join, RunTexts, TextPair};
use engine::dedup::{Candidate, Kept, KnownIds, Verdict};
use engine::{Engine, outlives_process};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{IdKind, Ids, Strings};
use crate::error::{Failure, of_store, value};
use crate::interrupt::Progress;
use crate::options::{open, options, share};
use crate::table::Table;
use crate::verdicts::{IdColumn, NearnessColumns};
use crate::watched::Watched;

/// Bytes of texts of one call of the store.
const BATCH_BYTES: usize = 32 << 20;

/// Decides about documents in their order, batch after batch: a document stays unless a kept one
/// is near.
#[pyclass(module = "pigeonhole")]
pub(crate) struct Run {
    engine: Arc<Engine>,
    kept: Kept,
    kind: Option<IdKind>,
    noted: Option<Noted>,
    counts: Counts,
}

/// Counts of documents.
#[derive(Clone, Copy, Default)]
struct Counts {
    n_read: usize,
    n_kept: usize,
    n_duplicates: usize,
    n_rejected: usize,
    n_null: usize,
    n_without_features: usize,
}

/// The documents with features, for pairs and clusters at the end of the run.
struct Noted {
    /// The numbers of their rows.
    rows: Vec<u32>,
    ids: Vec<DocumentId>,
    features: Vec<Features>,
    is_kept: Vec<bool>,
    texts: Option<RunTexts>,
}

/// Documents that wait for a call of the store.
#[derive(Default)]
struct Batch {
    ids: Vec<DocumentId>,
    features: Vec<Option<Features>>,
    n_bytes: usize,
}

/// The columns of verdicts under construction.
struct Verdicts {
    ids: IdColumn,
    is_duplicate: BooleanBuilder,
    of: IdColumn,
    nearness: NearnessColumns,
}

impl Batch {
    fn add(&mut self, id: DocumentId, features: Option<Features>) {
        let text = features.as_ref().and_then(|features| features.text.as_ref());
        self.n_bytes += text.map_or(0, |text| text.len());
        self.ids.push(id);
        self.features.push(features);
    }

    fn is_full(&self) -> bool {
        self.ids.len() >= MAX_BATCH || self.n_bytes >= BATCH_BYTES
    }
}

impl Run {
    /// Decides about a batch.
    fn decide_batch(&mut self, batch: &mut Batch, verdicts: &mut Verdicts) -> Result<(), Failure> {
        let Batch { ids, features, .. } = std::mem::take(batch);
        let candidates: Vec<_> = ids
            .iter()
            .zip(&features)
            .map(|(id, features)| Candidate { id, features: features.as_ref(), source: None })
            .collect();
        let decided = self.kept.decide(self.engine.index(), &candidates)?;
        for ((id, features), verdict) in ids.into_iter().zip(features).zip(decided) {
            self.counts.n_without_features += usize::from(features.is_none());
            let (is_duplicate, of) = match &verdict {
                None => (None, None),
                Some(Verdict::Kept) => (Some(false), None),
                Some(Verdict::Duplicate { of, .. }) => (Some(true), Some(of)),
            };
            match is_duplicate {
                None => self.counts.n_rejected += 1,
                Some(false) => self.counts.n_kept += 1,
                Some(true) => self.counts.n_duplicates += 1,
            }
            verdicts.ids.push(Some(&id));
            verdicts.is_duplicate.append_option(is_duplicate);
            verdicts.of.push(of.map(|of| &of.id));
            verdicts.nearness.push(of.map(|of| &of.nearness));
            if let (Some(noted), Some(features), Some(is_duplicate)) =
                (&mut self.noted, features, is_duplicate)
            {
                noted.add(self.counts.n_read, id, features, !is_duplicate)?;
            }
            self.counts.n_read += 1;
        }
        Ok(())
    }

    fn noted(&self) -> PyResult<&Noted> {
        self.noted.as_ref().ok_or_else(|| {
            value("this run keeps no documents for pairs and clusters: make it with full=True")
        })
    }

    fn id_kind(&self) -> IdKind {
        self.kind.unwrap_or(IdKind::Integer)
    }
}

impl Noted {
    fn add(&mut self, row: usize, id: DocumentId, features: Features, is_kept: bool) -> Result<(), Failure> {
        let row = u32::try_from(row).map_err(|_| value("pairs and clusters are for fewer than 2^32 rows"))?;
        if let Some(texts) = &mut self.texts {
            texts.push(features.text.as_ref())?;
        }
        self.rows.push(row);
        self.ids.push(id);
        self.features.push(Features { text: None, ..features });
        self.is_kept.push(is_kept);
        Ok(())
    }

    /// The groups of documents that are compared alike.
    fn groups(&self, join: &Join) -> ::index::Result<Groups<'_>> {
        Groups::counted(&self.features, join.rule(), self.texts())
    }

    fn texts(&self) -> &dyn engine::clusters::Texts {
        match &self.texts {
            Some(texts) => texts,
            None => &engine::clusters::NoTexts,
        }
    }
}

#[pymethods]
impl Run {
    /// Opens the index at `store`. `full` keeps the documents' signatures for `pairs` and
    /// `clusters`, and their texts in a file.
    #[new]
    #[pyo3(signature = (store="memory:", *, full=false, contained=None, known_ids="keep", **arguments))]
    fn new(
        py: Python<'_>,
        store: &str,
        full: bool,
        contained: Option<f64>,
        known_ids: &str,
        arguments: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut options = options(arguments)?;
        let is_in_memory = !outlives_process(store);
        let folder: PathBuf = options.spool.take().unwrap_or_else(std::env::temp_dir);
        options.spool = Some(folder.clone());
        options.is_for_run = true;
        let known_ids: KnownIds = known_ids.parse().map_err(value)?;
        let contained = contained.map(|of| share("contained", of)).transpose()?;
        let engine = open(py, store, &options)?.containing(contained).map_err(|error| of_store(&error))?;
        let engine = if is_in_memory { engine.with_reduced_texts() } else { engine };
        let kept = Kept::new(known_ids).with_recipe(engine.index().recipe());
        let kept = if is_in_memory { kept.of_own_index(engine.index()) } else { kept };
        let counts_texts = engine.index().rule().counter.is_some();
        let texts =
            (full && counts_texts).then(|| RunTexts::create(&folder, RunTexts::CACHE_BYTES)).transpose()?;
        let noted = full.then(|| Noted {
            rows: Vec::new(),
            ids: Vec::new(),
            features: Vec::new(),
            is_kept: Vec::new(),
            texts,
        });
        Ok(Self { engine: Arc::new(engine), kept, kind: None, noted, counts: Counts::default() })
    }

    /// Decides about the next rows; returns one row for each.
    #[pyo3(signature = (texts, ids=None, progress=None))]
    fn decide(
        &mut self,
        py: Python<'_>,
        texts: Strings,
        ids: Option<Ids>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Table> {
        let ids = ids.unwrap_or(Ids::Rows(texts.len()));
        if ids.len() != texts.len() {
            return Err(value(format_args!("{} ids for {} texts", ids.len(), texts.len())));
        }
        if *self.kind.get_or_insert(ids.kind()) != ids.kind() {
            return Err(value("the ids of a run are all integers or all strings"));
        }
        let mut verdicts = Verdicts {
            ids: IdColumn::new(ids.kind()),
            is_duplicate: BooleanBuilder::with_capacity(texts.len()),
            of: IdColumn::new(ids.kind()),
            nearness: NearnessColumns::default(),
        };
        py.detach(|| {
            let first = self.counts.n_read;
            self.counts.n_null += texts.iter().filter(Option::is_none).count();
            let rows: Vec<(usize, &str)> = texts.iter().map(Option::unwrap_or_default).enumerate().collect();
            let mut progress = Progress::to(progress);
            let mut batch = Batch::default();
            let engine = Arc::clone(&self.engine);
            engine.extractor().extract(
                &rows,
                engine.n_threads(),
                |(_, text)| text,
                |rows, features| {
                    for (&(row, _), features) in rows.iter().zip(features) {
                        let id = ids.id(first, row)?;
                        if batch.is_full() {
                            self.decide_batch(&mut batch, &mut verdicts)?;
                        }
                        batch.add(id, features);
                    }
                    Ok::<_, Failure>(progress.add(rows.len())?)
                },
            )?;
            self.decide_batch(&mut batch, &mut verdicts)?;
            Ok::<_, Failure>(progress.tell()?)
        })?;
        let Verdicts { ids, mut is_duplicate, of, nearness } = verdicts;
        let mut columns = vec![
            ("id", ids.finish()),
            ("is_duplicate", Arc::new(is_duplicate.finish()) as _),
            ("duplicate_of", of.finish()),
        ];
        columns.extend(nearness.finish());
        Table::new(columns)
    }

    /// All near pairs of the rows so far, each once: first the copies, each paired with the first
    /// row of the same text, then the pairs of different texts.
    fn pairs(&self, py: Python<'_>) -> PyResult<Table> {
        let (noted, kind) = (self.noted()?, self.id_kind());
        let (mut a, mut b, mut copy_of) = (IdColumn::new(kind), IdColumn::new(kind), IdColumn::new(kind));
        let mut nearness = NearnessColumns::default();
        py.detach(|| {
            let join = Join::of(self.engine.index());
            let (groups, texts) = (noted.groups(&join)?, Watched::new(noted.texts()));
            let mut progress = Progress::to(None);
            let id = |document: u32| &noted.ids[document as usize];
            let compared = join.text_pairs(&groups, &texts, &mut |pair: TextPair| {
                a.push(Some(id(pair.first)));
                b.push(Some(id(pair.second)));
                copy_of.push(Some(id(pair.first)).filter(|_| pair.is_copy));
                nearness.push(Some(&pair.nearness));
                Ok::<_, Failure>(progress.add(1)?)
            });
            compared.map_err(|failure| texts.failure(failure))
        })?;
        let mut columns = vec![("a", a.finish()), ("b", b.finish())];
        columns.extend(nearness.finish());
        columns.push(("copy_of", copy_of.finish()));
        Table::new(columns)
    }

    /// The cluster of each row so far: the id of the first kept row of the cluster, or null for a
    /// row that is near to none.
    fn clusters(&self, py: Python<'_>) -> PyResult<Table> {
        let noted = self.noted()?;
        let mut of_rows: Vec<Option<u32>> = vec![None; self.counts.n_read];
        py.detach(|| {
            let join = Join::of(self.engine.index());
            let (groups, texts) = (noted.groups(&join)?, Watched::new(noted.texts()));
            let (parts, _) = join.components(&groups, &texts).map_err(|failure| texts.failure(failure))?;
            for part in parts.iter() {
                let kept = part.iter().find(|&&document| noted.is_kept[document as usize]);
                let name = kept.or(part.first()).copied();
                for document in part {
                    of_rows[noted.rows[document as usize] as usize] = name;
                }
            }
            Ok::<_, Failure>(Progress::to(None).tell()?)
        })?;
        let mut clusters = IdColumn::new(self.id_kind());
        let mut rows = Int64Builder::with_capacity(of_rows.len());
        for of in of_rows {
            clusters.push(of.map(|document| &noted.ids[document as usize]));
            rows.append_option(of.map(|document| noted.rows[document as usize].into()));
        }
        Table::new(vec![("cluster", clusters.finish()), ("cluster_row", Arc::new(rows.finish()))])
    }

    /// The counts of the rows so far.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Counts { n_read, n_kept, n_duplicates, n_rejected, n_null, n_without_features } = self.counts;
        let report = PyDict::new(py);
        for (name, n) in [
            ("read", n_read),
            ("kept", n_kept),
            ("duplicates", n_duplicates),
            ("rejected", n_rejected),
            ("null", n_null),
            ("without_features", n_without_features),
        ] {
            report.set_item(name, n)?;
        }
        let rule = self.engine.index().rule();
        report.set_item("min_similarity", rule.min_similarity.map(|least| least.get()))?;
        report.set_item("profile", self.engine.index().kind().profile().name())?;
        Ok(report)
    }
}
