//! The programs and the store on a real HBase, through a real gateway and without one.

mod bulk;
mod carried;
mod cluster;
mod direct;
mod made_anew;
mod put_back;
mod schema;
mod snapshots;
mod tiers;

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hbase_thrift::hbase::{BatchMutation, HbaseSyncClient, Mutation, THbaseSyncClient, TRowResult, TScan};
use index::{Clock, Cursor, Mode, OpenOptions, SketchKind, Store, testsuite};
use serde_json::{Value, json};
use store_hbase::{HbaseStore, HbaseUri};
use thrift::protocol::{TBinaryInputProtocol, TBinaryOutputProtocol};
use thrift::transport::{TBufferedReadTransport, TBufferedWriteTransport};

use crate::support::{
    Door, Hbase, Log, Worker, alone, command, digest, free_ports, hbase, kept, made_up_corpus, matches, news,
    run,
};

/// Makes tables with the operators' script, all in one run of the shell.
pub(crate) fn create(hbase: &Hbase, name: &str, tables: &[(&str, &str)]) {
    let create = |(table, scheme): &(&str, &str)| {
        format!(
            "ENV.update('TABLE' => '{table}', 'SCHEME' => '{scheme}', 'REGIONS' => '2')\nload 'schema/create.rb'\n"
        )
    };
    hbase.shell_text(name, &tables.iter().map(create).collect::<String>()).expect(0);
}

/// `hbase up` waits until the master can make tables. A master that lists tables may not make any
/// yet, and one stopped before that point runs until it is killed.
#[test]
fn it_is_up_once_tables_can_be_made() {
    let Some(hbase) = hbase() else { return };
    assert!(hbase.was_initialised);
}

/// An index with retention: its tables have HBase drop cells after that time. The clock of the
/// suite runs ahead of HBase's, so each case has tables of its own.
#[test]
fn retention() {
    let Some(hbase) = hbase() else { return };
    let seconds = testsuite::RETAIN.as_secs();
    let tables: Vec<_> = (0..testsuite::N_RETENTION_CASES).map(|n| format!("retain_{n}")).collect();
    let create = |table: &String| {
        format!(
            "ENV.update('TABLE' => '{table}', 'REGIONS' => '1', 'TTL' => '{seconds}')\nload 'schema/create.rb'\n"
        )
    };
    hbase.shell_text("create_retain", &tables.iter().map(create).collect::<String>()).expect(0);
    let n_opened = AtomicUsize::new(0);
    testsuite::check_retention(&|clock| {
        let table = &tables[n_opened.fetch_add(1, Ordering::Relaxed)];
        Box::new(HbaseStore::with_clock(hbase.gateway.to_string(), table, 4, clock))
    });
    // An index opened with another time is refused with a remedy, which HBase's shell then applies.
    let store = url(hbase.gateway, "retain_0");
    let refused =
        run("indexer", ["index", "-q", "--retain", "3d", "--store", &store, news().to_str().unwrap()]);
    let said = refused.expect(2).stderr;
    assert!(said.contains("retain is \"2h\" in the index and \"3d\" was asked for"), "{said}");
    create_new(hbase, "mended", "");
    let store = url(hbase.gateway, "mended");
    let index =
        || run("indexer", ["index", "-q", "--retain", "2d", "--store", &store, news().to_str().unwrap()]);
    let said = index().expect(2).stderr;
    let commands = said.split("run in the HBase shell: ").nth(1).unwrap();
    hbase.shell_text("mend", &commands.replace("; ", "\n")).expect(0);
    index().expect(0);
    let said = run("pigeonhole", ["info", "--store", &store]).expect(0).stdout;
    assert!(said.contains("2d"), "{said}");
}

/// Makes the tables of one index.
fn create_new(hbase: &Hbase, table: &str, ttl: &str) {
    let script = format!(
        "ENV.update('TABLE' => '{table}', 'REGIONS' => '1', 'TTL' => '{ttl}')\nload 'schema/create.rb'\n"
    );
    hbase.shell_text(&format!("create_{table}"), &script).expect(0);
}

