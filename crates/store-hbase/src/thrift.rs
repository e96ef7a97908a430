//! Rows through an HBase Thrift1 gateway: the generated types of the crate `hbase-thrift`, on connections of our own.
//!
//! A caller's thread writes to several connections before it reads from any, so that the gateway works on all of them.

mod connection;
mod pool;
mod protocol;
mod scan;
mod tasks;
mod witness;

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::thread;
use std::time::{Duration, Instant};

use index::backend::Away;
use index::backend::Known;
use index::{ConnectionCounts, Error, ErrorKind, Result};
use thrift::ApplicationErrorKind;

use self::connection::{Exception, Failure, Timeouts};
use self::pool::{Exhausted, Pool, Pooled};
use self::scan::Scan;
use self::tasks::{Apply, Describe, Get, SwapTask, Task};
use self::witness::Witness;
use super::rows::{Cell, Mutations, Rows, Span, Swap, Swapped, Table, Visit};

/// The most scanners that one connection opens at a time. What is written ahead of the replies must fit the buffers of
/// both ends, or both would wait for the other to read.
pub(crate) const SCANS_MAX: usize = 30;

/// The fewest, so that few scans are not spread over many connections.
const SCANS_MIN: usize = 3;

/// The most and the fewest `checkAndPut`s that one connection is sent at a time.
const SWAPS_MAX: usize = 30;
const SWAPS_MIN: usize = 4;

/// The most and the fewest rows of one `getRowsWithColumns`.
const GETS_MAX: usize = 500;
const GETS_MIN: usize = 100;

/// The most and the fewest rows of one `mutateRowsTs`. For each of them, a region writes its log once.
const MUTATIONS_MAX: usize = 2_500;
const MUTATIONS_MIN: usize = 1_000;

/// The time to live of a family without one, in seconds.
const FOREVER: i32 = i32::MAX;

/// How often the gateway may answer with what is no answer, or break down, before it counts as none.
const SURPRISES_MAX: u32 = 3;

const BACKOFF_MIN: Duration = Duration::from_millis(20);
const BACKOFF_MAX: Duration = Duration::from_secs(2);

/// How to reach a gateway, and how patient to be with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// The most connections at a time.
    pub(crate) n_connections: usize,
    /// For a connection to be made.
    pub(crate) connect_timeout: Duration,
    /// For the next bytes of a reply.
    pub(crate) reply_timeout: Duration,
    /// The same for a server that has never answered, and may be no gateway.
    pub(crate) first_reply_timeout: Duration,
    /// For a gateway that has not answered yet: a name that is mistyped should not be waited for.
    pub(crate) first_patience: Duration,
    /// For a gateway or a region that is away, counted from the last request that was answered.
    pub(crate) patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            n_connections: 8,
            connect_timeout: Duration::from_secs(3),
            reply_timeout: Duration::from_secs(60),
            first_reply_timeout: Duration::from_secs(20),
            first_patience: Duration::from_secs(5),
            patience: Duration::from_secs(120),
        }
    }
}

/// The rows of one index behind one gateway.
pub(crate) struct ThriftRows {
    index_table: String,
    document_table: String,
    known: Known,
    pool: Pool,
    away: Away,
    options: Options,
}

impl ThriftRows {
    /// The tables of the index `name`, through the gateway at `HOST:PORT`. Nothing is asked of it yet.
    pub(crate) fn new(gateway: String, name: &str, options: Options) -> Self {
        let timeouts = Timeouts { connect: options.connect_timeout, reply: options.reply_timeout };
        Self {
            index_table: name.to_owned(),
            document_table: format!("{name}_docs"),
            known: Known::new(format!("hbase://{gateway}/{name}")),
            away: Away::default(),
            pool: Pool::new(gateway, options.n_connections, timeouts, options.first_reply_timeout),
            options,
        }
    }

