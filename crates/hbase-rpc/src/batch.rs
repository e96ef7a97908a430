//! Many rows at once: gets, puts, deletes and compare-and-sets, one call a server, each action tried again by itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use prost::Message;

use crate::messages::{
    self, Action, BINARY_COMPARATOR, BinaryComparator, ByteArrayComparable, CellResult, Column, Comparator,
    Condition, DELETE, EQUAL, MultiRequest, MultiResponse, NameBytesPair, PUT, RegionAction,
    RegionActionResult, TIME_TO_LIVE,
};
use crate::regions::{Address, Region, Regions, specifier};
use crate::retry::Retry;
use crate::{Answer, Cell, CellType, Cells, Client, Error, RemoteError, Service};

/// Asks for some columns of a row, as of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Get {
    /// Its key.
    pub row: Bytes,
    /// Families, each with columns of it, or with none for all of them. No family at all stands for the whole row.
    pub columns: Vec<(Bytes, Vec<Bytes>)>,
}

impl Get {
    /// A whole row.
    #[must_use]
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self { row: row.into(), columns: Vec::new() }
    }

    /// With one more column.
    #[must_use]
    pub fn column(mut self, family: impl Into<Bytes>, qualifier: impl Into<Bytes>) -> Self {
        self.columns.push((family.into(), vec![qualifier.into()]));
        self
    }

    fn message(&self) -> messages::Get {
        let column = |(family, qualifiers): &(Bytes, Vec<Bytes>)| Column {
            family: family.clone(),
            qualifiers: qualifiers.clone(),
        };
        messages::Get {
            row: self.row.clone(),
            columns: self.columns.iter().map(column).collect(),
            max_versions: Some(1),
            ..messages::Get::default()
        }
    }
}

/// A change of one row. It may be made twice: its cells have the time that the caller gave them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// All of one row; either all are put, or all delete.
    pub cells: Vec<Cell>,
    /// After which what is put vanishes by itself.
    pub time_to_live: Option<Duration>,
}

impl Mutation {
    fn message(&self, block: &mut BytesMut) -> Result<messages::Mutation, Error> {
        let first = self.cells.first().ok_or(Error::Invalid("a change without cells"))?;
        let kind = if first.kind == CellType::Put { PUT } else { DELETE };
        for cell in &self.cells {
            if cell.row != first.row || (cell.kind == CellType::Put) != (kind == PUT) {
                return Err(Error::Invalid("a change of several rows, or one that puts and deletes"));
            }
            cell.encode(block).map_err(|_| Error::Invalid("a cell that is too long"))?;
        }
        let attribute = |time: Duration| NameBytesPair {
            name: TIME_TO_LIVE.to_owned(),
            value: Some(Bytes::copy_from_slice(
                &i64::try_from(time.as_millis()).unwrap_or(i64::MAX).to_be_bytes(),
            )),
        };
        Ok(messages::Mutation {
            row: Some(first.row.clone()),
            kind: Some(kind),
            attributes: self.time_to_live.map(attribute).into_iter().collect(),
            associated_cell_count: i32::try_from(self.cells.len()).ok(),
        })
    }
}

/// A change of one row that is made only where a cell of the row holds something known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckAndMutate {
    /// The family of the cell that is compared.
    pub family: Bytes,
    /// Its column.
    pub qualifier: Bytes,
    /// What it has to hold, `None` for no cell, or an empty one.
    pub expected: Option<Bytes>,
    /// What is done then.
    pub mutation: Mutation,
}

impl CheckAndMutate {
    fn condition(&self) -> Option<Condition> {
        let comparable = ByteArrayComparable { value: Some(self.expected.clone().unwrap_or_default()) };
        let comparator = Comparator {
            name: BINARY_COMPARATOR.to_owned(),
            serialized: Some(BinaryComparator { comparable }.encode_to_vec().into()),
        };
        Some(Condition {
            row: Some(self.mutation.cells.first()?.row.clone()),
            family: Some(self.family.clone()),
            qualifier: Some(self.qualifier.clone()),
            compare_type: Some(EQUAL),
            comparator: Some(comparator),
        })
    }
}

