//! The places of the tests: rows in memory, a cluster that is asked by RPC, and a Thrift gateway.
//! A hazard runs on each of them; a test that runs on one says which fault is of this one alone.

use hbase_rpc::fake::{FakeCluster, Fault as RpcFault, FaultKind as RpcFaultKind};

use super::super::fake::{FakeGateway, Fault, FaultKind, VisibleRow};
use super::super::options::Options;
use super::super::rows::Rows;
use super::super::rpc::{RpcRows, cell};
use super::super::thrift::ThriftRows;
use super::Duration;
use super::memory::Memory;

/// Declares tests, each on rows in memory, by RPC and by Thrift.
macro_rules! hazards {
    ($($name:ident),* $(,)?) => {
        mod memory {
            $(#[test] fn $name() { super::$name(super::On::Memory) })*
        }
        mod rpc {
            $(#[test] fn $name() { super::$name(super::On::Rpc) })*
        }
        mod thrift {
            $(#[test] fn $name() { super::$name(super::On::Thrift) })*
        }
    };
}
pub(super) use hazards;

/// The kind of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    Memory,
    Rpc,
    Thrift,
}

/// A kind of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Call {
    Scan,
    Get,
    Apply,
    Swap,
}

/// The fate of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mishap {
    /// HBase refuses it for good, and nothing is done.
    Refused,
    /// It fails, nothing is done, and another try may help.
    Failed,
    /// It is done, and answered with an error.
    FailedAfter,
    /// So many changes of it are done, and it is answered with an error: batches are not atomic.
    FailedAfterSome(usize),
    /// The connection is closed, and nothing is done.
    Closed,
    /// It is done, and the connection is closed without an answer.
    ClosedAfter,
    /// It is done, and the answer is cut off.
    Cut,
    /// It is done, and the answer is nonsense.
    Nonsense,
    /// Nothing is done, and no answer comes.
    Silent,
    /// It is done, and no answer comes.
    SilentAfter,
    /// It is done a little later.
    Late,
}

const LATE: Duration = Duration::from_millis(5);

/// A place with HBase's tables, and with power over them.
pub(super) trait Bench: Send + Sync {
    /// Returns rows of the index `name`, as another process has them.
    fn rows(&self, name: &str, options: Options) -> Box<dyn Rows>;

    /// Creates a table, and replaces one of the same name.
    fn create_table(&self, name: &str, families: &[&str]);

    fn drop_table(&self, name: &str);

    /// Lets the cells of a family expire so many seconds after their timestamps; `i32::MAX` is
    /// never.
    fn set_time_to_live(&self, table: &str, family: &str, seconds: i32);

    fn set_clock_ms(&self, now_ms: i64);

    fn advance(&self, time: Duration);

    fn now_ms(&self) -> i64;

    /// Returns the rows that a reader sees.
    fn rows_of(&self, table: &str) -> Vec<VisibleRow>;

    /// Writes a cell past all calls and faults.
    fn put_raw(&self, table: &str, row: &[u8], column: &[u8], value: &[u8], timestamp: i64);

    /// Loses a row with its versions and delete markers; returns true if it was there.
    fn erase(&self, table: &str, row: &[u8]) -> bool;

    /// Writes the memory of all tables to disk.
    fn flush(&self);

    /// Compacts all tables.
    fn major_compact(&self);

    /// Returns the number of versions and delete markers, visible or not.
    fn n_stored(&self, table: &str) -> usize;

    /// Stops the servers of rows as if killed. The data stay.
    fn stop(&self);

    fn start_again(&self);

    /// Lets a mishap happen to the `nth` call of a kind from now; the next one is the first.
    fn fail(&self, call: Call, nth: u64, mishap: Mishap);

    /// Returns the number of mishaps to come.
    fn n_faults(&self) -> usize;

    /// Drops the mishaps to come.
    fn clear_faults(&self);

