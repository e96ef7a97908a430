//! Tests of reads that replicas may answer, and of reads that they may not.

use std::time::Duration;

use hbase_rpc::fake::{Fault, FaultKind};
use hbase_rpc::{Error, Get, PageOptions, Range, Read, Scan};

use super::*;

/// Returns a replicated table on two servers, and its keys. A later write, to row `a0000` on the
/// first server, has not reached the replica.
fn replicated() -> (FakeCluster, Vec<String>) {
    let cluster = cluster();
    let keys = fill(&cluster, 100);
    cluster.replicate("t");
    cluster.put("t", vec![Cell { timestamp: 2, ..cell("a0000", "q", "later") }]);
    (cluster, keys)
}

fn options_of_pages() -> PageOptions {
    PageOptions { pieces_max: 1_000, cells_max: 100, together_min: 2, cache_blocks: true }
}

fn value(row: &Read<Vec<Cell>>) -> &[u8] {
    &row.value[0].value
}

/// Returns the keys of all rows, and true if a replica answered for any of them.
async fn read(client: &Client) -> (Vec<String>, bool) {
    let mut scanner = client.timeline().scan("t", Scan { page_len: 7, ..Scan::default() });
    let mut rows = Vec::new();
    while let Some(page) = scanner.next().await.unwrap() {
        rows.extend(of_rows(&page));
    }
    (rows, scanner.is_stale())
}

#[tokio::test]
async fn a_primary_that_answers_is_what_is_read() {
    let (cluster, keys) = replicated();
    // Patient with the primaries: the machine may be busy.
    let patient = Duration::from_secs(5);
    let options = ClientOptions { primary_get_timeout: patient, primary_scan_timeout: patient, ..options() };
    let client = Client::new(vec![cluster.master()], options);
    let gets: Vec<_> = keys.iter().map(|key| Get::new(key.clone())).collect();
    let rows = client.timeline().get_many("t", &gets).await.unwrap();
    assert_eq!(rows.len(), keys.len());
    assert!(rows.iter().all(|row| !row.is_stale));
    assert_eq!(value(&rows[0]), b"later");
    assert_eq!(read(&client).await, (keys, false));
}

#[tokio::test]
async fn where_the_primary_is_dead_a_replica_answers_and_it_is_said() {
    let (cluster, keys) = replicated();
    let client = client(&cluster);
    scanned(&client, 100).await;
    cluster.move_meta(1);
    cluster.kill(0);
    let is_of_dead = |key: &str| cluster.server_of("t", key.as_bytes()) == 0;
    assert!(is_of_dead("a0000"));

    let gets: Vec<_> = keys.iter().map(|key| Get::new(key.clone())).collect();
    let rows = client.timeline().get_many("t", &gets).await.unwrap();
    for (key, row) in keys.iter().zip(&rows) {
        assert_eq!((value(row), row.is_stale), (key.as_bytes(), is_of_dead(key)), "{key}");
    }
    let row = client.timeline().get("t", Get::new("a0000")).await.unwrap();
    assert!(row.is_stale);

    assert_eq!(read(&client).await, (keys, true));

    let ranges = [Range::new("a", "b"), Range::new("a0", "a1"), Range::new("b", "c"), Range::new("a", "c")];
    let mut pages = vec![None; ranges.len()];
    let mut visit = |number: usize, page: Read<Vec<Vec<Cell>>>| {
        pages[number] = Some((page.value.len(), page.is_stale));
        Ok::<_, Error>(())
    };
    client.timeline().pages("t", &"f".into(), &ranges, &options_of_pages(), &mut visit).await.unwrap();
    assert_eq!(pages, [Some((10, true)), Some((10, true)), Some((10, false)), Some((20, true))]);
}

/// Regression: a real replica had no file of its region yet, and a scan did not report the replica,
/// as the next page was of a primary.
#[tokio::test]
async fn a_replica_without_rows_is_told_of() {
    let cluster = cluster();
    cluster.replicate("t");
    let keys = fill(&cluster, 100);
    let client = client(&cluster);
    scanned(&client, 100).await;
    cluster.move_meta(1);
    cluster.kill(0);
    let is_left = |key: &String| cluster.server_of("t", key.as_bytes()) != 0;
    assert_eq!(read(&client).await, (keys.into_iter().filter(is_left).collect(), true));
    let row = client.timeline().get("t", Get::new("a0000")).await.unwrap();
    assert_eq!(row, Read { value: Vec::new(), is_stale: true });
    let (mut pages, ranges) = (Vec::new(), [Range::new("a", "b")]);
    let mut visit = |_: usize, page: Read<Vec<Vec<Cell>>>| {
        pages.push((page.value.len(), page.is_stale));
        Ok::<_, Error>(())
    };
    client.timeline().pages("t", &"f".into(), &ranges, &options_of_pages(), &mut visit).await.unwrap();
    assert_eq!(pages, [(0, true)]);
}