    fn witness(&self) -> Witness<'_> {
        Witness::new(self.document_table.as_bytes(), &self.known)
    }

    /// How many items a task gets, so that all connections have work and none has too much at a time.
    fn share(&self, n_items: usize, min: usize, max: usize) -> usize {
        n_items.div_ceil(self.options.n_connections).clamp(min, max)
    }

    /// Does all tasks, each until it is done, on as many connections as there are to be had.
    fn run<T: Task>(&self, tasks: Vec<T>, done: &mut dyn FnMut(T) -> Result<()>) -> Result<()> {
        let n_tasks = tasks.len();
        let mut queue = VecDeque::from(tasks);
        let mut patience = Patience::new(self);
        while !queue.is_empty() {
            let n_left = queue.len();
            let failure = match self.pool.take(patience.deadline) {
                Ok(Ok(first)) => round(&self.pool, first, &mut queue, done)?,
                Ok(Err(failure)) => Some(failure),
                Err(Exhausted) => return Err(self.busy(patience.limit)),
            };
            if queue.len() < n_left {
                self.away.is_back(self.pool.gateway());
                patience = Patience::new(self);
            }
            if let Some(failure) = failure {
                let failure = self.unless_final(failure)?;
                let progress = || format!("{} of {n_tasks} requests were done", n_tasks - queue.len());
                patience.wait(failure, &progress)?;
            }
        }
        Ok(())
    }

    /// The failure, if trying again can help.
    fn unless_final(&self, failure: Failure) -> Result<Failure> {
        let Failure::Exception(exception) = &failure else { return Ok(failure) };
        let gateway = self.pool.gateway();
        let (kind, context) = match exception {
            Exception::Io { message, .. }
                if ["TableNotFoundException", "NoSuchColumnFamilyException", "UnknownNamespace"]
                    .iter()
                    .any(|class| message.contains(class)) =>
            {
                (ErrorKind::NotFound, self.no_tables())
            }
            Exception::Io { message, .. } if message.contains("TableNotEnabledException") => {
                let name = &self.index_table;
                let what = format!(
                    "a table is disabled; `enable '{name}'` and `enable '{name}_docs'` in the HBase shell"
                );
                (ErrorKind::Unavailable, what)
            }
            Exception::Io { message, .. } if message.contains("AccessDeniedException") => (
                ErrorKind::PermissionDenied,
                format!("HBase does not let the gateway at {gateway} do this; grant its user read and write"),
            ),
            Exception::Io { can_retry: false, .. } => {
                (ErrorKind::Unavailable, format!("HBase refused a request through the gateway at {gateway}"))
            }
            Exception::Application(error) if error.kind == ApplicationErrorKind::UnknownMethod => (
                ErrorKind::InvalidArgument,
                format!("{gateway} is not an HBase Thrift1 gateway; is a Thrift2 gateway running there?"),
            ),
            _ => return Ok(failure),
        };
        Err(Error::new(kind, context).caused_by(failure))
    }

    fn unavailable(&self, tried: &str) -> Error {
        Error::new(
            ErrorKind::Unavailable,
            format!(
                "the HBase gateway at {} failed ({tried}); is it running, and HBase behind it? The same call may be \
                 repeated",
                self.pool.gateway()
            ),
        )
    }

    fn busy(&self, waited: Duration) -> Error {
        Error::new(
            ErrorKind::Busy,
            format!(
                "all {} connections to {} were in use for {} s; allow more with ?connections=N",
                self.pool.n_max(),
                self.pool.gateway(),
                waited.as_secs_f32()
            ),
        )
    }

    fn no_tables(&self) -> String {
        let name = &self.index_table;
        format!(
            "the tables {name} and {name}_docs are not there, or not as they should be; create them with \
             `TABLE={name} deploy/hbase/hbase shell schema/create.rb`"
        )
    }
}

/// Does tasks until there are none or one fails; what failed goes back into the queue. On failure the tasks that are
/// under way are finished, because scanners would stay open. Returns the last failure.
fn round<'a, T: Task>(
    pool: &'a Pool,
    first: Pooled<'a>,
    queue: &mut VecDeque<T>,
    done: &mut dyn FnMut(T) -> Result<()>,
) -> Result<Option<Failure>> {
    let mut failure = None;
    let mut outcome = Ok(());
    let mut lanes: VecDeque<(Pooled<'_>, T)> = VecDeque::new();
    let mut next = Some(first);
    while let Some(mut connection) = next {
        let Some(mut task) = queue.pop_front() else { break };
        match task.start(&mut connection) {
            Ok(()) => lanes.push_back((connection, task)),
            Err(error) => {
                queue.push_front(task);
                failure = Some(error);
                break;
            }
        }
        next = if queue.is_empty() { None } else { pool.try_take() };
    }
    while let Some((mut connection, mut task)) = lanes.pop_front() {
        let mut step = task.go_on(&mut connection);
        if let Ok(true) = step {
            if outcome.is_ok() {
                outcome = done(task);
            }
            if failure.is_some() || outcome.is_err() {
                continue;
            }
            let Some(another) = queue.pop_front() else { continue };
            task = another;
            step = task.start(&mut connection).map(|()| false);
        }
        match step {
            Ok(_) => lanes.push_back((connection, task)),
            Err(error) => {
                queue.push_front(task);
                failure = Some(error);
            }
        }
    }
    outcome.map(|()| failure)
}

/// How long to go on trying, and when to try next.
struct Patience<'a> {
    rows: &'a ThriftRows,
    limit: Duration,
    since: Instant,
    deadline: Instant,
    pause: Duration,
    n_surprises: u32,
}

impl<'a> Patience<'a> {
    fn new(rows: &'a ThriftRows) -> Self {
        let options = rows.options;
        let limit = if rows.pool.has_connected() { options.patience } else { options.first_patience };
        let since = Instant::now();
        Self { rows, limit, since, deadline: since + limit, pause: BACKOFF_MIN, n_surprises: 0 }
    }

