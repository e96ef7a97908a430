//! Connections, and the gateway's own beginning and end.

use std::io::Read;

use super::*;

#[test]
fn connections_are_counted() {
    let gateway = gateway();
    assert_eq!(gateway.n_connections(), 0);
    let mut clients = [connect(&gateway), connect(&gateway)];
    for client in &mut clients {
        client.get_table_names().unwrap();
    }
    assert_eq!(gateway.n_connections(), 2);
    drop(clients);
    assert!(gateway.wait_for_connections(0, PATIENCE));
    connect(&gateway).get_table_names().unwrap();
    assert_eq!((gateway.n_connections_max(), gateway.n_connections_in_all()), (2, 3));
    assert!(!gateway.wait_for_connections(9, Duration::from_millis(1)));
}

#[test]
fn refused_connections() {
    let gateway = gateway();
    gateway.refuse_connections(2);
    for _ in 0..2 {
        transport_error(connect(&gateway).get_table_names());
    }
    connect(&gateway).get_table_names().unwrap();
    assert_eq!(gateway.n_connections_in_all(), 1);
}

#[test]
fn idle_connections_are_closed() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    client.get_table_names().unwrap();
    gateway.close_idle_connections();
    assert_eq!(gateway.n_connections(), 0);
    transport_error(client.get_table_names());

    gateway.close_idle_after(Duration::from_millis(10));
    let mut stream = TcpStream::connect(gateway.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    assert!(gateway.wait_for_connections(0, PATIENCE));
}

#[test]
fn a_restart_keeps_the_data_and_forgets_scanners() {
    let gateway = gateway();
    let address = gateway.address();
    let mut client = connect(&gateway);
    client.mutate_row(b("t"), b("r"), vec![put("d:x", "1")], none()).unwrap();
    client.scanner_open_with_scan(b("t"), scan(), none()).unwrap();
    for _ in 0..3 {
        gateway.stop();
        gateway.stop();
        assert_eq!((gateway.n_connections(), gateway.n_open_scanners()), (0, 0));
        transport_error(client.get_table_names());
        TcpStream::connect(address).expect_err("nobody listens");

        gateway.start_again().unwrap();
        gateway.start_again().unwrap();
        assert_eq!(gateway.address(), address);
        client = connect(&gateway);
        assert_eq!(get(&mut client, "r", "d:x"), "1@1000000");
        illegal_argument(client.scanner_get(0));
        assert_eq!(client.scanner_open_with_scan(b("t"), scan(), none()).unwrap(), 0, "ids begin anew");
    }
}

#[test]
fn dropping_the_gateway_ends_it() {
    let gateway = gateway();
    let address = gateway.address();
    let mut client = connect(&gateway);
    client.get_table_names().unwrap();
    let shared = std::sync::Arc::downgrade(&gateway.shared);
    drop(gateway);
    assert_eq!(shared.strong_count(), 0, "no thread is left");
    transport_error(client.get_table_names());
    TcpStream::connect(address).expect_err("nobody listens");
}

#[test]
fn the_clock_runs_until_it_is_set() {
    let gateway = FakeGateway::start();
    let wall = gateway.now_ms();
    assert!(wall > 1_500_000_000_000);
    gateway.advance(Duration::from_secs(3600));
    assert!(gateway.now_ms() >= wall + 3_600_000);
    gateway.set_clock_ms(7);
    assert_eq!(gateway.now_ms(), 7);
    gateway.advance(Duration::from_millis(5));
    assert_eq!(gateway.now_ms(), 12);
}

/// Garbage from a client costs the client its connection, and affects no other client.
#[test]
fn a_client_that_speaks_something_else() {
    use std::io::Write;
    let gateway = gateway();
    let mut stream = TcpStream::connect(gateway.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    connect(&gateway).get_table_names().unwrap();
}
