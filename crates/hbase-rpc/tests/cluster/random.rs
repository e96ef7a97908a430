//! A random test of all calls and faults: acknowledged writes are there, once, and unknown outcomes
//! are reported.

use std::collections::BTreeMap;

use hbase_rpc::fake::{Cluster, Fault, FaultKind};
use hbase_rpc::{Checked, Error, Get, PageOptions, Pages, Range};
use proptest::prelude::*;

use super::*;

/// An action on the cluster in the middle of a call.
#[derive(Clone, Debug)]
enum Deed {
    Move(u8),
    Split(u8),
    Merge(u8),
    Kill(usize),
    Forget,
    Fail(FaultKind),
}

/// A call of the client.
#[derive(Clone, Debug)]
enum Ask {
    Put(Vec<u8>),
    Delete(Vec<u8>),
    Claim(Vec<u8>),
    Get(Vec<u8>),
    Scan(u32),
    Pages(Vec<(u8, u8)>, usize),
}

fn deed() -> impl Strategy<Value = Deed> {
    let kinds = vec![
        FaultKind::Close,
        FaultKind::CloseAfter,
        FaultKind::CutAfter(5),
        FaultKind::Heartbeat,
        FaultKind::Exception("CallQueueTooBigException"),
        FaultKind::Exception("java.io.IOException"),
        FaultKind::ExceptionAfter("java.io.IOException"),
        FaultKind::Region(0, "NotServingRegionException"),
        FaultKind::Action(1, "RegionTooBusyException"),
        FaultKind::Action(0, "java.io.IOException"),
    ];
    prop_oneof![
        any::<u8>().prop_map(Deed::Move),
        any::<u8>().prop_map(Deed::Split),
        any::<u8>().prop_map(Deed::Merge),
        (0..3_usize).prop_map(Deed::Kill),
        Just(Deed::Forget),
        proptest::sample::select(kinds).prop_map(Deed::Fail),
    ]
}

fn ask() -> impl Strategy<Value = Ask> {
    let keys = || proptest::collection::vec(any::<u8>(), 1..20);
    prop_oneof![
        keys().prop_map(Ask::Put),
        keys().prop_map(Ask::Delete),
        keys().prop_map(Ask::Claim),
        keys().prop_map(Ask::Get),
        (1..20_u32).prop_map(Ask::Scan),
        (proptest::collection::vec((any::<u8>(), any::<u8>()), 1..12), 1..6_usize)
            .prop_map(|(ranges, pieces_max)| Ask::Pages(ranges, pieces_max)),
    ]
}

fn key(byte: u8) -> String {
    format!("k{byte:03}")
}

/// Returns the fault by which a deed happens in the n-th call of a method from now.
fn fault(deed: &Deed, method: &str, nth: u64) -> Fault {
    let deed = deed.clone();
    if let Deed::Fail(kind) = deed {
        return Fault::on(method, kind).nth(nth);
    }
    let happen = move |cluster: &Cluster| match deed {
        Deed::Move(byte) => cluster.move_region("t", key(byte).as_bytes(), usize::from(byte) % 3),
        Deed::Split(byte) => cluster.split("t", key(byte).as_bytes()),
        Deed::Merge(byte) => cluster.merge("t", key(byte).as_bytes()),
        Deed::Kill(server) => {
            cluster.kill(server);
            cluster.recover(server);
            cluster.start_again(server);
        }
        _ => cluster.forget_scans(),
    };
    Fault::before(method, happen).nth(nth)
}

/// The expected content of the table: for each row the time of its one cell, which is also its
/// value.
#[derive(Default)]
struct Model {
    rows: BTreeMap<String, i64>,
    now: i64,
}

fn changes(keys: &[String], time: i64, kind: CellType) -> Vec<Mutation> {
    let change = |key: &String| {
        let value = if kind == CellType::Put { time.to_string() } else { String::new() };
        let cell = Cell { timestamp: time, kind, ..cell(key, "q", &value) };
        Mutation { cells: vec![cell], time_to_live: None }
    };
    keys.iter().map(change).collect()
}

