//! Objects in buckets that are written: sent in parts, and visible under their keys once all of
//! them is there.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use bytes::Bytes;
use index::backend::retry::{Failed, Late};
use object_store::multipart::PartId;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::Remote;
use super::bucket::Bucket;
use super::fetch::RETRY;
use super::storage::{Entry, Failure, Storage, Version};
use super::url::{Scheme, Url};

/// Least size of a part. Servers take no less than 5 MiB, and some want all parts of one size.
const PART_BYTES: u64 = 8 << 20;

/// Number of parts that servers take.
const PARTS_MAX: u64 = 10_000;

/// Parts on their way at a time.
const PARTS_AT_ONCE: usize = 4;

/// Time to send a part, however slow the line is, and to put parts together.
const PART_WAIT: Duration = Duration::from_secs(300);

/// Time to abort an upload, for which a user may be waiting.
const ABORT_WAIT: Duration = Duration::from_secs(5);

/// Pause between two questions whether to go on.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// Returns true if `path` is an address at which an object can be written.
pub fn is_in_bucket(path: &Path) -> bool {
    let url = path.to_str().filter(|_| super::is_remote(path)).map(Url::parse);
    url.is_some_and(|url| url.is_ok_and(|url| matches!(url.scheme, Scheme::S3 | Scheme::Gs)))
}

/// Client for writing objects, for all buckets of a run.
#[derive(Clone)]
pub struct Uploads {
    remote: Remote,
    buckets: Arc<Mutex<HashMap<String, Arc<Bucket>>>>,
}

/// An object on its way, not visible yet. It is to be completed or aborted: dropping it leaves it.
pub struct Upload {
    object: Target,
    id: String,
    parts: Vec<PartId>,
    n_bytes: u64,
}

/// The place of an object.
#[derive(Clone)]
struct Target {
    remote: Remote,
    bucket: Arc<Bucket>,
    /// The address, as shown to the user.
    name: String,
    key: String,
}

impl Uploads {
    /// Starts the thread for requests. What fails is tried again for the time `wait`.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn new(wait: Duration) -> anyhow::Result<Self> {
        Ok(Self { remote: Remote::new(wait)?, buckets: Arc::default() })
    }

    /// Returns the length of the object at an address; `None` if there is none.
    ///
    /// # Errors
    /// If the address is not that of an object, or the server does not answer.
    pub fn len_of(&self, address: &str) -> anyhow::Result<Option<u64>> {
        let target = self.target(address)?;
        Ok(target.look()?.map(|version| version.n_bytes))
    }

    /// Returns the names of the objects right below the folder `address`, which ends in a slash.
    ///
    /// # Errors
    /// As [`len_of`](Self::len_of).
    pub fn names_in(&self, address: &str) -> anyhow::Result<Vec<String>> {
        let Target { remote, bucket, name, key } = self.target_of(address)?;
        let folder = key.trim_end_matches('/');
        let start = if folder.is_empty() { 0 } else { folder.len() + 1 };
        let listed = remote.0.runtime.block_on(remote.insist(|| bucket.list(folder)));
        let listed = listed.map_err(|failure| anyhow!("failed to look at {name}: {}", failure.why()))?;
        let names = listed.iter().filter_map(|(key, _)| key.get(start..));
        Ok(names.filter(|name| !name.is_empty() && !name.contains('/')).map(str::to_owned).collect())
    }

    /// Begins to write an object.
    ///
    /// # Errors
    /// If the address is not that of an object, or the server refuses it or does not answer.
    pub fn begin(&self, address: &str) -> anyhow::Result<Upload> {
        let object = self.target(address)?;
        let begun = object.ask(|| object.bucket.begin(&object.key));
        let id = begun.map_err(|failure| object.failed("begin to write", failure))?;
        Ok(Upload { object, id, parts: Vec::new(), n_bytes: 0 })
    }

    /// Aborts an upload, of this process or another one: the server forgets what was sent. One that
    /// is not there any more is no error.
    ///
    /// # Errors
    /// If the server refuses it or does not answer in some seconds.
    pub fn abort(&self, address: &str, id: &str) -> anyhow::Result<()> {
        self.target(address)?.abort(id)
    }

    /// Removes an object. One that is not there any more is no error.
    ///
    /// # Errors
    /// If the server refuses it or does not answer.
    pub fn remove(&self, address: &str) -> anyhow::Result<()> {
        let object = self.target(address)?;
        match object.ask(|| object.bucket.remove(&object.key)) {
            Ok(()) | Err(Failure::NotFound(_)) => Ok(()),
            Err(failure) => Err(object.failed("remove", failure)),
        }
    }

    fn target(&self, address: &str) -> anyhow::Result<Target> {
        let target = self.target_of(address)?;
        if target.key.is_empty() || target.key.ends_with('/') {
            bail!("{address} names no file in the bucket; give it as {address}NAME");
        }
        Ok(target)
    }

    fn target_of(&self, address: &str) -> anyhow::Result<Target> {
        let url = Url::parse(address)?;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let place = url.storage();
        let bucket = match buckets.get(&place) {
            Some(bucket) => Arc::clone(bucket),
            None => {
                let opened = self.remote.0.runtime.block_on(async {
                    match url.scheme {
                        Scheme::S3 => Bucket::s3(url.host).await,
                        Scheme::Gs => Bucket::gs(url.host).await,
                        Scheme::Web | Scheme::Hdfs => bail!("{address} is not in a bucket"),
                    }
                });
                let bucket = Arc::new(opened?);
                buckets.insert(place, Arc::clone(&bucket));
                bucket
            }
        };
        Ok(Target { remote: self.remote.clone(), bucket, name: url.name(), key: url.key() })
    }
}

