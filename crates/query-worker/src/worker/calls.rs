//! Store calls that requests share: searches, and insertions of new documents.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use engine::{Engine, StoreUri};
use index::{
    CallSizes, Capabilities, ErrorKind, Features, Index, Insertion, MAX_BATCH, NearDocuments, NewDocument,
    Rule,
};

use super::Permit;
use super::gather::{Gather, Joined};
use super::outage::Outage;
use crate::problem::Problem;

/// The most calls that are made again in halves for one call. A store that fails for all items is
/// not called for each.
const HALVED_MAX: usize = 64;

/// A search of the index.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) features: Features,
    /// The index's own rule, or a narrower one.
    pub(crate) rule: Rule,
    /// The most matches in the answer; all matches are counted.
    pub(crate) limit: usize,
}

/// A call made on this thread, or one to wait for.
pub(crate) type Called<R> = Joined<Result<R, Problem>>;

/// Requests that wait for a shared call. Each keeps its permit until its answer, even if its client
/// goes away.
pub(crate) struct Calls {
    outage: Arc<Outage>,
    searches: Arc<Gather<(Search, Permit), Result<NearDocuments, Problem>>>,
    insertions: Arc<Gather<(NewDocument, Permit), Result<Insertion, Problem>>>,
}

impl Calls {
    /// If the store is away, a request waits as long as `wait`.
    pub(crate) fn new(engine: &Arc<Engine>, store: &StoreUri, wait: Duration) -> Self {
        let outage = Arc::new(Outage::new(wait));
        let (in_searches, in_insertions) = (Arc::clone(&outage), Arc::clone(&outage));
        let n_cores = thread::available_parallelism().map_or(1, usize::from);
        let Capabilities { searches, insertions, .. } = store.capabilities();
        let n_calls_max = |sizes: CallSizes| sizes.n_calls_max.unwrap_or(n_cores);
        let (searched, inserted_into) = (Arc::clone(engine), Arc::clone(engine));
        Self {
            searches: Gather::new(n_calls_max(searches), searches.n_items_max, move |items| {
                let (searches, _permits): (Vec<_>, Vec<_>) = items.into_iter().unzip();
                in_searches.hear(search_all(searched.index(), &searches))
            }),
            insertions: Gather::new(n_calls_max(insertions), insertions.n_items_max, move |items| {
                let (documents, _permits): (Vec<_>, Vec<_>) = items.into_iter().unzip();
                in_insertions.hear(insert_all(inserted_into.index(), &documents))
            }),
            outage,
        }
    }

    /// Searches on this thread, or leaves the search to a thread that calls already.
    pub(crate) fn search(&self, search: Search, permit: Permit) -> Called<NearDocuments> {
        self.searches.join((search, permit))
    }

    /// Inserts as [`search`](Self::search) searches.
    pub(crate) fn insert_if_new(&self, document: NewDocument, permit: Permit) -> Called<Insertion> {
        self.insertions.join((document, permit))
    }

    /// Waits for the answer of a call.
    pub(crate) async fn answer<R>(&self, called: Called<R>) -> Result<R, Problem> {
        match called {
            Joined::Answered(answer) => answer.unwrap_or_else(|| Err(Problem::internal())),
            Joined::Waiting(answer) => self.outage.answer(answer).await,
        }
    }
}

/// Runs searches; returns one answer for each, in order. Searches with equal rule and limit share
/// calls of the store.
pub(crate) fn search_all(index: &Index, searches: &[Search]) -> Vec<Result<NearDocuments, Problem>> {
    let mut answers: Vec<_> = searches.iter().map(|_| Err(Problem::internal())).collect();
    let mut alike: HashMap<(Rule, usize), Vec<usize>> = HashMap::new();
    for (n, search) in searches.iter().enumerate() {
        alike.entry((search.rule, search.limit)).or_default().push(n);
    }
    for ((rule, limit), numbers) in alike {
        // A call holds its matches, and looks them up, together.
        for call in numbers.chunks(MAX_BATCH / limit.max(1)) {
            let find = |call: &[usize]| {
                let queries: Vec<_> = call.iter().map(|&n| searches[n].features.clone()).collect();
                index.near_documents(&queries, &rule, limit)
            };
            let found = Halving::of(&find).answers(call);
            call.iter().zip(found).for_each(|(&n, found)| answers[n] = found);
        }
    }
    answers
}

