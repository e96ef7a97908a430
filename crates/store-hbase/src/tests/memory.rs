//! Rows in this process: the table of the fakes, without a protocol, and with mishaps.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hbase_rpc::LATEST;
use hbase_rpc::fake::{Table as Model, View};
use index::backend::Known;
use index::{ConnectionCounts, Error, ErrorKind, Result};

use super::super::fake::VisibleRow;
use super::super::layout::{METADATA_COLUMN, METADATA_ROW};
use super::super::options::Options;
use super::super::rows::{
    Cell, MasterWait, Mutations, RESULT_CELLS, Row, Rows, Span, Swap, Swapped, Table, TableNames, Visit,
    successor,
};
use super::super::rpc::{cell, family_and_qualifier, gets, to_cell};
use super::super::witness::Witness;
use super::bench::{Bench, Call, Mishap};

/// Tables by name, shared by all of their rows.
#[derive(Default)]
pub(super) struct Memory(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    tables: BTreeMap<String, Model>,
    now: i64,
    is_away: bool,
    /// The mishaps to come, each with the number of calls up to it.
    faults: Vec<(Call, u64, Mishap)>,
    n_calls: BTreeMap<Call, u64>,
}

impl State {
    fn table(&mut self, name: &str) -> &mut Model {
        self.tables.get_mut(name).expect("the table was created")
    }

