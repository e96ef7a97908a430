//! Admission: bounds on the requests worked on, on those that wait, and on the bytes held of bodies
//! and answers. Work on long texts has places and memory of its own.

use std::sync::Arc;
use std::time::Duration;

use program::MemoryLimits;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{LIGHT_BYTES_MAX, Limits, n_heavy_max};
use crate::metrics::Taken;
use crate::problem::Problem;

/// Bytes of one piece, the unit in which memory is counted.
const MEMORY_PIECE_BYTES: usize = 1 << 10;

/// Divisor of the bytes that work may take at most: those that it takes at least.
const LEAST_PART: usize = 4;

/// Holdings of a request under way: its place, room for its body, and memory for its work.
#[derive(Debug)]
pub(crate) struct Permit {
    _place: OwnedSemaphorePermit,
    _room: Option<OwnedSemaphorePermit>,
    _memory: Option<OwnedSemaphorePermit>,
}

impl Permit {
    fn of(place: OwnedSemaphorePermit) -> Self {
        Self { _place: place, _room: None, _memory: None }
    }

    /// Adds room for a body, or for more of one.
    pub(crate) fn with_room(mut self, room: OwnedSemaphorePermit) -> Self {
        match &mut self._room {
            Some(held) => held.merge(room),
            None => self._room = Some(room),
        }
        self
    }
}

/// Places for requests.
///
/// A request without a place is answered 503 and not 429: the worker has too much to do, not this
/// client.
pub(crate) struct Admission {
    requests: Arc<Semaphore>,
    /// One permit for each request that may wait for a place.
    queue: Semaphore,
    queue_wait_max: Duration,
    /// Places of batches, apart so that slow batches cannot keep out single requests.
    batches: Arc<Semaphore>,
    /// One permit for each byte of bodies that may be held.
    bytes: Arc<Semaphore>,
    /// One permit for each core: heavy work that shares a core only delays all of it.
    heavy: Arc<Semaphore>,
    /// One permit for each heavy request that may wait for its place.
    heavy_queue: Semaphore,
    /// One permit for each piece of memory for heavy work.
    memory: Arc<Semaphore>,
    n_pieces: usize,
    /// The limits on the memory of the process.
    within: MemoryLimits,
}

impl Admission {
    pub(crate) fn new(limits: &Limits, within: MemoryLimits) -> Self {
        let places = |n: u32| Arc::new(Semaphore::new(n as usize));
        let n_pieces = (limits.work_bytes_max as usize).div_ceil(MEMORY_PIECE_BYTES);
        Self {
            requests: places(limits.requests_max),
            queue: Semaphore::new(limits.queue_max as usize),
            queue_wait_max: Duration::from_millis(limits.queue_milliseconds_max),
            batches: places(limits.batches_max),
            bytes: places(limits.bodies_bytes_max),
            heavy: Arc::new(Semaphore::new(n_heavy_max())),
            heavy_queue: Semaphore::new(limits.queue_max as usize),
            memory: Arc::new(Semaphore::new(n_pieces)),
            n_pieces,
            within,
        }
    }

    /// Takes a place for a request whose body has arrived. Waits in the queue if all are taken,
    /// first come, first served.
    pub(crate) async fn request(&self) -> Result<Permit, Problem> {
        if let Ok(place) = Arc::clone(&self.requests).try_acquire_owned() {
            return Ok(Permit::of(place));
        }
        let busy = || {
            Problem::busy(
                "too many requests are waiting (--requests-max, --queue-max, --queue-milliseconds-max)",
            )
        };
        let _waiting = self.queue.try_acquire().map_err(|_| busy())?;
        let place = tokio::time::timeout(self.queue_wait_max, Arc::clone(&self.requests).acquire_owned());
        let place = place.await.map_err(|_| busy())?.map_err(|_| Problem::internal())?;
        Ok(Permit::of(place))
    }

    /// Returns the places taken, out of those of `limits`.
    pub(crate) fn taken(&self, limits: &Limits) -> Taken {
        let taken = |all: u32, places: &Semaphore| (all as usize).saturating_sub(places.available_permits());
        Taken {
            n_requests: taken(limits.requests_max, &self.requests),
            n_waiting: taken(limits.queue_max, &self.queue),
            n_batches: taken(limits.batches_max, &self.batches),
            n_body_bytes: taken(limits.bodies_bytes_max, &self.bytes),
            n_long_waiting: taken(limits.queue_max, &self.heavy_queue),
        }
    }

    /// Takes a place for a batch. Never waits: a batch may last for hours.
    pub(crate) fn batch(&self) -> Result<Permit, Problem> {
        let place = Arc::clone(&self.batches).try_acquire_owned();
        let place = place.map_err(|_| Problem::busy("too many batches are under way (--batches-max)"))?;
        Ok(Permit::of(place))
    }

