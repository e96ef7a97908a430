//! The signals that end the process.

use anyhow::Context;
use tokio::sync::watch;
use tracing::warn;

/// How often the process has been told to stop, by Ctrl-C or, where there is such a thing, SIGTERM.
#[derive(Clone)]
pub(crate) struct Signals(watch::Receiver<u32>);

impl Signals {
    /// Listens from now on.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let (count, counted) = watch::channel(0);
        #[cfg(unix)]
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
            .context("failed to listen for SIGTERM")?;
        tokio::spawn(async move {
            loop {
                #[cfg(unix)]
                let terminated = terminate.recv();
                #[cfg(not(unix))]
                let terminated = std::future::pending::<Option<()>>();
                tokio::select! {
                    _ = terminated => {}
                    interrupted = tokio::signal::ctrl_c() => {
                        if let Err(error) = interrupted {
                            warn!(%error, "Ctrl-C cannot be heard; stopping now");
                        }
                    }
                }
                count.send_modify(|count| *count += 1);
            }
        });
        Ok(Self(counted))
    }

    /// Resolves at the `n`-th signal.
    pub(crate) async fn nth(mut self, n: u32) {
        // The task that counts ends with the runtime only.
        drop(self.0.wait_for(|count| *count >= n).await);
    }
}
