//! Attempts calls until they are done or hopeless: pauses, patience, and the wording of the final
//! error.

use std::hash::{BuildHasher, RandomState};
use std::thread;
use std::time::{Duration, Instant};

use index::backend::Away;
use index::{Error, ErrorKind, Result};

use super::{Attempt, Call, Dispatch, FailureOf, LAST_TRY, Until};
use crate::options::Options;
use crate::rows::TableNames;
use crate::server::{Failure, Meaning, Server};

/// The number of senseless answers, or breakdowns, of a server after which calls fail.
const STRANGE_MAX: u32 = 3;

const BACKOFF_MIN: Duration = Duration::from_millis(20);
const BACKOFF_MAX: Duration = Duration::from_secs(2);

/// Repeats the calls of one store.
pub(crate) struct Retry {
    server: Server,
    tables: TableNames,
    options: Options,
    away: Away,
}

impl Retry {
    pub(crate) fn new(server: Server, tables: TableNames, options: Options) -> Self {
        Self { server, tables, options, away: Away::default() }
    }

    /// Attempts the calls until none is left.
    pub(crate) fn run<C: Call>(&self, mut calls: Dispatch<'_, C>) -> Result<()> {
        let mut patience = self.patience(&calls);
        while calls.n_left() > 0 {
            let n_done = calls.n_done();
            let failure = match calls.attempt(patience.until())? {
                Attempt::Went => None,
                Attempt::Failed(failure) => Some(failure),
                Attempt::Exhausted => return Err(self.busy(patience.limit)),
            };
            if calls.n_done() > n_done {
                self.away.is_back(&self.server.address);
                patience = self.patience(&calls);
            }
            if let Some(failure) = failure {
                patience.wait(failure, &calls)?;
            }
        }
        Ok(())
    }

    fn patience<C: Call>(&self, calls: &Dispatch<'_, C>) -> Patience<'_> {
        let Options { patience, first_patience, .. } = self.options;
        let limit = if calls.has_connected() { patience } else { first_patience };
        let since = Instant::now();
        Patience { retry: self, limit, since, deadline: since + limit, pause: BACKOFF_MIN, n_strange: 0 }
    }

    fn busy(&self, waited: Duration) -> Error {
        Error::new(
            ErrorKind::Busy,
            format!(
                "all {} connections to {} were in use for {} s; allow more with ?connections=N",
                self.options.n_connections,
                self.server.address,
                waited.as_secs_f32()
            ),
        )
    }
}

/// The remaining time for attempts, and the pause before the next.
struct Patience<'a> {
    retry: &'a Retry,
    limit: Duration,
    since: Instant,
    deadline: Instant,
    pause: Duration,
    n_strange: u32,
}

impl Patience<'_> {
    fn until(&self) -> Until {
        Until { deadline: self.deadline, is_late: self.since.elapsed() >= LAST_TRY }
    }

    /// Sleeps, if another attempt can help and there is time left for one.
    fn wait<C: Call>(&mut self, failure: FailureOf<C>, calls: &Dispatch<'_, C>) -> Result<()> {
        let Retry { server, tables, away, .. } = self.retry;
        let progress = || {
            let n_done = calls.n_done();
            format!("{n_done} of {} requests were done", n_done + calls.n_left())
        };
        let meaning = failure.means();
        if let Some(error) = server.refusal(meaning, tables) {
            return Err(error.caused_by(failure));
        }
        self.n_strange += u32::from(meaning == Meaning::Strange);
        if self.n_strange >= STRANGE_MAX {
            return Err(server.strange(&progress()).caused_by(failure));
        }
        // A random part of the pause, at least half: callers that failed together do not come back
        // together.
        let spread = RandomState::new().hash_one(0) as f64 / u64::MAX as f64;
        let pause = self.pause.mul_f64(1.0 - spread / 2.0);
        // The last try comes at the very end.
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let tried = format!("for {:.0} s, {}", self.since.elapsed().as_secs_f32(), progress());
            return Err(server.unavailable(meaning, &tried, tables).caused_by(failure));
        }
        if self.pause == BACKOFF_MAX {
            away.waits(&server.address, &failure);
        }
        thread::sleep(pause.min(left));
        self.pause = (self.pause * 2).min(BACKOFF_MAX);
        Ok(())
    }
}
