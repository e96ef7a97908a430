//! `Multi`: gets and changes of many rows, region after region.

use bytes::{Bytes, BytesMut};
use prost::Message;

use super::faults::FaultKind;
use super::state::{Place, Region, State};
use super::table::View;
use super::{Failure, Reply, meta};
use crate::messages::{
    Action, BinaryComparator, CellResult, Column, Condition, Get, MultiRequest, MultiResponse, Mutation,
    NameBytesPair, RegionAction, RegionActionResult, ResultOrException, TIME_TO_LIVE,
};
use crate::{Cell, Cells};

/// Executes a `Multi`.
///
/// # Errors
/// The failure of the request as a whole; failures of a region or an action are in the reply.
pub(super) fn multi(
    state: &mut State,
    server: usize,
    request: &MultiRequest,
    block: Bytes,
    fault: Option<&FaultKind>,
) -> Result<Reply, Failure> {
    let mut call =
        Call { state, server, sent: Cells::new(block), found: BytesMut::new(), n_actions: 0, fault };
    let mut answer = MultiResponse::default();
    for (place, region) in request.regions.iter().enumerate() {
        answer.regions.push(call.region(place, region)?);
    }
    let block = call.found.freeze();
    Ok(Reply::new(&answer, block))
}

/// Returns the name of the strongest work in a `Multi`.
pub(super) fn name(mut request: Bytes) -> Option<&'static str> {
    let len = prost::decode_length_delimiter(&mut request).ok()?;
    let request = MultiRequest::decode(request.get(..len)?).ok()?;
    let has_mutation = |region: &RegionAction| region.actions.iter().any(|action| action.mutation.is_some());
    Some(if request.regions.iter().any(|region| region.condition.is_some()) {
        "CheckAndMutate"
    } else if request.regions.iter().any(has_mutation) {
        "Mutate"
    } else {
        "Get"
    })
}

/// A call under way.
struct Call<'a> {
    state: &'a mut State,
    server: usize,
    /// The cells of the request that are not used up yet.
    sent: Cells,
    /// The cells of the answer.
    found: BytesMut,
    n_actions: usize,
    fault: Option<&'a FaultKind>,
}