    /// Counts a call, and takes the first mishap that hits it.
    fn count(&mut self, call: Call) -> Option<Mishap> {
        *self.n_calls.entry(call).or_default() += 1;
        let mut hit = None;
        for (place, (of, nth, _)) in self.faults.iter_mut().enumerate().filter(|(_, fault)| fault.0 == call) {
            debug_assert_eq!(*of, call);
            *nth = nth.saturating_sub(1);
            if *nth == 0 && hit.is_none() {
                hit = Some(place);
            }
        }
        hit.map(|place| self.faults.remove(place).2)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the rows that a reader of a table sees.
pub(super) fn visible(table: &Model, now: i64) -> Vec<VisibleRow> {
    let view = View::at(now);
    let rows = table.rows(b"", b"", &view).map(|(row, cells)| {
        let column = |cell: &hbase_rpc::Cell| [&cell.family[..], b":", &cell.qualifier].concat();
        (row.to_vec(), cells.iter().map(|cell| (column(cell), cell.value.to_vec(), cell.timestamp)).collect())
    });
    rows.collect()
}

impl Bench for Memory {
    fn rows(&self, name: &str, options: Options) -> Box<dyn Rows> {
        Box::new(MemoryRows {
            state: Arc::clone(&self.0),
            known: Known::new(format!("memory:{name}")),
            names: TableNames::new(name),
            patience: options.patience,
        })
    }

    fn create_table(&self, name: &str, families: &[&str]) {
        let families = families.iter().map(|family| ((*family).to_owned().into(), None));
        lock(&self.0).tables.insert(name.to_owned(), Model::new(families));
    }

    fn drop_table(&self, name: &str) {
        lock(&self.0).tables.remove(name);
    }

    fn set_time_to_live(&self, table: &str, family: &str, seconds: i32) {
        let seconds = (seconds != i32::MAX).then_some(seconds.unsigned_abs());
        lock(&self.0).table(table).families.insert(family.to_owned().into(), seconds);
    }

    fn set_clock_ms(&self, now_ms: i64) {
        lock(&self.0).now = now_ms;
    }

    fn advance(&self, time: Duration) {
        lock(&self.0).now += time.as_millis() as i64;
    }

    fn now_ms(&self) -> i64 {
        lock(&self.0).now
    }

    fn rows_of(&self, table: &str) -> Vec<VisibleRow> {
        let mut state = lock(&self.0);
        let now = state.now;
        visible(state.table(table), now)
    }

    fn put_raw(&self, table: &str, row: &[u8], column: &[u8], value: &[u8], timestamp: i64) {
        let mut state = lock(&self.0);
        let now = state.now;
        state.table(table).apply(vec![cell(row, column, timestamp, Some(value))], None, now);
    }

    fn erase(&self, table: &str, row: &[u8]) -> bool {
        lock(&self.0).table(table).erase(row)
    }

    fn flush(&self) {
        let State { tables, now, .. } = &mut *lock(&self.0);
        tables.values_mut().for_each(|table| table.flush(*now));
    }

    fn major_compact(&self) {
        let State { tables, now, .. } = &mut *lock(&self.0);
        tables.values_mut().for_each(|table| table.compact(*now));
    }

    fn n_stored(&self, table: &str) -> usize {
        lock(&self.0).table(table).n_stored()
    }

    fn stop(&self) {
        lock(&self.0).is_away = true;
    }

    fn start_again(&self) {
        lock(&self.0).is_away = false;
    }

    fn fail(&self, call: Call, nth: u64, mishap: Mishap) {
        lock(&self.0).faults.push((call, nth, mishap));
    }

    fn n_faults(&self) -> usize {
        lock(&self.0).faults.len()
    }

    fn clear_faults(&self) {
        lock(&self.0).faults.clear();
    }

    fn n_calls(&self, call: Call) -> u64 {
        lock(&self.0).n_calls.get(&call).copied().unwrap_or(0)
    }

    fn n_open_scanners(&self) -> usize {
        0
    }
}

/// The rows of one index.
struct MemoryRows {
    state: Arc<Mutex<State>>,
    names: TableNames,
    known: Known,
    patience: Duration,
}

impl MemoryRows {
    /// Does a call on a table, of which `work` does as many rows as a mishap lets it do. Returns
    /// `None` where the answer of a swap is lost.
    fn call<T>(
        &self,
        call: Call,
        table: Table,
        families: &[&[u8]],
        mut work: impl FnMut(&mut Model, i64, usize) -> T,
    ) -> Result<Option<T>> {
        let begun = Instant::now();
        let is_over = || begun.elapsed() >= self.patience;
        loop {
            let mut state = lock(&self.state);
            if state.is_away {
                drop(state);
                if is_over() {
                    return Err(injected());
                }
                thread::yield_now();
                continue;
            }
            let mishap = state.count(call);
            let n_rows = match mishap {
                Some(Mishap::Refused | Mishap::Failed | Mishap::Closed | Mishap::Silent) => 0,
                Some(Mishap::FailedAfterSome(n)) => n,
                _ => usize::MAX,
            };
            let now = state.now;
            let found = state.tables.get_mut(self.names.of(table)).ok_or_else(|| self.names.missing())?;
            if families.iter().any(|family| !found.families.contains_key(*family)) {
                return Err(self.names.missing());
            }
            let answer = work(found, now, n_rows);
            match mishap {
                None | Some(Mishap::Late) => {
                    self.witness(&mut state)?;
                    return Ok(Some(answer));
                }
                _ if call == Call::Swap && mishap != Some(Mishap::Refused) => {
                    self.witness(&mut state)?;
                    return Ok(None);
                }
                Some(Mishap::Refused) => return Err(injected()),
                _ if is_over() => return Err(injected()),
                _ => {}
            }
        }
    }

    /// Fails unless the tables belong to the opened index.
    fn witness(&self, state: &mut State) -> Result<()> {
        let mut witness = Witness::new(&self.known);
        if witness.ask() {
            let now = state.now;
            let table =
                state.tables.get(self.names.of(Table::Documents)).ok_or_else(|| self.names.missing())?;
            let columns = selected(&[METADATA_COLUMN]);
            let found = table.visible(METADATA_ROW, &View { columns: &columns, ..View::at(now) });
            witness.answer(found.into_iter().next().map(|cell| cell.value.to_vec()));
        }
        witness.check()
    }

    /// Returns the life of a family in seconds, `None` where the table lacks the family.
    fn seconds_to_live(&self, table: Table, family: u8) -> Result<Option<Option<u32>>> {
        let state = lock(&self.state);
        let table = state.tables.get(self.names.of(table)).ok_or_else(|| self.names.missing())?;
        Ok(table.families.get(&[family][..]).copied())
    }
}

fn injected() -> Error {
    Error::new(ErrorKind::Unavailable, "injected; the same call may be repeated")
}

/// Returns some columns as the model takes them; a family alone stands for all of its columns.
fn selected(columns: &[&[u8]]) -> Vec<(Bytes, Vec<Bytes>)> {
    gets(columns, &[Vec::new()]).remove(0).columns
}

fn page(table: &Model, family: u8, span: &Span, now: i64) -> Vec<Row> {
    let columns = selected(&[&[family]]);
    let view = View { columns: &columns, since: span.since.unwrap_or(0), ..View::at(now) };
    let end = if span.within.is_some() { successor(&span.start) } else { span.end.clone() };
    let mut page = Vec::new();
    for (key, cells) in table.rows(&span.start, &end, &view) {
        let is_left = |cell: &Cell| span.within.as_ref().is_none_or(|after| cell.qualifier > *after);
        let cells: Vec<_> = cells.into_iter().map(to_cell).filter(is_left).collect();
        let pieces = cells.chunks(RESULT_CELLS);
        page.extend(pieces.map(|piece| Row { key: key.to_vec(), cells: piece.to_vec() }));
        if page.len() >= span.n_results {
            break;
        }
    }
    page.truncate(span.n_results);
    page
}

impl Rows for MemoryRows {
    /// Visits the pages from the last to the first.
    fn scan(&self, table: Table, family: u8, spans: &[Span], visit: Visit<'_>) -> Result<()> {
        for (number, span) in spans.iter().enumerate().rev() {
            let read = |table: &mut Model, now, _| page(table, family, span, now);
            let page = self.call(Call::Scan, table, &[&[family]], read)?.expect("this is no swap");
            visit(number, page)?;
        }
        Ok(())
    }

    fn get(&self, table: Table, columns: &[&[u8]], rows: &[Vec<u8>]) -> Result<Vec<Vec<Cell>>> {
        let families: Vec<_> = columns.iter().map(|column| family_and_qualifier(column).0).collect();
        let columns = selected(columns);
        let read = |table: &mut Model, now, _| {
            let view = View { columns: &columns, ..View::at(now) };
            let cells = |row: &Vec<u8>| table.visible(row, &view).into_iter().map(to_cell).collect();
            rows.iter().map(cells).collect()
        };
        Ok(self.call(Call::Get, table, &families, read)?.expect("this is no swap"))
    }

    fn time_to_live(&self, table: Table, family: u8, _: MasterWait) -> Result<Option<Duration>> {
        let seconds = self.seconds_to_live(table, family)?.ok_or_else(|| self.names.missing())?;
        Ok(seconds.map(|seconds| Duration::from_secs(seconds.into())))
    }

    fn has_family(&self, table: Table, family: u8, _: MasterWait) -> Result<bool> {
        Ok(self.seconds_to_live(table, family)?.is_some())
    }

    fn name(&self, table: Table) -> &str {
        self.names.of(table)
    }

    fn known(&self) -> &Known {
        &self.known
    }

    fn apply(&self, mutations: &Mutations) -> Result<()> {
        let Mutations { table, timestamp, time_to_live, mutations } = mutations;
        let life = time_to_live.map(|life| life.as_millis() as i64);
        let families: Vec<_> =
            mutations.iter().map(|mutation| family_and_qualifier(&mutation.column).0).collect();
        let write = |table: &mut Model, now, n_rows| {
            for mutation in mutations.iter().take(n_rows) {
                let value = mutation.value.as_deref();
                let change = cell(&mutation.row, &mutation.column, *timestamp, value);
                table.apply(vec![change], life.filter(|_| value.is_some()), now);
            }
        };
        self.call(Call::Apply, *table, &families, write).map(drop)
    }

    fn swap(&self, table: Table, swaps: &[Swap]) -> Result<Vec<Swapped>> {
        let families: Vec<_> = swaps.iter().map(|swap| family_and_qualifier(&swap.column).0).collect();
        let write = |table: &mut Model, now, n_rows| {
            let swapped = |Swap { row, column, from, to, time_to_live }: &Swap| {
                let (family, qualifier) = family_and_qualifier(column);
                let place = (family.to_vec().into(), qualifier.to_vec().into());
                let from = from.as_deref().unwrap_or_default();
                let Some(now) = table.time_of_change(row, place, from, now) else { return Swapped::Refused };
                let life = time_to_live.map(|life| life.as_millis() as i64);
                table.apply(vec![cell(row, column, LATEST, Some(to))], life, now);
                Swapped::Done
            };
            swaps.iter().take(n_rows).map(swapped).collect()
        };
        let answers = self.call(Call::Swap, table, &families, write)?;
        Ok(answers.unwrap_or_else(|| vec![Swapped::Unknown; swaps.len()]))
    }

    fn connections(&self) -> ConnectionCounts {
        ConnectionCounts { n_max: 1, n_open: 1, n_in_use: 0 }
    }
}
