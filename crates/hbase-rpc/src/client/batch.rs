//! Batches of many rows: gets, puts, deletes and compare-and-sets, in calls by server. Each action
//! is tried again by itself.

mod call;
mod item;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use self::call::Call;
use self::item::Item;
pub use self::item::{CheckAndMutate, Checked, Get, Mutation};
use super::retry::{Failed, Retry};
use crate::regions::{Address, Region, Regions};
use crate::{Answer, Cell, Client, Error, Service};

/// The most calls of one batch under way at once.
const CALLS_MAX: usize = 16;

/// The items of a batch, some of them done.
struct Batch<'a, I: Item> {
    table: &'a str,
    items: &'a [I],
    /// By item; `None` for one that is left.
    outcomes: Vec<Option<I::Outcome>>,
    /// The places of the items that are left.
    left: Vec<usize>,
}

impl<'a, I: Item> Batch<'a, I> {
    fn new(table: &'a str, items: &'a [I]) -> Self {
        let outcomes = std::iter::repeat_with(|| None).take(items.len()).collect();
        Self { table, items, outcomes, left: (0..items.len()).collect() }
    }
}

impl Client {
    /// Reads some columns of a row.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn get(&self, table: &str, get: Get) -> Result<Vec<Cell>, Error> {
        let rows = self.get_many(table, &[get], None).await?.0;
        Ok(rows.into_iter().next().unwrap_or_default())
    }

    /// As [`get`](Self::get), where nothing is tried twice.
    pub(crate) async fn get_once(&self, table: &str, get: &Get, until: Instant) -> Result<Vec<Cell>, Error> {
        let regions = self.regions(table, until).await?;
        let region = regions.of_key(&get.row)?;
        let mut call = Call::new(&region.server);
        call.add(region, std::slice::from_ref(get), &[0])?;
        let answer = self.call_at(&call.server, Service::Client, "Multi", &call.request, &[], until).await?;
        let found = call.results(answer)?.items.into_iter().next();
        Ok(found.transpose()?.map(|(cells, _)| cells).unwrap_or_default())
    }

    /// Reads some columns of each of these rows, in their order. `last`, a get of some table, is
    /// read after all of them.
    ///
    /// # Errors
    /// [`Error`] if one of the rows cannot be read.
    pub async fn get_many(
        &self,
        table: &str,
        gets: &[Get],
        last: Option<(&str, &Get)>,
    ) -> Result<(Vec<Vec<Cell>>, Vec<Cell>), Error> {
        self.batch(table, gets, last).await
    }

    /// Makes changes, in no order. Failed changes are tried again, each by itself. `last`, a get of
    /// some table, is read after all changes were made.
    ///
    /// # Errors
    /// [`Error`] if one of the changes could not be made; others may have been.
    pub async fn mutate_many(
        &self,
        table: &str,
        mutations: &[Mutation],
        last: Option<(&str, &Get)>,
    ) -> Result<Vec<Cell>, Error> {
        Ok(self.batch(table, mutations, last).await?.1)
    }

    /// Compares and changes each row in one atomic step, in no order among rows. A check that may
    /// have been executed is never sent twice: its outcome is [`Checked::Unknown`].
    ///
    /// # Errors
    /// [`Error`] if one of the checks cannot be tried; others may have been executed.
    pub async fn check_and_mutate_many(
        &self,
        table: &str,
        checks: &[CheckAndMutate],
        last: Option<(&str, &Get)>,
    ) -> Result<(Vec<Checked>, Vec<Cell>), Error> {
        self.batch(table, checks, last).await
    }

    async fn batch<I: Item>(
        &self,
        table: &str,
        items: &[I],
        last: Option<(&str, &Get)>,
    ) -> Result<(Vec<I::Outcome>, Vec<Cell>), Error> {
        let mut batch = Batch::new(table, items);
        let mut retry = Retry::new(self, table);
        let of_last = loop {
            match self.attempt(&mut batch, last, &mut retry).await {
                Ok(of_last) => break of_last,
                Err(failed) => retry.after(failed).await?,
            }
        };
        let of_last = match (last, of_last) {
            (Some((table, get)), None) => Box::pin(self.get(table, get.clone())).await?,
            (_, of_last) => of_last.unwrap_or_default(),
        };
        Ok((batch.outcomes.into_iter().flatten().collect(), of_last))
    }

    /// Sends the items that are left, once each. Returns the cells of `last` if they were read
    /// after all items.
    async fn attempt<I: Item>(
        &self,
        batch: &mut Batch<'_, I>,
        last: Option<(&str, &Get)>,
        tries: &mut Retry<'_>,
    ) -> Result<Option<Vec<Cell>>, Failed<Error>> {
        let Batch { table, items, outcomes, left } = batch;
        if left.is_empty() {
            return Ok(None);
        }
        let regions = self.regions(table, tries.until()).await?;
        let within = tries.within();
        let calls = self.calls(items, left, &regions, last, within).await;
        let (calls, mut failure) = calls.map_err(Failed::Final)?;
        let can_be_last = calls.len() == 1 && failure.is_none();
        let mut under_way = FuturesUnordered::new();
        let mut waiting = calls.into_iter();
        under_way.extend(waiting.by_ref().take(CALLS_MAX).map(|call| self.send(call, within)));
        let mut of_last = None;
        while let Some((call, answer)) = under_way.next().await {
            under_way.extend(waiting.next().map(|call| self.send(call, within)));
            let results = answer.and_then(|answer| call.results(answer));
            let results = results.unwrap_or_else(|error| call.all_failed(error));
            for (place, result) in call.items.iter().zip(results.items) {
                match result {
                    Ok((cells, is_processed)) => outcomes[*place] = Some(I::outcome(cells, is_processed)),
                    Err(error) => {
                        if let Some(lost) = I::lost(&error) {
                            outcomes[*place] = Some(lost);
                        } else if error.advice() == crate::Advice::GiveUp || failure.is_none() {
                            failure = Some(error);
                        }
                    }
                }
            }
            if can_be_last {
                of_last = results.last.and_then(Result::ok);
            }
        }
        let n_left = left.len();
        left.retain(|&place| outcomes[place].is_none());
        if left.len() < n_left {
            tries.has_gone_on();
        }
        if left.is_empty() {
            return Ok(of_last);
        }
        let error = failure.unwrap_or(Error::Protocol("an answer without some results".to_owned()));
        Err(Failed::Call(error, Some(regions)))
    }

    /// Returns the calls for the items left, and an error if the region of an item is on its way.
    async fn calls<'a, I: Item>(
        &self,
        items: &[I],
        left: &[usize],
        regions: &Arc<Regions>,
        last: Option<(&str, &'a Get)>,
        within: Duration,
    ) -> Result<(Vec<Call<'a>>, Option<Error>), Error> {
        let mut by_server: BTreeMap<&Address, BTreeMap<&Bytes, (&Region, Vec<usize>)>> = BTreeMap::new();
        let mut failure = None;
        for &place in left {
            match regions.of_key(items[place].row()?) {
                Ok(region) => {
                    let of_server = by_server.entry(&region.server).or_default();
                    of_server.entry(&region.start).or_insert_with(|| (region, Vec::new())).1.push(place);
                }
                Err(error) => failure = Some(error),
            }
        }
        let mut calls = Vec::new();
        for (server, of_regions) in by_server {
            let mut call = Call::new(server);
            for (region, places) in of_regions.into_values() {
                let mut places = &places[..];
                while !places.is_empty() {
                    if call.items.len() >= I::CALL_LEN {
                        calls.push(std::mem::replace(&mut call, Call::new(server)));
                    }
                    let (now, later) = places.split_at((I::CALL_LEN - call.items.len()).min(places.len()));
                    call.add(region, items, now)?;
                    places = later;
                }
            }
            calls.push(call);
        }
        // `last` joins the only call there is, if the same server has its region.
        if let ([call], Some((table, get))) = (&mut calls[..], last)
            && failure.is_none()
            && let Ok(regions) = self.regions(table, Instant::now() + within).await
            && let Ok(region) = regions.of_key(&get.row)
            && region.server == call.server
        {
            call.add_last(region, get);
        }
        Ok((calls, failure))
    }

    async fn send<'a>(&self, mut call: Call<'a>, within: Duration) -> (Call<'a>, Result<Answer, Error>) {
        let block = std::mem::take(&mut call.block).freeze();
        let (server, until) = (&call.server, Instant::now() + within);
        let answer = self.call_at(server, Service::Client, "Multi", &call.request, &[block], until).await;
        (call, answer)
    }
}
