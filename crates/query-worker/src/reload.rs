//! Files that are read again when they change, or at a SIGHUP; by itself that would end the process.
//!
//! They are read at every look, and what is in them is compared with what was there before: the times of a file would
//! miss the second of two changes within one tick of the file system's clock. What is in them has been seen once it was
//! taken, or refused for what it is. What could not be read has not been seen, and is tried again at the next look.

mod outdated;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::ensure;
use sha2::{Digest, Sha256};
use tokio::task;
use tracing::{error, info};

pub(crate) use self::outdated::Outdated;
use crate::metrics::Metrics;

/// How often to look.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// So many looks that fail alike are one line of the log: a minute of them.
const LOOKS_A_LINE: u32 = 60;

/// How often files are read at one look that change while they are read.
const READS_MAX: usize = 3;

/// The most bytes of a file. A hundred thousand keys have less.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Something that is made of files, and is made anew when they change.
pub(crate) trait Reloaded: Send + Sync + 'static {
    /// What it is called in the log.
    const WHAT: &'static str;
    /// What it is called in the metrics.
    const LABEL: &'static str;

    fn files(&self) -> Vec<PathBuf>;

    /// What is in each of them. It fails where that is not known, or must not be believed.
    fn read(&self) -> anyhow::Result<Vec<Vec<u8>>>;

    /// Makes it anew of what was read, and says how many of it there are now. It fails for what is in the files, and
    /// then leaves in force what was.
    fn take(&self, contents: &[Vec<u8>]) -> anyhow::Result<usize>;
}

/// Looks at the files for as long as the runtime lives.
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
            // Where a file system hangs only this waits for it.
            match task::spawn_blocking(move || watch.look(is_told)).await {
                Ok(looked) => telling.tell(&looked),
                Err(error) => error!(%error, "a look at {} broke off", T::WHAT),
            }
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

/// Reads a file to its end.
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

/// What a look at the files came to.
#[derive(Debug)]
enum Looked {
    /// They are as before, and so is what was made of them.
    AsBefore { is_refused: bool },
    /// It was made anew, and there are so many. The first time nothing need have changed.
    Taken { n_read: usize, is_news: bool },
    /// What is in them is of no use.
    Refused(anyhow::Error),
    /// What is in them is not known.
    Unreadable(anyhow::Error),
}

/// What was in the files, and whether it was refused.
struct Seen {
    digest: [u8; 32],
    is_refused: bool,
}

struct Watch<T> {
    what: Arc<T>,
    seen: Mutex<Option<Seen>>,
}

impl<T: Reloaded> Watch<T> {
    /// Looks once. What is as before is made anew only after a SIGHUP.
    fn look(&self, is_told: bool) -> Looked {
        // A look that panicked has seen nothing.
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

    /// Reads the files as they were at one moment.
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

/// Says what looks came to: in the log, in the metrics, and where the readiness is asked for.
struct Telling {
    what: &'static str,
    label: &'static str,
    metrics: Arc<Metrics>,
    outdated: Arc<Outdated>,
    /// Looks in which the files could not be read, since they last could.
    n_unreadable: u32,
    /// Why they could not, as it was last said.
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
        // The metrics come before the log, so that an operator who has read the line finds the same there.
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

/// To read anything else may take for ever, or give something only once.
fn all_regular(files: &[PathBuf]) -> anyhow::Result<()> {
    for file in files {
        // What is not there is for the read to say.
        let is_other = file.metadata().is_ok_and(|metadata| !metadata.is_file());
        ensure!(!is_other, "`{}` is no regular file", file.display());
    }
    Ok(())
}

/// Something that is another one where the file is written to, or replaced, in between.
#[cfg(unix)]
fn state(file: &Path) -> Option<[i64; 5]> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata().ok()?;
    // The time of change and not of modification, which can be set.
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
