//! The programs on a real HBase without a gateway: errors, and regions that move.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{create, direct_url, n_cells, n_index_rows};
use crate::support::{Worker, alone, command, digest, free_ports, hbase, made_up_corpus, matches, news, run};

/// Errors after a common omission, or a mistaken port, name a remedy.
#[test]
fn errors_say_what_to_do() {
    let Some(hbase) = hbase() else { return };
    create(hbase, "create_direct_errors", &[("direct_errors", "5c2")]);
    let news = news();
    let index = |store: &str| run("indexer", ["index", "-q", "--store", store, news.to_str().unwrap()]);
    let missing = index(&direct_url(hbase, "nowhere")).expect(2).stderr;
    assert!(missing.contains("TABLE=nowhere deploy/hbase/hbase shell schema/create.rb"), "{missing}");
    let store = direct_url(hbase, "direct_errors");
    index(&store).expect(0);
    let [port] = free_ports();
    let nobody = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    for wrong in [nobody, hbase.gateway] {
        let away = index(&format!("hbase+rpc://{wrong}/direct_errors")).expect(2).stderr;
        assert!(away.contains(&format!("the HBase cluster at {wrong} failed")), "{away}");
        assert!(away.contains("do its master and region servers run"), "{away}");
    }
    // A master that is away is passed over.
    let others = format!("hbase+rpc://{nobody},{}/direct_errors", hbase.master);
    assert!(index(&others).expect(0).stdout.contains("unchanged               35"));

    hbase.shell_text("disable_direct", "disable 'direct_errors'\n").expect(0);
    let disabled = run("pigeonhole", ["query", "--store", &store, "--", "The harbour of the old town"]);
    let said = disabled.expect(2).stderr;
    assert!(said.contains("enable 'direct_errors'"), "{said}");
    hbase.shell_text("enable_direct", "enable 'direct_errors'\n").expect(0);
    assert!(index(&store).expect(0).stdout.contains("unchanged               35"));
}

/// The regions of both tables are split, unassigned, assigned and merged while an index is loaded
/// and searched: nothing is lost, and every answer is complete.
#[test]
fn regions_that_move_meanwhile() {
    let Some(hbase) = hbase() else { return };
    const N: usize = 40_000;
    let _alone = alone();
    create(hbase, "create_moving", &[("moving", "5c2")]);
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus.jsonl");
    fs::write(&corpus, made_up_corpus(N, 41)).unwrap();
    let (corpus, store) = (corpus.to_str().unwrap(), direct_url(hbase, "moving"));
    let news = news();
    run("indexer", ["index", "-q", "--store", &store, news.to_str().unwrap()]).expect(0);
    let worker = Worker::start(&store, &[]);
    let queries: Vec<Value> = fs::read_to_string(&news)
        .unwrap()
        .lines()
        .map(|line| json!({ "text": serde_json::from_str::<Value>(line).unwrap()["text"], "limit": 1000 }))
        .collect();
    // True for the original documents.
    let old =
        |found: &Value| found["id"].as_str().is_some_and(|id| id.starts_with("en-") || id.starts_with("zh-"));
    let ids = |answer: &Value| {
        let found = matches(answer).unwrap_or_default();
        found.iter().filter(|found| old(found)).map(|found| found["id"].clone()).collect::<Vec<_>>()
    };
    // On a busy machine, a region may be away longer than a worker waits.
    let ask = |query: &Value| {
        let begun = Instant::now();
        loop {
            let (status, answer) = worker.post("/v1/query", query);
            if status == 503 && begun.elapsed() < Duration::from_secs(60) {
                thread::sleep(Duration::from_millis(100));
                continue;
            }
            assert!([200, 422].contains(&status), "{status}: {answer}");
            break (status, if status == 200 { ids(&answer) } else { Vec::new() });
        }
    };
    let expected: Vec<_> = queries.iter().map(ask).collect();
    assert!(expected.iter().any(|(_, found)| found.len() > 1));

    let ready = folder.path().join("ready");
    let script = r#"
File.write(READY, '')
split 'moving', "\x01\x00\x00\x00\x01".b
split 'moving_docs', '8000'
java_import org.apache.hadoop.hbase.HBaseConfiguration
java_import org.apache.hadoop.hbase.TableName
java_import org.apache.hadoop.hbase.client.ConnectionFactory
admin = ConnectionFactory.createConnection(HBaseConfiguration.create).getAdmin
sleep 2
%w[moving moving_docs].each do |table|
  regions = -> { admin.getRegions(TableName.valueOf(table)) }
  regions.call.each do |region|
    admin.unassign(region.getRegionName, false)
    sleep 1
    admin.assign(region.getRegionName)
  end
  sleep 1
  first, second = regions.call.first(2)
  puts "merging #{first.getRegionNameAsString} and its neighbour"
  admin.mergeRegionsAsync(first.getEncodedNameAsBytes, second.getEncodedNameAsBytes, false).get
end
"#;
    let mut n_rounds = 0;
    thread::scope(|scope| {
        let script = script.replace("READY", &format!("'{}'", ready.display()));
        let script = hbase.written("move", &script);
        let shell = scope.spawn(move || hbase.shell(&script, &[]));
        // The shell takes longer to start than the load takes.
        while !ready.exists() && !shell.is_finished() {
            thread::sleep(Duration::from_millis(20));
        }
        let mut loading = command("indexer", ["index", "-q", "--store", &store, corpus]).spawn().unwrap();
        while !shell.is_finished() || n_rounds < 3 {
            for (query, expected) in queries.iter().zip(&expected) {
                assert_eq!(ask(query), *expected);
            }
            n_rounds += 1;
            thread::sleep(Duration::from_millis(20));
        }
        let moved = shell.join().unwrap();
        assert_eq!(moved.expect(0).stdout.matches("merging").count(), 2);
        assert!(loading.wait().unwrap().success());
    });
    let embedded = format!("embedded:{}", folder.path().join("index").display());
    run("indexer", ["index", "-q", "--store", &embedded, corpus, news.to_str().unwrap()]).expect(0);
    assert_eq!(digest(&store), digest(&embedded));
    assert_eq!(n_cells(hbase.gateway, "moving"), n_index_rows(&embedded));
}
