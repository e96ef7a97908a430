//! The documents kept by a deduplication, by which it decides.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use index::{DocumentId, Features, Text};
use minhash::Signature;
use serde::{Deserialize, Serialize};
use simhash::Fingerprint;

use super::log::Log;

/// Ids, and the features of those that have some.
pub(crate) type Batch = Vec<(DocumentId, Option<Features>)>;

/// Features in the log.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    /// A simhash without a signature.
    Simhash(u64),
    /// A simhash, if there is one, and the bytes of a signature.
    Signed(Option<u64>, Vec<u8>),
    /// The same with the text, for exact counts after a resumption, and true if the text is
    /// reduced. Older journals lack the last field.
    Told(Option<u64>, Vec<u8>, String, #[serde(default)] bool),
}

impl From<&Features> for Written {
    fn from(Features { simhash, signature, text }: &Features) -> Self {
        let simhash = simhash.map(|simhash| simhash.0);
        match (signature, text) {
            (None, _) => Self::Simhash(simhash.unwrap_or_default()),
            (Some(signature), None) => Self::Signed(simhash, signature.as_bytes().to_vec()),
            (Some(signature), Some(text)) => {
                let signature = signature.as_bytes().to_vec();
                Self::Told(simhash, signature, text.to_string(), text.is_reduced())
            }
        }
    }
}

impl TryFrom<Written> for Features {
    type Error = minhash::SignatureError;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let (simhash, signature, text) = match written {
            Written::Simhash(simhash) => return Ok(Fingerprint(simhash).into()),
            Written::Signed(simhash, signature) => (simhash, signature, None),
            Written::Told(simhash, signature, text, is_reduced) => {
                let text = if is_reduced { Text::reduced(&text) } else { text.into() };
                (simhash, signature, Some(text))
            }
        };
        let signature = Some(Signature::decode(&signature)?);
        Ok(Self { simhash: simhash.map(Fingerprint), signature, text })
    }
}

pub(crate) struct KeptLog {
    log: Log,
    path: PathBuf,
}

impl KeptLog {
    pub(super) fn open(path: &Path, len: u64, mut take: impl FnMut(Batch)) -> io::Result<Self> {
        let mut invalid = None;
        let log = Log::open(path, len, |batch: Vec<(String, Option<Written>)>| {
            let document = |(id, features): (String, Option<Written>)| {
                Ok((DocumentId::new(id)?, features.map(Features::try_from).transpose()?))
            };
            match batch.into_iter().map(document).collect::<anyhow::Result<Batch>>() {
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
        let batch: Vec<_> =
            batch.iter().map(|(id, features)| (id.as_str(), features.as_ref().map(Written::from))).collect();
        self.log.append(&batch).with_context(|| self.failed())
    }

    /// Makes the added batches durable, and returns the length of the log.
    pub(crate) fn checkpoint(&mut self) -> anyhow::Result<u64> {
        self.log.sync().with_context(|| self.failed())
    }

    fn failed(&self) -> String {
        format!("failed to write {}", self.path.display())
    }
}
