//! Long reads and writes of files, with their progress.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use sha2::{Digest, Sha256};

use super::manifest::hex;
use crate::progress::Progress;

/// Time between two looks at the length of a file.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
const BUFFER_BYTES: usize = 1 << 20;

/// Does work that makes a file longer, and shows how long the file is.
pub(super) fn watching<T>(
    done: &str,
    file: &Path,
    n_bytes_max: u64,
    quiet: bool,
    work: impl FnOnce() -> T,
) -> T {
    let (ended, end) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut progress = Progress::start(quiet);
            while end.recv_timeout(LOOK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let n_bytes = fs::metadata(file).map_or(0, |there| there.len());
                progress.show(format_args!("{done} {n_bytes} of at most {n_bytes_max} bytes"));
            }
        });
        let result = work();
        drop(ended);
        result
    })
}

/// Reads a file, and returns its length and its SHA-256.
pub(super) fn sum(path: &Path, quiet: bool) -> anyhow::Result<(u64, String)> {
    let mut nowhere = std::io::sink();
    copy_summed(path, &mut nowhere, "summed", quiet)
}

/// Copies a file to `to`, and returns the length and the SHA-256 of what was read.
pub(super) fn copy_summed(
    path: &Path,
    to: &mut dyn Write,
    done: &str,
    quiet: bool,
) -> anyhow::Result<(u64, String)> {
    let failed = || format!("failed to read {}", path.display());
    let mut from = File::open(path).with_context(failed)?;
    let n_bytes_all = from.metadata().with_context(failed)?.len();
    let mut progress = Progress::start(quiet);
    let (mut sum, mut n_bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let n = from.read(&mut buffer).with_context(failed)?;
        if n == 0 {
            return Ok((n_bytes, hex(&sum.finalize())));
        }
        sum.update(&buffer[..n]);
        to.write_all(&buffer[..n])?;
        n_bytes += n as u64;
        progress.show(format_args!("{done} {n_bytes} of {n_bytes_all} bytes"));
    }
}
