//! Store calls that requests share: searches, and insertions of new documents.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use engine::{Engine, StoreUri};
use index::{
    CallSizes, Capabilities, Features, Index, Insertion, MAX_BATCH, NearDocuments, NewDocument, Rule,
};

use super::Permit;
use super::gather::{Gather, Joined};
use super::outage::Outage;
use crate::problem::Problem;

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
            let queries: Vec<_> = call.iter().map(|&n| searches[n].features.clone()).collect();
            match index.near_documents(&queries, &rule, limit) {
                Ok(found) => call.iter().zip(found).for_each(|(&n, found)| answers[n] = Ok(found)),
                Err(error) => {
                    let problem = Problem::from(error);
                    call.iter().for_each(|&n| answers[n] = Err(problem.clone()));
                }
            }
        }
    }
    answers
}

/// Inserts new documents one after another, in order; returns one answer for each.
pub(crate) fn insert_all(index: &Index, documents: &[NewDocument]) -> Vec<Result<Insertion, Problem>> {
    if documents.is_empty() {
        return Vec::new();
    }
    match index.insert_if_new(documents) {
        Ok(insertions) => insertions.into_iter().map(Ok).collect(),
        Err(error) => {
            let problem = Problem::from(error);
            documents.iter().map(|_| Err(problem.clone())).collect()
        }
    }
}
