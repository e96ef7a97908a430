//! A cluster: the connections to its servers, and calls that find their way.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use prost::Message;
use tokio::time;

use crate::bounds::{REGISTRY_LEN_MAX, SCHEMA_LEN_MAX};
use crate::messages::{
    ENABLED, ENABLING, GetActiveMasterRequest, GetActiveMasterResponse, GetMetaRegionLocationsRequest,
    GetMetaRegionLocationsResponse, GetTableDescriptorsRequest, GetTableDescriptorsResponse, ScanRequest,
    ServerName, TableName, TableState,
};
use crate::regions::{self, Address, MAGIC, META, Regions};
use crate::retry::{Retry, Watch};
use crate::scan::{Scan, Scanner};
use crate::slots::Slots;
use crate::timeline::Consistency;
use crate::{Answer, Cell, Connection, ConnectionOptions, Error, Get, Service};

/// How a cluster is asked.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// For each connection.
    pub connection: ConnectionOptions,
    /// How many connections there are to each server. Each carries many calls.
    pub n_connections: usize,
    /// How long one call may take on a server.
    pub call_timeout: Duration,
    /// How long a call is tried again in which nothing goes on: while a region moves, or a server restarts.
    pub patience: Duration,
    /// The same as long as no server has ever answered: an address that is mistyped should not be waited for.
    pub first_patience: Duration,
    /// How long the primary of a region is waited for before a replica is asked, too: of gets by [`Client::timeline`].
    pub primary_get_timeout: Duration,
    /// The same of scans and pages.
    pub primary_scan_timeout: Duration,
    /// Is told of servers that are waited for.
    pub watch: Option<Arc<dyn Watch>>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connection: ConnectionOptions::default(),
            n_connections: 1,
            call_timeout: Duration::from_secs(20),
            patience: Duration::from_secs(120),
            first_patience: Duration::from_secs(5),
            // As HBase's own client has them.
            primary_get_timeout: Duration::from_millis(10),
            primary_scan_timeout: Duration::from_secs(1),
            watch: None,
        }
    }
}

/// A connection's server, what it is asked for, and which of several to the same one it is.
type Lane = (Address, Service, usize);

/// A cluster. Share it between tasks: all use the same connections, and what is looked up for one is known to all.
#[derive(Debug)]
pub struct Client {
    masters: Vec<Address>,
    options: ClientOptions,
    connections: Slots<Lane, Connection>,
    next_lane: AtomicUsize,
    tables: Slots<String, Regions>,
    n_look_ups: AtomicU64,
    /// Servers that have told where `hbase:meta` is or had regions: where the masters are gone, they know, too.
    known: Mutex<Vec<Address>>,
    has_answered: AtomicBool,
    /// Tables whose primaries did not answer a reader that replicas may answer, and when they are to be looked up anew.
    suspects: Mutex<HashMap<String, Instant>>,
}

/// So much longer a caller waits for a look-up than that waits for its own calls.
const SLACK: Duration = Duration::from_millis(50);

/// So many servers are asked where `hbase:meta` is, besides the masters.
const KNOWN_MAX: usize = 8;

