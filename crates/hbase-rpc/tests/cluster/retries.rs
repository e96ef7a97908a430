//! Tests of retries: how long a call is repeated, and the error in the end.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::future::join_all;
use hbase_rpc::fake::{Fault, FaultKind};
use hbase_rpc::{ConnectionOptions, Error, Get, PageOptions, Range, Watch};
use tokio::net::{TcpListener, TcpSocket};

use super::*;

const PATIENCE: Duration = Duration::from_millis(700);

#[tokio::test]
async fn patience_ends_with_what_came_last() {
    for (kind, last) in [
        (FaultKind::Exception("CallQueueTooBigException"), "CallQueueTooBigException: as told"),
        (FaultKind::Exception("RegionTooBusyException"), "RegionTooBusyException: as told"),
        (FaultKind::Exception("NotServingRegionException"), "NotServingRegionException: as told"),
        (FaultKind::Close, "the connection failed"),
    ] {
        let cluster = cluster();
        let client = hasty(&cluster, PATIENCE);
        client.mutate_many("t", &[put("b", "v")], None).await.unwrap();
        // The other server, which has `hbase:meta`, answers.
        let server = cluster.server_of("t", b"b");
        assert_ne!(server, 0);
        cluster.fail(Fault::on("Multi", kind).at(server).times(1_000_000));
        let begun = Instant::now();
        let n = cluster.n_calls("Multi");
        let error = client.mutate_many("t", &[put("b", "w")], None).await.unwrap_err();
        let Error::GaveUp { waited, source } = &error else { panic!("{error:?}") };
        assert!(source.to_string().starts_with(last), "{source}");
        assert!(*waited <= 4 * PATIENCE && begun.elapsed() >= *waited, "{waited:?}");
        // Each pause is longer than the one before it.
        let n = cluster.n_calls("Multi") - n;
        assert!((3..40).contains(&n), "{n} calls");
    }
}

#[tokio::test]
async fn a_server_that_is_busy_is_waited_for() {
    for class in ["CallQueueTooBigException", "RegionTooBusyException", "quotas.RpcThrottlingException"] {
        let cluster = cluster();
        let client = client(&cluster);
        let n = cluster.n_calls("GetMetaRegionLocations");
        cluster.fail(Fault::on("Multi", FaultKind::Exception(class)).times(4));
        client.mutate_many("t", &[put("a", "v")], None).await.unwrap();
        assert_eq!(cluster.n_calls("Multi"), 5, "{class}");
        // The client asks the same server again, without a look-up.
        assert_eq!(
            (cluster.n_calls("GetMetaRegionLocations") - n, cluster.n_calls("Scan")),
            (1, 1),
            "{class}"
        );
    }
}