    /// Admits the work of a request with a place, by the bytes of memory that the work takes. Light
    /// work keeps the place. Heavy work gives it up for a place and memory of its own. If these are
    /// taken, it waits in a queue of its own, first come, first served, for as long as the request
    /// may take.
    pub(crate) async fn work(&self, permit: Permit, n_bytes: usize) -> Result<Permit, Problem> {
        if !is_heavy(n_bytes) {
            return Ok(permit);
        }
        let Permit { _place: given_up, _room: room, .. } = permit;
        let n_pieces = self.pieces(n_bytes);
        // Nothing is free while others wait for it, so these overtake none.
        let place = Arc::clone(&self.heavy).try_acquire_owned().ok();
        let try_memory = || Arc::clone(&self.memory).try_acquire_many_owned(n_pieces).ok();
        let memory = place.as_ref().and_then(|_| try_memory());
        let (place, memory) = match (place, memory) {
            (Some(place), Some(memory)) => (place, memory),
            (place, _) => {
                let _waiting = self.heavy_queue.try_acquire().map_err(|_| {
                    Problem::busy("too many requests with long texts are waiting (--queue-max)")
                })?;
                drop(given_up);
                let place = match place {
                    Some(place) => place,
                    None => {
                        let place = Arc::clone(&self.heavy).acquire_owned();
                        place.await.map_err(|_| Problem::internal())?
                    }
                };
                let memory = Arc::clone(&self.memory).acquire_many_owned(n_pieces);
                (place, memory.await.map_err(|_| Problem::internal())?)
            }
        };
        self.check(n_bytes)?;
        Ok(Permit { _place: place, _room: room, _memory: Some(memory) })
    }

    /// Takes memory for work that holds a place already, as a batch does; blocks this thread until
    /// the memory is free. `None` for light work.
    pub(crate) fn memory(&self, n_bytes: usize) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        if !is_heavy(n_bytes) {
            return Ok(None);
        }
        let acquired = Arc::clone(&self.memory).acquire_many_owned(self.pieces(n_bytes));
        let acquired = Handle::current().block_on(acquired).map_err(|_| Problem::internal())?;
        self.check(n_bytes)?;
        Ok(Some(acquired))
    }

    /// Refuses heavy work that would bring the process near a limit on its memory, where the system
    /// ends it. Of work of more bytes than may be taken at once, the least that it takes counts.
    fn check(&self, n_bytes: usize) -> Result<(), Problem> {
        let n_bytes = n_bytes.min(self.n_pieces * MEMORY_PIECE_BYTES).max(n_bytes / LEAST_PART);
        let near = || self.within.nearest().filter(|used| used.with_more(n_bytes as u64).is_near_limit());
        if near().is_none() {
            return Ok(());
        }
        // The limit counts what earlier requests have freed and the allocator keeps.
        program::give_memory_back();
        near().map_or(Ok(()), |used| {
            Err(Problem::busy(&format!("the work would take more memory than there is: {used}")))
        })
    }

    /// Returns the number of pieces for `n_bytes`. Work that would take more than all takes all,
    /// and runs alone.
    fn pieces(&self, n_bytes: usize) -> u32 {
        u32::try_from(n_bytes.div_ceil(MEMORY_PIECE_BYTES).min(self.n_pieces)).unwrap_or(u32::MAX)
    }

    /// Takes room for `n_bytes` of a request's body or of an answer. Never waits: holders of room
    /// that wait for more could block each other.
    pub(crate) fn room(&self, n_bytes: usize) -> Result<OwnedSemaphorePermit, Problem> {
        let room =
            u32::try_from(n_bytes).ok().and_then(|n| Arc::clone(&self.bytes).try_acquire_many_owned(n).ok());
        room.ok_or_else(|| Problem::busy("too much of requests and answers is held (--bodies-bytes-max)"))
    }
}

/// Returns true if work with so many bytes of memory needs a place for heavy work.
pub(crate) fn is_heavy(n_bytes: usize) -> bool {
    n_bytes > LIGHT_BYTES_MAX
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
        let admission = Arc::new(Admission::new(&limits, MemoryLimits::default()));
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
    /// Regression: heavy requests ran all at once, and all were late.
    #[tokio::test]
    async fn heavy_work_is_done_in_order_of_arrival() {
        let limits = Config::parse_from(["query-worker", "--requests-max", "1"]).limits;
        let admission = Admission::new(&limits, MemoryLimits::default());
        let heavy = async |n_bytes| admission.work(admission.request().await.unwrap(), n_bytes).await;
        // Work that would take more memory than there is takes all of it.
        let first = heavy(usize::MAX).await.unwrap();
        let mut second = Box::pin(heavy(LIGHT_BYTES_MAX + 1));
        assert!(futures_now(&mut second).await.is_none(), "no memory is left");
        assert!(heavy(LIGHT_BYTES_MAX).await.is_ok(), "it has given up its place for requests");
        assert_eq!(admission.taken(&limits).n_long_waiting, 1);
        drop(first);
        assert!(second.await.is_ok());
        assert_eq!(admission.taken(&limits).n_long_waiting, 0);
    }

    /// Regression: heavy requests were refused for good.
    #[tokio::test]
    async fn heavy_work_without_a_queue() {
        let limits = Config::parse_from(["query-worker", "--queue-max", "0"]).limits;
        let admission = Admission::new(&limits, MemoryLimits::default());
        let heavy = async || admission.work(admission.request().await.unwrap(), usize::MAX).await;
        for _ in 0..2 {
            let first = heavy().await.unwrap();
            assert!(is_busy(heavy().await), "no memory is left");
            drop(first);
        }
    }

    async fn futures_now<T>(future: impl Future<Output = T> + Unpin) -> Option<T> {
        tokio::select! {
            biased;
            done = future => Some(done),
            () = tokio::task::yield_now() => None,
        }
    }
}
