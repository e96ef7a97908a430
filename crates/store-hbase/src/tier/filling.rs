//! Fills tiers by a walk through the table of cells.

use index::{Clock, Family, Result, Segments, SketchKind};

use super::ascending::Growing;
use super::{LEEWAY_MS, Tier, number_of};
use crate::layout::{INDEX_FAMILY, bounds, decode_row};
use crate::older;
use crate::rows::{LONG_PAGE_RESULTS, Rows, Span, Table};

/// The number of parts of the table that are read at a time.
const PARTS: u32 = 8;

/// Fills tiers of one index.
pub(super) struct Filler<'a> {
    pub(super) rows: &'a dyn Rows,
    pub(super) kind: &'a SketchKind,
    pub(super) clock: &'a Clock,
    /// The most bytes of a tier.
    pub(super) n_bytes_max: usize,
    /// Returns true where the walk is to end.
    pub(super) is_stopped: &'a dyn Fn() -> bool,
}

/// The end of a walk.
pub(super) enum Filled {
    Whole(Box<Tier>),
    /// The tier takes more than it may.
    TooLarge,
    /// A bulk load is under way, which ends the tier when it ends.
    Loading,
    Stopped,
}

impl Filler<'_> {
    /// Fills a tier: all of it, or what has come since `before` was filled, if no note has ended
    /// that one.
    pub(super) fn fill(&self, before: Option<&Tier>) -> Result<Filled> {
        // A note that comes after this read ends the tier.
        let notes = older::notes(self.rows)?;
        if notes.is_loading {
            return Ok(Filled::Loading);
        }
        let since = self.clock.now().as_ms().min(older::time(self.rows)?) - LEEWAY_MS;
        let mut filling = match before.filter(|tier| tier.note == notes.last) {
            Some(Tier { since, buckets, simhashes, turned, .. }) => Filling {
                since: Some(*since),
                buckets: Growing::of(buckets),
                simhashes: Growing::of(simhashes),
                turned: Growing::of(turned),
            },
            None => Filling::default(),
        };
        let parts = Segments::parts(self.kind, PARTS).unwrap_or_else(|_| vec![Segments::ALL]);
        let mut spans: Vec<Span> = parts.into_iter().map(|part| filling.span(part)).collect();
        while !spans.is_empty() {
            if (self.is_stopped)() {
                return Ok(Filled::Stopped);
            }
            let mut left = Vec::with_capacity(spans.len());
            self.rows.scan(Table::Index, INDEX_FAMILY, &spans, &mut |number, page| {
                left.extend(spans[number].rest(&page));
                page.iter().try_for_each(|row| filling.add(self.kind, &row.key))
            })?;
            spans = left;
            if filling.n_bytes() > self.n_bytes_max {
                return Ok(Filled::TooLarge);
            }
        }
        let Filling { buckets, simhashes, turned, .. } = filling;
        let (buckets, simhashes) = (buckets.into_set(), simhashes.into_set());
        let tier = Tier { since, note: notes.last, buckets, simhashes, turned: turned.into_set() };
        Ok(if tier.n_bytes() > self.n_bytes_max { Filled::TooLarge } else { Filled::Whole(Box::new(tier)) })
    }
}

/// A tier on its way.
#[derive(Default)]
struct Filling {
    /// The first timestamp of cells that are not in it yet; `None` for all cells.
    since: Option<i64>,
    buckets: Growing,
    simhashes: Growing,
    turned: Growing,
}

impl Filling {
    fn span(&self, part: Segments) -> Span {
        let (start, end) = bounds(part);
        Span { since: self.since, n_results: LONG_PAGE_RESULTS, ..Span::new(&start, &end) }
    }

    fn add(&mut self, kind: &SketchKind, key: &[u8]) -> Result<()> {
        let row = decode_row(key)?;
        match kind.family(row.flag) {
            Family::Simhash => {
                self.simhashes.add(row.fingerprint.0);
                self.turned.add(row.fingerprint.0.rotate_left(32));
            }
            Family::Set(_) => self.buckets.add(number_of(row.bucket())),
        }
        Ok(())
    }

    fn n_bytes(&self) -> usize {
        [&self.buckets, &self.simhashes, &self.turned].into_iter().map(Growing::n_bytes).sum()
    }
}
