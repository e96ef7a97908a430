//! Tests of scans, through changes of regions and servers between two answers.

use hbase_rpc::fake::{Cluster, Fault, FaultKind};
use hbase_rpc::{Error, Range, Scan};

use super::*;

#[tokio::test]
async fn all_rows_of_all_regions_come_in_their_order() {
    let cluster = cluster();
    let keys = fill(&cluster, 200);
    let client = client(&cluster);
    assert_eq!(of_rows(&scanned(&client, 1_000).await), keys);
    assert_eq!(of_rows(&scanned(&client, 7).await), keys);
    let scan = Scan { start: "b".into(), stop: "d0003".into(), ..Scan::default() };
    let mut scanner = client.scan("t", scan);
    let mut found = Vec::new();
    while let Some(page) = scanner.next().await.unwrap() {
        found.extend(of_rows(&page));
    }
    let expected: Vec<_> = keys.iter().filter(|key| &key[..] >= "b" && &key[..] < "d0003").cloned().collect();
    assert_eq!(found, expected);
    assert_eq!(cluster.n_scans(), 0);
}

/// Regression: the second call of a scan had the number 1, where servers expect 0, so each page
/// began the scan anew.
#[tokio::test]
async fn a_scan_is_gone_on_with_on_the_same_scanner() {
    let cluster = FakeCluster::start(1);
    cluster.create_table("t", &["f"], &[]);
    let keys = fill(&cluster, 20);
    let client = client(&cluster);
    // The first look-up scans, too.
    scanned(&client, 1_000).await;
    let n = cluster.n_calls("Scan");
    assert_eq!(of_rows(&scanned(&client, 5).await), keys);
    assert_eq!(cluster.n_calls("Scan") - n, 4);
}

/// A slow caller keeps its scanner, and loses no row if the server has lost the scanner meanwhile.
#[tokio::test]
async fn a_scan_is_kept() {
    for is_lost in [false, true] {
        let cluster = FakeCluster::start(1);
        cluster.create_table("t", &["f"], &[]);
        let keys = fill(&cluster, 20);
        let client = client(&cluster);
        scanned(&client, 1_000).await;
        let mut scanner = client.scan("t", Scan { page_len: 8, ..Scan::default() });
        scanner.renew().await;
        let mut found = Vec::new();
        let n = cluster.n_calls("Scan");
        while let Some(page) = scanner.next().await.unwrap() {
            found.extend(of_rows(&page));
            if is_lost {
                cluster.fail(Fault::on("Scan", FaultKind::FinalException("UnknownScannerException")));
            }
            scanner.renew().await;
        }
        assert_eq!(found, keys);
        // Three pages, and a renewal after each of the first two.
        if !is_lost {
            assert_eq!(cluster.n_calls("Scan") - n, 5);
        }
    }
}

/// Checks that each row comes once, in spite of a deed between two pages of a scan.
async fn rows_come_once_through(deed: impl Fn(&Cluster) + Send + Sync + Copy + 'static) {
    for nth in [1, 2, 5, 12] {
        let cluster = cluster();
        let keys = fill(&cluster, 100);
        let client = client(&cluster);
        // The regions are known by now, so only the table is scanned.
        assert_eq!(scanned(&client, 1_000).await.len(), 100);
        cluster.fail(Fault::before("Scan", deed).nth(nth));
        assert_eq!(of_rows(&scanned(&client, 7).await), keys, "at call {nth}");
        assert_eq!(cluster.n_faults(), 0);
    }
}

#[tokio::test]
async fn a_region_moves() {
    rows_come_once_through(|cluster| {
        for key in [b"a", b"d", b"i"] {
            let server = cluster.server_of("t", key);
            cluster.move_region("t", key, 1 - server);
        }
    })
    .await;
}

#[tokio::test]
async fn a_region_is_split() {
    rows_come_once_through(|cluster| {
        for key in [&b"a0050"[..], b"b0021", b"e", b"h0001"] {
            cluster.split("t", key);
        }
    })
    .await;
}

#[tokio::test]
async fn regions_are_merged() {
    rows_come_once_through(|cluster| {
        cluster.merge("t", b"a");
        cluster.merge("t", b"f");
    })
    .await;
}

#[tokio::test]
async fn scanners_are_lost() {
    rows_come_once_through(Cluster::forget_scans).await;
}

#[tokio::test]
async fn a_server_dies() {
    rows_come_once_through(|cluster| {
        cluster.kill(0);
        cluster.recover(0);
    })
    .await;
}

