//! Tests of batches: rows written, the number of calls, and outcomes that are not known.

use hbase_rpc::fake::{Cluster, Fault, FaultKind};
use hbase_rpc::{Checked, Error, Get};

use super::*;

fn value(rows: &[Vec<Cell>], place: usize) -> &[u8] {
    &rows[place][0].value
}

#[tokio::test]
async fn what_is_put_is_got() {
    let cluster = cluster();
    let client = client(&cluster);
    let keys = keys(3_000);
    let puts: Vec<_> = keys.iter().map(|key| put(key, key)).collect();
    let last = Get::new("h0007");
    let cells = client.mutate_many("t", &puts, Some(("t", &last))).await.unwrap();
    assert_eq!(&cells[0].value[..], b"h0007");
    let gets: Vec<_> = keys.iter().rev().map(|key| Get::new(key.clone())).collect();
    let (rows, last) = client.get_many("t", &gets, Some(("t", &last))).await.unwrap();
    assert_eq!(last, cells);
    for (row, key) in rows.iter().zip(keys.iter().rev()) {
        assert_eq!(&row[0].value[..], key.as_bytes());
    }
    assert!(client.get("t", Get::new("none")).await.unwrap().is_empty());
    assert!(client.get("t", Get::new("h0007").column("f", "other")).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_delete_hides_what_is_not_newer_and_lives_end() {
    let cluster = cluster();
    let client = client(&cluster);
    let at = |time, kind| {
        let cell = Cell { timestamp: time, kind, ..cell("a", "q", "v") };
        Mutation { cells: vec![cell], time_to_live: None }
    };
    let mut seen = Vec::new();
    for change in
        [at(5, CellType::Put), at(5, CellType::DeleteColumn), at(5, CellType::Put), at(6, CellType::Put)]
    {
        client.mutate_many("t", &[change], None).await.unwrap();
        seen.push(client.get("t", Get::new("a")).await.unwrap().len());
    }
    assert_eq!(seen, [1, 0, 0, 1]);
    let mut short = at(hbase_rpc::LATEST, CellType::Put);
    short.cells[0].row = "b".into();
    short.time_to_live = Some(Duration::from_secs(60));
    client.mutate_many("t", &[short], None).await.unwrap();
    assert_eq!(client.get("t", Get::new("b")).await.unwrap().len(), 1);
    cluster.advance(Duration::from_secs(61));
    assert!(client.get("t", Get::new("b")).await.unwrap().is_empty());
}

/// Checks that all rows are written in spite of a fault in the middle of a batch.
async fn puts_arrive_through(fault: Fault) {
    let cluster = cluster();
    let client = client(&cluster);
    client.mutate_many("t", &[put("a", "first")], None).await.unwrap();
    let what = format!("{fault:?}");
    cluster.fail(fault);
    let keys = keys(500);
    let puts: Vec<_> = keys.iter().map(|key| put(key, key)).collect();
    client.mutate_many("t", &puts, None).await.unwrap();
    assert_eq!(cluster.n_faults(), 0, "{what}");
    let rows = cluster.rows("t");
    assert_eq!(rows.len(), 501, "{what}");
    for row in &rows[1..] {
        assert_eq!((row.len(), &row[0].row), (1, &row[0].value), "{what}");
    }
    let gets: Vec<_> = keys.iter().map(|key| Get::new(key.clone())).collect();
    let (found, _) = client.get_many("t", &gets, None).await.unwrap();
    assert_eq!(found, rows[1..], "{what}");
}

#[tokio::test]
async fn puts_arrive_whatever_happens_to_regions() {
    let deeds: [fn(&Cluster); 5] = [
        |cluster| cluster.move_region("t", b"a", 1 - cluster.server_of("t", b"a")),
        |cluster| cluster.split("t", b"c0100"),
        |cluster| cluster.merge("t", b"d"),
        |cluster| {
            cluster.kill(0);
            cluster.recover(0);
        },
        |cluster| cluster.make_table_anew("t", &[b"e0050"]),
    ];
    for deed in deeds {
        puts_arrive_through(Fault::before("Multi", deed)).await;
    }
}

#[tokio::test]
async fn puts_arrive_whatever_happens_to_answers() {
    for kind in [
        FaultKind::Close,
        FaultKind::CloseAfter,
        FaultKind::CutAfter(3),
        FaultKind::GarbageAfter(b"\x7f\xff\xff\xff".to_vec()),
        FaultKind::Stall,
        FaultKind::StallAfter,
        FaultKind::Exception("CallQueueTooBigException"),
        FaultKind::Exception("java.io.IOException"),
        FaultKind::ExceptionAfter("java.io.IOException"),
        FaultKind::Region(1, "NotServingRegionException"),
        FaultKind::Region(0, "RegionTooBusyException"),
        FaultKind::Action(40, "RegionTooBusyException"),
        FaultKind::Action(0, "java.io.IOException"),
    ] {
        puts_arrive_through(Fault::on("Multi", kind)).await;
    }
}

#[tokio::test]
async fn of_those_who_claim_one_is_first() {
    let cluster = cluster();
    let client = client(&cluster);
    let keys = keys(100);
    let claims = |who: &str| keys.iter().map(|key| claim(key, who)).collect::<Vec<_>>();
    let (first, second) = (claims("first"), claims("second"));
    let (a, b) = tokio::join!(
        client.check_and_mutate_many("t", &first, None),
        client.check_and_mutate_many("t", &second, None)
    );
    let (a, b) = (a.unwrap().0, b.unwrap().0);
    let rows = cluster.rows("t");
    for place in 0..keys.len() {
        let winner: &[u8] = match (a[place], b[place]) {
            (Checked::Done, Checked::Refused) => b"first",
            (Checked::Refused, Checked::Done) => b"second",
            both => panic!("{both:?}"),
        };
        assert_eq!(value(&rows, place), winner);
    }
    // A claim on a value, not on an empty row.
    let change = CheckAndMutate { expected: Some("first".into()), ..claim("a0000", "third") };
    let held = value(&rows, 0) == b"first";
    let outcome = client.check_and_mutate_many("t", &[change], None).await.unwrap().0;
    assert_eq!(outcome, [if held { Checked::Done } else { Checked::Refused }]);
}

/// The claim is sent once in all, in spite of any fault.
#[tokio::test]
async fn a_claim_whose_answer_is_lost_is_unknown_and_not_sent_again() {
    for (kind, is_done) in [
        (FaultKind::Close, false),
        (FaultKind::CloseAfter, true),
        (FaultKind::CutAfter(1), true),
        (FaultKind::GarbageAfter(b"\xff\xff\xff\xff".to_vec()), true),
        (FaultKind::Stall, false),
        (FaultKind::StallAfter, true),
        (FaultKind::Exception("java.io.IOException"), false),
        (FaultKind::ExceptionAfter("java.io.IOException"), true),
        (FaultKind::Action(0, "java.io.IOException"), false),
    ] {
        let cluster = cluster();
        let client = client(&cluster);
        client.get("t", Get::new("a")).await.unwrap();
        let n = cluster.n_calls("Multi");
        let what = format!("{kind:?}");
        cluster.fail(Fault::on("Multi", kind));
        let outcome = client.check_and_mutate_many("t", &[claim("a", "v")], None).await.unwrap().0;
        assert_eq!(outcome, [Checked::Unknown], "{what}");
        assert_eq!(cluster.n_calls("Multi") - n, 1, "{what}");
        assert_eq!(cluster.rows("t").len(), usize::from(is_done), "{what}");
    }
}

/// The claim was certainly not executed.
#[tokio::test]
async fn a_claim_that_is_refused_by_a_server_is_sent_again() {
    for kind in [
        FaultKind::Region(0, "NotServingRegionException"),
        FaultKind::Action(0, "RegionTooBusyException"),
        FaultKind::Exception("CallQueueTooBigException"),
        FaultKind::FinalException("exceptions.RegionMovedException"),
    ] {
        let cluster = cluster();
        let client = client(&cluster);
        client.get("t", Get::new("a")).await.unwrap();
        let what = format!("{kind:?}");
        cluster.fail(Fault::on("Multi", kind));
        let outcome = client.check_and_mutate_many("t", &[claim("a", "v")], None).await.unwrap().0;
        assert_eq!((outcome, cluster.n_faults()), (vec![Checked::Done], 0), "{what}");
    }
    // A connection that cannot be opened: nothing was sent. The other server has `hbase:meta`.
    let cluster = cluster();
    let client = client(&cluster);
    client.get("t", Get::new("a")).await.unwrap();
    let server = cluster.server_of("t", b"b");
    assert_ne!(server, cluster.server_of("t", b"a"));
    cluster.kill(server);
    let claims = [claim("b", "v")];
    let (outcome, ()) = tokio::join!(client.check_and_mutate_many("t", &claims, None), async {
        until_looked_up(&cluster, 2).await;
        cluster.recover(server);
    });
    assert_eq!(outcome.unwrap().0, [Checked::Done]);
}

/// One claim of many is unknown, and the others keep their outcomes.
#[tokio::test]
async fn what_is_unknown_is_one_claim() {
    let cluster = cluster();
    let client = client(&cluster);
    let claims: Vec<_> = keys(50).iter().map(|key| claim(key, "v")).collect();
    client.get("t", Get::new("a")).await.unwrap();
    cluster.fail(Fault::on("Multi", FaultKind::Action(3, "java.io.IOException")));
    let outcome = client.check_and_mutate_many("t", &claims, None).await.unwrap().0;
    let n = |wanted| outcome.iter().filter(|found| **found == wanted).count();
    assert_eq!((n(Checked::Done), n(Checked::Unknown)), (49, 1));
    assert_eq!(cluster.rows("t").len(), 49);
}

#[tokio::test]
async fn what_cannot_be_is_said_and_not_sent() {
    let cluster = cluster();
    let client = client(&cluster);
    let mixed = Mutation {
        cells: vec![cell("a", "q", "v"), Cell { kind: CellType::DeleteColumn, ..cell("a", "q", "v") }],
        time_to_live: None,
    };
    let none = Mutation { cells: Vec::new(), time_to_live: None };
    let long = put(&"a".repeat(40_000), "v");
    for change in [mixed, none, long] {
        let error = client.mutate_many("t", &[change], None).await.unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error:?}");
    }
    let mut other = put("a", "v");
    other.cells[0].family = "g".into();
    let error = client.mutate_many("t", &[other], None).await.unwrap_err();
    assert!(error.to_string().starts_with("NoSuchColumnFamilyException"), "{error}");
}
