//! Bounds on the load of the worker. Each has a name, and those that operators may set have a flag
//! and a default. A client that meets a bound is told its name. Bounds of a single module stay in
//! that module.

use std::thread;
use std::time::Duration;

use clap::Args;
use program::MemoryLimits;

/// Requests worked on at once.
const REQUESTS_MAX: u32 = 64;
/// The fewest requests worked on at once to which a limit on memory leads.
const REQUESTS_LEAST: u64 = 4;
/// Bytes of bodies, and of memory for work, at once.
const BYTES_MAX: u32 = 256 << 20;
/// Bytes of texts that were posted lately.
const RECENT_TEXTS_BYTES_MAX: usize = 64 << 20;

/// Bodies, and work, each take by default at most one part of so many of a limit on the memory of
/// the process. The allocator keeps freed memory, and threads have stacks.
const PART_OF_LIMIT: u64 = 8;

/// The most bytes of light work, which only the number of places for requests bounds.
pub(crate) const LIGHT_BYTES_MAX: usize = 2 << 20;

/// Bytes reserved for the stack of a thread.
const STACK_BYTES: u64 = 2 << 20;

/// Blocking threads beyond those of requests: for calls that requests share, the readiness check,
/// and the store's status.
const BLOCKING_THREADS_MORE: usize = 64;

/// The fewest of these to which a limit on memory leads.
const BLOCKING_THREADS_MORE_LEAST: usize = 8;

/// The most connections at once that wait for an idle one to give way, or are being refused.
/// Connections beyond them are closed without an answer.
pub(crate) const REFUSALS_MAX: usize = 64;

/// The most connections beyond `connections_max` that may show at once that they are probes. One
/// more closes the oldest of them.
pub(crate) const LOBBY_MAX: usize = 48;

/// The most probes answered at once beyond `connections_max`.
pub(crate) const PROBES_MAX: usize = 16;

/// Bounds on the load, and on the time that the worker waits for its clients.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Requests worked on at once. By default fewer where the process may take less than 1 GiB of
    /// memory
    #[arg(long, value_name = "N", default_value_t = REQUESTS_MAX, value_parser = count(), env = "PIGEONHOLE_REQUESTS_MAX")]
    pub requests_max: u32,
    /// Requests that wait for a place; one more is answered 503
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(..=1_000_000), env = "PIGEONHOLE_QUEUE_MAX")]
    pub queue_max: u32,
    /// Time that a request may wait for a place; then it is answered 503
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(..=3_600_000), env = "PIGEONHOLE_QUEUE_MILLISECONDS_MAX")]
    pub queue_milliseconds_max: u64,
    /// Time that a request may take in all; then it is answered 503. In a batch: a call to the
    /// store
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, env = "PIGEONHOLE_REQUEST_SECONDS_MAX")]
    pub request_seconds_max: Duration,
    /// Batches under way at once, beside the requests; one more is answered 503
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = count(), env = "PIGEONHOLE_BATCHES_MAX")]
    pub batches_max: u32,
    /// Lines of a batch; past that it ends with a last line that says so
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..), env = "PIGEONHOLE_BATCH_LINES_MAX")]
    pub batch_lines_max: u64,
    /// Refuse a text of more bytes than this
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20, env = "PIGEONHOLE_TEXT_BYTES_MAX")]
    pub text_bytes_max: usize,
    /// Refuse a request body, or a line of a batch, of more bytes than this
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 20, env = "PIGEONHOLE_BODY_BYTES_MAX")]
    pub body_bytes_max: usize,
    /// Bytes of request bodies, and of answers above 64 KiB that are not read yet, held at once;
    /// what comes beyond is answered 503. Batches are apart. By default less where the process may
    /// take less than 2 GiB of memory
    #[arg(long, value_name = "BYTES", default_value_t = BYTES_MAX, env = "PIGEONHOLE_BODIES_BYTES_MAX")]
    pub bodies_bytes_max: u32,
    /// Bytes of memory for work on long texts at once, by what each becomes in normal form; what
    /// comes beyond waits for its turn. By default less where the process may take less than 2 GiB
    #[arg(long, value_name = "BYTES", default_value_t = BYTES_MAX, value_parser = clap::value_parser!(u32).range(1..), env = "PIGEONHOLE_WORK_BYTES_MAX")]
    pub work_bytes_max: u32,
    /// Bytes of memory for the texts of documents posted lately, which the page at / shows beside
    /// each other; 0 gives out no texts
    #[arg(long, value_name = "BYTES", default_value_t = RECENT_TEXTS_BYTES_MAX, env = "PIGEONHOLE_RECENT_TEXTS_BYTES_MAX")]
    pub recent_texts_bytes_max: usize,
    /// Time that the body of a request may take to arrive, or a line of a batch
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, env = "PIGEONHOLE_BODY_SECONDS_MAX")]
    pub body_seconds_max: Duration,
    /// Connections open at once; for one more the one that is idle longest is closed, or else it is
    /// answered 503 and closed. Fewer where the process may not open so many files
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = count(), env = "PIGEONHOLE_CONNECTIONS_MAX")]
    pub connections_max: u32,
    /// Time that the head of a request may take from its first byte on; then the connection is
    /// closed
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, env = "PIGEONHOLE_HEADER_SECONDS_MAX")]
    pub header_seconds_max: Duration,
    /// Time that a connection may stay open without a request
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, env = "PIGEONHOLE_IDLE_SECONDS_MAX")]
    pub idle_seconds_max: Duration,
    /// Time that a client may take to read 64 KiB of an answer, or all of a shorter one; then the
    /// connection is closed
    #[arg(long, hide = true, value_name = "SECONDS", default_value = "10", value_parser = seconds, env = "PIGEONHOLE_ANSWER_SECONDS_MAX")]
    pub answer_seconds_max: Duration,
}

