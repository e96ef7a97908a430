//! Scans: a region's rows, answer by answer, in pieces where a row is long.

use bytes::{Bytes, BytesMut};

use super::filter::Filter;
use super::multi::columns;
use super::state::{Place, State};
use super::table::View;
use super::{Failure, Reply, meta};
use crate::Cell;
use crate::messages::{Scan, ScanRequest, ScanResponse};

/// An open scan, which a client may go on with.
#[derive(Clone, Debug)]
pub(super) struct OpenScan {
    server: usize,
    region: Bytes,
    scan: Scan,
    from: From,
    next_seq: u64,
}

impl OpenScan {
    pub(super) fn server(&self) -> usize {
        self.server
    }
}

/// The place where a scan goes on.
#[derive(Clone, Debug)]
struct From {
    row: Bytes,
    is_inclusive: bool,
    /// Only the columns after this one, of the row `row`.
    after: Option<(Bytes, Bytes)>,
}

/// Executes a call of a scan.
///
/// # Errors
/// The exceptions of HBase: for a region that is elsewhere, an unknown scan, or a request that
/// cannot be scanned.
pub(super) fn scan(
    state: &mut State,
    server: usize,
    request: &ScanRequest,
    is_heartbeat: bool,
) -> Result<Reply, Failure> {
    let (id, mut open) = match request.scanner_id {
        Some(id) => (id, known(state, server, id)?),
        None => (state.next_id(), begun(state, server, request)?),
    };
    let mut answer = ScanResponse { scanner_id: Some(id), ..ScanResponse::default() };
    if let Some(seq) = request.next_call_seq {
        if seq != open.next_seq {
            let what = format!("Expected nextCallSeq: {} But got {seq}", open.next_seq);
            return Err(Failure::last("exceptions.OutOfOrderScannerNextException", &what));
        }
        open.next_seq += 1;
    }
    if request.renew == Some(true) {
        state.scans.insert(id, open);
        return Ok(Reply::new(&answer, Bytes::new()));
    }
    let closes = request.close_scanner.unwrap_or(false);
    let n_max = request.number_of_rows.unwrap_or(if closes { 0 } else { 1 }) as usize;
    let mut block = BytesMut::new();
    answer.more_results = Some(true);
    answer.more_results_in_region = Some(true);
    if is_heartbeat {
        answer.heartbeat_message = Some(true);
    } else if n_max > 0 {
        let has_more = read(state, &mut open, n_max, &mut answer, &mut block)?;
        answer.more_results_in_region = Some(has_more);
    }
    if closes || answer.more_results_in_region == Some(false) {
        state.scans.remove(&id);
    } else {
        state.scans.insert(id, open);
    }
    Ok(Reply::new(&answer, block.freeze()))
}

fn known(state: &mut State, server: usize, id: u64) -> Result<OpenScan, Failure> {
    let open = state.scans.get(&id).filter(|open| open.server == server).cloned();
    let open =
        open.ok_or_else(|| Failure::last("UnknownScannerException", &format!("Unknown scanner '{id}'")))?;
    if let Err(moved) = state.place(&open.region, server) {
        state.scans.remove(&id);
        return Err(moved);
    }
    Ok(open)
}

fn begun(state: &State, server: usize, request: &ScanRequest) -> Result<OpenScan, Failure> {
    let (Some(region), Some(scan)) = (&request.region, &request.scan) else {
        return Err(Failure::last("DoNotRetryIOException", "Missing required input: scannerId or scan"));
    };
    let mut row = scan.start_row.clone().unwrap_or_default();
    let mut is_inclusive = scan.include_start_row.unwrap_or(true);
    if let Place::Region(region) = state.place(&region.value, server)? {
        for column in &scan.columns {
            state.check_family(&region.table, &column.family)?;
        }
        if row < region.start {
            (row, is_inclusive) = (region.start, true);
        }
    }
    Filter::of(scan.filter.as_ref())?;
    let from = From { row, is_inclusive, after: None };
    Ok(OpenScan { server, region: region.value.clone(), scan: scan.clone(), from, next_seq: 0 })
}

