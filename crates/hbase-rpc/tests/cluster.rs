//! The client against a cluster in this process that fails as told.
#![expect(clippy::unwrap_used, reason = "what fails here is a failed test")]

#[path = "cluster/batches.rs"]
mod batches;
#[path = "cluster/lookups.rs"]
mod lookups;
#[path = "cluster/pages.rs"]
mod pages;
#[path = "cluster/random.rs"]
mod random;
#[path = "cluster/replicas.rs"]
mod replicas;
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

/// Patient enough for what these tests do, and no more.
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

/// Gives up after this time.
fn hasty(cluster: &FakeCluster, patience: Duration) -> Client {
    Client::new(vec![cluster.master()], ClientOptions { patience, ..options() })
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

/// Takes a row that has no such cell yet.
fn claim(row: &str, value: &str) -> CheckAndMutate {
    CheckAndMutate { family: "f".into(), qualifier: "q".into(), expected: None, mutation: put(row, value) }
}

/// So many keys, spread over all regions: `a0000`, `b0001` and so on to `j`, then `a0010`.
fn keys(n: usize) -> Vec<String> {
    let mut keys: Vec<String> =
        (0..n).map(|i| format!("{}{i:04}", char::from(b'a' + (i % 10) as u8))).collect();
    keys.sort();
    keys
}

/// Puts a cell into each of so many rows, past the client.
fn fill(cluster: &FakeCluster, n: usize) -> Vec<String> {
    let keys = keys(n);
    cluster.put("t", keys.iter().map(|key| cell(key, "q", key)).collect());
    keys
}

/// The keys of rows.
fn of_rows(rows: &[Vec<Cell>]) -> Vec<String> {
    rows.iter().map(|row| String::from_utf8(row[0].row.to_vec()).unwrap()).collect()
}

/// All rows, by pages of so many.
async fn scanned(client: &Client, page_len: u32) -> Vec<Vec<Cell>> {
    let mut scanner = client.scan("t", Scan { page_len, ..Scan::default() });
    let mut rows = Vec::new();
    while let Some(page) = scanner.next().await.unwrap() {
        rows.extend(page);
    }
    rows
}
