//! Stored cells, and the visible ones among them.

use std::sync::Barrier;
use std::thread;

use super::*;

#[test]
fn the_newest_timestamp_wins_and_of_equal_ones_the_last() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    client.mutate_row_ts(b("t"), b("r"), vec![put("d:x", "new")], 8, none()).unwrap();
    client.mutate_row_ts(b("t"), b("r"), vec![put("d:x", "old")], 7, none()).unwrap();
    assert_eq!(get(&mut client, "r", "d:x"), "new@8");
    client.mutate_rows_ts(b("t"), vec![batch("r", &[put("d:x", "last")])], 8, none()).unwrap();
    assert_eq!(get(&mut client, "r", "d:x"), "last@8");
    client.mutate_row(b("t"), b("r"), vec![put("d:x", "now")], none()).unwrap();
    assert_eq!(get(&mut client, "r", "d:x"), "now@1000000");
    client.mutate_row_ts(b("t"), b("r"), vec![put("d:x", "1"), put("d:x", "2")], 2_000_000, none()).unwrap();
    assert_eq!(get(&mut client, "r", "d:x"), "2@2000000");
}

#[test]
fn gets_of_rows_and_columns() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    let row = [put("e:b", "3"), put("d:b", "2"), put("d:a", "1"), put("d:", "0")];
    client.mutate_rows_ts(b("t"), vec![batch("r", &row), batch("s", &[put("d:a", "4")])], 5, none()).unwrap();

    let all = "r[d:=0@5 d:a=1@5 d:b=2@5 e:b=3@5]";
    assert_eq!(shown(&client.get_row(b("t"), b("r"), none()).unwrap()), all);
    assert_eq!(shown(&client.get_row(b("t"), b("nothing"), none()).unwrap()), "");
    let rows = ["s", "nothing", "r", "s"].map(b).to_vec();
    let found = client.get_rows(b("t"), rows.clone(), none()).unwrap();
    assert_eq!(shown(&found), format!("s[d:a=4@5] {all} s[d:a=4@5]"));
    let found = client.get_rows_with_columns(b("t"), rows, vec![b("d:b"), b("e")], none()).unwrap();
    assert_eq!(shown(&found), "r[d:b=2@5 e:b=3@5]");

    for (columns, expected) in [
        (vec![], all),
        (vec!["d"], "r[d:=0@5 d:a=1@5 d:b=2@5]"),
        (vec!["d:"], "r[d:=0@5]"),
        (vec!["d:a", "d"], "r[d:=0@5 d:a=1@5 d:b=2@5]"),
        // Not a union: the column narrows the family.
        (vec!["d", "d:a"], "r[d:a=1@5]"),
        (vec!["d:nothing"], ""),
    ] {
        let columns = columns.into_iter().map(b).collect();
        let found = client.get_row_with_columns(b("t"), b("r"), columns, none()).unwrap();
        assert_eq!(shown(&found), expected);
    }
    assert_eq!(shown_cells(&client.get(b("t"), b("r"), b("d"), none()).unwrap()), "0@5 1@5 2@5");

    assert_eq!(shown(&client.get_row_ts(b("t"), b("s"), 5, none()).unwrap()), "");
    assert_eq!(shown(&client.get_row_ts(b("t"), b("s"), 6, none()).unwrap()), "s[d:a=4@5]");
}

#[test]
fn a_delete_hides_puts_up_to_its_timestamp_until_a_major_compaction() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    client.mutate_row_ts(b("t"), b("r"), vec![put("d:x", "1"), put("d:y", "1")], 5, none()).unwrap();
    client.mutate_row_ts(b("t"), b("r"), vec![delete("d:x")], 7, none()).unwrap();
    assert_eq!(shown(&client.get_row(b("t"), b("r"), none()).unwrap()), "r[d:y=1@5]");

    for (timestamp, seen) in [(6, ""), (7, ""), (8, "2@8"), (7, "2@8")] {
        client.mutate_row_ts(b("t"), b("r"), vec![put("d:x", "2")], timestamp, none()).unwrap();
        assert_eq!(get(&mut client, "r", "d:x"), seen, "put at {timestamp}");
    }
    assert_eq!(gateway.n_stored("t"), 7);
    gateway.major_compact();
    assert_eq!(gateway.n_stored("t"), 2);
    client.mutate_row_ts(b("t"), b("s"), vec![delete("d:x")], 7, none()).unwrap();
    gateway.major_compact();
    client.mutate_row_ts(b("t"), b("s"), vec![put("d:x", "3")], 6, none()).unwrap();
    assert_eq!(get(&mut client, "s", "d:x"), "3@6", "the marker is gone");
}