    /// Returns the number of calls of a kind, as [`fail`](Self::fail) counts them.
    fn n_calls(&self, call: Call) -> u64;

    /// Returns the number of scanners that were left open.
    fn n_open_scanners(&self) -> usize;
}

impl On {
    /// Starts a place without tables.
    pub(super) fn start(self) -> Box<dyn Bench> {
        match self {
            Self::Memory => Box::new(Memory::default()),
            Self::Rpc => Box::new(Cluster(FakeCluster::start(1))),
            Self::Thrift => Box::new(FakeGateway::start()),
        }
    }
}

impl Bench for FakeGateway {
    fn rows(&self, name: &str, options: Options) -> Box<dyn Rows> {
        Box::new(ThriftRows::new(self.address().to_string(), name, options))
    }

    fn create_table(&self, name: &str, families: &[&str]) {
        self.create_table(name, families);
    }

    fn drop_table(&self, name: &str) {
        self.drop_table(name);
    }

    fn set_time_to_live(&self, table: &str, family: &str, seconds: i32) {
        self.set_time_to_live(table, family, seconds);
    }

    fn set_clock_ms(&self, now_ms: i64) {
        self.set_clock_ms(now_ms);
    }

    fn advance(&self, time: Duration) {
        self.advance(time);
    }

    fn now_ms(&self) -> i64 {
        self.now_ms()
    }

    fn rows_of(&self, table: &str) -> Vec<VisibleRow> {
        self.rows(table)
    }

    fn put_raw(&self, table: &str, row: &[u8], column: &[u8], value: &[u8], timestamp: i64) {
        self.put_raw(table, row, column, value, timestamp);
    }

    fn erase(&self, table: &str, row: &[u8]) -> bool {
        self.erase(table, row)
    }

    fn flush(&self) {
        self.flush();
    }

    fn major_compact(&self) {
        self.major_compact();
    }

    fn n_stored(&self, table: &str) -> usize {
        self.n_stored(table)
    }

    fn stop(&self) {
        self.stop();
    }

    fn start_again(&self) {
        self.start_again().unwrap();
    }

    fn fail(&self, call: Call, nth: u64, mishap: Mishap) {
        let message = || "java.io.IOException: injected\n\tat somewhere".to_owned();
        let kind = match mishap {
            Mishap::Refused => FaultKind::DoNotRetry(message()),
            Mishap::Failed => FaultKind::IoError(message()),
            Mishap::FailedAfter => FaultKind::IoErrorAfter(message()),
            Mishap::FailedAfterSome(n) => FaultKind::IoErrorAfterRows(n, message()),
            Mishap::Closed => FaultKind::Close,
            Mishap::ClosedAfter => FaultKind::CloseAfter,
            Mishap::Cut => FaultKind::CutAfter(20),
            Mishap::Nonsense => FaultKind::GarbageAfter(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
            Mishap::Silent => FaultKind::Stall,
            Mishap::SilentAfter => FaultKind::StallAfter,
            Mishap::Late => FaultKind::Delay(LATE),
        };
        self.fail(Fault::on(thrift_name(call), kind).nth(nth));
    }

    fn n_faults(&self) -> usize {
        self.n_faults()
    }

    fn clear_faults(&self) {
        self.clear_faults();
    }

    fn n_calls(&self, call: Call) -> u64 {
        self.n_calls(thrift_name(call))
    }

    fn n_open_scanners(&self) -> usize {
        self.n_open_scanners()
    }
}

fn thrift_name(call: Call) -> &'static str {
    match call {
        Call::Scan => "scannerGetList",
        Call::Get => "getRowsWithColumns",
        Call::Apply => "mutateRowsTs",
        Call::Swap => "checkAndPut",
    }
}

/// A cluster that is asked by RPC.
struct Cluster(FakeCluster);

/// The tables that the tests make.
const TABLES: [&str; 4] = ["t", "t_docs", "u", "u_docs"];

