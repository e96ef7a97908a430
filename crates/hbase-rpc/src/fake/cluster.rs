//! Actions of tests on a cluster, and views of its state.

use std::net::TcpListener;
use std::time::Duration;

use bytes::Bytes;

use super::calls::MASTER;
use super::faults::{Fault, FaultKind};
use super::server::Listener;
use super::table::{Table, View};
use super::{Cluster, HOST, lock};
use crate::Cell;
use crate::messages::{DISABLED, ENABLED, ENABLING};
use crate::regions::Address;

impl Cluster {
    /// Returns the address of the master, even if killed.
    #[must_use]
    pub fn master(&self) -> Address {
        self.address(MASTER)
    }

    /// Returns the address of a region server, even if killed.
    #[must_use]
    pub fn region_server(&self, server: usize) -> Address {
        self.address(server + 1)
    }

    fn address(&self, server: usize) -> Address {
        let state = lock(&self.0.state);
        (state.host.clone(), state.servers[server].port)
    }

    /// Creates a table whose regions, all but the first, begin at these keys, in place of a table
    /// of the same name.
    pub fn create_table(&self, name: &str, families: &[&str], splits: &[&[u8]]) {
        let families: Vec<_> = families.iter().map(|family| (*family, None)).collect();
        self.create_table_with_lives(name, &families, splits);
    }

    /// Creates a table like [`Cluster::create_table`], with families whose cells vanish after so
    /// many seconds.
    pub fn create_table_with_lives(&self, name: &str, families: &[(&str, Option<u32>)], splits: &[&[u8]]) {
        self.drop_table(name);
        let mut state = lock(&self.0.state);
        let family = |(name, life): &(&str, Option<u32>)| (Bytes::copy_from_slice(name.as_bytes()), *life);
        let mut table = Table::new(families.iter().map(family));
        table.state = ENABLED;
        state.tables.insert(name.to_owned(), table);
        state.add_regions(name, splits);
    }

    /// Drops a table and makes it anew with the same rows, in one moment: other calls come before
    /// or after.
    pub fn make_table_anew(&self, name: &str, splits: &[&[u8]]) {
        let mut state = lock(&self.0.state);
        state.regions.retain(|_, region| region.table != name);
        state.add_regions(name, splits);
    }

    /// Drops a table, if it is there.
    pub fn drop_table(&self, name: &str) {
        let mut state = lock(&self.0.state);
        state.tables.remove(name);
        state.regions.retain(|_, region| region.table != name);
    }

    /// Enables or disables a table. No server serves the regions of a disabled table.
    ///
    /// # Panics
    /// Where there is no such table.
    pub fn enable_table(&self, name: &str, is_enabled: bool) {
        let mut state = lock(&self.0.state);
        state.tables.get_mut(name).expect("the table was created").state =
            if is_enabled { ENABLED } else { DISABLED };
    }

    /// Begins to enable a disabled table: its regions are on their way to servers, until
    /// [`Cluster::enable_table`].
    ///
    /// # Panics
    /// Where there is no such table.
    pub fn begin_to_enable_table(&self, name: &str) {
        lock(&self.0.state).tables.get_mut(name).expect("the table was created").state = ENABLING;
    }

    /// Splits the region of a key at the key, unless the region begins there. The second half goes
    /// to the server with the fewest regions.
    ///
    /// # Panics
    /// Where there is no such table.
    pub fn split(&self, table: &str, key: &[u8]) {
        let mut state = lock(&self.0.state);
        let name = state.name_of(table, key);
        if state.regions[&name].start == key {
            return;
        }
        let region = state.regions.remove(&name).expect("it was found");
        let key = Bytes::copy_from_slice(key);
        state.add_region(table, region.start, key.clone(), region.server);
        let server = state.idlest();
        state.add_region(table, key, region.end, server);
    }

    /// Merges the region of a key with the next one, unless there is none.
    ///
    /// # Panics
    /// Where there is no such table.
    pub fn merge(&self, table: &str, key: &[u8]) {
        let mut state = lock(&self.0.state);
        let name = state.name_of(table, key);
        if state.regions[&name].end.is_empty() {
            return;
        }
        let first = state.regions.remove(&name).expect("it was found");
        let name = state.name_of(table, &first.end);
        let second = state.regions.remove(&name).expect("it was found");
        state.add_region(table, first.start, second.end, second.server);
    }

    /// Moves the region of a key to another server. The old server names the new one.
    ///
    /// # Panics
    /// Where there is no such table.
    pub fn move_region(&self, table: &str, key: &[u8], server: usize) {
        let mut state = lock(&self.0.state);
        let name = state.name_of(table, key);
        state.regions.get_mut(&name).expect("it was found").server = server + 1;
    }

    /// Returns the region server of a key of a table.
    ///
    /// # Panics
    /// Where there is no such table.
    #[must_use]
    pub fn server_of(&self, table: &str, key: &[u8]) -> usize {
        let state = lock(&self.0.state);
        let name = state.name_of(table, key);
        state.regions[&name].server - 1
    }

    /// Returns the number of regions of a table.
    #[must_use]
    pub fn n_regions(&self, table: &str) -> usize {
        lock(&self.0.state).regions.values().filter(|region| region.table == table).count()
    }

