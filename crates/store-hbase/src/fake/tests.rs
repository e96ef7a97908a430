//! The fake, through the crate's own client. The expected cells and scans are the answers of a real
//! gateway.

mod cells;
mod connections;
mod faults;
mod scans;

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::time::Duration;

use hbase_thrift::hbase::{
    BatchMutation, HbaseSyncClient, IOError, IllegalArgument, Mutation, TCell, THbaseSyncClient, TRowResult,
    TScan,
};
use thrift::protocol::{TBinaryInputProtocol, TBinaryOutputProtocol};
use thrift::transport::{TBufferedReadTransport, TBufferedWriteTransport};

use super::{FakeGateway, Fault, FaultKind};

type Client = HbaseSyncClient<
    TBinaryInputProtocol<TBufferedReadTransport<TcpStream>>,
    TBinaryOutputProtocol<TBufferedWriteTransport<TcpStream>>,
>;

/// Long enough for all that happens: an event that never comes fails a test instead of hanging it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts a gateway whose clock stands at 1,000,000, with the table `t` of the families `d` and
/// `e`.
fn gateway() -> FakeGateway {
    let gateway = FakeGateway::start();
    gateway.set_clock_ms(1_000_000);
    gateway.create_table("t", &["d", "e"]);
    gateway
}

fn connect(gateway: &FakeGateway) -> Client {
    connect_patiently(gateway, PATIENCE)
}

fn connect_patiently(gateway: &FakeGateway, read_timeout: Duration) -> Client {
    let stream = TcpStream::connect(gateway.address()).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(read_timeout)).unwrap();
    let input = TBufferedReadTransport::new(stream.try_clone().unwrap());
    let output = TBufferedWriteTransport::new(stream);
    HbaseSyncClient::new(TBinaryInputProtocol::new(input, true), TBinaryOutputProtocol::new(output, true))
}

fn b(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn none() -> BTreeMap<Vec<u8>, Vec<u8>> {
    BTreeMap::new()
}

fn ttl(ms: i64) -> BTreeMap<Vec<u8>, Vec<u8>> {
    [(b("_ttl"), ms.to_be_bytes().to_vec())].into()
}

fn put(column: &str, value: &str) -> Mutation {
    Mutation::new(false, b(column), b(value), true)
}

fn delete(column: &str) -> Mutation {
    Mutation::new(true, b(column), b(""), true)
}

fn batch(row: &str, mutations: &[Mutation]) -> BatchMutation {
    BatchMutation::new(b(row), mutations.to_vec())
}

fn scan() -> TScan {
    TScan::new(None, None, None, None, None, None, None, None, None, None)
}

/// Returns `value@timestamp` of a column, or nothing.
fn get(client: &mut Client, row: &str, column: &str) -> String {
    shown_cells(&client.get(b("t"), b(row), b(column), none()).unwrap())
}

fn shown_cells(cells: &[TCell]) -> String {
    let cells = cells.iter().map(|cell| {
        let value = String::from_utf8_lossy(cell.value.as_deref().unwrap()).into_owned();
        format!("{value}@{}", cell.timestamp.unwrap())
    });
    cells.collect::<Vec<_>>().join(" ")
}

/// Shows `row[column=value@timestamp …]` for each result.
fn shown(results: &[TRowResult]) -> String {
    let results = results.iter().map(|result| {
        assert_eq!(result.sorted_columns, None);
        let cells = result.columns.as_ref().unwrap().iter().map(|(column, cell)| {
            format!("{}={}", String::from_utf8_lossy(column), shown_cells(std::slice::from_ref(cell)))
        });
        let row = String::from_utf8_lossy(result.row.as_deref().unwrap()).into_owned();
        format!("{row}[{}]", cells.collect::<Vec<_>>().join(" "))
    });
    results.collect::<Vec<_>>().join(" ")
}

/// Returns the message of an `IOError`, and true if it says that a retry may help.
fn io_error<T: std::fmt::Debug>(result: thrift::Result<T>) -> (String, bool) {
    match result {
        Err(thrift::Error::User(error)) => {
            let error = error.downcast::<IOError>().expect("an IOError");
            (error.message.unwrap(), error.can_retry.unwrap())
        }
        other => panic!("{other:?}"),
    }
}

fn illegal_argument<T: std::fmt::Debug>(result: thrift::Result<T>) -> String {
    match result {
        Err(thrift::Error::User(error)) => {
            error.downcast::<IllegalArgument>().expect("an IllegalArgument").message.unwrap()
        }
        other => panic!("{other:?}"),
    }
}

/// Returns the message that the client gets for an unexpected Java exception.
fn internal_error<T: std::fmt::Debug>(result: thrift::Result<T>) -> String {
    match result {
        Err(thrift::Error::Application(error)) => {
            assert_eq!(error.kind, thrift::ApplicationErrorKind::InternalError);
            error.message
        }
        other => panic!("{other:?}"),
    }
}

fn transport_error<T: std::fmt::Debug>(result: thrift::Result<T>) -> thrift::TransportErrorKind {
    match result {
        Err(thrift::Error::Transport(error)) => error.kind,
        other => panic!("{other:?}"),
    }
}
