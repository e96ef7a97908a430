//! Values made on first demand, once for all callers that ask at the same time.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

use crate::Error;

/// The place of a value, or of the failure to make one, which is about to be removed.
type Slot<T> = Arc<OnceCell<Result<Arc<T>, Error>>>;

/// A map of such values.
#[derive(Debug)]
pub(crate) struct Slots<K, T>(Mutex<HashMap<K, Slot<T>>>);

impl<K, T> Default for Slots<K, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, T> Slots<K, T> {
    /// Returns the value of a key. If there is no good one, one of the callers makes it, and the
    /// others wait. A failure is shared by all who have waited: if each of them tried in turn, the
    /// last would wait as long as all of them together.
    pub(crate) async fn get_or_make(
        &self,
        key: K,
        is_good: impl Fn(&T) -> bool,
        make: impl AsyncFnOnce() -> Result<T, Error>,
    ) -> Result<Arc<T>, Error>
    where
        K: Clone,
    {
        let slot = {
            let mut slots = self.lock();
            let slot = slots.entry(key.clone()).or_default();
            if made(slot).is_some_and(|thing| !is_good(thing)) {
                *slot = Slot::default();
            }
            Arc::clone(slot)
        };
        match slot.get_or_init(|| async { make().await.map(Arc::new) }).await {
            Ok(thing) => Ok(Arc::clone(thing)),
            Err(error) => {
                let mut slots = self.lock();
                if slots.get(&key).is_some_and(|found| Arc::ptr_eq(found, &slot)) {
                    slots.remove(&key);
                }
                Err(error.again())
            }
        }
    }

    /// Returns the value of a key, if already made.
    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<Arc<T>>
    where
        K: Borrow<Q>,
    {
        self.lock().get(key).and_then(made).cloned()
    }

    /// Drops the value of a key, if already made and stale.
    pub(crate) fn forget<Q: Eq + Hash + ?Sized>(&self, key: &Q, is_stale: impl Fn(&Arc<T>) -> bool)
    where
        K: Borrow<Q>,
    {
        let mut slots = self.lock();
        if slots.get(key).and_then(made).is_some_and(is_stale) {
            slots.remove(key);
        }
    }

    /// Returns the number of values with a property.
    pub(crate) fn count(&self, is_so: impl Fn(&T) -> bool) -> usize {
        self.lock().values().filter_map(made).filter(|thing| is_so(thing)).count()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Slot<T>>> {
        // The guarded data is consistent between any two steps.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn made<T>(slot: &Slot<T>) -> Option<&Arc<T>> {
    slot.get()?.as_ref().ok()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn a_failure_is_one_for_all_who_waited() {
        let slots = Slots::<u8, usize>::default();
        let n_made = &Cell::new(0);
        let get = |fails: bool| {
            let make = async move || {
                n_made.set(n_made.get() + 1);
                // The other callers come meanwhile.
                tokio::task::yield_now().await;
                if fails { Err(Error::Invalid("told to")) } else { Ok(n_made.get()) }
            };
            slots.get_or_make(7, |_| true, make)
        };
        let outcomes = join_all((0..5).map(|_| get(true))).await;
        assert!(outcomes.iter().all(Result::is_err));
        assert_eq!((n_made.get(), slots.get(&7)), (1, None));
        // Later callers try anew.
        let outcomes = join_all((0..5).map(|_| get(false))).await;
        assert!(outcomes.iter().all(|outcome| outcome.as_ref().is_ok_and(|made| **made == 2)));
        assert_eq!((n_made.get(), slots.get(&7)), (2, Some(Arc::new(2))));
    }

    #[tokio::test]
    async fn what_is_no_good_is_made_anew() {
        let slots = Slots::<&str, u8>::default();
        let mut made = Vec::new();
        for (is_good, value) in [(true, 1), (true, 2), (false, 3)] {
            made.push(*slots.get_or_make("a", |_| is_good, async || Ok(value)).await.unwrap());
        }
        assert_eq!(made, [1, 1, 3]);
        slots.forget("a", |found| **found == 1);
        assert_eq!((slots.get("a"), slots.count(|value| *value > 2)), (Some(Arc::new(3)), 1));
        slots.forget("a", |found| **found == 3);
        assert_eq!(slots.get("a"), None);
    }
}