/// What became of a [`CheckAndMutate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// The change was made.
    Done,
    /// The cell holds something else, and nothing was changed.
    Refused,
    /// The answer was lost, so it may be done or not: a caller that has to know reads the row.
    Unknown,
}

/// What a batch is made of.
pub(crate) trait Item {
    /// What comes of one.
    type Outcome;

    /// At most so many go in one call, which a server does one after another.
    const CALL_LEN: usize;

    fn row(&self) -> Result<&Bytes, Error>;

    /// As a part of a request. What is put is appended to `block`.
    fn action(&self, block: &mut BytesMut) -> Result<(Action, Option<Condition>), Error>;

    /// What a server's result says.
    fn outcome(cells: Vec<Cell>, is_processed: bool) -> Self::Outcome;

    /// What is said where the answer was lost. `None` lets it be tried again.
    fn lost(_error: &Error) -> Option<Self::Outcome> {
        None
    }
}

impl Item for Get {
    type Outcome = Vec<Cell>;
    const CALL_LEN: usize = 500;

    fn row(&self) -> Result<&Bytes, Error> {
        Ok(&self.row)
    }

    fn action(&self, _: &mut BytesMut) -> Result<(Action, Option<Condition>), Error> {
        Ok((Action { get: Some(self.message()), ..Action::default() }, None))
    }

    fn outcome(cells: Vec<Cell>, _: bool) -> Vec<Cell> {
        cells
    }
}

impl Item for Mutation {
    type Outcome = ();
    const CALL_LEN: usize = 2_500;

    fn row(&self) -> Result<&Bytes, Error> {
        self.cells.first().map(|cell| &cell.row).ok_or(Error::Invalid("a change without cells"))
    }

    fn action(&self, block: &mut BytesMut) -> Result<(Action, Option<Condition>), Error> {
        Ok((Action { mutation: Some(self.message(block)?), ..Action::default() }, None))
    }

    fn outcome(_: Vec<Cell>, _: bool) {}
}

impl Item for CheckAndMutate {
    type Outcome = Checked;
    // Each is synced to the log by itself, so a few calls side by side share that.
    const CALL_LEN: usize = 32;

    fn row(&self) -> Result<&Bytes, Error> {
        self.mutation.row()
    }

    fn action(&self, block: &mut BytesMut) -> Result<(Action, Option<Condition>), Error> {
        let (action, _) = self.mutation.action(block)?;
        Ok((action, self.condition()))
    }

    fn outcome(_: Vec<Cell>, is_processed: bool) -> Checked {
        if is_processed { Checked::Done } else { Checked::Refused }
    }

    fn lost(error: &Error) -> Option<Checked> {
        error.may_be_done().then_some(Checked::Unknown)
    }
}

/// So many calls of one batch are under way at once.
const CALLS_MAX: usize = 16;

