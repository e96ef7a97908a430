//! Scans: a region's rows, answer by answer, in pieces where a row is long.

use std::cmp::Ordering;

use bytes::{Bytes, BytesMut};

use super::filter::Filter;
use super::state::{Place, State};
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
            state.tables[&region.table].check_family(&column.family)?;
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
    let keys = keys(state, open);
    for (place, key) in keys.iter().enumerate() {
        if !filter.has_row(key) {
            continue;
        }
        let mut cells = cells(state, open, key);
        cells.retain(|cell| filter.has_column(&cell.qualifier));
        if let Some((family, qualifier)) = open.from.after.take().filter(|_| open.from.row == *key) {
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
            let has_more = !later.is_empty() || place + 1 < keys.len();
            if is_full && has_more {
                let column = now.last().map(|cell| (cell.family.clone(), cell.qualifier.clone()));
                let after = column.filter(|_| !later.is_empty());
                open.from = From { row: key.clone(), is_inclusive: after.is_some(), after };
                return Ok(true);
            }
            cells = later;
        }
    }
    Ok(false)
}

/// Returns the rows left of a scan, in their order, before any filter.
fn keys(state: &State, open: &OpenScan) -> Vec<Bytes> {
    let OpenScan { scan, from, region, .. } = open;
    let stop = scan.stop_row.clone().unwrap_or_default();
    let includes_stop = scan.include_stop_row.unwrap_or(false);
    let is_left = |order: &dyn Fn(&[u8], &[u8]) -> Ordering, key: &Bytes| {
        let after = order(key, &from.row);
        (after.is_gt() || after.is_eq() && from.is_inclusive)
            && (stop.is_empty() || order(key, &stop).is_lt() || includes_stop && *key == stop)
    };
    match state.regions.get(region) {
        Some(region) => {
            let table = &state.tables[&region.table];
            let keys = table.rows.range(from.row.clone()..).map(|(key, _)| key);
            keys.take_while(|key| region.has(key))
                .filter(|key| is_left(&|a, b| a.cmp(b), key))
                .cloned()
                .collect()
        }
        None => {
            let keys = meta::rows(state).into_iter().map(|(key, _)| key);
            keys.filter(|key| is_left(&meta::compare, key)).collect()
        }
    }
}

fn cells(state: &State, open: &OpenScan, key: &Bytes) -> Vec<Cell> {
    let columns = &open.scan.columns;
    match state.regions.get(&open.region) {
        Some(region) => state.tables[&region.table].visible(key, columns, state.now()),
        None => {
            let row = meta::rows(state).into_iter().find(|(found, _)| found == key);
            let mut cells = row.map(|(_, cells)| cells).unwrap_or_default();
            let is_wanted = |cell: &Cell| columns.iter().any(|column| column.family == cell.family);
            cells.retain(|cell| columns.is_empty() || is_wanted(cell));
            cells
        }
    }
}