pub(crate) fn url(gateway: SocketAddr, table: &str) -> String {
    format!("hbase://{gateway}/{table}")
}

/// Returns the URL of the same index without a gateway.
pub(crate) fn direct_url(hbase: &Hbase, table: &str) -> String {
    format!("hbase+rpc://{}/{table}", hbase.master)
}

/// Through the gateway.
#[test]
fn conformance() {
    let Some(hbase) = hbase() else { return };
    let open = |table: &str, clock| HbaseStore::with_clock(hbase.gateway.to_string(), table, 4, clock);
    check_conformance(hbase, "suite", &open);
}

/// By HBase's own protocol.
#[test]
fn conformance_of_rpc() {
    let Some(hbase) = hbase() else { return };
    let open = |table: &str, clock| {
        let uri: HbaseUri = direct_url(hbase, table).parse().unwrap();
        HbaseStore::open(&uri, clock, None).unwrap()
    };
    check_conformance(hbase, "suite_rpc", &open);
}

/// Runs the suite of stores, which needs an empty store for each case. HBase takes seconds to make
/// a table, so a few tables are used in turn, and emptied. Some cases have two stores at once.
fn check_conformance(hbase: &Hbase, name: &str, open: &dyn Fn(&str, Clock) -> HbaseStore) {
    let _alone = alone();
    let tables = [0, 1, 2, 3].map(|number| format!("{name}_{number}"));
    create(hbase, &format!("create_{name}"), &tables.each_ref().map(|table| (&**table, "5c2")));
    let clocks: Mutex<Vec<Clock>> = Mutex::default();
    let open_empty = |clock: Clock| -> Box<dyn Store> {
        let mut clocks = clocks.lock().unwrap_or_else(PoisonError::into_inner);
        // Some cases advance their clocks. Their deletes carry that time, or some milliseconds
        // more, and would hide earlier writes, which no caller could see.
        let latest = clocks.iter().map(|clock| clock.now().as_ms()).max().unwrap_or_default();
        wait_until_after(latest + 10);
        let table = &tables[clocks.len() % tables.len()];
        clocks.push(clock.clone());
        empty(hbase.gateway, table);
        empty(hbase.gateway, &format!("{table}_docs"));
        Box::new(open(table, clock))
    };
    testsuite::check_texts(&open_empty);
    testsuite::check_what_stays(&open_empty);
}

/// Deletes all cells of a table, and waits until the clock has passed them. A write in the same
/// millisecond as a delete would be deleted too.
fn empty(gateway: SocketAddr, table: &str) {
    let mut last = 0;
    each_page(gateway, table, |client, rows| {
        let delete = |column| Mutation::new(true, column, None, true);
        let mut deletes = Vec::new();
        for row in rows {
            let columns = row.columns.unwrap();
            last = columns.values().map(|cell| cell.timestamp.unwrap()).fold(last, i64::max);
            let mutations: Vec<_> = columns.into_keys().map(delete).collect();
            deletes.push(BatchMutation::new(row.row.unwrap(), mutations));
        }
        client.mutate_rows_ts(table.as_bytes().to_vec(), deletes, last, BTreeMap::new()).unwrap();
    });
    wait_until_after(last);
}

/// Waits until the clock of this machine has passed `ms`, in milliseconds.
fn wait_until_after(ms: i64) {
    while now_ms() <= ms {
        thread::sleep(Duration::from_millis(1));
    }
}

fn n_cells(gateway: SocketAddr, table: &str) -> usize {
    let mut n_cells = 0;
    each_page(gateway, table, |_, rows| {
        n_cells += rows.iter().map(|row| row.columns.as_ref().unwrap().len()).sum::<usize>();
    });
    n_cells
}

