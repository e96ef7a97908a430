//! Retries of calls, and the pauses between tries.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::time;

use crate::regions::Regions;
use crate::{Advice, Client, ClientOptions, Error};

/// For so long the last try is made, at the end of the patience.
const LAST_TRY: Duration = Duration::from_millis(500);

/// The first pause between two tries. Later pauses double, up to [`PAUSE_MAX`].
const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// A call that is repeated until it succeeds or there is no hope.
pub(crate) struct Retry<'a> {
    client: &'a Client,
    table: &'a str,
    /// The time of the last progress.
    since: Instant,
    /// In place of the client's, where that is longer.
    patience: Option<Duration>,
    pause: Duration,
    /// True if the client's watcher knows that the call waits.
    is_told: bool,
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
        let since = Instant::now();
        Self { client, table, since, patience: None, pause: PAUSE_FIRST, is_told: false }
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
        self.since = Instant::now();
        self.pause = PAUSE_FIRST;
        if std::mem::take(&mut self.is_told)
            && let Some(watch) = self.client.watch()
        {
            watch.goes_on();
        }
    }

    /// Waits before another try, or hands the error back. `regions` are those used by the call:
    /// they are looked up anew if they may be to blame.
    pub(crate) async fn after(&mut self, error: Error, regions: Option<&Arc<Regions>>) -> Result<(), Error> {
        self.wait(error, regions).await.inspect_err(|_| {
            if std::mem::take(&mut self.is_told)
                && let Some(watch) = self.client.watch()
            {
                watch.gives_up();
            }
        })
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
        if self.pause == PAUSE_MAX
            && let Some(watch) = self.client.watch()
        {
            watch.waits(&error);
            self.is_told = true;
        }
        time::sleep(jittered(self.pause).min(left)).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Ok(())
    }
}

/// Returns a time between half of `pause` and all of it, so that callers spread out.
fn jittered(pause: Duration) -> Duration {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    pause.mul_f64(0.5 + f64::from(nanos % 1000) / 2000.0)
}