    /// Kills the master: its port is closed.
    pub fn kill_master(&self) {
        self.stop(MASTER);
    }

    /// Kills a region server: its port is closed, its regions are nowhere, and its scans are lost.
    pub fn kill(&self, server: usize) {
        self.stop(server + 1);
    }

    fn stop(&self, server: usize) {
        lock(&self.0.state).servers[server].is_up = false;
        let listener = lock(&self.0.listeners)[server].take();
        if let Some(listener) = listener {
            listener.stop();
        }
        lock(&self.0.state).scans.retain(|_, open| open.server() != server);
    }

    /// Brings the regions of a killed server up elsewhere, as the master does after a while;
    /// `hbase:meta`, too.
    ///
    /// # Panics
    /// Where no other server is up.
    pub fn recover(&self, server: usize) {
        let mut state = lock(&self.0.state);
        let lost = server + 1;
        let names: Vec<Bytes> = state.regions.keys().cloned().collect();
        for name in names {
            let to = state.idlest();
            if let Some(region) = state.regions.get_mut(&name).filter(|region| region.server == lost) {
                region.server = to;
            }
        }
        if state.meta == lost {
            state.meta = state.idlest();
        }
    }

    /// Starts a killed server again, on its port.
    ///
    /// # Panics
    /// Where another program has taken the port.
    pub fn start_again(&self, server: usize) {
        let (number, port) = (server + 1, self.region_server(server).1);
        let listener = TcpListener::bind((HOST, port)).expect("the port is free");
        let listener = Listener::start(self, number, listener).expect("the port can be listened on");
        lock(&self.0.listeners)[number] = Some(listener);
        lock(&self.0.state).servers[number].is_up = true;
    }

    /// Moves `hbase:meta` to another region server.
    pub fn move_meta(&self, server: usize) {
        lock(&self.0.state).meta = server + 1;
    }

    /// Makes servers refuse new connections, like servers that want Kerberos; no ticket is taken
    /// here.
    pub fn want_kerberos(&self) {
        lock(&self.0.state).wants_kerberos = true;
    }

    /// Forgets all scans, as after their leases have run out.
    pub fn forget_scans(&self) {
        lock(&self.0.state).scans.clear();
    }

    /// Returns the number of open scans.
    #[must_use]
    pub fn n_scans(&self) -> usize {
        lock(&self.0.state).scans.len()
    }

    /// Bounds the bytes of cells in an answer to a scan, in addition to the client's own bound.
    pub fn limit_answers(&self, n_bytes: u64) {
        lock(&self.0.state).answer_len_max = n_bytes;
    }

    /// Stops the clock of all servers at a time.
    pub fn set_clock_ms(&self, now_ms: i64) {
        let mut state = lock(&self.0.state);
        (state.stands_at_ms, state.ahead_ms) = (Some(now_ms), 0);
    }

    /// Advances the clock of all servers, running or stopped.
    pub fn advance(&self, time: Duration) {
        lock(&self.0.state).ahead_ms += i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    }

    /// Adds a fault.
    pub fn fail(&self, fault: Fault) {
        lock(&self.0.state).faults.push(fault);
    }

    /// Returns the number of faults to come.
    #[must_use]
    pub fn n_faults(&self) -> usize {
        lock(&self.0.state).faults.len()
    }

    /// Drops all faults to come.
    pub fn clear_faults(&self) {
        lock(&self.0.state).faults.clear();
    }

    /// Returns the number of calls of a method, faults included; a `"Multi"` goes by other names,
    /// too, as in [`Fault::on`].
    #[must_use]
    pub fn n_calls(&self, method: &str) -> u64 {
        lock(&self.0.state).n_calls.get(method).copied().unwrap_or(0)
    }

    /// Returns the number of calls that servers are at, late ones included.
    #[must_use]
    pub fn n_under_way(&self) -> u64 {
        lock(&self.0.state).n_under_way
    }

    /// Returns all rows of a table, as a reader sees them.
    ///
    /// # Panics
    /// Where there is no such table.
    #[must_use]
    pub fn rows(&self, table: &str) -> Vec<Vec<Cell>> {
        self.with_table(table, |table, now| {
            table.rows(b"", b"", &View::at(now)).map(|(_, cells)| cells).collect()
        })
    }

    /// Puts cells directly into a table, past all servers.
    ///
    /// # Panics
    /// Where there is no such table.
    pub fn put(&self, table: &str, cells: Vec<Cell>) {
        self.with_table(table, |table, now| table.apply(cells, None, now));
    }

    /// Acts on a table past all servers, given their time.
    ///
    /// # Panics
    /// Where there is no such table.
    pub fn with_table<T>(&self, name: &str, act: impl FnOnce(&mut Table, i64) -> T) -> T {
        let mut state = lock(&self.0.state);
        let now = state.now();
        act(state.tables.get_mut(name).expect("the table was created"), now)
    }

    /// Counts a call, and returns the kind of the fault that hits it.
    pub(super) fn count(&self, methods: &[&str], server: usize) -> Option<FaultKind> {
        let mut state = lock(&self.0.state);
        for method in methods {
            *state.n_calls.entry((*method).to_owned()).or_default() += 1;
        }
        state.faults.hit(methods, server)
    }
}
