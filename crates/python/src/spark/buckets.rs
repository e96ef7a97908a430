//! The pairs that meet in a bucket, from rows sorted by their keys.

use std::cmp::Reverse;
use std::sync::Arc;

use ::index::{CANDIDATES_MAX, COUNTED_MAX, Glance, Sketch};
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder};
use engine::Engine;
use minhash::Similarity;
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatch;
use simhash::BucketKey;

use super::SEGMENT_BITS;
use super::batch::{Batch, Side};
use crate::interrupt::Progress;
use crate::table::Table;

/// The leaders that are proposed to a row of a crowd under one key.
const LEADERS_PROPOSED_MAX: usize = 4;

/// Proposes the pairs of each bucket. The rows come sorted by `key`, then `row`, in any batches.
///
/// Every two rows of a bucket meet. Of a crowd each row meets the *leaders* alone: the earlier rows
/// that no leader before them is likely to be near to, by the signatures. Proposed are the earliest
/// leader and the earliest likely ones, [`LEADERS_PROPOSED_MAX`] in all, since an early row is the
/// one that stays. The rows that stay are then to meet each other in a last pass, which has them
/// `among_kept`, so a leader that is not near after all costs time and no row.
#[pyclass(module = "pigeonhole")]
pub(crate) struct Buckets {
    engine: Arc<Engine>,
    among_kept: bool,
    key: Option<i64>,
    /// The rows of the bucket so far, which later ones meet.
    members: Vec<Member>,
}

struct Member {
    row: i64,
    sketch: Sketch,
}

/// The verdict on a pair of a bucket.
struct Promise {
    row: i64,
    estimate: Similarity,
    is_likely: bool,
}

impl Buckets {
    pub(super) fn new(engine: Arc<Engine>, among_kept: bool) -> Self {
        Self { engine, among_kept, key: None, members: Vec::new() }
    }

    /// The earlier members worth a count beside a later one.
    fn promises(&self, bucket: BucketKey, is_crowded: bool, later: &Sketch) -> Vec<Promise> {
        let rule = self.engine.index().rule();
        let facet = later.facets().iter().find(|(_, facet)| facet.keys().binary_search(&bucket).is_ok());
        let Some((family, of_later)) = facet else { return Vec::new() };
        let within = rule.within(*family);
        let promise = |earlier: &Member| {
            let facet = earlier.sketch.facet(*family)?;
            if facet.fingerprint().distance(of_later.fingerprint()) > within {
                return None;
            }
            // The leaders of two crowds differ, so a pair of a crowd has no one bucket.
            if !is_crowded && rule.first_shared(&earlier.sketch, later) != Some(bucket) {
                return None;
            }
            let (a, b) = (earlier.sketch.features(), later.features());
            let (estimate, is_likely) = match rule.glance_at(a, b, rule.counter.is_some()) {
                Glance::Far => return None,
                Glance::Near(nearness) => (nearness.similarity.unwrap_or(Similarity::ONE), true),
                Glance::Worth { estimate, .. } => {
                    (estimate, rule.min_similarity.is_none_or(|least| estimate >= least))
                }
            };
            Some(Promise { row: earlier.row, estimate, is_likely })
        };
        let first = if self.among_kept { self.members.len().saturating_sub(CANDIDATES_MAX) } else { 0 };
        self.members[first..].iter().filter_map(promise).collect()
    }

    /// Takes the next row of a bucket, and returns the earlier ones worth a count.
    fn take(&mut self, bucket: BucketKey, is_crowded: bool, member: Member) -> Vec<Promise> {
        let is_bounded = is_crowded && !self.among_kept;
        let mut promises = self.promises(bucket, is_bounded, &member.sketch);
        let is_led = is_bounded && promises.iter().any(|promise| promise.is_likely);
        if !is_led && (!is_bounded || self.members.len() < CANDIDATES_MAX) {
            self.members.push(member);
        }
        if is_bounded {
            lead(&mut promises);
        } else if is_crowded && promises.len() > COUNTED_MAX {
            promises.sort_by_key(|promise| Reverse(promise.estimate));
            promises.truncate(COUNTED_MAX);
        }
        promises
    }
}

/// Keeps the earliest leader, and the earliest likely ones.
fn lead(promises: &mut Vec<Promise>) {
    let (mut n_met, mut n_likely) = (0, 0);
    promises.retain(|promise| {
        n_met += 1;
        n_likely += usize::from(promise.is_likely);
        n_met == 1 || (promise.is_likely && n_likely < LEADERS_PROPOSED_MAX)
    });
}

#[pymethods]
impl Buckets {
    /// Takes rows of `key`, `row`, `is_crowded`, `fingerprint` and `signature`, and returns pairs
    /// `a` and `b` worth a count, the lesser row first. Those of crowds have an `estimate` of their
    /// similarity, and `is_likely` where that is enough; others have null.
    fn push(&mut self, py: Python<'_>, rows: PyRecordBatch) -> PyResult<Table> {
        let batch = Batch(rows.into_inner());
        let (keys, rows) = (batch.integers("key")?, batch.integers("row")?);
        let (is_crowded, side) = (batch.booleans("is_crowded")?, Side::without_texts(&batch, "")?);
        let (mut a, mut b) = (Int64Builder::new(), Int64Builder::new());
        let (mut estimate, mut is_likely) = (Float64Builder::new(), BooleanBuilder::new());
        py.detach(|| {
            let mut progress = Progress::to(None);
            for at in 0..rows.len() {
                let key = keys.value(at);
                if self.key.replace(key) != Some(key) {
                    self.members.clear();
                }
                let bucket = BucketKey { flag: (key >> SEGMENT_BITS) as _, segment: key as u32 };
                let (row, sketch) = (rows.value(at), self.engine.index().kind().sketch(side.features(at)?));
                let is_crowded = is_crowded.value(at);
                for promise in self.take(bucket, is_crowded, Member { row, sketch }) {
                    a.append_value(promise.row);
                    b.append_value(row);
                    estimate.append_option(is_crowded.then(|| promise.estimate.get()));
                    is_likely.append_option(is_crowded.then_some(promise.is_likely));
                }
                progress.add(1)?;
            }
            Ok::<_, PyErr>(())
        })?;
        Table::new(vec![
            ("a", Arc::new(a.finish()) as _),
            ("b", Arc::new(b.finish()) as _),
            ("estimate", Arc::new(estimate.finish()) as _),
            ("is_likely", Arc::new(is_likely.finish()) as _),
        ])
    }
}
