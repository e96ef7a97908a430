//! Keeps the tier of an open store: a thread reads it from its file, fills it, and brings it up to
//! date.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use index::{Clock, Metadata};

use super::filling::{Filled, Filler};
use super::{Tier, TierOptions, file};
use crate::older;
use crate::rows::Rows;

/// The time between two fillings. Each search reads from HBase what came since, so the less the
/// better; a filling reads what came in its time and the leeway before.
const REFRESH: Duration = Duration::from_secs(5 * 60);

/// The time between two writes of the file: a later start reads what came since from HBase.
const SAVED: Duration = Duration::from_secs(30 * 60);

/// The time until the next try after one that failed.
const AGAIN: Duration = Duration::from_secs(60);

/// The longest wait of a call for the file: HBase's older files are read meanwhile.
const FILE_WAIT: Duration = Duration::from_secs(10);

/// The time until the next try after an error that has to be mended.
const MENDED: Duration = Duration::from_secs(30 * 60);

/// The time until a tier that was too large is tried again: documents may have expired.
const SMALLER: Duration = Duration::from_secs(24 * 60 * 60);

/// Keeps a tier. Its thread begins with the first call that could use one, and ends with the
/// keeper, at its next page.
pub(crate) struct Keeper {
    options: TierOptions,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    tier: Option<Arc<Tier>>,
    has_begun: bool,
    /// True once the file was read, or could not be, or a call has waited long for it.
    has_read_file: bool,
    is_ended: bool,
    /// True if the tier is to be filled before its time.
    is_asked: bool,
    /// The number of fillings that have ended, well or not.
    n_fillings: u64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeper {
    pub(crate) fn new(options: TierOptions) -> Self {
        Self { options, shared: Arc::default() }
    }

    /// Returns the tier, as soon as there is one, and has it filled where it was not yet. Waits for
    /// a tier in a file, for [`FILE_WAIT`] at most, and not for one that is filled.
    pub(crate) fn tier(&self, rows: &Arc<dyn Rows>, metadata: &Metadata, clock: &Clock) -> Option<Arc<Tier>> {
        let mut state = self.shared.lock();
        if !std::mem::replace(&mut state.has_begun, true) {
            let work = Work {
                rows: Arc::clone(rows),
                metadata: metadata.clone(),
                clock: clock.clone(),
                options: self.options.clone(),
                shared: Arc::clone(&self.shared),
            };
            if let Err(error) = thread::Builder::new().name("tier".to_owned()).spawn(move || work.run()) {
                tracing::warn!(%error, "the system gives no thread to fill the tier, so HBase's older files are read");
                state.has_read_file = true;
            }
        }
        let waits = |state: &mut State| !state.has_read_file;
        let waited = self.shared.changed.wait_timeout_while(state, FILE_WAIT, waits);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.has_read_file = true;
        state.tier.clone()
    }

    /// Has the tier filled anew: a note has ended it.
    pub(crate) fn ask(&self) {
        self.shared.lock().is_asked = true;
        self.shared.changed.notify_all();
    }

    /// Waits until so many fillings have ended, well or not.
    #[cfg(test)]
    pub(crate) fn wait_for(&self, n_fillings: u64) {
        let (limit, state) = (Duration::from_secs(120), self.shared.lock());
        let is_early = |state: &mut State| state.n_fillings < n_fillings;
        let (_state, waited) = self.shared.changed.wait_timeout_while(state, limit, is_early).unwrap();
        assert!(!waited.timed_out(), "the tier is not filled");
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.shared.lock().is_ended = true;
        self.shared.changed.notify_all();
    }
}

/// Ends the wait of calls for the file when it is dropped.
struct FileRead<'s>(&'s Shared);

impl Drop for FileRead<'_> {
    fn drop(&mut self) {
        self.0.lock().has_read_file = true;
        self.0.changed.notify_all();
    }
}

/// The last write of the file.
struct Saved {
    at: Instant,
    note: Option<Vec<u8>>,
}

/// The work of the thread.
struct Work {
    rows: Arc<dyn Rows>,
    metadata: Metadata,
    clock: Clock,
    options: TierOptions,
    shared: Arc<Shared>,
}

