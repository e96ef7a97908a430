//! The suite of all stores, on the fake gateway and on the fake cluster. The tests that need
//! installed programs, in a package of their own, run it on real ones.

use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use hbase_rpc::fake::FakeCluster;
use index::testsuite::{self, Place};
use index::{Clock, ErrorKind, Metadata, OpenOptions, Profile, Rule, Store};
use pigeonhole_store_hbase::{FakeGateway, HbaseStore, HbaseUri};
use simhash::Fingerprint;

#[test]
fn hbase() {
    let gateway = FakeGateway::start();
    let n_tables = AtomicUsize::new(0);
    let open = |clock, seconds| -> Box<dyn Store> {
        let name = format!("t{}", n_tables.fetch_add(1, Ordering::Relaxed));
        let documents = format!("{name}_docs");
        gateway.create_table(&name, &["f"]);
        gateway.create_table(&documents, &["d", "m"]);
        gateway.set_time_to_live(&name, "f", seconds);
        gateway.set_time_to_live(&documents, "d", seconds);
        Box::new(HbaseStore::with_clock(gateway.address().to_string(), &name, 8, clock))
    };
    testsuite::check_what_stays(&|clock| open(clock, i32::MAX));
    testsuite::check_retention(&|clock| open(clock, testsuite::RETAIN.as_secs() as i32));
    assert_eq!(gateway.n_open_scanners(), 0);
}

/// Tables that have a family for texts.
#[test]
fn hbase_with_texts() {
    let gateway = FakeGateway::start();
    let n_tables = AtomicUsize::new(0);
    testsuite::check_texts(&|clock| {
        let name = format!("t{}", n_tables.fetch_add(1, Ordering::Relaxed));
        gateway.create_table(&name, &["f"]);
        gateway.create_table(&format!("{name}_docs"), &["d", "m", "t"]);
        Box::new(HbaseStore::with_clock(gateway.address().to_string(), &name, 8, clock))
    });
    assert_eq!(gateway.n_open_scanners(), 0);
}

#[test]
fn hbase_rpc_with_texts() {
    let cluster = FakeCluster::start(2);
    let n_tables = AtomicUsize::new(0);
    testsuite::check_texts(&|clock| {
        let name = format!("t{}", n_tables.fetch_add(1, Ordering::Relaxed));
        make_tables_with(&cluster, &name, None, &["t"]);
        direct(&cluster, &name, clock)
    });
}

/// Tables that are dropped and made again. The embedded store's files are in its own tests, and no
/// other process can reach a store in memory.
#[test]
fn hbase_made_anew() {
    let gateway = Rc::new(FakeGateway::start());
    let n_tables = AtomicUsize::new(0);
    testsuite::check_made_anew(&|| {
        let name = format!("t{}", n_tables.fetch_add(1, Ordering::Relaxed));
        let make = {
            let (gateway, name) = (Rc::clone(&gateway), name.clone());
            move || {
                for (table, families) in [(name.clone(), &["f"][..]), (format!("{name}_docs"), &["d", "m"])] {
                    gateway.drop_table(&table);
                    gateway.create_table(&table, families);
                }
            }
        };
        make();
        let address = gateway.address().to_string();
        let reopen = move || -> Box<dyn Store> { Box::new(HbaseStore::new(address.clone(), &name, 8)) };
        let (store, other) = (reopen(), reopen.clone());
        let remake = move |metadata: Option<&Metadata>| {
            make();
            if let Some(metadata) = metadata {
                other().create(metadata).unwrap();
            }
        };
        Place { store, remake: Box::new(remake), reopen: Box::new(reopen) }
    });
    assert_eq!(gateway.n_open_scanners(), 0);
}

/// Without a gateway: both tables lie on two servers.
#[test]
fn hbase_rpc() {
    let cluster = FakeCluster::start(2);
    let n_tables = AtomicUsize::new(0);
    let open = |clock, seconds| -> Box<dyn Store> {
        let name = format!("t{}", n_tables.fetch_add(1, Ordering::Relaxed));
        make_tables(&cluster, &name, seconds);
        direct(&cluster, &name, clock)
    };
    testsuite::check_what_stays(&|clock| open(clock, None));
    testsuite::check_retention(&|clock| open(clock, Some(testsuite::RETAIN.as_secs() as u32)));
}