#[tokio::test]
async fn what_would_fail_again_is_not_tried_again() {
    let cluster = cluster();
    let client = client(&cluster);
    client.get("t", Get::new("a")).await.unwrap();
    for kind in [
        FaultKind::FinalException("DoNotRetryIOException"),
        FaultKind::FinalException("security.AccessDeniedException"),
        FaultKind::FinalException("SomethingNewException"),
    ] {
        let n = cluster.n_calls("Multi");
        cluster.fail(Fault::on("Multi", kind.clone()));
        let error = client.get("t", Get::new("a")).await.unwrap_err();
        assert!(matches!(error, Error::Remote(_)), "{error:?}");
        assert_eq!(cluster.n_calls("Multi") - n, 1, "{kind:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_late_is_given_up_and_tried_again() {
    let cluster = cluster();
    let call_timeout = Duration::from_millis(200);
    let client = Client::new(vec![cluster.master()], ClientOptions { call_timeout, ..options() });
    client.mutate_many("t", &[put("a", "v")], None).await.unwrap();
    cluster.fail(Fault::on("Multi", FaultKind::Delay(Duration::from_millis(600))));
    let begun = Instant::now();
    assert_eq!(client.get("t", Get::new("a")).await.unwrap().len(), 1);
    assert!(begun.elapsed() >= call_timeout);
    // The late answer is passed over.
    until(|| cluster.n_under_way() == 0).await;
    assert_eq!(client.get("t", Get::new("a")).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_server_that_goes_silent_is_left() {
    let cluster = cluster();
    let call_timeout = Duration::from_millis(300);
    let client = Client::new(vec![cluster.master()], ClientOptions { call_timeout, ..options() });
    let server = cluster.server_of("t", b"b");
    client.mutate_many("t", &[put("b", "v")], None).await.unwrap();
    cluster.fail(Fault::any(FaultKind::Stall).at(server).times(1_000_000));
    let get = tokio::time::timeout(Duration::from_secs(8), client.get("t", Get::new("b")));
    let n_calls = cluster.n_calls("Multi");
    let (found, ()) = tokio::join!(get, async {
        // The first call was given up.
        until(|| cluster.n_calls("Multi") >= n_calls + 2).await;
        // As a master does that no longer hears from the server, which stays silent on the move.
        cluster.move_region("t", b"b", 1 - server);
    });
    assert_eq!(found.unwrap().unwrap().len(), 1);
}

#[tokio::test]
async fn an_address_where_nobody_answers_is_not_waited_for_long() {
    let cluster = cluster();
    cluster.kill_master();
    let options = ClientOptions { first_patience: Duration::from_millis(300), ..options() };
    let patience = options.patience;
    let client = Client::new(vec![cluster.master()], options);
    let begun = Instant::now();
    let error = client.get("t", Get::new("a")).await.unwrap_err();
    assert!(matches!(error, Error::GaveUp { .. }), "{error:?}");
    assert!(!error.may_be_done(), "{error:?}");
    assert!(begun.elapsed() < patience);
}

#[tokio::test]
async fn a_cluster_that_comes_back_is_gone_on_with() {
    let cluster = cluster();
    let keys = fill(&cluster, 40);
    let client = client(&cluster);
    scanned(&client, 100).await;
    cluster.kill(0);
    cluster.kill(1);
    let (rows, ()) = tokio::join!(scanned(&client, 6), async {
        until_looked_up(&cluster, 3).await;
        cluster.start_again(1);
        until_looked_up(&cluster, 2).await;
        cluster.start_again(0);
    });
    assert_eq!(of_rows(&rows), keys);
}

/// All of it, and no more than the last try takes longer.
#[tokio::test]
async fn patience_is_used_up() {
    let patience = Duration::from_secs(3);
    for kind in [
        FaultKind::Exception("CallQueueTooBigException"),
        FaultKind::Exception("NotServingRegionException"),
        FaultKind::Close,
        FaultKind::Stall,
    ] {
        let cluster = cluster();
        let client = hasty(&cluster, patience);
        client.mutate_many("t", &[put("b", "v")], None).await.unwrap();
        cluster.fail(Fault::any(kind.clone()).times(1_000_000));
        let begun = Instant::now();
        let error = client.get("t", Get::new("b")).await.unwrap_err();
        assert!(matches!(error, Error::GaveUp { .. }), "{error:?}");
        let waited = begun.elapsed();
        assert!((patience..2 * patience).contains(&waited), "{kind:?}: {waited:?}");
    }
}

/// Each read needs the server of its region, and gives up without it.
#[tokio::test]
async fn a_read_waits_for_the_server_of_its_region() {
    let cluster = cluster();
    let keys = fill(&cluster, 100);
    let client = hasty(&cluster, PATIENCE);
    assert_eq!(of_rows(&scanned(&client, 100).await), keys);
    cluster.move_meta(1);
    assert_eq!(cluster.server_of("t", b"a"), 0);
    cluster.kill(0);
    let is_over = |error: &Error| matches!(error, Error::GaveUp { .. });
    let error = client.get("t", Get::new("a0000")).await.unwrap_err();
    assert!(is_over(&error), "{error}");
    let error = client.scan("t", Scan::default()).next().await.unwrap_err();
    assert!(is_over(&error), "{error}");
    let options =
        PageOptions { pieces_max: 1_000, cells_max: 100, together_min: 2, cache_blocks: true, since: None };
    let mut visit = |_: usize, _: Vec<Vec<Cell>>| Ok::<_, Error>(());
    let ranges = [Range::new("a", "b")];
    let error = client.pages("t", &"f".into(), &ranges, &options, &mut visit).await.unwrap_err();
    assert!(is_over(&error), "{error}");
    cluster.recover(0);
    assert_eq!(client.get("t", Get::new("a0000")).await.unwrap().len(), 1);
}

/// A caller that joins a look-up heard that the others had lost their patience, and lost its own.
#[tokio::test]
async fn a_caller_that_joins_a_look_up_has_its_own_patience() {
    let cluster = cluster();
    let client = hasty(&cluster, Duration::from_secs(2));
    let method = "GetMetaRegionLocations";
    cluster
        .fail(Fault::on(method, FaultKind::Exception("ipc.ServerNotRunningYetException")).times(1_000_000));
    let (first, second) = tokio::join!(
        async {
            let found = client.get("t", Get::new("b")).await;
            cluster.clear_faults();
            found
        },
        async {
            // The first has used up a part of its patience.
            while cluster.n_calls(method) < 7 {
                tokio::task::yield_now().await;
            }
            client.get("t", Get::new("b")).await
        }
    );
    assert!(matches!(first, Err(Error::GaveUp { .. })), "{first:?}");
    second.unwrap();
}

/// Regression: callers that waited for the same look-up tried one after another, so the n-th gave
/// up after n times its patience.
#[tokio::test]
async fn callers_whose_cluster_is_gone_give_up_together() {
    const N: u32 = 12;
    let cluster = cluster();
    let client = hasty(&cluster, PATIENCE);
    client.mutate_many("t", &[put("b", "v")], None).await.unwrap();
    cluster.kill_master();
    cluster.kill(0);
    cluster.kill(1);
    let gets = join_all((0..N).map(|_| client.get("t", Get::new("b"))));
    // Each caller may wait for itself, and then for a look-up.
    let outcomes = tokio::time::timeout(N * PATIENCE / 2, gets).await.unwrap();
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Err(Error::GaveUp { .. }))), "{outcomes:?}");
}

/// Regression: each caller that wanted a connection waited for the attempts of the others to fail,
/// and only then for its own.
#[tokio::test]
async fn callers_of_a_machine_that_is_gone_give_up_together() {
    const N: u32 = 12;
    let cluster = cluster();
    let connect_timeout = Duration::from_millis(500);
    let connection = ConnectionOptions { connect_timeout, ..ConnectionOptions::default() };
    let client = Client::new(vec![cluster.master()], ClientOptions { connection, ..options() });
    let server = cluster.server_of("t", b"b");
    client.mutate_many("t", &[put("b", "v")], None).await.unwrap();
    cluster.kill(server);
    let _silent = Silent::at(cluster.region_server(server).1);
    let begun = Instant::now();
    let gets = join_all((0..N).map(|_| client.get("t", Get::new("b"))));
    let (outcomes, ()) = tokio::join!(tokio::time::timeout(N * connect_timeout / 2, gets), async {
        // The callers have looked the region up again, at the place of before.
        until_looked_up(&cluster, 1).await;
        until(|| cluster.n_under_way() == 0).await;
        // As a master does that no longer hears from the server.
        cluster.recover(server);
    });
    assert!(outcomes.unwrap().iter().all(|found| found.as_ref().is_ok_and(|cells| cells.len() == 1)));
    assert!(begun.elapsed() >= connect_timeout, "the machine that is gone was asked");
}

/// A watcher hears of a call that waits, and of the end of the wait.
#[tokio::test]
async fn a_watcher_hears_the_end() {
    #[derive(Debug, Default)]
    struct Heard(Mutex<Vec<&'static str>>);
    impl Heard {
        fn add(&self, what: &'static str) {
            let mut heard = self.0.lock().unwrap();
            if heard.last() != Some(&what) {
                heard.push(what);
            }
        }
    }
    impl Watch for Heard {
        fn waits(&self, _: &Error) {
            self.add("waits");
        }
        fn goes_on(&self) {
            self.add("goes on");
        }
        fn gives_up(&self) {
            self.add("gives up");
        }
    }
    let cluster = cluster();
    let heard = Arc::new(Heard::default());
    let watch: Arc<dyn Watch> = heard.clone();
    let patience = Duration::from_secs(5);
    let client =
        Client::new(vec![cluster.master()], ClientOptions { patience, watch: Some(watch), ..options() });
    client.mutate_many("t", &[put("b", "v")], None).await.unwrap();
    let busy = FaultKind::Exception("RegionTooBusyException");
    cluster.fail(Fault::on("Multi", busy.clone()).times(1_000_000));
    let error = client.get("t", Get::new("b")).await.unwrap_err();
    assert!(matches!(error, Error::GaveUp { .. }), "{error:?}");
    assert_eq!(*heard.0.lock().unwrap(), ["waits", "gives up"]);

    cluster.clear_faults();
    client.get("t", Get::new("b")).await.unwrap();
    cluster.fail(Fault::on("Multi", busy).times(1_000_000));
    let (found, ()) = tokio::join!(client.get("t", Get::new("b")), async {
        until(|| heard.0.lock().unwrap().len() >= 3).await;
        cluster.clear_faults();
    });
    found.unwrap();
    assert_eq!(*heard.0.lock().unwrap(), ["waits", "gives up", "waits", "goes on"]);
}

/// A port where connections are neither refused nor taken, as on a machine without power.
struct Silent {
    _listener: TcpListener,
    /// As many connections as can wait to be taken: there is no room for another one.
    _waiting: Vec<TcpStream>,
}

impl Silent {
    fn at(port: u16) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(address).unwrap();
        let listener = socket.listen(1).unwrap();
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_millis(100)).ok();
        let waiting: Vec<_> = (0..16).map_while(connect).collect();
        assert!(waiting.len() < 16, "the queue of a listener ends");
        Self { _listener: listener, _waiting: waiting }
    }
}

