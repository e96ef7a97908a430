//! Rounds of a job by two clocks, and their medians.

use std::collections::BTreeMap;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use super::stop::Stop;
use crate::progress::Progress;

/// Least number of rounds of a job.
const ROUNDS_MIN: usize = 3;
/// Greatest number, beyond which a median hardly changes.
const ROUNDS_MAX: usize = 1_000;

/// The time of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Seconds by the clock.
    pub(super) wall: f64,
    /// Processor seconds of all threads of this process.
    pub(super) cpu: f64,
}

/// A job with its rounds.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) job: &'static str,
    /// The name of the corpus; `None` for a job without texts.
    pub(super) corpus: Option<String>,
    pub(super) unit: &'static str,
    /// Units of a round.
    pub(super) n: u64,
    /// Bytes of text of a round.
    pub(super) n_bytes: Option<u64>,
    pub(super) n_threads: usize,
    /// What was warm before the first round that counts.
    pub(super) warm: &'static str,
    pub(super) rounds: Vec<Round>,
    /// Numbers of what was found, and sizes.
    pub(super) counts: BTreeMap<&'static str, u64>,
}

impl Measured {
    /// The median of the rounds' seconds by the clock.
    pub(super) fn wall(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.wall).collect())
    }

    /// The median of the rounds' processor seconds.
    pub(super) fn cpu(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.cpu).collect())
    }

    /// Units a second, by the clock.
    pub(super) fn per_second(&self) -> f64 {
        self.n as f64 / self.wall()
    }

    /// Units a processor second.
    pub(super) fn per_cpu_second(&self) -> f64 {
        self.n as f64 / self.cpu()
    }

    /// Megabytes of text a processor second.
    pub(super) fn mb_per_cpu_second(&self) -> Option<f64> {
        self.n_bytes.map(|n_bytes| n_bytes as f64 / 1e6 / self.cpu())
    }
}

/// The middle one, or the upper one of the two in the middle.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Repeats jobs, each for its share of the time.
pub(super) struct Rounds<'a> {
    seconds: f64,
    stop: &'a Stop,
    progress: &'a mut Progress,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(seconds: f64, stop: &'a Stop, progress: &'a mut Progress) -> Self {
        Self { seconds, stop, progress }
    }

    /// Fails once a signal was received.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        Ok(self.stop.check()?)
    }

    /// Shows the job that runs.
    pub(super) fn show(&mut self, job: &str) {
        self.progress.show(format_args!("measuring {job}"));
    }

    /// Measures one call.
    pub(super) fn one<T>(&self, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(Round, T)> {
        self.check()?;
        let (wall, cpu) = (Instant::now(), cpu_seconds());
        let done = work()?;
        Ok((Round { wall: wall.elapsed().as_secs_f64(), cpu: cpu_seconds() - cpu }, done))
    }

    /// Calls `round` until the share of the time is spent. `round` measures what it does by
    /// [`one`](Self::one), and may do more that does not count.
    pub(super) fn repeat(
        &mut self,
        job: &str,
        mut round: impl FnMut(&Self) -> anyhow::Result<Round>,
    ) -> anyhow::Result<Vec<Round>> {
        let begun = Instant::now();
        let mut rounds = Vec::new();
        while rounds.len() < ROUNDS_MIN
            || begun.elapsed().as_secs_f64() < self.seconds && rounds.len() < ROUNDS_MAX
        {
            self.show(job);
            rounds.push(round(self)?);
        }
        Ok(rounds)
    }

    /// Repeats a whole job after one round that does not count.
    pub(super) fn repeat_warm(
        &mut self,
        job: &str,
        mut work: impl FnMut(&Self) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<Round>> {
        work(self)?;
        self.repeat(job, |rounds| Ok(rounds.one(|| work(rounds))?.0))
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
