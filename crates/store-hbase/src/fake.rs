//! An HBase Thrift gateway within the process, with one region server's worth of HBase behind it.
//! For tests.
//!
//! The fake speaks Thrift1 on a real socket, binary protocol without frames, and agrees with HBase
//! 2.6.1 as far as a client can see: versions, delete markers, lives of cells, atomicity, the form
//! of results and the words of errors; all were compared with a real gateway. In addition the fake
//! can fail in every way that a network can ([`FaultKind`]), and its clock can be set.
//!
//! Absent on purpose: calls that our clients do not make (the answer is an `IOError`), access
//! control, versions beyond one, and slowness. A real gateway answers an unknown filter with an
//! internal error; the fake answers with an `IOError`, because it knows fewer filters.

mod calls;
mod faults;
mod filter;
mod handler;
mod reply;
mod scanner;
mod server;
mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hbase_rpc::fake::View;
use hbase_thrift::hbase::ColumnDescriptor;

use faults::Faults;
pub use faults::{Fault, FaultKind};
use scanner::Scanners;
use server::{Connections, Listener};
use store::{Store, change, column, parse_column};

/// A row's key and its cells: column, value, timestamp.
pub type VisibleRow = (Vec<u8>, Vec<(Vec<u8>, Vec<u8>, i64)>);

/// The gateway. All of its methods may be called from any thread; dropping it stops it.
pub struct FakeGateway {
    shared: Arc<Shared>,
    address: SocketAddr,
    listener: Mutex<Option<Listener>>,
}

/// The state that all connections share.
struct Shared {
    store: Mutex<Store>,
    scanners: Mutex<Scanners>,
    clock: Mutex<Clock>,
    faults: Mutex<Faults>,
    n_calls: Mutex<BTreeMap<String, u64>>,
    connections: Connections,
}

#[derive(Default)]
struct Clock {
    stands_at_ms: Option<i64>,
    ahead_ms: i64,
}

impl Shared {
    fn now(&self) -> i64 {
        let clock = lock(&self.clock);
        let wall = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, as_ms);
        clock.stands_at_ms.unwrap_or_else(wall) + clock.ahead_ms
    }

    /// Counts a call, and returns the fault that hits it.
    fn count(&self, method: &str) -> Option<FaultKind> {
        *lock(&self.n_calls).entry(method.to_owned()).or_default() += 1;
        lock(&self.faults).hit(method)
    }
}

