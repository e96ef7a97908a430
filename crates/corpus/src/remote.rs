//! Remote inputs: in buckets (`s3://`, `gs://`), on web servers, in HDFS; and remote outputs, in
//! buckets.
//!
//! A [`storage`] gives access to one of those, [`fetch`] reads a file and resumes where it broke
//! off, [`find`] lists the files of an address, and [`upload`] writes objects. All asynchronous
//! code is in this module, on one thread of its own; readers of an [`Object`] block.

mod bucket;
mod fetch;
mod find;
mod hdfs;
mod objects;
mod storage;
mod upload;
mod url;
mod web;
mod windows;

use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use tokio::runtime::Runtime;

use bucket::Bucket;
use fetch::{Fetched, Patience};
use hdfs::Hdfs;
use storage::{Storage, Version};
use url::{Scheme, Url};
use web::Web;
use windows::Cache;

pub(super) use find::{By, Found};
pub use upload::{Upload, Uploads, is_in_bucket};
pub(super) use windows::Windows;

/// Time of silence after which a server is asked again.
const STALL: Duration = Duration::from_secs(30);

/// Number of bytes fetched to detect the content of a file, packed or not.
const HEAD_BYTES: u64 = 64 << 10;

/// Returns true if `path` is an address, of any scheme.
pub fn is_remote(path: &Path) -> bool {
    path.to_str().is_some_and(|path| url::scheme(path).is_some())
}

/// State of all remote inputs of a run; made when the first one is named.
#[derive(Clone)]
pub(super) struct Remote(Arc<Shared>);

struct Shared {
    runtime: Runtime,
    patience: Patience,
    /// Storages by scheme and host, or bucket.
    storages: Mutex<HashMap<String, Arc<dyn Storage>>>,
    /// Parts of files that are read in any order.
    windows: Cache,
    next_number: AtomicU64,
}

/// A remote file in the version found.
#[derive(Clone)]
pub(crate) struct Object {
    name: Arc<str>,
    key: Arc<str>,
    version: Version,
    storage: Arc<dyn Storage>,
    remote: Remote,
    /// Number of the object, unique in this run.
    number: u64,
}

impl Remote {
    /// Starts the thread for remote inputs. A file that broke off is retried for the time `wait`.
    pub(super) fn new(wait: Duration) -> anyhow::Result<Self> {
        let stall = STALL.min(wait.max(Duration::from_secs(1)));
        Self::with_patience(Patience { look: stall, stall, wait })
    }

    fn with_patience(patience: Patience) -> anyhow::Result<Self> {
        // The runtime mostly waits. On a thread of its own it reads ahead while the others compute.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.context("failed to start the thread that reads remote inputs")?;
        // Another user of TLS may have installed the same provider before.
        rustls::crypto::ring::default_provider().install_default().unwrap_or(());
        Ok(Self(Arc::new(Shared {
            runtime,
            patience,
            storages: Mutex::default(),
            windows: Cache::default(),
            next_number: AtomicU64::default(),
        })))
    }

    /// Returns the storage of an address; the first call connects to it.
    fn storage(&self, url: &Url<'_>) -> anyhow::Result<Arc<dyn Storage>> {
        let mut storages = self.0.storages.lock().unwrap_or_else(PoisonError::into_inner);
        let place = url.storage();
        if let Some(storage) = storages.get(&place) {
            return Ok(Arc::clone(storage));
        }
        let host = url.host;
        let storage: Arc<dyn Storage> = self.0.runtime.block_on(async {
            Ok::<_, anyhow::Error>(match url.scheme {
                Scheme::S3 => Arc::new(Bucket::s3(host).await?) as Arc<dyn Storage>,
                Scheme::Gs => Arc::new(Bucket::gs(host).await?),
                Scheme::Web => Arc::new(Web::new()?),
                Scheme::Hdfs => Arc::new(Hdfs::new(&place)?),
            })
        })?;
        storages.insert(place, Arc::clone(&storage));
        Ok(storage)
    }

    fn object(&self, storage: &Arc<dyn Storage>, name: String, key: &str, version: Version) -> Object {
        Object {
            name: name.into(),
            key: key.into(),
            version,
            storage: Arc::clone(storage),
            remote: self.clone(),
            number: self.0.next_number.fetch_add(1, Ordering::Relaxed),
        }
    }
}

impl Object {
    /// Returns the address of the file, as shown to the user.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn n_bytes(&self) -> u64 {
        self.version.n_bytes
    }

    /// Returns the time of the last change in milliseconds since 1970, if known.
    pub(crate) fn modified_ms(&self) -> Option<i64> {
        self.version.modified_ms
    }

    /// Returns the entity tag, by which the server tells its present contents from former ones.
    pub(crate) fn e_tag(&self) -> Option<&str> {
        self.version.e_tag.as_deref()
    }

    /// Opens the whole file, to be read in order.
    pub(super) fn open(&self) -> impl Read + Send + use<> {
        self.fetch(0..self.n_bytes())
    }

    /// Opens the beginning of the file, which suffices for detecting its content.
    pub(super) fn open_head(&self) -> impl Read + Send + use<> {
        self.fetch(0..self.n_bytes().min(HEAD_BYTES))
    }

    /// Opens the file for reading parts in any order.
    pub(super) fn windows(&self) -> Windows {
        Windows::new(self.clone())
    }

    fn fetch(&self, range: Range<u64>) -> Fetched {
        let (storage, key) = (Arc::clone(&self.storage), Arc::clone(&self.key));
        Fetched::start(&self.remote, storage, key, self.version.clone(), range)
    }

    /// Reads one part of the file.
    fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity((range.end - range.start) as usize);
        self.fetch(range).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