#[tokio::test]
async fn a_table_is_created_again_with_other_splits() {
    rows_come_once_through(|cluster| {
        let rows = cluster.rows("t");
        cluster.create_table("t", &["f"], &[b"c", b"g0004"]);
        cluster.put("t", rows.into_iter().flatten().collect());
    })
    .await;
}

#[tokio::test]
async fn answers_are_lost_cut_and_late() {
    for kind in [
        FaultKind::Close,
        FaultKind::CloseAfter,
        FaultKind::CutAfter(1),
        FaultKind::CutAfter(40),
        FaultKind::GarbageAfter(b"\xff\xff\xff\xff".to_vec()),
        FaultKind::GarbageAfter(b"\0\0\0\x03\x02\x08\x01".to_vec()),
        FaultKind::Heartbeat,
        FaultKind::Delay(Duration::from_millis(50)),
        FaultKind::Exception("CallQueueTooBigException"),
        FaultKind::FinalException("UnknownScannerException"),
        FaultKind::ExceptionAfter("exceptions.ScannerResetException"),
        FaultKind::Exception("java.io.IOException"),
    ] {
        let cluster = cluster();
        let keys = fill(&cluster, 60);
        let client = client(&cluster);
        scanned(&client, 1_000).await;
        for nth in [1, 2, 6] {
            cluster.fail(Fault::on("Scan", kind.clone()).nth(nth));
        }
        assert_eq!(of_rows(&scanned(&client, 7).await), keys, "{kind:?}");
        assert_eq!(cluster.n_faults(), 0, "{kind:?}");
    }
}

#[tokio::test]
async fn a_long_row_comes_in_pieces() {
    const N: usize = 20_000;
    let cluster = FakeCluster::start(1);
    cluster.create_table("t", &["f"], &[]);
    let mut cells: Vec<_> = (0..N).map(|i| cell("long", &format!("{i:06}"), "v")).collect();
    cells.extend([cell("k", "q", "v"), cell("m", "q", "v")]);
    cluster.put("t", cells);
    cluster.limit_answers(100_000);
    let client = client(&cluster);
    // The scan loses its scanner in the middle of the row.
    cluster.fail(Fault::before("Scan", Cluster::forget_scans).nth(5));
    let rows = scanned(&client, 1_000).await;
    assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [1, N, 1]);
    assert!(rows[1].windows(2).all(|pair| pair[0].qualifier < pair[1].qualifier));
    assert_eq!(cluster.n_faults(), 0);

    // By pages, each after the last column of the page before.
    let options = hbase_rpc::PageOptions {
        pieces_max: 3,
        cells_max: 1_000,
        together_min: 2,
        cache_blocks: true,
        since: None,
    };
    let (mut n, mut after) = (0, None);
    loop {
        let range = Range { start: "long".into(), stop: "long\0".into(), after };
        let mut page = Vec::new();
        let mut visit = |_, pieces: hbase_rpc::Pages| -> Result<(), Error> {
            page = pieces;
            Ok(())
        };
        client.pages("t", &"f".into(), &[range], &options, &mut visit).await.unwrap();
        n += page.iter().map(Vec::len).sum::<usize>();
        after = page.last().and_then(|piece| piece.last()).map(|cell| cell.qualifier.clone());
        if page.len() < options.pieces_max {
            break;
        }
        assert!(page.iter().all(|piece| piece.len() == options.cells_max));
    }
    assert_eq!(n, N);
}

#[tokio::test]
async fn a_scan_that_is_left_is_closed() {
    let cluster = cluster();
    fill(&cluster, 100);
    let client = client(&cluster);
    let mut scanner = client.scan("t", Scan { page_len: 3, ..Scan::default() });
    assert_eq!(scanner.next().await.unwrap().unwrap().len(), 3);
    assert_eq!(cluster.n_scans(), 1);
    scanner.close();
    until(|| cluster.n_scans() == 0).await;
}

#[tokio::test]
async fn after_an_error_a_scan_goes_on() {
    let cluster = cluster();
    let keys = fill(&cluster, 40);
    let client = client(&cluster);
    let mut scanner = client.scan("t", Scan { page_len: 5, ..Scan::default() });
    let mut found = of_rows(&scanner.next().await.unwrap().unwrap());
    cluster.fail(Fault::on("Scan", FaultKind::FinalException("DoNotRetryIOException")));
    assert!(matches!(scanner.next().await, Err(Error::Remote(_))));
    while let Some(page) = scanner.next().await.unwrap() {
        found.extend(of_rows(&page));
    }
    assert_eq!(found, keys);
}
