//! Reads that replicas may answer if the primary of a region does not: `Consistency.TIMELINE` in
//! HBase.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time;

use crate::batch::{Call, Item};
use crate::messages::{Action, Condition, ScanRequest, TIMELINE};
use crate::regions::{Region, Regions, specifier};
use crate::retry::Retry;
use crate::{Advice, Answer, Cell, Client, Error, Get, PageOptions, Pages, Range, Scan, Scanner, Service};

/// The copies of a region that may answer a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consistency {
    /// The primary alone, which knows all acknowledged writes.
    Strong,
    /// A replica, too.
    Timeline,
}

/// A value that was read, with a mark if it may be behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read<T> {
    /// The value.
    pub value: T,
    /// True if a replica answered, at least in part: writes acknowledged before the read may be
    /// missing.
    pub is_stale: bool,
}

/// Reads of a cluster that replicas may answer ([`Client::timeline`]).
///
/// The primary of a region is asked first. If the primary cannot be reached, fails for a passing
/// reason, or has not answered within
/// [`ClientOptions::primary_get_timeout`](crate::ClientOptions::primary_get_timeout) or
/// [`primary_scan_timeout`](crate::ClientOptions::primary_scan_timeout), the next replica is asked
/// as well, and so on; the first answer is taken. A table has replicas if created with
/// `REGION_REPLICATION`; without replicas these are the reads of the [`Client`].
///
/// **A replica is behind its primary**: a row written and acknowledged may be missing, and a
/// deleted row may be there. The delay depends on the servers. With
/// `hbase.region.replica.replication.enabled` a replica is behind by seconds; with
/// `hbase.regionserver.storefile.refresh.period` by the period and the writes not flushed yet. With
/// neither, a replica has the files that were there when it was opened, perhaps none. A later read
/// may see less than an earlier one. Each answer says whether it may be behind
/// ([`Read::is_stale`]). Never decide by such a read whether to write: whether a row is taken,
/// whether a document is new.
///
/// A scan of a region goes on where it began, until that server fails. `hbase:meta` is read from
/// its primary: if that is gone, only regions already known can be read.
#[derive(Clone, Copy, Debug)]
pub struct Timeline<'a> {
    client: &'a Client,
}

impl Client {
    /// Returns a view of the cluster for reads that replicas may answer.
    #[must_use]
    pub fn timeline(&self) -> Timeline<'_> {
        Timeline { client: self }
    }
}

