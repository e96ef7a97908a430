//! Files that are read again when they change, or at a SIGHUP; by itself that would end the process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use tokio::task;
use tracing::{error, info};

/// How often to look.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Calls `load`, which says how many of `what` there are now, for as long as the runtime lives: soon, and then when one of
/// `files` has changed. What is broken is not taken, so that what was in force stays.
pub(crate) fn watch(
    files: Vec<PathBuf>,
    what: &'static str,
    load: impl Fn() -> anyhow::Result<usize> + Send + Sync + 'static,
) -> anyhow::Result<()> {
    let mut hang_up = HangUp::listen()?;
    let (files, load) = (Arc::new(files), Arc::new(load));
    tokio::spawn(async move {
        let mut seen = None;
        loop {
            let is_told = tokio::select! {
                () = tokio::time::sleep(LOOK_INTERVAL) => false,
                () = hang_up.heard() => true,
            };
            let (files, load, before) = (Arc::clone(&files), Arc::clone(&load), seen.clone());
            // Where a file system hangs only this waits for it.
            let looked = task::spawn_blocking(move || {
                // Before they are read: what changes after this is seen the next time.
                let state: Vec<_> = files.iter().map(|file| state(file)).collect();
                let has_changed = is_told || before.as_ref() != Some(&state);
                let loaded = has_changed.then(|| all_regular(&files).and_then(|()| load()));
                (state, loaded)
            });
            let Ok((state, Some(loaded))) = looked.await else { continue };
            match loaded {
                // The first time it is only made sure that nothing changed since the start.
                Ok(n_read) if seen.is_some() || is_told => info!(n_read, "{what} read again"),
                Ok(_) => {}
                Err(error) => {
                    error!(
                        error = format!("{error:#}"),
                        "{what} cannot be read again; those before stay in force"
                    );
                }
            }
            seen = Some(state);
        }
    });
    Ok(())
}

/// Where there is nothing to read again a SIGHUP is heard all the same, and said to have done nothing.
pub(crate) fn watch_nothing() -> anyhow::Result<()> {
    let mut hang_up = HangUp::listen()?;
    tokio::spawn(async move {
        loop {
            hang_up.heard().await;
            info!("told by SIGHUP to read the files again, but there are neither --keys nor --tls-cert");
        }
    });
    Ok(())
}

/// To read anything else may take for ever, or give something only once.
fn all_regular(files: &[PathBuf]) -> anyhow::Result<()> {
    for file in files {
        // What is not there is for whoever reads it to say.
        let is_other = file.metadata().is_ok_and(|metadata| !metadata.is_file());
        ensure!(!is_other, "`{}` is no regular file", file.display());
    }
    Ok(())
}

/// Something that is another one whenever the file is.
#[cfg(unix)]
fn state(file: &Path) -> Option<[i64; 5]> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata().ok()?;
    // The time of change and not of modification: nobody can set it, and it has the mode, too.
    Some([
        metadata.dev().cast_signed(),
        metadata.ino().cast_signed(),
        metadata.len().cast_signed(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ])
}

#[cfg(not(unix))]
fn state(file: &Path) -> Option<(u64, Option<std::time::SystemTime>)> {
    let metadata = file.metadata().ok()?;
    Some((metadata.len(), metadata.modified().ok()))
}

/// The signal by which a process is told to read its files again, where there is such a thing.
struct HangUp {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl HangUp {
    fn listen() -> anyhow::Result<Self> {
        #[cfg(unix)]
        let signal = {
            use anyhow::Context;
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup())
                .context("failed to listen for SIGHUP")?
        };
        Ok(Self {
            #[cfg(unix)]
            signal,
        })
    }

    async fn heard(&mut self) {
        #[cfg(unix)]
        self.signal.recv().await;
        #[cfg(not(unix))]
        std::future::pending::<()>().await;
    }
}