/// Returns the number of rows that the documents of an index have by their sketches.
fn n_index_rows(store: &str) -> usize {
    let index = engine::open_index(store, &OpenOptions { mode: Mode::MustExist, ..OpenOptions::default() });
    let index = index.unwrap();
    let (mut n_rows, mut next) = (0, Some(Cursor::start()));
    while let Some(after) = next {
        let page = index.scan(after, 1_000).unwrap();
        n_rows += page.documents.iter().map(|stored| stored.document.sketch.n_keys()).sum::<usize>();
        next = page.next;
    }
    n_rows
}

/// Reads a table with a client other than the store's.
pub(crate) fn each_page(
    gateway: SocketAddr,
    table: &str,
    mut visit: impl FnMut(&mut dyn THbaseSyncClient, Vec<TRowResult>),
) {
    let stream = TcpStream::connect(gateway).unwrap();
    stream.set_nodelay(true).unwrap();
    let input = TBufferedReadTransport::with_capacity(1 << 16, stream.try_clone().unwrap());
    let output = TBufferedWriteTransport::with_capacity(1 << 16, stream);
    let mut client = HbaseSyncClient::new(
        TBinaryInputProtocol::new(input, true),
        TBinaryOutputProtocol::new(output, true),
    );
    let scan = TScan::new(None, None, None, None, 1_000, None, None, None, None, None);
    let scanner = client.scanner_open_with_scan(table.as_bytes().to_vec(), scan, BTreeMap::new()).unwrap();
    loop {
        let rows = client.scanner_get_list(scanner, 1_000).unwrap();
        if rows.is_empty() {
            break;
        }
        visit(&mut client, rows);
    }
    client.scanner_close(scanner).unwrap();
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

/// Every store and every program give the same answers about one corpus.
#[test]
fn the_stores_agree() {
    let Some(hbase) = hbase() else { return };
    let tables = ["agree", "agree_dedup", "agree_direct"];
    create(hbase, "create_agree", &tables.map(|table| (table, "5c2")));
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus.jsonl");
    fs::write(&corpus, [fs::read_to_string(news()).unwrap(), made_up_corpus(2_000, 11)].concat()).unwrap();
    let corpus = corpus.to_str().unwrap();
    let embedded = format!("embedded:{}", folder.path().join("index").display());
    let in_hbase = url(hbase.gateway, "agree");
    let direct = direct_url(hbase, "agree");

    for store in [&embedded, &in_hbase] {
        run("indexer", ["index", "-q", "--store", store, corpus]).expect(0);
    }
    assert_eq!(digest(&embedded), digest(&in_hbase));

    let mut found = [0; 2];
    let workers = [&embedded, &in_hbase, &direct].map(|store| Worker::start(store, &[]));
    for line in fs::read_to_string(corpus).unwrap().lines().step_by(40) {
        let text = &serde_json::from_str::<Value>(line).unwrap()["text"];
        let query = json!({ "text": text, "limit": 1000 });
        let answers = workers.each_ref().map(|worker| worker.post("/v1/query", &query));
        for other in &answers[1..] {
            assert_eq!(answers[0].0, other.0);
            assert_eq!(matches(&answers[0].1), matches(&other.1));
            assert_eq!(answers[0].1["n_matches"], other.1["n_matches"]);
        }
        let Some(text) = text.as_str().filter(|_| answers[0].0 == 200) else { continue };
        let found_matches = answers[0].1["matches"].as_array().unwrap();
        found[0] += 1;
        found[1] += found_matches.len();
        let printed = [&embedded, &in_hbase, &direct].map(|store| {
            let args = ["query", "--store", store, "--limit", "1000", "--", text];
            let printed = run("pigeonhole", args).expect(0).stdout;
            // Equal bits of different signatures share a row, but not an entry in memory.
            printed.split("; read ").next().unwrap().to_owned()
        });
        assert_eq!(printed[0], printed[1]);
        assert_eq!(printed[0], printed[2]);
        for found in found_matches {
            assert!(printed[1].contains(found["id"].as_str().unwrap()));
        }
    }
    assert!(found[0] > 30 && found[1] > found[0], "{found:?}: documents are found, and near ones with them");

    let expected = kept("memory:", "5c2", corpus);
    assert!(expected.lines().count() < 2_000);
    assert_eq!(kept(&url(hbase.gateway, "agree_dedup"), "5c2", corpus), expected);
    assert_eq!(kept(&direct_url(hbase, "agree_direct"), "5c2", corpus), expected);
}

#[test]
fn every_scheme_finds_the_same() {
    let Some(hbase) = hbase() else { return };
    let tables: Vec<_> =
        SketchKind::NAMES.iter().map(|scheme| (format!("scheme_{scheme}"), *scheme)).collect();
    let tables: Vec<_> = tables.iter().map(|(table, scheme)| (table.as_str(), *scheme)).collect();
    create(hbase, "create_schemes", &tables);
    let corpus = tempfile::NamedTempFile::new().unwrap();
    fs::write(corpus.path(), made_up_corpus(400, 5)).unwrap();
    let corpus = corpus.path().to_str().unwrap();
    let expected = kept("memory:", "5c2", corpus);
    assert!(expected.lines().count() < 400);
    for (table, scheme) in tables {
        assert_eq!(kept(&url(hbase.gateway, table), scheme, corpus), expected, "{scheme}");
    }
}

/// Errors after common omissions name a remedy.
#[test]
fn errors_say_what_to_do() {
    let Some(hbase) = hbase() else { return };
    create(hbase, "create_errors", &[("errors", "5c2")]);
    let news = news();
    let index = |store: &str, more: &[&str]| {
        run("indexer", [&["index", "-q", "--store", store, news.to_str().unwrap()], more].concat())
    };
    let missing = index(&url(hbase.gateway, "nowhere"), &[]).expect(2).stderr;
    assert!(missing.contains("TABLE=nowhere deploy/hbase/hbase shell schema/create.rb"), "{missing}");
    index(&url(hbase.gateway, "errors"), &[]).expect(0);
    for (more, part) in
        [(["--scheme", "t11"], "scheme is \"5c2\""), (["--max-distance", "2"], "max distance is \"3\"")]
    {
        let refused = index(&url(hbase.gateway, "errors"), &more).expect(2).stderr;
        assert!(refused.contains(part), "{refused}");
    }
    let [port] = free_ports();
    let nobody = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let away = index(&url(nobody, "errors"), &[]).expect(2).stderr;
    assert!(away.contains(&nobody.to_string()) && away.contains("is it running"), "{away}");
}

/// The gateway goes away in the middle of a load, and comes back once the load has missed it.
#[test]
fn a_gateway_that_comes_back() {
    let Some(hbase) = hbase() else { return };
    const N: usize = 20_000;
    create(hbase, "create_away", &[("away", "5c2")]);
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus.jsonl");
    fs::write(&corpus, made_up_corpus(N, 3)).unwrap();
    let corpus = corpus.to_str().unwrap();
    let door = Door::open(hbase.gateway);
    let store = url(door.address, "away");
    let mut loading = command("indexer", ["index", "-q", "--store", &store, corpus]).spawn().unwrap();
    let mut log = Log::of(&mut loading);
    // In the middle: a few MB of about ten that this load sends.
    while door.n_bytes() < 3_000_000 {
        thread::sleep(Duration::from_millis(5));
    }
    door.close();
    log.until("the store does not answer");
    door.open_again();
    let loaded = loading.wait_with_output().unwrap();
    assert!(loaded.status.success(), "{}", log.rest());
    let embedded = format!("embedded:{}", folder.path().join("index").display());
    run("indexer", ["index", "-q", "--store", &embedded, corpus]).expect(0);
    assert_eq!(digest(&url(hbase.gateway, "away")), digest(&embedded));
    // Each document has all its rows, with a text beside its record.
    let n_documents = (n_cells(hbase.gateway, "away_docs") - 1) / 2;
    assert!(n_documents > N * 9 / 10, "{n_documents}");
    assert_eq!(n_cells(hbase.gateway, "away"), n_index_rows(&embedded));
}
