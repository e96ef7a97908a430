//! Reads the buckets of several queries, one page of each bucket at a time.

use index::{DocumentId, Error, ErrorKind, Family, Result, Rule, Sketch};
use simhash::{BucketKey, Distance, Facet, Fingerprint, KeyRange, RowKey};

use super::layout::{INDEX_FAMILY, decode_id, decode_index_row, in_row};
use super::rows::{Rows, Span, Table};
use super::tier::Tier;

/// The part of a query's buckets to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// All buckets: a search misses no near document.
    All,
    /// A quarter of the buckets: a search meets nearly equal documents, and some of the other near
    /// ones.
    Glance,
    /// The buckets of a glance in which the tier has something near. Without a tier, all buckets of
    /// a glance.
    Older,
}

impl Reach {
    /// Returns the stride between two keys of a facet that are read.
    fn step(self) -> usize {
        match self {
            Self::All => 1,
            Self::Glance | Self::Older => 4,
        }
    }
}

/// A cell of the index, and the bucket in which a query met the cell.
pub(super) struct Candidate {
    /// The number of the query.
    pub(super) query: usize,
    /// The family of the facet by which the query reads the bucket.
    pub(super) family: Family,
    pub(super) row: RowKey,
    pub(super) id: DocumentId,
    pub(super) timestamp: i64,
}

/// The buckets, or rests of buckets, still to be read.
#[derive(Default)]
pub(super) struct Buckets {
    spans: Vec<Span>,
    /// The bucket of each span.
    whose: Vec<Bucket>,
}

/// A bucket, with the fingerprint and the distance that make a row of the bucket a candidate.
#[derive(Clone, Copy)]
struct Bucket {
    query: usize,
    family: Family,
    key: BucketKey,
    /// The fingerprint of the query's facet.
    fingerprint: Fingerprint,
    within: Distance,
}

/// A page of each bucket.
#[derive(Default)]
pub(super) struct BucketPages {
    /// The cells of rows within the distance of the query.
    pub(super) candidates: Vec<Candidate>,
    /// The number of the query, once for each row that was read, near or not.
    pub(super) rows: Vec<usize>,
    /// The numbers of queries with a bucket that goes on after this page.
    pub(super) unfinished: Vec<usize>,
}

impl Buckets {
    /// Adds the buckets of a query within `reach`; `rule` gives the distance for each family. Where
    /// the `tier` has nothing near, only later cells of a bucket are read.
    pub(super) fn add(
        &mut self,
        query: usize,
        sketch: &Sketch,
        rule: &Rule,
        reach: Reach,
        tier: Option<&Tier>,
    ) {
        for (family, facet) in sketch.facets() {
            let (family, within) = (*family, rule.within(*family));
            let since = tier.map(|tier| tier.since(rule, family, facet));
            for &key in facet.keys().iter().step_by(reach.step()) {
                let range = KeyRange::of_bucket(key);
                let since = since.as_ref().and_then(|since| since(key));
                if since.is_some() && reach == Reach::Older {
                    continue;
                }
                self.spans.push(Span { since, ..Span::new(range.start(), range.end()) });
                self.whose.push(Bucket { query, family, key, fingerprint: facet.fingerprint(), within });
            }
        }
    }

    /// Reads the next page of each bucket; returns `None` after the last page. The pages are valid
    /// once a later call to `rows` has confirmed that the tables still belong to the index.
    pub(super) fn next(&mut self, rows: &dyn Rows) -> Result<Option<BucketPages>> {
        if self.spans.is_empty() {
            return Ok(None);
        }
        // A foreign row may belong to another index.
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

/// Returns true if `row` is one of the rows of `sketch`.
pub(super) fn is_filed(sketch: &Sketch, row: RowKey) -> bool {
    let has = |facet: &Facet| {
        facet.fingerprint() == row.fingerprint && facet.keys().binary_search(&row.bucket()).is_ok()
    };
    sketch.facets().iter().any(|(_, facet)| has(facet))
}