/// A number for the n-th call: callers that ask servers in turn would else meet only some lanes of each.
fn spread(n: usize) -> usize {
    // By the golden ratio, so that every second one, or third, comes to all lanes, too.
    ((n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as usize
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What they guard is whole between any two steps.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    /// The cluster of some masters. Region servers may be named, too: they know where the rest is. One of them must answer
    /// when the cluster is first asked.
    #[must_use]
    pub fn new(masters: Vec<Address>, options: ClientOptions) -> Self {
        Self {
            masters,
            options,
            connections: Slots::default(),
            next_lane: AtomicUsize::new(0),
            tables: Slots::default(),
            n_look_ups: AtomicU64::new(0),
            known: Mutex::default(),
            has_answered: AtomicBool::new(false),
            suspects: Mutex::default(),
        }
    }

    /// The rows of a scan, page by page, from whichever regions have them.
    #[must_use]
    pub fn scan(&self, table: &str, scan: Scan) -> Scanner<'_> {
        Scanner::new(self, table, scan, Consistency::Strong)
    }

    /// How many connections are open.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.connections.count(Connection::is_open)
    }

    /// How often the regions of a table were looked up in `hbase:meta`.
    ///
    /// A region's name has the time at which the region was made, and a server answers only for regions that it has by
    /// that name. So as long as this number stays, calls read and write the tables that were there when `hbase:meta` was
    /// last read. A table that was dropped and created again since is looked up first, which is counted.
    #[must_use]
    pub fn n_look_ups(&self) -> u64 {
        self.n_look_ups.load(Ordering::Acquire)
    }

    pub(crate) fn options(&self) -> &ClientOptions {
        &self.options
    }

    pub(crate) fn suspects(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        lock(&self.suspects)
    }

    pub(crate) fn watch(&self) -> Option<&dyn Watch> {
        self.options.watch.as_deref()
    }

    pub(crate) fn patience(&self) -> Duration {
        let ClientOptions { patience, first_patience, .. } = self.options;
        if self.has_answered.load(Ordering::Relaxed) { patience } else { first_patience.min(patience) }
    }

    /// Makes the next call look up where the table is, unless that has been done since `regions` were.
    pub(crate) fn forget(&self, table: &str, regions: Option<&Arc<Regions>>) {
        match regions {
            Some(regions) => self.tables.forget(table, |found| Arc::ptr_eq(found, regions)),
            // The look-up failed, so where `hbase:meta` is may have changed.
            None => self.tables.forget(META, |_| true),
        }
    }

    /// Asks a server once, and waits for the answer until then.
    pub(crate) async fn call_at(
        &self,
        server: &Address,
        service: Service,
        method: &str,
        param: &impl Message,
        cells: &[Bytes],
        until: Instant,
    ) -> Result<Answer, Error> {
        let connection = time::timeout_at(until.into(), self.connection(server, service)).await;
        let connection = connection.unwrap_or_else(|_| {
            Err(Error::Connection { source: io::ErrorKind::TimedOut.into(), was_sent: false })
        })?;
        let within = until.saturating_duration_since(Instant::now());
        let outcome = connection.call(method, param, cells, within).await;
        if !self.has_answered.load(Ordering::Relaxed) && matches!(outcome, Ok(_) | Err(Error::Remote(_))) {
            self.has_answered.store(true, Ordering::Relaxed);
        }
        outcome
    }

    /// Tells a server in passing that a scan is not gone on with. It would forget it by itself after a minute.
    pub(crate) fn close_scanner(&self, server: &Address, id: u64) {
        let lane = (server.clone(), Service::Client, 0);
        let connection = self.connections.get(&lane);
        let deadline = self.options.call_timeout;
        if let Some(connection) = connection {
            tokio::spawn(async move {
                let close =
                    ScanRequest { scanner_id: Some(id), close_scanner: Some(true), ..ScanRequest::default() };
                let _ = connection.call("Scan", &close, &[], deadline).await;
            });
        }
    }

    async fn connection(&self, server: &Address, service: Service) -> Result<Arc<Connection>, Error> {
        let n_lanes = if service == Service::Client { self.options.n_connections.max(1) } else { 1 };
        let lane = match n_lanes {
            1 => 0,
            n => spread(self.next_lane.fetch_add(1, Ordering::Relaxed)) % n,
        };
        let open = async || {
            let (host, port) = server;
            Connection::open((host, *port), service, self.options.connection.clone()).await
        };
        self.connections.get_or_make((server.clone(), service, lane), Connection::is_open, open).await
    }

    /// The regions of a table, as far as is known.
    ///
    /// One caller looks them up, once, and the others wait for that, each until its own time. Where
    /// that fails each of them goes on by its own patience: it may have more left than the one that
    /// has looked.
    ///
    /// # Errors
    /// [`Error::Remote`] of class `TableNotFoundException` where there is no such table, and what the look-up meets.
    pub(crate) async fn regions(&self, table: &str, until: Instant) -> Result<Arc<Regions>, Error> {
        let begun = Instant::now();
        let look_up = async || {
            if table == META {
                self.look_up_meta(until).await
            } else {
                Box::pin(self.look_up(table, until)).await
            }
        };
        let found = self.tables.get_or_make(table.to_owned(), |_| true, look_up);
        // The own calls end first, so that a connection that says nothing is given up.
        let found = time::timeout_at((until + SLACK).into(), found).await;
        found.unwrap_or_else(|_| Err(Error::Deadline(begun.elapsed())))
    }

    /// Remembers what was looked up of a table.
    pub(crate) fn replace(&self, table: &str, regions: Regions) -> Arc<Regions> {
        self.tables.replace(table.to_owned(), regions)
    }

    /// Reads where the regions of a table are, once.
    pub(crate) async fn look_up(&self, table: &str, until: Instant) -> Result<Regions, Error> {
        let (start, stop) = regions::rows_of(table);
        let scan = Scan { start, stop, families: vec!["info".into()], ..Scan::default() };
        let mut scanner = self.scan(META, scan);
        let mut rows = Vec::new();
        while let Some(page) = scanner.try_next(until).await? {
            rows.extend(page);
        }
        let regions = Regions::of_meta(&rows)?;
        // Before a call goes to one of them.
        self.n_look_ups.fetch_add(1, Ordering::Release);
        if regions.is_empty() && self.is_enabled(table, until).await?.is_none() {
            return Err(Error::remote("TableNotFoundException", table));
        }
        let mut known = lock(&self.known);
        for region in regions.iter() {
            if known.len() < KNOWN_MAX && !known.contains(&region.server) {
                known.push(region.server.clone());
            }
        }
        Ok(regions)
    }

    /// Whether a table is enabled or about to be, `None` where there is no such table: read once.
    pub(crate) async fn is_enabled(&self, table: &str, until: Instant) -> Result<Option<bool>, Error> {
        if table == META {
            return Ok(Some(true));
        }
        let get = Get::new(table.to_owned().into_bytes()).column("table", "state");
        let cells = self.get_once(META, &get, until).await?;
        let Some(Cell { value, .. }) = cells.into_iter().next() else { return Ok(None) };
        let value = value.strip_prefix(MAGIC).unwrap_or(&value);
        let state = TableState::decode(value).map_err(|_| {
            Error::Protocol("a state of a table in hbase:meta that cannot be read".to_owned())
        })?;
        Ok(Some([ENABLED, ENABLING].contains(&state.state)))
    }

    /// Where `hbase:meta` is, as a master says, or another server.
    async fn look_up_meta(&self, until: Instant) -> Result<Regions, Error> {
        let request = GetMetaRegionLocationsRequest {};
        let answer: GetMetaRegionLocationsResponse =
            self.ask_registry("GetMetaRegionLocations", &request, until).await?;
        let server = answer.locations.into_iter().next().and_then(|location| location.server);
        let server = server.ok_or_else(|| Error::remote("NotServingRegionException", META))?;
        Ok(Regions::of_meta_itself(address(&server)?))
    }

    /// The first answer of the servers that are known.
    async fn ask_registry<M: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
        until: Instant,
    ) -> Result<M, Error> {
        let known = lock(&self.known).clone();
        let mut error = Error::Protocol("no server is named".to_owned());
        for server in self.masters.iter().chain(&known) {
            match self.call_at(server, Service::ClientMeta, method, request, &[], until).await {
                Ok(answer) => return answer.short_message(REGISTRY_LEN_MAX),
                Err(found) => error = found,
            }
        }
        Err(error)
    }

    /// For how long the cells of a family stay, `None` for good. It takes a master, which is waited for no longer than
    /// `patience`, where that is given.
    ///
    /// # Errors
    /// [`Error::Remote`] of class `TableNotFoundException` or `NoSuchColumnFamilyException` where it is not there.
    pub async fn time_to_live(
        &self,
        table: &str,
        family: &[u8],
        patience: Option<Duration>,
    ) -> Result<Option<Duration>, Error> {
        let mut retry = Retry::new(self, table).with_patience(patience);
        loop {
            match self.time_to_live_once(table, family, retry.until()).await {
                Ok(found) => {
                    retry.has_gone_on();
                    return Ok(found);
                }
                Err(error) => retry.after(error, None).await?,
            }
        }
    }

    async fn time_to_live_once(
        &self,
        table: &str,
        family: &[u8],
        until: Instant,
    ) -> Result<Option<Duration>, Error> {
        let master: GetActiveMasterResponse =
            self.ask_registry("GetActiveMaster", &GetActiveMasterRequest {}, until).await?;
        let master =
            master.server.ok_or_else(|| Error::remote("ServerNotRunningYetException", "no active master"))?;
        let (namespace, qualifier) = table.split_once(':').unwrap_or(("default", table));
        let name = TableName {
            namespace: namespace.to_owned().into_bytes().into(),
            qualifier: qualifier.to_owned().into_bytes().into(),
        };
        let request = GetTableDescriptorsRequest { tables: vec![name] };
        let (master, method) = (address(&master)?, "GetTableDescriptors");
        let answer = self.call_at(&master, Service::Master, method, &request, &[], until).await?;
        let answer: GetTableDescriptorsResponse = answer.short_message(SCHEMA_LEN_MAX)?;
        let Some(schema) = answer.tables.into_iter().next() else {
            return Err(Error::remote("TableNotFoundException", table));
        };
        let family = schema.families.into_iter().find(|found| found.name == family);
        let family = family.ok_or_else(|| Error::remote("NoSuchColumnFamilyException", "no such family"))?;
        let seconds = family.attributes.iter().find(|pair| &pair.first[..] == b"TTL");
        let Some(seconds) = seconds else { return Ok(None) };
        let seconds: u32 =
            std::str::from_utf8(&seconds.second)
                .ok()
                .and_then(|digits| digits.parse().ok())
                .ok_or_else(|| Error::Protocol("a time to live that is no number of seconds".to_owned()))?;
        Ok((seconds != FOREVER).then(|| Duration::from_secs(seconds.into())))
    }
}

/// The time to live of a family without one, in seconds.
const FOREVER: u32 = i32::MAX as u32;

fn address(server: &ServerName) -> Result<Address, Error> {
    let port = server.port.and_then(|port| u16::try_from(port).ok());
    let port = port.ok_or_else(|| Error::Protocol(format!("the server {} has no port", server.host)))?;
    Ok((server.host.clone(), port))
}