impl Upload {
    /// The address of the object.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.object.name
    }

    /// The name that the server has given to the upload.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The length of the object, once it is sent.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Sends the whole content. Asks `may_go_on` all the time, and ends with its error.
    ///
    /// # Errors
    /// If the file cannot be read, or the server refuses a part or does not answer.
    pub fn send(&mut self, file: &File, may_go_on: impl Fn() -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.n_bytes = file.metadata()?.len();
        let part_bytes = part_bytes(self.n_bytes);
        let n_parts = self.n_bytes.div_ceil(part_bytes) as usize;
        let mut parts: Vec<Option<PartId>> = vec![None; n_parts];
        let mut sent = JoinSet::new();
        let mut unread = file.take(self.n_bytes);
        for n in 0..n_parts {
            let mut bytes = Vec::new();
            unread.by_ref().take(part_bytes).read_to_end(&mut bytes)?;
            self.wait(&mut sent, PARTS_AT_ONCE - 1, &mut parts, &may_go_on)?;
            let (object, id, bytes) = (self.object.clone(), self.id.clone(), Bytes::from(bytes));
            let send = async move {
                let send = || async {
                    let part = object.bucket.put_part(&object.key, &id, n, bytes.clone());
                    timeout(PART_WAIT, part).await.unwrap_or_else(|_| Err(silence(PART_WAIT)))
                };
                object.remote.insist(send).await.map(|part| (n, part))
            };
            sent.spawn_on(send, self.object.remote.0.runtime.handle());
        }
        self.wait(&mut sent, 0, &mut parts, &may_go_on)?;
        self.parts = parts.into_iter().collect::<Option<_>>().context("a part was not sent")?;
        Ok(())
    }

    /// Waits until at most `n_max` parts are on their way.
    fn wait(
        &self,
        sent: &mut JoinSet<Result<(usize, PartId), Failure>>,
        n_max: usize,
        parts: &mut [Option<PartId>],
        may_go_on: &impl Fn() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        while sent.len() > n_max {
            may_go_on()?;
            let next = async { timeout(LOOK_PAUSE, sent.join_next()).await };
            let Ok(Some(part)) = self.object.remote.0.runtime.block_on(next) else { continue };
            let part = part.context("the task that sends a part ended early")?;
            let (n, part) = part.map_err(|failure| self.object.failed("write", failure))?;
            parts[n] = Some(part);
        }
        Ok(())
    }

    /// Makes the object visible.
    ///
    /// # Errors
    /// If the server refuses it or does not answer.
    pub fn complete(&self) -> anyhow::Result<()> {
        let Target { remote, bucket, key, .. } = &self.object;
        let before = self.object.look();
        let complete = || async {
            let completed = bucket.complete(key, &self.id, self.parts.clone());
            timeout(PART_WAIT, completed).await.unwrap_or_else(|_| Err(silence(PART_WAIT)))
        };
        let Err(failure) = remote.0.runtime.block_on(remote.insist(complete)) else { return Ok(()) };
        // An answer that was lost leaves a whole object, and no upload to complete again.
        match (before, self.object.look()) {
            (Ok(before), Ok(Some(now))) if now.n_bytes == self.n_bytes && before.as_ref() != Some(&now) => {
                Ok(())
            }
            _ => Err(self.object.failed("complete", failure)),
        }
    }
}

