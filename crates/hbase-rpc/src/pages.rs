//! A page of each of many ranges: short scans side by side, or one scan of a region that seeks from
//! range to range.

mod message;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use self::message::message;
use crate::client::{Failed, Retry, pieces};
use crate::messages::{ScanRequest, ScanResponse};
use crate::regions::{Region, Regions, specifier};
use crate::{Cell, Client, Error, Service};

/// Rows from one key to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// The first row, inclusive.
    pub start: Bytes,
    /// The stop row, exclusive; empty for the end of the table.
    pub stop: Bytes,
    /// If set, the range is only the row `start`, and of this row the columns after `after`.
    pub after: Option<Bytes>,
}

impl Range {
    /// Creates the range of all rows from `start` on, before `stop`.
    #[must_use]
    pub fn new(start: impl Into<Bytes>, stop: impl Into<Bytes>) -> Self {
        Self { start: start.into(), stop: stop.into(), after: None }
    }

    /// Returns true if a row, not before `start`, is in the range.
    fn is_before_stop(&self, row: &[u8]) -> bool {
        self.stop.is_empty() || row < &self.stop[..]
    }
}

/// Options of pages.
#[derive(Clone, Copy, Debug)]
pub struct PageOptions {
    /// The most pieces of rows that a page has.
    pub pieces_max: usize,
    /// The most cells of a piece. A longer row comes in several pieces, all but the last of this
    /// length.
    pub cells_max: usize,
    /// The least number of ranges in one region that one scan reads together. Fewer ranges have a
    /// scan each.
    pub together_min: usize,
    /// True if blocks that are read stay in the server's cache.
    pub cache_blocks: bool,
    /// The least timestamp of cells that are read, in milliseconds; `None` for cells of any time. A
    /// server skips files whose cells are all older.
    pub since: Option<i64>,
}

/// A page: pieces of rows, each the cells of one row.
pub type Pages = Vec<Vec<Cell>>;

/// The most ranges of one scan.
const RANGES_MAX: usize = 1_024;

/// The most pieces of one answer.
const ANSWER_PIECES: usize = 4_096;

/// The most bytes of one answer, unless a single piece is longer.
const ANSWER_LEN: u64 = 2 << 20;

/// The most scans under way at once.
const SCANS_MAX: usize = 64;

/// The number of pieces in a page from which a server reads ahead.
const LONG: usize = 2_048;

/// A range that is read, with the numbers of the equal ranges asked for.
#[derive(Debug)]
struct Part {
    numbers: Vec<usize>,
    range: Range,
    /// The row to go on with, after the rows in `page`.
    from: Bytes,
    page: Pages,
    /// True if there may be more cells of the last piece's row.
    is_open: bool,
}

impl Part {
    fn new(number: usize, range: Range) -> Self {
        Self { numbers: vec![number], from: range.start.clone(), range, page: Vec::new(), is_open: false }
    }

    /// Discards the page, to read the range from its start.
    fn reset(&mut self) {
        self.from = self.range.start.clone();
        self.page.clear();
        self.is_open = false;
    }

    fn is_full(&self, options: &PageOptions) -> bool {
        let is_whole = |piece: &Vec<Cell>| !self.is_open || piece.len() >= options.cells_max;
        match self.page.len().cmp(&options.pieces_max) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => self.page.last().is_none_or(is_whole),
            std::cmp::Ordering::Greater => true,
        }
    }

    /// Adds cells, and joins pieces that the server has sent shorter than need be.
    fn push(&mut self, mut cells: Vec<Cell>, is_open: bool, options: &PageOptions) {
        let is_same = |last: &Vec<Cell>| last.first().zip(cells.first()).is_some_and(|(a, b)| a.row == b.row);
        if let Some(last) = self.page.last_mut().filter(|last| is_same(last)) {
            let n = options.cells_max.saturating_sub(last.len()).min(cells.len());
            last.extend(cells.drain(..n));
        }
        while !cells.is_empty() {
            let rest = cells.split_off(cells.len().min(options.cells_max));
            self.page.push(std::mem::replace(&mut cells, rest));
        }
        self.is_open = is_open;
    }
}

