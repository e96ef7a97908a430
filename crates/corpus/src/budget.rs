//! A budget of time: a record that takes much longer than its bytes explain is given up, with a
//! reason.
//!
//! The budget is the last safety net. Every reader is meant to be linear in its bytes, and is
//! bounded by them. If one is not after all, a record of a few bytes must not hold a run for hours.
//! The unit is processor time of one thread, so a slow disk or a busy machine spends nothing. No
//! ordinary record comes near the budget: the content read does not depend on the machine.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Time allowed for every record.
const BASE: Duration = Duration::from_secs(20);

/// Time allowed beyond that for each MiB: a hundred times the need of the slowest reader.
const PER_MIB: Duration = Duration::from_secs(2);

/// Number of steps between two looks at the clock.
const STEPS: u32 = 4096;

/// Time left for one record.
#[derive(Debug)]
pub(super) struct Budget {
    watch: Watch,
    n_bytes: u64,
    n_steps: Cell<u32>,
}

/// Error of a spent budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OverBudget {
    allowed: Duration,
    n_bytes: u64,
}

impl Budget {
    /// Starts a budget for `n_bytes` bytes, now, in this thread.
    pub(super) fn new(n_bytes: usize) -> Self {
        Self::by(processor_time, n_bytes)
    }

    fn by(clock: fn() -> Duration, n_bytes: usize) -> Self {
        // The first step looks at the clock.
        Self { watch: Watch::start(clock), n_bytes: n_bytes as u64, n_steps: Cell::new(STEPS - 1) }
    }

    /// Returns a budget already spent.
    #[cfg(test)]
    pub(super) fn spent() -> Self {
        Self { watch: Watch { clock: || Duration::MAX, start: Duration::ZERO }, ..Self::new(0) }
    }

    /// Takes a step, which must be short and take the same time whatever came before.
    ///
    /// # Errors
    /// If the budget is spent, as far as the clock has been looked at.
    pub(super) fn step(&self) -> Result<(), OverBudget> {
        let n_steps = self.n_steps.get() + 1;
        self.n_steps.set(n_steps % STEPS);
        if n_steps < STEPS { Ok(()) } else { self.watch.check(self.n_bytes) }
    }
}

/// Start of a measurement, with its clock.
#[derive(Clone, Copy, Debug)]
struct Watch {
    clock: fn() -> Duration,
    start: Duration,
}

impl Watch {
    fn start(clock: fn() -> Duration) -> Self {
        Self { clock, start: clock() }
    }

    /// Checks the time since the start against the allowance for `n_bytes` bytes.
    fn check(self, n_bytes: u64) -> Result<(), OverBudget> {
        let allowed = BASE + PER_MIB.mul_f64(n_bytes as f64 / f64::from(1 << 20));
        let is_spent = (self.clock)().saturating_sub(self.start) > allowed;
        if is_spent { Err(OverBudget { allowed, n_bytes }) } else { Ok(()) }
    }
}

/// Budget of one source, which grows with the bytes read: packed and unpacked ones.
#[derive(Clone)]
pub(super) struct Meter {
    watch: Watch,
    n_bytes: Arc<AtomicU64>,
}

/// Reader whose bytes count in a meter.
pub(super) struct Metered<R> {
    inner: R,
    meter: Meter,
}

impl Meter {
    /// Starts a meter, now, in this thread.
    pub(super) fn start() -> Self {
        Self { watch: Watch::start(processor_time), n_bytes: Arc::default() }
    }

    pub(super) fn of<R>(&self, inner: R) -> Metered<R> {
        Metered { inner, meter: self.clone() }
    }
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        let n_bytes = self.meter.n_bytes.fetch_add(n as u64, Ordering::Relaxed) + n as u64;
        self.meter.watch.check(n_bytes).map_err(io::Error::other)?;
        Ok(n)
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

/// Returns the processor time of this thread.
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
        for (n_bytes, allowed) in [(0, BASE), (1 << 20, BASE + PER_MIB), (3 << 19, BASE + PER_MIB * 3 / 2)] {
            NOW.set(Duration::ZERO);
            let budget = Budget::by(|| NOW.get(), n_bytes);
            NOW.set(allowed);
            budget.step().unwrap();
            NOW.set(allowed + Duration::from_millis(1));
            assert_eq!((1..).find(|_| budget.step().is_err()), Some(STEPS));
        }
        let over = Budget::spent().step().unwrap_err();
        assert!(over.to_string().contains("more than 20 s for 0 bytes"), "{over}");
    }

    #[test]
    fn a_source_is_given_up_where_its_bytes_do_not_explain_the_time() {
        NOW.set(Duration::ZERO);
        let meter = Meter { watch: Watch::start(|| NOW.get()), n_bytes: Arc::default() };
        let mut source = meter.of(meter.of(io::repeat(b'x')));
        let mut mib = vec![0; 1 << 20];
        NOW.set(BASE + 2 * PER_MIB);
        source.read_exact(&mut mib).unwrap_err();
        // Packed bytes count, and unpacked ones.
        source.read_exact(&mut mib).unwrap();
        NOW.set(Duration::MAX);
        let error = source.read(&mut mib).unwrap_err();
        assert!(error.to_string().contains("was given up"), "{error}");
    }

    #[test]
    fn the_clock_is_of_this_thread() {
        let before = processor_time();
        assert!(processor_time() >= before);
        Budget::new(0).step().unwrap();
    }
}
