//! A budget of time: what takes much longer than its bytes explain is given up, with a reason.
//!
//! This is the last net. Every reader is meant to be linear in its bytes, and is bounded by them. Where one is not after
//! all, a record of a few bytes must not hold a run for hours. The time is that of the processor in this thread, so a slow
//! disk or a busy machine spends nothing, and so generous that no ordinary record comes near it: what is read does not
//! depend on the machine.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What every record may take.
const BASE: Duration = Duration::from_secs(20);

/// And what it may take for each MiB: a hundred times what the slowest reader needs.
const PER_MIB: Duration = Duration::from_secs(2);

/// Steps between two looks at the clock.
const STEPS: u32 = 4096;

/// The time that is left for one record, or one source.
#[derive(Debug)]
pub(super) struct Budget {
    clock: fn() -> Duration,
    start: Duration,
    n_bytes: Cell<u64>,
    n_steps: Cell<u32>,
}

/// It is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OverBudget {
    allowed: Duration,
    n_bytes: u64,
}

impl Budget {
    /// For so many bytes, from now on, in this thread.
    pub(super) fn new(n_bytes: usize) -> Self {
        Self::by(processor_time, n_bytes)
    }

    fn by(clock: fn() -> Duration, n_bytes: usize) -> Self {
        let n_bytes = Cell::new(n_bytes as u64);
        // So that the first step looks at the clock.
        Self { clock, start: clock(), n_bytes, n_steps: Cell::new(STEPS - 1) }
    }

    /// One that is spent at once.
    #[cfg(test)]
    pub(super) fn spent() -> Self {
        Self { start: Duration::ZERO, ..Self::by(|| Duration::MAX, 0) }
    }

    /// There are more bytes than it was known.
    pub(super) fn add(&self, n_bytes: usize) {
        self.n_bytes.set(self.n_bytes.get().saturating_add(n_bytes as u64));
    }

    /// Takes a step, which is short and takes the same time whatever was read before.
    pub(super) fn step(&self) -> Result<(), OverBudget> {
        let n_steps = self.n_steps.get() + 1;
        self.n_steps.set(n_steps % STEPS);
        if n_steps < STEPS { Ok(()) } else { self.check() }
    }

    /// Looks at the clock.
    pub(super) fn check(&self) -> Result<(), OverBudget> {
        let n_bytes = self.n_bytes.get();
        let allowed = BASE + PER_MIB.mul_f64(n_bytes as f64 / f64::from(1 << 20));
        let is_spent = (self.clock)().saturating_sub(self.start) > allowed;
        if is_spent { Err(OverBudget { allowed, n_bytes }) } else { Ok(()) }
    }
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { allowed, n_bytes } = self;
        write!(
            f,
            "reading took more than {} s for {n_bytes} bytes, which no ordinary content does, and was given up",
            allowed.as_secs()
        )
    }
}

impl Error for OverBudget {}

/// How long the processor has worked in this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    #[test]
    fn it_grows_with_the_bytes_and_is_looked_at_now_and_then() {
        let budget = Budget::by(|| NOW.get(), 0);
        NOW.set(BASE);
        budget.check().unwrap();
        NOW.set(BASE + Duration::from_millis(1));
        let over = budget.step().unwrap_err();
        assert!(over.to_string().contains("more than 20 s for 0 bytes"), "{over}");
        budget.add(1 << 20);
        budget.check().unwrap();
        NOW.set(BASE + 2 * PER_MIB);
        let n_steps = (1..).find(|_| budget.step().is_err());
        assert_eq!(n_steps, Some(STEPS));
        assert!(Budget::spent().step().is_err());
    }

    #[test]
    fn the_clock_is_of_this_thread() {
        let before = processor_time();
        assert!(processor_time() >= before);
        Budget::new(0).check().unwrap();
    }
}
