//! Scanners.

use super::*;

/// Starts a gateway with rows `a` to `e` of one column, and `w`, which is wide.
fn filled() -> FakeGateway {
    let gateway = gateway();
    for row in ["a", "b", "c", "d", "e"] {
        gateway.put_raw("t", row.as_bytes(), b"d:x", row.as_bytes(), 5);
    }
    for column in ["d:1", "d:2", "d:3", "d:4", "d:5", "e:1"] {
        gateway.put_raw("t", b"w", column.as_bytes(), b"v", 5);
    }
    gateway
}

fn read_all(client: &mut Client, scan: TScan) -> thrift::Result<Vec<TRowResult>> {
    let id = client.scanner_open_with_scan(b("t"), scan, none())?;
    let results = client.scanner_get_list(id, 100);
    client.scanner_close(id)?;
    results
}

fn rows_of(results: &[TRowResult]) -> String {
    results
        .iter()
        .map(|result| String::from_utf8_lossy(result.row.as_deref().unwrap()).into_owned())
        .collect()
}

#[test]
fn the_start_is_included_and_the_stop_is_not() {
    let gateway = filled();
    let mut client = connect(&gateway);
    for (start, stop, expected) in [
        (None, None, "abcdew"),
        (Some(""), Some(""), "abcdew"),
        (Some("b"), Some("d"), "bc"),
        (Some("b"), Some("d\0"), "bcd"),
        (Some("d"), None, "dew"),
        (None, Some("c"), "ab"),
        (Some("d"), Some("b"), ""),
        // Equal ends are a get.
        (Some("c"), Some("c"), "c"),
        (Some("cc"), Some("cc"), ""),
    ] {
        let scan = TScan { start_row: start.map(b), stop_row: stop.map(b), ..scan() };
        assert_eq!(rows_of(&read_all(&mut client, scan).unwrap()), expected, "{start:?} {stop:?}");
    }
    assert_eq!(gateway.n_open_scanners(), 0);
}

#[test]
fn a_scanner_goes_on_where_it_was_from_any_connection() {
    let gateway = filled();
    let mut client = connect(&gateway);
    let id = client.scanner_open_with_scan(b("t"), scan(), none()).unwrap();
    assert_eq!(id, 0, "ids begin at 0");
    assert_eq!(rows_of(&client.scanner_get(id).unwrap()), "a");
    assert_eq!(rows_of(&client.scanner_get_list(id, 0).unwrap()), "");
    drop(client);
    let mut client = connect(&gateway);
    assert_eq!(gateway.n_open_scanners(), 1, "it outlives its connection");
    assert_eq!(rows_of(&client.scanner_get_list(id, 3).unwrap()), "bcd");
    assert_eq!(rows_of(&client.scanner_get_list(id, 100).unwrap()), "ew");
    assert_eq!(rows_of(&client.scanner_get_list(id, 100).unwrap()), "");
    internal_error(client.scanner_get_list(id, -1));
    client.scanner_close(id).unwrap();
    assert_eq!(gateway.n_open_scanners(), 0);
    assert_eq!(illegal_argument(client.scanner_close(id)), "scanner ID is invalid");
    assert_eq!(illegal_argument(client.scanner_get(id)), "scanner ID is invalid");
    assert_eq!(illegal_argument(client.scanner_get_list(77, 1)), "scanner ID is invalid");
    assert_eq!(client.scanner_open_with_scan(b("t"), scan(), none()).unwrap(), 1);
    gateway.expire_scanners();
    assert_eq!(illegal_argument(client.scanner_get(1)), "scanner ID is invalid");
    assert_eq!(client.scanner_open_with_scan(b("t"), scan(), none()).unwrap(), 2);
}