impl<'a> Timeline<'a> {
    /// Reads some columns of a row.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn get(&self, table: &str, get: Get) -> Result<Read<Vec<Cell>>, Error> {
        let rows = self.get_many(table, &[get]).await?;
        Ok(rows.into_iter().next().unwrap_or(Read { value: Vec::new(), is_stale: false }))
    }

    /// Reads some columns of each of these rows, in their order.
    ///
    /// # Errors
    /// [`Error`] if one of the rows cannot be read.
    pub async fn get_many(&self, table: &str, gets: &[Get]) -> Result<Vec<Read<Vec<Cell>>>, Error> {
        let client = self.client;
        let mut found: Vec<Option<Read<Vec<Cell>>>> = gets.iter().map(|_| None).collect();
        let mut left: Vec<usize> = (0..gets.len()).collect();
        let mut retry = Retry::new(client, table);
        while !left.is_empty() {
            let regions = match client.regions_at_hand(table, retry.until()).await {
                Ok(regions) => regions,
                Err(error) => {
                    retry.after(error, None).await?;
                    continue;
                }
            };
            let (groups, mut failure) = groups(&regions, gets, &left);
            let mut waiting = groups.iter();
            let within = retry.within();
            let read = |group| client.get_group(table, gets, group, within);
            let mut under_way = FuturesUnordered::new();
            under_way.extend(waiting.by_ref().take(CALLS_MAX).map(read));
            while let Some(outcome) = under_way.next().await {
                under_way.extend(waiting.next().map(read));
                match outcome {
                    Ok(rows) => rows.into_iter().for_each(|(place, row)| found[place] = Some(row)),
                    Err(error) => failure = Some(error),
                }
            }
            let n_left = left.len();
            left.retain(|&place| found[place].is_none());
            if left.len() < n_left {
                retry.has_gone_on();
            }
            if let Some(error) = failure {
                retry.after(error, Some(&regions)).await?;
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// Returns a scanner, as [`Client::scan`]; [`Scanner::is_stale`] says whether the rows may be
    /// behind.
    #[must_use]
    pub fn scan(&self, table: &str, scan: Scan) -> Scanner<'a> {
        Scanner::new(self.client, table, scan, Consistency::Timeline)
    }

    /// Reads pages, as [`Client::pages`], each with a mark if it may be behind.
    ///
    /// # Errors
    /// [`Error`], and the first error of `visit`, which ends the call.
    pub async fn pages<E: From<Error>>(
        &self,
        table: &str,
        family: &Bytes,
        ranges: &[Range],
        options: &PageOptions,
        visit: &mut impl FnMut(usize, Read<Pages>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.client.pages_by(Consistency::Timeline, table, family, ranges, options, visit).await
    }
}

/// The most groups read at once.
const CALLS_MAX: usize = 16;

/// Regions whose copies are on the same servers, with the gets in each: one call to one server
/// reads the group.
type Group<'a> = Vec<(&'a Region, Vec<usize>)>;

/// Returns groups of the gets left, and an error if the region of one is on its way.
fn groups<'a>(regions: &'a Regions, gets: &[Get], left: &[usize]) -> (Vec<Group<'a>>, Option<Error>) {
    let mut by_servers: BTreeMap<Vec<_>, BTreeMap<&Bytes, (&Region, Vec<usize>)>> = BTreeMap::new();
    let mut failure = None;
    for &place in left {
        match regions.of_key(&gets[place].row) {
            Ok(region) => {
                let servers = region.copies().map(|copy| &copy.server).collect();
                let of_servers = by_servers.entry(servers).or_default();
                of_servers.entry(&region.start).or_insert_with(|| (region, Vec::new())).1.push(place);
            }
            Err(error) => failure = Some(error),
        }
    }
    let mut groups: Vec<Group<'a>> = Vec::new();
    for of_servers in by_servers.into_values() {
        let (mut group, mut len) = (Group::new(), 0);
        for (region, places) in of_servers.into_values() {
            for places in places.chunks(TimelineGet::CALL_LEN) {
                if len + places.len() > TimelineGet::CALL_LEN {
                    groups.push(std::mem::take(&mut group));
                    len = 0;
                }
                group.push((region, places.to_vec()));
                len += places.len();
            }
        }
        groups.push(group);
    }
    (groups, failure)
}

/// A get that lets a replica answer.
struct TimelineGet<'a>(&'a Get);

impl Item for TimelineGet<'_> {
    type Outcome = Vec<Cell>;
    const CALL_LEN: usize = Get::CALL_LEN;

    fn row(&self) -> Result<&Bytes, Error> {
        Ok(&self.0.row)
    }

    fn action(&self, block: &mut BytesMut) -> Result<(Action, Option<Condition>), Error> {
        let (mut action, condition) = self.0.action(block)?;
        if let Some(get) = &mut action.get {
            get.consistency = Some(TIMELINE);
        }
        Ok((action, condition))
    }

    fn outcome(cells: Vec<Cell>, _: bool) -> Vec<Cell> {
        cells
    }
}

/// Polls the first future, and one more whenever one has failed or none has answered within `wait`.
/// Returns the first answer, with the number of its future. If all fail, the error is that of the
/// first; a final error ends the call at once.
async fn first<T, F: Future<Output = Result<T, Error>>>(
    asked: impl IntoIterator<Item = F>,
    wait: Duration,
) -> Result<(usize, T), Error> {
    let numbered = |(place, task): (usize, F)| async move { (place, task.await) };
    let mut asked = asked.into_iter().enumerate().map(numbered);
    let mut under_way: FuturesUnordered<_> = asked.by_ref().take(1).collect();
    let (mut of_primary, mut other) = (None, None);
    loop {
        let answer = match time::timeout(wait, under_way.next()).await {
            Ok(answer) => answer,
            Err(_) => match asked.next() {
                Some(next) => {
                    under_way.push(next);
                    continue;
                }
                // Each call has a deadline of its own.
                None => under_way.next().await,
            },
        };
        match answer {
            Some((place, Ok(value))) => return Ok((place, value)),
            Some((_, Err(error))) if error.advice() == Advice::GiveUp => return Err(error),
            Some((place, Err(error))) => {
                let of = if place == 0 { &mut of_primary } else { &mut other };
                *of = Some(error);
                under_way.extend(asked.next());
            }
            None => return Err(of_primary.or(other).unwrap_or(Error::Invalid("a read of no region"))),
        }
    }
}

/// The pause between two look-ups of regions whose primaries did not answer; one reader makes each.
const LOOK_UP_EVERY: Duration = Duration::from_secs(5);