impl Work {
    fn run(&self) {
        self.read_file();
        let mut saved = None;
        loop {
            let begun = Instant::now();
            // After an error calls ask again and again, and have to wait.
            let (next, heeds_asks) = match self.fill(&mut saved) {
                Ok(Some(next)) => (next, true),
                Ok(None) => return,
                Err(error) => {
                    let next = if error.kind().is_transient() { AGAIN } else { MENDED };
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "failed to fill the tier; another try follows in {} minutes",
                        next.as_secs() / 60
                    );
                    (next, false)
                }
            };
            let mut state = self.shared.lock();
            state.n_fillings += 1;
            self.shared.changed.notify_all();
            // A walk through all documents is a load on HBase, which may slow insertions down, so
            // that notes come: the thread rests for as long as it took.
            let rest = begun.elapsed().min(next);
            let state = self.wait(state, rest, |state| !state.is_ended);
            let mut state =
                self.wait(state, next - rest, |state| !(state.is_ended || state.is_asked && heeds_asks));
            if state.is_ended {
                return;
            }
            state.is_asked = false;
        }
    }

    /// Waits for at most `limit`, as long as `waits` is true.
    fn wait<'s>(
        &'s self,
        state: MutexGuard<'s, State>,
        limit: Duration,
        waits: impl FnMut(&mut State) -> bool,
    ) -> MutexGuard<'s, State> {
        let waited = self.shared.changed.wait_timeout_while(state, limit, waits);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn read_file(&self) {
        // However the read ends, calls go on.
        let _read = FileRead(&self.shared);
        let Some(path) = &self.options.file else { return };
        match file::load(self.metadata.identity, path, self.options.n_bytes_max) {
            Ok(Some(tier)) if tier.n_bytes() <= self.options.n_bytes_max => self.give(Some(tier)),
            Ok(_) => {}
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                path = %path.display(),
                "the tier is filled anew"
            ),
        }
    }

    /// Fills the tier. Returns the time until the next filling, `None` where none follows.
    fn fill(&self, saved: &mut Option<Saved>) -> index::Result<Option<Duration>> {
        let mut before = self.shared.lock().tier.clone();
        let notes = older::notes(&*self.rows)?;
        if before.as_ref().is_some_and(|before| before.note != notes.last) {
            tracing::info!("a slow insertion or a load has ended the tier; it is filled anew");
            // Two tiers are twice the memory.
            self.give(None);
            before = None;
        }
        let filler = Filler {
            rows: &*self.rows,
            kind: &self.metadata.kind,
            clock: &self.clock,
            n_bytes_max: self.options.n_bytes_max,
            is_stopped: &|| self.shared.lock().is_ended,
            pause: &|error| {
                tracing::warn!(
                    error = error as &dyn std::error::Error,
                    "the tier is still to be filled; this goes on in {} s",
                    AGAIN.as_secs()
                );
                drop(self.wait(self.shared.lock(), AGAIN, |state| !state.is_ended));
            },
        };
        let filled = match filler.fill(before.as_deref())? {
            Filled::TooLarge { goes_on: true } => filler.fill(None)?,
            filled => filled,
        };
        match filled {
            Filled::Stopped => return Ok(None),
            Filled::Loading => return Ok(Some(AGAIN)),
            Filled::TooLarge { .. } => {
                let n_megabytes = self.options.n_bytes_max / 1_000_000;
                tracing::warn!(
                    "the tier takes more than tier-mb={n_megabytes}, so HBase's older files are read; give \
                     it more, some 16 bytes for each simhash and 4 for each band of a document"
                );
                self.give(None);
                return Ok(Some(SMALLER));
            }
            Filled::Whole(tier) => {
                tracing::info!(bytes = tier.n_bytes(), "the tier is filled");
                self.give(Some(Tier::clone(&tier)));
                self.save(&tier, saved);
            }
        }
        Ok(Some(REFRESH))
    }

    /// Writes the file, unless it was written a short time ago and its note is still the last one.
    fn save(&self, tier: &Tier, saved: &mut Option<Saved>) {
        let Some(path) = &self.options.file else { return };
        let is_fresh = |saved: &Saved| saved.at.elapsed() < SAVED && saved.note == tier.note;
        if saved.as_ref().is_some_and(is_fresh) {
            return;
        }
        match file::save(tier, self.metadata.identity, path) {
            Ok(()) => *saved = Some(Saved { at: Instant::now(), note: tier.note.clone() }),
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the tier is not saved");
            }
        }
    }

    /// Hands a tier to the calls that follow, or none. Asks for it are answered.
    fn give(&self, tier: Option<Tier>) {
        let mut state = self.shared.lock();
        state.tier = tier.map(Arc::new);
        state.is_asked = false;
    }
}
