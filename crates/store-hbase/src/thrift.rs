//! Rows through an HBase Thrift1 gateway: the generated types of the crate `hbase-thrift`, on
//! connections of our own. The gateway gets many requests at once, on one connection and on
//! several.

mod calls;
mod connection;
mod plan;
mod protocol;
mod scan;
mod witness;

use std::collections::HashMap;
use std::time::Duration;

use index::backend::Known;
use index::{ConnectionCounts, Result};

use self::calls::{Apply, Describe, Get, SwapCall};
use self::connection::Connection;
use self::plan::{Call, Dispatch, Once, Pool, Retry, Shard};
use self::scan::Scan;
use self::witness::Witness;
use crate::options::Options;
use crate::rows::{Cell, MasterWait, Mutations, Rows, Span, Swap, Swapped, Table, TableNames, Visit};
use crate::server::Server;

/// The number of scanners that one connection opens at a time. Requests written ahead of the
/// replies must fit the buffers of both ends, or both would wait for the other to read.
pub(crate) const SCANS: Shard = Shard { min: 3, max: 30 };

/// The number of `checkAndPut`s sent over one connection at a time.
pub(crate) const SWAPS: Shard = Shard { min: 4, max: 30 };

/// Rows of one `getRowsWithColumns`.
const GETS: Shard = Shard { min: 100, max: 500 };

/// Rows of one `mutateRowsTs`. For each of them, a region writes its log once.
const MUTATIONS: Shard = Shard { min: 1_000, max: 2_500 };

/// The time to live of a family without one, in seconds.
const FOREVER: i32 = i32::MAX;

/// The rows of one index behind one gateway.
pub(crate) struct ThriftRows {
    tables: TableNames,
    known: Known,
    pool: Pool<Connection>,
    retry: Retry,
    n_connections: usize,
}

impl ThriftRows {
    /// Returns the rows of the index `name`, through the gateway at `HOST:PORT`. Makes no request
    /// yet.
    pub(crate) fn new(gateway: String, name: &str, options: Options) -> Self {
        let tables = TableNames::new(name);
        Self {
            known: Known::new(format!("hbase://{gateway}/{name}")),
            retry: Retry::new(server(&gateway), tables.clone(), options),
            pool: Pool::new(gateway, &options),
            n_connections: options.n_connections,
            tables,
        }
    }

    fn witness(&self) -> Witness<'_> {
        Witness::new(self.tables.of(Table::Documents).as_bytes(), crate::witness::Witness::new(&self.known))
    }

    /// Returns the time to live of a family, `None` if the table lacks the family.
    fn seconds_to_live(&self, table: Table, family: u8) -> Result<Option<i32>> {
        let call = Describe { table: self.name(table).as_bytes(), families: HashMap::new() };
        let mut found = None;
        self.run(vec![call], &mut |call: Describe<'_>| {
            found = call.families.get(&family).copied();
            Ok(())
        })?;
        Ok(found)
    }

    /// Does all calls, each until it is done, on as many connections as are to be had.
    fn run<C: Call<Connection = Connection>>(
        &self,
        calls: Vec<C>,
        done: &mut dyn FnMut(C) -> Result<()>,
    ) -> Result<()> {
        self.retry.run(Dispatch::new(&self.pool, calls, done))
    }
}

/// Returns the words of messages about a gateway.
fn server(gateway: &str) -> Server {
    Server {
        address: gateway.to_owned(),
        role: "gateway",
        kind: "an HBase Thrift1 gateway",
        denied: format!("HBase does not let the gateway at {gateway} do this; grant its user read and write"),
        way: format!("through the gateway at {gateway}"),
        away: "is it running, and HBase behind it?",
        strange: "is it one, with the binary protocol and without framed transport, and of a version that this program \
                  knows?",
        foreign: "is a Thrift2 gateway running there?",
    }
}

impl Rows for ThriftRows {
    fn scan(&self, table: Table, family: u8, spans: &[Span], visit: Visit<'_>) -> Result<()> {
        let table = self.name(table).as_bytes();
        let scan = |(first, spans)| Scan::new(table, family, first, spans, self.witness());
        let calls = SCANS.parts(spans, self.n_connections).map(scan).collect();
        self.run(calls, &mut |call: Scan<'_>| {
            call.witness.check()?;
            (call.first..).zip(call.pages).try_for_each(|(number, page)| visit(number, page))
        })
    }

    fn get(&self, table: Table, columns: &[&[u8]], rows: &[Vec<u8>]) -> Result<Vec<Vec<Cell>>> {
        let table = self.name(table).as_bytes();
        let get =
            |(first, keys)| Get { table, columns, first, keys, witness: self.witness(), rows: Vec::new() };
        let calls = GETS.parts(rows, self.n_connections).map(get).collect();
        let mut found = vec![Vec::new(); rows.len()];
        self.run(calls, &mut |call: Get<'_>| {
            call.witness.check()?;
            let mut cells: HashMap<_, _> = call.rows.into_iter().map(|row| (row.key, row.cells)).collect();
            for (found, key) in found[call.first..].iter_mut().zip(call.keys) {
                *found = cells.remove(key).unwrap_or_default();
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn time_to_live(&self, table: Table, family: u8, _: MasterWait) -> Result<Option<Duration>> {
        let seconds = self.seconds_to_live(table, family)?.ok_or_else(|| self.tables.missing())?;
        Ok((seconds != FOREVER).then(|| Duration::from_secs(u64::from(seconds.unsigned_abs()))))
    }

    fn has_family(&self, table: Table, family: u8, _: MasterWait) -> Result<bool> {
        Ok(self.seconds_to_live(table, family)?.is_some())
    }

    fn name(&self, table: Table) -> &str {
        self.tables.of(table)
    }

    fn known(&self) -> &Known {
        &self.known
    }

    fn apply(&self, mutations: &Mutations) -> Result<()> {
        let apply = |(_, part)| Apply {
            table: self.name(mutations.table).as_bytes(),
            timestamp: mutations.timestamp,
            time_to_live: mutations.time_to_live,
            mutations: part,
            witness: self.witness(),
        };
        let calls = MUTATIONS.parts(&mutations.mutations, self.n_connections).map(apply).collect();
        self.run(calls, &mut |call: Apply<'_>| call.witness.check())
    }

    fn swap(&self, table: Table, swaps: &[Swap]) -> Result<Vec<Swapped>> {
        let table = self.name(table).as_bytes();
        let swap = |(first, swaps)| Once::new(SwapCall::new(table, first, swaps, self.witness()));
        let calls = SWAPS.parts(swaps, self.n_connections).map(swap).collect();
        let mut answers = vec![Swapped::Unknown; swaps.len()];
        self.run(calls, &mut |Once { call, .. }: Once<SwapCall<'_>>| {
            call.witness.check()?;
            answers[call.first..][..call.answers.len()].copy_from_slice(&call.answers);
            Ok(())
        })?;
        Ok(answers)
    }

    fn connections(&self) -> ConnectionCounts {
        self.pool.counts()
    }
}