/// Returns the number of heavy requests worked on at once, beside the places for requests.
pub(crate) fn n_heavy_max() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Parses a count from 1 to 1,000,000.
fn count() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=1_000_000)
}

impl Limits {
    /// Lowers the limits that have their defaults to fit the memory limit of the process.
    #[must_use]
    pub(crate) fn within(self, memory: &MemoryLimits) -> Self {
        match memory.least_of_all() {
            Some(n_bytes_max) => self.within_bytes(n_bytes_max),
            None => self,
        }
    }

    /// Returns the most blocking threads: one for each place, and some more. Where their stacks
    /// would take more than a part of a limit, there are fewer, and work waits for one; those that
    /// wait for memory themselves never take them all.
    pub(crate) fn blocking_threads_max(&self, memory: &MemoryLimits) -> usize {
        self.threads_within(memory.least_of_reserved())
    }

    fn threads_within(&self, n_bytes_max: Option<u64>) -> usize {
        let others = self.batches_max as usize + n_heavy_max();
        let n_max = self.requests_max as usize + others + BLOCKING_THREADS_MORE;
        let n_fit =
            n_bytes_max.map(|n| usize::try_from(n / PART_OF_LIMIT / STACK_BYTES).unwrap_or(usize::MAX));
        n_fit.map_or(n_max, |n| n.clamp(others + BLOCKING_THREADS_MORE_LEAST, n_max))
    }

    fn within_bytes(mut self, n_bytes_max: u64) -> Self {
        let part = n_bytes_max / PART_OF_LIMIT;
        if self.requests_max == REQUESTS_MAX {
            // One part for the light work of all of them, and one for their stacks.
            let n = part / (LIGHT_BYTES_MAX as u64).max(STACK_BYTES);
            self.requests_max = n.clamp(REQUESTS_LEAST, REQUESTS_MAX.into()) as u32;
        }
        let part = u32::try_from(part).unwrap_or(u32::MAX);
        for bytes_max in [&mut self.bodies_bytes_max, &mut self.work_bytes_max] {
            if *bytes_max == BYTES_MAX {
                // A body has room still.
                *bytes_max =
                    part.clamp(self.body_bytes_max.try_into().unwrap_or(BYTES_MAX).min(BYTES_MAX), BYTES_MAX);
            }
        }
        if self.recent_texts_bytes_max == RECENT_TEXTS_BYTES_MAX {
            self.recent_texts_bytes_max = RECENT_TEXTS_BYTES_MAX.min(part as usize / 2);
        }
        self
    }
}

/// Parses a time in seconds, such as `10` or `0.5`, from 0.001 to one day: a wait of zero would
/// refuse every client.
fn seconds(text: &str) -> Result<Duration, String> {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds
        .filter(|seconds| (Duration::from_millis(1)..=DAY).contains(seconds))
        .ok_or_else(|| "give seconds, from 0.001 to 86400".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Given {
        #[command(flatten)]
        limits: Limits,
    }

    #[test]
    fn defaults_fit_the_memory_that_there_is() {
        let within = |args: &[&str], n_bytes_max| {
            let Limits { bodies_bytes_max, work_bytes_max, recent_texts_bytes_max, .. } =
                Given::parse_from([&["worker"], args].concat()).limits.within_bytes(n_bytes_max);
            [bodies_bytes_max, work_bytes_max, recent_texts_bytes_max as u32].map(|n| n >> 20)
        };
        assert_eq!(within(&[], 4 << 30), [256, 256, 64]);
        assert_eq!(within(&[], 512 << 20), [64, 64, 32]);
        assert_eq!(within(&[], 16 << 20), [8, 8, 1]);
        assert_eq!(within(&["--work-bytes-max", "400000000"], 512 << 20), [64, 381, 32]);
        let n_requests = |args: &[&str], n_bytes_max| {
            Given::parse_from([&["worker"], args].concat()).limits.within_bytes(n_bytes_max).requests_max
        };
        assert_eq!([4 << 30, 1 << 30, 512 << 20, 1 << 20].map(|n| n_requests(&[], n)), [64, 64, 32, 4]);
        assert_eq!(n_requests(&["--requests-max", "100"], 512 << 20), 100);
    }

    #[test]
    fn stacks_of_threads_take_a_part() {
        let limits = Given::parse_from(["worker", "--batches-max", "3"]).limits;
        let (least, most) = (3 + n_heavy_max() + 8, 64 + 3 + n_heavy_max() + 64);
        assert_eq!(limits.threads_within(None), most);
        assert_eq!(limits.threads_within(Some(1 << 40)), most);
        assert_eq!(limits.threads_within(Some(512 << 20)), 32.max(least));
        assert_eq!(limits.threads_within(Some(1 << 20)), least);
    }
}
