//! The client of a cluster: connections to its servers, and calls that find their way.

mod batch;
mod retry;
mod scan;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use prost::Message;
use tokio::time;

pub use self::batch::{CheckAndMutate, Checked, Get, Mutation};
pub use self::retry::Watch;
pub(crate) use self::retry::{Failed, Retry};
pub(crate) use self::scan::pieces;
pub use self::scan::{Scan, Scanner};
use crate::bounds::{REGISTRY_LEN_MAX, SCHEMA_LEN_MAX};
use crate::messages::{
    ENABLED, ENABLING, GetActiveMasterRequest, GetActiveMasterResponse, GetMetaRegionLocationsRequest,
    GetMetaRegionLocationsResponse, GetTableDescriptorsRequest, GetTableDescriptorsResponse, ScanRequest,
    ServerName, TableName, TableState,
};
use crate::regions::{self, Address, MAGIC, META, Regions};
use crate::slots::Slots;
use crate::{Answer, Cell, Connection, ConnectionOptions, Error, Service};

/// Options of a [`Client`].
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Options of each connection.
    pub connection: ConnectionOptions,
    /// The number of connections to each region server, at least one. Each carries many calls.
    pub n_connections: usize,
    /// The deadline of one call to one server.
    pub call_timeout: Duration,
    /// The longest time that a call is repeated without progress: while a region moves, or a server
    /// restarts.
    pub patience: Duration,
    /// The same limit, if shorter, as long as no server has ever answered: nothing is gained by
    /// waiting for a mistyped address.
    pub first_patience: Duration,
    /// Listener for calls that wait for a server.
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
            watch: None,
        }
    }
}

/// Server and service of a connection, and its number among those to the same server.
type Lane = (Address, Service, usize);

/// A client of one cluster. Tasks share it: all of them use the same connections, and a look-up for
/// one task serves all.
#[derive(Debug)]
pub struct Client {
    masters: Vec<Address>,
    options: ClientOptions,
    connections: Slots<Lane, Connection>,
    next_lane: AtomicUsize,
    tables: Slots<String, Regions>,
    n_look_ups: AtomicU64,
    /// Servers of looked-up regions: if the masters are gone, these know the place of `hbase:meta`,
    /// too.
    known: Mutex<Vec<Address>>,
    has_answered: AtomicBool,
}

/// So much longer a caller waits for a look-up than that waits for its own calls.
const SLACK: Duration = Duration::from_millis(50);

/// The most servers asked for the place of `hbase:meta` besides the masters.
const KNOWN_MAX: usize = 8;

/// Returns a scattered number for the n-th call: by `n` alone, callers that ask servers in turn
/// would meet only some lanes of each.
fn spread(n: usize) -> usize {
    // By the golden ratio, every second number, or every third, reaches all lanes, too.
    ((n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as usize
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The guarded data is consistent between any two steps.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    /// Creates a client for the cluster of some masters. Region servers may be named, too: they
    /// know the place of `hbase:meta`. One of the named servers must answer the first call.
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
        }
    }

    /// Returns a scanner for the rows of `scan`, page by page, across regions.
    #[must_use]
    pub fn scan(&self, table: &str, scan: Scan) -> Scanner<'_> {
        Scanner::new(self, table, scan)
    }

    /// Returns the number of open connections.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.connections.count(Connection::is_open)
    }

    /// Returns the number of look-ups of a table in `hbase:meta` so far.
    ///
    /// The name of a region has the time of the region's creation, and a server answers only for
    /// regions it has by that name. So while this number stays the same, calls read and write the
    /// tables that existed when `hbase:meta` was last read. A table dropped and created again since
    /// is looked up first, and the look-up is counted.
    #[must_use]
    pub fn n_look_ups(&self) -> u64 {
        self.n_look_ups.load(Ordering::Acquire)
    }

    pub(crate) fn options(&self) -> &ClientOptions {
        &self.options
    }

    pub(crate) fn watch(&self) -> Option<&dyn Watch> {
        self.options.watch.as_deref()
    }

    pub(crate) fn patience(&self) -> Duration {
        let ClientOptions { patience, first_patience, .. } = self.options;
        if self.has_answered.load(Ordering::Relaxed) { patience } else { first_patience.min(patience) }
    }

    /// Makes the next call look up the regions of a table, unless a look-up has replaced `regions`.
    pub(crate) fn forget(&self, table: &str, regions: Option<&Arc<Regions>>) {
        match regions {
            Some(regions) => self.tables.forget(table, |found| Arc::ptr_eq(found, regions)),
            // The look-up failed, so `hbase:meta` may have moved.
            None => self.tables.forget(META, |_| true),
        }
    }

    /// Makes one call to a server, without a retry, and waits for the answer until `until`.
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

    /// Tells a server in passing to close a scan, which the server would otherwise forget after a
    /// minute.
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

    /// Returns the regions of a table, remembered or looked up.
    ///
    /// One caller looks them up, once, and the others wait for the look-up, each until its own
    /// time. If the look-up fails, each of them goes on by its own patience, of which more may be
    /// left.
    ///
    /// # Errors
    /// [`Error::Remote`] of class `TableNotFoundException` if there is no such table, and the
    /// errors of the look-up.
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

    /// Reads where the regions of a table are, once.
    async fn look_up(&self, table: &str, until: Instant) -> Result<Regions, Error> {
        let (start, stop) = regions::rows_of(table);
        let scan = Scan { start, stop, families: vec!["info".into()], ..Scan::default() };
        let mut scanner = self.scan(META, scan);
        let mut rows = Vec::new();
        while let Some(page) = scanner.try_next(until).await? {
            rows.extend(page);
        }
        let regions = Regions::of_meta(&rows)?;
        // Before a call goes to one of these regions.
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

    /// Reads once if a table is enabled or about to be; `None` if there is no such table.
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

    /// Looks up the server of `hbase:meta`, at a master or another known server.
    async fn look_up_meta(&self, until: Instant) -> Result<Regions, Error> {
        let request = GetMetaRegionLocationsRequest {};
        let answer: GetMetaRegionLocationsResponse =
            self.ask_registry("GetMetaRegionLocations", &request, until).await?;
        let server = answer.locations.into_iter().next().and_then(|location| location.server);
        let server = server.ok_or_else(|| Error::remote("NotServingRegionException", META))?;
        Ok(Regions::of_meta_itself(address(&server)?))
    }

    /// Returns the first answer of the masters and the other known servers, asked in turn.
    async fn ask_registry<M: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
        until: Instant,
    ) -> Result<M, Error> {
        let known = lock(&self.known).clone();
        let servers: Vec<&Address> = self.masters.iter().chain(&known).collect();
        let mut error = Error::Protocol("no server is named".to_owned());
        for (n_asked, server) in (0..).zip(&servers) {
            // A server that says nothing leaves time for the others.
            let now = Instant::now();
            let share = until.saturating_duration_since(now) / (servers.len() as u32 - n_asked);
            let until = now + share;
            match self.call_at(server, Service::ClientMeta, method, request, &[], until).await {
                Ok(answer) => return answer.short_message(REGISTRY_LEN_MAX),
                Err(found) => error = found,
            }
        }
        Err(error)
    }

    /// Returns the time to live of a family's cells, `None` if they never expire. The call needs a
    /// master, and waits for one no longer than `patience`, if given.
    ///
    /// # Errors
    /// [`Error::Remote`] of class `TableNotFoundException` or `NoSuchColumnFamilyException` if
    /// there is no such table or family, and the errors of the calls.
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
                Err(error) => retry.after::<Error>(error.into()).await?,
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
