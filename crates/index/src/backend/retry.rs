//! The policy by which an operation is repeated on a server that is away: pauses that grow, with a
//! random part, until a deadline. The operation itself does one try and knows of no other.

#[cfg(test)]
mod tests;

use std::thread;
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

/// The least time that a late try waits for an answer, and the time from which a try is late.
const LAST_TRY: Duration = Duration::from_millis(500);

/// The pauses between the tries of an operation. Each lasts for twice the one before it, up to the
/// longest, less a random part of at most half: callers that fail together do not come back
/// together. The last try comes at the very end of the limit.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    shortest: Duration,
    longest: Duration,
    is_at_once: bool,
}

/// The reason why a try failed, by the use of another one.
#[derive(Debug, PartialEq, Eq)]
pub enum Failed<F, A> {
    /// Another try would fail, too.
    Final(F),
    /// The server is away or busy, and another try may succeed.
    Away(A),
}

/// The failure of the last try, at the end of the limit.
#[derive(Debug, PartialEq, Eq)]
pub struct Late<A> {
    /// The reason why the last try failed.
    pub last: A,
    /// The time since the last progress.
    pub waited: Duration,
}

/// A pause before another try.
#[derive(Clone, Copy, Debug)]
pub struct Pause {
    /// The length of the pause.
    pub time: Duration,
    /// The number of failed tries since the last progress.
    pub n_failed: u32,
}

/// The tries of one operation since its last progress.
#[derive(Debug)]
pub struct Tries {
    retry: Retry,
    now: fn() -> Instant,
    limit: Duration,
    since: Instant,
    pauses: ExponentialBackoff,
    n_failed: u32,
}

/// The limit of the waits of one try.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    /// The end of the limit.
    pub deadline: Instant,
    is_late: bool,
    now: fn() -> Instant,
}

impl Retry {
    /// Creates a policy by its first pause and its longest.
    #[must_use]
    pub const fn new(shortest: Duration, longest: Duration) -> Self {
        Self { shortest, longest, is_at_once: false }
    }

    /// The same policy with the first repetition at once.
    #[must_use]
    pub const fn at_once(self) -> Self {
        Self { is_at_once: true, ..self }
    }

    /// Repeats `operation` while the server is away, until `limit` has passed without progress.
    /// `paused` hears of each pause before it begins.
    ///
    /// # Errors
    /// The failure that is final, or the last one at the end of the limit.
    pub fn run<T, F, A>(
        self,
        limit: Duration,
        operation: impl FnMut(&mut Tries) -> Result<T, Failed<F, A>>,
        paused: impl FnMut(&A, Pause),
    ) -> Result<T, Failed<F, Late<A>>> {
        self.start(limit, Instant::now).run(operation, paused, thread::sleep)
    }

    /// Begins the tries of an operation within `limit`, by the clock `now`.
    #[must_use]
    pub fn start(self, limit: Duration, now: fn() -> Instant) -> Tries {
        Tries { retry: self, now, limit, since: now(), pauses: self.pauses(), n_failed: 0 }
    }

    fn pauses(self) -> ExponentialBackoff {
        // Half of each pause is certain; the library adds up to as much at random.
        ExponentialBuilder::new()
            .with_min_delay(self.shortest / 2)
            .with_max_delay(self.longest / 2)
            .without_max_times()
            .with_jitter()
            .build()
    }
}

impl Tries {
    /// Returns true for the first try since the last progress.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.n_failed == 0
    }

    /// Notes progress: the time and the pauses begin anew, within `limit`.
    pub fn has_gone_on(&mut self, limit: Duration) {
        *self = self.retry.start(limit, self.now);
    }

    /// Makes the limit at least this.
    pub fn extend_to(&mut self, limit: Duration) {
        self.limit = self.limit.max(limit);
    }

    /// Returns the limit of the waits of a try that begins now.
    #[must_use]
    pub fn until(&self) -> Until {
        let is_late = self.waited() >= LAST_TRY;
        Until { deadline: self.since + self.limit, is_late, now: self.now }
    }

    fn waited(&self) -> Duration {
        (self.now)().saturating_duration_since(self.since)
    }

    /// Does an operation until it is done or hopeless.
    fn run<T, F, A>(
        mut self,
        mut operation: impl FnMut(&mut Self) -> Result<T, Failed<F, A>>,
        mut paused: impl FnMut(&A, Pause),
        mut sleep: impl FnMut(Duration),
    ) -> Result<T, Failed<F, Late<A>>> {
        loop {
            match operation(&mut self) {
                Ok(done) => return Ok(done),
                Err(failed) => {
                    let (pause, failure) = self.after(failed)?;
                    paused(&failure, pause);
                    sleep(pause.time);
                }
            }
        }
    }

    /// Returns the pause after a failed try with the reason for it, for a caller that must not
    /// block.
    ///
    /// # Errors
    /// The failure that is final, or this one at the end of the limit.
    pub fn after<F, A>(&mut self, failed: Failed<F, A>) -> Result<(Pause, A), Failed<F, Late<A>>> {
        let last = match failed {
            Failed::Final(failure) => return Err(Failed::Final(failure)),
            Failed::Away(failure) => failure,
        };
        let waited = self.waited();
        let left = self.limit.saturating_sub(waited);
        if left.is_zero() {
            return Err(Failed::Away(Late { last, waited }));
        }
        self.n_failed += 1;
        let time = if self.retry.is_at_once && self.n_failed == 1 {
            Duration::ZERO
        } else {
            self.pauses.next().unwrap_or(self.retry.longest)
        };
        Ok((Pause { time: time.min(left), n_failed: self.n_failed }, last))
    }
}

impl Until {
    /// Returns the limit of a late try, for an operation of a moment: its first try is one, too.
    #[must_use]
    pub fn late(self) -> Self {
        Self { is_late: true, ..self }
    }

    /// Returns the longest wait for an answer, where `usual` is the normal one. An early try has
    /// all of `usual`; a late one has at most the rest of the limit, or half a second if less is
    /// left.
    #[must_use]
    pub fn within(self, usual: Duration) -> Duration {
        let left = self.deadline.saturating_duration_since((self.now)());
        if self.is_late { usual.min(left.max(LAST_TRY)) } else { usual }
    }
}