#[test]
fn a_delete_of_a_family() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    let row = [put("d:x", "1"), put("d:y", "2"), put("e:x", "3")];
    client.mutate_rows_ts(b("t"), vec![batch("r", &row)], 5, none()).unwrap();
    client.mutate_rows_ts(b("t"), vec![batch("r", &[delete("d")])], 5, none()).unwrap();
    assert_eq!(shown(&client.get_row(b("t"), b("r"), none()).unwrap()), "r[e:x=3@5]");
    client.mutate_rows_ts(b("t"), vec![batch("r", &[put("d:x", "4")])], 6, none()).unwrap();
    assert_eq!(shown(&client.get_row(b("t"), b("r"), none()).unwrap()), "r[d:x=4@6 e:x=3@5]");
}

/// Both orders end with nothing, because a delete hides puts of its own timestamp: moving a cell
/// needs two timestamps.
#[test]
fn deletes_and_puts_of_one_call() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    let both = [delete("d:x"), put("d:x", "1")];
    client.mutate_row_ts(b("t"), b("r"), both.to_vec(), 5, none()).unwrap();
    client.mutate_rows_ts(b("t"), vec![batch("s", &both)], 5, none()).unwrap();
    client.mutate_row(b("t"), b("u"), both.to_vec(), none()).unwrap();
    assert_eq!(gateway.rows("t"), []);
}

#[test]
fn an_older_version_comes_back_when_the_newer_one_has_outlived_its_time() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    client.mutate_row_ts(b("t"), b("r"), vec![put("d:x", "old")], 5, none()).unwrap();
    client.mutate_row_ts(b("t"), b("r"), vec![put("d:x", "new")], 1_000_000, ttl(100)).unwrap();
    // An equal timestamp makes no difference.
    client.mutate_row(b("t"), b("s"), vec![put("d:x", "first")], none()).unwrap();
    client.mutate_row(b("t"), b("s"), vec![put("d:x", "second")], ttl(100)).unwrap();

    gateway.advance(Duration::from_millis(100));
    assert_eq!(get(&mut client, "r", "d:x"), "new@1000000", "the last moment is within");
    gateway.advance(Duration::from_millis(1));
    assert_eq!(get(&mut client, "r", "d:x"), "old@5");
    assert_eq!(get(&mut client, "s", "d:x"), "first@1000000");
}

#[test]
fn a_compaction_before_the_end_leaves_nothing_to_come_back() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    client.mutate_row_ts(b("t"), b("r"), vec![put("d:x", "old")], 5, none()).unwrap();
    client.mutate_row_ts(b("t"), b("r"), vec![put("d:x", "new")], 1_000_000, ttl(100)).unwrap();
    gateway.major_compact();
    gateway.advance(Duration::from_millis(101));
    assert_eq!(get(&mut client, "r", "d:x"), "");
    assert_eq!(gateway.n_stored("t"), 1);
    gateway.major_compact();
    assert_eq!(gateway.n_stored("t"), 0);
}

/// A version in the middle is dropped before the one beneath it, which then comes back.
#[test]
fn a_flush_leaves_what_is_on_disk() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    client.mutate_row_ts(b("t"), b("r"), vec![put("d:x", "old")], 5, none()).unwrap();
    gateway.flush();
    client.mutate_row_ts(b("t"), b("r"), vec![put("d:x", "middle")], 6, none()).unwrap();
    client.mutate_row_ts(b("t"), b("r"), vec![put("d:x", "new")], 1_000_000, ttl(100)).unwrap();
    gateway.flush();
    assert_eq!(gateway.n_stored("t"), 2);
    assert_eq!(get(&mut client, "r", "d:x"), "new@1000000");
    gateway.advance(Duration::from_millis(101));
    assert_eq!(get(&mut client, "r", "d:x"), "old@5");
}

#[test]
fn a_life_counts_from_the_timestamp_and_not_from_the_write() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    client.mutate_row_ts(b("t"), b("r"), vec![put("d:x", "late")], 900_000, ttl(50_000)).unwrap();
    assert_eq!(get(&mut client, "r", "d:x"), "");
}

/// The attribute is the whole call's: a delete marker dies too, and the cell that it hid is there
/// again.
#[test]
fn a_delete_with_a_life_ends() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    client.mutate_row_ts(b("t"), b("r"), vec![put("d:x", "1")], 1_000_000, none()).unwrap();
    client.mutate_rows_ts(b("t"), vec![batch("r", &[delete("d:x")])], 1_000_000, ttl(100)).unwrap();
    assert_eq!(get(&mut client, "r", "d:x"), "");
    gateway.advance(Duration::from_millis(101));
    assert_eq!(get(&mut client, "r", "d:x"), "1@1000000");
}

#[test]
fn a_life_of_another_length_than_8_bytes_is_refused() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    let attributes = [(b("_ttl"), b("100"))].into();
    let (message, _) = io_error(client.mutate_rows(b("t"), vec![batch("r", &[put("d:x", "1")])], attributes));
    assert!(message.contains("IOException"), "{message}");
    assert_eq!(gateway.rows("t"), []);
}

