//! Scans: rows in the order of their keys, page by page, across regions.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use super::retry::{Failed, Retry};
use crate::messages::{Column, ScanRequest, ScanResponse};
use crate::regions::{Region, Regions, specifier};
use crate::{Answer, Cell, CellError, Client, Error, Service, messages};

/// The rows and options of a scan.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The first row, inclusive.
    pub start: Bytes,
    /// The stop row, exclusive; empty for the end of the table.
    pub stop: Bytes,
    /// The families to read; all if none is named.
    pub families: Vec<Bytes>,
    /// The most rows of one page.
    pub page_len: u32,
    /// True if blocks that are read stay in the server's cache.
    pub cache_blocks: bool,
}

impl Default for Scan {
    /// Scans the whole table.
    fn default() -> Self {
        Self {
            start: Bytes::new(),
            stop: Bytes::new(),
            families: Vec::new(),
            page_len: 1_000,
            cache_blocks: true,
        }
    }
}

/// A scan under way.
#[derive(Debug)]
pub struct Scanner<'a> {
    client: &'a Client,
    table: String,
    scan: Scan,
    /// The row to begin the next scanner with; `None` once the end is reached.
    next: Option<From>,
    open: Option<Open>,
    /// The cells of a row with more to come.
    partial: Vec<Cell>,
}

/// The row where a scan goes on.
#[derive(Clone, Debug)]
struct From {
    row: Bytes,
    inclusive: bool,
}

/// A scanner on a server.
#[derive(Debug)]
struct Open {
    regions: Arc<Regions>,
    region: Region,
    id: u64,
    n_calls: u64,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(client: &'a Client, table: &str, scan: Scan) -> Self {
        let next = Some(From { row: scan.start.clone(), inclusive: true });
        Self { client, table: table.to_owned(), scan, next, open: None, partial: Vec::new() }
    }

    /// Returns the next rows, each as its cells, or `None` after the last.
    ///
    /// # Errors
    /// [`Error`]. After an error the scan may be asked again, and goes on after the last whole row.
    pub async fn next(&mut self) -> Result<Option<Vec<Vec<Cell>>>, Error> {
        let table = self.table.clone();
        let mut retry = Retry::new(self.client, &table);
        loop {
            match self.next_within(&mut retry).await {
                Ok(rows) => return Ok(rows),
                Err(failed) => retry.after(failed).await?,
            }
        }
    }

    /// Returns the next rows, by calls that go on as long as they succeed.
    async fn next_within(&mut self, tries: &mut Retry<'_>) -> Result<Option<Vec<Vec<Cell>>>, Failed<Error>> {
        while self.next.is_some() {
            let mut regions = None;
            match self.page(&mut regions, tries.until()).await {
                Ok(rows) => {
                    tries.has_gone_on();
                    // An answer without rows is not the end: the server may be at work.
                    if !rows.is_empty() {
                        return Ok(Some(rows));
                    }
                }
                Err(error) => {
                    // The server's scanner is lost, and the cells of a row that is not whole come
                    // again.
                    self.open = None;
                    self.partial.clear();
                    return Err(Failed::Call(error, regions));
                }
            }
        }
        Ok(None)
    }

