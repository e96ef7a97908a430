//! One request to one server, and the results of its items.

use bytes::BytesMut;

use super::item::{Get, Item};
use crate::messages::{
    Action, CellResult, MultiRequest, MultiResponse, NameBytesPair, RegionAction, RegionActionResult,
};
use crate::regions::{Address, Region, specifier};
use crate::{Answer, Cell, Cells, Error, RemoteError};

/// One request, and the numbers of its items in the order of the request.
pub(super) struct Call<'a> {
    pub(super) server: Address,
    pub(super) request: MultiRequest,
    pub(super) block: BytesMut,
    pub(super) items: Vec<usize>,
    pub(super) last: Option<&'a Get>,
}

/// The results of a call: one of each item, and one of `last`.
pub(super) struct Results {
    pub(super) items: Vec<Result<(Vec<Cell>, bool), Error>>,
    pub(super) last: Option<Result<Vec<Cell>, Error>>,
}

impl<'a> Call<'a> {
    pub(super) fn new(server: &Address) -> Self {
        let (request, block) = (MultiRequest::default(), BytesMut::new());
        Self { server: server.clone(), request, block, items: Vec::new(), last: None }
    }

    pub(super) fn add<I: Item>(
        &mut self,
        region: &Region,
        items: &[I],
        places: &[usize],
    ) -> Result<(), Error> {
        let mut together = RegionAction { region: Some(specifier(region)), ..RegionAction::default() };
        for &place in places {
            let (mut action, condition) = items[place].action(&mut self.block)?;
            self.items.push(place);
            if condition.is_some() {
                // A condition holds for a whole region action, so each item with one has its own.
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

    pub(super) fn add_last(&mut self, region: &Region, get: &'a Get) {
        let action = Action { index: Some(0), get: Some(get.message()), ..Action::default() };
        let region = Some(specifier(region));
        self.request.regions.push(RegionAction { region, actions: vec![action], ..RegionAction::default() });
        self.last = Some(get);
    }

    pub(super) fn results(&self, answer: Answer) -> Result<Results, Error> {
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

    pub(super) fn all_failed(&self, error: Error) -> Results {
        // Each item needs the error for `may_be_done`; the last item gets the original.
        let mut items: Vec<_> = self.items.iter().map(|_| Err(error.again())).collect();
        if let Some(last) = items.last_mut() {
            *last = Err(error);
        }
        Results { items, last: None }
    }
}

impl RegionActionResult {
    /// Returns a result for each action of `asked`, in its order.
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
