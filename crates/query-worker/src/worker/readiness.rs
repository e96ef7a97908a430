//! Readiness of the worker: a check of the store, shared by those that ask during one.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::{Stage, Worker};
use crate::problem::Problem;

/// Longest wait for a readiness check of the store.
const READY_WAIT_MAX: Duration = Duration::from_secs(5);

impl Worker {
    /// Asks the store itself whether it can be searched and written to. The check takes no place of
    /// requests: a busy worker is not a broken one.
    ///
    /// # Errors
    /// The store's failure, the worker's stop, or [`Problem::not_ready`] if the store does not
    /// answer in time.
    pub async fn ready(self: Arc<Self>) -> Result<(), Problem> {
        if *self.stage.borrow() > Stage::Serving {
            return Err(Problem::stopping());
        }
        let asked = Instant::now();
        let check = async {
            let permit =
                Arc::clone(&self.readiness).acquire_owned().await.map_err(|_| Problem::internal())?;
            Arc::clone(&self).work(permit, move |worker| worker.check_store(asked)).await
        };
        tokio::time::timeout(READY_WAIT_MAX, check)
            .await
            .unwrap_or_else(|_| Err(Problem::not_ready(READY_WAIT_MAX)))
    }

    /// Returns the outcome of a check of the store that began after `asked`: callers that waited
    /// during one check share the next.
    fn check_store(&self, asked: Instant) -> Result<(), Problem> {
        // The value is replaced as a whole, so a panic leaves it valid.
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((begun, answer)) = &*checked
            && *begun >= asked
        {
            return answer.clone();
        }
        let begun = Instant::now();
        let answer = self.index().ready().map_err(Problem::unready);
        *checked = Some((begun, answer.clone()));
        answer
    }
}
