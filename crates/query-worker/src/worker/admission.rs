//! Admission: how many requests are worked on at once, how many wait for it, and how much of their bodies and answers
//! is held.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::Limits;
use crate::metrics::Taken;
use crate::problem::Problem;

/// What a request that is worked on holds: its place, and room for its body.
pub(crate) struct Permit {
    _place: OwnedSemaphorePermit,
    _room: Option<OwnedSemaphorePermit>,
}

impl Permit {
    /// The same with room for a body.
    pub(crate) fn with_room(mut self, room: OwnedSemaphorePermit) -> Self {
        self._room = Some(room);
        self
    }
}

/// The places there are for requests.
///
/// Whoever finds none is told 503 and not 429: it is the worker that has too much to do, not this client.
pub(crate) struct Admission {
    requests: Arc<Semaphore>,
    /// One permit for each request that waits for a place.
    queue: Semaphore,
    queue_wait_max: Duration,
    /// Batches have places of their own, so that slow ones cannot keep out single requests.
    batches: Arc<Semaphore>,
    /// One permit for each byte of a body that may be held.
    bytes: Arc<Semaphore>,
}

impl Admission {
    pub(crate) fn new(limits: &Limits) -> Self {
        let places = |n: u32| Arc::new(Semaphore::new(n as usize));
        Self {
            requests: places(limits.requests_max),
            queue: Semaphore::new(limits.queue_max as usize),
            queue_wait_max: Duration::from_millis(limits.queue_milliseconds_max),
            batches: places(limits.batches_max),
            bytes: places(limits.bodies_bytes_max),
        }
    }

    /// A place for a request whose body is there, after a wait in the queue where all are taken. First come, first served.
    pub(crate) async fn request(&self) -> Result<Permit, Problem> {
        if let Ok(place) = Arc::clone(&self.requests).try_acquire_owned() {
            return Ok(Permit { _place: place, _room: None });
        }
        let busy = || {
            Problem::busy(
                "too many requests are waiting (--requests-max, --queue-max, --queue-milliseconds-max)",
            )
        };
        let _waiting = self.queue.try_acquire().map_err(|_| busy())?;
        let place = tokio::time::timeout(self.queue_wait_max, Arc::clone(&self.requests).acquire_owned());
        let place = place.await.map_err(|_| busy())?.map_err(|_| Problem::internal())?;
        Ok(Permit { _place: place, _room: None })
    }

    /// What is taken of what there is, by these limits.
    pub(crate) fn taken(&self, limits: &Limits) -> Taken {
        let taken = |all: u32, places: &Semaphore| (all as usize).saturating_sub(places.available_permits());
        Taken {
            n_requests: taken(limits.requests_max, &self.requests),
            n_waiting: taken(limits.queue_max, &self.queue),
            n_batches: taken(limits.batches_max, &self.batches),
            n_body_bytes: taken(limits.bodies_bytes_max, &self.bytes),
        }
    }

    /// A place for a batch. None is waited for: a batch may last for hours.
    pub(crate) fn batch(&self) -> Result<Permit, Problem> {
        let place = Arc::clone(&self.batches).try_acquire_owned();
        let place = place.map_err(|_| Problem::busy("too many batches are under way (--batches-max)"))?;
        Ok(Permit { _place: place, _room: None })
    }

    /// Room for so many bytes of a request's body, or of an answer. None is waited for: those who hold some might wait for
    /// more, too.
    pub(crate) fn room(&self, n_bytes: usize) -> Result<OwnedSemaphorePermit, Problem> {
        let room =
            u32::try_from(n_bytes).ok().and_then(|n| Arc::clone(&self.bytes).try_acquire_many_owned(n).ok());
        room.ok_or_else(|| Problem::busy("too much of requests and answers is held (--bodies-bytes-max)"))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use axum::http::StatusCode;

    use super::*;
    use crate::config::Config;

    fn is_busy(admitted: Result<Permit, Problem>) -> bool {
        admitted.err().is_some_and(|problem| problem.status() == StatusCode::SERVICE_UNAVAILABLE)
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_of_one() {
        let limits = Config::parse_from(["query-worker", "--requests-max", "1", "--queue-max", "1"]).limits;
        let admission = Arc::new(Admission::new(&limits));
        let first = admission.request().await;
        let waiting = Arc::clone(&admission);
        let second = tokio::spawn(async move { waiting.request().await });
        tokio::task::yield_now().await;
        assert!(is_busy(admission.request().await), "the queue is full");
        assert!(!second.is_finished());
        drop(first);
        let second = second.await.unwrap();
        assert!(second.is_ok());
        let begun = tokio::time::Instant::now();
        assert!(is_busy(admission.request().await), "none is free in time");
        assert_eq!(begun.elapsed().as_millis(), 1000);
        drop(second);
        assert!(admission.request().await.is_ok());
    }
}