impl Client {
    /// Some columns of a row.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn get(&self, table: &str, get: Get) -> Result<Vec<Cell>, Error> {
        let rows = self.get_many(table, &[get], None).await?.0;
        Ok(rows.into_iter().next().unwrap_or_default())
    }

    /// Some columns of each of these rows, in their order. What is asked for `last`, of some table, is read after all of them.
    ///
    /// # Errors
    /// [`Error`], where one of them cannot be read.
    pub async fn get_many(
        &self,
        table: &str,
        gets: &[Get],
        last: Option<(&str, &Get)>,
    ) -> Result<(Vec<Vec<Cell>>, Vec<Cell>), Error> {
        self.batch(table, gets, last).await
    }

    /// Makes changes, in no order. Those that fail are tried again, each by itself. What is asked for `last`, of some table,
    /// is read after all were made.
    ///
    /// # Errors
    /// [`Error`], where one of them could not be made; others may have been.
    pub async fn mutate_many(
        &self,
        table: &str,
        mutations: &[Mutation],
        last: Option<(&str, &Get)>,
    ) -> Result<Vec<Cell>, Error> {
        Ok(self.batch(table, mutations, last).await?.1)
    }

    /// Compares and changes, each row in one step that nothing comes between, in no order among them. None is sent twice that
    /// may have been done: that one is [`Checked::Unknown`].
    ///
    /// # Errors
    /// [`Error`], where one of them cannot be tried; others may have been done.
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
        let mut outcomes: Vec<Option<I::Outcome>> =
            std::iter::repeat_with(|| None).take(items.len()).collect();
        let mut left: Vec<usize> = (0..items.len()).collect();
        let mut retry = Retry::new(self, table);
        let mut of_last = None;
        while !left.is_empty() {
            let regions = match self.regions(table).await {
                Ok(regions) => regions,
                Err(error) => {
                    retry.after(error, None).await?;
                    continue;
                }
            };
            let (mut calls, mut failure) = self.calls(items, &left, &regions, last).await?;
            let can_be_last = calls.len() == 1 && failure.is_none();
            let mut under_way = FuturesUnordered::new();
            let mut waiting = std::mem::take(&mut calls).into_iter();
            under_way.extend(waiting.by_ref().take(CALLS_MAX).map(|call| self.send(call)));
            let mut n_done = 0;
            while let Some((call, answer)) = under_way.next().await {
                under_way.extend(waiting.next().map(|call| self.send(call)));
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
                n_done += 1;
                if can_be_last {
                    of_last = results.last.and_then(Result::ok);
                }
            }
            let n_left = left.len();
            left.retain(|&place| outcomes[place].is_none());
            if n_done > 0 && left.len() < n_left {
                retry.has_gone_on();
            }
            if !left.is_empty() {
                of_last = None;
                let error = failure.unwrap_or(Error::Protocol("an answer without some results".to_owned()));
                retry.after(error, Some(&regions)).await?;
            }
        }
        let of_last = match (last, of_last) {
            (Some((table, get)), None) => Box::pin(self.get(table, get.clone())).await?,
            (_, of_last) => of_last.unwrap_or_default(),
        };
        Ok((outcomes.into_iter().flatten().collect(), of_last))
    }

    /// What is asked of whom, and an error where the region of an item is on its way.
    async fn calls<'a, I: Item>(
        &self,
        items: &[I],
        left: &[usize],
        regions: &Arc<Regions>,
        last: Option<(&str, &'a Get)>,
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
        // Asked for with the only call there is, where it is the same server that knows.
        if let ([call], Some((table, get))) = (&mut calls[..], last)
            && failure.is_none()
            && let Ok(regions) = self.regions(table).await
            && let Ok(region) = regions.of_key(&get.row)
            && region.server == call.server
        {
            call.add_last(region, get);
        }
        Ok((calls, failure))
    }

    async fn send<'a>(&self, mut call: Call<'a>) -> (Call<'a>, Result<Answer, Error>) {
        let block = std::mem::take(&mut call.block).freeze();
        let answer = self.call_at(&call.server, Service::Client, "Multi", &call.request, &[block]).await;
        (call, answer)
    }
}

/// One request, and the numbers of the items that are in it, in its order.
struct Call<'a> {
    server: Address,
    request: MultiRequest,
    block: BytesMut,
    items: Vec<usize>,
    last: Option<&'a Get>,
}

/// What came of a call: of each of its items, and of what was asked last.
struct Results {
    items: Vec<Result<(Vec<Cell>, bool), Error>>,
    last: Option<Result<Vec<Cell>, Error>>,
}

impl<'a> Call<'a> {
    fn new(server: &Address) -> Self {
        let (request, block) = (MultiRequest::default(), BytesMut::new());
        Self { server: server.clone(), request, block, items: Vec::new(), last: None }
    }

