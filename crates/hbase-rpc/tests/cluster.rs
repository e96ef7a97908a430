//! Tests of the client against a cluster in this process, which fails on demand.
#![expect(clippy::unwrap_used, reason = "what fails here is a failed test")]

#[path = "cluster/batches.rs"]
mod batches;
#[path = "cluster/lookups.rs"]
mod lookups;
#[path = "cluster/pages.rs"]
mod pages;
#[path = "cluster/random.rs"]
mod random;
#[path = "cluster/retries.rs"]
mod retries;
#[path = "cluster/scans.rs"]
mod scans;

use std::time::Duration;

use bytes::Bytes;
use hbase_rpc::fake::FakeCluster;
use hbase_rpc::{Cell, CellType, CheckAndMutate, Client, ClientOptions, Mutation, Scan};

/// Regions begin at `b`, `d`, `f` and `h`, on two servers.
const SPLITS: [&[u8]; 4] = [b"b", b"d", b"f", b"h"];

fn cluster() -> FakeCluster {
    let cluster = FakeCluster::start(2);
    cluster.create_table("t", &["f"], &SPLITS);
    cluster
}

/// Returns options with just enough patience for these tests.
fn options() -> ClientOptions {
    ClientOptions {
        call_timeout: Duration::from_secs(2),
        patience: Duration::from_secs(10),
        ..ClientOptions::default()
    }
}

fn client(cluster: &FakeCluster) -> Client {
    Client::new(vec![cluster.master()], options())
}

/// Returns a client that gives up after `patience`.
fn hasty(cluster: &FakeCluster, patience: Duration) -> Client {
    Client::new(vec![cluster.master()], ClientOptions { patience, ..options() })
}

/// Waits until `is_so` returns true. Panics after 30 seconds.
async fn until(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("this takes too long");
}

/// Waits until a client has looked for regions `n` times more.
async fn until_looked_up(cluster: &FakeCluster, n: u64) {
    let n_look_ups = || cluster.n_calls("GetMetaRegionLocations") + cluster.n_calls("Scan");
    let n = n_look_ups() + n;
    until(|| n_look_ups() >= n).await;
}

fn cell(row: &str, qualifier: &str, value: &str) -> Cell {
    let bytes = |text: &str| Bytes::from(text.to_owned());
    Cell {
        row: bytes(row),
        family: Bytes::from_static(b"f"),
        qualifier: bytes(qualifier),
        timestamp: 1,
        kind: CellType::Put,
        value: bytes(value),
    }
}

fn put(row: &str, value: &str) -> Mutation {
    Mutation { cells: vec![cell(row, "q", value)], time_to_live: None }
}

/// Claims a row: puts a cell, if the row has none yet.
fn claim(row: &str, value: &str) -> CheckAndMutate {
    CheckAndMutate { family: "f".into(), qualifier: "q".into(), expected: None, mutation: put(row, value) }
}

/// Returns `n` keys in order, spread over all regions: `a0000`, `a0010` and so on, then `b0001`, up
/// to `j`.
fn keys(n: usize) -> Vec<String> {
    let mut keys: Vec<String> =
        (0..n).map(|i| format!("{}{i:04}", char::from(b'a' + (i % 10) as u8))).collect();
    keys.sort();
    keys
}

/// Puts a cell into each of `n` rows, past the client, and returns their keys.
fn fill(cluster: &FakeCluster, n: usize) -> Vec<String> {
    let keys = keys(n);
    cluster.put("t", keys.iter().map(|key| cell(key, "q", key)).collect());
    keys
}

/// Returns the keys of rows.
fn of_rows(rows: &[Vec<Cell>]) -> Vec<String> {
    rows.iter().map(|row| String::from_utf8(row[0].row.to_vec()).unwrap()).collect()
}

/// Scans all rows, by pages of `page_len`.
async fn scanned(client: &Client, page_len: u32) -> Vec<Vec<Cell>> {
    let mut scanner = client.scan("t", Scan { page_len, ..Scan::default() });
    let mut rows = Vec::new();
    while let Some(page) = scanner.next().await.unwrap() {
        rows.extend(page);
    }
    rows
}
