//! What is in force and not what its files say, for the metrics and for the readiness.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// All that is read again, by what it is called in the metrics and for people.
const WATCHED: [(&str, &str); 2] = [("certificates", "the certificate"), ("keys", "the keys")];

/// Since when something is outdated, by what it is called in the metrics.
#[derive(Default)]
pub(crate) struct Outdated(Mutex<BTreeMap<&'static str, Instant>>);

impl Outdated {
    /// That it stays outdated does not begin it anew.
    pub(super) fn set(&self, label: &'static str, is_outdated: bool) {
        let mut since = self.lock();
        if is_outdated {
            since.entry(label).or_insert_with(Instant::now);
        } else {
            since.remove(label);
        }
    }

    /// Whether each is, also of what this worker does not have.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let since = self.lock();
        WATCHED.map(|(label, _)| (label, since.contains_key(label))).into_iter()
    }

    /// One for each that is, for everybody to read: it names no file.
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
        // Nothing in here panics half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
