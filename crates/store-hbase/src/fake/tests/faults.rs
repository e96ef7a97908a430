//! Each fault as the client meets it, and the check if the call's work was done.

use std::time::Instant;

use thrift::TransportErrorKind;

use super::*;

fn write(client: &mut Client, row: &str) -> thrift::Result<()> {
    client.mutate_rows_ts(b("t"), vec![batch(row, &[put("d:x", "1")])], 5, none())
}

fn written(gateway: &FakeGateway) -> usize {
    gateway.rows("t").len()
}

/// Starts a gateway whose next write fails in this way, and connects to it.
fn failing(kind: FaultKind) -> (FakeGateway, Client) {
    let gateway = gateway();
    let mut client = connect(&gateway);
    client.get_table_names().unwrap();
    gateway.fail(Fault::on("mutateRowsTs", kind));
    (gateway, client)
}

#[test]
fn errors() {
    for (kind, can_retry, n_written) in [
        (FaultKind::IoError("so".to_owned()), true, 0),
        (FaultKind::DoNotRetry("so".to_owned()), false, 0),
        (FaultKind::IoErrorAfter("so".to_owned()), true, 1),
    ] {
        let (gateway, mut client) = failing(kind.clone());
        assert_eq!(io_error(write(&mut client, "r")), ("so".to_owned(), can_retry), "{kind:?}");
        assert_eq!(written(&gateway), n_written, "{kind:?}");
        // The connection is as good as before.
        write(&mut client, "s").unwrap();
        assert_eq!(written(&gateway), n_written + 1);
    }
}

#[test]
fn a_batch_written_in_part() {
    let (gateway, mut client) = failing(FaultKind::IoErrorAfterRows(2, "so".to_owned()));
    let batches = ["r", "s", "u"].map(|row| batch(row, &[put("d:x", "1")])).to_vec();
    io_error(client.mutate_rows_ts(b("t"), batches, 5, none()));
    assert_eq!(gateway.rows("t").into_iter().map(|(row, _)| row).collect::<Vec<_>>(), [b("r"), b("s")]);
}

#[test]
fn replies_that_do_not_come() {
    for (kind, n_written) in [
        (FaultKind::Close, 0),
        (FaultKind::CloseAfter, 1),
        (FaultKind::CutAfter(0), 1),
        (FaultKind::CutAfter(9), 1),
    ] {
        let (gateway, mut client) = failing(kind.clone());
        assert_eq!(transport_error(write(&mut client, "r")), TransportErrorKind::EndOfFile, "{kind:?}");
        assert_eq!(written(&gateway), n_written, "{kind:?}");
        assert_eq!(gateway.n_connections(), 0, "{kind:?}");
        write(&mut client, "s").expect_err("the connection is gone");
        write(&mut connect(&gateway), "s").unwrap();
    }
}

/// Requests that follow in the same packet do not turn the end into a reset, which could overtake
/// earlier replies.
#[test]
fn earlier_replies_of_a_pipeline_arrive() {
    use std::io::{Read, Write};
    use thrift::protocol::{TMessageIdentifier, TMessageType, TOutputProtocol};

    let gateway = gateway();
    gateway.fail(Fault::on("getTableNames", FaultKind::CloseAfter).nth(3));
    let mut requests = TBinaryOutputProtocol::new(Vec::new(), true);
    for number in 1..=50 {
        requests
            .write_message_begin(&TMessageIdentifier::new("getTableNames", TMessageType::Call, number))
            .unwrap();
        requests.write_field_stop().unwrap();
    }
    let mut stream = TcpStream::connect(gateway.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&requests.transport).unwrap();
    let mut replies = Vec::new();
    stream.read_to_end(&mut replies).unwrap();
    let n_replies = replies.windows(13).filter(|piece| piece == b"getTableNames").count();
    assert_eq!(n_replies, 2);
    assert_eq!(gateway.n_calls("getTableNames"), 3);
    connect(&gateway).get_table_names().unwrap();
}

