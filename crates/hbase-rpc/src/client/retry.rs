//! Retries of calls, and the pauses between tries.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time;

use crate::regions::Regions;
use crate::{Advice, Client, ClientOptions, Error};

/// For so long the last try is made, at the end of the patience.
const LAST_TRY: Duration = Duration::from_millis(500);

/// The first pause between two tries. Later pauses double, up to [`PAUSE_MAX`].
const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// The failed tries in a row from which the watcher hears of a call: from here on pauses are the
/// longest.
const TOLD_FROM: u32 = 9;

/// The tries of a call, which is repeated until it succeeds or there is no hope.
pub(crate) struct Retry<'a> {
    client: &'a Client,
    table: &'a str,
    /// The time of the last progress.
    since: time::Instant,
    /// In place of the client's, where that is longer.
    patience: Option<Duration>,
    pauses: ExponentialBackoff,
    /// The number of failed tries since the last progress.
    n_failed: u32,
    /// True if the client's watcher knows that the call waits.
    is_told: bool,
}

/// The reason why a try failed.
pub(crate) enum Failed<E> {
    /// The caller's own error, which no other try mends.
    Final(E),
    /// The error of a call, with the regions used by it: they are looked up anew if they may be to
    /// blame.
    Call(Error, Option<Arc<Regions>>),
}

impl<E> From<Error> for Failed<E> {
    /// Returns the failure of a call that has not come to use any regions.
    fn from(error: Error) -> Self {
        Self::Call(error, None)
    }
}

/// Listener for calls that wait for servers. Many calls may report the same wait at once, so a
/// listener passes it on once, if at all.
pub trait Watch: fmt::Debug + Send + Sync {
    /// Reports a call without an answer for some time, which is made again.
    fn waits(&self, error: &Error);

    /// Reports that a waiting call goes on.
    fn goes_on(&self);

    /// Reports that a waiting call was given up without an answer.
    fn gives_up(&self) {}
}

impl<'a> Retry<'a> {
    pub(crate) fn new(client: &'a Client, table: &'a str) -> Self {
        let since = time::Instant::now();
        Self { client, table, since, patience: None, pauses: pauses(), n_failed: 0, is_told: false }
    }

    /// The same, which waits no longer than this.
    pub(crate) fn with_patience(self, patience: Option<Duration>) -> Self {
        Self { patience, ..self }
    }

    /// The least of some patience and the own one.
    fn at_most(&self, patience: Duration) -> Duration {
        self.patience.map_or(patience, |own| own.min(patience))
    }

    /// The time for the next try: for the first one that of any call, for the others no more than
    /// the rest of the patience, except for the last one.
    pub(crate) fn within(&self) -> Duration {
        let ClientOptions { call_timeout, patience, .. } = *self.client.options();
        let waited = self.since.elapsed();
        if waited < LAST_TRY {
            return self.at_most(call_timeout);
        }
        call_timeout.min(self.at_most(patience).saturating_sub(waited).max(LAST_TRY))
    }

    /// When a try that begins now ends.
    pub(crate) fn until(&self) -> Instant {
        Instant::now() + self.within()
    }

    /// Notes progress: patience begins anew.
    pub(crate) fn has_gone_on(&mut self) {
        self.since = time::Instant::now();
        (self.pauses, self.n_failed) = (pauses(), 0);
        if std::mem::take(&mut self.is_told)
            && let Some(watch) = self.client.watch()
        {
            watch.goes_on();
        }
    }

    /// Waits before another try, or hands the error back.
    pub(crate) async fn after<E: From<Error>>(&mut self, failed: Failed<E>) -> Result<(), E> {
        let (error, regions) = match failed {
            Failed::Final(error) => return Err(error),
            Failed::Call(error, regions) => (error, regions),
        };
        let waited = self.wait(error, regions.as_ref()).await;
        if waited.is_err()
            && std::mem::take(&mut self.is_told)
            && let Some(watch) = self.client.watch()
        {
            watch.gives_up();
        }
        Ok(waited?)
    }

    async fn wait(&mut self, error: Error, regions: Option<&Arc<Regions>>) -> Result<(), Error> {
        let advice = error.advice();
        if advice == Advice::GiveUp {
            return Err(error);
        }
        let waited = self.since.elapsed();
        let left = self.at_most(self.client.patience()).saturating_sub(waited);
        if left.is_zero() {
            return Err(Error::GaveUp { waited, source: Box::new(error) });
        }
        if advice == Advice::LookUpAgain {
            self.client.forget(self.table, regions);
            // A region of a disabled table is on no server, as one on its way.
            if let Error::Remote(remote) = &error
                && remote.is_elsewhere()
                && let Ok(Some(false)) = Box::pin(self.client.is_enabled(self.table, self.until())).await
            {
                return Err(Error::remote("TableNotEnabledException", self.table));
            }
        }
        self.n_failed += 1;
        if self.n_failed >= TOLD_FROM
            && let Some(watch) = self.client.watch()
        {
            watch.waits(&error);
            self.is_told = true;
        }
        // The last try comes at the very end.
        time::sleep(self.pauses.next().unwrap_or(PAUSE_MAX).min(left)).await;
        Ok(())
    }
}

/// Returns pauses of which a random part of at most half is left out, so that callers spread out.
fn pauses() -> ExponentialBackoff {
    // Half of each pause is certain; the library adds up to as much at random.
    ExponentialBuilder::new()
        .with_min_delay(PAUSE_FIRST / 2)
        .with_max_delay(PAUSE_MAX / 2)
        .without_max_times()
        .with_jitter()
        .build()
}
