//! How often a call is made again, and how long it is waited in between.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::time;

use crate::regions::Regions;
use crate::{Advice, Client, ClientOptions, Error};

/// For so long the last try is made, at the end of the patience.
const LAST_TRY: Duration = Duration::from_millis(500);

/// Pauses between two tries: at first, and at most.
const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// A call that is made until it succeeds, or there is no hope.
pub(crate) struct Retry<'a> {
    client: &'a Client,
    table: &'a str,
    /// Since when nothing has come of it.
    since: Instant,
    /// In place of the client's, where that is longer.
    patience: Option<Duration>,
    pause: Duration,
    /// Whether the client's watcher was told.
    is_told: bool,
}

/// Is told of servers that are waited for: by many calls at once, so it says so once, if at all.
pub trait Watch: fmt::Debug + Send + Sync {
    /// A call has not been answered for some time, and is made again.
    fn waits(&self, error: &Error);

    /// One that has waited is going on.
    fn goes_on(&self);

    /// One that has waited does so no more, and was not answered.
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

    /// How long the next try may take: the first one as long as any call, the others no longer than
    /// the patience that is left, but for the last one.
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

    /// Something was done: patience begins anew.
    pub(crate) fn has_gone_on(&mut self) {
        self.since = Instant::now();
        self.pause = PAUSE_FIRST;
        if std::mem::take(&mut self.is_told)
            && let Some(watch) = self.client.watch()
        {
            watch.goes_on();
        }
    }

    /// Waits before another try; or hands the error back. `regions` are those that were gone by: they are looked up anew
    /// where they may be what was wrong.
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
            // A region of a disabled table is nowhere, as one that is on its way.
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

/// Between a half and all of it, so that callers do not come together again.
fn jittered(pause: Duration) -> Duration {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    pause.mul_f64(0.5 + f64::from(nanos % 1000) / 2000.0)
}