#[test]
fn hbase_rpc_made_anew() {
    let cluster = Rc::new(FakeCluster::start(2));
    let n_tables = AtomicUsize::new(0);
    testsuite::check_made_anew(&|| {
        let name = format!("t{}", n_tables.fetch_add(1, Ordering::Relaxed));
        make_tables(&cluster, &name, None);
        let reopen = {
            let (cluster, name) = (Rc::clone(&cluster), name.clone());
            move || direct(&cluster, &name, Clock::system())
        };
        let (store, other) = (reopen(), reopen.clone());
        let cluster = Rc::clone(&cluster);
        let remake = move |metadata: Option<&Metadata>| {
            for table in [name.clone(), format!("{name}_docs")] {
                cluster.drop_table(&table);
            }
            make_tables(&cluster, &name, None);
            if let Some(metadata) = metadata {
                other().create(metadata).unwrap();
            }
        };
        Place { store, remake: Box::new(remake), reopen: Box::new(reopen) }
    });
}

fn direct(cluster: &FakeCluster, name: &str, clock: Clock) -> Box<dyn Store> {
    let (host, port) = cluster.master();
    let uri: HbaseUri = format!("hbase+rpc://{host}:{port}/{name}").parse().expect("it is a place");
    Box::new(HbaseStore::open(&uri, clock, None).expect("it is in this build"))
}

fn make_tables(cluster: &FakeCluster, name: &str, seconds: Option<u32>) {
    make_tables_with(cluster, name, seconds, &[]);
}

/// Makes the same tables, with more families of the documents.
fn make_tables_with(cluster: &FakeCluster, name: &str, seconds: Option<u32>, more: &[&str]) {
    cluster.create_table_with_lives(name, &[("f", seconds)], &[b"\x00\x80\x00\x00", b"\x01\x80"]);
    let documents = format!("{name}_docs");
    let mut families = vec![("d", seconds), ("m", None)];
    families.extend(more.iter().map(|family| (*family, seconds)));
    cluster.create_table_with_lives(&documents, &families, &[b"8"]);
    cluster.move_region(name, b"\x01", 1);
    cluster.move_region(&documents, b"9", 1);
}

/// Searches in quick succession without results seldom check the index. Each notices when it is
/// another one.
#[test]
fn checks_hold_for_a_while() {
    let cluster = FakeCluster::start(2);
    make_tables(&cluster, "t", None);
    let store = direct(&cluster, "t", Clock::system());
    let options =
        OpenOptions { profile: Some(Profile::Classic), verify: Some(false), ..OpenOptions::default() };
    let metadata = options.new_metadata().unwrap();
    store.create(&metadata).unwrap();
    let query = [metadata.kind.sketch(Fingerprint(7))];
    let rule = Rule::from(metadata.max_distance);
    let n_checks = || cluster.n_calls("Multi");
    let (before, begun) = (n_checks(), Instant::now());
    for _ in 0..50 {
        store.near(&query, &rule, 1).unwrap();
    }
    let n_max = begun.elapsed().as_millis() as u64 / 100 + 1;
    assert!((1..=n_max).contains(&(n_checks() - before)), "{n_max}");

    for table in ["t", "t_docs"] {
        cluster.drop_table(table);
    }
    make_tables(&cluster, "t", None);
    direct(&cluster, "t", Clock::system()).create(&options.new_metadata().unwrap()).unwrap();
    assert_eq!(store.near(&query, &rule, 1).unwrap_err().kind(), ErrorKind::Replaced);
}

/// The readiness check of a service: both tables have to be there.
#[test]
fn it_is_ready_with_both_tables() {
    let cluster = FakeCluster::start(2);
    make_tables(&cluster, "t", None);
    let store = direct(&cluster, "t", Clock::system());
    store.create(&OpenOptions::default().new_metadata().unwrap()).unwrap();
    for table in ["t", "t_docs"] {
        store.prepare().unwrap();
        cluster.enable_table(table, false);
        let error = store.prepare().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Disabled, "{table}: {error}");
        assert!(error.to_string().contains("enable 't'"), "{table}: {error}");
        cluster.enable_table(table, true);
    }
}

/// Where a mere name is told to a cluster that wants tickets, the message names both ways in.
#[test]
fn a_cluster_that_wants_kerberos() {
    let cluster = FakeCluster::start(1);
    make_tables(&cluster, "t", None);
    cluster.want_kerberos();
    let error = direct(&cluster, "t", Clock::system()).metadata().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    let said = error.to_string();
    for says in ["wants Kerberos", "?principal=hbase/_HOST@REALM", "feature `kerberos`", "hbase://"] {
        assert!(said.contains(says), "{said}");
    }
}
