//! A cluster: its servers' connections, where its regions are, and calls that find their way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use prost::Message;
use tokio::sync::OnceCell;
use tokio::time;

use crate::messages::{
    GetMetaRegionLocationsRequest, GetMetaRegionLocationsResponse, REGION_NAME, RegionSpecifier,
};
use crate::regions::{self, Address, META_REGION, Region, Regions};
use crate::scan::{Scan, Scanner};
use crate::{Advice, Answer, Connection, ConnectionOptions, Error, RemoteError, Service};

/// How a cluster is asked.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// For each connection.
    pub connection: ConnectionOptions,
    /// How long one call may take on a server.
    pub call_timeout: Duration,
    /// How long a call is tried again in all: while a region moves, or a server restarts.
    pub patience: Duration,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connection: ConnectionOptions::default(),
            call_timeout: Duration::from_secs(10),
            patience: Duration::from_secs(60),
        }
    }
}

/// Pauses between two tries: at first, and at most.
pub(crate) const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(2);

type Slot<T> = Arc<OnceCell<Arc<T>>>;

/// A cluster. Share it between tasks: each server has one connection, and what is looked up by one is known to all.
#[derive(Debug)]
pub struct Client {
    masters: Vec<Address>,
    options: ClientOptions,
    connections: Mutex<HashMap<(Address, Service), Slot<Connection>>>,
    tables: Mutex<HashMap<String, Slot<Regions>>>,
    meta: Mutex<Slot<Region>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // What they guard is whole between any two steps.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    /// The cluster of some masters, of which one must answer when it is first asked.
    #[must_use]
    pub fn new(masters: Vec<Address>, options: ClientOptions) -> Self {
        Self {
            masters,
            options,
            connections: Mutex::default(),
            tables: Mutex::default(),
            meta: Mutex::default(),
        }
    }

