//! Rows that let another process act on the tables after each request of a call.

use index::ConnectionCounts;
use index::backend::Known;

use super::super::rows::{Cell, MasterWait, Mutations, Rows, Span, Swap, Swapped, Table, Visit};
use super::*;

/// The advance of the clock with each request of a store that may have to wait.
pub(super) const PACE_MS: i64 = 1_000;

pub(super) struct Between<F> {
    pub(super) rows: Box<dyn Rows>,
    pub(super) between: F,
}

impl<F: Fn() + Send + Sync> Between<F> {
    fn after<T>(&self, answer: T) -> T {
        (self.between)();
        answer
    }
}

impl<F: Fn() + Send + Sync> Rows for Between<F> {
    fn scan(&self, table: Table, family: u8, spans: &[Span], visit: Visit<'_>) -> index::Result<()> {
        self.after(self.rows.scan(table, family, spans, visit))
    }

    fn get(&self, table: Table, columns: &[&[u8]], rows: &[Vec<u8>]) -> index::Result<Vec<Vec<Cell>>> {
        self.after(self.rows.get(table, columns, rows))
    }

    fn time_to_live(&self, table: Table, family: u8, wait: MasterWait) -> index::Result<Option<Duration>> {
        self.rows.time_to_live(table, family, wait)
    }

    fn has_family(&self, table: Table, family: u8, wait: MasterWait) -> index::Result<bool> {
        self.rows.has_family(table, family, wait)
    }

    fn name(&self, table: Table) -> &str {
        self.rows.name(table)
    }

    fn known(&self) -> &Known {
        self.rows.known()
    }

    fn apply(&self, mutations: &Mutations) -> index::Result<()> {
        self.after(self.rows.apply(mutations))
    }

    fn swap(&self, table: Table, swaps: &[Swap]) -> index::Result<Vec<Swapped>> {
        self.after(self.rows.swap(table, swaps))
    }

    fn connections(&self) -> ConnectionCounts {
        self.rows.connections()
    }
}

/// Returns a store that calls `between` with the place after its `nth` request.
pub(super) fn store_with(
    place: &Arc<Place>,
    nth: i64,
    between: impl Fn(&Place) + Send + Sync + 'static,
) -> HbaseStore {
    let inside = Arc::clone(place);
    let step = AtomicI64::new(0);
    let between = move || {
        if step.fetch_add(1, Ordering::Relaxed) == nth {
            between(&inside);
        }
    };
    let rows = place.hbase.rows("t", OPTIONS);
    let clock = Arc::clone(&place.clock);
    HbaseStore::over(Box::new(Between { rows, between }), Clock::new(move || clock.load(Ordering::Relaxed)))
}

/// Returns a store for which time passes: the owner of a claim cannot go on while it waits, and the
/// lease has to run out.
pub(super) fn store_of_the_patient(place: &Place) -> HbaseStore {
    store_with_pace(place, PACE_MS)
}

/// Returns a store whose requests take `pace_ms` milliseconds each.
pub(super) fn store_with_pace(place: &Place, pace_ms: i64) -> HbaseStore {
    let clock = Arc::clone(&place.clock);
    let rows = place.hbase.rows("t", OPTIONS);
    let passing = Arc::clone(&clock);
    let between = move || {
        passing.fetch_add(pace_ms, Ordering::Relaxed);
    };
    HbaseStore::over(Box::new(Between { rows, between }), Clock::new(move || clock.load(Ordering::Relaxed)))
}