/// The parameters of a call, the same in all regions.
#[derive(Clone, Copy)]
struct Of<'a> {
    table: &'a str,
    family: &'a Bytes,
    options: &'a PageOptions,
}

/// The outcome of reading some parts in one region.
#[derive(Default)]
struct Outcome {
    done: Vec<Part>,
    /// Parts to go on with in a later region, or to read again.
    left: Vec<Part>,
    error: Option<Error>,
}

impl Client {
    /// Reads one page of each range, of one family, and hands it to `visit` with the number of the
    /// range. Pages come in any order, each once. A page of fewer pieces than `pieces_max` is the
    /// end of its range.
    ///
    /// # Errors
    /// [`Error`], and the first error of `visit`, which ends the call.
    pub async fn pages<E: From<Error>>(
        &self,
        table: &str,
        family: &Bytes,
        ranges: &[Range],
        options: &PageOptions,
        visit: &mut impl FnMut(usize, Pages) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut left = parts(ranges);
        let of = Of { table, family, options };
        let mut retry = Retry::new(self, table);
        while let Err(failed) = self.read_left(of, &mut left, visit, &mut retry).await {
            retry.after(failed).await?;
        }
        Ok(())
    }

    /// Reads the parts that are left, until a call fails.
    async fn read_left<E>(
        &self,
        of: Of<'_>,
        left: &mut Vec<Part>,
        visit: &mut impl FnMut(usize, Pages) -> Result<(), E>,
        tries: &mut Retry<'_>,
    ) -> Result<(), Failed<E>> {
        while !left.is_empty() {
            let regions = self.regions(of.table, tries.until()).await?;
            let (jobs, lost, mut failure) = jobs(&regions, std::mem::take(left), of.options);
            *left = lost;
            let mut waiting = jobs.into_iter();
            let within = tries.within();
            let read = |(region, parts)| self.read(of, region, parts, within);
            let mut under_way = FuturesUnordered::new();
            under_way.extend(waiting.by_ref().take(SCANS_MAX).map(read));
            while let Some(Outcome { done, left: again, error }) = under_way.next().await {
                under_way.extend(waiting.next().map(read));
                if !done.is_empty() {
                    tries.has_gone_on();
                }
                for part in done {
                    part.visit(of.options, visit).map_err(Failed::Final)?;
                }
                left.extend(again);
                failure = error.or(failure);
            }
            if let Some(error) = failure {
                return Err(Failed::Call(error, Some(Arc::clone(&regions))));
            }
        }
        Ok(())
    }

    /// Reads parts of one region, in the order of their keys. Parts read together do not overlap.
    async fn read(
        &self,
        of: Of<'_>,
        region: &Region,
        mut parts: VecDeque<Part>,
        within: Duration,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        while !parts.is_empty() {
            if let Err(error) = self.read_on(of, region, &mut parts, &mut outcome, within).await {
                tracing::debug!(of.table, %error, "a scan is begun again");
                parts.iter_mut().for_each(Part::reset);
                outcome.left.extend(parts);
                outcome.error = Some(error);
                break;
            }
        }
        outcome
    }