/// Callers wait in threads.
#[test]
fn callers_may_wait_in_threads() {
    let cluster = cluster();
    let keys = fill(&cluster, 100);
    let client = hbase_rpc::blocking::Client::new(vec![cluster.master()], options()).unwrap();
    std::thread::scope(|scope| {
        for keys in keys.chunks(25) {
            let client = &client;
            scope.spawn(move || {
                for key in keys {
                    let (rows, _) = client.get_many("t", &[Get::new(key.clone())], None).unwrap();
                    assert_eq!(&rows[0][0].value[..], key.as_bytes());
                }
            });
        }
    });
    assert_eq!(client.time_to_live("t", b"f", None).unwrap(), None);
}

/// HBase 2.6.1 refuses under the id of no call. The client does not try again, and does not report
/// a user without rights.
#[tokio::test]
async fn a_cluster_that_wants_kerberos_is_known_by_it() {
    let cluster = cluster();
    cluster.want_kerberos();
    let error = client(&cluster).get("t", Get::new("a")).await.unwrap_err();
    assert!(error.wants_kerberos() && !error.may_be_done(), "{error}");
    assert_eq!(error.advice(), hbase_rpc::Advice::GiveUp);
    let denied = self::cluster();
    denied.fail(Fault::any(FaultKind::FinalException("security.AccessDeniedException")));
    let error = client(&denied).get("t", Get::new("a")).await.unwrap_err();
    assert!(!error.wants_kerberos(), "{error}");
}
