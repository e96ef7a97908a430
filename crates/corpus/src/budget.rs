//! A budget of time: what takes much longer than its bytes explain is given up, with a reason.
//!
//! This is the last net. Every reader is meant to be linear in its bytes, and is bounded by them. Where one is not
//! after all, a record of a few bytes must not hold a run for hours. It is processor time of one thread, so a slow
//! disk or a busy machine spends nothing, and so generous that no ordinary record comes near it: what is read does not
//! depend on the machine.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What every record may take.
const BASE: Duration = Duration::from_secs(20);

/// And what it may take for each MiB: a hundred times what the slowest reader needs.
const PER_MIB: Duration = Duration::from_secs(2);

/// Steps between two looks at the clock.
const STEPS: u32 = 4096;

/// The time that is left for one record.
#[derive(Debug)]
pub(super) struct Budget {
    watch: Watch,
    n_bytes: u64,
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
        // So that the first step looks at the clock.
        Self { watch: Watch::start(clock), n_bytes: n_bytes as u64, n_steps: Cell::new(STEPS - 1) }
    }

    /// One that is spent at once.
    #[cfg(test)]
    pub(super) fn spent() -> Self {
        Self { watch: Watch { clock: || Duration::MAX, start: Duration::ZERO }, ..Self::new(0) }
    }

    /// Takes a step, which is short and takes the same time whatever was read before.
    pub(super) fn step(&self) -> Result<(), OverBudget> {
        let n_steps = self.n_steps.get() + 1;
        self.n_steps.set(n_steps % STEPS);
        if n_steps < STEPS { Ok(()) } else { self.watch.check(self.n_bytes) }
    }
}

/// When something began, by the clock that it is measured with.
#[derive(Clone, Copy, Debug)]
struct Watch {
    clock: fn() -> Duration,
    start: Duration,
}

impl Watch {
    fn start(clock: fn() -> Duration) -> Self {
        Self { clock, start: clock() }
    }

    /// Whether so many bytes explain the time since.
    fn check(self, n_bytes: u64) -> Result<(), OverBudget> {
        let allowed = BASE + PER_MIB.mul_f64(n_bytes as f64 / f64::from(1 << 20));
        let is_spent = (self.clock)().saturating_sub(self.start) > allowed;
        if is_spent { Err(OverBudget { allowed, n_bytes }) } else { Ok(()) }
    }
}

/// The budget of one source, which grows with what is read: before it is unpacked and after.
#[derive(Clone)]
pub(super) struct Meter {
    watch: Watch,
    n_bytes: Arc<AtomicU64>,
}

/// What is read through it counts.
pub(super) struct Metered<R> {
    inner: R,
    meter: Meter,
}

impl Meter {
    /// From now on, in this thread.
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
        // What goes in counts, and what comes out.
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