impl Model {
    async fn ask(&mut self, client: &Client, ask: &Ask) -> Result<(), Error> {
        self.now += 1;
        let distinct = |bytes: &[u8]| {
            let mut keys: Vec<String> = bytes.iter().copied().map(key).collect();
            keys.sort();
            keys.dedup();
            keys
        };
        match ask {
            Ask::Put(bytes) => {
                let keys = distinct(bytes);
                client.mutate_many("t", &changes(&keys, self.now, CellType::Put), None).await?;
                self.rows.extend(keys.into_iter().map(|key| (key, self.now)));
            }
            Ask::Delete(bytes) => {
                let keys = distinct(bytes);
                client.mutate_many("t", &changes(&keys, self.now, CellType::DeleteColumn), None).await?;
                self.rows.retain(|key, _| !keys.contains(key));
            }
            Ask::Claim(bytes) => self.claim(client, &distinct(bytes)).await?,
            Ask::Get(bytes) => {
                let keys: Vec<String> = bytes.iter().copied().map(key).collect();
                let gets: Vec<Get> = keys.iter().map(|key| Get::new(key.clone())).collect();
                let (rows, _) = client.get_many("t", &gets, None).await?;
                for (cells, key) in rows.iter().zip(&keys) {
                    assert_eq!(
                        cells.first().map(|cell| cell.timestamp),
                        self.rows.get(key).copied(),
                        "{key}"
                    );
                }
            }
            Ask::Scan(page_len) => {
                let rows = scanned(client, *page_len).await;
                let found: Vec<_> =
                    of_rows(&rows).into_iter().zip(rows.iter().map(|row| row[0].timestamp)).collect();
                let expected: Vec<_> = self.rows.iter().map(|(key, time)| (key.clone(), *time)).collect();
                assert_eq!(found, expected);
            }
            Ask::Pages(ranges, pieces_max) => self.pages(client, ranges, *pieces_max).await?,
        }
        Ok(())
    }

    async fn claim(&mut self, client: &Client, keys: &[String]) -> Result<(), Error> {
        let check =
            |mutation| CheckAndMutate { family: "f".into(), qualifier: "q".into(), expected: None, mutation };
        let checks: Vec<_> = changes(keys, self.now, CellType::Put).into_iter().map(check).collect();
        let (outcomes, _) = client.check_and_mutate_many("t", &checks, None).await?;
        for (key, outcome) in keys.iter().zip(outcomes) {
            let before = self.rows.get(key).copied();
            let cells = client.get("t", Get::new(key.clone())).await?;
            let now = cells.first().map(|cell| cell.timestamp);
            match outcome {
                Checked::Done => assert_eq!((before, now), (None, Some(self.now)), "{key}"),
                Checked::Refused => assert!(before.is_some() && now == before, "{key}: {before:?} {now:?}"),
                Checked::Unknown => {
                    assert!(
                        now == before || before.is_none() && now == Some(self.now),
                        "{key}: {before:?} {now:?}"
                    );
                }
            }
            self.rows.extend(now.map(|now| (key.clone(), now)));
        }
        Ok(())
    }

    async fn pages(&self, client: &Client, ranges: &[(u8, u8)], pieces_max: usize) -> Result<(), Error> {
        let keys: Vec<_> = ranges.iter().map(|(a, b)| (key(*a.min(b)), key(*a.max(b)))).collect();
        let ranges: Vec<Range> = keys.iter().map(|(a, b)| Range::new(a.clone(), b.clone() + "~")).collect();
        let options =
            PageOptions { pieces_max, cells_max: 3, together_min: 2, cache_blocks: true, since: None };
        let mut found: Vec<Option<Vec<String>>> = vec![None; ranges.len()];
        let mut visit = |number: usize, page: Pages| {
            assert!(found[number].replace(of_rows(&page)).is_none(), "page {number} came twice");
            Ok::<(), Error>(())
        };
        client.pages("t", &"f".into(), &ranges, &options, &mut visit).await?;
        for ((a, b), page) in keys.into_iter().zip(found) {
            let expected = self.rows.range(a..=b).map(|(key, _)| key.clone()).take(pieces_max).collect();
            assert_eq!(page, Some::<Vec<_>>(expected));
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_said_to_be_written_is_there(
        steps in proptest::collection::vec((ask(), proptest::option::of((deed(), 1..4_u64))), 5..25),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let cluster = FakeCluster::start(3);
            cluster.create_table("t", &["f"], &[b"k064", b"k128"]);
            cluster.limit_answers(400);
            let client = client(&cluster);
            let mut model = Model::default();
            for (ask, deed) in &steps {
                if let Some((deed, nth)) = deed {
                    let method = match ask {
                        Ask::Scan(_) | Ask::Pages(..) => "Scan",
                        _ => "Multi",
                    };
                    cluster.fail(fault(deed, method, *nth));
                }
                model.ask(&client, ask).await.unwrap();
                cluster.clear_faults();
            }
            let held: Vec<_> = cluster.rows("t").iter().map(|row| row[0].timestamp).collect();
            assert_eq!(held, model.rows.values().copied().collect::<Vec<_>>());
        });
    }
}
