//! Files read again when they change, or at a SIGHUP, which by default would end the process.
//!
//! Every look reads the files and compares their contents with the previous ones: file times would
//! miss the second of two changes within one tick of the file system's clock. Contents count as
//! seen once they are taken, or refused as invalid. Files that cannot be read do not count as seen,
//! and are tried again at the next look.

mod outdated;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use sha2::{Digest, Sha256};
use tokio::task;
use tracing::{error, info};

pub(crate) use self::outdated::Outdated;
use crate::metrics::Metrics;

/// Pause between two looks.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The number of looks with the same failure for one line of the log: a minute of looks.
const LOOKS_A_LINE: u32 = 60;

/// The most reads at one look of files that change during the read.
const READS_MAX: usize = 3;

/// The most bytes of a file. A hundred thousand keys take less.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A value made from files, and made anew when the files change.
pub(crate) trait Reloaded: Send + Sync + 'static {
    /// Name in the log.
    const WHAT: &'static str;
    /// Name in the metrics.
    const LABEL: &'static str;

    fn files(&self) -> Vec<PathBuf>;

    /// Returns the contents of each file. Fails if a file cannot be read or must not be trusted.
    fn read(&self) -> anyhow::Result<Vec<Vec<u8>>>;

    /// Makes the value anew from the contents; returns the number of its parts. Fails if the
    /// contents are invalid, and then leaves the previous value in force.
    fn take(&self, contents: &[Vec<u8>]) -> anyhow::Result<usize>;
}

/// Installs a handler of SIGHUP, so that one that comes before [`watch`] does not end the process.
/// Such a signal has no further effect: the files were just read. Called outside the runtime.
pub(crate) fn survive_hang_ups() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let runtime = runtime.context("failed to start the async runtime")?;
    let _in_runtime = runtime.enter();
    // The handler stays installed after the runtime has ended.
    HangUp::listen().map(drop)
}

/// Watches the files for as long as the runtime lives.
pub(crate) fn watch<T: Reloaded>(
    what: Arc<T>,
    metrics: Arc<Metrics>,
    outdated: Arc<Outdated>,
) -> anyhow::Result<()> {
    let mut hang_up = HangUp::listen()?;
    let watch = Arc::new(Watch { what, seen: Mutex::default() });
    let mut telling =
        Telling { what: T::WHAT, label: T::LABEL, metrics, outdated, n_unreadable: 0, said: String::new() };
    tokio::spawn(async move {
        loop {
            let is_told = tokio::select! {
                () = tokio::time::sleep(LOOK_INTERVAL) => false,
                () = hang_up.heard() => true,
            };
            let watch = Arc::clone(&watch);
            // Only this task waits for a file system that hangs.
            match task::spawn_blocking(move || watch.look(is_told)).await {
                Ok(looked) => telling.tell(&looked),
                Err(error) => error!(%error, "a look at {} broke off", T::WHAT),
            }
        }
    });
    Ok(())
}

/// Handles SIGHUP if there is no file to read again: logs that the signal had no effect.
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

/// Reads a file to its end, up to `FILE_BYTES_MAX`.
pub(crate) fn read_whole(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {FILE_BYTES_MAX} bytes"),
        ));
    }
    Ok(bytes)
}

/// Outcome of a look at the files.
#[derive(Debug)]
enum Looked {
    /// The contents and the value are unchanged.
    AsBefore { is_refused: bool },
    /// The value was made anew, from `n_read` parts. The first look is no news, as the files need
    /// not have changed.
    Taken { n_read: usize, is_news: bool },
    /// The contents are invalid.
    Refused(anyhow::Error),
    /// The contents are unknown.
    Unreadable(anyhow::Error),
}

/// The contents last seen, and true if they were refused.
struct Seen {
    digest: [u8; 32],
    is_refused: bool,
}

struct Watch<T> {
    what: Arc<T>,
    seen: Mutex<Option<Seen>>,
}

