//! Reading the buckets of several queries, a page of each at a time.

use index::{DocumentId, Result};
use simhash::{BucketKey, Fingerprint, KeyRange, Sketch};

use super::layout::{INDEX_FAMILY, decode_id, decode_index_row, in_row};
use super::rows::{Rows, Span, Table};

/// A cell, and where it was met.
pub(super) struct Candidate {
    /// The number of the query.
    pub(super) query: usize,
    pub(super) bucket: BucketKey,
    pub(super) fingerprint: Fingerprint,
    pub(super) id: DocumentId,
    pub(super) timestamp: i64,
}

/// What is left to read.
#[derive(Default)]
pub(super) struct Buckets {
    spans: Vec<Span>,
    /// Of each span the number of its query, and the bucket.
    whose: Vec<(usize, BucketKey)>,
}

/// A page of each bucket.
#[derive(Default)]
pub(super) struct BucketPages {
    /// The cells of rows that are near.
    pub(super) candidates: Vec<Candidate>,
    /// Of each row that was read, near or not, the number of its query.
    pub(super) rows: Vec<usize>,
    /// The numbers of queries with a bucket that has more than this page.
    pub(super) unfinished: Vec<usize>,
}

impl Buckets {
    /// All buckets of a query.
    pub(super) fn add(&mut self, query: usize, sketch: &Sketch) {
        for &bucket in sketch.keys() {
            let range = KeyRange::of_bucket(bucket);
            self.spans.push(Span::new(range.start(), range.end()));
            self.whose.push((query, bucket));
        }
    }

    /// Reads on; `None` after the last page.
    pub(super) fn next(
        &mut self,
        rows: &dyn Rows,
        is_near: &dyn Fn(usize, Fingerprint) -> bool,
    ) -> Result<Option<BucketPages>> {
        if self.spans.is_empty() {
            return Ok(None);
        }
        let mut rest = Self::default();
        let mut pages = BucketPages::default();
        rows.scan(Table::Index, INDEX_FAMILY, &self.spans, &mut |number, page| {
            let (query, bucket) = self.whose[number];
            let span = &self.spans[number];
            if let Some(left) = span.rest(&page) {
                pages.unfinished.push(query);
                rest.spans.push(left);
                rest.whose.push((query, bucket));
            }
            // A row of many documents comes in pieces.
            let mut last = span.within.is_some().then(|| span.start.clone());
            for row in page {
                if last.as_ref() != Some(&row.key) {
                    pages.rows.push(query);
                }
                last = Some(row.key.clone());
                let fingerprint = decode_index_row(&row.key, bucket)?;
                if !is_near(query, fingerprint) {
                    continue;
                }
                for cell in row.cells {
                    let id = decode_id(&cell.qualifier).map_err(|error| in_row(&row.key, error))?;
                    let timestamp = cell.timestamp;
                    pages.candidates.push(Candidate { query, bucket, fingerprint, id, timestamp });
                }
            }
            Ok(())
        })?;
        *self = rest;
        Ok(Some(pages))
    }
}
