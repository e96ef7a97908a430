//! Keeps the tier of an open store: a thread reads it from its file, fills it, and brings it up to
//! date.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use index::{Clock, Metadata};

use super::filling::{Filled, Filler};
use super::{Tier, TierOptions, file};
use crate::rows::Rows;

/// The time between two fillings. What came since is read from HBase by each search, so the less the
/// better; a filling reads what came in its time and the leeway before.
const REFRESH: Duration = Duration::from_secs(10 * 60);

/// The time until the next try after one that failed.
const AGAIN: Duration = Duration::from_secs(60);

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

    /// Returns the tier, as soon as there is one, and has it filled where it was not yet.
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
            }
        }
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
        let TierOptions { file, .. } = &self.options;
        if let Some(path) = file {
            match file::load(self.metadata.identity, path) {
                Ok(None) => {}
                Ok(Some(tier)) if tier.n_bytes() <= self.options.n_bytes_max => self.give(tier),
                Ok(Some(_)) => {}
                Err(error) => {
                    let path = path.display();
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        %path,
                        "the tier is filled anew"
                    );
                }
            }
        }
        loop {
            let next = match self.fill() {
                Ok(Some(next)) => next,
                Ok(None) => return,
                Err(error) => {
                    let next = if error.kind().is_transient() { AGAIN } else { REFRESH };
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "failed to fill the tier; another try follows in {} minutes",
                        next.as_secs() / 60
                    );
                    next
                }
            };
            let mut state = self.shared.lock();
            state.n_fillings += 1;
            self.shared.changed.notify_all();
            let waits = |state: &mut State| !state.is_ended && !state.is_asked;
            let waited = self.shared.changed.wait_timeout_while(state, next, waits);
            let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if state.is_ended {
                return;
            }
            state.is_asked = false;
        }
    }

    /// Fills the tier. Returns the time until the next filling, `None` where none follows.
    fn fill(&self) -> index::Result<Option<Duration>> {
        let before = self.shared.lock().tier.clone();
        let filler = Filler {
            rows: &*self.rows,
            kind: &self.metadata.kind,
            clock: &self.clock,
            n_bytes_max: self.options.n_bytes_max,
            is_stopped: &|| self.shared.lock().is_ended,
        };
        match filler.fill(before.as_deref())? {
            Filled::Stopped => return Ok(None),
            Filled::Loading => return Ok(Some(AGAIN)),
            Filled::TooLarge => {
                let n_megabytes = self.options.n_bytes_max / 1_000_000;
                tracing::warn!(
                    "the tier takes more than tier-mb={n_megabytes}, so HBase's older files are read; give \
                     it more, some 13 bytes for each simhash and 2 for each band of a document"
                );
                self.shared.lock().tier = None;
                return Ok(Some(SMALLER));
            }
            Filled::Whole(tier) => {
                tracing::info!(bytes = tier.n_bytes(), "the tier is filled");
                if let Some(path) = &self.options.file
                    && let Err(error) = file::save(&tier, self.metadata.identity, path)
                {
                    tracing::warn!(error = &error as &dyn std::error::Error, "the tier is not saved");
                }
                self.give(*tier);
            }
        }
        Ok(Some(REFRESH))
    }

    fn give(&self, tier: Tier) {
        self.shared.lock().tier = Some(Arc::new(tier));
    }
}