/// Inserts new documents one after another, in order; returns one answer for each.
pub(crate) fn insert_all(index: &Index, documents: &[NewDocument]) -> Vec<Result<Insertion, Problem>> {
    if documents.is_empty() {
        return Vec::new();
    }
    Halving::of(&|documents: &[NewDocument]| index.insert_if_new(documents)).answers(documents)
}

/// A shared call, made again in halves where the error may be due to one of its items, so that only
/// this item fails.
struct Halving<'a, T, R> {
    call: &'a dyn Fn(&[T]) -> index::Result<Vec<R>>,
    /// Calls that may yet be made again in halves.
    n_halved_max: usize,
    /// Problem of the store as a whole, after which no call is made.
    ended: Option<Problem>,
}

impl<'a, T, R> Halving<'a, T, R> {
    fn of(call: &'a dyn Fn(&[T]) -> index::Result<Vec<R>>) -> Self {
        Self { call, n_halved_max: HALVED_MAX, ended: None }
    }

    /// Calls for the items; returns one answer for each, in order.
    fn answers(&mut self, items: &[T]) -> Vec<Result<R, Problem>> {
        let all_failed = |problem: &Problem| items.iter().map(|_| Err(problem.clone())).collect();
        if let Some(problem) = &self.ended {
            return all_failed(problem);
        }
        let error = match (self.call)(items) {
            Ok(answers) => return answers.into_iter().map(Ok).collect(),
            Err(error) => error,
        };
        let may_be_of_one = may_be_of_one(error.kind());
        if may_be_of_one && items.len() > 1 && self.n_halved_max > 0 {
            self.n_halved_max -= 1;
            let (first, second) = items.split_at(items.len() / 2);
            let mut answers = self.answers(first);
            answers.extend(self.answers(second));
            return answers;
        }
        let problem = Problem::from(error);
        let answers = all_failed(&problem);
        self.ended = (!may_be_of_one).then_some(problem);
        answers
    }
}

/// Returns true if an error may be due to one item of a call. The others concern the store as a
/// whole, or pass.
fn may_be_of_one(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Corrupt | ErrorKind::Internal | ErrorKind::InvalidArgument | ErrorKind::Mismatch
    )
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use index::Error;

    use super::*;

    /// Regression: an error by one item was the answer to all items of its call.
    #[test]
    fn only_the_item_at_fault_fails() {
        let n_calls = Cell::new(0);
        let call = |items: &[u32]| {
            n_calls.update(|n| n + 1);
            if items.contains(&700) { Err(Error::corrupt("it is damaged")) } else { Ok(items.to_vec()) }
        };
        let items: Vec<u32> = (0..1000).collect();
        let answers: Vec<_> = Halving::of(&call).answers(&items).into_iter().map(Result::ok).collect();
        let expected: Vec<_> = items.iter().map(|&item| (item != 700).then_some(item)).collect();
        assert_eq!(answers, expected);
        assert!(n_calls.get() < 25, "{} calls", n_calls.get());
    }

    #[test]
    fn failures_of_all_items_make_few_calls() {
        use ErrorKind::{Corrupt, Disabled, Unavailable};
        for (kinds, n_calls_max) in [
            ([Corrupt, Corrupt], 2 * HALVED_MAX + 1),
            ([Corrupt, Unavailable], 2),
            ([Corrupt, Disabled], 2),
            ([Unavailable, Unavailable], 1),
        ] {
            let n_calls = Cell::new(0);
            let call = |_: &[u32]| -> index::Result<Vec<u32>> {
                let kind = kinds[n_calls.get().min(1)];
                n_calls.update(|n| n + 1);
                Err(Error::new(kind, "it fails"))
            };
            let answers = Halving::of(&call).answers(&[7; 1000]);
            assert!(answers.len() == 1000 && answers.iter().all(Result::is_err));
            assert!(n_calls.get() <= n_calls_max, "{} calls for {kinds:?}", n_calls.get());
        }
    }
}