#[tokio::test]
async fn a_strong_read_waits_for_the_primary() {
    let (cluster, _) = replicated();
    let client = hasty(&cluster, Duration::from_millis(300));
    scanned(&client, 100).await;
    cluster.move_meta(1);
    cluster.kill(0);
    let error = client.get("t", Get::new("a0000")).await.unwrap_err();
    assert!(matches!(error, Error::GaveUp { .. }), "{error}");
    let error = client.scan("t", Scan::default()).next().await.unwrap_err();
    assert!(matches!(error, Error::GaveUp { .. }), "{error}");
    let mut visit = |_: usize, _: Vec<Vec<Cell>>| Ok::<_, Error>(());
    let ranges = [Range::new("a", "b")];
    let error = client.pages("t", &"f".into(), &ranges, &options_of_pages(), &mut visit).await.unwrap_err();
    assert!(matches!(error, Error::GaveUp { .. }), "{error}");
    // The replica has the same rows.
    assert!(client.timeline().get("t", Get::new("a0000")).await.unwrap().is_stale);
}

#[tokio::test]
async fn a_primary_that_is_slow_is_not_waited_for() {
    let (cluster, _) = replicated();
    let options = ClientOptions {
        call_timeout: Duration::from_secs(60),
        primary_scan_timeout: Duration::from_millis(20),
        ..options()
    };
    // Look-ups go to the other server, which is not slow.
    cluster.move_meta(1);
    let client = Client::new(vec![cluster.master()], options);
    scanned(&client, 100).await;
    cluster.fail(Fault::on("Multi", FaultKind::Stall).at(0).times(1));
    let row = client.timeline().get("t", Get::new("a0000")).await.unwrap();
    assert_eq!((value(&row), row.is_stale), (&b"a0000"[..], true));
    cluster.fail(Fault::on("Scan", FaultKind::Stall).at(0).times(1));
    let mut scanner = client.timeline().scan("t", Scan { stop: "b".into(), ..Scan::default() });
    assert_eq!(scanner.next().await.unwrap().unwrap().len(), 10);
    assert!(scanner.is_stale());
}

/// A replica that answers for a moved primary must not hide the move for good.
#[tokio::test]
async fn a_primary_that_has_moved_is_found_again() {
    let (cluster, _) = replicated();
    let patient = Duration::from_secs(5);
    let options = ClientOptions { primary_get_timeout: patient, ..options() };
    let client = Client::new(vec![cluster.master()], options);
    scanned(&client, 100).await;
    cluster.move_region("t", b"a0000", 1);
    let row = client.timeline().get("t", Get::new("a0000")).await.unwrap();
    assert!(row.is_stale);
    let row = client.timeline().get("t", Get::new("a0000")).await.unwrap();
    assert_eq!((value(&row), row.is_stale), (&b"later"[..], false));
}

#[tokio::test]
async fn what_no_copy_can_answer_is_tried_again() {
    let (cluster, keys) = replicated();
    let client = client(&cluster);
    scanned(&client, 100).await;
    cluster.fail(Fault::on("Multi", FaultKind::Exception("RegionTooBusyException")).times(4));
    cluster.fail(Fault::on("Scan", FaultKind::Exception("RegionTooBusyException")).times(4));
    assert_eq!(client.timeline().get("t", Get::new("b0001")).await.unwrap().value.len(), 1);
    assert_eq!(read(&client).await.0, keys);
    cluster.split("t", b"a5");
    cluster.merge("t", b"c");
    assert_eq!(read(&client).await.0, keys);
    cluster.drop_table("t");
    let error = client.timeline().get("t", Get::new("b0001")).await.unwrap_err();
    assert!(error.to_string().contains("TableNotFoundException"), "{error}");
}