    /// The rows of a scan, page by page, from whichever regions have them.
    #[must_use]
    pub fn scan(&self, table: &str, scan: Scan) -> Scanner<'_> {
        Scanner::new(self, table, scan)
    }

    /// Asks the region that has a row. It is asked again, of whoever has the region then, until patience ends: so `param` must be
    /// such that doing it twice does no harm.
    ///
    /// # Errors
    /// [`Error`], the last that there was.
    pub async fn call<M: Message>(
        &self,
        table: &str,
        row: &[u8],
        method: &str,
        param: impl Fn(RegionSpecifier) -> M,
        cells: &Bytes,
    ) -> Result<Answer, Error> {
        let begun = Instant::now();
        let mut pause = PAUSE_FIRST;
        loop {
            let error = match self.region(table, row).await {
                Ok(region) => {
                    let param = param(specifier(&region));
                    match self.call_at(&region.server, method, &param, cells).await {
                        Ok(answer) => return Ok(answer),
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            self.pause_after(table, error, begun, &mut pause).await?;
        }
    }

    /// Waits before another try, after what it is good to forget is forgotten; or hands the error back.
    pub(crate) async fn pause_after(
        &self,
        table: &str,
        error: Error,
        begun: Instant,
        pause: &mut Duration,
    ) -> Result<(), Error> {
        let advice = error.advice();
        if advice == Advice::GiveUp || begun.elapsed() + *pause > self.options.patience {
            return Err(error);
        }
        if advice == Advice::LookUpAgain {
            self.forget(table);
        }
        time::sleep(jittered(*pause)).await;
        *pause = (*pause * 2).min(PAUSE_MAX);
        Ok(())
    }

    /// Makes the next call look up where the table is.
    fn forget(&self, table: &str) {
        lock(&self.tables).remove(table);
        *lock(&self.meta) = Slot::default();
        lock(&self.connections).retain(|_, slot| slot.get().is_none_or(|connection| connection.is_open()));
    }

    pub(crate) async fn call_at(
        &self,
        server: &Address,
        method: &str,
        param: &impl Message,
        cells: &Bytes,
    ) -> Result<Answer, Error> {
        let connection = self.connection(server, Service::Client).await?;
        connection.call(method, param, cells, self.options.call_timeout).await
    }

    /// The region that a row falls into.
    ///
    /// # Errors
    /// [`Error::Remote`] of class `TableNotFoundException` where there is no such table, and what the look-up meets.
    pub async fn region(&self, table: &str, row: &[u8]) -> Result<Region, Error> {
        if table == "hbase:meta" {
            return Ok((*self.meta().await?).clone());
        }
        let slot = Arc::clone(lock(&self.tables).entry(table.to_owned()).or_default());
        // One looks it up, and the others wait for that.
        let regions =
            slot.get_or_try_init(|| async { Box::pin(self.look_up(table)).await.map(Arc::new) }).await?;
        if regions.is_empty() {
            return Err(not_there("TableNotFoundException", table, true));
        }
        regions.of_key(row).cloned().ok_or_else(|| not_there("NotServingRegionException", table, false))
    }

    async fn look_up(&self, table: &str) -> Result<Regions, Error> {
        let (start, stop) = regions::rows_of(table);
        let scan = Scan { start, stop, families: vec!["info".into()], ..Scan::default() };
        let mut scanner = self.scan("hbase:meta", scan);
        let mut rows = Vec::new();
        while let Some(page) = scanner.next().await? {
            rows.extend(page);
        }
        Regions::of_meta(&rows)
    }

    /// Where `hbase:meta` is, as a master says.
    async fn meta(&self) -> Result<Arc<Region>, Error> {
        let slot = Arc::clone(&lock(&self.meta));
        let look_up = || async {
            let mut error = Error::Protocol("no master is named".to_owned());
            for master in &self.masters {
                match self.meta_by(master).await {
                    Ok(region) => return Ok(Arc::new(region)),
                    Err(found) => error = found,
                }
            }
            Err(error)
        };
        slot.get_or_try_init(look_up).await.cloned()
    }

    async fn meta_by(&self, master: &Address) -> Result<Region, Error> {
        let connection = self.connection(master, Service::ClientMeta).await?;
        let asked = GetMetaRegionLocationsRequest {};
        let method = "GetMetaRegionLocations";
        let answer = connection.call(method, &asked, &Bytes::new(), self.options.call_timeout).await?;
        let found: GetMetaRegionLocationsResponse = answer.message()?;
        let server = found.locations.into_iter().next().and_then(|location| location.server);
        let server = server.ok_or_else(|| not_there("NotServingRegionException", "hbase:meta", false))?;
        let port = server.port.and_then(|port| u16::try_from(port).ok()).unwrap_or(0);
        let name = Bytes::from_static(META_REGION);
        Ok(Region { name, start: Bytes::new(), end: Bytes::new(), server: (server.host, port) })
    }

    async fn connection(&self, server: &Address, service: Service) -> Result<Arc<Connection>, Error> {
        let slot = Arc::clone(lock(&self.connections).entry((server.clone(), service)).or_default());
        let open = || async {
            let (host, port) = server;
            Connection::open((host, *port), service, self.options.connection.clone()).await.map(Arc::new)
        };
        slot.get_or_try_init(open).await.cloned()
    }
}

/// How a request names a region.
pub(crate) fn specifier(region: &Region) -> RegionSpecifier {
    RegionSpecifier { kind: REGION_NAME, value: region.name.clone() }
}

/// What a server would say.
fn not_there(class: &str, what: &str, do_not_retry: bool) -> Error {
    Error::Remote(RemoteError {
        class: format!("org.apache.hadoop.hbase.{class}"),
        stack_trace: what.to_owned(),
        do_not_retry,
        moved_to: None,
    })
}

/// Between a half and all of it, so that callers do not come together again.
fn jittered(pause: Duration) -> Duration {
    let nanos =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    pause.mul_f64(0.5 + f64::from(nanos % 1000) / 2000.0)
}
