//! Tests of pages of many ranges, through changes and faults in between.

use hbase_rpc::fake::{Cluster, Fault, FaultKind};
use hbase_rpc::{Error, PageOptions, Pages, Range};

use super::*;

const OPTIONS: PageOptions =
    PageOptions { pieces_max: 5, cells_max: 4, together_min: 2, cache_blocks: true, since: None };

/// Returns the page of each range, and checks that each comes once.
async fn pages(client: &Client, ranges: &[Range], options: &PageOptions) -> Vec<Pages> {
    let mut found: Vec<Option<Pages>> = vec![None; ranges.len()];
    let mut visit = |number: usize, page| -> Result<(), Error> {
        assert!(found[number].replace(page).is_none(), "page {number} came twice");
        Ok(())
    };
    client.pages("t", &"f".into(), ranges, options, &mut visit).await.unwrap();
    found.into_iter().map(|page| page.expect("each page comes")).collect()
}

/// Puts rows of one to nine cells, so that some have more than a piece.
fn fill_wide(cluster: &Cluster) {
    for (i, key) in keys(200).iter().enumerate() {
        let cells = (0..1 + i % 9).map(|j| cell(key, &format!("q{j}"), "v")).collect();
        cluster.put("t", cells);
    }
}

/// Returns the right pages, computed from all rows.
fn expected(cluster: &Cluster, ranges: &[Range], options: &PageOptions) -> Vec<Pages> {
    let rows = cluster.rows("t");
    let of_range = |range: &Range| {
        let is_in = |row: &&Vec<Cell>| {
            row[0].row >= range.start && (range.stop.is_empty() || row[0].row < range.stop)
        };
        let pieces = rows.iter().filter(is_in).flat_map(|row| row.chunks(options.cells_max));
        pieces.take(options.pieces_max).map(<[Cell]>::to_vec).collect()
    };
    ranges.iter().map(of_range).collect()
}

/// Returns short, long and empty ranges, one over all regions, and one twice.
fn ranges() -> Vec<Range> {
    let mut ranges: Vec<Range> = keys(200)
        .chunks(3)
        .map(|keys| Range::new(keys[0].clone(), format!("{}\0", keys[1 % keys.len()])))
        .collect();
    ranges.extend([Range::new("c", "h"), Range::new("", ""), Range::new("zz", ""), ranges[7].clone()]);
    ranges.extend([Range::new("a0150", "b0021"), Range::new("g9", "h")]);
    ranges
}

async fn pages_are_right_through(fault: impl Fn(u64) -> Fault) {
    for nth in [1, 3, 8] {
        let cluster = cluster();
        fill_wide(&cluster);
        let client = client(&cluster);
        scanned(&client, 1_000).await;
        let ranges = ranges();
        let expected = expected(&cluster, &ranges, &OPTIONS);
        cluster.fail(fault(nth));
        assert_eq!(pages(&client, &ranges, &OPTIONS).await, expected, "at call {nth}");
        assert_eq!(cluster.n_faults(), 0);
    }
}

#[tokio::test]
async fn pages_are_what_is_in_the_ranges() {
    let cluster = cluster();
    fill_wide(&cluster);
    let client = client(&cluster);
    let ranges = ranges();
    for pieces_max in [1, 2, 5, 3_000] {
        for cells_max in [1, 4, 1_000] {
            for together_min in [1, 4, usize::MAX] {
                let options =
                    PageOptions { pieces_max, cells_max, together_min, cache_blocks: true, since: None };
                let expected = expected(&cluster, &ranges, &options);
                assert_eq!(pages(&client, &ranges, &options).await, expected, "{options:?}");
            }
        }
    }
}

#[tokio::test]
async fn answers_may_be_as_short_as_servers_like() {
    let cluster = cluster();
    fill_wide(&cluster);
    let client = client(&cluster);
    let ranges = ranges();
    let expected = expected(&cluster, &ranges, &OPTIONS);
    for n_bytes in [1, 100, 333, 2_000] {
        cluster.limit_answers(n_bytes);
        assert_eq!(pages(&client, &ranges, &OPTIONS).await, expected, "{n_bytes} bytes");
    }
}

#[tokio::test]
async fn a_hot_range_keeps_no_other_from_its_page() {
    let cluster = FakeCluster::start(1);
    cluster.create_table("t", &["f"], &[]);
    cluster.put("t", (0..10_000).map(|i| cell("m", &format!("{i:05}"), "v")).collect());
    for i in 0..200 {
        cluster.put("t", vec![cell(&format!("a{i:03}"), "q", "v"), cell(&format!("z{i:03}"), "q", "v")]);
    }
    let client = client(&cluster);
    let of_row = |key: String| Range::new(key.clone(), key + "\0");
    let rows = (0..200).flat_map(|i| [format!("a{i:03}"), format!("z{i:03}")]);
    let ranges: Vec<Range> = rows.chain(["m".to_owned()]).map(of_row).collect();
    let expected = expected(&cluster, &ranges, &OPTIONS);
    let n = cluster.n_calls("Scan");
    assert_eq!(pages(&client, &ranges, &OPTIONS).await, expected);
    // The first look-up has some scans, too. The hot range is left as soon as its page is full.
    assert!(cluster.n_calls("Scan") - n < 12, "{} scans", cluster.n_calls("Scan") - n);
    until(|| cluster.n_scans() == 0).await;
}

#[tokio::test]
async fn regions_move() {
    pages_are_right_through(|nth| {
        Fault::before("Scan", |cluster| {
            for key in [b"a", b"d", b"i"] {
                let server = cluster.server_of("t", key);
                cluster.move_region("t", key, 1 - server);
            }
        })
        .nth(nth)
    })
    .await;
}

#[tokio::test]
async fn regions_are_split_and_merged() {
    pages_are_right_through(|nth| {
        Fault::before("Scan", |cluster| {
            cluster.merge("t", b"c");
            cluster.split("t", b"a0100");
            cluster.split("t", b"g0006");
        })
        .nth(nth)
    })
    .await;
}

#[tokio::test]
async fn servers_die_and_forget_scans() {
    pages_are_right_through(|nth| {
        Fault::before("Scan", |cluster| {
            cluster.kill(1);
            cluster.recover(1);
        })
        .nth(nth)
    })
    .await;
    pages_are_right_through(|nth| Fault::before("Scan", Cluster::forget_scans).nth(nth)).await;
}

#[tokio::test]
async fn answers_are_lost_and_late() {
    for kind in [
        FaultKind::CloseAfter,
        FaultKind::CutAfter(17),
        FaultKind::Heartbeat,
        FaultKind::Exception("RegionTooBusyException"),
        FaultKind::ExceptionAfter("java.io.IOException"),
    ] {
        pages_are_right_through(|nth| Fault::on("Scan", kind.clone()).nth(nth)).await;
    }
}

#[tokio::test]
async fn what_a_visitor_says_ends_the_call() {
    let cluster = cluster();
    fill(&cluster, 20);
    let client = client(&cluster);
    let mut n = 0;
    let mut visit = |_, _: Pages| {
        n += 1;
        Err(Error::Invalid("enough"))
    };
    let outcome = client.pages("t", &"f".into(), &ranges(), &OPTIONS, &mut visit).await;
    assert!(matches!(outcome, Err(Error::Invalid("enough"))));
    assert_eq!(n, 1);
}
