//! Fills tiers by a walk through the documents: their records and claims give the cells.

use index::{Clock, Error, Family, Result, Sketch, SketchKind};

use super::ascending::Growing;
use super::{HALF_BITS, LEEWAY_MS, Tier, number_of};
use crate::layout::{CLAIM_COLUMN, DOCUMENT_FAMILY, DOCUMENTS_END, RECORD_COLUMN, Record};
use crate::layout::{decode_claim, document_starts};
use crate::older;
use crate::rows::{Row, Rows, Span, Table};

/// Fills tiers of one index.
pub(crate) struct Filler<'a> {
    pub(crate) rows: &'a dyn Rows,
    pub(crate) kind: &'a SketchKind,
    pub(crate) clock: &'a Clock,
    /// The most bytes of a tier.
    pub(crate) n_bytes_max: usize,
    /// Returns true where the walk is to end.
    pub(crate) is_stopped: &'a dyn Fn() -> bool,
    /// Waits after an error that may pass; the walk goes on then where it was.
    pub(crate) pause: &'a dyn Fn(&Error),
}

/// The end of a walk.
pub(crate) enum Filled {
    Whole(Box<Tier>),
    /// The tier takes more than it may.
    TooLarge {
        /// True if it goes on from one before, which may have documents that have expired since.
        goes_on: bool,
    },
    /// A bulk load is under way, which ends the tier when it ends.
    Loading,
    Stopped,
}

impl Filler<'_> {
    /// Fills a tier: all of it, or what has come since `before` was filled, if no note has ended
    /// that one.
    pub(crate) fn fill(&self, before: Option<&Tier>) -> Result<Filled> {
        // A note that comes after this read ends the tier.
        let notes = older::notes(self.rows)?;
        if notes.is_loading {
            return Ok(Filled::Loading);
        }
        let since = self.clock.now().as_ms().min(older::time(self.rows)?) - LEEWAY_MS;
        let before = before.filter(|tier| tier.note == notes.last);
        let mut filling = before.map(Filling::of).unwrap_or_default();
        let after = before.map(|tier| tier.since);
        let parts = Span::parts(&document_starts(), DOCUMENTS_END);
        let mut spans: Vec<Span> = parts.into_iter().map(|part| Span { since: after, ..part }).collect();
        while !spans.is_empty() {
            if (self.is_stopped)() {
                return Ok(Filled::Stopped);
            }
            // A span without its page is read again.
            let mut left: Vec<_> = spans.iter().cloned().map(Some).collect();
            let read = self.rows.scan(Table::Documents, DOCUMENT_FAMILY, &spans, &mut |number, page| {
                page.iter().for_each(|row| filling.add_row(self.kind, row));
                left[number] = spans[number].rest(&page);
                Ok(())
            });
            spans = left.into_iter().flatten().collect();
            match read {
                Err(error) if error.kind().is_transient() => (self.pause)(&error),
                read => read?,
            }
            if filling.n_bytes() > self.n_bytes_max {
                return Ok(Filled::TooLarge { goes_on: before.is_some() });
            }
        }
        let Filling { buckets, simhashes, turned, n_damaged } = filling;
        if n_damaged > 0 {
            tracing::warn!(
                "{n_damaged} records or claims cannot be read, and the tier is filled without them, so insertions near \
                 to these documents may not notice; `pigeonhole verify` names them"
            );
        }
        let sets = [buckets, simhashes, turned].map(Growing::into_set);
        let tier = Tier::new(since, notes.last, sets);
        if tier.n_bytes() > self.n_bytes_max {
            return Ok(Filled::TooLarge { goes_on: before.is_some() });
        }
        Ok(Filled::Whole(Box::new(tier)))
    }
}

/// A tier on its way.
#[derive(Default)]
struct Filling {
    buckets: Growing,
    simhashes: Growing,
    turned: Growing,
    /// The number of records and claims that could not be decoded.
    n_damaged: u64,
}

impl Filling {
    fn of(Tier { buckets, simhashes, turned, .. }: &Tier) -> Self {
        Self {
            buckets: Growing::of(&buckets.set),
            simhashes: Growing::of(&simhashes.set),
            turned: Growing::of(&turned.set),
            n_damaged: 0,
        }
    }

    /// Adds the cells of a document, by its record and its claim: a search believes no others. What
    /// is damaged confirms no cell, and is counted.
    fn add_row(&mut self, kind: &SketchKind, row: &Row) {
        for cell in &row.cells {
            let sketch = match &cell.qualifier {
                qualifier if *qualifier == RECORD_COLUMN[2..] => {
                    Record::decode(&cell.value, kind).map(|record| Some(record.sketch))
                }
                qualifier if *qualifier == CLAIM_COLUMN[2..] => decode_claim(&cell.value, kind)
                    .map(|claim| claim.state.is_believed().then_some(claim.sketch)),
                _ => continue,
            };
            match sketch {
                Ok(Some(sketch)) => self.add(kind, &sketch),
                Ok(None) => {}
                Err(_) => self.n_damaged += 1,
            }
        }
    }

    fn add(&mut self, kind: &SketchKind, sketch: &Sketch) {
        let mut simhash = None;
        for row in sketch.rows() {
            match kind.family(row.flag) {
                Family::Simhash => simhash = Some(row.fingerprint.0),
                Family::Set(_) => self.buckets.add(number_of(row.bucket())),
            }
        }
        if let Some(simhash) = simhash {
            self.simhashes.add(simhash);
            self.turned.add(simhash.rotate_left(HALF_BITS));
        }
    }

    fn n_bytes(&self) -> usize {
        [&self.buckets, &self.simhashes, &self.turned].into_iter().map(Growing::n_bytes).sum()
    }
}