impl Target {
    fn look(&self) -> anyhow::Result<Option<Version>> {
        match self.ask(|| self.bucket.look(&self.key)) {
            Ok(Entry::File(version)) => Ok(Some(version)),
            Ok(Entry::Folder) | Err(Failure::NotFound(_)) => Ok(None),
            Err(failure) => Err(self.failed("look at", failure)),
        }
    }

    fn abort(&self, id: &str) -> anyhow::Result<()> {
        let abort = async { timeout(ABORT_WAIT, self.bucket.abort(&self.key, id)).await };
        match self.remote.0.runtime.block_on(abort).unwrap_or_else(|_| Err(silence(ABORT_WAIT))) {
            Ok(()) | Err(Failure::NotFound(_)) => Ok(()),
            Err(failure) => Err(self.failed("abort the upload of", failure)),
        }
    }

    /// Asks the server, again while an answer may come.
    fn ask<T, F>(&self, mut question: impl FnMut() -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let stall = self.remote.0.patience.stall;
        let mut limited = || {
            let answer = question();
            async move { timeout(stall, answer).await.unwrap_or_else(|_| Err(silence(stall))) }
        };
        self.remote.0.runtime.block_on(self.remote.insist(&mut limited))
    }

    fn failed(&self, what: &str, failure: Failure) -> anyhow::Error {
        anyhow!("failed to {what} {}: {}", self.name, failure.why())
    }
}

impl Remote {
    /// Tries again what failed in passing.
    async fn insist<T, F>(&self, mut attempt: impl FnMut() -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut tries = RETRY.start(self.0.patience.wait, || Instant::now().into_std());
        loop {
            let failed = match attempt().await {
                Err(Failure::Passing(why)) => Failed::Away(why),
                answer => return answer,
            };
            match tries.after(failed) {
                Ok((pause, _)) => sleep(pause.time).await,
                Err(Failed::Away(Late { last: why, .. }) | Failed::Final(why)) => {
                    return Err(Failure::Passing(why));
                }
            }
        }
    }
}

fn silence(time: Duration) -> Failure {
    Failure::Passing(format!("nothing came for {} s", time.as_secs_f32()))
}

/// The size of all parts but the last.
fn part_bytes(n_bytes: u64) -> u64 {
    PART_BYTES.max(n_bytes.div_ceil(PARTS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_many_as_servers_take() {
        for n_bytes in [0, 1, PART_BYTES, PART_BYTES * PARTS_MAX, PART_BYTES * PARTS_MAX + 1, 5 << 40] {
            let part = part_bytes(n_bytes);
            assert!(part >= PART_BYTES && n_bytes.div_ceil(part) <= PARTS_MAX, "{n_bytes}: {part}");
        }
        assert_eq!(part_bytes(PART_BYTES * PARTS_MAX), PART_BYTES);
    }

    #[test]
    fn only_buckets_are_written_to() {
        for (path, expected) in [
            ("s3://b/kept.jsonl", true),
            ("GS://b/part-{}.jsonl", true),
            ("hdfs://h:1/kept.jsonl", false),
            ("https://h/kept.jsonl", false),
            ("kept.jsonl", false),
            ("s3:/b/kept.jsonl", false),
        ] {
            assert_eq!(is_in_bucket(Path::new(path)), expected, "{path}");
        }
    }
}
