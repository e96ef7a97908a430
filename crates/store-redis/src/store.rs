//! The store: its connection to the server, its keys and scripts, and the reads that its calls
//! share.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use index::backend::Horizon;
use index::backend::Known;
use index::backend::check_documents;
use index::{
    Clock, Document, DocumentId, Error, ErrorKind, Insertion, Metadata, Result, Rule, StoredDocument,
    TextKeeping,
};

use super::answers::{Written, unexpected};
use super::layout::{Keys, decode_record};
use super::scripts::{Begun, New, Scripts};
use super::server::{Server, Wait, Waits};
use super::uri::RedisUri;

/// A store in Redis.
///
/// This process keeps no data, so every process sees the writes of all others once they are
/// acknowledged. A large batch is written by several scripts, each of them whole or not at all. So
/// a failed batch may have been written up to some document, also with `StorageFull`.
///
/// An acknowledgement is as durable as the server's settings make it. With `appendonly yes` and
/// `appendfsync always` the write is on disk. With `everysec` it is there within a second, or two
/// where a sync is slow; until then even the end of the server's process can lose it. Without an
/// append-only file it is lost when the server stops.
pub struct RedisStore {
    pub(super) server: Server,
    pub(super) keys: Keys,
    pub(super) scripts: Scripts,
    /// The index first seen, which scripts and reads compare with the stored metadata in the same
    /// moment as their work.
    pub(super) known: Known,
    pub(super) clock: Clock,
    /// The number of insertions with more documents worth a count than were counted.
    pub(super) n_bounded: AtomicU64,
}

impl RedisStore {
    /// Opens the index named by `uri`. The first call connects.
    ///
    /// # Errors
    /// `InvalidArgument` if the address is none or the password file cannot be read.
    pub fn new(uri: &RedisUri) -> Result<Self> {
        Self::with_clock(uri, Clock::system())
    }

    /// As [`new`](Self::new), with a clock other than this machine's.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_clock(uri: &RedisUri, clock: Clock) -> Result<Self> {
        let server = Server::new(uri, Waits::default())?;
        let (keys, scripts) = (Keys::new(&uri.name), Scripts::new());
        let known = Known::new(format!("redis://{}:{}/{}", uri.host, uri.port, uri.name));
        Ok(Self { server, keys, scripts, known, clock, n_bounded: AtomicU64::new(0) })
    }

    /// As [`new`](Self::new), with a patience for a server that is away, of at most 120 s: a write
    /// keeps its answer for not much longer.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_patience(uri: &RedisUri, patience: Duration) -> Result<Self> {
        Self::opened(uri, Clock::system(), Some(patience))
    }

    pub(super) fn opened(uri: &RedisUri, clock: Clock, patience: Option<Duration>) -> Result<Self> {
        let mut store = Self::with_clock(uri, clock)?;
        if let Some(patience) = patience {
            store.server.set_patience(patience);
        }
        Ok(store)
    }

    /// Returns the metadata, which never changes for an index.
    pub(super) fn known(&self) -> Result<&Metadata> {
        match self.known.metadata() {
            Some(metadata) => Ok(metadata),
            None => self.check(Wait::Patient),
        }
    }

    /// Returns the metadata, if the index stored now is the one first seen.
    pub(super) fn check(&self, wait: Wait) -> Result<&Metadata> {
        self.known.check(self.stored(wait)?.as_deref())
    }

    /// Reads the metadata record.
    pub(super) fn stored(&self, wait: Wait) -> Result<Option<Vec<u8>>> {
        self.server.read_within(wait, redis::cmd("GET").arg(&self.keys.metadata))
    }

    /// The beginning of a call of a script: the server, the keys, the index and the horizon.
    pub(super) fn begun(&self) -> Result<Begun<'_>> {
        let horizon = self.horizon()?;
        Ok(Begun { server: &self.server, keys: &self.keys, known: &self.known, horizon, wait: Wait::Patient })
    }

    /// The horizon of live documents.
    pub(super) fn horizon(&self) -> Result<Horizon> {
        Ok(Horizon::new(self.known()?.retain, self.clock.now()))
    }

    /// Returns the number of scripts that have written documents; `None` for an index without a
    /// write since scripts are counted.
    pub(super) fn n_writes(&self) -> Result<Option<u64>> {
        let n = self.values(vec![self.keys.writes.clone()])?.pop().flatten();
        let number = |n: Vec<u8>| std::str::from_utf8(&n).ok().and_then(|n| n.parse().ok());
        n.map(|n| number(n).ok_or_else(|| Error::corrupt("the index's number of writes is no number")))
            .transpose()
    }

    /// Returns true if the index keeps texts.
    pub(super) fn keeps_texts(&self) -> Result<bool> {
        Ok(self.known()?.texts != TextKeeping::None)
    }

    /// Calls the script that inserts, without a document.
    pub(super) fn insert_none(&self, wait: Wait) -> Result<()> {
        let begun = Begun { wait, ..self.begun()? };
        self.scripts.insert(&begun, self.known()?, &[], None, &self.clock).map(|_| ())
    }

    pub(super) fn insert_within(
        &self,
        documents: &[Document],
        if_new: Option<&Rule>,
    ) -> Result<Vec<Insertion>> {
        check_documents(documents)?;
        let metadata = self.known()?;
        let news: Vec<_> = documents.iter().map(New::uncounted).collect();
        let mut insertions = Vec::with_capacity(documents.len());
        while insertions.len() < documents.len() {
            let rest = &news[insertions.len()..];
            for written in self.scripts.insert(&self.begun()?, metadata, rest, if_new, &self.clock)? {
                match written {
                    Written::Done(insertion) => insertions.push(insertion),
                    Written::Waits => return Err(unexpected()),
                }
            }
        }
        Ok(insertions)
    }

    /// Reads the values of these keys, all as of one moment. The metadata is read with them,
    /// because a server that has lost an index, or has another one, must not pass for an empty one.
    pub(super) fn values(&self, keys: Vec<Vec<u8>>) -> Result<Vec<Option<Vec<u8>>>> {
        let n_values = keys.len();
        let mut get = redis::cmd("MGET");
        get.arg(&self.keys.metadata).arg(keys);
        let mut values: Vec<Option<Vec<u8>>> = self.server.read(&get)?;
        if values.len() != n_values + 1 {
            return Err(Error::new(ErrorKind::Internal, "Redis answered with another number of records"));
        }
        self.known.check(values.remove(0).as_deref())?;
        Ok(values)
    }

    /// Reads the records of the live documents among `ids`, all as of one moment.
    pub(super) fn records(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        let records = self.values(ids.iter().map(|id| self.keys.document(id)).collect())?;
        let (horizon, kind) = (self.horizon()?, &self.known()?.kind);
        let decode = |(id, record): (&DocumentId, Option<Vec<u8>>)| {
            let stored = record.map(|record| decode_record(id, &record, kind)).transpose()?;
            Ok(stored.filter(|stored| horizon.is_live(stored.inserted_at)))
        };
        ids.iter().zip(records).map(decode).collect()
    }
}