    fn add<I: Item>(&mut self, region: &Region, items: &[I], places: &[usize]) -> Result<(), Error> {
        let mut together = RegionAction { region: Some(specifier(region)), ..RegionAction::default() };
        for &place in places {
            let (mut action, condition) = items[place].action(&mut self.block)?;
            self.items.push(place);
            if condition.is_some() {
                // A condition holds for a region action, so each is one of its own.
                let region = together.region.clone();
                action.index = Some(0);
                self.request.regions.push(RegionAction {
                    region,
                    atomic: Some(true),
                    actions: vec![action],
                    condition,
                });
            } else {
                action.index = u32::try_from(together.actions.len()).ok();
                together.actions.push(action);
            }
        }
        if !together.actions.is_empty() {
            self.request.regions.push(together);
        }
        Ok(())
    }

    fn add_last(&mut self, region: &Region, get: &'a Get) {
        let action = Action { index: Some(0), get: Some(get.message()), ..Action::default() };
        let region = Some(specifier(region));
        self.request.regions.push(RegionAction { region, actions: vec![action], ..RegionAction::default() });
        self.last = Some(get);
    }

    fn results(&self, answer: Answer) -> Result<Results, Error> {
        answer.check_results(&self.request)?;
        let message: MultiResponse = answer.message()?;
        let mut cells = answer.cells;
        if message.regions.len() != self.request.regions.len() {
            return Err(Error::Protocol("an answer for other regions than were asked".to_owned()));
        }
        let mut all = Vec::with_capacity(self.items.len() + 1);
        for (asked, of_region) in self.request.regions.iter().zip(message.regions) {
            all.extend(of_region.into_results(asked, &mut cells)?);
        }
        let last = self.last.and_then(|_| all.pop()).map(|result| result.map(|(cells, _)| cells));
        Ok(Results { items: all, last })
    }

    fn all_failed(&self, error: Error) -> Results {
        // The error of each says whether it may be done; the last one has the whole.
        let mut items: Vec<_> = self.items.iter().map(|_| Err(error.again())).collect();
        if let Some(last) = items.last_mut() {
            *last = Err(error);
        }
        Results { items, last: None }
    }
}

impl RegionActionResult {
    /// Of each action that was asked for, in its order.
    #[expect(clippy::type_complexity, reason = "it is taken apart by its only caller")]
    fn into_results(
        self,
        asked: &RegionAction,
        cells: &mut Cells,
    ) -> Result<Vec<Result<(Vec<Cell>, bool), Error>>, Error> {
        let n = asked.actions.len();
        if let Some(exception) = self.exception {
            let remote = to_remote(exception);
            return Ok((0..n).map(|_| Err(Error::Remote(remote.clone()))).collect());
        }
        let is_processed = self.processed.unwrap_or(false);
        let mut results: Vec<Option<Result<(Vec<Cell>, bool), Error>>> = Vec::new();
        results.resize_with(n, || None);
        // A condition is answered by `processed` alone.
        if asked.condition.is_some() {
            results.iter_mut().for_each(|result| *result = Some(Ok((Vec::new(), is_processed))));
        }
        for one in self.results {
            let place = results.get_mut(one.index.unwrap_or(0) as usize);
            let place = place.ok_or_else(|| Error::Protocol("a result of no action".to_owned()))?;
            if let Some(exception) = one.exception {
                *place = Some(Err(Error::Remote(to_remote(exception))));
                continue;
            }
            let n_cells = one.result.and_then(|CellResult { associated_cell_count: n, .. }| n).unwrap_or(0);
            let n_cells = usize::try_from(n_cells).unwrap_or(0);
            let found = cells
                .take_n(n_cells)
                .map_err(|error| Error::Protocol(format!("cells that cannot be read: {error:?}")))?;
            *place = Some(Ok((found, is_processed)));
        }
        let missing = || Err(Error::Protocol("an answer without some results".to_owned()));
        Ok(results.into_iter().map(|result| result.unwrap_or_else(missing)).collect())
    }
}

fn to_remote(exception: NameBytesPair) -> RemoteError {
    let stack_trace = String::from_utf8_lossy(&exception.value.unwrap_or_default()).into_owned();
    RemoteError { class: exception.name, stack_trace, do_not_retry: false, moved_to: None }
}
