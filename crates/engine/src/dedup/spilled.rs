//! Deduplication of more documents than memory holds, with the verdicts of an index in memory.
//!
//! First all documents are taken: their features and texts go to records in files, and each bucket
//! of a document becomes a word of its key and the document's number. The words are sorted, and the
//! documents of one bucket stand side by side ([`proposals`]); so do those of one id ([`ids`]).
//! Then the documents are decided in their turns, each against the kept ones among those that its
//! buckets propose, by the same rule as in memory. A thread reads these ahead ([`scout`]). Turns
//! are the order in which documents were taken, unless they have ranks.
//!
//! Memory: two bits for each document, 8 bytes if they have ranks, some bytes for each block of
//! records, the shares of the sorters and of what was read recently, and what [`proposals`] and
//! [`ids`] say of crowds.

mod deciding;
mod documents;
mod ids;
mod proposals;
mod scout;
mod store;
mod turns;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use features::Recipe;
use index::backend::search::Bounded;
use index::{DocumentId, Error, ErrorKind, Features, Metadata, Result};
use runs::StringSorter;

pub use self::deciding::Decided;
use self::deciding::Deciding;
use self::documents::Documents;
use self::ids::Ids;
use self::proposals::Keys;
pub(crate) use self::store::SpilledStore;
use self::turns::Order;

/// A document that was taken.
struct Taken {
    id: DocumentId,
    /// `None` if its text has none.
    features: Option<Features>,
}

/// The documents of a run in files, and the proposals for each. An engine that is opened
/// [with them](crate::Options::spilled) is the index over them.
pub struct Spilled {
    folder: PathBuf,
    n_bytes_max: usize,
    state: Mutex<State>,
}

struct State {
    metadata: Option<Metadata>,
    /// Shared once all are taken.
    documents: Arc<Documents>,
    phase: Phase,
    bounded: Bounded,
}

enum Phase {
    Taking(Box<Taking>),
    Deciding(Box<Deciding>),
    Failed,
}

struct Taking {
    keys: Keys,
    ids: Ids,
    ranks: Option<StringSorter>,
}

impl fmt::Debug for Spilled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spilled({})", self.folder.display())
    }
}

impl Spilled {
    /// Makes files without documents in a folder. Sorting takes at most `n_bytes_max` of memory. If
    /// `has_ranks`, each document comes with a rank, by which its turn is found.
    ///
    /// # Errors
    /// Where no file can be made there.
    pub fn create(folder: &Path, n_bytes_max: usize, has_ranks: bool) -> io::Result<Arc<Self>> {
        let ranks = has_ranks.then(|| StringSorter::new(folder, n_bytes_max / 4));
        let taking = Taking { keys: Keys::new(folder), ids: Ids::new(folder), ranks };
        let state = State {
            metadata: None,
            documents: Arc::new(Documents::create(folder, n_bytes_max / 4)?),
            phase: Phase::Taking(Box::new(taking)),
            bounded: Bounded::default(),
        };
        Ok(Arc::new(Self { folder: folder.to_owned(), n_bytes_max, state: Mutex::new(state) }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, error: io::Error) -> Error {
        let folder = self.folder.display();
        let (kind, advice) = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                (ErrorKind::StorageFull, "; name a folder with room")
            }
            _ => (ErrorKind::Internal, ""),
        };
        let message = format!("failed to keep the documents of this run in {folder}{advice}");
        Error::new(kind, message).caused_by(error)
    }

    /// Takes the next document of the run. `rank` counts where documents have ranks: lesser ones
    /// have their turns first, equal ones in the order in which they are taken.
    ///
    /// # Errors
    /// `NotFound` before the index is opened, a failed write, and `Internal` once the taking has
    /// ended.
    pub fn take(
        &self,
        id: &DocumentId,
        features: Option<&Features>,
        n_text_bytes: u64,
        rank: u64,
    ) -> Result<()> {
        let mut state = self.state();
        let State { metadata, documents, phase, .. } = &mut *state;
        let metadata =
            metadata.as_ref().ok_or_else(|| Error::new(ErrorKind::NotFound, "no index is open"))?;
        let (Phase::Taking(taking), Some(documents)) = (phase, Arc::get_mut(documents)) else {
            return Err(out_of_order());
        };
        let Taking { keys, ids, ranks } = &mut **taking;
        let mut push = || {
            let number = documents.push(id, features, n_text_bytes)?;
            if let Some(ranks) = ranks {
                let [rank, number] = [&rank.to_be_bytes()[..], &number.to_be_bytes()];
                ranks.push(&[rank, number].concat())?;
            }
            ids.push(number, id.as_str())?;
            features.map_or(Ok(()), |features| {
                let (simhash, signature) = (features.simhash, features.signature.clone());
                keys.push(number, &metadata.kind.sketch(Features { simhash, signature, text: None }))
            })
        };
        push().map_err(|error| self.failed(error))
    }

    /// The bytes of all files so far.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        let state = self.state();
        let words = match &state.phase {
            Phase::Taking(taking) => taking.keys.n_bytes() + taking.ids.n_bytes(),
            Phase::Deciding(_) | Phase::Failed => 0,
        };
        state.documents.n_bytes() + words
    }

    /// Ends the taking, and finds the proposals for each document. What is read recently takes at
    /// most `n_cached_bytes` from now on. Hands the share of the work done to `progress` now and
    /// then.
    ///
    /// # Errors
    /// A failed read or write, and `Internal` at a second call.
    pub fn propose(&self, n_cached_bytes: usize, progress: &mut dyn FnMut(f64)) -> Result<()> {
        let mut state = self.state();
        let Phase::Taking(taking) = std::mem::replace(&mut state.phase, Phase::Failed) else {
            return Err(out_of_order());
        };
        let Taking { keys, ids, ranks } = *taking;
        let n_documents = state.documents.len();
        let form = state.metadata.as_ref().and_then(|metadata| Recipe::from_fields(&metadata.recipe).ok());
        let form = form.map(|recipe| recipe.normal_form()).unwrap_or_default();
        let propose = || {
            let share = self.n_bytes_max / 2;
            let order = ranks.map(|ranks| Order::of(ranks, n_documents)).transpose()?.map(Arc::new);
            let ids = ids.of_turns(&self.folder, n_documents, order.as_deref(), share)?;
            let n_bytes_max = share - share / 4;
            let proposals =
                keys.propose(&self.folder, n_documents, order.as_deref(), n_bytes_max, progress)?;
            io::Result::Ok((ids, order, proposals))
        };
        let (ids, order, proposals) = propose().map_err(|error| self.failed(error))?;
        if let Some(documents) = Arc::get_mut(&mut state.documents) {
            documents.set_cache(n_cached_bytes);
        }
        let deciding = Deciding { proposals, ids, order, readings: Default::default(), form, n_kept: 0 };
        state.phase = Phase::Deciding(Box::new(deciding));
        Ok(())
    }

    /// The number of documents.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.state().documents.len()
    }

    /// Returns true if no document was taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A document by its number.
    #[cfg(test)]
    fn taken(&self, number: u32) -> Option<Taken> {
        let state = self.state();
        let mut taken = state.documents.record(None, number, |record| record.taken()).ok()?;
        if let Some(features) = &mut taken.features {
            features.text = state.documents.text_of(None, number).ok()?;
        }
        Some(taken)
    }
}

fn out_of_order() -> Error {
    Error::new(ErrorKind::Internal, "the documents of a spilled run are taken first, and decided then")
}

#[cfg(test)]
mod tests;
