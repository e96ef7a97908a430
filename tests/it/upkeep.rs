//! `pigeonhole verify` and `pigeonhole repair`, as operators meet them.

use std::net::TcpStream;

use hbase_thrift::hbase::{HbaseSyncClient, THbaseSyncClient};
use index::{Document, DocumentId, Store};
use store_hbase::HbaseStore;
use thrift::protocol::{TBinaryInputProtocol, TBinaryOutputProtocol};
use thrift::transport::{TBufferedReadTransport, TBufferedWriteTransport};

use crate::support::{apart, hbase, news, run};

#[test]
fn nothing_is_wrong_with_an_embedded_index() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    run("indexer", ["index", "-q", "--store", &store, news().to_str().unwrap()]).expect(0);
    for command in ["verify", "repair"] {
        let sound = run("pigeonhole", [command, "--store", &store]).expect(0);
        assert!(sound.stdout.starts_with("looked at           70\n"), "{}", sound.stdout);
        assert_eq!(sound.stderr, "");
        let missing = run("pigeonhole", [command, "--store", "embedded:/does/not/exist"]).expect(2);
        assert_eq!(missing.stdout, "");
        let help = run("pigeonhole", [command, "--help"]).expect(0).stdout;
        for part in ["unfiled", "ghost", "dead claim", "half removed", "from a backup", "Exit status: 0"] {
            assert!(help.contains(part), "{part:?} is missing in\n{help}");
        }
    }
}

/// Rows of the index that somebody has deleted, on a real HBase: its deletes hide what is written below them.
#[test]
fn rows_deleted_from_hbase() {
    let Some(hbase) = hbase() else { return };
    hbase.shell_text("create_upkeep", "ENV.update('TABLE' => 'upkeep')\nload 'schema/create.rb'\n").expect(0);
    let url = format!("hbase://{}/upkeep", hbase.gateway);
    run("indexer", ["index", "-q", "--store", &url, news().to_str().unwrap()]).expect(0);
    let at =
        |command, more: &[&str]| run("pigeonhole", [&[command, "-q", "--store", &url][..], more].concat());
    at("verify", &[]).expect(0);

    let store = HbaseStore::new(hbase.gateway.to_string(), "upkeep", 2);
    let names = ["en-chess", "zh-bridge", "zh-museum"];
    let ids = names.map(|name| DocumentId::new(name).unwrap());
    let documents: Vec<Document> =
        store.get(&ids).unwrap().into_iter().map(|stored| stored.unwrap().document).collect();
    let stream = TcpStream::connect(hbase.gateway).unwrap();
    let (reader, writer) = (stream.try_clone().unwrap(), stream);
    let mut client = HbaseSyncClient::new(
        TBinaryInputProtocol::new(TBufferedReadTransport::new(reader), true),
        TBinaryOutputProtocol::new(TBufferedWriteTransport::new(writer), true),
    );
    for Document { sketch, .. } in &documents {
        for key in sketch.keys() {
            let row = simhash::RowKey::new(key, sketch.fingerprint()).encode().to_vec();
            client.delete_all_row(b"upkeep".to_vec(), row, Default::default()).unwrap();
        }
    }
    let n_found = |document: &Document| {
        store.near(std::slice::from_ref(&document.sketch), &apart(0).into(), 10).unwrap()[0].n_matches
    };
    assert_eq!(documents.iter().map(n_found).sum::<u64>(), 0);

    for command in ["verify", "repair"] {
        let seen = at(command, &[]).expect(1).stdout;
        for name in names {
            assert!(seen.contains(&format!("unfiled\t{name}\n")), "{seen}");
        }
        assert!(seen.contains(&format!("pigeonhole repair --store {url} --apply")), "{seen}");
    }
    assert_eq!(documents.iter().map(n_found).sum::<u64>(), 0, "a trial run has changed something");
    let mended = at("repair", &["--apply"]).expect(0).stdout;
    assert!(mended.contains("unfiled\ten-chess\tmended\n"), "{mended}");
    at("verify", &[]).expect(0);
    assert!(documents.iter().all(|document| n_found(document) > 0));
}
