//! `pigeonhole verify` and `pigeonhole repair`, as operators meet them.

use std::net::TcpStream;

use hbase_thrift::hbase::{HbaseSyncClient, THbaseSyncClient};
use index::{Document, DocumentId, Store};
use store_hbase::HbaseStore;
use thrift::protocol::{TBinaryInputProtocol, TBinaryOutputProtocol};
use thrift::transport::{TBufferedReadTransport, TBufferedWriteTransport};

use crate::support::{Random, apart, command, hbase, news, run};

#[test]
fn nothing_is_wrong_with_an_embedded_index() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    run("indexer", ["index", "-q", "--store", &store, news().to_str().unwrap()]).expect(0);
    for command in ["verify", "repair"] {
        let sound = run("pigeonhole", [command, "--store", &store]).expect(0);
        assert!(sound.stdout.starts_with("looked at          105\n"), "{}", sound.stdout);
        assert_eq!(sound.stderr, "");
        let missing = run("pigeonhole", [command, "--store", "embedded:/does/not/exist"]).expect(2);
        assert_eq!(missing.stdout, "");
        let help = run("pigeonhole", [command, "--help"]).expect(0).stdout;
        for part in
            ["unfiled", "ghost", "dead claim", "half removed", "text lost", "from a backup", "Exit status: 0"]
        {
            assert!(help.contains(part), "{part:?} is missing in\n{help}");
        }
    }
}

/// LMDB would die of most of these pages.
#[test]
fn pages_of_noise_are_found() {
    const PAGE_BYTES: usize = 4096;
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    run("indexer", ["index", "-q", "--store", &store, news().to_str().unwrap()]).expect(0);
    let file = folder.path().join("data.mdb");
    let sound = std::fs::read(&file).unwrap();
    let mut random = Random(31);
    let mut n_found = 0;
    for page in 2..sound.len() / PAGE_BYTES {
        let mut noisy = sound.clone();
        noisy[page * PAGE_BYTES..][..PAGE_BYTES].fill_with(|| random.next() as u8);
        std::fs::write(&file, &noisy).unwrap();
        let looked = command("pigeonhole", ["verify", "-q", "--store", &store]).output().unwrap();
        let said = String::from_utf8_lossy(&[looked.stdout, looked.stderr].concat()).into_owned();
        // A page may be free; then there is no fault.
        assert!(looked.status.code().is_some_and(|code| code <= 2), "page {page}: {}\n{said}", looked.status);
        if said.contains("holds other bytes than were written") {
            assert_eq!(looked.status.code(), Some(1), "{said}");
            assert!(said.starts_with("damaged\t") && said.contains("from a backup"), "{said}");
            n_found += 1;
        }
    }
    assert!(n_found > 0);
}

/// Deleted rows of an index on a real HBase: the deletes hide later writes with older times.
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