#[test]
fn replies_that_make_no_sense() {
    let (gateway, mut client) = failing(FaultKind::GarbageAfter(vec![0x13; 64]));
    let error = write(&mut client, "r").unwrap_err();
    assert!(matches!(error, thrift::Error::Protocol(_)), "{error:?}");
    assert_eq!((written(&gateway), gateway.n_connections()), (1, 1));

    let (gateway, mut client) = failing(FaultKind::WrongSequenceAfter);
    let error = write(&mut client, "r").unwrap_err();
    assert!(
        matches!(&error, thrift::Error::Application(error) if error.kind == thrift::ApplicationErrorKind::BadSequenceId),
        "{error:?}"
    );
    assert_eq!(written(&gateway), 1);
}

#[test]
fn replies_that_never_come() {
    for (kind, n_written) in [(FaultKind::Stall, 0), (FaultKind::StallAfter, 1)] {
        let gateway = gateway();
        gateway.fail(Fault::any(kind.clone()));
        let mut client = connect_patiently(&gateway, Duration::from_millis(30));
        write(&mut client, "r").expect_err("it times out");
        assert_eq!(written(&gateway), n_written, "{kind:?}");
        // Others are served, and the stalled connection is there until its client leaves or the
        // gateway stops.
        write(&mut connect(&gateway), "s").unwrap();
        assert!(gateway.wait_for_connections(1, PATIENCE));
        drop(client);
        assert!(gateway.wait_for_connections(0, PATIENCE));

        gateway.fail(Fault::any(kind));
        let mut client = connect(&gateway);
        std::thread::scope(|scope| {
            let stalled = scope.spawn(move || transport_error(write(&mut client, "r")));
            assert!(gateway.wait_for_connections(1, PATIENCE));
            while gateway.n_faults() > 0 {
                std::thread::yield_now();
            }
            gateway.stop();
            stalled.join().unwrap();
        });
    }
}

#[test]
fn a_delayed_call_is_executed_late_and_without_its_client() {
    let (gateway, mut client) = failing(FaultKind::Delay(Duration::from_millis(30)));
    let started = Instant::now();
    write(&mut client, "r").unwrap();
    assert!(started.elapsed() >= Duration::from_millis(30));

    drop(client);

    gateway.fail(Fault::any(FaultKind::Delay(Duration::from_millis(60))));
    let mut client = connect_patiently(&gateway, Duration::from_millis(5));
    write(&mut client, "s").expect_err("it times out");
    drop(client);
    // The gateway may not have met the connection yet.
    while gateway.n_faults() > 0 {
        std::thread::yield_now();
    }
    assert!(gateway.wait_for_connections(0, PATIENCE));
    assert_eq!(written(&gateway), 2);
}

/// A killed gateway does not carry out a delayed call later.
#[test]
fn a_stop_ends_a_delay() {
    let (gateway, mut client) = failing(FaultKind::Delay(Duration::from_secs(3600)));
    std::thread::scope(|scope| {
        let delayed = scope.spawn(move || transport_error(write(&mut client, "r")));
        while gateway.n_faults() > 0 {
            std::thread::yield_now();
        }
        gateway.stop();
        delayed.join().unwrap();
    });
    assert_eq!(written(&gateway), 0);
}

#[test]
fn the_nth_call_of_a_method() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    gateway.fail(Fault::on("mutateRowsTs", FaultKind::IoError("so".to_owned())).nth(2));
    write(&mut client, "r").unwrap();
    client.get_table_names().unwrap();
    io_error(write(&mut client, "s"));
    write(&mut client, "u").unwrap();
    assert_eq!((gateway.n_calls("mutateRowsTs"), gateway.n_calls("getTableNames")), (3, 1));
    assert_eq!((gateway.n_calls("getRow"), gateway.n_calls_in_all()), (0, 4));
    gateway.fail(Fault::any(FaultKind::Close));
    gateway.clear_faults();
    write(&mut client, "v").unwrap();
}

/// Faults hit every method, even one that cannot fail in its own words.
#[test]
fn a_method_without_errors_of_its_own() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    gateway.fail(Fault::any(FaultKind::IoError("so".to_owned())));
    let error = client.get_thrift_server_type().unwrap_err();
    assert!(matches!(error, thrift::Error::Application(_)), "{error:?}");
    client.get_thrift_server_type().unwrap();
}