impl<T: Reloaded> Watch<T> {
    /// Looks once. Unchanged contents are taken anew only after a SIGHUP.
    fn look(&self, is_told: bool) -> Looked {
        // A look that panicked counts nothing as seen.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let contents = match self.read() {
            Ok(contents) => contents,
            Err(error) => return Looked::Unreadable(error),
        };
        let digest = digest(&contents);
        match &*seen {
            Some(Seen { digest: before, is_refused }) if *before == digest && !is_told => {
                return Looked::AsBefore { is_refused: *is_refused };
            }
            _ => {}
        }
        let is_news = is_told || seen.is_some();
        let taken = self.what.take(&contents);
        *seen = Some(Seen { digest, is_refused: taken.is_err() });
        taken.map_or_else(Looked::Refused, |n_read| Looked::Taken { n_read, is_news })
    }

    /// Reads all files as of one moment.
    fn read(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        let files = self.what.files();
        for _ in 0..READS_MAX {
            let before: Vec<_> = files.iter().map(|file| state(file)).collect();
            all_regular(&files)?;
            let contents = self.what.read()?;
            if before == files.iter().map(|file| state(file)).collect::<Vec<_>>() {
                return Ok(contents);
            }
        }
        anyhow::bail!("it changes while it is read")
    }
}

fn digest(contents: &[Vec<u8>]) -> [u8; 32] {
    let of_each = contents.iter().map(Sha256::digest);
    of_each.fold(Sha256::new(), |all, one| all.chain_update(one)).finalize().into()
}

/// Reporter of looks: to the log, the metrics and the readiness check.
struct Telling {
    what: &'static str,
    label: &'static str,
    metrics: Arc<Metrics>,
    outdated: Arc<Outdated>,
    /// Number of looks since the files could last be read.
    n_unreadable: u32,
    /// The last logged reason.
    said: String,
}

impl Telling {
    fn tell(&mut self, looked: &Looked) {
        let (is_outdated, outcome) = match looked {
            Looked::AsBefore { is_refused } => (*is_refused, None),
            Looked::Taken { is_news, .. } => (false, is_news.then_some("taken")),
            Looked::Refused(_) => (true, Some("refused")),
            Looked::Unreadable(_) => (true, Some("unreadable")),
        };
        // Metrics first: an operator who has read the log line finds the same in the metrics.
        self.outdated.set(self.label, is_outdated);
        if let Some(outcome) = outcome {
            self.metrics.reloaded(self.label, outcome);
        }
        self.log(looked);
        let is_unreadable = matches!(looked, Looked::Unreadable(_));
        self.n_unreadable = if is_unreadable { self.n_unreadable.wrapping_add(1) } else { 0 };
    }

    fn log(&mut self, looked: &Looked) {
        let (what, was_unreadable) = (self.what, self.n_unreadable > 0);
        match looked {
            Looked::AsBefore { .. } if was_unreadable => info!("{what} can be read again, and are as before"),
            Looked::Taken { n_read, is_news } if *is_news || was_unreadable => {
                info!(n_read, "{what} read again");
            }
            Looked::AsBefore { .. } | Looked::Taken { .. } => {}
            Looked::Refused(error) => {
                error!(
                    error = format!("{error:#}"),
                    "{what} cannot be read again; those before stay in force"
                );
            }
            Looked::Unreadable(error) => {
                let error = format!("{error:#}");
                if self.n_unreadable.is_multiple_of(LOOKS_A_LINE) || error != self.said {
                    error!(
                        error,
                        "{what} cannot be read again; those before stay in force, and it is tried again"
                    );
                    self.said = error;
                }
            }
        }
    }
}

/// Refuses other files, of which a read may block for ever or consume the content.
fn all_regular(files: &[PathBuf]) -> anyhow::Result<()> {
    for file in files {
        // A missing file is reported by the read.
        let is_other = file.metadata().is_ok_and(|metadata| !metadata.is_file());
        ensure!(!is_other, "`{}` is no regular file", file.display());
    }
    Ok(())
}

/// Returns a state that differs after the file was written to or replaced.
#[cfg(unix)]
fn state(file: &Path) -> Option<[i64; 5]> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata().ok()?;
    // The time of change: the time of modification can be set.
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

/// SIGHUP, which asks a process to read its files again; never heard on systems without signals.
struct HangUp {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl HangUp {
    fn listen() -> anyhow::Result<Self> {
        #[cfg(unix)]
        let signal = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup())
            .context("failed to listen for SIGHUP")?;
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