    /// Reads by one scan, until the region has no more rows or a page is full.
    async fn read_on(
        &self,
        of: Of<'_>,
        region: &Region,
        parts: &mut VecDeque<Part>,
        outcome: &mut Outcome,
        within: Duration,
    ) -> Result<(), Error> {
        let Of { family, options, .. } = of;
        let n_pieces =
            (options.pieces_max.saturating_mul(parts.len())).clamp(1, ANSWER_PIECES.max(options.pieces_max));
        let mut request = ScanRequest {
            region: Some(specifier(region)),
            scan: Some(message(family, parts, options)),
            number_of_rows: u32::try_from(n_pieces).ok(),
            client_handles_partials: Some(true),
            client_handles_heartbeats: Some(true),
            ..ScanRequest::default()
        };
        let mut n_calls = 0;
        let mut until = Instant::now() + within;
        loop {
            let server = &region.server;
            let answer = self.call_at(server, Service::Client, "Scan", &request, &[], until).await?;
            let message: ScanResponse = answer.message()?;
            for piece in pieces(answer, &message) {
                let (cells, is_open) = piece?;
                let Some(row) = cells.first().map(|cell| cell.row.clone()) else { continue };
                while parts.front().is_some_and(|part| !part.range.is_before_stop(&row)) {
                    outcome.done.extend(parts.pop_front());
                }
                if let Some(part) = parts.front_mut().filter(|part| !part.is_full(options)) {
                    part.push(cells, is_open, options);
                }
            }
            if !message.more_results_in_region.or(message.more_results).unwrap_or(false) {
                for mut part in parts.drain(..) {
                    part.is_open = false;
                    // The rest of a row is in the region of the row.
                    if part.is_full(options)
                        || part.range.after.is_some()
                        || region.end.is_empty()
                        || !part.range.is_before_stop(&region.end)
                    {
                        outcome.done.push(part);
                    } else {
                        part.from = region.end.clone();
                        outcome.left.push(part);
                    }
                }
                return Ok(());
            }
            let id = message.scanner_id.or(request.scanner_id);
            let id = id.ok_or_else(|| Error::Protocol("a scan without an id".to_owned()))?;
            if parts.front().is_some_and(|part| part.is_full(options)) {
                outcome.done.extend(parts.pop_front());
                self.close_scanner(&region.server, id);
                return Ok(());
            }
            request = ScanRequest {
                scanner_id: Some(id),
                next_call_seq: Some(n_calls),
                region: None,
                scan: None,
                ..request
            };
            // Calls are counted from the second on.
            n_calls += 1;
            // Each answer is a step.
            until = Instant::now() + self.options().call_timeout;
        }
    }
}

impl Part {
    fn visit<E>(
        mut self,
        options: &PageOptions,
        visit: &mut impl FnMut(usize, Pages) -> Result<(), E>,
    ) -> Result<(), E> {
        self.page.truncate(options.pieces_max);
        let (last, others) = match self.numbers.split_last() {
            Some((last, others)) => (*last, others),
            None => return Ok(()),
        };
        for number in others {
            visit(*number, self.page.clone())?;
        }
        visit(last, self.page)
    }
}

/// Returns a part for each distinct range, in the order of keys: equal ranges are read once.
fn parts(ranges: &[Range]) -> Vec<Part> {
    let mut numbers: Vec<usize> = (0..ranges.len()).collect();
    numbers.sort_by(|&a, &b| ranges[a].cmp(&ranges[b]));
    let mut parts: Vec<Part> = Vec::with_capacity(ranges.len());
    for number in numbers {
        let range = &ranges[number];
        match parts.last_mut().filter(|part| part.range == *range) {
            Some(part) => part.numbers.push(number),
            None => parts.push(Part::new(number, range.clone())),
        }
    }
    parts
}

/// Returns the parts of each scan, the parts that no server has now, and the error of one of these.
#[expect(clippy::type_complexity, reason = "it is taken apart by its only caller")]
fn jobs<'a>(
    regions: &'a Arc<Regions>,
    parts: Vec<Part>,
    options: &PageOptions,
) -> (Vec<(&'a Region, VecDeque<Part>)>, Vec<Part>, Option<Error>) {
    let (mut jobs, mut lost, mut failure) = (Vec::new(), Vec::new(), None);
    let mut by_region: BTreeMap<&Bytes, (&Region, VecDeque<Part>)> = BTreeMap::new();
    for part in parts {
        match regions.of_key(&part.from) {
            Ok(region) => {
                let of_region =
                    &mut by_region.entry(&region.start).or_insert_with(|| (region, VecDeque::new())).1;
                // The parts of one scan do not overlap, and none is limited to a part of a row.
                let fits = |last: &Part| !last.range.stop.is_empty() && last.range.stop <= part.from;
                if part.range.after.is_none() && of_region.back().is_none_or(fits) {
                    of_region.push_back(part);
                } else {
                    jobs.push((region, VecDeque::from([part])));
                }
            }
            Err(error) => {
                lost.push(part);
                failure = Some(error);
            }
        }
    }
    for (region, mut parts) in by_region.into_values() {
        let len = if parts.len() < options.together_min { 1 } else { RANGES_MAX };
        while !parts.is_empty() {
            let later = parts.split_off(len.min(parts.len()));
            jobs.push((region, std::mem::replace(&mut parts, later)));
        }
    }
    (jobs, lost, failure)
}