impl Call<'_> {
    fn region(&mut self, number: usize, asked: &RegionAction) -> Result<RegionActionResult, Failure> {
        // Taken from the block in any case: the cells of the next region follow.
        let mut changes = Vec::new();
        for action in &asked.actions {
            let n = action.mutation.as_ref().and_then(|mutation| mutation.associated_cell_count).unwrap_or(0);
            let cells = self.sent.take_n(usize::try_from(n).unwrap_or(0));
            changes.push(cells.map_err(|_| Failure::last("DoNotRetryIOException", "cells are missing"))?);
        }
        let name = asked.region.as_ref().map(|region| region.value.clone()).unwrap_or_default();
        let first_action = self.n_actions;
        self.n_actions += asked.actions.len();
        let place = match self.fault {
            Some(FaultKind::Region(wanted, class)) if *wanted == number => {
                Err(Failure::new(class, "as told"))
            }
            _ => self.state.place(&name, self.server),
        };
        let outcome = place.and_then(|place| match &asked.condition {
            None => Ok(self.actions(&place, asked, changes, first_action)),
            Some(condition) => self.checked(&place, condition, asked, changes, first_action),
        });
        Ok(outcome.unwrap_or_else(|failure| RegionActionResult {
            exception: Some(failure.pair()),
            ..RegionActionResult::default()
        }))
    }

    /// Executes each action by itself.
    fn actions(
        &mut self,
        place: &Place,
        asked: &RegionAction,
        changes: Vec<Vec<Cell>>,
        first: usize,
    ) -> RegionActionResult {
        let mut result = RegionActionResult::default();
        for (number, (action, cells)) in asked.actions.iter().zip(changes).enumerate() {
            let outcome = self.told(first + number).and_then(|()| {
                let now = self.state.now();
                self.action(place, action, cells, now)
            });
            let (found, exception) = match outcome {
                Ok(found) => (Some(found), None),
                Err(failure) => (None, Some(failure.pair())),
            };
            result.results.push(ResultOrException { index: action.index, result: found, exception });
        }
        result
    }

    /// Executes all actions if the condition holds, or none.
    fn checked(
        &mut self,
        place: &Place,
        condition: &Condition,
        asked: &RegionAction,
        changes: Vec<Vec<Cell>>,
        first: usize,
    ) -> Result<RegionActionResult, Failure> {
        (first..first + asked.actions.len()).try_for_each(|number| self.told(number))?;
        let holds = self.holds(place, condition)?;
        if let Some(now) = holds {
            for (action, cells) in asked.actions.iter().zip(changes) {
                self.action(place, action, cells, now)?;
            }
        }
        Ok(RegionActionResult { processed: Some(holds.is_some()), ..RegionActionResult::default() })
    }

    /// Returns the time of the change if the condition holds.
    fn holds(&self, place: &Place, condition: &Condition) -> Result<Option<i64>, Failure> {
        let torn = || Failure::last("DoNotRetryIOException", "a condition that cannot be read");
        let (Some(row), Some(family), Some(qualifier)) =
            (&condition.row, &condition.family, &condition.qualifier)
        else {
            return Err(torn());
        };
        let comparator = condition.comparator.as_ref().and_then(|comparator| comparator.serialized.clone());
        let comparator = BinaryComparator::decode(comparator.unwrap_or_default()).map_err(|_| torn())?;
        let expected = comparator.comparable.value.unwrap_or_default();
        let region = region_of(place, row)?;
        self.state.check_family(&region.table, family)?;
        let (table, column) = (&self.state.tables[&region.table], (family.clone(), qualifier.clone()));
        Ok(table.time_of_change(row, column, &expected, self.state.now()))
    }

    /// Fails if a test has a fault for the action of this number.
    fn told(&self, number: usize) -> Result<(), Failure> {
        match self.fault {
            Some(FaultKind::Action(wanted, class)) if *wanted == number => {
                Err(Failure::new(class, "as told"))
            }
            Some(FaultKind::ExceptionAfterActions(n, class)) if *n <= number => {
                Err(Failure::new(class, "as told"))
            }
            _ => Ok(()),
        }
    }

    fn action(
        &mut self,
        place: &Place,
        action: &Action,
        cells: Vec<Cell>,
        now: i64,
    ) -> Result<CellResult, Failure> {
        if let Some(get) = &action.get {
            let found = self.get(place, get)?;
            for cell in &found {
                cell.encode(&mut self.found).map_err(|_| Failure::new("java.io.IOException", "too long"))?;
            }
            let associated_cell_count = i32::try_from(found.len()).ok();
            return Ok(CellResult { associated_cell_count, ..CellResult::default() });
        }
        if let Some(mutation) = &action.mutation {
            self.change(place, mutation, cells, now)?;
        }
        Ok(CellResult::default())
    }

    fn get(&self, place: &Place, get: &Get) -> Result<Vec<Cell>, Failure> {
        match place {
            Place::Meta => {
                let row = meta::rows(self.state).into_iter().find(|(key, _)| *key == get.row);
                let mut cells = row.map(|(_, cells)| cells).unwrap_or_default();
                let families: Vec<_> = get.columns.iter().map(|column| &column.family).collect();
                cells.retain(|cell| families.is_empty() || families.contains(&&cell.family));
                Ok(cells)
            }
            Place::Region(_) => {
                let region = region_of(place, &get.row)?;
                let check = |column: &Column| self.state.check_family(&region.table, &column.family);
                get.columns.iter().try_for_each(check)?;
                let view = View { columns: &columns(&get.columns), ..View::at(self.state.now()) };
                Ok(self.state.tables[&region.table].visible(&get.row, &view))
            }
        }
    }

    fn change(
        &mut self,
        place: &Place,
        mutation: &Mutation,
        cells: Vec<Cell>,
        now: i64,
    ) -> Result<(), Failure> {
        for cell in &cells {
            self.state.check_family(&region_of(place, &cell.row)?.table, &cell.family)?;
        }
        let life = mutation.attributes.iter().find(|pair| pair.name == TIME_TO_LIVE);
        let life = life.and_then(|pair| pair.value.as_deref()?.try_into().ok()).map(i64::from_be_bytes);
        let Some(first) = cells.first() else { return Ok(()) };
        let name = &region_of(place, &first.row)?.table;
        let table = self.state.tables.get_mut(name);
        let table = table.ok_or_else(|| Failure::new("NotServingRegionException", "no such table"))?;
        table.apply(cells, life, now);
        Ok(())
    }
}

/// Returns the region of a place, which has to have the row.
fn region_of<'a>(place: &'a Place, row: &[u8]) -> Result<&'a Region, Failure> {
    match place {
        Place::Region(region) if region.has(row) => Ok(region),
        Place::Region(_) => Err(Failure::new("regionserver.WrongRegionException", "the row is elsewhere")),
        Place::Meta => Err(Failure::last("DoNotRetryIOException", "hbase:meta is made by the cluster")),
    }
}

/// Returns the columns of a request, as tables take them.
pub(super) fn columns(asked: &[Column]) -> Vec<(Bytes, Vec<Bytes>)> {
    asked.iter().map(|column| (column.family.clone(), column.qualifiers.clone())).collect()
}

impl Failure {
    fn pair(&self) -> NameBytesPair {
        NameBytesPair { name: self.class.clone(), value: Some(self.stack_trace().into_bytes().into()) }
    }
}
