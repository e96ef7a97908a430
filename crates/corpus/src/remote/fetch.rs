//! Reading of a range of a remote file. After an interruption, reading resumes at the same place,
//! as long as the version is the same.
//!
//! A task reads ahead by some parts: memory is bounded, and the reading thread finds bytes ready.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::StreamExt;
use index::backend::retry::{Failed, Late, Retry, Tries};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::Remote;
use super::storage::{Failure, Storage, Version};

/// Size of a part, and number of parts waiting to be read: some 4 MiB are read ahead.
const PART_BYTES: usize = 512 << 10;
const PARTS_MAX: usize = 8;

pub(super) const RETRY: Retry = Retry::new(Duration::from_millis(250), Duration::from_secs(8));

/// The reason to end when the reader is gone; no other reader hears of it.
const UNREAD: &str = "its reader is gone";

/// Time limits for a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For the answer whether a file exists, with repeated requests included.
    pub(super) look: Duration,
    /// For silence, before the stream counts as broken off.
    pub(super) stall: Duration,
    /// Since the last bytes came, before the rest is given up.
    pub(super) wait: Duration,
}

/// Reader of a range; the error is the reason why the rest is unavailable.
pub(super) struct Fetched {
    parts: mpsc::Receiver<Result<Bytes, String>>,
    part: Bytes,
    /// Number of bytes still to come.
    n_left: u64,
    /// Keeps the runtime alive, and with it the task.
    _remote: Remote,
}

impl Fetched {
    pub(super) fn start(
        remote: &Remote,
        storage: Arc<dyn Storage>,
        key: Arc<str>,
        version: Version,
        range: Range<u64>,
    ) -> Self {
        let (sender, parts) = mpsc::channel(PARTS_MAX);
        let n_left = range.end - range.start;
        let patience = remote.0.patience;
        let fetch = Fetch { storage, key, version, range, part: BytesMut::new(), parts: sender, patience };
        remote.0.runtime.spawn(fetch.run());
        Self { parts, part: Bytes::new(), n_left, _remote: remote.clone() }
    }
}

impl Read for Fetched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.part.is_empty() {
            match self.parts.blocking_recv() {
                Some(part) => self.part = part.map_err(io::Error::other)?,
                None if self.n_left == 0 => return Ok(0),
                None => return Err(io::Error::other("the task that reads it ended early")),
            }
            self.n_left -= self.part.len() as u64;
        }
        let n = self.part.len().min(buffer.len());
        self.part.copy_to_slice(&mut buffer[..n]);
        Ok(n)
    }
}

struct Fetch {
    storage: Arc<dyn Storage>,
    key: Arc<str>,
    /// The version required of every answer.
    version: Version,
    /// The range still to come.
    range: Range<u64>,
    /// Bytes received and not yet handed over.
    part: BytesMut,
    parts: mpsc::Sender<Result<Bytes, String>>,
    patience: Patience,
}

impl Fetch {
    async fn run(mut self) {
        let end = self.all().await;
        // Bytes received before the end count. The receiver may be gone by now.
        if !self.part.is_empty() {
            self.hand_over().await;
        }
        if let Err(why) = end {
            self.parts.send(Err(why)).await.unwrap_or(());
        }
    }

    async fn all(&mut self) -> Result<(), String> {
        if self.range.is_empty() {
            return Ok(());
        }
        let wait = self.patience.wait;
        let mut tries = RETRY.start(wait, || Instant::now().into_std());
        while let Err(failed) = self.attempt(&mut tries).await {
            match tries.after(failed) {
                Ok((pause, _)) => sleep(pause.time).await,
                Err(Failed::Final(why)) => return Err(why),
                Err(Failed::Away(Late { last: why, .. })) => {
                    let (place, seconds) = (self.range.start, wait.as_secs());
                    return Err(format!(
                        "it broke off after {place} bytes, and {seconds} s later (--input-wait-seconds): {why}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Reads on, and returns a failure by the use of another attempt. The time begins when the
    /// reading first breaks off, and with any progress.
    async fn attempt(&mut self, tries: &mut Tries) -> Result<(), Failed<String, String>> {
        let before = self.range.start;
        let why = match self.go_on().await {
            Ok(()) => return Ok(()),
            Err(Failure::NotFound(_)) => {
                return Err(Failed::Final("it is not there any more".to_owned()));
            }
            Err(Failure::Final(why)) => return Err(Failed::Final(why)),
            Err(Failure::Passing(why)) => why,
        };
        if self.parts.is_closed() {
            return Err(Failed::Final(UNREAD.to_owned()));
        }
        if tries.is_first() || self.range.start > before {
            tries.has_gone_on(self.patience.wait);
        }
        Err(Failed::Away(why))
    }

    /// Reads on until the end or a failure.
    async fn go_on(&mut self) -> Result<(), Failure> {
        if self.range.start > 0 && !self.version.is_certain() {
            return Err(Failure::Final(
                "it comes in parts, and whether those are of the same file cannot be told, as the server names neither \
                 ETag nor Last-Modified; fetch it first"
                    .to_owned(),
            ));
        }
        let stall = self.patience.stall;
        let silence = |_| Failure::Passing(format!("nothing came for {} s", stall.as_secs_f32()));
        let opened = self.storage.open(&self.key, self.range.clone());
        let (version, mut content) = timeout(stall, opened).await.map_err(silence)??;
        if !self.version.fits(&version) {
            return Err(Failure::Final("it has changed since the run began".to_owned()));
        }
        // The version from a list may be incomplete.
        self.version.e_tag = self.version.e_tag.take().or(version.e_tag);
        self.version.modified_ms = self.version.modified_ms.or(version.modified_ms);
        while !self.range.is_empty() {
            let Some(bytes) = timeout(stall, content.next()).await.map_err(silence)? else {
                return Err(Failure::Passing("the connection was closed early".to_owned()));
            };
            let mut bytes = bytes?;
            bytes.truncate(usize::try_from(self.range.end - self.range.start).unwrap_or(usize::MAX));
            self.range.start += bytes.len() as u64;
            self.part.extend_from_slice(&bytes);
            if self.part.len() >= PART_BYTES && !self.hand_over().await {
                return Err(Failure::Final(UNREAD.to_owned()));
            }
        }
        Ok(())
    }

    /// Hands over the pending bytes; returns false if the reader is gone.
    async fn hand_over(&mut self) -> bool {
        self.parts.send(Ok(self.part.split().freeze())).await.is_ok()
    }
}