impl Client {
    /// Reads the rows of a group, from the primaries or from the replicas of one number.
    async fn get_group(
        &self,
        table: &str,
        gets: &[Get],
        group: &Group<'_>,
        within: Duration,
    ) -> Result<Vec<(usize, Read<Vec<Cell>>)>, Error> {
        let n_copies = group.first().map_or(0, |(region, _)| region.copies().count());
        let tries = (0..n_copies).map(|copy| self.get_of_copy(gets, group, copy, Instant::now() + within));
        let (copy, rows) = first(tries, self.options().primary_get_timeout).await?;
        let is_stale = copy > 0;
        if is_stale {
            self.suspect(table);
        }
        Ok(rows.into_iter().map(|(place, value)| (place, Read { value, is_stale })).collect())
    }

    async fn get_of_copy(
        &self,
        gets: &[Get],
        group: &Group<'_>,
        copy: usize,
        until: Instant,
    ) -> Result<Vec<(usize, Vec<Cell>)>, Error> {
        let gets: Vec<_> = gets.iter().map(TimelineGet).collect();
        let mut call: Option<Call<'_>> = None;
        for (region, places) in group {
            let Some(region) = region.copies().nth(copy) else { continue };
            call.get_or_insert_with(|| Call::new(&region.server)).add(region, &gets, places)?;
        }
        let call = call.ok_or(Error::Invalid("a read of no region"))?;
        let (server, request) = (&call.server, &call.request);
        let answer = self.call_at(server, Service::Client, "Multi", request, &[], until).await?;
        let results = call.results(answer)?;
        // All or none: if one row is not here, the whole group is read elsewhere.
        let found = call.items.iter().zip(results.items).map(|(&place, row)| Ok((place, row?.0)));
        found.collect()
    }

    /// Begins a scan of a region at its primary or a replica. Returns the copy that answered, and
    /// the answer. Scans begun at other copies end by themselves, when their servers forget them.
    pub(crate) async fn begin_scan<'a>(
        &self,
        consistency: Consistency,
        table: &str,
        region: &'a Region,
        request: &ScanRequest,
        until: Instant,
    ) -> Result<(&'a Region, Answer), Error> {
        if consistency == Consistency::Strong {
            let answer = self.call_at(&region.server, Service::Client, "Scan", request, &[], until).await?;
            return Ok((region, answer));
        }
        let tries = region.copies().map(|copy| async move {
            let mut request = ScanRequest { region: Some(specifier(copy)), ..request.clone() };
            if let Some(scan) = &mut request.scan {
                scan.consistency = Some(TIMELINE);
            }
            let answer = self.call_at(&copy.server, Service::Client, "Scan", &request, &[], until).await?;
            Ok((copy, answer))
        });
        let (copy, answer) = first(tries, self.options().primary_scan_timeout).await?;
        if copy > 0 {
            self.suspect(table);
        }
        Ok(answer)
    }

    /// Returns the regions of a table for a read of this consistency.
    pub(crate) async fn regions_by(
        &self,
        consistency: Consistency,
        table: &str,
        until: Instant,
    ) -> Result<Arc<Regions>, Error> {
        match consistency {
            Consistency::Strong => self.regions(table, until).await,
            Consistency::Timeline => self.regions_at_hand(table, until).await,
        }
    }

    /// Returns the known regions. If a primary did not answer, looks the regions up anew; the known
    /// ones are good enough if that fails for a passing reason, too.
    async fn regions_at_hand(&self, table: &str, until: Instant) -> Result<Arc<Regions>, Error> {
        let known = self.regions(table, until).await?;
        let now = Instant::now();
        let is_due = self.suspects().get_mut(table).is_some_and(|due| {
            let is_due = *due <= now;
            if is_due {
                *due = now + LOOK_UP_EVERY;
            }
            is_due
        });
        if !is_due {
            return Ok(known);
        }
        let look_up = Box::pin(self.look_up(table, until));
        match time::timeout(self.options().primary_scan_timeout, look_up).await {
            Ok(Ok(regions)) => {
                self.suspects().remove(table);
                Ok(self.replace(table, regions))
            }
            Ok(Err(error)) if error.advice() == Advice::GiveUp => Err(error),
            _ => Ok(known),
        }
    }

    /// Notes that a primary of this table did not answer, and may be elsewhere by now.
    fn suspect(&self, table: &str) {
        self.suspects().entry(table.to_owned()).or_insert_with(Instant::now);
    }
}