#[test]
fn check_and_put() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    let mut check = |row: &str, expected: &str, mutation: Mutation, attributes| {
        client.check_and_put(b("t"), b(row), b("d:x"), b(expected), mutation, attributes).unwrap()
    };
    assert!(!check("r", "1", put("d:x", "2"), none()), "absent is not 1");
    assert!(check("r", "", put("d:x", "1"), none()), "absent is empty");
    assert!(!check("r", "", put("d:x", "2"), none()), "1 is not empty");
    assert!(check("r", "1", put("d:x", ""), none()));
    assert!(
        check("r", "", put("d:y", "other"), ttl(100)),
        "an empty value is empty, and another column can be put"
    );
    // A delete is put all the same.
    assert!(check("r", "", Mutation::new(true, b("e:x"), b("2"), true), none()));
    let row = client.get_row(b("t"), b("r"), none()).unwrap();
    assert_eq!(shown(&row), "r[d:x=@1000000 d:y=other@1000000 e:x=2@1000000]");
    gateway.advance(Duration::from_millis(101));
    assert_eq!(get(&mut client, "r", "d:y"), "");
}

#[test]
fn check_and_put_takes_a_timestamp_that_does_not_fall() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    client.mutate_row_ts(b("t"), b("r"), vec![put("d:x", "ahead")], 2_000_000, none()).unwrap();
    let mut check = |row: &str, expected: &str| {
        client.check_and_put(b("t"), b(row), b("d:x"), b(expected), put("d:x", "1"), none()).unwrap()
    };
    assert!(check("r", "ahead"));
    assert_eq!(get(&mut client, "r", "d:x"), "1@2000000");

    // The call compares the visible cell and ignores delete markers: true, and nothing to see.
    client.mutate_row_ts(b("t"), b("s"), vec![delete("d:x")], 2_000_000, none()).unwrap();
    assert!(client.check_and_put(b("t"), b("s"), b("d:x"), b(""), put("d:x", "1"), none()).unwrap());
    assert_eq!(get(&mut client, "s", "d:x"), "");
}

#[test]
fn of_many_check_and_puts_one_wins() {
    const N_THREADS: usize = 8;
    let gateway = gateway();
    for round in 0..20 {
        let row = format!("r{round}");
        let barrier = Barrier::new(N_THREADS);
        let winners: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..N_THREADS)
                .map(|number| {
                    let (gateway, row, barrier) = (&gateway, &row, &barrier);
                    scope.spawn(move || {
                        let mut client = connect(gateway);
                        let mine = put("d:owner", &number.to_string());
                        barrier.wait();
                        client.check_and_put(b("t"), b(row), b("d:owner"), b(""), mine, none()).unwrap()
                    })
                })
                .collect();
            let won = threads.into_iter().map(|thread| thread.join().unwrap()).enumerate();
            won.filter_map(|(number, won)| won.then_some(number)).collect()
        });
        assert_eq!(winners.len(), 1, "{winners:?}");
        assert_eq!(get(&mut connect(&gateway), &row, "d:owner"), format!("{}@1000000", winners[0]));
    }
}

#[test]
fn what_is_not_there_in_the_words_of_hbase() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    let row = || vec![put("d:x", "1")];
    let missing = |table: &str, batches| (b(table), batches);

    let direct = [
        client.get(b("no"), b("r"), b("d:x"), none()).map(drop),
        client.get_row(b("no"), b("r"), none()).map(drop),
        client.get_rows(b("no"), vec![b("r")], none()).map(drop),
        client.mutate_row(b("no"), b("r"), row(), none()),
        client.check_and_put(b("no"), b("r"), b("d:x"), b(""), put("d:x", "1"), none()).map(drop),
        client.get_column_descriptors(b("no")).map(drop),
    ];
    for result in direct {
        let (message, can_retry) = io_error(result);
        assert!(message.starts_with("org.apache.hadoop.hbase.TableNotFoundException: no\n"), "{message}");
        assert!(!can_retry);
    }
    // A batch has another message: without the class, and as if a retry would help.
    let (table, batches) = missing("no", vec![batch("r", &row()), batch("s", &row())]);
    let (message, can_retry) = io_error(client.mutate_rows(table, batches, none()));
    let expected =
        "org.apache.hadoop.hbase.client.RetriesExhaustedWithDetailsException: Failed 2 actions: no: 2 times";
    assert!(message.starts_with(expected), "{message}");
    assert!(can_retry);
    // Nothing asked, nothing missed.
    client.mutate_rows(b("no"), vec![], none()).unwrap();
    assert_eq!(client.get_rows(b("no"), vec![], none()).unwrap(), []);
    assert_eq!(client.get_table_regions(b("no")).unwrap(), []);

    let direct = [
        client.get(b("t"), b("r"), b("f:x"), none()).map(drop),
        client.get_row_with_columns(b("t"), b("r"), vec![b("f")], none()).map(drop),
        client.mutate_row(b("t"), b("r"), vec![put("d:x", "1"), put("f:x", "1")], none()),
        client.mutate_row(b("t"), b("r"), vec![delete("f:x")], none()),
        client.check_and_put(b("t"), b("r"), b("f:x"), b(""), put("d:x", "1"), none()).map(drop),
        client.check_and_put(b("t"), b("r"), b("d:x"), b(""), put("f:x", "1"), none()).map(drop),
    ];
    for result in direct {
        let (message, can_retry) = io_error(result);
        assert!(message.contains("NoSuchColumnFamilyException: Column family f does not exist"), "{message}");
        assert!(!can_retry);
    }
    assert_eq!(gateway.rows("t"), [], "rows are all or nothing");
    let batches = vec![batch("r", &row()), batch("s", &[put("f:x", "1")]), batch("u", &row())];
    let (message, can_retry) = io_error(client.mutate_rows(b("t"), batches, none()));
    assert!(
        message.contains("Failed 1 action: org.apache.hadoop.hbase.regionserver.NoSuchColumn"),
        "{message}"
    );
    assert!(can_retry);
    assert_eq!(gateway.rows("t").len(), 2, "batches are not");
}