/// Reads rows into an answer, and returns true if there is more in the region.
fn read(
    state: &State,
    open: &mut OpenScan,
    n_max: usize,
    answer: &mut ScanResponse,
    block: &mut BytesMut,
) -> Result<bool, Failure> {
    let filter = Filter::of(open.scan.filter.as_ref())?;
    let len_max = open.scan.max_result_size.unwrap_or(u64::MAX).min(state.answer_len_max);
    let batch = open.scan.batch_size.filter(|n| *n > 0).unwrap_or(u32::MAX) as usize;
    let columns = columns(&open.scan.columns);
    let since = open.scan.time_range.and_then(|range| range.from).unwrap_or(0);
    let since = i64::try_from(since).unwrap_or(i64::MAX);
    let view = View { columns: &columns, since, ..View::at(state.now()) };
    let mut after = open.from.after.take();
    let mut rows = rows(state, &open.region, &open.scan, &open.from, &view).peekable();
    while let Some((key, mut cells)) = rows.next() {
        if !filter.has_row(&key) {
            continue;
        }
        cells.retain(|cell| filter.has_column(&cell.qualifier));
        if let Some((family, qualifier)) = after.take().filter(|_| open.from.row == key) {
            cells.retain(|cell| (&cell.family, &cell.qualifier) > (&family, &qualifier));
        }
        let mut cells = &cells[..];
        while !cells.is_empty() {
            // At least one cell, however long.
            let mut n = 0;
            while n < batch.min(cells.len()) && (n == 0 || (block.len() as u64) < len_max) {
                cells[n].encode(block).map_err(|_| Failure::new("java.io.IOException", "too long"))?;
                n += 1;
            }
            let (now, later) = cells.split_at(n);
            answer.cells_per_result.push(n as u32);
            answer.partial_flag_per_result.push(!later.is_empty());
            let is_full = answer.cells_per_result.len() >= n_max || block.len() as u64 >= len_max;
            let has_more = !later.is_empty() || rows.peek().is_some();
            if is_full && has_more {
                let column = now.last().map(|cell| (cell.family.clone(), cell.qualifier.clone()));
                let after = column.filter(|_| !later.is_empty());
                drop(rows);
                open.from = From { row: key, is_inclusive: after.is_some(), after };
                return Ok(true);
            }
            cells = later;
        }
    }
    Ok(false)
}

/// Returns the rows left of a scan, in their order, before any filter.
fn rows<'a>(
    state: &'a State,
    region: &Bytes,
    scan: &Scan,
    from: &From,
    view: &'a View<'a>,
) -> Box<dyn Iterator<Item = (Bytes, Vec<Cell>)> + 'a> {
    let From { row: start, is_inclusive, .. } = from.clone();
    let mut stop = scan.stop_row.clone().unwrap_or_default();
    if scan.include_stop_row == Some(true) && !stop.is_empty() {
        stop = [&stop[..], &[0]].concat().into();
    }
    let is_before = |key: &Bytes, stop: &Bytes| stop.is_empty() || !key.is_empty() && key < stop;
    match state.regions.get(region) {
        Some(region) => {
            let stop = if is_before(&region.end, &stop) { &region.end } else { &stop };
            let rows = state.tables[&region.table].rows(&start, stop, view);
            Box::new(rows.filter(move |(key, _)| is_inclusive || *key != start))
        }
        None => {
            let is_left = move |key: &Bytes| {
                let after = meta::compare(key, &start);
                (after.is_gt() || after.is_eq() && is_inclusive)
                    && (stop.is_empty() || meta::compare(key, &stop).is_lt())
            };
            let is_wanted = |cell: &Cell| view.columns.iter().any(|(family, _)| *family == cell.family);
            let rows = meta::rows(state).into_iter().filter(move |(key, _)| is_left(key));
            Box::new(rows.map(move |(key, mut cells)| {
                cells.retain(|cell| view.columns.is_empty() || is_wanted(cell));
                (key, cells)
            }))
        }
    }
}
