//! Admission of a request by its key, which can be checked again later.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use tokio::sync::OwnedSemaphorePermit;

use super::keys::{Key, Keys, Scope};
use crate::problem::Problem;

/// Proof of admission. A batch holds its `Pass` while it lasts, and an answer until the client has
/// read it.
#[derive(Clone)]
pub(crate) struct Pass {
    keys: Arc<Keys>,
    key: Arc<Key>,
    needs: Scope,
    /// Permit of the key's bound on requests under way.
    _place: Option<Arc<OwnedSemaphorePermit>>,
}

impl Pass {
    /// Admits a request if its key has the scope `needs` and a permit is free.
    ///
    /// # Errors
    /// The headers have no key, the key is unknown or lacks the scope, or all its permits are
    /// taken.
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

    /// Returns the scopes of the key.
    pub(crate) fn scopes(&self) -> &[Scope] {
        &self.key.scopes
    }

    /// Checks whether the key is still in force with the scope.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let now = self.keys.now(&self.key).ok_or_else(Problem::unknown_key)?;
        check_scope(&now, self.needs)
    }
}

fn check_scope(key: &Key, needs: Scope) -> Result<(), Problem> {
    if key.scopes.contains(&needs) { Ok(()) } else { Err(Problem::wrong_scope(needs.name())) }
}
