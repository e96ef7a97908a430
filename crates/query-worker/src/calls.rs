//! The calls of the store that requests make together: searches, and insertions of what is new.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use index::{Index, Insertion, MAX_BATCH, NearDocuments, NewDocument, StoreUri};
use simhash::Fingerprint;

use crate::api::Problem;
use crate::gather::Gather;
use crate::server::Permit;

/// What to search for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    pub(crate) fingerprint: Fingerprint,
    /// At most the index's own.
    pub(crate) max_distance: u32,
    /// Matches to answer with; they are all counted.
    pub(crate) limit: usize,
}

/// The requests that wait for such calls. Each keeps its permit until it is answered, also where the client goes away.
pub(crate) struct Calls {
    searches: Arc<Gather<(Search, Permit), Result<NearDocuments, Problem>>>,
    insertions: Arc<Gather<(NewDocument, Permit), Result<Insertion, Problem>>>,
}

impl Calls {
    pub(crate) fn new(index: &Arc<Index>, store: &StoreUri) -> Self {
        let n_cores = thread::available_parallelism().map_or(1, usize::from);
        // (calls at once, items a call), of searches and of insertions. Who is in one call waits for all that is in it, so where
        // nothing is saved by asking for more at once, less is.
        let [searches, insertions] = match store {
            // A search needs a core. There is one writer at a time, who waits for the disk.
            StoreUri::Memory | StoreUri::Embedded(_) => [(n_cores, 16), (1, 256)],
            // One thread at the other end, and scripts of 128 documents.
            StoreUri::Redis(_) => [(4, 64), (4, 128)],
            // A search is two round trips for up to 64, the documents included. An insertion may wait for another process, so not many wait with it.
            StoreUri::Hbase(_) => [(4, 64), (16, 64)],
        };
        let (searched, inserted_into) = (Arc::clone(index), Arc::clone(index));
        Self {
            searches: Gather::new(searches.0, searches.1, move |items| {
                let (searches, _permits): (Vec<_>, Vec<_>) = items.into_iter().unzip();
                search_all(&searched, &searches)
            }),
            insertions: Gather::new(insertions.0, insertions.1, move |items| {
                let (documents, _permits): (Vec<_>, Vec<_>) = items.into_iter().unzip();
                insert_all(&inserted_into, &documents)
            }),
        }
    }

    pub(crate) async fn search(&self, search: Search, permit: Permit) -> Result<NearDocuments, Problem> {
        self.searches.join((search, permit)).await.unwrap_or_else(|_| Err(Problem::internal()))
    }

    pub(crate) async fn insert_if_new(
        &self,
        document: NewDocument,
        permit: Permit,
    ) -> Result<Insertion, Problem> {
        self.insertions.join((document, permit)).await.unwrap_or_else(|_| Err(Problem::internal()))
    }
}

/// Searches, an answer for each, in their order. Those that ask for as much go to the store together.
pub(crate) fn search_all(index: &Index, searches: &[Search]) -> Vec<Result<NearDocuments, Problem>> {
    let mut answers: Vec<_> = searches.iter().map(|_| Err(Problem::internal())).collect();
    let mut alike: BTreeMap<(u32, usize), Vec<usize>> = BTreeMap::new();
    for (n, search) in searches.iter().enumerate() {
        alike.entry((search.max_distance, search.limit)).or_default().push(n);
    }
    for ((max_distance, limit), numbers) in alike {
        // The matches of one call are held, and looked up, together.
        for call in numbers.chunks(MAX_BATCH / limit.max(1)) {
            let queries: Vec<_> = call.iter().map(|&n| searches[n].fingerprint).collect();
            match index.near_documents(&queries, max_distance, limit) {
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

/// Inserts what is new, one after another in their order; an answer for each.
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