impl Cluster {
    fn of_each_table(&self, act: impl Fn(&mut hbase_rpc::fake::Table, i64)) {
        for name in TABLES.into_iter().filter(|name| self.0.n_regions(name) > 0) {
            self.0.with_table(name, &act);
        }
    }
}

impl Bench for Cluster {
    fn rows(&self, name: &str, options: Options) -> Box<dyn Rows> {
        let (host, port) = self.0.master();
        let uri = format!("hbase+rpc://{host}:{port}/{name}").parse().unwrap();
        Box::new(RpcRows::new(&uri, options).unwrap())
    }

    fn create_table(&self, name: &str, families: &[&str]) {
        self.0.create_table(name, families, &[]);
    }

    fn drop_table(&self, name: &str) {
        self.0.drop_table(name);
    }

    fn set_time_to_live(&self, table: &str, family: &str, seconds: i32) {
        let seconds = (seconds != i32::MAX).then_some(seconds.unsigned_abs());
        self.0.with_table(table, |table, _| table.families.insert(family.to_owned().into(), seconds));
    }

    fn set_clock_ms(&self, now_ms: i64) {
        self.0.set_clock_ms(now_ms);
    }

    fn advance(&self, time: Duration) {
        self.0.advance(time);
    }

    fn now_ms(&self) -> i64 {
        self.0.with_table("t", |_, now| now)
    }

    fn rows_of(&self, table: &str) -> Vec<VisibleRow> {
        self.0.with_table(table, |table, now| super::memory::visible(table, now))
    }

    fn put_raw(&self, table: &str, row: &[u8], column: &[u8], value: &[u8], timestamp: i64) {
        self.0.put(table, vec![cell(row, column, timestamp, Some(value))]);
    }

    fn erase(&self, table: &str, row: &[u8]) -> bool {
        self.0.with_table(table, |table, _| table.erase(row))
    }

    fn flush(&self) {
        self.of_each_table(|table, now| table.flush(now));
    }

    fn major_compact(&self) {
        self.of_each_table(|table, now| table.compact(now));
    }

    fn n_stored(&self, table: &str) -> usize {
        self.0.with_table(table, |table, _| table.n_stored())
    }

    fn stop(&self) {
        self.0.kill(0);
    }

    fn start_again(&self) {
        self.0.start_again(0);
    }

    fn fail(&self, call: Call, nth: u64, mishap: Mishap) {
        let kind = match mishap {
            Mishap::Refused => RpcFaultKind::FinalException("DoNotRetryIOException"),
            Mishap::Failed => RpcFaultKind::Exception("java.io.IOException"),
            Mishap::FailedAfter => RpcFaultKind::ExceptionAfter("java.io.IOException"),
            Mishap::FailedAfterSome(n) => RpcFaultKind::ExceptionAfterActions(n, "java.io.IOException"),
            Mishap::Closed => RpcFaultKind::Close,
            Mishap::ClosedAfter => RpcFaultKind::CloseAfter,
            Mishap::Cut => RpcFaultKind::CutAfter(1),
            Mishap::Nonsense => RpcFaultKind::GarbageAfter(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
            Mishap::Silent => RpcFaultKind::Stall,
            Mishap::SilentAfter => RpcFaultKind::StallAfter,
            Mishap::Late => RpcFaultKind::Delay(LATE),
        };
        self.0.fail(RpcFault::on(rpc_name(call), kind).nth(nth));
    }

    fn n_faults(&self) -> usize {
        self.0.n_faults()
    }

    fn clear_faults(&self) {
        self.0.clear_faults();
    }

    fn n_calls(&self, call: Call) -> u64 {
        self.0.n_calls(rpc_name(call))
    }

    /// A client closes its scans in the background.
    fn n_open_scanners(&self) -> usize {
        0
    }
}

fn rpc_name(call: Call) -> &'static str {
    match call {
        Call::Scan => "Scan",
        Call::Get => "Get",
        Call::Apply => "Mutate",
        Call::Swap => "CheckAndMutate",
    }
}