#[test]
fn what_java_does_not_take() {
    let gateway = gateway();
    let mut client = connect(&gateway);
    let row = || vec![put("d:x", "1")];
    for name in [b(""), vec![b'x'; 32_768]] {
        assert_eq!(
            internal_error(client.get_row(b("t"), name.clone(), none())),
            "Internal error processing getRow"
        );
        let message = illegal_argument(client.mutate_row(b("t"), name.clone(), row(), none()));
        assert!(message.contains("Row length"), "{message}");
        let batches = vec![BatchMutation::new(name.clone(), row())];
        internal_error(client.mutate_rows(b("t"), batches, none()));
        illegal_argument(client.check_and_put(b("t"), name, b("d:x"), b(""), put("d:x", "1"), none()));
    }
    illegal_argument(client.mutate_row_ts(b("t"), b("r"), row(), -1, none()));
    internal_error(client.mutate_rows_ts(b("t"), vec![batch("r", &row())], -1, none()));
    internal_error(client.mutate_rows(b("t"), vec![batch("r", &[put("d", "1")])], none()));
    internal_error(client.check_and_put(b("t"), b("r"), b("d"), b(""), put("d:x", "1"), none()));
    internal_error(client.check_and_put(b("t"), b("r"), b("d:x"), b(""), put("d", "1"), none()));
    // Dropped with a line in the gateway's log.
    client.mutate_row(b("t"), b("r"), vec![put("d", "1")], none()).unwrap();
    assert_eq!(gateway.rows("t"), []);
    assert!(
        io_error(client.append(hbase_thrift::hbase::TAppend::default()))
            .0
            .contains("not supported by the fake")
    );
}

#[test]
fn tables_families_and_regions() {
    let gateway = gateway();
    gateway.create_split_table("a", &["x"], &[b"m", b"c"]);
    let mut client = connect(&gateway);
    assert_eq!(client.get_table_names().unwrap(), [b("a"), b("t")]);
    let families = client.get_column_descriptors(b("t")).unwrap();
    assert_eq!(families.keys().collect::<Vec<_>>(), [&b("d:"), &b("e:")]);
    assert_eq!(families[&b("d:")].max_versions, Some(1));
    let regions = client.get_table_regions(b("a")).unwrap();
    let ends: Vec<_> =
        regions.into_iter().map(|region| (region.start_key.unwrap(), region.end_key.unwrap())).collect();
    assert_eq!(ends, [(b(""), b("c")), (b("c"), b("m")), (b("m"), b(""))]);
    assert!(gateway.drop_table("a"));
    assert_eq!(client.get_table_names().unwrap(), [b("t")]);
}

#[test]
fn the_direct_way_in() {
    let gateway = gateway();
    gateway.put_raw("t", b"r", b"d:x", b"\xff", 5);
    gateway.put_raw("t", b"s", b"d:", b"", 6);
    assert_eq!(
        gateway.rows("t"),
        [(b("r"), vec![(b("d:x"), vec![0xff], 5)]), (b("s"), vec![(b("d:"), vec![], 6)])]
    );
    assert!(gateway.erase("t", b"r"));
    assert!(!gateway.erase("t", b"r"));
    assert_eq!(shown(&connect(&gateway).get_row(b("t"), b("s"), none()).unwrap()), "s[d:=@6]");
}