    /// As [`next`](Self::next), without retries.
    pub(crate) async fn try_next(&mut self, until: Instant) -> Result<Option<Vec<Vec<Cell>>>, Error> {
        while self.next.is_some() {
            let rows = self.page(&mut None, until).await?;
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }

    /// Makes one call to one region, and notes the regions used in `known`. The page may have no
    /// rows.
    async fn page(
        &mut self,
        known: &mut Option<Arc<Regions>>,
        until: Instant,
    ) -> Result<Vec<Vec<Cell>>, Error> {
        let common = self.request();
        let (region, request) = match &mut self.open {
            Some(open) => {
                open.n_calls += 1;
                let request = ScanRequest {
                    scanner_id: Some(open.id),
                    next_call_seq: Some(open.n_calls - 1),
                    ..common
                };
                *known = Some(Arc::clone(&open.regions));
                (open.region.clone(), request)
            }
            None => {
                let from = self.next.clone().unwrap_or(From { row: Bytes::new(), inclusive: true });
                let regions = self.client.regions(&self.table, until).await?;
                let region = known.insert(regions).of_key(&from.row)?.clone();
                let scan = Some(self.message(&from));
                let request = ScanRequest { region: Some(specifier(&region)), scan, ..common };
                (region, request)
            }
        };
        let server = &region.server;
        let answer = self.client.call_at(server, Service::Client, "Scan", &request, &[], until).await?;
        let message: ScanResponse = answer.message()?;
        let rows = self.rows(answer, &message)?;
        if let Some(last) = rows.last().and_then(|row| row.first()) {
            self.next = Some(From { row: last.row.clone(), inclusive: false });
        }
        let is_over = message.more_results == Some(false) && message.more_results_in_region != Some(true);
        if is_over || message.more_results_in_region == Some(false) {
            let is_last = region.end.is_empty()
                || !self.scan.stop.is_empty() && region.end >= self.scan.stop
                || is_over && message.more_results_in_region.is_none();
            self.open = None;
            self.next = (!is_last).then_some(From { row: region.end, inclusive: true });
        } else if self.open.is_none() {
            let id = message.scanner_id.ok_or_else(|| Error::Protocol("a scan without an id".to_owned()))?;
            let regions = known.take().unwrap_or_default();
            // Calls are counted from the second on.
            self.open = Some(Open { regions, region, id, n_calls: 0 });
        }
        Ok(rows)
    }

    /// Returns the fields common to all calls.
    fn request(&self) -> ScanRequest {
        ScanRequest {
            number_of_rows: Some(self.scan.page_len),
            client_handles_partials: Some(true),
            client_handles_heartbeats: Some(true),
            ..ScanRequest::default()
        }
    }

    fn message(&self, from: &From) -> messages::Scan {
        let Scan { stop, families, page_len, cache_blocks, .. } = &self.scan;
        let column = |family: &Bytes| Column { family: family.clone(), qualifiers: Vec::new() };
        messages::Scan {
            columns: families.iter().map(column).collect(),
            start_row: Some(from.row.clone()),
            stop_row: Some(stop.clone()),
            max_versions: Some(1),
            cache_blocks: Some(*cache_blocks),
            caching: Some(*page_len),
            include_start_row: Some(from.inclusive),
            include_stop_row: Some(false),
            ..messages::Scan::default()
        }
    }

    /// Returns the whole rows of an answer; the cells of a row that is not whole wait for the rest.
    fn rows(&mut self, answer: Answer, message: &ScanResponse) -> Result<Vec<Vec<Cell>>, Error> {
        let mut rows: VecDeque<Vec<Cell>> = VecDeque::new();
        for piece in pieces(answer, message) {
            let (piece, is_open) = piece?;
            let is_same = self.partial.first().zip(piece.first()).is_some_and(|(a, b)| a.row == b.row);
            if !is_same && !self.partial.is_empty() {
                rows.push_back(std::mem::take(&mut self.partial));
            }
            self.partial.extend(piece);
            // A peer may send many results without a cell.
            if !is_open && !self.partial.is_empty() {
                rows.push_back(std::mem::take(&mut self.partial));
            }
        }
        // A row ends with its region, even if its last piece is marked as partial.
        if message.more_results_in_region == Some(false) && !self.partial.is_empty() {
            rows.push_back(std::mem::take(&mut self.partial));
        }
        Ok(rows.into())
    }

    /// Keeps the scanner on the server, for a caller that takes longer over a page: a server
    /// forgets a scanner a minute after its last call (`hbase.client.scanner.timeout.period`). A
    /// forgotten scan is begun again after its last row, so this saves time and nothing else.
    pub async fn renew(&mut self) {
        let Some(open) = &mut self.open else { return };
        // Counted like any other call.
        open.n_calls += 1;
        let request = ScanRequest {
            scanner_id: Some(open.id),
            next_call_seq: Some(open.n_calls - 1),
            renew: Some(true),
            ..ScanRequest::default()
        };
        let (server, until) = (&open.region.server, Instant::now() + self.client.options().call_timeout);
        let renewed = self.client.call_at(server, Service::Client, "Scan", &request, &[], until).await;
        if let Err(error) = renewed {
            tracing::debug!(table = self.table, %error, "a scan that was to be kept is begun again");
            self.open = None;
            self.partial.clear();
        }
    }

    /// Closes the scanner on the server, if there is one. A server that cannot be told forgets the
    /// scanner by itself.
    pub fn close(mut self) {
        if let Some(Open { region, id, .. }) = self.open.take() {
            self.client.close_scanner(&region.server, id);
        }
    }
}

/// Iterates over the results of an answer: the cells of each, and true if the row goes on in the
/// next one.
pub(crate) fn pieces(
    answer: Answer,
    message: &ScanResponse,
) -> impl Iterator<Item = Result<(Vec<Cell>, bool), Error>> {
    let torn = |error: CellError| Error::Protocol(format!("cells that cannot be read: {error:?}"));
    let mut cells = answer.cells;
    message.cells_per_result.iter().enumerate().map(move |(place, &n)| {
        let is_open = message.partial_flag_per_result.get(place).copied().unwrap_or(false);
        Ok((cells.take_n(n as usize).map_err(torn)?, is_open))
    })
}
