//! The documents that a deduplication has kept: what it decides by.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use index::DocumentId;
use simhash::Fingerprint;

use super::log::Log;

/// Ids, with the fingerprints of those that have features.
pub(crate) type Batch = Vec<(DocumentId, Option<Fingerprint>)>;

pub(crate) struct KeptLog {
    log: Log,
    path: PathBuf,
}

impl KeptLog {
    pub(super) fn open(path: &Path, len: u64, mut take: impl FnMut(Batch)) -> io::Result<Self> {
        let mut invalid = None;
        let log = Log::open(path, len, |batch: Vec<(String, Option<u64>)>| {
            let document = |(id, fingerprint): (String, Option<u64>)| {
                Ok((DocumentId::new(id)?, fingerprint.map(Fingerprint)))
            };
            match batch.into_iter().map(document).collect::<Result<Batch, index::InvalidDocumentId>>() {
                Ok(batch) => take(batch),
                Err(error) => invalid = Some(error),
            }
        })?;
        match invalid {
            None => Ok(Self { log, path: path.to_owned() }),
            Some(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }
    }

    pub(crate) fn append(&mut self, batch: &Batch) -> anyhow::Result<()> {
        let fingerprint = |fingerprint: &Option<Fingerprint>| fingerprint.map(|fingerprint| fingerprint.0);
        let batch: Vec<_> = batch.iter().map(|(id, print)| (id.as_str(), fingerprint(print))).collect();
        self.log.append(&batch).with_context(|| self.failed())
    }

    /// Makes durable what was added, and says how long the log is.
    pub(crate) fn checkpoint(&mut self) -> anyhow::Result<u64> {
        self.log.sync().with_context(|| self.failed())
    }

    fn failed(&self) -> String {
        format!("failed to write {}", self.path.display())
    }
}
