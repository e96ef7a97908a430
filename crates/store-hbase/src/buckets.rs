//! Reading the buckets of several queries, a page of each at a time.

use index::{DocumentId, Error, ErrorKind, Family, Result, Rule, Sketch};
use simhash::{BucketKey, Distance, Facet, Fingerprint, KeyRange, RowKey};

use super::layout::{INDEX_FAMILY, decode_id, decode_index_row, in_row};
use super::rows::{Rows, Span, Table};

/// Which buckets of a query are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// All: what is near and there is met.
    All,
    /// A quarter: what is nearly equal is met, and of the rest some.
    Glance,
}

impl Reach {
    /// Every so many keys of a facet.
    fn step(self) -> usize {
        match self {
            Self::All => 1,
            Self::Glance => 4,
        }
    }
}

/// A cell, and where it was met.
pub(super) struct Candidate {
    /// The number of the query.
    pub(super) query: usize,
    /// Of the facet by which the query reads the bucket.
    pub(super) family: Family,
    pub(super) row: RowKey,
    pub(super) id: DocumentId,
    pub(super) timestamp: i64,
}

/// What is left to read.
#[derive(Default)]
pub(super) struct Buckets {
    spans: Vec<Span>,
    /// Of each span.
    whose: Vec<Bucket>,
}

/// A bucket, and what is near in it.
#[derive(Clone, Copy)]
struct Bucket {
    query: usize,
    family: Family,
    key: BucketKey,
    /// Of the query's facet.
    fingerprint: Fingerprint,
    within: Distance,
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
    /// Buckets of a query, and of each facet what is a candidate by `rule`.
    pub(super) fn add(&mut self, query: usize, sketch: &Sketch, rule: &Rule, reach: Reach) {
        for (family, facet) in sketch.facets() {
            let (family, within) = (*family, rule.within(*family));
            for &key in facet.keys().iter().step_by(reach.step()) {
                let range = KeyRange::of_bucket(key);
                self.spans.push(Span::new(range.start(), range.end()));
                self.whose.push(Bucket { query, family, key, fingerprint: facet.fingerprint(), within });
            }
        }
    }

    /// Reads on; `None` after the last page. What it says holds once another call to `rows` has said that the tables are
    /// those of the index.
    pub(super) fn next(&mut self, rows: &dyn Rows) -> Result<Option<BucketPages>> {
        if self.spans.is_empty() {
            return Ok(None);
        }
        // What is no row of this index may be one of another index.
        let of_this_index = |error: Error| match error.kind() {
            ErrorKind::Corrupt => rows.check().err().unwrap_or(error),
            _ => error,
        };
        self.read(rows).map_err(of_this_index).map(Some)
    }

    fn read(&mut self, rows: &dyn Rows) -> Result<BucketPages> {
        let mut rest = Self::default();
        let mut pages = BucketPages::default();
        rows.scan_ahead(Table::Index, INDEX_FAMILY, &self.spans, &mut |number, page| {
            let bucket = self.whose[number];
            let Bucket { query, family, key, fingerprint, within } = bucket;
            let span = &self.spans[number];
            if let Some(left) = span.rest(&page) {
                pages.unfinished.push(query);
                rest.spans.push(left);
                rest.whose.push(bucket);
            }
            // A row of many documents comes in pieces.
            let mut last = span.within.is_some().then(|| span.start.clone());
            for piece in page {
                if last.as_ref() != Some(&piece.key) {
                    pages.rows.push(query);
                }
                last = Some(piece.key.clone());
                let row = decode_index_row(&piece.key, key)?;
                if row.fingerprint.distance(fingerprint) > within {
                    continue;
                }
                for cell in piece.cells {
                    let id = decode_id(&cell.qualifier).map_err(|error| in_row(&piece.key, error))?;
                    let timestamp = cell.timestamp;
                    pages.candidates.push(Candidate { query, family, row, id, timestamp });
                }
            }
            Ok(())
        })?;
        *self = rest;
        Ok(pages)
    }
}

/// How a sketch is filed by one family.
pub(super) fn facet_of(sketch: &Sketch, family: Family) -> Option<&Facet> {
    sketch.facets().iter().find(|(of, _)| *of == family).map(|(_, facet)| facet)
}

/// Whether a row is one of a sketch.
pub(super) fn is_filed(sketch: &Sketch, row: RowKey) -> bool {
    let has = |facet: &Facet| {
        facet.fingerprint() == row.fingerprint && facet.keys().binary_search(&row.bucket()).is_ok()
    };
    sketch.facets().iter().any(|(_, facet)| has(facet))
}