/// Locks, poisoned or not: a test that panicked elsewhere has its own message, and the data are
/// still good here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn as_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl FakeGateway {
    /// Starts a gateway without tables on a free port.
    ///
    /// # Panics
    /// Where no port can be bound.
    #[must_use]
    pub fn start() -> Self {
        let shared = Arc::new(Shared {
            store: Mutex::default(),
            scanners: Mutex::default(),
            clock: Mutex::default(),
            faults: Mutex::default(),
            n_calls: Mutex::default(),
            connections: Connections::default(),
        });
        let listener = Listener::start(&shared, 0).expect("loopback has a free port");
        Self { address: listener.address(), listener: Mutex::new(Some(listener)), shared }
    }

    /// Returns the address of the listener, which stays the same after a stop.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops as if killed: calls under way are cut off, scanners are forgotten, the data stay.
    /// Waits until all threads have ended. Does nothing if it has stopped already.
    pub fn stop(&self) {
        if let Some(listener) = lock(&self.listener).take() {
            listener.stop(&self.shared);
        }
        *lock(&self.shared.scanners) = Scanners::default();
    }

    /// Starts again on the same port; scanner ids begin at 0 again. Does nothing if it runs.
    ///
    /// # Errors
    /// Where another process has taken the port.
    pub fn start_again(&self) -> io::Result<()> {
        let mut listener = lock(&self.listener);
        if listener.is_none() {
            *listener = Some(Listener::start(&self.shared, self.address.port())?);
        }
        Ok(())
    }

    /// Creates a table of one region, and replaces one of the same name.
    pub fn create_table(&self, name: &str, families: &[&str]) {
        self.create_split_table(name, families, &[]);
    }

    /// Creates a table of several regions: all but the first begin at the rows of `splits`. A scan
    /// reads each region when it comes to it.
    pub fn create_split_table(&self, name: &str, families: &[&str], splits: &[&[u8]]) {
        let mut store = lock(&self.shared.store);
        let table = store.create(name.as_bytes(), splits);
        families.iter().for_each(|name| table.describe(name.as_bytes(), family(name)));
    }

    /// Lets the cells of a family expire `seconds` after their timestamps.
    ///
    /// # Panics
    /// Where there is no such table or family.
    pub fn set_time_to_live(&self, table: &str, family: &str, seconds: i32) {
        let mut store = lock(&self.shared.store);
        let table = store.table_mut(table.as_bytes()).expect("the table was created");
        let described = table.families[family.as_bytes()].clone();
        table.describe(family.as_bytes(), ColumnDescriptor { time_to_live: Some(seconds), ..described });
    }

    /// Removes a table; returns true if it existed.
    pub fn drop_table(&self, name: &str) -> bool {
        lock(&self.shared.store).remove(name.as_bytes())
    }

    /// Returns all rows that a reader would see now, in the order of rows and columns.
    ///
    /// # Panics
    /// Where there is no such table.
    #[must_use]
    pub fn rows(&self, table: &str) -> Vec<VisibleRow> {
        let view = View::at(self.shared.now());
        let store = lock(&self.shared.store);
        let table = store.table(table.as_bytes()).expect("the table was created");
        let rows = table.cells.rows(b"", b"", &view).map(|(row, cells)| {
            let cells = cells.iter().map(|cell| (column(cell), cell.value.to_vec(), cell.timestamp));
            (row.to_vec(), cells.collect())
        });
        rows.collect()
    }

    /// Writes one cell past all connections and faults. To make a row that lacks a column,
    /// [`erase`](Self::erase) it first.
    ///
    /// # Panics
    /// Where there is no such table or family, or the column has no qualifier.
    pub fn put_raw(&self, table: &str, row: &[u8], column: &[u8], value: &[u8], timestamp: i64) {
        let (family, qualifier) = parse_column(column);
        assert!(qualifier.is_some(), "a column is family:qualifier");
        let change = change(row, (family, qualifier), Some(value.to_vec()), timestamp);
        let mut store = lock(&self.shared.store);
        let table = store.table_mut(table.as_bytes()).expect("the table was created");
        table.apply(&[change], None, self.shared.now()).expect("the family was created");
    }

    /// Loses a row with its versions and delete markers, which nothing in HBase does; returns true
    /// if it existed.
    ///
    /// # Panics
    /// Where there is no such table.
    pub fn erase(&self, table: &str, row: &[u8]) -> bool {
        lock(&self.shared.store).table_mut(table.as_bytes()).expect("the table was created").cells.erase(row)
    }

    /// Flushes all tables: only the newest of the versions put since the last flush is kept, and it
    /// precedes those on disk.
    pub fn flush(&self) {
        lock(&self.shared.store).flush(self.shared.now());
    }

    /// Compacts all tables: removes delete markers and the cells that they hide, older versions,
    /// and dead cells.
    pub fn major_compact(&self) {
        lock(&self.shared.store).compact(self.shared.now());
    }

    /// Returns the number of stored versions and delete markers, visible or not.
    ///
    /// # Panics
    /// Where there is no such table.
    #[must_use]
    pub fn n_stored(&self, table: &str) -> usize {
        lock(&self.shared.store).table(table.as_bytes()).expect("the table was created").cells.n_stored()
    }

    /// Returns the time in ms since 1970: the wall clock's, until the clock is set.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.shared.now()
    }

    /// Stops the clock at a time.
    pub fn set_clock_ms(&self, now_ms: i64) {
        *lock(&self.shared.clock) = Clock { stands_at_ms: Some(now_ms), ahead_ms: 0 };
    }

    /// Turns the clock forward, running or stopped.
    pub fn advance(&self, duration: Duration) {
        lock(&self.shared.clock).ahead_ms += as_ms(duration);
    }

    /// Adds a fault to those to come. Each counts its own calls; where two hit the same call, the
    /// later added one waits for the next.
    pub fn fail(&self, fault: Fault) {
        lock(&self.shared.faults).push(fault);
    }

    /// Returns the number of faults to come.
    #[must_use]
    pub fn n_faults(&self) -> usize {
        lock(&self.shared.faults).len()
    }

    /// Forgets the faults to come. A stalled connection stays so.
    pub fn clear_faults(&self) {
        lock(&self.shared.faults).clear();
    }

    /// Accepts the next `n` connections and closes them at once.
    pub fn refuse_connections(&self, n: usize) {
        self.shared.connections.refuse(n);
    }

    /// Closes connections that were idle for `limit`, each from its next call on; the real gateway
    /// does so after 60 s.
    pub fn close_idle_after(&self, limit: Duration) {
        self.shared.connections.set_idle_limit(limit.max(Duration::from_millis(1)));
    }

    /// Closes the connections that wait for a call now, without waiting for the limit.
    pub fn close_idle_connections(&self) {
        self.shared.connections.close_idle();
    }

    /// Forgets the open scanners, as the real gateway does after two minutes without use.
    pub fn expire_scanners(&self) {
        lock(&self.shared.scanners).expire();
    }

    /// Returns the number of open scanners.
    #[must_use]
    pub fn n_open_scanners(&self) -> usize {
        lock(&self.shared.scanners).len()
    }

    /// Returns the number of calls of a method, by its Thrift name (`"mutateRowsTs"`), including
    /// calls that a fault hit.
    #[must_use]
    pub fn n_calls(&self, method: &str) -> u64 {
        lock(&self.shared.n_calls).get(method).copied().unwrap_or(0)
    }

    /// Returns the number of calls of all methods.
    #[must_use]
    pub fn n_calls_in_all(&self) -> u64 {
        lock(&self.shared.n_calls).values().sum()
    }

    /// Returns the number of open connections. The gateway notices a moment later that a client has
    /// closed one: see [`wait_for_connections`](Self::wait_for_connections).
    #[must_use]
    pub fn n_connections(&self) -> usize {
        self.shared.connections.n_open()
    }

    /// Waits until `n` connections are open; returns false if the timeout came first.
    #[must_use]
    pub fn wait_for_connections(&self, n: usize, timeout: Duration) -> bool {
        self.shared.connections.wait_for(n, timeout)
    }

    /// Returns the most connections that were ever open at once.
    #[must_use]
    pub fn n_connections_max(&self) -> usize {
        self.shared.connections.n_open_max()
    }

    /// Returns the number of connections ever accepted, without the refused ones.
    #[must_use]
    pub fn n_connections_in_all(&self) -> u64 {
        self.shared.connections.n_accepted()
    }
}

impl Drop for FakeGateway {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns a family as HBase describes one that was created without options.
fn family(name: &str) -> ColumnDescriptor {
    ColumnDescriptor {
        name: Some(format!("{name}:").into_bytes()),
        max_versions: Some(1),
        compression: Some("NONE".to_owned()),
        in_memory: Some(false),
        bloom_filter_type: Some("ROW".to_owned()),
        bloom_filter_vector_size: Some(0),
        bloom_filter_nb_hashes: Some(0),
        block_cache_enabled: Some(true),
        time_to_live: Some(i32::MAX),
    }
}
