//! That a request was let in by its key, and may still be.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use tokio::sync::OwnedSemaphorePermit;

use super::keys::{Key, Keys, Scope};
use crate::problem::Problem;

/// That a request was let in. A batch keeps it, for as long as it lasts, and an answer until it is read.
#[derive(Clone)]
pub(crate) struct Pass {
    keys: Arc<Keys>,
    key: Arc<Key>,
    needs: Scope,
    /// The place among those of its key.
    _place: Option<Arc<OwnedSemaphorePermit>>,
}

impl Pass {
    /// Lets a request in whose key has the scope that it needs, and a place left.
    ///
    /// # Errors
    /// There is no key in the headers, or none that is known; it is not for this; or all its places are taken.
    pub(crate) fn new(keys: &Arc<Keys>, headers: &HeaderMap, needs: Scope) -> Result<Self, Problem> {
        let header = headers.get(AUTHORIZATION).ok_or_else(Problem::no_key)?.as_bytes();
        let (scheme, key) = header.split_at_checked("Bearer ".len()).ok_or_else(Problem::no_key)?;
        if !scheme.eq_ignore_ascii_case(b"Bearer ") {
            return Err(Problem::no_key());
        }
        let key = keys.find(key).ok_or_else(Problem::unknown_key)?;
        check_scope(&key, needs)?;
        let place = key.places.as_ref().map(|places| Arc::clone(places).try_acquire_owned()).transpose();
        let place = place.map_err(|_| Problem::too_many_requests())?;
        Ok(Self { keys: Arc::clone(keys), key, needs, _place: place.map(Arc::new) })
    }

    /// Whether the key would still be let in.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let now = self.keys.now(&self.key).ok_or_else(Problem::unknown_key)?;
        check_scope(&now, self.needs)
    }
}

fn check_scope(key: &Key, needs: Scope) -> Result<(), Problem> {
    if key.scopes.contains(&needs) { Ok(()) } else { Err(Problem::wrong_scope(needs.name())) }
}
