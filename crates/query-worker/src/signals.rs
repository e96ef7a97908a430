//! The signals that end the process.

use anyhow::Context;
use tokio::sync::watch;
use tracing::warn;

/// Counts stop signals to the process: Ctrl-C and, on Unix, SIGTERM.
#[derive(Clone)]
pub(crate) struct Signals(watch::Receiver<u32>);

impl Signals {
    /// Starts to listen for the signals.
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
        // Never fails: the counting task lives as long as the runtime.
        drop(self.0.wait_for(|count| *count >= n).await);
    }
}
