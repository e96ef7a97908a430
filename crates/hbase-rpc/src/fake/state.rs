//! The state of a cluster: tables, their regions, and the servers of these.

use std::collections::{BTreeMap, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use super::faults::Faults;
use super::scans::OpenScan;
use super::table::Table;
use super::{Failure, META_REGION};
use crate::messages::ENABLED;

/// The whole state, behind one lock.
#[derive(Debug)]
pub(super) struct State {
    pub(super) host: String,
    pub(super) tables: BTreeMap<String, Table>,
    /// Regions by the names that requests use.
    pub(super) regions: BTreeMap<Bytes, Region>,
    /// The first one is the master, which has no regions.
    pub(super) servers: Vec<Server>,
    /// The number of the server with `hbase:meta`.
    pub(super) meta: usize,
    pub(super) scans: HashMap<u64, OpenScan>,
    pub(super) faults: Faults,
    pub(super) n_calls: BTreeMap<String, u64>,
    /// Calls that servers are at.
    pub(super) n_under_way: u64,
    /// The most bytes of cells in one answer to a scan.
    pub(super) answer_len_max: u64,
    /// The time of a stopped clock.
    pub(super) stands_at_ms: Option<i64>,
    pub(super) ahead_ms: i64,
    /// True if servers turn callers without a ticket away; no caller can show one here.
    pub(super) wants_kerberos: bool,
    last_id: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) id: u64,
    pub(super) table: String,
    pub(super) start: Bytes,
    pub(super) end: Bytes,
    pub(super) server: usize,
}

impl Region {
    pub(super) fn has(&self, key: &[u8]) -> bool {
        self.start <= key && (self.end.is_empty() || key < &self.end[..])
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Server {
    pub(super) port: u16,
    pub(super) is_up: bool,
}

/// The target of a request.
pub(super) enum Place {
    Meta,
    Region(Region),
}

impl State {
    pub(super) fn new(host: &str, ports: &[u16]) -> Self {
        let servers = ports.iter().map(|&port| Server { port, is_up: true }).collect();
        Self {
            host: host.to_owned(),
            tables: BTreeMap::new(),
            regions: BTreeMap::new(),
            servers,
            meta: 1,
            scans: HashMap::new(),
            faults: Faults::default(),
            n_calls: BTreeMap::new(),
            n_under_way: 0,
            answer_len_max: u64::MAX,
            stands_at_ms: None,
            ahead_ms: 0,
            wants_kerberos: false,
            last_id: 0,
        }
    }

    pub(super) fn now(&self) -> i64 {
        let wall = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        self.stands_at_ms.unwrap_or_else(|| i64::try_from(wall()).unwrap_or(i64::MAX)) + self.ahead_ms
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Returns the region of a name, on the asked server.
    ///
    /// # Errors
    /// The exceptions of HBase for a region that is elsewhere, or nowhere.
    pub(super) fn place(&self, name: &Bytes, server: usize) -> Result<Place, Failure> {
        let not_here = || {
            let name = String::from_utf8_lossy(name);
            Failure::new("NotServingRegionException", &format!("{name} is not online"))
        };
        if name == META_REGION {
            return if server == self.meta { Ok(Place::Meta) } else { Err(not_here()) };
        }
        let region = self.regions.get(name).ok_or_else(not_here)?;
        if self.tables.get(&region.table).is_none_or(|table| table.state != ENABLED) {
            return Err(not_here());
        }
        if region.server != server {
            let mut moved = Failure::new("exceptions.RegionMovedException", "Region moved");
            // The server says not to ask again.
            moved.is_final = true;
            moved.moved_to = Some((self.host.clone(), self.servers[region.server].port));
            return Err(moved);
        }
        Ok(Place::Region(region.clone()))
    }

    /// Checks that a table has a family.
    ///
    /// # Errors
    /// The exception of HBase for a family that is missing.
    pub(super) fn check_family(&self, table: &str, family: &[u8]) -> Result<(), Failure> {
        if self.tables[table].families.contains_key(family) {
            return Ok(());
        }
        let what = format!("Column family {} does not exist", String::from_utf8_lossy(family));
        Err(Failure::last("regionserver.NoSuchColumnFamilyException", &what))
    }

    /// Adds the regions of a table that has none.
    pub(super) fn add_regions(&mut self, table: &str, splits: &[&[u8]]) {
        let mut starts: Vec<Bytes> = splits.iter().map(|start| Bytes::copy_from_slice(start)).collect();
        starts.insert(0, Bytes::new());
        for (place, start) in starts.iter().enumerate() {
            let end = starts.get(place + 1).cloned().unwrap_or_default();
            self.add_region(table, start.clone(), end, self.idlest());
        }
    }

    /// Adds a region with a name of its own. The caller has removed the regions in its place.
    pub(super) fn add_region(&mut self, table: &str, start: Bytes, end: Bytes, server: usize) {
        let id = self.next_id();
        // A number in place of a digest: nothing looks into it.
        let mut name = [table.as_bytes(), b",", &start, b","].concat();
        name.extend_from_slice(format!("{id}.{id:032x}.").as_bytes());
        let region = Region { id, table: table.to_owned(), start, end, server };
        self.regions.insert(name.into(), region);
    }

    /// Returns the name of the region of a key.
    ///
    /// # Panics
    /// Where there is no such table.
    pub(super) fn name_of(&self, table: &str, key: &[u8]) -> Bytes {
        let found = self.regions.iter().find(|(_, region)| region.table == table && region.has(key));
        found.expect("the table was created").0.clone()
    }

    /// Returns the region server with the fewest regions, of those that are up.
    pub(super) fn idlest(&self) -> usize {
        let n_regions =
            |server: &usize| self.regions.values().filter(|region| region.server == *server).count();
        (1..self.servers.len())
            .filter(|&server| self.servers[server].is_up)
            .min_by_key(n_regions)
            .expect("a region server is up")
    }
}