#[test]
fn columns_batches_and_order() {
    let gateway = filled();
    let mut client = connect(&gateway);
    let wide = || TScan { start_row: Some(b("w")), ..scan() };
    let mut check = |scan: TScan, expected: &str| {
        assert_eq!(shown(&read_all(&mut client, scan).unwrap()).replace("=v@5", ""), expected);
    };
    check(wide(), "w[d:1 d:2 d:3 d:4 d:5 e:1]");
    check(TScan { columns: Some(vec![]), ..wide() }, "w[d:1 d:2 d:3 d:4 d:5 e:1]");
    check(TScan { columns: Some(vec![b("d:2"), b("e")]), ..wide() }, "w[d:2 e:1]");
    check(TScan { columns: Some(vec![b("d:9")]), ..wide() }, "");
    check(TScan { batch_size: Some(4), ..wide() }, "w[d:1 d:2 d:3 d:4] w[d:5 e:1]");
    check(TScan { batch_size: Some(3), ..wide() }, "w[d:1 d:2 d:3] w[d:4 d:5 e:1]");
    check(TScan { batch_size: Some(0), ..wide() }, "w[d:1 d:2 d:3 d:4 d:5 e:1]");
    let filter = b("ColumnRangeFilter('2', true, '5', false)");
    check(TScan { filter_string: Some(filter.clone()), ..scan() }, "w[d:2 d:3 d:4]");
    check(
        TScan { filter_string: Some(filter), batch_size: Some(2), columns: Some(vec![b("d")]), ..wide() },
        "w[d:2 d:3] w[d:4]",
    );

    let key_only = TScan { filter_string: Some(b("KeyOnlyFilter()")), stop_row: Some(b("b")), ..scan() };
    assert_eq!(shown(&read_all(&mut client, key_only).unwrap()), "a[d:x=@5]");
    let sorted = TScan { sort_columns: Some(true), stop_row: Some(b("b")), ..scan() };
    let results = read_all(&mut client, sorted).unwrap();
    assert_eq!(results[0].columns, None);
    assert_eq!(results[0].sorted_columns.as_ref().unwrap()[0].column_name, Some(b("d:x")));
}

/// A row may be cut where a client stops reading: `n` counts results and not rows.
#[test]
fn a_row_in_pieces_over_several_calls() {
    let gateway = filled();
    let mut client = connect(&gateway);
    let scan = TScan { start_row: Some(b("e")), batch_size: Some(4), ..scan() };
    let id = client.scanner_open_with_scan(b("t"), scan, none()).unwrap();
    assert_eq!(rows_of(&client.scanner_get_list(id, 2).unwrap()), "ew");
    assert_eq!(shown(&client.scanner_get_list(id, 2).unwrap()), "w[d:5=v@5 e:1=v@5]");
}

#[test]
fn what_is_missing_comes_out_at_the_first_read() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    let id = client.scanner_open_with_scan(b("no"), scan(), none()).unwrap();
    for _ in 0..2 {
        let (message, can_retry) = io_error(client.scanner_get_list(id, 1));
        assert!(message.starts_with("org.apache.hadoop.hbase.TableNotFoundException: no\n"), "{message}");
        assert!(!can_retry);
    }
    assert_eq!(gateway.n_open_scanners(), 1, "it has to be closed all the same");
    let (message, _) = io_error(read_all(&mut client, TScan { columns: Some(vec![b("f")]), ..scan() }));
    assert!(message.contains("NoSuchColumnFamilyException"), "{message}");
}

#[test]
fn what_the_fake_does_not_scan() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    io_error(read_all(&mut client, TScan { reversed: Some(true), ..scan() }));
    io_error(read_all(&mut client, TScan { filter_string: Some(b("PageFilter(3)")), ..scan() }));
    assert_eq!(gateway.n_open_scanners(), 0);
}

/// Within a region a scan is of one moment; it comes to the next region later.
#[test]
fn a_scan_reads_each_region_when_it_comes_to_it() {
    let gateway = FakeGateway::start();
    gateway.create_split_table("t", &["d"], &[b"m"]);
    for row in ["a", "b", "n"] {
        gateway.put_raw("t", row.as_bytes(), b"d:x", b"old", 5);
    }
    let mut client = connect(&gateway);
    let id = client.scanner_open_with_scan(b("t"), scan(), none()).unwrap();
    gateway.put_raw("t", b"a", b"d:x", b"opened", 6);
    assert_eq!(shown(&client.scanner_get(id).unwrap()), "a[d:x=opened@6]");
    gateway.put_raw("t", b"b", b"d:x", b"later", 7);
    gateway.put_raw("t", b"n", b"d:x", b"later", 7);
    assert_eq!(shown(&client.scanner_get_list(id, 9).unwrap()), "b[d:x=old@5] n[d:x=later@7]");
}

#[test]
fn the_dead_and_the_deleted_are_not_scanned() {
    let gateway = filled();
    let mut client = connect(&gateway);
    client.mutate_row_ts(b("t"), b("b"), vec![delete("d:x")], 5, none()).unwrap();
    client.mutate_row(b("t"), b("bb"), vec![put("d:x", "1")], ttl(10)).unwrap();
    let narrow = || TScan { stop_row: Some(b("d")), ..scan() };
    assert_eq!(rows_of(&read_all(&mut client, narrow()).unwrap()), "abbc");
    gateway.advance(Duration::from_millis(11));
    assert_eq!(rows_of(&read_all(&mut client, narrow()).unwrap()), "ac");
}
