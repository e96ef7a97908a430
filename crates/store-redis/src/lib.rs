//! `redis://HOST:PORT/NAME`: documents in a Redis server.
//!
//! A document is a record under its id. Its sketch is in a sorted set for each of its buckets, the
//! segment sets of the classic design, here for any kind of sketch; and the ids of equal sketches
//! are in a set of their own. The stored data is drawn in `schema/redis.md`. The module consists of
//! the names and bytes (`layout`), the connections (`server`), and the calls of the scripts
//! (`scripts`). Scripts run in the server, one at a time, so no other write comes between a
//! script's reads and its writes. In an index with texts, each text is a value beside its
//! document's record. This process reads the texts (`told`) and counts: for searches, and for
//! insertions, which then take more than one script (`counting`).

mod answers;
mod counting;
mod errors;
mod examine;
mod layout;
mod losses;
mod scripts;
mod server;
mod store;
mod told;
mod uri;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use index::backend::{check_batch, check_documents, page_len};
use index::{
    Backups, CallSizes, Capabilities, Clock, Cursor, Document, DocumentId, Error, ErrorKind, Examined,
    Insertion, Metadata, Mode, Neighbours, Page, Place, Result, Rule, Selection, Sketch, Status, Store,
    StoredDocument, Text, TextKeeping, WriteMark,
};

use self::layout::decode_id;
use self::server::{CONNECTIONS_MAX, Wait};

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use self::store::RedisStore;
pub use self::uri::RedisUri;

/// The first byte of this store's cursors, before the last id of the page. No id begins with it.
const CURSOR_MARK: u8 = 2;

/// The longest wait of a check for readiness for a server that is away, or hangs.
const READY_WAIT_MAX: Duration = Duration::from_secs(3);

impl Store for RedisStore {
    fn metadata(&self) -> Result<Option<Metadata>> {
        Ok(self.known.find_in(|| self.stored(Wait::Patient))?.cloned())
    }

    fn create(&self, metadata: &Metadata) -> Result<Metadata> {
        if let Some(stored) = self.metadata()? {
            return Ok(stored);
        }
        let bytes = metadata.encode()?;
        let mut set = redis::cmd("SET");
        set.arg(&self.keys.metadata).arg(bytes).arg("NX");
        self.server.run(|connection| set.exec(connection))?;
        self.metadata()?
            .ok_or_else(|| Error::corrupt("the metadata of the index was deleted while it was created"))
    }

    fn prepare(&self) -> Result<()> {
        self.check(Wait::Patient).map(|_| ())
    }

    /// Checks also that the server takes writes: a full server, a replica, or one that cannot write
    /// its file answers reads all the same. Sends a write that writes nothing, and the script that
    /// inserts, without a document. The keys read by every insertion must be of their types.
    ///
    /// Waits for all of it together no longer than a moment, whatever the patience of the store.
    fn ready(&self) -> Result<()> {
        let wait = Wait::Until(Instant::now() + READY_WAIT_MAX);
        self.check(wait)?;
        let mut set = redis::cmd("SET");
        set.arg(&self.keys.ready).arg("").arg("XX");
        let of_types = [
            ("ZCARD", &self.keys.ids),
            ("ZCARD", &self.keys.times),
            ("GET", &self.keys.last_write),
            ("GET", &self.keys.writes),
        ];
        self.server.run_within(wait, |connection| {
            set.exec(connection)?;
            of_types.iter().try_for_each(|(read, key)| redis::cmd(read).arg(key).exec(connection))
        })?;
        self.insert_none(wait)
    }

    fn insert(&self, documents: &[Document]) -> Result<Vec<Insertion>> {
        self.insert_within(documents, None)
    }

    fn insert_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>> {
        rule.check_similar_alone()?;
        if rule.counter.is_some() && self.keeps_texts()? {
            check_documents(documents)?;
            return counting::insert(self, documents, rule);
        }
        self.insert_within(documents, Some(&Rule { counter: None, ..*rule }))
    }

    fn remove_if(&self, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>> {
        check_batch(ids.len())?;
        let by = (self.known()?.retain, &self.clock);
        let mut removed = Vec::with_capacity(ids.len());
        while removed.len() < ids.len() {
            let rest = &ids[removed.len()..];
            removed.extend(self.scripts.remove(&self.begun()?, rest, selection, by)?);
        }
        Ok(removed)
    }

    fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        check_batch(ids.len())?;
        self.known()?;
        self.records(ids)
    }

    fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        check_batch(ids.len())?;
        if self.keeps_texts()? { told::texts(self, ids) } else { Ok(vec![None; ids.len()]) }
    }

    fn near(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<Neighbours>> {
        check_batch(queries.len())?;
        rule.check_similar_alone()?;
        let begun = self.begun()?;
        let counter = rule.counter.filter(|_| self.known().is_ok_and(|of| of.texts != TextKeeping::None));
        let rule = &Rule { counter, ..*rule };
        let mut answers = Vec::with_capacity(queries.len());
        while answers.len() < queries.len() {
            let rest = &queries[answers.len()..];
            let found = self.scripts.near(&begun, rest, rule, limit)?;
            answers.extend(told::count(self, rest, rule, found)?);
        }
        Ok(answers)
    }

    /// Pages are in the order of ids. No script runs, so a page of any size delays no other caller.
    /// Of the documents changed between the two steps, removed ones are left out, and replaced ones
    /// come in their new form.
    fn scan(&self, after: Cursor, limit: usize) -> Result<Page> {
        let limit = page_len(limit)?;
        let from = match after.bytes() {
            [] => b"-".to_vec(),
            [CURSOR_MARK, id @ ..] => [b"(", id].concat(),
            _ => return Err(Error::invalid("the cursor is another store's; start the scan anew")),
        };
        self.known()?;
        let mut range = redis::cmd("ZRANGEBYLEX");
        range.arg(&self.keys.ids).arg(from).arg("+").arg("LIMIT").arg(0).arg(limit + 1);
        let ids: Vec<Vec<u8>> = self.server.read(&range)?;
        let mut ids = ids.iter().map(|id| decode_id(id)).collect::<Result<Vec<_>>>()?;
        let has_more = ids.len() > limit;
        ids.truncate(limit);
        let documents = self.records(&ids)?.into_iter().flatten().collect();
        let next = ids.last().filter(|_| has_more);
        let next = next.map(|id| Cursor::from_bytes([&[CURSOR_MARK], id.as_str().as_bytes()].concat()));
        Ok(Page { documents, next })
    }

    fn examine(&self, mends: bool, report: &mut dyn FnMut(Examined)) -> Result<()> {
        examine::examine(self, mends, report)
    }

    fn mark(&self, _counts: bool) -> Result<Option<WriteMark>> {
        Ok(self.n_writes()?.map(|number| WriteMark { number, checksum: None }))
    }

    fn has_written(&self, mark: &WriteMark) -> Result<bool> {
        Ok(self.n_writes()?.unwrap_or(0) >= mark.number)
    }

    fn status(&self) -> Result<Status> {
        let horizon = match self.horizon() {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            horizon => horizon?.expired_until_ms(),
        };
        // This read checks for dropped keys.
        self.stored(Wait::Patient)?;
        let mut count = redis::pipe();
        count.atomic().get(&self.keys.metadata).zcard(&self.keys.ids);
        // Without a retention there are no times, and no time is as old as this.
        count.zcount(&self.keys.times, "-inf", horizon.unwrap_or(i64::MIN));
        let mut counts = (0_u64, 0_u64);
        self.known.find_in(|| {
            let (stored, n_stored, n_expired): (Option<Vec<u8>>, _, _) =
                self.server.run(|connection| count.query(connection))?;
            counts = (n_stored, n_expired);
            Result::Ok(stored)
        })?;
        let (n_stored, n_expired) = counts;
        let n_documents = n_stored.saturating_sub(n_expired);
        // Only counts are bounded: signatures of all candidates are compared.
        let keeps_texts = self.known.metadata().is_some_and(|of| of.texts != TextKeeping::None);
        let n_bounded = keeps_texts.then(|| self.n_bounded.load(Ordering::Relaxed));
        Ok(Status {
            n_documents: Some(n_documents),
            n_bounded,
            connections: Some(self.server.connections()),
            ..Status::default()
        })
    }
}

impl Place for RedisUri {
    fn open(&self, _: Mode, clock: Clock, patience: Option<Duration>) -> Result<Box<dyn Store>> {
        Ok(Box::new(RedisStore::opened(self, clock, patience)?))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            local_path: None,
            outlives_process: true,
            n_handles_max: CONNECTIONS_MAX,
            // The server has one thread, and scripts take 128 documents.
            searches: CallSizes::new(4, 64),
            texts: TextKeeping::None,
            insertions: CallSizes::new(4, 128),
            contained: false,
        }
    }

    fn backups(&self) -> Backups<'_> {
        Backups::Elsewhere(
            "Redis backs up all of its keys by itself, in one file: `redis-cli BGSAVE`, wait until `redis-cli LASTSAVE` \
             has changed, then copy the file that `redis-cli CONFIG GET dir dbfilename` names; to restore it, stop \
             Redis, put the file back there, with `appendonly no` for this start, and start Redis. One index alone goes \
             into another store by `indexer reindex`",
        )
    }

    fn public_name(&self) -> String {
        format!("redis://{}:{}/{}", self.host, self.port, self.name)
    }
}