    /// Sleeps, if there is time left to try again after it.
    fn wait(&mut self, failure: Failure, progress: &dyn Fn() -> String) -> Result<()> {
        let gateway = self.rows.pool.gateway();
        let is_surprise = matches!(
            failure,
            Failure::Connection(thrift::Error::Protocol(_) | thrift::Error::Application(_))
                | Failure::Exception(Exception::Application(_))
        );
        self.n_surprises += u32::from(is_surprise);
        if self.n_surprises >= SURPRISES_MAX {
            return Err(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "{gateway} does not answer as an HBase Thrift1 gateway does ({}); is it one, with the binary \
                     protocol and without framed transport, and of a version that this program knows? The same call \
                     may be repeated",
                    progress()
                ),
            )
            .caused_by(failure));
        }
        // Somewhere in its second half, so that callers that failed together do not come back together.
        let spread = RandomState::new().hash_one(0) as f64 / u64::MAX as f64;
        let pause = self.pause.mul_f64(1.0 - spread / 2.0);
        if Instant::now() + pause >= self.deadline {
            let tried = format!("for {:.0} s, {}", self.since.elapsed().as_secs_f32(), progress());
            return Err(self.rows.unavailable(&tried).caused_by(failure));
        }
        if self.pause == BACKOFF_MAX {
            self.rows.away.waits(gateway, &failure);
        }
        thread::sleep(pause);
        self.pause = (self.pause * 2).min(BACKOFF_MAX);
        Ok(())
    }
}

impl Rows for ThriftRows {
    fn scan(&self, table: Table, family: u8, spans: &[Span], visit: Visit<'_>) -> Result<()> {
        let len = self.share(spans.len(), SCANS_MIN, SCANS_MAX);
        let table = self.name(table).as_bytes();
        let tasks = spans.chunks(len).zip((0..).step_by(len));
        let tasks =
            tasks.map(|(spans, first)| Scan::new(table, family, first, spans, self.witness())).collect();
        self.run(tasks, &mut |task: Scan<'_>| {
            task.witness.check()?;
            (task.first..).zip(task.pages).try_for_each(|(number, page)| visit(number, page))
        })
    }

    fn get(&self, table: Table, columns: &[&[u8]], rows: &[Vec<u8>]) -> Result<Vec<Vec<Cell>>> {
        let len = self.share(rows.len(), GETS_MIN, GETS_MAX);
        let table = self.name(table).as_bytes();
        let tasks = rows.chunks(len).zip((0..).step_by(len));
        let get =
            |(keys, first)| Get { table, columns, first, keys, witness: self.witness(), rows: Vec::new() };
        let tasks = tasks.map(get).collect();
        let mut found = vec![Vec::new(); rows.len()];
        self.run(tasks, &mut |task: Get<'_>| {
            task.witness.check()?;
            let mut cells: HashMap<_, _> = task.rows.into_iter().map(|row| (row.key, row.cells)).collect();
            for (found, key) in found[task.first..].iter_mut().zip(task.keys) {
                *found = cells.remove(key).unwrap_or_default();
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn time_to_live(&self, table: Table, family: u8) -> Result<Option<Duration>> {
        let task = Describe { table: self.name(table).as_bytes(), families: HashMap::new() };
        let mut found = None;
        self.run(vec![task], &mut |task: Describe<'_>| {
            found = task.families.get(&family).copied();
            Ok(())
        })?;
        let seconds = found.ok_or_else(|| Error::new(ErrorKind::NotFound, self.no_tables()))?;
        Ok((seconds != FOREVER).then(|| Duration::from_secs(u64::from(seconds.unsigned_abs()))))
    }

    fn name(&self, table: Table) -> &str {
        match table {
            Table::Index => &self.index_table,
            Table::Documents => &self.document_table,
        }
    }

    fn known(&self) -> &Known {
        &self.known
    }

    fn apply(&self, mutations: &Mutations) -> Result<()> {
        let len = self.share(mutations.mutations.len(), MUTATIONS_MIN, MUTATIONS_MAX);
        let task = |chunk| Apply {
            table: self.name(mutations.table).as_bytes(),
            timestamp: mutations.timestamp,
            time_to_live: mutations.time_to_live,
            mutations: chunk,
            witness: self.witness(),
        };
        let tasks = mutations.mutations.chunks(len).map(task).collect();
        self.run(tasks, &mut |task: Apply<'_>| task.witness.check())
    }

    fn swap(&self, table: Table, swaps: &[Swap]) -> Result<Vec<Swapped>> {
        let len = self.share(swaps.len(), SWAPS_MIN, SWAPS_MAX);
        let table = self.name(table).as_bytes();
        let tasks = swaps.chunks(len).zip((0..).step_by(len));
        let tasks = tasks.map(|(swaps, first)| SwapTask::new(table, first, swaps, self.witness())).collect();
        let mut answers = vec![Swapped::Unknown; swaps.len()];
        self.run(tasks, &mut |task: SwapTask<'_>| {
            task.witness.check()?;
            answers[task.first..][..task.answers.len()].copy_from_slice(&task.answers);
            Ok(())
        })?;
        Ok(answers)
    }

    fn connections(&self) -> ConnectionCounts {
        self.pool.counts()
    }
}
