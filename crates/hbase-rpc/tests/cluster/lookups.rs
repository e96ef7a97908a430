//! Tests of look-ups of regions: once for all callers at the same time, and again after a change.

use futures_util::future::join_all;
use hbase_rpc::fake::{Fault, FaultKind};
use hbase_rpc::{Error, Get};

use super::*;

/// Returns the class of the innermost error.
fn class(error: &Error) -> String {
    match error {
        Error::Remote(remote) => remote.name().to_owned(),
        Error::GaveUp { source, .. } => class(source),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn one_looks_up_for_all() {
    let cluster = cluster();
    fill(&cluster, 50);
    let client = client(&cluster);
    let keys = keys(50);
    let gets = keys.iter().map(|key| client.get("t", Get::new(key.clone())));
    for (found, key) in join_all(gets).await.into_iter().zip(&keys) {
        assert_eq!(found.unwrap()[0].row, key.as_bytes());
    }
    let n_calls = |method| cluster.n_calls(method);
    assert_eq!((n_calls("GetMetaRegionLocations"), n_calls("Scan"), n_calls("Multi")), (1, 1, 50));
    // Again after a move: callers that miss the region at the same time look it up once more in
    // all.
    let server = cluster.server_of("t", b"a");
    cluster.move_region("t", b"a", 1 - server);
    let gets = (0..50).map(|_| client.get("t", Get::new("a0000")));
    for found in join_all(gets).await {
        assert_eq!(found.unwrap().len(), 1);
    }
    let n_scans = n_calls("Scan");
    assert!((2..=6).contains(&n_scans), "{n_scans}");
}

#[tokio::test]
async fn connections_are_as_many_as_told() {
    let cluster = cluster();
    fill(&cluster, 10);
    for n_connections in [1, 4] {
        let client = Client::new(vec![cluster.master()], ClientOptions { n_connections, ..options() });
        for _ in 0..20 {
            client.get_many("t", &[Get::new("a0000"), Get::new("b0001")], None).await.unwrap();
        }
        // One to the master, the others to the two region servers.
        assert_eq!(client.n_open(), 1 + 2 * n_connections);
    }
}

#[tokio::test]
async fn a_table_is_missing_dropped_or_disabled() {
    let cluster = cluster();
    fill(&cluster, 10);
    let client = client(&cluster);
    let error = client.get("none", Get::new("a")).await.unwrap_err();
    assert_eq!(class(&error), "TableNotFoundException");
    client.get("t", Get::new("a0000")).await.unwrap();
    cluster.enable_table("t", false);
    let error = client.get("t", Get::new("a0000")).await.unwrap_err();
    assert_eq!(class(&error), "TableNotEnabledException");
    let error = client.scan("t", Scan::default()).next().await.unwrap_err();
    assert_eq!(class(&error), "TableNotEnabledException");
    cluster.enable_table("t", true);
    assert_eq!(client.get("t", Get::new("a0000")).await.unwrap().len(), 1);
    cluster.drop_table("t");
    let error = client.mutate_many("t", &[put("a", "v")], None).await.unwrap_err();
    assert_eq!(class(&error), "TableNotFoundException");
    cluster.create_table("t", &["f"], &[b"x"]);
    client.mutate_many("t", &[put("a", "v")], None).await.unwrap();
    assert_eq!(cluster.rows("t").len(), 1);
}

/// Regression: a table on its way up was taken for disabled, and given up.
#[tokio::test]
async fn a_table_that_is_being_enabled_is_waited_for() {
    let cluster = cluster();
    fill(&cluster, 10);
    let client = client(&cluster);
    client.get("t", Get::new("a0000")).await.unwrap();
    cluster.enable_table("t", false);
    cluster.begin_to_enable_table("t");
    let n_calls = cluster.n_calls("Multi");
    let (found, ()) = tokio::join!(client.get("t", Get::new("a0000")), async {
        // The client meanwhile asks again and again for the row, and for the table's state.
        until(|| cluster.n_calls("Multi") >= n_calls + 6).await;
        cluster.enable_table("t", true);
    });
    assert_eq!(found.unwrap().len(), 1);
}

#[tokio::test]
async fn names_that_are_like_others_are_told_apart() {
    let cluster = cluster();
    for name in ["t-", "t-2", "t2", "u", "space:t"] {
        cluster.create_table(name, &["f"], &[b"\0", b"\0,", b",", b"m,n"]);
        cluster.put(name, vec![cell("m", name, "v"), cell("\0\0", name, "v"), cell("m,o", name, "v")]);
    }
    let client = client(&cluster);
    for name in ["t-", "t-2", "t2", "u", "space:t"] {
        let mut scanner = client.scan(name, Scan::default());
        let mut n = 0;
        while let Some(rows) = scanner.next().await.unwrap() {
            assert!(rows.iter().all(|row| row[0].qualifier == name.as_bytes()));
            n += rows.len();
        }
        assert_eq!(n, 3, "{name}");
    }
}

#[tokio::test]
async fn without_masters_region_servers_know_where_meta_is() {
    let cluster = cluster();
    fill(&cluster, 10);
    let client = client(&cluster);
    client.get("t", Get::new("a0000")).await.unwrap();
    cluster.kill_master();
    cluster.move_meta(1);
    let server = cluster.server_of("t", b"a");
    cluster.move_region("t", b"a", 1 - server);
    assert_eq!(client.get("t", Get::new("a0000")).await.unwrap().len(), 1);
    // A region server may be named from the beginning, too.
    let other = Client::new(vec![cluster.master(), cluster.region_server(1)], options());
    assert_eq!(other.get("t", Get::new("b0001")).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_server_of_meta_dies() {
    let cluster = cluster();
    let keys = fill(&cluster, 30);
    let client = client(&cluster);
    assert_eq!(scanned(&client, 100).await.len(), 30);
    cluster.kill(0);
    cluster.recover(0);
    assert_eq!(of_rows(&scanned(&client, 4).await), keys);
    cluster.start_again(0);
    cluster.kill(1);
    cluster.recover(1);
    assert_eq!(of_rows(&scanned(&client, 4).await), keys);
}

#[tokio::test]
async fn lives_of_families() {
    let cluster = FakeCluster::start(1);
    cluster.create_table_with_lives("space:t", &[("f", None), ("g", Some(86_400))], &[]);
    let client = client(&cluster);
    assert_eq!(client.time_to_live("space:t", b"f", None).await.unwrap(), None);
    assert_eq!(client.time_to_live("space:t", b"g", None).await.unwrap(), Some(Duration::from_secs(86_400)));
    let error = client.time_to_live("space:t", b"h", None).await.unwrap_err();
    assert_eq!(class(&error), "NoSuchColumnFamilyException");
    let error = client.time_to_live("t", b"f", None).await.unwrap_err();
    assert_eq!(class(&error), "TableNotFoundException");
    for method in ["GetActiveMaster", "GetTableDescriptors"] {
        cluster.fail(Fault::on(method, FaultKind::Exception("ipc.ServerNotRunningYetException")));
        cluster.fail(Fault::on(method, FaultKind::CloseAfter));
    }
    assert_eq!(client.time_to_live("space:t", b"f", None).await.unwrap(), None);
    assert_eq!(cluster.n_faults(), 0);
}

#[tokio::test]
async fn a_look_up_goes_wrong_in_the_middle() {
    for kind in [
        FaultKind::CloseAfter,
        FaultKind::CutAfter(9),
        FaultKind::GarbageAfter(b"\0\0\0\x01\0".to_vec()),
        FaultKind::Exception("ipc.ServerNotRunningYetException"),
        FaultKind::Stall,
    ] {
        let cluster = cluster();
        fill(&cluster, 10);
        let client = Client::new(
            vec![cluster.master()],
            ClientOptions { call_timeout: Duration::from_millis(500), ..options() },
        );
        cluster.fail(Fault::on("GetMetaRegionLocations", kind.clone()));
        cluster.fail(Fault::on("Scan", kind.clone()));
        assert_eq!(client.get("t", Get::new("c0002")).await.unwrap().len(), 1, "{kind:?}");
        assert_eq!(cluster.n_faults(), 0, "{kind:?}");
    }
}
