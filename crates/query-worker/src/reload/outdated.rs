//! Outdated file sets, for the metrics and the readiness check: the files cannot be read or are
//! refused, so earlier contents stay in force.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// All reloaded file sets: the label in the metrics, and the name for people.
const WATCHED: [(&str, &str); 2] = [("certificates", "the certificate"), ("keys", "the keys")];

/// For each outdated file set the time since which it is outdated, by its label.
#[derive(Default)]
pub(crate) struct Outdated(Mutex<BTreeMap<&'static str, Instant>>);

impl Outdated {
    /// Records the state of a file set. One that stays outdated keeps its time.
    pub(super) fn set(&self, label: &'static str, is_outdated: bool) {
        let mut since = self.lock();
        if is_outdated {
            since.entry(label).or_insert_with(Instant::now);
        } else {
            since.remove(label);
        }
    }

    /// Returns for each file set true if it is outdated, also for sets that this worker does not
    /// use.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let since = self.lock();
        WATCHED.map(|(label, _)| (label, since.contains_key(label))).into_iter()
    }

    /// Returns a warning for each outdated file set, without file names: every client may read it.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let since = self.lock();
        let of_each = WATCHED.iter().filter_map(|(label, what)| {
            let seconds = since.get(label)?.elapsed().as_secs();
            Some(format!(
                "for {seconds} seconds {what} could not be read again, so that what was read before stays in force; \
                 the worker's log says why"
            ))
        });
        of_each.collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Instant>> {
        // Nothing panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
